//! Streams: a relayout cut into blocks that fit in a bounded memory.
//!
//! A block is a range of indices in every dimension, cut where no tile of either side is cut. So
//! on each side a block is itself an array in that side's layout, only smaller: its bytes, one
//! after another, are runs of the whole array's bytes, in the same order. Blocks are moved one by
//! one: runs are read, the small array is moved by a [`Plan`](crate::Plan) of its own, runs are
//! written. How long the runs are decides how fast a disk is, so blocks are grown where that
//! makes the runs longer that cost most.

mod passes;
mod runs;
mod side;

use smallvec::{SmallVec, smallvec};

pub use runs::{Runs, RunsIter};
use side::Side;

use crate::address::gcd;
use crate::array::ArrayShape;
use crate::error::ShapeError;
use crate::plan::{PlanError, check_same_sizes};

/// Runs longer than this make no disk faster, in bytes.
const LONG_RUN: u64 = 4 << 20;

/// Arrays of more bytes, on both sides together, are read from a disk: no system's cache has them.
const CACHED: u64 = 8 << 30;

/// What it costs to begin a run that is read from the system's cache, in nanoseconds, on ext4,
const READ_CACHED: u64 = 1200;

/// and one that is read from a disk. Both its ends are on pages that are read as a whole, and read
/// again when they are forgotten.
const READ_DISK: u64 = 20_000;

/// What it costs to begin a run that is written. Those of several blocks lie beside each other, and
/// the system puts them on the disk as one.
const WRITE: u64 = 3600;

/// A relayout cut into blocks of bounded size.
///
/// ```
/// use minormajor_core::{Shape, Stream};
///
/// // 4 GiB, turned with 32 MiB for a block's bytes on both sides.
/// let source: Shape = "f32[32768,32768]{1,0}".parse()?;
/// let destination: Shape = "f32[32768,32768]{0,1}".parse()?;
/// let stream = Stream::new(source.as_array()?, destination.as_array()?, 32 << 20)?;
/// assert_eq!(stream.block_sizes(), [4096, 1024]);
/// assert_eq!((stream.source_run_bytes(), stream.destination_run_bytes()), (4096, 16384));
/// assert_eq!(stream.blocks(), 256);
/// let first = stream.block(0);
/// assert_eq!(first.source.shape.to_string(), "f32[4096,1024]{1,0}");
/// assert_eq!(first.source.runs.iter().nth(1), Some((131072, 4096)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    sizes: SmallVec<[i64; 6]>,
    /// Indices of a block in each dimension; those at the end may have fewer.
    steps: SmallVec<[i64; 6]>,
    /// Dimensions in the order in which blocks follow each other, the slowest first.
    order: SmallVec<[usize; 6]>,
    source: Side,
    destination: Side,
}

/// A part of an array that is an array itself.
#[derive(Clone, Debug)]
pub struct Block {
    /// The first index of each dimension.
    pub start: SmallVec<[i64; 6]>,
    /// What it is in the source.
    pub source: Part,
    /// What it is in the destination.
    pub destination: Part,
}

impl Block {
    /// The block's size in each dimension.
    pub fn sizes(&self) -> Vec<i64> {
        let sizes = self.source.shape.dimensions().iter();
        // Parts have sizes, as the whole has.
        sizes.filter_map(|size| size.bound()).collect()
    }
}

/// One side of a [`Block`].
#[derive(Clone, Debug)]
pub struct Part {
    /// The block as an array of its own, in the layout of the whole.
    pub shape: ArrayShape,
    /// Where its bytes lie in the whole array.
    pub runs: Runs,
}

/// Why a relayout can't be cut into blocks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The two sides are of different arrays, or say too little.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The smallest block is larger than the memory.
    #[error("the smallest block takes {least} bytes, and {given} are given; allow that much")]
    #[allow(missing_docs)]
    TooLittle { least: u64, given: u64 },
    /// Parts of such a layout are no arrays in it.
    #[error("{shape} can't be cut into blocks: {reason}")]
    #[allow(missing_docs)]
    Whole {
        shape: Box<ArrayShape>,
        reason: &'static str,
    },
}

impl From<ShapeError> for StreamError {
    fn from(error: ShapeError) -> StreamError {
        StreamError::Plan(error.into())
    }
}

impl Stream {
    /// Cuts a relayout into blocks whose bytes, on both sides together, are at most `memory`.
    ///
    /// Both arrays have the same sizes, a bounded dimension counting its bound; their element
    /// types may differ.
    ///
    /// # Errors
    ///
    /// [`StreamError`] for other sizes, a layout that is missing or that can't be cut, or too
    /// little memory.
    pub fn new(
        source: &ArrayShape,
        destination: &ArrayShape,
        memory: u64,
    ) -> Result<Stream, StreamError> {
        let mut stream = Stream::smallest(source, destination)?;
        stream.grow(memory)?;
        Ok(stream)
    }

    /// Cuts a relayout into the smallest blocks.
    ///
    /// # Errors
    ///
    /// As [`new`](Stream::new), but for memory.
    pub fn smallest(source: &ArrayShape, destination: &ArrayShape) -> Result<Stream, StreamError> {
        let (from, to) = (Side::new(source)?, Side::new(destination)?);
        let sizes: SmallVec<[i64; 6]> = from.sizes().into();
        check_same_sizes(from.sizes(), to.sizes())?;
        let mut stream = Stream {
            steps: smallvec![0; sizes.len()],
            order: (0..sizes.len()).collect(),
            sizes,
            source: from,
            destination: to,
        };
        stream.steps = (0..stream.sizes.len())
            .map(|d| stream.unit(d).min(stream.sizes[d]).max(1))
            .collect();
        let to = &stream.destination;
        stream
            .order
            .sort_by_key(|&d| std::cmp::Reverse(to.stride(d)));
        Ok(stream)
    }

