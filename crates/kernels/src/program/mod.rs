//! Arithmetic on columns of numbers: one short list of steps, done for every row of a batch.
//!
//! Rows go through the steps in blocks of [`LANES`], whose registers stay in the first-level cache, one step after the
//! other. So every inner loop is a plain one over two arrays, which the compiler makes vectors of, whatever the list of
//! steps is; and none divides: a divisor is prepared as a factor, see [`number`].
//!
//! Two lists that are most of what is asked for have loops of their own, which pass over
//! the columns once: a sum of multiples of the inputs, and one input divided again and again ([`Form`]).
//!
//! Results that are more than the caches hold are streamed past them.

mod number;

use std::marker::PhantomData;

use crate::dispatch;
use crate::pen::Pen;
use crate::simd::{Set, Vector, Work};
use crate::tuning::Tuning;
use number::{Natural, Number, REAL_LIMIT, Real};

/// Rows of a block: 2 KiB of a column.
const LANES: usize = 256;

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

/// A list of steps, prepared.
///
/// ```
/// use minormajor_kernels::{Program, Step, Tuning};
///
/// // Numbers to rows and columns of a matrix of 3 by 5.
/// let split = Program::new(
///     &[(0, 15)],
///     &[Step::Divide { value: 0, divisor: 5, remainder: 1 }],
///     &[0, 1],
///     15,
/// );
/// let (mut rows, mut columns) = ([0; 3], [0; 3]);
/// split.run(&[&[0, 7, 14]], &mut [&mut rows, &mut columns], &Tuning::default()).unwrap();
/// assert_eq!((rows, columns), ([0, 1, 2], [0, 2, 4]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Of each column that is read: its register, and the bound of its numbers.
    inputs: Vec<(usize, i64)>,
    steps: Vec<Step>,
    /// Of each column that is written: its register.
    outputs: Vec<usize>,
    /// Registers in all.
    registers: usize,
    /// What all numbers are below.
    limit: i64,
    form: Form,
}

/// What a list of steps amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// The sum of the inputs times these factors.
    Sum(Vec<i64>),
    /// The only input divided by all these one after the other; and the number of the output for each remainder. The last
    /// output is for the last quotient.
    Chain(Vec<(i64, usize)>, usize),
    /// Whatever the steps say.
    Steps,
}

impl Form {
    fn of(inputs: &[(usize, i64)], steps: &[Step], outputs: &[usize]) -> Form {
        Form::sum(inputs, steps, outputs)
            .or_else(|| Form::chain(inputs, steps, outputs))
            .unwrap_or(Form::Steps)
    }

    fn sum(inputs: &[(usize, i64)], steps: &[Step], outputs: &[usize]) -> Option<Form> {
        let ([zero, steps @ ..], &[sum]) = (steps, outputs) else {
            return None;
        };
        let is_input = |register| inputs.iter().position(|&(input, _)| input == register);
        let mut factors = vec![0; inputs.len()];
        for step in steps {
            match *step {
                Step::Add { from, factor, to } if to == sum => factors[is_input(from)?] += factor,
                _ => return None,
            }
        }
        let starts = *zero == Step::Zero { to: sum } && is_input(sum).is_none();
        (starts && !inputs.is_empty()).then_some(Form::Sum(factors))
    }

