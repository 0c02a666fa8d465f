//! Planes whose columns lie side by side and do not start on cache lines.
//!
//! As many as fit are transposed into a stage in the caches as they will lie, and their whole lines streamed from there.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::ahead::{AHEAD, Ahead};
use crate::asked::ABREAST;
use crate::axis::{Axis, Pointers};
use crate::block::{block, ragged};
use crate::order::Order;
use crate::pen::Pen;
use crate::pieces::{MaybeRoom, bring, places};
use crate::places::{Listed, Places};
use crate::plane::{At, PAGE, Plane};
use crate::simd::{LINE, Set, Vector, Work, own};
use crate::tuning::{Caches, followed, is_zen3, walked};

/// The most rows of a plane that is packed in the first-level cache,
pub(crate) const PACKED: usize = 256;
/// and of one that is packed in the second-level one.
pub(crate) const TALL: usize = 2048;

/// The most rows of a plane of elements of so many bytes that is packed on this CPU. More than the first-level cache has
/// room for are where the CPU's prefetcher follows them all, and the second-level cache has room for the stage, and in every
/// row for a line and those that are asked for. Where it follows few, strips of these are better from some lines of each
/// column on, as long as a strip keeps fewer rows for the next one than it has.
pub(crate) fn packed_rows(width: usize) -> usize {
    match followed() {
        usize::MAX => (Caches::of_this_cpu().second / (2 * AHEAD)).clamp(PACKED, TALL),
        followed if LINE / width < followed => LINES * LINE / width,
        _ => PACKED,
    }
}

/// The most lines of a column that is packed there. On an Emerald Rapids 17 matrices with columns of up to so many reached 0.66 of
/// memcpy's speed where those of more than five lines were written by strips and [no blocks](block_of) were asked for, and reach 0.77, by
/// two threads 1.00 and 1.18. ms on one thread, by strips and packed: f32[90,444444] to columns 21.3 and 14.5, f64[63,317460] 15.8 and
/// 14.5, c128[33,303030] 18.2 and 14.4, but f64[100,200000] 18.6 and 20.7, c128[61,163934] 17.4 and 19.6.
const LINES: usize = 9;

/// Bytes of columns that are staged at once, unless a line of the source is more.
const GROUP: usize = 8 << 10;

/// Bytes of a column from which on each is staged on lines of its own, an odd number of them.
const APART: usize = 1 << 10;

/// What is staged at once: at most a line of the source, of all rows, and two lines more for each column.
#[repr(align(4096))]
struct Group<const ROWS: usize>(MaybeUninit<(Lines<ROWS>, Lines<{ 2 * LINE }>)>);

type Lines<const N: usize> = [[u8; LINE]; N];

/// How many columns of so many bytes are staged: at least those of a line of the source.
fn group(column: usize, line: usize) -> usize {
    (GROUP / column / line * line).clamp(line, LINE)
}

/// How many columns are staged side by side, in a page.
fn whole_in_page(column: usize) -> usize {
    if column > APART { 1 } else { PAGE / column }
}

/// Where so many columns are staged: side by side, but not across pages, as a store that goes into two waits until what was
/// streamed before is written, 95 ns on a Zen 4. By two threads there f32[25,800001] to columns takes 3.5 ms so, 4.5 otherwise,
/// bf16[33,1000001] 3.1 and 4.7.
fn in_pages(column: usize, columns: usize) -> Axis {
    if column > APART {
        return Axis::new(columns, ((column.div_ceil(LINE) | 1) * LINE) as isize);
    }
    let in_page = whole_in_page(column);
    let mut axis = Axis::new(in_page.min(columns), column as isize);
    if columns > in_page {
        axis.join(columns.div_ceil(in_page), PAGE as isize);
    }
    axis
}

/// The fewest rows whose lines are asked for by blocks on a Zen 3. ms on one thread by a line of each row in turn, and so:
/// f32[25,1600000] to columns 26 and 16, f32[125,400000] 23 and 18, u16[100,800000] 18.5 and 15.6, f32[100,1000000] 41 and 36; f32[28,1300000]
/// 12.5 and 14.8. 46 arrays reached 0.96 and 1.01 of memcpy, by two threads 1.08 and 1.17.
const MANY: usize = 17;
/// Lines of each row that such a block has, at most.
const BLOCK: usize = 8;

