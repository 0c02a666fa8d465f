//! Planes in the caches that are narrow on one side, by registers that lie along the other.
//!
//! Squares as wide as a register need as many rows and columns as it has elements, and squares of 16 bytes move few at a
//! time. A side of 16 bytes is enough where a register takes a vector of the long side: down the rows, each lane loaded
//! from a row of its own, or along the columns, each lane stored to one.

use std::marker::PhantomData;

use crate::around::Each;
use crate::block::{block, spread};
use crate::order::Order;
use crate::places::Places;
use crate::simd::Vector;

/// Moves a plane with ordinary stores.
///
/// # Safety (of `each`)
///
/// As `plane::run`, for one iteration of the loops around it; `rows` and `columns` give the places from a row or a column on.
/// Of rows and columns, there are at least `V::BYTES / W` of the more and `16 / W` of the fewer.
pub(crate) struct Oblong<V, O, const W: usize, R, C> {
    pub(crate) order: O,
    pub(crate) rows: R,
    pub(crate) columns: C,
    pub(crate) height: usize,
    pub(crate) breadth: usize,
    pub(crate) vector: PhantomData<V>,
}

impl<V, O, const W: usize, R, C, A, B> Each for Oblong<V, O, W, R, C>
where
    V: Vector,
    O: Order,
    R: Fn(*const u8, usize) -> A + Copy,
    C: Fn(*const u8, usize) -> B + Copy,
    A: Places,
    B: Places,
{
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        // Copies, as what is behind `self` would be read again after every store.
        let Oblong {
            order,
            rows,
            columns,
            height,
            breadth,
            ..
        } = *self;
        let tall = height > breadth;
        let (long, short) = (V::BYTES / W, 16 / W);
        let (high, wide) = if tall { (long, short) } else { (short, long) };
        // Blocks that are left are moved back to be whole: some elements are written twice.
        let mut p = 0;
        while p < height {
            p = p.min(height - high);
            let mut q = 0;
            while q < breadth {
                q = q.min(breadth - wide);
                // SAFETY: rows p..p + high and columns q..q + wide are of the plane.
                unsafe {
                    let rows = rows(from.add(q * W), p);
                    let columns = columns(to.add(p * W), q);
                    if tall {
                        block::<V, W>(
                            |i| rows.at(i),
                            |m, v| order.mix(v).store(columns.at(m).cast_mut()),
                        );
                    } else {
                        spread::<V, W>(|i| rows.at(i), order, |m| columns.at(m).cast_mut());
                    }
                }
                q += wide;
            }
            p += high;
        }
    }
}
