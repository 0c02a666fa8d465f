//! An index's way to a position, as a tree of splits, and what two ways have in common.

use std::rc::Rc;

use smallvec::SmallVec;

use super::boxes::{MoveBox, SmallLoops};
use super::nest::Loop;
use crate::address::{Expansion, NodeId, Part};

/// How an index `i` becomes a position.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// `i * stride`
    Line(i64),
    /// Trees share what they have in common, so that a copy of one costs nothing.
    Split(Rc<Split>),
}

/// `high(i / tile) + low(i % tile)`
#[derive(Debug)]
pub(crate) struct Split {
    pub tile: i64,
    pub high: Tree,
    pub low: Tree,
}

/// A tree would fall into more pieces than a plan may have.
#[derive(Debug)]
pub(super) struct TooManyPieces;

/// Most pieces that one index may fall into.
const MAX_PIECES: usize = 1 << 14;

impl Tree {
    /// The way from a node of an expansion, positions counted in units of which an element has
    /// `scale`. `None` where the node is part of a combined index.
    pub fn new(expansion: &Expansion, node: Option<NodeId>, scale: i64) -> Option<Tree> {
        let Some(node) = node else {
            return Some(Tree::Line(0));
        };
        match expansion.nodes[node].part {
            Part::Digit { stride, .. } => Some(Tree::Line(stride * scale)),
            Part::Split { tile, high, low } => Some(Tree::split(
                tile,
                Tree::new(expansion, Some(high), scale)?,
                Tree::new(expansion, Some(low), scale)?,
            )),
            Part::Joined { .. } => None,
        }
    }

    pub fn split(tile: i64, high: Tree, low: Tree) -> Tree {
        if let (Tree::Line(outer), Tree::Line(stride)) = (&high, &low)
            && stride.checked_mul(tile) == Some(*outer)
        {
            return low;
        }
        Tree::Split(Rc::new(Split { tile, high, low }))
    }

    pub fn position(&self, index: i64) -> i64 {
        match self {
            Tree::Line(stride) => index * stride,
            Tree::Split(split) => {
                split.high.position(index / split.tile) + split.low.position(index % split.tile)
            }
        }
    }

    /// The tile of the first split; 1 for a line, which any tile divides.
    pub fn tile(&self) -> i64 {
        match self {
            Tree::Line(_) => 1,
            Tree::Split(split) => split.tile,
        }
    }

    /// The tree as one that splits by `tile` first, if it is such a one.
    pub fn split_by(&self, tile: i64) -> Option<(Tree, Tree)> {
        let own = match self {
            Tree::Line(stride) => {
                return Some((Tree::Line(stride.checked_mul(tile)?), Tree::Line(*stride)));
            }
            Tree::Split(own) => own,
        };
        if own.tile == tile {
            Some((own.high.clone(), own.low.clone()))
        } else if tile % own.tile == 0 {
            // i / own / (tile / own) is i / tile.
            let (high, middle) = own.high.split_by(tile / own.tile)?;
            Some((high, Tree::split(own.tile, middle, own.low.clone())))
        } else if own.tile % tile == 0 {
            let (middle, low) = own.low.split_by(tile)?;
            Some((Tree::split(own.tile / tile, own.high.clone(), middle), low))
        } else {
            None
        }
    }
}

/// One side of a comparison: positions of `start..start + length` along a tree.
#[derive(Clone)]
struct Side {
    tree: Tree,
    start: i64,
    /// Added to every position.
    base: i64,
}

impl Side {
    /// Goes down while the whole range lies in one tile; a line forgets where it starts.
    fn descend(&mut self, length: i64) {
        loop {
            let low = match &self.tree {
                Tree::Line(stride) => {
                    self.base += self.start * stride;
                    self.start = 0;
                    return;
                }
                Tree::Split(split) => {
                    let tile = split.tile;
                    if self.start / tile != (self.start + length - 1) / tile {
                        return;
                    }
                    self.base += split.high.position(self.start / tile);
                    self.start %= tile;
                    split.low.clone()
                }
            };
            self.tree = low;
        }
    }

    /// How far the next boundary of the tree's first split is.
    fn to_boundary(&self) -> i64 {
        let tile = self.tree.tile();
        tile - self.start % tile
    }
}

