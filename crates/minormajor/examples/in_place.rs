//! The time of relayouts in place, beside naive cycle following, the crate `transpose` and `memcpy`.
//!
//! `cargo run --release -p minormajor --example in_place [-- [--rounds N] [--threads N] [--slow] [NAME..]]`
//!
//! All are run by turns on the same buffer, on huge pages that were touched before; medians are compared. `none` takes
//! nothing from the allocator, `1%` a hundredth of the array and at least 1 MiB. Naive cycle following moves element by
//! element, with a bit for each; `transpose` has the scratch that it asks for. Both run on one thread. `--slow` runs
//! them on large arrays too. Every result is compared with that of the ordinary relayout.

use std::time::Instant;

use minormajor::{ArrayShape, InPlace, Plan, Relayout, Shape};
use minormajor_kernels::Memory;

const CASES: &[(&str, &str, &str)] = &[
    ("square-f32", "f32[4096,4096]{1,0}", "{0,1}"),
    ("square-u8", "u8[8192,8192]{1,0}", "{0,1}"),
    ("square-c128", "c128[2048,2048]{1,0}", "{0,1}"),
    ("square-odd", "f32[4093,4093]{1,0}", "{0,1}"),
    ("double", "f32[4096,8192]{1,0}", "{0,1}"),
    ("rect-f32", "f32[3000,5000]{1,0}", "{0,1}"),
    ("rect-u8", "u8[6000,10000]{1,0}", "{0,1}"),
    ("rect-f64", "f64[2500,3001]{1,0}", "{0,1}"),
    ("prime-f32", "f32[4093,5003]{1,0}", "{0,1}"),
    ("prime-u8", "u8[8191,9001]{1,0}", "{0,1}"),
    ("wide", "f32[100,200000]{1,0}", "{0,1}"),
    ("tall", "f32[200000,100]{1,0}", "{0,1}"),
    ("wide3", "f32[3,5592405]{1,0}", "{0,1}"),
    ("tall3", "f32[5592405,3]{1,0}", "{0,1}"),
    ("nchw-nhwc", "f32[32,3,224,224]{3,2,1,0}", "{1,3,2,0}"),
    ("nhwc-nchw", "f32[32,224,224,3]{3,2,1,0}", "{2,1,3,0}"),
    ("nchw-nhwc64", "f32[16,64,112,112]{3,2,1,0}", "{1,3,2,0}"),
    ("reverse3", "f32[240,250,260]{2,1,0}", "{0,1,2}"),
    (
        "reverse6",
        "f32[15,15,32,15,15,8]{5,4,3,2,1,0}",
        "{0,1,2,3,4,5}",
    ),
    ("minor-stays", "f32[300,400,128]{2,1,0}", "{2,0,1}"),
    ("tile", "f32[4096,4096]{1,0}", "{1,0:T(8,128)}"),
    ("untile", "f32[4096,4096]{1,0:T(8,128)}", "{1,0}"),
    ("tile-bf16", "bf16[4096,8192]{1,0}", "{1,0:T(8,128)(2,1)}"),
    ("tile-ragged", "f32[4001,4001]{1,0}", "{1,0:T(8,128)}"),
    ("untile-ragged", "f32[4001,4001]{1,0:T(8,128)}", "{1,0}"),
    ("retile", "f32[4001,4001]{1,0:T(8,128)}", "{1,0:T(12,96)}"),
    (
        "tiled-transpose",
        "f32[4001,4001]{1,0:T(8,128)}",
        "{0,1:T(8,128)}",
    ),
    ("pad", "f32[4001,4001]{1,0}", "{1,0:PAD(4001,4096)}"),
    ("small-4", "f32[4,4]{1,0}", "{0,1}"),
    ("small-3x5", "f32[3,5]{1,0}", "{0,1}"),
    ("small-16", "f32[16,16]{1,0}", "{0,1}"),
    ("small-31x17", "f32[31,17]{1,0}", "{0,1}"),
    ("small-64", "f32[64,64]{1,0}", "{0,1}"),
    ("small-60x100", "f32[60,100]{1,0}", "{0,1}"),
    ("mid-300x500", "f32[300,500]{1,0}", "{0,1}"),
    ("mid-1000", "f32[1000,1000]{1,0}", "{0,1}"),
    ("mid-1000x700", "f32[1000,700]{1,0}", "{0,1}"),
];

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().expect("a shape");
    shape.as_array().expect("an array").clone()
}

