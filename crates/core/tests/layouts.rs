//! Layouts of whole shapes: validated, copied, cleared; and where tiles put elements.

use minormajor_core::{
    AddressMap, ArrayShape, Layout, LayoutEquality, Location, ParseOptions, ProgramShape, Shape,
    ShapeError, Tile,
};

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

/// Reads a shape whose layouts may be missing.
fn bare(text: &str) -> Shape {
    let options = ParseOptions::default().keep_missing_layouts();
    options.parse(text).unwrap()
}

fn array(text: &str) -> ArrayShape {
    shape(text).as_array().unwrap().clone()
}

fn layouts_equal(a: &Shape, b: &Shape) -> bool {
    let equal = a.layouts_equal(b, LayoutEquality::exact());
    assert_eq!(b.layouts_equal(a, LayoutEquality::exact()), equal);
    equal
}

/// XLA: LayoutUtilTest.TupleLayoutComparison
#[test]
fn layouts_of_tuples_are_compared() {
    let [none, one, two, other] = [
        "()",
        "(f32[2,3]{0,1})",
        "(f32[2,3]{0,1}, f32[2,3]{0,1})",
        "(f32[2,3]{0,1}, f32[2,2]{0,1})",
    ]
    .map(shape);
    assert!(layouts_equal(&none, &none) && layouts_equal(&one, &one));
    assert!(!layouts_equal(&none, &one) && !layouts_equal(&none, &two));
    assert!(!layouts_equal(&one, &two));
    assert!(layouts_equal(&two, &two) && layouts_equal(&two, &other));
    assert!(!layouts_equal(&one, &shape("(f32[2,3]{1,0})")));
    assert!(!layouts_equal(&one, &shape("(f32[2]{0})")));
    assert!(!layouts_equal(&one, &bare("(f32[2,3])")));
    assert!(layouts_equal(&shape("(token[])"), &shape("(opaque[])")));
}

/// XLA forgets the way to compare inside of tuples: what is to be ignored counts there.
#[test]
fn ways_to_compare_reach_into_tuples() {
    let (tiled, plain) = (shape("(f32[8]{0:T(8)})"), shape("(f32[8]{0})"));
    let ignoring = LayoutEquality::exact().ignore_tiles();
    let xla = layouts_equal(&tiled, &plain);
    assert_eq!((xla, tiled.layouts_equal(&plain, ignoring)), (false, true));
}

/// XLA: LayoutUtilTest.CopyLayoutDenseArray
/// XLA: LayoutUtilTest.CopyLayoutTuple
/// XLA: LayoutUtilTest.CopyLayoutNotCompatibleSameRank
/// XLA: LayoutUtilTest.CopyTokenLayout
/// XLA: LayoutUtilTest.CopyOpaqueLayout
/// XLA: LayoutUtilTest.CopyTupleLayoutWithTokenAndOpaque
#[test]
fn layouts_are_copied() {
    for (to, from, expected) in [
        ("f32[2,3]{1,0}", "f32[2,3]{0,1}", "f32[2,3]{0,1}"),
        ("f32[2,3]", "f32[2,3]{0,1}", "f32[2,3]{0,1}"),
        ("f32[2,3]{1,0}", "f32[2,3]", "f32[2,3]"),
        (
            "f32[2,<=3,5]",
            "s8[123,42,7]{2,0,1:T(2)}",
            "f32[2,<=3,5]{2,0,1:T(2)}",
        ),
        (
            "(f32[2,3]{1,0}, f32[42,123]{1,0}, (f32[], f32[1,2,3]{1,2,0}))",
            "(f32[2,3]{0,1}, f32[42,123]{1,0}, (f32[], f32[1,2,3]{0,2,1}))",
            "(f32[2,3]{0,1}, f32[42,123]{1,0}, (f32[], f32[1,2,3]{0,2,1}))",
        ),
        ("token[]", "token[]", "token[]"),
        ("opaque[]", "opaque[]", "opaque[]"),
        ("(token[])", "(opaque[])", "(token[])"),
        (
            "(f32[2,3]{1,0}, token[], (opaque[], f32[1,2]{1,0}))",
            "(f32[2,3]{0,1}, token[], (opaque[], f32[1,2]{0,1}))",
            "(f32[2,3]{0,1}, token[], (opaque[], f32[1,2]{0,1}))",
        ),
    ] {
        let (to, from) = (bare(to), bare(from));
        let copied = to.with_layouts_of(&from).unwrap();
        assert_eq!(copied, bare(expected));
        assert!(layouts_equal(&copied, &from));
    }
}

