//! Squares of elements, as wide as a vector, transposed in registers; and those of planes whose places can be found from several.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::block::{block, rounds};
use crate::order::Order;
use crate::places::Parted;
use crate::simd::{LANE, Vector};

/// Transposes a square, as wide as `V`: rows are loaded whole or by halves, and squares of lanes are transposed at the end. Where a row
/// is not in the first-level cache that is faster than asking for it once for each block, though it takes more shuffles.
///
/// # Safety
///
/// `V::BYTES / W` rows are readable for `V::BYTES` each. `put` may be called with as many column numbers. The CPU has `V`.
#[inline(always)]
pub(crate) unsafe fn square<V: Vector, const W: usize>(
    row: impl Fn(usize) -> *const u8,
    put: impl Fn(usize, V),
) {
    // SAFETY: the caller's promise.
    unsafe { squares::<V, W, 1>(row, |_, m, v| put(m, v), |_| ()) }
}

/// Transposes `K` squares that lie one below the other, and only then hands out their columns: those of all squares one
/// after the other. `put` takes the square, the column and what belongs there; `before` is told of all rows, some at a time
/// and in order, while columns are handed out.
///
/// # Safety
///
/// As `square`, for `K` times as many rows.
#[inline(always)]
pub(crate) unsafe fn squares<V: Vector, const W: usize, const K: usize>(
    row: impl Fn(usize) -> *const u8,
    put: impl Fn(usize, usize, V),
    before: impl Fn(Range<usize>),
) {
    // SAFETY: the caller's promise.
    unsafe {
        if const { V::BYTES == 4 * LANE && W > 1 && W < LANE } {
            halves::<V, W, K>(row, put, before);
        } else {
            wholes::<V, W, K>(row, put, before);
        }
    }
}

/// As [`squares`], by whole rows.
///
/// # Safety
///
/// As `squares`.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // with iterators the vectors go through memory, at half the speed
unsafe fn wholes<V: Vector, const W: usize, const K: usize>(
    row: impl Fn(usize) -> *const u8,
    put: impl Fn(usize, usize, V),
    before: impl Fn(Range<usize>),
) {
    let (c, count) = (16 / W, V::BYTES / LANE);
    let mut lanes = [[[MaybeUninit::<V>::uninit(); 16]; 4]; K];
    // SAFETY: rows are readable by the caller's promise; indices of `lanes` stay below K, `count` and c, whose elements
    // the first loop writes before the second reads them.
    unsafe {
        for k in 0..K {
            for g in 0..count {
                let v = rounds::<V, W>(
                    #[inline(always)]
                    |i| V::load(row((k * count + g) * c + i % c)),
                );
                for m in 0..c {
                    lanes[k][g][m].write(v[m]);
                }
            }
        }
        for m in 0..c {
            for k in 0..K {
                let told = (m * K + k) * count;
                before(told..told + count);
                let first = lanes[k][0][m].assume_init();
                let mut of_column = [first; 4];
                for g in 1..count {
                    of_column[g] = lanes[k][g][m].assume_init();
                }
                let columns = V::transpose_lanes(of_column);
                for (l, v) in columns.into_iter().enumerate().take(count) {
                    put(k, l * c + m, v);
                }
            }
        }
    }
}

