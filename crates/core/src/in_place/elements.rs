//! Packed elements that share bytes with others: one by one, each to its place.

use crate::address::AddressMap;
use crate::array::ArrayShape;
use crate::error::ShapeError;

/// The elements of a packed array, each of which is moved to where the other layout has it.
///
/// Where a layout has room for more bits of an element than the other, elements are moved as the
/// narrower of the two: those of a wider source are brought together first, those of a wider
/// destination apart at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedElements {
    source: AddressMap,
    destination: AddressMap,
    source_bits: i64,
    destination_bits: i64,
}

/// What happens to an element. Positions count elements of [`PackedElements::bits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementMove {
    /// The element here is kept beside the buffer.
    Keep(i64),
    /// The element at the first position is written to the second one.
    To(i64, i64),
    /// The element that is kept is written here.
    Put(i64),
}

impl PackedElements {
    pub(super) fn new(
        source: &ArrayShape,
        destination: &ArrayShape,
    ) -> Result<PackedElements, ShapeError> {
        Ok(PackedElements {
            source: AddressMap::new(source)?,
            destination: AddressMap::new(destination)?,
            source_bits: source.element_bits(),
            destination_bits: destination.element_bits(),
        })
    }

    /// Bits of an element while it is moved.
    pub fn bits(&self) -> i64 {
        self.source_bits.min(self.destination_bits)
    }

    /// The positions of the source, and the bits that it has for an element.
    pub fn source(&self) -> (i64, i64) {
        (self.source.allocated_elements(), self.source_bits)
    }

    /// The positions of the destination, and the bits that it has for an element.
    pub fn destination(&self) -> (i64, i64) {
        (self.destination.allocated_elements(), self.destination_bits)
    }

    /// Elements of the array.
    pub fn count(&self) -> i64 {
        self.source.elements()
    }

    /// Bytes that [`for_each`](Self::for_each) allocates at most while it runs: none for usual
    /// ranks and layouts.
    pub fn heap_bytes(&self) -> usize {
        self.source.heap_bytes() + self.destination.heap_bytes()
    }

    /// Says the moves, in their order: no element is written over before it was moved, and one at
    /// a time is kept.
    ///
    /// Elements form chains, from a place that is free once its element is gone to one that was
    /// free, and cycles. A chain is followed from its end. A cycle is followed from its lowest
    /// position; to know that it is, every other position of it is gone around from until a lower
    /// one is met. That takes no memory, and for `n` elements about `n log n` looks, as long as
    /// cycles look random.
    pub fn for_each(&self, mut each: impl FnMut(ElementMove)) {
        let (source, destination) = (&self.source, &self.destination);
        // To where the element at a position goes, and from where the one that belongs there comes.
        let next = |position| other(source, destination, position);
        let previous = |position| other(destination, source, position);
        for end in 0..destination.allocated_elements() {
            if next(end).is_some() {
                continue;
            }
            let mut to = end;
            while let Some(from) = previous(to) {
                each(ElementMove::To(from, to));
                to = from;
            }
        }
        for start in 0..destination.allocated_elements() {
            let is_lowest = || {
                let mut at = start;
                loop {
                    match next(at) {
                        Some(after) if after > start => at = after,
                        // Not where the element stays.
                        after => return after == Some(start) && at != start,
                    }
                }
            };
            if !is_lowest() {
                continue;
            }
            each(ElementMove::Keep(start));
            let mut to = start;
            while let Some(from) = previous(to).filter(|&from| from != start) {
                each(ElementMove::To(from, to));
                to = from;
            }
            each(ElementMove::Put(to));
        }
    }
}

/// Where one layout has the element that the other has at this position; `None` for padding, and
/// behind the array.
fn other(map: &AddressMap, other: &AddressMap, position: i64) -> Option<i64> {
    if position >= map.allocated_elements() {
        return None;
    }
    let (index, is_padding) = map.locate(position)?;
    (!is_padding).then(|| other.position_of(&index))
}
