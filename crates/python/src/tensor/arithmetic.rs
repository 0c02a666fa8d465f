//! Arithmetic: element by element, products, reductions, comparisons.

use minormajor::backend::{Binary, Reduction, Tolerance};
use minormajor::tensor::Term;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::PyNotImplemented;

use super::{Tensor, argument, made};
use crate::error::{self, error};
use crate::text::wrong;

/// The other side of an operation; `None` for what is neither a tensor nor a number.
fn term<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<Option<Term<'a>>> {
    match given.cast::<Tensor>() {
        Ok(tensor) => Ok(Some(Term::Tensor(tensor.get().inner()))),
        Err(_) => Ok(argument::number(given)?.map(Term::Number)),
    }
}

impl Tensor {
    /// An operator of Python's: what it is not for is another's to try.
    fn operator<'py>(
        &self,
        operation: Binary,
        other: &Bound<'py, PyAny>,
        is_left: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let Some(other) = term(other)? else {
            return Ok(PyNotImplemented::get(py).to_owned().into_any());
        };
        let tensor = self.inner();
        let result = made(py, || match is_left {
            true => minormajor::Tensor::binary(operation, tensor, other),
            false => minormajor::Tensor::binary(operation, other, tensor),
        })?;
        Ok(Bound::new(py, result)?.into_any())
    }

    fn method(&self, operation: Binary, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let right = term(other)?.ok_or_else(|| wrong(other, "a Tensor or a number"))?;
        let left = self.inner();
        made(other.py(), || {
            minormajor::Tensor::binary(operation, left, right)
        })
    }

    /// Quotients of integers would have to be of another type.
    fn check_divides(&self) -> PyResult<()> {
        let element_type = self.inner().element_type();
        match element_type.is_integral() {
            false => Ok(()),
            true => Err(error(format!(
                "/ is not for {element_type}; expected floats: `divide` drops the fraction"
            ))),
        }
    }

    fn reduced(
        &self,
        py: Python<'_>,
        operation: Reduction,
        axis: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Tensor> {
        let axes = argument::axes(axis, self.inner().rank())?;
        made(py, || self.inner().reduce(operation, &axes, keepdims))
    }
}

