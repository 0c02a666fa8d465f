//! The format's element types.

use minormajor_core::ElementType;

use crate::files::{Array, Kind};

/// The format's names of the types that it has (safetensors 0.8, `Dtype`). `F8_E4M3` is the type
/// without infinities, as in PyTorch. Types narrower than a byte are packed.
const TYPES: [(&str, ElementType); 22] = [
    ("BOOL", ElementType::Pred),
    ("F4", ElementType::F4e2m1fn),
    ("F6_E2M3", ElementType::F6e2m3fn),
    ("F6_E3M2", ElementType::F6e3m2fn),
    ("U8", ElementType::U8),
    ("I8", ElementType::S8),
    ("F8_E5M2", ElementType::F8e5m2),
    ("F8_E4M3", ElementType::F8e4m3fn),
    ("F8_E8M0", ElementType::F8e8m0fnu),
    ("F8_E4M3FNUZ", ElementType::F8e4m3fnuz),
    ("F8_E5M2FNUZ", ElementType::F8e5m2fnuz),
    ("I16", ElementType::S16),
    ("U16", ElementType::U16),
    ("F16", ElementType::F16),
    ("BF16", ElementType::Bf16),
    ("I32", ElementType::S32),
    ("U32", ElementType::U32),
    ("F32", ElementType::F32),
    ("C64", ElementType::C64),
    ("F64", ElementType::F64),
    ("I64", ElementType::S64),
    ("U64", ElementType::U64),
];

/// The type of a name.
pub(super) fn type_of(name: &str) -> Option<ElementType> {
    let known = TYPES.iter().find(|(known, _)| *known == name);
    known.map(|&(_, element_type)| element_type)
}

/// The name of an array's type, if it has one.
pub(super) fn name_of(array: &Array) -> Option<&'static str> {
    if matches!(array.kind, Kind::Opaque { .. }) {
        return None;
    }
    let element_type = array.shape.element_type();
    let known = TYPES.iter().find(|(_, known)| *known == element_type);
    known.map(|&(name, _)| name)
}

/// Bits that an element takes in a file.
pub(super) fn bits(element_type: ElementType) -> u32 {
    element_type.storage_bit_width()
}
