//! Random numbers that are the same on every device, in every layout, on any number of threads.
//!
//! Each element has a number, its row-major (logical) one `i`, and everything follows from it and
//! the seed, by integers and by single IEEE operations that every device has: no fused multiply-add,
//! no library's logarithm. `*`, `+`, `-`, `/` and square roots below are each rounded to nearest
//! even, in the order written; a fused operation anywhere would change bits. (In CUDA C: `__fmul_rn`,
//! `__fadd_rn`, `__fdiv_rn`, `__fsqrt_rn` and their `d` twins.)
//!
//! # Words
//!
//! [`philox`] makes four words of a block number: Philox 4x32-10 with the key
//! `[seed low, seed high]` and the counter `[block low, block high, 0, 0]`.
//!
//! - *f32 words*: element `i` is in block `i / 4` and has word `x = words[i % 4]`. A normal needs
//!   two words: elements `2 j` and `2 j + 1` share words `2 j % 4` and `2 j % 4 + 1`.
//! - *64-bit words* (f64 and integers): element `i` is in block `i / 2` and has
//!   `x = words[2 (i % 2)] + 2^32 words[2 (i % 2) + 1]`. A normal needs two of them: elements
//!   `2 j` and `2 j + 1` share block `j`, the first the radius.
//!
//! # Normal numbers
//!
//! Box and Muller's: of the words `x` and `y` of an even element and the next, the even one is
//! `radius(x) * cos(y)` and the odd one `radius(x) * sin(y)`: [`normal_f32`], [`normal_f64`].
//! f16 and bf16 are f32's, rounded once.
//!
//! f32, with every constant the nearest f32:
//!
//! ```text
//! u      = f32(x) * 2^-32 + 2^-33                   f32(x) rounds to nearest even
//! b      = bits(u) - 0x3f3504f3                     as i32; 0x3f3504f3 is sqrt(1/2)
//! k      = b >> 23                                  arithmetic: u = m * 2^k
//! m      = from_bits((b & 0x7fffff) + 0x3f3504f3)   sqrt(1/2) <= m < sqrt(2)
//! s      = (m - 1) / (m + 1)
//! z      = s * s
//! p      = 1/3 + z * (1/5 + z * (1/7 + z * 1/9))    from the inside out
//! ln u   = f32(k) * ln2 + (2s + (2s) * (z * p))     2s is s + s
//! radius = sqrt(-2 * ln u)
//!
//! q      = (y + 2^29) >> 30                         the quarter of the turn, wrapping, 0 to 3
//! a      = f32(i32(y - (q << 30))) * (2 pi / 2^32)  wrapping; -pi/4 <= a <= pi/4
//! w      = a * a
//! sin a  = a + a * (w * (-1/6 + w * (1/120 + w * (-1/5040 + w * 1/362880))))
//! cos a  = 1 + w * (-1/2 + w * (1/24 + w * (-1/720 + w * (1/40320 + w * -1/3628800))))
//! (cos y, sin y) = (c, s), (-s, c), (-c, -s), (s, -c) for q = 0, 1, 2, 3
//! ```
//!
//! f64 is the same with 64-bit words: `u = (f64(x >> 12) + 0.5) * 2^-52`,
//! `b = bits(u) - 0x3fe6a09e667f3bcd`, `k = b >> 52`, the mask `2^52 - 1`, `p` with the terms 1/3 to
//! 1/21, `q = (y + 2^61) >> 62`, `a = f64(i64(y - (q << 62))) * (2 pi / 2^64)`, the sine's terms to
//! `1/17!` and the cosine's to `1/18!`.
//!
//! # Uniform numbers
//!
//! f32: `u = f32(x >> 8) * 2^-24`, f64: `u = f64(x >> 11) * 2^-53`, both exact; then
//! `low + u * width`, rounded to the element type (once more for f16 and bf16), and `highest` if it
//! is above that.
//!
//! # Integers
//!
//! `low + high64(x * range)`: the upper 64 bits of the 128-bit product, added in two's complement,
//! of which the type's bits are kept. No number is more than `range * 2^-64` too frequent.

mod normal;
mod philox;

pub use normal::{normal_f32, normal_f64};
pub use philox::philox;

/// Four 32-bit words of a block, for f32.
pub(crate) fn words(seed: u64, block: u64) -> [u32; 4] {
    philox(
        [block as u32, (block >> 32) as u32, 0, 0],
        [seed as u32, (seed >> 32) as u32],
    )
}

/// The two 64-bit words of a block.
pub(crate) fn long_words(seed: u64, block: u64) -> [u64; 2] {
    let [a, b, c, d] = words(seed, block).map(u64::from);
    [a | b << 32, c | d << 32]
}

/// A uniform f32 from 0 to below 1.
pub(crate) fn unit_f32(x: u32) -> f32 {
    (x >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// A uniform f64 from 0 to below 1.
pub(crate) fn unit_f64(x: u64) -> f64 {
    (x >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// The number of `0..range` that a word stands for.
pub(crate) fn below(range: u64, x: u64) -> u64 {
    ((u128::from(x) * u128::from(range)) >> 64) as u64
}
