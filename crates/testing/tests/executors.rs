//! Every executor against the naive relayout. There is one so far: the CPU's.

use minormajor::{Plan, Relayout, Shape};
use minormajor_core::ArrayShape;
use minormajor_testing::golden::{self, bytes, hex};
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text
        .parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    shape.as_array().unwrap().clone()
}

fn run(
    from: &ArrayShape,
    to: &ArrayShape,
    source: &[u8],
    before: &[u8],
    threads: usize,
) -> Vec<u8> {
    let plan = Plan::new(from, to).unwrap();
    let relayout = Relayout::new(&plan).unwrap().threads(threads);
    let mut destination = before.to_vec();
    relayout.run(source, &mut destination).unwrap();
    destination
}

#[test]
fn golden_relayouts() {
    let cases = golden::relayout();
    assert!(cases.len() >= 200);
    for case in cases {
        let (from, to) = (array(&case.source), array(&case.destination));
        let before = vec![oracle::SENTINEL; case.destination_hex.len() / 2];
        let moved = run(&from, &to, &bytes(&case.source_hex), &before, 1);
        assert_eq!(hex(&moved), case.destination_hex, "{from} to {to}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_relayouts((from, to) in strategy::relayout()) {
        let source = oracle::elements(&from);
        // Longer than the array: what is behind it must stay.
        let before = vec![oracle::SENTINEL; to.allocated_bytes().unwrap() as usize + 19];
        let end = before.len() - 19;
        let mut expected = oracle::relayout(&from, &source, &to, &before[..end]);
        expected.extend_from_slice(&before[end..]);
        prop_assert_eq!(run(&from, &to, &source, &before, 1), expected, "{} to {}", from, to);
    }
}

/// Arrays large enough for windows, threads, blocks and vectors, at sizes that divide nothing.
#[test]
fn large_relayouts() {
    for (from, to) in [
        ("u8[1021,1031]{1,0}", "u8[1021,1031]{0,1}"),
        ("u16[1021,1031]{1,0}", "u16[1021,1031]{0,1}"),
        ("f32[2053,1031]{1,0}", "f32[2053,1031]{0,1}"),
        ("f64[1021,1031]{0,1}", "f64[1021,1031]{1,0}"),
        ("c128[509,1031]{1,0}", "c128[509,1031]{0,1}"),
        ("f32[7,3,223,227]{3,2,1,0}", "f32[7,3,223,227]{1,3,2,0}"),
        ("u8[7,223,227,3]{3,2,1,0}", "u8[7,223,227,3]{2,1,3,0}"),
        ("f32[1021,1031]{1,0}", "f32[1021,1031]{1,0:T(8,128)}"),
        (
            "f32[1021,1031]{1,0:T(8,128)}",
            "f32[1021,1031]{0,1:T(12,96)PAD(1030,1031;highest)}",
        ),
        ("bf16[1021,1031]{1,0}", "bf16[1021,1031]{1,0:T(8,128)(2,1)}"),
        ("bf16[1021,1031]{1,0:T(8,128)(2,1)}", "bf16[1021,1031]{0,1}"),
        (
            "s8[1021,1031]{1,0}",
            "s8[1021,1031]{1,0:T(8,128)(4,1)L(4096)}",
        ),
        (
            "f32[13,17,19,11,23]{4,3,2,1,0}",
            "f32[13,17,19,11,23]{0,1,2,3,4}",
        ),
        (
            "u8[1021,1031]{1,0}",
            "u8[1021,1031]{0,1:E(32)PAD(1024,1031;one)}",
        ),
        (
            "pred[1021,1031]{1,0:E(32)}",
            "pred[1021,1031]{0,1:PAD(1024,1031;unknown)}",
        ),
        ("f32[61,67,71]{2,1,0}", "f32[61,67,71]{2,1,0:T(2,4)(*,3)}"),
        ("s4[1021,1031]{1,0:E(4)}", "s4[1021,1031]{0,1:E(4)}"),
        ("u2[1022,1030]{1,0:E(2)}", "u2[1022,1030]{0,1:E(2)}"),
        ("u1[1032,1048]{1,0:E(1)}", "u1[1032,1048]{0,1:E(1)}"),
        (
            "pred[1021,1031]{1,0:E(1)}",
            "pred[1021,1031]{0,1:E(1)PAD(1024,1033;one)}",
        ),
        (
            "u4[7,3,223,227]{3,2,1,0:E(4)}",
            "u4[7,3,223,227]{1,3,2,0:E(4)}",
        ),
        (
            "u2[7,223,227,3]{3,2,1,0:E(2)}",
            "u2[7,223,227,3]{2,1,3,0:E(2)}",
        ),
        (
            "u1[2,64,57,55]{3,2,1,0:E(1)}",
            "u1[2,64,57,55]{1,3,2,0:E(1)}",
        ),
        (
            "u1[2,57,55,64]{3,2,1,0:E(1)}",
            "u1[2,57,55,64]{2,1,3,0:E(1)}",
        ),
        ("s4[1021,1031]{1,0:E(4)}", "s4[1021,1031]{1,0:T(8,128)E(4)}"),
        ("u1[1021,1031]{1,0:E(1)}", "u1[1021,1031]{1,0:T(8,128)E(1)}"),
        (
            "s4[1021,1031]{1,0:T(64,128)(8,1)E(4)}",
            "s4[1021,1031]{1,0:E(4)}",
        ),
        (
            "s4[1021,1031]{1,0}",
            "s4[1021,1031]{1,0:T(64,128)(8,1)E(4)}",
        ),
        ("s2[1021,1031]{1,0:E(2)}", "s2[1021,1031]{0,1}"),
        ("u2[1021,1031]{1,0:E(2)}", "u2[1021,1031]{0,1:E(4)}"),
        (
            "u4[61,67,71]{2,1,0:E(4)}",
            "u4[61,67,71]{2,1,0:T(2,4)(*,3)E(4)}",
        ),
    ] {
        let (from, to) = (array(from), array(to));
        let source = oracle::elements(&from);
        let before = vec![oracle::SENTINEL; to.allocated_bytes().unwrap() as usize];
        let expected = oracle::relayout(&from, &source, &to, &before);
        for threads in [1, 2, 5] {
            let moved = run(&from, &to, &source, &before, threads);
            let differs = moved.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!(
                differs, None,
                "{from} to {to}, {threads} threads: first byte that differs"
            );
        }
    }
}
