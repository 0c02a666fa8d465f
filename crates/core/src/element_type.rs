//! Element types: XLA's names, numbers and widths, and the bytes of padding values.

use std::fmt;
use std::str::FromStr;

use crate::layout::PaddingValue;

/// What the bits of an element type mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementKind {
    /// A truth value, stored in a byte.
    Predicate,
    /// A two's complement integer.
    SignedInteger,
    /// An unsigned integer.
    UnsignedInteger,
    /// A floating-point number.
    Float(FloatFormat),
    /// A real and an imaginary part, each of the given format, real part first.
    Complex(FloatFormat),
}

/// The fields of a floating-point format, in bits, from the sign down: sign, exponent, fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatFormat {
    /// Bits of the exponent.
    pub exponent_bits: u32,
    /// Bits of the fraction, without the hidden one.
    pub fraction_bits: u32,
    /// What is subtracted from the stored exponent.
    pub bias: u32,
    /// Which bit patterns are not finite numbers.
    pub special: SpecialValues,
}

/// Which bit patterns of a float format are infinities, NaNs and zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialValues {
    /// As in IEEE 754: exponent all ones is an infinity or a NaN.
    Ieee,
    /// `fn`: no infinities, NaN only where all bits but the sign are ones.
    FiniteWithNan,
    /// `fnuz`: no infinities, no negative zero; its pattern is the only NaN.
    UnsignedZero,
    /// Every pattern is a finite number.
    Finite,
    /// `e8m0fnu`: an exponent alone, without sign, zero or infinity; all ones is NaN.
    ExponentOnly,
}

const fn float(
    exponent_bits: u32,
    fraction_bits: u32,
    bias: u32,
    special: SpecialValues,
) -> FloatFormat {
    FloatFormat {
        exponent_bits,
        fraction_bits,
        bias,
        special,
    }
}

const F32: FloatFormat = float(8, 23, 127, SpecialValues::Ieee);
const F64: FloatFormat = float(11, 52, 1023, SpecialValues::Ieee);

macro_rules! element_types {
    ($($variant:ident $name:literal $number:literal $bits:literal $kind:expr;)*) => {
        /// The type of an array's elements: XLA's `PrimitiveType`, without those that are no
        /// element (tuple, token, opaque, buffer).
        ///
        /// Names, numbers and widths are those of `xla_data.proto` and `primitive_util`.
        ///
        /// ```
        /// use minormajor_core::ElementType;
        ///
        /// let element_type: ElementType = "bf16".parse()?;
        /// assert_eq!((element_type.number(), element_type.byte_width()), (16, 2));
        /// # Ok::<(), minormajor_core::UnknownElementType>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ElementType {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl ElementType {
            /// All element types, in the order of their numbers.
            pub const ALL: &[ElementType] = &[$(ElementType::$variant,)*];

            /// The lower-case name that XLA's text uses.
            pub const fn name(self) -> &'static str {
                match self { $(ElementType::$variant => $name,)* }
            }

            /// The number in XLA's `PrimitiveType` enum.
            pub const fn number(self) -> u32 {
                match self { $(ElementType::$variant => $number,)* }
            }

            /// Bits that a value has, as XLA's `BitWidth`, except the two 6-bit floats, for
            /// which XLA says 8.
            pub const fn bit_width(self) -> u32 {
                match self { $(ElementType::$variant => $bits,)* }
            }

            /// What the bits mean.
            pub const fn kind(self) -> ElementKind {
                use ElementKind::*;
                use SpecialValues::*;
                match self { $(ElementType::$variant => $kind,)* }
            }

            /// The type with this number, if it is an element type.
            pub const fn from_number(number: u64) -> Option<ElementType> {
                match number {
                    $($number => Some(ElementType::$variant),)*
                    _ => None,
                }
            }
        }

        impl FromStr for ElementType {
            type Err = UnknownElementType;

            fn from_str(name: &str) -> Result<Self, UnknownElementType> {
                match name {
                    $($name => Ok(ElementType::$variant),)*
                    _ => Err(UnknownElementType { name: name.chars().take(40).collect() }),
                }
            }
        }
    };
}

