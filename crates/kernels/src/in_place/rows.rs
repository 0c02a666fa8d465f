//! Rows of two parts each, parted and joined.

use super::{Crew, size};
use crate::error::{Buffer, NestError};

/// Rows of a left and a right part. Parted, all left parts come first, and then all right parts.
///
/// Rows are done in groups whose right parts fit scratch. The right parts of the groups before are between what is
/// done and what is not, and change places with the left parts of each group: so few and short right parts, and much
/// scratch, make it fast.
///
/// ```
/// use minormajor_kernels::Rows;
/// let mut rows = *b"aa1bb2cc3";
/// let cut = Rows::new(3, 2, 1)?;
/// cut.part(&mut rows, &|work| work(&mut [0; 2]))?;
/// assert_eq!(&rows, b"aabbcc123");
/// cut.join(&mut rows, &|work| work(&mut [0; 2]))?;
/// assert_eq!(&rows, b"aa1bb2cc3");
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    rows: usize,
    left: usize,
    right: usize,
}

impl Rows {
    /// So many rows, with parts of so many bytes.
    ///
    /// # Errors
    ///
    /// [`NestError::Overflow`] where they have more than `isize::MAX` bytes.
    pub fn new(rows: usize, left: usize, right: usize) -> Result<Rows, NestError> {
        let row = left.checked_add(right).ok_or(NestError::Overflow {
            buffer: Buffer::Destination,
        })?;
        size(&[rows, row])?;
        Ok(Rows { rows, left, right })
    }

    fn check<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], NestError> {
        let (needed, got) = (self.rows * (self.left + self.right), buffer.len());
        buffer.get_mut(..needed).ok_or(NestError::TooShort {
            buffer: Buffer::Destination,
            needed,
            got,
        })
    }

    /// Rows of a group, of which there is at least one: a right part longer than scratch is turned around in place.
    fn group(&self, scratch: &[u8]) -> usize {
        (scratch.len() / self.right.max(1)).clamp(1, self.rows.max(1))
    }

    /// Brings the left parts to the front.
    ///
    /// # Errors
    ///
    /// [`NestError::TooShort`] for a buffer that ends before the rows do; then nothing has been moved.
    pub fn part(&self, buffer: &mut [u8], crew: Crew<'_>) -> Result<(), NestError> {
        let buffer = self.check(buffer)?;
        once(crew, buffer, &|buffer, scratch| {
            let (left, row) = (self.left, self.left + self.right);
            let group = self.group(scratch);
            let mut done = 0;
            while done < self.rows {
                let count = group.min(self.rows - done);
                let start = done * row;
                self.part_group(&mut buffer[start..start + count * row], scratch);
                // Left parts, collected right parts, left and right parts of the group.
                buffer[done * left..start + count * left].rotate_left(done * self.right);
                done += count;
            }
        });
        Ok(())
    }

    fn part_group(&self, group: &mut [u8], scratch: &mut [u8]) {
        let &Rows { left, right, .. } = self;
        let row = left + right;
        let count = group.len() / row.max(1);
        if count < 2 {
            return;
        }
        // Two rows or more only where scratch has their right parts.
        for i in 0..count {
            scratch[i * right..(i + 1) * right]
                .copy_from_slice(&group[i * row + left..(i + 1) * row]);
            group.copy_within(i * row..i * row + left, i * left);
        }
        group[count * left..].copy_from_slice(&scratch[..count * right]);
    }

    /// Brings every right part behind its left part: the way back of [`part`](Rows::part).
    ///
    /// # Errors
    ///
    /// As [`part`](Rows::part).
    pub fn join(&self, buffer: &mut [u8], crew: Crew<'_>) -> Result<(), NestError> {
        let buffer = self.check(buffer)?;
        once(crew, buffer, &|buffer, scratch| {
            let (left, row) = (self.left, self.left + self.right);
            let group = self.group(scratch);
            let mut rest = self.rows;
            while rest > 0 {
                // The groups of `part`, from the last to the first.
                let count = match rest % group {
                    0 => group,
                    odd => odd,
                };
                let start = (rest - count) * row;
                rest -= count;
                buffer[rest * left..start + count * left].rotate_right(rest * self.right);
                self.join_group(&mut buffer[start..start + count * row], scratch);
            }
        });
        Ok(())
    }

    fn join_group(&self, group: &mut [u8], scratch: &mut [u8]) {
        let &Rows { left, right, .. } = self;
        let row = left + right;
        let count = group.len() / row.max(1);
        if count < 2 {
            return;
        }
        scratch[..count * right].copy_from_slice(&group[count * left..]);
        for i in (0..count).rev() {
            group.copy_within(i * left..(i + 1) * left, i * row);
            group[i * row + left..(i + 1) * row]
                .copy_from_slice(&scratch[i * right..(i + 1) * right]);
        }
    }
}

/// Does what only one thread can, on whichever of the crew comes first.
pub(super) fn once(
    crew: Crew<'_>,
    buffer: &mut [u8],
    work: &(dyn Fn(&mut [u8], &mut [u8]) + Sync),
) {
    let buffer = std::sync::Mutex::new(Some(buffer));
    crew(&|scratch| {
        let taken = buffer.lock().ok().and_then(|mut buffer| buffer.take());
        if let Some(buffer) = taken {
            work(buffer, scratch);
        }
    });
}
