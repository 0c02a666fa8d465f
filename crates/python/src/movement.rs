//! Moving arrays: `relayout`, `transpose`, `ascontiguous`, `pack` and `unpack`.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex, PoisonError};

use minormajor::plan::{ByteOrder, ByteOrders};
use minormajor::{ArrayShape, ElementType, Layout, PaddingValue, Plan, Relayout, StridedView};
use numpy::{PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::array::{Array, Moved, output};
use crate::dtype;
use crate::error::{self, error};
use crate::{memory, text};

/// Strides in bytes.
type Strides = SmallVec<[isize; 8]>;

/// An order of memory that a strided array can have: no tiles, no padding.
pub struct Target(SmallVec<[usize; 8]>);

impl Target {
    /// The order of a layout that says nothing else.
    ///
    /// # Errors
    ///
    /// A layout of another rank, or with tiles, padding or other things that strides can't say.
    fn new(argument: &Bound<'_, PyAny>, rank: usize) -> PyResult<Target> {
        let layout = text::layout(argument)?;
        if layout.rank() != rank {
            return Err(error(format!(
                "the layout {layout} has {} dimensions, the array {rank}",
                layout.rank()
            )));
        }
        Target::of_layout(&layout).ok_or_else(|| {
            error(format!(
                "the layout {layout} says more than an order, which strides can't express; \
                 `pack` makes a buffer in it"
            ))
        })
    }

    fn of_layout(layout: &Layout) -> Option<Target> {
        let order = layout.minor_to_major();
        let plain = Layout::new(order.iter().map(|&dimension| dimension as i64));
        (plain.as_ref() == Ok(layout)).then(|| Target(order.into()))
    }

    /// Row-major for `C`, column-major for `F`.
    fn of_letter(letter: &str, rank: usize) -> PyResult<Target> {
        match letter {
            "C" => Ok(Target((0..rank).rev().collect())),
            "F" => Ok(Target((0..rank).collect())),
            _ => Err(error(format!(
                "expected the order 'C' or 'F', found {letter:?}"
            ))),
        }
    }

    /// The strides of an array without gaps in this order.
    fn strides(&self, sizes: &[usize], width: usize) -> PyResult<Strides> {
        let mut strides = Strides::from_elem(0, sizes.len());
        let mut next = isize::try_from(width).ok();
        for &dimension in &self.0 {
            let stride = next.ok_or_else(|| error("the array is larger than the address space"))?;
            strides[dimension] = stride;
            let size = isize::try_from(sizes[dimension].max(1)).ok();
            next = size.and_then(|size| stride.checked_mul(size));
        }
        Ok(strides)
    }

    /// Whether an array has its elements in this order, without gaps.
    pub fn is_met_by(&self, array: &Array<'_>) -> bool {
        self.is_order_of(&array.array)
    }

    fn is_order_of(&self, array: &Bound<'_, PyUntypedArray>) -> bool {
        self.is_order_at(array.shape(), array.strides(), array.dtype().itemsize())
    }

    fn is_order_at(&self, sizes: &[usize], strides: &[isize], width: usize) -> bool {
        if sizes.contains(&0) {
            return true;
        }
        let mut expected = width as isize;
        self.0.iter().all(|&dimension| {
            let size = sizes[dimension] as isize;
            let is_next = size == 1 || strides[dimension] == expected;
            // Where it overflows there is no such array: what it is compared with is no matter.
            expected = expected.wrapping_mul(size);
            is_next
        })
    }
}

/// The array's shape, with the order of its memory as its layout; `None` where there are gaps,
/// where elements repeat or go backwards, or where XLA has no name for the type.
pub fn shape_of(array: &Array<'_>) -> PyResult<Option<ArrayShape>> {
    let array = &array.array;
    match dtype::element_type(&array.dtype())? {
        Some(element_type) => shape_at(element_type, array.shape(), array.strides()),
        None => Ok(None),
    }
}

/// The shape of an array at these strides, in bytes, as [`shape_of`].
pub fn shape_at(
    element_type: ElementType,
    sizes: &[usize],
    strides: &[isize],
) -> PyResult<Option<ArrayShape>> {
    let (rank, width) = (sizes.len(), element_type.byte_width() as usize);
    let mut sorted: Vec<usize> = (0..rank).rev().collect();
    // Where strides don't tell, the last dimension is the most minor.
    sorted.sort_by_key(|&dimension| strides[dimension]);
    let orders = [(0..rank).rev().collect(), (0..rank).collect(), sorted];
    let mut orders = orders.into_iter().map(|order| Target(order.into()));
    let Some(target) = orders.find(|order| order.is_order_at(sizes, strides, width)) else {
        return Ok(None);
    };
    let layout = Layout::new(target.0.iter().map(|&d| d as i64)).map_err(error)?;
    let sizes = sizes.iter().map(|&size| size as i64);
    let shape = ArrayShape::new(element_type, sizes).map_err(error)?;
    shape.with_layout(layout).map(Some).map_err(error)
}

/// An array's type and sizes in the default layout, and where its elements are.
///
/// # Errors
///
/// A type that has no name in XLA.
pub fn described(array: &Array<'_>) -> PyResult<(ArrayShape, StridedView)> {
    let dtype = array.array.dtype();
    let element_type = dtype::named_element_type(&dtype)?;
    let sizes = array.array.shape();
    let shape = ArrayShape::new(element_type, sizes.iter().map(|&size| size as i64));
    let shape = shape.and_then(|shape| shape.with_default_layout());
    let moved = Moved::new(sizes, array.array.strides(), dtype.itemsize());
    Ok((shape.map_err(error)?, moved.view_as(element_type)?))
}

/// What a plan between two strided arrays depends on: threads, width, rank, sizes, and strides of
/// both.
type Key = SmallVec<[i64; 32]>;

/// Plans that were made, for calls that move arrays of the same sizes again.
static PLANS: Mutex<Option<Plans>> = Mutex::new(None);

type Plans = HashMap<Key, Arc<Relayout>, BuildHasherDefault<numbers::Hasher>>;

/// More are forgotten, all at once: who moves so many different arrays gains nothing from them.
const MOST_PLANS: usize = 1 << 10;

mod numbers {
    //! A hash of numbers that nobody chooses to collide: a multiplication each.

    /// What is left of the numbers so far.
    #[derive(Default)]
    pub struct Hasher(u64);

    impl std::hash::Hasher for Hasher {
        fn finish(&self) -> u64 {
            self.0
        }

        fn write(&mut self, bytes: &[u8]) {
            for chunk in bytes.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                self.write_u64(u64::from_le_bytes(word));
            }
        }

        fn write_u64(&mut self, word: u64) {
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }

        fn write_usize(&mut self, word: usize) {
            self.write_u64(word as u64);
        }
    }
}

