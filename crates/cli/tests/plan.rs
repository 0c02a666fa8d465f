//! `plan`, for people and as JSON.

mod common;

use common::run;
use serde_json::{Value, json};

fn plan(source: &str, destination: &str) -> Value {
    run(["plan", "--json", source, destination])
        .assert_done()
        .json()
        .remove(0)
}

#[test]
fn the_padded_seed_as_json() {
    let found = plan("f32[2,3]{1,0}", "{0,1:PAD(3,5)}");
    let mut fields: Vec<&String> = found.as_object().unwrap().keys().collect();
    let mut expected = [
        "class",
        "reason",
        "source_unit_bits",
        "destination_unit_bits",
        "bytes_read",
        "bytes_written",
        "extra_bytes",
        "extra_stack_bytes",
        "boxes",
        "fills",
    ];
    fields.sort_unstable();
    expected.sort_unstable();
    assert_eq!(fields, expected);
    assert_eq!(found["class"], "permute");
    assert!(found["reason"].as_str().unwrap().contains("transpose"));
    let numbers = [
        "source_unit_bits",
        "destination_unit_bits",
        "bytes_read",
        "bytes_written",
        "extra_bytes",
    ];
    assert_eq!(
        numbers.map(|field| found[field].as_i64().unwrap()),
        [32, 32, 24, 60, 0]
    );
    assert_eq!(
        found["boxes"],
        json!([{"source": 0, "destination": 0, "loops": [
            {"extent": 2, "source_stride": 3, "destination_stride": 1},
            {"extent": 3, "source_stride": 1, "destination_stride": 3},
        ]}])
    );
    assert_eq!(
        found["fills"],
        json!([
            {"destination": 2, "loops": [{"extent": 3, "destination_stride": 3}], "value": "zero"},
            {"destination": 9, "loops": [{"extent": 6, "destination_stride": 1}], "value": "zero"},
        ])
    );
}

#[test]
fn a_destination_is_a_shape_or_a_layout() {
    for destination in ["{0,1}", " {0,1}", "f32[2,3]{0,1}"] {
        assert_eq!(
            plan("f32[2,3]", destination),
            plan("f32[2,3]{1,0}", "f32[2,3]{0,1}")
        );
    }
    assert_eq!(plan("f32[1,512]", "{0,1}")["class"], "identity");
    assert_eq!(plan("f32[]", "{}")["class"], "identity");
    assert_eq!(plan("f32[2,3]{0,1}", "f32[2,3]")["class"], "permute");
}

#[test]
fn an_explanation_says_what_was_chosen_and_what_to_expect() {
    let shapes = ["f32[2048,2048]", "{0,1}"];
    let text = run(["plan", shapes[0], shapes[1], "--explain", "--threads", "1"])
        .assert_done()
        .out
        .clone();
    for start in [
        "machine ",
        "touches    32.00M: ",
        "threads    1: in one go",
        "predicted ",
    ] {
        let found = text
            .lines()
            .any(|line| line.trim_start().starts_with(start));
        assert!(found, "{start}\n{text}");
    }
    let object: Value = run(["plan", "--json", "--explain", shapes[0], shapes[1]])
        .assert_done()
        .json()
        .remove(0);
    let explained = &object["explain"];
    assert_eq!(explained["touched_bytes"], 2 * 4 * 2048 * 2048);
    assert!(explained["predicted_s"].as_f64() > Some(0.0));
    assert_eq!(explained["kernels"][0]["bytes"], 4 * 2048 * 2048);
    assert!(explained["bands"].is_null());
    assert!(plan(shapes[0], shapes[1])["explain"].is_null());
}

