//! Strided views: arrays that lie in a buffer with gaps, reversed, or repeated.

mod reshape;

use smallvec::SmallVec;

use crate::ElementType;
use crate::array::ArrayShape;
use crate::error::ShapeError;

/// An array in a buffer, each dimension with a stride in bytes of any sign: a slice of a larger
/// array, a picture with a row pitch, a reversed or (with stride 0) repeated dimension.
///
/// As the source of a [`Plan`](crate::Plan) elements may repeat; as its destination they must
/// not, and what lies between them is left alone.
///
/// ```
/// use minormajor_core::{ElementType, Plan, Shape, StridedView};
///
/// // The rows of a 2 x 3 array of u16 in reverse order, in rows of 8 bytes.
/// let view = StridedView::new(ElementType::U16, &[2, 3], &[-8, 2], 8)?;
/// assert_eq!(view.buffer_bytes(), 14);
/// let rows: Shape = "u16[2,3]".parse()?;
/// let plan = Plan::new(&view, rows.as_array()?)?;
/// assert_eq!(plan.boxes()[0].to_string(), "from 4 to 0: (2, -4, 3) (3, 1, 1)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StridedView {
    element_type: ElementType,
    sizes: SmallVec<[i64; 6]>,
    /// In bytes, or in elements where they are packed.
    strides: SmallVec<[i64; 6]>,
    offset: i64,
    /// Bits of a packed element: 1, 2 or 4, and at least the type's.
    packed_bits: Option<u32>,
    /// Elements; with a size of 0, 0.
    elements: i64,
    /// Bytes from the buffer's start to behind the last element; its bits fit 63 bits too, and
    /// no element begins before the buffer: the constructor checked both.
    buffer_bytes: i64,
}

/// Why a strided view can't be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// Sizes and strides are of different numbers of dimensions.
    #[error("{sizes} sizes and {strides} strides; expected as many")]
    #[allow(missing_docs)]
    Rank { sizes: usize, strides: usize },
    /// A negative size.
    #[error("dimension {dimension} has size {size}; expected 0 or more")]
    #[allow(missing_docs)]
    NegativeSize { dimension: usize, size: i64 },
    /// More elements, or positions further apart, than 63 bits can count.
    #[error("the view's elements or bits are beyond 2^63 - 1")]
    Overflow,
    /// Some element would lie before the buffer.
    #[error(
        "the lowest element would lie {steps} {} before the buffer's start; expected a greater offset",
        if *.packed { "elements" } else { "bytes" }
    )]
    #[allow(missing_docs)]
    BeforeBuffer { steps: i128, packed: bool },
    /// Elements can't be packed so.
    #[error("{element_type} elements can't be packed in {bits} bits; expected {}", packed_widths(*.element_type))]
    #[allow(missing_docs)]
    Packed {
        element_type: ElementType,
        bits: u32,
    },
    /// New sizes of another number of elements.
    #[error("the view has {elements} elements, which the sizes {sizes:?} don't make")]
    #[allow(missing_docs)]
    Elements { elements: i64, sizes: Vec<i64> },
    /// A reshape that no strides can express.
    #[error(
        "dimensions {dimension} and {next} can't become one: a step of dimension {dimension} is \
         {stride} {}, the {size} steps of dimension {next} are {reach}",
        if *.packed { "elements" } else { "bytes" }
    )]
    NotAView {
        /// The dimension whose stride does not fit.
        dimension: usize,
        /// The next one, dimensions of size 1 aside.
        next: usize,
        /// The stride of `dimension`.
        stride: i64,
        /// The size of `next`.
        size: i64,
        /// What the stride would have to be: all the way along `next`.
        reach: i128,
        /// Whether strides count elements, not bytes.
        packed: bool,
    },
    /// A size is missing.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

/// The widths of a packed element, for messages.
fn packed_widths(element_type: ElementType) -> &'static str {
    match element_type.bit_width() {
        1 => "1, 2 or 4",
        2 => "2 or 4",
        3..=4 => "4",
        _ => "a type of at most 4 bits",
    }
}

impl StridedView {
    /// A view of an array of these sizes: element `i` begins at byte `byte_offset` plus the sum
    /// of `i[d] * byte_strides[d]`.
    ///
    /// # Errors
    ///
    /// [`ViewError`] where sizes and strides do not match, or some element is out of reach.
    pub fn new(
        element_type: ElementType,
        sizes: &[i64],
        byte_strides: &[i64],
        byte_offset: i64,
    ) -> Result<StridedView, ViewError> {
        StridedView::checked(element_type, None, sizes, byte_strides, byte_offset)
    }

    /// A view of packed elements, `bits` each: 1, 2 or 4, and at least the type's own. Strides
    /// and the offset count elements. Element 0 of a byte is in its lowest bits.
    ///
    /// # Errors
    ///
    /// As [`new`](StridedView::new); [`ViewError::Packed`] where the type has no such width.
    ///
    /// ```
    /// use minormajor_core::{ElementType, Plan, Shape, StridedView};
    ///
    /// // Every second nibble of a buffer, from the second one on.
    /// let view = StridedView::packed(ElementType::U4, 4, &[3], &[2], 1)?;
    /// assert_eq!(view.buffer_bytes(), 3);
    /// let bytes: Shape = "u4[3]".parse()?;
    /// let plan = Plan::new(&view, bytes.as_array()?)?;
    /// assert_eq!(plan.boxes()[0].to_string(), "from 1 to 0: (3, 2, 1)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn packed(
        element_type: ElementType,
        bits: u32,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<StridedView, ViewError> {
        if !element_type.packs_in(i64::from(bits)) {
            return Err(ViewError::Packed { element_type, bits });
        }
        StridedView::checked(element_type, Some(bits), sizes, strides, offset)
    }

