//! `relayout`: moves a file's array to another layout.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use minormajor::files::{FileError, FileStrides, RelayoutOptions, RelayoutReport, relayout_file};

use crate::arguments::Relayout;
use crate::error::{Outcome, Stop};
use crate::output::{Output, one_line};
use crate::{request, side};

/// Work that is done sooner shows no progress bar.
const PATIENCE: Duration = Duration::from_millis(500);

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
    let watched = Watched::new(!arguments.quiet && io::stderr().is_terminal());
    let progress = |done, total| watched.report(done, total);
    let report = relayout_file(&arguments.input, &arguments.output, &options, &progress);
    watched.finish();
    let report = report.map_err(|error| {
        Stop::Line(match error {
            FileError::NoShape { .. } => {
                format!("{error} (or say --shape, as in --shape 'f32[2,3]')")
            }
            _ => error.to_string(),
        })
    })?;
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

/// A progress bar that appears when a person has waited for a while.
struct Watched {
    started: Instant,
    by_a_person: bool,
    bar: OnceLock<ProgressBar>,
}

impl Watched {
    fn new(by_a_person: bool) -> Watched {
        Watched {
            started: Instant::now(),
            by_a_person,
            bar: OnceLock::new(),
        }
    }

    fn report(&self, done: u64, total: u64) {
        if !self.by_a_person || self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let template = "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
            match ProgressStyle::with_template(template) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_position(done);
    }

    fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
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
