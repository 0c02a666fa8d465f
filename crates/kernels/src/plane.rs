//! Transposes of planes: one axis is contiguous in the destination, the other in the source.
//!
//! Element (p, q) lies at `rows(p) + q * width` in the source and at `columns(q) + p * width` in the destination. An axis
//! is one loop or several joined, so p and q run across loops of any extents.
//!
//! ```text
//! for a strip of some 128 rows:                     pointers to the rows are made once
//!     for each block of columns, walking forward:   a cache line of every row is read once, whole
//!         for each block of rows in the strip:      transposed in registers
//!             write a vector to each column         consecutive blocks fill consecutive lines
//! ```
//!
//! Above the cache, what matters is that every source line is asked for early (the next lines of all rows of the strip
//! are prefetched into the second-level cache) and that every destination line is written once, whole, by streaming
//! stores. Columns that do not start on lines are staged: see [`staged`](crate::staged).

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::axis::{Axis, Pointers};
use crate::simd::{LINE, Set, Vector, Work, prefetch};
use crate::staged::{PACKED, Packed, Staged};

/// Rows of a strip.
pub(crate) const STRIP: usize = 128;
/// How many bytes of each row ahead are asked for.
pub(crate) const AHEAD: usize = 256;
/// How many bytes ahead are asked for in all rows together, where there are few of them.
pub(crate) const FLY: usize = 16 << 10;

/// Where a plane lies.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) source: *const u8,
    pub(crate) destination: *mut u8,
    /// The source of the plane that will be moved after this one: a hint for prefetching, never read.
    pub(crate) upcoming: *const u8,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane {
    /// Source offsets by place in the destination's runs.
    pub(crate) rows: Axis,
    /// Destination offsets by place in the source's runs.
    pub(crate) columns: Axis,
    pub(crate) stream: bool,
}

/// Where the vectors of a transposed block go.
pub(crate) trait Sink {
    /// # Safety
    ///
    /// The place of this column is writable for `V::BYTES`, aligned to that if the sink streams, and the CPU has `V`.
    unsafe fn put<V: Vector>(&self, column: usize, v: V);
}

/// Destination columns, from a byte offset on.
struct Columns<'a, const STREAM: bool> {
    to: &'a [*const u8],
    offset: usize,
}

impl<const STREAM: bool> Sink for Columns<'_, STREAM> {
    #[inline(always)]
    unsafe fn put<V: Vector>(&self, column: usize, v: V) {
        // SAFETY: the caller's promise. The pointers were made from the destination's, which is exclusive.
        unsafe {
            let to = self.to.get_unchecked(column).add(self.offset).cast_mut();
            if STREAM { v.stream(to) } else { v.store(to) }
        }
    }
}

/// Destination columns an equal step apart.
struct Steps {
    to: *mut u8,
    step: isize,
}

impl Sink for Steps {
    #[inline(always)]
    unsafe fn put<V: Vector>(&self, column: usize, v: V) {
        // SAFETY: the caller's promise.
        unsafe { v.store(self.to.offset(column as isize * self.step)) }
    }
}

/// Transposes the square of elements of `W` bytes that is as wide as `V`; `row` says where each row starts.
///
/// Within lanes of 16 bytes, log2(16 / W) rounds of interleaving elements transpose 16 / W rows; then squares of lanes
/// are transposed.
///
/// # Safety
///
/// The `V::BYTES / W` first rows are readable for `V::BYTES` each; the sink takes as many columns.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // with iterators the vectors go through memory, at half the speed
pub(crate) unsafe fn block<V: Vector, const W: usize>(
    row: impl Fn(usize) -> *const u8,
    sink: &impl Sink,
) {
    let n = 16 / W;
    let mut lanes = [[MaybeUninit::<V>::uninit(); 16]; 4];
    // SAFETY: rows are readable by the caller's promise; indices of `lanes` stay below LANES and n, whose elements the
    // first loop writes before the second reads them.
    unsafe {
        for g in 0..V::LANES {
            let row = |i: usize| V::load(row(g * n + i % n));
            // With all sixteen named no loop is left to unroll; rows beyond n are repeated, unused and left out.
            let mut v = [
                row(0),
                row(1),
                row(2),
                row(3),
                row(4),
                row(5),
                row(6),
                row(7),
                row(8),
                row(9),
                row(10),
                row(11),
                row(12),
                row(13),
                row(14),
                row(15),
            ];
            if n >= 2 {
                v = interleave::<V, W>(v);
            }
            if n >= 4 {
                v = interleave::<V, W>(v);
            }
            if n >= 8 {
                v = interleave::<V, W>(v);
            }
            if n >= 16 {
                v = interleave::<V, W>(v);
            }
            for m in 0..n {
                lanes[g][m].write(v[m]);
            }
        }
        for m in 0..n {
            let first = lanes[0][m].assume_init();
            let mut square = [first; 4];
            for g in 1..V::LANES {
                square[g] = lanes[g][m].assume_init();
            }
            let columns = V::transpose_lanes(square);
            for (l, v) in columns.into_iter().enumerate().take(V::LANES) {
                sink.put(l * n + m, v);
            }
        }
    }
}

