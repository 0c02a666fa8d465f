//! The documents' commands: every `sh` and `console` block of README.md and docs/
//! runs, and a `console` block's output is compared.
//!
//! A document's blocks run in order in one folder of their own, which holds a copy of
//! `data/` and a link to the build folder as `target/`; so a later block can use what
//! an earlier one wrote, and nothing is written into the clone. `cargo` there is a
//! stand-in that runs the real one on the clone's workspace.
//!
//! - `sh`: one script, which must exit with 0.
//! - `console`: each line after `$ ` is a command, the lines below it are what it must
//!   print. Only where these hold the word `error` may its exit code differ from 0.
//! - A picture beside a document that one of its commands draws too, under the same name, must be
//!   the same.
//! - A block marked `no-run` after its language, and lines that begin with
//!   `cargo xtask` (they would start this check again, or fuzz), are left out and
//!   said to be.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::failure::Failure;
use crate::markdown::{self, Block};
use crate::process::{self, Ending};
use crate::steps::Steps;
use crate::test;
use crate::workspace::Workspace;

/// No block of a document may take longer. An example is built first, by however few cores there are.
const LIMIT: Duration = Duration::from_secs(1200);

/// `cargo xtask docs`: builds the release binary and checks the documents.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut steps = Steps::new();
    steps.run("release binary", || test::build_release(workspace))?;
    steps.run("documents", || check(workspace))?;
    steps.summarise();
    Ok(())
}

/// Runs the documents' commands with the release binary, which must be built.
///
/// # Errors
///
/// After all documents have run, the number of blocks that failed; each is explained
/// where it stands in the output.
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    let mut ran = 0;
    let mut failed = 0;
    for document in documents(workspace)? {
        let text = fs::read_to_string(&document)
            .map_err(|error| Failure::io("read", &document, &error))?;
        let name = workspace.shown(&document).to_string();
        let blocks = markdown::blocks(&text).map_err(|line| {
            Failure::new(format!("{name}:{line}: this code block is never closed"))
        })?;
        let mut scratch: Option<Scratch> = None;
        for block in &blocks {
            if !matches!(block.language(), "sh" | "console") {
                continue;
            }
            if block.is_marked("no-run") {
                println!("{name}:{}: left out: marked no-run", block.line);
                continue;
            }
            let scratch = match &scratch {
                Some(scratch) => scratch,
                None => scratch.insert(Scratch::make(workspace, &name)?),
            };
            let complaints = match block.language() {
                "sh" => scratch.run_script(&name, block)?,
                _ => scratch.run_transcript(&name, block)?,
            };
            ran += 1;
            if complaints.is_empty() {
                println!("{name}:{}: ok", block.line);
            } else {
                failed += 1;
                println!("{}", complaints.join("\n"));
            }
        }
        for old in scratch
            .iter()
            .flat_map(|scratch| scratch.other_pictures(&document))
        {
            failed += 1;
            println!("{name}: {old} is not what its commands draw");
        }
    }
    if failed > 0 {
        return Err(Failure::new(format!(
            "{failed} of {ran} blocks don't do what the documents say"
        )));
    }
    println!("{ran} blocks ran.");
    Ok(())
}

