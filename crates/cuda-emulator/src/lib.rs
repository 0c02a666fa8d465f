//! A CUDA device for tests: the kernels' own code, compiled for the host and run block by block,
//! phase by phase and thread by thread. Every access must lie in an allocation and be aligned;
//! threads must not touch what another one touches between two barriers.

mod device;
mod kernels;
mod memory;
mod product;

pub use device::{Emulator, Options};
pub use kernels::{Counts, PRESENT, Watch, parameter_bytes};
pub use memory::Memory;

/// A library with the driver's and cuBLAS's functions, which run on the host at once: its file, or
/// nothing where there is no C++ compiler.
pub const LIBRARY: &str = env!("MINORMAJOR_CUDA_LIBRARY");
