//! Registers made of two or four parts, and their exchange with lanes.
//!
//! # Safety of all functions
//!
//! The CPU has the instructions of the module's register; `K` parts of an equal share of its bytes each, `pitch` apart,
//! are readable or writable, or half of its bytes at each of two places.

use std::arch::x86_64::*;

pub(super) mod parts16 {
    use super::*;

    #[inline(always)]
    pub(in super::super) unsafe fn load_halves(first: *const u8, second: *const u8) -> __m128i {
        // SAFETY: stated above.
        unsafe {
            _mm_unpacklo_epi64(
                _mm_loadl_epi64(first.cast()),
                _mm_loadl_epi64(second.cast()),
            )
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn part_lanes(a: __m128i, b: __m128i) -> (__m128i, __m128i) {
        (a, b)
    }

    #[inline(always)]
    pub(in super::super) unsafe fn load<const K: usize>(from: *const u8, pitch: isize) -> __m128i {
        // SAFETY: stated above.
        unsafe {
            let quad = |i: isize| from.offset(i * pitch).cast::<i32>().read_unaligned();
            match K {
                2 => load_halves(from, from.offset(pitch)),
                _ => _mm_set_epi32(quad(3), quad(2), quad(1), quad(0)),
            }
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn store<const K: usize>(v: __m128i, to: *mut u8, pitch: isize) {
        // SAFETY: stated above.
        unsafe {
            match K {
                2 => {
                    _mm_storel_epi64(to.cast(), v);
                    _mm_storel_epi64(to.offset(pitch).cast(), _mm_unpackhi_epi64(v, v));
                }
                _ => {
                    let quads = [
                        v,
                        _mm_shuffle_epi32::<1>(v),
                        _mm_shuffle_epi32::<2>(v),
                        _mm_shuffle_epi32::<3>(v),
                    ];
                    for (i, v) in quads.into_iter().enumerate() {
                        let to = to.offset(i as isize * pitch).cast::<i32>();
                        to.write_unaligned(_mm_cvtsi128_si32(v));
                    }
                }
            }
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn load_into(
        v: __m128i,
        from: *const u8,
        begin: usize,
        end: usize,
    ) -> __m128i {
        let mut bytes = [0u128; 1];
        // SAFETY: stated above; the bytes of the register are `begin..end` of it and others.
        unsafe {
            let to = bytes.as_mut_ptr().cast::<u8>();
            _mm_storeu_si128(to.cast(), v);
            from.copy_to_nonoverlapping(to.add(begin), end - begin);
            _mm_loadu_si128(to.cast())
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn deal<const K: usize>(v: __m128i) -> __m128i {
        v
    }

    #[inline(always)]
    pub(in super::super) unsafe fn collect<const K: usize>(v: __m128i) -> __m128i {
        v
    }
}

pub(super) mod parts32 {
    use super::*;

    #[inline(always)]
    pub(in super::super) unsafe fn load_halves(first: *const u8, second: *const u8) -> __m256i {
        // SAFETY: stated above.
        unsafe {
            let low = _mm256_castsi128_si256(_mm_loadu_si128(first.cast()));
            _mm256_inserti128_si256::<1>(low, _mm_loadu_si128(second.cast()))
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn part_lanes(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        // SAFETY: stated above.
        unsafe {
            (
                _mm256_permute2x128_si256::<0x20>(a, b),
                _mm256_permute2x128_si256::<0x31>(a, b),
            )
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn load<const K: usize>(from: *const u8, pitch: isize) -> __m256i {
        // SAFETY: stated above.
        unsafe {
            if K == 2 {
                return load_halves(from, from.offset(pitch));
            }
            let low = _mm256_castsi128_si256(parts16::load::<2>(from, pitch));
            let high = parts16::load::<2>(from.offset(2 * pitch), pitch);
            _mm256_inserti128_si256::<1>(low, high)
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn store<const K: usize>(v: __m256i, to: *mut u8, pitch: isize) {
        // SAFETY: stated above.
        unsafe {
            let (low, high) = (_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
            match K {
                2 => {
                    _mm_storeu_si128(to.cast(), low);
                    _mm_storeu_si128(to.offset(pitch).cast(), high);
                }
                _ => {
                    parts16::store::<2>(low, to, pitch);
                    parts16::store::<2>(high, to.offset(2 * pitch), pitch);
                }
            }
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn load_into(
        v: __m256i,
        from: *const u8,
        begin: usize,
        end: usize,
    ) -> __m256i {
        let mut bytes = [0u128; 2];
        // SAFETY: stated above; the bytes of the register are `begin..end` of it and others.
        unsafe {
            let to = bytes.as_mut_ptr().cast::<u8>();
            _mm256_storeu_si256(to.cast(), v);
            from.copy_to_nonoverlapping(to.add(begin), end - begin);
            _mm256_loadu_si256(to.cast())
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn deal<const K: usize>(v: __m256i) -> __m256i {
        // SAFETY: stated above.
        unsafe {
            match K {
                2 => _mm256_permute4x64_epi64::<0b11_01_10_00>(v),
                _ => _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7)),
            }
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn collect<const K: usize>(v: __m256i) -> __m256i {
        // SAFETY: stated above.
        unsafe {
            match K {
                2 => deal::<2>(v),
                _ => _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)),
            }
        }
    }
}

pub(super) mod parts64 {
    use super::*;

    #[inline(always)]
    pub(in super::super) unsafe fn load_halves(first: *const u8, second: *const u8) -> __m512i {
        // SAFETY: stated above.
        unsafe {
            let low = _mm512_castsi256_si512(_mm256_loadu_si256(first.cast()));
            _mm512_inserti64x4::<1>(low, _mm256_loadu_si256(second.cast()))
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn part_lanes(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        // SAFETY: stated above.
        unsafe {
            (
                _mm512_shuffle_i64x2::<0b10_00_10_00>(a, b),
                _mm512_shuffle_i64x2::<0b11_01_11_01>(a, b),
            )
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn load<const K: usize>(from: *const u8, pitch: isize) -> __m512i {
        // SAFETY: stated above.
        unsafe {
            if K == 2 {
                return load_halves(from, from.offset(pitch));
            }
            let low = _mm512_castsi256_si512(parts32::load::<2>(from, pitch));
            let high = parts32::load::<2>(from.offset(2 * pitch), pitch);
            _mm512_inserti64x4::<1>(low, high)
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn store<const K: usize>(v: __m512i, to: *mut u8, pitch: isize) {
        // SAFETY: stated above.
        unsafe {
            let (low, high) = (_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64::<1>(v));
            match K {
                2 => {
                    _mm256_storeu_si256(to.cast(), low);
                    _mm256_storeu_si256(to.offset(pitch).cast(), high);
                }
                _ => {
                    parts32::store::<2>(low, to, pitch);
                    parts32::store::<2>(high, to.offset(2 * pitch), pitch);
                }
            }
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn load_into(
        v: __m512i,
        from: *const u8,
        begin: usize,
        end: usize,
    ) -> __m512i {
        if begin == end {
            return v;
        }
        let mask = u64::MAX << begin & u64::MAX >> (64 - end);
        // SAFETY: stated above; a masked load reads no byte whose bit is clear.
        unsafe { _mm512_mask_loadu_epi8(v, mask, from.wrapping_sub(begin).cast()) }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn deal<const K: usize>(v: __m512i) -> __m512i {
        // SAFETY: stated above.
        unsafe {
            let places = match K {
                2 => _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15),
                _ => _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
            };
            _mm512_permutexvar_epi32(places, v)
        }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn collect<const K: usize>(v: __m512i) -> __m512i {
        // SAFETY: stated above.
        unsafe {
            let places = match K {
                2 => _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15),
                _ => return deal::<4>(v),
            };
            _mm512_permutexvar_epi32(places, v)
        }
    }
}
