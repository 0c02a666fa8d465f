//! Why an operation is no bitcast.

use std::fmt;

use super::compare::{Difference, Element};
use super::correspondence::{Correspondence, Dims, End};
use super::side::Side;

/// What stands in the way of a bitcast.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// From one element to the next, the operand goes another way in memory than the result.
    Step {
        /// The step in the operand.
        operand: Box<Step>,
        /// The same step in the result.
        result: Box<Step>,
    },
    /// The result repeats elements: no layout puts two elements at one position.
    Repeated {
        /// The dimension of the result that has no counterpart.
        dimension: usize,
        /// Its size.
        size: i64,
    },
    /// Both store their elements in another number of bits.
    ElementSize {
        /// Bits of an element of the operand.
        operand: i64,
        /// Bits of an element of the result.
        result: i64,
    },
    /// Every element is in its place, but the result's buffer reaches behind the operand's.
    Allocation {
        /// Bytes that the operand allocates.
        operand: i64,
        /// Bytes that the result allocates.
        result: i64,
        /// The byte of the operand's buffer at which the result's begins.
        byte_offset: i64,
    },
    /// Packed elements: the result would begin inside a byte.
    InsideByte {
        /// The bit of the operand's buffer at which it would begin.
        bit_offset: i64,
    },
    /// The two are in different memory spaces.
    MemorySpace {
        /// Of the operand.
        operand: i64,
        /// Of the result.
        result: i64,
    },
}

/// A step from one element to the next of the row-major order, on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The dimension whose index rises; `None` where the step stays inside an element.
    pub dimension: Option<usize>,
    /// The dimension from whose end to whose beginning the step goes, where it crosses from one
    /// dimension into the next: the other half of the pair.
    pub wrapped: Option<usize>,
    /// The index before the step.
    pub from: Vec<i64>,
    /// The index behind the step.
    pub to: Vec<i64>,
    /// How far the step goes in memory, in bits; negative towards the front. Where the other
    /// side has the parts of an element one by one, it may begin or end inside an element.
    pub bits: i64,
    /// How far it goes in elements, where both sides store them in as many bits and it is whole.
    pub elements: Option<i64>,
    /// What makes it another step than those before, as far as the layout says it.
    pub cause: Option<Cause>,
}

/// What makes a step in memory longer than the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A tile ends between the two elements.
    Tile,
    /// The dimension that the step leaves is padded.
    Padding {
        /// Its size.
        size: i64,
        /// Its padded width.
        padded: i64,
    },
}

impl Obstacle {
    /// The steps into the first of the elements that lie apart, where memory is walked in the
    /// shortest steps: at the most minor dimension at fault.
    pub(super) fn step<'a>(
        correspondence: &Correspondence,
        operand: &Side<'_>,
        result: &Side<'_>,
        differences: impl Iterator<Item = Difference<'a>>,
    ) -> Option<Obstacle> {
        let comparable = operand.bits == result.bits;
        let steps = differences.map(|difference| {
            let step = |side, end| Step::new(correspondence, &difference, side, end, comparable);
            (step(operand, End::Operand), step(result, End::Result))
        });
        let (operand, result) =
            steps.min_by_key(|(from, to)| from.bits.unsigned_abs().min(to.bits.unsigned_abs()))?;
        Some(Obstacle::Step {
            operand: Box::new(operand),
            result: Box::new(result),
        })
    }
}

