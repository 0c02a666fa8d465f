//! A box in blocks that fit a cache.

use super::block::{Block, Recipe, Writing};
use super::rewrite::Place;
use crate::isa::Isa;
use crate::nest::Loop;
use crate::simd::LINE;
use crate::tuning::followed;

/// Bytes that a block should hold between reading and writing, about.
const ROOM: usize = 256 << 10;
/// Bytes that a block should write in a run of the destination, and read in one of the source.
const WRITTEN: usize = 256;
const READ: usize = 128;
/// The latter where the CPU's prefetcher does not follow as many rows as a block has: long enough to be worth its start.
const READ_ALONE: usize = 512;

#[derive(Debug, Clone)]
pub(super) struct Blocks {
    loops: Vec<Cut>,
    /// By the loops that are at their last, shorter step: bit `i` for the `i`-th that has such a step.
    blocks: Vec<Block>,
    isa: Isa,
}

/// A loop over blocks. Strides are in bits.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// The bit that says that the loop is at its last, shorter step; none if all are equal.
    end: usize,
    extent: usize,
    /// Iterations in a block.
    block: usize,
    source: isize,
    destination: isize,
}

impl Cut {
    fn is_ragged(&self) -> bool {
        !self.extent.is_multiple_of(self.block)
    }
}

/// How a box may be cut.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// Bits of an element in the source, in a stage, and in the destination.
    pub(super) bits: [usize; 3],
    /// For each loop, what its share in a block must be a multiple of if it is not all of it; 0 for all of it.
    pub(super) multiples: Vec<usize>,
}

impl Blocks {
    /// Blocks of a box, each made by a recipe for its loops, which are in the box's order and have its strides.
    pub(super) fn new(
        loops: &[Loop],
        limits: &Limits,
        stream: bool,
        isa: Isa,
        recipe: impl Fn(&[Loop]) -> Recipe,
    ) -> Blocks {
        let mut loops = cut(loops, limits);
        let ragged: Vec<usize> = (0..loops.len()).filter(|&i| loops[i].is_ragged()).collect();
        let mut forward = false;
        let blocks = (0..1 << ragged.len())
            .map(|ends: usize| {
                let inside: Vec<Loop> = loops
                    .iter()
                    .enumerate()
                    .map(|(i, l)| Loop {
                        extent: match ragged.iter().position(|&r| r == i) {
                            Some(place) if ends >> place & 1 == 1 => l.extent % l.block,
                            _ => l.block,
                        },
                        source: l.source,
                        destination: l.destination,
                    })
                    .collect();
                let recipe = recipe(&inside);
                forward = matches!(recipe.writing, Writing::Direct);
                Block::new(recipe, stream, isa)
            })
            .collect();
        for (bit, &i) in ragged.iter().enumerate() {
            loops[i].end = 1 << bit;
        }
        if forward {
            // Blocks that follow one another read on in the rows of the source.
            loops.sort_by_key(|l| {
                (
                    l.extent > l.block,
                    std::cmp::Reverse(l.source.unsigned_abs()),
                )
            });
        }
        Blocks { loops, blocks, isa }
    }

    /// Bytes of memory that a run needs.
    pub(super) fn scratch(&self) -> usize {
        self.blocks.iter().map(Block::scratch).max().unwrap_or(0)
    }

    /// Moves the box.
    ///
    /// # Safety
    ///
    /// Every bit that the loops touch is readable and writable from these places on, of the destination the whole bytes
    /// that have bits of an element. `scratch` bytes are writable at `stage`, which is on a line. No two of the three
    /// overlap. The places suit what the recipe does.
    pub(super) unsafe fn run(&self, from: Place<*const u8>, to: Place<*mut u8>, stage: *mut u8) {
        let start = Start { ends: 0, next: 0 };
        // SAFETY: the caller's promise.
        unsafe { self.walk(&self.loops, start, from, to, stage) }
    }

