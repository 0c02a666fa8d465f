//! Blocks that have several lines of each row and are written as they are made: how large they are.

use super::{Block, TALL, even};
use crate::asked::ABREAST;
use crate::plane::Plane;
use crate::simd::LINE;
use crate::tuning::{FAR, is_intel, is_zen3};

/// The most columns of a block.
pub(super) const COLUMNS: usize = 1024;
/// Rows of a block,
const ROWS: usize = 64;
/// and the most lines of a row that one has whole where rows lie side by side, so that a block is one run;
const WHOLE: usize = 64;
/// of longer rows, and of others, it has at most so many. The 57 permutations of the HPTT paper reached 0.80 of memcpy so, 0.80 by 8 lines
/// of 128 rows, 0.79 by 4 of those.
const PART: usize = 16;
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

/// On Intel's: rows of a block, of bytes a line's,
const INTEL_ROWS: usize = 32;
/// and lines of each.
const INTEL_LINES: usize = 8;

/// The least bytes of an element whose rows have blocks, too, where they cut lines and lie [`FAR`] apart: f32[304,100001] to columns
/// took 16.5 ms by a line of each row in turn and 10.3 so, f64[400,60001] 23.3 and 15.6, f32[80,75,75,95] reversed 24.7 and 16.7;
/// u16[160,300001] 7.5 and 9.0, and where rows lie nearer, f32[5008,8001] 13.7 and 15.5.
const FAR_WIDTH: usize = 4;

/// The size of blocks that have more than one line of each row and are written as they are made; `None` where a line of each row in
/// turn is better. The next block's lines are asked for evenly while this one is transposed. On others none were measured.
pub(super) fn direct<const W: usize>(plane: &Plane) -> Option<Block> {
    if is_zen3() {
        zen3::<W>(plane)
    } else if is_intel() {
        intel::<W>(plane)
    } else {
        None
    }
}

/// The same on Intel's, which prefetches into the second-level cache no more than 32 rows ahead, and waits where more are asked for than
/// it has under way.
///
/// ms on one thread of an Emerald Rapids with a line of each of 64 rows in turn, and by blocks, two threads in brackets: f32[3008,15000] to
/// columns 21.5 and 15.9 (14.8 and 10.4), f32[7264,7264] 22.2 and 19.6, f32[8,2000,3008] to {1,2,0} 20.5 and 19.0 (11.6 and 9.7),
/// f32[15,15,32,15,15,32] to {2,3,5,0,4,1} 23.7 and 20.4 (12.6 and 11.3), u8[10048,10048] 17.6 and 12.6 (8.4 and 5.7), u8[4032,30000] 20.4
/// and 14.8 (12.6 and 7.6), u16[10016,10016] 21.5 and 20.1 (11.9 and 11.1). 25 arrays of up to four bytes with rows as far apart as this asks
/// for reached 0.80 and 0.85 of memcpy, 1.14 and 1.26. What lost: u16[6016,16000] 21.0 and 22.7 (13.3 and 14.2). Of rows that cut lines
/// those of pairs did, u16[8000,9001] 14.9 and 16.6 (8.3 and 8.6), and u8[4032,30001] took 15.5 and 12.9 (8.1 and 6.7).
///
/// Rows that lie nearer are read ahead as the one run that they are: f32[355,384,384] to {1,2,0} took 22.4 ms in turn and
/// 25.9 by blocks, u16[30016,3000] 23.5 and 26.5, u8[60032,2000] 13.5 and 17.7. Wider elements lose, too: f64[5000,5000] 17.4 and 17.9,
/// c128[4096,2048] 10.1 and 10.7.
fn intel<const W: usize>(plane: &Plane) -> Option<Block> {
    let bytes = plane.columns.len * W;
    let least = match W {
        1 => 6 << 10,
        2 => 16 << 10,
        4 => 3 << 10,
        _ => return None,
    };
    let block = Block {
        rows: INTEL_ROWS.max(LINE / W),
        lines: even(bytes.div_ceil(LINE), INTEL_LINES, 1),
        abreast: ABREAST,
        in_turn: false,
    };
    let apart = plane.rows.first_stride().unsigned_abs() >= least;
    let suits = W != 2 || plane.rows.is_multiple_of(LINE as isize);
    (plane.rows.len > INTEL_ROWS && block.lines > 1 && apart && suits).then_some(block)
}

