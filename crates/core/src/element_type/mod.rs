//! Element types: XLA's names, numbers, widths and facts.

mod cast;
mod facts;
mod meant;
mod native;
mod padding;

use std::fmt;
use std::str::FromStr;

pub use native::NativeElement;

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
                    _ => Err(UnknownElementType {
                        meant: ElementType::meant_by(name),
                        name: name.chars().take(40).collect(),
                    }),
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
    #[doc(alias = "ByteWidth")]
    #[doc(alias = "ByteSizeOfPrimitiveType")]
    pub const fn byte_width(self) -> u32 {
        self.bit_width().div_ceil(8)
    }

    /// Whether elements may be packed in so many bits each: 1, 2 or 4, and at least as many as a
    /// value has.
    ///
    /// The first element of a byte is in its lowest bits, and what is left of the last byte is
    /// zero. That is how XLA packs: on jaxlib 0.10.2, u4 values 1, 2, 3 are the bytes 0x21, 0x03.
    /// (XLA's `PackIntN` of 2023 began with the highest bits.)
    pub const fn packs_in(self, bits: i64) -> bool {
        matches!(bits, 1 | 2 | 4) && bits >= self.bit_width() as i64
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an element type such as f32, bf16, s32, u8 or pred, found {name:?}{}", or_meant(.meant))]
pub struct UnknownElementType {
    /// The name as it came, cut after 40 characters.
    pub name: String,
    /// The type that it may have meant.
    pub meant: Option<ElementType>,
}

/// `; did you mean f32?`, where something may have been meant.
pub(crate) fn or_meant(meant: &Option<ElementType>) -> String {
    meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XLA reads `tuple`, `token` and `opaque` as types too; here they are kinds of shapes
    /// ([`ShapeKind`](crate::ShapeKind)), which no array has as its element type.
    ///
    /// XLA: PrimitiveUtilTest.StringToPrimitiveType
    #[test]
    fn names_are_lower_case() {
        for (name, element_type) in [
            ("f32", ElementType::F32),
            ("pred", ElementType::Pred),
            ("s32", ElementType::S32),
        ] {
            assert_eq!(name.parse(), Ok(element_type));
        }
        for name in ["F32", "Pred", "preD", "opaque_type", "tuple", "token", ""] {
            let error = name.parse::<ElementType>().unwrap_err().to_string();
            assert!(error.contains(&format!("found {name:?}")), "{error}");
        }
    }

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
}
