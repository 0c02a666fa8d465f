//! The memory of NumPy arrays: the only `unsafe` code of this crate.
//!
//! Everything else asks for a move from one array to another ([`run`]), for work on arrays of whole
//! numbers ([`with_numbers`]), for a new array ([`empty`]), or for what tensors lend and are lent
//! ([`lent`], [`dlpack`], [`card`]), all checked here.

#![allow(unsafe_code)]

pub mod card;
mod dense;
pub mod dlpack;
mod in_use;
pub mod lent;

use std::{ptr, slice};

use minormajor::{Column, Relayout, Width};
use numpy::npyffi;
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use smallvec::SmallVec;

pub use dense::{Dense, empty, empty_numbers};
use in_use::Listed;

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

/// The bytes of an array's element, without a reference to its type that would be counted.
#[inline]
pub fn width(array: &Bound<'_, PyUntypedArray>) -> usize {
    // SAFETY: as in `Region::of_elements`, `descr` is a field of the living array, and points to a living
    // type as long as no other code runs.
    unsafe {
        let descr = (*array.as_array_ptr()).fields.descr;
        npyffi::PyDataType_ELSIZE(array.py(), descr).max(0) as usize
    }
}

/// Whether an array's elements hold references to objects, found as [`width`] is.
#[inline]
pub fn has_references(array: &Bound<'_, PyUntypedArray>) -> bool {
    // SAFETY: as in `width`.
    let flags = unsafe {
        let descr = (*array.as_array_ptr()).fields.descr;
        npyffi::PyDataType_FLAGS(array.py(), descr)
    };
    flags & npyffi::NPY_ITEM_HASOBJECT != 0
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
        Region::of_elements(array, width(array))
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
    // SAFETY: both arrays live as long as this function runs, since their caller holds references,
    // with which NumPy refuses to resize them; the destination can be written, its flag says, and the
    // two do not overlap.
    unsafe { run_between(py, relayout, from, to) }
}

/// Moves `source` to a new array, as [`run`] does.
///
/// # Errors
///
/// As [`empty`] and [`run`].
pub fn run_new<'py>(
    relayout: &Relayout,
    source: &Bound<'py, PyUntypedArray>,
    dense: &Dense,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let made = empty(source.dtype(), dense)?;
    let from = Region::of(source)?;
    // SAFETY: `data` is a field that every array has.
    let data = unsafe { (*made.as_array_ptr()).fields.data }.cast::<u8>();
    let to = Region {
        start: data,
        bytes: dense.bytes,
        first: 0,
    };
    // SAFETY: as in `run`. NumPy allocated for the new array what its elements take, which is as many
    // bytes as `Dense` says; nobody else has this memory, so it does not overlap the source's.
    unsafe { run_between(source.py(), relayout, from, to)? };
    Ok(made)
}

/// Moves what lies in one region to another one.
///
/// # Safety
///
/// The regions are those of arrays that live as long as this function runs; that of the destination can
/// be written, and they do not overlap.
unsafe fn run_between(
    py: Python<'_>,
    relayout: &Relayout,
    from: Region,
    to: Region,
) -> PyResult<()> {
    if from.bytes == 0 || to.bytes == 0 {
        // There may be no memory at all. Relayouts of views write nothing else.
        return Ok(());
    }
    let is_small = to.bytes < SMALL;
    let _listed = Listed::new([from].into_iter(), [to].into_iter(), !is_small)?;
    // SAFETY: the caller's promise. NumPy promises that every element of an array is in memory that it
    // keeps alive; the bytes between two elements of one array are then too, since that memory is one
    // allocation. So `bytes` from `start` on can be read, and those of the destination written. No
    // other reference of Rust's to what is written exists: only this function makes any, it holds
    // Python's lock or is listed in `IN_USE`, and every thread of a relayout gets parts of these. Memory that is not yet written is the allocator's of a foreign library, of some
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
