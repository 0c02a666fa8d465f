//! Array shapes: an element type, dimensions and a layout, and the sizes that follow.

use std::fmt;

use smallvec::SmallVec;

use crate::address::Expansion;
use crate::dimension::{dimension_names, resolve_dimension};
use crate::error::ShapeError;
use crate::layout::{Layout, PaddingValue};
use crate::proto::UnknownFields;
use crate::{AddressMap, Dimension, ElementType};

/// An array's element type, dimensions and layout.
///
/// Always consistent: the layout has the array's rank, padded widths reach the sizes, the
/// padding value exists in the type, and elements, allocated elements, bits and bytes fit an
/// `i64`. The layout may be absent; positions and sizes in memory need one.
///
/// An array with a dimension of size 0 is valid whatever the other sizes are. (XLA rejects some,
/// depending on the order of the dimensions.)
///
/// ```
/// use minormajor_core::{ArrayShape, ElementType, Layout, PaddingValue};
///
/// let layout = Layout::ascending(2).with_padding([3, 5], PaddingValue::Zero)?;
/// let shape = ArrayShape::new(ElementType::F32, [2, 3])?.with_layout(layout)?;
/// assert_eq!(shape.to_string(), "f32[2,3]{0,1:PAD(3,5)}");
/// assert_eq!((shape.dense_bytes(), shape.allocated_bytes()), (Some(24), Some(60)));
/// # Ok::<(), minormajor_core::ShapeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    element_type: ElementType,
    dimensions: SmallVec<[Dimension; 6]>,
    layout: Option<Layout>,
    pub(crate) unknown: UnknownFields,
}

impl ArrayShape {
    /// An array of these sizes in the default layout, major to minor.
    ///
    /// Sizes are `i64`s or [`Dimension`]s, in increasing order of dimension number.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NegativeSize`] or [`ShapeError::Overflow`].
    ///
    /// ```
    /// use minormajor_core::{ArrayShape, Dimension, ElementType};
    ///
    /// let shape = ArrayShape::new(ElementType::F32, [Dimension::Static(2), Dimension::Bounded(3)])?;
    /// assert_eq!(shape.to_string(), "f32[2,<=3]{1,0}");
    /// assert!(ArrayShape::new(ElementType::F32, [1 << 62, 2]).is_err());
    /// # Ok::<(), minormajor_core::ShapeError>(())
    /// ```
    pub fn new<D: Into<Dimension>>(
        element_type: ElementType,
        dimensions: impl IntoIterator<Item = D>,
    ) -> Result<ArrayShape, ShapeError> {
        let dimensions: SmallVec<[Dimension; 6]> = dimensions.into_iter().map(Into::into).collect();
        let layout = Layout::descending(dimensions.len());
        ArrayShape::checked(element_type, dimensions, Some(layout))
    }

    /// The same array in another layout.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] where the layout does not fit: another rank, a padded width below the
    /// size, a padding value that the type lacks, a split beyond the size, or sizes beyond 63
    /// bits.
    pub fn with_layout(&self, layout: Layout) -> Result<ArrayShape, ShapeError> {
        ArrayShape::checked(self.element_type, self.dimensions.clone(), Some(layout))
    }

    /// The same array without a layout.
    pub fn without_layout(&self) -> ArrayShape {
        ArrayShape {
            layout: None,
            ..self.clone()
        }
    }

    /// The one door: every array shape passes these checks.
    pub(crate) fn checked(
        element_type: ElementType,
        dimensions: SmallVec<[Dimension; 6]>,
        layout: Option<Layout>,
    ) -> Result<ArrayShape, ShapeError> {
        let shape = ArrayShape {
            element_type,
            dimensions,
            layout,
            unknown: UnknownFields::default(),
        };
        shape.check_dimensions()?;
        if let Some(layout) = &shape.layout {
            shape.check_layout(layout)?;
        }
        Ok(shape)
    }

    fn check_dimensions(&self) -> Result<(), ShapeError> {
        for (dimension, size) in self.dimensions.iter().enumerate() {
            if let Some(size @ ..=-1) = size.bound() {
                return Err(ShapeError::NegativeSize { dimension, size });
            }
        }
        let sizes = || self.dimensions.iter().map(|size| size.bound().unwrap_or(1));
        if sizes().any(|size| size == 0) {
            return Ok(());
        }
        let mut bytes = i64::from(self.element_type.byte_width());
        for (dimension, size) in sizes().enumerate() {
            bytes = bytes.checked_mul(size).ok_or(ShapeError::Overflow {
                dimension,
                what: "array's bytes",
            })?;
        }
        Ok(())
    }

