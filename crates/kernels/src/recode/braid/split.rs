//! Runs of packed elements to few rows.

use std::marker::PhantomData;

use super::{Braid, Lanes, Run};
use crate::block::turned;
use crate::recode::column::Column;
use crate::recode::half::Half;
use crate::recode::keep::keep;
use crate::recode::mix::{Lines, swap};
use crate::recode::rewrite::Place;
use crate::recode::words::Words;
use crate::simd::{LANE, LINE, Vector, Work, prefetch};

/// # Safety (of `work`)
///
/// As [`Run`].
pub(super) struct Split<'a, S> {
    pub(super) run: Run<'a>,
    pub(super) set: PhantomData<S>,
}

impl<S: Half> Work for Split<'_, S> {
    #[inline(always)]
    unsafe fn work(self) {
        let Run {
            braid,
            from,
            to,
            next,
            window,
            stage,
        } = self.run;
        let (rows, strip) = (braid.rows, braid.strip());
        let (pitch, row_pitch) = (braid.pitch(), braid.row_pitch());
        let (bytes, all) = (braid.row.div_ceil(8), braid.row * rows / 8);
        // SAFETY: strips of the rows and of the runs; the parts of the scratch.
        unsafe {
            let from = from.base.offset(from.bit / 8);
            let staged = stage.add(rows * pitch + LINE);
            let last = stage.add(rows * (pitch + row_pitch));
            // A last lane that is not whole is read from here.
            let whole = all / (LANE * rows) * LANE;
            if whole < bytes {
                let rest = from.offset(braid.place(whole));
                rest.copy_to_nonoverlapping(last, all - whole * rows);
            }
            for begin in (0..bytes).step_by(strip) {
                let end = bytes.min(begin + strip);
                let part = In {
                    from,
                    lanes: braid.lanes(begin),
                    whole: whole.max(begin) - begin,
                    last,
                    upcoming: match end < bytes {
                        true => (braid.lanes(end), from),
                        false => (braid.lanes(0), from.wrapping_offset(next / 8)),
                    },
                    mixed: stage,
                    pitch,
                    bytes: end - begin,
                };
                match rows {
                    2 => part.split::<S::Half, 2>(),
                    4 => part.split::<S::Wide, 4>(),
                    8 => part.split::<S::Wide, 8>(),
                    16 => part.split::<S::Wide, 16>(),
                    _ => part.split::<S::Wide, 32>(),
                }
                match braid.bits {
                    4 => unmix::<S, 2>(braid, stage, staged, end - begin),
                    2 => unmix::<S, 4>(braid, stage, staged, end - begin),
                    _ => unmix::<S, 8>(braid, stage, staged, end - begin),
                }
                for r in 0..rows {
                    let (staged, to) = (
                        staged.add(r * row_pitch),
                        to.step(r as isize * braid.stride),
                    );
                    // The bits of the row that are in the window.
                    let inside = |bit: isize| bit.clamp(0, braid.row as isize) as usize;
                    let (low, high) = (inside(window.start - to.bit), inside(window.end - to.bit));
                    if braid.stream && (low, high) == (0, braid.row) {
                        let column = Column {
                            staged: staged.sub(LINE),
                            to,
                            end: braid.row,
                        };
                        // The last strip ends the line that the row does not.
                        let more = usize::from(end == bytes);
                        column.write::<S>(8 * begin, (end - begin).div_ceil(LINE) + more);
                        let line = staged.add(strip - LINE);
                        line.copy_to_nonoverlapping(staged.sub(LINE), LINE);
                        continue;
                    }
                    let (low, high) = (low.max(8 * begin), high.min(8 * end));
                    if low < high {
                        let from = Place {
                            base: staged.cast_const(),
                            bit: (low - 8 * begin) as isize,
                        };
                        keep::<S>(from, to.step(low as isize), high - low, false);
                    }
                }
            }
        }
    }
}

/// A strip of runs that become mixed rows.
struct In<'a> {
    from: *const u8,
    lanes: Lanes<'a>,
    /// Bytes of a row in whole lanes.
    whole: usize,
    /// The last lane, if it is not whole.
    last: *const u8,
    /// Where the lanes are that are read next.
    upcoming: (Lanes<'a>, *const u8),
    mixed: *mut u8,
    pitch: usize,
    bytes: usize,
}

