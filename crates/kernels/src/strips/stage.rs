//! Blocks whose columns are put together in a stage before they are streamed.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::{Block, STRIP};
use crate::block::tile;
use crate::crowded::{copied, slots};
use crate::order::Order;
use crate::places::{Places, Steps};
use crate::plane::Plane;
use crate::simd::{LINE, Vector};
use crate::tuning::is_zen3;

/// Columns of a block that may have one slot of the first-level cache: where more have it, lines of theirs that are streamed in turn
/// hold each other up. On a Zen 3 f32[2816,7000] to columns took 14.3 ms so, 8.5 where each column's lines are put together and streamed
/// at once, f64[1280,9000] 19.5 and 9.2, u8[10752,12000] 41 and 20; with half as many columns a slot f32[3200,7000] 8.0 and 8.5,
/// f64[1600,9000] 9.5 and 12.4.
const IN_TURN: usize = 3;
/// Lines of each row that a block has whose columns are put together, where rows lie so far apart that a line of each in turn is
/// slow: f32[28,48,28,28,48] to {1,2,3,0,4} took 27 ms so, and 33 by single ones, f32[2048,32768] to columns 42 and 89,
const BROAD: usize = 4;
/// in bytes, as f64[4096,4096] took 17.3 ms so, and 20.0 by single ones, f32[4096,4096] 9.7 and 9.9,
const BROAD_APART: usize = 32 << 10;
/// and the least bytes of an element then: u8[1280,90000] took 32 and 19. Shorter ones have a line of
/// more rows, asked for one row after the other: bf16[64,512,40,40] to NHWC took 11.7 ms by as many as the broad ones have, a line
/// of each in turn, and 9.4 so, u16[320,200,1000] reversed 16.7 and 13.3; f32[4096,4096] 7.8 and 8.7.
const BROAD_WIDTH: usize = 4;
/// Bytes of a column that are streamed at once then. u8[4096,4096] took 3.14 ms by 256 and 2.76 so, u8[4096,20000] 11.4 and 9.5,
/// u8[12288,6000] 10.3 and 8.9, by two threads 8.0 and 5.9, 5.7 and 4.9; u8[6144,8000] by as many, 768 and 1024 5.6, 6.7 and 7.2.
const RUN: usize = 512;

/// How many rows of elements of so many bytes a block has, and how many lines of each at most.
const fn most(width: usize) -> (usize, usize) {
    match width < BROAD_WIDTH {
        true => (RUN / width, 1),
        false => (STRIP, BROAD),
    }
}

/// The size of blocks that are put together in a stage before they are streamed; `None` where that is not so.
pub(super) fn staged<V: Vector, const W: usize, const STREAM: bool>(
    plane: &Plane,
) -> Option<Block> {
    // With lines as vectors nothing of the kind was seen, and nothing is compiled.
    if !const { STREAM && V::BYTES < LINE } || !is_zen3() {
        return None;
    }
    let columns = (LINE / W).min(plane.columns.len);
    if columns <= IN_TURN * slots(plane.columns.first_stride()) {
        return None;
    }
    let broad = W >= BROAD_WIDTH && plane.rows.first_stride().unsigned_abs() >= BROAD_APART;
    let narrow = W < BROAD_WIDTH;
    Some(Block {
        rows: most(W).0,
        lines: if broad { BROAD } else { 1 },
        abreast: 1,
        in_turn: !broad && !narrow,
    })
}

/// Where columns of a block are put together.
pub(super) struct Stage {
    room: Room,
    /// Whether rows are copied before: see [`copies_streamed`](crate::crowded::copies_streamed).
    copies: bool,
}

#[repr(align(64))]
struct Room(MaybeUninit<[u8; STAGE]>);

/// Bytes of it: columns of a block, each with a line more at most.
const STAGE: usize = {
    // By the widths of elements.
    let (mut width, mut room) = (1, 0);
    while width <= 16 {
        let (rows, lines) = most(width);
        let bytes = (rows * width + LINE) * (lines * LINE / width);
        room = if bytes > room { bytes } else { room };
        width *= 2;
    }
    room
};

impl Stage {
    pub(super) fn new(copies: bool) -> Stage {
        let room = Room(MaybeUninit::uninit());
        Stage { room, copies }
    }

