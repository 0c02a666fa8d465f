//! Whether a reshape is a view, and why not.

use minormajor::ViewError;
use numpy::PyArrayDescrMethods;
use pyo3::prelude::*;

use crate::array::Moved;
use crate::card::Given;
use crate::error::error;

/// Why reshaping the array would copy it; None where it is a view.
///
/// The new shape is one size, or a size for each dimension; one of them may be -1.
///
/// >>> import numpy
/// >>> array = numpy.zeros((4, 6), numpy.float32)
/// >>> why_not_a_view(array, 24) is None
/// True
/// >>> print(why_not_a_view(array[:, :5], 20))
/// dimensions 0 and 1 can't become one: a step of dimension 0 is 24 bytes, the 5 steps of dimension 1 are 20
#[pyfunction]
#[pyo3(signature = (array, newshape, /))]
pub fn why_not_a_view(
    array: &Bound<'_, PyAny>,
    newshape: &Bound<'_, PyAny>,
) -> PyResult<Option<String>> {
    let place = Given::new(array)?.place();
    let mut sizes: Vec<i64> = match newshape.extract::<i64>() {
        Ok(size) => vec![size],
        Err(_) => newshape.extract()?,
    };
    let width = place.dtype.itemsize();
    let mut moved = Moved::new(&place.sizes, &place.strides, width);
    if moved.sizes.len() > place.sizes.len() {
        // The bytes of an element stay together.
        sizes.push(width as i64);
        if width == 0 {
            return Ok(None);
        }
    }
    let view = moved.view()?;
    moved.sizes.clear();
    match view.reshape(&sizes) {
        Ok(_) => Ok(None),
        Err(why @ ViewError::NotAView { .. }) => Ok(Some(why.to_string())),
        Err(other) => Err(error(other)),
    }
}
