//! Elements, bytes, strides, and questions about the kind of an array.

use minormajor_core::{ArrayShape, Dimension, ElementType, Shape, ShapeError, dimension_names};

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

fn array(text: &str) -> ArrayShape {
    shape(text).as_array().unwrap().clone()
}

/// XLA: ShapeUtilTest.GetDimensionHelperCanNegativeIndex
/// XLA: ShapeUtilTest.GetDimensionHelperExampleInDocumentationTest
/// XLA: ShapeUtilTest.NegativeIndexOobFails
#[test]
fn dimensions_count_from_either_end() {
    let matrix = array("f32[2,3]");
    assert_eq!(matrix.dimension(-1), Ok(Dimension::Static(3)));
    assert_eq!(matrix.dimension(-2), Ok(Dimension::Static(2)));
    assert_eq!(
        array("f32[1,2,3,4]").dimension(-1),
        Ok(Dimension::Static(4))
    );
    for dimension in [-3, 2] {
        let error = matrix.dimension(dimension);
        assert_eq!(
            error,
            Err(ShapeError::NoSuchDimension { dimension, rank: 2 })
        );
    }
}

/// XLA: ShapeUtilTest.Rank1DimensionIndexing
/// XLA: ShapeUtilTest.Rank2DimensionIndexing
/// XLA: ShapeUtilTest.Rank3DimensionIndexing
/// XLA: ShapeUtilTest.Rank4DimensionIndexing
/// XLA: ShapeUtilTest.CreateRank3DimensionVectorFromShape
#[test]
fn dimensions_stand_in_order() {
    for sizes in [&[3][..], &[3, 2], &[3, 2, 7], &[3, 2, 7, 8]] {
        let array = ArrayShape::new(ElementType::F32, sizes).unwrap();
        assert_eq!(array.sizes().unwrap(), sizes);
        for (dimension, &size) in sizes.iter().enumerate() {
            assert_eq!(array.dimensions()[dimension], Dimension::Static(size));
            assert_eq!(array.dimension(dimension as i64), Ok(size.into()));
        }
        assert_eq!(dimension_names(sizes.len()).len() % sizes.len(), 0);
    }
    assert!(array("f32[?]").sizes().is_err());
}

/// XLA: ShapeUtilTest.ElementsIn
/// XLA: ShapeUtilTest.IsZeroElementArray
#[test]
fn elements() {
    for (text, elements) in [
        ("s32[]", 1),
        ("s32[0]", 0),
        ("s32[1]", 1),
        ("s32[1,1]", 1),
        ("s32[2]", 2),
        ("s32[2,1]", 2),
        ("s32[3,5]", 15),
        ("s32[3,0,5]", 0),
        ("s32[0,3,0]", 0),
        ("s32[1,3,5]", 15),
        ("s32[13,17]", 221),
        ("s32[13,<=17]", 221),
    ] {
        let array = array(text);
        assert_eq!(array.elements(), Some(elements), "{text}");
        assert_eq!(array.static_extent_product(), elements);
        assert_eq!(array.is_zero_element_array(), elements == 0, "{text}");
        assert_eq!(shape(text).is_zero_element_array(), elements == 0);
        let twice = shape(&format!("({text}, ({text}))"));
        assert_eq!(twice.elements_recursive(), Ok(2 * elements));
        assert!(!twice.is_zero_element_array());
    }
    assert!(!Shape::nil().is_zero_element_array());
    assert_eq!(Shape::nil().elements_recursive(), Ok(0));
    assert_eq!(array("s32[2,?,3]").elements(), None);
    assert_eq!(array("s32[2,?,3]").static_extent_product(), 6);
    assert_eq!(
        shape("(s32[2], token[])").elements_recursive(),
        Err(ShapeError::NoSize {
            found: "token",
            what: "elements"
        })
    );
    assert_eq!(
        shape("(s32[], f32[3,?])").elements_recursive(),
        Err(ShapeError::Unbounded { dimension: 1 })
    );
    let part = "pred[576460752303423488]";
    let many = format!("({})", [part; 16].join(", "));
    assert_eq!(
        shape(&many).elements_recursive(),
        Err(ShapeError::TupleOverflow { what: "elements" })
    );
}

