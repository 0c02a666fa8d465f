//! Shapes and layouts to bytes.

use super::wire::Writer;
use super::{SENTINEL, layout_field, primitive_type, shape_field, split_field, tile_field};
use crate::Dimension;
use crate::array::ArrayShape;
use crate::layout::{Layout, PaddingValue, TileDimension};
use crate::shape::{Shape, ShapeKind, Step};

impl Shape {
    /// The shape as a serialized `xla.ShapeProto`, byte for byte as XLA writes it.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "token[]".parse()?;
    /// assert_eq!(shape.to_proto_bytes(), [0x10, 17]);
    /// # Ok::<(), minormajor_core::ParseError>(())
    /// ```
    pub fn to_proto_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        // Backwards, so a tuple begins at its close. Where each open one began:
        let mut begun = Vec::new();
        let steps: Vec<Step<'_>> = self.walk().collect();
        for (at, step) in steps.iter().enumerate().rev() {
            let begin = match step {
                Step::Close(tuple) => {
                    begun.push(writer.len());
                    writer.raw(tuple.unknown.bytes());
                    continue;
                }
                Step::Open(_) => {
                    writer.number(shape_field::ELEMENT_TYPE, primitive_type::TUPLE as i64);
                    begun.pop().unwrap_or(0)
                }
                Step::Leaf(shape) => {
                    let begin = writer.len();
                    write_leaf(&mut writer, shape);
                    begin
                }
            };
            if at > 0 {
                writer.enclose(shape_field::TUPLE_SHAPES, begin);
            }
        }
        writer.finish()
    }
}

impl Layout {
    /// The layout as a serialized `xla.LayoutProto`, byte for byte as XLA writes it.
    pub fn to_proto_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        write_layout(&mut writer, self);
        writer.finish()
    }
}

fn write_leaf(writer: &mut Writer, shape: &Shape) {
    let primitive_type = match shape.kind() {
        ShapeKind::Array(array) => return write_array(writer, array),
        ShapeKind::Buffer(array) => {
            writer.raw(shape.unknown.bytes());
            let begin = writer.len();
            write_array(writer, array);
            writer.enclose(shape_field::TUPLE_SHAPES, begin);
            primitive_type::BUFFER
        }
        ShapeKind::Token => {
            writer.raw(shape.unknown.bytes());
            primitive_type::TOKEN
        }
        ShapeKind::Opaque => {
            writer.raw(shape.unknown.bytes());
            primitive_type::OPAQUE
        }
        ShapeKind::Tuple(_) => unreachable!("a walk opens tuples"),
    };
    writer.number(shape_field::ELEMENT_TYPE, primitive_type as i64);
}

fn write_array(writer: &mut Writer, array: &ArrayShape) {
    let dimensions = array.dimensions();
    writer.raw(array.unknown.bytes());
    let flags = dimensions.iter().map(|d| i64::from(d.is_dynamic()));
    writer.packed(shape_field::IS_DYNAMIC_DIMENSION, flags);
    if let Some(layout) = array.layout() {
        let begin = writer.len();
        write_layout(writer, layout);
        writer.enclose(shape_field::LAYOUT, begin);
    }
    let size = |d: &Dimension| d.bound().unwrap_or(SENTINEL);
    writer.packed(shape_field::DIMENSIONS, dimensions.iter().map(size));
    let number = i64::from(array.element_type().number());
    writer.number(shape_field::ELEMENT_TYPE, number);
}

fn write_layout(writer: &mut Writer, layout: &Layout) {
    use layout_field::*;

    writer.raw(layout.unknown.bytes());
    for split in layout.split_configs().iter().rev() {
        let begin = writer.len();
        writer.raw(split.unknown.bytes());
        let indices = split.split_indices().iter().copied();
        writer.packed(split_field::SPLIT_INDICES, indices);
        writer.number(split_field::DIMENSION, split.dimension());
        writer.enclose(SPLIT_CONFIGS, begin);
    }
    writer.number(
        TAIL_PADDING_ALIGNMENT_IN_ELEMENTS,
        layout.tail_padding_alignment(),
    );
    writer.number(
        DYNAMIC_SHAPE_METADATA_PREFIX_BYTES,
        layout.dynamic_shape_metadata_prefix_bytes(),
    );
    writer.number(MEMORY_SPACE, layout.memory_space());
    writer.number(ELEMENT_SIZE_IN_BITS, layout.element_size_in_bits());
    for tile in layout.tiles().iter().rev() {
        let begin = writer.len();
        writer.raw(tile.unknown.bytes());
        let sizes = tile.dimensions().iter().map(|dimension| match *dimension {
            TileDimension::Size(size) => size,
            TileDimension::Combine => SENTINEL,
        });
        writer.packed(tile_field::DIMENSIONS, sizes);
        writer.enclose(TILES, begin);
    }
    if let Some(value) = layout.padding_value() {
        writer.number(PADDING_VALUE, padding_number(value));
    }
    let padded = layout.padded_dimensions().iter().copied();
    writer.packed(PADDED_DIMENSIONS, padded);
    let order = layout.minor_to_major().iter().map(|&d| d as i64);
    writer.packed(MINOR_TO_MAJOR, order);
}

/// The number of `xla.PaddingValue` in the first releases.
fn padding_number(value: PaddingValue) -> i64 {
    let place = PaddingValue::ALL.iter().position(|&v| v == value);
    place.map_or(0, |place| place as i64 + 1)
}
