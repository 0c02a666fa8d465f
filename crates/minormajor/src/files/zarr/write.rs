//! A new folder: what the metadata says, and the chunks, which are packed when their elements are
//! all there.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use minormajor_core::{ArrayShape, TileDimension};
use serde_json::{Map, Value, json};
use zarrs::array::ArrayMetadataV3;

use super::super::array::Notes;
use super::super::error::no_room;
use super::super::error::{FileError, io_error};
use super::super::format::Pack;
use super::super::{Array, Contents, Frame};
use super::chunked::{Chunked, wrong};
use super::read::{METADATA, attributes, codec_name};
use super::{tile, types};

/// Bytes of a chunk where nobody says its sizes, at most: enough to be read in one go, and few
/// beside the memory that a relayout takes.
const CHUNK_BYTES: u64 = 8 << 20;

/// Where an array begins in the file that is packed.
const ALIGNMENT: u64 = 4096;

/// Gives an array chunks if its layout says none: those that are wished for, those that it had, or
/// ones of a good size. A tile of fewer dimensions than the array's has one index along the others.
pub(super) fn in_chunks(array: &mut Array, wished: Option<&[u64]>) {
    let Some(layout) = array.shape.layout() else {
        return;
    };
    let rank = array.shape.rank();
    if array.view.is_some() || rank == 0 {
        return;
    }
    let order: Vec<usize> = layout.minor_to_major().iter().rev().copied().collect();
    let chunk: Vec<u64> = match layout.tiles() {
        [] => {
            let fits = |chunks: &&[u64]| chunks.len() == rank && !chunks.contains(&0);
            let had = Some(&*array.notes.chunks);
            match wished.filter(fits).or(had.filter(fits)) {
                Some(chunks) => order.iter().map(|&dimension| chunks[dimension]).collect(),
                None => default_chunk(&array.shape, &order),
            }
        }
        [one] if one.dimensions().len() < rank => {
            let before = std::iter::repeat_n(Some(1), rank - one.dimensions().len());
            let sizes = before.chain(one.dimensions().iter().map(size));
            match sizes.collect() {
                Some(chunk) => chunk,
                None => return,
            }
        }
        _ => return,
    };
    let tiled = layout.clone().with_tiles([tile(chunk)]);
    if let Ok(shape) = tiled.and_then(|tiled| array.shape.with_layout(tiled)) {
        array.shape = shape;
    }
}

/// Sizes of a chunk, major to minor: the largest dimension halved until the chunk is small.
fn default_chunk(shape: &ArrayShape, order: &[usize]) -> Vec<u64> {
    let dimensions = shape.dimensions();
    let sizes = order.iter().map(|&d| dimensions[d].bound().unwrap_or(1));
    let sizes: Vec<u64> = sizes.map(|size| size.max(1) as u64).collect();
    let width = u64::from(shape.element_type().byte_width());
    let mut parts = vec![1u64; sizes.len()];
    loop {
        let chunk = sizes
            .iter()
            .zip(&parts)
            .map(|(size, parts)| size.div_ceil(*parts));
        let chunk: Vec<u64> = chunk.collect();
        let bytes = chunk
            .iter()
            .try_fold(width, |bytes, &size| bytes.checked_mul(size));
        if bytes.is_some_and(|bytes| bytes <= CHUNK_BYTES) {
            return chunk;
        }
        // The first of the largest: one that is more than one element is there.
        let largest = (0..chunk.len()).rev().max_by_key(|&place| chunk[place]);
        match largest {
            Some(largest) => parts[largest] *= 2,
            None => return chunk,
        }
    }
}

fn size(dimension: &TileDimension) -> Option<u64> {
    match *dimension {
        TileDimension::Size(size) => Some(size as u64),
        TileDimension::Combine => None,
    }
}

