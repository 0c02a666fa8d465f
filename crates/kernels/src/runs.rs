//! Copies of runs that are contiguous on both sides, in two dimensions of runs.
//!
//! Run (p, q) lies at `rows(p) + q * run` in the source and at `columns(q) + p * run` in the destination: a plane whose
//! elements are runs. Walking it in strips reads each row forward and writes each column in long pieces, so short runs
//! cost little more than long ones. Above the cache, the runs ahead are prefetched. Long ones are streamed right from the
//! source; short ones are put together in the first-level cache and streamed from there, as many columns at once as fit:
//! so a good piece of each row is read, and asked for, before the next one's.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::around::{Around, Each};
use crate::axis::{Axis, Pointers};
use crate::cell::{Cell, Gathered, Transposed};
use crate::copy::{copy, own_edges, stream, stream_near};
use crate::pen::Pen;
use crate::pieces::Room;
use crate::plane::{At, LARGE, WALK};
use crate::simd::{LINE, Set, Vector, Work, near, prefetch};
use crate::strips::even;
use crate::tuning::{followed_far, is_zen5, waits};

mod pieced;
mod staged;

use pieced::Pieced;
use staged::{Stage, Staged};

/// The most rows of a strip.
const STRIP: usize = 128;
/// Bytes that a strip writes to a column, unless one run is longer.
pub(crate) const PIECE: usize = 8 << 10;
/// How many bytes ahead are asked for in all rows of a strip together, and how many of each, at least one run.
const AHEAD: usize = 64 << 10;
const ROW_AHEAD: (usize, usize) = (256, 4 << 10);
/// Bytes of runs from which on they are streamed right from the source: on Intel's CPUs, and on others.
const LONG: (usize, usize) = (4 * LINE, 2 * LINE + LINE / 2);
/// On a Zen 5, the longest runs that are read in pieces, and the fewest rows of them: f32[300,1000,128]{2,0,1} from row-major takes
/// 6.6 ms so and 8.9 otherwise, twice as long runs as long either way.
const SHORT: usize = PIECE / 16;
const FEWEST: usize = 12;
/// How many columns' places are found at once.
const PLACES: usize = 64;
/// How many bytes of pieces before one the lines are asked for that it writes parts of.
const LEAD: usize = 2 << 10;

/// Runs of a source that is in the caches, in the order of the destination.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// Bytes of a run.
    pub(crate) run: usize,
    pub(crate) stream: bool,
    /// Whether to ask for as much of what comes next, from front to back.
    pub(crate) ask: bool,
    pub(crate) around: Around,
}

#[derive(Debug, Clone)]
pub(crate) struct Runs {
    /// Bytes of a run.
    pub(crate) run: usize,
    /// How a run is put in order, if its elements change places; then it is at most a stage long.
    pub(crate) cell: Option<Cell>,
    /// Whether its rows are read in [pieces](crate::pieces), where runs are whole lines of the destination.
    pub(crate) pieced: bool,
    /// Source offsets by place in the destination's pieces.
    pub(crate) rows: Axis,
    /// Destination offsets by place in the source's pieces.
    pub(crate) columns: Axis,
}

impl Runs {
    /// Chooses whether its rows are read in pieces.
    pub(crate) fn choose_pieces(&mut self) {
        let (rows, row) = (self.rows.len, self.columns.len * self.run);
        let much = rows >= FEWEST && row >= WALK && rows * row >= LARGE;
        self.pieced = much && self.run <= SHORT && is_zen5();
    }

    /// Whether all runs are whole lines of the destination.
    fn is_on_lines(&self, at: &At) -> bool {
        (self.run | at.destination as usize).is_multiple_of(LINE)
            && self.columns.is_multiple_of(LINE as isize)
    }
}

/// Moves all runs of a source in the caches.
///
/// # Safety
///
/// The CPU has the set. All runs are readable from the source and writable from the destination, and the two do not
/// overlap.
pub(crate) unsafe fn rows<S: Set>(rows: &Rows, at: &At) {
    let vector = PhantomData::<S::Wide>;
    // SAFETY: the caller's promise.
    unsafe {
        if rows.stream {
            S::enter(InOrder::<_, true> { rows, at, vector });
        } else {
            S::enter(InOrder::<_, false> { rows, at, vector });
        }
    }
}

/// # Safety (of `work`)
///
/// As `rows`.
struct InOrder<'a, V, const STREAM: bool> {
    rows: &'a Rows,
    at: &'a At,
    vector: PhantomData<V>,
}

