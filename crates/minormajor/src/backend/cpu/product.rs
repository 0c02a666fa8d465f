//! Matrix products.

use std::fmt;

use half::{bf16, f16};
use minormajor_core::{ElementType, Plan};
use minormajor_product::{Matrix, Real, product};
use rayon::prelude::*;

use super::storage::CpuStorage;
use super::{Strided, logical};

/// Rows of the result that a thread takes at least: for each part the right matrix is arranged anew.
const ROWS: usize = 32;
/// Columns of s8 matrices that are multiplied in f32 at once: sums of so many products, of 2^14 at
/// most, are below 2^24 and so exact.
const EXACT: usize = 1024;
/// Multiplications below which one thread is enough.
const SMALL: usize = 1 << 18;

/// What multiplies matrices of f32 and f64.
#[derive(Clone, Copy, Debug)]
pub(super) enum Routine {
    Ours,
    #[cfg(feature = "blas")]
    System(&'static minormajor_product::Blas),
}

impl Routine {
    fn product<T: Real>(self, a: Matrix<'_, T>, b: Matrix<'_, T>, result: &mut [T]) {
        match self {
            Routine::Ours => product(a, b, result),
            #[cfg(feature = "blas")]
            Routine::System(blas) => blas.product(a, b, result),
        }
    }
}

/// What a device's description says of it: nothing where it is the usual one.
impl fmt::Display for Routine {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Routine::Ours => Ok(()),
            #[cfg(feature = "blas")]
            Routine::System(blas) => write!(_f, ", products by {}", blas.name()),
        }
    }
}

/// A batch of matrices.
#[derive(Clone, Copy)]
struct Batch<'a> {
    storage: &'a CpuStorage,
    place: &'a Strided,
}

impl<'a> Batch<'a> {
    /// The matrix of a number among the batches.
    fn matrix<T: bytemuck::Pod>(&self, number: usize) -> Matrix<'a, T> {
        let (sizes, strides) = (self.place.sizes(), self.place.strides());
        let batch = sizes.len() - 2;
        let (mut rest, mut offset) = (number as i64, self.place.offset());
        for dimension in (0..batch).rev() {
            offset += rest % sizes[dimension] * strides[dimension];
            rest /= sizes[dimension];
        }
        Matrix {
            elements: self.storage.elements(),
            offset: offset as isize,
            rows: sizes[batch] as usize,
            columns: sizes[batch + 1] as usize,
            row_stride: strides[batch] as isize,
            column_stride: strides[batch + 1] as isize,
        }
    }
}

/// Whether the result's matrices are in rows or in columns, its batches in logical order before
/// them; `None` where neither is so.
fn is_transposed(result: &Strided) -> Option<bool> {
    if result.is_row_major() {
        return Some(false);
    }
    let matrix = result.rank() - 2;
    let swap = |list: &[i64]| {
        let mut list = list.to_vec();
        list.swap(matrix, matrix + 1);
        list
    };
    let (sizes, strides) = (swap(result.sizes()), swap(result.strides()));
    let swapped = Strided::new(result.element_type(), sizes, strides, 0);
    swapped.is_row_major().then_some(true)
}

/// Writes the products, in rows or columns as the result wants them; in rows, and with a plan from
/// there, where it wants them in an order of another kind.
pub(super) fn run(
    routine: Routine,
    (a, left): (&CpuStorage, &Strided),
    (b, right): (&CpuStorage, &Strided),
    storage: &mut CpuStorage,
    result: &Strided,
) -> Option<Plan> {
    let transposed = is_transposed(result);
    let of = |storage, place| Batch { storage, place };
    let sides = match transposed {
        // The transposed product is that of the transposed factors, the other way around.
        Some(true) => [of(b, right), of(a, left)],
        _ => [of(a, left), of(b, right)],
    };
    let task = Task {
        sides,
        transposed: transposed == Some(true),
    };
    match left.element_type() {
        ElementType::F32 => task.run(storage.elements_mut::<f32>(), |a, b, c| {
            routine.product(a, b, c)
        }),
        ElementType::F64 => task.run(storage.elements_mut::<f64>(), |a, b, c| {
            routine.product(a, b, c)
        }),
        ElementType::F16 => task.run(storage.elements_mut::<f16>(), |a, b, c| {
            halves(routine, a, b, c, f16::to_f32, f16::from_f32);
        }),
        ElementType::Bf16 => task.run(storage.elements_mut::<bf16>(), |a, b, c| {
            halves(routine, a, b, c, bf16::to_f32, bf16::from_f32);
        }),
        ElementType::S8 => task.run(storage.elements_mut::<i32>(), |a, b, c| {
            bytes(routine, a, b, c)
        }),
        other => unreachable!("tensors multiply matrices of five types, not of {other}"),
    }
    match transposed {
        Some(_) => None,
        None => logical::plan(result),
    }
}

