//! Few bytes to fill: written row by row, with no kernel to choose. What is padded in a small array is mostly so, and its
//! plan takes longer than it does.

use super::FillLoop;
use crate::error::{Buffer, NestError};
use crate::nest::{Loop, Loops, Nest};
use crate::simd::LANE;

/// The most bytes,
const MOST: usize = 8 << 10;
/// and rows: of more, a kernel that knows how long they are takes a third of the instructions.
const ROWS: usize = 64;
/// The most loops around a row.
const AROUND: usize = 2;
/// Bytes of two lanes.
const PAIR: usize = 2 * LANE;

/// Rows of a pattern. Small, since what holds it is handed on several times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Few {
    /// The first byte of the first row.
    start: usize,
    /// Bytes of a row.
    run: u32,
    /// How often a row is written, and the bytes between them; outermost first.
    extents: [u32; AROUND],
    steps: [usize; AROUND],
}

impl Few {
    /// The loops of a fill, outermost first, where none goes back and they are few; `None` for others, among them those that reach
    /// too far, and those that are to be refused.
    pub(super) fn find(width: usize, start: usize, loops: &[FillLoop]) -> Option<Few> {
        let mut few = Few {
            start,
            run: width as u32,
            extents: [1; AROUND],
            steps: [0; AROUND],
        };
        let (mut bytes, mut free) = (width, AROUND);
        for l in loops.iter().rev() {
            if l.extent == 1 {
                continue;
            }
            bytes = bytes.checked_mul(l.extent)?;
            let step = usize::try_from(l.destination).ok()?;
            if bytes == 0 || bytes > MOST {
                return None;
            }
            if step == few.run as usize {
                few.run *= l.extent as u32;
                continue;
            }
            free = free.checked_sub(1)?;
            few.extents[free] = l.extent as u32;
            few.steps[free] = step;
        }
        let rows = few.bytes() / few.run();
        few.checked_end().filter(|_| rows <= ROWS).map(|_| few)
    }

    /// Where the last row ends, if a slice may be as long.
    fn checked_end(&self) -> Option<usize> {
        let mut end = self.start.checked_add(self.run as usize)?;
        for (&extent, &step) in self.extents.iter().zip(&self.steps) {
            end = end.checked_add(step.checked_mul(extent as usize - 1)?)?;
        }
        isize::try_from(end).is_ok().then_some(end)
    }

    /// The bytes that the destination must have at least.
    pub(super) fn end(&self) -> usize {
        // It was checked that there is one.
        let last = |(&extent, &step): (&u32, &usize)| (extent as usize - 1) * step;
        let rows = self.extents.iter().zip(&self.steps).map(last);
        self.start + self.run as usize + rows.sum::<usize>()
    }

    /// Bytes of a row.
    pub(super) fn run(&self) -> usize {
        self.run as usize
    }

    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> usize {
        self.extents
            .iter()
            .fold(self.run(), |bytes, &extent| bytes * extent as usize)
    }

    /// Writes all rows; an error if the destination is too short, and then nothing is written.
    #[inline]
    pub(super) fn fill(
        &self,
        pattern: &[u8; LANE],
        destination: &mut [u8],
    ) -> Result<(), NestError> {
        let (needed, got) = (self.end(), destination.len());
        if got < needed {
            return Err(NestError::TooShort {
                buffer: Buffer::Destination,
                needed,
                got,
            });
        }
        let (to, run) = (destination.as_mut_ptr(), self.run());
        // SAFETY: each row is writable: steps are not negative, so none begins behind the last one, which ends at `needed`, and that is
        // in the slice; sums up to there do not overflow, as `find` checked. It is as long as a piece, by the arm that its length
        // takes; pieces are made of lanes, or of parts of one.
        unsafe {
            match run {
                PAIR.. => self.rows(|row| pieces::<LANE, 2>(pattern, to.add(row), run)),
                LANE.. => self.rows(|row| pieces::<LANE, 1>(pattern, to.add(row), run)),
                8.. => self.rows(|row| pieces::<8, 1>(pattern, to.add(row), run)),
                4.. => self.rows(|row| pieces::<4, 1>(pattern, to.add(row), run)),
                2.. => self.rows(|row| pieces::<2, 1>(pattern, to.add(row), run)),
                _ => self.rows(|row| to.add(row).write(pattern[0])),
            }
        }
        Ok(())
    }

