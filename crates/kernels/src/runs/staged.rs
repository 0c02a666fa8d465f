//! Runs that are put together in the first-level cache before they are written.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::{PIECE, Piece, Runs, STRIP, ahead};
use crate::axis::{Axis, Pointers};
use crate::copy::{copy, own_edges, stream_near};
use crate::pen::Pen;
use crate::plane::At;
use crate::simd::{LINE, Vector, Work, prefetch};
use crate::strips::even;
use crate::tuning::{FAR, followed_far, waits};

/// The most columns that are staged at once.
const GROUP: usize = 64;

/// The most columns that a strip goes along.
const PANEL: usize = 1024;

/// Bytes that a strip writes to a column where runs are short, and where they are 9 to 16 bytes: on a Zen 5,
/// u8[5003,4001,3]{2,0,1} from row-major took 4.8 ms by the former and 5.2 by the latter, f32[5003,2001,3] 8.8 and 8.3,
/// u8[3003,3001,10] 7.0 and 5.9.
const SHORT: (usize, usize) = (512, 768);
/// The fewest and the most rows of a strip of short runs.
const ROWS: (usize, usize) = (32, 192);

/// Bytes of a stage: a piece, and the line begun before it.
const STAGE: usize = PIECE + LINE;

#[repr(align(64))]
struct Stage(MaybeUninit<[u8; STAGE]>);

/// The line that each column has begun, from strip to strip.
#[repr(align(64))]
struct Begun(MaybeUninit<[[u8; LINE]; PANEL]>);

/// Moves all runs.
///
/// # Safety (of `work`)
///
/// As [`run`](super::run).
pub(super) struct Together<'a, P, V> {
    pub(super) runs: &'a Runs,
    pub(super) at: &'a At,
    pub(super) piece: P,
    pub(super) vector: PhantomData<V>,
}

impl<P: Piece, V: Vector> Work for Together<'_, P, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let &Runs { run, ref rows, .. } = self.runs;
        let &At {
            source,
            destination,
            upcoming,
            ..
        } = self.at;
        let strip = even(rows.len, self.most(), 1);
        let (mut from, mut next) = (Pointers::<{ ROWS.1 }>::new(), Pointers::<{ ROWS.1 }>::new());
        let mut stages = [const { Stage(MaybeUninit::uninit()) }; 2];
        let mut begun = const { Begun(MaybeUninit::uninit()) };
        // SAFETY: the CPU has `V`.
        let mut staged =
            unsafe { Staged::<P, V>::new(&self.piece, self.runs, strip, &mut stages, &mut begun) };
        let all = self.runs.columns.len;
        let panel = if staged.carries() {
            even(all, PANEL, 1)
        } else {
            all
        };
        for first in (0..all).step_by(panel) {
            let columns = first..(first + panel).min(all);
            // Where the rows begin that come after those of this panel, so that its first column is at `first` of them.
            let after = if columns.end < all {
                source.wrapping_add(columns.len() * run)
            } else {
                upcoming.wrapping_sub(first * run)
            };
            let mut ahead = rows.cursor(0);
            next.take(&mut ahead, source, strip);
            let mut p = 0;
            while p < rows.len {
                let count = strip.min(rows.len - p);
                from.clone_from(&next);
                let is_last = p + count == rows.len;
                if is_last {
                    next.take(&mut rows.cursor(0), after, strip);
                } else {
                    next.take(&mut ahead, source, strip);
                }
                let strip = Strip {
                    from: &from[..count],
                    next: &next,
                    to: destination.wrapping_add(p * run),
                    columns: columns.clone(),
                    ends: (p == 0, is_last),
                };
                // SAFETY: the caller's promise, for these rows.
                unsafe { staged.strip(&strip) };
                p += count;
            }
        }
        // SAFETY: as before.
        unsafe { staged.finish() };
    }
}

impl<P: Piece, V> Together<'_, P, V> {
    /// The most rows of a strip.
    fn most(&self) -> usize {
        let &Runs { run, ref rows, .. } = self.runs;
        if !P::AMID {
            return (PIECE / run).clamp(1, STRIP.min(followed_far()));
        }
        let bytes = if (9..=16).contains(&run) {
            SHORT.1
        } else {
            SHORT.0
        };
        let most = if rows.first_stride().unsigned_abs() >= FAR {
            followed_far().min(ROWS.1)
        } else {
            ROWS.1
        };
        (bytes / run).clamp(ROWS.0, most)
    }
}

