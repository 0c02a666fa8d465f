//! Interleaving two or four rows into runs, and separating runs into such rows.
//!
//! This is what the second tile of `T(8,128)(2,1)` and `T(8,128)(4,1)` does. As many registers as there are rows each take as much of
//! one; their words are transposed so that every lane has a share of every row, the bytes of a lane are put in order, and
//! then lanes. The other way is the same backwards. So a register costs three to four shuffles, whatever the width and the number of
//! rows. Where rows are shorter than a register, or lanes so many that they take more shuffles to put in order, it takes an equal part of
//! each row, whose words are dealt out to lanes: that is two shuffles, and as many loads as there are rows.
//!
//! us on a Zen 3, by parts and by registers: s8[512,512] to `T(8,128)(4,1)` 14.3 and 8.3, back 13.7 and 8.3, bf16[256,512] to
//! `T(8,128)(2,1)` 9.8 and 7.3, back 10.4 and 7.8. It was measured on no other CPU; registers of four lanes take parts.

mod strips;

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::around::{Around, Each, ONCE};
use crate::block::rounds;
use crate::nest::{Loop, Loops};
use crate::pen::Pen;
use crate::plane::At;
use crate::simd::{LANE, LINE, Set, Vector, Work, near};
use strips::Strips;

/// How many bytes of each row ahead are asked for, where the moves stream.
const NEXT: isize = 512;

#[derive(Debug, Clone)]
pub(crate) struct Zip {
    /// Bytes of an element.
    width: usize,
    /// Rows, 2 or 4; `rows * width` is at most 16.
    rows: usize,
    /// Bytes of each row.
    bytes: usize,
    /// Bytes from one row to the next, on the side that has rows.
    stride: isize,
    /// Rows to a run; otherwise a run to rows.
    join: bool,
    stream: bool,
    /// Which byte of a lane goes to each.
    table: [u8; 16],
    /// How far ahead in the source what comes soon is.
    ahead: isize,
    /// The loop over runs that go on in the rows which they are separated into.
    along: Loop,
    around: Around,
}

/// Whether there is a kernel for so many rows of elements so wide.
pub(crate) fn fits(width: usize, rows: usize) -> bool {
    matches!(rows, 2 | 4) && rows * width <= 16
}

/// How many bytes of each of `K` rows are moved at once, if they have so many or more: a register of each, or a part.
#[inline(always)]
fn at_once<V: Vector, const K: usize>(bytes: usize) -> usize {
    let lanes = V::BYTES / LANE;
    if lanes <= 2 && bytes >= V::BYTES {
        V::BYTES
    } else {
        V::BYTES / K
    }
}

/// Which byte of a lane goes to each, of numbers that [`fits`] takes.
fn table(width: usize, rows: usize, join: bool) -> [u8; LANE] {
    let (w, r) = (width.trailing_zeros(), rows.trailing_zeros());
    TABLES[w as usize & 3][r as usize & 3][usize::from(join)]
}

/// All of them, by the logarithms of the width and of the rows: to make one each time would be a tenth of a small plan.
static TABLES: [[[[u8; LANE]; 2]; 4]; 4] = {
    let mut tables = [[[[0; LANE]; 2]; 4]; 4];
    let mut i = 0;
    while i < 16 {
        let (w, r) = (i / 4, i % 4);
        if w + r <= 4 {
            let (width, rows) = (1 << w, 1 << r);
            let mut byte = 0;
            while byte < LANE {
                let (element, at) = (byte >> w, byte & (width - 1));
                let part = ((element & (rows - 1)) << (4 - r)) + (element >> r << w) + at;
                tables[w][r][1][byte] = part as u8;
                tables[w][r][0][part] = byte as u8;
                byte += 1;
            }
        }
        i += 1;
    }
    tables
};

