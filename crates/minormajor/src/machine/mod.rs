//! What the machine can do: enough of it, measured, to say how long a plan will take.

mod measure;

use std::sync::LazyLock;
use std::time::Duration;

use minormajor_kernels::{Caches, Kernel, Pages};

/// A small description of a machine, from which [`Relayout::predict`](crate::Relayout::predict)
/// says how long a plan will take.
///
/// ```
/// use minormajor::{Machine, Plan, Relayout, Shape};
///
/// let rows: Shape = "f32[512,512]{1,0}".parse()?;
/// let columns: Shape = "f32[512,512]{0,1}".parse()?;
/// let transpose = Relayout::new(&Plan::new(rows.as_array()?, columns.as_array()?)?)?;
/// assert!(transpose.predict(Machine::this()).as_nanos() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    threads: usize,
    caches: Caches,
    /// By [`Level`].
    rates: [Rates; 3],
}

/// Where the bytes of a move are while it runs, source and destination together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// In the caches of one core.
    Core,
    /// In the cache that the cores share.
    Shared,
    /// In memory.
    Memory,
}

/// Nanoseconds that each kind of work takes for a byte moved, at one level, on one thread.
#[derive(Clone, Debug, Default)]
struct Rates {
    copy: f64,
    /// Of a copy on all threads together.
    copy_on_all: f64,
    /// Of whatever is fastest on all threads together.
    least_on_all: f64,
    /// Runs of 64 bytes.
    runs: f64,
    /// By the logarithm of the element's width.
    transpose: [f64; 5],
    weave: [f64; 5],
    /// One element by itself, whatever its width.
    element: f64,
    /// A position of a plan without boxes.
    position: f64,
}

/// What entering a kernel takes, in nanoseconds, beside its bytes.
const ENTRY: f64 = 8.0;
/// What starting a run on several threads takes, in nanoseconds.
const START: f64 = 20_000.0;

impl Machine {
    /// This machine, measured when it is first asked for: that takes about a second, and 128 MiB
    /// or four times the last-level cache for that while.
    pub fn this() -> &'static Machine {
        Machine::with_pages(Pages::Small)
    }

    /// This machine, for arrays in pages of a kind: [`this`](Machine::this) means small ones, as
    /// memory comes unless a program asks for others.
    pub fn with_pages(pages: Pages) -> &'static Machine {
        static SMALL: LazyLock<Machine> = LazyLock::new(|| measure::machine(Pages::Small));
        static HUGE: LazyLock<Machine> = LazyLock::new(|| measure::machine(Pages::Huge));
        match pages {
            Pages::Huge => &HUGE,
            _ => &SMALL,
        }
    }

    /// Threads that run at once.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The sizes of its caches.
    pub fn caches(&self) -> Caches {
        self.caches
    }

    /// Where so many bytes, source and destination together, are while they move.
    pub fn level(&self, bytes: usize) -> Level {
        if bytes <= self.caches.second {
            Level::Core
        } else if bytes <= self.caches.last {
            Level::Shared
        } else {
            Level::Memory
        }
    }

    /// Bytes a second that `memcpy` copies on some threads, counted once; `level` says where they
    /// are.
    pub fn copy_rate(&self, level: Level, threads: usize) -> f64 {
        1e9 / self.copy(level, threads)
    }

    /// Nanoseconds that a copy takes for a byte.
    fn copy(&self, level: Level, threads: usize) -> f64 {
        let rates = &self.rates[level as usize];
        self.between(rates.copy, rates.copy_on_all, threads)
    }

    /// Nanoseconds on some threads, from those on one and on all: the rate rises evenly.
    fn between(&self, one: f64, all: f64, threads: usize) -> f64 {
        if self.threads == 1 {
            return one;
        }
        let share = (threads.clamp(1, self.threads) - 1) as f64 / (self.threads - 1) as f64;
        1.0 / (1.0 / one + (1.0 / all - 1.0 / one) * share)
    }

    /// How long the work takes on some threads.
    pub(crate) fn time(&self, work: &Work, threads: usize) -> Duration {
        let level = self.level(work.footprint);
        let mut one = 0.0;
        let mut bytes = 0;
        for &(kernel, moved, entries) in &work.moves {
            one += self.cost(kernel, level) * moved as f64 + ENTRY * entries as f64;
            bytes += moved;
        }
        // A fill only writes: half of what a copy does.
        one += self.copy(level, 1) / 2.0 * work.filled as f64;
        bytes += work.filled / 2;
        let rates = &self.rates[level as usize];
        one += rates.position * work.positions as f64;
        let nanos = if threads <= 1 {
            one
        } else {
            // Threads share the work, but not beyond what memory gives them all.
            let least = self.between(rates.copy, rates.least_on_all, threads);
            (one / threads as f64).max(least * bytes as f64) + START
        };
        Duration::from_nanos(nanos as u64 + 30)
    }

    /// Nanoseconds for a byte.
    fn cost(&self, kernel: Kernel, level: Level) -> f64 {
        let rates = &self.rates[level as usize];
        let by_width = |width: usize| (width.trailing_zeros() as usize).min(4);
        match kernel {
            Kernel::Nothing => 0.0,
            // Runs of a page and more are copies; shorter ones lie between, evenly in the
            // logarithm.
            Kernel::Copy { run } => {
                let share = (4096.0 / run.clamp(64, 4096) as f64).log2() / 6.0;
                rates.copy + (rates.runs - rates.copy).max(0.0) * share
            }
            Kernel::Repeat { .. } => self.copy(level, 1) / 2.0,
            Kernel::Transpose { width, .. } => rates.transpose[by_width(width)],
            Kernel::Weave { width, .. } | Kernel::Gather { width, .. } => {
                rates.weave[by_width(width)]
            }
            Kernel::Strided { width } => rates.element / width as f64,
            _ => rates.element,
        }
    }
}

