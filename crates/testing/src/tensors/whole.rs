//! What is asked of whole arrays: closeness, movement, memory, and arrays beyond one thread's part.

use minormajor::backend::{DeviceError, Number, Tolerance};
use minormajor::{Device, ElementType, Order, Tensor, TensorError};

use super::SIZES;
use super::form::Form;
use super::naive::{Values, agree};
use super::numeric_types;

/// One element that is off, a NaN, an infinity: in every layout.
pub fn closeness(device: &Device) {
    let sizes = [3, 5];
    for element_type in numeric_types() {
        for form in Form::ALL
            .into_iter()
            .filter(|&form| form != Form::Broadcast)
        {
            let a = form.array(element_type, &sizes, 9, device);
            let close = |other: &Values, tolerance: f64| {
                let other = Form::Columns.of(other.clone(), device).tensor;
                a.tensor.is_close(&other, tolerance).expect("an answer")
            };
            let name = format!("is_close {element_type} {form:?}");
            assert!(close(&a.values, 0.0), "{name}");
            for place in 0..15 {
                let mut other = a.values.clone();
                other.numbers[place] = match other.numbers[place] {
                    Number::Integer(value) => Number::Integer(value + 1),
                    other => Number::Float(other.to_f64() + 1.0),
                };
                assert!(
                    !close(&other, 0.5) && close(&other, 1.0),
                    "{name} at {place}"
                );
            }
        }
    }
    let of = |value: f64| {
        let values = vec![Number::Float(1.0), Number::Float(value)];
        Form::Rows
            .of(Values::of(ElementType::F32, &[2], values), device)
            .tensor
    };
    let close = |a: f64, b: f64, relative: f64, absolute: f64| {
        let tolerance = Tolerance { relative, absolute };
        of(a).is_close_within(&of(b), tolerance).expect("an answer")
    };
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    // The original took the mean of differences, and let NaN pass.
    assert!(!close(nan, nan, 1.0, 1e30) && !close(nan, 1.0, 1.0, 1e30));
    assert!(close(infinity, infinity, 0.0, 0.0) && !close(infinity, -infinity, 1.0, 1e30));
    assert!(!close(infinity, 1.0, 1.0, 1e30) && !close(1.0, infinity, 1.0, 1e30));
    assert!(close(100.0, 101.0, 0.01, 0.0) && !close(100.0, 101.5, 0.01, 0.0));
    assert!(close(0.0, -0.0, 0.0, 0.0));
    assert!(close(1e9, 1e9 + 1000.0, 0.0, 1024.0));
}

/// To the host and here, to every layout and back.
pub fn movement(device: &Device) {
    let cpu = Device::cpu();
    let types = [
        ElementType::F32,
        ElementType::Pred,
        ElementType::C128,
        ElementType::S16,
    ];
    for element_type in types {
        for sizes in SIZES {
            for form in Form::ALL {
                let name = format!("{element_type} {sizes:?} {form:?}");
                let mut values = Values::salted(ElementType::U8, sizes, 11);
                values.element_type = element_type;
                if element_type == ElementType::Pred {
                    let bit = |number: &mut Number| {
                        *number = Number::Integer(number.to_f64() as i128 % 2)
                    };
                    values.numbers.iter_mut().for_each(bit);
                }
                if form == Form::Broadcast {
                    let one = values
                        .numbers
                        .first()
                        .copied()
                        .unwrap_or(Number::Integer(1));
                    values.numbers.iter_mut().for_each(|number| *number = one);
                }
                for (from, to) in [(&cpu, device), (device, &cpu), (device, device)] {
                    let there = form.of(values.clone(), from).tensor;
                    let here = there
                        .to(to)
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                    agree(&name, &here, &values, 0.0);
                    for order in Order::ALL {
                        let relaid = here.contiguous(order).expect("an order");
                        agree(&format!("{name} {order}"), &relaid, &values, 0.0);
                    }
                    if from != to {
                        let layout = to.backend().preferred_layout(sizes.len());
                        assert_eq!(here.layout(), Some(&layout), "{name}");
                    }
                }
            }
        }
    }
}

/// Arrays that several threads or blocks share.
pub fn larger(device: &Device) {
    let sizes = [257, 1031];
    let values = Values::salted(ElementType::F32, &sizes, 12);
    let rows = Form::Rows.of(values.clone(), device).tensor;
    for form in Form::ALL
        .into_iter()
        .filter(|&form| form != Form::Broadcast)
    {
        let name = format!("larger {form:?}");
        let a = form.of(values.clone(), device).tensor;
        let twice = a.add(&rows).expect("a sum");
        let expected = |factor: f64| {
            let number = |number: &Number| Number::Float(number.to_f64() * factor);
            let numbers = values.numbers.iter().map(number).collect();
            Values::of(ElementType::F32, &sizes, numbers)
        };
        agree(&name, &twice, &expected(2.0), 0.0);
        agree(&name, &a.mul(0.5).expect("a product"), &expected(0.5), 0.0);
        assert!(a.equals(&rows).expect("an answer"), "{name}");
        for axes in [&[0][..], &[1], &[0, 1]] {
            let sum = super::naive::reduce(minormajor::backend::Reduction::Sum, &values, axes);
            agree(&name, &a.sum(axes).expect("a sum"), &sum.expect("one"), 0.0);
        }
    }
    let changed = rows.to_vec::<f32>().expect("elements");
    for place in [0, 100_000, changed.len() - 1] {
        let mut other = changed.clone();
        other[place] += 1.0;
        let other = Tensor::from_slice(&other, sizes, device).expect("a tensor");
        assert!(
            !rows.is_close(&other, 0.5).expect("an answer"),
            "larger at {place}"
        );
    }
}

/// Filled memory of every type, and memory that no machine has.
pub fn memory(device: &Device) {
    for &element_type in ElementType::ALL {
        for sizes in SIZES {
            let Ok(made) = Tensor::ones(element_type, sizes, device) else {
                // s1 has no one.
                assert_eq!(element_type, ElementType::S1);
                continue;
            };
            let ones = vec![1.0; made.elements() as usize];
            let found: Vec<f64> = made
                .numbers()
                .expect("numbers")
                .map(Number::to_f64)
                .collect();
            assert_eq!(found, ones, "ones {element_type} {sizes:?}");
            let empty = Tensor::empty(element_type, sizes, device).expect("memory");
            assert_eq!(empty.sizes(), sizes);
        }
    }
    let much = Tensor::zeros(ElementType::F32, [1 << 28, 1 << 28], device);
    let Err(TensorError::Device(DeviceError::OutOfMemory { bytes, .. })) = much else {
        panic!("256 PiB are there: {much:?}");
    };
    assert_eq!(bytes, 1 << 58);
    // All is as it was.
    let ones = Tensor::ones(ElementType::F32, [3], device).expect("memory");
    assert_eq!(
        ones.sum(&[0]).expect("a sum").item().expect("one"),
        3.0.into()
    );
}
