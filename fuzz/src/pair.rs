//! Two layouts of one small array, made from bytes.

use std::fmt;

use libfuzzer_sys::arbitrary::{Arbitrary, Error, Result, Unstructured};
use minormajor_core::{
    ArrayShape, ElementType, Layout, PaddingValue, ShapeError, Tile, TileDimension,
};

/// Most elements that either side allocates, so that a check takes little time.
const MOST_ALLOCATED: i64 = 1 << 15;

/// One small array in two layouts.
pub struct Pair {
    /// What is moved from.
    pub source: ArrayShape,
    /// What is moved to: the same element type and sizes.
    pub destination: ArrayShape,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.source, self.destination)
    }
}

impl<'a> Arbitrary<'a> for Pair {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Pair> {
        let element_type = *bytes.choose(ElementType::ALL)?;
        let rank = bytes.int_in_range(0..=4)?;
        let mut sizes: Vec<i64> = Vec::new();
        let mut left = 2048;
        for _ in 0..rank {
            let size = bytes.int_in_range(0..=left.min(60))?;
            left /= size.max(1);
            sizes.push(size);
        }
        let array = valid(ArrayShape::new(element_type, sizes.iter().copied()))?;
        let source = valid(array.with_layout(layout(bytes, &sizes)?))?;
        let destination = valid(array.with_layout(layout(bytes, &sizes)?))?;
        let is_small = |array: &ArrayShape| {
            array
                .allocated_elements()
                .is_some_and(|n| n <= MOST_ALLOCATED)
        };
        if is_small(&source) && is_small(&destination) {
            Ok(Pair {
                source,
                destination,
            })
        } else {
            Err(Error::IncorrectFormat)
        }
    }
}

/// Any layout for an array of these sizes; the array itself may still refuse it.
fn layout(bytes: &mut Unstructured<'_>, sizes: &[i64]) -> Result<Layout> {
    let rank = sizes.len();
    let mut minor_to_major: Vec<i64> = (0..rank as i64).collect();
    for place in 1..rank {
        minor_to_major.swap(place, bytes.int_in_range(0..=place)?);
    }
    let mut layout = valid(Layout::new(minor_to_major))?;
    if bytes.ratio(1, 3)? {
        let widths = sizes
            .iter()
            .map(|size| Ok(size + bytes.int_in_range(0..=7)?))
            .collect::<Result<Vec<i64>>>()?;
        let value = *bytes.choose(&[
            PaddingValue::Zero,
            PaddingValue::One,
            PaddingValue::Lowest,
            PaddingValue::Highest,
            PaddingValue::Unknown,
        ])?;
        layout = valid(layout.with_padding(widths, value))?;
    }
    let levels = bytes.int_in_range(0..=3)?;
    let tiles = (0..levels)
        .map(|_| tile(bytes, rank))
        .collect::<Result<Vec<Tile>>>()?;
    layout = valid(layout.with_tiles(tiles))?;
    if bytes.ratio(1, 6)? {
        layout = valid(layout.with_tail_padding_alignment(bytes.int_in_range(1..=16)?))?;
    }
    let element_bits = *bytes.choose(&[0, 0, 0, 0, 1, 2, 4, 8, 16, 24, 32, 64, 128])?;
    valid(layout.with_element_size_in_bits(element_bits))
}

fn tile(bytes: &mut Unstructured<'_>, rank: usize) -> Result<Tile> {
    let dimensions = bytes.int_in_range(1..=rank + 1)?;
    let dimensions = (0..dimensions)
        .map(|_| {
            Ok(if bytes.ratio(1, 10)? {
                TileDimension::Combine
            } else {
                TileDimension::Size(bytes.int_in_range(1..=12)?)
            })
        })
        .collect::<Result<Vec<TileDimension>>>()?;
    Ok(Tile::new(dimensions))
}

/// What the library refuses is no input for these targets.
fn valid<T>(made: std::result::Result<T, ShapeError>) -> Result<T> {
    made.map_err(|_| Error::IncorrectFormat)
}
