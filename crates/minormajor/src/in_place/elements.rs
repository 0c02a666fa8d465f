//! Packed elements, one by one.

use minormajor_core::{ElementMove, PackedElements};

use crate::bits;

/// Moves the elements of an array to their places.
pub(super) fn run(elements: &PackedElements, buffer: &mut [u8]) {
    let width = elements.bits() as usize;
    let place = |position: i64| position as usize * width;
    let (positions, stored) = elements.source();
    if stored > elements.bits() {
        // Together, the first one first: it goes down.
        for position in 0..positions {
            let value = bits::get(buffer, position as usize * stored as usize, width);
            bits::put(buffer, place(position), width, value);
        }
    }
    let mut kept = 0;
    elements.for_each(|step| match step {
        ElementMove::Keep(from) => kept = bits::get(buffer, place(from), width),
        ElementMove::To(from, to) => {
            let value = bits::get(buffer, place(from), width);
            bits::put(buffer, place(to), width, value);
        }
        ElementMove::Put(to) => bits::put(buffer, place(to), width, kept),
    });
    let (positions, stored) = elements.destination();
    if stored > elements.bits() {
        // Apart, the last one first: it goes up. What is beside an element's byte is padding.
        for position in (0..positions).rev() {
            let value = bits::get(buffer, place(position), width);
            let at = position as usize * stored as usize;
            bits::put(buffer, at, stored.min(8) as usize, value);
        }
    }
}
