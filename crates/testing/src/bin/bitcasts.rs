//! Compares the questions about bitcasts with brute force, all of them: what `cargo xtask
//! bitcasts` runs. With an argument N, one pair in N.

use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use minormajor_testing::bitcasts::{Counts, Domain, compare};

fn main() -> ExitCode {
    let sample = match std::env::args().nth(1).map(|n| n.parse::<u64>()) {
        None => 1,
        Some(Ok(sample @ 1..)) => sample,
        Some(_) => {
            eprintln!("expected a number N, to compare one pair in N");
            return ExitCode::from(2);
        }
    };
    for (domain, name) in [
        (Domain::Untiled, "untiled, up to 64 elements, rank 4"),
        (Domain::Tiled, "tiled and padded, up to 24 elements, rank 3"),
    ] {
        match run(domain, sample) {
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
fn run(domain: Domain, sample: u64) -> Result<Counts, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = Mutex::new(domain.elements());
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
