//! Compiles the kernels for the host.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(emulator)");
    for folder in ["cpp", "../cuda/kernels"] {
        println!("cargo:rerun-if-changed={folder}");
    }
    let compiled = cc::Build::new()
        .cpp(true)
        .std("c++17")
        // Kernels say nothing of contraction: a device's __fmul_rn is a plain product here.
        .flag_if_supported("-ffp-contract=off")
        .opt_level(2)
        .debug(false)
        .include("cpp")
        .include("../cuda/kernels")
        .file("cpp/emulator.cpp")
        .try_compile("minormajor_cuda_emulator");
    match compiled {
        Ok(()) => println!("cargo:rustc-cfg=emulator"),
        Err(error) => println!("cargo:warning=no emulator of CUDA: {error}"),
    }
}