    /// Writes what lies in a window of the destination, which starts at a byte of it; an error if an element of so many bytes
    /// crosses its edge, and then nothing is written.
    pub(super) fn fill_window(
        &self,
        (pattern, width): (&[u8; LANE], usize),
        window: &mut [u8],
        start: usize,
    ) -> Result<(), NestError> {
        let end = start.saturating_add(window.len());
        let run = self.run();
        let mut crossed = Ok(());
        self.rows(|row| {
            for edge in [start, end] {
                if row < edge && edge < row + run && (edge - row) % width != 0 {
                    crossed = Err(NestError::CutElement {
                        element: edge - (edge - row) % width,
                        width,
                        edge,
                    });
                }
            }
        });
        crossed?;
        self.rows(|row| {
            let (from, to) = (row.max(start), (row + run).min(end));
            if from < to {
                // The rows are few: element by element.
                let part = window[from - start..to - start].iter_mut();
                part.zip(pattern.iter().cycle())
                    .for_each(|(byte, &of)| *byte = of);
            }
        });
        Ok(())
    }

    /// Calls for the first byte of each row.
    #[inline(always)]
    fn rows(&self, mut each: impl FnMut(usize)) {
        let ([outer, inner], [far, near]) = (self.extents, self.steps);
        let mut first = self.start;
        for _ in 0..outer {
            let mut row = first;
            for _ in 0..inner {
                each(row);
                row = row.wrapping_add(near);
            }
            first = first.wrapping_add(far);
        }
    }

    /// The same as a nest of elements of so many bytes.
    pub(super) fn nest(&self, width: usize) -> Result<Nest, NestError> {
        let along = (self.run as usize / width, width);
        let around = self.extents.iter().zip(&self.steps);
        let around = around.map(|(&extent, &step)| (extent as usize, step));
        let of = |(extent, step): (usize, usize)| Loop {
            extent,
            source: 0,
            destination: step as isize,
        };
        let loops: Loops = around.chain([along]).map(of).collect();
        Nest::new(width, 0, self.start, &loops)
    }
}

