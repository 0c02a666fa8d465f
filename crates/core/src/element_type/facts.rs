//! What an element type is: its family, its widths, and the facts of its floating-point format.

use super::{ElementKind, ElementType, FloatFormat, SpecialValues};

impl ElementType {
    /// Whether values are floating-point numbers, of any format; complex types are not.
    #[doc(alias = "IsFloatingPointType")]
    #[doc(alias = "ElementIsFloating")]
    pub const fn is_floating_point(self) -> bool {
        matches!(self.kind(), ElementKind::Float(_))
    }

    /// Whether this is one of the seven 8-bit floats with a fraction; `f8e8m0fnu`, an exponent
    /// alone, is none of them but an [MX type](Self::is_mx).
    #[doc(alias = "IsF8Type")]
    pub const fn is_f8(self) -> bool {
        self.is_floating_point() && self.bit_width() == 8 && !self.is_mx()
    }

    /// Whether this is one of the two 6-bit floats.
    #[doc(alias = "IsF6Type")]
    pub const fn is_f6(self) -> bool {
        self.is_floating_point() && self.bit_width() == 6
    }

    /// Whether this is a type of the microscaling formats: `f4e2m1fn` or `f8e8m0fnu`.
    #[doc(alias = "IsMXType")]
    pub const fn is_mx(self) -> bool {
        matches!(self, ElementType::F4e2m1fn | ElementType::F8e8m0fnu)
    }

