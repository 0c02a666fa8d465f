//! Threads with scratch.

use std::cell::RefCell;
use std::sync::Mutex;

use minormajor_kernels::Crew;

use super::InPlaceError;
use crate::threads::team;

/// The scratch of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scratch {
    /// On its stack, in one of few sizes: what is small costs little to clear.
    Small,
    Medium,
    Large,
    /// So many bytes of heap.
    Heap(usize),
}

const SMALL: usize = 512;
const MEDIUM: usize = 8 << 10;

impl Scratch {
    /// The most bytes of scratch on a stack.
    pub const STACK: usize = 64 << 10;

    pub fn of(bytes: usize) -> Scratch {
        if bytes <= SMALL {
            Scratch::Small
        } else if bytes <= MEDIUM {
            Scratch::Medium
        } else if bytes <= Scratch::STACK {
            Scratch::Large
        } else {
            Scratch::Heap(bytes)
        }
    }

    pub fn heap(self) -> usize {
        match self {
            Scratch::Heap(bytes) => bytes,
            _ => 0,
        }
    }

    pub fn stack(self) -> usize {
        match self {
            Scratch::Small => SMALL,
            Scratch::Medium => MEDIUM,
            Scratch::Large => Scratch::STACK,
            Scratch::Heap(_) => 0,
        }
    }

    /// Calls `run` with a crew of so many threads, each with scratch of this kind.
    pub fn with_crew(
        self,
        threads: usize,
        run: impl FnOnce(Crew<'_>) -> Result<(), InPlaceError>,
    ) -> Result<(), InPlaceError> {
        let Scratch::Heap(bytes) = self else {
            return run(&|work| team(threads, |_| self.on_stack(work)));
        };
        let mut all = allocate(bytes * threads)?;
        if threads == 1 {
            return alone(&mut all, run);
        }
        // Each thread has the same part in every step.
        let parts: Vec<_> = all.chunks_mut(bytes).map(Mutex::new).collect();
        run(&|work| {
            team(threads, |number| {
                if let Ok(mut scratch) = parts[number].lock() {
                    work(&mut scratch);
                }
            })
        })
    }

    fn on_stack(self, work: &(dyn Fn(&mut [u8]) + Sync)) {
        /// A stack frame of its own, so that small scratch takes a small one.
        #[inline(never)]
        fn with<const N: usize>(work: &(dyn Fn(&mut [u8]) + Sync)) {
            work(&mut [0; N]);
        }
        match self {
            Scratch::Small => with::<SMALL>(work),
            Scratch::Medium => with::<MEDIUM>(work),
            _ => with::<{ Scratch::STACK }>(work),
        }
    }
}

/// Does something alone, with the scratch of a thread.
pub(super) fn alone<T>(scratch: &mut [u8], run: impl FnOnce(Crew<'_>) -> T) -> T {
    let scratch = RefCell::new(scratch);
    run(&|work| {
        if let Ok(mut scratch) = scratch.try_borrow_mut() {
            work(&mut scratch);
        }
    })
}

/// Zeroed bytes, or an error where there are none.
pub(super) fn allocate(bytes: usize) -> Result<Vec<u8>, InPlaceError> {
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(bytes)
        .map_err(|_| InPlaceError::NoScratch { bytes })?;
    memory.resize(bytes, 0);
    Ok(memory)
}