/// Sizes of an array's chunks, major to minor, where its layout is one that chunks can have.
pub(super) fn chunk_of(array: &Array) -> Option<Vec<u64>> {
    let layout = array.shape.layout()?;
    let rank = array.shape.rank();
    let tiles = layout.tiles();
    let chunk: Vec<u64> = match tiles {
        [] if rank == 0 => Vec::new(),
        [one] if one.dimensions().len() == rank => {
            one.dimensions().iter().map(size).collect::<Option<_>>()?
        }
        _ => return None,
    };
    // Nothing else may be said of how it lies.
    let mut said = array.shape.without_layout();
    let plain = minormajor_core::Layout::new(layout.minor_to_major().iter().map(|&d| d as i64));
    let plain = plain.and_then(|plain| plain.with_tiles(tiles.iter().cloned()));
    said = said.with_layout(plain.ok()?).ok()?;
    (said.allocated_bytes() == array.shape.allocated_bytes()
        && layout.padded_dimensions().is_empty()
        && layout.element_size_in_bits() == 0)
        .then_some(chunk)
}

/// What is packed.
struct Folder {
    /// Folders in it, and what their metadata say.
    groups: Vec<(PathBuf, String)>,
    arrays: Vec<Member>,
}

struct Member {
    /// In the folder; nothing for the folder itself.
    folder: PathBuf,
    metadata: String,
    chunked: Chunked,
    /// Where its chunks begin in the file.
    offset: u64,
}

/// The file that is packed: the chunks of all arrays.
pub(super) fn frame(path: &Path, contents: &Contents) -> Result<Frame, FileError> {
    let mut arrays = Vec::with_capacity(contents.arrays.len());
    let mut offsets = Vec::with_capacity(contents.arrays.len());
    let mut length = 0u64;
    let alone = contents.arrays.len() == 1;
    let root = attributes(&contents.metadata);
    let names = match alone {
        true => BTreeSet::new(),
        false => groups(path, &contents.arrays)?,
    };
    for array in &contents.arrays {
        let attributes = match alone {
            true => &root,
            false => &array.notes.attributes,
        };
        let metadata = metadata(array, attributes);
        let text = pretty(&metadata);
        let folder = match alone {
            true => PathBuf::new(),
            false => array.name.split('/').collect(),
        };
        let file = path.join(&folder).join(METADATA);
        let metadata: ArrayMetadataV3 =
            serde_json::from_value(metadata).map_err(|error| wrong(&file, error.to_string()))?;
        let chunked = Chunked::new(&file, metadata)?;
        offsets.push(length);
        let end = length.saturating_add(chunked.bytes());
        arrays.push(Member {
            folder,
            metadata: text,
            chunked,
            offset: length,
        });
        length = end.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
    }
    let groups = names.into_iter().map(|name| {
        let attributes = match name {
            "" => root.clone(),
            _ => Map::new(),
        };
        let metadata = json!({
            "zarr_format": 3,
            "node_type": "group",
            "attributes": attributes,
        });
        (name.split('/').collect(), pretty(&metadata))
    });
    Ok(Frame {
        offsets,
        length,
        pack: Some(Box::new(Folder {
            groups: groups.collect(),
            arrays,
        })),
        ..Frame::default()
    })
}

