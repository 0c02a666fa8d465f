//! What a folder holds.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use minormajor_core::plan::ByteOrder;
use minormajor_core::{ArrayShape, Layout};
use serde_json::{Map, Value};
use zarrs::array::ArrayMetadataV3;

use super::super::array::{Notes, Packed, Within};
use super::super::error::{FileError, io_error};
use super::super::format::same_bytes;
use super::super::{Array, Contents};
use super::chunked::{Chunked, read_metadata, wrong};
use super::{Stored, tile, types};

/// Where an array or a group says what it is.
pub(super) const METADATA: &str = "zarr.json";

/// Groups in groups, at most.
const MAX_DEPTH: usize = 64;

/// The arrays of a folder: one, or those of a group and of its groups. `name` is the array's that
/// is alone.
pub(super) fn folder(path: &Path, name: &str) -> Result<Contents, FileError> {
    let file = path.join(METADATA);
    let Some(metadata) = read_metadata(&file)? else {
        let reason = match path.join(".zarray").exists() || path.join(".zgroup").exists() {
            true => "is of version 2; expected version 3, with a file zarr.json",
            false => "has no file zarr.json, as arrays and groups of version 3 have",
        };
        return Err(wrong(path, reason.to_owned()));
    };
    let mut contents = Contents::default();
    if is_group(&file, &metadata)? {
        contents.metadata = texts(metadata.get("attributes"));
        group(path, "", 0, &mut contents.arrays)?;
    } else {
        let mut array = array(path, name.to_owned(), metadata)?;
        // What belongs to the only array belongs to the file.
        contents.metadata = texts(Some(&Value::Object(std::mem::take(
            &mut array.notes.attributes,
        ))));
        contents.arrays.push(array);
    }
    Ok(contents)
}

/// The arrays in a group's folder, and in the groups in it, by their names' order.
fn group(
    path: &Path,
    prefix: &str,
    depth: usize,
    arrays: &mut Vec<Array>,
) -> Result<(), FileError> {
    if depth > MAX_DEPTH {
        let reason = format!("has groups in groups more than {MAX_DEPTH} times");
        return Err(wrong(path, reason));
    }
    let read = || io_error(path, "read the folder");
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(read())? {
        let entry = entry.map_err(read())?;
        // Links are not followed: they may lead round in circles.
        if entry.file_type().map_err(read())?.is_dir() {
            names.push(entry.file_name());
        }
    }
    names.sort();
    for name in names {
        let inside = path.join(&name);
        let file = inside.join(METADATA);
        let Some(metadata) = read_metadata(&file)? else {
            continue;
        };
        let name = name
            .to_str()
            .ok_or_else(|| wrong(&inside, "has a name that is no UTF-8".to_owned()))?;
        let name = format!("{prefix}{name}");
        if is_group(&file, &metadata)? {
            group(&inside, &format!("{name}/"), depth + 1, arrays)?;
        } else {
            arrays.push(array(&inside, name, metadata)?);
        }
    }
    Ok(())
}

/// Whether metadata is a group's; else it is an array's.
fn is_group(file: &Path, metadata: &Value) -> Result<bool, FileError> {
    let format = metadata.get("zarr_format").and_then(Value::as_u64);
    let node = metadata.get("node_type").and_then(Value::as_str);
    match (format, node) {
        (Some(3), Some("group")) => Ok(true),
        (Some(3), Some("array")) => Ok(false),
        (Some(3), _) => {
            let reason = "expected a node_type of \"array\" or \"group\"";
            Err(wrong(file, reason.to_owned()))
        }
        _ => Err(wrong(file, "expected a zarr_format of 3".to_owned())),
    }
}

