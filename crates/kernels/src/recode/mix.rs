//! Rows of bytes made of rows of bytes, byte by byte: what brings packed elements of neighbouring rows into one byte, and
//! apart again.
//!
//! Where the elements of a byte come from different bytes, a transpose of bytes alone does not do. With `n` elements to a
//! byte, `n` rows are mixed first, or afterwards: then every byte of the result holds elements of all of them, at one
//! place each. All that needs is shifts and masks of whole vectors.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::half::Half;
use super::keep::keep;
use super::rewrite::Place;
use super::words::Words;
use crate::simd::{LINE, Work, near, prefetch};
use crate::tuning::is_zen;

/// How rows are mixed.
#[derive(Debug, Clone)]
pub(crate) enum Blend {
    /// As many rows as a byte has elements of so many bits: element `j` of a byte of row `i` changes places with element
    /// `i` of that of row `j`.
    Swap(usize),
    /// One row of bytes from as many rows of bytes as it has elements of so many bits: element `i` is from row `i`.
    Merge(usize),
    /// The opposite: every element of so many bits becomes a byte of its own row.
    Split(usize),
    /// As many rows from as many others, by a table.
    Table(Table),
}

/// Which elements of which rows make those of the mixed ones.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) rows: usize,
    /// Bits of an element.
    pub(crate) bits: usize,
    /// For every row made, for every element of its bytes: the row that it is from, and its place in the byte there.
    pub(crate) from: Vec<(usize, usize)>,
}

/// Rows of memory and of a stage, in groups that are mixed together.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    pub(crate) blend: Blend,
    /// Where the rows lie in memory, in bits.
    pub(crate) memory: Vec<isize>,
    /// Where they lie in the stage, in bytes.
    pub(crate) stage: Vec<usize>,
    /// Bits of a row in memory.
    pub(crate) bits: usize,
    /// Bytes of a row in the stage; what is between them and a whole line may be written too.
    pub(crate) bytes: usize,
}

impl Blend {
    /// Rows that are mixed together, and rows that they make.
    pub(crate) fn rows(&self) -> (usize, usize) {
        match *self {
            Blend::Swap(bits) => (8 / bits, 8 / bits),
            Blend::Merge(bits) => (8 / bits, 1),
            Blend::Split(bits) => (1, 8 / bits),
            Blend::Table(ref table) => (table.rows, table.rows),
        }
    }
}

/// Bytes of rows that are asked for before they are read.
const AHEAD: usize = 4096;

/// Reads rows from memory and leaves them mixed in a stage.
///
/// # Safety (of `work`)
///
/// The rows are readable, and the stage writable for whole lines of each of its rows.
pub(crate) struct Read<'a, S> {
    pub(crate) mix: &'a Mix,
    pub(crate) from: Place<*const u8>,
    pub(crate) to: *mut u8,
    /// Bits from here to where the next rows will be read from; 0 where that is not known.
    pub(crate) next: isize,
    pub(crate) set: PhantomData<S>,
}

impl<S: Half> Work for Read<'_, S> {
    #[inline(always)]
    unsafe fn work(self) {
        let Read {
            mix,
            from,
            to,
            next,
            ..
        } = self;
        let (rows, made) = mix.blend.rows();
        let count = mix.memory.len();
        let onward = mix.bytes >= 2 * ONWARD && is_zen();
        let far = (AHEAD / mix.bits.div_ceil(8).max(LINE)).next_multiple_of(rows);
        for group in 0..count / rows {
            let first = group * rows;
            // What follows the last rows are the first of the next block.
            let (ahead, after) = match first + far {
                ahead if ahead < count => (ahead, from),
                behind => ((behind - count) % count, from.step(next)),
            };
            let lines = FromMemory {
                from,
                to,
                bits: mix.bits,
                rows: &mix.memory[first..first + rows],
                after,
                onward,
                ahead: &mix.memory[ahead..ahead + rows],
                made: &mix.stage[group * made..(group + 1) * made],
            };
            // SAFETY: the caller's promise.
            unsafe { blend::<S>(mix, &lines) }
        }
    }
}

