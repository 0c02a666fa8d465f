//! Boxes whose elements are written anew, against the naive oracle: every way, every instruction set, both kinds of
//! stores, windows at every byte, pages that fault right beside the buffers.

mod common;

use common::{SENTINEL, distinct, l, tunings};
use minormajor_kernels::{
    Buffer, Code, FillBits, FillLoop, Format, Loop, NestError, Recode, Recoding, Scratch,
};
use proptest::prelude::*;

/// A case: codes, and offsets and strides in bits.
#[derive(Debug, Clone)]
struct Case {
    recoding: Recoding,
    bits: (usize, usize),
    source: usize,
    destination: usize,
    loops: Vec<Loop>,
}

fn bits(from: usize, to: usize) -> (Recoding, (usize, usize)) {
    let recoding = Recoding {
        source: Code::Bits(from),
        destination: Code::Bits(to),
    };
    (recoding, (from, to))
}

/// Every pair of widths of which one is packed.
fn packed() -> Vec<(Recoding, (usize, usize))> {
    let widths = [1, 2, 4, 8];
    let pairs = widths
        .iter()
        .flat_map(|&from| widths.map(|to| bits(from, to)));
    pairs.filter(|&(_, bits)| bits != (8, 8)).collect()
}

/// Every change of numbers: byte orders, f32, f16 and bf16 as one another, and both.
fn numbers() -> Vec<(Recoding, (usize, usize))> {
    let code = |format, big_endian| Code::Number { format, big_endian };
    let both = [false, true];
    let mut all = Vec::new();
    let floats = [(Format::F32, 32), (Format::F16, 16), (Format::Bf16, 16)];
    for (from, from_bits) in floats {
        for (to, to_bits) in floats {
            for orders in both.iter().flat_map(|&a| both.map(|b| (a, b))) {
                if from == to && orders.0 == orders.1 {
                    continue;
                }
                let recoding = Recoding {
                    source: code(from, orders.0),
                    destination: code(to, orders.1),
                };
                all.push((recoding, (from_bits, to_bits)));
            }
        }
    }
    for (width, part) in [(2, 2), (4, 4), (8, 8), (16, 16), (8, 4), (16, 8), (4, 2)] {
        let format = Format::Other { width, part };
        let recoding = Recoding {
            source: code(format, true),
            destination: code(format, false),
        };
        all.push((recoding, (8 * width, 8 * width)));
    }
    all
}

/// Nests with distinct places in the destination, each side's loops in an order of its own, with gaps, repeats and
/// reversals.
fn nests(codes: Vec<(Recoding, (usize, usize))>) -> impl Strategy<Value = Case> {
    let extent = prop_oneof![
        3 => 1usize..6,
        3 => prop::sample::select(vec![7, 8, 15, 16, 17, 31, 33]),
        2 => prop::sample::select(vec![63, 64, 65, 100, 127, 128, 200, 513]),
    ];
    let each = (
        extent,
        any::<u32>(),
        any::<u32>(),
        0usize..5,
        0usize..5,
        0u8..12,
        0u8..12,
    );
    (
        prop::sample::select(codes),
        prop::collection::vec(each, 0..6),
        0usize..40,
        0usize..40,
    )
        .prop_map(|((recoding, bits), mut loops, source, destination)| {
            while loops.iter().map(|l| l.0).product::<usize>() > 30_000 {
                loops.pop();
            }
            let strides =
                |width: usize, key: &dyn Fn(usize) -> u32, gap: &dyn Fn(usize) -> usize| {
                    let mut order: Vec<usize> = (0..loops.len()).collect();
                    order.sort_by_key(|&i| key(i));
                    let mut strides = vec![0isize; loops.len()];
                    let mut next = width;
                    for i in order {
                        // Most loops follow one another closely; some gaps are whole bytes.
                        next += [0, 0, 0, width.min(8), 8][gap(i)];
                        if gap(i) == 4 && width < 8 {
                            next = next.next_multiple_of(8);
                        }
                        strides[i] = next as isize;
                        next *= loops[i].0;
                    }
                    strides
                };
            let s = strides(bits.0, &|i| loops[i].1, &|i| loops[i].3);
            let d = strides(bits.1, &|i| loops[i].2, &|i| loops[i].4);
            let mut case = Case {
                recoding,
                bits,
                source: source * bits.0.min(8),
                destination: destination * bits.1.min(8),
                loops: Vec::new(),
            };
            for (i, &(extent, _, _, _, _, source_kind, destination_kind)) in
                loops.iter().enumerate()
            {
                let (mut s, mut d) = (s[i], d[i]);
                match source_kind {
                    0 => s = 0,
                    1 => {
                        case.source += (extent - 1) * s as usize;
                        s = -s;
                    }
                    _ => {}
                }
                if destination_kind == 0 {
                    case.destination += (extent - 1) * d as usize;
                    d = -d;
                }
                case.loops.push(l(extent, s, d));
            }
            case
        })
}