/// The relayout between two arrays of the same sizes and width, each from its lowest element on.
fn prepared(
    sizes: &[usize],
    source: &[isize],
    destination: &[isize],
    width: usize,
    threads: usize,
) -> PyResult<Arc<Relayout>> {
    let mut key = Key::with_capacity(3 + 3 * sizes.len());
    key.extend([threads as i64, width as i64, sizes.len() as i64]);
    key.extend(sizes.iter().map(|&size| size as i64));
    key.extend(
        source
            .iter()
            .chain(destination)
            .map(|&stride| stride as i64),
    );
    let lock = || PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().get_or_insert_default().get(&key) {
        return Ok(known.clone());
    }
    let (from, to) = (
        Moved::new(sizes, source, width),
        Moved::new(sizes, destination, width),
    );
    let plan = Plan::new(&from.view()?, &to.view()?).map_err(error::plan)?;
    let relayout = Relayout::new(&plan).map_err(error::plan)?.threads(threads);
    let relayout = Arc::new(relayout);
    let mut plans = lock();
    let plans = plans.get_or_insert_default();
    if plans.len() >= MOST_PLANS {
        plans.clear();
    }
    plans.insert(key, relayout.clone());
    Ok(relayout)
}

/// Moves an array to another one of the same sizes and type, wherever the elements of both are.
fn copy(
    source: &Bound<'_, PyUntypedArray>,
    destination: &Bound<'_, PyUntypedArray>,
    threads: usize,
) -> PyResult<()> {
    let dtype = source.dtype();
    let relayout = prepared(
        source.shape(),
        source.strides(),
        destination.strides(),
        dtype.itemsize(),
        threads,
    )?;
    memory::run(source.py(), &relayout, source, destination)
}

