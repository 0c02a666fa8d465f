//! Whether a move is better written past the caches.

use crate::crowded;
use crate::nest::{Loop, Nest};
use crate::simd::LINE;
use crate::tuning::{Tuning, Written};

/// Whether a nest is better written past the caches by one thread, and by several.
pub(crate) fn streams(nest: &Nest, tuning: &Tuning) -> (bool, bool) {
    // At most a line is touched for every element: small arrays, whose plans are in a hurry, are asked nothing else.
    let most = nest.bytes.saturating_mul(LINE / nest.width);
    if !tuning.streams(most) {
        return (false, false);
    }
    let touched = nest.touched();
    let (much, early) = (tuning.streams(touched), tuning.streams_crowded(nest.bytes));
    if !(much || early) {
        return (false, false);
    }
    let crowds = crowded::crowds(nest.width, &nest.loops);
    let cut = cut_columns(nest);
    let early = early && crowds && cut.is_none();
    let long = nest.width >= WIDE && cut.is_some_and(|column| column >= LONG);
    let written = match cut {
        _ if long || has_runs(nest) => Written::Ordered,
        Some(_) => Written::Cut,
        None => Written::Lines,
    };
    let repeats = nest.repeated() >= REPEATED;
    let kept =
        touched < tuning.kept_by_one(written) || repeats && tuning.keeps_repeated(touched, false);
    let shared = tuning.keeps(touched)
        || repeats && tuning.keeps_repeated(touched, true)
        || separates(nest) && tuning.keeps_separated(touched);
    (
        early || much && (crowds || !kept),
        early || much && (crowds || !shared),
    )
}

/// How often each element is written from which on the source is little beside the destination.
const REPEATED: usize = 3;

/// Whether the source is a run of a few elements of each row of the destination: pixels that become planes, or blocks of channels.
fn separates(nest: &Nest) -> bool {
    let unit = nest.width as isize;
    let along = |stride: fn(&Loop) -> isize| nest.loops.iter().find(move |l| stride(l) == unit);
    let (few, row) = (along(|l| l.source), along(|l| l.destination));
    few.zip(row).is_some_and(|(few, row)| {
        let bytes = few.extent * nest.width;
        bytes <= LINE && row.source == bytes as isize
    })
}

/// Bytes of columns from which on, and of their elements, they are left in the caches where they cut lines. On a Zen 5
/// f32[300,8003], of 1200 bytes, gains a quarter by that where all is cached and loses a sixth where half of it is; u16[2049,2501]
/// takes twice as long.
const LONG: usize = 4 << 10;
const WIDE: usize = 4;

/// Bytes of runs from which on they are left in the caches. On a Zen 5 f32[2001,100,8]{2,0,1} from row-major takes 329 us streamed
/// and 214 not; runs of 12 bytes gain where all is cached and lose where half of it is.
const RUN: usize = LINE / 2;

/// Whether elements that lie side by side do so on both sides.
fn has_runs(nest: &Nest) -> bool {
    let unit = nest.width as isize;
    let goes_on = |l: &Loop| (l.source, l.destination) == (unit, unit);
    let is_long = |l: &Loop| l.extent * nest.width >= RUN;
    nest.loops.iter().any(|l| goes_on(l) && is_long(l))
}

