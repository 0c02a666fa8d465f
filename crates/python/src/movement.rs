//! Moving arrays in memory: `relayout`, `transpose` and `ascontiguous`.

use minormajor::Layout;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::array::{Array, output};
use crate::card::Given;
use crate::error::error;
use crate::memory;
use crate::prepared::{Prepared, Wanted, prepared};

/// Moves an array to another one of the same sizes and type, wherever the elements of both are.
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
    let wanted = Wanted::Strides(out.strides());
    let aside;
    let source = match memory::overlap(source, out)? {
        false => source,
        true => {
            aside = in_rows(source, threads)?;
            &aside
        }
    };
    let made = prepared(source, &wanted, threads)?;
    memory::run(source.py(), &made.relayout, source, out)
}

/// A copy in row-major order.
pub fn in_rows<'py>(
    source: &Bound<'py, PyUntypedArray>,
    threads: usize,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    moved(source, &*prepared(source, &Wanted::Letter("C"), threads)?)
}

/// A new array where a prepared move has its destination.
fn moved<'py>(
    source: &Bound<'py, PyUntypedArray>,
    prepared: &Prepared,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let Some(dense) = &prepared.destination else {
        return Err(error("a new array has its elements in an order"));
    };
    memory::run_new(&prepared.relayout, source, dense)
}

/// What `relayout` and its kin do once they know the order.
fn to_order<'py>(
    array: &Array<'py>,
    wanted: &Wanted<'_>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    may_copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let threads = threads.unwrap_or(0);
    let prepared = prepared(&array.array, wanted, threads)?;
    let order = prepared.order.as_ref();
    if let Some(given) = out {
        let out = output(given)?;
        if may_copy == Some(false) {
            return Err(error(
                "an output is always copied to; expected no copy=False",
            ));
        }
        let has_rank = out.ndim() == array.array.ndim();
        if has_rank && order.is_some_and(|order| !order.is_met_by(&out)) {
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
        None | Some(false) if prepared.is_there => return Ok(array.given().clone()),
        Some(false) => {
            return Err(error("the array has another order: a copy is needed"));
        }
        _ => {}
    }
    if let Some(order) = order
        && let Some(made) = array.relayout_by_owner(order.minor_to_major())?
    {
        return Ok(made);
    }
    array.like(moved(&array.array, &prepared)?.into_any())
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
    let array = match Given::new(array)? {
        Given::Host(array) => array,
        Given::Card(array) => {
            let wanted = layout.map(Wanted::new).transpose()?;
            return array.relayout(wanted.as_ref(), out, copy);
        }
    };
    match (layout, out) {
        (Some(layout), _) => to_order(&array, &Wanted::new(layout)?, out, threads, copy),
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
    let given = Given::new(array)?;
    let rank = given.rank();
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
    let wanted = Wanted::Letter(order);
    let array = match Given::new(array)? {
        Given::Host(array) => array,
        Given::Card(array) => return array.relayout(Some(&wanted), out, copy),
    };
    to_order(&array, &wanted, out, threads, copy)
}
