//! Random arrays and layouts, small enough to be checked element by element.

use minormajor_core::plan::{ByteOrder, ByteOrders};
use minormajor_core::{
    ArrayShape, ElementType, Layout, PaddingValue, Shape, StridedView, Tile, TileDimension,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::numbers::Conversion;

/// Sizes of dimensions: mostly primes, so that nothing divides by chance, and the ends.
fn size() -> impl Strategy<Value = i64> {
    prop_oneof![
        1 => Just(0i64),
        2 => Just(1i64),
        12 => select(vec![2i64, 3, 5, 7, 11, 13]),
        4 => select(vec![4i64, 8, 12, 16]),
    ]
}

/// Sizes of at most 2000 elements.
pub fn sizes() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(size(), 0..5).prop_map(|mut sizes| {
        while sizes.iter().product::<i64>() > 2000 {
            sizes.pop();
        }
        sizes
    })
}

/// A tile of up to three dimensions; `*` is rare and not last.
fn tile() -> impl Strategy<Value = Tile> {
    let dimension = prop_oneof![
        9 => select(vec![1i64, 2, 3, 4, 5, 8]).prop_map(TileDimension::Size),
        1 => Just(TileDimension::Combine),
    ];
    prop::collection::vec(dimension, 1..4).prop_map(Tile::new)
}

/// Any layout of an array of these sizes that can be moved: order, padding, up to three levels
/// of tiles, tail alignment, elements packed or stored wider than their type.
pub fn layout(element_type: ElementType, sizes: Vec<i64>) -> impl Strategy<Value = Layout> {
    let rank = sizes.len();
    let order: Vec<i64> = (0..rank as i64).collect();
    let values: Vec<PaddingValue> = PaddingValue::ALL
        .into_iter()
        .filter(|&v| v == PaddingValue::Unknown || element_type.padding_bytes(v).is_some())
        .collect();
    let padding =
        prop::option::weighted(0.3, (prop::collection::vec(0i64..4, rank), select(values)));
    let tiles = prop_oneof![
        3 => Just(Vec::new()),
        3 => prop::collection::vec(tile(), 1..2),
        2 => prop::collection::vec(tile(), 2..4),
    ];
    let tail = prop_oneof![6 => Just(1i64), 1 => select(vec![2i64, 7, 64])];
    let width = 8 * i64::from(element_type.byte_width());
    let wide = select(vec![width, width + 8, 2 * width, 32 + width]);
    let packed: Vec<i64> = packed_widths(element_type);
    let bits = match packed.is_empty() {
        true => prop_oneof![8 => Just(0i64), 1 => wide].boxed(),
        false => prop_oneof![3 => Just(0i64), 1 => wide, 6 => select(packed)].boxed(),
    };
    (Just(order).prop_shuffle(), padding, tiles, tail, bits).prop_map(
        move |(order, padding, tiles, tail, bits)| {
            let mut layout = Layout::new(order)
                .and_then(|l| l.with_tiles(tiles))
                .and_then(|l| l.with_tail_padding_alignment(tail))
                .and_then(|l| l.with_element_size_in_bits(bits))
                .expect("a valid layout");
            if let Some((more, value)) = padding
                && rank > 0
            {
                let padded = sizes.iter().zip(&more).map(|(size, more)| size + more);
                layout = layout.with_padding(padded, value).expect("a valid layout");
            }
            layout
        },
    )
}

/// The widths in which elements of this type may be packed.
fn packed_widths(element_type: ElementType) -> Vec<i64> {
    [1, 2, 4]
        .into_iter()
        .filter(|&bits| element_type.packs_in(bits))
        .collect()
}

/// Any element type; those that can be packed as often as the others.
pub fn element_type() -> impl Strategy<Value = ElementType> {
    let narrow = ElementType::ALL.iter().filter(|t| t.packs_in(4));
    prop_oneof![
        1 => select(ElementType::ALL),
        1 => select(narrow.copied().collect::<Vec<_>>()),
    ]
}

/// The most elements that [`array`] allocates.
const MAX_ALLOCATED: i64 = 60_000;

/// One array.
pub fn array() -> impl Strategy<Value = ArrayShape> {
    (element_type(), sizes())
        .prop_flat_map(|(element_type, sizes)| {
            (
                Just(element_type),
                Just(sizes.clone()),
                layout(element_type, sizes),
            )
        })
        .prop_map(|(element_type, sizes, layout)| {
            let shape = ArrayShape::new(element_type, sizes).expect("a small array");
            shape
                .with_layout(layout)
                .expect("a layout made for the array")
        })
        .prop_filter("too much padding", |shape| {
            shape
                .allocated_elements()
                .is_some_and(|n| n <= MAX_ALLOCATED)
        })
}

