//! Matrices whose elements are packed, or become other numbers, and change their order: a line of the destination at a
//! time.
//!
//! ```text
//! for a strip of rows, some lines of every column:
//!     for some columns, a line or more of every row, forward:
//!         for each line of the strip:
//!             rows are read once, whole lines, and written anew into the first-level cache as squares
//!             squares are transposed from there
//!         whole lines are written to each column, from any bit on
//! ```
//!
//! Reading and writing take turns, so that what is asked for ahead comes while lines are written. More rows than the CPU's
//! prefetcher follows are read in pieces of some lines, one row after the other, the next few asked for meanwhile.
//!
//! Where columns do not begin on lines, the two outer loops change places: with every strip its columns keep their last line,
//! which the next strip begins with. So no line is written in two parts, but at a column's ends, and no row is read twice.
//! Within the caches columns are written by ordinary stores, wherever they begin.
//!
//! Both kinds of work are functions of their own: as one, what is done for a column takes registers from what is done for rows.

use std::marker::PhantomData;

use super::column::{Asked, Columns};
use super::half::Half;
use super::pass::walk;
use super::reading::{BITS, Numbers, Packed, Reading, Rows, Squares, some, square_bytes};
use super::rewrite::Place;
use super::roles::Roles;
use super::way::{NarrowBfloat, NarrowHalf, Way, WidenBfloat, WidenHalf};
use crate::axis::{Axis, JOINED};
use crate::isa::Isa;
use crate::nest::Loop;
use crate::simd::{LINE, Work};
use crate::tuning::{Caches, followed, is_zen, is_zen3, is_zen5};

/// The most lines of a strip.
const LINES: usize = 8;
/// The part of the second-level cache that a step's rows and columns take, where the CPU's prefetcher follows all rows: as
/// much again is asked for meanwhile. Where rows cut lines, the part that is asked for, at most.
const SHARE: usize = 4;
/// Bytes that are read of a row, and then of the next, where the CPU's prefetcher does not follow all rows,
const PIECE: usize = 512;
/// and where it does, but rows cut lines: the line at either end of a piece is read twice. On a Zen 4 pieces of a line took up
/// to 1.4 times as long, those of 512 bytes were no better.
const CUT_PIECE: usize = 256;
/// Lines of a strip of columns that cut lines. With eight, what is staged of columns and the rows that are asked for meanwhile
/// do not fit into a Zen 4's second-level cache: u2[16383,16381] to columns took 1.03 to 1.09 times as long.
const CUT_LINES: usize = 4;
/// Columns that are staged then, at most. Each lies on pages of its own, which are in use until the last strip, beside those of
/// rows: with twice as many, all of 4 KiB where a host gives no others, a Zen 4 had too few places to look them up from, and
/// took twice as long for u1[100003,8009].
const CUT_COLUMNS: usize = 1024;
/// Bytes of columns that are staged where the CPU's prefetcher does not follow all rows, about, but two lines of each at least,
/// and four where they cut lines: with what is read, a part of the second-level cache. Of 2 MiB of it, 320 KiB did better than
/// twice as much.
const ROOM: usize = 320 << 10;
/// Columns that are staged then, at most.
const COLUMNS: usize = 2048;

#[derive(Debug, Clone)]
pub(crate) struct Panel {
    unit: Unit,
    /// Source offsets by place in the destination's runs, in bits.
    rows: Axis,
    /// Destination offsets by place in the source's runs, in bits.
    columns: Axis,
    others: Vec<Loop>,
    /// Whether all columns lie alike on lines.
    alike: bool,
    /// Steps of columns that are read of a row at once.
    wide: usize,
    /// Lines of a strip.
    lines: usize,
    /// Rows that are asked for while those before them are read; if 0, all are while columns are written.
    far: usize,
    /// Whether lines are written past the caches; if not, columns may cut them.
    stream: bool,
    isa: Isa,
}

/// What becomes of elements, which says how many rows and columns are read at once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    /// Of 1, 2 or 4 bits in the destination, and as many or 8 in the source.
    Packed(usize, usize),
    /// Numbers, by one of the ways between 2 and 4 bytes.
    Numbers(Way),
}

impl Unit {
    /// Bits of an element on either side.
    fn bits(self) -> (usize, usize) {
        match self {
            Unit::Packed(from, to) => (from, to),
            Unit::Numbers(way) => way.bits(),
        }
    }

    /// Rows that make a line of the destination, and columns of a step: whole lines of them in squares.
    pub(super) fn step(self) -> (usize, usize) {
        let (from, to) = self.bits();
        (BITS / to, BITS / from.min(to))
    }

