//! NVIDIA's driver, loaded at run time.

mod blas;
mod driver;
mod library;
mod memory;

use std::collections::HashMap;
use std::ffi::{CString, OsString, c_char, c_uint, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use minormajor::backend::{Device, Devices};

use crate::CudaBackend;
use crate::driver::{Driver, Fault, Flight, Pinned, Queue};
use crate::launch::{Card, Launch, THREADS};
use crate::product::Product;
use blas::Blas;
use driver::{Api, Handle, call, get};
use memory::{Copying, Host};

/// All kernels, as `cargo xtask ptx` makes them: CUDA 12.1's PTX for compute capability 8.0.
pub const PTX: &str = include_str!("../../kernels.ptx");

/// The oldest CUDA that a driver has to speak to read [`PTX`], as drivers number versions.
const OLDEST: i32 = 12010;

/// A device of NVIDIA's driver.
pub struct Cuda {
    context: Arc<Context>,
    module: Handle,
    functions: Mutex<HashMap<String, Handle>>,
    pool: Handle,
    card: Card,
    ordinal: usize,
    description: String,
    blas: Mutex<Option<Result<Blas, Fault>>>,
    blas_names: Vec<OsString>,
}

/// A device's context, in which all calls are made, and its streams, which end with the last copy that may wait for one.
struct Context {
    api: Arc<Api>,
    device: i32,
    handle: Handle,
    /// By [`Queue`].
    streams: [Handle; 2],
}

/// The driver, once it is initialised.
#[derive(Clone)]
pub struct Library {
    api: Arc<Api>,
    /// Names of libraries of matrix products.
    blas: Vec<OsString>,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NVIDIA's driver")
    }
}

impl Library {
    /// The system's driver.
    ///
    /// # Errors
    ///
    /// What is missing: the library, a device, or a newer driver.
    pub fn open() -> Result<Library, String> {
        let api = Api::open(&driver::names()).map_err(|reason| {
            let name = &driver::names()[0];
            format!("the driver {} can't be loaded ({reason})", name.display())
        })?;
        Library::initialised(api, blas::names())
    }

    /// A driver, and a library of matrix products, from files: others than the system's.
    ///
    /// # Errors
    ///
    /// As [`open`](Library::open).
    pub fn open_files(
        driver: impl Into<OsString>,
        blas: impl Into<OsString>,
    ) -> Result<Library, String> {
        Library::initialised(Api::open(&[driver.into()])?, vec![blas.into()])
    }

    fn initialised(api: Api, blas: Vec<OsString>) -> Result<Library, String> {
        let api = Arc::new(api);
        let started = call!(api, cuInit, 0);
        started.map_err(|fault| format!("the driver is there, and can't be started ({fault})"))?;
        let version = get!(api, cuDriverGetVersion, 0).map_err(|fault| fault.to_string())?;
        if version < OLDEST {
            let shown = |version: i32| format!("{}.{}", version / 1000, version % 1000 / 10);
            return Err(format!(
                "the driver speaks CUDA {}, and the kernels need {}; install a newer driver",
                shown(version),
                shown(OLDEST)
            ));
        }
        Ok(Library { api, blas })
    }

    /// How many devices there are.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn count(&self) -> Result<usize, Fault> {
        get!(self.api, cuDeviceGetCount, 0).map(|count| count.max(0) as usize)
    }
}

