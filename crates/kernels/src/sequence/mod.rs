//! Boxes and fills in the order of the destination.
//!
//! Boxes of one plan interleave: a ragged tile lies behind whole ones in every row of tiles, and padding behind that.
//! Moved one after another, each would pass over the whole destination and, worse, over the whole source. So they are
//! moved in *bands*, which fit the second-level cache: everything in a band, then everything in the next.
//!
//! ```text
//! items that interleave, and the grid of the greatest stride among them:
//!     | A A A B f | A A A B f | A A A B f | c c c d f |
//! become loops over cells that hold the same, as many at once as a band takes:
//!     3 x { A A A B f }, 1 x { c c c d f }
//! and where a cell is more than a band, its inside is ordered in the same way.
//! ```
//!
//! Memory is fastest when it is read from front to back, whatever order the kernels need. So, while a band is moved, the
//! source of the next is asked for in that order, or, where it lies in several places, run by run. Where the items of a
//! band share lines of the destination, the band is put together in a [`stage`].

mod item;
mod order;
mod run;
pub(crate) mod stage;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::error::{Buffer, NestError};
use crate::fill::Fill;
use crate::isa::Isa;
use crate::movement::Move;
use crate::packed::packed_rows;
use crate::prepared::Prepared;
use crate::recode::Scratch;
use crate::simd::{LINE, fence};
use crate::tuning::{Caches, Tuning, Written, followed, is_zen5};
use item::{Column, Item, RUN};
use order::{How, Maker};
use run::Run;
use stage::{Ask, Narrow, STAGE, Stage};

/// The most loops around a band.
const DEPTH: usize = 8;
/// Bytes of a leaf, on average, that are worth entering a kernel,
const WORTH: usize = 2 << 10;
/// and those from which on longer ones bring little: a narrow stage is in the nearest cache, and what it repeats stays there.
const AMPLE: usize = STAGE / 8;
/// The part of all bytes that must be written in parts of lines for bands to be staged.
const CUTTING: usize = 8;
/// The part of all bytes that long bands and those in a wide stage may read in short pieces: what is left beside them.
const REST: usize = 16;
/// Bytes of columns that are short: a plane that streams would spend its time with the lines that they share with what lies
/// between them.
const SHORT: isize = 1 << 10;
/// And where the CPU's prefetcher does not follow all rows: from `T(8,128)` to columns an Emerald Rapids takes 9.3 ms for
/// f32[301,60013] in a stage and 14.3 as a plane, 11.9 and 12.0 for f32[801,20011]; a Zen 4 9.9 and 10.3, 10.4 and 7.6.
const FOLLOWED_SHORT: isize = 2 << 10;
/// Bytes of a band of columns that are written with the gaps behind them, without a stage: long, as rows are read across it.
const LONG: usize = 1 << 20;
/// The most leaves for each item, on average: more mean that the items do not interleave in order.
const LEAVES: usize = 8;

/// Several moves and fills of one destination, in its order: made once, run often.
///
/// They must not write the same bytes; if they do, the result is undetermined.
#[derive(Debug, Clone)]
pub struct Sequence {
    nodes: Vec<Node>,
    patterns: Vec<[u8; 16]>,
    source_len: usize,
    stream: bool,
    isa: Isa,
    /// Bytes of the bands that are put together in a stage; 0 where none is.
    stage: usize,
    /// Whether columns are written with the gaps behind them, by kernels that put them together.
    joins: bool,
}

/// The bands of a [`Sequence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bands {
    /// How many there are, in all iterations.
    pub count: usize,
    /// Bytes of the destination from the first to the last of the largest one.
    pub largest: usize,
}

/// A part of the destination, in bytes from its start or from that of the iteration around.
#[derive(Debug, Clone)]
struct Node {
    start: isize,
    end: isize,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Band(Band),
    /// Iterations that are each `step` bytes of the destination.
    Loop {
        extent: usize,
        step: isize,
        body: Vec<Node>,
    },
}

