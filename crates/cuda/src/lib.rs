//! CUDA for minormajor: tensors and relayouts on NVIDIA's cards.

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
