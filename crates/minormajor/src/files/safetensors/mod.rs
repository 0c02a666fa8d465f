//! `safetensors`: many arrays, major to minor, behind a header in JSON, with texts by name.
//!
//! A set of files is read by its index, `NAME.safetensors.index.json`, which says for each array
//! in which file it is.
//!
//! The reader is our own, over `serde_json`: the safetensors crate (0.8) wants the file's bytes
//! in memory, lets the last of two arrays of one name win, and forgets the order of the metadata.

mod dtype;
mod header;
mod sharded;

use std::collections::HashSet;
use std::path::Path;

use minormajor_core::plan::ByteOrder;
use minormajor_core::{ArrayShape, Layout};

use super::error::Damage;
use super::format::same_bytes;
use super::{Array, Contents, FileError, Format, Frame, Input, Refusal};

use header::{Header, LENGTH, MAX_HEADER, Tensor};
pub(super) use sharded::Sharded;

pub(super) struct Safetensors;

impl Format for Safetensors {
    fn extension(&self) -> &'static str {
        "safetensors"
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Contents, FileError> {
        input.check_not_strided(self.extension())?;
        let path = input.path.to_owned();
        let contents = read(input)?.map_err(|damage| damage.in_file(&path, self.extension()))?;
        for array in &contents.arrays {
            input.check_given(&array.shape)?;
            if array.shape.element_type().byte_width() > 1 {
                input.check_order(array.order)?;
            }
        }
        Ok(contents)
    }

    fn refuses(&self, array: &Array) -> Option<Refusal> {
        let Some(shape) = array.in_layout() else {
            return Some(Refusal::Strided);
        };
        if dtype::name_of(array).is_none() {
            return Some(Refusal::Type);
        }
        if shape.dimensions().iter().any(|size| size.is_dynamic()) {
            return Some(Refusal::Limit("sizes and no bounds"));
        }
        if array.order != ByteOrder::Little {
            return Some(Refusal::Limit("little-endian numbers"));
        }
        match dense(shape) {
            Some(dense) if *shape == dense || same_bytes(shape, &dense) => None,
            _ => Some(Refusal::Limit(
                "arrays that lie major to minor without gaps (it has no memory order; a rule such as 'NAME: OI -> IO' transposes the dimensions themselves)",
            )),
        }
    }

    fn holds_one(&self) -> bool {
        false
    }

    fn holds_metadata(&self) -> bool {
        true
    }

    fn frame(&self, path: &Path, contents: &Contents) -> Result<Frame, FileError> {
        // Wide elements first, so that every array is aligned to its elements, as the library
        // does; arrays that have that order keep it.
        let mut places: Vec<usize> = (0..contents.arrays.len()).collect();
        places.sort_by_key(|&place| {
            std::cmp::Reverse(contents.arrays[place].shape.element_type().byte_width())
        });
        let mut header = Header {
            metadata: contents.metadata.clone(),
            ..Header::default()
        };
        let mut names = HashSet::new();
        let mut ends = vec![0; places.len()];
        let mut end = 0u64;
        for place in places {
            let array = &contents.arrays[place];
            if array.name == header::METADATA || !names.insert(&array.name) {
                return Err(FileError::ArrayName {
                    path: path.to_owned(),
                    format: self.extension(),
                    name: array.name.clone(),
                });
            }
            let start = end;
            end = end.saturating_add(array.bytes());
            ends[place] = start;
            let sizes = array.shape.dimensions().iter();
            header.tensors.push(Tensor {
                name: array.name.clone(),
                dtype: dtype::name_of(array).unwrap_or_default().to_owned(),
                sizes: sizes.filter_map(|size| size.bound()).collect(),
                range: [start, end],
            });
        }
        let header = header.write();
        let data = header.len() as u64;
        if data > MAX_HEADER + LENGTH {
            return Err(FileError::LongHeader {
                path: path.to_owned(),
                format: self.extension(),
                found: data,
                limit: MAX_HEADER,
            });
        }
        Ok(Frame {
            offsets: ends
                .into_iter()
                .map(|start| data.saturating_add(start))
                .collect(),
            length: data.saturating_add(end),
            pieces: vec![(0, header)],
            ..Frame::default()
        })
    }
}

