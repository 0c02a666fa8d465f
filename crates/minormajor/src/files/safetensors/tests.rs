use std::io::Cursor;

use super::*;
use crate::files::{FileInfo, inspect, inspect_reader};

fn shape(text: &str) -> ArrayShape {
    let shape: minormajor_core::Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

fn array(name: &str, text: &str) -> Array {
    Array::new(name.to_owned(), shape(text), ByteOrder::Little, 0)
}

/// A file of these arrays, all of whose bytes are 7.
fn file(arrays: &[(&str, &str)], metadata: &[(&str, &str)]) -> Vec<u8> {
    let contents = Contents {
        arrays: arrays
            .iter()
            .map(|(name, text)| array(name, text))
            .collect(),
        metadata: metadata
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        ..Contents::default()
    };
    for array in &contents.arrays {
        assert_eq!(Safetensors.refuses(array), None, "{}", array.name);
    }
    let frame = Safetensors.frame(Path::new("a"), &contents).unwrap();
    let mut file = vec![7; frame.length as usize];
    for (at, piece) in frame.pieces {
        file[at as usize..at as usize + piece.len()].copy_from_slice(&piece);
    }
    file
}

fn raw(header: &str, data: usize) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.resize(file.len() + data, 7);
    file
}

fn read(bytes: &[u8]) -> Result<FileInfo, FileError> {
    inspect_reader("a.safetensors", Cursor::new(bytes))
}

#[test]
fn what_is_written_is_read() {
    let bytes = file(
        &[
            ("b", "f32[2,3]{1,0}"),
            ("half \"packed\"\n", "f4e2m1fn[3,4]{1,0:E(4)}"),
            ("none", "s64[0,5]{1,0}"),
            ("six", "f6e2m3fn[4]{0:E(6)}"),
            ("scalar", "bf16[]"),
        ],
        &[("format", "pt"), ("a", "\u{1f980}\\")],
    );
    let info = read(&bytes).unwrap();
    let shapes: Vec<_> = info
        .arrays
        .iter()
        .map(|array| {
            (
                &*array.name,
                array.shape.to_string(),
                bytes.len() as u64 - array.offset,
            )
        })
        .collect();
    // The widest elements first.
    let expected = [
        ("none", "s64[0,5]{1,0}", 35),
        ("b", "f32[2,3]{1,0}", 35),
        ("scalar", "bf16[]", 11),
        ("half \"packed\"\n", "f4e2m1fn[3,4]{1,0:E(4)}", 9),
        ("six", "f6e2m3fn[4]{0:E(6)}", 3),
    ];
    for (found, (name, text, offset)) in shapes.iter().zip(expected) {
        assert_eq!((found.0, &*found.1, found.2), (name, text, offset));
    }
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        info.metadata,
        [pair("format", "pt"), pair("a", "\u{1f980}\\")]
    );
    assert_eq!(info.arrays[1].offset % 8, 0);
}

#[test]
fn every_type_has_its_name_and_bits() {
    let mut held = 0;
    for &element_type in minormajor_core::ElementType::ALL {
        let plain = ArrayShape::new(element_type, [8]).unwrap();
        let shape = dense(&plain).unwrap();
        let array = Array::new("x".to_owned(), shape.clone(), ByteOrder::Little, 0);
        if Safetensors.refuses(&array) == Some(Refusal::Type) {
            continue;
        }
        held += 1;
        let info = read(&file(&[("x", &shape.to_string())], &[])).unwrap();
        assert_eq!(info.arrays[0].shape, shape);
    }
    assert_eq!(held, 22);
}