/// As [`copy`], for an output that may have memory in common with the source.
fn copy_out(
    source: &Bound<'_, PyUntypedArray>,
    out: &Bound<'_, PyUntypedArray>,
    threads: usize,
) -> PyResult<()> {
    if source.shape() != out.shape() {
        return Err(error(format!(
            "the output has the shape {:?}, the array {:?}",
            out.shape(),
            source.shape()
        )));
    }
    let (type_, other) = (source.dtype(), out.dtype());
    if !type_.is_equiv_to(&other) {
        return Err(error(format!(
            "the output is of {other}, the array of {type_}"
        )));
    }
    if !memory::overlap(source, out)? {
        return copy(source, out, threads);
    }
    let target = Target::of_letter("C", source.ndim())?;
    let aside = moved(source, &target, threads)?;
    copy(&aside, out, threads)
}

/// A new array in this order.
fn moved<'py>(
    source: &Bound<'py, PyUntypedArray>,
    target: &Target,
    threads: usize,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let dtype = source.dtype();
    let strides = target.strides(source.shape(), dtype.itemsize())?;
    let made = memory::empty(dtype, source.shape(), &strides)?;
    copy(source, &made, threads)?;
    Ok(made)
}

/// What `relayout` and its kin do once they know the order.
fn to_order<'py>(
    array: &Array<'py>,
    target: &Target,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    may_copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let threads = threads.unwrap_or(0);
    let is_there = target.is_met_by(array);
    if let Some(given) = out {
        let out = output(given)?;
        if may_copy == Some(false) {
            return Err(error(
                "an output is always copied to; expected no copy=False",
            ));
        }
        if !target.is_order_of(&out) {
            return Err(error(format!(
                "the output's strides {:?} are not those of the order that is asked for; \
                 without a layout any strides will do",
                out.strides()
            )));
        }
        copy_out(&array.array, &out, threads)?;
        return Ok(given.clone());
    }
    match may_copy {
        None | Some(false) if is_there => return Ok(array.given().clone()),
        Some(false) => {
            return Err(error("the array has another order: a copy is needed"));
        }
        _ => {}
    }
    if let Some(made) = array.relayout_by_owner(&target.0)? {
        return Ok(made);
    }
    array.like(moved(&array.array, target, threads)?.into_any())
}

/// The same values and shape in another order of memory.
///
/// The layout is XLA's, its text or its minor-to-major order: '{0,1}' is column-major. An array that
/// has that order already is returned itself, unless copy is True; copy=False refuses to copy. With
/// an output, which must have that order, that is written and returned; without a layout its strides
/// may be any. Results are of the same kind as the array: NumPy's, PyTorch's, JAX's. threads is the
/// most threads to use; as many as the machine runs at once if nothing is said.
///
/// >>> import numpy
/// >>> rows = numpy.arange(6).reshape(2, 3)
/// >>> columns = relayout(rows, "{0,1}")
/// >>> columns.strides, bool((rows == columns).all())
/// ((8, 16), True)
/// >>> relayout(columns, "{0,1}") is columns
/// True
#[pyfunction]
#[pyo3(signature = (array, layout = None, out = None, threads = None, *, copy = None))]
pub fn relayout<'py>(
    array: &Bound<'py, PyAny>,
    layout: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = Array::new(array)?;
    match (layout, out) {
        (Some(layout), _) => {
            let target = Target::new(layout, array.array.ndim())?;
            to_order(&array, &target, out, threads, copy)
        }
        (None, Some(out)) => {
            copy_out(&array.array, &output(out)?, threads.unwrap_or(0))?;
            Ok(out.clone())
        }
        (None, None) => Err(error("expected a layout, an output, or both")),
    }
}

