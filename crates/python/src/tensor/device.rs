//! Devices: the class `Device`, and which there are.

use minormajor::backend::DeviceError as Cause;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;
use crate::text::wrong;

/// A device of tensors. Wherever one is taken, its name will do.
///
/// >>> Device("cpu").name
/// 'cpu'
#[pyclass(frozen, eq, hash, module = "minormajor")]
#[derive(PartialEq, Eq)]
pub struct Device(minormajor::Device);

// Devices that are equal have one name.
impl std::hash::Hash for Device {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

impl Device {
    pub fn wrap(device: minormajor::Device) -> Device {
        Device(device)
    }
}

fn failed(cause: Cause) -> PyErr {
    error::tensor(cause.into())
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (name, /))]
    fn new(py: Python<'_>, name: &str) -> PyResult<Device> {
        find(py, name).map(Device)
    }

    /// Its name: 'cpu', 'cuda:0'.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// What it is, in a line for people.
    #[getter]
    fn description(&self) -> String {
        self.0.description()
    }

    /// Waits until all work on it is done. Reading a tensor waits by itself.
    ///
    /// >>> Device("cpu").synchronize()
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.synchronize()).map_err(failed)
    }

    fn __str__(&self) -> &str {
        self.0.name()
    }

    fn __repr__(&self) -> String {
        format!("Device('{}')", self.0.name())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        let name = slf.get().0.name().to_owned();
        (slf.get_type().into_any(), (name,))
    }
}

/// The devices of this machine, by name: what `devices` returns.
///
/// >>> "cpu" in devices(), devices()["cpu"]
/// (True, Device('cpu'))
#[pyclass(frozen, mapping, module = "minormajor")]
pub struct Devices(minormajor::Devices);

#[pymethods]
impl Devices {
    /// Why others are not there, by the kind of device or its name.
    ///
    /// >>> sorted(set(devices().missing) - {"cuda", "cpu:blas"})
    /// []
    #[getter]
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = PyDict::new(py);
        for (kind, reason) in self.0.missing() {
            made.set_item(kind, reason)?;
        }
        Ok(made)
    }

    fn __getitem__(&self, name: &str) -> PyResult<Device> {
        // A mapping's error; the text says what there is.
        let device = self.0.get(name);
        let missing = |cause: Cause| PyKeyError::new_err(cause.to_string());
        device.map(Device).map_err(missing)
    }

    fn __contains__(&self, name: &str) -> bool {
        self.0.get(name).is_ok()
    }

    fn __len__(&self) -> usize {
        self.0.iter().count()
    }

    /// The names.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let names: Vec<&str> = self.0.iter().map(minormajor::Device::name).collect();
        Ok(names.into_pyobject(py)?.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        self.0.to_string().trim_end().to_owned()
    }
}

/// What there is to keep tensors on, and why there is no more: a line for each.
///
/// 'cpu' is always there. 'cpu:columns' is the host too, and keeps matrices column-major, as GPUs'
/// libraries have them; to others it is a device with memory of its own. 'cpu:blas' is the host with
/// the matrix products of the system's BLAS, 'cuda:0' a card of NVIDIA's. Libraries and drivers are
/// looked for when one of these is first asked for.
///
/// >>> print(devices())
/// cpu: the host's processor, ...
/// >>> [name for name in devices() if name.startswith("cpu:c")]
/// ['cpu:columns']
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Devices> {
    py.detach(all).map(Devices).map_err(failed)
}

/// As [`devices`].
///
/// # Errors
///
/// Two devices of one name.
pub fn all() -> Result<minormajor::Devices, Cause> {
    let mut devices = minormajor::Devices::new();
    devices.register(minormajor::Device::cpu_columns())?;
    match minormajor::Device::cpu_blas() {
        Ok(device) => devices.register(device)?,
        Err(Cause::NoDevice { name, reason, .. }) => devices.register_missing(&name, reason),
        Err(other) => devices.register_missing("cpu:blas", other.to_string()),
    }
    minormajor_cuda::register(&mut devices)?;
    Ok(devices)
}

/// A device by its name. Only names that need a library make one to be looked for.
fn find(py: Python<'_>, name: &str) -> PyResult<minormajor::Device> {
    match name {
        "cpu" => Ok(minormajor::Device::cpu()),
        "cpu:columns" => Ok(minormajor::Device::cpu_columns()),
        _ => py.detach(|| all()?.get(name)).map_err(failed),
    }
}

/// A device, or its name.
///
/// # Errors
///
/// `DeviceError` for one that is not there, `TypeError` for anything else.
pub fn named(argument: &Bound<'_, PyAny>) -> PyResult<minormajor::Device> {
    if let Ok(device) = argument.cast::<Device>() {
        return Ok(device.get().0.clone());
    }
    let name: std::borrow::Cow<'_, str> = argument
        .extract()
        .map_err(|_| wrong(argument, "a device or its name, such as 'cpu'"))?;
    find(argument.py(), &name)
}

/// As [`named`]; the host where nothing is said.
pub fn named_or_cpu(argument: Option<&Bound<'_, PyAny>>) -> PyResult<minormajor::Device> {
    argument.map_or_else(|| Ok(minormajor::Device::cpu()), named)
}
