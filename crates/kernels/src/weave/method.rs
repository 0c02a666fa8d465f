//! How the bytes of a few registers are mixed.

use super::Weave;
use crate::simd::{Picks, Vector};

/// Bytes of two registers.
#[derive(Debug, Clone)]
pub(super) struct Pick {
    pub(super) places: [u8; 64],
    /// A bit for each byte that comes from these.
    pub(super) kept: u64,
}

/// Calls `f` with each byte of `rows` outputs of `N` bytes each: the output and the place in it, the input and the place
/// in that.
pub(super) fn mixed<const N: usize>(
    width: usize,
    rows: usize,
    join: bool,
    mut f: impl FnMut(usize, usize, usize, usize),
) {
    for element in 0..N / width {
        for row in 0..rows {
            for byte in 0..width {
                let row_byte = element * width + byte;
                let run_byte = (element * rows + row) * width + byte;
                if join {
                    f(run_byte / N, run_byte % N, row, row_byte);
                } else {
                    f(row, row_byte, run_byte / N, run_byte % N);
                }
            }
        }
    }
}

/// How registers of inputs become registers of outputs.
///
/// # Safety of the functions
///
/// All require that the CPU has `V`, and that `k` is the number of the rows.
pub(super) trait Method<V> {
    /// Register `i` of `k` from a run.
    ///
    /// # Safety
    ///
    /// `k` registers are readable at `run`; `i` is below `k`.
    unsafe fn take(run: *const u8, i: usize, k: usize) -> V;

    /// Register `o` of `k` to a run.
    ///
    /// # Safety
    ///
    /// As `take`, but writable.
    unsafe fn put(v: V, run: *mut u8, o: usize, k: usize);

    /// Output `o` of the inputs.
    ///
    /// # Safety
    ///
    /// `K` is the number of the rows; `o` is below it.
    unsafe fn output<const K: usize>(weave: &Weave, inputs: &[V; K], o: usize) -> V;
}

/// By shuffles within lanes: every lane does a chunk of its own.
pub(super) struct Shuffled;

impl<V: Vector> Method<V> for Shuffled {
    #[inline(always)]
    unsafe fn take(run: *const u8, i: usize, k: usize) -> V {
        // SAFETY: the chunk of lane l is 16 * k bytes long.
        unsafe { V::load_lanes(|lane| run.add(i * 16 + lane * k * 16)) }
    }

    #[inline(always)]
    unsafe fn put(v: V, run: *mut u8, o: usize, k: usize) {
        // SAFETY: as `take`.
        unsafe { v.store_lanes(run.add(o * 16), k * 16) }
    }

    #[inline(always)]
    unsafe fn output<const K: usize>(weave: &Weave, inputs: &[V; K], o: usize) -> V {
        // SAFETY: there are K * K tables; the CPU has `V`.
        unsafe {
            let table = |i: usize| V::splat_lane(weave.tables.get_unchecked(o * K + i).as_ptr());
            let mut v = inputs[0].shuffle(table(0));
            for (i, input) in inputs.iter().enumerate().skip(1) {
                v = v.or(input.shuffle(table(i)));
            }
            v
        }
    }
}

/// By picking bytes of two registers at once. The CPU can do that.
pub(super) struct Picked;

impl<V: Picks> Method<V> for Picked {
    #[inline(always)]
    unsafe fn take(run: *const u8, i: usize, _k: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe { V::load(run.add(i * V::BYTES)) }
    }

    #[inline(always)]
    unsafe fn put(v: V, run: *mut u8, o: usize, _k: usize) {
        // SAFETY: the caller's promise.
        unsafe { v.store(run.add(o * V::BYTES)) }
    }

    #[inline(always)]
    unsafe fn output<const K: usize>(weave: &Weave, inputs: &[V; K], o: usize) -> V {
        let pairs = K.div_ceil(2);
        // SAFETY: there are K * pairs picks; a last input without another is paired with itself, of which nothing is
        // picked.
        unsafe {
            let pair = |i: usize| {
                let Pick { places, kept } = weave.picks.get_unchecked(o * pairs + i);
                V::pick(inputs[2 * i], inputs[(2 * i + 1).min(K - 1)], places, *kept)
            };
            let mut v = pair(0);
            for i in 1..pairs {
                v = v.or(pair(i));
            }
            v
        }
    }
}
