//! Checks of shapes read from text and from bytes.

use minormajor_core::{AddressMap, ArrayShape, Location, ParseOptions, Shape, ShapeKind};

/// Reads any text as a shape. An error must point into the text; a shape must satisfy
/// [`check_shape`] and be the same after its text and its proto.
pub fn check_text(text: &str) {
    let without_default = ParseOptions::default().keep_missing_layouts().parse(text);
    if let Ok(shape) = &without_default {
        check_shape(shape);
    }
    let shape: Shape = match text.parse() {
        Ok(shape) => shape,
        Err(error) => {
            let end = text.chars().count() + 1;
            let column = error.column();
            assert!((1..=end).contains(&column), "{error}: past column {end}");
            return;
        }
    };
    check_shape(&shape);
    assert_eq!(
        shape.to_string().parse().as_ref(),
        Ok(&shape),
        "after its text"
    );
    assert!(
        without_default.is_ok(),
        "{shape}: a shape only with its layout"
    );
}

/// Reads any bytes as a serialized shape, which must then satisfy [`check_shape`].
pub fn check_proto(bytes: &[u8]) {
    if let Ok(shape) = Shape::from_proto_bytes(bytes) {
        check_shape(&shape);
    }
}

/// What holds for every shape: its text reads back to something that prints the same,
/// its proto to the same shape and the same bytes, and every query answers.
pub fn check_shape(shape: &Shape) {
    let text = shape.to_string();
    let options = ParseOptions::default().keep_missing_layouts();
    match options.parse(&text) {
        Ok(again) => assert_eq!(again.to_string(), text, "printed again"),
        Err(error) => panic!("{text} doesn't read back: {error}"),
    }

    let bytes = shape.to_proto_bytes();
    match Shape::from_proto_bytes(&bytes) {
        Ok(again) => {
            assert_eq!(&again, shape, "{text}: after its proto");
            assert_eq!(again.to_proto_bytes(), bytes, "{text}: serialized again");
        }
        Err(error) => panic!("the proto of {text} doesn't read back: {error}"),
    }

    let mut waiting = vec![shape];
    while let Some(shape) = waiting.pop() {
        match shape.kind() {
            ShapeKind::Array(array) | ShapeKind::Buffer(array) => check_array(array),
            ShapeKind::Tuple(tuple) => waiting.extend(tuple.elements()),
            ShapeKind::Token | ShapeKind::Opaque => {}
        }
    }
}

fn check_array(array: &ArrayShape) {
    let dense = array.dense_bytes();
    let allocated = array.allocated_bytes();
    let elements = array.elements();
    assert!(array.true_rank() <= array.rank(), "{array}");
    assert!(array.element_bits() > 0, "{array}");
    if let Some(strides) = array.byte_strides() {
        assert_eq!(strides.len(), array.rank(), "{array}");
    }
    let Ok(map) = AddressMap::new(array) else {
        return;
    };
    assert_eq!(elements, Some(map.elements()), "{array}");
    assert_eq!(
        array.allocated_elements(),
        Some(map.allocated_elements()),
        "{array}"
    );
    assert!(map.elements() <= map.allocated_elements(), "{array}");
    assert!(
        dense.is_some() && dense <= allocated,
        "{array}: {dense:?} of {allocated:?}"
    );
    check_positions(array, &map);
    check_indices(array, &map);
}

/// Positions from all over the buffer lead to an element and back, or to padding.
fn check_positions(array: &ArrayShape, map: &AddressMap) {
    let end = map.allocated_elements();
    assert!(map.location(-1).is_err(), "{array}");
    assert!(map.location(end).is_err(), "{array}");
    let near_start = 0..end.min(20);
    for position in near_start.chain([end / 3, end / 2, end - 1]) {
        if !(0..end).contains(&position) {
            continue;
        }
        match map.location(position) {
            Ok(Location::Element(index)) => {
                assert_eq!(map.position(&index), Ok(position), "{array}: {index:?}");
            }
            Ok(Location::Padding {
                nearest: Some(index),
            }) => {
                let nearest = map.position(&index);
                assert!(nearest.is_ok_and(|at| at != position), "{array}: {index:?}");
            }
            Ok(Location::Padding { nearest: None }) => {
                assert_eq!(map.elements(), 0, "{array}: {position}");
            }
            Err(error) => panic!("{array}: {error}"),
        }
    }
}

/// The first and the last element, and some between, lead to a position and back.
fn check_indices(array: &ArrayShape, map: &AddressMap) {
    if map.elements() == 0 {
        return;
    }
    for part in 0..=5 {
        let index: Vec<i64> = map
            .sizes()
            .iter()
            .enumerate()
            // Neighbours among the dimensions get different parts of their sizes.
            .map(|(dimension, size)| match part {
                0 => 0,
                5 => size - 1,
                _ => (size - 1) / (1 + (part + dimension as i64) % 5),
            })
            .collect();
        let position = map.position(&index).expect("an index inside the sizes");
        assert_eq!(
            map.location(position),
            Ok(Location::Element(index)),
            "{array}"
        );
    }
}
