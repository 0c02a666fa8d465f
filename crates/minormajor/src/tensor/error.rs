//! Why an operation on tensors is refused.

use minormajor_core::bitcast::BitcastError;
use minormajor_core::broadcast::{BroadcastError, Sizes};
use minormajor_core::plan::PlanError;
use minormajor_core::{ElementType, IndexError, ShapeError, ViewError};

use crate::backend::{DeviceError, ScalarError};

/// Why an operation on tensors is refused, or failed on its device. Tensors stay as they were.
///
/// Everything but [`Device`](TensorError::Device) is found before any device is asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// Shapes that don't go together.
    #[error("{operation}: {source}")]
    #[allow(missing_docs)]
    Broadcast {
        operation: &'static str,
        source: BroadcastError,
    },
    /// Shapes that must be equal.
    #[error("{operation}: the shapes are {left} and {right}; expected equal ones")]
    #[allow(missing_docs)]
    Sizes {
        operation: &'static str,
        left: Sizes,
        right: Sizes,
    },
    /// Operands of different types.
    #[error(
        "{operation}: the left operand {left_sizes} holds {left}, the right one {right_sizes} {right}; expected one element type"
    )]
    #[allow(missing_docs)]
    ElementTypes {
        operation: &'static str,
        left: ElementType,
        left_sizes: Sizes,
        right: ElementType,
        right_sizes: Sizes,
    },
    /// An operation that there is not for this type.
    #[error("{operation} is not for {element_type}; expected {expected}")]
    #[allow(missing_docs)]
    Unsupported {
        operation: &'static str,
        element_type: ElementType,
        expected: &'static str,
    },
    /// Operands on different devices.
    #[error(
        "{operation}: the left operand is on {left}, the right one on {right}; move one with `to`"
    )]
    #[allow(missing_docs)]
    Devices {
        operation: &'static str,
        left: String,
        right: String,
    },
    /// Two numbers and no tensor.
    #[error("{operation}: both sides are numbers; expected a tensor on one of them")]
    #[allow(missing_docs)]
    NoTensor { operation: &'static str },
    /// Data of another length than the array's.
    #[error("{found} {what} were given for {shape}; expected {expected}")]
    #[allow(missing_docs)]
    Length {
        what: &'static str,
        shape: String,
        found: usize,
        expected: i64,
    },
    /// Elements asked for as another type.
    #[error("the tensor holds {found}; expected {expected}")]
    #[allow(missing_docs)]
    WrongType {
        found: ElementType,
        expected: ElementType,
    },
    /// A view of a tensor that only a copy could be.
    #[error("{operation} of {shape} is no view: {reason}; copy it first, with `contiguous`")]
    #[allow(missing_docs)]
    NotAView {
        operation: &'static str,
        shape: String,
        reason: String,
    },
    /// A range that a dimension lacks, or a step of 0.
    #[error(
        "dimension {dimension} of size {size} has no range {start}..{end} by {step}; expected 0 <= start <= end <= {size} and a step that is not 0"
    )]
    #[allow(missing_docs)]
    Range {
        dimension: usize,
        size: i64,
        start: i64,
        end: i64,
        step: i64,
    },
    /// Bounds of random numbers that hold none.
    #[error("{operation}: there are no {element_type} numbers from {low} to below {high}")]
    #[allow(missing_docs)]
    Bounds {
        operation: &'static str,
        element_type: ElementType,
        low: String,
        high: String,
    },
    /// The greatest of no elements.
    #[error("max of {sizes} over dimensions {axes:?}: of no elements none is the greatest")]
    #[allow(missing_docs)]
    NoMax { sizes: Sizes, axes: Vec<usize> },
    /// More than one element where one was asked for.
    #[error("the tensor {sizes} has {elements} elements; expected one")]
    #[allow(missing_docs)]
    NotOne { sizes: Sizes, elements: i64 },
    /// Tolerances that are negative or NaN.
    #[error("is_close: the tolerance {found} is none; expected 0 or more")]
    #[allow(missing_docs)]
    Tolerance { found: f64 },
    /// A number that the element type lacks.
    #[error(transparent)]
    Scalar(#[from] ScalarError),
    /// A shape that can't be.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A view that can't be.
    #[error(transparent)]
    View(#[from] ViewError),
    /// An index that is not there.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A question about shapes that has no answer.
    #[error(transparent)]
    Bitcast(#[from] BitcastError),
    /// A layout that elements can't be moved to.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device could not.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
