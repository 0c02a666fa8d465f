//! The class `Bitcast` and the function that asks.

use minormajor::ArrayShape;
use minormajor::bitcast::{Free, Operation, WhyNot};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};

use crate::error::error;
use crate::shape::Shape;
use crate::text;

/// Whether a result is a new description of its operand's bytes; true where it is.
///
/// >>> free = bitcast("f32[4,6]", "f32[24]")
/// >>> bool(free), free.byte_offset
/// (True, 0)
#[pyclass(frozen, eq, module = "minormajor")]
#[derive(PartialEq)]
pub struct Bitcast {
    operand: ArrayShape,
    result: ArrayShape,
    operation: Operation,
    free: Option<Free>,
    why_not: Option<WhyNot>,
}

/// Whether an operation from one array to another is free: a new description of the same bytes.
///
/// The operation is the one that the shapes suggest (copy, transpose, reshape), or the one named:
/// `transpose` and `broadcast` take dimension numbers, `slice` a tuple of Python's slices, and
/// `reshape` and `convert` (the bits as another type) True.
///
/// >>> answer = bitcast("f32[4,6]{1,0}", "f32[24]{0}")
/// >>> answer.is_free
/// True
/// >>> answer = bitcast("f32[4,6]{0,1}", "f32[24]{0}")
/// >>> print(answer.smallest_copy, answer.nearest_layout)
/// f32[4,6]{1,0} None
#[pyfunction]
#[pyo3(signature = (operand, result, *, transpose = None, broadcast = None, slice = None, reshape = false, convert = false))]
pub fn bitcast(
    operand: &Bound<'_, PyAny>,
    result: &Bound<'_, PyAny>,
    transpose: Option<Vec<i64>>,
    broadcast: Option<Vec<i64>>,
    slice: Option<Vec<Bound<'_, PySlice>>>,
    reshape: bool,
    convert: bool,
) -> PyResult<Bitcast> {
    let (operand, result) = (text::shape(operand)?, text::shape(result)?);
    let operand = operand.as_array().map_err(error)?.clone();
    let result = result.as_array().map_err(error)?.clone();
    let named = [
        transpose.map(|dimensions| Operation::Transpose { dimensions }),
        broadcast.map(|dimensions| Operation::Broadcast { dimensions }),
        slice
            .map(|ranges| ranges_of(&operand, &ranges))
            .transpose()?,
        reshape.then_some(Operation::Reshape),
        convert.then_some(Operation::BitcastConvert),
    ];
    let mut named = named.into_iter().flatten();
    let operation = match (named.next(), named.next()) {
        (None, _) => Operation::between(&operand, &result).map_err(error)?,
        (Some(only), None) => only,
        (Some(one), Some(other)) => {
            return Err(error(format!(
                "expected one operation, found {} and {}",
                one.name(),
                other.name()
            )));
        }
    };
    let question =
        minormajor::bitcast::Bitcast::new(&operand, &result, &operation).map_err(error)?;
    let (free, why_not) = (question.free(), question.why_not());
    Ok(Bitcast {
        operand,
        result,
        operation,
        free,
        why_not,
    })
}

