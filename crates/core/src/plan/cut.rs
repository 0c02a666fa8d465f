//! A layout whose tiles divide one another, as digits of each dimension: the way of nearly every layout, and a short one.
//!
//! Others, and those that combine dimensions by `*`, are [expanded](crate::address).

use std::cmp::Reverse;
use std::ops::Range;

use super::digits::Digits;
use super::tree::Tree;
use crate::address::div_ceil;
use crate::array::ArrayShape;
use crate::layout::{Layout, TileDimension};

/// The most digits, with those of one value,
const ROOM: usize = 16;
/// and dimensions: arrays of so many are quicker to make than lists that may grow.
const RANK: usize = 8;

/// The digits of a layout.
pub(super) struct Cut {
    /// Of one dimension after the other.
    digits: [Digit; ROOM],
    /// Where those of each dimension end.
    ends: [usize; RANK],
    /// The product of their extents: elements before the tail alignment.
    pub expanded: i64,
    /// Whether a tile cuts some dimension.
    pub is_tiled: bool,
}

/// A digit of an index `i`: `i / place`, modulo `extent` where it is not the first, adds so many times its stride to the position. The
/// places of a dimension fall to 1, each by the next digit's extent, and no two digits could be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digit {
    pub place: i64,
    /// Values that memory has room for.
    pub extent: i64,
    pub stride: i64,
}

const NONE: Digit = Digit {
    place: 1,
    extent: 1,
    stride: 0,
};

/// One physical dimension while tiles are being applied: a digit without its stride.
#[derive(Clone, Copy)]
struct Slot {
    dimension: usize,
    place: i64,
    extent: i64,
}

const ONCE: Slot = Slot {
    dimension: 0,
    place: 1,
    extent: 1,
};

impl Cut {
    /// Of an array without dimensions.
    pub fn empty() -> Cut {
        Cut {
            digits: [NONE; ROOM],
            ends: [0; RANK],
            expanded: 1,
            is_tiled: false,
        }
    }

    /// Makes an empty one the digits of `shape` in `layout`, which has its rank: in its place, as it is large. `None` where a tile does not
    /// divide the one around it, or combines dimensions, or has more than there are; where there is nothing, or too much for the room
    /// here; and where the product of the extents is beyond 63 bits.
    pub fn set(&mut self, shape: &ArrayShape, layout: &Layout) -> Option<()> {
        let padded = shape.padded_sizes(layout);
        let ends = self.ends.get_mut(..shape.rank())?;
        let mut slots = [ONCE; ROOM];
        let mut count = 0;
        for &dimension in layout.minor_to_major().iter().rev() {
            slots[count] = Slot {
                dimension,
                place: 1,
                extent: padded(dimension)?,
            };
            count += 1;
        }
        for tile in layout.tiles() {
            let tile = tile.dimensions();
            for (at, &size) in (count.checked_sub(tile.len())?..).zip(tile) {
                let (slot, TileDimension::Size(size)) = (slots[at], size) else {
                    return None;
                };
                self.is_tiled |= size > 1 && slot.extent > size;
                slots[at].place = slot.place.checked_mul(size)?;
                slots[at].extent = div_ceil(slot.extent, size);
                *slots.get_mut(count)? = Slot {
                    extent: size,
                    ..slot
                };
                count += 1;
            }
        }
        // Side by side, dimension by dimension. The least place of each is 1: cutting keeps it.
        let slots = &slots[..count];
        for slot in slots.iter().filter(|slot| slot.extent > 1) {
            ends[slot.dimension] += 1;
        }
        let mut free = [0; RANK];
        let mut all = 0;
        for (end, free) in ends.iter_mut().zip(&mut free) {
            all += *end;
            (*end, *free) = (all, all);
        }
        // The last slot is the most minor one; the last of a dimension mostly has the least place.
        for slot in slots.iter().rev() {
            if slot.extent > 1 {
                free[slot.dimension] -= 1;
                self.digits[free[slot.dimension]] = Digit {
                    place: slot.place,
                    extent: slot.extent,
                    stride: self.expanded,
                };
            }
            self.expanded = self.expanded.checked_mul(slot.extent)?;
        }
        if self.expanded == 0 {
            return None;
        }
        let (mut start, mut kept) = (0, 0);
        for end in ends {
            kept = join(&mut self.digits, start..*end, kept)?;
            (start, *end) = (*end, kept);
        }
        Some(())
    }

    /// The digits of a dimension, from the greatest place on; none where its index is always 0 in memory.
    pub fn dimension(&self, dimension: usize) -> &[Digit] {
        let start = dimension.checked_sub(1).map_or(0, |d| self.ends[d]);
        &self.digits[start..self.ends[dimension]]
    }

    /// What one more of an index adds to the position, where that is the same for all its values.
    pub fn stride(&self, dimension: usize) -> Option<i64> {
        match self.dimension(dimension) {
            [] => Some(0),
            [digit] => Some(digit.stride),
            _ => None,
        }
    }

    /// The digits of an index, positions counted in units of which an element has `scale`.
    pub fn digits(&self, dimension: usize, scale: i64) -> Digits {
        match self.dimension(dimension) {
            [] => Digits::line(0),
            digits => digits.iter().map(|d| (d.place, d.stride * scale)).collect(),
        }
    }

    /// The same as a tree.
    pub fn tree(&self, dimension: usize, scale: i64) -> Tree {
        let mut digits = self.dimension(dimension).iter().rev();
        let Some(mut below) = digits.next() else {
            return Tree::Line(0);
        };
        let mut tree = Tree::Line(below.stride * scale);
        for digit in digits {
            // `i / place` and what is left of it, of which this much lies below.
            let line = Tree::Line(digit.stride * scale);
            tree = Tree::split(below.place * below.extent, line, tree);
            below = digit;
        }
        tree
    }
}

