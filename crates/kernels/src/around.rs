//! The loops around a kernel's innermost work, walked inside the kernel.

use crate::nest::{Loop, Loops};
use crate::plane::At;
use crate::runs::ask;
use crate::simd::{LINE, Work, prefetch};

/// The loops that a kernel walks by itself; more are walked outside it.
pub(crate) const AROUND: usize = 4;

/// Bytes between two iterations' bytes of the source from which on those are asked for that are so many iterations ahead, at most so many
/// bytes of each: of what lies closer the CPU finds out by itself. Runs of 100 bytes, 1024 apart, take a Zen 3 15 ms so, and 27 not.
const GAP: usize = 3 * LINE;
const AHEAD: isize = 16;
const ASKED: usize = 512;

/// What is asked for meanwhile: so many bytes, from so far behind an iteration's place in the source on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Later {
    on: isize,
    bytes: usize,
}

impl Later {
    #[inline(always)]
    pub(crate) fn ask(self, from: *const u8) {
        ask(from.wrapping_offset(self.on), self.bytes, prefetch);
    }
}

/// A loop that runs once.
pub(crate) const ONCE: Loop = Loop {
    extent: 1,
    source: 0,
    destination: 0,
};

/// Up to [`AROUND`] loops, outermost first; those not needed come first and run once. None runs less often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around {
    loops: [Loop; AROUND],
    /// Whether all but the innermost one run once.
    one_round: bool,
}

/// What a kernel does in every iteration. A trait in place of a closure, since only a function can be made sure to
/// become part of its caller, and so be compiled for its instruction set.
pub(crate) trait Each {
    /// # Safety
    ///
    /// Stated by each implementation; besides, the CPU has the vectors that the work uses.
    unsafe fn each(&mut self, from: *const u8, to: *mut u8);
}

impl Default for Around {
    /// No loops: one iteration.
    fn default() -> Around {
        Around {
            loops: [ONCE; AROUND],
            one_round: true,
        }
    }
}

impl Around {
    /// Takes the innermost loops out of a nest.
    pub(crate) fn take(loops: &mut Loops) -> Around {
        let mut around = Around::default();
        for place in around.loops.iter_mut().rev() {
            match loops.pop() {
                Some(l) => *place = l,
                None => break,
            }
        }
        around.one_round = around.outer().iter().all(|l| l.extent == 1);
        around
    }

    /// Takes out the innermost loop.
    pub(crate) fn split_last(&mut self) -> Loop {
        std::mem::replace(&mut self.loops[AROUND - 1], ONCE)
    }

    pub(crate) fn innermost(&self) -> &Loop {
        &self.loops[AROUND - 1]
    }

    /// What is to be asked for if every iteration reads so many bytes, from `start` behind its place on, and the next one's lie far from them.
    pub(crate) fn later(&self, start: isize, bytes: usize) -> Option<Later> {
        let step = self.innermost().source;
        (step.unsigned_abs() >= bytes + GAP).then(|| Later {
            on: step.wrapping_mul(AHEAD).wrapping_add(start),
            bytes: bytes.min(ASKED),
        })
    }

    pub(crate) fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// All but the innermost one.
    fn outer(&self) -> &[Loop] {
        &self.loops[..AROUND - 1]
    }

    /// The work of every iteration, from a place on.
    pub(crate) fn of<'a, E>(&'a self, at: &'a At, each: E) -> Rounds<'a, E> {
        Rounds {
            around: self,
            at,
            each,
        }
    }

    /// The pointers of every iteration, the last loop fastest.
    pub(crate) fn iterations(&self, source: *const u8, destination: *mut u8) -> Iterations {
        Iterations {
            around: *self,
            indices: [0; AROUND],
            next: Some((source, destination)),
        }
    }

