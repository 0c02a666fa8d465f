//! Indices one after the other.

use minormajor_core::{ArrayShape, IndexSpace, Permutation, Shape, ShapeError};

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

fn space(text: &str) -> IndexSpace {
    IndexSpace::new(&array(text)).unwrap()
}

/// XLA: ShapeUtilTest.ForEachIndex
#[test]
fn every_index_comes_once() {
    for (text, count) in [
        ("f32[]", 1),
        ("f32[0]", 0),
        ("f32[16]", 16),
        ("f32[3,0]", 0),
        ("f32[0,2]", 0),
        ("f32[4,16]", 64),
        ("f32[6,11,17]", 1122),
        ("f32[6,11,5,17]", 5610),
        ("f32[6,<=11]{0,1:T(8,128)}", 66),
    ] {
        let space = space(text);
        let mut seen = 0;
        space.for_each(|index| {
            assert!(array(text).index_in_bounds(index));
            seen += 1;
        });
        assert_eq!((seen, space.len()), (count, count), "{text}");
        assert_eq!(space.is_empty(), count == 0);
        let indices: std::collections::BTreeSet<_> = space.iter().collect();
        assert_eq!(indices.len() as i64, count);
    }
}

/// XLA: ShapeUtilTest.ForEachIndexWithStatus
#[test]
fn an_error_ends_the_loop() {
    let mut seen = 0;
    let result = space("f32[10,10]").try_for_each(|_| {
        seen += 1;
        if seen == 5 {
            Err("no more than 5")
        } else {
            Ok(())
        }
    });
    assert_eq!((result, seen), (Err("no more than 5"), 5));
}

#[test]
fn the_order_is_the_layouts_or_any() {
    let text = |space: &IndexSpace| {
        let indices = space
            .iter()
            .map(|index| format!("{}{}{}", index[0], index[1], index[2]));
        indices.collect::<Vec<_>>().join(" ")
    };
    let space = space("f32[2,1,3]{0,2,1:T(2)}");
    assert_eq!(text(&space), "000 100 001 101 002 102");
    let logical = space.clone().in_logical_order();
    assert_eq!(text(&logical), "000 001 002 100 101 102");
    let order = Permutation::new([1, 2, 0]).unwrap();
    assert_eq!(
        text(&space.clone().in_order(order).unwrap()),
        text(&logical)
    );
    assert!(space.in_order(Permutation::identity(2)).is_err());
    let bare = array("f32[2,2]{0,1}").without_layout();
    let indices: Vec<_> = IndexSpace::new(&bare).unwrap().iter().collect();
    assert_eq!(indices, [[0, 0], [0, 1], [1, 0], [1, 1]]);
}

#[test]
fn boxes_steps_and_pinned_dimensions() {
    let array = array("f32[4,9]");
    for (base, count, step, expected) in [
        ([1, 3], [3, 0], [2, 1], vec![[1, 3], [3, 3]]),
        ([3, 8], [0, 0], [0, 0], vec![[3, 8]]),
        ([0, 0], [1, 9], [1, 4], vec![[0, 0], [0, 4], [0, 8]]),
        ([2, 7], [2, 2], [5, i64::MAX], vec![[2, 7]]),
    ] {
        let space = IndexSpace::boxed(&array, &base, &count, &step).unwrap();
        assert_eq!(space.iter().collect::<Vec<_>>(), expected);
        assert_eq!(space.len(), expected.len() as i64);
    }
    let boxed = |base: [i64; 2], count: [i64; 2], step: [i64; 2]| {
        IndexSpace::boxed(&array, &base, &count, &step).unwrap_err()
    };
    let range = |dimension, base, count, size| ShapeError::Range {
        dimension,
        base,
        count,
        size,
    };
    assert_eq!(boxed([0, 1], [4, 9], [1, 1]), range(1, 1, 9, 9));
    assert_eq!(boxed([-1, 0], [1, 1], [1, 1]), range(0, -1, 1, 4));
    assert_eq!(boxed([0, 9], [1, 0], [1, 1]), range(1, 9, 1, 9));
    assert_eq!(boxed([0, 0], [1, -1], [1, 1]), range(1, 0, -1, 9));
    assert_eq!(
        boxed([0, i64::MAX], [1, 2], [1, 1]),
        range(1, i64::MAX, 2, 9)
    );
    let step = ShapeError::Step {
        dimension: 0,
        step: 0,
    };
    assert_eq!(boxed([0, 0], [4, 9], [0, 1]), step);
    let short = IndexSpace::boxed(&array, &[0], &[4, 9], &[1, 1]);
    assert!(matches!(short, Err(ShapeError::Rank { .. })));
    assert!(IndexSpace::new(&self::array("f32[?]")).is_err());
    // Where an array has no indices, none is pinned.
    let empty = self::array("f32[0,2]");
    let space = IndexSpace::boxed(&empty, &[0, 0], &[0, 2], &[1, 1]).unwrap();
    assert_eq!((space.len(), space.iter().next()), (0, None));
}

#[test]
fn parts_hold_each_index_once_in_order() {
    let spaces = [
        space("f32[5,3,2]{2,0,1}"),
        space("f32[7,4]")
            .step(0, 3)
            .unwrap()
            .range(1, 1, 3)
            .unwrap(),
        space("f32[9]").range(0, 2, 6).unwrap().step(0, 4).unwrap(),
        space("f32[6,6]").pinned(0, 4).unwrap(),
        space("f32[3,4]").in_logical_order(),
        space("f32[]"),
        space("f32[0,3]"),
    ];
    for space in spaces {
        let all: Vec<_> = space.iter().collect();
        for target in 0..20 {
            let parts = space.partition(target);
            assert!((1..=target.max(1)).contains(&parts.len()));
            assert_eq!(parts.iter().map(IndexSpace::len).sum::<i64>(), space.len());
            let indices = parts.iter().flat_map(|part| part.iter());
            let mut found: Vec<_> = indices.collect();
            // Where one dimension alone is cut, the parts follow each other.
            if parts.len() <= 2 {
                assert_eq!(found, all);
            }
            found.sort();
            let mut sorted = all.clone();
            sorted.sort();
            assert_eq!(found, sorted, "{target}");
        }
    }
}

/// XLA: RandomShapePartitionIteratorTest.RandomShapeAndPartitions
#[test]
fn parts_cover_every_dimension() {
    use minormajor_core::ShapePartition;
    // All shapes of rank 3 and sizes up to 4, all counts.
    for number in 0..64 {
        let sizes = [number % 4 + 1, number / 4 % 4 + 1, number / 16 + 1];
        let array = ArrayShape::new(minormajor_core::ElementType::F32, sizes).unwrap();
        for counts in 0..sizes[0] * sizes[1] {
            let counts = [counts % sizes[0] + 1, counts / sizes[0] + 1];
            let partition = ShapePartition::with_counts(&array, counts).unwrap();
            let mut covered = vec![0; (sizes[0] * sizes[1]) as usize];
            for part in 0..partition.len() {
                let part = partition.part(part).unwrap();
                for i in part[0].0..part[0].0 + part[0].1 {
                    for j in part[1].0..part[1].0 + part[1].1 {
                        covered[(i * sizes[1] + j) as usize] += 1;
                    }
                }
            }
            assert!(
                covered.iter().all(|&times| times == 1),
                "{sizes:?} {counts:?}"
            );
        }
    }
}
