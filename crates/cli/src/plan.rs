//! `plan`: how a relayout would run, and why.

use std::fmt;
use std::io::{self, Write};

use minormajor::plan::{Change, FillBox, FillLoop, Loop, MoveBox};
use minormajor::{Explanation, ExtraMemory, Level, Machine, Plan, Relayout, sizes};
use serde::Serialize;

use crate::arguments;
use crate::describe::counted;
use crate::error::{Outcome, Stop};
use crate::in_place;
use crate::output::Output;
use crate::side::{Side, Sides};

/// Boxes and fills that people are shown; JSON has them all.
const SHOWN: usize = 32;

/// Plans the relayout of the arguments.
pub fn run(arguments: &arguments::Plan, output: &mut Output) -> Result<Outcome, Stop> {
    let answered = answer(arguments, output);
    if let (Err(Stop::Request(error)), true) = (&answered, arguments.json) {
        error.write(output)?;
    }
    answered.map(|()| Outcome::Done)
}

fn answer(arguments: &arguments::Plan, output: &mut Output) -> Result<(), Stop> {
    let to = &arguments.destination;
    let sides = Sides::new(&arguments.source, to, &arguments.endians)?;
    let sides = sides.with_strides(&arguments.strides)?;
    if let (true, Side::Array(source), Side::Array(destination)) =
        (arguments.in_place, &sides.source, &sides.destination)
    {
        return in_place::run(arguments, source, destination, output);
    }
    let plan = sides.plan(to)?;
    let relayout = Relayout::new(&plan).map_err(|error| Stop::Line(error.to_string()))?;
    let relayout = relayout.threads(arguments.threads.unwrap_or(0));
    let extra = relayout.extra_memory();
    let explanation = arguments.explain.then(|| relayout.explain(Machine::this()));
    if arguments.json {
        let object = PlanObject {
            explain: explanation.as_ref().map(ExplainObject::new),
            ..PlanObject::new(&plan, extra)
        };
        serde_json::to_writer(&mut *output, &object).map_err(io::Error::from)?;
        output.write_all(b"\n")?;
        return Ok(());
    }
    let (source, destination) = (sides.source_text(), sides.destination_text());
    writeln!(output, "{source}\nto {destination}\n")?;
    write_text(&plan, extra, output)?;
    if let Some(explanation) = explanation {
        writeln!(output)?;
        for line in explanation.to_string().lines() {
            writeln!(output, "  {line}")?;
        }
    }
    Ok(())
}

/// Memory beside the buffers, for people.
pub fn extra_text(extra: ExtraMemory) -> String {
    let bytes = |bytes: usize| format!("{bytes} bytes ({})", sizes::size(bytes as i128));
    format!(
        "{} of heap, {} of stack",
        bytes(extra.heap),
        bytes(extra.stack)
    )
}

#[derive(Serialize)]
struct PlanObject<'a> {
    class: &'static str,
    reason: String,
    source_unit_bits: i64,
    destination_unit_bits: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    converts: Option<ConversionObject>,
    bytes_read: i64,
    bytes_written: i64,
    extra_bytes: usize,
    extra_stack_bytes: usize,
    boxes: Vec<BoxObject>,
    fills: Vec<FillObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<ExplainObject>,
}

/// What values become on their way: `big-endian f32` and `bf16`.
#[derive(Serialize)]
struct ConversionObject {
    from: String,
    to: String,
}

#[derive(Serialize)]
struct ExplainObject {
    touched_bytes: usize,
    level: &'static str,
    threads: usize,
    parts: usize,
    kernels: Vec<KernelObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bands: Option<BandsObject>,
    filled_bytes: usize,
    predicted_s: f64,
    memcpy_s: f64,
}

#[derive(Serialize)]
struct BandsObject {
    count: usize,
    largest_bytes: usize,
    staged: bool,
    streams: bool,
}

#[derive(Serialize)]
struct KernelObject {
    kernel: String,
    bytes: usize,
    entries: usize,
    streams: bool,
}