/// Python's slices of an array's dimensions as HLO's operation.
fn ranges_of(operand: &ArrayShape, ranges: &[Bound<'_, PySlice>]) -> PyResult<Operation> {
    let sizes = operand.sizes().map_err(error)?;
    if ranges.len() != sizes.len() {
        return Err(error(format!(
            "{} slices; expected one for each of the {} dimensions",
            ranges.len(),
            sizes.len()
        )));
    }
    let (mut starts, mut limits, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    for (range, &size) in ranges.iter().zip(&sizes) {
        let found = range.indices(size as isize)?;
        starts.push(found.start as i64);
        limits.push(found.stop as i64);
        strides.push(found.step as i64);
    }
    Ok(Operation::Slice {
        starts,
        limits,
        strides,
    })
}

#[pymethods]
impl Bitcast {
    /// The operand.
    #[getter]
    fn operand(&self) -> Shape {
        Shape::wrap(self.operand.clone())
    }

    /// The result.
    #[getter]
    fn result(&self) -> Shape {
        Shape::wrap(self.result.clone())
    }

    /// The operation, as HLO writes it.
    #[getter]
    fn operation(&self) -> String {
        self.operation.to_string()
    }

    /// Whether it moves nothing.
    #[getter]
    fn is_free(&self) -> bool {
        self.free.is_some()
    }

    /// The byte of the operand's buffer at which the result's begins; None where it is not free.
    #[getter]
    fn byte_offset(&self) -> Option<i64> {
        self.free.map(|free| free.byte_offset)
    }

    /// Whether the result's padding holds its value, given that the operand's does.
    #[getter]
    fn padding_holds(&self) -> Option<bool> {
        self.free.map(|free| free.padding_holds)
    }

    /// What stands in the way and what would make it free; None where it is.
    #[getter]
    fn why_not(&self) -> Option<String> {
        self.why_not.as_ref().map(ToString::to_string)
    }

    /// The operand in the layout of the smallest copy after which it is free.
    #[getter]
    fn smallest_copy(&self) -> Option<Shape> {
        let copy = self.why_not.as_ref()?.smallest_copy()?;
        Some(Shape::wrap(copy.shape.clone()))
    }

    /// The result in the nearest layout with which it is free.
    #[getter]
    fn nearest_layout(&self) -> Option<Shape> {
        let nearest = self.why_not.as_ref()?.nearest_layout()?;
        Some(Shape::wrap(nearest.shape.clone()))
    }

    fn __bool__(&self) -> bool {
        self.is_free()
    }

    fn __str__(&self) -> String {
        match &self.why_not {
            None => format!(
                "{} from {} to {} is free",
                self.operation, self.operand, self.result
            ),
            Some(why_not) => why_not.to_string(),
        }
    }

    fn __repr__(&self) -> String {
        let (operand, result) = (&self.operand, &self.result);
        let operation = match &self.operation {
            Operation::Transpose { dimensions } => format!(", transpose={dimensions:?}"),
            Operation::Broadcast { dimensions } => format!(", broadcast={dimensions:?}"),
            Operation::Reshape => ", reshape=True".to_owned(),
            Operation::BitcastConvert => ", convert=True".to_owned(),
            Operation::Slice {
                starts,
                limits,
                strides,
            } => {
                let ranges = starts.iter().zip(limits).zip(strides);
                let ranges = ranges
                    .map(|((start, limit), stride)| format!("slice({start}, {limit}, {stride})"));
                format!(", slice=[{}]", ranges.collect::<Vec<_>>().join(", "))
            }
            _ => String::new(),
        };
        format!("bitcast('{operand}', '{result}'{operation})")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Shape, Shape))> {
        let py = slf.py();
        let question = slf.get();
        let named = PyDict::new(py);
        match &question.operation {
            Operation::Transpose { dimensions } => named.set_item("transpose", dimensions)?,
            Operation::Broadcast { dimensions } => named.set_item("broadcast", dimensions)?,
            Operation::Reshape => named.set_item("reshape", true)?,
            Operation::BitcastConvert => named.set_item("convert", true)?,
            Operation::Slice {
                starts,
                limits,
                strides,
            } => {
                let ranges = starts.iter().zip(limits).zip(strides);
                let ranges = ranges.map(|((&start, &limit), &stride)| {
                    PySlice::new(py, start as isize, limit as isize, stride as isize)
                });
                named.set_item("slice", ranges.collect::<Vec<_>>())?;
            }
            _ => {}
        }
        let ask = py.import("minormajor")?.getattr("bitcast")?;
        let ask = py
            .import("functools")?
            .call_method("partial", (ask,), Some(&named))?;
        Ok((ask, (question.operand(), question.result())))
    }
}
