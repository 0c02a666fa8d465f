//! Arrays made of other arrays: dimensions added, moved and deleted, other element types.
//!
//! One rule for all of them: what belongs to a dimension (whether it is dynamic, its padded
//! width, its split) goes with it, and the rest of the layout (tiles, tail alignment, element
//! size, memory space, metadata prefix, padding value) stays. Tiles always cut the most minor
//! dimensions that there are. XLA drops dynamic flags, tiles, element size and memory space in
//! several of these edits. A result that is no valid array (more than 63 bits of memory, say)
//! is an error.

use smallvec::SmallVec;

use super::ArrayShape;
use super::kind::is_degenerate;
use crate::dimension::resolve_dimension;
use crate::error::ShapeError;
use crate::layout::Layout;
use crate::permutation::Permutation;
use crate::{Dimension, ElementType};

impl ArrayShape {
    /// The array with elements of another type.
    ///
    /// The layout's element size stays where it is wide enough for the new type. A packed one
    /// (the old type's own width) becomes the new type's own where that divides a byte, and is
    /// dropped elsewhere, as is one that is too narrow. (XLA leaves `E(4)` on `s2`.)
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchPaddingValue`] where the new type lacks the padding's value,
    /// [`ShapeError::Overflow`] where the wider elements take more than 63 bits.
    ///
    /// ```
    /// use minormajor_core::{ElementType, Shape};
    ///
    /// let packed: Shape = "s4[64]{0:T(128)E(4)}".parse()?;
    /// let array = packed.as_array()?;
    /// let narrower = array.with_element_type(ElementType::S2)?;
    /// assert_eq!(narrower.to_string(), "s2[64]{0:T(128)E(2)}"); // XLA: E(4)
    /// let wider = array.with_element_type(ElementType::F32)?;
    /// assert_eq!(wider.to_string(), "f32[64]{0:T(128)}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ChangeElementType")]
    pub fn with_element_type(&self, element_type: ElementType) -> Result<ArrayShape, ShapeError> {
        let layout = match self.layout.clone() {
            Some(layout) if layout.element_size_in_bits() != 0 => {
                let bits = layout.element_size_in_bits();
                let width = i64::from(element_type.storage_bit_width());
                let bits = if bits == i64::from(self.element_type.storage_bit_width()) {
                    packed_bits(element_type)
                } else if bits >= width {
                    bits
                } else {
                    0
                };
                Some(layout.with_element_size_in_bits(bits)?)
            }
            layout => layout,
        };
        self.rebuilt(element_type, self.dimensions.clone(), layout)
    }

    /// The array of the real parts, or of the imaginary ones.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NotComplex`] for another element type.
    #[doc(alias = "ComplexComponentShape")]
    pub fn complex_component(&self) -> Result<ArrayShape, ShapeError> {
        let found = self.element_type;
        let part = found.complex_component();
        self.with_element_type(part.ok_or(ShapeError::NotComplex { found })?)
    }

    /// The array with elements of 1, 2 and 4 bits packed, or (with `false`)
    /// each in a byte of its own; elements of other types get their own width. Without a layout
    /// nothing changes.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Overflow`] where packed elements take more than 63 bits unpacked.
    #[doc(alias = "UpdateElementSizeInBits")]
    pub fn with_packed_elements(&self, packed: bool) -> Result<ArrayShape, ShapeError> {
        let Some(layout) = self.layout.clone() else {
            return Ok(self.clone());
        };
        let bits = match packed {
            true => packed_bits(self.element_type),
            false => 0,
        };
        self.with_layout(layout.with_element_size_in_bits(bits)?)
    }

    /// The array with the default order; the rest of its layout stays. One without a layout
    /// gets the default one.
    #[doc(alias = "SetToDefaultLayout")]
    #[doc(alias = "GetWithDefaultLayout")]
    pub fn with_default_layout(&self) -> Result<ArrayShape, ShapeError> {
        let descending = (0..self.rank()).rev().collect();
        self.with_layout(match &self.layout {
            Some(layout) => layout.with_order(descending),
            None => Layout::descending(self.rank()),
        })
    }

