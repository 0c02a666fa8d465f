//! What of an unfinished file is done: so that a run that was cut short goes on where it stopped.
//!
//! A run is a list of blocks, done nearly in order by several threads. It is kept how many of
//! them, from the first one on, are done and on the disk. This stands in the unfinished file
//! itself, behind what will be the output and what passes leave each other, with a text that says
//! what the run does: only a run of the same text goes on.
//!
//! ```text
//! output, scratch, blocks that are done: u64, text, bytes of the text: u64, MARK
//! ```
//!
//! It is written only after what it speaks of is on the disk, and not at all before the first
//! time that so many bytes are done, or so much time went by. So whatever is there can be trusted,
//! after a loss of power too. A run that is done before that puts nothing on the disk: like a copy's,
//! its file goes there when the system sees fit.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::at::{read_exact_at, write_all_at};
use super::error::{FileError, io_error, one_line};

/// So often what is done is put on the disk, where nobody says after how many bytes: more often
/// would cost more than doing it again.
const EVERY: Duration = Duration::from_secs(10);

/// The last bytes of an unfinished file that has a journal.
const MARK: &[u8; 16] = b"minormajor part\n";

/// Bytes behind the text.
const END: u64 = 8 + MARK.len() as u64;

/// The longest text that is read; a run's own is as long as it is.
const MAX_TEXT: u64 = 1 << 30;

/// What a run does.
#[derive(Debug, Default)]
pub(super) struct Work {
    text: String,
    /// The bytes that passes leave each other, beside the output.
    scratch: u64,
}

impl Work {
    /// Of a run that needs so many bytes beside the output.
    pub(super) fn new(scratch: u64) -> Work {
        Work {
            text: String::new(),
            scratch,
        }
    }

    /// Says something of the run that must be the same when it goes on: what, and how it is.
    pub(super) fn say(&mut self, what: &str, how: impl std::fmt::Display) {
        let how = how.to_string();
        let how = one_line(&how);
        self.text.push_str(&format!("{what}: {how}\n"));
    }

    /// The bytes beside the output that were asked for.
    pub(super) fn scratch(&self) -> u64 {
        self.scratch
    }

    /// Bytes of the unfinished file, for an output of so many.
    pub(super) fn length(&self, output: u64) -> Option<u64> {
        self.at(output)?
            .checked_add(8 + self.text.len() as u64 + END)
    }

    /// Where the bytes beside the output begin.
    pub(super) fn scratch_at(output: u64) -> Option<u64> {
        output.checked_next_multiple_of(4096)
    }

    /// Where the journal begins.
    fn at(&self, output: u64) -> Option<u64> {
        let end = Work::scratch_at(output)?.checked_add(self.scratch)?;
        end.checked_next_multiple_of(4096)
    }
}

/// The journal of a run.
#[derive(Debug)]
pub(super) struct Journal {
    text: String,
    /// Where it begins in the unfinished file.
    at: u64,
    /// After so many bytes what is done is put on the disk; every ten seconds if absent.
    every: Option<u64>,
    done: Mutex<Done>,
    /// Held while what is done is put on the disk.
    saving: Mutex<()>,
}

/// The blocks that are done.
#[derive(Debug)]
struct Done {
    /// All before this one.
    before: u64,
    /// Those behind it: about one for each thread.
    others: Vec<u64>,
    /// Bytes written since this was put on the disk,
    bytes: u64,
    /// and when that was.
    since: Instant,
    /// Whether any of it ever was.
    begun: bool,
}

impl Done {
    fn nothing() -> Done {
        Done {
            before: 0,
            others: Vec::new(),
            bytes: 0,
            since: Instant::now(),
            begun: false,
        }
    }
}

impl Journal {
    /// Of a run that is at its beginning, and whose output has so many bytes; `None` where the
    /// whole is too long for a file.
    pub(super) fn new(work: Work, output: u64, every: Option<u64>) -> Option<Journal> {
        Some(Journal {
            at: work.at(output)?,
            text: work.text,
            every,
            done: Mutex::new(Done::nothing()),
            saving: Mutex::default(),
        })
    }

