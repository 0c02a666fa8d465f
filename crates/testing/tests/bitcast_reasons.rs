//! Why an operation is not free, and what a free one's result is.

use minormajor_core::bitcast::{Bitcast, Cause, Obstacle, Operation};
use minormajor_core::{ArrayShape, Shape};

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text
        .parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    shape.as_array().unwrap().clone()
}

#[track_caller]
fn is_free(operand: &str, result: &str, operation: &Operation) -> bool {
    let (operand, result) = (array(operand), array(result));
    Bitcast::new(&operand, &result, operation)
        .unwrap()
        .is_free()
}

fn transpose(dimensions: &[i64]) -> Operation {
    Operation::Transpose {
        dimensions: dimensions.to_vec(),
    }
}

#[track_caller]
fn why_not(operand: &str, result: &str, operation: &Operation) -> String {
    let (operand, result) = (array(operand), array(result));
    let bitcast = Bitcast::new(&operand, &result, operation).unwrap();
    bitcast.why_not().expect("not free").to_string()
}

#[test]
fn reasons_name_dimensions_and_numbers() {
    let reshape = &Operation::Reshape;
    let slice = |starts: &[i64], limits: &[i64], strides: &[i64]| Operation::Slice {
        starts: starts.to_vec(),
        limits: limits.to_vec(),
        strides: strides.to_vec(),
    };
    for (operand, result, operation, expected) in [
        (
            "f32[2,3]{1,0}",
            "f32[3,2]{1,0}",
            &transpose(&[1, 0]),
            "the operand goes from [0, 0] to [0, 1] (dimension 1) by 1 element, the result from \
             [0, 0] to [1, 0] (dimension 0) by 2 elements; it is free after a copy of the operand \
             to f32[2,3]{0,1} (24 bytes), or with the result in f32[3,2]{0,1}",
        ),
        (
            "f32[2,3]{0,1}",
            "f32[6]{0}",
            reshape,
            "the operand goes from [0, 0] to [0, 1] (dimension 1) by 2 elements, the result from \
             [0] to [1] (dimension 0) by 1 element; it is free after a copy of the operand to \
             f32[2,3]{1,0} (24 bytes)",
        ),
        (
            "f32[2,3]{1,0:PAD(2,4)}",
            "f32[6]{0}",
            reshape,
            "the operand goes from [0, 2] to [1, 0] (dimensions 0 and 1; 1 is padded from 3 to 4) \
             by 2 elements, the result from [2] to [3] (dimension 0) by 1 element; it is free \
             after a copy of the operand to f32[2,3]{1,0} (24 bytes)",
        ),
        (
            "f32[256]{0:T(128)}",
            "f32[2,128]{1,0:T(2,128)}",
            reshape,
            "free",
        ),
        (
            "f32[16,256]{1,0:T(8,128)}",
            "f32[16,256]{1,0}",
            &Operation::Copy,
            "the operand goes from [0, 127] to [0, 128] (dimension 1, where a tile ends) by 897 \
             elements, the result from [0, 127] to [0, 128] (dimension 1) by 1 element; it is \
             free after a copy of the operand to f32[16,256]{1,0} (16384 bytes), or with the \
             result in f32[16,256]{1,0:T(8,128)}",
        ),
        (
            "f32[4]{0}",
            "f32[3,4]{1,0}",
            &Operation::Broadcast {
                dimensions: vec![1],
            },
            "dimension 0 of the result holds every element 3 times; no layout puts two elements \
             at one position; no copy of the operand makes it free",
        ),
        (
            "f32[6]{0}",
            "f32[6]{0:T(8)}",
            &Operation::Copy,
            "every element is in its place, but the result allocates 32 bytes, and the operand \
             has 24; it is free after a copy of the operand to f32[6]{0:T(8)} (32 bytes), or with \
             the result in f32[6]{0}",
        ),
        (
            "s4[6]{0}",
            "s4[6]{0:E(4)}",
            &Operation::Copy,
            "the operand stores an element in 8 bits, the result in 4; it is free after a copy of \
             the operand to s4[6]{0:E(4)} (3 bytes), or with the result in s4[6]{0}",
        ),
        (
            "s4[6]{0:E(4)}",
            "s4[2]{0:E(4)}",
            &slice(&[1], &[3], &[1]),
            "the result would begin at bit 4 of byte 0; a buffer begins at a whole byte; no copy \
             of the operand makes it free",
        ),
        (
            "f32[6]{0}",
            "f32[6]{0:S(1)}",
            &Operation::Copy,
            "the operand is in memory space 0, the result in 1; it is free after a copy of the \
             operand to f32[6]{0:S(1)} (24 bytes), or with the result in f32[6]{0}",
        ),
        (
            "f32[8,100]{1,0}",
            "f32[4,50]{1,0}",
            &slice(&[0, 0], &[8, 50], &[2, 1]),
            "the operand goes from [0, 0] to [2, 0] (dimension 0) by 200 elements, the result \
             from [0, 0] to [1, 0] (dimension 0) by 50 elements; it is free with the result in \
             f32[4,50]{1,0:PAD(4,200)}",
        ),
        (
            "f32[6]{0}",
            "s8[6,4]{0,1}",
            &Operation::BitcastConvert,
            "the operand goes from [0] to [1] (dimension 0) by 4 bytes, the result from [0, 0] to \
             [1, 0] (dimension 0) by 1 byte; it is free with the result in s8[6,4]{1,0}",
        ),
    ] {
        if expected == "free" {
            assert!(is_free(operand, result, operation), "{operand} {result}");
        } else {
            assert_eq!(why_not(operand, result, operation), expected);
        }
    }
}

