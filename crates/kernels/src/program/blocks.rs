//! A program run on a batch, a block of rows at a time.

use std::array;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::column::{Anywhere, Column, Width, Word, read, whole_rows};
use super::form::{Divide, Form, Ready};
use super::number::Number;
use super::{AnyForm, OutOfBounds, Program};
use crate::pen::Pen;
use crate::simd::{Set, Vector, Work};

/// Rows of a block: 4 KiB of a column.
pub(super) const LANES: usize = 512;

/// A program and what it is run on.
pub(crate) struct Batch<'a, 'b> {
    pub(super) program: &'a Program,
    /// Each has `rows` numbers, and so has each of `to`.
    pub(super) from: &'a [Column<'a>],
    pub(super) to: &'a mut [&'b mut [i64]],
    pub(super) rows: usize,
    /// Whether results go past the caches.
    pub(super) streams: bool,
}

/// Runs a program.
///
/// # Safety
///
/// The CPU has the set.
pub(crate) unsafe fn run<S: Set>(batch: Batch<'_, '_>) -> Result<usize, OutOfBounds> {
    let mut result = Ok(0);
    let to = &mut result;
    // SAFETY: the caller's promise.
    unsafe {
        match &batch.program.form {
            AnyForm::Short(form) => S::enter(Blocks::<_, S::Wide>::new(form, batch, to)),
            AnyForm::Real(form) => S::enter(Blocks::<_, S::Wide>::new(form, batch, to)),
            AnyForm::Natural(form) => S::enter(Blocks::<_, S::Wide>::new(form, batch, to)),
        }
    }
    result
}

/// # Safety (of `work`)
///
/// As [`run`].
struct Blocks<'a, 'b, 'c, N: Number, V> {
    form: &'a Form<N>,
    batch: Batch<'a, 'b>,
    result: &'c mut Result<usize, OutOfBounds>,
    with: PhantomData<V>,
}

impl<'a, 'b, 'c, N: Number, V> Blocks<'a, 'b, 'c, N, V> {
    fn new(
        form: &'a Form<N>,
        batch: Batch<'a, 'b>,
        result: &'c mut Result<usize, OutOfBounds>,
    ) -> Blocks<'a, 'b, 'c, N, V> {
        Blocks {
            form,
            batch,
            result,
            with: PhantomData,
        }
    }
}

impl<N: Number, V: Vector> Work for Blocks<'_, '_, '_, N, V> {
    #[inline(always)]
    unsafe fn work(self) {
        // SAFETY: the caller's promise.
        *self.result = unsafe { blocks::<N, V>(self.form, self.batch) };
    }
}

/// The numbers of a block: of a register, or on their way.
type Lanes<N> = [N; LANES];

/// Room for a column's numbers of a block, of any width, where they are not read in their place.
pub(super) type Stage = [MaybeUninit<i64>; LANES];

/// Columns that a sum reads at once.
pub(super) const AT_ONCE: usize = 4;

