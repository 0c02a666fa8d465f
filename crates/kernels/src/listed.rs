//! Blocks that lie whole on both sides, with their runs in another order inside: many small arrays whose dimensions change
//! places, or heads and channels of many short sequences.
//!
//! Where each run of a block lies in the source is worked out once, when the move is prepared, in the order of the destination:
//! short runs one after the other cost as much as the loops around them otherwise. Each is read and written as so many bytes as
//! a number or a register has, the rest of which the next one is written over; but not the last one, which lies last on both sides.

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::cell::{short_run, whole};
use crate::copy::copy;
use crate::nest::{Loop, Loops};
use crate::plane::At;
use crate::simd::{Set, Vector};

/// The most bytes of a block, so that a place in it has two bytes.
const BLOCK: usize = 1 << 16;
/// The most runs of a block: their places are to stay in the first-level cache.
const RUNS: usize = 1024;
/// The most bytes of a run; to longer ones the loops around them matter little.
const RUN: usize = 256;
/// The fewest blocks that are worth a list.
const FEWEST: usize = 4;

#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// Bytes of a run.
    pub(crate) run: usize,
    /// Where the runs of a block begin in the source, in the destination's order.
    places: Box<[u16]>,
    /// The loops around the blocks.
    around: Around,
}

impl Listed {
    /// Takes the loops out of a nest, if its smallest blocks that lie whole on both sides have short runs.
    pub(crate) fn find(width: usize, outer: &mut Loops) -> Option<Listed> {
        let run = short_run(width, outer, RUN)?;
        let (start, bytes) = whole(width, outer, BLOCK)?;
        let blocks: usize = outer[..start].iter().map(|l| l.extent).product();
        if blocks < FEWEST || bytes / run > RUNS {
            return None;
        }
        let (_, block) = outer[start..].split_last()?;
        let places = places(block);
        outer.truncate(start);
        Some(Listed {
            run,
            places,
            around: Around::take(outer),
        })
    }
}

/// The source offsets of all iterations, the last loop fastest; each is below [`BLOCK`].
fn places(loops: &[Loop]) -> Box<[u16]> {
    let mut places = Vec::with_capacity(loops.iter().map(|l| l.extent).product());
    places.push(0);
    for l in loops.iter().rev() {
        let inner = places.len();
        for i in inner..inner * l.extent {
            places.push(places[i - inner] + l.source as u16);
        }
    }
    places.into_boxed_slice()
}

/// Moves all blocks.
///
/// # Safety
///
/// The CPU has the set. All runs are readable from the source and writable from the destination, and the two do not overlap.
pub(crate) unsafe fn run<S: Set>(listed: &Listed, at: &At) {
    // SAFETY: the caller's promise; a number is no shorter than a run, and shorter than two, or there is none.
    unsafe {
        match listed.run {
            ..=4 => of_numbers::<S, 4>(listed, at),
            5..=8 => of_numbers::<S, 8>(listed, at),
            9..=16 => of_numbers::<S, 16>(listed, at),
            17..=32 => of_numbers::<S, 32>(listed, at),
            _ => S::enter(listed.around.of(at, Runs::<S::Wide>(listed, PhantomData))),
        }
    }
}

/// # Safety
///
/// As `run`; a run has at most `N` bytes, and more than half of that.
unsafe fn of_numbers<S: Set, const N: usize>(listed: &Listed, at: &At) {
    let numbers = Numbers::<S::Quarter, N>(listed, PhantomData);
    // SAFETY: the caller's promise; every iteration goes to a block, and the CPU has the set's registers.
    unsafe { S::Narrow::enter(listed.around.of(at, numbers)) }
}

/// # Safety (of `each`)
///
/// As `run`, for one block.
struct Runs<'a, V>(&'a Listed, PhantomData<V>);

impl<V: Vector> Each for Runs<'_, V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, mut to: *mut u8) {
        let &Listed {
            run, ref places, ..
        } = self.0;
        for &place in places {
            // SAFETY: a run of the block, in the source and in the destination, where they follow one another. The CPU has `V`.
            unsafe {
                copy::<V>(from.add(place as usize), to, run);
                to = to.add(run);
            }
        }
    }
}

/// Runs of at most `N` bytes, and more than half of that.
///
/// # Safety (of `each`)
///
/// As `run`, for one block.
struct Numbers<'a, V, const N: usize>(&'a Listed, PhantomData<V>);

