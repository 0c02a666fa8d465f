//! Files that are read: a few bytes at a time, wherever a format asks for them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use minormajor_core::ArrayShape;
use minormajor_core::plan::ByteOrder;

use super::error::io_error;
use super::format::names_folder;
use super::{FileError, FileStrides};

/// Bytes that can be read from anywhere in them.
pub(super) trait Bytes: Read + Seek {}

impl<T: Read + Seek> Bytes for T {}

/// A file to read.
pub(super) struct Input<'a> {
    pub(super) path: &'a Path,
    bytes: &'a mut dyn Bytes,
    length: u64,
    /// The shape that the caller says it has.
    pub(super) given: Option<&'a ArrayShape>,
    /// The byte order that the caller says it has.
    pub(super) order: Option<ByteOrder>,
    /// Where its elements lie, if not in a layout.
    pub(super) strides: Option<&'a FileStrides>,
}

impl<'a> Input<'a> {
    /// A file of which the caller says nothing.
    pub(super) fn new(path: &'a Path, bytes: &'a mut dyn Bytes) -> Result<Input<'a>, FileError> {
        let length = bytes
            .seek(SeekFrom::End(0))
            .map_err(io_error(path, "read its length"))?;
        Ok(Input {
            path,
            bytes,
            length,
            given: None,
            order: None,
            strides: None,
        })
    }

    /// Bytes that the file has.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// As many bytes from `offset` on as there are, at most `limit`. What is allocated grows
    /// with what is there.
    pub(super) fn read(&mut self, offset: u64, limit: usize) -> Result<Vec<u8>, FileError> {
        self.read_into(offset, limit)
            .map_err(io_error(self.path, "read it"))
    }

    fn read_into(&mut self, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
        self.bytes.seek(SeekFrom::Start(offset))?;
        let mut read = Vec::new();
        (&mut *self.bytes)
            .take(limit as u64)
            .read_to_end(&mut read)?;
        Ok(read)
    }

    /// The file's name without its ending.
    pub(super) fn stem(&self) -> String {
        self.path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// The shape that the caller gave must be the one that the file says.
    pub(super) fn check_given(&self, found: &ArrayShape) -> Result<(), FileError> {
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
    pub(super) fn check_order(&self, found: ByteOrder) -> Result<(), FileError> {
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
    pub(super) fn check_not_strided(&self, format: &'static str) -> Result<(), FileError> {
        match self.strides {
            None => Ok(()),
            Some(_) => Err(FileError::Strided {
                path: self.path.to_owned(),
                format,
            }),
        }
    }

    /// The bytes from `offset` on, which is in the file, must be exactly those of this shape.
    pub(super) fn check_length(&self, shape: &ArrayShape, offset: u64) -> Result<(), FileError> {
        let expected = allocated_bytes(self.path, shape)?;
        let found = self.length.saturating_sub(offset);
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

/// Bytes that an array takes; an error for a shape without a size.
pub(super) fn allocated_bytes(path: &Path, shape: &ArrayShape) -> Result<u64, FileError> {
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

/// Opens an input to read its headers. Of a folder there are no bytes: its format reads what is
/// in it.
pub(super) fn open_bytes(path: &Path) -> Result<Box<dyn Bytes>, FileError> {
    if !names_folder(path) {
        return Ok(Box::new(open(path)?));
    }
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(Box::new(io::empty())),
        Ok(_) => Err(FileError::NotAFolder {
            path: path.to_owned(),
            found: "a file",
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FileError::Missing {
            path: path.to_owned(),
        }),
        Err(error) => Err(io_error(path, "open it")(error)),
    }
}

/// Opens an input.
pub(super) fn open(path: &Path) -> Result<File, FileError> {
    let not_a_file = |found| FileError::NotAFile {
        path: path.to_owned(),
        found,
    };
    // Asked by name first: to open a pipe would wait for its other end.
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Err(not_a_file("a directory")),
        Ok(meta) if !meta.is_file() => return Err(not_a_file("a pipe or a device")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(FileError::Missing {
                path: path.to_owned(),
            });
        }
        _ => {}
    }
    File::open(path).map_err(io_error(path, "open it"))
}
