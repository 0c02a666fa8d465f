//! Few rows that become columns with a gap behind each, such as three channels of sixteen.
//!
//! Columns are put together with their gaps in the first-level cache, where the gaps stay while columns come and go, and
//! streamed from there: one group of columns is, while the next is put together, as a load of what was just stored would wait
//! until all streaming stores before it are done.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::block::{spread, turned};
use crate::nest::Loop;
use crate::order::Same;
use crate::pen::Pen;
use crate::plane::{At, Gap};
use crate::simd::{LANE, LINE, Set, Vector, Work, near};

/// Bytes of columns that are staged at once, with their gaps, where those of a vector are no more: so few that reading and
/// writing take turns often. On a Zen 5, u8[64,3,401,403] to T(4,1,1) takes 1.4 ms by 2 KiB, 2.0 by 8 and 1.4 by 1,
/// f32[32,3,224,224] to T(8,1,1) 1.35, 1.70 and 1.39, to T(16,1,1) 1.84, 1.65 and 2.13.
const GROUP: usize = 2 << 10;
/// Bytes of a stage.
const STAGE: usize = 16 << 10;
/// Bytes ahead of rows that are asked for, into the nearest cache.
const AHEAD: usize = 2 << 10;
#[derive(Debug, Clone)]
pub(crate) struct Spaced {
    /// The loop over rows, which are elements of a column.
    rows: Loop,
    /// The loop over columns, which are side by side on both sides.
    columns: Loop,
    gap: Gap,
}

impl Spaced {
    /// The rows and columns of a nest, with their places among its loops: see [`new`](Spaced::new).
    pub(crate) fn find(width: usize, loops: &[Loop], gap: Gap) -> Option<(Spaced, [usize; 2])> {
        let unit = width as isize;
        let rows = loops.iter().position(|l| l.destination == unit)?;
        let columns = loops.iter().position(|l| l.source == unit)?;
        let spaced = Spaced::new(width, loops[rows], loops[columns], gap)?;
        Some((spaced, [rows, columns]))
    }

    /// Rows and columns of elements of `width` bytes, with this gap behind each column and the next column behind that. `None`
    /// where there are too many rows, too few columns, or gaps that are not worth it.
    fn new(width: usize, rows: Loop, columns: Loop, gap: Gap) -> Option<Spaced> {
        let column = rows.extent * width;
        let pitch = column + gap.bytes;
        let whole = (pitch / width).is_power_of_two() || pitch >= LANE;
        let fits = matches!(width, 1 | 2 | 4 | 8)
            && (rows.destination, columns.source) == (width as isize, width as isize)
            && columns.destination == pitch as isize
            && gap.bytes.is_multiple_of(width)
            && column <= LINE
            && columns.extent * width >= LINE
            && LINE / width * pitch <= STAGE;
        (fits && whole).then_some(Spaced { rows, columns, gap })
    }

    fn pitch(&self, width: usize) -> usize {
        self.rows.extent * width + self.gap.bytes
    }
}

/// Moves rows of elements of `width` bytes, and fills the gaps.
///
/// # Safety
///
/// The CPU has the set. All elements are readable, all elements and gaps writable, and the two sides do not overlap.
pub(crate) unsafe fn run<S: Set>(spaced: &Spaced, width: usize, at: &At) {
    // SAFETY: the caller's promise; `Spaced::new` takes no other widths.
    unsafe {
        match width {
            1 => S::enter(Groups::<S::Wide, 1>::new(spaced, at)),
            2 => S::enter(Groups::<S::Wide, 2>::new(spaced, at)),
            4 => S::enter(Groups::<S::Wide, 4>::new(spaced, at)),
            _ => S::enter(Groups::<S::Wide, 8>::new(spaced, at)),
        }
    }
}

/// # Safety (of `work`)
///
/// As `run`, for elements of `W` bytes.
struct Groups<'a, V, const W: usize> {
    spaced: &'a Spaced,
    at: &'a At,
    vector: PhantomData<V>,
}

impl<'a, V, const W: usize> Groups<'a, V, W> {
    fn new(spaced: &'a Spaced, at: &'a At) -> Self {
        Groups {
            spaced,
            at,
            vector: PhantomData,
        }
    }
}

