//! `describe`, for people and as JSON.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{command, run, run_with};
use serde_json::{Value, json};

fn describe(shape: &str) -> Value {
    let ran = run(["describe", "--json", shape]);
    ran.assert_done();
    let mut objects = ran.json();
    assert_eq!(objects.len(), 1);
    objects.remove(0)
}

#[test]
fn the_padded_seed_as_json() {
    assert_eq!(
        run(["describe", "--json", "f32[2,3]{0,1:PAD(3,5)}"]).out,
        concat!(
            r#"{"shape":"f32[2,3]{0,1:PAD(3,5)}","element_type":"f32","dimensions":[2,3],"#,
            r#""dynamic":[false,false],"dimension_names":["y","x"],"rank":2,"true_rank":2,"#,
            r#""minor_to_major":[0,1],"tiles":[],"#,
            r#""padding":{"dimensions":[3,5],"value":"zero"},"elements":6,"#,
            r#""allocated_elements":15,"dense_bytes":24,"allocated_bytes":60,"expansion":2.5,"#,
            r#""byte_strides":[4,12],"#,
            r#""proto_hex":"100b1a0202032a0d0a02000112020305180180010132020000"}"#,
            "\n"
        )
    );
}

#[test]
fn every_field_of_an_array() {
    let shape = "f32[<=1,8,100]{2,1,0:T(*,128)(2,1)L(64)E(32)S(1)SC(1:2,4)M(8)}";
    let found = describe(shape);
    for (field, expected) in [
        ("shape", json!(shape)),
        ("element_type", json!("f32")),
        ("dimensions", json!([1, 8, 100])),
        ("dynamic", json!([true, false, false])),
        ("dimension_names", json!(["z", "y", "x"])),
        ("rank", json!(3)),
        ("true_rank", json!(2)),
        ("minor_to_major", json!([2, 1, 0])),
        ("tiles", json!([["*", 128], [2, 1]])),
        ("padding", json!(null)),
        ("elements", json!(800)),
        ("dense_bytes", json!(3200)),
        ("byte_strides", json!(null)),
        ("element_size_bits", json!(32)),
        ("memory_space", json!(1)),
        ("tail_padding", json!(64)),
        (
            "split_configs",
            json!([{"dimension": 1, "split_indices": [2, 4]}]),
        ),
    ] {
        assert_eq!(found[field], expected, "{field}");
    }
}

#[test]
fn fields_without_a_value() {
    let unbounded = describe("bf16[2,?]");
    assert_eq!(unbounded["dimensions"], json!([2, null]));
    assert_eq!(unbounded["dynamic"], json!([false, true]));
    for field in [
        "elements",
        "allocated_elements",
        "dense_bytes",
        "allocated_bytes",
    ] {
        assert_eq!(unbounded[field], Value::Null, "{field}");
    }
    assert_eq!(
        (&unbounded["expansion"], &unbounded["byte_strides"]),
        (&Value::Null, &Value::Null)
    );

    let empty = describe("f32[0,3]");
    assert_eq!(
        (&empty["dense_bytes"], &empty["expansion"]),
        (&json!(0), &Value::Null)
    );

    let plain = describe("f32[7,5,3,2,2]");
    assert_eq!(plain["dimension_names"], json!([]));
    assert_eq!(plain["expansion"], json!(1.0));
    for field in [
        "element_size_bits",
        "memory_space",
        "tail_padding",
        "split_configs",
    ] {
        assert!(plain.get(field).is_none(), "{field}");
    }

    let packed = describe("s4[3,5]{1,0:E(4)}");
    assert_eq!(
        (&packed["dense_bytes"], &packed["byte_strides"]),
        (&json!(8), &Value::Null)
    );
    let scalar = describe("f64[]");
    assert_eq!(
        (&scalar["byte_strides"], &scalar["minor_to_major"]),
        (&json!([]), &json!([]))
    );
}

