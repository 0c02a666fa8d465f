//! XLA in a process of its own, since it may abort on some input.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// What XLA says to a case.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// Its values.
    Accepts(Value),
    /// Its error.
    Rejects(String),
    /// It ended the process.
    Aborts,
}

/// A Python that has jaxlib, and the process that runs in it.
pub struct Xla {
    python: PathBuf,
    running: Option<Process>,
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Xla {
    pub fn new(python: PathBuf) -> Xla {
        Xla {
            python,
            running: None,
        }
    }

    /// Asks once; in a new process, if the last one ended.
    pub fn ask(&mut self, case: &Value) -> Result<Answer, String> {
        let mut process = match self.running.take() {
            Some(process) => process,
            None => self.start()?,
        };
        let asked = writeln!(process.input, "{case}").and_then(|()| process.input.flush());
        let mut line = String::new();
        let read = asked.and_then(|()| process.output.read_line(&mut line));
        if read.is_ok() && !line.is_empty() {
            let answer: Value =
                serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
            self.running = Some(process);
            return Ok(match answer.get("error") {
                Some(error) => Answer::Rejects(error.as_str().unwrap_or_default().to_owned()),
                None => Answer::Accepts(answer),
            });
        }
        let status = process.child.wait().map_err(|error| error.to_string())?;
        match status.code() {
            // A signal, as `abort` sends one.
            None => Ok(Answer::Aborts),
            Some(code) => Err(format!("the process with XLA ended with {code} at {case}")),
        }
    }

    fn start(&self) -> Result<Process, String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/conformance/xla.py");
        let mut child = Command::new(&self.python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.python.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the process with XLA has no pipes".to_owned());
        };
        Ok(Process {
            child,
            input,
            output: BufReader::new(output),
        })
    }
}
