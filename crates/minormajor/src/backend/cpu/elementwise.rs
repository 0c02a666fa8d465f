//! Operations on pairs of elements.

use bytemuck::Pod;
use minormajor_core::ElementType;

use super::numeric::{Numeric, with_native, with_operation};
use super::storage::CpuStorage;
use super::walk::{Walk, parts};
use super::{Argument, Binary, CpuBackend, DeviceError, Scalar, Strided};

/// One side of an operation: elements somewhere, or one number with strides of 0.
pub(super) struct Side<'a> {
    elements: Elements<'a>,
    place: Strided,
}

enum Elements<'a> {
    Of(&'a CpuStorage),
    One(Scalar),
}

impl<'a> Side<'a> {
    pub fn new(
        backend: &CpuBackend,
        argument: &Argument<'a>,
        result: &Strided,
    ) -> Result<Side<'a>, DeviceError> {
        Ok(match argument {
            Argument::Array(operand) => Side {
                elements: Elements::Of(backend.bytes(operand.storage)?),
                place: operand.place.clone(),
            },
            Argument::Scalar(value) => Side {
                elements: Elements::One(*value),
                place: Strided::new(
                    result.element_type(),
                    result.sizes().iter().copied(),
                    result.sizes().iter().map(|_| 0),
                    0,
                ),
            },
        })
    }

    /// The elements, or the one number.
    fn get<T: Pod>(&'a self, one: &'a mut [T; 1]) -> &'a [T] {
        match &self.elements {
            Elements::Of(storage) => storage.elements(),
            Elements::One(value) => {
                bytemuck::bytes_of_mut(one).copy_from_slice(value.bytes());
                one
            }
        }
    }
}

pub(super) fn run(
    operation: Binary,
    left: &Side<'_>,
    right: &Side<'_>,
    result: &Strided,
    storage: &mut CpuStorage,
) {
    with_native!(result.element_type(), T => {
        let (mut a, mut b) = ([T::LOWEST], [T::LOWEST]);
        let (a, b) = (left.get::<T>(&mut a), right.get::<T>(&mut b));
        let walk = Walk::new([result, &left.place, &right.place]);
        with_operation!(operation, f => each(&walk, a, b, storage.elements_mut(), f))
    });
}

/// `f` of every pair. The result is dense and the walk is in its order.
fn each<T: Numeric>(
    walk: &Walk<3>,
    left: &[T],
    right: &[T],
    result: &mut [T],
    f: impl Fn(T, T) -> T + Sync,
) {
    let [_, by_left, by_right] = walk.strides();
    parts(result, |start, part| {
        let end = start + part.len();
        walk.runs(start, end, |[at, a, b], count| {
            let result = &mut part[at as usize - start..][..count];
            let (a, b) = (
                &left[lowest(a, by_left, count)..],
                &right[lowest(b, by_right, count)..],
            );
            match (by_left, by_right) {
                (1, 1) => {
                    for ((c, &a), &b) in result.iter_mut().zip(a).zip(b) {
                        *c = f(a, b);
                    }
                }
                (1, 0) => {
                    let b = b[0];
                    for (c, &a) in result.iter_mut().zip(a) {
                        *c = f(a, b);
                    }
                }
                (0, 1) => {
                    let a = a[0];
                    for (c, &b) in result.iter_mut().zip(b) {
                        *c = f(a, b);
                    }
                }
                _ => {
                    let (a, b) = (Run::new(a, by_left, count), Run::new(b, by_right, count));
                    for (k, c) in result.iter_mut().enumerate() {
                        *c = f(a.get(k), b.get(k));
                    }
                }
            }
        });
    });
}

/// The lowest position of a run.
pub(super) fn lowest(first: i64, stride: i64, count: usize) -> usize {
    (first + stride.min(0) * (count as i64 - 1)) as usize
}

/// A run of elements of any stride, from its lowest one on.
pub(super) struct Run<'a, T> {
    elements: &'a [T],
    step: usize,
    /// Of a negative stride, the number of the last element.
    last: Option<usize>,
}

impl<'a, T: Copy> Run<'a, T> {
    pub fn new(elements: &'a [T], stride: i64, count: usize) -> Run<'a, T> {
        Run {
            elements,
            step: stride.unsigned_abs() as usize,
            last: (stride < 0).then(|| count - 1),
        }
    }

    #[inline(always)]
    pub fn get(&self, k: usize) -> T {
        let k = match self.last {
            None => k,
            Some(last) => last - k,
        };
        self.elements[k * self.step]
    }
}

/// Writes a pattern over and over.
pub(super) fn fill(bytes: &mut [u8], pattern: &[u8]) {
    fn of<const N: usize>(bytes: &mut [u8], pattern: &[u8]) {
        let pattern: [u8; N] = pattern.try_into().expect("as wide as the element type");
        let (elements, _) = bytes.as_chunks_mut();
        parts(elements, |_, part| part.fill(pattern));
    }
    match pattern.len() {
        1 => of::<1>(bytes, pattern),
        2 => of::<2>(bytes, pattern),
        4 => of::<4>(bytes, pattern),
        8 => of::<8>(bytes, pattern),
        _ => of::<16>(bytes, pattern),
    }
}
