//! Naive answers: the rule for tiled positions word for word, a relayout index by index, and
//! a plan run loop by loop.

use minormajor_core::plan::GeneralValue;
use minormajor_core::{ArrayShape, Layout, PaddingValue, Plan, TileDimension};

use crate::numbers::Conversion;

/// What [`elements`] puts into padding.
pub const SENTINEL: u8 = 0xee;

fn layout(shape: &ArrayShape) -> &Layout {
    shape.layout().expect("the oracle needs a layout")
}

/// The sizes of the physical dimensions and the index in them, major to minor, after padding and
/// tiles: XLA's rule, applied to lists.
fn expand(shape: &ArrayShape, index: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let layout = layout(shape);
    let sizes = shape.sizes().expect("the oracle needs sizes");
    let order: Vec<usize> = layout.minor_to_major().iter().rev().copied().collect();
    let padded = |dimension: usize| match layout.padded_dimensions() {
        [] => sizes[dimension],
        padded => padded[dimension],
    };
    let mut d: Vec<i64> = order.iter().map(|&dimension| padded(dimension)).collect();
    let mut e: Vec<i64> = order.iter().map(|&dimension| index[dimension]).collect();
    for tile in layout.tiles() {
        let tile = tile.dimensions();
        while d.len() < tile.len() {
            d.insert(0, 1);
            e.insert(0, 0);
        }
        let prefix = d.len() - tile.len();
        let (mut kept_d, mut kept_e, mut kept_t) = (Vec::new(), Vec::new(), Vec::new());
        // What `*` dimensions carry into the next more minor one.
        let (mut size, mut value) = (1, 0);
        for (place, &dimension) in tile.iter().enumerate() {
            size *= d[prefix + place];
            value = value * d[prefix + place] + e[prefix + place];
            let t = match dimension {
                TileDimension::Size(t) => t,
                TileDimension::Combine if place + 1 < tile.len() => continue,
                TileDimension::Combine => 1,
            };
            kept_d.push(size);
            kept_e.push(value);
            kept_t.push(t);
            (size, value) = (1, 0);
        }
        d.truncate(prefix);
        e.truncate(prefix);
        for (&size, &t) in kept_d.iter().zip(&kept_t) {
            d.push((size + t - 1) / t);
        }
        d.extend(&kept_t);
        for (&value, &t) in kept_e.iter().zip(&kept_t) {
            e.push(value / t);
        }
        for (&value, &t) in kept_e.iter().zip(&kept_t) {
            e.push(value % t);
        }
    }
    (d, e)
}

/// The position of an element.
pub fn position(shape: &ArrayShape, index: &[i64]) -> i64 {
    let (d, e) = expand(shape, index);
    d.iter()
        .zip(&e)
        .fold(0, |position, (size, value)| position * size + value)
}

/// The elements that the array allocates.
pub fn allocated_elements(shape: &ArrayShape) -> i64 {
    let (d, _) = expand(shape, &vec![0; shape.rank()]);
    let alignment = layout(shape).tail_padding_alignment();
    (d.iter().product::<i64>() + alignment - 1) / alignment * alignment
}

/// All indices of an array, the last dimension fastest.
pub fn indices(sizes: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    for &size in sizes {
        all = all
            .iter()
            .flat_map(|index: &Vec<i64>| {
                (0..size).map(move |value| [index.as_slice(), &[value]].concat())
            })
            .collect();
    }
    all
}

/// The bits `at..at + width` of a buffer, the lowest of a byte first, as a number.
pub fn bits(buffer: &[u8], at: usize, width: usize) -> u128 {
    if at.is_multiple_of(8) && width.is_multiple_of(8) {
        let mut bytes = [0; 16];
        bytes[..width / 8].copy_from_slice(&buffer[at / 8..][..width / 8]);
        return u128::from_le_bytes(bytes);
    }
    (0..width)
        .map(|bit| u128::from(buffer[(at + bit) / 8] >> ((at + bit) % 8) & 1) << bit)
        .sum()
}

/// Sets the bits `at..at + width` of a buffer to those of a number.
pub fn set_bits(buffer: &mut [u8], at: usize, width: usize, value: u128) {
    if at.is_multiple_of(8) && width.is_multiple_of(8) {
        let place = &mut buffer[at / 8..][..width / 8];
        let bytes = value.to_le_bytes();
        for (i, byte) in place.iter_mut().enumerate() {
            *byte = *bytes.get(i).unwrap_or(&0);
        }
        return;
    }
    for bit in 0..width {
        let byte = &mut buffer[(at + bit) / 8];
        let mask = 1 << ((at + bit) % 8);
        let is_set = bit < 128 && value >> bit & 1 == 1;
        *byte = *byte & !mask | if is_set { mask } else { 0 };
    }
}

fn stored_bits(shape: &ArrayShape) -> usize {
    usize::try_from(shape.element_bits()).expect("a small element")
}

