//! What can be given as sizes.

use minormajor_core::CompactShape;

/// Sizes of a tensor: arrays, slices and vectors of `i64`, and a [`CompactShape`].
pub trait IntoSizes {
    /// The sizes, in increasing order of dimension number.
    fn into_sizes(self) -> Vec<i64>;
}

impl IntoSizes for Vec<i64> {
    fn into_sizes(self) -> Vec<i64> {
        self
    }
}

impl IntoSizes for &[i64] {
    fn into_sizes(self) -> Vec<i64> {
        self.to_vec()
    }
}

impl IntoSizes for &Vec<i64> {
    fn into_sizes(self) -> Vec<i64> {
        self.clone()
    }
}

impl<const N: usize> IntoSizes for [i64; N] {
    fn into_sizes(self) -> Vec<i64> {
        self.to_vec()
    }
}

impl<const N: usize> IntoSizes for &[i64; N] {
    fn into_sizes(self) -> Vec<i64> {
        self.to_vec()
    }
}

impl IntoSizes for CompactShape {
    fn into_sizes(self) -> Vec<i64> {
        self.dims().iter().map(|&size| i64::from(size)).collect()
    }
}
