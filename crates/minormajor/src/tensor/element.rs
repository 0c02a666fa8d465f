//! Rust's types as elements of tensors.

use half::{bf16, f16};
use minormajor_core::ElementType;

use crate::backend::Number;

/// A Rust type whose values are those of an element type: `bool`, the integers of 8 to 64 bits,
/// [`f16`](struct@f16), [`bf16`], `f32` and `f64`.
pub trait Element: Copy + Into<Number> + private::Bytes + Send + Sync + 'static {
    /// The element type with the same values.
    const ELEMENT_TYPE: ElementType;
}

pub(super) mod private {
    /// Elements as the bytes that they take in an array.
    pub trait Bytes: Sized {
        fn bytes_of(elements: &[Self]) -> &[u8];
        /// As many elements as the bytes make, which `write` fills in.
        fn read<E>(
            elements: usize,
            write: impl FnOnce(&mut [u8]) -> Result<(), E>,
        ) -> Result<Vec<Self>, E>;
    }
}

macro_rules! elements {
    ($($native:ty: $element_type:ident;)*) => {$(
        impl private::Bytes for $native {
            fn bytes_of(elements: &[Self]) -> &[u8] {
                bytemuck::cast_slice(elements)
            }

            fn read<E>(
                elements: usize,
                write: impl FnOnce(&mut [u8]) -> Result<(), E>,
            ) -> Result<Vec<Self>, E> {
                let mut made = vec![<Self as bytemuck::Zeroable>::zeroed(); elements];
                write(bytemuck::cast_slice_mut(&mut made))?;
                Ok(made)
            }
        }

        impl Element for $native {
            const ELEMENT_TYPE: ElementType = ElementType::$element_type;
        }
    )*};
}

elements! {
    i8: S8;
    i16: S16;
    i32: S32;
    i64: S64;
    u8: U8;
    u16: U16;
    u32: U32;
    u64: U64;
    f16: F16;
    bf16: Bf16;
    f32: F32;
    f64: F64;
}

impl private::Bytes for bool {
    fn bytes_of(elements: &[bool]) -> &[u8] {
        bytemuck::cast_slice(elements)
    }

    fn read<E>(
        elements: usize,
        write: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<bool>, E> {
        let bytes = u8::read(elements, write)?;
        Ok(bytes.into_iter().map(|byte| byte != 0).collect())
    }
}

impl Element for bool {
    const ELEMENT_TYPE: ElementType = ElementType::Pred;
}
