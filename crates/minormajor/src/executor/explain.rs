//! What a prepared plan will do, why, and how long it will take.

use std::fmt;
use std::time::Duration;

use minormajor_core::sizes;
use minormajor_kernels::Kernel;

use super::job::Job;
use super::{Relayout, Sharing};
use crate::machine::{Level, Machine, Moved, Work};
use crate::memory::ExtraMemory;

/// How a plan will run on a machine: what was chosen, why, and what is to be expected.
///
/// Its text has a line for each choice.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// Bytes of source and destination that are touched.
    pub footprint: usize,
    /// Where they are while they move.
    pub level: Level,
    /// Threads that share the work.
    pub threads: usize,
    /// Parts of the box, or windows of the destination, that threads take in turn.
    pub parts: usize,
    /// The boxes that are moved.
    pub boxes: Vec<ExplainedBox>,
    /// How boxes and padding that interleave are moved together, if they are.
    pub bands: Option<ExplainedBands>,
    /// Bytes of padding that are written.
    pub filled: usize,
    /// Memory beside the two buffers.
    pub extra: ExtraMemory,
    /// How long it will take.
    pub predicted: Duration,
    /// How long `memcpy` of as many bytes would take, on as many threads.
    pub copy: Duration,
    machine: Machine,
}

/// Boxes and padding that are moved together: band by band of the destination, all that lies in one before the next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExplainedBands {
    /// How many bands there are.
    pub count: usize,
    /// Bytes of the destination of the largest one.
    pub largest: usize,
    /// Whether what they write is put together in the caches first, as where boxes share lines.
    pub staged: bool,
    /// Whether they are written past the caches.
    pub streams: bool,
}

/// What moves a box.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExplainedBox {
    /// The kernel.
    pub kernel: Kernel,
    /// The bytes that it moves: half of those that it reads and writes.
    pub bytes: usize,
    /// How often it is entered where it is moved by itself: the iterations of the loops around it.
    pub entries: usize,
    /// Whether it writes past the caches.
    pub streams: bool,
}

impl Relayout {
    /// How long a run takes on a machine, on as many threads as it will use.
    ///
    /// Above the last-level cache most predictions are within a quarter of the truth; small arrays
    /// depend on more than this knows.
    pub fn predict(&self, machine: &Machine) -> Duration {
        let run = self.shape_of_run();
        machine.time(&self.work(&run), run.threads)
    }

    /// What a run does on a machine, and why.
    ///
    /// ```
    /// use minormajor::{Machine, Plan, Relayout, Shape};
    ///
    /// let rows: Shape = "f32[256,256]{1,0}".parse()?;
    /// let columns: Shape = "f32[256,256]{0,1}".parse()?;
    /// let transpose = Relayout::new(&Plan::new(rows.as_array()?, columns.as_array()?)?)?;
    /// let explanation = transpose.explain(Machine::this());
    /// assert!(explanation.to_string().contains("transpose 4-byte"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, machine: &Machine) -> Explanation {
        let run = self.shape_of_run();
        let work = self.work(&run);
        let ShapeOfRun { threads, parts, .. } = run;
        let level = machine.level_of(&work);
        let boxes = self
            .moves
            .iter()
            .enumerate()
            .map(|(number, job)| ExplainedBox {
                kernel: job.kernel(),
                bytes: job.bytes(),
                entries: job.entries(),
                streams: self.streams(number, &run),
            });
        Explanation {
            footprint: work.footprint,
            level,
            threads,
            parts,
            boxes: boxes.collect(),
            bands: self.sequence.as_ref().map(|sequence| {
                let bands = sequence.bands();
                ExplainedBands {
                    count: bands.count,
                    largest: bands.largest,
                    staged: sequence.is_staged(),
                    streams: sequence.streams(),
                }
            }),
            filled: work.filled,
            extra: self.extra_memory(),
            predicted: machine.time(&work, threads),
            copy: Duration::from_secs_f64(
                work.footprint as f64 / 2.0 / machine.copy_rate(level, threads),
            ),
            machine: machine.clone(),
        }
    }

    fn work(&self, run: &ShapeOfRun) -> Work {
        // What is staged shares the lines of the destination with what is beside it, and is moved in the caches.
        let staged = self.sequence.as_ref().is_some_and(|s| s.is_staged());
        let moves = self.moves.iter();
        let moves: Vec<_> = moves
            .map(|job| Moved {
                kernel: job.kernel(),
                bytes: if staged { job.bytes() } else { job.touched() },
                entries: if staged { 1 } else { job.entries() },
                row: if staged { usize::MAX } else { job.row() },
                longer_row: job.longer_row(),
                interleaves: job.interleaves(),
                apart: job.is_apart(),
                repeated: job.repeated(),
                paged: job.is_paged(),
                lined: job.lined(),
                written_on_lines: job.written_on_lines(),
            })
            .collect();
        let moved: usize = moves.iter().map(|moved| moved.bytes).sum();
        let filled = self.fills.iter().map(Job::bytes).sum();
        let positions = self
            .general
            .as_ref()
            .map_or(0, |general| general.positions(self.destination_bytes));
        let largest = (0..self.moves.len()).max_by_key(|&number| self.moves[number].bytes());
        let kept = match &self.sequence {
            Some(sequence) => !sequence.streams(),
            None => largest.is_some_and(|number| !self.streams(number, run)),
        };
        Work {
            footprint: match self.general {
                Some(_) => self.source_bytes + self.destination_bytes,
                None => 2 * moved + filled,
            },
            kept,
            moves,
            filled,
            positions,
        }
    }

    /// Whether a box is written past the caches, alone or in its sequence.
    fn streams(&self, number: usize, run: &ShapeOfRun) -> bool {
        match &self.sequence {
            Some(sequence) => sequence.streams(),
            None => self.moves[number].streams_on(run.sharing(number)),
        }
    }

    /// Threads that a run will use.
    pub(super) fn threads_of_a_run(&self) -> usize {
        self.shape_of_run().threads
    }

    /// That of a run whose destination starts on a page.
    fn shape_of_run(&self) -> ShapeOfRun {
        let (threads, parts, main) = match self.sharing(|| 0, false) {
            Sharing::Whole => (1, 1, None),
            Sharing::Parts {
                main,
                threads,
                parts,
                ..
            } => {
                let movement = self.moves[main].as_move();
                let parts = movement.map_or(1, |movement| movement.count_parts(parts));
                (threads, parts, Some(main))
            }
            Sharing::Bands {
                threads,
                sequence,
                windows,
            } => (threads, 1 + sequence.cuts(windows).count(), None),
            Sharing::Steps {
                threads,
                recode,
                windows,
            } => (threads, 1 + recode.cuts(windows).count(), None),
            Sharing::Windows { threads, cut } => (threads, cut.count, None),
        };
        ShapeOfRun {
            threads,
            parts,
            main,
        }
    }
}

