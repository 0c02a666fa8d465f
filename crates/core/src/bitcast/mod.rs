//! Is it free? Whether a transpose, reshape, slice, broadcast or change of element type is a
//! bitcast: a new description of the bytes that are there.
//!
//! XLA answers from the order of dimensions alone, and takes tiles and padding for granted; here
//! the positions decide. Where it is not free, [`Bitcast::why_not`] says what stands in the way,
//! the smallest copy of the operand that would make it free, and the nearest layout of the
//! result under which it would be.

mod carried;
mod compare;
mod correspondence;
mod decompose;
mod factors;
mod normalized;
mod obstacle;
mod operation;
mod orders;
mod path;
mod probe;
mod search;
mod side;
mod why_not;

pub use carried::{CarriedDimensions, carried_dimensions};
pub use decompose::{
    Decomposition, TransposeReshapeTranspose, align_layouts, deduce_transpose_dimensions,
    is_reshape_or_transpose_bitcast,
};
pub use factors::{UnitDimensions, common_factors};
pub use normalized::NormalizedTranspose;
pub use obstacle::{Cause, Obstacle, Step};
pub use operation::{BitcastError, Operation};
pub use why_not::{NearestLayout, SmallestCopy, WhyNot};

use crate::array::ArrayShape;
use crate::layout::PaddingValue;
use compare::{Element, differences};
use correspondence::{Correspondence, End};
use side::Side;

/// An operation on an array, and whether it is free.
///
/// It is where every element of the result lies at the bits of the operand where its value is,
/// counted from the byte where the result's buffer begins, and that buffer ends no later than
/// the operand's. Tiles, padding, tail alignment and `E(bits)` count; split configurations and
/// metadata do not. Another memory space is never free. A bounded dimension counts its bound.
///
/// ```
/// use minormajor_core::bitcast::{Bitcast, Operation};
/// use minormajor_core::Shape;
///
/// let rows: Shape = "f32[8,128]{1,0:T(8,128)}".parse()?;
/// let columns: Shape = "f32[128,8]{0,1:T(8,128)}".parse()?;
/// let transpose = Operation::Transpose { dimensions: vec![1, 0] };
/// assert!(Bitcast::new(rows.as_array()?, columns.as_array()?, &transpose)?.is_free());
///
/// // XLA's ReshapeIsBitcast looks at [1,0] alone and says yes.
/// let padded: Shape = "f32[3,5]{1,0:T(8,128)}".parse()?;
/// let flat: Shape = "f32[15]{0}".parse()?;
/// let reshape = Bitcast::new(padded.as_array()?, flat.as_array()?, &Operation::Reshape)?;
/// let why_not = reshape.why_not().unwrap();
/// assert_eq!(
///     why_not.obstacle().to_string(),
///     "the operand goes from [0, 4] to [1, 0] (dimensions 0 and 1, where a tile ends) by 124 \
///      elements, the result from [4] to [5] (dimension 0) by 1 element"
/// );
/// assert_eq!(why_not.smallest_copy().unwrap().shape.to_string(), "f32[3,5]{1,0}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "TransposeIsBitcast")]
#[doc(alias = "ReshapeIsBitcast")]
pub struct Bitcast<'a> {
    correspondence: Correspondence,
    operand: Side<'a>,
    result: Side<'a>,
    free: Option<Free>,
}

/// How a result lies in the operand's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Free {
    /// The byte of the operand's buffer at which the result's begins.
    pub byte_offset: i64,
    /// Bytes of the operand's buffer behind the result's end.
    pub bytes_behind: i64,
    /// Whether the result's padding holds the value that its layout says, given that the
    /// operand's does: no padding does.
    pub padding_holds: bool,
}

