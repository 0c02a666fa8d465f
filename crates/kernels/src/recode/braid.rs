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

use std::marker::PhantomData;

use super::half::Half;
use super::keep::keep;
use super::mix::{Lines, load_bits, swap};
use super::panel::Column;
use super::pass::walk;
use super::recipe::Bits;
use super::rewrite::Place;
use super::roles::Roles;
use super::words::Words;
use crate::block::turned;
use crate::isa::Isa;
use crate::nest::Loop;
use crate::pen::Pen;
use crate::simd::{LINE, Vector, Work, near};

/// Bytes of all rows in a strip.
const STRIP: usize = 8 << 10;
/// The most of one row.
const LONGEST: usize = 1 << 10;
/// Bytes of a row that become one lane of each vector.
const LANE: usize = 16;

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

    /// Moves the box.
    ///
    /// # Safety
    ///
    /// Every bit that the loops touch is readable and writable from these places on, of the destination the whole bytes
    /// that have bits of an element. `scratch` bytes are writable at `stage`, which is on a line. No two of the three
    /// overlap.
    pub(super) unsafe fn run(&self, from: Place<*const u8>, to: Place<*mut u8>, stage: *mut u8) {
        let next = self.outer.last().map_or(0, |l| l.source);
        walk(&self.outer, from, to, &mut |from, to| {
            let run = Run {
                braid: self,
                from,
                to,
                next,
                stage,
            };
            // SAFETY: an iteration of the loops around.
            unsafe { crate::dispatch::braid(self.isa, run) }
        });
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
    stage: *mut u8,
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

/// # Safety (of `work`)
///
/// As [`Run`].
struct Join<'a, S> {
    run: Run<'a>,
    set: PhantomData<S>,
}

impl<S: Half> Work for Join<'_, S> {
    #[inline(always)]
    unsafe fn work(self) {
        let Run {
            braid,
            from,
            to,
            next,
            stage,
        } = self.run;
        let (rows, strip, pitch) = (braid.rows, braid.strip(), braid.pitch());
        let (bytes, all) = (braid.row.div_ceil(8), braid.row * rows / 8);
        // SAFETY: strips of the rows and of the runs; the scratch has two parts of as many rows with a line more than a
        // strip has.
        unsafe {
            let to = to.base.offset(to.bit / 8);
            let runs = stage.add(rows * pitch);
            let on_lines = (to as usize | braid.apart as usize).is_multiple_of(LINE);
            let mut pen = Pen::<S::Wide>::new();
            for begin in (0..bytes).step_by(strip) {
                let end = bytes.min(begin + strip);
                let rows_here = Memory {
                    from: from.step(8 * begin as isize),
                    stride: braid.stride,
                    bits: braid.row - 8 * begin,
                    ahead: match end < bytes {
                        true => strip as isize,
                        false => next / 8 - begin as isize,
                    },
                };
                match braid.bits {
                    4 => read::<S, 2>(braid, &rows_here, stage, end - begin),
                    2 => read::<S, 4>(braid, &rows_here, stage, end - begin),
                    _ => read::<S, 8>(braid, &rows_here, stage, end - begin),
                }
                // Whole vectors go to the runs at once, if they may be written there as they are.
                let direct = (on_lines || !braid.stream)
                    && (end - begin).is_multiple_of(LINE)
                    && end * rows <= all;
                let out = Out {
                    braid,
                    mixed: stage,
                    pitch,
                    bytes: end - begin,
                    lanes: direct.then(|| (braid.lanes(begin), to)),
                    staged: runs,
                };
                match rows {
                    2 => out.join::<S::Half, 2>(),
                    4 => out.join::<S::Wide, 4>(),
                    8 => out.join::<S::Wide, 8>(),
                    16 => out.join::<S::Wide, 16>(),
                    _ => out.join::<S::Wide, 32>(),
                }
                let mut at = if direct { end } else { begin };
                while at < end {
                    let behind = end.min((at / braid.part + 1) * braid.part);
                    let length = (behind * rows).min(all) - at * rows;
                    let (from, to) = (runs.add((at - begin) * rows), to.offset(braid.place(at)));
                    if braid.stream {
                        pen.copy(from, to, length);
                    } else {
                        std::ptr::copy_nonoverlapping(from, to, length);
                    }
                    at = behind;
                }
            }
            pen.lift();
        }
    }
}

