//! A shape as aligned text, for people.

use std::fmt::Display;
use std::io::{self, Write};

use minormajor::{
    ArrayShape, Dimension, ElementKind, ElementType, FloatFormat, Layout, Shape, ShapeKind, sizes,
};

use super::json::proto_hex;

/// Columns that the names of the facts take.
const NAMES: usize = 18;

/// Writes everything about a shape; a tuple element by element, with a total.
pub fn write(shape: &Shape, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{shape}")?;
    match shape.kind() {
        ShapeKind::Array(array) => write_array(array, output)?,
        ShapeKind::Buffer(array) => {
            fact(output, "kind", "buffer, which holds an array")?;
            write_array(array, output)?;
        }
        ShapeKind::Token => fact(
            output,
            "type",
            "token: orders side effects, has no elements",
        )?,
        ShapeKind::Opaque => fact(output, "type", "opaque: a value whose inside is not known")?,
        ShapeKind::Tuple(tuple) => {
            let count = tuple.elements().len();
            fact(
                output,
                "type",
                format_args!("tuple of {}", counted(count as i128, "element")),
            )?;
            write_total(&write_leaves(shape, output)?, output)?;
        }
    }
    fact(output, "proto", proto_hex(shape))
}

/// Sums over the arrays of a tuple; `None` once one of them has no size.
struct Total {
    arrays: usize,
    dense: Option<i128>,
    allocated: Option<i128>,
}

/// Writes every element that is no tuple below its place in the tuple: `{1,0}` is element 0 of
/// element 1.
fn write_leaves(shape: &Shape, output: &mut impl Write) -> io::Result<Total> {
    let mut total = Total {
        arrays: 0,
        dense: Some(0),
        allocated: Some(0),
    };
    // Open tuples: the elements that remain of each, and the number of the next.
    let mut open = Vec::new();
    if let ShapeKind::Tuple(tuple) = shape.kind() {
        open.push((tuple.elements().iter(), 0_usize));
    }
    while let Some((elements, next)) = open.last_mut() {
        let Some(element) = elements.next() else {
            open.pop();
            continue;
        };
        *next += 1;
        if let ShapeKind::Tuple(tuple) = element.kind() {
            open.push((tuple.elements().iter(), 0));
            continue;
        }
        let place: Vec<String> = open
            .iter()
            .map(|(_, next)| (next - 1).to_string())
            .collect();
        writeln!(output, "\n  {{{}}} {element}", place.join(","))?;
        let Ok(array) = element.as_array() else {
            continue;
        };
        write_array(array, output)?;
        total.arrays += 1;
        let sum = |sum: Option<i128>, bytes: Option<i64>| Some(sum? + i128::from(bytes?));
        total.dense = sum(total.dense, array.dense_bytes());
        total.allocated = sum(total.allocated, array.allocated_bytes());
    }
    Ok(total)
}

fn write_total(total: &Total, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "\n  total of {}",
        counted(total.arrays as i128, "array")
    )?;
    write_sizes(total.dense, total.allocated, output)
}

fn write_array(array: &ArrayShape, output: &mut impl Write) -> io::Result<()> {
    fact(output, "type", type_text(array.element_type()))?;
    fact(output, "dimensions", dimensions_text(array))?;
    let names = array.dimension_names();
    if !names.is_empty() {
        let pairs = names.iter().zip(array.dimensions());
        let pairs: Vec<String> = pairs
            .map(|(name, size)| format!("{name} = {size}"))
            .collect();
        fact(output, "names", pairs.join(", "))?;
    }
    let dynamic: Vec<String> = dynamic_texts(array).collect();
    if !dynamic.is_empty() {
        fact(output, "dynamic", dynamic.join(", "))?;
    }
    fact(
        output,
        "rank",
        format_args!("{}, true rank {}", array.rank(), array.true_rank()),
    )?;
    if let Some(layout) = array.layout() {
        write_layout(array, layout, output)?;
    }
    match (array.elements(), array.allocated_elements()) {
        (Some(elements), Some(allocated)) if elements == allocated => {
            fact(output, "elements", elements)?;
        }
        (Some(elements), Some(allocated)) => {
            fact(
                output,
                "elements",
                format_args!("{elements}, allocated {allocated}"),
            )?;
        }
        _ => fact(
            output,
            "elements",
            "not known yet: a dimension is unbounded",
        )?,
    }
    write_sizes(
        array.dense_bytes().map(i128::from),
        array.allocated_bytes().map(i128::from),
        output,
    )?;
    match array.byte_strides() {
        Some(strides) => fact(output, "byte strides", format_args!("{strides:?}")),
        None => fact(
            output,
            "byte strides",
            format_args!("none: {}", why_no_strides(array)),
        ),
    }
}

