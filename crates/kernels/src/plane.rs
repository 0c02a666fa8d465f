//! Transposes of planes: one axis is contiguous in the destination, the other in the source.
//!
//! Element (p, q) lies at `rows(p) + q * width` in the source and at `columns(q) + p * width` in the destination. An axis
//! is one loop or several joined, so p and q run across loops of any extents.
//!
//! ```text
//! for a strip of 32 to 256 rows:                     pointers to the rows are made once
//!     for each block of columns, walking forward:   a cache line of every row is read once, whole
//!         for each block of rows in the strip:      transposed in registers
//!             write a vector to each column         consecutive blocks fill consecutive lines
//! ```
//!
//! Above the cache, what matters is that every source line is asked for early (see [`Ahead`](crate::ahead::Ahead); how many rows a strip has
//! depends on how many the CPU's own prefetcher follows) and that every destination line is written once, whole, by
//! streaming stores. Columns that do not start on lines are staged: see [`staged`](crate::staged). Planes in the caches, and those
//! that streaming does not suit, are moved by ordinary stores: see [`cached`](crate::cached).

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::around::Around;
use crate::axis::{Axis, Pointers};
use crate::cached::{Ways, cached};
use crate::order::{Mixed, Order, Same};
use crate::packed::{self, PACKED, Packed};
use crate::pieces::{MaybeRoom, NoRoom, Room};
use crate::sequence::stage::Aside;
use crate::simd::{LINE, Set, Vector};
use crate::staged::Staged;
use crate::strips::Strips;
use crate::tuning::{FAR, is_zen5};

/// The least bytes of a run that is asked for from front to back: up to a sixth of them would be others'.
const RUN: usize = 256 << 10;
/// Bytes of the source that rows should have to be followed by the CPU's own prefetcher. Longer ones are no run to be asked
/// for from front to back: the next strip of 8 KiB rows would be a megabyte away, and gone from the cache at its turn.
pub(crate) const WALK: usize = 2 << 10;
/// Bytes of a page, and of the slots of a first-level cache: rows a multiple of it apart push each other out.
pub(crate) const PAGE: usize = 4096;
/// On a Zen 5, the fewest rows that are read in pieces,
const FEWEST: usize = 32;
/// and the least bytes of all: before the first piece is copied, nothing is written.
pub(crate) const LARGE: usize = 4 << 20;
/// The most places of an axis that has a table.
const TABLE: usize = 2048;

/// Where a plane lies. Handed on by reference: it is written field by field, and a copy made right then, of two fields at once,
/// would wait until both are in the cache.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) source: *const u8,
    pub(crate) destination: *mut u8,
    /// The source of the plane that will be moved after this one: a hint for prefetching, never read.
    pub(crate) upcoming: *const u8,
    /// What is done beside.
    pub(crate) aside: Option<NonNull<Aside>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Plane {
    /// Source offsets by place in the destination's runs.
    pub(crate) rows: Axis,
    /// Destination offsets by place in the source's runs.
    pub(crate) columns: Axis,
    pub(crate) stream: bool,
    /// Whether it is written by ordinary stores that wait for their lines (see [`waits`](crate::tuning::waits)), and the whole
    /// of which it may be a part fills more than two thirds of the second-level cache, both sides together.
    pub(crate) far: bool,
    /// Whether it is written by way of a [stage](crate::crowded).
    pub(crate) crowded: bool,
    /// How it is moved by ordinary stores.
    pub(crate) ways: Ways,
    /// Whether it streams, and the whole of which it may be a part is more than the last-level cache holds.
    pub(crate) large: bool,
    /// Whether its rows are read in [pieces](crate::pieces); they have a line or more.
    pub(crate) pieced: bool,
    /// The most rows with which it is packed: see [`packed_rows`](crate::packed::packed_rows).
    pub(crate) most: usize,
    /// What lies behind every column.
    pub(crate) gap: Option<Gap>,
    /// The loops around it; one iteration if it streams.
    pub(crate) around: Around,
    /// All offsets of both axes, where they are few and not those of two single loops; otherwise empty.
    pub(crate) tables: (Box<[isize]>, Box<[isize]>),
    /// What becomes of an element's bytes.
    pub(crate) order: Option<Mixed>,
}

/// Padding behind every column of a plane that streams, which is filled when the column is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    /// Whole elements.
    pub(crate) bytes: usize,
    /// What is in it, again and again.
    pub(crate) pattern: [u8; 16],
}