/// Rows of memory.
struct Memory {
    from: Place<*const u8>,
    /// Bits from one row to the next.
    stride: isize,
    /// Bits that are left of a row.
    bits: usize,
    /// Bytes to what is read next of a row.
    ahead: isize,
}

/// Mixes `bytes` bytes of all rows, `N` of which have a byte's elements of a column, and leaves them in the order of a
/// run's bytes: those of a column are side by side.
///
/// # Safety
///
/// The rows are readable, and the mixed ones writable with a line more; the CPU has `S`.
#[inline(always)]
unsafe fn read<S: Half, const N: usize>(
    braid: &Braid,
    memory: &Memory,
    mixed: *mut u8,
    bytes: usize,
) {
    let groups = braid.rows / N;
    for group in 0..groups {
        let mut rows = [(std::ptr::null(), 0); N];
        for (i, row) in rows.iter_mut().enumerate() {
            let row_stride = (group * N + i) as isize * memory.stride;
            *row = memory.from.step(row_stride).byte();
        }
        // SAFETY: the caller's promise; the group's rows.
        unsafe {
            let lines = Reading::<N> {
                rows,
                bits: memory.bits,
                ahead: memory.ahead,
                to: mixed.add(group * braid.pitch()),
                pitch: groups * braid.pitch(),
            };
            swap::<S::Words, N>(8 / N, &lines, bytes);
        }
    }
}

/// `N` rows of memory, to mixed ones.
struct Reading<const N: usize> {
    rows: [(*const u8, usize); N],
    bits: usize,
    ahead: isize,
    to: *mut u8,
    pitch: usize,
}

impl<const N: usize> Lines for Reading<N> {
    #[inline(always)]
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W {
        let (byte, bit) = self.rows[row];
        if at.is_multiple_of(LINE) {
            near(byte.wrapping_add(at).wrapping_offset(self.ahead));
        }
        // SAFETY: the row is readable, and `at` in it.
        unsafe {
            if 8 * (at + W::BYTES) > self.bits {
                let from = Place {
                    base: byte,
                    bit: bit as isize,
                };
                load_bits(from, self.bits, at)
            } else if bit == 0 {
                W::load(byte.add(at))
            } else {
                W::load_from(byte.add(at), bit)
            }
        }
    }

    #[inline(always)]
    unsafe fn put<W: Words>(&self, row: usize, at: usize, words: W) {
        // SAFETY: a mixed row has a strip and a line more.
        unsafe { words.store(self.to.add(row * self.pitch + at)) }
    }
}

/// Mixed rows that become runs.
struct Out<'a> {
    braid: &'a Braid,
    mixed: *const u8,
    pitch: usize,
    bytes: usize,
    /// Where the runs are that the strip's lanes go to, if they do so at once.
    lanes: Option<(Lanes<'a>, *mut u8)>,
    staged: *mut u8,
}

impl Out<'_> {
    /// Interleaves the bytes of `R` rows.
    ///
    /// # Safety
    ///
    /// Of every row so many bytes are readable, rounded up to `V`, and as many together writable. The CPU has `V`, which
    /// has no more than `R` lanes. Where vectors go to memory past the caches, lanes begin on lines.
    #[inline(always)]
    unsafe fn join<V: Vector, const R: usize>(self) {
        let Out {
            braid,
            mixed,
            pitch,
            bytes,
            mut lanes,
            staged,
        } = self;
        for at in (0..bytes).step_by(V::BYTES) {
            let mut places = [staged; 4];
            for (l, place) in places.iter_mut().enumerate().take(V::BYTES / LANE) {
                *place = match &mut lanes {
                    Some((lanes, to)) => to.wrapping_offset(lanes.next()),
                    None => staged.wrapping_add((at + l * LANE) * R),
                };
            }
            let stream = braid.stream && lanes.is_some();
            // SAFETY: the caller's promise.
            unsafe {
                let load = |r: usize| V::load(mixed.add(r * pitch + at));
                if R == 32 {
                    // Two halves of a lane, each of which fits the registers.
                    let low = |i: usize| V::unpack::<1>(load(i), load(i + 16)).0;
                    put(turned::<V, 1>(16, 4, low), 16, places, 0, stream);
                    let high = |i: usize| V::unpack::<1>(load(i), load(i + 16)).1;
                    put(turned::<V, 1>(16, 4, high), 16, places, 16, stream);
                } else {
                    let v = turned::<V, 1>(R, R.ilog2(), |i| load(i % R));
                    put(v, R, places, 0, stream);
                }
            }
        }
    }
}

