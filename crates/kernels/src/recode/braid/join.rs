//! Few rows of packed elements to runs.

use std::marker::PhantomData;

use super::{Braid, Lanes, Run};
use crate::block::turned;
use crate::pen::Pen;
use crate::recode::half::Half;
use crate::recode::mix::{Lines, load_bits, swap};
use crate::recode::rewrite::Place;
use crate::recode::words::Words;
use crate::simd::{LANE, LINE, Vector, Work, near};

/// # Safety (of `work`)
///
/// As [`Run`].
pub(super) struct Join<'a, S> {
    pub(super) run: Run<'a>,
    pub(super) set: PhantomData<S>,
}

impl<S: Half> Work for Join<'_, S> {
    #[inline(always)]
    unsafe fn work(self) {
        let Run {
            braid,
            from,
            to,
            next,
            stage,
            ..
        } = self.run;
        let (rows, strip, pitch) = (braid.rows, braid.strip(), braid.pitch());
        let (bytes, all) = (braid.row.div_ceil(8), braid.row * rows / 8);
        // SAFETY: strips of the rows and of the runs; the scratch has two parts of as many rows with a line more than a
        // strip has.
        unsafe {
            let to = to.base.offset(to.bit / 8);
            let runs = stage.add(rows * pitch);
            let on_lines = (to as usize | braid.apart as usize).is_multiple_of(LINE);
            let mut pen = Pen::<S::Wide>::new();
            for begin in (0..bytes).step_by(strip) {
                let end = bytes.min(begin + strip);
                let rows_here = Memory {
                    from: from.step(8 * begin as isize),
                    stride: braid.stride,
                    bits: braid.row - 8 * begin,
                    ahead: match end < bytes {
                        true => strip as isize,
                        false => next / 8 - begin as isize,
                    },
                };
                match braid.bits {
                    4 => read::<S, 2>(braid, &rows_here, stage, end - begin),
                    2 => read::<S, 4>(braid, &rows_here, stage, end - begin),
                    _ => read::<S, 8>(braid, &rows_here, stage, end - begin),
                }
                // Whole vectors go to the runs at once, if they may be written there as they are.
                let direct = (on_lines || !braid.stream)
                    && (end - begin).is_multiple_of(LINE)
                    && end * rows <= all;
                let out = Out {
                    braid,
                    mixed: stage,
                    pitch,
                    bytes: end - begin,
                    lanes: direct.then(|| (braid.lanes(begin), to)),
                    staged: runs,
                };
                match rows {
                    2 => out.join::<S::Half, 2>(),
                    4 => out.join::<S::Wide, 4>(),
                    8 => out.join::<S::Wide, 8>(),
                    16 => out.join::<S::Wide, 16>(),
                    _ => out.join::<S::Wide, 32>(),
                }
                let mut at = if direct { end } else { begin };
                while at < end {
                    let behind = end.min((at / braid.part + 1) * braid.part);
                    let length = (behind * rows).min(all) - at * rows;
                    let (from, to) = (runs.add((at - begin) * rows), to.offset(braid.place(at)));
                    if braid.stream {
                        pen.copy(from, to, length);
                    } else {
                        std::ptr::copy_nonoverlapping(from, to, length);
                    }
                    at = behind;
                }
            }
            pen.lift();
        }
    }
}

/// Rows of memory.
struct Memory {
    from: Place<*const u8>,
    /// Bits from one row to the next.
    stride: isize,
    /// Bits that are left of a row.
    bits: usize,
    /// Bytes to what is read next of a row.
    ahead: isize,
}

/// Mixes `bytes` bytes of all rows, `N` of which have a byte's elements of a column, and leaves them in the order of a
/// run's bytes: those of a column are side by side.
///
/// # Safety
///
/// The rows are readable, and the mixed ones writable with a line more; the CPU has `S`.
#[inline(always)]
unsafe fn read<S: Half, const N: usize>(
    braid: &Braid,
    memory: &Memory,
    mixed: *mut u8,
    bytes: usize,
) {
    let groups = braid.rows / N;
    for group in 0..groups {
        let mut rows = [(std::ptr::null(), 0); N];
        for (i, row) in rows.iter_mut().enumerate() {
            let row_stride = (group * N + i) as isize * memory.stride;
            *row = memory.from.step(row_stride).byte();
        }
        // SAFETY: the caller's promise; the group's rows.
        unsafe {
            let lines = Reading::<N> {
                rows,
                bits: memory.bits,
                ahead: memory.ahead,
                to: mixed.add(group * braid.pitch()),
                pitch: groups * braid.pitch(),
            };
            swap::<S::Words, N>(8 / N, &lines, bytes);
        }
    }
}

