//! Threads to run on.

use std::sync::LazyLock;

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

/// Calls `work` with every number below `threads`, all at once, the caller's thread having 0.
/// The others are rayon's: those of the pool that the caller runs in, if it does.
pub(crate) fn team(threads: usize, work: impl Fn(usize) + Sync) {
    if threads <= 1 {
        return work(0);
    }
    rayon::in_place_scope(|scope| {
        let work = &work;
        for number in 1..threads {
            scope.spawn(move |_| work(number));
        }
        work(0);
    });
}