/// As [`squares`], of vectors of four lanes. Each is loaded from two rows, of both the same half, and then of both the other: what
/// loads put in place takes no shuffle, of which there is one unit. A core of an Emerald Rapids takes 357 ns by whole rows for f32[64,64]
/// to columns and 295 so, 241 and 190 for u16[64,64], 324 and 290 for f64[45,45]; of bytes no less, of 16 bytes more.
///
/// # Safety
///
/// As `squares`, of such vectors.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // as in `wholes`
unsafe fn halves<V: Vector, const W: usize, const K: usize>(
    row: impl Fn(usize) -> *const u8,
    put: impl Fn(usize, usize, V),
    before: impl Fn(Range<usize>),
) {
    let c = 16 / W;
    // Not a loop: a compiler would keep it as one, and all places in memory.
    macro_rules! half {
        ($half:literal) => {{
            let mut lanes = [[[MaybeUninit::<V>::uninit(); 16]; 2]; K];
            for k in 0..K {
                for g in 0..2 {
                    let v = rounds::<V, W>(
                        #[inline(always)]
                        |i| {
                            let first = (k * 4 + g * 2) * c + i % c;
                            let [first, second] = [row(first), row(first + c)];
                            let bytes = $half * (V::BYTES / 2);
                            V::load_halves(first.add(bytes), second.add(bytes))
                        },
                    );
                    for m in 0..c {
                        lanes[k][g][m].write(v[m]);
                    }
                }
            }
            for m in 0..c {
                for k in 0..K {
                    let told = (($half * c + m) * K + k) * 2;
                    before(told..told + 2);
                    // Lanes are those of the first rows' first 16 bytes, of their next, and the same of other rows.
                    let upper = lanes[k][0][m].assume_init();
                    let lower = lanes[k][1][m].assume_init();
                    let (even, odd) = V::part_lanes(upper, lower);
                    put(k, 2 * $half * c + m, even);
                    put(k, (2 * $half + 1) * c + m, odd);
                }
            }
        }};
    }
    // SAFETY: rows of `K` squares are readable for `V::BYTES` each, so for half as many from either half on; columns handed out are below
    // V::BYTES / W, which is 4 * c; and the CPU has `V`: the caller's promise. Indices of `lanes` stay below K, 2 and c, whose elements
    // the first loop writes before the second reads them.
    unsafe {
        half!(0);
        half!(1);
    }
}

/// Moves the square of `rows` and `columns` that begins with this column; `before` is told as by [`squares`].
///
/// # Safety
///
/// The CPU has `V`. The square's rows are readable from that column on for a vector each, and its columns writable for one.
#[inline(always)]
pub(crate) unsafe fn square_of<V: Vector, O: Order, const W: usize>(
    rows: &impl Parted,
    columns: &impl Parted,
    first: usize,
    order: O,
    before: impl Fn(Range<usize>),
) {
    // SAFETY: the caller's promise. Places in eighth are below as many as a vector has elements, so of the square, and no more than 7
    // further on are asked for of each.
    unsafe {
        if const { W == 1 } {
            squares::<V, W, 1>(
                |i| rows.at(i).wrapping_add(first * W),
                |_, m, v: V| order.mix(v).store(columns.at(first + m).cast_mut()),
                before,
            );
            return;
        }
        // From one place in eight: u16[64,64] to columns takes an Emerald Rapids 184 ns so, and 210 from the first alone. Bytes, read by
        // whole rows, were not measured so.
        let eighth = [0, 8, 16, 24].map(|place| place % const { V::BYTES / W });
        let rows = eighth.map(
            #[inline(always)]
            |row| rows.from(row, first * W),
        );
        let columns = eighth.map(
            #[inline(always)]
            |column| columns.from(first + column, 0),
        );
        squares::<V, W, 1>(
            #[inline(always)]
            |i| rows[i / 8].at(i % 8),
            #[inline(always)]
            |_, m, v: V| order.mix(v).store(columns[m / 8].at(m % 8).cast_mut()),
            before,
        );
    }
}

/// Moves a block of bytes, of which such a vector has one for each of 32 rows: 16 columns from this one on.
///
/// Of four rows and two columns the compiler forgets how they were found, and takes steps from there. On a Zen 4 without AVX-512, ns or us of
/// bytes to columns with all places kept in memory, and so: u8[64,64] 190 and 149, u8[128,128] 699 and 526, u8[300,1934] 43 and 34,
/// u8[2368,1369] 247 and 218. Pairs and wider elements, in squares, lose by it up to a twelfth.
///
/// # Safety
///
/// The CPU has `V`, of two lanes. Of 32 rows 16 bytes are readable from that column on, and 16 columns are writable for a vector each.
#[inline(always)]
pub(crate) unsafe fn block_of<V: Vector, O: Order>(
    rows: &impl Parted,
    columns: &impl Parted,
    first: usize,
    order: O,
) {
    debug_assert_eq!(V::BYTES, 2 * LANE);
    // SAFETY: the caller's promise: rows are four groups of eight, and columns two.
    unsafe {
        let rows = [0, 8, 16, 24].map(
            #[inline(always)]
            |row| rows.from(row, first).anew(),
        );
        let columns = [0, 8].map(
            #[inline(always)]
            |column| columns.from(first + column, 0).anew(),
        );
        block::<V, 1>(
            #[inline(always)]
            |i| rows[i / 8].at(i % 8),
            #[inline(always)]
            |m, v: V| order.mix(v).store(columns[m / 8].at(m % 8).cast_mut()),
        );
    }
}
