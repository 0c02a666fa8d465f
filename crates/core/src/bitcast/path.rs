//! One index's path to a position on either side, and where two paths part.

use std::borrow::Cow;

use crate::plan::tree::{Split, Tree};

/// The positions of the indices `start`, `start + step`, .. of a tree, from the first on.
#[derive(Clone, Debug)]
pub(super) struct Path<'a> {
    pub tree: Cow<'a, Tree>,
    pub start: i64,
    pub step: i64,
}

impl<'a> Path<'a> {
    pub fn new(tree: Cow<'a, Tree>) -> Self {
        Path {
            tree,
            start: 0,
            step: 1,
        }
    }

    /// The path as a tree of its own, if it is one, as far as `length` indices reach.
    fn straight(&self, length: i64) -> Option<Cow<'_, Tree>> {
        if (self.start, self.step) == (0, 1) {
            return Some(Cow::Borrowed(self.tree.as_ref()));
        }
        let from = self
            .tree
            .starting_at(self.start, self.step * (length - 1))?;
        from.stepping_by(self.step).map(Cow::Owned)
    }

    fn position(&self, index: i64) -> i64 {
        self.tree.position(self.start + index * self.step)
    }

    /// For how many indices from `index` on positions rise by one stride, and that stride.
    fn run(&self, index: i64) -> (i64, i64) {
        let (count, stride) = self.tree.run(self.start + index * self.step);
        // Beyond 63 bits only where the run is longer than any array.
        (
            (count - 1) / self.step + 1,
            stride.saturating_mul(self.step),
        )
    }
}

/// The first of `length` indices at which two paths lie apart, counted from their first
/// positions; `None` where they never do.
pub(super) fn first_difference(a: &Path<'_>, b: &Path<'_>, length: i64) -> Option<i64> {
    if length <= 1 {
        return None;
    }
    match (a.straight(length), b.straight(length)) {
        (Some(a), Some(b)) => difference(&a, &b, length),
        _ => walk(a, b, length),
    }
}

/// Two functions that split by the same tile are equal where their high and their low parts are,
/// and part first where their low parts do.
fn difference(a: &Tree, b: &Tree, length: i64) -> Option<i64> {
    if length <= 1 {
        return None;
    }
    let (a, b) = (a.within(length), b.within(length));
    let (tile_a, tile_b) = (a.tile(), b.tile());
    if let (Tree::Line(a), Tree::Line(b)) = (a, b) {
        return (a != b).then_some(1);
    }
    let tile = match (tile_a, tile_b) {
        (1, tile) | (tile, 1) => tile,
        (a, b) => a.min(b),
    };
    let split = |tile: i64| a.split_by(tile).zip(b.split_by(tile));
    match split(tile).map(|parts| (tile, parts)).or_else(|| {
        let tile = tile_a.max(tile_b);
        split(tile).map(|parts| (tile, parts))
    }) {
        Some((tile, ((high_a, low_a), (high_b, low_b)))) => difference(&low_a, &low_b, tile)
            .or_else(|| {
                let tiles = (length - 1) / tile + 1;
                difference(&high_a, &high_b, tiles).map(|tiles| tiles * tile)
            }),
        None => walk(
            &Path::new(Cow::Borrowed(a)),
            &Path::new(Cow::Borrowed(b)),
            length,
        ),
    }
}

/// The way for tiles that do not divide each other, and slices that begin or step inside tiles:
/// from run to run of equal strides, up to the first difference.
fn walk(a: &Path<'_>, b: &Path<'_>, length: i64) -> Option<i64> {
    let (first_a, first_b) = (a.position(0), b.position(0));
    let mut index = 0;
    while index < length {
        if a.position(index) - first_a != b.position(index) - first_b {
            return Some(index);
        }
        let ((run_a, stride_a), (run_b, stride_b)) = (a.run(index), b.run(index));
        let run = run_a.min(run_b).min(length - index);
        if run > 1 && stride_a != stride_b {
            return Some(index + 1);
        }
        index += run;
    }
    None
}

/// What the questions about bitcasts ask of a tree.
impl Tree {
    /// The part of the tree that the indices below `length` stay in.
    fn within(&self, length: i64) -> &Tree {
        match self {
            Tree::Split(split) if length <= split.tile => split.low.within(length),
            tree => tree,
        }
    }

    /// How positions go on from that of `start`, for indices up to `span` behind it. `None`
    /// where a tile ends among them that does not begin there.
    fn starting_at(&self, start: i64, span: i64) -> Option<Tree> {
        match self {
            _ if start == 0 => Some(self.clone()),
            Tree::Line(_) => Some(self.clone()),
            Tree::Split(split) => {
                let Split { tile, high, low } = &**split;
                if start % tile + span < *tile {
                    low.starting_at(start % tile, span)
                } else if start % tile == 0 {
                    let high = high.starting_at(start / tile, span / tile)?;
                    Some(Tree::split(*tile, high, low.clone()))
                } else {
                    None
                }
            }
        }
    }

    /// Every `step`th index. `None` where neither of step and tile divides the other.
    fn stepping_by(&self, step: i64) -> Option<Tree> {
        match self {
            _ if step == 1 => Some(self.clone()),
            Tree::Line(stride) => stride.checked_mul(step).map(Tree::Line),
            Tree::Split(split) => {
                let Split { tile, high, low } = &**split;
                if step % tile == 0 {
                    high.stepping_by(step / tile)
                } else if tile % step == 0 {
                    Some(Tree::split(
                        tile / step,
                        high.clone(),
                        low.stepping_by(step)?,
                    ))
                } else {
                    None
                }
            }
        }
    }

    /// For how many indices from `index` on positions rise by one stride, and that stride.
    fn run(&self, index: i64) -> (i64, i64) {
        match self {
            Tree::Line(stride) => (i64::MAX, *stride),
            Tree::Split(split) => {
                let (count, stride) = split.low.run(index % split.tile);
                (count.min(split.tile - index % split.tile), stride)
            }
        }
    }
}
