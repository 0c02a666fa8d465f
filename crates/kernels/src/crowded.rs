//! Columns that push each other out of the first-level cache: which do, and planes of such columns, put together in a stage that
//! fits it, block by block, and copied from there.
//!
//! Columns that are a page apart have the same slots of the cache, so that a line that is written to each of some comes and
//! goes by itself. A stage's columns lie as suits the cache, and of each some lines are then copied at once.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use crate::around::Each;
use crate::block::tile;
use crate::nest::Loop;
use crate::order::Order;
use crate::places::{Parted, Places, Steps};
use crate::plane::Plane;
use crate::simd::{LANE, LINE, Vector};
use crate::square::{block_of, square_of};
use crate::strips::STRIP;
use crate::tuning::{Caches, is_zen, is_zen3, is_zen5};

/// Lines that find room in each slot of the first-level cache, beside others.
pub(crate) const ROOM: usize = 4;

/// Where the first-level cache looks a line up: at its place in a page.
const PAGE: usize = 4096;

/// The slots of the first-level cache that addresses this far apart can have.
pub(crate) fn slots(stride: isize) -> usize {
    (PAGE / LINE) >> (stride.trailing_zeros().clamp(6, 12) - 6)
}

/// Whether addresses so far apart, which is a multiple of a page, or so many bytes more or less, have nearly the same slot.
pub(crate) fn near_page(stride: isize, most: usize) -> bool {
    let beyond = stride.unsigned_abs() % PAGE;
    beyond.min(PAGE - beyond) <= most
}

/// The same of half a page, and so twice as many slots.
pub(crate) fn near_half_page(stride: isize, most: usize) -> bool {
    near_page(stride.wrapping_mul(2), 2 * most)
}

/// Bytes by which rows may lie beside a multiple of a page: as long as a line of a square's rows is one or two slots farther at most.
pub(crate) const BESIDE: usize = 4;
/// And columns. us on a Zen 3 of f32[1017,901] to columns, straight and by way of a stage, 188 and 260, f32[1019,901] 265 and 258,
/// f32[1021,901] 324 and 262, f32[1025,901] 369 and 268; u16[2039,901] 311 and 305, u16[2043,901] 379 and 316; u8[4081,901] 280 and 348,
/// u8[4087,901] 419 and 363, u8[4095,901] 559 and 367.
const COLUMNS_BESIDE: usize = 12;

/// Whether a nest is a transpose of which a line of the source belongs to so many columns, so far apart, that the
/// first-level cache has no room for a line of each.
pub(crate) fn crowds(width: usize, loops: &[Loop]) -> bool {
    let row = loops.iter().find(|l| l.source == width as isize);
    row.is_some_and(|l| {
        let columns = 0..l.extent.min(LINE / width) as isize;
        let most = most_of_a_slot(columns.map(|column| column.wrapping_mul(l.destination)));
        l.destination != l.source && most > WAYS
    })
}

/// Lines of a slot of the first-level cache, and some more.
pub(crate) const WAYS: usize = 4 * ROOM;

/// The size of what is staged at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Bytes of a column,
    run: usize,
    /// and how many there are.
    columns: usize,
    /// Whether a vector of rows is copied at a time, before it is transposed: where rows push each other out, as then each line is
    /// looked at once.
    copies: bool,
}

impl Size {
    /// Of a plane of elements of so many bytes.
    ///
    /// On a Zen 5 f32[1024,1024] to columns takes 0.11 ms by 512 bytes, 0.24 by half and 0.13 by twice as many, of half as many columns. On
    /// a Zen 3 u8[2048,2048] takes 0.49 ms by as many and 0.44 by half, of two lines of the source; where rows are copied u8[901,4096]
    /// 0.57 and 0.46, u16[901,2047] 0.43 and 0.34, but f32[1024,1024] 0.26 and 0.34. Where axes have tables u16[16,16,16,16] reversed took
    /// 10.0 us by 512 bytes of 64 columns and 8.1, but f64[8,8,8,8,8] 12.1 and 14.2.
    pub(crate) fn of(plane: &Plane, width: usize) -> Size {
        let tables = !plane.tables.0.is_empty();
        if is_zen3() && (width <= 2 || !tables) {
            return Size {
                run: 256,
                columns: 2 * LINE / width,
                copies: copies(plane, width),
            };
        }
        Size {
            run: 512,
            columns: 64,
            copies: false,
        }
    }

