//! Array files: what `load` and `save` are made of.

use std::path::PathBuf;

use minormajor::StridedView;
use minormajor::files::{self, MemoryArray, OpenArray, RelayoutOptions};
use minormajor::plan::ByteOrder;
use minormajor::rules::Rules;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{Array, Moved};
use crate::error::{FileError, error};
use crate::memory::{Dense, lent};
use crate::shape::Shape;
use crate::{dtype, text};

fn failed(error: impl std::fmt::Display) -> PyErr {
    FileError::new_err(error.to_string())
}

/// What a file holds, for `load`.
#[pyfunction]
pub fn inspect<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let info = py.detach(|| files::inspect(&path)).map_err(failed)?;
    let mut arrays = Vec::new();
    for array in info.arrays {
        let made = PyDict::new(py);
        made.set_item("name", array.name)?;
        made.set_item("shape", Bound::new(py, Shape::wrap(array.shape))?)?;
        made.set_item("opaque", array.opaque)?;
        made.set_item("is_big_endian", array.order == ByteOrder::Big)?;
        made.set_item("file", array.file)?;
        made.set_item("is_compressed", array.compressed)?;
        // Also where there are no dimensions to cut.
        made.set_item("is_chunked", info.format == "zarr")?;
        made.set_item("offset", array.offset)?;
        arrays.push(made);
    }
    let made = PyDict::new(py);
    made.set_item("format", info.format)?;
    made.set_item("arrays", arrays)?;
    made.set_item("metadata", info.metadata)?;
    Ok(made)
}

/// The bytes of an array in a file, for `load`: as they lie there, or unpacked.
#[pyfunction]
pub fn read_array<'py>(
    py: Python<'py>,
    path: PathBuf,
    name: &str,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let opened = py.detach(|| OpenArray::open(&path, name, None));
    let array = opened.map_err(failed)?;
    let array = array.ok_or_else(|| failed(format!("{}: no array {name:?}", path.display())))?;
    let size = usize::try_from(array.bytes()).map_err(error)?;
    let dense = Dense::new(&[size], &[1], 1)?;
    let bytes = numpy::dtype::<u8>(py);
    let (made, read) = lent::written(bytes, &dense, |bytes| array.read_into(bytes))?;
    read.map_err(failed)?;
    Ok(made)
}

/// How a `.zarr` output is written.
struct Zarr {
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    compressor: Option<String>,
}

/// Arrays of NumPy's to a new file, for `save`. The last of each is NumPy's description of its elements:
/// for those that have no name in XLA.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
#[pyo3(signature = (path, arrays, layout, dtype, chunks, shards, compressor, threads))]
pub fn save_arrays(
    py: Python<'_>,
    path: PathBuf,
    arrays: Vec<(String, Bound<'_, PyAny>, String)>,
    layout: Option<&Bound<'_, PyAny>>,
    dtype: Option<&Bound<'_, PyAny>>,
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    compressor: Option<String>,
    threads: Option<usize>,
) -> PyResult<()> {
    let mut options = RelayoutOptions::default();
    options.layout = layout.map(text::layout).transpose()?;
    options.element_type = dtype.map(dtype::from_argument).transpose()?;
    options.threads = threads;
    let zarr = Zarr {
        chunks,
        shards,
        compressor,
    };
    zarr.tell(&mut options)?;
    let given = arrays.iter().map(|(_, array, _)| Array::new(array));
    let given = given.collect::<PyResult<Vec<_>>>()?;
    let given: Vec<_> = given.iter().map(|array| &array.array).collect();
    let views = given.iter().map(|array| view_of(array));
    let views = views.collect::<PyResult<Vec<_>>>()?;
    let orders: Vec<_> = given
        .iter()
        .map(|a| dtype::byte_order(&a.dtype()))
        .collect();
    let names: Vec<_> = arrays
        .iter()
        .map(|(name, _, descr)| (name, descr))
        .collect();
    let saved = lent::with_bytes(py, &given, |bytes| {
        let arrays = views.iter().zip(bytes).zip(&orders).zip(&names);
        let arrays = arrays.map(
            |((((view, is_known), bytes), order), (name, descr))| match is_known {
                true => Ok(MemoryArray::new(*name, view, *order, bytes)),
                false => MemoryArray::opaque(*name, view, descr, bytes),
            },
        );
        let arrays = arrays.collect::<Result<Vec<_>, _>>();
        let arrays = arrays.map_err(|cause| format!("{}: {cause}", path.display()))?;
        let saved = files::save_arrays(&path, &arrays, &options);
        saved.map_err(|cause| cause.to_string())
    })?;
    saved.map(drop).map_err(failed)
}

/// Where an array's elements are, and whether they have a name in XLA: if not, as an array of bytes.
fn view_of(array: &Bound<'_, PyUntypedArray>) -> PyResult<(StridedView, bool)> {
    let (dtype, mut sizes, mut strides) = (
        array.dtype(),
        array.shape().to_vec(),
        array.strides().to_vec(),
    );
    match dtype::element_type(&dtype)? {
        Some(element_type) => {
            let moved = Moved::new(&sizes, &strides, dtype.itemsize());
            Ok((moved.view_as(element_type)?, true))
        }
        None => {
            sizes.push(dtype.itemsize());
            strides.push(1);
            Ok((Moved::new(&sizes, &strides, 1).view()?, false))
        }
    }
}

impl Zarr {
    fn tell(self, options: &mut RelayoutOptions) -> PyResult<()> {
        options.chunks = self.chunks;
        options.shards = self.shards;
        let compressor = self.compressor.map(|text| text.parse());
        options.compressor = compressor.transpose().map_err(error)?;
        Ok(())
    }
}

/// Moves the arrays of one file to other layouts in another file, through a bounded amount of memory
/// whatever their sizes. The names' endings say the formats. The first of `rules` that fits an array's
/// name says what becomes of it (`*.conv.weight: OIHW -> HWIO`, `layers.*: {0,1}`); `layout` is for
/// those that none fits. chunks, shards and compressor are for .zarr outputs, as `save` has them. Returns
/// the new shapes by name.
#[pyfunction]
#[pyo3(signature = (input, output, layout = None, *, rules = None, dtype = None, input_type = None, chunks = None, shards = None, compressor = None, threads = None, memory = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn relayout_file<'py>(
    py: Python<'py>,
    input: PathBuf,
    output: PathBuf,
    layout: Option<&Bound<'_, PyAny>>,
    rules: Option<Vec<String>>,
    dtype: Option<&Bound<'_, PyAny>>,
    input_type: Option<&Bound<'_, PyAny>>,
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    compressor: Option<String>,
    threads: Option<usize>,
    memory: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut options = RelayoutOptions::default();
    options.layout = layout.map(text::layout).transpose()?;
    options.element_type = dtype.map(dtype::from_argument).transpose()?;
    options.input_type = input_type.map(dtype::from_argument).transpose()?;
    let rules = rules.unwrap_or_default();
    let rules = rules.iter().map(|rule| text::rule(py, rule));
    options.rules = Rules::new(rules.collect::<PyResult<Vec<_>>>()?);
    options.threads = threads;
    options.memory = memory;
    let zarr = Zarr {
        chunks,
        shards,
        compressor,
    };
    zarr.tell(&mut options)?;
    let report = py
        .detach(|| files::relayout_file(&input, &output, &options, &|_, _| {}))
        .map_err(failed)?;
    let shapes = PyDict::new(py);
    for array in report.arrays {
        shapes.set_item(array.name, Shape::wrap(array.destination))?;
    }
    Ok(shapes)
}
