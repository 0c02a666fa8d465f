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
        (a.interleaved::<W>(b, 0), a.interleaved::<W>(b, 8))
    }

    #[inline(always)]
    unsafe fn transpose_lanes(v: [Self; 4]) -> [Self; 4] {
        v
    }

    #[inline(always)]
    unsafe fn part_lanes(a: Self, b: Self) -> (Self, Self) {
        (a, b)
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
        self.shuffled(table)
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        Bytes16((u128::from_ne_bytes(self.0) | u128::from_ne_bytes(other.0)).to_ne_bytes())
    }

    #[inline(always)]
    unsafe fn select(self, other: Self, mask: Self) -> Self {
        let [a, b, mask] = [self, other, mask].map(|v| u128::from_ne_bytes(v.0));
        Bytes16((mask & b | !mask & a).to_ne_bytes())
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

/// Functions of their own where the compiler likes, as they are called in so many places.
impl Bytes16 {
    /// Elements of `W` bytes in turn, from byte `half` on of either.
    #[inline]
    fn interleaved<const W: usize>(self, other: Self, half: usize) -> Self {
        let mut both = [0; 16];
        for (i, pair) in both.chunks_exact_mut(2 * W).enumerate() {
            let of = half + i * W..half + (i + 1) * W;
            pair[..W].copy_from_slice(&self.0[of.clone()]);
            pair[W..].copy_from_slice(&other.0[of]);
        }
        Bytes16(both)
    }

    #[inline]
    fn shuffled(self, table: Self) -> Self {
        let pick = |place: u8| self.0.get(place as usize).copied().unwrap_or(0);
        Bytes16(table.0.map(pick))
    }
}

set! {
    /// No instructions beyond the target's own.
    set::Portable, Portable: Bytes16, Bytes16, Bytes16
}
