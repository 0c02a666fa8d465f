//! How the bytes of a few registers are mixed.

use std::sync::OnceLock;

use super::Weave;
use crate::simd::{LANE, Pick, Picks, Vector};

/// Calls `f` with each byte of `rows` outputs of `N` bytes each: the output and the place in it, the input and the place
/// in that.
fn mixed<const N: usize>(
    width: usize,
    rows: usize,
    join: bool,
    mut f: impl FnMut(usize, usize, usize, usize),
) {
    for element in 0..N / width {
        for row in 0..rows {
            for byte in 0..width {
                let row_byte = element * width + byte;
                let run_byte = (element * rows + row) * width + byte;
                if join {
                    f(run_byte / N, run_byte % N, row, row_byte);
                } else {
                    f(row, row_byte, run_byte / N, run_byte % N);
                }
            }
        }
    }
}

type Once<T> = OnceLock<Box<[T]>>;

/// What weaves of a width and a number of rows share, in either direction: made for the first of them, and kept.
struct Shared<T>([[[Once<T>; 2]; 16]; 4]);

impl<T> Shared<T> {
    const fn new() -> Self {
        Shared([const { [const { [const { OnceLock::new() }; 2] }; 16] }; 4])
    }

    fn get(&self, width: usize, rows: usize, join: bool, make: impl FnOnce() -> Vec<T>) -> &[T] {
        let place = &self.0[width.trailing_zeros() as usize][rows][usize::from(join)];
        place.get_or_init(|| make().into_boxed_slice())
    }
}

/// The most rows that are [`Blended`].
const BLENDED: usize = 7;

/// Whether so many rows are blended: an odd number, whose elements share no place of a lane.
fn is_blended(rows: usize) -> bool {
    rows % 2 == 1 && (3..=BLENDED).contains(&rows)
}

/// The tables of the method that does without picks: [`Blended`]'s or [`Shuffled`]'s.
pub(super) fn tables(width: usize, rows: usize, join: bool) -> &'static [[u8; 16]] {
    static TABLES: Shared<[u8; 16]> = Shared::new();
    TABLES.get(width, rows, join, || match is_blended(rows) {
        true => blended(width, rows, join),
        false => shuffled(width, rows, join),
    })
}

/// Which byte of input `i` goes to each byte of output `o`, at `o * rows + i`; the top bit stands for none.
fn shuffled(width: usize, rows: usize, join: bool) -> Vec<[u8; 16]> {
    let mut tables = vec![[0x80; 16]; rows * rows];
    mixed::<16>(width, rows, join, |output, at, input, from| {
        tables[output * rows + input][at] = from as u8;
    });
    tables
}

/// For each row which of its bytes goes where in a lane, or comes from where, and behind these for each remainder of an element's
/// place by the number of the rows a mask of its bytes. Rows and remainders in the order of [`blended_row`].
fn blended(width: usize, rows: usize, join: bool) -> Vec<[u8; 16]> {
    let mut of_rows = vec![[0; 16]; rows];
    mixed::<16>(width, rows, join, |output, at, input, from| {
        of_rows[if join { input } else { output }][at] = from as u8;
    });
    let mask = |remainder: usize| {
        std::array::from_fn(|byte| match byte / width % rows == remainder {
            true => u8::MAX,
            false => 0,
        })
    };
    let order = || (0..rows).map(|number| blended_row(width, rows, number));
    let of_rows = order().map(|row| of_rows[row]);
    of_rows.chain(order().map(mask)).collect()
}

/// Which row has this number among those of [`Blended`], and which remainder.
#[inline(always)]
fn blended_row(width: usize, rows: usize, number: usize) -> usize {
    number * (16 / width) % rows
}

/// The picks of [`Picked`], one for each of three outputs.
pub(super) fn picks(width: usize, join: bool) -> &'static [Pick] {
    static PICKS: Shared<Pick> = Shared::new();
    PICKS.get(width, 3, join, || {
        let mut picks = vec![Pick::default(); 3];
        mixed::<64>(width, 3, join, |output, at, input, from| {
            picks[output].set(at, input, from);
        });
        picks
    })
}

/// How registers of inputs become registers of outputs.
///
/// # Safety of the functions
///
/// All require that the CPU has `V`, and that `k` is the number of the rows.
pub(super) trait Method<V: Vector> {
    /// What the registers are mixed by. A copy, as what is in memory would be read again after every store.
    type Tables: Copy;

