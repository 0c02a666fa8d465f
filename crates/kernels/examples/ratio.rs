//! The time of `memcpy` over the time of a move, for the cases of the project's lists and some like them.
//!
//! `cargo run --release -p minormajor-kernels --example ratio [-- [--full] [--rounds N] [--sum] [--best] [NAME..]]`
//!
//! Each case is moved between two buffers on huge pages that were touched before, alternating with a copy of as many
//! bytes between the same buffers; the ratio is that of the medians. Every result is compared with an index
//! calculation. Suite T is tiles and blocks that divide their arrays; X, Y and Z are narrow elements, arrays within the caches, and small arrays. `--best` compares the fastest rounds instead, for work on a noisy machine. Suite C runs at about a quarter of its size unless `--full` is given. Names select cases by their start.

use std::time::Instant;

use minormajor_kernels::{Loop, Memory, Move};

/// Name, element bytes, row-major dimensions, permutation: output dimension i is input dimension `permutation[i]`.
const CASES: &str = include_str!("cases.txt");

struct Case {
    name: String,
    width: usize,
    dimensions: Vec<usize>,
    permutation: Vec<usize>,
}

impl Case {
    fn parse(line: &str) -> Case {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let list = |text: &str| {
            text.split(',')
                .map(|n| n.parse().expect("a number"))
                .collect()
        };
        Case {
            name: fields[0].into(),
            width: fields[1].parse().expect("a width"),
            dimensions: list(fields[2]),
            permutation: list(fields[3]),
        }
    }

    fn bytes(&self) -> usize {
        self.width * self.dimensions.iter().product::<usize>()
    }

    /// Halves the largest dimensions until the array is at most so large.
    fn shrink(&mut self, bytes: usize) {
        while self.bytes() > bytes {
            let largest = self.dimensions.iter_mut().max().expect("a dimension");
            *largest /= 2;
        }
    }

    fn loops(&self) -> Vec<Loop> {
        let strides = |dimensions: &[usize]| {
            let mut next = self.width;
            let mut strides: Vec<usize> = dimensions
                .iter()
                .rev()
                .map(|d| {
                    next *= d;
                    next / d
                })
                .collect();
            strides.reverse();
            strides
        };
        let source = strides(&self.dimensions);
        let out: Vec<usize> = self
            .permutation
            .iter()
            .map(|&p| self.dimensions[p])
            .collect();
        std::iter::zip(&self.permutation, strides(&out))
            .map(|(&p, destination)| Loop {
                extent: self.dimensions[p],
                source: source[p] as isize,
                destination: destination as isize,
            })
            .collect()
    }
}

/// Compares a destination with what the loops (in its order, the last one contiguous) say.
fn check(width: usize, loops: &[Loop], source: &[u8], destination: &[u8]) -> bool {
    fn inner(
        width: usize,
        loops: &[Loop],
        from: isize,
        to: &mut std::slice::ChunksExact<u8>,
        source: &[u8],
    ) -> bool {
        match loops {
            [] => to.next().expect("an element") == &source[from as usize..from as usize + width],
            [l, rest @ ..] => {
                (0..l.extent as isize).all(|i| inner(width, rest, from + i * l.source, to, source))
            }
        }
    }
    inner(
        width,
        loops,
        0,
        &mut destination.chunks_exact(width),
        source,
    )
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn fastest(times: Vec<f64>) -> f64 {
    times.into_iter().fold(f64::INFINITY, f64::min)
}

fn main() {
    let (mut full, mut sum, mut best, mut rounds, mut names) = (false, false, false, 7, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--full" => full = true,
            "--sum" => sum = true,
            "--best" => best = true,
            "--rounds" => {
                rounds = arguments
                    .next()
                    .and_then(|n| n.parse().ok())
                    .expect("--rounds N")
            }
            _ => names.push(argument),
        }
    }
    let mut cases: Vec<Case> = CASES
        .lines()
        .filter(|l| !l.trim().is_empty())
        .map(Case::parse)
        .collect();
    cases.retain(|c| names.is_empty() || names.iter().any(|n| c.name.starts_with(n.as_str())));
    for case in cases
        .iter_mut()
        .filter(|c| !full && c.name.starts_with('C'))
    {
        case.shrink(53 << 20);
    }
    let largest = cases.iter().map(Case::bytes).max().unwrap_or(0);
    let mut source = Memory::zeroed(largest).expect("memory");
    let mut destination = Memory::zeroed(largest).expect("memory");
    let mut state = 1u64;
    for chunk in source.chunks_mut(8) {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        chunk.copy_from_slice(&(state ^ state >> 33).to_le_bytes()[..chunk.len()]);
    }
    destination.fill(1);

    let mut groups: Vec<(char, Vec<f64>)> = Vec::new();
    println!(
        "{:28} {:>8} {:>10} {:>10} {:>6}  kernel",
        "case", "MB", "memcpy us", "move us", "ratio"
    );
    for case in &cases {
        let (bytes, loops) = (case.bytes(), case.loops());
        let m = Move::new(case.width, 0, 0, &loops).expect("a nest");
        let (from, to) = (&source[..bytes], &mut destination[..bytes]);
        to.fill(0);
        m.run(from, to).expect("long enough");
        let right = check(case.width, &loops, from, to);
        // Short jobs are repeated so that a reading lasts some tens of microseconds.
        let repeat = (1_000_000 / bytes.max(1)).clamp(1, 1000);
        let (mut moves, mut copies) = (Vec::new(), Vec::new());
        for _ in 0..rounds * if bytes < 16 << 20 { 5 } else { 1 } {
            let mut time = |f: &mut dyn FnMut(&mut [u8])| {
                let start = Instant::now();
                for _ in 0..repeat {
                    f(std::hint::black_box(&mut *to));
                }
                start.elapsed().as_secs_f64() / repeat as f64
            };
            copies.push(time(&mut |to| {
                to.copy_from_slice(std::hint::black_box(from))
            }));
            moves.push(time(&mut |to| m.run(from, to).expect("long enough")));
        }
        let of = |times| if best { fastest(times) } else { median(times) };
        let (copy, time) = (of(copies), of(moves));
        let ratio = copy / time;
        if !sum {
            println!(
                "{:28} {:8.1} {:10.3} {:10.3} {:6.2}  {}{}",
                case.name,
                bytes as f64 / 1e6,
                copy * 1e6,
                time * 1e6,
                ratio,
                m.kernel(),
                if right { "" } else { "  WRONG" }
            );
        }
        assert!(right, "{}: a wrong result", case.name);
        let suite = case.name.chars().next().expect("a name");
        match groups.last_mut() {
            Some((last, ratios)) if *last == suite => ratios.push(ratio),
            _ => groups.push((suite, vec![ratio])),
        }
    }
    for (suite, ratios) in groups {
        let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "suite {suite}: {} cases, geometric mean {mean:.2}, least {least:.2}",
            ratios.len()
        );
    }
}
