//! Matrix products beside NumPy and PyTorch, and compact shapes beside ndarray's and candle's:
//! `cargo xtask bench --tensors` builds and runs it.
//!
//! Products of f32 on 1 and 2 threads, ours and of the system's BLAS, every order of both operands, in
//! billions of operations a second; all libraries in the same rounds, one after the other. Medians.

mod peers;
mod shapes;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use minormajor::measure::interleave;
use minormajor::{Device, ElementType, Tensor, TensorError};

use peers::Peers;

/// m, k and n: `[m, k]` times `[k, n]`.
const SIZES: [[i64; 3]; 4] = [
    [256, 256, 256],
    [1024, 1024, 1024],
    [2048, 2048, 2048],
    [1024, 2048, 512],
];
/// Which operands are in columns.
const ORDERS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];
const ROUNDS: usize = 7;
/// A reading is at least so long, so that calls and threads' starts are no part of it.
const READING: Duration = Duration::from_millis(4);

const HELP: &str = "\
Times matrix products, and compact shapes.

usage: cargo xtask bench --tensors [OPTION...]

  --threads 1,2      a table for each of these numbers of threads (1,2)
  --shapes           shapes alone
  --peers            NumPy and PyTorch too, in the same rounds; ndarray's and candle's shapes";

struct Arguments {
    threads: Vec<usize>,
    shapes: bool,
    python: Option<PathBuf>,
}

fn arguments() -> Result<Option<Arguments>, String> {
    let mut asked = Arguments {
        threads: vec![1, 2],
        shapes: false,
        python: None,
    };
    let mut given = std::env::args().skip(1);
    while let Some(option) = given.next() {
        let mut value = || given.next().ok_or(format!("{option} takes a value"));
        match &option[..] {
            "--help" => return Ok(None),
            "--tensors" | "--peers" => {}
            "--shapes" => asked.shapes = true,
            "--python" => asked.python = Some(value()?.into()),
            "--threads" => {
                let list = value()?;
                let numbers = list.split(',').map(str::parse).collect::<Result<_, _>>();
                asked.threads = numbers.map_err(|error| format!("--threads {list}: {error}"))?;
            }
            other => return Err(format!("unknown option {other}\n\n{HELP}")),
        }
    }
    Ok(Some(asked))
}

fn main() -> ExitCode {
    let run = arguments().and_then(|asked| match asked {
        None => {
            println!("{HELP}");
            Ok(())
        }
        Some(asked) => run(&asked),
    });
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(asked: &Arguments) -> Result<(), String> {
    if !asked.shapes {
        for &threads in &asked.threads {
            products(threads, asked.python.as_deref())?;
        }
    }
    shapes::compare();
    Ok(())
}

/// A table of products on so many threads.
fn products(threads: usize, python: Option<&std::path::Path>) -> Result<(), String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| error.to_string())?;
    let mut peers = python
        .map(|python| Peers::start(python, threads))
        .transpose()?;
    let names = peers
        .as_ref()
        .map_or(Vec::new(), |peers| peers.names().to_vec());
    println!("f32 products, {threads} thread(s), billions of operations a second");
    let mut devices = vec![Device::cpu()];
    match Device::cpu_blas() {
        Ok(device) => devices.push(device),
        Err(reason) => println!("{reason}"),
    }
    print!("{:<18} {:<16}", "sizes", "orders");
    devices
        .iter()
        .for_each(|device| print!(" {:>10}", device.name()));
    names.iter().for_each(|name| print!(" {name:>10}"));
    println!();
    for [m, k, n] in SIZES {
        for (left, right) in ORDERS {
            let side = |device: &Device, rows: i64, columns: i64, turned: bool, seed: u64| {
                let sizes = if turned {
                    [columns, rows]
                } else {
                    [rows, columns]
                };
                let made = Tensor::randn(ElementType::F32, sizes, seed, device)?;
                if turned {
                    made.transpose(&[1, 0])
                } else {
                    Ok(made)
                }
            };
            let sides = |device| {
                Ok::<_, TensorError>((side(device, m, k, left, 1)?, side(device, k, n, right, 2)?))
            };
            let ours: Result<Vec<_>, _> = devices.iter().map(sides).collect();
            let ours = ours.map_err(|error| error.to_string())?;
            if let Some(peers) = &mut peers {
                peers.prepare(m, k, n, left, right)?;
            }
            let mut failed = None;
            let times = interleave(
                ROUNDS,
                Duration::from_millis(200),
                ours.len() + names.len(),
                |turn| match (ours.get(turn), &mut peers) {
                    (Some((a, b)), _) => {
                        pool.install(|| reading(|| drop(a.mm(b).expect("a product"))))
                    }
                    (None, Some(peers)) => peers.time(turn - ours.len()).unwrap_or_else(|error| {
                        failed = Some(error);
                        f64::NAN
                    }),
                    (None, None) => unreachable!("without peers, turns are ours"),
                },
            );
            if let Some(error) = failed {
                return Err(error);
            }
            let order = |turned: bool| if turned { "columns" } else { "rows" };
            let orders = format!("{}, {}", order(left), order(right));
            print!("{:<18} {orders:<16}", format!("{m}x{k} {k}x{n}"));
            for times in times {
                let operations = 2.0 * (m * k * n) as f64;
                print!(" {:>10.1}", operations / times.median() / 1e9);
            }
            println!();
        }
    }
    println!();
    Ok(())
}

/// Seconds of one call, of as many as make a reading.
fn reading(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut calls = 0;
    while calls == 0 || start.elapsed() < READING {
        call();
        calls += 1;
    }
    start.elapsed().as_secs_f64() / f64::from(calls)
}
