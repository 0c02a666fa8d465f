//! How an array gets from one open file into another.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use minormajor_core::plan::{ByteOrders, PlanClass};
use minormajor_core::stream::{Runs, Stream, StreamError};
use minormajor_core::{ArrayShape, Plan};
use minormajor_kernels::MappedFile;

use super::Array;
use super::at::{read_exact_at, write_all_at};
use super::error::{FileError, io_error, no_room};
use super::output::Output;
use super::stream::Streaming;
use crate::memory::PLANNED_HEAP;
use crate::{Progress, Relayout, RunError};

/// The memory that a relayout of files takes at most where nobody says another bound, in bytes.
pub const DEFAULT_MEMORY: usize = 256 << 20;

/// Arrays of fewer bytes, on both sides together, are one block.
const SMALL: usize = 1 << 20;

/// Arrays of fewer bytes, on both sides together, lie in the system's cache most of the time. There
/// longer runs gain less than touching more memory costs.
const CACHED: usize = 512 << 20;

/// What a lane takes at most for an array that lies in the system's cache, in bytes.
const TOUCHED: usize = 32 << 20;

/// What it takes to read and to write a few bytes, however few, of arrays that are moved in one
/// piece.
pub(super) const CALLS: Duration = Duration::from_micros(5);

/// Bytes that are copied at once.
const COPIED: usize = 1 << 20;

/// What starts on such a byte of memory starts on a page.
const PAGE: usize = 4096;

/// An array's bytes in an open file.
pub(super) struct FilePlace<'a> {
    pub path: &'a Path,
    pub file: &'a File,
    /// The byte of the file at which the array begins.
    pub offset: u64,
}

/// How arrays of one shape are moved: in blocks, each through a buffer of its lane.
pub(super) enum Mover {
    /// Bytes that stay as they are, however many.
    Copied,
    /// The whole array is one block.
    Whole(Box<Prepared>),
    /// Cut into blocks, in one pass or in several.
    Streamed(Vec<Streaming>),
    /// Arrays that are not cut into blocks, or not into small ones: strided ones, those of rare
    /// layouts, and those with more padding than memory. Both files are mapped.
    Mapped(Box<Relayout>),
}

/// A plan made ready to move bytes that were read into bytes that will be written.
pub(super) struct Prepared {
    relayout: Relayout,
    /// Whether padding of the value `unknown` is left: it becomes zero, as in a new file.
    leaves_gaps: bool,
}

impl Prepared {
    pub fn new(plan: &Plan) -> Result<Prepared, RunError> {
        Ok(Prepared {
            relayout: Relayout::new(plan)?.threads(1),
            leaves_gaps: plan.bytes_written() < plan.destination_bytes(),
        })
    }

    /// Bytes of heap that a lane takes while it runs, beside its buffer.
    pub fn heap(&self) -> usize {
        self.relayout.extra_memory().heap
    }

    /// Bytes of a lane's buffer.
    pub fn buffer(&self) -> usize {
        let source = self.relayout.source_bytes().next_multiple_of(PAGE);
        source.saturating_add(self.relayout.destination_bytes())
    }

    /// Room for the bytes of both sides.
    pub fn sides<'a>(&self, buffer: &'a mut [u8]) -> (&'a mut [u8], &'a mut [u8]) {
        let source = self.relayout.source_bytes();
        let (from, to) = buffer.split_at_mut(source.next_multiple_of(PAGE));
        (
            &mut from[..source],
            &mut to[..self.relayout.destination_bytes()],
        )
    }

    /// Moves what was read.
    pub fn run(&self, from: &[u8], to: &mut [u8]) -> Result<(), RunError> {
        if self.leaves_gaps {
            to.fill(0);
        }
        self.relayout.run(from, to)
    }
}

impl Mover {
    /// Chooses a way that takes no more than `share` bytes of heap for each of so many lanes.
    ///
    /// # Errors
    ///
    /// [`RunError::Memory`] with what a lane needs at least. Where the bound is nobody's wish, the
    /// array is mapped instead.
    pub fn new(
        source: &Array,
        destination: &Array,
        orders: ByteOrders,
        plan: &Plan,
        (lanes, share): (usize, usize),
        bounded: bool,
    ) -> Result<Mover, RunError> {
        if let (Some(from), Some(to)) = (source.in_layout(), destination.in_layout()) {
            let bytes = [plan.source_bytes(), plan.destination_bytes()];
            if plan.class() == PlanClass::Identity && bytes[0] == bytes[1] {
                return Ok(Mover::Copied);
            }
            let [from_bytes, to_bytes] = bytes.map(|bytes| bytes as usize);
            if from_bytes.saturating_add(to_bytes) <= SMALL {
                let whole = Prepared::new(plan)?;
                if whole.buffer() + whole.heap() <= share {
                    return Ok(Mover::Whole(Box::new(whole)));
                }
            }
            let less = match from_bytes.saturating_add(to_bytes) <= CACHED {
                true => fastest(from, to, orders, (lanes, share.min(TOUCHED)), 1).ok(),
                false => None,
            };
            match less.map_or_else(
                || fastest(from, to, orders, (lanes, share), MOST_PASSES),
                Ok,
            ) {
                Ok(passes) => return Ok(Mover::Streamed(passes)),
                Err(StreamError::TooLittle { least, .. }) if bounded => {
                    return Err(RunError::Memory {
                        limit: share,
                        least: least as usize,
                    });
                }
                // Said to be of one array, so of a layout that is not cut, or not enough.
                Err(_) => {}
            }
        }
        Ok(Mover::Mapped(Box::new(Relayout::new(plan)?)))
    }