/// Bits of an element that its value takes, from the lowest on: all of a packed one.
fn value_bits(shape: &ArrayShape) -> usize {
    stored_bits(shape).min(8 * shape.element_type().byte_width() as usize)
}

/// A buffer of the array's layout with elements that are all distinct as far as their width
/// allows: element number n of the row-major order has the low bits of a number made from n.
/// Bits that belong to no value are those of [`SENTINEL`].
pub fn elements(shape: &ArrayShape) -> Vec<u8> {
    let (stored, width) = (stored_bits(shape), value_bits(shape));
    let mut buffer = vec![SENTINEL; (allocated_elements(shape) as usize * stored).div_ceil(8)];
    for (n, index) in indices(&shape.sizes().expect("sizes")).iter().enumerate() {
        let at = position(shape, index) as usize * stored;
        // Odd factors are permutations of the numbers of any width.
        let low = (n as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        // Low bits alone would repeat after a few elements.
        let value = if width < 8 { low >> 61 } else { low };
        set_bits(&mut buffer, at, width, value);
    }
    buffer
}

/// The relayout of `source`, index by index. Padding of the value `unknown` keeps what `before`
/// holds.
pub fn relayout(
    source_shape: &ArrayShape,
    source: &[u8],
    destination_shape: &ArrayShape,
    before: &[u8],
) -> Vec<u8> {
    let none = Conversion::none(source_shape.element_type());
    converting(source_shape, source, destination_shape, before, &none)
}

/// The same, with every element's value converted.
pub fn converting(
    source_shape: &ArrayShape,
    source: &[u8],
    destination_shape: &ArrayShape,
    before: &[u8],
    conversion: &Conversion,
) -> Vec<u8> {
    let (from, to) = (stored_bits(source_shape), stored_bits(destination_shape));
    let (read, kept) = (value_bits(source_shape), value_bits(destination_shape));
    let layout = layout(destination_shape);
    let value = match layout.padded_dimensions() {
        [] => PaddingValue::Zero,
        _ => layout.padding_value().unwrap_or(PaddingValue::Zero),
    };
    let mut destination = before.to_vec();
    let allocated = allocated_elements(destination_shape) as usize;
    if value != PaddingValue::Unknown {
        let bytes = destination_shape.element_type().padding_bytes(value);
        let bytes = conversion.arranged(u128::from_le_bytes(bytes.unwrap_or([0; 16])));
        for position in 0..allocated {
            set_bits(&mut destination, position * to, to, 0);
            set_bits(&mut destination, position * to, kept, bytes);
        }
    }
    // What packed elements leave of the last byte.
    let end = (allocated * to).div_ceil(8) * 8;
    set_bits(&mut destination, allocated * to, end - allocated * to, 0);
    for index in indices(&source_shape.sizes().expect("sizes")) {
        let at = position(source_shape, &index) as usize * from;
        let put = position(destination_shape, &index) as usize * to;
        set_bits(&mut destination, put, to, 0);
        let value = conversion.of(bits(source, at, read));
        set_bits(&mut destination, put, kept, value);
    }
    destination
}

/// Runs a plan loop by loop, as the words of its documentation say. Also returns how often each
/// bit of the destination was written.
pub fn run(plan: &Plan, source: &[u8], before: &[u8]) -> (Vec<u8>, Vec<u32>) {
    let [from_unit, to_unit] =
        [plan.source_unit_bits(), plan.destination_unit_bits()].map(|bits| bits as usize);
    let mut destination = before.to_vec();
    let mut written = vec![0; 8 * destination.len()];
    let mut put = |at: i64, value: u128| {
        let at = at as usize * to_unit;
        set_bits(&mut destination, at, to_unit, value);
        written[at..at + to_unit]
            .iter_mut()
            .for_each(|count| *count += 1);
    };
    let read = |at: i64| bits(source, at as usize * from_unit, from_unit.min(to_unit));
    for part in plan.boxes() {
        let extents: Vec<i64> = part.loops.iter().map(|l| l.extent).collect();
        for index in indices(&extents) {
            let (mut from, mut to) = (part.source, part.destination);
            for (value, l) in index.iter().zip(part.loops.iter()) {
                from += value * l.source;
                to += value * l.destination;
            }
            put(to, read(from));
        }
    }
    for fill in plan.fills() {
        let extents: Vec<i64> = fill.loops.iter().map(|l| l.extent).collect();
        for index in indices(&extents) {
            let offset = index
                .iter()
                .zip(fill.loops.iter())
                .map(|(value, l)| value * l.destination);
            put(
                fill.destination + offset.sum::<i64>(),
                u128::from_le_bytes(fill.pattern),
            );
        }
    }
    if let Some(general) = plan.general() {
        let units = plan.destination_bytes() * 8 / to_unit as i64;
        general.for_each(0..units, |at, value| match value {
            GeneralValue::Source(from) => put(at, read(from)),
            GeneralValue::Fill(pattern) => put(at, u128::from_le_bytes(pattern)),
            GeneralValue::Leave => {}
        });
    }
    (destination, written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use minormajor_core::Shape;

    fn array(text: &str) -> ArrayShape {
        text.parse::<Shape>().unwrap().as_array().unwrap().clone()
    }

    fn positions(text: &str) -> Vec<i64> {
        let shape = array(text);
        let all = indices(&shape.sizes().unwrap());
        all.iter().map(|index| position(&shape, index)).collect()
    }

    /// Against figures that XLA's documents and unit tests state.
    #[test]
    fn positions_are_those_of_the_documents() {
        assert_eq!(positions("f32[2,3]{1,0}"), [0, 1, 2, 3, 4, 5]);
        assert_eq!(positions("f32[2,3]{0,1}"), [0, 2, 4, 1, 3, 5]);
        assert_eq!(positions("f32[2,3]{0,1:PAD(3,5)}"), [0, 3, 6, 1, 4, 7]);
        assert_eq!(
            positions("f32[3,5]{1,0:T(2,2)}"),
            [0, 1, 4, 5, 8, 2, 3, 6, 7, 10, 12, 13, 16, 17, 20]
        );
        assert_eq!(
            positions("f32[4,8]{1,0:T(2,4)(2,1)}")[..16],
            [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]
        );
        let at = |text, index: &[i64]| position(&array(text), index);
        assert_eq!(at("f32[8]{0:T(2,2)}", &[5]), 9);
        assert_eq!(at("bf16[2048]{0:T(1024)(128)(2,1)}", &[128]), 1);
        assert_eq!(at("bf16[2,8,128]{2,1,0:T(8,128)(2,1)}", &[0, 2, 0]), 256);
        let combined = "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}";
        assert_eq!(at(combined, &[1, 6, 7, 10, 9]), 12430);
        assert_eq!(allocated_elements(&array(combined)), 12432);
        assert_eq!(allocated_elements(&array("f32[5,7]{1,0:T(2,4)(3,3)}")), 108);
        assert_eq!(allocated_elements(&array("f32[5]{0:L(4)}")), 8);
        assert_eq!(allocated_elements(&array("u32[]{:T(128)}")), 128);
    }

    #[test]
    fn indices_count_the_last_dimension_fastest() {
        assert_eq!(indices(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(indices(&[]), [[0; 0]]);
        assert!(indices(&[3, 0]).is_empty());
    }

    /// The picture of XLA's page: `a d 0 b e 0 c f 0 0 0 0 0 0 0`.
    #[test]
    fn relayout_is_that_of_the_page() {
        let (from, to) = (array("u8[2,3]{1,0}"), array("u8[2,3]{0,1:PAD(3,5)}"));
        let moved = relayout(&from, b"abcdef", &to, &[SENTINEL; 15]);
        assert_eq!(moved, b"ad\0be\0cf\0\0\0\0\0\0\0");
        let to = array("u8[2,3]{0,1:PAD(3,5;unknown)}");
        let moved = relayout(&from, b"abcdef", &to, &[b'.'; 15]);
        assert_eq!(moved, b"ad.be.cf.......");
        let to = array("u8[2,3]{0,1:E(16)PAD(3,3;highest)}");
        let moved = relayout(&from, b"abcdef", &to, &[SENTINEL; 18]);
        assert_eq!(moved, b"a\0d\0\xff\0b\0e\0\xff\0c\0f\0\xff\0");
    }

    /// As jaxlib 0.10.2 packs u4 and u2: the first element in the lowest bits, zeros at the end.
    #[test]
    fn packed_elements_begin_with_the_lowest_bits() {
        let unpacked = [1, 2, 3, 0, 1, 1, 0, 1, 3];
        for (name, bits, packed) in [
            ("u4", 4, &[0x21, 0x03, 0x11, 0x10, 0x03][..]),
            ("u2", 2, &[0x39, 0x45, 0x03]),
        ] {
            let from = array(&format!("{name}[9]"));
            let to = array(&format!("{name}[9]{{0:E({bits})}}"));
            let before = vec![SENTINEL; packed.len()];
            assert_eq!(relayout(&from, &unpacked, &to, &before), packed);
            assert_eq!(relayout(&to, packed, &from, &[SENTINEL; 9]), unpacked);
        }
    }

    #[test]
    fn elements_are_distinct() {
        let shape = array("u16[31,37]{0,1:T(8,16)}");
        let buffer = elements(&shape);
        let values: std::collections::HashSet<&[u8]> = indices(&[31, 37])
            .iter()
            .map(|index| &buffer[2 * position(&shape, index) as usize..][..2])
            .collect();
        assert_eq!(values.len(), 31 * 37);
    }
}
