//! `cargo xtask test`: everything that must hold before a change lands.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::arguments::{Cases, DEFAULT_SECONDS, Mode, Wish};
use crate::bench;
use crate::conformance;
use crate::conformance_table;
use crate::documents;
use crate::failure::Failure;
use crate::fuzz;
use crate::instructions;
use crate::package;
use crate::process;
use crate::ptx;
use crate::python;
use crate::steps::Steps;
use crate::targets;
use crate::workspace::Workspace;

/// Runs all steps, cheap ones first; `quick` leaves out the release binary, what
/// needs it, and fuzzing.
pub fn run(workspace: &Workspace, quick: bool) -> Result<(), Failure> {
    let mut steps = Steps::new();
    steps.run("format", || format(workspace))?;
    steps.run("conformance table", || conformance_table::check(workspace))?;
    steps.run("clippy", || {
        process::run(workspace.cargo("clippy").args([
            "--workspace",
            "--all-targets",
            "--",
            "-Dwarnings",
        ]))
    })?;
    steps.run("other targets", || targets::check(workspace))?;
    steps.run("documentation", || {
        process::run(
            workspace
                .cargo("doc")
                .args(["--workspace", "--no-deps"])
                .env("RUSTDOCFLAGS", "-Dwarnings"),
        )
    })?;
    steps.run("CUDA kernels", || ptx::run(workspace, false))?;
    if !quick {
        steps.run("release binary", || build_release(workspace))?;
    }
    let python = steps.run("python", || python::environment(workspace))?;
    steps.run("tests", || {
        let mut command = workspace.cargo("test");
        // All failing tests at once, not those of the first binary only.
        command.args(["--workspace", "--no-fail-fast"]);
        set_or_remove(&mut command, "MINORMAJOR_PYTHON", python.as_deref());
        let binary = workspace.release_binary();
        let binary = (!quick).then_some(binary.as_path());
        set_or_remove(&mut command, "MINORMAJOR_BIN", binary);
        run_tests(&mut command)
    })?;
    steps.run("python package", || {
        package::test(workspace, python.as_deref())
    })?;
    if !quick {
        steps.run("optimised kernels", || optimised(workspace))?;
        steps.run("orders of threads", || orders(workspace))?;
        steps.run("benchmark", || bench::check(workspace))?;
        steps.run("instructions", || instructions::run(workspace, false))?;
        steps.run("conformance", || {
            conformance::compare(workspace, python.as_deref(), Cases::default())
        })?;
        steps.run("documents", || documents::check(workspace))?;
        steps.run("fuzz", || {
            let all = Wish {
                targets: Vec::new(),
                mode: Mode::Search {
                    seconds: DEFAULT_SECONDS,
                },
            };
            fuzz::run(workspace, &all)
        })?;
    }
    steps.summarise();
    if quick {
        println!(
            "Left out by --quick: the release binary, optimised kernels, orders of threads, the benchmark, instructions, XLA, the documents' commands, fuzzing."
        );
    }
    Ok(())
}

/// The kernels' suites, and what stacks hold, once more with the kernels of the release binary: a build for tests doesn't optimise
/// them.
fn optimised(workspace: &Workspace) -> Result<(), Failure> {
    let run = |tests: &[&str]| {
        let mut command = workspace.cargo("test");
        run_tests(command.args(["--release", "--no-fail-fast"]).args(tests))
    };
    run(&["--package", "minormajor-kernels", "--test", "*"])?;
    run(&["--package", "minormajor", "--test", "extra_memory"])
}

/// Goes through all orders of what threads tell each other, with loom.
fn orders(workspace: &Workspace) -> Result<(), Failure> {
    // Everything is built anew for loom, so it goes to a folder of its own.
    let target = workspace.target().join("loom");
    process::run(
        workspace
            .cargo("test")
            .args(["--package", "minormajor-kernels", "--lib", "team::model"])
            .env("RUSTFLAGS", "--cfg loom")
            // Building takes longer than the test.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_TARGET_DIR", target),
    )
}

/// Builds the command line as people get it.
pub fn build_release(workspace: &Workspace) -> Result<(), Failure> {
    process::run(
        workspace
            .cargo("build")
            .args(["--release", "--package", "minormajor-cli"]),
    )?;
    let binary = workspace.release_binary();
    if binary.is_file() {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "the build left no {}: is CARGO_BUILD_TARGET or build.target set?",
            binary.display()
        )))
    }
}

fn format(workspace: &Workspace) -> Result<(), Failure> {
    process::run(workspace.cargo("fmt").args(["--all", "--check"]))?;
    // A workspace of its own. Not `--all` here: that would go through path dependencies into the main workspace again.
    process::run(
        workspace
            .cargo("fmt")
            .args(["--check", "--manifest-path", "fuzz/Cargo.toml"]),
    )
}

fn set_or_remove(command: &mut Command, name: &str, value: Option<&Path>) {
    match value {
        Some(value) => command.env(name, value),
        None => command.env_remove(name),
    };
}

/// Runs `cargo test`, passes its lines on, and closes with one line for the whole
/// workspace, where cargo prints one for each of many test binaries.
fn run_tests(command: &mut Command) -> Result<(), Failure> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| process::not_started(command, &error))?;
    let mut total = Tally::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line =
                line.map_err(|error| Failure::new(format!("lost cargo's output: {error}")))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            total.add(&line);
        }
    }
    let status = child
        .wait()
        .map_err(|error| Failure::new(format!("lost sight of `cargo test`: {error}")))?;
    println!(
        "{} passed, {} failed, {} skipped",
        total.passed, total.failed, total.ignored
    );
    process::judge(command, status)
}

/// Sums of libtest's closing lines.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    /// Counts `line` if it is one like
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out`.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else {
            return;
        };
        let Some((_verdict, counts)) = result.split_once(". ") else {
            return;
        };
        for count in counts.split(';') {
            let mut words = count.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_add_up() {
        let mut total = Tally::default();
        for line in [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.00s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s",
            "prints test result: ok. 100 passed",
        ] {
            total.add(line);
        }
        let expected = Tally {
            passed: 7,
            failed: 2,
            ignored: 1,
        };
        assert_eq!(total, expected);
    }
}