/// XLA: LayoutUtilTest.CopyLayoutNotCompatibleDifferentRank
/// XLA: LayoutUtilTest.CopyLayoutNotCompatibleTuple
/// XLA: LayoutUtilTest.CopyLayoutBogusLayout
#[test]
fn layouts_that_do_not_fit_are_not_copied() {
    for (to, from, error) in [
        (
            "f32[2,3]",
            "f32[123,42,7]{2,0,1}",
            "the minor-to-major order has 3 dimensions, the shape has 2",
        ),
        (
            "(f32[2,3], f32[4], (f32[], f32[1,2,3]))",
            "(f32[2,3], f32[4], (f32[1,2,3]))",
            "subshape {2} is a tuple of 1; expected a tuple of 2",
        ),
        (
            "(f32[2])",
            "f32[2]",
            "subshape {} is array; expected a tuple of 1",
        ),
        (
            "(f32[2])",
            "(token[])",
            "subshape {0} is token; expected array",
        ),
        (
            "f32[2]",
            "f32[9]{0:SC(0:5)}",
            "split index 5 of configuration 0 is out of order; expected indices that rise from \
             1 to below the dimension's size 2",
        ),
    ] {
        let found = shape(to).with_layouts_of(&shape(from)).unwrap_err();
        assert_eq!(found.to_string(), error);
    }
    // A layout that is no permutation can't be there to be copied.
    assert!(Layout::new([1, 2, 3, 4]).is_err());
    assert!("f32[2,3]{1,2}".parse::<Shape>().is_err());
}

/// XLA: LayoutUtilTest.ClearLayoutTuple
/// XLA: LayoutUtilTest.ClearLayoutOpaqueAndToken
#[test]
fn layouts_are_cleared() {
    let full = shape("(f32[2,3]{1,0}, (f32[], f32[1,2,3]{1,2,0}), b(s8[2]))");
    assert!(full.has_layout() && full.has_any_layout());
    let cleared = full.without_layout();
    assert!(!cleared.has_layout() && !cleared.has_any_layout());
    assert!(cleared.arrays().all(|array| array.layout().is_none()));
    let some = full.with_subshape(&[0], bare("f32[2,3]")).unwrap();
    assert!(!some.has_layout() && some.has_any_layout());
    for shape in [Shape::token(), Shape::opaque(), Shape::nil()] {
        assert!(shape.has_layout() && shape.without_layout().has_layout());
    }
    assert_eq!(
        shape("(f32[2]{0:T(8)S(1)})").without_tiles().unwrap(),
        shape("(f32[2]{0:S(1)})")
    );
}

/// XLA: LayoutUtilTest.SetToDefaultLayoutTuple
#[test]
fn default_layouts() {
    let before =
        bare("(f32[2,3,4]{1,0,2}, f32[42,123,7], (f32[], f32[1,2,3,4]{3,1,2,0:T(2)S(1)}))");
    let after = before.with_default_layout().unwrap();
    assert_eq!(
        after,
        shape("(f32[2,3,4]{2,1,0}, f32[42,123,7]{2,1,0}, (f32[], f32[1,2,3,4]{3,2,1,0:T(2)S(1)}))")
    );
    let program = ProgramShape::new([("x", before.clone())], bare("f32[2]"));
    let set = program.with_default_layout().unwrap();
    assert!(!program.has_layout() && set.has_layout());
    assert_eq!(set.parameters()[0].1, after);
    assert!(!set.without_layout().result().has_any_layout());
}

