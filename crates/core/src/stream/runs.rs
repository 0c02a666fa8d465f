//! Where the bytes of a part lie in the whole array.

use smallvec::{SmallVec, smallvec};

/// Runs of bytes, of one length, in rising order: the bytes of a part of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// The byte at which the first one begins.
    pub(super) start: u64,
    /// Bytes of each.
    pub(super) bytes: u64,
    /// Extents and strides in bytes, the greatest stride first.
    pub(super) loops: SmallVec<[(u64, u64); 6]>,
}

impl Runs {
    /// Bytes of each run.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        match self.bytes {
            0 => 0,
            _ => self.loops.iter().map(|l| l.0).product(),
        }
    }

    /// The runs: where each begins, and its bytes.
    pub fn iter(&self) -> RunsIter<'_> {
        RunsIter {
            runs: self,
            at: smallvec![0; self.loops.len()],
            next: self.start,
            left: self.count(),
        }
    }
}

impl<'a> IntoIterator for &'a Runs {
    type Item = (u64, u64);
    type IntoIter = RunsIter<'a>;

    fn into_iter(self) -> RunsIter<'a> {
        self.iter()
    }
}

/// Goes through [`Runs`].
#[derive(Clone, Debug)]
pub struct RunsIter<'a> {
    runs: &'a Runs,
    at: SmallVec<[u64; 6]>,
    next: u64,
    left: u64,
}

impl Iterator for RunsIter<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        self.left = self.left.checked_sub(1)?;
        let run = (self.next, self.runs.bytes);
        for (at, &(extent, stride)) in self.at.iter_mut().zip(&self.runs.loops).rev() {
            *at += 1;
            self.next += stride;
            if *at < extent {
                break;
            }
            self.next -= extent * stride;
            *at = 0;
        }
        Some(run)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for RunsIter<'_> {}
