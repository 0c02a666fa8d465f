//! Random operations on random arrays, against the bits of every element.

use minormajor_core::bitcast::{Bitcast, Obstacle, Operation, Step};
use minormajor_core::{ArrayShape, Dimension, ElementType, Layout};
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseResult;

/// A part of an element: its index, and bits behind the element's beginning.
type Place = (Vec<i64>, i64);

/// Which place of the operand holds which place of the result: all of them.
fn correspondence(
    operation: &Operation,
    operand: &ArrayShape,
    result: &ArrayShape,
) -> Vec<(Place, Place)> {
    let (from, to) = (operand.sizes().unwrap(), result.sizes().unwrap());
    let results = oracle::indices(&to);
    let operand_of = |index: &Vec<i64>| -> Place {
        match operation {
            Operation::Transpose { dimensions } => {
                let mut found = vec![0; index.len()];
                for (&value, &dimension) in index.iter().zip(dimensions) {
                    found[dimension as usize] = value;
                }
                (found, 0)
            }
            Operation::Reshape => {
                let mut place = index
                    .iter()
                    .zip(&to)
                    .fold(0, |place, (i, size)| place * size + i);
                let mut found = vec![0; from.len()];
                for (value, &size) in found.iter_mut().zip(&from).rev() {
                    *value = place % size;
                    place /= size;
                }
                (found, 0)
            }
            Operation::Slice {
                starts, strides, ..
            } => {
                let terms = index.iter().zip(starts).zip(strides);
                (
                    terms
                        .map(|((i, start), stride)| start + i * stride)
                        .collect(),
                    0,
                )
            }
            Operation::Broadcast { dimensions } => {
                let values = dimensions.iter().zip(&from);
                let value =
                    |(&d, &size): (&i64, &i64)| if size == 1 { 0 } else { index[d as usize] };
                (values.map(value).collect(), 0)
            }
            Operation::BitcastConvert if to.len() > from.len() => {
                let bits = i64::from(result.element_type().bit_width());
                (index[..from.len()].to_vec(), index[from.len()] * bits)
            }
            _ => (index.clone(), 0),
        }
    };
    if *operation == Operation::BitcastConvert && from.len() > to.len() {
        let bits = i64::from(operand.element_type().bit_width());
        let parts = oracle::indices(&from).into_iter().map(|index| {
            let whole = index[..to.len()].to_vec();
            let inside = index[to.len()] * bits;
            ((index, 0), (whole, inside))
        });
        return parts.collect();
    }
    let places = results
        .into_iter()
        .map(|index| (operand_of(&index), (index, 0)));
    places.collect()
}

fn bit(shape: &ArrayShape, (index, inside): &Place) -> i64 {
    oracle::position(shape, index) * shape.element_bits() + inside
}

fn bytes(shape: &ArrayShape) -> i64 {
    (oracle::allocated_elements(shape) * shape.element_bits() + 7) / 8
}

/// Whether every bit of the result is the operand's, from one whole byte on, and the buffers
/// fit.
fn is_free(operation: &Operation, operand: &ArrayShape, result: &ArrayShape) -> bool {
    let places = correspondence(operation, operand, result);
    let Some((from, _)) = places.first() else {
        return bytes(result) <= bytes(operand);
    };
    let first = match operation {
        Operation::Slice { .. } => bit(operand, from),
        _ => 0,
    };
    let widths = |shape: &ArrayShape| i64::from(shape.element_type().bit_width());
    let widest = widths(operand).max(widths(result));
    let covered = |shape: &ArrayShape| shape.element_bits() * (widest / widths(shape));
    first % 8 == 0
        && first / 8 + bytes(result) <= bytes(operand)
        && covered(result) <= covered(operand)
        && places
            .iter()
            .all(|(from, to)| bit(operand, from) - first == bit(result, to))
}

