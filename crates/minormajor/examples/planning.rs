//! Nanoseconds that planning and preparing take, for pairs of shapes of common ranks.
//!
//! ```sh
//! cargo run --release -p minormajor --example planning
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use minormajor::{ArrayShape, Plan, Relayout, Shape};

const PAIRS: [[&str; 2]; 8] = [
    ["f32[4,4]{1,0}", "f32[4,4]{0,1}"],
    ["f32[64,64]{1,0}", "f32[64,64]{0,1}"],
    ["f32[2,3,4]{2,1,0}", "f32[2,3,4]{0,2,1}"],
    ["f32[2,3,4,5]{3,2,1,0}", "f32[2,3,4,5]{0,2,3,1}"],
    [
        "f32[2,3,4,5,6,7]{5,4,3,2,1,0}",
        "f32[2,3,4,5,6,7]{0,5,2,3,1,4}",
    ],
    ["f32[8,128]{1,0}", "f32[8,128]{1,0:T(8,128)}"],
    ["f32[1000,1000]{1,0}", "f32[1000,1000]{1,0:T(8,128)}"],
    ["f32[600,400]{1,0:T(8,128)}", "f32[600,400]{1,0:T(12,96)}"],
];

/// The median of several rounds of many calls.
fn time(mut call: impl FnMut()) -> Duration {
    const CALLS: u32 = 2000;
    let mut rounds: Vec<Duration> = (0..15)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| call());
            start.elapsed() / CALLS
        })
        .collect();
    rounds.sort();
    rounds[rounds.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:>8} {:>8} {:>8}  ns", "plan", "prepare", "run");
    for [from, to] in PAIRS {
        let parse = |text: &str| -> Result<ArrayShape, Box<dyn std::error::Error>> {
            Ok(text.parse::<Shape>()?.as_array()?.clone())
        };
        let (source, destination) = (parse(from)?, parse(to)?);
        let plan = Plan::new(&source, &destination)?;
        let relayout = Relayout::new(&plan)?;
        let input = vec![0; relayout.source_bytes()];
        let mut output = vec![0; relayout.destination_bytes()];
        let planning = time(|| {
            let _ = black_box(Plan::new(black_box(&source), black_box(&destination)));
        });
        let preparing = time(|| {
            let _ = black_box(Relayout::new(black_box(&plan)));
        });
        let running = time(|| {
            let _ = black_box(relayout.run(black_box(&input), black_box(&mut output)));
        });
        println!(
            "{:>8} {:>8} {:>8}  {from} to {to}",
            planning.as_nanos(),
            preparing.as_nanos(),
            running.as_nanos()
        );
    }
    Ok(())
}
