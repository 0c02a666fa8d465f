//! Shapes that are equal, or equal but for something.

use std::collections::HashSet;

use minormajor_core::{Layout, LayoutEquality, ParseOptions, Shape, ShapeEquality};

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

/// Checks a relation that is symmetric, and every shape's to itself.
fn check(relation: impl Fn(&Shape, &Shape) -> bool, a: &str, b: &str, expected: bool) {
    let (a, b) = (shape(a), shape(b));
    assert!(relation(&a, &a) && relation(&b, &b), "{a} {b}");
    assert_eq!(relation(&a, &b), expected, "{a} {b}");
    assert_eq!(relation(&b, &a), expected, "{b} {a}");
}

/// XLA: ShapeUtilTest.CompatibleIdenticalShapes
/// XLA: ShapeUtilTest.CompatibleNotIdenticalShapes
/// XLA: ShapeUtilTest.CompatibleDynamicShapes
/// XLA: ShapeUtilTest.CompatibleTuples
/// XLA: ShapeUtilTest.IncompatibleDifferentElementShapes
/// XLA: ShapeUtilTest.IncompatibleTuplesWithSwappedElements
/// XLA: ShapeUtilTest.IncompatibleTuplesWithDifferentPrimitiveType
/// XLA: ShapeUtilTest.IncompatibleTuplesWithDifferentDimensions
/// XLA: ShapeUtilTest.IncompatibleScalarVsTuple
/// XLA: ShapeUtilTest.OpaqueVsArray
/// XLA: ShapeUtilTest.TokenCompatibility
#[test]
fn compatible_shapes() {
    for (a, b, compatible, but_for_type) in [
        ("f32[3,2]", "f32[3,2]", true, true),
        ("f32[3,2]{0,1}", "f32[3,2]{1,0}", true, true),
        ("f32[<=4,3]{1,0}", "f32[4,<=3]{0,1}", true, true),
        ("f32[<=4,3]", "f32[4,4]", false, false),
        ("f32[?,3]", "f32[4,3]", true, true),
        ("f32[?,3]", "f32[4,4]", false, false),
        ("f32[3,2]", "pred[3,2]", false, true),
        ("f32[3,2]", "f32[3,2,1]", false, false),
        ("(f32[3,2], pred[4,5])", "(f32[3,2], pred[4,5])", true, true),
        (
            "(pred[4,5], f32[3,2])",
            "(f32[3,2], pred[4,5])",
            false,
            false,
        ),
        (
            "(pred[4,5], f32[3,2])",
            "(pred[4,5], s32[3,2])",
            false,
            true,
        ),
        (
            "(pred[4,5], f32[3,2])",
            "(pred[4,5], f32[4,2])",
            false,
            false,
        ),
        ("f32[]", "(f32[3,2], u32[])", false, false),
        ("(f32[])", "(f32[], f32[])", false, false),
        ("f32[5,7]", "opaque[]", false, false),
        ("token[]", "token[]", true, true),
        ("token[]", "f32[]", false, false),
        ("token[]", "opaque[]", false, false),
        ("(token[])", "(token[])", true, true),
        ("f32[3]", "b(f32[3])", false, false),
    ] {
        check(Shape::is_compatible, a, b, compatible);
        check(
            Shape::is_compatible_ignoring_element_type,
            a,
            b,
            but_for_type,
        );
    }
}

/// XLA: ShapeUtilTest.CompatibleIgnoringFpPrecision
/// XLA: ShapeUtilTest.IncompatibleIgnoringFpPrecision
/// XLA: ShapeUtilTest.CompatibleTuplesIgnoringFpPrecision
/// XLA: ShapeUtilTest.IncompatibleTuplesIgnoringFpPrecision
#[test]
fn compatible_but_for_precision() {
    for (a, b, compatible) in [
        ("bf16[3,2]", "f32[3,2]", true),
        ("bf16[3,2]{0,1}", "f8e4m3[3,2]", true),
        ("bf16[3,2]", "f32[2,2]", false),
        ("f32[3,2]", "c64[3,2]", false),
        ("f32[3,2]", "s32[3,2]", false),
        ("s16[3,2]", "s32[3,2]", false),
        ("(bf16[3,2], f32[4,5])", "(f64[3,2], bf16[4,5])", true),
        ("(bf16[4,5], f32[3,2])", "(f32[3,2], bf16[4,5])", false),
        ("f32[5,7]", "opaque[]", false),
        ("f32[]", "(f32[3,2], u32[])", false),
    ] {
        check(Shape::is_compatible_ignoring_fp_precision, a, b, compatible);
    }
}

