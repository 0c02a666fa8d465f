//! What lies between two layouts: dimensions that change their extents, and their order.
//!
//! A layout is made from the dense array by steps that each look at memory as a dense array of
//! bytes: extents grow (padding, whole tiles), and dimensions change places (the order, the two
//! parts that a tile makes of a dimension). Backwards, the same steps lead to the dense array. So
//! a way from one layout to another is the one's steps backwards and the other's forwards.

use smallvec::SmallVec;

use super::extents::Extents;
use super::resize::Resize;
use super::transpose::{Order, Transpose};
use crate::array::ArrayShape;
use crate::error::ShapeError;
use crate::layout::{Layout, TileDimension};

/// One step of memory that is read as a dense array of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Resize(Resize),
    Transpose(Transpose),
}

/// The changes that lead from one layout of an array to another, in their simplest form; `None`
/// where packed elements would not be moved by whole bytes. There is at least one element.
pub(super) fn between(
    source: &ArrayShape,
    destination: &ArrayShape,
) -> Result<Option<Vec<Change>>, ShapeError> {
    let bits = source.element_bits();
    if bits.min(destination.element_bits()) >= 8 {
        let width = i64::from(source.element_type().byte_width());
        return changes(source, destination, 8, width).map(Some);
    }
    if bits != destination.element_bits() {
        return Ok(None);
    }
    let changes = changes(source, destination, 1, bits)?.into_iter();
    Ok(changes.map(Change::in_bytes).collect())
}

/// The changes, counting units of so many bits, where an element has at least `width` of them.
fn changes(
    source: &ArrayShape,
    destination: &ArrayShape,
    unit: i64,
    width: i64,
) -> Result<Vec<Change>, ShapeError> {
    let (from, to) = (Steps::new(source, unit)?, Steps::new(destination, unit)?);
    // Between the two lies the dense array, or more of it where both pad a dimension.
    let common = |d: usize| from.first[d].min(to.first[d]).max(from.sizes[d]);
    let dense = |steps: &Steps| -> Extents {
        let sizes = steps.order.iter().map(|&d| common(d));
        sizes
            .chain([from.stored.min(to.stored).max(width)])
            .collect()
    };
    let (backward, forward) = (from.changes(&dense(&from)), to.changes(&dense(&to)));
    // What both do first, from the same dense array, they share.
    let same = from.order == to.order && dense(&from) == dense(&to);
    let shared = std::iter::zip(&backward, &forward)
        .take_while(|(a, b)| same && a == b)
        .count();
    let mut changes: Vec<Change> = backward[shared..]
        .iter()
        .rev()
        .map(Change::reversed)
        .collect();
    let place = |d: &usize| from.order.iter().position(|other| other == d).unwrap_or(0);
    let mut order: Order = to.order.iter().map(place).collect();
    order.push(order.len());
    changes.push(Change::Transpose(Transpose {
        extents: dense(&from),
        order,
    }));
    changes.extend_from_slice(&forward[shared..]);
    Ok(simplest(changes))
}

/// The parts of a layout that its steps are made from.
struct Steps<'a> {
    layout: &'a Layout,
    /// Physical dimensions, major to minor.
    order: SmallVec<[usize; 6]>,
    sizes: Vec<i64>,
    /// Sizes with padding and, where the first tile cuts a dimension of its own, to whole tiles.
    first: SmallVec<[i64; 6]>,
    /// Units of an element in memory.
    stored: i64,
}

impl<'a> Steps<'a> {
    /// The parts that count units of so many bits.
    fn new(shape: &'a ArrayShape, unit: i64) -> Result<Self, ShapeError> {
        let layout = shape.require_layout()?;
        let sizes = shape.sizes()?;
        let order: SmallVec<[usize; 6]> = layout.minor_to_major().iter().rev().copied().collect();
        let padded = shape.padded_sizes(layout);
        let mut first: SmallVec<[i64; 6]> =
            (0..sizes.len()).map(|d| padded(d).unwrap_or(0)).collect();
        if let Some(tile) = layout.tiles().first() {
            let tile = tile.dimensions();
            for (place, dimension) in tile.iter().rev().enumerate() {
                // A dimension that is combined with others has no tiles of its own.
                let (&TileDimension::Size(size), Some(at)) =
                    (dimension, order.len().checked_sub(place + 1))
                else {
                    break;
                };
                let before = tile.len().checked_sub(place + 2).map(|at| tile[at]);
                if before == Some(TileDimension::Combine) {
                    break;
                }
                first[order[at]] = whole(first[order[at]], size);
            }
        }
        Ok(Steps {
            layout,
            order,
            sizes,
            first,
            stored: shape.element_bits() / unit,
        })
    }

