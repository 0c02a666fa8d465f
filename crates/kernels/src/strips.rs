//! Planes whose columns are written straight from registers, strip by strip.

use std::marker::PhantomData;
use std::ops::Range;

use crate::ahead::Ahead;
use crate::axis::Pointers;
use crate::block::tile;
use crate::crowded::{ROOM, copies_streamed, slots};
use crate::order::Order;
use crate::pieces::{MaybeRoom, bring, places};
use crate::places::Listed;
use crate::plane::{At, PAGE, Plane};
use crate::simd::{LINE, Vector, Work};
use crate::tuning::{FAR, followed, followed_far, is_zen3, is_zen5, walked};

mod direct;
mod stage;

use direct::{COLUMNS, direct};
use stage::{Stage, staged};

/// Rows of a strip, at most,
pub(crate) const STRIP: usize = 128;
/// or of a strip of bytes that is walked, so that what it writes to a column is not too short.
const TALL: usize = 2 * STRIP;
/// The most of all: of bytes that are [staged](stage).
const MOST: usize = 4 * STRIP;
/// Lines of a column that a strip of rows writes at most if these are followed one by one: as many are written as fast as
/// more, and fewer rows leave more room in the caches.
const LINES: usize = 4;
/// And at least, where a CPU follows few rows: a virtual machine with an Emerald Rapids writes single lines 12 KB apart in 5.8 ns each,
/// two and more together in 3.0. Where as many rows as it takes are too many to walk, a strip is as tall as may be. On that machine
/// bf16[6024,9982] to columns takes one thread 25 ms by 64 rows, and 43 by 32, f32[125,400009] 36 and 45, f32[5000,8001] 26 and 34.
/// Where columns lie [`FAR`] apart, more than it takes loses: f32[567,752,6,7] to {0,1,3,2} takes 18 ms by 32 rows, 23 by 64.
const LEAST: usize = 2;
/// Lines of a column that a strip of elements of 8 and 16 bytes writes on a Zen 5: f64[5000,5003] to columns took 8.0 ms by 2
/// of them, 8.7 by 4 and 10.3 by 16, c128[300,60001] 11.8, 20.6 and 18.0. One is too few: 9.3 and 13.8.
const ZEN5_LINES: usize = 2;
/// And where the plane is not large: f64[1024,1024] took 0.23 ms by 8 of them, 0.53 by 2, 0.28 by 4 and 0.22 by 16,
/// f64[512,4096] 0.56, 0.97, 0.75 and 0.63, c128[512,2048] 0.54, 0.96, 0.66 and 0.67.
const ZEN5_NEAR_LINES: usize = 8;
/// Rows a multiple of so many bytes apart share the slots of the second-level cache, so that nothing is kept there for them: on
/// a Zen 5, f32[512,131072] took 28 ms by 32 rows and 24 by 128. A Zen 3 has half as large a one, and waits for the last one instead:
/// f32[2064,32768] to columns took 84 ms by 128 rows and 36 by 32, c128[4100,4096] 47 and 33.
const SPAN: usize = 64 << 10;
/// The least bytes of rows of which it matters how many a CPU's prefetcher follows where they lie far apart.
const FOLLOWED: usize = 1 << 10;

/// A block of a strip that is moved at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    /// The most rows of the strip.
    rows: usize,
    /// Lines of each row.
    lines: usize,
    /// Of how many rows of the next block a line each is asked for in turn; a power of two.
    abreast: usize,
    /// Whether a line of each row of this block is asked for instead, some way ahead.
    in_turn: bool,
}

