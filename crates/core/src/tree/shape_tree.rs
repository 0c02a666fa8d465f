//! Trees of values that belong to a shape.

use std::ops::Deref;
use std::sync::Arc;

use super::build::tree_of;
use super::{TreeError, TupleTree};
use crate::shape::{Shape, ShapeIndex};

/// A value for every subshape of a shape, tuples included.
///
/// Reads as the [`TupleTree`] of its values, so everything that can be asked of one can be asked
/// of it; the shape says how it branches, so only values change.
///
/// ```
/// use minormajor_core::{Shape, ShapeTree};
///
/// let shape: Shape = "(f32[2,3], (s8[5], token[]))".parse()?;
/// let bytes = ShapeTree::from_fn(&shape, |_, part| part.byte_size(Some(8)).unwrap_or(0));
/// assert_eq!(bytes.element(&[])?, &16);
/// let leaves: Vec<i64> = bytes.leaves().map(|(_, &bytes)| bytes).collect();
/// assert_eq!(leaves, [24, 5, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeTree<T> {
    /// Shared by the trees made from one.
    shape: Arc<Shape>,
    /// Branches as the shape does.
    values: TupleTree<T>,
}

impl<T> ShapeTree<T> {
    /// The tree of what `value` makes of each subshape, given with its path.
    pub fn from_fn(shape: &Shape, value: impl FnMut(&ShapeIndex, &Shape) -> T) -> ShapeTree<T> {
        ShapeTree {
            values: tree_of(shape, value),
            shape: Arc::new(shape.clone()),
        }
    }

    /// The tree with the same value everywhere.
    pub fn new(shape: &Shape, value: T) -> ShapeTree<T>
    where
        T: Clone,
    {
        ShapeTree::from_fn(shape, |_, _| value.clone())
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The value at a path, to change.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoSuchElement`] where the path leads nowhere.
    #[doc(alias = "mutable_element")]
    pub fn element_mut(&mut self, index: &[usize]) -> Result<&mut T, TreeError> {
        self.values.element_mut(index)
    }

    /// All values with their paths, to change.
    #[doc(alias = "ForEachMutableElement")]
    pub fn iter_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (ShapeIndex, &mut T)> + ExactSizeIterator {
        self.values.iter_mut()
    }

    /// The leaves' values with their paths, to change.
    pub fn leaves_mut(&mut self) -> impl DoubleEndedIterator<Item = (ShapeIndex, &mut T)> {
        self.values.leaves_mut()
    }

    /// The tree of what `value` makes of each value.
    #[doc(alias = "Map")]
    pub fn map<U>(&self, value: impl FnMut(&T) -> U) -> ShapeTree<U> {
        ShapeTree {
            shape: self.shape.clone(),
            values: self.values.map(value),
        }
    }

    /// The tree of what `value` makes of each value, or its first error.
    ///
    /// # Errors
    ///
    /// The first error of `value`.
    #[doc(alias = "MapWithStatus")]
    pub fn try_map<U, E>(&self, value: impl FnMut(&T) -> Result<U, E>) -> Result<ShapeTree<U>, E> {
        Ok(ShapeTree {
            shape: self.shape.clone(),
            values: self.values.try_map(value)?,
        })
    }

    /// The tree with another shape that is compatible with its own: say, in another layout.
    ///
    /// # Errors
    ///
    /// [`TreeError::Incompatible`] for a shape with other tuples, element types or sizes.
    #[doc(alias = "replace_shape_ptr")]
    pub fn with_shape(self, shape: &Shape) -> Result<ShapeTree<T>, TreeError> {
        check_compatible(shape, &self.shape)?;
        Ok(ShapeTree {
            shape: Arc::new(shape.clone()),
            values: self.values,
        })
    }
}

impl<T: Clone> ShapeTree<T> {
    /// The tree of the subshape at a path.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoSuchElement`] where the path leads nowhere.
    #[doc(alias = "SubShapeTree")]
    pub fn sub_shape_tree(&self, index: &[usize]) -> Result<ShapeTree<T>, TreeError> {
        let values = self.values.subtree(index)?;
        let shape = self.shape.subshape(index);
        let shape = shape.expect("the values branch as the shape does").clone();
        Ok(ShapeTree {
            shape: Arc::new(shape),
            values,
        })
    }

    /// Copies the values of a subshape of another tree to those of a compatible subshape of this
    /// one.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoSuchElement`] where a path leads nowhere, [`TreeError::Incompatible`]
    /// where the subshapes differ in tuples, element types or sizes. Nothing is copied then.
    #[doc(alias = "CopySubtreeFrom")]
    pub fn copy_subtree_from(
        &mut self,
        source: &ShapeTree<T>,
        source_index: &[usize],
        index: &[usize],
    ) -> Result<(), TreeError> {
        // Where a path leads nowhere the values say so below.
        if let (Ok(from), Ok(to)) = (
            source.shape.subshape(source_index),
            self.shape.subshape(index),
        ) {
            check_compatible(from, to)?;
        }
        self.values
            .copy_compatible_subtree_from(&source.values, source_index, index)
    }
}

fn check_compatible(source: &Shape, target: &Shape) -> Result<(), TreeError> {
    match source.is_compatible(target) {
        true => Ok(()),
        false => Err(TreeError::Incompatible {
            source_shape: source.to_string(),
            target_shape: target.to_string(),
        }),
    }
}

impl<T> Deref for ShapeTree<T> {
    type Target = TupleTree<T>;

    fn deref(&self) -> &TupleTree<T> {
        &self.values
    }
}

impl<T: Default> Default for ShapeTree<T> {
    /// The tree of the empty tuple.
    fn default() -> Self {
        ShapeTree::from_fn(&Shape::nil(), |_, _| T::default())
    }
}
