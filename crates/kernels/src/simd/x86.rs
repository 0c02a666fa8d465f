//! The vectors of x86-64: SSE2, which every CPU of it has, AVX2 and AVX-512 (F, BW, VL and DQ).

use std::arch::x86_64::*;

use super::{Picks, Set, Vector, Work, set};

mod parts;

use parts::{parts16, parts32, parts64};

/// What the three vectors share: the names of the intrinsics differ, not what is done with them.
macro_rules! vector {
    ($name:ident, $register:ty, $bytes:literal, $load:ident, $store:ident, $stream:ident,
     $lo8:ident $hi8:ident $lo16:ident $hi16:ident $lo32:ident $hi32:ident $lo64:ident $hi64:ident,
     $or:ident, $select:ident, $shuffle:ident, $splat:ident, $load_lanes:ident, $store_lanes:ident,
     $parts:ident, |$v:ident| $lanes:expr) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name($register);

        impl Vector for $name {
            const BYTES: usize = $bytes;

            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: the caller vouches for the bytes and the CPU.
                $name(unsafe { $load(from.cast()) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: the caller vouches for the bytes and the CPU.
                unsafe { $store(to.cast(), self.0) }
            }

            #[inline(always)]
            unsafe fn stream(self, to: *mut u8) {
                // SAFETY: the caller vouches for the bytes, their alignment and the CPU; the kernels end with a fence.
                unsafe { $stream(to.cast(), self.0) }
            }

            #[inline(always)]
            unsafe fn unpack<const W: usize>(a: Self, b: Self) -> (Self, Self) {
                // SAFETY: the caller vouches for the CPU.
                unsafe {
                    match W {
                        1 => ($name($lo8(a.0, b.0)), $name($hi8(a.0, b.0))),
                        2 => ($name($lo16(a.0, b.0)), $name($hi16(a.0, b.0))),
                        4 => ($name($lo32(a.0, b.0)), $name($hi32(a.0, b.0))),
                        _ => ($name($lo64(a.0, b.0)), $name($hi64(a.0, b.0))),
                    }
                }
            }

            #[inline(always)]
            unsafe fn transpose_lanes($v: [Self; 4]) -> [Self; 4] {
                // SAFETY: the caller vouches for the CPU.
                #[allow(unused_unsafe)]
                unsafe {
                    $lanes
                }
            }

            #[inline(always)]
            unsafe fn shuffle(self, table: Self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                $name(unsafe { $shuffle(self.0, table.0) })
            }

            #[inline(always)]
            unsafe fn or(self, other: Self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                $name(unsafe { $or(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn select(self, other: Self, mask: Self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                $name(unsafe { $select(self.0, other.0, mask.0) })
            }

            #[inline(always)]
            unsafe fn splat_lane(from: *const u8) -> Self {
                // SAFETY: the caller vouches for 16 bytes and the CPU.
                $name(unsafe { $splat(_mm_loadu_si128(from.cast())) })
            }

            #[inline(always)]
            unsafe fn load_lanes(from: impl Fn(usize) -> *const u8) -> Self {
                // SAFETY: the caller vouches for 16 bytes at each place and for the CPU.
                $name(unsafe { $load_lanes(from) })
            }

            #[inline(always)]
            unsafe fn store_lanes(self, to: impl Fn(usize) -> *mut u8) {
                // SAFETY: the caller vouches for 16 bytes at each place and for the CPU.
                unsafe { $store_lanes(self.0, to) }
            }

            #[inline(always)]
            unsafe fn part_lanes(a: Self, b: Self) -> (Self, Self) {
                // SAFETY: the caller vouches for the CPU.
                let (even, odd) = unsafe { $parts::part_lanes(a.0, b.0) };
                ($name(even), $name(odd))
            }

            #[inline(always)]
            unsafe fn load_halves(first: *const u8, second: *const u8) -> Self {
                // SAFETY: the caller vouches for the bytes and the CPU.
                $name(unsafe { $parts::load_halves(first, second) })
            }

            #[inline(always)]
            unsafe fn load_parts<const K: usize>(from: *const u8, pitch: isize) -> Self {
                // SAFETY: the caller vouches for the parts and the CPU.
                $name(unsafe { $parts::load::<K>(from, pitch) })
            }

            #[inline(always)]
            unsafe fn store_parts<const K: usize>(self, to: *mut u8, pitch: isize) {
                // SAFETY: the caller vouches for the parts and the CPU.
                unsafe { $parts::store::<K>(self.0, to, pitch) }
            }

            #[inline(always)]
            unsafe fn load_into(self, from: *const u8, begin: usize, end: usize) -> Self {
                // SAFETY: the caller vouches for the bytes and the CPU.
                $name(unsafe { $parts::load_into(self.0, from, begin, end) })
            }

            #[inline(always)]
            unsafe fn deal<const K: usize>(self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                $name(unsafe { $parts::deal::<K>(self.0) })
            }

            #[inline(always)]
            unsafe fn collect<const K: usize>(self) -> Self {
                // SAFETY: the caller vouches for the CPU.
                $name(unsafe { $parts::collect::<K>(self.0) })
            }
        }
    };
}

vector!(Sse, __m128i, 16, _mm_loadu_si128, _mm_storeu_si128, _mm_stream_si128,
    _mm_unpacklo_epi8 _mm_unpackhi_epi8 _mm_unpacklo_epi16 _mm_unpackhi_epi16
    _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64 _mm_unpackhi_epi64,
    _mm_or_si128, select_sse, shuffle_sse, whole, load_one, store_one,
    parts16, |v| v);

vector!(Ssse, __m128i, 16, _mm_loadu_si128, _mm_storeu_si128, _mm_stream_si128,
    _mm_unpacklo_epi8 _mm_unpackhi_epi8 _mm_unpacklo_epi16 _mm_unpackhi_epi16
    _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64 _mm_unpackhi_epi64,
    _mm_or_si128, _mm_blendv_epi8, _mm_shuffle_epi8, whole, load_one, store_one,
    parts16, |v| v);

vector!(Avx, __m256i, 32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_stream_si256,
_mm256_unpacklo_epi8 _mm256_unpackhi_epi8 _mm256_unpacklo_epi16 _mm256_unpackhi_epi16
_mm256_unpacklo_epi32 _mm256_unpackhi_epi32 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64,
_mm256_or_si256, _mm256_blendv_epi8, _mm256_shuffle_epi8, _mm256_broadcastsi128_si256, load_two, store_two,
parts32, |v| [
    Avx(_mm256_permute2x128_si256::<0x20>(v[0].0, v[1].0)),
    Avx(_mm256_permute2x128_si256::<0x31>(v[0].0, v[1].0)),
    v[2],
    v[3],
]);

vector!(Zmm, __m512i, 64, load_zmm, store_zmm, stream_zmm,
_mm512_unpacklo_epi8 _mm512_unpackhi_epi8 _mm512_unpacklo_epi16 _mm512_unpackhi_epi16
_mm512_unpacklo_epi32 _mm512_unpackhi_epi32 _mm512_unpacklo_epi64 _mm512_unpackhi_epi64,
_mm512_or_si512, select_zmm, _mm512_shuffle_epi8, _mm512_broadcast_i32x4, load_four, store_four,
parts64, |v| {
    let [a, b, c, d] = v.map(|v| v.0);
    let lo = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0x44>(c, d));
    let hi = (_mm512_shuffle_i32x4::<0xee>(a, b), _mm512_shuffle_i32x4::<0xee>(c, d));
    [
        Zmm(_mm512_shuffle_i32x4::<0x88>(lo.0, lo.1)),
        Zmm(_mm512_shuffle_i32x4::<0xdd>(lo.0, lo.1)),
        Zmm(_mm512_shuffle_i32x4::<0x88>(hi.0, hi.1)),
        Zmm(_mm512_shuffle_i32x4::<0xdd>(hi.0, hi.1)),
    ]
});

impl Picks for Zmm {
    #[inline(always)]
    unsafe fn pick([a, b, c]: [Self; 3], first: Self, last: Self, of_last: u64) -> Self {
        // SAFETY: the caller vouches for the CPU, VBMI included.
        Zmm(unsafe {
            let picked = _mm512_permutex2var_epi8(a.0, first.0, b.0);
            _mm512_mask_permutexvar_epi8(picked, of_last, last.0, c.0)
        })
    }

    #[inline(always)]
    unsafe fn load_first(from: *const u8, count: usize) -> Self {
        // SAFETY: the caller's promise; bytes without a bit are not read.
        Zmm(unsafe { _mm512_maskz_loadu_epi8(first_bits(count), from.cast()) })
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut u8, count: usize) {
        // SAFETY: the caller's promise; bytes without a bit are not written.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), first_bits(count), self.0) }
    }
}

/// So many bits from the lowest on, or all 64.
#[inline(always)]
fn first_bits(count: usize) -> u64 {
    match count {
        64.. => u64::MAX,
        count => (1 << count) - 1,
    }
}

/// # Safety
///
/// AVX-512F, and 64 readable bytes.
#[inline(always)]
unsafe fn load_zmm(from: *const __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { _mm512_loadu_si512(from) }
}

/// # Safety
///
/// AVX-512F, and 64 writable bytes.
#[inline(always)]
unsafe fn store_zmm(to: *mut __m512i, v: __m512i) {
    // SAFETY: the caller's promise.
    unsafe { _mm512_storeu_si512(to, v) }
}

/// # Safety
///
/// AVX-512F, and 64 writable bytes, aligned.
#[inline(always)]
unsafe fn stream_zmm(to: *mut __m512i, v: __m512i) {
    // SAFETY: the caller's promise.
    unsafe { _mm512_stream_si512(to, v) }
}

/// # Safety
///
/// AVX-512F.
#[inline(always)]
unsafe fn select_zmm(a: __m512i, b: __m512i, mask: __m512i) -> __m512i {
    // A bit for each of what `mask`, `b` and `a` may have, the first one's as the highest.
    const SELECT: i32 = 0b1100_1010;
    // SAFETY: the caller's promise.
    unsafe { _mm512_ternarylogic_epi32::<SELECT>(mask, b, a) }
}

/// Without SSE4.1.
///
/// # Safety
///
/// None: every x86-64 CPU has SSE2.
#[inline(always)]
unsafe fn select_sse(a: __m128i, b: __m128i, mask: __m128i) -> __m128i {
    // SAFETY: none is needed.
    unsafe { _mm_or_si128(_mm_and_si128(mask, b), _mm_andnot_si128(mask, a)) }
}

/// A byte shuffle without SSSE3, for the baseline's sake only.
///
/// # Safety
///
/// None: every x86-64 CPU has SSE2.
#[inline(always)]
unsafe fn shuffle_sse(v: __m128i, table: __m128i) -> __m128i {
    let (mut bytes, mut places) = ([0u8; 16], [0u8; 16]);
    // SAFETY: both arrays have 16 bytes.
    unsafe {
        _mm_storeu_si128(bytes.as_mut_ptr().cast(), v);
        _mm_storeu_si128(places.as_mut_ptr().cast(), table);
        let out = places.map(|place| if place < 16 { bytes[place as usize] } else { 0 });
        _mm_loadu_si128(out.as_ptr().cast())
    }
}

/// # Safety
///
/// None.
#[inline(always)]
unsafe fn whole(v: __m128i) -> __m128i {
    v
}

/// # Safety
///
/// 16 readable bytes.
#[inline(always)]
unsafe fn load_one(from: impl Fn(usize) -> *const u8) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe { _mm_loadu_si128(from(0).cast()) }
}

/// # Safety
///
/// 16 writable bytes.
#[inline(always)]
unsafe fn store_one(v: __m128i, to: impl Fn(usize) -> *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { _mm_storeu_si128(to(0).cast(), v) }
}

/// # Safety
///
/// AVX2, and 16 readable bytes at both places.
#[inline(always)]
unsafe fn load_two(from: impl Fn(usize) -> *const u8) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { parts32::load_halves(from(0), from(1)) }
}

/// # Safety
///
/// AVX2, and 16 writable bytes at both places.
#[inline(always)]
unsafe fn store_two(v: __m256i, to: impl Fn(usize) -> *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { separate(v, to(0), to(1)) }
}

/// # Safety
///
/// As of `store_two`.
#[inline(always)]
unsafe fn separate(v: __m256i, low: *mut u8, high: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        _mm_storeu_si128(low.cast(), _mm256_castsi256_si128(v));
        _mm_storeu_si128(high.cast(), _mm256_extracti128_si256::<1>(v));
    }
}

