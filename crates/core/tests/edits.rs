//! Arrays and shapes made of others: what stays, what moves along, what is refused.

use minormajor_core::{
    AddressMap, ArrayShape, Dimension, ElementType, IndexSpace, Permutation, Shape, ShapeError,
};

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

fn array(text: &str) -> ArrayShape {
    shape(text).as_array().unwrap().clone()
}

fn permutations() -> impl Iterator<Item = Permutation> {
    [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ]
    .into_iter()
    .map(|places| Permutation::new(places).unwrap())
}

/// XLA: ShapeUtilTest.PrependMajorDimension
#[test]
fn prepending_a_major_dimension() {
    for (before, after) in [
        ("f32[10,20,30]", "f32[40,10,20,30]"),
        ("f32[10,20,30]{0,2,1}", "f32[40,10,20,30]{1,3,2,0}"),
        ("f32[10,20,30]{2,1,0}", "f32[40,10,20,30]{3,2,1,0}"),
        ("f32[]", "f32[40]"),
        // XLA gives f32[40,2,3]{1,2,0}: dynamic flag, tiles, element size and memory space lost.
        (
            "f32[<=2,3]{0,1:T(2,2)L(8)E(64)S(1)SC(0:1)M(8)}",
            "f32[40,<=2,3]{1,2,0:T(2,2)L(8)E(64)S(1)SC(1:1)M(8)}",
        ),
        (
            "f32[2,3]{0,1:PAD(3,5;lowest)}",
            "f32[40,2,3]{1,2,0:PAD(40,3,5;lowest)}",
        ),
    ] {
        assert_eq!(
            array(before).prepend_major_dimension(40).unwrap(),
            array(after)
        );
    }
    let bare = array("f32[3]").without_layout();
    let bare = bare.prepend_major_dimension(40).unwrap();
    assert_eq!(bare.to_string(), "f32[40,3]");
    let error = array("f32[3]")
        .prepend_major_dimension(i64::MAX)
        .unwrap_err();
    assert!(matches!(error, ShapeError::Overflow { .. }));
    assert!(array("f32[3]").prepend_major_dimension(-1).is_err());
    let padded = array("f32[3]{0:PAD(4)}");
    assert_eq!(
        padded.prepend_major_dimension(Dimension::Unbounded),
        Err(ShapeError::PaddedUnbounded { dimension: 0 })
    );
}

/// XLA: ShapeUtilTest.AppendMinorDimension
#[test]
fn appending_dimensions() {
    for (before, minor, major) in [
        ("f32[10,20]", "f32[10,20,40]", "f32[10,20,40]{1,0,2}"),
        (
            "f32[10,20]{0,1}",
            "f32[10,20,40]{2,0,1}",
            "f32[10,20,40]{0,1,2}",
        ),
        (
            "f32[10,<=20]{0,1:T(8)SC(0:5)}",
            "f32[10,<=20,40]{2,0,1:T(8)SC(0:5)}",
            "f32[10,<=20,40]{0,1,2:T(8)SC(1:5)}",
        ),
    ] {
        assert_eq!(
            array(before).append_minor_dimension(40).unwrap(),
            array(minor)
        );
        assert_eq!(
            array(before).append_major_dimension(40).unwrap(),
            array(major)
        );
    }
}

/// XLA: ShapeUtilTest.InsertDimensionAtIndex
/// XLA: ShapeUtilTest.InsertDimensionsAtIndex
#[test]
fn inserting_dimensions() {
    let before = array("f32[10,<=20,30]{0,2,1:T(4,8)S(1)}");
    for (at, after) in [
        (0, "f32[7,10,<=20,30]{1,0,3,2:T(4,8)S(1)}"),
        (1, "f32[10,7,<=20,30]{0,3,2,1:T(4,8)S(1)}"),
        (2, "f32[10,<=20,7,30]{0,3,2,1:T(4,8)S(1)}"),
        (3, "f32[10,<=20,30,7]{3,0,2,1:T(4,8)S(1)}"),
        (-1, "f32[10,<=20,30,7]{3,0,2,1:T(4,8)S(1)}"),
        (-4, "f32[7,10,<=20,30]{1,0,3,2:T(4,8)S(1)}"),
    ] {
        assert_eq!(
            before.insert_dimension(at, 7).unwrap(),
            array(after),
            "{at}"
        );
    }
    for (at, after) in [
        (1, "f32[10,6,<=7,<=20,30]{0,4,3,2,1:T(4,8)S(1)}"),
        (3, "f32[10,<=20,30,6,<=7]{4,3,0,2,1:T(4,8)S(1)}"),
    ] {
        let sizes = [Dimension::Static(6), Dimension::Bounded(7)];
        assert_eq!(before.insert_dimensions(at, sizes).unwrap(), array(after));
    }
    let none: [i64; 0] = [];
    assert_eq!(before.insert_dimensions(2, none).unwrap(), before);
    for at in [4, -5] {
        assert!(before.insert_dimension(at, 7).is_err());
    }
}

