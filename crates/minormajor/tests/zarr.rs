//! Folders of Zarr: the Python package reads what we write, and we read what it writes.
#![cfg(feature = "zarr")]

mod python;

use std::fs;
use std::path::{Path, PathBuf};

use minormajor::files::{FileError, RelayoutOptions, inspect, npy, relayout_file};
use minormajor::plan::ByteOrder;
use minormajor::{ElementType, Layout, RunError};
use python::{ask, python};

fn relayout(input: PathBuf, output: PathBuf, options: &RelayoutOptions) -> Result<(), FileError> {
    let moved = relayout_file(input, output, options, &|_, _| {});
    moved.map(drop)
}

fn to(layout: &str) -> RelayoutOptions {
    let mut options = RelayoutOptions::default();
    options.layout = Some(layout.parse::<Layout>().unwrap());
    options
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// A `.npy` file of `u16` that counts.
fn counting(path: &Path, sizes: &[i64]) {
    let mut bytes = npy::header(ElementType::U16, ByteOrder::Little, sizes, false).unwrap();
    let elements: i64 = sizes.iter().product();
    bytes.extend((0..elements).flat_map(|element| (element as u16).to_le_bytes()));
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_the_package_writes_is_read() {
    let Some(python) = python("zarr, numpy, ml_dtypes") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np, zarr
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec, TransposeCodec, BytesCodec, Crc32cCodec
rng = np.random.default_rng(1)
def make(name, a, **more):
    np.save(name + ".npy", a)
    z = zarr.create_array(name + ".zarr", shape=a.shape, dtype=a.dtype, **more)
    z[...] = a
f = rng.standard_normal((37, 53)).astype("f4")
make("plain", f, chunks=(37, 53), compressors=None)
make("zstd", f, chunks=(10, 16), compressors=ZstdCodec(level=5))
make("gzip", f, chunks=(10, 16), compressors=[GzipCodec(level=1), Crc32cCodec()])
make("blosc", f, chunks=(7, 53), compressors=BloscCodec(cname="lz4", shuffle="bitshuffle"))
make("turned", f, chunks=(10, 16), filters=[TransposeCodec(order=(1, 0))])
make("big", f, chunks=(10, 16), serializer=BytesCodec(endian="big"))
c = (np.arange(2 * 3 * 5 * 7) % 251).astype("i2").reshape(2, 3, 5, 7)
make("cube", c, chunks=(1, 2, 4, 3), filters=[TransposeCodec(order=(2, 0, 3, 1))])
make("shards", f, shards=(20, 32), chunks=(10, 8), compressors=ZstdCodec())
make("turned_shards", f, shards=(20, 32), chunks=(10, 8), filters=[TransposeCodec(order=(1, 0))])
for t in ["?", "i1", "i8", "u1", "u4", "f2", "f8", "c8", "c16"]:
    make("type_" + np.dtype(t).name, (np.arange(15).reshape(3, 5) % 7).astype(t), chunks=(2, 2))
make("scalar", np.float64(2.5) + np.zeros(()), chunks=())
make("none", np.zeros((0, 4), "f4"), chunks=(1, 4))
s = np.full((9, 9), -3, "i4")
s[4:6, 4:6] = 7
make("sparse", s, chunks=(3, 3), fill_value=-3)
"#,
    );
    for (name, shape) in [
        ("plain", "f32[37,53]{1,0}"),
        ("zstd", "f32[37,53]{1,0:T(10,16)}"),
        ("gzip", "f32[37,53]{1,0:T(10,16)}"),
        ("blosc", "f32[37,53]{1,0:T(7,53)}"),
        ("turned", "f32[37,53]{0,1:T(16,10)}"),
        ("big", "f32[37,53]{1,0:T(10,16)}"),
        ("cube", "s16[2,3,5,7]{1,3,0,2:T(4,1,3,2)}"),
        ("shards", "f32[37,53]{1,0:T(20,32)}"),
        ("scalar", "f64[]"),
        ("none", "f32[0,4]{1,0}"),
        ("sparse", "s32[9,9]{1,0:T(3,3)}"),
    ] {
        let info = inspect(at(&format!("{name}.zarr"))).unwrap();
        assert_eq!(info.arrays[0].shape.to_string(), shape, "{name}");
        assert_eq!(info.arrays[0].name, name);
    }
    assert_eq!(
        inspect(at("turned.zarr")).unwrap().arrays[0].chunks,
        [10, 16]
    );
    for name in names(folder.path()) {
        let Some(stem) = name.strip_suffix(".zarr") else {
            continue;
        };
        let out = at(&format!("{stem}.moved.npy"));
        relayout(at(&name), out.clone(), &RelayoutOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let theirs = fs::read(at(&format!("{stem}.npy"))).unwrap();
        assert!(fs::read(out).unwrap() == theirs, "{name}");
        // And back, with a copy of what it was.
        let again = at(&format!("{stem}.again.zarr"));
        relayout(at(&name), again, &RelayoutOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
    }
    ask(
        &python,
        folder.path(),
        r#"
import glob, numpy as np, zarr
found = sorted(glob.glob("*.again.zarr"))
assert len(found) > 15
for path in found:
    stem = path.removesuffix(".again.zarr")
    was, now = zarr.open_array(stem + ".zarr", mode="r"), zarr.open_array(path, mode="r")
    assert now.dtype == was.dtype and now.fill_value == was.fill_value, path
    assert now.chunks == was.chunks or was.shards, (path, now.chunks, was.chunks)
    assert np.array_equal(now[...], np.load(stem + ".npy")), path
"#,
    );
}

#[test]
fn what_we_write_is_read_by_the_package() {
    let Some(python) = python("zarr, numpy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np
rng = np.random.default_rng(2)
np.save("a.npy", rng.standard_normal((61, 47)).astype("f4"))
np.save("b.npy", np.asfortranarray(rng.integers(0, 9, (5, 6, 7)).astype("i8")))
np.save("c.npy", (rng.standard_normal((3, 4)) + 1j).astype("c8"))
np.save("d.npy", np.array(True))
np.savez("many.npz", a=np.load("a.npy"), **{"x/b": np.load("b.npy"), "x/y/c": np.load("c.npy")})
"#,
    );
    let mut chunked = to("{1,0}");
    chunked.chunks = Some(vec![16, 10]);
    let mut turned = to("{0,1}");
    turned.chunks = Some(vec![16, 10]);
    let default = RelayoutOptions::default();
    for (input, output, options) in [
        ("a.npy", "plain.zarr", &default),
        ("a.npy", "chunked.zarr", &chunked),
        ("a.npy", "turned.zarr", &turned),
        ("a.npy", "tiled.zarr", &to("{0,1:T(8,9)}")),
        ("b.npy", "b.zarr", &to("{0,2,1:T(4,3)}")),
        ("c.npy", "c.zarr", &to("{1,0:T(1,2)}")),
        ("d.npy", "d.zarr", &default),
        ("many.npz", "many.zarr", &default),
    ] {
        relayout(at(input), at(output), options).unwrap_or_else(|error| panic!("{error}"));
    }
    let shapes = |name: &str| -> Vec<String> {
        let info = inspect(at(name)).unwrap();
        let arrays = info.arrays.iter();
        arrays
            .map(|array| format!("{} {}", array.name, array.shape))
            .collect()
    };
    assert_eq!(shapes("turned.zarr"), ["turned f32[61,47]{0,1:T(10,16)}"]);
    assert_eq!(
        shapes("many.zarr"),
        [
            "a f32[61,47]{1,0}",
            "x/b s64[5,6,7]{2,1,0}",
            "x/y/c c64[3,4]{1,0}"
        ]
    );
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np, zarr
def check(name, a, chunks, order):
    z = zarr.open_array(name, mode="r")
    assert np.array_equal(z[...], a), name
    assert z.dtype == a.dtype and z.chunks == chunks, (name, z.chunks)
    first = z.metadata.codecs[0].to_dict()
    found = first["configuration"]["order"] if first["name"] == "transpose" else None
    assert (list(found) if found else None) == order, (name, first)
a, b, c = (np.load(n + ".npy") for n in "abc")
check("plain.zarr", a, (61, 47), None)
check("chunked.zarr", a, (16, 10), None)
check("turned.zarr", a, (16, 10), [1, 0])
check("tiled.zarr", a, (9, 8), [1, 0])
check("b.zarr", b, (3, 1, 4), [1, 2, 0])
check("c.zarr", c, (1, 2), None)
check("d.zarr", np.load("d.npy"), (), None)
g = zarr.open_group("many.zarr", mode="r")
assert np.array_equal(g["a"][...], a) and np.array_equal(g["x/b"][...], b)
assert np.array_equal(g["x"]["y"]["c"][...], c)
"#,
    );
    // And back, byte for byte.
    for (input, theirs, options) in [
        ("turned.zarr", "a.npy", to("{1,0}")),
        ("b.zarr", "b.npy", to("{0,1,2}")),
        ("c.zarr", "c.npy", to("{1,0}")),
    ] {
        relayout(at(input), at("back.npy"), &options).unwrap();
        assert!(fs::read(at("back.npy")).unwrap() == fs::read(at(theirs)).unwrap());
    }
}

#[test]
fn what_is_said_of_arrays_travels() {
    let Some(python) = python("zarr, numpy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np, zarr
from zarr.codecs import GzipCodec
g = zarr.create_group("g.zarr", attributes={"title": "a b", "n": 1.5, "text": "7", "list": [1, "x"]})
z = g.create_array("v/temp", shape=(4, 6), chunks=(2, 2), dtype="f4", fill_value=float("nan"),
    compressors=GzipCodec(level=7), attributes={"units": "K"}, dimension_names=["time", "x"])
z[:2] = np.arange(12).reshape(2, 6)
w = g.create_array("w", shape=(5,), chunks=(5,), dtype="u1")
w[:] = range(5)
"#,
    );
    let mut options = RelayoutOptions::default();
    options.rules = minormajor::rules::Rules::new(["v/*: TX -> XT".parse().unwrap()]);
    relayout(at("g.zarr"), at("turned.zarr"), &options).unwrap();
    ask(
        &python,
        folder.path(),
        r#"
import numpy as np, zarr
g = zarr.open_group("turned.zarr", mode="r")
assert dict(g.attrs) == {"title": "a b", "n": 1.5, "text": "7", "list": [1, "x"]}, dict(g.attrs)
z = g["v/temp"]
assert dict(z.attrs) == {"units": "K"} and z.metadata.dimension_names == ("x", "time")
assert z.chunks == (2, 2) and np.isnan(z.fill_value)
assert z.compressors[0].to_dict() == {"name": "gzip", "configuration": {"level": 7}}, z.compressors
was = zarr.open_group("g.zarr", mode="r")["v/temp"][...]
assert np.array_equal(z[...], was.T, equal_nan=True) and np.isnan(was[2:]).all()
assert list(g["w"][:]) == list(range(5))
"#,
    );
    // Chunks of nothing but the fill value have no file.
    let chunks = at("turned.zarr").join("v/temp/c");
    assert_eq!(names(&chunks.join("0")), ["0"]);
    // Where there is no place for it, that is said.
    let report = relayout_file(
        at("g.zarr"),
        at("g.npz"),
        &RelayoutOptions::default(),
        &|_, _| {},
    )
    .unwrap();
    let mut lost = report.metadata_lost;
    lost.sort();
    assert_eq!(
        lost,
        [
            "attributes and dimension names of v/temp",
            "list",
            "n",
            "text",
            "title"
        ]
    );
}

/// A zarr that we wrote: `u16[6,10]` in chunks of 4 x 4.
fn small(folder: &Path) -> PathBuf {
    counting(&folder.join("small.npy"), &[6, 10]);
    let mut options = RelayoutOptions::default();
    options.chunks = Some(vec![4, 4]);
    let path = folder.join("small.zarr");
    relayout(folder.join("small.npy"), path.clone(), &options).unwrap();
    path
}

#[test]
fn folders_are_replaced_whole_and_only_those_of_zarr() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path());
    fs::write(path.join("stray"), "x").unwrap();
    small(folder.path());
    assert_eq!(names(&path), ["c", "zarr.json"]);
    assert_eq!(names(folder.path()), ["small.npy", "small.zarr"]);
    let other = folder.path().join("mine.zarr");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis"), "x").unwrap();
    let input = folder.path().join("small.npy");
    let error = relayout(input.clone(), other.clone(), &RelayoutOptions::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("mine.zarr: is a folder of something else"),
        "{error}"
    );
    assert_eq!(names(&other), ["thesis"]);
    let file = folder.path().join("file.zarr");
    fs::write(&file, "x").unwrap();
    let error = relayout(input, file.clone(), &RelayoutOptions::default()).unwrap_err();
    assert!(matches!(error, FileError::NotAFolder { .. }), "{error}");
    assert!(matches!(inspect(&file), Err(FileError::NotAFolder { .. })));
    let itself = relayout(path.clone(), path, &RelayoutOptions::default()).unwrap_err();
    assert!(
        matches!(itself, FileError::OutputIsInput { .. }),
        "{itself}"
    );
    assert_eq!(
        names(folder.path()),
        ["file.zarr", "mine.zarr", "small.npy", "small.zarr"]
    );
}

