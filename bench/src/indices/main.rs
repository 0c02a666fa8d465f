//! Index conversion in batches, beside memcpy and NumPy: `cargo xtask bench --indices` builds and
//! runs it.
//!
//! For each layout nanoseconds an index, both ways, one thread: for 4096 indices, which stay in the
//! caches, and for so many that they don't; there also the part of memcpy's speed, for the bytes
//! that the conversion reads and writes. Medians of rounds in which all have a turn.

mod numpy;

use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use minormajor::measure::{copies, interleave, repeated};
use minormajor::{AddressMap, ArrayShape, BatchMap, Shape};

use numpy::NumPy;

/// Sizes that nothing divides, of ranks 1 to 6, and layouts.
const CASES: [&str; 14] = [
    "u8[2000003]",
    "u8[1201,1693]",
    "u8[113,127,149]",
    "u8[37,41,43,47]",
    "u8[17,19,23,29,11]",
    "u8[11,13,7,17,19,5]",
    "u8[37,41,43,47]{0,1,2,3}",
    "u8[37,41,43,47]{1,3,0,2}",
    "u8[37,41,43,47]{3,2,1,0:PAD(37,41,48,64)}",
    "u8[1201,1693]{1,0:T(8,128)}",
    "u8[37,41,43,47]{3,2,1,0:T(8,128)}",
    "u8[37,41,43,47]{3,2,1,0:T(8,128)(4,1)}",
    "u8[113,127,149]{2,1,0:T(*,3)}",
    // Beyond 2^49 positions: 64-bit arithmetic.
    "u8[67108879,530,67,1693]",
];

/// Indices that stay in the caches, and that don't.
const FEW: usize = 4096;
const MANY: usize = 4 << 20;

/// Rounds at least.
const ROUNDS: usize = 7;

const HELP: &str = "\
Times index conversion in batches beside memcpy.

usage: cargo xtask bench --indices [OPTION...]

  --peers            NumPy's ravel_multi_index and unravel_index too, in the same rounds
  --cases TEXT       only layouts whose text has this in it; may be given again";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("bench: {cause}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut given: impl Iterator<Item = String>) -> Result<(), String> {
    let mut wanted = Vec::new();
    let mut python: Option<PathBuf> = None;
    while let Some(option) = given.next() {
        let mut value = || given.next().ok_or(format!("`{option}` needs a value"));
        match option.as_str() {
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(());
            }
            "--indices" | "--peers" => {}
            // The texts have commas of their own.
            "--cases" => wanted.push(value()?),
            "--python" => python = Some(value()?.into()),
            _ => return Err(format!("`bench --indices` takes no `{option}`\n\n{HELP}")),
        }
    }
    let mut numpy = python.map(|python| NumPy::start(&python)).transpose()?;
    match &numpy {
        Some(numpy) => println!("Beside NumPy {}.", numpy.version),
        None => println!("Without NumPy; --peers has it."),
    }
    println!(
        "ns an index, to position and back; from memory also of memcpy's speed\n\n\
         {:40} {:>9} {:>9} {:>12} {:>12}   NumPy: few, many",
        "", "to, few", "back, few", "to, many", "back, many"
    );
    for text in CASES {
        if !wanted.is_empty() && !wanted.iter().any(|part| text.contains(part.as_str())) {
            continue;
        }
        let case = Case::new(text)?;
        let few = case.measure(FEW, &mut numpy)?;
        let many = case.measure(MANY, &mut numpy)?;
        let share = |time: f64| format!("{time:.2} ({:.2})", many.memcpy / time);
        print!(
            "{text:40} {:>9.2} {:>9.2} {:>12} {:>12}",
            few.to,
            few.back,
            share(many.to),
            share(many.back)
        );
        match (few.numpy, many.numpy) {
            (Some(few), Some(many)) => println!(
                "   {:.2} {:.2}, {:.2} {:.2}",
                few[0], few[1], many[0], many[1]
            ),
            _ => println!(),
        }
    }
    Ok(())
}

/// A layout to measure.
struct Case {
    array: ArrayShape,
    address: AddressMap,
    batch: BatchMap,
}

/// Nanoseconds an index.
struct Measured {
    to: f64,
    back: f64,
    /// Of half the bytes that a conversion reads and writes.
    memcpy: f64,
    /// Both ways.
    numpy: Option<[f64; 2]>,
}

