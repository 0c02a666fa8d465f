//! A device's memory.

use std::any::Any;
use std::fmt;

/// Memory of a device that holds an array's bytes, of the device's own type behind this trait: a
/// backend gets its own back by `(storage as &dyn Any).downcast_ref()`.
///
/// Tensors share storages; dropping the last of them gives the memory back.
pub trait Storage: Any + Send + Sync + fmt::Debug {
    /// How many bytes there are.
    fn bytes(&self) -> usize;

    /// The bytes themselves, where the host can read them in place.
    fn host_bytes(&self) -> Option<&[u8]> {
        None
    }
}
