use std::io::{Cursor, Read, Seek, Write};

use minormajor_core::ArrayShape;
use minormajor_core::plan::ByteOrder;

use super::*;
use crate::files::{FileInfo, inspect_reader};

fn shape(text: &str) -> ArrayShape {
    let shape: minormajor_core::Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

/// An archive as we write it, all of whose arrays' bytes are 7.
fn file(arrays: &[(&str, &str)]) -> Vec<u8> {
    let array = |(name, text): &(&str, &str)| {
        Array::new(name.to_string(), shape(text), ByteOrder::Little, 0)
    };
    let contents = Contents {
        arrays: arrays.iter().map(array).collect(),
        ..Contents::default()
    };
    let frame = Npz.frame(Path::new("a"), &contents).unwrap();
    let mut file = vec![7; frame.length as usize];
    for (at, piece) in &frame.pieces {
        let at = *at as usize;
        file[at..at + piece.len()].copy_from_slice(piece);
    }
    let mut written = tempfile::tempfile().unwrap();
    written.write_all(&file).unwrap();
    for checksum in &frame.checksums {
        checksum.write(&written).unwrap();
    }
    written.rewind().unwrap();
    file.clear();
    written.read_to_end(&mut file).unwrap();
    file
}

/// An archive of one entry, whose sizes and checksum are what a test says.
struct Archive {
    name: &'static str,
    flags: u16,
    method: u16,
    bytes: Vec<u8>,
    size: u32,
    crc: u32,
}

impl Archive {
    /// Deflated zeros of this shape.
    fn deflated(text: &str) -> Archive {
        let shape = shape(text);
        let array = Array::new("x".to_owned(), shape, ByteOrder::Little, 0);
        let mut whole = npy::header_of(&array);
        whole.resize(whole.len() + array.bytes() as usize, 0);
        let mut crc = flate2::Crc::new();
        crc.update(&whole);
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Default::default());
        encoder.write_all(&whole).unwrap();
        Archive {
            name: "x.npy",
            flags: 0,
            method: 8,
            bytes: encoder.finish().unwrap(),
            size: whole.len() as u32,
            crc: crc.sum(),
        }
    }

    fn write(&self) -> Vec<u8> {
        let common = |out: &mut Vec<u8>| {
            out.extend([20, 0]);
            out.extend(self.flags.to_le_bytes());
            out.extend(self.method.to_le_bytes());
            out.extend([0, 0, 0x21, 0]);
            out.extend(self.crc.to_le_bytes());
            out.extend((self.bytes.len() as u32).to_le_bytes());
            out.extend(self.size.to_le_bytes());
            out.extend((self.name.len() as u16).to_le_bytes());
            out.extend([0, 0]);
        };
        let mut file = b"PK\x03\x04".to_vec();
        common(&mut file);
        file.extend(self.name.bytes());
        file.extend(&self.bytes);
        let start = file.len() as u32;
        file.extend(b"PK\x01\x02\x14\x00");
        common(&mut file);
        file.extend([0; 14]);
        file.extend(self.name.bytes());
        let bytes = file.len() as u32 - start;
        file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        file.extend(bytes.to_le_bytes());
        file.extend(start.to_le_bytes());
        file.extend([0, 0]);
        file
    }
}

fn read(bytes: &[u8]) -> Result<FileInfo, FileError> {
    inspect_reader("a.npz", Cursor::new(bytes))
}

#[test]
fn what_is_written_is_read() {
    let bytes = file(&[
        ("a", "f32[2,3]{1,0}"),
        ("path/\u{e4}", "u8[5,3]{0,1}"),
        ("empty", "c128[0]{0}"),
    ]);
    let info = read(&bytes).unwrap();
    let found: Vec<_> = info
        .arrays
        .iter()
        .map(|array| (&*array.name, array.shape.to_string()))
        .collect();
    assert_eq!(
        found,
        [
            ("a", "f32[2,3]{1,0}".to_owned()),
            ("path/\u{e4}", "u8[5,3]{0,1}".to_owned()),
            ("empty", "c128[0]{0}".to_owned())
        ]
    );
    let at = info.arrays[1].offset as usize;
    assert_eq!(bytes[at..at + 15], [7; 15]);
    assert!(bytes[at - 1] == b'\n' && bytes[at + 15] == b'P');
    assert_eq!(read(&file(&[])).unwrap().arrays, []);
}

