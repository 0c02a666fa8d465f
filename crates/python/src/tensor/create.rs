//! New tensors.

use std::ops::Range;

use minormajor::backend::Number;
use minormajor::{ElementType, Layout, Order, TensorError};
use numpy::{PyArrayDescrMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyTuple};

use super::{Tensor, argument, device, made};
use crate::array::{Array, Moved};
use crate::card::Given;
use crate::error::{self, error};
use crate::memory::lent;
use crate::shape::Shape;
use crate::{dtype, packing, text};

/// Where a new tensor is to be: what every way to make one is told.
struct Destination {
    element_type: ElementType,
    sizes: Vec<i64>,
    device: minormajor::Device,
    layout: Option<Layout>,
}

impl Destination {
    fn new(
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        otherwise: ElementType,
        device: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Destination> {
        Ok(Destination {
            element_type: dtype.map_or(Ok(otherwise), dtype::from_argument)?,
            sizes: argument::sizes(shape)?,
            device: device::named_or_cpu(device)?,
            layout: layout.map(text::layout).transpose()?,
        })
    }

    /// What `make` makes in the layout that the device prefers, in the one that was asked for.
    fn make(
        self,
        py: Python<'_>,
        make: impl Send
        + FnOnce(
            ElementType,
            Vec<i64>,
            &minormajor::Device,
        ) -> Result<minormajor::Tensor, TensorError>,
    ) -> PyResult<Tensor> {
        made(py, || {
            let tensor = make(self.element_type, self.sizes, &self.device)?;
            match self.layout {
                Some(layout) => tensor.relayout(layout),
                None => Ok(tensor),
            }
        })
    }
}

#[pymethods]
impl Tensor {
    #[new]
    #[pyo3(signature = (data, /, dtype = None, *, device = None, layout = None))]
    fn new(
        data: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let py = data.py();
        let device = device.map(device::named).transpose()?;
        let layout = layout.map(text::layout).transpose()?;
        let wanted = dtype.map(dtype::from_argument).transpose()?;
        if let Ok(tensor) = data.cast::<Tensor>() {
            let tensor = tensor.get().inner();
            if wanted.is_none_or(|wanted| wanted == tensor.element_type()) {
                let device = device.unwrap_or_else(|| tensor.device().clone());
                return made(py, || match layout {
                    Some(layout) => tensor.to_layout(&device, layout),
                    None => tensor.to(&device),
                });
            }
        }
        let numpy = py.import("numpy")?;
        let is_python = data.is_instance_of::<PyList>()
            || data.is_instance_of::<PyTuple>()
            || data.is_instance_of::<PyInt>()
            || data.is_instance_of::<PyFloat>()
            || data.is_instance_of::<PyComplex>();
        let wanted = wanted.map(|wanted| dtype::dtype_of(py, wanted));
        let wanted = wanted.transpose()?;
        let array = match is_python {
            true => Array::new(&numpy.call_method1("asarray", (data, &wanted))?)?.array,
            false => {
                let array = match Given::new(data)? {
                    Given::Host(array) => array.array,
                    Given::Card(array) => {
                        if wanted.is_some_and(|wanted| !wanted.is_equiv_to(&array.dtype)) {
                            return Err(error(format!(
                                "a card keeps elements' types: expected {}, or the array on the host",
                                array.dtype
                            )));
                        }
                        let there = array.tensor(layout.clone())?;
                        return made(py, || match (device, layout) {
                            (None, _) => Ok(there),
                            (Some(device), None) => there.to(&device),
                            (Some(device), Some(layout)) => there.to_layout(&device, layout),
                        });
                    }
                };
                let to = match wanted {
                    Some(wanted) => wanted,
                    None => array
                        .dtype()
                        .call_method1("newbyteorder", ("=",))?
                        .cast_into()?,
                };
                let options = PyDict::new(py);
                options.set_item("copy", false)?;
                let made = array.call_method("astype", (to,), Some(&options))?;
                Array::new(&made)?.array
            }
        };
        let element_type = dtype::named_element_type(&array.dtype())?;
        let moved = Moved::new(array.shape(), array.strides(), array.dtype().itemsize());
        let view = moved.view_as(element_type)?;
        let device = device.unwrap_or_else(minormajor::Device::cpu);
        let rank = array.ndim();
        let layout = layout.unwrap_or_else(|| device.backend().preferred_layout(rank));
        let made = lent::with_bytes(py, &[&array], |bytes| {
            minormajor::Tensor::from_place(&view, bytes[0], layout, &device)
        })?;
        made.map(Tensor).map_err(error::tensor)
    }

    /// Zeros.
    ///
    /// >>> Tensor.zeros((2, 3), "s8").sum().item()
    /// 0
    #[staticmethod]
    #[pyo3(signature = (shape, dtype = None, *, device = None, layout = None))]
    fn zeros(
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let to = Destination::new(shape, dtype, ElementType::F32, device, layout)?;
        to.make(shape.py(), minormajor::Tensor::zeros)
    }

    /// Ones.
    ///
    /// >>> Tensor.ones((2, 3), "s8").sum().item()
    /// 6
    #[staticmethod]
    #[pyo3(signature = (shape, dtype = None, *, device = None, layout = None))]
    fn ones(
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let to = Destination::new(shape, dtype, ElementType::F32, device, layout)?;
        to.make(shape.py(), minormajor::Tensor::ones)
    }

    /// Elements that are yet to be given. They are zeros, since nobody can write to a tensor.
    ///
    /// >>> Tensor.empty((2, 3)).shape
    /// (2, 3)
    #[staticmethod]
    #[pyo3(signature = (shape, dtype = None, *, device = None, layout = None))]
    fn empty(
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let to = Destination::new(shape, dtype, ElementType::F32, device, layout)?;
        to.make(shape.py(), minormajor::Tensor::empty)
    }