    /// Bytes from one staged column to the next, an odd number of lines.
    fn pitch(&self) -> usize {
        self.run + LINE
    }
}

/// Whether it is so on a Zen 3.
///
/// us on a Zen 4 that lacks AVX-512, of rows half a page apart transposed where they lie, and copied: u8[2048,2048] 506 and 352,
/// u8[901,2048] 227 and 169, u8[901,2050] 216 and 182, u8[2500,2048] 607 and 485; of pairs u16[901,1024] 96 and 137.
fn copies(plane: &Plane, width: usize) -> bool {
    let (rows, columns) = (&plane.rows, &plane.columns);
    let crowd = match width {
        1 => near_half_page,
        _ => near_page,
    };
    width <= 2
        && plane.tables.0.is_empty()
        && rows.len > LINE
        && crowd(rows.first_stride(), BESIDE)
        && columns.len * width >= LINE
}

/// Whether it is so, too, where a block of a plane that streams is staged. ms on a Zen 4 that lacks AVX-512, transposed where they lie, and
/// copied, two threads in brackets: u8[4096,4096] to columns 3.10 and 2.24 (1.90 and 1.48), u8[8192,8192] 11.5 and 8.8 (8.0 and 6.2),
/// u8[16384,16384] 51 and 38 (27 and 23), u8[4096,12288] 8.6 and 6.6 (5.9 and 4.4), u8[4001,4096] 3.16 and 2.37, u8[8001,2048] 2.24 and
/// 1.88; of rows that do not push each other out, u8[8192,8000] 7.4 and 8.1, and of pairs u16[4096,4096] 4.1 and 4.2, u16[4099,4096] 4.5 and
/// 5.5. Elsewhere none were measured.
pub(crate) fn copies_streamed(plane: &Plane, width: usize) -> bool {
    is_zen3() && width == 1 && near_half_page(plane.rows.first_stride(), BESIDE)
}

/// Bytes of the stage, whatever is staged.
const STAGE: usize = 40 << 10;
/// Bytes from one row to the next where these are copied, an odd number of lines.
const PITCH: usize = 3 * LINE;

/// Whether a plane's columns, moved with ordinary stores, push each other out of the first-level cache, and a stage is faster:
/// where its rows do so, too, unless it is small; and of bytes and pairs wherever sixteen columns share a slot and have no other.
///
/// On a Zen 5, ms before and with a stage: f32[1024,1024] to columns 0.21 and 0.11, f32[1024,64] 0.010 and 0.006, f64[512,512]
/// 0.071 and 0.047, u16[65536,24] 0.33 and 0.09, u8[4096,256] 0.104 and 0.033, u8[4096,40] 0.041 and 0.005; but where rows find
/// room f32[1024,1000] 0.088 and 0.123, and where all is in the second-level cache f64[512,64] 0.004 and 0.008.
///
/// On older ones only where columns share a single slot: of bytes and pairs rows of half a line to a line, of bytes and words also
/// longer ones that push each other out. On a Zen 4 u16[65536,24] 0.34 and 0.13, u8[8192,33] 0.049 and 0.015, but u8[8192,24] 0.010
/// and 0.011, u16[4096,65] 0.027 and 0.030; f32[1024,1024] 0.216 and 0.196, u8[4096,1024] 0.29 and 0.23, but u16[1024,1024] 0.104 and
/// 0.117, f32[512,512] 0.034 and 0.041.
///
/// On a Zen 3 bytes and pairs that share a single slot, and words where rows push each other out as well: u8[4096,1000] 0.80 and 0.41,
/// u16[4096,65] 0.060 and 0.038, f32[1024,1024] 0.43 and 0.26, but f32[1024,901] 0.21 and 0.25, f64[1024,1024] 0.48 and 0.53; of two slots
/// bytes alone, u8[2048,901] 0.185 and 0.150, but f32[8,512,512] 0.76 and 1.30. There, columns nearly a page apart crowd as well, and more
/// so, as each cuts lines (see [`COLUMNS_BESIDE`]); and so do rows, of bytes and pairs (see [`Size`]). Others were not measured.
pub(crate) fn suits(plane: &Plane, width: usize, bytes: usize) -> bool {
    if !plane.tables.0.is_empty() {
        return suits_tables(plane, width, bytes);
    }
    let Some(step) = plane.columns.single_stride() else {
        return false;
    };
    if is_zen3() {
        return fits(plane, width) && suits_zen3(plane, step, width, bytes);
    }
    // Plans of small planes are in a hurry.
    let slots_of_columns = slots(step);
    if slots_of_columns > MOST || !is_zen() || !fits(plane, width) {
        return false;
    }
    let Some(pitch) = plane.rows.single_stride() else {
        return false;
    };
    // The lines of a square's columns that belong in one slot.
    let lines = (LINE / width).min(plane.columns.len) / slots_of_columns;
    let rows = plane.rows.len.min(STRIP) > ROOM * slots(pitch);
    let second = Caches::of_this_cpu().second;
    let single = slots_of_columns == 1;
    if !is_zen5() {
        let slim = width <= 2 && (LINE / 2..=LINE).contains(&(plane.columns.len * width));
        return lines >= 16 && single && (slim || rows && bytes >= second / 4 && width != 2);
    }
    match lines {
        16.. if width <= 2 && single => true,
        16.. => rows && bytes >= second / 4,
        8.. => rows && bytes >= second && width >= 4,
        _ => false,
    }
}

