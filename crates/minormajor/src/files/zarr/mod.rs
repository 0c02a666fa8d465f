//! Zarr's version 3: a folder with an array in chunks, or with groups of them.
//!
//! A chunk is a tile. An array in chunks of 256 x 128 has the layout `{1,0:T(256,128)}`: chunk
//! after chunk, each of which holds its elements in order, the ones at the edges as large as the
//! others. Where a chain of codecs begins with `transpose`, so does the layout with another order:
//! `{0,1:T(128,256)}`. So chunks in a row are an array like any other: reading unpacks them into a
//! file, one behind the other, and writing packs a file into chunks; all that is between is the same
//! for every format. Both take a few chunks of memory, and a file beside the output of the size of
//! the elements.
//!
//! Metadata, codecs, names of chunks and fill values are those of the crate zarrs; where its
//! decoders would take as much memory as a chunk's file asks for, ours stop at the chunk's size.

mod chunked;
mod codecs;
mod fit;
mod read;
mod types;
mod write;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use minormajor_core::Tile;
use minormajor_core::plan::ByteOrder;

use super::format::Unpack;
use super::{Array, Contents, FileError, Format, Frame, Input, Kind, Refusal, RelayoutOptions};
use chunked::Chunked;

pub(super) struct Zarr;

impl Format for Zarr {
    fn extension(&self) -> &'static str {
        "zarr"
    }

    fn is_folder(&self) -> bool {
        true
    }

    fn holds_one(&self) -> bool {
        false
    }

    fn holds_metadata(&self) -> bool {
        true
    }

    fn holds_notes(&self) -> bool {
        true
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Contents, FileError> {
        input.check_not_strided(self.extension())?;
        let contents = read::folder(input.path, &input.stem())?;
        for array in &contents.arrays {
            input.check_given(&array.shape)?;
        }
        if input.order == Some(ByteOrder::Big) {
            input.check_order(ByteOrder::Little)?;
        }
        Ok(contents)
    }

    fn fit(
        &self,
        output: &Path,
        array: &mut Array,
        options: &RelayoutOptions,
    ) -> Result<(), FileError> {
        fit::fit(array, options).map_err(|reason| chunked::wrong(output, reason))
    }

    fn refuses(&self, array: &Array) -> Option<Refusal> {
        if array.view.is_some() {
            return Some(Refusal::Strided);
        }
        let dimensions = array.shape.dimensions();
        if matches!(array.kind, Kind::Opaque { .. })
            || types::name_of(array.shape.element_type()).is_none()
        {
            Some(Refusal::Type)
        } else if array.order == ByteOrder::Big {
            Some(Refusal::Limit("numbers in little-endian bytes"))
        } else if dimensions.iter().any(|dimension| dimension.is_dynamic()) {
            Some(Refusal::Limit("sizes and no bounds"))
        } else if fit::chunk_of(array).is_none() {
            Some(Refusal::Limit(
                "an order of dimensions, and one tile for its chunks, as {1,0:T(256,256)}",
            ))
        } else {
            None
        }
    }

    fn frame(&self, path: &Path, contents: &Contents) -> Result<Frame, FileError> {
        write::frame(path, contents)
    }
}

/// The chunks of an array in its folder.
struct Stored {
    folder: PathBuf,
    chunked: Chunked,
}

impl Unpack for Stored {
    fn heap(&self) -> usize {
        self.chunked.heap()
    }

    fn unpack(&self, file: &File, memory: usize, threads: usize) -> Result<(), FileError> {
        self.chunked.unpack(&self.folder, file, memory, threads)
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// The tile that is a chunk of these sizes, major to minor.
fn tile(chunk: impl IntoIterator<Item = u64>) -> Tile {
    Tile::new(chunk.into_iter().map(|size| size as i64))
}
