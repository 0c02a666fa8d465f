//! Many indices at once: `ravel_index` and `unravel_index`.

use minormajor::{ArrayShape, BatchMap, ElementType};
use numpy::{
    IxDyn, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::error;
use crate::shape::Shape;
use crate::text;

/// Batches below this many numbers keep Python's lock.
const SMALL: usize = 1 << 14;

/// The positions in memory of many indices, as NumPy's ravel_multi_index takes them: an array (or
/// anything that becomes one) for each dimension. Positions count elements of the shape's buffer,
/// tiles and padding counted. A tuple of sizes stands for the row-major array of these.
///
/// A Shape keeps what it learned of itself for the next call; its text does not.
///
/// >>> import numpy
/// >>> shape = Shape("f32[3,5]{1,0:T(2,2)}")
/// >>> rows, columns = numpy.array([0, 2, 2]), numpy.array([0, 3, 4])
/// >>> ravel_index((rows, columns), shape)
/// array([ 0, 17, 20])
#[pyfunction]
#[pyo3(signature = (index, shape, out = None))]
pub fn ravel_index<'py>(
    py: Python<'py>,
    index: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    out: Option<Bound<'py, PyArrayDyn<i64>>>,
) -> PyResult<Bound<'py, PyAny>> {
    let map = Map::new(shape)?;
    let columns = columns(py, index)?;
    let sizes = columns
        .first()
        .map_or_else(Vec::new, |column| column.shape().to_vec());
    let is_scalar = sizes.is_empty() && out.is_none();
    let out = result(py, out, &sizes)?;
    {
        let columns: Vec<&[i64]> = columns
            .iter()
            .map(|column| column.as_slice().map_err(error))
            .collect::<PyResult<_>>()?;
        let mut written = out.try_readwrite().map_err(error)?;
        let positions = written.as_slice_mut().map_err(error)?;
        let map = map.get()?;
        let result = if positions.len() < SMALL {
            map.positions(&columns, positions)
        } else {
            py.detach(|| map.positions(&columns, positions))
        };
        result.map_err(error)?;
    }
    scalar_or_array(out, is_scalar)
}

/// The indices of many positions, an array for each dimension; -1 in all of them where a position is
/// padding. The way back of ravel_index.
///
/// >>> import numpy
/// >>> rows, columns = unravel_index(numpy.array([17, 9]), "f32[3,5]{1,0:T(2,2)}")
/// >>> rows, columns  # position 9 is padding
/// (array([ 2, -1]), array([ 3, -1]))
#[pyfunction]
#[pyo3(signature = (positions, shape, out = None))]
pub fn unravel_index<'py>(
    py: Python<'py>,
    positions: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    out: Option<Vec<Bound<'py, PyArrayDyn<i64>>>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let map = Map::new(shape)?;
    let positions = whole_numbers(py, positions)?;
    let sizes = positions.shape().to_vec();
    let rank = map.rank;
    let is_scalar = sizes.is_empty() && out.is_none();
    let out = match out {
        Some(out) if out.len() == rank => out,
        Some(out) => {
            return Err(error(format!(
                "{} outputs; expected one for each of the {rank} dimensions",
                out.len()
            )));
        }
        None => (0..rank)
            .map(|_| result(py, None, &sizes))
            .collect::<PyResult<_>>()?,
    };
    for out in &out {
        check_sizes(out, &sizes)?;
    }
    {
        let mut written = out
            .iter()
            .map(|out| out.try_readwrite().map_err(error))
            .collect::<PyResult<Vec<_>>>()?;
        let mut columns: Vec<&mut [i64]> = written
            .iter_mut()
            .map(|column| column.as_slice_mut().map_err(error))
            .collect::<PyResult<_>>()?;
        let positions = positions.as_slice().map_err(error)?;
        let map = map.get()?;
        let result = if positions.len() < SMALL {
            map.indices(positions, &mut columns)
        } else {
            py.detach(|| map.indices(positions, &mut columns))
        };
        result.map_err(error)?;
    }
    let out = out.into_iter().map(|out| scalar_or_array(out, is_scalar));
    PyTuple::new(py, out.collect::<PyResult<Vec<_>>>()?)
}

