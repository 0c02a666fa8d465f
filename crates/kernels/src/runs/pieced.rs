//! Runs of whole lines whose rows are read in [pieces](crate::pieces).

use std::marker::PhantomData;

use super::{Runs, STRIP};
use crate::axis::Pointers;
use crate::pieces::{Pieces, Room};
use crate::plane::At;
use crate::simd::{LINE, Vector, Work};
use crate::strips::even;

/// Moves all runs.
///
/// # Safety (of `work`)
///
/// As [`run`](super::run). All runs are whole lines in the destination, and columns begin on lines.
pub(super) struct Pieced<'a, V> {
    pub(super) runs: &'a Runs,
    pub(super) at: &'a At,
    pub(super) room: &'a mut Room,
    pub(super) vector: PhantomData<V>,
}

impl<V: Vector> Work for Pieced<'_, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let Pieced { runs, at, room, .. } = self;
        let &Runs {
            run,
            ref rows,
            ref columns,
            ..
        } = runs;
        let strip = even(rows.len, STRIP, 1);
        let (bytes, lines) = (columns.len * run, run / LINE);
        let pieces = Pieces::<STRIP>::new(room, strip, run);
        let (mut from, mut next) = (Pointers::<STRIP>::new(), Pointers::<STRIP>::new());
        let mut ahead = rows.cursor(0);
        next.take(&mut ahead, at.source, strip);
        // SAFETY: all bytes of these rows are readable, and each has a run, so a line; the CPU has `V`.
        unsafe { pieces.begin::<V>(&next, bytes) };
        for p in (0..rows.len).step_by(strip) {
            from.clone_from(&next);
            let count = strip.min(rows.len - p);
            let left = rows.len - p - count;
            next.take(&mut ahead, at.source, strip.min(left));
            let to = at.destination.wrapping_add(p * run);
            let (mut walk, mut place) = (columns.cursor(0), Pointers::<1>::new());
            let mut q = 0;
            while q < columns.len {
                let feed = pieces.feed::<V>(&from[..count], &next, q * run, bytes);
                while q * run < feed.end {
                    place.take(&mut walk, to, 1);
                    let mut to = place[0].cast_mut();
                    for &row in &feed.places[..count] {
                        // SAFETY: what is copied are rows as `begin` copied them. Run q of each row is where the feed says, and the
                        // runs of column q are writable, whole lines, by the caller's promise; the CPU has `V`.
                        unsafe {
                            feed.copy(lines);
                            let from = row.add(q * run - feed.start);
                            for part in (0..run).step_by(V::BYTES) {
                                V::load(from.add(part)).stream(to.add(part));
                            }
                            to = to.add(run);
                        }
                    }
                    q += 1;
                }
                // SAFETY: as of those that `begin` copied.
                unsafe { feed.finish() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;
    use crate::isa::Isa;

    #[test]
    fn runs_of_whole_lines_are_moved_in_pieces() {
        // Lines of a run, rows, columns: of one piece and of some, of one strip and of strips of two lengths.
        for (lines, rows, columns) in [
            (1, 12, 1),
            (1, 300, 33),
            (2, 131, 20),
            (5, 40, 13),
            (8, 17, 5),
        ] {
            let run = lines * LINE;
            let (row, column) = (columns * run + 24, rows * run + LINE);
            let mut axis = Axis::new(rows, row as isize);
            axis.join(2, (rows * row) as isize);
            let source: Vec<u8> = (0..(2 * rows - 1) * row + columns * run)
                .map(|i| (i * 37 + i / 251) as u8)
                .collect();
            let mut expected = vec![0xa5; columns * (column + rows * run)];
            for p in 0..2 * rows {
                for q in 0..columns {
                    expected[q * (column + rows * run) + p * run..][..run]
                        .copy_from_slice(&source[p * row + q * run..][..run]);
                }
            }
            let runs = Runs {
                run,
                cell: None,
                stream: true,
                ask: true,
                pieced: true,
                rows: axis,
                columns: Axis::new(columns, (column + rows * run) as isize),
            };
            for &isa in Isa::available() {
                let mut destination = vec![0xa5; expected.len() + LINE];
                let start = destination.as_ptr().align_offset(LINE);
                let destination = &mut destination[start..start + expected.len()];
                let at = At {
                    source: source.as_ptr(),
                    destination: destination.as_mut_ptr(),
                    upcoming: source.as_ptr(),
                    aside: None,
                };
                // SAFETY: the source has all runs, and the destination room for them.
                unsafe { crate::dispatch::runs(isa, &runs, &at) };
                crate::simd::fence();
                assert!(
                    destination == expected,
                    "{rows} rows of {columns} runs of {run} bytes, {isa:?}"
                );
            }
        }
    }
}
