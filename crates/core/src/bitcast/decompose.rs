//! What a bitcast between two shapes is: a reshape, a transpose, or both.

use smallvec::SmallVec;

use super::Bitcast;
use super::operation::{BitcastError, End, Operation};
use super::orders::{Order, Others};
use super::search::Search;
use crate::array::ArrayShape;
use crate::dimension::Dimension;
use crate::error::ShapeError;
use crate::layout::PaddingValue;

/// A bitcast as operations that are free each: XLA's `BitcastDecomposition`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decomposition {
    /// A reshape.
    Reshape,
    /// A transpose: dimension `i` of the result is dimension `dimensions[i]` of the operand.
    Transpose {
        /// One dimension of the operand for each of the result.
        dimensions: Vec<usize>,
    },
    /// A transpose, a reshape and a transpose.
    TransposeReshapeTranspose(Box<TransposeReshapeTranspose>),
}

/// A bitcast as a transpose, a reshape and a transpose, each free: XLA's
/// `BitcastDecompositionTrt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransposeReshapeTranspose {
    /// The dimensions of the first transpose.
    pub first: Vec<usize>,
    /// What the first transpose makes: the operand's dimensions in physical order.
    pub transposed: ArrayShape,
    /// What the reshape makes: the result's dimensions in physical order.
    pub reshaped: ArrayShape,
    /// The dimensions of the second transpose, which makes the result.
    pub second: Vec<usize>,
}

impl Decomposition {
    /// What a bitcast from operand to result is, the simplest first: a reshape if it is one,
    /// else a transpose if it is one, else three steps. `None` where it is none of these.
    ///
    /// Element types may differ as long as they have as many bits. Every step is free with the
    /// tiles and padding that the shapes have; XLA's `DecomposeBitcast` leaves these aside.
    ///
    /// # Errors
    ///
    /// [`BitcastError::Operand`] or [`BitcastError::Result`] where a layout or a size is
    /// missing.
    ///
    /// ```
    /// use minormajor_core::bitcast::Decomposition;
    /// use minormajor_core::Shape;
    ///
    /// let operand: Shape = "f32[2,3]{0,1}".parse()?;
    /// let result: Shape = "f32[3,2]{1,0}".parse()?;
    /// let bitcast = Decomposition::new(operand.as_array()?, result.as_array()?)?;
    /// assert_eq!(bitcast, Some(Decomposition::Transpose { dimensions: vec![1, 0] }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        operand: &ArrayShape,
        result: &ArrayShape,
    ) -> Result<Option<Decomposition>, BitcastError> {
        if !same_bits(operand, result)? {
            return Ok(None);
        }
        if is_free(operand, result, &Operation::Reshape)? {
            return Ok(Some(Decomposition::Reshape));
        }
        if let Some(dimensions) = deduce_transpose_dimensions(operand, result)? {
            return Ok(Some(Decomposition::Transpose { dimensions }));
        }
        let three = TransposeReshapeTranspose::new(operand, result)?;
        Ok(three.map(|three| Decomposition::TransposeReshapeTranspose(Box::new(three))))
    }
}

impl TransposeReshapeTranspose {
    /// What a bitcast from operand to result is in three steps, whether fewer would do or not:
    /// XLA's `DecomposeBitcastToTrt`. `None` where the steps are not free.
    ///
    /// # Errors
    ///
    /// As [`Decomposition::new`].
    pub fn new(
        operand: &ArrayShape,
        result: &ArrayShape,
    ) -> Result<Option<TransposeReshapeTranspose>, BitcastError> {
        if !same_bits(operand, result)? {
            return Ok(None);
        }
        let (transposed, first) = physical(operand).map_err(BitcastError::Operand)?;
        let (reshaped, order) = physical(result).map_err(BitcastError::Result)?;
        if !is_free(&transposed, &reshaped, &Operation::Reshape)? {
            return Ok(None);
        }
        let mut second = vec![0; order.len()];
        for (place, &dimension) in order.iter().enumerate() {
            second[dimension] = place;
        }
        Ok(Some(TransposeReshapeTranspose {
            first: first.to_vec(),
            transposed,
            reshaped,
            second,
        }))
    }
}

/// The dimensions of the transpose that a bitcast from operand to result is: the two layouts
/// say which dimension is which. `None` where sizes, tiles or padding say that it is none.
/// XLA's `DeduceTransposeDimensionsForBitcast`. Element types may differ as long as they have
/// as many bits.
///
/// # Errors
///
/// [`BitcastError::Operand`] or [`BitcastError::Result`] where a layout or a size is missing.
pub fn deduce_transpose_dimensions(
    operand: &ArrayShape,
    result: &ArrayShape,
) -> Result<Option<Vec<usize>>, BitcastError> {
    let from = operand.require_layout().map_err(BitcastError::Operand)?;
    let to = result.require_layout().map_err(BitcastError::Result)?;
    let sizes = operand.sizes().map_err(BitcastError::Operand)?;
    if !same_bits(operand, result)? || from.rank() != to.rank() {
        return Ok(None);
    }
    let mut dimensions = vec![0; from.rank()];
    for (&operand, &result) in from.minor_to_major().iter().zip(to.minor_to_major()) {
        dimensions[result] = operand;
    }
    if !dimensions
        .iter()
        .map(|&d| sizes[d])
        .eq(result.sizes().map_err(BitcastError::Result)?)
    {
        return Ok(None);
    }
    let transpose = Operation::Transpose {
        // Ranks are far below 2^63.
        dimensions: dimensions.iter().map(|&d| d as i64).collect(),
    };
    Ok(is_free(operand, result, &transpose)?.then_some(dimensions))
}

