//! The backend: tensors' operations on any [`Driver`].

mod matrices;
mod memory;
mod moves;
mod sharing;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minormajor::backend::{
    Argument, Backend, Binary, DeviceError, Distribution, Operand, Reduction, Route, Scalar,
    Storage, Strided, Tolerance, Transfer,
};
use minormajor::{ArrayShape, Layout, Order, Plan};

use self::memory::Memory;
use crate::compute::{self, Reduce};
use crate::driver::{Driver, Fault, Queue};
use crate::launch::Launch;
use crate::relayout::{self, Unsupported, launches};
use crate::staging::Stages;

/// A CUDA device as a backend of tensors: matrices are column-major by preference.
///
/// All work is queued and runs in order; the host waits only for what it reads.
pub struct CudaBackend {
    name: String,
    driver: Arc<dyn Driver>,
    stages: Stages,
    notes: Mutex<Vec<String>>,
}

/// Notes that are kept; older ones are dropped.
const NOTES: usize = 100;

impl fmt::Debug for CudaBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.driver.description())
    }
}

impl CudaBackend {
    /// A backend of this name over a driver.
    pub fn over(name: impl Into<String>, driver: Arc<dyn Driver>) -> CudaBackend {
        CudaBackend {
            name: name.into(),
            driver,
            stages: Stages::new(),
            notes: Mutex::default(),
        }
    }

    /// How the device moves an array by a plan, in words: the kernels, or why the host does it.
    pub fn explain(&self, plan: &Plan) -> String {
        // Addresses as the driver gives them.
        match launches(plan, 0, 0, self.driver.card()) {
            Err(reason) => format!("relayout on the host: {reason}"),
            Ok(launches) if launches.is_empty() => "nothing to move".to_owned(),
            Ok(launches) => {
                let names: Vec<&str> = launches.iter().map(|l| &*l.kernel).collect();
                format!("relayout on the device: {}", names.join(", "))
            }
        }
    }

