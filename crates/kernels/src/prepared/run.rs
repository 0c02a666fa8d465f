//! Running a box by its kernel, in the loops around it.

use std::ptr::NonNull;

use super::{Body, Prepared};
use crate::dispatch;
use crate::nest::Loop;
use crate::plane::At;
use crate::sequence::stage::Aside;
use crate::simd::fence;

impl Prepared {
    /// Moves the box.
    ///
    /// # Safety
    ///
    /// From the lowest byte that the loops given to `new` touch to the highest, all must be readable from `source` on; what
    /// they touch from `destination` on must be writable, and the two must not overlap.
    #[inline]
    pub(crate) unsafe fn run(&self, source: *const u8, destination: *mut u8) {
        // SAFETY: the caller's promise. A run is the whole box, from where the kernel starts on.
        unsafe {
            match self.body {
                // Where it is short, to find its kernel would take longer.
                Body::Copy(run) => {
                    let (from, to) = (
                        source.offset(self.start.0),
                        destination.offset(self.start.1),
                    );
                    std::ptr::copy_nonoverlapping(from, to, run);
                }
                _ => self.run_fenced(source, destination),
            }
        }
    }

    /// # Safety
    ///
    /// As `run`.
    unsafe fn run_fenced(&self, source: *const u8, destination: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.run_before(source, destination, source, None) };
        if self.stream {
            fence();
        }
    }

    /// As `run`, knowing where the source of the box is that will be moved after this one: a hint, never read. What is
    /// streamed may not be visible to others until the next [`fence`]. What `aside` says is begun meanwhile.
    ///
    /// # Safety
    ///
    /// As `run`; both sides of `aside` are there.
    #[inline]
    pub(crate) unsafe fn run_before(
        &self,
        source: *const u8,
        destination: *mut u8,
        upcoming: *const u8,
        aside: Option<NonNull<Aside>>,
    ) {
        // SAFETY: the start is an element of the box, so both pointers stay in what the caller vouches for. Without loops around
        // it, the body is the box; with some, `iterations` asks for what the caller promises here.
        unsafe {
            let at = At {
                source: source.offset(self.start.0),
                destination: destination.offset(self.start.1),
                upcoming,
                aside,
            };
            if self.outer.is_empty() {
                self.body(&at);
            } else {
                self.iterations(&at);
            }
        }
    }

    /// All iterations of the loops around the body.
    ///
    /// # Safety
    ///
    /// As `run_before`, from where the kernel starts on.
    unsafe fn iterations(&self, at: &At) {
        let &At {
            source,
            destination,
            upcoming,
            aside,
        } = at;
        // The kernels are told where the next iteration starts, so each runs one step late.
        let mut pending = (0, 0);
        let mut started = false;
        let mut step = |next: (isize, isize), upcoming: *const u8| {
            // SAFETY: `walk` gives the offsets of iterations of the outer loops, so all that the body touches from
            // there on is in the box that the caller vouches for.
            unsafe {
                self.body(&At {
                    source: source.offset(pending.0),
                    destination: destination.offset(pending.1),
                    upcoming,
                    aside,
                });
            }
            pending = next;
        };
        walk(&self.outer, 0, 0, &mut |s, d| {
            if started {
                step((s, d), source.wrapping_offset(s));
            }
            started = true;
        });
        step((0, 0), upcoming);
    }

    /// # Safety
    ///
    /// As `run`, for one iteration of the outer loops.
    #[inline]
    unsafe fn body(&self, at: &At) {
        // SAFETY: the caller's promise; the kernels get the extents and the width of this body.
        unsafe {
            match &self.body {
                Body::Copy(run) => std::ptr::copy_nonoverlapping(at.source, at.destination, *run),
                Body::Rows(rows) => dispatch::rows(self.isa, rows, at),
                Body::Apart(apart) => dispatch::apart(self.isa, apart, at),
                Body::Runs(runs) => dispatch::runs(self.isa, runs, at),
                Body::Plane(plane) => dispatch::plane(self.isa, plane, self.width, at),
                Body::Hop(hop) => dispatch::hop(self.isa, hop, at),
                Body::Slim(slim) => dispatch::slim(self.isa, slim, self.width, at),
                Body::Spaced(spaced) => dispatch::spaced(self.isa, spaced, self.width, at),
                Body::Weave(weave) => dispatch::weave(self.isa, weave, at),
                Body::Zip(zip) => dispatch::zip(self.isa, zip, at),
                Body::Gather(gathers) => dispatch::gather(self.isa, gathers, at),
                Body::Listed(listed) => dispatch::listed(self.isa, listed, at),
                Body::Sift(sift) => dispatch::sift(self.isa, sift, at),
                Body::Repeat(repeat) => dispatch::repeat(self.isa, repeat, at),
                Body::Steps(steps) => dispatch::steps(self.isa, steps, at),
            }
        }
    }
}

/// Calls `f` with the source and destination offset of every iteration, the last loop fastest.
pub(super) fn walk(
    loops: &[Loop],
    source: isize,
    destination: isize,
    f: &mut impl FnMut(isize, isize),
) {
    match loops.split_first() {
        None => f(source, destination),
        Some((l, rest)) => {
            let (mut s, mut d) = (source, destination);
            for _ in 0..l.extent {
                walk(rest, s, d, f);
                // Past the last iteration the sum may leave the reach, so it wraps; it is not used then.
                s = s.wrapping_add(l.source);
                d = d.wrapping_add(l.destination);
            }
        }
    }
}
