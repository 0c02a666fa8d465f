//! `cargo xtask targets`: the kernels compiled for targets that the tests don't run on.
//!
//! They have code of their own there, or leave some out, and no C library is needed to check it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::failure::Failure;
use crate::process::{self, Ending};
use crate::workspace::Workspace;

/// One with vectors of its own, and one of 32 bits without.
const TARGETS: [&str; 2] = ["aarch64-unknown-linux-gnu", "i686-unknown-linux-gnu"];

/// How long a target's standard library may take to come.
const PATIENCE: Duration = Duration::from_secs(240);

/// Checks the kernels, their tests included, for every target whose standard library is there, or
/// that rustup can bring; says of others why they are left out.
///
/// # Errors
///
/// When the kernels don't compile for one, or with a warning.
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    for target in TARGETS {
        if let Some(reason) = lacks(workspace, target)? {
            println!("not checked for {target}: {reason}");
            continue;
        }
        process::run(workspace.cargo("clippy").args([
            "--package",
            "minormajor-kernels",
            "--all-targets",
            "--target",
            target,
            "--",
            "-Dwarnings",
        ]))?;
    }
    Ok(())
}

/// Why the standard library of a target is not there, and can't be brought.
fn lacks(workspace: &Workspace, target: &str) -> Result<Option<String>, Failure> {
    if is_installed(workspace, target)? {
        return Ok(None);
    }
    let log = workspace.target().join("rustup.txt");
    let mut rustup = Command::new("rustup");
    rustup
        .current_dir(workspace.root())
        .args(["target", "add", target]);
    Ok(match process::run_logged(&mut rustup, &log, PATIENCE) {
        Err(failure) => Some(failure.to_string()),
        Ok(Ending::TimedOut) => {
            let limit = PATIENCE.as_secs();
            Some(format!("`rustup target add {target}` took over {limit} s"))
        }
        Ok(Ending::Exited(status)) => process::judge(&rustup, status).err().map(|f| f.to_string()),
    })
}

/// Whether the compiler that cargo uses has the target's standard library.
fn is_installed(workspace: &Workspace, target: &str) -> Result<bool, Failure> {
    // rustc has no subcommand of cargo's that would run it and compile nothing.
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.current_dir(workspace.root());
    let folder =
        process::output_of(command.args(["--print", "target-libdir", "--target", target]))?;
    Ok(Path::new(folder.trim()).is_dir())
}