/// XLA: ShapeUtilTest.MoveDimToMajor
#[test]
fn moving_a_dimension_to_major() {
    for (before, dimension, after) in [
        ("f32[10,10,10]", 0, "f32[10,10,10]"),
        ("f32[10,10,10]", 1, "f32[10,10,10]{2,0,1}"),
        ("f32[10,10,10]{0,2,1}", 0, "f32[10,10,10]{2,1,0}"),
        // XLA gives f32[<=4,5]{0,1}.
        (
            "f32[<=4,5]{1,0:T(2,2)S(1)}",
            1,
            "f32[<=4,5]{0,1:T(2,2)S(1)}",
        ),
        (
            "(f32[10,10,10], (b(f32[10,10,10]{0,2,1}), token[]))",
            0,
            "(f32[10,10,10], (b(f32[10,10,10]{2,1,0}), token[]))",
        ),
    ] {
        let moved = shape(before).move_dimension_to_major(dimension).unwrap();
        assert_eq!(moved, shape(after));
    }
    let bare = array("f32[4,5]").without_layout();
    assert_eq!(
        bare.move_dimension_to_major(-1).unwrap(),
        array("f32[4,5]{0,1}")
    );
    assert_eq!(
        bare.move_dimension_to_minor(0).unwrap(),
        array("f32[4,5]{0,1}")
    );
    assert!(
        shape("(f32[2,2], f32[2])")
            .move_dimension_to_major(1)
            .is_err()
    );
}

/// XLA: ShapeUtilTest.DeleteDimensions
/// XLA: ShapeUtilTest.DeleteDimensionsUnsorted
/// XLA: ShapeTest.DeleteDimensions
/// XLA: ShapeTest.DeleteDimensionsUnordered
#[test]
fn deleting_dimensions() {
    for (before, deleted, after) in [
        ("f32[5,3,2]{2,0,1}", &[1][..], "f32[5,2]{1,0}"),
        ("f32[5,3,2,7,9]{2,0,1,4,3}", &[1, 2, 3], "f32[5,9]{0,1}"),
        ("f32[5,3,2,7,9]{2,0,1,4,3}", &[3, 2, 1], "f32[5,9]{0,1}"),
        ("f32[5,3,2,7,9]{2,0,1,4,3}", &[-2, 1, -3], "f32[5,9]{0,1}"),
        ("f32[5,<=3,<=2]{2,0,1}", &[1], "f32[5,<=2]{1,0}"),
        (
            "f32[5,3,2]{2,0,1:T(4)S(3)SC(0:1)(1:4)PAD(6,7,8)}",
            &[2],
            "f32[5,3]{0,1:T(4)S(3)SC(0:1)(1:4)PAD(6,7)}",
        ),
        ("f32[5,3]", &[], "f32[5,3]"),
        ("f32[5,3]", &[1, 0], "f32[]"),
    ] {
        let found = array(before).delete_dimensions(deleted.iter().copied());
        assert_eq!(found.unwrap(), array(after));
    }
    assert_eq!(
        array("f32[5,3]").delete_dimension(0).unwrap(),
        array("f32[3]")
    );
    assert_eq!(
        array("f32[5,3]").delete_dimensions([1, -1]),
        Err(ShapeError::DimensionRepeated { dimension: 1 })
    );
    assert!(array("f32[5,3]").delete_dimension(2).is_err());
    // Without the 0, more than 63 bits.
    let empty = array("f32[0,4611686018427387904,4]");
    assert!(empty.delete_dimension(0).is_err());
}

#[test]
fn filtering_dimensions() {
    let before = array("f32[5,1,0,<=1,?]{2,0,1,4,3}");
    let even = before.filter_dimensions(|dimension| dimension % 2 == 0);
    assert_eq!(even.unwrap(), array("f32[5,0,?]{1,0,2}"));
    assert_eq!(
        before.drop_degenerate_dimensions().unwrap(),
        array("f32[5,0,?]{1,0,2}")
    );
    let tiled = array("f32[1,3,1]{0,2,1:T(8,128)}");
    assert_eq!(
        tiled.drop_degenerate_dimensions().unwrap(),
        array("f32[3]{0:T(8,128)}")
    );
}