/// XLA: LayoutUtilTest.HasCustomElementSizeInBits
#[test]
fn custom_element_sizes() {
    for (text, expected) in [
        ("f32[2,3]", false),
        ("s4[2,3]{1,0:E(4)}", true),
        ("(f32[2], (s4[2]{0:E(4)}, token[]))", true),
        ("(f32[2], (s4[2], token[]))", false),
    ] {
        assert_eq!(shape(text).has_custom_element_size_in_bits(), expected);
    }
}

/// XLA: LayoutUtilTest.ValidateLayout_ValidArrayLayout
/// XLA: LayoutUtilTest.ValidateLayout_InvalidArrayLayout
/// XLA: LayoutUtilTest.ValidateLayout_MissingArrayLayout
/// XLA: LayoutUtilTest.ValidateLayout_TupleSubshapesWithMissingLayouts
#[test]
fn layouts_are_validated_where_they_are_attached() {
    let array = bare("f32[2,3]").as_array().unwrap().clone();
    let valid = array.with_layout(Layout::ascending(2)).unwrap();
    assert_eq!(Shape::from(valid).require_layouts(), Ok(()));
    let error = array.with_layout(Layout::ascending(3)).unwrap_err();
    assert_eq!(error, ShapeError::LayoutRank { found: 3, rank: 2 });
    let error = Shape::from(array).require_layouts().unwrap_err();
    assert_eq!(
        error.to_string(),
        "f32[2,3] has no layout; expected one such as {0}, minor dimension first"
    );
    let tuple = bare("(((f32[1,2]{1,0}), f32[1,2]), (f32[9]))");
    let error = tuple.require_layouts().unwrap_err().to_string();
    assert!(error.starts_with("f32[1,2] has no layout"), "{error}");
    let wrong = tuple.map_array_at(&[1, 0], |array| array.with_layout(Layout::descending(3)));
    assert_eq!(wrong, Err(ShapeError::LayoutRank { found: 3, rank: 1 }));
}

/// XLA: LayoutUtilTest.ValidateLayout_TileValidation
#[test]
fn tiles_are_validated() {
    let layout = || Layout::descending(2);
    for tile in [vec![], vec![0, 2], vec![-1, 2], vec![2, i64::MIN]] {
        assert!(layout().with_tiles([Tile::new(tile)]).is_err());
    }
    // A tile may have more dimensions than the array.
    let tiled = layout().with_tiles([Tile::new([2, 2, 4])]).unwrap();
    let map = AddressMap::new(&array("f32[3,5]").with_layout(tiled).unwrap()).unwrap();
    assert_eq!(map.allocated_elements(), 2 * 2 * 4 * 2 * 2);
}

/// XLA: LayoutUtilTest.LinearIndexForNestedTilingRoundTrip1D
/// XLA: LayoutUtilTest.LinearIndexForNestedTilingRoundTrip2D
#[test]
fn nested_tiles_there_and_back() {
    for text in [
        "bf16[2048]{0:T(1024)(128)(2,1)}",
        "f32[7]{0:T(4)(2)}",
        "bf16[16,256]{1,0:T(8,128)(2,1)}",
        "u8[40,130]{0,1:T(8,128)(4,1)}",
        "f32[5,7]{1,0:T(2,4)(3,3)}",
        "f32[2,3,5]{2,0,1:T(*,2)(2)}",
    ] {
        let array = array(text);
        let map = AddressMap::new(&array).unwrap();
        let mut found = 0;
        for position in 0..map.allocated_elements() {
            if let Location::Element(index) = map.location(position).unwrap() {
                assert_eq!(map.position(&index), Ok(position), "{text}");
                found += 1;
            }
        }
        assert_eq!(Some(found), array.elements(), "{text}");
    }
}

