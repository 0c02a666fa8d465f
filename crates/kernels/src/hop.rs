//! Boxes of short runs, moved in two hops: a block of the source into a stage in the caches, where it is put together as the
//! destination has it, and from the stage to the destination by whole lines.
//!
//! A plane reads runs of the source and writes runs of the destination of many lines, unless the loops that continue them
//! are the other side's: of `bf16[28,12,12,21,55,9]` to `{3,4,1,2,5,0}` every column has 21 elements, and the next one is in
//! another run. A block has part of the loops of both sides, so many that its runs are long on either:
//!
//! ```text
//! for each block, in the destination's order:
//!     move it into the stage                          a kernel for the caches
//!     for each run of the destination in the block:
//!         stream its whole lines                      the last one waits for the next block, which often goes on there
//!         ask for a part of the next block            so reading and writing share the memory
//! ```

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use smallvec::SmallVec;

use crate::axis::offsets;
use crate::isa::Isa;
use crate::kernel::Kernel;
use crate::nest::{Loop, Loops, merge};
use crate::pen::Pen;
use crate::plane::At;
use crate::prepared::Prepared;
use crate::simd::{LINE, Set, Vector, Work, prefetch};
use crate::tuning::Caches;

/// The most bytes of a stage, and so of a block.
const STAGE: usize = 224 << 10;
/// The most runs of the destination in a block: each has a pen of its own.
const PENS: usize = 128;
/// The most loops around blocks.
const AROUND: usize = 16;
/// Bytes that runs on both sides should have, the best first, as long as the stage holds such a block.
const GOALS: [usize; 5] = [1024, 724, 512, 362, LEAST];
/// The least bytes of a run that is worth it.
const LEAST: usize = 256;
/// Parts of long loops are multiples of so much, as tables put small loops inside together by a divisor of their number:
/// bf16[3000001,2,3]{1,2,0} from row-major took a Zen 4 56 ms by parts of 86, twice a prime, element by element, and 2.8 by 96.
const EVEN: usize = 4;

/// A box that is moved block by block.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    /// Moves a block into the stage.
    inner: Prepared,
    /// Offsets of the runs of the source in a block, and the bytes of one.
    pieces: Box<[isize]>,
    piece: usize,
    /// Offsets of the runs of the destination in a block, as they lie in the stage, and the bytes of one.
    runs: Box<[isize]>,
    run: usize,
    /// From block to block, outermost first.
    around: SmallVec<[Steps; 4]>,
}

/// A loop from block to block. The last step is shorter where the extent isn't a multiple of the block's part, so that the
/// last block ends where the loop does: what two blocks have in common is moved twice.
#[derive(Debug, Clone, Copy)]
struct Steps {
    each: Loop,
    /// How much the last step is shorter, in the source and the destination.
    shorter: (isize, isize),
}

/// Parts of a nest's loops.
struct Block {
    /// How much of each loop.
    parts: SmallVec<[usize; 8]>,
    bytes: usize,
    source: Run,
    destination: Run,
}

/// What lies side by side in a block on one side.
struct Run {
    bytes: usize,
    /// Which loops continue it.
    loops: u32,
    /// Whether one more could.
    open: bool,
}

impl Run {
    /// Goes on along the parts that continue the run.
    fn extend(&mut self, loops: &[Loop], parts: &[usize], stride: fn(&Loop) -> isize) {
        while self.open {
            let next = next(loops, self.bytes, stride).filter(|&i| parts[i] > 0);
            let Some(i) = next else { return };
            self.bytes *= parts[i];
            self.loops |= 1 << i;
            self.open = parts[i] == loops[i].extent;
        }
    }
}

/// The loop that continues a run of so many bytes.
fn next(loops: &[Loop], bytes: usize, stride: fn(&Loop) -> isize) -> Option<usize> {
    loops.iter().position(|l| stride(l) == bytes as isize)
}

