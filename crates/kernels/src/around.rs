//! The loops around a kernel's innermost work, walked inside the kernel.

use crate::nest::{Loop, Loops};

/// The loops that a kernel walks by itself; more are walked outside it.
pub(crate) const AROUND: usize = 4;

/// A loop that runs once.
pub(crate) const ONCE: Loop = Loop {
    extent: 1,
    source: 0,
    destination: 0,
};

/// Up to [`AROUND`] loops, outermost first; those not needed come first and run once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around([Loop; AROUND]);

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
        Around([ONCE; AROUND])
    }
}

impl Around {
    /// Takes the innermost loops out of a nest.
    pub(crate) fn take(loops: &mut Loops) -> Around {
        let mut around = [ONCE; AROUND];
        for place in around.iter_mut().rev() {
            match loops.pop() {
                Some(l) => *place = l,
                None => break,
            }
        }
        Around(around)
    }

    /// Takes out the innermost loop.
    pub(crate) fn split_last(&mut self) -> Loop {
        std::mem::replace(&mut self.0[AROUND - 1], ONCE)
    }

    pub(crate) fn loops(&self) -> &[Loop] {
        &self.0
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
        let [a, b, c, d] = self.0;
        // Past the last iteration of a loop a pointer may leave its buffer, so it wraps; it is not used then.
        let next = |(s, t): &mut (*const u8, *mut u8), l: &Loop| {
            *s = s.wrapping_offset(l.source);
            *t = t.wrapping_offset(l.destination);
        };
        let mut at0 = (source, destination);
        for _ in 0..a.extent {
            let mut at1 = at0;
            for _ in 0..b.extent {
                let mut at2 = at1;
                for _ in 0..c.extent {
                    let mut at3 = at2;
                    for _ in 0..d.extent {
                        // SAFETY: the caller's promise.
                        unsafe { work.each(at3.0, at3.1) };
                        next(&mut at3, &d);
                    }
                    next(&mut at2, &c);
                }
                next(&mut at1, &b);
            }
            next(&mut at0, &a);
        }
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
        let (mut from, mut to) = now;
        for (l, index) in std::iter::zip(&self.around.0, &mut self.indices).rev() {
            if *index + 1 < l.extent {
                *index += 1;
                self.next = Some((
                    from.wrapping_offset(l.source),
                    to.wrapping_offset(l.destination),
                ));
                break;
            }
            let back = -(*index as isize);
            from = from.wrapping_offset(back * l.source);
            to = to.wrapping_offset(back * l.destination);
            *index = 0;
        }
        Some(now)
    }
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
