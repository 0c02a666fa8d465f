//! Lines of short elements that lie any steps apart: every second number, one channel of pixels, pixels without their fourth
//! byte, pixels from the last to the first.
//!
//! Where they come to lie side by side, each lane of a register is shuffled together from what was read at a few places,
//! and so whole cache lines are, which past the caches are streamed. Where they don't, each is read and written by itself,
//! as there may be others' bytes between.

use std::marker::PhantomData;
use std::ops::Range;

use crate::around::{Around, Each, Later};
use crate::nest::{Loop, Loops};
use crate::plane::At;
use crate::simd::{LANE, Set, Vector};

mod lanes;
mod round;

use lanes::{Lanes, Short};
use round::{PLACES, Round, Spans};

/// Rounds of a line from which on it is worth streaming, as those of its elements that are before a cache line go one by one.
const ROUNDS: usize = 4;
/// And its bytes, where the next one does not follow it, and each cuts a cache line at either end: on a Zen 3 u8[1133,161,452],
/// mirrored to rows 1046 bytes apart, takes 40 ms streamed and 29 not.
const LONG: usize = 512;

#[derive(Debug, Clone)]
pub(crate) struct Steps {
    /// Bytes of an element, at most a lane's.
    pub(crate) width: usize,
    line: Loop,
    around: Around,
    /// How they are put together, where they come to lie side by side.
    round: Option<Box<Round>>,
    stream: bool,
}

impl Steps {
    /// A line of elements of so many bytes, in a nest.
    pub(crate) fn new(width: usize, loops: &mut Loops, line: Loop, stream: bool) -> Steps {
        let dense = line.destination == width as isize;
        Steps {
            width,
            line,
            around: Around::take(loops),
            round: dense.then(|| Round::new(width, line)).flatten(),
            stream,
        }
    }

    /// What is asked for of lines further on, past the caches.
    fn later(&self) -> Option<Later> {
        let reach = (self.line.extent - 1) as isize * self.line.source;
        let bytes = reach.unsigned_abs() + self.width;
        self.around
            .later(reach.min(0), bytes)
            .filter(|_| self.stream)
    }
}

/// Moves all elements.
///
/// # Safety
///
/// The CPU has the set. All bytes from the lowest element to the highest are readable, all elements writable, and the two sides
/// do not overlap.
pub(crate) unsafe fn run<S: Set>(steps: &Steps, at: &At) {
    // SAFETY: the CPU has the set, and all is readable, writable and apart, by the caller's promise. An element is a number of `N` bytes,
    // or two of them that overlap: its width is above `N` and at most twice that.
    unsafe {
        match steps.width {
            1 => elements::<S, 1, false>(steps, at),
            2 => elements::<S, 2, false>(steps, at),
            3 => elements::<S, 2, true>(steps, at),
            4 => elements::<S, 4, false>(steps, at),
            5..=7 => elements::<S, 4, true>(steps, at),
            8 => elements::<S, 8, false>(steps, at),
            9..=15 => elements::<S, 8, true>(steps, at),
            _ => elements::<S, 16, false>(steps, at),
        }
    }
}

/// # Safety
///
/// As `run`; an element has `N` bytes, or if it is `TWO` numbers, up to as many more.
unsafe fn elements<S: Set, const N: usize, const TWO: bool>(steps: &Steps, at: &At) {
    let around = &steps.around;
    // SAFETY: the CPU has the set, and so its registers; the round is that of the steps; every iteration of the loops around goes to the
    // start of a line, all of whose elements are readable on one side and writable on the other, which do not overlap: the caller's
    // promise, as that of the elements' bytes. Where even the widest registers are lanes, they may lack a shuffle.
    unsafe {
        match &steps.round {
            Some(round) if S::Wide::BYTES > LANE => {
                let &Steps {
                    width,
                    line,
                    stream,
                    ..
                } = steps;
                let lanes = Lanes::<S::Quarter>::new(steps, round);
                let (extent, later) = (line.extent, steps.later());
                if extent < round.elements && lanes.cover(extent) {
                    let short = Short {
                        lanes,
                        extent,
                        later,
                    };
                    return S::Narrow::enter(around.of(at, short));
                }
                let bytes = extent * width;
                let worth = around.innermost().destination == bytes as isize || bytes >= LONG;
                let together = Together::<_, _, N, TWO> {
                    steps,
                    round,
                    stream: stream && worth && extent >= ROUNDS * round.elements,
                    whole: round.spans(width, &line, 0),
                    lanes,
                    later,
                    vector: PhantomData::<S::Wide>,
                };
                S::enter(around.of(at, together));
            }
            _ => S::Narrow::enter(around.of(at, Alone::<N, TWO>(steps))),
        }
    }
}

