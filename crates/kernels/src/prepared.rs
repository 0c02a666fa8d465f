//! The kernel chosen for a box, and the loops around it.

mod axes;
mod run;

use crate::apart::Apart;
use crate::around::Around;
use crate::cell::Cells;
use crate::gather::{self, Gather, Gathers};
use crate::hop::Hop;
use crate::isa::Isa;
use crate::kernel::Kernel;
use crate::listed::Listed;
use crate::nest::{Loop, Loops, stays};
use crate::order::{Mixed, Unit};
use crate::plane::{Gap, Plane};
use crate::repeat::Repeat;
use crate::runs::{Rows, Runs, Source};
use crate::sift::Sift;
use crate::simd::LANE;
use crate::simd::LINE;
use crate::slim::Slim;
use crate::spaced::Spaced;
use crate::steps::Steps;
use crate::weave::{self, Weave};
use crate::zip::{self, Zip};
use axes::{few, is_broken, is_of_small_blocks, is_of_small_planes, plane, runs};

/// A box with its kernel chosen. Offsets are relative to the first element on each side.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// Loops around the kernel, outermost first; mostly none, as kernels walk the innermost ones themselves.
    outer: Vec<Loop>,
    /// From the first element to where the kernel starts, in the source and the destination.
    start: (isize, isize),
    width: usize,
    isa: Isa,
    /// Whether the kernels stream, so that a fence must follow them.
    stream: bool,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    /// One run in the caches, all of the box.
    Copy(usize),
    /// Runs contiguous on both sides, in the caches.
    Rows(Box<Rows>),
    /// The same past the caches.
    Runs(Box<Runs>),
    /// The same, where few others lie beside each.
    Apart(Box<Apart>),
    /// Runs of the destination that repeat one element.
    Repeat(Box<Repeat>),
    Plane(Box<Plane>),
    /// Planes of short runs and small blocks, moved by way of a stage in the caches.
    Hop(Box<Hop>),
    /// Too few columns for a plane's vectors.
    Slim(Box<Slim>),
    Spaced(Box<Spaced>),
    /// Too few rows or columns for a plane's vectors, and contiguous with the others.
    Weave(Box<Weave>),
    /// Two or four rows, and contiguous with the others.
    Zip(Box<Zip>),
    /// Blocks of short runs in another order, in the caches.
    Listed(Box<Listed>),
    /// Blocks put together by tables.
    Gather(Box<Gathers>),
    /// Blocks picked from a few registers.
    Sift(Box<Sift>),
    /// Lines of elements at any strides.
    Steps(Box<Steps>),
}

/// Bytes of a block that lies whole on both sides below which several are better put together in a stage than each by itself: on
/// a Zen 4 f32[1000001,2,3]{1,2,0} from row-major takes 1.9 ms so and 7.4 each by itself, f32[400001,5,7]{1,2,0} 5.5 and 6.9.
const SMALL: usize = 256;

/// How often elements are repeated at most to be as many rows that are all the same one, which are woven. On a Zen 3 u8[4001,5003,3] of
/// one channel takes 2.8 ms so and 31 element by element, in the caches u8[40,211,3] 0.5 us and 13; with 9 rows it would take twice as long
/// as that.
const SAME: usize = 7;

impl Prepared {
    /// `loops` keep the invariants of `Nest`; `stream` says whether the whole job, of which this box may be a part, is
    /// better written past the caches.
    pub(crate) fn new(width: usize, loops: &[Loop], isa: Isa, stream: bool) -> Prepared {
        Prepared::with_source(width, loops, isa, stream, Source::Memory)
    }

    /// Moves nothing.
    pub(crate) fn empty(isa: Isa) -> Prepared {
        Prepared {
            outer: Vec::new(),
            start: (0, 0),
            width: 1,
            isa,
            stream: false,
            body: Body::Copy(0),
        }
    }

