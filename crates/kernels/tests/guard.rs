//! No kernel touches a byte outside its buffers: pages that fault stand right before and right after them.
#![cfg(target_os = "linux")]

mod common;

use common::guarded::Guarded;
use common::{Case, Gap, Part, blocks, case, distinct, expected, interleaved, l, retile, tunings};
use minormajor_kernels::{Fill, Move, Scratch, Sequence};
use proptest::prelude::*;

fn runs_between_guards(case: &Case) {
    let (from, want) = expected(case);
    // `expected` gives the destination some bytes more than it needs.
    let m = Move::new(case.width, case.source, case.destination, &case.loops).unwrap();
    let want = &want[..m.destination_len()];
    for at_end in [false, true] {
        let mut source = Guarded::new(&from[..m.source_len()], at_end);
        for tuning in tunings() {
            let mut destination = Guarded::new(&vec![common::SENTINEL; want.len()], at_end);
            let m = Move::tuned(
                case.width,
                case.source,
                case.destination,
                &case.loops,
                &tuning,
            )
            .unwrap();
            m.run(source.bytes(), destination.bytes()).unwrap();
            assert!(
                destination.bytes() == want,
                "{} {tuning:?} {case:?}",
                m.kernel()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn any_nest(case in case()) {
        runs_between_guards(&case);
    }

    #[test]
    fn any_blocks(case in blocks()) {
        runs_between_guards(&Case { source: 0, destination: 0, ..case });
    }
}

#[test]
fn matrices_of_all_widths() {
    for width in [1, 2, 4, 8, 16usize] {
        for (rows, columns) in [
            (3, 200),
            (200, 3),
            (5, 333),
            (9, 70),
            (15, 333),
            (333, 15),
            (17, 129),
            (64, 64),
            (300, 65),
            (700, 90),
            (128, 257),
        ] {
            for gap in [0, width, 64] {
                let (s, d) = (
                    (columns * width + gap) as isize,
                    (rows * width + gap) as isize,
                );
                let loops = vec![l(rows, s, width as isize), l(columns, width as isize, d)];
                runs_between_guards(&Case {
                    width,
                    source: 0,
                    destination: 0,
                    loops,
                });
            }
        }
    }
}

/// More than a last-level cache of 32 MiB holds, which some CPUs read in pieces: columns side by side, on lines, and between
/// them; rows that push each other out of the caches; runs of two lines.
#[test]
fn large_planes() {
    let matrix = |(rows, columns): (usize, usize), row: usize, column: usize| Case {
        width: 4,
        source: 0,
        destination: 0,
        loops: vec![l(rows, row as isize, 4), l(columns, 4, column as isize)],
    };
    let runs = Case {
        width: 1,
        source: 0,
        destination: 0,
        loops: vec![
            l(101, 2200 * 128, 128),
            l(2200, 128, 102 * 128),
            l(128, 1, 1),
        ],
    };
    for case in [
        matrix((100, 70_003), 4 * 70_003, 400),
        matrix((1040, 7001), 4 * 7001, 4160),
        matrix((1001, 7003), 7 << 12, 4004),
        // Last pieces of 16 bytes, of a row and of a panel.
        matrix((100, 70_916), 4 * 70_916, 400),
        matrix((1999, 4100), 5 << 12, 4 * 1999),
        runs,
    ] {
        runs_between_guards(&case);
    }
}

/// Rows that some kernels read with what lies behind them, as many as are whole blocks; and columns a page apart.
#[test]
fn few_columns() {
    let case = |width: usize, (rows, columns): (usize, usize), row: usize, column: usize| Case {
        width,
        source: 0,
        destination: 0,
        loops: vec![
            l(rows, row as isize, width as isize),
            l(columns, width as isize, column as isize),
        ],
    };
    for (width, columns, row) in [(1, 3, 4), (1, 13, 32), (2, 5, 16), (4, 3, 16), (4, 3, 64)] {
        runs_between_guards(&case(width, (1088, columns), row, 1088 * width + 64));
    }
    for (width, columns) in [(1, 20), (2, 24), (4, 70)] {
        runs_between_guards(&case(width, (4096 / width, columns), columns * width, 4096));
    }
}

/// Runs in two dimensions: of one strip and of some, of one panel of columns and of three, columns that follow one another
/// and that begin anywhere, and that share lines.
#[test]
fn planes_of_runs() {
    for run in (3..18).chain([20, 24, 31, 32, 33, 48, 60, 63, 64, 65, 76, 100, 159]) {
        for (rows, columns) in [(16, 8), (40, 9), (331, 33), (700, 11), (3, 300), (43, 2100)] {
            if rows * columns * run > 2 << 20 {
                continue;
            }
            // The source's rows from the last on, or each of them from its end on.
            for (gap, turned) in [
                (0, [false; 2]),
                (1, [false, true]),
                (5, [true, false]),
                (64, [true; 2]),
            ] {
                let (row, column) = (columns * run + gap, rows * run + gap);
                let step = |turned: bool, extent: usize, step: usize| match turned {
                    true => ((extent - 1) * step, -(step as isize)),
                    false => (0, step as isize),
                };
                let (down, along) = (step(turned[0], rows, row), step(turned[1], columns, run));
                let source = down.0 + along.0;
                let loops = vec![
                    l(rows, down.1, run as isize),
                    l(columns, along.1, column as isize),
                    l(run, 1, 1),
                ];
                runs_between_guards(&Case {
                    width: 1,
                    source,
                    destination: 0,
                    loops,
                });
            }
        }
    }
}

/// Blocks of which two fill what is put together at once, in another order inside.
#[test]
fn planes_of_large_blocks() {
    for (rows, columns) in [(3usize, 5isize), (9, 2), (5, 1)] {
        let block = 64 * 64;
        runs_between_guards(&Case {
            width: 1,
            source: 0,
            destination: 0,
            loops: vec![
                l(rows, columns * block, block),
                l(columns as usize, block, rows as isize * block + 16),
                l(64, 1, 64),
                l(64, 64, 1),
            ],
        });
    }
}

#[test]
fn runs_of_all_lengths() {
    for run in (1..140).chain([255, 256, 257, 1000, 8192, 8193, 20_000]) {
        for gap in [0, 1, 64] {
            let (near, far) = (run as isize + gap, 3 * run as isize + gap);
            let loops = vec![l(5, far, near), l(3, run as isize, 5 * near), l(run, 1, 1)];
            runs_between_guards(&Case {
                width: 1,
                source: 0,
                destination: 0,
                loops,
            });
        }
    }
}

/// Runs of a few bytes, blocks of which are moved at once: as many rows and columns as some vectors have, fewer and more, from ordinary
/// and streaming stores. Nothing is read before the first or behind the last.
#[test]
fn matrices_of_runs_of_a_few_bytes() {
    for run in [3usize, 5, 6, 7] {
        for rows in [7, 8, 15, 16, 17, 65, 210] {
            for columns in [1, 3, 4, 5, 8, 9, 15, 16, 17, 37] {
                for gap in [0, 1] {
                    let (s, d) = (columns * run + gap, rows * run + gap);
                    runs_between_guards(&Case {
                        width: 1,
                        source: 0,
                        destination: 0,
                        loops: vec![
                            l(rows, s as isize, run as isize),
                            l(columns, run as isize, d as isize),
                            l(run, 1, 1),
                        ],
                    });
                }
            }
        }
    }
}

/// Lines of elements some steps apart, forward and backward, that end where their sides do: as short as a register takes, and longer.
#[test]
fn lines_some_steps_apart() {
    for width in [1, 2, 3, 4, 6, 8, 16usize] {
        for step in [width + 1, 2 * width, 3 * width, 3 * width + 1] {
            for extent in [2, 3, 5, 8, 15, 16, 17, 31, 33, 49, 63, 67, 130] {
                for (source, destination) in [(1, 1), (-1, 1), (1, -1)] {
                    let (s, d) = (step as isize, width as isize);
                    let line = extent as isize;
                    let first = |sign: isize, step: isize| match sign {
                        1 => 0,
                        _ => ((line - 1) * step) as usize,
                    };
                    runs_between_guards(&Case {
                        width: 1,
                        source: first(source, s),
                        destination: first(destination, d),
                        loops: vec![
                            l(3, line * s + 1, line * d + 2),
                            l(extent, source * s, destination * d),
                            l(width, 1, 1),
                        ],
                    });
                }
            }
        }
    }
}

#[test]
fn interleaved_rows() {
    for case in interleaved() {
        runs_between_guards(&case);
    }
}

/// Rows and padding that cut lines, in bands.
#[test]
fn sequences() {
    for (back, columns) in [(false, 201), (true, 201), (true, 223)] {
        let (parts, gaps) = retile(2, 5003, columns, (8, 128), 1, back);
        for tuning in tunings() {
            let part = |(s, d, loops): &Part| Move::tuned(2, *s, *d, loops, &tuning).unwrap();
            let moves: Vec<Move> = parts.iter().map(part).collect();
            let gap = |(d, loops): &Gap| Fill::tuned(b"ab", *d, loops, &tuning).unwrap();
            let fills: Vec<Fill> = gaps.iter().map(gap).collect();
            let from = distinct(moves.iter().map(Move::source_len).max().unwrap());
            let ends = moves.iter().map(Move::destination_len);
            let ends = ends.chain(fills.iter().map(Fill::destination_len));
            let mut want = vec![common::SENTINEL; ends.max().unwrap()];
            moves.iter().for_each(|m| m.run(&from, &mut want).unwrap());
            fills.iter().for_each(|f| f.run(&mut want).unwrap());
            let sequence = Sequence::new(moves.iter(), fills.iter(), &tuning).unwrap();
            for at_end in [false, true] {
                let mut source = Guarded::new(&from, at_end);
                let mut to = Guarded::new(&vec![common::SENTINEL; want.len()], at_end);
                sequence
                    .run_window(source.bytes(), to.bytes(), 0, &mut Scratch::default())
                    .unwrap();
                assert!(
                    to.bytes() == want,
                    "{tuning:?}, back {back}, at end {at_end}"
                );
            }
        }
    }
}