impl<V: Vector, const STREAM: bool> Work for InOrder<'_, V, STREAM> {
    #[inline(always)]
    unsafe fn work(self) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut copying = Copying::<V, STREAM> {
                run: self.rows.run,
                ask: if self.rows.ask { self.rows.run } else { 0 },
                upcoming: self.at.upcoming,
                pen: Pen::new(),
            };
            let around = &self.rows.around;
            around.walk(self.at.source, self.at.destination, &mut copying);
            copying.pen.lift();
        }
    }
}

/// # Safety (of `each`)
///
/// A run is readable and writable. Nothing else writes it before the pen is lifted.
struct Copying<V, const STREAM: bool> {
    run: usize,
    ask: usize,
    upcoming: *const u8,
    pen: Pen<V>,
}

impl<V: Vector, const STREAM: bool> Each for Copying<V, STREAM> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let run = self.run;
        ask(self.upcoming, self.ask, near);
        self.upcoming = self.upcoming.wrapping_add(self.ask);
        // SAFETY: pieces of the run.
        unsafe {
            if !STREAM {
                copy::<V>(from, to, run);
            } else if (to as usize | run).is_multiple_of(LINE) {
                stream_near::<V>(from, to, run);
            } else {
                self.pen.copy(from, to, run);
            }
        }
    }
}

/// Moves all runs with streaming stores.
///
/// # Safety
///
/// The CPU has the set. All runs are readable from `source` and writable from `destination`, and the two do not overlap.
pub(crate) unsafe fn run<S: Set>(runs: &Runs, at: &At) {
    // SAFETY: the caller's promise, passed on whole.
    unsafe {
        match &runs.cell {
            None if runs.pieced && runs.is_on_lines(at) => in_pieces::<S>(runs, at),
            None => strips::<S, _>(runs, at, Same),
            Some(cell) => mixed::<S>(runs, cell, at),
        }
    }
}

/// As `run`, in pieces; apart from others, as these have no use for so large a stack.
///
/// # Safety
///
/// As `run`; all runs are whole lines in the destination.
#[inline(never)]
unsafe fn in_pieces<S: Set>(runs: &Runs, at: &At) {
    let mut room = Room::new();
    // SAFETY: the caller's promise.
    unsafe {
        S::enter(Pieced::<S::Wide> {
            runs,
            at,
            room: &mut room,
            vector: PhantomData,
        })
    }
}

/// As `run`, for runs whose elements change places.
///
/// # Safety
///
/// As `run`.
unsafe fn mixed<S: Set>(runs: &Runs, cell: &Cell, at: &At) {
    // SAFETY: the caller's promise; the registers are those that the gather has its tables for.
    unsafe {
        match cell {
            Cell::Gather(gather) if gather.fills::<S::Wide>() => {
                strips::<S, _>(runs, at, Gathered(gather, PhantomData::<S::Wide>))
            }
            Cell::Gather(gather) if gather.fills::<S::Half>() => {
                strips::<S, _>(runs, at, Gathered(gather, PhantomData::<S::Half>))
            }
            Cell::Gather(gather) => {
                strips::<S, _>(runs, at, Gathered(gather, PhantomData::<S::Quarter>))
            }
            &Cell::Square(square) => {
                let vector = PhantomData::<S::Quarter>;
                match square.width {
                    1 => strips::<S, _>(runs, at, Transposed::<_, 1>(square, vector)),
                    2 => strips::<S, _>(runs, at, Transposed::<_, 2>(square, vector)),
                    4 => strips::<S, _>(runs, at, Transposed::<_, 4>(square, vector)),
                    8 => strips::<S, _>(runs, at, Transposed::<_, 8>(square, vector)),
                    _ => strips::<S, _>(runs, at, Transposed::<_, 16>(square, vector)),
                }
            }
        }
    }
}

/// # Safety
///
/// As `run`; the piece may be put wherever runs are.
unsafe fn strips<S: Set, P: Piece>(runs: &Runs, at: &At, piece: P) {
    let vector = PhantomData::<S::Wide>;
    // SAFETY: the caller's promise.
    unsafe {
        S::enter(Strips {
            runs,
            at,
            piece,
            vector,
        })
    }
}

/// What becomes of a run on its way to the stage.
pub(crate) trait Piece {
    /// Whether it is the same there.
    const SAME: bool;

    /// # Safety
    ///
    /// As `copy`; the CPU has the vectors of the work.
    unsafe fn put<V: Vector>(&self, from: *const u8, to: *mut u8, length: usize);
}

struct Same;

impl Piece for Same {
    const SAME: bool = true;

    #[inline(always)]
    unsafe fn put<V: Vector>(&self, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy::<V>(from, to, length) }
    }
}

/// # Safety (of `work`)
///
/// As `run`.
struct Strips<'a, P, V> {
    runs: &'a Runs,
    at: &'a At,
    piece: P,
    vector: PhantomData<V>,
}

