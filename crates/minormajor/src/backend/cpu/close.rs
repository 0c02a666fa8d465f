//! Whether arrays are close.

use minormajor_core::ElementType;

use super::elementwise::{Run, lowest};
use super::numeric::{Numeric, with_native};
use super::storage::CpuStorage;
use super::walk::{Walk, all_parts};
use super::{Strided, Tolerance};

type Array<'a> = (&'a CpuStorage, &'a Strided);

pub(super) fn run((a, left): Array<'_>, (b, right): Array<'_>, tolerance: Tolerance) -> bool {
    let walk = Walk::new([left, right]);
    with_native!(left.element_type(), T => {
        all_close::<T>(&walk, a.elements(), b.elements(), tolerance)
    })
}

fn all_close<T: Numeric>(walk: &Walk<2>, left: &[T], right: &[T], tolerance: Tolerance) -> bool {
    let [by_left, by_right] = walk.strides();
    all_parts(walk.elements, |start, end| {
        let mut close = true;
        walk.runs(start, end, |[a, b], count| {
            let (a, b) = (
                &left[lowest(a, by_left, count)..],
                &right[lowest(b, by_right, count)..],
            );
            if (by_left, by_right) == (1, 1) {
                let pairs = a.iter().zip(b).take(count);
                close &= pairs.fold(true, |close, (a, &b)| close & a.is_close(b, tolerance));
            } else {
                let (a, b) = (Run::new(a, by_left, count), Run::new(b, by_right, count));
                close &= (0..count).all(|k| a.get(k).is_close(b.get(k), tolerance));
            }
        });
        close
    })
}