/// README.md and the files of docs/, those that are there, in order of name.
fn documents(workspace: &Workspace) -> Result<Vec<PathBuf>, Failure> {
    let mut documents = Vec::new();
    let folder = workspace.root().join("docs");
    if folder.is_dir() {
        let read = |error| Failure::io("read", &folder, &error);
        for entry in fs::read_dir(&folder).map_err(read)? {
            let path = entry.map_err(read)?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
        documents.sort();
    }
    let readme = workspace.root().join("README.md");
    if readme.is_file() {
        documents.insert(0, readme);
    }
    Ok(documents)
}

/// What a document's commands are run in.
struct Scratch {
    folder: PathBuf,
    log: PathBuf,
    path: OsString,
    cargo: OsString,
    root: PathBuf,
    target: PathBuf,
}

impl Scratch {
    /// An empty folder but for `data/` and `target/`; what an earlier run left in it
    /// is removed.
    fn make(workspace: &Workspace, document: &str) -> Result<Scratch, Failure> {
        let home = workspace
            .target()
            .join("documents")
            .join(document.replace(['/', '\\'], "-"));
        let write = |error| Failure::io("write", &home, &error);
        if home.exists() {
            fs::remove_dir_all(&home).map_err(write)?;
        }
        let folder = home.join("work");
        let programs = home.join("bin");
        fs::create_dir_all(&folder).map_err(write)?;
        fs::create_dir_all(&programs).map_err(write)?;
        copy_folder(&workspace.root().join("data"), &folder.join("data"))?;
        link_folder(workspace.target(), &folder.join("target"))?;
        write_cargo(&programs.join("cargo"))?;

        let binary = workspace.release_binary();
        let mut folders = vec![programs];
        folders.extend(binary.parent().map(Path::to_owned));
        folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let path = env::join_paths(folders)
            .map_err(|error| Failure::new(format!("PATH can't be extended: {error}")))?;
        Ok(Scratch {
            folder,
            log: home.join("output.txt"),
            path,
            cargo: workspace.cargo_program().clone(),
            root: workspace.root().to_owned(),
            target: workspace.target().to_owned(),
        })
    }

    /// Pictures beside a document that its commands drew, and drew otherwise.
    fn other_pictures(&self, document: &Path) -> Vec<String> {
        let drawn = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = drawn.map(|entry| entry.file_name());
        let pictures = names.filter(|name| name.to_string_lossy().ends_with(".svg"));
        let other = pictures.filter(|name| {
            let kept = fs::read(document.with_file_name(name));
            kept.is_ok_and(|kept| fs::read(self.folder.join(name)).ok() != Some(kept))
        });
        other
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }

    /// Runs an `sh` block; returns what is wrong with it.
    fn run_script(&self, document: &str, block: &Block) -> Result<Vec<String>, Failure> {
        let mut script = String::new();
        for (index, line) in block.lines.iter().enumerate() {
            if is_own_command(line) {
                println!("{document}:{}: left out: {line}", block.line + 1 + index);
            } else {
                script.push_str(line);
                script.push('\n');
            }
        }
        let (problem, output) = self.run(&script)?;
        Ok(match problem {
            None => Vec::new(),
            Some(problem) => {
                let mut complaints = vec![format!("{document}:{}: {problem}", block.line)];
                complaints.extend(titled("it printed", &output));
                complaints
            }
        })
    }

    /// Runs a `console` block; returns what is wrong with it.
    fn run_transcript(&self, document: &str, block: &Block) -> Result<Vec<String>, Failure> {
        let exchanges = match markdown::transcript(block) {
            Ok(exchanges) => exchanges,
            Err(line) => {
                return Ok(vec![format!(
                    "{document}:{line}: output before any `$ ` command"
                )]);
            }
        };
        let mut complaints = Vec::new();
        for exchange in exchanges {
            let place = format!("{document}:{}", exchange.line);
            if is_own_command(&exchange.command) {
                println!("{place}: left out: {}", exchange.command);
                continue;
            }
            let (problem, output) = self.run(&exchange.command)?;
            let shows_error = exchange.expected.iter().any(|line| line.contains("error"));
            let problem = problem.filter(|_| !shows_error);
            let is_as_shown = markdown::is_as_shown(&exchange.expected, &output);
            if problem.is_none() && is_as_shown {
                continue;
            }
            let problem = problem.unwrap_or_else(|| "prints something else".to_owned());
            complaints.push(format!("{place}: {problem}: {}", exchange.command));
            complaints.extend(titled("shown", &exchange.expected));
            complaints.extend(titled("printed", &output));
        }
        Ok(complaints)
    }

    /// Runs a script; returns how it failed, if it did, and the lines it printed.
    fn run(&self, script: &str) -> Result<(Option<String>, Vec<String>), Failure> {
        let mut command = Command::new("bash");
        command
            .args(["-euo", "pipefail", "-c", script])
            .current_dir(&self.folder)
            .env("PATH", &self.path)
            .env("CARGO_TARGET_DIR", &self.target)
            // Only the command's own output, as text.
            .env("CARGO_TERM_QUIET", "true")
            .env("NO_COLOR", "1")
            // For the stand-in.
            .env("DOCUMENTS_CARGO", &self.cargo)
            .env("DOCUMENTS_MANIFEST", self.root.join("Cargo.toml"));
        let ending = process::run_logged(&mut command, &self.log, LIMIT)?;
        let output = fs::read(&self.log).map_err(|error| Failure::io("read", &self.log, &error))?;
        let output = String::from_utf8_lossy(&output)
            .lines()
            .map(str::to_owned)
            .collect();
        let problem = match ending {
            Ending::Exited(status) if status.success() => None,
            Ending::Exited(status) => Some(match status.code() {
                Some(code) => format!("exits with {code}"),
                None => format!("is ended: {status}"),
            }),
            Ending::TimedOut => Some(format!("takes more than {} s", LIMIT.as_secs())),
        };
        Ok((problem, output))
    }
}

/// Whether a line would run this program.
fn is_own_command(line: &str) -> bool {
    line.trim_start().starts_with("cargo xtask")
}

fn titled(title: &str, lines: &[String]) -> Vec<String> {
    let mut titled = vec![format!("  {title}:")];
    if lines.is_empty() {
        titled.push("    (nothing)".to_owned());
    }
    titled.extend(lines.iter().map(|line| format!("    {line}")));
    titled
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    let read = |error| Failure::io("read", from, &error);
    fs::create_dir(to).map_err(|error| Failure::io("create", to, &error))?;
    for entry in fs::read_dir(from).map_err(read)? {
        let path = entry.map_err(read)?.path();
        let Some(name) = path.file_name().filter(|_| path.is_file()) else {
            continue;
        };
        fs::copy(&path, to.join(name)).map_err(|error| Failure::io("copy", &path, &error))?;
    }
    Ok(())
}

#[cfg(unix)]
fn link_folder(to: &Path, link: &Path) -> Result<(), Failure> {
    std::os::unix::fs::symlink(to, link).map_err(|error| Failure::io("link", link, &error))
}

#[cfg(not(unix))]
fn link_folder(_to: &Path, link: &Path) -> Result<(), Failure> {
    fs::create_dir(link).map_err(|error| Failure::io("create", link, &error))
}

/// Writes the stand-in, for the subcommands that work from another folder.
fn write_cargo(path: &Path) -> Result<(), Failure> {
    const SCRIPT: &str = r#"#!/bin/sh
case "${1-}" in
build | run | test | bench | doc | check)
    subcommand=$1
    shift
    exec "$DOCUMENTS_CARGO" "$subcommand" --manifest-path "$DOCUMENTS_MANIFEST" "$@"
    ;;
*)
    echo "a document's block can't run 'cargo ${1-}': mark the block no-run" >&2
    exit 2
    ;;
esac
"#;
    let write = |error| Failure::io("write", path, &error);
    fs::write(path, SCRIPT).map_err(write)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(write)?;
    }
    Ok(())
}
