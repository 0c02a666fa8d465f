//! `cargo xtask conformance`: random cases through XLA and through this project.

use std::path::Path;
use std::process::Command;

use crate::arguments::Cases;
use crate::failure::Failure;
use crate::process;
use crate::python;
use crate::workspace::Workspace;

/// What runs them, of the package `minormajor-testing`.
const PROGRAM: &str = "conformance";

/// Runs the cases in the tests' Python environment, made if it isn't there yet.
///
/// # Errors
///
/// Where a case differs outside the list of XLA's faults, and where nothing can be run.
pub fn run(workspace: &Workspace, cases: Cases) -> Result<(), Failure> {
    let python = python::environment(workspace)?;
    compare(workspace, python.as_deref(), cases)
}

/// As [`run`], with an interpreter that is there, or none.
///
/// # Errors
///
/// As [`run`]. Where there is no jaxlib, that is said, and in CI an error.
pub fn compare(workspace: &Workspace, python: Option<&Path>, cases: Cases) -> Result<(), Failure> {
    let imports = |python: &Path| {
        process::output_of(Command::new(python).args(["-c", "import jaxlib"])).is_ok()
    };
    let Some(python) = python.filter(|python| imports(python)) else {
        if process::is_ci() {
            return Err(Failure::new("there is no Python with jaxlib"));
        }
        println!("The cases beside XLA are skipped: there is no Python with jaxlib.");
        return Ok(());
    };
    // By the features of the whole workspace, so with the kernels that the tests have compiled.
    process::run(
        workspace
            .cargo("build")
            .args(["--quiet", "--workspace", "--bin", PROGRAM]),
    )?;
    process::run(
        Command::new(workspace.program("debug", PROGRAM))
            .arg(python)
            .args([cases.count.to_string(), cases.seed.to_string()]),
    )
}
