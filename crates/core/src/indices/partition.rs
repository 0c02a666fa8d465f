//! Boxes of indices cut into parts of about the same size.

use smallvec::SmallVec;

use super::{IndexSpace, Steps};
use crate::ArrayShape;
use crate::error::ShapeError;

/// An array cut along its most major dimensions, so that every part is as contiguous as can be.
///
/// The counts are those of XLA's partition assigner: as many of the most major dimensions as
/// together have enough indices, each cut into the same number of parts, and what that leaves
/// short of the target made up from the most major dimension on.
///
/// ```
/// use minormajor_core::{Shape, ShapePartition};
///
/// let shape: Shape = "f32[5,3,2]{2,0,1}".parse()?;
/// let partition = ShapePartition::new(shape.as_array()?, 16)?;
/// assert_eq!(partition.counts(), [3, 2, 2]);
/// assert_eq!(partition.part(1), Some(vec![(0, 1), (0, 2), (1, 1)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "ShapePartitionAssigner")]
#[doc(alias = "ShapePartitionIterator")]
pub struct ShapePartition {
    /// The sizes of the dimensions that are cut, the most major first.
    sizes: SmallVec<[i64; 6]>,
    /// Into how many parts; from 1 to the size, or 1 for none.
    counts: SmallVec<[i64; 6]>,
}

impl ShapePartition {
    /// About `target` parts of an array, never more; without a layout, in the default order. A
    /// scalar has one part.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Unbounded`] where a dimension has no bound.
    pub fn new(array: &ArrayShape, target: usize) -> Result<ShapePartition, ShapeError> {
        Ok(ShapePartition::of_sizes(major_sizes(array)?, target))
    }

    /// The parts of an array whose most major dimensions are cut into these numbers of parts.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Rank`] for more counts than dimensions, [`ShapeError::PartCount`] for one
    /// that is not from 1 to the dimension's size, [`ShapeError::Unbounded`].
    pub fn with_counts(
        array: &ArrayShape,
        counts: impl IntoIterator<Item = i64>,
    ) -> Result<ShapePartition, ShapeError> {
        let mut sizes = major_sizes(array)?;
        let counts: SmallVec<[i64; 6]> = counts.into_iter().collect();
        if counts.len() > sizes.len() {
            return Err(ShapeError::Rank {
                found: counts.len(),
                expected: sizes.len(),
            });
        }
        sizes.truncate(counts.len());
        for (place, (&count, &size)) in counts.iter().zip(&sizes).enumerate() {
            if !(1..=size.max(1)).contains(&count) {
                return Err(ShapeError::PartCount { place, count, size });
            }
        }
        Ok(ShapePartition { sizes, counts })
    }

    fn of_sizes(mut sizes: SmallVec<[i64; 6]>, target: usize) -> ShapePartition {
        let target = i64::try_from(target).unwrap_or(i64::MAX).max(1);
        let mut product = 1i64;
        let mut cut = 0;
        while cut < sizes.len() && (cut == 0 || product < target) {
            product = product.saturating_mul(sizes[cut]);
            cut += 1;
        }
        sizes.truncate(cut);
        let target = target.min(product).max(1);
        let each = root(target, cut as u32);
        let mut counts: SmallVec<[i64; 6]> =
            sizes.iter().map(|&size| size.min(each).max(1)).collect();
        for place in 0..cut {
            // All counts together are at most the target.
            let others: i64 = counts.iter().product::<i64>() / counts[place];
            counts[place] = counts[place].max((target / others).min(sizes[place]));
        }
        ShapePartition { sizes, counts }
    }

    /// Into how many parts each of the most major dimensions is cut, the most major first.
    pub fn counts(&self) -> &[i64] {
        &self.counts
    }

    /// How many parts there are: at least 1.
    #[doc(alias = "GetTotalPartitionCount")]
    pub fn len(&self) -> i64 {
        self.counts.iter().product()
    }

