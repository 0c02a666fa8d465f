//! New arrays, whose elements lie without gaps.

use numpy::npyffi::{self, PY_ARRAY_API, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::{Width, reach, usual_type};
use crate::error::error;

/// A new array of 64-bit whole numbers, row-major, not yet written.
///
/// # Errors
///
/// What NumPy says, of too little memory for example.
pub fn empty_numbers<'py>(
    py: Python<'py>,
    sizes: &[usize],
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let mut counts = SmallVec::<[npy_intp; 8]>::new();
    for &size in sizes {
        counts.push(size.try_into().map_err(error)?);
    }
    // SAFETY: as in `empty`; without strides the array is row-major.
    unsafe {
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            PyUntypedArray::type_object_raw(py),
            usual_type(py, Width::Eight).clone().into_dtype_ptr(),
            counts.len() as i32,
            counts.as_ptr().cast_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            0,
            std::ptr::null_mut(),
        );
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}

/// Sizes and strides of an array whose elements lie without gaps, from its first one on.
pub struct Dense {
    width: usize,
    /// Of all elements.
    pub(super) bytes: usize,
    /// As many as `strides`, and none negative.
    sizes: SmallVec<[npy_intp; 8]>,
    /// They reach exactly as far as the elements' bytes: the constructor checked it.
    strides: SmallVec<[npy_intp; 8]>,
    is_fortran: bool,
}

impl Dense {
    /// # Errors
    ///
    /// Strides under which elements would leave gaps, overlap, or lie before the first one.
    pub fn new(sizes: &[usize], strides: &[isize], width: usize) -> PyResult<Dense> {
        let bytes = sizes
            .iter()
            .try_fold(width, |bytes, &size| bytes.checked_mul(size))
            .ok_or_else(|| error("the array is larger than the address space"))?;
        let sizes_fit = sizes.iter().all(|&size| isize::try_from(size).is_ok());
        let is_dense = reach(sizes, strides, width) == Some((0, bytes));
        if sizes.len() != strides.len() || !sizes_fit || !is_dense {
            return Err(error("a new array has its elements without gaps"));
        }
        let mut next = width as isize;
        let is_fortran = strides.iter().zip(sizes).all(|(&stride, &size)| {
            let is_next = stride == next;
            // It overflows only in arrays without elements, whose strides are no matter.
            next = next.wrapping_mul(size.max(1) as isize);
            is_next
        });
        Ok(Dense {
            width,
            bytes,
            sizes: sizes.iter().map(|&size| size as npy_intp).collect(),
            strides: strides.into(),
            is_fortran,
        })
    }
}

/// A new array, not yet written.
///
/// # Errors
///
/// A type of another width, or that holds references; what NumPy says, of too little memory for
/// example.
pub fn empty<'py>(
    dtype: Bound<'py, PyArrayDescr>,
    dense: &Dense,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = dtype.py();
    if dtype.itemsize() != dense.width || dtype.has_object() {
        return Err(error(format!(
            "expected elements of {} bytes that hold no references, found {dtype}",
            dense.width
        )));
    }
    // Column-major arrays are made faster where that is said than where strides say it.
    let (flags, strides) = match dense.is_fortran {
        true => (npyffi::NPY_ARRAY_F_CONTIGUOUS, std::ptr::null_mut()),
        false => (0, dense.strides.as_ptr().cast_mut()),
    };
    // SAFETY: the type is NumPy's array type; the function takes the reference to the descriptor
    // over, which `into_dtype_ptr` gives away. It only reads the two lists, which have as many
    // entries as the number before them says, and the second of which may be missing. Without data
    // NumPy allocates what the sizes need, and the strides stay in that, as `Dense` promises for
    // this width. No object fields are left unset: types with references were refused. The result
    // is a new reference to an array, or null with an exception set.
    unsafe {
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            PyUntypedArray::type_object_raw(py),
            dtype.into_dtype_ptr(),
            dense.sizes.len() as i32,
            dense.sizes.as_ptr().cast_mut(),
            strides,
            std::ptr::null_mut(),
            flags,
            std::ptr::null_mut(),
        );
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}