    /// Whether values have a real and an imaginary part.
    #[doc(alias = "IsComplexType")]
    #[doc(alias = "ElementIsComplex")]
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), ElementKind::Complex(_))
    }

    /// Whether values are integers with a sign.
    #[doc(alias = "IsSignedIntegralType")]
    pub const fn is_signed_integral(self) -> bool {
        matches!(self.kind(), ElementKind::SignedInteger)
    }

    /// Whether values are integers without a sign; truth values are no integers.
    #[doc(alias = "IsUnsignedIntegralType")]
    pub const fn is_unsigned_integral(self) -> bool {
        matches!(self.kind(), ElementKind::UnsignedInteger)
    }

    /// Whether values are integers; truth values are none.
    #[doc(alias = "IsIntegralType")]
    #[doc(alias = "ElementIsIntegral")]
    pub const fn is_integral(self) -> bool {
        self.is_signed_integral() || self.is_unsigned_integral()
    }

    /// Whether this is `s8` or `u8`.
    #[doc(alias = "Is8BitIntegralType")]
    pub const fn is_8bit_integral(self) -> bool {
        self.is_integral() && self.bit_width() == 8
    }

    /// Whether values are integers with a sign or floating-point numbers.
    #[doc(alias = "ElementIsSigned")]
    pub const fn is_signed(self) -> bool {
        self.is_signed_integral() || self.is_floating_point()
    }

    /// Whether values are narrower than a byte, truth values (which are stored in one) apart.
    ///
    /// True for the 6-bit floats, for which XLA says 8 bits and so false.
    #[doc(alias = "IsSubByteNonPredType")]
    pub const fn is_sub_byte_non_pred(self) -> bool {
        self.bit_width() < 8 && !matches!(self.kind(), ElementKind::Predicate)
    }

    /// Bits that a value is stored in when elements are packed: the bit width, but 8 for truth
    /// values.
    #[doc(alias = "StorageBitWidth")]
    pub const fn storage_bit_width(self) -> u32 {
        match self.kind() {
            ElementKind::Predicate => 8,
            _ => self.bit_width(),
        }
    }

    /// The floating-point format of the values, or of the parts of complex ones.
    pub const fn float_format(self) -> Option<FloatFormat> {
        match self.kind() {
            ElementKind::Float(format) | ElementKind::Complex(format) => Some(format),
            _ => None,
        }
    }

    /// Bits of the significand, the hidden one counted; `None` for what is no floating-point
    /// type. For `f32` 24.
    #[doc(alias = "SignificandWidth")]
    pub const fn significand_width(self) -> Option<u32> {
        match self.kind() {
            ElementKind::Float(format) => Some(format.fraction_bits + 1),
            _ => None,
        }
    }

    /// Bits of the exponent; `None` for what is no floating-point type. For `f32` 8.
    #[doc(alias = "ExponentWidth")]
    pub const fn exponent_width(self) -> Option<u32> {
        match self.kind() {
            ElementKind::Float(format) => Some(format.exponent_bits),
            _ => None,
        }
    }

    /// What is subtracted from a stored exponent; `None` for what is no floating-point type. For
    /// `f32` 127.
    #[doc(alias = "ExponentBias")]
    pub const fn exponent_bias(self) -> Option<i32> {
        match self.kind() {
            ElementKind::Float(format) => Some(format.bias as i32),
            _ => None,
        }
    }

    /// The least `e` for which 2 to the `e - 1` is a normal number, as C's `FLT_MIN_EXP`; `None`
    /// for what is no floating-point type. For `f32` -125.
    #[doc(alias = "UnderflowExponent")]
    pub const fn underflow_exponent(self) -> Option<i32> {
        match self.kind() {
            ElementKind::Float(format) => Some(format.underflow_exponent()),
            _ => None,
        }
    }

    /// The least `e` for which 2 to the `e` is beyond the finite numbers, as C's `FLT_MAX_EXP`;
    /// `None` for what is no floating-point type. For `f32` 128.
    #[doc(alias = "OverflowExponent")]
    pub const fn overflow_exponent(self) -> Option<i32> {
        match self.kind() {
            ElementKind::Float(format) => Some(format.overflow_exponent()),
            _ => None,
        }
    }

    /// Whether some value is an infinity. True of complex types, whose parts have one, where XLA
    /// says false.
    #[doc(alias = "HasInfinity")]
    pub const fn has_infinity(self) -> bool {
        match self.float_format() {
            Some(format) => matches!(format.special, SpecialValues::Ieee),
            None => false,
        }
    }

    /// Whether some value is not a number. True of complex types, whose parts can be NaN, where
    /// XLA says false.
    #[doc(alias = "HasNaN")]
    pub const fn has_nan(self) -> bool {
        match self.float_format() {
            Some(format) => !matches!(format.special, SpecialValues::Finite),
            None => false,
        }
    }

    /// Whether zero has a sign that can be minus. True of complex types, whose parts have such a
    /// zero, where XLA says false.
    #[doc(alias = "HasNegativeZero")]
    pub const fn has_negative_zero(self) -> bool {
        match self.float_format() {
            Some(format) => !matches!(
                format.special,
                SpecialValues::UnsignedZero | SpecialValues::ExponentOnly
            ),
            None => false,
        }
    }

    /// Whether zero is a value: of every type but `f8e8m0fnu`.
    #[doc(alias = "HasPositiveZero")]
    pub const fn has_zero(self) -> bool {
        !matches!(self, ElementType::F8e8m0fnu)
    }

    /// The unsigned integer type of this width: 1, 2, 4, 8, 16, 32 or 64 bits.
    #[doc(alias = "UnsignedIntegralTypeForBitWidth")]
    pub const fn unsigned_integral_for_bit_width(bits: u32) -> Option<ElementType> {
        Some(match bits {
            1 => ElementType::U1,
            2 => ElementType::U2,
            4 => ElementType::U4,
            8 => ElementType::U8,
            16 => ElementType::U16,
            32 => ElementType::U32,
            64 => ElementType::U64,
            _ => return None,
        })
    }

    /// The signed integer type of this width: 1, 2, 4, 8, 16, 32 or 64 bits.
    #[doc(alias = "SignedIntegralTypeForBitWidth")]
    pub const fn signed_integral_for_bit_width(bits: u32) -> Option<ElementType> {
        Some(match bits {
            1 => ElementType::S1,
            2 => ElementType::S2,
            4 => ElementType::S4,
            8 => ElementType::S8,
            16 => ElementType::S16,
            32 => ElementType::S32,
            64 => ElementType::S64,
            _ => return None,
        })
    }

    /// The type of the parts of a complex type; `None` for any other.
    ///
    /// ```
    /// use minormajor_core::ElementType;
    ///
    /// assert_eq!(ElementType::C64.complex_component(), Some(ElementType::F32));
    /// assert_eq!(ElementType::F32.complex(), Some(ElementType::C64));
    /// ```
    #[doc(alias = "ComplexComponentType")]
    pub const fn complex_component(self) -> Option<ElementType> {
        match self {
            ElementType::C64 => Some(ElementType::F32),
            ElementType::C128 => Some(ElementType::F64),
            _ => None,
        }
    }

    /// The complex type whose parts have this type: of `f32` and `f64`.
    #[doc(alias = "ComplexType")]
    pub const fn complex(self) -> Option<ElementType> {
        match self {
            ElementType::F32 => Some(ElementType::C64),
            ElementType::F64 => Some(ElementType::C128),
            _ => None,
        }
    }

    /// Whether this integer is a value of this integer type; false for every other type.
    ///
    /// ```
    /// use minormajor_core::ElementType;
    ///
    /// assert!(ElementType::S4.fits_integer(-8) && !ElementType::S4.fits_integer(8));
    /// ```
    #[doc(alias = "FitsInIntegralType")]
    pub const fn fits_integer(self, value: i128) -> bool {
        let bits = self.bit_width();
        match self.kind() {
            ElementKind::SignedInteger => {
                let end = 1i128 << (bits - 1);
                -end <= value && value < end
            }
            ElementKind::UnsignedInteger => 0 <= value && value < 1i128 << bits,
            _ => false,
        }
    }
}

