//! A shape as the carrier of layouts.

use crate::error::ShapeError;
use crate::layout::{Layout, LayoutEquality};
use crate::shape::{Shape, ShapeEquality};

/// The layouts that are set, or not yet, for a value of some shape: what a compiler writes down
/// for a parameter or a result.
///
/// Equal where shape and layouts are; which dimensions are dynamic does not count.
///
/// ```
/// use minormajor_core::{Shape, ShapeLayout};
///
/// let wanted = ShapeLayout::new("f32[2,3]{0,1:T(8,128)}".parse::<Shape>()?);
/// let given: Shape = "f32[2,3]{1,0}".parse()?;
/// assert_eq!(wanted.assign_layout_to(&given)?.to_string(), "f32[2,3]{0,1:T(8,128)}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShapeLayout {
    shape: Shape,
}

impl ShapeLayout {
    /// The layouts of this shape, as far as it has some.
    pub fn new(shape: Shape) -> ShapeLayout {
        ShapeLayout { shape }
    }

    /// The shape with the layouts.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The layout of an array.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NotAnArray`] or [`ShapeError::NoLayout`].
    pub fn layout(&self) -> Result<&Layout, ShapeError> {
        self.shape.as_array()?.require_layout()
    }

    /// Whether every array has a layout.
    #[doc(alias = "LayoutIsSet")]
    pub fn is_set(&self) -> bool {
        self.shape.has_layout()
    }

    /// Whether some array has a layout.
    #[doc(alias = "AnyLayoutIsSet")]
    pub fn is_any_set(&self) -> bool {
        self.shape.has_any_layout()
    }

    /// A compatible shape with these layouts. Its own dynamic dimensions stay. (XLA gives it
    /// this shape's.)
    ///
    /// # Errors
    ///
    /// [`ShapeError::Incompatible`] for a shape with other tuples, element types or sizes.
    #[doc(alias = "AssignLayoutToShape")]
    pub fn assign_layout_to(&self, shape: &Shape) -> Result<Shape, ShapeError> {
        self.check_compatible(shape)?;
        shape.with_layouts_of(&self.shape)
    }

    /// Takes the layouts of a compatible shape.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Incompatible`] for a shape with other tuples, element types or sizes.
    #[doc(alias = "CopyLayoutFromShape")]
    pub fn copy_layout_from(&mut self, shape: &Shape) -> Result<(), ShapeError> {
        self.check_compatible(shape)?;
        self.shape = self.shape.with_layouts_of(shape)?;
        Ok(())
    }

    /// Whether a shape has these layouts, compared in this way; element types and sizes count.
    #[doc(alias = "MatchesLayoutInShape")]
    pub fn matches_layout_in(&self, shape: &Shape, equality: LayoutEquality) -> bool {
        ShapeEquality::exact()
            .ignore_dynamic_dimension()
            .with_layout_equality(equality)
            .equal(&self.shape, shape)
    }

    /// Takes all layouts away.
    #[doc(alias = "Clear")]
    pub fn clear(&mut self) {
        self.shape = self.shape.without_layout();
    }

    /// Takes all tiles away.
    ///
    /// # Errors
    ///
    /// Those of [`Shape::without_tiles`].
    pub fn clear_tiles(&mut self) -> Result<(), ShapeError> {
        self.shape = self.shape.without_tiles()?;
        Ok(())
    }

    /// Gives every array the default order.
    ///
    /// # Errors
    ///
    /// Those of [`Shape::with_default_layout`].
    pub fn set_to_default_layout(&mut self) -> Result<(), ShapeError> {
        self.shape = self.shape.with_default_layout()?;
        Ok(())
    }

    /// Gives the array at the end of a path this layout.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchSubshape`] or [`ShapeError::NotAnArray`] where there is no array, and
    /// those of [`ArrayShape::with_layout`](crate::ArrayShape::with_layout).
    pub fn reset_layout(&mut self, index: &[usize], layout: Layout) -> Result<(), ShapeError> {
        self.shape = self
            .shape
            .map_array_at(index, |array| array.with_layout(layout))?;
        Ok(())
    }

    /// Makes every bound a size.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Unbounded`] where a dimension has no bound.
    #[doc(alias = "ClearDynamicShape")]
    pub fn clear_dynamic_shape(&mut self) -> Result<(), ShapeError> {
        self.shape = self.shape.with_static_dimensions()?;
        Ok(())
    }

