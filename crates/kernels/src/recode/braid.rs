//! Few rows of packed elements that become runs, and runs that become few rows: what the last tile of `T(8,128)(8,1)E(4)`
//! and its like does.
//!
//! ```text
//! for a strip of some lines of every row, forward:
//!     join:  rows are read once and mixed, so that a byte has elements of one column, into the first-level cache
//!            from there their bytes are interleaved, and runs are written
//!     split: the bytes of runs are taken apart into rows in the first-level cache
//!            those are mixed, so that a byte has elements of one row, and whole lines of every row are written
//! ```
//!
//! Rows go on from one run to the next, where runs lie apart. So every row is one stream, and there are few of them.

mod join;
mod split;

use std::marker::PhantomData;
use std::ops::Range;

use super::half::Half;
use super::recipe::Bits;
use super::rewrite::Place;
use super::roles::Roles;
use crate::isa::Isa;
use crate::kernel::Kernel;
use crate::nest::Loop;
use crate::simd::{LANE, LINE};
use join::Join;
use split::Split;

/// Bytes of all rows in a strip.
const STRIP: usize = 8 << 10;
/// The most of one row.
const LONGEST: usize = 1 << 10;
#[derive(Debug, Clone)]
pub(crate) struct Braid {
    /// Bits of an element.
    bits: usize,
    /// Rows: 2, 4, 8, 16 or 32, and whole bytes of every column.
    rows: usize,
    /// Bits from one row to the next.
    stride: isize,
    /// Bits of a row.
    row: usize,
    /// Bytes of a row that are of one run. If there are more runs, whole lanes.
    part: usize,
    /// Bytes from one run to the next.
    apart: isize,
    /// Rows to runs; otherwise runs to rows.
    join: bool,
    stream: bool,
    /// Loops around, in bits.
    outer: Vec<Loop>,
    isa: Isa,
}

impl Braid {
    /// The rows and the run that a box's loops have, whose first element is at this bit of the source; `None` if it has
    /// others, or ones for which this is not the way.
    pub(super) fn new(bits: &Bits<'_>, roles: &Roles, source: isize) -> Option<Braid> {
        let way = |join| Braid::one_way(bits, roles, source, join);
        way(true).or_else(|| way(false))
    }

    fn one_way(bits: &Bits<'_>, roles: &Roles, source: isize, join: bool) -> Option<Braid> {
        let (row, column) = (*roles.rows.first()?, *roles.columns.first()?);
        let (few, long) = if join { (row, column) } else { (column, row) };
        // Strides where the rows are, and where the runs are.
        let apart = |l: &Loop| if join { l.source } else { l.destination };
        let along = |l: &Loop| if join { l.destination } else { l.source };
        let (rows, width) = (bits.loops[few].extent, bits.from);
        let mut row = bits.loops[long].extent * width;
        let starts = if join { bits.on_byte } else { source % 8 == 0 };
        let mut outer: Vec<Loop> = (0..bits.loops.len())
            .filter(|&i| i != few && i != long)
            .map(|i| bits.loops[i])
            .collect();
        if !matches!(rows, 2 | 4 | 8 | 16 | 32)
            || rows * width < 8
            || along(&bits.loops[long]) != (rows * width) as isize
            || row < 8 * LANE
            || !starts
            || !outer.iter().all(|l| along(l) % 8 == 0)
        {
            return None;
        }
        let part = row.div_ceil(8);
        let mut step = 0;
        if row.is_multiple_of(8 * LANE)
            && let Some(next) = outer.iter().position(|l| apart(l) == row as isize)
        {
            let next = outer.remove(next);
            row *= next.extent;
            step = along(&next) / 8;
        }
        outer.sort_by_key(|l| std::cmp::Reverse(apart(l).unsigned_abs()));
        Some(Braid {
            bits: width,
            rows,
            stride: apart(&bits.loops[few]),
            row,
            part,
            apart: step,
            join,
            stream: bits.stream,
            outer,
            isa: bits.isa,
        })
    }

    /// Bytes of a row in a strip: whole lines.
    fn strip(&self) -> usize {
        (STRIP / self.rows).min(LONGEST)
    }

    /// Bytes from one mixed row to the next.
    fn pitch(&self) -> usize {
        self.strip() + LINE
    }

    /// Bytes from one row that is to be written to the next: the line before the strip, the strip, and a line behind.
    fn row_pitch(&self) -> usize {
        self.strip() + 3 * LINE
    }

    pub(super) fn kernel(&self) -> Kernel {
        Kernel::Braid {
            bits: self.bits,
            rows: self.rows,
            isa: self.isa.name(),
        }
    }

