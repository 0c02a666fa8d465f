//! `cargo xtask bench`: builds the benchmark, with those it is to be measured beside, and runs it.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::files;
use crate::package;
use crate::process;
use crate::python;
use crate::workspace::Workspace;

/// The package of the benchmark's programs.
const PACKAGE: &str = "minormajor-bench";

/// Makes an allocator keep what is freed, on huge pages: libraries that allocate their results find
/// pages that were touched before.
const KEEP_MEMORY: [(&str, &str); 3] = [
    ("MALLOC_MMAP_MAX_", "0"),
    ("MALLOC_TRIM_THRESHOLD_", "68719476736"),
    ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
];

/// Runs the benchmark with these options of its own.
///
/// # Errors
///
/// Where it can't be built, and where it fails.
pub fn run(workspace: &Workspace, options: &[String]) -> Result<(), Failure> {
    if options.iter().any(|option| option == "--indices") {
        return indices(workspace, options);
    }
    if options.iter().any(|option| option == "--tensors") {
        return tensors(workspace, options);
    }
    if let [first, rest @ ..] = options
        && first == "--files"
    {
        return files::run(workspace, rest);
    }
    if let [first, rest @ ..] = options
        && first == "--python"
    {
        return beside_numpy(workspace, rest);
    }
    let with_peers = options.iter().any(|option| option == "--peers");
    let features = if with_peers { &["peers"][..] } else { &[] };
    let mut command = Command::new(build(workspace, "bench", features)?);
    command.args(options);
    if with_peers {
        match python::peers(workspace) {
            Ok(interpreter) => {
                command.arg("--python").arg(interpreter);
            }
            Err(failure) => println!("no libraries from Python: {failure}"),
        }
        command.envs(KEEP_MEMORY);
    }
    process::run(&mut command)
}

/// Runs the benchmark of index conversion; of peers it has NumPy alone, that of the tests.
fn indices(workspace: &Workspace, options: &[String]) -> Result<(), Failure> {
    let mut command = Command::new(build(workspace, "indices", &[])?);
    command.args(options).envs(KEEP_MEMORY);
    if options.iter().any(|option| option == "--peers")
        && let Some(interpreter) = python::environment(workspace)?
    {
        command.arg("--python").arg(interpreter);
    }
    process::run(&mut command)
}

/// Runs the benchmark of matrix products and compact shapes.
fn tensors(workspace: &Workspace, options: &[String]) -> Result<(), Failure> {
    let with_peers = options.iter().any(|option| option == "--peers");
    let features: &[&str] = if with_peers {
        &["blas", "peers"]
    } else {
        &["blas"]
    };
    let mut command = Command::new(build(workspace, "tensors", features)?);
    command.args(options);
    if with_peers {
        command.arg("--python").arg(python::peers(workspace)?);
    }
    process::run(&mut command)
}

/// The Python package beside NumPy, with `--peers` beside PyTorch too; other options are its own.
fn beside_numpy(workspace: &Workspace, options: &[String]) -> Result<(), Failure> {
    let (peers, options): (Vec<_>, Vec<_>) = options.iter().partition(|o| *o == "--peers");
    let builder = python::environment(workspace)?
        .ok_or_else(|| Failure::new("the package is built by Python's maturin"))?;
    let interpreter = match peers.is_empty() {
        true => builder.clone(),
        false => python::peers(workspace)?,
    };
    let wheel = package::build(workspace, &builder, "wheels", &["--release"])?;
    package::install(&interpreter, &wheel)?;
    process::run(
        Command::new(&interpreter)
            .arg(workspace.root().join("bench/python.py"))
            .args(options)
            .envs(KEEP_MEMORY),
    )
}

/// Looks over the part of the benchmark's code that peers belong to, as the rest is looked over with the workspace, and runs its
/// tests.
///
/// # Errors
///
/// Where something is found.
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    process::run(workspace.cargo("test").args([
        "--release",
        "--package",
        PACKAGE,
        "--bin",
        "bench",
    ]))?;
    process::run(workspace.cargo("clippy").args([
        "--package",
        PACKAGE,
        "--all-targets",
        "--all-features",
        "--",
        "-Dwarnings",
    ]))
}

/// Builds one of the benchmark's programs, and says where it is.
///
/// # Errors
///
/// Where the build fails.
pub fn build(workspace: &Workspace, name: &str, features: &[&str]) -> Result<PathBuf, Failure> {
    process::run(
        workspace
            .cargo("build")
            .args(["--release", "--package", PACKAGE, "--bin", name])
            .args(["--features", &features.join(",")]),
    )?;
    Ok(workspace.program("release", name))
}
