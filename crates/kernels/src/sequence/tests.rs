//! What only some CPUs choose.

use super::*;
use crate::fill::FillLoop;
use crate::nest::Loop;
use crate::runs::Source;
use crate::tuning::Stores;

fn l(extent: usize, source: usize, destination: usize) -> Loop {
    Loop {
        extent,
        source: source as isize,
        destination: destination as isize,
    }
}

/// Columns of a matrix of so many rows and columns of `width` bytes, each with `gap` bytes of padding behind it, whole and
/// at every cut, by sequences that are as `expect` says.
fn columns_in_bands(
    width: usize,
    (rows, columns): (usize, usize),
    gap: usize,
    sizes: Sizes,
    expect: impl Fn(&Sequence),
) {
    let step = rows * width + gap;
    // As wide as what fits the gap.
    let pattern = [0xe0, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7];
    let pattern = &pattern[..1 << gap.trailing_zeros().min(3)];
    let loops = [l(columns, width, step), l(rows, columns * width, width)];
    let gaps = [
        FillLoop {
            extent: columns,
            destination: step as isize,
        },
        FillLoop {
            extent: gap / pattern.len(),
            destination: pattern.len() as isize,
        },
    ];
    // No period of it divides a power of two.
    let from: Vec<u8> = (0..rows * columns * width)
        .map(|i| (i % 251 + i / 251) as u8)
        .collect();
    for &isa in Isa::available() {
        let tuning = Tuning {
            isa,
            stores: Stores::Streaming,
        };
        let matrix = Move::tuned(width, 0, 0, &loops, &tuning).unwrap();
        let padding = Fill::tuned(pattern, rows * width, &gaps, &tuning).unwrap();
        let fills = if gap > 0 { vec![padding] } else { Vec::new() };
        let mut want = vec![0xaa; columns * step + 100];
        for (q, column) in want[..columns * step].chunks_mut(step).enumerate() {
            for (i, byte) in column.iter_mut().enumerate() {
                let (p, part) = (i / width, i % width);
                *byte = if p < rows {
                    from[(p * columns + q) * width + part]
                } else {
                    pattern[(i - rows * width) % pattern.len()]
                };
            }
        }
        let one = [&matrix].into_iter();
        let sequence = Sequence::sized(one, fills.iter(), &tuning, true, sizes).unwrap();
        expect(&sequence);
        let mut cuts: Vec<usize> = sequence.cuts(5).collect();
        assert!(cuts.len() > 1, "{cuts:?}");
        cuts.insert(0, 0);
        cuts.push(want.len());
        let mut scratch = Scratch::default();
        for cuts in [&[0, want.len()][..], &cuts] {
            // Wherever in a line it begins.
            for shift in [0, 1, width, 40] {
                let mut room = vec![0xaa; shift + want.len()];
                let to = &mut room[shift..];
                for pair in cuts.windows(2) {
                    let window = &mut to[pair[0]..pair[1]];
                    sequence
                        .run_window(&from, window, pair[0], &mut scratch)
                        .unwrap();
                }
                let differs = to.iter().zip(&want).position(|(a, b)| a != b);
                assert_eq!(
                    differs, None,
                    "{width} bytes, {isa:?}, cuts {cuts:?}, shift {shift}"
                );
            }
        }
    }
}

const SIZES: Sizes = Sizes {
    band: 64 << 10,
    wide: 340 << 10,
    gathers: false,
    short: SHORT,
    long: 512 << 10,
    most: 0,
    kept: [0; 3],
};

#[test]
fn a_wide_stage_is_written_while_the_next_band_is_put_together() {
    let sizes = Sizes {
        wide: 96 << 10,
        gathers: true,
        ..SIZES
    };
    let wide = |sequence: &Sequence| {
        let rooms = 2 * stage::room(96 << 10);
        assert_eq!(sequence.scratch(), Scratch::bytes(rooms));
    };
    columns_in_bands(1, (131, 4999), 6, sizes, wide);
    columns_in_bands(2, (73, 3001), 10, sizes, wide);
    columns_in_bands(4, (67, 1511), 0, sizes, wide);
    columns_in_bands(16, (61, 509), 3, sizes, wide);
}