/// Bytes that a row is asked for ahead of where it is read, into the nearest cache.
///
/// So a Zen 5 moves u4[64,3,601,797] to NHWC in 4.0 ms, u4[64,3,600,800] in 3.4, and as the next block's rows are asked for while
/// this one's are read in 6.6 and 7.4; 1 KiB ahead 4.2 and 3.6, 4 KiB 4.1 and 3.5. A Zen 4 takes 4.3 for the second, and 5.4 without.
const ONWARD: usize = 2 << 10;

/// Rows of memory, to a stage.
struct FromMemory<'a> {
    from: Place<*const u8>,
    to: *mut u8,
    bits: usize,
    rows: &'a [isize],
    /// Rows that are asked for meanwhile, a line for each that is read: a burst of requests would hold up the reads
    /// behind it.
    ahead: &'a [isize],
    after: Place<*const u8>,
    /// Whether each row is asked for where it goes on instead.
    onward: bool,
    made: &'a [usize],
}

impl Lines for FromMemory<'_> {
    #[inline(always)]
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W {
        let place = self.from.step(self.rows[row]);
        if at.is_multiple_of(LINE) {
            if self.onward {
                near(place.byte().0.wrapping_add(at + ONWARD));
            } else {
                let (byte, _) = self.after.step(self.ahead[row]).byte();
                if at == 0 {
                    prefetch(byte);
                }
                prefetch(byte.wrapping_add(at + LINE - 1));
            }
        }
        // SAFETY: the row is readable, and `at` in it.
        unsafe { load_bits(place, self.bits, at) }
    }

    #[inline(always)]
    unsafe fn put<W: Words>(&self, row: usize, at: usize, words: W) {
        // SAFETY: whole lines of the stage's rows are writable.
        unsafe { words.store(self.to.add(self.made[row] + at)) }
    }
}

/// Rows of a stage, to a piece that is written from.
struct FromStage<'a> {
    from: *const u8,
    rows: &'a [usize],
    piece: *mut u8,
    pitch: usize,
}

impl Lines for FromStage<'_> {
    #[inline(always)]
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W {
        // SAFETY: a line of a row of the stage.
        unsafe { W::load(self.from.add(self.rows[row] + at)) }
    }

    #[inline(always)]
    unsafe fn put<W: Words>(&self, row: usize, at: usize, words: W) {
        // SAFETY: the piece has room for the rows in whole lines.
        unsafe { words.store(self.piece.add(row * self.pitch + at)) }
    }
}

/// Mixes rows of a stage and writes them to memory.
///
/// # Safety (of `work`)
///
/// The rows of the stage are readable in whole lines, and those of memory writable with the whole bytes that have bits
/// of them. `piece` has room for the rows of a group, in whole lines.
pub(crate) struct Write<'a, S> {
    pub(crate) mix: &'a Mix,
    pub(crate) from: *const u8,
    pub(crate) to: Place<*mut u8>,
    pub(crate) piece: *mut u8,
    pub(crate) stream: bool,
    pub(crate) set: PhantomData<S>,
}

impl<S: Half> Work for Write<'_, S> {
    #[inline(always)]
    unsafe fn work(self) {
        let Write {
            mix,
            from,
            to,
            piece,
            stream,
            ..
        } = self;
        let (rows, made) = mix.blend.rows();
        let pitch = mix.pitch();
        for group in 0..mix.stage.len() / rows {
            let lines = FromStage {
                from,
                rows: &mix.stage[group * rows..(group + 1) * rows],
                piece,
                pitch,
            };
            // SAFETY: the caller's promise.
            unsafe {
                blend::<S>(mix, &lines);
                for row in 0..made {
                    let from = Place {
                        base: piece.add(row * pitch).cast_const(),
                        bit: 0,
                    };
                    let to = to.step(mix.memory[group * made + row]);
                    keep::<S>(from, to, mix.bits, stream);
                }
            }
        }
    }
}

impl Mix {
    /// Bytes from one row of a piece to the next.
    fn pitch(&self) -> usize {
        self.bytes.next_multiple_of(LINE) + LINE
    }

