//! Measuring a machine: each kind of work at each level, on arrays of no special size.

use std::time::Instant;

use minormajor_core::{ArrayShape, ElementType, Plan, Shape, StridedView};
use minormajor_kernels::{Caches, Memory, Pages};

use super::{Level, Machine, Rates};
use crate::Relayout;

/// Most bytes of the two buffers together.
const MOST: usize = 1 << 30;

pub(super) fn machine(pages: Pages) -> Machine {
    let caches = Caches::of_this_cpu();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Source and destination together: half of a cache, and well beyond the last.
    let sizes = [
        caches.second / 2,
        caches.last / 2,
        (4 * caches.last).clamp(128 << 20, MOST),
    ];
    let longest = sizes[Level::Memory as usize] / 2;
    let mut buffers = Buffers {
        source: Buffer::new(longest, pages),
        destination: Buffer::new(longest, pages),
    };
    let position = buffers.position();
    let rates = sizes.map(|size| Rates {
        position,
        ..buffers.rates(size / 2, threads)
    });
    Machine {
        threads,
        caches,
        rates,
    }
}

struct Buffers {
    source: Buffer,
    destination: Buffer,
}

/// Memory of the kind of pages that was asked for; where there is none, whatever there is.
enum Buffer {
    Pages(Memory),
    Heap(Vec<u8>),
}

impl Buffer {
    fn new(bytes: usize, pages: Pages) -> Buffer {
        let mut buffer = match Memory::zeroed_on(pages, bytes) {
            Ok(memory) => Buffer::Pages(memory),
            Err(_) => Buffer::Heap(vec![0; bytes]),
        };
        // Written, so that no page is shared or missing.
        buffer.fill(1);
        buffer
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Buffer::Pages(memory) => memory,
            Buffer::Heap(bytes) => bytes,
        }
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Buffer::Pages(memory) => memory,
            Buffer::Heap(bytes) => bytes,
        }
    }
}

impl Buffers {
    /// The rates of arrays of about so many bytes.
    fn rates(&mut self, bytes: usize, threads: usize) -> Rates {
        let copy = self.copy(bytes, 1);
        let mut rates = Rates {
            copy,
            copy_on_all: copy,
            least_on_all: copy,
            ..Rates::default()
        };
        if threads > 1 {
            rates.copy_on_all = self.copy(bytes, threads).min(copy);
            let side = ((bytes / 8) as f64).sqrt() as usize / 16 * 16;
            let transpose = self.relayout(
                &format!("u64[{side},{side}]{{1,0}}"),
                &format!("u64[{side},{side}]{{0,1}}"),
                threads,
            );
            rates.least_on_all = rates.copy_on_all.min(transpose);
        }
        for (i, &element) in ["u8", "u16", "u32", "u64", "c128"].iter().enumerate() {
            let width = 1 << i;
            // A little longer than wide, and no power of two.
            let rows = ((bytes / width) as f64).sqrt() as usize * 9 / 8 / 16 * 16;
            let columns = bytes / width / rows / 16 * 16;
            rates.transpose[i] = self.relayout(
                &format!("{element}[{rows},{columns}]{{1,0}}"),
                &format!("{element}[{rows},{columns}]{{0,1}}"),
                1,
            );
            let points = bytes / width / 3;
            rates.weave[i] = self.relayout(
                &format!("{element}[3,{points}]{{1,0}}"),
                &format!("{element}[3,{points}]{{0,1}}"),
                1,
            );
        }
        let runs = ((bytes / 64) as f64).sqrt() as usize;
        rates.runs = self.relayout(
            &format!("u8[{runs},{runs},64]{{2,1,0}}"),
            &format!("u8[{runs},{runs},64]{{2,0,1}}"),
            1,
        );
        rates.element = self.every_second(bytes / 2);
        rates
    }

    /// Nanoseconds of a position of a plan without boxes: too many to depend on where it lies.
    fn position(&mut self) -> f64 {
        let (from, to) = ("u8[99,127]{1,0:T(*,3)}", "u8[99,127]{0,1:T(*,5)}");
        self.relayout(from, to, 1)
    }

    /// Nanoseconds a byte of a copy, cut into as many parts as threads.
    fn copy(&mut self, bytes: usize, threads: usize) -> f64 {
        let part = bytes.div_ceil(threads);
        let source = &self.source[..bytes];
        let destination = &mut self.destination[..bytes];
        let repeats = repeats(bytes);
        let nanos = median(|| {
            std::thread::scope(|scope| {
                let mut parts = source.chunks(part).zip(destination.chunks_mut(part));
                let own = parts.next();
                let work = move |(from, to): (&[u8], &mut [u8])| {
                    for _ in 0..repeats {
                        to.copy_from_slice(std::hint::black_box(from));
                    }
                };
                for pair in parts {
                    scope.spawn(move || work(pair));
                }
                own.into_iter().for_each(work);
            });
        });
        nanos / (repeats * bytes) as f64
    }

    /// Nanoseconds a byte of a relayout; 0 if there is none, which no pair here is.
    fn relayout(&mut self, from: &str, to: &str, threads: usize) -> f64 {
        let parse = |text: &str| -> Option<ArrayShape> {
            Some(text.parse::<Shape>().ok()?.as_array().ok()?.clone())
        };
        let plan = || Plan::new(&parse(from)?, &parse(to)?).ok();
        plan().map_or(0.0, |plan| self.plan(&plan, threads))
    }

    /// Nanoseconds of a single element of a line whose elements lie apart.
    fn every_second(&mut self, bytes: usize) -> f64 {
        let count = (bytes / 4) as i64;
        let view = |stride| StridedView::new(ElementType::U32, &[count], &[stride], 0).ok();
        let plan = || Plan::new(&view(8)?, &view(4)?).ok();
        plan().map_or(0.0, |plan| 4.0 * self.plan(&plan, 1))
    }

    fn plan(&mut self, plan: &Plan, threads: usize) -> f64 {
        let Ok(relayout) = Relayout::new(plan) else {
            return 0.0;
        };
        let relayout = relayout.threads(threads);
        let bytes = relayout.destination_bytes();
        let repeats = repeats(bytes);
        let (source, destination) = (&self.source, &mut self.destination);
        let mut done = true;
        let nanos = median(|| {
            for _ in 0..repeats {
                done &= relayout.run(source, destination).is_ok();
            }
        });
        if done {
            nanos / (repeats * bytes) as f64
        } else {
            0.0
        }
    }
}

/// How often to repeat what is too short to be timed alone.
fn repeats(bytes: usize) -> usize {
    (4 << 20) / bytes.max(64 << 10) + 1
}

/// Nanoseconds, the median of three after one that warms the caches where they matter.
fn median(mut call: impl FnMut()) -> f64 {
    let mut nanos = [0.0; 3].map(|_: f64| {
        let start = Instant::now();
        call();
        start.elapsed().as_nanos() as f64
    });
    nanos.sort_by(f64::total_cmp);
    nanos[1]
}