    /// False: there is always a part, which may have no elements.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Where a part lies: in each of the most major dimensions, the first index and how many.
    /// The last part of a dimension takes what the division leaves. `None` from
    /// [`len`](Self::len) on.
    #[doc(alias = "GetPartition")]
    pub fn part(&self, number: i64) -> Option<Vec<(i64, i64)>> {
        if !(0..self.len()).contains(&number) {
            return None;
        }
        let mut part = vec![(0, 0); self.counts.len()];
        let mut rest = number;
        for (place, (&count, &size)) in self.counts.iter().zip(&self.sizes).enumerate().rev() {
            let (number, width) = (rest % count, size / count);
            rest /= count;
            let start = number * width;
            let end = if number + 1 == count {
                size
            } else {
                start + width
            };
            part[place] = (start, end - start);
        }
        Some(part)
    }
}

impl IndexSpace {
    /// Cuts the indices into at most `parts` spaces, one after the other in the order of this
    /// one, for as many threads to share. Each index is in exactly one of them.
    ///
    /// ```
    /// use minormajor_core::{IndexSpace, Shape};
    ///
    /// let shape: Shape = "f32[4,6]".parse()?;
    /// let halves = IndexSpace::new(shape.as_array()?)?.partition(2);
    /// assert_eq!(halves.iter().map(IndexSpace::len).collect::<Vec<_>>(), [12, 12]);
    /// assert_eq!(halves[1].iter().next(), Some(vec![2, 0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn partition(&self, parts: usize) -> Vec<IndexSpace> {
        let major_to_minor = || self.order.as_slice().iter().rev();
        let sizes = major_to_minor()
            .map(|&d| self.dimensions[d].len())
            .collect();
        let partition = ShapePartition::of_sizes(sizes, parts);
        let part = |number: i64| {
            let mut space = self.clone();
            let part = partition.part(number).unwrap_or_default();
            for (&dimension, (start, len)) in major_to_minor().zip(part) {
                let Steps {
                    base, count, step, ..
                } = self.dimensions[dimension];
                let skipped = start * step;
                space.dimensions[dimension].base = base + skipped;
                // Up to behind the last index of the part, or to the space's own end.
                space.dimensions[dimension].count = len.saturating_mul(step).min(count - skipped);
            }
            space
        };
        (0..partition.len()).map(part).collect()
    }
}

fn major_sizes(array: &ArrayShape) -> Result<SmallVec<[i64; 6]>, ShapeError> {
    let sizes = array.sizes()?;
    Ok(match array.layout() {
        Some(layout) => layout
            .minor_to_major()
            .iter()
            .rev()
            .map(|&d| sizes[d])
            .collect(),
        None => sizes.into(),
    })
}

