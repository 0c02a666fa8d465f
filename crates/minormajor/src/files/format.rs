//! What a file format must say, and the formats that are known.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::Crc;
use minormajor_core::plan::PlanClass;
use minormajor_core::{ArrayShape, Plan, nearest};

use super::at::{read_exact_at, write_all_at};
use super::{Array, Contents, FileError, Input, RelayoutOptions, npy, npz, raw, safetensors, tsr};

/// The formats that are known. A new one is a module that implements [`Format`], and a place
/// here.
static FORMATS: &[&dyn Format] = &[
    &npy::Npy,
    &npz::Npz,
    &safetensors::Safetensors,
    &safetensors::Sharded,
    &tsr::Tsr,
    &raw::Raw,
    #[cfg(feature = "zarr")]
    &super::zarr::Zarr,
];

/// What a file format must say. It sees names and a few bytes at a time; moving, reserving,
/// renaming and most errors are the same for all.
pub(super) trait Format: Sync {
    /// What names of its files end in, without the dot; also the format's name.
    fn extension(&self) -> &'static str;

    /// Whether what names end so is a folder.
    fn is_folder(&self) -> bool {
        false
    }

    /// What a file holds, checked against the file's length. Only headers are read.
    fn read(&self, input: &mut Input<'_>) -> Result<Contents, FileError>;

    /// What keeps an array out of this format, or nothing.
    fn refuses(&self, array: &Array) -> Option<Refusal>;

    /// Makes of an array what the format can hold, where that is what was asked for.
    fn fit(
        &self,
        _output: &Path,
        _array: &mut Array,
        _options: &RelayoutOptions,
    ) -> Result<(), FileError> {
        Ok(())
    }

    /// How many arrays a file holds, where it is always one.
    fn holds_one(&self) -> bool {
        true
    }

    /// Whether a file holds texts beside its arrays.
    fn holds_metadata(&self) -> bool {
        false
    }

    /// Whether a file says of each array what notes say.
    fn holds_notes(&self) -> bool {
        false
    }

    /// What stands around the arrays in a new file at `path`. None of them is refused, and there
    /// is one where the format holds one.
    fn frame(&self, path: &Path, contents: &Contents) -> Result<Frame, FileError>;

    /// The new files of what is named `path`: one, but for sets, whose index is the last.
    fn files(&self, path: &Path, contents: &Contents) -> Result<Vec<NewFile>, FileError> {
        Ok(vec![NewFile {
            path: path.to_owned(),
            arrays: 0..contents.arrays.len(),
            frame: self.frame(path, contents)?,
        }])
    }
}

/// A file that shall be written.
#[derive(Debug)]
pub(super) struct NewFile {
    pub(super) path: PathBuf,
    /// Which of the contents' arrays it holds.
    pub(super) arrays: Range<usize>,
    pub(super) frame: Frame,
}

/// Pieces that hold an array, such as files of compressed chunks. They become a file that holds it
/// in its layout, so that what moves arrays sees no difference.
pub(super) trait Unpack: Debug + Send + Sync {
    /// Bytes of heap that it takes at least.
    fn heap(&self) -> usize;

    /// Puts the array at the beginning of an empty file, with no more than `memory` bytes of heap.
    fn unpack(&self, file: &File, memory: usize, threads: usize) -> Result<(), FileError>;
}

/// What becomes a folder of pieces, once the arrays are all in the file that was written.
pub(super) trait Pack: Debug + Send + Sync {
    /// Bytes of heap that it takes at least.
    fn heap(&self) -> usize;

    /// Whether a folder that is there is one of these, which may be replaced.
    fn is_one(&self, folder: &Path) -> bool;

    /// Fills an empty folder, with no more than `memory` bytes of heap.
    fn pack(
        &self,
        file: &File,
        folder: &Path,
        memory: usize,
        threads: usize,
    ) -> Result<(), FileError>;
}

/// What keeps an array out of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It has no such type.
    Type,
    /// Its arrays have no strides of their own.
    Strided,
    /// What it holds instead: words behind "a .npy file holds".
    Limit(&'static str),
}

/// What stands around the arrays of a new file.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Bytes that are no array's: where, and which.
    pub(super) pieces: Vec<(u64, Vec<u8>)>,
    /// Where each array begins, in the order of the contents.
    pub(super) offsets: Vec<u64>,
    /// Bytes of the whole file.
    pub(super) length: u64,
    /// What is known only when the arrays are written.
    pub(super) checksums: Vec<Checksum>,
    /// Another file that belongs to it: its path and what it holds, or nothing if it must not be
    /// there.
    pub(super) beside: Option<(PathBuf, Option<Vec<u8>>)>,
    /// What makes a folder of the file, in its place.
    pub(super) pack: Option<Box<dyn Pack>>,
}

/// A CRC-32 of bytes of the new file, and where in it its four bytes stand.
#[derive(Debug)]
pub(super) struct Checksum {
    pub(super) of: Range<u64>,
    pub(super) at: Vec<u64>,
}

