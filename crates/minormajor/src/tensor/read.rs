//! Elements out of tensors, in logical order.

use minormajor_core::{AddressMap, ArrayShape, ElementType, IndexError, Plan};

use super::element::private::Bytes;
use super::{Element, Memory, Tensor, TensorError};
use crate::backend::{Number, Scalar};

impl Tensor {
    /// All elements, in row-major order whatever the storage.
    ///
    /// # Errors
    ///
    /// [`TensorError::WrongType`] where the elements are of another type, [`TensorError::Device`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, TensorError> {
        let found = self.element_type();
        if found != T::ELEMENT_TYPE {
            return Err(TensorError::WrongType {
                found,
                expected: T::ELEMENT_TYPE,
            });
        }
        T::read(self.elements() as usize, |bytes| self.read_rows(bytes))
    }

    /// The bytes of all elements in row-major order, whatever the storage; a byte for each narrower
    /// one.
    ///
    /// # Errors
    ///
    /// [`TensorError::Device`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, TensorError> {
        let width = self.element_type().byte_width() as usize;
        u8::read(self.elements() as usize * width, |bytes| {
            self.read_rows(bytes)
        })
    }

    /// All elements as numbers, in row-major order whatever the storage.
    ///
    /// # Errors
    ///
    /// [`TensorError::Device`].
    pub fn numbers(&self) -> Result<impl Iterator<Item = Number> + use<>, TensorError> {
        let element_type = self.element_type();
        let width = element_type.byte_width() as usize;
        let bytes = self.to_bytes()?;
        Ok((0..bytes.len() / width)
            .map(move |k| Scalar::from_bytes(element_type, &bytes[k * width..]).number()))
    }

    /// Writes the bytes of all elements to the host's memory, in row-major order whatever the
    /// storage: what [`to_bytes`](Tensor::to_bytes) returns.
    ///
    /// # Errors
    ///
    /// [`TensorError::Length`] for another number of bytes than the elements have,
    /// [`TensorError::Device`].
    pub fn read_into(&self, into: &mut [u8]) -> Result<(), TensorError> {
        let expected = self.elements() * i64::from(self.element_type().byte_width());
        if i64::try_from(into.len()) != Ok(expected) {
            return Err(TensorError::Length {
                what: "bytes",
                shape: self.shape().without_layout().to_string(),
                found: into.len(),
                expected,
            });
        }
        self.read_rows(into)
    }

    fn read_rows(&self, into: &mut [u8]) -> Result<(), TensorError> {
        let rows = ArrayShape::new(self.element_type(), self.sizes())?;
        let plan = Plan::new(self.place(), &rows)?;
        let backend = self.device.backend();
        Ok(backend.download_relaid(&plan, &*self.storage, into)?)
    }

    /// The element of an index.
    ///
    /// # Errors
    ///
    /// [`TensorError::Index`] for an index that the tensor does not have, [`TensorError::Device`].
    ///
    /// ```
    /// use minormajor::{Device, Tensor};
    ///
    /// let a = Tensor::from_slice(&[1i16, 2, 3, 4, 5, 6], [2, 3], &Device::cpu())?;
    /// assert_eq!(a.at(&[1, 0])?, 4.into());
    /// let error = a.at(&[1, 3]).unwrap_err().to_string();
    /// assert_eq!(error, "index 3 is outside dimension 1, whose size is 3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at(&self, index: &[i64]) -> Result<Number, TensorError> {
        let element_type = self.element_type();
        let bit = self.bit_of(index)?;
        let mut bytes = [0; 16];
        let width = element_type.byte_width() as usize;
        let backend = self.device.backend();
        backend.download(&*self.storage, (bit / 8) as usize, &mut bytes[..width])?;
        // Packed elements begin inside of a byte; a truth value's byte counts whole.
        bytes[0] >>= bit % 8;
        if element_type == ElementType::Pred && self.packed_bits().is_some() {
            bytes[0] &= 1;
        }
        Ok(Scalar::from_bytes(element_type, &bytes).number())
    }

    /// The only element.
    ///
    /// # Errors
    ///
    /// [`TensorError::NotOne`] where there are more, or none; [`TensorError::Device`].
    pub fn item(&self) -> Result<Number, TensorError> {
        match self.elements() {
            1 => self.at(&vec![0; self.rank()]),
            elements => Err(TensorError::NotOne {
                sizes: self.sizes()[..].into(),
                elements,
            }),
        }
    }

    fn packed_bits(&self) -> Option<u32> {
        match &self.memory {
            Memory::Array(shape) => {
                let bits = shape.element_bits();
                (bits < 8).then_some(bits as u32)
            }
            Memory::Strided(view) => view.packed_bits(),
        }
    }

    /// Where in the storage an element begins, in bits.
    fn bit_of(&self, index: &[i64]) -> Result<i64, TensorError> {
        match &self.memory {
            Memory::Array(shape) => {
                Ok(AddressMap::new(shape)?.position(index)? * shape.element_bits())
            }
            Memory::Strided(view) => {
                let sizes = view.sizes();
                if index.len() != sizes.len() {
                    let (found, rank) = (index.len(), sizes.len());
                    return Err(IndexError::Rank { found, rank }.into());
                }
                for (dimension, (&index, &size)) in index.iter().zip(sizes).enumerate() {
                    if !(0..size).contains(&index) {
                        let error = IndexError::OutOfRange {
                            dimension,
                            index,
                            size,
                        };
                        return Err(error.into());
                    }
                }
                let steps = index
                    .iter()
                    .zip(view.strides())
                    .map(|(i, stride)| i * stride);
                let unit = i64::from(view.packed_bits().unwrap_or(8));
                Ok((view.offset() + steps.sum::<i64>()) * unit)
            }
        }
    }
}
