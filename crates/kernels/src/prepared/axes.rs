//! The loops of a nest that become the rows and columns of a kernel.

use super::{find, turn};
use crate::around::Around;
use crate::axis::Axis;
use crate::cached::Ways;
use crate::cell::{Cell, short_run, whole};
use crate::crowded;
use crate::nest::{Loop, Loops};
use crate::order::{Mixed, Unit};
use crate::packed::packed_rows;
use crate::plane::{Plane, WALK};
use crate::runs::Runs;
use crate::simd::LINE;
use crate::tuning::{Caches, followed, is_zen3, is_zen5, waits};
use crate::{weave, zip};

/// The loops over few rows and over their elements, if the two that step by an element are these, and the longer steps by
/// all rows' bytes where the shorter steps by an element; and whether the rows are in the source. Few are less than 16
/// bytes, or those of a [`Zip`](zip::Zip), and past the caches all that a weave is good at; there their rows have 16 bytes.
pub(super) fn few(
    outer: &[Loop],
    width: usize,
    (d, s): (usize, usize),
    stream: bool,
) -> Option<(Loop, Loop, bool)> {
    let (rows, columns) = (outer[d], outer[s]);
    let is_of_small_planes = |few: &Loop, many: &Loop, stride: isize, join: bool| {
        let bytes = few.extent.saturating_mul(width);
        let woven = || stream && weave::suits(width, (few.extent, many.extent), join);
        let zipped = zip::fits(width, few.extent);
        let row = many.extent.saturating_mul(width);
        // A row that another loop goes on with.
        let goes_on = |l: &Loop| l.source == row as isize && l.source != few.source;
        let parted = || join && row < PARTED && !zipped && outer.iter().any(goes_on);
        stride == bytes as isize
            && (bytes < 16 || zipped || woven())
            && !(stream && (row < 16 || parted()))
    };
    if is_of_small_planes(&rows, &columns, columns.destination, true) {
        Some((rows, columns, true))
    } else if is_of_small_planes(&columns, &rows, rows.source, false) {
        Some((columns, rows, false))
    } else {
        None
    }
}

/// Bytes below which one of few rows is not read alone where another loop goes on with it: of bf16[24,15,11,102,50] to {2,4,0,1,3}
/// these are rows of 100 bytes, and a Zen 4 took 12.7 ms, where a stage takes 3.9.
const PARTED: usize = 512;

/// Bytes of a run of the destination below which it is short, since its ends are lines that are written in part or since
/// it is too far to the next one,
const SHORT: usize = 2 << 10;
/// and of one of the source.
const SHORT_ROW: usize = LINE + LINE / 2;
/// Bytes of both where the two together are short, as those of tiles that are transposed.
const BOTH_SHORT: (usize, usize) = (4 << 10, 1 << 10);
/// On a Zen 5, bytes of a run of the destination that ends within a line, and of one of the source where that of the destination
/// is one of [`BOTH_SHORT`]. Tiles `T(8,128)` of f32[4001,5003] are transposed in 3.9 ms, in blocks 5.4, and in runs of a quarter, as
/// `T(4,64)`, in 5.5 and 6.5; f32[33,16,128,8,33] to {2,3,0,1,4} in 3.1 and 5.2, f32[40,96,28,28,28] to {1,3,0,4,2} in 13 and 24. With
/// columns of 240 bytes f32[40,60,48,21,20] to {1,3,2,0,4} takes 18 and in blocks 14, with rows of 128 u8[8001,9003] as `T(8,128)`
/// 6.9 and 4.6.
const ZEN5_SHORT: (usize, usize) = (512, 256);

/// Whether the plane of a nest would have short runs, as loops that continue them belong to the other side, or to none. Few
/// rows that follow one another have kernels of their own.
#[inline(never)]
pub(super) fn is_broken(outer: &Loops, width: usize, d: usize, s: usize) -> bool {
    let (mut loops, width, d, s) = match Unit::find(outer, width, d, s) {
        Some(unit) => (unit.loops, unit.width, unit.d, unit.s),
        None if few(outer, width, (d, s), true).is_some() => return false,
        None => (outer.clone(), width, d, s),
    };
    if loops.len() < 3 {
        return false;
    }
    let plane = plane(&mut loops, width, d, s, None, true);
    let (column, row) = (plane.rows.len * width, plane.columns.len * width);
    let run = column * plane.columns.side_by_side(column);
    // On a Granite Rapids and a Zen 5, lines are written as fast anywhere, as long as they are whole.
    let cut = followed() == usize::MAX && !is_zen5() || !column.is_multiple_of(LINE);
    let (short, short_row) = match is_zen5() {
        true => ZEN5_SHORT,
        false => (SHORT, BOTH_SHORT.1 + 1),
    };
    run < short && cut || row < SHORT_ROW || run <= BOTH_SHORT.0 && row < short_row
}

