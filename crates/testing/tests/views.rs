//! Strided views on both sides of the executor against the naive relayout: what lies between the
//! elements of a destination stays.

use minormajor::{ArrayShape, ElementType, Place, Plan, Relayout, Shape, StridedView};
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

/// The bit at which an element begins.
fn at(view: &StridedView, index: &[i64]) -> usize {
    let offsets = index.iter().zip(view.strides()).map(|(i, s)| i * s);
    let unit = view.packed_bits().unwrap_or(8) as usize;
    (view.offset() + offsets.sum::<i64>()) as usize * unit
}

/// Bits of an element.
fn width(view: &StridedView) -> usize {
    match view.packed_bits() {
        Some(bits) => bits as usize,
        None => 8 * view.element_type().byte_width() as usize,
    }
}

/// Bytes that are all distinct as far as a byte allows.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 37 + n / 256) as u8).collect()
}

/// From view to view, index by index; at most so many bits of an element are kept.
fn naive(
    from: &StridedView,
    source: &[u8],
    to: &StridedView,
    before: &[u8],
    kept: usize,
) -> Vec<u8> {
    let mut after = before.to_vec();
    for index in oracle::indices(from.sizes()) {
        let value = oracle::bits(source, at(from, &index), width(from).min(kept));
        oracle::set_bits(&mut after, at(to, &index), width(to), value);
    }
    after
}

fn run<'a>(
    from: impl Into<Place<'a>>,
    source: &[u8],
    to: impl Into<Place<'a>>,
    before: &[u8],
    threads: usize,
) -> Vec<u8> {
    let plan = Plan::new(from, to).unwrap();
    let relayout = Relayout::new(&plan).unwrap().threads(threads);
    assert!(relayout.source_bytes() <= source.len());
    let mut destination = before.to_vec();
    relayout.run(source, &mut destination).unwrap();
    destination
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn views_on_both_sides((from, to, shape) in strategy::views(), threads in 1usize..4) {
        let source = bytes(from.buffer_bytes() as usize);
        // Longer than the view: what is behind it must stay, too.
        let before = vec![oracle::SENTINEL; to.buffer_bytes() as usize + 7];
        let expected = naive(&from, &source, &to, &before, 128);
        prop_assert_eq!(&run(&from, &source, &to, &before, threads), &expected);
        // The same by way of a layout, with its tiles and padding.
        let whole = vec![0; shape.allocated_bytes().unwrap() as usize];
        let laid_out = run(&from, &source, &shape, &whole, threads);
        let expected = naive(&from, &source, &to, &before, shape.element_bits() as usize);
        prop_assert_eq!(&run(&shape, &laid_out, &to, &before, threads), &expected);
    }
}

/// Views large enough for threads, parts and windows: pitched, reversed, repeated, off any
/// alignment, and of every second element.
#[test]
fn large_views() {
    let rows = 1031;
    let columns = 523;
    for element_type in [ElementType::U8, ElementType::F32, ElementType::C128] {
        let width = i64::from(element_type.byte_width());
        let view = |strides: [i64; 2], offset: i64| {
            StridedView::new(element_type, &[rows, columns], &strides, offset).unwrap()
        };
        let pitch = columns * width + 24;
        let sources = [
            view([pitch, width], 0),
            view([-pitch, width], (rows - 1) * pitch + 3),
            view([2 * columns * width, -2 * width], 2 * columns * width),
            view([0, width], 5),
            view([width, 0], 0),
            view([width, rows * width], 1),
        ];
        let destinations = [
            view([pitch, width], 16),
            view([-width, rows * width + 8], (rows - 1) * width),
            view([3 * columns * width, 3 * width], 1),
        ];
        for from in &sources {
            let source = bytes(from.buffer_bytes() as usize);
            for to in &destinations {
                let before = vec![oracle::SENTINEL; to.buffer_bytes() as usize + 7];
                let expected = naive(from, &source, to, &before, 128);
                for threads in [1, 3] {
                    let moved = run(from, &source, to, &before, threads);
                    assert!(moved == expected, "{from:?} to {to:?}, {threads} threads");
                }
            }
        }
        let name = element_type.name();
        let tiled = array(&format!("{name}[{rows},{columns}]{{0,1:T(8,128)}}"));
        let whole = vec![0; tiled.allocated_bytes().unwrap() as usize];
        let source = bytes(sources[1].buffer_bytes() as usize);
        let before = vec![oracle::SENTINEL; destinations[1].buffer_bytes() as usize];
        let expected = naive(&sources[1], &source, &destinations[1], &before, 128);
        for threads in [1, 3] {
            let laid_out = run(&sources[1], &source, &tiled, &whole, threads);
            let moved = run(&tiled, &laid_out, &destinations[1], &before, threads);
            assert!(moved == expected, "{tiled}, {threads} threads");
        }
    }
}
