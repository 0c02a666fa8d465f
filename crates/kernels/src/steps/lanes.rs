//! Elements of a line that fill lanes, each of which is put together in a register of its own.

use super::Steps;
use super::round::{PLACES, Round};
use crate::around::{Each, Later};
use crate::simd::{LANE, Vector};

/// A round's first lane, wherever it is in a line.
pub(super) struct Lanes<L> {
    /// Elements of a lane, and bytes of each.
    pub(super) elements: usize,
    width: usize,
    /// Bytes from an element to the next one in the source.
    step: isize,
    /// From where it is read, relative to its first element.
    lowest: isize,
    /// For each of so many places which of the bytes there go where.
    places: usize,
    tables: [L; PLACES],
    /// How many elements from the line's first one on may be read by lanes.
    reach: usize,
}

impl<L: Vector> Lanes<L> {
    /// Those of a line's round.
    ///
    /// # Safety
    ///
    /// The round is that of the steps. The CPU has `L`, which is a lane.
    #[inline(always)]
    pub(super) unsafe fn new(steps: &Steps, round: &Round) -> Self {
        let &Steps { width, line, .. } = steps;
        let Round {
            lowest,
            tables,
            places,
            ..
        } = round;
        let elements = LANE / width;
        let table = |place: usize| {
            let table = &tables[place.min(places - 1) * lowest.len()];
            // SAFETY: a table has a lane's bytes, and the CPU has `L`: the caller's promise.
            unsafe { L::load(table.as_ptr()) }
        };
        Lanes {
            elements,
            width,
            step: line.source,
            lowest: lowest[0],
            places: *places,
            tables: [table(0), table(1), table(2), table(3)],
            reach: match round.lanes(width, &line, 0) {
                (0, lanes) => lanes * elements,
                _ => 0,
            },
        }
    }

    /// Whether so many elements from the line's first one on can be moved by lanes.
    #[inline(always)]
    pub(super) fn cover(&self, count: usize) -> bool {
        (self.elements..=self.reach).contains(&count)
    }

    /// Moves so many elements from the line's first one on; the last lane is moved back to end with them.
    ///
    /// # Safety
    ///
    /// The line begins there. Lanes [`cover`](Lanes::cover) so many, which are writable. The CPU has `L`.
    #[inline(always)]
    pub(super) unsafe fn move_first(&self, from: *const u8, to: *mut u8, count: usize) {
        let last = count - self.elements;
        let mut i = 0;
        while i < count {
            i = i.min(last);
            // SAFETY: lanes up to `reach` from the line's start on are readable, and so are those that begin between two of them. None
            // ends behind `count`, so all is writable.
            unsafe { self.put(from, to, i) };
            i += self.elements;
        }
    }

    /// Moves those elements of a line that fill a lane from element `i` on.
    ///
    /// # Safety
    ///
    /// The line begins there. They are writable, and all is readable that the round says of its first lane. The CPU has `L`.
    #[inline(always)]
    pub(super) unsafe fn put(&self, from: *const u8, to: *mut u8, i: usize) {
        // SAFETY: from the lowest byte on, so many places of a lane's bytes are readable, and elements that fill a lane are writable: the
        // caller's promise.
        unsafe {
            let from = from.offset(i as isize * self.step + self.lowest);
            let part = |place: usize| L::load(from.add(place * LANE)).shuffle(self.tables[place]);
            let mut lane = part(0);
            if self.places > 1 {
                lane = lane.or(part(1));
            }
            if self.places > 2 {
                lane = lane.or(part(2));
            }
            if self.places > 3 {
                lane = lane.or(part(3));
            }
            lane.store(to.add(i * self.width));
        }
    }
}

/// Lines that are shorter than a round, and moved by lanes alone.
///
/// # Safety (of `each`)
///
/// The line's elements are readable and writable; lanes cover so many. The CPU has `L`.
pub(super) struct Short<L> {
    pub(super) lanes: Lanes<L>,
    /// Elements of a line.
    pub(super) extent: usize,
    pub(super) later: Option<Later>,
}

impl<L: Vector> Each for Short<L> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        if let Some(later) = self.later {
            later.ask(from);
        }
        // SAFETY: the caller's promise.
        unsafe { self.lanes.move_first(from, to, self.extent) };
    }
}
