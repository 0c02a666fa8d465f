//! Sums, maxima and means over dimensions.

use minormajor_core::ElementType;

use super::elementwise::{Run, lowest};
use super::numeric::{Numeric, with_native};
use super::storage::CpuStorage;
use super::walk::{PART, Walk, parts};
use super::{Reduction, Strided};

pub(super) fn run(
    operation: Reduction,
    source: &CpuStorage,
    place: &Strided,
    kept: usize,
    storage: &mut CpuStorage,
    result: &Strided,
) {
    let task = Task::new(place, kept, result);
    with_native!(place.element_type(), T => {
        let source = source.elements::<T>();
        let add = <T as Numeric>::add_sums;
        let zero = <<T as Numeric>::Sum as bytemuck::Zeroable>::zeroed();
        match operation {
            Reduction::Sum => {
                task.reduce(source, storage.elements_mut(), zero, T::to_sum, add, T::summed);
            }
            Reduction::Mean => {
                let count = task.reduced_elements as f64;
                let mean = |sum| T::mean(sum, count);
                task.reduce(source, storage.elements_mut(), zero, T::to_sum, add, mean);
            }
            Reduction::Max => {
                task.reduce(source, storage.elements_mut(), T::LOWEST, |x| x, T::greater, |x| x);
            }
        }
    });
}

/// What goes where: for every element of the result, a walk through what is reduced.
struct Task {
    /// The result, and where in the source each element's first is.
    kept: Walk<2>,
    /// The elements that become one, from offset 0.
    reduced: Walk<1>,
    reduced_elements: usize,
    /// Whether neighbours of the result are nearer in the source than neighbours of what is
    /// reduced.
    by_rows: bool,
}

/// Independent accumulators of a run, so that the processor's vectors are used: the order of adding
/// is the same on every machine.
const LANES: usize = 16;

impl Task {
    fn new(place: &Strided, kept: usize, result: &Strided) -> Task {
        let (sizes, strides) = (place.sizes(), place.strides());
        let part = |range: std::ops::Range<usize>, offset| {
            let (sizes, strides) = (&sizes[range.clone()], &strides[range]);
            Strided::new(
                place.element_type(),
                sizes.iter().copied(),
                strides.iter().copied(),
                offset,
            )
        };
        let (of_result, of_reduced) = (part(0..kept, place.offset()), part(kept..sizes.len(), 0));
        let (kept, reduced) = (Walk::new([result, &of_result]), Walk::new([&of_reduced]));
        let step = |stride: i64| {
            if stride == 0 {
                u64::MAX
            } else {
                stride.unsigned_abs()
            }
        };
        let by_rows = step(kept.strides()[1]) < step(reduced.strides()[0]);
        Task {
            reduced_elements: reduced.elements,
            kept,
            reduced,
            by_rows,
        }
    }

    /// Makes every element of the result: `join` over `start` and `read` of what it is made of, then
    /// `write`.
    fn reduce<T: Numeric, S: Copy + Send + Sync, R: Copy + Send + Sync>(
        &self,
        source: &[T],
        result: &mut [R],
        start: S,
        read: impl Fn(T) -> S + Sync,
        join: impl Fn(S, S) -> S + Sync,
        write: impl Fn(S) -> R + Sync,
    ) {
        if result.len() < 8 && self.reduced_elements > 4 * PART {
            return self.reduce_few(source, result, start, read, join, write);
        }
        // Small parts, since each element is as much work as is reduced to it.
        let size =
            (PART / self.reduced_elements.max(1)).clamp(if self.by_rows { 64 } else { 1 }, PART);
        let make = |first: usize, part: &mut [R]| {
            if self.by_rows {
                self.rows(source, first, part, start, &read, &join, &write);
                return;
            }
            let mut place = 0;
            self.kept.runs(first, first + part.len(), |[_, at], count| {
                let step = self.kept.strides()[1];
                for k in 0..count {
                    let at = at + k as i64 * step;
                    part[place] =
                        write(self.one(source, at, 0..self.reduced_elements, start, &read, &join));
                    place += 1;
                }
            });
        };
        if result.len() * self.reduced_elements < 4 * PART {
            return make(0, result);
        }
        use rayon::prelude::*;
        let chunks = result.par_chunks_mut(size).enumerate();
        chunks.for_each(|(number, part)| make(number * size, part));
    }

