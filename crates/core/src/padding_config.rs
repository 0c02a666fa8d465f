//! How an operation pads its operand: at both edges of each dimension and between elements.

use std::fmt;

use smallvec::SmallVec;

use crate::address::div_ceil;

/// How much padding each dimension gets; XLA's `PaddingConfig`.
///
/// Prints as in HLO: dimensions joined by `x`, each `low_high` or `low_high_interior`.
///
/// ```
/// use minormajor_core::{DimensionPadding, PaddingConfig};
///
/// let config = PaddingConfig::edges([(0, 1), (-1, 2)]);
/// assert_eq!(config.to_string(), "0_1x-1_2");
/// assert!(!config.has_interior_padding());
/// # Ok::<(), minormajor_core::WindowError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PaddingConfig {
    dimensions: SmallVec<[DimensionPadding; 6]>,
}

/// The padding of one dimension, in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DimensionPadding {
    /// Before the first element; below 0, elements are cut off there.
    pub low: i64,
    /// Behind the last element; below 0, elements are cut off there.
    pub high: i64,
    /// Between two elements; not below 0.
    pub interior: i64,
}

impl PaddingConfig {
    /// No padding of any of `rank` dimensions.
    #[doc(alias = "MakeNoPaddingConfig")]
    pub fn none(rank: usize) -> PaddingConfig {
        PaddingConfig {
            dimensions: SmallVec::from_elem(DimensionPadding::default(), rank),
        }
    }

    /// Padding at the edges of each dimension: low, high.
    #[doc(alias = "MakeEdgePaddingConfig")]
    pub fn edges(padding: impl IntoIterator<Item = (i64, i64)>) -> PaddingConfig {
        let dimension = |(low, high)| DimensionPadding {
            low,
            high,
            interior: 0,
        };
        PaddingConfig {
            dimensions: padding.into_iter().map(dimension).collect(),
        }
    }

    /// As much padding at one edge of each dimension as at the other.
    #[doc(alias = "MakeSymmetricPadding")]
    pub fn symmetric(padding: impl IntoIterator<Item = i64>) -> PaddingConfig {
        PaddingConfig::edges(padding.into_iter().map(|edge| (edge, edge)))
    }

    /// Padding of each dimension, the interior included.
    ///
    /// # Errors
    ///
    /// [`WindowError::Value`] for interior padding below 0.
    pub fn new(
        padding: impl IntoIterator<Item = DimensionPadding>,
    ) -> Result<PaddingConfig, WindowError> {
        let dimensions: SmallVec<[DimensionPadding; 6]> = padding.into_iter().collect();
        for (dimension, padding) in dimensions.iter().enumerate() {
            at_least(dimension, "interior padding", padding.interior, 0)?;
        }
        Ok(PaddingConfig { dimensions })
    }

    /// The padding of each dimension.
    pub fn dimensions(&self) -> &[DimensionPadding] {
        &self.dimensions
    }

    /// Whether some dimension is padded between elements.
    pub fn has_interior_padding(&self) -> bool {
        self.dimensions.iter().any(|padding| padding.interior != 0)
    }

    /// Whether each dimension is padded alike at both edges.
    pub fn has_symmetric_padding(&self) -> bool {
        self.dimensions
            .iter()
            .all(|padding| padding.low == padding.high)
    }

    /// What a dimension of this size becomes; `None` where that is below 0 or beyond 63 bits, or
    /// there is no such dimension.
    ///
    /// ```
    /// use minormajor_core::{DimensionPadding, PaddingConfig};
    ///
    /// let config = PaddingConfig::new([DimensionPadding { low: 1, high: -2, interior: 3 }])?;
    /// assert_eq!(config.padded_size(0, 4), Some(1 + 13 - 2));
    /// # Ok::<(), minormajor_core::WindowError>(())
    /// ```
    pub fn padded_size(&self, dimension: usize, size: i64) -> Option<i64> {
        let padding = self.dimensions.get(dimension)?;
        let between = i128::from((size - 1).max(0)) * i128::from(padding.interior);
        let padded =
            i128::from(size) + between + i128::from(padding.low) + i128::from(padding.high);
        i64::try_from(padded).ok().filter(|&padded| padded >= 0)
    }
}

impl fmt::Display for PaddingConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (dimension, padding) in self.dimensions.iter().enumerate() {
            let separator = if dimension > 0 { "x" } else { "" };
            write!(f, "{separator}{}_{}", padding.low, padding.high)?;
            // HLO gives the interior of all dimensions or of none.
            if self.has_interior_padding() {
                write!(f, "_{}", padding.interior)?;
            }
        }
        Ok(())
    }
}

/// Padding by a rule, for a window that slides over a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "PaddingType")]
pub enum Padding {
    /// None: windows stay inside.
    Valid,
    /// As much as gives a window for every `stride`-th element; the odd one goes behind.
    Same,
}

