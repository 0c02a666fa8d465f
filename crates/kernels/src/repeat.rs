//! Runs that repeat one element.

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::copy;
use crate::plane::At;
use crate::simd::{LINE, Set, Vector, Work};

/// One element, repeated over runs of the destination.
#[derive(Debug, Clone)]
pub(crate) struct Repeat {
    /// Bytes of the element.
    pub(crate) width: usize,
    /// Bytes of a run, a multiple of the width.
    pub(crate) run: usize,
    pub(crate) stream: bool,
    /// Loops that stay at the element.
    pub(crate) around: Around,
}

/// The element over and over; widths divide 16.
type Pattern = [u128; 2 * LINE / 16];

/// Fills all runs.
///
/// # Safety
///
/// The CPU has the set. `width` bytes are readable, and the runs writable; they do not overlap. No loop around moves in
/// the source.
pub(crate) unsafe fn repeat<S: Set>(repeat: &Repeat, at: &At) {
    // SAFETY: the caller's promise.
    unsafe {
        let word = match repeat.width {
            1 => at.source.read() as u128 * (u128::MAX / u8::MAX as u128),
            2 => at.source.cast::<u16>().read_unaligned() as u128 * (u128::MAX / u16::MAX as u128),
            4 => at.source.cast::<u32>().read_unaligned() as u128 * (u128::MAX / u32::MAX as u128),
            8 => at.source.cast::<u64>().read_unaligned() as u128 * (u128::MAX / u64::MAX as u128),
            _ => at.source.cast::<u128>().read_unaligned(),
        };
        let pattern: Pattern = [word; 2 * LINE / 16];
        let vector = PhantomData::<S::Wide>;
        if repeat.run >= LINE {
            S::enter(Long {
                repeat,
                pattern: &pattern,
                to: at.destination,
                vector,
            });
            return;
        }
        let (pattern, to) = (&pattern, at.destination);
        match repeat.run {
            1 => S::enter(Short::<1> {
                repeat,
                pattern,
                to,
            }),
            2 => S::enter(Short::<2> {
                repeat,
                pattern,
                to,
            }),
            4 => S::enter(Short::<4> {
                repeat,
                pattern,
                to,
            }),
            8 => S::enter(Short::<8> {
                repeat,
                pattern,
                to,
            }),
            16 => S::enter(Short::<16> {
                repeat,
                pattern,
                to,
            }),
            32 => S::enter(Short::<32> {
                repeat,
                pattern,
                to,
            }),
            _ => {
                let vector = PhantomData::<S::Quarter>;
                S::enter(Few {
                    repeat,
                    pattern,
                    to,
                    vector,
                });
            }
        }
    }
}

/// # Safety (of `work`)
///
/// As `repeat`, for runs of a cache line or more.
struct Long<'a, V> {
    repeat: &'a Repeat,
    pattern: &'a Pattern,
    to: *mut u8,
    vector: PhantomData<V>,
}

impl<V: Vector> Work for Long<'_, V> {
    #[inline(always)]
    unsafe fn work(mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            self.repeat
                .around
                .walk(std::ptr::null(), self.to, &mut self)
        };
    }
}

impl<V: Vector> Each for Long<'_, V> {
    #[inline(always)]
    unsafe fn each(&mut self, _: *const u8, to: *mut u8) {
        let &Repeat { run, stream, .. } = self.repeat;
        let head = to.align_offset(LINE) % LINE;
        // SAFETY: the first and last store are inside the run, as it is at least a line long; those between start on
        // vectors, `head` bytes after the start and on. The pattern's phase there is head modulo 16, which every width
        // divides, so 16 + 64 bytes of pattern are enough.
        unsafe {
            let pattern = self.pattern.as_ptr().cast::<u8>();
            let v = V::load(pattern.add(head % 16));
            if head > 0 {
                let first = V::load(pattern);
                for part in (0..LINE).step_by(V::BYTES) {
                    first.store(to.add(part));
                }
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
            if at < run {
                let last = V::load(pattern.add((run - V::BYTES) % 16));
                last.store(to.add(run - V::BYTES));
            }
        }
    }
}

/// # Safety (of `work`)
///
/// As `repeat`, for runs of `N` bytes.
struct Short<'a, const N: usize> {
    repeat: &'a Repeat,
    pattern: &'a Pattern,
    to: *mut u8,
}

impl<const N: usize> Work for Short<'_, N> {
    #[inline(always)]
    unsafe fn work(self) {
        // SAFETY: the pattern is longer than a run; the rest is the caller's promise.
        unsafe {
            let mut store = Store(self.pattern.as_ptr().cast::<[u8; N]>().read());
            self.repeat
                .around
                .walk(std::ptr::null(), self.to, &mut store);
        }
    }
}

/// # Safety (of `each`)
///
/// `N` bytes are writable.
struct Store<const N: usize>([u8; N]);

impl<const N: usize> Each for Store<N> {
    #[inline(always)]
    unsafe fn each(&mut self, _: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[u8; N]>().write_unaligned(self.0) };
    }
}

/// # Safety (of `work`)
///
/// As `repeat`, for runs of less than a cache line.
struct Few<'a, V> {
    repeat: &'a Repeat,
    pattern: &'a Pattern,
    to: *mut u8,
    vector: PhantomData<V>,
}

impl<V: Vector> Work for Few<'_, V> {
    #[inline(always)]
    unsafe fn work(mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            self.repeat
                .around
                .walk(std::ptr::null(), self.to, &mut self)
        };
    }
}

impl<V: Vector> Each for Few<'_, V> {
    #[inline(always)]
    unsafe fn each(&mut self, _: *const u8, to: *mut u8) {
        // SAFETY: the pattern is longer than the run and has its bytes from the start.
        unsafe { copy::copy::<V>(self.pattern.as_ptr().cast(), to, self.repeat.run) }
    }
}
