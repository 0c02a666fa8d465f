//! Values for every part of a shape.

use minormajor_core::{Shape, ShapeIndex, ShapeTree, TreeError, TupleTree};

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

/// The values with their paths, as text.
fn nodes(tree: &TupleTree<i32>) -> String {
    let values = tree.iter().map(|(index, value)| format!("{index}{value}"));
    values.collect::<Vec<_>>().join(" ")
}

/// (a, (c, d), ((e, f), g))
fn nested_shape() -> Shape {
    shape("(f32[42], (f32[42], f32[42]), ((f32[42], f32[42]), f32[42]))")
}

/// XLA: ShapeTreeTest.DefaultConstructor
#[test]
fn the_default_is_of_the_empty_tuple() {
    let tree = ShapeTree::<i32>::default();
    assert!(tree.shape().is_empty_tuple());
    assert_eq!((tree.node_count(), tree.leaf_count()), (1, 0));
    assert!(!ShapeTree::<bool>::default().element(&[]).unwrap());
}

/// XLA: ShapeTreeTest.ShapeConstructor
/// XLA: ShapeTreeTest.InitValueConstructor
/// XLA: ShapeTreeTest.ConstructWithPointerToShape
#[test]
fn a_value_for_every_part() {
    for (shape, count) in [
        (shape("f32[42]"), 1),
        (shape("(f32[42], f32[42], f32[42])"), 4),
        (nested_shape(), 10),
    ] {
        let mut tree = ShapeTree::new(&shape, 42);
        assert_eq!(*tree.shape(), shape);
        assert_eq!(tree.node_count(), count);
        assert!(tree.iter().all(|(_, &value)| value == 42));
        for (number, (_, value)) in tree.iter_mut().enumerate() {
            *value = number;
        }
        let values: Vec<usize> = tree.iter().map(|(_, &value)| value).collect();
        assert_eq!(values, (0..count).collect::<Vec<_>>());
    }
}

/// XLA: ShapeTreeTest.EmptyTupleMustHaveNoLeaves
/// XLA: ShapeTreeTest.NestedEmptyTuple
#[test]
fn empty_tuples_are_no_leaves() {
    for (text, count) in [("()", 0), ("((), f32[42])", 1), ("(((), ()), ())", 0)] {
        let shape = shape(text);
        let tree = ShapeTree::new(&shape, 0);
        assert_eq!((tree.leaf_count(), shape.leaf_count()), (count, count));
    }
}

/// XLA: ShapeTreeTest.ArrayShape
/// XLA: ShapeTreeTest.TupleShape
/// XLA: ShapeTreeTest.NestedTupleShape
/// XLA: ShapeTreeTest.CopyWithPointerToShape
/// XLA: ShapeTreeTest.CopyAssignWithPointerToShape
#[test]
fn values_are_set_and_copies_are_their_own() {
    for (shape, indices) in [
        (shape("f32[42]"), vec![&[][..]]),
        (shape("(f32[42], s8[], ())"), vec![&[], &[0], &[1], &[2]]),
        (nested_shape(), vec![&[0], &[1, 1], &[2, 0, 1]]),
    ] {
        let mut tree = ShapeTree::new(&shape, 0);
        for (value, index) in indices.iter().enumerate() {
            *tree.element_mut(index).unwrap() = 10 + value;
        }
        let mut copy = tree.clone();
        assert_eq!((copy.shape(), &copy), (tree.shape(), &tree));
        copy.iter_mut().for_each(|(_, value)| *value = 1);
        for (value, index) in indices.iter().enumerate() {
            assert_eq!(tree.element(index), Ok(&(10 + value)));
            assert_eq!(copy.element(index), Ok(&1));
        }
        let sum: usize = tree.iter().map(|(_, value)| value).sum();
        assert_eq!(sum, (0..indices.len()).map(|value| 10 + value).sum());
        copy = tree.clone();
        assert_eq!(copy, tree);
    }
}

/// XLA: ShapeTreeTest.CopySubtreeFromArrayShape
/// XLA: ShapeTreeTest.FullCopySubtreeFromTupleShape
/// XLA: ShapeTreeTest.SingleElementCopySubtreeFromTupleShape
/// XLA: ShapeTreeTest.CopySubtreeIntoNestedShape
/// XLA: ShapeTreeTest.CopySubtreeFromNestedShape
#[test]
fn subtrees_of_compatible_shapes_are_copied() {
    let numbered = |shape: &Shape| {
        let mut next = 10;
        ShapeTree::from_fn(shape, |_, _| {
            next += 1;
            next
        })
    };
    let array = shape("f32[42]");
    let pair = shape("(f32[42], f32[42])");
    for (source, from, target, to, expected) in [
        (&array, &[][..], &array, &[][..], "{}11"),
        (&pair, &[], &pair, &[], "{}11 {0}12 {1}13"),
        (&pair, &[0], &pair, &[1], "{}0 {0}0 {1}12"),
        (
            &pair,
            &[],
            &nested_shape(),
            &[2, 0],
            "{}0 {0}0 {1}0 {1,0}0 {1,1}0 {2}0 {2,0}11 {2,0,0}12 {2,0,1}13 {2,1}0",
        ),
        (&nested_shape(), &[1], &pair, &[], "{}13 {0}14 {1}15"),
    ] {
        let mut tree = ShapeTree::new(target, 0);
        tree.copy_subtree_from(&numbered(source), from, to).unwrap();
        assert_eq!(nodes(&tree), expected);
    }
    // The same branches are not enough, other layouts are no hindrance.
    let mut tree = ShapeTree::new(&array, 0);
    let error = tree.copy_subtree_from(&numbered(&shape("f32[43]")), &[], &[]);
    assert!(matches!(error, Err(TreeError::Incompatible { .. })));
    let tiled = numbered(&shape("f32[42]{0:T(8)}"));
    tree.copy_subtree_from(&tiled, &[], &[]).unwrap();
    assert!(tree.copy_subtree_from(&tiled, &[0], &[]).is_err());
}

