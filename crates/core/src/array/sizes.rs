//! How many elements, bits and bytes an array has, and its strides.

use smallvec::SmallVec;

use super::ArrayShape;
use crate::AddressMap;
use crate::error::ShapeError;
use crate::layout::Layout;

impl ArrayShape {
    /// The number of elements, 1 for a scalar; `None` with an unbounded dimension.
    #[doc(alias = "ElementsIn")]
    pub fn elements(&self) -> Option<i64> {
        let mut elements: i64 = 1;
        let mut zero = false;
        for dimension in &self.dimensions {
            let size = dimension.bound()?;
            zero |= size == 0;
            // Wraps only beside a 0, which makes the product 0: the constructor checked.
            elements = elements.wrapping_mul(size);
        }
        Some(if zero { 0 } else { elements })
    }

    /// The elements that memory is set aside for: padding, every level of tiles and the tail
    /// alignment included. (XLA's `ArraySize` counts the first level only.) `None` without a
    /// layout or with an unbounded dimension.
    pub fn allocated_elements(&self) -> Option<i64> {
        AddressMap::new(self)
            .ok()
            .map(|map| map.allocated_elements())
    }

    /// Bits of an element in memory: the layout's `E(bits)`, else the type's width in whole
    /// bytes.
    #[doc(alias = "ElementSizeInBits")]
    #[inline]
    pub fn element_bits(&self) -> i64 {
        match &self.layout {
            Some(layout) => self.bits_in(layout),
            None => 8 * i64::from(self.element_type.byte_width()),
        }
    }

    pub(super) fn bits_in(&self, layout: &Layout) -> i64 {
        match layout.element_size_in_bits() {
            0 => 8 * i64::from(self.element_type.byte_width()),
            bits => bits,
        }
    }

    /// The bytes that the elements alone need: each at the type's own width (a byte for
    /// narrower types), or at the layout's `E(bits)` where that is less. `None` with an
    /// unbounded dimension.
    pub fn dense_bytes(&self) -> Option<i64> {
        let own = 8 * i64::from(self.element_type.byte_width());
        Some(bytes(self.elements()?, self.element_bits().min(own)))
    }

    /// The bytes of the elements without any padding, at `E(bits)` each where the layout says so.
    /// `None` with an unbounded dimension.
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let wide: Shape = "s16[6,16]{1,0:E(32)}".parse()?;
    /// let wide = wide.as_array()?;
    /// assert_eq!((wide.element_bytes(), wide.dense_bytes()), (Some(384), Some(192)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ByteSizeOfElements")]
    pub fn element_bytes(&self) -> Option<i64> {
        Some(bytes(self.elements()?, self.element_bits()))
    }

    /// The bytes that the array takes in memory. `None` without a layout or with an unbounded
    /// dimension.
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let shape: Shape = "f32[5,7]{1,0:T(2,4)(3,3)}".parse()?;
    /// assert_eq!(shape.as_array()?.allocated_bytes(), Some(432)); // XLA says 192
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ArraySize")]
    pub fn allocated_bytes(&self) -> Option<i64> {
        Some(bytes(self.allocated_elements()?, self.element_bits()))
    }

    /// Bytes of a buffer with room for so many elements, no more than are allocated.
    #[inline]
    pub(crate) fn bytes_of(&self, elements: i64) -> i64 {
        bytes(elements, self.element_bits())
    }

    /// The stride of each dimension in bytes, in dimension order: the product of the padded
    /// sizes of the more-minor dimensions, times the element's bytes. `None` where strides do
    /// not describe the layout: tiles, fractional bytes, no layout, an unbounded dimension.
    pub fn byte_strides(&self) -> Option<Vec<i64>> {
        let layout = self.layout.as_ref()?;
        let bits = self.bits_in(layout);
        if !layout.tiles().is_empty() || bits % 8 != 0 || self.first_unbounded().is_some() {
            return None;
        }
        let padded = self.padded_sizes(layout);
        let mut strides = vec![0; self.rank()];
        let mut stride = Some(bits / 8);
        for &dimension in layout.minor_to_major() {
            strides[dimension] = stride?;
            // Beyond an i64 only beside a size of 0; such an array may have no strides.
            stride = stride?.checked_mul(padded(dimension)?);
        }
        Some(strides)
    }

