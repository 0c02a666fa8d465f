//! How the rows of a [panel](super::panel) are read: written anew into squares, which are transposed then.

use std::marker::PhantomData;

use super::half::Half;
use super::mix::{Lines, merge, swap};
use super::rewrite::{Line, Place, Rewrite};
use super::words::Words;
use crate::simd::{LINE, Vector, Work, prefetch};
use crate::square::square;

/// Bits of a line.
pub(super) const BITS: usize = 8 * LINE;

/// Bytes of a square of elements of `width` bytes, and a line more, so that squares are spread over the cache.
pub(super) const fn square_bytes(width: usize) -> usize {
    (LINE / width + 1) * LINE
}

/// How rows are read.
pub(super) trait Reading {
    /// Bits of an element on either side.
    const FROM: usize;
    const TO: usize;
    /// Bytes that squares are transposed by.
    const WIDTH: usize;
    /// Squares that the rows of a line become, each a line wide.
    const SQUARES: usize;
    /// From a column of a square to the next one, in columns, and from the first one of a square to that of the next.
    const APART: (usize, usize);

    /// Writes `wide` steps of as many rows as make a line of the destination to squares, those of a step after the other.
    ///
    /// # Safety
    ///
    /// The columns of the steps are readable in the rows, and the squares writable at `to`, which is on a line; the CPU
    /// has `S`.
    unsafe fn read<S: Half>(rows: Rows<'_>, wide: usize, to: *mut u8);
}

/// As many rows as make a line of the destination, and what is asked for while they are read.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// Where the first column of the steps is in a row at offset 0.
    pub(super) from: Place<*const u8>,
    /// Offsets, in bits.
    pub(super) offsets: &'a [isize],
    /// Those of rows that are asked for meanwhile.
    pub(super) ahead: &'a [isize],
    /// Whether the rows that come next are also asked for in the nearest cache.
    pub(super) near: bool,
    /// Whether rows may begin within bytes.
    pub(super) within: bool,
}

/// Groups of rows ahead that are asked for in the nearest cache. On a Zen 5 odd matrices of bits took 1.07 to 1.1 times as long
/// without, of pairs of bits 1.05, of nibbles 1.02; 1, 2 and 4 are alike. On a Zen 4 those of bits took 1.06 to 1.19 times as long.
const NEAR: usize = 2;

/// Packed elements, or bytes that become such. `N` rows, as many as a byte of the destination has elements, are mixed: a
/// square of bytes for each of the `M` elements of a byte of the source.
pub(super) struct Packed<const N: usize, const M: usize>;

impl<const N: usize, const M: usize> Reading for Packed<N, M> {
    const FROM: usize = 8 / M;
    const TO: usize = 8 / N;
    const WIDTH: usize = 1;
    const SQUARES: usize = N;
    const APART: (usize, usize) = if M == 1 { (1, LINE) } else { (M, 1) };

    #[inline(always)]
    unsafe fn read<S: Half>(rows: Rows<'_>, wide: usize, to: *mut u8) {
        let bytes = wide * Self::SQUARES / M * LINE;
        let (groups, _) = rows.offsets.as_chunks::<N>();
        let (asked, _) = rows.ahead.as_chunks::<N>();
        for (g, &offsets) in groups.iter().enumerate() {
            // Not of bytes: packing takes 1.4 times as long with this here, even where it does nothing.
            if M > 1 && rows.near {
                for &row in groups.get(g + NEAR).into_iter().flatten() {
                    let (byte, _) = rows.from.step(row).byte();
                    for line in 0..1 + bytes / LINE {
                        crate::simd::near(byte.wrapping_add(line * LINE));
                    }
                }
            }
            // SAFETY: a line of the first square.
            let to = unsafe { to.add(g * LINE) };
            let from = rows.from;
            // SAFETY: the group's rows are among those whose columns the caller lets be read: `bytes` of each, and the byte that has the last
            // bits where they begin within one. `to` is line `g` of the first square, and all squares are writable. The CPU has `S`.
            unsafe {
                match (M > 1 && rows.within, asked.get(g)) {
                    (false, None) => {
                        Group::<N, M, false, false>::new(from, offsets, [0; N], to).mix::<S>(bytes)
                    }
                    (false, Some(&ahead)) => {
                        Group::<N, M, false, true>::new(from, offsets, ahead, to).mix::<S>(bytes)
                    }
                    (true, None) => {
                        Group::<N, M, true, false>::new(from, offsets, [0; N], to).mix::<S>(bytes)
                    }
                    (true, Some(&ahead)) => {
                        Group::<N, M, true, true>::new(from, offsets, ahead, to).mix::<S>(bytes)
                    }
                }
            }
        }
    }
}

