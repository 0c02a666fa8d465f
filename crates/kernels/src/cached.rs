//! Planes moved with ordinary stores: those that fit the caches, and those that streaming does not suit.
//!
//! Where the places of both axes are known, from a stride or a table, squares go straight from the source to the
//! destination. Otherwise both axes are walked strip by strip, as for a plane that streams.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

use crate::ahead::AHEAD;
use crate::around::Each;
use crate::block::block;
use crate::crowded::{self, BESIDE, Crowded, ROOM, WAYS, near_half_page, slots};
use crate::narrow::{Elements, narrow};
use crate::oblong::Oblong;
use crate::order::Order;
use crate::pieces::NoRoom;
use crate::places::{Parted, Steps, Table};
use crate::plane::{At, Plane};
use crate::sequence::stage::Aside;
use crate::simd::{LANE, LINE, Set, Vector, own, prefetch};
use crate::square::{block_of, square, square_of};
use crate::strips::{STRIP, Strips};
use crate::tuning::{Caches, followed, is_intel, is_zen3};

/// Bytes from which on a plane does not fit the second-level cache.
const NEAR: usize = 256 << 10;

/// How many columns half of the second-level cache has room for, of which a strip writes so many bytes each and reads as many:
/// whole lines of them, whatever an element is.
fn columns_of_strip(bytes: usize) -> usize {
    let lines = bytes.next_multiple_of(LINE) + LINE;
    (Caches::of_this_cpu().second / 2 / (bytes + lines)).max(LINE) / LINE * LINE
}

/// Moves a plane with ordinary stores.
///
/// # Safety
///
/// As `plane::run`, for elements of `W` bytes.
pub(crate) unsafe fn cached<S: Set, O: Order, const W: usize>(plane: &Plane, order: O, at: &At) {
    // SAFETY: the caller's promise. Tables have all places; a plane without two single loops or tables is walked.
    unsafe {
        match (plane.rows.single_stride(), plane.columns.single_stride()) {
            (Some(pitch), Some(step)) => {
                let strides = Some((pitch, step));
                let (rows, columns) = (stepped(pitch), stepped(step));
                known::<S, O, W, _, _>(plane, order, at, strides, rows, columns);
            }
            _ if !plane.tables.0.is_empty() => {
                let (rows, columns) = (tabled(&plane.tables.0), tabled(&plane.tables.1));
                known::<S, O, W, _, _>(plane, order, at, None, rows, columns);
            }
            _ => {
                let set = PhantomData::<S>;
                let mut walked = Walked::<S, O, W> { plane, order, set };
                plane.around.walk(at.source, at.destination, &mut walked);
            }
        }
    }
}

/// The places from one on, of those that lie `step` bytes apart. A function of its own, as [`tabled`]: a closure is another one in
/// each instance of a generic function, and so were all kernels.
fn stepped(step: isize) -> impl Fn(*const u8, usize) -> Steps + Copy {
    #[inline(always)]
    move |base, first| Steps {
        base: base.wrapping_offset(first as isize * step),
        step,
    }
}

/// The same of those that a table has.
///
/// # Safety
///
/// None is asked for that the table lacks.
unsafe fn tabled<'a>(offsets: &'a [isize]) -> impl Fn(*const u8, usize) -> Table<'a> + Copy {
    #[inline(always)]
    move |base, first| {
        debug_assert!(first < offsets.len());
        // SAFETY: the caller's promise.
        let offsets = unsafe { offsets.get_unchecked(first..) };
        Table { base, offsets }
    }
}

