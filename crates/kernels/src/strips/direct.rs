//! How many lines of each row a block has that is written as it is made.

use super::even;
use crate::plane::Plane;
use crate::simd::LINE;
use crate::tuning::is_zen3;

/// The most lines of each row that a block has which is written as it is made, where rows lie side by side: so these are read from front
/// to back. f32[28,28,28,48,48] to {3,1,4,0,2} took a Zen 3 36 ms by single lines and 23 so, f32[15,15,15,112,5,32] to {3,5,1,4,0,2}
/// 38 and 28.
pub(super) const WHOLE_LINES: usize = 16;
/// And of longer rows, as long as they have so many at most, f32[28,28,4,48,352] to {3,1,4,0,2} 31 and 25; or where both rows and columns
/// lie far apart, f32[608,75,12,96] reversed 36 and 24, f64[160,75,12,160] 33 and 20, f32[384,59,2320] 39 and 28. With half as many
/// lines 26 and 29, the first of these and the last.
const PART_LINES: usize = 8;
const BESIDE_LINES: usize = 32;
/// The least bytes between rows then, and between columns: f32[10000,10007] to columns, of rows of 40 KB, took 39 ms by single lines and 42
/// so, f32[160,200001], of columns of 640 bytes, 12 and 15.
const FAR_APART: (usize, usize) = (128 << 10, 32 << 10);
/// And the fewest rows so far apart: f32[32,15,15,15,15,32] reversed took 21 and 30.
const FAR_ROWS: usize = 100;

/// How many lines of each row a block has that is written as it is made. As many are asked for at a time, of one row after the other: a
/// Zen 3 brings a line of each of more than sixteen rows in turn at half the speed of memory.
pub(super) fn direct_lines<const W: usize>(plane: &Plane) -> usize {
    if !is_zen3() {
        return 1;
    }
    let bytes = plane.columns.len * W;
    let lines = bytes.div_ceil(LINE);
    let rows = plane.rows.first_stride();
    let apart = |stride: isize, least| stride.unsigned_abs() >= least;
    let far = apart(rows, FAR_APART.0)
        && apart(plane.columns.first_stride(), FAR_APART.1)
        && plane.rows.side_by_side(rows.unsigned_abs()) >= FAR_ROWS;
    let beside = plane.rows.side_by_side(bytes) > 1;
    match lines {
        ..=WHOLE_LINES if beside => lines,
        _ if far || beside && lines <= BESIDE_LINES => even(lines, PART_LINES, 1),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;

    #[test]
    fn blocks_have_many_lines_of_rows_side_by_side_and_far_apart_on_a_zen_3() {
        // Rows, and bytes of each, to the next one, and from a column to the next; and lines of a block.
        let cases = [
            (48, 192, 192, 5_376, 3),
            (112, 640, 640, 448, 10),
            (352, 1_024, 1_024, 39_424, 16),
            (48, 1_408, 1_408, 5_376, 8),
            (48, 2_112, 2_112, 5_376, 1),
            (48, 192, 256, 5_376, 1),
            (1, 192, 192, 5_376, 1),
            (608, 4_608, 345_600, 2_188_800, 8),
            (112, 384, 2_160_000, 7_560_000, 6),
            (608, 640, 345_600, 2_188_800, 5),
            (99, 4_608, 345_600, 2_188_800, 1),
            (608, 4_608, 40_000, 2_188_800, 1),
            (608, 4_608, 345_600, 2_432, 1),
        ];
        for (rows, row, apart, pitch, lines) in cases {
            let plane = |width: usize| {
                let (rows, columns) = (Axis::new(rows, apart), Axis::new(row / width, pitch));
                Plane::streaming(rows, columns, false)
            };
            let found = [direct_lines::<4>(&plane(4)), direct_lines::<8>(&plane(8))];
            let expected = if is_zen3() { lines } else { 1 };
            assert_eq!(
                found, [expected; 2],
                "{rows} rows of {row} bytes, {apart} apart"
            );
        }
    }
}
