//! HLO: what a module of XLA, or a TPU compiler's report of its memory, says about arrays; and
//! the page that shows it.

mod page;

pub use minormajor_core::hlo::*;
pub use page::page;