/// Numbers that become others: squares side by side.
pub(super) struct Numbers<R>(PhantomData<R>);

impl<R: Rewrite> Reading for Numbers<R> {
    const FROM: usize = R::FROM;
    const TO: usize = R::TO;
    const WIDTH: usize = R::TO / 8;
    const SQUARES: usize = if R::TO > R::FROM { 2 } else { 1 };
    const APART: (usize, usize) = (1, BITS / R::TO);

    #[inline(always)]
    unsafe fn read<S: Half>(rows: Rows<'_>, wide: usize, to: *mut u8) {
        let squares = wide * Self::SQUARES;
        let bits = squares * BITS * R::FROM / R::TO;
        for (i, &row) in rows.offsets.iter().enumerate() {
            ask(rows.from, some(rows.ahead, i, 1), bits, false);
            let (byte, _) = rows.from.step(row).byte();
            for square in 0..squares {
                // SAFETY: a line's worth of the row's numbers; a line of a square.
                unsafe {
                    let byte = byte.add(square * LINE * R::FROM / R::TO);
                    let line = to.add(square * square_bytes(R::TO / 8) + i * LINE);
                    R::words::<S>(byte, &mut *line.cast::<Line>(), LINE);
                }
            }
        }
    }
}

/// Reads the rows of a line of the destination, written anew into squares, and transposes these to staged columns.
///
/// # Safety (of `work`)
///
/// As [`Reading::read`]; a line of every column is writable.
pub(super) struct Squares<'a, S, R> {
    pub(super) rows: Rows<'a>,
    /// Steps of columns.
    pub(super) wide: usize,
    pub(super) squares: *mut u8,
    /// The line of the first column, and bytes to that of the next.
    pub(super) columns: *mut u8,
    pub(super) pitch: usize,
    pub(super) set: PhantomData<(S, R)>,
}

impl<S: Half, R: Reading> Work for Squares<'_, S, R> {
    #[inline(always)]
    unsafe fn work(self) {
        let (wide, pitch) = (self.wide, self.pitch);
        let step = BITS / R::FROM.min(R::TO);
        // SAFETY: the caller's promise; squares are transposed that were just written, each to columns of its own.
        unsafe {
            R::read::<S>(self.rows, wide, self.squares);
            for square in 0..wide * R::SQUARES {
                let at = self.squares.add(square * square_bytes(R::WIDTH));
                let (w, part) = (square / R::SQUARES, square % R::SQUARES);
                let (each, first) = (R::APART.0 * pitch, w * step + R::APART.1 * part);
                let columns = self.columns.add(first * pitch);
                match R::WIDTH {
                    1 => transpose::<S, 1>(at, columns, each),
                    2 => transpose::<S, 2>(at, columns, each),
                    _ => transpose::<S, 4>(at, columns, each),
                }
            }
        }
    }
}

/// Transposes a square, a line wide, of elements of `W` bytes to columns that lie `pitch` bytes apart.
///
/// # Safety
///
/// The square is readable, and a line writable for each column.
#[inline(always)]
unsafe fn transpose<S: Half, const W: usize>(square_at: *const u8, columns: *mut u8, pitch: usize) {
    let n = S::Wide::BYTES / W;
    for down in (0..LINE / W).step_by(n) {
        for along in (0..LINE / W).step_by(n) {
            // SAFETY: rows `down..` and columns `along..` of the square.
            unsafe {
                let rows = square_at.add(down * LINE + along * W);
                let columns = columns.add(along * pitch + down * W);
                square::<S::Wide, W>(
                    |i| rows.add(i * LINE),
                    |m, v: S::Wide| v.store(columns.add(m * pitch)),
                );
            }
        }
    }
}