/// # Safety
///
/// As `plane::run`, for elements of `W` bytes; `rows` and `columns` give the places from one on, which are `strides` apart
/// where these are known.
unsafe fn known<S: Set, O: Order, const W: usize, A: Parted, B: Parted>(
    plane: &Plane,
    order: O,
    at: &At,
    strides: Option<(isize, isize)>,
    rows: impl Fn(*const u8, usize) -> A + Copy,
    columns: impl Fn(*const u8, usize) -> B + Copy,
) {
    let (height, breadth) = (plane.rows.len, plane.columns.len);
    if plane.crowded && at.aside.is_none() && crowded::fits(plane, W) {
        let crowded = Crowded::<S::Wide, O, W, _, _> {
            order,
            rows,
            columns,
            height,
            breadth,
            size: crowded::Size::of(plane, W),
            vector: PhantomData,
        };
        // SAFETY: the CPU has the set, and `rows` and `columns` give the places of all that is readable on one side and writable on the
        // other, by the caller's promise. It fits: there are rows of a line, so of any vector, and 16 bytes of columns.
        unsafe { S::enter(plane.around.of(at, crowded)) };
        return;
    }
    let (side, long) = (height.min(breadth) * W, height.max(breadth) * W);
    // The columns that a square writes at once, where the cache has no room for them, push each other out of it. Then it is
    // better to write few, and to look at rows several times, which the cache must have room for.
    let crowded = |pitch, step| {
        let most = (side / W).min(S::Wide::BYTES / W);
        most > ROOM * slots(step) && height.min(STRIP) <= ROOM * slots(pitch)
    };
    let crowded = strides.is_some_and(|(pitch, step)| crowded(pitch, step));
    let owns = plane.far && strides.is_none_or(|(_, step)| has_room::<W>(step));
    macro_rules! squares_of {
        ($set:ty, $vector:ty, $beside:expr) => {{
            let most = const { LINE / <$vector>::BYTES };
            let known = Known::<$vector, S::Quarter, O, W, _, _, _> {
                order,
                rows,
                columns,
                height,
                breadth,
                crowded,
                abreast: if plane.ways.lines { most } else { 1 },
                ways: plane.ways,
                beside: $beside,
                vectors: PhantomData,
            };
            <$set>::enter(plane.around.of(at, known))
        }};
    }
    // SAFETY: the caller's promise; each vector is no longer than either axis.
    unsafe {
        if side < S::Quarter::BYTES {
            let elements = Elements::<O, W, _, _> {
                order,
                rows,
                columns,
                height,
                breadth,
            };
            S::Narrow::enter(plane.around.of(at, elements));
        } else if side >= S::Wide::BYTES && !(plane.ways.half && at.aside.is_none()) {
            match at.aside {
                None if owns => squares_of!(S, S::Wide, Owning),
                None => squares_of!(S, S::Wide, ()),
                Some(beside) => squares_of!(S, S::Wide, beside),
            }
        } else if long >= S::Wide::BYTES && side < S::Half::BYTES {
            let oblong = Oblong::<S::Wide, O, W, _, _> {
                order,
                rows,
                columns,
                height,
                breadth,
                vector: PhantomData,
            };
            S::enter(plane.around.of(at, oblong));
        } else if side >= S::Half::BYTES && owns {
            squares_of!(S::Narrow, S::Half, Owning);
        } else if side >= S::Half::BYTES {
            squares_of!(S::Narrow, S::Half, ());
        } else {
            squares_of!(S::Narrow, S::Quarter, ());
        }
    }
}

/// Whether the first-level cache has room for the lines of a square's columns, so many bytes apart, and of the next one's, which are asked
/// for meanwhile.
///
/// On an Emerald Rapids those that are asked for in vain cost, us with and without: u16[512,2000] to columns 226 and 191, u16[1024,1000] 230
/// and 181, u16[2048,1000] 516 and 352, f32[512,480] 63 and 51, f32[1024,2000] 893 and 798, u8[1024,1500] 178 and 162. Where there is room
/// they gain: f32[768,700] 183 and 240, f32[1000,1007] 300 and 480, u8[2000,2000] 451 and 819.
fn has_room<const W: usize>(step: isize) -> bool {
    2 * LINE / W < WAYS * slots(step)
}

/// How squares are moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    /// Whether all squares of a line of rows are moved before those below.
    lines: bool,
    /// Whether lines of rows some way ahead are not asked for.
    quiet: bool,
    /// Whether squares of bytes are moved as blocks, one for each lane, where vectors are half a line.
    blocks: bool,
    /// Whether vectors are half a line where they could be a line.
    half: bool,
}

/// Bytes of rows below which a Zen 3 is not asked for what is ahead in them: its own prefetchers bring those.
const SHORT: usize = 2 << 10;

