//! Which arrays and elements can be moved, and the units that positions count in.

use super::change::{ByteOrder, ByteOrders, Change, Encoding};
use crate::ElementType;
use crate::error::ShapeError;
use crate::view::Place;

/// Why there is no plan from one array to another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The element types differ, and no conversion between them was asked for.
    #[error(
        "the source holds {source_type}, the destination {destination_type}; a relayout keeps the element type"
    )]
    #[allow(missing_docs)]
    ElementType {
        source_type: ElementType,
        destination_type: ElementType,
    },
    /// The element types differ, and there is no conversion between them.
    #[error(
        "{source_type} can't be converted to {destination_type}; expected two of f32, f16 and bf16, or the same type"
    )]
    #[allow(missing_docs)]
    Conversion {
        source_type: ElementType,
        destination_type: ElementType,
    },
    /// The ranks differ.
    #[error(
        "the source has {source_rank} dimensions, the destination {destination_rank}; a relayout keeps the shape"
    )]
    #[allow(missing_docs)]
    Rank {
        source_rank: usize,
        destination_rank: usize,
    },
    /// A size differs.
    #[error(
        "dimension {dimension} is {source_size} in the source and {destination_size} in the destination; a relayout keeps the shape"
    )]
    #[allow(missing_docs)]
    Size {
        dimension: usize,
        source_size: i64,
        destination_size: i64,
    },
    /// Elements are stored in fewer bits than they have, or in neither a packed width nor whole
    /// bytes.
    #[error("E({bits}) can't hold {element_type} elements: expected {}", element_sizes(*.element_type))]
    #[allow(missing_docs)]
    ElementSize {
        element_type: ElementType,
        bits: i64,
    },
    /// Elements of a strided destination share bytes, or may: in no order of its dimensions does
    /// each stride step over all that the smaller ones reach.
    #[error(
        "elements of the strided destination overlap or interleave; expected each stride to step over all that the smaller ones reach"
    )]
    Overlap,
    /// A layout or a size is missing.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

/// The element sizes that a type can be moved in, for messages.
fn element_sizes(element_type: ElementType) -> String {
    let packed: String = [1, 2, 4]
        .into_iter()
        .filter(|&bits| element_type.packs_in(bits))
        .map(|bits| format!("{bits}, "))
        .collect();
    format!(
        "{packed}{}, or a multiple of 8 above",
        8 * element_type.byte_width()
    )
}

/// How elements are stored on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    /// Bits of a unit, in which positions of the source count.
    pub source_unit_bits: i64,
    /// Bits of a unit of the destination. The same, unless elements change.
    pub destination_unit_bits: i64,
    /// What becomes of a unit.
    pub change: Change,
    /// How the destination writes values, changed or not.
    pub destination: Encoding,
    /// Bits of an element's value in the source.
    pub source_value_bits: i64,
    /// Units of the destination that an element's value takes; more than 1 only where a unit is
    /// a byte.
    pub value_units: i64,
    /// Units from one element of the source to the next, where it is a whole array.
    pub source_units: i64,
    /// Units from one element of the destination to the next, where it is a whole array.
    pub destination_units: i64,
}

/// How one side stores elements.
struct Storage {
    /// Bits from one element of a whole array to the next; of a view, bits of an element.
    bits: i64,
    /// Whether elements begin at multiples of the type's width, in whole bytes.
    whole: bool,
}