/// At most `count` rows from one on, as far as there are any.
#[inline(always)]
pub(super) fn some(rows: &[isize], first: usize, count: usize) -> &[isize] {
    let rows = rows.get(first..).unwrap_or_default();
    &rows[..rows.len().min(count)]
}

/// `N` rows of some lines each, which become a line of each of `M` squares, and then of the next ones. They may begin within
/// bytes if `WITHIN`. If `ASK`, as many others are asked for meanwhile, a line for each that is read: a burst of requests would hold
/// up the reads behind it.
struct Group<const N: usize, const M: usize, const WITHIN: bool, const ASK: bool> {
    from: Place<*const u8>,
    offsets: [isize; N],
    ahead: [isize; N],
    to: *mut u8,
}

impl<const N: usize, const M: usize, const WITHIN: bool, const ASK: bool> Group<N, M, WITHIN, ASK> {
    #[inline(always)]
    fn new(from: Place<*const u8>, offsets: [isize; N], ahead: [isize; N], to: *mut u8) -> Self {
        Group {
            from,
            offsets,
            ahead,
            to,
        }
    }

    /// # Safety
    ///
    /// So many bytes, whole lines, of every row are readable from where it begins, and one more if that is within a byte; of each
    /// of the squares `to` is in, a line is writable there. The CPU has `S`.
    #[inline(always)]
    unsafe fn mix<S: Half>(self, bytes: usize) {
        // SAFETY: all that is got is of the `N` rows, at whole words below `bytes`, and all that is put in the `M` squares of each line
        // of them: readable and writable by the caller's promise. The CPU has `S`, and so its words, by that too.
        unsafe {
            match (N, M) {
                (2, 1) => merge::<S::Words, 4>(&self, bytes),
                (4, 1) => merge::<S::Words, 2>(&self, bytes),
                (_, 1) => merge::<S::Words, 1>(&self, bytes),
                _ => swap::<S::Words, N>(8 / N, &self, bytes),
            }
        }
    }
}

impl<const N: usize, const M: usize, const WITHIN: bool, const ASK: bool> Lines
    for Group<N, M, WITHIN, ASK>
{
    #[inline(always)]
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W {
        if ASK && at.is_multiple_of(LINE) {
            let (byte, _) = self.from.step(self.ahead[row]).byte();
            if at == 0 {
                prefetch(byte);
            }
            prefetch(byte.wrapping_add(at + LINE - 1));
        }
        let (byte, bit) = self.from.step(self.offsets[row]).byte();
        // SAFETY: a line from a bit on, whose last byte is one more where it does not begin a byte.
        unsafe {
            match bit {
                _ if !WITHIN => W::load(byte.add(at)),
                0 => W::load(byte.add(at)),
                _ => W::load_from(byte.add(at), bit),
            }
        }
    }

    #[inline(always)]
    unsafe fn put<W: Words>(&self, row: usize, at: usize, words: W) {
        // SAFETY: a line of a square.
        unsafe {
            let square = at / LINE * M + row;
            words.store(self.to.add(square * square_bytes(1) + at % LINE))
        }
    }
}

/// Asks for so many bits, whole lines, of some rows.
#[inline(always)]
pub(super) fn ask(from: Place<*const u8>, rows: &[isize], bits: usize, first: bool) {
    for &row in rows {
        let (byte, _) = from.step(row).byte();
        // All but the last byte of the first line were in the line before.
        for line in (0..bits / 8).step_by(LINE) {
            prefetch(byte.wrapping_add(line + LINE - 1));
        }
        if first {
            prefetch(byte);
        }
    }
}
