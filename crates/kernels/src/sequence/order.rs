//! Putting items in the destination's order.

use super::stage::Ask;
use super::{Ahead, Band, DEPTH, Kind, Leaf, Node};
use crate::fill::Fill;
use crate::isa::Isa;
use crate::nest::{Loop, Loops, Nest};
use crate::plane::Gap;
use crate::prepared::Prepared;
use crate::runs::PIECE;
use crate::simd::LINE;
use crate::staged::PACKED;
use crate::tuning::followed;

/// Bytes of a run of the destination from which on it is worth streaming though it cuts lines.
const LONG: isize = 1 << 10;
/// Bytes of the source that are worth reading at a time.
pub(super) const RUN: isize = 512;

/// A nest to be put in order. Loops are as those of a `Nest`.
#[derive(Debug, Clone)]
pub(super) struct Item {
    width: usize,
    loops: Loops,
    source: isize,
    destination: isize,
    steps: [isize; DEPTH],
    pattern: Option<usize>,
    /// What lies behind every column, and the pattern and the bytes of its elements.
    gap: Option<(Gap, usize, usize)>,
    /// Bytes of the source that it is to be read in at least.
    run: isize,
}

impl Item {
    pub(super) fn new(nest: &Nest, pattern: Option<usize>) -> Item {
        let mut item = Item {
            width: nest.width,
            loops: nest.loops.clone(),
            source: nest.source,
            destination: nest.destination,
            steps: [0; DEPTH],
            pattern,
            gap: None,
            run: 0,
        };
        item.run = item.source_run().min(RUN);
        item
    }

    /// Whether some loop writes the same bytes again.
    pub(super) fn stays(&self) -> bool {
        self.loops.iter().any(|l| l.destination == 0)
    }

    /// Bytes of the destination from its first to past its last.
    fn span(&self) -> isize {
        self.inner_span(&self.loops)
    }

    /// As `span`, of some inner loops.
    fn inner_span(&self, loops: &[Loop]) -> isize {
        let inside = |l: &Loop| (l.extent - 1) as isize * l.destination;
        let gap = self.gap.map_or(0, |(gap, ..)| gap.bytes as isize);
        loops.iter().map(inside).sum::<isize>() + self.width as isize + gap
    }

    fn end(&self) -> isize {
        self.destination + self.span()
    }