/// What is behind a ragged tile or none, of single elements and of pairs, of rows of a tile and of all tiles.
#[test]
fn columns_are_all_that_is_written_from_front_to_back() {
    let column = |element, bytes| Some(Column { element, bytes });
    let cases = [
        // Rows of bytes to columns.
        (1, vec![l(70, 1, 901), l(901, 70, 1)], column(1, 901)),
        // T(8,128) of quads, all rows but a ragged one.
        (
            4,
            vec![
                l(39, 4096, 2_048_512),
                l(128, 4, 16004),
                l(500, 163_840, 32),
                l(8, 512, 4),
            ],
            column(4, 16000),
        ),
        // T(8,128)(2,1) of pairs; and of elements of twelve bytes in runs of three quads, which no kernel takes for one.
        (
            2,
            vec![
                l(128, 4, 8002),
                l(500, 145_408, 16),
                l(4, 512, 4),
                l(2, 2, 2),
            ],
            column(4, 8000),
        ),
        (
            4,
            vec![l(128, 12, 9000), l(700, 1536, 12), l(3, 4, 4)],
            None,
        ),
        // Runs that change places; columns of which others lie between.
        (
            4,
            vec![l(100, 64, 6400), l(100, 6400, 64), l(16, 4, 4)],
            None,
        ),
        (
            4,
            vec![l(100, 4, 4000), l(10, 8000, 400), l(50, 400, 4)],
            column(4, 200),
        ),
        (4, vec![l(10, 800, 400), l(100, 4, 4)], None),
    ];
    for (width, loops, expected) in cases {
        assert_eq!(Column::find(&loops, width), expected, "{width}: {loops:?}");
    }
}

/// Rows of tiles behind which a ragged one lies: columns of more bytes than a short one are a plane's, however they are tiled;
/// others are put together.
#[test]
fn long_columns_of_ragged_tiles_are_not_put_together() {
    const COLUMNS: usize = 1283;
    let tuning = Tuning {
        stores: Stores::Streaming,
        ..Tuning::default()
    };
    // T(8,128)(2,1) of pairs, and a row behind so many whole tiles.
    let staged = |tiles: usize| {
        let (tile, column) = (8 * 128 * 2, (8 * tiles + 1) * 2);
        let row_of_tiles = COLUMNS / 128 * tile;
        let whole = [
            l(COLUMNS / 128, tile, 128 * column),
            l(128, 4, column),
            l(tiles, row_of_tiles, 16),
            l(4, 512, 4),
            l(2, 2, 2),
        ];
        let last = [l(COLUMNS / 128, tile, 128 * column), l(128, 4, column)];
        let moves = [
            Move::tuned(2, 0, 0, &whole, &tuning).unwrap(),
            Move::tuned(2, tiles * row_of_tiles, 16 * tiles, &last, &tuning).unwrap(),
        ];
        Sequence::sized(moves.iter(), [].iter(), &tuning, true, SIZES).map(|s| s.is_staged())
    };
    assert_eq!(staged(SHORT as usize / 16), Some(true));
    assert_eq!(staged(SHORT as usize / 16 + 1), None);
}

/// Gaps behind columns of pairs that move as one are not whole pairs, as the kernel that writes both would have it.
#[test]
fn columns_of_runs_are_not_joined_with_the_gaps_behind_them() {
    const COLUMNS: usize = 20_000;
    const ROWS: usize = 50;
    let gap = |extent, destination: usize| FillLoop {
        extent,
        destination: destination as isize,
    };
    let tuning = Tuning {
        stores: Stores::Streaming,
        ..Tuning::default()
    };
    let joins = |width: usize, unit: usize| {
        let column = ROWS * unit + 3 * width;
        let mut loops = vec![l(COLUMNS, unit, column), l(ROWS, COLUMNS * unit, unit)];
        if unit > width {
            loops.push(l(unit / width, width, width));
        }
        let matrix = Move::tuned(width, 0, 0, &loops, &tuning).unwrap();
        let gaps = [gap(COLUMNS, column), gap(3, width)];
        let gaps = Fill::tuned(&[7, 9][..width], ROWS * unit, &gaps, &tuning).unwrap();
        let (moves, fills) = ([&matrix].into_iter(), [&gaps].into_iter());
        let sizes = Sizes {
            most: 2048,
            ..SIZES
        };
        Sequence::sized(moves, fills, &tuning, true, sizes).map(|sequence| sequence.joins)
    };
    assert_eq!(joins(2, 2), Some(true));
    assert_eq!(joins(2, 4), Some(false));
}

/// Padding that repeats is put into a narrow stage once.
#[test]
fn few_boxes_are_put_together_in_a_narrow_stage() {
    let narrow = |sequence: &Sequence| assert!(sequence.is_staged() && sequence.scratch() == 0);
    columns_in_bands(4, (3, 19999), 52, SIZES, narrow);
}