impl Gap {
    /// # Safety
    ///
    /// As many bytes as it has are writable.
    pub(crate) unsafe fn fill(&self, to: *mut u8) {
        for at in (0..self.bytes).step_by(self.pattern.len()) {
            let length = self.pattern.len().min(self.bytes - at);
            // SAFETY: `at + length` is at most the bytes that the caller says are writable, and `length` at most those of the
            // pattern, which is no part of what is written.
            unsafe { to.add(at).copy_from(self.pattern.as_ptr(), length) };
        }
    }
}

impl Plane {
    /// Bytes of a column of elements of so many, with the gap behind it.
    pub(crate) fn pitch(&self, width: usize) -> usize {
        self.rows.len * width + self.gap.map_or(0, |gap| gap.bytes)
    }

    /// Fills the gaps.
    ///
    /// # Safety
    ///
    /// As `run`.
    #[inline(never)]
    unsafe fn fill_gaps(&self, gap: Gap, width: usize, destination: *mut u8) {
        let (mut walk, mut to) = (self.columns.cursor(0), Pointers::<LINE>::new());
        for first in (0..self.columns.len).step_by(LINE) {
            to.take(&mut walk, destination, LINE.min(self.columns.len - first));
            for to in to.iter() {
                // SAFETY: the pointers are those of the plane's columns, each of which ends so many bytes on; the gap behind it is
                // writable by the caller's promise.
                unsafe { gap.fill(to.cast_mut().add(self.rows.len * width)) };
            }
        }
    }

    /// Chooses whether its rows are read in pieces. A line of each row in turn is as good where columns are staged, unless rows
    /// push each other out of the caches, and where so few elements of 8 bytes are a strip.
    pub(crate) fn choose_pieces(&mut self, width: usize) {
        let (rows, row) = (self.rows.len, self.columns.len * width);
        let much = rows >= FEWEST && row >= WALK && rows * row >= LARGE;
        self.pieced = self.large && much && is_zen5() && self.suits_pieces(width);
    }

    fn suits_pieces(&self, width: usize) -> bool {
        let apart = self.rows.first_stride().unsigned_abs();
        let crowded = apart.is_multiple_of(PAGE);
        let on_lines = self.columns.is_multiple_of(LINE as isize);
        match width {
            1 | 2 => on_lines || crowded,
            4 => on_lines || crowded || self.is_side_by_side(width),
            8 => apart >= FAR || crowded,
            _ => false,
        }
    }

    /// Whether its columns follow one another, and are few enough rows to be packed.
    fn is_side_by_side(&self, width: usize) -> bool {
        let pitch = self.pitch(width);
        self.columns.first_stride() == pitch as isize && pitch <= self.most * width
    }

    /// Makes the tables, where there are to be some.
    pub(crate) fn list(&mut self) {
        let (rows, columns) = (&self.rows, &self.columns);
        let single = rows.single_stride().is_some() && columns.single_stride().is_some();
        if !single && rows.len.max(columns.len) <= TABLE {
            self.tables = (rows.offsets(), columns.offsets());
        }
    }

    /// Whether its columns lie side by side, and with no gaps on lines, where the first begins `shift` bytes behind a line.
    fn packs<const W: usize>(&self, shift: usize) -> bool {
        let pitch = self.pitch(W);
        let on_lines =
            shift == 0 && pitch.is_multiple_of(LINE) && self.columns.is_multiple_of(LINE as isize);
        self.is_side_by_side(W) && (self.gap.is_some() || !on_lines)
    }

    /// Whether its columns are vectors of so many bytes that lie side by side, each where such a vector may be streamed.
    fn fills<const W: usize>(&self, vector: usize, shift: usize) -> bool {
        let column = self.rows.len * W;
        column == vector
            && shift.is_multiple_of(vector)
            && self.columns.first_stride() == column as isize
            && self.columns.is_multiple_of(column as isize)
    }

    /// Whether strips of rows of so many bytes are read from front to back, and what comes after them too, mostly.
    pub(crate) fn is_run(&self, bytes: usize, at: &At) -> bool {
        let run = self.rows.side_by_side(bytes) * bytes;
        let whole = self.rows.len * bytes;
        let follows = run == whole && at.source.wrapping_add(run) == at.upcoming;
        bytes <= WALK && (run >= RUN || follows)
    }

    /// Whether there is no block of vectors of so many bytes in it.
    pub(crate) fn narrow(&self, width: usize, vector: usize) -> bool {
        self.columns.len * width < 16 || self.rows.len * width < vector
    }
}

