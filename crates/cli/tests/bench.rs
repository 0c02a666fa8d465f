//! `bench`, for people and as JSON. Speeds are not judged here, only what is said of them.

mod common;

use common::run;
use serde_json::{Value, json};

fn bench(arguments: &[&str]) -> Value {
    let all = [&["bench", "--json"], arguments].concat();
    run(all).assert_done().json().remove(0)
}

#[test]
fn a_ratio_is_memcpys_time_over_the_relayouts() {
    for (source, destination, bytes) in [
        ("f32[4,4]", "{0,1}", 64),
        (
            "f32[600,401]",
            "{0,1:T(8,128)}",
            (600 * 401 + 640 * 408) * 2,
        ),
        ("u8[1000,3000]", "u8[1000,3000]{0,1}", 3_000_000),
        ("f32[6,10]{1,0:T(*,4)}", "{0,1}", 240),
    ] {
        let found = bench(&[source, destination, "--threads", "2"]);
        let number = |field: &str| found[field].as_f64().expect(field);
        let (median, memcpy) = (number("median_s"), number("memcpy_s"));
        assert_eq!(number("bytes"), f64::from(bytes), "{source}");
        assert_eq!(found["threads"], 2);
        assert!(number("rounds") >= 7.0);
        assert!(median > 1e-9 && median < 10.0, "{median}");
        assert!(memcpy > 1e-10 && memcpy < 10.0, "{memcpy}");
        assert!((number("ratio") * median / memcpy - 1.0).abs() < 1e-6);
        for (quartiles, median) in [("quartiles_s", median), ("memcpy_quartiles_s", memcpy)] {
            let [low, high] = [0, 1].map(|i| found[quartiles][i].as_f64().unwrap());
            assert!(low <= median && median <= high, "{low} {median} {high}");
        }
        assert!(number("predicted_s") > 1e-9);
    }
}

/// What lies between elements is not what memcpy copies.
#[test]
fn views_are_measured() {
    for (strides, source, destination) in [
        (
            ["--src-strides", "256,4", "--dst-strides", "128,4"],
            "f32[1000,16] from byte 0, strides of 256,4 bytes",
            "f32[1000,16] from byte 0, strides of 128,4 bytes",
        ),
        (
            ["--src-strides", "64,-4", "--src-offset", "60"],
            "f32[1000,16] from byte 60, strides of 64,-4 bytes",
            "f32[1000,16]{1,0}",
        ),
    ] {
        let found = bench(&[&["f32[1000,16]", "{1,0}"][..], &strides].concat());
        assert_eq!(found["bytes"], 64_000);
        assert_eq!(found["source"], source);
        assert_eq!(found["destination"], destination);
        assert!(found["ratio"].as_f64().expect("a ratio") > 0.0);
    }
    let ran = run(["bench", "f32[2,3]", "{1,0}", "--src-strides", "4"]);
    let line = ran.assert_failed();
    assert!(line.starts_with("minormajor: 4: column 1: "), "{line}");
}

#[test]
fn nothing_to_move_has_no_ratio() {
    let found = bench(&["f32[0,3]", "{0,1}"]);
    assert_eq!(
        (&found["bytes"], &found["ratio"]),
        (&json!(0), &Value::Null)
    );
    let text = run(["bench", "f32[0,3]", "{0,1}"])
        .assert_done()
        .out
        .clone();
    assert!(text.contains("ratio      none"), "{text}");
}

#[test]
fn what_can_not_be_measured_is_an_error() {
    for (arguments, said) in [
        (["f32[2,3", "{0,1}"], "f32[2,3: column 8: "),
        (["f32[2,3]", "f32[3,2]"], "f32[3,2]: column 1: "),
        (["f32[2,?]", "{0,1}"], "f32[2,?]: column 7: "),
        (
            ["u8[1048576,1048576,64]", "{0,1,2}"],
            "{0,1,2}: the two buffers take 140737488355328 bytes, ",
        ),
    ] {
        let [source, destination] = arguments;
        let ran = run(["bench", source, destination]);
        let line = ran.assert_failed();
        assert!(line.starts_with(&format!("minormajor: {said}")), "{line}");
        let ran = run(["bench", source, destination, "--json"]);
        ran.assert_failed();
        assert!(ran.json()[0]["error"].is_string());
    }
    let ran = run(["bench", "f32[2,3]", "{0,1}", "--threads", "0"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("1 or more"), "{}", ran.err);
}