    pub(super) fn bytes(&self) -> usize {
        self.width * self.loops.iter().map(|l| l.extent).product::<usize>()
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The bytes of a column, where it is a transpose.
    pub(super) fn column(&self) -> Option<isize> {
        column(&self.loops, self.width)
    }

    /// Whether it copies runs.
    fn is_of_runs(&self) -> bool {
        let unit = self.width as isize;
        let runs = |l: &Loop| l.source == unit && l.destination == unit;
        self.loops.iter().any(runs)
    }

    /// Whether it is worth streaming: unless its kernel would only copy or fill short runs that cut lines.
    fn streams(&self) -> bool {
        if self.pattern.is_none() && !self.is_of_runs() {
            return true;
        }
        let (run, apart) = self.pieces();
        run >= LONG || (run | apart) % LINE as isize == 0
    }

    /// Whether it writes whole lines, or so many at a time that those it cuts don't matter.
    pub(super) fn is_of_lines(&self) -> bool {
        let (run, apart) = self.pieces();
        run > PIECE as isize || (run | apart) % LINE as isize == 0
    }

    /// The bytes of its runs in the destination, and bits of where they start.
    fn pieces(&self) -> (isize, isize) {
        let mut run = self.width as isize;
        let mut apart = self.destination;
        for l in self.loops.iter().rev() {
            if l.destination <= run {
                run += (l.extent - 1) as isize * l.destination;
            } else {
                apart |= l.destination;
            }
        }
        (run, apart)
    }

    /// Bytes in which its source is read from front to back, before it is read elsewhere.
    fn source_run(&self) -> isize {
        let mut strides: Vec<(isize, usize)> = self
            .loops
            .iter()
            .map(|l| (l.source.abs(), l.extent))
            .collect();
        strides.sort_unstable();
        let mut run = self.width as isize;
        for (stride, extent) in strides {
            if stride > run {
                break;
            }
            run += (extent - 1) as isize * stride;
        }
        run
    }

    /// The bytes of the source before and from its first element on.
    fn reach(&self) -> (isize, isize) {
        let side = |l: &Loop| (l.extent - 1) as isize * l.source;
        let (mut low, mut high) = (0, self.width as isize);
        for l in &self.loops {
            low += side(l).min(0);
            high += side(l).max(0);
        }
        (low, high)
    }

    /// The bytes of its first run in the destination, and the loops around that, by their steps there.
    fn runs(&self) -> (isize, Vec<(usize, isize)>) {
        let mut run = self.width as isize;
        let mut around: Vec<(usize, isize)> = Vec::new();
        for l in self.loops.iter().rev() {
            match around.last_mut() {
                None if l.destination == run => run *= l.extent as isize,
                Some((extent, step)) if l.destination == *step * *extent as isize => {
                    *extent *= l.extent;
                }
                _ => around.push((l.extent, l.destination)),
            }
        }
        (run, around)
    }

    /// A transpose with what a fill has behind its columns, if it has all that is between each and the next one, and both
    /// together are at most `most` elements.
    fn with_gaps(&self, padding: &Item, pattern: usize, fill: &Fill, most: usize) -> Option<Item> {
        self.column()?;
        let ((column, around), (bytes, places)) = (self.runs(), padding.runs());
        let fits = padding.destination == self.destination + column
            && around == places
            && around.first()?.1 == column + bytes
            && column + bytes <= (most * self.width) as isize
            && bytes % self.width as isize == 0;
        let gap = Gap {
            bytes: bytes as usize,
            pattern: fill.side_by_side(),
        };
        fits.then(|| Item {
            gap: Some((gap, pattern, padding.width)),
            ..self.clone()
        })
    }

    /// What a fill has to do behind its columns, and the transpose without that.
    fn without_gaps(mut self) -> (Option<Item>, Item) {
        let padding = self.gap.take().map(|(gap, pattern, width)| {
            let (column, around) = self.runs();
            let l = |(extent, destination)| Loop {
                extent,
                source: 0,
                destination,
            };
            let inner = l((gap.bytes / width, width as isize));
            let around = around.into_iter().rev().map(l);
            Item {
                width,
                loops: around.chain([inner]).collect(),
                source: 0,
                destination: self.destination + column,
                steps: [0; DEPTH],
                pattern: Some(pattern),
                gap: None,
                run: 0,
            }
        });
        (padding, self)
    }

    /// How it is moved.
    fn leaf(&self, prepared: Prepared) -> Leaf {
        Leaf {
            prepared,
            source: self.source,
            reach: self.reach(),
            steps: self.steps,
            destination: self.destination,
            length: self.span(),
            bytes: self.bytes(),
            pattern: self.pattern,
            ask: None,
            own: None,
        }
    }

    /// Iterations `from..to` of the outermost loop.
    fn part(&self, from: usize, to: usize) -> Item {
        let mut part = self.clone();
        let l = &mut part.loops[0];
        part.source += from as isize * l.source;
        part.destination += from as isize * l.destination;
        l.extent = to - from;
        if l.extent == 1 {
            part.loops.remove(0);
        }
        part
    }
}

/// Whether this is a transpose whose columns cut lines, are too long for a plane to stage whole, and have in a line alone
/// as many rows as the CPU's prefetcher follows.
pub(super) fn is_tall(nest: &Nest) -> bool {
    let cuts = |l: &Loop| l.source == nest.width as isize && l.destination % LINE as isize != 0;
    column(&nest.loops, nest.width).is_some_and(|bytes| bytes > (PACKED * nest.width) as isize)
        && LINE / nest.width >= followed()
        && nest.loops.iter().any(cuts)
}

/// The bytes of a column, where this is a transpose.
fn column(loops: &[Loop], width: usize) -> Option<isize> {
    let unit = width as isize;
    let (rows, around) = loops.split_last()?;
    let turns = rows.destination == unit && around.iter().any(|l| l.source == unit);
    turns.then_some(rows.extent as isize * unit)
}

/// The items with the largest one, a transpose, and the fill of what lies behind its columns as one. `None` if there is no
/// such fill. They are at most `most` elements together.
pub(super) fn with_gaps<'a>(
    items: &[Item],
    fills: impl Iterator<Item = &'a Fill> + Clone,
    most: usize,
) -> Option<Vec<Item>> {
    let largest = (0..items.len()).max_by_key(|&i| items[i].bytes())?;
    let joined = items.iter().enumerate().find_map(|(i, padding)| {
        let pattern = padding.pattern?;
        let fill = fills.clone().nth(pattern)?;
        let joined = items[largest].with_gaps(padding, pattern, fill, most)?;
        Some((i, joined))
    });
    let (gone, joined) = joined?;
    let mut items = items.to_vec();
    items[largest] = joined;
    items.remove(gone);
    Some(items)
}

/// The cells of a grid that an item lies in, in the same way in each.
struct InCells {
    first: usize,
    end: usize,
    item: Item,
}

/// What bands are to be like.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    /// Whether those that are written in parts of lines are staged.
    pub(super) staged: bool,
    /// Bytes of a band.
    pub(super) band: usize,
    /// Bytes that a band should read of its source at a time, where the whole item does, but at most [`RUN`].
    pub(super) run: isize,
    /// The part of all bytes that may be read in less.
    pub(super) rest: usize,
}

