//! Runs that repeat one element, elements at any two strides, and runs backward.

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::copy;
use crate::nest::Loop;
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

/// Elements at any two strides.
#[derive(Debug, Clone)]
pub(crate) struct Strided {
    pub(crate) line: Loop,
    pub(crate) around: Around,
}

/// Moves elements of `width` bytes one by one.
///
/// # Safety
///
/// All elements are readable and writable and do not overlap; the CPU has the set.
pub(crate) unsafe fn strided<S: Set>(strided: &Strided, width: usize, at: &At) {
    let Strided { line, around } = strided;
    // SAFETY: the caller's promise.
    unsafe {
        match width {
            1 => S::enter(around.of(at, Elements::<1>(line))),
            2 => S::enter(around.of(at, Elements::<2>(line))),
            4 => S::enter(around.of(at, Elements::<4>(line))),
            8 => S::enter(around.of(at, Elements::<8>(line))),
            _ => S::enter(around.of(at, Elements::<16>(line))),
        }
    }
}

/// # Safety (of `each`)
///
/// As `strided`, for one line of elements of `W` bytes.
struct Elements<'a, const W: usize>(&'a Loop);

impl<const W: usize> Each for Elements<'_, W> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let Loop {
            extent,
            source,
            destination,
        } = *self.0;
        for i in 0..extent as isize {
            // SAFETY: element i of the line.
            unsafe {
                let element = from.offset(i * source).cast::<[u8; W]>().read_unaligned();
                to.offset(i * destination)
                    .cast::<[u8; W]>()
                    .write_unaligned(element);
            }
        }
    }
}

/// Runs of elements that go backward in the source. Both sides start at their lowest byte.
#[derive(Debug, Clone)]
pub(crate) struct Reverse {
    /// Elements of a run.
    pub(crate) extent: usize,
    pub(crate) around: Around,
}

/// Moves runs of elements of `width` bytes backward.
///
/// # Safety
///
/// All elements are readable and writable and do not overlap; the CPU has the set.
pub(crate) unsafe fn reverse<S: Set>(reverse: &Reverse, width: usize, at: &At) {
    let &Reverse { extent, around } = reverse;
    let length = extent * width;
    // SAFETY: the caller's promise; each vector is no longer than a run.
    unsafe {
        if length >= S::Wide::BYTES {
            S::enter(around.of(at, Backward::<S::Wide>::new(length, width)));
        } else if length >= S::Quarter::BYTES {
            S::enter(around.of(at, Backward::<S::Quarter>::new(length, width)));
        } else {
            let unit = width as isize;
            let line = Loop {
                extent,
                source: -unit,
                destination: unit,
            };
            let source = at.source.add((extent - 1) * width);
            strided::<S>(&Strided { line, around }, width, &At { source, ..*at });
        }
    }
}

/// # Safety (of `each`)
///
/// As `reverse`, for one run, of `length` bytes: at least a vector.
struct Backward<V> {
    length: usize,
    /// The elements of a lane from last to first.
    order: [u8; 16],
    vector: PhantomData<V>,
}

impl<V> Backward<V> {
    fn new(length: usize, width: usize) -> Self {
        Backward {
            length,
            order: std::array::from_fn(|i| ((15 - i) / width * width + i % width) as u8),
            vector: PhantomData,
        }
    }
}

impl<V: Vector> Each for Backward<V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let (length, lanes) = (self.length, V::BYTES / 16);
        let mut done = 0;
        while done < length {
            // A last vector that is not whole is moved back to be so.
            done = done.min(length - V::BYTES);
            // SAFETY: the vector is `done` bytes before the end of the source's run and after the start of the
            // destination's; the order is that of a lane.
            unsafe {
                let from = from.add(length - done - V::BYTES);
                V::load_lanes(|lane| from.add((lanes - 1 - lane) * 16))
                    .shuffle(V::splat_lane(self.order.as_ptr()))
                    .store(to.add(done));
            }
            done += V::BYTES;
        }
    }
}
