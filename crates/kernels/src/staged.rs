//! Planes whose columns do not start on cache lines, written by whole lines all the same.
//!
//! Blocks are transposed into a stage in the caches and streamed from there; see [`Packed`](crate::packed::Packed) for
//! columns that lie side by side. Others have each its own shift against the lines. Of each those lines are streamed that end
//! in the strip that is staged. The last rows of the strip, a line of each column, are kept for the next one, which has the
//! rest of that line. Before the first row of a column that another one ends at lie that one's last rows, so that a line that
//! both have a part in is written once, too.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::copy_nonoverlapping;

use crate::ahead::{AHEAD, Ahead};
use crate::axis::Pointers;
use crate::block::tile;
use crate::crowded::{copied, copies_streamed};
use crate::order::Order;
use crate::pieces::{MaybeRoom, places};
use crate::places::{Listed, Steps};
use crate::plane::{At, Plane};
use crate::simd::{LINE, Vector, Work, prefetch};
use crate::strips::{even, strip};
use crate::tuning::{followed, is_zen, is_zen3, is_zen5};

/// Bytes of the stage: a strip, a line and a skew, for as many columns as a line has elements.
const STAGE: usize = 40 << 10;

/// The most rows of a strip and of a line.
const ROWS: usize = 9 * LINE;

#[repr(align(64))]
struct Staging(MaybeUninit<[u8; STAGE]>);

/// The least lines of a strip on a Zen 3, also where rows lie so far apart that fewer are walked otherwise: of every column a strip keeps
/// a line for the next one, which puts it before its own. ms by two lines (pairs by one), four and eight: f32[200,301,1603] reversed 104, 86 and
/// 60, u16[301,101,1601] 34, 17 and 14, f32[75,301,20,61] 32, 23 and 16; by two threads 72, 59 and 37, 29, 16 and 11, 17, 16 and 11; where
/// columns lie close together, f32[481,70001], as long.
const ZEN3_LINES: usize = 8;

/// The last lines of the columns of a panel, for the next strip.
#[repr(align(64))]
struct Kept(MaybeUninit<[[u8; LINE]; MOST]>);

/// The most columns that a strip goes along: then what is kept of them is still in the second-level cache when the next strip
/// comes to it.
const PANEL: usize = 2048;
/// More than any panel has.
const MOST: usize = PANEL + 16;
/// And those of pairs and quads on a Zen 4. Each column lies on pages of its own, which all strips write to: where a host gives
/// pages of 4 KiB, whatever a program asks for, those of 4096 columns are looked up anew by every strip. So
/// f32[4001,5003]{0,1:PAD(4096,5120)} to rows took 1.07 to 1.17 times as long, bf16[9001,4003] to columns 1.10 to 1.12; bytes and
/// longer elements lose by fewer columns.
const ZEN4_PANEL: usize = 1024;

/// How many columns of elements of `width` bytes a strip goes along of those that are left; all if too few would be left then.
fn panel(width: usize, left: usize) -> usize {
    let (most, least) = match width {
        2 | 4 if is_zen() && !is_zen5() => (ZEN4_PANEL, ZEN4_PANEL),
        _ => (PANEL, 16 / width),
    };
    if left < most + least { left } else { most }
}

/// Streams whole lines where every column has its own alignment.
///
/// # Safety (of `work`)
///
/// As `run`; both axes are at least as long as a vector.
pub(crate) struct Staged<'a, V, O, R, const W: usize> {
    pub(crate) plane: &'a Plane,
    pub(crate) order: O,
    pub(crate) at: &'a At,
    pub(crate) room: R,
    pub(crate) vector: PhantomData<V>,
}

impl<V: Vector, O: Order, R: MaybeRoom, const W: usize> Work for Staged<'_, V, O, R, W> {
    #[inline(always)]
    unsafe fn work(mut self) {
        let all = self.plane.columns.len;
        let mut first = 0;
        while first < all {
            let columns = panel(W, all - first);
            // SAFETY: the caller's promise; the columns are of the plane, and as many as 16 bytes have or more.
            unsafe { self.panel(first, columns) };
            first += columns;
        }
    }
}

