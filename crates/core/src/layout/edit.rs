//! Layouts of arrays whose dimensions are moved, permuted, deleted or inserted.
//!
//! One rule for all: what belongs to a dimension (its padded width, its split) goes with it,
//! and everything else (tiles, tail alignment, element size, memory space, metadata prefix, the
//! padding's value) stays as it is. Tiles always cut the most minor dimensions that there are.
//! (XLA drops most of it in some of these edits.)

use smallvec::SmallVec;

use super::Layout;
use crate::dimension::resolve_dimension;
use crate::error::ShapeError;
use crate::permutation::Permutation;

impl Layout {
    /// The layout without tiles.
    #[doc(alias = "ClearTiles")]
    pub fn without_tiles(mut self) -> Layout {
        self.tiles.clear();
        self
    }

    /// The layout without padded widths and their value.
    pub fn without_padding(mut self) -> Layout {
        self.padded_dimensions.clear();
        self.padding_value = None;
        self
    }

    /// Everything taken back that only a device's layout has.
    pub(crate) fn on_host(&self) -> Layout {
        Layout {
            tiles: Vec::new(),
            memory_space: Layout::DEFAULT_MEMORY_SPACE,
            element_size_in_bits: 0,
            tail_padding_alignment: 1,
            dynamic_shape_metadata_prefix_bytes: 0,
            split_configs: Vec::new(),
            ..self.clone()
        }
    }

