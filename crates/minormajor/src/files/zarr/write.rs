//! A new folder: what the metadata says, and the chunks, which are packed when their elements are
//! all there.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use zarrs::array::ArrayMetadataV3;

use super::super::error::no_room;
use super::super::error::{FileError, io_error};
use super::super::format::Pack;
use super::super::{Array, Contents, Frame};
use super::chunked::{Chunked, wrong};
use super::fit::{chunk_of, codecs_of};
use super::read::{METADATA, attributes};
use super::types;

/// Where an array begins in the file that is packed.
const ALIGNMENT: u64 = 4096;

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
