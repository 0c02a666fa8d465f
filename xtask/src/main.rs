//! The project's own commands: `cargo xtask test` and its kin.
//!
//! A step that fails ends the run with one line that names the step, the command
//! and the cause; exit code 1. Wrong arguments are exit code 2.

mod arguments;
mod bench;
mod bitcasts;
mod conformance;
mod conformance_table;
mod documents;
mod failure;
mod files;
mod fuzz;
mod inlined;
mod instructions;
mod large;
mod markdown;
mod package;
mod process;
mod ptx;
mod python;
mod sanitize;
mod steps;
mod targets;
mod test;
mod valgrind;
mod workspace;

use std::process::ExitCode;

use arguments::Request;
use failure::Failure;
use workspace::Workspace;

fn main() -> ExitCode {
    let request = match arguments::parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(message) => {
            eprintln!("xtask: {message}\n\n{}", arguments::HELP);
            return ExitCode::from(2);
        }
    };
    match carry_out(request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nxtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(request: Request) -> Result<(), Failure> {
    match request {
        Request::Help => {
            println!("{}", arguments::HELP);
            Ok(())
        }
        Request::Test { quick } => test::run(&Workspace::find()?, quick),
        Request::Documents => documents::run(&Workspace::find()?),
        Request::Bench { options } => bench::run(&Workspace::find()?, &options),
        Request::Instructions { update } => instructions::run(&Workspace::find()?, update),
        Request::Python => {
            let workspace = Workspace::find()?;
            let python = python::environment(&workspace)?;
            package::test(&workspace, python.as_deref())
        }
        Request::Targets => targets::check(&Workspace::find()?),
        Request::Wheel => package::wheel(&Workspace::find()?),
        Request::Ptx { check } => ptx::run(&Workspace::find()?, !check),
        Request::Sanitize { python: false } => sanitize::run(&Workspace::find()?),
        Request::Sanitize { python: true } => sanitize::python(&Workspace::find()?),
        Request::Conformance(cases) => conformance::run(&Workspace::find()?, cases),
        Request::ConformanceTable => conformance_table::run(&Workspace::find()?),
        Request::Bitcasts { sample, elements } => {
            bitcasts::run(&Workspace::find()?, sample, elements)
        }
        Request::Large(wish) => large::run(&Workspace::find()?, &wish),
        Request::Fuzz(wish) => fuzz::run(&Workspace::find()?, &wish),
    }
}
