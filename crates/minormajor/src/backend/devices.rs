//! Devices by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use super::{Backend, CpuBackend, DeviceError};

/// A device: a shared handle on its backend.
///
/// Two handles are equal where they are of one backend object, so that tensors of both can be in
/// one operation.
#[derive(Clone, Debug)]
pub struct Device(Arc<dyn Backend>);

impl Device {
    /// The device of a backend.
    pub fn new(backend: impl Backend + 'static) -> Device {
        Device(Arc::new(backend))
    }

    /// The host's processor, row-major by preference: `cpu`. Always the same device.
    pub fn cpu() -> Device {
        static CPU: LazyLock<Device> = LazyLock::new(|| Device::new(CpuBackend::row_major()));
        CPU.clone()
    }

    /// The host's processor with another preference: `cpu:columns` keeps matrices column-major, [`Order::ColumnMajorMatrices`](crate::Order::ColumnMajorMatrices). Always the same device.
    ///
    /// It stands in for a device of its own, whose tensors are moved and relaid on their way.
    pub fn cpu_columns() -> Device {
        static CPU: LazyLock<Device> = LazyLock::new(|| Device::new(CpuBackend::column_major()));
        CPU.clone()
    }

    /// `cpu:blas`: as [`cpu`](Device::cpu), but products of f32 and f64 matrices, and those of narrower
    /// numbers that are made in f32, are the system's BLAS's: MKL, OpenBLAS or BLIS, on a Mac Accelerate,
    /// or the library that the environment's `MINORMAJOR_BLAS` names. Always the same device.
    ///
    /// Their sums may differ from `cpu`'s in the last bits, and with the number of threads.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`] where no such library is found, with the names that were looked for.
    #[cfg(feature = "blas")]
    pub fn cpu_blas() -> Result<Device, DeviceError> {
        static CPU: LazyLock<Result<Device, DeviceError>> =
            LazyLock::new(|| CpuBackend::with_blas().map(Device::new));
        CPU.clone()
    }

    /// What computes on it.
    pub fn backend(&self) -> &dyn Backend {
        &*self.0
    }

    /// Its name: `cpu`, `cuda:0`.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// What it is, in a line for people.
    pub fn description(&self) -> String {
        self.0.description()
    }

    /// Waits until all work on it is done.
    ///
    /// # Errors
    ///
    /// [`DeviceError`] of work that failed after it was started.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.0.synchronize()
    }
}

impl From<Arc<dyn Backend>> for Device {
    fn from(backend: Arc<dyn Backend>) -> Device {
        Device(backend)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The devices that a program has, by name: `cpu` always, others as they are registered.
///
/// ```
/// use minormajor::backend::Devices;
///
/// let mut devices = Devices::new();
/// assert_eq!(devices.get("cpu")?.name(), "cpu");
/// devices.register_missing("cuda", "the driver libcuda.so.1 is not installed");
/// let error = devices.get("cuda:0").unwrap_err().to_string();
/// assert_eq!(
///     error,
///     "there is no device cuda:0: the driver libcuda.so.1 is not installed; the devices are cpu"
/// );
/// # Ok::<(), minormajor::backend::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Devices {
    present: BTreeMap<String, Device>,
    /// Why there is none, by the name up to its `:`.
    missing: BTreeMap<String, String>,
}

impl Devices {
    /// The host alone.
    pub fn new() -> Devices {
        let cpu = Device::cpu();
        Devices {
            present: BTreeMap::from([(cpu.name().to_owned(), cpu)]),
            missing: BTreeMap::new(),
        }
    }

    /// Adds a device under its own name.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NameTaken`] where another one has it.
    pub fn register(&mut self, device: Device) -> Result<(), DeviceError> {
        let name = device.name().to_owned();
        match self.present.get(&name) {
            Some(found) if *found != device => Err(DeviceError::NameTaken { name }),
            _ => {
                self.present.insert(name, device);
                Ok(())
            }
        }
    }

    /// Says why there is no device of this kind (`cuda`, for any `cuda:N`) or name.
    pub fn register_missing(&mut self, kind: &str, reason: impl Into<String>) {
        self.missing.insert(kind.to_owned(), reason.into());
    }

    /// The device of this name.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`], which says what is missing and what is there.
    pub fn get(&self, name: &str) -> Result<Device, DeviceError> {
        if let Some(device) = self.present.get(name) {
            return Ok(device.clone());
        }
        let kind = name.split_once(':').map_or(name, |(kind, _)| kind);
        let reason = self.missing.get(name).or_else(|| self.missing.get(kind));
        Err(DeviceError::NoDevice {
            name: name.to_owned(),
            reason: reason
                .map_or("none of this name is registered", |reason| reason)
                .to_owned(),
            present: self.present.keys().cloned().collect(),
        })
    }

    /// All devices, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Device> {
        self.present.values()
    }

    /// What is missing: kinds of devices, each with the reason.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.missing.iter();
        pairs.map(|(kind, reason)| (kind.as_str(), reason.as_str()))
    }
}

impl Default for Devices {
    fn default() -> Devices {
        Devices::new()
    }
}

/// A line for each device that is there, and for each kind that is missing.
impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for device in self.iter() {
            writeln!(f, "{device}: {}", device.description())?;
        }
        for (kind, reason) in self.missing() {
            writeln!(f, "{kind}: missing, {reason}")?;
        }
        Ok(())
    }
}
