//! Which conversions between element types keep every value, and which of two types is the more
//! precise.

use super::{ElementKind, ElementType};

impl ElementType {
    /// Whether every value of this type is a value of the other, infinities, NaN and minus zero
    /// included, so that a cast there and back gives the value again.
    ///
    /// A complex type takes what its parts take; nothing but itself casts from a complex type to
    /// another kind, to `pred`, or (since it lacks zero) to `f8e8m0fnu`.
    ///
    /// ```
    /// use minormajor_core::ElementType;
    ///
    /// assert!(ElementType::S16.cast_preserves_values(ElementType::F32));
    /// assert!(!ElementType::S32.cast_preserves_values(ElementType::F32));
    /// ```
    #[doc(alias = "CastPreservesValues")]
    pub const fn cast_preserves_values(self, to: ElementType) -> bool {
        use ElementKind::*;
        if self as u32 == to as u32 {
            return true;
        }
        match (self.kind(), to.kind()) {
            (_, Predicate) => false,
            (Predicate, _) => to.has_zero(),
            (_, Complex(_)) => {
                let Some(to) = to.complex_component() else {
                    return false;
                };
                match self.complex_component() {
                    Some(from) => from.cast_preserves_values(to),
                    None => self.cast_preserves_values(to),
                }
            }
            (Complex(_), _) | (Float(_), SignedInteger | UnsignedInteger) => false,
            (Float(from), Float(target)) => {
                (to.has_infinity() || !self.has_infinity())
                    && (to.has_nan() || !self.has_nan())
                    && (to.has_negative_zero() || !self.has_negative_zero())
                    && (to.has_zero() || !self.has_zero())
                    && from.fraction_bits <= target.fraction_bits
                    && from.overflow_exponent() <= target.overflow_exponent()
                    // The least number, with the whole fraction below the least normal one.
                    && from.underflow_exponent() - from.fraction_bits as i32
                        >= target.underflow_exponent() - target.fraction_bits as i32
            }
            (SignedInteger | UnsignedInteger, Float(target)) => {
                // The greatest magnitude is 2^(bits-1) with a sign, else below 2^bits.
                let digits = self.integer_digits() as i32;
                let signed = self.is_signed_integral() as i32;
                to.has_zero()
                    && digits <= target.fraction_bits as i32 + 1
                    && digits + signed <= target.overflow_exponent()
            }
            (SignedInteger, UnsignedInteger) => false,
            (SignedInteger | UnsignedInteger, SignedInteger | UnsignedInteger) => {
                self.integer_digits() <= to.integer_digits()
            }
        }
    }

    /// Bits of an integer type without the sign.
    const fn integer_digits(self) -> u32 {
        self.bit_width() - self.is_signed_integral() as u32
    }

    /// The more precise of two types: complex before real, then by the greatest exponent, the
    /// significand, the width and the sign (integers have no exponent, so floats come before
    /// them).
    ///
    /// Three pairs of types are equal in all of these: `f8e5m2` and `f8e5m2fnuz`, `f8e4m3` and
    /// `f8e4m3fnuz`, `pred` and `u1`. XLA aborts on them; here the one with infinities is taken,
    /// and the integer.
    ///
    /// ```
    /// use minormajor_core::ElementType;
    ///
    /// let (f16, bf16) = (ElementType::F16, ElementType::Bf16);
    /// assert_eq!(f16.higher_precision(bf16), bf16);
    /// ```
    #[doc(alias = "HigherPrecisionType")]
    pub fn higher_precision(self, other: ElementType) -> ElementType {
        let rank = |element_type: ElementType| {
            let part = element_type.complex_component().unwrap_or(element_type);
            (
                element_type.is_complex(),
                part.overflow_exponent().unwrap_or(-1),
                part.significand_width(),
                part.bit_width(),
                part.is_signed_integral(),
                part.has_infinity(),
                part.is_integral(),
            )
        };
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }

    /// Whether the other type is at least as precise as this one, in the sense of
    /// [`higher_precision`](Self::higher_precision).
    #[doc(alias = "ElementCanUpcast")]
    pub fn can_upcast_to(self, other: ElementType) -> bool {
        self.higher_precision(other) == other
    }

