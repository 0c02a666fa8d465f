//! Files as slices, and advice to the system about memory.

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};

use memmap2::{Mmap, MmapMut, MmapOptions};

/// What the system may expect of a range of memory. A hint: where the system has no such call it does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Back it with huge pages where possible.
    HugePages,
    /// Back it with the smallest pages.
    SmallPages,
    /// It will be read from front to back.
    Sequential,
    /// It will be read in no order.
    Random,
    /// It will be needed soon.
    WillNeed,
    /// It will not be needed soon: pages of a file may leave memory. What the range holds does not change.
    DontNeed,
}

/// A file that is read as a slice.
///
/// # What is promised
///
/// The length is the file's when it was opened. Memory safety of the slice rests on nobody changing the file while it
/// is mapped, and the system does not let us enforce that: if another process writes to it, the slice's bytes change
/// under the reader; if another process makes it shorter, touching the part that is gone ends this process with a
/// signal (SIGBUS on Unix). Map only files that nobody writes to, or copies.
///
/// # Example
///
/// ```no_run
/// use minormajor_kernels::MappedFile;
/// let file = std::fs::File::open("weights.bin")?;
/// let bytes = MappedFile::open_read(&file)?;
/// println!("{} bytes, the first {:?}", bytes.len(), bytes.first());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct MappedFile {
    /// Absent for an empty file, which can't be mapped.
    map: Option<Mmap>,
}

impl MappedFile {
    /// Maps a whole file for reading.
    ///
    /// # Errors
    ///
    /// Those of the system; also if the file is longer than memory can address.
    pub fn open_read(file: &File) -> io::Result<MappedFile> {
        let length = mappable(file.metadata()?.len())?;
        if length == 0 {
            return Ok(MappedFile { map: None });
        }
        // SAFETY: `map` asks that the file is not changed while mapped. That can't be checked from here; the type's
        // documentation makes it the duty of whoever chooses the file, and says what happens otherwise.
        let map = unsafe { MmapOptions::new().len(length).map(file)? };
        Ok(MappedFile { map: Some(map) })
    }

    /// Passes a hint about the whole file to the system. Errors of the call are not reported: it is a hint.
    pub fn advise(&self, advice: Advice) {
        if let Some(map) = &self.map {
            advise(map.as_ptr(), map.len(), advice);
        }
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }
}

/// A file that is written as a slice.
///
/// Writes reach the file when the system writes the pages back; [`flush`](MappedFileMut::flush) waits for that. Other
/// processes that read the file see them at once.
///
/// # What is promised
///
/// As for [`MappedFile`]: nobody else may write to the file or change its length while it is mapped. Besides, a file
/// made longer has no disk space of its own until it is written; if the disk is full at that moment, the write ends
/// this process with a signal (SIGBUS on Unix).
#[derive(Debug)]
pub struct MappedFileMut {
    map: Option<MmapMut>,
}

impl MappedFileMut {
    /// Maps the first bytes of a file for reading and writing, for which it must be open. Where it has fewer, it gets
    /// them, and they read as zero; what it has stays, also what stands behind them.
    ///
    /// # Errors
    ///
    /// Those of the system; also if the length is more than memory can address.
    pub fn open_write(file: &File, length: u64) -> io::Result<MappedFileMut> {
        let bytes = mappable(length)?;
        if file.metadata()?.len() < length {
            file.set_len(length)?;
        }
        if bytes == 0 {
            return Ok(MappedFileMut { map: None });
        }
        // SAFETY: as in `MappedFile::open_read`; the file has what is mapped.
        let map = unsafe { MmapOptions::new().len(bytes).map_mut(file)? };
        Ok(MappedFileMut { map: Some(map) })
    }

    /// Waits until everything written so far is in the file.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn flush(&self) -> io::Result<()> {
        self.map.as_ref().map_or(Ok(()), MmapMut::flush)
    }

    /// Passes a hint about the whole file to the system. Errors of the call are not reported: it is a hint.
    pub fn advise(&self, advice: Advice) {
        if let Some(map) = &self.map {
            advise(map.as_ptr(), map.len(), advice);
        }
    }
}

impl Deref for MappedFileMut {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }
}

impl DerefMut for MappedFileMut {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.map.as_deref_mut().unwrap_or(&mut [])
    }
}

/// How large the pages of some memory are to be. A hint: the system may not have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Pages {
    /// The largest, 2 MiB on most machines: few entries of the CPU's page tables reach far.
    #[default]
    Huge,
    /// The smallest, 4 KiB on most machines: what memory has that nobody advised the system about.
    Small,
}

/// Zeroed memory that starts on a page, on huge pages where the system has them.
///
/// # Example
///
/// ```
/// use minormajor_kernels::Memory;
/// let mut buffer = Memory::zeroed(1000)?;
/// buffer[999] = 1;
/// assert_eq!(buffer.iter().map(|&b| b as u32).sum::<u32>(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    map: Option<MmapMut>,
}

impl Memory {
    /// This many bytes, all zero.
    ///
    /// # Errors
    ///
    /// Those of the system, such as too little memory.
    pub fn zeroed(length: usize) -> io::Result<Memory> {
        Memory::zeroed_on(Pages::Huge, length)
    }

    /// This many bytes, all zero, on pages of this size.
    ///
    /// # Errors
    ///
    /// As [`zeroed`](Memory::zeroed).
    pub fn zeroed_on(pages: Pages, length: usize) -> io::Result<Memory> {
        if length == 0 {
            return Ok(Memory { map: None });
        }
        let map = MmapMut::map_anon(length)?;
        let advice = match pages {
            Pages::Huge => Advice::HugePages,
            Pages::Small => Advice::SmallPages,
        };
        advise(map.as_ptr(), map.len(), advice);
        Ok(Memory { map: Some(map) })
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.map.as_deref_mut().unwrap_or(&mut [])
    }
}

/// Asks the system to back a buffer with huge pages, as far as it consists of whole pages. It is worth most before the
/// buffer is first written. Does nothing where the system has no such call.
pub fn advise_huge_pages(buffer: &mut [u8]) {
    const PAGE: usize = 4096;
    let head = buffer.as_ptr().align_offset(PAGE);
    if head < buffer.len() {
        let pages = &buffer[head..];
        advise(pages.as_ptr(), pages.len() / PAGE * PAGE, Advice::HugePages);
    }
}

fn mappable(length: u64) -> io::Result<usize> {
    isize::try_from(length)
        .map(|length| length as usize)
        .map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "file: expected at most {} bytes to map, got {length}",
                    isize::MAX
                ),
            )
        })
}

/// `start` is on a page, or at the start of a map. Never called with `DontNeed` on memory that no file backs: there it
/// would zero the bytes.
#[cfg(target_os = "linux")]
fn advise(start: *const u8, length: usize, advice: Advice) {
    let advice = match advice {
        Advice::HugePages => libc::MADV_HUGEPAGE,
        Advice::SmallPages => libc::MADV_NOHUGEPAGE,
        Advice::Sequential => libc::MADV_SEQUENTIAL,
        Advice::Random => libc::MADV_RANDOM,
        Advice::WillNeed => libc::MADV_WILLNEED,
        Advice::DontNeed => libc::MADV_DONTNEED,
    };
    // SAFETY: the range is memory of this process that a borrow keeps alive during the call. All pieces of advice but
    // the last change how it is backed and not what it holds; the last drops pages that are read again from the file,
    // as the maps of files here are all shared ones, whose written pages belong to the file already.
    unsafe {
        libc::madvise(start.cast_mut().cast(), length, advice);
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: *const u8, _length: usize, _advice: Advice) {}
