//! The formats' own Python libraries read what we write, and we read what they write.

mod python;

use std::fs;
use std::path::Path;

use minormajor::files::{ArrayInfo, FileInfo, RelayoutOptions, inspect, relayout_file};
use minormajor::plan::ByteOrder;
use minormajor::{ElementType, Layout};
use python::{ask, python};

fn relayout(input: &Path, output: &Path, layout: Option<Layout>) {
    let mut options = RelayoutOptions::default();
    options.layout = layout;
    relayout_file(input, output, &options, &|_, _| {}).unwrap();
}

fn array<'a>(info: &'a FileInfo, name: &str) -> &'a ArrayInfo {
    let found = info.arrays.iter().find(|array| array.name == name);
    found.unwrap_or_else(|| panic!("no array {name}"))
}

#[test]
fn numpy_s_archives_are_read_and_written_byte_for_byte() {
    let Some(python) = python("numpy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np
a = np.arange(77, dtype="<f4").reshape(7, 11)
big = np.arange(15, dtype=">i2").reshape(3, 5)
b = np.asfortranarray(np.arange(60, dtype="u1").reshape(3, 4, 5))
many = {"a": a, "b": b, "x/y.\u00e4": big, "none": np.zeros((0, 3), "c16"), "one": np.float64(7)}
np.savez("many.npz", **many)
np.savez_compressed("small.npz", **many)
np.savez("none.npz")
np.savez("c.npz", a=a)
np.savez("f.npz", a=np.asfortranarray(a))
np.savez_compressed("packed.npz", a=a)
np.savez("\u00e4.npz", **{"\u00e4": b})
"#,
    );
    for (name, compressed) in [("many.npz", false), ("small.npz", true)] {
        let info = inspect(at(name)).unwrap();
        let shapes: Vec<_> = info
            .arrays
            .iter()
            .map(|array| format!("{} {}", array.name, array.shape))
            .collect();
        assert_eq!(
            shapes,
            [
                "a f32[7,11]{1,0}",
                "b u8[3,4,5]{0,1,2}",
                "x/y.\u{e4} s16[3,5]{1,0}",
                "none c128[0,3]{1,0}",
                "one f64[]"
            ]
        );
        assert_eq!(info.arrays[2].order, ByteOrder::Big);
        assert!(
            info.arrays
                .iter()
                .all(|array| array.compressed == compressed)
        );
    }
    assert_eq!(inspect(at("none.npz")).unwrap().arrays, []);
    // What we write is what NumPy writes.
    for (input, layout, theirs) in [
        ("f.npz", Layout::descending(2), "c.npz"),
        ("c.npz", Layout::ascending(2), "f.npz"),
        ("packed.npz", Layout::ascending(2), "f.npz"),
        ("\u{e4}.npz", Layout::ascending(3), "\u{e4}.npz"),
    ] {
        relayout(&at(input), &at("ours.npz"), Some(layout));
        let ours = fs::read(at("ours.npz")).unwrap();
        assert!(ours == fs::read(at(theirs)).unwrap(), "{input} to {theirs}");
    }
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np, zipfile
assert zipfile.ZipFile("ours.npz").testzip() is None
assert np.load("ours.npz")["\u00e4"].sum() == sum(range(60))
"#,
    );
}

#[test]
fn safetensors_files_are_those_of_the_library() {
    let Some(python) = python("numpy, safetensors") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np
from safetensors.numpy import save_file
names = "bool int8 uint8 int16 uint16 float16 int32 uint32 float32 int64 uint64 float64 complex64"
many = {}
for number, name in enumerate(names.split()):
    many[f"layer.{number}.{name}"] = np.arange(number * 15).reshape(3, 5, number).astype(name)
save_file(many, "many.safetensors", metadata={"format": "np", "\u00e4\n": "\"x\""})
one = {"a \u00e4 \"\\": np.arange(77, dtype="f4").reshape(7, 11)}
save_file(one, "one.safetensors")
np.save("f.npy", np.asfortranarray(np.arange(77, dtype="f4").reshape(7, 11)))
save_file({"f": np.arange(77, dtype="f4").reshape(7, 11)}, "f.safetensors")
"#,
    );
    let info = inspect(at("many.safetensors")).unwrap();
    assert_eq!(info.arrays.len(), 13);
    for (number, (name, element_type)) in [
        ("bool", ElementType::Pred),
        ("int8", ElementType::S8),
        ("uint8", ElementType::U8),
        ("int16", ElementType::S16),
        ("uint16", ElementType::U16),
        ("float16", ElementType::F16),
        ("int32", ElementType::S32),
        ("uint32", ElementType::U32),
        ("float32", ElementType::F32),
        ("int64", ElementType::S64),
        ("uint64", ElementType::U64),
        ("float64", ElementType::F64),
        ("complex64", ElementType::C64),
    ]
    .into_iter()
    .enumerate()
    {
        let found = &array(&info, &format!("layer.{number}.{name}")).shape;
        assert_eq!(
            found.to_string(),
            format!("{element_type}[3,5,{number}]{{2,1,0}}")
        );
    }
    let mut metadata = info.metadata.clone();
    metadata.sort();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(metadata, [pair("format", "np"), pair("\u{e4}\n", "\"x\"")]);

    relayout(&at("one.safetensors"), &at("again.safetensors"), None);
    assert!(fs::read(at("again.safetensors")).unwrap() == fs::read(at("one.safetensors")).unwrap());
    relayout(&at("f.npy"), &at("ours.safetensors"), None);
    let theirs = fs::read(at("f.safetensors")).unwrap();
    assert!(fs::read(at("ours.safetensors")).unwrap() == theirs);
}
