//! Other layouts and other devices.

use minormajor_core::plan::PlanClass;
use minormajor_core::{ArrayShape, Layout, Plan};

use super::{Memory, Order, Tensor, TensorError};
use crate::backend::{Device, Transfer};

impl Tensor {
    /// The same values in another layout: any that an array of this rank can have. Where the bytes
    /// are right already the memory is shared.
    ///
    /// # Errors
    ///
    /// [`TensorError::Shape`] for a layout that does not fit, [`TensorError::Plan`] for one that
    /// elements can't be moved to, [`TensorError::Device`].
    ///
    /// ```
    /// use minormajor::{Device, ElementType, Layout, Tensor, Tile};
    ///
    /// let a = Tensor::randn(ElementType::F32, [100, 200], 1, &Device::cpu())?;
    /// let tiled = a.relayout(Layout::descending(2).with_tiles([Tile::new([8, 128])])?)?;
    /// assert_eq!(tiled.shape().to_string(), "f32[100,200]{1,0:T(8,128)}");
    /// assert_eq!(tiled.at(&[99, 150])?, a.at(&[99, 150])?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn relayout(&self, layout: Layout) -> Result<Tensor, TensorError> {
        let shape = self.in_layout(layout)?;
        let plan = Plan::new(self.place(), &shape)?;
        if self.has_the_bytes_of(&plan) {
            return Ok(self.view(Memory::Array(shape)));
        }
        Ok(Tensor {
            device: self.device.clone(),
            storage: self.device.backend().relayout(&plan, &*self.storage)?,
            memory: Memory::Array(shape),
        })
    }

    /// The same values, dense in a named order.
    ///
    /// # Errors
    ///
    /// As [`relayout`](Tensor::relayout).
    pub fn contiguous(&self, order: Order) -> Result<Tensor, TensorError> {
        self.relayout(order.layout(self.rank()))
    }

    /// The tensor on another device, in the layout that it prefers; this one, if it is there.
    ///
    /// # Errors
    ///
    /// [`TensorError::Device`]; as [`relayout`](Tensor::relayout).
    ///
    /// ```
    /// use minormajor::{Device, Tensor};
    ///
    /// let a = Tensor::from_slice(&[1, 2, 3, 4, 5, 6], [2, 3], &Device::cpu())?;
    /// let there = a.to(&Device::cpu_columns())?;
    /// assert_eq!(there.shape().to_string(), "s32[2,3]{0,1}");
    /// assert!(there.to(&Device::cpu())?.equals(&a)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to(&self, device: &Device) -> Result<Tensor, TensorError> {
        match self.device == *device {
            true => Ok(self.clone()),
            false => self.to_layout(device, device.backend().preferred_layout(self.rank())),
        }
    }

    /// The tensor on a device, in a layout: what [`to`](Tensor::to) does with the device's own.
    ///
    /// # Errors
    ///
    /// As [`to`](Tensor::to).
    pub fn to_layout(&self, device: &Device, layout: Layout) -> Result<Tensor, TensorError> {
        if self.device == *device {
            return self.relayout(layout);
        }
        let shape = self.in_layout(layout)?;
        let plan = Plan::new(self.place(), &shape)?;
        let storage = match self.storage.host_bytes() {
            Some(bytes) => device.backend().upload_relaid(&plan, bytes)?,
            None => {
                let own = self.device.backend();
                let bytes = plan.destination_bytes() as usize;
                device.backend().upload_from(bytes, &mut |into| {
                    own.download_relaid(&plan, &*self.storage, into)
                })?
            }
        };
        Ok(Tensor {
            device: device.clone(),
            storage,
            memory: Memory::Array(shape),
        })
    }

    /// How [`to`](Tensor::to) would move it: where the relayout is done, and the bytes over the link.
    /// `None` where it is there already.
    ///
    /// # Errors
    ///
    /// As [`relayout`](Tensor::relayout).
    pub fn transfer_to(&self, device: &Device) -> Result<Option<Transfer>, TensorError> {
        if self.device == *device {
            return Ok(None);
        }
        let shape = self.in_layout(device.backend().preferred_layout(self.rank()))?;
        let plan = Plan::new(self.place(), &shape)?;
        Ok(Some(match self.storage.host_bytes() {
            Some(_) => Transfer::upload(&plan),
            None => Transfer::download(&plan),
        }))
    }

    fn in_layout(&self, layout: Layout) -> Result<ArrayShape, TensorError> {
        let sizes = self.sizes();
        Ok(ArrayShape::new(self.element_type(), sizes)?.with_layout(layout)?)
    }

    /// Whether the storage is what a plan would make.
    fn has_the_bytes_of(&self, plan: &Plan) -> bool {
        plan.class() == PlanClass::Identity
            && self.storage.bytes() as i64 == plan.destination_bytes()
    }
}