/// Elements that are copied one by one.
///
/// # Safety (of `each`)
///
/// As `elements`, for one line.
struct Alone<'a, const N: usize, const TWO: bool>(&'a Steps);

impl<const N: usize, const TWO: bool> Each for Alone<'_, N, TWO> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        // SAFETY: these are all elements of the line, which are readable and writable, and have so many bytes: the caller's promise.
        unsafe { self.copy(from, to, 0..self.0.line.extent) };
    }
}

impl<const N: usize, const TWO: bool> Alone<'_, N, TWO> {
    /// Copies some elements of a line that begins there.
    ///
    /// # Safety
    ///
    /// They are readable and writable, and have `N` bytes, or if they are `TWO` numbers, up to as many more.
    #[inline(always)]
    unsafe fn copy(&self, from: *const u8, to: *mut u8, elements: Range<usize>) {
        let &Steps { width, line, .. } = self.0;
        for i in elements {
            // SAFETY: element `i` is readable and writable by the caller's promise, and both numbers are inside it: one at its start, and
            // the other, where it has more than `N` bytes, up to its end.
            unsafe {
                let from = from.offset(i as isize * line.source);
                let to = to.offset(i as isize * line.destination);
                let first = from.cast::<[u8; N]>().read_unaligned();
                if TWO {
                    let last = from.add(width - N).cast::<[u8; N]>().read_unaligned();
                    to.add(width - N).cast::<[u8; N]>().write_unaligned(last);
                }
                to.cast::<[u8; N]>().write_unaligned(first);
            }
        }
    }
}

/// Elements that are put together.
///
/// # Safety (of `each`)
///
/// As `elements`, for one line; the round is that of the steps.
struct Together<'a, V, L, const N: usize, const TWO: bool> {
    steps: &'a Steps,
    round: &'a Round,
    /// Whether its rounds are to begin on cache lines, and are streamed.
    stream: bool,
    /// How a line is moved that is not to begin on a cache line.
    whole: Spans,
    lanes: Lanes<L>,
    later: Option<Later>,
    vector: PhantomData<V>,
}

impl<V: Vector, L: Vector, const N: usize, const TWO: bool> Each for Together<'_, V, L, N, TWO> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let Together { steps, round, .. } = *self;
        let &Steps { width, line, .. } = steps;
        let before = match self.stream {
            true => round.before_lines(width, to),
            false => None,
        };
        let Spans {
            first,
            count,
            lane,
            behind,
        } = match before {
            Some(before) => round.spans(width, &line, before),
            None => self.whole,
        };
        if let Some(later) = self.later {
            later.ask(from);
        }
        // SAFETY: all are elements of the line, by the caller's promise readable, writable, and of so many bytes. `of` and `lanes` leave
        // out what would read behind the line's last element, or if it goes back, its first one; what they read below that of a round's
        // or a lane's own elements is nothing. If `before` says how many are before a cache line, as many are before the first round,
        // or whole rounds more, which are whole lines. The CPU has both registers, and `L` is a lane, as `elements` chose them.
        unsafe {
            let alone = Alone::<N, TWO>(steps);
            match self.lanes.cover(first) {
                true => self.lanes.move_first(from, to, first),
                false => alone.copy(from, to, 0..first),
            }
            let (start, place) = (
                from.offset(first as isize * line.source),
                to.add(first * width),
            );
            match before {
                Some(_) => self.places::<true>(start, place, count),
                None => self.places::<false>(start, place, count),
            }
            alone.copy(from, to, first + count * round.elements..lane);
            let (of_lane, mut i) = (self.lanes.elements, lane);
            while i < behind {
                self.lanes.put(from, to, i);
                i += of_lane;
            }
            alone.copy(from, to, behind..line.extent);
        }
    }
}

