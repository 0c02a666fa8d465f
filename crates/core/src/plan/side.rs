//! One side of a plan: where the elements of an array lie, in the plan's units.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};

use super::cut::Cut;
use super::digits::Digits;
use super::elements::PlanError;
use super::fills;
use super::general::Where;
use super::tree::{TooManyPieces, Tree};
use crate::address::{AddressMap, Part};
use crate::array::ArrayShape;
use crate::error::ShapeError;
use crate::layout::{Layout, PaddingValue};
use crate::view::{Place, StridedView};

/// One side of a plan.
pub(super) struct Side<'a> {
    pub sizes: SmallVec<[i64; 6]>,
    pub elements: i64,
    /// Elements that the buffer has room for; of a strided view, its elements.
    pub allocated: i64,
    pub buffer_bytes: i64,
    /// Position of the element of index 0, 0, .., in units.
    pub base: i64,
    ways: Ways,
    /// Units from one position of `ways` to the next.
    scale: i64,
    array: Option<&'a ArrayShape>,
}

/// How indices become positions.
#[expect(
    clippy::large_enum_variant,
    reason = "made in its place, and there are two at a time"
)]
enum Ways {
    /// Every dimension has a stride.
    Strides(SmallVec<[i64; 6]>),
    /// Every dimension has digits.
    Cut(Cut),
    Map(AddressMap),
}

/// Dimensions that one side combines into one index, major to minor. Each is whole and without
/// padding, so the combined index runs over all of `0..size`.
pub(super) type Combined = SmallVec<[usize; 4]>;

/// An index that a side can be followed by.
#[derive(Clone, Copy)]
pub(super) enum Index<'a> {
    Dimension(usize),
    Combined(&'a Combined),
}

