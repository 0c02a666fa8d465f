//! Shapes with all their arrays, or one of them, edited: as
//! [`ArrayShape`]'s edits, in tuples and buffers too.

use super::{Shape, ShapeKind};
use crate::error::ShapeError;
use crate::{ArrayShape, ElementType};

impl Shape {
    /// The shape with every array, in buffers too, replaced by what `edit` makes of it.
    ///
    /// # Errors
    ///
    /// The first error of `edit`.
    ///
    /// ```
    /// use minormajor_core::{Shape, ShapeError};
    ///
    /// let shape: Shape = "(f32[2], (b(s8[3]), token[]))".parse()?;
    /// let longer = shape.map_arrays(|array| array.prepend_major_dimension(8))?;
    /// assert_eq!(longer.without_layout().to_string(), "(f32[8,2], (b(s8[8,3]), token[]))");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn map_arrays<E: From<ShapeError>>(
        &self,
        mut edit: impl FnMut(&ArrayShape) -> Result<ArrayShape, E>,
    ) -> Result<Shape, E> {
        self.map_leaves(|_, leaf| leaf.map_array(&mut edit))
    }

    /// The shape with the array at the end of a path replaced by what `edit` makes of it.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchSubshape`] or [`ShapeError::NotAnArray`] where there is no array, and
    /// the error of `edit`.
    pub fn map_array_at(
        &self,
        index: &[usize],
        edit: impl FnOnce(&ArrayShape) -> Result<ArrayShape, ShapeError>,
    ) -> Result<Shape, ShapeError> {
        let leaf = self.subshape(index)?;
        leaf.as_array()?;
        self.with_subshape(index, leaf.map_array(edit)?)
    }

    /// A leaf with its array, if it has one, replaced.
    fn map_array<E>(
        &self,
        edit: impl FnOnce(&ArrayShape) -> Result<ArrayShape, E>,
    ) -> Result<Shape, E> {
        let kind = match &self.kind {
            ShapeKind::Array(array) => ShapeKind::Array(edit(array)?),
            ShapeKind::Buffer(array) => ShapeKind::Buffer(edit(array)?),
            kind => kind.clone(),
        };
        Ok(Shape {
            kind,
            unknown: self.unknown.clone(),
        })
    }

    /// The shape with elements of another type in all its arrays:
    /// see [`ArrayShape::with_element_type`].
    ///
    /// # Errors
    ///
    /// Those of [`ArrayShape::with_element_type`].
    #[doc(alias = "ChangeElementType")]
    pub fn with_element_type(&self, element_type: ElementType) -> Result<Shape, ShapeError> {
        self.map_arrays(|array| array.with_element_type(element_type))
    }

    /// The shape with a dimension the most major one of all its arrays.
    ///
    /// # Errors
    ///
    /// Those of [`ArrayShape::move_dimension_to_major`].
    #[doc(alias = "MoveDimToMajor")]
    pub fn move_dimension_to_major(&self, dimension: i64) -> Result<Shape, ShapeError> {
        self.map_arrays(|array| array.move_dimension_to_major(dimension))
    }

    /// The shape with every bound a size.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Unbounded`] where a dimension has no bound.
    #[doc(alias = "clear_dynamic_dimensions")]
    #[doc(alias = "MakeStaticShape")]
    pub fn with_static_dimensions(&self) -> Result<Shape, ShapeError> {
        self.map_arrays(ArrayShape::with_static_dimensions)
    }

    /// The shape with one dimension of the array at the end of a path dynamic or static.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchSubshape`] or [`ShapeError::NotAnArray`] where there is no array, and
    /// those of [`ArrayShape::with_dynamic_dimension`].
    #[doc(alias = "UpdateDynamicDimension")]
    pub fn with_dynamic_dimension(
        &self,
        index: &[usize],
        dimension: i64,
        dynamic: bool,
    ) -> Result<Shape, ShapeError> {
        self.map_array_at(index, |array| {
            array.with_dynamic_dimension(dimension, dynamic)
        })
    }

    /// Whether a host's value has this shape too: see [`ArrayShape::is_host_shape`].
    #[doc(alias = "DeviceShapeIsHostShape")]
    pub fn is_host_shape(&self) -> bool {
        self.arrays().all(ArrayShape::is_host_shape)
    }

    /// The shape as a host would hold it: see [`ArrayShape::to_host_shape`].
    ///
    /// # Errors
    ///
    /// Those of [`ArrayShape::to_host_shape`].
    #[doc(alias = "DeviceShapeToHostShape")]
    pub fn to_host_shape(&self) -> Result<Shape, ShapeError> {
        self.map_arrays(ArrayShape::to_host_shape)
    }

    /// The shape with narrow elements packed, or each in a byte of its own:
    /// see [`ArrayShape::with_packed_elements`].
    ///
    /// # Errors
    ///
    /// Those of [`ArrayShape::with_packed_elements`].
    #[doc(alias = "UpdateElementSizeInBits")]
    pub fn with_packed_elements(&self, packed: bool) -> Result<Shape, ShapeError> {
        self.map_arrays(|array| array.with_packed_elements(packed))
    }
}