/// The bytes of a transpose's columns, where these do not lie on lines.
fn cut_columns(nest: &Nest) -> Option<usize> {
    let unit = nest.width as isize;
    let row = nest.loops.iter().find(|l| l.source == unit)?;
    let column = nest.loops.iter().find(|l| l.destination == unit);
    let cut = row.destination != unit && row.destination % LINE as isize != 0;
    cut.then(|| column.map_or(0, |l| l.extent * nest.width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::movement::Move;
    use crate::tuning::{Caches, Stores, is_zen, is_zen3, is_zen5};

    /// Whether one thread and two stream `rows` by `columns` to columns that begin `step` elements apart.
    fn streams(
        width: usize,
        rows: usize,
        columns: usize,
        step: usize,
        stores: Stores,
    ) -> [bool; 2] {
        let stride = |elements: usize| (elements * width) as isize;
        let loops = [
            Loop {
                extent: columns,
                source: stride(1),
                destination: stride(step),
            },
            Loop {
                extent: rows,
                source: stride(columns),
                destination: stride(1),
            },
        ];
        let tuning = Tuning {
            stores,
            ..Tuning::default()
        };
        let made = Move::tuned(width, 0, 0, &loops, &tuning).expect("a transpose");
        [made.streams_on(1), made.streams_on(2)]
    }

    /// What a thread and two leave in the caches of a Zen 3 beyond what they leave of other moves: up to three quarters of the last one and
    /// three times that where elements are repeated, and up to seven eighths by two where a run is separated into a few rows.
    #[test]
    fn more_of_what_is_repeated_and_separated_stays_in_the_caches_of_a_zen_3() {
        let last = Caches::of_this_cpu().last;
        let of = |width: usize, loops: [(usize, isize, isize); 2]| {
            let loops = loops.map(|(extent, source, destination)| Loop {
                extent,
                source,
                destination,
            });
            let made = Move::tuned(width, 0, 0, &loops, &Tuning::default()).expect("a move");
            [made.streams_on(1), made.streams_on(2)]
        };
        let zen3 = is_zen3();
        for (part, stays) in [
            (last / 16 * 11, [true, true]),
            (last / 16 * 13, [false, true]),
            (last / 16 * 47, [false, true]),
            (last / 16 * 49, [false, false]),
        ] {
            let rows = of(4, [(part / 20_012, 4, 20_012), (5003, 0, 4)]);
            assert_eq!(rows, stays.map(|stays| !(stays && zen3)), "{part} bytes");
        }
        for (part, stays) in [(last / 16 * 13, true), (last / 16 * 15, false)] {
            // Odd, so that rows push none of another out of the caches.
            let len = (part / 12) | 1;
            let planes = of(4, [(3, 4, 4 * len as isize), (len, 12, 4)]);
            assert_eq!(planes, [true, !(stays && zen3)], "{part} bytes");
            // The way back streams.
            let pixels = of(4, [(3, 4 * len as isize, 4), (len, 4, 12)]);
            assert_eq!(pixels, [true, true], "{part} bytes");
        }
    }

    /// Runs of one and a half times the bytes from which on a move streams, but short ones on a Zen 5; not of two and a half times.
    #[test]
    fn runs_stay_in_the_caches_of_a_zen() {
        let from = Caches::of_this_cpu().streams_from();
        let of = |run: usize, part: usize| {
            let planes = from * part / 2 / (101 * run);
            let loops = [
                Loop {
                    extent: 101,
                    source: run as isize,
                    destination: (planes * run) as isize,
                },
                Loop {
                    extent: planes,
                    source: (101 * run) as isize,
                    destination: run as isize,
                },
                Loop {
                    extent: run,
                    source: 1,
                    destination: 1,
                },
            ];
            let made = Move::tuned(1, 0, 0, &loops, &Tuning::default()).expect("runs");
            made.streams_on(1)
        };
        for run in [RUN, 75, 512] {
            assert_eq!(of(run, 3), !is_zen(), "{run}");
            assert!(of(run, 5), "{run}");
        }
        assert_eq!(of(RUN - 5, 3), !is_zen() || is_zen5());
    }

    /// Of one and a half times the bytes from which on a move streams, long columns that cut lines are left in the caches of
    /// a Zen 5, and by two threads all are, as by one of an older Zen; not of two and a half times, and none whose columns push
    /// each other out. Lines are streamed from less on than others.
    #[test]
    fn columns_stay_in_the_caches_of_a_zen() {
        let from = Caches::of_this_cpu().streams_from();
        let of = |width: usize, rows: usize, step: usize, part: usize| {
            let columns = from * part / 2 / (rows * width);
            streams(width, rows, columns, step, Stores::Auto)
        };
        let streamed = [true, true];
        for (width, rows, step) in [
            (4, 1500, 1500),
            (8, 1001, 1001),
            (16, 701, 701),
            (4, 1600, 1604),
        ] {
            let [one, _] = of(width, rows, step, 3);
            assert_eq!(one, !is_zen(), "{width} {rows}");
            assert_eq!(of(width, rows, step, 5), streamed, "{width} {rows}");
            assert_eq!(
                streams(width, rows, 1501, step, Stores::Streaming),
                streamed
            );
        }
        // On lines, short, narrow: on a Zen 5 only threads that share them leave them there.
        for (width, rows, step) in [(4, 1504, 1504), (4, 300, 300), (2, 3001, 3001)] {
            let [one, two] = of(width, rows, step, 3);
            assert_eq!(one, !is_zen() || is_zen5(), "{width} {rows}");
            assert_eq!(two, !is_zen(), "{width} {rows}");
        }
        let lines = streams(4, 1504, from * 11 / 6 / (1504 * 4), 1504, Stores::Auto);
        assert_eq!(lines, [true, !is_zen()]);
        // A line of the source goes to as many lines of a slot, or nearly.
        for (width, rows, step) in [
            (1, 4096, 4096),
            (2, 2048, 2048),
            (2, 2049, 2049),
            (1, 4099, 4099),
        ] {
            assert_eq!(of(width, rows, step, 3), streamed, "{width} {rows}");
        }
    }
}
