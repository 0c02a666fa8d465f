//! The canonical form of a loop nest, where all size arithmetic is checked.

use smallvec::SmallVec;

use crate::error::{Buffer, NestError};
use crate::simd::LINE;

/// The loops of a nest, outermost first.
pub(crate) type Loops = SmallVec<[Loop; 4]>;

/// One loop of a nest. Strides are in bytes and signed.
///
/// # Example
///
/// ```
/// use minormajor_kernels::Loop;
/// // Four elements that lie 12 bytes apart in the source and side by side in the destination.
/// let column = Loop { extent: 4, source: 12, destination: 4 };
/// # assert_eq!(column.extent, 4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Loop {
    /// How many times the loop runs.
    pub extent: usize,
    /// Bytes from one iteration to the next in the source; zero repeats, negative walks back.
    pub source: isize,
    /// Bytes from one iteration to the next in the destination.
    pub destination: isize,
}

/// Loops of extents and strides of the source and the destination, outermost first, as tests write them.
#[cfg(test)]
pub(crate) fn loops_of(loops: &[(usize, isize, isize)]) -> Loops {
    let of = |&(extent, source, destination): &_| Loop {
        extent,
        source,
        destination,
    };
    loops.iter().map(of).collect()
}

/// A checked and canonical nest.
///
/// Invariants, which `new` establishes and everything else relies on:
/// - `width` is that of an element in the destination;
/// - no extent is 0 (then `bytes` is 0 and `loops` empty) or 1;
/// - destination strides are not negative, and sorted from large to small;
/// - no two neighbouring loops could be one;
/// - every byte that an iteration touches lies in `0..source_end` of the source and in `0..destination_end` of
///   the destination, and both ends are at most `isize::MAX`, so sums of a stride times an index below its extent
///   never overflow `isize`;
/// - `bytes`, elements times width, is at most `isize::MAX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nest {
    pub(crate) width: usize,
    /// Byte offset of the first element (all indices zero).
    pub(crate) source: isize,
    pub(crate) destination: isize,
    pub(crate) loops: Loops,
    pub(crate) source_end: usize,
    pub(crate) destination_end: usize,
    pub(crate) bytes: usize,
}

impl Nest {
    /// A nest of elements that have the same width, 1, 2, 4, 8 or 16 bytes, on both sides.
    pub(crate) fn new(
        width: usize,
        source: usize,
        destination: usize,
        loops: &[Loop],
    ) -> Result<Nest, NestError> {
        Nest::check_width(width)?;
        Nest::of_widths((width, width), source, destination, loops)
    }

    /// Whether elements may have this width.
    pub(crate) fn check_width(width: usize) -> Result<(), NestError> {
        match width {
            1 | 2 | 4 | 8 | 16 => Ok(()),
            _ => Err(NestError::Width { width }),
        }
    }

    /// A nest of elements of any width on either side, in any unit: offsets, strides, widths, ends and `bytes` count
    /// in it.
    pub(crate) fn of_widths(
        (source_width, width): (usize, usize),
        source: usize,
        destination: usize,
        loops: &[Loop],
    ) -> Result<Nest, NestError> {
        let mut nest = Nest::empty(width);
        nest.set((source_width, width), source, destination, loops)?;
        Ok(nest)
    }

    /// A nest of nothing.
    #[inline]
    pub(crate) fn empty(width: usize) -> Nest {
        Nest {
            width,
            source: 0,
            destination: 0,
            loops: Loops::new(),
            source_end: 0,
            destination_end: 0,
            bytes: 0,
        }
    }

    /// Makes an empty nest what [`new`](Nest::new) returns, in its place.
    pub(crate) fn set(
        &mut self,
        (source_width, width): (usize, usize),
        source: usize,
        destination: usize,
        loops: &[Loop],
    ) -> Result<(), NestError> {
        if loops.iter().any(|l| l.extent == 0) {
            return Ok(());
        }
        let source_end = reach(
            Buffer::Source,
            source_width,
            source,
            loops.iter().map(|l| (l.extent, l.source)),
        )?;
        let destination_end = reach(
            Buffer::Destination,
            width,
            destination,
            loops.iter().map(|l| (l.extent, l.destination)),
        )?;
        let too_big = NestError::Overflow {
            buffer: Buffer::Destination,
        };
        let bytes = loops
            .iter()
            .try_fold(width, |bytes, l| bytes.checked_mul(l.extent))
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or(too_big)?;

        // From here on no arithmetic can overflow: `reach` bounded every offset by isize::MAX, so also every
        // (extent - 1) * stride, and a stride whose extent is at least 2.
        self.source = source as isize;
        self.destination = destination as isize;
        (self.source_end, self.destination_end) = (source_end, destination_end);
        self.bytes = bytes;
        for l in loops.iter().filter(|l| l.extent > 1) {
            let mut l = *l;
            if l.destination < 0 {
                let last = (l.extent - 1) as isize;
                self.source += last * l.source;
                self.destination += last * l.destination;
                l.source = -l.source;
                l.destination = -l.destination;
            }
            self.loops.push(l);
        }
        sort(&mut self.loops);
        merge(&mut self.loops);
        Ok(())
    }
}

impl Nest {
    /// Whether all rows begin on lines of so many units, on both sides,
    pub(crate) fn lined(&self, line: usize) -> bool {
        self.on_lines(line, self.source, |l| l.source) && self.written_on_lines(line)
    }

