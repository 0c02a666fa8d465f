//! Sequences against their moves and fills one after another, whole and at every cut.

mod common;

use common::{Gap, Part, SENTINEL, distinct, retile, tunings};
use minormajor_kernels::{
    Fill, FillLoop, Loop, Move, NestError, Scratch, Sequence, Stores, Tuning,
};
use proptest::prelude::*;

fn check(width: usize, parts: &[Part], gaps: &[Gap], windows: usize) -> bool {
    let mut ordered = false;
    for tuning in tunings() {
        let moves: Vec<Move> = parts
            .iter()
            .map(|(s, d, loops)| Move::tuned(width, *s, *d, loops, &tuning).unwrap())
            .collect();
        let pattern = &distinct(16)[..width];
        let fills: Vec<Fill> = gaps
            .iter()
            .map(|(d, loops)| Fill::tuned(pattern, *d, loops, &tuning).unwrap())
            .collect();
        let from = distinct(moves.iter().map(Move::source_len).max().unwrap());
        let lengths = moves.iter().map(Move::destination_len);
        let length = lengths
            .chain(fills.iter().map(Fill::destination_len))
            .max()
            .unwrap();
        let mut want = vec![SENTINEL; length + 100];
        moves.iter().for_each(|m| m.run(&from, &mut want).unwrap());
        fills.iter().for_each(|f| f.run(&mut want).unwrap());
        let Some(sequence) = Sequence::new(moves.iter(), fills.iter(), &tuning) else {
            continue;
        };
        ordered = true;
        let mut scratch = Scratch::default();
        let mut cuts: Vec<usize> = sequence.cuts(windows).collect();
        assert!(
            cuts.is_sorted() && cuts.iter().all(|&c| c > 0 && c < length),
            "{cuts:?}"
        );
        cuts.insert(0, 0);
        cuts.push(want.len());
        for cuts in [&[0, want.len()][..], &cuts] {
            let mut to = vec![SENTINEL; want.len()];
            for pair in cuts.windows(2) {
                sequence
                    .run_window(&from, &mut to[pair[0]..pair[1]], pair[0], &mut scratch)
                    .unwrap();
            }
            let differs = to.iter().zip(&want).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{tuning:?}, cuts {cuts:?}");
        }
        let short = &from[..from.len() - 1];
        let mut to = vec![SENTINEL; want.len()];
        let error = sequence.run_window(short, &mut to, 0, &mut scratch);
        assert!(matches!(error, Err(NestError::TooShort { .. })));
        assert!(to.iter().all(|&b| b == SENTINEL));
    }
    ordered
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ragged_tiles(
        width in prop::sample::select(vec![1usize, 2, 4, 8]),
        rows in 200usize..900,
        columns in 100usize..500,
        high in 2usize..20,
        low in 3usize..140,
        slices in 1usize..4,
        back: bool,
        windows in 1usize..30,
    ) {
        let (parts, gaps) = retile(width, rows, columns, (high, low), slices, back);
        check(width, &parts, &gaps, windows);
    }

    #[test]
    fn blocks_of_channels(
        width in prop::sample::select(vec![1usize, 2, 4, 8]),
        images in 1usize..4,
        channels in 1usize..40,
        pixels in 500usize..3000,
        block in 2usize..18,
        filled: bool,
        windows in 1usize..30,
    ) {
        let (parts, gaps) = blocked(width, [images, channels, pixels], block);
        check(width, &parts, if filled { &gaps } else { &[] }, windows);
    }
}

/// Images, channel by channel, to blocks of channels beside one another, of which the last may lack some.
fn blocked(
    width: usize,
    [images, channels, pixels]: [usize; 3],
    block: usize,
) -> (Vec<Part>, Vec<Gap>) {
    let blocks = channels.div_ceil(block);
    let bytes = |extents: &[usize]| extents.iter().product::<usize>() * width;
    let (image, to_image) = (bytes(&[channels, pixels]), bytes(&[blocks, pixels, block]));
    let (mut parts, mut gaps) = (Vec::new(), Vec::new());
    for (first, count, high) in [
        (0, channels / block, block),
        (channels / block, 1, channels % block),
    ] {
        let l = |extent, source: usize, destination: usize| Loop {
            extent,
            source: source as isize,
            destination: destination as isize,
        };
        let around = [
            l(images, image, to_image),
            l(count, bytes(&[block, pixels]), bytes(&[pixels, block])),
            l(pixels, width, bytes(&[block])),
        ];
        let at = bytes(&[first, pixels, block]);
        let inner = |extent| {
            around
                .into_iter()
                .chain([l(extent, bytes(&[pixels]), width)])
        };
        if count * high > 0 {
            parts.push((bytes(&[first, block, pixels]), at, inner(high).collect()));
        }
        if high > 0 && high < block {
            let gap = inner(block - high).map(|l| FillLoop {
                extent: l.extent,
                destination: l.destination,
            });
            gaps.push((at + bytes(&[high]), gap.collect()));
        }
    }
    (parts, gaps)
}

#[test]
fn large_blocks_of_channels_have_an_order() {
    for channels in [3, 19] {
        let (parts, gaps) = blocked(4, [2, channels, 5003], 16);
        assert!(check(4, &parts, &gaps, 9), "{channels} channels");
    }
}

#[test]
fn large_ragged_tiles_have_an_order() {
    for back in [false, true] {
        let (parts, gaps) = retile(4, 3003, 201, (8, 128), 2, back);
        assert!(check(4, &parts, &gaps, 9), "back: {back}");
    }
}

#[test]
fn a_window_between_cuts_is_an_error() {
    let (parts, _) = retile(4, 1003, 901, (8, 128), 1, true);
    // Whatever the CPU's caches: where stores stream, an item this large is left to its kernel.
    let tuning = Tuning {
        stores: Stores::Plain,
        ..Tuning::default()
    };
    let moves: Vec<Move> = parts
        .iter()
        .map(|(s, d, loops)| Move::tuned(4, *s, *d, loops, &tuning).unwrap())
        .collect();
    let sequence = Sequence::new(moves.iter(), [].iter(), &tuning).unwrap();
    let from = distinct(moves.iter().map(Move::source_len).max().unwrap());
    let result = sequence.run_window(&from, &mut [0; 1001], 0, &mut Scratch::default());
    assert!(
        matches!(result, Err(NestError::CutElement { .. })),
        "{result:?}"
    );
}

#[test]
fn single_and_small_moves_have_no_order() {
    let row = Loop {
        extent: 100,
        source: 4,
        destination: 4,
    };
    let one = Move::new(4, 0, 0, &[row]).unwrap();
    let two = Move::new(4, 400, 400, &[row]).unwrap();
    let tuning = Tuning::default();
    assert!(Sequence::new([&one].into_iter(), [].iter(), &tuning).is_none());
    assert!(Sequence::new([&one, &two].into_iter(), [].iter(), &tuning).is_none());
}
