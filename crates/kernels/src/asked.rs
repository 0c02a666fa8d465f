//! Lines of what comes next, asked for a few at a time.
//!
//! Memory brings most where it always has something to bring, and a core that asks for too much at once waits with all else it does: so
//! requests are spread over the steps of what is done meanwhile.

use std::cell::Cell;

use crate::simd::prefetch;

/// Of how many rows a line each is asked for in turn, so that a Zen 3 brings most: as many are followed by the prefetcher of its
/// second-level cache, which has more lines under way than a core, whose requests wait for one another from about two dozen on. Read by
/// 128 rows of 512 bytes, 7168 rows of 29056 bytes took 15.9 ms where one row's lines were asked for after the other's, 13.3, 12.5 and 12.2
/// with those of 4, 8 and 16 rows in turn; while whole lines are streamed, f32[7264,7264] to columns 17.6 ms, 15.8 by 8 and 16.9 by 16.
pub(crate) const ABREAST: usize = 8;

/// Bits of a part of a line.
const SHARE: u32 = 16;

/// Rows whose lines are asked for in the second-level cache, some rows after the other, and of these a line of each in turn.
pub(crate) struct Asked<P> {
    /// Where a row's line is.
    place: P,
    rows: usize,
    /// Of each row.
    lines: usize,
    /// Rows whose lines are asked for in turn: a power of two.
    abreast: usize,
    /// The row and line that are next.
    row: Cell<usize>,
    line: Cell<usize>,
    /// How many were asked for.
    done: Cell<usize>,
}

impl<P: Fn(usize, usize) -> *const u8> Asked<P> {
    #[inline(always)]
    pub(crate) fn new(rows: usize, lines: usize, abreast: usize, place: P) -> Self {
        debug_assert!(abreast.is_power_of_two());
        Asked {
            place,
            rows,
            lines,
            abreast,
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

    /// As `until`, where `ask` asks.
    #[inline(always)]
    pub(crate) fn each_until(&self, shares: usize, mut ask: impl FnMut(*const u8)) {
        let count = shares >> SHARE;
        let mut left = count.saturating_sub(self.done.get());
        self.done.set(self.done.get() + left);
        let (mut row, mut line) = (self.row.get(), self.line.get());
        // One row alone needs no more than this: f32[7264,7264] to columns took a Zen 3 18 ms so, and 23 by the loop below.
        if self.abreast == 1 {
            while left > 0 && row < self.rows {
                ask((self.place)(row, line));
                left -= 1;
                line += 1;
                if line == self.lines {
                    (row, line) = (row + 1, 0);
                }
            }
        }
        while left > 0 && row < self.rows {
            let first = row & !(self.abreast - 1);
            let last = (first + self.abreast).min(self.rows);
            let end = last.min(row + left);
            left -= end - row;
            for row in row..end {
                ask((self.place)(row, line));
            }
            row = end;
            if row == last {
                line += 1;
                if line < self.lines {
                    row = first;
                } else {
                    line = 0;
                }
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
        for (rows, lines) in [(3, 4), (5, 3), (1, 2), (7, 1), (64, 31), (83, 13)] {
            for (steps, abreast) in [1, 2, 5, 100, 480]
                .into_iter()
                .flat_map(|n| [(n, 1), (n, 4), (n, ABREAST)])
            {
                let mut found = Vec::new();
                let asked = Asked::new(rows, lines, abreast, place);
                let share = asked.share(steps);
                for step in 1..=steps {
                    asked.each_until(share * step, |line| found.push(line));
                    // Nothing is asked for again.
                    asked.each_until(share * step / 2, |line| found.push(line));
                    // As evenly as can be.
                    let even = step * rows * lines;
                    assert!((even / steps..=even.div_ceil(steps)).contains(&found.len()));
                }
                // A line of each of some rows, and then the next ones; all lines of these before those of others.
                let of = |first: usize| {
                    let these = first..(first + abreast).min(rows);
                    (0..lines).flat_map(move |line| these.clone().map(move |row| place(row, line)))
                };
                let all = (0..rows).step_by(abreast).flat_map(of);
                assert_eq!(found, all.collect::<Vec<_>>(), "{abreast} abreast");
            }
        }
    }
}