/// The map of a shape, kept by it where it is an object.
struct Map<'py> {
    shape: Bound<'py, Shape>,
    rank: usize,
}

impl<'py> Map<'py> {
    fn new(argument: &Bound<'py, PyAny>) -> PyResult<Map<'py>> {
        let py = argument.py();
        let shape = if let Ok(shape) = argument.cast::<Shape>() {
            shape.clone()
        } else if let Ok(sizes) = argument.extract::<Vec<i64>>() {
            let array = ArrayShape::new(ElementType::U8, sizes)
                .and_then(|array| array.with_default_layout());
            Bound::new(py, Shape::wrap(array.map_err(error)?))?
        } else {
            Bound::new(py, Shape::wrap(text::shape(argument)?))?
        };
        let rank = shape.get().inner().as_array().map_err(error)?.rank();
        Ok(Map { shape, rank })
    }

    fn get(&self) -> PyResult<&BatchMap> {
        self.shape.get().batch_map()
    }
}

/// The columns of an index, all of the same sizes.
fn columns<'py>(
    py: Python<'py>,
    index: &Bound<'py, PyAny>,
) -> PyResult<Vec<PyReadonlyArrayDyn<'py, i64>>> {
    let mut columns = index
        .try_iter()?
        .map(|column| whole_numbers(py, &column?))
        .collect::<PyResult<Vec<_>>>()?;
    let sizes = columns.first().map(|column| column.shape().to_vec());
    if columns
        .iter()
        .any(|column| Some(column.shape()) != sizes.as_deref())
    {
        let given = PyTuple::new(py, columns.iter().map(|column| column.as_any()))?;
        let together = py
            .import(intern!(py, "numpy"))?
            .call_method1(intern!(py, "broadcast_arrays"), given)?;
        columns = together
            .try_iter()?
            .map(|column| whole_numbers(py, &column?))
            .collect::<PyResult<_>>()?;
    }
    Ok(columns)
}

/// An array of whole numbers of 64 bits, one after another; a copy where it is not one yet.
///
/// # Errors
///
/// What NumPy says of what is no array of whole numbers.
fn whole_numbers<'py>(
    py: Python<'py>,
    argument: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArrayDyn<'py, i64>> {
    if let Ok(array) = argument.cast::<PyArrayDyn<i64>>()
        && array.is_c_contiguous()
    {
        return array.try_readonly().map_err(error);
    }
    let numpy = py.import(intern!(py, "numpy"))?;
    let array = numpy.call_method1(intern!(py, "asarray"), (argument,))?;
    let is_empty = array.cast::<PyUntypedArray>()?.is_empty();
    // An empty list becomes floats.
    let casting = if is_empty { "unsafe" } else { "same_kind" };
    let array = array.call_method1(intern!(py, "astype"), ("int64", "C", casting))?;
    let array = array.cast_into::<PyArrayDyn<i64>>()?;
    array.try_readonly().map_err(error)
}

/// The output that was given, or a new one.
fn result<'py>(
    py: Python<'py>,
    out: Option<Bound<'py, PyArrayDyn<i64>>>,
    sizes: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<i64>>> {
    match out {
        Some(out) => {
            check_sizes(&out, sizes)?;
            Ok(out)
        }
        None => Ok(PyArrayDyn::zeros(py, IxDyn(sizes), false)),
    }
}

fn check_sizes(out: &Bound<'_, PyArrayDyn<i64>>, sizes: &[usize]) -> PyResult<()> {
    match out.shape() == sizes {
        true => Ok(()),
        false => Err(error(format!(
            "the output has the shape {:?}, the numbers {sizes:?}",
            out.shape()
        ))),
    }
}

/// A number for what was a number.
fn scalar_or_array(
    array: Bound<'_, PyArrayDyn<i64>>,
    is_scalar: bool,
) -> PyResult<Bound<'_, PyAny>> {
    match is_scalar {
        true => array.call_method0("item"),
        false => Ok(array.into_any()),
    }
}