    fn chain(inputs: &[(usize, i64)], steps: &[Step], outputs: &[usize]) -> Option<Form> {
        let &[(input, _)] = inputs else { return None };
        let output = |register| {
            let mut places = outputs
                .iter()
                .enumerate()
                .filter(|&(_, &output)| output == register);
            let (number, _) = places.next()?;
            places.next().is_none().then_some(number)
        };
        let divides = steps.iter().map(|step| match *step {
            Step::Divide {
                value,
                divisor,
                remainder,
            } if value == input => Some((divisor, output(remainder)?)),
            _ => None,
        });
        let divides: Vec<(i64, usize)> = divides.collect::<Option<_>>()?;
        (outputs.len() == divides.len() + 1).then_some(())?;
        Some(Form::Chain(divides, output(input)?))
    }
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
        let mut registers = 0;
        let mut use_register = |register: usize| registers = registers.max(register + 1);
        inputs
            .iter()
            .for_each(|&(register, _)| use_register(register));
        outputs.iter().for_each(|&register| use_register(register));
        let mut prepared = Vec::with_capacity(steps.len());
        for &step in steps {
            let mut step = step;
            match step {
                Step::Zero { to } => use_register(to),
                Step::Check { value, .. } => use_register(value),
                Step::Add { from, to, .. } => {
                    assert_ne!(from, to, "a register is added to itself");
                    use_register(from);
                    use_register(to);
                }
                Step::Divide {
                    value,
                    divisor,
                    remainder,
                } => {
                    assert_ne!(value, remainder, "one register for quotient and remainder");
                    assert!(divisor > 0, "a division by {divisor}");
                    use_register(value);
                    use_register(remainder);
                    if divisor == 1 {
                        step = Step::Zero { to: remainder };
                    }
                }
            }
            prepared.push(step);
        }
        Program {
            inputs: inputs.to_vec(),
            form: Form::of(inputs, &prepared, outputs),
            steps: prepared,
            outputs: outputs.to_vec(),
            registers,
            limit,
        }
    }

    /// Does the steps for every row of the columns `from`, and returns how many rows are void: in those, every number
    /// of the columns `to` is -1.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`] for the first number that is negative or not below its bound. The rows before are written, and
    /// nothing else is.
    ///
    /// # Panics
    ///
    /// If there are more or fewer columns than the program has, or their lengths differ.
    pub fn run(
        &self,
        from: &[&[i64]],
        to: &mut [&mut [i64]],
        tuning: &Tuning,
    ) -> Result<usize, OutOfBounds> {
        assert_eq!(from.len(), self.inputs.len(), "columns to read");
        assert_eq!(to.len(), self.outputs.len(), "columns to write");
        let rows = from
            .first()
            .map_or_else(|| to.first().map_or(0, |c| c.len()), |c| c.len());
        assert!(
            from.iter().all(|column| column.len() == rows),
            "columns to read differ in length"
        );
        assert!(
            to.iter().all(|column| column.len() == rows),
            "columns to write differ in length"
        );
        let to: Vec<*mut i64> = to.iter_mut().map(|column| column.as_mut_ptr()).collect();
        let batch = Batch {
            program: self,
            from,
            to: &to,
            rows,
            streams: tuning.streams((from.len() + to.len()).saturating_mul(8 * rows)),
        };
        // SAFETY: the columns were just measured; they are borrowed until the end.
        unsafe { dispatch::program(tuning.isa, batch) }
    }
}

/// A program and what it is run on.
pub(crate) struct Batch<'a> {
    program: &'a Program,
    /// Each has `rows` numbers.
    from: &'a [&'a [i64]],
    /// Each has room for `rows` numbers.
    to: &'a [*mut i64],
    rows: usize,
    /// Whether results go past the caches.
    streams: bool,
}

/// Runs a program.
///
/// # Safety
///
/// The CPU has the set. `rows` numbers are writable at every pointer of the batch, and nothing else refers to them.
pub(crate) unsafe fn run<S: Set>(batch: Batch<'_>) -> Result<usize, OutOfBounds> {
    let mut result = Ok(0);
    // SAFETY: the caller's promise.
    unsafe {
        if batch.program.limit <= REAL_LIMIT {
            S::enter(Blocks {
                batch,
                result: &mut result,
                with: PhantomData::<(Real, S::Wide)>,
            });
        } else {
            S::enter(Blocks {
                batch,
                result: &mut result,
                with: PhantomData::<(Natural, S::Wide)>,
            });
        }
    }
    result
}

/// # Safety (of `work`)
///
/// As [`run`].
struct Blocks<'a, N, V> {
    batch: Batch<'a>,
    result: &'a mut Result<usize, OutOfBounds>,
    with: PhantomData<(N, V)>,
}

impl<N: Number, V: Vector> Work for Blocks<'_, N, V> {
    #[inline(always)]
    unsafe fn work(self) {
        // SAFETY: the caller's promise.
        *self.result = unsafe { blocks::<N, V>(&self.batch) };
    }
}

/// A register's numbers in one block.
type Lanes<N> = [N; LANES];

/// A step with its constants prepared.
enum Ready<N: Number> {
    Zero(usize),
    Add {
        from: usize,
        factor: N,
        to: usize,
    },
    Divide {
        value: usize,
        divisor: N,
        inverse: N::Divisor,
        remainder: usize,
    },
    Check {
        value: usize,
        last: N,
    },
}