    /// Bytes of the piece that writing needs.
    pub(crate) fn piece(&self) -> usize {
        self.blend.rows().1 * self.pitch()
    }
}

/// Where the lines of a group's rows are, and where those go that are made of them. No closures: those would not be
/// compiled for the instruction set.
pub(super) trait Lines {
    /// # Safety
    ///
    /// `at` is in the row, in whole words from its start; the CPU has `W`.
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W;

    /// # Safety
    ///
    /// As `get`, for a row that is made.
    unsafe fn put<W: Words>(&self, row: usize, at: usize, words: W);
}

/// Makes the rows of a group.
///
/// # Safety
///
/// All of the group's lines may be got and put; the CPU has `S`.
#[inline(always)]
unsafe fn blend<S: Half>(mix: &Mix, lines: &impl Lines) {
    let bytes = mix.bytes;
    // SAFETY: the caller's promise; rows below the numbers that the blend says.
    unsafe {
        match mix.blend {
            Blend::Swap(4) => swap::<S::Words, 2>(4, lines, bytes),
            Blend::Swap(2) => swap::<S::Words, 4>(2, lines, bytes),
            Blend::Swap(_) => swap::<S::Words, 8>(1, lines, bytes),
            Blend::Merge(4) => merge::<S::Words, 4>(lines, bytes),
            Blend::Merge(2) => merge::<S::Words, 2>(lines, bytes),
            Blend::Merge(_) => merge::<S::Words, 1>(lines, bytes),
            Blend::Split(4) => split::<S::Words, 4>(lines, bytes),
            Blend::Split(2) => split::<S::Words, 2>(lines, bytes),
            Blend::Split(_) => split::<S::Words, 1>(lines, bytes),
            Blend::Table(ref table) => match table.bits {
                4 => by_table::<S::Words, 4>(table, lines, bytes),
                2 => by_table::<S::Words, 2>(table, lines, bytes),
                _ => by_table::<S::Words, 1>(table, lines, bytes),
            },
        }
    }
}

/// Transposes the squares of `N` elements of `bits` bits that the rows' bytes are: in rounds, halves of squares change
/// places.
///
/// # Safety
///
/// As [`blend`], with `N` rows.
#[inline(always)]
pub(super) unsafe fn swap<W: Words, const N: usize>(bits: usize, lines: &impl Lines, bytes: usize) {
    for at in (0..bytes).step_by(W::BYTES) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut rows = [lines.get::<W>(0, at); N];
            for (i, row) in rows.iter_mut().enumerate().skip(1) {
                *row = lines.get(i, at);
            }
            if N == 8 {
                rows = round::<W, N>(rows, 4, bits);
            }
            if N >= 4 {
                rows = round::<W, N>(rows, 2, bits);
            }
            rows = round::<W, N>(rows, 1, bits);
            for (i, row) in rows.into_iter().enumerate() {
                lines.put(i, at, row);
            }
        }
    }
}

/// One round of [`swap`]: the upper half of the lower rows changes places with the lower half of the upper ones, in
/// squares of twice `half` rows.
///
/// # Safety
///
/// The CPU has `W`.
#[inline(always)]
unsafe fn round<W: Words, const N: usize>(mut rows: [W; N], half: usize, bits: usize) -> [W; N] {
    let shift = half * bits;
    // The lower half of every square of bits.
    let mask = match shift {
        4 => 0x0f0f_0f0f_0f0f_0f0f,
        2 => 0x3333_3333_3333_3333,
        _ => 0x5555_5555_5555_5555,
    };
    for i in 0..N / 2 {
        let low = i / half * 2 * half + i % half;
        let (a, b) = (rows[low], rows[low + half]);
        // SAFETY: the caller's promise.
        unsafe {
            let mask = W::splat(mask);
            (rows[low], rows[low + half]) = a.exchange(b, shift as u32, mask);
        }
    }
    rows
}

/// Bytes whose lowest bits are ones.
#[inline(always)]
const fn low(bits: usize) -> u64 {
    0x0101_0101_0101_0101 * ((1 << bits) - 1)
}

