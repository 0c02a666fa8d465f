//! What is asked for while the strips of a plane are walked: what comes next.

use std::ops::Range;

use crate::asked::Asked;
use crate::crowded::{ROOM, slots};
use crate::onward::Onward;
use crate::simd::{LINE, near, prefetch};
use crate::tuning::{is_zen, is_zen5, walked};

/// How many bytes ahead are asked for in each row,
pub(crate) const AHEAD: usize = 256;
/// or so many in all rows together, where they are few: where the CPU's own prefetcher follows so many rows, and where it
/// is not known to lose any.
const FLY: (usize, usize) = (16 << 10, 32 << 10);
/// There, as far ahead as the next strip in rows of up to so many bytes that are no whole lines.
const NEXT: usize = 512;
/// How many bytes ahead in each row where the CPU's own prefetcher follows so few rows, and these push each other out of the
/// first-level cache: what is asked for there would be gone at its turn. On a busy virtual machine with an Emerald Rapids ten matrices
/// whose rows are a multiple of 4 KiB apart reached 0.83 of memcpy so (1.16 by two threads), and 0.77 (1.05) by a kilobyte ahead in
/// that cache; by half as much in the second one 0.81 (1.11).
const CROWDED: usize = 512;
/// On a Zen 4, bytes that are asked for ahead in all rows of a strip whose columns are staged: f32[4001,5003] to columns takes 6.6 ms
/// so and 7.1 by a third less, f64[2193,6305] 8.4 and 9.3. Where lines are written as they are made, so much is too much:
/// bf16[6016,9984] 7.6 and 7.2.
const STAGED: usize = 48 << 10;
/// The most bytes of a row that are asked for at once, where rows are many,
const PIECE: usize = 1 << 10;
/// and the rows that are asked for side by side then: from one place alone, memory brings less than it can.
const SIDES: usize = 4;
/// Rows from whose number on a Zen 5 is asked for pieces, of one row after the other, in the first-level cache: so its
/// prefetchers bring most of a piece by themselves. f32[64,1000000] to columns took 22.7 ms with a line of each row in turn, 15.0 by
/// pieces, and 18.0 if those were asked for in the second-level cache of four rows side by side.
const ZEN5_FOLLOWED: usize = 16;
/// Bits of a part of a row that is asked for. Strips have fewer rows than there are such parts.
const SHARE: u32 = 16;

/// Which lines of a strip's rows are asked for while it is walked, to be in the second-level cache when it is their turn.
///
/// Where the CPU's own prefetcher follows all rows, or is not known not to, those some way ahead in each row. Where the
/// rows are too many for it, or too short, the piece of every row that comes after the present one, one row after the
/// other, some rows side by side: pieces of many lines are what it follows then. Where all rows are one run, that is asked
/// for from front to back.
pub(crate) struct Ahead<'a> {
    /// The rows of this strip and of the next one.
    from: &'a [*const u8],
    next: &'a [*const u8],
    /// How many of the next strip's rows there are for each of this one, in parts of 2^[`SHARE`], rounded up.
    share: usize,
    /// Bytes of a row.
    end: usize,
    /// How far ahead in each row.
    far: usize,
    /// Whether they are asked for in the first-level cache, as where the prefetcher brings them to the second anyway.
    near: bool,
    /// Lines of a piece, or 0.
    piece: usize,
    /// Rows of which pieces are asked for side by side, where there is a multiple of so many.
    sides: usize,
    /// How the next strip is asked for, where its rows and those of this one are one run.
    onward: Option<Onward>,
}

