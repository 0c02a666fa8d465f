//! Relayouts that stream: block by block through buffers of bounded size.
//!
//! Several lanes work at once, each with its own buffers: while one waits for the disk to read,
//! another moves, and a third writes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use minormajor_core::plan::{ByteOrders, PlanError};
use minormajor_core::stream::{Part, Stream, StreamError};
use minormajor_core::{ArrayShape, Plan};

use super::at::{read_exact_at, write_all_at};
use super::error::{FileError, io_error};
use super::mover::FilePlace;
use crate::executor::Told;
use crate::memory::{KERNEL_STACK, PLANNED_HEAP, THREAD_HEAP};
use crate::threads::{self, team};
use crate::{ExtraMemory, Progress, Relayout, RunError};

/// Fewer bytes than these in a lane's blocks are not worth a lane.
const WORTH_A_LANE: usize = 1 << 20;

/// A relayout cut into blocks, and how many of them are moved at once.
pub(super) struct Streaming {
    stream: Stream,
    orders: ByteOrders,
    lanes: usize,
    /// Bytes of heap that a lane takes.
    lane_heap: usize,
}

impl Streaming {
    /// Cuts a relayout so that all lanes together keep to `memory`; `threads` lanes at most, and
    /// with 0 as many as the machine runs at once.
    pub fn new(
        source: &ArrayShape,
        destination: &ArrayShape,
        orders: ByteOrders,
        memory: usize,
        threads: usize,
    ) -> Result<Streaming, StreamError> {
        let most = threads::count(threads).min(memory / WORTH_A_LANE).max(1);
        let lanes = (1..=most).rev();
        let mut last = None;
        for lanes in lanes {
            match Streaming::of_lanes(source, destination, orders, memory, lanes) {
                Ok(streaming) => return Ok(streaming),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("at least one lane was tried"))
    }

    fn of_lanes(
        source: &ArrayShape,
        destination: &ArrayShape,
        orders: ByteOrders,
        memory: usize,
        lanes: usize,
    ) -> Result<Streaming, StreamError> {
        let share = memory / lanes;
        let made = |stream: Stream| -> Result<Streaming, StreamError> {
            let beside = kernels_heap(&stream, orders)? + THREAD_HEAP;
            Ok(Streaming {
                lanes: lanes.min(stream.blocks().max(1) as usize),
                lane_heap: stream.block_bytes() as usize + beside,
                stream,
                orders,
            })
        };
        let smallest = made(Stream::smallest(source, destination)?)?;
        let least = smallest.lane_heap as u64;
        if least > share as u64 {
            return Err(StreamError::TooLittle {
                least,
                given: share as u64,
            });
        }
        // What the kernels of larger blocks take is known once they are cut.
        let mut blocks = share.saturating_sub(THREAD_HEAP) as u64;
        loop {
            match Stream::new(source, destination, blocks) {
                Ok(stream) => {
                    let streaming = made(stream)?;
                    let over = streaming.lane_heap.saturating_sub(share) as u64;
                    if over == 0 {
                        return Ok(streaming);
                    }
                    blocks = blocks.saturating_sub(over);
                }
                Err(StreamError::TooLittle { .. }) => return Ok(smallest),
                Err(error) => return Err(error),
            }
        }
    }

    /// The most memory that all lanes take.
    pub fn extra_memory(&self) -> ExtraMemory {
        ExtraMemory {
            heap: self.lanes * self.lane_heap,
            stack: self.lanes * KERNEL_STACK,
        }
    }

    /// Moves all blocks.
    pub fn run(
        &self,
        source: &FilePlace<'_>,
        destination: &FilePlace<'_>,
        progress: Progress<'_>,
    ) -> Result<(), FileError> {
        let next = AtomicU64::new(0);
        let failed = Mutex::new(None);
        let told = Told::new(self.stream.destination_bytes() as usize, Some(progress));
        team(self.lanes, |_| {
            let mut lane = Lane::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.stream.blocks() {
                    return;
                }
                match lane.run(self, number, source, destination) {
                    Ok(bytes) => told.more(bytes),
                    Err(error) => {
                        // Nobody takes another block.
                        next.store(self.stream.blocks(), Ordering::Relaxed);
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.get_or_insert(error);
                    }
                }
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Bytes of heap that moving blocks takes beside them: plans, kernels and what these work in.
fn kernels_heap(stream: &Stream, orders: ByteOrders) -> Result<usize, StreamError> {
    if stream.blocks() == 0 {
        return Ok(0);
    }
    let mut most = 0;
    let mut planned = 0;
    for number in stream.corners() {
        let block = stream.block(number);
        let plan = Plan::converting(&block.source.shape, &block.destination.shape, orders)?;
        planned += (1 + plan.boxes().len() + plan.fills().len()) * PLANNED_HEAP;
        if let Ok(relayout) = Relayout::new(&plan) {
            most = most.max(relayout.threads(1).extra_memory().heap);
        }
    }
    Ok(most + planned)
}

/// What one lane has.
#[derive(Default)]
struct Lane {
    /// For each size of blocks: there are few, one for each side of the array that they end at.
    prepared: HashMap<Vec<i64>, Prepared>,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Lane {
    /// Moves one block, and says how many bytes it wrote.
    fn run(
        &mut self,
        streaming: &Streaming,
        number: u64,
        source: &FilePlace<'_>,
        destination: &FilePlace<'_>,
    ) -> Result<usize, FileError> {
        let block = streaming.stream.block(number);
        let (from, to) = (&block.source, &block.destination);
        let prepared = match self.prepared.entry(block.sizes()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(prepare(from, to, streaming.orders).map_err(
                |error| match error {
                    PrepareError::Plan(error) => FileError::Plan {
                        path: source.path.to_owned(),
                        source: Box::new(error),
                    },
                    PrepareError::Run(error) => FileError::Run {
                        path: destination.path.to_owned(),
                        source: error,
                    },
                },
            )?),
        };
        let read = buffer(&mut self.from, from);
        let mut rest = &mut *read;
        for (start, bytes) in &from.runs {
            let (run, behind) = rest.split_at_mut(bytes as usize);
            read_exact_at(source.file, run, source.offset + start)
                .map_err(io_error(source.path, "read it"))?;
            rest = behind;
        }
        let written = buffer(&mut self.to, to);
        if prepared.leaves_gaps {
            written.fill(0);
        }
        prepared
            .relayout
            .run(read, written)
            .map_err(|error| FileError::Run {
                path: destination.path.to_owned(),
                source: error,
            })?;
        let mut rest = &*written;
        for (start, bytes) in &to.runs {
            let (run, behind) = rest.split_at(bytes as usize);
            write_all_at(destination.file, run, destination.offset + start)
                .map_err(io_error(destination.path, "write it"))?;
            rest = behind;
        }
        Ok(written.len())
    }
}

enum PrepareError {
    Plan(PlanError),
    Run(RunError),
}

/// How blocks of one size are moved.
struct Prepared {
    relayout: Relayout,
    /// Whether padding of the value `unknown` is left: it becomes zero, as in a new file.
    leaves_gaps: bool,
}

fn prepare(from: &Part, to: &Part, orders: ByteOrders) -> Result<Prepared, PrepareError> {
    let plan = Plan::converting(&from.shape, &to.shape, orders).map_err(PrepareError::Plan)?;
    let relayout = Relayout::new(&plan).map_err(PrepareError::Run)?;
    Ok(Prepared {
        relayout: relayout.threads(1),
        leaves_gaps: plan.bytes_written() < plan.destination_bytes(),
    })
}

/// Room for a part's bytes, in a buffer that is kept.
fn buffer<'a>(kept: &'a mut Vec<u8>, part: &Part) -> &'a mut [u8] {
    let bytes = (part.runs.bytes() * part.runs.count()) as usize;
    if kept.len() < bytes {
        // Grown in one piece: to double it would take more than was promised.
        *kept = vec![0; bytes];
    }
    &mut kept[..bytes]
}
