//! `cargo xtask bitcasts`: the questions about bitcasts beside brute force.
//!
//! A fixed sample is among the ordinary tests; all pairs take hours.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// Compares one pair of layouts in `sample`, of all arrays or those of so many elements, on all
/// threads.
///
/// # Errors
///
/// At the first pair for which the answers differ.
pub fn run(workspace: &Workspace, sample: u64, elements: Option<u64>) -> Result<(), Failure> {
    process::run(
        workspace
            .cargo("run")
            .args(["--release", "--package", "minormajor-testing"])
            .args(["--bin", "bitcasts", "--"])
            .arg(sample.to_string())
            .args(elements.map(|elements| elements.to_string())),
    )
}
