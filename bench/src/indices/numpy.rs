//! NumPy in a process of its own, on indices of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use minormajor::ArrayShape;

/// What the process runs.
const SCRIPT: &str = include_str!("numpy.py");

/// The process and its pipes.
pub struct NumPy {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// What it says of itself.
    pub version: String,
}

impl NumPy {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// Where it can't be started, or doesn't answer.
    pub fn start(interpreter: &Path) -> Result<NumPy, String> {
        let mut child = Command::new(interpreter)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("can't start {}: {error}", interpreter.display()))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("NumPy's process has no pipes".to_owned());
        };
        let mut numpy = NumPy {
            child,
            requests,
            answers: BufReader::new(answers),
            version: String::new(),
        };
        numpy.version = numpy.answer()?;
        Ok(numpy)
    }

    /// Makes it ready for so many indices of an array without tiles and padding.
    ///
    /// # Errors
    ///
    /// Where the process is gone.
    pub fn prepare(&mut self, array: &ArrayShape, count: usize) -> Result<(), String> {
        let order = array
            .layout()
            .map_or(&[][..], |layout| layout.minor_to_major());
        let sizes = order
            .iter()
            .rev()
            .filter_map(|&d| array.dimensions()[d].bound());
        let sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
        self.ask(&format!("prepare {count} {}", sizes.join(" ")))
            .map(drop)
    }

    /// Seconds of one conversion of all indices, or back.
    ///
    /// # Errors
    ///
    /// Where the process is gone, or the time that it says is none.
    pub fn run(&mut self, back: bool) -> Result<f64, String> {
        let answer = self.ask(if back { "unravel" } else { "ravel" })?;
        answer
            .parse()
            .map_err(|_| format!("NumPy's process answers `{answer}`"))
    }

    fn ask(&mut self, request: &str) -> Result<String, String> {
        let lost = |error| format!("NumPy's process is gone: {error}");
        writeln!(self.requests, "{request}").map_err(lost)?;
        self.answer()
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err("NumPy's process ended".to_owned()),
            Ok(_) => Ok(line.trim().to_owned()),
            Err(error) => Err(format!("NumPy's process: {error}")),
        }
    }
}

impl Drop for NumPy {
    fn drop(&mut self) {
        // It waits for requests, so it is safe to end at any time.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