impl Block {
    /// A block whose runs have so many bytes on both sides, as far as there are loops that continue them.
    fn of_runs(goal: usize, width: usize, loops: &[Loop]) -> Block {
        let run = || Run {
            bytes: width,
            loops: 0,
            open: true,
        };
        let mut block = Block {
            parts: SmallVec::from_elem(0, loops.len()),
            bytes: width,
            source: run(),
            destination: run(),
        };
        loop {
            let Block {
                parts,
                bytes,
                source,
                destination,
            } = &mut block;
            source.extend(loops, parts, |l| l.source);
            destination.extend(loops, parts, |l| l.destination);
            let short = |run: &Run| run.open && run.bytes < goal;
            let (run, stride): (_, fn(&Loop) -> isize) = match (short(source), short(destination)) {
                (false, false) => return block,
                (true, other) if !other || source.bytes <= destination.bytes => {
                    (source, |l| l.source)
                }
                _ => (destination, |l| l.destination),
            };
            let Some(i) = next(loops, run.bytes, stride) else {
                run.open = false;
                continue;
            };
            // All of a loop that is not much longer than it takes; of others, parts that are about as long as one another.
            let (extent, need) = (loops[i].extent, goal.div_ceil(run.bytes));
            let blocks = if extent <= 2 * need { 1 } else { extent / need };
            let part = extent.div_ceil(blocks);
            // Where that adds little to a block, and little that is moved twice.
            let grows = part >= 4 * EVEN && extent / 4 >= part;
            parts[i] = if grows {
                part.next_multiple_of(EVEN)
            } else {
                part
            };
            *bytes = bytes.saturating_mul(parts[i]);
        }
    }

    /// Whether it fits a stage, has runs that are long enough, and not too many.
    fn suits(&self) -> bool {
        let room = (Caches::of_this_cpu().second / 4).min(STAGE);
        self.bytes <= room
            && self.source.bytes.min(self.destination.bytes) >= LEAST
            && self.bytes <= self.destination.bytes * PENS
    }
}

impl Hop {
    /// The way block by block, where there is one. Loops are those of a nest.
    pub(crate) fn new(width: usize, loops: &[Loop], isa: Isa) -> Option<Hop> {
        if loops.len() > AROUND || !are_apart(width, loops) {
            return None;
        }
        let blocks = GOALS.iter().map(|&goal| Block::of_runs(goal, width, loops));
        let block = blocks.into_iter().find(Block::suits)?;
        let runs = |i: &usize| block.destination.loops & 1 << i == 0;
        // The stage has the loops in the destination's order, those of a run as the innermost ones.
        let mut order: SmallVec<[usize; 8]> =
            (0..loops.len()).filter(|&i| block.parts[i] > 0).collect();
        order.sort_by_key(|i| (runs(i), loops[*i].destination));
        let mut inner = Loops::new();
        let mut stride = width;
        for &i in &order {
            inner.push(Loop {
                extent: block.parts[i],
                source: loops[i].source,
                destination: stride as isize,
            });
            stride *= block.parts[i];
        }
        inner.reverse();
        merge(&mut inner);
        let of = |i: &usize, stride: fn(&Loop) -> isize| (block.parts[*i], stride(&loops[*i]));
        let pieces = order
            .iter()
            .filter(|&i| block.source.loops & 1 << i == 0)
            .map(|i| of(i, |l| l.source));
        let outside = order.iter().filter(|&i| runs(i));
        let around = std::iter::zip(loops, &block.parts)
            .map(|(l, &part)| (l, part.max(1)))
            .filter(|(l, part)| *part < l.extent)
            .map(|(l, part)| Steps::new(l, part));
        Some(Hop {
            inner: Prepared::new(width, &inner, isa, false),
            pieces: offsets(pieces),
            piece: block.source.bytes,
            runs: offsets(outside.map(|i| of(i, |l| l.destination))),
            run: block.destination.bytes,
            around: around.collect(),
        })
    }

    /// Whether what goes into the stage is put together by tables, or transposed.
    pub(crate) fn is_of_blocks(&self) -> bool {
        self.inner.is_of_blocks()
    }

    /// The kernel that moves a block, for explaining a plan.
    pub(crate) fn kernel(&self) -> Kernel {
        self.inner.kernel()
    }

    /// The fewest bytes that lie side by side in a block on a side.
    pub(crate) fn shortest_run(&self) -> usize {
        self.piece.min(self.run)
    }

    /// Where a block is, in the source and the destination.
    fn place(&self, index: &[usize; AROUND]) -> (isize, isize) {
        let (mut source, mut destination) = (0, 0);
        for (Steps { each, shorter }, &i) in std::iter::zip(&self.around, index) {
            source += i as isize * each.source;
            destination += i as isize * each.destination;
            if i + 1 == each.extent {
                source -= shorter.0;
                destination -= shorter.1;
            }
        }
        (source, destination)
    }

    /// Goes on to the next block; `false` after the last one.
    fn step(&self, index: &mut [usize; AROUND]) -> bool {
        for (Steps { each, .. }, i) in std::iter::zip(&self.around, index).rev() {
            *i += 1;
            if *i < each.extent {
                return true;
            }
            *i = 0;
        }
        false
    }
}

impl Steps {
    /// Of a loop of which each block has so many iterations.
    fn new(l: &Loop, part: usize) -> Steps {
        let extent = l.extent.div_ceil(part);
        let over = (extent * part - l.extent) as isize;
        Steps {
            each: Loop {
                extent,
                source: l.source * part as isize,
                destination: l.destination * part as isize,
            },
            shorter: (over * l.source, over * l.destination),
        }
    }
}

