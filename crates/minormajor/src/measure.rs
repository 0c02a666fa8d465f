//! How fast a relayout is here: its time beside that of `memcpy`, the same bytes between the same
//! buffers, by the same number of threads, in turns.
//!
//! Times are medians of rounds. In a round everyone has one turn, so that whatever else the machine
//! does hits all alike.
//!
//! ```
//! use minormajor::{Plan, Relayout, Shape, measure};
//!
//! let (rows, columns): (Shape, Shape) = ("f32[64,64]{1,0}".parse()?, "f32[64,64]{0,1}".parse()?);
//! let plan = Plan::new(rows.as_array()?, columns.as_array()?)?;
//! let measured = measure::relayout(&Relayout::new(&plan)?, &measure::Options::default())?;
//! println!("{} bytes, {:.2} of memcpy", measured.bytes, measured.ratio());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use minormajor_kernels::{Memory, Pages};

use crate::{Relayout, RunError};

/// How to measure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Threads of the relayout and of `memcpy`; 0, the default, for as many as the machine runs at
    /// once.
    pub threads: usize,
    /// Rounds at least: 7 unless told otherwise.
    pub rounds: usize,
    /// Rounds go on until so much time has passed: half a second unless told otherwise.
    pub patience: Duration,
    /// The pages of the buffers: huge ones unless told otherwise.
    pub pages: Pages,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: 0,
            rounds: 7,
            patience: Duration::from_millis(500),
            pages: Pages::Huge,
        }
    }
}

/// What a measurement found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Measurement {
    /// Bytes that `memcpy` copied: half of both arrays, so that both touch as much memory. It is the
    /// array's size where no side has padding; what lies between a strided view's elements does not count.
    pub bytes: usize,
    /// Threads that the relayout might use, and that `memcpy` used on all but small arrays.
    pub threads: usize,
    /// The relayout's times.
    pub relayout: Times,
    /// The times of `memcpy`.
    pub memcpy: Times,
}

impl Measurement {
    /// The median of `memcpy` over the relayout's: 1 is as fast, more is faster.
    pub fn ratio(&self) -> f64 {
        self.memcpy.median() / self.relayout.median()
    }
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The machine lacks the memory for both buffers.
    #[error(
        "the two buffers take {needed} bytes, and the machine has {available} available; choose a smaller array"
    )]
    #[allow(missing_docs)]
    Memory { needed: u64, available: u64 },
    /// The system refused memory.
    #[error("the two buffers take {needed} bytes, which the system refused: {source}")]
    #[allow(missing_docs)]
    Refused { needed: u64, source: io::Error },
    /// The relayout can't be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Measures a relayout. Both buffers are made for it, filled and touched before.
///
/// # Errors
///
/// [`MeasureError`] where the machine lacks the memory.
pub fn relayout(relayout: &Relayout, options: &Options) -> Result<Measurement, MeasureError> {
    let threads = match options.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let relayout = relayout.clone().threads(threads);
    let bytes = copied_bytes(&relayout);
    let mut buffers = Buffers::new(&relayout, options.pages)?;
    let (source, destination) = buffers.parts();
    relayout.run(source, destination)?;

    // Both take turns on the one destination.
    let mut run = repeated(|destination: &mut [u8]| {
        // The first run has shown that it can't fail.
        let _ = relayout.run(black_box(source), destination);
    });
    let mut copy = copies(&source[..bytes], threads);
    let times = interleave(options.rounds, options.patience, 2, |turn| match turn {
        0 => copy(&mut destination[..bytes]),
        _ => run(destination),
    });
    let [memcpy, moved] = <[Times; 2]>::try_from(times).unwrap_or_default();
    Ok(Measurement {
        bytes,
        threads,
        relayout: moved,
        memcpy,
    })
}

/// Half of the bytes of both arrays: [`Relayout::array_bytes`].
pub fn copied_bytes(relayout: &Relayout) -> usize {
    let [source, destination] = relayout.array_bytes();
    source / 2 + destination / 2 + (source % 2 + destination % 2) / 2
}

/// A source and a destination, large enough for a relayout and for the copy beside it. Every page
/// was written.
#[derive(Debug)]
pub struct Buffers {
    source: Memory,
    destination: Memory,
}

