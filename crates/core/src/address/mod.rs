//! Where every element lies: index to position, and position to index or padding.

mod conversion;
mod expansion;

use smallvec::{SmallVec, smallvec};

pub use conversion::{Conversion, ConversionStep};
pub(crate) use expansion::{Expansion, Group, NodeId, Part, div_ceil, gcd};

use crate::array::ArrayShape;
use crate::error::ShapeError;

/// The address map of an array: where each element lies in memory, and what lies at a position.
///
/// A *position* is an offset in the buffer counted in elements; times
/// [`ArrayShape::element_bits`] it is an offset in bits.
///
/// Every tile level counts, tiles of higher rank than the array and `*` included, as XLA's page
/// on tiled layouts defines them: each tile splits the most minor dimensions of what the level
/// before left, an index `i` becoming `(i / t, i % t)`.
///
/// ```
/// use minormajor_core::{AddressMap, Location, Shape};
///
/// // Figure 1 of XLA's page on tiled layouts: element (2, 3) is at 17.
/// let shape: Shape = "f32[3,5]{1,0:T(2,2)}".parse()?;
/// let map = AddressMap::new(shape.as_array()?)?;
/// assert_eq!(map.position(&[2, 3])?, 17);
/// assert_eq!(map.location(17)?, Location::Element(vec![2, 3]));
/// assert_eq!(map.location(9)?, Location::Padding { nearest: Some(vec![0, 4]) });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressMap {
    /// Logical sizes.
    sizes: SmallVec<[i64; 6]>,
    elements: i64,
    allocated: i64,
    /// Not in its place, as it is large.
    expansion: Box<Expansion>,
}

/// What lies at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The element with this index.
    Element(Vec<i64>),
    /// Padding.
    Padding {
        /// The element whose row or tile this pads: the one found by taking every part of the
        /// index that is too large down to its greatest value. `None` in an array without
        /// elements.
        nearest: Option<Vec<i64>>,
    },
}

/// An index or a position that an array does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Too many or too few numbers in an index.
    #[error("the index has {found} numbers, the array has {rank} dimensions")]
    #[allow(missing_docs)]
    Rank { found: usize, rank: usize },
    /// One number of an index is out of range.
    #[error("index {index} is outside dimension {dimension}, whose size is {size}")]
    #[allow(missing_docs)]
    OutOfRange {
        dimension: usize,
        index: i64,
        size: i64,
    },
    /// A linear index outside the elements.
    #[error("linear index {index} is outside the array's {elements} elements")]
    #[allow(missing_docs)]
    Linear { index: i64, elements: i64 },
    /// The array does not say enough.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A position outside the allocated elements.
    #[error("position {position} is outside the array's {allocated} allocated elements")]
    #[allow(missing_docs)]
    Position { position: i64, allocated: i64 },
}

impl AddressMap {
    /// The address map of an array.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoLayout`] or [`ShapeError::Unbounded`] where the shape does not say
    /// enough.
    pub fn new(shape: &ArrayShape) -> Result<AddressMap, ShapeError> {
        let layout = shape.require_layout()?;
        if let Some(dimension) = shape.first_unbounded() {
            return Err(ShapeError::Unbounded { dimension });
        }
        let expansion =
            Expansion::new(shape, layout).expect("the shape's constructor checked its sizes");
        Ok(AddressMap {
            sizes: shape
                .dimensions()
                .iter()
                .filter_map(|d| d.bound())
                .collect(),
            elements: shape.elements().unwrap_or(0),
            allocated: expansion
                .allocated
                .expect("checked by the shape's constructor"),
            expansion,
        })
    }

    /// The logical sizes, a bounded dimension counting its bound.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// The number of elements.
    pub fn elements(&self) -> i64 {
        self.elements
    }

    /// The positions that memory is set aside for: every one from 0 to below this.
    pub fn allocated_elements(&self) -> i64 {
        self.allocated
    }

    pub(crate) fn expansion(&self) -> &Expansion {
        &self.expansion
    }

    /// The position of the element with this index, in elements.
    ///
    /// # Errors
    ///
    /// [`IndexError`] for another number of dimensions than the array's, or a number outside
    /// its dimension.
    pub fn position(&self, index: &[i64]) -> Result<i64, IndexError> {
        check_index(index, &self.sizes)?;
        Ok(self.position_of(index))
    }

    /// [`position`](Self::position) of an index known to be in the array.
    pub(crate) fn position_of(&self, index: &[i64]) -> i64 {
        let mut combined: SmallVec<[i64; 4]> = smallvec![0; self.expansion.groups.len()];
        let mut position = 0;
        for (root, &value) in self.expansion.roots.iter().zip(index) {
            if let Some(root) = *root {
                position += self.add(root, value, &mut combined);
            }
        }
        for (group, made) in self.expansion.groups.iter().enumerate() {
            let value = combined[group];
            position += self.add(made.root, value, &mut combined);
        }
        position
    }

