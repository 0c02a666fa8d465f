//! Transposes of planes: one axis is contiguous in the destination, the other in the source.
//!
//! Element (p, q) lies at `rows(p) + q * width` in the source and at `columns(q) + p * width` in the destination. An axis
//! is one loop or several joined, so p and q run across loops of any extents.
//!
//! ```text
//! for a strip of 128 rows or so:                    pointers to the rows are made once
//!     for each block of columns, walking forward:   a cache line of every row is read once, whole
//!         for each block of rows in the strip:      transposed in registers
//!             write a vector to each column         consecutive blocks fill consecutive lines
//! ```
//!
//! Above the cache, what matters is that every source line is asked for early (the next lines of all rows of the strip
//! are prefetched into the second-level cache) and that every destination line is written once, whole, by streaming
//! stores. Columns that do not start on lines are staged: see [`staged`](crate::staged). Planes in the caches, and those
//! that streaming does not suit, are moved by ordinary stores: see [`cached`](crate::cached).

use std::marker::PhantomData;
use std::ops::Range;

use crate::around::Around;
use crate::axis::{Axis, Pointers};
use crate::block::{Listed, tile};
use crate::cached::cached;
use crate::order::{Mixed, Order, Same};
use crate::simd::{LINE, Set, Vector, Work, prefetch};
use crate::staged::{PACKED, Packed, Staged};
use crate::tuning::followed;

/// Rows of a strip.
pub(crate) const STRIP: usize = 128;
/// Rows of a strip of bytes that is walked, so that what it writes to a column is not too short.
const TALL: usize = 2 * STRIP;
/// How many bytes of each row ahead are asked for.
pub(crate) const AHEAD: usize = 256;
/// How many bytes ahead are asked for in all rows together, where there are few of them.
pub(crate) const FLY: usize = 16 << 10;
/// The most places of an axis that has a table.
const TABLE: usize = 2048;

/// Where a plane lies.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) source: *const u8,
    pub(crate) destination: *mut u8,
    /// The source of the plane that will be moved after this one: a hint for prefetching, never read.
    pub(crate) upcoming: *const u8,
}

#[derive(Debug, Clone)]
pub(crate) struct Plane {
    /// Source offsets by place in the destination's runs.
    pub(crate) rows: Axis,
    /// Destination offsets by place in the source's runs.
    pub(crate) columns: Axis,
    pub(crate) stream: bool,
    /// The loops around it; one iteration if it streams.
    pub(crate) around: Around,
    /// All offsets of both axes, where they are few and not those of two single loops; otherwise empty.
    pub(crate) tables: (Box<[isize]>, Box<[isize]>),
    /// What becomes of an element's bytes.
    pub(crate) order: Option<Mixed>,
}

