//! Values that change on their way, against the naive conversions: every number of 16 bits, those of 32 bits where
//! rounding turns, any layouts and views, every instruction set.

use minormajor::plan::{ByteOrder, ByteOrders, PlanError};
use minormajor::{
    ArrayShape, ElementType, Isa, Plan, Relayout, Shape, Stores, StridedView, Tuning,
};
use minormajor_testing::numbers::{self, Conversion};
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;

use ElementType::{Bf16, F16, F32};

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

fn tunings() -> impl Iterator<Item = Tuning> {
    let stores = [Stores::Plain, Stores::Streaming];
    let each = move |&isa| {
        stores.map(|stores| {
            let mut tuning = Tuning::default();
            (tuning.isa, tuning.stores) = (isa, stores);
            tuning
        })
    };
    Isa::available().iter().flat_map(each)
}

/// Little-endian numbers of one type as those of another, with every instruction set, must be the naive ones.
fn check_numbers(from: ElementType, to: ElementType, numbers: &[u32]) {
    let count = numbers.len() as i64;
    let [source, destination] = [from, to].map(|t| ArrayShape::new(t, [count]).unwrap());
    let plan = Plan::converting(&source, &destination, ByteOrders::default()).unwrap();
    let width = from.byte_width() as usize;
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes()[..width].to_vec())
        .collect();
    for tuning in tunings() {
        let mut converted = vec![0; plan.destination_bytes() as usize];
        let relayout = Relayout::tuned(&plan, &tuning).unwrap();
        relayout.run(&bytes, &mut converted).unwrap();
        for (&number, found) in numbers
            .iter()
            .zip(converted.chunks(to.byte_width() as usize))
        {
            let mut wide = [0; 16];
            wide[..found.len()].copy_from_slice(found);
            let (found, expected) = (
                u128::from_le_bytes(wide),
                numbers::convert(from, to, number.into()),
            );
            assert_eq!(
                found, expected,
                "{number:#x}: {from} to {to}, {tuning:?}: {found:#x}, expected {expected:#x}"
            );
        }
    }
}

#[test]
fn every_number_of_16_bits() {
    let all: Vec<u32> = (0..1 << 16).collect();
    for (from, to) in [(F16, F32), (Bf16, F32), (F16, Bf16), (Bf16, F16)] {
        check_numbers(from, to, &all);
    }
}

/// Every number of 16 bits, half way to the next one, and one and two places beside both; then numbers of random bits.
#[test]
fn numbers_of_32_bits_where_rounding_turns() {
    for to in [F16, Bf16] {
        let mut all = Vec::new();
        for number in 0..1 << 15 {
            let exact = numbers::convert(to, F32, number) as u32;
            let next = numbers::convert(to, F32, number + 1) as u32;
            let half_way = match f32::from_bits(exact).is_finite() {
                true => {
                    let sum = numbers::magnitude(to, number as u32)
                        + numbers::magnitude(to, number as u32 + 1);
                    ((sum / 2.0) as f32).to_bits()
                }
                false => exact.midpoint(next),
            };
            for near in [exact, half_way] {
                for places in [-2, -1, 0, 1, 2] {
                    let near = near.wrapping_add_signed(places);
                    all.extend([near, near | 1 << 31]);
                }
            }
        }
        all.extend((0..1u64 << 19).map(|n| {
            let product = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (product ^ product >> 29) as u32
        }));
        check_numbers(F32, to, &all);
    }
}

/// A source; what a destination holds before, longer than the array, since what is behind it must stay; and what it must
/// hold afterwards.
fn expected(
    from: &ArrayShape,
    to: &ArrayShape,
    conversion: &Conversion,
) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let source = oracle::elements(from);
    let before = vec![oracle::SENTINEL; to.allocated_bytes().unwrap() as usize + 19];
    let end = before.len() - 19;
    let mut expected = oracle::converting(from, &source, to, &before[..end], conversion);
    expected.extend_from_slice(&before[end..]);
    (source, before, expected)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_conversions((from, to, conversion) in strategy::conversion()) {
        let (source, before, expected) = expected(&from, &to, &conversion);
        let plan = Plan::converting(&from, &to, conversion.orders).unwrap();
        for tuning in tunings() {
            let mut moved = before.clone();
            Relayout::tuned(&plan, &tuning).unwrap().threads(1).run(&source, &mut moved).unwrap();
            prop_assert_eq!(&moved, &expected, "{} to {}, {:?}, {:?}", from, to, conversion, tuning);
        }
    }
}