    /// One value in every element. A value that the type does not have is an error.
    ///
    /// >>> Tensor.full(3, 0.5, "bf16").tolist()
    /// [0.5, 0.5, 0.5]
    /// >>> Tensor.full(3, 300, "s8")
    /// Traceback (most recent call last):
    ///   ...
    /// minormajor.Error: s8 can't hold 300; expected an integer from -128 to 127
    #[staticmethod]
    #[pyo3(signature = (shape, value, dtype = None, *, device = None, layout = None))]
    fn full(
        shape: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let value = argument::required_number(value)?;
        let to = Destination::new(shape, dtype, ElementType::F32, device, layout)?;
        to.make(shape.py(), |element_type, sizes, device| {
            minormajor::Tensor::full(element_type, sizes, value, device)
        })
    }

    /// Normal numbers of mean 0 and variance 1, of f32, f64, f16 or bf16. Each follows from the seed and
    /// its index: they are the same bits on every device, in every layout, on any number of threads.
    ///
    /// >>> rows = Tensor.randn((2, 3), seed=42)
    /// >>> rows == Tensor.randn((2, 3), seed=42, device="cpu:columns", layout="{1,0:T(8,128)}")
    /// True
    #[staticmethod]
    #[pyo3(signature = (shape, dtype = None, *, seed, device = None, layout = None))]
    fn randn(
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        seed: u64,
        device: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let to = Destination::new(shape, dtype, ElementType::F32, device, layout)?;
        to.make(shape.py(), |element_type, sizes, device| {
            minormajor::Tensor::randn(element_type, sizes, seed, device)
        })
    }

    /// Numbers that are equally likely from low to below high, of f32, f64, f16 or bf16; as randn.
    ///
    /// >>> a = Tensor.uniform(1000, -1, 1, seed=7)
    /// >>> bool(abs(a.mean().item()) < 0.1), bool(a.max().item() < 1)
    /// (True, True)
    #[staticmethod]
    #[pyo3(signature = (shape, low = 0.0, high = 1.0, dtype = None, *, seed, device = None, layout = None))]
    fn uniform(
        shape: &Bound<'_, PyAny>,
        low: f64,
        high: f64,
        dtype: Option<&Bound<'_, PyAny>>,
        seed: u64,
        device: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let to = Destination::new(shape, dtype, ElementType::F32, device, layout)?;
        to.make(shape.py(), |element_type, sizes, device| {
            minormajor::Tensor::uniform(element_type, sizes, low..high, seed, device)
        })
    }

    /// Integers that are equally likely from low to below high, of 8 to 64 bits, s64 where no type is
    /// given; as randn.
    ///
    /// >>> set(Tensor.randint(1000, 1, 7, "u8", seed=7).tolist()) == {1, 2, 3, 4, 5, 6}
    /// True
    #[staticmethod]
    #[pyo3(signature = (shape, low, high, dtype = None, *, seed, device = None, layout = None))]
    fn randint(
        shape: &Bound<'_, PyAny>,
        low: &Bound<'_, PyAny>,
        high: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        seed: u64,
        device: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let range = Range {
            start: whole(low)?,
            end: whole(high)?,
        };
        let to = Destination::new(shape, dtype, ElementType::S64, device, layout)?;
        to.make(shape.py(), |element_type, sizes, device| {
            minormajor::Tensor::randint(element_type, sizes, range, seed, device)
        })
    }

    /// A tensor from the bytes of an array in its layout, tiles, padding and packed elements too: as
    /// many bytes as the shape allocates. They are copied.
    ///
    /// >>> Tensor.from_bytes("u8[2,3]{0,1:PAD(3,5)}", b"ad.be.cf.......").tolist()
    /// [[97, 98, 99], [100, 101, 102]]
    #[staticmethod]
    #[pyo3(signature = (shape, data, device = None))]
    fn from_bytes(
        shape: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let py = shape.py();
        let shape = text::shape(shape)?;
        let shape = shape.as_array().map_err(error)?;
        let device = device::named_or_cpu(device)?;
        let array = Array::new(data)?.array;
        let found = array.len() * array.dtype().itemsize();
        // A shape that allocates no bytes is refused below.
        let expected = shape
            .allocated_bytes()
            .map_or(found, |bytes| bytes as usize);
        let array = packing::byte_buffer(&array, expected)?;
        let made = lent::with_bytes(py, &[&array], |bytes| {
            minormajor::Tensor::from_bytes(shape, bytes[0], &device)
        })?;
        made.map(Tensor).map_err(error::tensor)
    }

    /// What rebuilds it: its bytes in its layout, on a device of the same name.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let tensor = slf.get().inner();
        let packed = py.detach(|| {
            let whole = match tensor.layout() {
                Some(_) => tensor.clone(),
                None => tensor.contiguous(Order::RowMajor)?,
            };
            let shape = whole.shape();
            let bytes = shape.allocated_bytes().unwrap_or(0);
            let mut data = vec![0; bytes as usize];
            let backend = whole.device().backend();
            backend.download(&**whole.storage(), 0, &mut data)?;
            Ok((shape, data))
        });
        let (shape, data) = packed.map_err(error::tensor)?;
        let parts = (
            Shape::wrap(shape),
            PyBytes::new(py, &data),
            tensor.device().name(),
        );
        Ok((
            slf.get_type().getattr("from_bytes")?,
            parts.into_pyobject(py)?,
        ))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Tensors never change: one is its own copy.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

fn whole(given: &Bound<'_, PyAny>) -> PyResult<i128> {
    match argument::required_number(given)? {
        Number::Integer(value) => Ok(value),
        other => Err(error(format!("expected an integer, found {other}"))),
    }
}
