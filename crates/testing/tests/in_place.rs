//! In place: plans and their executor against the naive relayout.

use minormajor::{ArrayShape, InPlace, InPlaceError, InPlacePlan, Plan, Shape, Step};
use minormajor_testing::{in_place, oracle, strategy};
use proptest::prelude::*;

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text
        .parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    shape.as_array().unwrap().clone()
}

/// A buffer for both layouts that holds the array in the first, and what it must hold at the
/// end. Padding of the value `unknown` is undefined: it has no byte there.
fn case(from: &ArrayShape, to: &ArrayShape) -> (Vec<u8>, Vec<Option<u8>>) {
    let source = oracle::elements(from);
    let bytes = to.allocated_bytes().unwrap() as usize;
    let one = oracle::relayout(from, &source, to, &vec![0; bytes]);
    let other = oracle::relayout(from, &source, to, &vec![0xff; bytes]);
    let expected = std::iter::zip(one, other).map(|(a, b)| (a == b).then_some(a));
    let mut buffer = source;
    buffer.resize(buffer.len().max(bytes), oracle::SENTINEL);
    (buffer, expected.collect())
}

/// The first byte that is not as expected.
fn differs(buffer: &[u8], expected: &[Option<u8>]) -> Option<usize> {
    let mut bytes = std::iter::zip(buffer, expected);
    bytes.position(|(byte, expected)| expected.is_some_and(|expected| expected != *byte))
}

fn moves(from: &ArrayShape, to: &ArrayShape, scratch: i64) -> Result<(), TestCaseError> {
    let plan = InPlacePlan::new(from, to, scratch).unwrap();
    let (mut buffer, expected) = case(from, to);
    prop_assert_eq!(plan.buffer_bytes() as usize, buffer.len());
    in_place::run(&plan, &mut buffer);
    prop_assert_eq!(
        differs(&buffer, &expected),
        None,
        "{} to {}:\n{}",
        from,
        to,
        plan
    );
    Ok(())
}

/// Runs in place, with bytes behind the array that must stay.
fn runs(
    (from, to): (&ArrayShape, &ArrayShape),
    (before, expected): &(Vec<u8>, Vec<Option<u8>>),
    heap: usize,
    threads: usize,
) -> Result<InPlace, TestCaseError> {
    let relayout = InPlace::on_threads(from, to, heap, threads).unwrap();
    prop_assert_eq!(relayout.buffer_bytes(), before.len());
    prop_assert!(relayout.extra_memory().heap <= heap);
    let mut buffer = before.clone();
    buffer.extend([oracle::SENTINEL; 9]);
    relayout.run(&mut buffer).unwrap();
    prop_assert_eq!(
        differs(&buffer, expected),
        None,
        "{} to {}, {} of heap:\n{}",
        from,
        to,
        heap,
        relayout.plan()
    );
    prop_assert!(buffer.ends_with(&[oracle::SENTINEL; 9]));
    Ok(relayout)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plans_in_place_do_the_naive_relayout(
        (from, to) in strategy::relayout(),
        scratch in prop_oneof![Just(0), 256i64..70_000],
    ) {
        moves(&from, &to, scratch)?;
    }

    #[test]
    fn runs_in_place_do_the_naive_relayout(
        (from, to) in strategy::relayout(),
        heap in prop_oneof![Just(0), 0usize..1 << 20],
        threads in 1usize..4,
    ) {
        let heap = match InPlace::on_threads(&from, &to, heap, threads) {
            // Refused is a bound below what the way element by element takes, where it is taken.
            Err(InPlaceError::Memory { limit, least }) => {
                prop_assert!(limit == heap && heap < least);
                prop_assert!(looks_elements_up(&from, &to));
                least
            }
            _ => heap,
        };
        runs((&from, &to), &case(&from, &to), heap, threads)?;
    }
}

/// Whether the way in place moves, or the ordinary plan fills, element by element.
fn looks_elements_up(from: &ArrayShape, to: &ArrayShape) -> bool {
    let plan = InPlacePlan::new(from, to, 0).unwrap();
    matches!(plan.steps(), [Step::Elements(_)]) || plan.plan().general().is_some()
}

/// An ordinary plan of boxes whose way in place is none of them, by layouts of more dimensions
/// and tiles than are looked up without an allocation.
#[test]
fn a_bound_below_what_it_takes_to_look_elements_up_is_refused() {
    let from = array("pred[2,16,5,4]{3,2,0,1:T(*)(1)}");
    let to = array("pred[2,16,5,4]{1,0,2,3:T(3,1,4)(2,3,3)(2,2)E(1)}");
    assert!(Plan::new(&from, &to).unwrap().general().is_none());
    assert!(looks_elements_up(&from, &to));
    let Err(InPlaceError::Memory { limit: 0, least }) = InPlace::on_threads(&from, &to, 0, 1)
    else {
        panic!("taken without heap");
    };
    let case = case(&from, &to);
    let relayout = runs((&from, &to), &case, least, 1).unwrap();
    assert_eq!(relayout.extra_memory().heap, least);
}

#[test]
fn padding_of_unknown_value_has_no_expected_byte() {
    let from = array("u8[2,3]{1,0}");
    let to = array("u8[2,3]{1,0:PAD(2,5;unknown)}");
    let (_, expected) = case(&from, &to);
    assert_eq!(expected.iter().filter(|byte| byte.is_none()).count(), 4);
}

