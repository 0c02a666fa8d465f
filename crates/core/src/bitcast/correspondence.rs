//! Which element of the result is which of the operand.

use smallvec::{SmallVec, smallvec};

use super::factors::factors;
use super::operation::{BitcastError, Operation};
use crate::array::ArrayShape;
use crate::dimension::resolve_dimension;
use crate::element_type::{ElementKind, ElementType};

/// Dimension numbers, major to minor.
pub(super) type Dims = SmallVec<[usize; 4]>;

/// An index that runs through dimensions of both sides, row-major in each.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub size: i64,
    pub operand: Dims,
    pub result: Dims,
    /// Bits that a step is inside an element of the side that has no dimension here.
    pub inside: i64,
}

/// Which element of the result is which of the operand: independent segments.
#[derive(Clone, Debug)]
pub(super) struct Correspondence {
    pub segments: SmallVec<[Segment; 6]>,
    /// Sizes of the operand's dimensions as far as the result has them.
    pub operand_sizes: SmallVec<[i64; 6]>,
    pub result_sizes: SmallVec<[i64; 6]>,
    /// First index and step of each dimension of the operand.
    pub slice: Option<SmallVec<[(i64, i64); 6]>>,
    /// A dimension of the result, with its size, that repeats the operand.
    pub repeated: Option<(usize, i64)>,
    /// How many elements of each side hold the same bits.
    pub operand_parts: i64,
    pub result_parts: i64,
    /// Whether every element of the operand is in the result.
    pub whole: bool,
}

/// Which side of a correspondence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Operand,
    Result,
}

impl Segment {
    pub fn dimensions(&self, end: End) -> &Dims {
        match end {
            End::Operand => &self.operand,
            End::Result => &self.result,
        }
    }
}

impl Correspondence {
    /// Checks that the shapes are operand and result of the operation; `same_type` is whether
    /// their element types must agree.
    pub fn new(
        operand: &ArrayShape,
        result: &ArrayShape,
        operation: &Operation,
        same_type: bool,
    ) -> Result<Correspondence, BitcastError> {
        let from = operand.sizes().map_err(BitcastError::Operand)?;
        let to = result.sizes().map_err(BitcastError::Result)?;
        let types = (operand.element_type(), result.element_type());
        if same_type && types.0 != types.1 && *operation != Operation::BitcastConvert {
            return Err(BitcastError::ElementType {
                operation: operation.name(),
                operand: types.0,
                result: types.1,
            });
        }
        let mut builder = Builder {
            operation: operation.name(),
            from: &from,
            to: &to,
            made: Correspondence {
                segments: SmallVec::new(),
                operand_sizes: SmallVec::from_slice(&from),
                result_sizes: SmallVec::from_slice(&to),
                slice: None,
                repeated: None,
                operand_parts: 1,
                result_parts: 1,
                whole: true,
            },
        };
        match operation {
            Operation::Copy => builder.copy()?,
            Operation::Transpose { dimensions } => builder.transpose(dimensions)?,
            Operation::Reshape => builder.reshape()?,
            Operation::Slice {
                starts,
                limits,
                strides,
            } => builder.slice(starts, limits, strides)?,
            Operation::Broadcast { dimensions } => builder.broadcast(dimensions)?,
            Operation::BitcastConvert => builder.convert(types.0, types.1)?,
        }
        Ok(builder.made)
    }

    pub fn sizes(&self, end: End) -> &[i64] {
        match end {
            End::Operand => &self.operand_sizes,
            End::Result => &self.result_sizes,
        }
    }

    /// First index and step of an operand's dimension.
    pub fn start_and_step(&self, dimension: usize) -> (i64, i64) {
        self.slice.as_ref().map_or((0, 1), |slice| slice[dimension])
    }

    /// Puts a segment's value into the index of one side.
    pub fn put(&self, segment: &Segment, mut value: i64, end: End, index: &mut [i64]) {
        for &dimension in segment.dimensions(end).iter().rev() {
            let size = self.sizes(end)[dimension];
            let (start, step) = match end {
                End::Operand => self.start_and_step(dimension),
                End::Result => (0, 1),
            };
            index[dimension] = start + value % size * step;
            value /= size;
        }
    }

    /// The index of the operand's or result's first element.
    pub fn origin(&self, end: End) -> SmallVec<[i64; 6]> {
        (0..self.sizes(end).len())
            .map(|dimension| match end {
                End::Operand => self.start_and_step(dimension).0,
                End::Result => 0,
            })
            .collect()
    }
}

struct Builder<'a> {
    operation: &'static str,
    from: &'a [i64],
    to: &'a [i64],
    made: Correspondence,
}

