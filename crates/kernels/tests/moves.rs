//! Moves and fills against the naive oracle: every width, strides of every sign, windows at every cut.

mod common;

use common::{
    Case, SENTINEL, blocks, case, distinct, elements, expected, interleaved, l, lengths, oracle,
    tunings,
};
use minormajor_kernels::{Buffer, Caches, Fill, FillLoop, Kernel, Move, NestError, Stores};
use proptest::prelude::*;

/// Cut points of the destination that lie in no element, the ends among them.
fn cuts(case: &Case, length: usize, wanted: &[usize]) -> Vec<usize> {
    let mut inside = vec![false; length + 1];
    elements(
        case.source as isize,
        case.destination as isize,
        &case.loops,
        &mut |_, d| {
            inside[d + 1..d + case.width].fill(true);
        },
    );
    let mut cuts: Vec<usize> = wanted
        .iter()
        .map(|&w| w % (length + 1))
        .filter(|&w| !inside[w])
        .collect();
    cuts.extend([0, length]);
    cuts.sort_unstable();
    cuts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_run_is_what_the_oracle_says(case in case()) {
        let (from, want) = expected(&case);
        for tuning in tunings() {
            let mut to = vec![SENTINEL; want.len()];
            let m = Move::tuned(case.width, case.source, case.destination, &case.loops, &tuning).unwrap();
            m.run(&from, &mut to).unwrap();
            prop_assert!(to == want, "{} {tuning:?}", m.kernel());
        }
    }

    #[test]
    fn blocks_are_what_the_oracle_says(case in blocks(), wanted in prop::collection::vec(any::<usize>(), 0..3)) {
        let (from, want) = expected(&case);
        for tuning in tunings() {
            let m = Move::tuned(case.width, case.source, case.destination, &case.loops, &tuning).unwrap();
            let mut to = vec![SENTINEL; want.len()];
            m.run(&from, &mut to).unwrap();
            prop_assert!(to == want, "{} {tuning:?}", m.kernel());
            let mut to = vec![SENTINEL; want.len()];
            for pair in cuts(&case, to.len(), &wanted).windows(2) {
                m.run_window(&from, &mut to[pair[0]..pair[1]], pair[0]).unwrap();
            }
            prop_assert!(to == want, "{} {tuning:?} in windows", m.kernel());
        }
    }

    #[test]
    fn windows_together_are_the_whole(case in case(), wanted in prop::collection::vec(any::<usize>(), 0..12)) {
        let (from, want) = expected(&case);
        for tuning in tunings() {
        let mut to = vec![SENTINEL; want.len()];
        let m = Move::tuned(case.width, case.source, case.destination, &case.loops, &tuning).unwrap();
        for pair in cuts(&case, to.len(), &wanted).windows(2) {
            m.run_window(&from, &mut to[pair[0]..pair[1]], pair[0]).unwrap();
        }
        prop_assert!(to == want, "{} {tuning:?}", m.kernel());
        }
    }

    #[test]
    fn parts_together_are_the_whole(case in case(), parts in 1usize..40, threads in 1usize..4) {
        let (from, want) = expected(&case);
        for tuning in tunings() {
            let mut to = vec![SENTINEL; want.len()];
            let m = Move::tuned(case.width, case.source, case.destination, &case.loops, &tuning).unwrap();
            let moved = std::sync::atomic::AtomicUsize::new(0);
            m.run_parts(&from, &mut to, parts, threads, |take| {
                let moved = &moved;
                std::thread::scope(|scope| {
                    for thread in 1..threads {
                        scope.spawn(move || {
                            while let Some(bytes) = take(thread) {
                                moved.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
                            }
                        });
                    }
                });
            }).unwrap();
            prop_assert!(to == want, "{} {tuning:?}", m.kernel());
            if threads > 1 {
                prop_assert_eq!(moved.into_inner(), m.bytes());
            }
        }
    }

    #[test]
    fn a_fill_repeats_its_pattern(case in case(), wanted in prop::collection::vec(any::<usize>(), 0..4)) {
        let loops: Vec<FillLoop> =
            case.loops.iter().map(|l| FillLoop { extent: l.extent, destination: l.destination }).collect();
        let pattern = &distinct(16)[..case.width];
        let (_, length) = lengths(case.width, case.source, case.destination, &case.loops);
        let mut want = vec![SENTINEL; length];
        elements(0, case.destination as isize, &case.loops.iter().map(|x| l(x.extent, 0, x.destination)).collect::<Vec<_>>(),
            &mut |_, d| want[d..d + case.width].copy_from_slice(pattern));
        for tuning in tunings() {
            let fill = Fill::tuned(pattern, case.destination, &loops, &tuning).unwrap();
            let mut to = vec![SENTINEL; length];
            fill.run(&mut to).unwrap();
            prop_assert!(to == want, "{} {tuning:?}", fill.kernel());
            let mut to = vec![SENTINEL; length];
            for pair in cuts(&case, length, &wanted).windows(2) {
                fill.run_window(&mut to[pair[0]..pair[1]], pair[0]).unwrap();
            }
            prop_assert!(to == want, "{} {tuning:?}", fill.kernel());
        }
    }

    #[test]
    fn too_short_by_a_byte_is_an_error_and_writes_nothing(case in case()) {
        let m = Move::new(case.width, case.source, case.destination, &case.loops).unwrap();
        let (s, d) = (m.source_len(), m.destination_len());
        let mut to = vec![SENTINEL; d];
        prop_assert_eq!(m.run(&distinct(s - 1), &mut to),
            Err(NestError::TooShort { buffer: Buffer::Source, needed: s, got: s - 1 }));
        prop_assert_eq!(m.run_window(&distinct(s - 1), &mut to, 0),
            Err(NestError::TooShort { buffer: Buffer::Source, needed: s, got: s - 1 }));
        prop_assert_eq!(m.run(&distinct(s), &mut to[..d - 1]),
            Err(NestError::TooShort { buffer: Buffer::Destination, needed: d, got: d - 1 }));
        prop_assert!(to.iter().all(|&b| b == SENTINEL));
    }
}

