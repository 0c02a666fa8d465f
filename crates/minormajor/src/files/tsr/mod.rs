//! `.tsr`: one array of at most four dimensions, major to minor and little-endian, behind 64
//! bytes that say its type and sizes.
//!
//! | byte | field |
//! |---|---|
//! | 0 | `TSR!` |
//! | 4, 8, 12 | version 1, the header's 64 bytes, 0 |
//! | 16, 20 | type (1 for f32, 2 for s8, 3 for s32), number of dimensions |
//! | 24 | four sizes, the last dimension's last, 1 for those that are absent |
//! | 40 | the number of elements, 64 bits |
//! | 48 | two zeros of 64 bits |

use std::path::Path;

use minormajor_core::plan::ByteOrder;
use minormajor_core::{ArrayShape, ElementType, Layout};

use super::error::Damage;
use super::format::same_bytes;
use super::{Array, Contents, FileError, Format, Frame, Input, Kind, Refusal};

const HEADER: usize = 64;
const MAX_RANK: usize = 4;

/// The types that the format has, by number.
const TYPES: [(i32, ElementType); 3] = [
    (1, ElementType::F32),
    (2, ElementType::S8),
    (3, ElementType::S32),
];

pub(super) struct Tsr;

impl Format for Tsr {
    fn extension(&self) -> &'static str {
        "tsr"
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Contents, FileError> {
        input.check_not_strided(self.extension())?;
        let header = input.read(0, HEADER)?;
        let shape = read(&header).map_err(|damage| damage.in_file(input.path, self.extension()))?;
        input.check_given(&shape)?;
        if shape.element_type().byte_width() > 1 {
            input.check_order(ByteOrder::Little)?;
        }
        input.check_length(&shape, HEADER as u64)?;
        let array = Array::new(input.stem(), shape, ByteOrder::Little, HEADER as u64);
        Ok(Contents {
            arrays: vec![array],
            ..Contents::default()
        })
    }

    fn refuses(&self, array: &Array) -> Option<Refusal> {
        let Some(shape) = array.in_layout() else {
            return Some(Refusal::Strided);
        };
        let sizes = shape.dimensions();
        let fits =
            |size: Option<i64>| size.is_some_and(|size| (1..=i32::MAX.into()).contains(&size));
        if number_of(array).is_none() {
            Some(Refusal::Type)
        } else if array.order != ByteOrder::Little {
            Some(Refusal::Limit("little-endian numbers"))
        } else if sizes.len() > MAX_RANK {
            Some(Refusal::Limit("at most 4 dimensions"))
        } else if !sizes.iter().all(|d| !d.is_dynamic() && fits(d.bound())) {
            Some(Refusal::Limit("sizes from 1 to 2147483647"))
        } else if !is_row_major(shape) {
            Some(Refusal::Limit(
                "arrays that lie major to minor without padding",
            ))
        } else {
            None
        }
    }

    fn frame(&self, _: &Path, contents: &Contents) -> Result<Frame, FileError> {
        let array = &contents.arrays[0];
        Ok(Frame::of_one(header(array), array))
    }
}

fn number_of(array: &Array) -> Option<i32> {
    if matches!(array.kind, Kind::Opaque { .. }) {
        return None;
    }
    let element_type = array.shape.element_type();
    let known = TYPES.iter().find(|(_, known)| *known == element_type);
    known.map(|&(number, _)| number)
}

fn is_row_major(shape: &ArrayShape) -> bool {
    let plain = ArrayShape::new(shape.element_type(), shape.dimensions());
    let plain = plain.and_then(|plain| plain.with_layout(Layout::descending(shape.rank())));
    plain.is_ok_and(|plain| same_bytes(shape, &plain))
}

