//! Matrix products of a BLAS that the system has, opened at run time.

use std::ffi::{OsString, c_int};
use std::sync::OnceLock;

use libloading::Library;

use super::{Matrix, Real, check, product};

/// What CBLAS calls rows, and a matrix as it is or transposed.
const ROWS: c_int = 101;
const AS_IT_IS: c_int = 111;
const TRANSPOSED: c_int = 112;

/// Where the systems have one, the fastest first.
const NAMES: &[&str] = if cfg!(target_os = "windows") {
    &["mkl_rt.2.dll", "libopenblas.dll", "openblas.dll"]
} else if cfg!(target_os = "macos") {
    &[
        "/System/Library/Frameworks/Accelerate.framework/Accelerate",
        "libopenblas.dylib",
    ]
} else {
    &[
        "libmkl_rt.so.2",
        "libopenblas.so.0",
        "libblis.so.4",
        "libopenblas.so",
    ]
};

/// `cblas_sgemm` and `cblas_dgemm`, sizes and leading dimensions in C's `int`.
type Gemm<T> = unsafe extern "C" fn(
    order: c_int,
    turn_left: c_int,
    turn_right: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: T,
    left: *const T,
    left_pitch: c_int,
    right: *const T,
    right_pitch: c_int,
    beta: T,
    result: *mut T,
    result_pitch: c_int,
);

/// The system's BLAS.
#[derive(Debug)]
pub struct Blas {
    pub(super) sgemm: Gemm<f32>,
    pub(super) dgemm: Gemm<f64>,
    name: String,
    /// Its functions are there as long as it is open.
    _library: Library,
}

impl Blas {
    /// The library at `MINORMAJOR_BLAS`, or else the first of MKL, OpenBLAS and BLIS, on a Mac
    /// Accelerate, that is there. Opened once; it is told to leave threads to its callers.
    ///
    /// # Errors
    ///
    /// What was looked for, and what is missing.
    pub fn system() -> Result<&'static Blas, &'static str> {
        static OPENED: OnceLock<Result<Blas, String>> = OnceLock::new();
        let opened = OPENED.get_or_init(|| match std::env::var_os("MINORMAJOR_BLAS") {
            Some(name) => Blas::open(&[name]),
            None => Blas::open(&NAMES.iter().map(OsString::from).collect::<Vec<_>>()),
        });
        opened.as_ref().map_err(String::as_str)
    }

    /// The name that it was found by.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn open(names: &[OsString]) -> Result<Blas, String> {
        let mut missing = Vec::new();
        for name in names {
            // SAFETY: a library that the system or the user names as its BLAS; what one does when it
            // is opened is to set itself up.
            match unsafe { Library::new(name) } {
                Ok(library) => return Blas::of(library, name),
                Err(_) => missing.push(name.display().to_string()),
            }
        }
        Err(format!(
            "no BLAS: {} can't be opened; MINORMAJOR_BLAS may name another",
            missing.join(", ")
        ))
    }

    fn of(library: Library, name: &OsString) -> Result<Blas, String> {
        let name = name.display().to_string();
        let lacks = |function: &str| format!("{name} has no {function}: it is no CBLAS");
        // SAFETY: functions of these names have these arguments in every CBLAS, and are used only
        // while the library is open, since all are in one struct. Libraries with sizes of 64 bits
        // give theirs other names.
        let (sgemm, dgemm) = unsafe {
            (
                *library
                    .get::<Gemm<f32>>(b"cblas_sgemm\0")
                    .map_err(|_| lacks("cblas_sgemm"))?,
                *library
                    .get::<Gemm<f64>>(b"cblas_dgemm\0")
                    .map_err(|_| lacks("cblas_dgemm"))?,
            )
        };
        for one_thread in [&b"openblas_set_num_threads\0"[..], b"MKL_Set_Num_Threads\0"] {
            // SAFETY: each takes a C `int`, in the one library that has it.
            unsafe {
                if let Ok(set) = library.get::<unsafe extern "C" fn(c_int)>(one_thread) {
                    set(1);
                }
            }
        }
        // SAFETY: BLIS's takes a 64-bit number.
        unsafe {
            if let Ok(set) =
                library.get::<unsafe extern "C" fn(i64)>(b"bli_thread_set_num_threads\0")
            {
                set(1);
            }
        }
        Ok(Blas {
            sgemm,
            dgemm,
            name,
            _library: library,
        })
    }

    /// As [`product`](fn@product), by this library where it can read the operands as they are: one of
    /// the two strides is 1 and the other no shorter than a row. Others go the usual way; nothing is
    /// copied. Sums may differ from the usual ones in their last bits.
    ///
    /// # Panics
    ///
    /// As [`product`](fn@product).
    pub fn product<T: Real>(&self, left: Matrix<'_, T>, right: Matrix<'_, T>, result: &mut [T]) {
        check(&left, &right, result.len());
        let sizes = [left.rows, right.columns, left.columns].map(c_int::try_from);
        let ([Ok(m), Ok(n), Ok(k)], Some(a), Some(b)) = (sizes, Side::of(&left), Side::of(&right))
        else {
            return product(left, right, result);
        };
        if m == 0 || n == 0 || k == 0 {
            return product(left, right, result);
        }
        // SAFETY: `check` found every element of both operands inside of their slices, and `result`
        // as long as m rows of n elements. With these flags and pitches the routine reads those
        // elements and no others, and writes those of `result`, which is borrowed alone.
        unsafe {
            T::of(self)(
                ROWS,
                a.turn,
                b.turn,
                m,
                n,
                k,
                T::ONE,
                left.elements.as_ptr().wrapping_offset(left.offset),
                a.pitch,
                right.elements.as_ptr().wrapping_offset(right.offset),
                b.pitch,
                T::ZERO,
                result.as_mut_ptr(),
                n,
            );
        }
    }
}

/// How an operand is said.
struct Side {
    turn: c_int,
    pitch: c_int,
}

impl Side {
    /// A row whose only element has any stride has that of rows without gaps.
    fn of<T>(matrix: &Matrix<'_, T>) -> Option<Side> {
        let rows = |count: usize, length: usize, stride: isize, along: isize| {
            let pitch = if count == 1 { length as isize } else { stride };
            let fits = (length == 1 || along == 1) && pitch >= length as isize;
            c_int::try_from(pitch).ok().filter(|_| fits)
        };
        let &Matrix {
            rows: r,
            columns: c,
            row_stride,
            column_stride,
            ..
        } = matrix;
        let as_it_is = rows(r, c, row_stride, column_stride).map(|pitch| Side {
            turn: AS_IT_IS,
            pitch,
        });
        as_it_is.or_else(|| {
            rows(c, r, column_stride, row_stride).map(|pitch| Side {
                turn: TRANSPOSED,
                pitch,
            })
        })
    }
}

/// What a type has of a library.
pub trait InBlas: Sized {
    #[doc(hidden)]
    const ONE: Self;
    #[doc(hidden)]
    const ZERO: Self;
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn of(blas: &Blas) -> Gemm<Self>;
}

impl InBlas for f32 {
    const ONE: f32 = 1.0;
    const ZERO: f32 = 0.0;
    #[allow(private_interfaces)]
    fn of(blas: &Blas) -> Gemm<f32> {
        blas.sgemm
    }
}

impl InBlas for f64 {
    const ONE: f64 = 1.0;
    const ZERO: f64 = 0.0;
    #[allow(private_interfaces)]
    fn of(blas: &Blas) -> Gemm<f64> {
        blas.dgemm
    }
}
