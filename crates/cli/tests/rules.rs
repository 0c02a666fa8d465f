//! `relayout` of files of many arrays, by rules.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Ran, run};

fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/tiny.safetensors")
}

fn relayout(input: &Path, output: &Path, more: &[&str]) -> Ran {
    let mut arguments = vec!["relayout".as_ref(), input.as_os_str(), output.as_os_str()];
    arguments.extend(
        more.iter()
            .map(|argument| -> &std::ffi::OsStr { argument.as_ref() }),
    );
    run(arguments)
}

#[test]
fn rules_come_from_arguments_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let toml = at("rules.toml");
    fs::write(&toml, "rules = ['conv.*: OIHW -> HWIO', '*: OI -> IO']\n").unwrap();
    let file = ["--rules", toml.to_str().unwrap()];
    let ran = relayout(&tiny(), &at("a.safetensors"), &file);
    let said = "a.safetensors: 2 of 3 arrays moved, 2976 bytes read, 2976 written in ";
    assert!(ran.assert_done().out.contains(said), "{}", ran.out);
    // Those of the command line come first.
    let more = [&["--rule", "dense.*: AB -> AB", "--json"][..], &file].concat();
    let ran = relayout(&tiny(), &at("b.safetensors"), &more);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let object = &ran.json()[0];
    let arrays: Vec<_> = object["arrays"]
        .as_array()
        .unwrap()
        .iter()
        .map(|array| (array["to"].as_str().unwrap(), array["rule"].as_i64()))
        .collect();
    assert_eq!(
        arrays,
        [
            ("f32[3,3,3,8]{3,2,1,0}", Some(2)),
            ("f32[16]{0}", None),
            ("f32[16,32]{1,0}", Some(1)),
        ]
    );
    assert!(object["elapsed_s"].as_f64().unwrap() > 0.0);
    // All its arrays went to rule 1.
    assert_eq!(object["unused_rules"][0]["rule"], "*: OI -> IO");
    assert!(
        ran.err
            .contains("warning: no array goes by the rule '*: OI -> IO'")
    );

    let back = [
        "--rule",
        "conv.*: HWIO -> OIHW",
        "--rule",
        "*: IO -> OI",
        "--quiet",
    ];
    let ran = relayout(&at("a.safetensors"), &at("back.safetensors"), &back);
    assert_eq!(ran.assert_done().out, "");
    assert!(fs::read(at("back.safetensors")).unwrap() == fs::read(tiny()).unwrap());
}

#[test]
fn a_dry_run_says_all_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.npz");
    let rules = ["--rule", "dense.weight: {0,1}", "--dry-run"];
    let ran = relayout(&tiny(), &output, &rules);
    let lines: Vec<Vec<&str>> = ran
        .assert_done()
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        [
            "bytes", "time", "rule", "class", "type", "array", "from", "to"
        ]
    );
    let row = lines
        .iter()
        .find(|line| line.contains(&"dense.weight"))
        .unwrap();
    assert_eq!(row[0], "2.0K");
    assert_eq!(
        row[3..],
        [
            "1",
            "permute",
            "f32",
            "dense.weight",
            "[16,32]{1,0}",
            "[16,32]{0,1}"
        ]
    );
    assert!(
        ran.out
            .contains("3 arrays, 1 of them moved: 2.9K read, 2.9K written"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.ends_with("no place for the metadata format\n"),
        "{}",
        ran.out
    );
    let ran = relayout(&tiny(), &output, &[&rules[..], &["--json"]].concat());
    let object = &ran.assert_done().json()[0];
    assert_eq!(object["arrays"][2]["class"], "permute");
    assert_eq!(object["metadata_lost"][0], "format");
    assert_eq!(object.get("elapsed_s"), None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_wrong_with_rules_is_said_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let toml = at("rules.toml");
    fs::write(&toml, "rules = [\n  '*: OI -> OO',\n]\n").unwrap();
    let toml = toml.to_str().unwrap();
    for (more, cause) in [
        (
            &["--rule", "*.weight {0,1}"][..],
            "*.weight {0,1}: column 10: expected a colon behind the pattern",
        ),
        (
            &["--rules", toml],
            "*: OI -> OO: column 11: expected each dimension",
        ),
        (&["--rules", toml], "rules.toml, line 2)"),
        (
            &["--rules", "none.toml"],
            "none.toml: can't read the rules in it",
        ),
        (
            &["--rule", "dense.weight: {0,1}"],
            "\"dense.weight\", f32[16,32]{0,1}, is not; choose an output that ends in .npz",
        ),
        (
            &["--strict", "--rule", "*.wieght: {1,0}"],
            "no array goes by the rule '*.wieght: {1,0}': none has such a name; correct it",
        ),
        (
            &["--rule", "*: {1,0}", "--to", "{1,0}"],
            "\"conv.weight\": f32[8,3,3,3]{3,2,1,0} can't have the layout {1,0}",
        ),
    ] {
        let ran = relayout(&tiny(), &at("out.safetensors"), more);
        assert!(ran.assert_failed().contains(cause), "{}", ran.err);
        assert!(!at("out.safetensors").exists());
    }
    let ran = relayout(
        &tiny(),
        &at("o.safetensors"),
        &["--json", "--rule", "*: OI -> OO"],
    );
    ran.assert_failed();
    assert_eq!(ran.json()[0]["column"], 11);
}