    /// Moves a tile as [`tile`] does by streaming, by way of the stage.
    ///
    /// # Safety
    ///
    /// As [`tile`]. There are no more rows, and no more columns, than [`staged`] tells.
    #[inline(always)]
    pub(super) unsafe fn tile<V: Vector, const W: usize>(
        &mut self,
        rows: impl Places,
        height: usize,
        columns: impl Places,
        breadth: usize,
        order: impl Order,
        ask: impl Fn(Range<usize>),
    ) {
        let bytes = height * W;
        // An odd number of lines, so that columns have slots of their own.
        let pitch = (bytes.div_ceil(LINE) | 1) * LINE;
        assert!(breadth * pitch <= STAGE);
        let stage = self.room.0.as_mut_ptr().cast::<u8>();
        let staged = Steps {
            base: stage,
            step: pitch as isize,
        };
        // SAFETY: rows are readable, columns writable and on lines, and the CPU has `V`, by the caller's promise. The stage, which is
        // no part of either side, has room for `breadth` columns of `pitch` bytes, as was just seen, and the tile writes all bytes
        // of each. These are whole vectors, as those that a tile streams are. A line of bytes is as broad as a vector or more, and no broader
        // than what is copied.
        unsafe {
            if const { W == 1 } && self.copies && breadth == LINE {
                copied::<V, W>(rows, height, staged, breadth, order, ask);
            } else {
                tile::<V, W, false>(rows, height, staged, breadth, order, ask);
            }
            for column in 0..breadth {
                let (from, to) = (stage.add(column * pitch), columns.at(column).cast_mut());
                for at in (0..bytes).step_by(V::BYTES) {
                    V::load(from.add(at)).stream(to.add(at));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;
    use crate::order::Same;
    use crate::simd::{Portable, Set, fence};

    /// Vectors that every CPU has, narrower than a line.
    type Narrow = <Portable as Set>::Wide;

    /// All rows and columns of the highest and the broadest block that may be staged, and of small ones.
    #[test]
    fn staged_tiles_are_transposed() {
        fn check<const W: usize>() {
            let line = LINE / W;
            let (high, lines) = most(W);
            for (height, breadth) in [
                (high, lines * line),
                (high - line, lines * line - 1),
                (line, line),
                (Narrow::BYTES / W, 16 / W),
            ] {
                let source: Vec<u8> = (0..height * breadth * W)
                    .map(|i| (i * 37 + i / 251) as u8)
                    .collect();
                let pitch = (height * W).next_multiple_of(LINE) + LINE;
                let mut destination = vec![0xa5; breadth * pitch + LINE];
                let start = destination.as_ptr().align_offset(LINE);
                let mut expected = destination.clone();
                for (p, row) in source.chunks_exact(breadth * W).enumerate() {
                    for (q, element) in row.chunks_exact(W).enumerate() {
                        expected[start + q * pitch + p * W..][..W].copy_from_slice(element);
                    }
                }
                let rows = Steps {
                    base: source.as_ptr(),
                    step: (breadth * W) as isize,
                };
                let columns = Steps {
                    base: destination[start..].as_mut_ptr(),
                    step: pitch as isize,
                };
                for copies in [false, true] {
                    destination.fill(0xa5);
                    let asked = std::cell::Cell::new(0);
                    let mut stage = Stage::new(copies);
                    // SAFETY: both sides have all elements, columns begin on lines, and every CPU has these vectors.
                    unsafe {
                        let ask = |rows: Range<usize>| asked.set(asked.get() + rows.len());
                        stage.tile::<Narrow, W>(rows, height, columns, breadth, Same, ask);
                    }
                    fence();
                    assert!(destination == expected, "{height}x{breadth} of {W} bytes");
                    assert_eq!(asked.get(), height);
                }
            }
        }
        check::<1>();
        check::<2>();
        check::<4>();
        check::<8>();
        check::<16>();
    }

    #[test]
    fn columns_that_share_slots_are_staged_on_a_zen_3() {
        let (broad, high, tall) = ((STRIP, BROAD, false), (STRIP, 1, true), (256, 1, false));
        let taller = (512, 1, false);
        // Bytes of an element, from a row to the next, and from a column to the next; and rows and lines, if staged, and whether these are
        // asked for a line of each row in turn.
        let cases = [
            (4, 28_000, 13_312, Some(high)),
            (4, 28_000, 12_800, None),
            (4, 131_072, 16_384, Some(broad)),
            (4, 131_072, 16_384 + 64, None),
            (8, 72_000, 10_240, Some(broad)),
            (8, 72_000, 13_312, None),
            (16, 80_000, 16_384, Some(broad)),
            (16, 80_000, 26_624, None),
            (2, 300_000, 14_848, Some(tall)),
            (2, 300_000, 14_592, None),
            (1, 90_000, 1_280, Some(taller)),
            (1, 90_000, 640, None),
        ];
        for (width, apart, pitch, block) in cases {
            let plane = Plane::streaming(Axis::new(512, apart), Axis::new(1000, pitch), false);
            let narrow = match width {
                1 => staged::<Narrow, 1, true>(&plane),
                2 => staged::<Narrow, 2, true>(&plane),
                4 => staged::<Narrow, 4, true>(&plane),
                8 => staged::<Narrow, 8, true>(&plane),
                _ => staged::<Narrow, 16, true>(&plane),
            };
            let expected = block.filter(|_| is_zen3());
            let expected = expected.map(|(rows, lines, in_turn)| Block {
                rows,
                lines,
                abreast: 1,
                in_turn,
            });
            assert_eq!(narrow, expected, "{width} bytes, {apart}, {pitch}");
            assert_eq!(staged::<Narrow, 1, false>(&plane), None);
        }
    }
}