#[test]
fn shapes_that_are_no_arrays() {
    assert_eq!(
        describe("token[]"),
        json!({"shape": "token[]", "element_type": "token", "proto_hex": "1011"})
    );
    let opaque = describe("opaque[]");
    assert_eq!(opaque["element_type"], "opaque");
    let tuple = describe("(f32[2], (), (token[], u8[3]{0:T(4)}))");
    assert_eq!(tuple["shape"], "(f32[2]{0}, (), (token[], u8[3]{0:T(4)}))");
    assert_eq!(tuple["tuple"][0], describe("f32[2]"));
    assert_eq!(tuple["tuple"][1], describe("()"));
    assert_eq!(tuple["tuple"][1]["tuple"], json!([]));
    assert_eq!(tuple["tuple"][2]["tuple"][1], describe("u8[3]{0:T(4)}"));
    assert_eq!(tuple.as_object().unwrap().len(), 3);
    let buffer = describe("b(f32[2])");
    assert_eq!(buffer["buffer"], describe("f32[2]"));
    assert_eq!(buffer["shape"], "b(f32[2]{0})");
    assert_eq!(buffer.as_object().unwrap().len(), 3);
}

#[test]
fn people_read_the_same_facts() {
    let text = run([
        "describe",
        "bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)S(1)}",
    ])
    .out;
    for line in [
        "  names             p = 2048, z = 1, y = 2048, x = 128",
        "  rank              4, true rank 3",
        "  minor to major    [0, 1, 3, 2]",
        "  tiles             (4,128), then (2,1)",
        "  memory space      1",
        "  dense bytes       1073741824 (1.00G)",
        "  allocated bytes   4294967296 (4.00G)",
        "  expansion         3.00G (4.0x expansion)",
        "  byte strides      none: tiles cut the dimensions",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let tuple = run(["describe", "(f32[2,3]{0,1:PAD(3,5)}, (token[], u8[4]))"]).out;
    for line in [
        "  type              tuple of 2 elements",
        "  {0} f32[2,3]{0,1:PAD(3,5)}",
        "  {1,0} token[]",
        "  {1,1} u8[4]{0}",
        "  total of 2 arrays",
        "  allocated bytes   64 (64B)",
        "  expansion         36B (2.3x expansion)",
    ] {
        assert!(tuple.lines().any(|found| found == line), "{line}\n{tuple}");
    }
    let rows = run(["describe", "f32[2,3]"]).out;
    assert!(
        rows.contains("[1, 0]: dim 0 is major (row-major)"),
        "{rows}"
    );
    let columns = run(["describe", "f32[2,3]{0,1}"]).out;
    assert!(
        columns.contains("[0, 1]: dim 0 is minor (column-major)"),
        "{columns}"
    );
}

#[test]
fn a_wrong_shape_is_one_line_and_the_others_are_described() {
    let ran = run(["describe", "f32[2]", "f32[2,", "f32[3]"]);
    assert_eq!(
        ran.assert_failed(),
        "minormajor: f32[2,: column 7: expected a size, a bound (`<=8`) or `?`, found the end"
    );
    assert!(
        ran.out.contains("f32[2]{0}\n") && ran.out.contains("f32[3]{0}\n"),
        "{}",
        ran.out
    );

    let ran = run(["describe", "--json", "f32[2]", "f32[2,", "f32[3]"]);
    ran.assert_failed();
    let objects = ran.json();
    assert_eq!(objects.len(), 3);
    assert_eq!(
        (&objects[1]["input"], &objects[1]["column"]),
        (&json!("f32[2,"), &json!(7))
    );
}

#[test]
fn batch_mode_answers_every_line() {
    let ran = run_with(
        ["describe", "-"],
        b"f32[2]\n\n  \nf33[2]\n\xff\xfe\nu8[3] // three\r\n(token[])",
    );
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let objects = ran.json();
    assert_eq!(objects.len(), 7);
    assert_eq!(objects[0], describe("f32[2]"));
    assert_eq!(
        (&objects[1]["input"], &objects[1]["column"]),
        (&json!(""), &json!(1))
    );
    assert_eq!(
        (&objects[2]["input"], &objects[2]["column"]),
        (&json!("  "), &json!(3))
    );
    assert_eq!(
        (&objects[3]["input"], &objects[3]["column"]),
        (&json!("f33[2]"), &json!(1))
    );
    assert_eq!(objects[4]["column"], 1);
    assert!(objects[4]["error"].as_str().unwrap().contains("UTF-8"));
    assert_eq!(objects[5], describe("u8[3]"));
    assert_eq!(objects[6], describe("(token[])"));
    run_with(["describe", "-"], b"f32[2]\n").assert_done();
    run_with(["describe", "-"], b"").assert_done();
}

#[test]
fn batch_mode_stands_among_shapes() {
    let ran = run_with(["describe", "f32[2]", "-", "f32[4]"], b"f32[3]\n");
    let shapes: Vec<Value> = ran
        .assert_done()
        .json()
        .iter()
        .map(|object| object["shape"].clone())
        .collect();
    assert_eq!(shapes, ["f32[2]{0}", "f32[3]{0}", "f32[4]{0}"]);
}

#[test]
fn batch_mode_talks_line_by_line() {
    let mut child = command()
        .args(["describe", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for shape in ["f32[2]{0}", "u8[3]{0}"] {
        writeln!(stdin, "{shape}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(
            line.starts_with(&format!("{{\"shape\":\"{shape}\"")),
            "{line}"
        );
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = command()
        .args(["describe", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let lines = "f32[2,3]{1,0}\n".repeat(50_000);
        let _ = stdin.write_all(lines.as_bytes());
    });
    let mut first = [0; 10];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let status = child.wait().unwrap();
    writer.join().unwrap();
    let mut err = String::new();
    child.stderr.unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((status.code(), err.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn streams_that_fail_are_named() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = command()
        .args(["describe", "f32[2]"])
        .stdout(full)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(said.starts_with("minormajor: standard output: "), "{said}");

    let folder = std::fs::File::open("/").unwrap();
    let output = command()
        .args(["describe", "-"])
        .stdin(folder)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("minormajor: standard input: "), "{said}");
}

/// Time limits are wide: tests run unoptimised, beside others.
fn soon(what: &str, started: Instant) {
    let took = started.elapsed();
    assert!(took < Duration::from_secs(20), "{what} took {took:?}");
}

#[test]
fn hostile_lines_are_answered_soon() {
    for (what, line) in [
        ("parentheses", "(".repeat(100_000)),
        (
            "closed parentheses",
            "(".repeat(100_000) + &")".repeat(100_000),
        ),
        ("digits", format!("f32[{}]", "9".repeat(1 << 20))),
        ("small digits", format!("f32[{}1]", "0".repeat(1 << 20))),
        ("commas", format!("f32[{}", ",".repeat(1 << 20))),
        ("letters", "f".repeat(1 << 20)),
        ("tiles", format!("f32[8]{{0:T{}}}", "(1)".repeat(100_000))),
        ("nul", "\0".repeat(1000)),
        ("comment", "/*".repeat(100_000)),
    ] {
        let started = Instant::now();
        let ran = run_with(["describe", "-"], format!("{line}\nf32[2]\n").as_bytes());
        soon(what, started);
        let objects = ran.json();
        assert_eq!(objects.len(), 2, "{what}");
        assert_eq!(objects[1]["elements"], 2, "{what}");
        if let Some(column) = objects[0].get("column") {
            assert!(column.as_u64().unwrap() <= line.len() as u64 + 1, "{what}");
        }
    }
}

#[test]
fn deep_tuples_use_no_stack() {
    let depth = 1000;
    let line = "(".repeat(depth) + "u8[2]" + &")".repeat(depth);
    let ran = run_with(["describe", "-"], line.as_bytes());
    ran.assert_done();
    assert_eq!(ran.out.matches("\"tuple\":[").count(), depth);
    assert_eq!(
        run(["describe", &line])
            .assert_done()
            .out
            .matches("u8[2]{0}")
            .count(),
        2
    );
}

#[test]
fn ten_thousand_shapes_are_described_soon() {
    let started = Instant::now();
    let lines: String = (0..10_000)
        .map(|i| format!("bf16[{},{}]{{1,0:T(8,128)(2,1)}}\n", i + 1, 2 * i + 1))
        .collect();
    let ran = run_with(["describe", "-"], lines.as_bytes());
    soon("10,000 shapes", started);
    assert_eq!(ran.assert_done().out.lines().count(), 10_000);
}

#[test]
fn usage_errors_exit_with_two() {
    for arguments in [
        &["describe"][..],
        &["describe", "--what", "f32[2]"],
        &["nothing"],
        &[],
    ] {
        assert_eq!(run(arguments).code, 2, "{arguments:?}");
    }
}
