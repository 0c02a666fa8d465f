//! Measuring a machine: each kind of work at each level, on arrays of no special size.

use std::time::Instant;

use minormajor_core::plan::ByteOrders;
use minormajor_core::{ArrayShape, ElementType, Plan, Shape, StridedView};
use minormajor_kernels::{Caches, Memory, Pages};

use super::rates::{APART, IMAGE, LINE, Lined, PIECE, ROW, RUN, Rate, Rates, Rewrites, SHORT};
use super::{Level, Machine, START};
use crate::Relayout;

/// Bytes of a buffer.
pub(super) const BUFFER: usize = 128 << 20;
/// As kernels that are not optimised take two hundred times as long, little is moved by them, all of it in the caches.
const IS_BRIEF: bool = !minormajor_kernels::IS_OPTIMISED;
/// Bytes of a page.
const PAGE: usize = 4096;

pub(super) fn machine(pages: Pages) -> Machine {
    let caches = Caches::of_this_cpu();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let buffer = if IS_BRIEF { 512 << 10 } else { BUFFER };
    // Source and destination together: half of a cache, not so much that moves stream, and more than that.
    let sizes = [
        (Level::Core, (caches.second / 2).min(buffer)),
        (Level::Shared, caches.streams_from().min(buffer)),
        (Level::Memory, buffer),
    ];
    let mut buffers = Buffers {
        source: Buffer::new(buffer, pages),
        destination: Buffer::new(buffer, pages),
        places: 1,
        next: 0,
    };
    // What else the machine does for a while changes all that is measured meanwhile, so each is measured in three of them.
    let mut pass = || {
        let position = buffers.position();
        sizes.map(|(level, size)| {
            buffers.places = if level == Level::Core { 1 } else { 2 };
            Rates {
                position,
                ..buffers.rates(size / 2, threads)
            }
        })
    };
    let (first, second, third) = (pass(), pass(), pass());
    let passes = first.into_iter().zip(second).zip(third);
    let mut passes = passes.map(|((a, b), c)| Rates::middle([a, b, c]));
    let mut rates = sizes.map(|_| passes.next().unwrap_or_default());
    let memory = rates[Level::Memory as usize].clone();
    rates.iter_mut().for_each(|rates| rates.complete(&memory));
    Machine {
        threads,
        caches,
        rates,
    }
}