/// Brings the digits of a dimension in order, and to `first`, those that can be one joined; returns where they end. `None` where they are
/// no digits of one index.
fn join(digits: &mut [Digit], range: Range<usize>, first: usize) -> Option<usize> {
    let own = &mut digits[range.clone()];
    if !own.is_sorted_by(|a, b| a.place > b.place) {
        own.sort_unstable_by_key(|digit| Reverse(digit.place));
    }
    let mut kept = first;
    for i in range {
        let digit = digits[i];
        if kept > first {
            let before = &mut digits[kept - 1];
            if digit.place.checked_mul(digit.extent) != Some(before.place) {
                return None;
            }
            if digit.stride * digit.extent == before.stride {
                let extent = before.extent * digit.extent;
                *before = Digit { extent, ..digit };
                continue;
            }
        }
        digits[kept] = digit;
        kept += 1;
    }
    Some(kept)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{AddressMap, Shape};

    /// Layouts whose tiles divide one another.
    pub const LAYOUTS: [&str; 15] = [
        "u8[7,5]{1,0:T(4,2)}",
        "u8[7,5]{0,1:T(4,2)}",
        "u8[7,5]{0,1:PAD(9,6)}",
        "u8[7,5]{1,0:T(8,8)(4,1)}",
        "u8[7,5]{1,0:T(4)}",
        "u8[23,5]{1,0:T(8,2)(4,1)(2,1)}",
        "u8[1,5]{1,0:T(8,128)}",
        "u8[3,1,23]{2,1,0:T(2,4)(2,1)}",
        "u8[23]{0:T(8)(4)}",
        "u8[23]{0:T(8)(2,2)}",
        "u8[2,9,3,3]{3,2,1,0:T(4,1,1)}",
        "u8[5,7]{1,0:T(2,4)L(50)}",
        "u8[39,5]{1,0:T(16,2)(4,1)(2,1)}",
        "u8[39,5]{0,1:T(2,16)(1,4)(1,2)PAD(50,5)}",
        "u8[5,7]{1,0:L(50)}",
    ];

    pub fn shape(text: &str) -> ArrayShape {
        text.parse::<Shape>().unwrap().as_array().unwrap().clone()
    }

    pub fn cut(text: &str) -> Option<Cut> {
        let (shape, mut cut) = (shape(text), Cut::empty());
        cut.set(&shape, shape.layout().unwrap()).map(|()| cut)
    }

    #[test]
    fn positions_are_those_of_the_address_map() {
        for text in LAYOUTS {
            let (shape, cut) = (shape(text), cut(text).unwrap());
            let map = AddressMap::new(&shape).unwrap();
            assert_eq!(cut.expanded, map.expansion().expanded, "{text}");
            let sizes = map.sizes().to_vec();
            let mut index = vec![0; sizes.len()];
            loop {
                let by_digits = index.iter().enumerate().map(|(d, &i)| {
                    let digits = cut.dimension(d).iter().enumerate();
                    let values = digits.map(|(at, digit)| {
                        let value = i / digit.place;
                        let value = if at > 0 { value % digit.extent } else { value };
                        assert!(value < digit.extent, "{text} {index:?}");
                        value * digit.stride
                    });
                    values.sum::<i64>()
                });
                let by_trees = index.iter().enumerate();
                let by_trees = by_trees.map(|(d, &i)| cut.tree(d, 3).position(i));
                let position = map.position(&index).unwrap();
                assert_eq!(by_digits.sum::<i64>(), position, "{text} {index:?}");
                assert_eq!(by_trees.sum::<i64>(), 3 * position, "{text} {index:?}");
                let Some(d) = (0..sizes.len()).rfind(|&d| index[d] + 1 < sizes[d]) else {
                    break;
                };
                index[d] += 1;
                index[d + 1..].fill(0);
            }
        }
    }

    #[test]
    fn tiles_that_hold_all_of_a_dimension_do_not_cut_it() {
        let is_tiled = |text| cut(text).unwrap().is_tiled;
        assert!(!is_tiled("u8[7,5]{1,0:T(8,8)}"));
        assert!(!is_tiled("u8[7,5]{1,0:T(1,5)}"));
        assert!(is_tiled("u8[7,5]{1,0:T(8,4)}"));
    }

    #[test]
    fn others_have_none() {
        for text in [
            "u8[23,5]{1,0:T(9,2)(4,1)}",
            "u8[23,5]{1,0:T(4,2)(3,1)}",
            "u8[23,5]{1,0:T(*,2)}",
            "u8[5]{0:T(2,4)}",
            "u8[0,5]{1,0:T(2,4)}",
            "u8[1,1,1,1,1,1,1,1,5]{8,7,6,5,4,3,2,1,0:T(4)}",
            "u8[64]{0:T(2)(2)(2)(2)(2)(2)(2)(2)(2)(2)(2)(2)(2)(2)(2)(2)}",
        ] {
            assert!(cut(text).is_none(), "{text}");
        }
    }

    #[test]
    fn what_is_side_by_side_is_one_digit() {
        // Four rows of a tile follow another four, each of two elements.
        let cut = cut("u8[11,5]{1,0:T(12,2)(4,2)}").unwrap();
        let rows = Digit {
            place: 1,
            extent: 12,
            stride: 2,
        };
        assert_eq!(cut.dimension(0), [rows]);
        assert_eq!(
            (cut.stride(0), cut.stride(1), cut.is_tiled),
            (Some(2), None, true)
        );
    }
}
