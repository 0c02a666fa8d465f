//! Views: the same memory under other sizes.

use minormajor::{IndexError as Cause, TensorError};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PySlice, PySliceMethods, PyTuple};

use super::{Tensor, argument, viewed};
use crate::error::{self, error};

#[pymethods]
impl Tensor {
    /// The view with the dimensions backwards.
    ///
    /// >>> Tensor([[1, 2, 3], [4, 5, 6]]).T.tolist()
    /// [[1, 4], [2, 5], [3, 6]]
    #[getter(T)]
    fn backwards(&self) -> PyResult<Tensor> {
        let order: Vec<i64> = (0..self.inner().rank() as i64).rev().collect();
        viewed(self.inner().transpose(&order))
    }

    /// The view whose dimension i is dimension axes[i]; all of them backwards where no axes are given.
    ///
    /// >>> Tensor.zeros((2, 3, 5)).transpose(2, 0, 1).mm_shape
    /// Shape('f32[5,2,3]{0,2,1}')
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        if axes.is_empty() || axes.len() == 1 && axes.get_item(0)?.is_none() {
            return self.backwards();
        }
        viewed(self.inner().transpose(&argument::numbers(axes)?))
    }

    /// The view with two dimensions exchanged.
    ///
    /// >>> Tensor.zeros((2, 3, 5)).swapaxes(0, -1).shape
    /// (5, 3, 2)
    fn swapaxes(&self, axis1: i64, axis2: i64) -> PyResult<Tensor> {
        viewed(self.inner().swap_dimensions(axis1, axis2))
    }

    /// The view with a dimension reversed.
    ///
    /// >>> Tensor([1, 2, 3]).flip(0).tolist()
    /// [3, 2, 1]
    fn flip(&self, axis: i64) -> PyResult<Tensor> {
        viewed(self.inner().flip(axis))
    }

    /// The view of the same elements in row-major (logical) order with other sizes, one of which may be
    /// -1. Where only a copy has them, an error says what is in the way.
    ///
    /// >>> a = Tensor([[1, 2, 3], [4, 5, 6]], "s32")
    /// >>> a.reshape(3, -1).tolist()
    /// [[1, 2], [3, 4], [5, 6]]
    /// >>> a.T.contiguous().reshape(6).tolist()
    /// [1, 4, 2, 5, 3, 6]
    /// >>> a.T.reshape(6)
    /// Traceback (most recent call last):
    ///   ...
    /// minormajor.Error: reshape of s32[3,2]{0,1} is no view: dimensions 0 and 1 can't become one: a step of
    /// dimension 0 is 4 bytes, the 2 steps of dimension 1 are 24; copy it first, with `contiguous`
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        viewed(self.inner().reshape(argument::numbers(shape)?))
    }

    /// The view of these sizes in which dimensions of size 1, and those that the tensor lacks, repeat.
    ///
    /// >>> row = Tensor([1, 2, 3]).broadcast_to(2, 3)
    /// >>> row.tolist(), row.strides
    /// ([[1, 2, 3], [1, 2, 3]], (0, 8))
    #[pyo3(signature = (*shape))]
    fn broadcast_to(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        viewed(self.inner().broadcast_to(argument::numbers(shape)?))
    }

    /// The view without a dimension of size 1, or without all of them.
    ///
    /// >>> a = Tensor.zeros((1, 3, 1))
    /// >>> a.squeeze().shape, a.squeeze(-1).shape
    /// ((3,), (1, 3))
    #[pyo3(signature = (axis = None))]
    fn squeeze(&self, axis: Option<i64>) -> PyResult<Tensor> {
        let Some(axis) = axis else {
            let sizes = self.inner().sizes();
            let ones = (0..sizes.len()).rev().filter(|&place| sizes[place] == 1);
            return viewed(
                ones.into_iter()
                    .try_fold(self.inner().clone(), |view, place| {
                        view.squeeze(place as i64)
                    }),
            );
        };
        viewed(self.inner().squeeze(axis))
    }

    /// The view with a dimension of size 1 more, which gets this number.
    ///
    /// >>> Tensor.zeros((2, 3)).unsqueeze(-1).shape
    /// (2, 3, 1)
    fn unsqueeze(&self, axis: i64) -> PyResult<Tensor> {
        viewed(self.inner().unsqueeze(axis))
    }

    /// The view of an index or a slice of each dimension, with ... for those between, and None for a new
    /// one of size 1. Indices that are not there are Python's IndexError; lists and masks, which no view
    /// can follow, a TypeError.
    ///
    /// >>> a = Tensor([[1, 2, 3], [4, 5, 6]])
    /// >>> a[1, ::-2].tolist(), a[..., -1].tolist(), a[:, None].shape
    /// ([6, 4], [3, 6], (2, 1, 3))
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let parts: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
            Ok(parts) => parts.iter().collect(),
            Err(_) => vec![key.clone()],
        };
        let is_rest = |part: &Bound<'_, PyAny>| part.is(part.py().Ellipsis());
        let rank = self.inner().rank();
        let named = parts
            .iter()
            .filter(|part| !part.is_none() && !is_rest(part));
        let named = named.count();
        if parts.iter().filter(|part| is_rest(part)).count() > 1 {
            return Err(PyIndexError::new_err(
                "expected one ... at most, found more",
            ));
        }
        if named > rank {
            return Err(PyIndexError::new_err(
                Cause::Rank { found: named, rank }.to_string(),
            ));
        }
        let mut view = self.inner().clone();
        // The dimension that the next part is for: of the view, and of the tensor.
        let (mut dimension, mut own) = (0, 0);
        for part in &parts {
            if is_rest(part) {
                dimension += rank - named;
                own += rank - named;
            } else if part.is_none() {
                view = view.unsqueeze(dimension as i64).map_err(error::tensor)?;
                dimension += 1;
            } else if let Ok(slice) = part.cast::<PySlice>() {
                view = sliced(&view, dimension, slice)?;
                dimension += 1;
                own += 1;
            } else {
                view = indexed(&view, dimension, own, part)?;
                own += 1;
            }
        }
        Ok(Tensor(view))
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.inner().sizes().first() {
            Some(&size) => usize::try_from(size).map_err(error),
            None => Err(PyTypeError::new_err("a tensor of rank 0 has no length")),
        }
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Rows> {
        slf.get().__len__()?;
        Ok(Rows {
            of: slf.clone().unbind(),
            next: 0,
        })
    }
}