struct Buffers {
    source: Buffer,
    destination: Buffer,
    /// At how many places of the buffers, in turn, arrays lie: what is moved twice at once is nearer the second time than
    /// what a program moves mostly is.
    places: usize,
    /// At which of them the next one does.
    next: usize,
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
        // As near as they will be from now on: caches keep what they have met some times.
        for _ in 0..3 * self.places {
            let (from, to) = self.place();
            to[..bytes].copy_from_slice(&from[..bytes]);
        }
        let mut of = |from: String, to: String| self.relayout(&from, &to, threads);
        let mut rates = Rates {
            long: of(format!("u8[{bytes}]{{0}}"), format!("u8[{bytes}]{{0}}")),
            ..Rates::default()
        };
        for (i, &element) in ["u8", "u16", "u32", "u64", "c128"].iter().enumerate() {
            let width = 1 << i;
            // A little longer than wide, and no power of two.
            let lines = |elements: usize| elements / (LINE / width) * (LINE / width);
            let rows = lines(((bytes / width) as f64).sqrt() as usize * 9 / 8);
            let columns = lines(bytes / width / rows);
            let mut transpose = |rows: usize, columns: usize| {
                of(
                    format!("{element}[{rows},{columns}]{{1,0}}"),
                    format!("{element}[{rows},{columns}]{{0,1}}"),
                )
            };
            rates.transpose[i] = Lined {
                on: transpose(rows, columns),
                off: transpose(rows - 1, columns - 3),
            };
            // Powers of two, as most of such matrices are.
            let rows = 1 << ((bytes / width).ilog2() / 2);
            let columns = 1 << (bytes / width / rows).ilog2();
            if rows.min(columns) * width >= PAGE {
                rates.paged[i] = transpose(rows, columns);
            }
            let points = bytes / width / 3;
            rates.weave[i] = of(
                format!("{element}[3,{points}]{{1,0}}"),
                format!("{element}[3,{points}]{{0,1}}"),
            );
        }
        let images = bytes / IMAGE / 6;
        rates.images = of(
            format!("u32[{images},6,{}]{{2,1,0}}", IMAGE / 4),
            format!("u32[{images},6,{}]{{1,2,0}}", IMAGE / 4),
        );
        // Runs and rows that neither begin nor end on lines.
        let mut runs = |run: usize| {
            let side = ((bytes / run) as f64).sqrt() as usize;
            of(
                format!("u8[{side},{side},{run}]{{2,1,0}}"),
                format!("u8[{side},{side},{run}]{{2,0,1}}"),
            )
        };
        (rates.runs, rates.short) = (runs(RUN), runs(SHORT));
        // Pieces that are written on lines, and that are not.
        let mut pieces = |piece: usize| {
            let side = (((bytes / piece) as f64).sqrt() as usize - 1) | 1;
            of(
                format!("u8[{side},{side},{piece}]{{2,1,0}}"),
                format!("u8[{side},{side},{piece}]{{2,0,1}}"),
            )
        };
        rates.pieces = Lined {
            on: pieces(PIECE),
            off: pieces(PIECE - 12),
        };
        let images = bytes / LINE / 496;
        rates.blocks = of(
            format!("u32[{images},{},496]{{2,1,0}}", LINE / 4),
            format!("u32[{images},{},496]{{1,2,0}}", LINE / 4),
        );
        let (short, blocks) = (ROW / 4, bytes / ROW / 500);
        rates.rows = of(
            format!("u32[{blocks},{short},500]{{2,1,0}}"),
            format!("u32[{blocks},{short},500]{{1,2,0}}"),
        );
        let cubes = bytes / 49 / 4;
        rates.gather = of(
            format!("u32[{cubes},7,7]{{2,1,0}}"),
            format!("u32[{cubes},7,7]{{1,2,0}}"),
        );
        // Columns begin inside lines.
        let side = |elements: usize| (elements as f64).sqrt() as usize / 32 * 32 - 2;
        let mut rewritten = |from: &str, to: &str, side: usize, layout: [&str; 2]| {
            of(
                format!("{from}[{side},{side}]{{{}}}", layout[0]),
                format!("{to}[{side},{side}]{{{}}}", layout[1]),
            )
        };
        let (nibbles, numbers) = (side(bytes), side(bytes / 4));
        rates.bits = Rewrites {
            runs: rewritten("u4", "u4", nibbles, ["1,0:E(4)", "1,0"]),
            blocks: rewritten("u4", "u4", nibbles, ["1,0:E(4)", "0,1"]),
        };
        for (i, bits) in [1, 2, 4].into_iter().enumerate() {
            // An odd number of lines, so no power of two.
            let line = 8 * LINE / bits;
            let side = ((bytes / bits * 8) as f64).sqrt() as usize;
            let side = ((side / line).saturating_sub(1) | 1) * line;
            let (packed, [rows, columns]) = (
                format!("u{bits}"),
                ["1,0", "0,1"].map(|order| format!("{order}:E({bits})")),
            );
            let mut transpose = |side| rewritten(&packed, &packed, side, [&rows, &columns]);
            rates.packed[i] = Lined {
                on: transpose(side),
                off: transpose(side - 3),
            };
        }
        let whole = nibbles / 128 * 128;
        rates.braid = rewritten("u4", "u4", whole, ["1,0:E(4)", "1,0:T(8,128)(8,1)E(4)"]);
        rates.numbers = Rewrites {
            runs: rewritten("f32", "bf16", numbers, ["1,0", "1,0"]),
            blocks: rewritten("f32", "bf16", numbers, ["1,0", "0,1"]),
        };
        rates.copy = self.copy(bytes, threads);
        rates.steps = self.every_second(bytes / 2, threads);
        rates.apart = self.lines_apart(bytes / APART, threads);
        rates
    }

    /// Nanoseconds of a position of a plan without boxes: too many to depend on where it lies.
    fn position(&mut self) -> f64 {
        let (from, to) = ("u8[99,127]{1,0:T(*,3)}", "u8[99,127]{0,1:T(*,5)}");
        let plan = plan(from, to);
        plan.map_or(0.0, |plan| {
            self.run(&plan, 1) / plan.destination_bytes() as f64
        })
    }

    /// A byte of `memcpy`, on all threads cut into as many parts.
    fn copy(&mut self, bytes: usize, threads: usize) -> Rate {
        let repeats = repeats(bytes);
        let mut on = |threads: usize| {
            let part = bytes.div_ceil(threads);
            let (from, to) = self.place();
            timed(|| {
                std::thread::scope(|scope| {
                    let (from, to) = (&from[..bytes], &mut to[..bytes]);
                    let mut parts = from.chunks(part).zip(to.chunks_mut(part));
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
            }) / repeats as f64
        };
        Rate::new(bytes, threads, &mut on)
    }

    /// A byte of a relayout; 0 if there is none, which no pair here is.
    fn relayout(&mut self, from: &str, to: &str, threads: usize) -> Rate {
        let plan = plan(from, to);
        plan.map_or(Rate::default(), |plan| self.plan(&plan, threads))
    }

    /// A byte of a line whose elements lie apart.
    fn every_second(&mut self, bytes: usize, threads: usize) -> Rate {
        let count = (bytes / 4) as i64;
        let view = |stride| StridedView::new(ElementType::U32, &[count], &[stride], 0).ok();
        let plan = || Plan::new(&view(8)?, &view(4)?).ok();
        plan().map_or(Rate::default(), |plan| self.plan(&plan, threads))
    }

    /// A byte of lines that are read from farther apart than they are written.
    fn lines_apart(&mut self, lines: usize, threads: usize) -> Rate {
        let extents = [lines as i64, LINE as i64];
        let view = |pitch| StridedView::new(ElementType::U8, &extents, &[pitch, 1], 0).ok();
        let plan = || Plan::new(&view(APART as i64)?, &view(LINE as i64)?).ok();
        plan().map_or(Rate::default(), |plan| {
            Rate::new(lines * LINE, threads, &mut |threads| {
                self.run(&plan, threads)
            })
        })
    }

    fn plan(&mut self, plan: &Plan, threads: usize) -> Rate {
        let bytes = (plan.source_bytes() + plan.destination_bytes()) as usize / 2;
        Rate::new(bytes, threads, &mut |threads| self.run(plan, threads))
    }

    /// Nanoseconds of a run.
    fn run(&mut self, plan: &Plan, threads: usize) -> f64 {
        let Ok(relayout) = Relayout::new(plan) else {
            return 0.0;
        };
        let relayout = relayout.threads(threads);
        let repeats = repeats(relayout.destination_bytes());
        let mut done = true;
        let nanos = timed(|| {
            for _ in 0..repeats {
                let (source, destination) = self.place();
                done &= relayout.run(source, destination).is_ok();
            }
        });
        if done { nanos / repeats as f64 } else { 0.0 }
    }

    /// Source and destination from the next place on.
    fn place(&mut self) -> (&[u8], &mut [u8]) {
        self.next = (self.next + 1) % self.places;
        let start = self.source.len() / self.places * self.next;
        (&self.source[start..], &mut self.destination[start..])
    }
}

impl Rate {
    /// Of work on so many bytes, which takes so long on one thread and on all.
    fn new(bytes: usize, threads: usize, nanos: &mut dyn FnMut(usize) -> f64) -> Rate {
        let one = nanos(1);
        let all = match threads {
            1 => one,
            _ => (nanos(threads) - START).clamp(one / threads as f64, one),
        };
        Rate {
            one: one / bytes as f64,
            all: all / bytes as f64,
        }
    }
}

fn plan(from: &str, to: &str) -> Option<Plan> {
    let parse = |text: &str| -> Option<ArrayShape> {
        Some(text.parse::<Shape>().ok()?.as_array().ok()?.clone())
    };
    let (from, to) = (parse(from)?, parse(to)?);
    if from.element_type() == to.element_type() {
        Plan::new(&from, &to).ok()
    } else {
        Plan::converting(&from, &to, ByteOrders::default()).ok()
    }
}

/// How often to repeat what is too short to be timed alone, or what the caches hold, which is as near as it will be only after some times:
/// on a Zen 3, u32[928,752] to columns takes 165 us in the first two runs, and 117 where it lies at two places in turn for long.
fn repeats(bytes: usize) -> usize {
    if IS_BRIEF {
        return 1;
    }
    (24 << 20) / bytes.max(384 << 10) + 1
}

/// The nanoseconds of a call.
fn timed(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_begins_where_the_last_one_did_not() {
        let (half, small) = (4096, Pages::Small);
        let [source, destination] = [(); 2].map(|()| Buffer::new(2 * half, small));
        let mut buffers = Buffers {
            source,
            destination,
            places: 2,
            next: 0,
        };
        buffers.destination.fill(0);
        let copy = plan("u8[99]{0}", "u8[99]{0}").unwrap();
        for _ in 0..2 {
            assert!(buffers.run(&copy, 1) > 0.0);
        }
        assert_eq!([0, half].map(|at| buffers.destination[at]), [1; 2]);
    }
}
