//! One pass over all arrays of a file, in the order of the output's bytes.
//!
//! Several lanes work at once, each with its own buffer: while one waits for the disk to read,
//! another moves, and a third writes. They take the blocks of all arrays from one queue, so small
//! arrays share the lanes as the blocks of a large one do.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minormajor_core::Plan;
use minormajor_kernels::advise_huge_pages;

use super::bundle::{BUNDLE, Bundle, Part};
use super::error::FileError;
use super::journal;
use super::lanes::Lanes;
use super::mover::{CALLS, FilePlace, Mover, run_mapped};
use super::outputs::Outputs;
use super::sources::Sources;
use super::stream::Streaming;
use super::{Array, ArrayMove, Forecast, RelayoutOptions};
use crate::executor::Told;
use crate::threads::team;
use crate::{ExtraMemory, Progress, RunError};

/// An array, and where it goes.
#[derive(Clone, Copy)]
pub(super) struct Item {
    /// Its number in the input.
    pub array: usize,
    /// The number of the new file.
    pub file: usize,
    /// Where in it.
    pub offset: u64,
}

/// Bytes that are moved together: an array, or several that are small, or stay as they are, and lie
/// behind each other in both files.
struct Work {
    /// The first array.
    item: Item,
    mover: usize,
    /// Which pass of its mover it is.
    pass: usize,
    from: Spot,
    to: Spot,
    /// Bytes that it reads, of an array that is moved in one pass.
    read: u64,
    /// Bytes that it writes.
    bytes: u64,
    /// The arrays that are moved together, if they are not all one copy.
    bundle: Bundle,
    blocks: u64,
    /// The number of the first block.
    first: u64,
}

/// Where bytes begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spot {
    /// In the file of the array that is moved, or in the new one.
    File(u64),
    /// Among the bytes that passes leave each other.
    Beside(u64),
}

/// All that is to be moved.
pub(super) struct Queue {
    lanes: Lanes,
    /// In the order of the output.
    works: Vec<Work>,
    blocks: u64,
    /// About how long each array takes, by its number in the input.
    predicted: Vec<Duration>,
    forecast: Forecast,
}

