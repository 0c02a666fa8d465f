//! Matrix products.

use half::{bf16, f16};
use minormajor_core::ElementType;

use super::Strided;
use super::storage::CpuStorage;

pub(super) fn run(
    (a, left): (&CpuStorage, &Strided),
    (b, right): (&CpuStorage, &Strided),
    storage: &mut CpuStorage,
    result: &Strided,
) {
    match left.element_type() {
        ElementType::F32 => naive::<f32, f32, f32>(
            a.elements(),
            left,
            b.elements(),
            right,
            storage.elements_mut(),
            result,
            |x| x,
            |a, b, c| a * b + c,
            |x| x,
        ),
        ElementType::F64 => naive::<f64, f64, f64>(
            a.elements(),
            left,
            b.elements(),
            right,
            storage.elements_mut(),
            result,
            |x| x,
            |a, b, c| a * b + c,
            |x| x,
        ),
        ElementType::F16 => naive::<f16, f32, f16>(
            a.elements(),
            left,
            b.elements(),
            right,
            storage.elements_mut(),
            result,
            f16::to_f32,
            |a, b, c| a * b + c,
            f16::from_f32,
        ),
        ElementType::Bf16 => naive::<bf16, f32, bf16>(
            a.elements(),
            left,
            b.elements(),
            right,
            storage.elements_mut(),
            result,
            bf16::to_f32,
            |a, b, c| a * b + c,
            bf16::from_f32,
        ),
        ElementType::S8 => naive::<i8, i32, i32>(
            a.elements(),
            left,
            b.elements(),
            right,
            storage.elements_mut(),
            result,
            i32::from,
            |a, b, c| (a * b).wrapping_add(c),
            |x| x,
        ),
        other => unreachable!("tensors multiply matrices of five types, not of {other}"),
    }
}

#[allow(clippy::too_many_arguments)]
fn naive<T: Copy, S: Copy + Default, R>(
    a: &[T],
    left: &Strided,
    b: &[T],
    right: &Strided,
    c: &mut [R],
    result: &Strided,
    read: fn(T) -> S,
    join: fn(S, S, S) -> S,
    write: fn(S) -> R,
) {
    let rank = result.rank();
    let sizes = result.sizes();
    let k = left.sizes()[rank - 1];
    for element in 0..result.elements() {
        let mut rest = element;
        let mut index = vec![0; rank];
        for d in (0..rank).rev() {
            index[d] = rest % sizes[d];
            rest /= sizes[d];
        }
        let at = |place: &Strided, i: i64, j: i64| {
            let batch: i64 = (0..rank - 2).map(|d| index[d] * place.strides()[d]).sum();
            (place.offset() + batch + i * place.strides()[rank - 2] + j * place.strides()[rank - 1])
                as usize
        };
        let (i, j) = (index[rank - 2], index[rank - 1]);
        let mut sum = S::default();
        for l in 0..k {
            sum = join(read(a[at(left, i, l)]), read(b[at(right, l, j)]), sum);
        }
        c[at(result, i, j)] = write(sum);
    }
}
