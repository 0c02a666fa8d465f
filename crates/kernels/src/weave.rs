//! Interleaving a few rows into one run, and separating a run into a few rows.
//!
//! Three planes of a picture to pixels and back, complex numbers to parts, pairs to halves: one axis has so few elements
//! that they are less than a vector of 16 bytes. Sixteen bytes of each of `k` rows make `16 * k` bytes of the run. Each
//! 16 bytes of the result take some from each of the `k` inputs: `k` shuffles of bytes within lanes, or-ed together,
//! with tables made when the move is prepared. A wider vector does the same to several chunks at once, one in each lane.
//!
//! Where bytes of whole registers can be picked, 64 bytes of each of three rows make 192 of the run in the same way, with
//! fewer shuffles, and without parts to put together or take apart. With more rows, and of wider elements where
//! memory is what takes the time, that is no faster.
//!
//! The price is `k * k` shuffles for `k` vectors; where `k` is more than that is worth, rows are transposed: see
//! [`padded`](crate::padded).

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::onward::Onward;
use crate::padded;
use crate::plane::At;
use crate::simd::{Pick, Picks, Set, Vector, Work, prefetch};

mod method;
mod staged;

use method::{Method, Picked, Shuffled};

/// How far ahead is asked for in each row, or in the run, by moves with ordinary stores, in bytes.
const AHEAD: usize = 1024;

#[derive(Debug, Clone)]
pub(crate) struct Weave {
    /// Bytes of an element.
    width: usize,
    /// Rows; `rows * width` is less than 16.
    rows: usize,
    /// Elements of each row.
    len: usize,
    /// Bytes from one row to the next, on the side that has rows.
    stride: isize,
    /// Rows to a run; otherwise a run to rows.
    join: bool,
    stream: bool,
    around: Around,
    /// Which byte of input `i` goes to each byte of output `o`, at `o * rows + i`; the top bit stands for none. Empty
    /// where rows are transposed or picked.
    tables: &'static [[u8; 16]],
    /// What is picked for each output. Empty where there is nothing that picks, or not enough of it.
    picks: &'static [Pick],
}

impl Weave {
    /// `rows` and `len` are how many rows there are and how many elements each has; `picks` says whether the instruction
    /// set has [`Picks`].
    pub(crate) fn new(
        width: usize,
        (rows, len): (usize, usize),
        stride: isize,
        join: bool,
        stream: bool,
        around: Around,
        picks: bool,
    ) -> Weave {
        debug_assert!(rows * width < 16);
        let (tables, picks): (&[_], &[_]) = if padded::suits(width, rows) {
            // Rows are transposed.
            (&[], &[])
        } else if picks && rows == 3 && len * width >= 64 && (!stream || width == 1) {
            (&[], method::picks(width, join))
        } else {
            (method::tables(width, rows, join), &[])
        };
        Weave {
            width,
            rows,
            len,
            stride,
            join,
            stream,
            around,
            tables,
            picks,
        }
    }

    /// Whether it is to be run by [`pick`].
    pub(crate) fn picks(&self) -> bool {
        !self.picks.is_empty()
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn stride(&self) -> isize {
        self.stride
    }
}

/// As [`run`], for a weave that picks.
///
/// # Safety
///
/// As `run`; the CPU can pick with the set's widest vectors.
pub(crate) unsafe fn pick<S: Set<Wide: Picks>>(weave: &Weave, at: At) {
    // SAFETY: the caller's promise; there are three rows of at least 64 bytes, as `new` saw.
    unsafe { S::enter(Rows::<S::Wide, Picked, 3>::new(weave, at)) }
}

/// Moves all rows, in every iteration around them.
///
/// # Safety
///
/// The CPU has the set. In every iteration the rows and the run are readable and writable and do not overlap.
pub(crate) unsafe fn run<S: Set>(weave: &Weave, at: At) {
    // SAFETY: the caller's promise; each vector holds no more elements than a row.
    unsafe {
        if weave.len * weave.width >= S::Wide::BYTES {
            enter::<S, S::Wide>(weave, at);
        } else if weave.len * weave.width >= 16 {
            enter::<S, S::Quarter>(weave, at);
        } else {
            let mut few = Few { weave };
            weave.around.walk(at.source, at.destination, &mut few);
        }
    }
}

/// # Safety
///
/// As `run`; rows have at least `V::BYTES`.
unsafe fn enter<S: Set, V: Vector>(weave: &Weave, at: At) {
    // SAFETY: the caller's promise; the number is that of the rows, and 16 for a transpose.
    unsafe {
        if padded::suits(weave.width, weave.rows) {
            return S::enter(Rows::<V, Shuffled, 16>::new(weave, at));
        }
        match weave.rows {
            2 => S::enter(Rows::<V, Shuffled, 2>::new(weave, at)),
            3 => S::enter(Rows::<V, Shuffled, 3>::new(weave, at)),
            4 => S::enter(Rows::<V, Shuffled, 4>::new(weave, at)),
            5 => S::enter(Rows::<V, Shuffled, 5>::new(weave, at)),
            6 => S::enter(Rows::<V, Shuffled, 6>::new(weave, at)),
            7 => S::enter(Rows::<V, Shuffled, 7>::new(weave, at)),
            _ => S::enter(Rows::<V, Shuffled, 8>::new(weave, at)),
        }
    }
}

/// # Safety (of `work`)
///
/// As `run`; rows have at least `V::BYTES`, and `K` is their number; or it is 16, which stands for a transpose.
struct Rows<'a, V, M, const K: usize> {
    weave: &'a Weave,
    at: At,
    vector: PhantomData<(V, M)>,
}

