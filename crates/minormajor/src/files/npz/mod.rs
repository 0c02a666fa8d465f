//! NumPy's `.npz`: a zip archive of `.npy` files.
//!
//! Entries that are stored are read where they are; deflated ones are inflated into a file
//! without a name when they are moved. What is written is stored, and is, byte for byte, what
//! `numpy.savez` writes of the same arrays in the same order.
//!
//! The directory is read and written by our own code: the zip crate (9.4) keeps the last of two
//! entries of one name, and writes an entry's data itself, front to back, where ours are filled
//! in any order. Inflating is flate2's.

mod directory;
mod inflate;
mod write;

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use flate2::bufread::DeflateDecoder;

use super::array::{Summed, Within};
use super::error::Damage;
use super::input::allocated_bytes;
use super::npy::{self, Npy};
use super::{Array, Contents, FileError, Format, Frame, Input, Refusal};

use directory::{Entry, Method};
pub(super) use inflate::inflate;

pub(super) struct Npz;

impl Format for Npz {
    fn extension(&self) -> &'static str {
        "npz"
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Contents, FileError> {
        input.check_not_strided(self.extension())?;
        let path = input.path.to_owned();
        let damaged = |damage: Damage| damage.in_file(&path, self.extension());
        let entries = directory::read(input)?.map_err(damaged)?;
        let mut arrays = Vec::with_capacity(entries.len());
        for entry in entries {
            let array = array(input, &entry)?.map_err(damaged)?;
            input.check_given(&array.shape)?;
            if array.shape.element_type().byte_width() > 1 {
                input.check_order(array.order)?;
            }
            arrays.push(array);
        }
        Ok(Contents {
            arrays,
            ..Contents::default()
        })
    }

    fn refuses(&self, array: &Array) -> Option<Refusal> {
        Npy.refuses(array)
    }

    fn holds_one(&self) -> bool {
        false
    }

    fn frame(&self, path: &Path, contents: &Contents) -> Result<Frame, FileError> {
        let mut names = HashSet::new();
        for array in &contents.arrays {
            // A zip archive has 16 bits for the length of a name, and NumPy asks for "x.npy"
            // under the name "x" too.
            let fits = array.name.len() <= 60_000 && !array.name.contains('\0');
            if !fits || !names.insert(array.name.trim_end_matches(".npy")) {
                return Err(FileError::ArrayName {
                    path: path.to_owned(),
                    format: self.extension(),
                    name: array.name.clone(),
                });
            }
        }
        let headers = contents.arrays.iter().map(npy::header_of);
        Ok(write::frame(contents, headers.collect()))
    }
}

/// The array of an entry; the outer error is the system's, or says what is wrong with the header.
fn array(input: &mut Input<'_>, entry: &Entry) -> Result<Result<Array, Damage>, FileError> {
    let Some(name) = entry.name.strip_suffix(".npy") else {
        let found = format!("{:?}", entry.name);
        return Ok(Err(Damage::new(entry.header, "an entry NAME.npy", found)));
    };
    let bytes = match entry.method {
        Method::Stored => {
            let most = |bytes: usize| bytes.min(usize::try_from(entry.size).unwrap_or(bytes));
            let start = input.read(entry.start, most(npy::START))?;
            input.read(entry.start, most(npy::length_of(&start)))?
        }
        Method::Deflated => match inflated_start(input, entry)? {
            Ok(bytes) => bytes,
            Err(damage) => return Ok(Err(damage)),
        },
    };
    let header = npy::read_header(&bytes).map_err(|source| FileError::Entry {
        path: input.path.to_owned(),
        entry: entry.name.clone(),
        source: Box::new(source),
    })?;
    let expected = allocated_bytes(input.path, &header.shape)?;
    let found = entry.size - header.data_offset as u64;
    if found != expected {
        let expected = format!("{expected} bytes of {} in {:?}", header.shape, entry.name);
        return Ok(Err(Damage::new(entry.start, expected, format!("{found}"))));
    }
    let skip = header.data_offset as u64;
    let array = npy::array(name.to_owned(), header);
    Ok(Ok(match entry.method {
        Method::Stored => Array {
            offset: entry.start + skip,
            summed: Some(Summed {
                start: entry.start,
                size: entry.size,
                crc: entry.crc,
            }),
            ..array
        },
        Method::Deflated => Array {
            within: Within::Deflated(entry.deflated()),
            ..array
        },
    }))
}

/// The header's bytes of a deflated entry: no more is inflated.
fn inflated_start(
    input: &mut Input<'_>,
    entry: &Entry,
) -> Result<Result<Vec<u8>, Damage>, FileError> {
    // Deflate makes no block more than 1032 times smaller, so so many bytes hold any header.
    let most = npy::MAX_HEADER + npy::START;
    let packed = usize::try_from(entry.packed).unwrap_or(most).min(2 * most);
    let packed = input.read(entry.start, packed)?;
    let mut decoder = DeflateDecoder::new(&packed[..]);
    let mut bytes = Vec::new();
    let mut read = Ok(0);
    for whole in [false, true] {
        let limit = if whole {
            npy::length_of(&bytes)
        } else {
            npy::START
        };
        let more = (limit as u64)
            .min(entry.size)
            .saturating_sub(bytes.len() as u64);
        read = read.and_then(|_| (&mut decoder).take(more).read_to_end(&mut bytes));
    }
    Ok(match read {
        Ok(_) => Ok(bytes),
        Err(error) => {
            let expected = format!("deflated bytes in {:?}", entry.name);
            Err(Damage::new(entry.start, expected, error.to_string()))
        }
    })
}

#[cfg(test)]
mod tests;
