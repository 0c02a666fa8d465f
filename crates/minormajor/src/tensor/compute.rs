//! Operations: everything is checked here, above the backends.

use minormajor_core::broadcast::{broadcast_sizes, matmul_shape};
use minormajor_core::{ArrayShape, ElementType, Layout, resolve_dimension};

use super::views::dense_order;
use super::{Memory, Tensor, TensorError};
use crate::backend::{Argument, Binary, Number, Reduction, Scalar, Strided, Tolerance, is_numeric};

/// One side of an operation: a tensor, or a number, which stands for one in every element.
#[derive(Clone, Debug)]
pub enum Term<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number of the other side's type.
    Number(Number),
}

impl<'a> From<&'a Tensor> for Term<'a> {
    fn from(tensor: &'a Tensor) -> Term<'a> {
        Term::Tensor(tensor)
    }
}

impl<T: Into<Number>> From<T> for Term<'_> {
    fn from(number: T) -> Self {
        Term::Number(number.into())
    }
}

impl Tensor {
    /// `left operation right`, element by element, sizes broadcast; see [`Binary`] for what each
    /// operation means. A number takes the type of the tensor beside it.
    ///
    /// The result has the order of the first operand of its sizes that is dense, else what the
    /// device prefers.
    ///
    /// # Errors
    ///
    /// [`TensorError`] for sizes that don't go together, for types or devices that differ or can't
    /// compute, for a number that the type does not have, and where the device fails.
    ///
    /// ```
    /// use minormajor::{Device, Tensor, backend::Binary};
    ///
    /// let a = Tensor::from_slice(&[1.0f32, 2.0, 4.0, 8.0], [2, 2], &Device::cpu())?;
    /// let column = a.slice(1, 0..1)?;
    /// assert_eq!(a.div(&column)?.to_vec::<f32>()?, [1.0, 2.0, 1.0, 2.0]);
    /// let inverse = Tensor::binary(Binary::Divide, 1, &a)?;
    /// assert_eq!(inverse.to_vec::<f32>()?, [1.0, 0.5, 0.25, 0.125]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn binary<'a>(
        operation: Binary,
        left: impl Into<Term<'a>>,
        right: impl Into<Term<'a>>,
    ) -> Result<Tensor, TensorError> {
        let name = operation.name();
        let (left, right) = (left.into(), right.into());
        let (first, sizes) = match (&left, &right) {
            (Term::Tensor(left), Term::Tensor(right)) => {
                check_pair(name, left, right)?;
                let sizes = broadcast_sizes(&left.sizes(), &right.sizes());
                let broadcast = |source| TensorError::Broadcast {
                    operation: name,
                    source,
                };
                (*left, sizes.map_err(broadcast)?)
            }
            (Term::Tensor(tensor), _) | (_, Term::Tensor(tensor)) => {
                check_numeric(name, tensor.element_type())?;
                (*tensor, tensor.sizes())
            }
            _ => return Err(TensorError::NoTensor { operation: name }),
        };
        let element_type = first.element_type();
        let shape = ArrayShape::new(element_type, sizes.iter().copied())?;
        let (left, right) = (
            Side::new(left, element_type, &sizes)?,
            Side::new(right, element_type, &sizes)?,
        );
        let own = [&left, &right]
            .into_iter()
            .find_map(|side| side.order(&sizes));
        let backend = first.device.backend();
        let layout = match own {
            Some(order) => Layout::new(order.into_iter().map(|dimension| dimension as i64))?,
            None => backend.preferred_layout(sizes.len()),
        };
        let result = Strided::dense(element_type, &sizes, layout.minor_to_major());
        let storage = backend.binary(operation, &left.argument(), &right.argument(), &result)?;
        Ok(Tensor {
            device: first.device.clone(),
            storage,
            memory: Memory::Array(shape.with_layout(layout)?),
        })
    }

    /// The sum of this and a tensor or number: see [`binary`](Tensor::binary).
    ///
    /// # Errors
    ///
    /// As [`binary`](Tensor::binary).
    pub fn add<'a>(&'a self, other: impl Into<Term<'a>>) -> Result<Tensor, TensorError> {
        Tensor::binary(Binary::Add, self, other)
    }

    /// This less a tensor or number: see [`binary`](Tensor::binary).
    ///
    /// # Errors
    ///
    /// As [`binary`](Tensor::binary).
    pub fn sub<'a>(&'a self, other: impl Into<Term<'a>>) -> Result<Tensor, TensorError> {
        Tensor::binary(Binary::Subtract, self, other)
    }

    /// The product, element by element, of this and a tensor or number: see
    /// [`binary`](Tensor::binary).
    ///
    /// # Errors
    ///
    /// As [`binary`](Tensor::binary).
    pub fn mul<'a>(&'a self, other: impl Into<Term<'a>>) -> Result<Tensor, TensorError> {
        Tensor::binary(Binary::Multiply, self, other)
    }

    /// This divided by a tensor or number: see [`binary`](Tensor::binary).
    ///
    /// # Errors
    ///
    /// As [`binary`](Tensor::binary).
    pub fn div<'a>(&'a self, other: impl Into<Term<'a>>) -> Result<Tensor, TensorError> {
        Tensor::binary(Binary::Divide, self, other)
    }

    /// The lesser of this and a tensor or number: see [`binary`](Tensor::binary).
    ///
    /// # Errors
    ///
    /// As [`binary`](Tensor::binary).
    pub fn minimum<'a>(&'a self, other: impl Into<Term<'a>>) -> Result<Tensor, TensorError> {
        Tensor::binary(Binary::Minimum, self, other)
    }

    /// The greater of this and a tensor or number: see [`binary`](Tensor::binary).
    ///
    /// # Errors
    ///
    /// As [`binary`](Tensor::binary).
    pub fn maximum<'a>(&'a self, other: impl Into<Term<'a>>) -> Result<Tensor, TensorError> {
        Tensor::binary(Binary::Maximum, self, other)
    }

    /// The matrix product: `[.., m, k]` times `[.., k, n]`, the leading dimensions broadcast, of
    /// f32, f64, f16, bf16, and of s8 with a result of s32. A rank-1 operand is a row on the left, a
    /// column on the right. Operands of any strides are taken as they are.
    ///
    /// f16 and bf16 are accumulated in f32 and rounded once; s8 in s32, which wraps.
    ///
    /// # Errors
    ///
    /// [`TensorError`] for sizes that don't go together ([`matmul_shape`]), another type, types or
    /// devices that differ, and where the device fails.
    ///
    /// ```
    /// use minormajor::{Device, ElementType, Tensor};
    ///
    /// let cpu = Device::cpu();
    /// let a = Tensor::ones(ElementType::Bf16, [7, 1, 2, 3], &cpu)?;
    /// let b = Tensor::ones(ElementType::Bf16, [5, 3, 4], &cpu)?;
    /// assert_eq!(a.mm(&b)?.sizes(), [7, 5, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "matmul")]
    #[doc(alias = "dot")]
    pub fn mm(&self, other: &Tensor) -> Result<Tensor, TensorError> {
        let operation = "mm";
        let element_type = self.element_type();
        check_same(operation, self, other)?;
        let result_type = match element_type {
            ElementType::F32 | ElementType::F64 | ElementType::F16 | ElementType::Bf16 => {
                element_type
            }
            ElementType::S8 => ElementType::S32,
            element_type => {
                return Err(TensorError::Unsupported {
                    operation,
                    element_type,
                    expected: "f32, f64, f16, bf16 or s8",
                });
            }
        };
        let sizes = matmul_shape(&self.sizes(), &other.sizes())
            .map_err(|source| TensorError::Broadcast { operation, source })?;
        let shape = ArrayShape::new(result_type, sizes.iter().copied())?;
        let left = if self.rank() == 1 {
            &self.unsqueeze(0)?
        } else {
            self
        };
        let right = if other.rank() == 1 {
            &other.unsqueeze(1)?
        } else {
            other
        };
        let (left, a) = left.to_strided()?;
        let (right, b) = right.to_strided()?;
        // All the dimensions that a matrix has, the batch's broadcast.
        let mut whole = sizes.clone();
        let batch =
            sizes.len() + usize::from(self.rank() == 1) + usize::from(other.rank() == 1) - 2;
        if self.rank() == 1 {
            whole.insert(batch, 1);
        }
        if other.rank() == 1 {
            whole.push(1);
        }
        let stretched = |place: &Strided| {
            let matrix = place.rank() - 2;
            let sizes = [&whole[..batch], &place.sizes()[matrix..]].concat();
            stretch(place, &sizes)
        };
        let backend = self.device.backend();
        let layout = backend.preferred_layout(whole.len());
        let result = Strided::dense(result_type, &whole, layout.minor_to_major());
        let (a, b) = (left.operand(&stretched(&a)), right.operand(&stretched(&b)));
        let storage = backend.mm(&a, &b, &result)?;
        // Dimensions of size 1 that the result lacks have no part in its order.
        let absent = |dimension: usize| {
            self.rank() == 1 && dimension == batch
                || other.rank() == 1 && dimension == whole.len() - 1
        };
        let number = |dimension: usize| (0..dimension).filter(|&d| !absent(d)).count() as i64;
        let order = layout.minor_to_major().iter().filter(|&&d| !absent(d));
        let layout = Layout::new(order.map(|&dimension| number(dimension)))?;
        Ok(Tensor {
            device: self.device.clone(),
            storage,
            memory: Memory::Array(shape.with_layout(layout)?),
        })
    }

    /// Reduces dimensions, which may be counted from the end; with `keep`, they stay with size 1.
    /// See [`Reduction`] for what each means, and for the type of the result.
    ///
    /// # Errors
    ///
    /// [`TensorError::Shape`] for a dimension that is not there or named twice,
    /// [`TensorError::Unsupported`] for a type that has no such reduction, [`TensorError::NoMax`],
    /// [`TensorError::Device`].
    ///
    /// ```
    /// use minormajor::{Device, Tensor, backend::Reduction};
    ///
    /// let a = Tensor::from_slice(&[1i8, 100, 3, 100, 5, 6], [2, 3], &Device::cpu())?;
    /// assert_eq!(a.sum(&[-1])?.to_vec::<i64>()?, [104, 111]);
    /// assert_eq!(a.max(&[0, 1])?.item()?, 100.into());
    /// assert_eq!(a.reduce(Reduction::Max, &[0], true)?.sizes(), [1, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reduce(
        &self,
        operation: Reduction,
        dimensions: &[i64],
        keep: bool,
    ) -> Result<Tensor, TensorError> {
        let element_type = self.element_type();
        let unsupported = || TensorError::Unsupported {
            operation: operation.name(),
            element_type,
            expected: match operation {
                Reduction::Mean => "f32, f64, f16 or bf16",
                _ => NUMBERS,
            },
        };
        let result_type = operation
            .result_type(element_type)
            .ok_or_else(unsupported)?;
        let mut reduced = vec![false; self.rank()];
        for &dimension in dimensions {
            let place = resolve_dimension(dimension, self.rank())?;
            if std::mem::replace(&mut reduced[place], true) {
                let error = minormajor_core::ShapeError::DimensionRepeated { dimension: place };
                return Err(error.into());
            }
        }
        let sizes = self.sizes();
        let axes = || (0..sizes.len()).filter(|&d| reduced[d]);
        let kept: Vec<usize> = (0..sizes.len()).filter(|&d| !reduced[d]).collect();
        let results: Vec<i64> = kept.iter().map(|&d| sizes[d]).collect();
        if operation == Reduction::Max && axes().any(|d| sizes[d] == 0) && !results.contains(&0) {
            return Err(TensorError::NoMax {
                sizes: sizes[..].into(),
                axes: axes().collect(),
            });
        }
        let shape = ArrayShape::new(result_type, results.iter().copied())?;
        let backend = self.device.backend();
        let layout = backend.preferred_layout(results.len());
        let result = Strided::dense(result_type, &results, layout.minor_to_major());
        let (tensor, place) = self.to_strided()?;
        let order = || kept.iter().copied().chain(axes());
        let place = Strided::new(
            element_type,
            order().map(|d| sizes[d]),
            order().map(|d| place.strides()[d]),
            place.offset(),
        );
        let storage = backend.reduce(operation, &tensor.operand(&place), kept.len(), &result)?;
        let made = Tensor {
            device: self.device.clone(),
            storage,
            memory: Memory::Array(shape.with_layout(layout)?),
        };
        match keep {
            false => Ok(made),
            true => axes().try_fold(made, |made, dimension| made.unsqueeze(dimension as i64)),
        }
    }

    /// The sum over dimensions: see [`reduce`](Tensor::reduce).
    ///
    /// # Errors
    ///
    /// As [`reduce`](Tensor::reduce).
    pub fn sum(&self, dimensions: &[i64]) -> Result<Tensor, TensorError> {
        self.reduce(Reduction::Sum, dimensions, false)
    }

    /// The greatest over dimensions: see [`reduce`](Tensor::reduce).
    ///
    /// # Errors
    ///
    /// As [`reduce`](Tensor::reduce).
    pub fn max(&self, dimensions: &[i64]) -> Result<Tensor, TensorError> {
        self.reduce(Reduction::Max, dimensions, false)
    }

    /// The mean over dimensions: see [`reduce`](Tensor::reduce).
    ///
    /// # Errors
    ///
    /// As [`reduce`](Tensor::reduce).
    pub fn mean(&self, dimensions: &[i64]) -> Result<Tensor, TensorError> {
        self.reduce(Reduction::Mean, dimensions, false)
    }

    /// Whether every element is within `epsilon` of the other tensor's, of the same sizes and type;
    /// layouts and devices may differ. A NaN is close to nothing.
    ///
    /// # Errors
    ///
    /// [`TensorError`] where sizes or types differ, or the tolerance is negative or NaN.
    pub fn is_close(&self, other: &Tensor, epsilon: f64) -> Result<bool, TensorError> {
        self.is_close_within(
            other,
            Tolerance {
                relative: 0.0,
                absolute: epsilon,
            },
        )
    }

    /// [`is_close`](Tensor::is_close) with a relative and an absolute tolerance.
    ///
    /// # Errors
    ///
    /// As [`is_close`](Tensor::is_close).
    pub fn is_close_within(
        &self,
        other: &Tensor,
        tolerance: Tolerance,
    ) -> Result<bool, TensorError> {
        let operation = "is_close";
        check_types(operation, self, other)?;
        check_numeric(operation, self.element_type())?;
        check_sizes(operation, self, other)?;
        let Tolerance { relative, absolute } = tolerance;
        // NaN is refused as well.
        if let Some(found) = [relative, absolute]
            .into_iter()
            .find(|&t| t.is_nan() || t < 0.0)
        {
            return Err(TensorError::Tolerance { found });
        }
        let other = other.to(&self.device)?;
        let (left, a) = self.to_strided()?;
        let (right, b) = other.to_strided()?;
        let backend = self.device.backend();
        Ok(backend.is_close(&left.operand(&a), &right.operand(&b), tolerance)?)
    }

    /// Whether both have the same type, sizes and values, whatever their layouts and devices. As
    /// numbers: 0 is -0, and a NaN is no number's equal.
    ///
    /// # Errors
    ///
    /// [`TensorError::Device`].
    pub fn equals(&self, other: &Tensor) -> Result<bool, TensorError> {
        if self.element_type() != other.element_type() || self.sizes() != other.sizes() {
            return Ok(false);
        }
        if is_numeric(self.element_type()) {
            return self.is_close(other, 0.0);
        }
        let (mut left, mut right) = (self.numbers()?, other.numbers()?);
        Ok(left.all(|number| right.next() == Some(number)))
    }
}