/// The same on a Zen 3, of columns so far apart.
fn suits_zen3(plane: &Plane, step: isize, width: usize, bytes: usize) -> bool {
    let Some(pitch) = plane.rows.single_stride() else {
        return false;
    };
    let columns = (LINE / width).min(plane.columns.len);
    let much = bytes >= Caches::of_this_cpu().second / 4;
    let rows = || plane.rows.len.min(STRIP) > ROOM * slots(pitch);
    if slots(step) == 1 {
        return width <= 2 && columns >= 16 || much && columns >= 8 && width <= 4 && rows();
    }
    let beside = width <= 4 && columns >= 16 && near_page(step, COLUMNS_BESIDE);
    let halves = width == 1 && columns >= 32 && near_half_page(step, BESIDE);
    much && (beside || halves || copies(plane, width))
}

/// The same of a plane with tables of its places: whether rows push each other out, and columns too.
///
/// On a Zen 3, us before and with a stage, of arrays whose dimensions change to the opposite order: f64[8,8,8,8,8] 28.7 and 12.1,
/// f32[32,8,8,32] 25.6 and 13.4, f32[64,8,64] 10.3 and 5.5, c128[16,16,16] 4.7 and 2.8, u16[16,16,16,16] 16.0 and 10.2; but where they
/// don't, f32[6,7,8,9,10] 4.2 and 5.4, u8[16,24,20,30] 13.2 and 17.1, and where columns alone do u16[16,24,20,30] 25.8 and 28.3. Others
/// were not measured.
fn suits_tables(plane: &Plane, width: usize, bytes: usize) -> bool {
    let (rows, columns) = &plane.tables;
    is_zen3()
        && 2 * bytes >= Caches::of_this_cpu().first
        && fits(plane, width)
        && most_of_a_slot(rows.iter().copied().take(STRIP)) > ROOM
        && most_of_a_slot(columns.iter().copied().take(LINE / width)) >= ROOM
}

/// The most lines at these offsets that have the same slot of the first-level cache.
fn most_of_a_slot(offsets: impl Iterator<Item = isize>) -> usize {
    let mut lines = [0; PAGE / LINE];
    let mut last = None;
    for offset in offsets {
        let line = offset.div_euclid(LINE as isize);
        // Those that are closer than a line share it.
        if last != Some(line) {
            lines[line.rem_euclid((PAGE / LINE) as isize) as usize] += 1;
            last = Some(line);
        }
    }
    lines.into_iter().max().unwrap_or(0)
}

/// The most slots of columns that crowd: with more, a square has fewer than sixteen lines of bytes in each, and than eight of
/// others.
const MOST: usize = 4;

/// Whether there are as many rows and columns as [`Crowded`] needs, whatever its vectors.
pub(crate) fn fits(plane: &Plane, width: usize) -> bool {
    plane.rows.len * width >= LINE && plane.columns.len * width >= 16
}

#[repr(align(64))]
struct Staging(MaybeUninit<[u8; STAGE]>);

/// Rows of two lines, as many as a vector has elements.
#[repr(align(64))]
struct Rows(MaybeUninit<[[u8; PITCH]; LINE]>);

