//! Numbers of 16 bits and of 32: IEEE 754's binary16, and bfloat16.
//!
//! To the nearest, ties to even; what is too large becomes an infinity. NaNs stay what they are, made quiet, with the
//! sign and the highest bits of the payload. x86's own conversions of binary16 answer the same for every number.

use super::rewrite::Line;
use super::words::Words;
use crate::simd::{Portable, Set};

/// binary16 of a binary32.
#[inline(always)]
pub(crate) fn narrow_half(single: u32) -> u16 {
    let sign = (single >> 16 & 0x8000) as u16;
    let size = single & 0x7fff_ffff;
    // 0.5 has a last place of 2^-24, the smallest number of 16 bits: the sum is rounded there.
    let tiny = (f32::from_bits(size) + 0.5)
        .to_bits()
        .wrapping_sub(0.5f32.to_bits());
    // The exponent moves by 127 - 15. A carry out of the largest number makes an infinity.
    let rounded = size.wrapping_add(0xfff + (size >> 13 & 1));
    let normal = rounded.wrapping_sub(112 << 23) >> 13;
    let nan = 0x7e00 | size >> 13 & 0x3ff;
    let bits = if size > 0x7f80_0000 {
        nan
    } else if size >= 0x4780_0000 {
        0x7c00
    } else if size < 0x3880_0000 {
        tiny
    } else {
        normal
    };
    sign | bits as u16
}

/// binary32 of a binary16.
#[inline(always)]
pub(crate) fn widen_half(half: u16) -> u32 {
    let sign = (half as u32 & 0x8000) << 16;
    let size = half as u32 & 0x7fff;
    let tiny = (f32::from_bits(0.5f32.to_bits() | size) - 0.5).to_bits();
    let bits = if size < 0x400 {
        tiny
    } else if size < 0x7c00 {
        (size << 13) + (112 << 23)
    } else {
        let quiet = if size > 0x7c00 { 1 << 22 } else { 0 };
        ((size << 13) + (224 << 23)) | quiet
    };
    sign | bits
}

/// bfloat16 of a binary32.
#[inline(always)]
pub(crate) fn narrow_bfloat(single: u32) -> u16 {
    let rounded = single.wrapping_add(0x7fff + (single >> 16 & 1));
    let quiet = single | 1 << 22;
    let is_nan = single & 0x7fff_ffff > 0x7f80_0000;
    ((if is_nan { quiet } else { rounded }) >> 16) as u16
}

/// binary32 of a bfloat16.
#[inline(always)]
pub(crate) fn widen_bfloat(bfloat: u16) -> u32 {
    let quiet = if bfloat & 0x7fff > 0x7f80 { 1 << 6 } else { 0 };
    ((bfloat | quiet) as u32) << 16
}

/// The lowest bits of eight bytes as one byte.
#[inline(always)]
pub(crate) fn pack_bits(bytes: u64) -> u8 {
    let x = bytes & 0x0101_0101_0101_0101;
    let x = (x | x >> 7) & 0x0003_0003_0003_0003;
    let x = (x | x >> 14) & 0x0000_000f_0000_000f;
    (x | x >> 28) as u8
}

/// Instruction sets, with their words, and their own way of converting binary16 and of packing bits where they have one.
pub(crate) trait Half: Set {
    type Words: Words;

    /// `bytes` bytes of packed bits, 8 or a line of them.
    ///
    /// # Safety
    ///
    /// Eight times as many bytes are readable; the CPU has the set.
    #[inline(always)]
    unsafe fn pack(from: *const u8, to: &mut Line, bytes: usize) {
        for (i, byte) in to.0[..bytes].iter_mut().enumerate() {
            // SAFETY: the bytes of byte i.
            let word = unsafe { from.cast::<u64>().add(i).read_unaligned() };
            *byte = pack_bits(u64::from_le(word));
        }
    }

    /// `bytes` bytes of binary16, 8 or a line of them.
    ///
    /// # Safety
    ///
    /// As many numbers of four bytes are readable; the CPU has the set.
    #[inline(always)]
    unsafe fn narrow(from: *const u8, to: &mut Line, bytes: usize) {
        for i in 0..bytes / 2 {
            // SAFETY: number i.
            let single = u32::from_le(unsafe { from.cast::<u32>().add(i).read_unaligned() });
            to.0[2 * i..2 * i + 2].copy_from_slice(&narrow_half(single).to_le_bytes());
        }
    }

    /// `bytes` bytes of binary32, 8 or a line of them.
    ///
    /// # Safety
    ///
    /// As many numbers of two bytes are readable; the CPU has the set.
    #[inline(always)]
    unsafe fn widen(from: *const u8, to: &mut Line, bytes: usize) {
        for i in 0..bytes / 4 {
            // SAFETY: number i.
            let half = u16::from_le(unsafe { from.cast::<u16>().add(i).read_unaligned() });
            to.0[4 * i..4 * i + 4].copy_from_slice(&widen_half(half).to_le_bytes());
        }
    }
}