/// Tiles of 4 x 96 elements to tiles of 4 x 100: in 24 of these are 48 pieces, which leave a leaf of a narrow stage less than
/// is worth it.
#[test]
fn pieces_that_cut_lines_are_put_together_in_a_wide_stage() {
    const WIDTH: usize = 4;
    const CELLS: usize = 19;
    let from: Vec<u8> = (0..CELLS * 9600 * WIDTH)
        .map(|i| (i % 251 + i / 251) as u8)
        .collect();
    // The places of an element of a row of 2400 elements, in tiles that are so wide.
    let place = |tile: usize, row: usize, column: usize| {
        (column / tile * 4 * tile + row * tile + column % tile) * WIDTH
    };
    let mut want = vec![0; from.len()];
    for row in 0..4 {
        for column in 0..CELLS * 2400 {
            let to = place(100, row, column);
            let from = &from[place(96, row, column)..];
            want[to..to + WIDTH].copy_from_slice(&from[..WIDTH]);
        }
    }
    let l = |extent, source: usize, destination: usize| Loop {
        extent,
        source: (source * WIDTH) as isize,
        destination: (destination * WIDTH) as isize,
    };
    let edges: Vec<usize> = (0..=2400).filter(|i| i % 96 == 0 || i % 100 == 0).collect();
    for &isa in Isa::available() {
        let tuning = Tuning {
            isa,
            stores: Stores::Streaming,
        };
        let pieces = edges.windows(2).map(|pair| {
            let (source, destination) = (place(96, 0, pair[0]), place(100, 0, pair[0]));
            let loops = [
                l(CELLS, 9600, 9600),
                l(4, 96, 100),
                l(pair[1] - pair[0], 1, 1),
            ];
            Move::tuned(WIDTH, source, destination, &loops, &tuning).unwrap()
        });
        let pieces: Vec<Move> = pieces.collect();
        let sequence = Sequence::sized(pieces.iter(), [].iter(), &tuning, true, SIZES).unwrap();
        assert_eq!(
            sequence.scratch(),
            Scratch::bytes(2 * stage::room(SIZES.wide))
        );
        assert!(in_windows(&sequence, &from, want.len()) == want, "{isa:?}");
    }
}

/// The destination's bytes, moved between cuts.
fn in_windows(sequence: &Sequence, from: &[u8], bytes: usize) -> Vec<u8> {
    let mut cuts: Vec<usize> = sequence.cuts(3).collect();
    assert!(!cuts.is_empty());
    cuts.insert(0, 0);
    cuts.push(bytes);
    let mut to = vec![0xaa; bytes];
    for pair in cuts.windows(2) {
        let window = &mut to[pair[0]..pair[1]];
        let scratch = &mut Scratch::default();
        sequence.run_window(from, window, pair[0], scratch).unwrap();
    }
    to
}

/// The bands of some nodes.
fn bands_of(nodes: &[Node]) -> Vec<&Band> {
    let mut all = Vec::new();
    for node in nodes {
        match &node.kind {
            Kind::Band(band) => all.push(band),
            Kind::Loop { body, .. } => all.extend(bands_of(body)),
        }
    }
    all
}

/// Rows of four lines and of two, which change places or lie in two arrays: what a band reads next is one range or two.
#[test]
fn what_a_band_reads_next_is_asked_for_wherever_it_is() {
    const ROWS: usize = 4001;
    const RUNS: [usize; 2] = [4 * LINE, 2 * LINE];
    const ROW: usize = 6 * LINE;
    let from: Vec<u8> = (0..ROWS * ROW).map(|i| (i % 251 + i / 251) as u8).collect();
    // Where each part is in the source, and the bytes from one row to the next there.
    let places = [
        (Source::Front, [(2 * LINE, ROW), (0, ROW)]),
        (Source::Along, [(0, RUNS[0]), (ROWS * RUNS[0], RUNS[1])]),
    ];
    for (source, parts) in places {
        let mut want = Vec::with_capacity(from.len());
        for row in 0..ROWS {
            for ((first, pitch), run) in parts.into_iter().zip(RUNS) {
                want.extend_from_slice(&from[first + row * pitch..][..run]);
            }
        }
        for &isa in Isa::available() {
            let tuning = Tuning {
                isa,
                stores: Stores::Streaming,
            };
            let moves = [0, 1].map(|i| {
                let (first, pitch) = parts[i];
                let loops = [l(ROWS, pitch, ROW), l(RUNS[i] / 4, 4, 4)];
                Move::tuned(4, first, i * RUNS[0], &loops, &tuning).unwrap()
            });
            let sequence = Sequence::sized(moves.iter(), [].iter(), &tuning, true, SIZES).unwrap();
            assert!(!sequence.is_staged());
            let bands = bands_of(&sequence.nodes);
            let leaves = bands.iter().flat_map(|band| &band.leaves);
            // What is left of the rows is a band that nothing comes after.
            let sources: Vec<_> = leaves.map(|leaf| leaf.prepared.source()).collect();
            assert_eq!(sources[..2], [Some(source); 2], "{isa:?}: {sources:?}");
            assert!(
                in_windows(&sequence, &from, want.len()) == want,
                "{isa:?}, {source:?}"
            );
        }
    }
}

