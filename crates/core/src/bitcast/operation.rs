//! What a result is of its operand.

use std::fmt;

use crate::element_type::ElementType;
use crate::error::ShapeError;

/// An operation that may be a bitcast: a new description of the operand's bytes.
///
/// The names and arguments are those of HLO. Dimension numbers may be negative: -1 is the last.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// The same array in another layout.
    Copy,
    /// Dimension `i` of the result is dimension `dimensions[i]` of the operand.
    Transpose {
        /// One dimension of the operand for each of the result.
        dimensions: Vec<i64>,
    },
    /// The same elements in row-major order, in other dimensions.
    Reshape,
    /// Every `strides[i]`th index of dimension `i` from `starts[i]` to below `limits[i]`.
    Slice {
        /// The first index of each dimension.
        starts: Vec<i64>,
        /// What each dimension's indices stay below.
        limits: Vec<i64>,
        /// The step of each dimension, 1 or more.
        strides: Vec<i64>,
    },
    /// Dimension `i` of the operand is dimension `dimensions[i]` of the result; the result's
    /// other dimensions, and those where the operand has size 1, repeat the operand.
    Broadcast {
        /// One dimension of the result for each of the operand.
        dimensions: Vec<i64>,
    },
    /// The bits of the elements as another type. From a wider type to a narrower one the result
    /// has one dimension more, its last, over the parts of an element, least significant first;
    /// the other way the operand has it.
    BitcastConvert,
}

impl Operation {
    /// The name of the operation in HLO.
    pub const fn name(&self) -> &'static str {
        match self {
            Operation::Copy => "copy",
            Operation::Transpose { .. } => "transpose",
            Operation::Reshape => "reshape",
            Operation::Slice { .. } => "slice",
            Operation::Broadcast { .. } => "broadcast",
            Operation::BitcastConvert => "bitcast-convert",
        }
    }
}

impl fmt::Display for Operation {
    /// The name and the attributes as HLO writes them: `transpose, dimensions={1,0}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Operation::Copy | Operation::Reshape | Operation::BitcastConvert => Ok(()),
            Operation::Transpose { dimensions } | Operation::Broadcast { dimensions } => {
                let dimensions: Vec<String> = dimensions.iter().map(i64::to_string).collect();
                write!(f, ", dimensions={{{}}}", dimensions.join(","))
            }
            Operation::Slice {
                starts,
                limits,
                strides,
            } => {
                let ranges = starts.iter().zip(limits).zip(strides);
                let ranges: Vec<String> = ranges
                    .map(|((start, limit), stride)| match stride {
                        1 => format!("[{start}:{limit}]"),
                        _ => format!("[{start}:{limit}:{stride}]"),
                    })
                    .collect();
                write!(f, ", slice={{{}}}", ranges.join(", "))
            }
        }
    }
}

/// Why two shapes are no operand and result of an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BitcastError {
    /// The element types differ.
    #[error(
        "the operand holds {operand}, the result {result}; a {operation} keeps the element type"
    )]
    #[allow(missing_docs)]
    ElementType {
        operation: &'static str,
        operand: ElementType,
        result: ElementType,
    },
    /// The result has another rank than the operation gives it.
    #[error("the result has {found} dimensions; this {operation} makes {expected}")]
    #[allow(missing_docs)]
    Rank {
        operation: &'static str,
        expected: usize,
        found: usize,
    },
    /// A dimension of the result has another size than the operation gives it.
    #[error("dimension {dimension} of the result is {found}; this {operation} makes it {expected}")]
    #[allow(missing_docs)]
    Size {
        operation: &'static str,
        dimension: usize,
        expected: i64,
        found: i64,
    },
    /// A reshape from or to another number of elements.
    #[error("the operand has {operand} elements, the result {result}; a reshape keeps them all")]
    #[allow(missing_docs)]
    Elements { operand: i64, result: i64 },
    /// Too many or too few numbers among the operation's attributes.
    #[error("{found} {what} were given; the operand has {expected} dimensions")]
    #[allow(missing_docs)]
    Count {
        what: &'static str,
        expected: usize,
        found: usize,
    },
    /// A dimension number that the other side does not have.
    #[error("dimensions[{place}]: {error}")]
    #[allow(missing_docs)]
    Dimension { place: usize, error: ShapeError },
    /// A dimension that is named twice.
    #[error(
        "dimensions[{place}] is {dimension}, which stands there already; expected each dimension once"
    )]
    #[allow(missing_docs)]
    Repeated { place: usize, dimension: usize },
    /// A slice that leaves its dimension, or runs backwards.
    #[error(
        "the slice of dimension {dimension} is from {start} to {limit}; expected 0 <= start <= limit <= {size}"
    )]
    #[allow(missing_docs)]
    SliceRange {
        dimension: usize,
        start: i64,
        limit: i64,
        size: i64,
    },
    /// A slice with a step below 1.
    #[error("the slice of dimension {dimension} steps by {stride}; expected 1 or more")]
    #[allow(missing_docs)]
    SliceStride { dimension: usize, stride: i64 },
    /// Bits that can't be read as the other type.
    #[error(
        "{operand} can't be read as {result}: expected a width in bits that divides the other, and both complex or neither"
    )]
    #[allow(missing_docs)]
    Convert {
        operand: ElementType,
        result: ElementType,
    },
    /// The dimension over the parts of a wider element is missing, or of another size.
    #[error("{wide} is {expected} {narrow}s; expected the {side}'s last dimension to be {expected}, found {}", .found.map_or("none".to_owned(), |found| found.to_string()))]
    #[allow(missing_docs)]
    Parts {
        side: &'static str,
        wide: ElementType,
        narrow: ElementType,
        expected: i64,
        found: Option<i64>,
    },
    /// The operand lacks a layout or a size.
    #[error("the operand: {0}")]
    Operand(ShapeError),
    /// The result lacks a layout or a size.
    #[error("the result: {0}")]
    Result(ShapeError),
}