fn check(operation: &Operation, operand: &ArrayShape, result: &ArrayShape) -> TestCaseResult {
    let name = || format!("{operation} of {operand} to {result}");
    let bitcast = Bitcast::new(operand, result, operation)
        .map_err(|error| TestCaseError::fail(format!("{}: {error}", name())))?;
    let expected = is_free(operation, operand, result);
    prop_assert_eq!(bitcast.is_free(), expected, "{}", name());
    let Some(why_not) = bitcast.why_not() else {
        let free = bitcast.free().unwrap();
        let end = free.byte_offset + bytes(result) + free.bytes_behind;
        prop_assert_eq!(end, bytes(operand), "{}: {:?}", name(), free);
        return Ok(());
    };
    prop_assert!(!why_not.to_string().is_empty());
    if let Some(copy) = why_not.smallest_copy() {
        prop_assert!(
            is_free(operation, &copy.shape, result),
            "{}: {}",
            name(),
            copy.shape
        );
        prop_assert_eq!(copy.bytes, bytes(&copy.shape), "{}", name());
    }
    if let Some(nearest) = why_not.nearest_layout() {
        prop_assert!(
            is_free(operation, operand, &nearest.shape),
            "{}: {}",
            name(),
            nearest.shape
        );
    }
    if let Obstacle::Step {
        operand: from,
        result: to,
    } = why_not.obstacle()
    {
        // A step may begin inside an element where the other side has its parts.
        if operand.element_type().bit_width() == result.element_type().bit_width() {
            check_step(operand, from)?;
            check_step(result, to)?;
        }
        let differ = from.bits != to.bits || covered_differ(operand, result);
        prop_assert!(differ, "{}: {}", name(), why_not);
    }
    Ok(())
}

fn covered_differ(operand: &ArrayShape, result: &ArrayShape) -> bool {
    operand.element_bits() != result.element_bits()
}

/// A step says where it goes.
fn check_step(shape: &ArrayShape, step: &Step) -> TestCaseResult {
    let from = oracle::position(shape, &step.from);
    let to = oracle::position(shape, &step.to);
    if let Some(dimension) = step.dimension {
        prop_assert_eq!(
            (to - from) * shape.element_bits(),
            step.bits,
            "{}: {:?}",
            shape,
            step
        );
        prop_assert!(step.to[dimension] > step.from[dimension]);
    }
    if let Some(wrapped) = step.wrapped {
        prop_assert!(step.to[wrapped] < step.from[wrapped]);
    }
    Ok(())
}

/// More elements than any result allocates.
const MAX_ALLOCATED: i64 = 100_000;

/// An array of another shape in some layout.
fn laid(element_type: ElementType, sizes: Vec<i64>) -> impl Strategy<Value = ArrayShape> {
    strategy::layout(element_type, sizes.clone()).prop_filter_map("too large", move |layout| {
        let shape = ArrayShape::new(element_type, &sizes)
            .ok()?
            .with_layout(layout)
            .ok()?;
        (shape.allocated_elements()? < MAX_ALLOCATED).then_some(shape)
    })
}

/// The operand's layout as far as it can be the result's, so that more cases are nearly free.
fn alike(operand: &ArrayShape, result: &ArrayShape) -> Option<ArrayShape> {
    let layout = operand.layout()?;
    let alike = Layout::descending(result.rank())
        .with_tiles(layout.tiles().to_vec())
        .and_then(|l| l.with_element_size_in_bits(layout.element_size_in_bits()));
    result.with_layout(alike.ok()?).ok()
}

/// An operand, an operation, and the type and sizes of its result.
type Case = (ArrayShape, Operation, ElementType, Vec<i64>);

