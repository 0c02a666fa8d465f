//! Tensors: the faults of the design that they come from, what users of such libraries complain
//! about, and threads.

use std::sync::Arc;

use minormajor::backend::{Binary, DeviceError, Devices, Number};
use minormajor::random::{normal_f32, normal_f64, philox};
use minormajor::{
    CompactShape, Device, ElementType, Layout, Order, PaddingValue, StridedView, Tensor,
    TensorError, Tile,
};

fn cpu() -> Device {
    Device::cpu()
}

/// 0, 1, 2, .. in rows.
fn counting(sizes: &[i64]) -> Tensor {
    let elements: Vec<f32> = (0..sizes.iter().product::<i64>())
        .map(|k| k as f32)
        .collect();
    Tensor::from_slice(&elements, sizes, &cpu()).unwrap()
}

fn message<T>(result: Result<T, TensorError>) -> String {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(error) => error.to_string(),
    }
}

// The faults of the original, in the order of their list. (Counts that wrap and sizes of zero are
// core's `compact_shapes`; closeness is in the suite of backends.)

#[test]
fn a_clone_is_the_same_tensor() {
    let a = counting(&[2, 3]);
    let b = a.clone();
    assert!(b.shares_memory_with(&a) && b.equals(&a).unwrap());
    drop(a);
    assert_eq!(b.at(&[1, 2]).unwrap(), 5.0.into());
}

#[test]
fn unsqueezing_ones_keeps_every_dimension() {
    let one = Tensor::full(ElementType::F32, [1, 1, 1, 1], 7, &cpu()).unwrap();
    for place in -5..5 {
        let made = one.unsqueeze(place).unwrap();
        assert_eq!(made.sizes(), [1; 5]);
        assert_eq!(made.squeeze(place).unwrap().sizes(), [1; 4]);
        assert_eq!(made.item().unwrap(), 7.0.into());
    }
    assert!(one.unsqueeze(5).is_err() && one.unsqueeze(-6).is_err());
}

#[test]
fn views_remember_their_device() {
    let device = Device::cpu_columns();
    let a = counting(&[4, 6]).to(&device).unwrap();
    for view in [
        a.transpose(&[1, 0]).unwrap(),
        a.slice(0, 1..3).unwrap(),
        a.unsqueeze(0).unwrap(),
        a.broadcast_to([3, 4, 6]).unwrap(),
        a.index(1, 2).unwrap(),
        a.flip(1).unwrap(),
    ] {
        assert_eq!(view.device(), &device);
        assert!(view.shares_memory_with(&a));
        let back = view.to(&cpu()).unwrap();
        assert_eq!(back.device(), &cpu());
        assert!(back.equals(&view).unwrap());
    }
}

#[test]
fn a_device_gives_tensors_back() {
    let (cpu, device) = (cpu(), Device::cpu_columns());
    let a = counting(&[3, 5]);
    let there = device.from_cpu(&a).unwrap();
    assert_eq!(there.shape().to_string(), "f32[3,5]{0,1}");
    let back = device.to_cpu(&there).unwrap();
    assert_eq!(back.to_vec::<f32>().unwrap(), a.to_vec::<f32>().unwrap());
    assert_eq!(back.shape(), a.shape());
    // A vector's bytes are right already: sent as they are.
    let transfer = counting(&[7]).transfer_to(&device).unwrap().unwrap();
    assert_eq!(transfer.to_string(), "28 bytes over the link, as they are");
    assert_eq!(a.transfer_to(&cpu).unwrap(), None);
}

#[test]
fn types_that_differ_are_refused() {
    let a = counting(&[2, 3]);
    let b = Tensor::ones(ElementType::S8, [2, 3], &cpu()).unwrap();
    assert_eq!(
        message(a.add(&b)),
        "add: the left operand (2,3) holds f32, the right one (2,3) s8; expected one element type"
    );
    assert!(message(a.mm(&b.transpose(&[1, 0]).unwrap())).starts_with("mm: the left operand"));
    assert!(message(a.is_close(&b, 1.0)).starts_with("is_close: the left operand"));
}

