//! cuBLAS: matrix products, where the library is there.

use std::env;
use std::ffi::{OsString, c_int, c_void};
use std::ptr;

use minormajor::ElementType;

use super::driver::Handle;
use super::library::library;
use crate::driver::Fault;
use crate::product::{Matrix, Product};

library! {
    /// libcublas.
    Api {
        fn cublasCreate_v2(handle: *mut *mut c_void);
        fn cublasDestroy_v2(handle: *mut c_void);
        fn cublasSetStream_v2(handle: *mut c_void, stream: *mut c_void);
        fn cublasSetMathMode(handle: *mut c_void, mode: c_int);
        fn cublasGemmStridedBatchedEx(
            handle: *mut c_void,
            left_operation: c_int, right_operation: c_int,
            m: c_int, n: c_int, k: c_int,
            alpha: *const c_void,
            left: *const c_void, left_type: c_int, left_leading: c_int, left_stride: i64,
            right: *const c_void, right_type: c_int, right_leading: c_int, right_stride: i64,
            beta: *const c_void,
            result: *mut c_void, result_type: c_int, result_leading: c_int, result_stride: i64,
            batch: c_int,
            compute: c_int,
            algorithm: c_int,
        );
    }
}

/// `CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION`: halves are summed in f32.
const SUMS_IN_F32: c_int = 16;
/// `CUBLAS_GEMM_DEFAULT`.
const DEFAULT_ALGORITHM: c_int = -1;

/// An open library with its state.
pub(super) struct Blas {
    api: Api,
    handle: Handle,
}

/// The library's names on this system; one that `MINORMAJOR_CUBLAS` names comes first.
pub(super) fn names() -> Vec<OsString> {
    let versions = [13, 12, 11];
    let known = versions.map(|version| match cfg!(windows) {
        true => format!("cublas64_{version}.dll").into(),
        false => format!("libcublas.so.{version}").into(),
    });
    env::var_os("MINORMAJOR_CUBLAS")
        .into_iter()
        .chain(known)
        .collect()
}

/// Numbers of alpha and beta in the type that a product is computed in.
#[repr(C, align(8))]
struct Factor([u8; 8]);

impl Blas {
    /// Opens the first of these libraries, for work in a stream of the current context.
    pub fn open(names: &[OsString], stream: Handle) -> Result<Blas, Fault> {
        let api = Api::open(names).map_err(|reason| Fault::Missing {
            what: format!("cuBLAS, for matrix products ({reason})"),
        })?;
        let mut handle = ptr::null_mut();
        // SAFETY: writes the handle.
        #[allow(unsafe_code)]
        let status = unsafe { (api.cublasCreate_v2)(&raw mut handle) };
        check("cublasCreate_v2", status)?;
        let blas = Blas {
            api,
            handle: Handle(handle.expose_provenance()),
        };
        // SAFETY: the handle is the library's, and the stream one of the current context.
        #[allow(unsafe_code)]
        let status = unsafe { (blas.api.cublasSetStream_v2)(blas.pointer(), stream.pointer()) };
        check("cublasSetStream_v2", status)?;
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let status = unsafe { (blas.api.cublasSetMathMode)(blas.pointer(), SUMS_IN_F32) };
        check("cublasSetMathMode", status)?;
        Ok(blas)
    }

    fn pointer(&self) -> *mut c_void {
        self.handle.pointer()
    }

    /// Queues a product. One thread at a time.
    pub fn run(&mut self, product: &Product) -> Result<(), Fault> {
        use ElementType::{Bf16, F16, F32, F64, S8};
        // `cudaDataType` and `cublasComputeType_t`.
        let (operand, result, compute) = match product.element_type {
            F32 => (0, 0, 68),
            F64 => (1, 1, 70),
            F16 => (2, 2, 68),
            Bf16 => (14, 14, 68),
            S8 => (3, 10, 72),
            other => {
                return Err(Fault::Failed {
                    what: format!("cuBLAS multiplies no matrices of {other}"),
                });
            }
        };
        let factor = |value: u8| {
            let mut bytes = [0; 8];
            match compute {
                68 => bytes[..4].copy_from_slice(&f32::from(value).to_le_bytes()),
                70 => bytes.copy_from_slice(&f64::from(value).to_le_bytes()),
                _ => bytes[..4].copy_from_slice(&i32::from(value).to_le_bytes()),
            }
            Factor(bytes)
        };
        let (alpha, beta) = (factor(1), factor(0));
        let count = |n: i64| {
            c_int::try_from(n).map_err(|_| Fault::Failed {
                what: format!("{n} is more than cuBLAS counts"),
            })
        };
        let address = |matrix: &Matrix| ptr::without_provenance_mut(matrix.address as usize);
        let Product {
            left,
            right,
            result: made,
            ..
        } = product;
        // SAFETY: the handle is the library's and nobody else uses it meanwhile (`&mut self`);
        // alpha and beta are of the computing type and live through the call, which reads them on
        // the host; matrices are addresses of the device, which the host does not touch.
        #[allow(unsafe_code)]
        let status = unsafe {
            (self.api.cublasGemmStridedBatchedEx)(
                self.pointer(),
                c_int::from(left.transposed),
                c_int::from(right.transposed),
                count(product.m)?,
                count(product.n)?,
                count(product.k)?,
                (&raw const alpha).cast(),
                address(left),
                operand,
                count(left.leading)?,
                left.batch_stride,
                address(right),
                operand,
                count(right.leading)?,
                right.batch_stride,
                (&raw const beta).cast(),
                address(made),
                result,
                count(made.leading)?,
                made.batch_stride,
                count(product.batch)?,
                compute,
                DEFAULT_ALGORITHM,
            )
        };
        check("cublasGemmStridedBatchedEx", status)
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle is the library's, and this is its last use.
        #[allow(unsafe_code)]
        unsafe {
            (self.api.cublasDestroy_v2)(self.pointer());
        }
    }
}

fn check(call: &str, status: c_int) -> Result<(), Fault> {
    let name = match status {
        0 => return Ok(()),
        1 => "not initialised",
        3 => "no memory left",
        7 => "a value that it does not take",
        8 => "not on this architecture",
        13 => "the execution failed",
        14 => "an internal error",
        15 => "not supported",
        _ => "an error",
    };
    Err(Fault::Failed {
        what: format!("{call}: {name} (status {status})"),
    })
}
