//! Shapes: arrays, tuples, tokens, opaque values and buffers.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::array::ArrayShape;
use crate::error::ShapeError;
use crate::proto::UnknownFields;

/// Tuples nest at most this deep, as XLA's parser allows.
pub const MAX_NESTING: usize = 8192;

/// The shape of a value: an array, or a tuple of shapes, or one of XLA's special values.
///
/// Text is XLA's own, read by [`str::parse`] and written by [`Display`](fmt::Display) with the
/// layout; the proto is XLA's `ShapeProto`. Nothing here recurses on the nesting, so deep
/// tuples are safe to parse, print, compare, clone and drop.
///
/// ```
/// use minormajor_core::{Shape, ShapeKind};
///
/// let shape: Shape = "(f32[2,3], token[])".parse()?;
/// assert_eq!(shape.to_string(), "(f32[2,3]{1,0}, token[])");
/// let ShapeKind::Tuple(tuple) = shape.kind() else { unreachable!() };
/// assert_eq!(tuple.elements()[0].as_array()?.elements(), Some(6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Shape {
    kind: ShapeKind,
    /// Of the messages whose kind keeps none itself: token, opaque and buffer.
    pub(crate) unknown: UnknownFields,
}

/// What a [`Shape`] is a shape of.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum ShapeKind {
    /// An array of elements of one type.
    Array(ArrayShape),
    /// A tuple of any number of shapes.
    Tuple(TupleShape),
    /// A token, which orders side effects.
    Token,
    /// A value whose inside is not known.
    Opaque,
    /// A buffer that holds an array.
    Buffer(ArrayShape),
}

impl ShapeKind {
    /// The name of the kind, as XLA calls it.
    pub const fn name(&self) -> &'static str {
        match self {
            ShapeKind::Array(_) => "array",
            ShapeKind::Tuple(_) => "tuple",
            ShapeKind::Token => "token",
            ShapeKind::Opaque => "opaque",
            ShapeKind::Buffer(_) => "buffer",
        }
    }
}

impl Shape {
    /// A tuple of these shapes; none makes the empty tuple.
    ///
    /// # Errors
    ///
    /// [`ShapeError::TooDeep`] beyond [`MAX_NESTING`] levels.
    pub fn tuple(elements: impl IntoIterator<Item = Shape>) -> Result<Shape, ShapeError> {
        Ok(TupleShape::new(elements.into_iter().collect())?.into())
    }

    /// A token.
    pub fn token() -> Shape {
        ShapeKind::Token.into()
    }

    /// An opaque value.
    pub fn opaque() -> Shape {
        ShapeKind::Opaque.into()
    }

    /// A buffer that holds an array.
    pub fn buffer(array: ArrayShape) -> Shape {
        ShapeKind::Buffer(array).into()
    }

    /// What it is a shape of.
    pub fn kind(&self) -> &ShapeKind {
        &self.kind
    }

    /// Its array, for an array and for a buffer, which wraps one.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NotAnArray`] for anything else.
    pub fn as_array(&self) -> Result<&ArrayShape, ShapeError> {
        match &self.kind {
            ShapeKind::Array(array) | ShapeKind::Buffer(array) => Ok(array),
            kind => Err(ShapeError::NotAnArray { found: kind.name() }),
        }
    }

    /// The nodes of the shape's tree in order, every tuple opened and closed.
    pub(crate) fn walk(&self) -> Walk<'_> {
        Walk {
            next: Some(self),
            open: Vec::new(),
        }
    }
}

impl From<ShapeKind> for Shape {
    fn from(kind: ShapeKind) -> Shape {
        Shape {
            kind,
            unknown: UnknownFields::default(),
        }
    }
}

impl From<ArrayShape> for Shape {
    fn from(array: ArrayShape) -> Shape {
        ShapeKind::Array(array).into()
    }
}

impl From<TupleShape> for Shape {
    fn from(tuple: TupleShape) -> Shape {
        ShapeKind::Tuple(tuple).into()
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shape({self})")
    }
}

impl fmt::Debug for ShapeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The shapes of a tuple's elements.
///
/// Comparing, hashing, cloning and dropping walk the tree with a list on the heap, never with
/// the call stack.
pub struct TupleShape {
    elements: Vec<Shape>,
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
    next: Option<&'a Shape>,
    open: Vec<(&'a TupleShape, std::slice::Iter<'a, Shape>)>,
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
    use crate::ElementType;

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
