//! Matrices of packed elements that change their order, a line of the destination at a time.
//!
//! ```text
//! for a strip of rows, some lines of every column:      offsets of the rows are made once
//!     for each line's worth of columns, forward:        a line of every row is read once, whole
//!         for each line of the strip:
//!             rows are mixed into the first-level cache, and bytes transposed from there
//!         whole lines are written to each column, from any bit on
//! ```
//!
//! Reading and writing take turns line by line, so that what is asked for ahead comes while lines are written. Columns
//! do not begin on lines: they are staged with the line just before the strip, whose rows are read twice, the second time from
//! a cache: so no line is written in two parts, but at a column's ends.

use std::marker::PhantomData;

use super::half::Half;
use super::keep::{self, keep};
use super::mix::{Lines, swap};
use super::pass::walk;
use super::rewrite::Place;
use super::words::Words;
use crate::axis::{Axis, JOINED};
use crate::block::square;
use crate::isa::Isa;
use crate::nest::Loop;
use crate::simd::{LINE, Vector, Work, prefetch};

/// Lines of a strip.
const LINES: usize = 4;
/// Bytes of a staged column: the lines of a strip, and the one before it.
const PITCH: usize = (1 + LINES) * LINE;
/// Bits of a line.
const BITS: usize = 8 * LINE;

#[derive(Debug, Clone)]
pub(crate) struct Panel {
    /// Bits of an element: 2 or 4.
    bits: usize,
    /// Source offsets by place in the destination's runs, in bits.
    rows: Axis,
    /// Destination offsets by place in the source's runs, in bits.
    columns: Axis,
    others: Vec<Loop>,
    isa: Isa,
}

/// Where the parts of the scratch lie.
#[derive(Clone, Copy)]
struct Scratch {
    /// Mixed rows: for each element of a byte, a square of a line's bytes.
    mixed: *mut u8,
    /// A column after the other.
    columns: *mut u8,
    /// The rows of this strip, and of the next one.
    rows: [*mut isize; 2],
}

impl Panel {
    /// A panel of some loops' rows and columns, the innermost of which comes first. `None` if either are less than a line,
    /// if all columns lie alike on lines, so that there is nothing to shift, or if rows of that many elements to a byte
    /// would not fit the second-level cache.
    pub(super) fn new(
        bits: usize,
        loops: &[Loop],
        rows: &[usize],
        columns: &[usize],
        isa: Isa,
    ) -> Option<Panel> {
        let axis = |which: &[usize], stride: fn(&Loop) -> isize| {
            let (&first, more) = which.split_first()?;
            let mut axis = Axis::new(loops[first].extent, stride(&loops[first]));
            for &i in more {
                axis.join(loops[i].extent, stride(&loops[i]));
            }
            (axis.len * bits >= BITS).then_some(axis)
        };
        let kept = |which: &'_ [usize]| which[..which.len().min(JOINED)].to_vec();
        let (rows, columns) = (kept(rows), kept(columns));
        let alike = columns
            .iter()
            .all(|&i| loops[i].destination % BITS as isize == 0);
        if alike || bits == 1 {
            return None;
        }
        let other = |i: &usize| !rows.contains(i) && !columns.contains(i);
        Some(Panel {
            bits,
            rows: axis(&rows, |l| l.source)?,
            columns: axis(&columns, |l| l.destination)?,
            others: (0..loops.len()).filter(other).map(|i| loops[i]).collect(),
            isa,
        })
    }

    /// Rows, and as many columns, of a line.
    fn line(&self) -> usize {
        BITS / self.bits
    }

    /// Bytes of memory that a run needs.
    pub(super) fn scratch(&self) -> usize {
        self.line() * (LINE + PITCH + 2 * (1 + LINES) * size_of::<isize>())
    }

