//! Which arrays and elements can be moved, and the unit that positions count in.

use crate::ElementType;
use crate::array::ArrayShape;
use crate::error::ShapeError;

/// Why there is no plan from one array to another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The element types differ.
    #[error(
        "the source holds {source_type}, the destination {destination_type}; a relayout keeps the element type"
    )]
    #[allow(missing_docs)]
    ElementType {
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
    /// Elements are packed: several to a byte, or not in whole bytes.
    #[error(
        "{element_type} elements of {bits} bits are packed; moving packed elements is not supported yet: leave out E({bits}) for a byte an element"
    )]
    #[allow(missing_docs)]
    Packed {
        element_type: ElementType,
        bits: i64,
    },
    /// Elements are stored in fewer bits than they have, or not in whole bytes.
    #[error("E({bits}) can't hold {element_type} elements: expected {}, or a multiple of 8 above", 8 * .element_type.byte_width())]
    #[allow(missing_docs)]
    ElementSize {
        element_type: ElementType,
        bits: i64,
    },
    /// A layout or a size is missing.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

/// How elements are stored on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    /// Bytes of a unit, in which positions count.
    pub unit_bytes: usize,
    /// Units of an element's value; more than 1 only where a unit is a byte.
    pub value_units: i64,
    /// Units from one element of the source to the next.
    pub source_units: i64,
    /// Units from one element of the destination to the next.
    pub destination_units: i64,
}

impl Elements {
    pub fn new(source: &ArrayShape, destination: &ArrayShape) -> Result<Elements, PlanError> {
        let width = i64::from(source.element_type().byte_width());
        let from = stored_bytes(source)?;
        let to = stored_bytes(destination)?;
        let whole = from % width == 0 && to % width == 0;
        let unit = if whole { width } else { 1 };
        Ok(Elements {
            unit_bytes: unit as usize,
            value_units: width / unit,
            source_units: from / unit,
            destination_units: to / unit,
        })
    }

    pub fn source_bytes(&self) -> i64 {
        self.source_units * self.unit_bytes as i64
    }

    pub fn destination_bytes(&self) -> i64 {
        self.destination_units * self.unit_bytes as i64
    }
}

/// Bytes from one element to the next.
fn stored_bytes(shape: &ArrayShape) -> Result<i64, PlanError> {
    let element_type = shape.element_type();
    let bits = shape.element_bits();
    if bits >= 8 * i64::from(element_type.byte_width()) && bits % 8 == 0 {
        Ok(bits / 8)
    } else if [1, 2, 4].contains(&bits) && bits >= i64::from(element_type.bit_width()) {
        Err(PlanError::Packed { element_type, bits })
    } else {
        Err(PlanError::ElementSize { element_type, bits })
    }
}

/// Both describe the same array, if perhaps in different layouts.
pub(super) fn check_same_array(
    source: &ArrayShape,
    destination: &ArrayShape,
) -> Result<(), PlanError> {
    let (source_type, destination_type) = (source.element_type(), destination.element_type());
    if source_type != destination_type {
        return Err(PlanError::ElementType {
            source_type,
            destination_type,
        });
    }
    if source.rank() != destination.rank() {
        return Err(PlanError::Rank {
            source_rank: source.rank(),
            destination_rank: destination.rank(),
        });
    }
    for (dimension, (from, to)) in source
        .dimensions()
        .iter()
        .zip(destination.dimensions())
        .enumerate()
    {
        let unbounded = ShapeError::Unbounded { dimension };
        match (from.bound(), to.bound()) {
            (Some(source_size), Some(destination_size)) if source_size != destination_size => {
                return Err(PlanError::Size {
                    dimension,
                    source_size,
                    destination_size,
                });
            }
            (Some(_), Some(_)) => {}
            _ => return Err(unbounded.into()),
        }
    }
    Ok(())
}