    /// Those of a weave.
    ///
    /// # Safety
    ///
    /// The weave is one of this method, of `K` rows.
    unsafe fn tables<const K: usize>(weave: &Weave) -> Self::Tables;

    /// The row that is input `i`, or output `i`; below the number of rows as `i` is.
    #[inline(always)]
    fn row(_: &Self::Tables, i: usize) -> usize {
        i
    }

    /// Register `i` of `K` from a run: each lane from a chunk of its own, unless a method says otherwise.
    ///
    /// # Safety
    ///
    /// `K` registers are readable at `run`; `i` is below `K`.
    #[inline(always)]
    unsafe fn take<const K: usize>(run: *const u8, i: usize) -> V {
        // SAFETY: the chunk of lane l is K lanes long, so it is one of the lanes of `K` registers: readable, and the CPU has `V`, by the
        // caller's promise.
        unsafe { V::load_lanes(|lane| run.add((lane * K + i) * LANE)) }
    }

    /// Register `o` of `K` to a run.
    ///
    /// # Safety
    ///
    /// As `take`, but writable.
    #[inline(always)]
    unsafe fn put<const K: usize>(v: V, run: *mut u8, o: usize) {
        // SAFETY: as `take`.
        unsafe { v.store_lanes(|lane| run.add((lane * K + o) * LANE)) }
    }

    /// Output `o` of the inputs, to `JOIN` rows or to separate a run.
    ///
    /// # Safety
    ///
    /// `K` is the number of the rows; `o` is below it; the tables are those of the weave.
    unsafe fn output<const K: usize, const JOIN: bool>(
        tables: &Self::Tables,
        inputs: &[V; K],
        o: usize,
    ) -> V;
}

/// By shuffles within lanes: every lane does a chunk of its own.
pub(super) struct Shuffled;

impl<V: Vector> Method<V> for Shuffled {
    type Tables = *const [u8; 16];

    #[inline(always)]
    unsafe fn tables<const K: usize>(weave: &Weave) -> Self::Tables {
        weave.tables.as_ptr()
    }

    #[inline(always)]
    unsafe fn output<const K: usize, const JOIN: bool>(
        tables: &Self::Tables,
        inputs: &[V; K],
        o: usize,
    ) -> V {
        // SAFETY: there are K * K tables; the CPU has `V`.
        unsafe {
            let table = |i: usize| V::splat_lane(tables.add(o * K + i).cast());
            let mut v = inputs[0].shuffle(table(0));
            for (i, input) in inputs.iter().enumerate().skip(1) {
                v = v.or(input.shuffle(table(i)));
            }
            v
        }
    }
}

/// By shuffles within lanes, as `Shuffled`, of an odd number of rows: with as many elements in a lane as a power of two, the element `e`
/// of row `r`, which is element `e * K + r` of the run, has a place in its lane there that no other of the row has. So one shuffle puts
/// each row's bytes where they go, whichever register that is, and the registers are blended from all rows by masks; the other way
/// is the same backwards. That takes `K` shuffles and `K * (K - 1)` blends for `K` registers, in place of `K * K` shuffles and as many
/// blends.
///
/// Register `o` of the run begins with element `o * C`, where `C` are in a lane: what is at place `p` there is of row `p + o * C`, all
/// by remainders of `K`. Of rows and of remainders numbered in the order of multiples of `C`, that is number `p + o`, whatever `C` is:
/// the width of elements is in tables alone.
pub(super) struct Blended;

/// What rows are blended by, each in the order of [`blended_row`].
#[derive(Clone, Copy)]
pub(super) struct Blends<V> {
    /// Of each row.
    tables: [V; BLENDED],
    /// Of each remainder.
    masks: [V; BLENDED],
    /// Which row has each number.
    rows: [usize; BLENDED],
}

impl<V: Vector> Method<V> for Blended {
    type Tables = Blends<V>;

