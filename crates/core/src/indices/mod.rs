//! All indices of an array, or some of them, one after the other.

mod iterate;
mod linear;
mod mixed_radix;
mod partition;

use smallvec::SmallVec;

use crate::ArrayShape;
use crate::dimension::resolve_dimension;
use crate::error::ShapeError;
use crate::permutation::Permutation;

pub use iterate::Indices;
pub use mixed_radix::to_mixed_radix;
pub use partition::ShapePartition;

/// A box of an array's indices, with steps, and the order in which to go through them.
///
/// Starts as all indices of an array in the order of its layout, the most minor dimension
/// changing fastest, so that memory is read from front to back. Each dimension can be narrowed
/// to a range, stepped through, or pinned to one index; the order can be any.
///
/// ```
/// use minormajor_core::{IndexSpace, Shape};
///
/// let shape: Shape = "f32[2,3]{0,1}".parse()?;
/// let columns = IndexSpace::new(shape.as_array()?)?;
/// let seen: Vec<Vec<i64>> = columns.iter().collect();
/// assert_eq!(seen, [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]]);
///
/// // Row 1, every other column.
/// let some = columns.pinned(0, 1)?.range(1, 0, 3)?.step(1, 2)?;
/// assert_eq!(some.iter().collect::<Vec<_>>(), [[1, 0], [1, 2]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "IndexIterationSpace")]
pub struct IndexSpace {
    /// In dimension order.
    dimensions: SmallVec<[Steps; 6]>,
    /// The dimensions, that which changes fastest first.
    order: Permutation,
}

/// The indices of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Steps {
    /// The dimension's size.
    size: i64,
    /// The first index; below the size unless there are none.
    base: i64,
    /// The indices lie from the base on to before `base + count`, which is at most the size.
    count: i64,
    /// At least 1.
    step: i64,
}

impl Steps {
    fn all(size: i64) -> Steps {
        Steps {
            size,
            base: 0,
            count: size,
            step: 1,
        }
    }

    /// How many indices there are.
    fn len(self) -> i64 {
        // Fits: at most the size.
        crate::address::div_ceil(self.count, self.step)
    }
}

impl IndexSpace {
    /// All indices of an array in the order of its layout; without one, in the default order.
    /// A bounded dimension counts its bound.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Unbounded`] where a dimension has no bound.
    pub fn new(array: &ArrayShape) -> Result<IndexSpace, ShapeError> {
        let sizes = array.sizes()?;
        let order = match array.layout() {
            Some(layout) => Permutation::new(layout.minor_to_major().iter().map(|&d| d as i64))?,
            None => Permutation::new((0..array.rank() as i64).rev())?,
        };
        Ok(IndexSpace {
            dimensions: sizes.into_iter().map(Steps::all).collect(),
            order,
        })
    }

    /// The indices of a box, as XLA's `ForEachIndex` takes it: in every dimension from `base` to
    /// before `base + count` in steps, or the base alone where the count is 0.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Rank`] unless each list has a number a dimension, [`ShapeError::Range`]
    /// for indices beyond a dimension, [`ShapeError::Step`] for a step below 1, and those of
    /// [`IndexSpace::new`].
    ///
    /// ```
    /// use minormajor_core::{IndexSpace, Shape};
    ///
    /// let shape: Shape = "f32[4,5]".parse()?;
    /// let space = IndexSpace::boxed(shape.as_array()?, &[1, 3], &[3, 0], &[2, 1])?;
    /// assert_eq!(space.iter().collect::<Vec<_>>(), [[1, 3], [3, 3]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ForEachIndex")]
    pub fn boxed(
        array: &ArrayShape,
        base: &[i64],
        count: &[i64],
        step: &[i64],
    ) -> Result<IndexSpace, ShapeError> {
        let mut space = IndexSpace::new(array)?;
        let expected = array.rank();
        for found in [base.len(), count.len(), step.len()] {
            if found != expected {
                return Err(ShapeError::Rank { found, expected });
            }
        }
        for dimension in 0..expected {
            let number = dimension as i64;
            space = match count[dimension] {
                // Where an array has no indices, none can be pinned.
                0 if space.dimensions[dimension].size == 0 => space,
                0 => space.pinned(number, base[dimension])?,
                count => space
                    .range(number, base[dimension], count)?
                    .step(number, step[dimension])?,
            };
        }
        Ok(space)
    }

    /// Narrows a dimension to `count` indices from `base` on.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`], or [`ShapeError::Range`] for indices beyond the
    /// dimension.
    pub fn range(mut self, dimension: i64, base: i64, count: i64) -> Result<Self, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        let steps = &mut self.dimensions[dimension];
        let end = base.checked_add(count);
        if base < 0 || count < 0 || end.is_none_or(|end| end > steps.size) {
            return Err(ShapeError::Range {
                dimension,
                base,
                count,
                size: steps.size,
            });
        }
        (steps.base, steps.count) = (base, count);
        Ok(self)
    }

    /// Pins a dimension to one index.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`], or [`ShapeError::Range`] for an index beyond the
    /// dimension.
    pub fn pinned(self, dimension: i64, index: i64) -> Result<Self, ShapeError> {
        self.range(dimension, index, 1)
    }

    /// Takes only every `step`-th index of a dimension, beginning with the first.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`], or [`ShapeError::Step`] for a step below 1.
    pub fn step(mut self, dimension: i64, step: i64) -> Result<Self, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        if step < 1 {
            return Err(ShapeError::Step { dimension, step });
        }
        self.dimensions[dimension].step = step;
        Ok(self)
    }

    /// Goes through the indices in another order: dimension `order[0]` changes fastest.
    ///
    /// # Errors
    ///
    /// [`ShapeError::PermutationLength`] for an order of another number of dimensions.
    pub fn in_order(mut self, order: Permutation) -> Result<Self, ShapeError> {
        order.check_length(self.rank())?;
        self.order = order;
        Ok(self)
    }

    /// Goes through the indices as they are written: the last dimension changes fastest,
    /// whatever the layout.
    pub fn in_logical_order(mut self) -> Self {
        let order = (0..self.rank() as i64).rev();
        self.order = Permutation::new(order).expect("each dimension stands there once");
        self
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// How many indices there are: one for a scalar.
    pub fn len(&self) -> i64 {
        match self.is_empty() {
            true => 0,
            // At most the array's elements, which fit.
            false => self.dimensions.iter().map(|steps| steps.len()).product(),
        }
    }

    /// Whether there are no indices.
    pub fn is_empty(&self) -> bool {
        self.dimensions.iter().any(|steps| steps.count == 0)
    }
}