/// Matrices whose order changes, of eight lines in a column at least and one in a row: what is moved a line of every row
/// and column at a time. From any place on, with rows and columns that begin anywhere; rows are one loop or
/// two, and there may be several matrices.
fn matrices() -> impl Strategy<Value = Case> {
    let codes = prop_oneof![
        prop::sample::select(vec![bits(1, 1), bits(2, 2), bits(4, 4)]),
        prop::sample::select(vec![bits(8, 1), bits(8, 2), bits(8, 4)]),
        prop::sample::select(numbers()),
    ];
    let more = || prop_oneof![Just(0usize), 0usize..9, 0usize..100];
    (
        codes,
        (more(), more()),
        1usize..4,
        1usize..3,
        prop::array::uniform4(0usize..4),
        (0usize..70, 0usize..70),
        any::<bool>(),
    )
        .prop_map(
            |((recoding, bits), more, inner, matrices, gaps, places, on_lines)| {
                let (from, to) = (bits.0 as isize, bits.1 as isize);
                let [row_gap, outer_gap, column_gap, gap] = gaps.map(|gap| gap as isize);
                let least = 1024 / bits.0.min(bits.1).max(2);
                let outer = (least + more.0).div_ceil(inner);
                let (rows, columns) = (outer * inner, least + more.1);
                let row = (columns as isize + row_gap) * from;
                let outer_row = inner as isize * row + outer_gap * from;
                // Columns may all lie alike on lines, wherever the first begins.
                let line = if on_lines { 512 } else { to };
                let column = ((rows as isize + column_gap) * to + line - 1) / line * line;
                let matrix = (outer as isize * outer_row, columns as isize * column);
                Case {
                    recoding,
                    bits,
                    source: places.0 * bits.0.min(8),
                    destination: places.1 * bits.1.min(8),
                    loops: vec![
                        l(matrices, matrix.0 + gap * from, matrix.1 + gap * line),
                        l(outer, outer_row, inner as isize * to),
                        l(inner, row, to),
                        l(columns, from, column),
                    ],
                }
            },
        )
}

