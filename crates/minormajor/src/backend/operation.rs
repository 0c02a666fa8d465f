//! What a backend computes, and what exactly each operation means, so that all agree.

use std::fmt;

use minormajor_core::ElementType;

use super::is_numeric;

/// An operation on two numbers of one type.
///
/// - f32 and f64: IEEE 754, rounded to nearest even. f16 and bf16: computed in f32 and rounded
///   once, which is the correctly rounded result.
/// - Integers wrap around. Division drops the fraction (towards zero); by zero it gives all ones
///   (-1, or the greatest unsigned number), and the least number by -1 gives itself: XLA's rules,
///   without a trap on any device.
/// - `Minimum` is `a` if `a < b` or `a` is NaN, else `b`; `Maximum` with `a > b`. So a NaN on
///   either side gives a NaN.
///
/// A NaN result is some NaN: its sign and payload are the device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Minimum,
    Maximum,
}

impl Binary {
    /// All of them.
    pub const ALL: [Binary; 6] = [
        Binary::Add,
        Binary::Subtract,
        Binary::Multiply,
        Binary::Divide,
        Binary::Minimum,
        Binary::Maximum,
    ];

    /// Its name: XLA's.
    pub const fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Subtract => "subtract",
            Binary::Multiply => "multiply",
            Binary::Divide => "divide",
            Binary::Minimum => "minimum",
            Binary::Maximum => "maximum",
        }
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What becomes of many numbers.
///
/// The order in which numbers are added is the backend's, so sums of floats differ between
/// backends by rounding. They are accumulated in f32 at least (f64 in f64) and rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum; of nothing, 0. Integers are added in 64 bits, and wrap there.
    Sum,
    /// The greatest; a NaN if there is one.
    Max,
    /// The sum divided by how many there are; of nothing, NaN. Floats only.
    Mean,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Reduction; 3] = [Reduction::Sum, Reduction::Max, Reduction::Mean];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Max => "max",
            Reduction::Mean => "mean",
        }
    }

    /// The type of the result: the operand's, but s64 or u64 for sums of integers. `None` where
    /// there is no such reduction.
    ///
    /// ```
    /// use minormajor::{ElementType, backend::Reduction};
    ///
    /// assert_eq!(Reduction::Sum.result_type(ElementType::S8), Some(ElementType::S64));
    /// assert_eq!(Reduction::Mean.result_type(ElementType::S8), None);
    /// ```
    pub const fn result_type(self, operand: ElementType) -> Option<ElementType> {
        match self {
            _ if !is_numeric(operand) => None,
            Reduction::Mean if !operand.is_floating_point() => None,
            Reduction::Sum if operand.is_signed_integral() => Some(ElementType::S64),
            Reduction::Sum if operand.is_unsigned_integral() => Some(ElementType::U64),
            _ => Some(operand),
        }
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How far apart numbers may be and still be close.
///
/// `a` is close to `b` where they are equal (infinities too), or both are finite and
/// `|a - b| <= absolute + relative * |b|`, computed in f64 (of integers, from the exact
/// difference). A NaN is close to nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

/// Which random numbers: the formulas are [`random`](crate::random)'s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Of mean 0 and variance 1: f32, f64, f16 or bf16.
    Normal,
    /// `low + u * width`, at most `highest`: f32, f64, f16 or bf16. All three are numbers of f64
    /// for f64 and of f32 otherwise.
    #[allow(missing_docs)]
    Uniform { low: f64, width: f64, highest: f64 },
    /// `low` (in two's complement) plus a number below `range`: integers of 8 to 64 bits.
    #[allow(missing_docs)]
    Integers { low: u64, range: u64 },
}
