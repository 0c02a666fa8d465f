//! The memory of NumPy arrays: the only `unsafe` code of this crate.
//!
//! Everything else asks for a move from one array to another ([`run`]), for work on arrays of whole
//! numbers ([`with_numbers`]), for a new array ([`empty`]), or for what tensors lend and are lent
//! ([`lent`], [`dlpack`], [`card`]), all checked here.

#![allow(unsafe_code)]

pub mod card;
pub mod dlpack;
pub mod lent;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{ptr, slice};

use minormajor::{Column, Relayout, Width};
use numpy::npyffi::{self, PY_ARRAY_API, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use smallvec::SmallVec;

use crate::error::{error, plan};

/// Moves of fewer bytes keep Python's lock: giving it up and waiting for it takes longer.
const SMALL: usize = 1 << 16;

/// The bytes from an array's lowest to behind its highest element, relative to its first element;
/// an empty range for an array without elements.
///
/// An array's reach fits the address space, since its elements are in memory: NumPy checks that
/// where it makes one. What an array claims beyond that is refused.
#[inline]
fn reach(sizes: &[usize], strides: &[isize], width: usize) -> Option<(isize, usize)> {
    let (mut lowest, mut highest, mut fits) = (0isize, width as isize, true);
    for (&size, &stride) in sizes.iter().zip(strides) {
        if size == 0 {
            return Some((0, 0));
        }
        let (last, is_large) = ((size - 1) as isize).overflowing_mul(stride);
        let end = if last < 0 { &mut lowest } else { &mut highest };
        let (sum, is_far) = end.overflowing_add(last);
        *end = sum;
        fits &= !(is_large | is_far) && size <= isize::MAX as usize;
    }
    let (bytes, is_far) = highest.overflowing_sub(lowest);
    match fits && !is_far && width <= isize::MAX as usize {
        _ if width == 0 => Some((0, 0)),
        true => Some((lowest, bytes as usize)),
        false => None,
    }
}

/// As [`reach`].
///
/// # Errors
///
/// An array that is larger than the address space.
pub fn extent(sizes: &[usize], strides: &[isize], width: usize) -> PyResult<(isize, usize)> {
    reach(sizes, strides, width)
        .ok_or_else(|| error("the array's strides reach beyond the address space"))
}

/// Whether all elements lie in so many bytes, the first at an offset.
fn is_within(
    sizes: &[usize],
    strides: &[isize],
    width: usize,
    offset: usize,
    bytes: usize,
) -> bool {
    let end = |(lowest, length): (isize, usize)| match length {
        // There is no element to lie anywhere.
        0 => Some(0),
        _ => offset.checked_add_signed(lowest)?.checked_add(length),
    };
    let end = reach(sizes, strides, width).and_then(end);
    sizes.len() == strides.len() && end.is_some_and(|end| end <= bytes)
}

/// Where an array's bytes are.
#[derive(Clone, Copy)]
struct Region {
    start: *mut u8,
    bytes: usize,
    /// Of the array's first element, from `start`.
    first: usize,
}

// SAFETY: a region is two numbers; what is done with its address is `run`'s.
unsafe impl Send for Region {}

impl Region {
    fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Region> {
        Region::of_elements(array, array.dtype().itemsize())
    }

    /// As `of`, where it is known how wide the elements are.
    #[inline]
    fn of_elements(array: &Bound<'_, PyUntypedArray>, width: usize) -> PyResult<Region> {
        let (lowest, bytes) = extent(array.shape(), array.strides(), width)?;
        // SAFETY: `as_array_ptr` points to the array object that `array` keeps alive, and `data` is
        // a field that every array has.
        let data = unsafe { (*array.as_array_ptr()).fields.data }.cast::<u8>();
        Ok(Region {
            start: data.wrapping_offset(lowest),
            bytes,
            first: lowest.unsigned_abs(),
        })
    }

    /// Its bytes, to be read.
    ///
    /// # Safety
    ///
    /// Nothing writes them as long as `'a` lasts, and the array lives.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.bytes == 0 {
            // There may be no memory at all.
            return &[];
        }
        // SAFETY: NumPy promises that every element of an array is in memory that it keeps alive; the
        // bytes between two elements of one array are then too, since that memory is one allocation.
        unsafe { slice::from_raw_parts(self.start.cast_const(), self.bytes) }
    }

    fn overlaps(self, other: Region) -> bool {
        let (a, b) = (self.start as usize, other.start as usize);
        a < b + other.bytes && b < a + self.bytes
    }
}

/// What threads that gave up Python's lock read and write at this moment.
static IN_USE: Mutex<Vec<InUse>> = Mutex::new(Vec::new());

/// How many they are. It becomes more only under Python's lock, so who holds that may trust a 0.
static LISTED: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Copy)]
struct InUse {
    region: Region,
    is_written: bool,
    /// Equal for all that one thread uses at once.
    by: u64,
}

