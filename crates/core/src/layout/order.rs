//! Questions about the order of a layout's dimensions.

use smallvec::SmallVec;

use super::Layout;
use crate::dimension::resolve_dimension;
use crate::error::ShapeError;

impl Layout {
    /// The layout whose dimensions lie in this order, the most major first.
    ///
    /// # Errors
    ///
    /// As [`Layout::new`]; the place counts from the end, as the order is read backwards.
    ///
    /// ```
    /// use minormajor_core::Layout;
    ///
    /// assert_eq!(Layout::from_major_to_minor([0, 2, 1])?.to_string(), "{1,2,0}");
    /// # Ok::<(), minormajor_core::ShapeError>(())
    /// ```
    #[doc(alias = "MakeLayoutFromMajorToMinor")]
    pub fn from_major_to_minor(
        major_to_minor: impl IntoIterator<Item = i64>,
    ) -> Result<Layout, ShapeError> {
        let order: SmallVec<[i64; 6]> = major_to_minor.into_iter().collect();
        Layout::new(order.into_iter().rev())
    }

    /// Whether the order is `.., 1, 0`: "dim 0 is major", akin to row-major. Ranks 0 and 1 are.
    #[doc(alias = "HasDescendingLayout")]
    pub fn is_monotonic_with_dim0_major(&self) -> bool {
        self.minor_to_major.iter().rev().is_sorted()
    }

    /// Whether the order is `0, 1, ..`: "dim 0 is minor", akin to column-major. Ranks 0 and 1
    /// are.
    #[doc(alias = "HasAscendingLayout")]
    pub fn is_monotonic_with_dim0_minor(&self) -> bool {
        self.minor_to_major.is_sorted()
    }

    /// The dimension at a physical place, 0 being the most major and -1 the most minor.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range.
    ///
    /// ```
    /// let layout: minormajor_core::Layout = "{0,2,1}".parse()?;
    /// assert_eq!((layout.major(0)?, layout.minor(0)?), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn major(&self, place: i64) -> Result<usize, ShapeError> {
        let place = resolve_dimension(place, self.rank())?;
        Ok(self.minor_to_major[self.rank() - 1 - place])
    }

    /// The dimension at a place counted from the most minor one, which is 0; -1 is the most
    /// major.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range.
    pub fn minor(&self, place: i64) -> Result<usize, ShapeError> {
        Ok(self.minor_to_major[resolve_dimension(place, self.rank())?])
    }

    /// The physical place of every dimension, in dimension order; 0 is the most major.
    ///
    /// ```
    /// let layout: minormajor_core::Layout = "{0,2,1}".parse()?;
    /// assert_eq!(layout.logical_to_physical(), [2, 0, 1]);
    /// # Ok::<(), minormajor_core::ParseError>(())
    /// ```
    #[doc(alias = "MakeLogicalToPhysical")]
    pub fn logical_to_physical(&self) -> Vec<usize> {
        let mut physical = vec![0; self.rank()];
        for (place, &dimension) in self.minor_to_major.iter().rev().enumerate() {
            physical[dimension] = place;
        }
        physical
    }

    /// Whether these dimensions, in any order, follow each other in memory without another
    /// between them. None and one do.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range.
    ///
    /// ```
    /// let layout: minormajor_core::Layout = "{0,3,1,2}".parse()?;
    /// assert!(layout.are_dimensions_consecutive([1, 3])?);
    /// assert!(!layout.are_dimensions_consecutive([0, 1])?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn are_dimensions_consecutive(
        &self,
        dimensions: impl IntoIterator<Item = i64>,
    ) -> Result<bool, ShapeError> {
        let physical = self.logical_to_physical();
        let mut places: SmallVec<[usize; 6]> = SmallVec::new();
        for dimension in dimensions {
            places.push(physical[resolve_dimension(dimension, self.rank())?]);
        }
        places.sort_unstable();
        Ok(places.windows(2).all(|pair| pair[1] - pair[0] == 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        text.parse().unwrap()
    }

    /// XLA: LayoutUtilTest.MakeDescending
    /// XLA: LayoutUtilTest.MakeAscending
    /// XLA: LayoutUtilTest.DefaultLayoutGettersMajorToMinor
    #[test]
    fn ordered_layouts() {
        for rank in 0..6i64 {
            let descending = Layout::descending(rank as usize);
            assert_eq!(Layout::new((0..rank).rev()).unwrap(), descending);
            assert_eq!(Layout::from_major_to_minor(0..rank).unwrap(), descending);
            assert!(descending.is_monotonic_with_dim0_major());
            let ascending = Layout::ascending(rank as usize);
            assert_eq!(Layout::new(0..rank).unwrap(), ascending);
            assert!(ascending.is_monotonic_with_dim0_minor());
            assert_eq!(ascending == descending, rank < 2);
            assert_eq!(descending.is_monotonic_with_dim0_minor(), rank < 2);
            assert_eq!(ascending.is_monotonic_with_dim0_major(), rank < 2);
        }
        assert_eq!(Layout::descending(4), layout("{3,2,1,0}"));
        assert!(!layout("{1,0,2}").is_monotonic_with_dim0_minor());
        assert!(!layout("{1,0,2}").is_monotonic_with_dim0_major());
        assert_eq!(
            Layout::from_major_to_minor([2, 0]),
            Err(ShapeError::OrderOutOfRange {
                place: 1,
                value: 2,
                rank: 2
            })
        );
    }

    #[test]
    fn places() {
        let layout = layout("{3,0,2,1:T(8,128)}");
        let physical = layout.logical_to_physical();
        for place in 0..4i64 {
            let dimension = layout.major(place).unwrap();
            assert_eq!(physical[dimension], place as usize);
            assert_eq!(layout.minor(3 - place), Ok(dimension));
            assert_eq!(layout.major(place - 4), Ok(dimension));
        }
        assert_eq!(layout.minor(-1), Ok(1));
        for place in [4, -5] {
            assert!(layout.major(place).is_err());
            assert!(layout.minor(place).is_err());
        }
    }

    #[test]
    fn neighbours() {
        let layout = layout("{0,3,1,2}");
        for (dimensions, expected) in [
            (&[][..], true),
            (&[2], true),
            (&[3, 1, 0], true),
            (&[-1, 0], true),
            (&[0, 2], false),
            (&[2, 3], false),
            (&[1, 1], false),
        ] {
            let found = layout.are_dimensions_consecutive(dimensions.iter().copied());
            assert_eq!(found, Ok(expected), "{dimensions:?}");
        }
        assert!(layout.are_dimensions_consecutive([4]).is_err());
    }
}
