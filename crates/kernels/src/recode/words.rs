//! Vectors as words of 64 bits, for shifts and masks.

use crate::simd::LINE;

/// A register of words of 64 bits.
///
/// # Safety of the functions
///
/// All require that the CPU has the instructions; `load` and `store` that as many bytes are readable or writable, without
/// alignment.
pub(crate) trait Words: Copy {
    const BYTES: usize;

    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    /// Past the caches where the CPU can; `to` is aligned to `BYTES`.
    unsafe fn stream(self, to: *mut u8);
    /// The same word everywhere.
    unsafe fn splat(word: u64) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// To higher bits of every word, by less than 64.
    unsafe fn up(self, bits: u32) -> Self;
    unsafe fn down(self, bits: u32) -> Self;
    /// The bits in the mask of the second change places with those of the first that are so much higher.
    #[inline(always)]
    unsafe fn exchange(self, second: Self, bits: u32, mask: Self) -> (Self, Self) {
        // SAFETY: the CPU has the words, and bits move by less than 64, by the caller's promise. Where the two differ, both change.
        unsafe {
            let differ = self.down(bits).xor(second).and(mask);
            (self.xor(differ.up(bits)), second.xor(differ))
        }
    }

    /// From a bit of the first byte on, not the lowest: one byte more is readable. The eight bytes that begin where a
    /// word does and those from the next byte on have all its bits.
    #[inline(always)]
    unsafe fn load_from(from: *const u8, bit: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let (low, high) = (Self::load(from), Self::load(from.add(1)));
            low.down(bit as u32).or(high.up(8 - bit as u32))
        }
    }

    /// From a bit of the first byte on, of which no more bytes than `bytes` are readable, at least one and at most those of
    /// the words; behind them are zeros.
    #[inline(always)]
    unsafe fn load_end(from: *const u8, bit: usize, bytes: usize) -> Self {
        let mut end = [0u8; LINE + 1];
        // SAFETY: `bytes` are readable by the caller's promise, and no more than words have, which is at most a line: so the
        // copy has room for them, for all of the words that are loaded from it, and for the byte behind these that `load_from`
        // reads. The CPU has `Self`, and where `load_from` is called the bit is not the lowest.
        unsafe {
            std::ptr::copy_nonoverlapping(from, end.as_mut_ptr(), bytes);
            match bit {
                0 => Self::load(end.as_ptr()),
                _ => Self::load_from(end.as_ptr(), bit),
            }
        }
    }
}

impl Words for u64 {
    const BYTES: usize = 8;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        u64::from_le(unsafe { from.cast::<u64>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<u64>().write_unaligned(self.to_le()) }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut u8) {
        // SAFETY: as `store`.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        word
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        self & other
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        self | other
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    unsafe fn up(self, bits: u32) -> Self {
        self << bits
    }

    #[inline(always)]
    unsafe fn down(self, bits: u32) -> Self {
        self >> bits
    }
}

/// Implements [`Words`] for a register; the names of the intrinsics differ, not what is done with them.
#[cfg(target_arch = "x86_64")]
macro_rules! words {
    ($register:ty, $bytes:literal, $load:ident, $store:ident, $stream:ident, $splat:ident, $and:ident, $or:ident, $xor:ident,
     $up:ident, $down:ident $(, $own:item)*) => {
        impl Words for $register {
            const BYTES: usize = $bytes;

            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: the caller vouches for the bytes and the CPU.
                unsafe { $load(from.cast()) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: the caller vouches for the bytes and the CPU.
                unsafe { $store(to.cast(), self) }
            }

            #[inline(always)]
            unsafe fn stream(self, to: *mut u8) {
                // SAFETY: the caller vouches for the bytes, their alignment and the CPU; who streams ends with a fence.
                unsafe { $stream(to.cast(), self) }
            }

            #[inline(always)]
            unsafe fn splat(word: u64) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { $splat(word as i64) }
            }

            #[inline(always)]
            unsafe fn and(self, other: Self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { $and(self, other) }
            }

            #[inline(always)]
            unsafe fn or(self, other: Self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { $or(self, other) }
            }

            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { $xor(self, other) }
            }

            #[inline(always)]
            unsafe fn up(self, bits: u32) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { $up(self, _mm_cvtsi32_si128(bits as i32)) }
            }

            #[inline(always)]
            unsafe fn down(self, bits: u32) -> Self {
                // SAFETY: the caller vouches for the CPU.
                unsafe { $down(self, _mm_cvtsi32_si128(bits as i32)) }
            }

            $($own)*
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Words;

    words!(
        __m128i,
        16,
        _mm_loadu_si128,
        _mm_storeu_si128,
        _mm_stream_si128,
        _mm_set1_epi64x,
        _mm_and_si128,
        _mm_or_si128,
        _mm_xor_si128,
        _mm_sll_epi64,
        _mm_srl_epi64
    );
    words!(
        __m256i,
        32,
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        _mm256_stream_si256,
        _mm256_set1_epi64x,
        _mm256_and_si256,
        _mm256_or_si256,
        _mm256_xor_si256,
        _mm256_sll_epi64,
        _mm256_srl_epi64
    );
    words!(
        __m512i,
        64,
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        _mm512_stream_si512,
        _mm512_set1_epi64,
        _mm512_and_si512,
        _mm512_or_si512,
        _mm512_xor_si512,
        _mm512_sll_epi64,
        _mm512_srl_epi64,
        /// One instruction chooses bits by a mask.
        #[inline(always)]
        unsafe fn exchange(self, second: Self, bits: u32, mask: Self) -> (Self, Self) {
            // A bit for each of what the mask and both may have, the mask's as the highest: the first's where it is one.
            const CHOOSE: i32 = 0b1100_1010;
            // SAFETY: the CPU has the set of this register, and bits move by less than 64, by the caller's promise.
            unsafe {
                let (up, down) = (second.up(bits), self.down(bits));
                (
                    _mm512_ternarylogic_epi64::<CHOOSE>(mask, self, up),
                    _mm512_ternarylogic_epi64::<CHOOSE>(mask, down, second),
                )
            }
        },
        /// By masks: what was just written piece by piece would be waited for.
        #[inline(always)]
        unsafe fn load_end(from: *const u8, bit: usize, bytes: usize) -> Self {
            let low = u64::MAX >> (64 - bytes);
            // SAFETY: the first mask has `bytes` bits, at least one and at most 64, so its shift is below 64; the second has one
            // fewer, and begins a byte later. What they leave in is readable by the caller's promise; what they mask out is not
            // read. The CPU has the set of this register, by that promise too; shifts are by less than 8.
            unsafe {
                let words = _mm512_maskz_loadu_epi8(low, from.cast());
                if bit == 0 {
                    return words;
                }
                let next = _mm512_maskz_loadu_epi8(low >> 1, from.wrapping_add(1).cast());
                words.down(bit as u32).or(next.up(8 - bit as u32))
            }
        }
    );
}
