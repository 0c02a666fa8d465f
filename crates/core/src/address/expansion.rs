//! A layout as digits: every dimension's index split by tiles, every last part with a stride.

use smallvec::{SmallVec, smallvec};

use crate::array::ArrayShape;
use crate::layout::{Layout, TileDimension};

/// A node's place in [`Expansion::nodes`].
pub(crate) type NodeId = usize;

/// One index or part of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Values that occur: `0..bound`. What is laid out beyond them is padding.
    pub bound: i64,
    pub part: Part,
}

/// What becomes of a node's value `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A digit: adds `i * stride` to the position. Memory has room for `extent` values.
    Digit { extent: i64, stride: i64 },
    /// `i / tile` goes to `high`, `i % tile` to `low`.
    Split {
        tile: i64,
        high: NodeId,
        low: NodeId,
    },
    /// Adds `i * place` to the index of a combined dimension.
    Joined { group: usize, place: i64 },
}

/// Several parts combined into one index by `*` in a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// What becomes of the combined index.
    pub root: NodeId,
    /// The parts and their extents, major to minor.
    pub members: SmallVec<[(NodeId, i64); 4]>,
}

/// The digits of a layout.
///
/// Parts of extent 1 have no node, and each split has at least two values on its high side.
/// With allocated elements below 2^63 a layout therefore has at most 63 digits, and recursion
/// over nodes is at most 63 deep, however many tiles the text has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expansion {
    pub nodes: SmallVec<[Node; 12]>,
    /// Of each logical dimension; `None` where its index is always 0 in memory.
    pub roots: SmallVec<[Option<NodeId>; 6]>,
    /// Digits that belong to no dimension, since a tile has more dimensions than the array.
    pub extra: SmallVec<[NodeId; 2]>,
    /// In the order in which they were made: members of one lie in dimensions or earlier groups.
    pub groups: Vec<Group>,
    /// The digits, major to minor.
    pub digits: SmallVec<[NodeId; 8]>,
    /// Product of the digits' extents: elements before the tail alignment.
    pub expanded: i64,
    /// Elements after the tail alignment; `None` where it is beyond 63 bits.
    pub allocated: Option<i64>,
}

/// One physical dimension while tiles are being applied.
#[derive(Clone, Copy)]
struct Slot {
    extent: i64,
    /// `None` exactly where the extent is 1.
    node: Option<NodeId>,
}

const UNIT: Slot = Slot {
    extent: 1,
    node: None,
};

impl Expansion {
    /// The digits of `shape` in `layout`, which has its rank. `None` where the product of the
    /// extents is beyond 63 bits. All dimensions are bounded.
    pub fn new(shape: &ArrayShape, layout: &Layout) -> Option<Box<Expansion>> {
        let padded = shape.padded_sizes(layout);
        // In its place, as it is large.
        let mut expansion = Box::write(
            Box::new_uninit(),
            Expansion {
                nodes: SmallVec::new(),
                roots: smallvec![None; shape.rank()],
                extra: SmallVec::new(),
                groups: Vec::new(),
                digits: SmallVec::new(),
                expanded: 0,
                allocated: Some(0),
            },
        );
        if (0..shape.rank()).any(|dimension| padded(dimension) == Some(0)) {
            return Some(expansion);
        }
        let mut slots: SmallVec<[Slot; 16]> = SmallVec::new();
        let mut product: i64 = 1;
        for &dimension in layout.minor_to_major().iter().rev() {
            let extent = padded(dimension)?;
            product = product.checked_mul(extent)?;
            let node = (extent > 1).then(|| {
                expansion.digit(
                    extent,
                    shape.dimensions()[dimension].bound().unwrap_or(extent),
                )
            });
            expansion.roots[dimension] = node;
            slots.push(Slot { extent, node });
        }
        for tile in layout.tiles() {
            product = expansion.apply_tile(tile.dimensions(), &mut slots, product)?;
        }
        expansion.expanded = product;
        expansion.allocated = layout.align_tail(product);
        let mut stride = 1;
        for slot in slots.iter().rev() {
            if let Some(node) = slot.node {
                expansion.nodes[node].part = Part::Digit {
                    extent: slot.extent,
                    stride,
                };
                expansion.digits.push(node);
                // At most the product, which fits.
                stride *= slot.extent;
            }
        }
        expansion.digits.reverse();
        Some(expansion)
    }

