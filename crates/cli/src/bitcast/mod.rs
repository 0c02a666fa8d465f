//! `bitcast`: whether an operation is free, or why not.

mod json;
mod operation;

use std::io::{self, Write};

use minormajor::ArrayShape;
use minormajor::bitcast::{Bitcast, BitcastError, Operation};
use minormajor::sizes;

use crate::arguments;
use crate::describe::counted;
use crate::error::{Outcome, RequestError, Stop};
use crate::output::Output;
use crate::request;

/// Answers the question of the arguments.
pub fn run(arguments: &arguments::Bitcast, output: &mut Output) -> Result<Outcome, Stop> {
    let asked = ask(arguments);
    let answered = asked.and_then(|(operand, result, operation)| {
        let bitcast = Bitcast::new(&operand, &result, &operation)
            .map_err(|error| meaning(arguments, &error))?;
        Ok(match arguments.json {
            true => json::write(&bitcast, &operation, output),
            false => write_text(&bitcast, &operation, output),
        })
    });
    match answered {
        Ok(written) => {
            written?;
            Ok(Outcome::Done)
        }
        Err(error) => {
            if arguments.json {
                error.write(output)?;
            }
            Err(error.into())
        }
    }
}

fn ask(
    arguments: &arguments::Bitcast,
) -> Result<(ArrayShape, ArrayShape, Operation), RequestError> {
    let (operand, result) = request::arrays(&arguments.operand, &arguments.result)?;
    match operation::operation(&arguments.operation, &operand, &result) {
        Ok(operation) => Ok((operand, result, operation)),
        Err(operation::Error::Text(error)) => Err(error),
        Err(operation::Error::Meaning(error)) => Err(meaning(arguments, &error)),
    }
}

/// An error of the library, at the argument that it is about.
fn meaning(arguments: &arguments::Bitcast, error: &BitcastError) -> RequestError {
    let text = match error {
        BitcastError::Operand(_) => &arguments.operand,
        BitcastError::Count { .. }
        | BitcastError::Dimension { .. }
        | BitcastError::Repeated { .. }
        | BitcastError::SliceRange { .. }
        | BitcastError::SliceStride { .. } => {
            operation::list(&arguments.operation).unwrap_or(&arguments.result)
        }
        _ => &arguments.result,
    };
    RequestError::new(text, 1, error)
}

fn write_text(
    bitcast: &Bitcast<'_>,
    operation: &Operation,
    output: &mut impl Write,
) -> io::Result<()> {
    let (operand, result) = (bitcast.operand(), bitcast.result());
    writeln!(output, "{operation}\nof {operand}\nto {result}\n")?;
    let bytes = |bytes: i64| format!("{bytes} bytes ({})", sizes::size(bytes.into()));
    if let Some(free) = bitcast.free() {
        writeln!(
            output,
            "  free     yes: a new description of the same bytes"
        )?;
        if free.byte_offset != 0 {
            writeln!(output, "  offset   {}", bytes(free.byte_offset))?;
        }
        if free.bytes_behind != 0 {
            writeln!(
                output,
                "  behind   {} of the operand",
                bytes(free.bytes_behind)
            )?;
        }
        if !free.padding_holds {
            let padding = "may hold other values than the result's layout says";
            writeln!(output, "  padding  {padding}")?;
        }
        return Ok(());
    }
    let Some(why_not) = bitcast.why_not() else {
        return Ok(());
    };
    writeln!(output, "  free     no")?;
    writeln!(output, "  why      {}", why_not.obstacle())?;
    match why_not.smallest_copy() {
        Some(copy) => {
            writeln!(output, "  copy     the operand to {}", copy.shape)?;
            writeln!(output, "           {}, then it is free", bytes(copy.bytes))?;
        }
        None => writeln!(output, "  copy     none of the operand makes it free")?,
    }
    match why_not.nearest_layout() {
        Some(nearest) => {
            let moved = counted(nearest.moved_dimensions as i128, "dimension");
            let padding = counted(nearest.padding.into(), "element");
            writeln!(output, "  layout   it is free to {}", nearest.shape)?;
            writeln!(output, "           {moved} moved, {padding} of padding")?;
        }
        None => writeln!(output, "  layout   none of the result makes it free")?,
    }
    Ok(())
}