/// The same array in two layouts.
pub fn relayout() -> impl Strategy<Value = (ArrayShape, ArrayShape)> {
    array()
        .prop_flat_map(|source| {
            let sizes = source.sizes().expect("sizes");
            (Just(source.clone()), layout(source.element_type(), sizes))
        })
        .prop_map(|(source, layout)| {
            let destination = source
                .with_layout(layout)
                .expect("a layout made for the array");
            (source, destination)
        })
        .prop_filter("too much padding", |(_, destination)| {
            destination
                .allocated_elements()
                .is_some_and(|n| n <= MAX_ALLOCATED)
        })
}

/// An array in two layouts, the values of the second converted: another byte order, f32, f16 and
/// bf16 as one another, or both; and how.
pub fn conversion() -> impl Strategy<Value = (ArrayShape, ArrayShape, Conversion)> {
    let numbers = vec![ElementType::F32, ElementType::F16, ElementType::Bf16];
    let types = prop_oneof![
        3 => (select(numbers.clone()), select(numbers)),
        1 => element_type().prop_map(|t| (t, t)),
    ];
    let order = select(vec![ByteOrder::Little, ByteOrder::Big]);
    (types, sizes(), order.clone(), order)
        .prop_flat_map(|((from, to), sizes, source, destination)| {
            let orders = ByteOrders {
                source,
                destination,
            };
            let side = |t| (Just(sizes.clone()), layout(t, sizes.clone()), Just(t));
            (side(from), side(to), Just(Conversion { from, to, orders }))
        })
        .prop_map(|(from, to, conversion)| {
            let [from, to] = [from, to].map(|(sizes, layout, element_type)| {
                let shape = ArrayShape::new(element_type, sizes).expect("a small array");
                shape
                    .with_layout(layout)
                    .expect("a layout made for the array")
            });
            (from, to, conversion)
        })
        .prop_filter("too much padding", |(from, to, _)| {
            let few = |n| n <= MAX_ALLOCATED;
            from.allocated_elements().is_some_and(few) && to.allocated_elements().is_some_and(few)
        })
}

/// Any shape: arrays, tokens, opaques, buffers, and tuples of them some levels deep.
pub fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        6 => array().prop_map(Shape::from),
        1 => Just(Shape::token()),
        1 => Just(Shape::opaque()),
        1 => array().prop_map(Shape::buffer),
    ];
    leaf.prop_recursive(4, 24, 7, |inner| {
        prop::collection::vec(inner, 0..7)
            .prop_map(|elements| Shape::tuple(elements).expect("few levels"))
    })
}

/// A view of an array: dimensions in any order, gaps between them, some reversed, and an offset;
/// packed where the type can be, at times. With `repeated`, some dimensions have stride 0, as
/// only a source may have.
pub fn view(
    element_type: ElementType,
    sizes: Vec<i64>,
    repeated: bool,
) -> impl Strategy<Value = StridedView> {
    let rank = sizes.len();
    let order: Vec<usize> = (0..rank).collect();
    let bytes = i64::from(element_type.byte_width());
    let dimension = (
        prop_oneof![3 => Just(0i64), 1 => 1i64..4],
        any::<bool>(),
        prop::bool::weighted(if repeated { 0.2 } else { 0.0 }),
    );
    let packed = match packed_widths(element_type) {
        widths if widths.is_empty() => Just(None).boxed(),
        widths => prop::option::of(select(widths)).boxed(),
    };
    (
        Just(order).prop_shuffle(),
        prop::collection::vec(dimension, rank),
        0i64..5,
        // Gaps in whole elements, or in bytes, so that elements are not aligned.
        any::<bool>(),
        packed,
    )
        .prop_map(move |(order, dimensions, offset, odd, packed)| {
            let width = if packed.is_some() { 1 } else { bytes };
            let gap = if odd { 1 } else { width };
            let mut strides = vec![0; rank];
            let (mut stride, mut offset) = (width, offset * gap);
            for d in order {
                let (more, reversed, zero) = dimensions[d];
                stride += more * gap;
                strides[d] = match (zero, reversed) {
                    (true, _) => 0,
                    (false, false) => stride,
                    (false, true) => -stride,
                };
                offset -= (sizes[d] - 1).max(0) * strides[d].min(0);
                stride *= sizes[d].max(1);
            }
            match packed {
                None => StridedView::new(element_type, &sizes, &strides, offset),
                Some(bits) => {
                    StridedView::packed(element_type, bits as u32, &sizes, &strides, offset)
                }
            }
            .expect("a small view")
        })
}

/// Two views of the same array, and the array in a layout.
pub fn views() -> impl Strategy<Value = (StridedView, StridedView, ArrayShape)> {
    array().prop_flat_map(|shape| {
        let sizes = shape.sizes().expect("sizes");
        let element_type = shape.element_type();
        (
            view(element_type, sizes.clone(), true),
            view(element_type, sizes, false),
            Just(shape),
        )
    })
}