    /// A view of an array of this shape's type and sizes; [`packed`](StridedView::packed) where
    /// its layout packs elements. Nothing else of the layout counts.
    ///
    /// # Errors
    ///
    /// As [`new`](StridedView::new); [`ViewError::Shape`] where a size is missing.
    ///
    /// ```
    /// use minormajor_core::{Shape, StridedView};
    ///
    /// let nibbles: Shape = "u4[2,3]{1,0:E(4)}".parse()?;
    /// // Rows every five elements.
    /// let view = StridedView::of_array(nibbles.as_array()?, &[5, 1], 0)?;
    /// assert_eq!((view.packed_bits(), view.buffer_bytes()), (Some(4), 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_array(
        shape: &ArrayShape,
        strides: &[i64],
        offset: i64,
    ) -> Result<StridedView, ViewError> {
        let element_type = shape.element_type();
        let bits = shape.element_bits();
        let packed_bits = element_type.packs_in(bits).then_some(bits as u32);
        StridedView::checked(element_type, packed_bits, &shape.sizes()?, strides, offset)
    }

    fn checked(
        element_type: ElementType,
        packed_bits: Option<u32>,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<StridedView, ViewError> {
        if sizes.len() != strides.len() {
            return Err(ViewError::Rank {
                sizes: sizes.len(),
                strides: strides.len(),
            });
        }
        for (dimension, &size) in sizes.iter().enumerate() {
            if size < 0 {
                return Err(ViewError::NegativeSize { dimension, size });
            }
        }
        let mut elements: i64 = 1;
        let (mut lowest, mut highest) = (i128::from(offset), i128::from(offset));
        if sizes.contains(&0) {
            elements = 0;
        } else {
            for (&size, &stride) in sizes.iter().zip(strides) {
                elements = elements.checked_mul(size).ok_or(ViewError::Overflow)?;
                // A sum of products of 64-bit numbers: far from the ends of 128 bits for any
                // rank, unless checked as it grows.
                let reach = i128::from(size - 1) * i128::from(stride);
                let end = if reach < 0 { &mut lowest } else { &mut highest };
                *end = end.checked_add(reach).ok_or(ViewError::Overflow)?;
            }
            highest += match packed_bits {
                Some(_) => 1,
                None => i128::from(element_type.byte_width()),
            };
        }
        if lowest < 0 {
            return Err(ViewError::BeforeBuffer {
                steps: -lowest,
                packed: packed_bits.is_some(),
            });
        }
        let bits = highest
            .checked_mul(i128::from(packed_bits.unwrap_or(8)))
            .filter(|&bits| i64::try_from(bits).is_ok())
            .ok_or(ViewError::Overflow)?;
        Ok(StridedView {
            element_type,
            sizes: sizes.into(),
            strides: strides.into(),
            offset,
            packed_bits,
            elements,
            buffer_bytes: if elements == 0 {
                0
            } else {
                // At most the bits, which fit.
                bits.div_euclid(8) as i64 + i64::from(bits % 8 != 0)
            },
        })
    }

    /// The type of every element.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The sizes, in increasing order of dimension number.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// From an element to the next one of each dimension: in bytes, or in elements where they
    /// are [packed](StridedView::packed_bits).
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Where in the buffer the element of index 0, 0, .. begins, counted as strides are.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Bits of an element where elements are packed; `None` where each has bytes of its own.
    pub fn packed_bits(&self) -> Option<u32> {
        self.packed_bits
    }

    /// The number of elements.
    pub fn elements(&self) -> i64 {
        self.elements
    }

    /// Bytes that the buffer has at least.
    pub fn buffer_bytes(&self) -> i64 {
        self.buffer_bytes
    }

    /// Whether no two elements share a byte, or a packed one's bits, as far as strides can show it: ordered by their
    /// strides, each dimension steps over all that the smaller ones reach.
    pub(crate) fn elements_are_apart(&self) -> bool {
        let mut dimensions: SmallVec<[(i128, i128); 6]> = self
            .strides
            .iter()
            .zip(&self.sizes)
            .filter(|&(_, &size)| size > 1)
            .map(|(&stride, &size)| (i128::from(stride).abs(), i128::from(size)))
            .collect();
        dimensions.sort_unstable();
        let mut reach = match self.packed_bits {
            Some(_) => 1,
            None => i128::from(self.element_type.byte_width()),
        };
        self.elements == 0
            || dimensions.iter().all(|&(stride, size)| {
                let apart = stride >= reach;
                // At most the buffer's bytes, as long as all smaller dimensions are apart.
                reach = reach.saturating_add(stride.saturating_mul(size - 1));
                apart
            })
    }
}

/// An array somewhere in memory: what a [`Plan`](crate::Plan) reads from and writes to.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// A whole buffer in a layout.
    Array(&'a ArrayShape),
    /// A strided part of a buffer.
    Strided(&'a StridedView),
}

impl<'a> From<&'a ArrayShape> for Place<'a> {
    fn from(shape: &'a ArrayShape) -> Self {
        Place::Array(shape)
    }
}

impl<'a> From<&'a StridedView> for Place<'a> {
    fn from(view: &'a StridedView) -> Self {
        Place::Strided(view)
    }
}

impl Place<'_> {
    /// The type of every element.
    pub fn element_type(&self) -> ElementType {
        match self {
            Place::Array(shape) => shape.element_type(),
            Place::Strided(view) => view.element_type,
        }
    }
}
