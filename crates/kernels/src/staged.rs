//! Planes whose columns do not start on cache lines, written by whole lines all the same.
//!
//! Blocks are transposed into a stage in the caches and streamed from there. There are two ways:
//!
//! - Columns that lie side by side are packed: as many as fit are staged as they will lie, and their whole lines
//!   streamed.
//! - Otherwise each column has its own shift against the lines. A strip is staged with the rows just before it, and of
//!   each column those lines are streamed that end in the strip. The price is that these rows are read twice, the second
//!   time from the cache. Before the first row of a column that another one ends at lie that one's last rows, so that a line
//!   that both have a part in is written once, too.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::ahead::{AHEAD, Ahead};
use crate::axis::{Axis, Pointers};
use crate::block::{Listed, Places, Steps, block, tile};
use crate::order::Order;
use crate::pen::Pen;
use crate::pieces::{MaybeRoom, bring, places};
use crate::plane::{At, PAGE, Plane};
use crate::simd::{LINE, Vector, Work, own, prefetch};
use crate::strips::{even, strip};
use crate::tuning::{Caches, followed, is_zen, is_zen5};

/// Bytes of the stage: a strip, a line and a skew, for as many columns as a line has elements.
const STAGE: usize = 40 << 10;

/// The most rows of a strip and of a line.
const ROWS: usize = 9 * LINE;

#[repr(align(64))]
struct Staging(MaybeUninit<[u8; STAGE]>);