/// The array with its dimensions in another order: dimension i is dimension axes[i] of the array,
/// all of them backwards where no axes are given. A view, which moves nothing, unless a layout or an
/// output is given: then moved to it as relayout does.
///
/// >>> import numpy
/// >>> images = numpy.zeros((8, 3, 5, 7), numpy.float32)
/// >>> transpose(images, (0, 2, 3, 1)).base is images  # NHWC, a view
/// True
/// >>> transpose(images, (0, 2, 3, 1), "{3,2,1,0}").strides  # NHWC in memory
/// (420, 84, 12, 4)
#[pyfunction]
#[pyo3(signature = (array, axes = None, layout = None, out = None, threads = None))]
pub fn transpose<'py>(
    array: &Bound<'py, PyAny>,
    axes: Option<Vec<i64>>,
    layout: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = Array::new(array)?;
    let rank = given.array.ndim();
    let axes = match axes {
        Some(axes) => crate::shape::resolved(&axes, rank)?,
        None => (0..rank as i64).rev().collect(),
    };
    if axes.len() != rank {
        return Err(error(format!(
            "{} axes; expected one for each of the {rank} dimensions",
            axes.len()
        )));
    }
    // Says which axis is there twice.
    Layout::new(axes.iter().copied()).map_err(error)?;
    let view = given.transposed(&axes)?;
    match (layout, out) {
        (None, None) => Ok(view),
        _ => relayout(&view, layout, out, threads, None),
    }
}

/// The array without gaps in memory, row-major for order 'C', column-major for 'F'; the array itself
/// where it is already. As relayout otherwise.
///
/// >>> import numpy
/// >>> ascontiguous(numpy.zeros((4, 6))[::2, ::-1]).strides
/// (48, 8)
#[pyfunction]
#[pyo3(signature = (array, order = "C", out = None, threads = None, *, copy = None))]
pub fn ascontiguous<'py>(
    array: &Bound<'py, PyAny>,
    order: &str,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = Array::new(array)?;
    let target = Target::of_letter(order, array.array.ndim())?;
    to_order(&array, &target, out, threads, copy)
}

/// The bytes of the array in any layout, tiled, padded or with packed elements: an array of
/// numpy.uint8, allocated_bytes long.
///
/// The layout may be a shape too; of another element type, f32, f16 and bf16 are converted. What is
/// big-endian becomes little-endian, as XLA's buffers are. Padding of an unknown value is zero in
/// new buffers, and left alone in an output.
///
/// >>> import numpy
/// >>> letters = numpy.frombuffer(b"abcdef", numpy.uint8).reshape(2, 3)
/// >>> pack(letters, "{0,1:PAD(3,5)}").tobytes()
/// b'ad\x00be\x00cf\x00\x00\x00\x00\x00\x00\x00'
#[pyfunction]
#[pyo3(signature = (array, layout, out = None, threads = None))]
pub fn pack<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    layout: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = Array::new(array)?;
    let (shape, view) = described(&array)?;
    let to = crate::plan::destination_of(py, layout, &shape)?;
    let orders = ByteOrders {
        source: dtype::byte_order(&array.array.dtype()),
        destination: ByteOrder::Little,
    };
    let plan = Plan::converting(&view, &to, orders).map_err(error::plan)?;
    let relayout = Relayout::new(&plan)
        .map_err(error::plan)?
        .threads(threads.unwrap_or(0));
    let bytes = relayout.destination_bytes();
    let (buffer, given) = match out {
        Some(given) => (byte_buffer(&output(given)?, bytes)?, given.clone()),
        None => {
            let buffer = new_bytes(py, bytes, &to)?;
            (buffer.clone(), buffer.into_any())
        }
    };
    memory::run(py, &relayout, &array.array, &buffer)?;
    Ok(given)
}

