//! `cargo xtask fuzz`: libFuzzer on the stable compiler, without cargo-fuzz.
//!
//! `fuzz/` is a workspace of its own, since it must be built with coverage and the
//! address sanitizer throughout. A target's checked-in inputs are replayed first; a
//! search then starts from them and from what earlier searches found, and writes its
//! finds under the build folder, never into `fuzz/corpus/`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::arguments::{Mode, Wish};
use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// What cargo-fuzz passes to the compiler. The first group makes libFuzzer see which
/// code an input reaches, the last one makes arithmetic faults panic.
const FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks";

/// No input is longer, in bytes: shapes and headers are short, and long inputs (deep
/// nesting, a megabyte of digits) have tests of their own.
const LONGEST_INPUT: u32 = 1024;
/// No input may take longer, in seconds.
const LONGEST_TIME: u32 = 10;
/// No input may make the process use more, in MiB.
const MOST_MEMORY: u32 = 2048;
/// So many of a crashed target's last lines are shown where it gave no panic's message;
/// the log has all.
const SHOWN_LINES: usize = 60;

/// Builds the targets that `wish` names and runs them as it says.
///
/// # Errors
///
/// When something needed is missing, and at the first input that crashes a target.
pub fn run(workspace: &Workspace, wish: &Wish) -> Result<(), Failure> {
    let all = targets(workspace)?;
    let unknown = wish.targets.iter().find(|name| !all.contains(name));
    if let Some(name) = unknown {
        return Err(Failure::new(format!(
            "there is no fuzz target `{name}`: they are {}",
            all.join(", ")
        )));
    }
    let chosen = if wish.targets.is_empty() {
        &all
    } else {
        &wish.targets
    };
    require_cxx_compiler()?;
    let host = workspace.host()?;
    build(workspace, &host, chosen)?;
    for name in chosen {
        let target = Target {
            workspace,
            name,
            program: folder(workspace, "fuzz")
                .join(&host)
                .join("release")
                .join(format!("{name}{}", env::consts::EXE_SUFFIX)),
        };
        match &wish.mode {
            Mode::Search { seconds } => {
                target.replay_corpus()?;
                if *seconds > 0 {
                    target.search(*seconds)?;
                }
            }
            Mode::Replay { input } => target.replay(Path::new(input))?,
        }
    }
    Ok(())
}

