//! Lines of what comes next, asked for a few at a time.
//!
//! Memory brings most where it always has something to bring, and a core that asks for too much at once waits with all else it does: so
//! requests are spread over the steps of what is done meanwhile.

use std::cell::Cell;

use crate::simd::prefetch;

/// Bits of a part of a line.
const SHARE: u32 = 16;

/// Rows whose lines are asked for in the second-level cache, one row after the other.
pub(crate) struct Asked<P> {
    /// Where a row's line is.
    place: P,
    rows: usize,
    /// Of each row.
    lines: usize,
    /// The row and line that are next.
    row: Cell<usize>,
    line: Cell<usize>,
    /// How many were asked for.
    done: Cell<usize>,
}

impl<P: Fn(usize, usize) -> *const u8> Asked<P> {
    #[inline(always)]
    pub(crate) fn new(rows: usize, lines: usize, place: P) -> Self {
        Asked {
            place,
            rows,
            lines,
            row: Cell::new(0),
            line: Cell::new(0),
            done: Cell::new(0),
        }
    }

    /// The share of all lines that each of so many steps has, in parts of 2^[`SHARE`], rounded up.
    #[inline(always)]
    pub(crate) fn share(&self, steps: usize) -> usize {
        ((self.rows * self.lines) << SHARE).div_ceil(steps)
    }

    /// Asks for as many more as that so many have been asked for, in parts of 2^[`SHARE`].
    #[inline(always)]
    pub(crate) fn until(&self, shares: usize) {
        self.each_until(shares, prefetch);
    }

    #[inline(always)]
    pub(crate) fn each_until(&self, shares: usize, mut ask: impl FnMut(*const u8)) {
        let count = shares >> SHARE;
        let done = self.done.replace(count.max(self.done.get()));
        let (mut row, mut line) = (self.row.get(), self.line.get());
        for _ in done..count {
            if row == self.rows {
                break;
            }
            ask((self.place)(row, line));
            line += 1;
            if line == self.lines {
                (row, line) = (row + 1, 0);
            }
        }
        self.row.set(row);
        self.line.set(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_asked_for_once_in_any_number_of_steps() {
        let place = |row: usize, line: usize| (row * 100 + line) as *const u8;
        for (rows, lines) in [(3, 4), (5, 3), (1, 2), (7, 1), (64, 31)] {
            for steps in [1, 2, 5, 100, 480] {
                let mut found = Vec::new();
                let asked = Asked::new(rows, lines, place);
                let share = asked.share(steps);
                for step in 1..=steps {
                    asked.each_until(share * step, |line| found.push(line));
                    // Nothing is asked for again.
                    asked.each_until(share * step / 2, |line| found.push(line));
                    // As evenly as can be.
                    let even = step * rows * lines;
                    assert!((even / steps..=even.div_ceil(steps)).contains(&found.len()));
                }
                let of = |row| (0..lines).map(move |line| place(row, line));
                assert_eq!(found, (0..rows).flat_map(of).collect::<Vec<_>>());
            }
        }
    }
}
