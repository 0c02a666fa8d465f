//! Short runs: each is read and written as so many bytes as a register or a number has, the rest of which the next one is
//! written over.

use super::Piece;
use crate::block::rounds;
use crate::copy::copy;
use crate::simd::Vector;

/// A run of at most `N` bytes, and more than half of that.
pub(super) struct Short<const N: usize>;

impl<const N: usize> Piece for Short<N> {
    const AMID: bool = true;

    const COLUMNS: usize = if N == LANE { 4 } else { 0 };

    #[inline(always)]
    unsafe fn put<V: Vector>(&self, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy::<V>(from, to, length) }
    }

    #[inline(always)]
    unsafe fn put_amid<V: Vector>(&self, from: *const u8, to: *mut u8, length: usize) {
        debug_assert!(length <= N && N < 2 * length);
        // SAFETY: `N` bytes are less than two runs, all of which the caller lets be read and written.
        unsafe { number::<N>(from, to) }
    }
}

/// A run of `R` bytes as a number of `N`, which are 4 or 8. Blocks of them are transposed in registers. Three bytes are mostly
/// the colours of a pixel.
pub(super) struct Number<const N: usize, const R: usize>;

/// Bytes of a lane of a register.
pub(super) const LANE: usize = 16;
/// Rows at the end of a column that blocks leave: they write part of a lane behind their own.
const LAST: usize = 2;

impl<const N: usize, const R: usize> Number<N, R> {
    /// For every byte of a lane of numbers its place among runs; a top bit stands for nothing.
    const APART: [u8; LANE] = places(N, R);
    /// And for every byte of runs its place among numbers.
    const TOGETHER: [u8; LANE] = places(R, N);
}

/// The places of the first bytes of elements of `of` bytes where they are as far apart as `to` says, as many as a lane has of
/// the larger ones.
const fn places(of: usize, to: usize) -> [u8; LANE] {
    let (count, both) = if of > to {
        (LANE / of, to)
    } else {
        (LANE / to, of)
    };
    let mut places = [0x80; LANE];
    let mut byte = 0;
    while byte < LANE {
        if byte % of < both && byte / of < count {
            places[byte] = (byte / of * to + byte % of) as u8;
        }
        byte += 1;
    }
    places
}

impl<const N: usize, const R: usize> Piece for Number<N, R> {
    const AMID: bool = true;

    const COLUMNS: usize = const {
        assert!((N == 4 || N == 8) && N / 2 < R && R <= N);
        LANE / N
    };

    #[inline(always)]
    unsafe fn put<V: Vector>(&self, from: *const u8, to: *mut u8, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy::<V>(from, to, R) }
    }

    #[inline(always)]
    unsafe fn put_amid<V: Vector>(&self, from: *const u8, to: *mut u8, _: usize) {
        // SAFETY: a number is less than two runs, all of which the caller lets be read and written.
        unsafe { number::<N>(from, to) }
    }

    #[inline(always)]
    unsafe fn put_blocks<V: Vector>(
        &self,
        from: &[*const u8],
        offset: usize,
        to: *mut u8,
        pitch: usize,
    ) -> usize {
        let (rows, c) = (V::BYTES / N, LANE / N);
        // The narrowest registers may lack a shuffle.
        if V::BYTES == LANE {
            return 0;
        }
        let mut r = 0;
        // SAFETY: `row` is asked for numbers below `rows`, as `c` rows of each lane are, and r + rows is at most the list's length;
        // of each row the caller lets a lane be read from `offset` on. Both tables have a lane's bytes. Each lane that is written
        // begins with `c` runs of the column, and ends at most `LAST` runs behind them, of rows that are on the list, too. The CPU
        // has `V`.
        unsafe {
            let apart = V::splat_lane(Self::APART.as_ptr());
            let together = V::splat_lane(Self::TOGETHER.as_ptr());
            while r + rows + LAST <= from.len() {
                let row = |i: usize| *from.get_unchecked(r + i);
                let columns = rounds::<V, N>(
                    #[inline(always)]
                    |i| V::load_lanes(|lane| row(c * lane + i % c).add(offset)).shuffle(apart),
                );
                for (m, column) in columns.into_iter().enumerate().take(c) {
                    let to = to.add(m * pitch + r * R);
                    column
                        .shuffle(together)
                        .store_lanes(|lane| to.add(lane * c * R));
                }
                r += rows;
            }
        }
        r
    }
}

/// Copies `N` bytes.
///
/// # Safety
///
/// They are readable and writable.
#[inline(always)]
unsafe fn number<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        to.cast::<[u8; N]>()
            .write_unaligned(from.cast::<[u8; N]>().read_unaligned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_runs_and_of_numbers() {
        let threes = Number::<4, 3>::APART;
        assert_eq!(threes[..9], [0, 1, 2, 0x80, 3, 4, 5, 0x80, 6]);
        let threes = Number::<4, 3>::TOGETHER;
        assert_eq!(threes[..4], [0, 1, 2, 4]);
        assert_eq!(threes[11..], [14, 0x80, 0x80, 0x80, 0x80]);
        let fives = Number::<8, 5>::APART;
        assert_eq!(fives[4..9], [4, 0x80, 0x80, 0x80, 5]);
        let fives = Number::<8, 5>::TOGETHER;
        assert_eq!(fives[4..11], [4, 8, 9, 10, 11, 12, 0x80]);
    }
}