impl<'a, V, M, const K: usize> Rows<'a, V, M, K> {
    fn new(weave: &'a Weave, at: At) -> Self {
        Rows {
            weave,
            at,
            vector: PhantomData,
        }
    }
}

impl<V: Vector, M: Method<V>, const K: usize> Work for Rows<'_, V, M, K> {
    #[inline(always)]
    unsafe fn work(mut self) {
        let Rows { weave, at, .. } = self;
        // SAFETY: the caller's promise.
        unsafe {
            if weave.stream {
                staged::run::<V, M, K>(weave, at);
            } else {
                weave.around.walk(at.source, at.destination, &mut self);
            }
        }
    }
}

impl<V: Vector, M: Method<V>, const K: usize> Each for Rows<'_, V, M, K> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let weave = self.weave;
        let (length, onward) = (weave.len * weave.width, Onward::new(0, AHEAD as isize));
        // SAFETY: the caller's promise.
        unsafe {
            if weave.join {
                join::<V, M, K>(weave, from, to, length, onward);
            } else {
                split::<V, M, K>(weave, from, to, weave.stride, length, onward);
            }
        }
    }
}

/// Interleaves `length` bytes of each row.
///
/// # Safety
///
/// `from` is in the first row; `length` bytes of every row are readable, and as many together writable at `to`. `length` is
/// at least a vector.
#[inline(always)]
unsafe fn join<V: Vector, M: Method<V>, const K: usize>(
    weave: &Weave,
    from: *const u8,
    to: *mut u8,
    length: usize,
    onward: Onward,
) {
    // SAFETY: the caller's promise; there are less than 16 rows, so this says that they are transposed.
    unsafe {
        if K == 16 {
            return padded::join::<V>(weave, from, to, length, onward);
        }
    }
    // SAFETY: the caller's promise.
    let tables = unsafe { M::tables(weave) };
    let mut done = 0;
    while done < length {
        done = done.min(length - V::BYTES);
        // SAFETY: `done` is at most a vector before the end of the rows. The chunk of lane l is 16 * K bytes long.
        unsafe {
            let run = to.add(done * K);
            let row = |i: usize| {
                let row = from.offset(i as isize * weave.stride).add(done);
                prefetch(onward.of(row));
                V::load(row)
            };
            mix::<V, M, K>(&tables, row, |o, v| M::put(v, run, o, K));
        }
        done += V::BYTES;
    }
}

/// Separates a run into `length` bytes of each row.
///
/// # Safety
///
/// `to` is in the first row; `length` bytes of every row, `stride` apart, are writable, and as many together readable at
/// `from`. `length` is at least a vector.
#[inline(always)]
unsafe fn split<V: Vector, M: Method<V>, const K: usize>(
    weave: &Weave,
    from: *const u8,
    to: *mut u8,
    stride: isize,
    length: usize,
    onward: Onward,
) {
    // SAFETY: as `join`.
    let tables = unsafe {
        if K == 16 {
            return padded::split::<V>(weave, from, to, stride, length, onward);
        }
        M::tables(weave)
    };
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
            mix::<V, M, K>(
                &tables,
                |i| M::take(run, i, K),
                |o, v| v.store(to.offset(o as isize * stride).add(done)),
            );
        }
        done += V::BYTES;
    }
}

/// Makes every output of all inputs.
///
/// # Safety
///
/// The CPU has `V` and what the method says; `input` and `output` may be called with numbers below that of the rows, which
/// is `K`. The tables are those of the weave.
#[inline(always)]
unsafe fn mix<V: Vector, M: Method<V>, const K: usize>(
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
        unsafe { output(o, M::output(tables, &inputs, o)) }
    }
}

/// Rows shorter than any vector.
struct Few<'a> {
    weave: &'a Weave,
}

impl Few<'_> {
    /// # Safety
    ///
    /// As `each`.
    #[inline(always)]
    unsafe fn elements(&self, source: *const u8, destination: *mut u8, w: usize) {
        let weave = self.weave;
        for row in 0..weave.rows {
            for i in 0..weave.len {
                let (in_row, in_run) = (
                    row as isize * weave.stride + (i * w) as isize,
                    ((i * weave.rows + row) * w) as isize,
                );
                let (from, to) = if weave.join {
                    (in_row, in_run)
                } else {
                    (in_run, in_row)
                };
                // SAFETY: an element of a row and of the run.
                unsafe {
                    std::ptr::copy_nonoverlapping(source.offset(from), destination.offset(to), w)
                };
            }
        }
    }
}

impl Each for Few<'_> {
    #[inline(always)]
    unsafe fn each(&mut self, source: *const u8, destination: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            // A width that the compiler knows is a load and a store.
            match self.weave.width {
                1 => self.elements(source, destination, 1),
                2 => self.elements(source, destination, 2),
                4 => self.elements(source, destination, 4),
                width => self.elements(source, destination, width),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Around, Weave};

    #[test]
    fn three_rows_of_bytes_become_pixels() {
        let weave = Weave::new(1, (3, 100), 100, true, false, Around::default(), false);
        // The first 16 bytes of the run: r0 g0 b0 r1 .. r5.
        assert_eq!(
            weave.tables[0],
            [
                0, 128, 128, 1, 128, 128, 2, 128, 128, 3, 128, 128, 4, 128, 128, 5
            ]
        );
        assert_eq!(weave.tables[1][..4], [128, 0, 128, 128]);

        let weave = Weave::new(1, (3, 100), 100, true, false, Around::default(), true);
        let pick = &weave.picks[0];
        assert_eq!(
            (&pick.first[..2], &pick.first[3..5]),
            (&[0, 64][..], &[1, 65][..])
        );
        assert_eq!(
            (pick.last[2], pick.last[5], pick.of_last & 63),
            (0, 1, 0b10_0100)
        );
    }
}
