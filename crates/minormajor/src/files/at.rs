//! Reading and writing at a place in a file, from many threads at once.

use std::fs::File;
use std::io;

/// Fills a buffer with the bytes from `offset` on.
#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

/// Writes all of a buffer from `offset` on.
#[cfg(unix)]
pub(super) fn write_all_at(file: &File, buffer: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, buffer, offset)
}

/// Where the system has no such call, one thread at a time moves the file's own place.
#[cfg(not(unix))]
static PLACE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(not(unix))]
pub(super) fn read_exact_at(mut file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    let _alone = PLACE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}

#[cfg(not(unix))]
pub(super) fn write_all_at(mut file: &File, buffer: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    let _alone = PLACE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(buffer)
}
