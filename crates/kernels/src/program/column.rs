//! Columns that are read.

use std::mem::MaybeUninit;
use std::slice;

use super::blocks::{AT_ONCE, Stage};

/// How wide the numbers of a [`Column`] are: whole ones with a sign, in the order of bytes of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// `i32`.
    Four,
    /// `i64`.
    Eight,
}

impl Width {
    /// In bytes.
    pub fn bytes(self) -> usize {
        match self {
            Width::Four => 4,
            Width::Eight => 8,
        }
    }
}

/// A column that is read: whole numbers at equal distances in memory.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    memory: &'a [u8],
    width: Width,
    /// Of the first number, in `memory`.
    first: usize,
    /// From a number to the next, in bytes. All `rows` are in `memory`: the constructor checked it.
    step: isize,
    rows: usize,
}

impl<'a> Column<'a> {
    /// The column of `rows` numbers in these bytes: the first is at `first`, each other one `step` bytes behind the one
    /// before it. `None` where a number is not wholly in the memory.
    ///
    /// ```
    /// use minormajor_kernels::{Column, Width};
    ///
    /// let bytes: Vec<u8> = [3i32, 5, 7, 9].iter().flat_map(|number| number.to_ne_bytes()).collect();
    /// let backwards = Column::new(&bytes, Width::Four, 12, -8, 2).unwrap();
    /// assert_eq!([backwards.get(0), backwards.get(1)], [9, 5]);
    /// assert!(Column::new(&bytes, Width::Eight, 12, 0, 1).is_none());
    /// ```
    pub fn new(
        memory: &'a [u8],
        width: Width,
        first: usize,
        step: isize,
        rows: usize,
    ) -> Option<Column<'a>> {
        if rows > 0 {
            let last = isize::try_from(rows - 1).ok()?.checked_mul(step)?;
            let last = first.checked_add_signed(last)?;
            if first.max(last).checked_add(width.bytes())? > memory.len() {
                return None;
            }
        }
        Some(Column {
            memory,
            width,
            first,
            step,
            rows,
        })
    }

    /// How many numbers it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// One of its numbers.
    ///
    /// # Panics
    ///
    /// If the column has no such row.
    pub fn get(&self, row: usize) -> i64 {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let at = self.at(row);
        // SAFETY: the row is one of the column's.
        unsafe {
            match self.width {
                Width::Four => at.cast::<i32>().read_unaligned().into(),
                Width::Eight => at.cast::<i64>().read_unaligned(),
            }
        }
    }

    /// How wide its numbers are.
    pub(super) fn width(&self) -> Width {
        self.width
    }

    /// Whether its numbers lie one after the other.
    pub(super) fn is_dense(&self) -> bool {
        self.step == self.width.bytes() as isize
    }

    fn at(&self, row: usize) -> *const u8 {
        let offset = self.first as isize + row as isize * self.step;
        self.memory.as_ptr().wrapping_offset(offset)
    }
}

/// Rows of columns, where memory has a number of every column for each, one after the other, and nothing between the
/// rows.
///
/// # Safety
///
/// The columns have the rows `row..row + rows`.
#[inline(always)]
pub(super) unsafe fn whole_rows<'b, T: Word, const COLUMNS: usize>(
    columns: &'b [Column<'_>],
    row: usize,
    rows: usize,
) -> Option<&'b [[Anywhere<T>; COLUMNS]]> {
    let base = columns.first()?.at(row);
    let (width, step) = (size_of::<T>(), size_of::<[Anywhere<T>; COLUMNS]>());
    let are_neighbours = columns.len() == COLUMNS
        && columns.iter().enumerate().all(|(place, column)| {
            let at = base.wrapping_add(place * width);
            column.width == T::WIDTH && column.step == step as isize && column.at(row) == at
        });
    // SAFETY: the caller's promise: each number of these rows is one of a column's, and any address will do.
    are_neighbours.then(|| unsafe { slice::from_raw_parts(base.cast(), rows) })
}

