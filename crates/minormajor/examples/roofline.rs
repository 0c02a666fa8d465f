//! What a transpose of f32 in the caches could reach at most: the same lines read and written in the order that
//! squares of 16 by 16 are moved in, with nothing done between, beside `memcpy` and the relayout itself.
//!
//! ```sh
//! cargo run --release -p minormajor --example roofline -- 1024 1040 2048
//! ```

use std::hint::black_box;
use std::time::Instant;

use minormajor::{Plan, Relayout, Shape};

/// Floats of a line, and rows of a strip.
const LINE: usize = 16;
const STRIP: usize = 128;
const ROUNDS: usize = 31;

/// Calls `visit` with the first floats of a line of each side, in the order that a matrix is moved in.
fn lines(side: usize, mut visit: impl FnMut(usize, usize)) {
    for strip in (0..side).step_by(STRIP) {
        for column in (0..side).step_by(LINE) {
            for row in (strip..side.min(strip + STRIP)).step_by(LINE) {
                for i in 0..LINE {
                    visit((row + i) * side + column, (column + i) * side + row);
                }
            }
        }
    }
}

fn measure(side: usize) -> Result<(), Box<dyn std::error::Error>> {
    let shape = |layout: &str| format!("f32[{side},{side}]{{{layout}}}").parse::<Shape>();
    let plan = Plan::new(shape("1,0")?.as_array()?, shape("0,1")?.as_array()?)?;
    let relayout = Relayout::new(&plan)?.threads(1);
    let source = vec![1f32; side * side];
    let mut to = vec![0f32; side * side];
    let bytes = vec![1u8; 4 * side * side];
    let mut moved = vec![0u8; 4 * side * side];
    const NAMES: [&str; 5] = ["memcpy", "relayout", "lines read", "lines written", "both"];
    let mut times = NAMES.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (contestant, times) in times.iter_mut().enumerate() {
            let start = Instant::now();
            match contestant {
                0 => moved.copy_from_slice(black_box(&bytes)),
                1 => relayout.run(black_box(&bytes), &mut moved)?,
                2 => {
                    let mut sum = [0f32; LINE];
                    lines(side, |from, _| {
                        let line = &source[from..from + LINE];
                        sum.iter_mut().zip(line).for_each(|(sum, x)| *sum += x);
                    });
                    black_box(sum);
                }
                3 => lines(side, |_, at| to[at..at + LINE].fill(black_box(2.0))),
                _ => lines(side, |from, at| {
                    to[at..at + LINE].copy_from_slice(&source[from..from + LINE]);
                }),
            }
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let medians = times.map(|mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    });
    for (name, time) in NAMES.iter().zip(medians) {
        let kibibytes = (4 * side * side) as f64 / 1024.0;
        let (each, ratio) = (1e9 * time / kibibytes, medians[0] / time);
        println!("f32[{side},{side}]  {name:14} {each:7.1} ns a KiB   {ratio:.2} of memcpy");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let given = match given.is_empty() {
        true => vec!["1024".to_owned(), "1040".to_owned()],
        false => given,
    };
    for side in given {
        let side: usize = side.parse()?;
        if side == 0 || !side.is_multiple_of(LINE) {
            return Err(format!("{side}: expected a multiple of {LINE}").into());
        }
        measure(side)?;
    }
    Ok(())
}
