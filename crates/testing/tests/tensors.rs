//! The suite of backends on those that are always there.

use std::sync::Arc;

use minormajor::backend::CpuBackend;
use minormajor_testing::tensors::suite;

#[test]
fn the_host() {
    suite(Arc::new(CpuBackend::row_major()));
}

#[test]
fn the_host_in_columns() {
    suite(Arc::new(CpuBackend::column_major()));
}

#[test]
fn the_host_with_the_systems_blas() {
    match CpuBackend::with_blas() {
        Ok(backend) => suite(Arc::new(backend)),
        Err(reason) => println!("skipped: {reason}"),
    }
}
