//! Parts of a move that threads take in turn.
//!
//! A nest is cut along loops that leave long runs on both sides, the greatest destination stride first, so that each
//! part writes whole pages of its own where the layout has them. A window of the destination would do worse: it leaves a
//! reversal of many dimensions with a few bytes of each source line.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::movement::Move;
use crate::nest::{Loop, Loops, Nest};
use crate::prepared::Prepared;
use crate::simd::LINE;

/// Bytes that a part reads or writes at least before it steps elsewhere: as many as are to be had.
const RUNS: [usize; 3] = [4 << 10, 1 << 10, 256];
/// Where runs are copied as they are, the least that a part is worth.
const COPY: usize = 64 << 10;

/// How often each element is written for it not to matter in what runs the source is read. By two threads of a Zen 3 the columns of
/// f32[1801,5003], one element each over and over, take 3.4 ms where all parts have some of each row, and 1.6 where they have rows.
const REPEATED: usize = 16;

/// How a nest is cut: pairs of a loop and the pieces that it falls into.
pub(crate) type Cuts = Vec<(usize, usize)>;

/// Cuts a nest into about `parts` parts, or fewer.
///
/// None at all where two iterations might write the same bytes, so that different parts never do.
pub(crate) fn cuts(nest: &Nest, parts: usize) -> Cuts {
    if !are_apart(nest) {
        return Cuts::new();
    }
    let mut best = Cuts::new();
    for run in RUNS {
        let cuts = cuts_of_runs(nest, parts, run);
        if count(&cuts) > count(&best) {
            best = cuts;
        }
        if count(&best) >= parts.div_ceil(2) {
            break;
        }
    }
    best
}

/// The number of parts.
pub(crate) fn count(cuts: &[(usize, usize)]) -> usize {
    cuts.iter().map(|&(_, pieces)| pieces).product()
}

/// Cuts that leave runs of so many bytes.
fn cuts_of_runs(nest: &Nest, parts: usize, run: usize) -> Cuts {
    let mut cuts = Cuts::new();
    let most = |l: &Loop| {
        let both = l.source == l.destination && l.destination == nest.width as isize;
        let run = if both { COPY } else { run };
        let written = pieces(l.extent, l.destination, run);
        match nest.repeated() {
            REPEATED.. => written,
            _ => written.min(pieces(l.extent, l.source, run)),
        }
    };
    let mut pieces: Vec<usize> = nest.loops.iter().map(most).collect();
    let mut wanted = parts;
    while wanted > 1 {
        // The nest's order is that of destination strides.
        let enough = pieces.iter().position(|&pieces| pieces >= wanted);
        let most = || (0..pieces.len()).max_by_key(|&i| (pieces[i], std::cmp::Reverse(i)));
        let Some(i) = enough.or_else(most).filter(|&i| pieces[i] > 1) else {
            break;
        };
        let taken = pieces[i].min(wanted);
        cuts.push((i, taken));
        wanted = wanted.div_ceil(taken);
        pieces[i] = 1;
    }
    cuts
}

/// Most pieces of a loop that leave `run` bytes of the side that has this stride: where it is shorter than a run, the
/// loop may be what makes one long.
fn pieces(extent: usize, stride: isize, run: usize) -> usize {
    match stride.unsigned_abs() {
        0 => extent,
        stride if stride >= run => extent,
        // At most the buffer's bytes and a stride.
        stride => (extent * stride / run).max(1),
    }
}

/// Whether each destination stride steps over all that the smaller ones reach: then no two iterations write the same
/// bytes.
fn are_apart(nest: &Nest) -> bool {
    let mut reach = nest.width as isize;
    nest.loops.iter().rev().all(|l| {
        let apart = l.destination >= reach;
        // Below the nest's end, which fits.
        reach += (l.extent - 1) as isize * l.destination;
        apart
    })
}

/// The first iteration of piece `piece` of `pieces`: at a multiple of a line, where the loop steps by an element.
fn first(l: &Loop, width: usize, piece: usize, pieces: usize) -> usize {
    let unit = width as isize;
    if piece == pieces {
        return l.extent;
    }
    // Exact, since neither factor reaches 2^64.
    let even = (l.extent as u128 * piece as u128 / pieces as u128) as usize;
    if l.source.abs() == unit || l.destination == unit {
        even / (LINE / width) * (LINE / width)
    } else {
        even
    }
}

/// One part: its loops, and its offsets from the nest's first element.
fn part(nest: &Nest, cuts: &[(usize, usize)], number: usize) -> (isize, isize, Loops) {
    let mut loops = nest.loops.clone();
    let (mut source, mut destination) = (0, 0);
    let mut rest = number;
    for &(i, pieces) in cuts {
        let l = &nest.loops[i];
        let piece = rest % pieces;
        rest /= pieces;
        let start = first(l, nest.width, piece, pieces);
        let end = first(l, nest.width, piece + 1, pieces);
        source += start as isize * l.source;
        destination += start as isize * l.destination;
        loops[i].extent = end - start;
    }
    (source, destination, loops)
}

