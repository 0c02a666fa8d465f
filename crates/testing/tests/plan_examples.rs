//! Plans of known pairs of layouts, box by box.

use minormajor_core::plan::PlanClass;
use minormajor_core::{ArrayShape, Plan, Shape};

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text
        .parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    shape.as_array().unwrap().clone()
}

fn plan(source: &str, destination: &str) -> Plan {
    Plan::new(&array(source), &array(destination)).unwrap()
}

#[track_caller]
fn check(source: &str, destination: &str, expected: &str) {
    assert_eq!(plan(source, destination).to_string(), expected);
}

#[test]
fn a_matrix_transpose_is_one_box() {
    check(
        "f32[4096,4096]{1,0}",
        "f32[4096,4096]{0,1}",
        "permute, units of 4 bytes\n  move from 0 to 0: (4096, 4096, 1) (4096, 1, 4096)",
    );
}

#[test]
fn neighbouring_dimensions_merge() {
    check(
        "f32[32,3,224,224]{3,2,1,0}",
        "f32[32,3,224,224]{1,3,2,0}",
        "permute, units of 4 bytes\n  move from 0 to 0: (32, 150528, 150528) (3, 50176, 1) (50176, 1, 3)",
    );
}

#[test]
fn ragged_tiles_are_boxes_and_a_fill() {
    check(
        "f32[1000,1000]{1,0}",
        "f32[1000,1000]{1,0:T(8,128)}",
        "retile, units of 4 bytes\
         \n  move from 0 to 0: (125, 8000, 8192) (7, 128, 1024) (8, 1000, 128) (128, 1, 1)\
         \n  move from 896 to 7168: (125, 8000, 8192) (8, 1000, 128) (104, 1, 1)\
         \n  fill zero at 7272: (125, 8192) (8, 128) (24, 1)",
    );
}

#[test]
fn padding_is_filled_in_the_longest_runs() {
    check(
        "f32[2,3]{1,0}",
        "f32[2,3]{0,1:PAD(3,5)}",
        "permute, units of 4 bytes\
         \n  move from 0 to 0: (2, 3, 1) (3, 1, 3)\
         \n  fill zero at 2: (3, 3)\
         \n  fill zero at 9: (6, 1)",
    );
    check(
        "f32[2,3]{1,0}",
        "f32[2,3]{1,0:PAD(4,5)}",
        "copy, units of 4 bytes\
         \n  move from 0 to 0: (2, 3, 5) (3, 1, 1)\
         \n  fill zero at 3: (2, 5) (2, 1)\
         \n  fill zero at 10: (10, 1)",
    );
}

#[test]
fn rows_interleave_in_pairs() {
    check(
        "bf16[16,256]{1,0}",
        "bf16[16,256]{1,0:T(8,128)(2,1)}",
        "retile, units of 2 bytes\n  move from 0 to 0: (2, 2048, 2048) (2, 128, 1024) (4, 512, 256) (2, 256, 1) (128, 1, 2)",
    );
}

#[test]
fn tiles_that_do_not_divide_are_cut_once_a_period() {
    let plan = plan("f32[600,400]{1,0:T(8,128)}", "f32[600,400]{1,0:T(12,96)}");
    assert_eq!(plan.class(), PlanClass::Retile);
    // Four segments of the period 24 of dimension 0; six of 384 and one behind it of dimension 1.
    assert_eq!(plan.boxes().len(), 4 * 7);
    assert_eq!(
        plan.boxes().iter().map(|b| b.units()).sum::<i64>(),
        600 * 400
    );
}

#[test]
fn packed_elements_are_units_of_bits() {
    check(
        "s4[5,7]{1,0:E(4)}",
        "s4[5,7]{0,1:E(4)}",
        "permute, units of 4 bits\
         \n  move from 0 to 0: (5, 7, 1) (7, 1, 5)\
         \n  fill zero at 35",
    );
    check(
        "pred[3,20]{1,0}",
        "pred[3,20]{1,0:E(1)PAD(3,24;one)}",
        "copy, units of 1 byte to units of 1 bit\
         \n  move from 0 to 0: (3, 20, 24) (20, 1, 1)\
         \n  fill one at 20: (3, 24) (4, 1)",
    );
    check(
        "u2[5]{0:E(2)}",
        "u2[5]{0:E(16)}",
        "copy, units of 2 bits to units of 1 byte\
         \n  move from 0 to 0: (5, 1, 2)\
         \n  fill zero at 1: (5, 2)",
    );
}

