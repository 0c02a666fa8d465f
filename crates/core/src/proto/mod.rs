//! XLA's `ShapeProto`, `LayoutProto` and `OpSharding`, byte for byte.
//!
//! Fields go out in the order of their numbers, repeated numbers packed, as the C++ library
//! writes them; they come in in any order, packed or not. Fields that this library does not know
//! are kept with the value and written behind the known ones. Padding uses the field numbers
//! that it had in the first releases: 2 and 3 of `LayoutProto`.
//!
//! Written by hand, since the protobuf libraries recurse and stop at about 100 levels, where
//! XLA's tuples may have 8192.

mod decode;
mod encode;
mod program;
mod sharding;
mod wire;

use std::hash::{Hash, Hasher};

use crate::error::ShapeError;
use crate::sharding::ShardingError;

/// Field numbers of `xla.ShapeProto`.
mod shape_field {
    pub const ELEMENT_TYPE: u64 = 2;
    pub const DIMENSIONS: u64 = 3;
    pub const TUPLE_SHAPES: u64 = 4;
    pub const LAYOUT: u64 = 5;
    pub const IS_DYNAMIC_DIMENSION: u64 = 6;
}

/// Field numbers of `xla.LayoutProto`.
mod layout_field {
    pub const MINOR_TO_MAJOR: u64 = 1;
    pub const PADDED_DIMENSIONS: u64 = 2;
    pub const PADDING_VALUE: u64 = 3;
    pub const TILES: u64 = 6;
    pub const ELEMENT_SIZE_IN_BITS: u64 = 7;
    pub const MEMORY_SPACE: u64 = 8;
    pub const PHYSICAL_SHAPE: u64 = 10;
    pub const INDEX_PRIMITIVE_TYPE: u64 = 11;
    pub const POINTER_PRIMITIVE_TYPE: u64 = 12;
    pub const DYNAMIC_SHAPE_METADATA_PREFIX_BYTES: u64 = 15;
    pub const TAIL_PADDING_ALIGNMENT_IN_ELEMENTS: u64 = 16;
    pub const SPLIT_CONFIGS: u64 = 17;
}

/// Field numbers of `xla.TileProto`.
mod tile_field {
    pub const DIMENSIONS: u64 = 1;
}

/// Field numbers of `xla.SplitConfigProto`.
mod split_field {
    pub const DIMENSION: u64 = 1;
    pub const SPLIT_INDICES: u64 = 2;
}

/// Numbers of `xla.PrimitiveType` that are no element types.
mod primitive_type {
    pub const TUPLE: u64 = 13;
    pub const OPAQUE: u64 = 14;
    pub const TOKEN: u64 = 17;
    pub const BUFFER: u64 = 34;
}

/// What stands for an unbounded dimension, and for `*` in a tile.
const SENTINEL: i64 = i64::MIN;

