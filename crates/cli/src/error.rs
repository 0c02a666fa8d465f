//! What goes wrong, said in one line: `minormajor: <what>: <cause>`; on a terminal with what is at
//! fault underlined below it.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use minormajor::ParseError;
use minormajor::files::FileError;
use serde::Serialize;

/// What is wrong, where the stream has colours.
const WRONG: Style = AnsiColor::Red.on_default().bold();

/// The exit code of a command line that is wrong itself.
pub const USAGE: u8 = 2;

/// The exit code where the system failed, and nothing that was asked is wrong.
const SYSTEM: u8 = 3;

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
    /// A file can't be read or written.
    File(FileError),
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
            Stop::Stream(error) => {
                say("standard output", &error.to_string());
                return SYSTEM.into();
            }
            Stop::Request(error) => error.report(),
            Stop::File(error) => {
                match error {
                    FileError::NoShape { .. } => say_line(&format!(
                        "{error} (or say --shape, as in --shape 'f32[2,3]')"
                    )),
                    _ => say_line(&error.to_string()),
                }
                if let FileError::UnknownFormat { path, .. } = error {
                    let path = path.to_string_lossy();
                    let ending = path.rfind(['.', '/']).map_or(0, |at| at + 1);
                    underline(&path, path[..ending].chars().count() + 1);
                }
                if error.is_of_the_system() {
                    return SYSTEM.into();
                }
            }
            Stop::Line(line) => say_line(line),
            Stop::Failure { what, cause } => say(what, cause),
        }
        ExitCode::FAILURE
    }
}

impl From<FileError> for Stop {
    fn from(error: FileError) -> Stop {
        Stop::File(error)
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

    /// One line on standard error; on a terminal the text too, underlined where it is wrong.
    pub fn report(&self) {
        self.report_line(&self.to_string());
    }

    /// The same of an option's value.
    pub fn report_of(&self, option: &str) {
        self.report_line(&format!("{option}: {self}"));
    }

    fn report_line(&self, line: &str) {
        say_line(line);
        if let Some(column) = self.column {
            underline(&self.input, column);
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.input.trim() {
            "" => f.write_str("empty text")?,
            _ => f.write_str(&shown(&self.input, 60))?,
        }
        if let Some(column) = self.column {
            write!(f, ": column {column}")?;
        }
        write!(f, ": {}", self.error)
    }
}

impl std::error::Error for RequestError {}

/// For a person at a terminal, or who asked for colour: the text, underlined from a column on.
fn underline(text: &str, column: usize) {
    use anstream::ColorChoice;
    let asked = matches!(
        ColorChoice::global(),
        ColorChoice::Always | ColorChoice::AlwaysAnsi
    );
    if asked || io::stderr().is_terminal() {
        let (text, indent, length) = underlined(text, column);
        eprintln!("  {text}\n  {:indent$}{WRONG}{:^<length$}{WRONG:#}", "", "");
    }
}

/// The text around a column, and the columns in it of what is wrong there: their number, behind
/// how many others.
fn underlined(text: &str, column: usize) -> (String, usize, usize) {
    const AROUND: usize = 60;
    let first = column.saturating_sub(AROUND);
    let before: String = text.chars().take(column - 1).skip(first).collect();
    let behind: String = text.chars().skip(column - 1).take(AROUND).collect();
    let ellipsis = if first > 0 { "..." } else { "" };
    let before = format!("{ellipsis}{}", printable(&before));
    let length = printable(&behind[..offending(&behind)]).chars().count();
    let indent = before.chars().count();
    (before + &printable(&behind), indent, length.max(1))
}

/// Bytes of what is wrong at the start of a text: a word or number, else one character.
fn offending(text: &str) -> usize {
    let sign = usize::from(text.starts_with('-'));
    let word = text[sign..].find(|c: char| !c.is_alphanumeric() && c != '_');
    match sign + word.unwrap_or(text.len() - sign) {
        0 => text.chars().next().map_or(0, char::len_utf8),
        length => length,
    }
}

/// One line on standard error.
fn say_line(line: &str) {
    eprintln!("{WRONG}minormajor{WRONG:#}: {}", printable(line));
}

/// One line on standard error, of what and why.
fn say(what: &str, cause: &str) {
    say_line(&format!("{what}: {cause}"));
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
    fn what_is_wrong_is_underlined() {
        for (text, column, expected) in [
            ("f32[2,3", 8, ("f32[2,3", 7, 1)),
            ("f33[2,3]", 1, ("f33[2,3]", 0, 3)),
            ("f32[2,-17]", 7, ("f32[2,-17]", 6, 3)),
            ("f32[2]{0}}", 10, ("f32[2]{0}}", 9, 1)),
            ("f32[2]{0:TT(8)}", 10, ("f32[2]{0:TT(8)}", 9, 2)),
            ("f\u{fc}\t\u{1b}[0m", 3, ("f\u{fc} \\u{1b}[0m", 2, 1)),
            ("\u{1b}x", 1, ("\\u{1b}x", 0, 6)),
            ("", 1, ("", 0, 1)),
        ] {
            let (found, indent, length) = underlined(text, column);
            assert_eq!((found.as_str(), indent, length), expected, "{text}");
        }
        let (text, indent, length) = underlined(&"x".repeat(500), 400);
        assert!(text.len() < 140 && indent + length <= text.len());
    }
}
