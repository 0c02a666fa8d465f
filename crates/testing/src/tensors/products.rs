//! Matrix products.

use minormajor::broadcast::matmul_shape;
use minormajor::{Device, ElementType};

use super::form::Form;
use super::naive::{Values, agree, indices, rounded};
use minormajor::backend::Number;

const TYPES: [ElementType; 5] = [
    ElementType::F32,
    ElementType::F64,
    ElementType::F16,
    ElementType::Bf16,
    ElementType::S8,
];

/// Sizes of both sides, of ranks 1 to 5.
const SIZES: [(&[i64], &[i64]); 12] = [
    (&[5], &[5]),
    (&[5], &[5, 3]),
    (&[2, 5], &[5]),
    (&[2, 5], &[5, 3]),
    (&[1, 1], &[1, 1]),
    (&[4, 0], &[0, 3]),
    (&[0, 5], &[5, 3]),
    (&[3, 2, 5], &[3, 5, 7]),
    (&[3, 2, 5], &[5, 7]),
    (&[2, 5], &[3, 5, 7]),
    (&[3, 1, 2, 5], &[4, 5, 3]),
    (&[2, 1, 3, 2, 5], &[1, 2, 1, 5, 3]),
];

/// Every type, every pair of layouts.
pub fn products(device: &Device) {
    for element_type in TYPES {
        for (left, right) in SIZES {
            for of_left in Form::ALL {
                let f32 = element_type == ElementType::F32;
                let others = Form::ALL
                    .into_iter()
                    .filter(|&form| f32 || form == Form::Rows);
                for of_right in others {
                    check(device, element_type, (left, of_left), (right, of_right));
                }
            }
        }
    }
    // Beyond the blocks of any kernel.
    for (left, right) in [
        ((&[67, 131][..]), (&[131, 59][..])),
        (&[1, 300], &[300, 257]),
        (&[2, 70, 33], &[33, 65]),
    ] {
        for form in [Form::Rows, Form::Columns, Form::Sliced, Form::Tiled] {
            for element_type in TYPES {
                check(
                    device,
                    element_type,
                    (left, form),
                    (right, Form::Transposed),
                );
            }
        }
    }
    extremes(device);
}

fn check(
    device: &Device,
    element_type: ElementType,
    (left, of_left): (&[i64], Form),
    (right, of_right): (&[i64], Form),
) {
    let a = of_left.array(element_type, left, 6, device);
    let b = of_right.array(element_type, right, 7, device);
    let name = format!("mm {element_type} {of_left:?} {left:?} {of_right:?} {right:?}");
    let made = a.tensor.mm(&b.tensor);
    let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
    // All sums are exact in f32; those of f16 and bf16 are rounded once.
    agree(&name, &made, &naive(&a.values, &b.values), 0.0);
}

fn naive(left: &Values, right: &Values) -> Values {
    let sizes = matmul_shape(&left.sizes, &right.sizes).expect("a product");
    let inner = *left.sizes.last().expect("at least a vector");
    let result_type = match left.element_type {
        ElementType::S8 => ElementType::S32,
        other => other,
    };
    // Indices of an operand: the batch's, and its own two or one.
    let numbers = indices(&sizes).map(|index| {
        let (rows, columns) = (left.sizes.len() > 1, right.sizes.len() > 1);
        let batch = index.len() - usize::from(rows) - usize::from(columns);
        let row = rows.then(|| index[batch]);
        let column = columns.then(|| *index.last().expect("a column"));
        let at = |values: &Values, own: [Option<i64>; 2]| {
            let own = own.into_iter().flatten();
            let all: Vec<i64> = index[..batch].iter().copied().chain(own).collect();
            values.at(&all).to_f64()
        };
        let products = (0..inner).map(|k| at(left, [row, Some(k)]) * at(right, [Some(k), column]));
        let sum: f64 = products.sum();
        match result_type {
            ElementType::S32 => Number::Integer(sum as i128),
            float => rounded(float, sum),
        }
    });
    let numbers = numbers.collect();
    Values::of(result_type, &sizes, numbers)
}

/// The greatest products of s8, more of them than f32 would hold exactly.
fn extremes(device: &Device) {
    for (value, k) in [(-128, 5000), (127, 5000), (-127, 1025)] {
        let ends = |sizes: &[i64]| {
            let count = sizes.iter().product::<i64>() as usize;
            Values::of(ElementType::S8, sizes, vec![Number::Integer(value); count])
        };
        let a = Form::Rows.of(ends(&[3, k]), device);
        let b = Form::Columns.of(ends(&[k, 2]), device);
        let made = a.tensor.mm(&b.tensor).expect("a product");
        let sum = Number::Integer(value * value * i128::from(k));
        let expected = Values::of(ElementType::S32, &[3, 2], vec![sum; 6]);
        agree(&format!("mm s8 of {value} over {k}"), &made, &expected, 0.0);
    }
}