impl Checksum {
    /// Sums what the file holds, and writes the sum into it.
    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        let mut crc = Crc::new();
        let mut buffer = vec![0; 64 << 10];
        let mut at = self.of.start;
        while at < self.of.end {
            let part = (self.of.end - at).min(buffer.len() as u64) as usize;
            read_exact_at(file, &mut buffer[..part], at)?;
            crc.update(&buffer[..part]);
            at += part as u64;
        }
        for &at in &self.at {
            write_all_at(file, &crc.sum().to_le_bytes(), at)?;
        }
        Ok(())
    }
}

impl Frame {
    /// A sum of all that it says.
    pub(super) fn checksum(&self) -> u32 {
        let mut crc = Crc::new();
        let places = self.offsets.iter().chain([&self.length]);
        places.for_each(|place| crc.update(&place.to_le_bytes()));
        for (at, piece) in &self.pieces {
            crc.update(&at.to_le_bytes());
            crc.update(piece);
        }
        if let Some((_, Some(beside))) = &self.beside {
            crc.update(beside);
        }
        crc.sum()
    }

    /// Of one array behind a header.
    pub(super) fn of_one(header: Vec<u8>, array: &Array) -> Frame {
        let offset = header.len() as u64;
        Frame {
            pieces: vec![(0, header)],
            offsets: vec![offset],
            length: offset.saturating_add(array.bytes()),
            ..Frame::default()
        }
    }
}

/// Checks that a format can hold what a new file shall, and says which ones can where it can't.
pub(super) fn check_holds(
    format: &dyn Format,
    path: &Path,
    contents: &Contents,
) -> Result<(), FileError> {
    if format.holds_one() && contents.arrays.len() != 1 {
        let many = |format: &&&dyn Format| !format.holds_one();
        return Err(FileError::ManyArrays {
            path: path.to_owned(),
            format: format.extension(),
            found: contents.arrays.len(),
            holders: endings(FORMATS.iter().filter(many)),
        });
    }
    for array in &contents.arrays {
        let Some(refusal) = format.refuses(array) else {
            continue;
        };
        let path = path.to_owned();
        let format = format.extension();
        let holders = holders(array, contents.arrays.len() != 1);
        let name = array.name.as_str().into();
        return Err(match refusal {
            Refusal::Type => FileError::TypeOutsideFormat {
                path,
                array: name,
                format,
                element_type: array.type_name(),
                holders,
            },
            Refusal::Strided => FileError::Strided { path, format },
            Refusal::Limit(limit) => FileError::ShapeOutsideFormat {
                path,
                array: name,
                format,
                limit,
                shape: Box::new(array.described()),
                holders,
            },
        });
    }
    Ok(())
}

/// The endings of the formats that can hold an array, if need be beside others.
fn holders(array: &Array, beside_others: bool) -> String {
    let holds = |format: &&&dyn Format| format.refuses(array).is_none();
    let holds_many = |format: &&&dyn Format| holds(format) && !format.holds_one();
    match beside_others {
        false => endings(FORMATS.iter().filter(holds)),
        true if FORMATS.iter().any(|format| holds_many(&format)) => {
            endings(FORMATS.iter().filter(holds_many))
        }
        true => format!(
            "{}, for this array alone",
            endings(FORMATS.iter().filter(holds))
        ),
    }
}

/// Whether an array in its layout is, byte for byte, the array in another: layouts that are
/// written differently may be the same, as f32[1,512]{0,1} is in C order.
pub(super) fn same_bytes(shape: &ArrayShape, ordered: &ArrayShape) -> bool {
    if shape == ordered {
        return true;
    }
    let plan = Plan::new(shape, ordered);
    plan.is_ok_and(|plan| {
        plan.class() == PlanClass::Identity && plan.source_bytes() == plan.destination_bytes()
    })
}

/// The format that a name says: the one with the longest ending that fits.
pub(super) fn format_of(path: &Path) -> Result<&'static dyn Format, FileError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let fits = |format: &&&dyn Format| {
        let stem = name.strip_suffix(format.extension());
        stem.is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'))
    };
    let named = FORMATS
        .iter()
        .filter(fits)
        .max_by_key(|format| format.extension().len());
    named.copied().ok_or_else(|| {
        let ending = name.rsplit('.').next().unwrap_or_default();
        let known = FORMATS.iter().map(|format| format.extension());
        FileError::UnknownFormat {
            path: path.to_owned(),
            meant: nearest(ending, known),
            known: endings(FORMATS.iter()),
        }
    })
}

/// Whether a name says a format whose files are folders.
pub(super) fn names_folder(path: &Path) -> bool {
    format_of(path).is_ok_and(|format| format.is_folder())
}

/// `.npy, .npz or .bin`.
fn endings<'a>(formats: impl Iterator<Item = &'a &'static dyn Format>) -> String {
    let names: Vec<_> = formats
        .map(|format| format!(".{}", format.extension()))
        .collect();
    match names.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}
