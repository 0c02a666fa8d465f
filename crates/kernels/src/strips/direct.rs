//! Blocks that have several lines of each row and are written as they are made: how large they are.

use super::{Block, STRIP, TALL, even};
use crate::plane::Plane;
use crate::simd::LINE;
use crate::tuning::is_zen3;

/// The most columns of a block.
pub(super) const COLUMNS: usize = 1024;
/// Rows of a block that has all of each row,
const WHOLE_ROWS: usize = 64;
/// and the most lines of these: of longer ones it has [`PART`] lines.
const WHOLE: usize = 64;
/// Where rows have others between them, it has all of those of up to so many lines that lie so many bytes apart at most.
const NEAR: (usize, usize) = (40, 64 << 10);
/// Lines of each row in a block that has a part of them.
const PART: usize = 4;
/// So many rows are as fast by a line of each in turn: f32[32,512,56,56] to T(16,1,1) took 13.2 ms so, and 14.9 by blocks of four.
const FOLLOWED: usize = 16;

/// The most lines of each row of bytes that a block has, where rows lie side by side: so these are read from front to back.
const BYTES_WHOLE: usize = 16;
/// And of longer rows, as long as they have so many at most, or where both rows and columns lie far apart.
const BYTES_PART: usize = 8;
const BYTES_BESIDE: usize = 32;
/// The least bytes between rows then, and between columns.
const FAR_APART: (usize, usize) = (128 << 10, 32 << 10);
/// And the fewest rows so far apart.
const FAR_ROWS: usize = 100;

