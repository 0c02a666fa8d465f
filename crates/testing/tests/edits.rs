//! Edits, questions and iteration of random arrays against what their positions say.

use std::collections::BTreeSet;

use minormajor_core::{
    AddressMap, ArrayShape, ElementKind, ElementType, IndexSpace, LayoutEquality, Permutation,
    Shape, ShapeEquality, ShapeTree, SpecialValues,
};
use minormajor_testing::strategy;
use proptest::prelude::*;

/// The positions of all elements, in the order of their indices.
fn positions(array: &ArrayShape) -> Vec<i64> {
    let map = AddressMap::new(array).unwrap();
    let indices = IndexSpace::new(array).unwrap().in_logical_order();
    indices
        .iter()
        .map(|index| map.position(&index).unwrap())
        .collect()
}

/// An array with a permutation of its dimensions.
fn permuted() -> impl Strategy<Value = (ArrayShape, Permutation)> {
    strategy::array().prop_flat_map(|array| {
        let order: Vec<i64> = (0..array.rank() as i64).collect();
        let order = Just(order).prop_shuffle();
        (
            Just(array),
            order.prop_map(|order| Permutation::new(order).unwrap()),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn permuted_dimensions_move_nothing((array, permutation) in permuted()) {
        let after = array.permute_dimensions(&permutation).unwrap();
        let map = AddressMap::new(&after).unwrap();
        let moved: Vec<i64> = IndexSpace::new(&array)
            .unwrap()
            .in_logical_order()
            .iter()
            .map(|index| map.position(&permutation.apply(&index).unwrap()).unwrap())
            .collect();
        prop_assert_eq!(moved, positions(&array));
        prop_assert_eq!(after.allocated_bytes(), array.allocated_bytes());
        prop_assert_eq!(after.permute_dimensions(&permutation.inverse()).unwrap(), array);
    }

    #[test]
    fn physical_order_is_the_default_one(array in strategy::array()) {
        let physical = array.in_physical_order().unwrap();
        prop_assert!(physical.layout().unwrap().is_monotonic_with_dim0_major());
        let (mut a, mut b) = (positions(&array), positions(&physical));
        a.sort_unstable();
        b.sort_unstable();
        prop_assert_eq!(a, b);
        prop_assert_eq!(physical.in_physical_order().unwrap(), physical);
    }

    #[test]
    fn inserted_dimensions_are_deleted_again(array in strategy::array(), at in 0..6i64) {
        let at = at % (array.rank() as i64 + 1);
        let inserted = array.insert_dimensions(at, [3, 1]).unwrap();
        prop_assert_eq!(inserted.rank(), array.rank() + 2);
        prop_assert_eq!(&inserted.delete_dimensions([at + 1, at]).unwrap(), &array);
        let untiled = array.without_tiles().unwrap();
        let one_more = untiled.insert_dimension(at, 1).unwrap();
        prop_assert_eq!(positions(&one_more), positions(&untiled));
        let major = array.prepend_major_dimension(2).unwrap();
        prop_assert_eq!(major.delete_dimension(0).unwrap(), array);
    }

    #[test]
    fn untiled_arrays_are_those_without_tiles(array in strategy::array()) {
        let without = array.without_tiles().unwrap();
        let same = positions(&array) == positions(&without)
            && array.allocated_elements() == without.allocated_elements();
        prop_assert_eq!(array.is_untiled().unwrap(), same, "{}", array);
    }

    #[test]
    fn memory_order_goes_forward(array in strategy::array()) {
        let untiled = array.without_tiles().unwrap();
        let map = AddressMap::new(&untiled).unwrap();
        let mut last = -1;
        let mut linear = 0;
        IndexSpace::new(&untiled).unwrap().for_each(|index| {
            let position = map.position(index).unwrap();
            assert!(position > last);
            assert_eq!(untiled.linear_index(index), Ok(linear));
            (last, linear) = (position, linear + 1);
        });
        prop_assert_eq!(Some(linear), array.elements());
    }

    #[test]
    fn parts_share_the_indices(array in strategy::array(), parts in 1..40usize) {
        let space = IndexSpace::new(&array).unwrap();
        let cut = space.partition(parts);
        prop_assert!(cut.len() <= parts);
        let mut found: Vec<_> = cut.iter().flat_map(|part| part.iter()).collect();
        let mut all: Vec<_> = space.iter().collect();
        found.sort_unstable();
        all.sort_unstable();
        prop_assert_eq!(found, all);
    }

    #[test]
    fn exact_equality_is_equality(a in strategy::shape(), b in strategy::shape()) {
        let exact = ShapeEquality::exact();
        prop_assert!(exact.equal(&a, &a));
        prop_assert_eq!(exact.equal(&a, &b), a == b);
        prop_assert!(a.is_compatible(&a.without_layout()));
        let copied = a.without_layout().with_layouts_of(&a).unwrap();
        prop_assert!(copied.layouts_equal(&a, LayoutEquality::exact()));
        prop_assert_eq!(&copied, &a);
        prop_assert_eq!(a.has_equal_structure(&b), paths(&a) == paths(&b));
    }

    #[test]
    fn trees_branch_as_their_shapes(shape in strategy::shape()) {
        let tree = ShapeTree::from_fn(&shape, |index, part| (index.clone(), part.clone()));
        prop_assert_eq!(tree.node_count(), shape.subshape_count());
        prop_assert_eq!(tree.leaf_count(), shape.leaf_count());
        for (index, (at, part)) in tree.iter() {
            prop_assert_eq!(&index, at);
            prop_assert_eq!(shape.subshape(&index).unwrap(), part);
            prop_assert_eq!(tree.is_leaf(&index), shape.is_leaf_index(&index));
            prop_assert_eq!(tree.element(&index).unwrap(), &(index.clone(), part.clone()));
            let replaced = shape.with_subshape(&index, part.clone()).unwrap();
            prop_assert_eq!(&replaced, &shape);
        }
    }
}

fn paths(shape: &Shape) -> Vec<minormajor_core::ShapeIndex> {
    shape.subshapes().map(|(index, _)| index).collect()
}

/// Every value of a type of at most 8 bits, as the bits of an `f64`: all NaNs as one.
fn values(element_type: ElementType) -> BTreeSet<u64> {
    let bits = element_type.bit_width();
    let value = |pattern: u32| match element_type.kind() {
        ElementKind::Predicate | ElementKind::UnsignedInteger => f64::from(pattern),
        ElementKind::SignedInteger => {
            let shift = 32 - bits;
            f64::from((pattern << shift) as i32 >> shift)
        }
        ElementKind::Float(format) => {
            let fraction = f64::from(pattern & ((1 << format.fraction_bits) - 1));
            let exponent = pattern >> format.fraction_bits & ((1 << format.exponent_bits) - 1);
            let exponents = (1 << format.exponent_bits) - 1;
            let ones = pattern & ((1 << (format.exponent_bits + format.fraction_bits)) - 1)
                == (1 << (format.exponent_bits + format.fraction_bits)) - 1;
            let sign = pattern >> (format.exponent_bits + format.fraction_bits);
            let scale = 2f64.powi(-(format.fraction_bits as i32));
            let bias = format.bias as i32;
            let magnitude = match format.special {
                SpecialValues::Ieee if exponent == exponents && fraction == 0.0 => f64::INFINITY,
                SpecialValues::Ieee if exponent == exponents => f64::NAN,
                SpecialValues::FiniteWithNan if ones => f64::NAN,
                SpecialValues::UnsignedZero if sign == 1 && exponent == 0 && fraction == 0.0 => {
                    f64::NAN
                }
                SpecialValues::ExponentOnly if ones => f64::NAN,
                SpecialValues::ExponentOnly => 2f64.powi(exponent as i32 - bias),
                _ if exponent == 0 => fraction * scale * 2f64.powi(1 - bias),
                _ => (1.0 + fraction * scale) * 2f64.powi(exponent as i32 - bias),
            };
            if sign == 1 { -magnitude } else { magnitude }
        }
        ElementKind::Complex(_) => unreachable!("complex types are wider than a byte"),
    };
    let canonical = |value: f64| {
        if value.is_nan() {
            f64::NAN.to_bits()
        } else {
            value.to_bits()
        }
    };
    (0..1 << bits)
        .map(|pattern| canonical(value(pattern)))
        .collect()
}

#[test]
fn casts_keep_exactly_the_values_that_are_there() {
    let narrow: Vec<ElementType> = ElementType::ALL
        .iter()
        .copied()
        .filter(|t| t.bit_width() <= 8)
        .collect();
    let of: Vec<BTreeSet<u64>> = narrow.iter().map(|&t| values(t)).collect();
    let mut pairs = 0;
    for (from, from_values) in narrow.iter().zip(&of) {
        for (to, to_values) in narrow.iter().zip(&of) {
            // Truth and its opposite are two values of every type, 0 and -1 in `s1`, but none
            // of a number is more than true.
            if ElementType::Pred == *to || (*from, *to) == (ElementType::Pred, ElementType::S1) {
                continue;
            }
            let expected = from_values.is_subset(to_values);
            assert_eq!(from.cast_preserves_values(*to), expected, "{from} to {to}");
            pairs += 1;
        }
    }
    assert!(pairs > 300, "{pairs}");
    // The facts too: the greatest and the least positive number.
    for (t, values) in narrow
        .iter()
        .zip(&of)
        .filter(|(t, _)| t.is_floating_point())
    {
        let numbers = values.iter().map(|&bits| f64::from_bits(bits));
        let positive: Vec<f64> = numbers.filter(|n| n.is_finite() && *n > 0.0).collect();
        let greatest = positive.iter().copied().fold(0.0, f64::max);
        let least = positive.iter().copied().fold(f64::MAX, f64::min);
        assert_eq!(
            greatest.log2().floor() as i32 + 1,
            t.overflow_exponent().unwrap(),
            "{t}"
        );
        let below = t.underflow_exponent().unwrap() - t.significand_width().unwrap() as i32;
        assert_eq!(least, 2f64.powi(below), "{t}");
        let has = |value: f64| values.contains(&value.to_bits());
        assert_eq!(has(f64::INFINITY), t.has_infinity(), "{t}");
        assert_eq!(has(f64::NAN), t.has_nan(), "{t}");
        assert_eq!(
            (has(0.0), has(-0.0)),
            (t.has_zero(), t.has_negative_zero()),
            "{t}"
        );
    }
}

/// All indices lie in the first tile; only padding lies in the second.
#[test]
fn tiles_that_move_padding_alone_change_nothing() {
    let array =
        |text: &str| -> ArrayShape { text.parse::<Shape>().unwrap().as_array().unwrap().clone() };
    for (text, untiled) in [
        ("s8[2]{0:T(2,2)L(64)PAD(3)}", true),
        ("s8[3]{0:T(2,2)L(64)PAD(3)}", false),
        ("s8[2]{0:T(2,2)PAD(3)}", false),
    ] {
        assert_eq!(array(text).is_untiled(), Ok(untiled), "{text}");
    }
}
