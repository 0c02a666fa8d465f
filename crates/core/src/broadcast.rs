//! The sizes of results: of operations on pairs of elements, and of matrix products.
//!
//! The rules are NumPy's: sizes are aligned at the last dimension, and a dimension of size 1, or one
//! that is absent, stretches to the other's.

use std::fmt;

/// Sizes as people write them: `(4,3,2)`, `()`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sizes(Vec<i64>);

impl From<&[i64]> for Sizes {
    fn from(sizes: &[i64]) -> Sizes {
        Sizes(sizes.to_vec())
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sizes(f, &self.0)
    }
}

/// Writes `(4,3,2)`.
pub(crate) fn write_sizes<T: fmt::Display>(f: &mut fmt::Formatter<'_>, sizes: &[T]) -> fmt::Result {
    f.write_str("(")?;
    for (place, size) in sizes.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        write!(f, "{comma}{size}")?;
    }
    f.write_str(")")
}

/// Why two shapes are not for one operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BroadcastError {
    /// Two sizes that differ, none of them 1.
    #[error(
        "{left} and {right} don't go together: dimension {dimension} from the end, -1 being the \
         last, is {left_size} and {right_size}; expected equal sizes, or 1 in one of them"
    )]
    #[allow(missing_docs)]
    Sizes {
        left: Sizes,
        right: Sizes,
        /// Counted from the end.
        dimension: i64,
        left_size: i64,
        right_size: i64,
    },
    /// Sizes that don't stretch to given ones.
    #[error(
        "{from} does not stretch to {to}: dimension {dimension} from the end, -1 being the last, \
         is {size}; expected {expected}"
    )]
    #[allow(missing_docs)]
    Target {
        from: Sizes,
        to: Sizes,
        dimension: i64,
        size: i64,
        expected: String,
    },
    /// A matrix product of a scalar.
    #[error("{left} times {right} is no matrix product: expected at least one dimension in both")]
    #[allow(missing_docs)]
    Scalar { left: Sizes, right: Sizes },
    /// A matrix product whose inner sizes differ.
    #[error(
        "{left} times {right} is no matrix product: the left one has {left_size} columns \
         (dimension -1), the right one {right_size} rows (dimension {right_dimension}); expected \
         as many"
    )]
    #[allow(missing_docs)]
    Inner {
        left: Sizes,
        right: Sizes,
        left_size: i64,
        right_size: i64,
        right_dimension: i64,
    },
}

/// The sizes of `left operation right`, element by element.
///
/// # Errors
///
/// [`BroadcastError::Sizes`] with the first pair, from the end, that does not go together.
///
/// ```
/// use minormajor_core::broadcast::broadcast_sizes;
///
/// assert_eq!(broadcast_sizes(&[4, 1, 3], &[2, 1])?, [4, 2, 3]);
/// let error = broadcast_sizes(&[4, 3], &[2, 3]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "(4,3) and (2,3) don't go together: dimension -2 from the end, -1 being the last, is 4 and \
///      2; expected equal sizes, or 1 in one of them"
/// );
/// # Ok::<(), minormajor_core::broadcast::BroadcastError>(())
/// ```
pub fn broadcast_sizes(left: &[i64], right: &[i64]) -> Result<Vec<i64>, BroadcastError> {
    let rank = left.len().max(right.len());
    let mut made = vec![1; rank];
    for back in 1..=rank {
        let [a, b] = [left, right].map(|sizes| from_end(sizes, back).unwrap_or(1));
        made[rank - back] = match (a, b) {
            (a, b) if a == b => a,
            (1, other) | (other, 1) => other,
            (left_size, right_size) => {
                return Err(BroadcastError::Sizes {
                    left: left.into(),
                    right: right.into(),
                    dimension: -(back as i64),
                    left_size,
                    right_size,
                });
            }
        };
    }
    Ok(made)
}

/// Checks that sizes stretch to others: right-aligned, a 1 to anything.
///
/// # Errors
///
/// [`BroadcastError::Target`] with the first dimension, from the end, that does not.
pub fn check_stretches(from: &[i64], to: &[i64]) -> Result<(), BroadcastError> {
    for back in 1..=from.len() {
        let size = from[from.len() - back];
        let expected = match from_end(to, back) {
            Some(wanted) if size == wanted || size == 1 => continue,
            Some(1) => "1".to_owned(),
            Some(wanted) => format!("1 or {wanted}"),
            None => format!("at most {} dimensions", to.len()),
        };
        return Err(BroadcastError::Target {
            from: from.into(),
            to: to.into(),
            dimension: -(back as i64),
            size,
            expected,
        });
    }
    Ok(())
}

