//! Runs that make up no plane, as rows of a part of one array that become a part of another.
//!
//! Such a run has others beside it on one side at most, or few on both, and gaps elsewhere.
//! A kernel that walks [runs](crate::runs) in two dimensions would be entered for each few of them, which takes longer than moving
//! them: on a Zen 3 runs of 128 bytes, 192 apart, to places 256 apart took 180 ns each, and take 23 here, three runs of 12 bytes that
//! lie apart on one side 170, and 27; up to 8 KiB at a time nothing was slower here. So they are copied one after the other in the
//! destination's order. Where there are no gaps, the other kernels put lines together that two entries share: f32[9,9,9,9,9,9,9] to
//! {6,3,1,5,2,4,0} takes 4.2 ms so, and 8.8 here.
//!
//! A list of pointers to each run brings nothing either where all lie in one line: a part of 672 bytes a row of images took 11.3 ms
//! and takes 3.2, 64 MB in runs of 24 bytes, 32 apart, 24 and 7, and from there to runs without gaps 28 and 10. Long runs without
//! gaps are streamed as well by others, which ask for what comes next.

use std::marker::PhantomData;

use crate::around::{Around, Each, Later};
use crate::copy::{copy, stream_near};
use crate::nest::{Loop, Loops};
use crate::plane::At;
use crate::runs::{PIECE, Runs};
use crate::simd::{LINE, Set, Vector};

/// Runs from which on others move a plane of short ones, by registers.
const MANY: usize = 8;
/// Bytes of a run from which on it is streamed though it cuts lines: on a Zen 3, runs of 640 bytes from 704 apart to 768 apart take
/// 5.3 ms so and 8.0 not, of 300 bytes 7.0 and 7.9.
const LONG: usize = 512;
/// Runs in the loops around them.
#[derive(Debug, Clone)]
pub(crate) struct Apart {
    /// Bytes of a run.
    pub(crate) run: usize,
    around: Around,
}

impl Apart {
    /// What is left of a nest, if `runs`, which is what a kernel would be entered for in the loops of `outer`, is little.
    pub(crate) fn find(loops: &mut Loops, runs: &Runs, outer: &Loops) -> Option<Apart> {
        let run = runs.run;
        let (rows, columns) = (runs.rows.len, runs.columns.len);
        let many = rows > 1 && columns > 1 && rows * columns >= MANY;
        let little = !many && rows * columns * run <= PIECE;
        let follows = |l: &Loop| l.destination == (rows * run) as isize;
        let few = little && !outer.is_empty() && !outer.iter().any(follows);
        // One after the other in the source alone, or in the destination.
        let in_line = rows == 1 && columns > 1 || columns == 1 && rows > 1 && !runs.are_long();
        (few || in_line).then(|| Apart {
            run,
            around: Around::take(loops),
        })
    }
}

/// Moves all runs.
///
/// # Safety
///
/// The CPU has the set. All runs are readable from the source and writable from the destination, and the two do not
/// overlap.
pub(crate) unsafe fn run<S: Set>(apart: &Apart, at: &At) {
    let copying = Copying::<S::Wide> {
        run: apart.run,
        later: apart.around.later(0, apart.run),
        vector: PhantomData,
    };
    // SAFETY: the CPU has the set, and so its vectors; from both starts on, every iteration of the loops around goes to a run that is
    // readable and one that is writable, and the two do not overlap: the caller's promise.
    unsafe { S::enter(apart.around.of(at, copying)) }
}

/// # Safety (of `each`)
///
/// A run is readable, and as many bytes are writable where it goes; the two do not overlap.
struct Copying<V> {
    run: usize,
    later: Option<Later>,
    vector: PhantomData<V>,
}

impl<V: Vector> Each for Copying<V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let run = self.run;
        if let Some(later) = self.later {
            later.ask(from);
        }
        // SAFETY: `run` bytes are readable, and writable where they go, without overlapping, and the CPU has `V`: the caller's promise.
        // A run has an element at least, so it is not empty.
        unsafe {
            if run >= LONG || (to as usize | run).is_multiple_of(LINE) {
                stream_near::<V>(from, to, run);
            } else {
                copy::<V>(from, to, run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use crate::prepared::Prepared;

    /// The runs of a nest of two loops around them, moved with every set from and to any place in a line, and all other bytes as
    /// they were.
    #[test]
    fn runs_are_copied_wherever_they_lie() {
        // Bytes of a run; runs, and bytes from one to the next, of both loops.
        let cases = [
            (17, (7, 18, 20), (5, 140, 160)),
            // One after the other in the source alone, and in the destination alone.
            (24, (50, 24, 32), (3, 1200, 1700)),
            (24, (50, 300, 24), (3, 15_000, 1200)),
            (700, (9, 700, 768), (3, 6300, 8000)),
            (18, (17, 20, 19), (3, 400, 330)),
            (100, (29, 160, 132), (4, 29 * 160, 4000)),
            // Two that follow one another in the destination, and in the source.
            (128, (2, 1920, 128), (9, 192, 320)),
            (128, (2, 128, 1920), (9, 320, 192)),
            (192, (31, 256, 192 + 64), (2, 16384, 16384)),
            (1000, (11, 1200, 1400), (2, 20_000, 20_000)),
            (1024, (5, 1088, 2048), (3, 8000, 12_000)),
            (4100, (3, 5000, 4608), (2, 20_000, 16_000)),
        ];
        for (run, inner, outer) in cases {
            let l = |(extent, source, destination): (usize, usize, usize)| Loop {
                extent,
                source: source as isize,
                destination: destination as isize,
            };
            let loops = [l(outer), l(inner), l((run, 1, 1))];
            let end = |of: fn(&Loop) -> isize| {
                let ends = loops.iter().map(|l| (l.extent - 1) * of(l) as usize);
                1 + ends.sum::<usize>()
            };
            // No byte is what the room has.
            let source: Vec<u8> = (0..end(|l| l.source))
                .map(|i| (i * 37 + i / 251) as u8 | 1)
                .collect();
            for &isa in Isa::available() {
                let prepared = Prepared::new(1, &loops, isa, true);
                assert!(prepared.is_apart(), "{run}");
                for shift in [0, 16, 61] {
                    let mut room = vec![0; end(|l| l.destination) + 3 * LINE];
                    let start = room.as_ptr().align_offset(LINE) + LINE + shift;
                    let mut want = room.clone();
                    for o in 0..outer.0 {
                        for i in 0..inner.0 {
                            let from = o * outer.1 + i * inner.1;
                            let to = start + o * outer.2 + i * inner.2;
                            want[to..to + run].copy_from_slice(&source[from..from + run]);
                        }
                    }
                    // SAFETY: the source has all bytes from the first run's start to the last one's end, and the room as many from
                    // `start` on as the loops reach there. The two are vectors of their own, and the CPU has an available set.
                    unsafe { prepared.run(source.as_ptr(), room[start..].as_mut_ptr()) };
                    assert!(room == want, "runs of {run} bytes from {shift}, {isa:?}");
                }
            }
        }
    }
}
