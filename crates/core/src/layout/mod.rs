//! Layouts: the order of dimensions in memory, padding, tiles and the rest of XLA's layout.

mod edit;
mod equality;
mod order;
mod parts;

use smallvec::SmallVec;

use crate::error::ShapeError;
use crate::proto::UnknownFields;

pub use equality::LayoutEquality;
pub use parts::{PaddingValue, SplitConfig, Tile, TileDimension};

/// How an array's elements are placed in memory.
///
/// Always a valid layout of its rank: the minor-to-major order is a permutation, tile sizes and
/// alignments are positive, split indices rise. What depends on the array too (that padded
/// widths reach the sizes, say) is checked where the layout is attached to a shape.
///
/// Dimensions are padded first, then the tiles cut the padded sizes, each level cutting what
/// the level before it left.
///
/// ```
/// use minormajor_core::{Layout, PaddingValue};
///
/// // The padded, column-major example of XLA's page on shapes and layout.
/// let layout = Layout::new([0, 1])?.with_padding([3, 5], PaddingValue::Zero)?;
/// assert_eq!(layout.to_string(), "{0,1:PAD(3,5)}");
/// # Ok::<(), minormajor_core::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// A permutation of `0..rank`, most minor dimension first.
    minor_to_major: SmallVec<[usize; 6]>,
    /// Padded width of each dimension in dimension order; empty, or one a dimension.
    padded_dimensions: Vec<i64>,
    padding_value: Option<PaddingValue>,
    tiles: Vec<Tile>,
    tail_padding_alignment: i64,
    element_size_in_bits: i64,
    memory_space: i64,
    split_configs: Vec<SplitConfig>,
    dynamic_shape_metadata_prefix_bytes: i64,
    pub(crate) unknown: UnknownFields,
}

impl Layout {
    /// The default memory space: HBM on a TPU.
    pub const DEFAULT_MEMORY_SPACE: i64 = 0;
    /// A fast memory near the core: VMEM on a TPU.
    pub const GENERIC_FAST_MEMORY_SPACE: i64 = 1;
    /// The host's pinned memory.
    pub const HOST_MEMORY_SPACE: i64 = 5;
    /// The host's pageable memory.
    pub const UNPINNED_HOST_MEMORY_SPACE: i64 = 6;

    /// The layout with this minor-to-major order: the first dimension listed is the one whose
    /// elements are adjacent in memory.
    ///
    /// # Errors
    ///
    /// [`ShapeError::OrderOutOfRange`] or [`ShapeError::OrderRepeated`] unless the order holds
    /// each of `0..rank` once.
    pub fn new(minor_to_major: impl IntoIterator<Item = i64>) -> Result<Layout, ShapeError> {
        let order: SmallVec<[i64; 6]> = minor_to_major.into_iter().collect();
        let rank = order.len();
        let mut seen: SmallVec<[bool; 16]> = SmallVec::from_elem(false, rank);
        let mut minor_to_major = SmallVec::with_capacity(rank);
        for (place, &value) in order.iter().enumerate() {
            match usize::try_from(value).ok().filter(|&d| d < rank) {
                None => return Err(ShapeError::OrderOutOfRange { place, value, rank }),
                Some(d) if seen[d] => return Err(ShapeError::OrderRepeated { place, value }),
                Some(d) => {
                    seen[d] = true;
                    minor_to_major.push(d);
                }
            }
        }
        Ok(Layout::plain(minor_to_major))
    }

    /// The default: the last dimension is the most minor, akin to row-major.
    #[doc(alias = "MakeDescendingLayout")]
    #[doc(alias = "GetDefaultLayoutForRank")]
    #[doc(alias = "GetDefaultLayoutForShape")]
    pub fn descending(rank: usize) -> Layout {
        Layout::plain((0..rank).rev().collect())
    }

    /// The first dimension is the most minor, akin to column-major.
    #[doc(alias = "MakeAscendingLayout")]
    pub fn ascending(rank: usize) -> Layout {
        Layout::plain((0..rank).collect())
    }

    /// The same layout with another minor-to-major order of its dimensions; splits go with
    /// their dimensions.
    ///
    /// # Errors
    ///
    /// [`ShapeError::LayoutRank`] for another number of dimensions, else as [`Layout::new`].
    pub fn with_minor_to_major(
        &self,
        minor_to_major: impl IntoIterator<Item = i64>,
    ) -> Result<Layout, ShapeError> {
        let order = Layout::new(minor_to_major)?.minor_to_major;
        if order.len() != self.rank() {
            return Err(ShapeError::LayoutRank {
                found: order.len(),
                rank: self.rank(),
            });
        }
        Ok(self.with_order(order))
    }

