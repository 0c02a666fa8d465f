//! Files of arrays: what they hold, and moving their arrays to another layout.
//!
//! | name | holds |
//! |---|---|
//! | `NAME.npy` | NumPy's format: one array in C or Fortran order |
//! | `NAME.bin` | the bytes of one array in any layout; its shape is the text in `NAME.bin.shape` |
//!
//! Arrays stream from file to file block by block, through buffers of a bounded size, so theirs is
//! not limited by memory. Headers, and the few arrays that can't be cut into blocks, are mapped:
//! there, another process that shortens an input while it is read ends this one with a signal;
//! elsewhere it is an error.

mod at;
mod error;
mod info;
mod mover;
pub mod npy;
mod output;
mod raw;
mod relayout;
mod stream;

use std::fs::File;
use std::path::{Path, PathBuf};

use minormajor_core::plan::ByteOrder;
use minormajor_core::{ArrayShape, ElementType, Place, StridedView};
use minormajor_kernels::MappedFile;

pub use error::FileError;
use error::io_error;
pub use info::{ArrayInfo, FileInfo, inspect};
pub use mover::DEFAULT_MEMORY;
pub use relayout::{RelayoutOptions, RelayoutReport, relayout_file};

/// The formats that are known. A new one is a module that implements [`Format`], and a place
/// here.
static FORMATS: [&dyn Format; 2] = [&npy::Npy, &raw::Raw];

/// What a file format must say. It sees bytes and names; mapping, moving, reserving, renaming
/// and most errors are the same for all.
trait Format: Sync {
    /// What names of its files end in, without the dot; also the format's name.
    fn extension(&self) -> &'static str;

    /// The arrays that a file holds, checked against the file's length.
    fn read(&self, input: &Input<'_>) -> Result<Vec<Array>, FileError>;

    /// What stands around the bytes of an array in a new file at `path`; an error where the
    /// format can't hold this array.
    fn frame(&self, path: &Path, array: &Array) -> Result<Frame, FileError>;
}

/// A file to read.
struct Input<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    /// The shape that the caller says it has.
    given: Option<&'a ArrayShape>,
    /// The byte order that the caller says it has.
    order: Option<ByteOrder>,
    /// Where its elements lie, if not in a layout.
    strides: Option<&'a FileStrides>,
}

/// An array in a file.
struct Array {
    name: String,
    shape: ArrayShape,
    /// Bytes from the start of the file to the array.
    offset: usize,
    /// Where its elements lie, if not in a layout.
    view: Option<StridedView>,
    /// Little where elements have one byte.
    order: ByteOrder,
}

impl Array {
    /// What a plan is made from.
    fn place(&self) -> Place<'_> {
        match &self.view {
            Some(view) => view.into(),
            None => (&self.shape).into(),
        }
    }

    /// Its shape, where it lies in its layout.
    fn in_layout(&self) -> Option<&ArrayShape> {
        match self.view {
            Some(_) => None,
            None => Some(&self.shape),
        }
    }

    /// Its shape, without a layout where it lies in none.
    fn described(&self) -> ArrayShape {
        match self.in_layout() {
            Some(shape) => shape.clone(),
            None => self.shape.without_layout(),
        }
    }
}

/// Where the elements of an array lie in a raw file, in place of a layout.
///
/// ```
/// use minormajor::files::FileStrides;
///
/// // Rows of 3 elements of 4 bytes, every 16 bytes, behind a header of 64.
/// let rows = FileStrides { strides: vec![16, 4], offset: 64 };
/// # let _ = rows;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStrides {
    /// From an element to the next one of each dimension: in bytes, or in elements where the
    /// array's layout packs them. 0 repeats, negative walks back.
    pub strides: Vec<i64>,
    /// Where in the file the element of index 0, 0, .. begins, counted as strides are.
    pub offset: i64,
}