impl Half for Portable {
    type Words = u64;
}

#[cfg(target_arch = "x86_64")]
impl Half for crate::simd::NativeSet {
    type Words = std::arch::x86_64::__m128i;
}

/// NEON, which the compiler makes of words where it can.
#[cfg(target_arch = "aarch64")]
impl Half for crate::simd::NativeSet {
    type Words = u64;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Half, Line};
    use crate::simd::x86::{Avx2Set, Avx512Set};

    /// # Safety
    ///
    /// F16C; 16 readable bytes.
    #[inline(always)]
    unsafe fn narrow_four(from: *const u8) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let halves = _mm_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm_loadu_ps(from.cast()));
            _mm_cvtsi128_si64(halves) as u64
        }
    }

    /// # Safety
    ///
    /// F16C; 4 readable bytes.
    #[inline(always)]
    unsafe fn widen_two(from: *const u8) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let halves = _mm_cvtsi32_si128(from.cast::<i32>().read_unaligned());
            _mm_cvtsi128_si64(_mm_castps_si128(_mm_cvtph_ps(halves))) as u64
        }
    }

    impl Half for Avx2Set {
        type Words = __m256i;

        #[inline(always)]
        unsafe fn pack(from: *const u8, to: &mut Line, bytes: usize) {
            for (i, to) in to.0[..bytes].chunks_exact_mut(4).enumerate() {
                // SAFETY: the caller's promise; 32 bytes become 4.
                let bits = unsafe {
                    let bytes = _mm256_loadu_si256(from.add(32 * i).cast());
                    _mm256_movemask_epi8(_mm256_slli_epi16::<7>(bytes))
                };
                to.copy_from_slice(&bits.to_le_bytes());
            }
        }

        #[inline(always)]
        unsafe fn narrow(from: *const u8, to: &mut Line, bytes: usize) {
            // SAFETY: the caller's promise; 8 numbers become 16 bytes of the line.
            unsafe {
                if bytes == 8 {
                    to.0[..8].copy_from_slice(&narrow_four(from).to_ne_bytes());
                    return;
                }
                for i in 0..bytes / 16 {
                    let singles = _mm256_loadu_ps(from.add(32 * i).cast());
                    let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(singles);
                    _mm_store_si128(to.0.as_mut_ptr().add(16 * i).cast(), halves);
                }
            }
        }

        #[inline(always)]
        unsafe fn widen(from: *const u8, to: &mut Line, bytes: usize) {
            // SAFETY: the caller's promise; 8 numbers become 32 bytes of the line.
            unsafe {
                if bytes == 8 {
                    to.0[..8].copy_from_slice(&widen_two(from).to_ne_bytes());
                    return;
                }
                for i in 0..bytes / 32 {
                    let halves = _mm_loadu_si128(from.add(16 * i).cast());
                    _mm256_store_ps(
                        to.0.as_mut_ptr().add(32 * i).cast(),
                        _mm256_cvtph_ps(halves),
                    );
                }
            }
        }
    }

    impl Half for Avx512Set {
        type Words = __m512i;

        #[inline(always)]
        unsafe fn pack(from: *const u8, to: &mut Line, bytes: usize) {
            for (i, to) in to.0[..bytes].chunks_exact_mut(8).enumerate() {
                // SAFETY: the caller's promise; 64 bytes become 8.
                let bits = unsafe {
                    let bytes = _mm512_loadu_si512(from.add(64 * i).cast());
                    _mm512_movepi8_mask(_mm512_slli_epi16::<7>(bytes))
                };
                to.copy_from_slice(&bits.to_le_bytes());
            }
        }

        #[inline(always)]
        unsafe fn narrow(from: *const u8, to: &mut Line, bytes: usize) {
            // SAFETY: the caller's promise; 16 numbers become 32 bytes of the line.
            unsafe {
                if bytes == 8 {
                    to.0[..8].copy_from_slice(&narrow_four(from).to_ne_bytes());
                    return;
                }
                for i in 0..bytes / 32 {
                    let singles = _mm512_loadu_ps(from.add(64 * i).cast());
                    let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(singles);
                    _mm256_store_si256(to.0.as_mut_ptr().add(32 * i).cast(), halves);
                }
            }
        }

        #[inline(always)]
        unsafe fn widen(from: *const u8, to: &mut Line, bytes: usize) {
            // SAFETY: the caller's promise; 16 numbers become 64 bytes of the line.
            unsafe {
                if bytes == 8 {
                    to.0[..8].copy_from_slice(&widen_two(from).to_ne_bytes());
                    return;
                }
                for i in 0..bytes / 64 {
                    let halves = _mm256_loadu_si256(from.add(32 * i).cast());
                    _mm512_store_ps(
                        to.0.as_mut_ptr().add(64 * i).cast(),
                        _mm512_cvtph_ps(halves),
                    );
                }
            }
        }
    }
}
