//! Short runs: each is read and written as so many bytes as a register or a number has, the rest of which the next one is
//! written over.

use super::Piece;
use crate::copy::copy;
use crate::simd::{LANE, Vector};

/// A run of at most `N` bytes, and more than half of that.
pub(super) struct Short<const N: usize>;

impl<const N: usize> Piece for Short<N> {
    const AMID: bool = true;

    const COLUMNS: usize = if N == LANE { 4 } else { 0 };

    #[inline(always)]
    unsafe fn put<V: Vector>(&self, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy::<V>(from, to, length) }
    }

    #[inline(always)]
    unsafe fn put_amid<V: Vector>(&self, from: *const u8, to: *mut u8, length: usize) {
        debug_assert!(length <= N && N < 2 * length);
        // SAFETY: `N` bytes are less than two runs, all of which the caller lets be read and written.
        unsafe { number::<N>(from, to) }
    }
}

/// Copies `N` bytes.
///
/// # Safety
///
/// They are readable and writable.
#[inline(always)]
pub(super) unsafe fn number<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        to.cast::<[u8; N]>()
            .write_unaligned(from.cast::<[u8; N]>().read_unaligned())
    }
}
