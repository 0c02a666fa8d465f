//! The compact shape: up to four dimensions in 24 bytes.

use std::fmt;

use crate::broadcast::write_sizes;
use crate::dimension::resolve_dimension;
use crate::{ArrayShape, ElementType, Shape, ShapeError};

/// The sizes of up to four dimensions in 24 bytes: immutable, `Copy`, without a heap.
///
/// Sizes are stored at the right, as frameworks of neural networks align them, and an absent
/// dimension is 0: `(50,100)` is stored as `0, 0, 50, 100`, a scalar as four zeros. A size is from 1
/// to 2^31 - 1, and the number of elements fits 63 bits. A [`Shape`] has any rank and any sizes; this
/// is for what is asked very often.
///
/// ```
/// use minormajor_core::CompactShape;
///
/// let scalar = CompactShape::scalar();
/// let vector = CompactShape::vector(100)?;
/// let matrix = CompactShape::matrix(50, 100)?;
/// let volume = CompactShape::volume(10, 3, 32)?;
/// let image = CompactShape::nchw(1, 3, 224, 224)?;
/// let flexible = CompactShape::new(&[2, 3, 4, 5])?;
/// assert_eq!(scalar.to_string(), "()");
/// assert_eq!(vector.to_string(), "(100)");
/// assert_eq!(matrix.to_string(), "(50,100)");
/// assert_eq!(volume.to_string(), "(10,3,32)");
/// assert_eq!(image.to_string(), "(1,3,224,224)");
/// assert_eq!(flexible.numel(), 120);
///
/// // Matrices, by the names of their sides.
/// let weights = CompactShape::matrix(256, 128)?;
/// let input = CompactShape::matrix(128, 64)?;
/// assert_eq!((weights.height(), weights.width()), (256, 128));
/// assert_eq!((input.height(), input.width()), (128, 64));
/// assert!(weights.is_matmul_compatible(input));
/// # Ok::<(), minormajor_core::CompactShapeError>(())
/// ```
///
/// In constants too:
///
/// ```
/// use minormajor_core::CompactShape;
///
/// const IMAGE: CompactShape = match CompactShape::nchw(1, 3, 224, 224) {
///     Ok(shape) => shape,
///     Err(_) => panic!("no shape"),
/// };
/// assert_eq!(IMAGE.channel(), 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CompactShape {
    /// At the right; 0 is an absent dimension, and nothing is absent behind one that is there.
    sizes: [i32; 4],
    /// The product of the sizes that are there; of a scalar 1.
    elements: i64,
}

const _: () = assert!(size_of::<CompactShape>() == 24);

/// Why sizes make no compact shape.
// Without anything to drop, so that constants can be made and their errors let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactShapeError {
    /// A size below 1.
    #[error("dimension {dimension} has size {size}; expected 1 or more")]
    #[allow(missing_docs)]
    Size { dimension: usize, size: i64 },
    /// A size above 2^31 - 1.
    #[error("dimension {dimension} has size {size}; a compact shape takes at most 2147483647")]
    #[allow(missing_docs)]
    TooLarge { dimension: usize, size: i64 },
    /// More than four dimensions.
    #[error("there are {found} dimensions; a compact shape takes at most 4")]
    #[allow(missing_docs)]
    Rank { found: usize },
    /// More elements than 63 bits count.
    #[error("dimension {dimension} takes the number of elements beyond 2^63 - 1")]
    #[allow(missing_docs)]
    Overflow { dimension: usize },
    /// A dimension of the general shape that has no bound.
    #[error("dimension {dimension} is unbounded (`?`); a compact shape needs its size")]
    #[allow(missing_docs)]
    Unbounded { dimension: usize },
    /// The general shape is no array.
    #[error("expected an array, found a {found}")]
    #[allow(missing_docs)]
    NotAnArray { found: &'static str },
}

impl CompactShape {
    /// No dimensions: one element.
    pub const fn scalar() -> CompactShape {
        CompactShape {
            sizes: [0; 4],
            elements: 1,
        }
    }

    /// One dimension.
    ///
    /// # Errors
    ///
    /// As [`new`](CompactShape::new).
    pub const fn vector(size: i32) -> Result<CompactShape, CompactShapeError> {
        CompactShape::new(&[size])
    }

