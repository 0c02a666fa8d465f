//! Random arrays against the naive answers.

use minormajor_core::{AddressMap, Location, Plan, Shape, StridedView};
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_and_proto_lead_back(shape in strategy::shape()) {
        let text = shape.to_string();
        prop_assert_eq!(text.parse::<Shape>(), Ok(shape.clone()));
        let read = Shape::from_proto_bytes(&shape.to_proto_bytes());
        prop_assert_eq!(read, Ok(shape));
    }

    #[test]
    fn positions_are_the_naive_ones(shape in strategy::array()) {
        let map = AddressMap::new(&shape).unwrap();
        let allocated = oracle::allocated_elements(&shape);
        prop_assert_eq!(map.allocated_elements(), allocated);
        let indices = oracle::indices(&shape.sizes().unwrap());
        let mut used = vec![false; allocated as usize];
        for index in indices {
            let position = oracle::position(&shape, &index);
            prop_assert_eq!(map.position(&index), Ok(position));
            prop_assert_eq!(map.location(position), Ok(Location::Element(index)));
            prop_assert!(!std::mem::replace(&mut used[position as usize], true));
        }
        for position in (0..allocated).filter(|&p| !used[p as usize]) {
            match map.location(position).unwrap() {
                Location::Element(index) => prop_assert!(false, "{} is {:?}", position, index),
                Location::Padding { nearest: Some(index) } => prop_assert!(map.position(&index).is_ok()),
                Location::Padding { nearest: None } => prop_assert_eq!(map.elements(), 0),
            }
        }
    }

    /// A plan writes what the naive relayout writes, every byte once, or never where padding is
    /// to be left alone; and it says how many bytes that is.
    #[test]
    fn plans_do_the_naive_relayout((from, to) in strategy::relayout()) {
        let plan = Plan::new(&from, &to).unwrap();
        let source = oracle::elements(&from);
        prop_assert_eq!(plan.source_bytes() as usize, source.len());
        let before = vec![oracle::SENTINEL; to.allocated_bytes().unwrap() as usize];
        prop_assert_eq!(plan.destination_bytes() as usize, before.len());
        let expected = oracle::relayout(&from, &source, &to, &before);
        let (moved, written) = oracle::run(&plan, &source, &before);
        prop_assert_eq!(&moved, &expected, "{}", plan);
        prop_assert!(written.iter().all(|&count| count <= 1), "{}", plan);
        let count: u32 = written.iter().sum();
        prop_assert_eq!(plan.bytes_written(), i64::from(count.div_ceil(8)), "{}", plan);
        let unknown = to.layout().unwrap().padding_value() == Some(minormajor_core::PaddingValue::Unknown);
        prop_assert!(unknown || count as usize == 8 * moved.len());
        prop_assert!(!plan.reason().is_empty());
    }

    /// From view to view, from view to layout, and from layout to view.
    #[test]
    fn plans_of_views_do_the_naive_relayout((from, to, shape) in strategy::views()) {
        let indices = oracle::indices(from.sizes());
        let element = |view: &StridedView| match view.packed_bits() {
            Some(bits) => bits as usize,
            None => 8 * view.element_type().byte_width() as usize,
        };
        let at = |view: &StridedView, index: &[i64]| {
            let offsets = index.iter().zip(view.strides()).map(|(i, stride)| i * stride);
            (view.offset() + offsets.sum::<i64>()) as usize * view.packed_bits().unwrap_or(8) as usize
        };
        // What the layout between the two views leaves of an element.
        let between = (shape.element_bits() as usize).min(element(&from)).min(element(&to));
        // A source whose bytes are all distinct as far as a byte allows.
        let source: Vec<u8> = (0..from.buffer_bytes()).map(|n| (n * 37 + n / 256) as u8).collect();

        let before = vec![oracle::SENTINEL; to.buffer_bytes() as usize];
        let expected = |width: usize| {
            let mut expected = before.clone();
            for index in &indices {
                let value = oracle::bits(&source, at(&from, index), width.min(element(&from)));
                oracle::set_bits(&mut expected, at(&to, index), element(&to), value);
            }
            expected
        };
        let plan = Plan::new(&from, &to).unwrap();
        let (moved, _) = oracle::run(&plan, &source, &before);
        prop_assert_eq!(&moved, &expected(element(&to)), "{}", plan);

        // The same through the layout: a view to it, and it to a view.
        let plan = Plan::new(&from, &shape).unwrap();
        let (laid_out, _) = oracle::run(&plan, &source, &vec![0; plan.destination_bytes() as usize]);
        let plan = Plan::new(&shape, &to).unwrap();
        let (moved, written) = oracle::run(&plan, &laid_out, &before);
        prop_assert_eq!(&moved, &expected(between), "{}", plan);
        prop_assert!(written.iter().all(|&count| count <= 1));
    }
}