    /// Bytes of rows ahead that are asked for where the CPU's prefetcher does not follow all rows. Of numbers, a whole row is
    /// asked for at once, and many such requests would hold up the reads behind them.
    fn ahead(self) -> usize {
        match self {
            Unit::Packed(..) => 16 << 10,
            Unit::Numbers(_) => 4 << 10,
        }
    }

    /// On AMD's, the steps of so many bytes that are read of a row and then of the next, at most so many, the lines of a strip,
    /// if not so many, and the rows that are asked for while those before them are read. Rows of 512 bytes are followed anyway.
    /// Of u4 and u2 a step in strips half as tall took a Zen 5 1.1 times as long; of bits, whose columns are the most, taller ones
    /// do, but a Zen 3's caches would have two lines of each column, and u1[24576,16384] to columns took 15.3 ms by these, 13.4 by
    /// four. A Zen 4 takes so 10.5 ms for u4[8192,24576] to columns, and 12.7 as others do. Of numbers it has all rows asked for while
    /// columns are written: f32[8192,4096] to bf16 columns took 8.6 ms so and 12.6 by a few rows at a time.
    fn zen(self, step: usize, most: usize, lines: usize) -> (usize, usize, usize) {
        const AHEAD: usize = 8 << 10;
        const ZEN3_LINES: usize = 4;
        let (wide, lines) = match self {
            Unit::Packed(from, to) if from == to && to > 1 => (most.min(2), LINES),
            Unit::Packed(1, 1) if is_zen3() => (1, lines.max(ZEN3_LINES)),
            Unit::Packed(..) => (1, lines),
            Unit::Numbers(_) => (most.min(4), lines),
        };
        let far = match self {
            Unit::Packed(..) if step >= PIECE => 0,
            Unit::Numbers(_) if !is_zen5() => 0,
            _ => AHEAD / (wide * step),
        };
        (wide, lines, far)
    }

    /// Whether strips are [`zen`](Unit::zen)'s also where columns cut lines.
    fn cuts_as_zen(self) -> bool {
        let (from, to) = self.bits();
        matches!(self, Unit::Numbers(_)) && (to < from || !is_zen5())
    }

    /// Bytes of the squares of a step.
    fn squares(self) -> usize {
        match self {
            Unit::Packed(_, to) => 8 / to * square_bytes(1),
            Unit::Numbers(way) => {
                let (from, to) = way.bits();
                (to / from).max(1) * square_bytes(to / 8)
            }
        }
    }
}

/// Where the parts of the scratch lie.
#[derive(Clone, Copy)]
struct Scratch {
    /// Rows written anew, as squares: a line of each row after the other.
    squares: *mut u8,
    /// A column after the other.
    columns: *mut u8,
    /// The rows of this strip, and of the next one.
    rows: [*mut isize; 2],
}

impl Panel {
    /// A panel of some loops' rows and columns, the innermost of which comes first. `None` if there is no whole step of
    /// them.
    pub(super) fn new(
        unit: Unit,
        loops: &[Loop],
        roles: &Roles,
        stream: bool,
        isa: Isa,
    ) -> Option<Panel> {
        let axis = |which: &[usize], stride: fn(&Loop) -> isize, least: usize| {
            let (&first, more) = which.split_first()?;
            let mut axis = Axis::new(loops[first].extent, stride(&loops[first]));
            for &i in more {
                axis.join(loops[i].extent, stride(&loops[i]));
            }
            (axis.len >= least).then_some(axis)
        };
        let kept = |which: &'_ [usize]| which[..which.len().min(JOINED)].to_vec();
        let (rows, columns) = (kept(&roles.rows), kept(&roles.columns));
        let (row_step, column_step) = unit.step();
        let other = |i: &usize| !rows.contains(i) && !columns.contains(i);
        let others: Vec<Loop> = (0..loops.len()).filter(other).map(|i| loops[i]).collect();
        let columns = axis(&columns, |l| l.destination, column_step)?;
        let alike = columns.is_multiple_of(BITS as isize)
            && others.iter().all(|l| l.destination % BITS as isize == 0);
        let read = column_step * unit.bits().0 / 8;
        let most = (COLUMNS / column_step).min(columns.len / column_step);
        let second = Caches::of_this_cpu().second;
        let line = row_step * read + column_step * LINE;
        let lines = (second / SHARE / line).clamp(1, LINES);
        let (wide, lines, far) = if followed() < row_step * LINES {
            let wide = PIECE.div_ceil(read).min(most);
            let least = if alike { 3 } else { 1 + CUT_LINES };
            let lines = (ROOM / (wide * column_step * LINE)).clamp(least, LINES + 1) - 1;
            (wide, lines, unit.ahead() / (wide * read))
        } else if is_zen() && (alike || unit.cuts_as_zen()) {
            unit.zen(read, most, lines)
        } else if alike {
            (1, lines, 0)
        } else {
            let wide = CUT_PIECE
                .div_ceil(read)
                .min(CUT_COLUMNS / column_step)
                .min(most);
            let far = match unit {
                Unit::Packed(from, to) if from == to => 0,
                _ => second / SHARE / (wide * read),
            };
            (wide, CUT_LINES, far)
        };
        let rows = axis(&rows, |l| l.source, row_step)?;
        let lines = match stream {
            true => lines,
            false => lines.min(rows.len.div_ceil(row_step)),
        };
        Some(Panel {
            unit,
            rows,
            columns,
            others,
            alike,
            wide,
            lines,
            far,
            stream,
            isa,
        })
    }