impl Zip {
    /// `outer` are the loops around the one over rows and the one over elements; the innermost of them are taken out.
    pub(crate) fn new(
        width: usize,
        rows: usize,
        len: usize,
        stride: isize,
        join: bool,
        stream: bool,
        outer: &mut Loops,
    ) -> Zip {
        debug_assert!(fits(width, rows));
        let bytes = len * width;
        let mut along = ONCE;
        if stream
            && !join
            && let Some(i) = outer.iter().position(|l| l.destination == bytes as isize)
        {
            along = outer.remove(i);
        }
        let around = Around::take(outer);
        let ahead = || {
            let piece = if join { bytes } else { bytes * rows } as isize;
            let next = around.loops().iter().map(|l| l.source);
            let next = next.filter(|&s| s >= piece).min().unwrap_or(piece);
            next * (NEXT / next).max(1)
        };
        Zip {
            width,
            rows,
            bytes,
            stride,
            join,
            stream,
            table: table(width, rows, join),
            ahead: if stream { ahead() } else { 0 },
            along,
            around,
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether rows are a number of lanes.
    pub(crate) fn is_of_lanes(&self) -> bool {
        self.bytes.is_multiple_of(16)
    }
}

/// Moves all rows.
///
/// # Safety
///
/// The CPU has the set. The rows and the runs of every iteration are readable and writable and do not overlap.
pub(crate) unsafe fn run<S: Set>(zip: &Zip, at: &At) {
    // SAFETY: the caller's promise; a row has at least a register's part.
    unsafe {
        if zip.bytes * zip.rows >= S::Wide::BYTES {
            sized::<S, S::Wide>(zip, at);
        } else if zip.bytes * zip.rows >= S::Half::BYTES {
            sized::<S::Narrow, S::Half>(zip, at);
        } else if zip.bytes * zip.rows >= S::Quarter::BYTES {
            sized::<S::Narrow, S::Quarter>(zip, at);
        } else {
            elements(zip, at);
        }
    }
}

/// # Safety
///
/// As `run`; a row has at least a part of `V`.
unsafe fn sized<S: Set, V: Vector>(zip: &Zip, at: &At) {
    let vector = PhantomData::<V>;
    // SAFETY: the caller's promise.
    unsafe {
        match (zip.rows, zip.join, zip.stream) {
            (2, true, false) => S::enter(Join::<V, 2, false> { zip, at, vector }),
            (2, true, true) => S::enter(Join::<V, 2, true> { zip, at, vector }),
            (2, false, false) => S::enter(Split::<V, 2> { zip, at, vector }),
            (2, false, true) => S::enter(Strips::<V, 2> { zip, at, vector }),
            (_, true, false) => S::enter(Join::<V, 4, false> { zip, at, vector }),
            (_, true, true) => S::enter(Join::<V, 4, true> { zip, at, vector }),
            (_, false, false) => S::enter(Split::<V, 4> { zip, at, vector }),
            (_, false, true) => S::enter(Strips::<V, 4> { zip, at, vector }),
        }
    }
}

/// Bytes of runs that cut lines and are staged therefore.
const STAGED: usize = 2 << 10;

#[repr(align(64))]
struct Stage(MaybeUninit<[u8; STAGED]>);

/// Interleaves.
///
/// # Safety (of `work`)
///
/// As `run`; `K` is the number of rows, each of which has at least a part of `V`.
struct Join<'a, V, const K: usize, const STREAM: bool> {
    zip: &'a Zip,
    at: &'a At,
    vector: PhantomData<V>,
}

impl<V: Vector, const K: usize, const STREAM: bool> Work for Join<'_, V, K, STREAM> {
    #[inline(always)]
    unsafe fn work(self) {
        let Join { zip, at, .. } = self;
        let mut stage = Stage(MaybeUninit::uninit());
        // SAFETY: the caller's promise.
        unsafe {
            let mut joining = Joining::<V, K, STREAM> {
                table: V::splat_lane(zip.table.as_ptr()),
                bytes: zip.bytes,
                stride: zip.stride,
                ahead: zip.ahead,
                stage: stage.0.as_mut_ptr().cast(),
                pen: Pen::new(),
            };
            zip.around.walk(at.source, at.destination, &mut joining);
            if STREAM {
                joining.pen.lift();
            }
        }
    }
}

/// # Safety (of `each`)
///
/// `bytes` of `K` rows, `stride` apart, are readable and as many together writable. `bytes` is at least a part of `V`.
struct Joining<V, const K: usize, const STREAM: bool> {
    table: V,
    bytes: usize,
    stride: isize,
    ahead: isize,
    stage: *mut u8,
    pen: Pen<V>,
}