/// What was staged is written one group of columns later, from the other of two stages: a load of what was just stored
/// would wait until all streaming stores before it are done.
///
/// A strip ends within a line of a column, mostly, each column within another part of it. What it has of that line stays in
/// `begun`, and the next strip puts it before its own.
struct Staged<'a, P, V> {
    piece: &'a P,
    run: usize,
    columns: &'a Axis,
    /// Whether pieces follow one another and so share the lines where they meet.
    follow: bool,
    /// See [`carries`](Staged::carries).
    carries: bool,
    /// Whether it streams, and whether it asks for what it reads.
    streams: bool,
    asks: bool,
    begun: *mut u8,
    /// How many columns of a whole strip a stage has room for.
    group: usize,
    stage: *mut u8,
    other: *mut u8,
    before: Before,
    pen: Pen<V>,
}

/// What is in the other stage.
struct Before {
    /// Where the columns go, and the bytes of each.
    to: Pointers<GROUP>,
    bytes: usize,
    /// Their place among those of the panel.
    first: usize,
    /// Whether the strip is the first, and the last.
    ends: (bool, bool),
}

/// Some rows of some columns.
struct Strip<'a> {
    /// The rows, from the first column on, and those that are next.
    from: &'a [*const u8],
    next: &'a [*const u8],
    /// Where they are in the destination's first column.
    to: *mut u8,
    columns: Range<usize>,
    /// Whether the strip is the first of its columns, and the last.
    ends: (bool, bool),
}

impl<'a, P: Piece, V: Vector> Staged<'a, P, V> {
    /// # Safety
    ///
    /// The CPU has `V`.
    #[inline(always)]
    unsafe fn new(
        piece: &'a P,
        runs: &'a Runs,
        strip: usize,
        stages: &'a mut [Stage; 2],
        begun: &'a mut Begun,
    ) -> Self {
        let &Runs {
            run,
            ref rows,
            ref columns,
            ..
        } = runs;
        let [stage, other] = stages;
        let follow = runs.follows(strip);
        let mut staged = Staged {
            piece,
            run,
            columns,
            follow,
            streams: runs.stream,
            asks: runs.ask,
            carries: P::AMID && runs.stream && rows.len > strip && strip * run >= 2 * LINE,
            begun: begun.0.as_mut_ptr().cast(),
            group: 1,
            stage: stage.0.as_mut_ptr().cast(),
            other: other.0.as_mut_ptr().cast(),
            before: Before {
                to: Pointers::new(),
                bytes: 0,
                first: 0,
                ends: (true, true),
            },
            // SAFETY: the caller's promise.
            pen: unsafe { Pen::new() },
        };
        staged.group = (STAGE / (staged.before_column() + strip * run)).clamp(1, GROUP);
        staged
    }

    /// Bytes before every column of a stage: where there is one, the line that it has begun.
    #[inline(always)]
    fn before_column(&self) -> usize {
        if self.carries() { LINE } else { 0 }
    }

    /// Whether lines that a strip has begun are ended by the next one. Of pieces that never do the compiler knows it.
    #[inline(always)]
    fn carries(&self) -> bool {
        P::AMID && self.carries
    }