/// The groups that arrays of these names are in, the folder itself being "".
fn groups<'a>(path: &Path, arrays: &'a [Array]) -> Result<BTreeSet<&'a str>, FileError> {
    let mut groups = BTreeSet::from([""]);
    let mut names = BTreeSet::new();
    let refused = |name: &str| FileError::ArrayName {
        path: path.to_owned(),
        format: "zarr",
        name: name.to_owned(),
    };
    for array in arrays {
        let name = array.name.as_str();
        let is_good = |part: &str| {
            let only_dots = part.chars().all(|c| c == '.');
            let reserved = part.starts_with("__") || part == METADATA;
            !only_dots && !reserved && !part.contains(['\\', '\0', ':'])
        };
        if !name.split('/').all(is_good) || !names.insert(name) {
            return Err(refused(name));
        }
        let slashes = name.match_indices('/');
        groups.extend(slashes.map(|(at, _)| &name[..at]));
    }
    // An array holds no other.
    match groups.intersection(&names).next() {
        Some(name) => Err(refused(name)),
        None => Ok(groups),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// What zarr.json says of an array that is not refused.
fn metadata(array: &Array, attributes: &Map<String, Value>) -> Value {
    let shape = &array.shape;
    let notes = &array.notes;
    let element_type = shape.element_type();
    let sizes: Vec<i64> = shape
        .dimensions()
        .iter()
        .filter_map(|d| d.bound())
        .collect();
    let layout = shape.layout();
    let order: Vec<usize> = layout
        .map(|layout| layout.minor_to_major().iter().rev().copied().collect())
        .unwrap_or_default();
    let piece = chunk_of(array).unwrap_or_default();
    let mut chunks = vec![1; sizes.len()];
    for (&dimension, &size) in order.iter().zip(&piece) {
        chunks[dimension] = size;
    }
    let is_same_type = notes.element_type == Some(element_type);
    let mut codecs = Vec::new();
    if order.iter().copied().ne(0..order.len()) {
        codecs.push(json!({"name": "transpose", "configuration": {"order": order}}));
    }
    codecs.extend(codecs_of(notes, &piece, is_same_type));
    let fill = notes.fill_value.clone().filter(|_| is_same_type);
    let mut metadata = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": sizes,
        "data_type": types::name_of(element_type),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill.unwrap_or_else(|| types::zero(element_type)),
        "codecs": codecs,
        "attributes": attributes,
        "storage_transformers": [],
    });
    if notes.dimension_names.len() == sizes.len() && !sizes.is_empty() {
        metadata["dimension_names"] = Value::Array(notes.dimension_names.clone());
    }
    metadata
}

/// The codecs behind a transpose: those that the array had where they fit, and its compressors at
/// least; zstd where it had none.
fn codecs_of(notes: &Notes, piece: &[u64], is_same_type: bool) -> Vec<Value> {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let had = &notes.codecs;
    if is_same_type && notes.piece == piece && !had.is_empty() {
        return had.clone();
    }
    let mut chain = had.as_slice();
    let inner;
    if let [sharding] = chain
        && codec_name(sharding) == "sharding_indexed"
    {
        inner = sharding
            .pointer("/configuration/codecs")
            .and_then(Value::as_array)
            .cloned();
        chain = inner.as_deref().unwrap_or_default();
    }
    let behind = chain.iter().position(|codec| codec_name(codec) == "bytes");
    match behind {
        Some(place) => std::iter::once(bytes)
            .chain(chain[place + 1..].iter().cloned())
            .collect(),
        None => vec![
            bytes,
            json!({"name": "zstd", "configuration": {"level": 0, "checksum": false}}),
        ],
    }
}

impl Pack for Folder {
    fn heap(&self) -> usize {
        let heaps = self.arrays.iter().map(|array| array.chunked.heap());
        heaps.max().unwrap_or(0)
    }

    fn is_one(&self, folder: &Path) -> bool {
        folder.join(METADATA).is_file()
    }

    fn pack(
        &self,
        file: &File,
        folder: &Path,
        memory: usize,
        threads: usize,
    ) -> Result<(), FileError> {
        let members = self
            .arrays
            .iter()
            .map(|array| (&array.folder, &array.metadata));
        let groups = self
            .groups
            .iter()
            .map(|(folder, metadata)| (folder, metadata));
        for (inside, metadata) in groups.chain(members) {
            let inside = folder.join(inside);
            fs::create_dir_all(&inside).map_err(io_error(&inside, "make the folder"))?;
            let path = inside.join(METADATA);
            fs::write(&path, metadata).map_err(no_room(&path, metadata.len() as u64))?;
        }
        for array in &self.arrays {
            let inside = folder.join(&array.folder);
            array
                .chunked
                .pack(file, array.offset, &inside, memory, threads)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.arrays.iter().map(|array| &array.folder);
        f.debug_list().entries(names).finish()
    }
}
