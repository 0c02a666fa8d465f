//! Shapes and layouts from bytes.

use smallvec::SmallVec;

use super::wire::{BYTES, Field, Reader, VARINT, Value};
use super::{
    ProtoError, SENTINEL, UnknownFields, layout_field, primitive_type, shape_field, split_field,
    tile_field,
};
use crate::array::ArrayShape;
use crate::error::ShapeError;
use crate::layout::{Layout, PaddingValue, SplitConfig, Tile, TileDimension};
use crate::shape::{MAX_NESTING, Shape, TupleShape};
use crate::{Dimension, ElementType};

impl Shape {
    /// Reads a serialized `xla.ShapeProto`.
    ///
    /// # Errors
    ///
    /// [`ProtoError`] where the bytes are no message of that type, or the message is no valid
    /// shape.
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// let shape: Shape = "f32[2,3]{0,1}".parse()?;
    /// assert_eq!(Shape::from_proto_bytes(&shape.to_proto_bytes())?, shape);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_proto_bytes(bytes: &[u8]) -> Result<Shape, ProtoError> {
        read_shape(Reader::new(bytes))
    }
}

/// Reads a `ShapeProto`.
pub(super) fn read_shape(reader: Reader<'_>) -> Result<Shape, ProtoError> {
    let mut open = vec![Message::new(reader)];
    loop {
        let message = open
            .last_mut()
            .expect("one message is open until the last returns");
        if let Some(inner) = message.read()? {
            if open.len() > MAX_NESTING + 1 {
                return Err(ShapeError::TooDeep { limit: MAX_NESTING }.into());
            }
            open.push(Message::new(inner));
            continue;
        }
        let shape = open.pop().map(Message::build).transpose()?;
        match (open.last_mut(), shape) {
            (Some(outer), Some(shape)) => outer.shapes.push(shape),
            (None, Some(shape)) => return Ok(shape),
            (_, None) => unreachable!("a message was open"),
        }
    }
}

impl Layout {
    /// Reads a serialized `xla.LayoutProto`.
    ///
    /// # Errors
    ///
    /// [`ProtoError`] where the bytes are no message of that type, or the message is no valid
    /// layout.
    pub fn from_proto_bytes(bytes: &[u8]) -> Result<Layout, ProtoError> {
        let mut fields = LayoutFields::default();
        fields.read(Reader::new(bytes))?;
        fields.build()
    }
}

/// A `ShapeProto` of which some fields are read.
struct Message<'a> {
    reader: Reader<'a>,
    primitive_type: i64,
    dimensions: Vec<i64>,
    flags: Vec<i64>,
    shapes: Vec<Shape>,
    layout: Option<LayoutFields>,
    unknown: Vec<u8>,
}

impl<'a> Message<'a> {
    fn new(reader: Reader<'a>) -> Self {
        Message {
            reader,
            primitive_type: 0,
            dimensions: Vec::new(),
            flags: Vec::new(),
            shapes: Vec::new(),
            layout: None,
            unknown: Vec::new(),
        }
    }