/// The same on this CPU; `None` where others were not measured. Intel's prefetcher follows so many rows as [`walked`] says: ms on an
/// Emerald Rapids by a line of each row in turn, and by blocks, f32[65,615384] to columns 20.1 and 15.2, f32[77,519480] 18.4 and 14.5, but
/// f32[60,600001] 11.7 and 12.4.
fn many() -> Option<usize> {
    match walked() {
        usize::MAX => is_zen3().then_some(MANY),
        walked => Some(walked + 1),
    }
}

/// Bytes of each row of a block, the lines of which are asked for evenly while the block before is moved; `None` where a line of
/// each row in turn is asked for. Half of the second-level cache has room for a block, so that there is some for the next one, too.
fn block_of(rows: usize) -> Option<usize> {
    let room = Caches::of_this_cpu().second / 2;
    let lines = (room / LINE / rows).clamp(2, BLOCK);
    many().filter(|&many| rows >= many).map(|_| lines * LINE)
}

/// Streams columns that lie side by side in the destination, as many as fit a stage at once.
///
/// A load of what was just stored would wait until all streaming stores before it are done. So what was staged is streamed
/// one group of columns later, from the other of two `STAGES`; unless a group is so large that its first bytes have long
/// been stored when its last ones are.
///
/// # Safety (of `work`)
///
/// As `run`, where the CPU has the set; there are at least `16 / W` columns and at most `ROWS` rows, those of a gap included.
/// Before a gap are more bytes than `V` has.
pub(crate) struct Packed<'a, S, V, O, R, const W: usize, const ROWS: usize, const STAGES: usize> {
    plane: &'a Plane,
    order: O,
    at: &'a At,
    room: R,
    /// The set, whose widest vectors are those of lines, and the vectors of blocks.
    vectors: PhantomData<(S, V)>,
}

impl<'a, S, V, O, R, const W: usize, const ROWS: usize, const STAGES: usize>
    Packed<'a, S, V, O, R, W, ROWS, STAGES>
{
    pub(crate) fn new(plane: &'a Plane, order: O, at: &'a At, room: R) -> Self {
        let vectors = PhantomData;
        Packed {
            plane,
            order,
            at,
            room,
            vectors,
        }
    }
}

impl<S, V, O, R, const W: usize, const ROWS: usize, const STAGES: usize> Work
    for Packed<'_, S, V, O, R, W, ROWS, STAGES>
