//! Runs that repeat one element.

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::pen::Pen;
use crate::plane::At;
use crate::simd::{LINE, Set, Vector, Work};

/// Elements, each repeated over runs of the destination.
#[derive(Debug, Clone)]
pub(crate) struct Repeat {
    /// Bytes of an element, which divide a lane.
    pub(crate) width: usize,
    /// Bytes of a run, a multiple of the width.
    pub(crate) run: usize,
    pub(crate) stream: bool,
    /// The loops over runs.
    pub(crate) around: Around,
}

impl Repeat {
    /// Whether all runs repeat the same element.
    fn stays(&self) -> bool {
        self.around.loops().iter().all(|l| l.source == 0)
    }

    /// Whether runs that are streamed follow one another: then they share the lines where they meet.
    fn follows(&self) -> bool {
        let inner = self.around.innermost();
        self.stream && inner.extent > 1 && inner.destination == self.run as isize
    }
}

/// Bytes of a lane.
const LANE: usize = 16;

/// A lane of an element over and over.
///
/// # Safety
///
/// The element has so many bytes, which divide a lane, and they are readable.
#[inline(always)]
unsafe fn lane(from: *const u8, width: usize) -> u128 {
    // SAFETY: the caller's promise.
    unsafe {
        match width {
            1 => from.read() as u128 * (u128::MAX / u8::MAX as u128),
            2 => from.cast::<u16>().read_unaligned() as u128 * (u128::MAX / u16::MAX as u128),
            4 => from.cast::<u32>().read_unaligned() as u128 * (u128::MAX / u32::MAX as u128),
            8 => from.cast::<u64>().read_unaligned() as u128 * (u128::MAX / u64::MAX as u128),
            _ => from.cast::<u128>().read_unaligned(),
        }
    }
}

/// Fills all runs.
///
/// # Safety
///
/// The CPU has the set. The elements are readable, and the runs writable; they do not overlap.
pub(crate) unsafe fn repeat<S: Set>(repeat: &Repeat, at: &At) {
    // SAFETY: the caller's promise.
    unsafe {
        match repeat.run {
            1 => small::<S, 1>(repeat, at),
            2 => small::<S, 2>(repeat, at),
            4 => small::<S, 4>(repeat, at),
            8 => small::<S, 8>(repeat, at),
            16 => small::<S, 16>(repeat, at),
            LINE.. if repeat.follows() => {
                let vector = PhantomData::<S::Wide>;
                S::enter(Following { repeat, at, vector });
            }
            LINE.. => {
                let vector = PhantomData::<S::Wide>;
                S::enter(repeat.around.of(at, Long { repeat, vector }));
            }
            run if run < LANE => S::enter(repeat.around.of(at, Short(repeat))),
            _ => {
                let vector = PhantomData::<S::Quarter>;
                S::enter(repeat.around.of(at, Few { repeat, vector }));
            }
        }
    }
}

/// # Safety
///
/// As `repeat`, whose runs have `N` bytes, at most a lane's.
unsafe fn small<S: Set, const N: usize>(repeat: &Repeat, at: &At) {
    // SAFETY: the caller's promise; where no loop moves in the source, the first element is that of all runs.
    unsafe {
        if repeat.stays() {
            let lane = lane(at.source, repeat.width).to_ne_bytes();
            let run = lane.as_ptr().cast::<[u8; N]>().read();
            S::enter(repeat.around.of(at, Store(run)));
        } else {
            S::enter(repeat.around.of(at, Small::<N>(repeat)));
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
/// As `repeat`, for one run, of `N` bytes, at most a lane's.
struct Small<'a, const N: usize>(&'a Repeat);

impl<const N: usize> Each for Small<'_, N> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        const { assert!(N <= LANE) };
        // SAFETY: the caller's promise.
        unsafe {
            let lane = lane(from, self.0.width).to_ne_bytes();
            let run = lane.as_ptr().cast::<[u8; N]>().read();
            to.cast::<[u8; N]>().write_unaligned(run);
        }
    }
}

/// # Safety (of `each`)
///
/// As `repeat`, for one run, of less than a lane.
struct Short<'a>(&'a Repeat);

impl Each for Short<'_> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let &Repeat { width, run, .. } = self.0;
        // SAFETY: the caller's promise; a run is as long as the number of each of its arms, or longer, and elements are no wider.
        unsafe {
            let lane = lane(from, width);
            match run {
                9.. => ends::<8>(lane, to, run),
                5.. => ends::<4>(lane, to, run),
                3.. => ends::<2>(lane, to, run),
                _ => ends::<1>(lane, to, run),
            }
        }
    }
}

/// Writes the first and the last `N` bytes of a run.
///
/// # Safety
///
/// A run of so many bytes is writable, `N` or more, which the width of its elements divides.
#[inline(always)]
unsafe fn ends<const N: usize>(lane: u128, to: *mut u8, run: usize) {
    let lane = lane.to_ne_bytes();
    // SAFETY: the caller's promise. Both begin with an element, as widths divide runs.
    unsafe {
        let bytes = lane.as_ptr().cast::<[u8; N]>().read();
        to.cast::<[u8; N]>().write_unaligned(bytes);
        to.add(run - N).cast::<[u8; N]>().write_unaligned(bytes);
    }
}

/// # Safety (of `each`)
///
/// As `repeat`, for one run, of a lane or more and less than a cache line. `V` is a lane.
struct Few<'a, V> {
    repeat: &'a Repeat,
    vector: PhantomData<V>,
}

