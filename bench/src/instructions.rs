//! One job, done as often as asked: what `cargo xtask instructions` counts the instructions of.
//!
//! `instructions run|plan SOURCE DESTINATION TIMES`: `run` runs a prepared relayout, `plan` makes
//! and prepares its plan.

use std::error::Error;
use std::hint::black_box;

use minormajor::measure::Buffers;
use minormajor::{ArrayShape, Pages, Plan, Relayout, Shape};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [job, source, destination, times] = arguments.as_slice() else {
        return Err("expected run or plan, two shapes and a number of times".into());
    };
    let [source, destination] = [source, destination].map(|text| text.parse::<Shape>());
    let (source, destination) = (source?, destination?);
    let (source, destination) = (source.as_array()?, destination.as_array()?);
    let times: usize = times.parse()?;
    match job.as_str() {
        "plan" => {
            for _ in 0..times {
                black_box(prepare(black_box(source), black_box(destination))?);
            }
        }
        "run" => {
            let relayout = prepare(source, destination)?.threads(1);
            // On pages of their own, so that alignment is the same on every machine.
            let mut buffers = Buffers::new(&relayout, Pages::Small)?;
            let (from, to) = buffers.parts();
            for _ in 0..times {
                relayout.run(black_box(from), black_box(&mut *to))?;
            }
        }
        _ => return Err(format!("expected run or plan, got {job}").into()),
    }
    Ok(())
}

fn prepare(source: &ArrayShape, destination: &ArrayShape) -> Result<Relayout, Box<dyn Error>> {
    Ok(Relayout::new(&Plan::new(source, destination)?)?)
}