impl Builder<'_> {
    fn rank(&self, expected: usize) -> Result<(), BitcastError> {
        if self.to.len() == expected {
            return Ok(());
        }
        Err(BitcastError::Rank {
            operation: self.operation,
            expected,
            found: self.to.len(),
        })
    }

    fn count(&self, what: &'static str, list: &[i64]) -> Result<(), BitcastError> {
        if list.len() == self.from.len() {
            return Ok(());
        }
        Err(BitcastError::Count {
            what,
            expected: self.from.len(),
            found: list.len(),
        })
    }

    /// A dimension of both sides.
    fn pair(&mut self, operand: usize, result: usize, expected: i64) -> Result<(), BitcastError> {
        let found = self.to[result];
        if found != expected {
            return Err(BitcastError::Size {
                operation: self.operation,
                dimension: result,
                expected,
                found,
            });
        }
        self.made.segments.push(Segment {
            size: found,
            operand: smallvec![operand],
            result: smallvec![result],
            inside: 0,
        });
        Ok(())
    }

    fn copy(&mut self) -> Result<(), BitcastError> {
        self.rank(self.from.len())?;
        (0..self.from.len()).try_for_each(|dimension| {
            let size = self.from[dimension];
            self.pair(dimension, dimension, size)
        })
    }

    fn transpose(&mut self, dimensions: &[i64]) -> Result<(), BitcastError> {
        self.count("dimensions", dimensions)?;
        self.rank(self.from.len())?;
        let dimensions = resolve(dimensions, self.from.len())?;
        for (result, &operand) in dimensions.iter().enumerate() {
            self.pair(operand, result, self.from[operand])?;
        }
        Ok(())
    }

    fn reshape(&mut self) -> Result<(), BitcastError> {
        let elements = |sizes: &[i64]| match sizes.contains(&0) {
            true => 0,
            // The shapes' constructors checked the products.
            false => sizes.iter().product(),
        };
        let (operand, result) = (elements(self.from), elements(self.to));
        if operand != result {
            return Err(BitcastError::Elements { operand, result });
        }
        if operand == 0 {
            return Ok(());
        }
        let factors = factors(self.from, self.to);
        for pair in factors.windows(2) {
            let ((i, j), (next_i, next_j)) = (pair[0], pair[1]);
            self.made.segments.push(Segment {
                size: self.from[i..next_i].iter().product(),
                operand: (i..next_i).collect(),
                result: (j..next_j).collect(),
                inside: 0,
            });
        }
        Ok(())
    }

    fn slice(
        &mut self,
        starts: &[i64],
        limits: &[i64],
        strides: &[i64],
    ) -> Result<(), BitcastError> {
        self.count("starts", starts)?;
        self.count("limits", limits)?;
        self.count("strides", strides)?;
        self.rank(self.from.len())?;
        let mut slice = SmallVec::new();
        for (dimension, &size) in self.from.iter().enumerate() {
            let (start, limit, stride) = (starts[dimension], limits[dimension], strides[dimension]);
            if !(0 <= start && start <= limit && limit <= size) {
                return Err(BitcastError::SliceRange {
                    dimension,
                    start,
                    limit,
                    size,
                });
            }
            if stride < 1 {
                return Err(BitcastError::SliceStride { dimension, stride });
            }
            let span = limit - start;
            let length = span / stride + i64::from(span % stride != 0);
            self.made.whole &= length == size;
            self.made.operand_sizes[dimension] = length;
            self.pair(dimension, dimension, length)?;
            // A step that is never taken may be too large to multiply with.
            slice.push((start, if length > 1 { stride } else { 1 }));
        }
        if !self.made.whole {
            self.made.slice = Some(slice);
        }
        Ok(())
    }

    fn broadcast(&mut self, dimensions: &[i64]) -> Result<(), BitcastError> {
        self.count("dimensions", dimensions)?;
        let dimensions = resolve(dimensions, self.to.len())?;
        for (operand, &result) in dimensions.iter().enumerate() {
            match self.from[operand] {
                1 if self.to[result] != 1 => {}
                size => self.pair(operand, result, size)?,
            }
        }
        let paired = |d: usize| self.made.segments.iter().any(|s| s.result[0] == d);
        self.made.repeated = (0..self.to.len())
            .find(|&d| self.to[d] != 1 && !paired(d))
            .map(|d| (d, self.to[d]));
        Ok(())
    }

    fn convert(&mut self, operand: ElementType, result: ElementType) -> Result<(), BitcastError> {
        let (from, to) = (operand.bit_width(), result.bit_width());
        let complex = |t: ElementType| matches!(t.kind(), ElementKind::Complex { .. });
        let (wide, narrow) = (from.max(to), from.min(to));
        if wide % narrow != 0 || complex(operand) != complex(result) {
            return Err(BitcastError::Convert { operand, result });
        }
        let parts = i64::from(wide / narrow);
        let more = |side, sizes: &[i64], wide, narrow| match sizes.last() {
            Some(&last) if last == parts => Ok(sizes.len() - 1),
            last => Err(BitcastError::Parts {
                side,
                wide,
                narrow,
                expected: parts,
                found: last.copied(),
            }),
        };
        let common = match from.cmp(&to) {
            std::cmp::Ordering::Equal => {
                self.rank(self.from.len())?;
                self.from.len()
            }
            std::cmp::Ordering::Greater => {
                self.rank(self.from.len() + 1)?;
                more("result", self.to, operand, result)?
            }
            std::cmp::Ordering::Less => {
                let common = more("operand", self.from, result, operand)?;
                self.rank(common)?;
                common
            }
        };
        for dimension in 0..common {
            self.pair(dimension, dimension, self.from[dimension])?;
        }
        if from != to {
            let inside = Dims::from_slice(&[common]);
            let (operand, result) = match from > to {
                true => (Dims::new(), inside),
                false => (inside, Dims::new()),
            };
            match from > to {
                true => self.made.result_parts = parts,
                false => self.made.operand_parts = parts,
            }
            self.made.segments.push(Segment {
                size: parts,
                operand,
                result,
                inside: i64::from(narrow),
            });
        }
        Ok(())
    }
}

/// Distinct dimension numbers of an array of this rank, counted from the front.
pub(super) fn resolve(dimensions: &[i64], rank: usize) -> Result<Dims, BitcastError> {
    let mut resolved = Dims::new();
    for (place, &dimension) in dimensions.iter().enumerate() {
        let dimension = resolve_dimension(dimension, rank)
            .map_err(|error| BitcastError::Dimension { place, error })?;
        if resolved.contains(&dimension) {
            return Err(BitcastError::Repeated { place, dimension });
        }
        resolved.push(dimension);
    }
    Ok(resolved)
}