impl<N: Number> Ready<N> {
    fn new(step: Step) -> Ready<N> {
        match step {
            Step::Zero { to } => Ready::Zero(to),
            Step::Add { from, factor, to } => Ready::Add {
                from,
                factor: N::new(factor),
                to,
            },
            Step::Divide {
                value,
                divisor,
                remainder,
            } => Ready::Divide {
                value,
                divisor: N::new(divisor),
                inverse: N::divisor(divisor),
                remainder,
            },
            Step::Check { value, bound } => Ready::Check {
                value,
                last: N::new(bound).subtract(N::new(1)),
            },
        }
    }
}

/// # Safety
///
/// As [`run`].
#[inline(always)]
unsafe fn blocks<N: Number, V: Vector>(batch: &Batch<'_>) -> Result<usize, OutOfBounds> {
    let program = batch.program;
    let steps: Vec<Ready<N>> = program.steps.iter().map(|&step| Ready::new(step)).collect();
    let mut registers: Vec<Lanes<N>> = vec![[N::ZERO; LANES]; program.registers];
    // What is streamed, and the pen that does.
    let mut streams: Vec<(Pen<V>, [i64; LANES])> = Vec::new();
    if batch.streams {
        // SAFETY: the CPU has `V`.
        streams.resize_with(batch.to.len(), || (unsafe { Pen::new() }, [0; LANES]));
    }
    let form = ReadyForm::new(&program.form);
    // Where the block's numbers of each output go.
    let mut places: Vec<*mut i64> = batch.to.to_vec();
    let mut marks = [0; LANES];
    let mut void = 0;
    let mut result = Ok(());
    let mut row = 0;
    while row < batch.rows && result.is_ok() {
        let mut rows = LANES.min(batch.rows - row);
        let mut is_done = false;
        let mut bad = 0;
        match &form {
            ReadyForm::Sum(factors) if rows.is_multiple_of(GROUP) => {
                let to = &mut registers[program.outputs[0]];
                bad = sum(batch, row, factors, &mut to[..rows]);
                is_done = true;
            }
            _ => {
                for (column, &(register, bound)) in batch.from.iter().zip(&program.inputs) {
                    bad |= load(&column[row..row + rows], bound, &mut registers[register]);
                }
            }
        }
        if bad < 0 {
            let offender = first_out_of_bounds(batch, row);
            rows = offender.row - row;
            result = Err(offender);
        }
        for (number, (place, &to)) in places.iter_mut().zip(batch.to).enumerate() {
            *place = to.wrapping_add(row);
            if let Some((_, stage)) = streams.get_mut(number) {
                *place = stage.as_mut_ptr();
            }
        }
        match &form {
            ReadyForm::Chain(divides, last) => {
                let values = &mut registers[program.inputs[0].0][..rows];
                // SAFETY: there is room for as many rows at every place; both columns and stages are aligned for numbers.
                unsafe { chain(values, divides, *last, &places) };
            }
            _ => {
                marks[..rows].fill(0);
                let mut marked = 0;
                if !is_done {
                    for step in &steps {
                        marked |= apply(step, &mut registers, &mut marks, rows);
                    }
                }
                void += match marked < 0 {
                    true => marks[..rows].iter().filter(|&&mark| mark < 0).count(),
                    false => 0,
                };
                for (&to, &register) in places.iter().zip(&program.outputs) {
                    let from = &registers[register][..rows];
                    // SAFETY: as above.
                    unsafe {
                        match marked < 0 {
                            true => store_marked(from, &marks[..rows], to),
                            false => store(from, to),
                        }
                    }
                }
            }
        }
        for ((pen, stage), &to) in streams.iter_mut().zip(batch.to) {
            // SAFETY: the rows are in the column, and nothing else writes them.
            unsafe { pen.copy(stage.as_ptr().cast(), to.wrapping_add(row).cast(), 8 * rows) };
        }
        row += rows;
    }
    for (pen, _) in &mut streams {
        // SAFETY: all that was copied is in the columns.
        unsafe { pen.lift() };
    }
    result.map(|()| void)
}

/// Rows whose numbers stay in vector registers from one step to the next.
const GROUP: usize = 16;

