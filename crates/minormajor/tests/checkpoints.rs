//! Files of many arrays, by rules: what each becomes, what stays, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use minormajor::files::{
    FileError, FilePlan, RelayoutOptions, RelayoutReport, inspect, relayout_file,
};
use minormajor::plan::PlanClass;
use minormajor::rules::Rules;

/// An array of a checkpoint: its name, its type in safetensors' words, its sizes.
type Entry<'a> = (&'a str, &'a str, &'a [usize]);

const LAYER: [Entry<'_>; 6] = [
    ("embed.weight", "F32", &[17, 6]),
    ("conv.weight", "F32", &[4, 3, 2, 5]),
    ("dense.weight", "F32", &[5, 7]),
    ("dense.bias", "F32", &[7]),
    ("norm.weight", "F16", &[7]),
    ("scale", "U8", &[]),
];

fn width(dtype: &str) -> usize {
    match dtype {
        "F64" => 8,
        "F32" => 4,
        "F16" => 2,
        _ => 1,
    }
}

/// Bytes that tell an array, an element and a byte of it from others.
fn data(number: usize, entry: &Entry<'_>) -> Vec<u8> {
    let bytes = entry.2.iter().product::<usize>() * width(entry.1);
    (0..bytes)
        .map(|at| (at * 7 + at / 251 + number * 31) as u8)
        .collect()
}

