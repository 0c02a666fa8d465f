//! Array shapes: an element type, dimensions and a layout, and the sizes that follow.

mod dynamic;
mod edit;
mod kind;
mod sizes;
mod splits;

use std::fmt;

use smallvec::SmallVec;

use crate::address::Expansion;
use crate::dimension::{dimension_names, resolve_dimension};
use crate::error::ShapeError;
use crate::layout::{Layout, PaddingValue};
use crate::proto::UnknownFields;
use crate::{Dimension, ElementType, NativeElement};

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
    #[doc(alias = "MakeShape")]
    #[doc(alias = "MakeShapeWithDescendingLayout")]
    pub fn new<D: Into<Dimension>>(
        element_type: ElementType,
        dimensions: impl IntoIterator<Item = D>,
    ) -> Result<ArrayShape, ShapeError> {
        let dimensions: SmallVec<[Dimension; 6]> = dimensions.into_iter().map(Into::into).collect();
        let layout = Layout::descending(dimensions.len());
        ArrayShape::checked(element_type, dimensions, Some(layout))
    }

    /// An array of one element and no dimensions.
    #[doc(alias = "MakeScalarShape")]
    pub fn scalar(element_type: ElementType) -> ArrayShape {
        ArrayShape {
            element_type,
            dimensions: SmallVec::new(),
            layout: Some(Layout::descending(0)),
            unknown: UnknownFields::default(),
        }
    }

    /// An array of elements of the Rust type `T`, in the default layout.
    ///
    /// # Errors
    ///
    /// As [`ArrayShape::new`].
    ///
    /// ```
    /// use minormajor_core::ArrayShape;
    ///
    /// assert_eq!(ArrayShape::of::<u16, _>([2, 3])?.to_string(), "u16[2,3]{1,0}");
    /// # Ok::<(), minormajor_core::ShapeError>(())
    /// ```
    #[doc(alias = "MakeShapeWithType")]
    pub fn of<T: NativeElement, D: Into<Dimension>>(
        dimensions: impl IntoIterator<Item = D>,
    ) -> Result<ArrayShape, ShapeError> {
        ArrayShape::new(T::ELEMENT_TYPE, dimensions)
    }

    /// The same array in another layout.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] where the layout does not fit: another rank, a padded width below the
    /// size, a padding value that the type lacks, a split beyond the size, or sizes beyond 63
    /// bits.
    #[doc(alias = "MakeShapeWithDenseLayout")]
    #[doc(alias = "ValidateLayoutForShape")]
    pub fn with_layout(&self, layout: Layout) -> Result<ArrayShape, ShapeError> {
        self.rebuilt(self.element_type, self.dimensions.clone(), Some(layout))
    }

    /// The same array without a layout.
    #[doc(alias = "ClearLayout")]
    pub fn without_layout(&self) -> ArrayShape {
        ArrayShape {
            layout: None,
            ..self.clone()
        }
    }

    /// An array made of this one: what the proto had beyond our fields stays.
    fn rebuilt(
        &self,
        element_type: ElementType,
        dimensions: SmallVec<[Dimension; 6]>,
        layout: Option<Layout>,
    ) -> Result<ArrayShape, ShapeError> {
        let mut shape = ArrayShape::checked(element_type, dimensions, layout)?;
        shape.unknown = self.unknown.clone();
        Ok(shape)
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
    #[doc(alias = "GetDimension")]
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
    #[doc(alias = "TrueNumDimensions")]
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
    #[doc(alias = "CreateDimensionVectorFromShape")]
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
}

impl fmt::Debug for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayShape({self})")
    }
}