/// Columns, and what the last one's store may write behind it.
#[repr(align(64))]
struct Stage(MaybeUninit<[u8; STAGE + LINE]>);

/// What is in the gap, as rows that have it in every column.
#[repr(align(64))]
struct Blank([[u8; LINE]; LANE]);

impl<V: Vector, const W: usize> Work for Groups<'_, V, W> {
    #[inline(always)]
    unsafe fn work(self) {
        let &Spaced { rows, columns, gap } = self.spaced;
        let (column, pitch) = (rows.extent * W, self.spaced.pitch(W));
        let n = V::BYTES / W;
        // Whole vectors of columns.
        let group = (GROUP / pitch / n * n).max(n);
        let mut stages = [const { Stage(MaybeUninit::uninit()) }; 2];
        let [stage, other] = &mut stages;
        let mut stage = stage.0.as_mut_ptr().cast::<u8>();
        let mut other = other.0.as_mut_ptr().cast::<u8>();
        let mut blank = Blank([[0; LINE]; LANE]);
        for (row, blank) in blank.0.iter_mut().enumerate() {
            for (i, byte) in blank.iter_mut().enumerate() {
                *byte = gap.pattern[(row * W + i % W) % gap.pattern.len()];
            }
        }
        for stage in [stage, other] {
            for c in 0..group {
                // SAFETY: a stage has room for a group of columns with their gaps: of a vector's columns `new` has seen that, and
                // more are no more than `GROUP`.
                unsafe { gap.fill(stage.add(c * pitch + column)) };
            }
        }
        let row = |r: usize, q: usize| {
            let row = self.at.source.wrapping_offset(r as isize * rows.source);
            row.wrapping_add(q * W)
        };
        // SAFETY: the CPU has `V`.
        let mut pen = unsafe { Pen::<V>::new() };
        let place = |q: usize| self.at.destination.wrapping_add(q * pitch);
        // The columns that are staged and not yet written.
        let mut staged = 0..0;
        let mut q = 0;
        while q < columns.extent {
            let mut count = group.min(columns.extent - q);
            if count < n {
                (q, count) = (columns.extent - n, n);
            }
            let mut b = 0;
            while b < count {
                b = b.min(count - n);
                for r in 0..rows.extent {
                    near(row(r, q + b).wrapping_add(AHEAD));
                }
                // SAFETY: columns q + b.. are of the plane, as many as a vector has elements, and so many bytes of every row are
                // readable; rows from the last one on are those of the gap, of a line each. The stage has room for the columns of
                // a group, and for a line behind them, of which the last lane may write a part.
                unsafe {
                    let of = |r: usize| match r.checked_sub(rows.extent) {
                        Some(blank_row) => blank.0[blank_row].as_ptr(),
                        None => row(r, q + b),
                    };
                    let to = stage.add(b * pitch);
                    if pitch < LANE {
                        join::<V, W>(pitch / W, of, to);
                    } else {
                        // What the last lane of a column writes behind it is written again, by the first of the next one.
                        for lane in (0..column.div_ceil(LANE)).rev() {
                            spread::<V, W>(
                                #[inline(always)]
                                |i| of(lane * (LANE / W) + i),
                                Same,
                                #[inline(always)]
                                |c| to.add(c * pitch + lane * LANE),
                            );
                        }
                    }
                }
                b += n;
            }
            // SAFETY: these columns are staged, or none are, and writable with their gaps; only the pen writes there.
            unsafe { pen.copy(other, place(staged.start), staged.len() * pitch) };
            staged = q..q + count;
            std::mem::swap(&mut stage, &mut other);
            q += count;
        }
        // SAFETY: as before.
        unsafe {
            pen.copy(other, place(staged.start), staged.len() * pitch);
            pen.lift();
        }
    }
}

