//! The backend: tensors' operations on any [`Driver`].

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minormajor::backend::{
    Argument, Backend, Binary, DeviceError, Distribution, Operand, Reduction, Route, Scalar,
    Storage, Strided, Tolerance, Transfer,
};
use minormajor::{ArrayShape, ElementType, Layout, Order, Plan, Relayout, StridedView};

use crate::compute::{self, Reduce, Side};
use crate::driver::{Driver, Fault, Queue};
use crate::launch::Launch;
use crate::product::{self, Part, Place};
use crate::relayout::{self, Unsupported, launches, supported};
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

/// Elements from which an operand in another order is brought into the result's first: fewer stay in
/// a cache.
const MANY: i64 = 1 << 16;

/// Notes that are kept; older ones are dropped.
const NOTES: usize = 100;

/// Memory of a device.
struct Memory {
    driver: Arc<dyn Driver>,
    /// 0 for no bytes.
    address: u64,
    bytes: usize,
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
        if self.address != 0 {
            self.driver.free(self.address);
        }
    }
}

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

    /// One of our own storages.
    fn memory<'a>(&self, storage: &'a dyn Storage) -> Result<&'a Memory, DeviceError> {
        (storage as &dyn Any)
            .downcast_ref::<Memory>()
            .filter(|memory| Arc::ptr_eq(&memory.driver, &self.driver))
            .ok_or_else(|| DeviceError::Foreign {
                device: self.name.clone(),
            })
    }

    /// Memory in which nothing is written yet.
    fn new_memory(&self, queue: Queue, bytes: usize) -> Result<Memory, DeviceError> {
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
        })
    }

    fn zeroed(&self, bytes: usize) -> Result<Memory, DeviceError> {
        let memory = self.new_memory(Queue::Main, bytes)?;
        self.zero(&memory)?;
        Ok(memory)
    }

    fn zero(&self, memory: &Memory) -> Result<(), DeviceError> {
        if memory.bytes > 0 {
            let zeroed = self.driver.zero(memory.address, memory.bytes as u64);
            zeroed.map_err(|fault| self.fault(fault))?;
        }
        Ok(())
    }

    fn launch(&self, launch: &Launch) -> Result<(), DeviceError> {
        let launched = self.driver.launch(launch);
        launched.map_err(|fault| self.fault(fault))
    }

    fn launch_made(&self, launch: Result<Launch, Unsupported>) -> Result<(), DeviceError> {
        self.launch(&launch.map_err(|reason| self.unsupported(reason))?)
    }

    fn uploaded(&self, bytes: &[u8]) -> Result<Memory, DeviceError> {
        let memory = self.new_memory(Queue::Uploads, bytes.len())?;
        if !bytes.is_empty() {
            let sent = self.stages.upload(&*self.driver, bytes, memory.address);
            sent.map_err(|fault| self.fault(fault))?;
        }
        Ok(memory)
    }

    fn downloaded(
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

    /// Runs a plan in memory of the device, or of the host where the device has no way for it.
    fn relaid(&self, plan: &Plan, source: &Memory) -> Result<Memory, DeviceError> {
        let too_short = source.bytes < plan.source_bytes() as usize;
        if too_short {
            return Err(self.failed(format!(
                "the source takes {} bytes, and the storage has {}",
                plan.source_bytes(),
                source.bytes
            )));
        }
        if let Err(reason) = supported(plan) {
            self.note(format!("relayout on the host: {reason}"));
            let mut raw = self.host_bytes(plan.source_bytes() as usize)?;
            self.downloaded(source, 0, &mut raw)?;
            return self.uploaded(&self.on_host(plan, &raw)?);
        }
        let made = self.new_memory(Queue::Main, plan.destination_bytes() as usize)?;
        if made.bytes == 0 {
            return Ok(made);
        }
        if plan.bytes_written() < plan.destination_bytes() {
            self.zero(&made)?;
        }
        let launches = launches(plan, source.address, made.address, self.driver.card());
        for launch in &launches.map_err(|reason| self.unsupported(reason))? {
            self.launch(launch)?;
        }
        Ok(made)
    }

    fn host_bytes(&self, bytes: usize) -> Result<Vec<u8>, DeviceError> {
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

    fn on_host(&self, plan: &Plan, source: &[u8]) -> Result<Vec<u8>, DeviceError> {
        let mut made = self.host_bytes(plan.destination_bytes() as usize)?;
        let run = Relayout::new(plan).and_then(|relayout| relayout.run(source, &mut made));
        run.map_err(|error| self.failed(error))?;
        Ok(made)
    }

    /// Where a transfer's relayout is done: on the host too where kernels have no way for it.
    fn route(transfer: Transfer, plan: &Plan) -> Route {
        match transfer.route {
            Route::OnDevice if supported(plan).is_err() => Route::OnHost,
            route => route,
        }
    }

    /// A copy of a side whose neighbours lie far apart where those of the result do not: reading it
    /// as it is would read each sector of memory several times.
    fn ordered(
        &self,
        argument: &Argument<'_>,
        result: &Strided,
    ) -> Result<Option<Memory>, DeviceError> {
        let Argument::Array(operand) = argument else {
            return Ok(None);
        };
        let place = &operand.place;
        if place.elements() < MANY || !compute::is_scattered(place, result) {
            return Ok(None);
        }
        let width = i64::from(place.element_type().byte_width());
        let view = |place: &Strided| {
            let strides: Vec<i64> = place
                .strides()
                .iter()
                .map(|stride| stride * width)
                .collect();
            let offset = place.offset() * width;
            StridedView::new(place.element_type(), place.sizes(), &strides, offset)
        };
        let (from, to) = (view(place), view(result));
        let from = from.map_err(|error| self.failed(error))?;
        let to = to.map_err(|error| self.failed(error))?;
        let plan = Plan::new(&from, &to).map_err(|error| self.failed(error))?;
        Ok(Some(self.relaid(&plan, self.memory(operand.storage)?)?))
    }

    /// A side of an operation, or its copy in the order of the result.
    fn side<'a>(
        &self,
        argument: &'a Argument<'a>,
        copy: &Option<Memory>,
        result: &'a Strided,
    ) -> Result<Side<'a>, DeviceError> {
        Ok(match (argument, copy) {
            (Argument::Array(_), Some(copy)) => Side::Array(copy.address, result),
            (Argument::Array(operand), None) => {
                Side::Array(self.memory(operand.storage)?.address, &operand.place)
            }
            (Argument::Scalar(value), _) => Side::Scalar(*value),
        })
    }

    /// An operand of a product in a form that cuBLAS takes: as it is, or as a copy.
    fn matrices(&self, operand: &Operand<'_>) -> Result<Matrices, DeviceError> {
        let memory = self.memory(operand.storage)?;
        let place = Place::from(&operand.place);
        // Bytes are multiplied four at a time: columns begin at multiples of four.
        let multiple = if place.element_type == ElementType::S8 {
            4
        } else {
            1
        };
        let batches = &place.strides[..place.strides.len() - 2];
        let is_aligned = |leading: i64| {
            let address = memory
                .address
                .wrapping_add_signed(place.offset * place.width());
            leading % multiple == 0
                && address.is_multiple_of(multiple as u64)
                && batches.iter().all(|stride| stride % multiple == 0)
        };
        if let Some(lie) = product::lie(&place)
            && is_aligned(lie.leading)
        {
            return Ok(Matrices {
                address: memory.address,
                place,
                lie,
                copy: None,
            });
        }
        let columns = place.columns(multiple);
        let views = place
            .view(&place)
            .and_then(|from| Ok((from, columns.view(&place)?)));
        let (from, to) = views.map_err(|error| self.failed(error))?;
        let plan = Plan::new(&from, &to).map_err(|error| self.failed(error))?;
        self.note(format!(
            "mm: an operand of sizes {:?} and strides {:?} was copied, {} bytes, since BLAS takes \
             matrices with one stride of 1{}",
            place.sizes,
            place.strides,
            plan.destination_bytes(),
            if multiple > 1 {
                " and the other a multiple of 4"
            } else {
                ""
            },
        ));
        let copy = self.relaid(&plan, memory)?;
        let lie =
            product::lie(&columns).ok_or_else(|| self.failed("a copy is not column-major"))?;
        Ok(Matrices {
            address: copy.address,
            place: columns,
            lie,
            copy: Some(copy),
        })
    }
}

