//! The golden cases in this crate's `golden` folder: what XLA itself answers.
//!
//! `text.jsonl` and `malformed.jsonl` come from XLA's own parser, printer and serializer
//! (jaxlib 0.10.2); `index.jsonl` and `relayout.jsonl` from an independent model of XLA's
//! documented tiling; `tpu_memory.tsv` from reports of TPU compilers and stated sizes, each with
//! its source.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A text that XLA reads, how it prints it, and its serialized proto.
#[derive(Debug, Deserialize)]
pub struct TextCase {
    /// What is read.
    pub input: String,
    /// What XLA prints.
    pub xla_text: String,
    /// XLA's `ShapeProto`, in hexadecimal.
    pub xla_proto_hex: String,
}

/// Sizes and positions of an array.
#[derive(Debug, Deserialize)]
pub struct IndexCase {
    /// The array.
    pub shape: String,
    /// Elements.
    pub elements: i64,
    /// Elements with padding, every tile level counted.
    pub allocated_elements: i64,
    /// Bytes with padding.
    pub bytes: i64,
    /// Some elements.
    pub points: Vec<Point>,
}

/// An element and where it lies.
#[derive(Debug, Deserialize)]
pub struct Point {
    /// Its index.
    pub index: Vec<i64>,
    /// Its position.
    pub linear: i64,
}

/// An array's bytes in two layouts.
#[derive(Debug, Deserialize)]
pub struct RelayoutCase {
    /// The source.
    pub source: String,
    /// The destination.
    pub destination: String,
    /// The source's bytes; padding is 0xee.
    pub source_hex: String,
    /// The destination's bytes; padding is zero.
    pub destination_hex: String,
}

/// A text that is no shape.
#[derive(Debug, Deserialize)]
pub struct MalformedCase {
    /// The text.
    pub input: String,
    /// What XLA does with it.
    pub xla: String,
    /// What minormajor does.
    pub must: String,
}

/// A size that a TPU compiler or a unit test states.
#[derive(Debug)]
pub struct MemoryCase {
    /// The array.
    pub shape: String,
    /// Its size in memory.
    pub size: String,
    /// Its size without padding; empty where it was not printed.
    pub unpadded: String,
    /// The difference and the ratio; empty where it was not printed.
    pub expansion: String,
    /// Where it is from.
    pub source: String,
}

fn read(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json_lines<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}:{}: {error}", number + 1))
    };
    read(name).lines().enumerate().map(parse).collect()
}

/// `text.jsonl`
pub fn text() -> Vec<TextCase> {
    json_lines("text.jsonl")
}

/// `index.jsonl`
pub fn index() -> Vec<IndexCase> {
    json_lines("index.jsonl")
}

/// `relayout.jsonl`
pub fn relayout() -> Vec<RelayoutCase> {
    json_lines("relayout.jsonl")
}

/// `malformed.jsonl`
pub fn malformed() -> Vec<MalformedCase> {
    json_lines("malformed.jsonl")
}

/// `tpu_memory.tsv`
pub fn tpu_memory() -> Vec<MemoryCase> {
    let case = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [shape, size, unpadded, expansion, _kind, source] = cells[..] else {
            panic!("tpu_memory.tsv: expected six cells, found {line:?}");
        };
        MemoryCase {
            shape: shape.to_owned(),
            size: size.to_owned(),
            unpadded: unpadded.to_owned(),
            expansion: expansion.to_owned(),
            source: source.to_owned(),
        }
    };
    read("tpu_memory.tsv").lines().skip(1).map(case).collect()
}

/// The bytes that hexadecimal digits stand for.
pub fn bytes(hex: &str) -> Vec<u8> {
    assert!(
        hex.len().is_multiple_of(2),
        "an odd number of digits: {hex}"
    );
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
