//! The command line of minormajor: where every element of an array lies, and any layout to any
//! other.

mod arguments;
mod batch;
mod bench;
mod bitcast;
mod completions;
mod describe;
mod draw;
mod error;
mod help;
mod hlo;
mod in_place;
mod index;
mod inspect;
mod manual;
mod memory;
mod output;
mod plan;
mod progress;
mod relayout;
mod request;
mod sharding;
mod side;
mod table;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use output::Output;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let mut output = Output::stdout();
    let done = match &arguments.command {
        Command::Describe(describe) => describe::run(describe, &mut output),
        Command::Index(index) => index::run(index, &mut output),
        Command::Draw(draw) => draw::run(draw, &mut output),
        Command::Plan(plan) => plan::run(plan, &mut output),
        Command::Bitcast(bitcast) => bitcast::run(bitcast, &mut output),
        Command::Bench(bench) => bench::run(bench, &mut output),
        Command::Relayout(relayout) => relayout::run(relayout, &mut output),
        Command::Hlo(hlo) => hlo::run(hlo, &mut output),
        Command::Sharding(sharding) => sharding::run(sharding, &mut output),
        Command::Inspect(inspect) => inspect::run(inspect, &mut output),
        Command::Completions(completions) => completions::run(completions, &mut output),
        Command::Man(man) => manual::run(man),
    };
    match done.and_then(|outcome| output.finish().map(|()| outcome).map_err(Into::into)) {
        Ok(outcome) => outcome.into(),
        Err(stop) => stop.report(),
    }
}
