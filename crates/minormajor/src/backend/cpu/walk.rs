//! Going through several places at once, a run of the innermost loop at a time.

use rayon::prelude::*;

use crate::backend::{Loops, Strided};

/// Elements below which a second thread is not worth waking.
const SMALLEST_SHARE: usize = 1 << 16;

/// The elements of a part of a walk: one thread's, of a size that no number of threads changes.
pub(super) const PART: usize = 1 << 14;

/// Runs over places of the same sizes, by the number of their first element in the first place's
/// order, most minor fastest.
pub(super) struct Walk<const N: usize> {
    offsets: [i64; N],
    outer: Vec<crate::backend::Loop<N>>,
    extent: usize,
    strides: [i64; N],
    pub elements: usize,
}

impl<const N: usize> Walk<N> {
    pub fn new(places: [&Strided; N]) -> Walk<N> {
        let made = Loops::new(places);
        let mut outer = made.loops.to_vec();
        let inner = outer.pop();
        Walk {
            offsets: made.offsets,
            outer,
            extent: inner.map_or(1, |inner| inner.extent as usize),
            strides: inner.map_or([0; N], |inner| inner.strides),
            elements: places[0].elements() as usize,
        }
    }

    /// What one element is from the next in each place, inside of a run.
    pub fn strides(&self) -> [i64; N] {
        self.strides
    }

    /// Visits the runs that make elements `start..end`: where each place's first one is, and how
    /// many.
    pub fn runs(&self, start: usize, end: usize, mut visit: impl FnMut([i64; N], usize)) {
        let mut at = start;
        while at < end {
            let (mut row, within) = (at / self.extent, at % self.extent);
            let count = (self.extent - within).min(end - at);
            let mut offsets = self.offsets;
            let step = |offsets: &mut [i64; N], by: i64, strides: [i64; N]| {
                for (offset, stride) in offsets.iter_mut().zip(strides) {
                    *offset += by * stride;
                }
            };
            step(&mut offsets, within as i64, self.strides);
            for l in self.outer.iter().rev() {
                let extent = l.extent as usize;
                let index = (row % extent) as i64;
                row /= extent;
                step(&mut offsets, index, l.strides);
            }
            visit(offsets, count);
            at += count;
        }
    }
}

/// Calls `write` with the number of the first element and the elements of each part of `result`,
/// on several threads where there are many.
pub(super) fn parts<T: Send>(result: &mut [T], write: impl Fn(usize, &mut [T]) + Sync) {
    if result.len() < SMALLEST_SHARE {
        let mut start = 0;
        for part in result.chunks_mut(PART) {
            let count = part.len();
            write(start, part);
            start += count;
        }
        return;
    }
    result
        .par_chunks_mut(PART)
        .enumerate()
        .for_each(|(number, part)| write(number * PART, part));
}

/// Whether `test` holds for every part of so many elements.
pub(super) fn all_parts(elements: usize, test: impl Fn(usize, usize) -> bool + Sync) -> bool {
    let holds = |number: usize| test(number * PART, ((number + 1) * PART).min(elements));
    let parts = elements.div_ceil(PART);
    match elements < SMALLEST_SHARE {
        true => (0..parts).all(holds),
        false => (0..parts).into_par_iter().all(holds),
    }
}
