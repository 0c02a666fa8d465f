//! The backend on the emulated device beside the host's, operation by operation.

use std::sync::Arc;

use minormajor::backend::{
    Argument, Backend, Binary, CpuBackend, DeviceError, Distribution, Operand, Reduction, Scalar,
    Storage, Strided, Tolerance,
};
use minormajor::plan::PlanClass;
use minormajor::{ArrayShape, ElementType, Plan, Shape, StridedView};
use minormajor_cuda::CudaBackend;
use minormajor_cuda_emulator::{Emulator, Options, PRESENT};
use minormajor_testing::{oracle, strategy};
use proptest::prelude::*;
use proptest::sample::select;

const NUMERIC: [ElementType; 12] = [
    ElementType::F32,
    ElementType::F64,
    ElementType::F16,
    ElementType::Bf16,
    ElementType::S8,
    ElementType::S16,
    ElementType::S32,
    ElementType::S64,
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::U64,
];

fn device() -> (Emulator, CudaBackend) {
    device_with(Options::default())
}

fn device_with(options: Options) -> (Emulator, CudaBackend) {
    let emulator = Emulator::new(options);
    let backend = CudaBackend::over("cuda:0", Arc::new(emulator.clone()));
    (emulator, backend)
}

/// Whether there is an emulator; says so where there is none.
fn is_there() -> bool {
    if !PRESENT {
        println!("skipped: the emulator was built without a C++ compiler");
    }
    PRESENT
}

fn bytes(backend: &dyn Backend, storage: &dyn Storage) -> Vec<u8> {
    let mut all = vec![0; storage.bytes()];
    backend.download(storage, 0, &mut all).unwrap();
    all
}

/// Bytes of numbers, most of them small, some of them the ends: NaN, infinities, zeros.
fn numbers(element_type: ElementType, count: usize, seed: u64) -> Vec<u8> {
    let mut made = Vec::new();
    let mut state = seed.wrapping_mul(2) + 1;
    for _ in 0..count {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let pick = state >> 40;
        let small = (pick % 41) as i32 - 20;
        let scalar = if element_type.is_floating_point() {
            let value = match pick % 23 {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => -0.0,
                3 => 1e-6,
                _ => f64::from(small) / 8.0,
            };
            Scalar::new(element_type, value).unwrap()
        } else {
            let bits = match pick % 7 {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << (element_type.bit_width() - 1),
                3 => state,
                _ => small as i64 as u64,
            };
            Scalar::from_bytes(element_type, &bits.to_le_bytes())
        };
        made.extend_from_slice(scalar.bytes());
    }
    made
}

/// A place of these sizes in some storage, and how many elements that has.
fn place(element_type: ElementType, sizes: Vec<i64>) -> impl Strategy<Value = (Strided, usize)> {
    let rank = sizes.len();
    let order: Vec<usize> = (0..rank).collect();
    let kind = prop_oneof![5 => Just(0), 1 => Just(1), 1 => Just(2), 1 => Just(3)];
    (
        prop_oneof![
            Just(order.clone()).boxed(),
            Just(order).prop_shuffle().boxed()
        ],
        prop::collection::vec(kind, rank),
        select(vec![0i64, 0, 1, 4, 16]),
    )
        .prop_map(move |(order, kinds, offset)| {
            let (mut strides, mut stride, mut first) = (vec![0; rank], 1, offset);
            for d in order {
                let size = sizes[d].max(1);
                match kinds[d] {
                    1 => continue,
                    2 => {
                        stride *= 2;
                        strides[d] = stride;
                    }
                    3 => {
                        strides[d] = -stride;
                        first += (size - 1) * stride;
                    }
                    _ => strides[d] = stride,
                }
                stride *= size;
            }
            let place = Strided::new(element_type, sizes.iter().copied(), strides, first);
            (place, (offset + stride) as usize)
        })
}