    /// Moves the panel.
    ///
    /// # Safety
    ///
    /// Every bit that the loops touch is readable and writable from these places on, of the destination the whole bytes
    /// that have bits of an element. `scratch` bytes are writable at `stage`, which is on a line. No two of the three
    /// overlap.
    pub(super) unsafe fn run(&self, from: Place<*const u8>, to: Place<*mut u8>, stage: *mut u8) {
        let line = self.line();
        // SAFETY: the parts that `scratch` adds up.
        let scratch = unsafe {
            let columns = stage.add(line * LINE);
            let rows = columns.add(line * PITCH).cast::<isize>();
            Scratch {
                mixed: stage,
                columns,
                rows: [rows, rows.add((1 + LINES) * line)],
            }
        };
        walk(&self.others, from, to, &mut |from, to| {
            let run = Run {
                panel: self,
                from,
                to,
                scratch,
            };
            // SAFETY: an iteration of the loops around.
            unsafe { crate::dispatch::panel(self.isa, run) }
        });
    }
}

/// One iteration of the loops around.
///
/// # Safety (of running it)
///
/// As [`Panel::run`], for one iteration of the others.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    panel: &'a Panel,
    from: Place<*const u8>,
    to: Place<*mut u8>,
    scratch: Scratch,
}

/// Moves a panel with the vectors of an instruction set.
///
/// # Safety
///
/// As [`Run`]; the CPU has the set.
pub(crate) unsafe fn panel<S: Half>(run: Run<'_>) {
    let set = PhantomData::<S>;
    // SAFETY: the caller's promise.
    unsafe {
        match run.panel.bits {
            4 => S::enter(Elements::<S, 2> { run, set }),
            _ => S::enter(Elements::<S, 4> { run, set }),
        }
    }
}

/// # Safety (of `work`)
///
/// As [`Run`], with `N` elements to a byte.
struct Elements<'a, S, const N: usize> {
    run: Run<'a>,
    set: PhantomData<S>,
}

impl<S: Half, const N: usize> Work for Elements<'_, S, N> {
    #[inline(always)]
    unsafe fn work(self) {
        let Run {
            panel,
            from,
            to,
            scratch,
        } = self.run;
        let (bits, line) = (8 / N, LINE * N);
        let (rows, columns) = (panel.rows.len, panel.columns.len);
        let (strip, count) = (LINES * line, (1 + LINES) * line);
        let [mut here, mut next] = scratch.rows;
        let load = |row: usize, table: *mut isize| {
            // SAFETY: a table has room for the rows of a strip and of the line before it.
            let table = unsafe { std::slice::from_raw_parts_mut(table, count) };
            panel.rows.read(row as isize - line as isize, table);
        };
        let mut to_columns = [0isize; BITS];
        let to_columns = &mut to_columns[..line];
        load(0, next);
        let mut row = 0;
        // A strip past the last row ends the last lines of columns that begin up to a line before row 0.
        while row < rows + line {
            std::mem::swap(&mut here, &mut next);
            let more = row + strip < rows + line;
            if more {
                load(row + strip, next);
            }
            // Lines that have no row are not made.
            let low = usize::from(row == 0);
            let high = 1 + LINES.min(rows.saturating_sub(row).div_ceil(line));
            let mut column = 0;
            while column < columns {
                // The last columns are moved back to be a line; some are written twice.
                column = column.min(columns - line);
                panel.columns.read(column as isize, to_columns);
                let last = column + line >= columns;
                let (asked, at) = match last {
                    true => (next, 0),
                    false => (here, (column + line).min(columns - line)),
                };
                for l in low..high {
                    // SAFETY: rows of the table, all of the panel; columns of it, as `line` are left.
                    unsafe {
                        let rows_of = std::slice::from_raw_parts(here.add(l * line), line);
                        mix::<S, N>(from.step((column * bits) as isize), rows_of, scratch.mixed);
                        for part in 0..N {
                            if !last || more {
                                let asked = asked.add(l * line + part * LINE);
                                ask(from.step((at * bits) as isize), asked, last);
                            }
                            let mixed = scratch.mixed.add(part * LINE * LINE);
                            let columns = scratch.columns.add(part * PITCH + l * LINE);
                            transpose::<S>(mixed, columns, N * PITCH);
                        }
                    }
                }
                for (i, &offset) in to_columns.iter().enumerate() {
                    let column = Column {
                        // SAFETY: a staged column.
                        staged: unsafe { scratch.columns.add(i * PITCH) },
                        to: to.step(offset),
                        end: rows * bits,
                    };
                    // SAFETY: the column's bits that are in the strip's lines are staged.
                    unsafe { column.write::<S>(row * bits) };
                }
                column += line;
            }
            row += strip;
        }
    }
}

