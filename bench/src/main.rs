//! The benchmark: relayouts beside memcpy and other libraries. `cargo xtask bench` builds and runs
//! it.

mod arguments;
mod case;
mod contest;
mod machine;
mod peers;
mod report;
mod results;
mod side;
mod unlisted;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use arguments::Arguments;
use case::{Case, SUITES};
use contest::{Problem, Terms};
use machine::Machine;
use peers::Peers;
use results::{Results, Row, Setting};

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(cause) => {
            eprintln!("bench: {cause}\n\n{}", arguments::HELP);
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("bench: {cause}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    if arguments.help {
        println!("{}", arguments::HELP);
        return Ok(());
    }
    let cases = cases(arguments)?;
    if arguments.list {
        for case in cases {
            println!("{}\t{}\t{}", case.name, case.source, case.destination);
        }
        return Ok(());
    }
    let results = if arguments.report {
        Results::read(&arguments.results)?
    } else {
        measure(arguments, &cases)?
    };
    report::write(&results, &arguments.output)?;
    println!(
        "\nwritten: {}",
        arguments.output.join(report::TABLE).display()
    );
    Ok(())
}

/// The cases that are wanted, the first of every suite first.
fn cases(arguments: &Arguments) -> Result<Vec<Case>, String> {
    let mut all = case::listed()?;
    all.extend(unlisted::cases(arguments.seed, arguments.unlisted)?);
    all.retain(|case| arguments.want(&case.name, case.suite()));
    if all.is_empty() {
        return Err("no case is called so; --list prints them all".to_owned());
    }
    let mut suites: Vec<_> = SUITES
        .iter()
        .map(|(suite, ..)| {
            let of_suite = all.iter().filter(move |case| case.suite() == *suite);
            of_suite.cloned().collect::<Vec<_>>().into_iter()
        })
        .collect();
    let mut in_turns = Vec::new();
    while in_turns.len() < all.len() {
        in_turns.extend(suites.iter_mut().filter_map(Iterator::next));
    }
    Ok(in_turns)
}

/// Cases after which the machine is measured afresh for predictions.
const AFRESH: usize = 8;

fn measure(arguments: &Arguments, cases: &[Case]) -> Result<Results, String> {
    let start = Instant::now();
    let mut peers = match arguments.peers {
        true => Peers::new(arguments.python.as_deref(), &arguments.threads),
        false => Peers::default(),
    };
    for missing in &peers.missing {
        println!("missing: {missing}");
    }
    let setting = Setting {
        machine: Machine::this(),
        commit: machine::commit(),
        peers: peers.present.clone(),
        missing: peers.missing.clone(),
    };
    let mut results = Results::new(setting);
    if arguments.add && arguments.results.is_file() {
        results = Results::read(&arguments.results)?.continued(results.setting)?;
    }
    let mut terms = Terms {
        threads: arguments.threads.clone(),
        rounds: arguments.rounds,
        small_pages: arguments.small_pages,
        machine: minormajor::Machine::measured(minormajor::Pages::Huge),
    };
    let mut predicted = 0;
    let budget = arguments.budget.map_or(Duration::MAX, Duration::from_secs);
    for case in cases {
        if results.has(&case.name, &terms.threads, arguments.peers) {
            continue;
        }
        if start.elapsed() >= budget {
            let seconds = budget.as_secs();
            results.leave_out(&case.name, &format!("the {seconds} seconds were over"));
            continue;
        }
        // As a program that starts now would: what others do on this machine changes in minutes.
        predicted += 1;
        if predicted % AFRESH == 0 {
            terms.machine = minormajor::Machine::measured(minormajor::Pages::Huge);
        }
        match contest::measure(case, &terms, &mut peers) {
            Ok(rows) => {
                rows.iter().for_each(print);
                results.add(rows);
            }
            Err(Problem::TooLarge(cause)) => results.leave_out(&case.name, &cause),
            Err(Problem::Fault(cause)) => return Err(format!("{}: {cause}", case.name)),
        }
        results.write(&arguments.results)?;
    }
    Ok(results)
}

/// A line for a person who waits.
fn print(row: &Row) {
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let peer = row.best_peer().map_or(String::new(), |peer| {
        format!("   {} {}", peer.name, ratio(row.ratio_of(peer)))
    });
    let microseconds = row
        .entry(contest::KEPT, false)
        .map_or(0.0, |entry| entry.median_s * 1e6);
    println!(
        "{:34} {:>2} T {:>9.2} MB {microseconds:>12.3} us   ratio {}   4 KiB {}{peer}{}",
        row.case,
        row.threads,
        row.bytes as f64 / 1e6,
        ratio(row.ratio(false)),
        ratio(row.ratio(true)),
        if row.notes.is_empty() {
            String::new()
        } else {
            format!("   ({})", row.notes.join("; "))
        }
    );
}