impl Buffers {
    /// Makes, fills and touches them.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Memory`] and [`MeasureError::Refused`].
    pub fn new(relayout: &Relayout, pages: Pages) -> Result<Buffers, MeasureError> {
        let copied = copied_bytes(relayout);
        let lengths = [relayout.source_bytes(), relayout.destination_bytes()];
        let lengths = lengths.map(|length| length.max(copied));
        let needed = lengths.map(|length| length as u64).iter().sum();
        if let Some(available) = available_memory().filter(|&available| available < needed) {
            return Err(MeasureError::Memory { needed, available });
        }
        let make = |length| {
            Memory::zeroed_on(pages, length)
                .map_err(|source| MeasureError::Refused { needed, source })
        };
        let [mut source, mut destination] = [make(lengths[0])?, make(lengths[1])?];
        fill(&mut source);
        destination.fill(1);
        Ok(Buffers {
            source,
            destination,
        })
    }

    /// The source, and the destination to write.
    pub fn parts(&mut self) -> (&[u8], &mut [u8]) {
        (&self.source, &mut self.destination)
    }
}

/// Fills a buffer with words no two of which are equal: the same ones every time. With k =
/// 0x9e3779b97f4a7c15, word n of 8 little-endian bytes is (n + 1) k, exclusive-or the same shifted
/// down by 29 bits; the last one is cut where the buffer ends.
pub fn fill(buffer: &mut [u8]) {
    for (number, word) in buffer.chunks_mut(8).enumerate() {
        // An odd factor and a shift down are both permutations of all words.
        let product = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bytes = (product ^ (product >> 29)).to_le_bytes();
        word.copy_from_slice(&bytes[..word.len()]);
    }
}

/// Bytes that programs can have without others losing theirs, where the system tells.
fn available_memory() -> Option<u64> {
    let table = fs::read_to_string("/proc/meminfo").ok()?;
    let line = table
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Seconds, one number a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// In rising order.
    sorted: Vec<f64>,
}

impl Times {
    /// Times in any order.
    pub fn new(mut seconds: Vec<f64>) -> Times {
        seconds.sort_by(f64::total_cmp);
        Times { sorted: seconds }
    }

    /// The rounds.
    pub fn rounds(&self) -> usize {
        self.sorted.len()
    }

    /// The median, in seconds; not a number where there was no round.
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// The quartiles below and above the median, in seconds: half of the rounds lie between them.
    pub fn quartiles(&self) -> [f64; 2] {
        [self.at(0.25), self.at(0.75)]
    }

    /// The time below which this part of the rounds lies, between two rounds in proportion.
    fn at(&self, part: f64) -> f64 {
        let Some(last) = self.sorted.len().checked_sub(1) else {
            return f64::NAN;
        };
        let place = part * last as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        let share = place - below as f64;
        self.sorted[below] * (1.0 - share) + self.sorted[above] * share
    }
}

/// Gives `count` contestants a turn each in every round, until there were so many rounds and so
/// much time has passed. `turn` takes the contestant's number and returns its seconds. Whoever
/// follows another is another one in the next round.
pub fn interleave(
    rounds: usize,
    patience: Duration,
    count: usize,
    mut turn: impl FnMut(usize) -> f64,
) -> Vec<Times> {
    /// No median needs more.
    const MOST: usize = 1001;
    let start = Instant::now();
    let mut seconds = vec![Vec::new(); count];
    for round in 0.. {
        if round >= rounds.max(1) && (round >= MOST || start.elapsed() >= patience) {
            break;
        }
        for place in 0..count {
            // Forwards in one round and backwards in the next.
            let number = if round % 2 == 0 {
                place
            } else {
                count - 1 - place
            };
            seconds[number].push(turn(number));
        }
    }
    seconds.into_iter().map(Times::new).collect()
}

/// What a reading of the clock should span at least, so that the clock's own time is no part of it.
const READING: Duration = Duration::from_micros(50);

/// What takes less than this is called [`WARM`] times before the clock starts: caches hold what its own last call left there, not
/// another's whose turn it was, and threads are awake. What takes longer has long forgotten how it began.
const BRIEF: Duration = Duration::from_millis(2);