#[test]
fn products_of_rank_3_write_all_of_the_result() {
    let a = counting(&[3, 2, 4]);
    let b = counting(&[3, 4, 5]);
    let made = a.mm(&b).unwrap();
    assert_eq!(made.sizes(), [3, 2, 5]);
    for batch in 0..3 {
        let one = a
            .index(0, batch)
            .unwrap()
            .mm(&b.index(0, batch).unwrap())
            .unwrap();
        assert!(made.index(0, batch).unwrap().equals(&one).unwrap());
        assert_ne!(one.at(&[0, 0]).unwrap(), 0.0.into());
    }
}

#[test]
fn devices_agree_on_rank_4() {
    let (cpu, device) = (cpu(), Device::cpu_columns());
    let a = Tensor::randn(ElementType::F32, [2, 3, 5, 7], 1, &cpu).unwrap();
    let b = Tensor::randn(ElementType::F32, [3, 7, 4], 2, &cpu).unwrap();
    let there = a.to(&device).unwrap();
    assert_eq!(there.shape().to_string(), "f32[2,3,5,7]{2,3,1,0}");
    let product = there.mm(&b.to(&device).unwrap()).unwrap();
    assert!(product.is_close(&a.mm(&b).unwrap(), 1e-5).unwrap());
    assert!(
        there
            .sum(&[1, 3])
            .unwrap()
            .is_close(&a.sum(&[1, 3]).unwrap(), 1e-5)
            .unwrap()
    );
}

#[test]
fn products_check_their_shapes() {
    let (a, b) = (counting(&[2, 3]), counting(&[4, 5]));
    assert_eq!(
        message(a.mm(&b)),
        "mm: (2,3) times (4,5) is no matrix product: the left one has 3 columns (dimension -1), \
         the right one 4 rows (dimension -2); expected as many"
    );
    let batches = counting(&[2, 2, 3]).mm(&counting(&[3, 3, 2]));
    assert!(message(batches).contains("dimension -3 from the end"));
}

#[test]
fn one_wild_element_is_not_close() {
    let a = Tensor::zeros(ElementType::F32, [1000, 100], &cpu()).unwrap();
    let mut elements = a.to_vec::<f32>().unwrap();
    elements[77_777] = 1.0;
    let b = Tensor::from_slice(&elements, [1000, 100], &cpu()).unwrap();
    // The mean of the differences is 1e-5.
    assert!(!a.is_close(&b, 1e-4).unwrap());
    assert!(message(a.is_close(&a, f64::NAN)).contains("the tolerance NaN is none"));
    assert!(
        message(a.is_close(&a.slice(0, 0..3).unwrap(), 1.0)).contains("(1000,100) and (3,100)")
    );
}

#[test]
fn numbers_that_a_type_lacks_are_refused() {
    let expected = "s8 can't hold 300; expected an integer from -128 to 127";
    assert_eq!(
        message(Tensor::full(ElementType::S8, [2], 300, &cpu())),
        expected
    );
    let a = Tensor::ones(ElementType::S8, [2], &cpu()).unwrap();
    assert_eq!(message(a.add(300)), expected);
    assert!(message(a.mul(0.5)).contains("can't hold 0.5"));
}

// What users of such libraries complain about.

