//! Whether an output holds what its input does: both are read again and compared.
//!
//! Every element is compared, bit by bit, so nothing is left to the luck of a checksum. Blocks of
//! both sides are brought into one order, major to minor, each by a plan of its own: neither is
//! the plan that wrote the output, unless the output itself lies major to minor. Elements that
//! the relayout converts are converted again, and padding is not compared.
//!
//! Arrays that can't be cut into blocks are brought into that order in files without a name.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use flate2::Crc;
use minormajor_core::plan::ByteOrders;
use minormajor_core::stream::{Part, Stream, StreamError};
use minormajor_core::{ArrayShape, Layout, Place, Plan};
use minormajor_kernels::{MappedFile, MappedFileMut};

use super::Array;
use super::array::Summed;
use super::at::read_exact_at;
use super::error::{Difference, FileError, io_error, no_room};
use super::lanes::WORTH_A_LANE;
use super::mover::{FilePlace, planned_heap};
use super::output::{directory_of, reserve};
use crate::memory::THREAD_HEAP;
use crate::threads::{self, team};
use crate::{Relayout, RunError};

/// Compares an array of the output with the input's.
///
/// # Errors
///
/// [`FileError::Differs`] with the first element that does, in the order of the output's blocks;
/// [`FileError::EntryChecksum`] for an entry of an archive that is not what it claims.
pub(super) fn verify(
    (source, from): (&Array, &FilePlace<'_>),
    (destination, to): (&Array, &FilePlace<'_>),
    memory: usize,
    threads: usize,
) -> Result<(), FileError> {
    if let Some(summed) = &source.summed {
        check_sum(from, summed, &source.name)?;
    }
    let pair = Pair {
        source,
        destination,
        from,
        to,
    };
    if let (Some(one), Some(other)) = (source.in_layout(), destination.in_layout()) {
        let most = threads::count(threads).min(memory / WORTH_A_LANE).max(1);
        let lanes = (1..=most).rev();
        let mut streams = lanes.map(|lanes| (pair.cut(one, other, memory / lanes), lanes));
        if let Some((Ok(stream), lanes)) = streams.find(|(stream, _)| stream.is_ok()) {
            return pair.by_blocks(&stream, lanes);
        }
    }
    pair.whole(memory, threads)
}

/// Reads an entry of an archive, and compares its sum with the one that it claims.
fn check_sum(from: &FilePlace<'_>, summed: &Summed, name: &str) -> Result<(), FileError> {
    let mut crc = Crc::new();
    let mut buffer = vec![0; 64 << 10];
    let mut at = summed.start;
    let end = summed.start + summed.size;
    while at < end {
        let part = (end - at).min(buffer.len() as u64) as usize;
        read_exact_at(from.file, &mut buffer[..part], at)
            .map_err(io_error(from.path, "read it"))?;
        crc.update(&buffer[..part]);
        at += part as u64;
    }
    match crc.sum() == summed.crc {
        true => Ok(()),
        false => Err(FileError::EntryChecksum {
            path: from.path.to_owned(),
            entry: name.to_owned(),
            expected: summed.crc,
            found: crc.sum(),
        }),
    }
}

/// An array on both sides.
struct Pair<'a> {
    source: &'a Array,
    destination: &'a Array,
    from: &'a FilePlace<'a>,
    to: &'a FilePlace<'a>,
}

/// The order in which sides are compared: the output's elements, major to minor.
fn ordered(elements: &ArrayShape, sizes: &[i64]) -> Option<ArrayShape> {
    let bits = elements.layout()?.element_size_in_bits();
    let layout = Layout::descending(sizes.len());
    let layout = layout.with_element_size_in_bits(bits).ok()?;
    ArrayShape::new(elements.element_type(), sizes.iter().copied())
        .and_then(|shape| shape.with_layout(layout))
        .ok()
}

impl Pair<'_> {
    /// The byte orders of the ways from the source, and from the output.
    fn orders(&self) -> [ByteOrders; 2] {
        [self.source.order, self.destination.order].map(|source| ByteOrders {
            source,
            destination: self.destination.order,
        })
    }

    /// Blocks that are compared in so much memory.
    fn cut(
        &self,
        source: &ArrayShape,
        destination: &ArrayShape,
        memory: usize,
    ) -> Result<Stream, StreamError> {
        let room = memory.saturating_sub(THREAD_HEAP) as u64;
        let mut blocks = room / 2;
        loop {
            let stream = Stream::new(source, destination, blocks)?;
            let takes = stream.block_bytes() + self.beside(&stream)? as u64;
            if takes <= room {
                return Ok(stream);
            }
            blocks = blocks.saturating_sub(takes - room).min(blocks / 8 * 7);
        }
    }

    /// Bytes beside those of a block: both sides in one order, and what the kernels take.
    fn beside(&self, stream: &Stream) -> Result<usize, StreamError> {
        let mut most = 0;
        for number in stream.corners() {
            let block = stream.block(number);
            let Some(ordered) = ordered(&block.destination.shape, &block.sizes()) else {
                continue;
            };
            let sides = [&block.source.shape, &block.destination.shape];
            let mut heap = 2 * ordered.allocated_bytes().unwrap_or(0) as usize;
            for (side, orders) in sides.into_iter().zip(self.orders()) {
                let plan = Plan::converting(side, &ordered, orders)?;
                heap += planned_heap(&plan);
                heap += Relayout::new(&plan).map_or(0, |run| run.threads(1).extra_memory().heap);
            }
            most = most.max(heap);
        }
        Ok(most)
    }

    fn by_blocks(&self, stream: &Stream, lanes: usize) -> Result<(), FileError> {
        let next = AtomicU64::new(0);
        let failed = Mutex::new(None);
        team(lanes, |_| {
            let mut lane = Lane::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= stream.blocks() {
                    return;
                }
                if let Err(error) = self.compare(&mut lane, stream, number) {
                    // Nobody takes another block.
                    next.store(stream.blocks(), Ordering::Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.get_or_insert(error);
                }
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn compare(&self, lane: &mut Lane, stream: &Stream, number: u64) -> Result<(), FileError> {
        let block = stream.block(number);
        let sizes = block.sizes();
        let Some(ordered) = ordered(&block.destination.shape, &sizes) else {
            return Ok(());
        };
        let [first, second] = self.orders();
        let expected = buffer(&mut lane.expected, bytes_of(&ordered));
        ordered_part(
            &self.source.name,
            self.from,
            &block.source,
            &ordered,
            first,
            &mut lane.read,
            expected,
        )?;
        let found = buffer(&mut lane.found, bytes_of(&ordered));
        ordered_part(
            &self.source.name,
            self.to,
            &block.destination,
            &ordered,
            second,
            &mut lane.read,
            found,
        )?;
        self.same(expected, found, &ordered, &block.start)
    }

    /// Both sides as a whole, in files without a name.
    fn whole(&self, memory: usize, threads: usize) -> Result<(), FileError> {
        let sizes = self.destination.shape.dimensions().iter();
        let sizes: Vec<i64> = sizes.filter_map(|size| size.bound()).collect();
        let Some(ordered) = ordered(&self.destination.shape, &sizes) else {
            return Ok(());
        };
        let [first, second] = self.orders();
        let moved = |array: &Array, place: &FilePlace<'_>, orders| {
            let ordered = (&ordered, orders);
            ordered_whole(
                &array.name,
                array.place(),
                place,
                ordered,
                self.to.path,
                memory,
                threads,
            )
        };
        let expected = moved(self.source, self.from, first)?;
        let found = moved(self.destination, self.to, second)?;
        self.same(&expected, &found, &ordered, &vec![0; sizes.len()])
    }

    /// Says which element is the first that differs.
    fn same(
        &self,
        expected: &[u8],
        found: &[u8],
        ordered: &ArrayShape,
        start: &[i64],
    ) -> Result<(), FileError> {
        if expected == found {
            return Ok(());
        }
        let mut pairs = expected.iter().zip(found);
        let at = pairs.position(|(one, other)| one != other).unwrap_or(0);
        let bits = ordered.element_bits().max(1) as usize;
        let mut position = (at * 8 / bits) as i64;
        let bytes = (position as usize * bits / 8)..((position as usize + 1) * bits).div_ceil(8);
        let mut index = start.to_vec();
        for (d, size) in ordered.dimensions().iter().enumerate().rev() {
            let size = size.bound().unwrap_or(1).max(1);
            index[d] += position % size;
            position /= size;
        }
        Err(FileError::Differs {
            path: self.to.path.to_owned(),
            source: Box::new(Difference {
                array: self.destination.name.clone(),
                index,
                expected: expected[bytes.clone()].to_vec(),
                found: found[bytes].to_vec(),
            }),
        })
    }
}

/// What one thread has.
#[derive(Default)]
struct Lane {
    read: Vec<u8>,
    expected: Vec<u8>,
    found: Vec<u8>,
}

/// Reads a block's runs, and brings them into order.
fn ordered_part(
    name: &str,
    place: &FilePlace<'_>,
    part: &Part,
    ordered: &ArrayShape,
    orders: ByteOrders,
    read: &mut Vec<u8>,
    to: &mut [u8],
) -> Result<(), FileError> {
    let plan = planned((place.path, name), (&part.shape).into(), ordered, orders)?;
    let read = buffer(read, (part.runs.bytes() * part.runs.count()) as usize);
    place.read_runs(read, &part.runs)?;
    to.fill(0);
    let run = Relayout::new(&plan).and_then(|relayout| relayout.threads(1).run(read, to));
    run.map_err(failed(place.path))
}

/// Brings a whole array into order, from file to file.
fn ordered_whole(
    name: &str,
    array: Place<'_>,
    place: &FilePlace<'_>,
    (ordered, orders): (&ArrayShape, ByteOrders),
    output: &Path,
    memory: usize,
    threads: usize,
) -> Result<MappedFileMut, FileError> {
    let plan = planned((place.path, name), array, ordered, orders)?;
    let relayout = Relayout::new(&plan)
        .and_then(|relayout| relayout.threads(threads).memory_limit(memory))
        .map_err(failed(place.path))?;
    let folder = directory_of(output);
    let file =
        tempfile::tempfile_in(folder).map_err(io_error(folder, "make a file to compare in"))?;
    let mapped =
        MappedFile::open_read(place.file).map_err(io_error(place.path, "map it into memory"))?;
    reserve(&file, bytes_of(ordered) as u64).map_err(no_room(folder, bytes_of(ordered) as u64))?;
    let mut to = MappedFileMut::open_write(&file, bytes_of(ordered) as u64)
        .map_err(io_error(folder, "map a file to compare in"))?;
    relayout
        .run(&mapped[place.offset as usize..], &mut to)
        .map_err(failed(place.path))?;
    Ok(to)
}

fn planned(
    (path, name): (&Path, &str),
    array: Place<'_>,
    ordered: &ArrayShape,
    orders: ByteOrders,
) -> Result<Plan, FileError> {
    Plan::converting(array, ordered, orders).map_err(|source| FileError::Plan {
        path: path.to_owned(),
        array: name.into(),
        source: Box::new(source),
    })
}

fn failed(path: &Path) -> impl FnOnce(RunError) -> FileError + '_ {
    move |source| FileError::Run {
        path: path.to_owned(),
        source,
    }
}

fn bytes_of(shape: &ArrayShape) -> usize {
    shape.allocated_bytes().unwrap_or(0) as usize
}

/// Room for so many bytes, in a buffer that is kept.
fn buffer(kept: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    if kept.len() < bytes {
        // Grown in one piece: to double it would take more than was promised.
        *kept = vec![0; bytes];
    }
    &mut kept[..bytes]
}