/// The greatest integer whose power is at most `value`, which is at least 1.
fn root(value: i64, power: u32) -> i64 {
    if power <= 1 {
        return value;
    }
    let mut root = (value as f64).powf(1.0 / f64::from(power)) as i64;
    let within = |root: i64| {
        root.checked_pow(power)
            .is_some_and(|product| product <= value)
    };
    while !within(root) {
        root -= 1;
    }
    while within(root + 1) {
        root += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn array(text: &str) -> ArrayShape {
        let shape: Shape = text.parse().unwrap();
        shape.as_array().unwrap().clone()
    }

    /// The counts for a target of 1, 2, and so on.
    fn assigned(text: &str, expected: &[&[i64]]) {
        for (target, &counts) in (1..).zip(expected) {
            let partition = ShapePartition::new(&array(text), target).unwrap();
            assert_eq!(partition.counts(), counts, "{text} in {target}");
        }
    }

    /// XLA: ShapePartitionAssignerTest.Shape13WithLayout10
    /// XLA: ShapePartitionAssignerTest.Shape31WithLayout01
    #[test]
    fn a_dimension_of_size_1_is_passed_over() {
        assigned("f32[1,3]{1,0}", &[&[1], &[1, 2]]);
        assigned("f32[3,1]{0,1}", &[&[1], &[1, 2]]);
    }

    /// XLA: ShapePartitionAssignerTest.Shape53WithLayout10
    /// XLA: ShapePartitionAssignerTest.Shape53WithLayout01
    #[test]
    fn the_most_major_dimension_is_cut_first() {
        assigned("f32[5,3]{1,0}", &[&[1], &[2], &[3], &[4], &[5], &[3, 2]]);
        assigned("f32[5,3]{0,1}", &[&[1], &[2], &[3], &[2, 2]]);
    }

    /// XLA: ShapePartitionAssignerTest.Shape532WithLayout210
    /// XLA: ShapePartitionAssignerTest.Shape532WithLayout201
    #[test]
    fn three_dimensions() {
        assigned(
            "f32[5,3,2]{2,1,0}",
            &[
                &[1],
                &[2],
                &[3],
                &[4],
                &[5],
                &[3, 2],
                &[3, 2],
                &[4, 2],
                &[3, 3],
                &[3, 3],
                &[3, 3],
                &[4, 3],
                &[4, 3],
                &[4, 3],
                &[5, 3],
                &[4, 2, 2],
            ],
        );
        assigned(
            "f32[5,3,2]{2,0,1}",
            &[
                &[1],
                &[2],
                &[3],
                &[2, 2],
                &[2, 2],
                &[3, 2],
                &[3, 2],
                &[3, 2],
                &[3, 3],
                &[3, 3],
                &[3, 3],
                &[3, 4],
                &[3, 4],
                &[3, 4],
                &[3, 5],
                &[3, 2, 2],
            ],
        );
    }

    /// XLA: ShapePartitionAssignerTest.ScalarShape
    #[test]
    fn a_scalar_is_one_part() {
        let partition = ShapePartition::new(&array("f32[]"), 4).unwrap();
        assert_eq!((partition.counts(), partition.len()), (&[][..], 1));
        assert_eq!(partition.part(0), Some(vec![]));
        assert_eq!(partition.part(1), None);
    }

    /// XLA: ShapePartitionIteratorTest.Shape53WithLayout10
    #[test]
    fn parts_of_one_dimension() {
        for (count, expected) in [
            (1, &[(0, 5)][..]),
            (2, &[(0, 2), (2, 3)]),
            (3, &[(0, 1), (1, 1), (2, 3)]),
        ] {
            let partition = ShapePartition::with_counts(&array("f32[5,3]"), [count]).unwrap();
            let parts: Vec<_> = (0..partition.len()).map(|i| partition.part(i)).collect();
            let expected: Vec<_> = expected.iter().map(|&part| Some(vec![part])).collect();
            assert_eq!(parts, expected);
        }
    }

    /// XLA: ShapePartitionIteratorTest.Shape532WithLayout210
    #[test]
    fn parts_of_two_dimensions() {
        let array = array("f32[5,3,2]");
        let whole = ShapePartition::with_counts(&array, [1, 1]).unwrap();
        assert_eq!(whole.part(0), Some(vec![(0, 5), (0, 3)]));
        assert_eq!(whole.len(), 1);
        let four = ShapePartition::with_counts(&array, [2, 2]).unwrap();
        let parts: Vec<_> = (0..four.len()).map(|i| four.part(i).unwrap()).collect();
        assert_eq!(
            parts,
            [
                [(0, 2), (0, 1)],
                [(0, 2), (1, 2)],
                [(2, 3), (0, 1)],
                [(2, 3), (1, 2)]
            ]
        );
        assert!(ShapePartition::with_counts(&array, [2, 4]).is_err());
        assert!(ShapePartition::with_counts(&array, [0]).is_err());
        assert!(ShapePartition::with_counts(&array, [1, 1, 1, 1]).is_err());
    }

    #[test]
    fn empty_arrays_and_large_targets() {
        for text in ["f32[0]", "f32[0,7]{0,1}", "f32[7,0]{0,1}"] {
            for target in [0, 1, 5, usize::MAX] {
                let partition = ShapePartition::new(&array(text), target).unwrap();
                assert!(partition.counts().iter().all(|&count| count >= 1));
            }
        }
        let large = ShapePartition::new(&array("pred[1000000000,1000000000]"), usize::MAX);
        assert_eq!(large.unwrap().counts(), [1000000000, 1000000000]);
        // XLA takes roots as floating-point numbers: of 64 and three dimensions it says 3.
        assert_eq!((64f64.powf(1.0 / 3.0) as i64, root(64, 3)), (3, 4));
        for power in 1..6 {
            for value in 1..200i64 {
                let root = root(value, power);
                assert!(root.pow(power) <= value && (root + 1).pow(power) > value);
            }
        }
        assert_eq!(root(i64::MAX, 2), 3037000499);
    }
}
