//! Lists of extents.

use smallvec::SmallVec;

/// Extents, major to minor; of memory, the last one counts bytes.
pub(super) type Extents = SmallVec<[i64; 8]>;

/// All extents multiplied. Of memory these are its bytes, so it fits.
pub(super) fn product(extents: &[i64]) -> i64 {
    extents.iter().product()
}

/// Where dimensions begin: the bytes of one step of each, rising.
pub(super) fn cuts(extents: &[i64]) -> impl Iterator<Item = i64> {
    extents.iter().rev().scan(1, |next, &extent| {
        let cut = *next;
        *next *= extent;
        Some(cut)
    })
}

/// The dimension that a cut goes through, and the extent of its minor part; nothing where a
/// dimension begins there already. `None` where the cut does not divide the dimension.
pub(super) fn cut_place(extents: &[i64], cut: i64) -> Option<Option<(usize, i64)>> {
    let mut step = 1;
    for (d, &extent) in extents.iter().enumerate().rev() {
        if cut <= step {
            break;
        }
        if cut < step * extent {
            let divides = cut % step == 0 && extent % (cut / step) == 0;
            return divides.then_some(Some((d, cut / step)));
        }
        step *= extent;
    }
    Some(None)
}
