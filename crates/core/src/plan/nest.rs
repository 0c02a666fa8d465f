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
    loops.retain(|l| l.extent() != 1);
    let mut at = 0;
    while at < loops.len() {
        let merged = (0..loops.len())
            .filter(|&other| other != at)
            .find_map(|other| Some((other, loops[at].merge(&loops[other])?)));
        match merged {
            Some((other, merged)) => {
                loops[at] = merged;
                loops.remove(other);
                at = 0;
            }
            None => at += 1,
        }
    }
    sort(loops);
}

/// Loops in the order of the canonical form.
pub(super) fn sort<L: Merge>(loops: &mut [L]) {
    loops.sort_by_key(|l| std::cmp::Reverse(l.rank()));
}