impl Queue {
    /// Chooses how every array is moved, so that all together keep the bound on memory.
    ///
    /// # Errors
    ///
    /// [`RunError::Memory`] with a bound that would do.
    pub fn new(
        mut items: Vec<Item>,
        sources: &[Array],
        targets: &[Array],
        moves: &[ArrayMove],
        options: &RelayoutOptions,
    ) -> Result<Queue, RunError> {
        items.sort_by_key(|item| (item.file, item.offset));
        // Arrays that share a plan are moved alike.
        let mut kinds: Vec<usize> = Vec::new();
        let mut by_plan: HashMap<*const Plan, usize> = HashMap::new();
        let mut mover_of = Vec::with_capacity(items.len());
        for item in &items {
            let plan = Arc::as_ptr(&moves[item.array].plan);
            mover_of.push(match by_plan.entry(plan) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    kinds.push(item.array);
                    *entry.insert(kinds.len() - 1)
                }
            });
        }
        let mut queue = Queue {
            lanes: Lanes::new(kinds, sources, targets, moves, options)?,
            works: Vec::new(),
            blocks: 0,
            predicted: Vec::new(),
            forecast: Forecast::default(),
        };
        queue.fill(items, mover_of, sources, moves);
        Ok(queue)
    }

    /// Lines up what is moved.
    fn fill(
        &mut self,
        items: Vec<Item>,
        mover_of: Vec<usize>,
        sources: &[Array],
        moves: &[ArrayMove],
    ) {
        self.predicted = vec![Duration::ZERO; sources.len()];
        let mut beside = 0;
        for (item, mover) in items.into_iter().zip(mover_of) {
            let source = &sources[item.array];
            let plan = &moves[item.array].plan;
            let bytes = plan.destination_bytes() as u64;
            self.forecast.bytes_read += plan.bytes_read() as u64;
            self.forecast.bytes_written += plan.bytes_written() as u64;
            let mut time = self.lanes.movers[mover].predicted(bytes);
            let joined = self.join(&item, mover, source, sources, plan);
            if !joined && self.lanes.movers[mover].is_one() {
                time += CALLS;
            }
            time /= self.lanes.count as u32;
            self.predicted[item.array] = time;
            self.forecast.time += time;
            if joined {
                continue;
            }
            let passes = self.lanes.movers[mover].passes();
            let mut from = Spot::File(source.offset);
            let mut free: u64 = 0;
            for pass in 0..passes {
                let written = self.lanes.movers[mover].bytes(pass, bytes);
                let to = match pass + 1 == passes {
                    true => Spot::File(item.offset),
                    false => Spot::Beside(free),
                };
                if let Spot::Beside(at) = to {
                    free = (at + written).next_multiple_of(4096);
                    self.forecast.bytes_read += written;
                    self.forecast.bytes_written += written;
                }
                self.works.push(Work {
                    item,
                    mover,
                    pass,
                    from,
                    to,
                    read: plan.source_bytes() as u64,
                    bytes: written,
                    bundle: Bundle::default(),
                    blocks: 0,
                    first: 0,
                });
                from = to;
            }
            beside = free.max(beside);
            self.forecast.passes = self.forecast.passes.max(passes);
        }
        for work in &mut self.works {
            work.blocks = match work.bundle.is_empty() {
                true => self.lanes.movers[work.mover].blocks(work.pass, work.bytes),
                false => 1,
            };
            work.first = self.blocks;
            self.blocks += work.blocks;
        }
        self.lanes.count = self.lanes.count.min(self.blocks.max(1) as usize);
        self.forecast.bytes_beside = beside;
    }

    /// Moves an array with what comes before it, if both are small, or stay as they are, and lie
    /// behind each other in both files.
    fn join(
        &mut self,
        item: &Item,
        mover: usize,
        source: &Array,
        sources: &[Array],
        plan: &Plan,
    ) -> bool {
        let movers = &self.lanes.movers;
        let Some(last) = self.works.last_mut() else {
            return false;
        };
        let (read, bytes) = (plan.source_bytes() as u64, plan.destination_bytes() as u64);
        let follows = !source.within.is_unpacked()
            && sources[last.item.array].within == source.within
            && last.item.file == item.file
            && last.from.then(last.read) == Spot::File(source.offset)
            && last.to.then(last.bytes) == Spot::File(item.offset);
        if !follows || !movers[mover].is_one() || !movers[last.mover].is_one() {
            return false;
        }
        let is_copied = |mover: usize| matches!(movers[mover], Mover::Copied);
        let stays = is_copied(mover) && is_copied(last.mover) && last.bundle.is_empty();
        let room = Bundle::buffer(
            last.read.saturating_add(read),
            last.bytes.saturating_add(bytes),
        );
        if !stays {
            if room > self.lanes.buffer.min(BUNDLE) as u64 {
                return false;
            }
            if last.bundle.is_empty() {
                last.bundle.push(Part {
                    mover: last.mover,
                    from: last.read,
                    to: last.bytes,
                });
            }
            last.bundle.push(Part {
                mover,
                from: read,
                to: bytes,
            });
        }
        last.read += read;
        last.bytes += bytes;
        true
    }

    /// What the run is expected to do.
    pub fn forecast(&self) -> Forecast {
        self.forecast
    }

    /// Says how everything is cut into blocks.
    pub fn say(&self, work: &mut journal::Work) {
        work.say("blocks", self.blocks);
        for mover in &self.lanes.movers {
            match mover {
                Mover::Streamed(passes) => {
                    for stream in passes.iter().map(Streaming::stream) {
                        let sizes = stream.block_sizes();
                        work.say("blocks", format_args!("{} of {sizes:?}", stream.blocks()));
                    }
                }
                Mover::Whole(_) => work.say("blocks", "one"),
                Mover::Copied => work.say("blocks", "copied"),
                Mover::Mapped(_) => work.say("blocks", "none"),
            }
        }
    }

    /// The blocks between which all that came before must be done: where a pass begins that reads
    /// what another wrote, or that writes where another read.
    fn stages(&self) -> Vec<u64> {
        let waits = |work: &&Work| {
            matches!(work.from, Spot::Beside(_)) || matches!(work.to, Spot::Beside(_))
        };
        let mut stages: Vec<u64> = self.works.iter().filter(waits).map(|w| w.first).collect();
        stages.push(self.blocks);
        stages.dedup();
        stages
    }

    /// The most memory that it takes, beside mapped files.
    pub fn extra_memory(&self) -> ExtraMemory {
        self.lanes.extra
    }

    /// About how long each array takes, where both files lie in the system's cache.
    pub fn predicted(&self) -> impl Iterator<Item = Duration> + '_ {
        self.predicted.iter().copied()
    }

    /// Moves everything.
    pub fn run(
        &self,
        sources: &Sources<'_>,
        outputs: &Outputs,
        progress: Progress<'_>,
    ) -> Result<(), FileError> {
        let total: u64 = self.works.iter().map(|work| work.bytes).sum();
        let told = Told::new(total as usize, Some(progress));
        let before = outputs.before();
        told.more(self.bytes_before(before) as usize);
        // Made before there are other threads: some allocators give each of them much address space,
        // and do without where it is scarce.
        let lanes = self.lanes.count.min(self.blocks as usize);
        let buffers: Vec<_> = (0..lanes)
            .map(|_| Mutex::new(room(self.lanes.buffer)))
            .collect();
        let mut start = 0;
        for end in self.stages() {
            if before < end {
                if start > 0 && before < start {
                    // What is written from here on is where the disk must no longer read.
                    outputs.save()?;
                }
                self.run_blocks(start.max(before)..end, &buffers, sources, outputs, &told)?;
            }
            start = end;
        }
        // These take all threads, one after another.
        let mapped = self.works.iter().filter_map(|work| {
            let Mover::Mapped(relayout) = &self.lanes.movers[work.mover] else {
                return None;
            };
            Some((work, relayout))
        });
        for (number, (work, relayout)) in (self.blocks..).zip(mapped) {
            if number < before {
                told.more(work.bytes as usize);
                continue;
            }
            let source = sources.source(work.item.array)?;
            let output = &outputs.files()[work.item.file];
            let done = Mutex::new(0);
            let progress = |now: u64, _: u64| {
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                told.more((now - *done) as usize);
                *done = now;
            };
            let (from, to) = work.places(source.path(), source.file(), outputs);
            run_mapped(relayout, &from, &to, output, &progress)?;
            outputs.done(number, work.bytes)?;
            sources.done(work.item.array, 1);
        }
        Ok(())
    }

    /// Bytes that the blocks before one write.
    fn bytes_before(&self, block: u64) -> u64 {
        let bytes = self.works.iter().map(|work| {
            let done = block.saturating_sub(work.first).min(work.blocks);
            let part = u128::from(work.bytes) * u128::from(done);
            (part / u128::from(work.blocks.max(1))) as u64
        });
        bytes.sum()
    }

    /// Runs blocks, on all lanes; each has its buffer.
    fn run_blocks(
        &self,
        blocks: Range<u64>,
        buffers: &[Mutex<Vec<u8>>],
        sources: &Sources<'_>,
        outputs: &Outputs,
        told: &Told<'_>,
    ) -> Result<(), FileError> {
        let next = AtomicU64::new(blocks.start);
        let failed = Mutex::new(None);
        let fail = |error| {
            // Nobody takes another block.
            next.store(blocks.end, Ordering::Relaxed);
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        };
        team(buffers.len(), |lane| {
            // Nobody else has it.
            let mut buffer = buffers[lane].lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= blocks.end {
                    return;
                }
                match self.run_block(number, &mut buffer, sources, outputs) {
                    Ok(bytes) => told.more(bytes as usize),
                    Err(error) => fail(error),
                }
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn run_block(
        &self,
        number: u64,
        buffer: &mut [u8],
        sources: &Sources<'_>,
        outputs: &Outputs,
    ) -> Result<u64, FileError> {
        // The last that begins before the next block: works without blocks begin where the next
        // one does.
        let place = self.works.partition_point(|work| work.first <= number) - 1;
        let work = &self.works[place];
        let source = sources.source(work.item.array)?;
        let (from, to) = work.places(source.path(), source.file(), outputs);
        let mover = &self.lanes.movers[work.mover];
        let bytes = match work.bundle.is_empty() {
            true => mover.run(
                work.pass,
                number - work.first,
                work.bytes,
                buffer,
                &from,
                &to,
            )?,
            false => work.bundle.run(&self.lanes.movers, buffer, &from, &to)?,
        };
        drop(source);
        outputs.done(number, bytes)?;
        if work.pass == 0 {
            sources.done(work.item.array, work.blocks);
        }
        Ok(bytes)
    }
}

/// A lane's buffer.
fn room(bytes: usize) -> Vec<u8> {
    let mut room = vec![0; bytes];
    // Not touched yet: a page of 4 KiB at a time, that takes as long as to move what they hold.
    advise_huge_pages(&mut room);
    room
}

impl Work {
    fn places<'a>(
        &self,
        path: &'a std::path::Path,
        file: &'a std::fs::File,
        outputs: &'a Outputs,
    ) -> (FilePlace<'a>, FilePlace<'a>) {
        let output = &outputs.files()[self.item.file];
        let place = |path, file, spot| match spot {
            Spot::File(offset) => FilePlace { path, file, offset },
            Spot::Beside(offset) => {
                let (output, start) = outputs.scratch();
                FilePlace {
                    path: output.path(),
                    file: output.file(),
                    offset: start + offset,
                }
            }
        };
        (
            place(path, file, self.from),
            place(output.path(), output.file(), self.to),
        )
    }
}

impl Spot {
    /// So many bytes behind it.
    fn then(self, bytes: u64) -> Spot {
        match self {
            Spot::File(at) => Spot::File(at + bytes),
            Spot::Beside(at) => Spot::Beside(at + bytes),
        }
    }
}
