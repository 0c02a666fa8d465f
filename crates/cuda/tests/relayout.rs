//! Plans run by the kernels' own code on the emulated device, against the naive relayout.

use minormajor::{ArrayShape, Plan, Shape};
use minormajor_cuda::launch::Card;
use minormajor_cuda::relayout::{launches, supported};
use minormajor_cuda_emulator::{Counts, Memory, PRESENT, Watch};
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;

const CARD: Card = Card { multiprocessors: 3 };

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text
        .parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    shape.as_array().unwrap().clone()
}

/// Whether there is an emulator; says so where there is none.
fn is_there() -> bool {
    if !PRESENT {
        println!("skipped: the emulator was built without a C++ compiler");
    }
    PRESENT
}

/// Runs a plan with its buffers at offsets from aligned addresses.
fn run(
    plan: &Plan,
    source: &[u8],
    before: &[u8],
    offsets: [u64; 2],
    watch: Watch,
) -> Result<(Vec<u8>, Vec<String>, Counts), String> {
    let mut memory = Memory::default();
    let from = memory.allocate(source.len() as u64 + offsets[0]) + offsets[0];
    let to = memory.allocate(before.len() as u64 + offsets[1]) + offsets[1];
    memory
        .bytes(from, source.len() as u64)?
        .copy_from_slice(source);
    memory
        .bytes(to, before.len() as u64)?
        .copy_from_slice(before);
    let (mut kernels, mut counts) = (Vec::new(), Counts::default());
    for launch in launches(plan, from, to, CARD).map_err(|error| error.to_string())? {
        counts.add(&memory.launch(&launch, watch)?);
        kernels.push(launch.kernel.into_owned());
    }
    Ok((
        memory.bytes(to, before.len() as u64)?.to_vec(),
        kernels,
        counts,
    ))
}

fn check(from: &ArrayShape, to: &ArrayShape, offsets: [u64; 2], watch: Watch) -> Vec<String> {
    let plan = Plan::new(from, to).unwrap();
    let source = oracle::elements(from);
    let before = vec![oracle::SENTINEL; to.allocated_bytes().unwrap() as usize];
    let expected = oracle::relayout(from, &source, to, &before);
    let (moved, kernels, _) = run(&plan, &source, &before, offsets, watch)
        .unwrap_or_else(|fault| panic!("{from} to {to}: {fault}"));
    let differs = moved.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{from} to {to} by {kernels:?}: first byte");
    kernels
}

const WATCH: Watch = Watch {
    counts: false,
    backwards: false,
    writers: true,
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_relayouts((from, to) in strategy::relayout(), backwards: bool, odd in 0..3u64) {
        let plan = Plan::new(&from, &to).unwrap();
        if PRESENT && supported(&plan).is_ok() {
            // Elements stay aligned to their own width, buffers need not be to more.
            let offset = odd * plan.unit_bytes().unwrap() as u64;
            check(&from, &to, [offset, 2 * offset], Watch { backwards, ..WATCH });
        }
    }

    #[test]
    fn random_views((from, to, _) in strategy::views()) {
        let plan = Plan::new(&from, &to).unwrap();
        if PRESENT && supported(&plan).is_ok() {
            let source: Vec<u8> = (0..plan.source_bytes()).map(|n| (n * 37 + n / 251) as u8).collect();
            let before = vec![oracle::SENTINEL; plan.destination_bytes() as usize];
            let mut expected = before.clone();
            minormajor::Relayout::new(&plan).unwrap().run(&source, &mut expected).unwrap();
            let (moved, kernels, _) = run(&plan, &source, &before, [0, 0], WATCH)
                .map_err(|fault| TestCaseError::fail(format!("{plan}: {fault}")))?;
            prop_assert_eq!(moved, expected, "{} by {:?}", plan, kernels);
        }
    }
}