/// An operand as cuBLAS takes it.
struct Matrices {
    address: u64,
    place: Place,
    lie: product::Lie,
    /// Keeps the copy until the product is queued.
    #[allow(dead_code)]
    copy: Option<Memory>,
}

impl Matrices {
    fn part(&self) -> Part<'_> {
        Part {
            address: self.address,
            place: &self.place,
            lie: self.lie,
        }
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
        let sizes = left.place.sizes();
        let made = self.new_memory(Queue::Main, result.bytes())?;
        if made.bytes == 0 {
            return Ok(Arc::new(made));
        }
        if sizes[sizes.len() - 1] == 0 {
            self.zero(&made)?;
            return Ok(Arc::new(made));
        }
        let (a, b) = (self.matrices(left)?, self.matrices(right)?);
        let place = Place::from(result);
        // Batches may be minor to matrices; then the product is made elsewhere, and moved.
        let direct = product::lie(&place);
        let columns = place.columns(1);
        let (to, target) = match direct {
            Some(_) => (None, &place),
            None => {
                let bytes = columns.sizes.iter().product::<i64>() * columns.width();
                (
                    Some(self.new_memory(Queue::Main, bytes as usize)?),
                    &columns,
                )
            }
        };
        let lie = direct
            .or_else(|| product::lie(&columns))
            .ok_or_else(|| self.failed("a result is not column-major"))?;
        let part = Part {
            address: to.as_ref().map_or(made.address, |to| to.address),
            place: target,
            lie,
        };
        for product in product::products(a.part(), b.part(), part) {
            let counts = [product.m, product.n, product.k, product.batch];
            let leading = [product.left, product.right, product.result].map(|m| m.leading);
            if let Some(long) = counts
                .into_iter()
                .chain(leading)
                .find(|&n| n > i64::from(i32::MAX))
            {
                return Err(self.unsupported(format!(
                    "cuBLAS takes sizes and strides of matrices below 2^31, not {long}"
                )));
            }
            let multiplied = self.driver.product(&product);
            multiplied.map_err(|fault| self.fault(fault))?;
        }
        let Some(to) = to else {
            return Ok(Arc::new(made));
        };
        let views = columns
            .view(&place)
            .and_then(|from| Ok((from, place.view(&place)?)));
        let (from, into) = views.map_err(|error| self.failed(error))?;
        let plan = Plan::new(&from, &into).map_err(|error| self.failed(error))?;
        Ok(Arc::new(self.relaid(&plan, &to)?))
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
        let element_type = result.element_type();
        let width = i64::from(element_type.byte_width());
        let strides: Vec<i64> = result
            .strides()
            .iter()
            .map(|stride| stride * width)
            .collect();
        let from = ArrayShape::new(element_type, result.sizes().iter().copied())
            .map_err(|error| self.failed(error))?;
        let to = StridedView::new(element_type, result.sizes(), &strides, 0)
            .map_err(|error| self.failed(error))?;
        let plan = Plan::new(&from, &to).map_err(|error| self.failed(error))?;
        Ok(Arc::new(self.relaid(&plan, &made)?))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        let done = self.driver.synchronize();
        done.map_err(|fault| self.fault(fault))
    }
}
