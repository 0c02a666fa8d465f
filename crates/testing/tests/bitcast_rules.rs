//! The bitcast questions of XLA's tests, and where our answers are better.

use minormajor_core::bitcast::{
    Bitcast, Decomposition, NormalizedTranspose, Operation, TransposeReshapeTranspose,
    UnitDimensions, align_layouts, deduce_transpose_dimensions, is_reshape_or_transpose_bitcast,
};
use minormajor_core::{ArrayShape, Layout, Shape};

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text
        .parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    shape.as_array().unwrap().clone()
}

#[track_caller]
fn is_free(operand: &str, result: &str, operation: &Operation) -> bool {
    let (operand, result) = (array(operand), array(result));
    Bitcast::new(&operand, &result, operation)
        .unwrap()
        .is_free()
}

#[track_caller]
fn reshape_is_free(operand: &str, result: &str) -> bool {
    is_free(operand, result, &Operation::Reshape)
}

fn transpose(dimensions: &[i64]) -> Operation {
    Operation::Transpose {
        dimensions: dimensions.to_vec(),
    }
}

/// XLA: ShapeUtilTest.ReshapeIsBitcast_3x4_6x2
#[test]
fn a_reshape_of_rows_is_free_in_row_major_order_only() {
    for (operand, result, free) in [
        ("f32[3,4]{1,0}", "f32[6,2]{1,0}", true),
        ("f32[3,4]{1,0}", "f32[6,2]{0,1}", false),
        ("f32[3,4]{0,1}", "f32[6,2]{1,0}", false),
        ("f32[3,4]{0,1}", "f32[6,2]{0,1}", false),
    ] {
        assert_eq!(reshape_is_free(operand, result), free, "{operand} {result}");
    }
}

/// XLA: ShapeUtilTest.ReshapeIsBitcast_3x2x2_6x2_Dim1IsMostMinor
#[test]
fn the_minor_dimension_may_stand_in_the_middle() {
    assert!(reshape_is_free("f32[3,2,2]{1,0,2}", "f32[6,2]{0,1}"));
}

/// XLA: AlgebraicSimplifierTest.ReshapeIsBitcast_3x2x2_6x2_Dim0IsMostMinor
#[test]
fn the_minor_dimension_may_not_be_the_first() {
    assert!(!reshape_is_free("f32[3,2,2]{0,1,2}", "f32[6,2]{0,1}"));
}

/// XLA: ShapeUtilTest.ReshapeIsBitcastIgnoreElementType
#[test]
fn a_reshape_may_leave_types_of_one_width_aside() {
    let (f32s, s32s, f16s) = (array("f32[3,4]"), array("s32[6,2]"), array("f16[6,2]"));
    assert!(Bitcast::new(&f32s, &s32s, &Operation::Reshape).is_err());
    let ignoring = |result| {
        let bitcast = Bitcast::ignoring_element_type(&f32s, result, &Operation::Reshape);
        bitcast.unwrap().is_free()
    };
    assert!(ignoring(&s32s));
    // XLA leaves the width aside too.
    assert!(!ignoring(&f16s));
}

/// XLA: ShapeUtilTest.TransposeIsBitcastIgnoreElementType
#[test]
fn a_transpose_may_leave_types_of_one_width_aside() {
    let (f32s, s32s) = (array("f32[10,20]{1,0}"), array("s32[20,10]{0,1}"));
    assert!(Bitcast::new(&f32s, &s32s, &transpose(&[1, 0])).is_err());
    let bitcast = Bitcast::ignoring_element_type(&f32s, &s32s, &transpose(&[1, 0]));
    assert!(bitcast.unwrap().is_free());
}

/// XLA: ShapeUtilTest.IsReshapeOrTransposeBitcast
#[test]
fn reshapes_and_transposes_are_told_from_other_bitcasts() {
    for (operand, result, expected) in [
        ("f32[10,20]{1,0}", "f32[200]{0}", true),
        ("f32[10,20]{1,0}", "f32[20,10]{0,1}", true),
        ("f32[10,20]{1,0}", "f32[20,10]{1,0}", true),
        ("f32[6,4]{0,1}", "f32[3,2,4]{2,1,0}", false),
        ("f32[10,20]{1,0}", "f32[10,10]{1,0}", false),
        // With tiles, what XLA takes for a reshape is none.
        ("f32[16,128]{1,0:T(8,128)}", "f32[2048]{0}", true),
        ("f32[10,20]{1,0:T(8,128)}", "f32[200]{0}", false),
    ] {
        let found = is_reshape_or_transpose_bitcast(&array(operand), &array(result));
        assert_eq!(found, Ok(expected), "{operand} {result}");
    }
}