/// Interleaves the first half of 16 / W vectors with the second. Written out, as the vectors must stay in registers.
///
/// # Safety
///
/// The CPU has `V`.
#[inline(always)]
unsafe fn interleave<V: Vector, const W: usize>(v: [V; 16]) -> [V; 16] {
    macro_rules! pairs {
        ($half:literal: $($i:literal)*) => {{
            let mut out = v;
            $(
                // SAFETY: the caller's promise.
                (out[2 * $i], out[2 * $i + 1]) = unsafe { V::unpack::<W>(v[$i], v[$i + $half]) };
            )*
            out
        }};
    }
    match W {
        1 => pairs!(8: 0 1 2 3 4 5 6 7),
        2 => pairs!(4: 0 1 2 3),
        4 => pairs!(2: 0 1),
        8 => pairs!(1: 0),
        _ => v,
    }
}

/// Moves a plane with the vectors of an instruction set.
///
/// # Safety
///
/// The CPU has the set. All elements of the plane are readable from `source` and writable from `destination`, and the
/// two do not overlap.
pub(crate) unsafe fn run<S: Set>(plane: &Plane, width: usize, at: At) {
    // SAFETY: the caller's promise, passed on whole.
    unsafe {
        match width {
            1 => sized::<S, 1>(plane, at),
            2 => sized::<S, 2>(plane, at),
            4 => sized::<S, 4>(plane, at),
            8 => sized::<S, 8>(plane, at),
            _ => sized::<S, 16>(plane, at),
        }
    }
}

/// # Safety
///
/// As `run`, for elements of `W` bytes.
unsafe fn sized<S: Set, const W: usize>(plane: &Plane, at: At) {
    let side = plane.rows.len.min(plane.columns.len) * W;
    // SAFETY: the caller's promise; each vector is no longer than either axis.
    unsafe {
        if side >= S::Wide::BYTES {
            chosen::<S, S::Wide, W>(plane, at);
        } else if side >= S::Half::BYTES {
            chosen::<S, S::Half, W>(plane, at);
        } else if side >= S::Quarter::BYTES {
            chosen::<S, S::Quarter, W>(plane, at);
        } else {
            narrow::<W>(plane, at);
        }
    }
}

/// # Safety
///
/// As `run`; both axes are at least `V::BYTES / W` long.
unsafe fn chosen<S: Set, V: Vector, const W: usize>(plane: &Plane, at: At) {
    let (line, rows, n) = (LINE / W, plane.rows.len, V::BYTES / W);
    let shift = at.destination as usize % LINE;
    let aligned = plane.columns.is_multiple_of(LINE as isize);
    let vector = PhantomData::<V>;
    let plain = |first, end| Strips::<V, W, false> {
        plane,
        at,
        first,
        end,
        vector,
    };
    // SAFETY: the caller's promise; the ranges of rows are inside the axis and as long as each callee asks.
    unsafe {
        if !plane.stream || !shift.is_multiple_of(W) || !plane.columns.is_multiple_of(W as isize) {
            match (plane.rows.single_stride(), plane.columns.single_stride()) {
                (Some(pitch), Some(step)) => S::enter(Even::<V, W> {
                    plane,
                    at,
                    pitch,
                    step,
                    vector,
                }),
                _ => S::enter(plain(0, rows)),
            }
            return;
        }
        if aligned && shift == 0 && rows.is_multiple_of(line) {
            S::enter(Strips::<V, W, true> {
                plane,
                at,
                first: 0,
                end: rows,
                vector,
            });
        } else if plane.columns.first_stride() == (rows * W) as isize && rows <= PACKED {
            S::enter(Packed::<V, W> { plane, at, vector });
        } else if rows < 4 * line {
            S::enter(plain(0, rows));
        } else if aligned {
            let head = (LINE - shift) % LINE / W;
            let tail = (rows - head) % line;
            if head > 0 {
                S::enter(plain(0, head.next_multiple_of(n)));
            }
            S::enter(Strips::<V, W, true> {
                plane,
                at,
                first: head,
                end: rows - tail,
                vector,
            });
            if tail > 0 {
                S::enter(plain(rows - tail.next_multiple_of(n), rows));
            }
        } else {
            S::enter(Staged::<V, W> { plane, at, vector });
        }
    }
}

/// Moves the rows `first..end` straight from registers to the destination. A last block that is not whole is moved back
/// to be so: some elements are then written twice.
///
/// # Safety (of `work`)
///
/// As `run`. `end - first` and the columns are at least as many as a vector has elements; if `STREAM`, the rows are
/// whole lines that start on lines of every column.
struct Strips<'a, V, const W: usize, const STREAM: bool> {
    plane: &'a Plane,
    at: At,
    first: usize,
    end: usize,
    vector: PhantomData<V>,
}

