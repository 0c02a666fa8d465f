//! Tensors as text.

use std::fmt;

use super::{Tensor, TensorError};
use crate::backend::Number;

/// More elements than this are shown by the first and last of each dimension.
const MOST: i64 = 1000;
/// How many at each end.
const ENDS: i64 = 3;

/// The values in nested brackets, as NumPy prints them, and a line with shape, layout and device.
/// Of many elements the first and last three of each dimension are shown.
///
/// ```
/// use minormajor::{Device, Tensor};
///
/// let a = Tensor::from_slice(&[1.5f32, -2.0, 3.25, 0.0, 10.0, 1e-3], [2, 3], &Device::cpu())?;
/// assert_eq!(
///     a.to_string(),
///     "[[ 1.500, -2.000,  3.250],\n [ 0.000, 10.000,  0.001]]\nf32[2,3]{1,0} on cpu"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shown() {
            Ok((numbers, sizes)) => {
                let cells = cells(&numbers);
                write_nested(f, &sizes, &mut cells.into_iter(), 1)?;
            }
            Err(error) => write!(f, "<{error}>")?,
        }
        write!(f, "\n{} on {}", self.shape(), self.device().name())
    }
}

/// One dimension as it is shown: all of it, or both ends.
#[derive(Clone, Copy)]
struct Shown {
    count: i64,
    cut: bool,
}

impl Tensor {
    /// The numbers to show, in order, and how many of each dimension.
    fn shown(&self) -> Result<(Vec<Number>, Vec<Shown>), TensorError> {
        let sizes = self.sizes();
        if self.elements() <= MOST {
            let whole = |&count: &i64| Shown { count, cut: false };
            return Ok((self.numbers()?.collect(), sizes.iter().map(whole).collect()));
        }
        let part = |&size: &i64| match size > 2 * ENDS {
            true => Shown {
                count: 2 * ENDS,
                cut: true,
            },
            false => Shown {
                count: size,
                cut: false,
            },
        };
        let shown: Vec<Shown> = sizes.iter().map(part).collect();
        let mut numbers = Vec::new();
        let mut index = vec![0; sizes.len()];
        let total: i64 = shown.iter().map(|shown| shown.count).product();
        for number in 0..total {
            let mut rest = number;
            for (dimension, shown) in shown.iter().enumerate().rev() {
                let place = rest % shown.count;
                rest /= shown.count;
                index[dimension] = match shown.cut && place >= ENDS {
                    true => sizes[dimension] - 2 * ENDS + place,
                    false => place,
                };
            }
            numbers.push(self.at(&index)?);
        }
        Ok((numbers, shown))
    }
}

/// All numbers in one width.
fn cells(numbers: &[Number]) -> Vec<String> {
    let texts: Vec<String> = match floats(numbers) {
        None => numbers.iter().map(Number::to_string).collect(),
        Some(floats) => float_texts(&floats),
    };
    let width = texts
        .iter()
        .map(|text| text.chars().count())
        .max()
        .unwrap_or(0);
    texts
        .into_iter()
        .map(|text| format!("{text:>width$}"))
        .collect()
}

fn floats(numbers: &[Number]) -> Option<Vec<f64>> {
    let float = |number: &Number| match number {
        Number::Float(value) => Some(*value),
        _ => None,
    };
    numbers.iter().map(float).collect()
}

/// With so many decimals, at most four, as the numbers need, all alike; in scientific form where
/// that would hide the small ones or be long.
fn float_texts(floats: &[f64]) -> Vec<String> {
    let finite = || {
        floats
            .iter()
            .map(|value| value.abs())
            .filter(|value| value.is_finite())
    };
    let most = finite().fold(0.0, f64::max);
    let least = finite()
        .filter(|&value| value > 0.0)
        .fold(f64::INFINITY, f64::min);
    if most >= 1e8 || least < 1e-4 || most / least > 1e6 && least < 0.1 {
        return floats.iter().map(|value| scientific(*value)).collect();
    }
    let decimals = floats
        .iter()
        .filter(|value| value.is_finite())
        .map(|value| {
            let text = format!("{value:.4}");
            text.trim_end_matches('0').len() - text.find('.').expect("a point") - 1
        });
    let decimals = decimals.max().unwrap_or(0);
    floats
        .iter()
        .map(|value| format!("{value:.decimals$}"))
        .collect()
}

fn scientific(value: f64) -> String {
    match value.is_finite() {
        true => format!("{value:.4e}"),
        false => value.to_string(),
    }
}

fn write_nested(
    f: &mut fmt::Formatter<'_>,
    sizes: &[Shown],
    cells: &mut impl Iterator<Item = String>,
    depth: usize,
) -> fmt::Result {
    let Some((shown, inner)) = sizes.split_first() else {
        return f.write_str(&cells.next().unwrap_or_default());
    };
    f.write_str("[")?;
    for place in 0..shown.count {
        if place > 0 {
            separate(f, inner.len(), depth)?;
        }
        if shown.cut && place == ENDS {
            f.write_str("...")?;
            separate(f, inner.len(), depth)?;
        }
        write_nested(f, inner, cells, depth + 1)?;
    }
    f.write_str("]")
}

/// A comma; between rows a line break, between matrices an empty line too.
fn separate(f: &mut fmt::Formatter<'_>, rank: usize, depth: usize) -> fmt::Result {
    match rank {
        0 => f.write_str(", "),
        rank => {
            f.write_str(",")?;
            f.write_str(&"\n".repeat(rank))?;
            write!(f, "{:depth$}", "")
        }
    }
}
