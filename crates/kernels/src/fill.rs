//! A box to fill with a repeated pattern.

use crate::error::NestError;
use crate::kernel::Kernel;
use crate::movement::Move;
use crate::nest::{Loop, Loops};
use crate::tuning::Tuning;

/// One loop of a fill. The stride is in bytes and signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FillLoop {
    /// How many times the loop runs.
    pub extent: usize,
    /// Bytes from one iteration to the next.
    pub destination: isize,
}

/// A box of elements that all become the same bytes: a [`Move`] from one element, repeated.
///
/// # Example
///
/// ```
/// use minormajor_kernels::{Fill, FillLoop};
/// // The last column of a 2 by 4 matrix of two-byte elements.
/// let column = Fill::new(b"--", 6, &[FillLoop { extent: 2, destination: 8 }])?;
/// let mut matrix = *b"aabbccddeeffgghh";
/// column.run(&mut matrix)?;
/// assert_eq!(&matrix, b"aabbcc--eeffgg--");
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Fill {
    pattern: [u8; 16],
    width: usize,
    repeat: Move,
}

impl Fill {
    /// Checks a nest and chooses its kernel. `pattern` is one element; `destination` the byte offset of the element
    /// whose indices are all zero.
    ///
    /// # Errors
    ///
    /// As [`Move::new`]; the pattern must have 1, 2, 4, 8 or 16 bytes.
    pub fn new(pattern: &[u8], destination: usize, loops: &[FillLoop]) -> Result<Fill, NestError> {
        Fill::tuned(pattern, destination, loops, &Tuning::default())
    }

    /// As [`new`](Fill::new), with an instruction set and a kind of stores that the caller chose.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn tuned(
        pattern: &[u8],
        destination: usize,
        loops: &[FillLoop],
        tuning: &Tuning,
    ) -> Result<Fill, NestError> {
        let nest: Loops = loops
            .iter()
            .map(|l| Loop {
                extent: l.extent,
                source: 0,
                destination: l.destination,
            })
            .collect();
        let repeat = Move::tuned(pattern.len(), 0, destination, &nest, tuning)?;
        let mut bytes = [0; 16];
        bytes[..pattern.len()].copy_from_slice(pattern);
        Ok(Fill {
            pattern: bytes,
            width: pattern.len(),
            repeat,
        })
    }

    /// Fills every element.
    ///
    /// # Errors
    ///
    /// [`NestError::TooShort`] if an element lies outside the destination; then nothing has been written.
    pub fn run(&self, destination: &mut [u8]) -> Result<(), NestError> {
        self.repeat.run(&self.pattern[..self.width], destination)
    }

    /// Fills the elements that lie in bytes `start .. start + window.len()` of the destination, where `window` is
    /// that part of it.
    ///
    /// # Errors
    ///
    /// [`NestError::CutElement`] if an edge of the window lies inside an element; then nothing has been written.
    pub fn run_window(&self, window: &mut [u8], start: usize) -> Result<(), NestError> {
        self.repeat
            .run_window(&self.pattern[..self.width], window, start)
    }

    /// The kernel that fills this box, for explaining a plan.
    pub fn kernel(&self) -> Kernel {
        self.repeat.kernel()
    }

    /// The bytes written: elements times width.
    pub fn bytes(&self) -> usize {
        self.repeat.bytes()
    }

    /// The bytes that the destination must have at least.
    pub fn destination_len(&self) -> usize {
        self.repeat.destination_len()
    }

    /// The element, at the start of the array, and the move that repeats it.
    pub(crate) fn pattern(&self) -> &[u8; 16] {
        &self.pattern
    }

    /// Elements side by side.
    pub(crate) fn side_by_side(&self) -> [u8; 16] {
        std::array::from_fn(|i| self.pattern[i % self.width])
    }

    pub(crate) fn repeat(&self) -> &Move {
        &self.repeat
    }
}
