//! Which arrays and elements can be moved, and the unit that positions count in.

use crate::ElementType;
use crate::error::ShapeError;
use crate::view::Place;

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
    pub fn new(source: Place<'_>, destination: Place<'_>) -> Result<Elements, PlanError> {
        let (source_type, destination_type) = (source.element_type(), destination.element_type());
        if source_type != destination_type {
            return Err(PlanError::ElementType {
                source_type,
                destination_type,
            });
        }
        let width = i64::from(source_type.byte_width());
        let (from, from_whole) = stored_bytes(source, width)?;
        let (to, to_whole) = stored_bytes(destination, width)?;
        if let Place::Strided(view) = destination
            && !view.elements_are_apart()
        {
            return Err(PlanError::Overlap);
        }
        let unit = if from_whole && to_whole { width } else { 1 };
        Ok(Elements {
            unit_bytes: unit as usize,
            value_units: width / unit,
            source_units: from / unit,
            destination_units: to / unit,
        })
    }

    pub fn destination_bytes(&self) -> i64 {
        self.destination_units * self.unit_bytes as i64
    }
}

/// Bytes from one element to the next, the type's width in a view; and whether all elements begin
/// at multiples of the width.
fn stored_bytes(place: Place<'_>, width: i64) -> Result<(i64, bool), PlanError> {
    let shape = match place {
        Place::Array(shape) => shape,
        Place::Strided(view) => {
            let whole = |&bytes: &i64| bytes % width == 0;
            let all = whole(&view.byte_offset()) && view.byte_strides().iter().all(whole);
            return Ok((width, all));
        }
    };
    let element_type = shape.element_type();
    let bits = shape.element_bits();
    if bits >= 8 * width && bits % 8 == 0 {
        Ok((bits / 8, bits / 8 % width == 0))
    } else if [1, 2, 4].contains(&bits) && bits >= i64::from(element_type.bit_width()) {
        Err(PlanError::Packed { element_type, bits })
    } else {
        Err(PlanError::ElementSize { element_type, bits })
    }
}

/// Both describe the same array, if perhaps in different layouts.
pub(super) fn check_same_sizes(source: &[i64], destination: &[i64]) -> Result<(), PlanError> {
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
