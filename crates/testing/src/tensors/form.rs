//! The same values in memory in every way that there is.

use minormajor::backend::{Number, Scalar};
use minormajor::{ArrayShape, Device, ElementType, Layout, Order, PaddingValue, Tensor, Tile};

use super::naive::{Values, indices};

/// How a tensor lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Form {
    Rows,
    Columns,
    /// A view with the dimensions of a row-major tensor in reverse order.
    Transposed,
    /// Every second index of a larger tensor, whose other elements are wild.
    Sliced,
    /// A view that goes through every dimension backwards.
    Reversed,
    /// Every second dimension is one index, repeated.
    Broadcast,
    Padded,
    Tiled,
}

/// A tensor, and what its values are.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Array {
    pub tensor: Tensor,
    pub values: Values,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 8] = [
        Form::Rows,
        Form::Columns,
        Form::Transposed,
        Form::Sliced,
        Form::Reversed,
        Form::Broadcast,
        Form::Padded,
        Form::Tiled,
    ];

    /// An array of these sizes on the device, its values by the salt.
    pub fn array(
        self,
        element_type: ElementType,
        sizes: &[i64],
        salt: usize,
        device: &Device,
    ) -> Array {
        let mut values = Values::salted(element_type, sizes, salt);
        if self == Form::Broadcast {
            let first = |index: &[i64]| -> Vec<i64> {
                let one = |(d, &i): (usize, &i64)| if d % 2 == 0 { 0 } else { i };
                index.iter().enumerate().map(one).collect()
            };
            let repeated = indices(sizes).map(|index| values.at(&first(&index)));
            values = Values::of(element_type, sizes, repeated.collect());
        }
        self.of(values, device)
    }

    /// An array of these values, which of a broadcast one repeat.
    pub fn of(self, values: Values, device: &Device) -> Array {
        let made = self.tensor(&values, device);
        let tensor = made.unwrap_or_else(|error| panic!("{self:?} {:?}: {error}", values.sizes));
        assert_eq!(tensor.sizes(), values.sizes);
        Array { tensor, values }
    }

    fn tensor(self, values: &Values, device: &Device) -> Result<Tensor, minormajor::TensorError> {
        let (element_type, sizes) = (values.element_type, &values.sizes[..]);
        let rank = sizes.len() as i64;
        let rows = |values: &Values| rows(values, device);
        let backwards: Vec<i64> = (0..rank).rev().collect();
        match self {
            Form::Rows => rows(values)?.contiguous(Order::RowMajor),
            Form::Columns => rows(values)?.contiguous(Order::ColumnMajor),
            Form::Transposed => {
                let moved = rows(values)?.transpose(&backwards)?;
                moved.contiguous(Order::RowMajor)?.transpose(&backwards)
            }
            Form::Sliced => {
                let larger: Vec<i64> = sizes.iter().map(|size| 2 * size + 1).collect();
                let wild = match element_type {
                    ElementType::Pred => Number::Integer(1),
                    _ => Number::Integer(77),
                };
                let value = |index: Vec<i64>| match index.iter().all(|i| i % 2 == 1) {
                    true => values.at(&index.iter().map(|i| i / 2).collect::<Vec<_>>()),
                    false => wild,
                };
                let larger =
                    Values::of(element_type, &larger, indices(&larger).map(value).collect());
                (0..rank).try_fold(rows(&larger)?, |tensor, dimension| {
                    tensor.slice_by(dimension, 1..2 * sizes[dimension as usize] + 1, 2)
                })
            }
            Form::Reversed => {
                let value = |index: Vec<i64>| {
                    let back = index.iter().zip(sizes).map(|(i, size)| size - 1 - i);
                    values.at(&back.collect::<Vec<_>>())
                };
                let reversed = Values::of(element_type, sizes, indices(sizes).map(value).collect());
                (0..rank).try_fold(rows(&reversed)?, |tensor, dimension| tensor.flip(dimension))
            }
            Form::Broadcast => {
                let first = (0..rank).step_by(2);
                let part = first.filter(|&d| sizes[d as usize] > 0);
                let part = part.fold(rows(values), |tensor, d| tensor?.slice(d, 0..1))?;
                part.contiguous(Order::RowMajor)?.broadcast_to(sizes)
            }
            Form::Padded => {
                let padded = sizes.iter().map(|size| size + 1);
                let value = PaddingValue::One;
                rows(values)?.relayout(Layout::descending(sizes.len()).with_padding(padded, value)?)
            }
            Form::Tiled => {
                let tile = Tile::new([2, 3]);
                rows(values)?.relayout(Layout::ascending(sizes.len()).with_tiles([tile])?)
            }
        }
    }
}

/// Row-major bytes, given as they are.
fn rows(values: &Values, device: &Device) -> Result<Tensor, minormajor::TensorError> {
    let shape = ArrayShape::new(values.element_type, values.sizes.iter().copied())?;
    let scalar = |&number: &Number| Scalar::new(values.element_type, number);
    let bytes = values
        .numbers
        .iter()
        .map(|number| Ok(scalar(number)?.bytes().to_vec()));
    let bytes = bytes.collect::<Result<Vec<_>, minormajor::TensorError>>()?;
    Tensor::from_bytes(&shape, &bytes.concat(), device)
}
