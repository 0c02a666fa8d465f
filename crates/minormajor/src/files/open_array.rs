//! One array of a file, whatever the file is: its bytes to be read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::FileError;
use super::format::names_folder;
use super::input::{open, open_bytes};
use super::mover::FilePlace;
use super::sources::{Source, Sources};
use super::{DEFAULT_MEMORY, Input, format_of};

/// An array of a file, open to read its bytes: as they lie there or, where they are deflated or in chunks,
/// unpacked into a file without a name in the system's folder for temporary files.
///
/// [`inspect`](super::inspect) says what they are: the shape with its layout, and the byte order.
#[derive(Debug)]
pub struct OpenArray {
    path: PathBuf,
    file: Arc<File>,
    offset: u64,
    bytes: u64,
}

impl OpenArray {
    /// The array of this name; `None` where the file has none. As many threads unpack it as the machine
    /// runs at once, or so many.
    ///
    /// # Errors
    ///
    /// [`FileError`], of a file that can't be read or unpacked.
    ///
    /// ```
    /// use minormajor::files::{MemoryArray, OpenArray, RelayoutOptions, save_arrays};
    /// use minormajor::{Shape, plan::ByteOrder};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("x.safetensors");
    /// let shape: Shape = "u8[2,3]".parse()?;
    /// let array = MemoryArray::new("a", shape.as_array()?, ByteOrder::Little, b"abcdef");
    /// save_arrays(&path, &[array], &RelayoutOptions::default())?;
    /// let array = OpenArray::open(&path, "a", None)?.expect("it was written");
    /// let mut bytes = vec![0; array.bytes() as usize];
    /// array.read_into(&mut bytes)?;
    /// assert_eq!(bytes, b"abcdef");
    /// assert!(OpenArray::open(&path, "b", None)?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(
        path: impl AsRef<Path>,
        name: &str,
        threads: Option<usize>,
    ) -> Result<Option<OpenArray>, FileError> {
        let path = path.as_ref();
        let mut bytes = open_bytes(path)?;
        let contents = format_of(path)?.read(&mut Input::new(path, &mut *bytes)?)?;
        let Some(array) = contents.arrays.into_iter().find(|array| array.name == name) else {
            return Ok(None);
        };
        let file = match names_folder(path) {
            true => None,
            false => Some(open(path)?),
        };
        let (offset, length) = (array.offset, array.bytes());
        let scratch = std::env::temp_dir().join("minormajor");
        let arrays = [array];
        let sources = Sources::open(path, file.as_ref(), &scratch, &arrays)?;
        sources.unpack_alone(DEFAULT_MEMORY, threads.unwrap_or(0))?;
        let (path, file) = match sources.source(0)? {
            Source::Open(path, file) => {
                let file = file.try_clone();
                let file = file.map_err(super::error::io_error(path, "open it"))?;
                (path.to_owned(), Arc::new(file))
            }
            Source::Inflated(path, file) => (path.to_owned(), file),
        };
        Ok(Some(OpenArray {
            path,
            file,
            offset,
            bytes: length,
        }))
    }

    /// How many bytes the array has, padding included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the first bytes, as many as there is room for.
    ///
    /// # Errors
    ///
    /// [`FileError`]: what the system says, or that the file has become shorter.
    pub fn read_into(&self, bytes: &mut [u8]) -> Result<(), FileError> {
        let place = FilePlace {
            path: &self.path,
            file: &self.file,
            offset: self.offset,
        };
        place.read(bytes, 0)
    }
}
