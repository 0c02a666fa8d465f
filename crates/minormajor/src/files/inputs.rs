//! The files that a run reads, as they were when it began.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::{FileError, io_error};
use super::journal::Work;

/// All files that a run reads. Bytes that change while they are read would make an output that
/// is of no array that there ever was.
pub(super) struct Inputs(Vec<Seen>);

/// A file as it was.
struct Seen {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Inputs {
    /// The file that is read first, or the folder.
    pub(super) fn new(path: &Path) -> Result<Inputs, FileError> {
        let meta = fs::metadata(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => FileError::Missing {
                path: path.to_owned(),
            },
            _ => io_error(path, "open it")(error),
        })?;
        Ok(Inputs(vec![Seen::new(path, &meta)]))
    }

    /// With other files.
    pub(super) fn and(mut self, paths: &[&Path]) -> Result<Inputs, FileError> {
        for path in paths {
            if self.0.iter().all(|seen| seen.path != *path) {
                let meta = fs::metadata(path).map_err(io_error(path, "open it"))?;
                self.0.push(Seen::new(path, &meta));
            }
        }
        Ok(self)
    }

    /// Says which they are.
    pub(super) fn say(&self, work: &mut Work) {
        for Seen {
            path,
            bytes,
            modified,
        } in &self.0
        {
            let whole = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            work.say("input", whole.display());
            work.say("bytes", bytes);
            let since = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
            work.say("modified", since.unwrap_or_default().as_nanos());
        }
    }

    /// Checks that nobody wrote them since.
    pub(super) fn check(&self) -> Result<(), FileError> {
        for seen in &self.0 {
            let meta =
                fs::metadata(&seen.path).map_err(io_error(&seen.path, "look at it again"))?;
            if meta.len() != seen.bytes || meta.modified().ok() != seen.modified {
                return Err(FileError::Changed {
                    path: seen.path.clone(),
                });
            }
        }
        Ok(())
    }
}

impl Seen {
    fn new(path: &Path, meta: &Metadata) -> Seen {
        Seen {
            path: path.to_owned(),
            bytes: meta.len(),
            modified: meta.modified().ok(),
        }
    }
}