    /// What a node's value adds to the position; parts of combined indices go to `combined`.
    fn add(&self, node: NodeId, value: i64, combined: &mut [i64]) -> i64 {
        match self.expansion.nodes[node].part {
            Part::Digit { stride, .. } => value * stride,
            Part::Split { tile, high, low } => {
                self.add(high, value / tile, combined) + self.add(low, value % tile, combined)
            }
            Part::Joined { group, place } => {
                combined[group] += value * place;
                0
            }
        }
    }

    /// What lies at a position: an element, or padding.
    ///
    /// # Errors
    ///
    /// [`IndexError::Position`] outside the allocated elements.
    pub fn location(&self, position: i64) -> Result<Location, IndexError> {
        if !(0..self.allocated).contains(&position) {
            return Err(IndexError::Position {
                position,
                allocated: self.allocated,
            });
        }
        Ok(match self.locate(position) {
            None => Location::Padding { nearest: None },
            Some((index, true)) => Location::Padding {
                nearest: Some(index.into_vec()),
            },
            Some((index, false)) => Location::Element(index.into_vec()),
        })
    }

    /// The index of the element at an allocated position, or, with `true`, of the nearest one to
    /// padding; `None` in an array without elements. Of usual ranks and layouts, no memory is
    /// allocated.
    pub(crate) fn locate(&self, position: i64) -> Option<(SmallVec<[i64; 6]>, bool)> {
        if self.elements == 0 {
            return None;
        }
        let expansion = &self.expansion;
        let mut found = Found {
            expansion,
            values: smallvec![0; expansion.nodes.len()],
            padding: false,
        };
        let mut rest = position;
        for &digit in expansion.digits.iter().rev() {
            if let Part::Digit { extent, .. } = expansion.nodes[digit].part {
                found.values[digit] = rest % extent;
                rest /= extent;
            }
        }
        if rest != 0 {
            // The tail alignment lies behind the last position of the digits.
            found.padding = true;
            for &digit in &expansion.digits {
                if let Part::Digit { extent, .. } = expansion.nodes[digit].part {
                    found.values[digit] = extent - 1;
                }
            }
        }
        for group in expansion.groups.iter().rev() {
            let mut combined = found.index(group.root);
            for &(member, extent) in group.members.iter().rev() {
                found.values[member] = combined % extent;
                combined /= extent;
            }
        }
        for &extra in &expansion.extra {
            found.index(extra);
        }
        let index = expansion
            .roots
            .iter()
            .map(|root| root.map_or(0, |root| found.index(root)))
            .collect();
        Some((index, found.padding))
    }

    /// Bytes that [`locate`](Self::locate) and [`position_of`](Self::position_of) allocate at
    /// most.
    pub(crate) fn heap_bytes(&self) -> usize {
        // What lists grow to beyond their room inside, rounded up as they are.
        let list = |length: usize, inside: usize| match length > inside {
            true => 8 * length.next_power_of_two(),
            false => 0,
        };
        let expansion = &self.expansion;
        list(expansion.nodes.len(), 16)
            + list(self.sizes.len(), 6)
            + list(expansion.groups.len(), 4)
    }
}

/// Checks that an array of these sizes has this index.
pub(crate) fn check_index(index: &[i64], sizes: &[i64]) -> Result<(), IndexError> {
    if index.len() != sizes.len() {
        return Err(IndexError::Rank {
            found: index.len(),
            rank: sizes.len(),
        });
    }
    for (dimension, (&index, &size)) in index.iter().zip(sizes).enumerate() {
        if !(0..size).contains(&index) {
            return Err(IndexError::OutOfRange {
                dimension,
                index,
                size,
            });
        }
    }
    Ok(())
}

/// The way back from digits to indices.
struct Found<'a> {
    expansion: &'a Expansion,
    /// Of digits and of members of groups.
    values: SmallVec<[i64; 16]>,
    /// Whether any part was beyond its bound.
    padding: bool,
}

impl Found<'_> {
    /// A node's value from its parts, brought below its bound.
    fn index(&mut self, node: NodeId) -> i64 {
        let value = match self.expansion.nodes[node].part {
            Part::Digit { .. } | Part::Joined { .. } => self.values[node],
            Part::Split { tile, high, low } => {
                // At most the allocated elements, since both come from one position.
                self.index(high) * tile + self.index(low)
            }
        };
        let bound = self.expansion.nodes[node].bound;
        if value >= bound {
            self.padding = true;
            return bound - 1;
        }
        value
    }
}
