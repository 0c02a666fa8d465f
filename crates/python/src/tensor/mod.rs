//! The class `Tensor`: arrays on a device.

mod argument;
mod arithmetic;
mod create;
pub mod device;
mod exchange;
mod views;

use minormajor::{Place, TensorError};
use numpy::PyArrayDescr;
use pyo3::prelude::*;

pub use device::{Device, Devices, devices};

use crate::error;
use crate::layout::{Layout, tuple};
use crate::shape::Shape;
use crate::{dtype, text};

/// An array on a device: a type, sizes, a layout, and memory that views share.
///
/// The elements are those of a NumPy array, of one of PyTorch's or JAX's, of anything that speaks
/// DLPack, the buffer protocol or __array_interface__, or of nested lists and numbers as NumPy reads
/// them. Of an array on a card the tensor is on that card, where nothing else is said. They are always copied, since a tensor never changes: operations make new ones. With a dtype,
/// as numpy.asarray converts them. They are kept in the given layout, any of XLA's, or else in the one
/// that the device prefers.
///
/// >>> a = Tensor([[1.5, -2, 3.25], [0, 10, 0.001]], "f32")
/// >>> a
/// Tensor([[ 1.500, -2.000,  3.250],
///         [ 0.000, 10.000,  0.001]], f32[2,3]{1,0} on cpu)
/// >>> (a @ a.T).shape, (2 * a + 1)[0].tolist()
/// ((2, 2), [4.0, -3.0, 7.5])
/// >>> Tensor(numpy.eye(3, dtype="f4"), device="cpu:columns", layout="{1,0:T(2,2)}").mm_shape
/// Shape('f32[3,3]{1,0:T(2,2)}')
#[pyclass(frozen, module = "minormajor")]
pub struct Tensor(minormajor::Tensor);

impl Tensor {
    pub fn wrap(tensor: minormajor::Tensor) -> Tensor {
        Tensor(tensor)
    }

    pub fn inner(&self) -> &minormajor::Tensor {
        &self.0
    }
}

/// What an operation made. Python's lock is given up while it runs: another thread may.
fn made(
    py: Python<'_>,
    work: impl Send + FnOnce() -> Result<minormajor::Tensor, TensorError>,
) -> PyResult<Tensor> {
    py.detach(work).map(Tensor).map_err(error::tensor)
}

/// A view, which moves nothing.
fn viewed(view: Result<minormajor::Tensor, TensorError>) -> PyResult<Tensor> {
    view.map(Tensor).map_err(error::tensor)
}