/// The positions that XLA gives for its first tile only, beside ours, which count every level.
///
/// XLA: LayoutUtilTest.LinearIndexWithAndWithoutTiles
/// XLA: LayoutUtilTest.LinearIndexForNestedTiling_OversizedTilesPadding
#[test]
fn positions_with_and_without_tiles() {
    for (text, index, position) in [
        ("f32[8,4]{1,0:T(2,2)}", &[3, 1][..], 11),
        ("f32[8,4]{1,0}", &[3, 1], 13),
        ("f32[8]{0:T(2,2)}", &[5], 9),
        ("f32[3]{0:T(8,128)}", &[2], 2),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", &[128], 1),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", &[1], 2),
        ("bf16[2,8,128]{2,1,0:T(8,128)(2,1)}", &[0, 2, 0], 256),
        ("u32[]{:T(128)}", &[], 0),
        (
            "F32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}",
            &[1, 6, 7, 10, 9],
            12430,
        ),
    ] {
        let array = array(&text.to_lowercase().replace('t', "T"));
        let map = AddressMap::new(&array).unwrap();
        assert_eq!(map.position(index), Ok(position), "{text}");
    }
    // XLA's LinearIndex gives the index of a rank-1 array back whatever its tiles.
    let (xla, ours) = (5, AddressMap::new(&array("f32[8]{0:T(2,2)}")).unwrap());
    assert_eq!((xla, ours.position(&[5])), (5, Ok(9)));
    // XLA's ArraySize counts the first tile only, and the tail alignment only with tiles.
    for (text, xla, ours) in [
        ("f32[5,7]{1,0:T(2,4)(3,3)}", 192, 432),
        ("f32[5]{0:L(8)}", 20, 32),
        ("f32[2,3,5]{2,1,0:T(8,128)(2,1)}", 8192, 8192),
    ] {
        let array = array(text);
        assert_eq!(array.allocated_bytes(), Some(ours));
        // What XLA leaves out only makes it less.
        assert!(array.dense_bytes() <= Some(xla) && xla <= ours, "{text}");
    }
}

/// XLA: LayoutUtilTest.IsUntiledLayout
#[test]
fn tiles_that_change_nothing() {
    for (text, expected) in [
        ("f32[24,128]{1,0:T(8,128)}", true),
        ("f32[4,256]{1,0:T(1,128)}", true),
        ("f32[2,3,4]{2,1,0:T(8,128)}", false),
        ("f32[24,128]{0,1:T(8,128)}", false),
        ("f32[16,256]{1,0:T(8,128)}", false),
        ("f32[3,8,128]{2,1,0:T(8,128)}", true),
        ("f32[256]{0:T(128)}", true),
        ("f32[200]{0:T(128)}", false),
        ("f32[8,128]{1,0:T(8,128)(2,1)}", false),
        ("f32[2,7,3]{2,1,0:T(*,*,3)}", true),
        ("f32[0,5]{1,0:T(8,128)}", true),
        ("f32[]{:T(128)}", false),
        ("f32[3,5]{0,1}", true),
        ("f32[3,5]{0,1:L(64)PAD(4,5)}", true),
        ("f32[6,100]{1,0:T(8,128)PAD(8,128)}", true),
    ] {
        assert_eq!(array(text).is_untiled(), Ok(expected), "{text}");
    }
    assert!(array("f32[?]{0:T(8)}").is_untiled().is_err());
    assert!(array("f32[2]").without_layout().is_untiled().is_err());
}

/// XLA keeps the memory space in 8 bits: `S(128)` is printed as `S(-128)`, `S(300)` as `S(44)`.
#[test]
fn memory_spaces_are_wide() {
    for (space, xla) in [(128, -128), (300, 44)] {
        assert_eq!(space as i8, xla);
        let text = format!("f32[2]{{0:S({space})}}");
        assert_eq!(array(&text).memory_space(), space);
        assert_eq!(shape(&text).to_string(), text);
    }
    assert_eq!(array("f32[2]").without_layout().memory_space(), 0);
}
