//! `hlo`: modules and memory reports, as tables, JSON and pages.

mod common;

use std::path::{Path, PathBuf};

use common::{run, run_with};
use serde_json::{Value, json};

fn testing(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testing/hlo")
        .join(name)
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/attention.hlo.txt")
}

/// The object of `--json`.
fn object(file: &Path) -> Value {
    let ran = run(["hlo", file.to_str().unwrap(), "--json"]);
    ran.assert_done();
    ran.json().remove(0)
}

fn instruction<'a>(object: &'a Value, name: &str) -> &'a Value {
    let all = object["instructions"].as_array().unwrap();
    all.iter().find(|i| i["name"] == name).expect(name)
}

#[test]
fn json_has_every_instruction() {
    let object = object(&sample());
    assert_eq!(object["kind"], "module");
    assert_eq!(object["name"], "attention");
    assert_eq!(object["unread"], json!([]));
    assert_eq!(object["instructions"].as_array().unwrap().len(), 22);
    let last = instruction(&object, "fusion.2");
    assert_eq!(last["opcode"], "fusion");
    assert_eq!(last["computation"], "main");
    assert_eq!(last["shape"], "f32[8,512,12,4]{3,2,1,0:T(4,128)}");
    assert_eq!(last["dense_bytes"], 786_432);
    assert_eq!(last["allocated_bytes"], 25_165_824);
    assert_eq!(last["expansion"], 32.0);
    assert_eq!(last["memory"], "own");
    assert_eq!(
        last["relayout"]["from"],
        "f32[8,512,12,4]{1,3,2,0:T(4,128)}"
    );
    assert_eq!(last["relayout"]["class"], "retile");
    assert_eq!(last["relayout"]["bitcast"], false);
    assert_eq!(last["relayout"]["written_bytes"], 25_165_824);
    let better = &last["padded"][0]["better"][0];
    assert_eq!(better["minor_to_major"], json!([1, 2, 3, 0]));
    assert_eq!(better["allocated_bytes"], 786_432);
    assert_eq!(better["transposed"], "f32[8,4,12,512]{3,2,1,0:T(4,128)}");
    // A transpose that its layout makes a bitcast, and what stands in no memory at all.
    assert_eq!(
        instruction(&object, "transpose.1")["relayout"]["bitcast"],
        true
    );
    assert_eq!(instruction(&object, "bitcast.1")["memory"], "shared");
    assert_eq!(instruction(&object, "product")["memory"], "inside");
    assert_eq!(instruction(&object, "mask")["memory"], "argument");
}

#[test]
fn json_of_a_report() {
    let object = object(&testing("reports/segmentation.txt"));
    assert_eq!(object["kind"], "report");
    assert_eq!(object["totals"][0]["name"], "used");
    let first = &object["instructions"][0];
    assert_eq!(first["name"], "cross-replica-sum");
    assert_eq!(first["opcode"], "cross-replica-sum");
    assert_eq!(first["computation"], Value::Null);
    assert_eq!(first["shape"], "f32[256,512,128,2]{3,2,1,0}");
    assert_eq!(first["size"], "8.00G");
    assert_eq!(first["dense_bytes"], 128 << 20);
    assert_eq!(first["allocated_bytes"], 8_i64 << 30);
    assert_eq!(first["explained_by"], "tiles");
    assert_eq!(first["tiles"][0], "T(8,128)");
    assert_eq!(first["memory_space"], "hbm");
}

#[test]
fn standard_input_is_read() {
    let text = std::fs::read(sample()).unwrap();
    let ran = run_with(["hlo", "-", "--json"], &text);
    assert_eq!(ran.assert_done().json()[0], object(&sample()));
}