impl Plane {
    pub(crate) fn new(
        rows: Axis,
        columns: Axis,
        order: Option<Mixed>,
        stream: bool,
        around: Around,
    ) -> Plane {
        let single = rows.single_stride().is_some() && columns.single_stride().is_some();
        let tables = if stream || single || rows.len.max(columns.len) > TABLE {
            Default::default()
        } else {
            (rows.offsets(), columns.offsets())
        };
        Plane {
            rows,
            columns,
            stream,
            around,
            tables,
            order,
        }
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
/// The CPU has the set. All elements of the plane are readable from `source` and writable from `destination`, in every
/// iteration, and the two do not overlap.
pub(crate) unsafe fn run<S: Set>(plane: &Plane, width: usize, at: At) {
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
unsafe fn mixed<S: Set>(plane: &Plane, order: Mixed, width: usize, at: At) {
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
unsafe fn sized<S: Set, O: Order, const W: usize>(plane: &Plane, order: O, at: At) {
    let shift = at.destination as usize % LINE;
    // Asked only where it matters: small planes are in a hurry.
    let whole = || shift.is_multiple_of(W) && plane.columns.is_multiple_of(W as isize);
    // SAFETY: the caller's promise; each vector is no longer than a column, and 16 bytes no longer than a row.
    unsafe {
        if !plane.stream || !whole() || plane.narrow(W, S::Quarter::BYTES) {
            cached::<S, O, W>(plane, order, at);
        } else if plane.rows.len * W >= S::Wide::BYTES {
            streamed::<S, S::Wide, O, W>(plane, order, at);
        } else if plane.rows.len * W >= S::Half::BYTES {
            streamed::<S, S::Half, O, W>(plane, order, at);
        } else {
            streamed::<S, S::Quarter, O, W>(plane, order, at);
        }
    }
}

/// # Safety
///
/// As `run`; there are at least `V::BYTES / W` rows and `16 / W` columns, and columns start at multiples of `W`.
unsafe fn streamed<S: Set, V: Vector, O: Order, const W: usize>(plane: &Plane, order: O, at: At) {
    let (line, rows, n) = (LINE / W, plane.rows.len, V::BYTES / W);
    let shift = at.destination as usize % LINE;
    let aligned = plane.columns.is_multiple_of(LINE as isize);
    let vector = PhantomData::<V>;
    let plain = |first, end| Strips::<V, O, W, false>::new(plane, order, at, first..end);
    let lines = |first, end| Strips::<V, O, W, true>::new(plane, order, at, first..end);
    // SAFETY: the caller's promise; the ranges of rows are inside the axis and as long as each callee asks.
    unsafe {
        if aligned && shift == 0 && rows.is_multiple_of(line) {
            S::enter(lines(0, rows));
        } else if plane.columns.first_stride() == (rows * W) as isize && rows <= PACKED {
            S::enter(Packed::<V, O, W> {
                plane,
                order,
                at,
                vector,
            });
        } else if rows < 4 * line {
            S::enter(plain(0, rows));
        } else if aligned {
            let head = (LINE - shift) % LINE / W;
            let tail = (rows - head) % line;
            if head > 0 {
                S::enter(plain(0, head.next_multiple_of(n)));
            }
            S::enter(lines(head, rows - tail));
            if tail > 0 {
                S::enter(plain(rows - tail.next_multiple_of(n), rows));
            }
        } else {
            S::enter(Staged::<V, O, W> {
                plane,
                order,
                at,
                vector,
            });
        }
    }
}

/// Moves the rows `first..end` straight from registers to the destination.
///
/// # Safety (of `work`)
///
/// As `run`. `end - first` is at least `V::BYTES / W`, and there are at least `16 / W` columns; if `STREAM`, the rows are
/// whole lines that start on lines of every column.
pub(crate) struct Strips<'a, V, O, const W: usize, const STREAM: bool> {
    plane: &'a Plane,
    order: O,
    at: At,
    first: usize,
    end: usize,
    vector: PhantomData<V>,
}

impl<'a, V, O, const W: usize, const STREAM: bool> Strips<'a, V, O, W, STREAM> {
    pub(crate) fn new(plane: &'a Plane, order: O, at: At, rows: Range<usize>) -> Self {
        Strips {
            plane,
            order,
            at,
            first: rows.start,
            end: rows.end,
            vector: PhantomData,
        }
    }
}

impl<V: Vector, O: Order, const W: usize, const STREAM: bool> Work for Strips<'_, V, O, W, STREAM> {
    #[inline(always)]
    unsafe fn work(self) {
        let Strips {
            plane,
            order,
            at,
            first,
            end,
            ..
        } = self;
        let At {
            source,
            destination,
            upcoming,
        } = at;
        let (n, group) = (V::BYTES / W, LINE / W);
        let columns = plane.columns.len;
        let strip = (const { if W == 1 { TALL } else { STRIP } }).min(followed().max(group));
        let (mut from, mut next) = (Pointers::<TALL>::new(), Pointers::<TALL>::new());
        let mut to = Pointers::<LINE>::new();
        let mut ahead = plane.rows.cursor(first);
        next.take(&mut ahead, source, strip.min(end - first));
        let mut p = first;
        while p < end {
            let mut count = strip.min(end - p);
            if count < n {
                (p, count) = (end - n, n);
                from.take(&mut plane.rows.cursor(p), source, count);
            } else {
                from.clone_from(&next);
                if p + count < end {
                    next.take(&mut ahead, source, strip);
                } else if STREAM {
                    next.take(&mut plane.rows.cursor(first), upcoming, strip);
                }
            }
            let mut walk = plane.columns.cursor(0);
            let mut q = 0;
            while q < columns {
                let mut breadth = group.min(columns - q);
                if breadth < 16 / W {
                    (q, breadth) = (columns - 16 / W, 16 / W);
                    walk = plane.columns.cursor(q);
                }
                to.take(&mut walk, destination, breadth);
                let far = (FLY / count).clamp(AHEAD, 8 * AHEAD);
                let rows = Listed {
                    places: &from,
                    offset: q * W,
                };
                let to = Listed {
                    places: &to,
                    offset: p * W,
                };
                // SAFETY: rows p..p + count are in the strip, columns q..q + breadth on the axis. Alignment by the
                // caller's promise.
                unsafe {
                    tile::<V, W, STREAM>(rows, count, to, breadth, order, |r| {
                        ask(&from[r.clone()], &next[r], q * W, columns * W, far)
                    });
                }
                q += breadth;
            }
            p += count;
        }
    }
}

/// Asks for the lines some way ahead of `offset` in some rows, or at the start of those of the next strip.
#[inline(always)]
pub(crate) fn ask(from: &[*const u8], next: &[*const u8], offset: usize, end: usize, far: usize) {
    let ahead = offset + far.min(end);
    let (rows, at) = if ahead < end {
        (from, ahead)
    } else {
        (next, ahead - end)
    };
    for row in &rows[..from.len()] {
        prefetch(row.wrapping_add(at));
    }
}
