//! The way for layouts that no boxes describe: every position is asked for its element.

use std::ops::Range;

use crate::address::{AddressMap, Location};

use super::Elements;

/// A relayout element by element, where `*` in tiles ties dimensions together so that no loop
/// nest follows both layouts. Slow, and right.
#[derive(Clone, Debug)]
pub struct GeneralMove {
    pub(super) source: AddressMap,
    pub(super) destination: AddressMap,
    pub(super) elements: Elements,
    /// What padding holds, if anything is written there.
    pub(super) padding: Option<[u8; 16]>,
}

/// What belongs at a position of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneralValue {
    /// The unit at this position of the source.
    Source(i64),
    /// These bytes; as many count as a unit has.
    Fill([u8; 16]),
    /// Whatever is there.
    Leave,
}

impl GeneralMove {
    /// Calls `visit` for every position of the destination in the range, rising, with what
    /// belongs there. Positions count in units of [`Plan::unit_bytes`](super::Plan::unit_bytes).
    pub fn for_each(&self, positions: Range<i64>, mut visit: impl FnMut(i64, GeneralValue)) {
        let Elements {
            unit_bytes,
            value_units,
            source_units,
            destination_units,
            ..
        } = self.elements;
        let mut position = positions.start;
        while position < positions.end {
            let slot = position / destination_units;
            let location = self.destination.location(slot);
            let value: Option<Result<i64, [u8; 16]>> = match location {
                Ok(Location::Element(index)) => {
                    Some(Ok(self.source.position_of(&index) * source_units))
                }
                Ok(Location::Padding { .. }) => self.padding.map(Err),
                Err(_) => return,
            };
            let end = ((slot + 1) * destination_units).min(positions.end);
            for unit in position..end {
                let part = unit - slot * destination_units;
                let value = match value {
                    None => GeneralValue::Leave,
                    Some(_) if part >= value_units => GeneralValue::Fill([0; 16]),
                    Some(Ok(base)) => GeneralValue::Source(base + part),
                    Some(Err(pattern)) => GeneralValue::Fill(unit_of(&pattern, part, unit_bytes)),
                };
                visit(unit, value);
            }
            position = end;
        }
    }
}

/// The bytes of one unit of an element, at the front.
pub(super) fn unit_of(pattern: &[u8; 16], unit: i64, unit_bytes: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    let start = unit as usize * unit_bytes;
    bytes[..unit_bytes].copy_from_slice(&pattern[start..start + unit_bytes]);
    bytes
}