/// How the parts of a sequence are made.
pub(super) struct Maker {
    isa: Isa,
    stream: bool,
    /// Whether bands that are written in parts of lines are staged.
    staged: bool,
    /// Bytes of a band.
    band: isize,
    /// Bytes that a band should read of its source at a time, where the whole item does.
    run: isize,
    /// Leaves that may still be made.
    leaves: usize,
    /// How often the loops around go, and the bytes of what reads its source in bits.
    repeats: usize,
    pub(super) cut: usize,
}

impl Maker {
    pub(super) fn new(isa: Isa, stream: bool, how: How, leaves: usize) -> Maker {
        Maker {
            isa,
            stream,
            staged: how.staged,
            band: how.band as isize,
            run: how.run,
            leaves,
            repeats: 1,
            cut: 0,
        }
    }

    /// Items in the order of the destination, inside `depth` loops. `None` if there would be too many leaves.
    pub(super) fn order(&mut self, mut items: Vec<Item>, depth: usize) -> Option<Vec<Node>> {
        items.sort_by_key(|item| item.destination);
        // Groups whose spans do not overlap.
        // What is streamed leaves room for more than a band.
        let most = if self.stream && !self.staged {
            2 * self.band
        } else {
            self.band
        };
        let mut groups: Vec<(isize, Vec<Item>)> = Vec::new();
        for item in items {
            let end = item.end();
            match groups.last_mut() {
                // What is small enough stays together, even if it does not overlap.
                Some((last, group))
                    if item.destination < *last || end - group[0].destination <= most =>
                {
                    *last = end.max(*last);
                    group.push(item);
                }
                _ => groups.push((end, vec![item])),
            }
        }
        let mut nodes = Vec::new();
        for (end, group) in groups {
            let start = group[0].destination;
            // Columns with gaps are no part of what the destination is cut at otherwise.
            let cut = depth == 0 && (self.staged || group[0].gap.is_some());
            let alone = group.len() == 1 && !cut;
            if alone || end - start <= most || depth == DEPTH {
                nodes.push(self.band(group)?);
            } else {
                self.cells(group, start, end, depth, &mut nodes)?;
            }
        }
        Some(nodes)
    }

    /// Orders items that overlap by the grid of their greatest stride.
    fn cells(
        &mut self,
        items: Vec<Item>,
        start: isize,
        end: isize,
        depth: usize,
        nodes: &mut Vec<Node>,
    ) -> Option<()> {
        let strides = items.iter().filter_map(|item| item.loops.first());
        let step = strides
            .map(|l| l.destination)
            .max()
            .filter(|&step| step < end - start);
        let Some(step) = step else {
            nodes.push(self.band(items)?);
            return Some(());
        };
        let mut placed = Vec::new();
        if !items
            .iter()
            .all(|item| in_cells(item, start, step, &mut placed))
        {
            nodes.push(self.band(items)?);
            return Some(());
        }
        let mut edges: Vec<usize> = placed.iter().flat_map(|p| [p.first, p.end]).collect();
        edges.sort_unstable();
        edges.dedup();
        for pair in edges.windows(2) {
            let (mut first, last) = (pair[0], pair[1]);
            let here: Vec<&InCells> = placed
                .iter()
                .filter(|p| p.first <= first && last <= p.end)
                .collect();
            if here.is_empty() {
                continue;
            }
            // Some cells are a band; a larger cell is ordered inside.
            let together = (self.band / step).max(1) as usize;
            while first < last {
                let cells = together.min(last - first);
                let count = (last - first) / cells;
                let origin = start + first as isize * step;
                let inside = here.iter().map(|p| {
                    let mut item = p.item.clone();
                    if p.end - p.first > 1 {
                        let l = item.loops[0];
                        item.steps[depth] = cells as isize * l.source;
                        item = item.part(first - p.first, first - p.first + cells);
                    }
                    item
                });
                let inside: Vec<Item> = inside.collect();
                if count == 1 {
                    nodes.extend(self.order(inside, depth)?);
                } else {
                    let at_zero = inside.into_iter().map(|mut item| {
                        item.destination -= origin;
                        item
                    });
                    let at_zero = at_zero.collect();
                    self.repeats *= count;
                    let body = self.order(at_zero, depth + 1)?;
                    self.repeats /= count;
                    let step = cells as isize * step;
                    nodes.push(Node {
                        start: origin,
                        end: origin + count as isize * step,
                        kind: Kind::Loop {
                            extent: count,
                            step,
                            body,
                        },
                    });
                }
                first += count * cells;
            }
        }
        Some(())
    }