#[test]
fn reasons_are_structured() {
    let (operand, result) = (array("f32[2,3]{1,0:PAD(2,4)}"), array("f32[6]{0}"));
    let bitcast = Bitcast::new(&operand, &result, &Operation::Reshape).unwrap();
    let Some(Obstacle::Step { operand, result }) = bitcast.obstacle() else {
        panic!("{:?}", bitcast.obstacle());
    };
    assert_eq!((operand.dimension, operand.wrapped), (Some(0), Some(1)));
    assert_eq!((operand.elements, result.elements), (Some(2), Some(1)));
    assert_eq!(operand.bits, 64);
    assert_eq!(operand.cause, Some(Cause::Padding { size: 3, padded: 4 }));
    assert_eq!((result.from, result.to), (vec![2], vec![3]));
}

#[test]
fn free_operations_say_where_the_result_lies() {
    let (operand, result) = (array("f32[8,100]{1,0}"), array("f32[2,100]{1,0}"));
    let slice = Operation::Slice {
        starts: vec![3, 0],
        limits: vec![5, 100],
        strides: vec![1, 1],
    };
    let free = Bitcast::new(&operand, &result, &slice)
        .unwrap()
        .free()
        .unwrap();
    assert_eq!((free.byte_offset, free.bytes_behind), (1200, 1200));
    assert!(free.padding_holds);
    let padded = array("f32[2,3]{1,0:PAD(2,4)}");
    for (result, holds) in [
        ("f32[2,3]{1,0:PAD(2,4)}", true),
        ("f32[2,3]{1,0:PAD(2,4;one)}", false),
        ("f32[2,3]{1,0:PAD(2,4;unknown)}", true),
        ("f32[2,3]{1,0:T(4)}", true),
    ] {
        let result = array(result);
        let free = Bitcast::new(&padded, &result, &Operation::Copy)
            .unwrap()
            .free();
        assert_eq!(free.unwrap().padding_holds, holds, "{result}");
    }
}

/// As fast for huge arrays as for small ones, whether they agree or not.
#[test]
fn huge_arrays_are_decided_at_once() {
    let reshape = &Operation::Reshape;
    for (operand, result, free) in [
        (
            "u8[1000000000,1000000]{1,0:T(8,128)}",
            "u8[500000000,2,1000000]{2,1,0:T(2,128)}",
            false,
        ),
        (
            "u8[1000000000,1024]{1,0:T(8,128)}",
            "u8[125000000,8,1024]{2,1,0:T(8,128)}",
            true,
        ),
        (
            "u8[1000000000]{0:T(4096)(7)}",
            "u8[1000000000]{0:T(4095)(13)}",
            false,
        ),
        (
            "u8[1000000000]{0:T(4096)(7)}",
            "u8[1000000000]{0:T(4096)(7)}",
            true,
        ),
        (
            "u8[1000000000]{0:T(1000)(10)}",
            "u8[1000000000]{0:T(1024)(64)}",
            false,
        ),
        (
            "u8[1048576,1048576]{1,0:T(*,128)}",
            "u8[1048576,1024,1024]{2,1,0:T(*,*,128)}",
            true,
        ),
    ] {
        assert_eq!(
            is_free(operand, result, reshape),
            free,
            "{operand} {result}"
        );
    }
    let ones = vec!["1"; 40].join(",");
    let operand = format!("f32[{ones},7,5]");
    let result = format!("f32[7,{ones},5]");
    assert!(is_free(&operand, &result, reshape));
    let eight = "f32[2,3,2,3,2,3,2,3]{0,1,2,3,4,5,6,7:T(2,2,2)}";
    assert!(why_not(eight, "f32[1296]", reshape).contains("copy of the operand to"));
}

