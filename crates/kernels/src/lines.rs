//! Single lines of elements: one element repeated, and elements at any two strides.

use std::marker::PhantomData;

use crate::plane::At;
use crate::runs;
use crate::simd::{LINE, Set, Vector, Work};

/// One element, repeated over a run of the destination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeat {
    /// Bytes of the element.
    pub(crate) width: usize,
    /// Bytes of the run, a multiple of the width.
    pub(crate) run: usize,
    pub(crate) stream: bool,
}

/// Fills a run.
///
/// # Safety
///
/// The CPU has the set. `width` bytes are readable and `run` writable; they do not overlap.
pub(crate) unsafe fn repeat<S: Set>(repeat: &Repeat, at: At) {
    let &Repeat { width, run, stream } = repeat;
    // SAFETY: the caller's promise.
    unsafe {
        let word = match width {
            1 => at.source.read() as u128 * (u128::MAX / u8::MAX as u128),
            2 => at.source.cast::<u16>().read_unaligned() as u128 * (u128::MAX / u16::MAX as u128),
            4 => at.source.cast::<u32>().read_unaligned() as u128 * (u128::MAX / u32::MAX as u128),
            8 => at.source.cast::<u64>().read_unaligned() as u128 * (u128::MAX / u64::MAX as u128),
            _ => at.source.cast::<u128>().read_unaligned(),
        };
        let pattern = [word; 2 * LINE / 16];
        // Short runs use the narrow vector, so that the last one, moved back to be whole, stays inside.
        if run >= LINE {
            S::enter(Fill::<S::Wide> {
                pattern: &pattern,
                to: at.destination,
                run,
                stream,
                vector: PhantomData,
            });
        } else {
            S::enter(Few::<S::Quarter> {
                pattern: &pattern,
                to: at.destination,
                run,
                vector: PhantomData,
            });
        }
    }
}

/// # Safety (of `work`)
///
/// `run` bytes are writable at `to`, at least a cache line.
struct Fill<'a, V> {
    /// The element, repeated; it has a width that divides 16.
    pattern: &'a [u128; 2 * LINE / 16],
    to: *mut u8,
    run: usize,
    stream: bool,
    vector: PhantomData<V>,
}

impl<V: Vector> Work for Fill<'_, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let Fill {
            pattern,
            to,
            run,
            stream,
            ..
        } = self;
        let head = to.align_offset(LINE) % LINE;
        // SAFETY: the first and last store are inside the run, as it is at least a line long; those between start on
        // vectors, `head` bytes after the start and on. The pattern's phase there is head modulo 16, which every width
        // divides, so 16 + 64 bytes of pattern are enough.
        unsafe {
            let pattern = pattern.as_ptr().cast::<u8>();
            let first = V::load(pattern);
            let v = V::load(pattern.add(head % 16));
            let last = V::load(pattern.add((run - V::BYTES) % 16));
            for part in (0..LINE).step_by(V::BYTES) {
                first.store(to.add(part));
            }
            let mut at = head;
            while at + LINE <= run {
                for part in (0..LINE).step_by(V::BYTES) {
                    if stream {
                        v.stream(to.add(at + part));
                    } else {
                        v.store(to.add(at + part));
                    }
                }
                at += LINE;
            }
            while at + V::BYTES <= run {
                v.store(to.add(at));
                at += V::BYTES;
            }
            last.store(to.add(run - V::BYTES));
        }
    }
}

/// # Safety (of `work`)
///
/// `run` bytes are writable at `to`, less than a cache line.
struct Few<'a, V> {
    pattern: &'a [u128; 2 * LINE / 16],
    to: *mut u8,
    run: usize,
    vector: PhantomData<V>,
}

impl<V: Vector> Work for Few<'_, V> {
    #[inline(always)]
    unsafe fn work(self) {
        // SAFETY: the pattern is longer than the run and has its bytes from the start.
        unsafe { runs::copy::<V>(self.pattern.as_ptr().cast(), self.to, self.run) }
    }
}

/// Moves elements of `W` bytes one by one.
///
/// # Safety
///
/// `extent` elements are readable and writable, the given strides apart.
pub(crate) unsafe fn strided<const W: usize>(
    extent: usize,
    source: isize,
    destination: isize,
    at: At,
) {
    for i in 0..extent as isize {
        // SAFETY: element i of the line.
        unsafe {
            let element = at
                .source
                .offset(i * source)
                .cast::<[u8; W]>()
                .read_unaligned();
            at.destination
                .offset(i * destination)
                .cast::<[u8; W]>()
                .write_unaligned(element);
        }
    }
}
