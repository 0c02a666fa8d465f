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
use std::mem::MaybeUninit;

use crate::around::{Around, Each};
use crate::padded;
use crate::pen::Pen;
use crate::plane::At;
use crate::runs;
use crate::simd::{Pick, Picks, Set, Vector, Work, prefetch};
use crate::tuning::waits;

mod method;

use method::{Method, Picked, Shuffled};

/// Bytes of the stage that becomes streamed.
const STAGE: usize = 12 << 10;
/// How far ahead the contiguous side is asked for, in bytes.
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
    /// The loops around it; one iteration if it streams.
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
        let (tables, picks): (&[_], &[_]) = if join && padded::suits(width, rows) {
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
/// The CPU has the set. In every iteration the rows and the run are readable and writable and do not overlap. A weave that
/// streams has one.
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
    // SAFETY: the caller's promise; the number is that of the rows, 0 where the kernel shall look it up, and 16 for a
    // transpose.
    unsafe {
        if weave.join && padded::suits(weave.width, weave.rows) {
            return S::enter(Rows::<V, Shuffled, 16>::new(weave, at));
        }
        match weave.rows {
            2 => S::enter(Rows::<V, Shuffled, 2>::new(weave, at)),
            3 => S::enter(Rows::<V, Shuffled, 3>::new(weave, at)),
            4 => S::enter(Rows::<V, Shuffled, 4>::new(weave, at)),
            _ => S::enter(Rows::<V, Shuffled, 0>::new(weave, at)),
        }
    }
}

/// # Safety (of `work`)
///
/// As `run`; rows have at least `V::BYTES`, and `K` is their number or 0; or it is 16, which stands for a transpose that
/// joins.
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

#[repr(align(64))]
struct Staging(MaybeUninit<[u8; STAGE]>);

