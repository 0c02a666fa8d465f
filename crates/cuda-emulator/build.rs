//! Compiles the kernels for the host: into this crate, and into a library with the driver's
//! functions.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rustc-check-cfg=cfg(emulator)");
    for folder in ["cpp", "../cuda/kernels"] {
        println!("cargo:rerun-if-changed={folder}");
    }
    let compiled = build()
        .file("cpp/emulator.cpp")
        .try_compile("minormajor_cuda_emulator")
        .map_err(|error| error.to_string());
    match compiled.and_then(|()| library()) {
        Ok(library) => {
            println!("cargo:rustc-cfg=emulator");
            println!(
                "cargo:rustc-env=MINORMAJOR_CUDA_LIBRARY={}",
                library.display()
            );
        }
        Err(error) => {
            println!("cargo:warning=no emulator of CUDA: {error}");
            println!("cargo:rustc-env=MINORMAJOR_CUDA_LIBRARY=");
        }
    }
}

fn build() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        // A device's operations are rounded one by one: kernels are compiled without fused ones.
        .flag_if_supported("-ffp-contract=off")
        .opt_level(2)
        .debug(false)
        .include("cpp")
        .include("../cuda/kernels");
    build
}

/// The library, in the folder of build outputs.
fn library() -> Result<PathBuf, String> {
    let folder = env::var_os("OUT_DIR").ok_or("cargo names no folder")?;
    let library = PathBuf::from(folder).join("libcuda_emulated.so");
    let compiler = build()
        .try_get_compiler()
        .map_err(|error| error.to_string())?;
    let status = compiler
        .to_command()
        .args(["-shared", "-fPIC", "cpp/libcuda.cpp", "-o"])
        .arg(&library)
        .status()
        .map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(library),
        false => Err(format!("the compiler exited with {status}")),
    }
}