impl<V: Vector, O: Order, R: MaybeRoom, const W: usize> Staged<'_, V, O, R, W> {
    /// Whether every column but the first begins where another one ends, and the last rows of that one can be read as an
    /// element before their places in this one, also where the first column would be this one.
    fn wraps(&self) -> bool {
        let Plane { rows, columns, .. } = self.plane;
        let line = LINE / W;
        let mut last = [0; LINE];
        rows.read((rows.len - line) as isize, &mut last[..line]);
        columns.single_stride() == Some((rows.len * W) as isize)
            && last[..line].iter().all(|&offset| offset >= W as isize)
    }

    /// # Safety
    ///
    /// As `work`; columns `first` and on, `columns` of them, are of the plane and at least `16 / W`.
    #[inline(always)]
    unsafe fn panel(&mut self, first: usize, columns: usize) {
        let wraps = self.wraps();
        let &mut Staged {
            plane, order, at, ..
        } = self;
        let source = at.source.wrapping_add(first * W);
        let destination = at.destination;
        let upcoming = if first + columns < plane.columns.len {
            source.wrapping_add(columns * W)
        } else {
            at.upcoming
        };
        let n = V::BYTES / W;
        let line = LINE / W;
        let rows = plane.rows.len;
        let onward = plane.is_run(
            columns * W,
            &At {
                source,
                upcoming,
                ..*at
            },
        );
        let more = match W {
            // A strip of few lines keeps nearly as many as it writes: u8[8009,9001] to columns takes a Zen 4 7.7 ms so, 8.5 by half as
            // many. A Zen 5, when it read the rows again that are kept now, took 9.2 ms for f64[2193,6305] and 6.5 by thrice as many,
            // for c128[56229,101] 7.1 and 5.2; by two threads 4.4 and 5.0, 3.7 and 4.0.
            1 if followed() == usize::MAX => 2,
            8 | 16 if is_zen5() && plane.large && !plane.pieced => 3,
            _ => 1,
        };
        let least = if is_zen3() { ZEN3_LINES * line } else { line };
        // Columns begin up to a line before row 0, so a strip past the last row ends the last lines.
        let strip = even(rows + line, (more * strip::<W>(plane)).max(least), line);
        // Lines of a strip, as many as the stage holds with one more and the pitch an odd number of lines.
        let lines = strip / line;
        let pitch = (lines + 1 + lines % 2) * LINE;
        assert!(line * pitch <= STAGE && line + strip <= ROWS);
        let mut stage = Staging(MaybeUninit::uninit());
        let stage = stage.0.as_mut_ptr().cast::<u8>();
        let mut kept = Kept(MaybeUninit::uninit());
        let kept = kept.0.as_mut_ptr().cast::<u8>();
        assert!(columns <= MOST);
        let (mut from, mut next) = (Pointers::<ROWS>::new(), Pointers::<ROWS>::new());
        let mut to = Pointers::<LINE>::new();
        // Position i of a stage column is row p0 - line + i. Before the plane's first row are the last ones of the column
        // before, or its first one, and past its last row that one again.
        let load = |p0: usize, base: *const u8, out: &mut Pointers<ROWS>| {
            out.take_from(&plane.rows, p0 as isize - line as isize, base, line + strip);
            if wraps && p0 == 0 {
                let mut last = Pointers::<LINE>::new();
                let mut cursor = plane.rows.cursor(rows - line);
                last.take(&mut cursor, base.wrapping_sub(W), line);
                out.put(&last);
            }
        };
        load(0, source, &mut next);
        let bytes = columns * W;
        let pieces = self.room.pieces::<ROWS>(line + strip, LINE);
        if let Some(pieces) = &pieces {
            // SAFETY: all bytes of these rows are readable, those of a column before too, as `wraps` has seen. A line of each is, as
            // `pieced` says; of a last panel that is narrower, there are the columns before it. The CPU has `V`.
            unsafe { pieces.begin::<V>(&next[if wraps { 0 } else { line }..], bytes) };
        }
        let copies = copies_streamed(plane, W);
        // Rows of bytes are many: what comes next is asked for while lines are written, not while others are read. So a Zen 4 takes
        // 13.2 ms for u8[2117,60513] to columns, and 14.3 otherwise; of pairs and longer ones as long or longer.
        let late = W == 1 && followed() == usize::MAX && !is_zen5();
        let mut p0 = 0;
        while p0 < rows + line {
            from.clone_from(&next);
            if p0 + strip < rows + line {
                load((p0 + strip).min(rows - 1 + line), source, &mut next);
            } else {
                load(0, upcoming, &mut next);
            }
            // The rows before the strip are kept, but for those before the first one; and rows that no line needs are not transposed.
            let low = if p0 == 0 && wraps { 0 } else { line };
            let high = (line + strip).min(line + rows - p0.min(rows));
            let high = high.max(line + 1).next_multiple_of(n);
            let (kept_before, keeps) = (p0 > 0, p0 + strip < rows + line);
            let ahead = Ahead::staged(&from[line..], &next[line..], bytes, onward);
            let more = if keeps { &next[line..] } else { &[] };
            let mut walk = plane.columns.cursor(first);
            let mut q = 0;
            while q < columns {
                let pieces = pieces.as_ref();
                let feed = pieces.map(|p| p.feed::<V>(&from[low..], more, q * W, bytes));
                let (places, start, end) = places(&feed, &from[low..], bytes);
                let stop = end / W;
                while q < stop {
                    let mut breadth = line.min(stop - q);
                    // Columns that this strip has written, and kept a later line of.
                    let mut again = 0;
                    if breadth < 16 / W {
                        again = 16 / W - breadth;
                        (q, breadth) = (q - again, 16 / W);
                        walk = plane.columns.cursor(first + q);
                    }
                    if kept_before {
                        for c in again..breadth {
                            // SAFETY: `kept` has a line for each column of the panel, which the strip before has written, as it did not end
                            // the plane, and the stage one more for each of a block than the strip has.
                            unsafe {
                                let before = kept.add((q + c) * LINE);
                                copy_nonoverlapping(before, stage.add(c * pitch), LINE);
                            }
                        }
                    }
                    to.take(&mut walk, destination, breadth);
                    if wraps && p0 == 0 && feed.is_none() {
                        for row in &from[..line] {
                            prefetch(row.wrapping_add(q * W + AHEAD));
                        }
                    }
                    let rows_of = Listed {
                        places,
                        offset: q * W - start,
                    };
                    // SAFETY: `places` are the pointers from `low` on to line + strip rows of the plane, or to their pieces, and `high` is at
                    // most that. Where columns wrap, the first ones are an element before their rows: of the first column that is no
                    // element of the plane, but behind its lowest one, as `wraps` has seen, and so readable. The stage has as many
                    // columns as a line has elements, of pitch bytes each; a line of bytes is as broad as a vector or more, and no broader than
                    // what is copied.
                    unsafe {
                        let to = Steps {
                            base: stage.add(low * W),
                            step: pitch as isize,
                        };
                        let ask = |r: Range<usize>| {
                            // Rows before the strip were read with the strip before it.
                            if feed.is_none() && !late && low + r.start >= line {
                                ahead.ask(low + r.start - line..low + r.end - line, q * W);
                            }
                        };
                        if const { W == 1 } && copies && breadth == LINE {
                            copied::<V, W>(rows_of, high - low, to, breadth, order, ask);
                        } else {
                            tile::<V, W, false>(rows_of, high - low, to, breadth, order, ask);
                        }
                    }
                    let share = (line + strip).div_ceil(breadth);
                    for (c, &to) in to.iter().enumerate().skip(again) {
                        if let Some(feed) = &feed {
                            // SAFETY: as of those that `begin` copied: rows of this strip or of the next one.
                            unsafe { feed.copy(share) };
                        } else if late {
                            ahead.ask((c * share).min(strip)..((c + 1) * share).min(strip), q * W);
                        }
                        let shift = to as usize % LINE;
                        // Whether no column ends where this one begins, and none begins where it ends.
                        let column = first + q + c;
                        let opens = !wraps || column == 0;
                        let closes = !wraps || column + 1 == plane.columns.len;
                        // Line j of the strip holds bytes begin + j * LINE - shift and on of the column. These are whole, or made so by
                        // columns beside.
                        let (begin, end) = (p0 * W, rows * W);
                        let cut = if opens {
                            shift.saturating_sub(begin)
                        } else {
                            0
                        };
                        let begins = cut.div_ceil(LINE).min(lines);
                        let after = (end + shift).saturating_sub(begin) / LINE;
                        let whole = begins..after.clamp(begins, lines);
                        let staged = stage.wrapping_add(c * pitch);
                        // SAFETY: lines `..lines`, shifted back by less than one, are in a stage's column, which has one more. Those from
                        // `whole.start` on begin with a byte of this column, staged now or kept, or where it does not open with the last ones
                        // of the column before, which lies there and was staged with it; those before `whole.end` end with one of this
                        // column. So all their bytes are writable, and they are aligned by the choice of `shift`. The CPU has `V`.
                        unsafe {
                            let staged = staged.add(LINE - shift);
                            let to = to.wrapping_offset(begin as isize - shift as isize);
                            for at in (whole.start * LINE..whole.end * LINE).step_by(V::BYTES) {
                                V::load(staged.add(at)).stream(to.wrapping_add(at).cast_mut());
                            }
                        }
                        for j in (0..whole.start).chain(whole.end..lines) {
                            let at = begin + j * LINE;
                            let from = at.max(shift) - shift;
                            let stop = (at + LINE).max(shift).min(end + shift) - shift;
                            if from < stop && (at < shift || closes) {
                                // SAFETY: bytes `from..stop` are of the column, so writable, and of line j, which the stage has.
                                unsafe {
                                    copy_nonoverlapping(
                                        staged.add(LINE + from - begin),
                                        to.add(from).cast_mut(),
                                        stop - from,
                                    );
                                }
                            }
                        }
                        if keeps {
                            // SAFETY: the stage has a line more than the strip for each column of a block, and `kept` one for each of the
                            // panel.
                            unsafe {
                                let last = staged.add(lines * LINE);
                                copy_nonoverlapping(last, kept.add((q + c) * LINE), LINE);
                            }
                        }
                    }
                    q += breadth;
                }
                if let Some(feed) = feed {
                    // SAFETY: as of those that `begin` copied.
                    unsafe { feed.finish() };
                }
            }
            p0 += strip;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;
    use crate::plane::tests::moves_as_told;

    /// No panel is narrower than 16 bytes of a row, or much wider than there is room for.
    #[test]
    fn panels_are_neither_narrow_nor_wide() {
        let zen4 = is_zen() && !is_zen5();
        for width in [1, 2, 4, 8, 16] {
            let most = match width {
                2 | 4 if zen4 => 2 * ZEN4_PANEL - 1,
                _ => PANEL + 16 / width - 1,
            };
            for all in (16 / width..20_000).step_by(7) {
                let mut left = all;
                while left > 0 {
                    let columns = panel(width, left);
                    assert!((16 / width..=most).contains(&columns), "{width}: {left}");
                    left -= columns;
                }
            }
            assert_eq!(panel(width, most), most);
            assert!(panel(width, most + 1) <= most);
        }
    }

    /// Columns of so many rows, strips and parts of them, that begin anywhere in a line, apart and side by side.
    #[test]
    fn columns_are_staged_wherever_they_begin() {
        for width in [1, 2, 4, 8, 16] {
            let line = LINE / width;
            for rows in [4 * line, 5 * line + 1, 16 * line - 1, 21 * line + line / 2] {
                // The last columns of a strip are fewer than 16 bytes have, and more than a line's.
                for columns in [line + 1, 3 * line - 1] {
                    for (shift, gap) in [(0, 1), (1, 0), (7, 3 * width), (63, LINE + 5)] {
                        let rows = Axis::new(rows, ((columns + 2) * width + 1) as isize);
                        let pitch = (rows.len * width + gap) as isize;
                        for pieced in [false, columns * width >= LINE] {
                            let columns = Axis::new(columns, pitch);
                            let mut plane = Plane::streaming(rows, columns, pieced);
                            plane.most = 0;
                            moves_as_told(&plane, width, shift);
                        }
                    }
                }
            }
        }
    }

    /// Rows that push each other out of the first-level cache, of which a Zen 3 copies those of bytes before; a last group of columns is
    /// narrower than a line.
    #[test]
    fn rows_a_page_apart_are_staged() {
        for (width, apart) in [(1, 2048), (1, 4100), (2, 4096)] {
            for rows in [64 / width * 5 + 1, 700] {
                for columns in [64, 147] {
                    let pitch = (rows * width + 3) as isize;
                    let rows = Axis::new(rows, apart);
                    let mut plane = Plane::streaming(rows, Axis::new(columns, pitch), false);
                    plane.most = 0;
                    assert_eq!(copies_streamed(&plane, width), is_zen3() && width == 1);
                    moves_as_told(&plane, width, 5);
                }
            }
        }
    }

    /// More columns than a panel has: what is kept of each is its own.
    #[test]
    fn panels_of_columns_are_staged_one_after_another() {
        for (width, columns) in [
            (1, 2 * PANEL + 5),
            (2, 3 * PANEL),
            (4, 2 * PANEL + 1),
            (8, PANEL + 9),
        ] {
            let line = LINE / width;
            let rows = Axis::new(9 * line + 1, (columns * width) as isize);
            for gap in [0, width + 1] {
                let columns = Axis::new(columns, (rows.len * width + gap) as isize);
                let mut plane = Plane::streaming(rows, columns, false);
                plane.most = 0;
                moves_as_told(&plane, width, 3 * width);
            }
        }
    }
}