element_types! {
    Pred "pred" 1 1 Predicate;
    S8 "s8" 2 8 SignedInteger;
    S16 "s16" 3 16 SignedInteger;
    S32 "s32" 4 32 SignedInteger;
    S64 "s64" 5 64 SignedInteger;
    U8 "u8" 6 8 UnsignedInteger;
    U16 "u16" 7 16 UnsignedInteger;
    U32 "u32" 8 32 UnsignedInteger;
    U64 "u64" 9 64 UnsignedInteger;
    F16 "f16" 10 16 Float(float(5, 10, 15, Ieee));
    F32 "f32" 11 32 Float(F32);
    F64 "f64" 12 64 Float(F64);
    C64 "c64" 15 64 Complex(F32);
    Bf16 "bf16" 16 16 Float(float(8, 7, 127, Ieee));
    C128 "c128" 18 128 Complex(F64);
    F8e5m2 "f8e5m2" 19 8 Float(float(5, 2, 15, Ieee));
    F8e4m3fn "f8e4m3fn" 20 8 Float(float(4, 3, 7, FiniteWithNan));
    S4 "s4" 21 4 SignedInteger;
    U4 "u4" 22 4 UnsignedInteger;
    F8e4m3b11fnuz "f8e4m3b11fnuz" 23 8 Float(float(4, 3, 11, UnsignedZero));
    F8e5m2fnuz "f8e5m2fnuz" 24 8 Float(float(5, 2, 16, UnsignedZero));
    F8e4m3fnuz "f8e4m3fnuz" 25 8 Float(float(4, 3, 8, UnsignedZero));
    S2 "s2" 26 2 SignedInteger;
    U2 "u2" 27 2 UnsignedInteger;
    F8e4m3 "f8e4m3" 28 8 Float(float(4, 3, 7, Ieee));
    F8e3m4 "f8e3m4" 29 8 Float(float(3, 4, 3, Ieee));
    S1 "s1" 30 1 SignedInteger;
    U1 "u1" 31 1 UnsignedInteger;
    F4e2m1fn "f4e2m1fn" 32 4 Float(float(2, 1, 1, Finite));
    F8e8m0fnu "f8e8m0fnu" 33 8 Float(float(8, 0, 127, ExponentOnly));
    F6e3m2fn "f6e3m2fn" 35 6 Float(float(3, 2, 3, Finite));
    F6e2m3fn "f6e2m3fn" 36 6 Float(float(2, 3, 1, Finite));
}

impl ElementType {
    /// Bytes that a value takes in memory when elements are not packed: the bit width rounded
    /// up, so a byte for narrower types.
    pub const fn byte_width(self) -> u32 {
        self.bit_width().div_ceil(8)
    }

    /// The bytes of a padding value as an unpacked element of this type, little-endian; the
    /// first [`byte_width`](Self::byte_width) count. `None` where the type lacks the value:
    /// one in `s1`, zero in `f8e8m0fnu`, lowest and highest of a complex type. `unknown` has
    /// no bytes either.
    ///
    /// Lowest and highest are minus and plus infinity where the type has them, else its finite
    /// extremes; false and true for `pred`. One is 1 + 0i for a complex type. Signed integers
    /// narrower than a byte are sign-extended.
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
            (ElementKind::SignedInteger, PaddingValue::Lowest) => u128::MAX << (bits - 1),
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

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an element type such as f32, bf16, s32, u8 or pred, found {name:?}")]
pub struct UnknownElementType {
    /// The name as it came, cut after 40 characters.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back() {
        for &element_type in ElementType::ALL {
            assert_eq!(element_type.name().parse(), Ok(element_type));
            let number = u64::from(element_type.number());
            assert_eq!(ElementType::from_number(number), Some(element_type));
        }
        // Invalid, tuple, opaque, token, buffer and what is beyond are no element types.
        for number in [0, 13, 14, 17, 34, 37, u64::MAX] {
            assert_eq!(ElementType::from_number(number), None);
        }
        assert_eq!(ElementType::ALL.len(), 32);
    }

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
            (ElementType::S4, [Some(0), Some(1), Some(0xf8), Some(7)]),
            (ElementType::U4, [Some(0), Some(1), Some(0), Some(15)]),
            (ElementType::S1, [Some(0), None, Some(0xff), Some(0)]),
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