fn write_layout(array: &ArrayShape, layout: &Layout, output: &mut impl Write) -> io::Result<()> {
    let order = format!("{:?}", layout.minor_to_major());
    fact(
        output,
        "minor to major",
        match order_text(layout) {
            Some(meaning) => format!("{order}: {meaning}"),
            None => order,
        },
    )?;
    if layout.tiles().is_empty() {
        fact(output, "tiles", "none")?;
    } else {
        let levels: Vec<String> = layout.tiles().iter().map(ToString::to_string).collect();
        fact(output, "tiles", levels.join(", then "))?;
    }
    if layout.padded_dimensions().is_empty() {
        fact(output, "padding", "none")?;
    } else {
        let value = layout.padding_value().map_or("zero", |value| value.name());
        let widths = layout.padded_dimensions();
        fact(
            output,
            "padding",
            format_args!("to {widths:?} with {value}"),
        )?;
    }
    if layout.element_size_in_bits() != 0 {
        let own = array.element_type().bit_width();
        let bits = layout.element_size_in_bits();
        fact(
            output,
            "element size",
            format_args!("{}, the type has {own}", counted(bits.into(), "bit")),
        )?;
    }
    if layout.tail_padding_alignment() != 1 {
        let multiple = layout.tail_padding_alignment();
        fact(
            output,
            "tail padding",
            format_args!("to a multiple of {multiple} elements"),
        )?;
    }
    if layout.memory_space() != 0 {
        fact(output, "memory space", layout.memory_space())?;
    }
    for split in layout.split_configs() {
        let (dimension, indices) = (split.dimension(), split.split_indices());
        fact(
            output,
            "split",
            format_args!("physical dimension {dimension} before {indices:?} (0 is the most major)"),
        )?;
    }
    if layout.dynamic_shape_metadata_prefix_bytes() != 0 {
        let bytes = layout.dynamic_shape_metadata_prefix_bytes();
        fact(output, "metadata prefix", counted(bytes.into(), "byte"))?;
    }
    Ok(())
}

fn write_sizes(
    dense: Option<i128>,
    allocated: Option<i128>,
    output: &mut impl Write,
) -> io::Result<()> {
    let (Some(dense), Some(allocated)) = (dense, allocated) else {
        return fact(output, "bytes", "not known yet: a dimension is unbounded");
    };
    for (name, bytes) in [("dense bytes", dense), ("allocated bytes", allocated)] {
        fact(
            output,
            name,
            format_args!("{bytes} ({})", sizes::size(bytes)),
        )?;
    }
    match sizes::expansion(dense, allocated) {
        Some(_) if dense == allocated => fact(output, "expansion", "none"),
        Some(expansion) => fact(output, "expansion", expansion),
        None => fact(output, "expansion", "none: there are no elements"),
    }
}

fn fact(output: &mut impl Write, name: &str, value: impl Display) -> io::Result<()> {
    writeln!(output, "  {name:NAMES$}{value}")
}

fn type_text(element_type: ElementType) -> String {
    let bits = counted(element_type.bit_width().into(), "bit");
    let fields = |format: FloatFormat| {
        format!(
            "{} exponent, {} fraction",
            format.exponent_bits, format.fraction_bits
        )
    };
    let meaning = match element_type.kind() {
        ElementKind::Predicate => "true or false, a byte".to_owned(),
        ElementKind::SignedInteger => format!("signed integer of {bits}"),
        ElementKind::UnsignedInteger => format!("unsigned integer of {bits}"),
        ElementKind::Float(format) => format!("float of {bits} ({})", fields(format)),
        ElementKind::Complex(_) => format!("complex number of {bits}, real part first"),
    };
    format!("{element_type}, {meaning}")
}

fn dimensions_text(array: &ArrayShape) -> String {
    if array.rank() == 0 {
        return "none: a scalar".to_owned();
    }
    let sizes: Vec<String> = array.dimensions().iter().map(ToString::to_string).collect();
    sizes.join(" x ")
}

fn dynamic_texts(array: &ArrayShape) -> impl Iterator<Item = String> {
    array
        .dimensions()
        .iter()
        .enumerate()
        .filter_map(|(dimension, size)| match size {
            Dimension::Static(_) => None,
            Dimension::Bounded(bound) => Some(format!("dim {dimension} (at most {bound})")),
            Dimension::Unbounded => Some(format!("dim {dimension} (unbounded)")),
        })
}

/// What a monotonic order is called; at rank 0 there is no order, at rank 1 both hold.
pub fn order_text(layout: &Layout) -> Option<&'static str> {
    let minor = layout.is_monotonic_with_dim0_minor();
    let major = layout.is_monotonic_with_dim0_major();
    match (layout.rank(), minor, major) {
        (0, ..) => None,
        (1, ..) => Some("dim 0 is minor, dim 0 is major"),
        (2, true, _) => Some("dim 0 is minor (column-major)"),
        (2, _, true) => Some("dim 0 is major (row-major)"),
        (_, true, _) => Some("dim 0 is minor"),
        (_, _, true) => Some("dim 0 is major"),
        _ => None,
    }
}

fn why_no_strides(array: &ArrayShape) -> &'static str {
    let tiled = array
        .layout()
        .is_some_and(|layout| !layout.tiles().is_empty());
    if tiled {
        "tiles cut the dimensions"
    } else if array.element_bits() % 8 != 0 {
        "elements are no whole bytes"
    } else {
        "a dimension has no size"
    }
}

/// A number with its noun: `1 element`, `2 elements`.
pub fn counted(count: i128, noun: &str) -> String {
    let ending = match (count, noun.ends_with('x')) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}