    fn check_layout(&self, layout: &Layout) -> Result<(), ShapeError> {
        if layout.rank() != self.rank() {
            return Err(ShapeError::LayoutRank {
                found: layout.rank(),
                rank: self.rank(),
            });
        }
        for (dimension, &padded) in layout.padded_dimensions().iter().enumerate() {
            match self.dimensions[dimension].bound() {
                None => return Err(ShapeError::PaddedUnbounded { dimension }),
                Some(size) if padded < size => {
                    return Err(ShapeError::PaddedBelowSize {
                        dimension,
                        padded,
                        size,
                    });
                }
                Some(_) => {}
            }
        }
        if let (Some(value), false) = (
            layout.padding_value(),
            layout.padded_dimensions().is_empty(),
        ) && value != PaddingValue::Unknown
            && self.element_type.padding_bytes(value).is_none()
        {
            return Err(ShapeError::NoSuchPaddingValue {
                element_type: self.element_type,
                value,
            });
        }
        for (config, split) in layout.split_configs().iter().enumerate() {
            // Physical dimension 0 is the most major one.
            let physical = split.dimension() as usize;
            let logical = layout.minor_to_major()[self.rank() - 1 - physical];
            let size = self.dimensions[logical].bound();
            if let Some(place) = split
                .split_indices()
                .iter()
                .position(|&index| size.is_some_and(|size| index >= size))
            {
                return Err(ShapeError::SplitIndex {
                    config,
                    place,
                    index: split.split_indices()[place],
                    size,
                });
            }
        }
        if self.first_unbounded().is_none() {
            self.check_allocation(layout)?;
        }
        Ok(())
    }

    /// Allocated elements, bits and bytes fit an `i64`.
    fn check_allocation(&self, layout: &Layout) -> Result<(), ShapeError> {
        let major = layout.minor_to_major().last().copied().unwrap_or(0);
        let overflow = |what| ShapeError::Overflow {
            dimension: major,
            what,
        };
        let plain = layout.padded_dimensions().is_empty() && layout.tiles().is_empty();
        let allocated = if plain {
            let elements = self.elements().unwrap_or(0);
            layout.align_tail(elements)
        } else {
            Expansion::new(self, layout).and_then(|expansion| expansion.allocated)
        };
        let allocated = allocated.ok_or_else(|| overflow("allocated elements"))?;
        i64::try_from(i128::from(allocated) * i128::from(self.bits_in(layout)))
            .map_err(|_| overflow("allocated bits"))?;
        Ok(())
    }

    /// The type of every element.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The dimensions, in increasing order of dimension number.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// One dimension; its number may count from the end, -1 being the last.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range.
    pub fn dimension(&self, dimension: i64) -> Result<Dimension, ShapeError> {
        Ok(self.dimensions[resolve_dimension(dimension, self.rank())?])
    }

    /// The names that the dimensions have by convention; empty outside ranks 2 to 4.
    pub fn dimension_names(&self) -> &'static [&'static str] {
        dimension_names(self.rank())
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// The number of dimensions of another size than 1, as XLA's `TrueNumDimensions` counts. (The
    /// page on shapes says greater than 1; the two differ only at 0.)
    pub fn true_rank(&self) -> usize {
        let trivial = Dimension::Static(1);
        let is_true = |&&d: &&Dimension| d != trivial && d != Dimension::Bounded(1);
        self.dimensions.iter().filter(is_true).count()
    }

    /// The layout, where there is one.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// The layout.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoLayout`] where there is none.
    pub fn require_layout(&self) -> Result<&Layout, ShapeError> {
        self.layout.as_ref().ok_or_else(|| ShapeError::NoLayout {
            shape: self.to_string(),
        })
    }

    /// The sizes, a bounded dimension counting its bound.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Unbounded`] where a dimension has no bound.
    pub fn sizes(&self) -> Result<Vec<i64>, ShapeError> {
        match self.first_unbounded() {
            Some(dimension) => Err(ShapeError::Unbounded { dimension }),
            None => Ok(self.dimensions.iter().filter_map(|d| d.bound()).collect()),
        }
    }

    /// The padded width of every dimension: the size where the layout pads nothing.
    pub(crate) fn padded_sizes<'a>(
        &'a self,
        layout: &'a Layout,
    ) -> impl Fn(usize) -> Option<i64> + 'a {
        move |dimension| match layout.padded_dimensions().get(dimension) {
            Some(&padded) => Some(padded),
            None => self.dimensions[dimension].bound(),
        }
    }

    pub(crate) fn first_unbounded(&self) -> Option<usize> {
        self.dimensions.iter().position(|d| d.bound().is_none())
    }

    /// The number of elements, 1 for a scalar; `None` with an unbounded dimension.
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
    pub fn element_bits(&self) -> i64 {
        match &self.layout {
            Some(layout) => self.bits_in(layout),
            None => 8 * i64::from(self.element_type.byte_width()),
        }
    }

    fn bits_in(&self, layout: &Layout) -> i64 {
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
    pub fn allocated_bytes(&self) -> Option<i64> {
        Some(bytes(self.allocated_elements()?, self.element_bits()))
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
}

impl Layout {
    /// Rounds a number of elements up to the tail alignment; `None` on overflow.
    pub(crate) fn align_tail(&self, elements: i64) -> Option<i64> {
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

impl fmt::Debug for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayShape({self})")
    }
}
