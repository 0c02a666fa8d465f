//! Arithmetic on columns of numbers: one short list of steps, done for every row of a batch.
//!
//! Rows go through the steps in [`blocks`], one step after the other. So every inner loop is a plain one over a few
//! arrays in the first-level cache, which the compiler makes vectors of, whatever the list of steps is; and none
//! divides: a divisor is prepared as a factor, see [`number`].
//!
//! Two lists that are most of what is asked for have loops of their own, which pass over
//! the columns once: a sum of multiples of the inputs, and one input divided again and again ([`form`]).
//!
//! Results that are more than the caches hold are streamed past them.

mod blocks;
mod column;
mod form;
mod number;
#[cfg(test)]
mod tests;

use crate::dispatch;
use crate::tuning::Tuning;
pub(crate) use blocks::{Batch, run};
pub use column::{Column, Width};
use form::Form;
use number::{Natural, REAL_LIMIT, Real, SHORT_LIMIT, Short};

/// A step of a [`Program`], done for every row. Registers are called by their numbers, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A register becomes 0.
    Zero {
        /// The register.
        to: usize,
    },
    /// Adds a multiple of one register to another.
    Add {
        /// The register that is multiplied.
        from: usize,
        /// By what.
        factor: i64,
        /// The register that is added to, another one.
        to: usize,
    },
    /// Divides a register, which keeps the quotient.
    Divide {
        /// The register.
        value: usize,
        /// By what, 1 or more.
        divisor: i64,
        /// The register that gets the remainder, another one.
        remainder: usize,
    },
    /// Voids the rows in which a register is not below a bound.
    Check {
        /// The register.
        value: usize,
        /// The bound, 0 or more.
        bound: i64,
    },
}

impl Step {
    /// The registers of the step.
    fn registers(self) -> [usize; 2] {
        match self {
            Step::Zero { to } => [to, to],
            Step::Check { value, .. } => [value, value],
            Step::Add { from, to, .. } => [from, to],
            Step::Divide {
                value, remainder, ..
            } => [value, remainder],
        }
    }

    /// The greatest number that the step brings along.
    fn constant(self) -> i64 {
        match self {
            Step::Zero { .. } => 0,
            Step::Check { bound, .. } => bound,
            Step::Add { factor, .. } => factor,
            Step::Divide { divisor, .. } => divisor,
        }
    }
}

/// A list of steps, prepared.
///
/// ```
/// use minormajor_kernels::{Column, Program, Step, Tuning};
///
/// // Numbers to rows and columns of a matrix of 3 by 5.
/// let split = Program::new(
///     &[(0, 15)],
///     &[Step::Divide { value: 0, divisor: 5, remainder: 1 }],
///     &[0, 1],
///     15,
/// );
/// let (mut rows, mut columns) = ([0; 3], [0; 3]);
/// let numbers = [0, 7, 14];
/// split.run(&[Column::from(&numbers)], &mut [&mut rows, &mut columns], &Tuning::default()).unwrap();
/// assert_eq!((rows, columns), ([0, 1, 2], [0, 2, 4]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Of each column that is read: its register, and the bound of its numbers.
    inputs: Vec<(usize, i64)>,
    /// Of each column that is written: its register.
    outputs: Vec<usize>,
    form: AnyForm,
}

/// What the steps amount to, in the fastest numbers that hold theirs.
#[derive(Debug, Clone, PartialEq)]
enum AnyForm {
    Short(Form<Short>),
    Real(Form<Real>),
    Natural(Form<Natural>),
}

/// A number of a batch that is out of bounds: the first, by rows and then by columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OutOfBounds {
    /// The row.
    pub row: usize,
    /// The column.
    pub column: usize,
}

impl Program {
    /// Prepares steps. `inputs` has for each column that is read its register and the bound of its numbers, `outputs`
    /// for each column that is written its register.
    ///
    /// `limit` is above all numbers that occur where the inputs are in bounds. Where it is not, results are arbitrary.
    ///
    /// # Panics
    ///
    /// If a step has the same register twice, or divides by less than 1.
    pub fn new(inputs: &[(usize, i64)], steps: &[Step], outputs: &[usize], limit: i64) -> Program {
        for &step in steps {
            match step {
                Step::Add { from, to, .. } => {
                    assert_ne!(from, to, "a register is added to itself");
                }
                Step::Divide {
                    value,
                    divisor,
                    remainder,
                } => {
                    assert_ne!(value, remainder, "one register for quotient and remainder");
                    assert!(divisor > 0, "a division by {divisor}");
                }
                Step::Zero { .. } | Step::Check { .. } => {}
            }
        }
        let constants = steps.iter().map(|step| step.constant().saturating_add(1));
        let limit = constants.fold(limit, i64::max);
        let form = if limit <= SHORT_LIMIT {
            AnyForm::Short(Form::new(inputs, steps, outputs))
        } else if limit <= REAL_LIMIT {
            AnyForm::Real(Form::new(inputs, steps, outputs))
        } else {
            AnyForm::Natural(Form::new(inputs, steps, outputs))
        };
        Program {
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
            form,
        }
    }

    /// Does the steps for every row of the columns `from`, and returns how many rows are void: in those, every number
    /// of the columns `to` is -1.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`] for the first number that is negative or not below its bound. The rows before are written; what
    /// is in those from there on is arbitrary.
    ///
    /// # Panics
    ///
    /// If there are more or fewer columns than the program has, or their lengths differ.
    pub fn run(
        &self,
        from: &[Column<'_>],
        to: &mut [&mut [i64]],
        tuning: &Tuning,
    ) -> Result<usize, OutOfBounds> {
        assert_eq!(from.len(), self.inputs.len(), "columns to read");
        assert_eq!(to.len(), self.outputs.len(), "columns to write");
        let rows = from
            .first()
            .map_or_else(|| to.first().map_or(0, |c| c.len()), |c| c.rows());
        assert!(
            from.iter().all(|column| column.rows() == rows),
            "columns to read differ in length"
        );
        assert!(
            to.iter().all(|column| column.len() == rows),
            "columns to write differ in length"
        );
        let streams = tuning.streams((from.len() + to.len()).saturating_mul(8 * rows));
        let batch = Batch {
            program: self,
            from,
            to,
            rows,
            streams,
        };
        // SAFETY: no promise but the set.
        unsafe { dispatch::program(tuning.isa, batch) }
    }
}
