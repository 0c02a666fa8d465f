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
    minormajor_kernels::team(threads, ask, work);
}

/// Calls that no thread has come for.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// The most of them. A pool that has left so many alone is busy with other things, and would only collect more.
const MOST_WAITING: usize = 256;

/// Asks a thread of rayon's to make a call.
fn ask(call: Box<dyn FnOnce() + Send>) {
    /// One of those that wait, also where the pool ends before it is made.
    struct Waiting;

    impl Drop for Waiting {
        fn drop(&mut self) {
            WAITING.fetch_sub(1, Ordering::Relaxed);
        }
    }

    if WAITING.load(Ordering::Relaxed) < MOST_WAITING {
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
        let worked = AtomicUsize::new(0);
        pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                busy.wait();
                free.wait();
            });
            busy.wait();
            let waiting = pool.install(|| {
                for _ in 0..2 * MOST_WAITING {
                    team(2, |_| {
                        worked.fetch_add(1, Ordering::Relaxed);
                    });
                }
                WAITING.load(Ordering::Relaxed)
            });
            // Before anything can fail: the pool would wait for the busy one.
            free.wait();
            // Tests beside this one may have asked for some at the same time.
            assert!(
                (MOST_WAITING..3 * MOST_WAITING / 2).contains(&waiting),
                "{waiting}"
            );
        });
        assert_eq!(worked.into_inner(), 2 * MOST_WAITING);
        drop(pool);
        while WAITING.load(Ordering::Relaxed) >= MOST_WAITING {
            std::thread::yield_now();
        }
    }
}
