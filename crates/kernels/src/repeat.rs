//! Runs that repeat one element.

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::nest::stays;
use crate::pen::{Pen, turned};
use crate::plane::At;
use crate::simd::{LANE, LINE, Set, Vector, Work};

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
    /// Whether runs that are streamed follow one another: then they share the lines where they meet.
    fn follows(&self) -> bool {
        let inner = self.around.innermost();
        self.stream && inner.extent > 1 && inner.destination == self.run as isize
    }
}

/// What a run repeats, as a lane of it over and over.
trait Element: Copy {
    /// # Safety
    ///
    /// Where a run has an element of its own, that is readable there.
    unsafe fn lane(self, from: *const u8) -> u128;
}

/// The same in all runs.
#[derive(Clone, Copy)]
struct Same(u128);

impl Element for Same {
    #[inline(always)]
    unsafe fn lane(self, _: *const u8) -> u128 {
        self.0
    }
}

/// One of so many bytes, which divide a lane, for each run.
#[derive(Clone, Copy)]
struct Own(usize);

impl Element for Own {
    #[inline(always)]
    unsafe fn lane(self, from: *const u8) -> u128 {
        // SAFETY: the caller's promise.
        unsafe {
            match self.0 {
                1 => from.read() as u128 * (u128::MAX / u8::MAX as u128),
                2 => from.cast::<u16>().read_unaligned() as u128 * (u128::MAX / u16::MAX as u128),
                4 => from.cast::<u32>().read_unaligned() as u128 * (u128::MAX / u32::MAX as u128),
                8 => from.cast::<u64>().read_unaligned() as u128 * (u128::MAX / u64::MAX as u128),
                _ => from.cast::<u128>().read_unaligned(),
            }
        }
    }
}

/// Fills all runs.
///
/// # Safety
///
/// The CPU has the set. The elements are readable, and the runs writable; they do not overlap.
pub(crate) unsafe fn repeat<S: Set>(repeat: &Repeat, at: &At) {
    let own = Own(repeat.width);
    // SAFETY: the caller's promise; where no loop moves in the source, the first element is that of all runs.
    unsafe {
        match stays(repeat.around.loops()) {
            true => fill::<S, _>(repeat, Same(own.lane(at.source)), at),
            false => fill::<S, _>(repeat, own, at),
        }
    }
}

/// # Safety
///
/// As `repeat`, of these elements.
unsafe fn fill<S: Set, E: Element>(repeat: &Repeat, element: E, at: &At) {
    let &Repeat {
        run,
        stream,
        ref around,
        ..
    } = repeat;
    // SAFETY: the caller's promise.
    unsafe {
        match run {
            1 => S::Narrow::enter(around.of(at, Store::<E, 1>(element))),
            2 => S::Narrow::enter(around.of(at, Store::<E, 2>(element))),
            4 => S::Narrow::enter(around.of(at, Store::<E, 4>(element))),
            8 => S::Narrow::enter(around.of(at, Store::<E, 8>(element))),
            16 => S::Narrow::enter(around.of(at, Store::<E, 16>(element))),
            LINE.. if repeat.follows() => {
                let vector = PhantomData::<S::Wide>;
                S::enter(Following {
                    repeat,
                    element,
                    at,
                    vector,
                });
            }
            LINE.. => {
                let vector = PhantomData::<S::Wide>;
                let long = Long {
                    element,
                    run,
                    stream,
                    vector,
                };
                S::enter(around.of(at, long));
            }
            _ if run < LANE => S::Narrow::enter(around.of(at, Short { element, run })),
            _ => {
                let vector = PhantomData::<S::Quarter>;
                let few = Few {
                    element,
                    run,
                    vector,
                };
                S::Narrow::enter(around.of(at, few));
            }
        }
    }
}

/// # Safety (of `each`)
///
/// As `repeat`, for one run, of `N` bytes, at most a lane's.
struct Store<E, const N: usize>(E);

impl<E: Element, const N: usize> Each for Store<E, N> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        const { assert!(N <= LANE) };
        // SAFETY: the caller's promise.
        unsafe {
            let lane = self.0.lane(from).to_ne_bytes();
            let run = lane.as_ptr().cast::<[u8; N]>().read();
            to.cast::<[u8; N]>().write_unaligned(run);
        }
    }
}

/// # Safety (of `each`)
///
/// As `repeat`, for one run, of less than a lane.
struct Short<E> {
    element: E,
    run: usize,
}

impl<E: Element> Each for Short<E> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let &mut Short { element, run } = self;
        // SAFETY: the caller's promise; a run is as long as the number of each of its arms, or longer, and elements are no wider.
        unsafe {
            let lane = element.lane(from);
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
struct Few<E, V> {
    element: E,
    run: usize,
    vector: PhantomData<V>,
}

impl<E: Element, V: Vector> Each for Few<E, V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let &mut Few { element, run, .. } = self;
        // SAFETY: the caller's promise; all stores are inside the run. The last one begins with an element, as widths divide runs and
        // lanes.
        unsafe {
            let v = lanes::<V>(element.lane(from));
            v.store(to);
            for place in [LANE, 2 * LANE] {
                if place + LANE < run {
                    v.store(to.add(place));
                }
            }
            v.store(to.add(run - LANE));
        }
    }
}

/// # Safety (of `each`)
///
/// As `repeat`, for one run, of a cache line or more.
struct Long<E, V> {
    element: E,
    run: usize,
    stream: bool,
    vector: PhantomData<V>,
}

impl<E: Element, V: Vector> Each for Long<E, V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let &mut Long {
            element,
            run,
            stream,
            ..
        } = self;
        let head = to.align_offset(LINE) % LINE;
        // SAFETY: the caller's promise. The stores before `head` are inside the run, as it is at least a line long; those between start
        // on vectors, `head` bytes after the start and on. The last one begins with an element, as widths divide runs and vectors.
        unsafe {
            let first = lanes::<V>(element.lane(from));
            let v = turned(first, head);
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

/// A register of this in every lane.
///
/// # Safety
///
/// The CPU has `V`.
#[inline(always)]
unsafe fn lanes<V: Vector>(lane: u128) -> V {
    // SAFETY: a lane has so many bytes, and the CPU `V` by the caller's promise.
    unsafe { V::splat_lane([lane].as_ptr().cast()) }
}

/// Runs that follow one another.
///
/// # Safety (of `work`)
///
/// As `repeat`, of runs of a cache line or more.
struct Following<'a, E, V> {
    repeat: &'a Repeat,
    element: E,
    at: &'a At,
    vector: PhantomData<V>,
}

impl<E: Element, V: Vector> Work for Following<'_, E, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let Following {
            repeat,
            element,
            at,
            ..
        } = self;
        // SAFETY: the caller's promise.
        unsafe {
            let mut writing = Writing {
                element,
                run: repeat.run,
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
struct Writing<E, V> {
    element: E,
    run: usize,
    pen: Pen<V>,
}

impl<E: Element, V: Vector> Each for Writing<E, V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let lanes = lanes(self.element.lane(from));
            self.pen.fill(lanes, to, self.run);
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
}
