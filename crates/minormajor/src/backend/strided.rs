//! Operands: arrays in a device's memory, with a stride for every dimension.

use minormajor_core::ElementType;
use smallvec::SmallVec;

use super::{Scalar, Storage};

/// Where an array's elements lie in a storage: sizes, and strides and an offset in elements.
///
/// A stride may be 0 (a broadcast dimension) or negative. Products of sizes, and everything that
/// strides reach, fit an `i64`; sizes are 0 or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strided {
    element_type: ElementType,
    sizes: SmallVec<[i64; 6]>,
    strides: SmallVec<[i64; 6]>,
    offset: i64,
}

impl Strided {
    /// Elements at `offset` and a stride for every step of each dimension. What they reach is the
    /// caller's to check, as tensors do.
    ///
    /// # Panics
    ///
    /// Where there are not as many strides as sizes.
    pub fn new(
        element_type: ElementType,
        sizes: impl IntoIterator<Item = i64>,
        strides: impl IntoIterator<Item = i64>,
        offset: i64,
    ) -> Strided {
        let made = Strided {
            element_type,
            sizes: sizes.into_iter().collect(),
            strides: strides.into_iter().collect(),
            offset,
        };
        assert_eq!(made.sizes.len(), made.strides.len(), "a stride a dimension");
        made
    }

    /// A dense array of these sizes whose dimensions lie in this order, most minor first.
    ///
    /// ```
    /// use minormajor::{ElementType, backend::Strided};
    ///
    /// let columns = Strided::dense(ElementType::F32, &[2, 3], &[0, 1]);
    /// assert_eq!((columns.strides(), columns.bytes()), (&[1, 2][..], 24));
    /// ```
    ///
    /// # Panics
    ///
    /// Where the order is not one of as many dimensions.
    pub fn dense(element_type: ElementType, sizes: &[i64], minor_to_major: &[usize]) -> Strided {
        assert_eq!(
            sizes.len(),
            minor_to_major.len(),
            "an order of all dimensions"
        );
        let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(0, sizes.len());
        let mut stride = 1i64;
        for &dimension in minor_to_major {
            strides[dimension] = stride;
            // With a size of 0 somewhere others may be huge; there is no element to reach.
            stride = stride.saturating_mul(sizes[dimension].max(1));
        }
        Strided::new(element_type, sizes.iter().copied(), strides, 0)
    }

    /// The type of every element.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The sizes, in increasing order of dimension number.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// From an element to the next one of each dimension, in elements.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// The position of the element of index 0, 0, .. in the storage, in elements.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// The number of elements.
    pub fn elements(&self) -> i64 {
        match self.sizes.contains(&0) {
            true => 0,
            false => self.sizes.iter().product(),
        }
    }

    /// Bytes that the elements take; for a result, those of its storage.
    pub fn bytes(&self) -> usize {
        self.elements() as usize * self.element_type.byte_width() as usize
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_row_major(&self) -> bool {
        let mut stride = 1;
        self.elements() == 0
            || self
                .sizes
                .iter()
                .zip(&self.strides)
                .rev()
                .all(|(&size, &found)| {
                    let fits = size == 1 || found == stride;
                    stride *= size;
                    fits
                })
    }
}

/// An array in a storage.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Operand<'a> {
    pub storage: &'a dyn Storage,
    pub place: Strided,
}

/// One side of an operation: an array, or one number for every element.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Argument<'a> {
    Array(Operand<'a>),
    Scalar(Scalar),
}

/// A loop over several places at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop<const N: usize> {
    /// How many steps, 2 or more.
    pub extent: i64,
    /// What a step is in each place, in elements.
    pub strides: [i64; N],
}

/// The loops over places of the same sizes, the first place's order deciding: outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops<const N: usize> {
    /// Where each place's first element is.
    pub offsets: [i64; N],
    /// The loops; none for one element.
    pub loops: SmallVec<[Loop<N>; 6]>,
    /// Whether there is no element at all; then there are no loops.
    pub is_empty: bool,
}

impl<const N: usize> Loops<N> {
    /// The loops over places of the same sizes, ordered by the first one's strides, the smallest
    /// innermost; neighbours that make one loop in all places are one.
    ///
    /// ```
    /// use minormajor::{ElementType, backend::{Loop, Loops, Strided}};
    ///
    /// let columns = Strided::dense(ElementType::F32, &[2, 3, 4], &[0, 1, 2]);
    /// let rows = Strided::dense(ElementType::F32, &[2, 3, 4], &[2, 1, 0]);
    /// assert_eq!(Loops::new([&columns, &columns]).loops[..], [Loop { extent: 24, strides: [1, 1] }]);
    /// assert_eq!(Loops::new([&columns, &rows]).loops.len(), 3);
    /// ```
    pub fn new(places: [&Strided; N]) -> Loops<N> {
        let offsets = places.map(|place| place.offset);
        let sizes = &places[0].sizes;
        let mut loops: SmallVec<[Loop<N>; 6]> = SmallVec::new();
        let is_empty = sizes.contains(&0);
        if is_empty {
            return Loops {
                offsets,
                loops,
                is_empty,
            };
        }
        for (dimension, &extent) in sizes.iter().enumerate() {
            if extent > 1 {
                let strides = places.map(|place| place.strides[dimension]);
                loops.push(Loop { extent, strides });
            }
        }
        // Stable: equal strides (broadcast dimensions) keep the dimensions' order.
        loops.sort_by_key(|l| std::cmp::Reverse(l.strides[0].abs()));
        let mut merged: SmallVec<[Loop<N>; 6]> = SmallVec::new();
        for inner in loops {
            match merged.last_mut() {
                Some(outer)
                    if (0..N).all(|n| outer.strides[n] == inner.strides[n] * inner.extent) =>
                {
                    *outer = Loop {
                        extent: outer.extent * inner.extent,
                        strides: inner.strides,
                    };
                }
                _ => merged.push(inner),
            }
        }
        Loops {
            offsets,
            loops: merged,
            is_empty,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_merge_only_where_all_places_allow_it() {
        let rows = Strided::dense(ElementType::F32, &[2, 3, 5], &[2, 1, 0]);
        // The second dimension is broadcast.
        let broadcast = Strided::new(ElementType::F32, [2, 3, 5], [5, 0, 1], 7);
        let loops = Loops::new([&rows, &broadcast]);
        assert_eq!(loops.offsets, [0, 7]);
        let made: Vec<_> = loops.loops.iter().map(|l| (l.extent, l.strides)).collect();
        assert_eq!(made, [(2, [15, 5]), (3, [5, 0]), (5, [1, 1])]);
        let gapped = Strided::new(ElementType::F32, [2, 3, 5], [30, 10, 2], 0);
        assert_eq!(Loops::new([&rows, &gapped]).loops.len(), 1);
    }

    #[test]
    fn the_ends_of_ranks() {
        let scalar = Strided::dense(ElementType::F32, &[], &[]);
        assert!(Loops::new([&scalar]).loops.is_empty() && !Loops::new([&scalar]).is_empty);
        let empty = Strided::dense(ElementType::F32, &[i64::MAX, 0, 9], &[2, 1, 0]);
        assert!(Loops::new([&empty]).is_empty && empty.bytes() == 0);
        assert!(empty.is_row_major() && scalar.is_row_major());
        let columns = Strided::dense(ElementType::F32, &[2, 3], &[0, 1]);
        assert!(!columns.is_row_major());
        assert!(Strided::dense(ElementType::F32, &[1, 3], &[0, 1]).is_row_major());
    }
}
