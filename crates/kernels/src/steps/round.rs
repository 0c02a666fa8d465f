//! How the elements of a line are put together: the places that each lane is read from, and the tables that it is shuffled by.

use crate::nest::Loop;
use crate::simd::{LANE, LINE};

/// The most places that a lane is put together from.
pub(super) const PLACES: usize = 4;

/// So many elements that they fill whole cache lines.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) elements: usize,
    /// For each lane from where it is read, relative to the first element.
    pub(super) lowest: Box<[isize]>,
    /// For each place that a lane is put together from, a lane's bytes apart, and for each lane, which of the bytes there go
    /// where; a top bit stands for none.
    pub(super) tables: Box<[[u8; LANE]]>,
    /// How many places each lane is put together from.
    pub(super) places: usize,
    /// Behind the start of the first element, the end of what is read.
    end: usize,
}

impl Round {
    /// Of a line of elements of so many bytes; `None` where it is shorter, or than a lane if elements fill lanes, and where they lie
    /// too far apart.
    pub(super) fn new(width: usize, line: Loop) -> Option<Box<Round>> {
        let (mut elements, mut lines) = (LINE, width);
        while lines.is_multiple_of(2) && elements > 1 {
            (elements, lines) = (elements / 2, lines / 2);
        }
        let step = line.source;
        let fewest = if lines == 1 { LANE / width } else { elements };
        if line.extent < fewest || (LANE / width - 1) * step.unsigned_abs() >= PLACES * LANE {
            return None;
        }
        // Where a byte of the round comes from.
        let place = |byte: usize| (byte / width) as isize * step + (byte % width) as isize;
        let bytes = |lane: usize| lane * LANE..(lane + 1) * LANE;
        let lanes = lines * (LINE / LANE);
        let lowest = (0..lanes).filter_map(|lane| bytes(lane).map(place).min());
        let lowest: Box<[isize]> = lowest.collect();
        let at = |byte: usize| (place(byte) - lowest[byte / LANE]) as usize;
        let places = (0..lanes * LANE).map(at).max()? / LANE + 1;
        let table = |number: usize| {
            let (of, lane) = (number / lanes, number % lanes);
            std::array::from_fn(|byte| {
                let at = at(lane * LANE + byte);
                match at / LANE == of {
                    true => (at % LANE) as u8,
                    false => 0x80,
                }
            })
        };
        if places > PLACES {
            return None;
        }
        // The first lane has the first element, so this is above 0.
        let end = *lowest.iter().max()? + (places * LANE) as isize;
        let tables = (0..places * lanes).map(table).collect();
        Some(Box::new(Round {
            elements,
            lowest,
            tables,
            places,
            end: end as usize,
        }))
    }

    /// The first elements of a line after which its elements begin on a cache line; `None` where they never do.
    pub(super) fn before_lines(&self, width: usize, to: *const u8) -> Option<usize> {
        (0..self.elements).find(|first| (to as usize + first * width).is_multiple_of(LINE))
    }

    /// The rounds of a line: from which element on, and how many.
    fn of(&self, width: usize, line: &Loop, first: usize) -> (usize, usize) {
        steps_of(self.elements, self.end, width, line, first)
    }

    /// The same of lanes, where elements fill these.
    pub(super) fn lanes(&self, width: usize, line: &Loop, first: usize) -> (usize, usize) {
        if self.lowest.len() * LANE != LINE {
            return (first, 0);
        }
        let end = self.lowest[0] + (self.places * LANE) as isize;
        steps_of(LANE / width, end as usize, width, line, first)
    }

    /// How a line is moved of which so many elements are before its rounds.
    pub(super) fn spans(&self, width: usize, line: &Loop, before: usize) -> Spans {
        let (first, count) = self.of(width, line, before);
        let (lane, lanes) = self.lanes(width, line, first + count * self.elements);
        Spans {
            first,
            count,
            lane,
            behind: lane + lanes * (LANE / width),
        }
    }
}

/// Which elements of a line are moved by rounds, and which by lanes; all others are moved one by one.
#[derive(Clone, Copy)]
pub(super) struct Spans {
    /// The first of a round, and how many these are.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The first of a lane behind them, and the first behind these.
    pub(super) lane: usize,
    pub(super) behind: usize,
}

/// How often so many elements at a time of a line can be read, and from which on, if reading them ends so far behind the start of
/// their first one.
fn steps_of(
    elements: usize,
    end: usize,
    width: usize,
    line: &Loop,
    first: usize,
) -> (usize, usize) {
    // What is read behind the first one is there if so many others are.
    let others = match (end.saturating_sub(width), line.source.unsigned_abs()) {
        (0, _) => 0,
        (_, 0) => return (first, 0),
        (behind, step) => behind.div_ceil(step),
    };
    let (mut start, mut last) = (first, line.extent);
    if line.source > 0 {
        last = last.min((last + elements).saturating_sub(others + 1));
    } else {
        // The others are before it.
        start += others.saturating_sub(first).next_multiple_of(elements);
    }
    match last.saturating_sub(start) / elements {
        0 => (first, 0),
        count => (start, count),
    }
}
