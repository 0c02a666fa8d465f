//! The host's processor as a backend.

mod close;
mod elementwise;
mod logical;
mod numeric;
mod product;
mod random;
mod reduce;
mod storage;
mod walk;

use std::any::Any;
use std::sync::Arc;

use minormajor_core::{Layout, Plan};

use super::{
    Argument, Backend, Binary, DeviceError, Distribution, Operand, Reduction, Scalar, Storage,
    Strided, Tolerance, transfer,
};
use crate::Order;
use storage::CpuStorage;

/// The host's processor: every operation on any strides, on rayon's threads.
///
/// Results are the same for any number of threads, but for products of a system's BLAS.
#[derive(Debug)]
pub struct CpuBackend {
    name: &'static str,
    order: Order,
    /// Whether others can't see its memory, as if a link lay between: everything that comes and goes
    /// is uploaded and downloaded.
    is_apart: bool,
    routine: product::Routine,
}

impl CpuBackend {
    /// `cpu`, which prefers row-major arrays.
    pub fn row_major() -> CpuBackend {
        CpuBackend {
            name: "cpu",
            order: Order::RowMajor,
            is_apart: false,
            routine: product::Routine::Ours,
        }
    }

    /// `cpu:blas`: `cpu` with the matrix products of the system's BLAS.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`] where there is none.
    #[cfg(feature = "blas")]
    pub fn with_blas() -> Result<CpuBackend, DeviceError> {
        let name = "cpu:blas";
        match minormajor_product::Blas::system() {
            Ok(blas) => Ok(CpuBackend {
                name,
                routine: product::Routine::System(blas),
                ..CpuBackend::row_major()
            }),
            Err(reason) => Err(DeviceError::NoDevice {
                name: name.to_owned(),
                reason: reason.to_owned(),
                present: vec!["cpu".to_owned()],
            }),
        }
    }

    /// `cpu:columns`, which prefers column-major matrices, and is to others a device with memory of
    /// its own: what goes there and back goes the way that it would to a GPU.
    pub fn column_major() -> CpuBackend {
        CpuBackend {
            name: "cpu:columns",
            order: Order::ColumnMajorMatrices,
            is_apart: true,
            routine: product::Routine::Ours,
        }
    }

    fn zeroed(&self, bytes: usize) -> Result<CpuStorage, DeviceError> {
        CpuStorage::zeroed(bytes, !self.is_apart).ok_or_else(|| DeviceError::OutOfMemory {
            device: self.name.to_owned(),
            bytes,
            free: None,
        })
    }