    /// Takes up what an earlier run left; whether there is something to go on with. `path` is
    /// the target.
    ///
    /// # Errors
    ///
    /// [`FileError::OtherRun`] where it was another one, and the system's.
    pub(super) fn read(&self, path: &Path, file: &File) -> Result<bool, FileError> {
        let found = read(file).map_err(io_error(path, "read what is unfinished of it"))?;
        let Some(found) = found else {
            return Ok(false);
        };
        if let Some((was, is)) = first_difference(&found.text, &self.text) {
            return Err(FileError::OtherRun {
                path: path.to_owned(),
                was,
                is,
            });
        }
        if found.at != self.at {
            return Ok(false);
        }
        let mut done = lock(&self.done);
        done.before = found.before;
        done.begun = true;
        Ok(true)
    }

    /// How many blocks are done, from the first one on.
    pub(super) fn before(&self) -> u64 {
        lock(&self.done).before
    }

    /// Forgets what was taken up.
    pub(super) fn begin(&self) {
        *lock(&self.done) = Done::nothing();
    }

    /// Whether the output must be on the disk before it gets its name: where somebody asked for it,
    /// and where the run took so long that doing it again would be a pity.
    pub(super) fn is_kept(&self) -> bool {
        self.every.is_some() || lock(&self.done).begun
    }

    /// Notes that a block was written. Whether it is time to [`save`](Journal::save).
    pub(super) fn done(&self, block: u64, bytes: u64) -> bool {
        let mut done = lock(&self.done);
        done.others.push(block);
        while let Some(next) = done.others.iter().position(|&other| other == done.before) {
            done.others.swap_remove(next);
            done.before += 1;
        }
        done.bytes += bytes;
        match self.every {
            Some(every) => done.bytes >= every,
            None => done.since.elapsed() >= EVERY,
        }
    }

    /// Writes into the unfinished file how much is done, after `sync` put that on the disk.
    /// Where another thread is at it, nothing is done, unless it `must`.
    pub(super) fn save(
        &self,
        file: &File,
        must: bool,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let _saving = match (self.saving.try_lock(), must) {
            (Ok(saving), _) => saving,
            (Err(TryLockError::Poisoned(saving)), _) => saving.into_inner(),
            (Err(TryLockError::WouldBlock), false) => return Ok(()),
            (Err(TryLockError::WouldBlock), true) => lock(&self.saving),
        };
        let mut done = lock(&self.done);
        let before = done.before;
        done.bytes = 0;
        done.since = Instant::now();
        done.begun = true;
        drop(done);
        sync()?;
        let mut journal = Vec::with_capacity(8 + self.text.len() + END as usize);
        journal.extend(before.to_le_bytes());
        journal.extend(self.text.as_bytes());
        journal.extend((self.text.len() as u64).to_le_bytes());
        journal.extend(MARK);
        write_all_at(file, &journal, self.at)
    }
}

/// What stands in an unfinished file.
struct Found {
    at: u64,
    before: u64,
    text: String,
}

/// `None` for a file that has no journal, or not a whole one.
fn read(file: &File) -> io::Result<Option<Found>> {
    let length = file.metadata()?.len();
    let Some(end) = length.checked_sub(END) else {
        return Ok(None);
    };
    let mut tail = [0; END as usize];
    read_exact_at(file, &mut tail, end)?;
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let (bytes, mark) = tail.split_at(8);
    let bytes = number(bytes);
    let start = end.checked_sub(bytes).filter(|_| bytes <= MAX_TEXT);
    let at = start.and_then(|start| start.checked_sub(8));
    let (Some(at), true) = (at, mark == MARK) else {
        return Ok(None);
    };
    let mut before = [0; 8];
    read_exact_at(file, &mut before, at)?;
    let mut text = vec![0; bytes as usize];
    read_exact_at(file, &mut text, at + 8)?;
    Ok(String::from_utf8(text).ok().map(|text| Found {
        at,
        before: number(&before),
        text,
    }))
}

