//! How elements are written on both sides, and what leads from the one to the other.

use std::fmt;

use super::way::Way;

/// How an element is written in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// So many bits of any meaning: 1, 2 or 4, packed, the first element of a byte in its lowest bits; or 8.
    Bits(usize),
    /// A number, its lowest byte first, or its highest.
    Number {
        /// Its format.
        format: Format,
        /// Whether the highest byte comes first.
        big_endian: bool,
    },
}

/// The format of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// IEEE 754's binary32.
    F32,
    /// IEEE 754's binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    Bf16,
    /// Numbers of so many bytes, 2, 4, 8 or 16, one or more to an element.
    Other {
        /// Bytes of an element: 2, 4, 8 or 16.
        width: usize,
        /// Bytes of a number, at most those of the element.
        part: usize,
    },
}

impl Format {
    /// Bytes of an element, and of a number in it.
    fn widths(self) -> (usize, usize) {
        match self {
            Format::F32 => (4, 4),
            Format::F16 | Format::Bf16 => (2, 2),
            Format::Other { width, part } => (width, part),
        }
    }
}

impl Code {
    /// Bits of an element.
    pub(super) fn bits(self) -> usize {
        match self {
            Code::Bits(bits) => bits,
            Code::Number { format, .. } => 8 * format.widths().0,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Code::Number { format, big_endian } = self else {
            return write!(f, "{} bits", self.bits());
        };
        if *big_endian {
            f.write_str("big-endian ")?;
        }
        match format {
            Format::F32 => f.write_str("f32"),
            Format::F16 => f.write_str("f16"),
            Format::Bf16 => f.write_str("bf16"),
            Format::Other { part, .. } => write!(f, "{part} bytes"),
        }
    }
}

/// How elements are written on both sides: what a [`Recode`](crate::Recode) makes of what.
///
/// - Between two widths of bits: the bits that both have are kept, and the others are zero.
/// - Between [`Format::F32`], [`F16`](Format::F16) and [`Bf16`](Format::Bf16): numbers are rounded to the nearest, ties
///   to even; what is too large becomes an infinity; a NaN is made quiet and keeps its sign and the highest bits of its
///   payload.
/// - Between the two byte orders of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Recoding {
    /// How the source writes elements.
    pub source: Code,
    /// How the destination does.
    pub destination: Code,
}

impl Recoding {
    /// What is done to elements read and written in runs, in order; `None` where there is no such way.
    pub(super) fn ways(&self) -> Option<Vec<Way>> {
        match (self.source, self.destination) {
            (Code::Bits(from), Code::Bits(to)) => {
                let fits = |bits| matches!(bits, 1 | 2 | 4 | 8);
                if !fits(from) || !fits(to) || from == 8 && to == 8 {
                    return None;
                }
                let mut ways = Vec::new();
                if from == to {
                    ways.push(Way::Keep);
                } else {
                    ways.extend((from < 8).then_some(Way::Unpack(from)));
                    ways.extend((to < 8).then_some(Way::Pack(to)));
                }
                Some(ways)
            }
            (
                Code::Number {
                    format: from,
                    big_endian: from_big,
                },
                Code::Number {
                    format: to,
                    big_endian: to_big,
                },
            ) => numbers(from, from_big, to, to_big),
            _ => None,
        }
    }
}

fn numbers(from: Format, from_big: bool, to: Format, to_big: bool) -> Option<Vec<Way>> {
    let swap = |format: Format| Way::Swap(format.widths().1);
    if from == to {
        let (width, part) = from.widths();
        let fits = |bytes| matches!(bytes, 2 | 4 | 8 | 16);
        let same = from_big == to_big;
        return (fits(width) && fits(part) && part <= width && !same).then(|| vec![swap(from)]);
    }
    let widen = match from {
        Format::F32 => None,
        Format::F16 => Some(Way::WidenHalf),
        Format::Bf16 => Some(Way::WidenBfloat),
        Format::Other { .. } => return None,
    };
    let narrow = match to {
        Format::F32 => None,
        Format::F16 => Some(Way::NarrowHalf),
        Format::Bf16 => Some(Way::NarrowBfloat),
        Format::Other { .. } => return None,
    };
    let all = [
        from_big.then(|| swap(from)),
        widen,
        narrow,
        to_big.then(|| swap(to)),
    ];
    Some(all.into_iter().flatten().collect())
}
