//! What a reshape leaves as it is: common factors of two lists of sizes.

use smallvec::SmallVec;

use super::operation::BitcastError;
use crate::array::ArrayShape;
use crate::dimension::resolve_dimension;

/// Where the products of the first sizes of two lists are equal, as in XLA's `CommonFactors`: a
/// reshape from `a` to `b` keeps apart what lies between these places.
///
/// The first pair is `(0, 0)`, the last one `(a.len(), b.len())`; sizes of 1 stand alone where
/// they can. `None` where the lists' products differ, do not fit 127 bits, or a size is
/// negative.
///
/// ```
/// use minormajor_core::bitcast::common_factors;
///
/// // 2 x 5 is 10, and 3 is 3.
/// let factors = common_factors(&[2, 5, 1, 3], &[1, 10, 3, 1]).unwrap();
/// assert_eq!(factors, [(0, 0), (0, 1), (2, 2), (3, 2), (4, 3), (4, 4)]);
/// assert_eq!(common_factors(&[2, 3], &[5]), None);
/// ```
pub fn common_factors(a: &[i64], b: &[i64]) -> Option<Vec<(usize, usize)>> {
    if product(a)? != product(b)? {
        return None;
    }
    Some(factors(a, b).to_vec())
}

/// [`common_factors`] of lists whose products are equal.
pub(super) fn factors(a: &[i64], b: &[i64]) -> SmallVec<[(usize, usize); 8]> {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let mut bounds: SmallVec<[(usize, usize); 8]> = (0..same).map(|i| (i, i)).collect();
    let (rest_a, rest_b) = (&a[same..], &b[same..]);
    if product(rest_a) != product(rest_b) {
        // A 0 among the equal sizes hides that the rest differs.
        return SmallVec::from_slice(&[(0, 0), (a.len(), b.len())]);
    }
    if rest_a.contains(&0) {
        bounds.extend([(same, same), (a.len(), b.len())]);
        return bounds;
    }
    let (mut i, mut j) = (same, same);
    // At most the products of all, which fit.
    let (mut size_a, mut size_b): (i128, i128) = (1, 1);
    loop {
        if size_a == size_b {
            bounds.push((i, j));
        }
        let (next_a, next_b) = (a.get(i), b.get(j));
        let (take_a, take_b) = match (next_a, next_b) {
            (None, None) => return bounds,
            _ if size_a != size_b => (size_a < size_b, size_b < size_a),
            (Some(next_a), Some(next_b)) => (next_a <= next_b, next_b <= next_a),
            (next_a, next_b) => (next_a.is_some(), next_b.is_some()),
        };
        if take_a {
            size_a *= i128::from(a[i]);
            i += 1;
        }
        if take_b {
            size_b *= i128::from(b[j]);
            j += 1;
        }
    }
}

fn product(sizes: &[i64]) -> Option<i128> {
    if sizes.iter().any(|&size| size < 0) {
        return None;
    }
    if sizes.contains(&0) {
        return Some(0);
    }
    let mut sizes = sizes.iter().map(|&size| i128::from(size));
    sizes.try_fold(1, i128::checked_mul)
}

/// Dimensions of size 1 that a reshape adds or removes, if it does nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnitDimensions {
    /// Dimensions of the operand, rising, that the result lacks.
    pub deleted: Vec<usize>,
    /// Dimensions of the result, rising, that the operand lacks.
    pub inserted: Vec<usize>,
}

