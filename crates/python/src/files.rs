//! Array files: what `load` and `save` are made of.

use std::path::PathBuf;

use minormajor::files::{self, RelayoutOptions};
use minormajor::plan::ByteOrder;
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
        made.set_item("offset", array.offset)?;
        arrays.push(made);
    }
    let made = PyDict::new(py);
    made.set_item("format", info.format)?;
    made.set_item("arrays", arrays)?;
    made.set_item("metadata", info.metadata)?;
    Ok(made)
}

/// Moves the array of one file to another layout in another file, through a bounded amount of memory
/// whatever the array's size. The names' endings say the formats. Returns the new shape.
#[pyfunction]
#[pyo3(signature = (input, output, layout = None, *, dtype = None, input_type = None, threads = None, memory = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn relayout_file(
    py: Python<'_>,
    input: PathBuf,
    output: PathBuf,
    layout: Option<&Bound<'_, PyAny>>,
    dtype: Option<&Bound<'_, PyAny>>,
    input_type: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
    memory: Option<usize>,
) -> PyResult<Shape> {
    let mut options = RelayoutOptions::default();
    options.layout = layout.map(text::layout).transpose()?;
    options.element_type = dtype.map(dtype::from_argument).transpose()?;
    options.input_type = input_type.map(dtype::from_argument).transpose()?;
    options.threads = threads;
    options.memory = memory;
    let report = py
        .detach(|| files::relayout_file(&input, &output, &options, &|_, _| {}))
        .map_err(failed)?;
    Ok(Shape::wrap(report.destination))
}