/// Moves a plane, once for each iteration around it, with the vectors of an instruction set.
///
/// # Safety
///
/// The CPU has the set. All bytes from the plane's lowest element to its highest one are readable from `source`, and all of
/// its elements and gaps writable from `destination`, in every iteration, and the two do not overlap.
pub(crate) unsafe fn run<S: Set>(plane: &Plane, width: usize, at: &At) {
    // SAFETY: the caller's promise, passed on whole.
    unsafe {
        if let Some(order) = plane.order {
            return mixed::<S>(plane, order, width, at);
        }
        match width {
            1 => sized::<S, _, 1>(plane, Same, at),
            2 => sized::<S, _, 2>(plane, Same, at),
            4 => sized::<S, _, 4>(plane, Same, at),
            8 => sized::<S, _, 8>(plane, Same, at),
            _ => sized::<S, _, 16>(plane, Same, at),
        }
    }
}

/// As `run`, for a plane of elements whose bytes change places; apart from it, so that others don't pay for it.
///
/// # Safety
///
/// As `run`.
#[inline(never)]
unsafe fn mixed<S: Set>(plane: &Plane, order: Mixed, width: usize, at: &At) {
    // SAFETY: the caller's promise, passed on whole.
    unsafe {
        match width {
            2 => sized::<S, _, 2>(plane, order, at),
            4 => sized::<S, _, 4>(plane, order, at),
            8 => sized::<S, _, 8>(plane, order, at),
            _ => sized::<S, _, 16>(plane, order, at),
        }
    }
}

/// # Safety
///
/// As `run`, for elements of `W` bytes.
unsafe fn sized<S: Set, O: Order, const W: usize>(plane: &Plane, order: O, at: &At) {
    // SAFETY: the caller's promise.
    unsafe {
        // A Zen 5 has lines as vectors; for narrower ones nothing of the kind is compiled.
        if const { S::Wide::BYTES == LINE } && plane.stream && plane.pieced {
            in_pieces::<S, O, W>(plane, order, at);
        } else if plane.stream {
            past::<S, O, W>(plane, order, at, NoRoom);
        } else {
            cached::<S, O, W>(plane, order, at);
        }
    }
}

/// Past the caches, in pieces where that can be; apart from others, as these have no use for so large a stack.
///
/// # Safety
///
/// As `run`, for elements of `W` bytes.
#[inline(never)]
unsafe fn in_pieces<S: Set, O: Order, const W: usize>(plane: &Plane, order: O, at: &At) {
    let mut room = Room::new();
    // SAFETY: the caller's promise.
    unsafe { past::<S, O, W>(plane, order, at, &mut room) }
}

/// Past the caches, where that can be; apart from others, as small planes are in a hurry.
///
/// # Safety
///
/// As `run`, for elements of `W` bytes.
#[inline(never)]
unsafe fn past<S: Set, O: Order, const W: usize>(
    plane: &Plane,
    order: O,
    at: &At,
    room: impl MaybeRoom,
) {
    let shift = at.destination as usize % LINE;
    let fills = |vector| plane.fills::<W>(vector, shift);
    // SAFETY: the caller's promise, that of gaps too; each vector is no longer than a column, and 16 bytes no longer than a
    // row. Whoever gives a plane a gap has seen that its columns are longer than a line, and so than a vector.
    unsafe {
        if plane.narrow(W, S::Quarter::BYTES) {
            cached::<S, O, W>(plane, order, at);
        } else if plane.packs::<W>(shift) && !fills(S::Half::BYTES) && !fills(S::Quarter::BYTES) {
            // With its gaps.
            return packed::<S, O, W>(plane, order, at, room);
        } else if plane.rows.len * W >= S::Wide::BYTES {
            streamed::<S, S::Wide, O, W>(plane, order, at, room);
        } else if plane.rows.len * W >= S::Half::BYTES {
            streamed::<S::Narrow, S::Half, O, W>(plane, order, at, NoRoom);
        } else {
            streamed::<S::Narrow, S::Quarter, O, W>(plane, order, at, NoRoom);
        }
        if let Some(gap) = plane.gap {
            plane.fill_gaps(gap, W, at.destination);
        }
    }
}

