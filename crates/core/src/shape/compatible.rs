//! Whether two shapes are alike enough for some purpose.

use super::{Shape, ShapeEquality, ShapeKind, Step};
use crate::ArrayShape;

impl Shape {
    /// Whether both have the same tuples, element types and sizes; layouts do not count, nor
    /// does which dimensions are dynamic.
    #[doc(alias = "Compatible")]
    pub fn is_compatible(&self, other: &Shape) -> bool {
        ShapeEquality::exact()
            .ignore_layout()
            .ignore_dynamic_dimension()
            .equal(self, other)
    }

    /// As [`is_compatible`](Self::is_compatible), with any element types.
    #[doc(alias = "CompatibleIgnoringElementType")]
    pub fn is_compatible_ignoring_element_type(&self, other: &Shape) -> bool {
        ShapeEquality::exact()
            .ignore_layout()
            .ignore_dynamic_dimension()
            .ignore_element_type()
            .equal(self, other)
    }

    /// As [`is_compatible`](Self::is_compatible), with any floating-point type for another.
    #[doc(alias = "CompatibleIgnoringFpPrecision")]
    pub fn is_compatible_ignoring_fp_precision(&self, other: &Shape) -> bool {
        ShapeEquality::exact()
            .ignore_layout()
            .ignore_dynamic_dimension()
            .ignore_fp_precision()
            .equal(self, other)
    }

    /// Whether both have the same tuples and the same kinds of leaves, arrays of the same rank;
    /// where buffers are ignored, one stands for its array.
    #[doc(alias = "CompatibleKind")]
    pub fn is_compatible_kind(&self, other: &Shape, ignore_buffer: bool) -> bool {
        let equality = ShapeEquality::exact()
            .ignore_layout()
            .ignore_dynamic_dimension()
            .ignore_element_type()
            .ignore_dimensions();
        match ignore_buffer {
            true => equality.ignore_buffer().equal(self, other),
            false => equality.equal(self, other),
        }
    }

    /// Whether the same paths lead somewhere in both. The empty tuple has no more paths than an
    /// array.
    #[doc(alias = "EqualStructure")]
    pub fn has_equal_structure(&self, other: &Shape) -> bool {
        let paths = |shape: &Shape| -> Vec<usize> {
            let counts = shape.walk().filter_map(|step| match step {
                Step::Open(tuple) => Some(tuple.len()),
                Step::Leaf(_) => Some(0),
                Step::Close(_) => None,
            });
            counts.collect()
        };
        paths(self) == paths(other)
    }

    /// Whether this is the beginning of the other: equal in the sense of `equal`, or the empty
    /// tuple, or a tuple whose elements are each the beginning of the other's.
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let (a, b): (Shape, Shape) = ("(f32[2], ())".parse()?, "(f32[2], s8[3], token[])".parse()?);
    /// assert!(a.is_prefix_of(&b, Shape::is_compatible));
    /// assert!(!b.is_prefix_of(&a, Shape::is_compatible));
    /// # Ok::<(), minormajor_core::ParseError>(())
    /// ```
    #[doc(alias = "IsPrefix")]
    pub fn is_prefix_of(&self, other: &Shape, equal: impl Fn(&Shape, &Shape) -> bool) -> bool {
        let mut pending = vec![(self, other)];
        while let Some((prefix, shape)) = pending.pop() {
            if prefix.is_empty_tuple() || equal(prefix, shape) {
                continue;
            }
            match (&prefix.kind, &shape.kind) {
                (ShapeKind::Tuple(prefix), ShapeKind::Tuple(shape))
                    if prefix.len() <= shape.len() =>
                {
                    pending.extend(prefix.elements().iter().zip(shape.elements()));
                }
                _ => return false,
            }
        }
        true
    }

    /// Whether a value of this shape fits where one of the `bounds` is expected: every array with
    /// a dynamic dimension is [within the bounds](ArrayShape::is_within_bounds_of) of the array
    /// on the same path. Arrays of known sizes are not looked at, and the bounds may have further
    /// elements.
    #[doc(alias = "DynamicShapeIsCompatible")]
    pub fn is_within_bounds_of(&self, bounds: &Shape) -> bool {
        self.subshapes().all(|(index, shape)| {
            bounds.subshape(&index).is_ok_and(|bound| {
                let fits = match (shape.as_array(), bound.as_array()) {
                    (Ok(array), Ok(bound)) => array.is_static() || array.is_within_bounds_of(bound),
                    (Ok(array), Err(_)) => array.is_static(),
                    (Err(_), _) => true,
                };
                shape.is_tuple() == bound.is_tuple() && fits
            })
        })
    }
}

impl ArrayShape {
    /// Whether both have as many dimensions.
    pub fn has_same_rank(&self, other: &ArrayShape) -> bool {
        self.rank() == other.rank()
    }

    /// Whether both have the same sizes, a bound counting as a size and `?` as any.
    #[doc(alias = "SameDimensions")]
    pub fn has_same_dimensions(&self, other: &ArrayShape) -> bool {
        ShapeEquality::exact()
            .ignore_layout()
            .ignore_element_type()
            .ignore_dynamic_dimension()
            .equal_arrays(self, other)
    }
}
