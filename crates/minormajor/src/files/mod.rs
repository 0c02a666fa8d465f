//! Files of arrays: what they hold, and moving their arrays to another layout.
//!
//! | name | holds |
//! |---|---|
//! | `NAME.npy` | NumPy's format: one array in C or Fortran order |
//! | `NAME.npz` | many of them in a zip archive, stored or deflated |
//! | `NAME.safetensors` | many arrays, major to minor, and texts; sets of files by their index, `NAME.safetensors.index.json` |
//! | `NAME.tsr` | one array of at most four dimensions, major to minor |
//! | `NAME.zarr` | a folder (version 3) of an array in chunks, or of many in groups, with the feature `zarr` |
//! | `NAME.bin` | the bytes of one array in any layout; its shape is the text in `NAME.bin.shape` |
//!
//! Arrays stream from file to file block by block, through buffers of a bounded size, so theirs is
//! not limited by memory. The few arrays that can't be cut into blocks are mapped: there, another
//! process that shortens an input while it is read ends this one with a signal; elsewhere it is
//! an error.

mod array;
mod at;
mod bundle;
mod compressor;
mod error;
mod folder;
mod forecast;
mod format;
mod info;
mod input;
mod inputs;
mod journal;
mod lanes;
mod mover;
pub mod npy;
mod npz;
mod open_array;
mod output;
mod outputs;
mod plan;
mod queue;
mod raw;
mod relayout;
mod safetensors;
mod save;
mod sources;
mod stream;
mod target;
mod tsr;
mod unfinished;
mod verify;
#[cfg(feature = "zarr")]
mod zarr;

pub use array::FileStrides;
use array::{Array, Contents, Kind, order_of};
pub use compressor::{Compressor, CompressorError};
pub use error::{Difference, FileError};
pub use forecast::Forecast;
use format::{Format, Frame, Refusal, check_holds, format_of};
pub use info::{ArrayInfo, FileInfo, inspect, inspect_reader};
use input::Input;
pub use mover::DEFAULT_MEMORY;
pub use open_array::OpenArray;
pub use outputs::Earlier;
pub use plan::{ArrayMove, FilePlan};
pub use relayout::{RelayoutOptions, RelayoutReport, relayout_file};
pub use save::{MemoryArray, save_arrays};