#[test]
fn the_oracle_transposes_a_known_matrix() {
    let mut to = [0; 6];
    oracle(1, 0, 0, &[l(2, 3, 1), l(3, 1, 2)], b"abcdef", &mut to);
    assert_eq!(&to, b"adbecf");
    let mut to = *b"........";
    oracle(2, 4, 1, &[l(3, -2, 2)], b"aabbcc", &mut to);
    assert_eq!(&to, b".ccbbaa.");
}

#[test]
fn the_data_is_distinct_at_short_distances() {
    let data = distinct(70_000);
    for w in data.windows(5) {
        assert!(w[1..].iter().all(|b| *b != w[0]));
    }
}

#[test]
fn nothing_to_do() {
    let m = Move::new(4, 100, 100, &[l(3, 4, 4), l(0, 1 << 60, 1 << 60)]).unwrap();
    assert_eq!((m.bytes(), m.source_len(), m.destination_len()), (0, 0, 0));
    m.run(&[], &mut []).unwrap();
    m.run_window(&[], &mut [], 7).unwrap();
}

#[test]
fn one_element() {
    let m = Move::new(8, 3, 1, &[l(1, isize::MIN, isize::MAX)]).unwrap();
    let mut to = [SENTINEL; 10];
    m.run(b"abcdefghijk", &mut to).unwrap();
    assert_eq!(&to[1..9], b"defghijk");
    assert_eq!((to[0], to[9]), (SENTINEL, SENTINEL));
}

