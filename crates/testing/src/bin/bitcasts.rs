//! Compares the questions about bitcasts with brute force, all of them: what `cargo xtask
//! bitcasts` runs. With an argument N, one pair in N; with a second one, only arrays of that many
//! elements.

use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use minormajor_testing::bitcasts::{Counts, Domain, compare};

fn main() -> ExitCode {
    let arguments: Result<Vec<u64>, _> = std::env::args().skip(1).map(|n| n.parse()).collect();
    let (sample, elements) = match arguments.as_deref() {
        Ok([]) => (1, None),
        Ok([sample @ 1..=u64::MAX]) => (*sample, None),
        Ok([sample @ 1..=u64::MAX, elements @ 1..=64]) => (*sample, Some(*elements as i64)),
        _ => {
            eprintln!("expected N, to compare one pair in N, and a number of elements up to 64");
            return ExitCode::from(2);
        }
    };
    for (domain, name) in [
        (Domain::Untiled, "untiled, up to 64 elements, rank 4"),
        (Domain::Tiled, "tiled and padded, up to 24 elements, rank 3"),
    ] {
        match run(domain, sample, elements) {
            Ok(counts) => println!("{name}: {counts}"),
            Err(disagreement) => {
                eprintln!("{name}: {disagreement}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Goes through the numbers of elements on all threads, the greatest first: they take longest.
fn run(domain: Domain, sample: u64, elements: Option<i64>) -> Result<Counts, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = |n: &i64| elements.is_none_or(|elements| elements == *n);
    let work = Mutex::new(domain.elements().filter(wanted));
    let total = Mutex::new(Ok(Counts::default()));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = work.lock().map_or(None, |mut work| work.next_back());
                    let Some(elements) = next else { return };
                    let found = compare(domain, elements, sample);
                    let Ok(mut total) = total.lock() else { return };
                    match (&mut *total, found) {
                        (Ok(total), Ok(found)) => {
                            *total += found;
                            let seconds = start.elapsed().as_secs();
                            println!("  {elements} elements: {} pairs, {seconds} s", found.pairs);
                        }
                        (Ok(_), Err(disagreement)) => {
                            *total = Err(disagreement);
                            return;
                        }
                        (Err(_), _) => return,
                    }
                }
            });
        }
    });
    total
        .into_inner()
        .unwrap_or_else(|_| Err("a thread failed".to_owned()))
}