/// Whether no two elements of a nest share bytes in the destination, as each loop steps over all that those inside it
/// reach.
fn are_apart(width: usize, loops: &[Loop]) -> bool {
    let mut reach = width as isize;
    loops.iter().rev().all(|l| {
        let apart = l.destination >= reach;
        reach += (l.extent - 1) as isize * l.destination;
        apart
    })
}

/// Moves a box block by block, past the caches.
///
/// # Safety
///
/// The CPU has the set. All elements of the box are readable from `source` and writable from `destination`, and the two do
/// not overlap.
pub(crate) unsafe fn run<S: Set>(hop: &Hop, at: &At) {
    let vector = PhantomData::<S::Wide>;
    // SAFETY: the caller's promise.
    unsafe { S::enter(Blocks { hop, at, vector }) }
}

/// # Safety (of `work`)
///
/// As `run`.
struct Blocks<'a, V> {
    hop: &'a Hop,
    at: &'a At,
    vector: PhantomData<V>,
}

#[repr(align(64))]
struct Stage(MaybeUninit<[u8; STAGE]>);

impl<V: Vector> Work for Blocks<'_, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let Blocks { hop, at, .. } = self;
        let mut stage = Stage(MaybeUninit::uninit());
        let stage = stage.0.as_mut_ptr().cast::<u8>();
        let mut pens = [const { MaybeUninit::<Pen<V>>::uninit() }; PENS];
        let pens = &mut pens[..hop.runs.len()];
        for pen in &mut *pens {
            // SAFETY: the CPU has `V`.
            pen.write(unsafe { Pen::new() });
        }
        let mut index = [0; AROUND];
        let mut place = hop.place(&index);
        loop {
            let more = hop.step(&mut index);
            let next = hop.place(&index);
            let upcoming = match more {
                true => at.source.wrapping_offset(next.0),
                false => at.upcoming,
            };
            let mut asked = Asked::new(hop, upcoming);
            let share = asked.lines.div_ceil(hop.runs.len());
            // SAFETY: the block is in the box. The stage has room for all of it, and holds it when its runs are copied;
            // each has a pen, which was written above.
            unsafe {
                let source = at.source.offset(place.0);
                hop.inner.run_before(source, stage, source, None);
                let destination = at.destination.offset(place.1);
                for (i, (pen, &run)) in std::iter::zip(&mut *pens, &hop.runs).enumerate() {
                    let from = stage.add(i * hop.run);
                    let to = destination.offset(run);
                    pen.assume_init_mut().copy(from, to, hop.run);
                    asked.ask(share);
                }
            }
            if !more {
                break;
            }
            place = next;
        }
        for pen in pens {
            // SAFETY: as above.
            unsafe { pen.assume_init_mut().lift() };
        }
    }
}

/// How far a block has been asked for, in the second-level cache.
struct Asked<'a> {
    hop: &'a Hop,
    block: *const u8,
    /// Lines of the block, at most.
    lines: usize,
    piece: usize,
    offset: usize,
}

impl<'a> Asked<'a> {
    #[inline(always)]
    fn new(hop: &'a Hop, block: *const u8) -> Self {
        Asked {
            hop,
            block,
            // A piece that cuts lines has one more.
            lines: hop.pieces.len() * (hop.piece.div_ceil(LINE) + 1),
            piece: 0,
            offset: 0,
        }
    }

