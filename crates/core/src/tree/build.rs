//! Trees made node by node, and from the paths of their leaves.

use std::collections::BTreeMap;

use super::{Node, TreeError, TupleTree};
use crate::shape::{Shape, ShapeIndex, ShapeKind};

/// A tree in the making: leaves and tuples in order.
pub(super) struct Builder<T> {
    nodes: Vec<Node>,
    values: Vec<T>,
    /// Tuples that are open: the node, and how far behind it its elements stand so far.
    open: Vec<(usize, Vec<usize>)>,
}

impl<T> Builder<T> {
    pub fn new() -> Self {
        Builder {
            nodes: Vec::new(),
            values: Vec::new(),
            open: Vec::new(),
        }
    }

    /// How many elements the tuple opened last has so far.
    pub fn element_count(&self) -> usize {
        self.open.last().map_or(0, |(_, elements)| elements.len())
    }

    pub fn depth(&self) -> usize {
        self.open.len()
    }

    pub fn leaf(&mut self, value: T) {
        self.node(value);
    }

    pub fn open(&mut self, value: T) {
        let at = self.nodes.len();
        self.node(value);
        self.open.push((at, Vec::new()));
    }

    /// Ends the tuple opened last.
    pub fn close(&mut self) {
        if let Some((at, elements)) = self.open.pop() {
            self.nodes[at].nodes = self.nodes.len() - at;
            self.nodes[at].elements = Some(elements.into());
        }
    }

    /// Adds a whole tree.
    pub fn tree(&mut self, tree: TupleTree<T>) {
        let at = self.nodes.len();
        let (up, number) = self.enter(at);
        self.nodes.extend_from_slice(&tree.nodes);
        self.values.extend(tree.values);
        self.nodes[at].up = up;
        self.nodes[at].number = number;
    }

    fn node(&mut self, value: T) {
        let (up, number) = self.enter(self.nodes.len());
        self.nodes.push(Node {
            elements: None,
            nodes: 1,
            up,
            number,
        });
        self.values.push(value);
    }

    /// Makes a node the next element of the tuple opened last.
    fn enter(&mut self, at: usize) -> (usize, usize) {
        match self.open.last_mut() {
            None => (0, 0),
            Some((tuple, elements)) => {
                elements.push(at - *tuple);
                (at - *tuple, elements.len() - 1)
            }
        }
    }

    pub fn finish(mut self) -> TupleTree<T> {
        while !self.open.is_empty() {
            self.close();
        }
        TupleTree {
            nodes: self.nodes.into(),
            values: self.values,
        }
    }
}

impl<T: Clone> TupleTree<T> {
    /// The tree with these leaves: tuples on their paths, and elements that no path names, hold
    /// `default` (the latter as leaves). No leaves make the empty tuple.
    ///
    /// # Errors
    ///
    /// [`TreeError::Conflict`] where a path comes twice, or leads on from a leaf.
    ///
    /// ```
    /// use minormajor_core::{ShapeIndex, TupleTree};
    ///
    /// let leaves = [(ShapeIndex::from([0]), 7), (ShapeIndex::from([1, 0]), 8)];
    /// let tree = TupleTree::from_leaves(leaves, -1)?;
    /// let values: Vec<i32> = tree.iter().map(|(_, &value)| value).collect();
    /// assert_eq!(values, [-1, 7, -1, 8]);
    /// # Ok::<(), minormajor_core::TreeError>(())
    /// ```
    pub fn from_leaves(
        leaves: impl IntoIterator<Item = (ShapeIndex, T)>,
        default: T,
    ) -> Result<TupleTree<T>, TreeError> {
        let mut sorted: BTreeMap<ShapeIndex, T> = BTreeMap::new();
        for (index, value) in leaves {
            if sorted.insert(index.clone(), value).is_some() {
                return Err(TreeError::Conflict { index });
            }
        }
        let mut builder = Builder::new();
        let mut before: Option<ShapeIndex> = None;
        for (index, value) in sorted {
            if let Some(before) = before.filter(|before| index.starts_with(before)) {
                return Err(TreeError::Conflict { index: before });
            }
            if let Some((&number, tuples)) = index.split_last() {
                builder.lead_to(tuples, &default);
                while builder.element_count() < number {
                    builder.leaf(default.clone());
                }
            }
            builder.leaf(value);
            before = Some(index);
        }
        if before.is_none() {
            builder.open(default);
        }
        Ok(builder.finish())
    }
}

impl<T: Clone> Builder<T> {
    /// Closes and opens tuples until the one at this path is the one opened last.
    fn lead_to(&mut self, path: &[usize], default: &T) {
        let shared = self.open_path();
        let shared = shared.iter().zip(path).take_while(|(a, b)| a == b).count();
        // The root is open besides those on the path.
        while self.depth() > shared + 1 {
            self.close();
        }
        if self.depth() == 0 {
            self.open(default.clone());
        }
        for &number in &path[shared..] {
            while self.element_count() < number {
                self.leaf(default.clone());
            }
            self.open(default.clone());
        }
    }

    /// The path of the tuple opened last.
    fn open_path(&self) -> Vec<usize> {
        let below_root = self.open.iter().skip(1);
        below_root.map(|&(at, _)| self.nodes[at].number).collect()
    }
}

/// The tree of a shape's subshapes, with what `value` makes of each.
pub(super) fn tree_of<T>(
    shape: &Shape,
    mut value: impl FnMut(&ShapeIndex, &Shape) -> T,
) -> TupleTree<T> {
    let mut builder = Builder::new();
    for (index, subshape) in shape.subshapes() {
        while builder.depth() > index.len() {
            builder.close();
        }
        let value = value(&index, subshape);
        match subshape.kind() {
            ShapeKind::Tuple(_) => builder.open(value),
            _ => builder.leaf(value),
        }
    }
    builder.finish()
}