/// Arrays that no small scratch holds, at sizes that divide nothing, or just one of them.
#[test]
fn large_runs_in_place() {
    for (from, to) in [
        ("u8[521,1031]{1,0}", "u8[521,1031]{0,1}"),
        ("u4[67,131]{1,0:E(4)}", "u4[67,131]{0,1:E(4)}"),
        ("u1[67,131]{1,0:E(1)}", "u1[67,131]{0,1:T(8,16)E(1)}"),
        ("u2[131,67]{1,0:E(2)}", "u2[131,67]{0,1}"),
        ("u2[131,67]{1,0}", "u2[131,67]{0,1:E(2)}"),
        ("s4[61,67,34]{2,1,0:E(4)}", "s4[61,67,34]{2,0,1:E(4)}"),
        ("u4[64,128]{1,0:E(4)}", "u4[64,128]{1,0:T(8,128)E(4)}"),
        ("u8[2053,1031]{1,0}", "u8[2053,1031]{0,1}"),
        ("u16[1031,1031]{1,0}", "u16[1031,1031]{0,1}"),
        ("f32[2053,1031]{1,0}", "f32[2053,1031]{0,1}"),
        ("f32[1031,2062]{1,0}", "f32[1031,2062]{0,1}"),
        ("f32[3,200003]{1,0}", "f32[3,200003]{0,1}"),
        ("f32[200003,3]{1,0}", "f32[200003,3]{0,1}"),
        ("f64[521,1031]{0,1}", "f64[521,1031]{1,0}"),
        ("c128[509,1031]{1,0}", "c128[509,1031]{0,1}"),
        ("f32[7,3,223,227]{3,2,1,0}", "f32[7,3,223,227]{1,3,2,0}"),
        ("u8[7,223,227,3]{3,2,1,0}", "u8[7,223,227,3]{2,1,3,0}"),
        ("f32[101,103,101]{2,1,0}", "f32[101,103,101]{0,1,2}"),
        ("f32[521,1031]{1,0}", "f32[521,1031]{1,0:T(8,128)}"),
        ("f32[521,1031]{1,0:T(8,128)}", "f32[521,1031]{1,0:T(12,96)}"),
        ("f32[521,1031]{1,0:T(8,128)}", "f32[521,1031]{0,1:T(8,128)}"),
        ("f32[3,521,1031]{2,1,0:T(8,128)}", "f32[3,521,1031]{2,1,0}"),
        ("f32[3,521,1031]{2,1,0}", "f32[3,521,1031]{2,1,0:T(8,128)}"),
        ("bf16[521,1031]{1,0}", "bf16[521,1031]{1,0:T(8,128)(2,1)}"),
        ("bf16[521,1031]{1,0:T(8,128)(2,1)}", "bf16[521,1031]{0,1}"),
        (
            "s8[521,1031]{1,0}",
            "s8[521,1031]{1,0:T(8,128)(4,1)L(4096)}",
        ),
        (
            "f32[13,17,19,11,23]{4,3,2,1,0}",
            "f32[13,17,19,11,23]{0,1,2,3,4}",
        ),
        (
            "u8[521,1031]{1,0}",
            "u8[521,1031]{0,1:E(32)PAD(524,1031;one)}",
        ),
        (
            "pred[521,1031]{1,0:E(32)}",
            "pred[521,1031]{0,1:PAD(524,1031;unknown)}",
        ),
        ("f32[61,67,71]{2,1,0}", "f32[61,67,71]{2,1,0:T(2,4)(*,3)}"),
        (
            "f32[521,1031]{1,0:PAD(524,1040)}",
            "f32[521,1031]{0,1:PAD(524,1040;lowest)}",
        ),
    ] {
        let (from, to) = (array(from), array(to));
        let case = case(&from, &to);
        for heap in [0, 100_000, 1 << 20, 1 << 25] {
            for threads in [1, 3] {
                runs((&from, &to), &case, heap, threads).unwrap();
            }
        }
    }
}

/// With scratch for everything, the steps of a long way are not taken.
#[test]
fn a_bound_beyond_the_array_is_a_copy_where_that_is_faster() {
    let (from, to) = (
        array("f32[1000,999]{1,0:T(8,128)}"),
        array("f32[1000,999]{0,1:T(8,128)}"),
    );
    let bytes = 1024 * 1000 * 4;
    let run = |heap| runs((&from, &to), &case(&from, &to), heap, 2).unwrap();
    assert!(run(bytes + (1 << 20)).copies());
    assert!(!run(bytes - 1).copies());
}

#[test]
fn a_short_buffer_is_an_error_and_stays() {
    let (from, to) = (array("u8[3,5]{1,0}"), array("u8[3,5]{0,1:PAD(4,5)}"));
    let relayout = InPlace::new(&from, &to, 0).unwrap();
    let mut buffer = [7; 19];
    let (expected, found) = (20, 19);
    let short = InPlaceError::BufferTooShort { expected, found };
    assert_eq!(relayout.run(&mut buffer), Err(short));
    assert_eq!(buffer, [7; 19]);
}