#[test]
fn compatible_kinds() {
    let kind = |a: &Shape, b: &Shape| a.is_compatible_kind(b, false);
    let kind_or_buffer = |a: &Shape, b: &Shape| a.is_compatible_kind(b, true);
    for (a, b, expected, ignoring_buffers) in [
        ("f32[3,2]", "s8[<=7,9]{0,1}", true, true),
        ("f32[3,2]", "f32[3]", false, false),
        ("f32[3]", "b(s8[4])", false, true),
        ("(b(f32[3]), token[])", "(f32[?], token[])", false, true),
        ("token[]", "opaque[]", false, false),
    ] {
        check(kind, a, b, expected);
        check(kind_or_buffer, a, b, ignoring_buffers);
    }
}

/// XLA: ShapeTest.EqualityTest
/// XLA: ShapeUtilTest.TokensEqualShapes
/// XLA: ShapeUtilTest.EqualDynamicShapes
#[test]
fn equal_shapes() {
    let exact = |a: &Shape, b: &Shape| ShapeEquality::exact().equal(a, b);
    for (a, b, expected) in [
        ("f32[23,44]{1,0}", "f32[23,44]{0,1}", false),
        ("f32[44,23]{1,0}", "f32[23,44]{1,0}", false),
        ("s32[44,23]{1,0}", "f32[23,44]{1,0}", false),
        ("f32[23,44]{1,0}", "f32[23,44]{1,0}", true),
        ("f32[<=4,3]", "f32[<=4,3]", true),
        ("f32[<=4,3]", "f32[4,3]", false),
        ("f32[<=4,3]", "f32[?,3]", false),
        ("token[]", "token[]", true),
        ("token[]", "f32[]", false),
        ("(token[], s32[3,4]{0,1})", "(token[], s32[3,4]{0,1})", true),
        (
            "(token[], s32[3,4]{0,1})",
            "(token[], s32[3,4]{1,0})",
            false,
        ),
        ("()", "(())", false),
        ("((), ())", "((()))", false),
        ("b(f32[2])", "f32[2]", false),
    ] {
        check(exact, a, b, expected);
        check(|a, b| a == b, a, b, expected);
    }
    let bare = shape("f32[2,3]").without_layout();
    assert!(!exact(&bare, &shape("f32[2,3]")) && exact(&bare, &bare));
}

/// XLA: ShapeUtilTest.ScalarDefaultLayoutEqualsScalarEmptyMin2Maj
#[test]
fn a_scalar_has_the_empty_layout() {
    let scalar = shape("f32[]");
    let array = scalar.as_array().unwrap();
    assert!(scalar.has_layout());
    let again = array.with_layout(Layout::new([]).unwrap()).unwrap();
    assert_eq!(Shape::from(again), scalar);
}

/// XLA: ShapeUtilTest.EqualIgnoringFpPrecision
/// XLA: ShapeUtilTest.UnequalIgnoringFpPrecision
/// XLA: ShapeUtilTest.EqualIgnoringElementType
/// XLA: ShapeUtilTest.UnequalIgnoringElementType
#[test]
fn equal_but_for_types() {
    let precision = ShapeEquality::exact().ignore_fp_precision();
    let element_type = ShapeEquality::exact().ignore_element_type();
    for (a, b, but_for_precision, but_for_type) in [
        ("f32[4,3]{0,1}", "f16[4,3]{0,1}", true, true),
        ("f32[4,3]{0,1}", "f16[3,4]{0,1}", false, false),
        ("f32[3,4]{0,1}", "f16[3,4]{1,0}", false, false),
        ("f32[4,3]{0,1}", "pred[4,3]{0,1}", false, true),
        ("s32[4,3]{0,1}", "f16[4,3]{0,1}", false, true),
    ] {
        check(|a, b| precision.equal(a, b), a, b, but_for_precision);
        check(|a, b| element_type.equal(a, b), a, b, but_for_type);
    }
}