/// The size of blocks that have more than one line of each row and are written as they are made; `None` where a line of each row in
/// turn is better.
///
/// The next block's lines are asked for one row after the other, evenly while this one is transposed: a Zen 3 brings a line of each of
/// more than sixteen rows in turn at half the speed of memory. Where rows follow one another, or nearly so, and are not long, a block has
/// all of each, and is one run of the source; elsewhere four lines of more rows. ms on one thread, with one line of each row in turn, or
/// eight that were asked for a row at a time, and now: f32[15,15,15,32,15,32] to {3,5,1,4,0,2} 22.8 and 15.7, f32[28,28,4,48,352] to
/// {3,1,4,0,2} 23.1 and 15.4, f32[355,384,384] to {1,2,0} 21.5 and 15.0; f32[384,355,384] reversed 22.5 and 16.2, f32[7264,7264] to
/// columns 18.6 and 16.6, c128[2004,3000] 10.5 and 7.5. Of all permutations of the HPTT paper the geometric mean of memcpy's
/// speed was 0.67 and is 0.76, by two threads 1.26 and 1.35; of 29 other arrays 0.95 and 1.10, 1.06 and 1.18.
///
/// Long rows that cut lines are read in turn, f32[5008,8001] to columns 13.1 and 16.2, and bytes mostly, u8[8000,9024] 9.1 and 11.3.
pub(super) fn direct<const W: usize>(plane: &Plane) -> Option<Block> {
    if !is_zen3() {
        return None;
    }
    let bytes = plane.columns.len * W;
    let lines = bytes.div_ceil(LINE);
    let apart = plane.rows.first_stride().unsigned_abs();
    let beside = plane.rows.side_by_side(bytes) > 1;
    let block = |rows, lines| Block {
        rows,
        lines,
        in_turn: false,
    };
    let block = if W == 1 {
        let columns = plane.columns.first_stride().unsigned_abs();
        let far = apart >= FAR_APART.0
            && columns >= FAR_APART.1
            && plane.rows.side_by_side(apart) >= FAR_ROWS;
        match lines {
            ..=BYTES_WHOLE if beside => block(TALL, lines),
            _ if far || beside && lines <= BYTES_BESIDE => block(TALL, even(lines, BYTES_PART, 1)),
            _ => return None,
        }
    } else if lines <= WHOLE && (beside || lines <= NEAR.0 && apart <= NEAR.1) {
        block(WHOLE_ROWS, even(lines, COLUMNS * W / LINE, 1))
    } else if plane.rows.len > FOLLOWED
        && (lines <= WHOLE || plane.rows.is_multiple_of(LINE as isize))
    {
        block(STRIP, even(lines, PART, 1))
    } else {
        return None;
    };
    (block.lines > 1).then_some(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;

    #[test]
    fn blocks_have_whole_rows_that_are_near_and_four_lines_of_others_on_a_zen_3() {
        // Rows, and bytes of each, to the next one, and from a column to the next; and rows and lines of a block of elements of 1, 4 and
        // 8 bytes.
        let cases = [
            // Side by side,
            (48, 192, 192, 5_376, [(256, 3), (64, 3), (64, 3)]),
            (352, 1_024, 1_024, 39_424, [(256, 16), (64, 16), (64, 16)]),
            (48, 1_408, 1_408, 5_376, [(256, 8), (64, 22), (64, 22)]),
            (48, 4_096, 4_096, 5_376, [(0, 0), (64, 64), (64, 64)]),
            // with others between them,
            (48, 192, 28_800, 5_376, [(0, 0), (64, 3), (64, 3)]),
            (48, 2_560, 28_800, 5_376, [(0, 0), (64, 40), (64, 40)]),
            // longer or farther apart,
            (48, 3_072, 28_800, 5_376, [(0, 0), (128, 4), (128, 4)]),
            (48, 640, 345_600, 5_376, [(0, 0), (128, 4), (128, 4)]),
            (48, 4_160, 4_160, 5_376, [(0, 0), (128, 4), (128, 4)]),
            (
                608,
                4_608,
                345_600,
                2_188_800,
                [(256, 8), (128, 4), (128, 4)],
            ),
            (99, 4_608, 345_600, 2_188_800, [(0, 0), (128, 4), (128, 4)]),
            // and such as cut lines.
            (48, 640, 345_608, 5_376, [(0, 0), (128, 4), (128, 4)]),
            (48, 4_160, 4_168, 5_376, [(0, 0), (0, 0), (0, 0)]),
            // Few rows,
            (16, 640, 345_600, 5_376, [(0, 0), (0, 0), (0, 0)]),
            (17, 640, 345_600, 5_376, [(0, 0), (128, 4), (128, 4)]),
            // a single one, and a single line.
            (1, 192, 192, 5_376, [(0, 0), (64, 3), (64, 3)]),
            (48, 64, 64, 5_376, [(0, 0), (0, 0), (0, 0)]),
        ];
        for (rows, row, apart, pitch, blocks) in cases {
            let plane = |width: usize| {
                let (rows, columns) = (Axis::new(rows, apart), Axis::new(row / width, pitch));
                Plane::streaming(rows, columns, false)
            };
            let found = [
                direct::<1>(&plane(1)),
                direct::<4>(&plane(4)),
                direct::<8>(&plane(8)),
            ];
            let expected = blocks.map(|(rows, lines)| {
                (is_zen3() && lines > 0).then_some(Block {
                    rows,
                    lines,
                    in_turn: false,
                })
            });
            assert_eq!(found, expected, "{rows} rows of {row} bytes, {apart} apart");
        }
    }

    #[test]
    fn blocks_have_no_more_columns_than_there_is_room_for() {
        for row in [256, 1_000, 3_000, 4_096] {
            let plane = |width: usize| {
                let rows = Axis::new(500, row as isize);
                Plane::streaming(rows, Axis::new(row / width, 1 << 20), false)
            };
            let blocks = [
                (1, direct::<1>(&plane(1))),
                (2, direct::<2>(&plane(2))),
                (16, direct::<16>(&plane(16))),
            ];
            for (width, block) in blocks {
                let columns = block.map_or(0, |block| block.lines * LINE / width);
                assert!(columns <= COLUMNS, "{row} bytes of {width}");
            }
        }
    }
}
