//! Elements out of tensors: numbers, and arrays of NumPy's and others.

use minormajor::ElementType;
use minormajor::backend::Number;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{Tensor, argument};
use crate::card::{OnCard, interface};
use crate::dtype;
use crate::error::{self, error};
use crate::memory::card::card;
use crate::memory::dlpack::{self, Home};
use crate::memory::{self, Dense, lent};
use crate::order::Order;

impl Tensor {
    fn sizes_for_numpy(&self) -> PyResult<Vec<usize>> {
        let sizes = self.inner().sizes();
        let sizes = sizes.into_iter().map(usize::try_from);
        sizes.collect::<Result<_, _>>().map_err(error)
    }

    /// Strides in bytes, and where in the storage the first element is; `None` in tiles or packed.
    fn strides_for_numpy(&self) -> PyResult<Option<(Vec<isize>, usize)>> {
        let Some((strides, offset)) = self.byte_strides() else {
            return Ok(None);
        };
        let strides = strides.into_iter().map(isize::try_from);
        let strides = strides.collect::<Result<_, _>>().map_err(error)?;
        Ok(Some((strides, usize::try_from(offset).map_err(error)?)))
    }

    /// A read-only array in the tensor's memory; `None` where that is on another device, in tiles or
    /// packed.
    fn shared<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
        let Some((strides, offset)) = self.strides_for_numpy()? else {
            return Ok(None);
        };
        let dtype = dtype::dtype_of(py, self.inner().element_type())?;
        let sizes = self.sizes_for_numpy()?;
        lent::view(self.inner().storage(), dtype, &sizes, &strides, offset)
    }

    /// A new array, row-major.
    fn copied<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyUntypedArray>> {
        let dtype = dtype::dtype_of(py, self.inner().element_type())?;
        let (sizes, width) = (self.sizes_for_numpy()?, dtype.itemsize());
        let strides = Order::of_letter("C", sizes.len())?.strides(&sizes, width)?;
        let dense = Dense::new(&sizes, &strides, width)?;
        let (made, read) = lent::written(dtype, &dense, |bytes| self.inner().read_into(bytes))?;
        read.map_err(error::tensor)?;
        Ok(made)
    }

    /// Where the memory is for other libraries, when all work on it is done.
    fn home(&self) -> PyResult<Option<Home>> {
        let (device, storage) = (self.inner().device(), self.inner().storage());
        match Home::on_host(&**storage) {
            Some(home) => Ok(Some(home)),
            None => memory::card::home(device, &**storage),
        }
    }

    fn number(&self, index: Option<&[i64]>) -> PyResult<Number> {
        let number = match index {
            Some(index) => self.inner().at(index),
            None => self.inner().item(),
        };
        number.map_err(error::tensor)
    }
}

#[pymethods]
impl Tensor {
    /// NumPy's numbers leave operators to the tensor, and its arrays are not mixed in silence.
    #[classattr]
    fn __array_ufunc__(py: Python<'_>) -> Py<PyAny> {
        py.None()
    }

