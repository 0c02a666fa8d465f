//! One pass over all arrays of a file, in the order of the output's bytes.
//!
//! Several lanes work at once, each with its own buffer: while one waits for the disk to read,
//! another moves, and a third writes. They take the blocks of all arrays from one queue, so small
//! arrays share the lanes as the blocks of a large one do.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minormajor_core::Plan;

use super::error::FileError;
use super::mover::{DEFAULT_MEMORY, FilePlace, Mover, planned_heap, run_mapped};
use super::output::Output;
use super::sources::Sources;
use super::{Array, ArrayMove, RelayoutOptions};
use crate::executor::Told;
use crate::memory::{ARRAY_HEAP, FILE_HEAP, KERNEL_STACK, THREAD_HEAP};
use crate::threads::{self, team};
use crate::{ExtraMemory, Progress, Relayout, RunError};

/// Fewer bytes than these in a lane's buffer are not worth a lane.
const WORTH_A_LANE: usize = 1 << 20;

/// An array, and where it goes.
pub(super) struct Item {
    /// Its number in the input.
    pub array: usize,
    /// The number of the new file.
    pub file: usize,
    /// Where in it.
    pub offset: u64,
}

/// Bytes that are moved together: an array, or several that stay as they are and lie behind each
/// other in both files.
struct Work {
    /// The first array.
    item: Item,
    mover: usize,
    /// Where the bytes begin in the source.
    from: u64,
    /// Bytes in the destination.
    bytes: u64,
    blocks: u64,
    /// The number of the first block.
    first: u64,
}

/// What a queue is made for.
struct Wanted<'a> {
    /// An array for each way of moving one.
    kinds: Vec<usize>,
    sources: &'a [Array],
    targets: &'a [Array],
    moves: &'a [ArrayMove],
    options: &'a RelayoutOptions,
    /// Bytes of heap that are taken in any case,
    own: usize,
    /// and those that each lane takes beside its buffer and its kernels.
    beside: usize,
}

impl Wanted<'_> {
    /// A queue for so many lanes in so much memory, still empty. An error of memory says what
    /// would do for the array at which it was seen.
    fn queue(&self, lanes: usize, limit: usize) -> Result<Queue, RunError> {
        let told = |least: usize| RunError::Memory { limit, least };
        let bounded = self.options.memory.is_some();
        // What all lanes share is known when their shares are: it is little, and grows little.
        let plans = self.kinds.iter().map(|&array| &*self.moves[array].plan);
        let mut shared = self.own + plans.map(planned_heap).sum::<usize>();
        let movers = loop {
            let share = (limit.saturating_sub(shared) / lanes).saturating_sub(self.beside);
            let movers = self.kinds.iter().map(|&array| {
                let (from, to) = (&self.sources[array], &self.targets[array]);
                let ArrayMove { orders, plan, .. } = &self.moves[array];
                Mover::new(from, to, *orders, plan, share, bounded).map_err(|error| match error {
                    RunError::Memory { least, .. } => told(shared + lanes * (least + self.beside)),
                    error => error,
                })
            });
            let movers = movers.collect::<Result<Vec<_>, _>>()?;
            let pairs = movers.iter().zip(&self.kinds);
            let taken = pairs.map(|(mover, &array)| mover.shared_heap(&self.moves[array].plan));
            let taken = self.own + taken.sum::<usize>();
            if taken <= shared {
                break movers;
            }
            shared = taken;
        };
        let mut queue = Queue {
            buffer: movers.iter().map(Mover::buffer).max().unwrap_or(0),
            movers,
            works: Vec::new(),
            blocks: 0,
            lanes,
            extra: ExtraMemory::default(),
            predicted: Vec::new(),
        };
        let heap = queue.movers.iter().map(Mover::heap).max().unwrap_or(0);
        queue.extra = ExtraMemory {
            heap: lanes * (queue.buffer + heap + self.beside),
            stack: lanes * KERNEL_STACK,
        };
        for mover in &mut queue.movers {
            let Mover::Mapped(relayout) = mover else {
                continue;
            };
            let mut mapped = Relayout::clone(relayout).threads(self.options.threads.unwrap_or(0));
            if bounded {
                let left = limit.saturating_sub(shared);
                mapped = mapped.memory_limit(left).map_err(|error| match error {
                    RunError::Memory { least, .. } => told(shared + least),
                    error => error,
                })?;
            }
            let taken = mapped.extra_memory();
            queue.extra.heap = queue.extra.heap.max(taken.heap);
            queue.extra.stack = queue.extra.stack.max(taken.stack);
            **relayout = mapped;
        }
        queue.extra.heap += shared;
        match bounded && queue.extra.heap > limit {
            true => Err(told(queue.extra.heap)),
            false => Ok(queue),
        }
    }

    /// The error of a bound that can't be kept, given one that may do: what all arrays need is
    /// known when each of them has enough.
    fn refused(&self, limit: usize, least: usize) -> RunError {
        let mut enough = least;
        while let Err(RunError::Memory { least, .. }) = self.queue(1, enough) {
            if least <= enough {
                break;
            }
            enough = least;
        }
        RunError::Memory {
            limit,
            least: enough,
        }
    }
}