impl<'a> Side<'a> {
    /// A side of nothing.
    pub fn empty() -> Side<'a> {
        Side {
            sizes: SmallVec::new(),
            elements: 0,
            allocated: 0,
            buffer_bytes: 0,
            base: 0,
            ways: Ways::Strides(SmallVec::new()),
            scale: 1,
            array: None,
        }
    }

    /// Makes an empty side one in units of so many bits, in its place, as it is large. Positions of a whole array are scaled by
    /// `units` an element.
    pub fn set(&mut self, place: Place<'a>, units: i64, unit_bits: i64) -> Result<(), PlanError> {
        match place {
            Place::Array(shape) => self.set_array(shape, units),
            Place::Strided(view) => {
                *self = Side::of_view(view, unit_bits);
                Ok(())
            }
        }
    }

    fn set_array(&mut self, shape: &'a ArrayShape, units: i64) -> Result<(), PlanError> {
        let layout = shape.require_layout()?;
        for (dimension, size) in shape.dimensions().iter().enumerate() {
            match size.bound() {
                Some(size) => self.sizes.push(size),
                None => return Err(ShapeError::Unbounded { dimension }.into()),
            }
        }
        self.elements = shape.elements().unwrap_or(0);
        self.allocated = self.set_ways(shape, layout)?;
        self.buffer_bytes = shape.bytes_of(self.allocated);
        (self.scale, self.array) = (units, Some(shape));
        Ok(())
    }

    /// Finds the ways of an array's indices; returns the elements that it allocates.
    fn set_ways(&mut self, shape: &ArrayShape, layout: &Layout) -> Result<i64, PlanError> {
        // Without tiles a dimension is one digit, and without padding nobody asks for more.
        let is_plain = layout.tiles().is_empty()
            && (layout.padded_dimensions().is_empty() || self.elements == 0)
            && layout.tail_padding_alignment() == 1;
        if is_plain && let Some((strides, allocated)) = strides(shape, layout) {
            self.ways = Ways::Strides(strides);
            return Ok(allocated);
        }
        self.ways = Ways::Cut(Cut::empty());
        if let Ways::Cut(cut) = &mut self.ways
            && cut.set(shape, layout).is_some()
            && let Some(allocated) = layout.align_tail(cut.expanded)
        {
            return Ok(allocated);
        }
        let map = AddressMap::new(shape)?;
        let allocated = map.allocated_elements();
        self.ways = Ways::Map(map);
        Ok(allocated)
    }

    fn of_view(view: &StridedView, unit_bits: i64) -> Self {
        // Units of what the view's strides count: elements where they are packed, else bytes.
        let unit = if view.packed_bits().is_some() {
            1
        } else {
            unit_bits / 8
        };
        Side {
            sizes: view.sizes().into(),
            elements: view.elements(),
            allocated: view.elements(),
            buffer_bytes: view.buffer_bytes(),
            // The unit was chosen to divide these.
            base: view.offset() / unit,
            ways: Ways::Strides(view.strides().iter().map(|s| s / unit).collect()),
            scale: 1,
            array: None,
        }
    }

    /// The whole array, where this side is one.
    pub fn array(&self) -> Option<&'a ArrayShape> {
        self.array
    }

    /// The address map of a whole array.
    pub fn map(&self) -> Option<Cow<'_, AddressMap>> {
        match &self.ways {
            Ways::Map(map) => Some(Cow::Borrowed(map)),
            Ways::Strides(_) | Ways::Cut(_) => {
                let map = AddressMap::new(self.array?).ok()?;
                Some(Cow::Owned(map))
            }
        }
    }

    /// Where the elements lie, for the general way.
    pub fn places(&self) -> Where {
        match self.map() {
            Some(map) => Where::Map {
                map: Box::new(map.into_owned()),
                units: self.scale,
            },
            None => Where::Strides {
                base: self.base,
                sizes: self.sizes.clone(),
                strides: match &self.ways {
                    Ways::Strides(strides) => strides.clone(),
                    Ways::Cut(_) | Ways::Map(_) => SmallVec::new(),
                },
            },
        }
    }

    /// Visits what a whole array with elements allocates and leaves empty.
    pub fn padding(&self, then: fills::Then<'_>) -> Result<(), TooManyPieces> {
        if let Ways::Cut(cut) = &self.ways {
            return fills::padding_of(cut, &self.sizes, self.allocated, then);
        }
        match self.map() {
            Some(map) => fills::padding(map.expansion(), &mut digit_indices(&map), then),
            None => Ok(()),
        }
    }

    /// Whether the buffer has room for more than the elements.
    pub fn has_padding(&self) -> bool {
        self.elements != self.allocated
    }

    /// Whether some dimension's index is split.
    pub fn is_tiled(&self) -> bool {
        match &self.ways {
            Ways::Strides(_) => false,
            Ways::Cut(cut) => cut.is_tiled,
            Ways::Map(map) => {
                let nodes = &map.expansion().nodes;
                nodes
                    .iter()
                    .any(|node| !matches!(node.part, Part::Digit { .. }))
            }
        }
    }

    /// What the padding holds, where the array has padding to write.
    pub fn padding_value(&self) -> PaddingValue {
        let Some(layout) = self.array.and_then(ArrayShape::layout) else {
            // Between the elements of a view lies what is not ours.
            return PaddingValue::Unknown;
        };
        layout.filler()
    }

    /// The most minor dimension of more than one element.
    pub fn minor_dimension(&self) -> Option<usize> {
        let wide = |&d: &usize| self.sizes[d] != 1;
        match (&self.ways, self.array.and_then(ArrayShape::layout)) {
            (_, Some(layout)) => layout.minor_to_major().iter().copied().find(wide),
            (Ways::Strides(strides), None) => (0..strides.len())
                .filter(wide)
                .min_by_key(|&d| strides[d].unsigned_abs()),
            (Ways::Cut(_) | Ways::Map(_), None) => None,
        }
    }

    /// What one more of an index adds to the position, where it is one dimension that no tile cuts.
    pub fn stride(&self, index: Index<'_>) -> Option<i64> {
        let Index::Dimension(dimension) = index else {
            return None;
        };
        let stride = match &self.ways {
            Ways::Strides(strides) => strides[dimension],
            Ways::Cut(cut) => cut.stride(dimension)?,
            Ways::Map(map) => match map.expansion().roots[dimension] {
                None => 0,
                Some(root) => match map.expansion().nodes[root].part {
                    Part::Digit { stride, .. } => stride,
                    _ => return None,
                },
            },
        };
        Some(stride * self.scale)
    }

    /// The digits of an index, where tiles divide one another and combine no dimensions.
    pub fn digits(&self, index: Index<'_>) -> Option<Digits> {
        if let Some(stride) = self.stride(index) {
            return Some(Digits::line(stride));
        }
        match (&self.ways, index) {
            (Ways::Cut(cut), Index::Dimension(dimension)) => {
                Some(cut.digits(dimension, self.scale))
            }
            _ => None,
        }
    }

    /// The way of an index, of combined ones whether this side combines the dimensions or not.
    pub fn tree(&self, index: Index<'_>) -> Result<Tree, TooManyPieces> {
        match index {
            Index::Dimension(dimension) => self.dimension_tree(dimension),
            Index::Combined(combined) => self.combined_tree(combined),
        }
    }

    /// The way of one dimension; an error where `*` combines it with others.
    fn dimension_tree(&self, dimension: usize) -> Result<Tree, TooManyPieces> {
        match &self.ways {
            Ways::Strides(strides) => Ok(Tree::Line(strides[dimension] * self.scale)),
            Ways::Cut(cut) => Ok(cut.tree(dimension, self.scale)),
            Ways::Map(map) => {
                let expansion = map.expansion();
                Tree::new(expansion, expansion.roots[dimension], self.scale).ok_or(TooManyPieces)
            }
        }
    }

    /// The combinations that the layout makes of whole dimensions. An error where it makes
    /// others: then dimensions are tied together in a way that boxes can't follow.
    pub fn combined(&self) -> Result<Vec<Combined>, TooManyPieces> {
        let Ways::Map(map) = &self.ways else {
            return Ok(Vec::new());
        };
        let expansion = map.expansion();
        let combined = |group: &crate::address::Group| {
            let dimensions = group.members.iter().map(|&(member, extent)| {
                let is_root = |&root: &Option<usize>| root == Some(member);
                let dimension = expansion.roots.iter().position(is_root);
                dimension
                    .filter(|&d| self.sizes[d] == extent)
                    .ok_or(TooManyPieces)
            });
            dimensions.collect()
        };
        expansion.groups.iter().map(combined).collect()
    }

    fn combined_tree(&self, combined: &Combined) -> Result<Tree, TooManyPieces> {
        if let Ways::Map(map) = &self.ways {
            let expansion = map.expansion();
            if let Some(root) = expansion.roots[combined[0]]
                && let Part::Joined { group, .. } = expansion.nodes[root].part
            {
                let root = expansion.groups[group].root;
                return Tree::new(expansion, Some(root), self.scale).ok_or(TooManyPieces);
            }
        }
        // This side has the dimensions apart: each is a part of the combined index.
        let (&last, before) = combined.split_last().ok_or(TooManyPieces)?;
        let mut below = self.dimension_tree(last)?;
        let mut size = self.sizes[last];
        for &dimension in before.iter().rev() {
            below = Tree::split(size, self.dimension_tree(dimension)?, below);
            size *= self.sizes[dimension];
        }
        Ok(below)
    }
}

