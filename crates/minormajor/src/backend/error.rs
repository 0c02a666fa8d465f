//! Why a device could not do something.

/// Why a device could not do something. What was there before is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No device of this name.
    #[error("there is no device {name}: {reason}; the devices are {}", present.join(", "))]
    NoDevice {
        /// The name that was asked for.
        name: String,
        /// What is missing.
        reason: String,
        /// The devices that are there.
        present: Vec<String>,
    },
    /// A device of this name is there already.
    #[error("a device {name} is registered already; expected a name of its own")]
    #[allow(missing_docs)]
    NameTaken { name: String },
    /// Not enough memory.
    #[error("{device} has no {bytes} bytes left{}; free tensors, or take a smaller array", of_free(.free))]
    OutOfMemory {
        /// The device's name.
        device: String,
        /// Bytes that were asked for.
        bytes: usize,
        /// Bytes that are free, where the device says so.
        free: Option<usize>,
    },
    /// Something that the device needs is not there: a driver, a library.
    #[error("{device} needs {what}, which is not there")]
    #[allow(missing_docs)]
    Missing { device: String, what: String },
    /// Something that the device has no way for.
    #[error("{device} can't {what}")]
    #[allow(missing_docs)]
    Unsupported { device: String, what: String },
    /// A storage of another device.
    #[error("the storage is not one of {device}; move the tensor there first, with `to`")]
    #[allow(missing_docs)]
    Foreign { device: String },
    /// The device's own error.
    #[error("{device} failed: {what}")]
    #[allow(missing_docs)]
    Failed { device: String, what: String },
}

fn of_free(free: &Option<usize>) -> String {
    free.map_or_else(String::new, |free| format!(" ({free} are free)"))
}