/// Joins `k` rows, of each a vector, to columns that are less than a lane: `k` is 2, 4 or 8.
///
/// # Safety
///
/// A vector of `row(0..k)` is readable, and `k` vectors writable at `to`; the CPU has `V`.
#[inline(always)]
unsafe fn join<V: Vector, const W: usize>(k: usize, row: impl Fn(usize) -> *const u8, to: *mut u8) {
    macro_rules! rows {
        ($k:literal) => {{
            // SAFETY: rows are asked for below `k`. Lane l of vector m has elements of columns l * c + m * (c / k) and on, as many as
            // a lane holds whole; with m below `k` its place is in `k` vectors.
            unsafe {
                let v = turned::<V, W>(
                    $k,
                    u32::ilog2($k),
                    #[inline(always)]
                    |i| V::load(row(i % $k)),
                );
                for (m, v) in v.into_iter().enumerate().take($k) {
                    v.store_lanes(|lane| to.add((lane * $k + m) * LANE));
                }
            }
        }};
    }
    match k {
        2 => rows!(2),
        4 => rows!(4),
        _ => rows!(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    const PATTERN: [u8; 16] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];

    fn spaced(width: usize, (rows, columns): (usize, usize), gap: usize) -> Option<Spaced> {
        let pitch = rows * width + gap;
        let rows = Loop {
            extent: rows,
            source: (columns * width + 5) as isize,
            destination: width as isize,
        };
        let columns = Loop {
            extent: columns,
            source: width as isize,
            destination: pitch as isize,
        };
        let pattern = PATTERN;
        Spaced::new(
            width,
            rows,
            columns,
            Gap {
                bytes: gap,
                pattern,
            },
        )
    }

    #[test]
    fn rows_are_joined_with_gaps_behind_columns() {
        // Less than a lane, a lane, columns of several, and lanes that reach over the next column.
        let sizes = [
            (1, 3, 1),
            (1, 1, 1),
            (1, 5, 3),
            (1, 7, 25),
            (1, 17, 3),
            (2, 3, 2),
            (2, 3, 10),
            (2, 9, 6),
            (4, 3, 4),
            (4, 3, 52),
            (4, 5, 4),
            (4, 13, 12),
            (8, 1, 8),
            (8, 3, 40),
        ];
        for (width, rows, gap) in sizes {
            for columns in [64, 67, 1031] {
                let spaced = spaced(width, (rows, columns), gap).unwrap();
                let (row, pitch) = (columns * width + 5, rows * width + gap);
                let source: Vec<u8> = (0..rows * row).map(|i| (i * 37 + i / 251) as u8).collect();
                let mut expected = vec![0xa5; 2 * LINE + columns * pitch];
                for skip in [0, 24] {
                    let moved = &mut expected[skip..][..columns * pitch];
                    for (q, column) in moved.chunks_exact_mut(pitch).enumerate() {
                        let (elements, gap) = column.split_at_mut(rows * width);
                        for (p, element) in elements.chunks_exact_mut(width).enumerate() {
                            element.copy_from_slice(&source[p * row + q * width..][..width]);
                        }
                        for (i, byte) in gap.iter_mut().enumerate() {
                            *byte = PATTERN[i % 16];
                        }
                    }
                    for &isa in Isa::available() {
                        let mut destination = vec![0xa5; expected.len() + LINE];
                        let start = destination.as_ptr().align_offset(LINE);
                        let destination = &mut destination[start..][..expected.len()];
                        let at = At {
                            source: source.as_ptr(),
                            destination: destination[skip..].as_mut_ptr(),
                            upcoming: source.as_ptr(),
                            aside: None,
                        };
                        // SAFETY: the source has all rows, and the destination room for all columns and gaps.
                        unsafe { crate::dispatch::spaced(isa, &spaced, width, &at) };
                        crate::simd::fence();
                        assert!(
                            destination == expected,
                            "{rows} rows of {columns} elements of {width}, {gap} between, {skip} on, {isa:?}"
                        );
                    }
                    expected.fill(0xa5);
                }
            }
        }
    }

    #[test]
    fn what_does_not_suit_is_left_to_others() {
        // Three of five bytes, columns of more than a line, few columns, and gaps of which a stage has no room.
        assert!(spaced(1, (3, 100), 2).is_none() && spaced(1, (3, 100), 13).is_some());
        assert!(spaced(4, (17, 100), 4).is_none() && spaced(4, (16, 100), 4).is_some());
        assert!(spaced(2, (3, 31), 2).is_none() && spaced(2, (3, 32), 2).is_some());
        assert!(spaced(1, (3, 100), 256).is_none() && spaced(4, (3, 100), 1008).is_some());
        assert!(spaced(16, (2, 100), 16).is_none());
    }
}