/// # Safety
///
/// As [`blend`], with as many rows as a byte has elements of `B` bits.
#[inline(always)]
pub(super) unsafe fn merge<W: Words, const B: usize>(lines: &impl Lines, bytes: usize) {
    for at in (0..bytes).step_by(W::BYTES) {
        // SAFETY: the caller's promise.
        unsafe {
            let low = W::splat(low(B));
            let mut merged = lines.get::<W>(0, at).and(low);
            for i in 1..8 / B {
                let row = lines.get::<W>(i, at).and(low);
                merged = merged.or(row.up((i * B) as u32));
            }
            lines.put(0, at, merged);
        }
    }
}

/// # Safety
///
/// As [`blend`], making as many rows as a byte has elements of `B` bits.
#[inline(always)]
unsafe fn split<W: Words, const B: usize>(lines: &impl Lines, bytes: usize) {
    for at in (0..bytes).step_by(W::BYTES) {
        // SAFETY: the caller's promise.
        unsafe {
            let low = W::splat(low(B));
            let row = lines.get::<W>(0, at);
            for i in 0..8 / B {
                lines.put(i, at, row.down((i * B) as u32).and(low));
            }
        }
    }
}

/// # Safety
///
/// As [`blend`], with the rows of the table, whose elements have `B` bits.
#[inline(always)]
unsafe fn by_table<W: Words, const B: usize>(table: &Table, lines: &impl Lines, bytes: usize) {
    let all = || table.from.chunks_exact(8 / B).enumerate();
    debug_assert!(table.from.iter().all(|&(source, _)| source < table.rows));
    // SAFETY: the caller's promise; the table names its rows, whose numbers are below `table.rows`: of so many, which are no
    // more than there is room for, the words are held before one is picked from.
    unsafe {
        if table.rows <= HELD {
            for at in (0..bytes).step_by(W::BYTES) {
                // Each row is looked at once.
                let mut held = [MaybeUninit::<W>::uninit(); HELD];
                for (row, words) in held.iter_mut().enumerate().take(table.rows) {
                    words.write(lines.get(row, at));
                }
                for (row, from) in all() {
                    let words = |source: usize| held.get_unchecked(source).assume_init();
                    lines.put(row, at, pick::<W, B>(from, words));
                }
            }
        } else {
            for (row, from) in all() {
                for at in (0..bytes).step_by(W::BYTES) {
                    let words = |source: usize| lines.get::<W>(source, at);
                    lines.put(row, at, pick::<W, B>(from, words));
                }
            }
        }
    }
}

/// Rows of which a register each is held at once.
const HELD: usize = 16;

/// Words whose bytes have elements of `B` bits of some rows: which one, and from which place of its bytes.
///
/// # Safety
///
/// The CPU has `W`; `words` may be called with the rows that are named.
#[inline(always)]
unsafe fn pick<W: Words, const B: usize>(from: &[(usize, usize)], words: impl Fn(usize) -> W) -> W {
    // SAFETY: the caller's promise.
    unsafe {
        let mut made = W::splat(0);
        for (i, &(source, place)) in from.iter().enumerate() {
            let (words, to) = (words(source), i * B);
            let moved = match place.checked_sub(to) {
                Some(down) => words.down(down as u32),
                None => words.up((to - place) as u32),
            };
            made = made.or(moved.and(W::splat(low(B) << to)));
        }
        made
    }
}

/// Words from byte `at` of a row of so many bits on; zeros, or what the last byte has beside, behind its end.
///
/// # Safety
///
/// The row's bytes are readable, and `at` is in it; the CPU has `W`.
#[inline(always)]
pub(super) unsafe fn load_bits<W: Words>(from: Place<*const u8>, bits: usize, at: usize) -> W {
    let (byte, bit) = from.byte();
    let bytes = (bit + bits).div_ceil(8);
    // SAFETY: bytes of the row, as far as it goes: of the last ones, no more are left than words have.
    unsafe {
        if bit == 0 && at + W::BYTES <= bytes {
            return W::load(byte.add(at));
        }
        if at + W::BYTES < bytes {
            return W::load_from(byte.add(at), bit);
        }
        W::load_end(byte.add(at), bit, bytes - at)
    }
}