/// The sizes of a matrix product of any ranks: `[.., m, k]` times `[.., k, n]` is `[.., m, n]`, the
/// leading dimensions [broadcast](broadcast_sizes). An operand of rank 1 is a row on the left and a
/// column on the right, whose dimension the result lacks.
///
/// # Errors
///
/// [`BroadcastError`], with the dimension at fault.
///
/// ```
/// use minormajor_core::broadcast::matmul_shape;
///
/// assert_eq!(matmul_shape(&[1024, 2048], &[2048, 512])?, [1024, 512]);
/// assert_eq!(matmul_shape(&[7, 1, 2, 3], &[5, 3, 4])?, [7, 5, 2, 4]);
/// assert_eq!(matmul_shape(&[3], &[3, 4])?, [4]);
/// let error = matmul_shape(&[2, 3], &[2, 3]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "(2,3) times (2,3) is no matrix product: the left one has 3 columns (dimension -1), the \
///      right one 2 rows (dimension -2); expected as many"
/// );
/// # Ok::<(), minormajor_core::broadcast::BroadcastError>(())
/// ```
pub fn matmul_shape(left: &[i64], right: &[i64]) -> Result<Vec<i64>, BroadcastError> {
    let (Some(&columns), false) = (left.last(), right.is_empty()) else {
        return Err(BroadcastError::Scalar {
            left: left.into(),
            right: right.into(),
        });
    };
    let right_back = right.len().min(2);
    let rows = right[right.len() - right_back];
    if columns != rows {
        return Err(BroadcastError::Inner {
            left: left.into(),
            right: right.into(),
            left_size: columns,
            right_size: rows,
            right_dimension: -(right_back as i64),
        });
    }
    let batch = |sizes: &[i64]| sizes[..sizes.len().saturating_sub(2)].to_vec();
    let mut made = broadcast_sizes(&batch(left), &batch(right)).map_err(|error| match error {
        // Told of the whole shapes.
        BroadcastError::Sizes {
            dimension,
            left_size,
            right_size,
            ..
        } => BroadcastError::Sizes {
            left: left.into(),
            right: right.into(),
            dimension: dimension - 2,
            left_size,
            right_size,
        },
        other => other,
    })?;
    if left.len() > 1 {
        made.push(left[left.len() - 2]);
    }
    if right.len() > 1 {
        made.push(right[right.len() - 1]);
    }
    Ok(made)
}

fn from_end(sizes: &[i64], back: usize) -> Option<i64> {
    sizes.len().checked_sub(back).map(|place| sizes[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_every_rank() {
        for (left, right, expected) in [
            (&[3][..], &[3][..], &[][..]),
            (&[2, 3], &[3], &[2]),
            (&[5, 2, 3], &[3], &[5, 2]),
            (&[3], &[5, 3, 4], &[5, 4]),
            (&[6, 5, 2, 3], &[3, 4], &[6, 5, 2, 4]),
            (&[0, 3], &[3, 4], &[0, 4]),
            (&[2, 0], &[0, 4], &[2, 4]),
        ] {
            assert_eq!(
                matmul_shape(left, right).unwrap(),
                expected,
                "{left:?} {right:?}"
            );
        }
        for (left, right, part) in [
            (
                &[][..],
                &[3][..],
                "() times (3) is no matrix product: expected at least one",
            ),
            (
                &[3],
                &[4],
                "3 columns (dimension -1), the right one 4 rows (dimension -1)",
            ),
            (
                &[2, 2, 3],
                &[5, 3, 4],
                "(2,2,3) and (5,3,4) don't go together: dimension -3",
            ),
        ] {
            let error = matmul_shape(left, right).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn stretching_is_one_directional() {
        assert!(check_stretches(&[], &[2, 3]).is_ok());
        assert!(check_stretches(&[1, 3], &[5, 2, 3]).is_ok());
        let error = |from: &[i64], to: &[i64]| check_stretches(from, to).unwrap_err().to_string();
        assert!(error(&[2, 3], &[1, 3]).ends_with("is 2; expected 1"));
        assert!(error(&[2, 3], &[4, 3]).ends_with("is 2; expected 1 or 4"));
        assert!(error(&[1, 3], &[3]).ends_with("is 1; expected at most 1 dimensions"));
    }
}
