//! How threads share a run, and telling how far it is.

use std::sync::{Mutex, PoisonError};

use minormajor_kernels::{Move, Recode, Scratch, Sequence};

use super::windows::{self, Window};
use super::{Job, Progress, Relayout, RunError};
use crate::threads::{self, team};

impl Relayout {
    /// How threads share a run whose destination has its first page where `head` says.
    pub(super) fn sharing(&self, head: impl Fn() -> usize, tells: bool) -> Sharing<'_> {
        let bytes = self.destination_bytes;
        if bytes <= SMALLEST_PART {
            // Such an array has no sequence either.
            return Sharing::Whole;
        }
        let threads = threads::count(self.threads).min(self.affordable_threads());
        let threads = if bytes < SMALLEST_SHARED {
            threads.min(1)
        } else {
            threads
        };
        let least = if threads > 1 {
            SMALLEST_PART
        } else {
            usize::MAX
        };
        let parts = (bytes / least).min(threads * PER_THREAD);
        // As many more as a caller who watches would like to see.
        let parts = parts.max(if tells { bytes / WATCHED } else { 0 });
        if let Some(sequence) = &self.sequence {
            let windows = if threads == 0 { 1 } else { parts.max(1) };
            let cuts = if windows > 1 {
                sequence.cuts(windows).count()
            } else {
                0
            };
            return Sharing::Bands {
                threads: threads.clamp(1, cuts + 1),
                sequence,
                windows,
            };
        }
        if threads == 0 {
            return Sharing::Whole;
        }
        if let Some((number, job)) = self.main_job() {
            // Windows would cut the runs that it reads.
            if parts < 2 {
                return Sharing::Whole;
            }
            let boxes = self.moves.len() + self.fills.len();
            if let Some(movement) = job.as_move() {
                let count = movement.count_parts(parts);
                let rest = if boxes > 1 {
                    self.cut(head(), bytes, threads)
                } else {
                    None
                };
                if count > 1 || boxes == 1 {
                    return Sharing::Parts {
                        main: number,
                        threads: threads.min(count),
                        parts,
                        rest,
                    };
                }
            }
            // What is beside it, as bits behind the last element, is clipped to any window.
            if let Some(recode) = job.as_recode() {
                let windows = parts.min(bytes / SMALLEST_REWRITTEN);
                let count = 1 + recode.cuts(windows).count();
                if count >= threads.max(2) {
                    return Sharing::Steps {
                        threads,
                        recode,
                        windows,
                    };
                }
            }
        }
        match self.cut(head(), bytes, threads) {
            None => Sharing::Whole,
            Some(cut) => Sharing::Windows {
                threads: threads.min(cut.count),
                cut,
            },
        }
    }

    /// The only box, where a plan is one and moves bytes as they are.
    pub(super) fn only_move(&self) -> Option<&Move> {
        match (&self.moves[..], &self.fills[..], &self.general) {
            ([job], [], None) => job.as_move(),
            _ => None,
        }
    }

    /// The box that is nearly all of a plan, and its number. Its kernel does best with the whole of it.
    pub(super) fn main_job(&self) -> Option<(usize, &Job)> {
        if self.general.is_some() {
            return None;
        }
        let boxes = self.moves.iter().enumerate();
        let (number, main) = boxes.max_by_key(|(_, job)| job.bytes())?;
        let all = self.moves.iter().chain(&self.fills).map(Job::bytes);
        (main.bytes() / 3 >= all.sum::<usize>() / 4).then_some((number, main))
    }

    /// How to cut a destination of this length, whose first page starts at `head`, if that is
    /// worth it.
    fn cut(&self, head: usize, length: usize, threads: usize) -> Option<windows::Cut> {
        if length <= windows::SMALLEST || self.unit_bytes.is_none() {
            return None;
        }
        let pieces = self.moves.len() + self.fills.len();
        windows::cut(head, length, threads, pieces, self.reach)
    }
}

/// Gives windows to threads until one fails or none is left.
pub(super) fn share<'a>(
    threads: usize,
    windows: impl Iterator<Item = Window<'a>> + Send,
    told: &Told<'_>,
    run: impl Fn(Window<'a>, &mut Scratch) -> Result<(), RunError> + Sync,
) -> Result<(), RunError> {
    // Nothing can panic while a lock is held, so none is poisoned.
    let queue = Mutex::new(windows);
    let result = Mutex::new(Ok(()));
    team(threads, |_| {
        let mut scratch = Scratch::default();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(window) = next else {
                return;
            };
            let bytes = window.bytes.len();
            if let Err(error) = run(window, &mut scratch) {
                *result.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                return;
            }
            told.more(bytes);
        }
    });
    result.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How threads share a run.
pub(super) enum Sharing<'a> {
    /// Not at all.
    Whole,
    /// By parts of the move of this number, which is nearly all there is, and then by windows of the destination for the
    /// rest, if that is worth it.
    Parts {
        main: usize,
        threads: usize,
        parts: usize,
        rest: Option<windows::Cut>,
    },
    /// By about so many windows between the bands of a sequence.
    Bands {
        threads: usize,
        sequence: &'a Sequence,
        windows: usize,
    },
    /// By about so many windows between whole iterations of the only box, whose elements are written anew.
    Steps {
        threads: usize,
        recode: &'a Recode,
        windows: usize,
    },
    /// By windows of the destination.
    Windows { threads: usize, cut: windows::Cut },
}

/// Below this many bytes a caller is done alone before a thread that sleeps has come, and only asking for it takes a third
/// of that while.
const SMALLEST_SHARED: usize = 1 << 20;

/// Below this many bytes a part costs more than it brings.
pub(super) const SMALLEST_PART: usize = 128 << 10;

/// Below this many bytes a window of elements that are written anew costs more than it brings: how they are is made anew for
/// each.
const SMALLEST_REWRITTEN: usize = 1 << 20;

/// Parts for each thread, so that the slowest holds up the others by little.
const PER_THREAD: usize = 8;

/// Bytes after which a caller who watches is told at the latest.
const WATCHED: usize = 32 << 20;

/// Tells how far a run is.
pub(crate) struct Told<'a> {
    total: u64,
    done: Mutex<u64>,
    progress: Option<Progress<'a>>,
}

impl<'a> Told<'a> {
    pub fn new(total: usize, progress: Option<Progress<'a>>) -> Told<'a> {
        Told {
            total: total as u64,
            done: Mutex::new(0),
            progress,
        }
    }

    pub fn more(&self, bytes: usize) {
        let Some(progress) = self.progress else {
            return;
        };
        if bytes > 0 {
            // Poisoned only if the caller's progress panicked, which then ends the run.
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += bytes as u64;
            progress(*done, self.total);
        }
    }
}
