//! The value of `descr`: an element type, in Python's words.

use minormajor_core::ElementType;
use minormajor_core::plan::ByteOrder;

use super::error::NpyError;
use super::header::read_sizes;
use super::scan::Scanner;
use crate::files::array::order_of;
use crate::files::error::excerpt;

/// What a `descr` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descr {
    /// XLA's type; `None` for elements that have no name there.
    pub(super) element_type: Option<ElementType>,
    /// Bytes of an element.
    pub(super) width: u64,
    pub(super) order: ByteOrder,
}

/// The types that both sides have, by NumPy's letter and bytes.
pub(super) const TYPES: [(&str, ElementType); 14] = [
    ("b1", ElementType::Pred),
    ("i1", ElementType::S8),
    ("i2", ElementType::S16),
    ("i4", ElementType::S32),
    ("i8", ElementType::S64),
    ("u1", ElementType::U8),
    ("u2", ElementType::U16),
    ("u4", ElementType::U32),
    ("u8", ElementType::U64),
    ("f2", ElementType::F16),
    ("f4", ElementType::F32),
    ("f8", ElementType::F64),
    ("c8", ElementType::C64),
    ("c16", ElementType::C128),
];

/// Structured types in structured types; NumPy itself nests less deep.
const MAX_DEPTH: usize = 32;

const OBJECTS: &str = "Python objects are not numbers; convert the array with astype first";
const UNKNOWN: &str =
    "NumPy has no such type of a fixed width; convert the array with astype first";
const DAMAGED: &str = "it is no description of a type; the file is damaged";

/// Reads a type string in quotes, or the list of a structured type.
pub(super) fn read(descr: &[u8]) -> Result<Descr, NpyError> {
    let descr = descr.trim_ascii();
    let mut scanner = Scanner::new(descr, 0);
    let read = element(&mut scanner, 0);
    let read = read.and_then(|read| match scanner.expect_end() {
        Ok(()) => Ok(read),
        Err(_) => Err(DAMAGED),
    });
    read.map_err(|remedy| {
        let quotes = |byte: &u8| !matches!(byte, b'\'' | b'"');
        let bare = match descr {
            [b'\'' | b'"', inside @ .., b'\'' | b'"'] if inside.iter().all(quotes) => inside,
            whole => whole,
        };
        NpyError::DataType {
            dtype: excerpt(bare, 60),
            remedy,
        }
    })
}

