//! One number of an element type, as bytes.

use std::fmt;

use half::{bf16, f16};
use minormajor_core::{ElementKind, ElementType, FloatFormat, SpecialValues};

/// A number as people give and read it: an integer of any native type, a float, or a complex one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer; a truth value is 0 or 1.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// A real and an imaginary part.
    Complex(f64, f64),
}

impl Number {
    /// The nearest f64; of a complex number its real part.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) | Number::Complex(value, _) => value,
        }
    }
}

macro_rules! numbers {
    ($($native:ty => $variant:ident($wide:ty);)*) => {$(
        impl From<$native> for Number {
            fn from(value: $native) -> Number {
                Number::$variant(<$wide>::from(value))
            }
        }
    )*};
}

numbers! {
    bool => Integer(i128);
    i8 => Integer(i128);
    i16 => Integer(i128);
    i32 => Integer(i128);
    i64 => Integer(i128);
    u8 => Integer(i128);
    u16 => Integer(i128);
    u32 => Integer(i128);
    u64 => Integer(i128);
    f16 => Float(f64);
    bf16 => Float(f64);
    f32 => Float(f64);
    f64 => Float(f64);
}

/// As Rust prints them: floats so that they read back as the same.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(value) => fmt::Display::fmt(value, f),
            Number::Float(value) => fmt::Display::fmt(value, f),
            Number::Complex(re, im) => write!(f, "{re}{im:+}i"),
        }
    }
}

/// One value of an element type, as the bytes that it takes in an array.
///
/// ```
/// use minormajor::{ElementType, backend::{Number, Scalar}};
///
/// let half = Scalar::new(ElementType::Bf16, 0.5)?;
/// assert_eq!((half.bytes(), half.number()), (&[0x00, 0x3f][..], Number::Float(0.5)));
/// let error = Scalar::new(ElementType::S8, 300).unwrap_err();
/// assert_eq!(error.to_string(), "s8 can't hold 300; expected an integer from -128 to 127");
/// # Ok::<(), minormajor::backend::ScalarError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Scalar {
    element_type: ElementType,
    /// Little-endian; zero behind the type's width.
    bytes: [u8; 16],
}

/// A number that an element type does not have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{element_type} can't hold {number}; expected {expected}")]
#[non_exhaustive]
pub struct ScalarError {
    /// The type.
    pub element_type: ElementType,
    /// The number.
    pub number: Number,
    /// What the type holds.
    pub expected: String,
}

impl Scalar {
    /// A number as this type's: floats are rounded to nearest even; an integer type takes floats
    /// without a fraction too, and a complex one reals.
    ///
    /// # Errors
    ///
    /// [`ScalarError`] for an integer out of range, a fraction in an integer type, a finite number
    /// beyond a float type's greatest, and an infinity or NaN where the type has none.
    pub fn new(
        element_type: ElementType,
        number: impl Into<Number>,
    ) -> Result<Scalar, ScalarError> {
        let number = number.into();
        let bits = match element_type.kind() {
            ElementKind::Predicate => integer(number, 0, 1),
            ElementKind::SignedInteger => {
                let end = 1i128 << (element_type.bit_width() - 1);
                integer(number, -end, end - 1)
            }
            ElementKind::UnsignedInteger => integer(number, 0, (1 << element_type.bit_width()) - 1),
            ElementKind::Float(format) => match number {
                Number::Complex(..) => None,
                number => float(element_type, format, number.to_f64()),
            },
            ElementKind::Complex(_) => complex(element_type, number),
        };
        let bits = bits.ok_or_else(|| ScalarError {
            element_type,
            number,
            expected: expected(element_type),
        })?;
        // Of narrower values the higher bits of the byte are zero.
        let bits = match element_type.bit_width() {
            128 => bits,
            width => bits & ((1 << width) - 1),
        };
        Ok(Scalar {
            element_type,
            bytes: bits.to_le_bytes(),
        })
    }

    /// The value that an array's bytes hold: as many as the type is wide, or more.
    ///
    /// # Panics
    ///
    /// For fewer bytes.
    pub fn from_bytes(element_type: ElementType, bytes: &[u8]) -> Scalar {
        let width = element_type.byte_width() as usize;
        let mut all = [0; 16];
        all[..width].copy_from_slice(&bytes[..width]);
        Scalar {
            element_type,
            bytes: all,
        }
    }

    /// Its type.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Its bytes in an array.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.element_type.byte_width() as usize]
    }

    /// Its value.
    pub fn number(&self) -> Number {
        let bits = u128::from_le_bytes(self.bytes);
        let width = self.element_type.bit_width();
        match self.element_type.kind() {
            ElementKind::Predicate => Number::Integer(i128::from(bits & 0xff != 0)),
            ElementKind::UnsignedInteger => Number::Integer((bits & ((1 << width) - 1)) as i128),
            ElementKind::SignedInteger => {
                let shift = 128 - width;
                Number::Integer((bits << shift) as i128 >> shift)
            }
            ElementKind::Float(format) => Number::Float(decoded(width, format, bits)),
            ElementKind::Complex(format) => {
                let half = width / 2;
                let part = |bits: u128| decoded(half, format, bits & ((1 << half) - 1));
                Number::Complex(part(bits), part(bits >> half))
            }
        }
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.element_type, self.number())
    }
}

