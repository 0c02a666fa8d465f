//! Which parts a box is run in, and how each.

use super::block::{Mid, Reading, Recipe, Writing};
use super::blocks::{Blocks, Limits};
use super::braid::Braid;
use super::code::{Code, Recoding};
use super::panel::{Panel, Unit};
use super::pass::Pass;
use super::recipe::Bits;
use super::roles::Roles;
use super::way::Way;
use crate::isa::Isa;
use crate::nest::{Loop, Nest};
use crate::prepared::Prepared;
use crate::simd::LINE;

/// Runs of so many elements, or of so many bytes of packed ones, are worth their beginnings and ends.
const LONG: usize = 64;
/// Rows of fewer bits are woven to one run.
const FEW: usize = 1024;

/// A part of a box, with what runs it.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Bits from the first element of the box.
    pub(super) source: isize,
    pub(super) destination: isize,
    pub(super) body: Body,
}

impl Part {
    fn whole(body: Body) -> Part {
        Part {
            source: 0,
            destination: 0,
            body,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    /// Packed elements that are whole bytes together, or numbers whose bytes are reversed.
    Bytes(Prepared),
    /// Runs on both sides.
    Runs(Pass),
    /// Rows and columns of lines and more.
    Panel(Box<Panel>),
    /// Few rows that become runs, or the other way round.
    Braid(Box<Braid>),
    Blocks(Blocks),
}

/// What is done to the elements of a box, and by which means.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) recoding: Recoding,
    pub(super) stream: bool,
    pub(super) isa: Isa,
}

impl How {
    /// Chooses how to run a part of the nest: its loops, and where its first element lies.
    pub(super) fn parts(&self, loops: &[Loop], source: isize, destination: isize) -> Vec<Part> {
        let bits = (
            self.recoding.source.bits(),
            self.recoding.destination.bits(),
        );
        let ways = self.recoding.ways().unwrap_or_default();
        let (run, outer) = shared_run(loops, bits);
        let (read, written) = (
            run_of(loops, |l| l.source, bits.0),
            run_of(loops, |l| l.destination, bits.1),
        );
        let runs = || Pass::new(&ways, bits, outer.clone(), run, self.stream, self.isa);
        if let Code::Number { .. } = self.recoding.source {
            let body = if run >= LONG || run == read && run == written {
                Body::Runs(runs())
            } else if let Some(reversing) = self.reversing(loops, &ways, bits.0 / 8) {
                Body::Bytes(reversing)
            } else if let Some(panel) = self.number_panel(loops, &ways, bits) {
                Body::Panel(Box::new(panel))
            } else {
                Body::Blocks(self.number_blocks(loops, ways, bits))
            };
            return vec![Part::whole(body)];
        }
        let same = ways == [Way::Keep];
        if same && let Some(parts) = self.in_whole_bytes(loops, source, destination, bits.0) {
            return parts;
        }
        // Runs of some lines are worth their beginnings and ends; so are any if there are no longer ones.
        if run * bits.0.min(bits.1) >= 8 * LONG || run == read && run == written {
            return vec![Part::whole(Body::Runs(runs()))];
        }
        let found = Bits {
            loops,
            from: bits.0,
            to: bits.1,
            on_byte: destination % 8 == 0,
            stream: self.stream,
            isa: self.isa,
        };
        self.packed_blocks(&found, source)
    }

    /// A transpose of numbers whose byte order alone changes.
    fn reversing(&self, loops: &[Loop], ways: &[Way], width: usize) -> Option<Prepared> {
        let &[Way::Swap(part)] = ways else {
            return None;
        };
        let in_bytes = |l: &Loop| Loop {
            extent: l.extent,
            source: l.source / 8,
            destination: l.destination / 8,
        };
        let loops: Vec<Loop> = loops.iter().map(in_bytes).collect();
        Prepared::reversing(width, part, &loops, self.isa, self.stream)
    }

    /// A transpose of numbers that become wider or narrower, past the caches.
    fn number_panel(
        &self,
        loops: &[Loop],
        ways: &[Way],
        (from, to): (usize, usize),
    ) -> Option<Panel> {
        let &[way] = ways else { return None };
        if !self.stream || from == to {
            return None;
        }
        let roles = Roles::of(loops, from, to);
        Panel::new(Unit::Numbers(way), loops, &roles, self.stream, self.isa)
    }