    fn check_compatible(&self, shape: &Shape) -> Result<(), ShapeError> {
        match self.shape.is_compatible(shape) {
            true => Ok(()),
            false => Err(ShapeError::Incompatible {
                found: shape.to_string(),
                expected: self.shape.to_string(),
            }),
        }
    }
}

impl PartialEq for ShapeLayout {
    fn eq(&self, other: &Self) -> bool {
        self.matches_layout_in(&other.shape, LayoutEquality::exact())
    }
}

impl Eq for ShapeLayout {}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        crate::ParseOptions::default()
            .keep_missing_layouts()
            .parse(text)
            .unwrap()
    }

    #[test]
    fn layouts_are_assigned_and_taken() {
        let mut layouts = ShapeLayout::new(shape("(f32[2,3]{0,1:T(2,2)}, s8[4])"));
        assert!(layouts.is_any_set() && !layouts.is_set());
        let given = shape("(f32[2,<=3]{1,0}, s8[4]{0})");
        let assigned = layouts.assign_layout_to(&given).unwrap();
        assert_eq!(assigned, shape("(f32[2,<=3]{0,1:T(2,2)}, s8[4])"));
        layouts.copy_layout_from(&given).unwrap();
        assert_eq!(*layouts.shape(), shape("(f32[2,3]{1,0}, s8[4]{0})"));
        assert!(layouts.is_set());
        let other = shape("(f32[2,4]{1,0}, s8[4]{0})");
        let error = layouts.assign_layout_to(&other).unwrap_err().to_string();
        assert_eq!(
            error,
            "(f32[2,4]{1,0}, s8[4]{0}) is not compatible; expected the tuples, element types and \
             sizes of (f32[2,3]{1,0}, s8[4]{0})"
        );
        assert!(layouts.copy_layout_from(&other).is_err());
        assert!(layouts.layout().is_err());
    }

    #[test]
    fn layouts_match() {
        let layouts = ShapeLayout::new(shape("f32[2,3]{0,1:T(2,2)}"));
        let exact = LayoutEquality::exact();
        let order = LayoutEquality::minor_to_major_only();
        assert!(layouts.matches_layout_in(&shape("f32[<=2,3]{0,1:T(2,2)}"), exact));
        assert!(!layouts.matches_layout_in(&shape("f32[2,3]{0,1}"), exact));
        assert!(layouts.matches_layout_in(&shape("f32[2,3]{0,1}"), order));
        assert!(!layouts.matches_layout_in(&shape("f32[2,3]{1,0}"), order));
        assert!(!layouts.matches_layout_in(&shape("f32[3,2]{0,1}"), order));
        let where_both = exact.ignore_tiles_where_absent();
        assert!(layouts.matches_layout_in(&shape("f32[2,3]{0,1}"), where_both));
        assert!(!layouts.matches_layout_in(&shape("f32[2,3]{0,1:T(4)}"), where_both));
        assert_eq!(layouts, ShapeLayout::new(shape("f32[2,<=3]{0,1:T(2,2)}")));
        assert_ne!(layouts, ShapeLayout::new(shape("f32[2,3]{0,1}")));
    }

    #[test]
    fn layouts_are_changed() {
        let mut layouts = ShapeLayout::new(shape("(f32[2,<=3]{0,1:T(2,2)}, (s8[4], token[]))"));
        layouts.clear_tiles().unwrap();
        assert_eq!(
            *layouts.shape(),
            shape("(f32[2,<=3]{0,1}, (s8[4], token[]))")
        );
        layouts.set_to_default_layout().unwrap();
        assert_eq!(
            *layouts.shape(),
            shape("(f32[2,<=3]{1,0}, (s8[4]{0}, token[]))")
        );
        layouts.clear_dynamic_shape().unwrap();
        let tiled: Layout = "{0:T(2)}".parse().unwrap();
        layouts.reset_layout(&[1, 0], tiled.clone()).unwrap();
        assert_eq!(
            *layouts.shape(),
            shape("(f32[2,3]{1,0}, (s8[4]{0:T(2)}, token[]))")
        );
        assert!(layouts.reset_layout(&[0], tiled.clone()).is_err());
        assert!(layouts.reset_layout(&[1, 1], tiled.clone()).is_err());
        assert!(layouts.reset_layout(&[2], tiled).is_err());
        layouts.clear();
        assert!(!layouts.is_any_set());
    }
}
