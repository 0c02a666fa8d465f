//! Trees of values that branch as tuples do.

mod build;
mod copy;
mod shape_tree;

use std::sync::Arc;

use crate::shape::ShapeIndex;

use build::Builder;
pub use shape_tree::ShapeTree;

/// A tree that branches as a tuple does, with a value at every node: at every tuple, at every
/// element of one, and at the root. A leaf is no tuple, and differs from an empty tuple.
///
/// Values are found and listed by the path to them; the order is that of [`Shape::subshapes`],
/// every tuple before its elements. Nothing recurses on the depth.
///
/// ```
/// use minormajor_core::TupleTree;
///
/// let tree = TupleTree::tuple("all", [
///     TupleTree::leaf("a"),
///     TupleTree::tuple("pair", [TupleTree::leaf("b"), TupleTree::leaf("c")]),
/// ]);
/// assert_eq!(tree.element(&[1, 0])?, &"b");
/// let leaves: Vec<String> = tree.leaves().map(|(index, value)| format!("{index}{value}")).collect();
/// assert_eq!(leaves, ["{0}a", "{1,0}b", "{1,1}c"]);
/// # Ok::<(), minormajor_core::TreeError>(())
/// ```
///
/// [`Shape::subshapes`]: crate::Shape::subshapes
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TupleTree<T> {
    /// The nodes, each before those below it; shared by the trees mapped from one.
    nodes: Arc<[Node]>,
    /// Of each node.
    values: Vec<T>,
}

/// A node's place in its tree. Distances rather than places, so that a subtree is a slice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    /// How far behind this node its elements stand; `None` for a leaf.
    elements: Option<Box<[usize]>>,
    /// How many nodes there are from this one on to the last below it.
    nodes: usize,
    /// How far before this node its tuple stands; of the root, meaningless.
    up: usize,
    /// Which element of its tuple it is.
    number: usize,
}

/// Why a part of a tree can't be found, made or copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A path that leads nowhere.
    #[error("there is nothing at {index}: the path ends behind {reached}, which is {found}")]
    #[allow(missing_docs)]
    NoSuchElement {
        index: ShapeIndex,
        reached: ShapeIndex,
        found: String,
    },
    /// A path given twice, or one that leads on from another.
    #[error("{index} is given as a leaf, and again or as a tuple")]
    #[allow(missing_docs)]
    Conflict { index: ShapeIndex },
    /// Two subtrees that branch differently.
    #[error("the source at {index} is {found}; expected {expected}, as the target is")]
    #[allow(missing_docs)]
    Structure {
        index: ShapeIndex,
        found: String,
        expected: String,
    },
    /// Two subtrees of incompatible shapes.
    #[error("the shapes are not compatible: {source_shape} and {target_shape}")]
    #[allow(missing_docs)]
    Incompatible {
        source_shape: String,
        target_shape: String,
    },
}

impl<T> TupleTree<T> {
    /// A tree of one leaf.
    pub fn leaf(value: T) -> TupleTree<T> {
        let mut builder = Builder::new();
        builder.leaf(value);
        builder.finish()
    }

    /// A tuple of these trees, with a value of its own.
    pub fn tuple(value: T, elements: impl IntoIterator<Item = TupleTree<T>>) -> TupleTree<T> {
        let mut builder = Builder::new();
        builder.open(value);
        elements.into_iter().for_each(|tree| builder.tree(tree));
        builder.close();
        builder.finish()
    }

    /// How many nodes there are: at least one.
    pub fn node_count(&self) -> usize {
        self.values.len()
    }

