//! Dimensions: sizes, bounds, names, and numbers counted from either end.

use std::fmt;

use crate::error::ShapeError;

/// The size of one dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Exactly this many.
    Static(i64),
    /// Known at run time, at most this many: `<=n` in text. Memory is laid out for the bound.
    Bounded(i64),
    /// Known at run time, without a bound: `?` in text. Such an array has no size yet.
    Unbounded,
}

impl Dimension {
    /// The size, or the bound of a bounded dimension; `None` for an unbounded one.
    pub const fn bound(self) -> Option<i64> {
        match self {
            Dimension::Static(size) | Dimension::Bounded(size) => Some(size),
            Dimension::Unbounded => None,
        }
    }

    /// Whether the size is known.
    pub const fn is_static(self) -> bool {
        !self.is_dynamic()
    }

    /// Whether there is a bound in place of the size.
    pub const fn is_bounded(self) -> bool {
        matches!(self, Dimension::Bounded(_))
    }

    /// Whether there is neither size nor bound.
    pub const fn is_unbounded(self) -> bool {
        matches!(self, Dimension::Unbounded)
    }

    /// Whether the size is known only at run time.
    pub const fn is_dynamic(self) -> bool {
        !matches!(self, Dimension::Static(_))
    }
}

impl From<i64> for Dimension {
    fn from(size: i64) -> Self {
        Dimension::Static(size)
    }
}

impl From<&i64> for Dimension {
    fn from(size: &i64) -> Self {
        Dimension::Static(*size)
    }
}

impl From<&Dimension> for Dimension {
    fn from(dimension: &Dimension) -> Self {
        *dimension
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dimension::Static(size) => write!(f, "{size}"),
            Dimension::Bounded(bound) => write!(f, "<={bound}"),
            Dimension::Unbounded => f.write_str("?"),
        }
    }
}

/// The names that dimensions have by convention at this rank, in increasing order of dimension
/// number: `y x`, `z y x`, `p z y x`; none outside ranks 2 to 4.
///
/// ```
/// assert_eq!(minormajor_core::dimension_names(3), ["z", "y", "x"]);
/// assert!(minormajor_core::dimension_names(5).is_empty());
/// ```
pub fn dimension_names(rank: usize) -> &'static [&'static str] {
    const NAMES: [&str; 4] = ["p", "z", "y", "x"];
    match rank {
        2..=4 => &NAMES[4 - rank..],
        _ => &[],
    }
}

/// Turns a dimension number that may count from the end (-1 is the last) into an index.
///
/// # Errors
///
/// [`ShapeError::NoSuchDimension`] unless `-rank <= dimension < rank`.
///
/// ```
/// use minormajor_core::resolve_dimension;
///
/// assert_eq!(resolve_dimension(-1, 3)?, 2);
/// assert!(resolve_dimension(3, 3).is_err());
/// # Ok::<(), minormajor_core::ShapeError>(())
/// ```
#[doc(alias = "GetDimensionNumber")]
pub fn resolve_dimension(dimension: i64, rank: usize) -> Result<usize, ShapeError> {
    let from_front = if dimension < 0 {
        rank as i128 + i128::from(dimension)
    } else {
        i128::from(dimension)
    };
    if (0..rank as i128).contains(&from_front) {
        Ok(from_front as usize)
    } else {
        Err(ShapeError::NoSuchDimension { dimension, rank })
    }
}
/// The dimensions of an operand of this rank that a dot neither contracts nor batches, ascending:
/// XLA's `GetNonContractingDims`.
///
/// # Errors
///
/// [`ShapeError`] for a dimension that is not there or named twice.
///
/// ```
/// use minormajor_core::non_contracting_dimensions;
///
/// assert_eq!(non_contracting_dimensions(5, &[3], &[0, 1])?, [2, 4]);
/// assert!(non_contracting_dimensions(2, &[1], &[1]).is_err());
/// # Ok::<(), minormajor_core::ShapeError>(())
/// ```
#[doc(alias = "GetNonContractingDims")]
pub fn non_contracting_dimensions(
    rank: usize,
    contracting: &[i64],
    batch: &[i64],
) -> Result<Vec<usize>, ShapeError> {
    let mut taken = vec![false; rank];
    for &dimension in contracting.iter().chain(batch) {
        let place = resolve_dimension(dimension, rank)?;
        if std::mem::replace(&mut taken[place], true) {
            return Err(ShapeError::DimensionRepeated { dimension: place });
        }
    }
    Ok((0..rank).filter(|&place| !taken[place]).collect())
}
