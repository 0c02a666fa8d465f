//! Inflating an entry, in little memory.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use crate::files::array::Deflated;

/// Writes the bytes of a deflated entry to another file, from its start. No more is written than
/// the entry shall have.
///
/// # Errors
///
/// The system's, and `InvalidData` for bytes that are not deflated, of another length, or of
/// another checksum.
pub(in crate::files) fn inflate(
    mut from: &File,
    entry: &Deflated,
    to: &mut File,
) -> io::Result<()> {
    from.seek(SeekFrom::Start(entry.start))?;
    let packed = BufReader::with_capacity(64 << 10, from.take(entry.packed));
    let mut inflated = DeflateDecoder::new(packed);
    let mut buffer = vec![0; 64 << 10];
    let mut crc = Crc::new();
    let mut left = entry.size;
    let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    loop {
        let read = match inflated.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            break;
        }
        left = left.checked_sub(read as u64).ok_or_else(|| {
            bad(format!(
                "it inflates to more than the {} bytes it claims",
                entry.size
            ))
        })?;
        crc.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
    }
    if left > 0 {
        let found = entry.size - left;
        return Err(bad(format!(
            "it inflates to {found} bytes, not to the {} it claims",
            entry.size
        )));
    }
    if crc.sum() != entry.crc {
        return Err(bad(format!(
            "its checksum is {:08x}, not the {:08x} it claims",
            crc.sum(),
            entry.crc
        )));
    }
    Ok(())
}