/// What can't be allocated in a test: places beyond 32 bits.
#[test]
fn large_archives_say_their_places_in_64_bits() {
    let array = |name: &str| {
        let shape = shape("u8[3000000000]{0}");
        Array::new(name.to_owned(), shape, ByteOrder::Little, 0)
    };
    let contents = Contents {
        arrays: vec![array("a"), array("b")],
        ..Contents::default()
    };
    let frame = Npz.frame(Path::new("a"), &contents).unwrap();
    assert!(frame.length > 6_000_000_000);
    // Read as a file with a hole for each array.
    let mut sparse = tempfile::tempfile().unwrap();
    for (at, piece) in &frame.pieces {
        use std::io::{Seek, SeekFrom};
        sparse.seek(SeekFrom::Start(*at)).unwrap();
        sparse.write_all(piece).unwrap();
    }
    let info = inspect_reader("a.npz", &sparse).unwrap();
    let places: Vec<_> = info.arrays.iter().map(|array| array.offset).collect();
    assert_eq!(places, frame.offsets);
}

#[test]
fn deflated_entries_are_read_and_inflated() {
    let archive = Archive::deflated("f64[100,7]{1,0}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    std::fs::write(&path, archive.write()).unwrap();
    let info = crate::files::inspect(&path).unwrap();
    assert_eq!(info.arrays[0].shape.to_string(), "f64[100,7]{1,0}");
    assert!(info.arrays[0].compressed);

    let moved = |archive: &Archive| {
        std::fs::write(&path, archive.write()).unwrap();
        let output = folder.path().join("out.npy");
        let options = crate::files::RelayoutOptions::default();
        crate::files::relayout_file(&path, &output, &options, &|_, _| {}).map(|_| output)
    };
    let output = std::fs::read(moved(&archive).unwrap()).unwrap();
    assert!(output.len() == 128 + 5600 && output[128..].iter().all(|&byte| byte == 0));

    let wrong = Archive {
        crc: archive.crc ^ 1,
        ..Archive::deflated("f64[100,7]{1,0}")
    };
    let text = moved(&wrong).unwrap_err().to_string();
    assert!(text.contains("its checksum is"), "{text}");
    let mut cut = Archive::deflated("f64[1000,7]{1,0}");
    cut.bytes.truncate(cut.bytes.len() - 20);
    moved(&cut).unwrap_err();
}

/// Small files that claim to hold much, and sizes that are not those of the array.
#[test]
fn bombs_and_lying_sizes_are_errors() {
    let bomb = Archive {
        size: 4_000_000_000,
        ..Archive::deflated("u8[100]{0}")
    };
    let text = read(&bomb.write()).unwrap_err().to_string();
    assert!(text.contains("expected a size that"), "{text}");
    let more = Archive {
        size: 229,
        ..Archive::deflated("u8[100]{0}")
    };
    let text = read(&more.write()).unwrap_err().to_string();
    assert!(
        text.contains("expected 100 bytes of u8[100]{0} in \"x.npy\", found 101"),
        "{text}"
    );

    // The sizes agree with the header, and the deflated bytes hold more, or less.
    for (claimed, held) in [
        ("u8[100]{0}", "u8[200000]{0}"),
        ("u8[900]{0}", "u8[800]{0}"),
    ] {
        let header = npy::header_of(&Array::new(
            String::new(),
            shape(claimed),
            ByteOrder::Little,
            0,
        ));
        let mut whole = header.clone();
        whole.resize(128 + shape(held).elements().unwrap() as usize, 0);
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Default::default());
        encoder.write_all(&whole).unwrap();
        let archive = Archive {
            bytes: encoder.finish().unwrap(),
            size: 128 + shape(claimed).elements().unwrap() as u32,
            ..Archive::deflated(claimed)
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        std::fs::write(&path, archive.write()).unwrap();
        let output = folder.path().join("out.npy");
        let options = crate::files::RelayoutOptions::default();
        let error = crate::files::relayout_file(&path, &output, &options, &|_, _| {}).unwrap_err();
        assert!(error.to_string().contains("it inflates to"), "{error}");
        assert!(!output.exists());
    }
}

#[test]
fn archives_of_other_kinds_are_errors() {
    let with = |change: fn(&mut Archive)| {
        let mut archive = Archive::deflated("u8[100]{0}");
        change(&mut archive);
        read(&archive.write()).unwrap_err().to_string()
    };
    for (text, expected) in [
        (with(|archive| archive.flags = 1), "an encrypted entry"),
        (with(|archive| archive.method = 12), "found method 12"),
        (with(|archive| archive.method = 0), "expected a size that"),
        (
            with(|archive| archive.name = "x.txt"),
            "expected an entry NAME.npy",
        ),
        (
            with(|archive| archive.bytes = vec![0xff; 60]),
            "deflated bytes in \"x.npy\"",
        ),
        (
            with(|archive| {
                archive.method = 0;
                archive.bytes = vec![0xff; 60];
                archive.size = 60;
            }),
            "\"x.npy\": not a .npy file",
        ),
    ] {
        assert!(text.contains(expected) && !text.contains('\n'), "{text}");
    }
    let text = read(b"\x93NUMPY, and no archive at all")
        .unwrap_err()
        .to_string();
    assert!(text.contains("it is no .npz file, or truncated"), "{text}");

    // Two entries of one name, and two that share bytes.
    let mut twice = file(&[("a", "u8[1]{0}"), ("b", "u8[1]{0}")]);
    for at in 0..twice.len() - 5 {
        if &twice[at..at + 5] == b"b.npy" {
            twice[at] = b'a';
        }
    }
    let text = read(&twice).unwrap_err().to_string();
    assert!(text.contains("\"a.npy\" twice"), "{text}");
    let mut shared = file(&[("a", "u8[1]{0}"), ("b", "u8[1]{0}")]);
    let second = shared.len() - 22 - 51 + 42;
    shared[second..second + 4].copy_from_slice(&0u32.to_le_bytes());
    let text = read(&shared).unwrap_err().to_string();
    assert!(text.contains("one that overlaps"), "{text}");
}

#[test]
fn names_that_numpy_can_t_tell_apart_are_not_written() {
    for names in [["a", "a"], ["a", "a.npy"], ["a", "\0"]] {
        let array =
            |name: &str| Array::new(name.to_owned(), shape("u8[1]{0}"), ByteOrder::Little, 0);
        let contents = Contents {
            arrays: names.map(array).to_vec(),
            ..Contents::default()
        };
        let error = Npz.frame(Path::new("a"), &contents).unwrap_err();
        assert!(matches!(error, FileError::ArrayName { .. }), "{error}");
    }
}

#[test]
fn no_damage_panics() {
    let stored = file(&[("a", "f32[2,3]{1,0}"), ("b", "u8[5]{0}")]);
    let deflated = Archive::deflated("f64[5]{0}").write();
    for whole in [stored, deflated] {
        for length in 0..whole.len() {
            read(&whole[..length]).unwrap_err();
        }
        for place in 0..whole.len() {
            for byte in [0, 1, 0x20, 0x50, 0x7f, 0x80, 0xfe, 0xff, whole[place] ^ 1] {
                let mut damaged = whole.clone();
                damaged[place] = byte;
                if let Err(error) = read(&damaged) {
                    assert!(!error.to_string().contains('\n'));
                }
            }
        }
    }
}
