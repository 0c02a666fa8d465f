//! From one order of dimensions to another, by exchanges of neighbours.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use smallvec::SmallVec;

use super::exchange::{Exchanges, Matrix, stage_cost, swap_cost};
use super::step::Step;
use super::transpose::{Order, Transpose};
use crate::plan::Loop;

/// Something that brings dimensions into another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Hop {
    /// Dimensions `.0..1` and `.1..2` change places.
    Exchange(usize, usize, usize),
    /// Dimensions `.0` and `.1`, of the same extent, change places, over those between.
    Mirror(usize, usize),
    /// All from this one on are brought into the order in which they will be at the end, in
    /// scratch.
    Sort(usize),
}

/// With more dimensions than this a good way is taken, not the best.
const SEARCHED: usize = 6;

/// The steps of a transpose, for so many arrays that lie one behind another.
pub(super) fn steps(transpose: &Transpose, exchanges: &mut Exchanges, batches: i64) -> Vec<Step> {
    let (_, inner) = transpose.fixed();
    let places = transpose.order.len() - inner;
    let mut route = Route {
        transpose,
        exchanges,
        places,
    };
    let start: Order = (0..transpose.order.len()).collect();
    let hops = if places <= SEARCHED {
        route.cheapest(&start)
    } else {
        route.straight(&start)
    };
    let mut steps = Vec::new();
    let mut order = start;
    for hop in hops {
        route.emit(&order, hop, batches, &mut steps);
        order = route.after(&order, hop);
    }
    steps
}

struct Route<'a> {
    transpose: &'a Transpose,
    exchanges: &'a mut Exchanges,
    /// Dimensions that may move: those behind them stay, as runs.
    places: usize,
}

impl Route<'_> {
    fn extent(&self, order: &[usize]) -> i64 {
        order.iter().map(|&d| self.transpose.extents[d]).product()
    }

    /// Where a dimension is at the end.
    fn goal(&self, dimension: usize) -> usize {
        let order = &self.transpose.order;
        order.iter().position(|&d| d == dimension).unwrap_or(0)
    }

    fn hops(&self, order: &Order) -> Vec<Hop> {
        let n = self.places;
        let mut hops = Vec::new();
        for a in 0..n {
            for b in a + 1..n {
                for c in b + 1..=n {
                    hops.push(Hop::Exchange(a, b, c));
                }
                let same = self.extent(&order[a..=a]) == self.extent(&order[b..=b]);
                if same && b > a + 1 {
                    hops.push(Hop::Mirror(a, b));
                }
            }
            if self.extent(&order[a..]) <= self.exchanges.scratch() {
                hops.push(Hop::Sort(a));
            }
        }
        hops
    }

    fn after(&self, order: &Order, hop: Hop) -> Order {
        let mut after = order.clone();
        match hop {
            Hop::Exchange(a, b, c) => after[a..c].rotate_left(b - a),
            Hop::Mirror(a, b) => after.swap(a, b),
            Hop::Sort(a) => after[a..].sort_by_key(|&d| self.goal(d)),
        }
        after
    }

    fn cost(&mut self, order: &Order, hop: Hop) -> f64 {
        match hop {
            Hop::Exchange(a, b, c) => {
                let matrix = self.matrix(order, a, b, c);
                self.exchanges.cost(matrix)
            }
            Hop::Mirror(_, b) => swap_cost(self.extent(&order[b + 1..])),
            Hop::Sort(a) => stage_cost(self.extent(&order[a..])),
        }
    }

    fn matrix(&self, order: &Order, a: usize, b: usize, c: usize) -> Matrix {
        Matrix {
            rows: self.extent(&order[a..b]),
            columns: self.extent(&order[b..c]),
            block: self.extent(&order[c..]),
        }
    }

    /// The cheapest hops, by Dijkstra's search over all orders.
    fn cheapest(&mut self, start: &Order) -> Vec<Hop> {
        // Costs are small positive numbers: as integers they can be sorted.
        let scaled = |cost: f64| (cost * 1e6) as u64;
        let mut reached: HashMap<Order, (u64, Option<(Order, Hop)>)> = HashMap::new();
        let mut open = BinaryHeap::from([Reverse((0, start.clone()))]);
        reached.insert(start.clone(), (0, None));
        while let Some(Reverse((cost, order))) = open.pop() {
            if order == self.transpose.order {
                break;
            }
            if reached[&order].0 < cost {
                continue;
            }
            for hop in self.hops(&order) {
                let after = self.after(&order, hop);
                // Every hop costs a little, so that of equal ways the shorter one is taken.
                let cost = cost + scaled(self.cost(&order, hop)) + 1;
                if reached.get(&after).is_none_or(|known| cost < known.0) {
                    reached.insert(after.clone(), (cost, Some((order.clone(), hop))));
                    open.push(Reverse((cost, after)));
                }
            }
        }
        let mut hops = Vec::new();
        let mut at = &self.transpose.order;
        while let Some((_, Some((before, hop)))) = reached.get(at) {
            hops.push(*hop);
            at = before;
        }
        hops.reverse();
        hops
    }

    /// Hops that bring one dimension after another to its place, with those that follow it
    /// already; what fits scratch is sorted there.
    fn straight(&self, start: &Order) -> Vec<Hop> {
        let goal = &self.transpose.order;
        let mut order = start.clone();
        let mut hops = Vec::new();
        let mut place = 0;
        while place < goal.len() {
            let hop = if order[place] == goal[place] {
                place += 1;
                continue;
            } else if self.extent(&order[place..]) <= self.exchanges.scratch() {
                Hop::Sort(place)
            } else {
                let from = order
                    .iter()
                    .position(|&d| d == goal[place])
                    .unwrap_or(place);
                let together = std::iter::zip(&order[from..], &goal[place..])
                    .take_while(|(a, b)| a == b)
                    .count();
                Hop::Exchange(place, from, from + together)
            };
            order = self.after(&order, hop);
            hops.push(hop);
        }
        hops
    }

    fn emit(&mut self, order: &Order, hop: Hop, batches: i64, steps: &mut Vec<Step>) {
        match hop {
            Hop::Exchange(a, b, c) => {
                let matrix = self.matrix(order, a, b, c);
                let batches = batches * self.extent(&order[..a]);
                self.exchanges.steps(matrix, batches, 0, steps);
            }
            Hop::Mirror(a, b) => steps.push(Step::Swap {
                offset: 0,
                batches: batches * self.extent(&order[..a]),
                side: self.extent(&order[a..=a]),
                middle: self.extent(&order[a + 1..b]),
                block: self.extent(&order[b + 1..]),
            }),
            Hop::Sort(a) => {
                let after = self.after(order, hop);
                let step = |order: &Order, d: usize| {
                    let at = order.iter().position(|&other| other == d).unwrap_or(0);
                    self.extent(&order[at + 1..])
                };
                let loops: SmallVec<[Loop; 6]> = order[a..]
                    .iter()
                    .map(|&d| Loop {
                        extent: self.transpose.extents[d],
                        source: step(order, d),
                        destination: step(&after, d),
                    })
                    .collect();
                let batches = batches * self.extent(&order[..a]);
                let batch = self.extent(&order[a..]);
                steps.push(self.exchanges.stage(0, batches, batch, loops));
            }
        }
    }
}