#[test]
fn refused_nests() {
    assert_eq!(
        Move::new(3, 0, 0, &[]).unwrap_err(),
        NestError::Width { width: 3 }
    );
    assert_eq!(
        Fill::new(&[], 0, &[]).unwrap_err(),
        NestError::Width { width: 0 }
    );
    assert_eq!(
        Move::new(1, 3, 0, &[l(3, -2, 1)]).unwrap_err(),
        NestError::BeforeStart {
            buffer: Buffer::Source,
            lowest: -1
        }
    );
    assert_eq!(
        Move::new(1, 0, 3, &[l(3, 2, -2)]).unwrap_err(),
        NestError::BeforeStart {
            buffer: Buffer::Destination,
            lowest: -1
        }
    );
    let over = |buffer| NestError::Overflow { buffer };
    assert_eq!(
        Move::new(1, usize::MAX, 0, &[]).unwrap_err(),
        over(Buffer::Source)
    );
    assert_eq!(
        Move::new(1, 0, 0, &[l(2, isize::MAX, 1)]).unwrap_err(),
        over(Buffer::Source)
    );
    assert_eq!(
        Move::new(1, 0, 0, &[l(usize::MAX, 0, isize::MAX); 5]).unwrap_err(),
        over(Buffer::Destination)
    );
    assert_eq!(
        Move::new(1, 0, 0, &[l(usize::MAX, 0, 0); 5]).unwrap_err(),
        over(Buffer::Destination)
    );
    assert_eq!(
        Move::new(1, usize::MAX, 0, &[l(3, isize::MIN, 1)]).unwrap_err(),
        NestError::BeforeStart {
            buffer: Buffer::Source,
            lowest: -1
        }
    );
    assert_eq!(
        Move::new(1, 0, usize::MAX, &[l(2, 1, isize::MIN)]).unwrap_err(),
        over(Buffer::Destination)
    );
}

#[test]
fn a_window_that_cuts_an_element() {
    let m = Move::new(4, 0, 0, &[l(3, 4, 8)]).unwrap();
    let mut to = [SENTINEL; 20];
    assert_eq!(
        m.run_window(&[0; 12], &mut to[..10], 0),
        Err(NestError::CutElement {
            element: 8,
            width: 4,
            edge: 10
        })
    );
    assert_eq!(
        m.run_window(&[0; 12], &mut to[11..], 11),
        Err(NestError::CutElement {
            element: 8,
            width: 4,
            edge: 11
        })
    );
    assert_eq!(to, [SENTINEL; 20]);
    m.run_window(&[0; 12], &mut to[..7], 0).unwrap();
    assert_eq!(
        to[..8],
        [0, 0, 0, 0, SENTINEL, SENTINEL, SENTINEL, SENTINEL]
    );
    m.run_window(&[0; 12], &mut [], usize::MAX).unwrap();
    m.run_window(&[0; 12], &mut [0; 9], usize::MAX - 4).unwrap();
}

#[test]
fn repeated_destinations_stay_inside() {
    let m = Move::new(4, 0, 3, &[l(5, 4, 0), l(5, 1, 1), l(7, 2, 2)]).unwrap();
    let mut to = vec![SENTINEL; m.destination_len() + 9];
    m.run(&vec![1; m.source_len()], &mut to).unwrap();
    let end = m.destination_len();
    assert!(to[..3].iter().chain(&to[end..]).all(|&b| b == SENTINEL));
    assert!(to[3..end].iter().all(|&b| b == 1));
}

#[test]
fn moves_are_send_sync_and_clone() {
    fn holds<T: Clone + Send + Sync + 'static>() {}
    holds::<Move>();
    holds::<Fill>();
}

/// Matrices of every width, larger than a strip, with rows and columns on and off lines.
#[test]
fn matrices() {
    for width in [1usize, 2, 4, 8, 16] {
        for (rows, columns) in [
            (512, 64),
            // Columns whose lines push each other out of the first-level cache.
            (512, 49),
            (1024, 65),
            (300, 300),
            (257, 131),
            (1031, 97),
            (64, 1000),
            (3, 700),
            (700, 3),
            (17, 19),
            (640, 5),
            (2100, 3),
        ] {
            for (gap_s, gap_d, at_s, at_d) in [
                (0, 0, 0, 0),
                (width, width, width, width),
                (64, 64, 0, 64 - width),
                (3, 5, 1, 7),
                (0, 0, 0, 1),
            ] {
                let (s, d) = (columns * width + gap_s, rows * width + gap_d);
                let case = Case {
                    width,
                    source: at_s,
                    destination: at_d,
                    loops: vec![
                        l(rows, s as isize, width as isize),
                        l(columns, width as isize, d as isize),
                    ],
                };
                let (from, want) = expected(&case);
                for tuning in tunings() {
                    let m = Move::tuned(width, at_s, at_d, &case.loops, &tuning).unwrap();
                    let mut to = vec![SENTINEL; want.len()];
                    m.run(&from, &mut to).unwrap();
                    assert!(
                        to == want,
                        "{rows}x{columns} of {width}, gaps {gap_s} {gap_d}, {tuning:?}"
                    );
                }
            }
        }
    }
}