/// XLA: ShapeUtilTest.PermuteDimensionsLayout
/// XLA: ShapeUtilTest.ReorderDimensionsTest
#[test]
fn permuted_dimensions_keep_every_element_in_its_place() {
    for properties in ["", ":T(2,2)", ":T(2,3)(2,1)L(7)", ":PAD(4,5,4)", ":T(*,2)"] {
        for order in ["2,1,0", "2,0,1", "1,2,0", "1,0,2", "0,2,1", "0,1,2"] {
            let before = array(&format!("f32[2,3,4]{{{order}{properties}}}"));
            let positions = AddressMap::new(&before).unwrap();
            for permutation in permutations() {
                let after = before.permute_dimensions(&permutation).unwrap();
                let moved = AddressMap::new(&after).unwrap();
                IndexSpace::new(&before).unwrap().for_each(|index| {
                    let permuted = permutation.apply(index).unwrap();
                    assert_eq!(positions.position(index), moved.position(&permuted));
                });
                let back = after.permute_dimensions(&permutation.inverse()).unwrap();
                assert_eq!(back, before);
            }
        }
    }
    let pair = Permutation::new([1, 0]).unwrap();
    assert!(array("f32[2,3,4]").permute_dimensions(&pair).is_err());
}

/// XLA: ShapeUtilTest.PermuteDynamicDimensions
#[test]
fn permuted_dimensions_stay_dynamic() {
    let before = array("f32[10,<=100,?]");
    for permutation in permutations() {
        let after = before.permute_dimensions(&permutation).unwrap();
        for (dimension, &source) in permutation.as_slice().iter().enumerate() {
            assert_eq!(after.dimensions()[dimension], before.dimensions()[source]);
        }
    }
}

/// XLA: ShapeUtilTest.PermuteDimensionsIgnoringLayout
#[test]
fn permuting_without_the_layout() {
    let before = array("f32[10,<=20,30]{0,2,1:T(8,128)SC(0:7)PAD(16,20,32)}");
    let permutation = Permutation::new([2, 0, 1]).unwrap();
    let after = before.permute_dimensions_ignoring_layout(&permutation);
    // The split is of dimension 1, which becomes dimension 2: physical dimension 1.
    assert_eq!(
        after.unwrap(),
        array("f32[30,10,<=20]{0,2,1:T(8,128)SC(1:7)PAD(32,16,20)}")
    );
}

/// XLA: ShapeUtilTest.MakeShapeWithDescendingLayoutAndSamePhysicalLayout
/// XLA: ShapeUtilTest.MakeShapeWithDescendingLayoutAndSamePhysicalLayoutWithDynamicDims
#[test]
fn physical_order() {
    for (before, after) in [
        ("f32[128,24,4,48,48]{2,4,3,1,0}", "f32[128,24,48,48,4]"),
        ("f32[128,24,?,48,48]{2,4,3,1,0}", "f32[128,24,48,48,?]"),
        // XLA drops the splits and the metadata prefix.
        (
            "s4[2,<=3]{0,1:T(2,2)L(8)E(4)S(5)SC(0:1)M(4)}",
            "s4[<=3,2]{1,0:T(2,2)L(8)E(4)S(5)SC(0:1)M(4)}",
        ),
        ("f32[2,3]{0,1:PAD(3,5;one)}", "f32[3,2]{1,0:PAD(5,3;one)}"),
    ] {
        assert_eq!(array(before).in_physical_order().unwrap(), array(after));
    }
    let bare = array("f32[2,3]").without_layout();
    assert_eq!(bare.in_physical_order().unwrap(), array("f32[2,3]"));
}

/// XLA: ShapeUtilTest.UpdateDynamicDimensions
#[test]
fn dimensions_become_dynamic() {
    let before = shape("(f32[10,100], token[])");
    let after = before.with_dynamic_dimension(&[0], 1, true).unwrap();
    assert_eq!(after, shape("(f32[10,<=100], token[])"));
    assert_eq!(
        after.with_dynamic_dimension(&[0], -1, false).unwrap(),
        before
    );
    assert!(before.with_dynamic_dimension(&[1], 0, true).is_err());
    assert!(before.with_dynamic_dimension(&[2], 0, true).is_err());
    assert!(before.with_dynamic_dimension(&[0], 2, true).is_err());
    assert_eq!(
        array("f32[?]").with_dynamic_dimension(0, false),
        Err(ShapeError::Unbounded { dimension: 0 })
    );
}

/// XLA: ShapeUtilTest.InvalidDynamicDimension
/// XLA: ShapeTest.ArrayCtorTreatsEmptyDynamicDimensionsAsAllStatic
/// XLA: ShapeTest.ArrayCtorTreatsMissingDynamicDimensionsAsAllStatic
#[test]
fn sizes_are_static_unless_said_otherwise() {
    let numbers = ArrayShape::new(ElementType::F32, [1, 2, 3]).unwrap();
    assert!(numbers.is_static());
    // A static size can't be what stands for an unbounded one.
    assert_eq!(
        ArrayShape::new(
            ElementType::F32,
            [Dimension::Unbounded, Dimension::Static(i64::MIN)]
        ),
        Err(ShapeError::NegativeSize {
            dimension: 1,
            size: i64::MIN
        })
    );
}