/// Few rows of packed elements and the runs that they become, with their columns in one run or several, which may lie apart:
/// either way, rows from any bit on, with more of them behind.
fn braids() -> impl Strategy<Value = Case> {
    let columns = prop_oneof![
        (1usize..5).prop_map(|lanes| (lanes, 0)),
        (1usize..10, 0usize..40),
        (60usize..90, 0usize..10),
    ];
    (
        prop::sample::select(vec![1, 2, 4]),
        prop::sample::select(vec![2, 4, 8, 16, 32]),
        columns,
        (1usize..9, 1usize..4),
        prop::array::uniform4(0usize..4),
        (0usize..20, prop_oneof![3 => 0usize..70, 1 => Just(0)]),
        any::<bool>(),
    )
        .prop_map(
            |(width, rows, columns, (runs, boxes), gaps, places, join)| {
                let (recoding, bits) = bits(width, width);
                let columns = columns.0 * 128 / width + columns.1;
                let [row_gap, run_gap, row_group, run_group] = gaps.map(|gap| gap as isize);
                let element = width as isize;
                let along = columns as isize * element;
                let row = runs as isize * along + row_gap * element;
                // Runs may lie on lines, wherever the first begins.
                let unit = if run_gap == 3 { 512 } else { 8 };
                let run = (rows as isize * along + run_gap * 8 + unit - 1) / unit * unit;
                let next = (
                    rows as isize * row + row_group * element,
                    runs as isize * run + run_group * unit,
                );
                let side = |l: Loop| match join {
                    true => l,
                    false => Loop {
                        source: l.destination,
                        destination: l.source,
                        ..l
                    },
                };
                let place = (places.0 * width, places.1 * 8);
                let (source, destination) = if join { place } else { (place.1, place.0) };
                Case {
                    recoding,
                    bits,
                    source,
                    destination,
                    loops: [
                        l(boxes, next.0, next.1),
                        l(runs, along, run),
                        l(columns, element, rows as isize * element),
                        l(rows, row, element),
                    ]
                    .map(side)
                    .to_vec(),
                }
            },
        )
}

/// The bits `at..at + width`, the lowest of a byte first.
fn get(buffer: &[u8], at: usize, width: usize) -> u128 {
    let bit = |i: usize| u128::from(buffer[i / 8] >> (i % 8) & 1);
    (0..width).map(|i| bit(at + i) << i).sum()
}

fn set(buffer: &mut [u8], at: usize, width: usize, value: u128) {
    for i in 0..width {
        let byte = &mut buffer[(at + i) / 8];
        let mask = 1 << ((at + i) % 8);
        *byte = *byte & !mask | if value >> i & 1 == 1 { mask } else { 0 };
    }
}

/// A source, and what a destination of sentinels becomes.
fn expected(case: &Case) -> (Vec<u8>, Vec<u8>) {
    let recode = Recode::new(case.recoding, case.source, case.destination, &case.loops).unwrap();
    let from = distinct(recode.source_len());
    let mut to = vec![SENTINEL; recode.destination_len() + 5];
    if let Code::Number { .. } = case.recoding.source {
        // Each by itself; another suite compares all numbers with naive ones.
        let one = Recode::new(case.recoding, 0, 0, &[]).unwrap();
        let (read, written) = (case.bits.0 / 8, case.bits.1 / 8);
        let mut scratch = Scratch::default();
        common::elements(
            case.source as isize,
            case.destination as isize,
            &case.loops,
            &mut |s, d| {
                let (s, d) = (s / 8, d / 8);
                one.run(&from[s..s + read], &mut to[d..d + written], &mut scratch)
                    .unwrap();
            },
        );
        return (from, to);
    }
    common::elements(
        case.source as isize,
        case.destination as isize,
        &case.loops,
        &mut |s, d| {
            let value = get(&from, s, case.bits.0.min(case.bits.1));
            set(&mut to, d, case.bits.1, value);
        },
    );
    (from, to)
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let (from, want) = expected(case);
    for tuning in tunings() {
        let recode = Recode::tuned(
            case.recoding,
            case.source,
            case.destination,
            &case.loops,
            &tuning,
        )
        .unwrap();
        let mut to = vec![SENTINEL; want.len()];
        recode.run(&from, &mut to, &mut Scratch::default()).unwrap();
        let differs = to.iter().zip(&want).position(|(a, b)| a != b);
        prop_assert!(
            differs.is_none(),
            "{} {tuning:?}: byte {differs:?} of {}",
            recode.kernel(),
            want.len()
        );
    }
    Ok(())
}

