//! The padding of a destination, as boxes to fill.
//!
//! A region is put together step by step, from what is empty of one index to where the others may be. Every step says
//! what it adds to the region and goes on with the next one, so nothing is listed or copied on the way.

use smallvec::SmallVec;

use super::digits::Digits;
use super::nest::FillLoop;
use super::tree::{TooManyPieces, Tree, common_pieces};
use crate::address::{Expansion, NodeId, Part};

/// Positions in loops over a destination, in elements.
#[derive(Default)]
pub(super) struct Region {
    pub base: i64,
    pub loops: SmallVec<[FillLoop; 8]>,
}

/// An index of the destination: a dimension, a combined dimension, or a digit of its own.
#[derive(Clone, Copy)]
pub(super) struct Index {
    pub node: NodeId,
    /// Values that occur: `0..size`.
    pub size: i64,
}

/// What becomes of a region, or of one that is not complete yet.
type Then<'a> = &'a mut dyn FnMut(&mut Region) -> Result<(), TooManyPieces>;

/// What an array with these indices allocates and leaves empty, the tail alignment included.
///
/// From the most minor index to the most major: where this index is padding, the more major
/// ones are those of elements, and the more minor ones anything. So the regions are as long as
/// they can be, and no position is in two of them.
pub(super) fn padding(
    expansion: &Expansion,
    indices: &mut [Index],
    then: Then<'_>,
) -> Result<(), TooManyPieces> {
    indices.sort_by_key(|index| least_stride(expansion, index.node));
    let mut region = Region::default();
    for (at, index) in indices.iter().enumerate() {
        let (minor, major) = (&indices[..at], &indices[at + 1..]);
        gaps(expansion, index.node, index.size, &mut region, &mut |gap| {
            let nodes = minor.iter().map(|index| index.node);
            gap.over_all(expansion, nodes, &mut |gap| {
                images(expansion, major, gap, then)
            })
        })?;
    }
    match expansion.allocated {
        Some(allocated) if allocated > expansion.expanded => {
            let tail = allocated - expansion.expanded;
            region.over(expansion.expanded, [run(tail)], then)
        }
        _ => Ok(()),
    }
}

/// Everything that is allocated.
pub(super) fn everything(allocated: i64, then: Then<'_>) -> Result<(), TooManyPieces> {
    match allocated {
        0 => Ok(()),
        _ => Region::default().over(0, [run(allocated)], then),
    }
}

/// Positions side by side.
fn run(extent: i64) -> FillLoop {
    FillLoop {
        extent,
        destination: 1,
    }
}

impl Region {
    /// This region over some loops more, from another start on.
    fn over(
        &mut self,
        start: i64,
        loops: impl IntoIterator<Item = FillLoop>,
        then: Then<'_>,
    ) -> Result<(), TooManyPieces> {
        let outer = self.loops.len();
        self.base += start;
        loops.into_iter().for_each(|l| self.loops.push(l));
        then(self)?;
        self.loops.truncate(outer);
        self.base -= start;
        Ok(())
    }

    /// This region over all that some nodes allocate.
    fn over_all(
        &mut self,
        expansion: &Expansion,
        nodes: impl Iterator<Item = NodeId>,
        then: Then<'_>,
    ) -> Result<(), TooManyPieces> {
        let outer = self.loops.len();
        nodes.for_each(|node| self.add_all(expansion, node));
        then(self)?;
        self.loops.truncate(outer);
        Ok(())
    }

    fn add_all(&mut self, expansion: &Expansion, node: NodeId) {
        match expansion.nodes[node].part {
            Part::Digit { extent, stride } => self.loops.push(FillLoop {
                extent,
                destination: stride,
            }),
            Part::Split { high, low, .. } => {
                self.add_all(expansion, high);
                self.add_all(expansion, low);
            }
            Part::Joined { .. } => {}
        }
    }
}

fn least_stride(expansion: &Expansion, node: NodeId) -> i64 {
    match expansion.nodes[node].part {
        Part::Digit { stride, .. } => stride,
        Part::Split { high, low, .. } => {
            least_stride(expansion, high).min(least_stride(expansion, low))
        }
        Part::Joined { .. } => i64::MAX,
    }
}

/// A region at the positions of all values of some indices.
fn images(
    expansion: &Expansion,
    indices: &[Index],
    region: &mut Region,
    then: Then<'_>,
) -> Result<(), TooManyPieces> {
    let Some((first, others)) = indices.split_first() else {
        return then(region);
    };
    let values = (0, first.size);
    image(expansion, first.node, values, region, &mut |region| {
        images(expansion, others, region, then)
    })
}

/// A region at the positions of so many values of a node: of the first ones, or of one from `start` on.
fn image(
    expansion: &Expansion,
    node: NodeId,
    (start, length): (i64, i64),
    region: &mut Region,
    then: Then<'_>,
) -> Result<(), TooManyPieces> {
    if let Part::Digit { stride, .. } = expansion.nodes[node].part {
        let values = FillLoop {
            extent: length,
            destination: stride,
        };
        return region.over(start * stride, [values], then);
    }
    let tree = || Tree::new(expansion, Some(node), 1).ok_or(TooManyPieces);
    if length == 1 {
        return region.over(tree()?.position(start), [], then);
    }
    let along = |l: super::Loop| FillLoop {
        extent: l.extent,
        destination: l.destination,
    };
    let digits = Digits::new(expansion, Some(node), 1);
    if let Some(digits) = digits.and_then(|digits| Digits::line(0).common(&digits, length)) {
        let mut pieces = digits.pieces(length);
        return pieces
            .try_for_each(|piece| region.over(piece.start.1, piece.loops().map(along), then));
    }
    for piece in common_pieces(&Tree::Line(0), &tree()?, length)? {
        region.over(
            piece.destination,
            piece.loops.iter().copied().map(along),
            then,
        )?;
    }
    Ok(())
}

/// A region at what a node allocates beside the positions of the values `0..used`.
fn gaps(
    expansion: &Expansion,
    node: NodeId,
    used: i64,
    region: &mut Region,
    then: Then<'_>,
) -> Result<(), TooManyPieces> {
    match expansion.nodes[node].part {
        Part::Digit { extent, .. } if used == extent => Ok(()),
        Part::Digit { extent, stride } => {
            let rest = FillLoop {
                extent: extent - used,
                destination: stride,
            };
            region.over(used * stride, [rest], then)
        }
        Part::Split { tile, high, low } => {
            let (whole, ragged) = (used / tile, used % tile);
            // Tiles that no value reaches, whole.
            let reached = whole + i64::from(ragged > 0);
            gaps(expansion, high, reached, region, &mut |gap| {
                gap.over_all(expansion, std::iter::once(low), then)
            })?;
            // The rest of the tile that is used in part.
            if ragged > 0 {
                gaps(expansion, low, ragged, region, &mut |gap| {
                    image(expansion, high, (whole, 1), gap, then)
                })?;
            }
            // What full tiles leave empty, cut by later tiles that do not divide them.
            if whole > 0 {
                gaps(expansion, low, tile, region, &mut |gap| {
                    image(expansion, high, (0, whole), gap, then)
                })?;
            }
            Ok(())
        }
        Part::Joined { .. } => Err(TooManyPieces),
    }
}
