//! Loop nests: what boxes are made of.

use smallvec::SmallVec;

/// One loop of a box: strides are in units of each side, as the [plan](super::Plan) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// How often it runs.
    pub extent: i64,
    /// Units from one iteration to the next in the source.
    pub source: i64,
    /// Units from one iteration to the next in the destination.
    pub destination: i64,
}

/// One loop of a fill; the stride is in units of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FillLoop {
    /// How often it runs.
    pub extent: i64,
    /// Units from one iteration to the next in the destination.
    pub destination: i64,
}

/// A loop that knows whether another, inside it, can be merged with it.
pub(super) trait Merge: Copy {
    fn extent(&self) -> i64;
    /// This loop and `inner` as one, if each of its strides is that of `inner` times `inner`'s
    /// extent.
    fn merge(&self, inner: &Self) -> Option<Self>;
    /// Loops are listed by this, greatest first.
    fn rank(&self) -> (i64, i64);
}

impl Merge for Loop {
    fn extent(&self) -> i64 {
        self.extent
    }

    fn merge(&self, inner: &Self) -> Option<Self> {
        let follows = |outer: i64, stride: i64| stride.checked_mul(inner.extent) == Some(outer);
        (follows(self.source, inner.source) && follows(self.destination, inner.destination)).then(
            || Loop {
                // The product of extents of one box is at most the elements of an array.
                extent: self.extent * inner.extent,
                ..*inner
            },
        )
    }

    fn rank(&self) -> (i64, i64) {
        (
            self.source.abs().max(self.destination.abs()),
            self.source.abs(),
        )
    }
}

impl Merge for FillLoop {
    fn extent(&self) -> i64 {
        self.extent
    }

    fn merge(&self, inner: &Self) -> Option<Self> {
        (inner.destination.checked_mul(inner.extent) == Some(self.destination)).then(|| FillLoop {
            extent: self.extent * inner.extent,
            ..*inner
        })
    }

    fn rank(&self) -> (i64, i64) {
        (self.destination.abs(), 0)
    }
}

/// Loops in their one canonical form: none of extent 1, neighbours merged, the greatest stride
/// on either side first (then the greatest source stride).
pub(super) fn canonical<L: Merge, A: smallvec::Array<Item = L>>(loops: &mut SmallVec<A>) {
    let kept = make_canonical(loops);
    loops.truncate(kept);
}

/// Brings the canonical form to the front; returns how many loops it has.
fn make_canonical<L: Merge>(loops: &mut [L]) -> usize {
    let mut kept = 0;
    for i in 0..loops.len() {
        if loops[i].extent() != 1 {
            loops[kept] = loops[i];
            kept += 1;
        }
    }
    let mut at = 0;
    while at < kept {
        let merged = (0..kept)
            .filter(|&other| other != at)
            .find_map(|other| Some((other, loops[at].merge(&loops[other])?)));
        match merged {
            Some((other, merged)) => {
                loops[at] = merged;
                loops.copy_within(other + 1..kept, other);
                kept -= 1;
                at = 0;
            }
            None => at += 1,
        }
    }
    sort(&mut loops[..kept]);
    kept
}

/// Puts loops in the order of the canonical form. They are few: each goes where it belongs.
pub(super) fn sort<L: Merge>(loops: &mut [L]) {
    for i in 1..loops.len() {
        let l = loops[i];
        let mut place = i;
        while place > 0 && loops[place - 1].rank() < l.rank() {
            loops[place] = loops[place - 1];
            place -= 1;
        }
        loops[place] = l;
    }
}