/// Moves a plane with ordinary stores.
///
/// # Safety (of `each`)
///
/// As `plane::run`, for one iteration of the loops around it; `rows` and `columns` give the places from a row or a column on. There are
/// at least `V::BYTES / W` rows and `16 / W` columns.
pub(crate) struct Crowded<V, O, const W: usize, R, C> {
    pub(crate) order: O,
    pub(crate) rows: R,
    pub(crate) columns: C,
    pub(crate) height: usize,
    pub(crate) breadth: usize,
    pub(crate) size: Size,
    pub(crate) vector: PhantomData<V>,
}

impl<V, O, const W: usize, R, C, A, B> Each for Crowded<V, O, W, R, C>
where
    V: Vector,
    O: Order,
    R: Fn(*const u8, usize) -> A + Copy,
    C: Fn(*const u8, usize) -> B + Copy,
    A: Places,
    B: Places,
{
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let Crowded {
            order,
            rows: rows_from,
            columns: columns_from,
            height,
            breadth,
            size,
            ..
        } = *self;
        let n = V::BYTES / W;
        let pitch = size.pitch();
        let mut stage = Staging(MaybeUninit::uninit());
        let stage = stage.0.as_mut_ptr().cast::<u8>();
        // Of rows that are copied there are a vector or more.
        let least = if size.copies { n } else { 16 / W };
        assert!(size.columns.max(least) * pitch <= STAGE && n * W <= size.run);
        assert!(!size.copies || size.columns.max(least) * W <= PITCH && breadth >= least);
        for q in (0..breadth).step_by(size.columns) {
            // The last block is moved back to be whole vectors, if need be; some elements are then written twice.
            let columns = size.columns.min(breadth - q).max(least);
            let q = q.min(breadth - columns);
            for p in (0..height).step_by(size.run / W) {
                let rows = (size.run / W).min(height - p).max(n);
                let p = p.min(height - rows);
                // SAFETY: rows p..p + rows and columns q..q + columns are of the plane, no fewer than a vector and 16 bytes have
                // elements, or a vector and another where rows are copied. The stage, which is no part of either side, has room for them, as
                // was seen: there are no more columns than `size` and `least` say, and no more rows than those of a run, as no vector is
                // longer. There is room for a vector of rows, too, of so many columns. Vectors that are copied lie in these rows, and in the
                // `rows * W` bytes of a column that the tile has written, and in as many of the destination's.
                unsafe {
                    let of = rows_from(from.add(q * W), p);
                    let staged = Steps {
                        base: stage,
                        step: pitch as isize,
                    };
                    if size.copies {
                        copied::<V, W>(of, rows, staged, columns, order, |_| ());
                    } else {
                        tile::<V, W, false>(of, rows, staged, columns, order, |_| ());
                    }
                    let places = columns_from(to.add(p * W), q);
                    for c in 0..columns {
                        copy::<V>(staged.at(c), places.at(c).cast_mut(), rows * W);
                    }
                }
            }
        }
    }
}

/// Moves a tile by ordinary stores, as [`tile`] does, of which as many rows as a vector has elements are copied at a time before they are
/// transposed: of rows that push each other out of the first-level cache each line is looked at once so. `ask` is told of all rows, some
/// at a time and in order.
///
/// # Safety
///
/// As [`tile`]. There are as many columns as a vector has elements, or more, and `breadth * W` is at most [`PITCH`].
#[inline(always)]
pub(crate) unsafe fn copied<V: Vector, const W: usize>(
    rows: impl Places,
    height: usize,
    columns: Steps,
    breadth: usize,
    order: impl Order,
    ask: impl Fn(Range<usize>),
) {
    let n = V::BYTES / W;
    assert!(n <= height && n <= breadth && breadth * W <= PITCH);
    let mut copied = Rows(MaybeUninit::uninit());
    let copied = Steps {
        base: copied.0.as_mut_ptr().cast::<u8>(),
        step: PITCH as isize,
    };
    let blocks = const { W == 1 && V::BYTES == 2 * LANE };
    let step = if blocks { LANE } else { n };
    let mut r = 0;
    while r < height {
        // The last rows, and the last columns, are moved back to be whole; some elements are then written twice.
        r = r.min(height - n);
        // SAFETY: rows r..r + n are of the tile, and `breadth * W` bytes of each readable, a vector or more, by the caller's promise; `copied`
        // has room for so many of n rows, as was seen, and is no part of either side. Columns q..q + step are of the tile, writable for a
        // vector each from row r on, and 16 bytes or a vector of the copied rows are read from column q on. The CPU has `V`.
        unsafe {
            for i in 0..n {
                copy::<V>(rows.at(r + i), copied.at(i).cast_mut(), breadth * W);
            }
            ask(r..r + n);
            let columns = columns.from(0, r * W);
            let mut q = 0;
            while q < breadth {
                q = q.min(breadth - step);
                if blocks {
                    block_of::<V, _>(&copied, &columns, q, order);
                } else {
                    square_of::<V, _, W>(&copied, &columns, q, order, |_| ());
                }
                q += step;
            }
        }
        r += n;
    }
}

