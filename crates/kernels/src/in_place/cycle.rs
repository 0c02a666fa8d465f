//! Matrices of blocks, transposed by following cycles.

use super::{Crew, Shared, batches, parts, size};
use crate::error::NestError;
use crate::simd::{LINE, near};

/// Matrices of `rows` x `columns` blocks that become `columns` x `rows`.
///
/// ```text
/// for each block that has not been moved:
///     put it aside
///     as long as the place that is free is not its own:
///         move there the block that belongs there, whose place is free then
///     put it into the free place
/// ```
///
/// A bit of scratch for every block says whether it has been moved. Where there is no room for so many, every cycle is
/// followed from each of its blocks until one with a smaller number is met: only from the smallest it is moved.
///
/// What makes it fast is that the way does not depend on what is moved: blocks are asked for some steps ahead.
///
/// ```
/// use minormajor_kernels::Cycle;
/// let mut matrix = *b"aabbccddeeff";
/// Cycle::new(2, 3, 2)?.run(&mut matrix, &|work| work(&mut [0; 16]))?;
/// assert_eq!(&matrix, b"aaddbbeeccff");
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Cycle {
    rows: usize,
    columns: usize,
    block: usize,
}

/// Steps that blocks are asked for ahead; a power of 2.
const AHEAD: usize = 8;

/// Lines of a block that are asked for.
const ASKED: usize = 4;

/// The most bytes of a block that are put aside at once.
const ASIDE: usize = 4096;

impl Cycle {
    /// Matrices of blocks of `block` bytes.
    ///
    /// # Errors
    ///
    /// [`NestError::Overflow`] where a matrix has more than `isize::MAX` bytes.
    pub fn new(rows: usize, columns: usize, block: usize) -> Result<Cycle, NestError> {
        size(&[rows, columns, block])?;
        Ok(Cycle {
            rows,
            columns,
            block,
        })
    }

    /// Transposes every matrix of a buffer. Scratch may be small, but not empty.
    ///
    /// # Errors
    ///
    /// [`NestError::Batches`] where the buffer is no whole number of matrices; then nothing has been moved.
    pub fn run(&self, buffer: &mut [u8], crew: Crew<'_>) -> Result<(), NestError> {
        let matrix = self.rows * self.columns * self.block;
        let batches = batches(buffer.len(), matrix)?;
        if matrix == 0 || self.rows == 1 || self.columns == 1 {
            return Ok(());
        }
        // Threads share a matrix by taking a part of every block: whole lines.
        let slices = if batches >= 16 {
            1
        } else {
            (self.block / (4 * LINE)).clamp(1, 16)
        };
        let slice = self.block.div_ceil(slices).next_multiple_of(LINE);
        let slices = self.block.div_ceil(slice);
        let base = Shared(buffer.as_mut_ptr());
        parts(batches * slices, crew, |part, scratch| {
            let (batch, number) = (part / slices, part % slices);
            let start = number * slice;
            let length = slice.min(self.block - start);
            // SAFETY: the batch is inside the buffer, which is held exclusively, and so is the slice of each of its
            // blocks; every part has a slice of its own.
            unsafe {
                let base = base.get().add(batch * matrix + start);
                self.slice(base, length, scratch);
            }
        });
        Ok(())
    }

    /// The number of the block that belongs at a place.
    fn from(&self, place: usize) -> usize {
        place % self.rows * self.columns + place / self.rows
    }

