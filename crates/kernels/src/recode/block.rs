//! A block of a box: elements are read in the order of the source, moved to that of the destination by the ordinary
//! kernels, and written from there.

use std::marker::PhantomData;

use super::half::Half;
use super::mix::{Mix, Read, Write};
use super::pass::Pass;
use super::rewrite::Place;
use super::stage::Stage;
use super::way::Way;
use crate::isa::Isa;
use crate::nest::{Loop, Nest};
use crate::prepared::Prepared;
use crate::simd::LINE;

/// A loop of the move in the middle, over elements of whole bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mid {
    pub(super) extent: usize,
    /// In bits of memory; in bytes of the stage where rows are mixed when they are read.
    pub(super) source: isize,
    /// In bits of memory; in bytes of the stage where rows are mixed when they are written.
    pub(super) destination: isize,
}

/// What is done before the move.
#[derive(Debug, Clone)]
pub(super) enum Reading {
    /// It reads from memory.
    Direct,
    /// Runs of elements of so many bits are written anew.
    Ways(Vec<Way>, usize),
    Mix(Mix),
}

/// What is done behind the move.
#[derive(Debug, Clone)]
pub(super) enum Writing {
    /// It writes to memory.
    Direct,
    /// Runs become elements of so many bits. The last byte of a run lacks so many bits that are not written; then runs
    /// stand alone.
    Ways(Vec<Way>, usize, usize),
    Mix(Mix),
}

/// A recipe for a block.
pub(super) struct Recipe {
    pub(super) reading: Reading,
    /// Bytes of an element of the move.
    pub(super) width: usize,
    pub(super) middle: Vec<Mid>,
    pub(super) writing: Writing,
}

/// A block of one size.
#[derive(Debug, Clone)]
pub(super) struct Block {
    first: First,
    between: Prepared,
    /// Bytes from the first element that the move reads back to the lowest.
    back: usize,
    last: Last,
    /// Bytes of scratch: of the stage that the move reads, of that which it writes, and of a piece behind it.
    stages: [usize; 3],
    stream: bool,
}

#[derive(Debug, Clone)]
enum First {
    Direct,
    /// And bits from the first element to the first run.
    Pass(Pass, isize),
    Mix(Mix),
}

#[derive(Debug, Clone)]
enum Last {
    Direct,
    Pass(Pass),
    Mix(Mix),
}

impl Block {
    pub(super) fn new(recipe: Recipe, stream: bool, isa: Isa) -> Block {
        let Recipe {
            reading,
            width,
            middle,
            writing,
        } = recipe;
        let mut stages = [0; 3];
        let mut inner: Vec<Loop> = middle
            .iter()
            .map(|l| Loop {
                extent: l.extent,
                source: l.source / 8,
                destination: l.destination / 8,
            })
            .collect();
        let first = match reading {
            Reading::Direct => First::Direct,
            Reading::Ways(ways, bits) => {
                let stage = Stage::new(&middle, |l| l.source, bits, width, usize::MAX);
                for (l, &stride) in inner.iter_mut().zip(&stage.strides) {
                    l.source = stride;
                }
                stages[0] = stage.bytes;
                let outer = stage.outer(&middle, |l, stage| Loop {
                    extent: l.extent,
                    source: l.source,
                    destination: stage * 8,
                });
                let backwards = stage.backwards(&middle, |l| l.source);
                let bits = (bits, 8 * width);
                First::Pass(
                    Pass::new(&ways, bits, outer, stage.run, false, isa),
                    backwards,
                )
            }
            Reading::Mix(mix) => {
                for (l, mid) in inner.iter_mut().zip(&middle) {
                    l.source = mid.source;
                }
                let rows = mix.stage.iter().max().map_or(0, |&last| last + mix.bytes);
                stages[0] = rows + 2 * LINE;
                First::Mix(mix)
            }
        };
        let last = match writing {
            Writing::Direct => Last::Direct,
            Writing::Ways(ways, bits, lacking) => {
                let joined = if lacking > 0 { 1 } else { usize::MAX };
                let stage = Stage::new(&middle, |l| l.destination, bits, width, joined);
                for (l, &stride) in inner.iter_mut().zip(&stage.strides) {
                    l.destination = stride;
                }
                stages[1] = stage.bytes;
                let outer = stage.outer(&middle, |l, stage| Loop {
                    extent: l.extent,
                    source: stage * 8,
                    destination: l.destination,
                });
                let (bits, run) = match lacking {
                    0 => ((8 * width, bits), stage.run),
                    _ => ((1, 1), stage.run * bits - lacking),
                };
                Last::Pass(Pass::new(&ways, bits, outer, run, stream, isa))
            }
            Writing::Mix(mix) => {
                for (l, mid) in inner.iter_mut().zip(&middle) {
                    l.destination = mid.destination;
                }
                let rows = mix.stage.iter().max().map_or(0, |&last| last + mix.bytes);
                stages[1] = rows + 2 * LINE;
                stages[2] = mix.piece();
                Last::Mix(mix)
            }
        };
        let lowest: isize = inner
            .iter()
            .map(|l| (l.extent - 1) as isize * l.source.min(0))
            .sum();
        // Strides and extents of a part of a checked nest, or of stages that were just measured.
        let nest = Nest::new(width, lowest.unsigned_abs(), 0, &inner)
            .expect("a block of a nest is within reach");
        debug_assert_eq!((nest.source, nest.destination), (-lowest, 0));
        let streams = stream && matches!(last, Last::Direct);
        Block {
            first,
            between: Prepared::new(nest.width, &nest.loops, isa, streams),
            back: lowest.unsigned_abs(),
            last,
            stages: stages.map(|bytes| bytes.next_multiple_of(LINE)),
            stream,
        }
    }

