//! What kind of value a shape describes.

use super::{Shape, ShapeKind, Step};
use crate::{ArrayShape, ElementType};

impl Shape {
    /// Whether it is an array, or a buffer that holds one.
    pub fn is_array(&self) -> bool {
        self.as_array().is_ok()
    }

    /// Whether it is an array itself.
    pub fn is_array_excluding_buffer(&self) -> bool {
        matches!(self.kind, ShapeKind::Array(_))
    }

    /// Whether it is a tuple.
    pub fn is_tuple(&self) -> bool {
        matches!(self.kind, ShapeKind::Tuple(_))
    }

    /// Whether it is a buffer.
    pub fn is_buffer(&self) -> bool {
        matches!(self.kind, ShapeKind::Buffer(_))
    }

    /// Whether it is a token.
    pub fn is_token(&self) -> bool {
        matches!(self.kind, ShapeKind::Token)
    }

    /// Whether it is an opaque value.
    pub fn is_opaque(&self) -> bool {
        matches!(self.kind, ShapeKind::Opaque)
    }

    /// Whether it is the empty tuple.
    pub fn is_empty_tuple(&self) -> bool {
        self.as_tuple().is_ok_and(|tuple| tuple.is_empty())
    }

    /// Whether it is a tuple with a tuple in it.
    pub fn is_nested_tuple(&self) -> bool {
        self.as_tuple()
            .is_ok_and(|tuple| tuple.elements().iter().any(Shape::is_tuple))
    }

    /// Whether it is an array without elements.
    pub fn is_zero_element_array(&self) -> bool {
        self.as_array().is_ok_and(ArrayShape::is_zero_element_array)
    }

    /// Whether the array, or some array in the tuple, has elements of this type.
    #[doc(alias = "HasPrimitiveType")]
    pub fn has_element_type(&self, element_type: ElementType) -> bool {
        self.arrays()
            .any(|array| array.element_type() == element_type)
    }

    /// Whether every leaf is an array of integers; true of the empty tuple.
    pub fn are_all_leaves_integers(&self) -> bool {
        self.flat_leaves().all(|leaf| {
            leaf.as_array()
                .is_ok_and(|array| array.element_type().is_integral())
        })
    }

    /// Whether every size in it is known; tokens and opaque values have none.
    pub fn is_static(&self) -> bool {
        self.arrays().all(ArrayShape::is_static)
    }

    /// Whether some size in it is known only at run time.
    pub fn is_dynamic(&self) -> bool {
        !self.is_static()
    }

    /// Whether some dimension in it has a bound in place of a size.
    pub fn is_bounded_dynamic(&self) -> bool {
        self.arrays().any(ArrayShape::is_bounded_dynamic)
    }

    /// Whether some dimension in it has neither size nor bound.
    pub fn is_unbounded_dynamic(&self) -> bool {
        self.arrays().any(ArrayShape::is_unbounded_dynamic)
    }

    /// Everything in it that is no tuple, without paths.
    pub(super) fn flat_leaves(&self) -> impl Iterator<Item = &Shape> {
        self.walk().filter_map(|step| match step {
            Step::Leaf(leaf) => Some(leaf),
            Step::Open(_) | Step::Close(_) => None,
        })
    }

    /// Its arrays, in buffers too, in order.
    pub fn arrays(&self) -> impl Iterator<Item = &ArrayShape> {
        self.flat_leaves().filter_map(|leaf| leaf.as_array().ok())
    }
}