    /// Moves `length` bytes of each block, a part of them at a time.
    ///
    /// # Safety
    ///
    /// Bytes `i * block..i * block + length` from `base` on may be read and written for every block i, by nobody else.
    unsafe fn slice(&self, base: *mut u8, length: usize, scratch: &mut [u8]) {
        let blocks = self.rows * self.columns;
        let bits = blocks.div_ceil(8);
        let room = scratch.len().saturating_sub(bits);
        let enough = room >= length.min(64) && !scratch.is_empty();
        let (moved, aside) = if enough {
            let (moved, aside) = scratch.split_at_mut(bits);
            (Some(moved), aside)
        } else {
            (None, scratch)
        };
        let mut few = [0; 64];
        let aside = if aside.is_empty() { &mut few } else { aside };
        let step = aside.len().min(ASIDE).min(length);
        let mut moved = moved;
        let mut done = 0;
        while done < length {
            let piece = Piece {
                cycle: self,
                // SAFETY: `done` is below `length`.
                base: unsafe { base.add(done) },
                length: step.min(length - done),
            };
            // SAFETY: the piece is a part of each block's slice.
            unsafe { piece.run(moved.as_deref_mut(), aside) };
            done += step;
        }
    }
}

/// A part of each block.
struct Piece<'a> {
    cycle: &'a Cycle,
    base: *mut u8,
    length: usize,
}

impl Piece<'_> {
    /// # Safety
    ///
    /// Bytes `i * block..i * block + length` from `base` on may be read and written for every block i, by nobody else;
    /// `aside` has `length` bytes.
    unsafe fn run(&self, moved: Option<&mut [u8]>, aside: &mut [u8]) {
        let last = self.cycle.rows * self.cycle.columns - 1;
        // The first and the last block stay.
        match moved {
            Some(moved) => {
                moved.fill(0);
                let mut start = 1;
                while start < last {
                    if start % 8 == 0 && moved[start / 8] == u8::MAX {
                        start += 8;
                        continue;
                    }
                    if moved[start / 8] >> (start % 8) & 1 == 0 {
                        // SAFETY: the caller's promise; `start` is a block.
                        unsafe {
                            self.follow(start, aside, |place| moved[place / 8] |= 1 << (place % 8));
                        }
                    }
                    start += 1;
                }
            }
            None => {
                for start in 1..last {
                    let mut place = self.cycle.from(start);
                    while place > start {
                        place = self.cycle.from(place);
                    }
                    if place == start {
                        // SAFETY: as above.
                        unsafe { self.follow(start, aside, |_| {}) };
                    }
                }
            }
        }
    }

    /// Moves all blocks of one cycle.
    ///
    /// # Safety
    ///
    /// As `run`; `start` is the number of a block.
    #[inline(always)]
    unsafe fn follow(&self, start: usize, aside: &mut [u8], mut mark: impl FnMut(usize)) {
        let first = self.cycle.from(start);
        if first == start {
            return;
        }
        // The next places, of which those ahead have been asked for.
        let mut places = [start; AHEAD];
        let mut ahead = start;
        for place in &mut places {
            ahead = self.cycle.from(ahead);
            *place = ahead;
            self.ask(ahead);
        }
        // SAFETY: the numbers of places are below that of blocks, as `from` permutes these, so by the caller's promise
        // what is copied is readable and writable; two different blocks do not overlap, and `aside` has the length.
        unsafe {
            let at = |place: usize| self.base.add(place * self.cycle.block);
            std::ptr::copy_nonoverlapping(at(start), aside.as_mut_ptr(), self.length);
            let mut free = start;
            let mut turn = 0;
            loop {
                mark(free);
                let from = places[turn % AHEAD];
                if from == start {
                    break;
                }
                ahead = self.cycle.from(ahead);
                places[turn % AHEAD] = ahead;
                self.ask(ahead);
                turn += 1;
                std::ptr::copy_nonoverlapping(at(from), at(free), self.length);
                free = from;
            }
            std::ptr::copy_nonoverlapping(aside.as_ptr(), at(free), self.length);
        }
    }

    #[inline(always)]
    fn ask(&self, place: usize) {
        let from = self.base.wrapping_add(place * self.cycle.block);
        let lines = self.length.div_ceil(LINE).min(ASKED);
        for line in 0..lines {
            near(from.wrapping_add(line * LINE));
        }
    }
}
