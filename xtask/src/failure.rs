//! What ends a run: one message for a person.

use std::fmt;
use std::io;
use std::path::Path;

/// Why the run can't go on. The step it happened in is added once, by
/// [`Steps`](crate::steps::Steps).
#[derive(Debug)]
pub struct Failure {
    step: Option<&'static str>,
    message: String,
}

impl Failure {
    /// A failure whose cause, and remedy where there is one, `message` tells.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure {
            step: None,
            message: message.into(),
        }
    }

    /// A file operation that failed: `what` is the verb, as in "can't read".
    pub fn io(what: &str, path: &Path, error: &io::Error) -> Failure {
        Failure::new(format!("can't {what} {}: {error}", path.display()))
    }

    /// The same failure, said to have happened in `step`.
    pub fn in_step(self, step: &'static str) -> Failure {
        Failure {
            step: Some(step),
            ..self
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = self.step {
            write!(f, "step `{step}` failed: ")?;
        }
        f.write_str(&self.message)
    }
}
