//! Interleaving and separating more rows than a weave is good at.
//!
//! A weave of `k` rows takes `k` shuffles for each vector. From nine rows of bytes on it is less to transpose them as if
//! they were sixteen, of which the last are never looked at: log2(16) rounds for all. What each row has for a lane comes
//! out in lanes that are a little longer than what belongs there, so each is stored over the end of the one before. Rows are
//! separated by the same transpose of such lanes.

use std::mem::MaybeUninit;

use super::{Way, Weave};
use crate::block::rounds;
use crate::copy;
use crate::onward::Onward;
use crate::simd::{LANE, LINE, Vector, prefetch};

/// Whether so many rows are better transposed.
pub(super) fn suits(width: usize, rows: usize) -> bool {
    width == 1 && (9..16).contains(&rows)
}

/// Rows of bytes, of more than 8 and less than 16.
pub(super) struct Padded;

impl<V: Vector> Way<V> for Padded {
    #[inline(always)]
    unsafe fn join(weave: &Weave, from: *const u8, to: *mut u8, length: usize, onward: Onward) {
        let (k, row) = (weave.rows, weave.stride);
        let mut done = 0;
        while done < length {
            done = done.min(length - V::BYTES);
            // SAFETY: `done` is at most a vector before the end of the rows, and the vector's columns are as long as that of
            // all rows. All columns but the last of a lane are followed by one that is stored later, at least as long as
            // what is stored too much; the last is stored as it is.
            unsafe {
                let run = to.add(done * k);
                let v = rounds::<V, 1>(|i| {
                    let row = from.offset(i.min(k - 1) as isize * row).add(done);
                    prefetch(onward.of(row));
                    V::load(row)
                });
                for (m, v) in v.into_iter().enumerate() {
                    if m + 1 < LANE {
                        v.store_lanes(|lane| run.add((lane * LANE + m) * k));
                        continue;
                    }
                    let mut last = MaybeUninit::<[u8; 64]>::uninit();
                    v.store(last.as_mut_ptr().cast());
                    for lane in 0..V::BYTES / LANE {
                        let from = last.as_ptr().cast::<u8>().add(lane * LANE);
                        copy::copy::<V>(from, run.add((lane * LANE + m) * k), k);
                    }
                }
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
        let k = weave.rows;
        // The last column of a run has nothing behind it: there the bytes of every lane are the last that are loaded.
        let spare = LANE - k;
        let last: [u8; LANE] =
            std::array::from_fn(|i| if i < k { (i + spare) as u8 } else { 0x80 });
        let mut done = 0;
        while done < length {
            done = done.min(length - V::BYTES);
            // SAFETY: `done` is at most a vector before the end of the rows, so there are as many columns in the run. A lane
            // that begins with a column but the last one ends in the run, as there are more than 8 rows; one that ends with a
            // column begins there, as another column is before it.
            unsafe {
                let run = from.add(done * k);
                for line in (0..V::BYTES * k).step_by(LINE) {
                    prefetch(onward.of(run.wrapping_add(line)));
                }
                let v = rounds::<V, 1>(|i| {
                    if i + 1 < LANE {
                        return V::load_lanes(|lane| run.add((lane * LANE + i) * k));
                    }
                    V::load_lanes(|lane| run.add((lane * LANE + i) * k - spare))
                        .shuffle(V::splat_lane(last.as_ptr()))
                });
                for (row, v) in v.into_iter().enumerate().take(k) {
                    v.store(to.offset(row as isize * stride).add(done));
                }
            }
            done += V::BYTES;
        }
    }
}