/// Numbers below `count`, each given once: a thread's own share of them first, then what the others have left.
struct Shares {
    count: usize,
    /// Those of each share that are gone.
    gone: Vec<AtomicUsize>,
}

impl Shares {
    fn new(count: usize, shares: usize) -> Shares {
        let gone = (0..shares.clamp(1, count)).map(|_| AtomicUsize::new(0));
        Shares {
            count,
            gone: gone.collect(),
        }
    }

    /// One for this thread, whatever its number is.
    fn next(&self, thread: usize) -> Option<usize> {
        let shares = self.gone.len();
        let first = |share: usize| share * self.count / shares;
        (0..shares).find_map(|i| {
            let share = (thread % shares + i) % shares;
            let number = first(share) + self.gone[share].fetch_add(1, Ordering::Relaxed);
            (number < first(share + 1)).then_some(number)
        })
    }
}

/// A move under way: what is left of it is taken part by part.
pub(crate) struct Parts<'a> {
    movement: &'a Move,
    cuts: Cuts,
    /// The parts' numbers. Threads that write with ordinary stores have a share each, so that a thread writes next time what
    /// is still in its own caches, as far as it can; those that stream walk side by side.
    shares: Shares,
    stream: bool,
    source: *const u8,
    destination: *mut u8,
}

// SAFETY: the pointers are those of a shared and of an exclusive slice, which `new`'s caller keeps borrowed while this
// lives. The counters give every part to one caller of `take` only, and different parts write different bytes.
unsafe impl Sync for Parts<'_> {}

