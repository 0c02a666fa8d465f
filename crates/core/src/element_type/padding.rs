//! The bytes of padding values.

use super::{ElementKind, ElementType, FloatFormat, SpecialValues};
use crate::layout::PaddingValue;

impl ElementType {
    /// The bytes of a padding value as an unpacked element of this type, little-endian; the
    /// first [`byte_width`](Self::byte_width) count. `None` where the type lacks the value:
    /// one in `s1`, zero in `f8e8m0fnu`, lowest and highest of a complex type. `unknown` has
    /// no bytes either.
    ///
    /// Lowest and highest are minus and plus infinity where the type has them, else its finite
    /// extremes; false and true for `pred`. One is 1 + 0i for a complex type. Of a byte that
    /// holds a narrower value the higher bits are zero, as XLA's `UnpackIntN` and ml_dtypes
    /// (0.4 to 0.6) leave them: -8 in `s4` is 0x08.
    ///
    /// ```
    /// use minormajor_core::{ElementType, PaddingValue};
    ///
    /// let highest = ElementType::F32.padding_bytes(PaddingValue::Highest).unwrap();
    /// assert_eq!(f32::from_le_bytes(highest[..4].try_into().unwrap()), f32::INFINITY);
    /// assert_eq!(ElementType::C64.padding_bytes(PaddingValue::Lowest), None);
    /// ```
    pub fn padding_bytes(self, value: PaddingValue) -> Option<[u8; 16]> {
        let bits = self.bit_width();
        let pattern: u128 = match (self.kind(), value) {
            (_, PaddingValue::Unknown) => return None,
            (ElementKind::Predicate, PaddingValue::Zero | PaddingValue::Lowest) => 0,
            (ElementKind::Predicate, PaddingValue::One | PaddingValue::Highest) => 1,
            (ElementKind::SignedInteger, PaddingValue::One) if bits == 1 => return None,
            (ElementKind::SignedInteger, PaddingValue::Lowest) => 1 << (bits - 1),
            (ElementKind::SignedInteger, PaddingValue::Highest) => (1 << (bits - 1)) - 1,
            (ElementKind::UnsignedInteger, PaddingValue::Highest) => (1 << bits) - 1,
            (ElementKind::UnsignedInteger, PaddingValue::Lowest) => 0,
            (ElementKind::SignedInteger | ElementKind::UnsignedInteger, PaddingValue::Zero) => 0,
            (ElementKind::SignedInteger | ElementKind::UnsignedInteger, PaddingValue::One) => 1,
            (ElementKind::Float(format), value) => format.pattern(value)?,
            (ElementKind::Complex(format), PaddingValue::Zero | PaddingValue::One) => {
                format.pattern(value)?
            }
            (ElementKind::Complex(_), PaddingValue::Lowest | PaddingValue::Highest) => return None,
        };
        Some(pattern.to_le_bytes())
    }
}

impl FloatFormat {
    /// The bits of a padding value in this format.
    fn pattern(self, value: PaddingValue) -> Option<u128> {
        let magnitude = self.exponent_bits + self.fraction_bits;
        let all_ones: u128 = (1 << magnitude) - 1;
        let sign: u128 = 1 << magnitude;
        let largest = match self.special {
            // Infinity: exponent ones, fraction zero.
            SpecialValues::Ieee => all_ones - ((1 << self.fraction_bits) - 1),
            SpecialValues::FiniteWithNan | SpecialValues::ExponentOnly => all_ones - 1,
            SpecialValues::UnsignedZero | SpecialValues::Finite => all_ones,
        };
        let exponent_only = self.special == SpecialValues::ExponentOnly;
        match value {
            PaddingValue::Zero if exponent_only => None,
            PaddingValue::Zero => Some(0),
            PaddingValue::One => Some(u128::from(self.bias) << self.fraction_bits),
            PaddingValue::Lowest if exponent_only => Some(0),
            PaddingValue::Lowest => Some(sign | largest),
            PaddingValue::Highest => Some(largest),
            PaddingValue::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_bytes_are_the_values() {
        use PaddingValue::*;
        let byte = |element_type: ElementType, value| {
            element_type.padding_bytes(value).map(|bytes| bytes[0])
        };
        // Rows: zero, one, lowest, highest, as ml_dtypes encodes them.
        for (element_type, expected) in [
            (ElementType::Pred, [Some(0), Some(1), Some(0), Some(1)]),
            (ElementType::S8, [Some(0), Some(1), Some(0x80), Some(0x7f)]),
            (ElementType::U8, [Some(0), Some(1), Some(0), Some(0xff)]),
            (ElementType::S4, [Some(0), Some(1), Some(8), Some(7)]),
            (ElementType::U4, [Some(0), Some(1), Some(0), Some(15)]),
            (ElementType::S1, [Some(0), None, Some(1), Some(0)]),
            (ElementType::U1, [Some(0), Some(1), Some(0), Some(1)]),
            (
                ElementType::F8e5m2,
                [Some(0), Some(0x3c), Some(0xfc), Some(0x7c)],
            ),
            (
                ElementType::F8e4m3,
                [Some(0), Some(0x38), Some(0xf8), Some(0x78)],
            ),
            (
                ElementType::F8e4m3fn,
                [Some(0), Some(0x38), Some(0xfe), Some(0x7e)],
            ),
            (
                ElementType::F8e4m3b11fnuz,
                [Some(0), Some(0x58), Some(0xff), Some(0x7f)],
            ),
            (
                ElementType::F8e4m3fnuz,
                [Some(0), Some(0x40), Some(0xff), Some(0x7f)],
            ),
            (
                ElementType::F8e5m2fnuz,
                [Some(0), Some(0x40), Some(0xff), Some(0x7f)],
            ),
            (
                ElementType::F8e3m4,
                [Some(0), Some(0x30), Some(0xf0), Some(0x70)],
            ),
            (
                ElementType::F8e8m0fnu,
                [None, Some(0x7f), Some(0), Some(0xfe)],
            ),
            (
                ElementType::F4e2m1fn,
                [Some(0), Some(2), Some(0xf), Some(7)],
            ),
            (
                ElementType::F6e3m2fn,
                [Some(0), Some(0x0c), Some(0x3f), Some(0x1f)],
            ),
            (
                ElementType::F6e2m3fn,
                [Some(0), Some(0x08), Some(0x3f), Some(0x1f)],
            ),
            (ElementType::C64, [Some(0), Some(0), None, None]),
        ] {
            let found = [Zero, One, Lowest, Highest].map(|value| byte(element_type, value));
            assert_eq!(found, expected, "{element_type}");
        }
        let one = ElementType::C128.padding_bytes(One).unwrap();
        assert_eq!(f64::from_le_bytes(one[..8].try_into().unwrap()), 1.0);
        assert_eq!(one[8..], [0; 8]);
        let lowest = ElementType::S64.padding_bytes(Lowest).unwrap();
        assert_eq!(
            i64::from_le_bytes(lowest[..8].try_into().unwrap()),
            i64::MIN
        );
        let lowest = ElementType::Bf16.padding_bytes(Lowest).unwrap();
        assert_eq!(lowest[..2], [0x80, 0xff]);
    }
}
