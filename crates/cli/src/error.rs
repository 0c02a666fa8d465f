//! What goes wrong, said in one line: `minormajor: <what>: <cause>`.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use minormajor::ParseError;
use serde::Serialize;

/// How a command that ran to its end went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every request was answered.
    Done,
    /// Some request was answered with an error.
    SomeFailed,
}

impl Outcome {
    /// The worse of two outcomes.
    pub fn and(self, other: Outcome) -> Outcome {
        match self {
            Outcome::Done => other,
            Outcome::SomeFailed => self,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Done => ExitCode::SUCCESS,
            Outcome::SomeFailed => ExitCode::FAILURE,
        }
    }
}

/// Why a command stopped before its end.
#[derive(Debug)]
pub enum Stop {
    /// Standard output or input failed.
    Stream(io::Error),
    /// The request can't be answered.
    Request(RequestError),
    /// Whatever a line says that names what it is about.
    Line(String),
    /// Anything else, with what it is about.
    Failure {
        /// The file or argument at fault.
        what: String,
        /// The cause, and the remedy where there is one.
        cause: String,
    },
}

impl Stop {
    /// A failure about `what`.
    pub fn new(what: impl ToString, cause: impl ToString) -> Stop {
        Stop::Failure {
            what: what.to_string(),
            cause: cause.to_string(),
        }
    }

    /// Says what happened on standard error, and gives the exit code. A reader that has gone
    /// (`| head`) is no error.
    pub fn report(&self) -> ExitCode {
        match self {
            Stop::Stream(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Stop::Stream(error) => say("standard output", &error.to_string()),
            Stop::Request(error) => error.report(),
            Stop::Line(line) => eprintln!("minormajor: {}", printable(line)),
            Stop::Failure { what, cause } => say(what, cause),
        }
        ExitCode::FAILURE
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Stream(error)
    }
}

impl From<RequestError> for Stop {
    fn from(error: RequestError) -> Stop {
        Stop::Request(error)
    }
}

/// A request in text that can't be answered: a field of `--json`, and a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestError {
    /// The request as it came.
    pub input: String,
    /// What was expected and what came.
    pub error: String,
    /// Where: 1-based, in characters of the whole request; its end is its length + 1. None
    /// where the request is no text but a file.
    pub column: Option<usize>,
}

impl RequestError {
    /// An error at a column of a request.
    pub fn new(input: impl Into<String>, column: usize, error: impl ToString) -> RequestError {
        RequestError {
            input: input.into(),
            error: error.to_string(),
            column: Some(column),
        }
    }

    /// The error of a shape's or layout's text, which begins the request.
    pub fn parse(input: impl Into<String>, error: &ParseError) -> RequestError {
        RequestError::new(input, error.column(), error.reason())
    }

    /// The object of `--json`, on one line.
    pub fn write(&self, output: &mut impl io::Write) -> io::Result<()> {
        serde_json::to_writer(&mut *output, self)?;
        output.write_all(b"\n")
    }

    /// One line on standard error; on a terminal the text and a caret below it too.
    pub fn report(&self) {
        let what = if self.input.trim().is_empty() {
            "empty text".to_owned()
        } else {
            shown(&self.input, 60)
        };
        let Some(column) = self.column else {
            return say(&what, &self.error);
        };
        say(&what, &format!("column {column}: {}", self.error));
        if io::stderr().is_terminal() {
            eprintln!("{}", self.caret(column));
        }
    }

    /// The text around the column, and a caret below it.
    fn caret(&self, column: usize) -> String {
        const AROUND: usize = 60;
        let first = column.saturating_sub(AROUND);
        let before: String = self.input.chars().take(column - 1).skip(first).collect();
        let behind: String = self.input.chars().skip(column - 1).take(AROUND).collect();
        let ellipsis = if first > 0 { "..." } else { "" };
        let before = format!("{ellipsis}{}", printable(&before));
        let indent = before.chars().count();
        format!("  {before}{}\n  {:indent$}^", printable(&behind), "")
    }
}

/// One line on standard error.
fn say(what: &str, cause: &str) {
    eprintln!("minormajor: {}: {}", printable(what), printable(cause));
}

/// The text with control characters escaped, so that it stays in its line.
fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => line.push(' '),
            c if c.is_control() => {
                let _ = write!(line, "{}", c.escape_default());
            }
            c => line.push(c),
        }
    }
    line
}

/// At most `limit` characters of a text, from its beginning.
pub fn shown(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_below_the_column() {
        let error = RequestError::new("f32[2,3", 8, "expected more");
        assert_eq!(error.caret(8), "  f32[2,3\n         ^");
        let long = RequestError::new("x".repeat(500), 400, "no");
        let caret = long.caret(400);
        let (text, mark) = caret.split_once('\n').unwrap();
        assert!(text.len() < 140 && mark.len() <= text.len());
        let wide = RequestError::new("f\u{fc}\t\u{1b}[0m", 3, "no");
        assert_eq!(wide.caret(3), "  f\u{fc} \\u{1b}[0m\n    ^");
    }
}
