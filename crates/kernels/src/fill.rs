//! A box to fill with a repeated pattern.

mod few;

use std::borrow::Cow;

use crate::error::NestError;
use crate::kernel::Kernel;
use crate::movement::Move;
use crate::nest::{Loop, Loops, Nest};
use crate::simd::LANE;
use crate::tuning::{Stores, Tuning};
use few::Few;

/// One loop of a fill. The stride is in bytes and signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FillLoop {
    /// How many times the loop runs.
    pub extent: usize,
    /// Bytes from one iteration to the next.
    pub destination: isize,
}

/// A box of elements that all become the same bytes: a [`Move`] from one element, repeated, or, where there is little to fill, a loop
/// over its rows.
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
    /// Elements side by side.
    pattern: [u8; LANE],
    width: u8,
    way: Way,
}

/// How it is filled.
#[derive(Debug, Clone)]
enum Way {
    Few(Few),
    Repeat(Move),
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
        let width = pattern.len();
        Nest::check_width(width)?;
        let few = match tuning.stores {
            Stores::Auto => Few::find(width, destination, loops),
            Stores::Plain | Stores::Streaming => None,
        };
        let way = match few {
            Some(few) => Way::Few(few),
            None => {
                let loops: Loops = repeated(loops).collect();
                Way::Repeat(Move::tuned(width, 0, destination, &loops, tuning)?)
            }
        };
        Ok(Fill {
            pattern: side_by_side(pattern),
            width: width as u8,
            way,
        })
    }

    /// Fills every element.
    ///
    /// # Errors
    ///
    /// [`NestError::TooShort`] if an element lies outside the destination; then nothing has been written.
    pub fn run(&self, destination: &mut [u8]) -> Result<(), NestError> {
        match &self.way {
            Way::Few(few) => few.fill(&self.pattern, destination),
            Way::Repeat(repeat) => repeat.run(self.element(), destination),
        }
    }

    /// Fills the elements that lie in bytes `start .. start + window.len()` of the destination, where `window` is
    /// that part of it.
    ///
    /// # Errors
    ///
    /// [`NestError::CutElement`] if an edge of the window lies inside an element; then nothing has been written.
    pub fn run_window(&self, window: &mut [u8], start: usize) -> Result<(), NestError> {
        match &self.way {
            Way::Few(few) => few.fill_window((&self.pattern, self.width()), window, start),
            Way::Repeat(repeat) => repeat.run_window(self.element(), window, start),
        }
    }

    /// The kernel that fills this box, for explaining a plan.
    pub fn kernel(&self) -> Kernel {
        match &self.way {
            Way::Few(few) => Kernel::Repeat {
                width: self.width(),
                run: few.run(),
            },
            Way::Repeat(repeat) => repeat.kernel(),
        }
    }

    /// The bytes written: elements times width.
    pub fn bytes(&self) -> usize {
        match &self.way {
            Way::Few(few) => few.bytes(),
            Way::Repeat(repeat) => repeat.bytes(),
        }
    }

    /// The bytes that the destination must have at least.
    pub fn destination_len(&self) -> usize {
        match &self.way {
            Way::Few(few) => few.end(),
            Way::Repeat(repeat) => repeat.destination_len(),
        }
    }

    /// Elements side by side, the first of which may be the source of a move.
    pub(crate) fn pattern(&self) -> &[u8; LANE] {
        &self.pattern
    }

    /// Where they go.
    pub(crate) fn nest(&self) -> Cow<'_, Nest> {
        match &self.way {
            // It was checked as a nest is.
            Way::Few(few) => Cow::Owned(
                few.nest(self.width())
                    .unwrap_or_else(|_| Nest::empty(self.width())),
            ),
            Way::Repeat(repeat) => Cow::Borrowed(repeat.nest()),
        }
    }

    fn width(&self) -> usize {
        usize::from(self.width)
    }

    fn element(&self) -> &[u8] {
        &self.pattern[..self.width()]
    }
}

/// The loops of a move that stays at one element of the source.
pub(crate) fn repeated(loops: &[FillLoop]) -> impl Iterator<Item = Loop> + '_ {
    loops.iter().map(|l| Loop {
        extent: l.extent,
        source: 0,
        destination: l.destination,
    })
}

/// An element of 1, 2, 4, 8 or 16 bytes, as often as a lane takes it.
fn side_by_side(element: &[u8]) -> [u8; LANE] {
    let mut first = [0; LANE];
    first[..element.len()].copy_from_slice(element);
    // A one at the place of each of them: what is repeated does not overlap.
    let ones = match element.len() {
        1 => u128::MAX / 0xff,
        2 => u128::MAX / 0xffff,
        4 => u128::MAX / 0xffff_ffff,
        8 => u128::MAX / 0xffff_ffff_ffff_ffff,
        _ => 1,
    };
    u128::from_le_bytes(first).wrapping_mul(ones).to_le_bytes()
}
