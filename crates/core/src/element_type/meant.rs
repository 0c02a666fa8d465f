//! Which element type a name meant that is none.

use super::ElementType;
use crate::spelling::nearest;

impl ElementType {
    /// The type that a name means elsewhere (NumPy, PyTorch, C), whatever its letters' case, or
    /// else the one whose name is nearest to it. For what a message suggests: such names are read
    /// nowhere.
    ///
    /// ```
    /// use minormajor_core::ElementType;
    ///
    /// assert_eq!(ElementType::meant_by("float32"), Some(ElementType::F32));
    /// assert_eq!(ElementType::meant_by("bf61"), Some(ElementType::Bf16));
    /// assert_eq!(ElementType::meant_by("string"), None);
    /// ```
    pub fn meant_by(name: &str) -> Option<ElementType> {
        // Longer than any name of a type, here or elsewhere.
        if name.len() > 24 {
            return None;
        }
        let name = name.to_ascii_lowercase();
        let named = |name: &str| {
            let mut all = ElementType::ALL.iter().copied();
            all.find(|element_type| element_type.name() == name)
        };
        named(&name)
            .or_else(|| named(&xla_name(&name)))
            .or_else(|| named(nearest(&name, ElementType::ALL.iter().map(|t| t.name()))?))
    }
}

/// XLA's word for what another library calls an element type.
fn xla_name(name: &str) -> String {
    let whole = match name {
        "bool" | "bool_" | "boolean" | "i1" => "pred",
        "half" | "fp16" => "f16",
        "float" | "single" => "f32",
        "double" => "f64",
        "byte" => "u8",
        "char" => "s8",
        "short" => "s16",
        "int" => "s32",
        "long" => "s64",
        _ => "",
    };
    if !whole.is_empty() {
        return whole.to_owned();
    }
    // The longer beginnings first: `uint8` is no `int` behind a u.
    let beginnings = [
        ("bfloat", "bf"),
        ("float", "f"),
        ("fp", "f"),
        ("complex", "c"),
        ("uint", "u"),
        ("int", "s"),
        ("i", "s"),
    ];
    for (theirs, ours) in beginnings {
        if let Some(rest) = name.strip_prefix(theirs) {
            let rest = rest.strip_suffix("_t").unwrap_or(rest);
            return format!("{ours}{}", rest.replace('_', ""));
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_libraries_are_known() {
        use ElementType::*;
        for (name, expected) in [
            ("float32", F32),
            ("Float64", F64),
            ("F32", F32),
            ("int8", S8),
            ("i64", S64),
            ("uint16", U16),
            ("uint8_t", U8),
            ("int32_t", S32),
            ("bool", Pred),
            ("bfloat16", Bf16),
            ("half", F16),
            ("fp16", F16),
            ("complex64", C64),
            ("float8_e4m3fn", F8e4m3fn),
            ("float8_e8m0fnu", F8e8m0fnu),
            ("float4_e2m1fn", F4e2m1fn),
            ("int4", S4),
            // Slips.
            ("f33", F32),
            ("bf61", Bf16),
            ("pre", Pred),
            ("f8e4m3fm", F8e4m3fn),
        ] {
            assert_eq!(ElementType::meant_by(name), Some(expected), "{name}");
        }
        for name in ["", "x", "add", "u9", "f36", "string", "datetime64", "int3"] {
            assert_eq!(ElementType::meant_by(name), None, "{name}");
        }
    }
}
