//! `xla.OpMetadata`, from bytes and to bytes.

use crate::proto::decode::{message, number, numbers, wrong_type};
use crate::proto::wire::{BYTES, Field, Reader, Value, Writer};
use crate::proto::{ProtoError, UnknownFields};
use crate::sharding::OpMetadata;

/// Reads the fields; those that are not known are kept.
pub(super) fn read_metadata(mut reader: Reader<'_>) -> Result<OpMetadata, ProtoError> {
    const MESSAGE: &str = "OpMetadata";
    let mut metadata = OpMetadata::default();
    let mut profile_types = Vec::new();
    let mut unknown = Vec::new();
    while let Some(field) = reader.field()? {
        let field = &field;
        let small = || Ok::<_, ProtoError>(number(field, MESSAGE)? as i32);
        match field.number {
            1 => metadata.op_type = string(field, MESSAGE)?,
            2 => metadata.op_name = string(field, MESSAGE)?,
            3 => metadata.source_file = string(field, MESSAGE)?,
            4 => metadata.source_line = small()?,
            5 => numbers(field, MESSAGE, &mut profile_types)?,
            12 => metadata.deduplicated_name = string(field, MESSAGE)?,
            15 => metadata.stack_frame_id = small()?,
            16 => metadata.scheduling_name = string(field, MESSAGE)?,
            17 => metadata.source_end_line = small()?,
            18 => metadata.source_column = small()?,
            19 => metadata.source_end_column = small()?,
            20 => {
                let payload = metadata.metadata_payload.get_or_insert_default();
                let mut inside = message(field, MESSAGE)?;
                while let Some(field) = inside.field()? {
                    if field.number == 1 {
                        *payload = string(&field, "MetadataPayload")?;
                    }
                }
            }
            _ => unknown.extend_from_slice(field.bytes),
        }
    }
    metadata.profile_types = profile_types.iter().map(|&number| number as i32).collect();
    metadata.unknown = UnknownFields::new(unknown);
    Ok(metadata)
}

/// The text of a field.
pub(super) fn string(field: &Field<'_>, name: &'static str) -> Result<String, ProtoError> {
    match field.value {
        Value::Bytes(reader) => {
            String::from_utf8(reader.rest().to_vec()).map_err(|_| ProtoError::Wire {
                offset: field.offset,
                expected: "a string in UTF-8",
            })
        }
        _ => Err(wrong_type(field, name, BYTES)),
    }
}

/// Writes the fields, the last first.
pub(super) fn write_metadata(writer: &mut Writer, metadata: &OpMetadata) {
    let text = |writer: &mut Writer, number, text: &str| {
        if !text.is_empty() {
            writer.bytes(number, text.as_bytes());
        }
    };
    writer.raw(metadata.unknown.bytes());
    if let Some(payload) = &metadata.metadata_payload {
        let begin = writer.len();
        text(writer, 1, payload);
        writer.enclose(20, begin);
    }
    writer.number(19, i64::from(metadata.source_end_column));
    writer.number(18, i64::from(metadata.source_column));
    writer.number(17, i64::from(metadata.source_end_line));
    text(writer, 16, &metadata.scheduling_name);
    writer.number(15, i64::from(metadata.stack_frame_id));
    text(writer, 12, &metadata.deduplicated_name);
    let types = metadata
        .profile_types
        .iter()
        .map(|&number| i64::from(number));
    writer.packed(5, types);
    writer.number(4, i64::from(metadata.source_line));
    text(writer, 3, &metadata.source_file);
    text(writer, 2, &metadata.op_name);
    text(writer, 1, &metadata.op_type);
}
