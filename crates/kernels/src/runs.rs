//! Copies of runs that are contiguous on both sides, in two dimensions of runs.
//!
//! Run (p, q) lies at `rows(p) + q * run` in the source and at `columns(q) + p * run` in the destination: a plane whose
//! elements are runs. Walking it in strips reads each row forward and writes each column in long pieces, so short runs
//! cost little more than long ones. Above the cache, the runs ahead are prefetched. Long ones are streamed right from the
//! source; short ones are put together in the first-level cache and streamed from there, as many columns at once as fit:
//! so a good piece of each row is read, and asked for, before the next one's. Those of a few bytes, as pixels that change
//! their order, are put together there also where all is in the caches, but those whose blocks registers transpose: these go right to
//! their places then.

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::axis::Axis;
use crate::cell::{Cell, Gathered, Transposed};
use crate::copy::{copy, stream_near};
use crate::pen::Pen;
use crate::pieces::Room;
use crate::plane::{At, LARGE, WALK};
use crate::simd::{LINE, Set, Vector, Work, near, prefetch};
use crate::tuning::{is_zen5, waits};

mod direct;
mod number;
mod pieced;
mod short;
mod staged;
mod straight;

use direct::{Direct, fits};
use number::Number;
use pieced::Pieced;
use short::Short;
use staged::Together;
use straight::Straight;

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

/// Where the source of a box is, and what a copy of runs asks for of the box after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// In memory: each kernel sees to that by itself.
    Memory,
    /// In the caches. As much as is read is asked for of what comes next, from front to back.
    Front,
    /// In the caches. What comes next has its runs where this box has its, some way on: each asks for that one.
    Along,
}

/// Runs of a source that is in the caches, in the order of the destination.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// Bytes of a run.
    pub(crate) run: usize,
    pub(crate) stream: bool,
    pub(crate) source: Source,
    pub(crate) around: Around,
}

#[derive(Debug, Clone)]
pub(crate) struct Runs {
    /// Bytes of a run.
    pub(crate) run: usize,
    /// How a run is put in order, if its elements change places; then it is at most a stage long.
    pub(crate) cell: Option<Cell>,
    /// Whether it is written past the caches.
    pub(crate) stream: bool,
    /// Whether it asks for what is next in the source, as where that is not in the nearer caches.
    pub(crate) ask: bool,
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

    /// Whether they are long enough to be streamed from the source wherever they lie.
    pub(crate) fn are_long(&self) -> bool {
        self.run >= if waits() { LONG.0 } else { LONG.1 }
    }

    /// Whether they go right from the source to the destination.
    fn goes_straight(&self, at: &At) -> bool {
        self.stream && (self.are_long() || self.is_on_lines(at))
    }

    /// Whether all columns follow one another where a strip has so many rows.
    fn follows(&self, strip: usize) -> bool {
        self.rows.len <= strip && self.columns.first_stride() == (self.rows.len * self.run) as isize
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
        let InOrder { rows, at, .. } = self;
        // SAFETY: the caller's promise.
        unsafe {
            let mut copying = Copying::<V, STREAM> {
                run: rows.run,
                source: rows.source,
                upcoming: at.upcoming,
                on: (at.upcoming as isize).wrapping_sub(at.source as isize),
                pen: Pen::new(),
            };
            rows.around.walk(at.source, at.destination, &mut copying);
            copying.pen.lift();
        }
    }
}

/// # Safety (of `each`)
///
/// A run is readable and writable. Nothing else writes it before the pen is lifted.
struct Copying<V, const STREAM: bool> {
    run: usize,
    source: Source,
    /// What is asked for next from front to back, and how far on what comes next is.
    upcoming: *const u8,
    on: isize,
    pen: Pen<V>,
}

impl<V: Vector, const STREAM: bool> Each for Copying<V, STREAM> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let run = self.run;
        match self.source {
            Source::Memory => {}
            Source::Front => {
                ask(self.upcoming, run, near);
                self.upcoming = self.upcoming.wrapping_add(run);
            }
            Source::Along => ask(from.wrapping_offset(self.on), run, prefetch),
        }
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

