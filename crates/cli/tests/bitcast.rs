//! `bitcast`, for people and as JSON.

mod common;

use common::run;
use serde_json::{Value, json};

fn bitcast(arguments: &[&str]) -> Value {
    let arguments = ["bitcast", "--json"].iter().chain(arguments);
    run(arguments).assert_done().json().remove(0)
}

#[test]
fn free_operations_as_json() {
    let found = bitcast(&["f32[2,3]", "f32[6]", "--reshape"]);
    assert_eq!(
        found,
        json!({"operation": "reshape", "operand": "f32[2,3]{1,0}", "result": "f32[6]{0}",
            "free": true, "byte_offset": 0, "bytes_behind": 0, "padding_holds": true})
    );
    let found = bitcast(&["f32[8,100]", "f32[2,100]", "--slice", "[3:5],[0:100]"]);
    assert_eq!(
        (&found["free"], &found["byte_offset"]),
        (&json!(true), &json!(1200))
    );
    let found = bitcast(&["f32[3]", "f32[3,1]", "--broadcast", "0"]);
    assert_eq!(found["free"], true);
    let found = bitcast(&["f32[6]", "s8[6,4]", "--convert"]);
    assert_eq!(found["free"], true);
    let found = bitcast(&["f32[2,3]{1,0}", "f32[3,2]{0,1}", "--transpose", "-1,-2"]);
    assert_eq!(found["free"], true);
}

#[test]
fn reasons_as_json() {
    let found = bitcast(&["f32[2,3]{1,0:PAD(2,4)}", "f32[6]", "--reshape"]);
    assert_eq!(found["free"], false);
    assert!(
        found["why_not"]
            .as_str()
            .unwrap()
            .contains("padded from 3 to 4")
    );
    assert_eq!(
        found["obstacle"],
        json!({"kind": "step",
            "operand": {"dimension": 0, "wrapped": 1, "from": [0, 2], "to": [1, 0],
                "bits": 64, "elements": 2, "cause": {"padding": {"size": 3, "padded": 4}}},
            "result": {"dimension": 0, "wrapped": null, "from": [2], "to": [3],
                "bits": 32, "elements": 1}})
    );
    assert_eq!(
        found["smallest_copy"],
        json!({"shape": "f32[2,3]{1,0}", "bytes": 24})
    );
    assert_eq!(found["nearest_layout"], Value::Null);
    let found = bitcast(&["f32[2,3]", "{0,1}", "--copy"]);
    assert_eq!(
        found["nearest_layout"],
        json!({"shape": "f32[2,3]{1,0}", "moved_dimensions": 2, "padding_elements": 0})
    );
    for (arguments, kind) in [
        (["f32[4]", "f32[3,4]", "--broadcast=1"], "repeated"),
        (["f32[6]", "{0:T(8)}", "--copy"], "allocation"),
        (["s4[6]", "{0:E(4)}", "--copy"], "element_size"),
        (
            ["s4[6]{0:E(4)}", "s4[2]{0:E(4)}", "--slice=1:3"],
            "inside_byte",
        ),
        (["f32[6]", "{0:S(1)}", "--copy"], "memory_space"),
    ] {
        assert_eq!(
            bitcast(&arguments)["obstacle"]["kind"],
            kind,
            "{arguments:?}"
        );
    }
}

#[test]
fn the_shapes_say_the_operation() {
    for (operand, result, operation) in [
        ("f32[2,3]", "{0,1}", "copy"),
        ("f32[2,3]", "f32[3,2]{0,1}", "transpose, dimensions={1,0}"),
        ("f32[2,3]", "f32[3,2]{1,0}", "reshape"),
        ("f32[2,3]", "s32[2,3]", "bitcast-convert"),
    ] {
        assert_eq!(bitcast(&[operand, result])["operation"], operation);
    }
}

#[test]
fn people_read_what_to_do() {
    let text = run(["bitcast", "f32[16,256]{1,0:T(8,128)}", "{1,0}"])
        .assert_done()
        .out
        .clone();
    for line in [
        "  free     no",
        "  why      the operand goes from [0, 127] to [0, 128] (dimension 1, where a tile ends) \
         by 897 elements, the result from [0, 127] to [0, 128] (dimension 1) by 1 element",
        "  copy     the operand to f32[16,256]{1,0}",
        "           16384 bytes (16.0K), then it is free",
        "  layout   it is free to f32[16,256]{1,0:T(8,128)}",
        "           0 dimensions moved, 0 elements of padding",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn what_is_no_question_is_an_error() {
    for (arguments, input, column) in [
        (["f32[2,3", "{0,1}", "--copy"], "f32[2,3", 8),
        (["f32[2,3]", "{0}", "--copy"], "{0}", 3),
        (["f32[2,?]", "{0,1}", "--copy"], "f32[2,?]", 7),
        (["f32[2,3]", "f32[7]", "--reshape"], "f32[7]", 1),
        (["f32[2,3]", "s32[6]", "--reshape"], "s32[6]", 1),
        (["f32[2,3]", "f32[3,2]", "--transpose=1,x"], "1,x", 3),
        (["f32[2,3]", "f32[3,2]", "--transpose=1,1"], "1,1", 1),
        (["f32[2,3]", "f32[2,2]", "--slice=0:2,0"], "0:2,0", 5),
        (["f32[2,3]", "f32[2,2]", "--slice=0:2,0:4"], "0:2,0:4", 1),
        (["f32[2,3]", "s16[2,3]", "--convert"], "s16[2,3]", 1),
    ] {
        let ran = run(["bitcast"].iter().chain(&arguments));
        let said = ran.assert_failed();
        let expected = format!("minormajor: {input}: column {column}: ");
        assert!(said.starts_with(&expected), "{said}");
        let ran = run(["bitcast", "--json"].iter().chain(&arguments));
        ran.assert_failed();
        let object = ran.json().remove(0);
        assert_eq!(
            (&object["input"], &object["column"]),
            (&json!(input), &json!(column))
        );
    }
    let ran = run(["bitcast", "f32[2]", "f32[2]", "--copy", "--reshape"]);
    assert_eq!(ran.code, 2);
}
