//! `relayout` and `inspect` on real files.

mod common;

use std::fs;
use std::path::Path;

use common::{Ran, picture, run};
use serde_json::json;

fn relayout(input: &Path, output: &Path, more: &[&str]) -> Ran {
    let mut arguments = vec!["relayout".as_ref(), input.as_os_str(), output.as_os_str()];
    arguments.extend(
        more.iter()
            .map(|argument| -> &std::ffi::OsStr { argument.as_ref() }),
    );
    run(arguments)
}

#[test]
fn a_picture_to_other_layouts_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let columns = relayout(&picture(), &at("columns.npy"), &["--to", "{0,1,2}"]);
    assert_eq!(columns.assert_done().out.lines().count(), 1);
    for part in [
        "columns.npy: permute to u8[512,512,3]{0,1,2}, 786432 bytes read, 786432 written in ",
        " GB/s), ",
    ] {
        assert!(columns.out.contains(part), "{}", columns.out);
    }
    relayout(
        &at("columns.npy"),
        &at("tiles.bin"),
        &["--to", "{1,0,2:T(8,128)}", "--threads", "2"],
    )
    .assert_done();
    let shape = fs::read_to_string(at("tiles.bin.shape")).unwrap();
    assert_eq!(shape.trim_end(), "u8[512,512,3]{1,0,2:T(8,128)}");
    let quiet = relayout(&at("tiles.bin"), &at("back.npy"), &["--quiet"]);
    assert_eq!(quiet.assert_done().out, "");
    assert_eq!(
        fs::read(at("back.npy")).unwrap(),
        fs::read(picture()).unwrap()
    );
    fs::remove_file(at("tiles.bin.shape")).unwrap();
    assert!(
        relayout(&at("tiles.bin"), &at("again.npy"), &[])
            .assert_failed()
            .contains("tiles.bin.shape")
    );
    relayout(&at("tiles.bin"), &at("again.npy"), &["--shape", &shape]).assert_done();
    assert_eq!(
        fs::read(at("again.npy")).unwrap(),
        fs::read(picture()).unwrap()
    );
}

#[test]
fn a_relayout_that_can_t_be_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("short.bin"), [1, 2, 3]).unwrap();
    fs::write(at("short.bin.shape"), "u8[4]{0}").unwrap();
    fs::write(at("bad.npy"), b"\x93NUMPY\x01\x00\x76\x00{").unwrap();
    fs::write(at("x.txt"), "x").unwrap();
    let before = fs::read_dir(folder.path()).unwrap().count();
    for (input, output, more, cause) in [
        (
            at("none.npy"),
            at("o.npy"),
            &[][..],
            "there is no such file",
        ),
        (at("short.bin"), at("o.npy"), &[], "truncated"),
        (at("bad.npy"), at("o.npy"), &[], "bad.npy: "),
        (at("x.txt"), at("o.npy"), &[], "ends in .npy or .bin"),
        (picture(), at("o.txt"), &[], "ends in .npy or .bin"),
        (picture(), at("no/o.npy"), &[], "there is no directory"),
        (picture(), folder.path().to_path_buf(), &[], "minormajor: "),
        (
            picture(),
            at("o.npy"),
            &["--to", "{2,1,0:T(8,128)}"],
            "choose an output that ends in .bin",
        ),
        (
            picture(),
            at("o.npy"),
            &["--to", "{1,0}"],
            "the minor-to-major order has 2 dimensions, the shape has 3",
        ),
        (
            picture(),
            at("o.npy"),
            &["--to", "{1,0"],
            "minormajor: {1,0: column 5: expected",
        ),
        (
            picture(),
            at("o.npy"),
            &["--shape", "u8[2"],
            "minormajor: u8[2: column 5: expected",
        ),
        (
            picture(),
            at("o.npy"),
            &["--shape", "u8[2]"],
            "leave it out, or give the same",
        ),
    ] {
        let ran = relayout(&input, &output, more);
        assert!(ran.assert_failed().contains(cause), "{}", ran.err);
        assert_eq!(ran.out, "");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            before,
            "{}",
            ran.err
        );
    }
    let same = relayout(&at("short.bin"), &at("short.bin"), &["--shape", "u8[3]"]);
    assert!(same.assert_failed().contains("choose another output"));
    assert_eq!(fs::read(at("short.bin")).unwrap(), [1, 2, 3]);
    for threads in ["0", "x", "-1"] {
        assert_eq!(
            relayout(&picture(), &at("o.npy"), &["--threads", threads]).code,
            2
        );
    }
}

#[test]
fn inspect_says_what_files_hold() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("raw.bin");
    fs::write(&raw, [0; 60]).unwrap();
    fs::write(
        folder.path().join("raw.bin.shape"),
        "f32[2,3]{0,1:PAD(3,5)}\n",
    )
    .unwrap();
    let picture = picture();
    let ran = run([
        "inspect".as_ref(),
        picture.as_os_str(),
        raw.as_os_str(),
        "--json".as_ref(),
    ]);
    let objects = ran.assert_done().json();
    assert_eq!(
        objects[0],
        json!({
            "file": picture.to_str().unwrap(),
            "format": "npy",
            "arrays": [{"name": "astronaut", "shape": "u8[512,512,3]{2,1,0}"}]
        })
    );
    assert_eq!(
        objects[1]["arrays"],
        json!([{"name": "raw", "shape": "f32[2,3]{0,1:PAD(3,5)}"}])
    );
    let text = run(["inspect".as_ref(), raw.as_os_str()])
        .assert_done()
        .out
        .clone();
    assert!(
        text.ends_with("raw.bin: bin, array raw: f32[2,3]{0,1:PAD(3,5)}, 60 bytes from byte 0\n"),
        "{text}"
    );

    let ran = run([
        "inspect".as_ref(),
        "none.npy".as_ref(),
        raw.as_os_str(),
        "--json".as_ref(),
    ]);
    ran.assert_failed();
    let objects = ran.json();
    assert_eq!(
        (&objects[0]["input"], &objects[0]["column"]),
        (&json!("none.npy"), &json!(null))
    );
    assert_eq!(objects[1]["format"], "bin");
}
