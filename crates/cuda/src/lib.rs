//! CUDA for [`minormajor`]: tensors and plans on NVIDIA's cards.
//!
//! [`register`] adds the cards that are there to a program's devices, or the reason why there are none:
//! the driver is loaded at run time, and nothing of CUDA is needed to build. The page
//! [docs/cuda.md](https://github.com/minormajor/minormajor/blob/main/docs/cuda.md) says how it works, and what of
//! it is proved without a card.
//!
//! - [`CudaBackend`] has tensors' operations over any [`Driver`](driver::Driver); [`Cuda`] is NVIDIA's.
//! - [`relayout::launches`] are the kernels of a plan, for programs with memory and streams of their
//!   own; [`PTX`] is the module that has them.

mod backend;
mod compute;
pub mod driver;
pub mod launch;
mod nest;
mod nvidia;
pub mod product;
pub mod relayout;
mod staging;
mod walk;

pub use backend::CudaBackend;
pub use nvidia::{Cuda, Library, PTX, register};

/// The page's Rust block, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/cuda.md")]
struct Page;