/// Memory that is in [`IN_USE`] as long as this lives.
struct Listed(u64);

impl Listed {
    /// # Errors
    ///
    /// Where another thread writes what this one reads, or touches what it writes.
    fn new(
        read: impl Iterator<Item = Region>,
        written: impl Iterator<Item = Region>,
        keep: bool,
    ) -> PyResult<Option<Listed>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if !keep && LISTED.load(Ordering::Acquire) == 0 {
            return Ok(None);
        }
        let by = NEXT.fetch_add(1, Ordering::Relaxed);
        let used = |is_written| {
            move |region| InUse {
                region,
                is_written,
                by,
            }
        };
        let mine = read.map(used(false)).chain(written.map(used(true)));
        let mine: SmallVec<[InUse; 8]> = mine.collect();
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let clashes = |other: &InUse| {
            mine.iter().any(|one| {
                (one.is_written || other.is_written) && one.region.overlaps(other.region)
            })
        };
        if in_use.iter().any(clashes) {
            return Err(error("another thread is moving bytes of this memory"));
        }
        Ok(keep.then(|| {
            in_use.extend(mine);
            LISTED.store(in_use.len(), Ordering::Release);
            Listed(by)
        }))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|used| used.by != self.0);
        LISTED.store(in_use.len(), Ordering::Release);
    }
}

/// Whether the bytes between two arrays' lowest and highest elements have any in common.
pub fn overlap(
    one: &Bound<'_, PyUntypedArray>,
    other: &Bound<'_, PyUntypedArray>,
) -> PyResult<bool> {
    Ok(Region::of(one)?.overlaps(Region::of(other)?))
}

fn has_flags(array: &Bound<'_, PyUntypedArray>, flags: i32) -> bool {
    // SAFETY: as in `Region::of`, `flags` is a field of the living array.
    unsafe { (*array.as_array_ptr()).fields.flags & flags == flags }
}

/// Moves `source` to `destination` as a relayout between two buffers that begin at the lowest
/// elements of the two says. Python's lock is given up while many bytes move.
///
/// Other threads may read `source` meanwhile. One that writes to either array by other means gets a
/// mix, as everywhere in NumPy.
///
/// # Errors
///
/// A destination that can't be written, or has memory in common with the source, or with what
/// another thread moves; arrays that do not have the bytes of the relayout.
pub fn run(
    py: Python<'_>,
    relayout: &Relayout,
    source: &Bound<'_, PyUntypedArray>,
    destination: &Bound<'_, PyUntypedArray>,
) -> PyResult<()> {
    let [from, to] = [Region::of(source)?, Region::of(destination)?];
    if from.overlaps(to) {
        return Err(error("source and destination have memory in common"));
    }
    if !has_flags(destination, npyffi::NPY_ARRAY_WRITEABLE) {
        return Err(error("the destination is read-only"));
    }
    if from.bytes == 0 || to.bytes == 0 {
        // There may be no memory at all. Relayouts of views write nothing else.
        return Ok(());
    }
    let is_small = to.bytes < SMALL;
    let _listed = Listed::new([from].into_iter(), [to].into_iter(), !is_small)?;
    // SAFETY: both arrays live as long as this function runs, since their caller holds references,
    // with which NumPy refuses to resize them. NumPy promises that every element of an array is in
    // memory that it keeps alive; the bytes between two elements of one array are then too, since
    // that memory is one allocation. So `bytes` from `start` on can be read, and those of
    // `destination` written, its flag says. The two do not overlap, and no other reference of Rust's
    // to what is written exists: only this function makes any, it holds Python's lock or is listed
    // in `IN_USE`, and every thread of a relayout gets parts of these. Memory that is not yet written is the allocator's of a foreign library, of some
    // value as far as the compiler can know, and any value is a `u8`.
    let (source, destination) = unsafe {
        (
            slice::from_raw_parts(from.start.cast_const(), from.bytes),
            slice::from_raw_parts_mut(to.start, to.bytes),
        )
    };
    let result = if is_small {
        relayout.run(source, destination)
    } else {
        py.detach(|| relayout.run(source, destination))
    };
    result.map_err(plan)
}

/// How wide an array's elements are, where they are whole numbers with a sign, of 32 or 64 bits, in
/// this machine's order of bytes.
#[inline]
pub fn whole_numbers(array: &Bound<'_, PyUntypedArray>) -> Option<Width> {
    // SAFETY: as in `Region::of_elements`, `descr` is a field of the living array.
    let given = unsafe { (*array.as_array_ptr()).fields.descr };
    let usual = |width| ptr::eq(given, usual_type(array.py(), width).as_dtype_ptr());
    if usual(Width::Eight) {
        return Some(Width::Eight);
    }
    if usual(Width::Four) {
        return Some(Width::Four);
    }
    let dtype = array.dtype();
    let width = match (dtype.kind(), dtype.itemsize()) {
        (b'i', 4) => Width::Four,
        (b'i', 8) => Width::Eight,
        _ => return None,
    };
    (dtype.is_native_byteorder() != Some(false)).then_some(width)
}