/// The same on a Zen 3, which brings a line of each of more than sixteen rows in turn at half the speed of memory.
///
/// Where rows follow one another, and are not long, a block has all of each, and is one run of the source, asked for from front to back;
/// elsewhere it has some lines of each row, asked for some rows [abreast](ABREAST). ms on one thread with one line of each row in turn, and by blocks: f32[15,15,15,32,15,32] to {3,5,1,4,0,2} 22.8 and 15.7, f32[28,28,4,48,352]
/// to {3,1,4,0,2} 23.1 and 15.4, f32[355,384,384] to {1,2,0} 21.5 and 15.0; where lines were asked for one row after the other, and
/// now: f32[75,96,75,96] to {1,3,0,2} 20.3 and 15.1, f32[2320,59,384] reversed 19.0 and 15.1, f32[15,15,112,15,5,32] to {2,3,0,4,5,1}
/// 21.6 and 18.0. Of all permutations of the HPTT paper the geometric mean of memcpy's speed was 0.67 with lines in turn, 0.75 with
/// one row after the other, and is 0.81.
///
/// Bytes are read in turn mostly, u8[8000,9024] 9.1 and 11.3.
fn zen3<const W: usize>(plane: &Plane) -> Option<Block> {
    let bytes = plane.columns.len * W;
    let all = bytes.div_ceil(LINE);
    let apart = plane.rows.first_stride().unsigned_abs();
    let beside = plane.rows.side_by_side(bytes) > 1;
    let block = |rows, lines| Block {
        rows,
        lines,
        abreast: match beside && lines == all {
            true => 1,
            false => ABREAST,
        },
        in_turn: false,
    };
    let block = if W == 1 {
        let columns = plane.columns.first_stride().unsigned_abs();
        let far = apart >= FAR_APART.0
            && columns >= FAR_APART.1
            && plane.rows.side_by_side(apart) >= FAR_ROWS;
        match all {
            ..=BYTES_WHOLE if beside => block(TALL, all),
            _ if far || beside && all <= BYTES_BESIDE => block(TALL, even(all, BYTES_PART, 1)),
            _ => return None,
        }
    } else if all <= WHOLE && beside {
        block(ROWS, even(all, COLUMNS * W / LINE, 1))
    } else if plane.rows.len > FOLLOWED
        && (all <= WHOLE
            || plane.rows.is_multiple_of(LINE as isize)
            || W >= FAR_WIDTH && apart >= FAR)
    {
        block(ROWS, even(all, PART, 1))
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
    fn blocks_have_whole_rows_that_are_side_by_side_and_some_lines_of_others_on_a_zen_3() {
        // Rows, and bytes of each, to the next one, and from a column to the next; and rows and lines of a block of elements of 1, 2, 4
        // and 8 bytes, and whether it is a run.
        let none = (0, 0, false);
        let whole = |lines| (64, lines, true);
        let part = |lines| (64, lines, false);
        let three = |bytes, other| [bytes, other, other, other];
        let cases = [
            // Side by side,
            (48, 192, 192, 5_376, three((256, 3, true), whole(3))),
            (352, 1_024, 1_024, 39_424, three((256, 16, true), whole(16))),
            (48, 1_408, 1_408, 5_376, three((256, 8, false), whole(22))),
            (
                48,
                4_096,
                4_096,
                5_376,
                [none, (64, 32, false), whole(64), whole(64)],
            ),
            // longer,
            (48, 4_160, 4_160, 5_376, three(none, part(13))),
            (7264, 29_056, 29_056, 29_056, three(none, part(16))),
            // with others between them,
            (48, 192, 28_800, 5_376, three(none, part(3))),
            (48, 3_072, 28_800, 5_376, three(none, part(16))),
            (48, 640, 345_600, 5_376, three(none, part(10))),
            (
                608,
                4_608,
                345_600,
                2_188_800,
                three((256, 8, false), part(15)),
            ),
            (99, 4_608, 345_600, 2_188_800, three(none, part(15))),
            // and such as cut lines.
            (48, 640, 345_608, 5_376, three(none, part(10))),
            (48, 4_160, 4_168, 5_376, three(none, none)),
            (48, 4_160, 262_152, 5_376, [none, none, part(13), part(13)]),
            (48, 4_160, 262_136, 5_376, three(none, none)),
            // Few rows,
            (16, 640, 345_600, 5_376, three(none, none)),
            (17, 640, 345_600, 5_376, three(none, part(10))),
            // a single one, and a single line.
            (1, 192, 192, 5_376, three(none, none)),
            (48, 64, 64, 5_376, three(none, none)),
        ];
        for (rows, row, apart, pitch, blocks) in cases {
            let plane = |width: usize| {
                let (rows, columns) = (Axis::new(rows, apart), Axis::new(row / width, pitch));
                Plane::streaming(rows, columns, false)
            };
            let found = [
                zen3::<1>(&plane(1)),
                zen3::<2>(&plane(2)),
                zen3::<4>(&plane(4)),
                zen3::<8>(&plane(8)),
            ];
            let expected = blocks.map(|(rows, lines, run)| {
                (lines > 0).then_some(Block {
                    rows,
                    lines,
                    abreast: if run { 1 } else { ABREAST },
                    in_turn: false,
                })
            });
            assert_eq!(found, expected, "{rows} rows of {row} bytes, {apart} apart");
        }
    }

    #[test]
    fn blocks_have_some_lines_of_rows_that_are_not_read_as_one_run_on_intels() {
        // As above: rows of a block, and lines of each, of elements of 1, 2, 4 and 8 bytes.
        let none = (0, 0);
        let cases = [
            // Side by side,
            (99, 3_008, 3_008, [none, none, none, none]),
            (99, 3_072, 3_072, [none, none, (32, 8), none]),
            (99, 6_144, 6_144, [(64, 8), none, (32, 8), none]),
            (99, 6_080, 6_080, [none, none, (32, 8), none]),
            (99, 16_384, 16_384, [(64, 8), (32, 8), (32, 8), none]),
            // that cut lines,
            (99, 16_396, 16_396, [(64, 8), none, (32, 8), none]),
            // with others between them,
            (99, 192, 28_800, [(64, 3), (32, 3), (32, 3), none]),
            (99, 640, 345_600, [(64, 5), (32, 5), (32, 5), none]),
            (99, 1_500, 3_000, [none; 4]),
            (99, 2_500, 5_000, [none, none, (32, 8), none]),
            (99, 5_024, 10_048, [(64, 8), none, (32, 8), none]),
            // few, and single lines.
            (33, 16_384, 16_384, [(64, 8), (32, 8), (32, 8), none]),
            (32, 16_384, 16_384, [none; 4]),
            (99, 64, 28_800, [none; 4]),
        ];
        for (rows, row, apart, blocks) in cases {
            let plane = |width: usize| {
                let (rows, columns) = (Axis::new(rows, apart), Axis::new(row / width, 5_376));
                Plane::streaming(rows, columns, false)
            };
            let found = [
                intel::<1>(&plane(1)),
                intel::<2>(&plane(2)),
                intel::<4>(&plane(4)),
                intel::<8>(&plane(8)),
            ];
            let expected = blocks.map(|(rows, lines)| {
                (lines > 0).then_some(Block {
                    rows,
                    lines,
                    abreast: ABREAST,
                    in_turn: false,
                })
            });
            assert_eq!(found, expected, "{rows} rows of {row} bytes, {apart} apart");
        }
    }

    #[test]
    fn blocks_have_no_more_columns_than_there_is_room_for() {
        for row in [256, 1_000, 3_000, 4_096, 20_000] {
            let plane = |width: usize| {
                let rows = Axis::new(500, row as isize);
                Plane::streaming(rows, Axis::new(row / width, 1 << 20), false)
            };
            let blocks = [
                (1, zen3::<1>(&plane(1))),
                (2, zen3::<2>(&plane(2))),
                (16, zen3::<16>(&plane(16))),
                (1, intel::<1>(&plane(1))),
                (4, intel::<4>(&plane(4))),
            ];
            for (width, block) in blocks {
                let columns = block.map_or(0, |block| block.lines * LINE / width);
                assert!(columns <= COLUMNS, "{row} bytes of {width}");
            }
        }
    }
}