/// How many rows a strip has, a line's or a few times as many: so few that the CPU's own prefetcher follows them all, or
/// where it can't, as many as it takes to write a good piece of every column.
pub(crate) fn strip<const W: usize>(plane: &Plane) -> usize {
    let (line, most) = (LINE / W, if W == 1 { TALL } else { STRIP });
    let most = match W {
        8 if plane.pieced => STRIP / 2,
        8 | 16 if is_zen5() && plane.large => ZEN5_LINES * line,
        8 | 16 if is_zen5() => ZEN5_NEAR_LINES * line,
        _ => most,
    };
    // Rows that share a page are followed as one, as long as their lines don't push each other out of the first-level
    // cache.
    let stride = plane.rows.first_stride();
    let shared = PAGE / stride.unsigned_abs().clamp(1, PAGE);
    let far = match stride.unsigned_abs() {
        apart if apart.is_multiple_of(SPAN) => is_zen3(),
        apart => apart >= FAR,
    };
    let far = far && plane.columns.len * W >= FOLLOWED && !plane.pieced;
    let free = ROOM * slots(stride);
    let apart = plane.columns.first_stride().unsigned_abs() >= FAR;
    let (followed, least, tall) = match followed() {
        usize::MAX if far => (followed_far(), line, STRIP),
        usize::MAX => (usize::MAX, line, STRIP),
        few if free < few => (few, line, STRIP),
        few if apart => (few.max(LEAST * line).min(walked()), LEAST * line, most),
        _ => (walked(), LEAST * line, most),
    };
    let room = free.max(followed);
    let rows = match followed {
        usize::MAX => usize::MAX,
        followed => followed.min(LINES * line),
    };
    match rows.saturating_mul(shared).min(room) {
        few if few < least => tall,
        rows => (rows / line * line).min(most),
    }
}

/// How many rows strips have that are about as long as one another: few rows in the last one would not be enough to ask
/// for all that comes after it. At most `most`, which is whole lines of so many rows.
pub(crate) fn even(rows: usize, most: usize, line: usize) -> usize {
    rows.div_ceil(rows.div_ceil(most)).next_multiple_of(line)
}

/// How many elements lie before the first that begins on a line, at least those of 16 bytes: none where the first one does, or where
/// lines begin within elements. f32[7264,7264] to columns, 16 bytes behind a line, took a Zen 3 24.8 ms by blocks that all cut lines, and 18.5
/// by these.
fn before_lines<const W: usize>(source: *const u8) -> usize {
    let before = source.align_offset(LINE);
    match before % W {
        0 if before >= 16 => before / W,
        0 if before > 0 => (before + LINE) / W,
        _ => 0,
    }
}

/// Moves the rows `first..end` straight from registers to the destination.
///
/// # Safety (of `work`)
///
/// As `run`. `end - first` is at least `V::BYTES / W`, and there are at least `16 / W` columns; if `STREAM`, the rows are
/// whole lines that start on lines of every column, or one `V` that starts at a multiple of its bytes.
pub(crate) struct Strips<'a, V, O, R, const W: usize, const STREAM: bool> {
    plane: &'a Plane,
    order: O,
    at: &'a At,
    first: usize,
    end: usize,
    room: R,
    vector: PhantomData<V>,
}

impl<'a, V, O, R, const W: usize, const STREAM: bool> Strips<'a, V, O, R, W, STREAM> {
    pub(crate) fn new(plane: &'a Plane, order: O, at: &'a At, rows: Range<usize>, room: R) -> Self {
        Strips {
            plane,
            order,
            at,
            first: rows.start,
            end: rows.end,
            room,
            vector: PhantomData,
        }
    }
}

impl<V: Vector, O, R: MaybeRoom, const W: usize, const STREAM: bool>
    Strips<'_, V, O, R, W, STREAM>
{
    /// Whether its blocks may have more than a line of each row without a stage.
    const DIRECT: bool = STREAM && !R::IS_ROOM;
}

