//! How the bytes of a few registers are mixed.

use std::sync::OnceLock;

use super::Weave;
use crate::simd::{Pick, Picks, Vector};

/// Calls `f` with each byte of `rows` outputs of `N` bytes each: the output and the place in it, the input and the place
/// in that.
fn mixed<const N: usize>(
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

type Once<T> = OnceLock<Box<[T]>>;

/// What weaves of a width and a number of rows share, in either direction: made for the first of them, and kept.
struct Shared<T>([[[Once<T>; 2]; 16]; 4]);

impl<T> Shared<T> {
    const fn new() -> Self {
        Shared([const { [const { [const { OnceLock::new() }; 2] }; 16] }; 4])
    }

    fn get(&self, width: usize, rows: usize, join: bool, make: impl FnOnce() -> Vec<T>) -> &[T] {
        let place = &self.0[width.trailing_zeros() as usize][rows][usize::from(join)];
        place.get_or_init(|| make().into_boxed_slice())
    }
}

/// The tables of [`Shuffled`].
pub(super) fn tables(width: usize, rows: usize, join: bool) -> &'static [[u8; 16]] {
    static TABLES: Shared<[u8; 16]> = Shared::new();
    TABLES.get(width, rows, join, || {
        let mut tables = vec![[0x80; 16]; rows * rows];
        mixed::<16>(width, rows, join, |output, at, input, from| {
            tables[output * rows + input][at] = from as u8;
        });
        tables
    })
}

/// The picks of [`Picked`], one for each of three outputs.
pub(super) fn picks(width: usize, join: bool) -> &'static [Pick] {
    static PICKS: Shared<Pick> = Shared::new();
    PICKS.get(width, 3, join, || {
        let mut picks = vec![Pick::default(); 3];
        mixed::<64>(width, 3, join, |output, at, input, from| {
            picks[output].set(at, input, from);
        });
        picks
    })
}

/// How registers of inputs become registers of outputs.
///
/// # Safety of the functions
///
/// All require that the CPU has `V`, and that `k` is the number of the rows.
pub(super) trait Method<V> {
    /// What the registers are mixed by. A copy, as what is in memory would be read again after every store.
    type Tables: Copy;

    /// Those of a weave.
    ///
    /// # Safety
    ///
    /// The weave is one of this method.
    unsafe fn tables(weave: &Weave) -> Self::Tables;

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
    /// `K` is the number of the rows; `o` is below it; the tables are those of the weave.
    unsafe fn output<const K: usize>(tables: &Self::Tables, inputs: &[V; K], o: usize) -> V;
}

/// By shuffles within lanes: every lane does a chunk of its own.
pub(super) struct Shuffled;

impl<V: Vector> Method<V> for Shuffled {
    type Tables = *const [u8; 16];

    #[inline(always)]
    unsafe fn tables(weave: &Weave) -> Self::Tables {
        weave.tables.as_ptr()
    }

    #[inline(always)]
    unsafe fn take(run: *const u8, i: usize, k: usize) -> V {
        // SAFETY: the chunk of lane l is 16 * k bytes long.
        unsafe { V::load_lanes(|lane| run.add(i * 16 + lane * k * 16)) }
    }

    #[inline(always)]
    unsafe fn put(v: V, run: *mut u8, o: usize, k: usize) {
        // SAFETY: as `take`.
        unsafe { v.store_lanes(|lane| run.add(o * 16 + lane * k * 16)) }
    }

    #[inline(always)]
    unsafe fn output<const K: usize>(tables: &Self::Tables, inputs: &[V; K], o: usize) -> V {
        // SAFETY: there are K * K tables; the CPU has `V`.
        unsafe {
            let table = |i: usize| V::splat_lane(tables.add(o * K + i).cast());
            let mut v = inputs[0].shuffle(table(0));
            for (i, input) in inputs.iter().enumerate().skip(1) {
                v = v.or(input.shuffle(table(i)));
            }
            v
        }
    }
}

/// By picking bytes of three registers. The CPU can do that, and there are three rows.
pub(super) struct Picked;

impl<V: Picks> Method<V> for Picked {
    /// Places in the first two registers, in the third, and which are of the third, for each output.
    type Tables = [(V, V, u64); 3];

    #[inline(always)]
    unsafe fn tables(weave: &Weave) -> Self::Tables {
        let picks = weave.picks;
        // Written out, as a library's function that makes an array is not always compiled for the set.
        // SAFETY: the CPU has `V` by the caller's promise, which is all that `load` asks for.
        unsafe { [picks[0].load(), picks[1].load(), picks[2].load()] }
    }

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
    unsafe fn output<const K: usize>(tables: &Self::Tables, inputs: &[V; K], o: usize) -> V {
        let (first, last, of_last) = tables[o];
        // SAFETY: the CPU has `V`.
        unsafe { V::pick([inputs[0], inputs[1], inputs[2]], first, last, of_last) }
    }
}