/// What a reshape does to dimensions, layouts aside.
impl ArrayShape {
    /// The dimensions that a reshape to `result` leaves as they are, as pairs of this shape's and
    /// the result's dimension: XLA's `DimensionsUnmodifiedByReshape`.
    ///
    /// # Errors
    ///
    /// [`BitcastError`] where a size is missing or the numbers of elements differ.
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let operand: Shape = "f32[4,1,3,5,6,7]".parse()?;
    /// let result: Shape = "f32[2,6,1,5,1,42]".parse()?;
    /// let unmodified = operand.as_array()?.dimensions_unmodified_by_reshape(result.as_array()?)?;
    /// assert_eq!(unmodified, [(3, 3)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dimensions_unmodified_by_reshape(
        &self,
        result: &ArrayShape,
    ) -> Result<Vec<(usize, usize)>, BitcastError> {
        let from = self.sizes().map_err(BitcastError::Operand)?;
        let to = result.sizes().map_err(BitcastError::Result)?;
        if self.elements() != result.elements() {
            return Err(BitcastError::Elements {
                operand: self.elements().unwrap_or(0),
                result: result.elements().unwrap_or(0),
            });
        }
        let factors = factors(&from, &to);
        Ok(factors
            .windows(2)
            .filter(|pair| pair[1] == (pair[0].0 + 1, pair[0].1 + 1))
            .map(|pair| pair[0])
            .collect())
    }

    /// The dimensions of the result that these dimensions of the operand are, in the order
    /// given; `None` where the reshape changes one of them. XLA's
    /// `ReshapeLeavesDimensionsUnmodified`, which answers for rising lists only.
    ///
    /// # Errors
    ///
    /// As [`dimensions_unmodified_by_reshape`](Self::dimensions_unmodified_by_reshape), and for
    /// a dimension that is not there.
    pub fn reshape_leaves_dimensions_unmodified(
        &self,
        result: &ArrayShape,
        dimensions: &[i64],
    ) -> Result<Option<Vec<usize>>, BitcastError> {
        let unmodified = self.dimensions_unmodified_by_reshape(result)?;
        let mut found = Vec::with_capacity(dimensions.len());
        for (place, &dimension) in dimensions.iter().enumerate() {
            let dimension = resolve_dimension(dimension, self.rank())
                .map_err(|error| BitcastError::Dimension { place, error })?;
            match unmodified.iter().find(|pair| pair.0 == dimension) {
                Some(&(_, result)) => found.push(result),
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// The dimensions of size 1 that a reshape to `result` removes and adds; `None` where it
    /// changes others too. XLA's `InsertedOrDeleted1SizedDimensions`.
    ///
    /// # Errors
    ///
    /// As [`dimensions_unmodified_by_reshape`](Self::dimensions_unmodified_by_reshape).
    #[doc(alias = "InsertedOrDeleted1SizedDimensions")]
    pub fn inserted_or_deleted_unit_dimensions(
        &self,
        result: &ArrayShape,
    ) -> Result<Option<UnitDimensions>, BitcastError> {
        let unmodified = self.dimensions_unmodified_by_reshape(result)?;
        let others = |shape: &ArrayShape, kept: &dyn Fn(usize) -> bool| {
            let others = (0..shape.rank()).filter(|&d| !kept(d));
            let unit = |d: usize| (shape.dimensions()[d].bound() == Some(1)).then_some(d);
            others.map(unit).collect::<Option<Vec<usize>>>()
        };
        let deleted = others(self, &|d| unmodified.iter().any(|pair| pair.0 == d));
        let inserted = others(result, &|d| unmodified.iter().any(|pair| pair.1 == d));
        Ok(deleted
            .zip(inserted)
            .map(|(deleted, inserted)| UnitDimensions { deleted, inserted }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XLA: UtilTest.CommonFactors
    #[test]
    fn common_factors_are_those_of_xla() {
        type Case = (&'static [i64], &'static [i64], &'static [(usize, usize)]);
        let cases: [Case; 14] = [
            (&[0], &[0], &[(0, 0), (1, 1)]),
            (&[1], &[], &[(0, 0), (1, 0)]),
            (&[], &[1], &[(0, 0), (0, 1)]),
            (&[], &[], &[(0, 0)]),
            (&[0, 10], &[0, 10, 3], &[(0, 0), (2, 3)]),
            (&[1, 0], &[1, 0, 1], &[(0, 0), (1, 1), (2, 2), (2, 3)]),
            (&[0, 1], &[0, 1], &[(0, 0), (1, 1), (2, 2)]),
            (&[3, 0, 2], &[3, 7, 0], &[(0, 0), (1, 1), (3, 3)]),
            (
                &[2, 5, 1, 3],
                &[1, 10, 3, 1],
                &[(0, 0), (0, 1), (2, 2), (3, 2), (4, 3), (4, 4)],
            ),
            (&[1, 1, 3], &[1, 1, 3], &[(0, 0), (1, 1), (2, 2), (3, 3)]),
            (&[2, 6], &[4, 3], &[(0, 0), (2, 2)]),
            (&[1, 2, 6], &[4, 1, 3, 1], &[(0, 0), (1, 0), (3, 3), (3, 4)]),
            (
                &[2, 3, 4, 5],
                &[2, 3, 4, 5],
                &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)],
            ),
            (
                &[2, 3, 4, 5],
                &[2, 12, 5],
                &[(0, 0), (1, 1), (3, 2), (4, 3)],
            ),
        ];
        for (a, b, expected) in cases {
            assert_eq!(
                common_factors(a, b).as_deref(),
                Some(expected),
                "{a:?} {b:?}"
            );
        }
        assert_eq!(common_factors(&[2, 3], &[2, 2]), None);
        assert_eq!(common_factors(&[-2, -3], &[6]), None);
        assert_eq!(common_factors(&[i64::MAX; 3], &[i64::MAX; 3]), None);
    }

    /// Between two places the products are equal, and nowhere else; unit sizes stand alone.
    #[test]
    fn common_factors_by_their_definition() {
        let lists: Vec<Vec<i64>> = (0..=4u32)
            .flat_map(|rank| {
                let sizes = [1, 2, 3, 4, 6];
                (0..5usize.pow(rank)).map(move |mut n| {
                    (0..rank)
                        .map(|_| {
                            let size = sizes[n % 5];
                            n /= 5;
                            size
                        })
                        .collect()
                })
            })
            .filter(|list: &Vec<i64>| list.iter().product::<i64>() == 24)
            .collect();
        assert!(lists.len() > 50);
        for a in &lists {
            for b in &lists {
                let found = common_factors(a, b).unwrap();
                assert_eq!(found[0], (0, 0));
                assert_eq!(found[found.len() - 1], (a.len(), b.len()));
                for pair in found.windows(2) {
                    let ((i, j), (k, l)) = (pair[0], pair[1]);
                    let (x, y) = (&a[i..k], &b[j..l]);
                    assert_eq!(x.iter().product::<i64>(), y.iter().product::<i64>());
                    let inner = |n: usize, list: &[i64]| list[..n].iter().product::<i64>();
                    let cut =
                        (1..x.len()).any(|m| (1..y.len()).any(|n| inner(m, x) == inner(n, y)));
                    assert!(!cut, "{a:?} {b:?}: {found:?}");
                }
            }
        }
    }
}
