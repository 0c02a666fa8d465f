//! Moves of boxes of memory: pointers, byte strides, extents and an element width, and no shape or layout.
//!
//! A [`Move`] is a loop nest with a stride on each side, prepared once and run often. A [`Fill`] is the same with a
//! pattern in place of a source. Both can be run on a *window*, a part of the destination, which is how threads share
//! one destination (`split_at_mut`, one window each) and how files larger than memory are streamed.
//!
//! A [`Recode`] is a move that writes its elements anew: packed, in another byte order, as other numbers; and
//! [`FillBits`] a fill of packed elements.
//!
//! Sizes, offsets and strides are in bytes, in bits only in these two; extents count iterations.
//!
//! ```
//! use minormajor_kernels::{Loop, Move};
//! // A 2 by 3 matrix of bytes, row by row, to column by column.
//! let transpose = Move::new(1, 0, 0, &[
//!     Loop { extent: 2, source: 3, destination: 1 },
//!     Loop { extent: 3, source: 1, destination: 2 },
//! ])?;
//! let mut columns = [0; 6];
//! transpose.run(b"abcdef", &mut columns)?;
//! assert_eq!(&columns, b"adbecf");
//! # Ok::<(), minormajor_kernels::NestError>(())
//! ```
//!
//! The project's unsafe code is here, but for what calls others' code: a BLAS, Python, a driver. Every function that the
//! crate exports is safe: a nest's reach is computed with checked arithmetic when it is built, and compared with the
//! buffers each time it is run.

mod ahead;
mod apart;
mod around;
mod asked;
mod axis;
mod block;
mod cached;
mod cell;
mod clip;
mod copy;
mod crowded;
mod dispatch;
mod error;
mod fill;
mod gather;
mod hop;
mod in_place;
mod isa;
mod kernel;
mod listed;
mod mapped;
mod movement;
mod narrow;
mod nest;
mod oblong;
mod onward;
mod order;
mod packed;
mod parts;
mod pen;
mod pieces;
mod places;
mod plane;
mod prepared;
mod program;
mod recode;
mod repeat;
mod runs;
mod sequence;
mod sift;
mod simd;
mod slim;
mod spaced;
mod square;
mod staged;
mod steps;
mod streaming;
mod strips;
mod team;
mod tuning;
mod weave;
mod zip;

pub use error::{Buffer, NestError};
pub use fill::{Fill, FillLoop};
pub use in_place::{Crew, Cycle, Resize, Rows, Stage, Swap};
pub use isa::Isa;
pub use kernel::Kernel;
pub use mapped::{Advice, MappedFile, MappedFileMut, Memory, Pages, advise_huge_pages};
pub use movement::Move;
pub use nest::Loop;
pub use program::{Column, OutOfBounds, Program, Step, Width};
pub use recode::{Code, FillBits, Format, Recode, Recoding, Scratch};
pub use sequence::{Bands, Sequence};
pub use team::team;
pub use tuning::{Caches, Stores, Tuning};

/// Whether these kernels were built with any optimisation: without, as Cargo's `dev` profile has it, they take two hundred times as
/// long.
pub const IS_OPTIMISED: bool = cfg!(not(unoptimised));