    /// The array without tiles.
    #[doc(alias = "ClearTiles")]
    pub fn without_tiles(&self) -> Result<ArrayShape, ShapeError> {
        let layout = self.layout.clone().map(Layout::without_tiles);
        self.rebuilt(self.element_type, self.dimensions.clone(), layout)
    }

    /// The array with a new first dimension, which is the most major one.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NegativeSize`] or [`ShapeError::Overflow`].
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let shape: Shape = "f32[<=2,3]{0,1:T(2,2)S(1)}".parse()?;
    /// let array = shape.as_array()?.prepend_major_dimension(7)?;
    /// assert_eq!(array.to_string(), "f32[7,<=2,3]{1,2,0:T(2,2)S(1)}"); // XLA: f32[7,2,3]{1,2,0}
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepend_major_dimension(
        &self,
        size: impl Into<Dimension>,
    ) -> Result<ArrayShape, ShapeError> {
        self.inserted(0, &[size.into()], self.rank())
    }

    /// The array with a new last dimension, which is the most major one.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NegativeSize`] or [`ShapeError::Overflow`].
    pub fn append_major_dimension(
        &self,
        size: impl Into<Dimension>,
    ) -> Result<ArrayShape, ShapeError> {
        self.inserted(self.rank(), &[size.into()], self.rank())
    }

    /// The array with a new last dimension, which is the most minor one.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NegativeSize`] or [`ShapeError::Overflow`].
    pub fn append_minor_dimension(
        &self,
        size: impl Into<Dimension>,
    ) -> Result<ArrayShape, ShapeError> {
        self.inserted(self.rank(), &[size.into()], 0)
    }

    /// The array with a new dimension `at`: see [`insert_dimensions`](Self::insert_dimensions).
    ///
    /// # Errors
    ///
    /// As [`insert_dimensions`](Self::insert_dimensions).
    #[doc(alias = "InsertDimensionAtIndex")]
    pub fn insert_dimension(
        &self,
        at: i64,
        size: impl Into<Dimension>,
    ) -> Result<ArrayShape, ShapeError> {
        self.insert_dimensions(at, [size.into()])
    }

    /// The array with new dimensions, the first of which gets the number `at`: from 0 to the
    /// rank, or from the end, -1 being behind the last.
    ///
    /// In memory they lie next to the dimension that had the number, on its more major side, the
    /// first of them most major; behind the last they are the most minor ones. They are padded
    /// to their own size.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] for a place out of range (counted among `rank + 1`
    /// places), [`ShapeError::NegativeSize`] or [`ShapeError::Overflow`].
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let shape: Shape = "f32[4,8]{0,1:T(2,4)}".parse()?;
    /// let array = shape.as_array()?.insert_dimensions(1, [6, 7])?;
    /// assert_eq!(array.to_string(), "f32[4,6,7,8]{0,3,2,1:T(2,4)}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "InsertDimensionsAtIndex")]
    pub fn insert_dimensions<D: Into<Dimension>>(
        &self,
        at: i64,
        sizes: impl IntoIterator<Item = D>,
    ) -> Result<ArrayShape, ShapeError> {
        let at = resolve_dimension(at, self.rank() + 1)?;
        let sizes: SmallVec<[Dimension; 6]> = sizes.into_iter().map(Into::into).collect();
        let place = match &self.layout {
            Some(layout) if at < self.rank() => {
                let order = layout.minor_to_major();
                order
                    .iter()
                    .position(|&d| d == at)
                    .map_or(0, |place| place + 1)
            }
            _ => 0,
        };
        self.inserted(at, &sizes, place)
    }