#[test]
fn a_bound_too_small_for_a_chunk_says_the_least() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    counting(&at("a.npy"), &[700, 900]);
    let mut options = RelayoutOptions::default();
    options.chunks = Some(vec![500, 600]);
    options.memory = Some(1 << 20);
    let least = |error: FileError| match error {
        FileError::Run {
            source: RunError::Memory { least, .. },
            ..
        } => least,
        error => panic!("{error}"),
    };
    let needed = least(relayout(at("a.npy"), at("a.zarr"), &options).unwrap_err());
    assert!(needed > 500 * 600 * 2, "{needed}");
    assert_eq!(names(folder.path()), ["a.npy"]);
    options.memory = Some(needed.max(8 << 20));
    relayout(at("a.npy"), at("a.zarr"), &options).unwrap();
    let mut back = RelayoutOptions::default();
    back.memory = Some(1 << 20);
    let needed = least(relayout(at("a.zarr"), at("b.npy"), &back).unwrap_err());
    back.memory = Some(needed);
    relayout(at("a.zarr"), at("b.npy"), &back).unwrap();
    assert!(fs::read(at("a.npy")).unwrap() == fs::read(at("b.npy")).unwrap());
}

#[test]
fn damage_is_named_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path());
    let out = folder.path().join("out.npy");
    let moved = || relayout(path.clone(), out.clone(), &RelayoutOptions::default());
    moved().unwrap();
    fs::remove_file(&out).unwrap();
    let chunk = path.join("c/1/2");
    let whole = fs::read(&chunk).unwrap();
    for end in 0..whole.len() {
        fs::write(&chunk, &whole[..end]).unwrap();
        let error = moved().unwrap_err().to_string();
        assert!(
            error.contains("small.zarr/c/1/2: is no chunk"),
            "{end}: {error}"
        );
        assert!(!out.exists());
    }
    for place in 0..whole.len() {
        let mut other = whole.clone();
        other[place] ^= 0xff;
        fs::write(&chunk, &other).unwrap();
        // zstd without a checksum can't tell all other bytes from good ones.
        if let Err(error) = moved() {
            assert!(error.to_string().contains("small.zarr/c/1/2: "), "{error}");
        }
    }
    fs::write(&chunk, vec![0; 1 << 20]).unwrap();
    let error = moved().unwrap_err().to_string();
    assert!(error.contains("c/1/2: has more than "), "{error}");
    fs::remove_file(&chunk).unwrap();
    fs::create_dir(&chunk).unwrap();
    assert!(
        moved()
            .unwrap_err()
            .to_string()
            .contains("c/1/2: can't read it")
    );
}