    fn band(&mut self, items: Vec<Item>) -> Option<Node> {
        self.leaves = self.leaves.checked_sub(items.len())?;
        let cut = |item: &&Item| {
            let run = self.run.min(item.run).min(item.bytes() as isize);
            item.pattern.is_none() && item.source_run() < run
        };
        let cut: usize = items.iter().filter(cut).map(Item::bytes).sum();
        self.cut += cut * self.repeats;
        let start = items.iter().map(|item| item.destination).min()?;
        let end = items.iter().map(Item::end).max()?;
        let bytes: usize = items.iter().map(Item::bytes).sum();
        let staged = self.staged
            && bytes == (end - start) as usize
            && bytes <= self.band as usize
            && (items.len() == 1 || !items.iter().all(Item::is_of_lines));
        let ahead = self.ahead(&items);
        let cached = ahead.is_some();
        let mut leaves = Vec::with_capacity(items.len());
        for item in items {
            let stream = self.stream && !staged && (!cached || item.streams());
            let Maker { isa, .. } = *self;
            if let Some((gap, ..)) = item.gap
                && let Some(prepared) = Prepared::with_gaps(item.width, &item.loops, isa, gap)
            {
                leaves.push(item.leaf(prepared));
                continue;
            }
            let (padding, item) = item.without_gaps();
            for item in padding.into_iter().chain([item]) {
                let owns = self.stream && !stream && !staged;
                leaves.push(Leaf {
                    ask: (staged && item.pattern.is_none())
                        .then(|| Ask::read(&item.loops, item.width, item.reach().0)),
                    own: owns.then(|| Ask::written(&item.loops, item.width)),
                    ..item.leaf(if staged {
                        Prepared::new(item.width, &item.loops, isa, false)
                    } else {
                        Prepared::with_source(item.width, &item.loops, isa, stream, cached)
                    })
                });
            }
        }
        Some(Node {
            start,
            end,
            kind: Kind::Band(Band {
                leaves,
                ahead,
                staged,
            }),
        })
    }

    /// The range of the source that items read, if they go on in the same steps, read most of it, and it fits the cache.
    fn ahead(&self, items: &[Item]) -> Option<Ahead> {
        let moved: Vec<&Item> = items.iter().filter(|item| item.pattern.is_none()).collect();
        let steps = moved.first()?.steps;
        let start = moved.iter().map(|i| i.source + i.reach().0).min()?;
        let end = moved.iter().map(|i| i.source + i.reach().1).max()?;
        let bytes: usize = moved.iter().map(|item| item.bytes()).sum();
        let fits = self.stream
            && moved.iter().all(|item| item.steps == steps)
            && end - start <= 2 * self.band
            && (end - start) as usize <= bytes + bytes / 2;
        fits.then_some(Ahead { start, steps })
    }
}

/// Places an item on the grid of cells of `step` bytes from `start` on, in at most three pieces, each of which lies in the
/// same way in some cells. Says no if an iteration lies across an edge.
fn in_cells(item: &Item, start: isize, step: isize, placed: &mut Vec<InCells>) -> bool {
    let offset = item.destination - start;
    let (cell, within) = ((offset / step) as usize, offset % step);
    let mut put = |item: Item, cell: usize, count: usize| {
        placed.push(InCells {
            first: cell,
            end: cell + count,
            item,
        });
        true
    };
    if within + item.span() <= step {
        return put(item.clone(), cell, 1);
    }
    let Some((&l, inner)) = item.loops.split_first() else {
        return false;
    };
    let inner_span = item.inner_span(inner);
    if l.destination == step {
        return within + inner_span <= step && put(item.clone(), cell, l.extent);
    }
    // Several iterations to a cell: those in the first, whole cells, and the rest.
    if step % l.destination != 0 || within % l.destination + inner_span > l.destination {
        return false;
    }
    let each = (step / l.destination) as usize;
    let head = (((step - within + l.destination - 1) / l.destination) as usize).min(l.extent);
    let (head, mut next) = if head == each {
        (0, cell)
    } else {
        (head, cell + 1)
    };
    if head > 0 {
        put(item.part(0, head), cell, 1);
    }
    let whole = (l.extent - head) / each;
    if whole > 0 {
        let mut part = item.part(head, head + whole * each);
        if whole > 1 {
            let l = part.loops[0];
            part.loops[0].extent = each;
            part.loops.insert(
                0,
                Loop {
                    extent: whole,
                    source: each as isize * l.source,
                    destination: step,
                },
            );
            if each == 1 {
                part.loops.remove(1);
            }
        }
        put(part, next, whole);
        next += whole;
    }
    if head + whole * each < l.extent {
        put(item.part(head + whole * each, l.extent), next, 1);
    }
    true
}