impl Elements {
    /// How elements get from one place to the other; without `orders`, unchanged.
    pub fn new(
        source: Place<'_>,
        destination: Place<'_>,
        orders: Option<ByteOrders>,
    ) -> Result<Elements, PlanError> {
        let (source_type, destination_type) = (source.element_type(), destination.element_type());
        if orders.is_none() && source_type != destination_type {
            return Err(PlanError::ElementType {
                source_type,
                destination_type,
            });
        }
        let orders = orders.unwrap_or_default();
        let source_values = Encoding::new(source_type, orders.source);
        let destination_values = Encoding::new(destination_type, orders.destination);
        let change =
            Change::of_values(source_values, destination_values).ok_or(PlanError::Conversion {
                source_type,
                destination_type,
            })?;
        let (from, to) = (Storage::new(source)?, Storage::new(destination)?);
        if let Place::Strided(view) = destination
            && !view.elements_are_apart()
        {
            return Err(PlanError::Overlap);
        }
        let [from_width, to_width] = [source_type, destination_type].map(value_bits);
        let is_packed = from.bits < 8 || to.bits < 8;
        let (source_unit_bits, destination_unit_bits) = match change {
            // An unpacked element of a type that can be packed has its value in one byte.
            _ if is_packed => (from.bits.min(8), to.bits.min(8)),
            Change::Values { .. } => (
                if from.whole { from_width } else { 8 },
                if to.whole { to_width } else { 8 },
            ),
            _ if from.whole && to.whole => (to_width, to_width),
            _ => (8, 8),
        };
        Ok(Elements {
            source_unit_bits,
            destination_unit_bits,
            change: if is_packed && source_unit_bits != destination_unit_bits {
                Change::Bits
            } else {
                change
            },
            destination: destination_values,
            source_value_bits: from_width.min(from.bits),
            value_units: to_width.min(to.bits) / destination_unit_bits,
            source_units: from.bits / source_unit_bits,
            destination_units: to.bits / destination_unit_bits,
        })
    }

    /// Those of two dense arrays of one type: its values are the units.
    pub fn dense(element_type: ElementType) -> Elements {
        let bits = value_bits(element_type);
        Elements {
            source_unit_bits: bits,
            destination_unit_bits: bits,
            change: Change::None,
            destination: Encoding::new(element_type, ByteOrder::default()),
            source_value_bits: bits,
            value_units: 1,
            source_units: 1,
            destination_units: 1,
        }
    }

    /// Units of a value that are moved one by one: a value that changes is moved as a whole.
    pub fn moved_units(&self) -> i64 {
        match self.change {
            Change::None => self.value_units,
            Change::Bits | Change::Values { .. } => 1,
        }
    }

    /// Bits from one element of the destination to the next.
    pub fn destination_bits(&self) -> i64 {
        self.destination_units * self.destination_unit_bits
    }

    /// A little-endian value's bytes as the destination has them.
    pub fn arranged(&self, value: [u8; 16]) -> [u8; 16] {
        self.destination.arrange(value)
    }

    /// The bytes of a unit of an element, at the front; a packed one in the lowest bits.
    pub fn unit_of(&self, pattern: &[u8; 16], unit: i64) -> [u8; 16] {
        let mut bytes = [0; 16];
        if self.destination_unit_bits < 8 {
            bytes[0] = pattern[0] & ((1 << self.destination_unit_bits) - 1);
            return bytes;
        }
        let unit_bytes = (self.destination_unit_bits / 8) as usize;
        let start = unit as usize * unit_bytes;
        bytes[..unit_bytes].copy_from_slice(&pattern[start..start + unit_bytes]);
        bytes
    }
}

fn value_bits(element_type: ElementType) -> i64 {
    8 * i64::from(element_type.byte_width())
}

impl Storage {
    fn new(place: Place<'_>) -> Result<Storage, PlanError> {
        let element_type = place.element_type();
        let width = value_bits(element_type);
        let shape = match place {
            Place::Array(shape) => shape,
            Place::Strided(view) => {
                return Ok(match view.packed_bits() {
                    Some(bits) => Storage {
                        bits: i64::from(bits),
                        whole: false,
                    },
                    None => {
                        let whole = |&bytes: &i64| bytes % (width / 8) == 0;
                        Storage {
                            bits: width,
                            whole: whole(&view.offset()) && view.strides().iter().all(whole),
                        }
                    }
                });
            }
        };
        let bits = shape.element_bits();
        if bits >= width && bits % 8 == 0 || element_type.packs_in(bits) {
            Ok(Storage {
                bits,
                whole: bits % width == 0,
            })
        } else {
            Err(PlanError::ElementSize { element_type, bits })
        }
    }
}

/// Both describe the same array, if perhaps in different layouts.
pub(crate) fn check_same_sizes(source: &[i64], destination: &[i64]) -> Result<(), PlanError> {
    if source.len() != destination.len() {
        return Err(PlanError::Rank {
            source_rank: source.len(),
            destination_rank: destination.len(),
        });
    }
    match source.iter().zip(destination).position(|(a, b)| a != b) {
        Some(dimension) => Err(PlanError::Size {
            dimension,
            source_size: source[dimension],
            destination_size: destination[dimension],
        }),
        None => Ok(()),
    }
}