/// A safetensors file as the library writes one.
fn safetensors(entries: &[Entry<'_>], arrays: &[Vec<u8>], metadata: &str) -> Vec<u8> {
    let mut parts = Vec::new();
    if !metadata.is_empty() {
        parts.push(format!("\"__metadata__\":{metadata}"));
    }
    let mut end = 0;
    for ((name, dtype, sizes), bytes) in entries.iter().zip(arrays) {
        let start = end;
        end += bytes.len();
        let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
        parts.push(format!(
            "\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":[{}],\"data_offsets\":[{start},{end}]}}",
            sizes.join(",")
        ));
    }
    let mut text = format!("{{{}}}", parts.join(","));
    while text.len() % 8 != 0 {
        text.push(' ');
    }
    let mut file = (text.len() as u64).to_le_bytes().to_vec();
    file.extend(text.bytes());
    arrays.iter().for_each(|bytes| file.extend(bytes));
    file
}

/// The row-major array with its dimensions in another order, element by element.
fn permuted(bytes: &[u8], sizes: &[usize], width: usize, order: &[usize]) -> Vec<u8> {
    let to: Vec<usize> = order.iter().map(|&d| sizes[d]).collect();
    let mut moved = Vec::with_capacity(bytes.len());
    for position in 0..to.iter().product() {
        let (mut rest, mut index) = (position, vec![0; sizes.len()]);
        for (place, &d) in order.iter().enumerate().rev() {
            index[d] = rest % to[place];
            rest /= to[place];
        }
        let from = sizes
            .iter()
            .zip(&index)
            .fold(0, |at, (size, i)| at * size + i);
        moved.extend(&bytes[from * width..][..width]);
    }
    moved
}

fn rules(texts: &[&str]) -> RelayoutOptions {
    let mut options = RelayoutOptions::default();
    options.rules = Rules::new(texts.iter().map(|text| text.parse().unwrap()));
    options
}

fn relayout(
    input: &Path,
    output: &Path,
    options: &RelayoutOptions,
) -> Result<RelayoutReport, FileError> {
    relayout_file(input, output, options, &|_, _| {})
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.at(name), bytes).unwrap();
        self.at(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn layer(metadata: &str) -> (Vec<Vec<u8>>, Vec<u8>) {
    let arrays: Vec<_> = LAYER
        .iter()
        .enumerate()
        .map(|(n, entry)| data(n, entry))
        .collect();
    let file = safetensors(&LAYER, &arrays, metadata);
    (arrays, file)
}

#[test]
fn rules_move_what_they_fit_and_nothing_else() {
    let folder = Folder::new();
    let metadata = r#"{"format":"pt","note":"\u00e4\n"}"#;
    let (arrays, file) = layer(metadata);
    let input = folder.write("in.safetensors", &file);
    let options = rules(&[
        "embed.*: VD -> VD",
        "*.conv.weight: ABCD -> DCBA",
        "conv.weight: OIHW -> HWIO",
        "*.weight: out in -> in out",
    ]);
    let turned = folder.at("turned.safetensors");
    let plan = FilePlan::new(&input, &turned, &options).unwrap();
    let of = |array: &minormajor::files::ArrayMove| {
        format!(
            "{} {:?} {} {} {}",
            array.name,
            array.rule,
            array.source,
            array.destination,
            array.plan.class()
        )
    };
    let found: Vec<_> = plan.arrays().iter().map(of).collect();
    assert_eq!(
        found,
        [
            "embed.weight Some(0) f32[17,6]{1,0} f32[17,6]{1,0} identity",
            "conv.weight Some(2) f32[4,3,2,5]{3,2,1,0} f32[2,5,3,4]{3,2,1,0} permute",
            "dense.weight Some(3) f32[5,7]{1,0} f32[7,5]{1,0} permute",
            "dense.bias None f32[7]{0} f32[7]{0} identity",
            "norm.weight None f16[7]{0} f16[7]{0} identity",
            "scale None u8[] u8[] identity",
        ]
    );
    assert_eq!(folder.names(), ["in.safetensors"]);
    plan.run(&|_, _| {}).unwrap();

    let entries: [Entry<'_>; 6] = [
        LAYER[0],
        ("conv.weight", "F32", &[2, 5, 3, 4]),
        ("dense.weight", "F32", &[7, 5]),
        LAYER[3],
        LAYER[4],
        LAYER[5],
    ];
    let mut expected = arrays.clone();
    expected[1] = permuted(&arrays[1], LAYER[1].2, 4, &[2, 3, 1, 0]);
    expected[2] = permuted(&arrays[2], LAYER[2].2, 4, &[1, 0]);
    let metadata = "{\"format\":\"pt\",\"note\":\"\u{e4}\\n\"}";
    let expected = safetensors(&entries, &expected, metadata);
    assert!(fs::read(&turned).unwrap() == expected);

    let back = folder.at("back.safetensors");
    let options = rules(&["conv.weight: HWIO -> OIHW", "dense.weight: IO -> OI"]);
    relayout(&turned, &back, &options).unwrap();
    assert!(fs::read(&back).unwrap() == safetensors(&LAYER, &arrays, metadata));
}

#[test]
fn memory_orders_stay_or_change_where_the_format_has_them() {
    let folder = Folder::new();
    let (_, file) = layer("");
    let input = folder.write("in.safetensors", &file);
    // Braces change the memory order, and the indices stay.
    let fortran = folder.at("fortran.npz");
    relayout(&input, &fortran, &rules(&["*.weight: {0,1}"])).unwrap();
    let shapes = |path: &Path| -> Vec<_> {
        let arrays = inspect(path).unwrap().arrays;
        arrays.iter().map(|array| array.shape.to_string()).collect()
    };
    let expected = [
        "f32[17,6]{0,1}",
        "f32[4,3,2,5]{3,2,1,0}",
        "f32[5,7]{0,1}",
        "f32[7]{0}",
        "f16[7]{0}",
        "u8[]",
    ];
    assert_eq!(shapes(&fortran), expected);
    // What no rule fits keeps its order; without rules all go to the default one.
    let again = folder.at("again.npz");
    let report = relayout(&fortran, &again, &rules(&["dense.weight: {1,0}"])).unwrap();
    assert_eq!(
        shapes(&again)[..3],
        [expected[0], expected[1], "f32[5,7]{1,0}"]
    );
    let class = |place: usize| report.arrays[place].plan.class();
    assert_eq!(
        [class(0), class(2)],
        [PlanClass::Identity, PlanClass::Permute]
    );
    let back = folder.at("back.safetensors");
    relayout(&again, &back, &RelayoutOptions::default()).unwrap();
    assert!(fs::read(&back).unwrap() == file);

    // A format that can't hold what is wanted says which array, and which formats can.
    for (options, array) in [
        (
            rules(&["dense.weight: {0,1}"]),
            "\"dense.weight\", f32[5,7]{0,1}",
        ),
        (
            rules(&["conv.*: {0,1,2,3}"]),
            "\"conv.weight\", f32[4,3,2,5]{0,1,2,3}",
        ),
    ] {
        let error = relayout(&input, &folder.at("no.safetensors"), &options).unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, FileError::ShapeOutsideFormat { .. }),
            "{text}"
        );
        for part in [array, "a .safetensors file", "ends in .npz"] {
            assert!(text.contains(part), "{text}");
        }
    }
    let error = relayout(&input, &folder.at("no.npz"), &rules(&["conv.*: {0,2,1,3}"])).unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with("ends in .bin, for this array alone"),
        "{text}"
    );
    let error = relayout(&input, &folder.at("no.npy"), &rules(&[])).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("holds one array, and here are 6"),
        "{error}"
    );
    assert!(folder.names().iter().all(|name| !name.starts_with("no")));
}

