//! What can go wrong between two files. Every text names the file, the cause and a remedy, on
//! one line.

use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use minormajor_core::plan::{ByteOrder, PlanError};
use minormajor_core::{ArrayShape, ElementType, ParseError, ShapeError, ViewError};

use super::npy::NpyError;
use crate::RunError;
use crate::rules::ApplyError;

/// Why a file could not be read, or moved to another one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such input.
    #[error("{}: there is no such file; check the path", shown(.path))]
    #[allow(missing_docs)]
    Missing { path: PathBuf },
    /// A directory, a pipe or a device.
    #[error("{}: is {found}; expected a regular file", shown(.path))]
    #[allow(missing_docs)]
    NotAFile { path: PathBuf, found: &'static str },
    /// A name that ends like no format that is known.
    #[error("{}: the name says no format that is known; use one that ends in {known}{}", shown(.path), or_meant(.meant))]
    #[allow(missing_docs)]
    UnknownFormat {
        path: PathBuf,
        known: String,
        /// The ending that may have been meant, without the dot.
        meant: Option<&'static str>,
    },
    /// A folder or file of Zarr's that is not as it should be.
    #[error("{}: {}", shown(.path), one_line(.reason))]
    #[allow(missing_docs)]
    Zarr { path: PathBuf, reason: String },
    /// No folder, where the format's files are folders.
    #[error("{}: is {found}; expected a folder of the format that its name says", shown(.path))]
    #[allow(missing_docs)]
    NotAFolder { path: PathBuf, found: &'static str },
    /// Sizes of chunks, or what compresses them, for a format that has none.
    #[error("{}: a .{format} file has no chunks; leave out what is said of them, or choose an output that ends in .zarr", shown(.path))]
    #[allow(missing_docs)]
    NoChunks { path: PathBuf, format: &'static str },
    /// The system refused.
    #[error("{}: can't {action}: {source}; {}", shown(.path), way_out(.source))]
    #[allow(missing_docs)]
    Io {
        path: PathBuf,
        action: &'static str,
        source: io::Error,
    },
    /// A header that is not one of `.npy`, or of an array that can't be held.
    #[error("{}: {source}", shown(.path))]
    #[allow(missing_docs)]
    Npy {
        path: PathBuf,
        source: Box<NpyError>,
    },
    /// An entry of an archive that is no `.npy` file that can be read.
    #[error("{}: {entry:?}: {source}", shown(.path))]
    #[allow(missing_docs)]
    Entry {
        path: PathBuf,
        entry: String,
        source: Box<NpyError>,
    },
    /// A header or directory that is not as its format says.
    #[error("{}: this .{format} file is damaged at byte {at}: expected {expected}, found {found}", shown(.path))]
    #[allow(missing_docs)]
    Damaged {
        path: PathBuf,
        format: &'static str,
        at: u64,
        expected: String,
        found: String,
    },
    /// A raw file whose shape nobody says.
    #[error("{}: raw bytes don't say their shape; give it, or write it to {}", shown(.path), shown(.beside))]
    #[allow(missing_docs)]
    NoShape { path: PathBuf, beside: PathBuf },
    /// A shape file that holds no shape.
    #[error("{}: {}; write one array's shape, such as f32[2,3]{{1,0}}", shown(.path), one_line(&.source.to_string()))]
    #[allow(missing_docs)]
    ShapeText {
        path: PathBuf,
        source: Box<ParseError>,
    },
    /// A shape that a file can't have: no array, or one without a size.
    #[error("{}: {source}", shown(.path))]
    #[allow(missing_docs)]
    Shape {
        path: PathBuf,
        source: Box<ShapeError>,
    },
    /// The caller's shape is not the one that the file says.
    #[error("{}: says {found}, but the shape given is {given}; leave it out, or give the same", shown(.path))]
    #[allow(missing_docs)]
    OtherShape {
        path: PathBuf,
        given: Box<ArrayShape>,
        found: Box<ArrayShape>,
    },
    /// The caller's element type is not the one that the file says, and the file has no opaque
    /// elements that are as wide.
    #[error("{}: has elements of the type {found}, and no opaque ones that can be {given}; leave the type out", shown(.path))]
    #[allow(missing_docs)]
    OtherType {
        path: PathBuf,
        given: ElementType,
        found: String,
    },
    /// Opaque elements have no value that could be another type's.
    #[error("{}: {array:?}: elements of the type {found} move as they are and can't become {to}; say what they are as the input's type", shown(.path))]
    #[allow(missing_docs)]
    Opaque {
        path: PathBuf,
        array: Box<str>,
        found: String,
        to: ElementType,
    },
    /// The caller's byte order is not the one that the file says.
    #[error("{}: is {found}-endian, but the order given is {given}; leave it out, or give the same", shown(.path))]
    #[allow(missing_docs)]
    OtherOrder {
        path: PathBuf,
        given: ByteOrder,
        found: ByteOrder,
    },
    /// The file's length is not that of its shape.
    #[error("{}: holds {found} bytes of data, but {shape} takes {expected}: {}", shown(.path), remedy(*.found, *.expected))]
    #[allow(missing_docs)]
    Length {
        path: PathBuf,
        shape: Box<ArrayShape>,
        expected: u64,
        found: u64,
    },
    /// A file of a format whose arrays have no strides of their own.
    #[error("{}: a {format} file has no strides of its own; use a raw file, NAME.bin", shown(.path))]
    #[allow(missing_docs)]
    Strided { path: PathBuf, format: &'static str },
    /// Strides that no array can have.
    #[error("{}: {source}", shown(.path))]
    #[allow(missing_docs)]
    View {
        path: PathBuf,
        source: Box<ViewError>,
    },
    /// A raw file that ends before its last element does.
    #[error("{}: holds {found} bytes, but with these strides and offset the array reaches to byte {reach}; check them", shown(.path))]
    #[allow(missing_docs)]
    ViewLength {
        path: PathBuf,
        reach: u64,
        found: u64,
    },
    /// Output and input are one file, by name or through a link.
    #[error("{}: is the input itself ({}); choose another output", shown(.path), shown(.input))]
    #[allow(missing_docs)]
    OutputIsInput { path: PathBuf, input: PathBuf },
    /// The output's directory is not there.
    #[error("{}: there is no directory {}; create it first", shown(.path), shown(.directory))]
    #[allow(missing_docs)]
    NoDirectory { path: PathBuf, directory: PathBuf },
    /// The output's directory takes no new files.
    #[error("{}: can't write in {}: {source}; choose a directory that you may write in", shown(.path), shown(.directory))]
    #[allow(missing_docs)]
    NotWritable {
        path: PathBuf,
        directory: PathBuf,
        source: io::Error,
    },
    /// No room for the output.
    #[error("{}: no room for its {needed} bytes: {source}; free some space, or choose another place", shown(.path))]
    #[allow(missing_docs)]
    DiskFull {
        path: PathBuf,
        needed: u64,
        source: io::Error,
    },
    /// Another process has the unfinished file of this output.
    #[error("{}: another process is writing it, as {}; wait for it, or choose another output", shown(.path), shown(.part))]
    #[allow(missing_docs)]
    Busy { path: PathBuf, part: PathBuf },
    /// What an earlier run left is not of this run: its input changed, or its options are others.
    #[error("{}: the run to go on with had `{was}`, and this one has `{is}`; run it as before, or without resuming to begin anew", shown(.path))]
    #[allow(missing_docs)]
    OtherRun {
        path: PathBuf,
        was: String,
        is: String,
    },
    /// A run goes on only where files can be locked.
    #[error("{}: its file system has no locks, so no run goes on there; run it without resuming", shown(.path))]
    #[allow(missing_docs)]
    NoLocks { path: PathBuf },
    /// An input that was written while it was read.
    #[error("{}: changed while it was read; run it again when nobody writes it", shown(.path))]
    #[allow(missing_docs)]
    Changed { path: PathBuf },
    /// An output that stands there and may not be written.
    #[error("{}: is read-only; change its permissions, or choose another output", shown(.path))]
    #[allow(missing_docs)]
    ReadOnlyOutput { path: PathBuf },
    /// What was written is not what was read, found when both were read again.
    #[error("{}: {source}; check the disk and the memory, and run it again", shown(.path))]
    #[allow(missing_docs)]
    Differs {
        path: PathBuf,
        source: Box<Difference>,
    },
    /// An entry of an archive whose bytes are not those that it was written with.
    #[error("{}: {entry:?}: its checksum is {found:08x}, not the {expected:08x} it claims; copy it again", shown(.path))]
    #[allow(missing_docs)]
    EntryChecksum {
        path: PathBuf,
        entry: String,
        expected: u32,
        found: u32,
    },
    /// The format has no such element type.
    #[error("{}: a .{format} file has no element type {element_type}, which {array:?} is of; choose an output that ends in {holders}", shown(.path))]
    #[allow(missing_docs)]
    TypeOutsideFormat {
        path: PathBuf,
        array: Box<str>,
        format: &'static str,
        element_type: String,
        /// Endings of the formats that have it.
        holders: String,
    },
    /// The format can't say this layout.
    #[error("{}: a .{format} file holds {limit}, which {array:?}, {shape}, is not; choose an output that ends in {holders}", shown(.path))]
    #[allow(missing_docs)]
    ShapeOutsideFormat {
        path: PathBuf,
        array: Box<str>,
        format: &'static str,
        limit: &'static str,
        shape: Box<ArrayShape>,
        /// Endings of the formats that can.
        holders: String,
    },
    /// A name that the format can't hold, or two arrays of one name.
    #[error("{}: a .{format} file can't hold an array of the name {name:?}, or not twice; rename it", shown(.path))]
    #[allow(missing_docs)]
    ArrayName {
        path: PathBuf,
        format: &'static str,
        name: String,
    },
    /// More names and sizes than the format's header has room for.
    #[error("{}: the header would have {found} bytes, and a .{format} file has room for {limit}; move fewer arrays", shown(.path))]
    #[allow(missing_docs)]
    LongHeader {
        path: PathBuf,
        format: &'static str,
        found: u64,
        limit: u64,
    },
    /// The format holds one array a file.
    #[error("{}: a .{format} file holds one array, and here are {found}; choose an output that ends in {holders}", shown(.path))]
    #[allow(missing_docs)]
    ManyArrays {
        path: PathBuf,
        format: &'static str,
        found: usize,
        /// Endings of the formats that hold many.
        holders: String,
    },
    /// The layout asked for does not fit the input's array.
    #[error("{}: {array:?}: {shape} can't have the layout {layout}: {source}", shown(.path))]
    #[allow(missing_docs)]
    Layout {
        path: PathBuf,
        array: Box<str>,
        shape: Box<ArrayShape>,
        layout: String,
        source: Box<ShapeError>,
    },
    /// The array that a rule fits can't become what the rule says.
    #[error("{}: {}", shown(.path), one_line(&.source.to_string()))]
    #[allow(missing_docs)]
    Rule {
        path: PathBuf,
        source: Box<ApplyError>,
    },
    /// No plan leads from the one layout to the other.
    #[error("{}: {array:?}: {source}", shown(.path))]
    #[allow(missing_docs)]
    Plan {
        path: PathBuf,
        array: Box<str>,
        source: Box<PlanError>,
    },
    /// The plan can't be run on this machine.
    #[error("{}: {source}", shown(.path))]
    #[allow(missing_docs)]
    Run { path: PathBuf, source: RunError },
}

/// The first element of an array that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("array {array:?}: the element at {index:?} is the bytes {}, and should be {}", hex(.found), hex(.expected))]
#[non_exhaustive]
pub struct Difference {
    /// The array's name.
    pub array: String,
    /// The element's index in the output's array.
    pub index: Vec<i64>,
    /// The bytes that it should be, in the output's byte order.
    pub expected: Vec<u8>,
    /// The bytes that it is.
    pub found: Vec<u8>,
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

impl FileError {
    /// Whether the system failed, or refused, where nothing that was asked is wrong: what to do
    /// about it is to free some space, or to change permissions, and to ask the same again.
    pub fn is_of_the_system(&self) -> bool {
        matches!(
            self,
            FileError::Io { .. } | FileError::NotWritable { .. } | FileError::DiskFull { .. }
        )
    }
}

/// What is wrong with a header, before it is said of which file.
#[derive(Debug)]
pub(super) struct Damage {
    at: u64,
    expected: String,
    found: String,
}

impl Damage {
    /// At a byte of the file.
    pub(super) fn new(at: u64, expected: impl Into<String>, found: impl Into<String>) -> Damage {
        Damage {
            at,
            expected: expected.into(),
            found: found.into(),
        }
    }

    pub(super) fn in_file(self, path: &Path, format: &'static str) -> FileError {
        FileError::Damaged {
            path: path.to_owned(),
            format,
            at: self.at,
            expected: self.expected,
            found: self.found,
        }
    }
}

/// The first characters of untrusted text, on one line.
pub(super) fn excerpt(text: &[u8], limit: usize) -> String {
    // Four bytes hold any character.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * limit)]);
    let mut found = one_line(&text.chars().take(limit).collect::<String>()).into_owned();
    if text.chars().nth(limit).is_some() {
        found.push_str("...");
    }
    found
}

/// A path on one line, whatever it holds.
fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy()).into_owned()
}

/// A text whose control characters are escaped: file names and headers may hold any.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let mut line = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character.is_control() {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    line.into()
}

fn remedy(found: u64, expected: u64) -> &'static str {
    if found < expected {
        "it is truncated, or its shape is another; copy it again, or correct the shape"
    } else {
        "it has bytes behind the array, or its shape is another; cut them off, or correct the shape"
    }
}

fn or_meant(meant: &Option<&str>) -> String {
    meant.map_or_else(String::new, |meant| format!("; did you mean .{meant}?"))
}

/// What to do about an error of the system.
fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => "change its permissions, or those of its directory",
        ErrorKind::InvalidData => "write it again as plain text",
        ErrorKind::OutOfMemory => "free some memory",
        _ => "check the path and the disk",
    }
}

/// Attaches a path and what was tried to an error of the system.
pub(super) fn io_error<'a>(
    path: &'a Path,
    action: &'static str,
) -> impl FnOnce(io::Error) -> FileError + 'a {
    move |source| FileError::Io {
        path: path.to_owned(),
        action,
        source,
    }
}

/// No room, where that is what the system says; `needed` bytes shall be there.
pub(super) fn no_room(path: &Path, needed: u64) -> impl FnOnce(io::Error) -> FileError + '_ {
    move |source| match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            FileError::DiskFull {
                path: path.to_owned(),
                needed,
                source,
            }
        }
        _ => io_error(path, "reserve its blocks")(source),
    }
}
