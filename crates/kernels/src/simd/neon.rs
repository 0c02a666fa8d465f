//! The vectors of aarch64, which every CPU of it has. The project's tests compile them for that target; they were run in
//! an emulator.

use std::arch::aarch64::*;

use super::Vector;

#[derive(Clone, Copy)]
pub(crate) struct Neon(uint8x16_t);

impl Vector for Neon {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: 16 bytes are readable there.
        Neon(unsafe { vld1q_u8(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: 16 bytes are writable there.
        unsafe { vst1q_u8(to, self.0) }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut u8) {
        // SAFETY: as `store`; there is no intrinsic for a streaming store.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    unsafe fn unpack<const W: usize>(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every aarch64 CPU has NEON.
        unsafe {
            match W {
                1 => (Neon(vzip1q_u8(a.0, b.0)), Neon(vzip2q_u8(a.0, b.0))),
                2 => {
                    let (a, b) = (vreinterpretq_u16_u8(a.0), vreinterpretq_u16_u8(b.0));
                    (
                        Neon(vreinterpretq_u8_u16(vzip1q_u16(a, b))),
                        Neon(vreinterpretq_u8_u16(vzip2q_u16(a, b))),
                    )
                }
                4 => {
                    let (a, b) = (vreinterpretq_u32_u8(a.0), vreinterpretq_u32_u8(b.0));
                    (
                        Neon(vreinterpretq_u8_u32(vzip1q_u32(a, b))),
                        Neon(vreinterpretq_u8_u32(vzip2q_u32(a, b))),
                    )
                }
                _ => {
                    let (a, b) = (vreinterpretq_u64_u8(a.0), vreinterpretq_u64_u8(b.0));
                    (
                        Neon(vreinterpretq_u8_u64(vzip1q_u64(a, b))),
                        Neon(vreinterpretq_u8_u64(vzip2q_u64(a, b))),
                    )
                }
            }
        }
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
        // SAFETY: every aarch64 CPU has NEON. Places of 16 and more give zero.
        Neon(unsafe { vqtbl1q_u8(self.0, table.0) })
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: every aarch64 CPU has NEON.
        Neon(unsafe { vorrq_u8(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn select(self, other: Self, mask: Self) -> Self {
        // SAFETY: every aarch64 CPU has NEON.
        Neon(unsafe { vbslq_u8(mask.0, other.0, self.0) })
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
