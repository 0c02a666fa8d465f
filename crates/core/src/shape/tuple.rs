//! Tuples of shapes, and walks over their trees that use no stack.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::{MAX_NESTING, Shape, ShapeKind};
use crate::error::ShapeError;
use crate::proto::UnknownFields;

/// The shapes of a tuple's elements.
///
/// Comparing, hashing, cloning and dropping walk the tree with a list on the heap, never with
/// the call stack.
pub struct TupleShape {
    pub(super) elements: Vec<Shape>,
    /// Levels of tuples below and including this one: 1 for a tuple of leaves.
    nesting: usize,
    pub(crate) unknown: UnknownFields,
}

impl TupleShape {
    /// A tuple of these shapes.
    ///
    /// # Errors
    ///
    /// [`ShapeError::TooDeep`] beyond [`MAX_NESTING`] levels.
    pub fn new(elements: Vec<Shape>) -> Result<TupleShape, ShapeError> {
        let below = elements.iter().map(|element| match element.kind() {
            ShapeKind::Tuple(tuple) => tuple.nesting,
            _ => 0,
        });
        let nesting = below.max().unwrap_or(0) + 1;
        let tuple = TupleShape {
            elements,
            nesting,
            unknown: UnknownFields::default(),
        };
        if nesting > MAX_NESTING {
            return Err(ShapeError::TooDeep { limit: MAX_NESTING });
        }
        Ok(tuple)
    }

    /// A tuple of other elements in the place of this one.
    pub(super) fn like(&self, elements: Vec<Shape>) -> Result<TupleShape, ShapeError> {
        let mut tuple = TupleShape::new(elements)?;
        tuple.unknown = self.unknown.clone();
        Ok(tuple)
    }

    pub(super) fn empty() -> TupleShape {
        TupleShape {
            elements: Vec::new(),
            nesting: 1,
            unknown: UnknownFields::default(),
        }
    }

    /// The number of elements.
    #[doc(alias = "TupleElementCount")]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    #[doc(alias = "IsEmptyTuple")]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The tuple with one more element at its end.
    ///
    /// # Errors
    ///
    /// [`ShapeError::TooDeep`] beyond [`MAX_NESTING`] levels.
    #[doc(alias = "AppendShapeToTuple")]
    pub fn append(&self, shape: Shape) -> Result<TupleShape, ShapeError> {
        let mut elements = self.elements.clone();
        elements.push(shape);
        TupleShape::new(elements)
    }

    /// The tuple of the elements from `start` to before `limit`.
    ///
    /// # Errors
    ///
    /// [`ShapeError::TupleSlice`] unless `start <= limit <= len`.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "(f32[], s8[2], token[])".parse()?;
    /// let slice = shape.as_tuple()?.slice(1, 3)?;
    /// assert_eq!(minormajor_core::Shape::from(slice).to_string(), "(s8[2]{0}, token[])");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "SliceTuple")]
    pub fn slice(&self, start: usize, limit: usize) -> Result<TupleShape, ShapeError> {
        match self.elements.get(start..limit) {
            Some(elements) => TupleShape::new(elements.to_vec()),
            None => Err(ShapeError::TupleSlice {
                start,
                limit,
                len: self.len(),
            }),
        }
    }

    /// The elements, in order.
    pub fn elements(&self) -> &[Shape] {
        &self.elements
    }

    fn walk(&self) -> Walk<'_> {
        Walk {
            next: None,
            open: vec![(self, self.elements.iter())],
        }
    }
}

impl fmt::Debug for TupleShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TupleShape{}", Shape::from(self.clone()))
    }
}

impl Drop for TupleShape {
    fn drop(&mut self) {
        // Each tuple gives its elements to the list before it drops, so no drop nests.
        let mut pending = std::mem::take(&mut self.elements);
        while let Some(mut shape) = pending.pop() {
            if let ShapeKind::Tuple(tuple) = &mut shape.kind {
                pending.append(&mut tuple.elements);
            }
        }
    }
}