/// The first lines in which two texts differ.
fn first_difference(was: &str, is: &str) -> Option<(String, String)> {
    let (mut was, mut is) = (was.lines(), is.lines());
    loop {
        match (was.next(), is.next()) {
            (None, None) => return None,
            (was, is) if was == is => {}
            (was, is) => {
                let text = |line: Option<&str>| line.unwrap_or("nothing more").to_owned();
                return Some((text(was), text(is)));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: u64 = 100;

    fn work(of: &str) -> Work {
        let mut work = Work::new(7);
        work.say("input", of);
        work
    }

    fn journal(of: &str) -> Journal {
        Journal::new(work(of), OUTPUT, Some(20)).unwrap()
    }

    fn file(of: &str) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(work(of).length(OUTPUT).unwrap()).unwrap();
        file
    }

    fn save(journal: &Journal, file: &File) {
        journal.save(file, true, || Ok(())).unwrap();
    }

    #[test]
    fn blocks_count_from_the_first_one_on() {
        let path = Path::new("a.npy");
        let (first, file) = (journal("a"), file("a"));
        assert!(!journal("a").read(path, &file).unwrap());
        for (block, before, due) in [(1, 0, false), (2, 0, true), (0, 3, true), (4, 3, true)] {
            assert_eq!(first.done(block, 10), due);
            assert_eq!(first.before(), before);
        }
        save(&first, &file);
        assert!(!first.done(5, 10));
        let again = journal("a");
        assert!(again.read(path, &file).unwrap());
        assert_eq!(again.before(), 3);
        again.done(4, 1);
        again.done(3, 1);
        save(&again, &file);
        let last = journal("a");
        assert!(last.read(path, &file).unwrap());
        assert_eq!(last.before(), 5);
        last.begin();
        assert_eq!(last.before(), 0);
    }

    #[test]
    fn only_what_was_asked_for_or_took_long_is_kept() {
        assert!(journal("a").is_kept());
        let (short, file) = (Journal::new(work("a"), OUTPUT, None).unwrap(), file("a"));
        assert!(!short.done(0, u64::MAX) && !short.is_kept());
        save(&short, &file);
        assert!(short.is_kept());
        // So is what goes on with another.
        let again = Journal::new(work("a"), OUTPUT, None).unwrap();
        assert!(again.read(Path::new("a.npy"), &file).unwrap() && again.is_kept());
        again.begin();
        assert!(!again.is_kept());
    }

    #[test]
    fn what_is_not_on_the_disk_is_not_said_to_be() {
        let path = Path::new("a.npy");
        let (first, file) = (journal("a"), file("a"));
        first.done(0, 10);
        let failed = first.save(&file, true, || Err(io::ErrorKind::StorageFull.into()));
        failed.unwrap_err();
        assert!(!journal("a").read(path, &file).unwrap());
    }

    #[test]
    fn other_runs_are_refused_and_damage_is_nothing() {
        let path = Path::new("a.npy");
        let (first, file) = (journal("a\nb"), file("a\nb"));
        save(&first, &file);
        let error = journal("b").read(path, &file).unwrap_err();
        let FileError::OtherRun { was, is, .. } = error else {
            panic!("{error}")
        };
        assert_eq!((&*was, &*is), ("input: a\\nb", "input: b"));
        let length = file.metadata().unwrap().len();
        for (at, byte) in [(length - 1, 0), (length - 18, 0xff)] {
            write_all_at(&file, &[byte], at).unwrap();
            assert!(!journal("a\nb").read(path, &file).unwrap());
            write_all_at(&file, MARK, length - 16).unwrap();
        }
        for length in [0, 10, 24] {
            file.set_len(length).unwrap();
            assert!(!journal("a").read(path, &file).unwrap());
        }
    }
}
