//! Random numbers in logical order.

use half::{bf16, f16};
use minormajor_core::ElementType;

use super::storage::CpuStorage;
use super::walk::parts;
use super::{Distribution, Strided};
use crate::random::{below, long_words, normal_f32, normal_f64, unit_f32, unit_f64, words};

/// Fills memory with the numbers of elements 0, 1, 2, ..
pub(super) fn run(
    distribution: Distribution,
    seed: u64,
    result: &Strided,
    storage: &mut CpuStorage,
) {
    use ElementType::*;
    let element_type = result.element_type();
    match distribution {
        Distribution::Integers { low, range } => {
            let integer =
                |[x, y]: [u64; 2]| [x, y].map(|word| low.wrapping_add(below(range, word)));
            match element_type.bit_width() {
                8 => of_blocks(storage.elements_mut(), seed, |words| {
                    integer(words).map(|n| n as u8)
                }),
                16 => of_blocks(storage.elements_mut(), seed, |words| {
                    integer(words).map(|n| n as u16)
                }),
                32 => of_blocks(storage.elements_mut(), seed, |words| {
                    integer(words).map(|n| n as u32)
                }),
                _ => of_blocks(storage.elements_mut(), seed, integer),
            }
        }
        Distribution::Normal if element_type == F64 => {
            of_blocks(storage.elements_mut(), seed, |[x, y]| normal_f64(x, y));
        }
        Distribution::Uniform {
            low,
            width,
            highest,
        } if element_type == F64 => {
            let one = |word| (low + unit_f64(word) * width).min(highest);
            of_blocks(storage.elements_mut(), seed, |words| words.map(one));
        }
        Distribution::Normal => {
            let four = |[a, b, c, d]: [u32; 4]| {
                let ([a, b], [c, d]) = (normal_f32(a, b), normal_f32(c, d));
                [a, b, c, d]
            };
            match element_type {
                F16 => of_words(storage.elements_mut(), seed, |w| four(w).map(f16::from_f32)),
                Bf16 => of_words(storage.elements_mut(), seed, |w| {
                    four(w).map(bf16::from_f32)
                }),
                _ => of_words(storage.elements_mut(), seed, four),
            }
        }
        Distribution::Uniform {
            low,
            width,
            highest,
        } => {
            let (low, width) = (low as f32, width as f32);
            let one = move |word| low + unit_f32(word) * width;
            match element_type {
                F16 => {
                    let highest = f16::from_f64(highest);
                    let half = move |word| least(f16::from_f32(one(word)), highest);
                    of_words(storage.elements_mut(), seed, |w| w.map(half));
                }
                Bf16 => {
                    let highest = bf16::from_f64(highest);
                    let half = move |word| least(bf16::from_f32(one(word)), highest);
                    of_words(storage.elements_mut(), seed, |w| w.map(half));
                }
                _ => {
                    let highest = highest as f32;
                    of_words(storage.elements_mut(), seed, |w| {
                        w.map(|x| one(x).min(highest))
                    });
                }
            }
        }
    }
}

fn least<T: PartialOrd>(a: T, b: T) -> T {
    if a > b { b } else { a }
}

/// Elements in fours, each of a block's four words.
fn of_words<T: Send + Copy>(
    elements: &mut [T],
    seed: u64,
    make: impl Fn([u32; 4]) -> [T; 4] + Sync,
) {
    parts(elements, |start, part| {
        for (number, four) in part.chunks_mut(4).enumerate() {
            // Parts begin at multiples of four.
            let block = (start / 4 + number) as u64;
            let made = make(words(seed, block));
            four.copy_from_slice(&made[..four.len()]);
        }
    });
}

/// Elements in twos, each of a block's two long words.
fn of_blocks<T: Send + Copy>(
    elements: &mut [T],
    seed: u64,
    make: impl Fn([u64; 2]) -> [T; 2] + Sync,
) {
    parts(elements, |start, part| {
        for (number, two) in part.chunks_mut(2).enumerate() {
            let block = (start / 2 + number) as u64;
            let made = make(long_words(seed, block));
            two.copy_from_slice(&made[..two.len()]);
        }
    });
}