fn check_windows(case: &Case, cuts: &[usize]) -> Result<(), TestCaseError> {
    let (from, want) = expected(case);
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (want.len() + 1)).collect();
    cuts.extend([0, want.len()]);
    cuts.sort_unstable();
    let mut scratch = Scratch::default();
    for tuning in tunings() {
        let recode = Recode::tuned(
            case.recoding,
            case.source,
            case.destination,
            &case.loops,
            &tuning,
        )
        .unwrap();
        let mut to = vec![SENTINEL; want.len()];
        for pair in cuts.windows(2) {
            let window = &mut to[pair[0]..pair[1]];
            recode
                .run_window(&from, window, pair[0], &mut scratch)
                .unwrap();
        }
        let differs = to.iter().zip(&want).position(|(a, b)| a != b);
        prop_assert!(
            differs.is_none(),
            "{} {tuning:?}: byte {differs:?}",
            recode.kernel()
        );
    }
    Ok(())
}

/// Windows between iterations of the outermost loop.
fn check_cuts(case: &Case, windows: usize) -> Result<(), TestCaseError> {
    let recode = Recode::new(case.recoding, case.source, case.destination, &case.loops).unwrap();
    let cuts: Vec<usize> = recode.cuts(windows).collect();
    prop_assert!(cuts.len() < windows.max(1), "{cuts:?}");
    prop_assert!(cuts.is_sorted_by(|a, b| a < b), "{cuts:?}");
    prop_assert!(cuts.iter().all(|&cut| cut < recode.destination_len()));
    check_windows(case, &cuts)
}

