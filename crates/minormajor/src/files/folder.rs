//! New folders: filled beside their place under another name, and renamed once they are whole.
//!
//! The name is always the same for one target, so that a later run clears away what a dead one left.
//! Only who has the lock of the target's unfinished file comes here.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::{FileError, io_error};
use super::unfinished::{beside, not_writable};

/// A folder that is being filled. Dropped before it is named, it is removed.
pub(super) struct NewFolder(PathBuf);

impl NewFolder {
    /// A new folder beside its target, with the permissions that any new folder gets.
    pub(super) fn beside(target: &Path) -> Result<NewFolder, FileError> {
        let folder = NewFolder(beside(target, "folder"));
        folder.clear().map_err(not_writable(target))?;
        DirBuilder::new()
            .create(&folder.0)
            .map_err(not_writable(target))?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Gives the folder its name. What stood there goes when the new one is in its place.
    pub(super) fn name(self, target: &Path) -> Result<(), FileError> {
        let named = match target.symlink_metadata() {
            Err(_) => fs::rename(&self.0, target),
            // What stood there has this one's name then, and goes with it.
            Ok(_) => exchange(&self.0, target),
        };
        named.map_err(io_error(target, "give the finished folder its name"))
    }

    /// Removes what has the name of a folder that is being filled.
    fn clear(&self) -> io::Result<()> {
        match self.0.symlink_metadata() {
            Err(_) => Ok(()),
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&self.0),
            Ok(_) => fs::remove_file(&self.0),
        }
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // Nobody is told; the next run clears it away.
        let _ = self.clear();
    }
}

/// Lets two names change what they lead to.
fn exchange(folder: &Path, target: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, folder, CWD, target, RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(()),
            // The file system has no such call.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let aside = beside(target, "old");
    let _ = fs::remove_dir_all(&aside);
    fs::rename(target, &aside)?;
    if let Err(error) = fs::rename(folder, target) {
        // Already failing; the first error is the one to tell.
        let _ = fs::rename(&aside, target);
        return Err(error);
    }
    fs::rename(&aside, folder)
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
