//! Files that are not whole yet: beside their place, under a name that says so, and locked.
//!
//! The name is always the same for one target, so that a later run finds what a dead one left.
//! Whoever writes the file holds the system's lock on it, which goes when the process does: a
//! file without a lock is a dead run's. Some network file systems know no locks. There the name
//! is one that nobody else has, and nothing is found again.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use flate2::Crc;
use same_file::Handle;

use super::FileError;
use super::error::{io_error, no_room};

/// A file that is being written. Dropped before it is named, it is removed, if it is ours.
#[derive(Debug)]
pub(super) struct Unfinished {
    path: PathBuf,
    file: File,
    /// Whether it holds what an earlier run left.
    old: bool,
    /// Whether the file system has locks.
    locked: bool,
    /// Whether it goes when this does. What an earlier run left stays until it is begun anew or
    /// gone on with.
    ours: bool,
}

impl Unfinished {
    /// Opens the unfinished file of a target, and locks it: a new one, or an earlier run's.
    ///
    /// # Errors
    ///
    /// [`FileError::Busy`] while another process has it.
    pub(super) fn open(target: &Path) -> Result<Unfinished, FileError> {
        let path = beside(target, "part");
        loop {
            let file = open_or_create(&path).map_err(not_writable(target))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(FileError::Busy {
                        path: target.to_owned(),
                        part: path,
                    });
                }
                Err(TryLockError::Error(error)) if has_no_locks(&error) => {
                    drop(file);
                    // Empty: without locks, nobody writes a file of this name.
                    let _ = std::fs::remove_file(&path);
                    return Unfinished::without_lock(target);
                }
                Err(TryLockError::Error(error)) => {
                    return Err(io_error(&path, "lock it")(error));
                }
            }
            // Whoever had it until now may have given it its name, or removed it.
            if !is_still(&file, &path) {
                continue;
            }
            let meta = file.metadata().map_err(io_error(&path, "open it"))?;
            if !meta.is_file() {
                let found = "no regular file, where an unfinished output would be";
                return Err(FileError::NotAFile { path, found });
            }
            return Ok(Unfinished {
                old: meta.len() > 0,
                ours: meta.len() == 0,
                locked: true,
                path,
                file,
            });
        }
    }

    fn without_lock(target: &Path) -> Result<Unfinished, FileError> {
        let mut builder = tempfile::Builder::new();
        let prefix = format!(".{}.", std::process::id());
        builder.prefix(&prefix).suffix(".minormajor-part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The system takes the bits of the umask away.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder
            .tempfile_in(directory_of(target))
            .map_err(not_writable(target))?;
        let (file, path) = file
            .keep()
            .map_err(|error| not_writable(target)(error.error))?;
        Ok(Unfinished {
            path,
            file,
            old: false,
            locked: false,
            ours: true,
        })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Whether an earlier run left it.
    pub(super) fn is_old(&self) -> bool {
        self.old
    }

    /// Whether a later run can find it.
    pub(super) fn can_be_found(&self) -> bool {
        self.locked
    }

    /// Empties it.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.ours = true;
        self.file.set_len(0)
    }

    /// Takes what an earlier run left as this run's.
    pub(super) fn go_on(&mut self) {
        self.ours = true;
    }

    /// Gives the file its name. What stood there is replaced; where it was a link, the link is.
    pub(super) fn name(mut self, target: &Path) -> Result<(), FileError> {
        std::fs::rename(&self.path, target)
            .map_err(io_error(target, "give the finished file its name"))?;
        self.ours = false;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.ours {
            // Nobody is told; the next run replaces it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A name in the target's directory that no target has: hidden, and always the same.
pub(super) fn beside(target: &Path, ending: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    let mut unfinished = OsString::from(".");
    if name.len() <= 200 {
        unfinished.push(name);
    } else {
        // Systems have room for 255 bytes.
        let mut crc = Crc::new();
        crc.update(name.as_encoded_bytes());
        let text = name.to_string_lossy();
        let start: String = text.chars().take(40).collect();
        unfinished.push(format!("{start}.{:08x}", crc.sum()));
    }
    unfinished.push(".minormajor-");
    unfinished.push(ending);
    directory_of(target).join(unfinished)
}

/// The directory that a file is in.
pub(super) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn open_or_create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A link of this name, which is nobody's unfinished file, leads to no other one.
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    }
    options.open(path)
}

fn has_no_locks(error: &io::Error) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    {
        use rustix::io::Errno;
        let code = error.raw_os_error();
        if [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::INVAL]
            .iter()
            .any(|errno| code == Some(errno.raw_os_error()))
        {
            return true;
        }
    }
    error.kind() == ErrorKind::Unsupported
}

/// Whether a name still leads to the open file.
fn is_still(file: &File, path: &Path) -> bool {
    let open = file.try_clone().and_then(Handle::from_file);
    matches!((open, Handle::from_path(path)), (Ok(open), Ok(named)) if open == named)
}

pub(super) fn not_writable(target: &Path) -> impl FnOnce(io::Error) -> FileError + '_ {
    move |source| match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => no_room(target, 0)(source),
        _ => FileError::NotWritable {
            path: target.to_owned(),
            directory: directory_of(target).to_owned(),
            source: bare(source),
        },
    }
}

/// tempfile's errors repeat the path; the system's own say only what is wrong.
fn bare(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.source());
    let code = inner
        .and_then(|inner| inner.downcast_ref::<io::Error>())
        .and_then(io::Error::raw_os_error);
    code.map_or(error, io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn one_at_a_time_has_a_target() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.npy");
        let first = Unfinished::open(&target).unwrap();
        let error = Unfinished::open(&target).unwrap_err();
        assert!(matches!(error, FileError::Busy { .. }), "{error}");
        // Another target is another file.
        Unfinished::open(&folder.path().join("b.npy")).unwrap();
        first.name(&target).unwrap();
        assert!(!Unfinished::open(&target).unwrap().is_old());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_dead_run_left_is_found_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.npy");
        fs::write(beside(&target, "part"), "half").unwrap();
        drop(Unfinished::open(&target).unwrap());
        let mut found = Unfinished::open(&target).unwrap();
        assert!(found.is_old());
        found.begin().unwrap();
        found.file().write_all(b"whole").unwrap();
        drop(found);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn long_names_have_unfinished_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let long = |end: &str| folder.path().join(format!("{}{end}.npy", "x".repeat(240)));
        let (a, b) = (beside(&long("a"), "part"), beside(&long("b"), "part"));
        assert_ne!(a, b);
        drop(Unfinished::open(&long("a")).unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn links_lead_to_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let (target, other) = (folder.path().join("a.npy"), folder.path().join("other"));
        fs::write(&other, "other").unwrap();
        std::os::unix::fs::symlink(&other, beside(&target, "part")).unwrap();
        Unfinished::open(&target).unwrap_err();
        assert_eq!(fs::read(&other).unwrap(), b"other");
    }
}