/// # Safety
///
/// As `run`; there are at least `16 / W` columns and at most `packed::TALL` rows, those of a gap included. Before a gap are
/// more bytes than a vector has.
unsafe fn packed<S: Set, O: Order, const W: usize>(
    plane: &Plane,
    order: O,
    at: &At,
    room: impl MaybeRoom,
) {
    type Short<'a, S, V, O, R, const W: usize> = Packed<'a, S, V, O, R, W, PACKED, 2>;
    type Tall<'a, S, O, const W: usize> =
        Packed<'a, S, <S as Set>::Wide, O, NoRoom, W, { packed::TALL }, 1>;
    let column = plane.rows.len * W;
    // SAFETY: the caller's promise.
    unsafe {
        if column <= S::Quarter::BYTES {
            S::enter(Short::<S, S::Quarter, O, _, W>::new(
                plane, order, at, NoRoom,
            ));
        } else if column <= S::Half::BYTES {
            S::enter(Short::<S, S::Half, O, _, W>::new(plane, order, at, NoRoom));
        } else if plane.pitch(W) <= PACKED * W {
            S::enter(Short::<S, S::Wide, O, _, W>::new(plane, order, at, room));
        } else {
            S::enter(Tall::<S, O, W>::new(plane, order, at, NoRoom));
        }
    }
}

/// # Safety
///
/// As `run`; there are at least `V::BYTES / W` rows and `16 / W` columns.
unsafe fn streamed<S: Set, V: Vector, O: Order, const W: usize>(
    plane: &Plane,
    order: O,
    at: &At,
    room: impl MaybeRoom,
) {
    let (line, rows, n) = (LINE / W, plane.rows.len, V::BYTES / W);
    let shift = at.destination as usize % LINE;
    // Columns whose elements lie in two lines can't be, which more bytes than the array's elements have may be.
    let aligned = shift.is_multiple_of(W) && plane.columns.is_multiple_of(LINE as isize);
    let vector = PhantomData::<V>;
    let plain = |first, end| Strips::<V, O, _, W, false>::new(plane, order, at, first..end, NoRoom);
    let lines = |rows, room| Strips::<V, O, _, W, true>::new(plane, order, at, rows, room);
    // SAFETY: the caller's promise; the ranges of rows are inside the axis and as long as each callee asks.
    unsafe {
        if aligned && shift == 0 && rows.is_multiple_of(line) || plane.fills::<W>(V::BYTES, shift) {
            S::enter(lines(0..rows, room));
        } else if rows < 4 * line {
            S::enter(plain(0, rows));
        } else if aligned {
            let head = (LINE - shift) % LINE / W;
            let tail = (rows - head) % line;
            if head > 0 {
                S::enter(plain(0, head.next_multiple_of(n)));
            }
            S::enter(lines(head..rows - tail, room));
            if tail > 0 {
                S::enter(plain(rows - tail.next_multiple_of(n), rows));
            }
        } else {
            S::enter(Staged::<V, O, _, W> {
                plane,
                order,
                at,
                room,
                vector,
            });
        }
    }
}