/// The array's shape, of a file's first bytes; every field is checked.
fn read(header: &[u8]) -> Result<ArrayShape, Damage> {
    let Some(header) = header.first_chunk::<HEADER>() else {
        let found = format!("{} bytes", header.len());
        return Err(Damage::new(0, "a header of 64 bytes", found));
    };
    if !header.starts_with(b"TSR!") {
        return Err(Damage::new(
            0,
            "TSR!",
            super::error::excerpt(&header[..4], 4),
        ));
    }
    let short = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&header[at..at + 4]);
        i32::from_le_bytes(bytes)
    };
    let long = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&header[at..at + 8]);
        i64::from_le_bytes(bytes)
    };
    let wrong = |at: usize, expected: &str, found: i64| {
        Err(Damage::new(at as u64, expected, found.to_string()))
    };
    for (at, expected, what) in [
        (4, 1, "version 1"),
        (8, HEADER as i32, "a header size of 64"),
        (12, 0, "a reserved 0"),
    ] {
        if short(at) != expected {
            return wrong(at, what, short(at).into());
        }
    }
    let known = TYPES.iter().find(|(number, _)| *number == short(16));
    let Some(&(_, element_type)) = known else {
        return wrong(16, "type 1 (f32), 2 (s8) or 3 (s32)", short(16).into());
    };
    let rank = match usize::try_from(short(20)) {
        Ok(rank) if rank <= MAX_RANK => rank,
        _ => return wrong(20, "0 to 4 dimensions", short(20).into()),
    };
    let mut sizes = Vec::with_capacity(MAX_RANK);
    for place in 0..MAX_RANK {
        let at = 24 + 4 * place;
        let size = short(at);
        if place < MAX_RANK - rank {
            if size != 1 {
                return wrong(at, "1, the size of an absent dimension", size.into());
            }
        } else if size < 1 {
            return wrong(at, "a size of 1 or more", size.into());
        } else {
            sizes.push(i64::from(size));
        }
    }
    let shape = ArrayShape::new(element_type, &sizes)
        .map_err(|error| Damage::new(24, "sizes of an array", error.to_string()))?;
    let count = shape.elements().unwrap_or(0);
    if long(40) != count {
        return wrong(40, &format!("the count of {shape}, {count}"), long(40));
    }
    for at in [48, 56] {
        if long(at) != 0 {
            return wrong(at, "a reserved 0", long(at));
        }
    }
    Ok(shape)
}

