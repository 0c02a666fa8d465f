//! The naive relayout for arrays of many millions of elements.
//!
//! Without `*` tiles an element's position is a sum of one part a dimension, since every digit of
//! it comes from one dimension's index. So the naive [`oracle`] is asked for every index of
//! each dimension, the others 0, and the tables are added up. Whether the sum is right is asked of
//! the oracle again, at indices all over the array.

use minormajor_core::{ArrayShape, PaddingValue, TileDimension};

use crate::numbers::Conversion;
use crate::oracle;

/// Where each index of each dimension lies: tables of positions to add up.
struct Tables(Vec<Vec<i64>>);

impl Tables {
    fn new(shape: &ArrayShape) -> Tables {
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
                oracle::position(shape, &index)
            });
            positions.collect()
        };
        let tables = Tables((0..sizes.len()).map(along).collect());
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
            let sum: i64 = self
                .0
                .iter()
                .zip(&index)
                .map(|(table, &value)| table[value as usize])
                .sum();
            assert_eq!(sum, oracle::position(shape, &index), "{shape} at {index:?}");
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

/// The same, with every element's value converted.
///
/// # Panics
///
/// As [`relayout`].
pub fn converting(
    source_shape: &ArrayShape,
    source: &[u8],
    destination_shape: &ArrayShape,
    destination: &mut [u8],
    conversion: &Conversion,
) {
    for (shape, bytes) in [
        (source_shape, source.len()),
        (destination_shape, destination.len()),
    ] {
        let width = 8 * i64::from(shape.element_type().byte_width());
        assert!(
            shape.element_bits() <= width,
            "{shape}: no more bits than the type has"
        );
        assert_eq!(
            shape.allocated_bytes(),
            Some(bytes as i64),
            "{shape}: bytes"
        );
    }
    let layout = destination_shape.layout().expect("a layout");
    let value = match layout.padded_dimensions() {
        [] => PaddingValue::Zero,
        _ => layout.padding_value().unwrap_or(PaddingValue::Zero),
    };
    let padding = destination_shape
        .element_type()
        .padding_bytes(value)
        .expect("a padding value");
    let [from_bits, bits] =
        [source_shape, destination_shape].map(|shape| shape.element_bits() as usize);
    let padding = conversion.arranged(u128::from_le_bytes(padding));
    for at in 0..8 * destination.len() / bits {
        oracle::set_bits(destination, at * bits, bits, padding);
    }
    // What packed elements leave of the last byte.
    let end = destination_shape.allocated_elements().expect("sizes") as usize * bits;
    oracle::set_bits(destination, end, 8 * destination.len() - end, 0);

    let [from, to] = [source_shape, destination_shape].map(|shape| Tables::new(shape).0);
    if from.iter().any(Vec::is_empty) {
        return;
    }
    // The dimension that moves least in the destination is the inner loop: that changes nothing
    // but the time.
    let mut order: Vec<usize> = (0..to.len()).collect();
    order.sort_by_key(|&dimension| std::cmp::Reverse(to[dimension].get(1).copied()));
    let loops: Vec<[&[i64]; 2]> = order
        .iter()
        .map(|&dimension| [&from[dimension][..], &to[dimension][..]])
        .collect();
    let is_copy = bits % 8 == 0 && from_bits == bits && conversion.is_none();
    let width = bits / 8;
    let mut put = |at: i64, to: i64| {
        if is_copy {
            let (at, to) = (at as usize * width, to as usize * width);
            destination[to..to + width].copy_from_slice(&source[at..at + width]);
        } else {
            let value = oracle::bits(source, at as usize * from_bits, from_bits);
            oracle::set_bits(destination, to as usize * bits, bits, conversion.of(value));
        }
    };
    walk(&loops, 0, 0, &mut put);
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
        Tables::new(shape.as_array().unwrap());
    }
}