    /// A layout of an order that is a permutation already.
    fn plain(minor_to_major: SmallVec<[usize; 6]>) -> Layout {
        Layout {
            minor_to_major,
            padded_dimensions: Vec::new(),
            padding_value: None,
            tiles: Vec::new(),
            tail_padding_alignment: 1,
            element_size_in_bits: 0,
            memory_space: 0,
            split_configs: Vec::new(),
            dynamic_shape_metadata_prefix_bytes: 0,
            unknown: UnknownFields::default(),
        }
    }

    /// Pads each dimension, in dimension order, to a width, with a value.
    ///
    /// # Errors
    ///
    /// [`ShapeError::PaddedRank`] unless there is one width a dimension.
    pub fn with_padding(
        mut self,
        padded_dimensions: impl IntoIterator<Item = i64>,
        value: PaddingValue,
    ) -> Result<Layout, ShapeError> {
        self.padded_dimensions = padded_dimensions.into_iter().collect();
        self.padding_value = Some(value);
        if self.padded_dimensions.len() != self.rank() {
            return Err(ShapeError::PaddedRank {
                found: self.padded_dimensions.len(),
                rank: self.rank(),
            });
        }
        Ok(self)
    }

    /// Keeps a padding value that stands without padded widths, as a proto can: it has no
    /// effect.
    pub(crate) fn with_idle_padding_value(mut self, value: PaddingValue) -> Layout {
        self.padding_value = Some(value);
        self
    }

    /// Cuts the array into tiles, then the tiles by the next level, and so on.
    ///
    /// # Errors
    ///
    /// [`ShapeError::EmptyTile`] or [`ShapeError::TileSize`] for a tile without dimensions or
    /// with a size below 1.
    pub fn with_tiles(
        mut self,
        tiles: impl IntoIterator<Item = Tile>,
    ) -> Result<Layout, ShapeError> {
        self.tiles = tiles.into_iter().collect();
        for (tile, Tile { dimensions, .. }) in self.tiles.iter().enumerate() {
            if dimensions.is_empty() {
                return Err(ShapeError::EmptyTile { tile });
            }
            for (place, dimension) in dimensions.iter().enumerate() {
                if let TileDimension::Size(size @ ..=0) = *dimension {
                    return Err(ShapeError::TileSize { tile, place, size });
                }
            }
        }
        Ok(self)
    }

    /// Rounds the allocated elements up to a multiple of `elements`.
    ///
    /// # Errors
    ///
    /// [`ShapeError::TailPadding`] below 1.
    pub fn with_tail_padding_alignment(mut self, elements: i64) -> Result<Layout, ShapeError> {
        self.tail_padding_alignment = elements;
        if elements < 1 {
            return Err(ShapeError::TailPadding { found: elements });
        }
        Ok(self)
    }

    /// Gives each element `bits` bits in memory; 0 means the type's own width.
    ///
    /// # Errors
    ///
    /// [`ShapeError::ElementSize`] below 0.
    pub fn with_element_size_in_bits(mut self, bits: i64) -> Result<Layout, ShapeError> {
        self.element_size_in_bits = bits;
        if bits < 0 {
            return Err(ShapeError::ElementSize { found: bits });
        }
        Ok(self)
    }

    /// Places the array in a memory space, 0 being the default one.
    pub fn with_memory_space(mut self, memory_space: i64) -> Layout {
        self.memory_space = memory_space;
        self
    }

    /// Splits physical dimensions over memories.
    ///
    /// # Errors
    ///
    /// `Split...` variants of [`ShapeError`] for a dimension out of range or named twice, or
    /// indices that don't rise from 1.
    pub fn with_split_configs(
        mut self,
        split_configs: impl IntoIterator<Item = SplitConfig>,
    ) -> Result<Layout, ShapeError> {
        self.split_configs = split_configs.into_iter().collect();
        let rank = self.rank();
        let mut seen: SmallVec<[bool; 16]> = SmallVec::from_elem(false, rank);
        for (config, split) in self.split_configs.iter().enumerate() {
            let dimension = split.dimension;
            match usize::try_from(dimension).ok().filter(|&d| d < rank) {
                None => {
                    return Err(ShapeError::SplitDimension {
                        config,
                        dimension,
                        rank,
                    });
                }
                Some(d) if seen[d] => return Err(ShapeError::SplitRepeated { config, dimension }),
                Some(d) => seen[d] = true,
            }
            if split.split_indices.is_empty() {
                return Err(ShapeError::SplitEmpty { config });
            }
            let mut before = 0;
            for (place, &index) in split.split_indices.iter().enumerate() {
                if index <= before {
                    return Err(ShapeError::SplitIndex {
                        config,
                        place,
                        index,
                        size: None,
                    });
                }
                before = index;
            }
        }
        Ok(self)
    }