#[test]
fn errors_have_the_shapes() {
    let (a, b) = (counting(&[4, 3]), counting(&[2, 3]));
    assert_eq!(
        message(a.sub(&b)),
        "subtract: (4,3) and (2,3) don't go together: dimension -2 from the end, -1 being the last, \
         is 4 and 2; expected equal sizes, or 1 in one of them"
    );
    assert!(message(a.reshape([5, -1])).contains("12 elements, which the sizes [5, -1]"));
    assert!(message(a.slice(0, 2..5)).contains("dimension 0 of size 4 has no range 2..5"));
    assert!(message(a.index(0, 4)).contains("no range 4..5"));
    assert!(message(a.broadcast_to([4, 4])).contains("(4,3) does not stretch to (4,4)"));
    assert!(message(a.item()).contains("(4,3) has 12 elements; expected one"));
    assert!(message(a.to_vec::<f64>()).contains("holds f32; expected f64"));
    let no_max = counting(&[0, 3]).max(&[0]);
    assert_eq!(
        message(no_max),
        "max of (0,3) over dimensions [0]: of no elements none is the greatest"
    );
    assert!(message(a.sum(&[0, -2])).contains("dimension 0 is listed twice"));
    assert!(message(a.squeeze(0)).contains("dimension 0 has size 4, expected 1"));
    let short = Tensor::from_slice(&[1.0f32], [2, 3], &cpu());
    assert_eq!(
        message(short),
        "1 elements were given for f32[2,3]; expected 6"
    );
    let pred = Tensor::ones(ElementType::Pred, [2], &cpu()).unwrap();
    assert!(message(pred.add(&pred)).starts_with("add is not for pred; expected f32, f64"));
    assert!(message(pred.mm(&pred)).contains("mm is not for pred; expected f32"));
    assert_eq!(
        message(Tensor::binary(Binary::Add, 1, 2)),
        "add: both sides are numbers; expected a tensor on one of them"
    );
    let there = a.to(&Device::cpu_columns()).unwrap();
    assert!(message(a.add(&there)).contains("on cpu, the right one on cpu:columns"));
    for (low, high) in [
        (2.0, 2.0),
        (f64::NEG_INFINITY, 0.0),
        (0.0, f64::NAN),
        (-3e38, 3e38),
    ] {
        let made = Tensor::uniform(ElementType::F32, [2], low..high, 0, &cpu());
        assert!(
            message(made).contains("there are no f32 numbers"),
            "{low} {high}"
        );
    }
    assert!(message(Tensor::randint(ElementType::U8, [2], -1..5, 0, &cpu())).contains("from -1"));
    assert!(
        message(Tensor::randn(ElementType::S8, [2], 0, &cpu())).contains("randn is not for s8")
    );
}

