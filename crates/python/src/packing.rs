//! Arrays in buffers of any layout: `pack` and `unpack`.

use minormajor::plan::{ByteOrder, ByteOrders};
use minormajor::{ArrayShape, Layout, PaddingValue, Plan, Relayout};
use numpy::{PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::array::{Moved, output};
use crate::card::Given;
use crate::dtype;
use crate::error::{self, error};
use crate::memory::Dense;
use crate::order::{Order, described};
use crate::{memory, text};

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
    let given = Given::new(array)?;
    let place = given.place();
    let (shape, view) = described(&place.dtype, &place.sizes, &place.strides)?;
    let to = crate::plan::destination_of(py, layout, &shape)?;
    let orders = ByteOrders {
        source: dtype::byte_order(&place.dtype),
        destination: ByteOrder::Little,
    };
    let array = match given {
        Given::Host(array) => array,
        Given::Card(array) => return array.pack(&view, &to, orders, out),
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
    let orders = ByteOrders {
        source: ByteOrder::Little,
        destination: dtype::byte_order(&dtype),
    };
    let order = layout.map(|layout| Order::new(&text::layout(layout)?, sizes.len()));
    let order = order.transpose()?;
    let given = match Given::new(buffer)? {
        Given::Host(array) => array,
        Given::Card(array) => return array.unpack(from, &sizes, order.as_ref(), orders, out),
    };
    let array = match out {
        Some(out) => output(out)?,
        None => {
            let rows = Order::of_letter("C", sizes.len())?;
            let strides = order
                .as_ref()
                .unwrap_or(&rows)
                .strides(&sizes, dtype.itemsize())?;
            memory::empty(
                dtype.clone(),
                &Dense::new(&sizes, &strides, dtype.itemsize())?,
            )?
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
    if order.is_some_and(|order| !order.is_met_by(&array)) {
        return Err(error("the output's strides are not those of the layout"));
    }
    let to = Moved::new(&sizes, array.strides(), dtype.itemsize()).view_as(from.element_type())?;
    let plan = Plan::converting(from, &to, orders).map_err(error::plan)?;
    let relayout = Relayout::new(&plan)
        .map_err(error::plan)?
        .threads(threads.unwrap_or(0));
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
    memory::empty(dtype, &Dense::new(&[bytes], &[1], 1)?)
}

/// An array as so many bytes, one after another.
pub fn byte_buffer<'py>(
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