/// XLA: ShapeTreeTest.OperatorEquals
#[test]
fn equal_shape_trees_have_equal_values() {
    let tree = |values: [i32; 4]| {
        let mut values = values.into_iter();
        let shape = shape("(f32[42], f32[42], f32[42])");
        ShapeTree::from_fn(&shape, |_, _| values.next().unwrap())
    };
    assert_eq!(tree([10, 42, 11, 0]), tree([10, 42, 11, 0]));
    assert_ne!(tree([10, 42, 11, 0]), tree([10, 11, 12, 0]));
    let array = shape("f32[42]");
    assert_ne!(ShapeTree::new(&array, 123), ShapeTree::new(&array, 42));
    assert_ne!(
        ShapeTree::new(&array, 1),
        ShapeTree::new(&shape("f32[3]"), 1)
    );
}

/// XLA: ShapeTreeTest.IterateSimple
/// XLA: ShapeTreeTest.ConstIterate
/// XLA: ShapeTreeTest.IterateAndMutate
/// XLA: ShapeTreeTest.Find
/// XLA: ShapeTreeTest.ConstFind
#[test]
fn iterating_and_changing() {
    let mut tree = ShapeTree::new(&nested_shape(), 42);
    assert_eq!(tree.iter().count(), 10);
    let (index, value) = tree.iter_mut().nth(4).unwrap();
    assert_eq!(index.as_slice(), [1, 1]);
    *value = 98;
    *tree.iter_mut().next().unwrap().1 = 78;
    assert_eq!(tree.element(&[]), Ok(&78));
    assert_eq!(tree.element(&[1, 1]), Ok(&98));
    assert_eq!(tree.element(&[1, 0]), Ok(&42));
    assert_eq!(tree.iter().filter(|&(_, &value)| value == 42).count(), 8);
}

/// XLA: ShapeTreeTest.IterateOrder
/// XLA: ShapeTreeTest.ReverseIterateOrder
/// XLA: ShapeTreeTest.IterateOrderLeaves
/// XLA: ShapeTreeTest.ReverseIterateOrderLeaves
#[test]
fn the_order_of_iteration() {
    let tree = ShapeTree::new(&nested_shape(), ());
    let paths = |indices: &mut dyn Iterator<Item = ShapeIndex>| {
        let paths = indices.map(|index| index.to_string());
        paths.collect::<Vec<_>>().join(" ")
    };
    let order = "{} {0} {1} {1,0} {1,1} {2} {2,0} {2,0,0} {2,0,1} {2,1}";
    let leaves = "{0} {1,0} {1,1} {2,0,0} {2,0,1} {2,1}";
    let reversed = |text: &str| text.split(' ').rev().collect::<Vec<_>>().join(" ");
    assert_eq!(paths(&mut tree.iter().map(|(index, _)| index)), order);
    assert_eq!(
        paths(&mut tree.iter().rev().map(|(index, _)| index)),
        reversed(order)
    );
    assert_eq!(paths(&mut tree.leaves().map(|(index, _)| index)), leaves);
    assert_eq!(
        paths(&mut tree.leaves().rev().map(|(index, _)| index)),
        reversed(leaves)
    );
    // As the shape itself lists them.
    let shape = nested_shape();
    assert_eq!(paths(&mut shape.subshapes().map(|(index, _)| index)), order);
    let post: Vec<_> = shape
        .subshapes_post_order()
        .map(|(index, _)| index)
        .collect();
    let of_tree: Vec<_> = tree.iter_post_order().map(|(index, _)| index).collect();
    assert_eq!(post, of_tree);
}

#[test]
fn shape_trees_are_mapped_cut_and_given_other_shapes() {
    let shape = nested_shape();
    let tree = ShapeTree::from_fn(&shape, |index, _| index.len());
    let doubled = tree.map(|depth| 2 * depth);
    assert_eq!(doubled.element(&[2, 0, 1]), Ok(&6));
    assert_eq!(
        tree.try_map(|&depth| if depth > 2 { Err(depth) } else { Ok(()) }),
        Err(3)
    );
    let inner = tree.sub_shape_tree(&[2, 0]).unwrap();
    assert_eq!(inner.shape(), shape.subshape(&[2, 0]).unwrap());
    assert_eq!(inner.element(&[1]), Ok(&3));
    assert!(tree.sub_shape_tree(&[3]).is_err());
    let bare = shape.without_layout();
    assert_eq!(*tree.clone().with_shape(&bare).unwrap().shape(), bare);
    assert!(tree.with_shape(&Shape::nil()).is_err());
}
