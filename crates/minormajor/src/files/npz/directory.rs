//! The directory at the end of a zip archive (PKWARE's APPNOTE 6.3, sections 4.3 and 4.5).

use std::collections::HashSet;

use crate::files::array::Deflated;
use crate::files::error::{Damage, excerpt};
use crate::files::{FileError, Input};

/// An entry of an archive, which is whole in the file.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) method: Method,
    pub(super) crc: u32,
    /// Bytes in the archive.
    pub(super) packed: u64,
    /// Bytes of the entry; as many where it is stored.
    pub(super) size: u64,
    /// Where its header is.
    pub(super) header: u64,
    /// Where its bytes are.
    pub(super) start: u64,
}

impl Entry {
    pub(super) fn deflated(&self) -> Deflated {
        Deflated {
            start: self.start,
            packed: self.packed,
            size: self.size,
            crc: self.crc,
        }
    }
}

/// How an entry's bytes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflated,
}

/// The longest directory that is read, in bytes: more than half a million entries.
const MAX_DIRECTORY: u64 = 64 << 20;

/// Bytes of the record at the end, without its comment.
const END: usize = 22;

/// Bytes before that record with the place of its larger form, and of that form.
const LOCATOR: usize = 20;
const LARGE_END: usize = 56;

/// A reader of little-endian fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        let mut wide = [0; 8];
        wide[..bytes].copy_from_slice(self.take(bytes)?);
        Some(u64::from_le_bytes(wide))
    }

    fn eat(&mut self, signature: &[u8; 4]) -> Option<()> {
        (self.take(4)? == signature).then_some(())
    }
}

/// The entries of an archive, by their place; the outer error is the system's.
pub(super) fn read(input: &mut Input<'_>) -> Result<Result<Vec<Entry>, Damage>, FileError> {
    let found = find(input)?;
    let (count, start, bytes) = match found {
        Ok(found) => found,
        Err(damage) => return Ok(Err(damage)),
    };
    if bytes > MAX_DIRECTORY {
        let expected = format!("a directory of at most {MAX_DIRECTORY} bytes");
        return Ok(Err(Damage::new(start, expected, format!("{bytes}"))));
    }
    let text = input.read(start, bytes as usize)?;
    let mut fields = Fields(&text);
    let mut entries = Vec::new();
    let mut names = HashSet::new();
    while !fields.0.is_empty() {
        let at = start + (text.len() - fields.0.len()) as u64;
        let entry = match entry(&mut fields, at) {
            Ok(entry) => entry,
            Err(damage) => return Ok(Err(damage)),
        };
        if !names.insert(entry.name.clone()) {
            let found = format!("{:?} twice", entry.name);
            return Ok(Err(Damage::new(at, "each name once", found)));
        }
        entries.push(entry);
    }
    if entries.len() as u64 != count {
        let expected = format!("{count} entries");
        return Ok(Err(Damage::new(
            start,
            expected,
            format!("{}", entries.len()),
        )));
    }
    // By place: entries that share bytes are how small files claim to hold much.
    entries.sort_by_key(|entry| entry.header);
    let mut end = 0;
    for entry in &mut entries {
        if entry.header < end {
            let expected = format!("entries one behind the other, {:?} from {end}", entry.name);
            return Ok(Err(Damage::new(
                entry.header,
                expected,
                "one that overlaps",
            )));
        }
        match local(input, entry)? {
            Ok(place) => entry.start = place,
            Err(damage) => return Ok(Err(damage)),
        }
        let ends = entry.start.checked_add(entry.packed);
        match ends.filter(|ends| *ends <= start) {
            Some(ends) => end = ends,
            None => {
                let expected = format!("{:?} to end before the directory at {start}", entry.name);
                let found = format!("{} bytes", entry.packed);
                return Ok(Err(Damage::new(entry.start, expected, found)));
            }
        }
    }
    Ok(Ok(entries))
}

/// How many entries there are, where the directory starts, and its bytes.
fn find(input: &mut Input<'_>) -> Result<Result<(u64, u64, u64), Damage>, FileError> {
    // The comment at the end has up to 65,535 bytes.
    let most = (END + LOCATOR + LARGE_END + 0xffff) as u64;
    let tail_start = input.length().saturating_sub(most);
    let tail = input.read(tail_start, most as usize)?;
    let lost = |found: &str| {
        Damage::new(
            tail_start,
            "the directory of a zip archive at the end of the file",
            found,
        )
    };
    let last = tail.len().checked_sub(END);
    let place = last.and_then(|last| {
        (0..=last).rev().find(|&at| {
            let comment = u16::from_le_bytes([tail[at + 20], tail[at + 21]]);
            tail[at..].starts_with(b"PK\x05\x06") && at + END + usize::from(comment) == tail.len()
        })
    });
    let Some(place) = place else {
        return Ok(Err(lost("none; it is no .npz file, or truncated")));
    };
    // The signature is there, and so are all fields.
    let mut fields = Fields(&tail[place + 4..]);
    let [disk, first_disk, here, count] = [(); 4].map(|()| fields.number(2).unwrap_or(0));
    let [bytes, start] = [(); 2].map(|()| fields.number(4).unwrap_or(0));
    let locator = place.checked_sub(LOCATOR).map(|at| &tail[at..place]);
    let large = locator.filter(|locator| locator.starts_with(b"PK\x06\x07"));
    let (disks, count, start, bytes, end) = match large {
        None => {
            let end = tail_start + place as u64;
            ((disk, first_disk, here), count, start, bytes, end)
        }
        Some(_) => {
            let at = place.checked_sub(LOCATOR + LARGE_END);
            let mut fields = match at.map(|at| &tail[at..place - LOCATOR]) {
                Some(large) if large.starts_with(b"PK\x06\x06") => Fields(&large[16..]),
                _ => return Ok(Err(lost("a damaged one"))),
            };
            let [disk, first_disk] = [(); 2].map(|()| fields.number(4).unwrap_or(0));
            let [here, count, bytes, start] = [(); 4].map(|()| fields.number(8).unwrap_or(0));
            let end = tail_start + (place - LOCATOR - LARGE_END) as u64;
            ((disk, first_disk, here), count, start, bytes, end)
        }
    };
    if disks != (0, 0, count) {
        return Ok(Err(lost("one of an archive of several parts")));
    }
    if start.checked_add(bytes) != Some(end) {
        let found = format!("one of {bytes} bytes from {start}, which must end at {end}");
        return Ok(Err(lost(&found)));
    }
    Ok(Ok((count, start, bytes)))
}