    /// Whether both are floating-point types, or they are the same type.
    #[doc(alias = "SameElementTypeIgnoringFpPrecision")]
    pub fn same_ignoring_fp_precision(self, other: ElementType) -> bool {
        self == other || (self.is_floating_point() && other.is_floating_point())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<ElementType> {
        text.split_whitespace()
            .map(|name| name.parse().unwrap())
            .collect()
    }

    /// XLA: PrimitiveUtilTest.CastPreservesValues
    #[test]
    fn casts_that_keep_values_are_xlas() {
        const WIDE: &str = "f16 bf16 f32 f64 c64 c128";
        const F8: &str = "f8e5m2 f8e4m3 f8e4m3fn f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz f8e3m4";
        const F6: &str = "f6e3m2fn f6e2m3fn";
        let floats = format!("f4e2m1fn {F6} {F8} {WIDE}");
        let f32_up = "f32 f64 c64 c128";
        let mut rows: Vec<(&str, String)> = vec![
            ("s1", format!("s2 s4 s8 s16 s32 s64 {floats}")),
            (
                "u1",
                format!("s2 s4 s8 s16 s32 s64 u2 u4 u8 u16 u32 u64 {floats}"),
            ),
            ("s2", format!("s4 s8 s16 s32 s64 {floats}")),
            (
                "u2",
                format!("s4 s8 s16 s32 s64 u4 u8 u16 u32 u64 {floats}"),
            ),
            ("s4", format!("s8 s16 s32 s64 f6e3m2fn {F8} {WIDE}")),
            (
                "u4",
                format!(
                    "s8 s16 s32 s64 u8 u16 u32 u64 f8e4m3 f8e4m3fn f8e4m3b11fnuz f8e4m3fnuz \
                     f8e3m4 {WIDE}"
                ),
            ),
            ("s8", format!("s16 s32 s64 {WIDE}")),
            ("u8", format!("s16 s32 s64 u16 u32 u64 {WIDE}")),
            ("s16", format!("s32 s64 {f32_up}")),
            ("u16", format!("s32 s64 u32 u64 {f32_up}")),
            ("s32", "s64 f64 c128".into()),
            ("u32", "s64 u64 f64 c128".into()),
            ("s64", String::new()),
            ("u64", String::new()),
            ("f16", f32_up.into()),
            ("bf16", f32_up.into()),
            ("f32", "f64 c64 c128".into()),
            ("f64", "c128".into()),
            ("c64", "c128".into()),
            ("c128", String::new()),
            ("f8e8m0fnu", format!("bf16 {f32_up}")),
            (
                "f4e2m1fn",
                format!("{F6} f8e5m2 f8e4m3 f8e4m3fn f8e3m4 {WIDE}"),
            ),
            ("f6e3m2fn", format!("f8e5m2 f8e4m3 f8e4m3fn {WIDE}")),
            ("f6e2m3fn", format!("f8e4m3 f8e4m3fn f8e3m4 {WIDE}")),
        ];
        rows.extend(F8.split(' ').map(|name| (name, WIDE.to_owned())));
        let pred: Vec<&str> = ElementType::ALL.iter().map(|t| t.name()).collect();
        let pred = pred.join(" ").replace("pred ", "").replace("f8e8m0fnu", "");
        rows.push(("pred", pred));
        assert_eq!(rows.len(), ElementType::ALL.len());
        for (from, targets) in rows {
            let from: ElementType = from.parse().unwrap();
            let targets = names(&targets);
            for &to in ElementType::ALL {
                let expected = from == to || targets.contains(&to);
                assert_eq!(from.cast_preserves_values(to), expected, "{from} to {to}");
            }
        }
    }

    #[test]
    fn the_more_precise_type() {
        for (low, high) in [
            ("f16", "bf16"),
            ("bf16", "f32"),
            ("f64", "c64"),
            ("c64", "c128"),
            ("s64", "f4e2m1fn"),
            ("s32", "s64"),
            ("u32", "s32"),
            ("s32", "u64"),
            ("pred", "u8"),
            // XLA aborts on these three pairs.
            ("pred", "u1"),
            ("f8e5m2fnuz", "f8e5m2"),
            ("f8e4m3fnuz", "f8e4m3"),
        ] {
            let [low, high] = [low, high].map(|name| name.parse::<ElementType>().unwrap());
            assert_eq!(low.higher_precision(high), high);
            assert_eq!(high.higher_precision(low), high);
            assert!(low.can_upcast_to(high) && !high.can_upcast_to(low));
        }
        for &a in ElementType::ALL {
            assert_eq!(a.higher_precision(a), a);
            for &b in ElementType::ALL {
                assert_eq!(a.higher_precision(b), b.higher_precision(a), "{a} {b}");
            }
        }
    }
}