#[pymethods]
impl Tensor {
    /// The sizes, as NumPy's arrays have them.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tuple(py, &self.0.sizes())
    }

    /// The type, the sizes and the layout, as XLA writes them; without a layout for a view with gaps,
    /// repeated or backwards, which has none.
    ///
    /// >>> a = Tensor.zeros((2, 3), layout="{0,1}")
    /// >>> str(a.mm_shape), str(a[:, ::2].mm_shape)
    /// ('f32[2,3]{0,1}', 'f32[2,2]')
    #[getter]
    fn mm_shape(&self) -> Shape {
        Shape::wrap(self.0.shape())
    }

    /// The layout; None for a view with gaps, repeated or backwards.
    #[getter]
    fn layout(&self) -> Option<Layout> {
        self.0.layout().cloned().map(Layout::wrap)
    }

    /// Bytes from an element to the next one of each dimension; None where tiles or packed elements
    /// are.
    ///
    /// >>> a = Tensor.zeros((2, 3))
    /// >>> a.strides, a.T[::-1].strides
    /// ((12, 4), (-4, 12))
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let place = self.byte_strides();
        place.map(|(strides, _)| tuple(py, &strides)).transpose()
    }

    /// The type of an element, NumPy's or one of ml_dtypes.
    ///
    /// >>> Tensor.zeros(3, "f16").dtype
    /// dtype('float16')
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        dtype::dtype_of(py, self.0.element_type())
    }

    /// The type of an element, as XLA calls it.
    ///
    /// >>> Tensor.zeros(3, "bfloat16").element_type
    /// 'bf16'
    #[getter]
    fn element_type(&self) -> &'static str {
        self.0.element_type().name()
    }

    /// Where the memory is.
    ///
    /// >>> Tensor.zeros(3).device
    /// Device('cpu')
    #[getter]
    fn device(&self) -> Device {
        Device::wrap(self.0.device().clone())
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.rank()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> i64 {
        self.0.elements()
    }

    /// Bytes of all elements, padding left out and none packed, as NumPy counts them. What a tensor's
    /// layout takes is mm_shape.allocated_bytes.
    #[getter]
    fn nbytes(&self) -> i64 {
        self.0.elements() * i64::from(self.0.element_type().byte_width())
    }

    /// Whether both have their elements in the same memory: one is a view of the other, or both of a
    /// third.
    ///
    /// >>> a = Tensor.zeros((2, 3))
    /// >>> a.shares_memory_with(a.T), a.shares_memory_with(a + 0)
    /// (True, False)
    fn shares_memory_with(&self, other: &Tensor) -> bool {
        self.0.shares_memory_with(&other.0)
    }

    /// The same values in another layout, any that an array of this rank can have: its text, its
    /// minor-to-major order, or a Layout. The memory is shared where the bytes are right already.
    ///
    /// >>> a = Tensor.randn((100, 200), seed=1)
    /// >>> tiled = a.relayout("{1,0:T(8,128)}")
    /// >>> tiled.mm_shape, tiled == a
    /// (Shape('f32[100,200]{1,0:T(8,128)}'), True)
    fn relayout(&self, py: Python<'_>, layout: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let layout = text::layout(layout)?;
        made(py, || self.0.relayout(layout))
    }

    /// The same values without gaps in an order that has a name: row-major for 'C', column-major for
    /// 'F', column-major matrices one behind the other for 'matrices', NHWC of an array NCHW for
    /// 'channels_last'. The memory is shared where it has that order already.
    ///
    /// >>> Tensor.zeros((2, 3, 5, 7)).contiguous("channels_last").layout
    /// Layout('{1,3,2,0}')
    #[pyo3(signature = (order = "C"))]
    fn contiguous(&self, py: Python<'_>, order: &str) -> PyResult<Tensor> {
        let order = argument::order(order)?;
        made(py, || self.0.contiguous(order))
    }

    /// The tensor on another device, in a layout or else in the one that the device prefers. The tensor
    /// itself, where it is there in that layout.
    ///
    /// >>> a = Tensor([[1, 2, 3], [4, 5, 6]])
    /// >>> there = a.to("cpu:columns")
    /// >>> there.mm_shape, there.to("cpu") == a
    /// (Shape('s64[2,3]{0,1}'), True)
    /// >>> a.to("gpu:0")
    /// Traceback (most recent call last):
    ///   ...
    /// minormajor.DeviceError: there is no device gpu:0: none of this name is registered; the devices are ...
    #[pyo3(signature = (device, layout = None))]
    fn to(
        &self,
        py: Python<'_>,
        device: &Bound<'_, PyAny>,
        layout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let device = device::named(device)?;
        let layout = layout.map(text::layout).transpose()?;
        made(py, || match layout {
            Some(layout) => self.0.to_layout(&device, layout),
            None => self.0.to(&device),
        })
    }

    /// How `to` would move it to a device: the bytes between host and device, and where they get their
    /// new order. None where it is there already.
    ///
    /// >>> Tensor.zeros((2, 3)).transfer_to("cpu:columns")
    /// '24 bytes over the link, then relayout on the device'
    fn transfer_to(&self, device: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        let transfer = self.0.transfer_to(&device::named(device)?);
        Ok(transfer.map_err(error::tensor)?.map(|how| how.to_string()))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let text = self.__str__(py);
        let (values, shape) = text.rsplit_once('\n').unwrap_or_default();
        let values = values.replace('\n', "\n       ");
        // Lines between matrices are empty.
        let values = values.replace("\n       \n", "\n\n");
        format!("Tensor({values}, {shape})")
    }

    fn __str__(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_string())
    }
}

impl Tensor {
    /// Strides in bytes, and where in the storage the first element is; `None` where tiles or packed
    /// elements are.
    fn byte_strides(&self) -> Option<(Vec<i64>, i64)> {
        match self.0.place() {
            Place::Array(shape) if shape.element_bits() % 8 == 0 => {
                Some((shape.byte_strides()?, 0))
            }
            Place::Strided(view) if view.packed_bits().is_none() => {
                Some((view.strides().to_vec(), view.offset()))
            }
            _ => None,
        }
    }
}
