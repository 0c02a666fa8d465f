//! The indices that two layouts can be compared by: dimensions, or dimensions combined by `*`.

use smallvec::SmallVec;

use super::fills::Index;
use super::tree::{TooManyPieces, Tree};
use crate::address::{AddressMap, Expansion, Part};

/// Dimensions that one side combines into one index, major to minor. Each is whole and without
/// padding, so the combined index runs over all of `0..size`.
struct Combined {
    dimensions: SmallVec<[usize; 4]>,
}

impl Combined {
    fn size(&self, sizes: &[i64]) -> i64 {
        self.dimensions.iter().map(|&d| sizes[d]).product()
    }
}

/// The combinations that a layout makes of whole dimensions. An error where it makes others:
/// then dimensions are tied together in a way that boxes can't follow.
fn combined(map: &AddressMap) -> Result<Vec<Combined>, TooManyPieces> {
    let expansion = map.expansion();
    expansion
        .groups
        .iter()
        .map(|group| {
            let dimensions = group.members.iter().map(|&(member, extent)| {
                let dimension = expansion
                    .roots
                    .iter()
                    .position(|&root| root == Some(member));
                dimension
                    .filter(|&d| map.sizes()[d] == extent)
                    .ok_or(TooManyPieces)
            });
            Ok(Combined {
                dimensions: dimensions.collect::<Result<_, _>>()?,
            })
        })
        .collect()
}

/// The combinations of both sides, each once. An error where two of them overlap.
fn all_combined(from: &AddressMap, to: &AddressMap) -> Result<Vec<Combined>, TooManyPieces> {
    if from.expansion().groups.is_empty() && to.expansion().groups.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = combined(from)?;
    for other in combined(to)? {
        let mut same = false;
        for known in &all {
            same |= known.dimensions == other.dimensions;
            let shares = other
                .dimensions
                .iter()
                .any(|d| known.dimensions.contains(d));
            if shares && !same {
                return Err(TooManyPieces);
            }
        }
        if !same {
            all.push(other);
        }
    }
    Ok(all)
}

/// The way of a combined index on one side.
fn combined_tree(map: &AddressMap, combined: &Combined, scale: i64) -> Result<Tree, TooManyPieces> {
    let expansion = map.expansion();
    let first = combined.dimensions[0];
    if let Some(root) = expansion.roots[first]
        && let Part::Joined { group, .. } = expansion.nodes[root].part
    {
        let root = expansion.groups[group].root;
        return Tree::new(expansion, Some(root), scale).ok_or(TooManyPieces);
    }
    // This side has the dimensions apart: each is a part of the combined index.
    let (&last, before) = combined.dimensions.split_last().ok_or(TooManyPieces)?;
    let tree = |d: usize| Tree::new(expansion, expansion.roots[d], scale).ok_or(TooManyPieces);
    let mut below = tree(last)?;
    let mut size = map.sizes()[last];
    for &dimension in before.iter().rev() {
        below = Tree::split(size, tree(dimension)?, below);
        size *= map.sizes()[dimension];
    }
    Ok(below)
}

/// Every index with its ways on both sides and its size.
pub(super) fn common(
    from: &AddressMap,
    to: &AddressMap,
    scales: (i64, i64),
) -> Result<Vec<(Tree, Tree, i64)>, TooManyPieces> {
    let groups = all_combined(from, to)?;
    let mut indices = Vec::with_capacity(from.sizes().len());
    for (dimension, &size) in from.sizes().iter().enumerate() {
        if size == 1 || groups.iter().any(|g| g.dimensions.contains(&dimension)) {
            continue;
        }
        let tree = |expansion: &Expansion, scale| {
            Tree::new(expansion, expansion.roots[dimension], scale).ok_or(TooManyPieces)
        };
        indices.push((
            tree(from.expansion(), scales.0)?,
            tree(to.expansion(), scales.1)?,
            size,
        ));
    }
    for group in &groups {
        indices.push((
            combined_tree(from, group, scales.0)?,
            combined_tree(to, group, scales.1)?,
            group.size(from.sizes()),
        ));
    }
    Ok(indices)
}

/// The indices of the destination alone, for its padding: they cover all its digits.
pub(super) fn of_destination(
    from: &AddressMap,
    to: &AddressMap,
) -> Result<SmallVec<[Index; 8]>, TooManyPieces> {
    let expansion = to.expansion();
    // Checks that every group is of whole dimensions; the boxes did so already.
    all_combined(from, to)?;
    let mut indices = SmallVec::new();
    for (root, &size) in expansion.roots.iter().zip(to.sizes()) {
        if let Some(node) = *root
            && !matches!(expansion.nodes[node].part, Part::Joined { .. })
        {
            indices.push(Index { node, size });
        }
    }
    for group in &expansion.groups {
        let size = group.members.iter().map(|&(_, extent)| extent).product();
        indices.push(Index {
            node: group.root,
            size,
        });
    }
    for &node in &expansion.extra {
        indices.push(Index { node, size: 1 });
    }
    Ok(indices)
}
