//! Dynamic dimensions: which sizes are known only at run time.

use super::ArrayShape;
use crate::Dimension;
use crate::dimension::resolve_dimension;
use crate::error::ShapeError;

impl ArrayShape {
    /// Whether every size is known.
    pub fn is_static(&self) -> bool {
        !self.is_dynamic()
    }

    /// Whether some size is known only at run time.
    pub fn is_dynamic(&self) -> bool {
        self.dimensions.iter().any(|size| size.is_dynamic())
    }

    /// Whether some dimension has a bound in place of a size.
    pub fn is_bounded_dynamic(&self) -> bool {
        self.dimensions.iter().any(|size| size.is_bounded())
    }

    /// Whether some dimension has neither size nor bound.
    pub fn is_unbounded_dynamic(&self) -> bool {
        self.dimensions.iter().any(|size| size.is_unbounded())
    }

    /// The array with another size, bound or `?` in one dimension.
    ///
    /// Of the layout, the dimension's padded width and its split stay, so they must still fit.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range, and those of [`ArrayShape::new`] and
    /// [`with_layout`](Self::with_layout).
    ///
    /// ```
    /// use minormajor_core::{Dimension, Shape};
    ///
    /// let shape: Shape = "f32[2,3]{0,1:T(2,2)}".parse()?;
    /// let array = shape.as_array()?.with_dimension(-1, Dimension::Bounded(7))?;
    /// assert_eq!(array.to_string(), "f32[2,<=7]{0,1:T(2,2)}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "set_dimensions")]
    #[doc(alias = "set_unbounded_dynamic_dimension")]
    pub fn with_dimension(
        &self,
        dimension: i64,
        size: impl Into<Dimension>,
    ) -> Result<ArrayShape, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        let mut dimensions = self.dimensions.clone();
        dimensions[dimension] = size.into();
        self.rebuilt(self.element_type, dimensions, self.layout.clone())
    }

    /// The array with one dimension dynamic or static: a size becomes a bound, and a bound a
    /// size.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range, [`ShapeError::Unbounded`] where an
    /// unbounded dimension is to be static.
    #[doc(alias = "set_dynamic_dimension")]
    #[doc(alias = "UpdateDynamicDimension")]
    pub fn with_dynamic_dimension(
        &self,
        dimension: i64,
        dynamic: bool,
    ) -> Result<ArrayShape, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        let mut shape = self.clone();
        shape.dimensions[dimension] = marked(self.dimensions[dimension], dynamic)
            .ok_or(ShapeError::Unbounded { dimension })?;
        Ok(shape)
    }

    /// The array with the dynamic dimensions of another: its own sizes, as bounds where the
    /// other's are dynamic.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Rank`] for another rank, [`ShapeError::Unbounded`] where an unbounded
    /// dimension is to be static.
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let (to, from): (Shape, Shape) = ("f32[8,9]{0,1}".parse()?, "s8[5,<=6]".parse()?);
    /// let array = to.as_array()?.with_dynamic_dimensions_of(from.as_array()?)?;
    /// assert_eq!(array.to_string(), "f32[8,<=9]{0,1}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "CopyDynamicDimensions")]
    pub fn with_dynamic_dimensions_of(&self, other: &ArrayShape) -> Result<ArrayShape, ShapeError> {
        if other.rank() != self.rank() {
            return Err(ShapeError::Rank {
                found: other.rank(),
                expected: self.rank(),
            });
        }
        let mut shape = self.clone();
        for (dimension, size) in shape.dimensions.iter_mut().enumerate() {
            *size = marked(*size, other.dimensions[dimension].is_dynamic())
                .ok_or(ShapeError::Unbounded { dimension })?;
        }
        Ok(shape)
    }

    /// The array with every bound a size, and without the metadata prefix, which would hold the
    /// sizes. (XLA leaves an unbounded dimension with a size of -2^63.)
    ///
    /// # Errors
    ///
    /// [`ShapeError::Unbounded`] where a dimension has no bound.
    #[doc(alias = "clear_dynamic_dimensions")]
    #[doc(alias = "MakeStaticShape")]
    #[doc(alias = "MakeShapeWithStaticDimensions")]
    pub fn with_static_dimensions(&self) -> Result<ArrayShape, ShapeError> {
        let mut shape = self.clone();
        for (dimension, size) in shape.dimensions.iter_mut().enumerate() {
            *size = marked(*size, false).ok_or(ShapeError::Unbounded { dimension })?;
        }
        if let Some(layout) = shape.layout.take() {
            shape.layout = Some(layout.with_dynamic_shape_metadata_prefix_bytes(0)?);
        }
        Ok(shape)
    }

    /// Whether an array of this shape fits where one of the `bounds` is expected: as many
    /// dimensions, none with a greater size or bound. A `?` fits a `?` only.
    #[doc(alias = "DynamicArrayShapeIsCompatible")]
    pub fn is_within_bounds_of(&self, bounds: &ArrayShape) -> bool {
        let fits = |(size, bound): (&Dimension, &Dimension)| match (size.bound(), bound.bound()) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(size), Some(bound)) => size <= bound,
        };
        self.rank() == bounds.rank() && self.dimensions.iter().zip(&bounds.dimensions).all(fits)
    }
}

/// A dimension made dynamic or static; `None` for a static one without a bound.
fn marked(size: Dimension, dynamic: bool) -> Option<Dimension> {
    Some(match (size.bound(), dynamic) {
        (Some(bound), true) => Dimension::Bounded(bound),
        (Some(bound), false) => Dimension::Static(bound),
        (None, true) => Dimension::Unbounded,
        (None, false) => return None,
    })
}