#[test]
fn an_explanation_says_which_boxes_are_moved_together() {
    // Tiles that cut each other, past all caches.
    let shapes = ["f32[48000,4608]{1,0:T(8,128)}", "{1,0:T(12,96)}"];
    let text = run(["plan", shapes[0], shapes[1], "--explain"])
        .assert_done()
        .out
        .clone();
    let line = |start: &str| {
        text.lines()
            .find(|line| line.trim_start().starts_with(start))
    };
    let together = line("together ").unwrap_or_else(|| panic!("{text}"));
    assert!(together.contains(" bands of up to "), "{text}");
    assert!(
        together.ends_with("whole lines streamed past the caches"),
        "{text}"
    );
    // What each box would do by itself is not what happens.
    let alone = line("box 1 ").unwrap_or_else(|| panic!("{text}"));
    assert!(alone.contains("copy runs of 384 bytes"), "{text}");
    assert!(
        !alone.contains("stores") && !alone.contains("streamed"),
        "{text}"
    );
    let object: Value = run(["plan", "--json", "--explain", shapes[0], shapes[1]])
        .assert_done()
        .json()
        .remove(0);
    let bands = &object["explain"]["bands"];
    let (count, largest) = (bands["count"].as_u64(), bands["largest_bytes"].as_u64());
    let (count, largest) = (count.unwrap(), largest.unwrap());
    // All of the destination lies in some band.
    assert!(count > 1 && count * largest >= 4 * 48000 * 4608, "{object}");
    assert_eq!(
        (&bands["staged"], &bands["streams"]),
        (&false.into(), &true.into())
    );
    assert_eq!(object["explain"]["kernels"][0]["streams"], true);
}

