//! The parts of a layout that are values of their own: padding values, tiles, splits.

use std::fmt;

use smallvec::SmallVec;

use crate::proto::UnknownFields;

/// What the bytes between the elements hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaddingValue {
    /// Zero, the value where none is said.
    Zero,
    /// One; 1 + 0i for a complex type.
    One,
    /// Minus infinity, or the least value of a type without it.
    Lowest,
    /// Infinity, or the greatest value of a type without it.
    Highest,
    /// Anything: such padding is never written.
    Unknown,
}

impl PaddingValue {
    /// All values, in the order of their numbers in the proto, which start at 1.
    pub const ALL: [PaddingValue; 5] = [
        PaddingValue::Zero,
        PaddingValue::One,
        PaddingValue::Lowest,
        PaddingValue::Highest,
        PaddingValue::Unknown,
    ];

    /// The name in text.
    pub const fn name(self) -> &'static str {
        match self {
            PaddingValue::Zero => "zero",
            PaddingValue::One => "one",
            PaddingValue::Lowest => "lowest",
            PaddingValue::Highest => "highest",
            PaddingValue::Unknown => "unknown",
        }
    }
}

impl fmt::Display for PaddingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One level of tiling: the tile's sizes, major to minor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    pub(crate) dimensions: SmallVec<[TileDimension; 4]>,
    pub(crate) unknown: UnknownFields,
}

/// One dimension of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileDimension {
    /// The tile's size in this dimension, 1 or more.
    Size(i64),
    /// `*`: this dimension is combined with the next more minor one before the tile cuts it.
    Combine,
}

impl From<i64> for TileDimension {
    fn from(size: i64) -> Self {
        TileDimension::Size(size)
    }
}

impl Tile {
    /// A tile of these sizes, major to minor. Whether they are positive is checked where the
    /// tile is put into a layout.
    pub fn new<D: Into<TileDimension>>(dimensions: impl IntoIterator<Item = D>) -> Tile {
        Tile {
            dimensions: dimensions.into_iter().map(Into::into).collect(),
            unknown: UnknownFields::default(),
        }
    }

    /// The sizes, major to minor.
    pub fn dimensions(&self) -> &[TileDimension] {
        &self.dimensions
    }
}

/// Where one physical dimension is split over memories.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitConfig {
    pub(crate) dimension: i64,
    pub(crate) split_indices: Vec<i64>,
    pub(crate) unknown: UnknownFields,
}

impl SplitConfig {
    /// Splits physical dimension `dimension` (0 is the most major) before each of the indices.
    pub fn new(dimension: i64, split_indices: impl IntoIterator<Item = i64>) -> SplitConfig {
        SplitConfig {
            dimension,
            split_indices: split_indices.into_iter().collect(),
            unknown: UnknownFields::default(),
        }
    }

    /// The physical dimension; 0 is the most major.
    pub fn dimension(&self) -> i64 {
        self.dimension
    }

    /// The indices before which the dimension is split, rising.
    pub fn split_indices(&self) -> &[i64] {
        &self.split_indices
    }
}
