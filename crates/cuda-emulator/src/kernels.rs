//! The kernels, called by name.

use minormajor_cuda::launch::Launch;

/// What a launch asked of memory, where that was counted: 0 is read, 1 written.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes of global memory that threads asked for.
    pub bytes: [u64; 2],
    /// Sectors of 32 bytes that warps reached for them.
    pub sectors: [u64; 2],
    /// Passes over shared memory that accesses took,
    pub wavefronts: u64,
    /// and would have taken without conflicts.
    pub requests: u64,
}

impl Counts {
    /// The part of the sectors' bytes that was asked for, read and written.
    pub fn efficiency(&self) -> [f64; 2] {
        [0, 1].map(|side| self.bytes[side] as f64 / (self.sectors[side] * 32).max(1) as f64)
    }

    /// Adds those of another launch.
    pub fn add(&mut self, other: &Counts) {
        for side in 0..2 {
            self.bytes[side] += other.bytes[side];
            self.sectors[side] += other.sectors[side];
        }
        self.wavefronts += other.wavefronts;
        self.requests += other.requests;
    }
}

/// What is watched beside bounds, alignment and races in shared memory, which always are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    /// Counts transactions.
    pub counts: bool,
    /// Runs threads in reverse order.
    pub backwards: bool,
    /// Notes which thread wrote a byte of global memory: no other may touch it.
    pub writers: bool,
}

/// An allocation.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub address: u64,
    pub bytes: u64,
}

/// Whether this build has the kernels: a C++ compiler was there.
pub const PRESENT: bool = cfg!(emulator);

#[cfg(emulator)]
mod foreign {
    use super::{Counts, Region};
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        pub fn minormajor_emulator_params(name: *const c_char) -> u64;
        pub fn minormajor_emulator_run(
            name: *const c_char,
            parameters: *const u8,
            blocks: u32,
            shared_bytes: u32,
            regions: *const Region,
            count: u64,
            flags: u32,
            counts: *mut Counts,
            message: *mut u8,
            message_bytes: u64,
        ) -> c_int;
    }
}

/// Bytes of a kernel's parameters; 0 where there is none of this name.
pub fn parameter_bytes(kernel: &str) -> u64 {
    #[cfg(emulator)]
    {
        let Ok(name) = std::ffi::CString::new(kernel) else {
            return 0;
        };
        // SAFETY: the name ends with a zero byte.
        unsafe { foreign::minormajor_emulator_params(name.as_ptr()) }
    }
    #[cfg(not(emulator))]
    {
        let _ = kernel;
        0
    }
}

/// Runs a launch on memory of which nothing but these regions may be touched.
///
/// # Safety
///
/// The regions' memory is there, and nobody else uses it meanwhile.
#[cfg(emulator)]
pub(crate) unsafe fn run(
    launch: &Launch,
    regions: &[Region],
    watch: Watch,
) -> Result<Counts, String> {
    let name = std::ffi::CString::new(launch.kernel.as_bytes())
        .map_err(|_| "a kernel's name has a zero byte".to_owned())?;
    let expected = parameter_bytes(&launch.kernel);
    if expected == 0 {
        return Err(format!("there is no kernel {}", launch.kernel));
    }
    if expected != launch.parameters.len() as u64 {
        return Err(format!(
            "{} takes {expected} bytes of parameters, and was given {}",
            launch.kernel,
            launch.parameters.len()
        ));
    }
    let mut counts = Counts::default();
    let mut message = [0u8; 512];
    let flags =
        u32::from(watch.counts) | u32::from(watch.backwards) << 1 | u32::from(watch.writers) << 2;
    // SAFETY: the parameters have the size that the kernel takes; it touches no memory outside of
    // the regions, which the caller vouches for; counts and message are written within bounds.
    let status = unsafe {
        foreign::minormajor_emulator_run(
            name.as_ptr(),
            launch.parameters.as_ptr(),
            launch.blocks,
            launch.shared_bytes,
            regions.as_ptr(),
            regions.len() as u64,
            flags,
            &raw mut counts,
            message.as_mut_ptr(),
            message.len() as u64,
        )
    };
    if status == 0 {
        return Ok(counts);
    }
    let end = message.iter().position(|&b| b == 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&message[..end]).into_owned();
    Err(format!("{}: {text}", launch.kernel))
}

/// Says that there are no kernels.
///
/// # Safety
///
/// None is needed.
#[cfg(not(emulator))]
pub(crate) unsafe fn run(_: &Launch, _: &[Region], _: Watch) -> Result<Counts, String> {
    Err("the emulator was built without a C++ compiler".to_owned())
}
