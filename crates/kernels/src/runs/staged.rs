//! Runs that are put together in the first-level cache before they are streamed.

use std::mem::MaybeUninit;

use super::{PIECE, Piece, Runs, ahead};
use crate::axis::{Axis, Pointers};
use crate::copy::{own_edges, stream_near};
use crate::pen::Pen;
use crate::simd::{LINE, Vector, prefetch};
use crate::tuning::waits;

/// The most columns that are staged at once.
const GROUP: usize = 64;

#[repr(align(64))]
pub(super) struct Stage(pub(super) MaybeUninit<[u8; PIECE]>);

/// What was staged is streamed one group of columns later, from the other of two stages: a load of what was just stored
/// would wait until all streaming stores before it are done.
pub(super) struct Staged<'a, V> {
    run: usize,
    columns: &'a Axis,
    /// Whether pieces follow one another and so share the lines where they meet.
    pub(super) follow: bool,
    stage: *mut u8,
    other: *mut u8,
    /// Where the columns go that are in the other stage, and the bytes of each.
    before: Pointers<GROUP>,
    bytes: usize,
    pen: Pen<V>,
}

impl<'a, V: Vector> Staged<'a, V> {
    /// # Safety
    ///
    /// The CPU has `V`.
    #[inline(always)]
    pub(super) unsafe fn new(runs: &'a Runs, strip: usize, stages: &'a mut [Stage; 2]) -> Self {
        let &Runs {
            run,
            ref rows,
            ref columns,
            ..
        } = runs;
        let [stage, other] = stages;
        Staged {
            run,
            columns,
            follow: rows.len <= strip && columns.first_stride() == (rows.len * run) as isize,
            stage: stage.0.as_mut_ptr().cast(),
            other: other.0.as_mut_ptr().cast(),
            before: Pointers::new(),
            bytes: 0,
            // SAFETY: the caller's promise.
            pen: unsafe { Pen::new() },
        }
    }

    /// Moves the runs of some rows, together at most a stage of a column; `to` is where they are in the first column.
    ///
    /// # Safety
    ///
    /// As `run`.
    #[inline(always)]
    pub(super) unsafe fn strip<P: Piece>(
        &mut self,
        piece: &P,
        from: &[*const u8],
        next: &[*const u8],
        to: *mut u8,
    ) {
        let (run, columns) = (self.run, self.columns);
        let bytes = from.len() * run;
        let group = (PIECE / bytes).clamp(1, GROUP).min(columns.len);
        let far = ahead(from.len())
            .div_ceil(run)
            .clamp(group, columns.len.max(group));
        let own = waits() && !self.follow;
        let mut walk = columns.cursor(0);
        let mut places = Pointers::<GROUP>::new();
        let mut q = 0;
        while q < columns.len {
            let count = group.min(columns.len - q);
            places.take(&mut walk, to, count);
            if own {
                for &to in places.iter() {
                    own_edges(to, bytes);
                }
            }
            let (rows_ahead, q_ahead) = if q + far < columns.len {
                (from, q + far)
            } else {
                (next, q + far - columns.len)
            };
            for (r, from) in from.iter().enumerate() {
                let ahead = rows_ahead[r].wrapping_add(q_ahead * run);
                let mut asked = 0;
                for c in 0..count {
                    // Every line once, and not all at once.
                    while asked < (c + 1) * run {
                        prefetch(ahead.wrapping_add(asked));
                        asked += LINE;
                    }
                    // SAFETY: run (r, q + c) is readable by the caller's promise; `count` columns fit the stage.
                    unsafe {
                        let to = self.stage.add(c * bytes + r * run);
                        piece.put::<V>(from.add((q + c) * run), to, run);
                    }
                }
            }
            // SAFETY: as the caller's promise for what was staged before.
            unsafe { self.stream() };
            self.before.clone_from(&places);
            self.bytes = bytes;
            std::mem::swap(&mut self.stage, &mut self.other);
            q += count;
        }
    }

    /// Streams what is in the other stage.
    ///
    /// # Safety
    ///
    /// It is writable where it goes.
    #[inline(always)]
    unsafe fn stream(&mut self) {
        let (to, bytes) = (&self.before, self.bytes);
        let mut first = 0;
        while first < to.len() {
            let mut end = first + 1;
            while self.follow && end < to.len() && to[end] == to[end - 1].wrapping_add(bytes) {
                end += 1;
            }
            // SAFETY: columns first..end are staged, and side by side in the destination.
            unsafe {
                let (staged, to) = (self.other.add(first * bytes), to[first].cast_mut());
                if self.follow {
                    self.pen.copy(staged, to, (end - first) * bytes);
                } else {
                    stream_near::<V>(staged, to, bytes);
                }
            }
            first = end;
        }
    }

    /// Streams what is left.
    ///
    /// # Safety
    ///
    /// As `stream`.
    #[inline(always)]
    pub(super) unsafe fn finish(&mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            self.stream();
            self.pen.lift();
        }
    }
}
