//! Python environments of the project's own: what tests and benchmarks compare with.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// The tests' interpreter, with NumPy, made if it isn't there yet; `None` where none can be
/// had, which outside CI only leaves tests out.
///
/// # Errors
///
/// In CI (`CI=true`), when there is no interpreter; anywhere, when the project's own
/// list of requirements can't be read.
pub fn environment(workspace: &Workspace) -> Result<Option<PathBuf>, Failure> {
    let environment = Environment::new(workspace, "python", "xtask/requirements.txt", "numpy")?;
    match environment.prepare() {
        Ok(python) => {
            let versions = "import sys, numpy; \
                print('Python', sys.version.split()[0] + ', NumPy', numpy.__version__)";
            let line = process::output_of(Command::new(&python).args(["-c", versions]))?;
            println!("{}", line.trim_end());
            Ok(Some(python))
        }
        Err(failure) if process::is_ci() => Err(failure),
        Err(failure) => {
            println!("The tests that compare with NumPy are skipped: {failure}.");
            Ok(None)
        }
    }
}

/// The benchmark's interpreter, with the libraries that minormajor is measured beside. Those that
/// can't be installed are named; the benchmark says so too.
///
/// # Errors
///
/// When there is no interpreter.
pub fn peers(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let environment = Environment::new(workspace, "peers", "bench/peers.txt", "numpy")?;
    if environment.is_made() {
        return Ok(environment.python());
    }
    println!("installing the libraries of bench/peers.txt: several GiB, once");
    environment.create()?;
    let mut is_whole = true;
    let lines = environment.wanted.lines().map(str::trim);
    for wanted in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        println!("  {wanted}");
        if let Err(failure) = environment.install([wanted]) {
            println!("    {failure}");
            is_whole = false;
        }
    }
    if is_whole {
        environment.finish()?;
    }
    Ok(environment.python())
}

/// The interpreter with NVIDIA's compilers of kernels; `None` where they can't be had, which outside CI
/// only leaves that check out.
///
/// # Errors
///
/// As [`environment`].
pub fn cuda(workspace: &Workspace) -> Result<Option<PathBuf>, Failure> {
    let list = "crates/cuda/requirements.txt";
    let environment = Environment::new(workspace, "cuda", list, "nvidia.cuda_nvrtc")?;
    match environment.prepare() {
        Ok(python) => Ok(Some(python)),
        Err(failure) if process::is_ci() => Err(failure),
        Err(failure) => {
            println!("The kernels are not compiled: {failure}.");
            Ok(None)
        }
    }
}

/// A folder with an interpreter and what a list of requirements names.
struct Environment {
    folder: PathBuf,
    list: PathBuf,
    /// The list's text.
    wanted: String,
    /// What can be imported once it is made.
    module: &'static str,
}

impl Environment {
    fn new(
        workspace: &Workspace,
        folder: &str,
        list: &str,
        module: &'static str,
    ) -> Result<Environment, Failure> {
        let list = workspace.root().join(list);
        let wanted =
            fs::read_to_string(&list).map_err(|error| Failure::io("read", &list, &error))?;
        Ok(Environment {
            folder: workspace.target().join(folder),
            list,
            wanted,
            module,
        })
    }

    fn python(&self) -> PathBuf {
        if cfg!(windows) {
            self.folder.join("Scripts").join("python.exe")
        } else {
            self.folder.join("bin").join("python")
        }
    }

    /// Written last, so that an environment that was left half made doesn't count.
    fn stamp(&self) -> PathBuf {
        self.folder.join("made-from-requirements.txt")
    }

    /// Makes the environment unless it was made from the same requirements.
    fn prepare(&self) -> Result<PathBuf, Failure> {
        if !self.is_made() {
            self.create()?;
            self.install([Path::new("--requirement"), &self.list])?;
            self.finish()?;
        }
        Ok(self.python())
    }

    fn is_made(&self) -> bool {
        let import = format!("import {}", self.module);
        fs::read_to_string(self.stamp()).is_ok_and(|made| made == self.wanted)
            && process::output_of(Command::new(self.python()).args(["-c", &import])).is_ok()
    }

    fn create(&self) -> Result<(), Failure> {
        let mut command = Command::new(system_python()?);
        command.args(["-m", "venv", "--clear"]).arg(&self.folder);
        process::output_of(&mut command)
            .map(drop)
            .map_err(|failure| {
                Failure::new(format!(
                    "{failure} (Python's venv and pip are needed; Debian has them in python3-venv)"
                ))
            })
    }

    fn install(&self, what: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<(), Failure> {
        let mut command = Command::new(self.python());
        command
            .args(["-m", "pip", "install", "--quiet"])
            .arg("--disable-pip-version-check")
            // A source build would need compilers and many minutes.
            .args(["--only-binary", ":all:"])
            .args(what);
        process::output_of(&mut command).map(drop)
    }

    fn finish(&self) -> Result<(), Failure> {
        let stamp = self.stamp();
        fs::write(&stamp, &self.wanted).map_err(|error| Failure::io("write", &stamp, &error))
    }
}

fn system_python() -> Result<&'static str, Failure> {
    let names = ["python3", "python"];
    names
        .into_iter()
        .find(|name| {
            let is_three = "import sys; sys.exit(sys.version_info < (3,))";
            process::output_of(Command::new(name).args(["-c", is_three])).is_ok()
        })
        .ok_or_else(|| Failure::new("`python3` was not found"))
}
