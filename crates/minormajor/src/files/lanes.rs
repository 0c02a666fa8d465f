//! Lanes: each moves blocks through a buffer of its own, and all together keep the bound on memory.

use super::bundle::BUNDLE;
use super::mover::{DEFAULT_MEMORY, Mover, planned_heap};
use super::{Array, ArrayMove, RelayoutOptions};
use crate::memory::{ARRAY_HEAP, FILE_HEAP, KERNEL_STACK, THREAD_HEAP};
use crate::threads;
use crate::{ExtraMemory, Relayout, RunError};

/// Fewer bytes than these in a lane's buffer are not worth a lane.
pub(super) const WORTH_A_LANE: usize = 1 << 20;

/// How many lanes there are, what each of them takes, and how they move what there is.
pub(super) struct Lanes {
    pub count: usize,
    /// Bytes of each lane's buffer.
    pub buffer: usize,
    /// A way for each of the kinds that were asked for.
    pub movers: Vec<Mover>,
    /// The most memory that they take, beside mapped files.
    pub extra: ExtraMemory,
}

impl Lanes {
    /// As many lanes as the machine has threads and the memory has room for. Of all arrays, `kinds`
    /// has one for each way of moving them.
    ///
    /// # Errors
    ///
    /// [`RunError::Memory`] with a bound that would do.
    pub fn new(
        kinds: Vec<usize>,
        sources: &[Array],
        targets: &[Array],
        moves: &[ArrayMove],
        options: &RelayoutOptions,
    ) -> Result<Lanes, RunError> {
        let unpacks = sources.iter().map(|source| source.within.unpack_heap());
        let wanted = Wanted {
            kinds,
            sources,
            targets,
            moves,
            options,
            own: FILE_HEAP + sources.len() * ARRAY_HEAP,
            beside: THREAD_HEAP + unpacks.max().unwrap_or(0),
        };
        let limit = options.memory.unwrap_or(DEFAULT_MEMORY);
        let threads = threads::count(options.threads.unwrap_or(0));
        let mut count = threads.min(limit / WORTH_A_LANE).max(1);
        loop {
            match wanted.lanes(count, limit) {
                Err(RunError::Memory { .. }) if count > 1 => count -= 1,
                Err(RunError::Memory { least, .. }) => return Err(wanted.refused(limit, least)),
                answer => return answer,
            }
        }
    }
}

/// What lanes are made for.
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
    /// So many lanes in so much memory. An error of memory says what would do for the array at
    /// which it was seen.
    fn lanes(&self, count: usize, limit: usize) -> Result<Lanes, RunError> {
        let told = |least: usize| RunError::Memory { limit, least };
        let bounded = self.options.memory.is_some();
        // What all lanes share is known when their shares are: it is little, and grows little.
        let plans = self.kinds.iter().map(|&array| &*self.moves[array].plan);
        let mut shared = self.own + plans.map(planned_heap).sum::<usize>();
        let movers = loop {
            let share = (limit.saturating_sub(shared) / count).saturating_sub(self.beside);
            let movers = self.kinds.iter().map(|&array| {
                let (from, to) = (&self.sources[array], &self.targets[array]);
                let ArrayMove { orders, plan, .. } = &self.moves[array];
                Mover::new(from, to, *orders, plan, (count, share), bounded).map_err(|error| {
                    match error {
                        RunError::Memory { least, .. } => {
                            told(shared + count * (least + self.beside))
                        }
                        error => error,
                    }
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
        let mut buffer = movers.iter().map(Mover::buffer).max().unwrap_or(0);
        let heap = movers.iter().map(Mover::heap).max().unwrap_or(0);
        // Where there are many arrays, small ones are moved together if there is room.
        let roomy = shared.saturating_add(count * (BUNDLE + heap + self.beside));
        if self.sources.len() > 1 && buffer < BUNDLE && roomy <= limit {
            buffer = BUNDLE;
        }
        let mut lanes = Lanes {
            count,
            buffer,
            movers,
            extra: ExtraMemory {
                heap: count * (buffer + heap + self.beside),
                stack: count * KERNEL_STACK,
            },
        };
        for mover in &mut lanes.movers {
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
            lanes.extra.heap = lanes.extra.heap.max(taken.heap);
            lanes.extra.stack = lanes.extra.stack.max(taken.stack);
            **relayout = mapped;
        }
        lanes.extra.heap += shared;
        match bounded && lanes.extra.heap > limit {
            true => Err(told(lanes.extra.heap)),
            false => Ok(lanes),
        }
    }

    /// The error of a bound that can't be kept, given one that may do: what all arrays need is
    /// known when each of them has enough.
    fn refused(&self, limit: usize, least: usize) -> RunError {
        let mut enough = least;
        while let Err(RunError::Memory { least, .. }) = self.lanes(1, enough) {
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
