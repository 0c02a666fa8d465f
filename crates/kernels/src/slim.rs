//! Planes of so few columns that no vector fits a row of them, such as three of sixteen channels.
//!
//! Elements go into a stage that holds a piece of every column, and are streamed from there. So the source is read once, from
//! front to back, and no column is written in parts of lines. Rows are read with what lies behind them, 16 bytes of each, and
//! transposed in registers; those behind which may be nothing go element by element.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::block::block;
use crate::copy::{own_edges, stream_near};
use crate::nest::Loop;
use crate::onward::Onward;
use crate::plane::At;
use crate::simd::{self, LANE, LINE, Set, Vector, Work, prefetch};
use crate::tuning::{is_zen3, is_zen5, waits};

/// Bytes of a row, at most as many.
const ROW: usize = LANE - 1;
/// Bytes of a column that are staged at a time.
const PIECE: usize = 1 << 10;
/// From one staged column to the next: an odd number of lines, so that they don't evict each other.
const PITCH: usize = PIECE + LINE;
/// Rows that are looked at for every column while they are in the first-level cache.
const NEAR: usize = 64;
/// Bytes ahead of a block of rows that a CPU is asked for what comes, where it does not find out by itself.
const SOON: usize = 8 << 10;

#[derive(Debug, Clone)]
pub(crate) struct Slim {
    /// The loop over rows, which are side by side in the destination.
    rows: Loop,
    /// The loop over columns, which are side by side in the source.
    columns: Loop,
}

impl Slim {
    /// The plane of these loops, if it is slim and has columns worth streaming.
    pub(crate) fn new(width: usize, rows: Loop, columns: Loop) -> Option<Slim> {
        let fits = matches!(width, 1 | 2 | 4)
            && columns.extent * width <= ROW
            && rows.extent * width >= PIECE;
        fits.then_some(Slim { rows, columns })
    }

    /// How many rows, of elements of `width` bytes, are read with what lies behind them: those of which 16 bytes are in the plane,
    /// from its first element to its last.
    ///
    /// Where each row has a line of its own, that was measured on a Zen 5 and a Zen 3. There lanes are not read in the order in which
    /// rows lie, so that lines must be asked for: on the Zen 5 f32[32,3,224,224] from T(16,1,1) 3.7 ms element by element, 5.0 so, and
    /// 2.9 if they are; u8[64,13,401,403] from T(32,1,1) 36, 23 and 16. Rows of 4 bytes, u8[64,3,401,403] from T(4,1,1): 6.3, 3.4. On
    /// the Zen 3 the first 12, 8.7 and 8.5, the second 78, 60 and 38, f32[32,3,224,224] from T(8,1,1) 6.5, 4.8 and 4.0; the third is
    /// read faster if it is not asked for.
    fn wide(&self, width: usize) -> usize {
        let (rows, columns) = (&self.rows, &self.columns);
        match usize::try_from(rows.source) {
            Ok(apart) if apart > 0 && (apart <= LANE || is_zen5() || is_zen3()) => {
                let more = LANE - columns.extent * width;
                rows.extent.saturating_sub(more.div_ceil(apart))
            }
            _ => 0,
        }
    }
}

/// Moves a plane of elements of `width` bytes.
///
/// # Safety
///
/// The CPU has the set. All bytes from the lowest element to the highest are readable, all elements writable, and the two sides
/// do not overlap.
pub(crate) unsafe fn run<S: Set>(slim: &Slim, width: usize, at: &At) {
    // SAFETY: the caller's promise; `Slim::new` takes no other widths.
    unsafe {
        match width {
            1 => S::enter(Pieces::<S::Wide, 1>::new(slim, at)),
            2 => S::enter(Pieces::<S::Wide, 2>::new(slim, at)),
            _ => S::enter(Pieces::<S::Wide, 4>::new(slim, at)),
        }
    }
}

/// # Safety (of `work`)
///
/// As `run`, for elements of `W` bytes.
struct Pieces<'a, V, const W: usize> {
    slim: &'a Slim,
    at: &'a At,
    vector: PhantomData<V>,
}

impl<'a, V, const W: usize> Pieces<'a, V, W> {
    fn new(slim: &'a Slim, at: &'a At) -> Self {
        Pieces {
            slim,
            at,
            vector: PhantomData,
        }
    }
}

#[repr(align(64))]
struct Stage(MaybeUninit<[u8; ROW * PITCH]>);