#[pymethods]
impl Tensor {
    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator(Binary::Add, other, true)
    }

    fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator(Binary::Add, other, false)
    }

    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator(Binary::Subtract, other, true)
    }

    fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator(Binary::Subtract, other, false)
    }

    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator(Binary::Multiply, other, true)
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator(Binary::Multiply, other, false)
    }

    fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.check_divides()?;
        self.operator(Binary::Divide, other, true)
    }

    fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.check_divides()?;
        self.operator(Binary::Divide, other, false)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Tensor> {
        let tensor = self.inner();
        let unsigned = tensor.element_type().is_unsigned_integral();
        made(py, || match unsigned {
            true => minormajor::Tensor::binary(Binary::Subtract, 0, tensor),
            false => tensor.mul(-1),
        })
    }

    /// The quotients by a tensor or a number. Of integers the fraction is dropped, and dividing by 0
    /// gives all ones, as XLA has it; `/` is for floats only.
    ///
    /// >>> Tensor([7, -7, 1]).divide(Tensor([2, 2, 0])).tolist()
    /// [3, -3, -1]
    fn divide(&self, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        self.method(Binary::Divide, other)
    }

    /// The lesser of each element and a tensor's or a number; NaN where either is one.
    ///
    /// >>> Tensor([1, 5]).minimum(3).tolist()
    /// [1, 3]
    fn minimum(&self, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        self.method(Binary::Minimum, other)
    }

    /// The greater of each element and a tensor's or a number; NaN where either is one.
    ///
    /// >>> Tensor([1, 5]).maximum(3).tolist()
    /// [3, 5]
    fn maximum(&self, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        self.method(Binary::Maximum, other)
    }

    /// The matrix product, as `@`: [.., m, k] times [.., k, n], leading dimensions broadcast, of f32, f64,
    /// f16, bf16, and of s8 with a result of s32. Layouts may be any, and nothing is moved first.
    ///
    /// >>> a = Tensor([[1, 2], [3, 4]], "f32")
    /// >>> a.mm(a.T).tolist() == (a @ a.T).tolist() == [[5, 11], [11, 25]]
    /// True
    fn mm(&self, py: Python<'_>, other: &Tensor) -> PyResult<Tensor> {
        made(py, || self.inner().mm(other.inner()))
    }

    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        match other.cast::<Tensor>() {
            Ok(other) => Ok(Bound::new(py, self.mm(py, other.get())?)?.into_any()),
            Err(_) => Ok(PyNotImplemented::get(py).to_owned().into_any()),
        }
    }

    /// The sum over dimensions, one or some of them, or all; with keepdims they stay, of size 1. Integers
    /// are added in 64 bits.
    ///
    /// >>> a = Tensor([[1, 100, 3], [100, 5, 6]], "s8")
    /// >>> a.sum().item(), a.sum(-1).tolist(), a.sum(0, keepdims=True).shape
    /// (215, [104, 111], (1, 3))
    #[pyo3(signature = (axis = None, keepdims = false))]
    fn sum(
        &self,
        py: Python<'_>,
        axis: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Tensor> {
        self.reduced(py, Reduction::Sum, axis, keepdims)
    }

    /// The greatest over dimensions; NaN if there is one. As sum.
    ///
    /// >>> Tensor([[1, 7, 3], [4, 5, 6]]).max(1).tolist()
    /// [7, 6]
    #[pyo3(signature = (axis = None, keepdims = false))]
    fn max(
        &self,
        py: Python<'_>,
        axis: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Tensor> {
        self.reduced(py, Reduction::Max, axis, keepdims)
    }

    /// The mean over dimensions, of floats. As sum.
    ///
    /// >>> Tensor([[1, 2], [3, 5]], "f32").mean(0).tolist()
    /// [2.0, 3.5]
    #[pyo3(signature = (axis = None, keepdims = false))]
    fn mean(
        &self,
        py: Python<'_>,
        axis: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Tensor> {
        self.reduced(py, Reduction::Mean, axis, keepdims)
    }

    /// Whether every element a is within atol + rtol * |b| of the other tensor's b, as numpy.allclose has
    /// it. Layouts and devices may differ; a NaN is close to nothing.
    ///
    /// >>> a = Tensor.randn((2, 3), seed=1)
    /// >>> a.is_close(a.to("cpu:columns") + 1e-9), a.is_close(a + 1e-3), a.is_close(a + 1e-3, atol=0.01)
    /// (True, False, True)
    #[pyo3(signature = (other, rtol = 1e-5, atol = 1e-8))]
    fn is_close(&self, py: Python<'_>, other: &Tensor, rtol: f64, atol: f64) -> PyResult<bool> {
        let tolerance = Tolerance {
            relative: rtol,
            absolute: atol,
        };
        let close = py.detach(|| self.inner().is_close_within(other.inner(), tolerance));
        close.map_err(error::tensor)
    }

    /// Whether both have the same type, sizes and values: one answer, as `==` has it too. Layouts and
    /// devices may differ; 0 is -0, and a NaN is no number's equal.
    ///
    /// >>> a = Tensor([[1, 2, 3], [4, 5, 6]])
    /// >>> a.equals(a.relayout("{0,1}")), a == a + 1
    /// (True, False)
    fn equals(&self, py: Python<'_>, other: &Tensor) -> PyResult<bool> {
        let equal = py.detach(|| self.inner().equals(other.inner()));
        equal.map_err(error::tensor)
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        operation: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let wanted = match operation {
            CompareOp::Eq => true,
            CompareOp::Ne => false,
            _ => return Ok(PyNotImplemented::get(py).to_owned().into_any()),
        };
        match other.cast::<Tensor>() {
            Ok(other) => {
                let answer = self.equals(py, other.get())? == wanted;
                Ok(answer.into_pyobject(py)?.to_owned().into_any())
            }
            Err(_) => Ok(PyNotImplemented::get(py).to_owned().into_any()),
        }
    }
}
