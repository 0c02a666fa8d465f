//! Moves inside one buffer: what is read is written over.
//!
//! Each of them works on a part of a buffer given as a slice, with scratch that a [`Crew`] gives to every thread. All
//! numbers but counts are in bytes.

mod cycle;
mod resize;
mod rows;
mod stage;
pub(crate) mod swap;

use std::sync::atomic::{AtomicUsize, Ordering};

pub use cycle::Cycle;
pub use resize::Resize;
pub use rows::Rows;
pub use stage::Stage;
pub use swap::Swap;

use crate::error::{Buffer, NestError};

/// Threads to work on. It calls what it is given once on each of them that comes, at least on one, with scratch of the
/// thread's own, and returns when all are done: each call does all that is left. One that calls it once is one thread.
///
/// ```
/// use minormajor_kernels::{Crew, Swap};
/// let alone: Crew<'_> = &|work| work(&mut [0; 64]);
/// let mut matrix = *b"abcdefghi";
/// Swap::new(3, 1, 1)?.run(&mut matrix, alone)?;
/// assert_eq!(&matrix, b"adgbehcfi");
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
pub type Crew<'a> = &'a dyn Fn(&(dyn Fn(&mut [u8]) + Sync));

/// A buffer of which threads take parts that do not overlap.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

// SAFETY: the pointer is only used for parts of a buffer that the holder has exclusively, and each part by one thread:
// `parts` hands every number out once.
unsafe impl Sync for Shared {}

impl Shared {
    fn get(&self) -> *mut u8 {
        self.0
    }
}

/// Calls `work` for each of `0..count` once, on the threads of a crew, with the thread's scratch.
fn parts(count: usize, crew: Crew<'_>, work: impl Fn(usize, &mut [u8]) + Sync) {
    let next = AtomicUsize::new(0);
    crew(&|scratch| {
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= count {
                return;
            }
            work(part, scratch);
        }
    });
}

/// The product of some numbers, which must be at most `isize::MAX`.
fn size(factors: &[usize]) -> Result<usize, NestError> {
    factors
        .iter()
        .try_fold(1usize, |product, &factor| product.checked_mul(factor))
        .filter(|&product| isize::try_from(product).is_ok())
        .ok_or(NestError::Overflow {
            buffer: Buffer::Destination,
        })
}

/// The number of batches in a buffer; an error where it holds no whole number of them.
fn batches(length: usize, batch: usize) -> Result<usize, NestError> {
    match (length, batch) {
        (0, 0) => Ok(0),
        (_, 1..) if length.is_multiple_of(batch) => Ok(length / batch),
        _ => Err(NestError::Batches { length, batch }),
    }
}
