//! `relayout`: moves a file's array to another layout.

use std::io::Write;

use minormajor::files::{FileStrides, RelayoutOptions, RelayoutReport, relayout_file};

use crate::arguments::Relayout;
use crate::error::{Outcome, Stop};
use crate::output::{Output, one_line};
use crate::progress::Watched;
use crate::{request, side};

/// Runs the relayout of the arguments.
pub fn run(arguments: &Relayout, output: &mut Output) -> Result<Outcome, Stop> {
    let mut options = RelayoutOptions::default();
    options.threads = arguments.threads;
    if let Some(shape) = &arguments.shape {
        options.input_shape = Some(request::array(shape, shape.len())?);
    }
    options.element_type = arguments.element_type;
    options.input_type = arguments.input_type;
    let orders = &arguments.endians;
    options.input_order = orders.src_endian.map(Into::into);
    options.output_order = orders.dst_endian.map(Into::into);
    options.memory = arguments.memory;
    options.input_strides = file_strides(
        arguments.strides.src_strides.as_deref(),
        arguments.strides.src_offset,
    )?;
    options.output_strides = file_strides(
        arguments.strides.dst_strides.as_deref(),
        arguments.strides.dst_offset,
    )?;
    if let Some(layout) = &arguments.to {
        options.layout = Some(request::layout(layout)?);
    }
    if let Some(chunks) = &arguments.chunks {
        options.chunks = Some(request::sizes(chunks)?);
    }
    let watched = Watched::new(arguments.quiet);
    let progress = |done, total| watched.report(done, total);
    let report = relayout_file(&arguments.input, &arguments.output, &options, &progress);
    watched.finish();
    let report = report?;
    if !arguments.quiet {
        writeln!(output, "{}", summary(&report))?;
        if !report.metadata_lost.is_empty() {
            let names: Vec<_> = report
                .metadata_lost
                .iter()
                .map(|name| one_line(name))
                .collect();
            let names = names.join(", ");
            writeln!(
                output,
                "the output's format has no place for the metadata {names}"
            )?;
        }
    }
    Ok(Outcome::Done)
}

fn file_strides(strides: Option<&str>, offset: i64) -> Result<Option<FileStrides>, Stop> {
    let Some(strides) = strides else {
        return Ok(None);
    };
    Ok(Some(FileStrides {
        strides: side::parse_strides(strides)?,
        offset,
    }))
}

/// What was done, in one line.
fn summary(report: &RelayoutReport) -> String {
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
        arrays => format!("{} arrays", arrays.len()),
    };
    format!(
        "{}: {what}, {} bytes read, {} written in {seconds:.3} s{rate}, {:.3} s in all",
        report.output.display(),
        report.bytes_read,
        report.bytes_written,
        report.elapsed.as_secs_f64(),
    )
}
