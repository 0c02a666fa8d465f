//! Runs of a few bytes as numbers, blocks of which are transposed in registers.

use super::Piece;
use super::short::number;
use crate::block::rounds;
use crate::copy::copy;
use crate::simd::{LANE, Vector};

/// A run of `R` bytes as a number of `N`, which are 4 or 8. Three bytes are mostly the colours of a pixel.
pub(super) struct Number<const N: usize, const R: usize>;

/// No byte: zero.
const NONE: u8 = 0x80;

impl<const N: usize, const R: usize> Number<N, R> {
    /// Numbers of a lane.
    const SIDE: usize = const {
        assert!((N == 4 || N == 8) && N / 2 < R && R < N);
        LANE / N
    };
    /// And the bytes of their runs.
    const PIECE: usize = Self::SIDE * R;
    /// For every byte of a lane of numbers its place among runs that begin the lane, and among those that end it.
    const APART: [[u8; LANE]; 2] = [apart::<N, R>(0), apart::<N, R>(LANE - Self::PIECE)];
}

/// For every byte of a lane of numbers its place among runs that begin so many bytes on.
const fn apart<const N: usize, const R: usize>(begin: usize) -> [u8; LANE] {
    let mut places = [NONE; LANE];
    let mut byte = 0;
    while byte < LANE {
        if byte % N < R {
            places[byte] = (begin + byte / N * R + byte % N) as u8;
        }
        byte += 1;
    }
    places
}

/// For every byte of a lane its place among numbers, the runs of which begin so many bytes on, or before the lane.
const fn together<const N: usize, const R: usize>(begin: isize) -> [u8; LANE] {
    let mut places = [NONE; LANE];
    let mut byte = 0;
    while byte < LANE {
        let of = byte as isize - begin;
        if of >= 0 && (of as usize) < LANE / N * R {
            let of = of as usize;
            places[byte] = (of / R * N + of % R) as u8;
        }
        byte += 1;
    }
    places
}

impl<const N: usize, const R: usize> Piece for Number<N, R> {
    const AMID: bool = true;

