//! New folders: filled beside their place under another name, and renamed once they are whole.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::error::{FileError, io_error};
use super::unfinished::{bare, directory_of};

/// A new folder beside `path`, with the permissions that any new folder gets.
pub(super) fn temporary(path: &Path) -> Result<TempDir, FileError> {
    let directory = directory_of(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".minormajor-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    builder
        .tempdir_in(directory)
        .map_err(|source| FileError::NotWritable {
            path: path.to_owned(),
            directory: directory.to_owned(),
            source: bare(source),
        })
}

/// Gives a folder its name. What stood there goes when the new one is in its place.
pub(super) fn replace(folder: TempDir, path: &Path) -> Result<(), FileError> {
    let is_there = path.symlink_metadata().is_ok();
    let old = match is_there {
        false => None,
        true => {
            let aside = temporary(path)?;
            fs::rename(path, aside.path().join("old")).map_err(io_error(path, "replace it"))?;
            Some(aside)
        }
    };
    if let Err(error) = fs::rename(folder.path(), path) {
        if let Some(old) = old {
            // Already failing; the first error is the one to tell.
            let _ = fs::rename(old.path().join("old"), path);
        }
        return Err(io_error(path, "give the finished folder its name")(error));
    }
    // It has another name now, and under the old one there is nothing to remove.
    let _ = folder.keep();
    Ok(())
}

/// Puts all that is in a folder on the disk.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    // One call for all of the file system, where thousands of files would take one each.
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

/// Puts all that is in a folder on the disk.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => sync(&path)?,
            false => File::open(&path)?.sync_all()?,
        }
    }
    Ok(())
}
