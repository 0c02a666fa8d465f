//! The padding of a destination, as boxes to fill.

use smallvec::{SmallVec, smallvec};

use super::nest::FillLoop;
use super::tree::{TooManyPieces, Tree, common_pieces};
use crate::address::{Expansion, NodeId, Part};

/// Positions in loops over a destination, in elements.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub base: i64,
    pub loops: SmallVec<[FillLoop; 4]>,
}

/// Regions that have no position in common: of a ragged tile one or two.
pub(super) type Regions = SmallVec<[Region; 2]>;

/// An index of the destination: a dimension, a combined dimension, or a digit of its own.
#[derive(Clone, Copy)]
pub(super) struct Index {
    pub node: NodeId,
    /// Values that occur: `0..size`.
    pub size: i64,
}

/// Most regions that a plan may have.
const MAX_REGIONS: usize = 1 << 16;

/// What an array with these indices allocates and leaves empty, the tail alignment included.
///
/// From the most minor index to the most major: where this index is padding, the more major
/// ones are those of elements, and the more minor ones anything. So the regions are as long as
/// they can be, and no position is in two of them.
pub(super) fn padding(expansion: &Expansion, indices: &[Index]) -> Result<Regions, TooManyPieces> {
    let mut indices: SmallVec<[Index; 8]> = indices.into();
    indices.sort_by_key(|index| least_stride(expansion, index.node));
    let mut regions = Regions::new();
    for (at, index) in indices.iter().enumerate() {
        let mut found = gaps(expansion, index.node, index.size)?;
        for minor in &indices[..at] {
            found
                .iter_mut()
                .for_each(|gap| all(expansion, minor.node, gap));
        }
        for major in &indices[at + 1..] {
            if found.is_empty() {
                break;
            }
            let used = image(expansion, major.node, 0, major.size)?;
            found = product(found, &used)?;
        }
        regions.append(&mut found);
        if regions.len() > MAX_REGIONS {
            return Err(TooManyPieces);
        }
    }
    if let Some(tail) = expansion
        .allocated
        .map(|allocated| allocated - expansion.expanded)
        && tail > 0
    {
        regions.push(Region {
            base: expansion.expanded,
            loops: SmallVec::from_slice(&[FillLoop {
                extent: tail,
                destination: 1,
            }]),
        });
    }
    Ok(regions)
}

/// Everything that is allocated.
pub(super) fn everything(allocated: i64) -> Regions {
    let whole = Region {
        base: 0,
        loops: SmallVec::from_slice(&[FillLoop {
            extent: allocated,
            destination: 1,
        }]),
    };
    (allocated > 0).then_some(whole).into_iter().collect()
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

/// Adds to a region loops over all that a node allocates.
fn all(expansion: &Expansion, node: NodeId, region: &mut Region) {
    match expansion.nodes[node].part {
        Part::Digit { extent, stride } => region.loops.push(FillLoop {
            extent,
            destination: stride,
        }),
        Part::Split { high, low, .. } => {
            all(expansion, high, region);
            all(expansion, low, region);
        }
        Part::Joined { .. } => {}
    }
}

/// The positions of the values `start..start + length` of a node.
fn image(
    expansion: &Expansion,
    node: NodeId,
    start: i64,
    length: i64,
) -> Result<Regions, TooManyPieces> {
    let Some(tree) = Tree::new(expansion, Some(node), 1) else {
        return Err(TooManyPieces);
    };
    if length == 1 {
        return Ok(smallvec![Region {
            base: tree.position(start),
            loops: SmallVec::new(),
        }]);
    }
    let pieces = common_pieces(&Tree::Line(0), &tree, length)?;
    let region = |piece: super::MoveBox| Region {
        base: piece.destination,
        loops: piece
            .loops
            .iter()
            .map(|l| FillLoop {
                extent: l.extent,
                destination: l.destination,
            })
            .collect(),
    };
    Ok(pieces.into_iter().map(region).collect())
}

/// What a node allocates beside the positions of the values `0..used`.
fn gaps(expansion: &Expansion, node: NodeId, used: i64) -> Result<Regions, TooManyPieces> {
    Ok(match expansion.nodes[node].part {
        Part::Digit { extent, .. } if used == extent => Regions::new(),
        Part::Digit { extent, stride } => smallvec![Region {
            base: used * stride,
            loops: SmallVec::from_slice(&[FillLoop {
                extent: extent - used,
                destination: stride,
            }]),
        }],
        Part::Split { tile, high, low } => {
            let (whole, ragged) = (used / tile, used % tile);
            // Tiles that no value reaches, whole.
            let mut regions = gaps(expansion, high, whole + i64::from(ragged > 0))?;
            regions.iter_mut().for_each(|gap| all(expansion, low, gap));
            // The rest of the tile that is used in part.
            if ragged > 0 {
                let rest = gaps(expansion, low, ragged)?;
                regions.extend(product(rest, &image(expansion, high, whole, 1)?)?);
            }
            // What full tiles leave empty, cut by later tiles that do not divide them.
            if whole > 0 {
                let holes = gaps(expansion, low, tile)?;
                if !holes.is_empty() {
                    regions.extend(product(holes, &image(expansion, high, 0, whole)?)?);
                }
            }
            regions
        }
        Part::Joined { .. } => return Err(TooManyPieces),
    })
}

/// Every region of one list at every place of another.
fn product(mut regions: Regions, places: &[Region]) -> Result<Regions, TooManyPieces> {
    if regions.len() * places.len() > MAX_REGIONS {
        return Err(TooManyPieces);
    }
    let put = |region: &mut Region, place: &Region| {
        region.base += place.base;
        region.loops.extend_from_slice(&place.loops);
    };
    if let [place] = places {
        // Mostly there is one, and nothing to copy.
        regions.iter_mut().for_each(|region| put(region, place));
        return Ok(regions);
    }
    let mut products = Regions::with_capacity(regions.len() * places.len());
    for region in &regions {
        for place in places {
            let mut region = region.clone();
            put(&mut region, place);
            products.push(region);
        }
    }
    Ok(products)
}