impl ExplainObject {
    fn new(explanation: &Explanation) -> ExplainObject {
        let kernels = explanation.boxes.iter().map(|part| KernelObject {
            kernel: part.kernel.to_string(),
            bytes: part.bytes,
            entries: part.entries,
            streams: part.streams,
        });
        ExplainObject {
            touched_bytes: explanation.footprint,
            level: match explanation.level {
                Level::Core => "core",
                Level::Shared => "shared",
                Level::Memory => "memory",
            },
            threads: explanation.threads,
            parts: explanation.parts,
            kernels: kernels.collect(),
            bands: explanation.bands.as_ref().map(|bands| BandsObject {
                count: bands.count,
                largest_bytes: bands.largest,
                staged: bands.staged,
                streams: bands.streams,
            }),
            filled_bytes: explanation.filled,
            predicted_s: explanation.predicted.as_secs_f64(),
            memcpy_s: explanation.copy.as_secs_f64(),
        }
    }
}

#[derive(Serialize)]
struct BoxObject {
    source: i64,
    destination: i64,
    loops: Vec<LoopObject>,
}

#[derive(Serialize)]
struct LoopObject {
    extent: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_stride: Option<i64>,
    destination_stride: i64,
}

#[derive(Serialize)]
struct FillObject<'a> {
    destination: i64,
    loops: Vec<LoopObject>,
    value: &'a str,
}

impl PlanObject<'_> {
    fn new(plan: &Plan, extra: ExtraMemory) -> PlanObject<'_> {
        let moved = |l: &Loop| LoopObject {
            extent: l.extent,
            source_stride: Some(l.source),
            destination_stride: l.destination,
        };
        let filled = |l: &FillLoop| LoopObject {
            extent: l.extent,
            source_stride: None,
            destination_stride: l.destination,
        };
        let move_object = |part: &MoveBox| BoxObject {
            source: part.source,
            destination: part.destination,
            loops: part.loops.iter().map(moved).collect(),
        };
        let fill_object = |fill: &FillBox| FillObject {
            destination: fill.destination,
            loops: fill.loops.iter().map(filled).collect(),
            value: fill.value.name(),
        };
        PlanObject {
            class: plan.class().name(),
            reason: plan.reason(),
            source_unit_bits: plan.source_unit_bits(),
            destination_unit_bits: plan.destination_unit_bits(),
            converts: match plan.change() {
                Change::Values {
                    source,
                    destination,
                } => Some(ConversionObject {
                    from: source.to_string(),
                    to: destination.to_string(),
                }),
                _ => None,
            },
            bytes_read: plan.bytes_read(),
            bytes_written: plan.bytes_written(),
            extra_bytes: extra.heap,
            extra_stack_bytes: extra.stack,
            boxes: plan.boxes().iter().map(move_object).collect(),
            fills: plan.fills().iter().map(fill_object).collect(),
            explain: None,
        }
    }
}

fn write_text(plan: &Plan, extra: ExtraMemory, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "  class    {}", plan.class())?;
    writeln!(output, "  why      {}", plan.reason())?;
    let bytes = |bytes: i64| format!("{bytes} bytes ({})", sizes::size(bytes.into()));
    writeln!(output, "  reads    {}", bytes(plan.bytes_read()))?;
    writeln!(output, "  writes   {}", bytes(plan.bytes_written()))?;
    writeln!(output, "  extra    {}", extra_text(extra))?;
    if plan.general().is_some() {
        writeln!(output, "\n  element by element: no boxes")?;
    }
    let unit = match (plan.source_unit_bits(), plan.destination_unit_bits()) {
        (from, to) if from == to => unit(to),
        (from, to) => format!("{} and {}", unit(from), unit(to)),
    };
    if !plan.boxes().is_empty() {
        let count = counted(plan.boxes().len() as i128, "box");
        let legend = "(extent, source stride, destination stride)";
        writeln!(
            output,
            "\n  {count} to move: {legend} in {unit}, outermost first"
        )?;
        write_some(plan.boxes(), output)?;
    }
    if !plan.fills().is_empty() {
        let count = counted(plan.fills().len() as i128, "box");
        writeln!(output, "\n  {count} to fill: (extent, destination stride)")?;
        write_some(plan.fills(), output)?;
    }
    Ok(())
}

/// What strides count.
fn unit(bits: i64) -> String {
    match bits {
        8 => "bytes".to_owned(),
        1 => "bits".to_owned(),
        ..8 => format!("units of {bits} bits"),
        _ => format!("units of {} bytes", bits / 8),
    }
}

fn write_some(parts: &[impl fmt::Display], output: &mut impl Write) -> io::Result<()> {
    for part in parts.iter().take(SHOWN) {
        writeln!(output, "    {part}")?;
    }
    if parts.len() > SHOWN {
        writeln!(
            output,
            "    ... and {} more (--json has all)",
            parts.len() - SHOWN
        )?;
    }
    Ok(())
}