/// The array in a folder.
fn array(folder: &Path, name: String, json: Value) -> Result<Array, FileError> {
    let file = folder.join(METADATA);
    let data_type = match json.get("data_type") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Object(object)) => match object.get("name") {
            Some(Value::String(name)) => name.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    let element_type = types::named(&data_type).ok_or_else(|| {
        let reason = format!(
            "has elements of the type {data_type:?}, which can't be moved; \
             expected bool, an integer, a float or a complex type"
        );
        wrong(&file, reason)
    })?;
    let notes = |chunked: &Chunked| -> Notes {
        let list = |name: &str| json.get(name).and_then(Value::as_array).cloned();
        let codecs = list("codecs").unwrap_or_default();
        let is_transposed = chunked.order.iter().copied().ne(0..chunked.order.len());
        let first = codecs.first().map(codec_name);
        let behind = usize::from(is_transposed || first == Some("transpose"));
        let mut chunks = vec![0; chunked.order.len()];
        for (&dimension, size) in chunked.order.iter().zip(&chunked.chunk) {
            chunks[dimension] = size.get();
        }
        Notes {
            attributes: json
                .get("attributes")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            dimension_names: list("dimension_names").unwrap_or_default(),
            fill_value: json.get("fill_value").cloned(),
            element_type: Some(element_type),
            chunks,
            piece: chunked.chunk.iter().map(|size| size.get()).collect(),
            codecs: codecs.into_iter().skip(behind).collect(),
        }
    };
    let metadata: ArrayMetadataV3 = serde_json::from_value(json.clone())
        .map_err(|error| wrong(&file, format!("is no metadata of an array: {error}")))?;
    let sizes = metadata.shape.clone();
    let chunked = Chunked::new(&file, metadata)?;
    if chunked.width() != element_type.byte_width() as usize {
        let reason = format!(
            "has elements of {} bytes of the type {data_type}",
            chunked.width()
        );
        return Err(wrong(&file, reason));
    }
    let shape = shape(&file, element_type, &sizes, &chunked)?;
    let notes = notes(&chunked);
    let stored = Stored {
        folder: folder.to_owned(),
        chunked,
    };
    Ok(Array {
        within: Within::Packed(Packed(Arc::new(stored))),
        notes,
        ..Array::new(name, shape, ByteOrder::Little, 0)
    })
}

/// The array whose chunks lie one behind the other.
fn shape(
    file: &Path,
    element_type: minormajor_core::ElementType,
    sizes: &[u64],
    chunked: &Chunked,
) -> Result<ArrayShape, FileError> {
    let refused = |error| FileError::Shape {
        path: file.to_owned(),
        source: Box::new(error),
    };
    let mut dimensions = Vec::with_capacity(sizes.len());
    for &size in sizes {
        let size = i64::try_from(size)
            .map_err(|_| wrong(file, format!("has {size} elements along a dimension")))?;
        dimensions.push(size);
    }
    let shape = ArrayShape::new(element_type, &dimensions).map_err(refused)?;
    let order = chunked
        .order
        .iter()
        .rev()
        .map(|&dimension| dimension as i64);
    let plain = Layout::new(order).map_err(refused)?;
    let untiled = shape.with_layout(plain.clone()).map_err(refused)?;
    if sizes.is_empty() || sizes.contains(&0) {
        return Ok(untiled);
    }
    let chunk = chunked.chunk.iter().map(|size| size.get());
    let tiled = plain.with_tiles([tile(chunk)]).map_err(refused)?;
    let tiled = shape.with_layout(tiled).map_err(refused)?;
    // Chunks of whole rows are no tiles: the array lies in its order.
    Ok(match same_bytes(&tiled, &untiled) {
        true => untiled,
        false => tiled,
    })
}

/// The name of a codec, which may stand for it.
pub(super) fn codec_name(codec: &Value) -> &str {
    let name = codec.get("name").unwrap_or(codec);
    name.as_str().unwrap_or_default()
}

/// Attributes as texts: strings as they are, where they could be nothing else; JSON otherwise.
fn texts(attributes: Option<&Value>) -> Vec<(String, String)> {
    let none = Map::new();
    let attributes = attributes.and_then(Value::as_object).unwrap_or(&none);
    let text = |value: &Value| match value {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
        value => value.to_string(),
    };
    let pairs = attributes
        .iter()
        .map(|(name, value)| (name.clone(), text(value)));
    pairs.collect()
}

/// The attributes that texts say.
pub(super) fn attributes(texts: &[(String, String)]) -> Map<String, Value> {
    let value =
        |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    let pairs = texts.iter().map(|(name, text)| (name.clone(), value(text)));
    pairs.collect()
}
