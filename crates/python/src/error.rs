//! Errors as Python sees them: subclasses of `ValueError`, with the command line's text.

use std::fmt::Display;

use minormajor::TensorError;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    minormajor,
    Error,
    PyValueError,
    "What is wrong with an argument: what was expected, what came, and where.\n\n\
     `column` is the place in the text that was read, from 1 on; None where no text is at fault."
);
create_exception!(
    minormajor,
    ParseError,
    Error,
    "A text that is no shape, layout or sharding; `column` says where."
);
create_exception!(
    minormajor,
    PlanError,
    Error,
    "An array that can't be moved, or not to this layout."
);
create_exception!(
    minormajor,
    FileError,
    Error,
    "A file that can't be read or written."
);

create_exception!(
    minormajor,
    DeviceError,
    Error,
    "A device that is not there, or that could not do something: short of memory, without a driver."
);

/// Adds the exceptions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let base = py.get_type::<Error>();
    base.setattr("column", py.None())?;
    module.add("Error", base)?;
    module.add("ParseError", py.get_type::<ParseError>())?;
    module.add("PlanError", py.get_type::<PlanError>())?;
    module.add("FileError", py.get_type::<FileError>())?;
    module.add("DeviceError", py.get_type::<DeviceError>())
}

/// Something that an argument asks for and can't have.
pub fn error(cause: impl Display) -> PyErr {
    Error::new_err(cause.to_string())
}

/// A relayout that can't be.
pub fn plan(cause: impl Display) -> PyErr {
    PlanError::new_err(cause.to_string())
}

/// An operation on tensors that can't be.
pub fn tensor(cause: TensorError) -> PyErr {
    match cause {
        TensorError::Plan(cause) => plan(cause),
        TensorError::Device(cause) => DeviceError::new_err(cause.to_string()),
        cause => error(cause),
    }
}

/// A text that can't be read.
pub fn parse(py: Python<'_>, input: &str, error: &minormajor::ParseError) -> PyErr {
    at(py, input, error, error.column())
}

/// A text that can't be read because of what is at a column of it.
pub fn at(py: Python<'_>, input: &str, error: impl Display, column: usize) -> PyErr {
    const SHOWN: usize = 60;
    let what = match input.char_indices().nth(SHOWN) {
        _ if input.trim().is_empty() => "empty text".to_owned(),
        Some((end, _)) => format!("{}...", &input[..end]),
        None => input.to_owned(),
    };
    let made = ParseError::new_err(format!("{what}: {error}"));
    // Exceptions have a dictionary: this can't fail but for memory, and then that is said.
    match made.value(py).setattr("column", column) {
        Ok(()) => made,
        Err(other) => other,
    }
}
