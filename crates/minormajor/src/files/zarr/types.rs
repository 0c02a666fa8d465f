//! Zarr's names of element types.

use minormajor_core::ElementType;
use serde_json::{Value, json};

/// The types that both have.
const TYPES: [(&str, ElementType); 29] = [
    ("bool", ElementType::Pred),
    ("int2", ElementType::S2),
    ("int4", ElementType::S4),
    ("int8", ElementType::S8),
    ("int16", ElementType::S16),
    ("int32", ElementType::S32),
    ("int64", ElementType::S64),
    ("uint2", ElementType::U2),
    ("uint4", ElementType::U4),
    ("uint8", ElementType::U8),
    ("uint16", ElementType::U16),
    ("uint32", ElementType::U32),
    ("uint64", ElementType::U64),
    ("float16", ElementType::F16),
    ("float32", ElementType::F32),
    ("float64", ElementType::F64),
    ("bfloat16", ElementType::Bf16),
    ("complex64", ElementType::C64),
    ("complex128", ElementType::C128),
    ("float4_e2m1fn", ElementType::F4e2m1fn),
    ("float6_e2m3fn", ElementType::F6e2m3fn),
    ("float6_e3m2fn", ElementType::F6e3m2fn),
    ("float8_e3m4", ElementType::F8e3m4),
    ("float8_e4m3", ElementType::F8e4m3),
    ("float8_e4m3b11fnuz", ElementType::F8e4m3b11fnuz),
    ("float8_e4m3fnuz", ElementType::F8e4m3fnuz),
    ("float8_e5m2", ElementType::F8e5m2),
    ("float8_e5m2fnuz", ElementType::F8e5m2fnuz),
    ("float8_e8m0fnu", ElementType::F8e8m0fnu),
];

/// The type that a name in metadata means.
pub(super) fn named(name: &str) -> Option<ElementType> {
    // Names that extensions gave first.
    let name = match name {
        "complex_float32" => "complex64",
        "complex_float64" => "complex128",
        name => name,
    };
    let found = TYPES.iter().find(|(known, _)| *known == name);
    found.map(|(_, element_type)| *element_type)
}

/// Zarr's name of a type, where it has one.
pub(super) fn name_of(element_type: ElementType) -> Option<&'static str> {
    let found = TYPES.iter().find(|(_, known)| *known == element_type);
    found.map(|(name, _)| *name)
}

/// What metadata says of elements whose bytes are zero.
pub(super) fn zero(element_type: ElementType) -> Value {
    match element_type {
        ElementType::Pred => json!(false),
        // Zero bytes are its least value, and it has no zero.
        ElementType::F8e8m0fnu => json!("0x00"),
        other if other.is_complex() => json!([0.0, 0.0]),
        other if other.is_floating_point() => json!(0.0),
        _ => json!(0),
    }
}
