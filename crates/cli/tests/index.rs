//! `index`, both ways, for people and as JSON.

mod common;

use common::{run, run_with};
use serde_json::{Value, json};

const SEED: &str = "f32[2,3]{0,1:PAD(3,5)}";

#[test]
fn from_index_to_position_and_back() {
    assert_eq!(
        run(["index", SEED, "1,2"]).assert_done().out,
        "element [1, 2] is at position 7, byte 28\n"
    );
    assert_eq!(
        run(["index", SEED, "--position", "7"]).assert_done().out,
        "element [1, 2] is at position 7, byte 28\n"
    );
    assert_eq!(
        run(["index", SEED, "--position", "2"]).assert_done().out,
        "position 2, byte 8 is padding: it pads the row of element [1, 0]\n"
    );
    assert_eq!(
        run(["index", "f32[3,5]{1,0:T(2,2)}", "--position", "9"])
            .assert_done()
            .out,
        "position 9, byte 36 is padding: it pads the tile of element [0, 4]\n"
    );
    for arguments in [
        &["index", "f32[]"][..],
        &["index", "f32[]", ""],
        &["index", "f32[]", "--position", "0"],
    ] {
        assert_eq!(
            run(arguments).assert_done().out,
            "the scalar is at position 0, byte 0\n"
        );
    }
}

#[test]
fn json_fields() {
    let one = |arguments: &[&str]| -> Value {
        let mut all = vec!["index"];
        all.extend(arguments);
        all.push("--json");
        run(all).assert_done().json().remove(0)
    };
    assert_eq!(
        one(&[SEED, "0,1"]),
        json!({"index": [0, 1], "position": 3, "byte_offset": 12})
    );
    assert_eq!(
        one(&[SEED, "--position", "2"]),
        json!({"position": 2, "byte_offset": 8, "padding": true, "nearest": [1, 0]})
    );
    assert_eq!(
        one(&["s4[5]{0:E(4)}", "2"]),
        json!({"index": [2], "position": 2, "byte_offset": 1, "bit_offset": 0})
    );
    assert_eq!(
        one(&["b(u1[9]{0:E(1)})", "--position=8"]),
        json!({"index": [8], "position": 8, "byte_offset": 1, "bit_offset": 0})
    );
}

#[test]
fn what_is_not_there_is_an_error() {
    for (arguments, column, cause) in [
        (
            &[SEED, "2,0"][..],
            24,
            "index 2 is outside dimension 0, whose size is 2",
        ),
        (
            &[SEED, "-1,0"],
            24,
            "index -1 is outside dimension 0, whose size is 2",
        ),
        (
            &[SEED, "0,-1"],
            26,
            "index -1 is outside dimension 1, whose size is 3",
        ),
        (
            &[SEED, "0"],
            25,
            "the index has 1 numbers, the array has 2 dimensions",
        ),
        (
            &[SEED, "0,0,0"],
            28,
            "the index has 3 numbers, the array has 2 dimensions",
        ),
        (
            &[SEED, "--position", "15"],
            25,
            "position 15 is outside the array's 15 allocated elements",
        ),
        (
            &[SEED, "--position", "-1"],
            25,
            "position -1 is outside the array's 15 allocated elements",
        ),
        (
            &[SEED, "--position", "x"],
            25,
            "expected a position, found `x`",
        ),
        (&["(f32[2])", "0"], 1, "expected an array, found tuple"),
        (&["f32[2,?]", "0,0"], 7, "dimension 1 is unbounded"),
        (&["f32[2", "0"], 6, "expected `,` or `]` behind a dimension"),
    ] {
        let mut all = vec!["index"];
        all.extend(arguments);
        let ran = run(&all);
        let said = ran.assert_failed();
        assert!(
            said.contains(&format!(": column {column}: {cause}")),
            "{said}"
        );
        assert_eq!(ran.out, "");
        all.push("--json");
        let ran = run(&all);
        ran.assert_failed();
        let object = ran.json().remove(0);
        assert_eq!(object["column"], column, "{object}");
        assert!(
            object["error"].as_str().unwrap().starts_with(cause),
            "{object}"
        );
        assert!(object["input"].is_string());
    }
    assert_eq!(run(["index", SEED, "0,0", "--position", "1"]).code, 2);
    run(["index", "-", "0"]).assert_failed();
}

#[test]
fn batch_mode_answers_every_line() {
    let lines =
        "f32[2,3]{0,1}\t1,2\n\nf32[]\t\nf32[2,3]{0,1}\t@1\nf32[2,3]{0,1}\t1,3\r\nf32[\t0\nf32[]";
    let ran = run_with(["index", "-"], lines.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let objects = ran.json();
    assert_eq!(objects.len(), 7);
    assert_eq!(
        objects[0],
        json!({"index": [1, 2], "position": 5, "byte_offset": 20})
    );
    assert_eq!(
        (&objects[1]["input"], &objects[1]["column"]),
        (&json!(""), &json!(1))
    );
    assert_eq!(
        objects[2],
        json!({"index": [], "position": 0, "byte_offset": 0})
    );
    assert_eq!(
        objects[3],
        json!({"index": [1, 0], "position": 1, "byte_offset": 4})
    );
    assert_eq!(
        objects[4],
        json!({
            "input": "f32[2,3]{0,1}\t1,3",
            "error": "index 3 is outside dimension 1, whose size is 3",
            "column": 17
        })
    );
    assert_eq!(objects[5]["column"], 5);
    assert_eq!(objects[6], objects[2]);
}