/// What is moved one after another.
#[derive(Debug, Clone)]
struct Band {
    leaves: Vec<Leaf>,
    /// The bytes of the source that the leaves read, if they are most of a range, and the steps of that range.
    ahead: Option<Ahead>,
    /// Whether its leaves write to a stage.
    staged: bool,
}

#[derive(Debug, Clone)]
struct Ahead {
    start: isize,
    steps: [isize; DEPTH],
}

/// A part of an item.
#[derive(Debug, Clone)]
struct Leaf {
    prepared: Prepared,
    /// Its first element, and the bytes that it reaches before and from there on.
    source: isize,
    reach: (isize, isize),
    /// Bytes from one iteration to the next of the loops around.
    steps: [isize; DEPTH],
    destination: isize,
    length: isize,
    bytes: usize,
    /// The pattern that is its source.
    pattern: Option<usize>,
    /// What a staged one reads.
    ask: Option<Ask>,
    /// What one writes with ordinary stores, to lines that are in no cache.
    own: Option<Ask>,
}

/// Bytes of bands.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Those that are written where they belong.
    band: usize,
    /// Those of a wide stage.
    wide: usize,
    /// Whether columns are put together in a wide stage alone, as reading in bits is slow: where the CPU's prefetcher does not
    /// follow all that is read, and on a Zen 5.
    gathers: bool,
    /// Those of a short column, at most.
    short: isize,
    /// Those of columns that are written with the gaps behind them, and the most elements of both together: none where wide
    /// stages do better.
    long: usize,
    most: usize,
    /// Those of everything, below which it stays in the caches, for each [`Written`].
    kept: [usize; 3],
}

/// The bands that are moved.
fn bands(nodes: &[Node]) -> Bands {
    let mut all = Bands {
        count: 0,
        largest: 0,
    };
    for node in nodes {
        let (times, inside) = match &node.kind {
            Kind::Band(_) => (
                1,
                Bands {
                    count: 1,
                    largest: (node.end - node.start) as usize,
                },
            ),
            Kind::Loop { extent, body, .. } => (*extent, bands(body)),
        };
        all.count += times * inside.count;
        all.largest = all.largest.max(inside.largest);
    }
    all
}

/// How many leaves are run.
fn entries(nodes: &[Node]) -> usize {
    let of = |node: &Node| match &node.kind {
        Kind::Band(band) => band.leaves.len(),
        Kind::Loop { extent, body, .. } => extent * entries(body),
    };
    nodes.iter().map(of).sum()
}

