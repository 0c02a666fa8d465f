//! How the rows of a [panel](super::panel) are read: written anew into squares, which are transposed then.

use std::marker::PhantomData;

use super::half::Half;
use super::mix::{Lines, merge, swap};
use super::rewrite::{Line, Place, Rewrite};
use super::words::Words;
use crate::block::square;
use crate::simd::{LINE, Vector, Work, prefetch};

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
    /// `ahead` are rows that are asked for meanwhile; if `near`, those that come next are also asked for in the nearest cache.
    ///
    /// # Safety
    ///
    /// The columns of the steps are readable in the rows, and the squares writable at `to`, which is on a line; the CPU
    /// has `S`.
    unsafe fn read<S: Half>(
        from: Place<*const u8>,
        rows: &[isize],
        ahead: &[isize],
        near: bool,
        wide: usize,
        to: *mut u8,
    );
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
    unsafe fn read<S: Half>(
        from: Place<*const u8>,
        rows: &[isize],
        ahead: &[isize],
        near: bool,
        wide: usize,
        to: *mut u8,
    ) {
        let bytes = wide * Self::SQUARES / M * LINE;
        let all = rows;
        for (group, rows) in rows.chunks_exact(N).enumerate() {
            // Not of bytes: packing takes 1.4 times as long with this here, even where it does nothing.
            if M > 1 && near {
                for &row in some(all, (group + NEAR) * N, N) {
                    let (byte, _) = from.step(row).byte();
                    for line in 0..1 + bytes / LINE {
                        crate::simd::near(byte.wrapping_add(line * LINE));
                    }
                }
            }
            let ahead = some(ahead, group * N, N);
            let lines = Group::<N, M> {
                rows: places(from, rows),
                ahead: (ahead.len() == N).then(|| places(from, ahead)),
                // SAFETY: a line of the first square.
                to: unsafe { to.add(group * LINE) },
            };
            // SAFETY: the caller's promise.
            unsafe {
                match (N, M) {
                    (2, 1) => merge::<S::Words, 4>(&lines, bytes),
                    (4, 1) => merge::<S::Words, 2>(&lines, bytes),
                    (_, 1) => merge::<S::Words, 1>(&lines, bytes),
                    _ => swap::<S::Words, N>(8 / N, &lines, bytes),
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
    unsafe fn read<S: Half>(
        from: Place<*const u8>,
        rows: &[isize],
        ahead: &[isize],
        _: bool,
        wide: usize,
        to: *mut u8,
    ) {
        let squares = wide * Self::SQUARES;
        let bits = squares * BITS * R::FROM / R::TO;
        for (i, &row) in rows.iter().enumerate() {
            ask(from, some(ahead, i, 1), bits, false);
            let (byte, _) = from.step(row).byte();
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
    pub(super) from: Place<*const u8>,
    pub(super) rows: &'a [isize],
    pub(super) ahead: &'a [isize],
    pub(super) near: bool,
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
            R::read::<S>(
                self.from,
                self.rows,
                self.ahead,
                self.near,
                wide,
                self.squares,
            );
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
                square::<S::Wide, W>(
                    |i| square_at.add((down + i) * LINE + along * W),
                    |m, v: S::Wide| v.store(columns.add((along + m) * pitch + down * W)),
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

/// Where the first `N` of some rows begin: at a bit of a byte. No `from_fn`, which is a call of its own for each eight rows.
#[inline(always)]
fn places<const N: usize>(from: Place<*const u8>, rows: &[isize]) -> [(*const u8, usize); N] {
    let mut places = [(from.base, 0); N];
    for (place, &row) in places.iter_mut().zip(rows) {
        *place = from.step(row).byte();
    }
    places
}

/// `N` rows of some lines each, which become a line of each of `M` squares, and then of the next ones.
struct Group<const N: usize, const M: usize> {
    /// Where they begin: at a bit of a byte.
    rows: [(*const u8, usize); N],
    /// Rows that are asked for meanwhile, a line for each that is read: a burst of requests would hold up the reads behind
    /// it.
    ahead: Option<[(*const u8, usize); N]>,
    to: *mut u8,
}

impl<const N: usize, const M: usize> Lines for Group<N, M> {
    #[inline(always)]
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W {
        if let Some(ahead) = self.ahead
            && at.is_multiple_of(LINE)
        {
            let (byte, _) = ahead[row];
            if at == 0 {
                prefetch(byte);
            }
            prefetch(byte.wrapping_add(at + LINE - 1));
        }
        let (byte, bit) = self.rows[row];
        // SAFETY: a line from a bit on, whose last byte is one more where it does not begin a byte.
        unsafe {
            match bit {
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