impl Padding {
    /// The padding (low, high) of each dimension, from its size, and the window's size and
    /// stride.
    ///
    /// # Errors
    ///
    /// [`WindowError::Rank`] unless there is a window and a stride a dimension,
    /// [`WindowError::Value`] for a size below 0, or a window or stride below 1.
    ///
    /// ```
    /// use minormajor_core::Padding;
    ///
    /// assert_eq!(Padding::Same.edges(&[10], &[6], &[1])?, [(2, 3)]);
    /// # Ok::<(), minormajor_core::WindowError>(())
    /// ```
    #[doc(alias = "MakePadding")]
    #[doc(alias = "ValidatePaddingValues")]
    pub fn edges(
        self,
        sizes: &[i64],
        windows: &[i64],
        strides: &[i64],
    ) -> Result<Vec<(i64, i64)>, WindowError> {
        for (what, list) in [("window sizes", windows), ("strides", strides)] {
            if list.len() != sizes.len() {
                return Err(WindowError::Rank {
                    what,
                    found: list.len(),
                    rank: sizes.len(),
                });
            }
        }
        let edges = |dimension: usize| {
            let (size, window, stride) = (sizes[dimension], windows[dimension], strides[dimension]);
            at_least(dimension, "size", size, 0)?;
            at_least(dimension, "window size", window, 1)?;
            at_least(dimension, "stride", stride, 1)?;
            if self == Padding::Valid {
                return Ok((0, 0));
            }
            let steps = (div_ceil(size, stride) - 1).max(0);
            // Steps times the stride are below the size.
            let needed = (steps * stride).saturating_add(window);
            let padding = (needed - size).max(0);
            Ok((padding / 2, padding - padding / 2))
        };
        (0..sizes.len()).map(edges).collect()
    }
}

/// Why there is no such window or padding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// Lists of different numbers of dimensions.
    #[error("{found} {what} for {rank} dimensions; expected as many")]
    #[allow(missing_docs)]
    Rank {
        what: &'static str,
        found: usize,
        rank: usize,
    },
    /// A number that is too small.
    #[error("the {what} of dimension {dimension} is {found}; expected {least} or more")]
    #[allow(missing_docs)]
    Value {
        dimension: usize,
        what: &'static str,
        found: i64,
        least: i64,
    },
}

/// Checks one number of a dimension.
pub(crate) fn at_least(
    dimension: usize,
    what: &'static str,
    found: i64,
    least: i64,
) -> Result<(), WindowError> {
    match found >= least {
        true => Ok(()),
        false => Err(WindowError::Value {
            dimension,
            what,
            found,
            least,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(padding: Padding, size: i64, window: i64, stride: i64) -> (i64, i64) {
        padding.edges(&[size], &[window], &[stride]).unwrap()[0]
    }

    /// XLA: PaddingTest.ValidPaddingWithStrideOne
    /// XLA: PaddingTest.ValidPaddingWithStrideThree
    #[test]
    fn valid_padding_is_none() {
        assert_eq!(edges(Padding::Valid, 10, 5, 1), (0, 0));
        assert_eq!(edges(Padding::Valid, 10, 5, 3), (0, 0));
    }

    /// XLA: PaddingTest.SamePaddingWithOddWindow
    /// XLA: PaddingTest.SamePaddingWithEvenWindow
    /// XLA: PaddingTest.SamePaddingWithOddWindowWithStride
    /// XLA: PaddingTest.SamePaddingWithEvenWindowWithStride
    /// XLA: PaddingTest.SamePaddingForWindowSizeOne
    /// XLA: PaddingTest.SamePaddingForWindowLargerThanInput
    /// XLA: PaddingTest.NonNegativePadding
    #[test]
    fn same_padding_gives_a_window_a_stride() {
        for (size, window, stride, expected) in [
            (10, 7, 1, (3, 3)),
            (10, 6, 1, (2, 3)),
            (10, 7, 3, (3, 3)),
            (10, 6, 4, (2, 2)),
            (10, 1, 1, (0, 0)),
            (10, 20, 1, (9, 10)),
            (4, 1, 2, (0, 0)),
        ] {
            let (low, high) = edges(Padding::Same, size, window, stride);
            assert_eq!((low, high), expected);
            let padded = low + size + high;
            let windows = (padded - window) / stride + 1;
            assert_eq!(windows, div_ceil(size, stride));
        }
        assert!(Padding::Same.edges(&[1], &[1, 2], &[1]).is_err());
        let error = Padding::Same.edges(&[1], &[1], &[0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the stride of dimension 0 is 0; expected 1 or more"
        );
    }

    #[test]
    fn configs() {
        let none = PaddingConfig::none(2);
        assert_eq!(none.to_string(), "0_0x0_0");
        assert!(none.has_symmetric_padding());
        let symmetric = PaddingConfig::symmetric([1, 2]);
        assert_eq!(symmetric, PaddingConfig::edges([(1, 1), (2, 2)]));
        let interior = DimensionPadding {
            low: -1,
            high: 2,
            interior: 3,
        };
        let config = PaddingConfig::new([DimensionPadding::default(), interior]).unwrap();
        assert_eq!(config.to_string(), "0_0_0x-1_2_3");
        assert!(config.has_interior_padding() && !config.has_symmetric_padding());
        assert_eq!(config.padded_size(1, 0), Some(1));
        assert_eq!(config.padded_size(1, 5), Some(18));
        assert_eq!(config.padded_size(2, 5), None);
        assert_eq!(PaddingConfig::edges([(-3, 0)]).padded_size(0, 2), None);
        let negative = DimensionPadding {
            interior: -1,
            ..interior
        };
        assert!(PaddingConfig::new([negative]).is_err());
    }
}
