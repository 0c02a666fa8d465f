//! Threads to run on.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads for a caller who asks for at most so many; 0 is for as many as the machine runs at
/// once.
pub(crate) fn count(asked: usize) -> usize {
    // Asked once: the answer comes from files on some systems.
    static MACHINE: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    match asked {
        0 => *MACHINE,
        threads => threads,
    }
}

/// Calls `work` with 0 on the caller's thread, and with the other numbers below `threads` on those of rayon's that come
/// before it returns: of the pool that the caller runs in, if it does. So each must do all that is left.
pub(crate) fn team(threads: usize, work: impl Fn(usize) + Sync) {
    let most = MOST_WAITING * threads.saturating_sub(1);
    minormajor_kernels::team(threads, |call| ask(call, most), work);
}

/// Calls that no thread has come for.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// The most of them for each thread that a team may have beside its caller's. A pool that has left so many alone is busy with other
/// things, and would only collect more; and so they take less than [`THREAD_HEAP`](crate::memory::THREAD_HEAP): 112 bytes each, and
/// rayon's queue 1520 for every 63, beside what the team has.
const MOST_WAITING: usize = 3;

/// Asks a thread of rayon's to make a call, where fewer than so many wait.
fn ask(call: Box<dyn FnOnce() + Send>, most: usize) {
    /// One of those that wait, also where the pool ends before it is made.
    struct Waiting;

    impl Drop for Waiting {
        fn drop(&mut self) {
            WAITING.fetch_sub(1, Ordering::Relaxed);
        }
    }

    if WAITING.load(Ordering::Relaxed) < most {
        WAITING.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting;
        rayon::spawn(move || {
            drop(waiting);
            call();
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn a_pool_that_is_busy_is_not_asked_forever() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let pool = pool.unwrap();
        let (busy, free) = (Barrier::new(2), Barrier::new(2));
        // Of so many that few of those are others', which tests beside this one may have asked for.
        let threads = 65;
        let most = MOST_WAITING * (threads - 1);
        let worked = AtomicUsize::new(0);
        pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                busy.wait();
                free.wait();
            });
            busy.wait();
            let waiting = pool.install(|| {
                for _ in 0..2 * most {
                    team(threads, |_| {
                        worked.fetch_add(1, Ordering::Relaxed);
                    });
                }
                WAITING.load(Ordering::Relaxed)
            });
            // Before anything can fail: the pool would wait for the busy one.
            free.wait();
            assert!((most..3 * most / 2).contains(&waiting), "{waiting}");
        });
        assert_eq!(worked.into_inner(), 2 * most);
        drop(pool);
        while WAITING.load(Ordering::Relaxed) >= most {
            std::thread::yield_now();
        }
    }
}