impl Case {
    fn new(text: &str) -> Result<Case, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("{text}: {error}");
        let shape: Shape = text.parse().map_err(|error| wrong(&error))?;
        let array = shape.as_array().map_err(|error| wrong(&error))?;
        Ok(Case {
            array: array.clone(),
            address: AddressMap::new(array).map_err(|error| wrong(&error))?,
            batch: BatchMap::new(array).map_err(|error| wrong(&error))?,
        })
    }

    fn measure(&self, count: usize, numpy: &mut Option<NumPy>) -> Result<Measured, String> {
        let (array, batch) = (&self.array, &self.batch);
        let rank = array.rank();
        let elements = self.address.elements();
        // All over the array, one after the other in no order.
        let linear = BatchMap::linear(array).map_err(|error| error.to_string())?;
        let places: Vec<i64> = (0..count as u64)
            .map(|k| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1) as i64 % elements)
            .collect();
        let mut columns = vec![vec![0; count]; rank];
        let mut found: Vec<&mut [i64]> = columns.iter_mut().map(|column| &mut column[..]).collect();
        linear
            .indices(&places, &mut found)
            .map_err(|error| error.to_string())?;
        drop(places);

        let mut positions = vec![1; count];
        let given: Vec<&[i64]> = columns.iter().map(|column| &column[..]).collect();
        batch
            .positions(&given, &mut positions)
            .map_err(|error| error.to_string())?;
        let known = positions.clone();
        let mut back = vec![vec![1; count]; rank];
        let mut there = numpy.as_mut().filter(|_| self.is_linear());
        if let Some(numpy) = &mut there {
            numpy.prepare(array, count)?;
        }
        let mut to_positions = repeated(|positions: &mut [i64]| {
            batch
                .positions(black_box(&given), positions)
                .expect("indices of the array");
        });
        let mut to_indices = repeated(|back: &mut [Vec<i64>]| {
            let mut columns: Vec<&mut [i64]> =
                back.iter_mut().map(|column| &mut column[..]).collect();
            let padding = batch.indices(black_box(&known), &mut columns);
            assert_eq!(padding, Ok(0));
        });
        let half = 4 * count * (rank + 1);
        let (source, mut destination) = (vec![1; half], vec![2; half]);
        let mut memcpy = copies(&source, 1);
        let mut failed = None;
        let contestants = if there.is_some() { 5 } else { 3 };
        let patience = Duration::from_millis(if count == FEW { 50 } else { 0 });
        let times = interleave(ROUNDS, patience, contestants, |turn| match turn {
            0 => memcpy(&mut destination),
            1 => to_positions(&mut positions),
            2 => to_indices(&mut back),
            _ => match there.as_mut().map(|numpy| numpy.run(turn == 4)) {
                Some(Ok(seconds)) => seconds,
                Some(Err(cause)) => {
                    failed = Some(cause);
                    f64::NAN
                }
                None => f64::NAN,
            },
        });
        if let Some(cause) = failed {
            return Err(cause);
        }
        self.check(&columns, &positions, &back)?;
        let each: Vec<f64> = times
            .iter()
            .map(|times| times.median() * 1e9 / count as f64)
            .collect();
        Ok(Measured {
            memcpy: each[0],
            to: each[1],
            back: each[2],
            numpy: (contestants == 5).then(|| [each[3], each[4]]),
        })
    }

    /// Whether positions are linear indices, which is all that NumPy knows.
    fn is_linear(&self) -> bool {
        self.address.allocated_elements() == self.address.elements()
            && self
                .array
                .layout()
                .is_some_and(|layout| layout.tiles().is_empty())
    }

    /// That a sample of what was measured is right.
    fn check(
        &self,
        columns: &[Vec<i64>],
        positions: &[i64],
        back: &[Vec<i64>],
    ) -> Result<(), String> {
        for k in (0..positions.len()).step_by(97) {
            let index: Vec<i64> = columns.iter().map(|column| column[k]).collect();
            if self.address.position(&index) != Ok(positions[k]) {
                return Err(format!("{}: {index:?} became {}", self.array, positions[k]));
            }
        }
        match back == columns {
            true => Ok(()),
            false => Err(format!("{}: indices did not come back", self.array)),
        }
    }
}