/// Reshapes follow the logical order, whatever memory's is, or are refused.
#[test]
fn reshapes_follow_the_logical_order() {
    let expected: Vec<f32> = (0..24).map(|k| k as f32).collect();
    let a = counting(&[2, 3, 4]);
    let tiles = Layout::descending(3)
        .with_tiles([Tile::new([1, 4])])
        .unwrap();
    let padding = Layout::descending(3)
        .with_padding([3, 4, 5], PaddingValue::Zero)
        .unwrap();
    let (mut views, mut refused) = (0, 0);
    for layout in [
        Order::RowMajor.layout(3),
        Order::ColumnMajor.layout(3),
        Order::ColumnMajorMatrices.layout(3),
        tiles,
        padding,
    ] {
        let b = a.relayout(layout).unwrap();
        for sizes in [
            &[24][..],
            &[6, 4],
            &[2, 12],
            &[2, 3, 2, 2],
            &[1, 2, 3, 4],
            &[4, 6],
            &[2, 1, 3, 4],
        ] {
            match b.reshape(sizes) {
                Ok(view) => {
                    assert!(view.shares_memory_with(&b));
                    assert_eq!(
                        view.to_vec::<f32>().unwrap(),
                        expected,
                        "{} {sizes:?}",
                        b.shape()
                    );
                    views += 1;
                }
                Err(TensorError::NotAView { reason, .. }) => {
                    assert!(!reason.is_empty());
                    let copy = b
                        .contiguous(Order::RowMajor)
                        .unwrap()
                        .reshape(sizes)
                        .unwrap();
                    assert_eq!(copy.to_vec::<f32>().unwrap(), expected);
                    refused += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(views >= 17 && refused >= 8, "{views} {refused}");
}

#[test]
fn tiled_tensors_say_what_they_are_not() {
    let tiles = Layout::descending(2)
        .with_tiles([Tile::new([8, 128])])
        .unwrap();
    let a = counting(&[3, 5]).relayout(tiles).unwrap();
    assert_eq!(a.strides(), None);
    assert_eq!(
        a.transpose(&[1, 0]).unwrap().shape().to_string(),
        "f32[5,3]{0,1:T(8,128)}"
    );
    assert_eq!(
        message(a.slice(0, 0..2)),
        "slice of f32[3,5]{1,0:T(8,128)} is no view: tiles have no strides; copy it first, with \
         `contiguous`"
    );
    // Elements are found all the same, and every operation takes it.
    assert_eq!(a.at(&[2, 4]).unwrap(), 14.0.into());
    assert_eq!(a.sum(&[0, 1]).unwrap().item().unwrap(), 105.0.into());
}

#[test]
fn packed_and_wide_elements_are_read() {
    let shape: minormajor::Shape = "u4[3,3]{0,1:E(4)}".parse().unwrap();
    let bytes = [0x41, 0x27, 0x85, 0x63, 0x09];
    let a = Tensor::from_bytes(shape.as_array().unwrap(), &bytes, &cpu()).unwrap();
    let numbers = |tensor: &Tensor| tensor.to_bytes().unwrap();
    assert_eq!(numbers(&a), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(a.at(&[1, 2]).unwrap(), 6.into());
    assert_eq!(numbers(&a.slice(0, 1..3).unwrap()), [4, 5, 6, 7, 8, 9]);
    assert_eq!(a.index(1, 1).unwrap().at(&[2]).unwrap(), 8.into());
    let wide: minormajor::Shape = "bf16[2]{0:E(32)}".parse().unwrap();
    let b = Tensor::from_bytes(
        wide.as_array().unwrap(),
        &[0x80, 0x3f, 0, 0, 0, 0x40, 0, 0],
        &cpu(),
    )
    .unwrap();
    assert_eq!(b.strides(), Some(vec![2]));
    assert_eq!(
        b.add(&b).unwrap().numbers().unwrap().collect::<Vec<_>>(),
        [2.0.into(), 4.0.into()]
    );
}

#[test]
fn results_keep_the_order_of_their_operands() {
    let columns = counting(&[3, 5]).contiguous(Order::ColumnMajor).unwrap();
    assert_eq!(columns.add(1).unwrap().shape().to_string(), "f32[3,5]{0,1}");
    let row = counting(&[5]);
    assert_eq!(
        row.add(&columns).unwrap().shape().to_string(),
        "f32[3,5]{0,1}"
    );
    let view = columns.slice(0, 0..2).unwrap();
    assert_eq!(
        view.add(&view).unwrap().shape().to_string(),
        "f32[2,5]{1,0}"
    );
}

#[test]
fn compact_shapes_are_sizes() {
    let shape = CompactShape::matrix(2, 3).unwrap();
    assert_eq!(
        Tensor::zeros(ElementType::F32, shape, &cpu())
            .unwrap()
            .sizes(),
        [2, 3]
    );
}

#[test]
fn relayouts_that_move_nothing_share() {
    let a = counting(&[1, 7]);
    assert!(
        a.contiguous(Order::ColumnMajor)
            .unwrap()
            .shares_memory_with(&a)
    );
    let b = counting(&[2, 7]);
    assert!(
        !b.contiguous(Order::ColumnMajor)
            .unwrap()
            .shares_memory_with(&b)
    );
    // A view of a part must not pass for the whole.
    let part = b.slice(0, 0..1).unwrap();
    assert_eq!(
        part.contiguous(Order::RowMajor).unwrap().storage().bytes(),
        28
    );
}

#[test]
fn devices_have_names() {
    let mut devices = Devices::new();
    devices.register(Device::cpu_columns()).unwrap();
    devices.register(Device::cpu_columns()).unwrap();
    let names: Vec<&str> = devices.iter().map(Device::name).collect();
    assert_eq!(names, ["cpu", "cpu:columns"]);
    assert_eq!(devices.get("cpu").unwrap(), Device::cpu());
    let error = devices.get("cuda:0").unwrap_err();
    let expected = "there is no device cuda:0: none of this name is registered; the devices are \
                    cpu, cpu:columns";
    assert_eq!(error.to_string(), expected);
    let other = Device::new(minormajor::backend::CpuBackend::row_major());
    assert!(matches!(
        devices.register(other),
        Err(DeviceError::NameTaken { .. })
    ));
    devices.register_missing("cuda", "no driver");
    assert!(devices.to_string().ends_with("cuda: missing, no driver\n"));
}

// Printing.

#[test]
fn tensors_print_as_people_read_them() {
    let text = |tensor: &Tensor| tensor.to_string();
    let scalar = Tensor::full(ElementType::F32, [], 2.5, &cpu()).unwrap();
    assert_eq!(text(&scalar), "2.5\nf32[] on cpu");
    let integers = Tensor::from_slice(&[-1i8, 100, 0], [3], &cpu()).unwrap();
    assert_eq!(text(&integers), "[ -1, 100,   0]\ns8[3]{0} on cpu");
    let cube = counting(&[2, 1, 2]);
    assert_eq!(
        text(&cube),
        "[[[0, 1]],\n\n [[2, 3]]]\nf32[2,1,2]{2,1,0} on cpu"
    );
    let small = Tensor::from_slice(&[1e-7f64, 2.0, f64::NAN], [3], &cpu()).unwrap();
    assert_eq!(
        text(&small),
        "[1.0000e-7,  2.0000e0,       NaN]\nf64[3]{0} on cpu"
    );
    let empty = counting(&[0, 3]);
    assert_eq!(text(&empty), "[]\nf32[0,3]{1,0} on cpu");
    let large = counting(&[1000, 8]);
    let expected =
        "[[   0,    1,    2, ...,    5,    6,    7],\n [   8,    9,   10, ...,   13,   14,   15],";
    assert!(text(&large).starts_with(expected), "{large}");
    assert!(text(&large).contains("\n ...,\n [7976,"), "{large}");
    // In logical order whatever the layout.
    let columns = large.contiguous(Order::ColumnMajor).unwrap();
    assert!(text(&columns).starts_with(expected));
    assert_eq!(
        format!("{:?}", large.slice(1, 0..2).unwrap()),
        "Tensor(f32[1000,2] on cpu, strides [32, 4] from 0)"
    );
}

// Random numbers.

/// The bits of the formulas, so that none changes unseen.
#[test]
fn normal_numbers_have_these_bits() {
    let words = philox([0; 4], [42, 0]);
    let made = [
        normal_f32(words[0], words[1]),
        normal_f32(words[2], words[3]),
    ]
    .concat();
    let tensor = Tensor::randn(ElementType::F32, [4], 42, &cpu()).unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap(), made);
    // Against the definition, in the library's functions.
    for (x, y) in [
        (0u32, 0u32),
        (1, 1 << 29),
        (u32::MAX, u32::MAX),
        (1 << 31, 3 << 29),
        (12345, 1 << 31),
    ] {
        // Rounded as the formula's first line is: next to 1 that is most of the difference.
        let u = f64::from(x as f32 / 2f32.powi(32) + 2f32.powi(-33));
        let (radius, angle) = (
            (-2.0 * u.ln()).sqrt(),
            f64::from(y) / 2f64.powi(32) * std::f64::consts::TAU,
        );
        let [a, b] = normal_f32(x, y).map(f64::from);
        let near = |made: f64, exact: f64| (made - exact).abs() < 4e-6;
        assert!(
            near(a, radius * angle.cos()) && near(b, radius * angle.sin()),
            "{x} {y}: {a} {b}"
        );
    }
    for (x, y) in [
        (0u64, 0u64),
        (1 << 12, 1 << 61),
        (u64::MAX, u64::MAX),
        (1 << 63, 3 << 61),
        (1 << 40, 7 << 60),
    ] {
        let u = ((x >> 12) as f64 + 0.5) / 2f64.powi(52);
        let (radius, angle) = (
            (-2.0 * u.ln()).sqrt(),
            y as f64 / 2f64.powi(64) * std::f64::consts::TAU,
        );
        let [a, b] = normal_f64(x, y);
        let near = |made: f64, exact: f64| (made - exact).abs() < 1e-14;
        assert!(
            near(a, radius * angle.cos()) && near(b, radius * angle.sin()),
            "{x} {y}: {a} {b}"
        );
    }
}

#[test]
fn moments_are_those_of_the_distributions() {
    let count = 1_000_000i64;
    let moments = |made: Tensor| {
        let values: Vec<f64> = made.numbers().unwrap().map(Number::to_f64).collect();
        let mean = |power: i32| values.iter().map(|x| x.powi(power)).sum::<f64>() / count as f64;
        [mean(1), mean(2), mean(3), mean(4)]
    };
    for element_type in [ElementType::F32, ElementType::F64] {
        let made = Tensor::randn(element_type, [count], 7, &cpu()).unwrap();
        // Five standard deviations of each mean.
        for (found, (expected, deviation)) in
            moments(made)
                .into_iter()
                .zip([(0.0, 1.0), (1.0, 1.5), (0.0, 3.9), (3.0, 9.8)])
        {
            assert!(
                (found - expected).abs() < 5e-3 * deviation,
                "{element_type} {found} {expected}"
            );
        }
        let made = Tensor::uniform(element_type, [count], -1.0..1.0, 7, &cpu()).unwrap();
        for (found, expected) in moments(made).into_iter().zip([0.0, 1.0 / 3.0, 0.0, 0.2]) {
            assert!(
                (found - expected).abs() < 3e-3,
                "{element_type} {found} {expected}"
            );
        }
    }
    let made = Tensor::randint(ElementType::S32, [count], 0..10, 7, &cpu()).unwrap();
    let mut counts = [0; 10];
    made.to_vec::<i32>()
        .unwrap()
        .into_iter()
        .for_each(|n| counts[n as usize] += 1);
    assert!(
        counts.iter().all(|n| (98_500..101_500).contains(n)),
        "{counts:?}"
    );
}

// Threads.

#[test]
fn everything_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Tensor>();
    shared::<Device>();
    shared::<Devices>();
    shared::<CompactShape>();
    shared::<TensorError>();
}

#[test]
fn numbers_of_threads_change_nothing() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let a = Tensor::randn(ElementType::F32, [600, 300], 3, &cpu()).unwrap();
            let b = Tensor::randn(ElementType::F32, [300, 500], 4, &cpu()).unwrap();
            let c = a.mm(&b).unwrap().mul(0.1).unwrap();
            let sums =
                [&[0][..], &[1], &[0, 1]].map(|axes| c.sum(axes).unwrap().to_bytes().unwrap());
            (
                c.to_bytes().unwrap(),
                sums,
                c.max(&[0]).unwrap().to_bytes().unwrap(),
            )
        })
    };
    let one = run(1);
    for threads in [2, 5] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