#[test]
fn padding_of_several_units_is_filled_unit_by_unit() {
    // An element of 5 bytes whose value, 1, has 4 that are not alike; behind each there is a zero.
    let plan = plan("f32[2]{0}", "f32[2]{0:E(40)PAD(3;one)}");
    let fills = plan.fills().iter();
    let fills: Vec<_> = fills
        .map(|fill| (fill.destination, fill.pattern[0], fill.loops.len()))
        .collect();
    let one = 1_f32.to_le_bytes();
    let behind = [(4, 0, 1), (14, 0, 0)];
    let expected = (10..).zip(one).map(|(at, byte)| (at, byte, 0));
    assert_eq!(fills, expected.chain(behind).collect::<Vec<_>>());
}

#[test]
fn what_needs_no_move_is_said() {
    let class = |source, destination| plan(source, destination).class();
    assert_eq!(
        class("f32[1,512]{1,0}", "f32[1,512]{0,1}"),
        PlanClass::Identity
    );
    assert_eq!(class("f32[7]{0:T(8)}", "f32[7]{0:T(4)}"), PlanClass::Retag);
    assert_eq!(
        class("f32[8,128]{1,0}", "f32[8,128]{1,0:T(8,128)}"),
        PlanClass::Identity
    );
    assert_eq!(
        class("f32[3,5]{1,0:T(8,128)}", "f32[3,5]{1,0:T(8,128)}"),
        PlanClass::Identity
    );
    assert_eq!(
        class("f32[2,3]{1,0}", "f32[2,3]{1,0:PAD(2,4)}"),
        PlanClass::Copy
    );
    assert_eq!(class("f32[0,3]{1,0}", "f32[0,3]{0,1}"), PlanClass::Identity);
    // The last byte's upper half is zero in both.
    assert_eq!(
        class("s4[9]{0:E(4)}", "s4[9]{0:T(3)E(4)}"),
        PlanClass::Identity
    );
    // Here it is padding of the source.
    assert_eq!(
        class("s4[9]{0:L(10)E(4)}", "s4[9]{0:E(4)}"),
        PlanClass::Retag
    );
    assert_eq!(class("s4[9]{0}", "s4[9]{0:E(4)}"), PlanClass::Copy);
}

#[test]
fn combined_dimensions_have_boxes_where_they_are_whole() {
    let boxes = plan(
        "f32[2,7,8,11,10]{4,3,2,1,0}",
        "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}",
    );
    assert!(boxes.general().is_none());
    assert_eq!(boxes.class(), PlanClass::Retile);
    // 110 is not a multiple of 3: whole tiles, and the last one.
    assert_eq!(boxes.boxes().len(), 2);
    let element_by_element = plan("f32[6,6]{1,0}", "f32[6,6]{1,0:T(2,4)(*,3)}");
    assert_eq!(element_by_element.class(), PlanClass::General);
}

#[test]
fn plans_that_cannot_be_are_refused() {
    for (source, destination, part) in [
        ("f32[2]{0}", "s32[2]{0}", "f32"),
        ("f32[2]{0}", "f32[2,1]{1,0}", "1 dimensions"),
        ("f32[2,3]", "f32[2,4]", "dimension 1 is 3"),
        ("f32[?]{0}", "f32[?]{0}", "unbounded"),
        ("s4[9]{0}", "s4[9]{0:E(2)}", "E(2)"),
        ("u8[9]{0}", "u8[9]{0:E(4)}", "expected 8, or a multiple"),
        (
            "u2[9]{0}",
            "u2[9]{0:E(12)}",
            "expected 2, 4, 8, or a multiple",
        ),
        ("f32[9]{0}", "f32[9]{0:E(16)}", "E(16)"),
        ("f32[9]{0}", "f32[9]{0:E(36)}", "E(36)"),
    ] {
        let error = Plan::new(&array(source), &array(destination))
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{source} to {destination}: {error}");
    }
}

/// Tiles whose common period is longer than any array end in a bounded number of boxes, or in
/// the general way, at once.
#[test]
fn plans_stay_small() {
    for (source, destination) in [
        ("u8[1000000000]{0:T(4096)}", "u8[1000000000]{0:T(4095)}"),
        ("u8[1000000000]{0:T(127)(5)}", "u8[1000000000]{0:T(128)(3)}"),
        (
            "u8[100003,100003]{1,0:T(97,89)}",
            "u8[100003,100003]{0,1:T(83,79)}",
        ),
        (
            "u8[4611686018427387]{0:T(1000003)}",
            "u8[4611686018427387]{0:T(1000033)}",
        ),
    ] {
        let plan = plan(source, destination);
        assert!(
            plan.boxes().len() <= 1 << 16,
            "{source}: {} boxes",
            plan.boxes().len()
        );
        assert!(plan.general().is_some() || !plan.boxes().is_empty());
    }
}
