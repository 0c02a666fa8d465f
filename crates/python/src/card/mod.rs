//! Arrays in a card's memory: CuPy's, PyTorch's, JAX's, Numba's, and our own tensors.
//!
//! They come by DLPack or `__cuda_array_interface__`, are moved by the card itself, and go back by the same
//! ways. Work of others that was queued before is waited for, and ours is done when a function returns.

mod made;

use std::sync::Arc;

use minormajor::backend::{Backend, Storage};
use minormajor::plan::ByteOrders;
use minormajor::{ArrayShape, Device, ElementType, Layout, Plan, StridedView};
use minormajor_cuda::CudaBackend;
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use crate::array::{Array, Moved, foreign};
use crate::dtype;
use crate::error::{self, error};
use crate::layout::tuple;
use crate::memory::card::{borrow, card, failed};
use crate::memory::dlpack::{self, CARD, MANAGED_BY_CARDS};
use crate::memory::extent;
use crate::order::{Order, Strides};
use crate::prepared::Wanted;
use crate::tensor::device;

pub use made::{OnCard, interface};

/// An array that was given, in the host's memory or in a card's.
pub enum Given<'py> {
    Host(Array<'py>),
    /// Boxed: the call of a small array is not to pay for its size.
    Card(Box<CardArray<'py>>),
}

impl<'py> Given<'py> {
    /// As [`Array::new`], and arrays on cards.
    #[inline]
    pub fn new(given: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
        match Array::new(given) {
            Ok(array) => Ok(Given::Host(array)),
            Err(cause) => match CardArray::new(given)? {
                Some(array) => Ok(Given::Card(Box::new(array))),
                None => Err(cause),
            },
        }
    }

    pub fn rank(&self) -> usize {
        match self {
            Given::Host(array) => array.array.ndim(),
            Given::Card(array) => array.sizes.len(),
        }
    }

    /// A view with the dimensions in another order.
    pub fn transposed(&self, axes: &[i64]) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Given::Host(array) => array.transposed(axes),
            Given::Card(array) => {
                let (py, axes) = (array.given.py(), tuple(array.given.py(), axes)?);
                let array = (&array.given, py.None(), axes);
                foreign(py)?.call_method1(intern!(py, "transpose"), array)
            }
        }
    }

    pub fn place(&self) -> Place<'py> {
        match self {
            Given::Host(array) => Place {
                dtype: array.array.dtype(),
                sizes: array.array.shape().into(),
                strides: array.array.strides().into(),
            },
            Given::Card(array) => Place {
                dtype: array.dtype.clone(),
                sizes: array.sizes[..].into(),
                strides: array.strides[..].into(),
            },
        }
    }
}

/// Where an array's elements are, but for the address.
pub struct Place<'py> {
    pub dtype: Bound<'py, PyArrayDescr>,
    pub sizes: SmallVec<[usize; 8]>,
    /// In bytes.
    pub strides: Strides,
}

/// An array in a card's memory.
pub struct CardArray<'py> {
    pub given: Bound<'py, PyAny>,
    pub dtype: Bound<'py, PyArrayDescr>,
    pub sizes: Vec<usize>,
    /// In bytes.
    pub strides: Vec<isize>,
    /// Of the first element.
    address: u64,
    /// The card's number, where that was said.
    ordinal: Option<usize>,
    is_read_only: bool,
    owner: Box<dyn Send + Sync>,
}

/// The memory of such an array, from its lowest element to its highest.
struct Lent {
    device: Device,
    storage: Arc<dyn Storage>,
}

impl Lent {
    fn card(&self) -> PyResult<&CudaBackend> {
        card(&self.device).ok_or_else(|| error("expected a card"))
    }
}

