//! What a bitcast between two shapes is: a reshape, a transpose, or both.

use super::Bitcast;
use super::correspondence::End;
use super::operation::{BitcastError, Operation};
use super::orders::Others;
use super::search::Search;
use crate::array::ArrayShape;
use crate::error::ShapeError;

/// A bitcast as operations that are free each: XLA's `BitcastDecomposition`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "DecomposeBitcast")]
#[doc(alias = "IsDecomposableBitcast")]
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
#[doc(alias = "DecomposeBitcastToTrt")]
#[doc(alias = "BitcastDecompositionTrt")]
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
        let first = major_to_minor(operand).map_err(BitcastError::Operand)?;
        let order = major_to_minor(result).map_err(BitcastError::Result)?;
        let transposed = operand.in_physical_order().map_err(BitcastError::Operand)?;
        let reshaped = result.in_physical_order().map_err(BitcastError::Result)?;
        if !is_free(&transposed, &reshaped, &Operation::Reshape)? {
            return Ok(None);
        }
        let mut second = vec![0; order.len()];
        for (place, &dimension) in order.iter().enumerate() {
            second[dimension] = place;
        }
        Ok(Some(TransposeReshapeTranspose {
            first,
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
#[doc(alias = "DeduceTransposeDimensionsForBitcast")]
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

impl Operation {
    /// The operation that leads from operand to result, as far as the shapes say it: of another
    /// type a bitcast-convert, of the same sizes a copy, else the transpose that the layouts
    /// name if it is free, else a reshape.
    ///
    /// # Errors
    ///
    /// [`BitcastError::Operand`] or [`BitcastError::Result`] where a layout or a size is missing.
    pub fn between(operand: &ArrayShape, result: &ArrayShape) -> Result<Operation, BitcastError> {
        let sizes = operand.sizes().map_err(BitcastError::Operand)?;
        let same = sizes == result.sizes().map_err(BitcastError::Result)?;
        if operand.element_type() != result.element_type() {
            return Ok(Operation::BitcastConvert);
        }
        if same {
            return Ok(Operation::Copy);
        }
        Ok(match deduce_transpose_dimensions(operand, result)? {
            Some(dimensions) => Operation::Transpose {
                dimensions: dimensions.into_iter().map(|d| d as i64).collect(),
            },
            None => Operation::Reshape,
        })
    }
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
    // The operand's properties, on dimensions that are all new; its padding is not of this
    // rank, and the search brings it in.
    let new: Vec<Option<usize>> = vec![None; result.rank()];
    let order = (0..result.rank()).rev().collect();
    let layout = layout
        .clone()
        .without_padding()
        .rearranged(order, &new, |_| 0);
    let result = result.with_layout(layout).map_err(BitcastError::Result)?;
    let bitcast = Bitcast::new(operand, &result, &Operation::Reshape)?;
    let Some(search) = Search::new(&bitcast, End::Result) else {
        return Ok(None);
    };
    let mut best: Option<(i64, ArrayShape)> = None;
    for template in &search.templates() {
        search
            .orders(template, Others::MajorEnd)
            .for_each(|order, allocated| {
                let is_better =
                    |padding: i64| best.as_ref().is_none_or(|(best, _)| padding < *best);
                let found =
                    search.found(template, &order, allocated, |_, padding| is_better(padding));
                if let Some(found) = found
                    && is_better(found.padding)
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

/// The dimensions as they lie in memory, the most major first.
pub(super) fn major_to_minor(shape: &ArrayShape) -> Result<Vec<usize>, ShapeError> {
    let order = shape.require_layout()?.minor_to_major();
    Ok(order.iter().rev().copied().collect())
}