    /// Two dimensions: rows and columns.
    ///
    /// # Errors
    ///
    /// As [`new`](CompactShape::new).
    pub const fn matrix(height: i32, width: i32) -> Result<CompactShape, CompactShapeError> {
        CompactShape::new(&[height, width])
    }

    /// Three dimensions.
    ///
    /// # Errors
    ///
    /// As [`new`](CompactShape::new).
    pub const fn volume(
        channel: i32,
        height: i32,
        width: i32,
    ) -> Result<CompactShape, CompactShapeError> {
        CompactShape::new(&[channel, height, width])
    }

    /// Four dimensions: batch, channel, height and width.
    ///
    /// # Errors
    ///
    /// As [`new`](CompactShape::new).
    pub const fn nchw(
        number: i32,
        channel: i32,
        height: i32,
        width: i32,
    ) -> Result<CompactShape, CompactShapeError> {
        CompactShape::new(&[number, channel, height, width])
    }

    /// Up to four dimensions.
    ///
    /// # Errors
    ///
    /// [`CompactShapeError`] for a size of 0 or below, more than four dimensions, or more elements
    /// than 63 bits count; it names the dimension, from 0.
    ///
    /// ```
    /// use minormajor_core::CompactShape;
    ///
    /// let error = CompactShape::new(&[2, 0]).unwrap_err();
    /// assert_eq!(error.to_string(), "dimension 1 has size 0; expected 1 or more");
    /// ```
    pub const fn new(sizes: &[i32]) -> Result<CompactShape, CompactShapeError> {
        if sizes.len() > 4 {
            return Err(CompactShapeError::Rank { found: sizes.len() });
        }
        let mut made = CompactShape::scalar();
        let mut dimension = 0;
        while dimension < sizes.len() {
            let size = sizes[dimension];
            if size < 1 {
                return Err(CompactShapeError::Size {
                    dimension,
                    size: size as i64,
                });
            }
            made.elements = match made.elements.checked_mul(size as i64) {
                Some(elements) => elements,
                None => return Err(CompactShapeError::Overflow { dimension }),
            };
            made.sizes[4 - sizes.len() + dimension] = size;
            dimension += 1;
        }
        Ok(made)
    }

    /// The number of dimensions, 0 to 4.
    #[doc(alias = "rank")]
    #[inline]
    pub const fn ndim(&self) -> usize {
        let [n, c, h, w] = self.sizes;
        (n != 0) as usize + (c != 0) as usize + (h != 0) as usize + (w != 0) as usize
    }

    /// The number of elements: of a scalar 1.
    #[inline]
    pub const fn numel(&self) -> i64 {
        self.elements
    }