impl<V: Vector, L: Vector, const N: usize, const TWO: bool> Together<'_, V, L, N, TWO> {
    /// What some lanes of a round take from one of their places, the rest zero.
    ///
    /// # Safety
    ///
    /// From these lanes' lowest elements on, `place` lanes further, a lane is readable. The round has as many lanes as a register,
    /// from `first` on, and that place. The CPU has `V`.
    #[inline(always)]
    unsafe fn part(&self, from: *const u8, first: usize, place: usize) -> V {
        let Round { lowest, tables, .. } = self.round;
        // SAFETY: there are a table and a lowest byte for each lane, of which `first` and those behind it in a register are some, and a
        // table has a lane's bytes; a lane from each lowest byte on is readable, and the CPU has `V`: the caller's promise.
        unsafe {
            let table = tables.as_ptr().add(place * lowest.len() + first);
            V::load_lanes(
                #[inline(always)]
                |lane| {
                    let lowest = *lowest.get_unchecked(first + lane);
                    from.offset(lowest).add(place * LANE)
                },
            )
            .shuffle(V::load(table.cast()))
        }
    }

    /// Moves so many rounds.
    ///
    /// # Safety
    ///
    /// What each reads is readable: from its first element on as far as the round says, and its other elements. Its elements are
    /// writable, and if it is to `STREAM`, the first is at the start of a cache line. The CPU has `V`.
    #[inline(always)]
    unsafe fn places<const STREAM: bool>(&self, from: *const u8, to: *mut u8, count: usize) {
        // SAFETY: each lane has as many places as the match says; the rest is the caller's promise, passed on whole.
        unsafe {
            match self.round.places {
                1 => self.rounds::<STREAM, 1>(from, to, count),
                2 => self.rounds::<STREAM, 2>(from, to, count),
                3 => self.rounds::<STREAM, 3>(from, to, count),
                _ => self.rounds::<STREAM, PLACES>(from, to, count),
            }
        }
    }

    /// # Safety
    ///
    /// As `places`, of which each lane has so many.
    #[inline(always)]
    unsafe fn rounds<const STREAM: bool, const PLACES: usize>(
        &self,
        mut from: *const u8,
        mut to: *mut u8,
        count: usize,
    ) {
        let Round {
            elements, lowest, ..
        } = self.round;
        let by = *elements as isize * self.steps.line.source;
        for _ in 0..count {
            for first in (0..lowest.len()).step_by(V::BYTES / LANE) {
                // SAFETY: a register's lanes are some of the round's, all of whose places are readable by the caller's promise. The
                // lanes are written where these elements lie, and registers divide a cache line.
                unsafe {
                    let mut lanes = self.part(from, first, 0);
                    for place in 1..PLACES {
                        lanes = lanes.or(self.part(from, first, place));
                    }
                    let to = to.add(first * LANE);
                    match STREAM {
                        true => lanes.stream(to),
                        false => lanes.store(to),
                    }
                }
            }
            // Behind the last round they may leave the buffers.
            from = from.wrapping_offset(by);
            to = to.wrapping_add(*elements * self.steps.width);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use crate::prepared::Prepared;
    use crate::simd::LINE;

    /// Lines of every kind of element, by every set: put together and apart, forward and backward, streamed and not, from a source that
    /// ends with its last byte to any place in a line, and all other bytes as they were.
    #[test]
    fn lines_are_moved_and_nothing_else() {
        for width in 1..=LANE {
            for apart in [0, 1, 3, width, 4 * width, 37] {
                for (extent, gap) in [(1, 0), (7, 3), (29, 0), (67, 0), (67, 1), (301, 0)] {
                    for backward in [false, true] {
                        check(width, width + apart, extent, gap, backward);
                    }
                }
            }
        }
    }

    /// Two lines; elements come to lie `gap` bytes apart.
    fn check(width: usize, step: usize, extent: usize, gap: usize, backward: bool) {
        let reach = (extent - 1) * step + width;
        let written = (extent - 1) * (width + gap) + width;
        let source: Vec<u8> = (0..2 * reach)
            .map(|i| (i * 37 + i / 251) as u8 | 1)
            .collect();
        let sign = if backward { -1 } else { 1 };
        let line = Loop {
            extent,
            source: sign * step as isize,
            destination: (width + gap) as isize,
        };
        let lines = Loop {
            extent: 2,
            source: reach as isize,
            destination: written as isize + 5,
        };
        for &isa in Isa::available() {
            for (stream, shift) in [(false, 0), (true, 0), (true, 29), (true, 48)] {
                let mut room = vec![0; 2 * written + 5 + 3 * LINE];
                let start = room.as_ptr().align_offset(LINE) + LINE + shift;
                let mut want = room.clone();
                for (l, i) in (0..2).flat_map(|l| (0..extent).map(move |i| (l, i))) {
                    let place = if backward { extent - 1 - i } else { i };
                    let from = l * reach + place * step;
                    let to = start + l * (written + 5) + i * (width + gap);
                    want[to..to + width].copy_from_slice(&source[from..from + width]);
                }
                let steps = Steps::new(width, &mut Loops::from_slice(&[lines]), line, stream);
                let at = At {
                    source: source[if backward { reach - width } else { 0 }..].as_ptr(),
                    destination: room[start..].as_mut_ptr(),
                    upcoming: source.as_ptr(),
                    aside: None,
                };
                // SAFETY: the source has all bytes of both lines, and the room as many from `start` on as they reach there. The two
                // are vectors of their own, and the CPU has an available set.
                unsafe { crate::dispatch::steps(isa, &steps, &at) };
                crate::simd::fence();
                assert!(
                    room == want,
                    "{extent} of {width} bytes, {step} apart, to {gap} between, from {shift}, {backward}, {stream}, {isa:?}"
                );
            }
        }
    }

    #[test]
    fn rounds_fill_cache_lines() {
        for (width, step, elements, places) in [
            (4, 8, 16, 2),
            (4, -4, 16, 1),
            (3, 4, 64, 2),
            (12, 16, 16, 2),
            (16, 20, 4, 1),
            (1, 3, 64, 3),
            (1, 4, 64, 4),
        ] {
            let line = Loop {
                extent: 1000,
                source: step,
                destination: width as isize,
            };
            let round = Round::new(width, line).unwrap();
            assert_eq!(round.elements, elements, "{width}, {step}");
            assert_eq!(round.lowest.len() * LANE, elements * width);
            assert_eq!(round.tables.len(), places * round.lowest.len());
            // What fills lanes goes by these at least.
            let fewest = match width {
                3 | 12 => elements,
                _ => LANE / width,
            };
            for (extent, is) in [(fewest, true), (fewest - 1, false)] {
                let short = Loop { extent, ..line };
                assert_eq!(Round::new(width, short).is_some(), is, "{width}, {step}");
            }
        }
        let far = Loop {
            extent: 1000,
            source: 5,
            destination: 1,
        };
        assert!(Round::new(1, far).is_none());
    }

    /// Which lines of a nest are steps: where none of both sides has a loop of its own.
    #[test]
    fn short_runs_in_one_line_are_steps() {
        let l = |extent, source, destination| Loop {
            extent,
            source,
            destination,
        };
        for (loops, are) in [
            ([l(5, 4000, 3000), l(1000, 4, 3), l(3, 1, 1)], true),
            ([l(5, 3000, 4000), l(1000, 3, 4), l(3, 1, 1)], true),
            ([l(5, 3000, 3000), l(1000, -3, 3), l(3, 1, 1)], true),
            // Pixels of a picture that is transposed.
            ([l(500, 3, 3000), l(1000, 1500, 3), l(3, 1, 1)], false),
            ([l(500, -3, 3000), l(1000, 1500, 3), l(3, 1, 1)], false),
        ] {
            let prepared = Prepared::new(1, &loops, Isa::best(), true);
            let is = prepared.kernel() == crate::Kernel::Strided { width: 3 };
            assert_eq!(is, are, "{loops:?}");
        }
    }
}