    /// Bytes of memory that a run needs.
    pub(super) fn scratch(&self) -> usize {
        let mixed = self.rows * self.pitch();
        match self.join {
            true => 2 * mixed,
            false => mixed + self.rows * (self.row_pitch() + LANE),
        }
    }

    /// Where the runs have what begins at this byte of the rows.
    #[inline(always)]
    fn place(&self, byte: usize) -> isize {
        (byte / self.part) as isize * self.apart + (byte % self.part * self.rows) as isize
    }

    /// A walk over the lanes of the runs, from one of the rows' bytes on.
    #[inline(always)]
    fn lanes(&self, byte: usize) -> Lanes<'_> {
        Lanes {
            braid: self,
            run: (byte / self.part) as isize * self.apart,
            byte: byte % self.part,
        }
    }

    /// Whether rows are written, so that a window of the destination may have some of those that are made together.
    pub(super) fn writes_rows(&self) -> bool {
        !self.join
    }

    /// Moves the box; of one that writes rows, what is in a window of the destination, in bits from its base.
    ///
    /// # Safety
    ///
    /// Every bit that the loops touch is readable from this place on, and writable there if it is in the window, with the
    /// whole bytes that have bits of an element. `scratch` bytes are writable at `stage`, which is on a line. No two of the
    /// three overlap.
    pub(super) unsafe fn run(
        &self,
        from: Place<*const u8>,
        to: Place<*mut u8>,
        window: Range<isize>,
        stage: *mut u8,
    ) {
        let run = Run {
            braid: self,
            from,
            to,
            next: self.outer.last().map_or(0, |l| l.source),
            window: &window,
            stage,
        };
        // SAFETY: the caller's promise.
        unsafe { run.each(&self.outer) }
    }
}

/// Where the runs have what becomes of each lane of the rows, in turn.
#[derive(Clone, Copy)]
struct Lanes<'a> {
    braid: &'a Braid,
    run: isize,
    byte: usize,
}

impl Lanes<'_> {
    #[inline(always)]
    fn next(&mut self) -> isize {
        let here = self.run + (self.byte * self.braid.rows) as isize;
        self.byte += LANE;
        if self.byte == self.braid.part {
            (self.run, self.byte) = (self.run + self.braid.apart, 0);
        }
        here
    }
}

/// One iteration of the loops around.
///
/// # Safety (of running it)
///
/// As [`Braid::run`], for one iteration.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    braid: &'a Braid,
    from: Place<*const u8>,
    to: Place<*mut u8>,
    /// Bits to what is read in the next iteration, about.
    next: isize,
    window: &'a Range<isize>,
    stage: *mut u8,
}

impl Run<'_> {
    /// Runs every iteration of some loops that has something in the window.
    ///
    /// # Safety
    ///
    /// As [`Braid::run`].
    unsafe fn each(self, loops: &[Loop]) {
        let Some((l, inner)) = loops.split_first() else {
            // SAFETY: an iteration of the loops around.
            unsafe { crate::dispatch::braid(self.braid.isa, self) };
            return;
        };
        for i in self.touched(l, inner) {
            let run = Run {
                from: self.from.step(i * l.source),
                to: self.to.step(i * l.destination),
                ..self
            };
            // SAFETY: an iteration.
            unsafe { run.each(inner) };
        }
    }

    /// The iterations of a loop around others that touch the window.
    fn touched(&self, l: &Loop, inner: &[Loop]) -> Range<isize> {
        let braid = self.braid;
        let all = 0..l.extent as isize;
        if braid.join || l.destination == 0 {
            return all;
        }
        let last = |l: &Loop| (l.extent - 1) as isize * l.destination;
        let rows = (braid.rows - 1) as isize * braid.stride + braid.row as isize;
        let span = rows + inner.iter().map(last).sum::<isize>();
        // Those before the first end where the window starts or earlier; the one behind the last begins at its end.
        let before = (self.window.start - span - self.to.bit).div_euclid(l.destination) + 1;
        let behind = (self.window.end - 1 - self.to.bit).div_euclid(l.destination) + 1;
        before.clamp(0, all.end)..behind.clamp(0, all.end)
    }
}

/// Moves an iteration with the vectors of an instruction set.
///
/// # Safety
///
/// As [`Run`]; the CPU has the set.
pub(crate) unsafe fn braid<S: Half>(run: Run<'_>) {
    let set = PhantomData;
    // SAFETY: the caller's promise.
    unsafe {
        match run.braid.join {
            true => S::enter(Join::<S> { run, set }),
            false => S::enter(Split::<S> { run, set }),
        }
    }
}
