//! One table for every backend: operations, by layouts, by ranks 0 to 5, by types, against the naive
//! definitions.
//!
//! [`suite`] panics with the first case that is wrong; a backend's own tests call it.

mod form;
mod naive;
mod products;
mod random;
mod whole;

use std::sync::Arc;

use minormajor::backend::{Binary, Number, Reduction, is_numeric};
use minormajor::{Backend, Device, ElementType, Tensor};

pub use form::{Array, Form};
use naive::{Values, agree};

/// Sizes of ranks 0 to 5: primes, ones, and an array without elements.
pub const SIZES: [&[i64]; 8] = [
    &[],
    &[7],
    &[3, 5],
    &[5, 1],
    &[0, 3],
    &[2, 3, 5],
    &[2, 3, 1, 4],
    &[2, 1, 3, 2, 3],
];

/// The types that backends compute with.
pub fn numeric_types() -> impl Iterator<Item = ElementType> {
    let all = ElementType::ALL.iter().copied();
    all.filter(|&element_type| is_numeric(element_type))
}

/// Everything that a backend must do, against the naive definitions.
///
/// # Panics
///
/// In the first case that is wrong, with its operation, layouts, sizes and type.
pub fn suite(backend: Arc<dyn Backend>) {
    let device = Device::from(backend);
    pairs(&device);
    broadcasting(&device);
    scalars(&device);
    reductions(&device);
    products::products(&device);
    whole::closeness(&device);
    whole::movement(&device);
    whole::larger(&device);
    whole::memory(&device);
    random::random(&device);
    device.synchronize().expect("nothing failed");
}

/// Every operation on pairs, every pair of layouts.
pub fn pairs(device: &Device) {
    for element_type in numeric_types() {
        for sizes in SIZES {
            for left in Form::ALL {
                // All pairs of layouts for one type, each layout beside row-major for all.
                let f32 = element_type == ElementType::F32;
                let others = Form::ALL
                    .into_iter()
                    .filter(|&form| f32 || form == Form::Rows);
                for right in others {
                    let (a, b) = (
                        left.array(element_type, sizes, 3, device),
                        right.array(element_type, sizes, 8, device),
                    );
                    for operation in Binary::ALL {
                        let made = Tensor::binary(operation, &a.tensor, &b.tensor);
                        let name = format!("{operation} {element_type} {left:?} {right:?}");
                        check_pairs(&name, operation, made, &a.values, &b.values);
                    }
                }
            }
        }
    }
}

fn check_pairs(
    name: &str,
    operation: Binary,
    made: Result<Tensor, minormajor::TensorError>,
    left: &Values,
    right: &Values,
) {
    let name = format!("{name} {:?} {:?} {:?}", left.sizes, right.sizes, operation);
    let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
    agree(&name, &made, &naive::binary(operation, left, right), 0.0);
}

/// Sizes that stretch, on either side.
fn broadcasting(device: &Device) {
    for (left, right) in [
        (&[3, 5][..], &[5][..]),
        (&[], &[3, 5]),
        (&[3, 1], &[1, 5]),
        (&[2, 1, 3, 1], &[4, 1, 7]),
        (&[4, 1], &[2, 3, 1, 5]),
        (&[1], &[0, 3]),
    ] {
        for form in Form::ALL {
            let a = form.array(ElementType::F32, left, 1, device);
            let b = form.array(ElementType::F32, right, 2, device);
            let made = Tensor::binary(Binary::Subtract, &a.tensor, &b.tensor);
            let name = format!("broadcast {form:?}");
            check_pairs(&name, Binary::Subtract, made, &a.values, &b.values);
        }
    }
}

/// Numbers on either side.
fn scalars(device: &Device) {
    for element_type in numeric_types() {
        for form in Form::ALL {
            let a = form.array(element_type, &[3, 5], 4, device);
            for operation in Binary::ALL {
                let number = Number::Integer(3);
                let three = Values::of(element_type, &[], vec![number]);
                let name = format!("number {element_type} {form:?}");
                let made = Tensor::binary(operation, &a.tensor, number);
                check_pairs(&name, operation, made, &a.values, &three);
                let made = Tensor::binary(operation, number, &a.tensor);
                check_pairs(&name, operation, made, &three, &a.values);
            }
        }
    }
}

/// Every reduction over every set of dimensions.
pub fn reductions(device: &Device) {
    for element_type in numeric_types() {
        for operation in Reduction::ALL {
            if operation.result_type(element_type).is_none() {
                continue;
            }
            for sizes in SIZES {
                for form in Form::ALL {
                    let a = form.array(element_type, sizes, 5, device);
                    for set in 0..1usize << sizes.len() {
                        let axes = (0..sizes.len()).filter(|d| set >> d & 1 == 1);
                        let axes: Vec<i64> = axes.map(|d| d as i64).collect();
                        let name =
                            format!("{operation} {element_type} {form:?} {sizes:?} {axes:?}");
                        let made = a.tensor.reduce(operation, &axes, false);
                        let Some(expected) = naive::reduce(operation, &a.values, &axes) else {
                            assert!(made.is_err(), "{name}: there is no greatest");
                            continue;
                        };
                        let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
                        // Sums of these are exact; a mean is rounded twice at most.
                        let tolerance = if operation == Reduction::Mean {
                            2e-3
                        } else {
                            0.0
                        };
                        agree(&name, &made, &expected, tolerance);
                    }
                }
            }
        }
    }
}
