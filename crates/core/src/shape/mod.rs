//! Shapes: arrays, tuples, tokens, opaque values and buffers.

mod compatible;
mod edit;
mod equality;
mod index;
mod kind;
mod layouts;
mod program;
mod sizes;
mod subshapes;
mod tuple;

use std::fmt;

use crate::array::ArrayShape;
use crate::error::ShapeError;
use crate::proto::UnknownFields;

pub use equality::ShapeEquality;
pub use index::ShapeIndex;
pub use program::ProgramShape;
pub use subshapes::{PostOrder, Subshapes};
pub use tuple::TupleShape;
pub(crate) use tuple::{Step, Walk};

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
    #[doc(alias = "MakeTupleShape")]
    pub fn tuple(elements: impl IntoIterator<Item = Shape>) -> Result<Shape, ShapeError> {
        Ok(TupleShape::new(elements.into_iter().collect())?.into())
    }

    /// The only one of these shapes, or a tuple of them.
    ///
    /// # Errors
    ///
    /// [`ShapeError::TooDeep`] beyond [`MAX_NESTING`] levels.
    #[doc(alias = "MakeMaybeTupleShape")]
    pub fn maybe_tuple(elements: impl IntoIterator<Item = Shape>) -> Result<Shape, ShapeError> {
        let mut elements: Vec<Shape> = elements.into_iter().collect();
        match (elements.pop(), elements.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => Shape::tuple(elements.into_iter().chain(last)),
        }
    }

    /// The empty tuple.
    #[doc(alias = "MakeNil")]
    pub fn nil() -> Shape {
        TupleShape::empty().into()
    }

    /// A token.
    #[doc(alias = "MakeTokenShape")]
    pub fn token() -> Shape {
        ShapeKind::Token.into()
    }

    /// An opaque value.
    #[doc(alias = "MakeOpaqueShape")]
    pub fn opaque() -> Shape {
        ShapeKind::Opaque.into()
    }

    /// A buffer that holds an array.
    #[doc(alias = "MakeValidatedBufferShape")]
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

    /// Its tuple.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NotATuple`] for anything else.
    pub fn as_tuple(&self) -> Result<&TupleShape, ShapeError> {
        match &self.kind {
            ShapeKind::Tuple(tuple) => Ok(tuple),
            kind => Err(ShapeError::NotATuple { found: kind.name() }),
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