fn case() -> impl Strategy<Value = Case> {
    let kinds = (0..6usize, any::<[Index; 8]>(), any::<[bool; 4]>());
    let cases = (strategy::array(), kinds).prop_map(|(operand, (kind, picks, flags))| {
        let sizes = operand.sizes().unwrap();
        let element_type = operand.element_type();
        let rank = sizes.len();
        match kind {
            0 => (operand, Operation::Copy, element_type, sizes),
            1 => {
                let mut dimensions: Vec<i64> = (0..rank as i64).collect();
                for (i, pick) in (1..rank).zip(&picks) {
                    dimensions.swap(i, pick.index(i + 1));
                }
                let to = dimensions.iter().map(|&d| sizes[d as usize]).collect();
                (
                    operand,
                    Operation::Transpose { dimensions },
                    element_type,
                    to,
                )
            }
            2 => {
                // Neighbours are joined, or a size is cut by a divisor; units come in between.
                let mut to: Vec<i64> = Vec::new();
                for (i, &size) in sizes.iter().enumerate() {
                    match picks[i].index(4) {
                        0 if !to.is_empty() => *to.last_mut().unwrap() *= size,
                        1 if size > 1 => {
                            let divisors: Vec<i64> = (1..=size).filter(|d| size % d == 0).collect();
                            let divisor = divisors[picks[7].index(divisors.len())];
                            to.extend([divisor, size / divisor]);
                        }
                        2 => to.extend([1, size]),
                        _ => to.push(size),
                    }
                }
                (operand, Operation::Reshape, element_type, to)
            }
            3 => {
                let (mut starts, mut limits, mut strides) = (vec![], vec![], vec![]);
                for (i, &size) in sizes.iter().enumerate() {
                    let whole = flags[i % 4];
                    let start = if whole {
                        0
                    } else {
                        picks[i].index(size as usize + 1) as i64
                    };
                    let left = (size - start) as usize;
                    let limit = if whole {
                        size
                    } else {
                        start + picks[i + 4].index(left + 1) as i64
                    };
                    starts.push(start);
                    limits.push(limit);
                    strides.push(if flags[3] {
                        1
                    } else {
                        1 + picks[7].index(4) as i64
                    });
                }
                let ranges = starts.iter().zip(&limits).zip(&strides);
                let length = |((start, limit), stride): ((&i64, &i64), &i64)| {
                    (limit - start + stride - 1) / stride
                };
                let to = ranges.map(length).collect();
                let slice = Operation::Slice {
                    starts,
                    limits,
                    strides,
                };
                (operand, slice, element_type, to)
            }
            4 => {
                let mut to = sizes.clone();
                let mut dimensions: Vec<i64> = (0..rank as i64).collect();
                let place = picks[0].index(rank + 1);
                let more = [1, 1, 1, 2][picks[1].index(4)];
                to.insert(place, more);
                for dimension in &mut dimensions[place..] {
                    *dimension += 1;
                }
                (
                    operand,
                    Operation::Broadcast { dimensions },
                    element_type,
                    to,
                )
            }
            _ => {
                let width = element_type.bit_width();
                let complex = |t: ElementType| matches!(t, ElementType::C64 | ElementType::C128);
                let others: Vec<ElementType> = ElementType::ALL
                    .iter()
                    .copied()
                    .filter(|&t| complex(t) == complex(element_type))
                    .filter(|&t| {
                        let other = t.bit_width();
                        width % other == 0
                            || other % width == 0 && sizes.last() == Some(&i64::from(other / width))
                    })
                    .collect();
                let to_type = others[picks[0].index(others.len())];
                let mut to = sizes.clone();
                let other = to_type.bit_width();
                if other < width {
                    to.push(i64::from(width / other));
                } else if other > width {
                    to.pop();
                }
                (operand, Operation::BitcastConvert, to_type, to)
            }
        }
    });
    // Few enough for a plain layout to be always allowed: f64 as u1 is 64 times as many.
    let few = |sizes: &[i64]| sizes.iter().product::<i64>() < MAX_ALLOCATED;
    cases.prop_filter("too many elements", move |(_, _, _, sizes)| few(sizes))
}

fn cases() -> impl Strategy<Value = (ArrayShape, Operation, ArrayShape)> {
    case().prop_flat_map(|(operand, operation, element_type, sizes)| {
        (Just(operand), Just(operation), laid(element_type, sizes))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bitcasts_are_the_naive_ones((operand, operation, result) in cases()) {
        check(&operation, &operand, &result)?;
        if let Some(alike) = alike(&operand, &result) {
            check(&operation, &operand, &alike)?;
        }
    }

    /// Tiles that do not divide each other, on dimensions longer than several of them.
    #[test]
    fn nested_tiles_are_told_apart(
        size in 1i64..200,
        tiles in prop::collection::vec(select(vec![1i64, 2, 3, 4, 5, 6, 8, 12]), 0..4),
        others in prop::collection::vec(select(vec![1i64, 2, 3, 4, 5, 6, 8, 12]), 0..4),
        padding in 0i64..3,
    ) {
        let shape = ArrayShape::new(ElementType::U8, [Dimension::Static(size)]).unwrap();
        let laid = |tiles: &[i64], padding: i64| {
            let tiles = tiles.iter().map(|&t| minormajor_core::Tile::new([t]));
            let layout = Layout::descending(1).with_tiles(tiles).unwrap();
            let layout = layout.with_padding([size + padding], minormajor_core::PaddingValue::Zero);
            shape.with_layout(layout.unwrap()).unwrap()
        };
        let (from, to) = (laid(&tiles, padding), laid(&others, 0));
        check(&Operation::Copy, &from, &to)?;
        check(&Operation::Copy, &to, &from)?;
    }
}