/// XLA: ShapeUtilTest.DeduceTransposeDimensionsForBitcast
#[test]
fn layouts_say_which_transpose_a_bitcast_is() {
    for (operand, result, expected) in [
        ("f32[5,3]{1,0}", "f32[3,5]{0,1}", vec![1, 0]),
        ("f32[2,3,4]{2,1,0}", "f32[4,2,3]{0,2,1}", vec![2, 0, 1]),
        ("f32[2,3]{1,0}", "f32[2,3]{1,0}", vec![0, 1]),
        ("f32[3,5]{1,0:T(2,2)}", "f32[5,3]{0,1:T(2,2)}", vec![1, 0]),
    ] {
        let found = deduce_transpose_dimensions(&array(operand), &array(result));
        assert_eq!(found, Ok(Some(expected)), "{operand} {result}");
    }
}

/// XLA: ShapeUtilTest.DeduceTransposeDimensionsForBitcastNegative
#[test]
fn sizes_and_tiles_say_that_a_bitcast_is_no_transpose() {
    for (operand, result) in [
        ("f32[3,5]{1,0}", "f32[3,5]{0,1}"),
        ("f32[3,5]{1,0}", "f32[15]{0}"),
        ("f32[3,5]{1,0}", "f32[3,7]{1,0}"),
        ("f32[3,5]{1,0}", "f16[5,3]{0,1}"),
        // Here XLA says 1,0.
        ("f32[3,5]{1,0:T(2,2)}", "f32[5,3]{0,1}"),
        ("f32[3,5]{1,0}", "f32[5,3]{0,1:PAD(8,3)}"),
    ] {
        let found = deduce_transpose_dimensions(&array(operand), &array(result));
        assert_eq!(found, Ok(None), "{operand} {result}");
    }
}

#[track_caller]
fn decomposed(operand: &str, result: &str) -> Option<Decomposition> {
    Decomposition::new(&array(operand), &array(result)).unwrap()
}

/// XLA: ShapeUtilTest.DecomposeBitcastToReshape
#[test]
fn a_bitcast_that_is_a_reshape() {
    let found = decomposed("f32[1,16,1,17,3]{4,3,2,1,0}", "f32[16,51]{1,0}");
    assert_eq!(found, Some(Decomposition::Reshape));
}

/// XLA: ShapeUtilTest.DecomposeBitcastToReshape2
#[test]
fn a_bitcast_that_is_a_reshape_in_another_order() {
    let found = decomposed("f32[17,3,1,16]{1,0,3,2}", "f32[51,16]{0,1}");
    assert_eq!(found, Some(Decomposition::Reshape));
    // Of reshape and transpose, the reshape.
    let found = decomposed("f32[3,5]{1,0}", "f32[3,5]{1,0}");
    assert_eq!(found, Some(Decomposition::Reshape));
}

/// XLA: ShapeUtilTest.DecomposeBitcastToTranspose
#[test]
fn a_bitcast_that_is_a_transpose() {
    let found = decomposed("f32[3,16,17]{0,2,1}", "f32[16,17,3]{2,1,0}");
    let expected = Decomposition::Transpose {
        dimensions: vec![1, 2, 0],
    };
    assert_eq!(found, Some(expected));
}

/// The three steps, each of which must be free, as their dimensions and shapes.
#[track_caller]
fn three(operand: &str, result: &str) -> (Vec<usize>, String, String, Vec<usize>) {
    let (operand, result) = (array(operand), array(result));
    let steps = TransposeReshapeTranspose::new(&operand, &result)
        .unwrap()
        .unwrap();
    let dimensions =
        |list: &[usize]| transpose(&list.iter().map(|&d| d as i64).collect::<Vec<_>>());
    let (first, second) = (dimensions(&steps.first), dimensions(&steps.second));
    for (from, to, operation) in [
        (&operand, &steps.transposed, first),
        (&steps.transposed, &steps.reshaped, Operation::Reshape),
        (&steps.reshaped, &result, second),
    ] {
        assert!(
            Bitcast::new(from, to, &operation).unwrap().is_free(),
            "{from} {to}"
        );
    }
    (
        steps.first,
        steps.transposed.to_string(),
        steps.reshaped.to_string(),
        steps.second,
    )
}