    /// or in the destination.
    pub(crate) fn written_on_lines(&self, line: usize) -> bool {
        self.on_lines(line, self.destination, |l| l.destination)
    }

    fn on_lines(&self, line: usize, start: isize, stride: fn(&Loop) -> isize) -> bool {
        let strides = self.loops.iter().map(|l| stride(l).unsigned_abs());
        let mut far = strides.filter(|&stride| stride >= line);
        start.unsigned_abs().is_multiple_of(line) && far.all(|stride| stride.is_multiple_of(line))
    }

    /// How often each element of the source is written.
    pub(crate) fn repeated(&self) -> usize {
        let still = self.loops.iter().filter(|l| l.source == 0);
        still.map(|l| l.extent).product()
    }

    /// As `bytes`, with what lies between elements where gaps are less than a line: what memory brings and takes, about.
    pub(crate) fn touched(&self) -> usize {
        let touched = |stride| self.touched_by(stride) / 2;
        (touched(|l: &Loop| l.source) + touched(|l: &Loop| l.destination)).max(self.bytes)
    }

    /// The bytes of a side's elements, with gaps between them of less than a line.
    fn touched_by(&self, stride: fn(&Loop) -> isize) -> usize {
        let mut loops: Loops = self
            .loops
            .iter()
            .copied()
            .filter(|l| stride(l) != 0)
            .collect();
        loops.sort_unstable_by_key(|l| stride(l).unsigned_abs());
        let (mut reach, mut count) = (self.width, 1usize);
        for l in loops {
            let step = stride(&l).unsigned_abs();
            if count == 1 && step < reach + LINE {
                reach += (l.extent - 1) * step;
            } else {
                count = count.saturating_mul(l.extent);
            }
        }
        count.saturating_mul(reach)
    }
}

/// The end of what a side touches, in bytes from the buffer's start; an error if it starts before byte 0 or ends
/// after `isize::MAX`.
fn reach(
    buffer: Buffer,
    width: usize,
    base: usize,
    loops: impl Iterator<Item = (usize, isize)> + Clone,
) -> Result<usize, NestError> {
    // Mostly nothing overflows.
    let near = || {
        let mut lowest = isize::try_from(base).ok()?;
        let mut end = lowest.checked_add_unsigned(width)?;
        for (extent, stride) in loops.clone() {
            let span = isize::try_from(extent - 1).ok()?.checked_mul(stride)?;
            let sum = if span < 0 { &mut lowest } else { &mut end };
            *sum = sum.checked_add(span)?;
        }
        (lowest >= 0).then_some(end as usize)
    };
    near().map_or_else(|| far_reach(buffer, width, base, loops.clone()), Ok)
}

/// As [`reach`], whatever the numbers are.
#[cold]
fn far_reach(
    buffer: Buffer,
    width: usize,
    base: usize,
    loops: impl Iterator<Item = (usize, isize)>,
) -> Result<usize, NestError> {
    let (mut lowest, mut end) = (base as i128, base as i128 + width as i128);
    for (extent, stride) in loops {
        // extent - 1 < 2^64 and |stride| <= 2^63, so the product fits i128; the sums are checked.
        let span = (extent as i128 - 1) * stride as i128;
        let sum = if span < 0 { &mut lowest } else { &mut end };
        *sum = sum
            .checked_add(span)
            .ok_or(NestError::Overflow { buffer })?;
    }
    if lowest < 0 {
        return Err(NestError::BeforeStart { buffer, lowest });
    }
    isize::try_from(end)
        .map(|end| end as usize)
        .map_err(|_| NestError::Overflow { buffer })
}

/// Puts loops in the order of their strides, from large to small. They are few: each goes where it belongs.
fn sort(loops: &mut [Loop]) {
    let strides = |l: &Loop| (l.destination, l.source.unsigned_abs());
    for i in 1..loops.len() {
        let l = loops[i];
        let mut place = i;
        while place > 0 && strides(&loops[place - 1]) < strides(&l) {
            loops[place] = loops[place - 1];
            place -= 1;
        }
        loops[place] = l;
    }
}

/// Whether no loop moves in the source.
pub(crate) fn stays(loops: &[Loop]) -> bool {
    loops.iter().all(|l| l.source == 0)
}

/// Joins neighbours that are one loop: (3, 8, 40) around (2, 4, 20) is (6, 4, 20).
pub(crate) fn merge(loops: &mut Loops) {
    let kept = merge_in_place(loops);
    loops.truncate(kept);
}

/// Brings joined loops to the front; returns how many they are.
fn merge_in_place(loops: &mut [Loop]) -> usize {
    let mut kept = 0;
    for i in 0..loops.len() {
        let inner = loops[i];
        if kept > 0 {
            let outer = loops[kept - 1];
            // An extent of at least 2 whose loop is within reach fits isize, unless the stride is 0.
            let extent = isize::try_from(inner.extent).unwrap_or(isize::MAX);
            let fits = |outer: isize, inner: isize| inner.checked_mul(extent) == Some(outer);
            if fits(outer.source, inner.source) && fits(outer.destination, inner.destination) {
                // The product of all extents times the width is at most isize::MAX.
                loops[kept - 1] = Loop {
                    extent: outer.extent * inner.extent,
                    ..inner
                };
                continue;
            }
        }
        loops[kept] = inner;
        kept += 1;
    }
    kept
}