impl Clone for TupleShape {
    fn clone(&self) -> Self {
        let mut open = vec![(Vec::with_capacity(self.elements.len()), self)];
        for step in self.walk() {
            match step {
                Step::Open(tuple) => open.push((Vec::with_capacity(tuple.elements.len()), tuple)),
                Step::Leaf(shape) => {
                    let (elements, _) = open.last_mut().expect("the walk is inside a tuple");
                    elements.push(shape.clone());
                }
                Step::Close(_) => {
                    let (elements, original) = open.pop().expect("the walk is inside a tuple");
                    let tuple = TupleShape {
                        elements,
                        nesting: original.nesting,
                        unknown: original.unknown.clone(),
                    };
                    match open.last_mut() {
                        Some((elements, _)) => elements.push(tuple.into()),
                        None => return tuple,
                    }
                }
            }
        }
        unreachable!("the walk closes the tuple that it started in")
    }
}

impl PartialEq for TupleShape {
    fn eq(&self, other: &Self) -> bool {
        self.nesting == other.nesting && self.walk().eq(other.walk())
    }
}

impl Eq for TupleShape {}

impl Hash for TupleShape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for step in self.walk() {
            match step {
                Step::Open(tuple) => tuple.elements.len().hash(state),
                Step::Leaf(shape) => shape.hash(state),
                Step::Close(_) => {}
            }
        }
    }
}

/// One step of a walk over a shape's tree.
pub(crate) enum Step<'a> {
    /// A tuple begins; its elements follow.
    Open(&'a TupleShape),
    /// Anything but a tuple.
    Leaf(&'a Shape),
    /// The tuple opened last ends.
    Close(&'a TupleShape),
}

impl PartialEq for Step<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Step::Open(a), Step::Open(b)) => a.elements.len() == b.elements.len(),
            (Step::Leaf(a), Step::Leaf(b)) => a == b,
            (Step::Close(_), Step::Close(_)) => true,
            _ => false,
        }
    }
}

/// The steps over a shape's tree, from [`Shape::walk`].
pub(crate) struct Walk<'a> {
    pub(super) next: Option<&'a Shape>,
    pub(super) open: Vec<(&'a TupleShape, std::slice::Iter<'a, Shape>)>,
}

impl<'a> Iterator for Walk<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        let shape = match self.next.take() {
            Some(shape) => shape,
            None => {
                let (tuple, elements) = self.open.last_mut()?;
                match elements.next() {
                    Some(shape) => shape,
                    None => {
                        let step = Step::Close(tuple);
                        self.open.pop();
                        return Some(step);
                    }
                }
            }
        };
        match &shape.kind {
            ShapeKind::Tuple(tuple) => {
                self.open.push((tuple, tuple.elements.iter()));
                Some(Step::Open(tuple))
            }
            _ => Some(Step::Leaf(shape)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayShape, ElementType};

    fn array(size: i64) -> Shape {
        ArrayShape::new(ElementType::F32, [size]).unwrap().into()
    }

    #[test]
    fn tuples_compare_by_structure() {
        let pair = |a, b| Shape::tuple([a, b]).unwrap();
        let one = pair(array(1), pair(array(2), Shape::token()));
        assert_eq!(one, one.clone());
        assert_ne!(one, pair(pair(array(1), array(2)), Shape::token()));
        assert_ne!(one, pair(array(1), pair(array(2), Shape::opaque())));
        assert_ne!(Shape::tuple([]).unwrap(), Shape::tuple([array(1)]).unwrap());
        assert_ne!(Shape::tuple([array(1)]).unwrap(), array(1));
    }

    #[test]
    fn deep_tuples_use_no_stack() {
        let run = || {
            let mut shape = array(7);
            for _ in 0..MAX_NESTING {
                shape = Shape::tuple([shape]).unwrap();
            }
            let copy = shape.clone();
            assert!(copy == shape);
            let mut hasher = std::collections::hash_map::DefaultHasher::new();
            shape.hash(&mut hasher);
            assert_eq!(shape.to_string().len(), copy.to_string().len());
            assert_eq!(
                Shape::tuple([shape]),
                Err(ShapeError::TooDeep { limit: MAX_NESTING })
            );
        };
        // A quarter of the usual stack: recursion would overflow it.
        std::thread::Builder::new()
            .stack_size(128 << 10)
            .spawn(run)
            .unwrap()
            .join()
            .unwrap();
    }
}
