//! `cargo xtask sanitize`: the kernels' tests under the address sanitizer, and under valgrind's
//! memcheck.
//!
//! The sanitizer sees every instruction set that the CPU has. valgrind brings a CPU of its own, which
//! has AVX2 at most: there the tests find the portable kernels, SSE2's and AVX2's. Both look at kernels
//! that are compiled as people get them.
//!
//! `--python` is for the Python package: its tests of who owns memory, under memcheck.

use std::process::Command;

use crate::failure::Failure;
use crate::package;
use crate::process;
use crate::python;
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

/// Builds the Python package, and runs its tests of memory under memcheck: nothing may be read or
/// written that is freed or was never there, and nothing may be lost.
///
/// Python's own allocator would hide what is freed, so it is left out. Values that were never written
/// are not looked for: Python's small numbers are full of them.
///
/// # Errors
///
/// Where the build or a test fails, and at what memcheck sees. Without an interpreter or valgrind
/// nothing is done, and that is said.
pub fn python(workspace: &Workspace) -> Result<(), Failure> {
    let Some(interpreter) = python::environment(workspace)? else {
        println!("skipped: there is no Python");
        return Ok(());
    };
    if let Some(reason) = valgrind::missing()? {
        println!("skipped: {reason}");
        return Ok(());
    }
    let wheel = package::build(workspace, &interpreter, "test-wheels", &[])?;
    package::install(&interpreter, &wheel)?;
    let tests = |file: &str| {
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--error-exitcode=99", "--num-callers=30"])
            .arg("--undef-value-errors=no")
            .args(["--leak-check=full", "--show-leak-kinds=definite"])
            .arg("--errors-for-leak-kinds=definite")
            .arg("--suppressions=xtask/python.supp")
            .arg(&interpreter)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .arg(format!("crates/python/tests/{file}"))
            .env("PYTHONMALLOC", "malloc")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            // Its threads would only wait.
            .env("OPENBLAS_NUM_THREADS", "1")
            .env_remove("VALGRIND_OPTS")
            .current_dir(workspace.root());
        command
    };
    process::run(&mut tests("test_memory.py"))?;
    package::on_emulated_card(workspace, tests("test_card.py"))
}

/// The kernels' tests, documentation's aside, which are programs of their own.
fn tests(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo("test");
    command
        .args(["--release", "--package", "minormajor-kernels"])
        .args(["--lib", "--tests"])
        // The portable kernels are there with these alone.
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_TARGET_DIR", workspace.target().join("sanitize"))
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}