impl<'a> Ahead<'a> {
    /// For rows of `end` bytes. `onward` says whether all rows are one run, not these alone; `large` whether none of them are in
    /// the caches, and lines are written as they are made.
    pub(crate) fn new(
        from: &'a [*const u8],
        next: &'a [*const u8],
        end: usize,
        onward: bool,
        large: bool,
    ) -> Ahead<'a> {
        if large && is_zen5() {
            let ahead = Ahead::following(ZEN5_FOLLOWED, 1, from, next, end, onward);
            return Ahead {
                near: true,
                ..ahead
            };
        }
        let ahead = Ahead::following(walked(), SIDES, from, next, end, onward);
        match ahead.near && crowd(from) {
            true => Ahead {
                far: CROWDED.min(end),
                near: false,
                ..ahead
            },
            false => ahead,
        }
    }

    /// As `new`, for rows of which columns are staged one by one.
    pub(crate) fn staged(
        from: &'a [*const u8],
        next: &'a [*const u8],
        end: usize,
        onward: bool,
    ) -> Ahead<'a> {
        let ahead = Ahead::new(from, next, end, onward, false);
        let far = match is_zen() && !is_zen5() {
            true => (STAGED / from.len()).min(8 * AHEAD).max(ahead.far).min(end),
            false => ahead.far,
        };
        Ahead { far, ..ahead }
    }

    /// As `new`, for a prefetcher that follows so many rows, and is asked for pieces of so many side by side.
    fn following(
        followed: usize,
        sides: usize,
        from: &'a [*const u8],
        next: &'a [*const u8],
        end: usize,
        onward: bool,
    ) -> Ahead<'a> {
        let lines = end.div_ceil(LINE);
        let (fly, least) = match followed {
            usize::MAX if end <= NEXT && !end.is_multiple_of(LINE) => (FLY.1, end),
            usize::MAX => (FLY.1, AHEAD),
            _ => (FLY.0, AHEAD),
        };
        let far = (fly / from.len()).min(8 * AHEAD).max(least).min(end);
        let short = followed < usize::MAX && far == end;
        let bytes = from.len() * end;
        let after = from[0].wrapping_add(bytes);
        let is_run =
            from[from.len() - 1].wrapping_add(end) == after && next.first() == Some(&after);
        let onward = followed < usize::MAX && onward && is_run;
        let piece = if from.len() > followed || short {
            lines.div_ceil(lines.div_ceil(PIECE / LINE))
        } else {
            0
        };
        Ahead {
            from,
            next,
            share: (next.len() << SHARE).div_ceil(from.len()),
            end,
            far,
            near: followed < usize::MAX && piece == 0,
            piece,
            sides,
            onward: onward.then(|| Onward::new(LINE as isize, 0)),
        }
    }

    /// Asks for as many lines as there are of these rows, which are read at `offset` now.
    #[inline(always)]
    pub(crate) fn ask(&self, rows: Range<usize>, offset: usize) {
        if self.near {
            self.each(rows, offset, near);
        } else {
            self.each(rows, offset, prefetch);
        }
    }

    /// The lines of the next block, which has `bytes` of each row from `start` on, so many rows abreast: of the next strip's rows if this
    /// one's end before. A line that it shares with the block before was asked for with that one.
    #[inline(always)]
    pub(crate) fn block(
        &self,
        start: usize,
        bytes: usize,
        abreast: usize,
    ) -> Asked<impl Fn(usize, usize) -> *const u8> {
        let (rows, start) = match start < self.end {
            true => (self.from, start),
            false => (self.next, 0),
        };
        let lines = bytes.min(self.end - start).div_ceil(LINE);
        let cut = rows
            .iter()
            .take(2)
            .any(|&row| !(row as usize).is_multiple_of(LINE));
        let (lines, start) = match start {
            0 => (lines + usize::from(cut), 0),
            _ => (lines, start + LINE - 1),
        };
        let last = self.end - 1;
        Asked::new(rows.len(), lines, abreast, move |row, line| {
            rows[row].wrapping_add((start + line * LINE).min(last))
        })
    }

    #[inline(always)]
    fn each(&self, rows: Range<usize>, offset: usize, mut line: impl FnMut(*const u8)) {
        let &Ahead {
            from,
            next,
            end,
            far,
            piece,
            sides,
            ..
        } = self;
        if piece == 0 {
            let (of, at) = if offset + far < end {
                (from, offset + far)
            } else if self.share == 1 << SHARE {
                (next, offset + far - end)
            } else {
                // Apart, as for strips of one length how many rows these are is known when this is compiled.
                let part = |row| (row * self.share) >> SHARE;
                for row in &next[part(rows.start)..part(rows.end)] {
                    line(row.wrapping_add(offset + far - end));
                }
                return;
            };
            for row in &of[rows] {
                line(row.wrapping_add(at));
            }
            return;
        }
        // All lines of a strip by number, piece after piece, in each row after row.
        let (count, lines) = (from.len(), end.div_ceil(LINE));
        if let Some(onward) = self.onward {
            let first = offset / LINE * count + rows.start;
            let last = (first + rows.len()).min((count * end).div_ceil(LINE));
            for number in first..last {
                line(onward.of(next[0].wrapping_add(number * LINE)));
            }
            return;
        }
        let number = (offset / LINE + piece) * count + rows.start;
        let (of, number) = match number.checked_sub(lines * count) {
            None => (from, number),
            Some(number) => (next, number),
        };
        let start = number / (count * piece) * piece;
        let number = number - start * count;
        let length = piece.min(lines - start);
        // A line of each side in turn.
        let sides = if count.is_multiple_of(sides) {
            sides
        } else {
            1
        };
        let apart = count / sides;
        let mut side = number % sides;
        let (mut row, mut place) = (number / sides / length, number / sides % length);
        for _ in rows {
            if row == apart {
                break;
            }
            if let Some(row) = of.get(side * apart + row) {
                line(row.wrapping_add((start + place) * LINE));
            }
            side += 1;
            if side == sides {
                (side, place) = (0, place + 1);
                if place == length {
                    (row, place) = (row + 1, 0);
                }
            }
        }
    }
}