    /// As `new`; `source` says where the source is: if it is in the caches, only the stores matter.
    pub(crate) fn with_source(
        width: usize,
        loops: &[Loop],
        isa: Isa,
        stream: bool,
        source: Source,
    ) -> Prepared {
        let cached = source != Source::Memory;
        let mut outer = Loops::from_slice(loops);
        let mut width = width;
        let mut start = (0, 0);
        for l in outer.iter_mut().filter(|l| l.destination < 0) {
            // Kernels write forward; what goes back then is the source.
            turn_around(l, &mut start);
        }
        let body = loop {
            if stream
                && !cached
                && is_of_small_blocks(width, &outer)
                && let Some(hop) = Hop::of_whole(width, &outer, isa)
            {
                outer.clear();
                break Body::Hop(Box::new(hop));
            }
            // Others ask for what comes after a source in the caches.
            if !stream
                && !cached
                && let Some(listed) = Listed::find(width, &mut outer)
            {
                break Body::Listed(Box::new(listed));
            }
            if stream && let Some(cells) = cells(width, &outer, isa) {
                if cells.bytes < SMALL
                    && !cached
                    && let Some(hop) = Hop::new(width, &outer, isa)
                    && hop.is_of_blocks()
                {
                    outer.clear();
                    break Body::Hop(Box::new(hop));
                }
                outer = cells.outer;
                let runs = runs(&mut outer, cells.bytes, Some(cells.cell));
                break Body::Runs(Box::new(runs));
            }
            if !stream && let Some(runs) = axes::near_runs(width, &mut outer, &mut start) {
                break Body::Runs(Box::new(runs));
            }
            if !stream && let Some(body) = blocks(width, &mut outer, isa) {
                break body;
            }
            let unit = width as isize;
            let Some(d) = find(&outer, |l| l.destination, unit) else {
                break match outer.pop() {
                    None => Body::Copy(width),
                    Some(line) if line.source == 0 && stays(&outer) => {
                        outer.push(line);
                        repeat(&mut outer, width, width, stream)
                    }
                    Some(line) => steps(width, &mut outer, line, stream),
                };
            };
            if outer[d].source == 0 {
                // What is repeated a few times is rows that are all the same one.
                if outer[d].extent <= SAME
                    && outer[d].extent * width < LANE
                    && let Some(s) = find(&outer, |l| l.source, unit)
                    && let Some(few @ (_, _, true)) = few(&outer, width, (d, s), stream)
                {
                    outer.remove(d.max(s));
                    outer.remove(d.min(s));
                    break woven(width, &mut outer, few, isa, stream);
                }
                let run = outer.remove(d).extent * width;
                break repeat(&mut outer, width, run, stream);
            }
            if outer[d].source == unit {
                let run = outer.remove(d).extent * width;
                // A run as long as an element of another width is such an element.
                if matches!(run, 2 | 4 | 8 | 16) && !outer.is_empty() {
                    width = run;
                    continue;
                }
                break if outer.is_empty() && !stream {
                    Body::Copy(run)
                } else if run < LANE
                    && !cached
                    && !(stream && meet(&outer, run))
                    && let Some(line) = outer.pop()
                {
                    steps(run, &mut outer, line, stream)
                } else if cached || !stream {
                    let around = Around::take(&mut outer);
                    Body::Rows(Box::new(Rows {
                        run,
                        stream,
                        source,
                        around,
                    }))
                } else {
                    if find(&outer, |l| l.source, run as isize).is_none() {
                        turn(&mut outer, run, &mut start);
                    }
                    let mut around = outer.clone();
                    let runs = runs(&mut around, run, None);
                    match Apart::find(&mut outer, &runs, &around) {
                        Some(apart) => Body::Apart(Box::new(apart)),
                        None => {
                            outer = around;
                            Body::Runs(Box::new(runs))
                        }
                    }
                };
            }
            if outer[d].source == -unit {
                let line = outer.remove(d);
                break steps(width, &mut outer, line, stream);
            }
            turn(&mut outer, width, &mut start);
            let Some(s) = find(&outer, |l| l.source, unit) else {
                let line = outer.remove(d);
                break steps(width, &mut outer, line, stream);
            };
            if stream
                && !cached
                && let Some(hop) = by_way_of_a_stage(width, &outer, (d, s), isa)
            {
                outer.clear();
                break Body::Hop(Box::new(hop));
            }
            if let Some(unit) = Unit::find(&outer, width, d, s) {
                (outer, width) = (unit.loops, unit.width);
                let plane = plane(&mut outer, width, unit.d, unit.s, Some(unit.order), stream);
                break Body::Plane(plane);
            }
            if let Some(few) = few(&outer, width, (d, s), stream) {
                outer.remove(d.max(s));
                outer.remove(d.min(s));
                break woven(width, &mut outer, few, isa, stream);
            }
            // Short on both sides, and not by way of a stage, as where the source is cached: by tables rather than element by element.
            if stream
                && width * outer[d].extent.max(outer[s].extent) < 16
                && let Some(body) = blocks(width, &mut outer, isa)
            {
                break body;
            }
            // A row that another loop goes on with is longer than it seems: of f32[307,24,15,7,5,3] reversed three elements of each row
            // were read at a time, which took a Zen 4 39 ms; as a plane it takes 3.9.
            let row = width.saturating_mul(outer[s].extent) as isize;
            if stream
                && find(&outer, |l| l.source, row).is_none()
                && let Some(slim) = Slim::new(width, outer[d], outer[s])
            {
                outer.remove(d.max(s));
                outer.remove(d.min(s));
                break Body::Slim(Box::new(slim));
            }
            break Body::Plane(plane(&mut outer, width, d, s, None, stream));
        };
        Prepared {
            outer: outer.into_vec(),
            start,
            width,
            isa,
            stream,
            body,
        }
    }