    /// Reserves bytes before the array for the sizes of dynamic dimensions.
    ///
    /// # Errors
    ///
    /// [`ShapeError::MetadataPrefix`] below 0.
    pub fn with_dynamic_shape_metadata_prefix_bytes(
        mut self,
        bytes: i64,
    ) -> Result<Layout, ShapeError> {
        self.dynamic_shape_metadata_prefix_bytes = bytes;
        if bytes < 0 {
            return Err(ShapeError::MetadataPrefix { found: bytes });
        }
        Ok(self)
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.minor_to_major.len()
    }

    /// The dimensions from the most minor to the most major.
    pub fn minor_to_major(&self) -> &[usize] {
        &self.minor_to_major
    }

    /// The padded width of each dimension, in dimension order; empty where nothing is padded.
    pub fn padded_dimensions(&self) -> &[i64] {
        &self.padded_dimensions
    }

    /// The value that padding holds, where the layout says one.
    pub fn padding_value(&self) -> Option<PaddingValue> {
        self.padding_value
    }

    /// The value that padding of any kind is filled with: that of the padded dimensions, zero
    /// where there are none.
    pub(crate) fn filler(&self) -> PaddingValue {
        match self.padding_value {
            Some(value) if !self.padded_dimensions.is_empty() => value,
            _ => PaddingValue::Zero,
        }
    }

    /// The levels of tiling, outermost first.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// Allocated elements are a multiple of this many; 1 is no alignment.
    pub fn tail_padding_alignment(&self) -> i64 {
        self.tail_padding_alignment
    }

    /// Bits of an element in memory; 0 means the type's own width.
    pub fn element_size_in_bits(&self) -> i64 {
        self.element_size_in_bits
    }

    /// The memory space; 0 is the default one.
    pub fn memory_space(&self) -> i64 {
        self.memory_space
    }

    /// Where physical dimensions are split over memories.
    pub fn split_configs(&self) -> &[SplitConfig] {
        &self.split_configs
    }

    /// Bytes before the array for the sizes of dynamic dimensions.
    pub fn dynamic_shape_metadata_prefix_bytes(&self) -> i64 {
        self.dynamic_shape_metadata_prefix_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_permutations() {
        assert_eq!(Layout::new([]).unwrap(), Layout::descending(0));
        assert_eq!(Layout::new([1, 0]).unwrap(), Layout::descending(2));
        assert_eq!(Layout::new([0, 1]).unwrap(), Layout::ascending(2));
        assert_eq!(
            Layout::new([0, 2]),
            Err(ShapeError::OrderOutOfRange {
                place: 1,
                value: 2,
                rank: 2
            })
        );
        assert_eq!(
            Layout::new([1, 0, 1]),
            Err(ShapeError::OrderRepeated { place: 2, value: 1 })
        );
        assert!(matches!(
            Layout::new([-1, 0]),
            Err(ShapeError::OrderOutOfRange { place: 0, .. })
        ));
    }

    #[test]
    fn parts_are_checked() {
        let layout = || Layout::descending(2);
        assert_eq!(
            layout().with_padding([3], PaddingValue::Zero),
            Err(ShapeError::PaddedRank { found: 1, rank: 2 })
        );
        assert_eq!(
            layout().with_tiles([Tile::new([2]), Tile::new([4, 0])]),
            Err(ShapeError::TileSize {
                tile: 1,
                place: 1,
                size: 0
            })
        );
        assert_eq!(
            layout().with_tiles([Tile::new::<i64>([])]),
            Err(ShapeError::EmptyTile { tile: 0 })
        );
        assert!(layout().with_tail_padding_alignment(0).is_err());
        assert!(layout().with_element_size_in_bits(-1).is_err());
        assert!(
            layout()
                .with_dynamic_shape_metadata_prefix_bytes(-1)
                .is_err()
        );
        let split =
            |configs: &[(i64, &[i64])]| {
                layout().with_split_configs(configs.iter().map(|&(dimension, indices)| {
                    SplitConfig::new(dimension, indices.iter().copied())
                }))
            };
        assert!(split(&[(0, &[1, 2]), (1, &[7])]).is_ok());
        assert!(matches!(
            split(&[(2, &[1])]),
            Err(ShapeError::SplitDimension { config: 0, .. })
        ));
        assert!(matches!(
            split(&[(1, &[1]), (1, &[2])]),
            Err(ShapeError::SplitRepeated { config: 1, .. })
        ));
        assert!(matches!(
            split(&[(1, &[4, 4])]),
            Err(ShapeError::SplitIndex { place: 1, .. })
        ));
        assert!(matches!(
            split(&[(1, &[0])]),
            Err(ShapeError::SplitIndex { place: 0, .. })
        ));
        assert!(matches!(
            split(&[(1, &[])]),
            Err(ShapeError::SplitEmpty { config: 0 })
        ));
    }
}