impl Ways {
    /// us of bytes on a Zen 3 in squares, and in blocks without lines asked for: u8[224,800] 8.1 and 6.8, u8[300,1934] 46 and 34,
    /// u8[832,5184] 289 and 209, u8[2368,1369] 266 and 190; in blocks where rows push each other out of the first-level cache, as each looks
    /// at their lines again, u8[901,4096] 533 and 705. Without being asked for f32[800,400] took 43 and 40, f64[1398,187] 79 and 69, but
    /// f32[252,4322] 179 and 199. In blocks without and with, on a Zen 4 that lacks AVX-512: u8[832,5184] 255 and 236, u8[300,20001] 565 and
    /// 409, u8[700,12001] 1460 and 690, u8[3001,3001] 1840 and 1200; by two threads as long. Others were not measured.
    pub(crate) fn of(plane: &Plane, width: usize) -> Ways {
        let pitch = plane.rows.first_stride();
        let crowd = || plane.rows.len > LINE && near_half_page(pitch, BESIDE);
        Ways {
            lines: takes_lines(plane, width),
            quiet: is_zen3() && plane.columns.len * width < SHORT,
            blocks: is_zen3() && width == 1 && !crowd(),
            half: is_intel() && takes_half(plane, width),
        }
    }
}

/// The most second-level caches that such a plane takes.
const SECOND: usize = 4;

/// Whether vectors of half a line are better: where columns cut lines that the first-level cache has no room for, a store of a whole
/// line waits for two of them.
///
/// us on one core of an Emerald Rapids by vectors of a line, and so: f32[200,201] to columns 8.1 and 7.1, f32[300,300] 24.0 and 20.2,
/// f32[501,503] 76 and 65, f32[603,608] 145 and 119, f32[700,705] 194 and 168, u16[300,300] 12.0 and 10.4, u16[701,703] 101 and 83,
/// f64[201,203] 22.2 and 19.4, f32[8,49,512] to {1,2,0} 65 and 53; but f32[608,603], whose rows do, not its columns, 104 and 105,
/// f32[256,256] 10.8 and 11.8, f32[75,77] 0.66 and 0.93, many planes of f32[37,41] 33.0 and 33.6, u8[701,703] 39 and 46. Of many
/// second-level caches they win up to u16[1803,2001], 1070 and 860, and lose from c128[805,703] on, 980 and 1010.
fn takes_half(plane: &Plane, width: usize) -> bool {
    width > 1 && !plane.columns.is_multiple_of(LINE as isize) && {
        let Caches { first, second, .. } = Caches::of_this_cpu();
        let bytes = plane.rows.len * plane.columns.len * width;
        (first + 1..=SECOND * second).contains(&bytes)
    }
}

/// Whether it is better to move all squares of a line of the rows before those below: rows that push each other out of the
/// first-level cache are read once then, and the columns of a line have room in it, or as many ways as there are where rows crowd.
///
/// On a Zen 3, us before and so: c128[64,64] to columns 2.7 and 1.45, c128[256,256] 101 and 45, f64[128,128] 5.4 and 3.0, f32[49,512]
/// 6.8 and 3.9, f32[512,512] 66 and 49, u8[832,5184] 246 and 209; but f32[512,49], whose columns have no room, 3.3 and 5.3, and where only
/// columns find room u16[500,700] 34 and 36.
fn takes_lines(plane: &Plane, width: usize) -> bool {
    let (Some(pitch), Some(step)) = (plane.rows.single_stride(), plane.columns.single_stride())
    else {
        return false;
    };
    let (columns, room) = (LINE / width, ROOM * slots(step));
    let rows_crowd = plane.rows.len.min(STRIP) > ROOM * slots(pitch);
    columns <= room && (rows_crowd || width != 2) || columns <= 2 * room && rows_crowd
}

/// What is done beside a plane.
trait Beside: Copy {
    /// Whether it asks for what will be read.
    const ASKS: bool = false;
    /// Whether lines that will be written are to be asked for.
    const OWNS: bool = false;

    /// Does the part of it that belongs to so many bytes of the plane.
    ///
    /// # Safety
    ///
    /// The CPU has `V`.
    unsafe fn step<V: Vector>(self, bytes: usize);
}

/// Nothing.
impl Beside for () {
    #[inline(always)]
    unsafe fn step<V: Vector>(self, _: usize) {}
}

/// Nothing, but lines are not in the nearer caches and stores wait for theirs: see [`waits`](crate::tuning::waits).
#[derive(Clone, Copy)]
struct Owning;

impl Beside for Owning {
    const OWNS: bool = true;

    #[inline(always)]
    unsafe fn step<V: Vector>(self, _: usize) {}
}

/// One that is there as long as the plane, and that nobody else has meanwhile.
impl Beside for NonNull<Aside> {
    const ASKS: bool = true;