    /// The array with dimensions inserted at a number, and at a place of the minor-to-major
    /// order.
    fn inserted(
        &self,
        at: usize,
        sizes: &[Dimension],
        place: usize,
    ) -> Result<ArrayShape, ShapeError> {
        let count = sizes.len();
        let mut dimensions = self.dimensions.clone();
        dimensions.insert_many(at, sizes.iter().copied());
        let layout = self.layout.as_ref().map(|layout| {
            let shift = |&d: &usize| if d < at { d } else { d + count };
            let mut order: SmallVec<[usize; 6]> =
                layout.minor_to_major().iter().map(shift).collect();
            order.insert_many(place, (at..at + count).rev());
            let mut source: SmallVec<[Option<usize>; 6]> = (0..self.rank()).map(Some).collect();
            source.insert_many(at, std::iter::repeat_n(None, count));
            // An unbounded new dimension can't be padded, which the check below says.
            let width = |d: usize| dimensions[d].bound().unwrap_or(0);
            layout.rearranged(order, &source, width)
        });
        self.rebuilt(self.element_type, dimensions.clone(), layout)
    }

    /// The same array, laid out with one dimension the most major. One without a layout gets
    /// the default one first.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range, [`ShapeError::Overflow`].
    #[doc(alias = "MoveDimToMajor")]
    pub fn move_dimension_to_major(&self, dimension: i64) -> Result<ArrayShape, ShapeError> {
        let layout = match &self.layout {
            Some(layout) => layout.move_dimension_to_major(dimension)?,
            None => Layout::descending(self.rank()).move_dimension_to_major(dimension)?,
        };
        self.with_layout(layout)
    }

    /// The same array, laid out with one dimension the most minor. One without a layout gets
    /// the default one first.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range, [`ShapeError::Overflow`].
    #[doc(alias = "MoveDimToMinor")]
    pub fn move_dimension_to_minor(&self, dimension: i64) -> Result<ArrayShape, ShapeError> {
        let layout = match &self.layout {
            Some(layout) => layout.move_dimension_to_minor(dimension)?,
            None => Layout::descending(self.rank()).move_dimension_to_minor(dimension)?,
        };
        self.with_layout(layout)
    }

    /// The array without one dimension; the others keep their order in memory.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range, [`ShapeError::Overflow`] where the deleted
    /// dimension had size 0.
    pub fn delete_dimension(&self, dimension: i64) -> Result<ArrayShape, ShapeError> {
        self.delete_dimensions([dimension])
    }