    /// The strides of the array that a host would hold: whole bytes an element, no tiles, no
    /// padding, in this layout's order. For an array without any of these they are its
    /// [`byte_strides`](Self::byte_strides).
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoLayout`] or [`ShapeError::Unbounded`] where the shape does not say
    /// enough, [`ShapeError::Overflow`] for a stride beyond 63 bits (beside a size of 0).
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "s4[3,5]{0,1:T(2,2)E(4)}".parse()?;
    /// let array = shape.as_array()?;
    /// assert_eq!((array.byte_strides(), array.unpacked_byte_strides()?), (None, vec![1, 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unpacked_byte_strides(&self) -> Result<Vec<i64>, ShapeError> {
        let layout = self.require_layout()?;
        let sizes = self.sizes()?;
        let mut strides = vec![0; self.rank()];
        let mut stride = Some(i64::from(self.element_type.byte_width()));
        for &dimension in layout.minor_to_major() {
            strides[dimension] = stride.ok_or(ShapeError::Overflow {
                dimension,
                what: "stride",
            })?;
            stride = stride.and_then(|stride| stride.checked_mul(sizes[dimension]));
        }
        Ok(strides)
    }

    /// Whether these are the byte strides of this array stored major to minor without gaps: the
    /// last dimension's elements adjacent, and so on. The layout has no part in it, and neither
    /// has the stride of a dimension of size 1, or any stride of an array without elements:
    /// they move nothing. (XLA compares those too.)
    ///
    /// ```
    /// use minormajor_core::{ArrayShape, ElementType};
    ///
    /// let array = ArrayShape::new(ElementType::F32, [2, 1, 3])?;
    /// assert!(array.byte_strides_are_major_to_minor(&[12, 99, 4])); // XLA says no
    /// assert!(!array.byte_strides_are_major_to_minor(&[16, 12, 4]));
    /// # Ok::<(), minormajor_core::ShapeError>(())
    /// ```
    #[doc(alias = "ByteStridesIsMajorToMinor")]
    pub fn byte_strides_are_major_to_minor(&self, byte_strides: &[i64]) -> bool {
        let Some(elements) = self.elements() else {
            return false;
        };
        let mut expected = i64::from(self.element_type.byte_width());
        byte_strides.len() == self.rank()
            && (elements == 0
                || self
                    .dimensions
                    .iter()
                    .zip(byte_strides)
                    .rev()
                    .all(|(size, &stride)| {
                        let size = size.bound().unwrap_or(1);
                        let right = size == 1 || stride == expected;
                        // At most the array's bytes, since no size is 0.
                        expected *= size;
                        right
                    }))
    }

    /// The product of the sizes, without the unbounded dimensions; a bounded one counts its
    /// bound.
    #[doc(alias = "StaticExtentProduct")]
    #[doc(alias = "ExtentProduct")]
    pub fn static_extent_product(&self) -> i64 {
        let sizes = || self.dimensions.iter().filter_map(|size| size.bound());
        match sizes().any(|size| size == 0) {
            true => 0,
            // Fits: the constructor checked.
            false => sizes().product(),
        }
    }

    /// The bytes from the array's start to behind the element of the greatest index, at the
    /// element's size in memory; 0 without elements. `None` without a layout or with an
    /// unbounded dimension.
    ///
    /// Every tile level counts. With several levels another element may lie behind that one;
    /// [`allocated_bytes`](Self::allocated_bytes) covers them all.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "f32[3,5]{1,0:T(2,2)}".parse()?;
    /// let array = shape.as_array()?;
    /// assert_eq!((array.array_data_bytes(), array.allocated_bytes()), (Some(84), Some(96)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ArrayDataSize")]
    pub fn array_data_bytes(&self) -> Option<i64> {
        let map = AddressMap::new(self).ok()?;
        if map.elements() == 0 {
            return Some(0);
        }
        let last: SmallVec<[i64; 6]> = map.sizes().iter().map(|size| size - 1).collect();
        Some(bytes(map.position_of(&last) + 1, self.element_bits()))
    }
}

impl Layout {
    /// Rounds a number of elements up to the tail alignment; `None` on overflow.
    pub(crate) fn align_tail(&self, elements: i64) -> Option<i64> {
        if self.tail_padding_alignment() == 1 {
            return Some(elements);
        }
        let aligned = i128::from(elements)
            .div_ceil_positive(i128::from(self.tail_padding_alignment()))
            * i128::from(self.tail_padding_alignment());
        i64::try_from(aligned).ok()
    }
}

/// Whole bytes of `elements` elements of `bits` bits: fits, since the constructor checked that
/// the allocated bits do, and dense bits are no more than those... or no more than the bytes of
/// the elements at the type's width, which it checked too.
fn bytes(elements: i64, bits: i64) -> i64 {
    if let Some(bits) = elements.checked_mul(bits) {
        return bits / 8 + i64::from(bits % 8 != 0);
    }
    let bytes = (i128::from(elements) * i128::from(bits)).div_ceil_positive(8);
    i64::try_from(bytes).expect("the constructor checked that sizes fit 63 bits")
}

trait DivCeil {
    fn div_ceil_positive(self, divisor: Self) -> Self;
}

impl DivCeil for i128 {
    /// Division rounded up, of a number that is not negative by one that is positive.
    fn div_ceil_positive(self, divisor: i128) -> i128 {
        (self + divisor - 1) / divisor
    }
}
