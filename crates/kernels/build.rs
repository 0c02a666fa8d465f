//! Builds for tests leave out what this machine could not run: AVX-512's kernels, a third of the code of all in a release build.
//! What isn't optimised at all says so.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(without_avx512, unoptimised)");
    let variable = |name| std::env::var(name).unwrap_or_default();
    // Cargo's word for whatever profile has debug assertions by default; builds for other machines have all.
    if variable("PROFILE") == "debug" && variable("HOST") == variable("TARGET") && lacks_avx512() {
        println!("cargo:rustc-cfg=without_avx512");
    }
    if variable("OPT_LEVEL") == "0" {
        println!("cargo:rustc-cfg=unoptimised");
    }
}

#[cfg(target_arch = "x86_64")]
fn lacks_avx512() -> bool {
    !std::is_x86_feature_detected!("avx512bw")
}

#[cfg(not(target_arch = "x86_64"))]
fn lacks_avx512() -> bool {
    false
}