/// Mixes rows of a line each.
///
/// # Safety
///
/// The rows are readable; of each, `N` squares of lines are writable at `to`.
#[inline(always)]
unsafe fn mix<S: Half, const N: usize>(from: Place<*const u8>, rows: &[isize], to: *mut u8) {
    for (group, rows) in rows.chunks_exact(N).enumerate() {
        let lines = Group {
            from,
            rows,
            // SAFETY: a line of the first square.
            to: unsafe { to.add(group * LINE) },
        };
        // SAFETY: the caller's promise.
        unsafe { swap::<S::Words, N>(8 / N, &lines, LINE) };
    }
}

/// Rows of a line each, to a line of each square.
struct Group<'a> {
    from: Place<*const u8>,
    rows: &'a [isize],
    to: *mut u8,
}

impl Lines for Group<'_> {
    #[inline(always)]
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W {
        let (byte, bit) = self.from.step(self.rows[row]).byte();
        // SAFETY: a line from a bit on, whose last byte is one more where it does not begin a byte.
        unsafe {
            match bit {
                0 => W::load(byte.add(at)),
                _ => W::load_from(byte.add(at), bit),
            }
        }
    }

    #[inline(always)]
    unsafe fn put<W: Words>(&self, row: usize, at: usize, words: W) {
        // SAFETY: a line of a square.
        unsafe { words.store(self.to.add(row * LINE * LINE + at)) }
    }
}

/// Asks for the next line of as many rows as a square has.
///
/// # Safety
///
/// As many offsets are readable.
#[inline(always)]
unsafe fn ask(from: Place<*const u8>, rows: *const isize, first: bool) {
    for i in 0..LINE {
        // SAFETY: the caller's promise.
        let (byte, _) = from.step(unsafe { *rows.add(i) }).byte();
        // All but the last byte were in the line before.
        prefetch(byte.wrapping_add(LINE - 1));
        if first {
            prefetch(byte);
        }
    }
}

/// Transposes a square of a line's bytes to columns that lie `pitch` bytes apart.
///
/// # Safety
///
/// The square is readable, and a line writable for each column.
#[inline(always)]
unsafe fn transpose<S: Half>(square_at: *const u8, columns: *mut u8, pitch: usize) {
    let n = S::Wide::BYTES;
    for down in (0..LINE).step_by(n) {
        for along in (0..LINE).step_by(n) {
            // SAFETY: rows `down..` and columns `along..` of the square.
            unsafe {
                square::<S::Wide, 1>(
                    |i| square_at.add((down + i) * LINE + along),
                    |m, v: S::Wide| v.store(columns.add((along + m) * pitch + down)),
                );
            }
        }
    }
}

/// A column that is staged.
struct Column {
    staged: *const u8,
    to: Place<*mut u8>,
    /// Bits of the whole column.
    end: usize,
}

impl Column {
    /// Writes those lines of the destination that end in a strip that begins at a bit of the column.
    ///
    /// # Safety
    ///
    /// The column is writable, and all of its bits in those lines are staged.
    #[inline(always)]
    unsafe fn write<S: Half>(&self, strip: usize) {
        // Bits of the first line before the column.
        let shift = (self.to.base as usize * 8).wrapping_add_signed(self.to.bit) % BITS;
        for l in 0..LINES {
            let at = strip + l * BITS;
            let staged = Place {
                base: self.staged,
                bit: (BITS + l * BITS - shift) as isize,
            };
            // SAFETY: bits of the column.
            unsafe {
                if at >= shift && at - shift + BITS <= self.end {
                    let (to, _) = self.to.step((at - shift) as isize).byte();
                    keep::line::<S::Words>(staged, to);
                } else {
                    let begin = at.max(shift) - shift;
                    let end = (at + BITS).min(self.end + shift).max(shift) - shift;
                    if begin < end {
                        let staged = staged.step((begin + shift - at) as isize);
                        keep::<S>(staged, self.to.step(begin as isize), end - begin, false);
                    }
                }
            }
        }
    }
}
