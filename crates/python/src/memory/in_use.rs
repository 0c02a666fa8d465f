//! What threads that gave up Python's lock read and write.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use smallvec::SmallVec;

use super::Region;
use crate::error::error;

/// What threads that gave up Python's lock read and write at this moment.
static IN_USE: Mutex<Vec<InUse>> = Mutex::new(Vec::new());

/// How many they are. It becomes more only under Python's lock, so who holds that may trust a 0.
static LISTED: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Copy)]
struct InUse {
    region: Region,
    is_written: bool,
    /// Equal for all that one thread uses at once.
    by: u64,
}

/// Memory that is in [`IN_USE`] as long as this lives.
pub(super) struct Listed(u64);

impl Listed {
    /// # Errors
    ///
    /// Where another thread writes what this one reads, or touches what it writes.
    pub fn new(
        read: impl Iterator<Item = Region>,
        written: impl Iterator<Item = Region>,
        keep: bool,
    ) -> PyResult<Option<Listed>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if !keep && LISTED.load(Ordering::Acquire) == 0 {
            return Ok(None);
        }
        let by = NEXT.fetch_add(1, Ordering::Relaxed);
        let used = |is_written| {
            move |region| InUse {
                region,
                is_written,
                by,
            }
        };
        let mine = read.map(used(false)).chain(written.map(used(true)));
        let mine: SmallVec<[InUse; 8]> = mine.collect();
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let clashes = |other: &InUse| {
            mine.iter().any(|one| {
                (one.is_written || other.is_written) && one.region.overlaps(other.region)
            })
        };
        if in_use.iter().any(clashes) {
            return Err(error("another thread is moving bytes of this memory"));
        }
        Ok(keep.then(|| {
            in_use.extend(mine);
            LISTED.store(in_use.len(), Ordering::Release);
            Listed(by)
        }))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|used| used.by != self.0);
        LISTED.store(in_use.len(), Ordering::Release);
    }
}
