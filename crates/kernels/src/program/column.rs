//! Columns that are read.

use std::mem::MaybeUninit;
use std::slice;

use super::blocks::Stage;

/// How wide the numbers of a [`Column`] are: whole ones with a sign, in the order of bytes of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// `i32`.
    Four,
    /// `i64`.
    Eight,
}

impl Width {
    fn bytes(self) -> usize {
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

    /// Whether its numbers are read where they are.
    pub(super) fn is_in_place(&self) -> bool {
        let first = self.memory.as_ptr().wrapping_add(self.first);
        self.width == Width::Eight && self.step == 8 && first.cast::<i64>().is_aligned()
    }

    fn at(&self, row: usize) -> *const u8 {
        let offset = self.first as isize + row as isize * self.step;
        self.memory.as_ptr().wrapping_offset(offset)
    }

    /// The numbers of a block, where they are, or on the stage.
    ///
    /// # Safety
    ///
    /// The column has the rows `row..row + rows`, which are at most as many as the stage has.
    #[inline(always)]
    pub(super) unsafe fn block<'b>(
        &'b self,
        row: usize,
        rows: usize,
        stage: &'b mut Stage,
    ) -> &'b [i64] {
        let at = self.at(row);
        // SAFETY: the caller's promise; in place they are aligned.
        unsafe {
            if self.is_in_place() {
                return slice::from_raw_parts(at.cast(), rows);
            }
            let stage = stage.get_unchecked_mut(..rows);
            match self.width {
                Width::Four => widen::<i32>(at, self.step, stage),
                Width::Eight => widen::<i64>(at, self.step, stage),
            }
            // All were just written.
            &*(&raw const *stage as *const [i64])
        }
    }
}

/// A number at any address.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Anywhere<T>(T);

/// Reads as many numbers as `to` has.
///
/// # Safety
///
/// They are readable.
#[inline(always)]
unsafe fn widen<T: Copy + Into<i64>>(from: *const u8, step: isize, to: &mut [MaybeUninit<i64>]) {
    let from = from.cast::<Anywhere<T>>();
    if step == size_of::<T>() as isize {
        // SAFETY: the caller's promise.
        let from = unsafe { slice::from_raw_parts(from, to.len()) };
        for (to, from) in to.iter_mut().zip(from) {
            to.write({ from.0 }.into());
        }
        return;
    }
    let read = |row: usize| {
        // SAFETY: the caller's promise.
        let number = unsafe { from.byte_offset(row as isize * step).read() };
        MaybeUninit::new(number.0.into())
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
