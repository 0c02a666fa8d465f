//! What kind of array a shape describes: a scalar, one with degenerate dimensions, a host's
//! array, and so on.

use super::ArrayShape;
use crate::address::Expansion;
use crate::dimension::resolve_dimension;
use crate::error::ShapeError;
use crate::layout::{Layout, TileDimension};
use crate::{Dimension, ElementType};

impl ArrayShape {
    /// Whether it has no dimensions.
    pub fn is_scalar(&self) -> bool {
        self.dimensions.is_empty()
    }

    /// Whether it has exactly one element in whatever number of dimensions, each of size 1.
    pub fn is_effective_scalar(&self) -> bool {
        self.true_rank() == 0
    }

    /// Whether it is a scalar of this type.
    pub fn is_scalar_with_element_type(&self, element_type: ElementType) -> bool {
        self.is_scalar() && self.element_type == element_type
    }

    /// Whether some dimension has size 0, so that there are no elements.
    pub fn is_zero_element_array(&self) -> bool {
        self.dimensions.iter().any(|size| size.bound() == Some(0))
    }

    /// Whether some dimension has size 1, or at most 1.
    pub fn has_degenerate_dimensions(&self) -> bool {
        self.dimensions.iter().any(|&size| is_degenerate(size))
    }

    /// Whether the last dimension is the most minor; true of scalars and without a layout,
    /// which will be the default one.
    #[doc(alias = "LastDimIsMinorMost")]
    pub fn last_dimension_is_minor_most(&self) -> bool {
        match (&self.layout, self.rank()) {
            (Some(layout), 1..) => layout.minor_to_major()[0] == self.rank() - 1,
            _ => true,
        }
    }

    /// Whether a dimension is the most major one that has more than one index, or as major as
    /// that: every dimension more major than it has size 1.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range, [`ShapeError::NoLayout`].
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "f32[1,1,16,1,279]{4,3,2,1,0}".parse()?;
    /// let array = shape.as_array()?;
    /// assert!(array.is_effectively_most_major_dimension(2)?);
    /// assert!(!array.is_effectively_most_major_dimension(3)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_effectively_most_major_dimension(&self, dimension: i64) -> Result<bool, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        let major_to_minor = self.require_layout()?.minor_to_major().iter().rev();
        Ok(major_to_minor
            .take_while(|&&d| d != dimension)
            .all(|&d| is_degenerate(self.dimensions[d])))
    }

    /// How many elements are interleaved in an array of one dimension with three tiles of which
    /// the last has two dimensions: 2 for `bf16[1024]{0:T(1024)(128)(2,1)}`. `None` for every
    /// other array.
    #[doc(alias = "PackedFactorFor1DInterleavedArray")]
    pub fn packed_factor_for_1d_interleaved_array(&self) -> Option<i64> {
        let tiles = self.layout.as_ref()?.tiles();
        match (self.rank(), tiles) {
            (1, [_, _, last]) => match last.dimensions() {
                [TileDimension::Size(factor), _] => Some(*factor),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the tiles change nothing: every element lies, and as much is allocated, as
    /// without them. True of an array without tiles.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoLayout`] or [`ShapeError::Unbounded`] where the shape does not say
    /// enough.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "f32[24,128]{1,0:T(8,128)}".parse()?;
    /// assert!(shape.as_array()?.is_untiled()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "IsUntiledLayout")]
    pub fn is_untiled(&self) -> Result<bool, ShapeError> {
        let layout = self.require_layout()?;
        if let Some(dimension) = self.first_unbounded() {
            return Err(ShapeError::Unbounded { dimension });
        }
        let expand = |layout: &Layout| {
            Expansion::new(self, layout).expect("the shape's constructor checked its sizes")
        };
        let (tiled, plain) = (expand(layout), expand(&layout.clone().without_tiles()));
        let same = |dimension: usize| match (tiled.roots[dimension], plain.roots[dimension]) {
            // Dimensions of one index may have any stride.
            _ if self.dimensions[dimension].bound() <= Some(1) => true,
            (Some(tiled_root), Some(plain_root)) => {
                tiled.linear_stride(tiled_root) == plain.linear_stride(plain_root)
            }
            (tiled_root, plain_root) => tiled_root == plain_root,
        };
        Ok(tiled.allocated == plain.allocated
            && (self.is_zero_element_array() || (0..self.rank()).all(same)))
    }

    /// The memory space that the layout names; the default one without a layout.
    pub fn memory_space(&self) -> i64 {
        match &self.layout {
            Some(layout) => layout.memory_space(),
            None => Layout::DEFAULT_MEMORY_SPACE,
        }
    }

    /// Whether a host's array has this shape too: no tiles, the default memory space, elements
    /// of the type's own width in whole bytes, no tail alignment, no metadata prefix, no
    /// splits. Padded widths and the order are a host's as well.
    #[doc(alias = "DeviceShapeIsHostShape")]
    pub fn is_host_shape(&self) -> bool {
        match &self.layout {
            None => true,
            Some(layout) => *layout == layout.on_host(),
        }
    }

    /// The array as a host would hold it: see [`is_host_shape`](Self::is_host_shape).
    ///
    /// # Errors
    ///
    /// [`ShapeError::Overflow`] where packed elements take more than 63 bits unpacked.
    ///
    /// ```
    /// let device: minormajor_core::Shape = "s4[2,3]{0,1:T(8,128)E(4)S(1)}".parse()?;
    /// assert_eq!(device.as_array()?.to_host_shape()?.to_string(), "s4[2,3]{0,1}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "DeviceShapeToHostShape")]
    pub fn to_host_shape(&self) -> Result<ArrayShape, ShapeError> {
        let layout = self.layout.as_ref().map(Layout::on_host);
        self.rebuilt(self.element_type, self.dimensions.clone(), layout)
    }
}

/// Whether a dimension has at most one index, and is not known to have none.
pub(super) fn is_degenerate(size: Dimension) -> bool {
    size.bound() == Some(1)
}
