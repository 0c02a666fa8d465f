//! `describe`: everything about a shape, for people and as JSON.

mod json;
mod text;

pub use text::counted;

use std::io::{self, Write};

use minormajor::Shape;

use crate::arguments::Describe;
use crate::batch;
use crate::error::{Outcome, RequestError, Stop};
use crate::output::Output;

/// Describes every shape of the arguments; `-` stands for the lines of standard input.
pub fn run(arguments: &Describe, output: &mut Output) -> Result<Outcome, Stop> {
    let batch = arguments.shapes.iter().any(|text| text == "-");
    let as_json = arguments.json || batch;
    let mut outcome = Outcome::Done;
    for (place, text) in arguments.shapes.iter().enumerate() {
        if text == "-" {
            outcome = outcome.and(batch::answer_stdin(output, answer)?);
            continue;
        }
        match text.parse::<Shape>() {
            Ok(shape) if as_json => {
                json::write(&shape, output)?;
                output.write_all(b"\n")?;
            }
            Ok(shape) => {
                if place > 0 {
                    output.write_all(b"\n")?;
                }
                text::write(&shape, output)?;
            }
            Err(error) => {
                let error = RequestError::parse(text, &error);
                if as_json {
                    error.write(output)?;
                }
                output.flush()?;
                error.report();
                outcome = Outcome::SomeFailed;
            }
        }
    }
    Ok(outcome)
}

/// Answers one line of batch mode.
fn answer(line: &str, output: &mut Output) -> io::Result<Result<(), RequestError>> {
    match line.parse::<Shape>() {
        Ok(shape) => json::write(&shape, output).map(Ok),
        Err(error) => Ok(Err(RequestError::parse(line, &error))),
    }
}