/// Arrays large enough for threads, windows and blocks, at sizes that divide nothing.
#[test]
fn large_conversions() {
    let (little, big) = (ByteOrder::Little, ByteOrder::Big);
    for (from, to, source, destination) in [
        ("f32[389,521]{1,0}", "bf16[389,521]{1,0}", little, little),
        ("f32[389,521]{1,0}", "bf16[389,521]{0,1}", little, little),
        ("bf16[389,521]{1,0}", "f32[389,521]{0,1}", little, little),
        (
            "f32[389,521]{1,0}",
            "bf16[389,521]{1,0:T(8,128)(2,1)}",
            little,
            little,
        ),
        (
            "f16[389,521]{1,0:T(8,128)(2,1)}",
            "f32[389,521]{0,1}",
            little,
            little,
        ),
        (
            "f32[7,3,97,101]{3,2,1,0}",
            "f16[7,3,97,101]{1,3,2,0}",
            big,
            little,
        ),
        ("f32[389,521]{1,0}", "f32[389,521]{0,1}", big, little),
        (
            "f64[389,261]{1,0}",
            "f64[389,261]{1,0:T(8,128)}",
            little,
            big,
        ),
        (
            "c128[301,517]{1,0}",
            "c128[301,517]{0,1:PAD(302,520;one)}",
            big,
            little,
        ),
        ("u16[389,521]{1,0}", "u16[389,521]{0,1:E(24)}", big, little),
        ("bf16[389,521]{0,1:E(32)}", "f16[389,521]{1,0}", big, big),
        (
            "f32[61,67,71]{2,1,0}",
            "bf16[61,67,71]{2,1,0:T(2,4)(*,3)}",
            big,
            little,
        ),
    ] {
        let (from, to) = (array(from), array(to));
        let conversion = Conversion {
            from: from.element_type(),
            to: to.element_type(),
            orders: ByteOrders {
                source,
                destination,
            },
        };
        let (source, before, expected) = expected(&from, &to, &conversion);
        let plan = Plan::converting(&from, &to, conversion.orders).unwrap();
        for threads in [1, 3] {
            let relayout = Relayout::new(&plan).unwrap().threads(threads);
            let mut moved = before.clone();
            relayout.run(&source, &mut moved).unwrap();
            let differs = moved.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{from} to {to}, {threads} threads");
        }
    }
}

/// Columns of big-endian numbers, upside down, out of rows with a gap.
#[test]
fn values_of_views_change_too() {
    let from = StridedView::new(F32, &[2, 3], &[-16, 4], 17).unwrap();
    let to = StridedView::new(F16, &[2, 3], &[2, 5], 1).unwrap();
    let orders = ByteOrders {
        source: ByteOrder::Big,
        destination: ByteOrder::Little,
    };
    let plan = Plan::converting(&from, &to, orders).unwrap();
    let mut source = vec![oracle::SENTINEL; 29];
    for (number, at) in [
        (1.0f32, 17),
        (2.0, 21),
        (3.0, 25),
        (4.0, 1),
        (5.0, 5),
        (6.0, 9),
    ] {
        source[at..at + 4].copy_from_slice(&number.to_be_bytes());
    }
    let mut moved = vec![oracle::SENTINEL; 15];
    Relayout::new(&plan)
        .unwrap()
        .run(&source, &mut moved)
        .unwrap();
    let e = oracle::SENTINEL;
    let [one, two, three] = [0x3c, 0x40, 0x42].map(|high| [0, high]);
    let [four, five, six] = [0x44, 0x45, 0x46].map(|high| [0, high]);
    let expected = [&[e][..], &one, &four, &[e], &two, &five, &[e], &three, &six].concat();
    assert_eq!(moved, expected);
}

#[test]
fn conversions_that_are_not_offered_are_errors() {
    for (from, to) in [
        ("f32[2]", "s32[2]"),
        ("f64[2]", "f32[2]"),
        ("s4[2]{0:E(4)}", "u4[2]"),
        ("f8e4m3fn[2]", "bf16[2]"),
    ] {
        let (from, to) = (array(from), array(to));
        let error = Plan::converting(&from, &to, ByteOrders::default()).unwrap_err();
        assert!(matches!(error, PlanError::Conversion { .. }), "{error}");
        let error = Plan::new(&from, &to).unwrap_err();
        assert!(matches!(error, PlanError::ElementType { .. }), "{error}");
    }
}