    /// The changes from the dense array, whose extents are given in this layout's order.
    fn changes(&self, dense: &Extents) -> Vec<Change> {
        let mut dimensions: Extents = self.order.iter().map(|&d| self.first[d]).collect();
        let with =
            |extents: &[i64]| -> Extents { extents.iter().copied().chain([self.stored]).collect() };
        let mut changes = vec![Change::Resize(Resize {
            from: dense.clone(),
            to: with(&dimensions),
        })];
        for tile in self.layout.tiles() {
            let tile = tile.dimensions();
            if tile.len() > dimensions.len() {
                dimensions.insert_many(0, std::iter::repeat_n(1, tile.len() - dimensions.len()));
            }
            let outer = dimensions.len() - tile.len();
            let cut = Extents::from_slice(&dimensions[outer..]);
            dimensions.truncate(outer);
            let (mut before, mut after) = (dimensions.clone(), dimensions.clone());
            let (mut highs, mut lows) = (Extents::new(), Extents::new());
            let mut combined = 1;
            for (place, (&extent, &dimension)) in cut.iter().zip(tile).enumerate() {
                // At most the allocated elements, which fit.
                combined *= extent;
                let size = match dimension {
                    TileDimension::Size(size) => size,
                    TileDimension::Combine if place + 1 < tile.len() => continue,
                    TileDimension::Combine => 1,
                };
                before.push(combined);
                after.push(whole(combined, size));
                highs.push(whole(combined, size) / size);
                lows.push(size);
                combined = 1;
            }
            changes.push(Change::Resize(Resize {
                from: with(&before),
                to: with(&after),
            }));

            let mut order: Order = (0..outer).collect();
            order.extend((0..highs.len()).map(|d| outer + 2 * d));
            order.extend((0..highs.len()).map(|d| outer + 2 * d + 1));
            order.push(order.len());
            let mut split = dimensions.clone();
            for (&high, &low) in highs.iter().zip(&lows) {
                split.extend_from_slice(&[high, low]);
            }
            changes.push(Change::Transpose(Transpose {
                extents: with(&split),
                order,
            }));
            dimensions.extend(highs);
            dimensions.extend(lows);
        }
        changes
    }
}

/// The next multiple of a tile.
fn whole(extent: i64, tile: i64) -> i64 {
    // Allocated elements are counted in whole tiles, and fit.
    (extent + tile - 1) / tile * tile
}

impl Change {
    fn reversed(&self) -> Change {
        match self {
            Change::Resize(resize) => Change::Resize(resize.reversed()),
            Change::Transpose(transpose) => Change::Transpose(transpose.reversed()),
        }
    }

    /// This change, which counts bits, counting bytes; `None` where it would cut some.
    fn in_bytes(mut self) -> Option<Change> {
        let (one, other) = match &mut self {
            Change::Resize(resize) => (resize.from.last_mut(), resize.to.last_mut()),
            Change::Transpose(transpose) => {
                let is_last = |&last: &usize| last + 1 == transpose.extents.len();
                transpose.order.last().copied().filter(is_last)?;
                (transpose.extents.last_mut(), None)
            }
        };
        for extent in one.into_iter().chain(other) {
            (*extent % 8 == 0).then(|| *extent /= 8)?;
        }
        Some(self)
    }

    fn canonical(&self) -> Option<Change> {
        match self {
            Change::Resize(resize) => resize.canonical().map(Change::Resize),
            Change::Transpose(transpose) => transpose.canonical().map(Change::Transpose),
        }
    }

    /// This change and the next as one, if they are one.
    fn then(&self, next: &Change) -> Option<Change> {
        match (self, next) {
            (Change::Resize(first), Change::Resize(next)) => first.then(next).map(Change::Resize),
            (Change::Transpose(first), Change::Transpose(next)) => {
                first.then(next).map(Change::Transpose)
            }
            _ => None,
        }
    }
}

/// The same way with as few changes as possible, each canonical, and no resize that both
/// shrinks and grows.
pub(super) fn simplest(mut changes: Vec<Change>) -> Vec<Change> {
    loop {
        changes = changes.iter().filter_map(Change::canonical).collect();
        let joined =
            (1..changes.len()).find_map(|at| Some((at, changes[at - 1].then(&changes[at])?)));
        let Some((at, joined)) = joined else {
            break;
        };
        changes[at - 1] = joined;
        changes.remove(at);
    }
    let mut simple = Vec::with_capacity(changes.len());
    for change in changes {
        match change {
            Change::Resize(resize) => simple.extend(resize.parts().map(Change::Resize)),
            Change::Transpose(_) => simple.push(change),
        }
    }
    simple
}