/// A form with its constants prepared.
enum ReadyForm<N: Number> {
    Sum(Vec<N>),
    /// Divisors, and the outputs of their remainders; and the output of the last quotient.
    Chain(Vec<(N, N::Divisor, usize)>, usize),
    Steps,
}

impl<N: Number> ReadyForm<N> {
    fn new(form: &Form) -> ReadyForm<N> {
        match form {
            Form::Sum(factors) => {
                ReadyForm::Sum(factors.iter().map(|&factor| N::new(factor)).collect())
            }
            Form::Chain(divides, last) => {
                let divides = divides
                    .iter()
                    .map(|&(divisor, output)| (N::new(divisor), N::divisor(divisor), output));
                ReadyForm::Chain(divides.collect(), *last)
            }
            Form::Steps => ReadyForm::Steps,
        }
    }
}

/// Reads all columns from `row` on and adds up their multiples, in whole groups; negative where a number is out of
/// bounds.
#[inline(always)]
fn sum<N: Number>(batch: &Batch<'_>, row: usize, factors: &[N], to: &mut [N]) -> i64 {
    let (groups, _) = to.as_chunks_mut::<GROUP>();
    let mut bad = [0; GROUP];
    for (number, group) in groups.iter_mut().enumerate() {
        let first = row + number * GROUP;
        let mut sums = [N::ZERO; GROUP];
        let columns = batch.from.iter().zip(&batch.program.inputs).zip(factors);
        for ((column, &(_, bound)), &factor) in columns {
            let last = bound.wrapping_sub(1);
            let Some(from) = column[first..].first_chunk::<GROUP>() else {
                unreachable!("groups are in the batch");
            };
            for i in 0..GROUP {
                // As `load`.
                bad[i] |= from[i] | last.wrapping_sub(from[i]);
                sums[i] = sums[i].add(N::new(from[i]).multiply(factor));
            }
        }
        *group = sums;
    }
    bad.iter().fold(0, |all, bad| all | bad)
}