/// XLA: ShapeUtilTest.ByteSizeOfWithoutPadding
/// XLA: ShapeUtilTest.ByteSizeOfElementsRecursive
#[test]
fn byte_sizes() {
    for (text, scalar, matrix) in [("f32", 4, 800), ("f64", 8, 1600), ("c64", 8, 1600)] {
        let element_type: ElementType = text.parse().unwrap();
        assert_eq!(element_type.byte_width(), scalar);
        let scalar = i64::from(scalar);
        assert_eq!(shape(&format!("{text}[]")).byte_size(None), Ok(scalar));
        assert_eq!(ArrayShape::scalar(element_type).dense_bytes(), Some(scalar));
        let text = format!("{text}[10,20]");
        assert_eq!(shape(&text).byte_size(None), Ok(matrix));
        assert_eq!(shape(&format!("b({text})")).byte_size(None), Ok(matrix));
        let tuple = shape(&format!("({text}, (token[], {text}))"));
        assert_eq!(tuple.dense_bytes_recursive(), Ok(2 * matrix));
        assert_eq!(tuple.byte_size(Some(8)), Ok(16));
        assert!(tuple.byte_size(None).is_err());
    }
    assert_eq!(Shape::token().byte_size(None), Ok(0));
    assert_eq!(Shape::opaque().byte_size(Some(4)), Ok(4));
    assert!(Shape::opaque().byte_size(None).is_err());
    assert!(shape("(opaque[])").dense_bytes_recursive().is_err());
    // Neither tiles nor padding are the elements' own.
    assert_eq!(shape("f32[3,5]{1,0:T(8,128)}").byte_size(None), Ok(60));
}

/// XLA: ShapeUtilTest.UnpackedByteStrides
/// XLA: ShapeUtilTest.ByteStridesFailsOnFractionalElementSize
#[test]
fn byte_strides() {
    for (text, strides) in [
        ("f32[3,5,7]", vec![140, 28, 4]),
        ("f16[5,7,9]", vec![126, 18, 2]),
        ("f32[3,5,7]{0,2,1}", vec![4, 84, 12]),
        ("f32[]", vec![]),
        ("f32[0,3]", vec![12, 4]),
    ] {
        assert_eq!(array(text).byte_strides(), Some(strides.clone()), "{text}");
        assert_eq!(array(text).unpacked_byte_strides(), Ok(strides), "{text}");
    }
    let packed = array("s4[3,5]{1,0:E(4)}");
    assert_eq!(packed.byte_strides(), None);
    assert_eq!(packed.unpacked_byte_strides(), Ok(vec![5, 1]));
    // XLA's strides are without padding and tiles in both functions.
    let padded = array("f32[2,3]{0,1:PAD(4,5)}");
    assert_eq!(padded.byte_strides(), Some(vec![4, 16]));
    assert_eq!(padded.unpacked_byte_strides(), Ok(vec![4, 8]));
    let bare = array("f32[2]").without_layout();
    assert!(bare.unpacked_byte_strides().is_err() && bare.byte_strides().is_none());
    assert!(array("f32[?]").unpacked_byte_strides().is_err());
}

/// XLA: LayoutUtilTest.StridesIsMajorToMinor
/// XLA: LayoutUtilTest.StridesNotMajorToMinor
/// XLA: LayoutUtilTest.StridesNotMajorToMinorInnerMostStrideIncorrect
#[test]
fn strides_of_major_to_minor() {
    let array = array("f32[8,9,10,11]");
    for (strides, expected) in [
        (&[3960, 440, 44, 4][..], true),
        (&[880, 440, 44, 4], false),
        (&[7920, 880, 88, 8], false),
        (&[3960, 440, 44], false),
    ] {
        assert_eq!(array.byte_strides_are_major_to_minor(strides), expected);
    }
}

/// XLA compares the strides of dimensions of size 1, too, and those of empty arrays.
#[test]
fn strides_that_move_nothing_do_not_count() {
    let xla_says = |expected: &[i64], strides: &[i64]| expected == strides;
    for (text, strides) in [
        ("f32[2,1,3]", [12, 99, 4]),
        ("f32[1,2,3]", [0, 12, 4]),
        ("f32[2,0,3]", [7, 7, 7]),
    ] {
        let array = array(text);
        let exact = array.byte_strides().unwrap();
        assert!(!xla_says(&exact, &strides));
        assert!(array.byte_strides_are_major_to_minor(&strides), "{text}");
        assert!(array.byte_strides_are_major_to_minor(&exact), "{text}");
    }
}