/// # Safety
///
/// As [`run`].
#[inline(always)]
unsafe fn blocks<N: Number, V: Vector>(
    form: &Form<N>,
    batch: Batch<'_, '_>,
) -> Result<usize, OutOfBounds> {
    let Batch {
        program,
        from,
        to,
        rows: all,
        streams,
    } = batch;
    // SAFETY: the caller's promise.
    let mut sink = unsafe { Sink::<V>::new(to, streams) };
    let mut stages: [Stage; AT_ONCE] =
        [const { [const { MaybeUninit::uninit() }; LANES] }; AT_ONCE];
    let mut registers: Vec<Lanes<N>> = match form {
        Form::Sum(_) | Form::Chain(..) => Vec::new(),
        Form::Steps(_, registers) => vec![[N::ZERO; LANES]; *registers],
    };
    let most = match from.iter().all(Column::is_dense) {
        true => LANES,
        // What lies between the numbers shall stay in the cache from column to column.
        false => LANES / 2,
    };
    let mut void = 0;
    for row in (0..all).step_by(most) {
        let rows = most.min(all - row);
        let block = Block { from, row, rows };
        let bad = match form {
            Form::Sum(factors) => {
                let to = sink.column(0, row, rows);
                // SAFETY: the block is in the batch.
                unsafe { block.sum(&program.inputs, factors, &mut stages, to) }
            }
            Form::Chain(divides, last) => {
                let (bound, to) = (program.inputs[0].1, sink.column(*last, row, rows));
                // SAFETY: the block is in the batch.
                let bad = unsafe { block.load(0, bound, &mut stages, to, |number| number) };
                for divide in divides {
                    let [values, to] = sink.columns([*last, divide.output], row, rows);
                    remainders(divide, values, to);
                }
                bad
            }
            Form::Steps(steps, _) => {
                let mut bad = 0;
                for (column, &(register, bound)) in program.inputs.iter().enumerate() {
                    let to = &mut registers[register];
                    // SAFETY: the block is in the batch.
                    bad |= unsafe { block.load(column, bound, &mut stages, to, N::new) };
                }
                let mut marks = [0; LANES];
                let marked = steps.iter().fold(0, |marked, step| {
                    marked | apply(step, &mut registers, &mut marks, rows)
                });
                let marks = (marked < 0).then_some(&marks[..rows]);
                void += marks.map_or(0, |marks| marks.iter().filter(|&&mark| mark < 0).count());
                for (number, &register) in program.outputs.iter().enumerate() {
                    let (from, to) = (&registers[register][..rows], sink.column(number, row, rows));
                    match marks {
                        Some(marks) => store_marked(from, marks, to),
                        None => store(from, to),
                    }
                }
                bad
            }
        };
        // SAFETY: the CPU has `V`.
        unsafe { sink.pass(row, rows) };
        if bad < 0 {
            // SAFETY: the CPU has `V`.
            unsafe { sink.end() };
            return Err(block.first_out_of_bounds(&program.inputs));
        }
    }
    // SAFETY: the CPU has `V`.
    unsafe { sink.end() };
    Ok(void)
}

/// Where results go.
struct Sink<'a, 'b, V> {
    to: &'a mut [&'b mut [i64]],
    /// Of each column, where it is streamed: the pen, and a stage for what it copies.
    pens: Vec<(Pen<V>, [i64; LANES])>,
}

impl<'a, 'b, V: Vector> Sink<'a, 'b, V> {
    /// # Safety
    ///
    /// The CPU has `V`.
    #[inline(always)]
    unsafe fn new(to: &'a mut [&'b mut [i64]], streams: bool) -> Sink<'a, 'b, V> {
        let mut pens = Vec::new();
        if streams {
            // SAFETY: the caller's promise.
            pens.resize_with(to.len(), || (unsafe { Pen::new() }, [0; LANES]));
        }
        Sink { to, pens }
    }

    /// Where a column's results of a block are put.
    #[inline(always)]
    fn column(&mut self, number: usize, row: usize, rows: usize) -> &mut [i64] {
        match self.pens.get_mut(number) {
            None => &mut self.to[number][row..row + rows],
            Some((_, stage)) => &mut stage[..rows],
        }
    }

    /// Two of them, which differ.
    #[inline(always)]
    fn columns(&mut self, numbers: [usize; 2], row: usize, rows: usize) -> [&mut [i64]; 2] {
        let both = match self.pens.is_empty() {
            true => self
                .to
                .get_disjoint_mut(numbers)
                .map(|to| to.map(|to| &mut to[row..row + rows])),
            false => self
                .pens
                .get_disjoint_mut(numbers)
                .map(|pens| pens.map(|(_, stage)| &mut stage[..rows])),
        };
        let Ok(both) = both else {
            unreachable!("outputs differ and exist");
        };
        both
    }

    /// Says that all results of a block were put.
    ///
    /// # Safety
    ///
    /// The CPU has `V`.
    #[inline(always)]
    unsafe fn pass(&mut self, row: usize, rows: usize) {
        for ((pen, stage), to) in self.pens.iter_mut().zip(&mut *self.to) {
            let to = &mut to[row..row + rows];
            // SAFETY: the rows are in the column, which nothing else writes as long as the sink has it.
            unsafe { pen.copy(stage.as_ptr().cast(), to.as_mut_ptr().cast(), 8 * rows) };
        }
    }

    /// # Safety
    ///
    /// The CPU has `V`.
    #[inline(always)]
    unsafe fn end(mut self) {
        for (pen, _) in &mut self.pens {
            // SAFETY: all that was copied is in the columns.
            unsafe { pen.lift() };
        }
    }
}

/// Some rows of a batch, at most [`LANES`].
struct Block<'a> {
    from: &'a [Column<'a>],
    row: usize,
    rows: usize,
}

