//! Capsules of other libraries' memory.

use std::ptr::NonNull;

use minormajor::ElementType;
use pyo3::ffi;
use pyo3::prelude::*;

use super::{CODES, Described, Managed, READ_ONLY, Unversioned, Versioned};
use crate::error::error;

/// An array in another library's memory, which stays as long as this does.
pub struct Borrowed {
    /// DLPack's kind and number of the device.
    pub device: (i32, i32),
    /// Of the first element.
    pub address: u64,
    pub element_type: ElementType,
    pub sizes: Vec<usize>,
    /// In bytes; `None` where the elements are row-major without gaps.
    pub strides: Option<Vec<isize>>,
    pub is_read_only: bool,
    /// What keeps the memory.
    pub owner: Box<dyn Send + Sync>,
}

/// What is in a capsule; it is taken out.
///
/// # Errors
///
/// What is no capsule of DLPack's, or was taken before; elements that are packed, or of no type of XLA's.
pub fn borrow(capsule: &Bound<'_, PyAny>) -> PyResult<Borrowed> {
    match take::<Versioned>(capsule)? {
        Some(taken) => Ok(taken),
        None => take::<Unversioned>(capsule)?
            .ok_or_else(|| error("expected a capsule of DLPack's that nobody has taken yet")),
    }
}

/// What was taken from a capsule: it goes back when this is dropped.
struct Taken<M: Managed>(NonNull<M>);

// SAFETY: DLPack lets any thread use what a capsule holds, and call its deleter.
unsafe impl<M: Managed> Send for Taken<M> {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl<M: Managed> Sync for Taken<M> {}

impl<M: Managed> Drop for Taken<M> {
    fn drop(&mut self) {
        // SAFETY: the pointer came out of a capsule that was renamed then, so it is ours, and is not used
        // again.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter() {
                deleter(self.0.as_ptr());
            }
        }
    }
}

fn take<M: Managed + 'static>(capsule: &Bound<'_, PyAny>) -> PyResult<Option<Borrowed>> {
    let object = capsule.as_ptr();
    // SAFETY: the object is alive; under this name a capsule's pointer is to a struct of DLPack's that nobody
    // else has taken, and the new name tells others, and the capsule's destructor, that we have.
    let mut taken = unsafe {
        if ffi::PyCapsule_IsValid(object, M::NAME.as_ptr()) != 1 {
            return Ok(None);
        }
        let pointer = ffi::PyCapsule_GetPointer(object, M::NAME.as_ptr()).cast::<M>();
        if ffi::PyCapsule_SetName(object, M::TAKEN.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        let Some(pointer) = NonNull::new(pointer) else {
            return Err(error("the capsule holds nothing"));
        };
        Taken(pointer)
    };
    // SAFETY: the pointer is to a struct that stays until `taken` is dropped, and only we have it.
    let managed = unsafe { taken.0.as_mut() };
    if let Some(major) = managed.other_version() {
        return Err(error(format!(
            "the capsule is of DLPack {major}, expected 1"
        )));
    }
    let is_read_only = managed.flags() & READ_ONLY != 0;
    // SAFETY: the struct's lists have as many numbers as it says.
    let (sizes, strides) = unsafe { lists(managed.tensor()) };
    let tensor = managed.tensor();
    let known = CODES.iter().find(|(element_type, code)| {
        *code == tensor.code && 8 * element_type.byte_width() == u32::from(tensor.bits)
    });
    let Some(&(element_type, _)) = known.filter(|_| tensor.lanes == 1) else {
        return Err(error(format!(
            "elements of DLPack's type {}, {} bits and {} lanes have no element type of XLA's",
            tensor.code, tensor.bits, tensor.lanes
        )));
    };
    let whole = |numbers: Vec<i64>| {
        let numbers = numbers.into_iter().map(usize::try_from);
        numbers.collect::<Result<Vec<_>, _>>().map_err(error)
    };
    let sizes = whole(sizes)?;
    let width = i64::from(element_type.byte_width());
    let in_bytes = |strides: Vec<i64>| {
        let strides = strides.iter().map(|stride| {
            let bytes = stride.checked_mul(width);
            bytes.and_then(|bytes| isize::try_from(bytes).ok())
        });
        let strides = strides.collect::<Option<Vec<_>>>();
        strides.ok_or_else(|| error("the array is larger than the address space"))
    };
    let address = tensor.data.expose_provenance() as u64;
    Ok(Some(Borrowed {
        device: (tensor.device_type, tensor.device_id),
        address: address.wrapping_add(tensor.byte_offset),
        element_type,
        sizes,
        strides: strides.map(in_bytes).transpose()?,
        is_read_only,
        owner: Box::new(taken),
    }))
}

/// Sizes, and strides in elements where they are said.
///
/// # Safety
///
/// The lists have as many numbers as the array has dimensions, or are missing.
unsafe fn lists(tensor: &Described) -> (Vec<i64>, Option<Vec<i64>>) {
    let rank = usize::try_from(tensor.ndim).unwrap_or(0);
    let list = |numbers: *const i64| {
        let read = |at| {
            // SAFETY: the caller's promise.
            unsafe { numbers.add(at).read() }
        };
        (rank == 0 || !numbers.is_null()).then(|| (0..rank).map(read).collect())
    };
    (list(tensor.shape).unwrap_or_default(), list(tensor.strides))
}