#[cfg(target_os = "linux")]
fn check_between_guards(case: &Case) -> Result<(), TestCaseError> {
    use common::guarded::Guarded;
    let (from, want) = expected(case);
    let want = &want[..want.len() - 5];
    let mut scratch = Scratch::default();
    for at_end in [false, true] {
        let mut source = Guarded::new(&from, at_end);
        for tuning in tunings() {
            let recode = Recode::tuned(
                case.recoding,
                case.source,
                case.destination,
                &case.loops,
                &tuning,
            )
            .unwrap();
            let mut to = Guarded::new(&vec![SENTINEL; want.len()], at_end);
            recode
                .run(source.bytes(), to.bytes(), &mut scratch)
                .unwrap();
            prop_assert!(to.bytes() == want, "{} {tuning:?}", recode.kernel());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn packed_elements_of_any_nest(case in nests(packed())) {
        check(&case)?;
    }

    #[test]
    fn windows_of_packed_elements(
        case in nests(packed().into_iter().filter(|(_, bits)| bits.1 < 8).collect()),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        check_windows(&case, &cuts)?;
    }

    #[test]
    fn numbers_of_any_nest(case in nests(numbers())) {
        check(&case)?;
    }

    #[test]
    fn windows_between_iterations(
        case in prop_oneof![nests(numbers()), nests(packed())],
        windows in 0usize..9,
    ) {
        check_cuts(&case, windows)?;
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn numbers_between_guards(case in nests(numbers())) {
        check_between_guards(&case)?;
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn packed_elements_between_guards(case in nests(packed())) {
        check_between_guards(&case)?;
    }

    #[test]
    fn fills_of_packed_elements(
        case in nests(vec![bits(1, 1), bits(2, 2), bits(4, 4)]),
        pattern in any::<u8>(),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let loops: Vec<FillLoop> = case
            .loops
            .iter()
            .map(|l| FillLoop { extent: l.extent, destination: l.destination })
            .collect();
        let fill = FillBits::new(case.bits.1, pattern, case.destination, &loops).unwrap();
        let mut want = vec![SENTINEL; fill.destination_len() + 3];
        common::elements(0, case.destination as isize, &case.loops, &mut |_, d| {
            set(&mut want, d, case.bits.1, pattern.into());
        });
        let mut to = vec![SENTINEL; want.len()];
        fill.run(&mut to).unwrap();
        prop_assert_eq!(&to, &want);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (want.len() + 1)).collect();
        cuts.extend([0, want.len()]);
        cuts.sort_unstable();
        let mut to = vec![SENTINEL; want.len()];
        for pair in cuts.windows(2) {
            fill.run_window(&mut to[pair[0]..pair[1]], pair[0]).unwrap();
        }
        prop_assert_eq!(&to, &want);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn large_matrices(case in matrices(), cuts in prop::collection::vec(any::<usize>(), 0..4)) {
        check(&case)?;
        if case.bits.1 < 8 {
            check_windows(&case, &cuts)?;
        }
        check_cuts(&case, 1 + cuts.len())?;
        #[cfg(target_os = "linux")]
        check_between_guards(&case)?;
    }

    #[test]
    fn few_rows_and_runs(case in braids(), cuts in prop::collection::vec(any::<usize>(), 0..4)) {
        check(&case)?;
        check_windows(&case, &cuts)?;
        #[cfg(target_os = "linux")]
        check_between_guards(&case)?;
    }
}

/// Matrices with rows that begin at any bit, on both sides: transposed, copied, as wide as a block and wider.
#[test]
fn packed_matrices() {
    for (recoding, bits) in packed() {
        for (rows, columns) in [
            (3, 700),
            (700, 3),
            (7, 300),
            (17, 300),
            (64, 64),
            (301, 257),
            (1030, 517),
            (16, 4099),
        ] {
            for gap in [0, 1, 8] {
                let gap = |width: usize| if width < 8 { gap * width } else { 8 * gap };
                let (s, d) = (columns * bits.0 + gap(bits.0), rows * bits.1 + gap(bits.1));
                let along = columns * bits.1 + gap(bits.1);
                for loops in [
                    vec![
                        l(rows, s as isize, bits.1 as isize),
                        l(columns, bits.0 as isize, d as isize),
                    ],
                    vec![
                        l(rows, s as isize, along as isize),
                        l(columns, bits.0 as isize, bits.1 as isize),
                    ],
                ] {
                    let case = Case {
                        recoding,
                        bits,
                        source: 3 * bits.0,
                        destination: 3 * bits.1,
                        loops,
                    };
                    check(&case).unwrap_or_else(|error| panic!("{error} {case:?}"));
                }
            }
        }
    }
}

/// Matrices of more than one strip of rows, whose columns share bytes: within the caches and past them. Of the last strip there
/// is a line and a part, so much that columns end in a strip behind it, or three lines and a part.
#[test]
fn strips_of_packed_matrices() {
    let of_bits = [4703, 3997, 5741].map(|rows| (1, rows, 577));
    let of_pairs = [2203, 2003, 2871].map(|rows| (2, rows, 491));
    let of_quads = [1151, 1001, 1433].map(|rows| (4, rows, 241));
    for (width, rows, columns) in [of_bits, of_pairs, of_quads].concat() {
        for gap in [0, 3] {
            let (recoding, bits) = bits(width, width);
            let (row, column) = ((columns + gap) * width, (rows + gap) * width);
            let case = Case {
                recoding,
                bits,
                source: 3 * width,
                destination: width,
                loops: vec![
                    l(rows, row as isize, width as isize),
                    l(columns, width as isize, column as isize),
                ],
            };
            check(&case).unwrap_or_else(|error| panic!("{error} {case:?}"));
        }
    }
}

/// Runs of every short length, from and to every bit.
#[test]
fn packed_runs_of_every_length() {
    for (recoding, bits) in packed() {
        for run in (1..70).chain([127, 128, 129, 511, 512, 513, 1100]) {
            for (from, to) in (0..8 / bits.0).flat_map(|f| (0..8 / bits.1).map(move |t| (f, t))) {
                let case = Case {
                    recoding,
                    bits,
                    source: from * bits.0,
                    destination: to * bits.1,
                    loops: vec![l(run, bits.0 as isize, bits.1 as isize)],
                };
                #[cfg(target_os = "linux")]
                check_between_guards(&case).unwrap_or_else(|error| panic!("{error} {case:?}"));
                check(&case).unwrap_or_else(|error| panic!("{error} {case:?}"));
            }
        }
    }
}

#[test]
fn cuts_leave_whole_columns() {
    let (same, _) = bits(1, 1);
    // Columns of 1001 bits, side by side or 7 bits apart, that follow one another in the source or not: a line of the
    // source or whole bytes of the destination at least, the last window no less.
    for (column, from, least) in [(1001, 1, 512), (1008, 1, 512), (1001, 3, 8), (1008, 3, 1)] {
        let loops = [l(2000, from, column), l(1001, 6000, 1)];
        let recode = Recode::new(same, 0, 16, &loops).unwrap();
        let cuts = |windows| recode.cuts(windows).collect::<Vec<_>>();
        assert_eq!((cuts(1).len(), cuts(2000).len()), (0, 2000 / least - 1));
        for windows in [2, 3, 5, 2000] {
            for cut in cuts(windows) {
                let (bit, columns) = (8 * cut - 16, least * column as usize);
                assert!(bit.is_multiple_of(columns), "{windows}: {cut}");
                assert!(2000 * column as usize - bit >= columns, "{windows}: {cut}");
            }
        }
    }
    // Columns that interleave, and those that begin inside a byte, have none.
    let interleaved = Recode::new(same, 0, 0, &[l(4, 8, 24), l(3, 1, 16)]).unwrap();
    let inside = Recode::new(same, 0, 4, &[l(64, 1, 64), l(64, 64, 1)]).unwrap();
    assert_eq!(interleaved.cuts(4).count() + inside.cuts(4).count(), 0);
}

#[test]
fn refused_boxes() {
    let (nibbles, _) = bits(4, 4);
    let (bytes, _) = bits(8, 8);
    assert_eq!(
        Recode::new(bytes, 0, 0, &[]).unwrap_err(),
        NestError::Recoding { recoding: bytes }
    );
    assert_eq!(
        Recode::new(nibbles, 2, 0, &[]).unwrap_err(),
        NestError::CutByte {
            buffer: Buffer::Source,
            bits: 2,
            width: 4
        }
    );
    assert_eq!(
        Recode::new(nibbles, 0, 0, &[l(2, 4, 6)]).unwrap_err(),
        NestError::CutByte {
            buffer: Buffer::Destination,
            bits: 6,
            width: 4
        }
    );
    assert_eq!(
        Recode::new(nibbles, 0, 0, &[l(2, -4, 4)]).unwrap_err(),
        NestError::BeforeStart {
            buffer: Buffer::Source,
            lowest: -4
        }
    );
    assert_eq!(
        FillBits::new(3, 0, 0, &[]).unwrap_err(),
        NestError::Width { width: 3 }
    );
    let three = Recode::new(nibbles, 0, 4, &[l(3, 4, 4)]).unwrap();
    assert_eq!((three.source_len(), three.destination_len()), (2, 2));
    let mut scratch = Scratch::default();
    let mut to = [SENTINEL; 2];
    assert_eq!(
        three.run(&[1], &mut to, &mut scratch),
        Err(NestError::TooShort {
            buffer: Buffer::Source,
            needed: 2,
            got: 1
        })
    );
    assert_eq!(
        three.run(&[1, 2], &mut to[..1], &mut scratch),
        Err(NestError::TooShort {
            buffer: Buffer::Destination,
            needed: 2,
            got: 1
        })
    );
    assert_eq!(to, [SENTINEL; 2]);
    let none = Recode::new(nibbles, 0, 0, &[l(0, 4, 4)]).unwrap();
    none.run(&[], &mut [], &mut scratch).unwrap();
    none.run_window(&[], &mut [], 9, &mut scratch).unwrap();
}