/// Why bytes are no shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtoError {
    /// The bytes are not in protobuf's wire format, or end too early.
    #[error("byte {offset}: expected {expected}")]
    #[allow(missing_docs)]
    Wire {
        offset: usize,
        expected: &'static str,
    },
    /// A field has another wire type than XLA's.
    #[error(
        "byte {offset}: field {field} of {message} has wire type {wire_type}; expected {expected}"
    )]
    #[allow(missing_docs)]
    WireType {
        offset: usize,
        message: &'static str,
        field: u64,
        wire_type: u8,
        expected: &'static str,
    },
    /// A number that XLA's enum does not have.
    #[error("{number} is no {what} that XLA has")]
    #[allow(missing_docs)]
    Number { what: &'static str, number: i64 },
    /// A field that a shape of this kind can't have, or not so often.
    #[error("a shape of kind {kind} has {found}; expected {expected}")]
    #[allow(missing_docs)]
    Kind {
        kind: &'static str,
        found: &'static str,
        expected: &'static str,
    },
    /// A layout property that no valid shape has.
    #[error("the layout has {property}, which no valid shape has")]
    #[allow(missing_docs)]
    Property { property: &'static str },
    /// As many flags as dimensions were expected.
    #[error("{found} dimensions are marked dynamic or static, the shape has {rank}")]
    #[allow(missing_docs)]
    DynamicFlags { found: usize, rank: usize },
    /// As many names as parameters were expected.
    #[error("{found} names for {parameters} parameters; expected as many")]
    #[allow(missing_docs)]
    ParameterNames { found: usize, parameters: usize },
    /// The message is well formed, but there is no such shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The message is well formed, but there is no such sharding.
    #[error(transparent)]
    Sharding(#[from] ShardingError),
}

/// Fields of a message that this library does not know, as they came.
///
/// They are carried along and have no part in equality.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnknownFields(Option<Box<[u8]>>);

impl UnknownFields {
    pub fn new(bytes: Vec<u8>) -> Self {
        UnknownFields((!bytes.is_empty()).then(|| bytes.into_boxed_slice()))
    }

    pub fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl PartialEq for UnknownFields {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for UnknownFields {}

impl Hash for UnknownFields {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use crate::{Layout, Shape};

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    }

    #[test]
    fn the_bytes_are_xlas() {
        let shape: Shape = "bf16[8,<=16]{0,1:T(8,128)(2,1)S(1)}".parse().unwrap();
        let golden = "10101a0208102a160a02000132050a0308800132040a020201400180010132020001";
        assert_eq!(hex(&shape.to_proto_bytes()), golden);
        assert_eq!(Shape::from_proto_bytes(&bytes(golden)).unwrap(), shape);
    }

    #[test]
    fn padding_has_its_old_numbers() {
        let shape: Shape = "f32[2,3]{0,1:PAD(3,5;lowest)}".parse().unwrap();
        let encoded = shape.to_proto_bytes();
        // minor_to_major = [0, 1], padded_dimensions (2) = [3, 5], padding_value (3) = 3.
        assert_eq!(
            hex(&encoded),
            "100b1a0202032a0d0a02000112020305180380010132020000"
        );
        assert_eq!(Shape::from_proto_bytes(&encoded).unwrap(), shape);
        // Without a value, or with 0, padding is zero.
        for value in ["", "1800"] {
            let layout = format!("0a020001120203{}{value}", "05");
            let layout = Layout::from_proto_bytes(&bytes(&layout)).unwrap();
            assert_eq!(layout.to_string(), "{0,1:PAD(3,5)}");
        }
        // A value without widths is kept and has no effect.
        let idle = Layout::from_proto_bytes(&bytes("0a01001804")).unwrap();
        assert_eq!(idle.to_string(), "{0}");
        assert_eq!(hex(&idle.to_proto_bytes()), "0a01001804800101");
    }

    #[test]
    fn unknown_fields_survive() {
        // Field 100 (varint 5) in the shape, 101 (bytes "ab") in the layout, the retired
        // dim_level_types (9) too, and 7 (fixed32) in the tile.
        let mut tile = bytes("0a0108");
        tile.extend(bytes("3d01020304"));
        let mut layout = bytes("0a0100");
        layout.extend([0x32, tile.len() as u8]);
        layout.extend(&tile);
        layout.extend(bytes("800101"));
        layout.extend(bytes("4a0100"));
        layout.extend(bytes("aa06026162"));
        let mut shape = bytes("10011a0104");
        shape.extend([0x2a, layout.len() as u8]);
        shape.extend(&layout);
        shape.extend(bytes("320100"));
        shape.extend(bytes("a00605"));
        let read = Shape::from_proto_bytes(&shape).unwrap();
        assert_eq!(read.to_string(), "pred[4]{0:T(8)}");
        assert_eq!(hex(&read.to_proto_bytes()), hex(&shape));
        assert_eq!(read, "pred[4]{0:T(8)}".parse().unwrap());
        // In tuples, tokens and buffers as well.
        for outer in [
            "100da00605",
            "1011a00605",
            "100ea00605",
            "1022220a1001a006052a03800101a00605",
            "100d2205100da0060522021011a00605",
        ] {
            let read = Shape::from_proto_bytes(&bytes(outer)).unwrap();
            assert_eq!(hex(&read.to_proto_bytes()).len(), outer.len());
            assert_eq!(
                Shape::from_proto_bytes(&read.to_proto_bytes()).unwrap(),
                read
            );
        }
    }

    #[test]
    fn combined_tile_dimensions_survive() {
        let shape: Shape = "f32[2,7,8]{2,1,0:T(*,*,2)}".parse().unwrap();
        assert_eq!(
            Shape::from_proto_bytes(&shape.to_proto_bytes()).unwrap(),
            shape
        );
    }

    #[test]
    fn bad_bytes_are_errors() {
        for (bad, part) in [
            ("10", "byte 1: expected"),
            ("1001ff", "byte 3: expected more"),
            ("100b1a", "byte 3: expected"),
            ("100b1a05", "byte 4: expected"),
            ("1025", "37 is no element type"),
            ("1000", "0 is no element type"),
            ("", "0 is no element type"),
            ("12020000", "wire type 2"),
            ("100b1a010132020000", "2 dimensions are marked"),
            ("10112a00", "kind token has a layout"),
            ("100d1a0101", "kind tuple has dimensions"),
            ("1022", "kind buffer has none or several"),
            ("10222203100d22", "byte 7"),
            ("100b1a010122021011", "kind array"),
            ("100b1a0101220210110c", "wire type of 0"),
            ("100b1a01012a055200800101", "a physical shape"),
            ("100b1a01012a0d0a01003000", "byte 7"),
            ("100b1aff01", "byte 5"),
        ] {
            let error = Shape::from_proto_bytes(&bytes(bad))
                .unwrap_err()
                .to_string();
            assert!(error.contains(part), "{bad}: {error}");
        }
    }
}
