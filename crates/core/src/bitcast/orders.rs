//! The orders of dimensions in which a layout may put elements where they are wanted.

use smallvec::SmallVec;

use super::probe::second_positions;
use crate::layout::Tile;

/// A minor-to-major order.
pub(super) type Order = SmallVec<[usize; 6]>;

/// Orders that one search tries at most. Fewer are there up to rank 8; beyond, only tiles over
/// many dimensions, or much padding, leave more.
const MAX_ORDERS: usize = 50_000;

/// What is asked of orders.
pub(super) struct Orders<'a> {
    /// How far apart in memory the first two indices of each dimension must lie; `None` where
    /// the dimension has only one that counts.
    pub wanted: &'a [Option<i64>],
    /// Whether each dimension takes room, so that its place in the order counts.
    pub wide: SmallVec<[bool; 6]>,
    /// How many of the most minor dimensions the tiles reach.
    pub tiled: usize,
    /// What the orders are for: tiles, the width of each dimension, and the size of an element in
    /// the unit of `wanted`.
    pub tiles: &'a [Tile],
    pub widths: &'a [i64],
    pub element: i64,
    /// Where dimensions go whose place does not count.
    pub others: Others<'a>,
}

/// Where dimensions go whose place in an order does not count.
#[derive(Clone, Copy)]
pub(super) enum Others<'a> {
    /// As near as can be to this order.
    Near(&'a [usize]),
    /// To the major end, the last dimension first.
    MajorEnd,
}

impl Orders<'_> {
    /// Calls `visit` with every order that can serve, and how many elements it allocates, if
    /// that can be told, or fewer.
    ///
    /// Tiles are where an order is hard to foresee, so the dimensions that they reach are tried
    /// in every way, from the minor end on: where the second index of one lies is known before
    /// those around it are. Of the others each is one digit, and more major ones have longer
    /// strides: the wanted strides order them.
    pub fn for_each(&self, mut visit: impl FnMut(Order, i64)) {
        let rank = self.wanted.len();
        let start: Order = match self.others {
            Others::Near(order) => order.into(),
            Others::MajorEnd => (0..rank).rev().collect(),
        };
        let mut fixed: Order = (0..rank).filter(|&d| self.wanted[d].is_some()).collect();
        fixed.sort_by_key(|&d| self.wanted[d]);
        let mut search = Search {
            orders: self,
            start,
            fixed,
            order: Order::new(),
            left: MAX_ORDERS,
        };
        search.place(self.reach(rank), &mut visit);
    }

    /// Whether the dimensions of this minor end, from a place of it on, have their second indices
    /// where they are wanted; and what the end allocates, in elements, if that can be told. Cheap
    /// to ask, and most orders fail here.
    fn fit(&self, minor_end: &[usize], from: usize) -> Option<i64> {
        let Some((positions, allocated)) =
            second_positions(self.tiles, minor_end, self.widths, from)
        else {
            return Some(0);
        };
        let mut placed = minor_end[from..].iter().zip(&positions);
        placed
            .all(|(&dimension, &position)| {
                let bits = i128::from(position) * i128::from(self.element);
                self.wanted[dimension].is_none_or(|wanted| i128::from(wanted) == bits)
            })
            .then_some(allocated)
    }

    /// How many of the most minor dimensions can be tried in every way.
    fn reach(&self, rank: usize) -> usize {
        let mut orders = 1;
        let mut reach = 0;
        while reach < self.tiled.min(rank) {
            orders *= rank - reach;
            if orders > MAX_ORDERS {
                break;
            }
            reach += 1;
        }
        reach
    }
}

struct Search<'a> {
    orders: &'a Orders<'a>,
    /// The order in which dimensions are tried.
    start: Order,
    /// The dimensions with wanted strides, shortest first.
    fixed: Order,
    order: Order,
    left: usize,
}

impl Search<'_> {
    fn place(&mut self, reach: usize, visit: &mut impl FnMut(Order, i64)) {
        if self.left == 0 {
            return;
        }
        let free = |d: &usize| !self.order.contains(d);
        let next: Order = if self.order.len() < reach {
            self.start.iter().copied().filter(free).collect()
        } else {
            let fixed = self.fixed.iter().copied().find(free);
            let wild = |&d: &usize| self.orders.wide[d] && self.orders.wanted[d].is_none();
            fixed
                .into_iter()
                .chain(self.start.iter().copied().filter(free).filter(wild))
                .collect()
        };
        if next.is_empty() {
            self.left -= 1;
            let placed = reach.min(self.order.len());
            let order = self.with_others(placed);
            if let Some(allocated) = self.orders.fit(&order, placed) {
                visit(order, allocated);
            }
            return;
        }
        for dimension in next {
            self.order.push(dimension);
            // Within the tiles' reach nothing comes between any more.
            let placed = self.order.len();
            if placed > reach || self.orders.fit(&self.order, placed - 1).is_some() {
                self.place(reach, visit);
            }
            self.order.pop();
        }
    }

    /// The whole order: what is placed, behind the first `kept` interspersed with the dimensions
    /// whose place does not count.
    fn with_others(&self, kept: usize) -> Order {
        let others: Order = self
            .start
            .iter()
            .copied()
            .filter(|d| !self.order.contains(d))
            .collect();
        let Others::Near(near) = self.orders.others else {
            return self.order.iter().copied().chain(others).collect();
        };
        if others.is_empty() {
            return self.order.clone();
        }
        let (head, tail) = self.order.split_at(kept);
        head.iter()
            .copied()
            .chain(interspersed(tail, &others, &near[kept..]))
            .collect()
    }
}

