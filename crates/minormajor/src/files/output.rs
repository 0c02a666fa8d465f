//! New files: written beside their place under another name, and renamed once they are whole.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use minormajor_kernels::MappedFileMut;

use same_file::Handle;

use super::Frame;
use super::at::write_all_at;
use super::error::{FileError, io_error, no_room};
use super::folder;
use super::format::Pack;
pub(super) use super::unfinished::directory_of;
use super::unfinished::{Unfinished, beside};

/// A file that is being written. Dropped before [`commit`](Output::commit), it leaves nothing.
pub(super) struct Output {
    path: PathBuf,
    part: Unfinished,
    length: u64,
    /// The file beside it, and what becomes of it: nothing if it must not be there.
    beside: Option<(PathBuf, Option<Vec<u8>>)>,
    /// The folder that takes the file's place.
    folder: Option<folder::NewFolder>,
}

impl Output {
    /// Checks whether a file can be made at `path`, as far as that can be known before: it is no
    /// directory (or one, if a folder shall take its place), none of the inputs, and its own
    /// directory is there.
    pub(super) fn check(path: &Path, inputs: &[&Path], is_folder: bool) -> Result<(), FileError> {
        let not_a_file = |found| FileError::NotAFile {
            path: path.to_owned(),
            found,
        };
        match std::fs::metadata(path) {
            Ok(meta) if is_folder && meta.is_dir() => {}
            Ok(_) if is_folder => {
                return Err(FileError::NotAFolder {
                    path: path.to_owned(),
                    found: "a file",
                });
            }
            Ok(meta) if meta.is_dir() => return Err(not_a_file("a directory")),
            Ok(meta) if !meta.is_file() => return Err(not_a_file("a pipe or a device")),
            // To rename another file to its place would go round that.
            Ok(meta) if meta.permissions().readonly() => {
                return Err(FileError::ReadOnlyOutput {
                    path: path.to_owned(),
                });
            }
            _ => {}
        }
        let directory = directory_of(path);
        if !directory.is_dir() {
            return Err(FileError::NoDirectory {
                path: path.to_owned(),
                directory: directory.to_owned(),
            });
        }
        // An error means that there is no such output yet.
        let Ok(old) = Handle::from_path(path) else {
            return Ok(());
        };
        let same = |input: &&&Path| Handle::from_path(input).is_ok_and(|input| input == old);
        match inputs.iter().find(same) {
            None => Ok(()),
            Some(input) => Err(FileError::OutputIsInput {
                path: path.to_owned(),
                input: input.to_path_buf(),
            }),
        }
    }

    /// Opens the unfinished file, which may be one that an earlier run left.
    pub(super) fn open(path: &Path, frame: &Frame) -> Result<Output, FileError> {
        if let Some((beside, Some(_))) = &frame.beside
            && beside.is_dir()
        {
            let found = "a directory";
            return Err(FileError::NotAFile {
                path: beside.clone(),
                found,
            });
        }
        Ok(Output {
            path: path.to_owned(),
            part: Unfinished::open(path)?,
            length: frame.length,
            beside: frame.beside.clone(),
            folder: None,
        })
    }

    /// Begins it, and reserves so many bytes: at least its own. Of these, `needed` are said where
    /// there is no room.
    ///
    /// Blocks are reserved before they are mapped, so that a full disk is an error here and no
    /// signal when the mapping is written. (File systems that copy on write or compress may run
    /// full later all the same.)
    pub(super) fn begin(
        &mut self,
        frame: &Frame,
        length: u64,
        needed: u64,
    ) -> Result<(), FileError> {
        let path = &self.path;
        self.part.begin().map_err(io_error(path, "begin it anew"))?;
        let file = self.part.file();
        reserve(file, length).map_err(no_room(path, needed))?;
        for (offset, piece) in &frame.pieces {
            write_all_at(file, piece, *offset).map_err(no_room(path, piece.len() as u64))?;
        }
        Ok(())
    }

    /// Takes what an earlier run left as this run's.
    pub(super) fn go_on(&mut self) {
        self.part.go_on();
    }

    /// Its unfinished file.
    pub(super) fn part(&self) -> &Unfinished {
        &self.part
    }