    /// # Safety
    ///
    /// As `run`, for an iteration of the loops that are not in the list.
    unsafe fn walk(
        &self,
        loops: &[Cut],
        start: Start,
        from: Place<*const u8>,
        to: Place<*mut u8>,
        stage: *mut u8,
    ) {
        let Some((l, inner)) = loops.split_first() else {
            // SAFETY: a block of the box.
            unsafe { self.blocks[start.ends].run(from, to, start.next, stage, self.isa) };
            return;
        };
        let step = l.block as isize * l.source;
        for first in (0..l.extent).step_by(l.block) {
            let behind = first + l.block;
            let last = if behind > l.extent { l.end } else { 0 };
            let start = Start {
                ends: start.ends | last,
                next: if behind < l.extent { step } else { start.next },
            };
            // SAFETY: an iteration.
            unsafe {
                self.walk(
                    inner,
                    start,
                    from.step(first as isize * l.source),
                    to.step(first as isize * l.destination),
                    stage,
                );
            }
        }
    }
}

/// What the loops around a block say of it.
#[derive(Clone, Copy)]
struct Start {
    /// The bits of the loops so far that are at their end.
    ends: usize,
    /// Bits from this block's source to the next one's, about.
    next: isize,
}

/// Chooses how much of every loop is in a block: as long runs as there is room for on both sides, then what else fits.
fn cut(loops: &[Loop], limits: &Limits) -> Vec<Cut> {
    let [source_bits, bits, destination_bits] = limits.bits;
    let room = ROOM * 8 / bits;
    let most = match followed() {
        usize::MAX => READ,
        _ => READ_ALONE,
    };
    let of_runs = |halvings: u32| {
        let read = along(loops, limits, |l| l.source, source_bits, most >> halvings);
        let written = along(
            loops,
            limits,
            |l| l.destination,
            destination_bits,
            WRITTEN >> halvings,
        );
        let blocks: Vec<usize> = std::iter::zip(read, written)
            .map(|(a, b)| a.max(b))
            .collect();
        let elements: usize = blocks.iter().product();
        (blocks, elements)
    };
    let (mut blocks, mut elements) = of_runs(0);
    let mut halvings = 0;
    while elements > room && most >> halvings > 1 {
        halvings += 1;
        (blocks, elements) = of_runs(halvings);
    }
    // The innermost in the destination first.
    for (i, l) in loops.iter().enumerate().rev() {
        let more = room / elements;
        if blocks[i] < l.extent && more > 1 {
            elements /= blocks[i];
            blocks[i] = even(l.extent, blocks[i] * more, blocks[i]);
            elements *= blocks[i];
            if blocks[i] < l.extent {
                break;
            }
        }
    }
    std::iter::zip(loops, blocks)
        .map(|(l, block)| Cut {
            end: 0,
            extent: l.extent,
            block,
            source: l.source,
            destination: l.destination,
        })
        .collect()
}

/// How much of every loop makes a run of about so many bytes on one side.
fn along(
    loops: &[Loop],
    limits: &Limits,
    stride: impl Fn(&Loop) -> isize,
    bits: usize,
    bytes: usize,
) -> Vec<usize> {
    let wanted = (bytes * 8 / bits).max(1);
    let mut blocks = vec![1; loops.len()];
    for (i, l) in loops.iter().enumerate() {
        blocks[i] = match limits.multiples[i] {
            0 => l.extent,
            multiple => multiple.min(l.extent),
        };
    }
    let mut run = 1;
    while run < wanted
        && let Some(i) = loops
            .iter()
            .position(|l| stride(l).unsigned_abs() == run * bits)
    {
        let l = &loops[i];
        let line = (LINE * 8 / bits).max(1);
        blocks[i] = blocks[i].max(even(
            l.extent,
            wanted
                .div_ceil(run)
                .next_multiple_of(limits.multiples[i].max(1)),
            line.max(limits.multiples[i]),
        ));
        run *= l.extent;
    }
    blocks
}

/// At most `most` iterations of a loop, which is a multiple of `unit` or less than that: all, or as many as make blocks
/// about equal, in whole `unit`s.
fn even(extent: usize, most: usize, unit: usize) -> usize {
    if extent <= most {
        return extent;
    }
    let blocks = extent.div_ceil(most);
    let equal = extent.div_ceil(blocks);
    equal.next_multiple_of(unit).min(most)
}