impl<P: Piece, V: Vector> Work for Strips<'_, P, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let &Runs { run, ref rows, .. } = self.runs;
        let &At {
            source,
            destination,
            upcoming,
            ..
        } = self.at;
        let most = (PIECE / run).clamp(1, STRIP.min(followed_far()));
        let strip = even(rows.len, most, 1);
        let whole_lines = self.runs.is_on_lines(self.at);
        let long = if waits() { LONG.0 } else { LONG.1 };
        let straight = P::SAME && (whole_lines || run >= long);
        let (mut from, mut next) = (Pointers::<STRIP>::new(), Pointers::<STRIP>::new());
        let mut stages = [const { Stage(MaybeUninit::uninit()) }; 2];
        // SAFETY: the CPU has `V`.
        let mut staged = unsafe { Staged::<V>::new(self.runs, strip, &mut stages) };
        let mut ahead = rows.cursor(0);
        next.take(&mut ahead, source, strip);
        let mut p = 0;
        while p < rows.len {
            let count = strip.min(rows.len - p);
            from.clone_from(&next);
            if p + count < rows.len {
                next.take(&mut ahead, source, strip);
            } else {
                next.take(&mut rows.cursor(0), upcoming, strip);
            }
            let (from, to) = (&from[..count], destination.wrapping_add(p * run));
            // SAFETY: the caller's promise, for these rows.
            unsafe {
                if straight {
                    let own = waits() && !whole_lines && !staged.follow;
                    self.straight(from, &next, to, (whole_lines, own));
                } else {
                    staged.strip(&self.piece, from, &next, to);
                }
            }
            p += count;
        }
        // SAFETY: as before.
        unsafe { staged.finish() };
    }
}

impl<P: Piece, V: Vector> Strips<'_, P, V> {
    /// Moves the runs of some rows right from the source; `to` is where they are in the first column.
    ///
    /// # Safety
    ///
    /// As `run`. If `whole_lines`, all runs are, in the destination. `own` says whether to ask for lines written in part.
    #[inline(always)]
    unsafe fn straight(
        &self,
        from: &[*const u8],
        next: &[*const u8],
        to: *mut u8,
        (whole_lines, own): (bool, bool),
    ) {
        let &Runs {
            run, ref columns, ..
        } = self.runs;
        let bytes = from.len() * run;
        // What is longer asks for its own lines.
        let asks = run <= PIECE;
        let far = ahead(from.len()).div_ceil(run).min(columns.len);
        let mut walk = columns.cursor(0);
        let mut edges = columns.cursor(LEAD.div_ceil(bytes).min(columns.len - 1));
        let (mut places, mut edge) = (Pointers::<PLACES>::new(), Pointers::<1>::new());
        // SAFETY: the CPU has `V`.
        let mut pen = unsafe { Pen::<V>::new() };
        for first in (0..columns.len).step_by(PLACES) {
            let count = PLACES.min(columns.len - first);
            places.take(&mut walk, to, count);
            for (q, &place) in (first..).zip(places.iter()) {
                if own {
                    edge.take(&mut edges, to, 1);
                    own_edges(edge[0], bytes);
                }
                let (rows, other) = if q + far < columns.len {
                    (from, q + far)
                } else {
                    (next, q + far - columns.len)
                };
                let mut to = place.cast_mut();
                for (from, row) in from.iter().zip(rows) {
                    if asks {
                        ask(row.wrapping_add(other * run), run, prefetch);
                    }
                    // SAFETY: run q of each row is readable, and the runs of column q are writable, by the caller's promise;
                    // nothing else writes them before the pen is lifted, and `to` ends behind the last one. Whole lines are.
                    unsafe {
                        if whole_lines || !asks {
                            stream::<V>(from.add(q * run), to, run);
                        } else {
                            pen.copy(from.add(q * run), to, run);
                        }
                        to = to.add(run);
                    }
                }
            }
        }
        // SAFETY: what was copied last is still writable.
        unsafe { pen.lift() };
    }
}

/// How many bytes ahead are asked for in each of so many rows.
fn ahead(rows: usize) -> usize {
    let (least, most) = ROW_AHEAD;
    // Intel's CPUs were measured with these.
    if waits() {
        return least;
    }
    (AHEAD / rows).clamp(least, most)
}

/// Asks for the lines that begin in these bytes: so every line of bytes that follow one another is asked for once.
#[inline(always)]
fn ask(start: *const u8, bytes: usize, line_at: impl Fn(*const u8)) {
    let end = start.wrapping_add(bytes);
    let mut line = start.map_addr(|start| start.next_multiple_of(LINE));
    while line < end {
        line_at(line);
        line = line.wrapping_add(LINE);
    }
}