impl FileStrides {
    /// The array in the file.
    fn view(&self, path: &Path, shape: &ArrayShape) -> Result<StridedView, FileError> {
        StridedView::of_array(shape, &self.strides, self.offset).map_err(|source| FileError::View {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }
}

/// What stands around an array's bytes.
struct Frame {
    /// Bytes before the array.
    header: Vec<u8>,
    /// Another file that belongs to it: its path and what it holds, or nothing if it must not be
    /// there.
    beside: Option<(PathBuf, Option<Vec<u8>>)>,
}

impl Input<'_> {
    /// The file's name without its ending.
    fn stem(&self) -> String {
        self.path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// The shape that the caller gave must be the one that the file says.
    fn check_given(&self, found: &ArrayShape) -> Result<(), FileError> {
        match self.given {
            Some(given) if given != found => Err(FileError::OtherShape {
                path: self.path.to_owned(),
                given: Box::new(given.clone()),
                found: Box::new(found.clone()),
            }),
            _ => Ok(()),
        }
    }

    /// The byte order that the caller gave must be the one that the file says.
    fn check_order(&self, found: ByteOrder) -> Result<(), FileError> {
        match self.order {
            Some(given) if given != found => Err(FileError::OtherOrder {
                path: self.path.to_owned(),
                given,
                found,
            }),
            _ => Ok(()),
        }
    }

    /// A format whose arrays have no strides of their own.
    fn check_not_strided(&self, format: &'static str) -> Result<(), FileError> {
        match self.strides {
            None => Ok(()),
            Some(_) => Err(FileError::Strided {
                path: self.path.to_owned(),
                format,
            }),
        }
    }

    /// The bytes from `offset` on must be exactly those of this shape.
    fn check_length(&self, shape: &ArrayShape, offset: usize) -> Result<(), FileError> {
        let expected = allocated_bytes(self.path, shape)?;
        let found = (self.bytes.len() - offset) as u64;
        if found != expected {
            return Err(FileError::Length {
                path: self.path.to_owned(),
                shape: Box::new(shape.clone()),
                expected,
                found,
            });
        }
        Ok(())
    }
}

/// A byte order of elements; those of one byte have none.
fn order_of(element_type: ElementType, order: Option<ByteOrder>) -> ByteOrder {
    match element_type.byte_width() {
        1 => ByteOrder::Little,
        _ => order.unwrap_or_default(),
    }
}

/// Bytes that an array takes; an error for a shape without a size.
fn allocated_bytes(path: &Path, shape: &ArrayShape) -> Result<u64, FileError> {
    let bytes = shape
        .require_layout()
        .and(shape.sizes())
        .map(|_| shape.allocated_bytes());
    match bytes {
        // Never negative.
        Ok(bytes) => Ok(bytes.map_or(0, |bytes| bytes as u64)),
        Err(source) => Err(FileError::Shape {
            path: path.to_owned(),
            source: Box::new(source),
        }),
    }
}

/// The format that a name says.
fn format_of(path: &Path) -> Result<&'static dyn Format, FileError> {
    let extension = path.extension().unwrap_or_default();
    let named = FORMATS
        .iter()
        .find(|format| extension.eq_ignore_ascii_case(format.extension()));
    named.copied().ok_or_else(|| {
        let known: Vec<_> = FORMATS
            .iter()
            .map(|format| format!(".{}", format.extension()))
            .collect();
        FileError::UnknownFormat {
            path: path.to_owned(),
            known: known.join(" or "),
        }
    })
}

/// Opens an input, and maps it.
fn open_input(path: &Path) -> Result<(File, MappedFile), FileError> {
    let not_a_file = |found| FileError::NotAFile {
        path: path.to_owned(),
        found,
    };
    // Asked by name first: to open a pipe would wait for its other end.
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Err(not_a_file("a directory")),
        Ok(meta) if !meta.is_file() => return Err(not_a_file("a pipe or a device")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(FileError::Missing {
                path: path.to_owned(),
            });
        }
        _ => {}
    }
    let file = File::open(path).map_err(io_error(path, "open it"))?;
    let map = MappedFile::open_read(&file).map_err(io_error(path, "map it into memory"))?;
    Ok((file, map))
}