    /// How often the array is read and written.
    pub fn passes(&self) -> usize {
        match self {
            Mover::Streamed(passes) => passes.len(),
            _ => 1,
        }
    }

    /// Blocks of a pass over an array of so many bytes; none where it is mapped.
    pub fn blocks(&self, pass: usize, bytes: u64) -> u64 {
        match self {
            Mover::Copied => bytes.div_ceil(COPIED as u64),
            Mover::Whole(_) => 1,
            Mover::Streamed(passes) => passes[pass].stream().blocks(),
            Mover::Mapped(_) => 0,
        }
    }

    /// Bytes that a pass writes, of an array of so many.
    pub fn bytes(&self, pass: usize, bytes: u64) -> u64 {
        match self {
            Mover::Streamed(passes) => passes[pass].stream().destination_bytes(),
            _ => bytes,
        }
    }

    /// Whether it is moved in one piece, if it has no more than so many bytes.
    pub fn is_one(&self) -> bool {
        matches!(self, Mover::Copied | Mover::Whole(_))
    }

    /// Moves the bytes of an array that [is one](Mover::is_one).
    pub fn run_in_memory(&self, from: &[u8], to: &mut [u8]) -> Result<(), RunError> {
        match self {
            Mover::Whole(whole) => whole.run(from, to)?,
            _ => to.copy_from_slice(from),
        }
        Ok(())
    }

    /// About how long one lane takes for an array of so many bytes, where both files lie in the
    /// system's cache; that of an array that [is one](Mover::is_one) without [`CALLS`].
    pub fn predicted(&self, bytes: u64) -> Duration {
        Duration::from_nanos(match self {
            Mover::Streamed(passes) => passes.iter().map(|pass| pass.stream().nanoseconds()).sum(),
            // A copy of long runs.
            _ => bytes,
        })
    }

    /// Bytes of a lane's buffer.
    pub fn buffer(&self) -> usize {
        match self {
            Mover::Copied => COPIED,
            Mover::Whole(whole) => whole.buffer(),
            Mover::Streamed(passes) => passes.iter().map(Streaming::buffer).max().unwrap_or(0),
            Mover::Mapped(_) => 0,
        }
    }

    /// Bytes of heap that a lane takes beside its buffer.
    pub fn heap(&self) -> usize {
        match self {
            Mover::Copied | Mover::Mapped(_) => 0,
            Mover::Whole(whole) => whole.heap(),
            Mover::Streamed(passes) => passes.iter().map(Streaming::heap).max().unwrap_or(0),
        }
    }

    /// Bytes of heap that all lanes share.
    pub fn shared_heap(&self, plan: &Plan) -> usize {
        let own = planned_heap(plan);
        match self {
            // What is planned and what is made ready of it together take less than is planned for.
            Mover::Copied | Mover::Whole(_) | Mover::Mapped(_) => own,
            Mover::Streamed(passes) => {
                own + passes.iter().map(Streaming::planned_heap).sum::<usize>()
            }
        }
    }

    /// Moves one block of a pass over an array of so many bytes, and says how many bytes it wrote.
    /// `buffer` has what [`buffer`](Mover::buffer) says.
    pub fn run(
        &self,
        pass: usize,
        number: u64,
        bytes: u64,
        buffer: &mut [u8],
        source: &FilePlace<'_>,
        destination: &FilePlace<'_>,
    ) -> Result<u64, FileError> {
        match self {
            Mover::Copied => {
                let at = number * COPIED as u64;
                let part = &mut buffer[..(bytes - at).min(COPIED as u64) as usize];
                source.read(part, at)?;
                destination.write(part, at)?;
                Ok(part.len() as u64)
            }
            Mover::Whole(whole) => {
                let (from, to) = whole.sides(buffer);
                source.read(from, 0)?;
                whole
                    .run(from, to)
                    .map_err(|error| destination.refused(error))?;
                destination.write(to, 0)?;
                Ok(to.len() as u64)
            }
            Mover::Streamed(passes) => passes[pass].run(number, buffer, source, destination),
            Mover::Mapped(_) => Ok(0),
        }
    }
}