/// Whether the first-level cache has no room for a line of each of these rows, as far as the first two tell.
fn crowd(rows: &[*const u8]) -> bool {
    let [first, second, ..] = rows else {
        return false;
    };
    let apart = (*second as usize).wrapping_sub(*first as usize);
    rows.len() > ROOM * slots(apart as isize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::ABREAST;

    /// The lines of rows that are asked for while a strip is walked in blocks of `high` rows, by strip, row and line.
    fn asked(
        (followed, sides): (usize, usize),
        rows: usize,
        end: usize,
        high: usize,
    ) -> Vec<(usize, usize, usize)> {
        // Rows of both strips are so far apart that a pointer tells its row.
        const APART: usize = 1 << 20;
        let of = |strip: usize| (0..rows).map(move |row| (strip * rows + row) * APART);
        let pointers = |strip| of(strip).map(|at| at as *const u8).collect::<Vec<_>>();
        let (from, next) = (pointers(0), pointers(1));
        let ahead = Ahead::following(followed, sides, &from, &next, end, false);
        let mut lines = Vec::new();
        for offset in (0..end).step_by(LINE) {
            for row in (0..rows).step_by(high) {
                ahead.each(row..row + high, offset, |line| {
                    let (row, at) = (line as usize / APART, line as usize % APART);
                    lines.push((row / rows, row % rows, at / LINE));
                });
            }
        }
        lines
    }

    #[test]
    fn every_line_after_the_first_ones_is_asked_for_once() {
        let sizes = [(32, 32, 2560), (32, 64, 2560), (32, 128, 300), (99, 96, 64)];
        for ((followed, rows, end), sides) in sizes.into_iter().flat_map(|s| [(s, SIDES), (s, 1)]) {
            let mut lines = asked((followed, sides), rows, end, 16);
            assert_eq!(
                lines.len(),
                rows * end.div_ceil(LINE),
                "{rows} rows of {end} bytes"
            );
            lines.sort();
            lines.dedup();
            assert_eq!(
                lines.len(),
                rows * end.div_ceil(LINE),
                "{rows} rows of {end} bytes"
            );
            // What lies before the first that are asked for was asked for by the strip before.
            let first = lines
                .iter()
                .filter(|line| line.0 == 1)
                .map(|line| line.2)
                .max();
            let least = lines
                .iter()
                .filter(|line| line.0 == 0)
                .map(|line| line.2)
                .min();
            assert_eq!(
                first.map(|line| line + 1),
                Some(least.unwrap_or(end.div_ceil(LINE)))
            );
        }
    }

    #[test]
    fn all_rows_of_a_strip_that_has_more_or_fewer_are_asked_for() {
        let strip = |start: usize, rows: usize| -> Vec<*const u8> {
            let rows = start..start + rows;
            rows.map(|row| (row * LINE) as *const u8).collect()
        };
        for (rows, after) in [(64, 192), (192, 64), (48, 112), (112, 48), (16, 256)] {
            let (from, next) = (strip(0, rows), strip(rows, after));
            let ahead = Ahead::following(usize::MAX, SIDES, &from, &next, LINE, false);
            let mut lines = Vec::new();
            for row in (0..rows).step_by(16) {
                ahead.each(row..row + 16, 0, |line| lines.push(line));
            }
            assert_eq!(lines, next, "{after} rows after {rows}");
        }
    }

    #[test]
    fn blocks_are_asked_for_line_by_line_and_none_twice() {
        const APART: usize = 1 << 20;
        // Rows of a strip and of the next one, where each begins within a line, bytes of a row and of a block's part of it.
        let cases = [
            (96, 96, 0, 704, 256),
            (48, 32, 0, 640, 640),
            (32, 80, 60, 700, 512),
            (32, 16, 4, 700, 256),
        ];
        let cases = cases
            .into_iter()
            .flat_map(|case| [(1, case), (ABREAST, case)]);
        for (abreast, (rows, after, shift, end, bytes)) in cases {
            let strip = |start: usize, rows: usize| -> Vec<*const u8> {
                let rows = start..start + rows;
                rows.map(|row| (row * APART + shift) as *const u8).collect()
            };
            let (from, next) = (strip(1, rows), strip(1 + rows, after));
            let ahead = Ahead::following(usize::MAX, SIDES, &from, &next, end, false);
            // The first block of this strip was asked for by the one before it.
            let mut lines = Vec::new();
            for offset in (0..end).step_by(bytes) {
                let asked = ahead.block(offset + bytes, bytes, abreast);
                asked.each_until(asked.share(1), |line| lines.push(line as usize / LINE));
            }
            let (of_next, of_this): (Vec<_>, Vec<_>) = lines
                .iter()
                .partition(|&&line| line >= next[0] as usize / LINE);
            let whole = |rows: &[*const u8], start: usize| -> Vec<usize> {
                let of = |row: &*const u8| {
                    let (first, last) = (*row as usize + start, *row as usize + end - 1);
                    first / LINE..=last / LINE
                };
                rows.iter().flat_map(of).collect()
            };
            let unique = |mut lines: Vec<usize>| {
                lines.sort();
                lines.dedup();
                lines
            };
            let first_of_next: Vec<_> = next
                .iter()
                .flat_map(|row| {
                    let first = *row as usize;
                    first / LINE..=(first + bytes.min(end) - 1) / LINE
                })
                .collect();
            assert_eq!(unique(of_next), unique(first_of_next));
            // What cuts a line has asked for it with the first block.
            let rest = whole(&from, bytes.min(end) + (LINE - shift) % LINE);
            let rest = if bytes < end {
                unique(rest)
            } else {
                Vec::new()
            };
            assert_eq!(unique(of_this), rest, "{rows} rows of {end} bytes");
        }
    }

    #[test]
    fn rows_that_are_one_run_are_asked_for_a_strip_ahead() {
        for (rows, end) in [(64, 32), (64, 96), (128, 400), (48, 4)] {
            let bytes = rows * end;
            let start = 1 << 20;
            let run = |strip: usize| {
                let row = move |row: usize| start + strip * bytes + row * end;
                (0..rows)
                    .map(move |i| row(i) as *const u8)
                    .collect::<Vec<_>>()
            };
            let (from, next) = (run(0), run(1));
            let ahead = Ahead::following(32, SIDES, &from, &next, end, true);
            let mut lines = Vec::new();
            for offset in (0..end).step_by(LINE) {
                for row in (0..rows).step_by(16) {
                    ahead.each(row..row + 16, offset, |line| lines.push(line));
                }
            }
            let onward = Onward::new(LINE as isize, 0);
            let places = (0..bytes).step_by(LINE).map(|at| next[0].wrapping_add(at));
            let expected: Vec<_> = places.map(|place| onward.of(place)).collect();
            assert_eq!(lines, expected, "{rows} rows of {end} bytes");
        }
    }

    #[test]
    fn pieces_of_too_many_rows_are_asked_for_four_rows_at_a_time() {
        let lines = asked((32, SIDES), 64, 4096, 16);
        // A piece is 1 KiB; the second one of every sixteenth row comes first, then those of the rows after these.
        let side_by_side = |line| (0..64).step_by(16).map(move |row| (0, row, line));
        let expected = (16..32).flat_map(side_by_side).chain([(0, 1, 16)]);
        assert_eq!(lines[..65], expected.collect::<Vec<_>>());
    }

    #[test]
    fn pieces_of_too_many_rows_are_asked_for_one_row_after_the_other() {
        let lines = asked((16, 1), 20, 4096, 4);
        let expected = (0..20).flat_map(|row| (16..32).map(move |line| (0, row, line)));
        assert_eq!(lines[..320], expected.collect::<Vec<_>>());
    }

    #[test]
    fn rows_that_crowd_the_nearest_cache_are_asked_for_in_the_next_one() {
        // Rows, bytes from one to the next, and whether the first-level cache has no room for a line of each.
        let cases = [
            (16, 4096, true),
            (16, 3 << 16, true),
            (4, 4096, false),
            (16, 2048, true),
            (16, 1024, false),
            (32, 1024, true),
            (16, 4160, false),
            (64, 4160, false),
            (1, 4096, false),
        ];
        for (rows, apart, crowded) in cases {
            let from: Vec<_> = (1..=rows).map(|row| (row * apart) as *const u8).collect();
            assert_eq!(crowd(&from), crowded, "{rows} rows {apart} bytes apart");
            let ahead = Ahead::new(&from, &from, 1 << 20, false, false);
            let follows = walked() < usize::MAX;
            assert_eq!(
                ahead.near,
                follows && !crowded,
                "{rows} rows {apart} bytes apart"
            );
            assert!(!(follows && crowded) || ahead.far == CROWDED);
        }
        // Upwards as well as downwards, and never farther than rows are long.
        let back: Vec<_> = (1..=16).rev().map(|row| (row << 12) as *const u8).collect();
        assert!(crowd(&back));
        assert!(Ahead::new(&back, &back, 100, false, false).far <= 100);
    }

    #[test]
    fn staged_strips_are_asked_for_farther_ahead_on_a_zen_4_but_within_rows() {
        let places = [std::ptr::null(); 512];
        for rows in [16, 112, 128, 512] {
            for end in [64, 200, 300, 4096] {
                let (from, next) = (&places[..rows], &places[..rows]);
                let far = Ahead::new(from, next, end, false, false).far;
                let staged = Ahead::staged(from, next, end, false).far;
                assert!((far..=end).contains(&staged), "{rows} rows of {end} bytes");
                let farther = is_zen() && !is_zen5() && (rows, end) == (128, 4096);
                assert!(!farther || (far, staged) == (256, 384), "{far}, {staged}");
            }
        }
    }
}