/// Splits the range `0..length` into pieces in which both positions are affine.
///
/// Where both trees repeat with a common period, the repetition is a loop and only one period
/// is cut: tiles of 8 against tiles of 12 are cut at 8, 12 and 16 of every 24.
pub(super) fn common_pieces(
    source: &Tree,
    destination: &Tree,
    length: i64,
) -> Result<SmallVec<[MoveBox; 1]>, TooManyPieces> {
    let side = |tree: &Tree| Side {
        tree: tree.clone(),
        start: 0,
        base: 0,
    };
    let mut pieces = Vec::new();
    refine(side(source), side(destination), length, &mut pieces)?;
    Ok(pieces.into())
}

fn refine(
    mut source: Side,
    mut destination: Side,
    mut length: i64,
    pieces: &mut Vec<MoveBox>,
) -> Result<(), TooManyPieces> {
    while length > 0 {
        source.descend(length);
        destination.descend(length);
        if let (Tree::Line(from), Tree::Line(to)) = (&source.tree, &destination.tree) {
            let mut piece = MoveBox {
                source: source.base,
                destination: destination.base,
                loops: SmallLoops(SmallVec::new()),
            };
            if length > 1 {
                piece.loops.0.push(Loop {
                    extent: length,
                    source: *from,
                    destination: *to,
                });
            }
            if pieces.len() == MAX_PIECES {
                return Err(TooManyPieces);
            }
            pieces.push(piece);
            return Ok(());
        }
        let (a, b) = (source.tree.tile(), destination.tree.tile());
        if let Some(period) = common_multiple(a, b).filter(|&period| period < length)
            && let Some(from) = source.tree.split_by(period)
            && let Some(to) = destination.tree.split_by(period)
        {
            let (a, b) = (source.start % period, destination.start % period);
            let line = |side: &Side| matches!(side.tree, Tree::Line(_));
            if a.max(b) > 0 && (a == b || line(&source) || line(&destination)) {
                // Both enter a period together, since a line can do so anywhere: there first.
                let cut = period - a.max(b);
                refine(source.clone(), destination.clone(), cut, pieces)?;
                source.start += cut;
                destination.start += cut;
                length -= cut;
                continue;
            }
            let behind = length / period * period;
            refine_periods(period, (&source, from), (&destination, to), length, pieces)?;
            source.start += behind;
            destination.start += behind;
            length -= behind;
            continue;
        }
        // Cut where the larger tile ends: inside the range, since a range that crosses no
        // boundary of a tile has gone down into it. What is cut off lies in one such tile.
        let cut = if a >= b {
            source.to_boundary()
        } else {
            destination.to_boundary()
        };
        refine(source.clone(), destination.clone(), cut, pieces)?;
        source.start += cut;
        destination.start += cut;
        length -= cut;
    }
    Ok(())
}

/// As [`refine`], for the whole periods in the range of trees that both split by `period`: one
/// period is cut, inside a loop over all of them.
fn refine_periods(
    period: i64,
    (source, from): (&Side, (Tree, Tree)),
    (destination, to): (&Side, (Tree, Tree)),
    length: i64,
    pieces: &mut Vec<MoveBox>,
) -> Result<(), TooManyPieces> {
    let side = |tree: &Tree, start: i64, base: i64| Side {
        tree: tree.clone(),
        start,
        base,
    };
    let mut done = 0;
    while done < period {
        // Up to where either side enters its next period.
        let (a, b) = (source.start + done, destination.start + done);
        let step = (period - a % period)
            .min(period - b % period)
            .min(period - done);
        let mut outer = Vec::new();
        refine(
            side(&from.0, a / period, source.base),
            side(&to.0, b / period, destination.base),
            length / period,
            &mut outer,
        )?;
        let mut inner = Vec::new();
        refine(
            side(&from.1, a % period, 0),
            side(&to.1, b % period, 0),
            step,
            &mut inner,
        )?;
        if pieces.len() + outer.len() * inner.len() > MAX_PIECES {
            return Err(TooManyPieces);
        }
        for outer in &outer {
            pieces.extend(inner.iter().map(|inner| outer.with(inner)));
        }
        done += step;
    }
    Ok(())
}

fn common_multiple(a: i64, b: i64) -> Option<i64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}
