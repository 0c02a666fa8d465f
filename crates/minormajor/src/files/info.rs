//! What a file holds.

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use minormajor_core::ArrayShape;
use minormajor_core::plan::ByteOrder;

use super::array::Within;
use super::input::{Bytes, open_bytes};
use super::{FileError, Input, Kind, format_of};

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileInfo {
    /// The format, as names of its files end: `npy`, `bin`.
    pub format: &'static str,
    /// The arrays, in the file's order.
    pub arrays: Vec<ArrayInfo>,
    /// Texts by name that belong to no array, in the file's order.
    pub metadata: Vec<(String, String)>,
}

/// An array in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayInfo {
    /// Its name: the file's without the ending, in formats that have no names.
    pub name: String,
    /// Its type, sizes and layout. Opaque elements are bytes, `u8`, along one more dimension, the
    /// last and most minor one.
    pub shape: ArrayShape,
    /// NumPy's description of opaque elements, as Python's text: `'<M8[ns]'`.
    pub opaque: Option<String>,
    /// The order of its elements' bytes; little where they have one, and where a raw file doesn't say.
    pub order: ByteOrder,
    /// The file that holds it, where that is another one of a set.
    pub file: Option<PathBuf>,
    /// Whether it is kept deflated.
    pub compressed: bool,
    /// Sizes of the chunks that it is kept in, one a dimension, or nothing.
    pub chunks: Vec<u64>,
    /// The names of its dimensions, or nothing; some may have none.
    pub dimension_names: Vec<Option<String>>,
    /// Bytes from the start of the file to the array, or of what it is deflated from.
    pub offset: u64,
}

/// Says what arrays a file holds. The file's length is checked; the arrays are not read.
///
/// # Errors
///
/// [`FileError`]: no such file, an unknown format, a damaged header, a length that is not that
/// of the shape, a raw file without a shape.
///
/// ```
/// use minormajor::files::{inspect, npy};
/// use minormajor::ElementType;
/// use minormajor::plan::ByteOrder;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("column.npy");
/// let mut bytes = npy::header(ElementType::U8, ByteOrder::Little, &[2, 1], false).unwrap();
/// bytes.extend([1, 2]);
/// std::fs::write(&path, bytes)?;
///
/// let info = inspect(&path)?;
/// assert_eq!((info.format, info.arrays.len()), ("npy", 1));
/// assert_eq!(info.arrays[0].name, "column");
/// assert_eq!(info.arrays[0].shape.to_string(), "u8[2,1]{1,0}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn inspect(path: impl AsRef<Path>) -> Result<FileInfo, FileError> {
    let path = path.as_ref();
    read(path, &mut *open_bytes(path)?)
}

/// Says what arrays bytes hold that are no file, or not yet: as [`inspect`] would of a file of
/// this name.
///
/// # Errors
///
/// As [`inspect`].
///
/// ```
/// use std::io::Cursor;
/// use minormajor::files::{inspect_reader, npy};
/// use minormajor::ElementType;
/// use minormajor::plan::ByteOrder;
///
/// let mut bytes = npy::header(ElementType::U8, ByteOrder::Little, &[2, 1], false).unwrap();
/// bytes.extend([1, 2]);
/// let info = inspect_reader("column.npy", Cursor::new(bytes))?;
/// assert_eq!(info.arrays[0].shape.to_string(), "u8[2,1]{1,0}");
/// # Ok::<(), minormajor::files::FileError>(())
/// ```
pub fn inspect_reader(
    name: impl AsRef<Path>,
    mut bytes: impl Read + Seek,
) -> Result<FileInfo, FileError> {
    read(name.as_ref(), &mut bytes)
}

fn read(path: &Path, bytes: &mut dyn Bytes) -> Result<FileInfo, FileError> {
    let format = format_of(path)?;
    let contents = format.read(&mut Input::new(path, bytes)?)?;
    let arrays = contents.arrays.into_iter().map(|array| ArrayInfo {
        compressed: matches!(array.within, Within::Deflated(_)),
        chunks: array.notes.chunks,
        dimension_names: array
            .notes
            .dimension_names
            .iter()
            .map(|name| name.as_str().map(str::to_owned))
            .collect(),
        file: match array.within {
            Within::Another(path) => Some(path),
            _ => None,
        },
        opaque: match array.kind {
            Kind::Opaque { descr, .. } => Some(descr),
            _ => None,
        },
        name: array.name,
        shape: array.shape,
        order: array.order,
        offset: array.offset,
    });
    Ok(FileInfo {
        format: format.extension(),
        arrays: arrays.collect(),
        metadata: contents.metadata,
    })
}
