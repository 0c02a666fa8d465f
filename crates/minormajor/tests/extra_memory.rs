//! No executor takes more memory than it says, nor more than it is allowed. Alone in its process,
//! whose allocator counts.

use std::fmt::Debug;
use std::path::Path;

use minormajor::files::{FilePlan, RelayoutOptions, relayout_file};
use minormajor::rules::Rules;
use minormajor::{
    ArrayShape, ElementType, ExtraMemory, InPlace, Plan, Relayout, RunError, Shape, StridedView,
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

/// The most bytes that are allocated at once while something runs, beside those that were.
fn peak<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let result = run();
    (result, ALLOCATOR.peak_usage() - before)
}

/// Runs something twice on a thread whose stack has what it says and what a thread needs anyway;
/// where it takes more, the process ends. Threads of the pool have more, so it is only asked of
/// what runs on one.
fn within(what: impl Debug, extra: ExtraMemory, threads: usize, run: impl Fn() + Sync) {
    // What is made once, by the first run, is not counted.
    run();
    let ((), taken) = peak(&run);
    assert!(taken <= extra.heap, "{what:?}: {taken} bytes, and {extra}");
    if threads == 1 {
        let stack = extra.stack + (32 << 10);
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(stack);
            thread.spawn_scoped(scope, &run).unwrap();
        });
    }
}

/// Large enough for windows, parts and threads; tiles, padding, and layouts that no boxes
/// describe, of few dimensions and of many.
const PAIRS: [(&str, &str); 20] = [
    ("u8[3,5]{1,0}", "u8[3,5]{0,1}"),
    ("f32[1049,2503]{1,0}", "f32[1049,2503]{0,1}"),
    ("u8[4099,2101]{1,0}", "u8[4099,2101]{0,1}"),
    ("c128[701,809]{1,0}", "c128[701,809]{0,1}"),
    ("f32[7,3,331,431]{3,2,1,0}", "f32[7,3,331,431]{1,3,2,0}"),
    ("f32[1049,2503]{1,0}", "f32[1049,2503]{1,0:T(8,128)}"),
    (
        "u8[7,3,331,431]{3,2,1,0}",
        "u8[7,3,331,431]{3,2,1,0:T(16,1,1)}",
    ),
    ("bf16[1049,2503]{1,0:T(8,128)(2,1)}", "bf16[1049,2503]{0,1}"),
    (
        "f32[1049,2503]{1,0:T(8,128)}",
        "f32[1049,2503]{0,1:T(12,96)PAD(1049,2600;one)}",
    ),
    ("u8[4099,1001]{1,0}", "u8[4099,1001]{0,1:E(32)}"),
    // Of columns that cut lines, with and without padding between them.
    ("u8[307,20011]{1,0}", "u8[307,20011]{0,1}"),
    (
        "bf16[149,30011]{1,0}",
        "bf16[149,30011]{0,1:PAD(151,30100)}",
    ),
    // More than a last-level cache of 32 MiB holds, whose rows are read in pieces by some CPUs: packed, in strips, staged, and
    // of runs.
    ("f32[100,70003]{1,0}", "f32[100,70003]{0,1}"),
    ("f32[1040,7001]{1,0}", "f32[1040,7001]{0,1}"),
    ("f32[1001,8192]{1,0}", "f32[1001,8192]{0,1}"),
    ("f32[101,2200,32]{2,1,0}", "f32[101,2200,32]{2,0,1}"),
    // Of short runs, and so large that it is moved block by block past most caches.
    (
        "f32[12,27,40,13,13,6]{5,4,3,2,1,0}",
        "f32[12,27,40,13,13,6]{3,5,0,2,4,1}",
    ),
    ("u8[61,67,71]{2,1,0}", "u8[61,67,71]{2,1,0:T(2,4)(*,3)}"),
    (
        "u8[2,2,2,2,2,2,2,2,2,2,2,2,2,2]{13,12,11,10,9,8,7,6,5,4,3,2,1,0}",
        "u8[2,2,2,2,2,2,2,2,2,2,2,2,2,2]{0,1,2,3,4,5,6,7,8,9,10,11,12,13}",
    ),
    (
        "u8[3,3,3,3,3,3,3,3,3,3]{9,8,7,6,5,4,3,2,1,0}",
        "u8[3,3,3,3,3,3,3,3,3,3]{0,1,2,3,4,5,6,7,8,9:T(2,2)(*,3)(2,2)(*,5)}",
    ),
];

fn plain_runs_keep_their_bound() {
    let mut general = 0;
    for (from, to) in PAIRS {
        let (from, to) = (array(from), array(to));
        let plan = Plan::new(&from, &to).unwrap();
        general += usize::from(plan.general().is_some());
        let source = vec![1; plan.source_bytes() as usize];
        let destination = std::sync::Mutex::new(vec![0; plan.destination_bytes() as usize]);
        for threads in [1, 3] {
            let free = Relayout::new(&plan).unwrap().threads(threads);
            let least = match free.clone().memory_limit(0) {
                Ok(_) => 0,
                Err(RunError::Memory { least, .. }) => least,
                Err(error) => panic!("{error}"),
            };
            for limit in [None, Some(least), Some(least + 20_000)] {
                let relayout = match limit {
                    None => free.clone(),
                    Some(limit) => free.clone().memory_limit(limit).unwrap(),
                };
                let extra = relayout.extra_memory();
                assert!(limit.is_none_or(|limit| extra.heap <= limit), "{extra}");
                let what = (&from, &to, threads, limit);
                // One after the other: what the first asked of a busy pool may be waiting there during the second.
                within(what, extra, threads, || {
                    let mut destination = destination.lock().unwrap();
                    relayout.run(&source, &mut destination).unwrap();
                });
                within(what, extra, threads, || {
                    let mut destination = destination.lock().unwrap();
                    relayout
                        .run_with_progress(&source, &mut destination, &|_, _| {})
                        .unwrap();
                });
            }
        }
    }
    assert!(general >= 2, "{general} plans without boxes");
}