    /// Moves the runs of some rows, together at most a stage of a column.
    ///
    /// # Safety
    ///
    /// As `run`.
    #[inline(always)]
    unsafe fn strip(&mut self, strip: &Strip<'_>) {
        let piece = self.piece;
        let &Strip {
            from,
            next,
            to,
            ref columns,
            ends,
        } = strip;
        let run = self.run;
        let bytes = from.len() * run;
        let before = self.before_column();
        let pitch = before + bytes;
        let at_once = P::block_columns::<V>().max(P::COLUMNS);
        let group = match self.group > at_once && at_once > 0 {
            true => self.group / at_once * at_once,
            false => self.group,
        };
        let group = group.min(columns.len());
        let far = ahead(from.len())
            .div_ceil(run)
            .clamp(group, columns.len().max(group));
        // Others are written whole.
        let cuts = !self.carries() || ends.0 || ends.1;
        let own = waits() && !self.follow && cuts;
        let mut walk = self.columns.cursor(columns.start);
        let mut places = Pointers::<GROUP>::new();
        let mut q = columns.start;
        debug_assert!(next.len() >= from.len());
        while q < columns.end {
            let count = group.min(columns.end - q);
            places.take(&mut walk, to, count);
            if own {
                for &to in places.iter() {
                    own_edges(to, bytes);
                }
            }
            let (rows_ahead, q_ahead) = if q + far < columns.end {
                (from, q + far)
            } else {
                (next, q + far - columns.len())
            };
            let first = q - columns.start;
            if self.carries() && !ends.0 {
                for c in 0..count {
                    // SAFETY: the panel has at most as many columns as lines that are begun, of which `first + c` is one; the strip
                    // before this one wrote it. `count` columns of `pitch` bytes, a line first, fit the stage. The CPU has `V`.
                    unsafe {
                        let line = self.begun.add((first + c) * LINE);
                        copy::<V>(line, self.stage.add(c * pitch), LINE);
                    }
                }
            }
            let lines = q_ahead * run..(q_ahead + count * usize::from(self.asks)) * run;
            // What follows the last run of all is not of its row.
            let amid = count - usize::from(q + count == self.columns.len);
            // SAFETY: run (r, q + c) is readable by the caller's promise. `count` columns of `pitch` bytes fit the stage, and row r
            // is one of `from`, so that its run ends within its column. Columns before `amid` are followed by another run of the
            // same row, and rows before the last one by another run of the same column: what `put_amid` reads and writes beside
            // its run is in these. Blocks are whole where a lane ends within the row. The CPU has `V`.
            unsafe {
                let to = self.stage.add(before);
                if !P::AMID {
                    for (r, row) in from.iter().enumerate() {
                        let ahead = rows_ahead[r].wrapping_add(lines.start);
                        let mut asked = 0;
                        for c in 0..count {
                            // Every line once, and not all at once.
                            while asked < (c + 1) * run {
                                prefetch(ahead.wrapping_add(asked));
                                asked += LINE;
                            }
                            let to = to.add(c * pitch + r * run);
                            piece.put::<V>(row.add((q + c) * run), to, run);
                        }
                    }
                } else if P::COLUMNS == 0 {
                    for (r, (row, of)) in from.iter().zip(rows_ahead).enumerate() {
                        for line in lines.clone().step_by(LINE) {
                            prefetch(of.wrapping_add(line));
                        }
                        let amid = if r + 1 == from.len() { 0 } else { amid };
                        let (row, to) = (row.add(q * run), to.add(r * run));
                        for c in 0..amid {
                            piece.put_amid::<V>(row.add(c * run), to.add(c * pitch), run);
                        }
                        for c in amid..count {
                            piece.put::<V>(row.add(c * run), to.add(c * pitch), run);
                        }
                    }
                } else {
                    for line in lines.step_by(LINE) {
                        for of in rows_ahead.iter().take(from.len()) {
                            prefetch(of.wrapping_add(line));
                        }
                    }
                    let put = Columns {
                        piece,
                        from,
                        run,
                        pitch,
                    };
                    let mut c = put.blocks::<V>(q * run, to, count);
                    while c < count {
                        let (columns, to) = ((q + c) * run, to.add(c * pitch));
                        if P::COLUMNS == 4 && c + 4 <= amid {
                            put.put::<V, 4>(columns, to);
                            c += 4;
                        } else if P::COLUMNS == 2 && c + 2 <= amid {
                            put.put::<V, 2>(columns, to);
                            c += 2;
                        } else if c < amid {
                            put.put::<V, 1>(columns, to);
                            c += 1;
                        } else {
                            for (r, row) in from.iter().enumerate() {
                                piece.put::<V>(row.add(columns), to.add(r * run), run);
                            }
                            c += 1;
                        }
                    }
                }
            }
            // SAFETY: as the caller's promise for what was staged before.
            unsafe { self.write() };
            self.before.to.clone_from(&places);
            self.before.bytes = bytes;
            self.before.first = first;
            self.before.ends = ends;
            std::mem::swap(&mut self.stage, &mut self.other);
            q += count;
            if self.carries() && group >= columns.len() {
                // The next strip needs what this one has begun.
                // SAFETY: as before.
                unsafe { self.write() };
                self.before.to = Pointers::new();
            }
        }
    }

