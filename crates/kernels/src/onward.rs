//! Asking ahead for what is read from front to back.

use crate::simd::LINE;
use crate::tuning::followed;

const PAGE: usize = 4096;
/// Pages that are asked for side by side.
const SIDES: usize = 4;
/// Bytes of these pages.
const BLOCK: usize = SIDES * PAGE;
/// The least bytes of a run that is worth it.
const LONG: usize = 4 * BLOCK;

/// Where to ask for memory, by where it is read.
///
/// Where the CPU's own prefetcher follows places page by page, one place alone brings less than memory can: a Sapphire
/// Rapids reads 12 GB/s from front to back, and 18 GB/s if the lines of four pages are asked for in turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Onward {
    ahead: isize,
    sides: bool,
}

impl Onward {
    /// For a run of so many bytes; so many ahead, where that is enough.
    pub(crate) fn along(run: usize, ahead: isize) -> Onward {
        // Of a short one, most of what is asked for would be others'.
        let step = if run >= LONG { LINE as isize } else { 0 };
        Onward::new(step, ahead)
    }

    /// For places `step` bytes apart; so many bytes ahead, where that is enough.
    pub(crate) fn new(step: isize, ahead: isize) -> Onward {
        Onward {
            ahead,
            sides: is_dense(step) && followed() < usize::MAX,
        }
    }

    /// As `new`, for places from which one element after the other is taken, if it is worth asking: where the CPU's own
    /// prefetcher follows all rows, it brings one run sooner than requests that the core must keep under way. To take three of
    /// 16 channels, an EPYC reads 12 GB/s with them, and 24 GB/s without.
    pub(crate) fn alone(step: isize, ahead: isize) -> Option<Onward> {
        let followed = is_dense(step) && followed() == usize::MAX;
        (!followed).then(|| Onward::new(step, ahead))
    }

    /// What to ask for when this place is read: while a block of pages is read line by line, all lines of the next.
    #[inline(always)]
    pub(crate) fn of(self, place: *const u8) -> *const u8 {
        if !self.sides {
            return place.wrapping_offset(self.ahead);
        }
        let line = place as usize % BLOCK / LINE;
        let asked = line % SIDES * (PAGE / LINE) + line / SIDES;
        let block = place.wrapping_sub(place as usize % BLOCK);
        block.wrapping_add(BLOCK + asked * LINE)
    }
}

/// Whether places so many bytes apart are on every line.
fn is_dense(step: isize) -> bool {
    (1..=LINE as isize).contains(&step)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, LINE, Onward};

    #[test]
    fn every_line_is_asked_for_once_well_before_it_is_read() {
        let (onward, base) = (
            Onward {
                ahead: 0,
                sides: true,
            },
            3 * BLOCK,
        );
        let lines = |block: usize| (block..block + BLOCK).step_by(LINE);
        let mut asked: Vec<_> = lines(base)
            .map(|place| (onward.of(place as *const u8) as usize, place))
            .collect();
        asked.sort_unstable();
        assert!(asked.iter().map(|&(line, _)| line).eq(lines(base + BLOCK)));
        assert!(asked.iter().all(|&(line, place)| line - place > 4096));
        // Side by side in several pages.
        assert_eq!(
            onward.of((base + LINE + 9) as *const u8) as usize,
            base + BLOCK + 4096
        );
    }

    #[test]
    fn otherwise_what_is_so_far_ahead() {
        let (ahead, sides) = (640, false);
        let place = Onward { ahead, sides }.of(99 as *const u8);
        assert_eq!(place as usize, 739);
    }
}
