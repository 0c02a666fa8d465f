//! `plan --in-place`: the steps of a relayout inside one buffer.

use std::io::{self, Write};

use minormajor::{ArrayShape, InPlace, sizes};
use serde::Serialize;

use crate::arguments;
use crate::describe::counted;
use crate::error::{RequestError, Stop};
use crate::output::Output;
use crate::plan::extra_text;

#[derive(Serialize)]
struct InPlaceObject {
    class: &'static str,
    reason: String,
    buffer_bytes: usize,
    bytes_moved: i64,
    bytes_filled: i64,
    extra_bytes: usize,
    extra_stack_bytes: usize,
    steps: Vec<String>,
    copies: bool,
}

const COPY: &str = "the whole source is copied to scratch, and moved back by the ordinary plan";

/// Says how an array would be moved inside its buffer.
pub fn run(
    arguments: &arguments::Plan,
    source: &ArrayShape,
    destination: &ArrayShape,
    output: &mut Output,
) -> Result<(), Stop> {
    let threads = arguments.threads.unwrap_or(0);
    let relayout = InPlace::on_threads(source, destination, arguments.memory.unwrap_or(0), threads)
        .map_err(|error| RequestError::new(&arguments.destination, 1, error))?;
    let plan = relayout.plan();
    let ordinary = plan.plan();
    let extra = relayout.extra_memory();
    let filled = ordinary.bytes_written() - ordinary.bytes_read();
    if arguments.json {
        let object = InPlaceObject {
            class: ordinary.class().name(),
            reason: ordinary.reason(),
            buffer_bytes: relayout.buffer_bytes(),
            bytes_moved: moved(&relayout),
            bytes_filled: filled,
            extra_bytes: extra.heap,
            extra_stack_bytes: extra.stack,
            steps: match relayout.copies() {
                true => vec![COPY.to_owned()],
                false => plan.steps().iter().map(ToString::to_string).collect(),
            },
            copies: relayout.copies(),
        };
        serde_json::to_writer(&mut *output, &object).map_err(io::Error::from)?;
        output.write_all(b"\n")?;
        return Ok(());
    }
    let bytes = |bytes: i64| format!("{bytes} bytes ({})", sizes::size(bytes.into()));
    writeln!(output, "{source}\nto {destination}, in place\n")?;
    writeln!(output, "  class    {}", ordinary.class())?;
    writeln!(output, "  why      {}", ordinary.reason())?;
    writeln!(output, "  buffer   {}", bytes(plan.buffer_bytes()))?;
    writeln!(output, "  moves    {}", bytes(moved(&relayout)))?;
    writeln!(output, "  fills    {}", bytes(filled))?;
    writeln!(output, "  extra    {}", extra_text(extra))?;
    if relayout.copies() {
        return Ok(writeln!(output, "\n  {COPY}")?);
    }
    if !plan.steps().is_empty() {
        let count = counted(plan.steps().len() as i128, "step");
        writeln!(output, "\n  {count}, one after another:")?;
        for line in plan.to_string().lines() {
            writeln!(output, "    {line}")?;
        }
    }
    Ok(())
}

/// Bytes that are moved from one place to another, as often as they are.
fn moved(relayout: &InPlace) -> i64 {
    let plan = relayout.plan();
    match relayout.copies() {
        true => plan.plan().source_bytes() + plan.plan().bytes_read(),
        false => plan.bytes_moved(),
    }
}