/// Every byte of the metadata cut off or changed: an error that names the file, or another array.
#[test]
fn metadata_may_hold_anything() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path());
    let file = path.join("zarr.json");
    let whole = fs::read_to_string(&file).unwrap();
    let named = |error: FileError| {
        let text = error.to_string();
        assert!(
            text.contains("small.zarr") && text.lines().count() == 1,
            "{text}"
        );
    };
    for end in 0..whole.trim_end().len() {
        fs::write(&file, &whole[..end]).unwrap();
        named(inspect(&path).unwrap_err());
    }
    for place in 0..whole.len() {
        for byte in [b'9', b'-', b'"', b']'] {
            let mut bytes = whole.clone().into_bytes();
            bytes[place] = byte;
            fs::write(&file, &bytes).unwrap();
            if let Err(error) = inspect(&path) {
                named(error);
            }
        }
    }
    let changed = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}\n{whole}");
        fs::write(&file, whole.replace(from, to)).unwrap();
        inspect(&path).map(drop).unwrap_err().to_string()
    };
    for (from, to, said) in [
        (
            "\"uint16\"",
            "\"string\"",
            "has elements of the type \"string\", which can't be moved",
        ),
        (
            "\"uint16\"",
            "{\"name\": \"numpy.datetime64\"}",
            "type \"numpy.datetime64\"",
        ),
        ("\"zstd\"", "\"zfpq\"", "zfpq"),
        ("\"regular\"", "\"rectilinear\"", "rectilinear"),
        (
            "\"zarr_format\": 3",
            "\"zarr_format\": 2",
            "expected a zarr_format of 3",
        ),
        (
            "\"node_type\": \"array\"",
            "\"node_type\": \"table\"",
            "node_type",
        ),
    ] {
        let error = changed(from, to);
        assert!(
            error.contains(said) && error.contains("zarr.json: "),
            "{error}"
        );
    }
    // Sizes that no memory holds.
    let huge = whole.replacen('6', "6000000000000000000", 1);
    fs::write(&file, huge).unwrap();
    let _ = inspect(&path);
    fs::remove_file(&file).unwrap();
    named(inspect(&path).unwrap_err());
    fs::write(path.join(".zarray"), "{}").unwrap();
    assert!(
        inspect(&path)
            .unwrap_err()
            .to_string()
            .contains("version 2")
    );
}

