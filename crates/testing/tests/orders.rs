//! The orders that allocate least, against all orders there are.

use minormajor_core::ArrayShape;
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;

/// All permutations of `0..rank`.
fn permutations(rank: usize) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    for dimension in 0..rank as i64 {
        all = all
            .iter()
            .flat_map(|order: &Vec<i64>| {
                (0..=order.len()).map(move |place| {
                    let mut order = order.clone();
                    order.insert(place, dimension);
                    order
                })
            })
            .collect();
    }
    all
}

fn in_order(shape: &ArrayShape, order: &[i64]) -> ArrayShape {
    let layout = shape.layout().unwrap();
    let layout = layout.with_minor_to_major(order.iter().copied()).unwrap();
    shape.with_layout(layout).unwrap()
}

/// Bytes: orders of packed elements that fill the last one to another end are as good.
fn allocated_bytes(shape: &ArrayShape) -> i64 {
    let bits = oracle::allocated_elements(shape) * shape.element_bits();
    (bits + 7) / 8
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_order_allocates_less(shape in strategy::array()) {
        let orders = permutations(shape.rank());
        let least = orders.iter().map(|order| allocated_bytes(&in_order(&shape, order))).min().unwrap();
        let best = shape.least_allocating_orders().unwrap();
        prop_assert!(!best.is_empty());
        for found in &best {
            prop_assert_eq!(allocated_bytes(found), least, "{}", found);
            let same = in_order(found, &shape.layout().unwrap().minor_to_major().iter().map(|&d| d as i64).collect::<Vec<_>>());
            prop_assert_eq!(&same, &shape);
        }
        if allocated_bytes(&shape) == least {
            prop_assert_eq!(best, vec![shape]);
        }
    }
}
