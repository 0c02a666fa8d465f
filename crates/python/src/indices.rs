//! Many indices at once: `ravel_index` and `unravel_index`.

use std::rc::Rc;

use minormajor::{ArrayShape, BatchMap, ElementType, Width};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use smallvec::SmallVec;

use crate::error::error;
use crate::kept::{Kept, Key};
use crate::memory::{self, Numbers};
use crate::movement;
use crate::shape::Shape;
use crate::text;

/// Batches below this many numbers keep Python's lock.
const SMALL: usize = 1 << 14;

/// The positions in memory of many indices, as NumPy's ravel_multi_index takes them: an array (or
/// anything that becomes one) for each dimension, or one array of all. Positions count elements of
/// the shape's buffer, tiles and padding counted. A tuple of sizes stands for the row-major array of
/// these.
///
/// Whole numbers of 32 and 64 bits are read where they are; of others a copy is made. The output, if
/// one is given, is written and returned; where an index is refused, it may be written in part.
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
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let map = Map::new(shape)?;
    let map = map.get()?;
    let mut given = Index::default();
    given.fill(index)?;
    let sizes = given.sizes();
    let made = [match out {
        Some(out) => output(out, sizes)?,
        None => memory::empty_numbers(py, sizes)?,
    }];
    let is_long = made[0].len() >= SMALL;
    let read = || given.columns();
    memory::with_numbers(py, read, &made, is_long, |columns, out| {
        map.positions(columns, out[0])
    })?
    .map_err(error)?;
    let [made] = made;
    match out {
        Some(out) => Ok(out.clone()),
        None => given.result(made),
    }
}

/// The indices of many positions, an array for each dimension; -1 in all of them where a position is
/// padding. The way back of ravel_index.
///
/// Outputs, if they are given, one for each dimension, are written and returned.
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
    out: Option<Vec<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let map = Map::new(shape)?;
    let map = map.get()?;
    let mut given = Index::default();
    given.arrays.push(Whole::new(positions, false)?);
    let (rank, sizes) = (map.rank(), given.sizes());
    let made: SmallVec<[Bound<'py, PyUntypedArray>; 8]> = match &out {
        Some(out) if out.len() == rank => out
            .iter()
            .map(|out| output(out, sizes))
            .collect::<PyResult<_>>()?,
        Some(out) => {
            return Err(error(format!(
                "{} outputs; expected one for each of the {rank} dimensions",
                out.len()
            )));
        }
        None => {
            let mut made = SmallVec::new();
            for _ in 0..rank {
                made.push(memory::empty_numbers(py, sizes)?);
            }
            made
        }
    };
    let is_long = sizes.iter().product::<usize>() >= SMALL;
    let read = || given.columns();
    memory::with_numbers(py, read, &made, is_long, |columns, out| {
        map.indices(columns[0], out)
    })?
    .map_err(error)?;
    if let Some(out) = out {
        return PyTuple::new(py, out);
    }
    if !sizes.is_empty() {
        return PyTuple::new(py, made);
    }
    let results = made.into_iter().map(|made| given.result(made));
    PyTuple::new(py, results.collect::<PyResult<Vec<_>>>()?)
}

/// The map of a shape: kept by it where it is an object, and for the next call where it is a text or
/// a tuple of sizes.
enum Map<'py> {
    Shape(Bound<'py, Shape>),
    Kept(Rc<BatchMap>),
}

thread_local! {
    static KEPT: Kept<Rc<BatchMap>> = const { Kept::new() };
}

impl<'py> Map<'py> {
    fn new(argument: &Bound<'py, PyAny>) -> PyResult<Map<'py>> {
        if let Ok(shape) = argument.cast::<Shape>() {
            return Ok(Map::Shape(shape.clone()));
        }
        let mut key = Key::new();
        let sizes = match argument.cast::<PyString>() {
            Ok(text) => {
                key.push(0);
                key.push_text(text.to_str()?);
                None
            }
            Err(_) => {
                let sizes: Vec<i64> = argument
                    .extract()
                    .map_err(|_| text::wrong(argument, "a Shape, its text, or sizes"))?;
                key.push(1);
                key.extend(sizes.iter().map(|&size| size as u64));
                Some(sizes)
            }
        };
        if let Some(map) = KEPT.with(|kept| kept.get(&key)) {
            return Ok(Map::Kept(map));
        }
        let map = match sizes {
            Some(sizes) => {
                let array = ArrayShape::new(ElementType::U8, sizes);
                let array = array.and_then(|array| array.with_default_layout());
                BatchMap::new(&array.map_err(error)?)
            }
            None => BatchMap::new(text::shape(argument)?.as_array().map_err(error)?),
        };
        let map = Rc::new(map.map_err(error)?);
        KEPT.with(|kept| kept.insert(key, map.clone()));
        Ok(Map::Kept(map))
    }

    fn get(&self) -> PyResult<&BatchMap> {
        match self {
            Map::Shape(shape) => shape.get().batch_map(),
            Map::Kept(map) => Ok(map),
        }
    }
}

/// An index that was given: arrays of whole numbers, all of the same sizes. It is filled where it is,
/// since moving it takes as long as converting a small batch.
#[derive(Default)]
struct Index<'py> {
    /// A column each, or the only one is a stack.
    arrays: SmallVec<[Whole<'py>; 8]>,
    /// Whether the first dimension of the only array counts the columns.
    is_stack: bool,
}

impl<'py> Index<'py> {
    fn fill(&mut self, index: &Bound<'py, PyAny>) -> PyResult<()> {
        if let Ok(array) = index.cast_exact::<PyUntypedArray>()
            && array.ndim() > 0
        {
            self.is_stack = true;
            self.arrays.push(Whole::new(array, true)?);
            return Ok(());
        }
        self.read(index)?;
        let mut sizes = self.arrays.iter().map(|column| column.array.shape());
        let first = sizes.next();
        if sizes.all(|sizes| Some(sizes) == first) {
            return Ok(());
        }
        let given = self.arrays.drain(..).map(|column| column.array);
        let given = PyTuple::new(index.py(), given.collect::<Vec<_>>())?;
        let together = numpy(index.py())?.call_method1("broadcast_arrays", given)?;
        self.read(&together)
    }