/// That columns and the gaps behind them are one leaf, and need no stage but their kernel's.
fn joined(sequence: &Sequence) {
    assert!(sequence.is_staged() && sequence.scratch() == 0);
    let first = &bands_of(&sequence.nodes)[0].leaves[..];
    assert!(matches!(first, [leaf] if leaf.pattern.is_none()));
}

/// Rows of less and more than a first-level stage's, gaps of less and more than a pattern, and a last band of a single
/// column, which is apart from its gap.
#[test]
fn columns_are_written_with_the_gaps_behind_them() {
    let sizes = Sizes {
        most: 2048,
        ..SIZES
    };
    columns_in_bands(1, (131, 12999), 6, sizes, joined);
    columns_in_bands(1, (67, 19999), 21, sizes, joined);
    columns_in_bands(2, (73, 13001), 10, sizes, joined);
    columns_in_bands(2, (701, 1499), 2, sizes, joined);
    columns_in_bands(4, (250, 2111), 28, sizes, joined);
    columns_in_bands(4, (363, 1413), 32, sizes, joined);
    columns_in_bands(8, (100, 2699), 8, sizes, joined);
    columns_in_bands(16, (61, 1999), 48, sizes, joined);
}

/// Few rows, whose gaps are most of what is written, or less; of three and three bytes there is no kernel.
#[test]
fn short_columns_are_written_with_the_gaps_behind_them() {
    let sizes = Sizes {
        most: 2048,
        ..SIZES
    };
    columns_in_bands(1, (3, 400_009), 1, sizes, joined);
    columns_in_bands(1, (3, 100_003), 13, sizes, joined);
    columns_in_bands(2, (5, 100_003), 22, sizes, joined);
    columns_in_bands(4, (3, 39_999), 52, sizes, joined);
    columns_in_bands(4, (13, 39_999), 12, sizes, joined);
    columns_in_bands(8, (3, 39_999), 40, sizes, joined);
    let staged = |sequence: &Sequence| {
        assert!(sequence.is_staged());
        let mut leaves = bands_of(&sequence.nodes).into_iter();
        assert!(leaves.any(|band| band.leaves.len() != 1));
    };
    columns_in_bands(1, (3, 400_009), 3, sizes, staged);
}

/// Where a gap is no whole elements, or both are more than there is room for.
#[test]
fn other_gaps_are_filled_apart() {
    let sizes = Sizes { most: 300, ..SIZES };
    let apart = |sequence: &Sequence| {
        let mut leaves = bands_of(&sequence.nodes).into_iter();
        assert!(leaves.all(|band| band.leaves.len() != 1));
    };
    columns_in_bands(4, (131, 1511), 6, sizes, apart);
    columns_in_bands(2, (251, 1511), 100, sizes, apart);
}

/// A size for what is copied in the source's order, one for what cuts lines, one for the rest.
#[test]
fn what_stays_in_the_caches_depends_on_how_it_is_written() {
    // Rows of 700 bytes to rows of 720, of whole lines to twice as many; and 28 pieces of 25 bytes each, or 11 lines, of which all
    // first ones come first.
    let in_order = [l(3000, 700, 720), l(700, 1, 1)];
    let on_lines = [l(3000, 704, 1408), l(704, 1, 1)];
    let in_pieces = [l(3000, 25, 720), l(28, 25 * 3000, 25), l(25, 1, 1)];
    let in_lines = [l(3000, 64, 1408), l(11, 64 * 3000, 64), l(64, 1, 1)];
    let tuning = Tuning {
        stores: Stores::Streaming,
        ..Tuning::default()
    };
    let streams = |loops: &[Loop], (row, pitch): (usize, usize), kept: [usize; 3]| {
        let rows = [Move::tuned(1, 0, 0, loops, &tuning).unwrap()];
        let gaps = [(3000, pitch as isize), (pitch - row, 1)];
        let gaps = gaps.map(|(extent, destination)| FillLoop {
            extent,
            destination,
        });
        let gaps = [Fill::tuned(&[7], row, &gaps, &tuning).unwrap()];
        let sizes = Sizes { kept, ..SIZES };
        Sequence::sized(rows.iter(), gaps.iter(), &tuning, true, sizes).map(|s| s.streams())
    };
    for (loops, sizes, written) in [
        (&in_order[..], (700, 720), Written::Ordered),
        (&on_lines, (704, 1408), Written::Ordered),
        (&in_pieces, (700, 720), Written::Cut),
        (&in_lines, (704, 1408), Written::Lines),
    ] {
        let all = 3000 * sizes.1;
        let [mut kept, mut others] = [[all; 3], [all + 1; 3]];
        kept[written as usize] = all + 1;
        others[written as usize] = all;
        assert_eq!(streams(loops, sizes, others), Some(true), "{sizes:?}");
        assert_eq!(streams(loops, sizes, kept), Some(false), "{sizes:?}");
    }
}