/// Writes `count` vectors, each of which has sixteen bytes of every lane, to the lanes' places, from the one on that is
/// `first` vectors further.
///
/// # Safety
///
/// So many are writable there, and on the vector's alignment if they are streamed; the CPU has `V`.
#[inline(always)]
unsafe fn put<V: Vector>(
    v: [V; 16],
    count: usize,
    places: [*mut u8; 4],
    first: usize,
    stream: bool,
) {
    let lanes = V::BYTES / LANE;
    for o in (0..count).step_by(lanes) {
        let mut of_lanes = [v[o]; 4];
        of_lanes[..lanes].copy_from_slice(&v[o..o + lanes]);
        // SAFETY: the caller's promise.
        unsafe {
            let whole = V::transpose_lanes(of_lanes);
            for (l, v) in whole.into_iter().enumerate().take(lanes) {
                let to = places[l].add((first + o) * LANE);
                if stream { v.stream(to) } else { v.store(to) }
            }
        }
    }
}

/// # Safety (of `work`)
///
/// As [`Run`].
struct Split<'a, S> {
    run: Run<'a>,
    set: PhantomData<S>,
}

impl<S: Half> Work for Split<'_, S> {
    #[inline(always)]
    unsafe fn work(self) {
        let Run {
            braid,
            from,
            to,
            next,
            stage,
        } = self.run;
        let (rows, strip) = (braid.rows, braid.strip());
        let (pitch, row_pitch) = (braid.pitch(), braid.row_pitch());
        let (bytes, all) = (braid.row.div_ceil(8), braid.row * rows / 8);
        // SAFETY: strips of the rows and of the runs; the parts of the scratch.
        unsafe {
            let from = from.base.offset(from.bit / 8);
            let staged = stage.add(rows * pitch + LINE);
            let last = stage.add(rows * (pitch + row_pitch));
            // A last lane that is not whole is read from here.
            let whole = all / (LANE * rows) * LANE;
            if whole < bytes {
                let rest = from.offset(braid.place(whole));
                rest.copy_to_nonoverlapping(last, all - whole * rows);
            }
            for begin in (0..bytes).step_by(strip) {
                let end = bytes.min(begin + strip);
                let part = In {
                    from,
                    lanes: braid.lanes(begin),
                    whole: whole.max(begin) - begin,
                    last,
                    upcoming: match end < bytes {
                        true => (braid.lanes(end), from),
                        false => (braid.lanes(0), from.wrapping_offset(next / 8)),
                    },
                    mixed: stage,
                    pitch,
                    bytes: end - begin,
                };
                match rows {
                    2 => part.split::<S::Half, 2>(),
                    4 => part.split::<S::Wide, 4>(),
                    8 => part.split::<S::Wide, 8>(),
                    16 => part.split::<S::Wide, 16>(),
                    _ => part.split::<S::Wide, 32>(),
                }
                match braid.bits {
                    4 => unmix::<S, 2>(braid, stage, staged, end - begin),
                    2 => unmix::<S, 4>(braid, stage, staged, end - begin),
                    _ => unmix::<S, 8>(braid, stage, staged, end - begin),
                }
                for r in 0..rows {
                    let (staged, to) = (
                        staged.add(r * row_pitch),
                        to.step(r as isize * braid.stride),
                    );
                    if braid.stream {
                        let column = Column {
                            staged: staged.sub(LINE),
                            to,
                            end: braid.row,
                        };
                        // The last strip ends the line that the row does not.
                        let more = usize::from(end == bytes);
                        column.write::<S>(8 * begin, (end - begin).div_ceil(LINE) + more);
                        let line = staged.add(strip - LINE);
                        line.copy_to_nonoverlapping(staged.sub(LINE), LINE);
                    } else {
                        let from = Place {
                            base: staged.cast_const(),
                            bit: 0,
                        };
                        let bits = (8 * end).min(braid.row) - 8 * begin;
                        keep::<S>(from, to.step(8 * begin as isize), bits, false);
                    }
                }
            }
        }
    }
}

