//! `bench`: how fast a relayout is on this machine, beside `memcpy`.

use std::io::{self, Write};

use minormajor::measure::{self, Measurement, Options, Times};
use minormajor::plan::PlanClass;
use minormajor::{Machine, Relayout, sizes};
use serde::Serialize;

use crate::arguments;
use crate::error::{Outcome, RequestError, Stop};
use crate::output::Output;
use crate::side::Sides;

/// Measures the relayout of the arguments.
pub fn run(arguments: &arguments::Bench, output: &mut Output) -> Result<Outcome, Stop> {
    let bench = match Bench::new(arguments) {
        Ok(bench) => bench,
        Err(error) => {
            if arguments.json {
                error.write(output)?;
            }
            return Err(error.into());
        }
    };
    if arguments.json {
        serde_json::to_writer(&mut *output, &bench.object()).map_err(io::Error::from)?;
        output.write_all(b"\n")?;
    } else {
        bench.write_text(output)?;
    }
    Ok(Outcome::Done)
}

/// What was measured, and of what.
struct Bench {
    source: String,
    destination: String,
    class: PlanClass,
    /// Bytes read and written.
    moved: i128,
    found: Measurement,
    /// The seconds that the plan expected.
    predicted: f64,
}

/// The object of `--json`. Times are in seconds.
#[derive(Serialize)]
struct BenchObject {
    source: String,
    destination: String,
    class: &'static str,
    bytes: usize,
    threads: usize,
    rounds: usize,
    median_s: f64,
    quartiles_s: [f64; 2],
    memcpy_s: f64,
    memcpy_quartiles_s: [f64; 2],
    /// `memcpy_s` over `median_s`; null where there is nothing to copy.
    ratio: Option<f64>,
    predicted_s: f64,
}

impl Bench {
    fn new(arguments: &arguments::Bench) -> Result<Bench, RequestError> {
        let to = &arguments.destination;
        let sides = Sides::new(&arguments.source, to, &arguments.endians)?;
        let sides = sides.with_strides(&arguments.strides)?;
        let plan = sides.plan(to)?;
        let refused = |error: &dyn ToString| RequestError {
            input: arguments.destination.clone(),
            error: error.to_string(),
            column: None,
        };
        let mut options = Options::default();
        options.threads = arguments.threads.unwrap_or(0);
        let relayout = Relayout::new(&plan).map_err(|error| refused(&error))?;
        let relayout = relayout.threads(options.threads);
        let found = measure::relayout(&relayout, &options).map_err(|error| refused(&error))?;
        Ok(Bench {
            source: sides.source_text(),
            destination: sides.destination_text(),
            class: plan.class(),
            moved: i128::from(plan.bytes_read()) + i128::from(plan.bytes_written()),
            found,
            predicted: relayout
                .predict(Machine::with_pages(options.pages))
                .as_secs_f64(),
        })
    }

    fn object(&self) -> BenchObject {
        let Measurement {
            bytes,
            threads,
            relayout,
            memcpy,
            ..
        } = &self.found;
        BenchObject {
            source: self.source.clone(),
            destination: self.destination.clone(),
            class: self.class.name(),
            bytes: *bytes,
            threads: *threads,
            rounds: relayout.rounds(),
            median_s: relayout.median(),
            quartiles_s: relayout.quartiles(),
            memcpy_s: memcpy.median(),
            memcpy_quartiles_s: memcpy.quartiles(),
            ratio: (*bytes > 0).then(|| self.found.ratio()),
            predicted_s: self.predicted,
        }
    }

    fn write_text(&self, output: &mut impl Write) -> io::Result<()> {
        let found = &self.found;
        let rate = |bytes: i128, times: &Times| {
            let [low, high] = times.quartiles();
            format!(
                "{} ({} to {}), {:.2} GB/s",
                time(times.median()),
                time(low),
                time(high),
                bytes as f64 / times.median() / 1e9
            )
        };
        let (bytes, threads) = (found.bytes as i128, found.threads);
        writeln!(output, "{}\nto {}\n", self.source, self.destination)?;
        writeln!(output, "  class      {}", self.class)?;
        writeln!(output, "  bytes      {bytes} ({})", sizes::size(bytes))?;
        writeln!(output, "  threads    {threads}")?;
        writeln!(output, "  relayout   {}", rate(self.moved, &found.relayout))?;
        writeln!(output, "  memcpy     {}", rate(2 * bytes, &found.memcpy))?;
        match bytes {
            0 => writeln!(output, "  ratio      none: there is nothing to copy")?,
            _ => writeln!(output, "  ratio      {:.2}", found.ratio())?,
        }
        writeln!(output, "  predicted  {}", time(self.predicted))
    }
}

/// Seconds in the unit that leaves one to three digits before the point.
fn time(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    let unit = units.into_iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = unit.unwrap_or((1e-9, "ns"));
    format!("{:.2} {name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_units() {
        for (seconds, text) in [
            (0.0, "0.00 ns"),
            (12.34e-9, "12.34 ns"),
            (1e-6, "1.00 us"),
            (0.0123, "12.30 ms"),
            (61.5, "61.50 s"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }
}