/// The header of an array that is not refused.
fn header(array: &Array) -> Vec<u8> {
    let sizes: Vec<i64> = array
        .shape
        .dimensions()
        .iter()
        .filter_map(|d| d.bound())
        .collect();
    let mut header = Vec::with_capacity(HEADER);
    header.extend(b"TSR!");
    let mut short = |number: i64| header.extend((number as i32).to_le_bytes());
    for number in [1, HEADER as i64, 0] {
        short(number);
    }
    short(number_of(array).unwrap_or(0).into());
    // At most 4 sizes, which fit.
    short(sizes.len() as i64);
    for _ in sizes.len()..MAX_RANK {
        short(1);
    }
    for &size in &sizes {
        short(size);
    }
    header.extend(array.shape.elements().unwrap_or(0).to_le_bytes());
    header.extend([0; 16]);
    header
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::files::inspect_reader;

    fn file(text: &str, bytes: usize) -> Vec<u8> {
        let shape: minormajor_core::Shape = text.parse().unwrap();
        let shape = shape.as_array().unwrap().clone();
        let array = Array::new("a".to_owned(), shape, ByteOrder::Little, 0);
        assert_eq!(Tsr.refuses(&array), None, "{text}");
        let mut file = header(&array);
        file.resize(HEADER + bytes, 7);
        file
    }

    fn shape(bytes: &[u8]) -> Result<String, FileError> {
        let info = inspect_reader("a.tsr", Cursor::new(bytes))?;
        Ok(info.arrays[0].shape.to_string())
    }

    #[test]
    fn the_header_is_that_of_the_format() {
        let file = file("s32[5,1,3]{2,1,0}", 60);
        let mut expected = b"TSR!".to_vec();
        for number in [1, 64, 0, 3, 3, 1, 5, 1, 3, 15, 0, 0, 0, 0, 0i32] {
            expected.extend(number.to_le_bytes());
        }
        assert_eq!(file[..64], expected);
    }

    #[test]
    fn what_is_written_is_read() {
        for (text, bytes) in [
            ("f32[]", 4),
            ("s8[7]{0}", 7),
            ("s32[2,3]{1,0}", 24),
            ("f32[1,2,3,4]{3,2,1,0}", 96),
        ] {
            assert_eq!(shape(&file(text, bytes)).unwrap(), text);
        }
    }

    #[test]
    fn damage_is_an_error_that_says_where() {
        let whole = file("f32[2,3]{1,0}", 24);
        for length in 0..whole.len() {
            shape(&whole[..length]).unwrap_err();
        }
        shape(&[&whole[..], b"x"].concat()).unwrap_err();
        for place in 0..HEADER {
            for byte in 0..=255 {
                let mut damaged = whole.clone();
                damaged[place] = byte;
                let read = shape(&damaged);
                // Another type of four bytes, and more dimensions of size 1; nothing else may pass.
                let same = byte == whole[place] || matches!((place, byte), (16, 3) | (20, 3 | 4));
                assert_eq!(read.is_ok(), same, "byte {place} as {byte}: {read:?}");
            }
        }
        let with = |at: usize, number: i32| {
            let mut damaged = whole.clone();
            damaged[at..at + 4].copy_from_slice(&number.to_le_bytes());
            shape(&damaged).unwrap_err().to_string()
        };
        for (at, number, expected) in [
            (0, 0, "byte 0: expected TSR!"),
            (4, 2, "byte 4: expected version 1, found 2"),
            (
                16,
                4,
                "byte 16: expected type 1 (f32), 2 (s8) or 3 (s32), found 4",
            ),
            (20, 5, "byte 20: expected 0 to 4 dimensions, found 5"),
            (
                24,
                0,
                "byte 24: expected 1, the size of an absent dimension, found 0",
            ),
            (32, 0, "byte 32: expected a size of 1 or more, found 0"),
            (36, -3, "byte 36: expected a size of 1 or more, found -3"),
            (
                36,
                4,
                "byte 40: expected the count of f32[2,4]{1,0}, 8, found 6",
            ),
            (56, 1, "byte 56: expected a reserved 0, found 1"),
        ] {
            let text = with(at, number);
            assert!(text.contains(expected), "{text}");
        }
    }

    /// A count that wraps in 64 bits, once accepted with the count 0.
    #[test]
    fn sizes_whose_count_wraps_are_errors() {
        let mut wraps = file("s8[1,1,1,1]{3,2,1,0}", 0);
        for place in 0..4 {
            wraps[24 + 4 * place..28 + 4 * place].copy_from_slice(&65536i32.to_le_bytes());
        }
        wraps[40..48].copy_from_slice(&0i64.to_le_bytes());
        let text = shape(&wraps).unwrap_err().to_string();
        assert!(
            text.contains("byte 24: expected sizes of an array"),
            "{text}"
        );
    }

    #[test]
    fn what_it_lacks_is_refused() {
        for (text, expected) in [
            ("f64[2]{0}", Refusal::Type),
            ("f32[0]{0}", Refusal::Limit("sizes from 1 to 2147483647")),
            (
                "f32[1,1,1,1,2]{4,3,2,1,0}",
                Refusal::Limit("at most 4 dimensions"),
            ),
            (
                "f32[2,3]{0,1}",
                Refusal::Limit("arrays that lie major to minor without padding"),
            ),
        ] {
            let shape: minormajor_core::Shape = text.parse().unwrap();
            let shape = shape.as_array().unwrap().clone();
            let array = Array::new("a".to_owned(), shape, ByteOrder::Little, 0);
            assert_eq!(Tsr.refuses(&array), Some(expected), "{text}");
        }
    }
}
