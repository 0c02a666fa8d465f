//! Equality of shapes that overlooks some of their parts.

use super::{Shape, ShapeKind, Step};
use crate::layout::LayoutEquality;
use crate::{ArrayShape, Dimension};

/// How to compare two shapes: everything counts unless told to be ignored.
///
/// `==` is the same as nothing ignored. Tuples are equal where their elements are; tokens equal
/// tokens, opaque values equal opaque values. Where layouts count, an array without one equals
/// only another without one.
///
/// ```
/// use minormajor_core::{Shape, ShapeEquality};
///
/// let (a, b): (Shape, Shape) = ("f32[4,3]{0,1}".parse()?, "bf16[4,3]{0,1}".parse()?);
/// assert!(!ShapeEquality::exact().equal(&a, &b));
/// assert!(ShapeEquality::exact().ignore_fp_precision().equal(&a, &b));
/// # Ok::<(), minormajor_core::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "Equal")]
pub struct ShapeEquality {
    /// `None` where layouts are ignored.
    layout: Option<LayoutEquality>,
    element_type: bool,
    fp_precision: bool,
    dynamic_dimension: bool,
    dimensions: bool,
    buffer: bool,
}

impl Default for ShapeEquality {
    fn default() -> Self {
        ShapeEquality::exact()
    }
}

impl ShapeEquality {
    /// Everything counts.
    pub const fn exact() -> Self {
        ShapeEquality {
            layout: Some(LayoutEquality::exact()),
            element_type: false,
            fp_precision: false,
            dynamic_dimension: false,
            dimensions: false,
            buffer: false,
        }
    }

    /// Compares layouts in this way: say, without their tiles.
    #[doc(alias = "IgnoreTilesInLayout")]
    #[doc(alias = "IgnoreElementSizeInLayout")]
    #[doc(alias = "IgnoreMemorySpaceInLayout")]
    #[doc(alias = "MinorToMajorOnlyInLayout")]
    #[doc(alias = "IgnoreTailPaddingAlignmentInElements")]
    #[doc(alias = "IgnoreSplitConfigInLayout")]
    pub const fn with_layout_equality(mut self, layout: LayoutEquality) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Ignores layouts, and whether there are any.
    pub const fn ignore_layout(mut self) -> Self {
        self.layout = None;
        self
    }

    /// Ignores the types of elements.
    pub const fn ignore_element_type(mut self) -> Self {
        self.element_type = true;
        self
    }

    /// Lets floating-point types stand for each other.
    pub const fn ignore_fp_precision(mut self) -> Self {
        self.fp_precision = true;
        self
    }

    /// Ignores which dimensions are dynamic: a bound is a size, and `?` any size.
    pub const fn ignore_dynamic_dimension(mut self) -> Self {
        self.dynamic_dimension = true;
        self
    }

    /// Ignores sizes and bounds; the number of dimensions still counts, and so does which are
    /// dynamic.
    pub const fn ignore_dimensions(mut self) -> Self {
        self.dimensions = true;
        self
    }

    /// Lets a buffer stand for the array that it holds.
    pub const fn ignore_buffer(mut self) -> Self {
        self.buffer = true;
        self
    }

    /// Whether the shapes are equal in all that counts.
    pub fn equal(self, a: &Shape, b: &Shape) -> bool {
        // Tuples of different lengths end the comparison, so neither walk is the longer one.
        a.walk().zip(b.walk()).all(|steps| match steps {
            (Step::Open(a), Step::Open(b)) => a.len() == b.len(),
            (Step::Close(_), Step::Close(_)) => true,
            (Step::Leaf(a), Step::Leaf(b)) => match (&a.kind, &b.kind) {
                (ShapeKind::Array(a), ShapeKind::Array(b))
                | (ShapeKind::Buffer(a), ShapeKind::Buffer(b)) => self.equal_arrays(a, b),
                (ShapeKind::Array(a), ShapeKind::Buffer(b))
                | (ShapeKind::Buffer(a), ShapeKind::Array(b)) => {
                    self.buffer && self.equal_arrays(a, b)
                }
                (a, b) => a == b,
            },
            _ => false,
        })
    }

    /// Whether the arrays are equal in all that counts.
    pub fn equal_arrays(self, a: &ArrayShape, b: &ArrayShape) -> bool {
        let (of_a, of_b) = (a.element_type(), b.element_type());
        let types = self.element_type
            || of_a == of_b
            || (self.fp_precision && of_a.same_ignoring_fp_precision(of_b));
        let layouts = match self.layout {
            None => true,
            Some(equality) => match (a.layout(), b.layout()) {
                (Some(a), Some(b)) => equality.equal(a, b),
                (a, b) => a.is_none() && b.is_none(),
            },
        };
        let pairs = || a.dimensions().iter().zip(b.dimensions());
        types
            && layouts
            && a.rank() == b.rank()
            && pairs().all(|(&a, &b)| self.equal_dimensions(a, b))
    }

    fn equal_dimensions(self, a: Dimension, b: Dimension) -> bool {
        let unbounded = self.dynamic_dimension && (a.is_unbounded() || b.is_unbounded());
        (self.dimensions || unbounded || a.bound() == b.bound())
            && (self.dynamic_dimension || a.is_dynamic() == b.is_dynamic())
    }
}