#[cfg(test)]
impl Plane {
    /// A plane that streams, with nothing around it.
    pub(crate) fn streaming(rows: Axis, columns: Axis, pieced: bool) -> Plane {
        Plane {
            rows,
            columns,
            stream: true,
            far: false,
            crowded: false,
            ways: Ways::default(),
            large: true,
            pieced,
            most: PACKED,
            gap: None,
            around: Around::default(),
            tables: Default::default(),
            order: None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::isa::Isa;

    /// Moves a plane with every instruction set, its first column so many bytes behind a line, and compares all bytes of the
    /// destination with those of a naive move.
    pub(crate) fn moves_as_told(plane: &Plane, width: usize, shift: usize) {
        let (rows, columns) = (plane.rows.offsets(), plane.columns.offsets());
        let ends = |offsets: &[isize]| {
            let ends = offsets
                .iter()
                .fold((0, 0), |(low, high), &at| (at.min(low), at.max(high)));
            (ends.0, (ends.1 - ends.0) as usize)
        };
        let ((lowest, reach), (first, last)) = (ends(&rows), ends(&columns));
        assert_eq!(first, 0, "the first column is the lowest");
        // Not a byte more than the elements have: what reads more is seen by a sanitizer.
        let bytes = reach + columns.len() * width;
        let source: Vec<u8> = (0..bytes).map(|i| (i * 37 + i / 251) as u8).collect();
        let mut expected = vec![0xa5; shift + last + rows.len() * width + LINE];
        for (p, &row) in rows.iter().enumerate() {
            for (q, &column) in columns.iter().enumerate() {
                let from = (row - lowest) as usize + q * width;
                let to = &mut expected[shift + column as usize + p * width..][..width];
                to.copy_from_slice(&source[from..from + width]);
                if plane.order.is_some() {
                    to.reverse();
                }
            }
        }
        for &isa in Isa::available() {
            let mut destination = vec![0xa5; expected.len() + LINE];
            let start = destination.as_ptr().align_offset(LINE);
            let destination = &mut destination[start..start + expected.len()];
            let source = source[lowest.unsigned_abs()..].as_ptr();
            let at = At {
                source,
                destination: destination[shift..].as_mut_ptr(),
                upcoming: source,
                aside: None,
            };
            // SAFETY: the source has all elements of the plane, and the destination room for them.
            unsafe { crate::dispatch::plane(isa, plane, width, &at) };
            crate::simd::fence();
            assert!(
                destination == expected,
                "{} rows, {} columns of {width} bytes from {shift}, {isa:?}: {plane:?}",
                rows.len(),
                columns.len()
            );
        }
    }

    #[test]
    fn large_planes_of_rows_far_apart_are_read_in_pieces_on_a_zen_5() {
        // Rows, bytes of each, bytes from one to the next and from a column to the next, and whether pieces suit them.
        let cases = [
            (4, 1024, 65536, 65536, 4096, true),
            (4, 100, 4_000_000, 4_000_000, 400, true),
            (4, 1024, 65528, 65532, 4100, false),
            (4, 1024, 65536, 69632, 4100, true),
            (2, 1024, 65536, 65540, 2048, true),
            (8, 1024, 65536, 65544, 8192, false),
            (8, 1024, 65536, 69632, 8192, true),
            (8, 1024, 300_000, 300_008, 8192, true),
            (16, 1024, 65536, 65536, 16384, false),
            (4, 31, 1 << 20, 1 << 20, 128, false),
            (4, 32, 1 << 20, 1 << 20, 128, true),
            (4, 4096, 1024, 4096, 16384, false),
            (4, 1024, 2048, 4096, 4096, false),
        ];
        for (width, rows, row, apart, pitch, suits) in cases {
            for large in [true, false] {
                let rows = Axis::new(rows, apart);
                let columns = Axis::new(row / width, pitch);
                let mut plane = Plane {
                    large,
                    ..Plane::streaming(rows, columns, false)
                };
                plane.choose_pieces(width);
                assert_eq!(
                    plane.pieced,
                    large && suits && is_zen5(),
                    "{} rows of {row} bytes {apart} apart, of {width}",
                    rows.len
                );
            }
        }
    }

    /// Columns of a few runs, which end within a page of the stage and beyond it.
    #[test]
    fn columns_side_by_side_with_gaps_between_some_go_to_their_places() {
        for (rows, together) in [(9, 5), (25, 7), (25, 40), (64, 3), (200, 2)] {
            for gap in [4, 24, 64] {
                let column = rows * 4;
                let mut columns = Axis::new(together, column as isize);
                columns.join(31, (together * column + gap) as isize);
                let rows = Axis::new(rows, (columns.len * 4 + 12) as isize);
                for shift in [0, 20] {
                    moves_as_told(&Plane::streaming(rows, columns, false), 4, shift);
                }
            }
        }
    }

    /// Whichever CPU this is, planes of many rows are packed, and staged column by column.
    #[test]
    fn columns_side_by_side_are_moved_in_both_ways() {
        const GAP: usize = LINE;
        // The last one in two panels.
        let sizes = [(257, 65), (300, 16), (1031, 37), (2047, 21), (258, 4101)];
        for (rows, columns) in sizes {
            for width in [1, 2, 4, 8, 16] {
                let source: Vec<u8> = (0..rows * columns * width)
                    .map(|i| (i * 37 + i / 251) as u8)
                    .collect();
                let skip = 3 * width;
                let mut expected = vec![0xa5; skip + source.len() + GAP];
                for (i, element) in source.chunks_exact(width).enumerate() {
                    let at = skip + (i % columns * rows + i / columns) * width;
                    expected[at..at + width].copy_from_slice(element);
                }
                for most in [PACKED, packed::TALL] {
                    let down = Axis::new(rows, (columns * width) as isize);
                    let along = Axis::new(columns, (rows * width) as isize);
                    let plane = Plane {
                        large: false,
                        most,
                        ..Plane::streaming(down, along, false)
                    };
                    for &isa in Isa::available() {
                        let mut destination = vec![0xa5; expected.len() + LINE];
                        let start = destination.as_ptr().align_offset(LINE);
                        let destination = &mut destination[start..start + expected.len()];
                        let at = At {
                            source: source.as_ptr(),
                            destination: destination[skip..].as_mut_ptr(),
                            upcoming: source.as_ptr(),
                            aside: None,
                        };
                        // SAFETY: the source has all elements of the plane, and the destination room for them.
                        unsafe { crate::dispatch::plane(isa, &plane, width, &at) };
                        crate::simd::fence();
                        assert!(
                            destination == expected,
                            "{rows}x{columns} of {width}, at most {most} rows, {isa:?}"
                        );
                    }
                }
            }
        }
    }
}