/// Writes elements, which lie side by side in `pattern`, over a row, in pieces of `T` times `N` bytes, the last of which is moved
/// back to the row's end. That is a whole number of elements, too.
///
/// # Safety
///
/// The row is writable, and as long as a piece at least; `N` is at most a lane.
#[inline(always)]
unsafe fn pieces<const N: usize, const T: usize>(pattern: &[u8; LANE], row: *mut u8, bytes: usize) {
    let last = bytes - N * T;
    // SAFETY: the part is the front of the pattern, as `N` is at most a lane. A piece begins at `last` at most, which is not negative as
    // the row is as long as one, and ends where the row does, which is writable; arrays of bytes may lie at any address.
    unsafe {
        let part = pattern.as_ptr().cast::<[u8; N]>().read();
        let put = |at: usize| {
            for i in 0..T {
                row.add(at + i * N).cast::<[u8; N]>().write(part);
            }
        };
        let mut at = 0;
        while at < last {
            put(at);
            at += N * T;
        }
        put(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(loops: &[(usize, isize)]) -> Vec<FillLoop> {
        let of = |&(extent, destination): &_| FillLoop {
            extent,
            destination,
        };
        loops.iter().map(of).collect()
    }

    #[test]
    fn few_are_those_that_are_small_and_go_forward() {
        let found = |width, start, of: &[(usize, isize)]| {
            let few = Few::find(width, start, &loops(of))?;
            Some((few.run(), few.bytes(), few.end()))
        };
        assert_eq!(found(4, 3, &[]), Some((4, 4, 7)));
        assert_eq!(found(4, 0, &[(7, 4)]), Some((28, 28, 28)));
        assert_eq!(
            found(2, 1, &[(3, 100), (1, -9), (5, 2)]),
            Some((10, 30, 211))
        );
        assert_eq!(
            found(1, 0, &[(3, 100), (2, 30), (5, 2)]),
            None,
            "a loop too many"
        );
        assert_eq!(
            found(1, 0, &[(3, 100), (2, 30), (5, 1)]),
            Some((5, 30, 235))
        );
        let most = [(64, 1000), (128, 1)];
        assert_eq!(found(1, 0, &most), Some((128, 8192, 63 * 1000 + 128)));
        for more in [
            &[(8193, 1)][..],
            &[(65, 1000), (2, 1)],
            &[(3, 0), (0, 1)],
            &[(3, -4)],
            &[(1 << 40, 0), (1 << 40, 0)],
            &[(3, isize::MAX)],
        ] {
            assert_eq!(found(1, 9, more), None, "{more:?}");
        }
        assert_eq!(found(1, isize::MAX as usize, &[]), None);
        assert_eq!(found(1, isize::MAX as usize - 1, &[]).map(|f| f.0), Some(1));
    }

    #[test]
    fn rows_of_every_length_are_written_and_nothing_else() {
        const GAP: usize = 3;
        for width in [1, 2, 4, 8, 16] {
            let pattern: [u8; LANE] = std::array::from_fn(|i| 1 + (i % width) as u8);
            for elements in 1..=80 / width + 2 {
                let (run, start) = (elements * width, 5);
                let rows = [(3, (run + GAP) as isize), (elements, width as isize)];
                let few = Few::find(width, start, &loops(&rows)).unwrap();
                let what = format!("{elements} of {width} bytes");
                let mut want = vec![0; few.end()];
                for row in want[start..].chunks_mut(run + GAP) {
                    for (i, byte) in row[..run].iter_mut().enumerate() {
                        *byte = 1 + (i % width) as u8;
                    }
                }
                let mut all = vec![0; few.end()];
                few.fill(&pattern, &mut all).unwrap();
                assert_eq!(all, want, "{what}");
                let mut short = vec![0; few.end() - 1];
                let (needed, got) = (few.end(), short.len());
                let buffer = Buffer::Destination;
                assert_eq!(
                    few.fill(&pattern, &mut short),
                    Err(NestError::TooShort {
                        buffer,
                        needed,
                        got
                    })
                );
                assert_eq!(short, vec![0; got], "{what}");
                for cut in 0..=few.end() {
                    let mut all = vec![0; few.end()];
                    let (left, right) = all.split_at_mut(cut);
                    let of = (&pattern, width);
                    let done = few.fill_window(of, left, 0);
                    assert_eq!(
                        few.fill_window(of, right, cut),
                        done,
                        "{what}, cut at {cut}"
                    );
                    let inside = cut.checked_sub(start).map_or(0, |at| at % (run + GAP));
                    match inside < run && inside % width != 0 {
                        true => {
                            assert!(
                                matches!(done, Err(NestError::CutElement { edge, element, .. })
                                if edge == cut && element == cut - inside % width)
                            );
                            assert_eq!(all, vec![0; few.end()], "{what}, cut at {cut}");
                        }
                        false => assert_eq!(all, want, "{what}, cut at {cut}"),
                    }
                }
            }
        }
    }

    #[test]
    fn the_nest_is_of_the_same_elements() {
        let few = Few::find(2, 1, &loops(&[(3, 100), (5, 2)])).unwrap();
        let nest = few.nest(2).unwrap();
        assert_eq!((nest.bytes, nest.destination_end), (few.bytes(), few.end()));
        let strides: Vec<_> = nest
            .loops
            .iter()
            .map(|l| (l.extent, l.destination))
            .collect();
        assert_eq!(strides, [(3, 100), (5, 2)]);
    }
}
