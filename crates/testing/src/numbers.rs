//! Naive conversions of numbers: by value, in the order of the candidates, with no arithmetic on exponents that a
//! conversion would do.

use minormajor_core::plan::{ByteOrder, ByteOrders};
use minormajor_core::{ElementKind, ElementType};

/// What becomes of every element's value.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    /// The source's type.
    pub from: ElementType,
    /// The destination's.
    pub to: ElementType,
    /// In which order they hold their bytes.
    pub orders: ByteOrders,
}

impl Conversion {
    /// None at all.
    pub fn none(element_type: ElementType) -> Conversion {
        Conversion {
            from: element_type,
            to: element_type,
            orders: ByteOrders::default(),
        }
    }

    /// Whether nothing becomes of them.
    pub fn is_none(&self) -> bool {
        self.from == self.to && self.orders.source == self.orders.destination
    }

    /// An element as the destination holds it, read as a little-endian number; so is the source's.
    pub fn of(&self, element: u128) -> u128 {
        let value = arranged(self.from, self.orders.source, element);
        self.arranged(convert(self.from, self.to, value))
    }

    /// A value of the destination's type in its byte order.
    pub fn arranged(&self, value: u128) -> u128 {
        arranged(self.to, self.orders.destination, value)
    }
}

/// An element in another byte order, or back: the parts of a complex number stay in theirs.
fn arranged(element_type: ElementType, order: ByteOrder, element: u128) -> u128 {
    if order == ByteOrder::Little {
        return element;
    }
    let width = element_type.byte_width() as usize;
    let part = match element_type.kind() {
        ElementKind::Complex(_) => width / 2,
        _ => width,
    };
    let mut bytes = element.to_le_bytes();
    for part in bytes[..width].chunks_mut(part) {
        part.reverse();
    }
    u128::from_le_bytes(bytes)
}

/// Bits of the fraction of a number of f32, f16 or bf16, and of all but its sign.
fn fraction_bits(element_type: ElementType) -> (u32, u32) {
    match element_type {
        ElementType::F32 => (23, 31),
        ElementType::F16 => (10, 15),
        ElementType::Bf16 => (7, 15),
        other => panic!("{other}: no number that is converted"),
    }
}

/// The value of a number without its sign, as if no exponent stood for infinities and NaNs.
pub fn magnitude(element_type: ElementType, bits: u32) -> f64 {
    let (fraction, all) = fraction_bits(element_type);
    let bias = (1 << (all - fraction - 1)) - 1;
    let exponent = (bits >> fraction) as i32;
    let below_one = f64::from(bits & ((1 << fraction) - 1)) / f64::from(1u32 << fraction);
    match exponent {
        0 => below_one * 2f64.powi(1 - bias),
        _ => (1.0 + below_one) * 2f64.powi(exponent - bias),
    }
}

/// The bits of an infinity without its sign; what is above is a NaN.
fn infinity(element_type: ElementType) -> u32 {
    let (fraction, all) = fraction_bits(element_type);
    (1 << all) - (1 << fraction)
}

/// A number of one type as one of another: the nearest, of two equally near ones the even one; NaNs are quiet, with the
/// sign and the first bits of the fraction.
pub fn convert(from: ElementType, to: ElementType, value: u128) -> u128 {
    if from == to {
        return value;
    }
    let bits = value as u32;
    let ((from_fraction, from_all), (to_fraction, to_all)) =
        (fraction_bits(from), fraction_bits(to));
    let sign = u128::from(bits >> from_all) << to_all;
    let bits = bits & ((1 << from_all) - 1);
    let infinite = infinity(to);
    if bits > infinity(from) {
        // The fraction's first bit says quiet.
        let fraction = u64::from(bits & ((1 << from_fraction) - 1)) << 32 >> from_fraction;
        let fraction = (fraction << to_fraction >> 32) as u32 | 1 << (to_fraction - 1);
        return sign | u128::from(infinite | fraction);
    }
    if bits == infinity(from) {
        return sign | u128::from(infinite);
    }
    let size = magnitude(from, bits);
    // The last candidate that is not above; infinity takes the place of the next power of two.
    let (mut low, mut high) = (0, infinite);
    if size >= magnitude(to, infinite) {
        return sign | u128::from(infinite);
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        match magnitude(to, middle) <= size {
            true => low = middle,
            false => high = middle,
        }
    }
    // Half a last place more than `low`: at most 25 bits, so exact.
    let half_way = (magnitude(to, low) + magnitude(to, high)) / 2.0;
    let up = size > half_way || size == half_way && low % 2 == 1;
    sign | u128::from(if up { high } else { low })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{Bf16, F16, F32};

    /// Against figures of IEEE 754 and of bfloat16's definition.
    #[test]
    fn numbers_are_those_of_the_standards() {
        let f32_bits = |value: f32| u128::from(value.to_bits());
        for (value, half, bfloat) in [
            (0.0f32, 0x0000, 0x0000),
            (-0.0, 0x8000, 0x8000),
            (1.0, 0x3c00, 0x3f80),
            (-2.0, 0xc000, 0xc000),
            (65504.0, 0x7bff, 0x4780),
            (65519.996, 0x7bff, 0x4780),
            (65520.0, 0x7c00, 0x4780),
            (1.0 + 1.0 / 2048.0, 0x3c00, 0x3f80),
            (1.0 + 3.0 / 2048.0, 0x3c02, 0x3f80),
            (1.0 + 1.0 / 256.0, 0x3c04, 0x3f80),
            (1.0 + 3.0 / 256.0, 0x3c0c, 0x3f82),
            (5.960_464_5e-8, 0x0001, 0x3380),
            (2.980_232_2e-8, 0x0000, 0x3300),
            (3.0e-8, 0x0001, 0x3301),
            (f32::MAX, 0x7c00, 0x7f80),
            (f32::INFINITY, 0x7c00, 0x7f80),
            (f32::from_bits(1), 0x0000, 0x0000),
            (f32::from_bits(0x8001), 0x0000, 0x0001),
            (f32::from_bits(0xffc0_0000), 0xfe00, 0xffc0),
            (f32::from_bits(0x7f80_0001), 0x7e00, 0x7fc0),
            (f32::from_bits(0x7fbf_ffff), 0x7fff, 0x7fff),
        ] {
            let bits = f32_bits(value);
            assert_eq!(convert(F32, F16, bits), half, "{value} to f16");
            assert_eq!(convert(F32, Bf16, bits), bfloat, "{value} to bf16");
        }
        assert_eq!(convert(F16, F32, 0x0001), f32_bits(5.960_464_5e-8));
        assert_eq!(
            convert(Bf16, F32, 0x0001),
            f32_bits(f32::from_bits(0x1_0000))
        );
        assert_eq!(convert(F16, F32, 0xfd01), 0xffe0_2000);
        assert_eq!(convert(Bf16, F16, 0x4780), 0x7c00);
    }

    #[test]
    fn complex_parts_stay_in_their_order() {
        let swapped = Conversion {
            orders: ByteOrders {
                source: ByteOrder::Big,
                destination: ByteOrder::Little,
            },
            ..Conversion::none(ElementType::C64)
        };
        assert_eq!(swapped.of(0x0102_0304_0506_0708), 0x0403_0201_0807_0605);
    }
}
