//! Array shapes and memory layouts, exactly; and any layout to any other at the speed of memory.
//!
//! - Everything of `minormajor-core` is here: [`Shape`], [`ArrayShape`], [`Layout`],
//!   [`AddressMap`], [`Plan`].
//! - [`Relayout`] runs a plan on buffers in memory, with threads; [`relayout`] is the short way.
//! - [`InPlace`] moves an array inside its buffer, with as little memory beside it as is allowed.
//! - [`BatchMap`] turns many indices into positions at once, and back.
//! - [`Tensor`] is an array on a device, to compute with; [`backend`] says what devices are.
//! - [`Picture`] draws an array and its memory, as text and as SVG.
//! - [`measure`] times a relayout beside `memcpy`.
//! - [`for_each_index_parallel`] goes through an array's indices on several threads.
//! - [`files`] says what arrays a file holds, and moves a file's array to another layout; [`rules`]
//!   say what becomes of many.
//!
//! ```
//! use minormajor::{relayout, Shape};
//!
//! // The seed example: rows become columns, each padded to five elements.
//! let source: Shape = "u8[2,3]{1,0}".parse()?;
//! let destination: Shape = "u8[2,3]{0,1:PAD(3,5)}".parse()?;
//! let moved = relayout(b"abcdef", source.as_array()?, destination.as_array()?)?;
//! assert_eq!(moved, *b"ad\0be\0cf\0\0\0\0\0\0\0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Cargo's `dev` profile optimises nothing, and kernels then take two hundred times as long. A program that moves much while
//! it is being written says in its `Cargo.toml` that they are to be optimised; a compiler takes some minutes for that, once:
//!
//! ```toml
//! [profile.dev.package.minormajor-kernels]
//! opt-level = 3
//! ```

pub mod backend;
mod batch_map;
mod bits;
mod executor;
pub mod files;
pub mod hlo;
mod in_place;
mod indices;
mod machine;
mod markup;
pub mod measure;
mod memory;
mod picture;
pub mod random;
pub mod rules;
pub mod tensor;
mod threads;

pub use backend::{Backend, Device, Devices};
pub use batch_map::{BatchError, BatchMap};
pub use executor::{
    ExplainedBands, ExplainedBox, Explanation, Progress, Relayout, RelayoutError, RunError,
    relayout,
};
pub use half::{bf16, f16};
pub use in_place::{InPlace, InPlaceError};
pub use indices::{for_each_index_parallel, index_threads, try_for_each_index_parallel};
pub use machine::{Level, Machine};
pub use memory::ExtraMemory;
pub use minormajor_core::*;
pub use minormajor_kernels::{Caches, Column, Isa, Kernel, Pages, Stores, Tuning, Width};
pub use picture::Picture;
pub use tensor::{Order, Tensor, TensorError};

/// The README's Rust blocks, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Those of the page on bitcasts.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/bitcasts.md")]
struct Bitcasts;

/// Those of the guide to tensors.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tensors.md")]
struct Tensors;