/// XLA: ShapeUtilTest.Int4ShapeSize
/// XLA: XlaShapeUtilTest.ZeroSize
#[test]
fn packed_and_empty_arrays() {
    for (text, bytes) in [
        ("s4[64,128]{1,0:E(4)}", 64 * 128 / 2),
        ("s4[9216,6144]{1,0:T(64,128)(8,1)E(4)}", 9216 * 6144 / 2),
        ("s4[0,64,128]{2,1,0:E(4)}", 0),
        ("s4[128,0,64]{2,1,0:E(4)}", 0),
        ("s4[64,128,0]{2,1,0:E(4)}", 0),
        ("s4[0,63,127]{2,1,0:E(4)}", 0),
        ("s4[127,0,63]{2,1,0:E(4)}", 0),
        ("s4[63,127,0]{2,1,0:E(4)}", 0),
    ] {
        let array = array(text);
        assert_eq!(array.allocated_bytes(), Some(bytes), "{text}");
        assert_eq!(array.array_data_bytes(), Some(bytes), "{text}");
    }
    assert_eq!(array("f32[?]").array_data_bytes(), None);
}

#[test]
fn serialized_bytes() {
    for (text, arrays) in [
        ("f32[2,3]", 24),
        ("pred[17]", 3),
        ("s4[17]{0:E(4)}", 9),
        ("u2[17]", 5),
        ("s1[17]", 3),
        ("f32[2,<=3]", 24 + 8),
        ("(f32[2], (pred[1], u8[0]))", 8 + 1),
        ("()", 0),
    ] {
        let shape = shape(text);
        let head = 8 + shape.to_proto_bytes().len() as i64;
        assert_eq!(shape.serialized_bytes(), Ok(head + arrays), "{text}");
    }
    assert!(shape("(f32[], token[])").serialized_bytes().is_err());
    assert!(shape("f32[?]").serialized_bytes().is_err());
}

/// XLA: ShapeUtilTest.HasDegenerateDimensions
#[test]
fn degenerate_dimensions() {
    for (text, degenerate) in [
        ("f32[3,1,2]", true),
        ("f32[3,1,1]", true),
        ("f32[3,<=1,2]", true),
        ("f32[3,3,5]", false),
        ("f32[3,0,5]", false),
        ("f32[]", false),
    ] {
        assert_eq!(
            array(text).has_degenerate_dimensions(),
            degenerate,
            "{text}"
        );
    }
    assert!(array("f32[]").is_scalar() && !array("f32[1]").is_scalar());
    assert!(array("f32[1,1]").is_effective_scalar());
    assert!(!array("f32[1,0]").is_effective_scalar());
    assert!(array("f32[]").is_scalar_with_element_type(ElementType::F32));
    assert!(!array("f32[]").is_scalar_with_element_type(ElementType::S8));
    assert!(!array("f32[1]").is_scalar_with_element_type(ElementType::F32));
}

/// XLA: ShapeUtilTest.IsEffectivelyMostMajorDimension
#[test]
fn effectively_most_major() {
    for (text, dimension, expected) in [
        ("f32[1,1,16,1,279]{4,0,1,2,3}", 2, true),
        ("f32[1,1,16,1,279]{4,1,2,3,0}", 2, true),
        ("f32[1,1,16,1,279]{0,1,2,3,4}", 2, false),
        ("f32[1,1,16,1,279]{0,1,2,3,4}", 4, true),
        ("f32[1,1,16,1,1]{0,1,2,3,4}", -1, true),
    ] {
        let found = array(text).is_effectively_most_major_dimension(dimension);
        assert_eq!(found, Ok(expected), "{text} {dimension}");
    }
    assert!(
        array("f32[2]")
            .is_effectively_most_major_dimension(1)
            .is_err()
    );
    let bare = array("f32[2]").without_layout();
    assert!(bare.is_effectively_most_major_dimension(0).is_err());
}

/// XLA: ShapeUtilTest.LastDimIsMinorMost
#[test]
fn the_last_dimension_is_minor_most() {
    for (text, expected) in [
        ("f32[2,3]{1,0}", true),
        ("f32[2,3,4]{2,0,1}", true),
        ("f32[2,3]{0,1}", false),
        ("f32[]", true),
    ] {
        assert_eq!(array(text).last_dimension_is_minor_most(), expected);
    }
    assert!(
        array("f32[2,3]{0,1}")
            .without_layout()
            .last_dimension_is_minor_most()
    );
}

#[test]
fn interleaved_arrays() {
    for (text, factor) in [
        ("bf16[1024]{0:T(1024)(128)(2,1)}", Some(2)),
        ("u8[4096]{0:T(4096)(512)(4,1)}", Some(4)),
        ("bf16[1024]{0:T(1024)(128)}", None),
        ("bf16[1024]{0:T(1024)(128)(2)}", None),
        ("bf16[8,128]{1,0:T(8,128)(2,1)(2,1)}", None),
        ("bf16[1024]", None),
    ] {
        assert_eq!(array(text).packed_factor_for_1d_interleaved_array(), factor);
    }
}
