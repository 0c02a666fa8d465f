//! Trees of values.

use minormajor_core::{Shape, ShapeIndex, ShapeTree, TreeError, TupleTree};

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

fn tuple<const N: usize>(value: i32, elements: [TupleTree<i32>; N]) -> TupleTree<i32> {
    TupleTree::tuple(value, elements)
}

fn leaf(value: i32) -> TupleTree<i32> {
    TupleTree::leaf(value)
}

/// (1, (2, 3), 4, ()) with 0, 100 and 200 at the tuples.
fn nested() -> TupleTree<i32> {
    tuple(
        0,
        [
            leaf(1),
            tuple(100, [leaf(2), leaf(3)]),
            leaf(4),
            tuple(200, []),
        ],
    )
}

/// The values with their paths, as text.
fn listed<'a>(values: impl Iterator<Item = (ShapeIndex, &'a i32)>) -> String {
    let values = values.map(|(index, value)| format!("{index}{value}"));
    values.collect::<Vec<_>>().join(" ")
}

fn nodes(tree: &TupleTree<i32>) -> String {
    listed(tree.iter())
}

fn leaves(tree: &TupleTree<i32>) -> String {
    listed(tree.leaves())
}

fn from_leaves<const N: usize>(given: [(&[usize], i32); N], default: i32) -> TupleTree<i32> {
    let given = given.map(|(index, value)| (ShapeIndex::from(index), value));
    TupleTree::from_leaves(given, default).unwrap()
}

/// XLA: TupleTreeTest.SingleLeafConstructor
/// XLA: TupleTreeTest.LeafIteratorsSingleLeaf
/// XLA: TupleTreeTest.MapSingleLeaf
/// XLA: TupleTreeTest.ForEachMutableElementSingleLeaf
#[test]
fn a_single_leaf() {
    let mut tree = leaf(42);
    assert!(tree.is_leaf(&[]) && !tree.is_tuple());
    assert_eq!(tree.element_count(&[]), Ok(0));
    assert_eq!(
        (nodes(&tree), leaves(&tree)),
        ("{}42".into(), "{}42".into())
    );
    for (index, value) in tree.iter_mut() {
        assert!(index.is_empty());
        *value += 1;
    }
    assert_eq!(tree.element(&[]), Ok(&43));
    assert_eq!(tree.map(|value| value + 1), leaf(44));
    tree.leaves_mut().for_each(|(_, value)| *value = 7);
    assert_eq!(tree, leaf(7));
}

/// XLA: TupleTreeTest.EmptyConstructor
/// XLA: TupleTreeTest.DistinguishEmptyTupleFromLeaf
/// XLA: TupleTreeTest.LeafIteratorsEmptyTuple
/// XLA: TupleTreeTest.IsTuple
#[test]
fn the_empty_tuple_is_no_leaf() {
    let empty = TupleTree::<i32>::default();
    for tree in [&empty, &tuple(0, []), &from_leaves([], 0)] {
        assert!(tree.is_tuple() && !tree.is_leaf(&[]));
        assert_eq!(tree.element_count(&[]), Ok(0));
        assert_eq!((nodes(tree), leaves(tree)), ("{}0".into(), String::new()));
        assert_eq!((tree.node_count(), tree.leaf_count()), (1, 0));
    }
    assert_ne!(empty, leaf(0));
    assert!(tuple(0, [leaf(5)]).is_tuple());
    assert!(!leaf(5).is_tuple());
}

/// XLA: TupleTreeTest.SingleLeafMoveConstructor
/// XLA: ShapeTreeTest.ShapeTreeOfNonCopyableType
#[test]
fn values_need_not_be_copyable() {
    struct Owned(i32);
    let mut tree = TupleTree::tuple(Owned(0), [TupleTree::leaf(Owned(42))]);
    assert_eq!(tree.element(&[0]).unwrap().0, 42);
    tree.element_mut(&[0]).unwrap().0 = 7;
    assert_eq!(tree.map(|owned| owned.0), tuple(0, [leaf(7)]));
    let mut tree = ShapeTree::from_fn(&shape("(s8[], s8[], s8[])"), |_, _| None);
    assert!(tree.element(&[2]).unwrap().is_none());
    *tree.element_mut(&[2]).unwrap() = Some(Owned(42));
    assert_eq!(tree.element(&[2]).unwrap().as_ref().unwrap().0, 42);
}

