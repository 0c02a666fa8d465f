//! Capsules of our own memory.

use std::ptr;
use std::sync::Arc;

use minormajor::ElementType;
use minormajor::backend::Storage;
use pyo3::ffi;
use pyo3::prelude::*;

use super::{CODES, Described, HOST, Managed, READ_ONLY, Unversioned, Versioned};
use crate::error::error;
use crate::memory::is_within;

/// Where a storage is: DLPack's kind and number of the device, and the address there.
#[derive(Clone, Copy)]
pub struct Home {
    pub device: (i32, i32),
    pub address: u64,
}

impl Home {
    /// Of what the host reads in place.
    pub fn on_host(storage: &dyn Storage) -> Option<Home> {
        storage.host_bytes().map(|bytes| Home {
            device: (HOST, 0),
            address: bytes.as_ptr().expose_provenance() as u64,
        })
    }
}

/// What a capsule points to, and what that points to. The first field is what others see.
#[repr(C)]
struct Lease<M> {
    managed: M,
    _storage: Arc<dyn Storage>,
    sizes: Box<[i64]>,
    strides: Box<[i64]>,
}

/// A capsule of a storage's elements, at strides in bytes from an offset. The memory lives until the capsule,
/// or who took it, lets go. Read-only where it is not writable, which needs `is_versioned` to be told. `None`
/// where DLPack can't say what it is.
///
/// # Errors
///
/// Elements that are not in the storage.
#[allow(clippy::too_many_arguments)]
pub fn capsule<'py>(
    py: Python<'py>,
    (storage, home): (&Arc<dyn Storage>, Home),
    element_type: ElementType,
    (sizes, strides, offset): (&[usize], &[isize], usize),
    is_writable: bool,
    is_versioned: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let width = element_type.byte_width() as usize;
    let code = CODES.iter().find(|(known, _)| *known == element_type);
    let is_whole = strides.iter().all(|stride| stride % width as isize == 0);
    let Some(&(_, code)) = code.filter(|_| is_whole && (is_writable || is_versioned)) else {
        return Ok(None);
    };
    if !is_within(sizes, strides, width, offset, storage.bytes()) {
        return Err(error("the elements are not in the storage"));
    }
    let address = home.address as usize + offset;
    let tensor = Described {
        data: ptr::with_exposed_provenance_mut(address),
        device_type: home.device.0,
        device_id: home.device.1,
        ndim: sizes.len() as i32,
        code,
        bits: 8 * width as u8,
        lanes: 1,
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let sizes = sizes.iter().map(|&size| size as i64).collect();
    let strides = strides.iter().map(|&step| step as i64 / width as i64);
    let strides = strides.collect();
    let made = match is_versioned {
        true => Lease {
            managed: Versioned {
                major: 1,
                minor: 0,
                context: ptr::null_mut(),
                deleter: Some(give_back::<Versioned>),
                flags: if is_writable { 0 } else { READ_ONLY },
                tensor,
            },
            _storage: storage.clone(),
            sizes,
            strides,
        }
        .capsule(py),
        false => Lease {
            managed: Unversioned {
                tensor,
                context: ptr::null_mut(),
                deleter: Some(give_back::<Unversioned>),
            },
            _storage: storage.clone(),
            sizes,
            strides,
        }
        .capsule(py),
    };
    made.map(Some)
}

impl<M: Managed> Lease<M> {
    fn capsule(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let mut lease = Box::new(self);
        // The lists stay where they are when their owner moves.
        lease.managed.tensor().shape = lease.sizes.as_mut_ptr();
        lease.managed.tensor().strides = lease.strides.as_mut_ptr();
        let lease = Box::into_raw(lease);
        // SAFETY: the name lives for ever, the pointer is not null, and `abandon` is what a destructor shall
        // be. The result is a new reference to a capsule, or null with an exception set; then nobody else has
        // the lease, which goes back to its box.
        unsafe {
            let made = ffi::PyCapsule_New(lease.cast(), M::NAME.as_ptr(), Some(abandon::<M>));
            if made.is_null() {
                drop(Box::from_raw(lease));
            }
            Bound::from_owned_ptr_or_err(py, made)
        }
    }
}

/// The deleter that a lease has: any thread may call it, with Python's lock or without.
///
/// # Safety
///
/// The pointer is one that [`capsule`] made, and is not used again.
unsafe extern "C" fn give_back<M>(managed: *mut M) {
    // SAFETY: `capsule` made it from a box of a `Lease<M>`, whose first field it points to.
    drop(unsafe { Box::from_raw(managed.cast::<Lease<M>>()) });
}

/// The destructor of capsules: where nobody took the lease, it ends here.
///
/// # Safety
///
/// Python calls it, with a capsule that [`capsule`] made.
unsafe extern "C" fn abandon<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule is alive while its destructor runs. Who takes a lease renames the capsule, so under
    // this name the pointer is the one that was put in, and nobody else will give it back.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            give_back::<M>(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
        }
    }
}
