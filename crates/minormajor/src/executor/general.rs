//! The slow way, element by element, of plans that have no boxes.

use minormajor_core::plan::{Change, GeneralMove, GeneralValue, Plan};
use minormajor_kernels::{NestError, Recode, Scratch, Tuning};

use super::job::recoding;
use super::windows::Window;
use crate::bits::{self, put_unit};

/// A general plan made ready to run.
#[derive(Clone, Debug)]
pub(super) struct General {
    plan: GeneralMove,
    /// Bits of a unit on both sides.
    source_unit: usize,
    unit: usize,
    /// What writes one value anew, where values change; and its bytes on both sides.
    value: Option<(Recode, usize, usize)>,
}

impl General {
    /// `None` where the plan has boxes.
    pub(super) fn new(plan: &Plan, tuning: &Tuning) -> Result<Option<Box<General>>, NestError> {
        let Some(general) = plan.general() else {
            return Ok(None);
        };
        let value = match (plan.change(), recoding(plan)) {
            (
                Change::Values {
                    source,
                    destination,
                },
                Some(recoding),
            ) => Some((
                Recode::tuned(recoding, 0, 0, &[], tuning)?,
                source.element_type.byte_width() as usize,
                destination.element_type.byte_width() as usize,
            )),
            _ => None,
        };
        Ok(Some(Box::new(General {
            plan: general.clone(),
            source_unit: plan.source_unit_bits() as usize,
            unit: plan.destination_unit_bits() as usize,
            value,
        })))
    }

    /// Bytes that a run allocates at most.
    pub(super) fn heap_bytes(&self) -> usize {
        self.plan.heap_bytes()
    }

    /// Positions in so many bytes of the destination.
    pub(super) fn positions(&self, bytes: usize) -> usize {
        8 * bytes / self.unit
    }

    /// Writes what belongs in a window, which starts and ends between elements.
    pub(super) fn run(
        &self,
        source: &[u8],
        window: &mut Window<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), NestError> {
        let first = 8 * window.start / self.unit;
        let last = first + 8 * window.bytes.len() / self.unit;
        let mut result = Ok(());
        let positions = first as i64..last as i64;
        self.plan.for_each(positions, |position, value| {
            let bit = (position as usize - first) * self.unit;
            match value {
                GeneralValue::Source(from) => {
                    let from = from as usize * self.source_unit;
                    match &self.value {
                        Some((recode, read, written)) => {
                            let value = &source[from / 8..from / 8 + read];
                            let place = &mut window.bytes[bit / 8..bit / 8 + written];
                            let done = recode.run(value, place, scratch);
                            result = std::mem::replace(&mut result, Ok(())).and(done);
                        }
                        None => {
                            let common = self.unit.min(self.source_unit);
                            put_unit(window.bytes, bit, self.unit, |byte| match common {
                                ..8 => bits::get(source, from, common),
                                _ => source[from / 8 + byte],
                            });
                        }
                    }
                }
                GeneralValue::Fill(pattern) => {
                    put_unit(window.bytes, bit, self.unit, |byte| pattern[byte])
                }
                GeneralValue::Leave => {}
            }
        });
        result
    }
}