where
    R: MaybeRoom,
    S: Set,
    V: Vector,
    O: Order,
{
    #[inline(always)]
    unsafe fn work(self) {
        let Packed {
            plane,
            order,
            at,
            mut room,
            ..
        } = self;
        let (rows, columns) = (plane.rows.len, plane.columns.len);
        // With the gap.
        let column = plane.pitch(W);
        let line = LINE / W;
        let group = group(column, line);
        // A column that a vector holds is stored as a whole vector, over whose end the next one is stored.
        let n = V::BYTES / W;
        const { assert!(GROUP + V::BYTES <= ROWS * LINE && (STAGES == 1 || STAGES == 2)) };
        const { assert!(align_of::<Group<ROWS>>() == PAGE) };
        let mut stages = [const { Group::<ROWS>(MaybeUninit::uninit()) }; STAGES];
        let staged = in_pages(column, group);
        let [one, last] = [0, STAGES - 1].map(|i| {
            let mut columns = Pointers::<LINE>::new();
            let stage = stages
                .as_mut_ptr()
                .wrapping_add(i)
                .cast_const()
                .cast::<u8>();
            columns.take(&mut staged.cursor(0), stage, group);
            columns
        });
        let (mut stage, mut other) = (&one, &last);
        if let Some(gap) = plane.gap {
            // Here they stay, behind columns that come and go.
            for column in one.iter().chain(last.iter()) {
                // SAFETY: the place is one of `in_pages`, whose `group` columns, gaps included, lie in the stage and apart: of all that
                // may be packed a test sees that. The gap's bytes are the last ones of its column, behind `rows` elements.
                unsafe { gap.fill(column.cast_mut().add(rows * W)) };
            }
        }
        let (mut from, mut next) = (Pointers::<ROWS>::new(), Pointers::<ROWS>::new());
        from.take(&mut plane.rows.cursor(0), at.source, rows.max(n));
        next.take(&mut plane.rows.cursor(0), at.upcoming, rows);
        let onward = plane.is_run(columns * W, at);
        let bytes = columns * W;
        let ahead = Ahead::new(&from[..rows], &next, bytes, onward, false);
        let pieces = room.pieces::<ROWS>(rows.max(n), group * W);
        if let Some(pieces) = &pieces {
            // SAFETY: all bytes of these rows are readable, and a line of each, as `pieced` says; the CPU has `V`.
            unsafe { pieces.begin::<V>(&from, bytes) };
        }
        // The last line is written in part where columns end inside it: by then it is there.
        let mut last = [0];
        plane.columns.read(columns as isize - 1, &mut last);
        let end = at.destination.wrapping_offset(last[0]).wrapping_add(column);
        if !(end as usize).is_multiple_of(LINE) {
            own(end);
        }
        let one_run = plane.columns.single_stride() == Some(column as isize);
        let mut walk = plane.columns.cursor(0);
        // The columns that are staged, and those that were before.
        let (mut to, mut before) = (Pointers::<LINE>::new(), Pointers::<LINE>::new());
        // SAFETY: the CPU has the set.
        let mut pen = unsafe { Pen::<S::Wide>::new() };
        let blocks = block_of(rows).filter(|_| rows > n && !onward && pieces.is_none());
        // Lines of the next block, the share of them that one of this one's has, and where this one begins and ends in a row.
        let (mut asked, mut this) = (None, 0..0);
        let mut q = 0;
        while q < columns {
            let pieces = pieces.as_ref();
            let feed = pieces.map(|p| p.feed::<V>(&from, &[], q * W, bytes));
            let (places, start, end) = places(&feed, &from, bytes);
            let stop = end / W;
            while q < stop {
                let mut count = group.min(stop - q);
                if count < 16 / W {
                    (q, count) = (stop - 16 / W, 16 / W);
                    walk = plane.columns.cursor(q);
                }
                std::mem::swap(&mut stage, &mut other);
                to.take(&mut walk, at.destination, count);
                let mut c = 0;
                while c < count {
                    let breadth = line.min(count - c).max(16 / W);
                    c = c.min(count - breadth);
                    let offset = (q + c) * W - start;
                    let of = Listed { places, offset };
                    let along = (q + c) * W;
                    if let Some(block) = blocks
                        && along >= this.end
                    {
                        this = along..(along + block).min(bytes);
                        let next = ahead.block(this.end, block, ABREAST);
                        let share = next.share(this.len().div_ceil(LINE) * rows);
                        asked = Some((next, share));
                    }
                    let done = along.saturating_sub(this.start) / LINE * rows;
                    // SAFETY: all rows and columns q + c.. are of the plane, and readable. `c + breadth` is at most `count`, and that at
                    // most `group`, so many places the list has. Each is one of `in_pages`: a column, and a vector, fit the stage there,
                    // which is no part of either side.
                    unsafe {
                        let to = Listed {
                            places: &stage[c..],
                            offset: 0,
                        };
                        if rows <= n {
                            bring(&feed, &ahead, 0..rows, offset);
                            let mut b = 0;
                            while b < breadth {
                                b = b.min(breadth - 16 / W);
                                block::<V, W>(
                                    |i| of.at(i).add(b * W),
                                    |m, v| order.mix(v).store(to.at(b + m).cast_mut()),
                                );
                                b += 16 / W;
                            }
                        } else {
                            ragged::<V, W>(
                                of,
                                rows,
                                to,
                                breadth,
                                order,
                                #[inline(always)]
                                |r| match &asked {
                                    Some((next, share)) => next.until(share * (done + r.end)),
                                    None => bring(&feed, &ahead, r, offset),
                                },
                            );
                        }
                    }
                    c += breadth;
                }
                if STAGES == 1 {
                    before.clone_from(&to);
                }
                let copied = Copied::new(&mut pen, other, &before, column, one_run);
                // SAFETY: the CPU has the set. `before` are columns of the plane, so writable, each of which is staged at its place in
                // `other`, as many as were; and `one_run` was seen of the plane's.
                unsafe { S::enter(copied) };
                before.clone_from(&to);
                q += count;
            }
            if let Some(feed) = feed {
                // SAFETY: as of those that `begin` copied.
                unsafe { feed.finish() };
            }
        }
        // SAFETY: as before, of the group that was staged last; the pen copied to columns of the plane.
        unsafe {
            if STAGES == 2 {
                S::enter(Copied::new(&mut pen, stage, &before, column, one_run));
            }
            pen.lift();
        }
    }
}

