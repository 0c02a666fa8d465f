//! Transposes in registers, and tiles of them.
//!
//! A block is as many rows as a vector has elements and as many columns as 16 bytes have. Each lane of a vector is
//! loaded from a row of its own, log2(16 / W) rounds interleave elements of `W` bytes within the lanes, and each vector
//! then is a column of the block. So a whole vector goes to each column from 16 bytes of each row: planes that are narrow
//! on one side are no special case.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::order::Order;
use crate::places::Places;
use crate::simd::{LINE, Vector};
use crate::square::squares;

/// Transposes a block of elements of `W` bytes; `row` says where each row starts, `put` takes each column.
///
/// # Safety
///
/// `V::BYTES / W` rows are readable for 16 bytes each. `put` may be called with column numbers below 16 / W. The CPU has
/// `V`.
#[inline(always)]
pub(crate) unsafe fn block<V: Vector, const W: usize>(
    row: impl Fn(usize) -> *const u8,
    put: impl Fn(usize, V),
) {
    // SAFETY: the caller's promise.
    unsafe { blocks::<V, W, 1>(row, |_, m, v| put(m, v)) }
}

/// Transposes `K` blocks that lie one below the other, and only then hands out their columns: those of all blocks one after the
/// other. `put` takes the block, the column and what belongs there.
///
/// # Safety
///
/// As `block`, for `K` times as many rows.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // with iterators the vectors go through memory, at half the speed
unsafe fn blocks<V: Vector, const W: usize, const K: usize>(
    row: impl Fn(usize) -> *const u8,
    put: impl Fn(usize, usize, V),
) {
    let (c, n) = (16 / W, V::BYTES / W);
    // SAFETY: lane l of vector i is of row l * c + i of its block, which is below V::BYTES / W, so readable. Of each of `K` blocks the
    // first loop writes c vectors, and the second reads and hands out these. The CPU has `V`. All by the caller's promise.
    unsafe {
        let mut of = [[MaybeUninit::<V>::uninit(); 16]; K];
        for k in 0..K {
            let v = rounds::<V, W>(
                #[inline(always)]
                |i| V::load_lanes(|l| row(k * n + l * c + i % c)),
            );
            for m in 0..c {
                of[k][m].write(v[m]);
            }
        }
        for m in 0..c {
            for k in 0..K {
                put(k, m, of[k][m].assume_init());
            }
        }
    }
}

/// Transposes a block that lies on its side: 16 / W rows, of each as many columns as a vector has elements. Every lane of
/// the result is a column; `column` says where each is put.
///
/// # Safety
///
/// `V::BYTES` of each of 16 / W rows are readable, and 16 of each of `V::BYTES / W` columns writable. The CPU has `V`.
#[inline(always)]
pub(crate) unsafe fn spread<V: Vector, const W: usize>(
    row: impl Fn(usize) -> *const u8,
    order: impl Order,
    column: impl Fn(usize) -> *mut u8,
) {
    let c = 16 / W;
    // SAFETY: lane l of vector m is of column l * c + m, which is below V::BYTES / W.
    unsafe {
        let v = rounds::<V, W>(
            #[inline(always)]
            |i| V::load(row(i % c)),
        );
        for (m, v) in v.into_iter().enumerate().take(c) {
            order.mix(v).store_lanes(|lane| column(lane * c + m));
        }
    }
}

/// Transposes the squares of elements in all lanes of 16 / W vectors.
///
/// # Safety
///
/// The CPU has `V`; `load` may be called with numbers below 16.
#[inline(always)]
pub(crate) unsafe fn rounds<V: Vector, const W: usize>(load: impl Fn(usize) -> V) -> [V; 16] {
    let c = 16 / W;
    // SAFETY: the caller's promise.
    unsafe { turned::<V, W>(c, c.ilog2(), load) }
}