impl<V: Vector, const K: usize, const STREAM: bool> Each for Joining<V, K, STREAM> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let bytes = self.bytes;
        let unit = at_once::<V, K>(bytes);
        let direct = STREAM && (to as usize | (bytes * K)).is_multiple_of(LINE);
        let mut done = 0;
        while done < bytes {
            // SAFETY: a piece is a unit or more and inside the row, and what is moved at once is inside the piece. Where they stream,
            // registers are aligned: the run and its length are multiples of a line, and so is what a unit fills, or a register.
            unsafe {
                let (piece, place) = if STREAM && !direct {
                    (piece(bytes - done, STAGED / K, unit), self.stage)
                } else {
                    (bytes, to)
                };
                let mut i = 0;
                while i < piece {
                    i = i.min(piece - unit);
                    let (from, to) = (from.add(done + i), place.add(i * K));
                    self.ask(from, unit);
                    match (unit == V::BYTES, direct) {
                        (true, true) => self.registers(from, |at, v| v.stream(to.add(at))),
                        (true, false) => self.registers(from, |at, v| v.store(to.add(at))),
                        (false, true) => self.parts(from).stream(to),
                        (false, false) => self.parts(from).store(to),
                    }
                    i += unit;
                }
                if STREAM && !direct {
                    self.pen.copy(place, to.add(done * K), piece * K);
                }
                done += piece;
            }
        }
    }
}

impl<V: Vector, const K: usize, const STREAM: bool> Joining<V, K, STREAM> {
    /// Asks for what is so far ahead of some bytes of every row.
    #[inline(always)]
    fn ask(&self, from: *const u8, bytes: usize) {
        // Every line once.
        if STREAM && from as usize % LINE < bytes {
            for k in 0..K as isize {
                near(from.wrapping_offset(k * self.stride + self.ahead));
            }
        }
    }

    /// A part of every row.
    ///
    /// # Safety
    ///
    /// A part of `V` is readable in every row.
    #[inline(always)]
    unsafe fn parts(&self, from: *const u8) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            V::load_parts::<K>(from, self.stride)
                .deal::<K>()
                .shuffle(self.table)
        }
    }

    /// A register of every row; `put` takes each of the result, and how many bytes are before it.
    ///
    /// # Safety
    ///
    /// A register is readable in every row. `put` may be called for as many bytes as all of them have. The CPU has `V`.
    #[inline(always)]
    unsafe fn registers(&self, from: *const u8, put: impl Fn(usize, V)) {
        let lanes = V::BYTES / LANE;
        // SAFETY: rows are loaded by numbers below `K`, a register of each: the caller's promise, as is that the CPU has `V`. The lanes
        // of `lanes` registers, which divide `K`, make up as many others.
        unsafe {
            let v = transposed::<V, K>(
                #[inline(always)]
                |row| V::load(from.offset(row as isize * self.stride)),
            );
            for m in (0..K).step_by(lanes) {
                let mut part = [v[m].shuffle(self.table); 4];
                for l in 1..lanes {
                    part[l] = v[m + l].shuffle(self.table);
                }
                let part = V::transpose_lanes(part);
                for (l, v) in part.into_iter().enumerate().take(lanes) {
                    put((l * K + m) * LANE, v);
                }
            }
        }
    }
}

/// Transposes words in the lanes of `K` registers, as many in a lane.
///
/// # Safety
///
/// The CPU has `V`; `load` may be called with numbers below `K`.
#[inline(always)]
unsafe fn transposed<V: Vector, const K: usize>(load: impl Fn(usize) -> V) -> [V; 16] {
    // SAFETY: the caller's promise; numbers below 16 become some below `K`.
    unsafe {
        match K {
            2 => rounds::<V, 8>(
                #[inline(always)]
                |i| load(i % K),
            ),
            _ => rounds::<V, 4>(
                #[inline(always)]
                |i| load(i % K),
            ),
        }
    }
}

/// How much of `left` bytes to do next: at most so many, and not so many that less than `part` is left.
#[inline(always)]
fn piece(left: usize, most: usize, part: usize) -> usize {
    if left <= most {
        left
    } else if left - most < part {
        most - part
    } else {
        most
    }
}