    #[inline(always)]
    unsafe fn tables<const K: usize>(weave: &Weave) -> Self::Tables {
        const { assert!(K % 2 == 1 && K <= BLENDED) };
        // SAFETY: the weave is of this method and has `K` rows: there are `2 * K` tables of a lane. The CPU has `V`.
        unsafe {
            let table = |i: usize| V::splat_lane(weave.tables.get_unchecked(i).as_ptr());
            let mut blends = Blends {
                tables: [table(0); BLENDED],
                masks: [table(K); BLENDED],
                rows: [0; BLENDED],
            };
            for i in 1..K {
                blends.tables[i] = table(i);
                blends.masks[i] = table(K + i);
                blends.rows[i] = blended_row(weave.width, K, i);
            }
            blends
        }
    }

    #[inline(always)]
    fn row(tables: &Self::Tables, i: usize) -> usize {
        tables.rows[i]
    }

    #[inline(always)]
    unsafe fn output<const K: usize, const JOIN: bool>(
        tables: &Self::Tables,
        inputs: &[V; K],
        o: usize,
    ) -> V {
        // SAFETY: the CPU has `V`.
        unsafe {
            // What is at places of this remainder.
            let part = |remainder: usize| match JOIN {
                true => {
                    let row = (remainder + o) % K;
                    inputs[row].shuffle(tables.tables[row])
                }
                false => inputs[(o + K - remainder) % K],
            };
            let mut v = part(0);
            for remainder in 1..K {
                v = v.select(part(remainder), tables.masks[remainder]);
            }
            match JOIN {
                true => v,
                false => v.shuffle(tables.tables[o]),
            }
        }
    }
}

/// By picking bytes of three registers. The CPU can do that, and there are three rows.
pub(super) struct Picked;

impl<V: Picks> Method<V> for Picked {
    /// Places in the first two registers, in the third, and which are of the third, for each output.
    type Tables = [(V, V, u64); 3];

    #[inline(always)]
    unsafe fn tables<const K: usize>(weave: &Weave) -> Self::Tables {
        let picks = weave.picks;
        // Written out, as a library's function that makes an array is not always compiled for the set.
        // SAFETY: the CPU has `V` by the caller's promise, which is all that `load` asks for.
        unsafe { [picks[0].load(), picks[1].load(), picks[2].load()] }
    }

    #[inline(always)]
    unsafe fn take<const K: usize>(run: *const u8, i: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe { V::load(run.add(i * V::BYTES)) }
    }

    #[inline(always)]
    unsafe fn put<const K: usize>(v: V, run: *mut u8, o: usize) {
        // SAFETY: the caller's promise.
        unsafe { v.store(run.add(o * V::BYTES)) }
    }

    #[inline(always)]
    unsafe fn output<const K: usize, const JOIN: bool>(
        tables: &Self::Tables,
        inputs: &[V; K],
        o: usize,
    ) -> V {
        let (first, last, of_last) = tables[o];
        // SAFETY: the CPU has `V`.
        unsafe { V::pick([inputs[0], inputs[1], inputs[2]], first, last, of_last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rows_of_bytes_are_shuffled() {
        // The first 16 bytes of the run: a0 b0 a1 b1 .. b7.
        let tables = tables(1, 2, true);
        assert_eq!(tables.len(), 4);
        assert_eq!(tables[0][..5], [0, 128, 1, 128, 2]);
        assert_eq!(tables[1][11..], [5, 128, 6, 128, 7]);
        assert_eq!(tables[2][..2], [8, 128]);
    }

    #[test]
    fn three_rows_are_blended() {
        // The first 16 bytes of the run: r0 g0 b0 r1 .. r5, and the next ones g5 b5 r6 ..
        let joined = tables(1, 3, true);
        assert_eq!(joined.len(), 6);
        assert_eq!(
            joined[0],
            [0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5]
        );
        assert_eq!((joined[1][0], joined[1][1], joined[2][2]), (5, 0, 0));
        assert_eq!(joined[3][..4], [255, 0, 0, 255]);
        assert_eq!(joined[4][..4], [0, 255, 0, 0]);
        let split = tables(1, 3, false);
        for row in 0..3 {
            for (place, &byte) in joined[row].iter().enumerate() {
                assert_eq!(split[row][usize::from(byte)], place as u8);
            }
        }
        // Eight elements in a lane: the second register begins with one of row 2, which so is number 1.
        let pairs = tables(2, 3, true);
        assert_eq!((blended_row(2, 3, 1), blended_row(2, 3, 2)), (2, 1));
        assert_eq!(pairs[1][4..6], [0, 1]);
        assert_eq!(pairs[4][..6], [0, 0, 0, 0, 255, 255]);
    }
}
