//! Memory of cards that arrays of other libraries have.

use std::any::Any;
use std::sync::Arc;

use minormajor::Device;
use minormajor::backend::{DeviceError, Storage};
use minormajor_cuda::CudaBackend;
use pyo3::prelude::*;

use super::dlpack::{CARD, Home};
use crate::error;

/// The device as a card of NVIDIA's.
pub fn card(device: &Device) -> Option<&CudaBackend> {
    (device.backend() as &dyn Any).downcast_ref()
}

/// Where a storage of a card is, once all work on it is done; `None` on other devices.
///
/// # Errors
///
/// The faults of earlier work.
pub fn home(device: &Device, storage: &dyn Storage) -> PyResult<Option<Home>> {
    let Some(card) = card(device) else {
        return Ok(None);
    };
    let address = card.lend(storage).map_err(failed)?;
    Ok(Some(Home {
        device: (CARD, card.ordinal() as i32),
        address,
    }))
}

/// Memory of an array that another library has on a card. Who has the array must not write to it, or give it
/// back by other means than its owner, as long as the storage is used: it is no different for NumPy's arrays.
///
/// # Errors
///
/// Memory that is not the card's.
pub fn borrow(
    card: &CudaBackend,
    address: u64,
    bytes: usize,
    owner: Box<dyn Send + Sync>,
) -> PyResult<Arc<dyn Storage>> {
    // SAFETY: DLPack and `__cuda_array_interface__` promise that the elements of an array are in memory that
    // its owner keeps; the bytes between two of them are then too, since that memory is one allocation. That
    // the first and the last byte are the card's is checked there.
    unsafe { card.borrow(address, bytes, owner) }.map_err(failed)
}

pub fn failed(cause: DeviceError) -> PyErr {
    error::tensor(cause.into())
}