/// The most bytes of blocks of runs, and of planes, that lie whole on both sides and have so little to move that each is better moved
/// in the caches,
const SMALL_BLOCK: usize = 32 << 10;
const SMALL_PLANE: usize = 64 << 10;
/// the fewest of such a plane, as fewer are others' elements or cells,
const LEAST_PLANE: usize = 4 << 10;
/// and the most of the blocks' runs;
const LONG_RUN: usize = 512;
/// where these are whole lines, or halves, the most bytes of a block.
const WHOLE_LINES: usize = 2 << 10;
const HALF_LINES: usize = 4 << 10;

/// Whether a nest is one of blocks that lie whole on both sides and have short runs in another order: a kernel of runs would be
/// entered for each.
///
/// ms on a Zen 3, before and so: u8[200000,10,10,3]{3,1,2,0} from row-major 71 and 14, f32[20000,5,7,11] 10.6 and 3.4, f32[3000,7,9,11,5]
/// {4,1,2,3,0} 11.2 and 6.9, f32[4000,11,7,40] 8.4 and 5.4. Of whole lines f32[20000,3,4,16] 3.2 and 1.8, but f32[20000,5,7,16] 4.6 and
/// 5.7; of halves f32[5000,10,11,8] 3.4 and 1.5, but bf16[4000,12,64,16] 16 and 20.
pub(super) fn is_of_small_blocks(width: usize, loops: &[Loop]) -> bool {
    let Some(run) = short_run(width, loops, LONG_RUN) else {
        return false;
    };
    let most = match run {
        _ if run.is_multiple_of(LINE) => WHOLE_LINES,
        _ if run.is_multiple_of(LINE / 2) => HALF_LINES,
        _ => SMALL_BLOCK,
    };
    whole(width, loops, most).is_some_and(|(start, _)| start > 0)
}

/// Whether a plane is one of blocks that lie whole on both sides, which are so small that each is better transposed in the caches,
/// while the next one comes; `d` steps by an element in the destination, `s` in the source. Of few rows or columns others see to that.
///
/// Measured on a Zen 3 alone, ms before and so: f32[5000,33,33]{1,2,0} from row-major 6.2 and 2.4, f32[2000,75,71] 7.6 and 4.6,
/// f32[2000,64,64] 4.6 and 3.0, bf16[3000,101,99] 13.1 and 8.2, f32[3000,7,9,11,5]{2,3,1,4,0} 11.3 and 6.6; but f32[1000,3,64,64]
/// {1,3,2,0}, of few rows, 4.7 and 5.9.
pub(super) fn is_of_small_planes(width: usize, outer: &Loops, d: usize, s: usize) -> bool {
    is_zen3()
        && whole(width, outer, SMALL_PLANE).is_some_and(|(_, bytes)| bytes > LEAST_PLANE)
        && few(outer, width, (d, s), true).is_none()
}

/// Takes the loops of a plane out of a nest: `d` steps by an element in the destination, `s` in the source.
pub(super) fn plane(
    outer: &mut Loops,
    width: usize,
    d: usize,
    s: usize,
    order: Option<Mixed>,
    stream: bool,
) -> Box<Plane> {
    let (rows, columns) = (outer[d], outer[s]);
    let bytes = width * outer.iter().map(|l| l.extent).product::<usize>();
    let far = !stream && waits() && bytes > Caches::of_this_cpu().second / 3;
    let large = stream && bytes > Caches::of_this_cpu().last / 5 * 4;
    outer.remove(d.max(s));
    outer.remove(d.min(s));
    // In its place, as it is large.
    let mut plane = Box::write(
        Box::new_uninit(),
        Plane {
            rows: Axis::new(rows.extent, rows.source),
            columns: Axis::new(columns.extent, columns.destination),
            stream,
            far,
            crowded: false,
            ways: Ways::default(),
            large,
            pieced: false,
            most: if stream { packed_rows(width) } else { 0 },
            gap: None,
            around: Around::default(),
            tables: Default::default(),
            order,
        },
    );
    extend(outer, &mut plane.rows, &mut plane.columns, width);
    plane.choose_pieces(width);
    // A plane that streams would rather know what is next.
    if !stream {
        plane.around = Around::take(outer);
        plane.ways = Ways::of(&plane, width);
        plane.list();
        plane.crowded = crowded::suits(&plane, width, bytes);
    }
    plane
}

/// Takes the loops out of a nest that continue its runs, on either side.
pub(super) fn runs(outer: &mut Loops, run: usize, cell: Option<Cell>) -> Runs {
    let mut rows = Axis::new(1, 0);
    let mut columns = Axis::new(1, 0);
    if let Some(d) = find(outer, |l| l.destination, run as isize) {
        let l = outer.remove(d);
        rows = Axis::new(l.extent, l.source);
    }
    if let Some(s) = find(outer, |l| l.source, run as isize) {
        let l = outer.remove(s);
        columns = Axis::new(l.extent, l.destination);
    }
    extend(outer, &mut rows, &mut columns, run);
    let mut runs = Runs {
        run,
        cell,
        stream: true,
        ask: true,
        pieced: false,
        rows,
        columns,
    };
    runs.choose_pieces();
    runs
}

