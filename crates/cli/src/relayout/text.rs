//! What becomes of a file's arrays, for people.

use std::io::Write;
use std::time::Duration;

use minormajor::files::{ArrayMove, Earlier, FilePlan, RelayoutReport};
use minormajor::plan::PlanClass;
use minormajor::{ArrayShape, sizes};

use crate::describe::counted;
use crate::error::Stop;
use crate::output::{Output, one_line};
use crate::side;
use crate::table::{Row, write_table};

/// Writes a table of all arrays, and what it all amounts to.
pub fn write_plan(plan: &FilePlan, output: &mut Output) -> Result<(), Stop> {
    let rows: Vec<Row> = plan.arrays().iter().map(row).collect();
    let heads = [
        "bytes", "time", "rule", "class", "type", "array", "from", "to",
    ];
    write_table(&heads, 3, &rows, output)?;
    let moved = plan.arrays().iter();
    let moved = moved.filter(|array| array.plan.class() != PlanClass::Identity);
    let forecast = plan.forecast();
    let passes = match forecast.passes {
        ..=1 => String::new(),
        passes => format!(" in {passes} passes"),
    };
    writeln!(
        output,
        "\n  {}, {} of them moved{passes}: {} read, {} written, {} of memory, about {}",
        counted(plan.arrays().len() as i128, "array"),
        moved.count(),
        size(forecast.bytes_read),
        size(forecast.bytes_written),
        size(plan.extra_memory().heap as u64),
        time(plan.predicted()),
    )?;
    write_lost(plan.metadata_lost(), output)
}

fn row(array: &ArrayMove) -> Row {
    let rule = array
        .rule
        .map_or("-".to_owned(), |rule| (rule + 1).to_string());
    Row {
        cells: vec![
            size(array.plan.bytes_written() as u64),
            time(array.predicted),
            rule,
            array.plan.class().to_string(),
            type_name(array),
            one_line(&array.name).into_owned(),
            dimensions(&array.source),
            dimensions(&array.destination),
        ],
        below: Vec::new(),
    }
}

/// `f32`, `big-endian f32 to bf16`, or NumPy's words for opaque elements.
pub fn type_name(array: &ArrayMove) -> String {
    if let Some(descr) = &array.opaque {
        return one_line(descr).into_owned();
    }
    let (from, to) = (&array.source, &array.destination);
    let from = side::described(array.orders.source, &from.element_type());
    let to = side::described(array.orders.destination, &to.element_type());
    match from == to {
        true => from,
        false => format!("{from} to {to}"),
    }
}

/// A shape without its type: `[2,3]{1,0}`.
fn dimensions(shape: &ArrayShape) -> String {
    let text = shape.to_string();
    let start = text.find('[').unwrap_or(0);
    text[start..].to_owned()
}

fn size(bytes: u64) -> String {
    sizes::size(bytes.into())
}

/// Two digits are more than a prediction is good for.
fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if seconds >= 1.0 => format!("{seconds:.1} s"),
        _ if seconds >= 1e-3 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.1} us", seconds * 1e6),
    }
}

/// What was done, in one line.
pub fn write_report(
    report: &RelayoutReport,
    verified: bool,
    output: &mut Output,
) -> Result<(), Stop> {
    match report.earlier {
        Earlier::Replaced => writeln!(
            output,
            "an unfinished output of an earlier run is replaced; --resume goes on with one"
        )?,
        Earlier::Resumed => writeln!(output, "went on where an earlier run stopped")?,
        _ => {}
    }
    let seconds = report.moving.as_secs_f64();
    let bytes = report.bytes_read + report.bytes_written;
    let rate = if seconds > 0.0 && bytes > 0 {
        format!(" ({:.2} GB/s)", bytes as f64 / seconds / 1e9)
    } else {
        String::new()
    };
    let what = match &report.arrays[..] {
        [array] => format!(
            "{} to {}",
            array.plan.class(),
            side::described(array.orders.destination, &array.destination)
        ),
        arrays => {
            let moved = arrays.iter();
            let moved = moved.filter(|array| array.plan.class() != PlanClass::Identity);
            format!("{} of {} arrays moved", moved.count(), arrays.len())
        }
    };
    writeln!(
        output,
        "{}: {what}, {} bytes read, {} written in {seconds:.3} s{rate}, {:.3} s in all",
        report.output.display(),
        report.bytes_read,
        report.bytes_written,
        report.elapsed.as_secs_f64(),
    )?;
    if verified {
        writeln!(output, "verified: every element is the input's")?;
    }
    write_lost(&report.metadata_lost, output)
}

fn write_lost(names: &[String], output: &mut Output) -> Result<(), Stop> {
    if !names.is_empty() {
        let names: Vec<_> = names.iter().map(|name| one_line(name)).collect();
        let names = names.join(", ");
        writeln!(
            output,
            "the output's format has no place for the metadata {names}"
        )?;
    }
    Ok(())
}
