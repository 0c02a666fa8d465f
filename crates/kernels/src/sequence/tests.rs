//! What only some CPUs choose.

use super::*;
use crate::fill::FillLoop;
use crate::nest::Loop;
use crate::tuning::Stores;

/// Columns of a matrix of so many rows and columns of `width` bytes, each with `gap` bytes of padding behind it, by a wide
/// stage, whole and at every cut.
fn columns_in_wide_bands(width: usize, (rows, columns): (usize, usize), gap: usize) {
    let l = |extent, source: usize, destination: usize| Loop {
        extent,
        source: source as isize,
        destination: destination as isize,
    };
    let step = rows * width + gap;
    let loops = [l(columns, width, step), l(rows, columns * width, width)];
    let gaps = [
        FillLoop {
            extent: columns,
            destination: step as isize,
        },
        FillLoop {
            extent: gap,
            destination: 1,
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
        let padding = Fill::tuned(&[0xee], rows * width, &gaps, &tuning).unwrap();
        let fills = if gap > 0 { vec![padding] } else { Vec::new() };
        let mut want = vec![0xaa; columns * step + 100];
        for (q, column) in want[..columns * step].chunks_mut(step).enumerate() {
            for (i, byte) in column.iter_mut().enumerate() {
                let (p, part) = (i / width, i % width);
                *byte = if p < rows {
                    from[(p * columns + q) * width + part]
                } else {
                    0xee
                };
            }
        }
        let sizes = Sizes {
            band: 64 << 10,
            wide: Some(96 << 10),
        };
        let one = [&matrix].into_iter();
        let sequence = Sequence::sized(one, fills.iter(), &tuning, true, sizes).unwrap();
        assert_eq!(
            sequence.scratch(),
            Scratch::bytes(2 * stage::room(96 << 10))
        );
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

#[test]
fn a_wide_stage_is_written_while_the_next_band_is_put_together() {
    columns_in_wide_bands(1, (131, 4999), 6);
    columns_in_wide_bands(2, (73, 3001), 10);
    columns_in_wide_bands(4, (67, 1511), 0);
    columns_in_wide_bands(16, (61, 509), 3);
}