/// Matrices of runs, short ones and longer than what is staged, whose pieces follow one another or do not, on and off
/// lines.
#[test]
fn matrices_of_runs() {
    for run in [76usize, 128, 300, 520, 9000] {
        for (rows, columns) in [(10, 13), (41, 6), (150, 3), (5, 1), (1, 5)] {
            for (gap_s, gap_d, at_s, at_d) in [
                (0, 0, 0, 0),
                (64, 64, 0, 64),
                (3, 5, 1, 7),
                (0, 20, 0, 0),
                (0, 0, 0, 4),
            ] {
                let (s, d) = (columns * run + gap_s, rows * run + gap_d);
                let loops = vec![
                    l(rows, s as isize, run as isize),
                    l(columns, run as isize, d as isize),
                    l(run, 1, 1),
                ];
                let case = Case {
                    width: 1,
                    source: at_s,
                    destination: at_d,
                    loops,
                };
                let (from, want) = expected(&case);
                for tuning in tunings() {
                    let m = Move::tuned(1, at_s, at_d, &case.loops, &tuning).unwrap();
                    let mut to = vec![SENTINEL; want.len()];
                    m.run(&from, &mut to).unwrap();
                    let gaps = (gap_s, gap_d);
                    assert!(
                        to == want,
                        "{rows}x{columns} runs of {run}, gaps {gaps:?}, {tuning:?}"
                    );
                }
            }
        }
    }
}

/// Matrices of more columns than a strip goes along, none of which starts where another does in its line.
#[test]
fn wide_matrices() {
    for (width, rows, columns) in [
        (1, 300, 8209),
        (2, 140, 4104),
        (4, 70, 4099),
        (4, 70, 4101),
        // Where the second-level cache has 2 MiB, the last columns are fewer than a vector has elements.
        (4, 80, 2693),
    ] {
        let (s, d) = ((columns + 1) * width, (rows + 1) * width);
        let loops = vec![
            l(rows, s as isize, width as isize),
            l(columns, width as isize, d as isize),
        ];
        let case = Case {
            width,
            source: 0,
            destination: width,
            loops,
        };
        let (from, want) = expected(&case);
        for tuning in tunings() {
            let m = Move::tuned(width, 0, width, &case.loops, &tuning).unwrap();
            let mut to = vec![SENTINEL; want.len()];
            m.run(&from, &mut to).unwrap();
            assert!(to == want, "{rows}x{columns} of {width}, {tuning:?}");
        }
    }
}

/// A few rows interleaved, and separated, whole and in windows.
#[test]
fn interleaved_rows() {
    for case in interleaved() {
        let (from, want) = expected(&case);
        let cuts = cuts(&case, want.len(), &[want.len() / 3, want.len() / 2 + 1]);
        for tuning in tunings() {
            let m = Move::tuned(
                case.width,
                case.source,
                case.destination,
                &case.loops,
                &tuning,
            )
            .unwrap();
            let mut to = vec![SENTINEL; want.len()];
            m.run(&from, &mut to).unwrap();
            assert!(to == want, "{} {tuning:?} {case:?}", m.kernel());
            let mut to = vec![SENTINEL; want.len()];
            for pair in cuts.windows(2) {
                m.run_window(&from, &mut to[pair[0]..pair[1]], pair[0])
                    .unwrap();
            }
            assert!(to == want, "{} {tuning:?} {case:?} in windows", m.kernel());
        }
    }
}