/// The names of the targets, which are those of the files in `fuzz/fuzz_targets/`.
fn targets(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let folder = workspace.root().join("fuzz/fuzz_targets");
    let read = |error| Failure::io("read", &folder, &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.extension() == Some(OsStr::new("rs")) {
            names.extend(
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    Ok(names)
}

/// libFuzzer itself is C++.
fn require_cxx_compiler() -> Result<(), Failure> {
    let compiler = env::var_os("CXX").unwrap_or_else(|| OsString::from("c++"));
    // CXX may hold arguments too, as in `ccache g++`.
    let text = compiler.to_string_lossy().into_owned();
    let mut words = text.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("c++"));
    command.args(words).arg("--version");
    process::output_of(&mut command)
        .map(drop)
        .map_err(|failure| {
            Failure::new(format!(
                "fuzzing needs a C++ compiler, to build libFuzzer: {failure}; install one \
             (Debian: g++) or name one in CXX"
            ))
        })
}

fn build(workspace: &Workspace, host: &str, names: &[String]) -> Result<(), Failure> {
    let mut flags = FLAGS.to_owned();
    if workspace.has_address_sanitizer()? {
        flags.push_str(" -Zsanitizer=address");
    }
    let mut command = workspace.cargo("build");
    command
        .args(["--release", "--manifest-path", "fuzz/Cargo.toml"])
        // Named even though it is the host: build scripts and macros are then built
        // without these flags.
        .args(["--target", host])
        .env("CARGO_TARGET_DIR", folder(workspace, "fuzz"))
        // The sanitizer's flag is refused on stable otherwise.
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", flags);
    for name in names {
        command.args(["--bin", name]);
    }
    process::run(&mut command)
}

fn folder(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target().join(name)
}

/// One built target.
struct Target<'a> {
    workspace: &'a Workspace,
    name: &'a str,
    program: PathBuf,
}

impl Target<'_> {
    /// Runs each checked-in input once.
    fn replay_corpus(&self) -> Result<(), Failure> {
        let corpus = self.corpus();
        let inputs = match fs::read_dir(&corpus) {
            Ok(entries) => entries.count(),
            Err(_) => 0,
        };
        if inputs == 0 {
            println!("{}: no checked-in inputs", self.name);
            return Ok(());
        }
        let mut command = self.command()?;
        command.arg("-runs=0").arg(&corpus);
        self.run(command)?;
        println!("{}: {inputs} checked-in inputs replayed", self.name);
        Ok(())
    }

    /// Searches for inputs that crash.
    fn search(&self, seconds: u32) -> Result<(), Failure> {
        let finds = self.own_folder("fuzz-corpus")?;
        let mut command = self.command()?;
        command
            .arg(format!("-max_total_time={seconds}"))
            .arg("-print_final_stats=1");
        let dictionary = self
            .workspace
            .root()
            .join(format!("fuzz/{}.dict", self.name));
        if dictionary.is_file() {
            let mut option = OsString::from("-dict=");
            option.push(&dictionary);
            command.arg(option);
        }
        // libFuzzer writes what it finds into the first folder.
        command.arg(&finds);
        if self.corpus().is_dir() {
            command.arg(self.corpus());
        }
        let seen = self.run(command)?;
        println!(
            "{}: {} inputs in {seconds} s, none crashed; coverage {}",
            self.name,
            seen.inputs.as_deref().unwrap_or("?"),
            seen.coverage.as_deref().unwrap_or("?"),
        );
        Ok(())
    }

    /// Runs one input and shows everything that the target prints.
    fn replay(&self, input: &Path) -> Result<(), Failure> {
        // A person's own path counts from where that person is.
        let input =
            std::path::absolute(input).map_err(|error| Failure::io("resolve", input, &error))?;
        if !input.is_file() {
            return Err(Failure::new(format!(
                "there is no file {}",
                input.display()
            )));
        }
        let mut command = self.command()?;
        process::run(command.arg(input))
    }

    /// The target with what is the same in every run.
    fn command(&self) -> Result<Command, Failure> {
        let mut prefix = OsString::from("-artifact_prefix=");
        prefix.push(self.own_folder("fuzz-artifacts")?.join(""));
        let mut command = Command::new(&self.program);
        command
            .current_dir(self.workspace.root())
            .arg(prefix)
            .arg(format!("-max_len={LONGEST_INPUT}"))
            .arg(format!("-timeout={LONGEST_TIME}"))
            .arg(format!("-rss_limit_mb={MOST_MEMORY}"))
            // Rust's own globals look like violations of C++'s rule.
            .env("ASAN_OPTIONS", "detect_odr_violation=0")
            // The sanitizer prints a stack; Rust's own would be the second.
            .env("RUST_BACKTRACE", "0");
        Ok(command)
    }

    /// Runs `command` with its output in a log, of which only the signs of life are
    /// shown.
    fn run(&self, mut command: Command) -> Result<Seen, Failure> {
        let log_path = self.own_folder("fuzz-logs")?.join("log.txt");
        let write = |error| Failure::io("write", &log_path, &error);
        let mut log = File::create(&log_path).map_err(write)?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| process::not_started(&command, &error))?;
        let mut seen = Seen::default();
        if let Some(stderr) = child.stderr.take() {
            for line in BufReader::new(stderr).split(b'\n') {
                let line = line.map_err(|error| {
                    Failure::new(format!("lost the output of {}: {error}", self.name))
                })?;
                log.write_all(&line).map_err(write)?;
                log.write_all(b"\n").map_err(write)?;
                let line = String::from_utf8_lossy(&line);
                if line.contains("\tpulse ") {
                    println!("{}: {}", self.name, line.trim());
                }
                seen.note(&line);
            }
        }
        let status = child
            .wait()
            .map_err(|error| Failure::new(format!("lost sight of {}: {error}", self.name)))?;
        if status.success() {
            return Ok(seen);
        }
        if seen.panic.is_empty() {
            let from = seen.last_lines.len().saturating_sub(SHOWN_LINES);
            println!("{}", seen.last_lines[from..].join("\n"));
        } else {
            println!("{}", seen.panic.join("\n"));
        }
        let log = self.workspace.shown(&log_path);
        Err(Failure::new(match seen.artifact {
            Some(input) => format!(
                "{name} crashed on {input} (log: {log}); to see it again:\n  \
                 cargo xtask fuzz {name} --replay {input}",
                name = self.name,
                input = self.workspace.shown(Path::new(&input)),
            ),
            None => format!("{} was ended: {status} (log: {log})", self.name),
        }))
    }

    fn corpus(&self) -> PathBuf {
        self.workspace.root().join("fuzz/corpus").join(self.name)
    }

    /// This target's folder in the build folder's `kind`, made if it isn't there.
    fn own_folder(&self, kind: &str) -> Result<PathBuf, Failure> {
        let folder = folder(self.workspace, kind).join(self.name);
        fs::create_dir_all(&folder).map_err(|error| Failure::io("create", &folder, &error))?;
        Ok(folder)
    }
}