    /// The size of a dimension, 0 being the first that is there and -1 the last.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range.
    ///
    /// ```
    /// use minormajor_core::CompactShape;
    ///
    /// let shape = CompactShape::volume(10, 3, 32)?;
    /// assert_eq!((shape.dim(0)?, shape.dim(-1)?), (10, 32));
    /// assert!(shape.dim(3).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn dim(&self, dimension: i64) -> Result<i32, ShapeError> {
        Ok(self.dims()[resolve_dimension(dimension, self.ndim())?])
    }

    /// The sizes of the dimensions that are there.
    #[inline]
    pub fn dims(&self) -> &[i32] {
        &self.sizes[4 - self.ndim()..]
    }

    /// The size of the batch dimension, the fourth from the end; 0 where it is absent.
    #[inline]
    pub const fn n(&self) -> i32 {
        self.sizes[0]
    }

    /// The size of the channel dimension, the third from the end; 0 where it is absent.
    #[inline]
    pub const fn c(&self) -> i32 {
        self.sizes[1]
    }

    /// The height, the second dimension from the end: a matrix's rows; 0 where it is absent.
    #[inline]
    pub const fn h(&self) -> i32 {
        self.sizes[2]
    }

    /// The width, the last dimension: a matrix's columns; 0 in a scalar.
    #[inline]
    pub const fn w(&self) -> i32 {
        self.sizes[3]
    }

    /// [`n`](CompactShape::n) under a longer name.
    #[inline]
    pub const fn number(&self) -> i32 {
        self.n()
    }

    /// [`c`](CompactShape::c) under a longer name.
    #[inline]
    pub const fn channel(&self) -> i32 {
        self.c()
    }

    /// [`h`](CompactShape::h) under a longer name.
    #[inline]
    pub const fn height(&self) -> i32 {
        self.h()
    }

    /// [`w`](CompactShape::w) under a longer name.
    #[inline]
    pub const fn width(&self) -> i32 {
        self.w()
    }

    /// Whether there are no dimensions.
    #[inline]
    pub const fn is_scalar(&self) -> bool {
        // The last dimension is there if any is.
        self.sizes[3] == 0
    }

    /// Whether both are matrices and this one has as many columns as the other has rows. For
    /// products of any rank see [`matmul_shape`](crate::broadcast::matmul_shape).
    #[inline]
    pub const fn is_matmul_compatible(&self, other: CompactShape) -> bool {
        let [n, c, h, k] = self.sizes;
        let [m, d, rows, w] = other.sizes;
        n == 0 && c == 0 && h != 0 && m == 0 && d == 0 && w != 0 && rows == k
    }

    /// Whether this stretches to the target: aligned at the right, each size is the target's, or 1,
    /// or absent.
    ///
    /// ```
    /// use minormajor_core::CompactShape;
    ///
    /// let image = CompactShape::nchw(8, 3, 32, 32)?;
    /// assert!(CompactShape::volume(3, 1, 1)?.is_broadcastable_to(image));
    /// assert!(CompactShape::scalar().is_broadcastable_to(image));
    /// assert!(!image.is_broadcastable_to(CompactShape::scalar()));
    /// # Ok::<(), minormajor_core::CompactShapeError>(())
    /// ```
    #[inline]
    pub const fn is_broadcastable_to(&self, target: CompactShape) -> bool {
        let mut place = 0;
        let mut fits = true;
        while place < 4 {
            let (size, wanted) = (self.sizes[place], target.sizes[place]);
            fits &= size == wanted || size == 0 || (size == 1 && wanted != 0);
            place += 1;
        }
        fits
    }

    /// The general shape of these sizes: an array in the default layout.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Overflow`] where the elements fit 63 bits and their bytes don't; no other.
    ///
    /// ```
    /// use minormajor_core::{CompactShape, ElementType};
    ///
    /// let compact = CompactShape::matrix(2, 3)?;
    /// let array = compact.to_array(ElementType::F32)?;
    /// assert_eq!(array.to_string(), "f32[2,3]{1,0}");
    /// assert_eq!(CompactShape::try_from(&array)?, compact);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_array(&self, element_type: ElementType) -> Result<ArrayShape, ShapeError> {
        ArrayShape::new(
            element_type,
            self.dims().iter().map(|&size| i64::from(size)),
        )
    }
}

impl TryFrom<&[i64]> for CompactShape {
    type Error = CompactShapeError;

    fn try_from(sizes: &[i64]) -> Result<CompactShape, CompactShapeError> {
        if sizes.len() > 4 {
            return Err(CompactShapeError::Rank { found: sizes.len() });
        }
        let mut narrow = [0; 4];
        for (dimension, (&size, narrow)) in sizes.iter().zip(&mut narrow).enumerate() {
            *narrow = match i32::try_from(size) {
                Ok(size) => size,
                Err(_) if size < 1 => return Err(CompactShapeError::Size { dimension, size }),
                Err(_) => return Err(CompactShapeError::TooLarge { dimension, size }),
            };
        }
        CompactShape::new(&narrow[..sizes.len()])
    }
}

/// The sizes alone; a bounded dimension counts its bound.
impl TryFrom<&ArrayShape> for CompactShape {
    type Error = CompactShapeError;

    fn try_from(shape: &ArrayShape) -> Result<CompactShape, CompactShapeError> {
        match shape.first_unbounded() {
            Some(dimension) => Err(CompactShapeError::Unbounded { dimension }),
            None => {
                let sizes = shape.dimensions().iter().filter_map(|d| d.bound());
                CompactShape::try_from(&sizes.collect::<Vec<i64>>()[..])
            }
        }
    }
}

/// The sizes of an array.
impl TryFrom<&Shape> for CompactShape {
    type Error = CompactShapeError;

    fn try_from(shape: &Shape) -> Result<CompactShape, CompactShapeError> {
        let found = shape.kind().name();
        let array = shape.as_array();
        CompactShape::try_from(array.map_err(|_| CompactShapeError::NotAnArray { found })?)
    }
}

impl fmt::Display for CompactShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sizes(f, self.dims())
    }
}

impl fmt::Debug for CompactShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompactShape{self}")
    }
}