    /// Does the work at the pointers of every iteration, the last loop fastest.
    ///
    /// # Safety
    ///
    /// That of the work, at each of them.
    #[inline(always)]
    pub(crate) unsafe fn walk(
        &self,
        source: *const u8,
        destination: *mut u8,
        work: &mut impl Each,
    ) {
        let inner = self.loops[AROUND - 1];
        let mut start = (source, destination);
        let mut indices = [0; AROUND - 1];
        loop {
            let (mut from, mut to) = start;
            let mut left = inner.extent;
            loop {
                // SAFETY: the caller's promise.
                unsafe { work.each(from, to) };
                left -= 1;
                if left == 0 {
                    break;
                }
                (from, to) = moved((from, to), (inner.source, inner.destination));
            }
            // Most nests have one, which is not to wait for a call.
            if self.one_round {
                return;
            }
            match step(self.outer(), &mut indices) {
                Some(by) => start = moved(start, by),
                None => return,
            }
        }
    }
}

/// See [`Around::of`].
///
/// # Safety (of `work`)
///
/// That of what is done in every iteration, at each of them.
pub(crate) struct Rounds<'a, E> {
    around: &'a Around,
    at: &'a At,
    each: E,
}

impl<E: Each> Work for Rounds<'_, E> {
    #[inline(always)]
    unsafe fn work(mut self) {
        let &At {
            source,
            destination,
            ..
        } = self.at;
        // SAFETY: the caller's promise.
        unsafe { self.around.walk(source, destination, &mut self.each) };
    }
}

/// See [`Around::iterations`].
#[derive(Clone)]
pub(crate) struct Iterations {
    around: Around,
    indices: [usize; AROUND],
    next: Option<(*const u8, *mut u8)>,
}

impl Iterator for Iterations {
    type Item = (*const u8, *mut u8);

    fn next(&mut self) -> Option<Self::Item> {
        let now = self.next.take()?;
        let by = step(&self.around.loops, &mut self.indices);
        self.next = by.map(|by| moved(now, by));
        Some(now)
    }
}

/// Pointers moved by so many bytes. They wrap, since they may leave a buffer where they are not used.
#[inline(always)]
fn moved(
    (from, to): (*const u8, *mut u8),
    (source, destination): (isize, isize),
) -> (*const u8, *mut u8) {
    (
        from.wrapping_offset(source),
        to.wrapping_offset(destination),
    )
}

/// The bytes from one iteration of some loops to the next one, the last loop fastest; `None` after the last.
#[inline(never)]
fn step(loops: &[Loop], indices: &mut [usize]) -> Option<(isize, isize)> {
    let (mut source, mut destination) = (0, 0);
    for (l, index) in std::iter::zip(loops, indices).rev() {
        if *index + 1 < l.extent {
            *index += 1;
            return Some((source + l.source, destination + l.destination));
        }
        let back = -(*index as isize);
        source += back * l.source;
        destination += back * l.destination;
        *index = 0;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Seen(Vec<(isize, isize)>);

    impl Each for Seen {
        unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
            self.0.push((from as isize, to as isize));
        }
    }

    #[test]
    fn the_innermost_loops_are_walked_in_order() {
        let l = |extent, source, destination| Loop {
            extent,
            source,
            destination,
        };
        let mut loops = Loops::from_slice(&[l(2, 1000, 0), l(2, 100, -3), l(3, -10, 1)]);
        let around = Around::take(&mut loops);
        assert!(loops.is_empty());
        let mut seen = Seen(Vec::new());
        // SAFETY: the work has no conditions.
        unsafe { around.walk(std::ptr::null(), std::ptr::null_mut(), &mut seen) };
        let want: Vec<_> = (0..12)
            .map(|i| (i / 6, i / 3 % 2, i % 3))
            .map(|(a, b, c)| (1000 * a + 100 * b - 10 * c, c - 3 * b))
            .collect();
        assert_eq!(seen.0, want);
        let listed = around.iterations(std::ptr::null(), std::ptr::null_mut());
        let listed: Vec<_> = listed.map(|(s, t)| (s as isize, t as isize)).collect();
        assert_eq!(listed, want);

        let mut loops = Loops::from_elem(l(7, 1, 1), 6);
        Around::take(&mut loops);
        assert_eq!(loops.len(), 2);
    }
}
