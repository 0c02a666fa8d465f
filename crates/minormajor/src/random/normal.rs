//! Normal numbers of random words, by polynomials of our own: the module above has the formulas.

/// Coefficients of `atanh(s) / s - 1` over `z = s * s`, from the lowest: of z^1 on, divided by z.
const ATANH_32: [f32; 4] = [1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0];
const ATANH_64: [f64; 10] = [
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
    1.0 / 19.0,
    1.0 / 21.0,
];
/// Taylor's coefficients: of the sine from a^3 on, of the cosine from a^2 on.
const SINE_32: [f32; 4] = [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0];
const COSINE_32: [f32; 5] = [
    -1.0 / 2.0,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
];
const SINE_64: [f64; 8] = [
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
];
const COSINE_64: [f64; 9] = [
    -1.0 / 2.0,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
    -1.0 / 6_402_373_705_728_000.0,
];

macro_rules! normal {
    ($name:ident, $float:ty, $word:ty, $signed:ty, $doc:literal,
     unit: $unit:expr, root: $root:expr, fraction: $fraction:expr,
     atanh: $atanh:expr, sine: $sine:expr, cosine: $cosine:expr) => {
        #[doc = $doc]
        #[inline]
        pub fn $name(radius: $word, angle: $word) -> [$float; 2] {
            const BITS: u32 = <$word>::BITS;
            const TURN: $float = (2.0 * std::f64::consts::PI
                / (if BITS == 32 {
                    4_294_967_296.0
                } else {
                    18_446_744_073_709_551_616.0
                })) as $float;
            let polynomial = |coefficients: &[$float], at: $float| -> $float {
                let (&highest, others) = coefficients.split_last().expect("there are some");
                others.iter().rev().fold(highest, |sum, &c| c + at * sum)
            };
            let u: $float = $unit(radius);
            let b = u.to_bits().wrapping_sub($root) as $signed;
            let k = b >> $fraction;
            let mask: $word = (1 << $fraction) - 1;
            let m = <$float>::from_bits((b as $word & mask) + $root);
            let s = (m - 1.0) / (m + 1.0);
            let z = s * s;
            let double = s + s;
            let ln_m = double + double * (z * polynomial(&$atanh, z));
            let ln = k as $float * (std::f64::consts::LN_2 as $float) + ln_m;
            let radius = (-2.0 * ln).sqrt();

            let quarter = angle.wrapping_add(1 << (BITS - 3)) >> (BITS - 2);
            let rest = angle.wrapping_sub(quarter << (BITS - 2)) as $signed;
            let a = rest as $float * TURN;
            let w = a * a;
            let sine = a + a * (w * polynomial(&$sine, w));
            let cosine = 1.0 + w * polynomial(&$cosine, w);
            let (x, y) = match quarter {
                0 => (cosine, sine),
                1 => (-sine, cosine),
                2 => (-cosine, -sine),
                _ => (sine, -cosine),
            };
            [radius * x, radius * y]
        }
    };
}

normal! {
    normal_f32, f32, u32, i32,
    "Two normal numbers of two words: of an even element and the one behind it.\n\n\
     ```\n\
     use minormajor::random::{normal_f32, philox};\n\n\
     // Elements 0 and 1 of seed 42.\n\
     let [x, y, ..] = philox([0; 4], [42, 0]);\n\
     let [even, odd] = normal_f32(x, y);\n\
     assert!(even.abs() < 7.0 && odd.abs() < 7.0);\n\
     ```",
    unit: |x: u32| x as f32 * (1.0 / 4_294_967_296.0) + 1.0 / 8_589_934_592.0,
    root: 0x3f35_04f3u32, fraction: 23,
    atanh: ATANH_32, sine: SINE_32, cosine: COSINE_32
}

normal! {
    normal_f64, f64, u64, i64,
    "Two normal numbers of two 64-bit words: of an even element and the one behind it.",
    unit: |x: u64| ((x >> 12) as f64 + 0.5) * (1.0 / 4_503_599_627_370_496.0),
    root: 0x3fe6_a09e_667f_3bcdu64, fraction: 52,
    atanh: ATANH_64, sine: SINE_64, cosine: COSINE_64
}