impl<'py> CardArray<'py> {
    /// `None` for what is no array on a card.
    fn new(given: &Bound<'py, PyAny>) -> PyResult<Option<CardArray<'py>>> {
        let py = given.py();
        if let Ok(device) = given.call_method0(intern!(py, "__dlpack_device__"))
            && let Ok((kind, _)) = device.extract::<(i32, i32)>()
        {
            return match [CARD, MANAGED_BY_CARDS].contains(&kind) {
                true => CardArray::of_dlpack(given).map(Some),
                false => Ok(None),
            };
        }
        match given.getattr_opt(intern!(py, "__cuda_array_interface__"))? {
            Some(interface) => CardArray::of_interface(given, &interface).map(Some),
            None => Ok(None),
        }
    }

    fn of_dlpack(given: &Bound<'py, PyAny>) -> PyResult<CardArray<'py>> {
        let py = given.py();
        let options = PyDict::new(py);
        // The default stream: the array's owner makes that wait for what it has queued.
        options.set_item("stream", 1)?;
        options.set_item("max_version", (1, 0))?;
        let method = intern!(py, "__dlpack__");
        let capsule = match given.call_method(method, (), Some(&options)) {
            Err(cause) if cause.is_instance_of::<PyTypeError>(py) => {
                // It knows of no versions.
                options.del_item("max_version")?;
                given.call_method(method, (), Some(&options))?
            }
            other => other?,
        };
        let array = dlpack::borrow(&capsule)?;
        let dtype = dtype::dtype_of(py, array.element_type)?;
        Ok(CardArray {
            given: given.clone(),
            strides: strides_or_rows(array.strides, &array.sizes, dtype.itemsize())?,
            dtype,
            sizes: array.sizes,
            address: array.address,
            ordinal: usize::try_from(array.device.1).ok(),
            is_read_only: array.is_read_only,
            owner: array.owner,
        })
    }

    fn of_interface(
        given: &Bound<'py, PyAny>,
        interface: &Bound<'py, PyAny>,
    ) -> PyResult<CardArray<'py>> {
        let py = given.py();
        let interface = interface.cast::<PyDict>()?;
        let required = |name: &str| {
            let found = interface.get_item(name)?;
            found.ok_or_else(|| error(format!("__cuda_array_interface__ has no {name:?}")))
        };
        let optional = |name: &str| {
            let found = interface.get_item(name)?;
            PyResult::Ok(found.filter(|value| !value.is_none()))
        };
        if optional("mask")?.is_some() {
            return Err(PyTypeError::new_err(
                "an array with a mask: move its data and its mask",
            ));
        }
        let dtype = PyArrayDescr::new(py, required("typestr")?)?;
        let sizes: Vec<usize> = required("shape")?.extract()?;
        let (address, is_read_only): (u64, bool) = required("data")?.extract()?;
        let strides = optional("strides")?.map(|strides| strides.extract());
        Ok(CardArray {
            given: given.clone(),
            strides: strides_or_rows(strides.transpose()?, &sizes, dtype.itemsize())?,
            dtype,
            sizes,
            address,
            ordinal: None,
            is_read_only,
            owner: Box::new(given.clone().unbind()),
        })
    }

    fn width(&self) -> usize {
        self.dtype.itemsize()
    }

    /// Where its elements are, from the lowest one on.
    fn moved(&self) -> Moved {
        Moved::new(&self.sizes, &self.strides, self.width())
    }

    /// Its memory, when all work on it is done. Beside it the array is of no more use.
    ///
    /// # Errors
    ///
    /// A card that can't be used here, with the reason.
    fn lent(self) -> PyResult<Lent> {
        let py = self.given.py();
        let (lowest, bytes) = extent(&self.sizes, &self.strides, self.width())?;
        let address = match bytes {
            0 => 0,
            _ => self.address.wrapping_add_signed(lowest as i64),
        };
        let (ordinal, owner) = (self.ordinal, self.owner);
        py.detach(|| {
            let all = device::all().map_err(failed)?;
            let device = match ordinal {
                Some(ordinal) => all.get(&format!("cuda:{ordinal}")).map_err(failed)?,
                None => {
                    let holds = |device: &&Device| {
                        card(device).is_some_and(|card| bytes == 0 || card.holds(address))
                    };
                    match all.iter().find(holds) {
                        Some(device) => device.clone(),
                        // Says why there is no card.
                        None => all
                            .get("cuda:0")
                            .and_then(|_| all.get("cuda"))
                            .map_err(failed)?,
                    }
                }
            };
            let card = card(&device).ok_or_else(|| error("expected a card"))?;
            let storage = borrow(card, address, bytes, owner)?;
            Ok(Lent { device, storage })
        })
    }

    /// What `relayout` and its kin do.
    pub fn relayout(
        self,
        wanted: Option<&Wanted<'_>>,
        out: Option<&Bound<'py, PyAny>>,
        may_copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.given.py();
        let order = wanted.map(|wanted| wanted.order(py, self.sizes.len()));
        let order = order.transpose()?.flatten();
        if let Some(given) = out {
            if may_copy == Some(false) {
                return Err(error(
                    "an output is always copied to; expected no copy=False",
                ));
            }
            let to = CardArray::output(given)?;
            to.check(&self.dtype, &self.sizes, order.as_ref())?;
            let views = [self.moved().view()?, to.moved().view()?];
            let plan = Plan::new(&views[0], &views[1]).map_err(error::plan)?;
            self.deliver(&plan, to)?;
            return Ok(given.clone());
        }
        let Some(order) = order else {
            return Err(error("expected a layout, an output, or both"));
        };
        let is_there = order.is_order_at(&self.sizes, &self.strides, self.width());
        match may_copy {
            None | Some(false) if is_there => return Ok(self.given),
            Some(false) => {
                return Err(error("the array has another order: a copy is needed"));
            }
            _ => {}
        }
        let by_owner = foreign(py)?.call_method1(
            intern!(py, "relayout_by_owner"),
            (&self.given, order.minor_to_major()),
        )?;
        if !by_owner.is_none() {
            return Ok(by_owner);
        }
        let element_type = dtype::named_element_type(&self.dtype)?;
        let to = order.shape(element_type, &self.sizes)?;
        let from = self.moved().view_as(element_type)?;
        let plan = Plan::new(&from, &to).map_err(error::plan)?;
        let given = self.given.clone();
        self.run(plan, to)?.like(&given)
    }

    /// What `pack` does: the bytes of the array in a shape's layout.
    pub fn pack(
        self,
        view: &StridedView,
        to: &ArrayShape,
        orders: ByteOrders,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let plan = Plan::converting(view, to, orders).map_err(error::plan)?;
        let bytes = plan.destination_bytes() as usize;
        if let Some(given) = out {
            let to = CardArray::output(given)?;
            to.check_bytes(bytes)?;
            self.deliver(&plan, to)?;
            return Ok(given.clone());
        }
        let given = self.given.clone();
        let bytes = Order::of_letter("C", 1)?.shape(ElementType::U8, &[bytes])?;
        self.run(plan, bytes)?.like(&given)
    }

    /// What `unpack` does: the array of a shape, row-major or in an order, out of a buffer.
    pub fn unpack(
        self,
        from: &ArrayShape,
        sizes: &[usize],
        order: Option<&Order>,
        orders: ByteOrders,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, element_type) = (self.given.py(), from.element_type());
        let dtype = dtype::dtype_of(py, element_type)?;
        let plan = |strides: &[isize]| {
            let to = Moved::new(sizes, strides, dtype.itemsize()).view_as(element_type)?;
            let plan = Plan::converting(from, &to, orders).map_err(error::plan)?;
            self.check_bytes(plan.source_bytes() as usize)?;
            PyResult::Ok(plan)
        };
        if let Some(given) = out {
            let to = CardArray::output(given)?;
            to.check(&dtype, sizes, order)?;
            let plan = plan(&to.strides)?;
            self.deliver(&plan, to)?;
            return Ok(given.clone());
        }
        let rows = Order::of_letter("C", sizes.len())?;
        let order = order.unwrap_or(&rows);
        let plan = plan(&order.strides(sizes, dtype.itemsize())?)?;
        let given = self.given.clone();
        self.run(plan, order.shape(element_type, sizes)?)?
            .like(&given)
    }