    /// Bytes of memory that a run needs.
    pub(super) fn scratch(&self) -> usize {
        self.stages.iter().sum()
    }

    /// Moves the block. The source of the next one is `next` bits further, or that is not known and 0.
    ///
    /// # Safety
    ///
    /// Every bit of the block is readable and writable from these places on, of the destination the whole bytes that
    /// have bits of an element. `scratch` bytes are writable at `stage`, which is on a line. No two of the three overlap.
    /// Where the move reads or writes memory itself, its elements are whole bytes there.
    pub(super) unsafe fn run(
        &self,
        from: Place<*const u8>,
        to: Place<*mut u8>,
        next: isize,
        stage: *mut u8,
        isa: Isa,
    ) {
        // SAFETY: the passes' runs, the mixed rows and the move's elements are those of the block on the sides that are
        // memory, and inside what `new` measured on those that are stages.
        unsafe {
            let written = stage.add(self.stages[0]);
            let source = match &self.first {
                First::Direct => from.base.offset(from.bit / 8),
                First::Pass(pass, backwards) => {
                    let to = Place {
                        base: stage,
                        bit: 0,
                    };
                    pass.run(from.step(*backwards), to, next);
                    // The first element lies behind those that are read before it.
                    stage.add(self.back).cast_const()
                }
                First::Mix(mix) => {
                    crate::dispatch::read_mixed(isa, mix, from, stage, next);
                    stage.cast_const()
                }
            };
            let destination = match &self.last {
                Last::Direct => to.base.offset(to.bit / 8),
                _ => written,
            };
            self.between.run(source, destination);
            match &self.last {
                Last::Direct => {}
                Last::Pass(pass) => {
                    let from = Place {
                        base: written.cast_const(),
                        bit: 0,
                    };
                    pass.run(from, to, 0);
                }
                Last::Mix(mix) => {
                    let piece = written.add(self.stages[1]);
                    crate::dispatch::write_mixed(isa, mix, written, to, piece, self.stream);
                }
            }
        }
    }
}

/// Reads rows and mixes them with the vectors of an instruction set.
///
/// # Safety
///
/// As [`Read`]; the CPU has the set.
pub(crate) unsafe fn read_mixed<S: Half>(
    mix: &Mix,
    from: Place<*const u8>,
    to: *mut u8,
    next: isize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        S::enter(Read::<S> {
            mix,
            from,
            to,
            next,
            set: PhantomData,
        })
    }
}

/// Mixes rows and writes them with the vectors of an instruction set.
///
/// # Safety
///
/// As [`Write`]; the CPU has the set.
pub(crate) unsafe fn write_mixed<S: Half>(
    mix: &Mix,
    from: *const u8,
    to: Place<*mut u8>,
    piece: *mut u8,
    stream: bool,
) {
    // SAFETY: the caller's promise.
    unsafe {
        S::enter(Write::<S> {
            mix,
            from,
            to,
            piece,
            stream,
            set: PhantomData,
        })
    }
}