struct Task<'a> {
    /// Whose rows are the rows that are written, and whose columns.
    sides: [Batch<'a>; 2],
    transposed: bool,
}

impl Task<'_> {
    fn run<T: bytemuck::Pod + Send + Sync, R: Send>(
        &self,
        result: &mut [R],
        multiply: impl Fn(Matrix<'_, T>, Matrix<'_, T>, &mut [R]) + Sync,
    ) {
        if result.is_empty() {
            return;
        }
        let matrices = |number: usize| {
            let [a, b] = self.sides.map(|side| side.matrix::<T>(number));
            match self.transposed {
                false => (a, b),
                true => (a.transposed(), b.transposed()),
            }
        };
        let (a, b) = matrices(0);
        let (m, k, n) = (a.rows, a.columns, b.columns);
        // A part for each thread, of a batch's matrices together. How rows are cut changes no bit.
        let shares = rayon::current_num_threads().div_ceil(result.len() / (m * n));
        let rows = m.div_ceil(shares).max(ROWS);
        let part = |number: usize, block: usize, result: &mut [R]| {
            let (a, b) = matrices(number);
            multiply(a.rows(block * rows, result.len() / n), b, result);
        };
        let work = result.len().saturating_mul(k);
        if work < SMALL {
            let products = result.chunks_mut(m * n).enumerate();
            for (number, product) in products {
                let blocks = product.chunks_mut(rows * n).enumerate();
                blocks.for_each(|(block, result)| part(number, block, result));
            }
            return;
        }
        let products = result.par_chunks_mut(m * n).enumerate();
        products.for_each(|(number, product)| {
            let blocks = product.par_chunks_mut(rows * n).enumerate();
            blocks.for_each(|(block, result)| part(number, block, result));
        });
    }
}

/// In f32, rounded once.
fn halves<T: Copy>(
    routine: Routine,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    result: &mut [T],
    wide: impl Fn(T) -> f32,
    narrow: impl Fn(f32) -> T,
) {
    let (left, right) = (converted(a, &wide), converted(b, &wide));
    let mut sums = vec![0.0; result.len()];
    routine.product(rows_of(&left, a), rows_of(&right, b), &mut sums);
    for (made, sum) in result.iter_mut().zip(sums) {
        *made = narrow(sum);
    }
}

/// In f32, as many columns at once as are exact, and these added as integers.
fn bytes(routine: Routine, a: Matrix<'_, i8>, b: Matrix<'_, i8>, result: &mut [i32]) {
    let mut sums = vec![0.0; result.len()];
    for first in (0..a.columns).step_by(EXACT) {
        let count = EXACT.min(a.columns - first);
        let (a, b) = (a.columns(first, count), b.rows(first, count));
        let (left, right) = (converted(a, &f32::from), converted(b, &f32::from));
        routine.product(rows_of(&left, a), rows_of(&right, b), &mut sums);
        for (made, &sum) in result.iter_mut().zip(&sums) {
            *made = made.wrapping_add(sum as i32);
        }
    }
}

/// The elements as f32, in rows without gaps.
fn converted<T: Copy>(matrix: Matrix<'_, T>, wide: &impl Fn(T) -> f32) -> Vec<f32> {
    let mut made = Vec::with_capacity(matrix.rows * matrix.columns);
    if matrix.columns == 0 {
        return made;
    }
    for row in 0..matrix.rows as isize {
        let start = matrix.offset + row * matrix.row_stride;
        if matrix.column_stride == 1 {
            let row = &matrix.elements[start as usize..][..matrix.columns];
            made.extend(row.iter().map(|&element| wide(element)));
        } else {
            let places = (0..matrix.columns as isize).map(|c| start + c * matrix.column_stride);
            made.extend(places.map(|place| wide(matrix.elements[place as usize])));
        }
    }
    made
}

fn rows_of<'a, T>(elements: &'a [f32], like: Matrix<'_, T>) -> Matrix<'a, f32> {
    Matrix {
        elements,
        offset: 0,
        rows: like.rows,
        columns: like.columns,
        row_stride: like.columns as isize,
        column_stride: 1,
    }
}
