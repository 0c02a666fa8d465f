//! Runs that are streamed right from the source.

use std::marker::PhantomData;

use super::{PIECE, Runs, STRIP, ahead, ask};
use crate::axis::Pointers;
use crate::copy::{own_edges, stream};
use crate::pen::Pen;
use crate::plane::At;
use crate::simd::{Vector, Work, prefetch};
use crate::strips::even;
use crate::tuning::{followed_far, waits};

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
        let strip = even(
            rows.len,
            (PIECE / run).clamp(1, STRIP.min(followed_far())),
            1,
        );
        let whole_lines = self.runs.is_on_lines(self.at);
        let own = waits() && !whole_lines && !self.runs.follows(strip);
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
