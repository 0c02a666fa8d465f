//! Memory that is shared with other libraries of the process: theirs, and ours that they use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use minormajor::backend::{DeviceError, Storage};
use minormajor::{ArrayShape, ElementType, Plan};

use super::CudaBackend;
use super::memory::Memory;
use crate::driver::Driver;

/// Who else has to do with some memory.
#[derive(Default)]
pub(super) struct Sharing {
    /// What keeps it alive, where it is another library's.
    owner: Option<Box<dyn Send + Sync>>,
    /// Whether another library was told where it is.
    is_lent: AtomicBool,
}

impl Sharing {
    pub fn is_borrowed(&self) -> bool {
        self.owner.is_some()
    }

    /// Waits for what may still be at work in the memory: ours in another library's, and theirs in ours.
    /// Nobody hears of a failure here.
    pub fn end(&self, driver: &dyn Driver) {
        if self.is_lent.load(Ordering::Acquire) {
            let _ = driver.settle();
        } else if self.is_borrowed() {
            let _ = driver.synchronize();
        }
    }
}

impl CudaBackend {
    /// The device's number among those of its kind, from 0: as other libraries count them too.
    pub fn ordinal(&self) -> usize {
        self.driver.ordinal()
    }

    /// Whether an address is one of this device's memory, whoever allocated that.
    pub fn holds(&self, address: u64) -> bool {
        self.driver.holds(address)
    }

    /// Memory of another library's as a storage, which keeps its owner. All that was queued on the device so
    /// far is done when this returns, so what is in the memory is what its owner has ordered.
    ///
    /// # Safety
    ///
    /// As long as the owner is not dropped, `bytes` bytes from `address` on are allocated, and nobody writes
    /// them but [`relayout_into`](Self::relayout_into).
    ///
    /// # Errors
    ///
    /// Memory that is not this device's; the faults of earlier work.
    #[allow(unsafe_code)]
    pub unsafe fn borrow(
        &self,
        address: u64,
        bytes: usize,
        owner: Box<dyn Send + Sync>,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        let last = address.checked_add((bytes as u64).saturating_sub(1));
        let is_here = |address| self.driver.holds(address);
        if bytes > 0 && !(is_here(address) && last.is_some_and(is_here)) {
            return Err(self.failed(format!(
                "{bytes} bytes at {address:#x} are not in the device's memory"
            )));
        }
        self.driver.settle().map_err(|fault| self.fault(fault))?;
        Ok(Arc::new(Memory {
            driver: self.driver.clone(),
            address,
            bytes,
            sharing: Sharing {
                owner: Some(owner),
                is_lent: AtomicBool::new(false),
            },
        }))
    }

    /// The address of a storage of this device's, for another library, which may use it as long as the
    /// storage lives; 0 where there are no bytes. All work on it is done when this returns; before the
    /// storage's memory is given back, all that anybody has queued by then is.
    ///
    /// # Errors
    ///
    /// A storage of another device; the faults of earlier work.
    pub fn lend(&self, storage: &dyn Storage) -> Result<u64, DeviceError> {
        let memory = self.memory(storage)?;
        self.driver
            .synchronize()
            .map_err(|fault| self.fault(fault))?;
        memory.sharing.is_lent.store(true, Ordering::Release);
        Ok(memory.address)
    }

    /// Runs a plan from a storage into [borrowed](Self::borrow) memory, where nothing else is written. Where
    /// the two have bytes in common, the source is copied first. The move is done when this returns.
    ///
    /// # Errors
    ///
    /// Storages that are shorter than the plan says, or of another device; a destination that was not
    /// borrowed; a plan that kernels have no way for.
    pub fn relayout_into(
        &self,
        plan: &Plan,
        source: &dyn Storage,
        destination: &dyn Storage,
    ) -> Result<(), DeviceError> {
        let (from, to) = (self.memory(source)?, self.memory(destination)?);
        if !to.sharing.is_borrowed() {
            return Err(self.failed("a storage of a tensor is never written to"));
        }
        let sides = [
            ("source", plan.source_bytes(), from),
            ("destination", plan.destination_bytes(), to),
        ];
        for (side, needed, memory) in sides {
            if (memory.bytes as u64) < needed as u64 {
                return Err(self.failed(format!(
                    "the {side} takes {needed} bytes, and the memory has {}",
                    memory.bytes
                )));
            }
        }
        let aside = match from.overlaps(to) {
            true => Some(self.duplicate(from)?),
            false => None,
        };
        self.relay(plan, aside.as_ref().unwrap_or(from), to)?;
        self.driver.synchronize().map_err(|fault| self.fault(fault))
    }

    /// The same bytes in new memory.
    fn duplicate(&self, memory: &Memory) -> Result<Memory, DeviceError> {
        let bytes = ArrayShape::new(ElementType::U8, [memory.bytes as i64]);
        let bytes = bytes.and_then(|bytes| bytes.with_default_layout());
        let bytes = bytes.map_err(|error| self.failed(error))?;
        let plan = Plan::new(&bytes, &bytes).map_err(|error| self.failed(error))?;
        self.relaid(&plan, memory)
    }
}

impl Memory {
    fn overlaps(&self, other: &Memory) -> bool {
        self.address < other.address + other.bytes as u64
            && other.address < self.address + self.bytes as u64
    }
}