/// How a run is shared.
struct ShapeOfRun {
    threads: usize,
    /// The pieces that they share.
    parts: usize,
    /// The box that they share part by part.
    main: Option<usize>,
}

impl ShapeOfRun {
    /// Threads that share the parts of a box.
    fn sharing(&self, number: usize) -> usize {
        if self.main == Some(number) {
            self.threads
        } else {
            1
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = &self.machine;
        let caches = machine.caches();
        writeln!(
            f,
            "machine    {} threads; caches of {}, {} and {}",
            machine.threads(),
            size(caches.first),
            size(caches.second),
            size(caches.last)
        )?;
        let place = match self.level {
            Level::Core => "in a core's own caches",
            Level::Shared => "in the cache that the cores share",
            Level::Memory => "in memory, beyond all caches",
        };
        writeln!(f, "touches    {}: {place}", size(self.footprint))?;
        for (number, part) in self.boxes.iter().enumerate().take(SHOWN) {
            let entered = match part.entries {
                1 => "in one go".to_owned(),
                entries => format!("entered {entries} times"),
            };
            let (kernel, bytes) = (part.kernel, size(part.bytes));
            write!(f, "box {:<6} {kernel}, {bytes}", number + 1)?;
            match self.bands {
                Some(_) => writeln!(f)?,
                None => writeln!(f, ", {entered}, {}", stores(part.streams))?,
            }
        }
        if self.boxes.len() > SHOWN {
            writeln!(
                f,
                "           ... and {} boxes more",
                self.boxes.len() - SHOWN
            )?;
        }
        if self.filled > 0 {
            writeln!(f, "padding    {} written", size(self.filled))?;
        }
        if let Some(bands) = &self.bands {
            let stores = match bands.staged {
                true => "put together in the caches, and whole lines streamed from there",
                false => stores(bands.streams),
            };
            let (count, largest) = (bands.count, size(bands.largest));
            let noun = if count == 1 { "band" } else { "bands" };
            writeln!(
                f,
                "together   in {count} {noun} of up to {largest}, {stores}"
            )?;
        }
        let why = match (self.parts, self.threads) {
            (1, _) => "in one go".to_owned(),
            (parts, 1) => format!("{parts} parts, one after the other"),
            (parts, _) => format!("they take {parts} parts in turn"),
        };
        writeln!(f, "threads    {}: {why}", self.threads)?;
        writeln!(
            f,
            "extra      {} of heap and {} of stack, beside the two buffers",
            size(self.extra.heap),
            size(self.extra.stack)
        )?;
        let ratio = self.copy.as_secs_f64() / self.predicted.as_secs_f64();
        write!(
            f,
            "predicted  {:.3?}; a copy of as many bytes takes {:.3?} ({ratio:.2} of its speed)",
            self.predicted, self.copy
        )
    }
}

fn stores(streams: bool) -> &'static str {
    if streams {
        "whole lines streamed past the caches"
    } else {
        "ordinary stores"
    }
}

/// Boxes that the text lists.
const SHOWN: usize = 8;

fn size(bytes: usize) -> String {
    sizes::size(bytes as i128)
}
