//! Random cases through XLA and through this project: none may differ outside the list of XLA's
//! faults.
//!
//! ```sh
//! cargo run -p minormajor-testing --bin conformance -- PYTHON [CASES [SEED [KIND]]]
//! ```
//!
//! `PYTHON` is an interpreter with jaxlib. The same seed makes the same cases; a kind, such as
//! `sharding`, leaves only those.

mod cases;
mod faults;
mod ours;
mod shardings;
mod xla;

use std::collections::BTreeMap;
use std::process::ExitCode;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use xla::{Answer, Xla};

/// Differences that are printed whole.
const SHOWN: usize = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| match arguments.get(i) {
        Some(text) => text.parse().map_err(|error| format!("{text}: {error}")),
        None => Ok(default),
    };
    let result = match arguments.first() {
        Some(python) => number(1, 20_000).and_then(|cases| {
            let seed = number(2, 1)?;
            let kind = arguments.get(3).map(String::as_str);
            run(&mut Xla::new(python.into()), cases, seed, kind)
        }),
        None => Err("expected the path of a Python interpreter with jaxlib".to_owned()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing differed outside the list.
fn run(xla: &mut Xla, cases: u64, seed: u64, only: Option<&str>) -> Result<bool, String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = cases::case();
    let mut agreed: BTreeMap<String, usize> = BTreeMap::new();
    let mut faults: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut differ = 0;
    let mut asked = 0;
    while asked < cases {
        let tree = strategy
            .new_tree(&mut runner)
            .map_err(|error| error.to_string())?;
        let case = tree.current();
        if only.is_some_and(|kind| case["kind"] != kind) {
            continue;
        }
        asked += 1;
        let answer = xla.ask(&case)?;
        let ours = ours::answer(&case);
        let kind = case["kind"].as_str().unwrap_or_default();
        let verdict = match &answer {
            Answer::Accepts(_) => "accepted",
            Answer::Rejects(_) => "rejected",
            Answer::Aborts => "aborted",
        };
        if ours::agree(&answer, &ours) {
            *agreed.entry(format!("{kind} {verdict}")).or_default() += 1;
        } else if let Some(fault) = faults::of(&case, &answer, &ours) {
            *faults.entry(fault).or_default() += 1;
        } else {
            differ += 1;
            if differ <= SHOWN {
                println!("DIFFERS {case}\n   XLA  {answer:?}\n   here {ours:?}");
            }
        }
    }
    println!("{cases} cases of seed {seed}");
    for (what, count) in &agreed {
        println!("{count:>8} agree: {what}");
    }
    for (fault, count) in &faults {
        println!("{count:>8} differ as listed: {fault}");
    }
    println!("{differ:>8} differ otherwise");
    Ok(differ == 0)
}
