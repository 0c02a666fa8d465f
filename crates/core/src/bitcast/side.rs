//! One side of a bitcast: where the elements of an array lie, in bits.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};

use super::correspondence::{Correspondence, Dims, End, Segment};
use super::path::Path;
use crate::address::{AddressMap, NodeId};
use crate::array::ArrayShape;
use crate::error::ShapeError;
use crate::layout::{Layout, PaddingValue};
use crate::plan::tree::Tree;

/// One side of a bitcast.
pub(super) struct Side<'a> {
    pub shape: &'a ArrayShape,
    pub map: AddressMap,
    /// Bits from one position to the next.
    pub bits: i64,
    /// Bytes of the whole buffer.
    pub bytes: i64,
    /// Of each dimension.
    ways: SmallVec<[Way; 6]>,
    /// Dimensions that `*` combines into one index.
    joints: Vec<Joint>,
}

/// How the index of a dimension becomes a position.
#[derive(Clone, Debug)]
enum Way {
    /// On its own.
    Apart(Tree),
    /// Combined with others.
    Joint(usize),
    /// Combined in part, or with padding between: it can be asked, but not followed.
    Tied,
}

/// Whole dimensions, major to minor, whose combined index has a way.
#[derive(Clone, Debug)]
struct Joint {
    dimensions: Dims,
    tree: Tree,
}

impl<'a> Side<'a> {
    pub fn new(shape: &'a ArrayShape) -> Result<Side<'a>, ShapeError> {
        let map = AddressMap::new(shape)?;
        let bits = shape.element_bits();
        let mut side = Side {
            shape,
            bits,
            // Fits: the shape's constructor checked it.
            bytes: ((i128::from(map.allocated_elements()) * i128::from(bits) + 7) / 8) as i64,
            ways: SmallVec::new(),
            joints: Vec::new(),
            map,
        };
        if side.map.elements() > 0 {
            side.find_ways();
        }
        Ok(side)
    }

    fn find_ways(&mut self) {
        let expansion = self.map.expansion();
        let tree = |node| Tree::new(expansion, node, self.bits);
        let apart = |root: &Option<NodeId>| tree(*root).map_or(Way::Tied, Way::Apart);
        let mut ways: SmallVec<[Way; 6]> = expansion.roots.iter().map(apart).collect();
        let mut joints = Vec::new();
        for group in &expansion.groups {
            let members: Option<Dims> = group.members.iter().map(|&m| self.whole(m)).collect();
            let (Some(members), Some(tree)) = (members, tree(Some(group.root))) else {
                continue;
            };
            for joint in self.apart(members, tree) {
                let place = joints.len();
                match joint.dimensions[..] {
                    [dimension] => ways[dimension] = Way::Apart(joint.tree),
                    _ => {
                        for &dimension in &joint.dimensions {
                            ways[dimension] = Way::Joint(place);
                        }
                        joints.push(joint);
                    }
                }
            }
        }
        self.ways = ways;
        self.joints = joints;
    }

    /// The dimension that this member of a combined index is, whole and without padding.
    fn whole(&self, (member, extent): (NodeId, i64)) -> Option<usize> {
        let expansion = self.map.expansion();
        let is_root = |&root: &Option<NodeId>| root == Some(member);
        let dimension = expansion.roots.iter().position(is_root)?;
        (self.map.sizes()[dimension] == extent).then_some(dimension)
    }

    /// A combined index taken apart again where no tile crosses from one dimension to the next.
    fn apart(&self, members: Dims, mut tree: Tree) -> Vec<Joint> {
        let mut joints = Vec::new();
        let mut run = Dims::new();
        let mut size = 1;
        for (place, &dimension) in members.iter().enumerate().rev() {
            run.insert(0, dimension);
            size *= self.map.sizes()[dimension];
            if place > 0
                && let Some((high, low)) = tree.split_by(size)
            {
                joints.push(Joint {
                    dimensions: std::mem::take(&mut run),
                    tree: low,
                });
                tree = high;
                size = 1;
            }
        }
        joints.push(Joint {
            dimensions: run,
            tree,
        });
        joints
    }

    /// Whether every dimension has a way of its own.
    pub fn is_apart(&self) -> bool {
        self.ways.iter().all(|way| matches!(way, Way::Apart(_)))
    }

    /// The dimensions that this one is combined with, itself included; empty where it stands
    /// alone.
    pub fn combined_with(&self, dimension: usize) -> Dims {
        match &self.ways[dimension] {
            Way::Apart(_) => Dims::new(),
            Way::Joint(joint) => self.joints[*joint].dimensions.clone(),
            Way::Tied => (0..self.ways.len())
                .filter(|&d| matches!(self.ways[d], Way::Tied))
                .collect(),
        }
    }

    /// The way of the segments' combined index, in row-major order, as far as it can be
    /// followed.
    pub fn path(
        &self,
        correspondence: &Correspondence,
        segments: &[&Segment],
        end: End,
    ) -> Option<Path<'_>> {
        if let [segment] = segments {
            match segment.dimensions(end)[..] {
                [] => return Some(Path::new(Cow::Owned(Tree::Line(segment.inside)))),
                [dimension] => {
                    let Way::Apart(tree) = &self.ways[dimension] else {
                        return None;
                    };
                    let (start, step) = match end {
                        End::Operand => correspondence.start_and_step(dimension),
                        End::Result => (0, 1),
                    };
                    return Some(Path {
                        tree: Cow::Borrowed(tree),
                        start,
                        step,
                    });
                }
                _ => {}
            }
        }
        if correspondence.slice.is_some() && end == End::Operand {
            return None;
        }
        let sizes = correspondence.sizes(end);
        let mut dimensions = Dims::new();
        for segment in segments {
            let of_segment = segment.dimensions(end);
            if of_segment.is_empty() && segment.inside != 0 {
                // Inside elements, beside other dimensions: no tree for both.
                return None;
            }
            dimensions.extend(of_segment.iter().copied().filter(|&d| sizes[d] > 1));
        }
        let mut below: Option<(Tree, i64)> = None;
        while let Some(&last) = dimensions.last() {
            let (tree, of_tree): (&Tree, Dims) = match &self.ways[last] {
                Way::Apart(tree) => (tree, smallvec![last]),
                Way::Joint(joint) => {
                    let joint = &self.joints[*joint];
                    (&joint.tree, joint.dimensions.clone())
                }
                Way::Tied => return None,
            };
            if !dimensions.ends_with(&of_tree) {
                return None;
            }
            dimensions.truncate(dimensions.len() - of_tree.len());
            let size: i64 = of_tree.iter().map(|&d| sizes[d]).product();
            below = Some(match below {
                None => (tree.clone(), size),
                Some((low, tile)) => (Tree::split(tile, tree.clone(), low), tile * size),
            });
        }
        let tree = below.map_or(Tree::Line(0), |(tree, _)| tree);
        Some(Path::new(Cow::Owned(tree)))
    }

    /// The memory space that the array is in.
    pub fn memory_space(&self) -> i64 {
        self.shape.layout().map_or(0, Layout::memory_space)
    }

    /// What padding holds.
    pub fn padding_value(&self) -> PaddingValue {
        self.shape
            .layout()
            .map_or(PaddingValue::Zero, Layout::filler)
    }

    /// The position, in bits, of an element.
    pub fn position(&self, index: &[i64]) -> i64 {
        self.map.position_of(index) * self.bits
    }
}