    #[inline(always)]
    unsafe fn step<V: Vector>(mut self, bytes: usize) {
        // SAFETY: the caller's promise, and that of whoever calls the plane.
        unsafe { self.as_mut().step::<V>(bytes) }
    }
}

/// A plane whose places are not known.
struct Walked<'a, S, O, const W: usize> {
    plane: &'a Plane,
    order: O,
    set: PhantomData<S>,
}

impl<S: Set, O: Order, const W: usize> Each for Walked<'_, S, O, W> {
    unsafe fn each(&mut self, source: *const u8, destination: *mut u8) {
        let (plane, order) = (self.plane, self.order);
        let end = plane.rows.len;
        let at = &At {
            source,
            destination,
            upcoming: source,
            aside: None,
        };
        // SAFETY: the caller's promise; each vector is no longer than a column, and 16 bytes no longer than a row.
        unsafe {
            if plane.narrow(W, S::Quarter::BYTES) {
                narrow::<O, W>(plane, order, at);
            } else if end * W >= S::Wide::BYTES {
                S::enter(Strips::<S::Wide, O, _, W, false>::new(
                    plane,
                    order,
                    at,
                    0..end,
                    NoRoom,
                ));
            } else if end * W >= S::Half::BYTES {
                S::Narrow::enter(Strips::<S::Half, O, _, W, false>::new(
                    plane,
                    order,
                    at,
                    0..end,
                    NoRoom,
                ));
            } else {
                S::Narrow::enter(Strips::<S::Quarter, O, _, W, false>::new(
                    plane,
                    order,
                    at,
                    0..end,
                    NoRoom,
                ));
            }
        }
    }
}

/// Moves a plane with ordinary stores, block by block; the places of both axes are known without walking them. `Q` is a
/// vector of 16 bytes, for what is left beside whole squares of `V`.
///
/// # Safety (of `each`)
///
/// As `plane::run`, for one iteration of the loops around it; `rows` and `columns` give the places from a row or a column on.
/// There are at least `V::BYTES / W` rows and as many columns.
struct Known<V, Q, O, const W: usize, R, C, D> {
    order: O,
    rows: R,
    columns: C,
    height: usize,
    breadth: usize,
    /// Whether few columns are to be written at once.
    crowded: bool,
    /// How many squares side by side are moved before those below.
    abreast: usize,
    ways: Ways,
    /// What is done after some columns of each square.
    beside: D,
    vectors: PhantomData<(V, Q)>,
}

