//! Two dimensions that change places, block by block in pairs.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::{Crew, Shared, batches, parts, size};
use crate::dispatch;
use crate::error::NestError;
use crate::isa::Isa;
use crate::simd::{LINE, Set, Vector, Work, prefetch};
use crate::square::square;
use crate::tuning::Tuning;

/// Arrays of `side` x `middle` x `side` blocks whose outer and inner dimension change places. With a middle of 1 these
/// are square matrices.
///
/// ```text
/// for each pair of tiles that lie opposite:         both fit the first-level cache
///     for each pair of squares of a vector's side:
///         one is transposed in registers and put aside, the other to its place,
///         and that which was put aside to the other's
/// ```
///
/// Elements of 1, 2, 4, 8 and 16 bytes are transposed in registers, the lines of the next tile being asked for
/// meanwhile; other blocks are swapped as they are.
///
/// ```
/// use minormajor_kernels::Swap;
/// let mut matrix = *b"aabbccdd";
/// Swap::new(2, 1, 2)?.run(&mut matrix, &|work| work(&mut []))?;
/// assert_eq!(&matrix, b"aaccbbdd");
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Swap {
    side: usize,
    middle: usize,
    block: usize,
    isa: Isa,
}

impl Swap {
    /// Arrays of blocks of `block` bytes.
    ///
    /// # Errors
    ///
    /// [`NestError::Overflow`] where an array has more than `isize::MAX` bytes.
    pub fn new(side: usize, middle: usize, block: usize) -> Result<Swap, NestError> {
        Swap::tuned(side, middle, block, &Tuning::default())
    }

    /// As [`new`](Swap::new), with an instruction set that the caller chose. Stores are plain: what is written has
    /// just been read.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn tuned(
        side: usize,
        middle: usize,
        block: usize,
        tuning: &Tuning,
    ) -> Result<Swap, NestError> {
        size(&[side, middle, side, block])?;
        Ok(Swap {
            side,
            middle,
            block,
            isa: tuning.isa,
        })
    }

    /// Swaps the blocks of every array of a buffer. No scratch is used.
    ///
    /// # Errors
    ///
    /// [`NestError::Batches`] where the buffer is no whole number of arrays; then nothing has been moved.
    pub fn run(&self, buffer: &mut [u8], crew: Crew<'_>) -> Result<(), NestError> {
        let array = self.side * self.middle * self.side * self.block;
        let batches = batches(buffer.len(), array)?;
        if array == 0 {
            return Ok(());
        }
        let tile = self.tile();
        let tiles = self.side.div_ceil(tile);
        // Strips of tiles, each with those at and behind the diagonal: long ones first.
        let count = batches * self.middle * tiles;
        let base = Shared(buffer.as_mut_ptr());
        let isa = self.isa;
        parts(count, crew, |part, _| {
            let (matrix, strip) = (part / tiles, part % tiles);
            let (batch, middle) = (matrix / self.middle, matrix % self.middle);
            let offset = batch * array + middle * self.side * self.block;
            // SAFETY: the array is inside the buffer, which is held exclusively. What a strip swaps are the blocks
            // (i, j, k) and (k, j, i) of its own j and i, so no two strips share one.
            unsafe {
                let strip = Strip {
                    base: base.get().add(offset),
                    side: self.side,
                    pitch: self.middle * self.side * self.block,
                    block: self.block,
                    first: strip * tile,
                    tile,
                };
                dispatch::swap(isa, strip);
            }
        });
        Ok(())
    }

    /// Blocks along a tile: two tiles are some 32 KiB, and rows of a tile some lines.
    fn tile(&self) -> usize {
        match self.block {
            1 | 2 => 128,
            4 | 8 => 64,
            16 => 32,
            block => (1024 / block).clamp(1, 32),
        }
    }
}

/// Part of a square matrix: `tile` rows from `first` on, with the columns opposite.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strip {
    base: *mut u8,
    side: usize,
    /// Bytes from one row to the next.
    pitch: usize,
    block: usize,
    first: usize,
    tile: usize,
}

/// Swaps the blocks of a strip with those opposite.
///
/// # Safety
///
/// The CPU has the set. Rows and columns `first..first + tile`, as far as the matrix has them, may be read and written
/// from the diagonal on, by nobody else.
pub(crate) unsafe fn run<S: Set>(strip: Strip) {
    let set = PhantomData::<S>;
    // SAFETY: the caller's promise, passed on whole.
    unsafe {
        match strip.block {
            1 => S::enter(Elements::<S, 1> { strip, set }),
            2 => S::enter(Elements::<S, 2> { strip, set }),
            4 => S::enter(Elements::<S, 4> { strip, set }),
            8 => S::enter(Elements::<S, 8> { strip, set }),
            16 => S::enter(Elements::<S, 16> { strip, set }),
            _ => blocks(strip),
        }
    }
}

/// Blocks of any length.
///
/// # Safety
///
/// As `run`.
unsafe fn blocks(strip: Strip) {
    let Strip {
        base,
        side,
        pitch,
        block,
        first,
        tile,
    } = strip;
    let rows = tile.min(side - first);
    for start in (first..side).step_by(tile) {
        for i in first..first + rows {
            for k in start.max(i + 1)..(start + tile).min(side) {
                // SAFETY: blocks (i, k) and (k, i) of the strip, which are two as k is above i.
                unsafe {
                    let (a, b) = (
                        base.add(i * pitch + k * block),
                        base.add(k * pitch + i * block),
                    );
                    prefetch(b.wrapping_add(4 * pitch));
                    std::ptr::swap_nonoverlapping(a, b, block);
                }
            }
        }
    }
}

