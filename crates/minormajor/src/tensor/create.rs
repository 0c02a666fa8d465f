//! New tensors.

use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

use minormajor_core::{ArrayShape, ElementType, Layout, Place, Plan};

use super::{Element, IntoSizes, Memory, Tensor, TensorError};
use crate::backend::{Device, Distribution, Number, Scalar, Storage, Strided, is_numeric};

impl Tensor {
    /// A tensor whose elements are yet to be given: zeros, since there is no way to write to one.
    ///
    /// # Errors
    ///
    /// As [`full`](Tensor::full).
    pub fn empty(
        element_type: ElementType,
        sizes: impl IntoSizes,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        let (shape, place) = fresh(element_type, sizes, device)?;
        let storage = device.backend().allocate(place.bytes())?;
        Ok(Tensor {
            device: device.clone(),
            storage,
            memory: Memory::Array(shape),
        })
    }

    /// Zeros, in the layout that the device prefers.
    ///
    /// # Errors
    ///
    /// As [`full`](Tensor::full).
    pub fn zeros(
        element_type: ElementType,
        sizes: impl IntoSizes,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        Tensor::full(element_type, sizes, 0, device)
    }

    /// Ones, in the layout that the device prefers.
    ///
    /// # Errors
    ///
    /// As [`full`](Tensor::full).
    pub fn ones(
        element_type: ElementType,
        sizes: impl IntoSizes,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        Tensor::full(element_type, sizes, 1, device)
    }

    /// One value in every element, in the layout that the device prefers.
    ///
    /// # Errors
    ///
    /// [`TensorError::Scalar`] for a value that the type does not have, [`TensorError::Shape`] for a
    /// negative size or too many bytes, [`TensorError::Device`].
    ///
    /// ```
    /// use minormajor::{Device, ElementType, Tensor};
    ///
    /// let error = Tensor::full(ElementType::S8, [2, 2], 300, &Device::cpu()).unwrap_err();
    /// assert_eq!(error.to_string(), "s8 can't hold 300; expected an integer from -128 to 127");
    /// ```
    pub fn full(
        element_type: ElementType,
        sizes: impl IntoSizes,
        value: impl Into<Number>,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        let value = Scalar::new(element_type, value)?;
        let (shape, place) = fresh(element_type, sizes, device)?;
        let storage = device.backend().fill(value, &place)?;
        Ok(Tensor {
            device: device.clone(),
            storage,
            memory: Memory::Array(shape),
        })
    }