/// Moves all runs, strip by strip.
///
/// # Safety
///
/// The CPU has the set. All runs are readable from `source` and writable from `destination`, and the two do not overlap.
pub(crate) unsafe fn run<S: Set>(runs: &Runs, at: &At) {
    // SAFETY: the caller's promise, passed on whole.
    unsafe {
        match &runs.cell {
            None if runs.pieced && runs.is_on_lines(at) => in_pieces::<S>(runs, at),
            None if runs.goes_straight(at) => {
                let vector = PhantomData::<S::Wide>;
                S::enter(Straight { runs, at, vector })
            }
            None => match runs.run {
                3 => numbers::<S, 4, 3>(runs, at),
                5 => numbers::<S, 8, 5>(runs, at),
                6 => numbers::<S, 8, 6>(runs, at),
                7 => numbers::<S, 8, 7>(runs, at),
                9..=16 => together::<S, _>(runs, at, Short::<16>),
                17..=32 => together::<S, _>(runs, at, Short::<32>),
                _ => together::<S, _>(runs, at, Same),
            },
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
                together::<S, _>(runs, at, Gathered(gather, PhantomData::<S::Wide>))
            }
            Cell::Gather(gather) if gather.fills::<S::Half>() => {
                together::<S, _>(runs, at, Gathered(gather, PhantomData::<S::Half>))
            }
            Cell::Gather(gather) => {
                together::<S, _>(runs, at, Gathered(gather, PhantomData::<S::Quarter>))
            }
            &Cell::Square(square) => {
                let vector = PhantomData::<S::Quarter>;
                match square.width {
                    1 => together::<S, _>(runs, at, Transposed::<_, 1>(square, vector)),
                    2 => together::<S, _>(runs, at, Transposed::<_, 2>(square, vector)),
                    4 => together::<S, _>(runs, at, Transposed::<_, 4>(square, vector)),
                    8 => together::<S, _>(runs, at, Transposed::<_, 8>(square, vector)),
                    _ => together::<S, _>(runs, at, Transposed::<_, 16>(square, vector)),
                }
            }
        }
    }
}

/// # Safety
///
/// As `run`, for runs of `R` bytes.
unsafe fn numbers<S: Set, const N: usize, const R: usize>(runs: &Runs, at: &At) {
    // SAFETY: the caller's promise; there is a block where `fits` says so.
    unsafe {
        if !runs.stream && fits::<Number<N, R>, S::Wide>(runs) {
            let block = PhantomData::<(Number<N, R>, S::Wide)>;
            S::enter(Direct { runs, at, block });
        } else {
            together::<S, _>(runs, at, Number::<N, R>);
        }
    }
}

/// # Safety
///
/// As `run`; the piece may be put wherever runs are.
unsafe fn together<S: Set, P: Piece>(runs: &Runs, at: &At, piece: P) {
    let vector = PhantomData::<S::Wide>;
    // SAFETY: the caller's promise.
    unsafe {
        S::enter(Together {
            runs,
            at,
            piece,
            vector,
        })
    }
}

/// What becomes of a run on its way to the stage.
pub(crate) trait Piece {
    /// # Safety
    ///
    /// As `copy`; the CPU has the vectors of the work.
    unsafe fn put<V: Vector>(&self, from: *const u8, to: *mut u8, length: usize);

    /// Whether `put_amid` is another way.
    const AMID: bool = false;

    /// How many columns are put at once, row by row; or 0 if a row's runs are put one after the other.
    const COLUMNS: usize = 0;

    /// Rows of a block.
    const BLOCK_ROWS: usize = 1;

    /// And its columns; 0 if there are no blocks.
    #[inline(always)]
    fn block_columns<V: Vector>() -> usize {
        0
    }

    /// As `put`, amid others: the run is neither the last of its row, nor of its column.
    ///
    /// # Safety
    ///
    /// As `put`; besides, as many bytes again, less one, are readable and writable.
    #[inline(always)]
    unsafe fn put_amid<V: Vector>(&self, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.put::<V>(from, to, length) }
    }

    /// Puts a block of these rows; `offset` is where in a row the first column's run is, and `to` where each column's first one goes.
    ///
    /// # Safety
    ///
    /// There are blocks. All runs of the block are readable and writable, those of a row one after the other, and those of a column.
    /// The CPU has `V`.
    #[inline(always)]
    unsafe fn put_block<V: Vector>(
        _from: &[*const u8],
        _offset: usize,
        _to: impl Fn(usize) -> *mut u8,
    ) {
        unreachable!("there are no blocks of these");
    }
}

struct Same;

impl Piece for Same {
    #[inline(always)]
    unsafe fn put<V: Vector>(&self, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy::<V>(from, to, length) }
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
pub(crate) fn ask(start: *const u8, bytes: usize, line_at: impl Fn(*const u8)) {
    let end = start.wrapping_add(bytes);
    let mut line = start.map_addr(|start| start.next_multiple_of(LINE));
    while line < end {
        line_at(line);
        line = line.wrapping_add(LINE);
    }
}
