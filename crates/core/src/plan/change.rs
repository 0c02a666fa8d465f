//! What becomes of an element on its way: other bits, another byte order, another number.

use std::fmt;

use crate::ElementType;

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    /// The least significant one: XLA's order, and that of every common machine.
    #[default]
    Little,
    /// The most significant one.
    Big,
}

impl ByteOrder {
    /// The name: `little` or `big`.
    pub const fn name(self) -> &'static str {
        match self {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        }
    }
}

impl fmt::Display for ByteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The byte orders of both sides, for [`Plan::converting`](super::Plan::converting).
///
/// The parts of a complex number have their own order each, the real part coming first in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ByteOrders {
    /// How the source holds its numbers.
    pub source: ByteOrder,
    /// How the destination does.
    pub destination: ByteOrder,
}

/// How the values of one side are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// Their type.
    pub element_type: ElementType,
    /// Their bytes' order, little where they have one byte.
    pub order: ByteOrder,
}

/// What becomes of a unit on its way from the source to the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Nothing: its bytes are copied.
    None,
    /// Elements are packed on a side, or both: the low bits that units of both sides have are
    /// kept, and the others of the destination's are zero.
    Bits,
    /// The value that begins at the unit is written in another byte order, as another number, or
    /// both.
    Values {
        /// How the source's values are written.
        source: Encoding,
        /// How the destination's are.
        destination: Encoding,
    },
}

impl Change {
    /// The change of values from one encoding to another, if that is possible.
    pub(super) fn of_values(source: Encoding, destination: Encoding) -> Option<Change> {
        use ElementType::{Bf16, F16, F32};
        let is_number = |encoding: Encoding| matches!(encoding.element_type, F32 | F16 | Bf16);
        if source.element_type != destination.element_type
            && !(is_number(source) && is_number(destination))
        {
            return None;
        }
        Some(if source == destination {
            Change::None
        } else {
            Change::Values {
                source,
                destination,
            }
        })
    }
}

impl Encoding {
    /// Values of this type; bytes of their own have no order.
    pub(super) fn new(element_type: ElementType, order: ByteOrder) -> Encoding {
        Encoding {
            element_type,
            order: match element_type.byte_width() {
                1 => ByteOrder::Little,
                _ => order,
            },
        }
    }

    /// Bytes of a number in the order of its own: half an element of a complex type.
    pub fn part_bytes(&self) -> usize {
        let width = self.element_type.byte_width() as usize;
        match self.element_type.kind() {
            crate::ElementKind::Complex(_) => width / 2,
            _ => width,
        }
    }

    /// The bytes of a value, given little-endian, as this encoding has them.
    pub(super) fn arrange(&self, mut bytes: [u8; 16]) -> [u8; 16] {
        if self.order == ByteOrder::Big {
            let width = self.element_type.byte_width() as usize;
            bytes[..width]
                .chunks_mut(self.part_bytes())
                .for_each(<[u8]>::reverse);
        }
        bytes
    }
}

impl fmt::Display for Encoding {
    /// `f32`, or `big-endian f32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.order {
            ByteOrder::Little => self.element_type.fmt(f),
            ByteOrder::Big => write!(f, "big-endian {}", self.element_type),
        }
    }
}
