//! Which kernel moves a nest past the caches.

use super::*;
use crate::nest::loops_of;

/// How often a loop runs, and the bytes from one iteration to the next in the source and the destination.
type Strides = (usize, isize, isize);

/// Of elements of so many bytes; loops as in a nest.
fn body(width: usize, loops: &[Strides], isa: Isa) -> Body {
    Prepared::new(width, &loops_of(loops), isa, true).body
}

/// The nest of a dense row-major array whose dimensions come in another order, major to minor.
fn permuted(width: usize, sizes: &[usize], order: &[usize]) -> Loops {
    let mut strides = vec![width as isize; sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] = strides[i] * sizes[i] as isize;
    }
    let mut loops = Loops::new();
    let mut step = width as isize;
    for &i in order.iter().rev() {
        loops.insert(
            0,
            Loop {
                extent: sizes[i],
                source: strides[i],
                destination: step,
            },
        );
        step *= sizes[i] as isize;
    }
    crate::nest::merge(&mut loops);
    loops
}

#[test]
fn rows_that_go_on_in_another_loop_are_no_slim_plane() {
    for &isa in Isa::available() {
        let reversed = permuted(4, &[607, 24, 15, 7, 5, 3], &[5, 4, 3, 2, 1, 0]);
        let reversed = Prepared::new(4, &reversed, isa, true);
        assert!(matches!(reversed.body, Body::Plane(_)), "{isa:?}");
        // Three of sixteen channels.
        let channels = [(8, 65536 * 4, 4096 * 12), (3, 4, 4096 * 4), (4096, 64, 4)];
        assert!(matches!(body(4, &channels, isa), Body::Slim(_)), "{isa:?}");
    }
}

#[test]
fn small_blocks_are_put_together_by_many() {
    // Sizes, the width, and whether a block, which lies whole on both sides, is one of several.
    let cases = [
        ([30_001, 2, 3], 2, true),
        ([30_001, 2, 3], 4, true),
        ([30_001, 3, 5], 1, true),
        ([30_001, 5, 7], 4, true),
        ([30_001, 9, 9], 4, false),
    ];
    for &isa in Isa::available() {
        for (sizes, width, together) in cases {
            let loops = permuted(width, &sizes, &[0, 2, 1]);
            match Prepared::new(width, &loops, isa, true).body {
                Body::Hop(hop) => assert_eq!(hop.is_of_blocks(), together, "{sizes:?}, {isa:?}"),
                _ => assert!(!(together && isa.picks()), "{sizes:?} of {width}, {isa:?}"),
            }
        }
    }
}

#[test]
fn small_blocks_of_runs_and_small_planes_go_by_way_of_a_stage() {
    // The width, sizes, the order, and whether many blocks are moved into a stage at once: everywhere, or on a Zen 3 alone.
    let (always, zen3, never) = (true, crate::tuning::is_zen3(), false);
    for (width, sizes, order, staged) in [
        (4, &[2001, 5, 7, 11][..], &[0, 2, 1, 3][..], always),
        (1, &[2001, 10, 10, 3], &[0, 2, 1, 3], always),
        (4, &[301, 3, 9, 5, 7], &[0, 3, 2, 1, 4], always),
        // Whole lines and halves of them in larger blocks, longer runs, and larger blocks.
        (4, &[2001, 3, 5, 16], &[0, 2, 1, 3], always),
        (4, &[2001, 5, 9, 16], &[0, 2, 1, 3], never),
        (4, &[2001, 9, 11, 8], &[0, 2, 1, 3], always),
        (4, &[2001, 9, 15, 8], &[0, 2, 1, 3], never),
        (4, &[2001, 3, 5, 129], &[0, 2, 1, 3], never),
        (4, &[2001, 9, 99, 11], &[0, 2, 1, 3], never),
        // Planes, of many rows and of few.
        (4, &[501, 33, 33], &[0, 2, 1], zen3),
        (2, &[501, 101, 99], &[0, 2, 1], zen3),
        (4, &[501, 130, 140], &[0, 2, 1], never),
        (4, &[501, 3, 1111], &[0, 2, 1], never),
    ] {
        let loops = permuted(width, sizes, order);
        for &isa in Isa::available() {
            let body = Prepared::new(width, &loops, isa, true).body;
            let is = matches!(body, Body::Hop(_));
            assert_eq!(is, staged, "{sizes:?} of {width} to {order:?}, {isa:?}");
        }
    }
}

#[test]
fn few_rows_are_woven_where_they_are_long() {
    let is_weave = |loops: &Loops, width, isa| {
        matches!(Prepared::new(width, loops, isa, true).body, Body::Weave(_))
    };
    for &isa in Isa::available() {
        // Rows of 100 bytes that the outermost loop goes on with, and rows that none does.
        let parted = permuted(2, &[24, 15, 11, 102, 50], &[3, 1, 0, 4, 2]);
        assert!(!is_weave(&parted, 2, isa), "{isa:?}");
        let images = permuted(2, &[24, 11, 5100], &[0, 2, 1]);
        assert!(is_weave(&images, 2, isa), "{isa:?}");
        // Rows of four and of six bytes.
        let short = permuted(2, &[3, 456, 7, 979, 2], &[2, 3, 1, 4, 0]);
        assert!(!is_weave(&short, 2, isa), "{isa:?}");
    }
}