impl<V: Vector, const W: usize> Work for Pieces<'_, V, W> {
    #[inline(always)]
    unsafe fn work(self) {
        let &Slim { rows, columns } = self.slim;
        let &At {
            source,
            destination,
            ..
        } = self.at;
        let mut stage = Stage(MaybeUninit::uninit());
        let stage = stage.0.as_mut_ptr().cast::<u8>();
        let (waits, n) = (waits(), V::BYTES / W);
        let wide = self.slim.wide(W);
        let soon = wide > 0 && (is_zen5() || is_zen3() && rows.source > LANE as isize);
        let rows_of_line = (LINE / rows.source.unsigned_abs().max(1)).max(1);
        let onward = match soon {
            true => None,
            false => Onward::alone(rows.source, NEAR as isize * rows.source),
        };
        let mut done = 0;
        while done < rows.extent {
            let count = (PIECE / W).min(rows.extent - done);
            let column = |c: usize| {
                let start = destination.wrapping_offset(c as isize * columns.destination);
                start.wrapping_add(done * W)
            };
            if waits {
                for c in 0..columns.extent {
                    own_edges(column(c), count * W);
                }
            }
            for first in (0..count).step_by(NEAR) {
                let near = NEAR.min(count - first);
                let row =
                    |r: usize| source.wrapping_offset((done + first + r) as isize * rows.source);
                if let Some(onward) = onward {
                    for r in 0..near {
                        prefetch(onward.of(row(r)));
                    }
                }
                // As many rows as are whole blocks.
                let blocks = near.min(wide.saturating_sub(done + first)) / n * n;
                for of in (0..blocks).step_by(n) {
                    if soon {
                        for r in (0..n).step_by(rows_of_line) {
                            simd::near(row(of + r).wrapping_add(SOON));
                        }
                    }
                    // SAFETY: 16 bytes of each of these rows are in the plane, and so readable. Their places in a column are in the
                    // stage.
                    unsafe {
                        block::<V, W>(
                            #[inline(always)]
                            |r| row(of + r),
                            #[inline(always)]
                            |c, v| {
                                if c < columns.extent {
                                    v.store(stage.add(c * PITCH + (first + of) * W));
                                }
                            },
                        );
                    }
                }
                for c in 0..columns.extent {
                    for r in blocks..near {
                        // SAFETY: row first + r is below `count`, so the element is one of the plane. A piece has
                        // at most PIECE bytes, and columns are at most ROW, so its place is in the stage.
                        unsafe {
                            let element = row(r).add(c * W).cast::<[u8; W]>().read_unaligned();
                            let place = stage.add(c * PITCH + (first + r) * W);
                            place.cast::<[u8; W]>().write_unaligned(element);
                        }
                    }
                }
            }
            for c in 0..columns.extent {
                // SAFETY: the first `count` elements of this piece were staged above; the column is writable there.
                unsafe { stream_near::<V>(stage.add(c * PITCH), column(c), count * W) };
            }
            done += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    /// Whichever rows are read with what lies behind them; the source ends with the last element.
    #[test]
    fn slim_planes_are_moved() {
        for (width, columns) in [(1, 3), (1, 15), (2, 3), (2, 7), (4, 1), (4, 3)] {
            for apart in [columns * width, 16, 20, 64, 128] {
                let (height, row) = (1100, apart.max(columns * width));
                let source: Vec<u8> = (0..(height - 1) * row + columns * width)
                    .map(|i| (i * 37 + i / 251) as u8)
                    .collect();
                let pitch = height * width + 2;
                let rows = Loop {
                    extent: height,
                    source: row as isize,
                    destination: width as isize,
                };
                let columns = Loop {
                    extent: columns,
                    source: width as isize,
                    destination: pitch as isize,
                };
                let slim = Slim::new(width, rows, columns).unwrap();
                let mut expected = vec![0xa5; columns.extent * pitch];
                for p in 0..height {
                    for q in 0..columns.extent {
                        let (from, to) = (p * row + q * width, q * pitch + p * width);
                        expected[to..to + width].copy_from_slice(&source[from..from + width]);
                    }
                }
                for &isa in Isa::available() {
                    let mut destination = vec![0xa5; expected.len()];
                    let at = At {
                        source: source.as_ptr(),
                        destination: destination.as_mut_ptr(),
                        upcoming: source.as_ptr(),
                        aside: None,
                    };
                    // SAFETY: the source has all elements of the plane, and the destination room for them.
                    unsafe { crate::dispatch::slim(isa, &slim, width, &at) };
                    crate::simd::fence();
                    assert!(
                        destination == expected,
                        "{height}x{} of {width}, {row} apart, {isa:?}",
                        columns.extent
                    );
                }
            }
        }
    }
}