/// Many threads make, view, compute with and drop tensors of shared memory.
#[test]
fn many_threads_at_once() {
    let shared = Arc::new(counting(&[64, 96]));
    let expected = shared.sum(&[0, 1]).unwrap().item().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8i64 {
            let shared = shared.clone();
            scope.spawn(move || {
                for round in 0..40 {
                    let view = shared.transpose(&[1, 0]).unwrap();
                    let row = view.index(0, (thread * 11 + round) % 96).unwrap();
                    assert_eq!(
                        row.at(&[1]).unwrap(),
                        (96.0 + (thread * 11 + round) as f32 % 96.0).into()
                    );
                    let there = view.to(&Device::cpu_columns()).unwrap();
                    assert!(there.to(&cpu()).unwrap().equals(&view).unwrap());
                    assert_eq!(view.sum(&[0, 1]).unwrap().item().unwrap(), expected);
                    let product = shared.mm(&view).unwrap();
                    assert_eq!(product.sizes(), [64, 64]);
                }
            });
        }
    });
    assert_eq!(Arc::strong_count(&shared), 1);
}

#[test]
fn memory_that_is_too_short_is_refused() {
    let view = StridedView::new(ElementType::U16, &[2, 3], &[6, 2], 0).unwrap();
    let from = |bytes: &[u8]| Tensor::from_place(&view, bytes, Layout::ascending(2), &cpu());
    let error = from(&[0; 11]).unwrap_err().to_string();
    assert_eq!(error, "11 bytes were given for u16[2,3]; expected 12");
    let bytes: Vec<u8> = (0..13).collect();
    let made = from(&bytes).unwrap();
    let mut read = [0; 12];
    made.read_into(&mut read).unwrap();
    assert_eq!(read[..], bytes[..12]);
    for wrong in [11, 13] {
        let error = made.read_into(&mut vec![0; wrong]).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("{wrong} bytes were given for u16[2,3]; expected 12")
        );
    }
}