impl In<'_> {
    /// Takes the bytes of runs apart into `R` rows.
    ///
    /// # Safety
    ///
    /// The lanes are readable, and of each row so many bytes writable, rounded up to `V`. The CPU has `V`.
    #[inline(always)]
    unsafe fn split<V: Vector, const R: usize>(self) {
        let In {
            from,
            mut lanes,
            whole,
            last,
            upcoming: (mut upcoming, soon),
            mixed,
            pitch,
            bytes,
        } = self;
        for at in (0..bytes).step_by(V::BYTES) {
            let mut places = [last; 4];
            for (l, place) in places.iter_mut().enumerate().take(V::BYTES / LANE) {
                let here = lanes.next();
                if at + l * LANE < whole {
                    *place = from.wrapping_offset(here);
                }
                let soon = soon.wrapping_offset(upcoming.next());
                for line in (0..LANE * R).step_by(LINE) {
                    prefetch(soon.wrapping_add(line));
                }
            }
            // SAFETY: the caller's promise.
            unsafe {
                let row = |r: usize| mixed.add(r * pitch + at);
                // Four rounds bring the numbers of a lane's bytes into their places, and those of rows where vectors'
                // are.
                if R == 32 {
                    let even = turned::<V, 1>(
                        16,
                        4,
                        #[inline(always)]
                        |i| lanes_of::<V>(&places, 2 * i),
                    );
                    for (r, v) in even.into_iter().enumerate() {
                        v.store(row(r));
                    }
                    let odd = turned::<V, 1>(
                        16,
                        4,
                        #[inline(always)]
                        |i| lanes_of::<V>(&places, 2 * i + 1),
                    );
                    for (r, v) in odd.into_iter().enumerate() {
                        v.store(row(16 + r));
                    }
                } else {
                    let v = turned::<V, 1>(
                        R,
                        4,
                        #[inline(always)]
                        |i| lanes_of::<V>(&places, i % R),
                    );
                    for (r, v) in v.into_iter().enumerate().take(R) {
                        v.store(row(r));
                    }
                }
            }
        }
    }
}

/// A lane from each place, so many lanes further on.
///
/// # Safety
///
/// As many places as `V` has lanes are readable there. The CPU has `V`.
#[inline(always)]
unsafe fn lanes_of<V: Vector>(places: &[*const u8; 4], on: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        V::load_lanes(
            #[inline(always)]
            |l| places[l].add(on * LANE),
        )
    }
}

/// Undoes what joining does first: mixed rows become rows that are staged.
///
/// # Safety
///
/// The mixed rows are readable, and the others writable, with a line more; the CPU has `S`.
#[inline(always)]
unsafe fn unmix<S: Half, const N: usize>(
    braid: &Braid,
    mixed: *const u8,
    staged: *mut u8,
    bytes: usize,
) {
    let groups = braid.rows / N;
    for group in 0..groups {
        // SAFETY: the caller's promise; the group's rows.
        unsafe {
            let lines = Unmixing {
                from: mixed.add(group * braid.pitch()),
                from_pitch: groups * braid.pitch(),
                to: staged.add(group * N * braid.row_pitch()),
                to_pitch: braid.row_pitch(),
            };
            swap::<S::Words, N>(8 / N, &lines, bytes);
        }
    }
}

/// Mixed rows of a group, to plain ones.
struct Unmixing {
    from: *const u8,
    from_pitch: usize,
    to: *mut u8,
    to_pitch: usize,
}

impl Lines for Unmixing {
    #[inline(always)]
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W {
        // SAFETY: a mixed row has a strip and a line more.
        unsafe { W::load(self.from.add(row * self.from_pitch + at)) }
    }

    #[inline(always)]
    unsafe fn put<W: Words>(&self, row: usize, at: usize, words: W) {
        // SAFETY: a row has a strip and a line behind.
        unsafe { words.store(self.to.add(row * self.to_pitch + at)) }
    }
}