/// The most columns that a strip goes along: then the rows that the next strip reads again, a line of each column, are
/// still in the second-level cache.
const PANEL: usize = 4096;
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
/// As `run`; both axes are at least as long as a vector, and all columns aligned to `W`.
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
            // Bytes have the most rows to read again,
            1 if followed() == usize::MAX => 2,
            // and a strip of few lines nearly as many as it has: f64[2193,6305] to columns 9.2 ms, and 6.5 by thrice as many,
            // c128[56229,101] 7.1 and 5.2; by two threads 4.4 and 5.0, 3.7 and 4.0.
            8 | 16 if is_zen5() && plane.large && !plane.pieced => 3,
            _ => 1,
        };
        // Columns begin up to a line before row 0, so a strip past the last row ends the last lines.
        let strip = even(rows + line, more * strip::<W>(plane), line);
        // Lines of a strip, as many as the stage holds with one more and the pitch an odd number of lines.
        let lines = strip / line;
        let pitch = (lines + 1 + lines % 2) * LINE;
        assert!(line * pitch <= STAGE && line + strip <= ROWS);
        let mut stage = Staging(MaybeUninit::uninit());
        let stage = stage.0.as_mut_ptr().cast::<u8>();
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
            unsafe { pieces.begin::<V>(&next, bytes) };
        }
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
            // Rows that no line of this strip needs are not transposed.
            let (low, high) = (
                if p0 == 0 && !wraps { line } else { 0 },
                (line + strip).min(line + rows - p0.min(rows)),
            );
            let high = high.max(low + 1).next_multiple_of(n);
            let ahead = Ahead::staged(&from[line..], &next[line..], bytes, onward);
            let more = if p0 + strip < rows + line {
                &next[..]
            } else {
                &[]
            };
            let mut walk = plane.columns.cursor(first);
            let mut q = 0;
            while q < columns {
                let pieces = pieces.as_ref();
                let feed = pieces.map(|p| p.feed::<V>(&from, more, q * W, bytes));
                let (places, start, end) = places(&feed, &from, bytes);
                let stop = end / W;
                while q < stop {
                    let mut breadth = line.min(stop - q);
                    if breadth < 16 / W {
                        (q, breadth) = (stop - 16 / W, 16 / W);
                        walk = plane.columns.cursor(first + q);
                    }
                    to.take(&mut walk, destination, breadth);
                    if wraps && p0 == 0 && feed.is_none() {
                        for row in &from[..line] {
                            prefetch(row.wrapping_add(q * W + AHEAD));
                        }
                    }
                    let rows_of = Listed {
                        places: &places[low..],
                        offset: q * W - start,
                    };
                    // SAFETY: `places` are line + strip pointers to rows of the plane, or to their pieces, and `high` is at most
                    // that. Where columns wrap,
                    // the first ones are an element before their rows: of the first column that is no element of the plane, but
                    // behind its lowest one, as `wraps` has seen, and so readable. The stage has as many columns as a line has
                    // elements, of pitch bytes each.
                    unsafe {
                        let to = Steps {
                            base: stage.add(low * W),
                            step: pitch as isize,
                        };
                        tile::<V, W, false>(rows_of, high - low, to, breadth, order, |r| {
                            // Rows before the strip were read with the strip before it.
                            if feed.is_none() && !late && low + r.start >= line {
                                ahead.ask(low + r.start - line..low + r.end - line, q * W);
                            }
                        });
                    }
                    let share = (line + strip).div_ceil(breadth);
                    for (c, &to) in to.iter().enumerate() {
                        if let Some(feed) = &feed {
                            // SAFETY: as of those that `begin` copied: rows of this strip or of the next one.
                            unsafe { feed.copy(share) };
                        } else if late {
                            ahead.ask((c * share).min(strip)..((c + 1) * share).min(strip), q * W);
                        }
                        let shift = to as usize % LINE / W;
                        // Whether no column ends where this one begins, and none begins where it ends.
                        let column = first + q + c;
                        let opens = !wraps || column == 0;
                        let closes = !wraps || column + 1 == plane.columns.len;
                        // Line j of the strip holds rows p0 + j * line - shift and on. These are whole, or made so by columns beside.
                        let cut = if opens { shift.saturating_sub(p0) } else { 0 };
                        let begins = cut.div_ceil(line).min(lines);
                        let after = (rows + shift).saturating_sub(p0) / line;
                        let whole = begins..after.clamp(begins, lines);
                        // SAFETY: lines `..lines`, shifted back by less than one, are in a stage's column, which has one more. Those from
                        // `whole.start` on begin with a row of this column, or where it does not open with the last ones of the column
                        // before, which lies there and was staged with it; those before `whole.end` end with one of this column. So all
                        // their bytes are writable, and they are aligned by the choice of `shift`. The CPU has `V`.
                        unsafe {
                            let staged = stage.add(c * pitch + (line - shift) * W);
                            let to =
                                to.wrapping_offset((p0 as isize - shift as isize) * W as isize);
                            for at in (whole.start * LINE..whole.end * LINE).step_by(V::BYTES) {
                                V::load(staged.add(at)).stream(to.wrapping_add(at).cast_mut());
                            }
                        }
                        for j in (0..whole.start).chain(whole.end..lines) {
                            let at = p0 + j * line;
                            let begin = at.max(shift) - shift;
                            let end = (at + line).max(shift).min(rows + shift) - shift;
                            if begin < end && (at < shift || closes) {
                                // SAFETY: rows `begin..end` are of the column, so writable, and of line j, which the stage has.
                                unsafe {
                                    std::ptr::copy_nonoverlapping(
                                        stage.add(c * pitch + (line + begin - p0) * W),
                                        to.add(begin * W).cast_mut(),
                                        (end - begin) * W,
                                    );
                                }
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

/// The most rows of a plane that is packed in the first-level cache,
pub(crate) const PACKED: usize = 256;
/// and of one that is packed in the second-level one.
pub(crate) const TALL: usize = 2048;

/// The most rows of a plane of elements of so many bytes that is packed on this CPU. More than the first-level cache has
/// room for are where the CPU's prefetcher follows them all, and the second-level cache has room for the stage, and in every
/// row for a line and those that are asked for. Where it follows few, strips of these are better from some lines of each
/// column on, as long as a strip reads fewer rows again than it has.
pub(crate) fn packed_rows(width: usize) -> usize {
    match followed() {
        usize::MAX => (Caches::of_this_cpu().second / (2 * AHEAD)).clamp(PACKED, TALL),
        followed if LINE / width < followed => LINES * LINE / width,
        _ => PACKED,
    }
}

/// Lines of a column that is better written by strips: on a Granite Rapids, f32[90,300007] to columns takes 13.1 ms packed
/// and 12.0 ms in strips, f32[66,600001] 18.4 and 19.0 ms.
const LINES: usize = 5;

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

/// Where so many columns are staged: side by side, but not across pages, as a store that goes into two waits until what was
/// streamed before is written, 95 ns on a Zen 4. By two threads there f32[25,800001] to columns takes 3.5 ms so, 4.5 otherwise,
/// bf16[33,1000001] 3.1 and 4.7.
fn in_pages(column: usize, columns: usize) -> Axis {
    if column > APART {
        return Axis::new(columns, ((column.div_ceil(LINE) | 1) * LINE) as isize);
    }
    let in_page = PAGE / column;
    let mut axis = Axis::new(in_page.min(columns), column as isize);
    if columns > in_page {
        axis.join(columns.div_ceil(in_page), PAGE as isize);
    }
    axis
}

/// Streams columns that lie side by side in the destination, as many as fit a stage at once.
///
/// A load of what was just stored would wait until all streaming stores before it are done. So what was staged is streamed
/// one group of columns later, from the other of two `STAGES`; unless a group is so large that its first bytes have long
/// been stored when its last ones are.
///
/// # Safety (of `work`)
///
/// As `run`, where the CPU has `L` too; there are at least `16 / W` columns and at most `ROWS` rows, those of a gap included.
/// Before a gap are more bytes than `V` has.
pub(crate) struct Packed<'a, V, L, O, R, const W: usize, const ROWS: usize, const STAGES: usize> {
    plane: &'a Plane,
    order: O,
    at: &'a At,
    room: R,
    /// The vectors of blocks, and those of lines.
    vectors: PhantomData<(V, L)>,
}

impl<'a, V, L, O, R, const W: usize, const ROWS: usize, const STAGES: usize>
    Packed<'a, V, L, O, R, W, ROWS, STAGES>
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

impl<V, L, O, R, const W: usize, const ROWS: usize, const STAGES: usize> Work
    for Packed<'_, V, L, O, R, W, ROWS, STAGES>
where
    R: MaybeRoom,
    V: Vector,
    L: Vector,
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
        let mut walk = plane.columns.cursor(0);
        // The columns that are staged, and those that were before.
        let (mut to, mut before) = (Pointers::<LINE>::new(), Pointers::<LINE>::new());
        // SAFETY: the CPU has `L`.
        let mut pen = unsafe { Pen::<L>::new() };
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
                            tile::<V, W, false>(
                                of,
                                rows,
                                to,
                                breadth,
                                order,
                                #[inline(always)]
                                |r| bring(&feed, &ahead, r, offset),
                            );
                        }
                    }
                    c += breadth;
                }
                if STAGES == 1 {
                    before.clone_from(&to);
                }
                // SAFETY: these columns are staged.
                unsafe { copy_columns(&mut pen, other, &before, column) };
                before.clone_from(&to);
                q += count;
            }
            if let Some(feed) = feed {
                // SAFETY: as of those that `begin` copied.
                unsafe { feed.finish() };
            }
        }
        // SAFETY: as before; the pen copied to columns of the plane.
        unsafe {
            if STAGES == 2 {
                copy_columns(&mut pen, stage, &before, column);
            }
            pen.lift();
        }
    }
}

/// Copies staged columns of so many bytes to their places. A function, as a closure that is called twice is not always
/// compiled for the instruction set.
///
/// # Safety
///
/// As [`Pen::copy`]: the columns are staged at these places, no fewer than there are to go to, which are writable.
#[inline(always)]
unsafe fn copy_columns<L: Vector>(
    pen: &mut Pen<L>,
    staged: &[*const u8],
    to: &[*const u8],
    column: usize,
) {
    // Columns of one round of the innermost loop are one run; a new round starts another, as does another page of the stage.
    let follows =
        |places: &[*const u8], end: usize| places[end] == places[end - 1].wrapping_add(column);
    let mut first = 0;
    while first < to.len() {
        let mut end = first + 1;
        while end < to.len() && follows(to, end) && follows(staged, end) {
            end += 1;
        }
        // SAFETY: columns first..end are side by side, in the stage and in the destination. So by the caller's promise as many bytes
        // as they have are readable at the first one's place in the stage, and writable where it goes, and the CPU has `L`.
        unsafe { pen.copy(staged[first], to[first].cast_mut(), (end - first) * column) };
        first = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
