//! What can be wrong with a shape or a layout, and which part of it is.

use crate::ElementType;
use crate::layout::PaddingValue;
use crate::shape::ShapeIndex;

/// Why a shape or a layout can't be built.
///
/// Every variant names the dimension (or other part) at fault, what was expected and what came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A dimension number outside `-rank..rank`.
    #[error(
        "there is no dimension {dimension} in rank {rank}: expected -{rank} to {rank}, -{rank} included"
    )]
    #[allow(missing_docs)]
    NoSuchDimension { dimension: i64, rank: usize },
    /// A size or a bound below zero.
    #[error("dimension {dimension} has size {size}; expected 0 or more")]
    #[allow(missing_docs)]
    NegativeSize { dimension: usize, size: i64 },
    /// A size that needs more than 63 bits.
    #[error("dimension {dimension} takes the {what} beyond 2^63 - 1")]
    #[allow(missing_docs)]
    Overflow {
        dimension: usize,
        what: &'static str,
    },
    /// The minor-to-major order has another length than the rank.
    #[error("the minor-to-major order has {found} dimensions, the shape has {rank}")]
    #[allow(missing_docs)]
    LayoutRank { found: usize, rank: usize },
    /// The minor-to-major order names a dimension that is not there.
    #[error("minor_to_major[{place}] is {value}; expected a dimension from 0 to {}", .rank.wrapping_sub(1) as isize)]
    #[allow(missing_docs)]
    OrderOutOfRange {
        place: usize,
        value: i64,
        rank: usize,
    },
    /// The minor-to-major order names a dimension twice.
    #[error(
        "minor_to_major[{place}] is {value}, which stands there already; expected each dimension once"
    )]
    #[allow(missing_docs)]
    OrderRepeated { place: usize, value: i64 },
    /// A tile without dimensions.
    #[error("tile {tile} has no dimensions; expected at least one")]
    #[allow(missing_docs)]
    EmptyTile { tile: usize },
    /// A tile dimension below 1.
    #[error("dimension {place} of tile {tile} is {size}; expected 1 or more, or `*`")]
    #[allow(missing_docs)]
    TileSize {
        tile: usize,
        place: usize,
        size: i64,
    },
    /// Padded widths for another number of dimensions than the rank.
    #[error("{found} padded dimensions were given, the layout has {rank}")]
    #[allow(missing_docs)]
    PaddedRank { found: usize, rank: usize },
    /// A padded width below the size.
    #[error("dimension {dimension} is padded to {padded}, which is less than its size {size}")]
    #[allow(missing_docs)]
    PaddedBelowSize {
        dimension: usize,
        padded: i64,
        size: i64,
    },
    /// A padded width for a dimension of unknown size.
    #[error("dimension {dimension} is unbounded (`?`) and can't be padded")]
    #[allow(missing_docs)]
    PaddedUnbounded { dimension: usize },
    /// The element type has no such value.
    #[error("{element_type} has no value {value} to pad with")]
    #[allow(missing_docs)]
    NoSuchPaddingValue {
        element_type: ElementType,
        value: PaddingValue,
    },
    /// A tail padding alignment below 1.
    #[error("the tail padding alignment is {found}; expected 1 or more elements")]
    #[allow(missing_docs)]
    TailPadding { found: i64 },
    /// A negative element size.
    #[error("the element size is {found} bits; expected 0 (the type's own) or more")]
    #[allow(missing_docs)]
    ElementSize { found: i64 },
    /// A negative dynamic shape metadata prefix.
    #[error("the dynamic shape metadata prefix is {found} bytes; expected 0 or more")]
    #[allow(missing_docs)]
    MetadataPrefix { found: i64 },
    /// A split configuration for a physical dimension that is not there.
    #[error("split configuration {config} is for physical dimension {dimension}; expected 0 to {} (0 is the most major)", .rank.wrapping_sub(1) as isize)]
    #[allow(missing_docs)]
    SplitDimension {
        config: usize,
        dimension: i64,
        rank: usize,
    },
    /// Two split configurations for one physical dimension.
    #[error("split configuration {config} is the second for physical dimension {dimension}")]
    #[allow(missing_docs)]
    SplitRepeated { config: usize, dimension: i64 },
    /// A split configuration without indices.
    #[error("split configuration {config} has no split indices; expected at least one")]
    #[allow(missing_docs)]
    SplitEmpty { config: usize },
    /// Split indices that do not rise, start below 1, or reach the dimension's size.
    #[error("split index {index} of configuration {config} is out of order; expected indices that rise from 1 to below the dimension's size{}", .size.map(|size| format!(" {size}")).unwrap_or_default())]
    #[allow(missing_docs)]
    SplitIndex {
        config: usize,
        place: usize,
        index: i64,
        size: Option<i64>,
    },
    /// A permutation with a number that is not there.
    #[error("permutation[{place}] is {value}; expected a number from 0 to {}, each once", .len.wrapping_sub(1) as isize)]
    #[allow(missing_docs)]
    PermutationOutOfRange {
        place: usize,
        value: i64,
        len: usize,
    },
    /// A permutation with a number twice.
    #[error(
        "permutation[{place}] is {value}, which stands there already; expected each number once"
    )]
    #[allow(missing_docs)]
    PermutationRepeated { place: usize, value: i64 },
    /// A permutation of another number of things.
    #[error("a permutation of {len} was given for {found}; expected one of as many")]
    #[allow(missing_docs)]
    PermutationLength { len: usize, found: usize },
    /// An array of another rank.
    #[error("the array has {found} dimensions; expected {expected}")]
    #[allow(missing_docs)]
    Rank { found: usize, expected: usize },
    /// A dimension listed twice where each may stand once.
    #[error("dimension {dimension} is listed twice; expected each at most once")]
    #[allow(missing_docs)]
    DimensionRepeated { dimension: usize },
    /// A type that is not complex, where one was expected.
    #[error("expected a complex element type, found {found}")]
    #[allow(missing_docs)]
    NotComplex { found: ElementType },
    /// A range of indices that a dimension does not have.
    #[error(
        "{count} indices from {base} on are not in dimension {dimension}, whose size is {size}"
    )]
    #[allow(missing_docs)]
    Range {
        dimension: usize,
        base: i64,
        count: i64,
        size: i64,
    },
    /// A step below 1.
    #[error("the step of dimension {dimension} is {step}; expected 1 or more")]
    #[allow(missing_docs)]
    Step { dimension: usize, step: i64 },
    /// A number of parts that a dimension can't be cut into.
    #[error(
        "dimension {place} from the most major one, of size {size}, can't be cut into {count} parts; expected 1 to the size"
    )]
    #[allow(missing_docs)]
    PartCount { place: usize, count: i64, size: i64 },
    /// Tuples nested too deep.
    #[error("tuples are nested more than {limit} deep")]
    #[allow(missing_docs)]
    TooDeep { limit: usize },
    /// The shape has no layout, and the question needs one.
    #[error("{shape} has no layout; expected one such as {{0}}, minor dimension first")]
    #[allow(missing_docs)]
    NoLayout { shape: String },
    /// The shape has a dimension of unknown size, and the question needs all sizes.
    #[error(
        "dimension {dimension} is unbounded (`?`), so the array has no size yet; expected sizes or bounds (`<=n`)"
    )]
    #[allow(missing_docs)]
    Unbounded { dimension: usize },
    /// The shape is not a tuple.
    #[error("expected a tuple, found {found}")]
    #[allow(missing_docs)]
    NotATuple { found: &'static str },
    /// A slice of elements that a tuple does not have.
    #[error("elements {start} to before {limit} are no slice of a tuple of {len}")]
    #[allow(missing_docs)]
    TupleSlice {
        start: usize,
        limit: usize,
        len: usize,
    },
    /// A path that leads nowhere in a tuple's tree.
    #[error("there is no subshape {index} in {shape}")]
    #[allow(missing_docs)]
    NoSuchSubshape { index: ShapeIndex, shape: String },
    /// Two shapes whose tuples differ.
    #[error("subshape {index} is {found}; expected {expected}")]
    #[allow(missing_docs)]
    Structure {
        index: ShapeIndex,
        found: String,
        expected: String,
    },
    /// Two shapes that are not of the same values.
    #[error(
        "{found} is not compatible; expected the tuples, element types and sizes of {expected}"
    )]
    #[allow(missing_docs)]
    Incompatible { found: String, expected: String },
    /// A kind of value without a size or a serialized form.
    #[error("{found} has no {what}")]
    #[allow(missing_docs)]
    NoSize {
        found: &'static str,
        what: &'static str,
    },
    /// The sizes of a tuple's elements add up to more than 63 bits.
    #[error("the tuple's {what} are beyond 2^63 - 1")]
    #[allow(missing_docs)]
    TupleOverflow { what: &'static str },
    /// The shape is not an array.
    #[error("expected an array, found {found}")]
    #[allow(missing_docs)]
    NotAnArray { found: &'static str },
}

/// The part of a shape's text at which an error points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Dimension(usize),
    Order(usize),
    OrderEnd,
    Tile(usize, usize),
    Padded(usize),
    PaddedEnd,
    PaddingValue,
    TailPadding,
    ElementSize,
    MetadataPrefix,
    Split(usize),
    SplitIndex(usize, usize),
}