fn runs_on_views_keep_their_bound() {
    let view =
        StridedView::new(ElementType::F32, &[1049, 2503], &[-10040, 4], 1048 * 10040).unwrap();
    let columns = array("f32[1049,2503]{0,1}");
    for plan in [
        Plan::new(&view, &columns).unwrap(),
        Plan::new(&columns, &view).unwrap(),
    ] {
        let source = vec![1; plan.source_bytes() as usize];
        let destination = std::sync::Mutex::new(vec![0; plan.destination_bytes() as usize]);
        for threads in [1, 2] {
            let relayout = Relayout::new(&plan).unwrap().threads(threads);
            within(&plan, relayout.extra_memory(), threads, || {
                relayout
                    .run(&source, &mut destination.lock().unwrap())
                    .unwrap();
            });
        }
    }
}

fn runs_in_place_keep_their_bound() {
    // Small, since they go one by one.
    let packed = [
        ("u4[167,131]{1,0:E(4)}", "u4[167,131]{0,1:E(4)}"),
        ("u2[131,67]{1,0}", "u2[131,67]{0,1:T(8,16)E(2)}"),
    ];
    for &(from, to) in PAIRS.iter().chain(&packed) {
        let (from, to) = (array(from), array(to));
        let bytes = from
            .allocated_bytes()
            .unwrap()
            .max(to.allocated_bytes().unwrap()) as usize;
        for threads in [1, 3] {
            for heap in [0, 3_000, 70_000, 1 << 20, 2 * bytes] {
                let relayout = match InPlace::on_threads(&from, &to, heap, threads) {
                    Err(minormajor::InPlaceError::Memory { limit, least }) => {
                        assert!(limit == heap && least > heap && least < 10_000);
                        continue;
                    }
                    relayout => relayout.unwrap(),
                };
                let extra = relayout.extra_memory();
                assert!(extra.heap <= heap, "{extra}");
                let buffer = std::sync::Mutex::new(vec![1; relayout.buffer_bytes()]);
                within((&from, &to, threads, heap), extra, threads, || {
                    relayout.run(&mut buffer.lock().unwrap()).unwrap();
                });
            }
        }
    }
}

fn file_runs_keep_their_bound() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (
        directory.path().join("in.bin"),
        directory.path().join("out.bin"),
    );
    for (from, to) in PAIRS {
        let (from, to) = (array(from), array(to));
        std::fs::write(&input, vec![1; from.allocated_bytes().unwrap() as usize]).unwrap();
        for threads in [1, 2] {
            let mut options = RelayoutOptions::default();
            options.input_shape = Some(from.clone());
            options.layout = to.layout().cloned();
            options.threads = Some(threads);
            let run = || relayout_file(&input, &output, &options, &|_, _| {}).unwrap();
            run();
            let (report, taken) = peak(run);
            assert!(
                taken <= report.extra.heap,
                "{from} to {to}: {taken} bytes, and {}",
                report.extra
            );
        }
    }
}

/// A checkpoint of matrices: some fill the bound many times over, and others are small.
fn checkpoint(path: &Path) {
    let (mut entries, mut end) = (Vec::new(), 0);
    for number in 0..60 {
        let (rows, columns) = match number % 6 {
            0 => (1009, 2101 + number),
            _ => (7 + number, 31),
        };
        let start = end;
        end += rows * columns * 4;
        entries.push(format!(
            "\"layer.{number}.weight\":{{\"dtype\":\"F32\",\"shape\":[{rows},{columns}],\"data_offsets\":[{start},{end}]}}"
        ));
    }
    let header = format!("{{{}}}", entries.join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.resize(bytes.len() + end, 7);
    std::fs::write(path, bytes).unwrap();
}

fn files_of_many_arrays_keep_their_bound() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.safetensors");
    checkpoint(&input);
    for output in ["out.safetensors", "out.npz"] {
        let output = directory.path().join(output);
        for (threads, memory) in [(1, 4 << 20), (2, 4 << 20), (2, 10 << 20)] {
            let mut options = RelayoutOptions::default();
            options.rules = Rules::new(["*: AB -> BA".parse().unwrap()]);
            options.threads = Some(threads);
            options.memory = Some(memory);
            // The first run starts the pool's threads.
            for counts in [false, true] {
                let plan = FilePlan::new(&input, &output, &options).unwrap();
                let extra = plan.extra_memory();
                assert!(extra.heap <= memory, "{extra} of {memory} bytes");
                let (report, taken) = peak(|| plan.run(&|_, _| {}));
                report.unwrap();
                assert!(
                    !counts || taken <= extra.heap,
                    "{}: {taken} bytes, and {extra}",
                    output.display()
                );
            }
        }
    }
}

/// One test, so that no other allocates meanwhile.
#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "what stacks hold is promised of optimised code: `cargo xtask test` runs this with `--release`"
)]
fn executors_take_no_more_memory_than_they_say() {
    // Runs wait for no thread of the pool that comes too late. What each takes when it starts is not theirs, so all of them start now.
    rayon::broadcast(|_| ());
    plain_runs_keep_their_bound();
    runs_on_views_keep_their_bound();
    runs_in_place_keep_their_bound();
    file_runs_keep_their_bound();
    files_of_many_arrays_keep_their_bound();
}