/// The most passes: each makes runs longer by less than the one before.
const MOST_PASSES: usize = 3;

/// The passes that are predicted to be the fastest: one, unless its runs are very short.
fn fastest(
    source: &ArrayShape,
    destination: &ArrayShape,
    orders: ByteOrders,
    (lanes, share): (usize, usize),
    most: usize,
) -> Result<Vec<Streaming>, StreamError> {
    let once = Streaming::new(source, destination, orders, share, lanes);
    if most < 2 || matches!(&once, Err(StreamError::Plan(_) | StreamError::Whole { .. })) {
        return Ok(vec![once?]);
    }
    let Some(middle) = Stream::between(source, destination, share as u64)? else {
        return Ok(vec![once?]);
    };
    // Elements change on the side that makes the array between the smaller one.
    let between = match middle.element_type() == destination.element_type() {
        true => orders.destination,
        false => orders.source,
    };
    let pair = |source, destination| ByteOrders {
        source,
        destination,
    };
    let (first, second) = (
        pair(orders.source, between),
        pair(between, orders.destination),
    );
    let several = fastest(source, &middle, first, (lanes, share), most - 1).and_then(|mut to| {
        to.extend(fastest(
            &middle,
            destination,
            second,
            (lanes, share),
            most - to.len(),
        )?);
        Ok(to)
    });
    let time = |passes: &[Streaming]| -> u64 {
        let times = passes.iter().map(|pass| pass.stream().nanoseconds());
        times.fold(0, u64::saturating_add)
    };
    match (once, several) {
        (Ok(once), Ok(several)) if time(&several) < once.stream().nanoseconds() => Ok(several),
        (Ok(once), _) => Ok(vec![once]),
        (Err(_), Ok(several)) => Ok(several),
        (Err(error), Err(_)) => Err(error),
    }
}

impl FilePlace<'_> {
    /// Fills a buffer with bytes of the array.
    pub fn read(&self, buffer: &mut [u8], at: u64) -> Result<(), FileError> {
        let read = read_exact_at(self.file, buffer, self.offset + at);
        read.map_err(|error| match error.kind() {
            // It was as long as it has to be when it was opened.
            ErrorKind::UnexpectedEof => FileError::Changed {
                path: self.path.to_owned(),
            },
            _ => io_error(self.path, "read it")(error),
        })
    }

    /// Writes bytes of the array.
    pub fn write(&self, buffer: &[u8], at: u64) -> Result<(), FileError> {
        let write = write_all_at(self.file, buffer, self.offset + at);
        write.map_err(|error| match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                no_room(self.path, buffer.len() as u64)(error)
            }
            _ => io_error(self.path, "write it")(error),
        })
    }

    /// Fills a buffer with runs of the array's bytes, one behind the other.
    pub fn read_runs(&self, buffer: &mut [u8], runs: &Runs) -> Result<(), FileError> {
        let mut rest = buffer;
        for (start, bytes) in runs {
            let (run, behind) = rest.split_at_mut(bytes as usize);
            self.read(run, start)?;
            rest = behind;
        }
        Ok(())
    }

    /// Asks the system for runs that will be read: a disk is faster where it may choose among
    /// many.
    pub fn expect_runs(&self, runs: &Runs) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        for (start, bytes) in runs {
            use rustix::fs::{Advice, fadvise};
            // A hint.
            let length = std::num::NonZeroU64::new(bytes);
            let _ = fadvise(self.file, self.offset + start, length, Advice::WillNeed);
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = runs;
    }

    pub fn refused(&self, source: RunError) -> FileError {
        FileError::Run {
            path: self.path.to_owned(),
            source,
        }
    }
}

/// Bytes of heap that a plan takes, or what is made ready of it.
pub(super) fn planned_heap(plan: &Plan) -> usize {
    (1 + plan.boxes().len() + plan.fills().len()) * PLANNED_HEAP
}

/// Moves an array through maps of both files.
pub(super) fn run_mapped(
    relayout: &Relayout,
    source: &FilePlace<'_>,
    destination: &FilePlace<'_>,
    output: &Output,
    progress: Progress<'_>,
) -> Result<(), FileError> {
    let mapped =
        MappedFile::open_read(source.file).map_err(io_error(source.path, "map it into memory"))?;
    let mut map = output.map()?;
    let data = &mut map[destination.offset as usize..];
    relayout
        .run_with_progress(&mapped[source.offset as usize..], data, progress)
        .map_err(|error| source.refused(error))
}