/// XLA: ShapeUtilTest.DecomposeBitcastToTrt
#[test]
fn a_bitcast_that_is_three_steps() {
    let (operand, result) = ("f32[3,16,17]{0,2,1}", "f32[17,3,16]{1,0,2}");
    let expected = (
        vec![1, 2, 0],
        "f32[16,17,3]{2,1,0}".to_owned(),
        "f32[16,17,3]{2,1,0}".to_owned(),
        vec![1, 2, 0],
    );
    assert_eq!(three(operand, result), expected);
    // Of its own accord it is one transpose.
    assert!(matches!(
        decomposed(operand, result),
        Some(Decomposition::Transpose { .. })
    ));
    assert!(matches!(
        decomposed("f32[3,4,5]{0,2,1}", "f32[5,12]{0,1}"),
        None | Some(Decomposition::TransposeReshapeTranspose(_))
    ));
}

/// XLA: ShapeUtilTest.DecomposeBitcastToReshapeAndTranspose
#[test]
fn a_bitcast_that_reshapes_then_transposes() {
    let (operand, result) = ("f32[16,17,3]{2,1,0}", "f32[3,272]{0,1}");
    let (first, _, reshaped, second) = three(operand, result);
    assert_eq!((first, second), (vec![0, 1, 2], vec![1, 0]));
    assert_eq!(reshaped, "f32[272,3]{1,0}");
    let found = decomposed(operand, result);
    assert!(matches!(
        found,
        Some(Decomposition::TransposeReshapeTranspose(_))
    ));
}

/// XLA: ShapeUtilTest.DecomposeBitcastToReshapeAndTranspose2
#[test]
fn a_bitcast_that_reshapes_then_transposes_more() {
    let (operand, result) = ("f32[16,17,3,7]{3,2,1,0}", "f32[7,16,51]{0,2,1}");
    let (first, _, reshaped, second) = three(operand, result);
    assert_eq!((first, second), (vec![0, 1, 2, 3], vec![2, 0, 1]));
    assert_eq!(reshaped, "f32[16,51,7]{2,1,0}");
}

/// XLA: ShapeUtilTest.DecomposeBitcastToTransposeAndReshape
#[test]
fn a_bitcast_that_transposes_then_reshapes() {
    let (operand, result) = ("f32[16,17,3]{1,0,2}", "f32[51,16]{1,0}");
    let (first, transposed, _, second) = three(operand, result);
    assert_eq!((first, second), (vec![2, 0, 1], vec![0, 1]));
    assert_eq!(transposed, "f32[3,16,17]{2,1,0}");
    // The tiles and the padding go along.
    let (first, transposed, ..) = three(
        "f32[16,128,3]{1,0,2:T(8,128)PAD(16,128,5)}",
        "f32[3,2,8,128]{3,2,1,0:T(8,128)PAD(5,2,8,128)}",
    );
    assert_eq!(first, [2, 0, 1]);
    assert_eq!(transposed, "f32[3,16,128]{2,1,0:T(8,128)PAD(5,16,128)}");
}

/// XLA: ShapeUtilTest.FailOnNonDecomposableBitcast
#[test]
fn bitcasts_that_are_nothing_of_this() {
    for (operand, result) in [
        ("f32[16,17,3]{2,1,0}", "f16[16,17,3]{2,1,0}"),
        ("f32[16,17]{1,0}", "f32[16,18]{1,0}"),
        // XLA leaves tiles aside and takes these for bitcasts.
        ("f32[16,17]{1,0:T(8,128)}", "f32[272]{0}"),
        ("f32[16,17]{1,0:PAD(16,20)}", "f32[17,16]{0,1}"),
    ] {
        assert_eq!(decomposed(operand, result), None, "{operand} {result}");
    }
}

#[track_caller]
fn normalized(operand: &str, result: &str, dimensions: &[i64]) -> (Vec<i64>, Vec<usize>) {
    let found = NormalizedTranspose::new(&array(operand), &array(result), dimensions).unwrap();
    (found.dimensions().to_vec(), found.permutation().to_vec())
}

/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape
/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_DegenerateDims
#[test]
fn unit_dimensions_and_neighbours_fall_away() {
    assert_eq!(
        normalized("f32[10,1,11,32]", "f32[32,1,10,11]", &[3, 1, 0, 2]),
        (vec![32, 110], vec![1, 0])
    );
    assert_eq!(
        normalized("f32[1,1]", "f32[1,1]", &[1, 0]),
        (vec![], vec![])
    );
    assert_eq!(normalized("f32[]", "f32[]", &[]), (vec![], vec![]));
}

