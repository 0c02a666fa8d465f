//! What the machine can do: enough of it, measured, to say how long a plan will take.

mod measure;
mod rates;
mod work;

use std::sync::LazyLock;
use std::time::Duration;

use minormajor_kernels::{Caches, Code, Kernel, Pages};

use rates::{BLOCK, FEW, IMAGE, LINE, LONG, Lined, PIECE, ROW, RUN, Rate, Rates, SHORT, WHOLE};
pub(crate) use work::{Moved, Work};

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

/// What entering a kernel takes, in nanoseconds, beside its bytes.
const ENTRY: f64 = 8.0;
/// What starting a run on several threads takes, in nanoseconds.
const START: f64 = 20_000.0;

impl Machine {
    /// This machine, measured when it is first asked for: that takes some seconds, and 256 MiB for
    /// that while.
    pub fn this() -> &'static Machine {
        Machine::with_pages(Pages::Small)
    }

    /// This machine, for arrays in pages of a kind: [`this`](Machine::this) means small ones, as
    /// memory comes unless a program asks for others.
    pub fn with_pages(pages: Pages) -> &'static Machine {
        static SMALL: LazyLock<Machine> = LazyLock::new(|| Machine::measured(Pages::Small));
        static HUGE: LazyLock<Machine> = LazyLock::new(|| Machine::measured(Pages::Huge));
        match pages {
            Pages::Huge => &HUGE,
            _ => &SMALL,
        }
    }

    /// This machine as it is now, which other programs may have changed since [`with_pages`](Machine::with_pages) measured it.
    ///
    /// Where the kernels are built without optimisation, as Cargo's `dev` profile has it, all is measured in the caches, and
    /// predictions of larger arrays are too short.
    ///
    /// ```no_run
    /// use minormajor::{Machine, Pages};
    /// println!("{:?}", Machine::measured(Pages::Small));
    /// ```
    pub fn measured(pages: Pages) -> Machine {
        measure::machine(pages)
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
        } else if bytes < 2 * self.caches.streams_from() {
            Level::Shared
        } else {
            Level::Memory
        }
    }

    /// Where the bytes of some work are.
    pub(crate) fn level_of(&self, work: &Work) -> Level {
        let level = self.level(work.footprint);
        if work.kept && work.footprint <= self.caches.last {
            level.min(Level::Shared)
        } else {
            level
        }
    }

    /// Bytes a second that `memcpy` copies on some threads, counted once; `level` says where they
    /// are.
    pub fn copy_rate(&self, level: Level, threads: usize) -> f64 {
        1e9 / self.copy(level, threads)
    }

    /// Nanoseconds that a copy takes for a byte.
    fn copy(&self, level: Level, threads: usize) -> f64 {
        self.on(self.rates[level as usize].copy, threads)
    }

    /// Nanoseconds on some threads: the speed rises evenly from one to all.
    fn on(&self, rate: Rate, threads: usize) -> f64 {
        if self.threads == 1 {
            return rate.one;
        }
        let share = (threads.clamp(1, self.threads) - 1) as f64 / (self.threads - 1) as f64;
        1.0 / (1.0 / rate.one + (1.0 / rate.all - 1.0 / rate.one) * share)
    }

    /// How long the work takes on some threads.
    pub(crate) fn time(&self, work: &Work, threads: usize) -> Duration {
        let threads = threads.max(1);
        let at = |level| self.nanos(work, level, threads);
        let mut nanos = match self.level_of(work) {
            Level::Memory => {
                let far = self.far(work.footprint);
                far * at(Level::Memory) + (1.0 - far) * at(Level::Shared)
            }
            level => at(level),
        };
        if threads > 1 {
            nanos += START;
        }
        Duration::from_nanos(nanos as u64 + 30)
    }

    /// The part of so many bytes, source and destination together, that is not in the shared cache once they are more than
    /// it holds: what is streamed past it leaves it to what is read. 1 where memory was measured with fewer bytes than that.
    fn far(&self, bytes: usize) -> f64 {
        let (none, all) = (2 * self.caches.streams_from(), 2 * self.caches.last);
        if all > measure::BUFFER {
            return 1.0;
        }
        let beyond = bytes.saturating_sub(none) as f64;
        (beyond / (all - none).max(1) as f64).min(1.0)
    }

    /// Nanoseconds on some threads, where all bytes are at one level.
    fn nanos(&self, work: &Work, level: Level, threads: usize) -> f64 {
        let mut nanos = 0.0;
        for moved in &work.moves {
            nanos += self.cost(moved, level, threads) * moved.bytes as f64
                + ENTRY * moved.entries as f64 / threads as f64;
        }
        // A fill only writes: half of what a copy does.
        nanos += self.copy(level, threads) / 2.0 * work.filled as f64;
        nanos + self.rates[level as usize].position * work.positions as f64 / threads as f64
    }

    /// Nanoseconds for a byte.
    fn cost(&self, moved: &Moved, level: Level, threads: usize) -> f64 {
        let rates = &self.rates[level as usize];
        let on = |rate: Rate| self.on(rate, threads);
        let by_width = |width: usize| (width.trailing_zeros() as usize).min(4);
        let lined = |rates: &Lined| on(if moved.lined { rates.on } else { rates.off });
        let written = |rates: &Lined| {
            on(if moved.written_on_lines {
                rates.on
            } else {
                rates.off
            })
        };
        match moved.kernel {
            Kernel::Nothing => 0.0,
            Kernel::Copy { run } => {
                let pieces = written(&rates.pieces);
                let together = |run: usize| {
                    if run < RUN {
                        let short = on(rates.short).max(on(rates.runs));
                        between(run, (SHORT, short), (RUN, on(rates.runs)))
                    } else if run < PIECE {
                        between(run, (RUN, on(rates.runs)), (PIECE, pieces))
                    } else {
                        doubling(run, (PIECE, pieces), (WHOLE, on(rates.long)))
                    }
                };
                // What is to be fetched from elsewhere costs each run as much.
                let far = match moved.apart {
                    true => (on(rates.apart) - together(LINE)).max(0.0),
                    false => 0.0,
                };
                let runs = together(run) + far * LINE as f64 / run as f64;
                // Reading is half of it, and done once for all that is written of it.
                runs * (1.0 + 1.0 / moved.repeated as f64) / 2.0
            }
            Kernel::Repeat { .. } => on(rates.long) / 2.0,
            Kernel::Transpose { width, .. } => {
                // Where rows are read matters little beside where they are written.
                let long = match moved.paged {
                    true => on(rates.paged[by_width(width)]),
                    false => written(&rates.transpose[by_width(width)]),
                };
                if moved.interleaves && moved.lined && BLOCK.contains(&moved.row) {
                    return long * (on(rates.blocks) / on(rates.transpose[2].on)).min(1.0);
                }
                let short = long * on(rates.rows) / on(rates.transpose[2].off);
                between(moved.row, (ROW, short.max(long)), (LONG, long))
            }
            Kernel::Weave { width, .. } => {
                let long = on(rates.weave[by_width(width)]);
                let image = (long * on(rates.images) / on(rates.weave[2])).max(long);
                match moved.row / width {
                    // Into a stage in the caches.
                    _ if moved.row == usize::MAX => long,
                    ..=FEW => doubling(moved.longer_row, (IMAGE, image), (WHOLE, long)),
                    _ => image,
                }
            }
            // So much an element.
            Kernel::Gather { width, .. } => on(rates.gather) * (4.0 / width as f64).max(0.5),
            Kernel::Rewrite { recoding, run, .. } => {
                let rewrites = match recoding.source {
                    Code::Number { .. } => &rates.numbers,
                    Code::Bits(_) => &rates.bits,
                };
                match (run, recoding.source) {
                    (Some(_), _) => on(rewrites.runs),
                    (None, Code::Bits(bits)) if recoding.source == recoding.destination => {
                        lined(&rates.packed[by_width(bits).min(2)])
                    }
                    (None, _) => on(rewrites.blocks),
                }
            }
            Kernel::Braid { .. } => on(rates.braid),
            _ => on(rates.steps),
        }
    }
}