/// Whether a bitcast from operand to result is a reshape or a transpose: XLA's
/// `IsReshapeOrTransposeBitcast`, with tiles and padding.
///
/// # Errors
///
/// [`BitcastError::Operand`] or [`BitcastError::Result`] where a layout or a size is missing.
pub fn is_reshape_or_transpose_bitcast(
    operand: &ArrayShape,
    result: &ArrayShape,
) -> Result<bool, BitcastError> {
    use Decomposition::{Reshape, Transpose};
    let found = Decomposition::new(operand, result)?;
    Ok(matches!(found, Some(Reshape | Transpose { .. })))
}

/// The result in a layout with which a reshape of the operand to it is free; `None` where there
/// is none. XLA's `AlignLayouts`, with tiles and padding: those of the operand where they can
/// stay, else none, or the padding that the operand's strides need.
///
/// Dimensions whose place does not count stand at the major end, the last one first.
///
/// # Errors
///
/// [`BitcastError`] where the numbers of elements or the types differ, or the operand has no
/// layout.
///
/// ```
/// use minormajor_core::bitcast::align_layouts;
/// use minormajor_core::Shape;
///
/// let operand: Shape = "f32[3,8,5,7,11]{3,2,1,0,4}".parse()?;
/// let result: Shape = "f32[4,3,2,7,5,11]".parse()?;
/// let aligned = align_layouts(operand.as_array()?, result.as_array()?)?.unwrap();
/// assert_eq!(aligned.to_string(), "f32[4,3,2,7,5,11]{4,3,2,1,0,5}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn align_layouts(
    operand: &ArrayShape,
    result: &ArrayShape,
) -> Result<Option<ArrayShape>, BitcastError> {
    let layout = operand.require_layout().map_err(BitcastError::Operand)?;
    // The operand's properties in some order of the result's rank; its padding is not of that
    // rank, and the search brings it in.
    let layout = layout.clone().without_padding().of_rank(result.rank());
    let result = result.with_layout(layout).map_err(BitcastError::Result)?;
    let bitcast = Bitcast::new(operand, &result, &Operation::Reshape)?;
    let Some(search) = Search::new(&bitcast, End::Result) else {
        return Ok(None);
    };
    let mut best: Option<(i64, ArrayShape)> = None;
    for template in &search.templates() {
        search.orders(template, Others::MajorEnd).for_each(|order| {
            if let Some(found) = search.found(template, &order)
                && best
                    .as_ref()
                    .is_none_or(|(padding, _)| found.padding < *padding)
            {
                best = Some((found.padding, found.shape));
            }
        });
    }
    Ok(best.map(|(_, shape)| shape))
}

fn is_free(
    operand: &ArrayShape,
    result: &ArrayShape,
    operation: &Operation,
) -> Result<bool, BitcastError> {
    Ok(Bitcast::ignoring_element_type(operand, result, operation)?.is_free())
}

/// Whether both have as many elements of as many bits.
fn same_bits(operand: &ArrayShape, result: &ArrayShape) -> Result<bool, BitcastError> {
    operand.sizes().map_err(BitcastError::Operand)?;
    result.sizes().map_err(BitcastError::Result)?;
    let bits = |shape: &ArrayShape| shape.element_type().bit_width();
    Ok(operand.elements() == result.elements() && bits(operand) == bits(result))
}

/// The array with its dimensions in physical order, major first, and which they are: the same
/// memory in a descending layout.
pub(super) fn physical(shape: &ArrayShape) -> Result<(ArrayShape, Order), ShapeError> {
    let layout = shape.require_layout()?;
    let order: Order = layout.minor_to_major().iter().rev().copied().collect();
    let dimensions: SmallVec<[Dimension; 6]> =
        order.iter().map(|&d| shape.dimensions()[d]).collect();
    let padded = layout.padded_dimensions();
    let mut descending = layout.clone().without_padding().of_rank(shape.rank());
    if !padded.is_empty() {
        let value = layout.padding_value().unwrap_or(PaddingValue::Zero);
        descending = descending.with_padding(order.iter().map(|&d| padded[d]), value)?;
    }
    let physical = ArrayShape::new(shape.element_type(), dimensions.iter())?;
    Ok((physical.with_layout(descending)?, order))
}