#[test]
fn shapes_that_are_no_operand_and_result_are_errors() {
    let error = |operand: &str, result: &str, operation: &Operation| {
        let (operand, result) = (array(operand), array(result));
        Bitcast::new(&operand, &result, operation)
            .err()
            .unwrap()
            .to_string()
    };
    let slice = |start, limit, stride| Operation::Slice {
        starts: vec![start],
        limits: vec![limit],
        strides: vec![stride],
    };
    let broadcast = |dimensions: &[i64]| Operation::Broadcast {
        dimensions: dimensions.to_vec(),
    };
    for (operand, result, operation, part) in [
        (
            "f32[6]",
            "s32[6]",
            Operation::Copy,
            "holds f32, the result s32",
        ),
        (
            "f32[6]",
            "f32[7]",
            Operation::Copy,
            "dimension 0 of the result is 7; this copy makes it 6",
        ),
        (
            "f32[6]",
            "f32[6,1]",
            Operation::Copy,
            "2 dimensions; this copy makes 1",
        ),
        (
            "f32[6]",
            "f32[7]",
            Operation::Reshape,
            "6 elements, the result 7",
        ),
        (
            "f32[2,3]",
            "f32[2,3]",
            transpose(&[1, 0]),
            "is 2; this transpose makes it 3",
        ),
        (
            "f32[2,3]",
            "f32[3,2]",
            transpose(&[1]),
            "1 dimensions were given",
        ),
        (
            "f32[2,3]",
            "f32[3,2]",
            transpose(&[1, 2]),
            "dimensions[1]: there is no dimension 2",
        ),
        (
            "f32[2,3]",
            "f32[3,2]",
            transpose(&[1, -1]),
            "dimensions[1] is 1, which stands there",
        ),
        (
            "f32[6]",
            "f32[2]",
            slice(5, 7, 1),
            "from 5 to 7; expected 0 <= start <= limit <= 6",
        ),
        ("f32[6]", "f32[2]", slice(2, 4, 0), "steps by 0"),
        (
            "f32[6]",
            "f32[3]",
            slice(2, 4, 1),
            "is 3; this slice makes it 2",
        ),
        (
            "f32[6]",
            "f32[6,2]",
            broadcast(&[1]),
            "dimension 1 of the result is 2",
        ),
        (
            "f32[6]",
            "f32[6,2]",
            broadcast(&[2]),
            "dimensions[0]: there is no dimension 2",
        ),
        (
            "f32[6]",
            "s16[6]",
            Operation::BitcastConvert,
            "has 1 dimensions; this bitcast-convert makes 2",
        ),
        (
            "f32[6]",
            "s16[6,3]",
            Operation::BitcastConvert,
            "f32 is 2 s16s; expected the result's last dimension to be 2, found 3",
        ),
        (
            "s16[6,3]",
            "f32[6]",
            Operation::BitcastConvert,
            "the operand's last dimension to be 2, found 3",
        ),
        ("s16[]", "f32[]", Operation::BitcastConvert, "found none"),
        (
            "f32[6]",
            "c64[3]",
            Operation::BitcastConvert,
            "f32 can't be read as c64",
        ),
        (
            "f32[?]",
            "f32[6]",
            Operation::Reshape,
            "the operand: dimension 0 is unbounded",
        ),
        (
            "f32[6]",
            "f32[?]",
            Operation::Reshape,
            "the result: dimension 0 is unbounded",
        ),
    ] {
        let error = error(operand, result, &operation);
        assert!(error.contains(part), "{operand} {result}: {error}");
    }
    let bare = array("f32[6]").without_layout();
    let error = Bitcast::new(&bare, &array("f32[6]"), &Operation::Copy)
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .starts_with("the operand: f32[6] has no layout")
    );
}
