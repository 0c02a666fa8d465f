//! The header: read from untrusted bytes, written as NumPy does.

use minormajor_core::plan::ByteOrder;
use minormajor_core::{ArrayShape, ElementType, Layout};

use super::descr::{self, dtype_of};
use super::error::NpyError;
use super::scan::Scanner;

/// The longest header that is read, in bytes. NumPy's own limit is 10,000 characters.
pub const MAX_HEADER: usize = 1 << 20;

/// The most dimensions that an array of NumPy has.
pub const MAX_RANK: usize = 64;

/// Bytes from which the length of a header is known.
pub(in crate::files) const START: usize = 12;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Data starts at a multiple of this many bytes, which NumPy chose for mapping and for SIMD.
const ALIGNMENT: usize = 64;

/// What the header of a `.npy` file says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NpyHeader {
    /// Type, sizes and layout: major to minor for C order, minor to major for Fortran order.
    /// Opaque elements are bytes, `u8`, along one more dimension, the last and most minor one.
    pub shape: ArrayShape,
    /// The order of an element's bytes; little where it has one.
    pub order: ByteOrder,
    /// The description of elements that have no name in XLA, as Python's text: `'<M8[ns]'` or
    /// `[('a', '<f4'), ('b', '|S3')]`.
    pub opaque: Option<String>,
    /// Bytes from the start of the file to the first element.
    pub data_offset: usize,
    /// Version of the format: (1, 0), (2, 0) or (3, 0).
    pub version: (u8, u8),
}

/// Reads the header at the start of a `.npy` file's bytes; what stands behind it is not looked
/// at.
///
/// For untrusted bytes: it never panics, allocates by no number that it reads, does not recurse,
/// and takes time linear in the header's length, which is at most [`MAX_HEADER`].
///
/// # Errors
///
/// [`NpyError`]; an element type without a fixed width is [`NpyError::DataType`].
///
/// ```
/// use minormajor::files::npy::{header, read_header};
/// use minormajor::ElementType;
/// use minormajor::plan::ByteOrder;
///
/// let bytes = header(ElementType::F32, ByteOrder::Big, &[2, 3], true).unwrap();
/// let read = read_header(&bytes)?;
/// assert_eq!(read.shape.to_string(), "f32[2,3]{0,1}");
/// assert_eq!(read.order, ByteOrder::Big);
/// assert_eq!(read.data_offset, bytes.len());
/// # Ok::<(), minormajor::files::npy::NpyError>(())
/// ```
pub fn read_header(bytes: &[u8]) -> Result<NpyHeader, NpyError> {
    let start = bytes.get(..MAGIC.len()).filter(|start| *start == MAGIC);
    let (Some(_), Some(&major), Some(&minor)) = (start, bytes.get(6), bytes.get(7)) else {
        return Err(
            if MAGIC.starts_with(&bytes[..bytes.len().min(6)]) && !bytes.is_empty() {
                truncated(10, bytes)
            } else {
                NpyError::Magic
            },
        );
    };
    let length_bytes = match (major, minor) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        _ => return Err(NpyError::Version { major, minor }),
    };
    let text_start = 8 + length_bytes;
    let Some(length) = bytes.get(8..text_start) else {
        return Err(truncated(text_start as u64, bytes));
    };
    let mut wide = [0; 8];
    wide[..length_bytes].copy_from_slice(length);
    let length = u64::from_le_bytes(wide);
    if length > MAX_HEADER as u64 {
        return Err(NpyError::HeaderLength {
            found: length,
            limit: MAX_HEADER as u64,
        });
    }
    // At most MAX_HEADER + 12.
    let data_offset = text_start + length as usize;
    let Some(text) = bytes.get(text_start..data_offset) else {
        return Err(truncated(data_offset as u64, bytes));
    };
    let latin = major < 3;
    let (shape, order, opaque) = read_dictionary(&mut Scanner::new(text, text_start), latin)?;
    Ok(NpyHeader {
        shape,
        order,
        opaque,
        data_offset,
        version: (major, minor),
    })
}