impl<V, Q, O, const W: usize, R, C, A, B, D> Known<V, Q, O, W, R, C, D>
where
    D: Beside,
    V: Vector,
    Q: Vector,
    O: Order,
    R: Fn(*const u8, usize) -> A + Copy,
    C: Fn(*const u8, usize) -> B + Copy,
    A: Parted,
    B: Parted,
{
    /// Moves some columns, strip by strip of so many rows.
    ///
    /// # Safety
    ///
    /// As `each`; the columns are of the plane, and end no nearer than `V::BYTES / W` columns behind its first one.
    #[inline(always)]
    unsafe fn columns(&self, from: *const u8, to: *mut u8, of: Range<usize>, strip: usize) {
        // Copies, as what is behind `self` would be read again after every store.
        let Known {
            order,
            rows,
            columns,
            height,
            breadth,
            abreast,
            ways,
            beside,
            ..
        } = *self;
        let (n, c) = (V::BYTES / W, Q::BYTES / W);
        let far = !D::ASKS && !ways.quiet && height * breadth * W > NEAR;
        let mut p = 0;
        while p < height {
            let end = (p + strip).min(height);
            // What is left beside whole squares is moved back to be whole, so some elements are written twice: if it is
            // most of a square, by one of these, otherwise by small ones, where these are much smaller.
            let small = const { V::BYTES > 2 * Q::BYTES };
            let left = (end - p) % n;
            let whole = if small && 2 * left <= n {
                end - left
            } else {
                end
            };
            let mut q = of.start;
            while q < of.end {
                let wide = !small || !self.crowded && 2 * (of.end - q) > n;
                let side = match wide {
                    true if q + abreast * n <= of.end => abreast * n,
                    true => n,
                    false => c,
                };
                q = q.min(of.end - side);
                let mut r = p;
                while wide && r < whole {
                    r = r.min(height - n);
                    // SAFETY: rows r..r + n and columns q..q + side, a multiple of n, are of the plane, and as many more columns
                    // where these are asked for.
                    unsafe {
                        let rows = rows(from.add(q * W), r);
                        let columns = columns(to.add(r * W), q);
                        if far {
                            for i in 0..n {
                                prefetch(rows.at(i).wrapping_add(AHEAD));
                            }
                        }
                        if D::OWNS && q + 2 * side <= of.end {
                            // Those of the next squares' columns; where they cut lines, the first ones are there.
                            for next in (side..2 * side).step_by(n) {
                                for i in 0..n {
                                    own(columns.at(next + i).wrapping_add(V::BYTES - 1));
                                }
                            }
                        }
                        moved::<V, O, D, W>(&rows, &columns, 0, order, ways, beside);
                        if side > n {
                            for k in 1..const { LINE / V::BYTES } {
                                moved::<V, O, D, W>(&rows, &columns, k * n, order, ways, beside);
                            }
                        }
                    }
                    r += n;
                }
                while r < whole {
                    r = r.min(height - n);
                    // SAFETY: rows r..r + n and columns q..q + c are of the plane.
                    unsafe {
                        let rows = rows(from.add(q * W), r);
                        let columns = columns(to.add(r * W), q);
                        block::<V, W>(
                            |i| rows.at(i),
                            |m, v: V| order.mix(v).store(columns.at(m).cast_mut()),
                        );
                    }
                    r += n;
                }
                while r < end {
                    r = r.min(height - c);
                    for q in (q..q + side).step_by(c) {
                        // SAFETY: rows r..r + c and columns q..q + c are of the plane.
                        unsafe {
                            let rows = rows(from.add(q * W), r);
                            let columns = columns(to.add(r * W), q);
                            square::<Q, W>(
                                |i| rows.at(i),
                                |m, v: Q| order.mix(v).store(columns.at(m).cast_mut()),
                            );
                        }
                    }
                    r += c;
                }
                q += side;
            }
            p = end;
        }
    }
}

/// Moves the square of `rows` and `columns` that begins with this column.
///
/// # Safety
///
/// The CPU has `V`, and the square is of the plane.
#[inline(always)]
unsafe fn moved<V: Vector, O: Order, D: Beside, const W: usize>(
    rows: &impl Parted,
    columns: &impl Parted,
    first: usize,
    order: O,
    ways: Ways,
    beside: D,
) {
    // SAFETY: the CPU has `V`. The square's rows are readable from its first column on for a vector, and its columns writable for one, by
    // the caller's promise. Of bytes, blocks as many as a vector has lanes, of 16 columns each, are the square.
    unsafe {
        if const { W == 1 && V::BYTES == 2 * LANE && !D::ASKS } && ways.blocks {
            for first in (first..first + V::BYTES).step_by(LANE) {
                block_of::<V, O>(rows, columns, first, order);
            }
            return;
        }
        square_of::<V, O, W>(rows, columns, first, order, |rows| {
            beside.step::<V>(rows.len() * V::BYTES)
        });
    }
}