    /// A column for each that there is.
    fn read(&mut self, index: &Bound<'py, PyAny>) -> PyResult<()> {
        if let Ok(index) = index.cast_exact::<PyTuple>() {
            for column in index.iter() {
                self.arrays.push(Whole::new(&column, false)?);
            }
        } else {
            for column in index.try_iter()? {
                self.arrays.push(Whole::new(&column?, false)?);
            }
        }
        Ok(())
    }

    /// The sizes of every column.
    fn sizes(&self) -> &[usize] {
        let first = self
            .arrays
            .first()
            .map_or(&[][..], |array| array.array.shape());
        &first[usize::from(self.is_stack)..]
    }

    fn columns(&self) -> impl Iterator<Item = Numbers<'_, 'py>> {
        let rows = self.sizes().iter().product();
        let count = match self.is_stack {
            true => self.arrays[0].array.shape()[0],
            false => self.arrays.len(),
        };
        (0..count).map(move |column| match self.is_stack {
            true => {
                let stack = &self.arrays[0];
                let strides = stack.array.strides();
                stack.column(column as isize * strides[0], &strides[1..], rows)
            }
            false => {
                let array = &self.arrays[column];
                array.column(0, array.array.strides(), rows)
            }
        })
    }

    /// A new result: a number for what was a number.
    fn result(&self, array: Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
        match self.sizes().is_empty() {
            true => array.call_method0(intern!(array.py(), "item")),
            false => Ok(array.into_any()),
        }
    }
}

fn numpy(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(intern!(py, "numpy"))
}

/// An array of whole numbers of 32 or 64 bits. Those of a column are at equal distances, or row-major
/// without gaps where they have several dimensions; so are those of each column of a stack.
struct Whole<'py> {
    array: Bound<'py, PyUntypedArray>,
    width: Width,
}

impl<'py> Whole<'py> {
    /// What was given, or a copy where it is not such an array yet.
    ///
    /// # Errors
    ///
    /// What NumPy says of what is no array of whole numbers.
    fn new(given: &Bound<'py, PyAny>, is_stack: bool) -> PyResult<Whole<'py>> {
        let py = given.py();
        let array = match given.cast_exact::<PyUntypedArray>() {
            Ok(array) => array.clone(),
            Err(_) => numpy(py)?
                .call_method1(intern!(py, "asarray"), (given,))?
                .cast_into()?,
        };
        let Some(width) = memory::whole_numbers(&array) else {
            // An empty list becomes floats.
            let casting = if array.is_empty() {
                "unsafe"
            } else {
                "same_kind"
            };
            let array = array.call_method1(intern!(py, "astype"), ("int64", "C", casting))?;
            return Ok(Whole {
                array: array.cast_into()?,
                width: Width::Eight,
            });
        };
        let is_even = array.ndim() <= 1 + usize::from(is_stack) || array.is_c_contiguous();
        let array = match is_even {
            true => array,
            false => movement::in_rows(&array, 1)?,
        };
        Ok(Whole { array, width })
    }

    fn column(&self, first: isize, strides: &[isize], rows: usize) -> Numbers<'_, 'py> {
        Numbers {
            array: &self.array,
            width: self.width,
            first,
            step: match strides {
                &[step] => step,
                _ => self.width.bytes() as isize,
            },
            rows,
        }
    }
}

/// An output of these sizes. What else it must be is for [`memory`] to say.
fn output<'py>(given: &Bound<'py, PyAny>, sizes: &[usize]) -> PyResult<Bound<'py, PyUntypedArray>> {
    let out = given.cast::<PyUntypedArray>()?;
    match out.shape() == sizes {
        true => Ok(out.clone()),
        false => Err(error(format!(
            "the output has the shape {:?}, the numbers {sizes:?}",
            out.shape()
        ))),
    }
}