impl Step {
    fn new(
        correspondence: &Correspondence,
        difference: &Difference<'_>,
        side: &Side<'_>,
        end: End,
        comparable: bool,
    ) -> Step {
        let segments = &difference.segments;
        let element = |at: i64| Element::new(correspondence, segments, at, end);
        let length = |at: i64| element(at).position(side) - element(at - 1).position(side);
        let (from, to) = (element(difference.at - 1), element(difference.at));
        let moved: Dims = segments
            .iter()
            .flat_map(|segment| segment.dimensions(end).iter().copied())
            .filter(|&d| from.index[d] != to.index[d])
            .collect();
        let bits = length(difference.at);
        let wrapped = moved.get(1).copied();
        let cause = match wrapped {
            Some(wrapped) => end_of_dimension(side, moved[0], wrapped),
            // Of equal steps so far, this one is longer.
            None if difference.at > 1 && length(difference.at - 1) != bits => Some(Cause::Tile),
            None => None,
        };
        Step {
            dimension: moved.first().copied(),
            wrapped,
            from: from.index.to_vec(),
            to: to.index.to_vec(),
            bits,
            elements: (comparable && bits % side.bits == 0).then_some(bits / side.bits),
            cause,
        }
    }
}

/// What lies behind the end of a dimension, before the next index of the one around it.
fn end_of_dimension(side: &Side<'_>, outer: usize, wrapped: usize) -> Option<Cause> {
    let layout = side.shape.layout()?;
    let order = layout.minor_to_major();
    if !order.windows(2).any(|pair| pair == [wrapped, outer]) {
        return None;
    }
    let size = side.map.sizes()[wrapped];
    match layout.padded_dimensions().get(wrapped) {
        Some(&padded) if padded > size => Some(Cause::Padding { size, padded }),
        _ if !layout.tiles().is_empty() => Some(Cause::Tile),
        _ => None,
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Step { operand, result } => {
                let in_elements = operand.elements.is_some() && result.elements.is_some();
                f.write_str("the operand goes ")?;
                operand.fmt(f, in_elements)?;
                f.write_str(", the result ")?;
                result.fmt(f, in_elements)
            }
            Obstacle::Repeated { dimension, size } => write!(
                f,
                "dimension {dimension} of the result holds every element {size} times; no layout \
                 puts two elements at one position"
            ),
            Obstacle::ElementSize { operand, result } => write!(
                f,
                "the operand stores an element in {operand} bits, the result in {result}"
            ),
            Obstacle::Allocation {
                operand,
                result,
                byte_offset,
            } => {
                write!(
                    f,
                    "every element is in its place, but the result allocates {result} bytes"
                )?;
                if *byte_offset != 0 {
                    write!(f, " from byte {byte_offset} on")?;
                }
                write!(f, ", and the operand has {operand}")
            }
            Obstacle::InsideByte { bit_offset } => write!(
                f,
                "the result would begin at bit {} of byte {}; a buffer begins at a whole byte",
                bit_offset % 8,
                bit_offset / 8
            ),
            Obstacle::MemorySpace { operand, result } => write!(
                f,
                "the operand is in memory space {operand}, the result in {result}"
            ),
        }
    }
}

impl Step {
    /// `from [0, 2] to [1, 0] (dimensions 0 and 1) by 2 elements`
    fn fmt(&self, f: &mut fmt::Formatter<'_>, in_elements: bool) -> fmt::Result {
        match self.dimension {
            Some(_) => write!(f, "from {:?} to {:?} (", self.from, self.to)?,
            None => write!(f, "inside {:?} (one element", self.from)?,
        }
        match (self.dimension, self.wrapped) {
            (None, _) => {}
            (Some(dimension), None) => write!(f, "dimension {dimension}")?,
            (Some(dimension), Some(wrapped)) => {
                write!(f, "dimensions {dimension} and {wrapped}")?;
            }
        }
        match (self.cause, self.wrapped) {
            (Some(Cause::Tile), _) => f.write_str(", where a tile ends")?,
            (Some(Cause::Padding { size, padded }), Some(wrapped)) => {
                write!(f, "; {wrapped} is padded from {size} to {padded}")?;
            }
            _ => {}
        }
        let (amount, unit) = match self.elements {
            Some(elements) if in_elements => (elements, "element"),
            _ if self.bits % 8 == 0 => (self.bits / 8, "byte"),
            _ => (self.bits, "bit"),
        };
        let plural = if amount.unsigned_abs() == 1 { "" } else { "s" };
        write!(f, ") by {amount} {unit}{plural}")
    }
}
