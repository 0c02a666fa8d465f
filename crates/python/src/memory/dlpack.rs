//! DLPack: the memory of tensors for other libraries, which give it back without Python.
//!
//! The structs are those of DLPack 1.0's `dlpack.h`.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::Arc;

use minormajor::ElementType;
use minormajor::backend::Storage;
use pyo3::ffi;
use pyo3::prelude::*;

use super::reach;
use crate::error::error;

/// The capsule's name, until somebody takes what is in it.
const NAME: &CStr = c"dltensor_versioned";

/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
const READ_ONLY: u64 = 1;

/// `DLTensor`, its device and type spelt out.
#[repr(C)]
struct Described {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Managed {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    flags: u64,
    tensor: Described,
}

/// What a capsule points to, and what that points to. The first field is what others see.
#[repr(C)]
struct Lease {
    managed: Managed,
    _storage: Arc<dyn Storage>,
    sizes: Box<[i64]>,
    strides: Box<[i64]>,
}

/// DLPack's code of an element type; `None` where it has none for elements in bytes of their own.
fn code(element_type: ElementType) -> Option<u8> {
    use ElementType::*;
    Some(match element_type {
        S8 | S16 | S32 | S64 => 0,
        U8 | U16 | U32 | U64 => 1,
        F16 | F32 | F64 => 2,
        Bf16 => 4,
        C64 | C128 => 5,
        Pred => 6,
        F8e3m4 => 7,
        F8e4m3 => 8,
        F8e4m3b11fnuz => 9,
        F8e4m3fn => 10,
        F8e4m3fnuz => 11,
        F8e5m2 => 12,
        F8e5m2fnuz => 13,
        F8e8m0fnu => 14,
        _ => return None,
    })
}

/// A capsule of a storage's elements, at strides in bytes from an offset, read-only. The memory lives until
/// the capsule, or who took it, lets go. `None` where the host can't read it in place, or DLPack can't say
/// what it is.
///
/// # Errors
///
/// Elements that are not in the storage.
pub fn capsule<'py>(
    py: Python<'py>,
    storage: &Arc<dyn Storage>,
    element_type: ElementType,
    sizes: &[usize],
    strides: &[isize],
    offset: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let width = element_type.byte_width() as usize;
    let (Some(bytes), Some(code)) = (storage.host_bytes(), code(element_type)) else {
        return Ok(None);
    };
    if strides.iter().any(|stride| stride % width as isize != 0) {
        return Ok(None);
    }
    let inside = reach(sizes, strides, width).is_some_and(|(lowest, length)| {
        let first = offset.checked_add_signed(lowest);
        let end = first.and_then(|first| first.checked_add(length));
        length == 0 || end.is_some_and(|end| end <= bytes.len())
    });
    if !inside || sizes.len() != strides.len() {
        return Err(error("the elements are not in the storage"));
    }
    let first = bytes.as_ptr().wrapping_add(offset);
    let mut lease = Box::new(Lease {
        managed: Managed {
            major: 1,
            minor: 0,
            context: ptr::null_mut(),
            deleter: Some(give_back),
            flags: READ_ONLY,
            tensor: Described {
                data: first.cast_mut().cast(),
                device_type: 1,
                device_id: 0,
                ndim: sizes.len() as i32,
                code,
                bits: 8 * width as u8,
                lanes: 1,
                shape: ptr::null_mut(),
                strides: ptr::null_mut(),
                byte_offset: 0,
            },
        },
        _storage: storage.clone(),
        sizes: sizes.iter().map(|&size| size as i64).collect(),
        strides: strides
            .iter()
            .map(|&step| step as i64 / width as i64)
            .collect(),
    });
    // The lists stay where they are when their owner moves.
    lease.managed.tensor.shape = lease.sizes.as_mut_ptr();
    lease.managed.tensor.strides = lease.strides.as_mut_ptr();
    let lease = Box::into_raw(lease);
    // SAFETY: the name lives for ever, the pointer is not null, and `abandon` is what a destructor shall
    // be. The result is a new reference to a capsule, or null with an exception set; then nobody else has
    // the lease, which goes back to its box.
    unsafe {
        let made = ffi::PyCapsule_New(lease.cast(), NAME.as_ptr(), Some(abandon));
        if made.is_null() {
            drop(Box::from_raw(lease));
        }
        Bound::from_owned_ptr_or_err(py, made).map(Some)
    }
}

/// The deleter that a lease has: any thread may call it, with Python's lock or without.
///
/// # Safety
///
/// The pointer is one that [`capsule`] made, and is not used again.
unsafe extern "C" fn give_back(managed: *mut Managed) {
    // SAFETY: `capsule` made it from a box of a `Lease`, whose first field it points to.
    drop(unsafe { Box::from_raw(managed.cast::<Lease>()) });
}

/// The destructor of capsules: where nobody took the lease, it ends here.
///
/// # Safety
///
/// Python calls it, with a capsule that [`capsule`] made.
unsafe extern "C" fn abandon(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule is alive while its destructor runs. Who takes a lease renames the capsule, so under
    // this name the pointer is the one that was put in, and nobody else will give it back.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            give_back(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}