impl Block<'_> {
    /// Writes the sum of the columns times factors; negative where a number is out of bounds.
    ///
    /// # Safety
    ///
    /// The block is in the batch.
    #[inline(always)]
    unsafe fn sum<N: Number>(
        &self,
        inputs: &[(usize, i64)],
        factors: &[N],
        stages: &mut [Stage; AT_ONCE],
        to: &mut [i64],
    ) -> i64 {
        // SAFETY: the caller's promise.
        if let Some(bad) = unsafe { self.sum_of_rows(inputs, factors, to) } {
            return bad;
        }
        let mut bad = 0;
        let parts = inputs.chunks(AT_ONCE).zip(factors.chunks(AT_ONCE));
        for ((number, columns), parts) in self.from.chunks(AT_ONCE).enumerate().zip(parts) {
            let more = number > 0;
            // SAFETY: the caller's promise; the width is the greatest of the columns.
            bad |= unsafe {
                match columns.iter().all(|column| column.width() == Width::Four) {
                    true => self.part::<N, i32>(columns, parts, more, stages, to),
                    false => self.part::<N, i64>(columns, parts, more, stages, to),
                }
            };
        }
        bad
    }

    /// The part of [`sum`](Self::sum) of at most [`AT_ONCE`] columns, added to what is there where there is `more`.
    ///
    /// # Safety
    ///
    /// As [`sum`](Self::sum); the columns' numbers are not wider than `T`.
    #[inline(always)]
    unsafe fn part<N: Number, T: Word>(
        &self,
        columns: &[Column<'_>],
        (inputs, factors): (&[(usize, i64)], &[N]),
        more: bool,
        stages: &mut [Stage; AT_ONCE],
        to: &mut [i64],
    ) -> i64 {
        // SAFETY: the caller's promise.
        let from = unsafe { read::<T>(columns, self.row, self.rows, stages) };
        let term = |place: usize| Term {
            from: from[place],
            last: inputs[place].1.wrapping_sub(1),
            factor: factors[place],
        };
        match columns.len() {
            1 => sum([term(0)], more, to),
            2 => sum([term(0), term(1)], more, to),
            3 => sum([term(0), term(1), term(2)], more, to),
            _ => sum([term(0), term(1), term(2), term(3)], more, to),
        }
    }

    /// As [`sum`](Self::sum), of up to six columns whose rows lie whole in memory; `None` of others.
    ///
    /// # Safety
    ///
    /// As [`sum`](Self::sum).
    #[inline(always)]
    unsafe fn sum_of_rows<N: Number>(
        &self,
        inputs: &[(usize, i64)],
        factors: &[N],
        to: &mut [i64],
    ) -> Option<i64> {
        macro_rules! of_columns {
            ($T:ty: $($columns:literal)*) => {
                match self.from.len() {
                    $($columns => {
                        let (row, rows) = (self.row, self.rows);
                        // SAFETY: the caller's promise.
                        let from = unsafe { whole_rows::<$T, $columns>(self.from, row, rows) };
                        // In a closure it would be compiled for what every CPU has.
                        Some(sum_of_rows(from?, inputs, factors, to))
                    })*
                    _ => None,
                }
            };
        }
        match self.from.first()?.width() {
            Width::Four => of_columns!(i32: 2 3 4 5 6),
            Width::Eight => of_columns!(i64: 2 3 4 5 6),
        }
    }

    /// Writes what the numbers of a column become; negative where one of them is out of bounds.
    ///
    /// # Safety
    ///
    /// The block is in the batch.
    #[inline(always)]
    unsafe fn load<U>(
        &self,
        column: usize,
        bound: i64,
        stages: &mut [Stage; AT_ONCE],
        to: &mut [U],
        made: impl Fn(i64) -> U,
    ) -> i64 {
        let columns = &self.from[column..=column];
        // SAFETY: the caller's promise.
        unsafe {
            match columns[0].width() {
                Width::Four => {
                    let [from, ..] = read::<i32>(columns, self.row, self.rows, stages);
                    checked(from, bound, to, made)
                }
                Width::Eight => {
                    let [from, ..] = read::<i64>(columns, self.row, self.rows, stages);
                    checked(from, bound, to, made)
                }
            }
        }
    }

    /// The first number that is out of bounds, where there is one.
    #[cold]
    fn first_out_of_bounds(&self, inputs: &[(usize, i64)]) -> OutOfBounds {
        let rows = self.row..self.row + self.rows;
        let mut places = rows.flat_map(|row| {
            let columns = 0..self.from.len();
            columns.map(move |column| OutOfBounds { row, column })
        });
        let out = places.find(|&OutOfBounds { row, column }| {
            !(0..inputs[column].1).contains(&self.from[column].get(row))
        });
        // There is one, unless another thread has changed it meanwhile.
        out.unwrap_or(OutOfBounds {
            row: self.row,
            column: 0,
        })
    }
}