    /// Bytes of memory that a run needs.
    pub(super) fn scratch(&self) -> usize {
        let (rows, columns) = self.unit.step();
        self.wide * (self.unit.squares() + columns * self.pitch())
            + 2 * rows * self.lines * size_of::<isize>()
    }

    /// Bytes of a staged column: the lines of a strip, and the one before it.
    fn pitch(&self) -> usize {
        (1 + self.lines) * LINE
    }

    /// Moves the panel.
    ///
    /// # Safety
    ///
    /// Every bit that the loops touch is readable and writable from these places on, of the destination the whole bytes
    /// that have bits of an element. `scratch` bytes are writable at `stage`, which is on a line. No two of the three
    /// overlap.
    pub(super) unsafe fn run(&self, from: Place<*const u8>, to: Place<*mut u8>, stage: *mut u8) {
        let (row_step, column_step) = self.unit.step();
        // SAFETY: the parts that `scratch` adds up.
        let scratch = unsafe {
            let columns = stage.add(self.wide * self.unit.squares());
            let rows = columns
                .add(self.wide * column_step * self.pitch())
                .cast::<isize>();
            Scratch {
                squares: stage,
                columns,
                rows: [rows, rows.add(self.lines * row_step)],
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
    macro_rules! enter {
        ($reading:ty) => {
            S::enter(Elements::<S, $reading> {
                run,
                set: PhantomData,
            })
        };
    }
    // SAFETY: the caller's promise.
    unsafe {
        match run.panel.unit {
            Unit::Packed(4, 4) => enter!(Packed<2, 2>),
            Unit::Packed(2, 2) => enter!(Packed<4, 4>),
            Unit::Packed(1, 1) => enter!(Packed<8, 8>),
            Unit::Packed(8, 4) => enter!(Packed<2, 1>),
            Unit::Packed(8, 2) => enter!(Packed<4, 1>),
            Unit::Packed(_, _) => enter!(Packed<8, 1>),
            Unit::Numbers(Way::NarrowHalf) => enter!(Numbers<NarrowHalf>),
            Unit::Numbers(Way::WidenHalf) => enter!(Numbers<WidenHalf>),
            Unit::Numbers(Way::NarrowBfloat) => enter!(Numbers<NarrowBfloat>),
            Unit::Numbers(_) => enter!(Numbers<WidenBfloat>),
        }
    }
}

/// # Safety (of `work`)
///
/// As [`Run`].
struct Elements<'a, S, R> {
    run: Run<'a>,
    set: PhantomData<(S, R)>,
}

impl<S: Half, R: Reading> Work for Elements<'_, S, R> {
    #[inline(always)]
    unsafe fn work(self) {
        let Run {
            panel,
            from,
            to,
            scratch,
        } = self.run;
        // Rows of a line, and columns of a step.
        let (line, step) = (BITS / R::TO, BITS / R::FROM.min(R::TO));
        let (rows, columns) = (panel.rows.len, panel.columns.len);
        let (lines, pitch) = (panel.lines, panel.pitch());
        let strip = lines * line;
        let on_lines =
            panel.alike && (to.base as usize * 8).wrapping_add_signed(to.bit) % BITS == 0;
        // Whether columns cut lines that are written whole.
        let cut = panel.stream && !on_lines;
        // Rows that cut lines are read from two of them each.
        let near = cut && is_zen();
        // Whether some rows begin within bytes where one at offset 0 does not.
        let within = !panel.rows.is_multiple_of(8);
        // Whether columns end inside lines.
        let ragged = cut || !(rows * R::TO).is_multiple_of(BITS);
        let order = Order {
            // A strip past the last row ends the last lines of columns that begin up to a line before row 0.
            rows: if cut { rows + line } else { rows },
            columns,
            strip,
            down: cut,
        };
        let [mut here, mut next] = scratch.rows;
        // SAFETY: each table is a part of the scratch of its own, on a line or a multiple of eight rows behind one, so aligned, with room
        // for the rows of a strip; scratch is zeroed when it is made, so they are numbers. A table is borrowed once at a time: that
        // of the rows here is written before they are read, and the other one while they are.
        let table = |at: *mut isize| unsafe { std::slice::from_raw_parts_mut(at, strip) };
        panel.rows.read(0, table(here));
        // Lines that have no row are not made.
        let made = |row: usize| lines.min(rows.saturating_sub(row).div_ceil(line)) * line;
        // The last columns are moved back to be whole steps; some are written twice.
        let steps = |column: usize| {
            let wide = panel.wide.min((columns - column).div_ceil(step));
            (column.min(columns - wide * step), wide)
        };
        let (mut row, mut column) = (0, 0);
        loop {
            let (first, wide) = steps(column);
            let then = order.after(row, column, wide * step);
            let rows_here = &*table(here);
            let columns_from = from.step((first * R::FROM) as isize);
            for l in 0..made(row) / line {
                // SAFETY: rows of the panel; columns of it, as so many steps of them are left. The scratch has the squares of so
                // many steps, from a line on, and of each staged column a line before those of the strip, of which this is number `l`. The
                // CPU has the set, as it runs this.
                unsafe {
                    S::enter(Squares::<S, R> {
                        rows: Rows {
                            from: columns_from,
                            offsets: &rows_here[l * line..(l + 1) * line],
                            ahead: match panel.far {
                                0 => &[],
                                far => some(&rows_here[..made(row)], l * line + far, line),
                            },
                            near,
                            within: within || columns_from.bit % 8 != 0,
                        },
                        wide,
                        squares: scratch.squares,
                        columns: scratch.columns.add((1 + l) * LINE),
                        pitch,
                        set: PhantomData,
                    });
                }
            }
            // What is read next comes while columns are written.
            let asked = match then {
                None => Asked::nothing(from),
                Some((later, column)) => {
                    let rows = match later == row {
                        true => rows_here,
                        false => {
                            panel.rows.read(later as isize, table(next));
                            &*table(next)
                        }
                    };
                    let (first, wide) = steps(column);
                    Asked {
                        from: from.step((first * R::FROM) as isize),
                        rows: match panel.far {
                            0 => &rows[..made(later)],
                            far => some(&rows[..made(later)], 0, far),
                        },
                        bits: wide * step * R::FROM,
                        first: later != row,
                    }
                }
            };
            // SAFETY: columns of the panel, writable by the caller's promise. What the strip has of them is staged, behind the line
            // that the strip before kept if they cut lines; before the first are the squares, and behind the last the tables of
            // rows. If they do not, there is a row in every strip. The stage is a part of the scratch, writable, and nobody else's while
            // this runs. The CPU has the set.
            unsafe {
                S::enter(Columns::<S> {
                    axis: &panel.columns,
                    range: first..first + wide * step,
                    staged: scratch.columns,
                    pitch,
                    to,
                    strip: row * R::TO,
                    lines,
                    end: rows * R::TO,
                    stream: panel.stream,
                    own: (row == 0 && cut, row + strip >= order.rows && ragged),
                    keep: cut,
                    asked,
                    set: PhantomData,
                });
            }
            let Some((later, column_then)) = then else {
                return;
            };
            if later != row {
                std::mem::swap(&mut here, &mut next);
            }
            (row, column) = (later, column_then);
        }
    }
}

/// In which order strips and columns are moved.
struct Order {
    rows: usize,
    columns: usize,
    /// Rows of a strip.
    strip: usize,
    /// Whether all strips of some columns follow one another; if not, all columns of a strip do.
    down: bool,
}

impl Order {
    /// The row and the column that come after those of a strip and so many columns.
    #[inline(always)]
    fn after(&self, row: usize, column: usize, width: usize) -> Option<(usize, usize)> {
        let (row_then, column_then) = (row + self.strip, column + width);
        let (is_row, is_column) = (row_then < self.rows, column_then < self.columns);
        match self.down {
            true if is_row => Some((row_then, column)),
            true => is_column.then_some((0, column_then)),
            false if is_column => Some((row, column_then)),
            false => is_row.then_some((row_then, 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All strips of all columns come once, and either the strips of some columns one after another, or the columns of a strip.
    #[test]
    fn every_strip_of_every_column_comes_once() {
        for down in [false, true] {
            let order = Order {
                rows: 23,
                columns: 17,
                strip: 8,
                down,
            };
            let after =
                |&(row, column): &(usize, usize)| order.after(row, column, 5.min(17 - column));
            let places: Vec<_> = std::iter::successors(Some((0, 0)), after)
                .take(100)
                .collect();
            let (rows, columns) = ([0, 8, 16], [0, 5, 10, 15]);
            let expected: Vec<(usize, usize)> = match down {
                true => columns.iter().flat_map(|&c| rows.map(|r| (r, c))).collect(),
                false => rows.iter().flat_map(|&r| columns.map(|c| (r, c))).collect(),
            };
            assert_eq!(places, expected, "down: {down}");
        }
    }
}