/// Where the element at each place of the destination is in the source, from the loops of a plan of one box that fills
/// both: extent, step in the destination, step in the source.
struct Naive {
    digits: Vec<(usize, usize, usize)>,
    width: usize,
    moved: Vec<u64>,
}

impl Naive {
    fn new(plan: &Plan) -> Option<Naive> {
        let whole = plan.source_bytes() == plan.destination_bytes() && plan.fills().is_empty();
        let [one] = plan.boxes() else { return None };
        let mut loops = one.loops.to_vec();
        loops.sort_by_key(|l| std::cmp::Reverse(l.destination));
        let number = |value: i64| value as usize;
        let digits = loops
            .iter()
            .map(|l| (number(l.extent), number(l.destination), number(l.source)));
        let width = plan.unit_bytes()?;
        let elements = number(plan.source_bytes()) / width;
        whole.then(|| Naive {
            digits: digits.collect(),
            width,
            moved: vec![0; elements.div_ceil(64)],
        })
    }

    fn from(&self, mut place: usize) -> usize {
        let mut from = 0;
        for &(_, destination, source) in &self.digits {
            from += place / destination * source;
            place %= destination;
        }
        from
    }

    fn run(&mut self, buffer: &mut [u8]) {
        match self.width {
            1 => self.sized::<1>(buffer),
            2 => self.sized::<2>(buffer),
            4 => self.sized::<4>(buffer),
            8 => self.sized::<8>(buffer),
            _ => self.sized::<16>(buffer),
        }
    }

    fn sized<const W: usize>(&mut self, buffer: &mut [u8]) {
        let (elements, _) = buffer.as_chunks_mut::<W>();
        self.moved.fill(0);
        for start in 0..elements.len() {
            if self.moved[start / 64] >> (start % 64) & 1 == 1 {
                continue;
            }
            let kept = elements[start];
            let mut free = start;
            loop {
                self.moved[free / 64] |= 1 << (free % 64);
                let from = self.from(free);
                if from == start {
                    break;
                }
                elements[free] = elements[from];
                free = from;
            }
            elements[free] = kept;
        }
    }
}

type Run = Box<dyn FnMut(&mut [u8])>;