/// What a type holds, for messages.
fn expected(element_type: ElementType) -> String {
    let width = element_type.bit_width();
    match element_type.kind() {
        ElementKind::Predicate => "0 or 1".to_owned(),
        ElementKind::SignedInteger => {
            let end = 1i128 << (width - 1);
            format!("an integer from {} to {}", -end, end - 1)
        }
        ElementKind::UnsignedInteger => format!("an integer from 0 to {}", (1u128 << width) - 1),
        ElementKind::Float(format) | ElementKind::Complex(format) => {
            let greatest = match width {
                ..=8 => patterns(width)
                    .map(|bits| decoded(width, format, bits))
                    .filter(|value| value.is_finite())
                    .fold(0.0, f64::max),
                16.. if format.exponent_bits == 11 => f64::MAX,
                _ if format.exponent_bits == 8 && format.fraction_bits == 23 => f64::from(f32::MAX),
                _ if format.exponent_bits == 8 => f64::from(bf16::MAX),
                _ => f64::from(f16::MAX),
            };
            format!("a number of magnitude at most {greatest:e}")
        }
    }
}

fn integer(number: Number, least: i128, greatest: i128) -> Option<u128> {
    let value = match number {
        Number::Integer(value) => value,
        // Below 2^64 in magnitude, where every one fits.
        Number::Float(value) if value.fract() == 0.0 && value.abs() < 2e19 => value as i128,
        _ => return None,
    };
    (least..=greatest).contains(&value).then_some(value as u128)
}

fn complex(element_type: ElementType, number: Number) -> Option<u128> {
    let part = element_type.complex_component()?;
    let format = part.float_format()?;
    let (re, im) = match number {
        Number::Complex(re, im) => (re, im),
        real => (real.to_f64(), 0.0),
    };
    let (re, im) = (float(part, format, re)?, float(part, format, im)?);
    Some(re | im << part.bit_width())
}

/// The bits of the number of a format that is nearest, ties to even.
fn float(element_type: ElementType, format: FloatFormat, value: f64) -> Option<u128> {
    let finite = |made: f64| made.is_finite() || !value.is_finite();
    match element_type {
        ElementType::F64 => Some(u128::from(value.to_bits())),
        ElementType::F32 => {
            finite(f64::from(value as f32)).then(|| (value as f32).to_bits().into())
        }
        ElementType::F16 => {
            let made = f16::from_f64(value);
            finite(made.to_f64()).then(|| made.to_bits().into())
        }
        ElementType::Bf16 => {
            let made = bf16::from_f64(value);
            finite(made.to_f64()).then(|| made.to_bits().into())
        }
        _ => nearest(element_type.bit_width(), format, value),
    }
}

fn patterns(width: u32) -> impl Iterator<Item = u128> {
    0..1u128 << width
}

/// [`float`] of a type of at most 8 bits: all its numbers are few.
fn nearest(width: u32, format: FloatFormat, value: f64) -> Option<u128> {
    let all = || patterns(width).map(|bits| (bits, decoded(width, format, bits)));
    if !value.is_finite() {
        let same = |made: f64| made == value || made.is_nan() && value.is_nan();
        return all().find(|&(_, made)| same(made)).map(|(bits, _)| bits);
    }
    // Of equal distances, the even pattern; a zero keeps its sign where the type has both.
    let distance = |bits: u128, made: f64| {
        let sign = made.is_sign_negative() != value.is_sign_negative();
        ((made - value).abs(), bits & 1, sign)
    };
    let (bits, made) = all()
        .filter(|(_, made)| made.is_finite())
        .min_by(|&(a, x), &(b, y)| distance(a, x).partial_cmp(&distance(b, y)).expect("no NaN"))?;
    // Beyond the greatest by more than half its distance to the next lower: out of range.
    let next = all()
        .map(|(_, other)| other.abs())
        .filter(|other| other < &made.abs());
    let step = made.abs() - next.fold(0.0, f64::max);
    let beyond = value.abs() - made.abs();
    let above = |other: f64| other.is_finite() && other.abs() > made.abs();
    let greatest = !all().any(|(_, other)| above(other));
    let least = format.special == SpecialValues::ExponentOnly && value <= 0.0;
    let out = greatest && beyond > 0.0 && beyond * 2.0 >= step;
    (!least && !out).then_some(bits)
}