    /// Normal numbers of mean 0 and variance 1, of f32, f64, f16 or bf16: each follows from the seed
    /// and its logical index alone, so they are the same on every device and in every layout
    /// ([`random`](crate::random) has the formulas).
    ///
    /// # Errors
    ///
    /// [`TensorError::Unsupported`] for another type; as [`full`](Tensor::full).
    ///
    /// ```
    /// use minormajor::{Device, ElementType, Tensor};
    ///
    /// let rows = Tensor::randn(ElementType::F32, [2, 3], 42, &Device::cpu())?;
    /// let columns = Tensor::randn(ElementType::F32, [2, 3], 42, &Device::cpu_columns())?;
    /// assert_eq!(rows.to_vec::<f32>()?, columns.to_vec::<f32>()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn randn(
        element_type: ElementType,
        sizes: impl IntoSizes,
        seed: u64,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        floats("randn", element_type)?;
        Tensor::random(Distribution::Normal, element_type, sizes, seed, device)
    }

    /// Numbers that are equally likely from the range's start to below its end, of f32, f64, f16 or
    /// bf16.
    ///
    /// # Errors
    ///
    /// [`TensorError::Bounds`] for a range that is empty, not finite, or too wide for the type;
    /// as [`randn`](Tensor::randn).
    pub fn uniform(
        element_type: ElementType,
        sizes: impl IntoSizes,
        range: Range<f64>,
        seed: u64,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        let operation = "uniform";
        floats(operation, element_type)?;
        let none = || bounds(operation, element_type, range.start, range.end);
        let read = |value| {
            let scalar = Scalar::new(element_type, value).map_err(|_| none())?;
            Ok::<_, TensorError>(scalar.number().to_f64())
        };
        let (low, high) = (read(range.start)?, read(range.end)?);
        let width = match element_type {
            ElementType::F64 => high - low,
            _ => f64::from(high as f32 - low as f32),
        };
        if !(low < high && width.is_finite()) {
            return Err(none());
        }
        let distribution = Distribution::Uniform {
            low,
            width,
            highest: next_below(element_type, high),
        };
        Tensor::random(distribution, element_type, sizes, seed, device)
    }

    /// Integers that are equally likely from the range's start to below its end, of 8 to 64 bits.
    ///
    /// # Errors
    ///
    /// [`TensorError::Bounds`] for a range that is empty or beyond the type's numbers;
    /// [`TensorError::Unsupported`] for another type; as [`full`](Tensor::full).
    ///
    /// ```
    /// use minormajor::{Device, ElementType, Tensor};
    ///
    /// let dice = Tensor::randint(ElementType::U8, [1000], 1..7, 7, &Device::cpu())?;
    /// assert!(dice.to_vec::<u8>()?.iter().all(|n| (1..7).contains(n)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn randint(
        element_type: ElementType,
        sizes: impl IntoSizes,
        range: Range<i128>,
        seed: u64,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        let operation = "randint";
        if !is_numeric(element_type) || element_type.is_floating_point() {
            return Err(TensorError::Unsupported {
                operation,
                element_type,
                expected: "integers of 8 to 64 bits",
            });
        }
        let holds = |value| Scalar::new(element_type, Number::Integer(value)).is_ok();
        let wide = range.end.checked_sub(range.start);
        // All numbers of 64 bits at once are more than a 64-bit count says.
        let count = wide.and_then(|wide| u64::try_from(wide).ok());
        let count = count.filter(|&n| n > 0 && holds(range.start) && holds(range.end - 1));
        let count = count.ok_or_else(|| bounds(operation, element_type, range.start, range.end))?;
        let distribution = Distribution::Integers {
            low: range.start as u64,
            range: count,
        };
        Tensor::random(distribution, element_type, sizes, seed, device)
    }

    fn random(
        distribution: Distribution,
        element_type: ElementType,
        sizes: impl IntoSizes,
        seed: u64,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        let (shape, place) = fresh(element_type, sizes, device)?;
        let storage = device.backend().random(distribution, seed, &place)?;
        Ok(Tensor {
            device: device.clone(),
            storage,
            memory: Memory::Array(shape),
        })
    }

    /// Elements in row-major order, kept in the layout that the device prefers.
    ///
    /// # Errors
    ///
    /// [`TensorError::Length`] for another number of elements than the sizes make; as
    /// [`full`](Tensor::full).
    ///
    /// ```
    /// use minormajor::{Device, Tensor};
    ///
    /// let columns = Device::cpu_columns();
    /// let a = Tensor::from_slice(&[1u8, 2, 3, 4, 5, 6], [2, 3], &columns)?;
    /// assert_eq!(a.at(&[0, 2])?, 3.into());
    /// let mut stored = [0; 6];
    /// columns.backend().download(&**a.storage(), 0, &mut stored)?;
    /// assert_eq!(stored, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_slice<T: Element>(
        elements: &[T],
        sizes: impl IntoSizes,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        let (shape, _) = fresh(T::ELEMENT_TYPE, sizes, device)?;
        let expected = shape.elements().unwrap_or(0);
        if i64::try_from(elements.len()) != Ok(expected) {
            return Err(TensorError::Length {
                what: "elements",
                shape: shape.without_layout().to_string(),
                found: elements.len(),
                expected,
            });
        }
        let rows = ArrayShape::new(T::ELEMENT_TYPE, super::static_sizes(&shape))?;
        let layout = device.backend().preferred_layout(rows.rank());
        Tensor::from_place(&rows, T::bytes_of(elements), layout, device)
    }

    /// A copy of an array in the host's memory, at strides or in a layout, kept in another layout.
    ///
    /// # Errors
    ///
    /// [`TensorError::Length`] for fewer bytes than the place reaches; as
    /// [`relayout`](Tensor::relayout).
    ///
    /// ```
    /// use minormajor::{Device, ElementType, Layout, StridedView, Tensor};
    ///
    /// // Every other column of two rows, from the right.
    /// let view = StridedView::new(ElementType::U8, &[2, 2], &[4, -2], 3)?;
    /// let a = Tensor::from_place(&view, b"-a-b-c-d", Layout::ascending(2), &Device::cpu())?;
    /// assert_eq!(a.to_vec::<u8>()?, b"badc");
    /// assert_eq!(a.shape().to_string(), "u8[2,2]{0,1}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_place<'a>(
        place: impl Into<Place<'a>>,
        bytes: &[u8],
        layout: Layout,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        let place = place.into();
        let sizes = match place {
            Place::Array(shape) => shape.sizes()?,
            Place::Strided(view) => view.sizes().to_vec(),
        };
        let shape = ArrayShape::new(place.element_type(), sizes)?.with_layout(layout)?;
        let plan = Plan::new(place, &shape)?;
        let expected = plan.source_bytes();
        if (bytes.len() as u64) < expected as u64 {
            return Err(TensorError::Length {
                what: "bytes",
                shape: shape.without_layout().to_string(),
                found: bytes.len(),
                expected,
            });
        }
        Ok(Tensor {
            device: device.clone(),
            storage: device.backend().upload_relaid(&plan, bytes)?,
            memory: Memory::Array(shape),
        })
    }

    /// An array's bytes in its layout, whatever that is: tiles, padding, packed elements.
    ///
    /// # Errors
    ///
    /// [`TensorError::Shape`] for a shape without layout or with a dynamic dimension,
    /// [`TensorError::Length`] for another number of bytes than it allocates.
    ///
    /// ```
    /// use minormajor::{Device, Shape, Tensor};
    ///
    /// let shape: Shape = "u8[2,3]{0,1:PAD(3,5)}".parse()?;
    /// let padded = Tensor::from_bytes(shape.as_array()?, b"ad\0be\0cf\0\0\0\0\0\0\0", &Device::cpu())?;
    /// assert_eq!(padded.to_vec::<u8>()?, b"abcdef");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(
        shape: &ArrayShape,
        bytes: &[u8],
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        let shape = checked(shape, bytes.len())?;
        Ok(Tensor {
            memory: Memory::Array(shape),
            device: device.clone(),
            storage: device.backend().upload(bytes)?,
        })
    }

    /// An array that is in a device's memory already, in its layout: what a backend's methods return
    /// becomes a tensor.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Tensor::from_bytes). A storage of another device is refused by the first
    /// operation that reads it.
    ///
    /// ```
    /// use minormajor::{Device, Shape, Tensor};
    ///
    /// let device = Device::cpu();
    /// let storage = device.backend().upload(b"adbecf")?;
    /// let columns: Shape = "u8[2,3]{0,1}".parse()?;
    /// let a = Tensor::from_storage(columns.as_array()?, storage, &device)?;
    /// assert_eq!(a.to_vec::<u8>()?, b"abcdef");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_storage(
        shape: &ArrayShape,
        storage: Arc<dyn Storage>,
        device: &Device,
    ) -> Result<Tensor, TensorError> {
        Ok(Tensor {
            memory: Memory::Array(checked(shape, storage.bytes())?),
            device: device.clone(),
            storage,
        })
    }
}

