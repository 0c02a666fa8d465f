//! How much of each loop is moved by way of the stage at once.

use smallvec::SmallVec;

use super::{PENS, STAGE};
use crate::cell::whole;
use crate::nest::Loop;
use crate::tuning::Caches;

/// Bytes that runs on both sides should have, the best first, as long as the stage holds such a block.
pub(super) const GOALS: [usize; 5] = [1024, 724, 512, 362, LEAST];
/// The least bytes of a run that is worth it.
pub(super) const LEAST: usize = 256;
/// Parts of long loops are multiples of so much, as tables put small loops inside together by a divisor of their number:
/// bf16[3000001,2,3]{1,2,0} from row-major took a Zen 4 56 ms by parts of 86, twice a prime, element by element, and 2.8 by 96.
const EVEN: usize = 4;
/// Bytes of blocks that lie whole on both sides and are moved at once. A Zen 3 moves f32[20000,5,7,11]{3,1,2,0} from row-major in
/// 4.3 ms so, and by a quarter of that in 6.4.
const GROUP: usize = 16 << 10;

/// Parts of a nest's loops.
pub(super) struct Block {
    /// How much of each loop.
    pub(super) parts: SmallVec<[usize; 8]>,
    pub(super) bytes: usize,
    pub(super) source: Run,
    pub(super) destination: Run,
}

/// What lies side by side in a block on one side.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) bytes: usize,
    /// Which loops continue it.
    pub(super) loops: u32,
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
    pub(super) fn of_runs(goal: usize, width: usize, loops: &[Loop]) -> Block {
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

    /// The smallest block that lies whole on both sides, or several of them if they follow one another in the destination; `None`
    /// where these are short, as they don't in the source.
    pub(super) fn of_whole(width: usize, loops: &[Loop]) -> Option<Block> {
        let (start, bytes) = whole(width, loops, room())?;
        let run = Run {
            bytes,
            loops: u32::MAX << start,
            open: true,
        };
        let inside = |i| usize::from(i >= start);
        let mut block = Block {
            parts: (0..loops.len())
                .map(|i| inside(i) * loops[i].extent)
                .collect(),
            bytes,
            source: run,
            destination: run,
        };
        let i = start.checked_sub(1)?;
        let l = &loops[i];
        if l.destination == bytes as isize {
            // Parts about as long as one another, so that little is moved twice.
            let most = (GROUP / bytes).max(1);
            block.parts[i] = l.extent.div_ceil(l.extent.div_ceil(most));
            block.bytes *= block.parts[i];
            block
                .destination
                .extend(loops, &block.parts, |l| l.destination);
            block.source.extend(loops, &block.parts, |l| l.source);
        }
        block.suits().then_some(block)
    }

    /// Whether it fits a stage, has runs that are long enough, and not too many.
    pub(super) fn suits(&self) -> bool {
        self.bytes <= room()
            && self.source.bytes.min(self.destination.bytes) >= LEAST
            && self.bytes <= self.destination.bytes * PENS
    }
}

/// The most bytes of a block: others are to stay in the second-level cache beside it and the stage.
fn room() -> usize {
    (Caches::of_this_cpu().second / 4).min(STAGE)
}
