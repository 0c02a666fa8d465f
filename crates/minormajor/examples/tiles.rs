//! The time of `memcpy` over the time of a relayout between tiled, padded and blocked layouts, both ways.
//!
//! `cargo run --release -p minormajor --example tiles [-- [--threads N] [--size memory|l3|l2] [--rounds N] [--sum]
//! [--back|--forth] [NAME..|SHAPE SHAPE]]`
//!
//! Each plan is run between two buffers on huge pages that were touched before, alternating with a copy of half the
//! bytes that the plan reads and writes, between the same buffers and on as many threads; the ratio is that of the
//! medians. Results are compared with the address maps at many positions. Names select cases by their start;
//! two shapes are a case of their own.

use std::time::Instant;

use minormajor::{AddressMap, ArrayShape, Location, Plan, Relayout, Shape};
use minormajor_kernels::Memory;

const CASES: &str = include_str!("tiles.txt");
const SIZES: [&str; 3] = ["memory", "l3", "l2"];

struct Case {
    name: String,
    size: &'static str,
    from: ArrayShape,
    to: ArrayShape,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for line in CASES.lines().filter(|l| !l.starts_with('#')) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        for (size, dimensions) in SIZES.into_iter().zip(&fields[3..]) {
            let (dimensions, padded) = dimensions.split_once('/').unwrap_or((dimensions, ""));
            let array = |text: &str| -> ArrayShape {
                let text = text.replace('#', dimensions).replace('@', padded);
                let shape: Shape = text.parse().expect("a shape");
                shape.as_array().expect("an array").clone()
            };
            let (plain, tiled) = (array(fields[1]), array(fields[2]));
            let mut add = |direction, from: &ArrayShape, to: &ArrayShape| {
                cases.push(Case {
                    name: format!("{}{direction}", fields[0]),
                    size,
                    from: from.clone(),
                    to: to.clone(),
                });
            };
            add(">", &plain, &tiled);
            add("<", &tiled, &plain);
        }
    }
    cases
}

/// Whether the destination is right at some thousand positions, and at both ends.
fn check(case: &Case, source: &[u8], destination: &[u8]) -> bool {
    let (from, to) = (
        AddressMap::new(&case.from).expect("a map"),
        AddressMap::new(&case.to).expect("a map"),
    );
    let width = case.from.element_type().byte_width() as usize;
    let all = to.allocated_elements();
    let step = all / 5000 + 1;
    let inside = (0..all).step_by(step as usize);
    inside.chain((all - 300).max(0)..all).all(|position| {
        let got = &destination[position as usize * width..][..width];
        match to.location(position).expect("a position") {
            Location::Element(index) => {
                let at = from.position(&index).expect("a position") as usize * width;
                got == &source[at..at + width]
            }
            Location::Padding { .. } => got.iter().all(|&b| b == 0),
        }
    })
}

