//! `cargo xtask sanitize`: the kernels' tests under the address sanitizer, and under valgrind's
//! memcheck.
//!
//! The sanitizer sees every instruction set that the CPU has. valgrind brings a CPU of its own, which
//! has AVX2 at most: there the tests find the portable kernels, SSE2's and AVX2's.

use std::process::Command;

use crate::failure::Failure;
use crate::process;
use crate::valgrind;
use crate::workspace::Workspace;

/// Runs both.
///
/// # Errors
///
/// At the first test that fails, and at the first fault that the sanitizer or memcheck sees.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    println!("=== address sanitizer ===");
    if workspace.has_address_sanitizer()? {
        let host = workspace.host()?;
        process::run(
            tests(workspace)
                // Build scripts and macros are then built without the flag.
                .args(["--target", &host])
                // The flag is refused on stable otherwise.
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTFLAGS", "-Zsanitizer=address"),
        )?;
    } else {
        println!("skipped: the toolchain has no address sanitizer for this system");
    }

    println!("\n=== valgrind memcheck ===");
    match valgrind::missing()? {
        Some(reason) => println!("skipped: {reason}"),
        None => {
            let triple = workspace.host()?.to_uppercase().replace('-', "_");
            process::run(tests(workspace).env(
                format!("CARGO_TARGET_{triple}_RUNNER"),
                "valgrind --quiet --error-exitcode=99",
            ))?;
        }
    }
    Ok(())
}

/// The kernels' tests, documentation's aside, which are programs of their own.
fn tests(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo("test");
    command
        .args(["--package", "minormajor-kernels", "--lib", "--tests"])
        .env("CARGO_TARGET_DIR", workspace.target().join("sanitize"))
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}
