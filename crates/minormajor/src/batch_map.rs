//! Many indices to positions at once, and back.

use minormajor_core::{
    AddressMap, ArrayShape, Conversion, ConversionStep, IndexError, Layout, ShapeError,
};
use minormajor_kernels::{Column, OutOfBounds, Program, Step, Tuning};
use smallvec::SmallVec;

/// An [`AddressMap`] for batches: arrays of indices to positions, and back, at about a nanosecond
/// each.
///
/// A batch of indices is a column for each dimension, as NumPy's `ravel_multi_index` takes them:
/// `columns[d][k]` is dimension `d` of index `k`. What is read is a slice, or any [`Column`]: numbers
/// of 32 bits too, and at any distance. No step of a conversion divides or branches on an
/// index, and only one core works; cut a batch into parts to use more.
///
/// ```
/// use minormajor::{BatchMap, Shape};
///
/// let shape: Shape = "f32[3,5]{1,0:T(2,2)}".parse()?;
/// let map = BatchMap::new(shape.as_array()?)?;
/// let mut positions = [0; 3];
/// map.positions(&[&[0, 2, 2], &[0, 3, 4]], &mut positions)?;
/// assert_eq!(positions, [0, 17, 20]);
///
/// let (mut rows, mut columns) = ([0; 3], [0; 3]);
/// let padding = map.indices(&[17, 9, 20], &mut [&mut rows, &mut columns])?;
/// assert_eq!((rows, columns), ([2, -1, 2], [3, -1, 4])); // position 9 is padding
/// assert_eq!(padding, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchMap {
    sizes: Vec<i64>,
    allocated: i64,
    to_positions: Program,
    to_indices: Program,
    tuning: Tuning,
}

/// What is wrong with a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// Too many or too few columns.
    #[error("the batch has {found} columns, the array has {rank} dimensions")]
    #[allow(missing_docs)]
    Rank { found: usize, rank: usize },
    /// A column of another length than the positions.
    #[error("the column of dimension {dimension} has {found} numbers, beside {expected} positions")]
    #[allow(missing_docs)]
    Length {
        dimension: usize,
        found: usize,
        expected: usize,
    },
    /// An index or position that the array does not have. Those before it are converted;
    /// what is written for it and those behind it may be anything.
    #[error("number {place} of the batch, from 0: {error}")]
    OutOfRange {
        /// Its place in the batch, from 0: the first that is wrong.
        place: usize,
        /// What is wrong; of an index, with its first dimension that is.
        #[source]
        error: IndexError,
    },
}

impl BatchMap {
    /// The map of an array in its layout: tiles, padding and all.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoLayout`] or [`ShapeError::Unbounded`] where the shape does not say enough.
    pub fn new(shape: &ArrayShape) -> Result<BatchMap, ShapeError> {
        let map = AddressMap::new(shape)?;
        Ok(BatchMap {
            sizes: map.sizes().to_vec(),
            allocated: map.allocated_elements(),
            to_positions: program(&map.index_to_position()),
            to_indices: program(&map.position_to_index()),
            tuning: Tuning::default(),
        })
    }

    /// The map to places among the elements alone, in the order of the layout, as
    /// [`ArrayShape::linear_index`] counts them: no tiles, no padding.
    ///
    /// ```
    /// use minormajor::{BatchMap, Shape};
    ///
    /// let shape: Shape = "f32[10,20]{0,1:T(8,128)}".parse()?;
    /// let map = BatchMap::linear(shape.as_array()?)?;
    /// let mut places = [0; 2];
    /// map.positions(&[&[3, 4], &[2, 2]], &mut places)?;
    /// assert_eq!(places, [23, 24]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn linear(shape: &ArrayShape) -> Result<BatchMap, ShapeError> {
        let order = shape.require_layout()?.minor_to_major();
        let order: Vec<i64> = order.iter().map(|&dimension| dimension as i64).collect();
        BatchMap::new(&shape.with_layout(Layout::new(order)?)?)
    }

    /// With other choices than the default ones.
    pub fn tuned(mut self, tuning: Tuning) -> BatchMap {
        self.tuning = tuning;
        self
    }

    /// How many dimensions the array has.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// The positions of many indices, in elements: of index `k`, `positions[k]`.
    ///
    /// # Errors
    ///
    /// [`BatchError`] for another number of columns than the array's rank, for columns of another
    /// length than `positions`, and for the first index that the array does not have. The positions
    /// of the indices before it are written; those from there on may be anything.
    #[doc(alias = "ravel_multi_index")]
    pub fn positions<'a>(
        &self,
        columns: &[impl Copy + Into<Column<'a>>],
        positions: &mut [i64],
    ) -> Result<(), BatchError> {
        let mut read = SmallVec::<[Column<'a>; 8]>::new();
        columns.iter().for_each(|&column| read.push(column.into()));
        let columns = read;
        self.check(columns.iter().map(Column::rows), positions.len())?;
        let run = self
            .to_positions
            .run(&columns, &mut [positions], &self.tuning);
        run.map(drop)
            .map_err(|OutOfBounds { row, column }| BatchError::OutOfRange {
                place: row,
                error: IndexError::OutOfRange {
                    dimension: column,
                    index: columns[column].get(row),
                    size: self.sizes[column],
                },
            })
    }

    /// The indices of many positions: of `positions[k]`, `columns[d][k]` in every dimension `d`.
    /// Where a position is padding there is no index, and every column gets -1. Returns how many
    /// those are.
    ///
    /// # Errors
    ///
    /// [`BatchError`] for another number of columns than the array's rank, for columns of another
    /// length than `positions`, and for the first position outside the allocated elements. The
    /// indices of the positions before it are written; those from there on may be anything.
    #[doc(alias = "unravel_index")]
    pub fn indices<'a>(
        &self,
        positions: impl Into<Column<'a>>,
        columns: &mut [&mut [i64]],
    ) -> Result<usize, BatchError> {
        let positions = positions.into();
        self.check(columns.iter().map(|column| column.len()), positions.rows())?;
        let run = self.to_indices.run(&[positions], columns, &self.tuning);
        run.map_err(|OutOfBounds { row, .. }| BatchError::OutOfRange {
            place: row,
            error: IndexError::Position {
                position: positions.get(row),
                allocated: self.allocated,
            },
        })
    }

    fn check(
        &self,
        columns: impl ExactSizeIterator<Item = usize>,
        expected: usize,
    ) -> Result<(), BatchError> {
        let (found, rank) = (columns.len(), self.sizes.len());
        if found != rank {
            return Err(BatchError::Rank { found, rank });
        }
        match columns.enumerate().find(|&(_, found)| found != expected) {
            Some((dimension, found)) => Err(BatchError::Length {
                dimension,
                found,
                expected,
            }),
            None => Ok(()),
        }
    }
}

/// Makes a conversion ready to run.
fn program(conversion: &Conversion) -> Program {
    let steps = conversion.steps.iter().map(|&step| match step {
        ConversionStep::Zero { to } => Step::Zero { to },
        ConversionStep::Add { from, factor, to } => Step::Add { from, factor, to },
        ConversionStep::Divide {
            value,
            divisor,
            remainder,
        } => Step::Divide {
            value,
            divisor,
            remainder,
        },
        ConversionStep::Check { value, bound } => Step::Check { value, bound },
    });
    let steps: Vec<Step> = steps.collect();
    let Conversion {
        inputs,
        outputs,
        limit,
        ..
    } = conversion;
    Program::new(inputs, &steps, outputs, *limit)
}