/// How many bytes to read for the header of a file that starts so: all that it claims, and no
/// more than can be right.
pub(in crate::files) fn length_of(start: &[u8]) -> usize {
    match *start {
        [_, _, _, _, _, _, 1, _, low, high, ..] => {
            10 + usize::from(u16::from_le_bytes([low, high]))
        }
        [_, _, _, _, _, _, _, _, a, b, c, d, ..] => {
            let claimed = u32::from_le_bytes([a, b, c, d]);
            START + (claimed as usize).min(MAX_HEADER)
        }
        _ => START,
    }
}

fn truncated(needed: u64, bytes: &[u8]) -> NpyError {
    NpyError::Truncated {
        needed,
        found: bytes.len() as u64,
    }
}

/// Shape, byte order, and the description of opaque elements. The text is Latin-1 or UTF-8.
fn read_dictionary(
    scanner: &mut Scanner<'_>,
    latin: bool,
) -> Result<(ArrayShape, ByteOrder, Option<String>), NpyError> {
    let (mut descr, mut fortran_order, mut sizes) = (None, None, None);
    scanner.expect(b'{', "{")?;
    while !scanner.eat(b'}') {
        let place = scanner.place();
        let key = scanner.string("a key in quotes, or }")?;
        scanner.expect(b':', ":")?;
        let new = match key {
            b"descr" => descr.replace(scanner.any()?).is_none(),
            b"fortran_order" => fortran_order.replace(scanner.boolean()?).is_none(),
            b"shape" => sizes.replace(read_sizes(scanner)?).is_none(),
            _ => false,
        };
        if !new {
            return Err(
                scanner.unexpected_at(place, "the keys descr, fortran_order and shape, each once")
            );
        }
        if !scanner.eat(b',') {
            scanner.expect(b'}', ", or }")?;
            break;
        }
    }
    scanner.expect_end()?;
    let descr = descr.ok_or(NpyError::MissingKey { key: "descr" })?;
    let fortran_order = fortran_order.ok_or(NpyError::MissingKey {
        key: "fortran_order",
    })?;
    let sizes = sizes.ok_or(NpyError::MissingKey { key: "shape" })?;
    let read = descr::read(descr)?;
    let element_type = read.element_type.unwrap_or(ElementType::U8);
    let shape = ArrayShape::new(element_type, &sizes)?;
    let shape = if fortran_order {
        shape.with_layout(Layout::ascending(sizes.len()))?
    } else {
        shape
    };
    if read.element_type.is_some() {
        return Ok((shape, read.order, None));
    }
    // Beyond 63 bits the shape is an error anyway.
    let width = i64::try_from(read.width).unwrap_or(i64::MAX);
    let descr = descr.trim_ascii();
    let opaque = match latin {
        true => descr.iter().copied().map(char::from).collect(),
        false => String::from_utf8_lossy(descr).into_owned(),
    };
    Ok((
        shape.append_minor_dimension(width)?,
        read.order,
        Some(opaque),
    ))
}

/// `()`, `(3,)`, `(3, 4)`; `(3)` is no tuple in Python.
pub(super) fn read_sizes(scanner: &mut Scanner<'_>) -> Result<Vec<i64>, NpyError> {
    let mut sizes = Vec::new();
    scanner.expect(b'(', "a tuple of sizes")?;
    while !scanner.eat(b')') {
        if sizes.len() == MAX_RANK {
            return Err(NpyError::Rank { limit: MAX_RANK });
        }
        sizes.push(scanner.size()?);
        if !scanner.eat(b',') {
            if sizes.len() == 1 {
                return Err(scanner.unexpected("a comma"));
            }
            scanner.expect(b')', ", or )")?;
            break;
        }
    }
    Ok(sizes)
}