    /// Asks for so many lines more.
    #[inline(always)]
    fn ask(&mut self, lines: usize) {
        for _ in 0..lines {
            let Some(&piece) = self.hop.pieces.get(self.piece) else {
                return;
            };
            let last = self.hop.piece - 1;
            let place = self.block.wrapping_offset(piece);
            prefetch(place.wrapping_add(self.offset.min(last)));
            if self.offset > last {
                (self.piece, self.offset) = (self.piece + 1, 0);
            } else {
                self.offset += LINE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch;
    use crate::simd::fence;

    /// The nest of a row-major array whose dimensions are put in another order, major to minor; some walked backward in the
    /// source.
    fn nest(width: usize, sizes: &[usize], order: &[usize], backward: &[usize]) -> Loops {
        let stride = |dimensions: &[usize]| -> isize {
            let product: usize = dimensions.iter().map(|&d| sizes[d]).product();
            (product * width) as isize
        };
        let all: Vec<usize> = (0..sizes.len()).collect();
        let loops = order.iter().enumerate().map(|(place, &d)| {
            let source = stride(&all[d + 1..]);
            Loop {
                extent: sizes[d],
                source: if backward.contains(&d) {
                    -source
                } else {
                    source
                },
                destination: stride(&order[place + 1..]),
            }
        });
        let mut loops: Loops = loops.collect();
        merge(&mut loops);
        loops
    }

    /// Offsets of all elements on both sides.
    fn elements(loops: &[Loop]) -> Vec<(isize, isize)> {
        let mut all = vec![(0, 0)];
        for l in loops {
            let places = (0..l.extent as isize).map(|i| (i * l.source, i * l.destination));
            all = all
                .iter()
                .flat_map(|a| places.clone().map(move |b| (a.0 + b.0, a.1 + b.1)))
                .collect();
        }
        all
    }

    fn check(width: usize, sizes: &[usize], order: &[usize], backward: &[usize]) {
        let loops = nest(width, sizes, order, backward);
        let bytes = sizes.iter().product::<usize>() * width;
        let all = elements(&loops);
        // What is walked backward begins at its end.
        let first = -all.iter().map(|place| place.0).min().unwrap();
        let source: Vec<u8> = (0..bytes).map(|i| (i * 37 + i / 251) as u8).collect();
        for shift in [0, 3 * width] {
            let mut expected = vec![0xa5; shift + bytes + LINE];
            for &(from, to) in &all {
                let (from, to) = ((first + from) as usize, shift + to as usize);
                expected[to..to + width].copy_from_slice(&source[from..from + width]);
            }
            for &isa in Isa::available() {
                let hop = Hop::new(width, &loops, isa).expect("a box of short runs");
                assert!(hop.shortest_run() >= LEAST);
                let mut destination = vec![0xa5; expected.len() + LINE];
                let start = destination.as_ptr().align_offset(LINE);
                let destination = &mut destination[start..start + expected.len()];
                let at = At {
                    source: source[first as usize..].as_ptr(),
                    destination: destination[shift..].as_mut_ptr(),
                    upcoming: source.as_ptr(),
                    aside: None,
                };
                // SAFETY: the source has all elements of the nest, and the destination room for them.
                unsafe { dispatch::hop(isa, &hop, &at) };
                fence();
                assert!(
                    destination == expected,
                    "{sizes:?} of {width} bytes to {order:?}, {backward:?} backward, by {isa:?}"
                );
            }
        }
    }

    #[test]
    fn boxes_of_short_runs_are_moved_whole() {
        for width in [1, 2, 4, 8] {
            check(width, &[5, 3, 7, 21, 31, 11], &[0, 5, 2, 1, 4, 3], &[]);
            check(width, &[13, 5, 9, 6, 11, 11], &[5, 1, 2, 3, 0, 4], &[]);
            // Loops of which blocks have parts, the last of which overlap.
            check(width, &[7, 9, 12, 37, 10, 6], &[3, 0, 4, 1, 5, 2], &[]);
            check(width, &[13, 5, 31, 13, 13, 6], &[1, 4, 2, 0, 5, 3], &[0, 2]);
        }
        check(16, &[5, 7, 9, 6, 5, 4], &[1, 4, 2, 0, 5, 3], &[1]);
    }

    #[test]
    fn blocks_have_long_runs_on_both_sides() {
        // bf16[28,12,12,21,55,9] to {3,4,1,2,5,0}: 495 elements of the source, and 21 x 55 of the destination.
        let loops = nest(2, &[28, 12, 12, 21, 55, 9], &[0, 5, 2, 1, 4, 3], &[]);
        let block = Block::of_runs(1024, 2, &loops);
        assert_eq!(block.destination.bytes, 2 * 21 * 55);
        assert_eq!(block.source.bytes, 2 * 21 * 55 * 9);
        assert_eq!(block.bytes, 2 * 21 * 55 * 9);
        // Of a long loop, parts about as long as one another: 1000 elements in 3 blocks.
        let block = Block::of_runs(1024, 4, &nest(4, &[3, 1000, 5, 700], &[2, 0, 3, 1], &[]));
        assert_eq!(block.destination.bytes, 4 * 334);
        assert_eq!(block.source.bytes, 4 * 350);
        assert_eq!(block.bytes, 4 * 334 * 350);
    }

    #[test]
    fn elements_that_share_bytes_are_left_to_others() {
        let loop_of = |extent, source, destination| Loop {
            extent,
            source,
            destination,
        };
        let apart = [loop_of(4, 1, 64), loop_of(64, 4, 1)];
        assert!(are_apart(1, &apart));
        assert!(!are_apart(1, &[loop_of(4, 1, 63), loop_of(64, 4, 1)]));
        assert!(!are_apart(1, &[loop_of(4, 1, 0), loop_of(64, 4, 1)]));
    }
}