/// What a prepared plan does, as far as its time depends on it.
pub(crate) struct Work {
    /// Bytes of source and destination that are touched.
    pub footprint: usize,
    /// The kernel of every box, the bytes that it moves, and how often it is entered.
    pub moves: Vec<(Kernel, usize, usize)>,
    /// Bytes of padding that are written.
    pub filled: usize,
    /// Positions that are looked up one by one.
    pub positions: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let rates = |scale: f64| Rates {
            copy: 0.02 * scale,
            copy_on_all: 0.01 * scale,
            least_on_all: 0.01 * scale,
            runs: 0.04 * scale,
            transpose: [0.03 * scale; 5],
            weave: [0.05 * scale; 5],
            element: scale,
            position: 10.0,
        };
        Machine {
            threads: 5,
            caches: Caches {
                first: 32 << 10,
                second: 1 << 20,
                last: 32 << 20,
            },
            rates: [rates(1.0), rates(2.0), rates(5.0)],
        }
    }

    #[test]
    fn levels_go_by_the_caches() {
        let machine = machine();
        assert_eq!(machine.level(1 << 20), Level::Core);
        assert_eq!(machine.level((1 << 20) + 1), Level::Shared);
        assert_eq!(machine.level((32 << 20) + 1), Level::Memory);
    }

    #[test]
    fn copies_speed_up_evenly_with_threads() {
        let machine = machine();
        let rate = |threads| machine.copy_rate(Level::Memory, threads) / 1e9;
        for (threads, expected) in [(1, 10.0), (3, 15.0), (5, 20.0), (50, 20.0)] {
            assert!((rate(threads) - expected).abs() < 1e-9, "{threads} threads");
        }
    }

    #[test]
    fn times_grow_with_bytes_and_shrink_with_threads_down_to_a_copy() {
        let machine = machine();
        let bytes = 1 << 30;
        let work = Work {
            footprint: 2 * bytes,
            moves: vec![(
                Kernel::Transpose {
                    width: 4,
                    isa: "portable",
                },
                bytes,
                1,
            )],
            filled: 0,
            positions: 0,
        };
        let seconds = |threads| machine.time(&work, threads).as_secs_f64();
        assert!((seconds(1) / (0.15e-9 * bytes as f64) - 1.0).abs() < 1e-3);
        assert!(seconds(2) < seconds(1));
        // Five threads copy in 0.05 ns a byte, and transpose no faster.
        assert!((seconds(5) / (0.05e-9 * bytes as f64) - 1.0).abs() < 1e-2);
    }

    #[test]
    fn short_runs_lie_between_copies_and_the_shortest_runs() {
        let machine = machine();
        let cost = |run| machine.cost(Kernel::Copy { run }, Level::Core);
        assert_eq!((cost(64), cost(4096), cost(1 << 20)), (0.04, 0.02, 0.02));
        assert!((cost(512) - 0.03).abs() < 1e-9);
    }
}
