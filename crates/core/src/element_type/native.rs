//! Rust's own types as element types.

use super::ElementType;

/// A Rust type whose values are those of an element type.
///
/// ```
/// use minormajor_core::{ElementType, NativeElement};
///
/// assert_eq!(<f32 as NativeElement>::ELEMENT_TYPE, ElementType::F32);
/// assert!(ElementType::F32.can_represent::<f32>());
/// ```
#[doc(alias = "NativeToPrimitiveType")]
pub trait NativeElement: Copy + private::Sealed + 'static {
    /// The element type with the same values.
    const ELEMENT_TYPE: ElementType;
}

mod private {
    pub trait Sealed {}
}

macro_rules! native {
    ($($native:ty, $element_type:ident;)*) => {$(
        impl private::Sealed for $native {}
        impl NativeElement for $native {
            const ELEMENT_TYPE: ElementType = ElementType::$element_type;
        }
    )*};
}

native! {
    bool, Pred;
    i8, S8;
    i16, S16;
    i32, S32;
    i64, S64;
    u8, U8;
    u16, U16;
    u32, U32;
    u64, U64;
    f32, F32;
    f64, F64;
}

impl ElementType {
    /// Whether values of the Rust type `T` are values of this element type.
    #[doc(alias = "CanRepresent")]
    pub fn can_represent<T: NativeElement>(self) -> bool {
        self == T::ELEMENT_TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_types_have_their_widths() {
        fn check<T: NativeElement>() {
            assert_eq!(T::ELEMENT_TYPE.byte_width() as usize, size_of::<T>());
            let all = ElementType::ALL.iter();
            assert_eq!(all.filter(|t| t.can_represent::<T>()).count(), 1);
        }
        check::<bool>();
        check::<i8>();
        check::<i16>();
        check::<i32>();
        check::<i64>();
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
        check::<f32>();
        check::<f64>();
    }
}
