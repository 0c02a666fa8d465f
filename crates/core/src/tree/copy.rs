//! Subtrees taken out of trees and put into others.

use super::{TreeError, TupleTree, index_of};

impl<T: Clone> TupleTree<T> {
    /// The tree below a path.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoSuchElement`] where the path leads nowhere.
    #[doc(alias = "ToNode")]
    pub fn subtree(&self, index: &[usize]) -> Result<TupleTree<T>, TreeError> {
        Ok(self.subtree_at(self.find(index)?))
    }

    /// Copies the values below a path of another tree to those below a path of this one, where
    /// both branch alike.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoSuchElement`] where a path leads nowhere, [`TreeError::Structure`] where
    /// the two differ. Nothing is copied then.
    #[doc(alias = "CopyCompatibleSubtreeFrom")]
    pub fn copy_compatible_subtree_from(
        &mut self,
        source: &TupleTree<T>,
        source_index: &[usize],
        index: &[usize],
    ) -> Result<(), TreeError> {
        let (from, to) = (source.find(source_index)?, self.find(index)?);
        let branches = |tree: &TupleTree<T>, at: usize| {
            let elements = tree.nodes[at].elements.as_ref();
            elements.map(|elements| elements.len())
        };
        // Branching alike up to here, both have the same nodes up to here.
        for distance in 0..source.nodes[from].nodes {
            let (source_at, at) = (from + distance, to + distance);
            if branches(source, source_at) != branches(self, at) {
                return Err(TreeError::Structure {
                    index: index_of(&source.nodes, source_at),
                    found: source.nodes[source_at].description(),
                    expected: self.nodes[at].description(),
                });
            }
        }
        let count = source.nodes[from].nodes;
        self.values[to..to + count].clone_from_slice(&source.values[from..from + count]);
        Ok(())
    }

    /// Puts the tree below a path of another tree at a path of this one, in place of what is
    /// there. Where there is nothing, leaves on the way become tuples, and each tuple on the
    /// way gets the elements that it lacks before the path's number: leaves with the tuple's
    /// own value.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoSuchElement`] where the source's path leads nowhere.
    ///
    /// ```
    /// use minormajor_core::TupleTree;
    ///
    /// let mut tree = TupleTree::leaf(5);
    /// tree.copy_subtree_from(&TupleTree::leaf(10), &[], &[1])?;
    /// assert_eq!((tree.element(&[0])?, tree.element(&[1])?), (&5, &10));
    /// # Ok::<(), minormajor_core::TreeError>(())
    /// ```
    #[doc(alias = "CopySubtreeFrom")]
    pub fn copy_subtree_from(
        &mut self,
        source: &TupleTree<T>,
        source_index: &[usize],
        index: &[usize],
    ) -> Result<(), TreeError> {
        let mut tree = source.subtree(source_index)?;
        // The nodes on the way as far as there are any, each with the value nearest above it.
        let mut way: Vec<(Option<usize>, T)> = Vec::with_capacity(index.len());
        let mut at = Some(0);
        let mut value = &self.values[0];
        for &number in index {
            way.push((at, value.clone()));
            at = at.and_then(|at| self.element_at(at, number));
            value = at.map_or(value, |at| &self.values[at]);
        }
        for (&number, (at, value)) in index.iter().zip(way).rev() {
            let there = at.and_then(|at| self.nodes[at].elements.as_ref());
            let count = there.map_or(0, |elements| elements.len());
            let mut inner = Some(tree);
            let element = |other: usize| {
                let same = at.and_then(|at| self.element_at(at, other));
                match (other == number, same) {
                    (true, _) => inner.take().expect("each number comes once"),
                    (false, Some(at)) => self.subtree_at(at),
                    (false, None) => TupleTree::leaf(value.clone()),
                }
            };
            let elements: Vec<TupleTree<T>> = (0..count.max(number + 1)).map(element).collect();
            tree = TupleTree::tuple(value, elements);
        }
        *self = tree;
        Ok(())
    }

    /// The node of an element of the tuple at a node.
    fn element_at(&self, at: usize, number: usize) -> Option<usize> {
        let elements = self.nodes[at].elements.as_deref();
        Some(at + elements?.get(number)?)
    }

    fn subtree_at(&self, at: usize) -> TupleTree<T> {
        let range = at..at + self.nodes[at].nodes;
        let mut nodes = self.nodes[range.clone()].to_vec();
        (nodes[0].up, nodes[0].number) = (0, 0);
        TupleTree {
            nodes: nodes.into(),
            values: self.values[range].to_vec(),
        }
    }
}
