//! Starting other programs, and saying plainly how they failed.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Runs `command` with this program's own output.
///
/// # Errors
///
/// When it can't be started, and when it doesn't exit with 0.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|error| not_started(command, &error))?;
    judge(command, status)
}

/// Runs `command` and returns what it printed.
///
/// # Errors
///
/// As [`run`]; the message then ends with the last line of its standard error.
pub fn output_of(command: &mut Command) -> Result<String, Failure> {
    captured(command).map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command` and returns what it printed on standard error.
///
/// # Errors
///
/// As [`output_of`].
pub fn errors_of(command: &mut Command) -> Result<String, Failure> {
    captured(command).map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
}

fn captured(command: &mut Command) -> Result<Output, Failure> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_started(command, &error))?;
    if output.status.success() {
        return Ok(output);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let last = complaint
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it said nothing");
    Err(Failure::new(format!(
        "{}: {last}",
        ended(command, output.status)
    )))
}

/// Whether this run is CI's, where nothing may be left out.
pub fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true" || value == "1")
}

/// How a command ended that had a limit on its time.
pub enum Ending {
    /// By itself.
    Exited(ExitStatus),
    /// It was stopped at the limit.
    TimedOut,
}

/// Runs `command` for at most `limit`, standard output and standard error both into
/// the file `log`, in the order in which they were written.
pub fn run_logged(command: &mut Command, log: &Path, limit: Duration) -> Result<Ending, Failure> {
    let write = |error: io::Error| Failure::io("write", log, &error);
    let out = File::create(log).map_err(write)?;
    let err = out.try_clone().map_err(write)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(|error| not_started(command, &error))?;
    wait(&mut child, limit)
        .map_err(|error| Failure::new(format!("lost sight of {}: {error}", shown(command))))
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Ending> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Exited(status));
        }
        if start.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(Ending::TimedOut);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// `Ok` for exit code 0, else the failure that names command and status.
pub fn judge(command: &Command, status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(ended(command, status)))
    }
}

/// The failure of a command that couldn't be started.
pub fn not_started(command: &Command, error: &io::Error) -> Failure {
    let program = command.get_program().display();
    if error.kind() == io::ErrorKind::NotFound {
        Failure::new(format!("`{program}` was not found"))
    } else {
        Failure::new(format!("can't start `{program}`: {error}"))
    }
}

fn ended(command: &Command, status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("{} exited with {code}", shown(command)),
        None => format!("{} was ended: {status}", shown(command)),
    }
}

/// The command as a person would type it, in backticks; the program without its
/// folder.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words: Vec<String> = std::iter::once(program)
        .chain(command.get_args())
        .map(quoted)
        .collect();
    format!("`{}`", words.join(" "))
}

/// `word` in single quotes where a shell would split or change it.
pub fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["test", "--", "a b", "it's", ""]);
        assert_eq!(shown(&command), r"`cargo test -- 'a b' 'it'\''s' ''`");
    }

    #[test]
    fn a_missing_program_is_named() {
        let failure = run(&mut Command::new("no-such-program-here")).unwrap_err();
        assert_eq!(failure.to_string(), "`no-such-program-here` was not found");
    }
}