fn sizes() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(select(vec![0i64, 1, 2, 3, 5, 8, 16, 33]), 0..4).prop_map(|mut sizes| {
        while sizes.iter().product::<i64>() > 3000 {
            sizes.pop();
        }
        sizes
    })
}

fn order(rank: usize) -> impl Strategy<Value = Vec<usize>> {
    Just((0..rank).collect::<Vec<_>>()).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn memory_of_others_is_read_and_written(
        (from, elements) in sizes().prop_flat_map(|sizes| place(ElementType::U16, sizes)),
        gap in 1i64..4,
        overlaps in any::<bool>(),
    ) {
        prop_assume!(is_there() && from.elements() > 0);
        let (emulator, owner) = device();
        // Another program's, on the same device.
        let ours = CudaBackend::over("cuda:0", Arc::new(emulator.clone()));
        let view = |place: &Strided| {
            let strides: Vec<i64> = place.strides().iter().map(|stride| 2 * stride).collect();
            StridedView::new(ElementType::U16, place.sizes(), &strides, 2 * place.offset()).unwrap()
        };
        let mut strides = vec![0; from.sizes().len()];
        let mut stride = gap;
        for (to, size) in strides.iter_mut().zip(from.sizes()) {
            *to = stride;
            stride *= size;
        }
        let to = Strided::new(ElementType::U16, from.sizes().iter().copied(), strides, 3);
        let plan = Plan::new(&view(&from), &view(&to)).unwrap();
        let bytes = 2 * (elements + stride as usize + 3);
        let numbers: Vec<u8> = (0..2 * bytes).map(|n| (n * 7 + (n >> 8)) as u8).collect();
        let memory = owner.upload(&numbers).unwrap();
        let address = owner.lend(&*memory).unwrap();
        let dropped = Arc::new(());
        // The output in another half of the memory, or in the same bytes.
        let start = if overlaps { 0 } else { bytes };
        {
            #[allow(unsafe_code)]
            // SAFETY: `memory` lives, and only this test uses it.
            let borrow = |offset: usize| unsafe {
                ours.borrow(address + offset as u64, bytes, Box::new(dropped.clone()))
            };
            let (source, destination) = (borrow(0).unwrap(), borrow(start).unwrap());
            let tensors = ours.upload(&numbers).unwrap();
            prop_assert!(ours.relayout_into(&plan, &*source, &*tensors).is_err());
            prop_assert_eq!(Arc::strong_count(&dropped), 3);
            let made = ours.relayout(&plan, &*source).unwrap();
            let zeros = vec![0; plan.destination_bytes() as usize];
            let (expected, _) = oracle::run(&plan, &numbers, &zeros);
            prop_assert_eq!(self::bytes(&ours, &*made), expected);
            ours.relayout_into(&plan, &*source, &*destination).unwrap();
        }
        prop_assert_eq!(Arc::strong_count(&dropped), 1);
        let mut expected = numbers.clone();
        let end = start + plan.destination_bytes() as usize;
        let (moved, _) = oracle::run(&plan, &numbers, &numbers[start..end]);
        expected[start..end].copy_from_slice(&moved);
        prop_assert_eq!(self::bytes(&owner, &*memory), expected);
        #[allow(unsafe_code)]
        // SAFETY: nothing is read from what is refused.
        let beyond = unsafe { ours.borrow(address, 1 << 40, Box::new(())) };
        prop_assert!(beyond.is_err());
        drop(memory);
        prop_assert_eq!(emulator.allocations(), 0);
    }
}

