//! Cutting a destination into windows.

/// A part of the destination.
pub(super) struct Window<'a> {
    /// The byte of the destination at which it starts.
    pub(super) start: usize,
    pub(super) bytes: &'a mut [u8],
}

/// Where to cut: `first` bytes, then windows of `rest` bytes, the last one shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    first: usize,
    rest: usize,
    pub(super) count: usize,
}

/// Windows start on whole huge pages, so that no two threads fault in, or write, the same one.
const PAGE: usize = 2 << 20;

/// Below this a window costs more than it brings. Where a destination has many boxes, small
/// windows are best: what one box leaves out of a line, the next one writes while it is still in
/// a cache.
pub(super) const SMALLEST: usize = 4 << 20;

/// Above this a window is no better, and the progress would be told too rarely.
const LARGEST: usize = 64 << 20;

/// Windows that a thread gets at least, if the destination has that many, so that the slowest
/// holds up the others by little.
const PER_THREAD: usize = 4;

/// Most windows, and most pieces of boxes over all windows: clipping one takes about a
/// microsecond.
const WINDOWS: usize = 512;
const PIECES: usize = 1 << 16;

/// Bytes that a window should read in one run of the source, where it goes against the grain.
/// Measured on a transpose of 256 MiB: 54 ms at 512, 40 ms at 2048 and above.
pub(super) const RUN: usize = 2048;

/// Where the first whole page of a destination starts, if windows can start there: a file's header
/// may lie before it, and windows must start between units too, which a page does if the
/// destination does.
pub(super) fn head(destination: &[u8], unit: usize) -> usize {
    let head = destination.as_ptr().align_offset(PAGE);
    if head.is_multiple_of(unit) { head } else { 0 }
}

/// How to cut a destination whose first page starts at `head`; `None` for not at all. `pieces` is
/// the number of boxes and fills, each of which may have a piece in every window, `reach` the size
/// from which on windows read long runs of the source.
pub(super) fn cut(
    head: usize,
    length: usize,
    threads: usize,
    pieces: usize,
    reach: usize,
) -> Option<Cut> {
    let size = reach
        .min(length / threads / PER_THREAD)
        .clamp(SMALLEST, LARGEST);
    let most = (PIECES / pieces.max(1)).min(WINDOWS).max(threads);
    let rest = size.max(length.div_ceil(most)).next_multiple_of(PAGE);
    let first = head + rest;
    if length <= first {
        return None;
    }
    Some(Cut {
        first,
        rest,
        count: 1 + (length - first).div_ceil(rest),
    })
}

/// The windows, in order.
pub(super) fn windows(destination: &mut [u8], cut: Cut) -> impl Iterator<Item = Window<'_>> + Send {
    let (first, rest) = destination.split_at_mut(cut.first);
    let rest = rest.chunks_mut(cut.rest).enumerate();
    let rest = rest.map(move |(number, bytes)| Window {
        start: cut.first + number * cut.rest,
        bytes,
    });
    std::iter::once(Window {
        start: 0,
        bytes: first,
    })
    .chain(rest)
}

/// The windows between these bytes, which rise and lie inside the destination.
pub(super) fn between<'a>(
    destination: &'a mut [u8],
    cuts: impl Iterator<Item = usize> + Send + 'a,
) -> impl Iterator<Item = Window<'a>> + Send {
    let end = destination.len();
    let mut rest = destination;
    let mut start = 0;
    cuts.chain([end]).map(move |cut| {
        let (bytes, behind) = std::mem::take(&mut rest).split_at_mut(cut - start);
        rest = behind;
        let window = Window { start, bytes };
        start = cut;
        window
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_the_destination_on_huge_pages() {
        for (megabytes, threads, boxes) in [(9, 2, 1), (40, 1, 3), (64, 7, 50), (33, 2, 1 << 20)] {
            let mut memory = vec![0; (megabytes << 20) + 48];
            let destination = &mut memory[48..];
            let cut = cut(head(destination, 16), destination.len(), threads, boxes, 0).unwrap();
            assert!(
                cut.count <= 2 * threads.max(PIECES / boxes) && cut.count >= 2,
                "{cut:?}"
            );
            let length = destination.len();
            let mut next = 0;
            let mut count = 0;
            for window in windows(destination, cut) {
                assert_eq!(window.start, next);
                assert!(window.start == 0 || window.bytes.as_ptr().align_offset(PAGE) == 0);
                next += window.bytes.len();
                count += 1;
            }
            assert_eq!((next, count), (length, cut.count));
        }
    }

    #[test]
    fn windows_reach_far_enough_and_leave_some_for_every_thread() {
        let size =
            |threads, boxes, reach| cut(0, 1 << 30, threads, boxes, reach).unwrap().rest >> 20;
        assert_eq!(size(1, 1, 0), 4);
        assert_eq!(size(1, 1, 20 << 20), 20);
        assert_eq!(size(1, 1, 1 << 30), 64);
        assert_eq!(size(16, 1, 1 << 30), 16);
        assert_eq!(size(1, 1 << 12, 0), 64);
    }

    #[test]
    fn small_destinations_are_not_cut() {
        assert_eq!(cut(0, SMALLEST, 8, 1, 0), None);
        assert_eq!(cut(0, 0, 1, 0, 0), None);
    }

    #[test]
    fn windows_start_between_units_of_an_odd_destination() {
        let memory = vec![0; 32 << 20];
        let odd = &memory[3..];
        let cut = cut(head(odd, 8), odd.len(), 2, 1, 0).unwrap();
        assert_eq!((cut.first % 8, cut.rest % 8), (0, 0));
    }
}
