//! What a file holds.

use std::path::Path;

use minormajor_core::ArrayShape;
use minormajor_core::plan::ByteOrder;

use super::{FileError, Input, format_of, open_input};

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileInfo {
    /// The format, as names of its files end: `npy` or `bin`.
    pub format: &'static str,
    /// The arrays, in the file's order.
    pub arrays: Vec<ArrayInfo>,
}

/// An array in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayInfo {
    /// Its name: the file's without the ending, in formats that have no names.
    pub name: String,
    /// Its type, sizes and layout.
    pub shape: ArrayShape,
    /// The order of its elements' bytes; little where they have one, and where a raw file doesn't say.
    pub order: ByteOrder,
    /// Bytes from the start of the file to the array.
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
    let (_, bytes) = open_input(path)?;
    let format = format_of(path)?;
    let arrays = format.read(&Input {
        path,
        bytes: &bytes,
        given: None,
        order: None,
        strides: None,
    })?;
    Ok(FileInfo {
        format: format.extension(),
        arrays: arrays
            .into_iter()
            .map(|array| ArrayInfo {
                name: array.name,
                shape: array.shape,
                order: array.order,
                offset: array.offset as u64,
            })
            .collect(),
    })
}
