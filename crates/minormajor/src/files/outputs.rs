//! The files that a run writes, and how far it has come.

use std::io::ErrorKind;

use super::error::{FileError, io_error, no_room};
use super::format::NewFile;
use super::journal::{Journal, Work};
use super::output::Output;

/// What became of what an earlier run left that was cut short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Earlier {
    /// It left nothing.
    #[default]
    Nothing,
    /// It was replaced.
    Replaced,
    /// This run went on with it.
    Resumed,
}

/// The files that a run writes. The last is the one that the user names: the only one, or the
/// index of the others. It has the journal, and the bytes that passes leave each other.
pub(super) struct Outputs {
    files: Vec<Output>,
    journal: Journal,
    earlier: Earlier,
}

impl Outputs {
    /// Makes the files, or takes up what an earlier run left of them.
    ///
    /// After `sync_bytes` of output what is done is put on the disk, every ten seconds if absent.
    pub fn create(
        new: &[NewFile],
        work: Work,
        resume: bool,
        sync_bytes: Option<u64>,
    ) -> Result<Outputs, FileError> {
        let files = new.iter().map(|new| Output::open(&new.path, &new.frame));
        let mut files = files.collect::<Result<Vec<_>, _>>()?;
        let Some(main) = files.last() else {
            unreachable!("a run writes a file")
        };
        let needed = main.length().saturating_add(work.scratch());
        let too_long = || no_room(main.path(), needed)(ErrorKind::FileTooLarge.into());
        let length = work.length(main.length()).ok_or_else(too_long)?;
        let journal = Journal::new(work, main.length(), sync_bytes).ok_or_else(too_long)?;
        if resume && !main.part().can_be_found() {
            return Err(FileError::NoLocks {
                path: main.path().to_owned(),
            });
        }
        let old = files.iter().filter(|file| file.part().is_old()).count();
        let earlier = match old {
            0 => Earlier::Nothing,
            // Those that are gone had their names already.
            old if resume
                && journal.read(main.path(), main.part().file())?
                && old == files.len() =>
            {
                Earlier::Resumed
            }
            _ => Earlier::Replaced,
        };
        let last = files.len() - 1;
        for (number, (file, new)) in files.iter_mut().zip(new).enumerate() {
            match earlier {
                Earlier::Resumed => file.go_on(),
                _ if number == last => file.begin(&new.frame, length, needed)?,
                _ => file.begin(&new.frame, new.frame.length, new.frame.length)?,
            }
        }
        if earlier != Earlier::Resumed {
            journal.begin();
        }
        Ok(Outputs {
            files,
            journal,
            earlier,
        })
    }

    pub fn files(&self) -> &[Output] {
        &self.files
    }

    /// The file that has the bytes that passes leave each other, and where they begin.
    pub fn scratch(&self) -> (&Output, u64) {
        let main = self.main();
        // It was found to fit when the journal was made.
        (
            main,
            Work::scratch_at(main.length()).unwrap_or(main.length()),
        )
    }

    fn main(&self) -> &Output {
        &self.files[self.files.len() - 1]
    }

    /// What became of what an earlier run left.
    pub fn earlier(&self) -> Earlier {
        self.earlier
    }

    /// How many blocks are done, from the first one on.
    pub fn before(&self) -> u64 {
        self.journal.before()
    }

    /// Notes that a block was written.
    pub fn done(&self, block: u64, bytes: u64) -> Result<(), FileError> {
        match self.journal.done(block, bytes) {
            false => Ok(()),
            true => self.put(false),
        }
    }

    /// Puts all that is done on the disk, if any of it ever was: where nothing is noted, nothing
    /// that is noted becomes wrong.
    pub fn save(&self) -> Result<(), FileError> {
        match self.journal.is_kept() {
            true => self.put(true),
            false => Ok(()),
        }
    }

    fn put(&self, must: bool) -> Result<(), FileError> {
        let main = self.main();
        let sync = || {
            self.files
                .iter()
                .try_for_each(|file| file.file().sync_data())
        };
        self.journal
            .save(main.file(), must, sync)
            .map_err(io_error(main.path(), "write it to the disk"))
    }

    /// Puts all on the disk, and asks the system to read it from there again.
    pub fn forget(&self) -> Result<(), FileError> {
        self.put(true)?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        for file in &self.files {
            use rustix::fs::{Advice, fadvise};
            // A hint: without it, what the system keeps is compared.
            let _ = fadvise(file.file(), 0, None, Advice::DontNeed);
        }
        Ok(())
    }

    /// Makes folders of the files that shall be one.
    pub fn pack(
        &mut self,
        new: &[NewFile],
        memory: usize,
        threads: usize,
    ) -> Result<(), FileError> {
        // A run that is killed here has nothing but this to do again.
        self.save()?;
        let kept = self.journal.is_kept();
        for (file, new) in self.files.iter_mut().zip(new) {
            if let Some(pack) = &new.frame.pack {
                file.pack(&**pack, memory, threads, kept)?;
            }
        }
        Ok(())
    }

    /// Gives the files their names.
    pub fn commit(self) -> Result<(), FileError> {
        // Most of the time goes into this, so that the journal stays until it is done.
        self.save()?;
        Output::commit_all(self.files, self.journal.is_kept())
    }
}