#[test]
fn sets_of_files_stay_sets() {
    let folder = Folder::new();
    let (arrays, file) = layer(r#"{"format":"pt"}"#);
    let metadata = r#"{"format":"pt"}"#;
    let first = safetensors(&LAYER[..2], &arrays[..2], metadata);
    let second = safetensors(&LAYER[2..], &arrays[2..], metadata);
    folder.write("in-00001-of-00002.safetensors", &first);
    folder.write("in-00002-of-00002.safetensors", &second);
    let mut names: Vec<_> = LAYER.iter().enumerate().collect();
    names.sort_by_key(|(_, entry)| entry.0);
    let of = |stem: &str| {
        let lines: Vec<_> = names
            .iter()
            .map(|(n, entry)| {
                let number = if *n < 2 { 1 } else { 2 };
                format!(
                    "    \"{}\": \"{stem}-0000{number}-of-00002.safetensors\"",
                    entry.0
                )
            })
            .collect();
        let bytes: usize = arrays.iter().map(Vec::len).sum();
        format!(
            "{{\n  \"metadata\": {{\n    \"author\": [\n      1\n    ],\n    \"total_size\": {bytes}\n  }},\n  \"weight_map\": {{\n{}\n  }}\n}}\n",
            lines.join(",\n")
        )
    };
    let index = folder.write("in.safetensors.index.json", of("in"));

    let turned = folder.at("turned.safetensors.index.json");
    let there = rules(&["*.weight: OI -> IO"]);
    let report = relayout(&index, &turned, &there).unwrap();
    assert_eq!((report.output, report.arrays.len()), (turned.clone(), 6));
    assert_eq!(fs::read_to_string(&turned).unwrap(), of("turned"));
    let info = inspect(&turned).unwrap();
    assert_eq!(info.metadata, [("format".to_owned(), "pt".to_owned())]);
    assert_eq!(info.arrays[0].shape.to_string(), "f32[6,17]{1,0}");
    let back = folder.at("back.safetensors.index.json");
    relayout(&turned, &back, &rules(&["*.weight: IO -> OI"])).unwrap();
    assert_eq!(fs::read_to_string(&back).unwrap(), of("back"));
    assert!(fs::read(folder.at("back-00001-of-00002.safetensors")).unwrap() == first);
    assert!(fs::read(folder.at("back-00002-of-00002.safetensors")).unwrap() == second);

    // To one file and back to a set, of one file.
    let one = folder.at("one.safetensors");
    relayout(&index, &one, &rules(&[])).unwrap();
    assert!(fs::read(&one).unwrap() == file);
    relayout(&one, &folder.at("m.safetensors.index.json"), &rules(&[])).unwrap();
    assert!(fs::read(folder.at("m-00001-of-00001.safetensors")).unwrap() == file);

    // No output may be a file of the input's set.
    fs::rename(&one, folder.at("in-00001-of-00001.safetensors")).unwrap();
    let input = folder.at("in-00001-of-00001.safetensors");
    let before = folder.names();
    let error = relayout(&input, &index, &rules(&[])).unwrap_err();
    assert!(matches!(error, FileError::OutputIsInput { .. }), "{error}");
    assert_eq!(folder.names(), before);
    assert_eq!(fs::read_to_string(&index).unwrap(), of("in"));
}

/// Thousands of small arrays, in whatever memory, on however many threads.
#[test]
fn all_arrays_together_keep_one_bound() {
    let folder = Folder::new();
    let names: Vec<String> = (0..1500).map(|n| format!("layer.{n}.w")).collect();
    let sizes: Vec<[usize; 2]> = (0..1500).map(|n| [1 + n % 13, 1 + n % 37]).collect();
    let mut entries: Vec<Entry<'_>> = names
        .iter()
        .zip(&sizes)
        .map(|(name, sizes)| (name.as_str(), "F32", &sizes[..]))
        .collect();
    entries.push(("large", "F32", &[1031, 1033]));
    let arrays: Vec<_> = entries
        .iter()
        .enumerate()
        .map(|(n, entry)| data(n, entry))
        .collect();
    let input = folder.write("in.safetensors", safetensors(&entries, &arrays, ""));
    let turned: Vec<Vec<usize>> = entries
        .iter()
        .map(|entry| entry.2.iter().rev().copied().collect())
        .collect();
    let turned: Vec<Entry<'_>> = entries
        .iter()
        .zip(&turned)
        .map(|(entry, sizes)| (entry.0, entry.1, &sizes[..]))
        .collect();
    let moved: Vec<_> = entries
        .iter()
        .zip(&arrays)
        .map(|(entry, bytes)| permuted(bytes, entry.2, 4, &[1, 0]))
        .collect();
    let expected = safetensors(&turned, &moved, "");
    let output = folder.at("out.safetensors");
    for (threads, memory) in [
        (1, None),
        (3, None),
        (1, Some(32 << 20)),
        (4, Some(24 << 20)),
    ] {
        let mut options = rules(&["*: AB -> BA"]);
        options.threads = Some(threads);
        options.memory = memory;
        let report = relayout(&input, &output, &options).unwrap();
        assert!(memory.is_none_or(|memory| report.extra.heap <= memory));
        assert!(
            fs::read(&output).unwrap() == expected,
            "{threads} {memory:?}"
        );
    }
    let mut options = rules(&["*: AB -> BA"]);
    options.memory = Some(1 << 20);
    let error = relayout(&input, &output, &options).unwrap_err();
    assert!(error.to_string().contains("needs at least"), "{error}");
}

#[test]
fn files_of_a_set_keep_their_own_metadata() {
    let folder = Folder::new();
    let (arrays, _) = layer("{}");
    let parts = [r#"{"format":"pt"}"#, r#"{"format":"pt","step":"7"}"#];
    let mut files = Vec::new();
    let mut lines = Vec::new();
    for (number, (part, metadata)) in [0..2, 2..LAYER.len()].into_iter().zip(parts).enumerate() {
        let name = format!("in-0000{}-of-00002.safetensors", number + 1);
        let names = LAYER[part.clone()].iter();
        lines.extend(names.map(|entry| format!("\"{}\": \"{name}\"", entry.0)));
        files.push(safetensors(&LAYER[part.clone()], &arrays[part], metadata));
        folder.write(&name, &files[number]);
    }
    let text = format!("{{\"weight_map\": {{{}}}}}", lines.join(","));
    let index = folder.write("in.safetensors.index.json", text);
    relayout(
        &index,
        &folder.at("out.safetensors.index.json"),
        &rules(&["none: {0}"]),
    )
    .unwrap();
    for (number, file) in files.iter().enumerate() {
        let name = format!("out-0000{}-of-00002.safetensors", number + 1);
        assert!(&fs::read(folder.at(&name)).unwrap() == file, "{name}");
    }
    // One file has what all of them say; where they contradict each other, nothing is chosen.
    relayout(&index, &folder.at("one.safetensors"), &rules(&[])).unwrap();
    assert_eq!(
        inspect(folder.at("one.safetensors"))
            .unwrap()
            .metadata
            .len(),
        2
    );
    let other = safetensors(&LAYER[..2], &arrays[..2], r#"{"format":"tf"}"#);
    folder.write("in-00001-of-00002.safetensors", &other);
    let error = relayout(&index, &folder.at("no.safetensors"), &rules(&[]))
        .unwrap_err()
        .to_string();
    for part in [
        "\"tf\" as in ",
        "in-00001-of-00002.safetensors, found \"pt\" in ",
        "in-00002",
    ] {
        assert!(error.contains(part), "{error}");
    }
}
