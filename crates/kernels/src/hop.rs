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
//!
//! Blocks that lie whole on both sides, as small arrays of a batch, are moved so where a kernel of their own would be entered for
//! each: memory is then read and written from front to back.

mod block;

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use smallvec::SmallVec;

use crate::asked::Asked;
use crate::axis::offsets;
use crate::isa::Isa;
use crate::kernel::Kernel;
use crate::nest::{Loop, Loops, merge};
use crate::pen::Pen;
use crate::plane::At;
use crate::prepared::Prepared;
use crate::simd::{LINE, Set, Vector, Work};
use block::{Block, GOALS};

/// The most bytes of a stage, and so of a block.
const STAGE: usize = 224 << 10;
/// The most runs of the destination in a block: each has a pen of its own.
const PENS: usize = 128;
/// The most loops around blocks.
const AROUND: usize = 16;
/// Bytes of a run after which a share of the next block is asked for: a Zen 3 moves f32[2000,75,71]{1,2,0} from row-major in 4.6 ms
/// so, by a quarter of that in 6.2, and in 7.5 where all is asked for behind a run.
const CHUNK: usize = 2 << 10;

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

impl Hop {
    /// The way by blocks whose runs are long on both sides, where there is one. Loops are those of a nest.
    pub(crate) fn new(width: usize, loops: &[Loop], isa: Isa) -> Option<Hop> {
        if !is_fit(width, loops) {
            return None;
        }
        let blocks = GOALS.iter().map(|&goal| Block::of_runs(goal, width, loops));
        let block = blocks.into_iter().find(Block::suits)?;
        Some(Hop::of(block, width, loops, isa))
    }

    /// The way by blocks that lie whole on both sides, where there are any. Loops are those of a nest.
    pub(crate) fn of_whole(width: usize, loops: &[Loop], isa: Isa) -> Option<Hop> {
        let block = is_fit(width, loops)
            .then(|| Block::of_whole(width, loops))
            .flatten()?;
        Some(Hop::of(block, width, loops, isa))
    }

    fn of(block: Block, width: usize, loops: &[Loop], isa: Isa) -> Hop {
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
        Hop {
            inner: Prepared::new(width, &inner, isa, false),
            pieces: offsets(pieces),
            piece: block.source.bytes,
            runs: offsets(outside.map(|i| of(i, |l| l.destination))),
            run: block.destination.bytes,
            around: around.collect(),
        }
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

/// Whether a nest has no more loops than blocks have around them, and elements that are apart.
fn is_fit(width: usize, loops: &[Loop]) -> bool {
    loops.len() <= AROUND && are_apart(width, loops)
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

/// With a line before it and one behind.
#[repr(align(64))]
struct Stage(MaybeUninit<[u8; LINE + STAGE + LINE]>);

impl<V: Vector> Work for Blocks<'_, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let Blocks { hop, at, .. } = self;
        let mut stage = Stage(MaybeUninit::uninit());
        let stage = stage.0.as_mut_ptr().cast::<u8>().wrapping_add(LINE);
        // Pens read up to a line before a run and behind it.
        // SAFETY: there is a line before the block, and one behind it, as it is no larger than `STAGE`.
        unsafe {
            stage.sub(LINE).write_bytes(0, LINE);
            stage.add(hop.runs.len() * hop.run).write_bytes(0, LINE);
        }
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
            // A piece that cuts lines has one more.
            let lines = hop.piece.div_ceil(LINE) + 1;
            let asked = Asked::new(hop.pieces.len(), lines, 1, |piece, line| {
                let place = upcoming.wrapping_offset(hop.pieces[piece]);
                place.wrapping_add((line * LINE).min(hop.piece - 1))
            });
            let chunks = hop.runs.len() * hop.run.div_ceil(CHUNK);
            let share = asked.share(chunks);
            let mut done = 0;
            // SAFETY: the block is in the box. The stage has room for all of it, and holds it when its runs are copied;
            // each has a pen, which was written above.
            unsafe {
                let source = at.source.offset(place.0);
                hop.inner.run_before(source, stage, source, None);
                let destination = at.destination.offset(place.1);
                for (i, (pen, &run)) in std::iter::zip(&mut *pens, &hop.runs).enumerate() {
                    let from = stage.add(i * hop.run);
                    let to = destination.offset(run);
                    for start in (0..hop.run).step_by(CHUNK) {
                        let length = CHUNK.min(hop.run - start);
                        let pen = pen.assume_init_mut();
                        pen.copy_amid(from.add(start), to.add(start), length);
                        done += 1;
                        asked.until(share * done);
                    }
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

#[cfg(test)]
mod tests {
    use super::block::LEAST;
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
        check_way(Hop::new, LEAST, width, sizes, order, backward);
    }

    /// By one of the ways there are, with runs of no fewer bytes than those.
    fn check_way(
        way: fn(usize, &[Loop], Isa) -> Option<Hop>,
        least: usize,
        width: usize,
        sizes: &[usize],
        order: &[usize],
        backward: &[usize],
    ) {
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
                let hop = way(width, &loops, isa).expect("a box of short runs");
                assert!(hop.shortest_run() >= least);
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
    fn blocks_that_lie_whole_on_both_sides_are_moved_together() {
        for (width, sizes, order) in [
            // Runs of elements, and elements; blocks of which the last group is shorter, and one that is large.
            (4, &[211, 5, 7, 11][..], &[0, 2, 1, 3][..]),
            (1, &[997, 6, 7, 9], &[0, 2, 1, 3]),
            (2, &[31, 67, 53], &[0, 2, 1]),
            (8, &[7, 67, 53], &[0, 2, 1]),
            (4, &[13, 7, 9, 11, 5], &[0, 4, 1, 3, 2]),
            // Blocks that follow one another in the destination alone.
            (4, &[6, 10, 5, 7, 11], &[1, 0, 3, 2, 4]),
        ] {
            let block: usize = sizes[sizes.len() - 2..].iter().product();
            check_way(Hop::of_whole, block * width, width, sizes, order, &[]);
        }
        // Groups of blocks are about as large as one another: 211 of 1540 bytes in 22 groups, of 10.
        let loops = nest(4, &[211, 5, 7, 11], &[0, 2, 1, 3], &[]);
        let block = Block::of_whole(4, &loops).expect("blocks");
        assert_eq!((block.parts[0], block.bytes), (10, 15400));
        assert_eq!(
            (block.source.bytes, block.destination.bytes),
            (15400, 15400)
        );
        // Blocks of which there are many, one alone, and one that is too large.
        for (sizes, order, are) in [
            (&[50, 70, 11, 9][..], &[1, 0, 3, 2][..], true),
            (&[5, 7, 11], &[1, 0, 2], false),
            (&[3, 500, 700], &[0, 2, 1], false),
            // Small ones, which follow one another in the source, too, and which don't.
            (&[500, 5, 7], &[0, 2, 1], true),
            (&[40, 50, 5, 7], &[1, 0, 3, 2], false),
        ] {
            let loops = nest(4, sizes, order, &[]);
            assert_eq!(Block::of_whole(4, &loops).is_some(), are, "{sizes:?}");
        }
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