    /// Numbers in blocks: written anew when they are read, and moved from there.
    fn number_blocks(&self, loops: &[Loop], ways: Vec<Way>, bits: (usize, usize)) -> Blocks {
        let limits = Limits {
            bits: [bits.0, bits.1, bits.1],
            multiples: vec![1; loops.len()],
        };
        Blocks::new(loops, &limits, self.stream, self.isa, |inside| Recipe {
            reading: Reading::Ways(ways.clone(), bits.0),
            width: bits.1 / 8,
            middle: inside
                .iter()
                .map(|l| Mid {
                    extent: l.extent,
                    source: l.source,
                    destination: l.destination,
                })
                .collect(),
            writing: Writing::Direct,
        })
    }

    /// Packed elements whose order changes, by the recipe that suits the box. Of rows or columns that must be whole bytes,
    /// what is left over is moved one by one.
    fn packed_blocks(&self, bits: &Bits<'_>, source: isize) -> Vec<Part> {
        let per = bits.per_byte();
        let loops = bits.loops;
        let shared = loops
            .iter()
            .position(|l| l.source == bits.from as isize && l.destination == bits.to as isize);
        if bits.from == bits.to
            && let Some(unit) = shared
            && loops[unit].extent >= per
            && !is_cut(bits, loops[unit].extent)
        {
            let aligned = |first: bool, stride: fn(&Loop) -> isize| {
                let mut others = loops.iter().enumerate().filter(|&(i, _)| i != unit);
                first && others.all(|(_, l)| stride(l) % 8 == 0)
            };
            let from_byte = aligned(source % 8 == 0, |l| l.source);
            let to_byte = aligned(bits.on_byte, |l| l.destination);
            return self.with_rest(bits, &[unit], |bits| bits.shift(unit, from_byte, to_byte));
        }
        let roles = bits.roles();
        let one_by_one = || vec![Part::whole(Body::Blocks(bits.one_by_one()))];
        let (Some(&row), Some(&column)) = (roles.rows.first(), roles.columns.first()) else {
            return one_by_one();
        };
        let (rows, columns) = bits.sizes(&roles);
        let woven = bits.from == bits.to && weaves(bits, &roles, rows);
        if loops[row].extent < per && loops[column].extent < per || rows < per && !woven {
            return one_by_one();
        }
        if bits.from == 8
            && let Some(panel) = self.packed_panel(bits, &roles, false)
        {
            return vec![panel];
        }
        if bits.from == bits.to
            && let Some(braid) = Braid::new(bits, &roles, source)
        {
            return vec![Part::whole(Body::Braid(Box::new(braid)))];
        }
        match (bits.from, bits.to) {
            (8, _) if columns >= LINE && !is_cut(bits, rows) => {
                vec![Part::whole(Body::Blocks(bits.merge(&roles)))]
            }
            (_, 8)
                if rows >= LINE
                    && loops[column].extent >= per
                    && !is_cut(bits, loops[column].extent) =>
            {
                self.with_rest(bits, &[column], |bits| bits.split(&bits.roles()))
            }
            (from, to) if from == to => self.transposed(bits, &roles, rows, columns),
            _ => one_by_one(),
        }
    }

    /// A matrix whose elements are packed on a side: past the caches, or where that suits them. Of `few` rows or columns a line
    /// is hardly ever whole; on a Zen 5 u1[1023,100001] takes 1.7 ms by ordinary stores and 4.9 by a table, which picks eight bits
    /// for a byte, u2[401,300000] 5.1 and 4.6, u4[255,300001] 5.6 and 4.2.
    fn packed_panel(&self, bits: &Bits<'_>, roles: &Roles, few: bool) -> Option<Part> {
        let suits = match self.stream {
            true => !few || bits.from == 1 && fills(bits, roles),
            false => suits_caches(bits, roles),
        };
        if !suits {
            return None;
        }
        let unit = Unit::Packed(bits.from, bits.to);
        let stream = self.stream && !few;
        let panel = Panel::new(unit, bits.loops, roles, stream, self.isa)?;
        Some(Part::whole(Body::Panel(Box::new(panel))))
    }