    /// The elements as an array of NumPy's. It shares the tensor's memory, read-only, with the strides
    /// that the layout has, and keeps that alive; from another device, and out of tiles and packed
    /// elements, it is a new row-major array. copy=True makes a new one, which may be written, and
    /// copy=False refuses to.
    ///
    /// >>> a = Tensor([[1, 2, 3], [4, 5, 6]], layout="{0,1}")
    /// >>> a.numpy().strides, a.numpy().flags.writeable, a.numpy(copy=True).flags.writeable
    /// ((8, 16), False, True)
    /// >>> a.relayout("{1,0:T(2,2)}").numpy(copy=False)
    /// Traceback (most recent call last):
    ///   ...
    /// minormajor.Error: s64[2,3]{1,0:T(2,2)} on cpu has no memory that an array can share: a copy is needed, as numpy() makes
    #[pyo3(signature = (*, copy = None))]
    fn numpy<'py>(
        &self,
        py: Python<'py>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        if copy != Some(true)
            && let Some(view) = self.shared(py)?
        {
            return Ok(view);
        }
        match copy {
            Some(false) => Err(error(format!(
                "{} on {} has no memory that an array can share: a copy is needed, as numpy() makes",
                self.inner().shape(),
                self.inner().device()
            ))),
            _ => self.copied(py),
        }
    }

    /// What numpy.asarray and its kin call: numpy(), of another type where one is asked for.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.numpy(py, copy)?;
        let Some(dtype) = dtype else {
            return Ok(array.into_any());
        };
        if array.dtype().eq(dtype)? {
            return Ok(array.into_any());
        }
        if copy == Some(false) {
            return Err(error(format!(
                "the tensor holds {}: as {dtype} it would be a copy",
                self.inner().element_type()
            )));
        }
        array.call_method1(intern!(py, "astype"), (dtype,))
    }

    /// DLPack's protocol, for torch.from_dlpack, jax.numpy.from_dlpack and others: shares the memory,
    /// read-only, where numpy() does, bfloat16 and float8 too. Who can't be told that it is read-only gets a
    /// copy, and so does who asks for one.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let is_told = max_version.is_some_and(|version| version >= (1, 0));
        let (tensor, home) = (self.inner(), self.home()?);
        let is_here = dl_device.is_none_or(|device| device == self.__dlpack_device__());
        if let Some(home) = home.filter(|_| is_here)
            && let Some((strides, offset)) = self.strides_for_numpy()?
        {
            let sizes = self.sizes_for_numpy()?;
            let (element_type, storage) = (tensor.element_type(), tensor.storage());
            let (is_own, place) = (copy == Some(true), (&sizes[..], &strides[..], offset));
            let made = match is_told && !is_own {
                true => dlpack::capsule(py, (storage, home), element_type, place, false, true)?,
                false => None,
            };
            if let Some(made) = made {
                return Ok(made);
            }
        }
        if home.is_some_and(|home| home.device.0 != dlpack::HOST) && is_here {
            if copy == Some(false) {
                return Err(error(
                    "the memory can't be lent as it is: a copy is needed, which copy=False refuses",
                ));
            }
            // On the card too, without gaps, and nobody else has it.
            return OnCard::copy_of(py, tensor)?.capsule(py, is_told);
        }
        let own = match copy {
            None if !is_told => Some(true),
            copy => copy,
        };
        let array = self.numpy(py, own)?;
        let options = PyDict::new(py);
        options.set_item("stream", stream)?;
        options.set_item("max_version", max_version)?;
        options.set_item("dl_device", dl_device)?;
        array.call_method(intern!(py, "__dlpack__"), (), Some(&options))
    }

    /// Where __dlpack__ has or brings the elements: a card's are on that, all others on the processor.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let card = card(self.inner().device());
        card.map_or((dlpack::HOST, 0), |card| {
            (dlpack::CARD, card.ordinal() as i32)
        })
    }

    /// What CuPy, Numba and others take memory of a card by, read-only; only tensors on a card have it, at
    /// strides.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let home = self.home()?.filter(|home| home.device.0 == dlpack::CARD);
        let (Some(home), Some((strides, offset))) = (home, self.strides_for_numpy()?) else {
            return Err(PyAttributeError::new_err(format!(
                "{} on {} has no __cuda_array_interface__",
                self.inner().shape(),
                self.inner().device()
            )));
        };
        let (sizes, address) = (self.sizes_for_numpy()?, home.address + offset as u64);
        let element_type = self.inner().element_type();
        interface(py, address, element_type, (&sizes, &strides), true)
    }

    /// The elements in nested lists; of rank 0 the number.
    ///
    /// >>> Tensor([[1, 2], [3, 4]], layout="{0,1}").tolist()
    /// [[1, 2], [3, 4]]
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numpy(py, None)?.call_method0(intern!(py, "tolist"))
    }

    /// The element of an index as a number of Python's, or the only one.
    ///
    /// >>> a = Tensor([[1, 2, 3], [4, 5, 6]], layout="{1,0:T(2,2)}")
    /// >>> a.item(1, 0), a.max().item()
    /// (4, 6)
    #[pyo3(signature = (*index))]
    fn item<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let number = match index.is_empty() {
            true => self.number(None)?,
            false => {
                let sizes = self.inner().sizes();
                let mut index = argument::numbers(index)?;
                for (index, size) in index.iter_mut().zip(sizes) {
                    *index += if *index < 0 { size } else { 0 };
                }
                self.number(Some(&index))?
            }
        };
        let is_truth = self.inner().element_type() == ElementType::Pred;
        argument::to_python(py, number, is_truth)
    }

    fn __bool__(&self) -> PyResult<bool> {
        Ok(match self.number(None)? {
            Number::Integer(value) => value != 0,
            Number::Float(value) => value != 0.0,
            Number::Complex(re, im) => re != 0.0 || im != 0.0,
        })
    }

    fn __float__(&self) -> PyResult<f64> {
        match self.number(None)? {
            Number::Complex(..) => Err(PyTypeError::new_err("a complex number is no float")),
            number => Ok(number.to_f64()),
        }
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.number(None)? {
            Number::Integer(value) => Ok(value.into_pyobject(py)?.into_any()),
            _ => {
                let float = self.__float__()?.into_pyobject(py)?;
                float.call_method0(intern!(py, "__trunc__"))
            }
        }
    }
}
