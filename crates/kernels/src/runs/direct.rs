//! Runs of a few bytes that go right to their places, block by block.

use std::marker::PhantomData;

use super::{Piece, Runs};
use crate::axis::Pointers;
use crate::plane::At;
use crate::simd::{LINE, Vector, Work, prefetch};
use crate::strips::even;

/// The most rows of a strip: as many pages as an entry each is kept for, with those of a block's columns.
const STRIP: usize = 64;
/// Bytes ahead that are asked for in each row.
const AHEAD: usize = 3 * LINE;
/// More columns than any block has.
const WIDEST: usize = 16;

/// Moves all runs.
///
/// # Safety (of `work`)
///
/// As [`run`](super::run); [`fits`] says so.
pub(super) struct Direct<'a, P, V> {
    pub(super) runs: &'a Runs,
    pub(super) at: &'a At,
    pub(super) block: PhantomData<(P, V)>,
}

/// Whether there is a block in the runs.
pub(super) fn fits<P: Piece, V: Vector>(runs: &Runs) -> bool {
    let columns = P::block_columns::<V>();
    columns > 0 && runs.columns.len >= columns && runs.rows.len >= P::BLOCK_ROWS
}

impl<P: Piece, V: Vector> Work for Direct<'_, P, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let &Runs {
            run,
            ref rows,
            ref columns,
            ask,
            ..
        } = self.runs;
        let &At {
            source,
            destination,
            ..
        } = self.at;
        let breadth = P::block_columns::<V>();
        let strip = even(rows.len, STRIP, P::BLOCK_ROWS);
        let (mut from, mut to) = (Pointers::<STRIP>::new(), Pointers::<WIDEST>::new());
        let mut p = 0;
        while p < rows.len {
            // What is left over is moved again with what is before it.
            let first = p.min(rows.len - P::BLOCK_ROWS);
            let count = strip.min(rows.len - first);
            from.take(&mut rows.cursor(first), source, count);
            let mut walk = columns.cursor(0);
            let mut q = 0;
            while q < columns.len {
                if columns.len - q < breadth {
                    q = columns.len - breadth;
                    walk = columns.cursor(q);
                }
                to.take(&mut walk, destination.wrapping_add(first * run), breadth);
                let mut r = 0;
                while r < count {
                    r = r.min(count - P::BLOCK_ROWS);
                    let rows = &from[r..r + P::BLOCK_ROWS];
                    if ask {
                        for row in rows {
                            prefetch(row.wrapping_add(q * run + AHEAD));
                        }
                    }
                    // SAFETY: rows `first + r..` and columns `q..`, as many as a block has, are on the axes, as `fits` has seen that there are
                    // so many: their runs are readable and writable by the caller's promise. `to` has a pointer for each column of a
                    // block. The CPU has `V`.
                    unsafe {
                        P::put_block::<V>(
                            rows,
                            q * run,
                            #[inline(always)]
                            |c| to.get_unchecked(c).cast_mut().add(r * run),
                        )
                    };
                    r += P::BLOCK_ROWS;
                }
                q += breadth;
            }
            p = first + count;
        }
    }
}