    /// Reads up to the next message inside, which is returned, or to the end.
    fn read(&mut self) -> Result<Option<Reader<'a>>, ProtoError> {
        const MESSAGE: &str = "ShapeProto";
        while let Some(field) = self.reader.field()? {
            match field.number {
                // An enum: protobuf keeps the low 32 bits.
                shape_field::ELEMENT_TYPE => {
                    self.primitive_type = i64::from(number(&field, MESSAGE)? as i32);
                }
                shape_field::DIMENSIONS => numbers(&field, MESSAGE, &mut self.dimensions)?,
                shape_field::TUPLE_SHAPES => return message(&field, MESSAGE).map(Some),
                shape_field::LAYOUT => {
                    let layout = message(&field, MESSAGE)?;
                    // Protobuf merges a message field that comes more than once.
                    self.layout.get_or_insert_default().read(layout)?;
                }
                shape_field::IS_DYNAMIC_DIMENSION => numbers(&field, MESSAGE, &mut self.flags)?,
                _ => self.unknown.extend_from_slice(field.bytes),
            }
        }
        Ok(None)
    }

    fn build(self) -> Result<Shape, ProtoError> {
        let kind = match u64::try_from(self.primitive_type).unwrap_or(u64::MAX) {
            primitive_type::TUPLE => "tuple",
            primitive_type::TOKEN => "token",
            primitive_type::OPAQUE => "opaque",
            primitive_type::BUFFER => "buffer",
            number => {
                let element_type = ElementType::from_number(number).ok_or(ProtoError::Number {
                    what: "element type",
                    number: self.primitive_type,
                })?;
                return Ok(self.build_array(element_type)?.into());
            }
        };
        let wrong = |found, expected| {
            Err(ProtoError::Kind {
                kind,
                found,
                expected,
            })
        };
        if !self.dimensions.is_empty() || !self.flags.is_empty() {
            return wrong("dimensions", "none");
        }
        if self.layout.is_some() {
            return wrong("a layout", "none");
        }
        let mut shape = match kind {
            "tuple" => {
                let mut tuple = TupleShape::new(self.shapes)?;
                tuple.unknown = UnknownFields::new(self.unknown);
                return Ok(tuple.into());
            }
            "buffer" => match <[Shape; 1]>::try_from(self.shapes) {
                Ok([inner]) => match inner.kind() {
                    crate::ShapeKind::Array(array) => Shape::buffer(array.clone()),
                    _ => return wrong("another shape than an array inside", "an array"),
                },
                Err(_) => return wrong("none or several shapes inside", "one array"),
            },
            _ if !self.shapes.is_empty() => return wrong("tuple shapes", "none"),
            "token" => Shape::token(),
            _ => Shape::opaque(),
        };
        shape.unknown = UnknownFields::new(self.unknown);
        Ok(shape)
    }

    fn build_array(self, element_type: ElementType) -> Result<ArrayShape, ProtoError> {
        if !self.shapes.is_empty() {
            return Err(ProtoError::Kind {
                kind: "array",
                found: "tuple shapes",
                expected: "none",
            });
        }
        let rank = self.dimensions.len();
        if !self.flags.is_empty() && self.flags.len() != rank {
            return Err(ProtoError::DynamicFlags {
                found: self.flags.len(),
                rank,
            });
        }
        let dimensions: SmallVec<[Dimension; 6]> = self
            .dimensions
            .iter()
            .enumerate()
            .map(|(d, &size)| match self.flags.get(d) {
                Some(&flag) if flag != 0 && size == SENTINEL => Dimension::Unbounded,
                Some(&flag) if flag != 0 => Dimension::Bounded(size),
                _ => Dimension::Static(size),
            })
            .collect();
        let layout = self.layout.map(LayoutFields::build).transpose()?;
        let mut array = ArrayShape::checked(element_type, dimensions, layout)?;
        array.unknown = UnknownFields::new(self.unknown);
        Ok(array)
    }
}

/// The fields of a `LayoutProto` as they were read.
#[derive(Default)]
struct LayoutFields {
    minor_to_major: Vec<i64>,
    padded_dimensions: Vec<i64>,
    padding_value: i64,
    tiles: Vec<Tile>,
    element_size_in_bits: i64,
    memory_space: i64,
    metadata_prefix: i64,
    tail_padding_alignment: i64,
    split_configs: Vec<SplitConfig>,
    unknown: Vec<u8>,
}

impl LayoutFields {
    fn read(&mut self, mut reader: Reader<'_>) -> Result<(), ProtoError> {
        use layout_field::*;
        const MESSAGE: &str = "LayoutProto";

        while let Some(field) = reader.field()? {
            match field.number {
                MINOR_TO_MAJOR => numbers(&field, MESSAGE, &mut self.minor_to_major)?,
                PADDED_DIMENSIONS => numbers(&field, MESSAGE, &mut self.padded_dimensions)?,
                PADDING_VALUE => self.padding_value = i64::from(number(&field, MESSAGE)? as i32),
                TILES => self.tiles.push(read_tile(message(&field, MESSAGE)?)?),
                ELEMENT_SIZE_IN_BITS => self.element_size_in_bits = number(&field, MESSAGE)?,
                MEMORY_SPACE => self.memory_space = number(&field, MESSAGE)?,
                PHYSICAL_SHAPE => {
                    return Err(ProtoError::Property {
                        property: "a physical shape",
                    });
                }
                INDEX_PRIMITIVE_TYPE if number(&field, MESSAGE)? != 0 => {
                    return Err(ProtoError::Property {
                        property: "an index element type",
                    });
                }
                POINTER_PRIMITIVE_TYPE if number(&field, MESSAGE)? != 0 => {
                    return Err(ProtoError::Property {
                        property: "a pointer element type",
                    });
                }
                INDEX_PRIMITIVE_TYPE | POINTER_PRIMITIVE_TYPE => {}
                DYNAMIC_SHAPE_METADATA_PREFIX_BYTES => {
                    self.metadata_prefix = number(&field, MESSAGE)?;
                }
                TAIL_PADDING_ALIGNMENT_IN_ELEMENTS => {
                    self.tail_padding_alignment = number(&field, MESSAGE)?;
                }
                SPLIT_CONFIGS => self
                    .split_configs
                    .push(read_split(message(&field, MESSAGE)?)?),
                _ => self.unknown.extend_from_slice(field.bytes),
            }
        }
        Ok(())
    }

