//! The rules in which answers here are better than XLA's, both side by side. Bitcasts have a table
//! of their own in `bitcast_rules`, edits that keep tiles and dynamic flags in core's `edits`.

use minormajor_core::plan::Plan;
use minormajor_core::{
    AddressMap, ArrayShape, ElementType, Layout, LayoutEquality, Location, Shape,
};
use minormajor_testing::oracle;

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text
        .parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    shape.as_array().unwrap().clone()
}

/// XLA aborts the process on each of these; an error says where.
#[test]
fn malformed_text_is_an_error() {
    for (text, column) in [
        ("f32[2,2]{1,0:T(-1,2)}", 16),
        ("f32[2]{0:L(0)}", 12),
        ("f32[2]{0:L(-3)}", 12),
        ("token[2]", 7),
        ("token[]{0}", 8),
    ] {
        let error = text.parse::<Shape>().expect_err(text);
        assert_eq!(error.column(), column, "{text}: {error}");
    }
}

/// XLA divides by the number that stands for `*`, and cannot read its own proto of it.
#[test]
fn combined_dimensions_have_positions_and_a_proto() {
    let shape = array("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}");
    let map = AddressMap::new(&shape).unwrap();
    assert_eq!(map.position(&[1, 6, 7, 10, 9]), Ok(12430));
    assert_eq!(
        map.location(12430),
        Ok(Location::Element(vec![1, 6, 7, 10, 9]))
    );
    let layout = shape.layout().unwrap();
    let read = Layout::from_proto_bytes(&layout.to_proto_bytes());
    assert_eq!(read.as_ref(), Ok(layout));
}

/// Bytes that XLA's `ArraySize` gives, beside those that the elements need: it counts the first
/// level of tiles only, the tail alignment only behind tiles, and has given padding up.
#[test]
fn every_level_of_tiles_and_every_padding_counts() {
    for (text, xla, ours) in [
        ("f32[5,7]{1,0:T(2,4)(3,3)}", 192, 432),
        ("f32[5]{0:L(8)}", 20, 32),
        ("f32[10,20]{1,0:PAD(15,21)}", 800, 1260),
    ] {
        let shape = array(text);
        assert_eq!(shape.allocated_bytes(), Some(ours), "{text}");
        assert_eq!(4 * oracle::allocated_elements(&shape), ours, "{text}");
        assert_ne!(xla, ours, "{text}");
    }
}

/// XLA's `LinearIndex` gives the index of an array of one dimension back, whatever its tiles.
#[test]
fn tiles_count_in_one_dimension() {
    let map = AddressMap::new(&array("f32[8]{0:T(2,2)}")).unwrap();
    let (xla, ours) = (5, map.position(&[5]));
    assert_ne!(Ok(xla), ours);
    assert_eq!(ours, Ok(9));
}

/// XLA keeps 8 bits of a memory space, and calls layouts with other metadata prefixes equal.
#[test]
fn memory_spaces_are_wide_and_prefixes_compared() {
    for (text, xla) in [
        ("f32[2]{0:S(128)}", "S(-128)"),
        ("f32[2]{0:S(300)}", "S(44)"),
    ] {
        let ours = array(text).to_string();
        assert_eq!(ours, text);
        assert!(!ours.contains(xla));
    }
    let (with, without) = (array("f32[2]{0:M(4)}"), array("f32[2]{0}"));
    assert_ne!(with, without);
    let (with, without) = (with.layout().unwrap(), without.layout().unwrap());
    let xla = LayoutEquality::exact().ignore_dynamic_shape_metadata_prefix();
    assert!(xla.equal(with, without));
}

/// XLA takes negative numbers for indices in bounds, and says 8 bits of 6-bit floats.
#[test]
fn bounds_and_widths() {
    let shape = array("f32[2,3]");
    for (index, xla, ours) in [(&[1, -1][..], true, false), (&[1, 2], true, true)] {
        assert_eq!(shape.index_in_bounds(index), ours, "{index:?}");
        assert!(xla);
    }
    for (element_type, xla, ours) in [(ElementType::F6e3m2fn, 8, 6), (ElementType::F6e2m3fn, 8, 6)]
    {
        assert_eq!(element_type.bit_width(), ours, "{element_type:?}");
        assert_ne!(xla, ours);
    }
}

/// XLA's transposes take one level of tiles, of one side; others are unimplemented there. (Its
/// cache of plans forgets one option of a plan in its key; here a plan is a value that the caller
/// keeps, and there is no cache.)
#[test]
fn tiles_of_both_sides_and_of_many_levels_move() {
    for (from, to) in [
        ("u8[6,10]{1,0:T(2,4)}", "u8[6,10]{0,1:T(3,5)}"),
        ("u8[6,10]{1,0:T(2,4)(2,1)}", "u8[6,10]{0,1}"),
        ("u8[6,10]{1,0:T(2,4)(2,1)}", "u8[6,10]{0,1:T(4,2)(1,2)(2)}"),
    ] {
        let (from, to) = (array(from), array(to));
        let source = oracle::elements(&from);
        let plan = Plan::new(&from, &to).unwrap();
        let before = vec![7; plan.destination_bytes() as usize];
        let (found, _) = oracle::run(&plan, &source, &before);
        assert_eq!(
            found,
            oracle::relayout(&from, &source, &to, &before),
            "{from} {to}"
        );
    }
}