impl<V: Vector, const N: usize> Each for Numbers<'_, V, N> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, mut to: *mut u8) {
        let &Listed {
            run, ref places, ..
        } = self.0;
        debug_assert!(run <= N && N < 2 * run);
        let Some((last, others)) = places.split_last() else {
            return;
        };
        for &place in others {
            // SAFETY: a run of the block, behind which another one lies on both sides, and this one is written before that in the
            // destination: the loops of a [`whole`] block go back on neither, so only the last run has none. `N` bytes are less than two runs.
            unsafe {
                let number = from.add(place as usize).cast::<[u8; N]>();
                to.cast::<[u8; N]>()
                    .write_unaligned(number.read_unaligned());
                to = to.add(run);
            }
        }
        // SAFETY: the last run of the block. The CPU has `V`.
        unsafe { copy::<V>(from.add(*last as usize), to, run) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use crate::simd::LINE;

    /// Blocks of `sizes`, the last one of which is the bytes of a run, with the others in another order, and bytes between blocks on
    /// both sides; the source ends with its last byte.
    fn check(blocks: usize, sizes: &[usize], order: &[usize]) {
        let run = sizes[sizes.len() - 1];
        let stride = |of: &[usize]| of.iter().map(|&i| sizes[i]).product::<usize>() * run;
        let all: Vec<usize> = (0..order.len()).collect();
        let bytes = stride(&all);
        let (apart, gap) = (bytes + 3, 5);
        let mut loops = vec![Loop {
            extent: blocks,
            source: apart as isize,
            destination: (bytes + gap) as isize,
        }];
        loops.extend(order.iter().enumerate().map(|(place, &i)| Loop {
            extent: sizes[i],
            source: stride(&all[i + 1..]) as isize,
            destination: stride(&order[place + 1..]) as isize,
        }));
        loops.push(Loop {
            extent: run,
            source: 1,
            destination: 1,
        });
        let source: Vec<u8> = (0..(blocks - 1) * apart + bytes)
            .map(|i| (i * 37 + i / 251) as u8)
            .collect();
        let mut places = vec![(0, LINE)];
        for l in &loops {
            let steps = |(s, d)| {
                (0..l.extent)
                    .map(move |i| (s + i * l.source as usize, d + i * l.destination as usize))
            };
            places = places.into_iter().flat_map(steps).collect();
        }
        let mut expected = vec![0xa5; (blocks - 1) * (bytes + gap) + bytes + 2 * LINE];
        for (from, to) in places {
            expected[to] = source[from];
        }
        let mut outer = Loops::from_slice(&loops);
        let listed = Listed::find(1, &mut outer).expect("blocks of runs");
        assert!(outer.is_empty());
        for &isa in Isa::available() {
            let mut destination = vec![0xa5; expected.len()];
            let at = At {
                source: source.as_ptr(),
                destination: destination[LINE..].as_mut_ptr(),
                upcoming: source.as_ptr(),
                aside: None,
            };
            // SAFETY: the source has all runs, and the destination room for them.
            unsafe { crate::dispatch::listed(isa, &listed, &at) };
            assert!(destination == expected, "{sizes:?} to {order:?}, {isa:?}");
        }
    }

    #[test]
    fn runs_of_blocks_are_put_in_order_and_nothing_else() {
        for run in (3..70)
            .chain([100, 129, 192, RUN])
            .filter(|&run| ![4, 8, 16].contains(&run))
        {
            check(5, &[3, 7, run], &[1, 0]);
            check(4, &[2, 3, 5, run], &[2, 0, 1]);
            check(7, &[3, 2, 4, 3, run], &[3, 1, 0, 2]);
            check(4, &[2, 5, 3, run], &[0, 2, 1]);
        }
    }

    #[test]
    fn few_blocks_and_other_runs_are_left_to_others() {
        // Blocks, and their sizes: of one order each.
        for (blocks, [rows, columns, run], is) in [
            (FEWEST, [3, 5, 12], true),
            (FEWEST - 1, [3, 5, 12], false),
            (FEWEST, [3, 5, 8], false),
            (FEWEST, [3, 5, 2], false),
            (FEWEST, [3, 5, RUN], true),
            (FEWEST, [3, 5, RUN + 1], false),
            (FEWEST, [32, 32, 12], true),
            (FEWEST, [32, 33, 12], false),
            // Sixty-four kibibytes.
            (FEWEST, [16, 16, RUN], true),
            (FEWEST, [16, 17, RUN], false),
        ] {
            let l = |extent, source: usize, destination: usize| Loop {
                extent,
                source: source as isize,
                destination: destination as isize,
            };
            let bytes = rows * columns * run;
            let mut loops = Loops::from_slice(&[
                l(blocks, bytes, bytes),
                l(columns, run, rows * run),
                l(rows, columns * run, run),
                l(run, 1, 1),
            ]);
            let before = loops.clone();
            let listed = Listed::find(1, &mut loops);
            assert_eq!(listed.is_some(), is, "{blocks} of {rows}, {columns}, {run}");
            assert!(is || loops == before);
        }
    }
}
