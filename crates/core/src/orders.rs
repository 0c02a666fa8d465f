//! The orders of an array's dimensions that waste least on tiles.

use smallvec::SmallVec;

use crate::array::ArrayShape;
use crate::error::ShapeError;
use crate::layout::{Layout, Tile, TileDimension};

/// At most so many orders of one array are tried: all that can differ, except for arrays of
/// more dimensions than any program has.
const MOST_ORDERS: usize = 20_000;

impl ArrayShape {
    /// The same array in the minor-to-major orders that allocate least, all else in its layout
    /// kept: the orders nearest to its own first. Only its own where no order allocates less.
    ///
    /// Orders that differ only in dimensions that no tile cuts allocate the same; one stands
    /// for all of them, in which those dimensions keep their order.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoLayout`] or [`ShapeError::Unbounded`] where it has no size.
    ///
    /// ```
    /// use minormajor_core::Shape;
    ///
    /// // A dimension of 4 in tiles of 128: 32 times the memory.
    /// let shape: Shape = "s32[8388608,8,4]{2,1,0:T(8,128)}".parse()?;
    /// let best = shape.as_array()?.least_allocating_orders()?;
    /// assert_eq!(best[0].to_string(), "s32[8388608,8,4]{0,1,2:T(8,128)}");
    /// assert_eq!(best[0].allocated_bytes(), Some(1 << 30));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn least_allocating_orders(&self) -> Result<Vec<ArrayShape>, ShapeError> {
        let layout = self.require_layout()?;
        self.sizes()?;
        let own = layout.minor_to_major();
        let mut best = vec![self.clone()];
        let mut least = self.allocated_bytes();
        for order in orders(own, tiled_dimensions(layout.tiles(), own.len())) {
            let Ok(found) = self.with_layout(layout.with_order(order)) else {
                // It would allocate beyond 63 bits.
                continue;
            };
            let allocated = found.allocated_bytes();
            if allocated < least {
                best.clear();
                least = allocated;
            }
            if allocated == least && allocated < self.allocated_bytes() {
                best.push(found);
            }
        }
        best.sort_by_cached_key(|shape| {
            let order = shape.layout().map_or(&[][..], Layout::minor_to_major);
            let moved = order.iter().zip(own).filter(|(a, b)| a != b).count();
            (moved, order.to_vec())
        });
        Ok(best)
    }
}

/// How many of the most minor of `rank` dimensions the tiles cut or combine; what is more major
/// is only multiplied.
pub(crate) fn tiled_dimensions(tiles: &[Tile], rank: usize) -> usize {
    let mut dimensions = 0;
    // The most minor parts of the array, as far as they come from those dimensions.
    let mut parts = 0;
    for tile in tiles {
        let sizes = tile.dimensions();
        dimensions += sizes.len().saturating_sub(parts);
        parts = parts.max(sizes.len());
        let combined = sizes[..sizes.len() - 1]
            .iter()
            .filter(|&&size| size == TileDimension::Combine)
            .count();
        // Those that are combined are one; then each is cut into two.
        parts = parts + sizes.len() - 2 * combined;
    }
    dimensions.min(rank)
}

/// The orders that have any choice of `chosen` dimensions of `own` at the minor end, in any
/// order, and the others behind them as they stand in `own`.
fn orders(own: &[usize], chosen: usize) -> Vec<SmallVec<[usize; 6]>> {
    let mut orders: Vec<SmallVec<[usize; 6]>> = vec![own.into()];
    for place in 0..chosen {
        if orders.len() * (own.len() - place) > MOST_ORDERS {
            break;
        }
        orders = orders
            .iter()
            .flat_map(|order| {
                (place..order.len()).map(move |from| {
                    let mut order = order.clone();
                    order[place..=from].rotate_right(1);
                    order
                })
            })
            .collect();
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn array(text: &str) -> ArrayShape {
        text.parse::<Shape>().unwrap().as_array().unwrap().clone()
    }

    #[test]
    fn own_order_stays_where_none_is_better() {
        for text in [
            "f32[]",
            "f32[7]{0:T(128)}",
            "f32[3,5]{0,1}",
            "f32[8,128]{1,0:T(8,128)}",
            "f32[0,5]{1,0:T(8,128)}",
        ] {
            assert_eq!(
                array(text).least_allocating_orders(),
                Ok(vec![array(text)]),
                "{text}"
            );
        }
        assert!(array("f32[?,5]").least_allocating_orders().is_err());
        assert!(
            array("f32[5]")
                .without_layout()
                .least_allocating_orders()
                .is_err()
        );
    }

    #[test]
    fn the_nearest_order_comes_first() {
        let best = array("bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)}");
        let best = best.least_allocating_orders().unwrap();
        assert_eq!(
            best[0].to_string(),
            "bf16[2048,1,2048,128]{0,3,1,2:T(4,128)(2,1)}"
        );
        assert!(
            best.iter()
                .all(|shape| shape.allocated_bytes() == Some(1 << 30))
        );
    }

    #[test]
    fn many_dimensions_end_soon() {
        let sizes = ["3"; 40].join(",").replace("3,3", "1,1");
        let tile = ["2"; 30].join(",");
        let order: Vec<String> = (0..40).rev().map(|d| d.to_string()).collect();
        let shape = array(&format!("f32[{sizes}]{{{}:T({tile})}}", order.join(",")));
        assert!(!shape.least_allocating_orders().unwrap().is_empty());
    }
}