#[test]
fn every_width_and_edge() {
    if !is_there() {
        return;
    }
    let mut used = std::collections::BTreeSet::new();
    for element_type in ["u8", "u16", "f32", "f64", "c128"] {
        for sizes in [
            "128,128", "192,80", "136,200", "131,257", "64,3", "3,320", "96,101",
        ] {
            let name = |layout: &str| array(&format!("{element_type}[{sizes}]{layout}"));
            used.extend(check(&name("{1,0}"), &name("{0,1}"), [0, 0], WATCH));
            used.extend(check(
                &name("{0,1}"),
                &name("{1,0:T(8,128)}"),
                [0, 0],
                WATCH,
            ));
        }
        for sizes in ["2,3,40,52", "3,16,16,3", "5,4,33,31"] {
            let name = |layout: &str| array(&format!("{element_type}[{sizes}]{layout}"));
            used.extend(check(&name("{3,2,1,0}"), &name("{1,3,2,0}"), [0, 0], WATCH));
            used.extend(check(&name("{1,3,2,0}"), &name("{3,2,1,0}"), [0, 0], WATCH));
            used.extend(check(&name("{3,2,1,0}"), &name("{0,1,2,3}"), [0, 0], WATCH));
            used.extend(check(
                &name("{3,2,1,0:T(4,8)(2,1)}"),
                &name("{0,2,1,3:PAD(6,16,40,52;unknown)}"),
                [0, 0],
                WATCH,
            ));
        }
    }
    println!("{used:?}");
    for kernel in [
        "tiles_1_4_16_4",
        "tiles_2_2_8_4",
        "tiles_4_1_4_4",
        "tiles_8_1_2_2",
        "tiles_16_1_1_1",
        "tiles_1_1_1_1",
        "runs_16",
        "runs_1",
        "fill_16",
        "fill_1",
    ] {
        assert!(used.contains(kernel), "no case used {kernel}: {used:?}");
    }
}

#[test]
fn many_tiny_dimensions() {
    if !is_there() {
        return;
    }
    for (size, rank, element_type) in [
        (3, 9, "f32"),
        (3, 8, "u8"),
        (2, 14, "f32"),
        (2, 13, "u16"),
        (2, 14, "u8"),
        (2, 12, "f64"),
        (3, 7, "c128"),
    ] {
        let sizes = vec![size.to_string(); rank].join(",");
        let order = |up: bool| {
            let mut order: Vec<String> = (0..rank).map(|d| d.to_string()).collect();
            if !up {
                order.reverse();
            }
            order.join(",")
        };
        let shape = |up| array(&format!("{element_type}[{sizes}]{{{}}}", order(up)));
        let kernels = check(&shape(false), &shape(true), [0, 0], WATCH);
        println!("{size}^{rank} {element_type}: {kernels:?}");
    }
}

/// What warps ask of memory, as a stand-in for the speed that only a device shows.
#[test]
fn whole_tiles_waste_nothing() {
    if !is_there() {
        return;
    }
    let mut bad = Vec::new();
    for (regular, from, to) in [
        (true, "u8[512,512]{1,0}", "u8[512,512]{0,1}"),
        (true, "u16[512,256]{1,0}", "u16[512,256]{0,1}"),
        (true, "f32[256,256]{1,0}", "f32[256,256]{0,1}"),
        (true, "f64[256,128]{1,0}", "f64[256,128]{0,1}"),
        (true, "c128[128,128]{1,0}", "c128[128,128]{0,1}"),
        (false, "f32[4,3,64,64]{3,2,1,0}", "f32[4,3,64,64]{1,3,2,0}"),
        (false, "f32[4,64,64,3]{3,2,1,0}", "f32[4,64,64,3]{2,1,3,0}"),
        (false, "f32[1021,131]{1,0}", "f32[1021,131]{0,1}"),
        (false, "u8[4,3,64,64]{3,2,1,0}", "u8[4,3,64,64]{1,3,2,0}"),
        (false, "f32[256,256]{1,0}", "f32[256,256]{1,0:T(8,128)}"),
        (
            false,
            "bf16[256,256]{1,0}",
            "bf16[256,256]{1,0:T(8,128)(2,1)}",
        ),
        (
            false,
            "f32[3,3,3,3,3,3,3,3,3,3]{9,8,7,6,5,4,3,2,1,0}",
            "f32[3,3,3,3,3,3,3,3,3,3]{0,1,2,3,4,5,6,7,8,9}",
        ),
        (
            false,
            "f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]{15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0}",
            "f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}",
        ),
    ] {
        let (from, to) = (array(from), array(to));
        let plan = Plan::new(&from, &to).unwrap();
        let source = vec![7; from.allocated_bytes().unwrap() as usize];
        let before = vec![0; to.allocated_bytes().unwrap() as usize];
        let watch = Watch {
            counts: true,
            ..Watch::default()
        };
        let (_, kernels, counts) = run(&plan, &source, &before, [0, 0], watch).unwrap();
        let [read, written] = counts.efficiency();
        let passes = counts.wavefronts as f64 / counts.requests.max(1) as f64;
        println!(
            "{from} to {to}: {kernels:?}, read {read:.2}, written {written:.2}, {passes:.2} passes a request"
        );
        if regular && (read < 0.99 || written < 0.99 || passes > 1.03) {
            bad.push(format!(
                "{from} to {to}: {read:.2} {written:.2} {passes:.2}"
            ));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}