/// Adds the devices `cuda:0`, `cuda:1`, .. of the system's driver, or the reason why there are none:
/// then nothing else is different.
///
/// Drivers are looked for once; later calls add the same devices.
///
/// ```
/// use minormajor::backend::Devices;
///
/// let mut devices = Devices::new();
/// minormajor_cuda::register(&mut devices)?;
/// match devices.get("cuda:0") {
///     Ok(device) => println!("{}", device.description()),
///     Err(reason) => println!("{reason}"),
/// }
/// # Ok::<(), minormajor::backend::DeviceError>(())
/// ```
///
/// # Errors
///
/// [`NameTaken`](minormajor::backend::DeviceError::NameTaken) where another device has such a name.
pub fn register(devices: &mut Devices) -> Result<(), minormajor::backend::DeviceError> {
    type Found = Result<Vec<Result<Device, String>>, String>;
    static FOUND: LazyLock<Found> = LazyLock::new(|| {
        let library = Library::open()?;
        let count = library.count().map_err(|fault| fault.to_string())?;
        if count == 0 {
            return Err("the driver is there, and finds no device".to_owned());
        }
        let device = |ordinal: usize| {
            let cuda = Cuda::new(&library, ordinal)?;
            let name = format!("cuda:{ordinal}");
            Ok(Device::new(CudaBackend::over(name, Arc::new(cuda))))
        };
        Ok((0..count).map(device).collect())
    });
    match &*FOUND {
        Err(reason) => devices.register_missing("cuda", reason.clone()),
        Ok(found) => {
            devices.register_missing("cuda", format!("the driver has {}", found.len()));
            for (ordinal, device) in found.iter().enumerate() {
                match device {
                    Ok(device) => devices.register(device.clone())?,
                    Err(reason) => {
                        devices.register_missing(&format!("cuda:{ordinal}"), reason.clone());
                    }
                }
            }
        }
    }
    Ok(())
}

impl Context {
    /// Makes this thread's calls go to the device.
    fn enter(&self) -> Result<&Api, Fault> {
        call!(self.api, cuCtxSetCurrent, self.handle.pointer())?;
        Ok(&self.api)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Nobody hears of a failure here.
        if let Ok(api) = self.enter() {
            for stream in self
                .streams
                .into_iter()
                .filter(|&stream| stream != Handle::NONE)
            {
                let _ = call!(api, cuStreamDestroy_v2, stream.pointer());
            }
        }
        let _ = call!(self.api, cuDevicePrimaryCtxRelease_v2, self.device);
    }
}

impl Cuda {
    /// A device by its number, with its kernels loaded.
    ///
    /// # Errors
    ///
    /// Why the device can't be used.
    pub fn new(library: &Library, ordinal: usize) -> Result<Cuda, String> {
        Cuda::opened(library, ordinal).map_err(|fault| fault.to_string())
    }

    fn opened(library: &Library, ordinal: usize) -> Result<Cuda, Fault> {
        let api = library.api.clone();
        let failed = |what: String| Fault::Failed { what };
        let number = i32::try_from(ordinal).map_err(|error| failed(error.to_string()))?;
        let device = get!(api, cuDeviceGet, 0, number)?;
        let attribute = |which| get!(api, cuDeviceGetAttribute, 0, which, device);
        let name = device_name(&api, device)?;
        let (major, minor) = (
            attribute(driver::CAPABILITY_MAJOR)?,
            attribute(driver::CAPABILITY_MINOR)?,
        );
        if major < 8 {
            return Err(failed(format!(
                "{name} has compute capability {major}.{minor}, and the kernels need 8.0"
            )));
        }
        if attribute(driver::MEMORY_POOLS)? == 0 {
            return Err(failed(format!(
                "{name} has no memory pools, which are needed"
            )));
        }
        let multiprocessors = attribute(driver::MULTIPROCESSORS)?.max(1) as u32;
        let total = get!(api, cuDeviceTotalMem_v2, 0, device)?;
        let retained = get!(api, cuDevicePrimaryCtxRetain, ptr::null_mut(), device)?;
        let handle = |pointer: *mut c_void| Handle(pointer.expose_provenance());
        let mut context = Context {
            api,
            device,
            handle: handle(retained),
            streams: [Handle::NONE; 2],
        };
        for queue in [Queue::Main, Queue::Uploads] {
            let api = context.enter()?;
            let stream = get!(api, cuStreamCreate, ptr::null_mut(), driver::NON_BLOCKING)?;
            context.streams[queue as usize] = handle(stream);
        }
        let context = Arc::new(context);
        let mut made = Cuda {
            module: Handle::NONE,
            functions: Mutex::default(),
            pool: Handle::NONE,
            card: Card { multiprocessors },
            ordinal,
            description: format!("{name}, {:.1} GiB", total as f64 / f64::from(1 << 30)),
            blas: Mutex::new(None),
            blas_names: library.blas.clone(),
            context,
        };
        // What was made is given back with `made` where a later step fails.
        let context = made.context.clone();
        let api = context.enter()?;
        made.pool = handle(get!(
            api,
            cuDeviceGetDefaultMemPool,
            ptr::null_mut(),
            device
        )?);
        // Memory that is given back stays with the pool: taking it again costs nothing.
        let mut threshold = u64::MAX;
        call!(
            api,
            cuMemPoolSetAttribute,
            made.pool.pointer(),
            driver::RELEASE_THRESHOLD,
            (&raw mut threshold).cast(),
        )?;
        let ptx = CString::new(PTX).map_err(|error| failed(error.to_string()))?;
        let image = ptx.as_ptr().cast::<c_void>();
        made.module = handle(get!(api, cuModuleLoadData, ptr::null_mut(), image)?);
        Ok(made)
    }

