//! The tests' own Python, with the NumPy that they compare with.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// The interpreter with NumPy, made if it isn't there yet; `None` where none can be
/// had, which outside CI only leaves tests out.
///
/// # Errors
///
/// In CI (`CI=true`), when there is no interpreter; anywhere, when the project's own
/// list of requirements can't be read.
pub fn environment(workspace: &Workspace) -> Result<Option<PathBuf>, Failure> {
    let list = workspace.root().join("xtask/requirements.txt");
    let wanted = fs::read_to_string(&list).map_err(|error| Failure::io("read", &list, &error))?;
    match prepare(workspace, &wanted) {
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

/// Makes the environment unless it was made from the same requirements.
fn prepare(workspace: &Workspace, wanted: &str) -> Result<PathBuf, Failure> {
    let folder = workspace.target().join("python");
    let python = if cfg!(windows) {
        folder.join("Scripts").join("python.exe")
    } else {
        folder.join("bin").join("python")
    };
    // Written last, so that an environment that was left half made doesn't count.
    let stamp = folder.join("made-from-requirements.txt");
    let is_made = fs::read_to_string(&stamp).is_ok_and(|made| made == wanted)
        && process::output_of(Command::new(&python).args(["-c", "import numpy"])).is_ok();
    if is_made {
        return Ok(python);
    }

    let system = system_python()?;
    process::output_of(
        Command::new(system)
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    )
    .map_err(|failure| {
        Failure::new(format!(
            "{failure} (Python's venv and pip are needed; Debian has them in python3-venv)"
        ))
    })?;
    process::output_of(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            // A source build would need compilers and many minutes.
            .args(["--only-binary", ":all:", "--requirement"])
            .arg(workspace.root().join("xtask/requirements.txt")),
    )?;
    fs::write(&stamp, wanted).map_err(|error| Failure::io("write", &stamp, &error))?;
    Ok(python)
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