/// XLA: TupleTreeTest.NodeWithValueAndChildren
/// XLA: TupleTreeTest.NodeValueAndChildrenConstructors
/// XLA: TupleTreeTest.FlatInitializerListConstructor
/// XLA: TupleTreeTest.NestedInitializerListConstructor
#[test]
fn tuples_of_trees() {
    let flat = tuple(200, [leaf(1), leaf(2)]);
    assert_eq!(nodes(&flat), "{}200 {0}1 {1}2");
    assert_eq!(leaves(&flat), "{0}1 {1}2");
    assert_eq!(flat.element_count(&[]), Ok(2));
    assert_eq!(flat.element_count(&[0]), Ok(0));
    let tree = nested();
    assert_eq!(nodes(&tree), "{}0 {0}1 {1}100 {1,0}2 {1,1}3 {2}4 {3}200");
    let tuples: Vec<&[usize]> = vec![&[], &[1], &[3]];
    for (index, _) in tree.iter() {
        assert_eq!(tree.is_leaf(&index), !tuples.contains(&index.as_slice()));
    }
    // A vector of trees is as good as a list of them.
    let elements: Vec<_> = (1..4).map(leaf).collect();
    assert_eq!(nodes(&TupleTree::tuple(0, elements)), "{}0 {0}1 {1}2 {2}3");
}

/// XLA: TupleTreeTest.ElementAccess
/// XLA: TupleTreeTest.MutableElementAccess
/// XLA: TupleTreeTest.IsLeaf
/// XLA: TupleTreeTest.IndicesAndValuesConstructor
/// XLA: TupleTreeTest.IndicesAndValuesConstructorWithDefaultValue
#[test]
fn trees_from_their_leaves() {
    let mut tree = from_leaves([(&[0], 10), (&[1, 0], 20), (&[1, 1], 30)], -1);
    assert_eq!(nodes(&tree), "{}-1 {0}10 {1}-1 {1,0}20 {1,1}30");
    assert!(tree.is_leaf(&[0]) && !tree.is_leaf(&[1]) && tree.is_leaf(&[1, 0]));
    *tree.element_mut(&[0]).unwrap() = 100;
    *tree.element_mut(&[1, 1]).unwrap() = 300;
    assert_eq!(leaves(&tree), "{0}100 {1,0}20 {1,1}300");
    // In any order, with gaps, and through several levels at once.
    let tree = from_leaves([(&[3, 1, 1], 9), (&[1], 8), (&[3, 0], 7)], 0);
    assert_eq!(
        nodes(&tree),
        "{}0 {0}0 {1}8 {2}0 {3}0 {3,0}7 {3,1}0 {3,1,0}0 {3,1,1}9"
    );
    assert_eq!(from_leaves([(&[], 5)], 0), leaf(5));
    for conflict in [[&[1][..], &[1]], [&[1], &[1, 0]], [&[], &[0]]] {
        let given = conflict.map(|index| (ShapeIndex::from(index), 1));
        let error = TupleTree::from_leaves(given, 0).unwrap_err();
        let index = conflict[0].into();
        assert_eq!(error, TreeError::Conflict { index });
    }
}

/// XLA: TupleTreeTest.ElementAccessDeathTest
/// XLA: TupleTreeTest.MutableElementAccessDeathTest
/// XLA: TupleTreeTest.ElementAccessIndexErrors
/// XLA: TupleTreeTest.IsLeafInvalidIndex
/// XLA: ShapeTreeTest.InvalidIndexingTuple
/// XLA: ShapeTreeTest.InvalidIndexingNestedTuple
#[test]
fn paths_that_lead_nowhere_are_errors() {
    let mut tree = tuple(0, [leaf(1), tuple(0, [leaf(2), leaf(3)])]);
    for (index, error) in [
        (
            &[5][..],
            "there is nothing at {5}: the path ends behind {}, which is a tuple of 2",
        ),
        (
            &[0, 0],
            "there is nothing at {0,0}: the path ends behind {0}, which is a leaf",
        ),
        (
            &[1, 2, 3],
            "there is nothing at {1,2,3}: the path ends behind {1}, which is a tuple of 2",
        ),
    ] {
        assert_eq!(tree.element(index).unwrap_err().to_string(), error);
        assert!(tree.element_mut(index).is_err());
        assert!(tree.element_count(index).is_err());
        assert!(tree.subtree(index).is_err());
        assert!(!tree.is_leaf(index));
    }
    let tree = ShapeTree::new(&shape("(s8[], s8[], s8[])"), 0);
    assert!(tree.element(&[4]).is_err() && tree.element(&[0, 0]).is_err());
}