/// Writes what numbers become; negative where one of them is out of bounds.
#[inline(always)]
fn checked<T: Word, U>(
    from: &[Anywhere<T>],
    bound: i64,
    to: &mut [U],
    made: impl Fn(i64) -> U,
) -> i64 {
    let last = bound.wrapping_sub(1);
    let mut bad = 0;
    for (to, from) in to.iter_mut().zip(from) {
        let number = from.get();
        // The difference wraps only where the number is negative.
        bad |= number | last.wrapping_sub(number);
        *to = made(number);
    }
    bad
}

/// A column of a sum.
#[derive(Clone, Copy)]
struct Term<'a, N, T> {
    from: &'a [Anywhere<T>],
    /// The greatest number in bounds.
    last: i64,
    factor: N,
}

/// Adds terms up, to what is there where there is `more`; negative where a number is out of bounds.
#[inline(always)]
fn sum<N: Number, T: Word, const TERMS: usize>(
    terms: [Term<'_, N, T>; TERMS],
    more: bool,
    to: &mut [i64],
) -> i64 {
    assert!(terms.iter().all(|term| term.from.len() == to.len()));
    let mut bad = 0;
    for (row, to) in to.iter_mut().enumerate() {
        let mut sum = N::ZERO;
        for term in &terms {
            // SAFETY: there are as many as there are sums. A question here would leave the rows of half a vector loop,
            // up to 32, to be done one by one.
            let number = unsafe { term.from.get_unchecked(row) }.get();
            // As `checked`.
            bad |= number | term.last.wrapping_sub(number);
            sum = sum.add(N::new(number).multiply(term.factor));
        }
        let before = if more { *to } else { 0 };
        *to = before.wrapping_add(sum.value());
    }
    bad
}

/// Adds up each row of numbers times factors; negative where a number is out of bounds.
#[inline(always)]
fn sum_of_rows<N: Number, T: Word, const COLUMNS: usize>(
    from: &[[Anywhere<T>; COLUMNS]],
    inputs: &[(usize, i64)],
    factors: &[N],
    to: &mut [i64],
) -> i64 {
    let last: [i64; COLUMNS] = array::from_fn(|column| inputs[column].1.wrapping_sub(1));
    let factors: [N; COLUMNS] = array::from_fn(|column| factors[column]);
    let mut bad = 0;
    for (from, to) in from.iter().zip(to) {
        let mut sum = N::ZERO;
        for column in 0..COLUMNS {
            let number = from[column].get();
            // As `checked`.
            bad |= number | last[column].wrapping_sub(number);
            sum = sum.add(N::new(number).multiply(factors[column]));
        }
        *to = sum.value();
    }
    bad
}

/// Makes numbers their quotients, and writes the remainders.
#[inline(always)]
fn remainders<N: Number>(divide: &Divide<N>, values: &mut [i64], to: &mut [i64]) {
    let by = divide.by;
    for (value, to) in values.iter_mut().zip(to) {
        let (quotient, remainder) = by.divide(N::new(*value));
        *value = quotient.value();
        *to = remainder.value();
    }
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
            by,
            remainder,
        } => {
            let Ok([value, remainder]) = registers.get_disjoint_mut([value, remainder]) else {
                unreachable!("registers differ and exist");
            };
            for (value, remainder) in value[..rows].iter_mut().zip(&mut remainder[..rows]) {
                (*value, *remainder) = by.divide(*value);
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
#[inline(always)]
fn store<N: Number>(from: &[N], to: &mut [i64]) {
    for (from, to) in from.iter().zip(to) {
        *to = from.value();
    }
}

/// Writes a register, and -1 in rows that are marked.
#[inline(always)]
fn store_marked<N: Number>(from: &[N], marks: &[i64], to: &mut [i64]) {
    for ((from, mark), to) in from.iter().zip(marks).zip(to) {
        *to = from.value() | mark >> 63;
    }
}