/// The items of `tail`, in their order, and those of `others`, in any, so that as few places as
/// can be differ from `near`.
fn interspersed(tail: &[usize], others: &[usize], near: &[usize]) -> Order {
    let (places, width) = (near.len(), tail.len() + 1);
    // Places that differ from `place` on, with the first `taken` of the tail placed before it.
    let mut costs: SmallVec<[usize; 64]> = SmallVec::from_elem(usize::MAX, (places + 1) * width);
    let at = |place: usize, taken: usize| place * width + taken;
    let choices = |costs: &[usize], place: usize, taken: usize| {
        let plus = |cost: usize, differs: bool| cost.saturating_add(usize::from(differs));
        let of_tail = tail.get(taken).map_or(usize::MAX, |&dimension| {
            plus(costs[at(place + 1, taken + 1)], near[place] != dimension)
        });
        let of_others = match place - taken < others.len() {
            true => plus(costs[at(place + 1, taken)], !others.contains(&near[place])),
            false => usize::MAX,
        };
        (of_tail, of_others)
    };
    costs[at(places, tail.len())] = 0;
    for place in (0..places).rev() {
        for taken in 0..=place.min(tail.len()) {
            let (of_tail, of_others) = choices(&costs, place, taken);
            costs[at(place, taken)] = of_tail.min(of_others);
        }
    }
    let mut order = Order::new();
    let mut gaps: Order = Order::new();
    let mut taken = 0;
    for (place, &there) in near.iter().enumerate() {
        let (of_tail, of_others) = choices(&costs, place, taken);
        if of_tail < of_others {
            order.push(tail[taken]);
            taken += 1;
        } else {
            if !others.contains(&there) {
                gaps.push(place);
            }
            order.push(there);
        }
    }
    let homeless: Order = others
        .iter()
        .copied()
        .filter(|other| {
            !order
                .iter()
                .zip(near)
                .any(|(a, b)| a == other && b == other)
        })
        .collect();
    for (place, other) in gaps.into_iter().zip(homeless) {
        order[place] = other;
    }
    order
}

/// How many dimensions stand at another place in one order than in another.
pub(super) fn moved(order: &[usize], near: &[usize]) -> usize {
    order.iter().zip(near).filter(|(a, b)| a != b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(orders: &Orders<'_>) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        orders.for_each(|order, _| all.push(order.to_vec()));
        all
    }

    #[test]
    fn strides_order_what_tiles_do_not_reach() {
        let wanted = [Some(8), Some(1), None, Some(2)];
        let orders = |tiled, others| Orders {
            wanted: &wanted,
            wide: SmallVec::from_slice(&[true, true, false, true]),
            tiled,
            tiles: &[],
            widths: &[3, 2, 1, 4],
            element: 1,
            others,
        };
        assert_eq!(all(&orders(0, Others::MajorEnd)), [[1, 3, 0, 2]]);
        assert_eq!(all(&orders(0, Others::Near(&[2, 1, 3, 0]))), [[2, 1, 3, 0]]);
        assert_eq!(
            all(&orders(1, Others::Near(&[2, 1, 3, 0]))),
            [[2, 1, 3, 0], [1, 2, 3, 0]]
        );
        assert_eq!(
            all(&orders(4, Others::MajorEnd)),
            [[2, 1, 3, 0], [1, 3, 2, 0], [1, 3, 0, 2], [1, 2, 3, 0]]
        );
        let free = Orders {
            wanted: &[None; 4],
            ..orders(4, Others::MajorEnd)
        };
        assert_eq!(all(&free).len(), 24);
    }

    #[test]
    fn padding_of_one_element_goes_anywhere() {
        let wanted = [Some(8), None, Some(1)];
        let orders = Orders {
            wanted: &wanted,
            wide: SmallVec::from_slice(&[true; 3]),
            tiled: 0,
            tiles: &[],
            widths: &[1, 1, 8],
            element: 1,
            others: Others::Near(&[2, 1, 0]),
        };
        assert_eq!(all(&orders), [[2, 0, 1], [2, 1, 0], [1, 2, 0]]);
    }

    #[test]
    fn interspersing_moves_as_few_as_can_be() {
        // Every order of five, and every way to choose the tail of it.
        let mut orders: Vec<Vec<usize>> = vec![vec![]];
        for _ in 0..5 {
            orders = orders
                .iter()
                .flat_map(|order| {
                    (0..5)
                        .filter(|d| !order.contains(d))
                        .map(|d| [order.as_slice(), &[d]].concat())
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        let near = [3, 1, 4, 0, 2];
        for tail in orders.iter().step_by(7) {
            for length in 0..=5 {
                let (tail, others) = tail.split_at(length);
                let found = interspersed(tail, others, &near);
                let fits = |order: &Vec<usize>| {
                    let of_tail: Vec<_> = order.iter().filter(|d| tail.contains(d)).collect();
                    of_tail.iter().copied().eq(tail)
                };
                assert!(fits(&found.to_vec()), "{tail:?} {others:?}: {found:?}");
                let least = orders
                    .iter()
                    .filter(|o| fits(o))
                    .map(|o| moved(o, &near))
                    .min();
                assert_eq!(
                    Some(moved(&found, &near)),
                    least,
                    "{tail:?} {others:?}: {found:?}"
                );
            }
        }
    }
}