    fn stream(&self, queue: Queue) -> *mut c_void {
        self.context.streams[queue as usize].pointer()
    }

    fn function(&self, name: &str) -> Result<Handle, Fault> {
        let mut functions = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(&function) = functions.get(name) {
            return Ok(function);
        }
        let text = CString::new(name).map_err(|error| Fault::Failed {
            what: error.to_string(),
        })?;
        let api = &self.context.api;
        let module = self.module.pointer();
        let found = get!(
            api,
            cuModuleGetFunction,
            ptr::null_mut(),
            module,
            text.as_ptr()
        )?;
        let function = Handle(found.expose_provenance());
        functions.insert(name.to_owned(), function);
        Ok(function)
    }

    /// Copies bytes inside the device, in the main queue.
    ///
    /// # Errors
    ///
    /// [`Fault`].
    pub fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), Fault> {
        let api = self.context.enter()?;
        let stream = self.stream(Queue::Main);
        call!(api, cuMemcpyDtoDAsync_v2, to, from, bytes as usize, stream)
    }

    /// Seconds that work takes on the device: all that `work` queues in the main queue.
    ///
    /// # Errors
    ///
    /// [`Fault`]; and what `work` says.
    pub fn time<E: From<Fault>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<f64, E> {
        let api = self.context.enter()?;
        let start = memory::Event::new(&self.context, driver::TIMED)?;
        let end = memory::Event::new(&self.context, driver::TIMED)?;
        start.record(self.stream(Queue::Main))?;
        work()?;
        end.record(self.stream(Queue::Main))?;
        end.wait()?;
        let milliseconds = get!(
            api,
            cuEventElapsedTime,
            0f32,
            start.pointer(),
            end.pointer()
        )?;
        Ok(f64::from(milliseconds) / 1e3)
    }
}

fn device_name(api: &Api, device: i32) -> Result<String, Fault> {
    let mut name = [0u8; 128];
    let bytes = name.len() as i32;
    call!(
        api,
        cuDeviceGetName,
        name.as_mut_ptr().cast::<c_char>(),
        bytes,
        device
    )?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        let Ok(api) = self.context.enter() else {
            return;
        };
        // Nobody hears of a failure here.
        let _ = call!(api, cuCtxSynchronize);
        *self.blas.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if self.module != Handle::NONE {
            let _ = call!(api, cuModuleUnload, self.module.pointer());
        }
    }
}

impl Driver for Cuda {
    fn card(&self) -> Card {
        self.card
    }

    fn ordinal(&self) -> usize {
        self.ordinal
    }

    fn description(&self) -> String {
        self.description.clone()
    }

    fn free_bytes(&self) -> Option<u64> {
        let api = self.context.enter().ok()?;
        let mut total = 0;
        get!(api, cuMemGetInfo_v2, 0usize, &raw mut total)
            .ok()
            .map(|free| free as u64)
    }

    fn allocate(&self, queue: Queue, bytes: u64) -> Result<u64, Fault> {
        let api = self.context.enter()?;
        let Ok(size) = usize::try_from(bytes) else {
            return Err(Fault::OutOfMemory { bytes });
        };
        for is_last in [false, true] {
            let mut address = 0;
            // SAFETY: writes the address; the stream is this context's.
            #[allow(unsafe_code)]
            let status =
                unsafe { (api.cuMemAllocAsync)(&raw mut address, size, self.stream(queue)) };
            if status != driver::OUT_OF_MEMORY {
                return api.check("cuMemAllocAsync", status).map(|()| address);
            }
            if !is_last {
                // What is given back in the queues, and what the pool keeps, may be enough.
                self.synchronize()?;
                call!(api, cuMemPoolTrimTo, self.pool.pointer(), 0)?;
            }
        }
        Err(Fault::OutOfMemory { bytes })
    }