/// The static shape of an array in memory, which has so many bytes.
fn checked(shape: &ArrayShape, found: usize) -> Result<ArrayShape, TensorError> {
    shape.require_layout()?;
    // A bounded dimension counts its bound, as it does in sizes.
    shape.sizes()?;
    let shape = shape.with_static_dimensions()?;
    let expected = shape.allocated_bytes().expect("a layout and sizes");
    if i64::try_from(found) != Ok(expected) {
        return Err(TensorError::Length {
            what: "bytes",
            shape: shape.to_string(),
            found,
            expected,
        });
    }
    // Says now what could not be moved later.
    let rows = ArrayShape::new(shape.element_type(), super::static_sizes(&shape))?;
    Plan::new(&shape, &rows)?;
    Ok(shape)
}

/// A new array in the layout that the device prefers.
fn fresh(
    element_type: ElementType,
    sizes: impl IntoSizes,
    device: &Device,
) -> Result<(ArrayShape, Strided), TensorError> {
    let sizes = sizes.into_sizes();
    let layout = device.backend().preferred_layout(sizes.len());
    let place = |layout: &Layout| Strided::dense(element_type, &sizes, layout.minor_to_major());
    let shape =
        ArrayShape::new(element_type, sizes.iter().copied())?.with_layout(layout.clone())?;
    Ok((shape, place(&layout)))
}

fn floats(operation: &'static str, element_type: ElementType) -> Result<(), TensorError> {
    match is_numeric(element_type) && element_type.is_floating_point() {
        true => Ok(()),
        false => Err(TensorError::Unsupported {
            operation,
            element_type,
            expected: "f32, f64, f16 or bf16",
        }),
    }
}

fn bounds(
    operation: &'static str,
    element_type: ElementType,
    low: impl Display,
    high: impl Display,
) -> TensorError {
    TensorError::Bounds {
        operation,
        element_type,
        low: low.to_string(),
        high: high.to_string(),
    }
}

/// The greatest number of a float type below one of its numbers.
fn next_below(element_type: ElementType, value: f64) -> f64 {
    // Patterns of positive numbers rise with them, those of negative ones fall.
    let below = |bits: u64, sign: u64| match bits {
        0 => sign | 1,
        bits if bits == sign => sign | 1,
        bits if bits & sign == 0 => bits - 1,
        bits => bits + 1,
    };
    let bits = Scalar::new(element_type, value).expect("a number of the type");
    let mut word = [0; 8];
    word[..bits.bytes().len()].copy_from_slice(bits.bytes());
    let sign = 1 << (element_type.bit_width() - 1);
    let made = below(u64::from_le_bytes(word), sign).to_le_bytes();
    Scalar::from_bytes(element_type, &made).number().to_f64()
}