#[test]
fn what_is_short_on_both_sides_goes_by_tables_where_its_source_is_cached() {
    let loops = permuted(2, &[30_000, 2, 3], &[0, 2, 1]);
    for &isa in Isa::available() {
        let body = Prepared::with_source(2, &loops, isa, true, Source::Front).body;
        let tables = matches!(body, Body::Gather(_) | Body::Sift(_));
        assert!(tables || !isa.picks(), "{isa:?}");
    }
}

/// Mirrored rows between gaps, pairs of which each is turned round, and what goes back on both sides.
#[test]
fn what_goes_back_in_the_destination_is_written_forward() {
    // Bytes of an element, and loops: elements, and bytes from one to the next on both sides.
    let cases: [(usize, &[Strides]); 5] = [
        (1, &[(7, 452, 1046), (452, 1, -1)]),
        (4, &[(5, 520, -600), (3, 170, -200), (41, 4, -4)]),
        (8, &[(11, 2000, 1300), (31, 48, 40), (2, 8, -8)]),
        (2, &[(9, -300, -302), (149, -2, -2)]),
        (2, &[(57, -2, -2)]),
    ];
    for (width, loops) in cases {
        // From the lowest byte of a side to the first element, and to the end of the highest one.
        let reach = |stride: fn(&Strides) -> isize| {
            let ends = loops.iter().map(|l| (l.0 - 1) as isize * stride(l));
            let (back, on): (Vec<isize>, Vec<isize>) = ends.partition(|&end| end < 0);
            let back = -back.iter().sum::<isize>() as usize;
            (back, back + on.iter().sum::<isize>() as usize + width)
        };
        let ((from, read), (to, written)) = (reach(|l| l.1), reach(|l| l.2));
        let source: Vec<u8> = (0..read).map(|i| (i * 37 + i / 251) as u8 | 1).collect();
        for &isa in Isa::available() {
            for stream in [false, true] {
                let mut room = vec![0; written];
                let mut want = room.clone();
                super::run::walk(&loops_of(loops), 0, 0, &mut |s, d| {
                    let (s, d) = (from.strict_add_signed(s), to.strict_add_signed(d));
                    want[d..d + width].copy_from_slice(&source[s..s + width]);
                });
                let prepared = Prepared::new(width, &loops_of(loops), isa, stream);
                let strided = matches!(prepared.body, Body::Steps(_));
                // SAFETY: both have all elements, those before the first one too, and are vectors of their own.
                unsafe { prepared.run(source[from..].as_ptr(), room[to..].as_mut_ptr()) };
                assert!(room == want, "{loops:?} of {width}, {isa:?}, {stream}");
                assert!(strided || !stream || width == 2, "{loops:?}, {isa:?}");
            }
        }
    }
}

/// In the caches; between gaps of the destination, and side by side there.
#[test]
fn short_runs_between_gaps_are_steps() {
    for &isa in Isa::available() {
        for run in [3, 5, 6, 7, 11, 15] {
            let of = |apart: isize| {
                let step = run as isize;
                let loops = [(40, 70 * step, 71 * apart), (70, step, apart), (run, 1, 1)];
                Prepared::new(1, &loops_of(&loops), isa, false).body
            };
            assert!(
                matches!(of(run as isize + 1), Body::Steps(_)),
                "{run} {isa:?}"
            );
            assert!(!matches!(of(run as isize), Body::Steps(_)), "{run} {isa:?}");
        }
    }
}

/// Bytes up to seven times, and not where they go backwards or are many.
#[test]
fn what_is_repeated_a_few_times_is_woven() {
    for &isa in Isa::available() {
        for stream in [true, false] {
            let kernel = |width: usize, times: usize, step: isize| {
                let run = (width * times) as isize;
                let loops = [
                    (50, 9000, 400 * run),
                    (301, step, run),
                    (times, 0, width as isize),
                ];
                let prepared = Prepared::new(width, &loops_of(&loops), isa, stream);
                matches!(prepared.body, Body::Weave(_) | Body::Zip(_))
            };
            for (width, times) in [
                (1, 2),
                (1, 3),
                (1, 4),
                (1, 7),
                (2, 3),
                (2, 7),
                (4, 2),
                (4, 3),
            ] {
                assert!(
                    kernel(width, times, width as isize),
                    "{width} bytes {times} times, {isa:?}"
                );
                assert!(
                    !kernel(width, times, -(width as isize)),
                    "{width} bytes {times} times, {isa:?}"
                );
            }
            for (width, times) in [(1, 8), (1, 9), (1, 15), (2, 8), (4, 4), (8, 2), (16, 3)] {
                assert!(
                    !kernel(width, times, width as isize),
                    "{width} bytes {times} times, {isa:?}"
                );
            }
        }
    }
}