    /// Makes a folder of the file, which takes its place; `kept` puts it on the disk.
    pub(super) fn pack(
        &mut self,
        pack: &dyn Pack,
        memory: usize,
        threads: usize,
        kept: bool,
    ) -> Result<(), FileError> {
        let folder = folder::NewFolder::beside(&self.path)?;
        pack.pack(self.file(), folder.path(), memory, threads)?;
        if kept {
            folder::sync(folder.path()).map_err(io_error(&self.path, "write it to the disk"))?;
        }
        self.folder = Some(folder);
        Ok(())
    }

    /// The name that it will have.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that it will have.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The file itself.
    pub(super) fn file(&self) -> &File {
        self.part.file()
    }

    /// Writes what is known only now that the arrays are there.
    pub(super) fn write_checksums(&self, frame: &Frame) -> Result<(), FileError> {
        for checksum in &frame.checksums {
            checksum
                .write(self.file())
                .map_err(io_error(&self.path, "write its checksums"))?;
        }
        Ok(())
    }

    /// The whole file, to be written.
    pub(super) fn map(&self) -> Result<MappedFileMut, FileError> {
        MappedFileMut::open_write(self.file(), self.length)
            .map_err(io_error(&self.path, "map it into memory"))
    }

    /// Gives the files of a set their names, or the only one its.
    ///
    /// The last is the index of the others: so that none names files of another set, the old one
    /// goes before the first of them comes, and the new one comes when they are all there.
    /// `kept` puts all on the disk before.
    pub(super) fn commit_all(mut outputs: Vec<Output>, kept: bool) -> Result<(), FileError> {
        let Some(index) = outputs.pop() else {
            return Ok(());
        };
        for output in &outputs {
            output.shorten(kept)?;
        }
        let mut old = match outputs.is_empty() {
            true => None,
            false => set_aside(&index.path)?,
        };
        for output in outputs {
            if let Err(error) = output.commit(kept) {
                if let Some(old) = old {
                    // Already failing; the first error is the one to tell.
                    let _ = std::fs::rename(&*old, &index.path);
                }
                return Err(error);
            }
            // From here on, what it names is not what it was.
            old = None;
        }
        index.commit(kept)
    }

    /// Cuts off what is not the output's, and puts all on the disk if it is `kept`.
    fn shorten(&self, kept: bool) -> Result<(), FileError> {
        let file = self.part.file();
        let sync = |()| match kept {
            true => file.sync_all(),
            false => Ok(()),
        };
        file.set_len(self.length)
            .and_then(sync)
            .map_err(io_error(&self.path, "write it to the disk"))
    }

    /// Gives the files their names. What stood there is replaced; where it was a link, the link
    /// is.
    ///
    /// Two files can't be renamed at once. So that an array never stands beside the shape of
    /// another one, whenever this is cut short, the old shape goes first, then the new array
    /// comes, then its shape.
    fn commit(self, kept: bool) -> Result<(), FileError> {
        if let Some(folder) = self.folder {
            return folder.name(&self.path);
        }
        self.shorten(kept)?;
        let Some((place, shape)) = self.beside else {
            return self.part.name(&self.path);
        };
        let shape = shape
            .map(|bytes| write_beside(&place, &bytes, kept))
            .transpose()?;
        let old = set_aside(&place)?;
        if let Err(error) = self.part.name(&self.path) {
            if let Some(old) = old {
                // Already failing; the first error is the one to tell.
                let _ = std::fs::rename(&*old, &place);
            }
            return Err(error);
        }
        let Some(shape) = shape else {
            return Ok(());
        };
        let named = std::fs::rename(&*shape, &place);
        named.map_err(|error| {
            // Without its shape the array is no output.
            let _ = std::fs::remove_file(&self.path);
            io_error(&place, "give the finished file its name")(error)
        })
    }
}

/// A path whose file is removed at the end, if there is one.
struct Removed(PathBuf);

