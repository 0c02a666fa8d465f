//! An array in chunks, each in a file of its own: how a chunk's file becomes the bytes of its
//! elements, and these a file.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use zarrs::array::{
    Array as ZarrArray, ArrayBytes, ArrayMetadata, ArrayMetadataV3, ArrayToBytesCodecTraits,
    CodecChain, CodecOptions,
};
use zarrs::storage::store::MemoryStore;

use super::super::at::{read_exact_at, write_all_at};
use super::super::error::{FileError, io_error};
use super::codecs::{bounded, chain};
use crate::threads::{self, team};

/// Bytes of heap that any chunk takes beside its own.
const CHUNK_HEAP: u64 = 256 << 10;

/// A chunk's own bytes, encoded and decoded, and what codecs make between them.
const COPIES: u64 = 4;

/// Bytes of metadata that nobody writes.
const MAX_METADATA: u64 = 64 << 20;

/// An array's chunks.
///
/// Its dimensions are counted as its bytes have them, the most major one first: a chain of codecs
/// that begins with `transpose` is the same array without, in another layout.
pub(super) struct Chunked {
    /// What names the chunks; it stores nothing.
    keys: ZarrArray<MemoryStore>,
    /// Behind the transpose.
    codecs: CodecChain,
    /// Physical dimension i is the array's dimension `order[i]`.
    pub(super) order: Vec<usize>,
    /// Sizes of a chunk, major to minor.
    pub(super) chunk: Vec<NonZeroU64>,
    /// Chunks along each of these.
    grid: Vec<u64>,
    /// Bytes of a chunk.
    pub(super) chunk_bytes: u64,
}

impl Chunked {
    /// An array of which the file at `path` says this.
    pub(super) fn new(path: &Path, metadata: ArrayMetadataV3) -> Result<Chunked, FileError> {
        let wrong = |reason: String| wrong(path, reason);
        let rank = metadata.shape.len();
        let order = match metadata.codecs.first() {
            Some(codec) if codec.name() == "transpose" => transpose_order(codec.configuration()),
            _ => None,
        };
        let transposed = usize::from(order.is_some());
        let order = order.unwrap_or_else(|| (0..rank).collect());
        if metadata.chunk_grid.name() != "regular" {
            let name = metadata.chunk_grid.name();
            return Err(wrong(format!(
                "has a chunk grid of the name {name:?}; expected \"regular\""
            )));
        }
        let behind = metadata.codecs.get(transposed..).unwrap_or_default();
        let created = |error: &dyn std::fmt::Display| wrong(error.to_string());
        let codecs = chain(behind).map_err(wrong)?;
        let keys = ZarrArray::new_with_metadata(
            Arc::new(MemoryStore::new()),
            "/",
            ArrayMetadata::V3(metadata),
        )
        .map_err(|error| created(&error))?;
        let is_permutation = {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            sorted.into_iter().eq(0..rank)
        };
        if !is_permutation {
            return Err(wrong(format!(
                "transposes by {order:?}, which is no order of {rank} dimensions"
            )));
        }
        let sizes = keys
            .chunk_shape(&vec![0; rank])
            .map_err(|error| created(&error))?;
        let width = keys.data_type().fixed_size();
        let width = width.ok_or_else(|| wrong("has elements of no fixed width".to_owned()))?;
        let chunk: Vec<NonZeroU64> = order.iter().map(|&d| sizes[d]).collect();
        let grid: Vec<u64> = order.iter().map(|&d| keys.chunk_grid_shape()[d]).collect();
        let chunk_bytes = chunk
            .iter()
            .try_fold(width as u64, |bytes, size| bytes.checked_mul(size.get()))
            .filter(|&bytes| bytes <= (i64::MAX as u64) / (2 * COPIES));
        let chunk_bytes = chunk_bytes.ok_or_else(|| {
            wrong(format!(
                "has chunks of {sizes:?} elements, which no memory holds"
            ))
        })?;
        Ok(Chunked {
            keys,
            codecs,
            order,
            chunk,
            grid,
            chunk_bytes,
        })
    }

    /// How many chunks there are, filled or not.
    pub(super) fn count(&self) -> u64 {
        self.grid.iter().product()
    }

    /// The bytes of all, one chunk behind the other.
    pub(super) fn bytes(&self) -> u64 {
        self.count().saturating_mul(self.chunk_bytes)
    }

    /// Bytes of heap that one chunk takes to be read or written.
    pub(super) fn heap(&self) -> usize {
        (COPIES * self.chunk_bytes + CHUNK_HEAP) as usize
    }

    /// The bytes of an element that no chunk has.
    pub(super) fn fill(&self) -> &[u8] {
        self.keys.fill_value().as_ne_bytes()
    }

    /// Bytes of an element.
    pub(super) fn width(&self) -> usize {
        self.fill().len()
    }

    /// The file of a chunk in the array's folder.
    fn path(&self, folder: &Path, number: u64) -> PathBuf {
        let mut indices = vec![0; self.grid.len()];
        let mut rest = number;
        for (&dimension, &count) in self.order.iter().zip(&self.grid).rev() {
            indices[dimension] = rest % count;
            rest /= count;
        }
        folder.join(self.keys.chunk_key(&indices).as_str())
    }