#[test]
fn what_a_folder_can_t_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    counting(&at("a.npy"), &[6, 10]);
    for layout in ["{1,0:T(2,2)(2,1)}", "{1,0:T(*,2)}", "{1,0:PAD(8,12)}"] {
        let error = relayout(at("a.npy"), at("a.zarr"), &to(layout)).unwrap_err();
        assert!(
            matches!(error, FileError::ShapeOutsideFormat { .. }),
            "{layout}: {error}"
        );
    }
    let mut options = RelayoutOptions::default();
    options.chunks = Some(vec![2, 2]);
    let error = relayout(at("a.npy"), at("b.npy"), &options).unwrap_err();
    assert!(
        error.to_string().contains("a .npy file has no chunks"),
        "{error}"
    );
    assert_eq!(names(folder.path()), ["a.npy"]);
}

/// A shard of two chunks of 8 bytes, of which the second is what gzip makes of `bytes`, inside so many
/// shards more.
fn shards(folder: &Path, bytes: &[u8], nested: usize) {
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    let mut codecs = r#"[{"name":"bytes"},{"name":"gzip","configuration":{"level":9}}]"#.to_owned();
    let mut chunks = vec![gzip(&[1; 8]), gzip(bytes)];
    for depth in 0..=nested {
        let chunk = if depth == 0 { 8 } else { 16 };
        codecs = format!(
            r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{chunk}],
            "codecs":{codecs},"index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}]"#
        );
        let mut shard = Vec::new();
        let mut index = Vec::new();
        for chunk in &chunks {
            index.extend((shard.len() as u64).to_le_bytes());
            index.extend((chunk.len() as u64).to_le_bytes());
            shard.extend(chunk);
        }
        shard.extend(index);
        chunks = vec![shard];
    }
    fs::create_dir_all(folder.join("c")).unwrap();
    fs::write(folder.join("c/0"), &chunks[0]).unwrap();
    fs::write(
        folder.join("zarr.json"),
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[16],"data_type":"uint8",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[16]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":{codecs}}}"#
        ),
    )
    .unwrap();
}