/// XLA: TupleTreeTest.CopySubtreeFrom
/// XLA: TupleTreeTest.CopySubtreeFromRoot
/// XLA: TupleTreeTest.CopySubtreeFromOverwriteLeafWithTuple
/// XLA: TupleTreeTest.CopySubtreeFromOverwriteTupleWithLeaf
/// XLA: TupleTreeTest.CopySubtreeFromCreateNodes
#[test]
fn subtrees_replace_what_is_there() {
    let source = tuple(0, [leaf(10), leaf(20)]);
    let copied = |mut tree: TupleTree<i32>, source_index: &[usize], index: &[usize]| {
        tree.copy_subtree_from(&source, source_index, index)
            .unwrap();
        tree
    };
    assert_eq!(copied(leaf(5), &[], &[]), source);
    assert_eq!(copied(tuple(0, [leaf(1), leaf(2)]), &[0], &[]), leaf(10));
    assert_eq!(copied(leaf(0), &[1], &[]), leaf(20));
    // A leaf on the way becomes a tuple.
    assert_eq!(
        nodes(&copied(leaf(7), &[], &[1])),
        "{}7 {0}7 {1}0 {1,0}10 {1,1}20"
    );
    assert_eq!(nodes(&copied(leaf(7), &[1], &[0])), "{}7 {0}20");
    assert_eq!(
        nodes(&copied(leaf(5), &[0], &[1, 0])),
        "{}5 {0}5 {1}5 {1,0}10"
    );
    // What stands beside the path stays.
    assert_eq!(
        nodes(&copied(nested(), &[], &[1, 0])),
        "{}0 {0}1 {1}100 {1,0}0 {1,0,0}10 {1,0,1}20 {1,1}3 {2}4 {3}200"
    );
    assert_eq!(
        nodes(&copied(nested(), &[0], &[3, 1])),
        "{}0 {0}1 {1}100 {1,0}2 {1,1}3 {2}4 {3}200 {3,0}200 {3,1}10"
    );
    assert!(leaf(0).copy_subtree_from(&source, &[2], &[]).is_err());
}

/// XLA: TupleTreeTest.CopyCompatibleSubtreeFromSuccess
#[test]
fn values_are_copied_between_trees_that_branch_alike() {
    let source = tuple(100, [leaf(1), tuple(200, [leaf(2)])]);
    let before = tuple(-1, [leaf(-2), tuple(-3, [leaf(-4)])]);
    let copied = |index: &[usize]| {
        let mut tree = before.clone();
        tree.copy_compatible_subtree_from(&source, index, index)
            .unwrap();
        nodes(&tree)
    };
    assert_eq!(copied(&[]), nodes(&source));
    assert_eq!(copied(&[1]), "{}-1 {0}-2 {1}200 {1,0}2");
    assert_eq!(copied(&[0]), "{}-1 {0}1 {1}-3 {1,0}-4");
}

/// XLA: TupleTreeTest.CopyCompatibleSubtreeFromFailure
/// XLA: TupleTreeTest.CopyCompatibleSubtreeFromIndexErrors
#[test]
fn trees_that_branch_differently_are_errors() {
    let pair = tuple(100, [leaf(1), leaf(2)]);
    let inner = tuple(100, [leaf(1), tuple(200, [leaf(2)])]);
    for (target, source, at) in [
        (
            tuple(-1, [leaf(-2)]),
            &pair,
            "{} is a tuple of 2; expected a tuple of 1",
        ),
        (leaf(-1), &pair, "{} is a tuple of 2; expected a leaf"),
        (
            tuple(-1, [leaf(-2)]),
            &leaf(1),
            "{} is a leaf; expected a tuple of 1",
        ),
        (pair.clone(), &inner, "{1} is a tuple of 1; expected a leaf"),
    ] {
        let mut copy = target.clone();
        let error = copy.copy_compatible_subtree_from(source, &[], &[]);
        let error = error.unwrap_err().to_string();
        assert_eq!(error, format!("the source at {at}, as the target is"));
        assert_eq!(copy, target);
    }
    let mut tree = pair.clone();
    assert!(tree.copy_compatible_subtree_from(&pair, &[5], &[]).is_err());
    assert!(tree.copy_compatible_subtree_from(&pair, &[], &[5]).is_err());
}