    const COLUMNS: usize = Self::SIDE;
    /// As many as make up whole lanes of a column.
    const BLOCK_ROWS: usize = {
        let rows = match R % 2 {
            0 => LANE / 2,
            _ => LANE,
        };
        assert!((rows * R).is_multiple_of(LANE) && !R.is_multiple_of(4));
        rows
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

    /// The narrowest registers may lack a shuffle.
    #[inline(always)]
    fn block_columns<V: Vector>() -> usize {
        match V::BYTES {
            LANE => 0,
            bytes => bytes / N,
        }
    }

    #[inline(always)]
    unsafe fn put_block<V: Vector>(
        from: &[*const u8],
        offset: usize,
        to: impl Fn(usize) -> *mut u8,
    ) {
        debug_assert!(from.len() == Self::BLOCK_ROWS);
        // SAFETY: `tables` has four lanes, of which a vector has as many or fewer, so its last one is a place of it too, and the other
        // array has a lane. Groups are put in their order, all rows of each being among the `BLOCK_ROWS`: the caller's promise covers
        // these, `to`, and the CPU's `V`.
        unsafe {
            // The last lane ends where the runs do: behind them there may be nothing.
            let mut tables = [Self::APART[0]; 4];
            tables[V::BYTES / LANE - 1] = Self::APART[1];
            let mut group = Group::<V, N, R> {
                apart: V::load(tables.as_ptr().cast()),
                begun: [V::splat_lane([0; LANE].as_ptr()); 4],
            };
            macro_rules! groups {
                ($($g:literal)*) => {
                    $(if $g * Self::SIDE < Self::BLOCK_ROWS {
                        group.put::<$g>(from, offset, &to);
                    })*
                };
            }
            groups!(0 1 2 3 4 5 6 7);
        }
    }
}

/// As many rows as a lane has numbers.
struct Group<V, const N: usize, const R: usize> {
    apart: V,
    /// Of every column in a lane the bytes of the lane of it that is begun.
    begun: [V; 4],
}

impl<V: Vector, const N: usize, const R: usize> Group<V, N, R> {
    /// Puts group `G` of a block.
    ///
    /// # Safety
    ///
    /// As [`Piece::put_block`]; the groups before it were put.
    #[inline(always)]
    unsafe fn put<const G: usize>(
        &mut self,
        from: &[*const u8],
        offset: usize,
        to: &impl Fn(usize) -> *mut u8,
    ) {
        let (side, piece) = (Number::<N, R>::SIDE, Number::<N, R>::PIECE);
        let last = V::BYTES / LANE - 1;
        // Where in the lane that is begun the runs of this group go.
        let begin = const { G * Number::<N, R>::PIECE % LANE };
        let first = const { together::<N, R>((G * Number::<N, R>::PIECE % LANE) as isize) };
        let rest =
            const { together::<N, R>((G * Number::<N, R>::PIECE % LANE) as isize - LANE as isize) };
        // SAFETY: rows `G * side..`, `side` of them, are of the block. In each, a lane but the last begins with `side` runs, and what it
        // has behind them, less than these, is of the next lane's runs; the last one ends with its own runs, and what it has before
        // them is of the lane's before, as there are two lanes or more. So all that is loaded is of the block's runs, readable. Columns
        // `lane * side + m` are below the block's, and what is stored are whole lanes of their `BLOCK_ROWS` runs, writable. The tables
        // have a lane's bytes. The CPU has `V`. All by the caller's promise.
        unsafe {
            let columns = rounds::<V, N>(
                #[inline(always)]
                |i| {
                    let row = from.get_unchecked(G * side + i % side).add(offset);
                    let lane = |lane: usize| {
                        let back = if lane == last { LANE - piece } else { 0 };
                        row.add(lane * piece).sub(back)
                    };
                    V::load_lanes(lane).shuffle(self.apart)
                },
            );
            let (first, rest) = (V::splat_lane(first.as_ptr()), V::splat_lane(rest.as_ptr()));
            for (m, runs) in columns.into_iter().enumerate().take(side) {
                let mut lanes = runs.shuffle(first);
                if begin > 0 {
                    lanes = lanes.or(self.begun[m]);
                }
                if begin + piece >= LANE {
                    let done = const { G * Number::<N, R>::PIECE / LANE * LANE };
                    lanes.store_lanes(|lane| to(lane * side + m).add(done));
                    lanes = runs.shuffle(rest);
                }
                self.begun[m] = lanes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_runs_and_of_numbers() {
        let threes = apart::<4, 3>(0);
        assert_eq!(threes[..9], [0, 1, 2, NONE, 3, 4, 5, NONE, 6]);
        assert_eq!(apart::<4, 3>(4)[..5], [4, 5, 6, NONE, 7]);
        let fives = apart::<8, 5>(0);
        assert_eq!(fives[4..9], [4, NONE, NONE, NONE, 5]);
        let threes = together::<4, 3>(0);
        assert_eq!(threes[..4], [0, 1, 2, 4]);
        assert_eq!(threes[11..], [14, NONE, NONE, NONE, NONE]);
        assert_eq!(together::<4, 3>(12)[11..], [NONE, 0, 1, 2, 4]);
        assert_eq!(
            together::<4, 3>(12 - 16)[..9],
            [5, 6, 8, 9, 10, 12, 13, 14, NONE]
        );
        let fives = together::<8, 5>(0);
        assert_eq!(fives[4..11], [4, 8, 9, 10, 11, 12, NONE]);
    }

    #[test]
    fn rows_of_a_block_are_whole_lanes_of_a_column() {
        let rows = [
            Number::<4, 3>::BLOCK_ROWS,
            Number::<8, 5>::BLOCK_ROWS,
            Number::<8, 6>::BLOCK_ROWS,
            Number::<8, 7>::BLOCK_ROWS,
        ];
        assert_eq!(rows, [16, 16, 8, 16]);
    }
}