/// Some rounds of interleaving elements of `W` bytes within the lanes of `c` vectors, up to 16: in each, the first half of
/// the vectors with the second. With a vector's number as the upper bits of an element's place in its lane, a round turns
/// the bits of that by one, the highest becoming the lowest.
///
/// # Safety
///
/// The CPU has `V`; `load` may be called with numbers below 16, of which those from `c` on do not matter.
#[inline(always)]
pub(crate) unsafe fn turned<V: Vector, const W: usize>(
    c: usize,
    rounds: u32,
    load: impl Fn(usize) -> V,
) -> [V; 16] {
    if (c, rounds) != (16, 4) {
        // SAFETY: the caller's promise.
        return unsafe { in_turn::<V, W>(c, rounds, load) };
    }
    // Those of even numbers meet the others in the last round only: of eight at a time nearly all stay in sixteen registers, where a
    // compiler kept many of all sixteen in memory. A Zen 3 takes 13 % less time for u8[256,1934] to columns so.
    // SAFETY: the caller's promise; numbers are below 16.
    unsafe {
        let [a, b, c, d, e, f, g, h, ..] = in_turn::<V, W>(
            8,
            3,
            #[inline(always)]
            |i| load(2 * (i % 8)),
        );
        let [i, j, k, l, m, n, o, p, ..] = in_turn::<V, W>(
            8,
            3,
            #[inline(always)]
            |i| load(2 * (i % 8) + 1),
        );
        interleave::<V, W>(16, [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
    }
}

/// As [`turned`], round after round.
///
/// # Safety
///
/// As `turned`.
#[inline(always)]
unsafe fn in_turn<V: Vector, const W: usize>(
    c: usize,
    rounds: u32,
    load: impl Fn(usize) -> V,
) -> [V; 16] {
    // With all sixteen named no loop is left to unroll; those beyond c are unused and left out.
    let mut v = [
        load(0),
        load(1),
        load(2),
        load(3),
        load(4),
        load(5),
        load(6),
        load(7),
        load(8),
        load(9),
        load(10),
        load(11),
        load(12),
        load(13),
        load(14),
        load(15),
    ];
    // SAFETY: the CPU has `V`.
    unsafe {
        if rounds >= 1 {
            v = interleave::<V, W>(c, v);
        }
        if rounds >= 2 {
            v = interleave::<V, W>(c, v);
        }
        if rounds >= 3 {
            v = interleave::<V, W>(c, v);
        }
        if rounds >= 4 {
            v = interleave::<V, W>(c, v);
        }
    }
    v
}

/// Interleaves the first half of `c` vectors with the second. Written out, as the vectors must stay in registers.
///
/// # Safety
///
/// The CPU has `V`.
#[inline(always)]
unsafe fn interleave<V: Vector, const W: usize>(c: usize, v: [V; 16]) -> [V; 16] {
    macro_rules! pairs {
        ($half:literal: $($i:literal)*) => {{
            let mut out = v;
            $(
                // SAFETY: the caller's promise.
                (out[2 * $i], out[2 * $i + 1]) = unsafe { V::unpack::<W>(v[$i], v[$i + $half]) };
            )*
            out
        }};
    }
    match c {
        16 => pairs!(8: 0 1 2 3 4 5 6 7),
        8 => pairs!(4: 0 1 2 3),
        4 => pairs!(2: 0 1),
        2 => pairs!(1: 0),
        _ => v,
    }
}

/// How many blocks of rows write a column together, 1, 2 or 4. Where it streams, as many as a line takes, one after the other: a CPU
/// writes a line whole only as long as few others have been begun. On a Zen 3 a line of two vectors takes 4 ns while up to 4 are
/// begun at once, and 25 where these are 8.
///
/// Bytes of which a square does not fit the registers: what it keeps in memory meanwhile waits behind the lines that are streamed.
/// So two squares wait together, even where each writes whole lines.
const fn together<V: Vector, const W: usize, const STREAM: bool>() -> usize {
    match LINE / V::BYTES {
        _ if !STREAM => 1,
        1 if W == 1 => 2,
        parts @ (1 | 2 | 4) => parts,
        _ => panic!("vectors have 16 bytes, 32 or a line"),
    }
}

/// Moves `height` rows of `breadth` elements to as many columns, block by block down the rows. A last block that is not
/// whole is moved back to be so: some elements are then written twice.
///
/// `ask` is told of rows, each block's once. `order` says what becomes of the bytes of an element.
///
/// # Safety
///
/// The CPU has `V`. `height` is at least `V::BYTES / W` and `breadth` at least `16 / W`; all elements are readable and
/// writable, and the two sides do not overlap. If `STREAM`, every block of rows starts aligned to `V` in every column.
#[inline(always)]
pub(crate) unsafe fn tile<V: Vector, const W: usize, const STREAM: bool>(
    rows: impl Places,
    height: usize,
    columns: impl Places,
    breadth: usize,
    order: impl Order,
    ask: impl Fn(Range<usize>),
) {
    let n = V::BYTES / W;
    // Blocks of few bytes of each row fit the registers, and wait for none that is no part of their lines.
    let many = match const { together::<V, W, STREAM>() } {
        _ if V::BYTES == LINE && breadth < n => 1,
        many => many,
    };
    let mut r = 0;
    while r < height {
        r = r.min(height - n);
        // SAFETY: rows r..r + n are of the tile, and where as many more as are left suffice, `many` times n. What else a band asks
        // for is what a tile does: the caller's promise.
        unsafe {
            if many == 1 || height - r < many * n {
                band::<V, W, 1, STREAM>(&rows, r, &columns, breadth, order, &ask);
                r += n;
                continue;
            }
            if const { together::<V, W, STREAM>() == 2 } {
                band::<V, W, 2, STREAM>(&rows, r, &columns, breadth, order, &ask);
            } else if const { together::<V, W, STREAM>() == 4 } {
                band::<V, W, 4, STREAM>(&rows, r, &columns, breadth, order, &ask);
            }
        }
        r += many * n;
    }
}

/// As [`tile`] by ordinary stores, where the last rows may be less than half a block: those are moved 16 / `W` at a time, which is less
/// work than a block moved back. On a Zen 3 u8[40,1500000] to columns reaches 0.74 of memcpy without and 0.82 so, u16[20,1500000] 1.02 and
/// 1.17; where tiles have other rows, or wider elements, the compiler makes less of it.
///
/// # Safety
///
/// As [`tile`].
#[inline(always)]
#[allow(clippy::redundant_closure)] // what is called by way of a reference to a closure is not inlined
pub(crate) unsafe fn ragged<V: Vector, const W: usize>(
    rows: impl Places + Copy,
    height: usize,
    columns: impl Places + Copy,
    breadth: usize,
    order: impl Order,
    ask: impl Fn(Range<usize>),
) {
    if const { W > 4 } {
        // SAFETY: the caller's promise.
        return unsafe { tile::<V, W, false>(rows, height, columns, breadth, order, ask) };
    }
    let (n, few) = (V::BYTES / W, 16 / W);
    let left = height % n;
    let is_short = few < n && 0 < left && left <= few && breadth >= n;
    let whole = if is_short { height - left } else { height };
    // SAFETY: the caller's promise: the tile has n rows or more, so as many are whole, and all of them are of the tile.
    unsafe {
        tile::<V, W, false>(
            rows,
            whole,
            columns,
            breadth,
            order,
            #[inline(always)]
            |rows| ask(rows),
        );
    }
    if !is_short {
        return;
    }
    let r = height - few;
    ask(r..height);
    let mut q = 0;
    while q < breadth {
        q = q.min(breadth - n);
        // SAFETY: a tile of n rows or more has `few` of them from row r on, and of `breadth` columns, at least n, those from q on. By the
        // caller's promise `V::BYTES` of these rows are readable from column q on, as many as n elements have, and 16 of these columns
        // writable from row r on, as many as `few` have; and the CPU has `V`.
        unsafe {
            spread::<V, W>(
                #[inline(always)]
                |i| rows.at(r + i).add(q * W),
                order,
                #[inline(always)]
                |m| columns.at(q + m).cast_mut().add(r * W),
            );
        }
        q += n;
    }
}

/// The most rows of a band whose places are found before.
const PLACES: usize = 4;

/// Moves `K` blocks of rows from row `r` on, block by block along them.
///
/// # Safety
///
/// As [`tile`], of which these rows are.
#[inline(always)]
unsafe fn band<V: Vector, const W: usize, const K: usize, const STREAM: bool>(
    rows: &impl Places,
    r: usize,
    columns: &impl Places,
    breadth: usize,
    order: impl Order,
    ask: &impl Fn(Range<usize>),
) {
    let (n, c) = (V::BYTES / W, 16 / W);
    // Few places are found once, and stay in registers. A Zen 3 moves c128[4096,4096] to columns in 33 ms without and in 28.5 so.
    let few = !STREAM && K * n <= PLACES;
    let mut known = [std::ptr::null(); PLACES];
    if few {
        for (i, start) in known.iter_mut().enumerate().take(K * n) {
            // SAFETY: the rows of `K` squares are of the tile, by the caller's promise.
            *start = unsafe { rows.at(r + i) };
        }
    }
    // What is to be asked for by the rows of squares of bytes is spread over their many stores, as so many requests at once would
    // hold up the loads that follow.
    let spread = W == 1 && K > 1 && breadth >= n;
    if !spread {
        ask(r..r + K * n);
    }
    let mut q = 0;
    while q < breadth {
        let wide = breadth - q >= n;
        if !wide {
            q = q.min(breadth - c);
        }
        // SAFETY: the rows of `K` squares are of the tile, readable, and so are columns q..q + n or q..q + c, writable, each from a
        // multiple of a vector on if they are streamed. The CPU has `V`. All by the caller's promise.
        unsafe {
            let row = |i: usize| {
                let start = if few {
                    known[i % PLACES]
                } else {
                    rows.at(r + i)
                };
                start.add(q * W)
            };
            let put = |k, m, v: V| {
                let to = columns.at(q + m).cast_mut().add((r + k * n) * W);
                let v = order.mix(v);
                if STREAM { v.stream(to) } else { v.store(to) }
            };
            if wide {
                squares::<V, W, K>(
                    row,
                    put,
                    #[inline(always)]
                    |rows| {
                        if spread && q == 0 {
                            ask(r + rows.start..r + rows.end);
                        }
                    },
                );
            } else {
                blocks::<V, W, K>(row, put);
            }
        }
        q += if wide { n } else { c };
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use super::*;
    use crate::simd::{Portable, Set};

    /// The most lines of which some parts, not all, had been written at a time, when `K` parts of each are.
    fn begun<const K: usize>(move_all: impl FnOnce(&dyn Fn(usize, usize))) -> usize {
        let (parts, most) = (RefCell::new(HashMap::new()), RefCell::new(0));
        move_all(&|part, column| {
            let mut parts = parts.borrow_mut();
            let written = parts.entry(column).or_insert(0);
            assert_eq!(*written, part, "column {column}: parts in order");
            *written += 1;
            let open = parts.values().filter(|&&written| written < K).count();
            most.replace_with(|most| open.max(*most));
        });
        assert!(parts.borrow().values().all(|&written| written == K));
        most.into_inner()
    }

    /// As many for both kinds of blocks.
    ///
    /// # Safety
    ///
    /// The CPU has `V`.
    unsafe fn lines_begun<V: Vector, const W: usize, const K: usize>() -> [usize; 2] {
        assert_eq!(together::<V, W, true>(), K);
        assert_eq!(together::<V, W, false>(), 1);
        let row = vec![0; V::BYTES];
        // SAFETY: every row is this one; nothing is written. The CPU has `V` by the caller's promise.
        unsafe {
            [
                begun::<K>(|put| squares::<V, W, K>(|_| row.as_ptr(), |k, m, _| put(k, m), |_| ())),
                begun::<K>(|put| blocks::<V, W, K>(|_| row.as_ptr(), |k, m, _| put(k, m))),
            ]
        }
    }

    #[test]
    fn lines_of_narrow_vectors_are_streamed_one_after_the_other() {
        type Narrow = <Portable as Set>::Wide;
        // SAFETY: every CPU has these.
        let narrow = unsafe {
            [
                lines_begun::<Narrow, 1, 4>(),
                lines_begun::<Narrow, 2, 4>(),
                lines_begun::<Narrow, 4, 4>(),
                lines_begun::<Narrow, 8, 4>(),
                lines_begun::<Narrow, 16, 4>(),
            ]
        };
        assert_eq!(narrow, [[1, 1]; 5]);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            type Half = <crate::simd::x86::Avx2Set as Set>::Wide;
            // SAFETY: the CPU has AVX2.
            let half = unsafe {
                [
                    lines_begun::<Half, 1, 2>(),
                    lines_begun::<Half, 2, 2>(),
                    lines_begun::<Half, 4, 2>(),
                    lines_begun::<Half, 8, 2>(),
                    lines_begun::<Half, 16, 2>(),
                ]
            };
            // The two lanes of a vector are in two columns.
            assert_eq!(half, [[2, 1]; 5]);
        }
    }
}
