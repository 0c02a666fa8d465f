//! A new archive, as `numpy.savez` writes it: stored entries, in the order of the arrays, each
//! with room for sizes of 64 bits, of the first day that the format knows.

use crate::files::Contents;
use crate::files::format::{Checksum, Frame};

/// The version that first had sizes of 64 bits.
const VERSION: u16 = 45;

/// Made on Unix, whose permissions follow: read and write for the owner.
const MADE_BY: u16 = (3 << 8) | VERSION;
const PERMISSIONS: u32 = 0o600 << 16;

/// Midnight of 1 January 1980.
const TIME: [u8; 4] = [0, 0, 0x21, 0];

/// Beyond this, sizes and places stand in 64 bits; the format allows more, Python's writer not.
const LIMIT: u64 = (1 << 31) - 1;

/// What a field of 32 bits says of a number that stands elsewhere.
const ELSEWHERE: u32 = 0xffff_ffff;

/// Names that are not ASCII are UTF-8.
fn flags(name: &str) -> u16 {
    if name.is_ascii() { 0 } else { 1 << 11 }
}

/// What stands around the arrays, given the headers of their `.npy` files.
pub(super) fn frame(contents: &Contents, headers: Vec<Vec<u8>>) -> Frame {
    let mut frame = Frame::default();
    let mut directory = Vec::new();
    let mut end = 0u64;
    for (array, header) in contents.arrays.iter().zip(headers) {
        let name = format!("{}.npy", array.name);
        let size = (header.len() as u64).saturating_add(array.bytes());
        let start = end;
        let crc_here = start + 14;

        let mut local = Vec::with_capacity(50 + name.len() + header.len());
        local.extend(b"PK\x03\x04");
        local.extend(VERSION.to_le_bytes());
        local.extend(flags(&name).to_le_bytes());
        local.extend([0, 0]);
        local.extend(TIME);
        local.extend([0; 4]);
        local.extend([0xff; 8]);
        local.extend((name.len() as u16).to_le_bytes());
        local.extend(20u16.to_le_bytes());
        local.extend(name.as_bytes());
        local.extend([1, 0, 16, 0]);
        local.extend(size.to_le_bytes());
        local.extend(size.to_le_bytes());
        let data = start.saturating_add(local.len() as u64);
        local.extend(header);
        frame.offsets.push(start.saturating_add(local.len() as u64));
        end = data.saturating_add(size);
        frame.pieces.push((start, local));

        let mut large = Vec::new();
        if size > LIMIT {
            large.extend(size.to_le_bytes());
            large.extend(size.to_le_bytes());
        }
        if start > LIMIT {
            large.extend(start.to_le_bytes());
        }
        let extra = if large.is_empty() {
            0
        } else {
            large.len() as u16 + 4
        };
        let crc_there = directory.len() as u64 + 16;
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(VERSION.to_le_bytes());
        directory.extend(flags(&name).to_le_bytes());
        directory.extend([0, 0]);
        directory.extend(TIME);
        directory.extend([0; 4]);
        directory.extend(short(size));
        directory.extend(short(size));
        directory.extend((name.len() as u16).to_le_bytes());
        directory.extend(extra.to_le_bytes());
        // No comment, the first part, no attributes of the format's own.
        directory.extend([0; 6]);
        directory.extend(PERMISSIONS.to_le_bytes());
        directory.extend(short(start));
        directory.extend(name.as_bytes());
        if extra > 0 {
            directory.extend([1, 0]);
            directory.extend((extra - 4).to_le_bytes());
            directory.extend(large);
        }
        frame.checksums.push(Checksum {
            of: data..end,
            at: vec![crc_here, crc_there],
        });
    }
    for checksum in &mut frame.checksums {
        checksum.at[1] += end;
    }
    finish(&mut directory, contents.arrays.len() as u64, end);
    frame.length = end.saturating_add(directory.len() as u64);
    frame.pieces.push((end, directory));
    frame
}

/// A number of 32 bits, or the word that it stands elsewhere.
fn short(number: u64) -> [u8; 4] {
    let short = if number > LIMIT {
        ELSEWHERE
    } else {
        number as u32
    };
    short.to_le_bytes()
}

/// The records behind the directory, which starts at a byte of the file.
fn finish(directory: &mut Vec<u8>, count: u64, start: u64) {
    let bytes = directory.len() as u64;
    if count > 0xffff || start > LIMIT || bytes > LIMIT {
        let place = start.saturating_add(bytes);
        directory.extend(b"PK\x06\x06");
        directory.extend(44u64.to_le_bytes());
        directory.extend(VERSION.to_le_bytes());
        directory.extend(VERSION.to_le_bytes());
        directory.extend([0; 8]);
        for number in [count, count, bytes, start] {
            directory.extend(number.to_le_bytes());
        }
        directory.extend(b"PK\x06\x07");
        directory.extend([0; 4]);
        directory.extend(place.to_le_bytes());
        directory.extend(1u32.to_le_bytes());
    }
    directory.extend(b"PK\x05\x06");
    directory.extend([0; 4]);
    let short_count = (count.min(0xffff) as u16).to_le_bytes();
    directory.extend(short_count);
    directory.extend(short_count);
    for number in [bytes, start] {
        directory.extend((number.min(u64::from(ELSEWHERE)) as u32).to_le_bytes());
    }
    directory.extend([0, 0]);
}
