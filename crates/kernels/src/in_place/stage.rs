//! Batches that go through scratch.

use std::sync::{Mutex, PoisonError};

use super::{Crew, batches, size};
use crate::error::{Buffer, NestError};
use crate::movement::Move;
use crate::nest::Loop;

/// Batches that lie one behind another, each copied to scratch and moved back in another order.
///
/// ```
/// use minormajor_kernels::{Loop, Stage};
/// // Pairs of bytes change places, two pairs at a time.
/// let swap = Stage::new(2, 2, &[Loop { extent: 2, source: 1, destination: -1 }], 0, 1)?;
/// let mut word = *b"badcfe";
/// swap.run(&mut word, &|work| work(&mut [0; 4]))?;
/// assert_eq!(&word, b"abcdef");
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Stage {
    batch: usize,
    together: usize,
    /// Of the batches that go together, and of one.
    all: Move,
    one: Move,
}

impl Stage {
    /// Batches of `batch` bytes, `together` at a time, each moved by the loops from the byte offsets `source` in
    /// scratch to `destination`.
    ///
    /// # Errors
    ///
    /// As [`Move::new`], of bytes; and [`NestError::TooShort`] where the loops leave a batch.
    pub fn new(
        batch: usize,
        together: usize,
        loops: &[Loop],
        source: usize,
        destination: usize,
    ) -> Result<Stage, NestError> {
        let bytes = size(&[batch, together])?;
        let mut all = Vec::with_capacity(loops.len() + 1);
        all.push(Loop {
            extent: together,
            // Fits, as it is at most `bytes`.
            source: batch as isize,
            destination: batch as isize,
        });
        all.extend_from_slice(loops);
        let stage = Stage {
            batch,
            together,
            all: Move::new(1, source, destination, &all)?,
            one: Move::new(1, source, destination, loops)?,
        };
        let reach = stage.all.source_len().max(stage.all.destination_len());
        if reach > bytes {
            return Err(NestError::TooShort {
                buffer: Buffer::Destination,
                needed: reach,
                got: bytes,
            });
        }
        Ok(stage)
    }

    /// Moves every batch of a buffer.
    ///
    /// # Errors
    ///
    /// [`NestError::Batches`] where the buffer is no whole number of batches, [`NestError::TooShort`] where a thread's
    /// scratch holds less than one batch; whole batches may have been moved then.
    pub fn run(&self, buffer: &mut [u8], crew: Crew<'_>) -> Result<(), NestError> {
        batches(buffer.len(), self.batch)?;
        if buffer.is_empty() {
            return Ok(());
        }
        let queue = Mutex::new(buffer.chunks_mut(self.batch * self.together));
        let result = Mutex::new(Ok(()));
        crew(&|scratch| {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(window) = next else {
                    return;
                };
                if let Err(error) = self.window(window, scratch) {
                    *result.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                    return;
                }
            }
        });
        result.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn window(&self, window: &mut [u8], scratch: &mut [u8]) -> Result<(), NestError> {
        let mut through = |part: &mut [u8], by: &Move| {
            let got = scratch.len();
            let Some(copy) = scratch.get_mut(..part.len()) else {
                return Err(NestError::TooShort {
                    buffer: Buffer::Source,
                    needed: part.len(),
                    got,
                });
            };
            copy.copy_from_slice(part);
            by.run(copy, part)
        };
        if window.len() == self.batch * self.together {
            return through(window, &self.all);
        }
        window
            .chunks_mut(self.batch)
            .try_for_each(|part| through(part, &self.one))
    }
}