/// A strip of runs that become mixed rows.
struct In<'a> {
    from: *const u8,
    lanes: Lanes<'a>,
    /// Bytes of a row in whole lanes.
    whole: usize,
    /// The last lane, if it is not whole.
    last: *const u8,
    /// Where the lanes are that are read next.
    upcoming: (Lanes<'a>, *const u8),
    mixed: *mut u8,
    pitch: usize,
    bytes: usize,
}

impl In<'_> {
    /// Takes the bytes of runs apart into `R` rows.
    ///
    /// # Safety
    ///
    /// The lanes are readable, and of each row so many bytes writable, rounded up to `V`. The CPU has `V`.
    #[inline(always)]
    unsafe fn split<V: Vector, const R: usize>(self) {
        let In {
            from,
            mut lanes,
            whole,
            last,
            upcoming: (mut upcoming, soon),
            mixed,
            pitch,
            bytes,
        } = self;
        for at in (0..bytes).step_by(V::BYTES) {
            let mut places = [last; 4];
            for (l, place) in places.iter_mut().enumerate().take(V::BYTES / LANE) {
                let here = lanes.next();
                if at + l * LANE < whole {
                    *place = from.wrapping_offset(here);
                }
                let soon = soon.wrapping_offset(upcoming.next());
                for line in (0..LANE * R).step_by(LINE) {
                    near(soon.wrapping_add(line));
                }
            }
            // SAFETY: the caller's promise.
            unsafe {
                let row = |r: usize| mixed.add(r * pitch + at);
                let load = |o: usize| V::load_lanes(|l| places[l].add(o * LANE));
                // Four rounds bring the numbers of a lane's bytes into their places, and those of rows where vectors'
                // are.
                if R == 32 {
                    let even = turned::<V, 1>(16, 4, |i| load(2 * i));
                    for (r, v) in even.into_iter().enumerate() {
                        v.store(row(r));
                    }
                    let odd = turned::<V, 1>(16, 4, |i| load(2 * i + 1));
                    for (r, v) in odd.into_iter().enumerate() {
                        v.store(row(16 + r));
                    }
                } else {
                    let v = turned::<V, 1>(R, 4, |i| load(i % R));
                    for (r, v) in v.into_iter().enumerate().take(R) {
                        v.store(row(r));
                    }
                }
            }
        }
    }
}

/// Undoes [`read`]: mixed rows become rows that are staged.
///
/// # Safety
///
/// The mixed rows are readable, and the others writable, with a line more; the CPU has `S`.
#[inline(always)]
unsafe fn unmix<S: Half, const N: usize>(
    braid: &Braid,
    mixed: *const u8,
    staged: *mut u8,
    bytes: usize,
) {
    let groups = braid.rows / N;
    for group in 0..groups {
        // SAFETY: the caller's promise; the group's rows.
        unsafe {
            let lines = Unmixing {
                from: mixed.add(group * braid.pitch()),
                from_pitch: groups * braid.pitch(),
                to: staged.add(group * N * braid.row_pitch()),
                to_pitch: braid.row_pitch(),
            };
            swap::<S::Words, N>(8 / N, &lines, bytes);
        }
    }
}

/// Mixed rows of a group, to plain ones.
struct Unmixing {
    from: *const u8,
    from_pitch: usize,
    to: *mut u8,
    to_pitch: usize,
}

impl Lines for Unmixing {
    #[inline(always)]
    unsafe fn get<W: Words>(&self, row: usize, at: usize) -> W {
        // SAFETY: a mixed row has a strip and a line more.
        unsafe { W::load(self.from.add(row * self.from_pitch + at)) }
    }

    #[inline(always)]
    unsafe fn put<W: Words>(&self, row: usize, at: usize, words: W) {
        // SAFETY: a row has a strip and a line behind.
        unsafe { words.store(self.to.add(row * self.to_pitch + at)) }
    }
}
