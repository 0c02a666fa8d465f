//! `completions`: scripts for shells.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::error::{Outcome, Stop};
use crate::output::Output;

/// Writes the script of the shell that the arguments name.
pub fn run(arguments: &Completions, output: &mut Output) -> Result<Outcome, Stop> {
    let mut script = Vec::new();
    // To memory first: the generator knows no stream that fails, as one into `head` does.
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "minormajor",
        &mut script,
    );
    output.write_all(&script)?;
    Ok(Outcome::Done)
}