    /// Rows and columns of elements of the same width change places.
    fn transposed(&self, bits: &Bits<'_>, roles: &Roles, rows: usize, columns: usize) -> Vec<Part> {
        let (per, loops) = (bits.per_byte(), bits.loops);
        let (row, column) = (roles.rows[0], roles.columns[0]);
        let weaves = weaves(bits, roles, rows);
        let unweaves = are_few(bits, columns, loops[row].source) && loops[row].extent >= per;
        if let Some(panel) = self.packed_panel(bits, roles, weaves || unweaves) {
            vec![panel]
        } else if weaves {
            self.with_rest(bits, &[column], |bits| bits.weave(&bits.roles()))
        } else if unweaves {
            self.with_rest(bits, &[row], |bits| bits.unweave(&bits.roles()))
        } else if is_cut(bits, loops[column].extent) {
            vec![Part::whole(Body::Blocks(bits.one_by_one()))]
        } else if columns * bits.from < 8 * LINE
            && loops[row].extent >= per
            && loops[column].extent >= per
        {
            self.with_rest(bits, &[row, column], |bits| bits.unzip(&bits.roles()))
        } else if loops[column].extent >= per {
            self.with_rest(bits, &[column], |bits| bits.zip(&bits.roles()))
        } else {
            vec![Part::whole(Body::Blocks(bits.one_by_one()))]
        }
    }

