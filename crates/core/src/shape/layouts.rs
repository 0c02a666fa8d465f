//! The layouts of all arrays in a shape: asked for, set, cleared, copied and compared.

use super::{Shape, ShapeKind, Step};
use crate::ArrayShape;
use crate::error::ShapeError;
use crate::layout::LayoutEquality;

impl Shape {
    /// Whether every array in it has a layout; tokens and opaque values need none.
    pub fn has_layout(&self) -> bool {
        self.arrays().all(|array| array.layout().is_some())
    }

    /// Whether some array in it has a layout.
    pub fn has_any_layout(&self) -> bool {
        self.arrays().any(|array| array.layout().is_some())
    }

    /// Checks that every array in it has a layout. (A layout that does not fit its array can't
    /// be there.)
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoLayout`] for the first array without one.
    #[doc(alias = "ValidateLayoutInShape")]
    #[doc(alias = "ValidateShape")]
    pub fn require_layouts(&self) -> Result<(), ShapeError> {
        self.arrays()
            .try_for_each(|array| array.require_layout().map(drop))
    }

    /// Whether some array in it has an element size of its own, `E(..)`.
    pub fn has_custom_element_size_in_bits(&self) -> bool {
        let mut layouts = self.arrays().filter_map(ArrayShape::layout);
        layouts.any(|layout| layout.element_size_in_bits() != 0)
    }

    /// The shape with the default order in all its arrays:
    /// see [`ArrayShape::with_default_layout`].
    ///
    /// # Errors
    ///
    /// [`ShapeError::Overflow`] where tiles or padding then take more than 63 bits.
    #[doc(alias = "SetToDefaultLayout")]
    #[doc(alias = "GetWithDefaultLayout")]
    pub fn with_default_layout(&self) -> Result<Shape, ShapeError> {
        self.map_arrays(ArrayShape::with_default_layout)
    }

    /// The shape without layouts, which prints as `f32[2,3]` rather than `f32[2,3]{1,0}`.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "(f32[2,3]{0,1:T(8,128)}, token[])".parse()?;
    /// assert_eq!(shape.without_layout().to_string(), "(f32[2,3], token[])");
    /// # Ok::<(), minormajor_core::ParseError>(())
    /// ```
    #[doc(alias = "ClearLayout")]
    #[doc(alias = "HumanString")]
    pub fn without_layout(&self) -> Shape {
        self.map_arrays(|array| Ok::<_, ShapeError>(array.without_layout()))
            .expect("less of a shape is a shape")
    }

    /// The shape without tiles.
    ///
    /// # Errors
    ///
    /// None that is known: without tiles less is allocated.
    #[doc(alias = "ClearTiles")]
    pub fn without_tiles(&self) -> Result<Shape, ShapeError> {
        self.map_arrays(ArrayShape::without_tiles)
    }

    /// The shape with the layouts of another one of the same tuples, arrays having the same
    /// ranks; where the other has no layout, this one loses its own. Leaves that have no layout,
    /// such as tokens, may stand for each other.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Structure`] where the tuples differ, [`ShapeError::LayoutRank`] where the
    /// ranks do, and what else [`ArrayShape::with_layout`] says.
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let (to, from): (Shape, Shape) = ("(f32[2,3], token[])".parse()?, "(s8[4,5]{0,1}, token[])".parse()?);
    /// assert_eq!(to.with_layouts_of(&from)?.to_string(), "(f32[2,3]{0,1}, token[])");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "CopyLayoutBetweenShapes")]
    pub fn with_layouts_of(&self, other: &Shape) -> Result<Shape, ShapeError> {
        for (index, shape) in self.subshapes() {
            let other = other.subshape(&index)?;
            let same = match (&shape.kind, &other.kind) {
                (ShapeKind::Tuple(a), ShapeKind::Tuple(b)) => a.len() == b.len(),
                _ => shape.is_array() == other.is_array() && shape.is_tuple() == other.is_tuple(),
            };
            if !same {
                return Err(ShapeError::Structure {
                    index,
                    found: description(other),
                    expected: description(shape),
                });
            }
        }
        let mut others = other.arrays();
        self.map_arrays(|array| match others.next().and_then(ArrayShape::layout) {
            Some(layout) => array.with_layout(layout.clone()),
            None => Ok(array.without_layout()),
        })
    }

    /// Whether both have the same tuples, arrays of the same ranks, and layouts that are equal in
    /// all that counts; leaves without layouts, such as tokens, count as equal.
    ///
    /// (XLA forgets what to ignore inside of tuples.)
    ///
    /// ```
    /// use minormajor_core::{LayoutEquality, Shape};
    ///
    /// let (a, b): (Shape, Shape) = ("(f32[2]{0:T(8)})".parse()?, "(f32[3]{0})".parse()?);
    /// assert!(!a.layouts_equal(&b, LayoutEquality::exact()));
    /// assert!(a.layouts_equal(&b, LayoutEquality::minor_to_major_only())); // XLA: not equal
    /// # Ok::<(), minormajor_core::ParseError>(())
    /// ```
    #[doc(alias = "LayoutsInShapesEqual")]
    pub fn layouts_equal(&self, other: &Shape, equality: LayoutEquality) -> bool {
        self.walk().zip(other.walk()).all(|steps| match steps {
            (Step::Open(a), Step::Open(b)) => a.len() == b.len(),
            (Step::Close(_), Step::Close(_)) => true,
            (Step::Leaf(a), Step::Leaf(b)) => match (a.as_array(), b.as_array()) {
                (Ok(a), Ok(b)) => {
                    a.rank() == b.rank()
                        && match (a.layout(), b.layout()) {
                            (Some(a), Some(b)) => equality.equal(a, b),
                            (a, b) => a.is_none() && b.is_none(),
                        }
                }
                (a, b) => a.is_err() && b.is_err(),
            },
            _ => false,
        })
    }
}

fn description(shape: &Shape) -> String {
    match &shape.kind {
        ShapeKind::Tuple(tuple) => format!("a tuple of {}", tuple.len()),
        kind => kind.name().to_owned(),
    }
}