fn copy(from: &[u8], to: &mut [u8], threads: usize) {
    let piece = to.len().div_ceil(threads).next_multiple_of(4096);
    let mut pieces = from.chunks(piece).zip(to.chunks_mut(piece));
    let first = pieces.next();
    std::thread::scope(|scope| {
        for (from, to) in pieces {
            scope.spawn(|| to.copy_from_slice(from));
        }
        if let Some((from, to)) = first {
            to.copy_from_slice(from);
        }
    });
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

fn main() {
    let (mut threads, mut size, mut rounds, mut sum) = (1, None, 7, false);
    let (mut direction, mut names) = (None, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value");
        match argument.as_str() {
            "--threads" => threads = value().parse().expect("--threads N"),
            "--size" => size = Some(value()),
            "--rounds" => rounds = value().parse().expect("--rounds N"),
            "--sum" => sum = true,
            "--forth" => direction = Some('>'),
            "--back" => direction = Some('<'),
            _ => names.push(argument),
        }
    }
    let mut cases = cases();
    if names.iter().any(|n| n.contains('[')) {
        let array = |text: &str| {
            let shape: Shape = text.parse().expect("a shape");
            shape.as_array().expect("an array").clone()
        };
        cases = names
            .chunks(2)
            .map(|pair| Case {
                name: "given".into(),
                size: "memory",
                from: array(&pair[0]),
                to: array(&pair[1]),
            })
            .collect();
        names.clear();
    }
    let cases: Vec<Case> = cases
        .into_iter()
        .filter(|c| size.as_deref().is_none_or(|s| s == c.size))
        .filter(|c| direction.is_none_or(|d| c.name.ends_with(d)))
        .filter(|c| names.is_empty() || names.iter().any(|n| c.name.starts_with(n.as_str())))
        .collect();
    let bytes = |shape: &ArrayShape| shape.allocated_bytes().expect("a layout") as usize;
    let largest = cases.iter().map(|c| bytes(&c.from).max(bytes(&c.to))).max();
    let mut source = Memory::zeroed(largest.unwrap_or(0)).expect("memory");
    let mut destination = Memory::zeroed(largest.unwrap_or(0)).expect("memory");
    let mut state = 1u64;
    for chunk in source.chunks_mut(8) {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        chunk.copy_from_slice(&(state ^ state >> 33).to_le_bytes()[..chunk.len()]);
    }

    println!(
        "{:20} {:6} {:>8} {:>10} {:>10} {:>6} boxes fills",
        "case", "size", "MB", "memcpy us", "move us", "ratio"
    );
    let mut all: Vec<(&str, bool, f64)> = Vec::new();
    for case in &cases {
        let plan = Plan::new(&case.from, &case.to).expect("a plan");
        let relayout = Relayout::new(&plan).expect("a relayout").threads(threads);
        let amount = (plan.bytes_read() + plan.bytes_written()) as usize / 2;
        let from = &source[..];
        let to = &mut destination[..bytes(&case.to)];
        to.fill(0x5a);
        relayout.run(from, to).expect("long enough");
        assert!(
            check(case, from, to),
            "{} {}: a wrong result",
            case.name,
            case.size
        );
        // Short jobs are repeated so that a reading lasts some tens of microseconds.
        let repeat = (1_000_000 / amount.max(1)).clamp(1, 1000);
        let rounds = rounds * if amount < 16 << 20 { 5 } else { 1 };
        let (mut moves, mut copies, mut copies_1) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let mut time = |f: &mut dyn FnMut(&mut [u8])| {
                let start = Instant::now();
                for _ in 0..repeat {
                    f(std::hint::black_box(&mut destination));
                }
                start.elapsed().as_secs_f64() / repeat as f64
            };
            if threads > 1 {
                copies.push(time(&mut |to| {
                    copy(&from[..amount], &mut to[..amount], threads)
                }));
            }
            copies_1.push(time(&mut |to| {
                to[..amount].copy_from_slice(&from[..amount])
            }));
            moves.push(time(&mut |to| relayout.run(from, to).expect("long enough")));
        }
        // Where threads cost more than they bring, a copy does without them.
        let mut copy = median(copies_1);
        if threads > 1 {
            copy = copy.min(median(copies));
        }
        let time = median(moves);
        let ratio = copy / time;
        all.push((case.size, case.name.starts_with('U'), ratio));
        if !sum {
            println!(
                "{:20} {:6} {:8.2} {:10.1} {:10.1} {:6.2} {:5} {:5}",
                case.name,
                case.size,
                amount as f64 / 1e6,
                copy * 1e6,
                time * 1e6,
                ratio,
                plan.boxes().len(),
                plan.fills().len(),
            );
        }
    }
    for size in SIZES {
        for unlisted in [false, true] {
            let ratios: Vec<f64> = all
                .iter()
                .filter(|(s, u, _)| *s == size && *u == unlisted)
                .map(|r| r.2)
                .collect();
            if !ratios.is_empty() {
                println!(
                    "{size}, {}: {} cases, geometric mean {:.2}, least {:.2}, {} under 0.80",
                    if unlisted { "unlisted" } else { "listed" },
                    ratios.len(),
                    mean(&ratios),
                    ratios.iter().copied().fold(f64::INFINITY, f64::min),
                    ratios.iter().filter(|&&r| r < 0.8).count(),
                );
            }
        }
    }
}