/// A type, inside so many structured ones.
fn element(scanner: &mut Scanner<'_>, depth: usize) -> Result<Descr, &'static str> {
    if depth > MAX_DEPTH {
        return Err("it is nested deeper than any type of NumPy; the file is damaged");
    }
    if !scanner.eat(b'[') {
        let text = scanner.string("a type").map_err(|_| DAMAGED)?;
        return type_string(text);
    }
    let mut width = 0u64;
    while !scanner.eat(b']') {
        width = field(scanner, depth).and_then(|bytes| width.checked_add(bytes).ok_or(DAMAGED))?;
        if !scanner.eat(b',') {
            scanner.expect(b']', "]").map_err(|_| DAMAGED)?;
            break;
        }
    }
    Ok(Descr {
        element_type: None,
        width,
        order: ByteOrder::Little,
    })
}

/// The bytes of a field: `('name', type)`, `('name', type, (2, 3))`, and a pair of a title and a
/// name in place of the name.
fn field(scanner: &mut Scanner<'_>, depth: usize) -> Result<u64, &'static str> {
    let damaged = |_| DAMAGED;
    scanner.expect(b'(', "(").map_err(damaged)?;
    if scanner.eat(b'(') {
        scanner.string("a title").map_err(damaged)?;
        scanner.expect(b',', ",").map_err(damaged)?;
        scanner.string("a name").map_err(damaged)?;
        scanner.eat(b',');
        scanner.expect(b')', ")").map_err(damaged)?;
    } else {
        scanner.string("a name").map_err(damaged)?;
    }
    scanner.expect(b',', ",").map_err(damaged)?;
    let mut width = element(scanner, depth + 1)?.width;
    if scanner.eat(b',') && scanner.peek() != Some(b')') {
        for size in read_sizes(scanner).map_err(damaged)? {
            // Never negative.
            width = width.checked_mul(size as u64).ok_or(DAMAGED)?;
        }
        scanner.eat(b',');
    }
    scanner.expect(b')', ")").map_err(damaged)?;
    Ok(width)
}

/// `<f4`, `|S5`, `>M8[ns]`.
fn type_string(text: &[u8]) -> Result<Descr, &'static str> {
    let (order, name) = match text {
        [order @ (b'<' | b'>' | b'|' | b'='), name @ ..] => (*order, name),
        name => (b'|', name),
    };
    let order = match order {
        b'>' => ByteOrder::Big,
        b'=' if cfg!(target_endian = "big") => ByteOrder::Big,
        _ => ByteOrder::Little,
    };
    let known = TYPES.iter().find(|(known, _)| known.as_bytes() == name);
    if let Some(&(_, element_type)) = known {
        return Ok(Descr {
            element_type: Some(element_type),
            width: element_type.byte_width().into(),
            order: order_of(element_type, Some(order)),
        });
    }
    let Some((kind, rest)) = name.split_first() else {
        return Err(UNKNOWN);
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = rest.split_at(digits);
    // Empty, or of more than 64 bits: no number.
    let number = std::str::from_utf8(number)
        .ok()
        .and_then(|number| number.parse().ok());
    let has_unit = matches!(unit, [b'[', inside @ .., b']'] if !inside.contains(&b']'));
    let width: Option<u64> = match (kind, number, unit) {
        (b'O', ..) => return Err(OBJECTS),
        (b'V' | b'S' | b'a', Some(bytes), []) => Some(bytes),
        (b'U', Some(characters), []) => u64::checked_mul(characters, 4),
        (b'M' | b'm', Some(8), _) if unit.is_empty() || has_unit => Some(8),
        // f8e5m2 of ml_dtypes, and extended precision, as wide as a machine keeps it.
        (b'f', Some(bytes @ (1 | 12 | 16)), []) | (b'c', Some(bytes @ (24 | 32)), []) => {
            Some(bytes)
        }
        _ => None,
    };
    Ok(Descr {
        element_type: None,
        width: width.ok_or(UNKNOWN)?,
        order,
    })
}

/// NumPy's type string for an element type, where it has one: `<f4` for f32, `|b1` for pred.
pub(super) fn dtype_of(element_type: ElementType, order: ByteOrder) -> Option<String> {
    let &(name, _) = TYPES.iter().find(|(_, known)| *known == element_type)?;
    let order = match order {
        _ if element_type.byte_width() == 1 => '|',
        ByteOrder::Little => '<',
        ByteOrder::Big => '>',
    };
    Some(format!("{order}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_a_fixed_width_has_it() {
        for (text, width) in [
            ("'<U3'", 12),
            ("'|S7'", 7),
            ("'|S0'", 0),
            ("'|V2'", 2),
            ("'>M8[ns]'", 8),
            ("'<m8'", 8),
            ("'<m8[25s]'", 8),
            ("'<f1'", 1),
            ("'<f16'", 16),
            ("'<c32'", 32),
            ("[('a, }\\'', '<f4'), ('b', '>i2', (3,))]", 10),
            ("[]", 0),
            (
                "[('a', [('x', '|u1'), ('', '|V3'), ('y', '<f8')], (2, 3,)), ('c', '|O8', (0,))]",
                0,
            ),
            (
                "[('a', [('x', '|u1'), ('', '|V3'), ('y', '<f8')], (2, 3,)),]",
                72,
            ),
            ("[(('title', 'name'), '<U1',), ('n', '<i8')]", 12),
        ] {
            let read = read(text.as_bytes());
            if text.contains("|O") {
                assert!(read.unwrap_err().to_string().contains("objects"));
                continue;
            }
            let read = read.unwrap();
            assert_eq!((read.element_type, read.width), (None, width), "{text}");
            assert_eq!(
                read.order == ByteOrder::Big,
                text.starts_with("'>"),
                "{text}"
            );
        }
    }

    #[test]
    fn others_are_errors_that_name_them() {
        let deep = "[('a', ".repeat(40) + "'<f4'" + &")]".repeat(40);
        for (text, remedy) in [
            ("'|O'", "objects"),
            ("[('a', '<f4'), ('b', '|O')]", "objects"),
            ("'<x4'", "no such type"),
            ("''", "no such type"),
            ("'<f3'", "no such type"),
            ("'<M8[ns'", "no such type"),
            ("'<M4'", "no such type"),
            ("'<U4611686018427387904'", "no such type"),
            ("'|V99999999999999999999'", "no such type"),
            ("'|V'", "no such type"),
            ("('<f4', (3,))", "damaged"),
            ("None", "damaged"),
            ("[('a', '<f4')", "damaged"),
            ("[('a')]", "damaged"),
            ("[('a', '|V9223372036854775807', (9,))]", "damaged"),
            (&deep, "deeper"),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            let NpyError::DataType { dtype, .. } = &error else {
                panic!("{text}: {error:?}");
            };
            let shown = dtype.trim_end_matches("...");
            assert!(
                text.trim_matches('\'').starts_with(shown),
                "{text}: {dtype}"
            );
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }
}
