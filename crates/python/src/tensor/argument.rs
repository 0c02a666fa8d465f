//! Arguments: numbers, sizes, dimensions and orders.

use minormajor::Order;
use minormajor::backend::Number;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyTuple};

use crate::error::error;
use crate::text::wrong;

/// A number of Python's or NumPy's; `None` for anything else.
///
/// # Errors
///
/// An integer that no element type comes near.
pub fn number(given: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
    let of_numpy = || {
        let numpy = given.py().import(intern!(given.py(), "numpy"))?;
        given.is_instance(&numpy.getattr(intern!(given.py(), "generic"))?)
    };
    let is_number = given.is_instance_of::<PyInt>()
        || given.is_instance_of::<PyFloat>()
        || given.is_instance_of::<PyComplex>()
        || of_numpy()?;
    if !is_number {
        return Ok(None);
    }
    if let Ok(truth) = given.extract::<bool>() {
        return Ok(Some(truth.into()));
    }
    match given.extract::<i128>() {
        Ok(whole) => return Ok(Some(Number::Integer(whole))),
        Err(cause) if cause.is_instance_of::<PyOverflowError>(given.py()) => {
            return Err(error(format!(
                "expected a number of at most 128 bits, found {given}"
            )));
        }
        Err(_) => {}
    }
    if let Ok(complex) = given.cast::<PyComplex>() {
        return Ok(Some(Number::Complex(complex.real(), complex.imag())));
    }
    // A complex number of half the width has a real part, and would lose the other one.
    if let Ok(complex) = given.call_method0(intern!(given.py(), "__complex__"))
        && given.hasattr(intern!(given.py(), "itemsize"))?
        && given
            .getattr(intern!(given.py(), "dtype"))?
            .getattr("kind")?
            .eq("c")?
    {
        return number(&complex);
    }
    Ok(given.extract::<f64>().ok().map(Number::Float))
}

/// As [`number`].
///
/// # Errors
///
/// Anything else.
pub fn required_number(given: &Bound<'_, PyAny>) -> PyResult<Number> {
    number(given)?.ok_or_else(|| wrong(given, "a number"))
}

/// A number as Python's: truth values, integers, floats, complex ones.
pub fn to_python<'py>(
    py: Python<'py>,
    number: Number,
    is_truth: bool,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match number {
        Number::Integer(value) if is_truth => PyBool::new(py, value != 0).to_owned().into_any(),
        Number::Integer(value) => value.into_pyobject(py)?.into_any(),
        Number::Float(value) => PyFloat::new(py, value).into_any(),
        Number::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any(),
    })
}

/// One number, or as many as are given.
pub fn sizes(given: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    match given.extract::<i64>() {
        Ok(one) => Ok(vec![one]),
        Err(_) => given
            .extract()
            .map_err(|_| wrong(given, "a size, or one for each dimension")),
    }
}

/// Numbers that are arguments of their own, or one sequence of them.
pub fn numbers(given: &Bound<'_, PyTuple>) -> PyResult<Vec<i64>> {
    match given.len() {
        1 => sizes(&given.get_item(0)?),
        _ => sizes(given.as_any()),
    }
}

/// The dimensions to reduce: one, some, or all of a rank.
pub fn axes(given: Option<&Bound<'_, PyAny>>, rank: usize) -> PyResult<Vec<i64>> {
    let Some(given) = given else {
        return Ok((0..rank as i64).collect());
    };
    match given.extract::<i64>() {
        Ok(one) => Ok(vec![one]),
        Err(_) => given
            .extract()
            .map_err(|_| wrong(given, "a dimension, some of them, or None for all")),
    }
}

/// An order by its name.
pub fn order(name: &str) -> PyResult<Order> {
    match name {
        "C" => Ok(Order::RowMajor),
        "F" => Ok(Order::ColumnMajor),
        "matrices" => Ok(Order::ColumnMajorMatrices),
        "channels_last" => Ok(Order::ChannelsLast),
        _ => Err(error(format!(
            "expected the order 'C', 'F', 'matrices' or 'channels_last', found {name:?}"
        ))),
    }
}

/// A dimension or index where something else was given.
pub fn no_index(given: &Bound<'_, PyAny>) -> PyErr {
    let expected = "an integer, a slice, ... or None for each dimension";
    match given.is_instance_of::<PyBool>() {
        true => PyTypeError::new_err(format!("expected {expected}, found bool")),
        false => wrong(given, expected),
    }
}
