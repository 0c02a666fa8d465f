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
        (at("x.txt"), at("o.npy"), &[], "ends in .npy, .npz, "),
        (picture(), at("o.txt"), &[], "ends in .npy, .npz, "),
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

/// Big-endian floats as NumPy saves them, to halves and back, and through raw files.
#[test]
fn values_change_on_their_way() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let npy = |descr: &str, shape: &str, values: &[u8]| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(format!("{header:<117}\n").bytes());
        bytes.extend(values);
        bytes
    };
    let floats = [1.0f32, -2.0, 65520.0, 0.5, f32::NAN, 3.0];
    let big: Vec<u8> = floats.iter().flat_map(|x| x.to_be_bytes()).collect();
    fs::write(at("big.npy"), npy(">f4", "(2, 3)", &big)).unwrap();
    let big_file = at("big.npy");
    let ran = run(["inspect".as_ref(), big_file.as_os_str()]);
    let said = "array big: big-endian f32[2,3]{1,0}, 24 bytes from byte 128\n";
    assert!(ran.assert_done().out.ends_with(said), "{}", ran.out);
    let ran = run(["inspect".as_ref(), big_file.as_os_str(), "--json".as_ref()]);
    assert_eq!(
        ran.assert_done().json()[0]["arrays"][0]["byte_order"],
        "big"
    );

    let ran = relayout(
        &big_file,
        &at("halves.npy"),
        &["--type", "f16", "--to", "{0,1}"],
    );
    assert!(
        ran.assert_done()
            .out
            .contains("to f16[2,3]{0,1}, 24 bytes read, 12 written"),
        "{}",
        ran.out
    );
    let halves = fs::read(at("halves.npy")).unwrap();
    assert!(halves[10..].starts_with(b"{'descr': '<f2', 'fortran_order': True"));
    let expected: [u16; 6] = [0x3c00, 0x3800, 0xc000, 0x7e00, 0x7c00, 0x4200];
    let expected: Vec<u8> = expected.iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(&halves[128..], expected);

    // A raw file doesn't say its order, so the command does, on both sides.
    let out = ["--dst-endian", "big"];
    relayout(&at("halves.npy"), &at("raw.bin"), &out).assert_done();
    assert!(!at("raw.bin.shape").exists());
    let back = [
        "--shape",
        "f16[2,3]",
        "--src-endian",
        "big",
        "--type",
        "f32",
    ];
    let ran = relayout(&at("raw.bin"), &at("back.npy"), &[&back[..], &out].concat());
    assert!(
        ran.assert_done()
            .out
            .contains("to big-endian f32[2,3]{1,0}, 12 bytes read"),
        "{}",
        ran.out
    );
    let mut rounded = floats;
    rounded[2] = f32::INFINITY;
    let rounded: Vec<u8> = rounded.iter().flat_map(|x| x.to_be_bytes()).collect();
    let back = fs::read(at("back.npy")).unwrap();
    assert!(back[10..].starts_with(b"{'descr': '>f4', 'fortran_order': False"));
    assert_eq!(&back[128..], rounded);

    for (more, cause) in [
        (&["--type", "s32"][..], "f32 can't be converted to s32"),
        (&["--type", "f8e4m3"], "f32 can't be converted to f8e4m3"),
        (
            &["--src-endian", "little"],
            "big.npy: is big-endian, but the order given is little",
        ),
    ] {
        let ran = relayout(&big_file, &at("none.npy"), more);
        assert!(ran.assert_failed().contains(cause), "{}", ran.err);
    }
    let ran = relayout(&big_file, &at("none.npy"), &["--type", "f33"]);
    assert!(
        ran.code == 2 && ran.err.contains("an element type such as"),
        "{}",
        ran.err
    );
}

/// Every second nibble of a raw file: strides of packed elements count elements.
#[test]
fn packed_elements_may_have_strides() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("in.bin"), [0x21, 0x43, 0x65]).unwrap();
    let more = [
        "--shape",
        "u4[3]{0:E(4)}",
        "--src-strides",
        "2",
        "--src-offset",
        "1",
    ];
    relayout(&at("in.bin"), &at("out.bin"), &more).assert_done();
    assert_eq!(fs::read(at("out.bin")).unwrap(), [2, 4, 6]);
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