impl<V: Vector, O: Order, R: MaybeRoom, const W: usize, const STREAM: bool> Work
    for Strips<'_, V, O, R, W, STREAM>
{
    #[inline(always)]
    unsafe fn work(self) {
        let Strips {
            plane,
            order,
            at,
            first,
            end,
            mut room,
            ..
        } = self;
        let &At {
            source,
            destination,
            upcoming,
            ..
        } = at;
        let (n, line) = (V::BYTES / W, LINE / W);
        let columns = plane.columns.len;
        let onward = plane.is_run(columns * W, at);
        let staged = staged::<V, W, STREAM>(plane);
        let mut stage = Stage::new(copies_streamed(plane, W));
        let direct = match staged {
            None if Self::DIRECT => direct::<W>(plane),
            _ => None,
        };
        // Columns before those that begin on lines of the source, where all rows do: a block of their own.
        let shift = match direct {
            Some(_) if plane.rows.is_multiple_of(LINE as isize) => before_lines::<W>(source),
            _ => 0,
        };
        let block = staged.or(direct);
        let group = line * block.map_or(1, |block| block.lines);
        let abreast = block.map_or(1, |block| block.abreast);
        // Rows of a run need not be followed.
        let least = if onward { STRIP } else { 0 };
        let most = block.map_or_else(|| strip::<W>(plane).max(least), |block| block.rows);
        let strip = even(end - first, most, line);
        let (mut from, mut next) = (Pointers::<MOST>::new(), Pointers::<MOST>::new());
        let mut to = Pointers::<COLUMNS>::new();
        let mut down = plane.rows.cursor(first);
        next.take(&mut down, source, strip.min(end - first));
        let (bytes, large) = (columns * W, STREAM && plane.large);
        let pieces = room.pieces::<MOST>(strip, LINE);
        if let Some(pieces) = &pieces {
            // SAFETY: all bytes of these rows are readable, and a line of each, as `pieced` says; the CPU has `V`.
            unsafe { pieces.begin::<V>(&next, bytes) };
        }
        let mut p = first;
        while p < end {
            let mut count = strip.min(end - p);
            if count < n {
                (p, count) = (end - n, n);
                from.take(&mut plane.rows.cursor(p), source, count);
            } else {
                from.clone_from(&next);
                if p + count < end {
                    next.take(&mut down, source, strip.min(end - p - count));
                } else if STREAM {
                    let mut down = plane.rows.cursor(first);
                    next.take(&mut down, upcoming, strip.min(end - first));
                }
            }
            let ahead = Ahead::new(&from[..count], &next, bytes, onward, large);
            let more = if p + count < end { &next[..] } else { &[] };
            let mut along = plane.columns.cursor(0);
            let mut q = 0;
            while q < columns {
                let pieces = pieces.as_ref();
                let feed = pieces.map(|p| p.feed::<V>(&from[..count], more, q * W, bytes));
                let (places, start, end) = places(&feed, &from, bytes);
                let stop = end / W;
                while q < stop {
                    let on_lines = q > 0 || shift == 0;
                    let mut breadth = if on_lines { group } else { shift }.min(stop - q);
                    if breadth < 16 / W {
                        (q, breadth) = (stop - 16 / W, 16 / W);
                        along = plane.columns.cursor(q);
                    }
                    to.take(&mut along, destination, breadth);
                    let rows = Listed {
                        places,
                        offset: q * W - start,
                    };
                    let to = Listed {
                        places: &to,
                        offset: p * W,
                    };
                    // SAFETY: rows p..p + count are in the strip, and lie where `places` says; columns q..q + breadth are on the axis
                    // and in the piece. What is copied are rows of the plane, all bytes of which are readable, and a line of each.
                    // There are whole lines of rows if there is a room, so no fewer than a vector has, and none were moved back.
                    // Parts of a block are columns of it, as many as 16 bytes have or more. Alignment by the caller's promise.
                    unsafe {
                        if const { STREAM && V::BYTES < LINE } && staged.is_some() {
                            // Two tiles, as one that could ask in either way took up to a tenth longer.
                            if block.is_some_and(|block| block.in_turn) {
                                stage.tile::<V, W>(
                                    rows,
                                    count,
                                    to,
                                    breadth,
                                    order,
                                    #[inline(always)]
                                    |r| bring(&feed, &ahead, r, q * W),
                                );
                            } else {
                                let asked = ahead.block((q + breadth) * W, group * W, abreast);
                                let share = asked.share(count);
                                stage.tile::<V, W>(
                                    rows,
                                    count,
                                    to,
                                    breadth,
                                    order,
                                    #[inline(always)]
                                    |r| asked.until(share * r.end),
                                );
                            }
                        } else if Self::DIRECT && direct.is_some() {
                            let parts = breadth.div_ceil(line);
                            let asked = ahead.block((q + breadth) * W, group * W, abreast);
                            // With those before lines, the first block on lines was asked for.
                            let share = if on_lines || q + breadth == columns {
                                asked.share(parts * count)
                            } else {
                                0
                            };
                            for part in 0..parts {
                                // The last one is moved back to have enough, if need be.
                                let at = (part * line).min(breadth - 16 / W);
                                let (mut rows, mut to) = (rows, to);
                                rows.offset += at * W;
                                to.places = &to.places[at..];
                                tile::<V, W, STREAM>(
                                    rows,
                                    count,
                                    to,
                                    line.min(breadth - at),
                                    order,
                                    #[inline(always)]
                                    |r| asked.until(share * (part * count + r.end)),
                                );
                            }
                        } else {
                            tile::<V, W, STREAM>(
                                rows,
                                count,
                                to,
                                breadth,
                                order,
                                #[inline(always)]
                                |r| bring(&feed, &ahead, r, q * W),
                            );
                        }
                    }
                    q += breadth;
                }
                if let Some(feed) = feed {
                    // SAFETY: as before, of the rows that are copied.
                    unsafe { feed.finish() };
                }
            }
            p += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;
    use crate::plane::tests::moves_as_told;
    use crate::tuning::is_intel;

    /// Rows as far apart as blocks ask for, that lie on lines and that cut them; the last block of a row is shorter, and its last columns
    /// are fewer than a line of the source has.
    #[test]
    fn blocks_of_some_lines_of_each_row_are_moved_as_told() {
        for (width, rows, apart, columns) in [
            (1, 128, 6_208, 1_283),
            (1, 192, 6_145, 709),
            (2, 96, 16_384, 643),
            (4, 80, 3_072, 331),
            (4, 48, 3_076, 277),
            (8, 72, 3_072, 331),
        ] {
            let pitch = (rows * width + LINE) as isize;
            let plane = Plane::streaming(Axis::new(rows, apart), Axis::new(columns, pitch), false);
            let blocks = match width {
                1 => direct::<1>(&plane),
                2 => direct::<2>(&plane),
                4 => direct::<4>(&plane),
                _ => direct::<8>(&plane),
            };
            assert!(blocks.is_some() || !is_intel() || width == 8, "{width}");
            moves_as_told(&plane, width, 0);
        }
    }

    /// Rows and columns that push each other out of the first-level cache: two strips of each column, and a last group of columns that is
    /// narrower than a line.
    #[test]
    fn crowded_columns_of_crowded_rows_are_moved_as_told() {
        for (width, rows, apart) in [(1, 640, 4096), (1, 576, 2050), (2, 320, 4096)] {
            for columns in [64 / width, 211] {
                let axes = (Axis::new(rows, apart), Axis::new(columns, 4096));
                let plane = Plane::streaming(axes.0, axes.1, false);
                assert_eq!(copies_streamed(&plane, width), is_zen3() && width == 1);
                moves_as_told(&plane, width, 0);
            }
        }
    }

    #[test]
    fn strips_have_lines_enough_of_every_column_where_few_rows_are_followed() {
        // Bytes of a row, to the next one, and from a column to the next; and rows of strips of elements of 1, 2 and 4 bytes.
        let cases = [
            (20_020, 20_020, 4_004, [256, 64, 64]),
            (1_000, 20_020, 4_004, [256, 64, 64]),
            // These have few slots of the nearest cache,
            (8_192, 8_192, 4_004, [128, 32, 32]),
            // and these columns lie far apart.
            (20_020, 20_020, FAR as isize, [256, 64, 32]),
        ];
        for (row, apart, pitch, few) in cases {
            let plane = |width: usize| {
                let (rows, columns) = (Axis::new(1000, apart), Axis::new(row / width, pitch));
                Plane::streaming(rows, columns, false)
            };
            let strips = [
                strip::<1>(&plane(1)),
                strip::<2>(&plane(2)),
                strip::<4>(&plane(4)),
            ];
            let expected = match followed() {
                usize::MAX => [TALL, STRIP, STRIP],
                _ => few,
            };
            assert_eq!(strips, expected, "rows of {row} bytes, {apart} apart");
        }
    }
}
