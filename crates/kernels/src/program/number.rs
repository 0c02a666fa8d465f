//! Numbers that are divided without a division.

/// A number of a register: a natural number below a limit, kept so that it divides fast.
pub(crate) trait Number: Copy + PartialEq + std::fmt::Debug {
    /// What a quotient needs to know of its divisor.
    type Divisor: Copy + PartialEq + std::fmt::Debug;
    const ZERO: Self;

    /// A number that is not negative and below the limit; of any other, anything.
    fn new(value: i64) -> Self;
    fn value(self) -> i64;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    /// Bits whose sign says whether the number has come out negative.
    fn sign(self) -> i64;

    /// Of 1 and more.
    fn divisor(value: i64) -> Self::Divisor;
    fn quotient(self, divisor: Self::Divisor) -> Self;
}

/// Below this a number can be a [`Short`].
pub(crate) const SHORT_LIMIT: i64 = 1 << 31;

/// A number of 31 bits in a word of 64: every vector unit multiplies two of those.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Short(u64);

/// The product of the lower halves: one instruction where the compiler sees that nothing else counts.
#[inline(always)]
fn product_of_halves(one: u64, other: u64) -> u64 {
    (one & 0xFFFF_FFFF) * (other & 0xFFFF_FFFF)
}

impl Number for Short {
    /// A factor, and by how many bits the product is shifted down.
    type Divisor = (u64, u32);
    const ZERO: Short = Short(0);

    #[inline(always)]
    fn new(value: i64) -> Short {
        Short(value as u64)
    }

    #[inline(always)]
    fn value(self) -> i64 {
        self.0 as i64
    }

    #[inline(always)]
    fn add(self, other: Short) -> Short {
        Short(self.0.wrapping_add(other.0))
    }

    #[inline(always)]
    fn subtract(self, other: Short) -> Short {
        Short(self.0.wrapping_sub(other.0))
    }

    #[inline(always)]
    fn multiply(self, other: Short) -> Short {
        Short(product_of_halves(self.0, other.0))
    }

    #[inline(always)]
    fn sign(self) -> i64 {
        self.0 as i64
    }

    /// As [`Natural::divisor`], with 31 for 63: the factor is below 2^32, and the product of it and a
    /// number below 2^31 is below 2^63.
    fn divisor(value: i64) -> (u64, u32) {
        let divisor = value as u64;
        let bits = 31 + 64 - (divisor - 1).leading_zeros();
        ((1 << bits) / divisor + 1, bits)
    }

    #[inline(always)]
    fn quotient(self, (factor, shift): (u64, u32)) -> Short {
        // It is at most 62, which spares a question.
        Short(product_of_halves(self.0, factor) >> (shift & 63))
    }
}

/// Below this a number can be a [`Real`].
pub(crate) const REAL_LIMIT: i64 = 1 << 49;

/// A whole number as an `f64`, which every vector unit multiplies and adds; exact below 2^53.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Real(f64);

/// 2^52: in its binade `f64`s are whole numbers, whose low 52 bits are those of the number.
const WHOLE: f64 = (1u64 << 52) as f64;
/// 1.5 * 2^52: adding it to a number between -2^51 and 2^51 rounds that to a whole one.
const ROUND: f64 = 1.5 * WHOLE;

impl Number for Real {
    /// Of a divisor d, 1/d and (1/d - 1)/2, rounded.
    type Divisor = (f64, f64);
    const ZERO: Real = Real(0.0);

    #[inline(always)]
    fn new(value: i64) -> Real {
        // There is no instruction for it before AVX-512.
        Real(f64::from_bits(value as u64 | WHOLE.to_bits()) - WHOLE)
    }

    #[inline(always)]
    fn value(self) -> i64 {
        ((self.0 + WHOLE).to_bits() ^ WHOLE.to_bits()) as i64
    }

    #[inline(always)]
    fn add(self, other: Real) -> Real {
        Real(self.0 + other.0)
    }

    #[inline(always)]
    fn subtract(self, other: Real) -> Real {
        Real(self.0 - other.0)
    }

    #[inline(always)]
    fn multiply(self, other: Real) -> Real {
        Real(self.0 * other.0)
    }

    #[inline(always)]
    fn sign(self) -> i64 {
        self.0.to_bits() as i64
    }

    #[inline(always)]
    fn divisor(value: i64) -> (f64, f64) {
        let inverse = 1.0 / value as f64;
        (inverse, 0.5 * inverse - 0.5)
    }

    /// The quotient rounded down: exact for every number and divisor below [`REAL_LIMIT`].
    ///
    /// With n the number, d the divisor and q the quotient, z = n/d + 1/(2d) - 1/2 lies between
    /// q - 1/2 and q + 1/2, and at least 1/(2d) from both. Rounding the inverse, the product and
    /// the sum changes z by at most n/d * 1.5 * 2^-52, rounding the second constant and a small sum
    /// by 2^-53. With n and d below 2^49 that is less than 0.19/d + 0.07/d. So z stays between the
    /// two, and the nearest whole number is q.
    #[inline(always)]
    fn quotient(self, (inverse, shift): (f64, f64)) -> Real {
        Real(((self.0 * inverse + shift) + ROUND) - ROUND)
    }
}

/// Any number that is not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Natural(u64);

impl Number for Natural {
    /// A factor, and by how many bits the product is shifted down beside 63.
    type Divisor = (u64, u32);
    const ZERO: Natural = Natural(0);

    #[inline(always)]
    fn new(value: i64) -> Natural {
        Natural(value as u64)
    }

    #[inline(always)]
    fn value(self) -> i64 {
        self.0 as i64
    }

    #[inline(always)]
    fn add(self, other: Natural) -> Natural {
        Natural(self.0.wrapping_add(other.0))
    }

    #[inline(always)]
    fn subtract(self, other: Natural) -> Natural {
        Natural(self.0.wrapping_sub(other.0))
    }

    #[inline(always)]
    fn multiply(self, other: Natural) -> Natural {
        Natural(self.0.wrapping_mul(other.0))
    }

    #[inline(always)]
    fn sign(self) -> i64 {
        self.0 as i64
    }

    /// With 2^(l-1) < d <= 2^l, the factor is f = floor(2^(63+l) / d) + 1, below 2^64: 0 < f d -
    /// 2^(63+l) <= d <= 2^l. For n below 2^63, n f / 2^(63+l) is then above n / d by less than 1/d, so
    /// it rounds down to the same. (Granlund and Montgomery, Division by Invariant Integers using
    /// Multiplication, theorem 4.2.)
    fn divisor(value: i64) -> (u64, u32) {
        let divisor = value as u128;
        let bits = 128 - (divisor - 1).leading_zeros();
        let factor = (1u128 << (63 + bits)) / divisor + 1;
        (factor as u64, bits)
    }

    #[inline(always)]
    fn quotient(self, (factor, shift): (u64, u32)) -> Natural {
        let product = u128::from(self.0) * u128::from(factor);
        Natural(((product >> 63) as u64) >> (shift & 63))
    }
}