    /// A transpose past the caches, which fills what lies behind every column, as it is between it and the next one. `None`
    /// where its kernel can't. Whoever runs it promises that the gaps are writable, the last one's too.
    pub(crate) fn with_gaps(width: usize, loops: &[Loop], isa: Isa, gap: Gap) -> Option<Prepared> {
        let mut outer = Loops::from_slice(loops);
        if let Some((spaced, [d, s])) = Spaced::find(width, &outer, gap) {
            outer.remove(d.max(s));
            outer.remove(d.min(s));
            return Some(Prepared {
                outer: outer.into_vec(),
                start: (0, 0),
                width,
                isa,
                stream: true,
                body: Body::Spaced(Box::new(spaced)),
            });
        }
        let mut prepared = Prepared::new(width, loops, isa, true);
        let width = prepared.width;
        let Body::Plane(plane) = &mut prepared.body else {
            return None;
        };
        plane.gap = Some(gap);
        plane.choose_pieces(width);
        let column = plane.rows.len * width;
        let follows = plane.columns.first_stride() == plane.pitch(width) as isize;
        (follows && column > LINE && gap.bytes.is_multiple_of(width)).then_some(prepared)
    }

    /// A transpose in which the bytes of every number of `part` bytes are reversed; `None` where the box is no transpose,
    /// or too narrow to be one of vectors.
    pub(crate) fn reversing(
        width: usize,
        part: usize,
        loops: &[Loop],
        isa: Isa,
        stream: bool,
    ) -> Option<Prepared> {
        let mut outer = Loops::from_slice(loops);
        let d = find(&outer, |l| l.destination, width as isize)?;
        let s = find(&outer, |l| l.source, width as isize)?;
        if d == s {
            return None;
        }
        let order = Some(Mixed::reversal(part));
        let plane = plane(&mut outer, width, d, s, order, stream);
        (!plane.narrow(width, LINE)).then(|| Prepared {
            outer: outer.into_vec(),
            start: (0, 0),
            width,
            isa,
            stream,
            body: Body::Plane(plane),
        })
    }

    /// As a part of another one: what is too much for the nearer caches altogether is not there for a part either,
    /// and columns that push each other out do so in it. What the whole streams, parts may not.
    pub(crate) fn part_of(mut self, whole: &Prepared) -> Prepared {
        if let (Body::Plane(part), Body::Plane(whole)) = (&mut self.body, &whole.body) {
            (part.far, part.large) = (whole.far, whole.large);
            part.crowded |= whole.crowded;
            part.choose_pieces(self.width);
        }
        self
    }

