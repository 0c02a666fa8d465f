//! What a layout would do, without building it.

use smallvec::SmallVec;

use crate::layout::{Tile, TileDimension};

/// Extents that the layouts asked about have at most: more than any real one.
const ROOM: usize = 64;

/// Where dimensions have their second indices, in elements, where dimensions of these widths are
/// laid out in this order and cut by tiles: those of `order[from..]`, one by one; and how many
/// elements it allocates before the tail alignment. `None` beyond 63 bits, and for tiles of very
/// many dimensions.
///
/// The order may be the minor end of a longer one: what lies around it changes no position.
///
/// [`AddressMap`](crate::AddressMap) answers that and more, and takes ten times as long to
/// build.
pub(super) fn second_positions(
    tiles: &[Tile],
    order: &[usize],
    widths: &[i64],
    from: usize,
) -> Option<(SmallVec<[i64; 6]>, i64)> {
    let rank = order.len();
    let added: usize = tiles.iter().map(|tile| tile.dimensions().len()).sum();
    if rank + 2 * added > ROOM {
        return None;
    }
    // Major to minor; what a tile adds at the major end is of size 1.
    let mut extents = [1; ROOM];
    let (mut start, mut end) = (added, added + rank);
    for (extent, &dimension) in extents[start..end].iter_mut().rev().zip(order) {
        *extent = widths[dimension];
    }
    // The parts of the second indices: which of them, the place of an extent, the value there.
    let mut parts: SmallVec<[(usize, usize, i64); 8]> = SmallVec::new();
    for place in from..rank {
        parts.push((place - from, end - 1 - place, 1));
    }
    for tile in tiles {
        let tile = tile.dimensions();
        let first = end - tile.len();
        start = start.min(first);
        // Dimensions up to one that a size cuts are one index.
        let size_at = |place: usize| match tile[place] {
            TileDimension::Size(size) => Some(size),
            TileDimension::Combine => (place + 1 == tile.len()).then_some(1),
        };
        let cuts = |before: usize| (0..before).filter_map(size_at);
        let all = cuts(tile.len()).count();
        for i in 0..parts.len() {
            let (which, place, mut value) = parts[i];
            if place < first {
                continue;
            }
            let mut cut = place - first;
            let size = loop {
                if let Some(size) = size_at(cut) {
                    break size;
                }
                cut += 1;
                // Below the product of the extents up to the cut, which fits.
                value *= extents[first + cut];
            };
            let high = first + cuts(cut).count();
            let low = (which, high + all, value % size);
            if value < size {
                parts[i] = low;
                continue;
            }
            parts[i] = (which, high, value / size);
            if low.2 > 0 {
                parts.push(low);
            }
        }
        end = first;
        let mut combined: i64 = 1;
        for place in 0..tile.len() {
            combined = combined.checked_mul(extents[first + place])?;
            if let Some(size) = size_at(place) {
                extents[end] = combined / size + i64::from(combined % size != 0);
                end += 1;
                combined = 1;
            }
        }
        for size in cuts(tile.len()) {
            extents[end] = size;
            end += 1;
        }
    }
    let mut stride: i64 = 1;
    for extent in extents[start..end].iter_mut().rev() {
        let outer = stride.checked_mul(*extent)?;
        *extent = std::mem::replace(&mut stride, outer);
    }
    let mut positions = SmallVec::from_elem(0, rank - from);
    for (which, place, value) in parts {
        positions[which] += value * extents[place];
    }
    Some((positions, stride))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AddressMap, Shape};

    #[test]
    fn second_positions_are_those_of_the_map() {
        for text in [
            "u8[2,3,5]{0,2,1}",
            "u8[2,3,5]{0,2,1:PAD(4,3,7)}",
            "u8[2,3,5]{2,1,0:T(2,4)(2,1)}",
            "u8[2,3,5]{1,2,0:T(1,4)(3)}",
            "u8[2,3,5]{2,1,0:T(*,2)}",
            "u8[2,3,5]{0,1,2:T(*,2,3)(*,*,2)}",
            "u8[2,3,5]{0,1,2:T(2,*)}",
            "u8[2,3,5]{2,1,0:T(2,1,1,2)(3,2,2,2,1)}",
            "u8[7,1,2]{1,0,2:T(2,2)(3,3)PAD(8,2,3)}",
        ] {
            let shape: Shape = text.parse().unwrap();
            let shape = shape.as_array().unwrap();
            let layout = shape.layout().unwrap();
            let map = AddressMap::new(shape).unwrap();
            let widths: Vec<i64> = match layout.padded_dimensions() {
                [] => map.sizes().to_vec(),
                padded => padded.to_vec(),
            };
            let order = layout.minor_to_major();
            let (found, allocated) = second_positions(layout.tiles(), order, &widths, 0).unwrap();
            assert_eq!(allocated, map.allocated_elements(), "{text}");
            for (place, &dimension) in order.iter().enumerate() {
                if map.sizes()[dimension] > 1 {
                    let mut second = [0; 3];
                    second[dimension] = 1;
                    assert_eq!(Ok(found[place]), map.position(&second), "{text}");
                }
                let minor_end = second_positions(layout.tiles(), &order[..=place], &widths, place);
                assert_eq!(minor_end.unwrap().0[..], found[place..=place], "{text}");
            }
        }
        let huge = [Tile::new([1 << 40, 1 << 40])];
        assert_eq!(second_positions(&huge, &[0], &[5], 0), None);
        let many = [Tile::new([1; 40])];
        assert_eq!(second_positions(&many, &[0], &[5], 0), None);
    }
}