#[test]
fn layouts_that_it_has_no_word_for_are_refused() {
    for text in [
        "f32[2,3]{0,1}",
        "f32[2,3]{1,0:T(2,2)}",
        "f32[2,3]{1,0:PAD(2,4)}",
        "f4e2m1fn[4]{0}",
        "u8[4]{0:E(16)}",
    ] {
        let refusal = Safetensors.refuses(&array("x", text));
        let Some(Refusal::Limit(limit)) = refusal else {
            panic!("{text}: {refusal:?}");
        };
        assert!(limit.contains("major to minor"), "{text}: {limit}");
    }
    // The same bytes, said otherwise.
    assert_eq!(Safetensors.refuses(&array("x", "f32[1,3]{0,1}")), None);
    assert_eq!(
        Safetensors.refuses(&array("x", "c128[1]{0}")),
        Some(Refusal::Type)
    );
    let big = Array::new("x".to_owned(), shape("f32[2]{0}"), ByteOrder::Big, 0);
    assert_eq!(
        Safetensors.refuses(&big),
        Some(Refusal::Limit("little-endian numbers"))
    );
}

#[test]
fn names_that_stand_twice_are_not_written() {
    for names in [["x", "x"], ["x", "__metadata__"]] {
        let contents = Contents {
            arrays: names.map(|name| array(name, "u8[1]{0}")).to_vec(),
            ..Contents::default()
        };
        let error = Safetensors.frame(Path::new("a"), &contents).unwrap_err();
        assert!(matches!(error, FileError::ArrayName { .. }), "{error}");
    }
}