/// Equal, but that a NaN is any NaN.
fn assert_same(element_type: ElementType, ours: &[u8], theirs: &[u8]) -> Result<(), TestCaseError> {
    let width = element_type.byte_width() as usize;
    prop_assert_eq!(ours.len(), theirs.len());
    for (n, (a, b)) in ours.chunks(width).zip(theirs.chunks(width)).enumerate() {
        let number = |bytes| Scalar::from_bytes(element_type, bytes).number().to_f64();
        let both_nan = element_type.is_floating_point() && number(a).is_nan() && number(b).is_nan();
        prop_assert!(
            a == b || both_nan,
            "element {}: {} here, {} there",
            n,
            number(a),
            number(b)
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn operations_on_pairs(
        (element_type, left, right, result, scalar) in (select(&NUMERIC[..]), sizes(), 0..4).prop_flat_map(|(t, sizes, scalar)| {
            let result = order(sizes.len()).prop_map({
                let sizes = sizes.clone();
                move |order| Strided::dense(t, &sizes, &order)
            });
            (Just(t), place(t, sizes.clone()), place(t, sizes), result, Just(scalar))
        }),
        operation in select(&Binary::ALL[..]), seed: u64,
    ) {
        if PRESENT {
            let (_, cuda) = device();
            let cpu = CpuBackend::row_major();
            let (a, b) = (numbers(element_type, left.1, seed), numbers(element_type, right.1, !seed));
            let run = |backend: &dyn Backend| {
                let (x, y) = (backend.upload(&a).unwrap(), backend.upload(&b).unwrap());
                let value = Scalar::from_bytes(element_type, &b);
                let left = match scalar {
                    0 => Argument::Scalar(value),
                    _ => Argument::Array(Operand { storage: &*x, place: left.0.clone() }),
                };
                let right = match scalar {
                    1 => Argument::Scalar(value),
                    _ => Argument::Array(Operand { storage: &*y, place: right.0.clone() }),
                };
                let made = backend.binary(operation, &left, &right, &result).unwrap();
                bytes(backend, &*made)
            };
            assert_same(element_type, &run(&cuda), &run(&cpu))?;
        }
    }

    #[test]
    fn reductions(
        (element_type, operand, kept, order) in (select(&NUMERIC[..]), sizes()).prop_flat_map(|(t, sizes)| {
            let rank = sizes.len();
            (Just(t), place(t, sizes), 0..=rank).prop_flat_map(|(t, place, kept)| (Just(t), Just(place), Just(kept), order(kept)))
        }),
        operation in select(&Reduction::ALL[..]), seed: u64,
    ) {
        let empty = operand.0.sizes()[kept..].contains(&0);
        if let Some(result_type) = operation.result_type(element_type)
            && PRESENT
            && !(operation == Reduction::Max && empty)
        {
            let (_, cuda) = device();
            let cpu = CpuBackend::row_major();
            let result = Strided::dense(result_type, &operand.0.sizes()[..kept], &order);
            let a = numbers(element_type, operand.1, seed);
            let run = |backend: &dyn Backend| {
                let x = backend.upload(&a).unwrap();
                let operand = Operand { storage: &*x, place: operand.0.clone() };
                let made = backend.reduce(operation, &operand, kept, &result).unwrap();
                bytes(backend, &*made)
            };
            // Sums of eighths are exact in any order, so even floats are equal; but for those that
            // are far apart.
            let (ours, theirs) = (run(&cuda), run(&cpu));
            let width = result_type.byte_width() as usize;
            for (a, b) in ours.chunks(width).zip(theirs.chunks(width)) {
                let [a, b] = [a, b].map(|bytes| Scalar::from_bytes(result_type, bytes).number().to_f64());
                let close = (a - b).abs() <= 1e-2 * b.abs() + 1e-6;
                prop_assert!(a == b || close || a.is_nan() && b.is_nan(), "{} here, {} there", a, b);
            }
        }
    }

    #[test]
    fn closeness(
        (element_type, left, right) in (select(&NUMERIC[..]), sizes()).prop_flat_map(|(t, sizes)| {
            (Just(t), place(t, sizes.clone()), place(t, sizes))
        }),
        absolute in select(vec![0.0, 0.5, 5.0, 1e30]), relative in select(vec![0.0, 0.5, 3.0]), seed: u64, ends: bool,
    ) {
        if PRESENT {
            let (_, cuda) = device();
            let cpu = CpuBackend::row_major();
            let made = |count, seed| {
                let mut made = numbers(element_type, count, seed);
                if !ends {
                    // Small numbers only, so that some are close.
                    made.chunks_mut(element_type.byte_width() as usize).enumerate().for_each(|(n, bytes)| {
                        bytes.copy_from_slice(Scalar::new(element_type, (n % 3) as u8).unwrap().bytes());
                    });
                }
                made
            };
            let (a, b) = (made(left.1, seed), made(right.1, !seed));
            let run = |backend: &dyn Backend| {
                let (x, y) = (backend.upload(&a).unwrap(), backend.upload(&b).unwrap());
                let left = Operand { storage: &*x, place: left.0.clone() };
                let right = Operand { storage: &*y, place: right.0.clone() };
                backend.is_close(&left, &right, Tolerance { relative, absolute }).unwrap()
            };
            prop_assert_eq!(run(&cuda), run(&cpu));
        }
    }

    #[test]
    fn products(
        (t, left, right, result) in (
            select(vec![ElementType::F32, ElementType::F64, ElementType::F16, ElementType::Bf16, ElementType::S8]),
            prop::collection::vec(select(vec![0i64, 1, 2, 3]), 0..3),
            [0i64..7, 0i64..7, 0i64..7],
        ).prop_flat_map(|(t, batch, [m, n, k])| {
            let sizes = |rows, columns| [&batch[..], &[rows, columns]].concat();
            let to = if t == ElementType::S8 { ElementType::S32 } else { t };
            let result = order(batch.len() + 2).prop_map({
                let sizes = sizes(m, n);
                move |order| Strided::dense(to, &sizes, &order)
            });
            (Just(t), place(t, sizes(m, k)), place(t, sizes(k, n)), result)
        }),
        seed: u64,
    ) {
        if PRESENT {
            let (_, cuda) = device();
            let cpu = CpuBackend::row_major();
            let small = |count: usize, seed: u64| -> Vec<u8> {
                (0..count as u64).flat_map(|n| {
                    let value = ((n.wrapping_mul(seed | 1) >> 7) % 9) as i8 - 4;
                    Scalar::new(t, value).unwrap().bytes().to_vec()
                }).collect()
            };
            let (a, b) = (small(left.1, seed), small(right.1, !seed));
            let run = |backend: &dyn Backend| {
                let (x, y) = (backend.upload(&a).unwrap(), backend.upload(&b).unwrap());
                let left = Operand { storage: &*x, place: left.0.clone() };
                let right = Operand { storage: &*y, place: right.0.clone() };
                let made = backend.mm(&left, &right, &result).unwrap();
                bytes(backend, &*made)
            };
            prop_assert_eq!(run(&cuda), run(&cpu));
        }
    }

    #[test]
    fn random_numbers(
        (t, result) in (select(&NUMERIC[..]), sizes()).prop_flat_map(|(t, sizes)| {
            (Just(t), order(sizes.len()).prop_map(move |order| Strided::dense(t, &sizes, &order)))
        }),
        seed: u64, normal: bool, low: i8, range: u64,
    ) {
        if PRESENT {
            let (_, cuda) = device();
            let cpu = CpuBackend::row_major();
            let distribution = match t.is_floating_point() {
                true if normal => Distribution::Normal,
                true => Distribution::Uniform { low: f64::from(low), width: 0.75, highest: f64::from(low) + 0.5 },
                false => Distribution::Integers { low: low as u64, range: range.max(1) },
            };
            let run = |backend: &dyn Backend| {
                let made = backend.random(distribution, seed, &result).unwrap();
                bytes(backend, &*made)
            };
            prop_assert_eq!(run(&cuda), run(&cpu));
        }
    }

    #[test]
    fn relayouts((from, to) in strategy::relayout()) {
        if PRESENT {
            let (_, cuda) = device();
            let plan = Plan::new(&from, &to).unwrap();
            let source = oracle::elements(&from);
            let before = vec![0; to.allocated_bytes().unwrap() as usize];
            let expected = oracle::relayout(&from, &source, &to, &before);
            // Where elements stay where they are, what belongs to none of them may stay too.
            let is_right = |made: &[u8]| {
                made == expected || plan.class() == PlanClass::Identity && made == source
            };
            let storage = cuda.upload(&source).unwrap();
            let moved = cuda.relayout(&plan, &*storage).unwrap();
            prop_assert!(is_right(&bytes(&cuda, &*moved)), "relayout of {} to {}", &from, &to);
            let moved = cuda.upload_relaid(&plan, &source).unwrap();
            prop_assert!(is_right(&bytes(&cuda, &*moved)), "upload of {} to {}", &from, &to);
            let mut into = vec![0; expected.len()];
            cuda.download_relaid(&plan, &*storage, &mut into).unwrap();
            prop_assert!(is_right(&into), "download of {} to {}", &from, &to);
        }
    }
}

fn array(text: &str) -> ArrayShape {
    let shape: Shape = text.parse().unwrap();
    shape.as_array().unwrap().clone()
}

/// Several chunks are under way at once, and none is used before it has landed.
#[test]
fn long_transfers() {
    if !is_there() {
        return;
    }
    let (emulator, cuda) = device();
    let source: Vec<u8> = (0..41u32 << 20)
        .map(|n| (n * 7 + (n >> 11)) as u8)
        .collect();
    let first = cuda.upload(&source).unwrap();
    // Another one while the first may still be on its way.
    let second = cuda.upload(&source[1..]).unwrap();
    assert!(bytes(&cuda, &*first) == source && bytes(&cuda, &*second) == source[1..]);
    let mut part = vec![0; 9 << 20];
    cuda.download(&*first, 12345, &mut part).unwrap();
    assert!(part == source[12345..][..part.len()]);
    drop((first, second));
    assert_eq!(emulator.allocations(), 0);
}

#[test]
fn memory_that_runs_out_leaves_everything_usable() {
    if !is_there() {
        return;
    }
    let (emulator, cuda) = device_with(Options {
        memory: 1 << 20,
        ..Options::default()
    });
    let kept = cuda.upload(&[7; 1000]).unwrap();
    let error = cuda.allocate(2 << 20).unwrap_err();
    assert!(
        matches!(
            error,
            DeviceError::OutOfMemory {
                bytes: 2_097_152,
                free: Some(_),
                ..
            }
        ),
        "{error:?}"
    );
    // An operation whose result does not fit.
    let large = Strided::dense(ElementType::F32, &[1 << 19], &[0]);
    assert!(cuda.random(Distribution::Normal, 1, &large).is_err());
    let long = vec![1; 800 << 10];
    let first = cuda.upload(&long).unwrap();
    assert!(cuda.upload(&long).is_err());
    drop(first);
    let again = cuda.upload(&long).unwrap();
    assert!(bytes(&cuda, &*again) == long && bytes(&cuda, &*kept) == [7; 1000]);
    drop((kept, again));
    assert_eq!(emulator.allocations(), 0);
}

#[test]
fn what_is_missing_is_said() {
    if !is_there() {
        return;
    }
    let (_, cuda) = device_with(Options {
        products: false,
        ..Options::default()
    });
    let storage = cuda.upload(&[0; 16]).unwrap();
    let place = Strided::dense(ElementType::F32, &[2, 2], &[0, 1]);
    let operand = Operand {
        storage: &*storage,
        place: place.clone(),
    };
    let error = cuda.mm(&operand, &operand, &place).unwrap_err();
    assert_eq!(error.to_string(), "cuda:0 needs cuBLAS, which is not there");
    // A storage of another device.
    let (_, other) = device();
    let error = other.relayout(
        &Plan::new(&array("u8[16]"), &array("u8[16]")).unwrap(),
        &*storage,
    );
    assert!(
        matches!(error, Err(DeviceError::Foreign { .. })),
        "{error:?}"
    );
}

/// An operand in another order than the result's goes through tiles first.
#[test]
fn large_operands_in_another_order() {
    if !is_there() {
        return;
    }
    let (emulator, cuda) = device();
    let cpu = CpuBackend::row_major();
    let bytes_of = numbers(ElementType::S16, 300 * 257, 5);
    let result = Strided::dense(ElementType::S16, &[300, 257], &[0, 1]);
    let rows = Strided::dense(ElementType::S16, &[300, 257], &[1, 0]);
    let run = |backend: &dyn Backend| {
        let storage = backend.upload(&bytes_of).unwrap();
        let side = |place: &Strided| {
            Argument::Array(Operand {
                storage: &*storage,
                place: place.clone(),
            })
        };
        let made = backend.binary(Binary::Subtract, &side(&rows), &side(&result), &result);
        bytes(backend, &*made.unwrap())
    };
    assert!(run(&cuda) == run(&cpu));
    let kernels = emulator.take_launched();
    assert!(
        kernels.iter().any(|kernel| kernel.starts_with("tiles_2")),
        "{kernels:?}"
    );
}

/// What BLAS can say of an operand is not copied; what it can't is, and a note says so.
#[test]
fn products_take_views_without_copies() {
    if !is_there() {
        return;
    }
    let (_, cuda) = device();
    let storage = cuda.upload(&[0; 4 * 4096]).unwrap();
    let result = Strided::dense(ElementType::F32, &[8, 8], &[0, 1]);
    let mm = |strides: [i64; 2], offset| {
        let place = Strided::new(ElementType::F32, [8, 8], strides, offset);
        let operand = Operand {
            storage: &*storage,
            place,
        };
        cuda.mm(&operand, &operand, &result).unwrap();
        cuda.synchronize().unwrap();
        cuda.take_notes().len()
    };
    assert_eq!(
        [mm([1, 8], 0), mm([8, 1], 3), mm([1, 20], 5), mm([20, 1], 7)],
        [0; 4]
    );
    assert_eq!([mm([2, 16], 0), mm([0, 1], 0), mm([-1, 8], 7)], [2; 3]);
}

/// Bytes are not copied where they lie along the sum by fours; elsewhere they are, and zeros follow
/// a sum that ends in less, whatever lay in the memory before.
#[test]
fn products_of_bytes_are_taken_along_the_sum() {
    if !is_there() {
        return;
    }
    let (_, cuda) = device();
    let ones = cuda.upload(&[1; 4096]).unwrap();
    let result = Strided::dense(ElementType::S32, &[8, 8], &[1, 0]);
    let mm = |k: i64, left: [i64; 2], right: [i64; 2], offset| {
        let operand = |sizes: [i64; 2], strides: [i64; 2]| Operand {
            storage: &*ones,
            place: Strided::new(ElementType::S8, sizes, strides, offset),
        };
        let (a, b) = (operand([8, k], left), operand([k, 8], right));
        let made = cuda.mm(&a, &b, &result).unwrap();
        let made = bytes(&cuda, &*made);
        let sums: Vec<i32> = (made.chunks_exact(4))
            .map(|sum| i32::from_le_bytes(sum.try_into().unwrap()))
            .collect();
        assert_eq!(sums, [k as i32; 64]);
        cuda.take_notes().len()
    };
    // As they are: also rows that are further apart.
    assert_eq!(mm(16, [16, 1], [1, 16], 0), 0);
    assert_eq!(mm(16, [20, 1], [1, 64], 8), 0);
    // One of them lies across the sum, or begins elsewhere.
    assert_eq!(mm(16, [1, 16], [1, 16], 0), 1);
    assert_eq!(mm(16, [16, 1], [16, 1], 0), 1);
    assert_eq!(mm(16, [18, 1], [1, 16], 0), 1);
    assert_eq!(mm(16, [16, 1], [1, 16], 2), 2);
    // A sum of 13: what the first line of a copy has behind its end is no neighbour's.
    assert_eq!(mm(13, [16, 1], [1, 16], 0), 2);
    assert_eq!(mm(1, [1, 1], [1, 1], 0), 2);
}
