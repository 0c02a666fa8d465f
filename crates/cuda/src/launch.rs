//! Launches of kernels: their names, how many blocks, and their parameters as bytes.

use std::borrow::Cow;

/// Threads of a block, of every kernel.
pub const THREADS: u32 = 256;

/// A kernel with all that it is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Its name in the module.
    pub kernel: Cow<'static, str>,
    /// Blocks of [`THREADS`] threads.
    pub blocks: u32,
    /// Bytes of shared memory for each block.
    pub shared_bytes: u32,
    /// Its one parameter, laid out as C++ does.
    pub parameters: Vec<u8>,
}

/// What a launch depends on of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// How many multiprocessors it has.
    pub multiprocessors: u32,
}

impl Card {
    /// Blocks for so many work items: as many as can be resident, each goes on with what is left.
    pub(crate) fn blocks(self, work: u64) -> u32 {
        // Eight blocks of 256 threads fill a multiprocessor's 2048.
        work.min(u64::from(self.multiprocessors) * 8).max(1) as u32
    }
}

/// The parameters of a kernel, field by field in the order of its struct.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<u8>);

impl Fields {
    pub fn u32(&mut self, value: u32) -> &mut Fields {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Fields of 8 bytes stand at multiples of 8: the structs leave no gaps.
    pub fn u64(&mut self, value: u64) -> &mut Fields {
        debug_assert!(self.0.len().is_multiple_of(8));
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn i64(&mut self, value: i64) -> &mut Fields {
        self.u64(value as u64)
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Fields {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Zeros up to a size: what an array has left, or the end of a struct.
    pub fn zeros_to(&mut self, bytes: usize) -> &mut Fields {
        debug_assert!(self.0.len() <= bytes);
        self.0.resize(bytes, 0);
        self
    }

    /// Zeros to the end of a struct whose alignment is 16.
    pub fn pad_to_16(&mut self) -> &mut Fields {
        self.zeros_to(self.0.len().next_multiple_of(16))
    }

    pub fn f64(&mut self, value: f64) -> &mut Fields {
        self.u64(value.to_bits())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// A divisor as a multiplication, an addition and a shift: right for dividends below 2^31.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    pub magic: u32,
    pub shift: u32,
}

impl Divisor {
    /// Of a divisor of at least 1.
    pub fn new(divisor: u32) -> Divisor {
        let shift = u32::BITS - (divisor - 1).leading_zeros();
        let rest = (1u64 << shift) - u64::from(divisor);
        Divisor {
            magic: ((rest << 32) / u64::from(divisor) + 1) as u32,
            shift,
        }
    }
}

/// The same for dividends below 2^63.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongDivisor {
    pub magic: u64,
    pub shift: u32,
}

impl LongDivisor {
    /// Of a divisor of at least 1 and at most 2^63.
    pub fn new(divisor: u64) -> LongDivisor {
        let shift = u64::BITS - (divisor - 1).leading_zeros();
        let rest = (1u128 << shift) - u128::from(divisor);
        LongDivisor {
            magic: ((rest << 64) / u128::from(divisor) + 1) as u64,
            shift,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_without_a_division() {
        let divisors = (1..200).chain([255, 256, 257, 1 << 20, 0x7fff_ffff, 0x4000_0001]);
        for divisor in divisors {
            let short = Divisor::new(divisor);
            let long = LongDivisor::new(u64::from(divisor));
            let near = |n: u32| [n.saturating_sub(1), n, n.saturating_add(1)];
            let dividends = (0..70)
                .chain((1..30).flat_map(|k| near(divisor.saturating_mul(k))))
                .chain([0x7fff_ffff, 0x7fff_fffe, 0x5555_5555])
                .filter(|&n| n < 1 << 31);
            for n in dividends {
                let high = ((u64::from(n) * u64::from(short.magic)) >> 32) as u32;
                assert_eq!((high + n) >> short.shift, n / divisor, "{n} / {divisor}");
                let n = u64::from(n) << 31 | u64::from(n);
                let high = ((u128::from(n) * u128::from(long.magic)) >> 64) as u64;
                let quotient = (high + n) >> long.shift;
                assert_eq!(quotient, n / u64::from(divisor), "{n} / {divisor}");
            }
        }
    }
}
