//! Batch mode: one request a line from standard input, one JSON object a line out.

use std::io::{self, BufRead, BufReader, Read, Write};

use crate::error::{Outcome, RequestError, Stop};
use crate::output::Output;

/// Answers every line of standard input; see [`answer_lines`].
pub fn answer_stdin(
    output: &mut Output,
    answer: impl FnMut(&str, &mut Output) -> io::Result<Result<(), RequestError>>,
) -> Result<Outcome, Stop> {
    answer_lines(io::stdin().lock(), output, answer)
}

/// Answers every line of `input`. `answer` writes one JSON object without its line end, or
/// writes nothing and returns an error, which is written as an object instead; either way the
/// next line follows.
///
/// Output is flushed whenever the next line has to be waited for, so a program can talk to this
/// line by line.
fn answer_lines<W: Write>(
    input: impl Read,
    output: &mut W,
    mut answer: impl FnMut(&str, &mut W) -> io::Result<Result<(), RequestError>>,
) -> Result<Outcome, Stop> {
    let mut input = BufReader::with_capacity(64 << 10, input);
    let mut line = Vec::new();
    let mut outcome = Outcome::Done;
    loop {
        line.clear();
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| Stop::new("standard input", error))? == 0 {
            return Ok(outcome);
        }
        if line.ends_with(b"\n") {
            line.pop();
        }
        if line.ends_with(b"\r") {
            line.pop();
        }
        let answered = match std::str::from_utf8(&line) {
            Ok(text) => answer(text, output)?,
            Err(error) => Err(not_utf8(&line, error.valid_up_to())),
        };
        if let Err(error) = answered {
            outcome = Outcome::SomeFailed;
            error.write(output)?;
        } else {
            output.write_all(b"\n")?;
        }
    }
}

fn not_utf8(line: &[u8], valid: usize) -> RequestError {
    let before = String::from_utf8_lossy(&line[..valid]);
    RequestError::new(
        String::from_utf8_lossy(line),
        before.chars().count() + 1,
        format!("expected UTF-8 text, found the byte 0x{:02x}", line[valid]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: &[u8]) -> (String, Outcome) {
        let mut output = Vec::new();
        let outcome = answer_lines(input, &mut output, |line, output| {
            if line.is_empty() {
                return Ok(Err(RequestError::new(line, 1, "empty")));
            }
            write!(output, "<{line}>")?;
            Ok(Ok(()))
        });
        (String::from_utf8(output).unwrap(), outcome.unwrap())
    }

    #[test]
    fn every_line_has_its_answer() {
        assert_eq!(run(b""), (String::new(), Outcome::Done));
        assert_eq!(run(b"a\r\nb"), ("<a>\n<b>\n".to_owned(), Outcome::Done));
        let (text, outcome) = run(b"a\n\nb\n");
        assert_eq!(outcome, Outcome::SomeFailed);
        assert_eq!(
            text,
            "<a>\n{\"input\":\"\",\"error\":\"empty\",\"column\":1}\n<b>\n"
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_errors_with_a_column() {
        let (text, outcome) = run(b"\xc3\xbcber\xff32\na\n");
        assert_eq!(outcome, Outcome::SomeFailed);
        assert!(
            text.contains("the byte 0xff\",\"column\":5}\n<a>\n"),
            "{text}"
        );
    }
}