/// Room for the largest square of the widest vector.
#[repr(align(64))]
struct Aside(MaybeUninit<[u8; LINE * LINE]>);

/// Elements of `W` bytes.
///
/// # Safety (of `work`)
///
/// As `run`, of blocks of `W` bytes.
struct Elements<S, const W: usize> {
    strip: Strip,
    set: PhantomData<S>,
}

impl<S: Set, const W: usize> Work for Elements<S, W> {
    #[inline(always)]
    unsafe fn work(self) {
        let Strip {
            side, first, tile, ..
        } = self.strip;
        let end = (first + tile).min(side);
        let mut start = first;
        while start < side {
            let stop = (start + tile).min(side);
            // SAFETY: the caller's promise; rows and columns are inside the matrix.
            unsafe {
                self.rectangle::<S::Wide>([first, end], [start, stop]);
            }
            start = stop;
        }
    }
}

impl<S: Set, const W: usize> Elements<S, W> {
    /// Swaps rows `i` with columns `k` and the rectangle opposite, in squares of a vector's side; what is left, in
    /// smaller ones.
    ///
    /// # Safety
    ///
    /// As `run`; both ranges are inside the matrix, and the same or apart.
    #[inline(always)]
    unsafe fn rectangle<V: Vector>(&self, i: [usize; 2], k: [usize; 2]) {
        let n = V::BYTES / W;
        let whole = |[start, end]: [usize; 2]| start + (end - start) / n * n;
        let (middle_i, middle_k) = (whole(i), whole(k));
        let diagonal = i[0] == k[0];
        // SAFETY: the caller's promise, for parts of the rectangle that do not overlap.
        unsafe {
            for a in (i[0]..middle_i).step_by(n) {
                for b in (if diagonal { a } else { k[0] }..middle_k).step_by(n) {
                    self.square::<V>(a, b);
                }
            }
            if middle_k < k[1] {
                self.narrower::<V>([i[0], middle_i], [middle_k, k[1]]);
            }
            if middle_i < i[1] {
                if !diagonal {
                    self.narrower::<V>([middle_i, i[1]], [k[0], middle_k]);
                }
                self.narrower::<V>([middle_i, i[1]], [middle_k, k[1]]);
            }
        }
    }

    /// # Safety
    ///
    /// As `rectangle`.
    #[inline(always)]
    unsafe fn narrower<V: Vector>(&self, i: [usize; 2], k: [usize; 2]) {
        if i[0] == i[1] || k[0] == k[1] {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            if V::BYTES > S::Half::BYTES {
                self.rectangle::<S::Half>(i, k);
            } else if V::BYTES > S::Quarter::BYTES {
                self.rectangle::<S::Quarter>(i, k);
            } else {
                self.singly(i, k);
            }
        }
    }

    /// # Safety
    ///
    /// As `rectangle`.
    unsafe fn singly(&self, i: [usize; 2], k: [usize; 2]) {
        let Strip { base, pitch, .. } = self.strip;
        for a in i[0]..i[1] {
            for b in k[0].max(if i[0] == k[0] { a + 1 } else { 0 })..k[1] {
                // SAFETY: elements (a, b) and (b, a), which are two.
                unsafe {
                    let (x, y) = (base.add(a * pitch + b * W), base.add(b * pitch + a * W));
                    let (x, y) = (x.cast::<[u8; W]>(), y.cast::<[u8; W]>());
                    let kept = x.read_unaligned();
                    x.write_unaligned(y.read_unaligned());
                    y.write_unaligned(kept);
                }
            }
        }
    }

    /// Swaps the square at row `a` and column `b` with that opposite.
    ///
    /// # Safety
    ///
    /// As `rectangle`; the square is inside the matrix.
    #[inline(always)]
    unsafe fn square<V: Vector>(&self, a: usize, b: usize) {
        let Strip {
            base, pitch, tile, ..
        } = self.strip;
        let n = V::BYTES / W;
        let mut aside = Aside(MaybeUninit::uninit());
        let aside = aside.0.as_mut_ptr().cast::<u8>();
        // SAFETY: both squares are inside the matrix, by the caller's promise; `aside` has n rows of a vector, which are
        // written before they are read. The opposite square is written only after it has been read.
        unsafe {
            let here = base.add(a * pitch + b * W);
            let there = base.add(b * pitch + a * W);
            for row in 0..n {
                prefetch(here.wrapping_add(row * pitch + tile * W));
                prefetch(there.wrapping_add((row + tile) * pitch));
            }
            square::<V, W>(
                |row| here.add(row * pitch),
                |column, v| v.store(aside.add(column * V::BYTES)),
            );
            if a != b {
                square::<V, W>(
                    |row| there.add(row * pitch),
                    |column, v| v.store(here.add(column * pitch)),
                );
            }
            for row in 0..n {
                V::load(aside.add(row * V::BYTES)).store(there.add(row * pitch));
            }
        }
    }
}