#[test]
fn tables_are_as_long_as_asked() {
    let file = sample();
    let lines = |top: &str| {
        let ran = run(["hlo", file.to_str().unwrap(), "--top", top]);
        let out = ran.assert_done().out.clone();
        (
            out.lines()
                .filter(|line| line.contains("[8,512,12,64]{3,2,1,0"))
                .count(),
            out,
        )
    };
    let (_, all) = lines("0");
    assert!(all.contains("product") && !all.contains("--top 0"), "{all}");
    let (_, two) = lines("2");
    assert!(two.contains("fusion.2") && !two.contains("keys"), "{two}");
    assert!(two.contains("20 more: --top 0 shows all"), "{two}");
    assert!(two.contains("1 more: --top 0 shows all"), "{two}");
}

#[test]
fn pages_need_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for file in [
        sample(),
        testing("reports/segmentation.txt"),
        testing("fourier.before.txt"),
    ] {
        let page = folder.path().join("page.html");
        let ran = run([
            "hlo".as_ref(),
            file.as_os_str(),
            "--html".as_ref(),
            page.as_os_str(),
        ]);
        assert_eq!(ran.assert_done().out, "");
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.starts_with("<!doctype html>"));
        for outside in ["http:", "https:", "src=", "<link", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        for tag in [
            "div", "table", "tbody", "span", "code", "ul", "li", "p", "h2", "pre",
        ] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}

#[test]
fn pages_escape_what_they_show() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let text = "  1. Size: 4.0K\n     Operator: op_name=\"<script>alert(1)</script>\"\n     Shape: f32[8,7]{1,0:T(8,128)}\n     XLA label: <b>&amp;\n";
    let ran = run_with(
        ["hlo", "-", "--html", page.to_str().unwrap()],
        text.as_bytes(),
    );
    ran.assert_done();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("op_name=&quot;&lt;script&gt;"), "{page}");
    assert!(page.contains("&lt;b&gt;&amp;amp;"), "{page}");
}

#[test]
fn what_cannot_be_read_is_said() {
    let text = "HloModule m\n\nENTRY e {\n  p = f32[2]{0} parameter(0)\n  x = f32[2]{0 negate(p)\n  ROOT y = f32[2]{0} negate(p)\n}\n";
    let ran = run_with(["hlo", "-", "--json"], text.as_bytes());
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.err,
        "minormajor: standard input: line 5, column 16: expected `,`, `:` or `}` behind the \
         minor-to-major order, found `negate`\n"
    );
    let object = ran.json().remove(0);
    assert_eq!(object["instructions"].as_array().unwrap().len(), 2);
    assert_eq!(object["unread"][0]["line"], 5);
    assert_eq!(object["unread"][0]["column"], 16);
    for (text, expected) in [
        (
            "",
            "line 1, column 1: expected an HLO module, or a TPU compiler's report of its largest allocations, found the end",
        ),
        (
            "\n  hello",
            "line 2, column 3: expected an HLO module, or a TPU compiler's report of its largest allocations, found `hello`",
        ),
        ("module @m {\n}", "found MLIR"),
        (
            "HloModule m\nHloModule n",
            "line 2, column 1: expected no second module",
        ),
    ] {
        let ran = run_with(["hlo", "-"], text.as_bytes());
        assert!(ran.assert_failed().contains(expected), "{}", ran.err);
    }
    let ran = run_with(["hlo", "-"], b"HloModule m\n\xff");
    assert!(
        ran.assert_failed().contains("line 2: expected UTF-8"),
        "{}",
        ran.err
    );
    let ran = run(["hlo", "no-such-file.txt"]);
    assert_eq!(
        ran.assert_failed(),
        "minormajor: no-such-file.txt: there is no such file; check the path"
    );
}

#[test]
fn many_faults_are_counted() {
    let text = format!("HloModule m\n{}", "what?\n".repeat(30));
    let ran = run_with(["hlo", "-"], text.as_bytes());
    assert_eq!((ran.code, ran.err.lines().count()), (1, 11));
    assert!(
        ran.err
            .ends_with("20 more places can't be read; --json lists them\n"),
        "{}",
        ran.err
    );
}