/// XLA: TupleTreeTest.SubTree
/// XLA: TupleTreeTest.ToNode
#[test]
fn subtrees() {
    let tree = nested();
    assert_eq!(tree.subtree(&[]).unwrap(), tree);
    assert_eq!(tree.subtree(&[1]).unwrap(), tuple(100, [leaf(2), leaf(3)]));
    assert_eq!(nodes(&tree.subtree(&[1]).unwrap()), "{}100 {0}2 {1}3");
    assert_eq!(tree.subtree(&[1, 1]).unwrap(), leaf(3));
    assert_eq!(tree.subtree(&[3]).unwrap(), tuple(200, []));
    assert!(tree.subtree(&[4]).is_err() && tree.subtree(&[0, 0]).is_err());
}

/// XLA: TupleTreeTest.ForEachElement
/// XLA: TupleTreeTest.ForEachMutableElement
/// XLA: TupleTreeTest.ForEachElementWithStatus
/// XLA: TupleTreeTest.Iterators
/// XLA: TupleTreeTest.ConstIterators
/// XLA: TupleTreeTest.LeafIterators
#[test]
fn values_in_order() {
    let mut tree = nested();
    for (offset, (_, value)) in tree.iter_mut().enumerate() {
        *value += 1000 * offset as i32;
    }
    assert_eq!(
        nodes(&tree),
        "{}0 {0}1001 {1}2100 {1,0}3002 {1,1}4003 {2}5004 {3}6200"
    );
    tree.leaves_mut().for_each(|(_, value)| *value = -*value);
    assert_eq!(leaves(&tree), "{0}-1001 {1,0}-3002 {1,1}-4003 {2}-5004");
    assert_eq!(tree.element(&[3]), Ok(&6200));
    assert_eq!(
        listed(tree.iter_post_order()),
        "{0}-1001 {1,0}-3002 {1,1}-4003 {1}2100 {2}-5004 {3}6200 {}0"
    );
    // A loop ends where it fails.
    let mut seen = 0;
    let result = tree.iter().try_for_each(|(index, _)| {
        seen += 1;
        if index.as_slice() == [1, 0] {
            Err("stop")
        } else {
            Ok(())
        }
    });
    assert_eq!((result, seen), (Err("stop"), 4));
}

/// XLA: TupleTreeTest.Equality
#[test]
fn equal_trees_have_equal_values_at_equal_paths() {
    let tree = from_leaves([(&[0], 10), (&[1, 0], 20)], 0);
    assert_eq!(tree, from_leaves([(&[1, 0], 20), (&[0], 10)], 0));
    assert_ne!(tree, from_leaves([(&[0], 10), (&[1, 1], 20)], 0));
    assert_ne!(tree, from_leaves([(&[0], 10), (&[1, 0], 21)], 0));
    assert_ne!(tree, leaf(10));
}

/// XLA: TupleTreeTest.Map
/// XLA: TupleTreeTest.MapWithStatusSuccess
/// XLA: TupleTreeTest.MapWithStatusFailure
#[test]
fn mapped_trees() {
    let tree = nested();
    let doubled = tree.map(|value| 2 * value);
    assert_eq!(nodes(&doubled), "{}0 {0}2 {1}200 {1,0}4 {1,1}6 {2}8 {3}400");
    assert_eq!(nodes(&tree), nodes(&nested()));
    let checked = |limit: i32| {
        tree.try_map(|&value| match value > limit {
            true => Err(value),
            false => Ok(2 * value),
        })
    };
    assert_eq!(checked(200), Ok(doubled));
    assert_eq!(checked(99), Err(100));
}

#[test]
fn deep_trees_use_no_stack() {
    let run = || {
        let mut deep = Shape::token();
        let mut tree = TupleTree::leaf(0);
        for depth in 0..1000 {
            deep = Shape::tuple([deep]).unwrap();
            tree = TupleTree::tuple(depth, [tree]);
        }
        let of_shape = ShapeTree::from_fn(&deep, |index, _| index.len());
        assert_eq!((of_shape.node_count(), tree.node_count()), (1001, 1001));
        let path = vec![0; 1000];
        assert_eq!(of_shape.element(&path), Ok(&1000));
        assert_eq!(tree.subtree(&path[1..]).unwrap().node_count(), 2);
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    thread.spawn(run).unwrap().join().unwrap();
}