/// Takes the loops out of a nest of short runs that change their order in two dimensions, where these are better put together
/// in a stage than one after the other, though all is in the caches.
pub(super) fn near_runs(
    width: usize,
    outer: &mut Loops,
    start: &mut (isize, isize),
) -> Option<Runs> {
    let unit = width as isize;
    let inner = outer
        .iter()
        .position(|l| (l.source, l.destination) == (unit, unit))?;
    let run = outer[inner].extent * width;
    // Elements of these widths are others'.
    if !(3..=16).contains(&run) || run.is_power_of_two() {
        return None;
    }
    let rows = outer[find(outer, |l| l.destination, run as isize)?];
    let forward = find(outer, |l| l.source, run as isize);
    let columns = outer[forward.or_else(|| find(outer, |l| l.source, -(run as isize)))?];
    let bytes = width * outer.iter().map(|l| l.extent).product::<usize>();
    let ask = bytes > Caches::of_this_cpu().second / 2;
    let plane = rows.extent * columns.extent * run;
    let enough = rows.extent >= NEAR.0 && columns.extent >= NEAR.1 && plane >= NEAR.2;
    if !enough || run > 8 && !ask {
        return None;
    }
    outer.remove(inner);
    if forward.is_none() {
        turn(outer, run, start);
    }
    Some(Runs {
        stream: false,
        ask,
        pieced: false,
        ..runs(outer, run, None)
    })
}

/// The fewest rows and columns of short runs, and bytes of a plane, that are put together in a stage in the caches. On a Zen 5
/// u8[100,101,3]{2,0,1} from row-major takes 1.6 us so and 3.6 by tables.
const NEAR: (usize, usize, usize) = (16, 8, 16 << 10);

/// Bytes of the destination that columns of a plane have that are long enough while its rows are shorter than [`WALK`].
const TALL: usize = 4 * LINE;

/// Gives both axes of a plane the loops that continue their runs, the shorter first, so that strips are tall and walks
/// are long. `unit` is the bytes of an element, or of a run that stands for one.
fn extend(outer: &mut Loops, rows: &mut Axis, columns: &mut Axis, unit: usize) {
    loop {
        let bytes = |axis: &Axis| (!axis.is_full()).then_some((axis.len * unit) as isize);
        let next_row = bytes(rows).and_then(|run| find(outer, |l| l.destination, run));
        let next_column = bytes(columns).and_then(|run| find(outer, |l| l.source, run));
        let walks = followed() == usize::MAX || columns.len * unit >= WALK;
        let taller = rows.len <= columns.len && (walks || rows.len * unit < TALL);
        match (next_row, next_column) {
            (Some(i), other) if other.is_none() || taller => {
                let l = outer.remove(i);
                rows.join(l.extent, l.source);
            }
            (_, Some(i)) => {
                let l = outer.remove(i);
                columns.join(l.extent, l.destination);
            }
            (_, None) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::loops_of;

    #[test]
    fn short_runs_that_go_back_are_turned_around() {
        let pixels = |rows, step| {
            let loops = [(rows, 900, 3), (300, step, 600), (3, 1, 1)];
            let (mut loops, mut start) = (loops_of(&loops), (0, 0));
            let runs = near_runs(1, &mut loops, &mut start);
            let columns = runs.map(|runs| {
                assert_eq!((runs.run, runs.rows.len, runs.columns.len), (3, rows, 300));
                runs.columns.first_stride()
            });
            (columns, start, loops.len())
        };
        assert_eq!(pixels(200, 3), (Some(600), (0, 0), 0));
        assert_eq!(pixels(200, -3), (Some(-600), (-3 * 299, 600 * 299), 0));
        // Too few of them, and none that lie side by side.
        assert_eq!(pixels(15, -3), (None, (0, 0), 3));
        assert_eq!(pixels(200, -4), (None, (0, 0), 3));
    }

    #[test]
    fn planes_of_short_runs_are_broken() {
        // Bytes of an element, loops from the outermost on, and whether the plane is broken on a Zen 5 and elsewhere.
        type Case<'a> = (usize, &'a [(usize, isize, isize)], bool, bool);
        let tiles: Case = (
            4,
            &[
                (31, 4096, 2_621_440),
                (16, 32, 163_840),
                (16, 131_072, 32),
                (8, 512, 4),
                (8, 4, 512),
            ],
            false,
            true,
        );
        // Half as many bytes of a row.
        let narrow: Case = (
            1,
            &[
                (31, 1024, 655_360),
                (16, 8, 40_960),
                (16, 32_768, 8),
                (8, 128, 1),
                (8, 1, 128),
            ],
            true,
            true,
        );
        // A column of 60 elements, that the next one does not follow.
        let cut: Case = (
            4,
            &[
                (20, 4, 9_676_800),
                (40, 4_838_400, 241_920),
                (60, 80_640, 4),
                (1008, 80, 240),
            ],
            true,
            true,
        );
        for (width, loops, zen5, elsewhere) in [tiles, narrow, cut] {
            let loops = loops_of(loops);
            let at = |stride: fn(&Loop) -> isize| find(&loops, stride, width as isize).unwrap();
            let broken = is_broken(&loops, width, at(|l| l.destination), at(|l| l.source));
            let expected = if is_zen5() { zen5 } else { elsewhere };
            assert_eq!(broken, expected, "{width}: {loops:?}");
        }
    }
}
