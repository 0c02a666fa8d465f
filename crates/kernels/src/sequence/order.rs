//! Putting items in the destination's order.

use super::item::{Item, Padding};
use super::stage::Ask;
use super::{Ahead, Band, DEPTH, Kind, Leaf, Node};
use crate::isa::Isa;
use crate::nest::Loop;
use crate::prepared::Prepared;
use crate::runs::Source;

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
            let cut = depth == 0 && (self.staged || group[0].padding.is_some());
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
        let source = match ahead {
            Some(_) => Source::Front,
            None if !staged && self.goes_along(&items) => Source::Along,
            None => Source::Memory,
        };
        let cached = source != Source::Memory;
        let mut leaves = Vec::with_capacity(items.len());
        for item in items {
            let stream = self.stream && !staged && (!cached || item.streams());
            let Maker { isa, .. } = *self;
            if let Some(Padding { gap, .. }) = item.padding
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
                        Prepared::with_source(item.width, &item.loops, isa, stream, source)
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

    /// Whether the next iteration reads as much as fits the cache beside this one, wherever that is.
    fn goes_along(&self, items: &[Item]) -> bool {
        let mut moved = items.iter().filter(|item| item.pattern.is_none());
        let bytes: usize = moved.clone().map(Item::bytes).sum();
        self.stream && bytes as isize <= 2 * self.band && moved.any(|item| item.steps != [0; DEPTH])
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