/// XLA: ShapeTest.IgnoreSplitsComparison
#[test]
fn equal_but_for_parts_of_the_layout() {
    let exact = LayoutEquality::exact();
    for (other, ignoring) in [
        ("f32[256,256]{1,0:T(8)}", exact.ignore_tiles()),
        ("f32[256,256]{1,0:T(8)}", exact.ignore_tiles_where_absent()),
        (
            "f32[256,256]{1,0:L(8)}",
            exact.ignore_tail_padding_alignment(),
        ),
        ("f32[256,256]{1,0:E(64)}", exact.ignore_element_size()),
        ("f32[256,256]{1,0:S(1)}", exact.ignore_memory_space()),
        ("f32[256,256]{1,0:SC(1:128)}", exact.ignore_split_configs()),
        (
            "f32[256,256]{1,0:M(8)}",
            exact.ignore_dynamic_shape_metadata_prefix(),
        ),
        ("f32[256,256]{1,0:PAD(257,256)}", exact.ignore_padding()),
    ] {
        let plain = "f32[256,256]{1,0}";
        let equality = ShapeEquality::exact();
        check(|a, b| equality.equal(a, b), plain, other, false);
        let ignoring = equality.with_layout_equality(ignoring);
        check(|a, b| ignoring.equal(a, b), plain, other, true);
        // Inside of tuples too.
        let (plain, other) = (format!("(({plain}))"), format!("(({other}))"));
        check(|a, b| ignoring.equal(a, b), &plain, &other, true);
        let ignoring = equality.ignore_layout();
        check(|a, b| ignoring.equal(a, b), &plain, &other, true);
    }
    let without = ShapeEquality::exact().ignore_layout();
    let bare = shape("f32[2,3]").without_layout();
    assert!(without.equal(&bare, &shape("f32[2,3]{0,1}")));
}

#[test]
fn equal_but_for_sizes() {
    let exact = ShapeEquality::exact();
    for (a, b, sizes, dynamic, both) in [
        ("f32[2,3]", "f32[4,5]", true, false, true),
        ("f32[2,3]", "f32[<=2,3]", false, true, true),
        ("f32[2,3]", "f32[<=4,3]", false, false, true),
        ("f32[2,3]", "f32[?,3]", false, true, true),
        ("f32[<=2,3]", "f32[<=4,3]", true, false, true),
        ("f32[<=2,3]", "f32[?,3]", true, true, true),
        ("f32[2,3]", "f32[2]", false, false, false),
    ] {
        check(|a, b| exact.ignore_dimensions().equal(a, b), a, b, sizes);
        let ignoring = exact.ignore_dynamic_dimension();
        check(|a, b| ignoring.equal(a, b), a, b, dynamic);
        let ignoring = ignoring.ignore_dimensions();
        check(|a, b| ignoring.equal(a, b), a, b, both);
    }
    let buffers = exact.ignore_buffer();
    check(|a, b| buffers.equal(a, b), "(b(f32[2]))", "(f32[2])", true);
    check(|a, b| buffers.equal(a, b), "(b(f32[2]))", "(f32[3])", false);
}

/// XLA: ShapeUtilTest.SameDimensions
#[test]
fn same_dimensions() {
    for (a, b, expected) in [
        ("s32[]", "f32[]", true),
        ("s32[1]", "s32[1]", true),
        ("s32[0]", "s32[0]", true),
        ("s32[2]", "f32[2]{0:T(8)}", true),
        ("s32[2]", "s32[<=2]", true),
        ("s32[2,?]", "s32[?,3]", true),
        ("s32[1]", "f32[2]", false),
        ("s32[0,0]", "f32[0]", false),
        ("s32[1]", "f32[1,1]", false),
        ("s32[]", "f32[1]", false),
        ("s32[1]", "f32[1,0]", false),
        ("s32[1,1]", "f32[1,2]", false),
    ] {
        let same = |a: &Shape, b: &Shape| {
            let (a, b) = (a.as_array().unwrap(), b.as_array().unwrap());
            assert!(a.has_same_rank(b) || !a.has_same_dimensions(b));
            a.has_same_dimensions(b)
        };
        check(same, a, b, expected);
    }
}