/// The object that most arrays of these numbers have as their type: found once, since asking a type
/// what it is takes longer than comparing it.
#[inline]
fn usual_type<'py>(py: Python<'py>, width: Width) -> &'py Bound<'py, PyArrayDescr> {
    static FOUR: PyOnceLock<Py<PyArrayDescr>> = PyOnceLock::new();
    static EIGHT: PyOnceLock<Py<PyArrayDescr>> = PyOnceLock::new();
    let found = match width {
        Width::Four => FOUR.get_or_init(py, || numpy::dtype::<i32>(py).unbind()),
        Width::Eight => EIGHT.get_or_init(py, || numpy::dtype::<i64>(py).unbind()),
    };
    found.bind(py)
}

/// Some numbers of an array: a column.
pub struct Numbers<'a, 'py> {
    pub array: &'a Bound<'py, PyUntypedArray>,
    pub width: Width,
    /// Of the first one, in bytes from the array's first element.
    pub first: isize,
    /// From one to the next, in bytes.
    pub step: isize,
    pub rows: usize,
}

impl Numbers<'_, '_> {
    /// The column in the bytes of its array.
    fn column<'a>(&self, bytes: &'a [u8], region: Region) -> PyResult<Column<'a>> {
        let first = region.first.checked_add_signed(self.first);
        first
            .and_then(|first| Column::new(bytes, self.width, first, self.step, self.rows))
            .ok_or_else(|| error("the column is not in the array"))
    }
}

/// Calls work with columns that it reads, and the elements of arrays that it writes. Python's lock is
/// given up where `is_long`.
///
/// `read` says which columns; it is called twice, since lists of them take longer to hand over than
/// small batches take to convert.
///
/// # Errors
///
/// Outputs that are not arrays of 64-bit whole numbers one after the other, that can't be written, or
/// that have memory in common with each other, with what is read, or with what another thread moves;
/// columns that are not in their arrays.
pub fn with_numbers<'a, 'py: 'a, R: Send, I: Iterator<Item = Numbers<'a, 'py>>>(
    py: Python<'py>,
    read: impl Fn() -> I,
    written: &[Bound<'py, PyUntypedArray>],
    is_long: bool,
    work: impl Send + FnOnce(&[Column<'_>], &mut [&mut [i64]]) -> R,
) -> PyResult<R> {
    let (mut from, mut to) = (
        SmallVec::<[Region; 8]>::new(),
        SmallVec::<[Region; 8]>::new(),
    );
    for numbers in read() {
        if whole_numbers(numbers.array) != Some(numbers.width) {
            return Err(error("the column is of other numbers than its array"));
        }
        from.push(Region::of_elements(numbers.array, numbers.width.bytes())?);
    }
    for array in written {
        const WANTED: i32 = npyffi::NPY_ARRAY_C_CONTIGUOUS | npyffi::NPY_ARRAY_ALIGNED;
        if whole_numbers(array) != Some(Width::Eight) || !has_flags(array, WANTED) {
            return Err(error(format!(
                "expected an output of int64 without gaps, found {} with the strides {:?}",
                array.dtype(),
                array.strides()
            )));
        }
        if !has_flags(array, npyffi::NPY_ARRAY_WRITEABLE) {
            return Err(error("the output is read-only"));
        }
        let region = Region::of_elements(array, Width::Eight.bytes())?;
        if from.iter().chain(&to).any(|other| other.overlaps(region)) {
            return Err(error("an output has memory in common with another array"));
        }
        to.push(region);
    }
    let _listed = Listed::new(from.iter().copied(), to.iter().copied(), is_long)?;
    let (mut columns, mut outputs) = (SmallVec::<[_; 8]>::new(), SmallVec::<[_; 8]>::new());
    for (numbers, &region) in read().zip(&from) {
        // SAFETY: as in `run`: the callers' references keep all arrays alive, no output overlaps
        // anything else that is used here, and no other thread that gave up Python's lock uses what is
        // written, or writes what is read. That `read` says the same again does not matter: the
        // region is of the first time, and the column is made only where it lies in it.
        let bytes = unsafe { region.bytes() };
        columns.push(numbers.column(bytes, region)?);
    }
    for region in &to {
        outputs.push(match region.bytes {
            0 => &mut [][..],
            // SAFETY: as above; the array's flags say that its numbers are aligned, writable, and lie
            // one after the other, so that they are all of its memory. What is not yet written is of
            // some value as far as the compiler can know, and any is a number.
            bytes => unsafe { slice::from_raw_parts_mut(region.start.cast::<i64>(), bytes / 8) },
        });
    }
    Ok(match is_long {
        false => work(&columns, &mut outputs),
        true => py.detach(|| work(&columns, &mut outputs)),
    })
}

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
