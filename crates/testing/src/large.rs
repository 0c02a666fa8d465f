//! The naive relayout for arrays and strided views of many millions of elements.
//!
//! Without `*` tiles an element's position is a sum of one part a dimension, since every digit of
//! it comes from one dimension's index. So the naive [`oracle`] is asked for every index of
//! each dimension, the others 0, and the tables are added up. Whether the sum is right is asked of
//! the oracle again, at indices all over the array.

use minormajor_core::{ArrayShape, PaddingValue, Place, StridedView, TileDimension};

use crate::numbers::Conversion;
use crate::oracle;

/// Where each index of each dimension lies, in bits: tables of positions to add up.
struct Tables {
    /// Where the element of index 0, 0, .. lies.
    base: i64,
    dimensions: Vec<Vec<i64>>,
}

impl Tables {
    fn new(place: Place<'_>) -> Tables {
        match place {
            Place::Array(shape) => Tables::of_array(shape),
            Place::Strided(view) => Tables::of_view(view),
        }
    }

    fn of_view(view: &StridedView) -> Tables {
        let step = view.packed_bits().map_or(8, i64::from);
        let along =
            |(&size, &stride): (&i64, &i64)| (0..size).map(|value| value * stride * step).collect();
        Tables {
            base: view.offset() * step,
            dimensions: view.sizes().iter().zip(view.strides()).map(along).collect(),
        }
    }

    fn of_array(shape: &ArrayShape) -> Tables {
        let sizes = shape.sizes().expect("sizes");
        let layout = shape.layout().expect("a layout");
        let combines =
            |tile: &minormajor_core::Tile| tile.dimensions().contains(&TileDimension::Combine);
        assert!(
            !layout.tiles().iter().any(combines),
            "{shape}: dimensions that `*` combines have no tables of their own"
        );
        let along = |dimension: usize| {
            let mut index = vec![0; sizes.len()];
            let positions = (0..sizes[dimension]).map(move |value| {
                index[dimension] = value;
                oracle::position(shape, &index) * shape.element_bits()
            });
            positions.collect()
        };
        let tables = Tables {
            base: 0,
            dimensions: (0..sizes.len()).map(along).collect(),
        };
        tables.check(shape, &sizes);
        tables
    }

    /// Asks the oracle at indices all over the array, the last one among them.
    fn check(&self, shape: &ArrayShape, sizes: &[i64]) {
        if sizes.contains(&0) {
            return;
        }
        for n in 0..1000u64 {
            let mut rest = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut index: Vec<i64> = sizes.iter().map(|size| size - 1).collect();
            if n > 0 {
                for (value, size) in index.iter_mut().zip(sizes) {
                    rest ^= rest >> 29;
                    *value = (rest % *size as u64) as i64;
                    rest = rest.wrapping_mul(0xbf58_476d_1ce4_e5b9);
                }
            }
            let parts = self.dimensions.iter().zip(&index);
            let sum: i64 = parts.map(|(table, &value)| table[value as usize]).sum();
            let position = oracle::position(shape, &index) * shape.element_bits();
            assert_eq!(sum, position, "{shape} at {index:?}");
        }
    }
}

/// The relayout of `source`, element by element, into `destination`: all of its bytes, so the
/// padding's value must not be `unknown`.
///
/// # Panics
///
/// For layouts with `*` tiles, elements that are stored wider than their type, and buffers of
/// other lengths than the shapes'.
pub fn relayout(
    source_shape: &ArrayShape,
    source: &[u8],
    destination_shape: &ArrayShape,
    destination: &mut [u8],
) {
    let none = Conversion::none(source_shape.element_type());
    converting(source_shape, source, destination_shape, destination, &none);
}

/// The same, with every element's value converted, between arrays and strided views. What lies between a view's elements is
/// left as it is.
///
/// # Panics
///
/// As [`relayout`].
pub fn converting<'a>(
    from: impl Into<Place<'a>>,
    source: &[u8],
    to: impl Into<Place<'a>>,
    destination: &mut [u8],
    conversion: &Conversion,
) {
    let (from, to) = (from.into(), to.into());
    let [from_bits, bits] =
        [(from, source.len()), (to, destination.len())].map(|(place, bytes)| bits(place, bytes));
    if let Place::Array(shape) = to {
        pad(shape, destination, conversion);
    }
    let [from, to] = [from, to].map(Tables::new);
    if from.dimensions.iter().any(Vec::is_empty) {
        return;
    }
    // The dimension that moves least in the destination is the inner loop: that changes nothing
    // but the time.
    let mut order: Vec<usize> = (0..to.dimensions.len()).collect();
    order.sort_by_key(|&dimension| std::cmp::Reverse(to.dimensions[dimension].get(1).copied()));
    let loops: Vec<[&[i64]; 2]> = order
        .iter()
        .map(|&dimension| [&from.dimensions[dimension][..], &to.dimensions[dimension]])
        .collect();
    let is_copy = bits % 8 == 0 && from_bits == bits && conversion.is_none();
    let width = bits / 8;
    let mut put = |at: i64, to: i64| {
        let (at, to) = (at as usize, to as usize);
        if is_copy {
            let (at, to) = (at / 8, to / 8);
            destination[to..to + width].copy_from_slice(&source[at..at + width]);
        } else {
            let value = oracle::bits(source, at, from_bits);
            oracle::set_bits(destination, to, bits, conversion.of(value));
        }
    };
    walk(&loops, from.base, to.base, &mut put);
}

