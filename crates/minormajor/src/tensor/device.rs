//! What a device does with tensors.

use super::{Tensor, TensorError};
use crate::backend::Device;

/// The seed's way to say it, device first: each is a method of [`Tensor`] too.
impl Device {
    /// A tensor of another device here, in the layout that this one prefers: [`Tensor::to`].
    ///
    /// # Errors
    ///
    /// As [`Tensor::to`].
    ///
    /// ```
    /// use minormajor::{CompactShape, Device, ElementType, Tensor};
    ///
    /// // Where there is a GPU, `Devices` has a `cuda:0` to take instead.
    /// let (cpu, device) = (Device::cpu(), Device::cpu_columns());
    ///
    /// // Row-major on the host.
    /// let cpu_a = Tensor::randn(ElementType::F32, CompactShape::matrix(64, 128)?, 42, &cpu)?;
    /// let cpu_b = Tensor::randn(ElementType::F32, CompactShape::matrix(128, 32)?, 43, &cpu)?;
    ///
    /// // To the device: row-major becomes column-major.
    /// let device_a = device.from_cpu(&cpu_a)?;
    /// let device_b = device.from_cpu(&cpu_b)?;
    ///
    /// // The product there, and back: column-major becomes row-major.
    /// let result = device.mm(&device_a, &device_b)?;
    /// let cpu_result = device.to_cpu(&result)?;
    ///
    /// assert!(cpu.is_close(&cpu_result, &cpu.mm(&cpu_a, &cpu_b)?, 1e-4)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_cpu(&self, tensor: &Tensor) -> Result<Tensor, TensorError> {
        tensor.to(self)
    }

    /// A tensor on the host, in the layout that it prefers, row-major: [`Tensor::to`] `cpu`.
    ///
    /// # Errors
    ///
    /// As [`Tensor::to`].
    pub fn to_cpu(&self, tensor: &Tensor) -> Result<Tensor, TensorError> {
        tensor.to(&Device::cpu())
    }

    /// The matrix product of two tensors of this device: [`Tensor::mm`].
    ///
    /// # Errors
    ///
    /// As [`Tensor::mm`]; [`TensorError::Devices`] for tensors of others.
    pub fn mm(&self, left: &Tensor, right: &Tensor) -> Result<Tensor, TensorError> {
        for tensor in [left, right] {
            if tensor.device() != self {
                return Err(TensorError::Devices {
                    operation: "mm",
                    left: self.name().to_owned(),
                    right: tensor.device().name().to_owned(),
                });
            }
        }
        left.mm(right)
    }

    /// Whether two tensors are close, found on this device: [`Tensor::is_close`].
    ///
    /// # Errors
    ///
    /// As [`Tensor::is_close`].
    pub fn is_close(
        &self,
        left: &Tensor,
        right: &Tensor,
        epsilon: f64,
    ) -> Result<bool, TensorError> {
        left.to(self)?.is_close(right, epsilon)
    }
}