    /// Few elements of many each: the many are cut into parts, whose number the sizes decide.
    fn reduce_few<T: Numeric, S: Copy + Send + Sync, R: Copy + Send + Sync>(
        &self,
        source: &[T],
        result: &mut [R],
        start: S,
        read: impl Fn(T) -> S + Sync,
        join: impl Fn(S, S) -> S + Sync,
        write: impl Fn(S) -> R + Sync,
    ) {
        let mut bases = Vec::with_capacity(result.len());
        self.kept.runs(0, result.len(), |[_, at], count| {
            bases.extend((0..count as i64).map(|k| at + k * self.kept.strides()[1]));
        });
        for (made, at) in result.iter_mut().zip(bases) {
            let mut sums = vec![start; self.reduced_elements.div_ceil(PART)];
            parts(&mut sums, |first, sums| {
                for (number, sum) in sums.iter_mut().enumerate() {
                    let first = (first + number) * PART;
                    let range = first..(first + PART).min(self.reduced_elements);
                    *sum = self.one(source, at, range, start, &read, &join);
                }
            });
            *made = write(sums.into_iter().fold(start, &join));
        }
    }

    /// A range of what is reduced to the element whose first is at `at`.
    fn one<T: Numeric, S: Copy>(
        &self,
        source: &[T],
        at: i64,
        range: std::ops::Range<usize>,
        start: S,
        read: &impl Fn(T) -> S,
        join: &impl Fn(S, S) -> S,
    ) -> S {
        let step = self.reduced.strides()[0];
        let mut lanes = [start; LANES];
        self.reduced.runs(range.start, range.end, |[from], count| {
            let run = &source[lowest(at + from, step, count)..];
            if step == 1 {
                let (blocks, rest) = run[..count].as_chunks::<LANES>();
                for block in blocks {
                    for (lane, &value) in lanes.iter_mut().zip(block) {
                        *lane = join(*lane, read(value));
                    }
                }
                for (lane, &value) in lanes.iter_mut().zip(rest) {
                    *lane = join(*lane, read(value));
                }
            } else {
                let run = Run::new(run, step, count);
                for k in 0..count {
                    lanes[k % LANES] = join(lanes[k % LANES], read(run.get(k)));
                }
            }
        });
        lanes.into_iter().fold(start, join)
    }

    /// Neighbours of the result together: a row of accumulators, to which rows are added.
    #[allow(clippy::too_many_arguments)]
    fn rows<T: Numeric, S: Copy, R>(
        &self,
        source: &[T],
        first: usize,
        part: &mut [R],
        start: S,
        read: &impl Fn(T) -> S,
        join: &impl Fn(S, S) -> S,
        write: &impl Fn(S) -> R,
    ) {
        let by_kept = self.kept.strides()[1];
        let by_reduced = self.reduced.strides()[0];
        let mut sums = vec![start; part.len()];
        let mut place = 0;
        self.kept.runs(first, first + part.len(), |[_, at], count| {
            let sums = &mut sums[place..][..count];
            place += count;
            self.reduced
                .runs(0, self.reduced_elements, |[from], steps| {
                    for step in 0..steps as i64 {
                        let at = at + from + step * by_reduced;
                        let row = &source[lowest(at, by_kept, count)..];
                        if by_kept == 1 {
                            for (sum, &value) in sums.iter_mut().zip(row) {
                                *sum = join(*sum, read(value));
                            }
                        } else {
                            let row = Run::new(row, by_kept, count);
                            for (k, sum) in sums.iter_mut().enumerate() {
                                *sum = join(*sum, read(row.get(k)));
                            }
                        }
                    }
                });
        });
        for (made, sum) in part.iter_mut().zip(sums) {
            *made = write(sum);
        }
    }
}