    /// Writes what is in the other stage.
    ///
    /// # Safety
    ///
    /// It is writable where it goes.
    #[inline(always)]
    unsafe fn write(&mut self) {
        let Before {
            ref to,
            bytes,
            first: place,
            ends: (opens, closes),
        } = self.before;
        if self.carries() {
            for (c, &to) in to.iter().enumerate() {
                let ahead = if opens { 0 } else { to as usize % LINE };
                let end = to as usize + bytes;
                let cut = if closes { 0 } else { end % LINE };
                // SAFETY: column `c` was staged: a line, of which the strip before this one left the last `ahead` bytes, and
                // `bytes` of this strip. `ahead` is less than a line, and so is `cut`; strips that are not the last have two lines
                // at least, so `length` is no less than one, and that of the last has a run. It goes where the column's rows are
                // writable: those of this strip, and the last ones before it, which wrote none of this line. The last line staged
                // is copied to a line of the panel's. The CPU has `V`.
                unsafe {
                    let staged = self.other.add(c * (LINE + bytes));
                    let length = ahead + bytes - cut;
                    stream_near::<V>(staged.add(LINE - ahead), to.sub(ahead).cast_mut(), length);
                    if !closes {
                        copy::<V>(staged.add(bytes), self.begun.add((place + c) * LINE), LINE);
                    }
                }
            }
            return;
        }
        let mut first = 0;
        while first < to.len() {
            let mut end = first + 1;
            while self.follow && end < to.len() && to[end] == to[end - 1].wrapping_add(bytes) {
                end += 1;
            }
            // SAFETY: columns first..end are staged, and side by side in the destination.
            unsafe {
                let (staged, to) = (self.other.add(first * bytes), to[first].cast_mut());
                if !self.streams {
                    copy::<V>(staged, to, (end - first) * bytes);
                } else if self.follow {
                    self.pen.copy(staged, to, (end - first) * bytes);
                } else {
                    stream_near::<V>(staged, to, bytes);
                }
            }
            first = end;
        }
    }

    /// Writes what is left.
    ///
    /// # Safety
    ///
    /// As `write`.
    #[inline(always)]
    unsafe fn finish(&mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            self.write();
            self.pen.lift();
        }
    }
}

/// Rows of which some columns are put at once.
struct Columns<'a, P> {
    piece: &'a P,
    from: &'a [*const u8],
    run: usize,
    pitch: usize,
}

impl<P: Piece> Columns<'_, P> {
    /// Puts so many columns from an offset in all rows on by blocks, and says how many these were: all, or none where there is no block.
    ///
    /// # Safety
    ///
    /// All their runs are readable and writable. The CPU has `V`.
    #[inline(always)]
    unsafe fn blocks<V: Vector>(&self, offset: usize, to: *mut u8, count: usize) -> usize {
        let &Columns {
            from, run, pitch, ..
        } = self;
        let (rows, columns) = (P::BLOCK_ROWS, P::block_columns::<V>());
        if columns == 0 || count < columns || from.len() < rows {
            return 0;
        }
        // What is left over is put again with what is before it.
        let mut c = 0;
        while c < count {
            c = c.min(count - columns);
            let mut r = 0;
            while r < from.len() {
                r = r.min(from.len() - rows);
                // SAFETY: rows `r..r + rows` and columns `c..c + columns` are of these. The CPU has `V` by the caller's promise.
                unsafe {
                    let to = to.add(c * pitch + r * run);
                    P::put_block::<V>(
                        &from[r..r + rows],
                        offset + c * run,
                        #[inline(always)]
                        |column| to.add(column * pitch),
                    );
                }
                r += rows;
            }
            c += columns;
        }
        count
    }

    /// Puts `K` columns from an offset in all rows on.
    ///
    /// # Safety
    ///
    /// As [`Piece::put_amid`], for all of them but the last row's. The CPU has `V`.
    #[inline(always)]
    unsafe fn put<V: Vector, const K: usize>(&self, offset: usize, to: *mut u8) {
        let &Columns {
            piece,
            from,
            run,
            pitch,
        } = self;
        let Some((last, rows)) = from.split_last() else {
            return;
        };
        // SAFETY: the caller's promise. All rows but the last are followed by another in their columns, and all runs by another in
        // their rows. The CPU has `V`.
        unsafe {
            let mut to = to;
            for row in rows {
                let row = row.add(offset);
                for k in 0..K {
                    piece.put_amid::<V>(row.add(k * run), to.add(k * pitch), run);
                }
                to = to.add(run);
            }
            for k in 0..K {
                piece.put::<V>(last.add(offset + k * run), to.add(k * pitch), run);
            }
        }
    }
}
