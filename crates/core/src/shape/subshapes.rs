//! The parts of a tuple: found by their path, listed, and replaced.

use std::iter::Enumerate;
use std::slice;

use super::{Shape, ShapeIndex, ShapeKind, TupleShape};
use crate::error::ShapeError;

impl Shape {
    /// The shape at the end of a path.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchSubshape`] where the path leads nowhere.
    #[doc(alias = "GetSubshape")]
    #[doc(alias = "TryGetSubshape")]
    #[doc(alias = "GetTupleElementShape")]
    pub fn subshape(&self, index: &[usize]) -> Result<&Shape, ShapeError> {
        self.find(index).ok_or_else(|| ShapeError::NoSuchSubshape {
            index: index.into(),
            shape: self.to_string(),
        })
    }

    /// Whether a path leads somewhere.
    #[doc(alias = "IndexIsValid")]
    pub fn index_is_valid(&self, index: &[usize]) -> bool {
        self.find(index).is_some()
    }

    /// Whether a path leads to anything but a tuple.
    #[doc(alias = "IsLeafIndex")]
    pub fn is_leaf_index(&self, index: &[usize]) -> bool {
        self.find(index).is_some_and(|shape| !shape.is_tuple())
    }

    fn find(&self, index: &[usize]) -> Option<&Shape> {
        let mut shape = self;
        for &number in index {
            match &shape.kind {
                ShapeKind::Tuple(tuple) => shape = tuple.elements().get(number)?,
                _ => return None,
            }
        }
        Some(shape)
    }

    /// All subshapes with their paths, this one included, each tuple before its elements.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "(f32[2], (s8[3], ()))".parse()?;
    /// let paths: Vec<String> = shape.subshapes().map(|(index, _)| index.to_string()).collect();
    /// assert_eq!(paths, ["{}", "{0}", "{1}", "{1,0}", "{1,1}"]);
    /// # Ok::<(), minormajor_core::ParseError>(())
    /// ```
    #[doc(alias = "ForEachSubshape")]
    pub fn subshapes(&self) -> Subshapes<'_> {
        Subshapes {
            root: Some(self),
            open: Vec::new(),
            index: ShapeIndex::root(),
        }
    }

    /// All subshapes with their paths, this one included, each tuple behind its elements.
    #[doc(alias = "ForEachSubshapePostOrder")]
    pub fn subshapes_post_order(&self) -> PostOrder<'_> {
        PostOrder {
            next: Some(self),
            open: Vec::new(),
            index: ShapeIndex::root(),
        }
    }

    /// The subshapes that are no tuples, with their paths, in order.
    #[doc(alias = "GetLeafShapes")]
    #[doc(alias = "FlattenTupleShape")]
    #[doc(alias = "ForEachLeafShape")]
    pub fn leaves(&self) -> impl Iterator<Item = (ShapeIndex, &Shape)> {
        self.subshapes().filter(|(_, shape)| !shape.is_tuple())
    }

    /// How many subshapes there are, this one included.
    pub fn subshape_count(&self) -> usize {
        self.subshapes().count()
    }

    /// How many subshapes are no tuples: 1 for anything but a tuple.
    #[doc(alias = "GetLeafCount")]
    pub fn leaf_count(&self) -> usize {
        self.leaves().count()
    }

    /// The shape with another subshape at the end of a path.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchSubshape`] where the path leads nowhere, [`ShapeError::TooDeep`].
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let shape: Shape = "(f32[2], (s8[3], ()))".parse()?;
    /// let replaced = shape.with_subshape(&[1, 1], Shape::token())?;
    /// assert_eq!(replaced.to_string(), "(f32[2]{0}, (s8[3]{0}, token[]))");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "UpdateTupleShape")]
    #[doc(alias = "GetMutableSubshape")]
    pub fn with_subshape(&self, index: &[usize], shape: Shape) -> Result<Shape, ShapeError> {
        self.subshape(index)?;
        let mut around: Vec<&TupleShape> = Vec::with_capacity(index.len());
        let mut at = self;
        for &number in index {
            let tuple = at.as_tuple()?;
            around.push(tuple);
            at = &tuple.elements()[number];
        }
        let mut shape = shape;
        for (tuple, &number) in around.iter().zip(index).rev() {
            let (before, behind) = (&tuple.elements()[..number], &tuple.elements()[number + 1..]);
            let mut elements = Vec::with_capacity(tuple.len());
            elements.extend_from_slice(before);
            elements.push(shape);
            elements.extend_from_slice(behind);
            shape = tuple.like(elements)?.into();
        }
        Ok(shape)
    }

    /// The shape with every leaf, given with its path, replaced by what `leaf` makes of it.
    ///
    /// # Errors
    ///
    /// The first error of `leaf`, and [`ShapeError::TooDeep`] where it puts in tuples.
    #[doc(alias = "ForEachMutableLeafShape")]
    #[doc(alias = "ForEachMutableSubshape")]
    pub fn map_leaves<E: From<ShapeError>>(
        &self,
        mut leaf: impl FnMut(&[usize], &Shape) -> Result<Shape, E>,
    ) -> Result<Shape, E> {
        let mut done: Vec<Shape> = Vec::new();
        for (index, shape) in self.subshapes_post_order() {
            let shape = match &shape.kind {
                // Its elements are the last shapes that are done.
                ShapeKind::Tuple(tuple) => {
                    let elements = done.split_off(done.len() - tuple.len());
                    tuple.like(elements)?.into()
                }
                _ => leaf(&index, shape)?,
            };
            done.push(shape);
        }
        Ok(done.pop().expect("the whole shape is the last"))
    }
}

