//! Runs that repeat one element.

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::copy;
use crate::plane::At;
use crate::simd::{LINE, Set, Vector};

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
        let (around, pattern) = (&repeat.around, &pattern);
        // The pattern is longer than what is read of it here.
        let start = pattern.as_ptr();
        match repeat.run {
            1 => S::enter(around.of(at, Store(start.cast::<[u8; 1]>().read()))),
            2 => S::enter(around.of(at, Store(start.cast::<[u8; 2]>().read()))),
            4 => S::enter(around.of(at, Store(start.cast::<[u8; 4]>().read()))),
            8 => S::enter(around.of(at, Store(start.cast::<[u8; 8]>().read()))),
            16 => S::enter(around.of(at, Store(start.cast::<[u8; 16]>().read()))),
            32 => S::enter(around.of(at, Store(start.cast::<[u8; 32]>().read()))),
            LINE.. => {
                let vector = PhantomData::<S::Wide>;
                let long = Long {
                    repeat,
                    pattern,
                    vector,
                };
                S::enter(around.of(at, long));
            }
            _ => {
                let vector = PhantomData::<S::Quarter>;
                let few = Few {
                    repeat,
                    pattern,
                    vector,
                };
                S::enter(around.of(at, few));
            }
        }
    }
}

/// # Safety (of `each`)
///
/// As `repeat`, for one run, of a cache line or more.
struct Long<'a, V> {
    repeat: &'a Repeat,
    pattern: &'a Pattern,
    vector: PhantomData<V>,
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

/// # Safety (of `each`)
///
/// As `repeat`, for one run, of less than a cache line.
struct Few<'a, V> {
    repeat: &'a Repeat,
    pattern: &'a Pattern,
    vector: PhantomData<V>,
}

impl<V: Vector> Each for Few<'_, V> {
    #[inline(always)]
    unsafe fn each(&mut self, _: *const u8, to: *mut u8) {
        // SAFETY: the pattern is longer than the run and has its bytes from the start.
        unsafe { copy::copy::<V>(self.pattern.as_ptr().cast(), to, self.repeat.run) }
    }
}