    /// The layout with one dimension the most major; the others keep their order.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range; -1 is the last dimension.
    ///
    /// ```
    /// let layout: minormajor_core::Layout = "{2,1,0:T(8,128)}".parse()?;
    /// assert_eq!(layout.move_dimension_to_major(1)?.to_string(), "{2,0,1:T(8,128)}");
    /// assert_eq!(layout.move_dimension_to_minor(0)?.to_string(), "{0,2,1:T(8,128)}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "MoveDimToMajor")]
    pub fn move_dimension_to_major(&self, dimension: i64) -> Result<Layout, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        let mut order = self.minor_to_major.clone();
        order.retain(|&mut d| d != dimension);
        order.push(dimension);
        Ok(self.with_order(order))
    }

    /// The layout with one dimension the most minor; the others keep their order.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range; -1 is the last dimension.
    #[doc(alias = "MoveDimToMinor")]
    pub fn move_dimension_to_minor(&self, dimension: i64) -> Result<Layout, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        let mut order = self.minor_to_major.clone();
        order.retain(|&mut d| d != dimension);
        order.insert(0, dimension);
        Ok(self.with_order(order))
    }

    /// The layout of the array without one dimension.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range; -1 is the last dimension.
    ///
    /// ```
    /// let layout: minormajor_core::Layout = "{0,2,1:T(8,128)SC(0:5)}".parse()?;
    /// assert_eq!(layout.delete_dimension(2)?.to_string(), "{0,1:T(8,128)SC(0:5)}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_dimension(&self, dimension: i64) -> Result<Layout, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        Ok(self.keep_dimensions(|d| d != dimension))
    }

    /// The layout of the array with some of its dimensions.
    pub(crate) fn keep_dimensions(&self, keep: impl Fn(usize) -> bool) -> Layout {
        let source: SmallVec<[Option<usize>; 6]> =
            (0..self.rank()).filter(|&d| keep(d)).map(Some).collect();
        let place = |old: &usize| source.iter().position(|&d| d == Some(*old));
        let order = self.minor_to_major.iter().filter_map(place).collect();
        self.rearranged(order, &source, |_| 0)
    }

    /// The layout of the array whose dimension `i` is dimension `permutation[i]` of this one,
    /// with every element where it was.
    pub(crate) fn permute_dimensions(&self, permutation: &Permutation) -> Layout {
        let inverse = permutation.inverse();
        let places = inverse.as_slice();
        let order = self.minor_to_major.iter().map(|&d| places[d]).collect();
        let source: SmallVec<[Option<usize>; 6]> =
            permutation.as_slice().iter().copied().map(Some).collect();
        self.rearranged(order, &source, |_| 0)
    }

    /// The layout with another order of the same dimensions.
    pub(crate) fn with_order(&self, minor_to_major: SmallVec<[usize; 6]>) -> Layout {
        let source: SmallVec<[Option<usize>; 6]> = (0..self.rank()).map(Some).collect();
        self.rearranged(minor_to_major, &source, |_| 0)
    }

    /// The layout of an array with other dimensions: dimension `i` is dimension `source[i]` of
    /// this one, or new and of width `width(i)`. The order is a permutation.
    pub(crate) fn rearranged(
        &self,
        minor_to_major: SmallVec<[usize; 6]>,
        source: &[Option<usize>],
        width: impl Fn(usize) -> i64,
    ) -> Layout {
        let padded_dimensions = match self.padded_dimensions.is_empty() {
            true => Vec::new(),
            false => (0..source.len())
                .map(|d| source[d].map_or_else(|| width(d), |old| self.padded_dimensions[old]))
                .collect(),
        };
        let split_configs = self.split_configs.iter().filter_map(|split| {
            // Checked to be a physical dimension where it was put into the layout.
            let old = self.minor_to_major[self.rank() - 1 - split.dimension as usize];
            let place = minor_to_major
                .iter()
                .rev()
                .position(|&new| source[new] == Some(old))?;
            let mut split = split.clone();
            split.dimension = place as i64;
            Some(split)
        });
        Layout {
            padded_dimensions,
            padding_value: self.padding_value,
            tiles: self.tiles.clone(),
            tail_padding_alignment: self.tail_padding_alignment,
            element_size_in_bits: self.element_size_in_bits,
            memory_space: self.memory_space,
            split_configs: split_configs.collect(),
            dynamic_shape_metadata_prefix_bytes: self.dynamic_shape_metadata_prefix_bytes,
            unknown: self.unknown.clone(),
            minor_to_major,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        text.parse().unwrap()
    }

    /// XLA: LayoutUtilTest.MoveDimToMajor
    #[test]
    fn moving_to_major() {
        let before = layout("{2,1,0}");
        assert_eq!(before.move_dimension_to_major(0).unwrap(), before);
        assert_eq!(
            before.move_dimension_to_major(1).unwrap(),
            layout("{2,0,1}")
        );
        assert_eq!(
            before.move_dimension_to_major(-1).unwrap(),
            layout("{1,0,2}")
        );
        assert!(before.move_dimension_to_major(3).is_err());
    }

    /// XLA: LayoutUtilTest.MoveDimToMinor
    #[test]
    fn moving_to_minor() {
        let before = layout("{2,1,0}");
        assert_eq!(before.move_dimension_to_minor(2).unwrap(), before);
        assert_eq!(
            before.move_dimension_to_minor(1).unwrap(),
            layout("{1,2,0}")
        );
        assert!(before.move_dimension_to_minor(-4).is_err());
    }

    #[test]
    fn what_belongs_to_a_dimension_goes_with_it() {
        let before = layout("{2,1,0:T(2)L(4)E(16)S(7)SC(0:1)(2:5)M(8)PAD(2,3,9;one)}");
        assert_eq!(
            before.move_dimension_to_major(2).unwrap(),
            layout("{1,0,2:T(2)L(4)E(16)S(7)SC(1:1)(0:5)M(8)PAD(2,3,9;one)}")
        );
        assert_eq!(
            before.move_dimension_to_minor(0).unwrap(),
            layout("{0,2,1:T(2)L(4)E(16)S(7)SC(2:1)(1:5)M(8)PAD(2,3,9;one)}")
        );
        let permutation = Permutation::new([1, 2, 0]).unwrap();
        assert_eq!(
            before.permute_dimensions(&permutation),
            layout("{1,0,2:T(2)L(4)E(16)S(7)SC(0:1)(2:5)M(8)PAD(3,9,2;one)}")
        );
    }

    /// XLA: LayoutTest.DeleteDimensionWorksForDeletingLastDimFromDenseLayout
    #[test]
    fn deleting_the_last_dimension() {
        assert_eq!(
            layout("{1,0,2:T(4)PAD(5,6,7)}").delete_dimension(2),
            Ok(layout("{1,0:T(4)PAD(5,6)}"))
        );
        assert_eq!(layout("{0}").delete_dimension(-1), Ok(layout("{}")));
    }

    /// XLA: LayoutTest.DeleteDimensionWorksForDeletingNonLastDimFromDenseLayout
    #[test]
    fn deleting_an_inner_dimension() {
        assert_eq!(
            layout("{3,0,2,1:S(2)}").delete_dimension(1),
            Ok(layout("{2,0,1:S(2)}"))
        );
        assert_eq!(
            layout("{0,2,1}").delete_dimension(3),
            Err(ShapeError::NoSuchDimension {
                dimension: 3,
                rank: 3
            })
        );
    }

    /// XLA: LayoutTest.DeleteDimensionUpdatesSplitConfigs
    #[test]
    fn deleting_keeps_the_other_splits() {
        // Physical dimensions 0, 1 and 2 are dimensions 2, 0 and 1.
        let before = layout("{1,0,2:SC(0:10)(1:4,8)(2:3)}");
        assert_eq!(
            before.delete_dimension(0),
            Ok(layout("{0,1:SC(0:10)(1:3)}"))
        );
        assert_eq!(
            before.delete_dimension(2),
            Ok(layout("{1,0:SC(0:4,8)(1:3)}"))
        );
    }

    #[test]
    fn clearing_tiles() {
        assert_eq!(
            layout("{1,0:T(8,128)(2,1)E(16)S(1)}").without_tiles(),
            layout("{1,0:E(16)S(1)}")
        );
    }
}
