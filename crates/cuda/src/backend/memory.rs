//! Memory of a device, and bytes into it and out of it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use minormajor::backend::{DeviceError, Storage};

use super::CudaBackend;
use super::sharing::Sharing;
use crate::driver::{Driver, Queue};

/// Memory of a device.
pub(super) struct Memory {
    pub(super) driver: Arc<dyn Driver>,
    /// 0 for no bytes.
    pub(super) address: u64,
    pub(super) bytes: usize,
    pub(super) sharing: Sharing,
}

impl Storage for Memory {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes, self.address)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.sharing.end(&*self.driver);
        if self.address != 0 && !self.sharing.is_borrowed() {
            self.driver.free(self.address);
        }
    }
}

impl CudaBackend {
    /// One of our own storages.
    pub(super) fn memory<'a>(&self, storage: &'a dyn Storage) -> Result<&'a Memory, DeviceError> {
        (storage as &dyn Any)
            .downcast_ref::<Memory>()
            .filter(|memory| Arc::ptr_eq(&memory.driver, &self.driver))
            .ok_or_else(|| DeviceError::Foreign {
                device: self.name.clone(),
            })
    }

    /// Memory in which nothing is written yet.
    pub(super) fn new_memory(&self, queue: Queue, bytes: usize) -> Result<Memory, DeviceError> {
        let address = match bytes {
            0 => 0,
            _ => self
                .driver
                .allocate(queue, bytes as u64)
                .map_err(|fault| self.fault(fault))?,
        };
        Ok(Memory {
            driver: self.driver.clone(),
            address,
            bytes,
            sharing: Sharing::default(),
        })
    }

    pub(super) fn zeroed(&self, bytes: usize) -> Result<Memory, DeviceError> {
        let memory = self.new_memory(Queue::Main, bytes)?;
        self.zero(&memory)?;
        Ok(memory)
    }

    pub(super) fn zero(&self, memory: &Memory) -> Result<(), DeviceError> {
        if memory.bytes > 0 {
            let zeroed = self.driver.zero(memory.address, memory.bytes as u64);
            zeroed.map_err(|fault| self.fault(fault))?;
        }
        Ok(())
    }

    pub(super) fn uploaded(&self, bytes: &[u8]) -> Result<Memory, DeviceError> {
        let memory = self.new_memory(Queue::Uploads, bytes.len())?;
        if !bytes.is_empty() {
            let sent = self.stages.upload(&*self.driver, bytes, memory.address);
            sent.map_err(|fault| self.fault(fault))?;
        }
        Ok(memory)
    }

    pub(super) fn downloaded(
        &self,
        memory: &Memory,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), DeviceError> {
        let end = offset.checked_add(into.len());
        if end.is_none_or(|end| end > memory.bytes) {
            return Err(self.failed(format!(
                "{} bytes from {offset} on are not in a storage of {}",
                into.len(),
                memory.bytes
            )));
        }
        if into.is_empty() {
            return Ok(());
        }
        let from = memory.address + offset as u64;
        let received = self.stages.download(&*self.driver, from, into);
        received.map_err(|fault| self.fault(fault))
    }

    pub(super) fn host_bytes(&self, bytes: usize) -> Result<Vec<u8>, DeviceError> {
        let mut made = Vec::new();
        made.try_reserve_exact(bytes)
            .map_err(|_| DeviceError::OutOfMemory {
                device: format!("the host of {}", self.name),
                bytes,
                free: None,
            })?;
        made.resize(bytes, 0);
        Ok(made)
    }
}