/// What the directory says of an entry, as it says it.
struct Record<'a> {
    flags: u64,
    method: u64,
    crc: u32,
    packed: u64,
    size: u64,
    header: u64,
    name: &'a [u8],
    extra: Fields<'a>,
}

impl<'a> Record<'a> {
    fn read(fields: &mut Fields<'a>) -> Option<Record<'a>> {
        fields.eat(b"PK\x01\x02")?;
        fields.take(4)?;
        let [flags, method] = [fields.number(2)?, fields.number(2)?];
        fields.take(4)?;
        let crc = fields.number(4)? as u32;
        let [packed, size] = [fields.number(4)?, fields.number(4)?];
        let [name, extra, comment] = [fields.number(2)?, fields.number(2)?, fields.number(2)?];
        fields.take(8)?;
        let header = fields.number(4)?;
        let name = fields.take(name as usize)?;
        let extra = Fields(fields.take(extra as usize)?);
        fields.take(comment as usize)?;
        Some(Record {
            flags,
            method,
            crc,
            packed,
            size,
            header,
            name,
            extra,
        })
    }
}

/// The next entry, which stands at a byte of the file.
fn entry(fields: &mut Fields<'_>, at: u64) -> Result<Entry, Damage> {
    let damaged = || Damage::new(at, "an entry of the directory", "something else");
    let Record {
        flags,
        method,
        crc,
        packed,
        size,
        header,
        name,
        mut extra,
    } = Record::read(fields).ok_or_else(damaged)?;
    let shown = excerpt(name, 60);
    if flags & 1 != 0 {
        return Err(Damage::new(
            at,
            format!("{shown} without a password"),
            "an encrypted entry",
        ));
    }
    let method = match method {
        0 => Method::Stored,
        8 => Method::Deflated,
        other => {
            let expected = format!("{shown} stored or deflated, as NumPy writes it");
            return Err(Damage::new(at, expected, format!("method {other}")));
        }
    };
    let name = std::str::from_utf8(name)
        .map_err(|_| Damage::new(at, "a name in UTF-8", shown))?
        .to_owned();
    // Numbers that don't fit stand in an extra field, in this order.
    let mut numbers = [size, packed, header];
    if numbers.contains(&0xffff_ffff) {
        while let (Some(id), Some(length)) = (extra.number(2), extra.number(2)) {
            let mut field = Fields(extra.take(length as usize).ok_or_else(damaged)?);
            if id != 1 {
                continue;
            }
            for number in &mut numbers {
                if *number == 0xffff_ffff {
                    *number = field.number(8).ok_or_else(damaged)?;
                }
            }
            break;
        }
    }
    let [size, packed, header] = numbers;
    // Deflate makes at most 1032 bytes of one.
    let possible = match method {
        Method::Stored => size == packed,
        Method::Deflated => size <= packed.saturating_mul(1032),
    };
    if !possible {
        let expected = format!("a size that {packed} bytes can have in {name:?}");
        return Err(Damage::new(at, expected, format!("{size}")));
    }
    Ok(Entry {
        name,
        method,
        crc,
        packed,
        size,
        header,
        start: 0,
    })
}

/// Where the bytes of an entry start, by its own header.
fn local(input: &mut Input<'_>, entry: &Entry) -> Result<Result<u64, Damage>, FileError> {
    let bytes = input.read(entry.header, 30 + entry.name.len())?;
    let read = |mut fields: Fields<'_>| {
        fields.eat(b"PK\x03\x04")?;
        fields.take(22)?;
        let [name, extra] = [fields.number(2)?, fields.number(2)?];
        (name == entry.name.len() as u64 && fields.0 == entry.name.as_bytes())
            .then_some(entry.header + 30 + name + extra)
    };
    Ok(read(Fields(&bytes)).ok_or_else(|| {
        let expected = format!("the header of {:?}", entry.name);
        Damage::new(entry.header, expected, "something else")
    }))
}