/// Few elements of many lines leave the caches as all of the lines would.
#[test]
fn what_is_touched_decides_whether_a_move_streams() {
    let elements = Caches::of_this_cpu().streams_from() / 4 / 4;
    let streams = |source: isize, elements: usize| {
        let loops = [l(elements, source, 4)];
        Move::new(4, 0, 0, &loops).unwrap().streams_on(1)
    };
    assert!(!streams(4, elements));
    // Runs of up to twice as many bytes stay in some CPUs' caches.
    assert!(streams(4, 8 * elements + 4));
    assert!(streams(64, elements));
    assert!(!streams(64, elements / 64));
    assert!(!streams(0, elements), "one element again and again");
}

/// What several threads leave in the caches, one does as well, and what they stream is not much larger.
#[test]
fn threads_stream_what_one_does_from_some_size_on() {
    let least = Caches::of_this_cpu().streams_from() / 4;
    let streams = |elements: usize, threads: usize| {
        let copy = Move::new(4, 0, 0, &[l(elements, 4, 4)]).unwrap();
        copy.streams_on(threads)
    };
    for threads in [1, 2, 7] {
        assert!(!streams(least - 4, threads));
        assert!(streams(2 * least + 4, threads));
    }
    let apart = Move::new(4, 0, 0, &[l(least / 4, 64, 4)]).unwrap();
    assert!(apart.streams_on(1));
}

/// Blocks that lie whole on both sides are moved as runs are, whatever is done inside. Small ones are not: of these there are
/// several to a table, or they are transposed.
#[test]
fn blocks_are_the_units_of_moves() {
    for (width, extents, what) in [
        (4usize, [9usize, 9], "gather 4-byte into 324 bytes"),
        (8, [7, 5], "gather 8-byte into 280 bytes"),
        (2, [20, 25], "gather 2-byte into 1000 bytes"),
        (2, [100, 30], "transpose 2-byte"),
    ] {
        let [a, b] = extents;
        let block = a * b * width;
        let loops = [
            l(50, (40 * block) as isize, block as isize),
            l(40, block as isize, (50 * block) as isize),
            l(a, (b * width) as isize, width as isize),
            l(b, width as isize, (a * width) as isize),
        ];
        for tuning in tunings().filter(|tuning| tuning.stores == Stores::Streaming) {
            let m = Move::tuned(width, 0, 0, &loops, &tuning).unwrap();
            let kernel = m.kernel().to_string();
            assert!(kernel.starts_with(what), "{kernel}, not {what}");
        }
    }
}

/// Matrices of small blocks, each of which is transposed too: a block is moved as one element.
#[test]
fn matrices_of_small_blocks() {
    let blocks = [
        (1usize, 2usize, 2usize),
        (1, 4, 4),
        (1, 2, 4),
        (1, 8, 2),
        (2, 2, 2),
        (2, 4, 2),
        (4, 2, 2),
    ];
    for (width, high, low) in blocks {
        let unit = width * high * low;
        for (rows, columns) in [(257, 37), (65, 130), (3, 70), (70, 3), (640, 17)] {
            for (gap_s, gap_d, at_s, at_d) in [
                (0, 0, 0, 0),
                (64, 64, 0, 64 - width),
                (3, 5, 1, 7),
                (unit, 0, 0, 1),
            ] {
                let (s, d) = (columns * unit + gap_s, rows * unit + gap_d);
                let loops = vec![
                    l(2, (rows * s) as isize, (columns * d) as isize),
                    l(rows, s as isize, unit as isize),
                    l(columns, unit as isize, d as isize),
                    l(high, (low * width) as isize, width as isize),
                    l(low, width as isize, (high * width) as isize),
                ];
                let case = Case {
                    width,
                    source: at_s,
                    destination: at_d,
                    loops,
                };
                let (from, want) = expected(&case);
                for tuning in tunings() {
                    let m = Move::tuned(width, at_s, at_d, &case.loops, &tuning).unwrap();
                    assert!(
                        matches!(m.kernel(), Kernel::Transpose { width, .. } if width == unit),
                        "{}",
                        m.kernel()
                    );
                    let mut to = vec![SENTINEL; want.len()];
                    m.run(&from, &mut to).unwrap();
                    assert!(
                        to == want,
                        "{rows}x{columns} of {high}x{low} of {width}, gaps {gap_s} {gap_d}, {tuning:?}"
                    );
                }
            }
        }
    }
}
