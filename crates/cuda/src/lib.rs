//! CUDA for minormajor.

pub mod launch;
pub mod relayout;
mod walk;