/// # Safety
///
/// AVX-512F, and 16 readable bytes at the four places.
#[inline(always)]
unsafe fn load_four(from: impl Fn(usize) -> *const u8) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let low = _mm512_castsi256_si512(parts32::load_halves(from(0), from(1)));
        _mm512_inserti64x4::<1>(low, parts32::load_halves(from(2), from(3)))
    }
}

/// # Safety
///
/// AVX-512F, and 16 writable bytes at the four places.
#[inline(always)]
unsafe fn store_four(v: __m512i, to: impl Fn(usize) -> *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        separate(_mm512_castsi512_si256(v), to(0), to(1));
        separate(_mm512_extracti64x4_epi64::<1>(v), to(2), to(3));
    }
}

set! {
    /// AVX2, with the conversions that every CPU of it has.
    avx2::Avx2Set, Avx2Set: Avx, Avx, Ssse, "avx2,f16c"
}

set! {
    /// AVX-512, with AVX2 for what is narrow.
    avx512::Avx512Set, Avx2Set: Zmm, Avx, Ssse, "avx2,f16c,avx512f,avx512bw,avx512vl,avx512dq"
}

set! {
    /// AVX-512 with VBMI.
    vbmi::VbmiSet, Avx2Set: Zmm, Avx, Ssse, "avx2,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi"
}