impl<V: Vector, M: Method<V>, const K: usize> Work for Rows<'_, V, M, K> {
    #[inline(always)]
    unsafe fn work(mut self) {
        let Rows { weave, at, .. } = self;
        // SAFETY: the caller's promise.
        unsafe {
            if weave.stream {
                staged::<V, M, K>(weave, at);
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
        let (length, ahead) = (weave.len * weave.width, AHEAD as isize);
        // SAFETY: the caller's promise.
        unsafe {
            if weave.join {
                join::<V, M, K>(weave, from, to, length, ahead);
            } else {
                split::<V, M, K>(weave, from, to, weave.stride, length, ahead);
            }
        }
    }
}

/// Moves all rows by way of a stage, and streams from there.
///
/// # Safety
///
/// As `run`; rows have at least `V::BYTES`.
#[inline(always)]
unsafe fn staged<V: Vector, M: Method<V>, const K: usize>(weave: &Weave, at: At) {
    let k = weave.rows;
    let bytes = weave.len * weave.width;
    let mut stage = Staging(MaybeUninit::uninit());
    let stage = stage.0.as_mut_ptr().cast::<u8>();
    // Bytes of each row done at once. At least a vector: 15 rows of 64 bytes fit the stage.
    let piece = STAGE / k / V::BYTES * V::BYTES;
    // Short rows end before a fixed distance is useful; then the same place of the next box is asked for.
    let ahead = if bytes > 2 * AHEAD {
        AHEAD as isize
    } else {
        (at.upcoming as isize).wrapping_sub(at.source as isize)
    };
    let waits = waits();
    // SAFETY: the CPU has `V`.
    let mut pen = unsafe { Pen::<V>::new() };
    let mut done = 0;
    if waits && weave.join {
        runs::own_edges(at.destination, bytes * k);
    }
    while done < bytes {
        let mut length = piece.min(bytes - done);
        if length < V::BYTES {
            (done, length) = (bytes - V::BYTES, V::BYTES);
        }
        // SAFETY: bytes done..done + length of every row, and the same share of the run; the stage holds both. What the
        // pen was given is written when it is lifted, and nothing else writes there.
        unsafe {
            if weave.join {
                join::<V, M, K>(weave, at.source.add(done), stage, length, ahead);
                pen.copy(stage, at.destination.add(done * k), length * k);
            } else {
                if waits {
                    for row in 0..k as isize {
                        let to = at.destination.wrapping_offset(row * weave.stride);
                        runs::own_edges(to.wrapping_add(done), length);
                    }
                }
                let run = at.source.add(done * k);
                split::<V, M, K>(weave, run, stage, piece as isize, length, ahead);
                for row in 0..k {
                    let to = at.destination.offset(row as isize * weave.stride).add(done);
                    runs::stream_near::<V>(stage.add(row * piece), to, length);
                }
            }
        }
        done += length;
    }
    // SAFETY: as before.
    unsafe { pen.lift() };
}

/// Interleaves `length` bytes of each row.
///
/// # Safety
///
/// `from` is in the first row; `length` bytes of every row are readable, `k` times as many writable at `to`. `length` is
/// at least a vector.
#[inline(always)]
unsafe fn join<V: Vector, M: Method<V>, const K: usize>(
    weave: &Weave,
    from: *const u8,
    to: *mut u8,
    length: usize,
    ahead: isize,
) {
    // SAFETY: the caller's promise; there are less than 16 rows, so this says that they are transposed.
    unsafe {
        if K == 16 {
            return padded::join::<V>(weave, from, to, length, ahead);
        }
    }
    let k = if K > 0 { K } else { weave.rows };
    // SAFETY: the caller's promise.
    let tables = unsafe { M::tables(weave) };
    let mut done = 0;
    while done < length {
        done = done.min(length - V::BYTES);
        // SAFETY: `done` is at most a vector before the end of the rows. The chunk of lane l is 16 * k bytes long.
        unsafe {
            let run = to.add(done * k);
            let row = |i: usize| {
                let row = from.offset(i as isize * weave.stride).add(done);
                prefetch(row.wrapping_offset(ahead));
                V::load(row)
            };
            mix::<V, M>(&tables, k, row, |o, v| M::put(v, run, o, k));
        }
        done += V::BYTES;
    }
}

/// Separates a run into `length` bytes of each row.
///
/// # Safety
///
/// `k` times `length` bytes are readable at `from`; `to` is in the first row, and `length` bytes of every row, `stride`
/// apart, are writable. `length` is at least a vector.
#[inline(always)]
unsafe fn split<V: Vector, M: Method<V>, const K: usize>(
    weave: &Weave,
    from: *const u8,
    to: *mut u8,
    stride: isize,
    length: usize,
    ahead: isize,
) {
    let k = if K > 0 { K } else { weave.rows };
    // SAFETY: the caller's promise.
    let tables = unsafe { M::tables(weave) };
    let mut done = 0;
    while done < length {
        done = done.min(length - V::BYTES);
        // SAFETY: as `join`.
        unsafe {
            let run = from.add(done * k);
            let chunk = |i: usize| {
                prefetch(run.wrapping_offset(ahead).wrapping_add(i * V::BYTES));
                M::take(run, i, k)
            };
            mix::<V, M>(&tables, k, chunk, |o, v| {
                v.store(to.offset(o as isize * stride).add(done))
            });
        }
        done += V::BYTES;
    }
}

/// Makes every output of all inputs.
///
/// # Safety
///
/// The CPU has `V` and what the method says; `k` is the number of rows, and `input` and `output` may be called with numbers
/// below it. The tables are those of the weave.
#[inline(always)]
unsafe fn mix<V: Vector, M: Method<V>>(
    tables: &M::Tables,
    k: usize,
    input: impl Fn(usize) -> V,
    output: impl Fn(usize, V),
) {
    let mut inputs = [input(0); 16];
    for (i, v) in inputs.iter_mut().enumerate().take(k).skip(1) {
        *v = input(i);
    }
    for o in 0..k {
        // SAFETY: the caller's promise.
        unsafe { output(o, M::output(tables, &inputs, k, o)) }
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