/// The indices that cover all digits of an array, for its padding. Groups are of whole
/// dimensions: [`Side::combined`] found them so.
pub(super) fn digit_indices(map: &AddressMap) -> SmallVec<[fills::Index; 8]> {
    let expansion = map.expansion();
    let mut indices = SmallVec::new();
    for (root, &size) in expansion.roots.iter().zip(map.sizes()) {
        if let Some(node) = *root
            && !matches!(expansion.nodes[node].part, Part::Joined { .. })
        {
            indices.push(fills::Index { node, size });
        }
    }
    for group in &expansion.groups {
        let size = group.members.iter().map(|&(_, extent)| extent).product();
        indices.push(fills::Index {
            node: group.root,
            size,
        });
    }
    for &node in &expansion.extra {
        indices.push(fills::Index { node, size: 1 });
    }
    indices
}

/// The stride of each dimension in elements, from the padded sizes, and their product. `None`
/// where that is beyond 63 bits, which the shape's constructor allows only beside a size of 0.
fn strides(shape: &ArrayShape, layout: &Layout) -> Option<(SmallVec<[i64; 6]>, i64)> {
    let padded = shape.padded_sizes(layout);
    let mut strides: SmallVec<[i64; 6]> = smallvec![0; shape.rank()];
    let mut stride: i64 = 1;
    for &dimension in layout.minor_to_major() {
        strides[dimension] = stride;
        stride = stride.checked_mul(padded(dimension)?)?;
    }
    Some((strides, stride))
}