/// Separates, with ordinary stores.
///
/// # Safety (of `work`)
///
/// As `run`; `K` is the number of rows, each of which has at least a part of `V`.
struct Split<'a, V, const K: usize> {
    zip: &'a Zip,
    at: &'a At,
    vector: PhantomData<V>,
}

impl<V: Vector, const K: usize> Work for Split<'_, V, K> {
    #[inline(always)]
    unsafe fn work(self) {
        let Split { zip, at, .. } = self;
        // SAFETY: the caller's promise.
        unsafe {
            let mut splitting = Splitting::<V, K> {
                table: V::splat_lane(zip.table.as_ptr()),
                bytes: zip.bytes,
                stride: zip.stride,
            };
            zip.around.walk(at.source, at.destination, &mut splitting);
        }
    }
}

/// # Safety (of `each`)
///
/// As `split`.
struct Splitting<V, const K: usize> {
    table: V,
    bytes: usize,
    stride: isize,
}

impl<V: Vector, const K: usize> Each for Splitting<V, K> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { split::<V, K>(self.table, from, to, self.stride, self.bytes) };
    }
}

/// Separates a run into `bytes` of each row.
///
/// # Safety
///
/// The CPU has `V`. `K` times so many bytes are readable, and so many writable in each row; they are at least a part.
#[inline(always)]
unsafe fn split<V: Vector, const K: usize>(
    table: V,
    from: *const u8,
    to: *mut u8,
    stride: isize,
    bytes: usize,
) {
    let unit = at_once::<V, K>(bytes);
    let mut done = 0;
    while done < bytes {
        done = done.min(bytes - unit);
        // SAFETY: `done` is at most a unit, a register or a part of it, before the end of a row; the run has K times as many bytes: of a
        // register for each row, lane `l` of number `m` is lane `l * K + m` of these.
        unsafe {
            let (from, to) = (from.add(done * K), to.add(done));
            if unit == V::BYTES {
                let v = transposed::<V, K>(
                    #[inline(always)]
                    |m| V::load_lanes(|l| from.add((l * K + m) * LANE)).shuffle(table),
                );
                for (row, v) in v.into_iter().enumerate().take(K) {
                    v.store(to.offset(row as isize * stride));
                }
            } else {
                let v = V::load(from).shuffle(table).collect::<K>();
                v.store_parts::<K>(to, stride);
            }
        }
        done += unit;
    }
}

/// Rows shorter than any part.
///
/// # Safety
///
/// As `run`.
unsafe fn elements(zip: &Zip, at: &At) {
    for i in 0..zip.along.extent {
        let source = at.source.wrapping_offset(i as isize * zip.along.source);
        let destination = at.destination.wrapping_add(i * zip.bytes);
        // SAFETY: the caller's promise.
        unsafe {
            zip.around.walk(source, destination, &mut Elements(zip));
        }
    }
}

/// # Safety (of `each`)
///
/// As `run`, for one iteration.
struct Elements<'a>(&'a Zip);

impl Each for Elements<'_> {
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let zip = self.0;
        let w = zip.width;
        for row in 0..zip.rows {
            for i in 0..zip.bytes / w {
                let in_row = row as isize * zip.stride + (i * w) as isize;
                let in_run = ((i * zip.rows + row) * w) as isize;
                let (s, d) = if zip.join {
                    (in_row, in_run)
                } else {
                    (in_run, in_row)
                };
                // SAFETY: an element of a row and of the run.
                unsafe { std::ptr::copy_nonoverlapping(from.offset(s), to.offset(d), w) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Loops, Zip, piece};

    #[test]
    fn pairs_of_two_bytes_and_quads_of_bytes() {
        let table =
            |width, rows, join| Zip::new(width, rows, 64, 64, join, false, &mut Loops::new()).table;
        let pairs = [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15];
        assert_eq!(table(2, 2, true), pairs);
        let quads = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
        assert_eq!(table(1, 4, true), quads);
        assert_eq!(table(1, 4, false), quads);
    }

    #[test]
    fn no_piece_is_shorter_than_a_part() {
        for left in 16..500 {
            let mut rest = left;
            while rest > 0 {
                let piece = piece(rest, 64, 16);
                assert!((16..=64).contains(&piece), "{left} {rest} {piece}");
                rest -= piece;
            }
        }
    }
}