    /// Blocks of the part of a box in which some loops are multiples of the elements in a byte, and of the rests one by
    /// one.
    fn with_rest(
        &self,
        bits: &Bits<'_>,
        which: &[usize],
        blocks: impl Fn(&Bits<'_>) -> Blocks,
    ) -> Vec<Part> {
        let per = bits.per_byte();
        let mut whole = bits.loops.to_vec();
        let mut parts = Vec::new();
        for &i in which {
            let rest = whole[i].extent % per;
            whole[i].extent -= rest;
            if rest > 0 {
                let mut loops = whole.clone();
                loops[i].extent = rest;
                let done = whole[i].extent as isize;
                loops.retain(|l| l.extent > 1);
                parts.push(Part {
                    source: done * whole[i].source,
                    destination: done * whole[i].destination,
                    body: Body::Blocks(
                        Bits {
                            loops: &loops,
                            ..*bits
                        }
                        .one_by_one(),
                    ),
                });
            }
        }
        let whole = Bits {
            loops: &whole,
            ..*bits
        };
        parts.push(Part::whole(Body::Blocks(blocks(&whole))));
        parts
    }

    /// Packed elements of `bits` bits as whole bytes, if all their runs begin on one; what is left of a last byte is a
    /// part of its own.
    fn in_whole_bytes(
        &self,
        loops: &[Loop],
        source: isize,
        destination: isize,
        bits: usize,
    ) -> Option<Vec<Part>> {
        let unit = bits as isize;
        let run = loops
            .iter()
            .position(|l| l.source == unit && l.destination == unit)?;
        let whole = |bits: isize| bits % 8 == 0;
        let others = loops.iter().enumerate().filter(|&(i, _)| i != run);
        if !whole(source)
            || !whole(destination)
            || !others
                .into_iter()
                .all(|(_, l)| whole(l.source) && whole(l.destination))
        {
            return None;
        }
        let (length, per) = (loops[run].extent, 8 / bits);
        if length < per {
            return None;
        }
        let in_bytes = |(i, l): (usize, &Loop)| match i == run {
            true => Loop {
                extent: length / per,
                source: 1,
                destination: 1,
            },
            false => Loop {
                extent: l.extent,
                source: l.source / 8,
                destination: l.destination / 8,
            },
        };
        let bytes: Vec<Loop> = loops.iter().enumerate().map(in_bytes).collect();
        let lowest: isize = bytes
            .iter()
            .map(|l| (l.extent - 1) as isize * l.source.min(0))
            .sum();
        let nest =
            Nest::new(1, lowest.unsigned_abs(), 0, &bytes).expect("within reach as bits are");
        let mut parts = vec![Part {
            source: 0,
            destination: 0,
            body: Body::Bytes(Prepared::new(1, &nest.loops, self.isa, self.stream)),
        }];
        if length % per > 0 {
            let mut outer = loops.to_vec();
            outer.remove(run);
            let done = (length / per * 8) as isize;
            parts.push(Part {
                source: done,
                destination: done,
                body: Body::Runs(Pass::new(
                    &[Way::Keep],
                    (bits, bits),
                    outer,
                    length % per,
                    false,
                    self.isa,
                )),
            });
        }
        Some(parts)
    }
}

/// Whether a panel is better than blocks within the caches: where columns are no whole bytes, or some are left over, and where
/// there are many. On a Zen 5 u1[1023,1021] takes 13 us and 52 in blocks, u1[1024,1024] 11 and 7, u4[2048,2048] 0.12 ms and 0.16.
fn suits_caches(bits: &Bits<'_>, roles: &Roles) -> bool {
    const MANY: usize = 512 << 10;
    let (rows, columns) = bits.sizes(roles);
    let whole = bits.writes_bytes(roles)
        && bits.loops[roles.columns[0]]
            .extent
            .is_multiple_of(bits.per_byte());
    fills(bits, roles) && (!whole || rows * columns * bits.to >= 8 * MANY)
}

/// Whether rows and columns fill the steps of a panel, which are whole: of little more than one, most would be moved twice.
fn fills(bits: &Bits<'_>, roles: &Roles) -> bool {
    let (rows, columns) = bits.sizes(roles);
    let (row_step, column_step) = Unit::Packed(bits.from, bits.to).step();
    let fills = |count: usize, step: usize| count.next_multiple_of(step) * 8 < count * 15;
    fills(rows, row_step) && fills(columns, column_step)
}

/// Whether so many rows are a run of the destination with the next columns, and no whole bytes of it.
fn weaves(bits: &Bits<'_>, roles: &Roles, rows: usize) -> bool {
    let columns = &bits.loops[roles.columns[0]];
    are_few(bits, rows, columns.destination) && columns.extent >= bits.per_byte()
}

/// Whether so many rows or columns are few, no whole bytes, and follow those before them, where the loop along them steps
/// like this.
fn are_few(bits: &Bits<'_>, count: usize, stride: isize) -> bool {
    let width = count * bits.from;
    !count.is_multiple_of(bits.per_byte()) && width <= FEW && stride == width as isize
}

/// Whether so many packed elements are no whole bytes, and so few that lines of them are better taken apart and put together
/// element by element than begun and ended bit by bit.
///
/// On a Zen 5 s4[64,3,601,797] packed to NHWC takes 124 ms in rows of 3 and 5.6 one by one, 127 rows of 100001 1.18 and 0.70, 511
/// rows of 40001 1.35 and 1.36; unpacked from NHWC 306 and 7.1, 1.77 and 0.94, 1.45 and 2.27. Runs of 9 elements that keep
/// their order, u4[200,300,9] to {2,0,1}, 1.27 ms and 0.05, of 127 1.72 and 0.49.
fn is_cut(bits: &Bits<'_>, count: usize) -> bool {
    !count.is_multiple_of(bits.per_byte()) && count * bits.from.min(bits.to) < 8 * LINE
}

/// The elements that lie side by side on both sides in the same order, and the loops around them.
fn shared_run(loops: &[Loop], bits: (usize, usize)) -> (usize, Vec<Loop>) {
    let mut outer = loops.to_vec();
    let mut run = 1;
    while let Some(i) = outer.iter().position(|l| {
        l.source == (run * bits.0) as isize && l.destination == (run * bits.1) as isize
    }) {
        run *= outer.remove(i).extent;
    }
    (run, outer)
}

/// The elements of a box that lie side by side on one side.
fn run_of(loops: &[Loop], stride: fn(&Loop) -> isize, bits: usize) -> usize {
    let mut run = 1;
    while let Some(l) = loops
        .iter()
        .find(|l| stride(l).unsigned_abs() == run * bits)
    {
        run *= l.extent;
    }
    run
}