const NUMBERS: &str = "f32, f64, f16, bf16 or integers of 8 to 64 bits";

fn check_numeric(operation: &'static str, element_type: ElementType) -> Result<(), TensorError> {
    match is_numeric(element_type) {
        true => Ok(()),
        false => Err(TensorError::Unsupported {
            operation,
            element_type,
            expected: NUMBERS,
        }),
    }
}

fn check_types(operation: &'static str, left: &Tensor, right: &Tensor) -> Result<(), TensorError> {
    match left.element_type() == right.element_type() {
        true => Ok(()),
        false => Err(TensorError::ElementTypes {
            operation,
            left: left.element_type(),
            left_sizes: left.sizes()[..].into(),
            right: right.element_type(),
            right_sizes: right.sizes()[..].into(),
        }),
    }
}

fn check_sizes(operation: &'static str, left: &Tensor, right: &Tensor) -> Result<(), TensorError> {
    match left.sizes() == right.sizes() {
        true => Ok(()),
        false => Err(TensorError::Sizes {
            operation,
            left: left.sizes()[..].into(),
            right: right.sizes()[..].into(),
        }),
    }
}

/// One element type, one device.
fn check_same(operation: &'static str, left: &Tensor, right: &Tensor) -> Result<(), TensorError> {
    check_types(operation, left, right)?;
    match left.device == right.device {
        true => Ok(()),
        false => Err(TensorError::Devices {
            operation,
            left: left.device.name().to_owned(),
            right: right.device.name().to_owned(),
        }),
    }
}

