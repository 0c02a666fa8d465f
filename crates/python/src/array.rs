//! Arrays that are given: NumPy's as they are, all others through Python's part of this package.

use minormajor::{ElementType, StridedView};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::error;
use crate::memory;

/// An array that was given, as NumPy's.
pub struct Array<'py> {
    /// Its elements, where they are.
    pub array: Bound<'py, PyUntypedArray>,
    /// What was given, where that was not NumPy's.
    given: Option<Bound<'py, PyAny>>,
}

impl<'py> Array<'py> {
    /// An array from what speaks NumPy's array interface, the buffer protocol or DLPack. Nothing is
    /// copied.
    ///
    /// # Errors
    ///
    /// `TypeError` for what does not; an array with a mask, or of references.
    pub fn new(given: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        let array = match given.cast_exact::<PyUntypedArray>() {
            Ok(array) => Array {
                array: array.clone(),
                given: None,
            },
            Err(_) => Array::of_other(given)?,
        };
        if memory::has_references(&array.array) {
            return Err(error(format!(
                "arrays of {} hold references, which can't be moved as bytes",
                array.array.dtype()
            )));
        }
        Ok(array)
    }

    fn of_other(given: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        let view = foreign(given.py())?.call_method1(intern!(given.py(), "to_numpy"), (given,))?;
        let array = view.cast_into::<PyUntypedArray>().map_err(PyErr::from)?;
        Ok(Array {
            array,
            given: Some(given.clone()),
        })
    }

    /// A result in the kind of what was given.
    pub fn like(&self, result: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match &self.given {
            None => Ok(result),
            Some(given) => foreign(result.py())?
                .call_method1(intern!(result.py(), "from_numpy"), (given, result)),
        }
    }

    /// A view with the dimensions in another order.
    pub fn transposed(&self, axes: &[i64]) -> PyResult<Bound<'py, PyAny>> {
        let py = self.array.py();
        let axes = crate::layout::tuple(py, axes)?;
        match &self.given {
            None => self.array.call_method1(intern!(py, "transpose"), (axes,)),
            Some(given) => {
                foreign(py)?.call_method1(intern!(py, "transpose"), (given, &self.array, axes))
            }
        }
    }

    /// What was given.
    pub fn given(&self) -> &Bound<'py, PyAny> {
        self.given.as_ref().unwrap_or(self.array.as_any())
    }

    /// A library's own way to lay its arrays out, where only it can.
    pub fn relayout_by_owner(&self, order: &[usize]) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(given) = &self.given else {
            return Ok(None);
        };
        let made = foreign(given.py())?
            .call_method1(intern!(given.py(), "relayout_by_owner"), (given, order))?;
        Ok((!made.is_none()).then_some(made))
    }
}

pub fn foreign(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(intern!(py, "minormajor._foreign"))
}

/// An output: NumPy's array, or memory of another library's that may be written.
pub fn output<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    Ok(Array::new(given)?.array)
}

/// The array as bytes that move: sizes, strides in bytes and the type that stands for as many
/// bytes as an element has. Elements of no such width are bytes along one more dimension.
pub struct Moved {
    pub element_type: ElementType,
    pub sizes: SmallVec<[i64; 6]>,
    pub strides: SmallVec<[i64; 6]>,
    /// Bytes from the lowest element to the first.
    pub offset: i64,
}

impl Moved {
    /// The array of these sizes and strides, of elements of this width.
    pub fn new(sizes: &[usize], strides: &[isize], width: usize) -> Moved {
        let by_width = match width {
            1 => Some(ElementType::U8),
            2 => Some(ElementType::U16),
            4 => Some(ElementType::U32),
            8 => Some(ElementType::U64),
            16 => Some(ElementType::C128),
            _ => None,
        };
        let mut moved = Moved {
            element_type: by_width.unwrap_or(ElementType::U8),
            sizes: sizes.iter().map(|&size| size as i64).collect(),
            strides: strides.iter().map(|&stride| stride as i64).collect(),
            offset: 0,
        };
        if by_width.is_none() {
            moved.sizes.push(width as i64);
            moved.strides.push(1);
        }
        if moved.sizes.contains(&0) {
            // Strides of arrays without elements may be anything.
            moved.strides.iter_mut().for_each(|stride| *stride = 0);
        }
        for (size, stride) in moved.sizes.iter().zip(&mut moved.strides) {
            match size {
                // As of a dimension with nowhere to go.
                1 => *stride = 0,
                _ if *stride < 0 => {
                    // Where this ends at the greatest number, the view is refused.
                    let reach = (size - 1).saturating_mul(*stride);
                    moved.offset = moved.offset.saturating_sub(reach);
                }
                _ => {}
            }
        }
        moved
    }

    /// As a side of a plan, of another type that is as wide.
    pub fn view_as(&self, element_type: ElementType) -> PyResult<StridedView> {
        StridedView::new(element_type, &self.sizes, &self.strides, self.offset).map_err(error)
    }

    /// As a side of a plan.
    pub fn view(&self) -> PyResult<StridedView> {
        self.view_as(self.element_type)
    }
}