/// What lies between two rates, of so many bytes each: what is the same for every run is shared by its bytes.
fn between(bytes: usize, short: (usize, f64), long: (usize, f64)) -> f64 {
    let of_one = |bytes: usize| 1.0 / bytes as f64;
    let share = of_one(bytes.clamp(short.0, long.0)) - of_one(long.0);
    long.1 + (short.1 - long.1) * share / (of_one(short.0) - of_one(long.0))
}

/// What lies between two rates, where every doubling of the bytes brings as much: of what is read or written in pages and
/// rows of memory, which take time to be opened.
fn doubling(bytes: usize, short: (usize, f64), long: (usize, f64)) -> f64 {
    let of_one = |bytes: usize| (bytes as f64).ln();
    let share = of_one(long.0) - of_one(bytes.clamp(short.0, long.0));
    long.1 + (short.1 - long.1) * share / (of_one(long.0) - of_one(short.0))
}

#[cfg(test)]
mod tests {
    use minormajor_kernels::Recoding;

    use super::rates::Rewrites;
    use super::*;

    fn machine() -> Machine {
        let rates = |scale: f64| {
            // Five threads are twice as fast as one.
            let rate = |one: f64| Rate {
                one: one * scale,
                all: one * scale / 2.0,
            };
            // What does not begin on lines takes half as long again.
            let lined = |one: f64| Lined {
                on: rate(one),
                off: rate(1.5 * one),
            };
            let rewrites = Rewrites {
                runs: rate(0.02),
                blocks: rate(0.03),
            };
            Rates {
                copy: rate(0.02),
                long: rate(0.02),
                pieces: lined(0.03),
                runs: rate(0.04),
                short: rate(0.08),
                apart: rate(0.1),
                transpose: [0.05, 0.04, 0.03, 0.03, 0.03].map(lined),
                paged: [0.08, 0.07, 0.06, 0.05, 0.04].map(rate),
                weave: [rate(0.05); 5],
                images: rate(0.08),
                rows: rate(0.06),
                blocks: rate(0.02),
                gather: rate(0.05),
                bits: rewrites.clone(),
                packed: [0.06, 0.05, 0.04].map(lined),
                braid: rate(0.03),
                numbers: rewrites,
                steps: rate(1.0),
                position: 10.0,
            }
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
    fn of_each_rate_the_middle_one_counts() {
        let [small, middle, large] = [1.0, 2.0, 3.0].map(|scale| {
            let mut rates = Rates::default();
            for (i, rate) in rates.all().into_iter().enumerate() {
                *rate = scale + i as f64;
            }
            rates
        });
        let expected = format!("{middle:?}");
        for mixed in [
            [small.clone(), middle.clone(), large.clone()],
            [middle.clone(), large.clone(), small.clone()],
            [large, small, middle],
        ] {
            assert_eq!(format!("{:?}", Rates::middle(mixed)), expected);
        }
    }

    /// A byte takes 0.06 in memory where rows and columns lie pages apart, and 0.03 where they don't; so twice as much as others elsewhere.
    #[test]
    fn what_lies_pages_apart_is_as_much_slower_where_it_was_not_measured() {
        let Machine { mut rates, .. } = machine();
        let memory = rates[2].clone();
        let measured = rates[1].paged[3].one;
        rates[1].paged[2] = Rate::default();
        rates[1].complete(&memory);
        let (paged, on) = (rates[1].paged[2], rates[1].transpose[2].on);
        assert!((paged.one / on.one - 2.0).abs() < 1e-9 && (paged.all / on.all - 2.0).abs() < 1e-9);
        assert_eq!(rates[1].paged[3].one, measured);
        // Where nothing was measured, as others.
        let mut none = rates[0].clone();
        none.paged = Default::default();
        let memory = none.clone();
        none.complete(&memory);
        assert_eq!(none.paged[0].one, none.transpose[0].on.one);
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

    fn moved(kernel: Kernel, row: usize) -> Moved {
        Moved {
            kernel,
            bytes: 1 << 30,
            entries: 1,
            row,
            longer_row: row,
            interleaves: false,
            apart: false,
            repeated: 1,
            paged: false,
            lined: true,
            written_on_lines: true,
        }
    }

    fn transpose(width: usize, row: usize) -> Moved {
        let isa = "portable";
        moved(Kernel::Transpose { width, isa }, row)
    }

    #[test]
    fn times_grow_with_bytes_and_shrink_with_threads() {
        let machine = machine();
        let bytes = 1 << 30;
        let work = Work {
            footprint: 2 * bytes,
            kept: false,
            moves: vec![transpose(4, 4096)],
            filled: 0,
            positions: 0,
        };
        let seconds = |threads| machine.time(&work, threads).as_secs_f64();
        assert!((seconds(1) / (0.15e-9 * bytes as f64) - 1.0).abs() < 1e-3);
        assert!(seconds(2) < seconds(1));
        assert!((seconds(5) / (0.075e-9 * bytes as f64) - 1.0).abs() < 1e-2);
    }

    #[test]
    fn what_the_shared_cache_does_not_hold_becomes_slow_by_and_by() {
        let machine = machine();
        // Nanoseconds for a byte: 0.03 in a core's caches, twice that in the shared one, five times that in memory.
        for (footprint, expected) in [
            (10 << 20, 0.06),
            ((64 << 20) / 6 + (64 << 20) / 2, 0.06 + 0.09 * 0.6),
            (64 << 20, 0.15),
            (1 << 30, 0.15),
        ] {
            let mut moved = transpose(4, 4096);
            moved.bytes = footprint / 2;
            let work = Work {
                footprint,
                kept: false,
                moves: vec![moved],
                filled: 0,
                positions: 0,
            };
            let found = machine.time(&work, 1).as_nanos() as f64 / (footprint / 2) as f64;
            assert!(
                (found / expected - 1.0).abs() < 1e-3,
                "{footprint}: {found}"
            );
        }
    }

    #[test]
    fn short_runs_and_rows_share_what_each_of_them_costs() {
        let machine = machine();
        let cost = |moved: Moved| machine.cost(&moved, Level::Core, 1);
        let runs = |run| cost(moved(Kernel::Copy { run }, run));
        assert_eq!((runs(SHORT), runs(RUN), runs(1 << 20)), (0.08, 0.04, 0.02));
        assert!((runs(2 * SHORT) - 0.0592).abs() < 5e-5);
        assert!((runs(2 * RUN) - 0.0341).abs() < 5e-5);
        // Three of six doublings from 512 bytes to 32 KiB.
        assert!((runs(PIECE) - 0.03).abs() < 1e-9 && (runs(4096) - 0.025).abs() < 1e-9);
        let beside = Moved {
            written_on_lines: false,
            ..moved(Kernel::Copy { run: PIECE }, PIECE)
        };
        assert!((cost(beside) - 0.045).abs() < 1e-9);
        // Lines apart take 0.1, and 0.0404 where they follow one another: 64 times what lies between for each run.
        let apart = |run| {
            let apart = true;
            cost(Moved {
                apart,
                ..moved(Kernel::Copy { run }, run)
            })
        };
        let of_one = 64.0 * (0.1 - runs(LINE));
        assert!((apart(LINE) - 0.1).abs() < 1e-9);
        assert!((apart(640) - runs(640) - of_one / 640.0).abs() < 1e-9);
        // What is read once and written often is as good as not read.
        let repeated = |repeated| {
            cost(Moved {
                repeated,
                ..moved(Kernel::Copy { run: 1 << 20 }, 1 << 20)
            })
        };
        assert!((repeated(4) - 0.0125).abs() < 1e-9 && (repeated(4000) - 0.01).abs() < 1e-5);
        // Rows of other elements cost as much more as those that were measured.
        let rows = |width, row| {
            let written_on_lines = false;
            cost(Moved {
                written_on_lines,
                ..transpose(width, row)
            })
        };
        assert!((rows(4, ROW) - 0.06).abs() < 1e-9 && (rows(1, ROW) - 0.10).abs() < 1e-9);
        assert!((rows(4, LONG) - 0.045).abs() < 1e-9);
        let paged = cost(Moved {
            paged: true,
            ..transpose(4, 4096)
        });
        assert!((paged - 0.06).abs() < 1e-9);
        // Images are woven the slower the shorter their rows are, and all where there are many rows.
        let isa = "portable";
        let weave = |rows, longer_row| {
            let kernel = Kernel::Weave { width: 4, isa };
            cost(Moved {
                longer_row,
                ..moved(kernel, 4 * rows)
            })
        };
        assert_eq!(
            (
                weave(3, IMAGE),
                weave(FEW, 1 << 20),
                weave(FEW + 1, 1 << 20)
            ),
            (0.08, 0.05, 0.08)
        );
        assert!((0.0651..0.0652).contains(&weave(3, 8000)));
        let isa = "portable";
        let staged = moved(Kernel::Weave { width: 4, isa }, usize::MAX);
        assert_eq!(cost(staged), 0.05);
        // On lines and one after another, a line is faster than a long row, and so is half of one.
        let blocks = |width, row| {
            let interleaves = true;
            cost(Moved {
                interleaves,
                ..transpose(width, row)
            })
        };
        assert!(
            (blocks(4, 64) - 0.02).abs() < 1e-9 && (blocks(1, 32) - 0.05 * 2.0 / 3.0).abs() < 1e-9
        );
        assert!((blocks(4, 256) - 0.03).abs() < 1e-9);
    }

    #[test]
    fn elements_that_are_written_anew_have_rates_of_their_own() {
        let machine = machine();
        let cost = |from, to, run, lined| {
            let recoding = Recoding {
                source: Code::Bits(from),
                destination: Code::Bits(to),
            };
            let isa = "portable";
            let kernel = Kernel::Rewrite { recoding, run, isa };
            let moved = Moved {
                lined,
                ..moved(kernel, usize::MAX)
            };
            machine.cost(&moved, Level::Core, 1)
        };
        let costs = [cost(4, 8, Some(99), true), cost(4, 8, None, false)];
        assert_eq!(costs, [0.02, 0.03]);
        let packed = [cost(4, 4, None, true), cost(1, 1, None, true)];
        assert_eq!(packed, [0.04, 0.06]);
        assert_eq!(cost(4, 4, None, false), 1.5 * 0.04);
    }
}
