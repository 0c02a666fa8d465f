//! New arrays on a card, for the libraries that asked for them.

use std::sync::Arc;

use minormajor::backend::Storage;
use minormajor::{ArrayShape, Device, ElementType, Plan};
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::array::foreign;
use crate::dtype;
use crate::error::{self, error};
use crate::memory::card::{failed, home};
use crate::memory::dlpack::{self, Home};
use crate::tensor::Tensor;

/// A new array in a card's memory, for the library that asked for it: nobody else has it.
#[pyclass(frozen, module = "minormajor._core")]
pub struct OnCard {
    pub(super) device: Device,
    pub(super) storage: Arc<dyn Storage>,
    /// In an order of dimensions.
    pub(super) shape: ArrayShape,
}

impl OnCard {
    /// A row-major copy of a tensor.
    pub fn copy_of(py: Python<'_>, tensor: &minormajor::Tensor) -> PyResult<OnCard> {
        let rows = ArrayShape::new(tensor.element_type(), tensor.sizes());
        let rows = rows.and_then(|rows| rows.with_default_layout());
        let rows = rows.map_err(error)?;
        let plan = Plan::new(tensor.place(), &rows).map_err(error::plan)?;
        let backend = tensor.device().backend();
        let storage = py.detach(|| backend.relayout(&plan, &**tensor.storage()));
        Ok(OnCard {
            device: tensor.device().clone(),
            storage: storage.map_err(failed)?,
            shape: rows,
        })
    }

    /// A capsule of DLPack's, which may be written to.
    pub fn capsule<'py>(&self, py: Python<'py>, is_versioned: bool) -> PyResult<Bound<'py, PyAny>> {
        let (storage, element_type) = ((&self.storage, self.home()?), self.shape.element_type());
        let (sizes, strides) = self.place()?;
        let place = (&sizes[..], &strides[..], 0);
        let made = dlpack::capsule(py, storage, element_type, place, true, is_versioned)?;
        made.ok_or_else(|| error(format!("DLPack has no name for {element_type}")))
    }

    /// Sizes, and strides in bytes.
    fn place(&self) -> PyResult<(Vec<usize>, Vec<isize>)> {
        let strides = self.shape.byte_strides();
        let strides = strides.ok_or_else(|| error("expected an array in an order"))?;
        let sizes = self.shape.sizes().map_err(error)?;
        let sizes = sizes.into_iter().map(usize::try_from);
        let strides = strides.into_iter().map(isize::try_from);
        Ok((
            sizes.collect::<Result<_, _>>().map_err(error)?,
            strides.collect::<Result<_, _>>().map_err(error)?,
        ))
    }

    fn home(&self) -> PyResult<Home> {
        home(&self.device, &*self.storage)?.ok_or_else(|| error("expected a card"))
    }

    /// In the kind of what was given.
    pub fn like<'py>(self, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = given.py();
        foreign(py)?.call_method1(intern!(py, "from_card"), (given, Bound::new(py, self)?))
    }
}

#[pymethods]
impl OnCard {
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // All work on it is done: no stream has to wait. There is one place and one owner.
        let _ = (stream, dl_device, copy);
        self.capsule(py, max_version.is_some_and(|version| version >= (1, 0)))
    }

    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        Ok(self.home()?.device)
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (sizes, strides) = self.place()?;
        let (address, element_type) = (self.home()?.address, self.shape.element_type());
        interface(py, address, element_type, (&sizes, &strides), false)
    }

    /// As a tensor of this package's.
    fn tensor(&self) -> PyResult<Tensor> {
        let storage = self.storage.clone();
        let made = minormajor::Tensor::from_storage(&self.shape, storage, &self.device);
        made.map(Tensor::wrap).map_err(error::tensor)
    }
}

/// What `__cuda_array_interface__` says, version 3: no stream has to be waited for.
pub fn interface<'py>(
    py: Python<'py>,
    address: u64,
    element_type: ElementType,
    (sizes, strides): (&[usize], &[isize]),
    is_read_only: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    made.set_item("shape", PyTuple::new(py, sizes)?)?;
    made.set_item("strides", PyTuple::new(py, strides)?)?;
    let dtype = dtype::dtype_of(py, element_type)?;
    if dtype::is_foreign(&dtype) {
        return Err(PyAttributeError::new_err(format!(
            "__cuda_array_interface__ has no name for {element_type}: DLPack has"
        )));
    }
    made.set_item("typestr", dtype.getattr(intern!(py, "str"))?)?;
    made.set_item("data", (address, is_read_only))?;
    made.set_item("version", 3)?;
    made.set_item("stream", py.None())?;
    Ok(made)
}