#[test]
fn chunks_in_shards_inflate_no_further_than_to_their_size() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("a.zarr"), folder.path().join("a.npy"));
    for nested in [0, 1] {
        shards(&input, &[2; 8], nested);
        relayout(input.clone(), output.clone(), &to("{0}")).unwrap();
        assert!(
            fs::read(&output)
                .unwrap()
                .ends_with(&[1, 1, 2, 2, 2, 2, 2, 2, 2, 2])
        );
        fs::remove_file(&output).unwrap();
        for bomb in [vec![2; 9], vec![0; 32 << 20]] {
            shards(&input, &bomb, nested);
            let error = relayout(input.clone(), output.clone(), &to("{0}")).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("gzip inflates to more than the 8 bytes"),
                "{text}"
            );
            assert_eq!(names(folder.path()), ["a.zarr"]);
        }
    }
    shards(&input, &[2; 8], 12);
    let error = relayout(input, output, &to("{0}")).unwrap_err().to_string();
    assert!(
        error.contains("shards in shards more than 8 times"),
        "{error}"
    );
}

#[test]
fn shards_and_compressors_are_those_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    counting(&at("a.npy"), &[37, 53]);
    let says = |name: &str| fs::read_to_string(at(name).join("zarr.json")).unwrap();
    for (name, compressor) in [
        ("none", "none"),
        ("zstd", "zstd:7"),
        ("gzip", "gzip:1"),
        ("blosc", "blosc:9"),
    ] {
        let mut options = to("{0,1}");
        options.chunks = Some(vec![5, 6]);
        options.shards = Some(vec![20, 18]);
        options.compressor = Some(compressor.parse().unwrap());
        let sharded = format!("{name}.zarr");
        relayout(at("a.npy"), at(&sharded), &options).unwrap();
        let text = says(&sharded);
        let level = compressor.split(':').nth(1).unwrap_or("no level");
        for (part, is_there) in [
            ("\"sharding_indexed\"", true),
            (&format!("\"name\": \"{name}\"")[..], name != "none"),
            (&format!("level\": {level}")[..], name != "none"),
        ] {
            assert_eq!(text.contains(part), is_there, "{part} in {text}");
        }
        // Its compressor is kept by a move that says nothing of it; shards of another order are others.
        relayout(at(&sharded), at("again.zarr"), &RelayoutOptions::default()).unwrap();
        assert!(!says("again.zarr").contains("sharding_indexed"));
        assert_eq!(
            says("again.zarr").contains(&format!("\"name\": \"{name}\"")),
            name != "none"
        );
        relayout(at(&sharded), at("back.npy"), &to("{1,0}")).unwrap();
        assert!(fs::read(at("back.npy")).unwrap() == fs::read(at("a.npy")).unwrap());
    }
    let mut options = RelayoutOptions::default();
    (options.chunks, options.shards) = (Some(vec![5, 6]), Some(vec![20, 20]));
    let error = relayout(at("a.npy"), at("no.zarr"), &options)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("shards of [20, 20] elements") && error.contains("[5, 6]"),
        "{error}"
    );
    let error = relayout(at("a.npy"), at("no.npy"), &options).unwrap_err();
    assert!(matches!(error, FileError::NoChunks { .. }), "{error}");
    assert!(!at("no.zarr").exists() && !at("no.npy").exists());
}
