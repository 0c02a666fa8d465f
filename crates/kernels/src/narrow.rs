//! Planes in the caches that are too narrow for vectors, element by element.

use crate::around::Each;
use crate::axis::Pointers;
use crate::order::Order;
use crate::places::Places;
use crate::plane::{At, Plane};

/// Moves a plane element by element: it is too narrow for blocks.
///
/// # Safety (of `each`)
///
/// As `plane::run`, for one iteration of the loops around it; `rows` and `columns` give the places from a row or a column on.
pub(crate) struct Elements<O, const W: usize, R, C> {
    pub(crate) order: O,
    pub(crate) rows: R,
    pub(crate) columns: C,
    pub(crate) height: usize,
    pub(crate) breadth: usize,
}

impl<O, const W: usize, R, C, A, B> Each for Elements<O, W, R, C>
where
    O: Order,
    R: Fn(*const u8, usize) -> A + Copy,
    C: Fn(*const u8, usize) -> B + Copy,
    A: Places,
    B: Places,
{
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let (order, rows, columns) = (self.order, (self.rows)(from, 0), (self.columns)(to, 0));
        // SAFETY: element (p, q) of the plane, for both indices inside their axes.
        let element = |p: usize, q: usize| unsafe {
            order.element::<W>(rows.at(p).add(q * W), columns.at(q).cast_mut().add(p * W));
        };
        if self.height < self.breadth {
            for p in 0..self.height {
                for q in 0..self.breadth {
                    element(p, q);
                }
            }
        } else {
            for q in 0..self.breadth {
                for p in 0..self.height {
                    element(p, q);
                }
            }
        }
    }
}

/// Element by element, for planes narrower than the narrowest vector.
///
/// # Safety
///
/// As `plane::run`.
pub(crate) unsafe fn narrow<O: Order, const W: usize>(plane: &Plane, order: O, at: &At) {
    let &At {
        source,
        destination,
        ..
    } = at;
    let (rows, columns) = (plane.rows.len, plane.columns.len);
    let (mut from, mut to) = (Pointers::<64>::new(), Pointers::<64>::new());
    let mut down = plane.rows.cursor(0);
    for p in (0..rows).step_by(64) {
        let height = (rows - p).min(64);
        from.take(&mut down, source, height);
        let mut along = plane.columns.cursor(0);
        for q in (0..columns).step_by(64) {
            let breadth = (columns - q).min(64);
            to.take(&mut along, destination, breadth);
            for (j, to) in to[..breadth].iter().enumerate() {
                for (i, from) in from[..height].iter().enumerate() {
                    // SAFETY: element (p + i, q + j) of the plane.
                    unsafe {
                        let to = to.cast_mut().add((p + i) * W);
                        order.element::<W>(from.add((q + j) * W), to);
                    }
                }
            }
        }
    }
}
