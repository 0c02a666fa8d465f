//! What results are, element by element.

use minormajor::ElementType;
use minormajor::Tensor;
use minormajor::backend::{Binary, Number, Reduction, Scalar};

/// The values of an array in row-major order.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Values {
    pub element_type: ElementType,
    pub sizes: Vec<i64>,
    pub numbers: Vec<Number>,
}

impl Values {
    /// These numbers.
    pub fn of(element_type: ElementType, sizes: &[i64], numbers: Vec<Number>) -> Values {
        assert_eq!(numbers.len() as i64, sizes.iter().product::<i64>());
        Values {
            element_type,
            sizes: sizes.to_vec(),
            numbers,
        }
    }

    /// Small numbers, quarters in floats, whose sums and products are exact; zeros among them.
    pub fn salted(element_type: ElementType, sizes: &[i64], salt: usize) -> Values {
        let number = |k: usize| {
            let value = ((k * 37 + salt * 101) % 33) as i128 - 16;
            match element_type {
                _ if element_type.is_floating_point() => Number::Float(value as f64 / 4.0),
                _ if element_type.is_unsigned_integral() => Number::Integer(value + 16),
                _ => Number::Integer(value),
            }
        };
        let elements = sizes.iter().product::<i64>() as usize;
        Values::of(element_type, sizes, (0..elements).map(number).collect())
    }

    /// The number of an index; sizes of 1 and absent ones repeat.
    pub fn at(&self, index: &[i64]) -> Number {
        let own = &index[index.len() - self.sizes.len()..];
        let place = own.iter().zip(&self.sizes).fold(0, |place, (&i, &size)| {
            place * size + if size == 1 { 0 } else { i }
        });
        self.numbers[place as usize]
    }
}

/// Every index of an array of these sizes, in row-major order.
pub fn indices(sizes: &[i64]) -> impl Iterator<Item = Vec<i64>> + '_ {
    let elements: i64 = sizes.iter().product();
    (0..elements).map(move |number| {
        let mut rest = number;
        let mut index = vec![0; sizes.len()];
        for (place, &size) in index.iter_mut().zip(sizes).rev() {
            *place = rest % size;
            rest /= size;
        }
        index
    })
}

/// Element by element, sizes broadcast.
pub fn binary(operation: Binary, left: &Values, right: &Values) -> Values {
    let rank = left.sizes.len().max(right.sizes.len());
    let size = |values: &Values, d: usize| {
        let ahead = rank - values.sizes.len();
        if d < ahead {
            1
        } else {
            values.sizes[d - ahead]
        }
    };
    let sizes = (0..rank).map(|d| match (size(left, d), size(right, d)) {
        (1, other) => other,
        (own, _) => own,
    });
    let sizes: Vec<i64> = sizes.collect();
    let element_type = left.element_type;
    let numbers = indices(&sizes)
        .map(|index| apply(operation, element_type, left.at(&index), right.at(&index)));
    let numbers = numbers.collect();
    Values::of(element_type, &sizes, numbers)
}

fn apply(operation: Binary, element_type: ElementType, a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) if !element_type.is_floating_point() => {
            let bits = element_type.bit_width();
            let signed = element_type.is_signed_integral();
            let value = match operation {
                Binary::Add => a + b,
                Binary::Subtract => a - b,
                Binary::Multiply => a * b,
                Binary::Divide if b == 0 => -1,
                Binary::Divide => a / b,
                Binary::Minimum => a.min(b),
                Binary::Maximum => a.max(b),
            };
            let low = value & ((1 << bits) - 1);
            let negative = signed && low >> (bits - 1) == 1;
            Number::Integer(if negative { low - (1 << bits) } else { low })
        }
        (a, b) => {
            let (a, b) = (a.to_f64(), b.to_f64());
            let value = match operation {
                Binary::Add => a + b,
                Binary::Subtract => a - b,
                Binary::Multiply => a * b,
                Binary::Divide => a / b,
                Binary::Minimum if a < b || a.is_nan() => a,
                Binary::Maximum if a > b || a.is_nan() => a,
                Binary::Minimum | Binary::Maximum => b,
            };
            rounded(element_type, value)
        }
    }
}

/// An f64 as the nearest number of a float type.
pub fn rounded(element_type: ElementType, value: f64) -> Number {
    Scalar::new(element_type, value)
        .expect("not too large")
        .number()
}

/// `None` where there is no greatest.
pub fn reduce(operation: Reduction, operand: &Values, axes: &[i64]) -> Option<Values> {
    let reduced = |d: usize| axes.contains(&(d as i64));
    let rank = operand.sizes.len();
    let kept: Vec<usize> = (0..rank).filter(|&d| !reduced(d)).collect();
    let sizes: Vec<i64> = kept.iter().map(|&d| operand.sizes[d]).collect();
    let count: i64 = axes.iter().map(|&d| operand.sizes[d as usize]).product();
    let result_type = operation
        .result_type(operand.element_type)
        .expect("there is one");
    let mut lists = vec![Vec::new(); sizes.iter().product::<i64>() as usize];
    for (index, &number) in indices(&operand.sizes).zip(&operand.numbers) {
        let place = kept
            .iter()
            .fold(0, |place, &d| place * operand.sizes[d] + index[d]);
        lists[place as usize].push(number);
    }
    if operation == Reduction::Max && count == 0 && !lists.is_empty() {
        return None;
    }
    let numbers = lists.into_iter().map(|list| {
        let sum = || list.iter().map(|number| number.to_f64()).sum::<f64>();
        match operation {
            Reduction::Sum if result_type.is_integral() => Number::Integer(sum() as i128),
            Reduction::Sum => rounded(result_type, sum()),
            Reduction::Mean => rounded(result_type, sum() / count as f64),
            Reduction::Max => {
                let greater = |a: Number, b: Number| if b.to_f64() > a.to_f64() { b } else { a };
                list.into_iter().reduce(greater).expect("some")
            }
        }
    });
    let numbers = numbers.collect();
    Some(Values::of(result_type, &sizes, numbers))
}

/// Asserts that a tensor has these values: exactly, NaN for NaN, or within a relative tolerance.
pub fn agree(name: &str, made: &Tensor, expected: &Values, tolerance: f64) {
    assert_eq!(made.sizes(), expected.sizes, "{name}: sizes");
    assert_eq!(
        made.element_type(),
        expected.element_type,
        "{name}: element type"
    );
    let numbers = made
        .numbers()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let found: Vec<Number> = numbers.collect();
    for ((index, &found), &expected) in indices(&expected.sizes).zip(&found).zip(&expected.numbers)
    {
        let (a, b) = (found.to_f64(), expected.to_f64());
        let same = found == expected
            || a == b
            || a.is_nan() && b.is_nan()
            || (a - b).abs() <= tolerance * b.abs();
        assert!(
            same,
            "{name} at {index:?}: found {found}, expected {expected}"
        );
    }
}