impl<'a> Bitcast<'a> {
    /// The question whether `result` is a new description of the bytes of `operand`.
    ///
    /// # Errors
    ///
    /// [`BitcastError`] where the shapes are no operand and result of the operation, or lack a
    /// layout or a size.
    pub fn new(
        operand: &'a ArrayShape,
        result: &'a ArrayShape,
        operation: &Operation,
    ) -> Result<Bitcast<'a>, BitcastError> {
        let correspondence = Correspondence::new(operand, result, operation, true)?;
        Bitcast::of(correspondence, operand, result)
    }

    /// The same, with the element types aside: only the bits of an element must agree.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), without [`BitcastError::ElementType`].
    pub fn ignoring_element_type(
        operand: &'a ArrayShape,
        result: &'a ArrayShape,
        operation: &Operation,
    ) -> Result<Bitcast<'a>, BitcastError> {
        let correspondence = Correspondence::new(operand, result, operation, false)?;
        Bitcast::of(correspondence, operand, result)
    }

    fn of(
        correspondence: Correspondence,
        operand: &'a ArrayShape,
        result: &'a ArrayShape,
    ) -> Result<Bitcast<'a>, BitcastError> {
        let operand = Side::new(operand).map_err(BitcastError::Operand)?;
        let result = Side::new(result).map_err(BitcastError::Result)?;
        Ok(Bitcast {
            free: decide(&correspondence, &operand, &result),
            correspondence,
            operand,
            result,
        })
    }

    /// The operand.
    pub fn operand(&self) -> &'a ArrayShape {
        self.operand.shape
    }

    /// The result.
    pub fn result(&self) -> &'a ArrayShape {
        self.result.shape
    }

    /// Whether it is free.
    pub fn is_free(&self) -> bool {
        self.free.is_some()
    }

    /// How the result lies in the operand's buffer, where it is free.
    pub fn free(&self) -> Option<Free> {
        self.free
    }

    /// What stands in the way, where something does.
    pub fn obstacle(&self) -> Option<Obstacle> {
        if self.is_free() {
            return None;
        }
        let (operand, result) = (&self.operand, &self.result);
        let spaces = [operand, result].map(|side| side.memory_space());
        if spaces[0] != spaces[1] {
            return Some(Obstacle::MemorySpace {
                operand: spaces[0],
                result: spaces[1],
            });
        }
        let correspondence = &self.correspondence;
        if result.map.elements() > 0 {
            if let Some((dimension, size)) = correspondence.repeated {
                return Some(Obstacle::Repeated { dimension, size });
            }
            if covers(operand, correspondence.operand_parts)
                != covers(result, correspondence.result_parts)
            {
                return Some(Obstacle::ElementSize {
                    operand: operand.bits,
                    result: result.bits,
                });
            }
            let differences = differences(correspondence, operand, result);
            let step = Obstacle::step(correspondence, operand, result, differences);
            if step.is_some() {
                return step;
            }
        }
        let bit_offset = bit_offset(correspondence, operand);
        if bit_offset % 8 != 0 {
            return Some(Obstacle::InsideByte { bit_offset });
        }
        Some(Obstacle::Allocation {
            operand: operand.bytes,
            result: result.bytes,
            byte_offset: bit_offset / 8,
        })
    }
}

/// Whether the result is a description of the operand's bytes, and how it lies there.
fn decide(correspondence: &Correspondence, operand: &Side<'_>, result: &Side<'_>) -> Option<Free> {
    if operand.memory_space() != result.memory_space() {
        return None;
    }
    let bit_offset = bit_offset(correspondence, operand);
    let byte_offset = bit_offset / 8;
    let bytes_behind = operand.bytes - byte_offset - result.bytes;
    if bit_offset % 8 != 0 || bytes_behind < 0 {
        return None;
    }
    // A wider element of the result would take bits of the operand that are not the value's.
    let wider =
        covers(result, correspondence.result_parts) > covers(operand, correspondence.operand_parts);
    if result.map.elements() > 0
        && (correspondence.repeated.is_some()
            || wider
            || differences(correspondence, operand, result)
                .next()
                .is_some())
    {
        return None;
    }
    let padded = result.map.allocated_elements() > result.map.elements();
    let (from, to) = (operand.padding_value(), result.padding_value());
    Some(Free {
        byte_offset,
        bytes_behind,
        padding_holds: !padded || to == PaddingValue::Unknown || correspondence.whole && from == to,
    })
}

/// Bits of the elements of one side that hold as much as one element of the wider type.
fn covers(side: &Side<'_>, parts: i64) -> i128 {
    i128::from(side.bits) * i128::from(parts)
}

/// Where the result's first element lies in the operand, if there is one.
fn bit_offset(correspondence: &Correspondence, operand: &Side<'_>) -> i64 {
    match correspondence.slice {
        Some(_) if !correspondence.operand_sizes.contains(&0) => {
            Element::new(correspondence, &[], 0, End::Operand).position(operand)
        }
        _ => 0,
    }
}