impl std::ops::Deref for Removed {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes the small file that belongs to an output, beside its place.
fn write_beside(place: &Path, bytes: &[u8], kept: bool) -> Result<Removed, FileError> {
    let path = Removed(beside(place, "part"));
    // Only a process that has the output's lock comes here.
    let _ = std::fs::remove_file(&*path);
    let write = File::create_new(&*path).and_then(|mut file| {
        file.write_all(bytes)?;
        match kept {
            true => file.sync_all(),
            false => Ok(()),
        }
    });
    write.map_err(no_room(place, bytes.len() as u64))?;
    Ok(path)
}

/// Moves a file out of the way, to be removed or put back; `None` if there is none.
fn set_aside(path: &Path) -> Result<Option<Removed>, FileError> {
    let aside = Removed(beside(path, "old"));
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => {
            let source = ErrorKind::IsADirectory.into();
            return Err(io_error(path, "replace it")(source));
        }
        Ok(_) => {}
        // What a run left that was cut short goes now.
        Err(_) => return Ok(None),
    }
    std::fs::rename(path, &*aside).map_err(io_error(path, "replace it"))?;
    Ok(Some(aside))
}

/// Gives a new file this length, and blocks for all of it.
pub(super) fn reserve(file: &File, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::{Errno, retry_on_intr};
        match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, length)) {
            Ok(()) => return Ok(()),
            // The file system has no such call.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            // A length beyond what the system's call takes.
            Err(Errno::INVAL) => return Err(ErrorKind::FileTooLarge.into()),
            Err(error) => return Err(error.into()),
        }
    }
    write_zeros(file, length)
}

/// Blocks for a file on systems that can't reserve them.
fn write_zeros(mut file: &File, length: u64) -> io::Result<()> {
    let zeros = vec![0; (1 << 20).min(length as usize)];
    let mut left = length;
    while left > 0 {
        let part = left.min(zeros.len() as u64);
        file.write_all(&zeros[..part as usize])?;
        left -= part;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn raw(path: &Path, array: &[u8], shape: &str) -> Output {
        let beside = path.with_extension("bin.shape");
        let frame = Frame {
            length: array.len() as u64,
            beside: Some((beside, Some(shape.into()))),
            ..Frame::default()
        };
        let mut output = Output::open(path, &frame).unwrap();
        output.begin(&frame, frame.length, frame.length).unwrap();
        output.map().unwrap().copy_from_slice(array);
        output
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_appear_when_committed_and_replace_old_ones() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.bin");
        for (array, shape) in [(&b"abc"[..], "u8[3]"), (b"", "u8[0]"), (b"abcdef", "u8[6]")] {
            let output = raw(&path, array, shape);
            assert_ne!(fs::read(&path).ok(), Some(array.to_vec()));
            output.commit(true).unwrap();
            assert_eq!(fs::read(&path).unwrap(), array);
            assert_eq!(
                fs::read(path.with_extension("bin.shape")).unwrap(),
                shape.as_bytes()
            );
            assert_eq!(names(directory.path()), ["a.bin", "a.bin.shape"]);
        }
    }

    #[test]
    fn what_is_dropped_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        drop(raw(&directory.path().join("a.bin"), b"abc", "u8[3]"));
        assert_eq!(names(directory.path()), [""; 0]);
    }

    #[test]
    fn an_array_never_stands_beside_the_shape_of_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.bin");
        let shape = directory.path().join("a.bin.shape");
        // The array can't take its place: the old shape comes back.
        let output = raw(&path, b"abc", "u8[3]");
        fs::create_dir(&path).unwrap();
        fs::write(&shape, "old").unwrap();
        assert!(matches!(output.commit(false), Err(FileError::Io { .. })));
        assert_eq!(fs::read(&shape).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["a.bin", "a.bin.shape"]);
        fs::remove_dir(&path).unwrap();
        // The shape can't take its place: nothing of the array changes.
        let output = raw(&path, b"abc", "u8[3]");
        fs::write(&path, "old").unwrap();
        fs::remove_file(&shape).unwrap();
        fs::create_dir(&shape).unwrap();
        assert!(matches!(output.commit(false), Err(FileError::Io { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["a.bin", "a.bin.shape"]);
    }

    #[test]
    fn blocks_are_reserved_either_way() {
        for reserve in [reserve, write_zeros] {
            for length in [0, 1, 5000, (3 << 20) + 7] {
                let file = tempfile::tempfile().unwrap();
                reserve(&file, length).unwrap();
                let meta = file.metadata().unwrap();
                assert_eq!(meta.len(), length);
                #[cfg(unix)]
                assert!(std::os::unix::fs::MetadataExt::blocks(&meta) * 512 >= length);
            }
        }
    }
}