fn check_pair(operation: &'static str, left: &Tensor, right: &Tensor) -> Result<(), TensorError> {
    check_same(operation, left, right)?;
    check_numeric(operation, left.element_type())
}

/// One side of an operation, checked.
#[allow(clippy::large_enum_variant)] // There are two at a time, on the stack.
enum Side {
    Array(Tensor, Strided),
    Scalar(Scalar),
}

impl Side {
    /// Stretched to the result's sizes.
    fn new(term: Term<'_>, element_type: ElementType, sizes: &[i64]) -> Result<Side, TensorError> {
        Ok(match term {
            Term::Number(number) => Side::Scalar(Scalar::new(element_type, number)?),
            Term::Tensor(tensor) => {
                let (tensor, place) = tensor.to_strided()?;
                Side::Array(tensor, stretch(&place, sizes))
            }
        })
    }

    fn argument(&self) -> Argument<'_> {
        match self {
            Side::Array(tensor, place) => Argument::Array(tensor.operand(place)),
            Side::Scalar(value) => Argument::Scalar(*value),
        }
    }

    /// The order in which this side is dense.
    fn order(&self, sizes: &[i64]) -> Option<Vec<usize>> {
        match self {
            Side::Array(_, place) if !sizes.contains(&0) => dense_order(sizes, place.strides(), 1),
            _ => None,
        }
    }
}

/// A place under sizes that its own stretch to.
fn stretch(place: &Strided, sizes: &[i64]) -> Strided {
    let ahead = sizes.len() - place.rank();
    let strides = sizes.iter().enumerate().map(|(dimension, &size)| {
        let own = dimension.checked_sub(ahead);
        match own {
            Some(own) if place.sizes()[own] == size => place.strides()[own],
            _ => 0,
        }
    });
    let strides: Vec<i64> = strides.collect();
    Strided::new(
        place.element_type(),
        sizes.iter().copied(),
        strides,
        place.offset(),
    )
}