    /// The array without these dimensions, listed in any order; the others keep their order in
    /// memory.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] or [`ShapeError::DimensionRepeated`] for a bad list,
    /// [`ShapeError::Overflow`] where a deleted dimension had size 0.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "f32[5,<=3,2]{2,0,1:T(2)}".parse()?;
    /// let array = shape.as_array()?.delete_dimensions([-1, 0])?;
    /// assert_eq!(array.to_string(), "f32[<=3]{0:T(2)}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_dimensions(
        &self,
        dimensions: impl IntoIterator<Item = i64>,
    ) -> Result<ArrayShape, ShapeError> {
        let mut deleted: SmallVec<[bool; 16]> = SmallVec::from_elem(false, self.rank());
        for dimension in dimensions {
            let dimension = resolve_dimension(dimension, self.rank())?;
            if std::mem::replace(&mut deleted[dimension], true) {
                return Err(ShapeError::DimensionRepeated { dimension });
            }
        }
        self.filter_dimensions(|dimension| !deleted[dimension])
    }

    /// The array with only the dimensions whose number `keep` accepts.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Overflow`] where a dropped dimension had size 0.
    pub fn filter_dimensions(
        &self,
        keep: impl Fn(usize) -> bool,
    ) -> Result<ArrayShape, ShapeError> {
        let kept = (0..self.rank()).filter(|&d| keep(d));
        let dimensions = kept.map(|d| self.dimensions[d]).collect();
        let layout = self.layout.as_ref();
        let layout = layout.map(|layout| layout.keep_dimensions(&keep));
        self.rebuilt(self.element_type, dimensions, layout)
    }

    /// The array without the dimensions of size 1, or at most 1; those of size 0 stay.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Overflow`], which only tiles or padding can cause.
    pub fn drop_degenerate_dimensions(&self) -> Result<ArrayShape, ShapeError> {
        self.filter_dimensions(|d| !is_degenerate(self.dimensions[d]))
    }

    /// The array whose dimension `i` is this one's dimension `permutation[i]`, with every
    /// element where it was in memory: the transpose that is free.
    ///
    /// # Errors
    ///
    /// [`ShapeError::PermutationLength`] for a permutation of another length.
    ///
    /// ```
    /// use minormajor_core::{Permutation, Shape};
    ///
    /// let shape: Shape = "f32[10,<=20,30]{2,1,0:T(8,128)S(1)}".parse()?;
    /// let transposed = shape.as_array()?.permute_dimensions(&Permutation::new([2, 0, 1])?)?;
    /// assert_eq!(transposed.to_string(), "f32[30,10,<=20]{0,2,1:T(8,128)S(1)}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ReorderLogicalDimensions")]
    pub fn permute_dimensions(&self, permutation: &Permutation) -> Result<ArrayShape, ShapeError> {
        let dimensions = permutation.apply(&self.dimensions)?;
        let layout = self.layout.as_ref();
        let layout = layout.map(|layout| layout.permute_dimensions(permutation));
        self.rebuilt(self.element_type, dimensions.into(), layout)
    }

    /// The array whose dimension `i` is this one's dimension `permutation[i]`, in a layout of
    /// the same order, so that most elements move.
    ///
    /// # Errors
    ///
    /// [`ShapeError::PermutationLength`] for a permutation of another length,
    /// [`ShapeError::Overflow`] where the layout pads more than before.
    ///
    /// ```
    /// use minormajor_core::{Permutation, Shape};
    ///
    /// let shape: Shape = "f32[10,<=20,30]{0,2,1}".parse()?;
    /// let permutation = Permutation::new([2, 0, 1])?;
    /// let moved = shape.as_array()?.permute_dimensions_ignoring_layout(&permutation)?;
    /// assert_eq!(moved.to_string(), "f32[30,10,<=20]{0,2,1}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn permute_dimensions_ignoring_layout(
        &self,
        permutation: &Permutation,
    ) -> Result<ArrayShape, ShapeError> {
        let dimensions = permutation.apply(&self.dimensions)?;
        let layout = self.layout.as_ref().map(|layout| {
            let source: SmallVec<[Option<usize>; 6]> =
                permutation.as_slice().iter().copied().map(Some).collect();
            layout.rearranged(layout.minor_to_major().into(), &source, |_| 0)
        });
        self.rebuilt(self.element_type, dimensions.into(), layout)
    }

    /// The array that has the same bytes and the default order: its dimensions are these ones as
    /// they lie in memory, the most major first. One without a layout gets the default one.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Overflow`] where the array had no layout and takes more than 63 bits.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "f32[128,24,4]{1,2,0:T(8,128)}".parse()?;
    /// let physical = shape.as_array()?.in_physical_order()?;
    /// assert_eq!(physical.to_string(), "f32[128,4,24]{2,1,0:T(8,128)}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "MakeShapeWithDescendingLayoutAndSamePhysicalLayout")]
    pub fn in_physical_order(&self) -> Result<ArrayShape, ShapeError> {
        let Some(layout) = &self.layout else {
            return self.with_layout(Layout::descending(self.rank()));
        };
        let major_to_minor = layout.minor_to_major().iter().rev();
        let permutation = Permutation::new(major_to_minor.map(|&d| d as i64))?;
        self.permute_dimensions(&permutation)
    }
}

/// The layout's element size of packed elements: the type's own width where that divides a
/// byte, 0 (the default) elsewhere. Nothing packs truth values, or the 6-bit floats.
fn packed_bits(element_type: ElementType) -> i64 {
    match element_type.storage_bit_width() {
        bits @ (1 | 2 | 4) => i64::from(bits),
        _ => 0,
    }
}