/// All that is to be moved.
pub(super) struct Queue {
    movers: Vec<Mover>,
    /// In the order of the output.
    works: Vec<Work>,
    blocks: u64,
    lanes: usize,
    /// Bytes of each lane's buffer.
    buffer: usize,
    extra: ExtraMemory,
    /// About how long each array takes, by its number in the input.
    predicted: Vec<Duration>,
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
        let unpacks = sources.iter().map(|source| source.within.unpack_heap());
        let wanted = Wanted {
            kinds,
            sources,
            targets,
            moves,
            options,
            own: FILE_HEAP + items.len() * ARRAY_HEAP,
            beside: THREAD_HEAP + unpacks.max().unwrap_or(0),
        };
        let limit = options.memory.unwrap_or(DEFAULT_MEMORY);
        let threads = threads::count(options.threads.unwrap_or(0));
        let mut lanes = threads.min(limit / WORTH_A_LANE).max(1);
        loop {
            match wanted.queue(lanes, limit) {
                Ok(mut queue) => {
                    queue.fill(items, mover_of, sources, moves);
                    return Ok(queue);
                }
                Err(RunError::Memory { .. }) if lanes > 1 => lanes -= 1,
                Err(RunError::Memory { least, .. }) => return Err(wanted.refused(limit, least)),
                Err(error) => return Err(error),
            }
        }
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
        for (item, mover) in items.into_iter().zip(mover_of) {
            let time = self.movers[mover].predicted(&moves[item.array].plan);
            self.predicted[item.array] = time / self.lanes as u32;
            let source = &sources[item.array];
            let bytes = moves[item.array].plan.destination_bytes() as u64;
            let copied = matches!(self.movers[mover], Mover::Copied);
            if let (true, Some(last)) = (copied, self.works.last_mut()) {
                let before = &sources[last.item.array];
                let follows = matches!(self.movers[last.mover], Mover::Copied)
                    && !source.within.is_unpacked()
                    && before.within == source.within
                    && last.item.file == item.file
                    && last.from + last.bytes == source.offset
                    && last.item.offset + last.bytes == item.offset;
                if follows {
                    last.bytes += bytes;
                    continue;
                }
            }
            self.works.push(Work {
                from: source.offset,
                item,
                mover,
                bytes,
                blocks: 0,
                first: 0,
            });
        }
        for work in &mut self.works {
            work.blocks = self.movers[work.mover].blocks(work.bytes);
            work.first = self.blocks;
            self.blocks += work.blocks;
        }
        self.lanes = self.lanes.min(self.blocks.max(1) as usize);
    }

    /// The most memory that it takes, beside mapped files.
    pub fn extra_memory(&self) -> ExtraMemory {
        self.extra
    }

    /// About how long each array takes, where both files lie in the system's cache.
    pub fn predicted(&self) -> impl Iterator<Item = Duration> + '_ {
        self.predicted.iter().copied()
    }

    /// Moves everything.
    pub fn run(
        &self,
        sources: &Sources<'_>,
        outputs: &[Output],
        progress: Progress<'_>,
    ) -> Result<(), FileError> {
        let next = AtomicU64::new(0);
        let failed = Mutex::new(None);
        let total: u64 = self.works.iter().map(|work| work.bytes).sum();
        let told = Told::new(total as usize, Some(progress));
        let fail = |error| {
            // Nobody takes another block.
            next.store(self.blocks, Ordering::Relaxed);
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        };
        team(self.lanes, |_| {
            let mut buffer = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.blocks {
                    return;
                }
                if buffer.is_empty() {
                    buffer = vec![0; self.buffer];
                }
                match self.run_block(number, &mut buffer, sources, outputs) {
                    Ok(bytes) => told.more(bytes as usize),
                    Err(error) => fail(error),
                }
            }
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        // These take all threads, one after another.
        for work in &self.works {
            if let Mover::Mapped(relayout) = &self.movers[work.mover] {
                let source = sources.source(work.item.array)?;
                let output = &outputs[work.item.file];
                let done = Mutex::new(0);
                let progress = |now: u64, _: u64| {
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    told.more((now - *done) as usize);
                    *done = now;
                };
                let (from, to) = work.places(source.path(), source.file(), output);
                run_mapped(relayout, &from, &to, output, &progress)?;
                sources.done(work.item.array, 1);
            }
        }
        Ok(())
    }

    fn run_block(
        &self,
        number: u64,
        buffer: &mut [u8],
        sources: &Sources<'_>,
        outputs: &[Output],
    ) -> Result<u64, FileError> {
        // The last that begins before the next block: works without blocks begin where the next
        // one does.
        let place = self.works.partition_point(|work| work.first <= number) - 1;
        let work = &self.works[place];
        let source = sources.source(work.item.array)?;
        let output = &outputs[work.item.file];
        let (from, to) = work.places(source.path(), source.file(), output);
        let mover = &self.movers[work.mover];
        let bytes = mover.run(number - work.first, work.bytes, buffer, &from, &to)?;
        drop(source);
        sources.done(work.item.array, work.blocks);
        Ok(bytes)
    }
}

impl Work {
    fn places<'a>(
        &self,
        path: &'a std::path::Path,
        file: &'a std::fs::File,
        output: &'a Output,
    ) -> (FilePlace<'a>, FilePlace<'a>) {
        let from = FilePlace {
            path,
            file,
            offset: self.from,
        };
        let to = FilePlace {
            path: output.path(),
            file: output.file(),
            offset: self.item.offset,
        };
        (from, to)
    }
}