impl<V, Q, O, const W: usize, R, C, A, B, D> Each for Known<V, Q, O, W, R, C, D>
where
    D: Beside,
    V: Vector,
    Q: Vector,
    O: Order,
    R: Fn(*const u8, usize) -> A + Copy,
    C: Fn(*const u8, usize) -> B + Copy,
    A: Parted,
    B: Parted,
{
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        // Where lines are asked for, few rows at a time, as far as the CPU's own prefetcher follows them, so that these
        // lines stay until it is their turn; and so many columns that the next strip finds the lines that the last one began.
        let (strip, most) = if D::OWNS {
            let strip = followed().max(LINE / W);
            (strip, columns_of_strip(strip * W))
        } else {
            (STRIP, self.breadth)
        };
        for first in (0..self.breadth).step_by(most) {
            let of = first..(first + most).min(self.breadth);
            // SAFETY: the caller's promise for all of the plane. These columns end where the plane does, which has as many as a
            // vector has elements, or `most` or more behind its first one: whole lines of them, and no vector is longer than one.
            unsafe { self.columns(from, to, of, strip) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;
    use crate::plane::tests::moves_as_told;

    /// In every way, whatever this CPU does: squares, blocks, and what is left beside them, past the second-level cache too.
    #[test]
    fn squares_are_moved_in_every_way() {
        for (width, height, breadth) in [
            (1, 32, 32),
            (1, 33, 71),
            (1, 95, 129),
            (1, 259, 1031),
            (2, 37, 83),
            (4, 29, 43),
            (4, 131, 517),
            (8, 21, 19),
        ] {
            let row = ((breadth + 3) * width + 1) as isize;
            let mut joined = Axis::new(5, row);
            joined.join(height / 5, 5 * row + 7);
            for rows in [Axis::new(height, row), joined] {
                let pitch = (rows.len * width + 5) as isize;
                let mut plane = Plane::streaming(rows, Axis::new(breadth, pitch), false);
                plane.stream = false;
                plane.list();
                for lines in [false, true] {
                    for (quiet, blocks, half) in [
                        (false, false, false),
                        (true, false, false),
                        (true, true, false),
                        (false, false, true),
                    ] {
                        plane.ways = Ways {
                            lines,
                            quiet,
                            blocks,
                            half,
                        };
                        moves_as_told(&plane, width, 3);
                    }
                }
            }
        }
    }

    #[test]
    fn bytes_are_moved_as_blocks_on_a_zen_3() {
        // Rows and columns, their width, bytes from one to the next; and whether all squares of a line come first, whether no lines are
        // asked for, and whether squares are blocks.
        let cases = [
            ((300, 900), 1, (900, 300), (true, true, true)),
            ((300, 3001), 1, (3001, 300), (true, false, true)),
            ((300, 900), 1, (4100, 300), (true, true, false)),
            ((64, 900), 1, (4100, 300), (true, true, true)),
            ((300, 900), 1, (4101, 300), (true, true, true)),
            ((300, 900), 1, (2044, 300), (true, true, false)),
            ((300, 900), 1, (2043, 300), (true, true, true)),
            ((300, 900), 2, (1800, 600), (false, true, false)),
            ((300, 511), 4, (2044, 1200), (true, true, false)),
            ((300, 512), 4, (2052, 1200), (true, false, false)),
        ];
        for ((height, breadth), width, (row, column), (lines, quiet, blocks)) in cases {
            let rows = Axis::new(height, row);
            let plane = Plane::streaming(rows, Axis::new(breadth, column), false);
            let expected = Ways {
                lines,
                quiet: quiet && is_zen3(),
                blocks: blocks && is_zen3(),
                half: is_intel() && takes_half(&plane, width),
            };
            assert_eq!(
                Ways::of(&plane, width),
                expected,
                "{height}x{breadth} of {width}"
            );
        }
    }

    #[test]
    fn vectors_are_half_a_line_where_long_columns_cut_lines() {
        let Caches { first, second, .. } = Caches::of_this_cpu();
        // The width, the bytes of two columns, whether these cut lines, and what is told.
        for (width, bytes, cut, expected) in [
            (4, first + 8, true, true),
            (4, first + 8, false, false),
            (4, first, true, false),
            (2, first + 4, true, true),
            (1, first + 2, true, false),
            (16, first + 32, true, true),
            (16, SECOND * second, true, true),
            (16, SECOND * second + 32, true, false),
        ] {
            let rows = Axis::new(bytes / width / 2, 100);
            let step = first as isize + if cut { width as isize } else { 0 };
            let plane = Plane::streaming(rows, Axis::new(2, step), false);
            assert_eq!(
                takes_half(&plane, width),
                expected,
                "{bytes} of {width}, {cut}"
            );
        }
    }

    #[test]
    fn lines_are_asked_for_where_there_is_room_for_them() {
        // Bytes between columns; and whether lines are asked for, of elements of 1, 2, 4, 8 and 16 bytes.
        for (step, expected) in [
            (512, [false, true, true, true, true]),
            (1024, [false, false, true, true, true]),
            (2048, [false, false, false, true, true]),
            (4096, [false, false, false, false, true]),
            (6144, [false, false, false, true, true]),
            (3072, [false, false, true, true, true]),
            (-4096, [false, false, false, false, true]),
            (4032, [true; 5]),
            (4028, [true; 5]),
        ] {
            let found = [
                has_room::<1>(step),
                has_room::<2>(step),
                has_room::<4>(step),
                has_room::<8>(step),
                has_room::<16>(step),
            ];
            assert_eq!(found, expected, "{step}");
        }
    }
}