/// What a target's output told.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    inputs: Option<String>,
    coverage: Option<String>,
    artifact: Option<String>,
    /// The message of a panic, its place first.
    panic: Vec<String>,
    is_in_panic: bool,
    last_lines: Vec<String>,
}

impl Seen {
    fn note(&mut self, line: &str) {
        if let Some(number) = line.strip_prefix("stat::number_of_executed_units:") {
            self.inputs = Some(number.trim().to_owned());
        }
        // As in `#1024	pulse  cov: 310 ft: 512 corp: 20/88b`.
        if line.starts_with('#') {
            let coverage = line
                .split_once(" cov: ")
                .and_then(|(_, rest)| rest.split_whitespace().next());
            self.coverage = coverage.map(str::to_owned).or(self.coverage.take());
        }
        if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.artifact = Some(path.trim().to_owned());
        }
        // The message may have several lines; one of these follows it.
        if line.starts_with("note: ") || line.starts_with("==") {
            self.is_in_panic = false;
        }
        if line.starts_with("thread '") && line.contains(" panicked at ") {
            self.is_in_panic = true;
        }
        if self.is_in_panic {
            self.panic.push(line.to_owned());
        }
        self.last_lines.push(line.to_owned());
        if self.last_lines.len() > 4 * SHOWN_LINES {
            self.last_lines.drain(..3 * SHOWN_LINES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_understood() {
        let mut seen = Seen::default();
        for line in [
            "INFO: seed corpus: files: 3",
            "#4\tINITED cov: 43 ft: 44 corp: 3/30b exec/s: 0 rss: 40Mb",
            "#1024\tpulse  cov: 310 ft: 512 corp: 20/88b lim: 8 exec/s: 512 rss: 41Mb",
            "#2000\tDONE   cov: 311 ft: 513 corp: 21/90b lim: 8 exec/s: 512 rss: 41Mb",
            "stat::number_of_executed_units: 2000",
        ] {
            seen.note(line);
        }
        assert_eq!(seen.inputs.as_deref(), Some("2000"));
        assert_eq!(seen.coverage.as_deref(), Some("311"));
        assert_eq!(seen.artifact, None);
        assert!(seen.panic.is_empty());
        for line in [
            "thread '<unnamed>' (7) panicked at src/lib.rs:17:13:",
            "assertion `left == right` failed",
            "  left: 1",
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
            "==7== ERROR: libFuzzer: deadly signal",
            "artifact_prefix='/a/'; Test unit written to /a/crash-1f",
        ] {
            seen.note(line);
        }
        assert_eq!(seen.panic.len(), 3);
        assert_eq!(seen.artifact.as_deref(), Some("/a/crash-1f"));
    }

    #[test]
    fn memory_of_lines_is_bounded() {
        let mut seen = Seen::default();
        for number in 0..10_000 {
            seen.note(&format!("line {number}"));
        }
        assert!(seen.last_lines.len() >= SHOWN_LINES);
        assert!(seen.last_lines.len() <= 4 * SHOWN_LINES);
        assert_eq!(
            seen.last_lines.last().map(String::as_str),
            Some("line 9999")
        );
    }
}