    /// Whether it is a plane that lies [`far`](Plane::far).
    #[cfg(test)]
    pub(crate) fn is_far(&self) -> bool {
        matches!(&self.body, Body::Plane(plane) if plane.far)
    }

    /// Whether it copies runs that few others lie beside.
    #[cfg(test)]
    pub(crate) fn is_apart(&self) -> bool {
        matches!(&self.body, Body::Apart(_))
    }

    /// Where it takes its source to be, if it copies runs in the destination's order.
    #[cfg(test)]
    pub(crate) fn source(&self) -> Option<Source> {
        match &self.body {
            Body::Rows(rows) => Some(rows.source),
            _ => None,
        }
    }

    /// Whether it is a plane that is written by way of a [stage](crate::crowded).
    #[cfg(test)]
    pub(crate) fn crowds(&self) -> bool {
        matches!(&self.body, Body::Plane(plane) if plane.crowded)
    }

    pub(crate) fn kernel(&self) -> Kernel {
        let width = self.width;
        match self.body {
            Body::Copy(run) => Kernel::Copy { run },
            Body::Rows(ref rows) => Kernel::Copy { run: rows.run },
            Body::Listed(ref listed) => Kernel::Copy { run: listed.run },
            Body::Apart(ref apart) => Kernel::Copy { run: apart.run },
            Body::Runs(ref runs) if runs.cell.is_some() => self.blocks_of(runs.run),
            Body::Gather(ref gathers) => self.blocks_of(gathers.gather.bytes()),
            Body::Sift(ref sift) => self.blocks_of(sift.bytes()),
            Body::Runs(ref runs) => Kernel::Copy { run: runs.run },
            Body::Repeat(ref repeat) => Kernel::Repeat {
                width,
                run: repeat.run,
            },
            Body::Hop(ref hop) => hop.kernel(),
            Body::Plane(_) | Body::Slim(_) => Kernel::Transpose {
                width,
                isa: self.isa.name(),
            },
            Body::Weave(ref weave) => Kernel::Weave {
                width: weave.width(),
                isa: self.isa.name(),
            },
            Body::Zip(ref zip) => Kernel::Weave {
                width: zip.width(),
                isa: self.isa.name(),
            },
            Body::Spaced(_) => Kernel::Weave {
                width,
                isa: self.isa.name(),
            },
            Body::Steps(ref steps) => Kernel::Strided { width: steps.width },
        }
    }

    fn blocks_of(&self, block: usize) -> Kernel {
        Kernel::Gather {
            width: self.width,
            block,
            isa: self.isa.name(),
        }
    }

    /// Whether it puts blocks together by tables, or transposes them in registers.
    pub(crate) fn is_of_blocks(&self) -> bool {
        match &self.body {
            Body::Gather(_) | Body::Sift(_) | Body::Plane(_) => true,
            Body::Zip(zip) => zip.is_of_lanes(),
            _ => false,
        }
    }

    /// The fewest bytes that lie side by side on a side of a block, where it is moved block by block.
    pub(crate) fn shortest_run(&self) -> Option<usize> {
        match &self.body {
            Body::Hop(hop) => Some(hop.shortest_run()),
            _ => None,
        }
    }

    /// The iterations of the loops around the kernel.
    pub(crate) fn entries(&self) -> usize {
        self.outer.iter().map(|l| l.extent).product()
    }
}

fn find(loops: &[Loop], of: impl Fn(&Loop) -> isize, stride: isize) -> Option<usize> {
    loops.iter().position(|l| of(l) == stride)
}

/// Where a loop goes back by so many bytes in the source, turns it around: what lies side by side there is walked forward, and
/// the destination is what goes back.
fn turn(loops: &mut [Loop], bytes: usize, start: &mut (isize, isize)) {
    if let Some(s) = find(loops, |l| l.source, -(bytes as isize)) {
        turn_around(&mut loops[s], start);
    }
}

/// Begins a loop with its last iteration.
fn turn_around(l: &mut Loop, start: &mut (isize, isize)) {
    let last = (l.extent - 1) as isize;
    start.0 += last * l.source;
    start.1 += last * l.destination;
    (l.source, l.destination) = (-l.source, -l.destination);
}

