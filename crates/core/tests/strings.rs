//! Shapes and layouts as text, and bytes from a fuzzer.

use minormajor_core::{
    ElementType, Layout, PaddingValue, ParseOptions, ProgramShape, Shape, SplitConfig, Tile,
    TileDimension,
};

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

/// XLA: LayoutTest.ToStringForEmpty
/// XLA: LayoutTest.ToStringForMinorToMajorOnly
/// XLA: LayoutTest.ToStringForTiles
/// XLA: LayoutTest.ToStringForTileWithCombinedDimensions
/// XLA: LayoutTest.ToStringForTailPaddingAlignment
/// XLA: LayoutTest.ToStringForElementSize
/// XLA: LayoutTest.ToStringForMemorySpace
/// XLA: LayoutTest.ToStringForSplitConfigs
/// XLA: LayoutTest.ToStringForDynamicShapeMetadataPrefixBytes
/// XLA: LayoutTest.ToStringForMutipleProperties
/// XLA: LayoutTest.StreamOut
#[test]
fn layouts_print_their_properties() {
    let order = |order: &[i64]| Layout::new(order.iter().copied()).unwrap();
    let combined = [
        TileDimension::Combine,
        TileDimension::Size(128),
        TileDimension::Combine,
    ];
    for (layout, text) in [
        (order(&[]), "{}"),
        (order(&[4, 5, 6, 3, 2, 1, 0]), "{4,5,6,3,2,1,0}"),
        (
            order(&[3, 2, 1, 0])
                .with_tiles([Tile::new([42, 123]), Tile::new([4, 5])])
                .unwrap(),
            "{3,2,1,0:T(42,123)(4,5)}",
        ),
        (
            order(&[0]).with_tiles([Tile::new(combined)]).unwrap(),
            "{0:T(*,128,*)}",
        ),
        (
            order(&[1, 0]).with_tail_padding_alignment(100).unwrap(),
            "{1,0:L(100)}",
        ),
        (
            order(&[1, 0]).with_element_size_in_bits(42).unwrap(),
            "{1,0:E(42)}",
        ),
        (order(&[1, 0]).with_memory_space(3), "{1,0:S(3)}"),
        (
            order(&[1, 0])
                .with_split_configs([SplitConfig::new(0, [3]), SplitConfig::new(1, [0x5, 9])])
                .unwrap(),
            "{1,0:SC(0:3)(1:5,9)}",
        ),
        (
            order(&[1, 0])
                .with_dynamic_shape_metadata_prefix_bytes(123)
                .unwrap(),
            "{1,0:M(123)}",
        ),
        (
            order(&[1, 0])
                .with_tiles([Tile::new([42, 123])])
                .and_then(|layout| layout.with_tail_padding_alignment(9))
                .and_then(|layout| layout.with_element_size_in_bits(8))
                .map(|layout| layout.with_memory_space(5))
                .and_then(|layout| layout.with_split_configs([SplitConfig::new(1, [2])]))
                .and_then(|layout| layout.with_dynamic_shape_metadata_prefix_bytes(7))
                .and_then(|layout| layout.with_padding([3, 4], PaddingValue::One))
                .unwrap(),
            "{1,0:T(42,123)L(9)E(8)S(5)SC(1:2)M(7)PAD(3,4;one)}",
        ),
    ] {
        assert_eq!(layout.to_string(), text);
        assert_eq!(text.parse(), Ok(layout));
    }
}

/// No valid layout has these, so none is printed; reading them is an error that names them.
///
/// XLA: LayoutTest.ToStringForIndexPrimitiveType
/// XLA: LayoutTest.ToStringForPointerPrimitiveType
/// XLA: LayoutTest.ToStringForPhysicalShape
#[test]
fn properties_of_sparse_layouts_are_named() {
    for (text, name) in [
        ("{1,0:#(u32)}", "#(..)"),
        ("{1,0:*(u32)}", "*(..)"),
        ("{1,0:P(s32[10]{0})}", "P(..)"),
        ("{1,0:D(D,C)}", "D(..)"),
    ] {
        let error = text.parse::<Layout>().unwrap_err();
        assert_eq!(error.column(), 6);
        assert!(error.to_string().contains(name), "{error}");
    }
}

/// XLA: LayoutTest.LayoutToFromProto
/// XLA: LayoutTest.LayoutToFromProtoInplace
#[test]
fn layouts_survive_their_proto() {
    for text in [
        "{}",
        "{1,3,2,0}",
        "{0,1:T(10,30)(4,3)}",
        "{3,2,1,0:T(42,123)(4,5)}",
        "{1,0:L(8)E(33)S(1)}",
        "{1,0:S(300)}",
        "{1,0:SC(0:3)(1:4,5)}",
        "{1,0:M(12)}",
        // XLA can't read this one back.
        "{2,1,0:T(2,*,128)}",
        "{1,0:PAD(2,3;unknown)}",
    ] {
        let layout: Layout = text.parse().unwrap();
        let read = Layout::from_proto_bytes(&layout.to_proto_bytes());
        assert_eq!(read, Ok(layout), "{text}");
    }
}

/// XLA: LayoutUtilTest.HumanStringWithTiling
#[test]
fn shapes_print_their_tiles() {
    for text in [
        "f32[2,3,4]{0,1,2}",
        "f32[2,3,4]{0,1,2:T(512,1024)}",
        "f32[2,3,4]{0,1,2:T(512)}",
        "bf16[2,3,4]{1,2,0:T(16,256)(2,1)}",
        "pred[8,8,8]{0,2,1:T(8,128)}",
        "bf16[2,3,1004]{2,1,0:T(2,*,128)}",
        "bf16[8,2,3,1004]{3,2,1,0:T(2,*,*,128)}",
    ] {
        assert_eq!(shape(text).to_string(), text);
    }
}