/// `N` rows of memory, to mixed ones.
struct Reading<const N: usize> {
    rows: [(*const u8, usize); N],
    bits: usize,
    ahead: isize,
    to: *mut u8,
    pitch: usize,
}

impl<const N: usize> Lines for Reading<N> {
    #[inline(always)]
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W {
        let (byte, bit) = self.rows[row];
        if at.is_multiple_of(LINE) {
            near(byte.wrapping_add(at).wrapping_offset(self.ahead));
        }
        // SAFETY: the row is readable, and `at` in it.
        unsafe {
            if 8 * (at + W::BYTES) > self.bits {
                let from = Place {
                    base: byte,
                    bit: bit as isize,
                };
                load_bits(from, self.bits, at)
            } else if bit == 0 {
                W::load(byte.add(at))
            } else {
                W::load_from(byte.add(at), bit)
            }
        }
    }

    #[inline(always)]
    unsafe fn put<W: Words>(&self, row: usize, at: usize, words: W) {
        // SAFETY: a mixed row has a strip and a line more.
        unsafe { words.store(self.to.add(row * self.pitch + at)) }
    }
}

/// Mixed rows that become runs.
struct Out<'a> {
    braid: &'a Braid,
    mixed: *const u8,
    pitch: usize,
    bytes: usize,
    /// Where the runs are that the strip's lanes go to, if they do so at once.
    lanes: Option<(Lanes<'a>, *mut u8)>,
    staged: *mut u8,
}

impl Out<'_> {
    /// Interleaves the bytes of `R` rows.
    ///
    /// # Safety
    ///
    /// Of every row so many bytes are readable, rounded up to `V`, and as many together writable. The CPU has `V`, which
    /// has no more than `R` lanes. Where vectors go to memory past the caches, lanes begin on lines.
    #[inline(always)]
    unsafe fn join<V: Vector, const R: usize>(self) {
        let Out {
            braid,
            mixed,
            pitch,
            bytes,
            mut lanes,
            staged,
        } = self;
        for at in (0..bytes).step_by(V::BYTES) {
            let mut places = [staged; 4];
            for (l, place) in places.iter_mut().enumerate().take(V::BYTES / LANE) {
                *place = match &mut lanes {
                    Some((lanes, to)) => to.wrapping_offset(lanes.next()),
                    None => staged.wrapping_add((at + l * LANE) * R),
                };
            }
            let stream = braid.stream && lanes.is_some();
            // SAFETY: the caller's promise.
            unsafe {
                let load = |r: usize| V::load(mixed.add(r * pitch + at));
                if R == 32 {
                    // Two halves of a lane, each of which fits the registers.
                    let low = |i: usize| V::unpack::<1>(load(i), load(i + 16)).0;
                    put(turned::<V, 1>(16, 4, low), 16, places, 0, stream);
                    let high = |i: usize| V::unpack::<1>(load(i), load(i + 16)).1;
                    put(turned::<V, 1>(16, 4, high), 16, places, 16, stream);
                } else {
                    let v = turned::<V, 1>(R, R.ilog2(), |i| load(i % R));
                    put(v, R, places, 0, stream);
                }
            }
        }
    }
}

/// Writes `count` vectors, each of which has sixteen bytes of every lane, to the lanes' places, from the one on that is
/// `first` vectors further.
///
/// # Safety
///
/// So many are writable there, and on the vector's alignment if they are streamed; the CPU has `V`.
#[inline(always)]
unsafe fn put<V: Vector>(
    v: [V; 16],
    count: usize,
    places: [*mut u8; 4],
    first: usize,
    stream: bool,
) {
    let lanes = V::BYTES / LANE;
    for o in (0..count).step_by(lanes) {
        let mut of_lanes = [v[o]; 4];
        of_lanes[..lanes].copy_from_slice(&v[o..o + lanes]);
        // SAFETY: the caller's promise.
        unsafe {
            let whole = V::transpose_lanes(of_lanes);
            for (l, v) in whole.into_iter().enumerate().take(lanes) {
                let to = places[l].add((first + o) * LANE);
                if stream { v.stream(to) } else { v.store(to) }
            }
        }
    }
}
