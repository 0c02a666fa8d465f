//! The way for layouts that no boxes describe: every position is asked for its element.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::Elements;
use super::side::Side;
use crate::address::AddressMap;

/// A relayout element by element, where `*` in tiles ties dimensions together so that no loop
/// nest follows both layouts. Slow, and right.
#[derive(Clone, Debug)]
pub struct GeneralMove {
    source: Where,
    destination: Where,
    elements: Elements,
    /// What padding holds, if anything is written there.
    padding: Option<[u8; 16]>,
}

/// Where a side's elements lie, both ways.
#[derive(Clone, Debug)]
pub(super) enum Where {
    Map {
        map: Box<AddressMap>,
        /// Units from one position of the map to the next.
        units: i64,
    },
    Strides {
        base: i64,
        sizes: SmallVec<[i64; 6]>,
        strides: SmallVec<[i64; 6]>,
    },
}

/// What lies at a unit of a destination.
enum Found {
    /// This unit of the element with this index.
    Element(SmallVec<[i64; 6]>, i64),
    /// This unit of an element's room that is padding.
    Padding(i64),
    /// Nothing of the array.
    Outside,
}

/// What belongs at a position of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneralValue {
    /// The unit at this position of the source. Where values [change](super::Change::Values), the
    /// value that begins there, which takes this unit and those behind it.
    Source(i64),
    /// These bytes; as many count as a unit has, of a packed one the lowest bits.
    Fill([u8; 16]),
    /// Whatever is there.
    Leave,
}

impl GeneralMove {
    /// The general way between two sides.
    pub(super) fn new(
        from: &Side<'_>,
        to: &Side<'_>,
        elements: Elements,
        padding: Option<[u8; 16]>,
    ) -> GeneralMove {
        GeneralMove {
            source: from.places(),
            destination: to.places(),
            elements,
            padding,
        }
    }

    /// Bytes that [`for_each`](Self::for_each) allocates at most while it runs: none for usual
    /// ranks and layouts.
    pub fn heap_bytes(&self) -> usize {
        self.source.heap_bytes() + self.destination.heap_bytes()
    }

    /// Calls `visit` for every position of the destination in the range, rising, with what
    /// belongs there. Positions count in units of their sides, as the [plan](super::Plan) says.
    pub fn for_each(&self, positions: Range<i64>, mut visit: impl FnMut(i64, GeneralValue)) {
        for position in positions {
            let value = match self.destination.found(position) {
                Found::Element(_, unit) if unit >= self.elements.value_units => {
                    match self.destination {
                        // Behind a value that is stored wider than its type there are zeros,
                        Where::Map { .. } => GeneralValue::Fill([0; 16]),
                        // and behind that of a view what is not ours.
                        Where::Strides { .. } => GeneralValue::Leave,
                    }
                }
                Found::Element(_, unit) if unit >= self.elements.moved_units() => continue,
                Found::Element(index, unit) => {
                    GeneralValue::Source(self.source.position(&index) + unit)
                }
                Found::Padding(unit) => match self.padding {
                    None => GeneralValue::Leave,
                    Some(_) if unit >= self.elements.value_units => GeneralValue::Fill([0; 16]),
                    Some(pattern) => GeneralValue::Fill(self.elements.unit_of(&pattern, unit)),
                },
                Found::Outside => match self.destination {
                    // Behind the last packed element of an array there are zeros.
                    Where::Map { .. } => GeneralValue::Fill([0; 16]),
                    Where::Strides { .. } => GeneralValue::Leave,
                },
            };
            visit(position, value);
        }
    }
}

impl Where {
    fn heap_bytes(&self) -> usize {
        match self {
            Where::Map { map, .. } => map.heap_bytes(),
            // An index, and the order of its dimensions.
            Where::Strides { sizes, .. } if sizes.len() > 6 => 16 * sizes.len().next_power_of_two(),
            Where::Strides { .. } => 0,
        }
    }

    /// The first unit of an element.
    fn position(&self, index: &[i64]) -> i64 {
        match self {
            Where::Map { map, units } => map.position_of(index) * units,
            Where::Strides { base, strides, .. } => {
                let offsets = index.iter().zip(strides).map(|(i, stride)| i * stride);
                base + offsets.sum::<i64>()
            }
        }
    }

    fn found(&self, position: i64) -> Found {
        match self {
            Where::Map { map, units } if position / units >= map.allocated_elements() => {
                Found::Outside
            }
            Where::Map { map, units } => match map.locate(position / units) {
                Some((index, false)) => Found::Element(index, position % units),
                _ => Found::Padding(position % units),
            },
            Where::Strides {
                base,
                sizes,
                strides,
            } => {
                if sizes.contains(&0) {
                    return Found::Outside;
                }
                // From the lowest element on, the greatest stride first: elements that are
                // apart are found by division.
                let backwards = |d: usize| strides[d].min(0) * (sizes[d] - 1);
                let lowest = base + (0..sizes.len()).map(backwards).sum::<i64>();
                let mut order: SmallVec<[usize; 6]> = (0..sizes.len()).collect();
                order.sort_unstable_by_key(|&d| std::cmp::Reverse(strides[d].abs()));
                let mut rest = position - lowest;
                let mut index: SmallVec<[i64; 6]> = smallvec![0; sizes.len()];
                for d in order.into_iter().filter(|&d| sizes[d] > 1) {
                    let steps = (rest / strides[d].abs()).clamp(0, sizes[d] - 1);
                    rest -= steps * strides[d].abs();
                    index[d] = if strides[d] < 0 {
                        sizes[d] - 1 - steps
                    } else {
                        steps
                    };
                }
                if rest < 0 {
                    return Found::Outside;
                }
                Found::Element(index, rest)
            }
        }
    }
}
