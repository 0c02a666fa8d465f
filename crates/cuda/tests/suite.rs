//! The suite of all backends, on the emulated device, and on a card where there is one.

use std::sync::Arc;

use minormajor_cuda::{Cuda, CudaBackend, Library};
use minormajor_cuda_emulator::{Emulator, Options, PRESENT};
use minormajor_testing::tensors::suite;

#[test]
fn on_the_emulated_device() {
    if !PRESENT {
        println!("skipped: the emulator was built without a C++ compiler");
        return;
    }
    let emulator = Emulator::new(Options::default());
    suite(Arc::new(CudaBackend::over(
        "cuda:0",
        Arc::new(emulator.clone()),
    )));
    assert_eq!(emulator.allocations(), 0, "memory that was not given back");
}

#[test]
fn on_a_card() {
    let card = Library::open().and_then(|library| match library.count() {
        Ok(0) => Err("the driver finds no device".to_owned()),
        Ok(_) => Cuda::new(&library, 0),
        Err(fault) => Err(fault.to_string()),
    });
    match card {
        Ok(card) => suite(Arc::new(CudaBackend::over("cuda:0", Arc::new(card)))),
        Err(reason) => println!("skipped: {reason}"),
    }
}
