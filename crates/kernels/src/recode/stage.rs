//! Where the runs of a block lie in a stage.

use super::block::Mid;
use crate::nest::Loop;
use crate::simd::LINE;

/// One side of a block: which loops are one run in memory, and where everything lies in a stage.
pub(super) struct Stage {
    /// Elements of a run.
    pub(super) run: usize,
    /// Whether a loop is part of the run.
    inside: Vec<bool>,
    /// Strides in the stage, in bytes.
    pub(super) strides: Vec<isize>,
    /// Bytes of the stage.
    pub(super) bytes: usize,
}

impl Stage {
    /// A stage for elements that take `bits` bits in memory and `width` bytes here. Runs are of at most `joined` loops.
    pub(super) fn new(
        loops: &[Mid],
        stride: fn(&Mid) -> isize,
        bits: usize,
        width: usize,
        joined: usize,
    ) -> Stage {
        let mut inside = vec![false; loops.len()];
        let mut strides = vec![0; loops.len()];
        let mut run = 1;
        let mut count = 0;
        while count < joined
            && let Some(i) = (0..loops.len())
                .find(|&i| !inside[i] && stride(&loops[i]).unsigned_abs() == run * bits)
        {
            // A loop of one iteration has any stride.
            count += usize::from(loops[i].extent > 1);
            inside[i] = true;
            strides[i] = stride(&loops[i]).signum() * (run * width) as isize;
            run *= loops[i].extent;
        }
        let mut bytes = pitch(run * width);
        // The loop that is outermost in memory is outermost in the stage.
        let mut outer: Vec<usize> = (0..loops.len()).filter(|&i| !inside[i]).collect();
        outer.sort_by_key(|&i| stride(&loops[i]).unsigned_abs());
        for i in outer {
            strides[i] = bytes as isize;
            bytes *= loops[i].extent;
        }
        Stage {
            run,
            inside,
            strides,
            bytes: bytes + LINE,
        }
    }

    /// The loops around the runs, of the stage and of memory, the outermost first.
    pub(super) fn outer(
        &self,
        loops: &[Mid],
        with_stage: impl Fn(&Mid, isize) -> Loop,
    ) -> Vec<Loop> {
        let mut outer: Vec<(isize, Loop)> = loops
            .iter()
            .enumerate()
            .filter(|&(i, l)| !self.inside[i] && l.extent > 1)
            .map(|(i, l)| (self.strides[i], with_stage(l, self.strides[i])))
            .collect();
        outer.sort_by_key(|&(stage, _)| std::cmp::Reverse(stage));
        outer.into_iter().map(|(_, l)| l).collect()
    }

    /// From the first element of a run, all indices being zero, to its lowest one in memory.
    pub(super) fn backwards(&self, loops: &[Mid], stride: fn(&Mid) -> isize) -> isize {
        let inside = loops
            .iter()
            .zip(&self.inside)
            .filter(|&(_, &inside)| inside);
        inside
            .map(|(l, _)| (l.extent - 1) as isize * stride(l).min(0))
            .sum()
    }
}

/// Bytes from one run of a stage to the next: runs begin on lines, an odd number of them apart, so that they are spread
/// over the cache; short ones follow one another.
pub(super) fn pitch(bytes: usize) -> usize {
    if bytes > LINE {
        bytes.next_multiple_of(LINE) | LINE
    } else {
        bytes
    }
}