/// The array in a buffer of bytes that `pack`, or a device, wrote in a shape's layout.
///
/// The buffer is anything with as many bytes as the shape allocates, one after another. The array is
/// NumPy's, row-major or in the given layout.
///
/// >>> unpack(b"ad.be.cf.......", "u8[2,3]{0,1:PAD(3,5)}").tobytes()
/// b'abcdef'
#[pyfunction]
#[pyo3(signature = (buffer, shape, layout = None, out = None, threads = None))]
pub fn unpack<'py>(
    py: Python<'py>,
    buffer: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    layout: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = text::shape(shape)?;
    let from = shape.as_array().map_err(error)?;
    let sizes = from.sizes().map_err(error)?;
    let sizes: SmallVec<[usize; 8]> = sizes.iter().map(|&size| size as usize).collect();
    let dtype = dtype::dtype_of(py, from.element_type())?;
    let array = match out {
        Some(out) => output(out)?,
        None => {
            let target = match layout {
                Some(layout) => Target::new(layout, sizes.len())?,
                None => Target::of_letter("C", sizes.len())?,
            };
            let strides = target.strides(&sizes, dtype.itemsize())?;
            memory::empty(dtype.clone(), &sizes, &strides)?
        }
    };
    if array.shape() != &sizes[..] || !array.dtype().is_equiv_to(&dtype) {
        return Err(error(format!(
            "the output is of {} and the shape {:?}; expected {dtype} and {:?}",
            array.dtype(),
            array.shape(),
            &sizes[..]
        )));
    }
    if let (Some(layout), Some(_)) = (layout, out)
        && !Target::new(layout, sizes.len())?.is_order_of(&array)
    {
        return Err(error("the output's strides are not those of the layout"));
    }
    let to = Moved::new(&sizes, array.strides(), dtype.itemsize()).view_as(from.element_type())?;
    let native = dtype::byte_order(&dtype);
    let orders = ByteOrders {
        source: ByteOrder::Little,
        destination: native,
    };
    let plan = Plan::converting(from, &to, orders).map_err(error::plan)?;
    let relayout = Relayout::new(&plan)
        .map_err(error::plan)?
        .threads(threads.unwrap_or(0));
    let given = Array::new(buffer)?;
    let source = byte_buffer(&given.array, relayout.source_bytes())?;
    memory::run(py, &relayout, &source, &array)?;
    Ok(out.cloned().unwrap_or_else(|| array.into_any()))
}

/// A new buffer of bytes; of zeros where the layout leaves some alone.
fn new_bytes<'py>(
    py: Python<'py>,
    bytes: usize,
    shape: &ArrayShape,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let padding = shape.layout().and_then(Layout::padding_value);
    let dtype = numpy::dtype::<u8>(py);
    if padding == Some(PaddingValue::Unknown) {
        let zeros = numpy::PyArray1::<u8>::zeros(py, bytes, false);
        return Ok(zeros.as_untyped().clone());
    }
    memory::empty(dtype, &[bytes], &[1])
}

/// An array as so many bytes, one after another.
fn byte_buffer<'py>(
    array: &Bound<'py, PyUntypedArray>,
    expected: usize,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let found = array.len() * array.dtype().itemsize();
    if found != expected {
        return Err(error(format!(
            "the buffer has {found} bytes; expected {expected}, as the shape allocates"
        )));
    }
    if !array.is_contiguous() {
        return Err(error("the buffer has gaps between its elements"));
    }
    Ok(array.clone())
}