/// Divides numbers again and again, and writes the remainders and the last quotient.
///
/// # Safety
///
/// As many numbers are writable at every place, aligned.
#[inline(always)]
unsafe fn chain<N: Number>(
    values: &mut [N],
    divides: &[(N, N::Divisor, usize)],
    last: usize,
    places: &[*mut i64],
) {
    for &(divisor, inverse, output) in divides {
        let to = places[output];
        for (row, value) in values.iter_mut().enumerate() {
            let quotient = value.quotient(inverse);
            let remainder = value.subtract(quotient.multiply(divisor));
            *value = quotient;
            // SAFETY: the caller's promise.
            unsafe { to.add(row).write(remainder.value()) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { store(values, places[last]) };
}

/// Reads numbers; negative where one of them is out of bounds.
#[inline(always)]
fn load<N: Number>(from: &[i64], bound: i64, to: &mut Lanes<N>) -> i64 {
    let last = bound.wrapping_sub(1);
    let mut bad = 0;
    for (to, &from) in to.iter_mut().zip(from) {
        // The difference wraps only where the number is negative.
        bad |= from | last.wrapping_sub(from);
        *to = N::new(from);
    }
    bad
}

/// The first number from `row` on that is out of bounds, where there is one.
#[cold]
fn first_out_of_bounds(batch: &Batch<'_>, row: usize) -> OutOfBounds {
    let is_out = |row: usize, column: usize| {
        !(0..batch.program.inputs[column].1).contains(&batch.from[column][row])
    };
    let places = (row..batch.rows)
        .flat_map(|row| (0..batch.from.len()).map(move |column| OutOfBounds { row, column }));
    let mut out = places
        .into_iter()
        .filter(|place| is_out(place.row, place.column));
    // There is one, so the default is never needed.
    out.next().unwrap_or(OutOfBounds { row, column: 0 })
}

/// Does a step; negative where it marks a row.
#[inline(always)]
fn apply<N: Number>(
    step: &Ready<N>,
    registers: &mut [Lanes<N>],
    marks: &mut [i64; LANES],
    rows: usize,
) -> i64 {
    match *step {
        Ready::Zero(to) => registers[to][..rows].fill(N::ZERO),
        Ready::Add { from, factor, to } => {
            let Ok([from, to]) = registers.get_disjoint_mut([from, to]) else {
                unreachable!("registers differ and exist");
            };
            for (to, from) in to[..rows].iter_mut().zip(&from[..rows]) {
                *to = to.add(from.multiply(factor));
            }
        }
        Ready::Divide {
            value,
            divisor,
            inverse,
            remainder,
        } => {
            let Ok([value, remainder]) = registers.get_disjoint_mut([value, remainder]) else {
                unreachable!("registers differ and exist");
            };
            for (value, remainder) in value[..rows].iter_mut().zip(&mut remainder[..rows]) {
                let quotient = value.quotient(inverse);
                *remainder = value.subtract(quotient.multiply(divisor));
                *value = quotient;
            }
        }
        Ready::Check { value, last } => {
            let mut marked = 0;
            for (mark, value) in marks[..rows].iter_mut().zip(&registers[value][..rows]) {
                *mark |= last.subtract(*value).sign();
                marked |= *mark;
            }
            return marked;
        }
    }
    0
}

/// Writes a register.
///
/// # Safety
///
/// As many numbers are writable at `to`, aligned.
#[inline(always)]
unsafe fn store<N: Number>(from: &[N], to: *mut i64) {
    for (row, number) in from.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.add(row).write(number.value()) };
    }
}

/// Writes a register, and -1 in rows that are marked.
///
/// # Safety
///
/// As many numbers are writable at `to`, aligned.
#[inline(always)]
unsafe fn store_marked<N: Number>(from: &[N], marks: &[i64], to: *mut i64) {
    for (row, (number, mark)) in from.iter().zip(marks).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.add(row).write(number.value() | mark >> 63) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, Stores};

    fn quotient<N: Number>(value: i64, divisor: i64) -> i64 {
        N::new(value).quotient(N::divisor(divisor)).value()
    }

    /// Numbers where rounding would show: around multiples of the divisor, and the ends.
    fn hard(divisor: i64, limit: i64) -> impl Iterator<Item = i64> {
        let most = (limit - 1) / divisor;
        let multiples = [0, 1, 2, 3, most / 3, most / 2, most - 1, most];
        let powers = (0..62).map(move |bits| (1i64 << bits) / divisor);
        let near = multiples.into_iter().chain(powers).flat_map(move |times| {
            (-2..=2).filter_map(move |more| times.checked_mul(divisor)?.checked_add(more))
        });
        near.chain([limit - 2, limit - 1])
            .filter(move |value| (0..limit).contains(value))
    }

    fn divisors(limit: i64) -> impl Iterator<Item = i64> {
        let powers = (1..63).flat_map(|bits| (-2..=2).map(move |more| (1i64 << bits) + more));
        let scattered =
            (1..2000u64).map(|k| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (1 + k % 60)) as i64);
        let more = [limit / 3, limit / 2, limit / 2 + 1, limit - 1];
        powers
            .chain(scattered)
            .chain(more)
            .filter(move |&d| (2..limit).contains(&d))
    }

    #[test]
    fn quotients_of_small_numbers_are_all_exact() {
        for divisor in 2..400 {
            for value in 0..2000 {
                assert_eq!(quotient::<Real>(value, divisor), value / divisor);
                assert_eq!(quotient::<Natural>(value, divisor), value / divisor);
            }
        }
    }

    #[test]
    fn quotients_are_exact_up_to_the_limits() {
        for divisor in divisors(REAL_LIMIT) {
            for value in hard(divisor, REAL_LIMIT) {
                let found = quotient::<Real>(value, divisor);
                assert_eq!(found, value / divisor, "{value} / {divisor}");
            }
        }
        for divisor in divisors(i64::MAX) {
            for value in hard(divisor, i64::MAX).chain([i64::MAX]) {
                let found = quotient::<Natural>(value, divisor);
                assert_eq!(found, value / divisor, "{value} / {divisor}");
            }
        }
    }

    fn tunings() -> impl Iterator<Item = Tuning> {
        let isas = Isa::available().iter();
        isas.flat_map(|&isa| {
            [Stores::Plain, Stores::Streaming].map(|stores| Tuning { isa, stores })
        })
    }

    const STEPS: [Step; 6] = [
        Step::Divide {
            value: 0,
            divisor: 7,
            remainder: 2,
        },
        Step::Divide {
            value: 0,
            divisor: 1,
            remainder: 3,
        },
        Step::Check { value: 2, bound: 6 },
        Step::Add {
            from: 1,
            factor: 3,
            to: 3,
        },
        Step::Add {
            from: 0,
            factor: 100,
            to: 3,
        },
        Step::Zero { to: 1 },
    ];

    #[test]
    fn every_instruction_set_does_every_step() {
        for limit in [1 << 20, i64::MAX] {
            let program = Program::new(&[(0, 1000), (1, 50)], &STEPS, &[3, 2, 1], limit);
            for tuning in tunings() {
                for rows in [0, 1, 7, 255, 256, 257, 1000] {
                    let a: Vec<i64> = (0..rows).collect();
                    let b: Vec<i64> = (0..rows).map(|k| k % 50).collect();
                    let mut to = vec![vec![-9; rows as usize]; 3];
                    let mut columns: Vec<&mut [i64]> = to.iter_mut().map(|c| &mut c[..]).collect();
                    let void = program.run(&[&a, &b], &mut columns, &tuning).unwrap();
                    assert_eq!(void, a.iter().filter(|&a| a % 7 == 6).count());
                    for row in 0..rows as usize {
                        let found = [to[0][row], to[1][row], to[2][row]];
                        let expected = match a[row] % 7 {
                            6 => [-1; 3],
                            rest => [3 * b[row] + 100 * (a[row] / 7), rest, 0],
                        };
                        assert_eq!(found, expected, "{tuning:?}, row {row} of {rows}");
                    }
                }
            }
        }
    }

    /// Another way to the same 6.
    const SUM: [Step; 3] = [
        Step::Zero { to: 3 },
        Step::Add {
            from: 0,
            factor: 2,
            to: 3,
        },
        Step::Add {
            from: 1,
            factor: 2,
            to: 3,
        },
    ];

    #[test]
    fn rows_before_the_first_out_of_bounds_are_written() {
        let inputs = [(0, 1000), (1, 50)];
        for limit in [1 << 20, i64::MAX] {
            let programs = [
                Program::new(&inputs, &STEPS, &[3], limit),
                Program::new(&inputs, &SUM, &[3], limit),
            ];
            assert_eq!(programs[1].form, Form::Sum(vec![2, 2]));
            for tuning in tunings() {
                for bad in [-1, 1000, i64::MIN, i64::MAX, 1 << 52] {
                    for (row, column) in [(0, 0), (5, 1), (16, 1), (256, 0), (299, 0)] {
                        let mut from = [vec![1; 300], vec![2; 300]];
                        from[column][row] = bad;
                        from[1 - column][299] = bad;
                        for program in &programs {
                            let mut to = [-9; 300];
                            let found = program.run(&[&from[0], &from[1]], &mut [&mut to], &tuning);
                            assert_eq!(found, Err(OutOfBounds { row, column }));
                            assert!(to[..row].iter().all(|&to| to == 6), "{to:?}");
                            assert!(to[row..].iter().all(|&to| to == -9), "{to:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn chains_stop_at_the_first_out_of_bounds() {
        let steps = [5, 7].map(|divisor| Step::Divide {
            value: 0,
            divisor,
            remainder: divisor as usize,
        });
        for limit in [1 << 20, i64::MAX] {
            let program = Program::new(&[(0, 1000)], &steps, &[0, 7, 5], limit);
            assert_eq!(program.form, Form::Chain(vec![(5, 2), (7, 1)], 0));
            for tuning in tunings() {
                for row in [0, 15, 16, 255, 256, 600] {
                    let mut from: Vec<i64> = (0..640).collect();
                    from[row] = 1000;
                    let mut to = [[-9; 640]; 3];
                    let [a, b, c] = &mut to;
                    let found = program.run(&[&from], &mut [a, b, c], &tuning);
                    assert_eq!(found, Err(OutOfBounds { row, column: 0 }));
                    let [a, b, c] = to;
                    for (k, ((a, b), c)) in a.into_iter().zip(b).zip(c).enumerate() {
                        let expected = match k < row {
                            true => [k as i64 / 35, k as i64 / 5 % 7, k as i64 % 5],
                            false => [-9; 3],
                        };
                        assert_eq!([a, b, c], expected);
                    }
                }
            }
        }
    }
}