/// One call does not displace from a cache all that others have used more often.
const WARM: usize = 4;

/// Seconds that one call of `run` takes, from as many calls as a readable time needs: how many
/// that is, the first reading finds out.
///
/// From the second time on, a call of less than two milliseconds follows four that are not timed: of several that take turns,
/// none finds its memory farther away than others do because of whom it follows.
pub fn repeated<T: ?Sized>(mut run: impl FnMut(&mut T)) -> impl FnMut(&mut T) -> f64 {
    let mut count = 0;
    let mut last = BRIEF;
    move |on| {
        if last < BRIEF {
            (0..WARM).for_each(|_| run(black_box(&mut *on)));
        }
        let mut read = |count: usize| {
            let start = Instant::now();
            for _ in 0..count {
                run(black_box(&mut *on));
            }
            start.elapsed()
        };
        let mut elapsed = read(count.max(1));
        if count == 0 {
            count = 1;
            while elapsed < READING && count < 1 << 20 {
                count *= 2;
                elapsed = read(count);
            }
        }
        last = elapsed / count as u32;
        elapsed.as_secs_f64() / count as f64
    }
}

/// Seconds that `memcpy` takes from `source` to a destination of as many bytes, by this number of
/// threads, or by fewer where there is too little for each.
///
/// The threads are ready before the clock starts, so that it is the time of copying alone. As in [`repeated`], what is brief
/// follows some that are not timed.
pub fn copies(source: &[u8], threads: usize) -> impl FnMut(&mut [u8]) -> f64 {
    /// Below this a second thread's start costs more than it brings.
    const PER_THREAD: usize = 128 << 10;
    let threads = threads.min(source.len() / PER_THREAD).max(1);
    let mut alone = repeated(move |destination: &mut [u8]| {
        destination.copy_from_slice(black_box(source));
    });
    move |destination| match threads {
        1 => alone(destination),
        _ => {
            let mut seconds = copy_together(source, destination, threads);
            if seconds < BRIEF.as_secs_f64() {
                for _ in 0..WARM {
                    seconds = copy_together(source, destination, threads);
                }
            }
            seconds
        }
    }
}