/// Copies so many bytes by vectors, of which the last one is moved back to be whole. As there is always a vector, it need not ask, as
/// [`copy`](crate::copy::copy) does: u8[901,4096] to columns took 403 us by that one, and 357 so.
///
/// # Safety
///
/// There are no fewer bytes than a vector has, readable here and writable there, apart. The CPU has `V`.
#[inline(always)]
unsafe fn copy<V: Vector>(from: *const u8, to: *mut u8, bytes: usize) {
    let mut done = 0;
    while done < bytes {
        done = done.min(bytes - V::BYTES);
        // SAFETY: a vector from `done` on is part of these bytes. The CPU has `V`.
        unsafe { V::load(from.add(done)).store(to.add(done)) };
        done += V::BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;
    use crate::isa::Isa;
    use crate::plane::At;

    #[test]
    fn columns_a_power_of_two_apart_crowd_where_a_line_has_many() {
        let crowds = |width: usize, rows: usize, columns: usize| {
            let of = |extent, source: usize, destination: usize| Loop {
                extent,
                source: source as isize,
                destination: destination as isize,
            };
            let loops = [
                of(columns, width, rows * width),
                of(rows, columns * width, width),
            ];
            super::crowds(width, &loops)
        };
        // 64 and 32 lines for one slot of twelve or so; 16 find room.
        assert!(crowds(1, 4096, 300) && crowds(2, 2048, 300));
        assert!(!crowds(4, 1024, 300));
        // Three columns, or all in three lines.
        assert!(!crowds(1, 4096, 3) && !crowds(1, 3, 4096));
        // The rows may be as far apart as they like.
        assert!(!crowds(1, 4000, 4096) && !crowds(2, 1000, 4096));
        let run = Loop {
            extent: 1 << 22,
            source: 1,
            destination: 1,
        };
        assert!(!super::crowds(1, &[run]));
    }

    /// Of so many rows and columns, rows so many bytes apart and with a gap behind each, that lie in order or the other way round.
    fn moves(width: usize, (height, breadth): (usize, usize), row: usize, backwards: bool) {
        const GAP: usize = 3;
        let column = (height + GAP) * width;
        let source: Vec<u8> = (0..height * row)
            .map(|i| (i * 37 + i / 251) as u8)
            .collect();
        let place = |i: usize, count: usize| if backwards { count - 1 - i } else { i };
        let mut expected = vec![0xa5; breadth * column];
        for p in 0..height {
            for q in 0..breadth {
                let from = place(p, height) * row + q * width;
                let to = place(q, breadth) * column + p * width;
                expected[to..to + width].copy_from_slice(&source[from..from + width]);
            }
        }
        let stride = |bytes: usize| bytes as isize * if backwards { -1 } else { 1 };
        let plane = Plane {
            stream: false,
            crowded: true,
            ..Plane::streaming(
                Axis::new(height, stride(row)),
                Axis::new(breadth, stride(column)),
                false,
            )
        };
        for &isa in Isa::available() {
            let mut destination = vec![0xa5; expected.len()];
            let at = At {
                source: source[place(0, height) * row..].as_ptr(),
                destination: destination[place(0, breadth) * column..].as_mut_ptr(),
                upcoming: source.as_ptr(),
                aside: None,
            };
            // SAFETY: the source has all elements of the plane, and the destination room for them.
            unsafe { crate::dispatch::plane(isa, &plane, width, &at) };
            assert!(
                destination == expected,
                "{height}x{breadth} of {width}, {isa:?}, backwards: {backwards}"
            );
        }
    }

    /// Whichever CPU this is.
    #[test]
    fn crowded_planes_are_moved() {
        for size in [(64, 16), (67, 19), (128, 64), (513, 65), (1031, 131)] {
            for width in [1, 2, 4, 8, 16] {
                let row = (size.1 + 3) * width;
                moves(width, size, row, false);
                moves(width, size, row, true);
            }
        }
    }

    /// Rows a page or half of one apart, and nearly so: such of bytes, and of pairs a page apart, are copied on a Zen 3.
    #[test]
    fn crowded_rows_are_moved() {
        for (row, of_pairs) in [
            (2044, false),
            (2048, false),
            (4092, true),
            (4096, true),
            (4100, true),
        ] {
            for (width, size) in [
                (1, (65, 64)),
                (1, (131, 129)),
                (1, (513, 331)),
                (2, (129, 127)),
                (2, (67, 197)),
                (4, (67, 97)),
            ] {
                let (rows, columns) = (Axis::new(size.0, row), Axis::new(size.1, 5000));
                let plane = Plane::streaming(rows, columns, false);
                let copies = width == 1 || width == 2 && of_pairs;
                assert_eq!(Size::of(&plane, width).copies, is_zen3() && copies);
                assert_eq!(copies_streamed(&plane, width), is_zen3() && width == 1);
                moves(width, size, row as usize, false);
                moves(width, size, row as usize, true);
            }
        }
    }

    /// A plane of an array of these sizes whose dimensions come in the opposite order, rows the first two of them, with its tables.
    fn reversed(width: usize, [a, b, c, d]: [usize; 4]) -> Plane {
        let stride = |elements: usize| (elements * width) as isize;
        let mut rows = Axis::new(a, stride(b * c * d));
        rows.join(b, stride(c * d));
        let mut columns = Axis::new(d, stride(a * b * c));
        columns.join(c, stride(a * b));
        let mut plane = Plane {
            stream: false,
            ..Plane::streaming(rows, columns, false)
        };
        plane.list();
        plane
    }

    /// Whichever CPU this is.
    #[test]
    fn crowded_planes_with_tables_are_moved() {
        for (width, sizes) in [
            (1, [8, 9, 5, 17]),
            (2, [13, 7, 3, 11]),
            (4, [5, 29, 2, 8]),
            (8, [16, 4, 3, 8]),
            (16, [7, 3, 2, 5]),
        ] {
            let mut plane = reversed(width, sizes);
            plane.crowded = true;
            let bytes = width * sizes.iter().product::<usize>();
            let source: Vec<u8> = (0..bytes).map(|i| (i * 37 + i / 251) as u8).collect();
            let (rows, columns) = (&plane.tables.0, &plane.tables.1);
            let mut expected = vec![0xa5; bytes];
            for (p, row) in rows.iter().enumerate() {
                for (q, column) in columns.iter().enumerate() {
                    let (from, to) = (*row as usize + q * width, *column as usize + p * width);
                    expected[to..to + width].copy_from_slice(&source[from..from + width]);
                }
            }
            for &isa in Isa::available() {
                let mut destination = vec![0xa5; bytes];
                let at = At {
                    source: source.as_ptr(),
                    destination: destination.as_mut_ptr(),
                    upcoming: source.as_ptr(),
                    aside: None,
                };
                // SAFETY: the tables are those of an array with as many elements as both sides.
                unsafe { crate::dispatch::plane(isa, &plane, width, &at) };
                assert!(destination == expected, "{sizes:?} of {width}, {isa:?}");
            }
        }
    }

    #[test]
    fn tables_crowd_on_a_zen3_where_rows_and_columns_do() {
        let crowd = |width: usize, sizes: [usize; 4]| {
            let bytes = width * sizes.iter().product::<usize>();
            suits_tables(&reversed(width, sizes), width, bytes)
        };
        for (width, sizes) in [
            (4, [16, 16, 16, 16]),
            (8, [32, 8, 8, 32]),
            (2, [8, 16, 8, 64]),
            (1, [32, 4, 8, 32]),
        ] {
            assert_eq!(crowd(width, sizes), is_zen3(), "{sizes:?} of {width}");
        }
        // Neither, columns alone, rows alone, and too small an array.
        for (width, sizes) in [
            (4, [6, 7, 8, 90]),
            (2, [16, 24, 20, 30]),
            (4, [7, 3, 16, 64]),
            (4, [8, 8, 4, 8]),
        ] {
            assert!(!crowd(width, sizes), "{sizes:?} of {width}");
        }
    }

    #[test]
    fn columns_a_page_apart_crowd_on_a_zen() {
        const MIB: usize = 1 << 20;
        // Rows and columns, their width, bytes from one to the next, bytes of the whole, and whether they crowd on a Zen 5, a Zen 4
        // and a Zen 3.
        let cases = [
            ((1024, 1024), 4, (4096, 4096), 4 * MIB, (true, true, true)),
            // Rows that find room.
            (
                (1024, 1000),
                4,
                (4000, 4096),
                4 * MIB,
                (false, false, false),
            ),
            ((4096, 1000), 1, (1000, 4096), 4 * MIB, (true, false, true)),
            ((4096, 1024), 1, (1024, 4096), 4 * MIB, (true, true, true)),
            // Two slots.
            ((1024, 512), 4, (4096, 6144), 4 * MIB, (true, false, false)),
            ((1024, 500), 2, (1000, 2048), MIB, (false, false, false)),
            ((1024, 1024), 2, (2048, 2048), 2 * MIB, (true, false, false)),
            ((2048, 1024), 2, (2048, 4096), 4 * MIB, (true, false, true)),
            // Small ones.
            ((1024, 32), 4, (128, 4096), MIB / 8, (false, false, false)),
            ((4096, 33), 1, (33, 4096), MIB / 8, (true, true, true)),
            ((4096, 24), 1, (24, 4096), MIB / 16, (true, false, true)),
            ((4096, 24), 2, (48, 4096), MIB / 8, (true, true, true)),
            ((4096, 33), 2, (66, 4096), MIB / 4, (true, false, true)),
            ((4096, 15), 1, (15, 4096), MIB / 16, (false, false, false)),
            ((32, 4096), 1, (4096, 4096), MIB / 8, (false, false, false)),
            ((512, 128), 8, (1024, 4096), MIB / 2, (false, false, false)),
            ((512, 512), 8, (4096, 4096), 2 * MIB, (true, false, false)),
            ((512, 512), 16, (8192, 8192), 4 * MIB, (false, false, false)),
            // Nearly a page apart, and half of one.
            ((1021, 900), 4, (3600, 4084), 4 * MIB, (false, false, true)),
            ((1020, 900), 4, (3600, 4080), 4 * MIB, (false, false, false)),
            ((1021, 15), 4, (60, 4084), MIB, (false, false, false)),
            ((511, 900), 8, (7200, 4088), 4 * MIB, (false, false, false)),
            ((4108, 900), 1, (900, 4108), 4 * MIB, (false, false, true)),
            ((4109, 900), 1, (900, 4109), 4 * MIB, (false, false, false)),
            ((4095, 33), 1, (33, 4095), MIB / 16, (false, false, false)),
            ((2052, 900), 1, (900, 2052), MIB, (false, false, true)),
            ((2053, 900), 1, (900, 2053), MIB, (false, false, false)),
            ((1025, 900), 2, (1800, 2050), MIB, (false, false, false)),
            // Rows of bytes and pairs alone.
            ((900, 4095), 1, (4095, 900), 4 * MIB, (false, false, true)),
            ((900, 2050), 2, (4100, 1800), 4 * MIB, (false, false, true)),
            ((900, 2051), 2, (4102, 1800), 4 * MIB, (false, false, false)),
            ((900, 2052), 1, (2052, 900), 2 * MIB, (false, false, true)),
            ((900, 2053), 1, (2053, 900), 2 * MIB, (false, false, false)),
            ((900, 1025), 2, (2050, 1800), 2 * MIB, (false, false, false)),
            ((64, 4095), 1, (4095, 900), 4 * MIB, (false, false, false)),
            ((900, 63), 1, (4095, 900), 4 * MIB, (false, false, false)),
            ((900, 1023), 4, (4092, 3600), 4 * MIB, (false, false, false)),
        ];
        for ((height, breadth), width, (row, column), bytes, (zen5, zen4, zen3)) in cases {
            let rows = Axis::new(height, row);
            let plane = Plane::streaming(rows, Axis::new(breadth, column), false);
            let crowd = match (is_zen5(), is_zen3()) {
                (true, _) => zen5,
                (_, true) => zen3,
                _ => zen4,
            };
            assert_eq!(
                suits(&plane, width, bytes),
                crowd && is_zen(),
                "{height}x{breadth} of {width}"
            );
        }
    }
}