#[test]
fn people_read_loops_outermost_first() {
    let text = run(["plan", "--threads", "1", "f32[1000,1000]", "{1,0:T(8,128)}"])
        .assert_done()
        .out
        .clone();
    for line in [
        "  class    retile",
        "  writes   4096000 bytes (3.91M)",
        "  extra    0 bytes (0B) of heap, 524288 bytes (512.0K) of stack",
        "  2 boxes to move: (extent, source stride, destination stride) in units of 4 bytes, outermost first",
        "    from 896 to 7168: (125, 8000, 8192) (8, 1000, 128) (104, 1, 1)",
        "  1 box to fill: (extent, destination stride)",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn packed_elements_count_in_bits() {
    let found = plan("s4[5]", "{0:E(4)}");
    let numbers = [
        "source_unit_bits",
        "destination_unit_bits",
        "bytes_read",
        "bytes_written",
    ];
    assert_eq!(
        numbers.map(|field| found[field].as_i64().unwrap()),
        [8, 4, 5, 3]
    );
    assert_eq!(
        found["fills"],
        json!([{"destination": 5, "loops": [], "value": "zero"}])
    );
    let text = run(["plan", "s4[2,3]", "{0,1:E(4)}"])
        .assert_done()
        .out
        .clone();
    for part in [
        "a transpose; elements of 1 byte become elements of 4 bits",
        "in bytes and units of 4 bits, outermost first",
        "    from 0 to 0: (2, 3, 1) (3, 1, 2)",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn values_of_another_type_or_byte_order_are_converted() {
    let shapes = ["plan", "f32[2,3]", "bf16[2,3]{0,1}", "--src-endian", "big"];
    let text = run(shapes).assert_done().out.clone();
    for part in [
        "big-endian f32[2,3]{1,0}\nto bf16[2,3]{0,1}\n",
        "a transpose; big-endian f32 becomes bf16\n",
        "  reads    24 bytes (24B)\n  writes   12 bytes (12B)\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let found = run(shapes.iter().chain(&["--json"]))
        .assert_done()
        .json()
        .remove(0);
    assert_eq!(
        found["converts"],
        json!({"from": "big-endian f32", "to": "bf16"})
    );
    // Bytes have no order.
    let ran = run(["plan", "u8[4]", "{0}", "--dst-endian", "big", "--json"]);
    assert_eq!(ran.assert_done().json()[0]["class"], "identity");
    let ran = run(["plan", "f32[2]", "f64[2]"]);
    let said = ran.assert_failed();
    assert!(
        said.contains("f32 can't be converted to f64; expected two of f32, f16 and bf16"),
        "{said}"
    );
    let ran = run(["plan", "f32[2]", "{0}", "--src-endian", "middle"]);
    assert!(
        ran.code == 2 && ran.err.contains("little, big"),
        "{}",
        ran.err
    );
    let ran = run(["plan", "--in-place", "f32[2]", "bf16[2]"]);
    assert!(ran.assert_failed().contains("keeps the element type"));
}

#[test]
fn what_has_no_plan_is_an_error() {
    for (source, destination, input, column) in [
        ("f32[2,3", "{0,1}", "f32[2,3", 8),
        ("f32[2,3]", "{0,1", "{0,1", 5),
        ("f32[2,3]", "{0}", "{0}", 3),
        ("f32[2,3]", "{0,1:PAD(3,2)}", "{0,1:PAD(3,2)}", 12),
        ("f32[2,3]", "f32[3,2]", "f32[3,2]", 1),
        ("f32[2,3]", "s32[2,3]", "s32[2,3]", 1),
        ("f32[2,?]", "{0,1}", "f32[2,?]", 7),
        ("f32[2]", "f32[?]", "f32[?]", 5),
        ("(f32[2])", "{0}", "(f32[2])", 1),
        ("s4[5]", "{0:E(2)}", "{0:E(2)}", 1),
    ] {
        let ran = run(["plan", source, destination]);
        let said = ran.assert_failed();
        assert!(
            said.starts_with(&format!("minormajor: {input}: column {column}: ")),
            "{said}"
        );
        let ran = run(["plan", source, destination, "--json"]);
        ran.assert_failed();
        let object = ran.json().remove(0);
        assert_eq!(
            (&object["input"], &object["column"]),
            (&json!(input), &json!(column))
        );
    }
}

#[test]
fn a_side_may_have_strides() {
    let object = |more: &[&str]| {
        let arguments = ["plan", "--json", "f32[2,3]", "{0,1}"];
        run(arguments.iter().chain(more))
            .assert_done()
            .json()
            .remove(0)
    };
    let strided = object(&["--src-strides", "16,4", "--src-offset", "64"]);
    assert_eq!(strided["boxes"][0]["source"], 16);
    assert_eq!(strided["boxes"][0]["loops"][0]["source_stride"], 4);
    let upside = object(&["--dst-strides", "-16,4", "--dst-offset", "16"]);
    assert_eq!(upside["boxes"][0]["destination"], 4);
    assert_eq!(upside["bytes_written"], 24);
    for (more, cause) in [
        (
            &["--src-strides", "16,x"][..],
            "column 4: expected a whole number",
        ),
        (&["--src-strides", "16"], "2 sizes and 1 strides"),
        (
            &["--src-strides", "16,4", "--src-offset", "-8"],
            "before the buffer",
        ),
        (&["--dst-strides", "4,4"], "overlap"),
    ] {
        let ran = run(["plan", "f32[2,3]", "{0,1}"].iter().chain(more));
        let said = ran.assert_failed();
        assert!(said.contains(cause), "{said}");
    }
}

#[test]
fn a_plan_in_place_has_steps_and_a_bound() {
    let object = |memory: &str| {
        let shapes = ["f32[4096,5003]", "{0,1}"];
        let arguments = ["plan", "--json", "--in-place", "--memory", memory];
        run(arguments.iter().chain(&shapes))
            .assert_done()
            .json()
            .remove(0)
    };
    let none = object("0");
    assert_eq!(none["extra_bytes"], 0);
    assert_eq!(none["buffer_bytes"], 4 * 4096 * 5003);
    let some = object("1MiB");
    assert!(some["extra_bytes"].as_i64().unwrap() <= 1 << 20);
    assert!(some["bytes_moved"].as_i64() <= none["bytes_moved"].as_i64());
    let all = object("1GiB");
    assert!(all["copies"] == true || all["steps"].as_array().unwrap().len() <= 3);
    let text = run(["plan", "--in-place", "f32[64,64]", "{0,1}"])
        .assert_done()
        .out
        .clone();
    assert!(text.contains("1 step, one after another:"), "{text}");
    let ran = run(["plan", "--in-place", "--memory", "much", "f32[2]", "{0}"]);
    assert!(ran.err.contains("expected bytes, such as 0"), "{}", ran.err);
}
