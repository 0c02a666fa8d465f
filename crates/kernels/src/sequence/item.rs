//! What is put in order: a nest, or a part of one.

use super::{DEPTH, Leaf};
use crate::fill::Fill;
use crate::nest::{Loop, Loops, Nest};
use crate::packed::PACKED;
use crate::plane::Gap;
use crate::prepared::Prepared;
use crate::runs::PIECE;
use crate::simd::LINE;
use crate::spaced::Spaced;
use crate::tuning::followed;

/// Bytes of a run of the destination from which on it is worth streaming though it cuts lines.
const LONG: isize = 1 << 10;
/// Bytes of the source that are worth reading at a time.
pub(super) const RUN: isize = 512;

/// A nest to be put in order. Loops are as those of a `Nest`.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) width: usize,
    pub(super) loops: Loops,
    pub(super) source: isize,
    pub(super) destination: isize,
    pub(super) steps: [isize; DEPTH],
    pub(super) pattern: Option<usize>,
    /// What lies behind every column.
    pub(super) padding: Option<Padding>,
    /// Bytes of the source that it is to be read in at least.
    pub(super) run: isize,
}

/// What a fill has behind every column of an item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Padding {
    pub(super) gap: Gap,
    /// The fill's pattern, and the bytes of its elements.
    pattern: usize,
    width: usize,
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
            padding: None,
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
    pub(super) fn span(&self) -> isize {
        self.inner_span(&self.loops)
    }

    /// As `span`, of some inner loops.
    pub(super) fn inner_span(&self, loops: &[Loop]) -> isize {
        let inside = |l: &Loop| (l.extent - 1) as isize * l.destination;
        let gap = self.padding.map_or(0, |padding| padding.gap.bytes as isize);
        loops.iter().map(inside).sum::<isize>() + self.width as isize + gap
    }

    pub(super) fn end(&self) -> isize {
        self.destination + self.span()
    }

    pub(super) fn bytes(&self) -> usize {
        self.width * self.loops.iter().map(|l| l.extent).product::<usize>()
    }

    /// Its columns, where it is a transpose.
    pub(super) fn column(&self) -> Option<Column> {
        Column::find(&self.loops, self.width)
    }

    /// Whether it copies runs.
    fn is_of_runs(&self) -> bool {
        let unit = self.width as isize;
        let runs = |l: &Loop| l.source == unit && l.destination == unit;
        self.loops.iter().any(runs)
    }

    /// Whether it fills, or copies runs in the order in which they lie in the source.
    pub(super) fn keeps_order(&self) -> bool {
        let descends = || self.loops.is_sorted_by(|a, b| a.source >= b.source);
        self.pattern.is_some() || (self.is_of_runs() && descends())
    }

    /// Whether it is worth streaming: unless its kernel would only copy or fill short runs that cut lines.
    pub(super) fn streams(&self) -> bool {
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
    pub(super) fn source_run(&self) -> isize {
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
    pub(super) fn reach(&self) -> (isize, isize) {
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
        if self.is_of_runs() {
            return None;
        }
        self.column()?;
        let ((column, around), (bytes, places)) = (self.runs(), padding.runs());
        let fits = padding.destination == self.destination + column
            && around == places
            && around.first()?.1 == column + bytes
            && column + bytes <= (most * self.width) as isize
            && bytes % self.width as isize == 0;
        let gap = Gap {
            bytes: bytes as usize,
            pattern: *fill.pattern(),
        };
        fits.then(|| Item {
            padding: Some(Padding {
                gap,
                pattern,
                width: padding.width,
            }),
            ..self.clone()
        })
    }

    /// Whether it is a transpose with a gap behind each short column, for which there is a kernel.
    fn is_spaced(&self) -> bool {
        let finds = |gap| Spaced::find(self.width, &self.loops, gap).is_some();
        self.padding.is_some_and(|padding| finds(padding.gap))
    }

    /// What a fill has to do behind its columns, and the transpose without that.
    pub(super) fn without_gaps(mut self) -> (Option<Item>, Item) {
        let padding = self.padding.take().map(|padding| {
            let Padding {
                gap,
                pattern,
                width,
            } = padding;
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
                padding: None,
                run: 0,
            }
        });
        (padding, self)
    }

    /// How it is moved.
    pub(super) fn leaf(&self, prepared: Prepared) -> Leaf {
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
    pub(super) fn part(&self, from: usize, to: usize) -> Item {
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
    Column::find(&nest.loops, nest.width).is_some_and(|Column { element, bytes }| {
        let cuts = |l: &Loop| l.source == element && l.destination % LINE as isize != 0;
        bytes > PACKED as isize * element
            && LINE / element as usize >= followed()
            && nest.loops.iter().any(cuts)
    })
}

/// What a transpose writes from front to back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// Bytes of what changes places: an element, or so short a run that it is moved as one.
    pub(super) element: isize,
    /// Bytes of all that follow one another.
    pub(super) bytes: isize,
}

impl Column {
    /// The longest run that is moved as an element.
    const ELEMENT: isize = 16;

    /// Those of loops around elements of `width` bytes, outermost first, where these turn.
    pub(super) fn find(loops: &[Loop], width: usize) -> Option<Column> {
        let (mut element, mut loops) = (width as isize, loops);
        while let Some((run, around)) = loops.split_last()
            && (run.source, run.destination) == (element, element)
        {
            (element, loops) = (element * run.extent as isize, around);
        }
        let moved = element <= Self::ELEMENT && (element as usize).is_power_of_two();
        let (rows, around) = loops.split_last().filter(|_| moved)?;
        let turns = rows.destination == element && around.iter().any(|l| l.source == element);
        let mut bytes = element;
        for l in loops.iter().rev() {
            if l.destination == bytes && l.source != element {
                bytes *= l.extent as isize;
            }
        }
        turns.then_some(Column { element, bytes })
    }
}

/// The items with the largest one that moves, a transpose, and the fill of what lies behind its columns as one, and the bytes
/// for which that is worth it: of all that it writes, where there is a kernel for short columns, otherwise of what it moves.
/// `None` if there is no such fill. They are at most `most` elements together.
pub(super) fn with_gaps<'a>(
    items: &[Item],
    fills: impl Iterator<Item = &'a Fill> + Clone,
    most: usize,
) -> Option<(Vec<Item>, usize)> {
    let moves = (0..items.len()).filter(|&i| items[i].pattern.is_none());
    let largest = moves.max_by_key(|&i| items[i].bytes())?;
    let joined = items.iter().enumerate().find_map(|(i, padding)| {
        let pattern = padding.pattern?;
        let fill = fills.clone().nth(pattern)?;
        let joined = items[largest].with_gaps(padding, pattern, fill, most)?;
        Some((i, joined))
    });
    let (gone, joined) = joined?;
    let bytes = match joined.is_spaced() {
        true => joined.bytes() + items[gone].bytes(),
        false => joined.bytes(),
    };
    let mut items = items.to_vec();
    items[largest] = joined;
    items.remove(gone);
    Some((items, bytes))
}
