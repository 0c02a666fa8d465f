//! Changes that go through memory together, window by window, so that each finds in a cache what
//! the one before left there.

use super::change::{Change, simplest};
use super::extents::{Extents, product};
use super::resize::Resize;
use super::transpose::{Order, Transpose};
use crate::address::gcd;

/// Windows hold at least so many bytes, if they can: below that, each costs more than it brings.
const SMALLEST: i64 = 32 << 10;

/// A change as windows that follow one another in the same order before and after it.
#[derive(Clone, Debug)]
pub(super) struct Windowed {
    change: Change,
    /// Bytes of a window before the change, and after it.
    pub before: i64,
    pub after: i64,
    /// Windows that hold elements and are wanted.
    pub count: i64,
}

/// Changes in groups that share their windows.
pub(super) struct Group {
    /// How many windows, of how many bytes before and after.
    pub count: i64,
    pub before: i64,
    pub after: i64,
    /// What happens in each.
    pub changes: Vec<Change>,
    /// What happens in a last window of another size, if there is one.
    pub rest: Option<Box<Group>>,
}

impl Windowed {
    fn new(change: &Change) -> Windowed {
        let (before, after, count) = match change {
            // Rows that are there before and after; what a smaller number of them leaves or
            // takes at the end costs nothing.
            Change::Resize(Resize { from, to }) => {
                (product(&from[1..]), product(&to[1..]), from[0].min(to[0]))
            }
            Change::Transpose(transpose) => {
                let (outer, _) = transpose.fixed();
                let window = product(&transpose.extents[outer..]);
                (window, window, transpose.bytes() / window)
            }
        };
        Windowed {
            change: change.clone(),
            before,
            after,
            count,
        }
    }

    /// The change of so many windows.
    fn of(&self, count: i64) -> Change {
        let with = |extents: &[i64]| -> Extents {
            [count].into_iter().chain(extents.iter().copied()).collect()
        };
        match &self.change {
            Change::Resize(Resize { from, to }) => Change::Resize(Resize {
                from: with(&from[1..]),
                to: with(&to[1..]),
            }),
            Change::Transpose(transpose) => {
                let (outer, _) = transpose.fixed();
                let inner = transpose.order[outer..].iter().map(|d| d + 1 - outer);
                let order: Order = [0].into_iter().chain(inner).collect();
                Change::Transpose(Transpose {
                    extents: with(&transpose.extents[outer..]),
                    order,
                })
            }
        }
    }
}

/// Changes as windows, without those that hold no element before or after all changes; changes
/// that move nothing are left out.
pub(super) fn windowed(changes: &[Change]) -> Vec<Windowed> {
    let mut all: Vec<Windowed> = changes.iter().map(Windowed::new).collect();
    let ceiling = |a: i64, b: i64| a / b + i64::from(a % b != 0);
    let mut live = i64::MAX;
    for change in &mut all {
        change.count = change.count.min(ceiling(live, change.before));
        live = change.count * change.after;
    }
    let mut wanted = i64::MAX;
    for change in all.iter_mut().rev() {
        change.count = change.count.min(ceiling(wanted, change.after));
        wanted = change.count * change.before;
    }
    let moves = |change: &Change| match change {
        Change::Resize(resize) => resize.from.len() > 1,
        Change::Transpose(_) => true,
    };
    all.retain(|windowed| moves(&windowed.change));
    all
}

/// The changes in as few groups as possible. A group of one change is one window; together,
/// windows of a group take at most `room` bytes.
pub(super) fn groups(changes: &[Windowed], room: i64) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut rest = changes;
    while let Some((first, behind)) = rest.split_first() {
        let mut group = (1, Shared::of(first));
        let mut shared = group.1.clone();
        for (at, next) in behind.iter().enumerate() {
            match shared.with(next, room) {
                Some(more) => shared = more,
                None => break,
            }
            group = (at + 2, shared.clone());
        }
        let (members, shared) = group;
        let (here, after) = rest.split_at(members);
        rest = after;
        groups.push(match here {
            [one] => Group::single(one),
            _ => shared.group(here),
        });
    }
    groups
}

impl Group {
    /// A change that shares its windows with no other.
    pub fn single(change: &Windowed) -> Group {
        Group {
            count: 1,
            before: change.count * change.before,
            after: change.count * change.after,
            changes: vec![change.of(change.count)],
            rest: None,
        }
    }
}

/// Windows that several changes share: each takes a number of its own windows at a time.
#[derive(Clone)]
struct Shared {
    factors: Vec<i64>,
    before: i64,
    after: i64,
    count: i64,
}

impl Shared {
    fn of(change: &Windowed) -> Shared {
        Shared {
            factors: vec![1],
            before: change.before,
            after: change.after,
            count: change.count,
        }
    }

    fn with(&self, next: &Windowed, room: i64) -> Option<Shared> {
        let divisor = gcd(self.after, next.before);
        let (factor, own) = (next.before / divisor, self.after / divisor);
        let before = self.before.checked_mul(factor)?;
        let after = next.after.checked_mul(own)?;
        let ceiling = |a: i64, b: i64| a / b + i64::from(a % b != 0);
        let count = ceiling(self.count, factor).max(ceiling(next.count, own));
        let fits = |bytes: i64| count.checked_mul(bytes).is_some_and(|bytes| bytes <= room);
        if count < 2 || !fits(before) || !fits(after) {
            return None;
        }
        let mut factors: Vec<i64> = self.factors.iter().map(|f| f * factor).collect();
        factors.push(own);
        Some(Shared {
            factors,
            before,
            after,
            count,
        })
    }

    /// Windows of a handy size.
    fn group(&self, changes: &[Windowed]) -> Group {
        let bytes = self.before.max(self.after);
        let most = (self.count / 2).max(1);
        let factor = ((SMALLEST + bytes - 1) / bytes).clamp(1, most);
        let group = |count: i64, factor: i64| {
            let inner: Vec<Change> = std::iter::zip(changes, &self.factors)
                .map(|(change, own)| change.of(own * factor))
                .collect();
            Group {
                count,
                before: self.before * factor,
                after: self.after * factor,
                changes: simplest(inner),
                rest: None,
            }
        };
        let mut whole = group(self.count / factor, factor);
        if self.count % factor > 0 {
            whole.rest = Some(Box::new(group(1, self.count % factor)));
        }
        whole
    }
}
