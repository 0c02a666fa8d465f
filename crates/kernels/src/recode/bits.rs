//! Boxes of packed elements that all become the same.

use smallvec::SmallVec;

use crate::clip::clip;
use crate::error::{Buffer, NestError};
use crate::fill::{FillLoop, repeated};
use crate::kernel::Kernel;
use crate::nest::{Loop, Loops, Nest};

/// A box of packed elements that all become the same bits. As a [`Fill`](crate::Fill), but the offset and the strides
/// count bits; other bits of a byte stay as they are.
///
/// ```
/// use minormajor_kernels::{FillBits, FillLoop};
///
/// // Every second nibble becomes 5.
/// let fill = FillBits::new(4, 5, 0, &[FillLoop { extent: 3, destination: 8 }])?;
/// let mut bytes = [0xff; 3];
/// fill.run(&mut bytes)?;
/// assert_eq!(bytes, [0xf5; 3]);
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FillBits {
    nest: Nest,
    /// A byte full of the element.
    pattern: u8,
}

impl FillBits {
    /// Checks a nest. Elements have 1, 2 or 4 bits, the low ones of `pattern`; `destination` is the bit of the element
    /// whose indices are all zero.
    ///
    /// # Errors
    ///
    /// [`NestError::Width`] for another width, [`NestError::CutByte`] where an element lies between two places of its
    /// width, and as [`Move::new`](crate::Move::new).
    pub fn new(
        bits: usize,
        pattern: u8,
        destination: usize,
        loops: &[FillLoop],
    ) -> Result<FillBits, NestError> {
        if !matches!(bits, 1 | 2 | 4) {
            return Err(NestError::Width { width: bits });
        }
        let loops: Loops = repeated(loops).collect();
        let nest = Nest::of_widths((bits, bits), 0, destination, &loops)?;
        let mut places = nest
            .loops
            .iter()
            .map(|l| l.destination)
            .chain([nest.destination]);
        if let Some(place) = places.find(|place| place % bits as isize != 0) {
            return Err(NestError::CutByte {
                buffer: Buffer::Destination,
                bits: place,
                width: bits,
            });
        }
        let low = pattern & ((1 << bits) - 1);
        let pattern = (0..8).step_by(bits).fold(0, |byte, at| byte | low << at);
        Ok(FillBits { nest, pattern })
    }

    /// Fills every element.
    ///
    /// # Errors
    ///
    /// [`NestError::TooShort`] if an element lies outside the destination; then nothing has been written.
    pub fn run(&self, destination: &mut [u8]) -> Result<(), NestError> {
        if destination.len() < self.destination_len() {
            return Err(NestError::TooShort {
                buffer: Buffer::Destination,
                needed: self.destination_len(),
                got: destination.len(),
            });
        }
        self.run_window(destination, 0)
    }

    /// Fills the elements that lie in bytes `start .. start + window.len()` of the destination, where `window` is that
    /// part of it.
    ///
    /// # Errors
    ///
    /// None: no element crosses the edge of a byte.
    pub fn run_window(&self, window: &mut [u8], start: usize) -> Result<(), NestError> {
        let first = start.saturating_mul(8);
        let end = start.saturating_add(window.len()).saturating_mul(8);
        clip(&self.nest, first, end, &mut |part| {
            let loops = part.head.iter().chain(part.rest).filter(|l| l.extent > 1);
            let mut outer: SmallVec<[Loop; 8]> = loops.copied().collect();
            let mut run = self.nest.width;
            while let Some(i) = outer.iter().position(|l| l.destination == run as isize) {
                run *= outer.remove(i).extent;
            }
            self.fill(window, part.destination - first as isize, &outer, run);
        })
    }

    /// Fills runs of `run` bits, one for each iteration of the loops, the first from a bit of the window on.
    fn fill(&self, window: &mut [u8], bit: isize, loops: &[Loop], run: usize) {
        if let Some((l, inner)) = loops.split_first() {
            for i in 0..l.extent as isize {
                self.fill(window, bit + i * l.destination, inner, run);
            }
            return;
        }
        // Bits of a clipped nest: inside the window.
        let (first, end) = (bit as usize, bit as usize + run);
        let merged = |byte: &mut u8, low: usize, high: usize| {
            let mask = (0xff << low) as u8 & (0xff >> (8 - high));
            *byte = *byte & !mask | self.pattern & mask;
        };
        if first / 8 == end / 8 {
            merged(&mut window[first / 8], first % 8, end % 8);
            return;
        }
        let whole = first.div_ceil(8)..end / 8;
        if first % 8 > 0 {
            merged(&mut window[first / 8], first % 8, 8);
        }
        window[whole].fill(self.pattern);
        if end % 8 > 0 {
            merged(&mut window[end / 8], 0, end % 8);
        }
    }

    /// The kernel that fills this box, for explaining a plan.
    pub fn kernel(&self) -> Kernel {
        Kernel::FillBits {
            bits: self.nest.width,
        }
    }

    /// The bytes written: elements times bits.
    pub fn bytes(&self) -> usize {
        self.nest.bytes.div_ceil(8)
    }

    /// The bytes that the destination must have at least.
    pub fn destination_len(&self) -> usize {
        self.nest.destination_end.div_ceil(8)
    }
}
