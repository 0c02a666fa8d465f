//! The calls of the driver and of cuBLAS, against a library that has their functions.

use std::sync::Arc;

use minormajor::backend::{Backend, DeviceError, Devices, Distribution, Operand, Strided};
use minormajor::{ElementType, Plan, Shape};
use minormajor_cuda::{Cuda, CudaBackend, Library};
use minormajor_cuda_emulator::{LIBRARY, PRESENT, parameter_bytes};

fn backend() -> Option<CudaBackend> {
    if !PRESENT {
        println!("skipped: the emulator was built without a C++ compiler");
        return None;
    }
    let library = Library::open_files(LIBRARY, LIBRARY).unwrap();
    assert_eq!(library.count(), Ok(1));
    let cuda = Cuda::new(&library, 0).unwrap();
    Some(CudaBackend::over("cuda:0", Arc::new(cuda)))
}

#[test]
fn a_story_through_the_driver() {
    let Some(cuda) = backend() else { return };
    assert_eq!(cuda.description(), "Emulated card 7, 0.1 GiB");
    // Up in chunks, relaid, down, on several threads at once.
    let rows: Shape = "u16[2048,3000]{1,0}".parse().unwrap();
    let columns: Shape = "u16[2048,3000]{0,1}".parse().unwrap();
    let plan =
        |a: &Shape, b: &Shape| Plan::new(a.as_array().unwrap(), b.as_array().unwrap()).unwrap();
    let (there, back) = (plan(&rows, &columns), plan(&columns, &rows));
    let source: Vec<u8> = (0..2048 * 6000u32)
        .map(|n| (n * 7 + (n >> 9)) as u8)
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let made = cuda.upload_relaid(&there, &source).unwrap();
                let mut result = vec![0; source.len()];
                cuda.download_relaid(&back, &*made, &mut result).unwrap();
                assert!(result == source);
            });
        }
    });
    // Zeros, kernels, a product.
    assert_eq!(cuda.allocate(16).unwrap().bytes(), 16);
    let place = Strided::dense(ElementType::F32, &[4, 4], &[0, 1]);
    let numbers = cuda.random(Distribution::Normal, 3, &place).unwrap();
    let operand = Operand {
        storage: &*numbers,
        place: place.clone(),
    };
    let product = cuda.mm(&operand, &operand, &place).unwrap();
    cuda.synchronize().unwrap();
    let floats = |storage: &dyn minormajor::backend::Storage| -> Vec<f32> {
        let mut bytes = vec![0; storage.bytes()];
        cuda.download(storage, 0, &mut bytes).unwrap();
        bytes
            .chunks(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect()
    };
    let (a, c) = (floats(&*numbers), floats(&*product));
    for i in 0..4 {
        for j in 0..4 {
            let sum: f32 = (0..4).map(|k| a[i + 4 * k] * a[k + 4 * j]).sum();
            assert!((sum - c[i + 4 * j]).abs() < 1e-5);
        }
    }
}

#[test]
fn memory_that_runs_out_is_an_error() {
    let Some(cuda) = backend() else { return };
    let error = cuda.allocate(1 << 30).unwrap_err();
    assert!(
        matches!(error, DeviceError::OutOfMemory { free: Some(_), .. }),
        "{error}"
    );
    let error = cuda.upload(&vec![0; 100 << 20]).unwrap_err();
    assert!(matches!(error, DeviceError::OutOfMemory { .. }), "{error}");
    let kept = cuda.upload(&[1, 2, 3]).unwrap();
    let mut bytes = [0; 3];
    cuda.download(&*kept, 0, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 2, 3]);
}

#[test]
fn libraries_that_are_missing_are_named() {
    let error = Library::open_files("libno-such-driver.so", "none").unwrap_err();
    assert!(error.starts_with("libno-such-driver.so: "), "{error}");
    if let Some(_cuda) = backend() {
        let library = Library::open_files(LIBRARY, "libno-such-blas.so").unwrap();
        let error = Cuda::new(&library, 1).unwrap_err();
        assert!(error.starts_with("cuDeviceGet: "), "{error}");
        let cuda = CudaBackend::over("cuda:0", Arc::new(Cuda::new(&library, 0).unwrap()));
        let place = Strided::dense(ElementType::F32, &[2, 2], &[0, 1]);
        let storage = cuda.upload(&[0; 16]).unwrap();
        let operand = Operand {
            storage: &*storage,
            place: place.clone(),
        };
        let error = cuda.mm(&operand, &operand, &place).unwrap_err().to_string();
        let expected = "cuda:0 needs cuBLAS, for matrix products (libno-such-blas.so: ";
        assert!(error.starts_with(expected), "{error}");
    }
}

/// What a device runs takes the parameters that the host's copy of it does.
#[test]
fn shipped_kernels_take_the_same_parameters() {
    if !PRESENT {
        println!("skipped: the emulator was built without a C++ compiler");
        return;
    }
    let mut kernels = 0;
    for line in minormajor_cuda::PTX
        .lines()
        .filter(|line| line.contains("_param_0["))
    {
        // .param .align 8 .b8 runs_1_param_0[2000]
        let (front, size) = line.split_once("_param_0[").unwrap();
        let name = front.split_whitespace().last().unwrap();
        let size: u64 = size.split(']').next().unwrap().parse().unwrap();
        assert_eq!(parameter_bytes(name), size, "{name}");
        kernels += 1;
    }
    assert_eq!(
        kernels,
        minormajor_cuda::PTX.matches(".visible .entry ").count()
    );
    assert!(kernels > 100, "{kernels}");
}

/// With a driver or without: devices are there, or a reason is.
#[test]
fn registering_never_fails() {
    let mut devices = Devices::new();
    minormajor_cuda::register(&mut devices).unwrap();
    minormajor_cuda::register(&mut devices).unwrap();
    match devices.get("cuda:0") {
        Ok(device) => assert!(device.description().contains("GiB")),
        Err(error) => {
            println!("{error}");
            assert!(
                error
                    .to_string()
                    .starts_with("there is no device cuda:0: the driver ")
            );
        }
    }
    assert_eq!(devices.get("cpu").unwrap().name(), "cpu");
}