    /// What was done beside what was asked for since the last call, such as copies of operands that
    /// a library could not take as they were; the last hundred.
    pub fn take_notes(&self) -> Vec<String> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut notes)
    }

    fn note(&self, note: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() == NOTES {
            notes.remove(0);
        }
        notes.push(note);
    }

    fn fault(&self, fault: Fault) -> DeviceError {
        let device = self.name.clone();
        match fault {
            Fault::OutOfMemory { bytes } => DeviceError::OutOfMemory {
                device,
                bytes: bytes as usize,
                free: self.driver.free_bytes().map(|free| free as usize),
            },
            Fault::Missing { what } => DeviceError::Missing { device, what },
            Fault::Failed { what } => DeviceError::Failed { device, what },
        }
    }

    fn unsupported(&self, reason: impl fmt::Display) -> DeviceError {
        DeviceError::Unsupported {
            device: self.name.clone(),
            what: format!("do this: {reason}"),
        }
    }

    fn failed(&self, error: impl fmt::Display) -> DeviceError {
        DeviceError::Failed {
            device: self.name.clone(),
            what: error.to_string(),
        }
    }

    fn launch(&self, launch: &Launch) -> Result<(), DeviceError> {
        let launched = self.driver.launch(launch);
        launched.map_err(|fault| self.fault(fault))
    }

    fn launch_made(&self, launch: Result<Launch, Unsupported>) -> Result<(), DeviceError> {
        self.launch(&launch.map_err(|reason| self.unsupported(reason))?)
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> String {
        self.driver.description()
    }

    fn preferred_layout(&self, rank: usize) -> Layout {
        Order::ColumnMajorMatrices.layout(rank)
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Storage>, DeviceError> {
        Ok(Arc::new(self.zeroed(bytes)?))
    }

    fn upload(&self, bytes: &[u8]) -> Result<Arc<dyn Storage>, DeviceError> {
        Ok(Arc::new(self.uploaded(bytes)?))
    }

    fn download(
        &self,
        storage: &dyn Storage,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), DeviceError> {
        self.downloaded(self.memory(storage)?, offset, into)
    }

    fn relayout(&self, plan: &Plan, source: &dyn Storage) -> Result<Arc<dyn Storage>, DeviceError> {
        Ok(Arc::new(self.relaid(plan, self.memory(source)?)?))
    }

    fn upload_relaid(&self, plan: &Plan, bytes: &[u8]) -> Result<Arc<dyn Storage>, DeviceError> {
        Ok(Arc::new(
            match CudaBackend::route(Transfer::upload(plan), plan) {
                Route::Raw => self.uploaded(&bytes[..plan.destination_bytes() as usize])?,
                Route::OnDevice => {
                    let raw = self.uploaded(&bytes[..plan.source_bytes() as usize])?;
                    self.relaid(plan, &raw)?
                }
                Route::OnHost => self.uploaded(&self.on_host(plan, bytes)?)?,
            },
        ))
    }

    fn download_relaid(
        &self,
        plan: &Plan,
        storage: &dyn Storage,
        into: &mut [u8],
    ) -> Result<(), DeviceError> {
        let source = self.memory(storage)?;
        match CudaBackend::route(Transfer::download(plan), plan) {
            Route::Raw => self.downloaded(source, 0, into),
            Route::OnDevice => self.downloaded(&self.relaid(plan, source)?, 0, into),
            Route::OnHost => {
                let mut raw = self.host_bytes(plan.source_bytes() as usize)?;
                self.downloaded(source, 0, &mut raw)?;
                into.copy_from_slice(&self.on_host(plan, &raw)?);
                Ok(())
            }
        }
    }

    fn fill(&self, value: Scalar, result: &Strided) -> Result<Arc<dyn Storage>, DeviceError> {
        let made = self.new_memory(Queue::Main, result.bytes())?;
        if made.bytes == 0 {
            return Ok(Arc::new(made));
        }
        if value.bytes().iter().all(|&byte| byte == 0) {
            self.zero(&made)?;
            return Ok(Arc::new(made));
        }
        let elements = result.elements() as u64;
        let fills = relayout::fill(made.address, elements, value.bytes(), self.driver.card());
        for launch in &fills.map_err(|reason| self.unsupported(reason))? {
            self.launch(launch)?;
        }
        Ok(Arc::new(made))
    }

    fn binary(
        &self,
        operation: Binary,
        left: &Argument<'_>,
        right: &Argument<'_>,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        let copies = [self.ordered(left, result)?, self.ordered(right, result)?];
        let sides = [
            self.side(left, &copies[0], result)?,
            self.side(right, &copies[1], result)?,
        ];
        let made = self.new_memory(Queue::Main, result.bytes())?;
        if made.bytes > 0 {
            let card = self.driver.card();
            self.launch_made(compute::binary(
                operation,
                sides,
                made.address,
                result,
                card,
            ))?;
        }
        Ok(Arc::new(made))
    }

    fn mm(
        &self,
        left: &Operand<'_>,
        right: &Operand<'_>,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        Ok(Arc::new(self.multiplied(left, right, result)?))
    }

    fn reduce(
        &self,
        operation: Reduction,
        operand: &Operand<'_>,
        kept: usize,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        let source = self.memory(operand.storage)?;
        let made = self.new_memory(Queue::Main, result.bytes())?;
        if made.bytes == 0 {
            return Ok(Arc::new(made));
        }
        let card = self.driver.card();
        let reduce = Reduce::new(operation, &operand.place, kept, result, card)
            .map_err(|reason| self.unsupported(reason))?;
        let partial = |count: u64| {
            let bytes = reduce.outputs() * count * reduce.partial_bytes;
            self.new_memory(Queue::Main, bytes as usize)
        };
        // Each step writes what the next one reads; the last one writes the result.
        let is_joined = reduce.segments > 1;
        let parts = match is_joined || reduce.has_finish() {
            true => Some(partial(reduce.segments)?),
            false => None,
        };
        let first = compute::first(source.address, &operand.place);
        let address = |memory: &Option<Memory>| memory.as_ref().map_or(made.address, |m| m.address);
        self.launch(&reduce.start(first, address(&parts), card))?;
        let sums = match is_joined && reduce.has_finish() {
            true => Some(partial(1)?),
            false => None,
        };
        if is_joined {
            self.launch(&reduce.join(address(&parts), address(&sums), card))?;
        }
        let last = if is_joined { &sums } else { &parts };
        if let Some(finish) = reduce.finish(address(last), made.address, card) {
            self.launch(&finish)?;
        }
        Ok(Arc::new(made))
    }

    fn is_close(
        &self,
        left: &Operand<'_>,
        right: &Operand<'_>,
        tolerance: Tolerance,
    ) -> Result<bool, DeviceError> {
        let (a, b) = (self.memory(left.storage)?, self.memory(right.storage)?);
        if left.place.elements() == 0 {
            return Ok(true);
        }
        let flag = self.zeroed(4)?;
        self.launch_made(compute::close(
            (a.address, &left.place),
            (b.address, &right.place),
            tolerance,
            flag.address,
            self.driver.card(),
        ))?;
        let mut found = [0; 4];
        self.downloaded(&flag, 0, &mut found)?;
        Ok(found == [0; 4])
    }

    fn random(
        &self,
        distribution: Distribution,
        seed: u64,
        result: &Strided,
    ) -> Result<Arc<dyn Storage>, DeviceError> {
        let made = self.new_memory(Queue::Main, result.bytes())?;
        if made.bytes == 0 {
            return Ok(Arc::new(made));
        }
        let card = self.driver.card();
        let launch = compute::random(distribution, seed, made.address, result, card);
        self.launch(&launch)?;
        if result.is_row_major() {
            return Ok(Arc::new(made));
        }
        // Made in the logical order; another one is a relayout away.
        let from = ArrayShape::new(result.element_type(), result.sizes().iter().copied())
            .map_err(|error| self.failed(error))?;
        let to = self.view(result)?;
        let plan = Plan::new(&from, &to).map_err(|error| self.failed(error))?;
        Ok(Arc::new(self.relaid(&plan, &made)?))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        let done = self.driver.synchronize();
        done.map_err(|fault| self.fault(fault))
    }
}