/// The subshapes of a shape with their paths: from [`Shape::subshapes`].
pub struct Subshapes<'a> {
    root: Option<&'a Shape>,
    open: Vec<Enumerate<slice::Iter<'a, Shape>>>,
    /// The path of the shape that came last, as long as `open`.
    index: ShapeIndex,
}

impl<'a> Iterator for Subshapes<'a> {
    type Item = (ShapeIndex, &'a Shape);

    fn next(&mut self) -> Option<Self::Item> {
        let shape = match self.root.take() {
            Some(root) => root,
            None => loop {
                let Some((number, shape)) = self.open.last_mut()?.next() else {
                    self.open.pop();
                    self.index.pop();
                    continue;
                };
                self.index.set_last(number);
                break shape;
            },
        };
        let index = self.index.clone();
        if let ShapeKind::Tuple(tuple) = &shape.kind {
            self.open.push(tuple.elements().iter().enumerate());
            self.index.push(0);
        }
        Some((index, shape))
    }
}

/// The subshapes of a shape with their paths: from [`Shape::subshapes_post_order`].
pub struct PostOrder<'a> {
    next: Option<&'a Shape>,
    open: Vec<(&'a Shape, Enumerate<slice::Iter<'a, Shape>>)>,
    index: ShapeIndex,
}

impl<'a> Iterator for PostOrder<'a> {
    type Item = (ShapeIndex, &'a Shape);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next.take() {
                Some(shape) => match &shape.kind {
                    ShapeKind::Tuple(tuple) => {
                        self.open.push((shape, tuple.elements().iter().enumerate()));
                        self.index.push(0);
                    }
                    _ => return Some((self.index.clone(), shape)),
                },
                None => {
                    let (tuple, elements) = self.open.last_mut()?;
                    match elements.next() {
                        Some((number, shape)) => {
                            self.index.set_last(number);
                            self.next = Some(shape);
                        }
                        None => {
                            let tuple = *tuple;
                            self.open.pop();
                            self.index.pop();
                            return Some((self.index.clone(), tuple));
                        }
                    }
                }
            }
        }
    }
}
