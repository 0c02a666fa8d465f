//! Program shapes and paths to and from bytes.

use super::decode::{message, numbers, read_shape};
use super::wire::{Reader, Writer};
use super::{ProtoError, UnknownFields};
use crate::shape::{ProgramShape, ShapeIndex};

/// Field numbers of `xla.ProgramShapeProto`.
mod field {
    pub const PARAMETERS: u64 = 1;
    pub const RESULT: u64 = 2;
    pub const PARAMETER_NAMES: u64 = 3;
}

/// The field of `xla.ShapeIndexProto`.
const INDEXES: u64 = 1;

impl ProgramShape {
    /// The program's shape as a serialized `xla.ProgramShapeProto`, byte for byte as XLA writes
    /// it.
    pub fn to_proto_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let mut enclosed = |number: u64, bytes: &[u8]| {
            let begin = writer.len();
            writer.raw(bytes);
            writer.enclose(number, begin);
        };
        for (name, _) in self.parameters().iter().rev() {
            enclosed(field::PARAMETER_NAMES, name.as_bytes());
        }
        enclosed(field::RESULT, &self.result().to_proto_bytes());
        for (_, shape) in self.parameters().iter().rev() {
            enclosed(field::PARAMETERS, &shape.to_proto_bytes());
        }
        let mut bytes = writer.finish();
        bytes.extend_from_slice(self.unknown.bytes());
        bytes
    }

    /// Reads a serialized `xla.ProgramShapeProto`.
    ///
    /// # Errors
    ///
    /// [`ProtoError`] where the bytes are no message of that type, a shape is no valid one, the
    /// result is missing, or there are other than as many names as parameters.
    ///
    /// ```
    /// use minormajor_core::{ProgramShape, Shape};
    ///
    /// let x: Shape = "f32[2,3]{0,1}".parse()?;
    /// let program = ProgramShape::new([("x", x.clone())], x);
    /// assert_eq!(ProgramShape::from_proto_bytes(&program.to_proto_bytes())?, program);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_proto_bytes(bytes: &[u8]) -> Result<ProgramShape, ProtoError> {
        const MESSAGE: &str = "ProgramShapeProto";
        let mut reader = Reader::new(bytes);
        let (mut shapes, mut names, mut result) = (Vec::new(), Vec::new(), None);
        let mut unknown = Vec::new();
        while let Some(found) = reader.field()? {
            match found.number {
                field::PARAMETERS => shapes.push(read_shape(message(&found, MESSAGE)?)?),
                field::RESULT => result = Some(read_shape(message(&found, MESSAGE)?)?),
                field::PARAMETER_NAMES => {
                    let text = std::str::from_utf8(message(&found, MESSAGE)?.rest());
                    names.push(text.map_err(|_| ProtoError::Wire {
                        offset: found.offset,
                        expected: "a parameter's name in UTF-8",
                    })?);
                }
                _ => unknown.extend_from_slice(found.bytes),
            }
        }
        if names.len() != shapes.len() {
            return Err(ProtoError::ParameterNames {
                found: names.len(),
                parameters: shapes.len(),
            });
        }
        let result = result.ok_or(ProtoError::Wire {
            offset: bytes.len(),
            expected: "the result's shape",
        })?;
        let mut program = ProgramShape::new(names.into_iter().zip(shapes), result);
        program.unknown = UnknownFields::new(unknown);
        Ok(program)
    }
}

impl ShapeIndex {
    /// The path as a serialized `xla.ShapeIndexProto`.
    pub fn to_proto_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.packed(INDEXES, self.iter().map(|&number| number as i64));
        writer.finish()
    }

    /// Reads a serialized `xla.ShapeIndexProto`; fields that it does not have are passed over.
    ///
    /// # Errors
    ///
    /// [`ProtoError`] where the bytes are no message of that type, or a number is below 0.
    ///
    /// ```
    /// use minormajor_core::ShapeIndex;
    ///
    /// let index = ShapeIndex::from([4, 2, 0]);
    /// assert_eq!(ShapeIndex::from_proto_bytes(&index.to_proto_bytes())?, index);
    /// # Ok::<(), minormajor_core::ProtoError>(())
    /// ```
    pub fn from_proto_bytes(bytes: &[u8]) -> Result<ShapeIndex, ProtoError> {
        let mut reader = Reader::new(bytes);
        let mut found = Vec::new();
        while let Some(field) = reader.field()? {
            if field.number == INDEXES {
                numbers(&field, "ShapeIndexProto", &mut found)?;
            }
        }
        let number = |number: i64| {
            usize::try_from(number).map_err(|_| ProtoError::Number {
                what: "index into a tuple",
                number,
            })
        };
        found.into_iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    /// XLA: ShapeTest.ProgramShapeToFromProto
    #[test]
    fn programs_survive() {
        let program = ProgramShape::new(
            [
                ("foo", shape("f32[1,2,3]{0,2,1:T(8,128)}")),
                ("bar", shape("token[]")),
                ("", shape("s64[]")),
                ("qux qux", shape("(s32[], (token[]), f32[42,<=42])")),
            ],
            shape("f32[7]"),
        );
        let bytes = program.to_proto_bytes();
        let read = ProgramShape::from_proto_bytes(&bytes).unwrap();
        assert_eq!(read, program);
        assert_eq!(read.to_proto_bytes(), bytes);
        // An unknown field is kept.
        let more = [&bytes[..], &[0xa0, 0x06, 5]].concat();
        let read = ProgramShape::from_proto_bytes(&more).unwrap();
        assert_eq!((read.to_proto_bytes(), &read), (more, &program));
    }

    #[test]
    fn bad_programs_are_errors() {
        let program = ProgramShape::new([("x", shape("s8[]"))], shape("token[]"));
        let bytes = program.to_proto_bytes();
        // A parameter of 10 bytes, the result of 4, a name of 3.
        let without_name = &bytes[..bytes.len() - 3];
        let error = ProgramShape::from_proto_bytes(without_name).unwrap_err();
        assert_eq!(
            error.to_string(),
            "0 names for 1 parameters; expected as many"
        );
        let name_alone = &bytes[bytes.len() - 3..];
        assert!(ProgramShape::from_proto_bytes(name_alone).is_err());
        assert!(ProgramShape::from_proto_bytes(&[]).is_err());
        let mut not_text = bytes.clone();
        *not_text.last_mut().unwrap() = 0xff;
        let error = ProgramShape::from_proto_bytes(&not_text).unwrap_err();
        assert!(error.to_string().contains("UTF-8"), "{error}");
    }

    /// XLA: ShapeUtilTest.ShapeIndexProtoSerialization
    #[test]
    fn paths_survive() {
        for index in [ShapeIndex::root(), [0].into(), [4, 2, 0, 1 << 40].into()] {
            let bytes = index.to_proto_bytes();
            assert_eq!(ShapeIndex::from_proto_bytes(&bytes), Ok(index));
        }
        assert_eq!(ShapeIndex::from([4, 2]).to_proto_bytes(), [0x0a, 2, 4, 2]);
        // Not packed, with a field that is not ours; and below 0.
        let found = ShapeIndex::from_proto_bytes(&[8, 4, 0x10, 9, 8, 2]).unwrap();
        assert_eq!(found, ShapeIndex::from([4, 2]));
        let negative = [&[8][..], &[0xff; 9], &[1]].concat();
        let error = ShapeIndex::from_proto_bytes(&negative).unwrap_err();
        assert_eq!(
            error.to_string(),
            "-1 is no index into a tuple that XLA has"
        );
    }
}