impl<V: Vector> Each for Few<'_, V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let &Repeat { width, run, .. } = self.repeat;
        // SAFETY: the caller's promise; all stores are inside the run. The last one begins with an element, as widths divide runs and
        // lanes.
        unsafe {
            let v = V::splat_lane([lane(from, width)].as_ptr().cast());
            for place in (0..run - LANE).step_by(LANE) {
                v.store(to.add(place));
            }
            v.store(to.add(run - LANE));
        }
    }
}

/// # Safety (of `each`)
///
/// As `repeat`, for one run, of a cache line or more.
struct Long<'a, V> {
    repeat: &'a Repeat,
    vector: PhantomData<V>,
}

impl<V: Vector> Each for Long<'_, V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let &Repeat {
            width, run, stream, ..
        } = self.repeat;
        let head = to.align_offset(LINE) % LINE;
        // SAFETY: the caller's promise. The stores before `head` are inside the run, as it is at least a line long; those between start
        // on vectors, `head` bytes after the start and on. The last one begins with an element, as widths divide runs and vectors.
        unsafe {
            let lane = lane(from, width);
            let first = V::splat_lane([lane].as_ptr().cast());
            // Bytes of a lane that begins behind the head.
            let v = V::splat_lane([turned(lane, LANE - head % LANE)].as_ptr().cast());
            if head > 0 {
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
                first.store(to.add(run - V::BYTES));
            }
        }
    }
}

/// A lane whose first byte is at byte `by` of that one, those behind its end at its start.
#[inline(always)]
pub(crate) fn turned(lane: u128, by: usize) -> u128 {
    let by = (by % LANE * 8) as u32;
    match cfg!(target_endian = "little") {
        true => lane.rotate_left(by),
        false => lane.rotate_right(by),
    }
}

/// Runs that follow one another.
///
/// # Safety (of `work`)
///
/// As `repeat`, of runs of a cache line or more.
struct Following<'a, V> {
    repeat: &'a Repeat,
    at: &'a At,
    vector: PhantomData<V>,
}

impl<V: Vector> Work for Following<'_, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let Following { repeat, at, .. } = self;
        // SAFETY: the caller's promise.
        unsafe {
            let mut writing = Writing {
                repeat,
                pen: Pen::<V>::new(),
            };
            repeat.around.walk(at.source, at.destination, &mut writing);
            writing.pen.lift();
        }
    }
}

/// # Safety (of `each`)
///
/// As `repeat`, for one run; nothing else is written there until the pen is lifted.
struct Writing<'a, V> {
    repeat: &'a Repeat,
    pen: Pen<V>,
}

impl<V: Vector> Each for Writing<'_, V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let &Repeat { width, run, .. } = self.repeat;
        // SAFETY: the caller's promise.
        unsafe {
            let lane = lane(from, width);
            self.pen.fill(|by| turned(lane, by), to, run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use crate::nest::Loop;
    use crate::prepared::Prepared;

    /// Runs of elements that are others in each, one after the other and with gaps between, from and to any place in a line, streamed
    /// and not; and all other bytes as they were.
    #[test]
    fn runs_of_elements_are_filled_and_nothing_else() {
        for width in [1, 2, 4, 8, 16] {
            for count in [1, 2, 3, 5, 7, 8, 15, 16, 17, 29, 63, 64, 129, 301] {
                for gap in [0, 1, 64] {
                    for step in [0, width as isize, -2 * width as isize] {
                        check(width, count, gap, step);
                    }
                }
            }
        }
    }

    /// Five runs, twice, of so many elements, with so many bytes between.
    fn check(width: usize, count: usize, gap: usize, step: isize) {
        const RUNS: usize = 5;
        let run = count * width;
        let pitch = run + gap;
        let reach = (RUNS - 1) * step.unsigned_abs() + width;
        let source: Vec<u8> = (0..reach).map(|i| (i * 37 + 11) as u8 | 1).collect();
        let first = if step < 0 { reach - width } else { 0 };
        let loops = [
            Loop {
                extent: 2,
                source: 0,
                destination: (RUNS * pitch + 3) as isize,
            },
            Loop {
                extent: RUNS,
                source: step,
                destination: pitch as isize,
            },
            Loop {
                extent: count,
                source: 0,
                destination: width as isize,
            },
        ];
        let written = 2 * RUNS * pitch + 3;
        for &isa in Isa::available() {
            for (stream, shift) in [(false, 0), (false, 5), (true, 0), (true, 29), (true, 48)] {
                let mut room = vec![0; written + 3 * LINE];
                let start = room.as_ptr().align_offset(LINE) + LINE + shift;
                let mut want = room.clone();
                for (outer, i) in (0..2).flat_map(|outer| (0..RUNS).map(move |i| (outer, i))) {
                    let from = first.wrapping_add_signed(i as isize * step);
                    let to = start + outer * (RUNS * pitch + 3) + i * pitch;
                    for element in want[to..to + run].chunks_exact_mut(width) {
                        element.copy_from_slice(&source[from..from + width]);
                    }
                }
                let prepared = Prepared::new(width, &loops, isa, stream);
                let from = source[first..].as_ptr();
                // SAFETY: from the first element on, the source has those of all runs, before or behind it, and the room has all runs
                // from `start` on. They are vectors of their own.
                unsafe { prepared.run(from, room[start..].as_mut_ptr()) };
                assert!(
                    room == want,
                    "{count} of {width} bytes, {gap} between, steps of {step}, from {shift}, {stream}, {isa:?}"
                );
            }
        }
    }

    #[test]
    fn a_lane_is_turned() {
        let lane = u128::from_ne_bytes(std::array::from_fn(|i| i as u8));
        let bytes = turned(lane, 3).to_ne_bytes();
        assert_eq!((bytes[3], bytes[15], bytes[0]), (0, 12, 13));
        assert_eq!(turned(lane, 16), lane);
    }
}
