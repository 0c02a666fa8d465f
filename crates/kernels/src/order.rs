//! Elements whose own bytes change places on their way.
//!
//! Where the innermost loops of both sides cover the same few bytes in another order, as the pairs of `T(8,128)(2,1)`
//! do when both sides have them, those bytes are moved as one element and put in order in the register.

use crate::nest::{Loop, Loops};
use crate::simd::Vector;

/// What becomes of an element's bytes in a transpose.
///
/// # Safety
///
/// As [`Vector`]'s functions: the CPU has `V`.
pub(crate) trait Order: Copy {
    unsafe fn mix<V: Vector>(&self, v: V) -> V;

    /// Moves one element.
    ///
    /// # Safety
    ///
    /// `W` bytes are readable at `from` and writable at `to`.
    #[inline(always)]
    unsafe fn element<const W: usize>(&self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            to.cast::<[u8; W]>()
                .write_unaligned(from.cast::<[u8; W]>().read_unaligned())
        }
    }
}

/// They stay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Same;

impl Order for Same {
    #[inline(always)]
    unsafe fn mix<V: Vector>(&self, v: V) -> V {
        v
    }
}

/// The byte that comes to each place of 16, which are whole elements; every element's bytes stay in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mixed([u8; 16]);

impl Order for Mixed {
    #[inline(always)]
    unsafe fn mix<V: Vector>(&self, v: V) -> V {
        // SAFETY: the caller's promise; the table has 16 bytes.
        unsafe { v.shuffle(V::splat_lane(self.0.as_ptr())) }
    }

    #[inline(always)]
    unsafe fn element<const W: usize>(&self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let element = from.cast::<[u8; W]>().read_unaligned();
            let mixed: [u8; W] = std::array::from_fn(|i| element[self.0[i] as usize]);
            to.cast::<[u8; W]>().write_unaligned(mixed);
        }
    }
}

impl Mixed {
    /// The bytes of every number of `part` bytes reversed.
    pub(crate) fn reversal(part: usize) -> Mixed {
        Mixed(std::array::from_fn(|byte| {
            (byte / part * part + part - 1 - byte % part) as u8
        }))
    }

    /// Rows of elements of `width` bytes in the source that are columns in the destination. All three are powers of two, as
    /// their product is, so nothing is divided.
    fn transpose(width: usize, rows: usize, columns: usize) -> Mixed {
        let (w, r, c) = (
            width.trailing_zeros(),
            rows.trailing_zeros(),
            columns.trailing_zeros(),
        );
        let unit = width * rows * columns;
        Mixed(std::array::from_fn(|byte| {
            let (start, at) = (byte & !(unit - 1), byte & (unit - 1));
            let (place, byte) = (at >> w, at & (width - 1));
            let (column, row) = (place >> r, place & (rows - 1));
            (start + (((row << c) + column) << w) + byte) as u8
        }))
    }
}

/// The innermost loops of both sides as the bytes of an element, if they cover the same ones and a plane of such elements
/// remains.
pub(crate) struct Unit {
    /// Bytes of the element.
    pub(crate) width: usize,
    pub(crate) order: Mixed,
    /// The other loops.
    pub(crate) loops: Loops,
    /// Which of them step by the new element in the destination and in the source.
    pub(crate) d: usize,
    pub(crate) s: usize,
}

impl Unit {
    /// `d` and `s` are the loops that step by an element in the destination and in the source.
    pub(crate) fn find(loops: &[Loop], width: usize, d: usize, s: usize) -> Option<Unit> {
        let (rows, columns) = (loops[d], loops[s]);
        let unit = width
            .checked_mul(rows.extent)?
            .checked_mul(columns.extent)?;
        let covers = |stride: isize, inner: &Loop| stride == (inner.extent * width) as isize;
        if !matches!(unit, 4 | 8 | 16)
            || !covers(rows.source, &columns)
            || !covers(columns.destination, &rows)
        {
            return None;
        }
        let mut rest = Loops::from_slice(loops);
        rest.remove(d.max(s));
        rest.remove(d.min(s));
        let next = |of: fn(&Loop) -> isize| rest.iter().position(|l| of(l) == unit as isize);
        let (d, s) = (next(|l| l.destination)?, next(|l| l.source)?);
        (d != s).then(|| Unit {
            width: unit,
            order: Mixed::transpose(width, rows.extent, columns.extent),
            loops: rest,
            d,
            s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Mixed, Order};

    fn mixed<const W: usize>(order: Mixed, element: &[u8; W]) -> [u8; W] {
        let mut mixed = [0; W];
        // SAFETY: two arrays of as many bytes.
        unsafe { order.element::<W>(element.as_ptr(), mixed.as_mut_ptr()) };
        mixed
    }

    #[test]
    fn a_block_is_transposed() {
        let pairs = Mixed::transpose(2, 2, 2);
        assert_eq!(&mixed(pairs, b"AaBbCcDd"), b"AaCcBbDd");
        let bytes = Mixed::transpose(1, 4, 4);
        assert_eq!(&mixed(bytes, b"abcdefghijklmnop"), b"aeimbfjncgkodhlp");
        let wide = Mixed::transpose(1, 2, 4);
        assert_eq!(&mixed(wide, b"abcdEFGH"), b"aEbFcGdH");
    }

    #[test]
    fn numbers_are_reversed() {
        assert_eq!(&mixed(Mixed::reversal(2), b"abcd"), b"badc");
        assert_eq!(&mixed(Mixed::reversal(4), b"abcdefgh"), b"dcbahgfe");
    }
}
