//! Tuples taken apart and put together.

use minormajor_core::{ElementType, Shape, ShapeError, ShapeIndex};

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

/// (a, (b, c), ((d, e), f))
fn nested() -> Shape {
    shape("(f32[42,42,123], (f32[1], f32[2]), ((f32[3], f32[4]), f32[5]))")
}

/// XLA: ShapeUtilTest.NilShape
/// XLA: ShapeUtilTest.MakeMaybeTupleShape
#[test]
fn tuples_of_nothing_and_of_one() {
    assert!(Shape::nil().is_empty_tuple());
    assert_eq!(Shape::nil(), shape("()"));
    for text in [
        "f32[1,2,3]",
        "f32[0,1]",
        "(s32[])",
        "(f32[0])",
        "(())",
        "token[]",
    ] {
        assert!(!shape(text).is_empty_tuple(), "{text}");
    }
    for (elements, expected) in [
        (vec!["f32[3,2]"], "f32[3,2]"),
        (vec![], "()"),
        (vec!["f32[3]", "token[]"], "(f32[3], token[])"),
    ] {
        let elements = elements.into_iter().map(shape);
        assert_eq!(Shape::maybe_tuple(elements).unwrap(), shape(expected));
    }
}

/// XLA: ShapeUtilTest.NestedTuple
/// XLA: ShapeUtilTest.NestedTupleWithPtrs
#[test]
fn nested_tuples() {
    for (text, expected) in [
        ("()", false),
        ("(s32[])", false),
        ("(())", true),
        ("(s32[], s32[])", false),
        ("(s32[], ())", true),
        ("((), s32[])", true),
        ("((), ())", true),
        ("s32[]", false),
    ] {
        assert_eq!(shape(text).is_nested_tuple(), expected, "{text}");
    }
}

/// XLA: ShapeUtilTest.HasPrimitiveType
#[test]
fn element_types_of_tuples() {
    for (text, element_type, expected) in [
        ("s32[]", ElementType::S32, true),
        ("s32[]", ElementType::S16, false),
        ("s32[0]", ElementType::S32, true),
        ("()", ElementType::S32, false),
        ("(s32[], s32[])", ElementType::S32, true),
        ("(s32[], (s16[]))", ElementType::S16, true),
        ("(token[], b(f32[3]))", ElementType::F32, true),
        ("(token[], b(f32[3]))", ElementType::S32, false),
    ] {
        assert_eq!(
            shape(text).has_element_type(element_type),
            expected,
            "{text}"
        );
    }
}

/// XLA: ShapeTest.AreAllLeavesIntegers
#[test]
fn all_leaves_are_integers() {
    for (text, expected) in [
        ("s32[3]", true),
        ("u4[]", true),
        ("f32[]", false),
        ("pred[2]", false),
        ("()", true),
        ("token[]", false),
        ("opaque[]", false),
        ("(s8[], (u64[2], ()))", true),
        ("(s8[], (u64[2], f16[]))", false),
        ("b(s32[2])", true),
    ] {
        assert_eq!(shape(text).are_all_leaves_integers(), expected, "{text}");
    }
}