/// XLA: ShapeUtilTest.IsPrefix
#[test]
fn prefixes() {
    for (prefix, of, expected) in [
        ("f32[2]", "f32[2]", true),
        ("f32[2]", "f32[3]", false),
        ("()", "f32[2]", true),
        ("()", "(f32[2], ())", true),
        ("(f32[2])", "(f32[2], s8[3])", true),
        ("(f32[2], s8[3])", "(f32[2])", false),
        ("(s8[3])", "(f32[2], s8[3])", false),
        (
            "(f32[2], (s8[3]))",
            "(f32[2], (s8[3], token[]), f32[])",
            true,
        ),
        ("(f32[2], ())", "(f32[2], (s8[3], token[]))", true),
        ("(f32[2], (token[]))", "(f32[2], (s8[3], token[]))", false),
        ("(f32[2])", "f32[2]", false),
    ] {
        let (prefix, of) = (shape(prefix), shape(of));
        assert_eq!(
            prefix.is_prefix_of(&of, Shape::is_compatible),
            expected,
            "{prefix} of {of}"
        );
    }
    let (f32s, s8s) = (shape("(f32[2])"), shape("(s8[2], s8[2])"));
    assert!(!f32s.is_prefix_of(&s8s, Shape::is_compatible));
    assert!(f32s.is_prefix_of(&s8s, Shape::is_compatible_ignoring_element_type));
}

#[test]
fn equal_structures() {
    for (a, b, expected) in [
        ("f32[2]", "token[]", true),
        ("(f32[2], (s8[], u8[]))", "(token[], (f32[], ()))", true),
        ("(f32[2], s8[])", "(f32[2], (s8[], s8[]))", false),
        ("(f32[2])", "(f32[2], s8[])", false),
        // No path leads into either.
        ("f32[2]", "()", true),
    ] {
        check(Shape::has_equal_structure, a, b, expected);
    }
}

#[test]
fn dynamic_shapes_within_bounds() {
    for (given, bounds, expected) in [
        ("f32[<=3,4]", "f32[<=5,4]", true),
        ("f32[<=5,4]", "f32[<=5,4]", true),
        ("f32[<=6,4]", "f32[<=5,4]", false),
        ("f32[<=3]", "f32[<=5,4]", false),
        ("f32[?]", "f32[<=5]", false),
        ("f32[?]", "f32[?]", true),
        // An array of known sizes is not looked at.
        ("f32[9]", "f32[<=5]", true),
        ("(f32[<=3], (token[]))", "(f32[<=5], (token[]))", true),
        ("(f32[<=3])", "(f32[<=5], s8[])", true),
        ("(f32[<=3], s8[])", "(f32[<=5])", false),
        ("(f32[<=3])", "f32[<=5]", false),
        ("f32[<=3]", "token[]", false),
    ] {
        assert_eq!(
            shape(given).is_within_bounds_of(&shape(bounds)),
            expected,
            "{given} in {bounds}"
        );
    }
}

/// XLA: ShapeTest.SupportsAbslHash
#[test]
fn equal_shapes_have_equal_hashes() {
    let texts = [
        "opaque[]",
        "token[]",
        "f32[]",
        "f32[]{:T(256)}",
        "u32[1,2]",
        "s32[3,4]{0,1}",
        "s32[<=5,2]",
        "s32[?,2]",
        "b(f32[2])",
        "(opaque[], f32[], u32[1,2], s32[3,4]{0,1})",
        "((opaque[], f32[]), u32[1,2], token[])",
        "()",
        "f32[2]{0:M(4)}",
        "f32[2]{0}",
    ];
    let mut set: HashSet<Shape> = texts.iter().map(|text| shape(text)).collect();
    set.insert(
        ParseOptions::default()
            .keep_missing_layouts()
            .parse("f32[2]")
            .unwrap(),
    );
    assert_eq!(set.len(), texts.len() + 1);
    assert!(texts.iter().all(|text| set.contains(&shape(text))));
}