    /// A tensor on its card.
    pub fn tensor(self, layout: Option<Layout>) -> PyResult<minormajor::Tensor> {
        let py = self.given.py();
        let element_type = dtype::named_element_type(&self.dtype)?;
        let view = self.moved().view_as(element_type)?;
        let sizes: Vec<i64> = self.sizes.iter().map(|&size| size as i64).collect();
        let lent = self.lent()?;
        py.detach(|| {
            let backend = lent.card()?;
            let layout = layout.unwrap_or_else(|| backend.preferred_layout(sizes.len()));
            let shape = ArrayShape::new(element_type, sizes);
            let shape = shape.and_then(|shape| shape.with_layout(layout));
            let shape = shape.map_err(error)?;
            let plan = Plan::new(&view, &shape).map_err(error::plan)?;
            let storage = backend.relayout(&plan, &*lent.storage).map_err(failed)?;
            // What was read goes back to its owner now.
            backend.synchronize().map_err(failed)?;
            minormajor::Tensor::from_storage(&shape, storage, &lent.device).map_err(error::tensor)
        })
    }

    fn output(given: &Bound<'py, PyAny>) -> PyResult<CardArray<'py>> {
        let to = CardArray::new(given)?.ok_or_else(|| {
            PyTypeError::new_err(format!(
                "the array is in a card's memory, the output, a {}, is not: expected both in one",
                given.get_type()
            ))
        })?;
        match to.is_read_only {
            true => Err(error("the destination is read-only")),
            false => Ok(to),
        }
    }

    /// Whether it is an output for this type, these sizes, and an order.
    fn check(
        &self,
        dtype: &Bound<'_, PyArrayDescr>,
        sizes: &[usize],
        order: Option<&Order>,
    ) -> PyResult<()> {
        if self.sizes != sizes || !self.dtype.is_equiv_to(dtype) {
            return Err(error(format!(
                "the output is of {} and the shape {:?}; expected {dtype} and {sizes:?}",
                self.dtype, self.sizes
            )));
        }
        match order {
            Some(order) if !order.is_order_at(sizes, &self.strides, self.width()) => {
                Err(error(format!(
                    "the output's strides {:?} are not those of the order that is asked for; \
                     without a layout any strides will do",
                    self.strides
                )))
            }
            _ => Ok(()),
        }
    }

    fn check_bytes(&self, expected: usize) -> PyResult<()> {
        let found = self.sizes.iter().product::<usize>() * self.width();
        if found != expected {
            return Err(error(format!(
                "the buffer has {found} bytes; expected {expected}, as the shape allocates"
            )));
        }
        let rows = Order::of_letter("C", self.sizes.len())?;
        match rows.is_order_at(&self.sizes, &self.strides, self.width()) {
            true => Ok(()),
            false => Err(error("the buffer has gaps between its elements")),
        }
    }

    /// Runs a plan into another array's memory.
    fn deliver(self, plan: &Plan, to: CardArray<'py>) -> PyResult<()> {
        let py = self.given.py();
        let (from, to) = (self.lent()?, to.lent()?);
        if from.device != to.device {
            return Err(error(format!(
                "the array is on {}, the output on {}",
                from.device.name(),
                to.device.name()
            )));
        }
        py.detach(|| {
            let done = from
                .card()?
                .relayout_into(plan, &*from.storage, &*to.storage);
            done.map_err(failed)
        })
    }

    /// Runs a plan into new memory of the card, where it leaves an array of a shape.
    fn run(self, plan: Plan, shape: ArrayShape) -> PyResult<OnCard> {
        let py = self.given.py();
        let lent = self.lent()?;
        let storage = py.detach(|| {
            let card = lent.card()?;
            let made = card.relayout(&plan, &*lent.storage).map_err(failed)?;
            // What was read goes back to its owner now.
            card.synchronize().map_err(failed)?;
            PyResult::Ok(made)
        })?;
        Ok(OnCard {
            device: lent.device,
            storage,
            shape,
        })
    }
}

/// The strides that were said, in bytes; where none were, those of row-major elements without gaps.
///
/// # Errors
///
/// More or fewer strides than sizes.
fn strides_or_rows(
    strides: Option<Vec<isize>>,
    sizes: &[usize],
    width: usize,
) -> PyResult<Vec<isize>> {
    match strides {
        Some(strides) if strides.len() == sizes.len() => Ok(strides),
        Some(strides) => Err(crate::text::unequal(sizes.len(), strides.len())),
        None => Ok(Order::of_letter("C", sizes.len())?
            .strides(sizes, width)?
            .to_vec()),
    }
}

/// What is known of an array on a card without looking at its memory: the type, sizes, strides in bytes,
/// whether it may be written, and the card's number where that was said. None for what is no such array.
#[pyfunction]
#[pyo3(signature = (given, /))]
pub fn on_card<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Known<'py>>> {
    let known = |array: CardArray<'py>| {
        let is_writable = !array.is_read_only;
        (
            array.dtype,
            array.sizes,
            array.strides,
            is_writable,
            array.ordinal,
        )
    };
    Ok(CardArray::new(given)?.map(known))
}

type Known<'py> = (
    Bound<'py, PyArrayDescr>,
    Vec<usize>,
    Vec<isize>,
    bool,
    Option<usize>,
);