impl FloatFormat {
    pub(super) const fn underflow_exponent(self) -> i32 {
        // The stored exponent 1 is the least of normal numbers; without a fraction 0 is.
        match self.special {
            SpecialValues::ExponentOnly => 1 - self.bias as i32,
            _ => 2 - self.bias as i32,
        }
    }

    pub(super) const fn overflow_exponent(self) -> i32 {
        let end = (1 << self.exponent_bits) - self.bias as i32;
        match self.special {
            // All ones, as the exponent, are infinities and NaNs.
            SpecialValues::Ieee | SpecialValues::ExponentOnly => end - 1,
            _ => end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exponent width, significand width, bias, underflow and overflow exponent, as XLA lists
    /// them.
    const FACTS: [(ElementType, [i32; 5]); 15] = {
        use ElementType::*;
        [
            (F32, [8, 24, 127, -125, 128]),
            (Bf16, [8, 8, 127, -125, 128]),
            (F16, [5, 11, 15, -13, 16]),
            (F64, [11, 53, 1023, -1021, 1024]),
            (F4e2m1fn, [2, 2, 1, 1, 3]),
            (F6e3m2fn, [3, 3, 3, -1, 5]),
            (F6e2m3fn, [2, 4, 1, 1, 3]),
            (F8e3m4, [3, 5, 3, -1, 4]),
            (F8e4m3, [4, 4, 7, -5, 8]),
            (F8e4m3fn, [4, 4, 7, -5, 9]),
            (F8e4m3b11fnuz, [4, 4, 11, -9, 5]),
            (F8e4m3fnuz, [4, 4, 8, -6, 8]),
            (F8e5m2, [5, 3, 15, -13, 16]),
            (F8e5m2fnuz, [5, 3, 16, -14, 16]),
            (F8e8m0fnu, [8, 1, 127, -126, 128]),
        ]
    };

    /// XLA: PrimitiveUtilTest.SignificandWidth
    /// XLA: PrimitiveUtilTest.ExponentWidth
    /// XLA: PrimitiveUtilTest.ExponentBias
    /// XLA: PrimitiveUtilTest.UnderflowExponent
    /// XLA: PrimitiveUtilTest.OverflowExponent
    #[test]
    fn float_facts_are_xlas() {
        for (t, [exponent, significand, bias, underflow, overflow]) in FACTS {
            let wide = |width: Option<u32>| width.map(|width| width as i32);
            assert_eq!(wide(t.exponent_width()), Some(exponent), "{t}");
            assert_eq!(wide(t.significand_width()), Some(significand), "{t}");
            assert_eq!(t.exponent_bias(), Some(bias), "{t}");
            assert_eq!(t.underflow_exponent(), Some(underflow), "{t}");
            assert_eq!(t.overflow_exponent(), Some(overflow), "{t}");
        }
        let floats = ElementType::ALL.iter().filter(|t| t.is_floating_point());
        assert_eq!(floats.count(), FACTS.len());
        assert_eq!(ElementType::S32.significand_width(), None);
        assert_eq!(ElementType::C64.exponent_bias(), None);
    }

    #[test]
    fn special_values() {
        use ElementType::*;
        // Infinity, NaN, negative zero, zero.
        for (t, expected) in [
            (F32, [true, true, true, true]),
            (F8e4m3, [true, true, true, true]),
            (F8e4m3fn, [false, true, true, true]),
            (F8e5m2fnuz, [false, true, false, true]),
            (F4e2m1fn, [false, false, true, true]),
            (F6e3m2fn, [false, false, true, true]),
            (F8e8m0fnu, [false, true, false, false]),
            (S32, [false, false, false, true]),
            // XLA says false to the first three.
            (C64, [true, true, true, true]),
        ] {
            let found = [
                t.has_infinity(),
                t.has_nan(),
                t.has_negative_zero(),
                t.has_zero(),
            ];
            assert_eq!(found, expected, "{t}");
        }
    }

    #[test]
    fn families() {
        let all = |test: fn(ElementType) -> bool| -> String {
            let names = ElementType::ALL.iter().filter(|&&t| test(t));
            names.map(|t| t.name()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(all(ElementType::is_complex), "c64 c128");
        assert_eq!(all(ElementType::is_mx), "f4e2m1fn f8e8m0fnu");
        assert_eq!(all(ElementType::is_f6), "f6e3m2fn f6e2m3fn");
        assert_eq!(
            all(ElementType::is_f8),
            "f8e5m2 f8e4m3fn f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz f8e4m3 f8e3m4"
        );
        assert_eq!(
            all(ElementType::is_signed_integral),
            "s8 s16 s32 s64 s4 s2 s1"
        );
        assert_eq!(
            all(ElementType::is_unsigned_integral),
            "u8 u16 u32 u64 u4 u2 u1"
        );
        assert_eq!(all(ElementType::is_8bit_integral), "s8 u8");
        assert_eq!(
            all(ElementType::is_sub_byte_non_pred),
            "s4 u4 s2 u2 s1 u1 f4e2m1fn f6e3m2fn f6e2m3fn"
        );
        assert!(!ElementType::Pred.is_integral());
        assert!(ElementType::F16.is_signed() && !ElementType::C64.is_signed());
        for bits in [1, 2, 4, 8, 16, 32, 64] {
            for t in [
                ElementType::signed_integral_for_bit_width(bits),
                ElementType::unsigned_integral_for_bit_width(bits),
            ] {
                assert_eq!(t.map(ElementType::bit_width), Some(bits));
            }
        }
        assert_eq!(ElementType::signed_integral_for_bit_width(6), None);
        assert_eq!(ElementType::unsigned_integral_for_bit_width(128), None);
    }

    /// XLA's `BitWidth` of the 6-bit floats is 8, and so it does not count them as narrower than
    /// a byte. Ours is 6.
    #[test]
    fn six_bit_floats_have_six_bits() {
        let xla = 8;
        for t in [ElementType::F6e3m2fn, ElementType::F6e2m3fn] {
            assert_eq!((xla, t.bit_width()), (8, 6));
            assert!(t.is_sub_byte_non_pred());
            assert_eq!((t.byte_width(), t.storage_bit_width()), (1, 6));
        }
        assert_eq!(ElementType::Pred.bit_width(), 1);
        assert_eq!(ElementType::Pred.storage_bit_width(), 8);
    }

    #[test]
    fn integers_that_fit() {
        use ElementType::*;
        for (t, low, high) in [
            (S1, -1, 0),
            (U1, 0, 1),
            (S4, -8, 7),
            (U8, 0, 255),
            (S64, i64::MIN.into(), i64::MAX.into()),
            (U64, 0, u64::MAX.into()),
        ] {
            assert!(t.fits_integer(low) && t.fits_integer(high), "{t}");
            assert!(!t.fits_integer(low - 1) && !t.fits_integer(high + 1), "{t}");
        }
        assert!(!Pred.fits_integer(0) && !F32.fits_integer(0));
    }
}