    fn build(self) -> Result<Layout, ProtoError> {
        let tail = match self.tail_padding_alignment {
            0 => 1,
            alignment => alignment,
        };
        let mut layout = Layout::new(self.minor_to_major)?
            .with_tiles(self.tiles)?
            .with_tail_padding_alignment(tail)?
            .with_element_size_in_bits(self.element_size_in_bits)?
            .with_memory_space(self.memory_space)
            .with_split_configs(self.split_configs)?
            .with_dynamic_shape_metadata_prefix_bytes(self.metadata_prefix)?;
        let value = match self.padding_value {
            0 => None,
            number => {
                let place = usize::try_from(number - 1).ok();
                let value = place.and_then(|place| PaddingValue::ALL.get(place));
                Some(*value.ok_or(ProtoError::Number {
                    what: "padding value",
                    number,
                })?)
            }
        };
        if !self.padded_dimensions.is_empty() {
            let value = value.unwrap_or(PaddingValue::Zero);
            layout = layout.with_padding(self.padded_dimensions, value)?;
        } else if let Some(value) = value {
            layout = layout.with_idle_padding_value(value);
        }
        layout.unknown = UnknownFields::new(self.unknown);
        Ok(layout)
    }
}

fn read_tile(mut reader: Reader<'_>) -> Result<Tile, ProtoError> {
    const MESSAGE: &str = "TileProto";
    let mut sizes = Vec::new();
    let mut unknown = Vec::new();
    while let Some(field) = reader.field()? {
        match field.number {
            tile_field::DIMENSIONS => numbers(&field, MESSAGE, &mut sizes)?,
            _ => unknown.extend_from_slice(field.bytes),
        }
    }
    let mut tile = Tile::new(sizes.into_iter().map(|size| match size {
        SENTINEL => TileDimension::Combine,
        size => TileDimension::Size(size),
    }));
    tile.unknown = UnknownFields::new(unknown);
    Ok(tile)
}

fn read_split(mut reader: Reader<'_>) -> Result<SplitConfig, ProtoError> {
    const MESSAGE: &str = "SplitConfigProto";
    let mut split = SplitConfig::new(0, []);
    let mut unknown = Vec::new();
    while let Some(field) = reader.field()? {
        match field.number {
            split_field::DIMENSION => split.dimension = number(&field, MESSAGE)?,
            split_field::SPLIT_INDICES => numbers(&field, MESSAGE, &mut split.split_indices)?,
            _ => unknown.extend_from_slice(field.bytes),
        }
    }
    split.unknown = UnknownFields::new(unknown);
    Ok(split)
}

/// The value of a number field.
pub(super) fn number(field: &Field<'_>, name: &'static str) -> Result<i64, ProtoError> {
    match field.value {
        Value::Varint(value) => Ok(value as i64),
        _ => Err(wrong_type(field, name, VARINT)),
    }
}

/// Adds the value or values of a repeated number field, packed or not.
pub(super) fn numbers(
    field: &Field<'_>,
    name: &'static str,
    values: &mut Vec<i64>,
) -> Result<(), ProtoError> {
    match field.value {
        Value::Varint(value) => values.push(value as i64),
        Value::Bytes(mut packed) => {
            while packed.at < packed.end {
                values.push(packed.varint()? as i64);
            }
        }
        Value::Fixed(_) => return Err(wrong_type(field, name, BYTES)),
    }
    Ok(())
}

/// The message inside a field.
pub(super) fn message<'a>(field: &Field<'a>, name: &'static str) -> Result<Reader<'a>, ProtoError> {
    match field.value {
        Value::Bytes(reader) => Ok(reader),
        _ => Err(wrong_type(field, name, BYTES)),
    }
}

pub(super) fn wrong_type(field: &Field<'_>, message: &'static str, expected: u8) -> ProtoError {
    ProtoError::WireType {
        offset: field.offset,
        message,
        field: field.number,
        wire_type: field.value.wire_type(),
        expected: if expected == VARINT {
            "0 (a number)"
        } else {
            "2 (bytes) or, for numbers, 0"
        },
    }
}