fn copy_together(source: &[u8], destination: &mut [u8], threads: usize) -> f64 {
    const PAGE: usize = 4096;
    let part = source.len().div_ceil(threads).next_multiple_of(PAGE);
    let mut parts = source.chunks(part).zip(destination.chunks_mut(part));
    let own = parts.next();
    // Every other thread says that it is ready, waits for the start, and says that it is done.
    let (ready, started, done) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let wait = |counter: &AtomicUsize, until: usize| {
        let mut turns = 0u32;
        while counter.load(Ordering::Acquire) < until {
            turns += 1;
            // On a machine with fewer cores than threads the others must get theirs.
            if turns.is_multiple_of(1 << 10) {
                thread::yield_now();
            }
            spin_loop();
        }
    };
    thread::scope(|scope| {
        let mut others = 0;
        for (from, to) in parts {
            let (ready, started, done) = (&ready, &started, &done);
            scope.spawn(move || {
                ready.fetch_add(1, Ordering::Release);
                wait(started, 1);
                to.copy_from_slice(from);
                done.fetch_add(1, Ordering::Release);
            });
            others += 1;
        }
        wait(&ready, others);
        let start = Instant::now();
        started.store(1, Ordering::Release);
        if let Some((from, to)) = own {
            to.copy_from_slice(from);
        }
        wait(&done, others);
        start.elapsed().as_secs_f64()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, Plan, Shape, StridedView};

    fn prepared(from: &str, to: &str) -> Relayout {
        let [from, to] = [from, to].map(|text| text.parse::<Shape>().unwrap());
        Relayout::new(&Plan::new(from.as_array().unwrap(), to.as_array().unwrap()).unwrap())
            .unwrap()
    }

    #[test]
    fn medians_and_quartiles() {
        let times = Times::new(vec![3.0, 1.0, 2.0, 5.0, 4.0]);
        assert_eq!(
            (times.median(), times.quartiles(), times.rounds()),
            (3.0, [2.0, 4.0], 5)
        );
        let times = Times::new(vec![4.0, 1.0, 2.0, 3.0]);
        assert_eq!((times.median(), times.quartiles()), (2.5, [1.75, 3.25]));
        assert!(Times::default().median().is_nan());
    }

    #[test]
    fn rounds_are_as_many_as_asked_and_all_take_turns() {
        let mut order = Vec::new();
        let times = interleave(3, Duration::ZERO, 2, |turn| {
            order.push(turn);
            turn as f64
        });
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
        assert_eq!(times, [Times::new(vec![0.0; 3]), Times::new(vec![1.0; 3])]);
        let patient = interleave(1, Duration::from_millis(20), 1, |_| {
            thread::sleep(Duration::from_millis(1));
            0.0
        });
        assert!((2..=20).contains(&patient[0].rounds()));
    }

    #[test]
    fn what_is_brief_is_called_before_the_clock_starts() {
        let mut timed = repeated(|calls: &mut usize| *calls += 1);
        let mut turns = [0; 3];
        for calls in &mut turns {
            assert!(timed(calls) > 0.0);
        }
        // The first finds how often it must be called.
        let [_, second, third] = turns;
        assert!(
            (second - WARM).is_power_of_two() && second == third,
            "{turns:?}"
        );
        // A sleep may take longer, but no less.
        let mut timed = repeated(|calls: &mut usize| {
            *calls += 1;
            thread::sleep(BRIEF);
        });
        let mut turns = [0; 3];
        for calls in &mut turns {
            assert!(timed(calls) >= BRIEF.as_secs_f64());
        }
        assert_eq!(turns, [1; 3]);
    }

    #[test]
    fn copies_are_whole_by_any_number_of_threads() {
        let mut source = vec![0; (1 << 20) + 4097];
        fill(&mut source);
        for (threads, length) in [
            (1, 0),
            (2, 0),
            (1, 100),
            (7, 100),
            (2, 1 << 20),
            (5, source.len()),
        ] {
            let mut copy = copies(&source[..length], threads);
            let mut destination = vec![0; length];
            let seconds = copy(&mut destination);
            assert!((0.0..10.0).contains(&seconds), "{seconds}");
            assert!(destination == source[..length], "{threads}, {length}");
        }
    }

    #[test]
    fn a_measurement_counts_what_both_sides_take() {
        let options = Options {
            threads: 2,
            patience: Duration::ZERO,
            ..Options::default()
        };
        for (from, to, bytes) in [
            ("f32[5,7]", "f32[5,7]{0,1}", 140),
            ("u8[3,5]", "u8[3,5]{0,1:PAD(4,6)}", 19),
            ("f32[700,900]", "f32[700,900]{0,1}", 2_520_000),
            ("f32[0,3]", "f32[0,3]{0,1}", 0),
        ] {
            let found = relayout(&prepared(from, to), &options).unwrap();
            assert_eq!((found.bytes, found.threads), (bytes, 2), "{from}");
            assert_eq!((found.relayout.rounds(), found.memcpy.rounds()), (7, 7));
            assert!(found.relayout.median() > 0.0 && found.memcpy.median() > 0.0);
            assert!(found.ratio() > 0.0);
        }
    }

    #[test]
    fn what_lies_between_elements_is_not_copied() {
        let view =
            |strides: &[i64]| StridedView::new(ElementType::F32, &[40, 30], strides, 8).unwrap();
        let rows: Shape = "f32[40,30]".parse().unwrap();
        let (wide, none) = (view(&[256, 8]), view(&[0, 4]));
        for (plan, bytes) in [
            (Plan::new(&wide, rows.as_array().unwrap()), 4800),
            (Plan::new(&none, &wide), 4800),
        ] {
            let relayout = Relayout::new(&plan.unwrap()).unwrap();
            let options = Options {
                patience: Duration::ZERO,
                ..Options::default()
            };
            assert_eq!(super::relayout(&relayout, &options).unwrap().bytes, bytes);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn too_little_memory_is_an_error() {
        let huge = prepared("u8[1048576,1048576,64]", "u8[1048576,1048576,64]{0,1,2}");
        let error = relayout(&huge, &Options::default()).unwrap_err();
        assert!(
            matches!(error, MeasureError::Memory { needed, .. } if needed == 1 << 47),
            "{error}"
        );
    }
}