impl<V: Vector, const W: usize, const STREAM: bool> Work for Strips<'_, V, W, STREAM> {
    #[inline(always)]
    unsafe fn work(self) {
        let Strips {
            plane,
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
        let n = V::BYTES / W;
        let columns = plane.columns.len;
        let (mut from, mut next) = (Pointers::<STRIP>::new(), Pointers::<STRIP>::new());
        let mut to = Pointers::<LINE>::new();
        let mut ahead = plane.rows.cursor(first);
        next.take(&mut ahead, source, STRIP.min(end - first));
        let mut p = first;
        while p < end {
            let mut count = STRIP.min(end - p);
            if count < n {
                (p, count) = (end - n, n);
                from.take(&mut plane.rows.cursor(p), source, count);
            } else {
                from.clone_from(&next);
                if p + count < end {
                    next.take(&mut ahead, source, STRIP);
                } else if STREAM {
                    next.take(&mut plane.rows.cursor(first), upcoming, STRIP);
                }
            }
            let mut walk = plane.columns.cursor(0);
            let mut q = 0;
            while q < columns {
                if q + n > columns {
                    q = columns - n;
                    walk = plane.columns.cursor(q);
                }
                to.take(&mut walk, destination, n);
                let far = (FLY / count).clamp(AHEAD, 8 * AHEAD);
                let new_lines = STREAM && (V::BYTES == LINE || (q * W).is_multiple_of(LINE));
                let mut r = 0;
                while r < count {
                    r = r.min(count - n);
                    if new_lines {
                        ask(&from[r..r + n], &next[r..r + n], q * W, columns * W, far);
                    }
                    // SAFETY: rows r..r + n are in the strip, columns q..q + n on the axis; the bytes read are elements
                    // (p + r.., q..q + n) and those written the same ones. Alignment by the caller's promise.
                    unsafe {
                        let sink = Columns::<STREAM> {
                            to: &to,
                            offset: (p + r) * W,
                        };
                        let rows = &from[r..r + n];
                        block::<V, W>(|i| rows.get_unchecked(i).add(q * W), &sink);
                    }
                    r += n;
                }
                q += n;
            }
            p += count;
        }
    }
}

/// Moves a plane of two loops that fits the caches: no pointers are kept.
///
/// # Safety (of `work`)
///
/// As `run`; both axes are at least as long as a vector, and `pitch` and `step` are their strides.
struct Even<'a, V, const W: usize> {
    plane: &'a Plane,
    at: At,
    pitch: isize,
    step: isize,
    vector: PhantomData<V>,
}

impl<V: Vector, const W: usize> Work for Even<'_, V, W> {
    #[inline(always)]
    unsafe fn work(self) {
        let Even {
            plane,
            at,
            pitch,
            step,
            ..
        } = self;
        let n = V::BYTES / W;
        let (rows, columns) = (plane.rows.len, plane.columns.len);
        let mut p = 0;
        while p < rows {
            let end = (p + STRIP).min(rows);
            let mut q = 0;
            while q < columns {
                q = q.min(columns - n);
                let mut r = p;
                while r < end {
                    // A last block that is not whole is moved back to be so.
                    r = r.min(rows - n);
                    // SAFETY: the block's rows r..r + n and columns q..q + n are of the plane.
                    unsafe {
                        let from = at.source.offset(r as isize * pitch).add(q * W);
                        let to = at.destination.offset(q as isize * step).add(r * W);
                        let sink = Steps { to, step };
                        block::<V, W>(|i| from.offset(i as isize * pitch), &sink);
                    }
                    r += n;
                }
                q += n;
            }
            p = end;
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

/// Element by element, for planes narrower than the narrowest vector.
///
/// # Safety
///
/// As `run`.
unsafe fn narrow<const W: usize>(plane: &Plane, at: At) {
    let At {
        source,
        destination,
        ..
    } = at;
    let (rows, columns) = (plane.rows.len, plane.columns.len);
    let (mut from, mut to) = (Pointers::<64>::new(), Pointers::<64>::new());
    let mut down = plane.rows.cursor(0);
    for p in (0..rows).step_by(64) {
        let height = (rows - p).min(64);
        from.take(&mut down, source, height);
        let mut along = plane.columns.cursor(0);
        for q in (0..columns).step_by(64) {
            let breadth = (columns - q).min(64);
            to.take(&mut along, destination, breadth);
            for (j, to) in to[..breadth].iter().enumerate() {
                for (i, from) in from[..height].iter().enumerate() {
                    // SAFETY: element (p + i, q + j) of the plane.
                    unsafe {
                        let element = from.add((q + j) * W).cast::<[u8; W]>().read_unaligned();
                        to.cast_mut()
                            .add((p + i) * W)
                            .cast::<[u8; W]>()
                            .write_unaligned(element);
                    }
                }
            }
        }
    }
}
