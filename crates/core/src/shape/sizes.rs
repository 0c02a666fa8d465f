//! The sizes of tuples and other values.

use super::{Shape, ShapeKind, TupleShape};
use crate::address::div_ceil;
use crate::error::ShapeError;
use crate::{ArrayShape, ElementType};

impl Shape {
    /// The elements of all its arrays together.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSize`] for tokens and opaque values, [`ShapeError::Unbounded`],
    /// [`ShapeError::TupleOverflow`].
    #[doc(alias = "ElementsInRecursive")]
    pub fn elements_recursive(&self) -> Result<i64, ShapeError> {
        self.sum("elements", |leaf| match leaf.as_array() {
            Ok(array) => sized(array, array.elements()),
            Err(_) => Err(leaf.no_size("elements")),
        })
    }

    /// The bytes that the elements of all its arrays need together: the sum of their
    /// [`dense_bytes`](ArrayShape::dense_bytes). A token needs none.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSize`] for opaque values, [`ShapeError::Unbounded`],
    /// [`ShapeError::TupleOverflow`].
    #[doc(alias = "ByteSizeOfElementsRecursive")]
    pub fn dense_bytes_recursive(&self) -> Result<i64, ShapeError> {
        self.sum("dense bytes", |leaf| match (leaf.as_array(), &leaf.kind) {
            (Ok(array), _) => sized(array, array.dense_bytes()),
            (Err(_), ShapeKind::Token) => Ok(0),
            (Err(_), _) => Err(leaf.no_size("size")),
        })
    }

    /// The bytes of the value itself: of an array its elements', at `E(bits)` each where the layout
    /// says so, whether that is less than the type's own width or more; a tuple's table of one pointer an element, one pointer for an opaque value, none for a
    /// token.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Unbounded`], or [`ShapeError::NoSize`] where `pointer_bytes` would be needed
    /// and is absent.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "(f32[2,3], token[])".parse()?;
    /// assert_eq!(shape.byte_size(Some(8))?, 16);
    /// assert_eq!(shape.subshape(&[0])?.byte_size(None)?, 24);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ByteSizeOf")]
    pub fn byte_size(&self, pointer_bytes: Option<u32>) -> Result<i64, ShapeError> {
        let pointer = || pointer_bytes.ok_or_else(|| self.no_size("size without a pointer's"));
        match &self.kind {
            ShapeKind::Array(array) | ShapeKind::Buffer(array) => {
                sized(array, array.element_bytes())
            }
            ShapeKind::Tuple(tuple) => Ok(tuple.index_table_bytes(pointer()?)),
            ShapeKind::Token => Ok(0),
            ShapeKind::Opaque => Ok(i64::from(pointer()?)),
        }
    }

    /// The bytes of a value of this shape in XLA's serialized form: 8, the shape's proto, and of
    /// every array 4 a dimension where some is dynamic, and its elements: truth values 8 a byte,
    /// those of 1, 2 and 4 bits packed too, others as [`dense_bytes`](ArrayShape::dense_bytes).
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSize`] for tokens and opaque values, [`ShapeError::Unbounded`],
    /// [`ShapeError::TupleOverflow`].
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "pred[9]".parse()?;
    /// let proto = shape.to_proto_bytes().len() as i64;
    /// assert_eq!(shape.serialized_bytes()?, 8 + proto + 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "SerializedSize")]
    #[doc(alias = "SerializedSizeWithProto")]
    pub fn serialized_bytes(&self) -> Result<i64, ShapeError> {
        let arrays = self.sum("serialized bytes", |leaf| {
            let array = match &leaf.kind {
                ShapeKind::Array(array) | ShapeKind::Buffer(array) => array,
                _ => return Err(leaf.no_size("serialized form")),
            };
            let elements = sized(array, array.elements())?;
            let bytes = match (array.element_type(), array.element_type().bit_width()) {
                (ElementType::Pred, _) => div_ceil(elements, 8),
                (_, bits @ (1 | 2 | 4)) => div_ceil(elements, 8 / i64::from(bits)),
                _ => sized(array, array.dense_bytes())?,
            };
            let sizes = match array.is_dynamic() {
                true => 4 * array.rank() as i64,
                false => 0,
            };
            bytes.checked_add(sizes).ok_or(ShapeError::TupleOverflow {
                what: "serialized bytes",
            })
        })?;
        let head = 8 + self.to_proto_bytes().len() as i64;
        head.checked_add(arrays).ok_or(ShapeError::TupleOverflow {
            what: "serialized bytes",
        })
    }

    fn sum(
        &self,
        what: &'static str,
        size: impl Fn(&Shape) -> Result<i64, ShapeError>,
    ) -> Result<i64, ShapeError> {
        self.flat_leaves().try_fold(0i64, |sum, leaf| {
            sum.checked_add(size(leaf)?)
                .ok_or(ShapeError::TupleOverflow { what })
        })
    }

    fn no_size(&self, what: &'static str) -> ShapeError {
        ShapeError::NoSize {
            found: self.kind.name(),
            what,
        }
    }
}

impl TupleShape {
    /// The bytes of the tuple's table of one pointer an element.
    #[doc(alias = "ByteSizeOfTupleIndexTable")]
    pub fn index_table_bytes(&self, pointer_bytes: u32) -> i64 {
        // A tuple in memory has far fewer than 2^31 elements.
        self.len() as i64 * i64::from(pointer_bytes)
    }
}

/// A size that only an unbounded dimension makes absent.
fn sized(array: &ArrayShape, size: Option<i64>) -> Result<i64, ShapeError> {
    size.ok_or_else(|| ShapeError::Unbounded {
        dimension: array.first_unbounded().unwrap_or(0),
    })
}
