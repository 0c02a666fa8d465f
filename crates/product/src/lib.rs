//! Products of matrices of any strides: by `matrixmultiply`, or by the BLAS that a system has.
//!
//! Beside the kernels and not among them, so that what a program multiplies with does not have these compiled anew.

#[cfg(feature = "blas")]
mod blas;

#[cfg(feature = "blas")]
pub use blas::Blas;

/// A matrix somewhere in a slice, with strides of any sign or zero.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a, T> {
    /// The elements, others among them.
    pub elements: &'a [T],
    /// Where row 0, column 0 is.
    pub offset: isize,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// From a row to the next.
    pub row_stride: isize,
    /// From a column to the next.
    pub column_stride: isize,
}

impl<T> Matrix<'_, T> {
    /// Whether all elements are inside of the slice. A matrix without elements always is.
    fn is_inside(&self) -> bool {
        if self.rows == 0 || self.columns == 0 {
            return true;
        }
        // Products of 64-bit numbers, two of them added: far from the ends of 128 bits.
        let reach = |count: usize, stride: isize| (count as i128 - 1) * stride as i128;
        let (down, across) = (
            reach(self.rows, self.row_stride),
            reach(self.columns, self.column_stride),
        );
        let lowest = self.offset as i128 + down.min(0) + across.min(0);
        let highest = self.offset as i128 + down.max(0) + across.max(0);
        lowest >= 0 && highest < self.elements.len() as i128
    }

    /// The transposed matrix.
    pub fn transposed(self) -> Self {
        Matrix {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Some rows of it: `count` from row `first` on.
    pub fn rows(self, first: usize, count: usize) -> Self {
        Matrix {
            offset: self.offset + first as isize * self.row_stride,
            rows: count,
            ..self
        }
    }

    /// Some columns of it: `count` from column `first` on.
    pub fn columns(self, first: usize, count: usize) -> Self {
        self.transposed().rows(first, count).transposed()
    }
}

/// A number that matrices are multiplied in: f32 and f64.
pub trait Real: Copy + private::InBlas {
    /// The routine of the type, on matrices that were checked.
    #[doc(hidden)]
    fn multiply(left: Matrix<'_, Self>, right: Matrix<'_, Self>, result: &mut [Self]);
}

mod private {
    #[cfg(feature = "blas")]
    pub use super::blas::InBlas;

    #[cfg(not(feature = "blas"))]
    pub trait InBlas {}
    #[cfg(not(feature = "blas"))]
    impl InBlas for f32 {}
    #[cfg(not(feature = "blas"))]
    impl InBlas for f64 {}
}

macro_rules! real {
    ($($float:ty: $gemm:path;)*) => {$(
        impl Real for $float {
            fn multiply(left: Matrix<'_, Self>, right: Matrix<'_, Self>, result: &mut [Self]) {
                check(&left, &right, result.len());
                let (m, k, n) = (left.rows, left.columns, right.columns);
                // SAFETY: `check` found every element of both operands inside of their slices, and
                // `result` as long as m rows of n elements, which is how it is written to: in rows
                // of n. It is borrowed alone, so nothing that is read is written. With a factor of
                // 0 for what is there its elements are not read, and they are initialised anyway.
                unsafe {
                    $gemm(
                        m,
                        k,
                        n,
                        1.0,
                        left.elements.as_ptr().wrapping_offset(left.offset),
                        left.row_stride,
                        left.column_stride,
                        right.elements.as_ptr().wrapping_offset(right.offset),
                        right.row_stride,
                        right.column_stride,
                        0.0,
                        result.as_mut_ptr(),
                        n as isize,
                        1,
                    );
                }
            }
        }
    )*};
}

real! {
    f32: matrixmultiply::sgemm;
    f64: matrixmultiply::dgemm;
}

/// # Panics
///
/// Unless the sizes agree and all elements are inside of their slices.
fn check<T>(left: &Matrix<'_, T>, right: &Matrix<'_, T>, result: usize) {
    let (m, k, n) = (left.rows, left.columns, right.columns);
    assert_eq!(
        right.rows, k,
        "a row of the right matrix for each column of the left one"
    );
    assert_eq!(
        m.checked_mul(n),
        Some(result),
        "an element of the result for each row and column"
    );
    // Sizes and strides are `isize`s to the routine.
    assert!(
        [m, k, n]
            .into_iter()
            .all(|size| isize::try_from(size).is_ok())
    );
    assert!(
        left.is_inside() && right.is_inside(),
        "all elements inside of their slices"
    );
}

/// The product of two matrices, in rows without gaps: what `result` had before counts nothing. On
/// the caller's thread alone.
///
/// The same for any cut of the left matrix into rows: an element of the result is summed in an order
/// that depends on the number of columns of the left matrix alone.
///
/// # Panics
///
/// Where sizes don't agree, or an element is outside of its slice.
///
/// ```
/// use minormajor_product::{Matrix, product};
///
/// let a = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let rows = Matrix { elements: &a, offset: 0, rows: 2, columns: 3, row_stride: 3, column_stride: 1 };
/// let mut made = [0.0; 4];
/// product(rows, rows.transposed(), &mut made);
/// assert_eq!(made, [14.0, 32.0, 32.0, 77.0]);
/// ```
pub fn product<T: Real>(left: Matrix<'_, T>, right: Matrix<'_, T>, result: &mut [T]) {
    T::multiply(left, right, result);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(
        elements: &[f32],
        offset: isize,
        sizes: [usize; 2],
        strides: [isize; 2],
    ) -> Matrix<'_, f32> {
        Matrix {
            elements,
            offset,
            rows: sizes[0],
            columns: sizes[1],
            row_stride: strides[0],
            column_stride: strides[1],
        }
    }

    type Routine = fn(Matrix<'_, f32>, Matrix<'_, f32>, &mut [f32]);

    /// Ours, and the system's where it is asked for and there.
    fn routines() -> Vec<(&'static str, Routine)> {
        #[allow(unused_mut)]
        let mut routines: Vec<(&'static str, Routine)> = vec![("ours", product)];
        #[cfg(feature = "blas")]
        match Blas::system() {
            Ok(blas) => routines.push((blas.name(), |a, b, made| {
                Blas::system().unwrap().product(a, b, made);
            })),
            Err(reason) => println!("skipped: {reason}"),
        }
        routines
    }

    #[test]
    fn any_strides_agree_with_the_definition() {
        let elements: Vec<f32> = (0..4000).map(|k| ((k * 37) % 29) as f32 - 14.0).collect();
        let places = |[rows, columns]: [usize; 2]| {
            let (r, c) = (rows as isize, columns as isize);
            [
                (0, [c, 1]),
                (0, [1, r]),
                (3, [2 * c + 1, 2]),
                ((r - 1).max(0) * c, [-c, 1]),
                (5, [0, 1]),
                (9, [1, 0]),
                (7, [0, 0]),
            ]
        };
        for [m, k, n] in [
            [1, 1, 1],
            [2, 3, 4],
            [7, 19, 5],
            [17, 1, 33],
            [5, 0, 3],
            [0, 2, 3],
            [2, 3, 0],
        ] {
            for (a_offset, a_strides) in places([m, k]) {
                for (b_offset, b_strides) in places([k, n]) {
                    let a = matrix(&elements, a_offset, [m, k], a_strides);
                    let b = matrix(&elements, b_offset, [k, n], b_strides);
                    let at = |of: &Matrix<'_, f32>, i: usize, j: usize| {
                        let place =
                            of.offset + i as isize * of.row_stride + j as isize * of.column_stride;
                        elements[place as usize]
                    };
                    for (name, product) in routines() {
                        let mut made = vec![f32::NAN; m * n];
                        product(a, b, &mut made);
                        for i in 0..m {
                            for j in 0..n {
                                let sum: f32 = (0..k).map(|l| at(&a, i, l) * at(&b, l, j)).sum();
                                assert_eq!(
                                    made[i * n + j],
                                    sum,
                                    "{name} {m} {k} {n} {a_strides:?} {b_strides:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rows_may_be_cut_anywhere() {
        let elements: Vec<f32> = (0..100 * 300).map(|k| (k as f32 * 0.37).sin()).collect();
        let (a, b) = (
            matrix(&elements, 0, [100, 300], [300, 1]),
            matrix(&elements, 0, [300, 77], [1, 300]),
        );
        let mut whole = vec![0.0; 100 * 77];
        product(a, b, &mut whole);
        for rows in [1, 7, 64] {
            for (number, expected) in whole.chunks(rows * 77).enumerate() {
                let count = expected.len() / 77;
                let mut made = vec![0.0; expected.len()];
                product(a.rows(number * rows, count), b, &mut made);
                assert_eq!(made, expected, "{rows} rows");
            }
        }
    }

    #[test]
    fn what_is_outside_is_refused() {
        let elements = [0.0; 6];
        let good = matrix(&elements, 0, [2, 3], [3, 1]);
        let mut four = [0.0; 4];
        for bad in [
            matrix(&elements, 1, [2, 3], [3, 1]),
            matrix(&elements, -1, [2, 3], [3, 1]),
            matrix(&elements, 0, [2, 3], [-3, 1]),
            matrix(&elements, 0, [2, 3], [isize::MAX, isize::MAX]),
            matrix(&elements, 0, [2, 2], [2, 1]),
        ] {
            let run = std::panic::AssertUnwindSafe(|| product(bad, good.transposed(), &mut four));
            assert!(std::panic::catch_unwind(run).is_err(), "{bad:?}");
        }
        let run = std::panic::AssertUnwindSafe(|| product(good, good.transposed(), &mut [0.0; 3]));
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