/// The numbers of a block of columns, where they are, or on the stages: there are as many as there are columns, and
/// the others are empty.
///
/// # Safety
///
/// There are at most [`AT_ONCE`] columns, and they have the rows `row..row + rows`, which are at most as many as a stage
/// has. Their numbers are not wider than `T`.
#[inline(always)]
pub(super) unsafe fn read<'b, T: Word>(
    columns: &'b [Column<'_>],
    row: usize,
    rows: usize,
    stages: &'b mut [Stage; AT_ONCE],
) -> [&'b [Anywhere<T>]; AT_ONCE] {
    let mut numbers = [&[][..]; AT_ONCE];
    for ((numbers, column), stage) in numbers.iter_mut().zip(columns).zip(stages) {
        let at = column.at(row);
        let from = match column.width == T::WIDTH && column.is_dense() {
            true => at.cast(),
            false => {
                let stage = stage.as_mut_ptr().cast::<T>();
                // SAFETY: the caller's promise; a stage has room for as many.
                unsafe { T::gather(at, column.width, column.step, stage, rows) }
                stage.cast_const().cast()
            }
        };
        // SAFETY: so many were promised there, or were just written, and any address will do.
        *numbers = unsafe { slice::from_raw_parts(from, rows) };
    }
    numbers
}

/// A number at any address.
#[derive(Clone, Copy)]
#[repr(C, packed)]
pub(super) struct Anywhere<T>(T);

impl<T: Word> Anywhere<T> {
    #[inline(always)]
    pub(super) fn get(self) -> i64 {
        self.0.into()
    }
}

/// What a number is read as.
pub(super) trait Word: Copy + Into<i64> {
    const WIDTH: Width;

    /// Reads numbers of a width, at most this one, at equal distances.
    ///
    /// # Safety
    ///
    /// They are readable, and as many can be written.
    unsafe fn gather(from: *const u8, width: Width, step: isize, to: *mut Self, rows: usize);
}

impl Word for i32 {
    const WIDTH: Width = Width::Four;

    #[inline(always)]
    unsafe fn gather(from: *const u8, _: Width, step: isize, to: *mut i32, rows: usize) {
        // SAFETY: the caller's promise.
        unsafe { gather::<i32, i32>(from, step, to, rows) }
    }
}

impl Word for i64 {
    const WIDTH: Width = Width::Eight;

    #[inline(always)]
    unsafe fn gather(from: *const u8, width: Width, step: isize, to: *mut i64, rows: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match width {
                Width::Four => gather::<i32, i64>(from, step, to, rows),
                Width::Eight => gather::<i64, i64>(from, step, to, rows),
            }
        }
    }
}

/// As [`Word::gather`]. Not inlined, so that it is compiled for what every CPU has: the instructions that newer ones
/// have to gather take longer than loads.
///
/// # Safety
///
/// As [`Word::gather`], for numbers as wide as `T`.
#[inline(never)]
unsafe fn gather<T: Copy + Into<U>, U>(from: *const u8, step: isize, to: *mut U, rows: usize) {
    // SAFETY: the caller's promise.
    let to = unsafe { slice::from_raw_parts_mut(to.cast::<MaybeUninit<U>>(), rows) };
    let read = |row: usize| {
        // SAFETY: the caller's promise.
        let number = unsafe {
            from.offset(row as isize * step)
                .cast::<T>()
                .read_unaligned()
        };
        MaybeUninit::new(number.into())
    };
    // Alone, the steps of the loop would take longer than the numbers.
    let (fours, rest) = to.as_chunks_mut::<4>();
    for (four, to) in fours.iter_mut().enumerate() {
        *to = [0, 1, 2, 3].map(|k| read(4 * four + k));
    }
    let done = 4 * fours.len();
    for (row, to) in rest.iter_mut().enumerate() {
        *to = read(done + row);
    }
}

impl<'a> From<&'a [i64]> for Column<'a> {
    fn from(numbers: &'a [i64]) -> Column<'a> {
        Column {
            // SAFETY: every byte of a number is one.
            memory: unsafe { slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) },
            width: Width::Eight,
            first: 0,
            step: 8,
            rows: numbers.len(),
        }
    }
}

impl<'a> From<&'a [i32]> for Column<'a> {
    fn from(numbers: &'a [i32]) -> Column<'a> {
        Column {
            // SAFETY: every byte of a number is one.
            memory: unsafe { slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) },
            width: Width::Four,
            first: 0,
            step: 4,
            rows: numbers.len(),
        }
    }
}

impl<'a, const ROWS: usize> From<&'a [i64; ROWS]> for Column<'a> {
    fn from(numbers: &'a [i64; ROWS]) -> Column<'a> {
        Column::from(&numbers[..])
    }
}

impl<'a> From<&'a Vec<i64>> for Column<'a> {
    fn from(numbers: &'a Vec<i64>) -> Column<'a> {
        Column::from(&numbers[..])
    }
}
