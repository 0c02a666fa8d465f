//! Sixteen bytes in plain Rust, for targets without a vector of their own and for testing the others.

use super::{Set, Vector, Work, set};

#[derive(Clone, Copy)]
pub(crate) struct Bytes16([u8; 16]);

impl Vector for Bytes16 {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: 16 bytes are readable there.
        Bytes16(unsafe { from.cast::<[u8; 16]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: 16 bytes are writable there.
        unsafe { to.cast::<[u8; 16]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut u8) {
        // SAFETY: as `store`.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    unsafe fn unpack<const W: usize>(a: Self, b: Self) -> (Self, Self) {
        let pick = |half: usize| {
            Bytes16(std::array::from_fn(|i| {
                let (pair, byte) = (i / (2 * W), i % W);
                let from = if (i / W).is_multiple_of(2) {
                    &a.0
                } else {
                    &b.0
                };
                from[half + pair * W + byte]
            }))
        };
        (pick(0), pick(8))
    }

    #[inline(always)]
    unsafe fn transpose_lanes(v: [Self; 4]) -> [Self; 4] {
        v
    }

    #[inline(always)]
    unsafe fn deal<const K: usize>(self) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn collect<const K: usize>(self) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn shuffle(self, table: Self) -> Self {
        Bytes16(table.0.map(|place| {
            if place < 16 {
                self.0[place as usize]
            } else {
                0
            }
        }))
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        Bytes16(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    #[inline(always)]
    unsafe fn splat_lane(from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::load(from) }
    }

    #[inline(always)]
    unsafe fn load_lanes(from: impl Fn(usize) -> *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::load(from(0)) }
    }

    #[inline(always)]
    unsafe fn store_lanes(self, to: impl Fn(usize) -> *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.store(to(0)) }
    }
}

set! {
    /// No instructions beyond the target's own.
    Portable, Bytes16, Bytes16, Bytes16
}