/// The array as this format holds it: major to minor, elements narrower than a byte packed.
fn dense(shape: &ArrayShape) -> Option<ArrayShape> {
    let plain = ArrayShape::new(shape.element_type(), shape.dimensions()).ok()?;
    let bits = dtype::bits(shape.element_type());
    let layout = Layout::descending(shape.rank());
    let layout = match bits % 8 {
        0 => layout,
        _ => layout.with_element_size_in_bits(i64::from(bits)).ok()?,
    };
    plain.with_layout(layout).ok()
}

/// What a file holds; the outer error is the system's.
fn read(input: &mut Input<'_>) -> Result<Result<Contents, Damage>, FileError> {
    let length = match header::length(&input.read(0, LENGTH as usize)?, input.length()) {
        Ok(length) => length,
        Err(damage) => return Ok(Err(damage)),
    };
    // At most MAX_HEADER.
    let text = input.read(LENGTH, length as usize)?;
    Ok(Header::read(&text).and_then(|header| arrays(header, LENGTH + length, input.length())))
}

/// The arrays of a header, whose data starts at byte `data` of a file of `length` bytes.
fn arrays(header: Header, data: u64, length: u64) -> Result<Contents, Damage> {
    let mut arrays = Vec::with_capacity(header.tensors.len());
    for tensor in &header.tensors {
        let name = &tensor.name;
        let bad = |expected: &str, found: String| {
            Damage::new(LENGTH, format!("{expected} in the entry {name:?}"), found)
        };
        let Some(element_type) = dtype::type_of(&tensor.dtype) else {
            return Err(bad("a data type of the format", tensor.dtype.clone()));
        };
        let shape = ArrayShape::new(element_type, &tensor.sizes)
            .map_err(|error| bad("sizes of an array", error.to_string()))?;
        let Some(shape) = dense(&shape) else {
            return Err(bad("sizes of an array", shape.to_string()));
        };
        let bits = shape.elements().unwrap_or(0) as u128 * u128::from(dtype::bits(element_type));
        if !bits.is_multiple_of(8) {
            return Err(bad("whole bytes", shape.to_string()));
        }
        let [start, end] = tensor.range;
        let found = end.checked_sub(start);
        if found.map(u128::from) != Some(bits / 8) {
            let expected = format!("the {} bytes of {shape}", bits / 8);
            return Err(bad(&expected, format!("the range {start} to {end}")));
        }
        // The ranges are checked below to be in the file.
        let offset = data.saturating_add(start);
        arrays.push((
            end,
            Array::new(name.clone(), shape, ByteOrder::Little, offset),
        ));
    }
    // An array without elements has no place of its own: it goes before those that start there.
    arrays.sort_by_key(|(end, array)| (array.offset, *end));
    let mut end = 0;
    for (next, array) in &arrays {
        let start = array.offset - data;
        if start != end {
            let what = if start < end {
                "overlaps"
            } else {
                "leaves a hole"
            };
            return Err(Damage::new(
                LENGTH,
                format!("arrays one behind the other, {:?} from {end}", array.name),
                format!("{start}, which {what}"),
            ));
        }
        end = *next;
    }
    let found = length - data;
    if found != end {
        return Err(Damage::new(
            data,
            format!("{end} bytes of arrays up to the end of the file"),
            format!("{found}"),
        ));
    }
    Ok(Contents {
        arrays: arrays.into_iter().map(|(_, array)| array).collect(),
        metadata: header.metadata,
        ..Contents::default()
    })
}

#[cfg(test)]
mod tests;
