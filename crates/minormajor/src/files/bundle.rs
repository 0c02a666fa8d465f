//! Small arrays that lie beside each other in both files: read at once, moved one by one, and written
//! at once. To read or write a few bytes takes longer than to move them.

use super::error::FileError;
use super::mover::{FilePlace, Mover};

/// Bytes of a buffer for a bundle, on both sides together. They stay in a core's cache.
pub(super) const BUNDLE: usize = 512 << 10;

/// What starts on such a byte of memory starts on a page.
const PAGE: usize = 4096;

/// Arrays in the order of both files, without a gap.
#[derive(Default)]
pub(super) struct Bundle(Vec<Part>);

/// An array of a bundle.
pub(super) struct Part {
    pub mover: usize,
    /// Bytes that are read,
    pub from: u64,
    /// and written.
    pub to: u64,
}

impl Bundle {
    /// Whether there are arrays that are moved together.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn push(&mut self, part: Part) {
        self.0.push(part);
    }

    /// Bytes of a buffer for so many that are read and written.
    pub fn buffer(from: u64, to: u64) -> u64 {
        from.next_multiple_of(PAGE as u64).saturating_add(to)
    }

    /// Moves all of them, and says how many bytes it wrote. The buffer has as many bytes as
    /// [`buffer`](Bundle::buffer) says.
    pub fn run(
        &self,
        movers: &[Mover],
        buffer: &mut [u8],
        source: &FilePlace<'_>,
        destination: &FilePlace<'_>,
    ) -> Result<u64, FileError> {
        let sum = |side: fn(&Part) -> u64| self.0.iter().map(side).sum::<u64>() as usize;
        let (read, written) = (sum(|part| part.from), sum(|part| part.to));
        let (from, to) = buffer.split_at_mut(read.next_multiple_of(PAGE));
        let (from, to) = (&mut from[..read], &mut to[..written]);
        source.read(from, 0)?;
        let (mut left, mut room) = (&*from, &mut *to);
        for part in &self.0 {
            let (from, behind) = left.split_at(part.from as usize);
            let (to, rest) = room.split_at_mut(part.to as usize);
            movers[part.mover]
                .run_in_memory(from, to)
                .map_err(|error| destination.refused(error))?;
            (left, room) = (behind, rest);
        }
        destination.write(to, 0)?;
        Ok(written as u64)
    }
}