    /// Reads all chunks into a file that is empty, one behind the other.
    pub(super) fn unpack(
        &self,
        folder: &Path,
        file: &File,
        memory: usize,
        threads: usize,
    ) -> Result<(), FileError> {
        file.set_len(self.bytes())
            .map_err(io_error(folder, "make room for its elements"))?;
        // What nothing is written to is zero.
        let fill = self.fill();
        let fill = fill
            .iter()
            .any(|&byte| byte != 0)
            .then(|| fill.repeat(self.chunk_bytes as usize / fill.len()));
        self.each(memory, threads, |number| {
            let path = self.path(folder, number);
            let read = self.read(&path)?;
            match read.as_deref().or(fill.as_deref()) {
                None => Ok(()),
                Some(bytes) => write_all_at(file, bytes, number * self.chunk_bytes)
                    .map_err(io_error(folder, "put its elements beside the output")),
            }
        })
    }

    /// Writes the chunks that a file has from `offset` on; those that hold nothing but the fill
    /// value have no file.
    pub(super) fn pack(
        &self,
        file: &File,
        offset: u64,
        folder: &Path,
        memory: usize,
        threads: usize,
    ) -> Result<(), FileError> {
        let fill = self.fill();
        self.each(memory, threads, |number| {
            let path = self.path(folder, number);
            let mut bytes = vec![0; self.chunk_bytes as usize];
            read_exact_at(file, &mut bytes, offset + number * self.chunk_bytes)
                .map_err(io_error(&path, "read its elements"))?;
            if bytes
                .chunks_exact(fill.len())
                .all(|element| element == fill)
            {
                return Ok(());
            }
            let encoded = self
                .codecs
                .encode(
                    ArrayBytes::new_flen(bytes),
                    &self.chunk,
                    self.keys.data_type(),
                    self.keys.fill_value(),
                    &options(),
                )
                .map_err(|error| wrong(&path, error.to_string()))?;
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(io_error(parent, "make the folder"))?;
            }
            fs::write(&path, encoded).map_err(super::super::error::no_room(&path, 0))
        })
    }

    /// Does something for each chunk, several at once where memory allows it.
    fn each(
        &self,
        memory: usize,
        threads: usize,
        work: impl Fn(u64) -> Result<(), FileError> + Sync,
    ) -> Result<(), FileError> {
        let count = self.count();
        let lanes = threads::count(threads).min(memory / self.heap()).max(1);
        let lanes = (lanes as u64).min(count.max(1)) as usize;
        let next = AtomicU64::new(0);
        let failed = Mutex::new(None);
        team(lanes, |_| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                if let Err(error) = work(number) {
                    next.store(count, Ordering::Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.get_or_insert(error);
                }
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The bytes of a chunk's elements; `None` where it has no file.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, FileError> {
        let encoded = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(path, "open it")(error)),
            Ok(file) => bounded(file, self.longest()).map_err(io_error(path, "read it"))?,
        };
        let encoded = encoded.ok_or_else(|| {
            wrong(
                path,
                format!(
                    "has more than {} bytes, the most of a chunk",
                    self.longest()
                ),
            )
        })?;
        let decoded = self
            .decode(encoded)
            .map_err(|reason| wrong(path, format!("is no chunk of this array: {reason}")))?;
        if decoded.len() as u64 != self.chunk_bytes {
            let reason = format!(
                "holds {} bytes of elements, expected {}",
                decoded.len(),
                self.chunk_bytes
            );
            return Err(wrong(path, reason));
        }
        Ok(Some(decoded))
    }

    /// The most bytes that a chunk's file may have: other encoders may be worse than ours.
    fn longest(&self) -> u64 {
        let bound = self.codecs.encoded_representation(
            &self.chunk,
            self.keys.data_type(),
            self.keys.fill_value(),
        );
        let bound = match bound.ok().and_then(|found| found.size()) {
            Some(bytes) => bytes,
            None => self.chunk_bytes,
        };
        bound
            .saturating_add(bound / 8)
            .saturating_add(CHUNK_HEAP / 4)
    }

    fn decode(&self, encoded: Vec<u8>) -> Result<Vec<u8>, String> {
        let (data_type, fill) = (self.keys.data_type(), self.keys.fill_value());
        let elements = self
            .codecs
            .decode(
                Cow::Owned(encoded),
                &self.chunk,
                data_type,
                fill,
                &options(),
            )
            .map_err(|error| error.to_string())?;
        let elements = elements.into_fixed().map_err(|error| error.to_string())?;
        Ok(elements.into_owned())
    }
}

/// Codecs of one chunk run on one thread; there are several chunks.
fn options() -> CodecOptions {
    CodecOptions::default().with_concurrent_target(1)
}

/// The order of a transpose codec, where that is a list of dimensions.
fn transpose_order(configuration: Option<&zarrs::metadata::Configuration>) -> Option<Vec<usize>> {
    let order = configuration?.get("order")?.as_array()?;
    let order = order.iter().map(|d| usize::try_from(d.as_u64()?).ok());
    order.collect()
}

/// The metadata in a folder, as JSON; `None` where there is no such file.
pub(super) fn read_metadata(path: &Path) -> Result<Option<serde_json::Value>, FileError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(path, "open it")(error)),
        Ok(file) => file,
    };
    let bytes = bounded(file, MAX_METADATA).map_err(io_error(path, "read it"))?;
    let bytes = bytes.ok_or_else(|| {
        wrong(
            path,
            format!("has more than {MAX_METADATA} bytes, which no metadata has"),
        )
    })?;
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| wrong(path, format!("is no JSON: {error}")))
}

pub(super) fn wrong(path: &Path, reason: String) -> FileError {
    FileError::Zarr {
        path: path.to_owned(),
        reason,
    }
}
