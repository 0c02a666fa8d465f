//! Arguments that may be text: shapes, layouts and rules.

use std::borrow::Cow;

use minormajor::rules::{Rule, RuleError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::layout::Layout;
use crate::shape::Shape;

/// A shape, or its text.
///
/// # Errors
///
/// `ParseError` for a text that is none, `TypeError` for anything else.
pub fn shape(argument: &Bound<'_, PyAny>) -> PyResult<minormajor::Shape> {
    if let Ok(shape) = argument.cast::<Shape>() {
        return Ok(shape.get().inner().clone());
    }
    let text: Cow<'_, str> = argument
        .extract()
        .map_err(|_| wrong(argument, "a shape such as 'f32[2,3]{1,0}'"))?;
    text.parse()
        .map_err(|found| error::parse(argument.py(), &text, &found))
}

/// A layout, its text, or its minor-to-major order.
///
/// # Errors
///
/// `ParseError` for a text that is none, `Error` for numbers that are no order, `TypeError` for
/// anything else.
pub fn layout(argument: &Bound<'_, PyAny>) -> PyResult<minormajor::Layout> {
    if let Ok(layout) = argument.cast::<Layout>() {
        return Ok(layout.get().inner().clone());
    }
    if let Ok(text) = argument.extract::<Cow<'_, str>>() {
        return text
            .parse()
            .map_err(|found| error::parse(argument.py(), &text, &found));
    }
    let wrong = |_| wrong(argument, "a layout such as '{1,0}'");
    if argument.is_instance_of::<PyBytes>() {
        return Err(wrong(PyTypeError::new_err("")));
    }
    let order: Vec<i64> = argument.extract().map_err(wrong)?;
    minormajor::Layout::new(order).map_err(error::error)
}

/// A rule of what becomes of arrays.
///
/// # Errors
///
/// `ParseError` for a text that is none.
pub fn rule(py: Python<'_>, text: &str) -> PyResult<Rule> {
    let rule: Result<Rule, RuleError> = text.parse();
    rule.map_err(|found| error::at(py, text, &found, found.column()))
}

/// Sizes and strides of different numbers of dimensions.
pub fn unequal(sizes: usize, strides: usize) -> PyErr {
    error::error(format!(
        "{sizes} sizes and {strides} strides; expected as many"
    ))
}

/// What came where something else was expected.
pub fn wrong(argument: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let found = argument.get_type().name();
    let found = found.map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("expected {expected}, found {found}"))
}