/// The header that `numpy.save` writes before an array of this type and these sizes, byte for
/// byte; its length is a multiple of 64. `fortran_order` asks for the first dimension to be the
/// minor one.
///
/// `None` for an element type that NumPy has not, and for more than [`MAX_RANK`] dimensions.
///
/// ```
/// use minormajor::files::npy::header;
/// use minormajor::ElementType;
/// use minormajor::plan::ByteOrder;
///
/// let bytes = header(ElementType::C64, ByteOrder::Little, &[2, 3], false).unwrap();
/// assert_eq!(bytes.len(), 128);
/// assert!(bytes[10..].starts_with(b"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }"));
/// assert_eq!(header(ElementType::Bf16, ByteOrder::Little, &[2, 3], false), None);
/// ```
pub fn header(
    element_type: ElementType,
    order: ByteOrder,
    sizes: &[i64],
    fortran_order: bool,
) -> Option<Vec<u8>> {
    let descr = dtype_of(element_type, order)?;
    write(&format!("'{descr}'"), sizes, fortran_order)
}

/// The same for opaque elements, as [`NpyHeader::opaque`] describes them; the sizes are those of
/// the array, without the dimension of the bytes.
///
/// `None` for a description that can't be read, and for more than [`MAX_RANK`] dimensions.
///
/// ```
/// use minormajor::files::npy::{header_of_opaque, read_header};
///
/// let bytes = header_of_opaque("'<M8[ns]'", &[2, 3], false).unwrap();
/// let read = read_header(&bytes)?;
/// assert_eq!(read.shape.to_string(), "u8[2,3,8]{2,1,0}");
/// assert_eq!(read.opaque.as_deref(), Some("'<M8[ns]'"));
/// # Ok::<(), minormajor::files::npy::NpyError>(())
/// ```
pub fn header_of_opaque(descr: &str, sizes: &[i64], fortran_order: bool) -> Option<Vec<u8>> {
    descr::read(descr.as_bytes()).ok()?;
    write(descr, sizes, fortran_order)
}

