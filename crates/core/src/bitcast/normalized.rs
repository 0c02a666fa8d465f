//! The transpose that a transpose comes down to.

use super::correspondence::resolve;
use super::decompose::major_to_minor;
use super::operation::BitcastError;
use crate::array::ArrayShape;

/// A transpose in memory with as few dimensions as can be: without those of size 1, neighbours
/// that stay neighbours made one. XLA's `GetNormalizedLogicalTransposeShape`.
///
/// XLA answers only where both layouts are descending. Here the dimensions are first taken in
/// physical order, so any order will do; tiles and padding are not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "GetNormalizedLogicalTransposeShape")]
pub struct NormalizedTranspose {
    dimensions: Vec<i64>,
    permutation: Vec<usize>,
}

impl NormalizedTranspose {
    /// What a transpose from operand to result comes down to; dimension `i` of the result is
    /// dimension `dimensions[i]` of the operand.
    ///
    /// # Errors
    ///
    /// [`BitcastError`] where the shapes are no operand and result of this transpose, or lack a
    /// layout or a size.
    ///
    /// ```
    /// use minormajor_core::bitcast::NormalizedTranspose;
    /// use minormajor_core::Shape;
    ///
    /// let operand: Shape = "f32[10,1,11,32]".parse()?;
    /// let result: Shape = "f32[32,1,10,11]".parse()?;
    /// let transpose = NormalizedTranspose::new(operand.as_array()?, result.as_array()?, &[3, 1, 0, 2])?;
    /// assert_eq!((transpose.dimensions(), transpose.permutation()), (&[32, 110][..], &[1, 0][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        operand: &ArrayShape,
        result: &ArrayShape,
        dimensions: &[i64],
    ) -> Result<NormalizedTranspose, BitcastError> {
        let operation = super::Operation::Transpose {
            dimensions: dimensions.to_vec(),
        };
        super::correspondence::Correspondence::new(operand, result, &operation, true)?;
        let dimensions = resolve(dimensions, operand.rank())?;
        let from = major_to_minor(operand).map_err(BitcastError::Operand)?;
        let to = major_to_minor(result).map_err(BitcastError::Result)?;
        let sizes = operand.sizes().map_err(BitcastError::Operand)?;
        let from: Vec<usize> = from.into_iter().filter(|&d| sizes[d] != 1).collect();
        let place = |result: usize| from.iter().position(|&d| d == dimensions[result]);
        // For each physical dimension of the result, major first, the operand's.
        let places: Vec<usize> = to.iter().filter_map(|&d| place(d)).collect();
        let mut runs: Vec<(usize, i64)> = Vec::new();
        for (i, &place) in places.iter().enumerate() {
            let size = sizes[from[place]];
            match runs.last_mut() {
                // Beyond 63 bits only in an array without elements.
                Some((_, run)) if place == places[i - 1] + 1 => *run = run.saturating_mul(size),
                _ => runs.push((place, size)),
            }
        }
        let rank = |place: usize| runs.iter().filter(|(first, _)| *first < place).count();
        Ok(NormalizedTranspose {
            dimensions: runs.iter().map(|&(_, size)| size).collect(),
            permutation: runs.iter().map(|&(first, _)| rank(first)).collect(),
        })
    }

    /// The sizes of the result, major to minor.
    pub fn dimensions(&self) -> &[i64] {
        &self.dimensions
    }

    /// Dimension `i` of the result is dimension `permutation()[i]` of the operand.
    pub fn permutation(&self) -> &[usize] {
        &self.permutation
    }
}