/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape2
/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_TransposeWithGrouping
#[test]
fn groups_move_as_one() {
    assert_eq!(
        normalized("f32[2,3,4,5]", "f32[4,5,2,3]", &[2, 3, 0, 1]),
        (vec![20, 6], vec![1, 0])
    );
    assert_eq!(
        normalized("f32[2,3,4,5,6]", "f32[4,5,2,3,6]", &[2, 3, 0, 1, -1]),
        (vec![20, 6, 6], vec![1, 0, 2])
    );
}

/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_NoTranspose
/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_IdentityWithMerges
#[test]
fn no_transpose_is_one_dimension() {
    assert_eq!(
        normalized("f32[2,1,3,4]", "f32[2,1,3,4]", &[0, 1, 2, 3]),
        (vec![24], vec![0])
    );
}

/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_Simple2D
/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_Simple3D_021
/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_Simple3D_210
/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_Simple4D
#[test]
fn simple_transposes_stay() {
    assert_eq!(
        normalized("f32[128,64]", "f32[64,128]", &[1, 0]),
        (vec![64, 128], vec![1, 0])
    );
    assert_eq!(
        normalized("f32[2,3,5]", "f32[2,5,3]", &[0, 2, 1]),
        (vec![2, 5, 3], vec![0, 2, 1])
    );
    assert_eq!(
        normalized("f32[2,3,5]", "f32[5,3,2]", &[2, 1, 0]),
        (vec![5, 3, 2], vec![2, 1, 0])
    );
    assert_eq!(
        normalized("f32[2,3,5,7]", "f32[7,5,3,2]", &[3, 2, 1, 0]),
        (vec![7, 5, 3, 2], vec![3, 2, 1, 0])
    );
}

/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_NormalizeTo3D
#[test]
fn nchw_to_nhwc_has_three_dimensions() {
    assert_eq!(
        normalized("f32[32,3,224,224]", "f32[32,224,224,3]", &[0, 2, 3, 1]),
        (vec![32, 50176, 3], vec![0, 2, 1])
    );
}

/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_LargeShapeSizeOverflow
#[test]
fn merged_sizes_may_be_beyond_32_bits() {
    assert_eq!(
        normalized("u8[65536,65536,2]", "u8[2,65536,65536]", &[2, 0, 1]),
        (vec![2, 1 << 32], vec![1, 0])
    );
}

/// XLA fails unless both layouts are descending; here the transpose is what memory sees.
///
/// XLA: ShapeUtilTest.GetNormalizedLogicalTransposeShape_InvalidLayout
#[test]
fn transposes_in_any_layout_are_normalized() {
    // The layouts make up for the transpose: nothing moves.
    assert_eq!(
        normalized("f32[2,3]{1,0}", "f32[3,2]{0,1}", &[1, 0]),
        (vec![6], vec![0])
    );
    // A relayout is the transpose that it does in memory.
    assert_eq!(
        normalized("f32[2,3]{1,0}", "f32[2,3]{0,1}", &[0, 1]),
        (vec![3, 2], vec![1, 0])
    );
}

/// XLA: AlignmentTest.AlignLayoutsWithoutTrivialDimensions
#[test]
fn reshapes_have_an_aligned_layout() {
    for (operand, result, expected) in [
        (
            "f32[3,8,5,7,11]{3,2,1,0,4}",
            "f32[4,3,2,7,5,11]",
            "{4,3,2,1,0,5}",
        ),
        (
            "f32[3,8,5,7,11]{3,2,1,0,4}",
            "f32[3,2,4,35,11]",
            "{3,2,1,0,4}",
        ),
        // Tiles stay where they can, or are dropped; padding makes up for strides.
        (
            "f32[16,128]{1,0:T(8,128)}",
            "f32[2,8,128]",
            "{2,1,0:T(8,128)}",
        ),
        ("f32[16,128]{1,0:T(8,128)}", "f32[2048]", "{0}"),
        ("f32[6,3]{1,0:PAD(6,5)}", "f32[2,3,3]", "{2,1,0:PAD(2,3,5)}"),
        ("s4[6,4]{0,1:E(4)}", "s4[2,3,4]", "{1,0,2:E(4)}"),
    ] {
        let aligned = align_layouts(&array(operand), &array(result))
            .unwrap()
            .unwrap();
        let layout: Layout = expected.parse().unwrap();
        assert_eq!(
            aligned.layout(),
            Some(&layout),
            "{operand} {result}: {aligned}"
        );
        assert!(reshape_is_free(operand, &aligned.to_string()));
    }
}