/// XLA: ShapeTest.IsStatic
/// XLA: ShapeTest.IsDynamic
/// XLA: ShapeTest.IsDynamicDimension
/// XLA: ShapeTest.IsStaticDimension
#[test]
fn static_and_dynamic_shapes() {
    for (text, bounded, unbounded) in [
        ("opaque[]", false, false),
        ("token[]", false, false),
        ("u32[1,2]", false, false),
        ("((opaque[], f32[]), u32[1,2], token[])", false, false),
        ("u32[1,<=2]", true, false),
        ("u32[1,?]", false, true),
        ("(u32[<=1], b(u32[?]))", true, true),
        ("(f32[], (u32[<=1]))", true, false),
    ] {
        let shape = shape(text);
        assert_eq!(shape.is_bounded_dynamic(), bounded, "{text}");
        assert_eq!(shape.is_unbounded_dynamic(), unbounded, "{text}");
        assert_eq!(shape.is_dynamic(), bounded || unbounded, "{text}");
        assert_eq!(shape.is_static(), !(bounded || unbounded), "{text}");
    }
    let mixed = shape("f32[1,<=2,?]");
    let found = mixed.as_array().unwrap().dimensions().iter();
    let found: Vec<_> = found
        .map(|d| {
            (
                d.is_static(),
                d.is_dynamic(),
                d.is_bounded(),
                d.is_unbounded(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (true, false, false, false),
            (false, true, true, false),
            (false, true, false, true)
        ]
    );
}

/// XLA: ShapeTest.ClearBuffer
#[test]
fn buffers_hold_arrays() {
    let buffer = shape("b(f32[2,3]{0,1})");
    assert!(buffer.is_buffer() && buffer.is_array() && !buffer.is_array_excluding_buffer());
    assert_eq!(
        buffer.as_array().unwrap(),
        shape("f32[2,3]{0,1}").as_array().unwrap()
    );
    assert_eq!(buffer.without_layout().to_string(), "b(f32[2,3])");
    assert!(Shape::token().is_token() && Shape::opaque().is_opaque());
    assert!(Shape::token().as_array().is_err() && buffer.as_tuple().is_err());
}

/// XLA: ShapeUtilTest.GetSubshape
/// XLA: ShapeUtilTest.IsLeafIndex
#[test]
fn paths_lead_to_subshapes() {
    let array = shape("f32[42,42,123]");
    assert_eq!(array.subshape(&[]), Ok(&array));
    assert!(array.is_leaf_index(&[]));
    let nested = nested();
    for (index, text, leaf) in [
        (&[][..], nested.to_string().as_str(), false),
        (&[0], "f32[42,42,123]", true),
        (&[1], "(f32[1], f32[2])", false),
        (&[1, 1], "f32[2]", true),
        (&[2, 0], "(f32[3], f32[4])", false),
        (&[2, 0, 1], "f32[4]", true),
    ] {
        assert_eq!(nested.subshape(index), Ok(&shape(text)));
        assert!(nested.index_is_valid(index));
        assert_eq!(nested.is_leaf_index(index), leaf);
    }
    for index in [&[3][..], &[0, 0], &[1, 2], &[usize::MAX]] {
        assert!(!nested.index_is_valid(index) && !nested.is_leaf_index(index));
        assert!(matches!(
            nested.subshape(index),
            Err(ShapeError::NoSuchSubshape { .. })
        ));
        assert!(nested.with_subshape(index, Shape::token()).is_err());
    }
    let error = shape("(f32[2])").subshape(&[1, 0]).unwrap_err().to_string();
    assert_eq!(error, "there is no subshape {1,0} in (f32[2]{0})");
}

/// XLA: ShapeUtilTest.ForEachSubshapeArray
/// XLA: ShapeUtilTest.ForEachSubshapeNestedTuple
/// XLA: ShapeUtilTest.FlattenTupleShape
#[test]
fn subshapes_come_with_their_paths() {
    let array = shape("f32[2,3]");
    let all: Vec<_> = array.subshapes().collect();
    assert_eq!(all.len(), 1);
    assert!(all[0].0.is_empty() && std::ptr::eq(all[0].1, &array));
    for (text, count, leaves) in [
        (
            "(f32[42], (f32[101], pred[33]))",
            5,
            "f32[42] f32[101] pred[33]",
        ),
        ("()", 1, ""),
        ("(((), ()), token[])", 5, "token[]"),
        ("f32[2]", 1, "f32[2]"),
    ] {
        let shape = shape(text);
        let found: Vec<_> = shape.subshapes().collect();
        assert_eq!((found.len(), shape.subshape_count()), (count, count));
        assert!(found[0].0.is_empty());
        // In order, each where its path leads.
        assert!(found.is_sorted_by(|a, b| a.0 < b.0));
        for (index, subshape) in &found {
            assert!(std::ptr::eq(shape.subshape(index).unwrap(), *subshape));
        }
        let flat: Vec<String> = shape
            .leaves()
            .map(|(index, leaf)| {
                assert!(shape.is_leaf_index(&index));
                leaf.without_layout().to_string()
            })
            .collect();
        assert_eq!(flat.join(" "), leaves);
        assert_eq!(shape.leaf_count(), flat.len());
        // The other order ends with the whole.
        let post: Vec<_> = shape.subshapes_post_order().collect();
        assert_eq!(post.len(), count);
        assert!(post[count - 1].0.is_empty());
        for (place, (index, _)) in post.iter().enumerate() {
            let inner = |other: &ShapeIndex| other != index && other.starts_with(index);
            assert!(!post[place..].iter().any(|(other, _)| inner(other)));
        }
    }
}

/// XLA: ShapeUtilTest.ForEachMutableSubshapeNestedTuple
/// XLA: ShapeUtilTest.ForEachMutableLeafShapeTest
#[test]
fn leaves_are_replaced() {
    let before = shape("(f32[42], (f32[101], pred[33]))");
    let mut seen = Vec::new();
    let after = before.map_leaves(|index, leaf| {
        seen.push(ShapeIndex::from(index).to_string());
        match leaf.has_element_type(ElementType::Pred) {
            true => Ok::<_, ShapeError>(shape("(token[], ())")),
            false => Ok(leaf.clone()),
        }
    });
    assert_eq!(seen, ["{0}", "{1,0}", "{1,1}"]);
    assert_eq!(
        after.unwrap(),
        shape("(f32[42], (f32[101], (token[], ())))")
    );
    let failed = before.map_leaves(|index, leaf| match index {
        [1, 0] => Err(ShapeError::NotAnArray { found: "this one" }),
        _ => Ok(leaf.clone()),
    });
    assert_eq!(failed, Err(ShapeError::NotAnArray { found: "this one" }));
    assert_eq!(
        before.with_subshape(&[1], Shape::nil()).unwrap(),
        shape("(f32[42], ())")
    );
    assert_eq!(
        before.with_subshape(&[], Shape::token()).unwrap(),
        Shape::token()
    );
}

#[test]
fn tuples_grow_and_are_sliced() {
    let shape_of = |text: &str| shape(text);
    let pair = shape_of("(f32[2], token[])");
    let tuple = pair.as_tuple().unwrap();
    assert_eq!((tuple.len(), tuple.is_empty()), (2, false));
    let longer = tuple.append(shape_of("(s8[])")).unwrap();
    assert_eq!(
        Shape::from(longer.clone()),
        shape_of("(f32[2], token[], (s8[]))")
    );
    for (start, limit, expected) in [(0, 3, 3), (1, 3, 2), (2, 2, 0)] {
        assert_eq!(longer.slice(start, limit).unwrap().len(), expected);
    }
    for (start, limit) in [(0, 4), (2, 1), (4, 4)] {
        let error = longer.slice(start, limit).unwrap_err();
        assert_eq!(
            error,
            ShapeError::TupleSlice {
                start,
                limit,
                len: 3
            }
        );
    }
}

#[test]
fn paths_grow_at_both_ends() {
    let mut index = ShapeIndex::from([1, 2]);
    index.push(3);
    index.push_front(0);
    assert_eq!(index.to_string(), "{0,1,2,3}");
    assert_eq!((index.pop_front(), index.pop()), (Some(0), Some(3)));
    assert_eq!(index.as_slice(), [1, 2]);
    let mut root = ShapeIndex::root();
    assert_eq!(
        (root.pop(), root.pop_front(), root.to_string()),
        (None, None, "{}".into())
    );
    // Shorter paths first, as subshapes are listed.
    assert!(ShapeIndex::from([1]) < ShapeIndex::from([1, 0]));
    assert!(ShapeIndex::from([1, 5]) < ShapeIndex::from([2]));
}

#[test]
fn deep_tuples_are_edited_without_the_stack() {
    let run = || {
        let mut deep = shape("f32[2,3]");
        for _ in 0..4000 {
            deep = Shape::tuple([deep]).unwrap();
        }
        let moved = deep.move_dimension_to_major(1).unwrap();
        assert!(moved.is_compatible(&deep) && moved != deep);
        assert_eq!(deep.without_layout().leaf_count(), 1);
        assert!(deep.is_prefix_of(&deep, |a, b| std::ptr::eq(a, b)));
        assert_eq!(deep.dense_bytes_recursive(), Ok(24));
        let path = vec![0; 4000];
        assert!(deep.with_subshape(&path, Shape::token()).unwrap() != deep);
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    thread.spawn(run).unwrap().join().unwrap();
}
