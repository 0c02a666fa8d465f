//! What a layout would do, without building it.

use smallvec::SmallVec;

use crate::layout::{Tile, TileDimension};

/// Where the second index of each dimension lies, in elements, where dimensions of these
/// widths are laid out in this order and cut by tiles; and how many elements it allocates before the tail alignment. `None`
/// beyond 63 bits.
///
/// [`AddressMap`](crate::AddressMap) answers that and more, and takes ten times as long to
/// build.
pub(super) fn second_positions(
    tiles: &[Tile],
    order: &[usize],
    widths: &[i64],
) -> Option<(SmallVec<[i64; 6]>, i64)> {
    let mut extents: SmallVec<[i64; 16]> = SmallVec::new();
    // The parts of the second indices: a dimension, the place of an extent, the value there.
    let mut parts: SmallVec<[(usize, usize, i64); 16]> = SmallVec::new();
    for (place, &dimension) in order.iter().rev().enumerate() {
        extents.push(widths[dimension]);
        parts.push((dimension, place, 1));
    }
    for tile in tiles {
        let tile = tile.dimensions();
        let added = tile.len().saturating_sub(extents.len());
        extents.insert_many(0, std::iter::repeat_n(1, added));
        let first = extents.len() - tile.len();
        let whole: SmallVec<[i64; 8]> = extents.drain(first..).collect();
        let last = tile.len() - 1;
        let cuts = tile.iter().enumerate();
        let cuts: SmallVec<[(usize, i64); 8]> = cuts
            .filter_map(|(place, &cut)| match cut {
                TileDimension::Size(size) => Some((place, size)),
                TileDimension::Combine => (place == last).then_some((place, 1)),
            })
            .collect();
        let mut start = 0;
        for &(place, size) in &cuts {
            let mut combined = whole[start..=place].iter();
            let combined =
                combined.try_fold(1, |product: i64, &extent| product.checked_mul(extent))?;
            extents.push(combined / size + i64::from(combined % size != 0));
            start = place + 1;
        }
        extents.extend(cuts.iter().map(|&(_, size)| size));
        for (dimension, place, value) in std::mem::take(&mut parts) {
            let place = place + added;
            if place < first {
                parts.push((dimension, place, value));
                continue;
            }
            let within = place - first;
            let cut = cuts.iter().position(|&(cut, _)| cut >= within)?;
            let (end, size) = cuts[cut];
            // Below the product of the extents up to the cut, which fits.
            let value = value * whole[within + 1..=end].iter().product::<i64>();
            let (high, low) = (first + cut, first + cuts.len() + cut);
            let split = [
                (dimension, high, value / size),
                (dimension, low, value % size),
            ];
            parts.extend(split.into_iter().filter(|&(_, _, value)| value > 0));
        }
    }
    let mut stride: i64 = 1;
    for extent in extents.iter_mut().rev() {
        let outer = stride.checked_mul(*extent)?;
        *extent = std::mem::replace(&mut stride, outer);
    }
    let mut positions = SmallVec::from_elem(0, order.len());
    for (dimension, place, value) in parts {
        positions[dimension] += value * extents[place];
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
            let (found, allocated) = second_positions(layout.tiles(), order, &widths).unwrap();
            assert_eq!(allocated, map.allocated_elements(), "{text}");
            for dimension in (0..3).filter(|&d| map.sizes()[d] > 1) {
                let mut second = [0; 3];
                second[dimension] = 1;
                assert_eq!(Ok(found[dimension]), map.position(&second), "{text}");
            }
        }
        let huge = [Tile::new([1 << 40, 1 << 40])];
        assert_eq!(second_positions(&huge, &[0], &[5]), None);
    }
}