    /// What one more of a node's value adds to the position, where that is the same for all its
    /// values.
    pub fn linear_stride(&self, node: NodeId) -> Option<i64> {
        match self.nodes[node].part {
            Part::Digit { stride, .. } => Some(stride),
            Part::Split { tile, high, low } => {
                let low = self.linear_stride(low)?;
                // Padding alone can make a tile more than there are values.
                let one_tile = self.nodes[high].bound <= 1;
                (one_tile || self.linear_stride(high)? == low.checked_mul(tile)?).then_some(low)
            }
            Part::Joined { group, place } => {
                // Products of parts of the allocation, which fits.
                Some(self.linear_stride(self.groups[group].root)? * place)
            }
        }
    }

    fn digit(&mut self, extent: i64, bound: i64) -> NodeId {
        self.nodes.push(Node {
            bound,
            part: Part::Digit { extent, stride: 0 },
        });
        self.nodes.len() - 1
    }

    /// Cuts the most minor slots by one tile; returns the new product of all extents.
    fn apply_tile(
        &mut self,
        tile: &[TileDimension],
        slots: &mut SmallVec<[Slot; 16]>,
        product: i64,
    ) -> Option<i64> {
        if tile.len() > slots.len() {
            slots.insert_many(0, std::iter::repeat_n(UNIT, tile.len() - slots.len()));
        }
        let first = slots.len() - tile.len();
        let mut lows: SmallVec<[Slot; 8]> = SmallVec::new();
        let mut before = 1;
        // High parts take the places of slots that were cut; those from `waiting` on are yet to be combined.
        let (mut highs, mut waiting) = (first, first);
        for (place, &dimension) in (first..).zip(tile) {
            before *= slots[place].extent;
            let size = match dimension {
                TileDimension::Size(size) => size,
                TileDimension::Combine if place + 1 < slots.len() => continue,
                // Nothing more minor follows: as if a dimension of size 1 in a tile of 1 did.
                TileDimension::Combine => 1,
            };
            let joined = self.join(&slots[waiting..=place]);
            waiting = place + 1;
            let (high, low) = self.split(joined, size);
            slots[highs] = high;
            highs += 1;
            lows.push(low);
        }
        slots.truncate(highs);
        for &low in &lows {
            slots.push(low);
        }
        let mut product = product / before;
        for slot in &slots[first..] {
            product = product.checked_mul(slot.extent)?;
        }
        Some(product)
    }

    /// One slot for the combined index of several, given major to minor.
    fn join(&mut self, slots: &[Slot]) -> Slot {
        if let [slot] = slots {
            return *slot;
        }
        let members: SmallVec<[(NodeId, i64); 4]> = slots
            .iter()
            .filter_map(|slot| slot.node.map(|node| (node, slot.extent)))
            .collect();
        match members[..] {
            [] => UNIT,
            [(node, extent)] => Slot {
                extent,
                node: Some(node),
            },
            _ => {
                let group = self.groups.len();
                let mut place = 1;
                for &(node, extent) in members.iter().rev() {
                    self.nodes[node].part = Part::Joined { group, place };
                    place *= extent;
                }
                let root = self.digit(place, place);
                self.groups.push(Group { root, members });
                Slot {
                    extent: place,
                    node: Some(root),
                }
            }
        }
    }

    fn split(&mut self, slot: Slot, tile: i64) -> (Slot, Slot) {
        if tile == 1 {
            return (slot, UNIT);
        }
        let Some(node) = slot.node else {
            let node = self.digit(tile, 1);
            self.extra.push(node);
            return (
                UNIT,
                Slot {
                    extent: tile,
                    node: Some(node),
                },
            );
        };
        if slot.extent <= tile {
            // One tile holds all: the digit stays, with room for the whole tile.
            return (
                UNIT,
                Slot {
                    extent: tile,
                    node: Some(node),
                },
            );
        }
        let bound = self.nodes[node].bound;
        let tiles = div_ceil(slot.extent, tile);
        let high = self.digit(tiles, div_ceil(bound, tile));
        let low = self.digit(tile, tile);
        self.nodes[node].part = Part::Split { tile, high, low };
        (
            Slot {
                extent: tiles,
                node: Some(high),
            },
            Slot {
                extent: tile,
                node: Some(low),
            },
        )
    }
}

/// The greatest common divisor of two numbers that are not negative.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Division rounded up, of a number that is not negative by one that is positive.
pub(crate) fn div_ceil(value: i64, divisor: i64) -> i64 {
    value / divisor + i64::from(value % divisor != 0)
}
