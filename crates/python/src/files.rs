//! Array files: what `load` and `save` are made of.

use std::path::PathBuf;

use minormajor::files::{self, RelayoutOptions};
use minormajor::plan::ByteOrder;
use minormajor::rules::Rules;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::FileError;
use crate::shape::Shape;
use crate::{dtype, text};

fn failed(error: files::FileError) -> PyErr {
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
        made.set_item("is_chunked", !array.chunks.is_empty())?;
        made.set_item("offset", array.offset)?;
        arrays.push(made);
    }
    let made = PyDict::new(py);
    made.set_item("format", info.format)?;
    made.set_item("arrays", arrays)?;
    made.set_item("metadata", info.metadata)?;
    Ok(made)
}

/// Moves the arrays of one file to other layouts in another file, through a bounded amount of memory
/// whatever their sizes. The names' endings say the formats. The first of `rules` that fits an array's
/// name says what becomes of it (`*.conv.weight: OIHW -> HWIO`, `layers.*: {0,1}`); `layout` is for
/// those that none fits. Returns the new shapes by name.
#[pyfunction]
#[pyo3(signature = (input, output, layout = None, *, rules = None, dtype = None, input_type = None, threads = None, memory = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn relayout_file<'py>(
    py: Python<'py>,
    input: PathBuf,
    output: PathBuf,
    layout: Option<&Bound<'_, PyAny>>,
    rules: Option<Vec<String>>,
    dtype: Option<&Bound<'_, PyAny>>,
    input_type: Option<&Bound<'_, PyAny>>,
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
    let report = py
        .detach(|| files::relayout_file(&input, &output, &options, &|_, _| {}))
        .map_err(failed)?;
    let shapes = PyDict::new(py);
    for array in report.arrays {
        shapes.set_item(array.name, Shape::wrap(array.destination))?;
    }
    Ok(shapes)
}
