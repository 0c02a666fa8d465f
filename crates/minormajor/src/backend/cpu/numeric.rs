//! The numbers that the processor computes with, and what each operation is on them.

use bytemuck::Pod;
use half::{bf16, f16};

use crate::backend::Tolerance;

/// A number of a type that backends compute with.
pub(super) trait Numeric: Pod + PartialOrd + Send + Sync {
    /// What sums are kept in.
    type Sum: Pod + Send + Sync;
    /// What a sum is written as: this type, or the 64-bit one of integers.
    type Summed: Pod + Send + Sync;
    /// Below everything; where the type has one, minus infinity.
    const LOWEST: Self;

    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn divide(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
    fn is_close(self, other: Self, tolerance: Tolerance) -> bool;

    fn to_sum(self) -> Self::Sum;
    fn add_sums(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    fn summed(sum: Self::Sum) -> Self::Summed;
    /// The sum divided by a count; of floats only.
    fn mean(sum: Self::Sum, count: f64) -> Self::Summed;

    #[inline(always)]
    fn lesser(self, other: Self) -> Self {
        if self < other || self.is_nan() {
            self
        } else {
            other
        }
    }

    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        if self > other || self.is_nan() {
            self
        } else {
            other
        }
    }
}

#[inline(always)]
fn floats_are_close(a: f64, b: f64, tolerance: Tolerance) -> bool {
    let Tolerance { relative, absolute } = tolerance;
    let finite = a.is_finite() & b.is_finite();
    (a == b) | (finite & ((a - b).abs() <= absolute + relative * b.abs()))
}

macro_rules! integers {
    ($($native:ty: $sum:ty, $divide_by_zero:expr;)*) => {$(
        impl Numeric for $native {
            type Sum = $sum;
            type Summed = $sum;
            const LOWEST: Self = <$native>::MIN;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn divide(self, other: Self) -> Self {
                match other {
                    0 => $divide_by_zero,
                    other => self.wrapping_div(other),
                }
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            #[inline(always)]
            fn is_close(self, other: Self, tolerance: Tolerance) -> bool {
                let Tolerance { relative, absolute } = tolerance;
                let bound = absolute + relative * (other as f64).abs();
                self == other || self.abs_diff(other) as f64 <= bound
            }
            #[inline(always)]
            fn to_sum(self) -> $sum {
                self.into()
            }
            #[inline(always)]
            fn add_sums(a: $sum, b: $sum) -> $sum {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn summed(sum: $sum) -> $sum {
                sum
            }
            fn mean(sum: $sum, count: f64) -> $sum {
                // Tensors refuse means of integers; this is their whole part.
                (sum as f64 / count) as $sum
            }
        }
    )*};
}

integers! {
    i8: i64, -1;
    i16: i64, -1;
    i32: i64, -1;
    i64: i64, -1;
    u8: u64, u8::MAX;
    u16: u64, u16::MAX;
    u32: u64, u32::MAX;
    u64: u64, u64::MAX;
}

macro_rules! floats {
    ($($native:ident: $wide:ty, $narrow:expr;)*) => {$(
        impl Numeric for $native {
            // Sums are kept in f64 whatever the type, so one order of adding is as good as another.
            type Sum = f64;
            type Summed = $native;
            const LOWEST: Self = $native::NEG_INFINITY;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                $narrow(<$wide>::from(self) + <$wide>::from(other))
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                $narrow(<$wide>::from(self) - <$wide>::from(other))
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                $narrow(<$wide>::from(self) * <$wide>::from(other))
            }
            #[inline(always)]
            fn divide(self, other: Self) -> Self {
                $narrow(<$wide>::from(self) / <$wide>::from(other))
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $native::is_nan(self)
            }
            #[inline(always)]
            fn is_close(self, other: Self, tolerance: Tolerance) -> bool {
                floats_are_close(f64::from(self), f64::from(other), tolerance)
            }
            #[inline(always)]
            fn to_sum(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn add_sums(a: f64, b: f64) -> f64 {
                a + b
            }
            #[inline(always)]
            fn summed(sum: f64) -> $native {
                Rounded::rounded(sum)
            }
            fn mean(sum: f64, count: f64) -> $native {
                Rounded::rounded(sum / count)
            }
        }
    )*};
}

floats! {
    f32: f32, |x| x;
    f64: f64, |x| x;
    f16: f32, f16::from_f32;
    bf16: f32, bf16::from_f32;
}

/// An f64 rounded once.
trait Rounded {
    fn rounded(value: f64) -> Self;
}

impl Rounded for f64 {
    fn rounded(value: f64) -> f64 {
        value
    }
}

impl Rounded for f32 {
    fn rounded(value: f64) -> f32 {
        value as f32
    }
}

impl Rounded for f16 {
    fn rounded(value: f64) -> f16 {
        f16::from_f64(value)
    }
}

impl Rounded for bf16 {
    fn rounded(value: f64) -> bf16 {
        bf16::from_f64(value)
    }
}

/// An operation as a function of two numbers, which the compiler sees through: `$body` is compiled
/// once for each operation.
macro_rules! with_operation {
    ($operation:expr, $f:ident => $body:expr) => {
        match $operation {
            Binary::Add => {
                let $f = |a: T, b: T| a.add(b);
                $body
            }
            Binary::Subtract => {
                let $f = |a: T, b: T| a.subtract(b);
                $body
            }
            Binary::Multiply => {
                let $f = |a: T, b: T| a.multiply(b);
                $body
            }
            Binary::Divide => {
                let $f = |a: T, b: T| a.divide(b);
                $body
            }
            Binary::Minimum => {
                let $f = |a: T, b: T| a.lesser(b);
                $body
            }
            Binary::Maximum => {
                let $f = |a: T, b: T| a.greater(b);
                $body
            }
        }
    };
}

/// `$body` with `$native` the Rust type of an element type that backends compute with.
macro_rules! with_native {
    ($element_type:expr, $native:ident => $body:expr) => {
        match $element_type {
            ElementType::F32 => {
                type $native = f32;
                $body
            }
            ElementType::F64 => {
                type $native = f64;
                $body
            }
            ElementType::F16 => {
                type $native = half::f16;
                $body
            }
            ElementType::Bf16 => {
                type $native = half::bf16;
                $body
            }
            ElementType::S8 => {
                type $native = i8;
                $body
            }
            ElementType::S16 => {
                type $native = i16;
                $body
            }
            ElementType::S32 => {
                type $native = i32;
                $body
            }
            ElementType::S64 => {
                type $native = i64;
                $body
            }
            ElementType::U8 => {
                type $native = u8;
                $body
            }
            ElementType::U16 => {
                type $native = u16;
                $body
            }
            ElementType::U32 => {
                type $native = u32;
                $body
            }
            ElementType::U64 => {
                type $native = u64;
                $body
            }
            other => unreachable!("tensors compute with numbers only, not {other}"),
        }
    };
}

pub(super) use {with_native, with_operation};
