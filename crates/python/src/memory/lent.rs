//! Arrays' bytes for tensors, and tensors' bytes as arrays.

use std::sync::Arc;

use minormajor::backend::Storage;
use numpy::npyffi::{PY_ARRAY_API, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::{Dense, Listed, Region, SMALL, empty, is_within};
use crate::error::error;

/// Calls work with the bytes from each array's lowest to its highest element. Python's lock is given up
/// while they are many.
///
/// # Errors
///
/// An array that another thread writes.
pub fn with_bytes<R: Send>(
    py: Python<'_>,
    arrays: &[&Bound<'_, PyUntypedArray>],
    work: impl Send + FnOnce(&[&[u8]]) -> R,
) -> PyResult<R> {
    let regions = arrays.iter().map(|array| Region::of(array));
    let regions: SmallVec<[Region; 8]> = regions.collect::<PyResult<_>>()?;
    let is_small = regions.iter().all(|region| region.bytes < SMALL);
    let _listed = Listed::new(regions.iter().copied(), std::iter::empty(), !is_small)?;
    // SAFETY: the caller's references keep the arrays alive and their sizes as they are; as in `run`,
    // nothing of ours writes these bytes meanwhile: Python's lock is held, or the regions are listed.
    let bytes = regions.iter().map(|region| unsafe { region.bytes() });
    let bytes: SmallVec<[&[u8]; 8]> = bytes.collect();
    Ok(match is_small {
        true => work(&bytes),
        false => py.detach(|| work(&bytes)),
    })
}

/// A new array whose bytes `write` makes, all of them in the order of memory. Python's lock is given up.
///
/// # Errors
///
/// As [`empty`].
pub fn written<'py, R: Send>(
    dtype: Bound<'py, PyArrayDescr>,
    dense: &Dense,
    write: impl Send + FnOnce(&mut [u8]) -> R,
) -> PyResult<(Bound<'py, PyUntypedArray>, R)> {
    let made = empty(dtype, dense)?;
    let region = Region::of(&made)?;
    let bytes: &mut [u8] = match region.bytes {
        0 => &mut [],
        // SAFETY: as in `run`; the array is new, so nobody else has it, and `Dense` promises that its
        // elements are all of its memory. What is not yet written is of some value.
        bytes => unsafe { std::slice::from_raw_parts_mut(region.start, bytes) },
    };
    let result = made.py().detach(|| write(bytes));
    Ok((made, result))
}

/// What keeps a storage alive for an array that shows it.
#[pyclass(frozen, module = "minormajor._core")]
struct Lent(Arc<dyn Storage>);

/// A read-only array in the memory of a storage, which lives as long as the array does; `None` where
/// the host can't read it in place.
///
/// # Errors
///
/// Elements that are not in the storage.
pub fn view<'py>(
    storage: &Arc<dyn Storage>,
    dtype: Bound<'py, PyArrayDescr>,
    sizes: &[usize],
    strides: &[isize],
    offset: usize,
) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    let py = dtype.py();
    let owner = Bound::new(py, Lent(storage.clone()))?;
    let Some(bytes) = owner.get().0.host_bytes() else {
        return Ok(None);
    };
    let inside = is_within(sizes, strides, dtype.itemsize(), offset, bytes.len());
    let sizes: Result<SmallVec<[npy_intp; 8]>, _> =
        sizes.iter().map(|&size| npy_intp::try_from(size)).collect();
    let sizes = sizes.map_err(error)?;
    if !inside || dtype.has_object() {
        return Err(error("the elements are not in the storage"));
    }
    // Without elements any address will do.
    let offset = offset.min(bytes.len());
    // SAFETY: as in `empty`, the two lists have the length that is said, and the references to the
    // descriptor and the owner are given away. The elements lie inside of `bytes`, which was checked
    // above; those are borrowed from the storage behind `owner`, which nothing changes or drops before
    // the array drops `owner`, its base. Without the flag for it, nobody writes through the array.
    unsafe {
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            PyUntypedArray::type_object_raw(py),
            dtype.into_dtype_ptr(),
            sizes.len() as i32,
            sizes.as_ptr().cast_mut(),
            strides.as_ptr().cast_mut(),
            bytes.as_ptr().add(offset).cast_mut().cast(),
            0,
            std::ptr::null_mut(),
        );
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        let base = owner.into_any().into_ptr();
        if PY_ARRAY_API.PyArray_SetBaseObject(py, made.as_ptr().cast(), base) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(Some(made.cast_into_unchecked()))
    }
}