/// The crate `transpose`, on rows x columns.
fn peer(width: usize, rows: usize, columns: usize) -> Run {
    fn sized<const W: usize>(rows: usize, columns: usize) -> Run {
        let mut scratch = vec![[0; W]; rows.max(columns)];
        Box::new(move |buffer| {
            let (elements, _) = buffer.as_chunks_mut::<W>();
            transpose::transpose_inplace(elements, &mut scratch, columns, rows);
        })
    }
    match width {
        1 => sized::<1>(rows, columns),
        2 => sized::<2>(rows, columns),
        4 => sized::<4>(rows, columns),
        8 => sized::<8>(rows, columns),
        _ => sized::<16>(rows, columns),
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let (mut rounds, mut threads, mut slow, mut names) = (7, 1, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    let number = |text: Option<String>| text.and_then(|n| n.parse().ok()).expect("a number");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = number(arguments.next()),
            "--threads" => threads = number(arguments.next()),
            "--slow" => slow = true,
            _ => names.push(argument),
        }
    }
    println!(
        "{:16} {:>7} {:>10} {:>10} {:>10} {:>10} {:>10}   {:>7} {:>7} {:>7}  none, 1%: passes",
        "case",
        "MB",
        "memcpy us",
        "naive us",
        "peer us",
        "none us",
        "1% us",
        "x naive",
        "x peer",
        "/memcpy"
    );
    for (name, from, to) in CASES {
        if !names.is_empty() && !names.iter().any(|n| name.starts_with(n.as_str())) {
            continue;
        }
        let source = array(from);
        let destination = source
            .with_layout(to.parse().expect("a layout"))
            .expect("a layout of the array");
        let plan = Plan::new(&source, &destination).expect("a plan");
        let bytes = plan.source_bytes().max(plan.destination_bytes()) as usize;
        let bound = (bytes / 100).max(1 << 20);
        let make =
            |heap| InPlace::on_threads(&source, &destination, heap, threads).expect("a plan");
        let (none, some) = (make(0), make(bound));
        let mut naive = Naive::new(&plan);
        let sizes = source.sizes().expect("sizes");
        let matrix = source.rank() == 2 && *to == "{0,1}";
        let mut peer = (plan.unit_bytes().filter(|_| matrix))
            .map(|width| peer(width, sizes[0] as usize, sizes[1] as usize));

        let mut buffer = Memory::zeroed(bytes).expect("memory");
        let mut other = Memory::zeroed(bytes).expect("memory");
        let mut state = 1u64;
        for chunk in buffer.chunks_mut(8) {
            state = state
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            chunk.copy_from_slice(&(state ^ state >> 33).to_le_bytes()[..chunk.len()]);
        }
        let before = buffer.to_vec();
        let length = plan.destination_bytes() as usize;
        let mut expected = vec![0; length];
        Relayout::new(&plan)
            .expect("a plan")
            .run(&before, &mut expected)
            .expect("long enough");
        let mut check = |what: &str, run: &mut dyn FnMut(&mut [u8])| {
            buffer.copy_from_slice(&before);
            run(&mut buffer);
            assert!(buffer[..length] == expected, "{name}: {what} is wrong");
        };
        check("none", &mut |b| none.run(b).expect("run"));
        check("1%", &mut |b| some.run(b).expect("run"));
        if let Some(naive) = &mut naive {
            check("naive", &mut |b| naive.run(b));
        }
        if let Some(peer) = &mut peer {
            check("peer", peer);
        }

        let repeat = (2_000_000 / bytes.max(1)).clamp(1, 2000);
        let mut time = |run: &mut dyn FnMut(&mut [u8])| {
            let start = Instant::now();
            for _ in 0..repeat {
                run(std::hint::black_box(&mut buffer));
            }
            start.elapsed().as_secs_f64() / repeat as f64
        };
        let skip = bytes > 16 << 20 && !slow;
        let mut times: [Vec<f64>; 5] = Default::default();
        for round in 0..rounds {
            times[0].push(time(&mut |b| {
                other.copy_from_slice(std::hint::black_box(b))
            }));
            if let Some(naive) = &mut naive
                && (!skip || round < 1)
            {
                times[1].push(time(&mut |b| naive.run(b)));
            }
            if let Some(peer) = &mut peer
                && (!skip || round < 1)
            {
                times[2].push(time(peer));
            }
            times[3].push(time(&mut |b| none.run(b).expect("run")));
            times[4].push(time(&mut |b| some.run(b).expect("run")));
        }
        let medians = times.map(|times| (!times.is_empty()).then(|| median(times)));
        let us =
            |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{:.2}", time * 1e6));
        let over = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => format!("{:.2}", a / b),
            _ => "-".to_owned(),
        };
        let [copy, naive, peer, without, with] = medians;
        let passes = |plan: &InPlace| plan.plan().bytes_moved() as f64 / bytes as f64;
        println!(
            "{name:16} {:7.1} {:>10} {:>10} {:>10} {:>10} {:>10}   {:>7} {:>7} {:>7}  {:.1} {:.1}",
            bytes as f64 / 1e6,
            us(copy),
            us(naive),
            us(peer),
            us(without),
            us(with),
            over(naive, with),
            over(peer, without),
            over(copy, with),
            passes(&none),
            passes(&some),
        );
    }
}