impl ShapeError {
    pub(crate) fn part(&self) -> Part {
        match *self {
            ShapeError::NegativeSize { dimension, .. }
            | ShapeError::Overflow { dimension, .. }
            | ShapeError::Unbounded { dimension } => Part::Dimension(dimension),
            ShapeError::OrderOutOfRange { place, .. } | ShapeError::OrderRepeated { place, .. } => {
                Part::Order(place)
            }
            ShapeError::LayoutRank { found, rank } if found > rank => Part::Order(rank),
            ShapeError::LayoutRank { .. } => Part::OrderEnd,
            ShapeError::EmptyTile { tile } => Part::Tile(tile, 0),
            ShapeError::TileSize { tile, place, .. } => Part::Tile(tile, place),
            ShapeError::PaddedRank { found, rank } if found > rank => Part::Padded(rank),
            ShapeError::PaddedRank { .. } => Part::PaddedEnd,
            ShapeError::PaddedBelowSize { dimension, .. }
            | ShapeError::PaddedUnbounded { dimension } => Part::Padded(dimension),
            ShapeError::NoSuchPaddingValue { .. } => Part::PaddingValue,
            ShapeError::TailPadding { .. } => Part::TailPadding,
            ShapeError::ElementSize { .. } => Part::ElementSize,
            ShapeError::MetadataPrefix { .. } => Part::MetadataPrefix,
            ShapeError::SplitDimension { config, .. }
            | ShapeError::SplitRepeated { config, .. }
            | ShapeError::SplitEmpty { config } => Part::Split(config),
            ShapeError::SplitIndex { config, place, .. } => Part::SplitIndex(config, place),
            ShapeError::NoSuchDimension { .. }
            | ShapeError::PermutationOutOfRange { .. }
            | ShapeError::PermutationRepeated { .. }
            | ShapeError::PermutationLength { .. }
            | ShapeError::Rank { .. }
            | ShapeError::DimensionRepeated { .. }
            | ShapeError::NotComplex { .. }
            | ShapeError::Range { .. }
            | ShapeError::Step { .. }
            | ShapeError::PartCount { .. }
            | ShapeError::TooDeep { .. }
            | ShapeError::NoLayout { .. }
            | ShapeError::NotATuple { .. }
            | ShapeError::TupleSlice { .. }
            | ShapeError::NoSuchSubshape { .. }
            | ShapeError::Structure { .. }
            | ShapeError::Incompatible { .. }
            | ShapeError::NoSize { .. }
            | ShapeError::TupleOverflow { .. }
            | ShapeError::NotAnArray { .. } => Part::Whole,
        }
    }
}
