//! The driver's functions, as far as they are used here, and what their numbers mean.

use std::ffi::{CStr, OsString, c_char, c_int, c_uint, c_void};
use std::ptr;

use super::library::library;
use crate::driver::Fault;

/// A pointer to something of the driver's, which any thread may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub usize);

impl Handle {
    pub const NONE: Handle = Handle(0);

    pub fn pointer(self) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.0)
    }
}

library! {
    /// libcuda.
    Api {
        fn cuInit(flags: c_uint);
        fn cuDriverGetVersion(version: *mut c_int);
        fn cuDeviceGetCount(count: *mut c_int);
        fn cuDeviceGet(device: *mut c_int, ordinal: c_int);
        fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: c_int);
        fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
        fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int);
        fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int);
        fn cuDevicePrimaryCtxRelease_v2(device: c_int);
        fn cuCtxSetCurrent(context: *mut c_void);
        fn cuCtxSynchronize();
        fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void);
        fn cuModuleUnload(module: *mut c_void);
        fn cuModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char);
        fn cuDeviceGetDefaultMemPool(pool: *mut *mut c_void, device: c_int);
        fn cuMemPoolSetAttribute(pool: *mut c_void, attribute: c_int, value: *mut c_void);
        fn cuMemPoolTrimTo(pool: *mut c_void, bytes: usize);
        fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: *mut c_void);
        fn cuMemFreeAsync(address: u64, stream: *mut c_void);
        fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: u64);
        fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
        fn cuMemAllocHost_v2(pointer: *mut *mut c_void, bytes: usize);
        fn cuMemFreeHost(pointer: *mut c_void);
        fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: *mut c_void);
        fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: *mut c_void);
        fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: *mut c_void);
        fn cuMemsetD8Async(address: u64, value: u8, bytes: usize, stream: *mut c_void);
        fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint);
        fn cuStreamDestroy_v2(stream: *mut c_void);
        fn cuStreamSynchronize(stream: *mut c_void);
        fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, flags: c_uint);
        fn cuEventCreate(event: *mut *mut c_void, flags: c_uint);
        fn cuEventRecord(event: *mut c_void, stream: *mut c_void);
        fn cuEventSynchronize(event: *mut c_void);
        fn cuEventElapsedTime(milliseconds: *mut f32, start: *mut c_void, end: *mut c_void);
        fn cuEventDestroy_v2(event: *mut c_void);
        fn cuLaunchKernel(
            function: *mut c_void,
            grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
            block_x: c_uint, block_y: c_uint, block_z: c_uint,
            shared_bytes: c_uint,
            stream: *mut c_void,
            parameters: *mut *mut c_void,
            extra: *mut *mut c_void,
        );
        fn cuGetErrorName(error: c_int, name: *mut *const c_char);
        fn cuGetErrorString(error: c_int, text: *mut *const c_char);
    }
}

/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) const OUT_OF_MEMORY: c_int = 2;
/// Of `CUdevice_attribute`.
pub(super) const MULTIPROCESSORS: c_int = 16;
pub(super) const CAPABILITY_MAJOR: c_int = 75;
pub(super) const CAPABILITY_MINOR: c_int = 76;
pub(super) const MEMORY_POOLS: c_int = 115;
/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
pub(super) const POINTER_ORDINAL: c_int = 9;
/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`.
pub(super) const RELEASE_THRESHOLD: c_int = 4;
/// `CU_STREAM_NON_BLOCKING`.
pub(super) const NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DEFAULT`, which has a time, and `CU_EVENT_DISABLE_TIMING`.
pub(super) const TIMED: c_uint = 0;
pub(super) const UNTIMED: c_uint = 2;

/// The driver's names on this system.
pub(super) fn names() -> Vec<OsString> {
    let names: &[&str] = if cfg!(windows) {
        &["nvcuda.dll"]
    } else {
        &["libcuda.so.1", "libcuda.so"]
    };
    names.iter().map(OsString::from).collect()
}

impl Api {
    /// A failed call as a fault that names it.
    pub fn check(&self, call: &str, status: c_int) -> Result<(), Fault> {
        if status == 0 {
            return Ok(());
        }
        let text = |of: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text = ptr::null();
            // SAFETY: the function writes a pointer, to a text that stays, or null.
            #[allow(unsafe_code)]
            let found = unsafe { of(status, &raw mut text) } == 0 && !text.is_null();
            found.then(|| {
                // SAFETY: not null, so a text of the driver's that ends with a zero byte.
                #[allow(unsafe_code)]
                let text = unsafe { CStr::from_ptr(text) };
                text.to_string_lossy().into_owned()
            })
        };
        let name = text(self.cuGetErrorName).unwrap_or_else(|| format!("error {status}"));
        let what = match text(self.cuGetErrorString) {
            Some(words) => format!("{call}: {name} ({words})"),
            None => format!("{call}: {name}"),
        };
        Err(Fault::Failed { what })
    }
}

/// Calls a function of the driver that writes one value.
macro_rules! get {
    ($api:expr, $function:ident, $start:expr $(, $argument:expr)*) => {{
        let mut value = $start;
        // SAFETY: the function writes its first argument, which is of the type that it takes, and
        // the others are what the surrounding function says of them.
        #[allow(unsafe_code)]
        let status = unsafe { ($api.$function)(&raw mut value $(, $argument)*) };
        $api.check(stringify!($function), status).map(|()| value)
    }};
}

/// Calls a function of the driver that writes nothing.
macro_rules! call {
    ($api:expr, $function:ident $(, $argument:expr)* $(,)?) => {{
        // SAFETY: the arguments are values, handles that the driver gave and that have not been
        // given back, or pointers to what the surrounding function says of them.
        #[allow(unsafe_code)]
        let status = unsafe { ($api.$function)($($argument),*) };
        $api.check(stringify!($function), status)
    }};
}

pub(super) use {call, get};