/// The number that a pattern of a format stands for, sign first.
fn decoded(width: u32, format: FloatFormat, bits: u128) -> f64 {
    match width {
        64 => return f64::from_bits(bits as u64),
        32 => return f64::from(f32::from_bits(bits as u32)),
        _ => {}
    }
    let FloatFormat {
        exponent_bits,
        fraction_bits,
        bias,
        special,
    } = format;
    let magnitude = exponent_bits + fraction_bits;
    let all_ones = (1u128 << magnitude) - 1;
    let (sign, rest) = (bits >> magnitude & 1, bits & all_ones);
    let exponent = rest >> fraction_bits;
    let fraction = rest & ((1 << fraction_bits) - 1);
    let value = match special {
        SpecialValues::ExponentOnly if rest == all_ones => return f64::NAN,
        SpecialValues::ExponentOnly => return 2f64.powi(exponent as i32 - bias as i32),
        SpecialValues::UnsignedZero if sign == 1 && rest == 0 => return f64::NAN,
        SpecialValues::FiniteWithNan if rest == all_ones => return f64::NAN,
        SpecialValues::Ieee if exponent == (1 << exponent_bits) - 1 => match fraction {
            0 => f64::INFINITY,
            _ => return f64::NAN,
        },
        _ => {
            let (hidden, exponent) = match exponent {
                0 => (0, 1),
                normal => (1 << fraction_bits, normal as i32),
            };
            let unit = 2f64.powi(exponent - bias as i32 - fraction_bits as i32);
            (hidden | fraction) as f64 * unit
        }
    };
    if sign == 1 { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minormajor_core::PaddingValue;

    fn bytes(element_type: ElementType, number: impl Into<Number>) -> Option<Vec<u8>> {
        let made = Scalar::new(element_type, number).ok()?;
        Some(made.bytes().to_vec())
    }

    #[test]
    fn every_pattern_of_every_narrow_type_leads_back() {
        for &element_type in ElementType::ALL {
            let width = element_type.bit_width();
            for bits in patterns(width.min(16)) {
                let scalar = Scalar::from_bytes(element_type, &bits.to_le_bytes());
                let number = scalar.number();
                if number.to_f64().is_nan() || element_type == ElementType::Pred && bits > 1 {
                    continue;
                }
                let back = Scalar::new(element_type, number);
                assert_eq!(back, Ok(scalar), "{element_type} {bits:#x} {number}");
            }
        }
    }

    #[test]
    fn padding_values_are_numbers_too() {
        for &element_type in ElementType::ALL {
            for (value, number) in [(PaddingValue::Zero, 0), (PaddingValue::One, 1)] {
                let bytes = element_type.padding_bytes(value);
                let expected = bytes.map(|b| Scalar::from_bytes(element_type, &b));
                assert_eq!(
                    Scalar::new(element_type, number).ok(),
                    expected,
                    "{element_type}"
                );
            }
        }
    }

    #[test]
    fn numbers_that_a_type_lacks_are_errors() {
        use ElementType::*;
        // The original made 44 of it.
        assert_eq!(bytes(S8, 300), None);
        assert_eq!(bytes(S8, -129), None);
        assert_eq!(bytes(S8, -128), Some(vec![0x80]));
        assert_eq!(bytes(U64, u64::MAX), Some(vec![0xff; 8]));
        assert_eq!(bytes(U8, 0.5), None);
        assert_eq!(bytes(U8, f64::NAN), None);
        assert_eq!(bytes(U8, 7.0), Some(vec![7]));
        assert_eq!(bytes(F32, 1e39), None);
        assert_eq!(bytes(F32, f64::INFINITY), Some(vec![0, 0, 0x80, 0x7f]));
        assert_eq!(bytes(F16, 65504.0), Some(vec![0xff, 0x7b]));
        assert_eq!(bytes(F16, 65520.0), None);
        assert_eq!(bytes(F8e4m3fn, 448.0), Some(vec![0x7e]));
        assert_eq!(bytes(F8e4m3fn, 480.0), None);
        assert_eq!(bytes(F8e4m3fn, f64::INFINITY), None);
        assert_eq!(bytes(F8e8m0fnu, -1.0), None);
        assert_eq!(bytes(Pred, 2), None);
        assert_eq!(bytes(F32, Number::Complex(1.0, 0.0)), None);
        let error = Scalar::new(F16, 1e9).unwrap_err().to_string();
        assert!(
            error.ends_with("expected a number of magnitude at most 6.5504e4"),
            "{error}"
        );
    }

    #[test]
    fn ties_go_to_even_patterns() {
        // f8e5m2 has 1, 1.25, 1.5.
        for (value, expected) in [(1.125, 0x3c), (1.375, 0x3e), (1.3, 0x3d), (-0.0, 0x80)] {
            assert_eq!(
                bytes(ElementType::F8e5m2, value),
                Some(vec![expected]),
                "{value}"
            );
        }
    }
}
