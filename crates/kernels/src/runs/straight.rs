//! Runs that are streamed right from the source.

use std::marker::PhantomData;

use super::{PIECE, Runs, STRIP, ahead, ask};
use crate::axis::Pointers;
use crate::copy::{own_edges, stream};
use crate::pen::Pen;
use crate::plane::At;
use crate::simd::{LINE, Vector, Work, prefetch};
use crate::strips::even;
use crate::tuning::{asks_for_edges, followed_runs};

/// How many columns' places are found at once.
const PLACES: usize = 64;
/// How many bytes of pieces before one the lines are asked for that it writes parts of.
const LEAD: usize = 2 << 10;

/// Moves all runs.
///
/// # Safety (of `work`)
///
/// As [`run`](super::run).
pub(super) struct Straight<'a, V> {
    pub(super) runs: &'a Runs,
    pub(super) at: &'a At,
    pub(super) vector: PhantomData<V>,
}

impl<V: Vector> Work for Straight<'_, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let &Runs { run, ref rows, .. } = self.runs;
        let &At {
            source,
            destination,
            upcoming,
            ..
        } = self.at;
        let whole_lines = self.runs.is_on_lines(self.at);
        let most = STRIP.min(followed_runs(whole_lines));
        let strip = even(rows.len, (PIECE / run).clamp(1, most), 1);
        let own = asks_for_edges() && !whole_lines && !self.runs.follows(strip);
        let (mut from, mut next) = (Pointers::<STRIP>::new(), Pointers::<STRIP>::new());
        let mut ahead = rows.cursor(0);
        next.take(&mut ahead, source, strip);
        let mut p = 0;
        while p < rows.len {
            let count = strip.min(rows.len - p);
            from.clone_from(&next);
            if p + count < rows.len {
                next.take(&mut ahead, source, strip);
            } else {
                next.take(&mut rows.cursor(0), upcoming, strip);
            }
            let to = destination.wrapping_add(p * run);
            // SAFETY: the caller's promise, for these rows.
            unsafe { self.strip(&from[..count], &next, to, (whole_lines, own)) };
            p += count;
        }
    }
}

impl<V: Vector> Straight<'_, V> {
    /// Moves the runs of some rows; `to` is where they are in the first column.
    ///
    /// # Safety
    ///
    /// As `run`. If `whole_lines`, all runs are, in the destination. `own` says whether to ask for lines written in part.
    #[inline(always)]
    unsafe fn strip(
        &self,
        from: &[*const u8],
        next: &[*const u8],
        to: *mut u8,
        (whole_lines, own): (bool, bool),
    ) {
        let &Runs {
            run, ref columns, ..
        } = self.runs;
        let bytes = from.len() * run;
        // What is longer asks for its own lines.
        let asks = run <= PIECE;
        let far = ahead(from.len()).div_ceil(run).min(columns.len);
        let mut walk = columns.cursor(0);
        let mut edges = columns.cursor(LEAD.div_ceil(bytes).min(columns.len - 1));
        let (mut places, mut edge) = (Pointers::<PLACES>::new(), Pointers::<1>::new());
        // SAFETY: the CPU has `V`.
        let mut pen = unsafe { Pen::<V>::new() };
        for first in (0..columns.len).step_by(PLACES) {
            let count = PLACES.min(columns.len - first);
            places.take(&mut walk, to, count);
            for (q, &place) in (first..).zip(places.iter()) {
                if own {
                    edge.take(&mut edges, to, 1);
                    own_edges(edge[0], bytes);
                }
                let (rows, other) = if q + far < columns.len {
                    (from, q + far)
                } else {
                    (next, q + far - columns.len)
                };
                let mut to = place.cast_mut();
                // Knowing that it is one line, the compiler leaves a loop out.
                if whole_lines && run == LINE {
                    // SAFETY: run q of each row is readable, and all of column q are writable, and whole lines.
                    unsafe { lines::<V>(from, q * LINE, rows, other * LINE, to, LINE) };
                    continue;
                } else if whole_lines && asks {
                    // SAFETY: as before.
                    unsafe { lines::<V>(from, q * run, rows, other * run, to, run) };
                    continue;
                }
                for (from, row) in from.iter().zip(rows) {
                    if asks {
                        ask(row.wrapping_add(other * run), run, prefetch);
                    }
                    // SAFETY: run q of each row is readable, and the runs of column q are writable, by the caller's promise;
                    // nothing else writes them before the pen is lifted, and `to` ends behind the last one. Whole lines are.
                    unsafe {
                        if whole_lines || !asks {
                            stream::<V>(from.add(q * run), to, run);
                        } else {
                            pen.copy(from.add(q * run), to, run);
                        }
                        to = to.add(run);
                    }
                }
            }
        }
        // SAFETY: what was copied last is still writable.
        unsafe { pen.lift() };
    }
}

/// Streams a run of each of some rows, at `offset` there, to runs that follow one another, and asks for those at `other` in as many
/// other rows. All are whole lines of the destination: where a run has a line or two, seeing which part of it is some takes longer
/// than moving it, and few loads are under way meanwhile. On a virtual machine with an Emerald Rapids f32[15,15,32,15,32,16] to
/// {5,2,3,0,1,4} took 19.3 ms so (9.6 by two threads), and 25.2 (13.1) by what longer runs need; fifteen arrays of runs of 64 to
/// 1856 bytes reached 1.24 (1.52) of memcpy, and 0.98 (1.18).
///
/// # Safety
///
/// The CPU has `V`; the runs are readable from the rows, and writable at `to`, where a line begins, and are whole lines.
#[inline(always)]
unsafe fn lines<V: Vector>(
    from: &[*const u8],
    offset: usize,
    next: &[*const u8],
    other: usize,
    mut to: *mut u8,
    run: usize,
) {
    for (from, next) in from.iter().zip(next) {
        for line in (0..run).step_by(LINE) {
            prefetch(next.wrapping_add(other + line));
            for part in (line..line + LINE).step_by(V::BYTES) {
                // SAFETY: the caller's promise; a line of the run begins at `line`.
                unsafe { V::load(from.add(offset + part)).stream(to.add(part)) };
            }
        }
        // SAFETY: behind the run is the next one, or the end of the last.
        to = unsafe { to.add(run) };
    }
}
