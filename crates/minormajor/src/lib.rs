//! Array shapes and memory layouts, exactly; and any layout to any other at the speed of memory.

pub use minormajor_core::*;