impl Sequence {
    /// Puts moves and fills in order; `None` where that brings nothing: where there are few bytes, a single item, or no
    /// order among them.
    ///
    /// ```
    /// use minormajor_kernels::{Fill, FillLoop, Loop, Move, Scratch, Sequence, Stores, Tuning};
    /// let both = |extent, stride| Loop { extent, source: stride, destination: stride };
    /// let rows = Move::new(4, 0, 0, &[Loop { source: 400, destination: 512, ..both(10_000, 0) }, both(100, 4)])?;
    /// let gaps = |extent, destination| FillLoop { extent, destination };
    /// let gaps = Fill::new(&[0; 4], 400, &[gaps(10_000, 512), gaps(28, 4)])?;
    /// let tuning = Tuning { stores: Stores::Plain, ..Tuning::default() };
    /// let sequence = Sequence::new([&rows].into_iter(), [&gaps].into_iter(), &tuning).expect("rows and gaps alternate");
    /// let mut destination = vec![1; 5_120_000];
    /// sequence.run_window(&vec![2; 4_000_000], &mut destination, 0, &mut Scratch::default())?;
    /// assert_eq!(destination.iter().filter(|&&byte| byte == 2).count(), 4_000_000);
    /// # Ok::<(), minormajor_kernels::NestError>(())
    /// ```
    pub fn new<'a>(
        moves: impl Iterator<Item = &'a Move> + Clone,
        fills: impl Iterator<Item = &'a Fill> + Clone,
        tuning: &Tuning,
    ) -> Option<Sequence> {
        let second = Caches::of_this_cpu().second;
        let sizes = Sizes {
            band: second / 4,
            wide: second / 6,
            gathers: followed() < usize::MAX || is_zen5(),
            short: match followed() {
                usize::MAX => SHORT,
                _ => FOLLOWED_SHORT,
            },
            long: LONG,
            most: if followed() == usize::MAX {
                packed_rows(1)
            } else {
                0
            },
            kept: Written::ALL.map(|written| tuning.kept_by_one(written)),
        };
        let moved: usize = moves.clone().map(Move::bytes).sum();
        let filled: usize = fills.clone().map(Fill::bytes).sum();
        let stream = tuning.streams(moved + filled);
        let many = moves.clone().count() + fills.clone().count() > 1;
        let tall = || stream && moves.clone().all(|m| item::is_tall(m.nest()));
        if !(many || tall()) {
            return None;
        }
        Sequence::sized(moves, fills, tuning, stream, sizes)
    }

    /// As [`new`](Sequence::new), with bands of these sizes, and stores that stream or do not.
    fn sized<'a>(
        moves: impl Iterator<Item = &'a Move> + Clone,
        fills: impl Iterator<Item = &'a Fill> + Clone,
        tuning: &Tuning,
        stream: bool,
        sizes: Sizes,
    ) -> Option<Sequence> {
        let moved = moves.clone().map(|m| (Cow::Borrowed(m.nest()), None));
        let filled = fills.clone().enumerate();
        let filled = filled.map(|(i, fill)| (fill.nest(), Some(i)));
        let items: Vec<Item> = moved
            .chain(filled)
            .filter(|(nest, _)| nest.bytes > 0)
            .map(|(nest, pattern)| Item::new(&nest, pattern))
            .collect();
        // Loops that stay in the destination write the same bytes again.
        if items.iter().any(Item::stays) {
            return None;
        }
        let total: usize = items.iter().map(Item::bytes).sum();
        let cutting = items.iter().filter(|item| !item.is_of_lines());
        let cutting: usize = cutting.map(Item::bytes).sum();
        let written = match cutting {
            _ if items.iter().all(Item::keeps_order) => Written::Ordered,
            cutting if cutting > total / CUTTING => Written::Cut,
            _ => Written::Lines,
        };
        let stream = stream && total >= sizes.kept[written as usize];
        // Where one item is nearly everything, its kernel does best with the whole of it when it streams.
        let largest = items.iter().max_by_key(|item| item.bytes())?;
        let nearly_all = |bytes: usize| stream && bytes / 3 > total / 4;
        let alone = nearly_all(largest.bytes());
        let single = items.len() == 1;
        let shared = stream && cutting > total / CUTTING && !(alone && largest.is_of_lines());
        let leaves = LEAVES * items.len() + 64;
        let ordered = |items: &[Item], how: How, joined: bool| {
            let mut maker = Maker::new(tuning.isa, stream, how, leaves);
            let nodes = maker.order(items.to_vec(), 0)?;
            let one = matches!(&nodes[..], [node] if matches!(node.kind, Kind::Band(_)));
            let worth = total / entries(&nodes) >= WORTH && maker.cut <= total / how.rest;
            ((joined || !one) && worth).then_some((nodes, how))
        };
        let order = |how| ordered(&items, how, false);
        let narrow = How {
            staged: true,
            band: STAGE,
            run: LINE as isize,
            rest: usize::MAX,
        };
        let wide = How {
            band: sizes.wide,
            rest: REST,
            ..narrow
        };
        // Columns of nearly everything.
        let columns = largest.column().filter(|_| single || alone);
        // They, with what lies between them.
        let gaps = || {
            let (items, bytes) = stream
                .then(|| item::with_gaps(&items, fills.clone(), sizes.most))
                .flatten()?;
            if !nearly_all(bytes) {
                return None;
            }
            let long = How {
                staged: false,
                band: sizes.long,
                run: RUN,
                rest: REST,
            };
            ordered(&items, long, true)
        };
        let joined = gaps();
        let joins = joined.is_some();
        let found = joined.or_else(|| match columns {
            _ if !shared && !single => None,
            // Long ones are a plane's, unless it would have to follow too many rows: f32[2001,9003] from `T(8,128)` to columns takes a
            // Zen 5 9.6 ms in a stage and 4.7 as a plane, f32[1801,9003] a Zen 4 12.1 and 6.2.
            Some(Column { element, bytes })
                if bytes > sizes.short && LINE / (element as usize) < followed() =>
            {
                None
            }
            Some(_) if sizes.gathers => order(How { run: RUN, ..wide }),
            _ => {
                let found = order(narrow);
                let ample = |(nodes, _): &(Vec<Node>, How)| total / entries(nodes) >= AMPLE;
                if found.as_ref().is_some_and(ample) {
                    found
                } else {
                    order(wide).or(found)
                }
            }
        });
        let (nodes, how) = match found {
            Some(found) => found,
            None if alone => return None,
            None => order(How {
                staged: false,
                band: sizes.band,
                run: RUN,
                rest: usize::MAX,
            })?,
        };
        Some(Sequence {
            nodes,
            patterns: fills.map(|f| *f.pattern()).collect(),
            source_len: moves.map(Move::source_len).max().unwrap_or(0),
            stream,
            isa: tuning.isa,
            stage: if how.staged { how.band } else { 0 },
            joins,
        })
    }

    /// Whether what items write is put together in the caches and streamed from there, so that none of them asks memory
    /// for the lines that it writes a part of.
    pub fn is_staged(&self) -> bool {
        self.joins || self.stage > 0
    }

    /// Whether it writes past the caches what is worth it.
    pub fn streams(&self) -> bool {
        self.stream
    }

    /// What is moved together.
    pub fn bands(&self) -> Bands {
        bands(&self.nodes)
    }

    /// Bytes that a run takes in a [`Scratch`]: some hundreds of KiB or none.
    pub fn scratch(&self) -> usize {
        match self.rooms() {
            0 => 0,
            rooms => Scratch::bytes(rooms),
        }
    }

    /// Bytes of the rooms of a wide stage.
    fn rooms(&self) -> usize {
        if self.stage > STAGE {
            2 * stage::room(self.stage)
        } else {
            0
        }
    }

    /// Bytes of the destination at which it can be cut into about so many windows.
    pub fn cuts(&self, windows: usize) -> impl Iterator<Item = usize> + Send + '_ {
        let end = self.nodes.last().map_or(0, |node| node.end);
        let size = (end / windows.max(1) as isize).max(1);
        let starts = self.nodes.iter().flat_map(|node| {
            let (extent, step) = match node.kind {
                Kind::Band(_) => (1, 0),
                Kind::Loop { extent, step, .. } => (extent as isize, step),
            };
            (0..extent).map(move |i| node.start + i * step)
        });
        let mut last = 0;
        starts
            .filter(move |&start| {
                let far = start - last >= size;
                if far {
                    last = start;
                }
                far
            })
            .map(|start| start as usize)
    }

    /// Moves and fills what lies in bytes `start .. start + window.len()` of the destination, where `window` is that part
    /// of it and starts and ends at [`cuts`](Sequence::cuts) or at the destination's ends.
    ///
    /// # Errors
    ///
    /// [`NestError::TooShort`] if the source does not hold every element of the whole; then nothing has been written.
    /// [`NestError::CutElement`] if the window ends where there is no cut.
    pub fn run_window(
        &self,
        source: &[u8],
        window: &mut [u8],
        start: usize,
        scratch: &mut Scratch,
    ) -> Result<(), NestError> {
        if source.len() < self.source_len {
            return Err(NestError::TooShort {
                buffer: Buffer::Source,
                needed: self.source_len,
                got: source.len(),
            });
        }
        // Slices are no longer than isize::MAX, nor is what a nest reaches.
        let first = start as isize;
        let end = start.saturating_add(window.len()).min(isize::MAX as usize) as isize;
        let mut run = Run::new(self, source, window, first);
        let result = match (self.stage, self.rooms()) {
            (0, _) => run.all(first, end, None),
            (_, 0) => run.all(first, end, Some(&mut Stage::narrow(&mut Narrow::new()))),
            (_, rooms) => run.all(first, end, Some(&mut Stage::wide(scratch.slice(rooms)))),
        };
        if self.stream {
            fence();
        }
        result
    }
}
