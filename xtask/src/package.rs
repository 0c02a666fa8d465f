//! The Python package: its wheel, and its tests.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::process;
use crate::python;
use crate::workspace::Workspace;

/// `cargo xtask wheel`: builds the wheel as people get it.
///
/// # Errors
///
/// Without an interpreter, and where the build fails.
pub fn wheel(workspace: &Workspace) -> Result<(), Failure> {
    let python = python::environment(workspace)?
        .ok_or_else(|| Failure::new("a wheel is built by Python's maturin"))?;
    let wheel = build(workspace, &python, "wheels", &["--release"])?;
    println!("{}", workspace.shown(&wheel));
    Ok(())
}

/// Builds the package, installs it beside what its tests need, and runs them.
///
/// # Errors
///
/// Where the build or a test fails. Without an interpreter nothing is done, and that is said.
pub fn test(workspace: &Workspace, python: Option<&Path>) -> Result<(), Failure> {
    let Some(python) = python else {
        println!("skipped: there is no Python to test the package with");
        return Ok(());
    };
    let is_old = process::output_of(
        Command::new(python).args(["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]),
    )
    .is_err();
    if is_old {
        println!("skipped: what the package is tested with is for Python 3.11 and later");
        return Ok(());
    }
    // The build that the other tests use too.
    let wheel = build(workspace, python, "test-wheels", &[])?;
    install(python, &wheel)?;
    let tests = |path: &str| {
        let mut command = Command::new(python);
        command
            // With the reasons of what is skipped.
            .args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", path])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(workspace.root());
        command
    };
    process::run(&mut tests("crates/python/tests"))?;
    on_emulated_card(workspace, tests("crates/python/tests/test_card.py"))
}

/// Runs tests of arrays on cards on one that the host emulates, where it can.
///
/// # Errors
///
/// Where the emulator can't be built, and what the tests fail with.
pub fn on_emulated_card(workspace: &Workspace, mut tests: Command) -> Result<(), Failure> {
    match emulated_driver(workspace)? {
        Some(folder) => {
            println!("arrays on cards, on one that the host emulates:");
            process::run(tests.env("LD_LIBRARY_PATH", folder))
        }
        None => {
            println!("skipped: arrays on cards, since there is no emulator of CUDA's driver here");
            Ok(())
        }
    }
}

/// A folder with the emulator's library under the name that the driver has; `None` where it has none.
fn emulated_driver(workspace: &Workspace) -> Result<Option<PathBuf>, Failure> {
    if !cfg!(target_os = "linux") {
        return Ok(None);
    }
    // As the tests build it: of the package alone, all below it would be built once more.
    let build = ["--quiet", "--workspace", "--example", "library"];
    process::run(workspace.cargo("build").args(build))?;
    let program = workspace.target().join("debug/examples/library");
    let library = process::output_of(&mut Command::new(program))?;
    let library = library.trim();
    if library.is_empty() {
        return Ok(None);
    }
    let folder = workspace.target().join("emulated-cuda");
    fs::create_dir_all(&folder).map_err(|error| Failure::io("create", &folder, &error))?;
    let name = folder.join("libcuda.so.1");
    fs::copy(library, &name).map_err(|error| Failure::io("write", &name, &error))?;
    Ok(Some(folder))
}

/// Installs a wheel without what it depends on, which is there.
///
/// # Errors
///
/// Where pip refuses.
pub fn install(python: &Path, wheel: &Path) -> Result<(), Failure> {
    process::run(
        Command::new(python)
            .args(["-m", "pip", "install", "--quiet", "--force-reinstall"])
            .args(["--disable-pip-version-check", "--no-deps"])
            .arg(wheel),
    )
}

/// Builds the only wheel in a folder of the build folder, and says where it is.
///
/// # Errors
///
/// Where maturin fails.
pub fn build(
    workspace: &Workspace,
    python: &Path,
    folder: &str,
    options: &[&str],
) -> Result<PathBuf, Failure> {
    let folder = workspace.target().join(folder);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| Failure::io("remove", &folder, &error))?;
    }
    process::run(
        Command::new(python)
            .args(["-m", "maturin", "build", "--quiet", "--locked"])
            .args(options)
            .arg("--interpreter")
            .arg(python)
            .arg("--out")
            .arg(&folder)
            .env("CARGO", workspace.cargo_program())
            .env("CARGO_TARGET_DIR", workspace.target())
            .current_dir(workspace.root()),
    )?;
    let read = |error| Failure::io("read", &folder, &error);
    let entries = fs::read_dir(&folder).map_err(read)?;
    let wheels: Vec<PathBuf> = entries
        .map(|entry| Ok(entry.map_err(read)?.path()))
        .collect::<Result<_, Failure>>()?;
    let is_wheel = |path: &&PathBuf| path.extension() == Some(&OsString::from("whl"));
    let wheel = wheels.iter().find(is_wheel).cloned();
    wheel.ok_or_else(|| Failure::new(format!("the build left no wheel in {}", folder.display())))
}