/// XLA: AlignmentTest.AlignLayoutsWithTrivialDimensions
#[test]
fn unit_dimensions_are_aligned_at_the_major_end() {
    let operand = array("f32[1,3,8,1,5,7,1,11,1,1]{5,0,4,2,1,3,6,7,9,8}");
    let aligned = align_layouts(&operand, &array("f32[1,4,1,3,2,7,5,11,1]")).unwrap();
    let order = aligned.unwrap().layout().unwrap().minor_to_major().to_vec();
    assert_eq!(order, [6, 5, 4, 3, 1, 7, 8, 2, 0]);
}

/// XLA: AlignmentTest.AlignLayoutsWithAllTrivialDimensions
#[test]
fn unit_dimensions_alone_are_descending() {
    let aligned = align_layouts(&array("f32[1,1,1,1]{0,1,3,2}"), &array("f32[1,1,1,1,1]"));
    let order = aligned
        .unwrap()
        .unwrap()
        .layout()
        .unwrap()
        .minor_to_major()
        .to_vec();
    assert_eq!(order, [4, 3, 2, 1, 0]);
}

/// XLA: AlignmentTest.AlignLayoutsWithoutTrivialDimensionsWrongInputLayout
/// XLA: AlignmentTest.AlignLayoutsWithoutTrivialDimensionsNonConsecutiveAlignmentPart
#[test]
fn some_reshapes_have_no_aligned_layout() {
    for (operand, result) in [
        ("f32[3,8,5,7,11]{2,3,1,0,4}", "f32[4,3,2,7,5,11]"),
        ("f32[3,8,5,7,11]{3,2,1,0,4}", "f32[4,3,2,5,77]"),
        ("f32[3,5]{1,0:T(8,128)}", "f32[15]"),
    ] {
        let aligned = align_layouts(&array(operand), &array(result));
        assert_eq!(aligned, Ok(None), "{operand} {result}");
    }
}

/// XLA: ShapeUtilTest.DimensionsUnmodifiedByReshape_1x1x1x1_to_1x1x1
/// XLA: ShapeUtilTest.DimensionsUnmodifiedByReshape_1x1x1_to_1x1x1x1
/// XLA: ShapeUtilTest.DimensionsUnmodifiedByReshape_4x1x3x5x6x7_to_2x6x1x5x1x42
#[test]
fn reshapes_leave_dimensions_unmodified() {
    let three = [(0, 0), (1, 1), (2, 2)];
    for (operand, result, expected) in [
        ("f32[1,1,1,1]", "f32[1,1,1]", &three[..]),
        ("f32[1,1,1]", "f32[1,1,1,1]", &three),
        ("f32[4,1,3,5,6,7]", "f32[2,6,1,5,1,42]", &[(3, 3)]),
        ("f32[0,3]", "f32[0,3]", &three[..2]),
        ("f32[0,3]", "f32[0,4]", &[]),
    ] {
        let found = array(operand).dimensions_unmodified_by_reshape(&array(result));
        assert_eq!(found.as_deref(), Ok(expected), "{operand} {result}");
    }
    let (operand, result) = (array("f32[2,3,4]"), array("f32[2,12]"));
    let leaves = |dimensions: &[i64]| {
        operand
            .reshape_leaves_dimensions_unmodified(&result, dimensions)
            .unwrap()
    };
    assert_eq!(leaves(&[0]), Some(vec![0]));
    assert_eq!(leaves(&[-3]), Some(vec![0]));
    assert_eq!(leaves(&[0, 1]), None);
    let same = operand.reshape_leaves_dimensions_unmodified(&operand, &[2, 0]);
    assert_eq!(same, Ok(Some(vec![2, 0])));
    assert!(
        operand
            .reshape_leaves_dimensions_unmodified(&result, &[3])
            .is_err()
    );
    assert!(
        operand
            .dimensions_unmodified_by_reshape(&array("f32[5]"))
            .is_err()
    );
}