    fn free(&self, address: u64) {
        if let Ok(api) = self.context.enter() {
            // Nobody hears of a failure here.
            let _ = call!(api, cuMemFreeAsync, address, self.stream(Queue::Main));
        }
    }

    fn zero(&self, address: u64, bytes: u64) -> Result<(), Fault> {
        let api = self.context.enter()?;
        let stream = self.stream(Queue::Main);
        call!(api, cuMemsetD8Async, address, 0, bytes as usize, stream)
    }

    fn pinned(&self, bytes: usize) -> Result<Box<dyn Pinned>, Fault> {
        Ok(Box::new(Host::new(&self.context, bytes)?))
    }

    fn send(
        &self,
        stage: Box<dyn Pinned>,
        bytes: usize,
        to: u64,
    ) -> Result<Box<dyn Flight>, Fault> {
        let stream = self.context.streams[Queue::Uploads as usize];
        Ok(Box::new(Copying::send(
            &self.context,
            stage,
            bytes,
            to,
            stream,
        )?))
    }

    fn receive(
        &self,
        from: u64,
        bytes: usize,
        stage: Box<dyn Pinned>,
    ) -> Result<Box<dyn Flight>, Fault> {
        let stream = self.context.streams[Queue::Main as usize];
        Ok(Box::new(Copying::receive(
            &self.context,
            from,
            bytes,
            stage,
            stream,
        )?))
    }

    fn join_uploads(&self) -> Result<(), Fault> {
        let api = self.context.enter()?;
        let event = memory::Event::new(&self.context, driver::UNTIMED)?;
        event.record(self.stream(Queue::Uploads))?;
        call!(
            api,
            cuStreamWaitEvent,
            self.stream(Queue::Main),
            event.pointer(),
            0
        )
    }

    fn launch(&self, launch: &Launch) -> Result<(), Fault> {
        let api = self.context.enter()?;
        let function = self.function(&launch.kernel)?;
        // The struct's alignment is 16 at most.
        let mut parameters = vec![0u128; launch.parameters.len().div_ceil(16)];
        for (to, from) in parameters.iter_mut().zip(launch.parameters.chunks(16)) {
            let mut bytes = [0; 16];
            bytes[..from.len()].copy_from_slice(from);
            *to = u128::from_le_bytes(bytes);
        }
        let mut pointers = [parameters.as_mut_ptr().cast::<c_void>()];
        let blocks: c_uint = launch.blocks;
        // The call reads the one parameter, of the size that the kernel was compiled with, before it
        // returns; a test holds launches to that size.
        call!(
            api,
            cuLaunchKernel,
            function.pointer(),
            blocks,
            1,
            1,
            THREADS,
            1,
            1,
            launch.shared_bytes,
            self.stream(Queue::Main),
            pointers.as_mut_ptr(),
            ptr::null_mut(),
        )
    }

    fn product(&self, product: &Product) -> Result<(), Fault> {
        self.context.enter()?;
        let mut blas = self.blas.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = blas.get_or_insert_with(|| {
            Blas::open(&self.blas_names, self.context.streams[Queue::Main as usize])
        });
        match opened {
            Ok(blas) => blas.run(product),
            Err(reason) => Err(reason.clone()),
        }
    }

    fn holds(&self, address: u64) -> bool {
        let Ok(api) = self.context.enter() else {
            return false;
        };
        let mut ordinal = -1i32;
        let to = (&raw mut ordinal).cast::<c_void>();
        // The call writes a number of this width for this question.
        let asked = call!(
            api,
            cuPointerGetAttribute,
            to,
            driver::POINTER_ORDINAL,
            address
        );
        asked.is_ok() && usize::try_from(ordinal) == Ok(self.ordinal)
    }

    fn settle(&self) -> Result<(), Fault> {
        let api = self.context.enter()?;
        call!(api, cuCtxSynchronize)
    }

    fn synchronize(&self) -> Result<(), Fault> {
        let api = self.context.enter()?;
        call!(api, cuStreamSynchronize, self.stream(Queue::Uploads))?;
        call!(api, cuStreamSynchronize, self.stream(Queue::Main))
    }
}
