//! Random numbers, bit for bit as the formulas say.

use minormajor::random::{normal_f32, normal_f64, philox};
use minormajor::{Device, ElementType, Order, Tensor, bf16, f16};

fn words(seed: u64, block: u64) -> [u32; 4] {
    let halves = |n: u64| [n as u32, (n >> 32) as u32];
    let ([b, c], [k, l]) = (halves(block), halves(seed));
    philox([b, c, 0, 0], [k, l])
}

fn word(seed: u64, i: u64) -> u32 {
    words(seed, i / 4)[i as usize % 4]
}

fn long_word(seed: u64, i: u64) -> u64 {
    let block = words(seed, i / 2);
    let at = 2 * (i as usize % 2);
    u64::from(block[at]) | u64::from(block[at + 1]) << 32
}

/// The tensor's bytes, in logical order.
fn bytes(tensor: Result<Tensor, minormajor::TensorError>) -> Vec<u8> {
    let tensor = tensor.unwrap_or_else(|error| panic!("{error}"));
    tensor.to_bytes().expect("bytes")
}

fn all(count: u64, make: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    (0..count).flat_map(make).collect()
}

/// Normal, uniform and whole numbers of every type.
pub fn random(device: &Device) {
    for sizes in [
        &[][..],
        &[7],
        &[13, 17],
        &[3, 5, 7],
        &[2, 3, 1, 5],
        &[0, 3],
        &[301, 250],
    ] {
        for seed in [0, 42, u64::MAX - 7] {
            normal(device, sizes, seed);
            uniform(device, sizes, seed);
            integers(device, sizes, seed);
        }
    }
}

fn normal(device: &Device, sizes: &[i64], seed: u64) {
    let count = sizes.iter().product::<i64>() as u64;
    let f32_at = |i: u64| {
        let even = i - i % 2;
        normal_f32(word(seed, even), word(seed, even + 1))[i as usize % 2]
    };
    let f64_at = |i: u64| {
        let even = i - i % 2;
        normal_f64(long_word(seed, even), long_word(seed, even + 1))[i as usize % 2]
    };
    for element_type in [
        ElementType::F32,
        ElementType::F64,
        ElementType::F16,
        ElementType::Bf16,
    ] {
        let expected = all(count, |i| match element_type {
            ElementType::F64 => f64_at(i).to_ne_bytes().to_vec(),
            ElementType::F16 => f16::from_f32(f32_at(i)).to_ne_bytes().to_vec(),
            ElementType::Bf16 => bf16::from_f32(f32_at(i)).to_ne_bytes().to_vec(),
            _ => f32_at(i).to_ne_bytes().to_vec(),
        });
        let made = Tensor::randn(element_type, sizes, seed, device);
        assert!(
            bytes(made) == expected,
            "randn {element_type} {sizes:?} seed {seed}"
        );
        let made = Tensor::randn(element_type, sizes, seed, device);
        let columns = made.and_then(|tensor| tensor.contiguous(Order::ColumnMajor));
        assert!(
            bytes(columns) == expected,
            "randn {element_type} {sizes:?} in columns"
        );
    }
}

fn uniform(device: &Device, sizes: &[i64], seed: u64) {
    let count = sizes.iter().product::<i64>() as u64;
    let (low, high) = (-1.5f32, 2.0f32);
    let f32_at = |i: u64| low + (word(seed, i) >> 8) as f32 / 16_777_216.0 * (high - low);
    let f64_at = |i: u64| {
        let unit = (long_word(seed, i) >> 11) as f64 / 9_007_199_254_740_992.0;
        f64::from(low) + unit * f64::from(high - low)
    };
    for element_type in [
        ElementType::F32,
        ElementType::F64,
        ElementType::F16,
        ElementType::Bf16,
    ] {
        let expected = all(count, |i| match element_type {
            ElementType::F64 => f64_at(i).to_ne_bytes().to_vec(),
            // The greatest number of each type below 2.
            ElementType::F16 => {
                let value = f16::from_f32(f32_at(i));
                value.min(f16::from_bits(0x3fff)).to_ne_bytes().to_vec()
            }
            ElementType::Bf16 => {
                let value = bf16::from_f32(f32_at(i));
                value.min(bf16::from_bits(0x3fff)).to_ne_bytes().to_vec()
            }
            _ => f32_at(i).min(high.next_down()).to_ne_bytes().to_vec(),
        });
        let made = Tensor::uniform(element_type, sizes, low.into()..high.into(), seed, device);
        assert!(
            bytes(made) == expected,
            "uniform {element_type} {sizes:?} seed {seed}"
        );
    }
}

fn integers(device: &Device, sizes: &[i64], seed: u64) {
    let count = sizes.iter().product::<i64>() as u64;
    for (element_type, low, high) in [
        (ElementType::S8, -128i128, 128i128),
        (ElementType::U8, 3, 4),
        (ElementType::U16, 7, 65_536),
        (ElementType::S16, -5, 5),
        (ElementType::S32, -7, 100),
        (ElementType::U32, 0, 1 << 32),
        (ElementType::S64, i128::from(i64::MIN), i128::from(i64::MAX)),
        (ElementType::U64, 1, 1 << 64),
    ] {
        let width = element_type.byte_width() as usize;
        let expected = all(count, |i| {
            let range = (high - low) as u128;
            let value = low + ((u128::from(long_word(seed, i)) * range) >> 64) as i128;
            assert!((low..high).contains(&value));
            value.to_le_bytes()[..width].to_vec()
        });
        let made = Tensor::randint(element_type, sizes, low..high, seed, device);
        assert!(
            bytes(made) == expected,
            "randint {element_type} {sizes:?} seed {seed}"
        );
    }
}
