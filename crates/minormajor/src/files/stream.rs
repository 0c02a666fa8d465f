//! Arrays that stream: block by block through a buffer of bounded size.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use minormajor_core::plan::ByteOrders;
use minormajor_core::stream::{Block, Stream, StreamError};
use minormajor_core::{ArrayShape, Plan};

use super::error::FileError;
use super::mover::{self, FilePlace, Prepared};
use crate::RunError;

/// A relayout cut into blocks, each made ready.
pub(super) struct Streaming {
    stream: Stream,
    /// For each kind of block, what it is on both sides. There are few: one for each side of the
    /// array that they end at.
    prepared: Vec<((ArrayShape, ArrayShape), Prepared)>,
    planned_heap: usize,
    /// So many blocks are moved at once.
    lanes: usize,
    /// Whether runs are waited for, so that those of a block are better asked for before.
    waits: AtomicBool,
}

/// Runs of so many bytes are read at the speed of the disk.
const LONG_RUN: u64 = 128 << 10;

/// A run that takes longer to read was not in the system's cache.
const SLOW_RUN: Duration = Duration::from_micros(15);

impl Streaming {
    /// Cuts a relayout so that a lane of so many, with its buffer, keeps to `share` bytes.
    pub fn new(
        source: &ArrayShape,
        destination: &ArrayShape,
        orders: ByteOrders,
        share: usize,
        lanes: usize,
    ) -> Result<Streaming, StreamError> {
        let made = |stream| Streaming::of_stream(stream, orders, lanes);
        let taken = |streaming: &Streaming| streaming.buffer() + streaming.heap();
        let smallest = made(Stream::smallest(source, destination)?)?;
        if taken(&smallest) > share {
            return Err(StreamError::TooLittle {
                least: taken(&smallest) as u64,
                given: share as u64,
            });
        }
        // What the kernels of larger blocks take is known once they are cut.
        let mut blocks = share as u64;
        loop {
            match Stream::new(source, destination, blocks) {
                Ok(stream) => {
                    let streaming = made(stream)?;
                    let over = taken(&streaming).saturating_sub(share) as u64;
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

    fn of_stream(
        stream: Stream,
        orders: ByteOrders,
        lanes: usize,
    ) -> Result<Streaming, StreamError> {
        let mut prepared = Vec::new();
        let mut planned_heap = 0;
        let corners = match stream.blocks() {
            0 => Vec::new(),
            _ => stream.corners(),
        };
        for number in corners {
            let sides = sides(stream.block(number));
            let plan = Plan::converting(&sides.0, &sides.1, orders)?;
            planned_heap += mover::planned_heap(&plan);
            // A block that no machine can hold is larger than any memory.
            let ready = Prepared::new(&plan).map_err(|_| StreamError::TooLittle {
                least: stream.block_bytes(),
                given: 0,
            })?;
            prepared.push((sides, ready));
        }
        Ok(Streaming {
            stream,
            prepared,
            planned_heap,
            lanes,
            waits: AtomicBool::new(false),
        })
    }

    /// How it is cut into blocks.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Bytes of a lane's buffer.
    pub fn buffer(&self) -> usize {
        let buffers = self.prepared.iter().map(|(_, prepared)| prepared.buffer());
        buffers.max().unwrap_or(0)
    }

    /// Bytes of heap that a lane takes beside its buffer.
    pub fn heap(&self) -> usize {
        let heaps = self.prepared.iter().map(|(_, prepared)| prepared.heap());
        heaps.max().unwrap_or(0)
    }

    /// Bytes of heap that all lanes share.
    pub fn planned_heap(&self) -> usize {
        self.planned_heap
    }

    /// Moves one block, and says how many bytes it wrote.
    pub fn run(
        &self,
        number: u64,
        buffer: &mut [u8],
        source: &FilePlace<'_>,
        destination: &FilePlace<'_>,
    ) -> Result<u64, FileError> {
        let block = self.stream.block(number);
        let runs = (block.source.runs.clone(), block.destination.runs.clone());
        let sides = sides(block);
        let prepared = self.prepared.iter().find(|(known, _)| *known == sides);
        let Some((_, prepared)) = prepared else {
            unreachable!("all kinds of blocks are among the corners")
        };
        let (from, to) = prepared.sides(buffer);
        // Long runs are asked for while they are read.
        let short = runs.0.bytes() < LONG_RUN && runs.0.count() > 1;
        let started = Instant::now();
        source.read_runs(from, &runs.0)?;
        if short && started.elapsed() / runs.0.count() as u32 > SLOW_RUN {
            self.waits.store(true, Ordering::Relaxed);
        }
        // The lane's next block is read while this one is moved and written.
        let next = number + self.lanes as u64;
        if short && next < self.stream.blocks() && self.waits.load(Ordering::Relaxed) {
            source.expect_runs(&self.stream.block(next).source.runs);
        }
        prepared
            .run(from, to)
            .map_err(|error: RunError| destination.refused(error))?;
        let mut rest = &*to;
        for (start, bytes) in &runs.1 {
            let (run, behind) = rest.split_at(bytes as usize);
            destination.write(run, start)?;
            rest = behind;
        }
        Ok(to.len() as u64)
    }
}

/// A block as an array of its own, on both sides.
fn sides(block: Block) -> (ArrayShape, ArrayShape) {
    (block.source.shape, block.destination.shape)
}
