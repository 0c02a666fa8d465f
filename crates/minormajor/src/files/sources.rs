//! The open files that arrays are read from.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::array::{Packed, Within};
use super::error::{Damage, FileError, io_error};
use super::input::open;
use super::output::directory_of;
use super::{Array, npz};

/// Bytes of heap that inflating takes.
pub(super) const INFLATE_HEAP: usize = 256 << 10;

/// The open files that arrays are read from.
pub(super) struct Sources<'a> {
    path: &'a Path,
    /// Nothing of a folder.
    file: Option<&'a File>,
    /// Where deflated arrays are inflated: the output's directory has the room.
    scratch: &'a Path,
    arrays: &'a [Array],
    others: BTreeMap<&'a Path, File>,
    /// Of each deflated array in use, by its number.
    inflated: BTreeMap<usize, Mutex<Inflated>>,
}

/// A deflated array's bytes, while blocks of it are read.
#[derive(Default)]
struct Inflated {
    file: Option<Arc<File>>,
    /// Blocks that are done.
    done: u64,
}

/// A file to read an array from.
pub(super) enum Source<'a> {
    Open(&'a Path, &'a File),
    Inflated(&'a Path, Arc<File>),
}

impl Source<'_> {
    pub fn path(&self) -> &Path {
        match self {
            Source::Open(path, _) | Source::Inflated(path, _) => path,
        }
    }

    pub fn file(&self) -> &File {
        match self {
            Source::Open(_, file) => file,
            Source::Inflated(_, file) => file,
        }
    }
}

impl<'a> Sources<'a> {
    /// The files of all arrays in the file at `path`.
    pub fn paths(path: &'a Path, arrays: &'a [Array]) -> Vec<&'a Path> {
        let mut paths: Vec<&Path> = arrays.iter().filter_map(other).collect();
        paths.sort();
        paths.dedup();
        paths.push(path);
        paths
    }

    /// Opens what isn't open yet. What is deflated is inflated into a file without a name beside
    /// the output, when the first of its bytes are asked for.
    pub fn open(
        path: &'a Path,
        file: Option<&'a File>,
        output: &'a Path,
        arrays: &'a [Array],
    ) -> Result<Sources<'a>, FileError> {
        let mut others = BTreeMap::new();
        let mut inflated = BTreeMap::new();
        for (number, array) in arrays.iter().enumerate() {
            match &array.within {
                Within::TheFile => {}
                Within::Another(path) => {
                    if !others.contains_key(&**path) {
                        others.insert(&**path, open(path)?);
                    }
                }
                Within::Deflated(_) | Within::Packed(_) => {
                    inflated.insert(number, Mutex::default());
                }
            }
        }
        Ok(Sources {
            path,
            file,
            scratch: directory_of(output),
            arrays,
            others,
            inflated,
        })
    }

    /// The file that holds an array.
    pub fn source(&self, number: usize) -> Result<Source<'_>, FileError> {
        let array = &self.arrays[number];
        match &array.within {
            Within::TheFile => match self.file {
                Some(file) => Ok(Source::Open(self.path, file)),
                None => unreachable!("arrays of a folder are unpacked"),
            },
            Within::Another(path) => Ok(Source::Open(path, &self.others[&**path])),
            Within::Deflated(_) | Within::Packed(_) => {
                // One thread inflates, and those that want the same array wait for it.
                let mut inflated = self.lock(number);
                let file = match &inflated.file {
                    Some(file) => Arc::clone(file),
                    None => {
                        let heap = array.within.unpack_heap();
                        Arc::clone(inflated.file.insert(self.unpack(array, heap, 1)?))
                    }
                };
                Ok(Source::Inflated(self.path, file))
            }
        }
    }

    /// Says that a block of an array has been read, of so many.
    pub fn done(&self, number: usize, blocks: u64) {
        if self.inflated.contains_key(&number) {
            let mut inflated = self.lock(number);
            inflated.done += 1;
            if inflated.done == blocks {
                inflated.file = None;
            }
        }
    }

    fn lock(&self, number: usize) -> std::sync::MutexGuard<'_, Inflated> {
        self.inflated[&number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Unpacks the only array with all memory and threads, before anything else takes them.
    pub fn unpack_alone(&self, memory: usize, threads: usize) -> Result<(), FileError> {
        if let [array] = self.arrays
            && array.within.is_unpacked()
        {
            let file = self.unpack(array, memory, threads)?;
            self.lock(0).file = Some(file);
        }
        Ok(())
    }

    fn unpack(&self, array: &Array, memory: usize, threads: usize) -> Result<Arc<File>, FileError> {
        let mut file = tempfile::tempfile_in(self.scratch)
            .map_err(io_error(self.scratch, "make a file to inflate into"))?;
        let entry = match &array.within {
            Within::TheFile | Within::Another(_) => return Ok(Arc::new(file)),
            Within::Deflated(entry) => entry,
            Within::Packed(Packed(pieces)) => {
                pieces.unpack(&file, memory, threads)?;
                return Ok(Arc::new(file));
            }
        };
        // A file of its own: it has one place from which it is read.
        match npz::inflate(&open(self.path)?, entry, &mut file) {
            Ok(()) => Ok(Arc::new(file)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let expected = format!("the bytes of {:?}, deflated", array.name);
                let damage = Damage::new(entry.start, expected, error.to_string());
                Err(damage.in_file(self.path, "npz"))
            }
            Err(error) => Err(io_error(self.path, "inflate it")(error)),
        }
    }
}

fn other(array: &Array) -> Option<&Path> {
    match &array.within {
        Within::Another(path) => Some(path),
        _ => None,
    }
}