    /// How many leaves there are.
    pub fn leaf_count(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_leaf()).count()
    }

    /// Whether the root is a tuple.
    pub fn is_tuple(&self) -> bool {
        !self.nodes[0].is_leaf()
    }

    /// Whether a path leads to a leaf.
    pub fn is_leaf(&self, index: &[usize]) -> bool {
        self.find(index).is_ok_and(|at| self.nodes[at].is_leaf())
    }

    /// How many elements the node at a path has; a leaf has none.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoSuchElement`] where the path leads nowhere.
    #[doc(alias = "num_children")]
    pub fn element_count(&self, index: &[usize]) -> Result<usize, TreeError> {
        let elements = &self.nodes[self.find(index)?].elements;
        Ok(elements.as_ref().map_or(0, |elements| elements.len()))
    }

    /// The value at a path.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoSuchElement`] where the path leads nowhere.
    #[doc(alias = "find")]
    pub fn element(&self, index: &[usize]) -> Result<&T, TreeError> {
        Ok(&self.values[self.find(index)?])
    }

    /// The value at a path, to change.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoSuchElement`] where the path leads nowhere.
    #[doc(alias = "mutable_element")]
    pub fn element_mut(&mut self, index: &[usize]) -> Result<&mut T, TreeError> {
        let at = self.find(index)?;
        Ok(&mut self.values[at])
    }

    /// All values with their paths, each tuple's before its elements'.
    #[doc(alias = "nodes")]
    #[doc(alias = "ForEachElement")]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (ShapeIndex, &T)> + ExactSizeIterator {
        let values = self.values.iter().enumerate();
        values.map(|(at, value)| (index_of(&self.nodes, at), value))
    }

    /// All values with their paths, to change.
    #[doc(alias = "ForEachMutableElement")]
    pub fn iter_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (ShapeIndex, &mut T)> + ExactSizeIterator {
        let values = self.values.iter_mut().enumerate();
        values.map(|(at, value)| (index_of(&self.nodes, at), value))
    }

    /// All values with their paths, each tuple's behind its elements'.
    #[doc(alias = "ForEachElementPostOrder")]
    pub fn iter_post_order(&self) -> impl Iterator<Item = (ShapeIndex, &T)> {
        let order = self.post_order().into_iter();
        order.map(|at| (index_of(&self.nodes, at), &self.values[at]))
    }

    /// The nodes, each behind those below it.
    fn post_order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut open: Vec<usize> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            while let Some(&tuple) = open.last()
                && tuple + self.nodes[tuple].nodes <= at
            {
                order.push(tuple);
                open.pop();
            }
            match node.is_leaf() {
                true => order.push(at),
                false => open.push(at),
            }
        }
        order.extend(open.into_iter().rev());
        order
    }

    /// The leaves' values with their paths.
    pub fn leaves(&self) -> impl DoubleEndedIterator<Item = (ShapeIndex, &T)> {
        let values = self.values.iter().enumerate();
        let leaves = values.filter(|&(at, _)| self.nodes[at].is_leaf());
        leaves.map(|(at, value)| (index_of(&self.nodes, at), value))
    }

    /// The leaves' values with their paths, to change.
    pub fn leaves_mut(&mut self) -> impl DoubleEndedIterator<Item = (ShapeIndex, &mut T)> {
        let values = self.values.iter_mut().enumerate();
        let leaves = values.filter(|&(at, _)| self.nodes[at].is_leaf());
        leaves.map(|(at, value)| (index_of(&self.nodes, at), value))
    }

    /// The tree of what `value` makes of each value.
    #[doc(alias = "Map")]
    pub fn map<U>(&self, value: impl FnMut(&T) -> U) -> TupleTree<U> {
        TupleTree {
            nodes: self.nodes.clone(),
            values: self.values.iter().map(value).collect(),
        }
    }

    /// The tree of what `value` makes of each value, or its first error.
    ///
    /// # Errors
    ///
    /// The first error of `value`.
    #[doc(alias = "MapWithStatus")]
    pub fn try_map<U, E>(&self, value: impl FnMut(&T) -> Result<U, E>) -> Result<TupleTree<U>, E> {
        Ok(TupleTree {
            nodes: self.nodes.clone(),
            values: self.values.iter().map(value).collect::<Result<_, E>>()?,
        })
    }

    /// The node at the end of a path.
    fn find(&self, index: &[usize]) -> Result<usize, TreeError> {
        let mut at = 0;
        for (depth, &number) in index.iter().enumerate() {
            let elements = self.nodes[at].elements.as_deref();
            match elements.and_then(|elements| elements.get(number)) {
                Some(distance) => at += distance,
                None => {
                    return Err(TreeError::NoSuchElement {
                        index: index.into(),
                        reached: index[..depth].into(),
                        found: self.nodes[at].description(),
                    });
                }
            }
        }
        Ok(at)
    }
}

/// The path to a node.
fn index_of(nodes: &[Node], mut at: usize) -> ShapeIndex {
    let mut numbers = Vec::new();
    while at > 0 {
        numbers.push(nodes[at].number);
        at -= nodes[at].up;
    }
    numbers.into_iter().rev().collect()
}

impl Node {
    fn is_leaf(&self) -> bool {
        self.elements.is_none()
    }

    fn description(&self) -> String {
        match &self.elements {
            None => "a leaf".to_owned(),
            Some(elements) => format!("a tuple of {}", elements.len()),
        }
    }
}

impl<T: Default> Default for TupleTree<T> {
    /// An empty tuple.
    fn default() -> Self {
        TupleTree::tuple(T::default(), [])
    }
}