/// Copies staged columns to their places: work of its own, as it is the same whatever an element is.
///
/// # Safety (of `work`)
///
/// As [`Pen::copy`]: the columns are staged at these places of [`in_pages`], from the first on, no fewer than there are to go to, which
/// are writable; of `one_run`, each of these begins where the one before ends.
struct Copied<'a, V> {
    pen: &'a mut Pen<V>,
    staged: &'a [*const u8],
    to: &'a [*const u8],
    /// Bytes of each.
    column: usize,
    /// Whether all of them lie side by side.
    one_run: bool,
}

impl<'a, V> Copied<'a, V> {
    fn new(
        pen: &'a mut Pen<V>,
        staged: &'a [*const u8],
        to: &'a [*const u8],
        column: usize,
        one_run: bool,
    ) -> Self {
        Copied {
            pen,
            staged,
            to,
            column,
            one_run,
        }
    }
}

impl<V: Vector> Work for Copied<'_, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let Copied {
            pen,
            staged,
            to,
            column,
            one_run,
        } = self;
        // Columns of one round of the innermost loop are one run; a new round starts another, as does another page of the stage.
        let in_page = whole_in_page(column);
        let follows = |end: usize| to[end] == to[end - 1].wrapping_add(column);
        let mut first = 0;
        while first < to.len() {
            let page = (first / in_page + 1) * in_page;
            let mut end = page.min(to.len());
            if !one_run {
                end = (first + 1..end).find(|&end| !follows(end)).unwrap_or(end);
            }
            // SAFETY: columns first..end are side by side, in the stage and in the destination. So by the caller's promise as many
            // bytes as they have are readable at the first one's place in the stage, and writable where it goes, and the CPU has `V`.
            unsafe { pen.copy(staged[first], to[first].cast_mut(), (end - first) * column) };
            first = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_many_rows_have_eight_lines_of_each_or_what_there_is_room_for() {
        let least = many();
        assert_eq!(block_of(least.unwrap_or(100) - 1), None);
        let room = Caches::of_this_cpu().second / 2 / LINE;
        for (rows, lines) in [
            (least.unwrap_or(100), 8),
            (room / 8, 8),
            (room / 8 + 1, 7),
            (room / 4, 4),
            (room, 2),
        ] {
            let expected = least.map(|_| lines * LINE);
            assert_eq!(block_of(rows), expected, "{rows} rows");
        }
    }

    /// Those of all widths, and of as many rows as may be packed in either cache.
    #[test]
    fn staged_columns_lie_in_their_stage_and_short_ones_in_a_page() {
        const STAGES: [(usize, usize); 2] = [
            (PACKED, size_of::<Group<PACKED>>()),
            (TALL, size_of::<Group<TALL>>()),
        ];
        for (rows, stage) in STAGES {
            for width in [1, 2, 4, 8, 16] {
                for column in (1..=rows).map(|rows| rows * width) {
                    let columns = group(column, LINE / width);
                    for vector in [16, 32, 64] {
                        let mut places = Pointers::<LINE>::new();
                        let axis = in_pages(column, columns);
                        places.take(&mut axis.cursor(0), std::ptr::null(), columns);
                        let mut end = 0;
                        for place in places.iter().map(|&place| place as usize) {
                            let stored = column.max(vector);
                            assert!(
                                place >= end && place + stored <= stage,
                                "{column}, {vector}"
                            );
                            let is_whole = place / PAGE == (place + stored - 1) / PAGE;
                            assert!(is_whole || column > APART, "{column}, {vector}: {place}");
                            end = place + column;
                        }
                    }
                }
            }
        }
    }
}
