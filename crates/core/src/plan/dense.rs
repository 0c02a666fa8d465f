//! The short way to the plan of plain arrays: without tiles or padding on either side, every
//! dimension is a loop, and neighbours in the destination merge while strides are found.

use smallvec::{SmallVec, smallvec};

use super::class::Facts;
use super::elements::Elements;
use super::nest::{Loop, sort};
use super::{MoveBox, Plan, SmallLoops};
use crate::array::ArrayShape;
use crate::layout::Layout;

impl Plan {
    /// The plan from one array to another of the same type and sizes, where both are dense and
    /// have elements. `None` for others, and for those that have no plan.
    ///
    /// The way over [`Side`](super::side::Side)s comes to the same plan, and takes longer.
    pub(super) fn dense(source: &ArrayShape, destination: &ArrayShape) -> Option<Plan> {
        let (from, to) = (dense_layout(source)?, dense_layout(destination)?);
        let (sizes, element_type) = (destination.dimensions(), destination.element_type());
        if source.element_type() != element_type || source.rank() != sizes.len() {
            return None;
        }
        // Products are at most the elements of the array, which fit.
        let mut strides: SmallVec<[i64; 6]> = smallvec![0; sizes.len()];
        let mut elements = 1;
        for &dimension in from.minor_to_major() {
            let size = source.dimensions()[dimension].bound()?;
            if size == 0 || sizes[dimension].bound() != Some(size) {
                return None;
            }
            strides[dimension] = elements;
            elements *= size;
        }
        // In its place from the start, as it is large.
        let mut boxes: SmallVec<[MoveBox; 1]> = SmallVec::new();
        boxes.push(MoveBox {
            source: 0,
            destination: 0,
            loops: SmallLoops(SmallVec::new()),
        });
        let loops = &mut boxes[0].loops.0;
        let mut minor = [None; 2];
        let mut stride = 1;
        for &dimension in to.minor_to_major() {
            let size = sizes[dimension].bound()?;
            if size == 1 {
                continue;
            }
            if strides[dimension] == 1 {
                minor[0] = Some(dimension);
            }
            minor[1] = minor[1].or(Some(dimension));
            match loops.last_mut() {
                // In the destination, which is dense, it follows anyway.
                Some(inner) if strides[dimension] == inner.source * inner.extent => {
                    inner.extent *= size;
                }
                _ => loops.push(Loop {
                    extent: size,
                    source: strides[dimension],
                    destination: stride,
                }),
            }
            stride *= size;
        }
        sort(loops);
        let bytes = destination.bytes_of(elements);
        Some(Plan {
            elements: Elements::dense(element_type),
            source_bytes: bytes,
            destination_bytes: bytes,
            facts: Facts::dense(loops, elements, bytes, minor),
            boxes,
            fills: Vec::new(),
            general: None,
        })
    }
}

/// The layout of an array that has nothing but its elements, each as wide as its type.
fn dense_layout(shape: &ArrayShape) -> Option<&Layout> {
    shape.layout().filter(|layout| {
        layout.tiles().is_empty()
            && layout.padded_dimensions().is_empty()
            && layout.tail_padding_alignment() == 1
            && layout.element_size_in_bits() == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, Layout};

    /// All orders of so many dimensions.
    fn orders(rank: i64) -> Vec<Vec<i64>> {
        let mut orders = vec![vec![]];
        for dimension in 0..rank {
            orders = orders
                .iter()
                .flat_map(|order| {
                    (0..=order.len()).map(|place| {
                        let mut order = order.clone();
                        order.insert(place, dimension);
                        order
                    })
                })
                .collect();
        }
        orders
    }

    #[test]
    fn it_is_the_plan_of_the_long_way() {
        let sizes: [&[i64]; 9] = [
            &[],
            &[1],
            &[5],
            &[3, 3],
            &[1, 4],
            &[2, 1, 3],
            &[2, 2, 2],
            &[5, 2, 3, 2],
            &[1, 3, 1, 2],
        ];
        for sizes in sizes {
            let orders = orders(sizes.len() as i64);
            for (from, to) in orders
                .iter()
                .flat_map(|a| orders.iter().map(move |b| (a, b)))
            {
                for element_type in [ElementType::F32, ElementType::C128, ElementType::U4] {
                    let array = |order: &[i64]| {
                        let layout = Layout::new(order.iter().copied()).unwrap();
                        let array = ArrayShape::new(element_type, sizes.iter().copied());
                        array.unwrap().with_layout(layout).unwrap()
                    };
                    let (from, to) = (array(from), array(to));
                    let short = Plan::dense(&from, &to).unwrap();
                    let long = Plan::over_sides((&from).into(), (&to).into(), None).unwrap();
                    let all = |plan: &Plan| format!("{plan:?} {}", plan.reason());
                    assert_eq!(all(&short), all(&long), "{from} to {to}");
                }
            }
        }
    }

    #[test]
    fn it_leaves_others_to_the_long_way() {
        let array = |text: &str| -> ArrayShape {
            let shape: crate::Shape = text.parse().unwrap();
            shape.as_array().unwrap().clone()
        };
        for (from, to) in [
            ("f32[2,3]", "f32[3,2]"),
            ("f32[2,3]", "f32[2]"),
            ("f32[2,3]", "u32[2,3]"),
            ("f32[0,3]", "f32[0,3]{0,1}"),
            ("f32[2,3]", "f32[2,3]{1,0:T(2)}"),
            ("f32[2,3]", "f32[2,3]{1,0:PAD(2,4)}"),
            ("f32[2,3]{1,0:L(4)}", "f32[2,3]"),
            ("u4[2,3]", "u4[2,3]{1,0:E(4)}"),
        ] {
            assert!(
                Plan::dense(&array(from), &array(to)).is_none(),
                "{from} to {to}"
            );
        }
    }
}
