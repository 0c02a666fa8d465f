//! Weaves of 16 bytes and more: rows are transposed, 16 bytes of them at a time.
//!
//! As many rows as 16 bytes have elements are a block whose columns fill a lane each. The last block is moved back to have
//! so many rows: then some elements are written twice.

use super::{Way, Weave};
use crate::block::{block, spread};
use crate::onward::Onward;
use crate::order::Same;
use crate::simd::{LINE, Vector, prefetch};

/// Elements of `W` bytes; all rows have 16 or more.
pub(super) struct Turned<const W: usize>;

impl<V: Vector, const W: usize> Way<V> for Turned<W> {
    #[inline(always)]
    unsafe fn join(weave: &Weave, from: *const u8, to: *mut u8, length: usize, onward: Onward) {
        let (k, c) = (weave.rows, 16 / W);
        let mut done = 0;
        while done < length {
            done = done.min(length - V::BYTES);
            let row = |i: usize| {
                let row = from.wrapping_offset(i as isize * weave.stride);
                row.wrapping_add(done)
            };
            for i in 0..k {
                prefetch(onward.of(row(i)));
            }
            let mut first = 0;
            while first < k {
                first = first.min(k - c);
                // SAFETY: rows first..first + c are of the weave, and `done` is at most a vector before their end. As
                // many elements of the run as a vector has are of these columns.
                unsafe {
                    let run = to.add(done * k + first * W);
                    spread::<V, W>(|i| row(first + i), Same, |m| run.add(m * k * W));
                }
                first += c;
            }
            done += V::BYTES;
        }
    }

    #[inline(always)]
    unsafe fn split(
        weave: &Weave,
        from: *const u8,
        to: *mut u8,
        stride: isize,
        length: usize,
        onward: Onward,
    ) {
        let (k, c) = (weave.rows, 16 / W);
        let mut done = 0;
        while done < length {
            done = done.min(length - V::BYTES);
            let run = from.wrapping_add(done * k);
            for line in (0..V::BYTES * k).step_by(LINE) {
                prefetch(onward.of(run.wrapping_add(line)));
            }
            let mut first = 0;
            while first < k {
                first = first.min(k - c);
                // SAFETY: as `join`.
                unsafe {
                    let run = run.add(first * W);
                    let to = to.offset(first as isize * stride).add(done);
                    block::<V, W>(
                        |i| run.add(i * k * W),
                        |m, v| v.store(to.offset(m as isize * stride)),
                    );
                }
                first += c;
            }
            done += V::BYTES;
        }
    }
}