pub(super) fn write(descr: &str, sizes: &[i64], fortran_order: bool) -> Option<Vec<u8>> {
    if sizes.len() > MAX_RANK {
        return None;
    }
    let fortran = if fortran_order { "True" } else { "False" };
    let mut tuple = sizes
        .iter()
        .map(i64::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    if sizes.len() == 1 {
        tuple.push(',');
    }
    let mut text =
        format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': ({tuple}), }}");
    // NumPy leaves room for the major dimension to grow to 21 digits in place.
    let growing = if fortran_order {
        sizes.last()
    } else {
        sizes.first()
    };
    if let Some(size) = growing {
        let room = 21usize.saturating_sub(size.to_string().len());
        text.extend(std::iter::repeat_n(' ', room));
    }
    // Latin-1 where that is enough, as NumPy does.
    let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    let (mut text, mut version) = match latin {
        Some(latin) => (latin, 1),
        None => (text.into_bytes(), 3),
    };
    // The next multiple above, as NumPy pads by 64 where nothing is missing.
    let whole = |before: usize| ((before + text.len() + 1) / ALIGNMENT + 1) * ALIGNMENT;
    if version == 1 && whole(MAGIC.len() + 4) - (MAGIC.len() + 4) > usize::from(u16::MAX) {
        version = 2;
    }
    let before = MAGIC.len() + if version == 1 { 4 } else { 6 };
    let length = whole(before);
    text.resize(length - before - 1, b' ');
    text.push(b'\n');
    if text.len() > MAX_HEADER {
        return None;
    }
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[version, 0]);
    match version {
        1 => bytes.extend_from_slice(&(text.len() as u16).to_le_bytes()),
        _ => bytes.extend_from_slice(&(text.len() as u32).to_le_bytes()),
    }
    bytes.extend_from_slice(&text);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::descr::TYPES;
    use super::*;
    use crate::files::array::order_of;

    fn file(version: u8, text: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        if version == 1 {
            bytes.extend((text.len() as u16).to_le_bytes());
        } else {
            bytes.extend((text.len() as u32).to_le_bytes());
        }
        bytes.extend(text.as_bytes());
        bytes
    }

    fn shape(text: &str) -> Result<String, NpyError> {
        read_header(&file(1, text)).map(|header| header.shape.to_string())
    }

    #[test]
    fn what_is_written_is_read() {
        let ranks: [&[i64]; 5] = [&[], &[0], &[7], &[2, 3], &[1, 0, 5]];
        for (_, element_type) in TYPES {
            for sizes in ranks {
                for (fortran_order, order) in [
                    (false, ByteOrder::Little),
                    (true, ByteOrder::Little),
                    (false, ByteOrder::Big),
                    (true, ByteOrder::Big),
                ] {
                    let bytes = header(element_type, order, sizes, fortran_order).unwrap();
                    assert_eq!(bytes.len() % 64, 0);
                    let read = read_header(&bytes).unwrap();
                    assert_eq!(read.order, order_of(element_type, Some(order)));
                    assert_eq!(read.data_offset, bytes.len());
                    assert_eq!(read.shape.element_type(), element_type);
                    assert_eq!(read.shape.sizes().unwrap(), sizes);
                    let layout = read.shape.layout().unwrap();
                    let major = layout.is_monotonic_with_dim0_major();
                    assert_eq!(major, !fortran_order || sizes.len() < 2, "{}", read.shape);
                }
            }
        }
        let most = vec![i64::MAX; 63];
        let sizes = [&[0][..], &most].concat();
        let bytes = header(ElementType::U8, ByteOrder::Little, &sizes, false).unwrap();
        assert_eq!(read_header(&bytes).unwrap().shape.sizes().unwrap(), sizes);
        assert_eq!(
            header(ElementType::U8, ByteOrder::Little, &[1; 65], false),
            None
        );
    }

    #[test]
    fn every_way_to_write_a_header_is_read() {
        for (text, expected) in [
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n",
                "f32[3,4]{1,0}",
            ),
            (
                "{'shape':(3,4),'fortran_order':True,'descr':'<f4'}",
                "f32[3,4]{0,1}",
            ),
            (
                "{\"descr\": \"|u1\", \"fortran_order\": True, \"shape\": ()}",
                "u8[]",
            ),
            (
                " {\n'descr' : 'i2' ,\t'fortran_order' : False , 'shape' : ( 3L , 4L , ) , } ",
                "s16[3,4]{1,0}",
            ),
            (
                "{'descr': '=f8', 'fortran_order': False, 'shape': (3,)}",
                "f64[3]{0}",
            ),
            (
                "{'descr': '>c16', 'fortran_order': False, 'shape': (3,)}",
                "c128[3]{0}",
            ),
            (
                "{'descr': '>b1', 'fortran_order': False, 'shape': (0,)}",
                "pred[0]{0}",
            ),
            (
                "{'descr': '|c16', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9)}",
                "c128[0,9223372036854775807,9]{2,1,0}",
            ),
        ] {
            assert_eq!(shape(text).as_deref(), Ok(expected), "{text}");
            for version in [2, 3] {
                let header = read_header(&file(version, text)).unwrap();
                assert_eq!(
                    (header.version, header.data_offset),
                    ((version, 0), 12 + text.len())
                );
            }
        }
    }

    #[test]
    fn opaque_elements_are_bytes_and_keep_their_description() {
        for (descr, version, shape) in [
            ("'<U3'", 1, "u8[3,12]{1,0}"),
            ("'>M8[ns]'", 1, "u8[3,8]{1,0}"),
            (
                "[('\u{e4}', '<f4'), ('b', '>i2', (3,))]",
                1,
                "u8[3,10]{1,0}",
            ),
            ("[('\u{3b1}', '<f4')]", 3, "u8[3,4]{1,0}"),
            ("'|V0'", 1, "u8[3,0]{1,0}"),
        ] {
            let bytes = header_of_opaque(descr, &[3], false).unwrap();
            let read = read_header(&bytes).unwrap();
            assert_eq!(read.opaque.as_deref(), Some(descr));
            assert_eq!(read.version, (version, 0));
            assert_eq!(read.shape.to_string(), shape);
            let fortran = header_of_opaque(descr, &[2, 3], true).unwrap();
            let order = read_header(&fortran).unwrap().shape;
            assert_eq!(order.layout().unwrap().minor_to_major(), [2, 0, 1]);
        }
        let fields: Vec<_> = (0..4000).map(|i| format!("('field {i}', '<f4')")).collect();
        let descr = format!("[{}]", fields.join(", "));
        let read = read_header(&header_of_opaque(&descr, &[], false).unwrap()).unwrap();
        assert_eq!(
            (read.version, read.shape.to_string()),
            ((2, 0), "u8[16000]{0}".to_owned())
        );
        assert_eq!(header_of_opaque("'|O'", &[3], false), None);
        let huge = "{'descr': '|V9223372036854775807', 'fortran_order': False, 'shape': (3,)}";
        assert!(matches!(shape(huge), Err(NpyError::Shape { .. })));
    }

    #[test]
    fn damage_is_an_error_at_its_byte() {
        let start = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
        for (text, byte, expected) in [
            ("", 0, "{"),
            (
                "{'descr': '<f4', 'fortran_order': 1, 'shape': ()}",
                34,
                "True or False",
            ),
            ("{'descr': '<f4', 'descr': '<f4'}", 17, "each once"),
            ("{'other': 3}", 1, "each once"),
            ("{descr: 3}", 1, "a key in quotes"),
            ("{'descr': , }", 10, "a value"),
            ("{'descr': '<f4", 14, "a closing quote"),
            (&format!("{start}(3)}}"), 52, "a comma"),
            (&format!("{start}[3]}}"), 50, "a tuple"),
            (&format!("{start}(-3,)}}"), 51, "0 or more"),
            (&format!("{start}(3.5,)}}"), 52, "a comma"),
            (&format!("{start}(9223372036854775808,)}}"), 51, "2^63"),
            (&format!("{start}(3, 4"), 55, ", or )"),
            (&format!("{start}()}} trailing"), 54, "the end"),
        ] {
            let error = shape(text).unwrap_err();
            let NpyError::Syntax {
                byte: at,
                expected: said,
                ..
            } = &error
            else {
                panic!("{text}: {error:?}");
            };
            assert!(said.contains(expected), "{text}: {error}");
            assert_eq!(*at, 10 + byte, "{text}: {error}");
        }
        assert!(matches!(
            shape("{}"),
            Err(NpyError::MissingKey { key: "descr" })
        ));
        let huge = format!("{start}(4611686018427387904, 2)}}");
        assert!(matches!(shape(&huge), Err(NpyError::Shape { .. })));
        let deep = format!("{start}({}", "1,".repeat(30_000));
        assert_eq!(shape(&deep), Err(NpyError::Rank { limit: 64 }));
        let nested = format!("{{'descr': {}", "[".repeat(60_000));
        assert!(shape(&nested).is_err());
    }

    #[test]
    fn lengths_that_lie_are_errors() {
        assert_eq!(read_header(b""), Err(NpyError::Magic));
        assert_eq!(read_header(b"PK\x03\x04 and more"), Err(NpyError::Magic));
        assert_eq!(
            read_header(b"\x93NUM"),
            Err(NpyError::Truncated {
                needed: 10,
                found: 4
            })
        );
        assert_eq!(
            read_header(b"\x93NUMPY\x04\x00.."),
            Err(NpyError::Version { major: 4, minor: 0 })
        );
        let claims = read_header(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}");
        assert_eq!(
            claims,
            Err(NpyError::HeaderLength {
                found: 0xffff_ffff,
                limit: 1 << 20
            })
        );
        let whole = header(ElementType::F32, ByteOrder::Little, &[3], false).unwrap();
        for length in 8..whole.len() {
            let needed = if length < 10 { 10 } else { 128 };
            let expected = NpyError::Truncated {
                needed,
                found: length as u64,
            };
            assert_eq!(read_header(&whole[..length]), Err(expected));
        }
    }

    #[test]
    fn no_damage_panics() {
        let whole = header(ElementType::F32, ByteOrder::Little, &[3, 4], true).unwrap();
        for place in 0..whole.len() {
            for byte in 0..=255 {
                let mut damaged = whole.clone();
                damaged[place] = byte;
                if let Err(error) = read_header(&damaged) {
                    assert!(!error.to_string().contains('\n'));
                }
            }
        }
    }
}