    /// Chooses the steps: from the smallest ones on, those that make the runs longer that
    /// cost most.
    fn grow(&mut self, memory: u64) -> Result<(), StreamError> {
        let units = self.steps.clone();
        let least = self.block_bytes();
        if least > memory {
            return Err(StreamError::TooLittle {
                least,
                given: memory,
            });
        }
        loop {
            let (from, to) = (self.source_run_bytes(), self.destination_run_bytes());
            if from.min(to) >= LONG_RUN {
                return Ok(());
            }
            let sides = match from.saturating_mul(WRITE) < to.saturating_mul(self.read_cost()) {
                true => [&self.source, &self.destination],
                false => [&self.destination, &self.source],
            };
            let next: SmallVec<[usize; 2]> = sides
                .into_iter()
                .filter_map(|side| side.shortened_by(&self.steps))
                .collect();
            let grown = next.into_iter().find_map(|d| {
                // Twice as much, or what else fits: quarters keep runs on whole pages.
                [8, 6, 5].into_iter().find_map(|quarters| {
                    let mut steps = self.steps.clone();
                    let step = steps[d].saturating_mul(quarters) / 4 / units[d] * units[d];
                    steps[d] = step.min(self.sizes[d]);
                    (steps[d] > self.steps[d] && self.bytes_of(&steps) <= memory).then_some(steps)
                })
            });
            match grown {
                Some(steps) => self.steps = steps,
                None => return Ok(()),
            }
        }
    }

    /// What it costs to begin a run that is read, in nanoseconds.
    fn read_cost(&self) -> u64 {
        let bytes = self.source.bytes().saturating_add(self.destination.bytes());
        match bytes > CACHED {
            true => READ_DISK,
            false => READ_CACHED,
        }
    }

    /// Indices between which neither side can be cut.
    fn unit(&self, dimension: usize) -> i64 {
        let size = self.sizes[dimension];
        match (
            self.source.unit(dimension),
            self.destination.unit(dimension),
        ) {
            (Some(from), Some(to)) => {
                let shared = gcd(from, to);
                (from / shared).checked_mul(to).unwrap_or(size)
            }
            _ => size,
        }
    }

    /// The sizes of a block; those at the end of a dimension may be smaller.
    pub fn block_sizes(&self) -> &[i64] {
        &self.steps
    }

    /// The most bytes that a block has, on both sides together.
    pub fn block_bytes(&self) -> u64 {
        self.bytes_of(&self.steps)
    }

    fn bytes_of(&self, steps: &[i64]) -> u64 {
        let (from, to) = (
            self.source.block_bytes(steps),
            self.destination.block_bytes(steps),
        );
        from.saturating_add(to)
    }

    /// Bytes that a block that is not at an end reads at once.
    pub fn source_run_bytes(&self) -> u64 {
        self.source.run_bytes(&self.steps)
    }

    /// Bytes that a block that is not at an end writes at once.
    pub fn destination_run_bytes(&self) -> u64 {
        self.destination.run_bytes(&self.steps)
    }

    /// Bytes that the whole array takes in the destination.
    pub fn destination_bytes(&self) -> u64 {
        self.destination.bytes()
    }

    /// How many blocks there are; at least 1 for an array that takes bytes in the destination.
    pub fn blocks(&self) -> u64 {
        (0..self.sizes.len()).map(|d| self.count(d)).product()
    }

    /// The numbers of blocks that have all sizes among them that blocks have: those at the front
    /// of each dimension, and at its end where that is shorter, or padded.
    pub fn corners(&self) -> Vec<u64> {
        let mut corners = vec![0];
        let mut stride = 1;
        for &d in self.order.iter().rev() {
            let count = self.count(d);
            let padded = self.source.pads(d) || self.destination.pads(d);
            if count > 1 && (padded || self.sizes[d] % self.steps[d] != 0) {
                for corner in 0..corners.len() {
                    corners.push(corners[corner] + (count - 1) * stride);
                }
            }
            stride *= count;
        }
        corners
    }

    fn count(&self, dimension: usize) -> u64 {
        let (size, step) = (self.sizes[dimension], self.steps[dimension]);
        // An empty dimension may be padded.
        (size.max(1) as u64).div_ceil(step as u64)
    }

    /// A block. They are numbered in the order in which their bytes lie in the destination.
    ///
    /// # Panics
    ///
    /// Unless `number` is below [`blocks`](Self::blocks).
    pub fn block(&self, number: u64) -> Block {
        assert!(
            number < self.blocks(),
            "block {number} of {}",
            self.blocks()
        );
        let mut rest = number;
        let mut start: SmallVec<[i64; 6]> = smallvec![0; self.sizes.len()];
        for &d in self.order.iter().rev() {
            start[d] = (rest % self.count(d)) as i64 * self.steps[d];
            rest /= self.count(d);
        }
        let end: SmallVec<[i64; 6]> = (start.iter().zip(&self.steps).zip(&self.sizes))
            .map(|((start, step), size)| (start + step).min(*size))
            .collect();
        Block {
            source: self.source.part(&start, &end),
            destination: self.destination.part(&start, &end),
            start,
        }
    }
}