#[test]
fn lies_are_errors_that_say_where() {
    let one = r#""dtype":"U8","shape":[4],"data_offsets":"#;
    for (header, data, expected) in [
        ("", 0, "byte 8: expected {, found "),
        (" {}", 0, "byte 8: expected {"),
        ("[]", 0, "byte 8: expected {, found []"),
        ("{} x", 0, "trailing characters"),
        (
            "{}",
            1,
            "expected 0 bytes of arrays up to the end of the file, found 1",
        ),
        (
            &format!(r#"{{"a":{{{one}[0,4]}}}}"#),
            3,
            "expected 4 bytes of arrays up",
        ),
        (
            &format!(r#"{{"a":{{{one}[0,4]}}}}"#),
            5,
            "expected 4 bytes of arrays up",
        ),
        (
            &format!(r#"{{"a":{{{one}[0,4]}},"a":{{{one}[4,8]}}}}"#),
            8,
            "found the name \"a\" twice",
        ),
        (
            &format!(r#"{{"a":{{{one}[0,4]}},"b":{{{one}[3,7]}}}}"#),
            7,
            "\"b\" from 4, found 3, which overlaps",
        ),
        (
            &format!(r#"{{"a":{{{one}[0,4]}},"b":{{{one}[0,4]}}}}"#),
            4,
            "which overlaps",
        ),
        (
            &format!(r#"{{"a":{{{one}[0,4]}},"b":{{{one}[5,9]}}}}"#),
            9,
            "\"b\" from 4, found 5, which leaves a hole",
        ),
        (&format!(r#"{{"a":{{{one}[1,5]}}}}"#), 5, "leaves a hole"),
        (
            &format!(r#"{{"a":{{{one}[0,5]}}}}"#),
            5,
            "the 4 bytes of u8[4]{0} in the entry",
        ),
        (
            &format!(r#"{{"a":{{{one}[4,0]}}}}"#),
            4,
            "found the range 4 to 0",
        ),
        (
            &format!(r#"{{"a":{{{one}[18446744073709551612,18446744073709551616]}}}}"#),
            4,
            "expected the format's JSON",
        ),
        (
            &format!(r#"{{"a":{{{one}[18446744073709551611,18446744073709551615]}}}}"#),
            4,
            "leaves a hole",
        ),
        (
            r#"{"a":{"dtype":"F31","shape":[],"data_offsets":[0,4]}}"#,
            4,
            "found F31",
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,4]}}"#,
            4,
            "sizes of an array",
        ),
        (
            r#"{"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,4]}}"#,
            4,
            "sizes of an array",
        ),
        (
            r#"{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}"#,
            2,
            "whole bytes",
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[4]}}"#,
            4,
            "missing field `data_offsets`",
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"order":"F"}}"#,
            4,
            "unknown field `order`",
        ),
        (r#"{"__metadata__":{"a":1}}"#, 0, "invalid type"),
        (
            r#"{"__metadata__":{"a":"1","a":"2"}}"#,
            0,
            "the name \"a\" twice",
        ),
        (r#"{"__metadata__":{},"__metadata__":{}}"#, 0, "twice"),
    ] {
        let text = read(&raw(header, data)).unwrap_err().to_string();
        assert!(
            text.contains(expected) && !text.contains('\n'),
            "{header}: {text}"
        );
    }
    for (claimed, expected) in [
        (
            u64::MAX,
            "a header of at most 2 bytes, found 18446744073709551615",
        ),
        (3, "a header of at most 2 bytes, found 3"),
    ] {
        let mut bytes = raw("{}", 0);
        bytes[..8].copy_from_slice(&claimed.to_le_bytes());
        let text = read(&bytes).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }
    let deep = format!("{{\"a\":{}", "[".repeat(1 << 20));
    read(&raw(&deep, 0)).unwrap_err();
}

#[test]
fn no_damage_panics() {
    let whole = file(
        &[("a.b", "f32[2,3]{1,0}"), ("c", "u8[5]{0}")],
        &[("format", "pt")],
    );
    for length in 0..whole.len() {
        read(&whole[..length]).unwrap_err();
    }
    let header = whole.len() - 29;
    for place in 0..header {
        for byte in 0..=255 {
            let mut damaged = whole.clone();
            damaged[place] = byte;
            if let Err(error) = read(&damaged) {
                assert!(!error.to_string().contains('\n'));
            }
        }
    }
}

#[test]
fn sets_of_files_are_read_by_their_index() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let index = at("m.safetensors.index.json");
    let one = file(
        &[("a", "f32[2]{0}"), ("b", "u8[1]{0}")],
        &[("format", "pt")],
    );
    let two = file(&[("c", "s8[3]{0}")], &[("format", "pt"), ("x", "y")]);
    std::fs::write(at("1.safetensors"), one).unwrap();
    std::fs::write(at("2.safetensors"), two).unwrap();
    let map = |text: &str| {
        let text = format!(r#"{{"metadata":{{"total_size":12}},"weight_map":{{{text}}}}}"#);
        std::fs::write(&index, text).unwrap();
        inspect(&index)
    };
    let whole = r#""a":"1.safetensors","c":"2.safetensors","b":"1.safetensors""#;
    let info = map(whole).unwrap();
    let found: Vec<_> = info
        .arrays
        .iter()
        .map(|array| (&*array.name, array.file.clone().unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            ("a", at("1.safetensors")),
            ("b", at("1.safetensors")),
            ("c", at("2.safetensors"))
        ]
    );
    assert_eq!(info.metadata.len(), 2);
    for (text, expected) in [
        (
            r#""a":"1.safetensors","b":"1.safetensors","d":"1.safetensors""#,
            "\"d\", which the index has",
        ),
        (
            r#""a":"1.safetensors""#,
            "\"b\", which the file has and the index lacks",
        ),
        (
            r#""a":"../1.safetensors""#,
            "names of files beside the index, found ../1.safetensors",
        ),
        (r#""a":"/1.safetensors""#, "names of files beside the index"),
        (r#""a":"..""#, "names of files beside the index"),
        (r#""a":"""#, "names of files beside the index"),
        (
            r#""a":"x\\1.safetensors""#,
            "names of files beside the index",
        ),
        (r#""a":"3.safetensors""#, "there is no such file"),
        (
            r#""a":"1.safetensors","a":"2.safetensors""#,
            "the name \"a\" twice",
        ),
        (r#""a":1"#, "expected a string"),
    ] {
        let text = map(text).unwrap_err().to_string();
        assert!(text.contains(expected) && !text.contains('\n'), "{text}");
    }
    let other = file(&[("c", "s8[3]{0}")], &[("format", "tf")]);
    std::fs::write(at("2.safetensors"), other).unwrap();
    let text = map(whole).unwrap_err().to_string();
    assert!(text.contains("expected one value of \"format\""), "{text}");
}
