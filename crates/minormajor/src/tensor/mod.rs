//! Tensors: arrays on a device.

mod compute;
mod create;
mod device;
mod display;
mod element;
mod error;
mod movement;
mod order;
mod read;
mod sizes;
mod views;

use std::fmt;
use std::sync::Arc;

use minormajor_core::{ArrayShape, ElementType, Layout, Place, StridedView};

use crate::backend::{Device, Operand, Storage, Strided};

pub use compute::Term;
pub use element::Element;
pub use error::TensorError;
pub use order::Order;
pub use sizes::IntoSizes;

/// An array on a device: an element type, sizes of any rank with their layout, and memory that
/// other tensors may share.
///
/// A tensor never changes: operations make new ones, views share the memory. So clones are cheap,
/// and any number of threads may use one. Indices, iteration and everything that is read out are in
/// logical (row-major) order, whatever the storage; the layout is what memory looks like, and any is
/// legal on every device.
///
/// ```
/// use minormajor::{Device, ElementType, Order, Tensor};
///
/// let cpu = Device::cpu();
/// let a = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3], &cpu)?;
/// let b = a.transpose(&[1, 0])?; // a view
/// let c = a.mm(&b)?;
/// assert_eq!(c.to_vec::<f32>()?, [14.0, 32.0, 32.0, 77.0]);
///
/// // The same values in another layout, and a view of its second row.
/// let columns = c.contiguous(Order::ColumnMajor)?;
/// assert!(columns.equals(&c)?);
/// let row = columns.index(0, 1)?;
/// assert_eq!(row.add(0.5)?.to_string(), "[32.5, 77.5]\nf32[2]{0} on cpu");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    device: Device,
    storage: Arc<dyn Storage>,
    memory: Memory,
}

/// How elements lie in the storage, from its first byte on.
#[derive(Clone)]
enum Memory {
    /// The whole array in a layout, all its dimensions static.
    Array(ArrayShape),
    /// A strided part of the storage.
    Strided(StridedView),
}

impl<'a> From<&'a Memory> for Place<'a> {
    fn from(memory: &'a Memory) -> Place<'a> {
        match memory {
            Memory::Array(shape) => Place::Array(shape),
            Memory::Strided(view) => Place::Strided(view),
        }
    }
}

impl Tensor {
    /// The type of every element.
    pub fn element_type(&self) -> ElementType {
        Place::from(&self.memory).element_type()
    }

    /// The sizes, in increasing order of dimension number.
    pub fn sizes(&self) -> Vec<i64> {
        match &self.memory {
            Memory::Array(shape) => static_sizes(shape),
            Memory::Strided(view) => view.sizes().to_vec(),
        }
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        match &self.memory {
            Memory::Array(shape) => shape.rank(),
            Memory::Strided(view) => view.sizes().len(),
        }
    }

    /// The number of elements.
    pub fn elements(&self) -> i64 {
        match &self.memory {
            Memory::Array(shape) => shape.elements().expect("static sizes"),
            Memory::Strided(view) => view.elements(),
        }
    }

    /// The type and sizes, with the layout where there is one: a view with gaps, repetitions or
    /// reversed dimensions has none.
    ///
    /// ```
    /// use minormajor::{Device, ElementType, Tensor};
    ///
    /// let a = Tensor::zeros(ElementType::F32, [2, 3], &Device::cpu())?;
    /// assert_eq!(a.shape().to_string(), "f32[2,3]{1,0}");
    /// assert_eq!(a.transpose(&[1, 0])?.shape().to_string(), "f32[3,2]{0,1}");
    /// let view = a.slice(1, 0..2)?;
    /// assert_eq!((view.shape().to_string(), view.strides()), ("f32[2,2]".to_owned(), Some(vec![3, 1])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shape(&self) -> ArrayShape {
        match &self.memory {
            Memory::Array(shape) => shape.clone(),
            Memory::Strided(view) => {
                let sizes = view.sizes().iter().copied();
                ArrayShape::new(view.element_type(), sizes)
                    .map(|shape| shape.without_layout())
                    .expect("a view's sizes were checked where it was made")
            }
        }
    }

    /// The layout, where there is one.
    pub fn layout(&self) -> Option<&Layout> {
        match &self.memory {
            Memory::Array(shape) => shape.layout(),
            Memory::Strided(_) => None,
        }
    }

    /// From an element to the next one of each dimension, in elements; `None` where no strides
    /// say it, as with tiles.
    pub fn strides(&self) -> Option<Vec<i64>> {
        Some(self.strided()?.strides().to_vec())
    }

    /// The device that the memory is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The memory, in the [`place`](Tensor::place) that says how.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// How the elements lie in the memory: what a [`Plan`](crate::Plan) reads from.
    pub fn place(&self) -> Place<'_> {
        Place::from(&self.memory)
    }

    /// Whether both have their elements in the same memory: one is a view of the other, or both of
    /// a third.
    pub fn shares_memory_with(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }

    /// The strides in elements; `None` where there are tiles or packed elements, or elements lie
    /// between places of whole ones.
    fn strided(&self) -> Option<Strided> {
        let width = i64::from(self.element_type().byte_width());
        let (strides, offset) = match &self.memory {
            Memory::Array(shape) if shape.element_bits() % 8 == 0 => (shape.byte_strides()?, 0),
            Memory::Strided(view) if view.packed_bits().is_none() => {
                (view.strides().to_vec(), view.offset())
            }
            _ => return None,
        };
        let whole = strides.iter().all(|stride| stride % width == 0) && offset % width == 0;
        whole.then(|| {
            let strides = strides.iter().map(|stride| stride / width);
            Strided::new(self.element_type(), self.sizes(), strides, offset / width)
        })
    }

    /// The strided tensor of the same elements: this one, or a copy where tiles or packed elements
    /// are in the way.
    fn to_strided(&self) -> Result<(Tensor, Strided), TensorError> {
        if let Some(place) = self.strided() {
            return Ok((self.clone(), place));
        }
        let layout = self.device.backend().preferred_layout(self.rank());
        let copy = self.relayout(layout)?;
        let place = copy.strided().expect("a preferred layout has strides");
        Ok((copy, place))
    }

    fn operand<'a>(&'a self, place: &Strided) -> Operand<'a> {
        Operand {
            storage: &*self.storage,
            place: place.clone(),
        }
    }

    /// A tensor of the same memory.
    fn view(&self, memory: Memory) -> Tensor {
        Tensor {
            device: self.device.clone(),
            storage: self.storage.clone(),
            memory,
        }
    }
}

fn static_sizes(shape: &ArrayShape) -> Vec<i64> {
    shape.sizes().expect("a tensor's sizes are static")
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} on {}", self.shape(), self.device.name())?;
        if let Memory::Strided(view) = &self.memory {
            write!(f, ", strides {:?} from {}", view.strides(), view.offset())?;
        }
        f.write_str(")")
    }
}
