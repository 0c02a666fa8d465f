//! Weaves of few bytes: every register of the result is mixed from those of all rows.

use std::marker::PhantomData;

use super::method::Method;
use super::{Way, Weave};
use crate::onward::Onward;
use crate::simd::{Vector, prefetch};

/// By this method, for `K` rows.
pub(super) struct Mixed<M, const K: usize>(PhantomData<M>);

impl<V: Vector, M: Method<V>, const K: usize> Way<V> for Mixed<M, K> {
    #[inline(always)]
    unsafe fn join(weave: &Weave, from: *const u8, to: *mut u8, length: usize, onward: Onward) {
        // SAFETY: the caller's promise.
        let tables = unsafe { M::tables::<K>(weave) };
        let mut done = 0;
        while done < length {
            done = done.min(length - V::BYTES);
            // SAFETY: `done` is at most a vector before the end of the rows. The chunk of lane l is 16 * K bytes long.
            unsafe {
                let run = to.add(done * K);
                let row = |i: usize| {
                    let row = M::row(&tables, i) as isize;
                    let row = from.offset(row * weave.stride).add(done);
                    prefetch(onward.of(row));
                    V::load(row)
                };
                mix::<V, M, K, true>(&tables, row, |o, v| M::put::<K>(v, run, o));
            }
            done += V::BYTES;
        }
    }

    #[inline(always)]
    unsafe fn split(
        weave: &Weave,
        from: *const u8,
        to: *mut u8,
        stride: isize,
        length: usize,
        onward: Onward,
    ) {
        // SAFETY: as `join`.
        let tables = unsafe { M::tables::<K>(weave) };
        let mut done = 0;
        while done < length {
            done = done.min(length - V::BYTES);
            // SAFETY: as `join`.
            unsafe {
                let run = from.add(done * K);
                // Not where chunks are taken: that is called as a function if it is longer.
                for line in 0..K {
                    prefetch(onward.of(run.wrapping_add(line * V::BYTES)));
                }
                mix::<V, M, K, false>(
                    &tables,
                    |i| M::take::<K>(run, i),
                    |o, v| {
                        let row = M::row(&tables, o) as isize;
                        v.store(to.offset(row * stride).add(done));
                    },
                );
            }
            done += V::BYTES;
        }
    }
}

/// Makes every output of all inputs.
///
/// # Safety
///
/// The CPU has `V` and what the method says; `input` and `output` may be called with numbers below that of the rows, which
/// is `K`. The tables are those of the weave.
#[inline(always)]
unsafe fn mix<V: Vector, M: Method<V>, const K: usize, const JOIN: bool>(
    tables: &M::Tables,
    input: impl Fn(usize) -> V,
    output: impl Fn(usize, V),
) {
    let mut inputs = [input(0); K];
    for (i, v) in inputs.iter_mut().enumerate().skip(1) {
        *v = input(i);
    }
    for o in 0..K {
        // SAFETY: the caller's promise.
        unsafe { output(o, M::output::<K, JOIN>(tables, &inputs, o)) }
    }
}