/// XLA: ShapeUtilTest.InsertedOrDeleted1SizedDimensions
#[test]
fn unit_dimensions_that_come_and_go() {
    let found = |operand, result| {
        array(operand)
            .inserted_or_deleted_unit_dimensions(&array(result))
            .unwrap()
    };
    let expected = |deleted: &[usize], inserted: &[usize]| {
        Some(UnitDimensions {
            deleted: deleted.to_vec(),
            inserted: inserted.to_vec(),
        })
    };
    assert_eq!(found("f32[1,1,7]", "f32[7,1]"), expected(&[0, 1], &[1]));
    assert_eq!(found("f32[3,4]", "f32[3,1,4]"), expected(&[], &[1]));
    assert_eq!(found("f32[3,4]", "f32[3,4]"), expected(&[], &[]));
    assert_eq!(found("f32[5,2]", "f32[2,5]"), None);
    assert_eq!(found("f32[2,3]", "f32[6,1]"), None);
}

/// XLA's answers, from the orders alone, beside ours.
#[test]
fn tiles_padding_and_unit_dimensions_decide() {
    let stripped = |text: &str| {
        let shape = array(text);
        let order = shape
            .layout()
            .unwrap()
            .minor_to_major()
            .iter()
            .map(|&d| d as i64);
        shape
            .with_layout(Layout::new(order).unwrap())
            .unwrap()
            .to_string()
    };
    // XLA's TransposeIsBitcast: the orders are the same, through the transpose.
    let orders_agree = |operand: &str, result: &str, dimensions: &[i64]| {
        let (operand, result) = (array(operand), array(result));
        let to = result.layout().unwrap().minor_to_major().iter();
        let of_operand = to.map(|&d| dimensions[d] as usize);
        of_operand.eq(operand.layout().unwrap().minor_to_major().iter().copied())
    };
    for (operand, result, dimensions, xla, ours) in [
        (
            "f32[8,128]{1,0:T(8,128)}",
            "f32[16,64]{1,0:T(8,128)}",
            None,
            true,
            false,
        ),
        (
            "f32[16,128]{1,0:T(8,128)}",
            "f32[2,8,128]{2,1,0:T(8,128)}",
            None,
            true,
            true,
        ),
        (
            "f32[16,256]{1,0:T(8,128)}",
            "f32[2,8,256]{2,1,0:T(8,128)}",
            None,
            true,
            true,
        ),
        (
            "f32[12,128]{1,0:T(8,128)}",
            "f32[3,4,128]{2,1,0:T(8,128)}",
            None,
            true,
            false,
        ),
        ("f32[2,3]{1,0:PAD(2,4)}", "f32[6]{0}", None, true, false),
        ("f32[2,3]{1,0:PAD(4,3)}", "f32[6]{0}", None, true, true),
        ("f32[6]{0}", "f32[6]{0:T(8)}", None, true, false),
        (
            "f32[2,4,3]{2,1,0:T(*,2)}",
            "f32[8,3]{1,0:T(2)}",
            None,
            true,
            false,
        ),
        (
            "f32[8,128]{1,0}",
            "f32[128,8]{0,1}",
            Some([1, 0]),
            true,
            true,
        ),
        (
            "f32[8,128]{1,0:T(8,128)}",
            "f32[128,8]{0,1:T(8,128)}",
            Some([1, 0]),
            true,
            true,
        ),
        (
            "f32[3,5]{1,0:T(8,128)}",
            "f32[5,3]{0,1:T(2,128)}",
            Some([1, 0]),
            true,
            true,
        ),
        (
            "f32[3,200]{1,0:T(8,128)}",
            "f32[200,3]{0,1:T(2,128)}",
            Some([1, 0]),
            true,
            false,
        ),
        (
            "f32[3,5]{1,0:PAD(3,8)}",
            "f32[5,3]{0,1}",
            Some([1, 0]),
            true,
            false,
        ),
        (
            "f32[1,512]{1,0}",
            "f32[512,1]{1,0}",
            Some([1, 0]),
            false,
            true,
        ),
    ] {
        let name = format!("{operand} {result}");
        let (operation, answer) = match dimensions {
            None => (
                Operation::Reshape,
                reshape_is_free(&stripped(operand), &stripped(result)),
            ),
            Some(dimensions) => (
                transpose(&dimensions),
                orders_agree(operand, result, &dimensions),
            ),
        };
        assert_eq!(answer, xla, "XLA on {name}");
        assert_eq!(is_free(operand, result, &operation), ours, "ours on {name}");
    }
}