/// The nest as blocks that lie whole on both sides, where what is inside has another order.
fn cells(width: usize, loops: &[Loop], isa: Isa) -> Option<Cells> {
    let unit = width as isize;
    loops
        .last()
        .filter(|l| l.destination == unit && l.source != unit)
        .and_then(|_| Cells::find(width, loops, isa))
}

/// A plane moved by way of a stage: where it is one of small blocks, or has short runs.
fn by_way_of_a_stage(width: usize, loops: &Loops, (d, s): (usize, usize), isa: Isa) -> Option<Hop> {
    if is_of_small_planes(width, loops, d, s)
        && let Some(hop) = Hop::of_whole(width, loops, isa)
    {
        return Some(hop);
    }
    is_broken(loops, width, d, s)
        .then(|| Hop::new(width, loops, isa))
        .flatten()
}

/// The nest as blocks that are put together by tables, where neither side has runs as long as a register, nor a plane
/// rows and columns of such a length.
fn blocks(width: usize, loops: &mut Loops, isa: Isa) -> Option<Body> {
    let unit = width as isize;
    let inner = loops.last().filter(|l| l.destination == unit)?;
    let run = inner.extent * width;
    if gather::are_apart(width, loops) {
        return None;
    }
    let suits = if inner.source == unit {
        loops.len() > 1 && run < 32 && !matches!(run, 2 | 4 | 8 | 16)
    } else {
        inner.source != 0
            && inner.source != -unit
            && find(loops, |l| l.source.abs(), unit).is_none_or(|s| {
                let (d, along) = (loops.len() - 1, loops[s].extent * width);
                let woven = || run.max(along) >= 16 && few(loops, width, (d, s), false).is_some();
                run.min(along) < 16 && !woven() && Unit::find(loops, width, d, s).is_none()
            })
    };
    if !suits {
        return None;
    }
    let (block, outer) = gather::innermost(width, loops)?;
    let sift = isa.picks().then(|| Sift::new(width, &block)).flatten();
    if let Some(mut sift) = sift {
        *loops = outer;
        sift.around = Around::take(loops);
        return Some(Body::Sift(Box::new(sift)));
    }
    let gather = Gather::find(width, &block, isa)?;
    *loops = outer;
    let around = Around::take(loops);
    Some(Body::Gather(Box::new(Gathers { gather, around })))
}

/// Few rows and their elements, as [`few`] found them, to a run or back.
fn woven(
    width: usize,
    outer: &mut Loops,
    (rows, columns, join): (Loop, Loop, bool),
    isa: Isa,
    stream: bool,
) -> Body {
    let stride = if join { rows.source } else { rows.destination };
    let sizes = (rows.extent, columns.extent);
    let images = stream && weave::takes_images(width, sizes, join);
    if zip::fits(width, rows.extent) && !images {
        let (rows, columns) = sizes;
        let zip = Zip::new(width, rows, columns, stride, join, stream, outer);
        return Body::Zip(Box::new(zip));
    }
    let around = Around::take(outer);
    let weave = Weave::new(width, sizes, stride, join, stream, around, isa.picks());
    Body::Weave(Box::new(weave))
}

/// Runs of `run` bytes that repeat one element.
fn repeat(outer: &mut Loops, width: usize, run: usize, stream: bool) -> Body {
    Body::Repeat(Box::new(Repeat {
        width,
        run,
        stream,
        around: Around::take(outer),
    }))
}

fn steps(width: usize, outer: &mut Loops, line: Loop, stream: bool) -> Body {
    Body::Steps(Box::new(Steps::new(width, outer, line, stream)))
}

/// Whether runs of so many bytes follow one another in loops that are others on either side.
fn meet(outer: &[Loop], run: usize) -> bool {
    let d = find(outer, |l| l.destination, run as isize);
    let s = find(outer, |l| l.source.abs(), run as isize);
    d.is_some() && s.is_some() && d != s
}

#[cfg(test)]
mod tests;