/// Goes through the first dimension.
#[pyclass(module = "minormajor._core")]
struct Rows {
    of: Py<Tensor>,
    next: i64,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&mut self) -> PyResult<Option<Tensor>> {
        let tensor = self.of.get().inner();
        if self.next >= tensor.sizes()[0] {
            return Ok(None);
        }
        self.next += 1;
        viewed(tensor.index(0, self.next - 1)).map(Some)
    }
}

fn sliced(
    view: &minormajor::Tensor,
    dimension: usize,
    slice: &Bound<'_, PySlice>,
) -> PyResult<minormajor::Tensor> {
    let size = view.sizes()[dimension];
    let indices = slice.indices(isize::try_from(size).map_err(error)?)?;
    let (start, step) = (indices.start as i64, indices.step as i64);
    let range = match (indices.slicelength as i64, step) {
        (0, _) => 0..0,
        // A step back begins at the range's last index.
        (count, ..0) => start + (count - 1) * step..start + 1,
        (count, _) => start..start + (count - 1) * step + 1,
    };
    let made = view.slice_by(dimension as i64, range, step);
    made.map_err(error::tensor)
}

fn indexed(
    view: &minormajor::Tensor,
    dimension: usize,
    own: usize,
    index: &Bound<'_, PyAny>,
) -> PyResult<minormajor::Tensor> {
    // A truth value is an integer of Python's, and NumPy's index of another kind.
    let is_truth = index.is_instance_of::<PyBool>();
    let given = (!is_truth).then(|| index.extract::<i64>().ok()).flatten();
    let given = given.ok_or_else(|| argument::no_index(index))?;
    let size = view.sizes()[dimension];
    let index = if given < 0 {
        given.saturating_add(size)
    } else {
        given
    };
    if !(0..size).contains(&index) {
        let missing = Cause::OutOfRange {
            dimension: own,
            index: given,
            size,
        };
        return Err(PyIndexError::new_err(missing.to_string()));
    }
    let made: Result<_, TensorError> = view.index(dimension as i64, index);
    made.map_err(error::tensor)
}