/// XLA: ShapeTest.ShapeToString
/// XLA: ShapeTest.DynamicShapeToString
/// XLA: ShapeTest.ShapeToFromProto
/// XLA: ShapeTest.ShapeToFromProtoInplace
#[test]
fn shapes_print_with_and_without_layouts() {
    for (text, without) in [
        ("opaque[]", "opaque[]"),
        ("token[]", "token[]"),
        ("f32[]", "f32[]"),
        ("f32[]{:T(256)}", "f32[]"),
        ("u32[1,2]{1,0}", "u32[1,2]"),
        ("s32[3,4]{0,1}", "s32[3,4]"),
        ("f32[<=23,44,<=55]{2,1,0}", "f32[<=23,44,<=55]"),
        ("f32[<=23,44,?]{2,1,0}", "f32[<=23,44,?]"),
        ("b(f32[2]{0})", "b(f32[2])"),
        (
            "((opaque[], f32[], u32[1,2]{1,0}, s32[3,4]{0,1}), u32[1,2]{1,0}, token[])",
            "((opaque[], f32[], u32[1,2], s32[3,4]), u32[1,2], token[])",
        ),
        (
            "(s8[], s8[], s8[], s8[], s8[], /*index=5*/s8[2]{0})",
            "(s8[], s8[], s8[], s8[], s8[], /*index=5*/s8[2])",
        ),
    ] {
        let shape = shape(text);
        assert_eq!(shape.to_string(), text);
        assert_eq!(shape.without_layout().to_string(), without);
        assert_eq!(Shape::from_proto_bytes(&shape.to_proto_bytes()), Ok(shape));
    }
    let dynamic = shape("f32[<=23,44,<=55]");
    let one_less = dynamic.with_dynamic_dimension(&[], 2, false).unwrap();
    assert_eq!(one_less.without_layout().to_string(), "f32[<=23,44,55]");
}

/// XLA: ShapeTest.ProgramShapeToString
#[test]
fn programs_print_without_layouts() {
    let parameters = [
        ("arg0", "opaque[]"),
        ("scalar", "f32[]{:T(256)}"),
        ("", "s32[3,4]{0,1}"),
        ("tuple", "(opaque[], f32[], u32[1,2], token[])"),
    ];
    let parameters = parameters.map(|(name, text)| (name, shape(text)));
    let program = ProgramShape::new(parameters, shape("(f32[2]{0})"));
    assert_eq!(
        program.to_string(),
        "(arg0: opaque[], scalar: f32[], (unknown): s32[3,4], \
         tuple: (opaque[], f32[], u32[1,2], token[])) -> (f32[2])"
    );
    let none = ProgramShape::new::<String>([], Shape::nil());
    assert_eq!(none.to_string(), "() -> ()");
}

/// A message field: a tag, a length, the bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

/// Protos that a fuzzer of XLA's found, or of their kind: each is an error, none aborts.
///
/// XLA: ShapeUtilTest.B_250640044
/// XLA: ShapeUtilTest.B_251055887
/// XLA: ShapeUtilTest.B_385192799
#[test]
fn protos_from_a_fuzzer_are_errors() {
    const S8: u8 = ElementType::S8.number() as u8;
    let physical_tuple = field(10, &[&[0x10, 13][..], &field(4, &[])].concat());
    let sparse_layout = [&field(1, &[0])[..], &field(9, &[1]), &physical_tuple].concat();
    let array = [
        &[0x10, S8][..],
        &field(3, &[0x80, 0x80, 0x80, 0x80, 0x80, 4]),
        &field(5, &sparse_layout),
        &field(6, &[0]),
    ]
    .concat();
    let in_tuple = [&[0x10, 13][..], &field(4, &array)].concat();
    let sizes = [
        0, 8, 0, 0, 4, 1, 1, 6, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 1,
    ];
    let repeated_order = [
        &[0x10, S8][..],
        &field(3, &sizes),
        &field(5, &field(1, &[1, 3, 0, 5, 4, 6, 8, 7, 6, 9])),
    ]
    .concat();
    let buffer_of_tuple = [&[0x10, 34][..], &field(4, &[0x10, 13])].concat();
    let empty_buffer = vec![0x10, 34];
    let wrong_type = [
        0x10, 0xce, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
    ];
    for (bytes, part) in [
        (in_tuple, "a physical shape"),
        (repeated_order, "minor_to_major[8] is 6"),
        (buffer_of_tuple, "kind buffer"),
        (empty_buffer, "kind buffer"),
        (wrong_type.to_vec(), "-562 is no element type"),
    ] {
        let error = Shape::from_proto_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// XLA's check of sizes depends on the order of the dimensions: a 0 that comes late does not
/// save it. Ours does not: without elements there is nothing to count.
#[test]
fn a_zero_size_saves_the_others() {
    let large = 1i64 << 62;
    for (text, xla) in [
        (format!("f32[0,{large},{large}]"), true),
        (format!("f32[{large},{large},0]"), false),
    ] {
        // Left to right, from the width of an element on.
        let sizes = text[4..text.len() - 1]
            .split(',')
            .map(|size| size.parse().unwrap());
        let product = sizes.into_iter().try_fold(4i64, i64::checked_mul);
        assert_eq!(product.is_some(), xla);
        assert!(ParseOptions::default().parse(&text).is_ok());
    }
    assert!(format!("f32[{}]", 1i64 << 61).parse::<Shape>().is_err());
}