impl<'a> Parts<'a> {
    /// # Safety
    ///
    /// All that the move touches from the nest's first elements on must be readable from `source` and writable from
    /// `destination` as long as this lives, with nobody else writing either or reading the latter.
    pub(crate) unsafe fn new(
        movement: &'a Move,
        parts: usize,
        threads: usize,
        source: *const u8,
        destination: *mut u8,
    ) -> Parts<'a> {
        let cuts = cuts(movement.nest(), parts);
        let count = count(&cuts);
        let stream = movement.streams_on(threads);
        let shares = if stream { 1 } else { threads };
        Parts {
            movement,
            cuts,
            shares: Shares::new(count, shares),
            stream,
            source,
            destination,
        }
    }

    /// Moves a part that nobody has taken, and says how many bytes; `None` if there is none left.
    pub(crate) fn take(&self, thread: usize) -> Option<usize> {
        let number = self.shares.next(thread)?;
        let nest = self.movement.nest();
        if self.cuts.is_empty() {
            // SAFETY: `new`'s promise; only this caller has number 0.
            unsafe { self.movement.prepared().run(self.source, self.destination) };
            return Some(nest.bytes);
        }
        let (source, destination, mut loops) = part(nest, &self.cuts, number);
        let elements: usize = loops.iter().map(|l| l.extent).product();
        if elements > 0 {
            loops.retain(|l| l.extent > 1);
            crate::nest::merge(&mut loops);
            let prepared = Prepared::new(nest.width, &loops, self.movement.isa(), self.stream);
            let prepared = prepared.part_of(self.movement.prepared());
            // SAFETY: the part's iterations are some of the nest's, so all that they touch is what `new`'s caller
            // vouches for. No other part has any of them, and since the nest's elements lie apart, none writes the
            // same bytes.
            unsafe {
                prepared.run(
                    self.source.offset(source),
                    self.destination.offset(destination),
                )
            };
        }
        Some(elements * nest.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use crate::nest::loops_of;
    use crate::tuning::{is_zen, waits};

    fn nest(width: usize, loops: &[(usize, isize, isize)]) -> Nest {
        Nest::new(width, 0, 0, &loops_of(loops)).unwrap()
    }

    #[test]
    fn reversals_are_cut_where_runs_stay_long_on_both_sides() {
        let of = |extents: [usize; 5]| {
            let (mut source, mut destination) = (4, 4);
            let mut loops = extents.map(|extent| (extent, 0, 0));
            for (l, &extent) in loops.iter_mut().zip(&extents) {
                l.1 = source;
                source *= extent as isize;
            }
            for (l, &extent) in loops.iter_mut().zip(&extents).rev() {
                l.2 = destination;
                destination *= extent as isize;
            }
            nest(4, &loops)
        };
        // In the nest's order, the source's fastest loop is the first.
        // The middle one steps by 1088 and 1520 bytes: four pieces have 4 KiB of each side.
        assert_eq!(cuts(&of([16, 17, 18, 19, 20]), 8), [(2, 4)]);
        // Sixteen are to be had with less.
        assert_eq!(cuts(&of([16, 17, 18, 19, 20]), 16), [(2, 16)]);
    }

    #[test]
    fn matrices_are_cut_only_as_far_as_long_runs_remain() {
        let tall = nest(4, &[(1 << 20, 400, 4), (100, 4, 4 << 20)]);
        // The source's rows have 400 bytes, so the other loop is cut.
        assert_eq!(cuts(&tall, 8), [(1, 8)]);
        let small = nest(4, &[(64, 256, 4), (64, 4, 256)]);
        assert_eq!(cuts(&small, 8), []);
    }

    /// Each row one element, over and over: rows, though they make short runs of the source.
    #[test]
    fn what_is_repeated_is_cut_where_it_is_written() {
        let rows = nest(4, &[(1801, 4, 20_012), (5003, 0, 4)]);
        assert_eq!(cuts(&rows, 16), [(0, 16)]);
        // Where each is written a few times, the source counts.
        let few = nest(4, &[(600, 4, 60), (15, 0, 4)]);
        assert_eq!(cuts(&few, 16), [(0, 9)]);
    }

    #[test]
    fn elements_that_might_share_bytes_are_not_cut() {
        let nest = nest(4, &[(100, 4, 8), (100, 400, 12)]);
        assert_eq!(cuts(&nest, 8), []);
    }

    #[test]
    fn parts_lie_as_far_as_the_whole() {
        let transpose = |side: usize| {
            let step = 4 * side as isize;
            let loops = [(side, step, 4), (side, 4, step)];
            Prepared::new(4, &nest(4, &loops).loops, Isa::best(), false)
        };
        let (whole, part) = (transpose(1500), transpose(100));
        assert!(!part.is_far() && whole.is_far() == waits());
        assert_eq!(part.part_of(&whole).is_far(), waits());
    }

    /// Also those that have too few rows for a stage.
    #[test]
    fn parts_crowd_as_the_whole_does() {
        let plane = |rows: usize, columns: usize| {
            let loops = [(rows, 4096, 4), (columns, 4, 4096)];
            Prepared::new(4, &nest(4, &loops).loops, Isa::best(), false)
        };
        let (whole, part) = (plane(1024, 1024), plane(100, 100));
        assert!(!part.crowds() && whole.crowds() == is_zen());
        assert_eq!(part.part_of(&whole).crowds(), is_zen());
        const FEW: usize = 12;
        let few = plane(FEW, 100).part_of(&whole);
        assert_eq!(few.crowds(), is_zen());
        let source: Vec<u8> = (0..FEW * 4096).map(|i| (i % 251) as u8).collect();
        let mut destination = vec![0xa5; 100 * 4096];
        // SAFETY: so many rows and 100 columns, a page apart.
        unsafe { few.run(source.as_ptr(), destination.as_mut_ptr()) };
        for (column, elements) in destination.chunks_exact(4096).enumerate() {
            let (moved, gap) = elements.split_at(FEW * 4);
            for (row, element) in moved.chunks_exact(4).enumerate() {
                assert_eq!(element, &source[row * 4096 + column * 4..][..4]);
            }
            assert!(gap.iter().all(|&byte| byte == 0xa5));
        }
    }

    /// Whichever thread asks how often, each number comes once, a thread's own share first.
    #[test]
    fn shares_have_every_number_once() {
        for (count, threads) in [(1, 3), (7, 1), (16, 2), (17, 3), (5, 40)] {
            let shares = Shares::new(count, threads);
            let mut numbers = vec![shares.next(threads - 1).unwrap()];
            if threads <= count {
                assert_eq!(numbers, [count * (threads - 1) / threads]);
            }
            let mut turn = 0;
            while let Some(number) = shares.next(turn % threads) {
                numbers.push(number);
                turn += 1 + turn / 3;
            }
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{threads} threads");
        }
    }

    #[test]
    fn parts_have_every_iteration_once() {
        for (width, loops, parts) in [
            (1, vec![(7, 11, 1), (11, 1, 7)], 3),
            (2, vec![(5, 2, 20000), (9, 14, 2000), (13, 4000, 100)], 40),
            (4, vec![(40_000, 4, 20_000), (5000, 160_000, 4)], 7),
            (4, vec![(1 << 20, 4, 4)], 9),
        ] {
            let nest = nest(width, &loops);
            let cuts = cuts(&nest, parts);
            let count = count(&cuts);
            assert!(count <= 2 * parts);
            let mut elements = 0;
            let mut starts = std::collections::HashSet::new();
            for number in 0..count {
                let (source, destination, loops) = part(&nest, &cuts, number);
                let extents: Vec<usize> = loops.iter().map(|l| l.extent).collect();
                elements += extents.iter().product::<usize>() * width;
                assert!(starts.insert((source, destination)) || extents.contains(&0));
            }
            assert_eq!(elements, nest.bytes, "{loops:?}");
        }
    }
}
