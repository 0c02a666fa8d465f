//! A shape as a JSON object. Tuples are written without recursion, so nesting uses no stack.

use std::io::{self, Write};

use minormajor::{ArrayShape, Dimension, Layout, Shape, ShapeKind, TileDimension, sizes};
use serde::{Serialize, Serializer};

/// Writes the object of a shape, on one line.
pub fn write(shape: &Shape, output: &mut impl Write) -> io::Result<()> {
    enum Step<'a> {
        Shape(&'a Shape),
        Comma,
        /// The end of a tuple or buffer, with what stands before its `proto_hex`.
        Close(&'a Shape, &'static str),
    }
    let mut steps = vec![Step::Shape(shape)];
    while let Some(step) = steps.pop() {
        let shape = match step {
            Step::Comma => {
                output.write_all(b",")?;
                continue;
            }
            Step::Close(shape, before) => {
                write!(output, "{before},\"proto_hex\":")?;
                serde_json::to_writer(&mut *output, &ProtoHex(shape))?;
                output.write_all(b"}")?;
                continue;
            }
            Step::Shape(shape) => shape,
        };
        match shape.kind() {
            ShapeKind::Array(array) => write_array(array, shape, output)?,
            ShapeKind::Token | ShapeKind::Opaque => serde_json::to_writer(
                &mut *output,
                &SpecialObject {
                    shape: Text(shape),
                    element_type: shape.kind().name(),
                    proto_hex: ProtoHex(shape),
                },
            )?,
            ShapeKind::Buffer(array) => {
                output.write_all(b"{\"shape\":")?;
                serde_json::to_writer(&mut *output, &Text(shape))?;
                output.write_all(b",\"buffer\":")?;
                write_array(array, &Shape::from(array.clone()), output)?;
                steps.push(Step::Close(shape, ""));
            }
            ShapeKind::Tuple(tuple) => {
                output.write_all(b"{\"shape\":")?;
                serde_json::to_writer(&mut *output, &Text(shape))?;
                output.write_all(b",\"tuple\":[")?;
                steps.push(Step::Close(shape, "]"));
                for (place, element) in tuple.elements().iter().enumerate().rev() {
                    steps.push(Step::Shape(element));
                    if place > 0 {
                        steps.push(Step::Comma);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Token and opaque.
#[derive(Serialize)]
struct SpecialObject<'a> {
    shape: Text<'a>,
    element_type: &'static str,
    proto_hex: ProtoHex<'a>,
}

/// An array.
#[derive(Serialize)]
struct ArrayObject<'a> {
    shape: Text<'a>,
    element_type: &'static str,
    dimensions: Vec<Option<i64>>,
    dynamic: Vec<bool>,
    dimension_names: &'static [&'static str],
    rank: usize,
    true_rank: usize,
    minor_to_major: Option<&'a [usize]>,
    tiles: Vec<Vec<TileSize>>,
    padding: Option<Padding<'a>>,
    elements: Option<i64>,
    allocated_elements: Option<i64>,
    dense_bytes: Option<i64>,
    allocated_bytes: Option<i64>,
    expansion: Option<f64>,
    byte_strides: Option<Vec<i64>>,
    proto_hex: ProtoHex<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    element_size_bits: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_space: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tail_padding: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    split_configs: Vec<Split<'a>>,
}

#[derive(Serialize)]
struct Padding<'a> {
    dimensions: &'a [i64],
    value: &'static str,
}

#[derive(Serialize)]
struct Split<'a> {
    dimension: i64,
    split_indices: &'a [i64],
}

#[derive(Serialize)]
#[serde(untagged)]
enum TileSize {
    Size(i64),
    Combine(&'static str),
}

fn write_array(array: &ArrayShape, shape: &Shape, output: &mut impl Write) -> io::Result<()> {
    let layout = array.layout();
    let unless =
        |default: i64, of: fn(&Layout) -> i64| layout.map(of).filter(|&value| value != default);
    let (dense, allocated) = (array.dense_bytes(), array.allocated_bytes());
    let object = ArrayObject {
        shape: Text(shape),
        element_type: array.element_type().name(),
        dimensions: array.dimensions().iter().map(|size| size.bound()).collect(),
        dynamic: array
            .dimensions()
            .iter()
            .map(|&size| Dimension::is_dynamic(size))
            .collect(),
        dimension_names: array.dimension_names(),
        rank: array.rank(),
        true_rank: array.true_rank(),
        minor_to_major: layout.map(Layout::minor_to_major),
        tiles: layout.map_or_else(Vec::new, tiles),
        padding: layout
            .filter(|layout| !layout.padded_dimensions().is_empty())
            .map(|layout| Padding {
                dimensions: layout.padded_dimensions(),
                value: layout.padding_value().map_or("zero", |value| value.name()),
            }),
        elements: array.elements(),
        allocated_elements: array.allocated_elements(),
        dense_bytes: dense,
        allocated_bytes: allocated,
        expansion: dense
            .zip(allocated)
            .and_then(|(dense, allocated)| sizes::ratio(dense.into(), allocated.into())),
        byte_strides: array.byte_strides(),
        proto_hex: ProtoHex(shape),
        element_size_bits: unless(0, Layout::element_size_in_bits),
        memory_space: unless(0, Layout::memory_space),
        tail_padding: unless(1, Layout::tail_padding_alignment),
        split_configs: layout.map_or_else(Vec::new, |layout| {
            layout
                .split_configs()
                .iter()
                .map(|split| Split {
                    dimension: split.dimension(),
                    split_indices: split.split_indices(),
                })
                .collect()
        }),
    };
    serde_json::to_writer(output, &object)?;
    Ok(())
}

fn tiles(layout: &Layout) -> Vec<Vec<TileSize>> {
    let size = |&dimension: &TileDimension| match dimension {
        TileDimension::Size(size) => TileSize::Size(size),
        TileDimension::Combine => TileSize::Combine("*"),
    };
    let tiles = layout.tiles().iter();
    tiles
        .map(|tile| tile.dimensions().iter().map(size).collect())
        .collect()
}

/// A shape's canonical text.
struct Text<'a>(&'a Shape);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

/// A shape's proto in hexadecimal digits.
struct ProtoHex<'a>(&'a Shape);

impl Serialize for ProtoHex<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&proto_hex(self.0))
    }
}

/// A shape's proto in hexadecimal digits.
pub fn proto_hex(shape: &Shape) -> String {
    let bytes = shape.to_proto_bytes();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}