#[test]
fn dynamic_dimensions_are_set_copied_and_cleared() {
    let before = array("f32[8,<=9]{0,1:T(2)S(1)M(16)}");
    assert_eq!(
        before.with_static_dimensions().unwrap(),
        array("f32[8,9]{0,1:T(2)S(1)}")
    );
    // XLA leaves the size at -2^63.
    assert!(shape("(f32[?], s8[])").with_static_dimensions().is_err());
    assert_eq!(
        before
            .with_dynamic_dimensions_of(&array("s8[<=1,1]"))
            .unwrap(),
        array("f32[<=8,9]{0,1:T(2)S(1)M(16)}")
    );
    assert_eq!(
        before.with_dynamic_dimensions_of(&array("s8[1]")),
        Err(ShapeError::Rank {
            found: 1,
            expected: 2
        })
    );
    assert_eq!(
        before.with_dimension(0, Dimension::Unbounded).unwrap(),
        array("f32[?,<=9]{0,1:T(2)S(1)M(16)}")
    );
    assert!(before.with_dimension(0, -1).is_err());
    assert!(array("f32[2]{0:PAD(3)}").with_dimension(0, 4).is_err());
}

/// XLA: ShapeUtilTest.Int4ShapeToHostShape
#[test]
fn host_shapes() {
    let device = shape("(s4[64,128]{0,1:T(8,128)L(8)E(4)S(1)M(8)}, (f32[4], token[]))");
    let host = shape("(s4[64,128]{0,1}, (f32[4], token[]))");
    assert_eq!(device.to_host_shape().unwrap(), host);
    assert!(host.is_host_shape() && !device.is_host_shape());
    for property in ["T(8)", "L(2)", "E(4)", "S(1)", "SC(0:1)", "M(4)"] {
        assert!(!array(&format!("s4[8]{{0:{property}}}")).is_host_shape());
    }
    assert!(array("s4[8]{0:PAD(9)}").is_host_shape());
    let packed = shape("(s4[64,128]{0,1:E(4)}, (f32[4], token[]))");
    assert_eq!(host.with_packed_elements(true).unwrap(), packed);
    assert_eq!(packed.with_packed_elements(false).unwrap(), host);
    // 2^60 elements of 4 bits fit 63 bits, of 8 bits they do not.
    let large = array("s4[1152921504606846976]{0:E(4)}");
    assert!(matches!(
        large.to_host_shape(),
        Err(ShapeError::Overflow { .. })
    ));
}

#[test]
fn other_element_types() {
    for (before, element_type, after) in [
        (
            "(f32[2], (s8[3], token[]))",
            ElementType::U16,
            "(u16[2], (u16[3], token[]))",
        ),
        ("s4[9]{0:E(4)}", ElementType::U4, "u4[9]{0:E(4)}"),
        ("s4[9]{0:E(4)}", ElementType::Pred, "pred[9]{0}"),
        ("s4[9]{0:E(4)}", ElementType::U8, "u8[9]{0}"),
        // XLA leaves E(4) here.
        ("s4[9]{0:E(4)}", ElementType::U2, "u2[9]{0:E(2)}"),
        ("s2[9]{0:E(2)}", ElementType::S4, "s4[9]{0:E(4)}"),
        // XLA drops an element size that is wide enough.
        ("f32[9]{0:E(64)}", ElementType::F16, "f16[9]{0:E(64)}"),
        ("f16[9]{0:E(32)}", ElementType::F64, "f64[9]{0}"),
        ("f32[9]{0:E(32)}", ElementType::F16, "f16[9]{0}"),
    ] {
        let found = shape(before).with_element_type(element_type).unwrap();
        assert_eq!(found, shape(after));
    }
    assert_eq!(
        array("f32[2]{0:PAD(3;lowest)}").with_element_type(ElementType::C64),
        Err(ShapeError::NoSuchPaddingValue {
            element_type: ElementType::C64,
            value: minormajor_core::PaddingValue::Lowest
        })
    );
    assert_eq!(
        array("c64[2,<=3]{0,1:T(8,128)S(1)}")
            .complex_component()
            .unwrap(),
        array("f32[2,<=3]{0,1:T(8,128)S(1)}")
    );
    let error = array("f32[2]").complex_component().unwrap_err().to_string();
    assert_eq!(error, "expected a complex element type, found f32");
}