/// The bits of an element, of a place in a buffer of so many bytes.
fn bits(place: Place<'_>, bytes: usize) -> usize {
    let width = 8 * i64::from(place.element_type().byte_width());
    let (bits, expected) = match place {
        Place::Array(shape) => (shape.element_bits(), shape.allocated_bytes()),
        Place::Strided(view) => (
            view.packed_bits().map_or(width, i64::from),
            Some(view.buffer_bytes()),
        ),
    };
    assert!(bits <= width, "{place:?}: no more bits than the type has");
    assert_eq!(expected, Some(bytes as i64), "{place:?}: bytes");
    bits as usize
}

/// Padding everywhere.
fn pad(shape: &ArrayShape, destination: &mut [u8], conversion: &Conversion) {
    let layout = shape.layout().expect("a layout");
    let value = match layout.padded_dimensions() {
        [] => PaddingValue::Zero,
        _ => layout.padding_value().unwrap_or(PaddingValue::Zero),
    };
    let padding = shape.element_type().padding_bytes(value);
    let padding = conversion.arranged(u128::from_le_bytes(padding.expect("a padding value")));
    let bits = shape.element_bits() as usize;
    for at in 0..8 * destination.len() / bits {
        oracle::set_bits(destination, at * bits, bits, padding);
    }
    // What packed elements leave of the last byte.
    let end = shape.allocated_elements().expect("sizes") as usize * bits;
    oracle::set_bits(destination, end, 8 * destination.len() - end, 0);
}

/// Calls `put` with both positions of every element.
fn walk(loops: &[[&[i64]; 2]], at: i64, to: i64, put: &mut impl FnMut(i64, i64)) {
    match loops {
        [] => put(at, to),
        [[from_table, to_table]] => {
            for (a, b) in from_table.iter().zip(*to_table) {
                put(at + a, to + b);
            }
        }
        [[from_table, to_table], rest @ ..] => {
            for (a, b) in from_table.iter().zip(*to_table) {
                walk(rest, at + a, to + b, put);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use minormajor_core::Shape;

    use super::*;

    /// Against the oracle that goes index by index.
    #[test]
    fn both_oracles_agree() {
        for (from, to) in [
            ("f32[]", "f32[]"),
            ("u16[0,3]", "u16[0,3]{0,1:PAD(2,5)}"),
            ("u8[7,11]", "u8[7,11]{0,1}"),
            ("u16[5,1,6]{1,0,2}", "u16[5,1,6]{0,2,1:PAD(5,2,9;highest)}"),
            ("f32[13,17]{1,0:T(4,8)}", "f32[13,17]{1,0:T(3,5)(2,1)}"),
            ("bf16[16,40]", "bf16[16,40]{1,0:T(8,16)(2,1)}"),
            ("f32[2,20,3,5]", "f32[2,20,3,5]{3,2,1,0:T(16,1,1)}"),
            ("c128[3,5]{0,1:L(7)PAD(4,6)}", "c128[3,5]{1,0:L(64)}"),
            ("u4[5,7]{1,0:E(4)}", "u4[5,7]{0,1:E(4)PAD(6,7;one)}"),
            ("u1[5,7]{1,0:E(1)}", "u1[5,7]{0,1}"),
            ("s2[5,7]", "s2[5,7]{0,1:T(2,4)E(2)}"),
            ("f32[5,7]", "bf16[5,7]{0,1:T(2,4)}"),
        ] {
            let [from, to] = [from, to].map(|text| {
                let shape: Shape = text.parse().unwrap();
                shape.as_array().unwrap().clone()
            });
            let source = oracle::elements(&from);
            let mut found = vec![oracle::SENTINEL; to.allocated_bytes().unwrap() as usize];
            let conversion = Conversion {
                to: to.element_type(),
                ..Conversion::none(from.element_type())
            };
            let expected = oracle::converting(&from, &source, &to, &found, &conversion);
            converting(&from, &source, &to, &mut found, &conversion);
            assert_eq!(found, expected, "{from} to {to}");
        }
    }

    #[test]
    #[should_panic(expected = "`*` combines")]
    fn combined_dimensions_have_no_tables() {
        let shape: Shape = "f32[6,10]{1,0:T(*,4)}".parse().unwrap();
        Tables::new(shape.as_array().unwrap().into());
    }

    /// A part of an array to a part of another, a mirrored one and a repeated one, by hand.
    #[test]
    fn views_are_moved_and_nothing_else() {
        let u16s = |sizes: &[i64], strides: &[i64], offset| {
            StridedView::new(minormajor_core::ElementType::U16, sizes, strides, offset).unwrap()
        };
        let none = Conversion::none(minormajor_core::ElementType::U16);
        let source: Vec<u8> = (1..=14).collect();
        for (from, to, expected) in [
            (
                u16s(&[2, 2], &[8, 2], 2),
                u16s(&[2, 2], &[2, 6], 1),
                [0, 3, 4, 11, 12, 0, 0, 5, 6, 13, 14],
            ),
            (
                u16s(&[2, 2], &[-6, 2], 7),
                u16s(&[2, 2], &[6, 2], 1),
                [0, 8, 9, 10, 11, 0, 0, 2, 3, 4, 5],
            ),
            (
                u16s(&[2, 2], &[0, 4], 0),
                u16s(&[2, 2], &[6, 2], 1),
                [0, 1, 2, 5, 6, 0, 0, 1, 2, 5, 6],
            ),
        ] {
            let mut found = [0; 11];
            let read = from.buffer_bytes() as usize;
            converting(&from, &source[..read], &to, &mut found, &none);
            assert_eq!(found, expected, "{from:?} to {to:?}");
        }
    }
}