    /// The bytes of one of our own storages.
    fn bytes<'a>(&self, storage: &'a dyn Storage) -> Result<&'a CpuStorage, DeviceError> {
        let ours = (storage as &dyn Any).downcast_ref();
        ours.ok_or_else(|| DeviceError::Foreign {
            device: self.name.to_owned(),
        })
    }

    /// A result made by `write`, which gets its zeroed memory.
    fn made(
        &self,
        bytes: usize,
        write: impl FnOnce(&mut CpuStorage) -> Result<(), DeviceError>,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        let mut storage = self.zeroed(bytes)?;
        write(&mut storage)?;
        Ok(Arc::new(storage))
    }

    /// A result that was made in another order than it is to have.
    fn arranged(
        &self,
        made: Arc<dyn Storage>,
        plan: Option<Plan>,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        match plan {
            None => Ok(made),
            Some(plan) => self.relayout(&plan, &*made),
        }
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> String {
        let threads = crate::threads::count(0);
        let plural = if threads == 1 { "" } else { "s" };
        format!(
            "the host's processor, {threads} thread{plural}, {}{}",
            self.order, self.routine
        )
    }

    fn preferred_layout(&self, rank: usize) -> Layout {
        self.order.layout(rank)
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Storage>, DeviceError> {
        self.made(bytes, |_| Ok(()))
    }

    fn upload(&self, bytes: &[u8]) -> Result<Arc<dyn Storage>, DeviceError> {
        self.made(bytes.len(), |storage| {
            storage.bytes_mut().copy_from_slice(bytes);
            Ok(())
        })
    }

    /// Without the copy that a link takes.
    fn upload_from(
        &self,
        bytes: usize,
        write: &mut dyn FnMut(&mut [u8]) -> Result<(), DeviceError>,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        if self.is_apart {
            return transfer::upload_from(self, bytes, write);
        }
        self.made(bytes, |storage| write(storage.bytes_mut()))
    }

    fn download(
        &self,
        storage: &dyn Storage,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), DeviceError> {
        let bytes = self.bytes(storage)?.as_bytes();
        into.copy_from_slice(&bytes[offset..][..into.len()]);
        Ok(())
    }

    fn relayout(&self, plan: &Plan, source: &dyn Storage) -> Result<Arc<dyn Storage>, DeviceError> {
        let source = self.bytes(source)?;
        self.made(plan.destination_bytes() as usize, |storage| {
            transfer::on_host(self.name, plan, source.as_bytes(), storage.bytes_mut())
        })
    }

    /// Without the copy that a link takes.
    fn upload_relaid(&self, plan: &Plan, bytes: &[u8]) -> Result<Arc<dyn Storage>, DeviceError> {
        if self.is_apart {
            return transfer::upload_relaid(self, plan, bytes);
        }
        self.made(plan.destination_bytes() as usize, |storage| {
            transfer::on_host(self.name, plan, bytes, storage.bytes_mut())
        })
    }

    /// Without the copy that a link takes.
    fn download_relaid(
        &self,
        plan: &Plan,
        storage: &dyn Storage,
        into: &mut [u8],
    ) -> Result<(), DeviceError> {
        if self.is_apart {
            return transfer::download_relaid(self, plan, storage, into);
        }
        let source = self.bytes(storage)?;
        transfer::on_host(self.name, plan, source.as_bytes(), into)
    }

    fn fill(&self, value: Scalar, result: &Strided) -> Result<Arc<dyn Storage>, DeviceError> {
        self.made(result.bytes(), |storage| {
            let pattern = value.bytes();
            // Zero it is.
            if pattern.iter().any(|&byte| byte != 0) {
                elementwise::fill(storage.bytes_mut(), pattern);
            }
            Ok(())
        })
    }

    fn binary(
        &self,
        operation: Binary,
        left: &Argument<'_>,
        right: &Argument<'_>,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        let side = |argument| elementwise::Side::new(self, argument, result);
        let (left, right) = (side(left)?, side(right)?);
        self.made(result.bytes(), |storage| {
            elementwise::run(operation, &left, &right, result, storage);
            Ok(())
        })
    }

    fn mm(
        &self,
        left: &Operand<'_>,
        right: &Operand<'_>,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        let (a, b) = (self.bytes(left.storage)?, self.bytes(right.storage)?);
        let mut plan = None;
        let made = self.made(result.bytes(), |storage| {
            plan = product::run(
                self.routine,
                (a, &left.place),
                (b, &right.place),
                storage,
                result,
            );
            Ok(())
        })?;
        self.arranged(made, plan)
    }

    fn reduce(
        &self,
        operation: Reduction,
        operand: &Operand<'_>,
        kept: usize,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        let source = self.bytes(operand.storage)?;
        self.made(result.bytes(), |storage| {
            reduce::run(operation, source, &operand.place, kept, storage, result);
            Ok(())
        })
    }

    fn is_close(
        &self,
        left: &Operand<'_>,
        right: &Operand<'_>,
        tolerance: Tolerance,
    ) -> Result<bool, DeviceError> {
        let (a, b) = (self.bytes(left.storage)?, self.bytes(right.storage)?);
        Ok(close::run((a, &left.place), (b, &right.place), tolerance))
    }

    fn random(
        &self,
        distribution: Distribution,
        seed: u64,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        let made = self.made(result.bytes(), |storage| {
            random::run(distribution, seed, result, storage);
            Ok(())
        })?;
        self.arranged(made, logical::plan(result))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}
