//! Which chunks an array gets, which shards, and which codecs.
//!
//! A piece is what has a file of its own: a shard where there are any, else a chunk. It is the tile of
//! the array's layout.

use minormajor_core::{ArrayShape, TileDimension};
use serde_json::{Value, json};

use super::super::array::Notes;
use super::super::{Array, Compressor, RelayoutOptions};
use super::read::codec_name;
use super::tile;

/// Bytes of a chunk where nobody says its sizes, at most: enough to be read in one go, and few
/// beside the memory that a relayout takes.
const CHUNK_BYTES: u64 = 8 << 20;

/// Gives an array the chunks, shards and compressor of the options.
pub(super) fn fit(array: &mut Array, options: &RelayoutOptions) -> Result<(), String> {
    let rank = array.shape.rank();
    let is_tiled = |array: &Array| match array.shape.layout() {
        Some(layout) => !layout.tiles().is_empty(),
        None => true,
    };
    let shards = options.shards.as_deref();
    let shards = shards.filter(|sizes| sizes.len() == rank && rank > 0 && !is_tiled(array));
    let wished = options.chunks.as_deref();
    in_pieces(array, shards.or(wished));
    if shards.is_none() && options.compressor.is_none() {
        return Ok(());
    }
    let (Some(piece), Some(layout)) = (chunk_of(array), array.shape.layout()) else {
        return Ok(());
    };
    let order: Vec<usize> = layout.minor_to_major().iter().rev().copied().collect();
    let element_type = array.shape.element_type();
    let is_same_type = array.notes.element_type == Some(element_type);
    let mut codecs = codecs_of(&array.notes, &piece, is_same_type);
    if let Some(shards) = shards {
        let had = &array.notes.chunks;
        let chunk: Vec<u64> = match wished.filter(|sizes| sizes.len() == rank) {
            Some(sizes) => order.iter().map(|&d| sizes[d]).collect(),
            // Shards of the chunks that it had, where these divide them.
            None if had.len() == rank && divides(had, shards) => {
                order.iter().map(|&d| had[d]).collect()
            }
            None => piece.clone(),
        };
        if !divides(&chunk, &piece) {
            return Err(format!(
                "{:?} would have shards of {piece:?} elements, major to minor, which chunks of \
                 {chunk:?} don't fill; expected shards of whole chunks",
                array.name
            ));
        }
        let inner = match codecs.as_slice() {
            [sharding] if codec_name(sharding) == "sharding_indexed" => {
                let inner = sharding.pointer("/configuration/codecs");
                inner.and_then(Value::as_array).cloned().unwrap_or_default()
            }
            _ => codecs,
        };
        codecs = vec![sharded(&chunk, inner)];
    }
    if let Some(compressor) = options.compressor {
        compress(
            &mut codecs,
            compressor,
            u64::from(element_type.byte_width()),
        );
    }
    if !is_same_type {
        array.notes.fill_value = None;
    }
    array.notes.element_type = Some(element_type);
    array.notes.piece = piece;
    array.notes.codecs = codecs;
    Ok(())
}

/// Whether sizes are parts of others, without a rest.
fn divides(parts: &[u64], wholes: &[u64]) -> bool {
    let mut pairs = parts.iter().zip(wholes);
    pairs.all(|(&part, &whole)| part > 0 && whole.is_multiple_of(part))
}

/// Shards of chunks of these sizes.
fn sharded(chunk: &[u64], codecs: Vec<Value>) -> Value {
    json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": chunk,
        "codecs": codecs,
        "index_codecs": [bytes(), {"name": "crc32c"}],
        "index_location": "end",
    }})
}

fn bytes() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

/// Puts a compressor in the place of those that chunks have, in shards too.
fn compress(codecs: &mut Vec<Value>, compressor: Compressor, width: u64) {
    if let [sharding] = codecs.as_mut_slice()
        && let Some(Value::Array(inner)) = sharding.pointer_mut("/configuration/codecs")
    {
        return compress(inner, compressor, width);
    }
    let to_bytes = codecs.iter().position(|codec| codec_name(codec) == "bytes");
    let Some(place) = to_bytes else {
        return;
    };
    codecs.truncate(place + 1);
    codecs.extend(match compressor {
        Compressor::None => None,
        Compressor::Zstd(level) => Some(zstd(level)),
        Compressor::Gzip(level) => Some(json!({"name": "gzip", "configuration": {"level": level}})),
        Compressor::Blosc(level) => Some(json!({"name": "blosc", "configuration": {
            "cname": "zstd",
            "clevel": level,
            "shuffle": "shuffle",
            "typesize": width,
            "blocksize": 0,
        }})),
    });
}

fn zstd(level: i32) -> Value {
    json!({"name": "zstd", "configuration": {"level": level, "checksum": false}})
}

/// Gives an array pieces if its layout says none: the shards or chunks that are wished for, the ones
/// that it had, or some of a good size. A tile of fewer dimensions than the array's has one index along
/// the others.
fn in_pieces(array: &mut Array, wished: Option<&[u64]>) {
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

/// The codecs behind a transpose: those that the array had where they fit, and its compressors at
/// least; zstd where it had none.
pub(super) fn codecs_of(notes: &Notes, piece: &[u64], is_same_type: bool) -> Vec<Value> {
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
        Some(place) => std::iter::once(bytes())
            .chain(chain[place + 1..].iter().cloned())
            .collect(),
        None => vec![bytes(), zstd(0)],
    }
}
