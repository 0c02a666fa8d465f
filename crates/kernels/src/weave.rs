//! Interleaving a few rows into one run, and separating a run into a few rows.
//!
//! Three planes of a picture to pixels and back, six channels to points, numbers of three parts to those: one axis has few
//! elements. Where they are less than a vector of 16 bytes, that many bytes of each of `k` rows make `16 * k` of the run.
//! Each 16 bytes of the result take some from each of the `k` inputs: `k` shuffles of bytes within lanes, or-ed together,
//! with tables made when the move is prepared. Of an odd `k` each input needs one shuffle alone: see [`Blended`]. A wider vector
//! does the same to several chunks at once, one in each lane.
//!
//! Where bytes of whole registers can be picked, 64 bytes of each of three rows make 192 of the run in the same way, with
//! fewer shuffles, and without parts to put together or take apart. With more rows, and of wider elements where
//! memory is what takes the time, that is no faster.
//!
//! The price is up to `k * k` shuffles for `k` vectors; where `k` is more than that is worth, rows are transposed: [`padded`] to
//! 16 bytes where they have fewer, otherwise as they are: see [`turned`].

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::onward::Onward;
use crate::plane::At;
use crate::simd::{LINE, Pick, Picks, Set, Vector, Work};
use crate::tuning::is_zen3;

mod method;
mod mixed;
mod padded;
mod staged;
mod turned;

use method::{Blended, Picked, Shuffled};
use mixed::Mixed;
use padded::Padded;
use turned::Turned;

/// The most bytes of an element of every row.
pub(crate) const MOST: usize = 64;

/// How far ahead is asked for in each row, or in the run, by moves with ordinary stores, in bytes.
const AHEAD: usize = 1024;

/// Whether so many rows of so many elements, 16 bytes of all rows or more, are better woven than moved as a plane: past the
/// caches, where a plane's columns, or its rows, are no whole lines or parts of one. Of many rows of narrow elements a block
/// takes too many rounds.
pub(crate) fn suits(width: usize, (rows, len): (usize, usize), join: bool) -> bool {
    let most = match (width, join) {
        (1, true) => 0,
        (1, false) => 40,
        (2, _) => 48,
        _ => MOST,
    };
    let bytes = rows.saturating_mul(width);
    (16..=most).contains(&bytes) && len * width >= LINE && !(join && bytes.is_power_of_two())
}

/// Whether rows that a [`Zip`](crate::zip::Zip) fits are better woven: past the caches, all of them staged as one image, which
/// is to have enough bytes to be worth it. Runs of whole lines need no stage.
pub(crate) fn takes_images(width: usize, (rows, len): (usize, usize), join: bool) -> bool {
    const LEAST: usize = 2 << 10;
    let bytes = rows * len * width;
    bytes >= LEAST && staged::holds(bytes) && !(join && bytes.is_multiple_of(LINE))
}

/// Bytes of separated rows with gaps between below which they are not streamed: most have parts of lines at both ends then. ms on one
/// thread of a Zen 3, streamed and not, of pictures of bytes to three planes whose rows lie so far apart that they share no lines: rows of
/// 224 bytes 4.8 and 3.0, of 900 3.5 and 2.9, of 3900 3.5 and 3.1, of 7900 3.2 and 2.6, of 16100 2.5 and 2.6.
/// Rows of whole lines are better streamed: of 1920 bytes 1.59 of memcpy and 1.32.
const GAPPED: usize = 12 << 10;

#[derive(Debug, Clone)]
pub(crate) struct Weave {
    /// Bytes of an element.
    width: usize,
    /// Rows; `rows * width` is at most [`MOST`].
    rows: usize,
    /// Elements of each row.
    len: usize,
    /// Bytes from one row to the next, on the side that has rows.
    stride: isize,
    /// Rows to a run; otherwise a run to rows.
    join: bool,
    stream: bool,
    around: Around,
    /// See [`method::tables`]. Empty where rows are transposed or picked.
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
        debug_assert!(rows * width <= MOST);
        let (tables, picks): (&[_], &[_]) = if rows * width >= 16 || padded::suits(width, rows) {
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
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) fn picks(&self) -> bool {
        !self.picks.is_empty()
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether it separates short rows that cut lines, and no loop around goes on with them.
    fn leaves_gaps(&self, at: &At) -> bool {
        let bytes = self.len * self.width;
        let inner = self.around.innermost();
        let goes_on = |step: isize| step == bytes as isize;
        let cuts = |step: isize| step % LINE as isize != 0;
        let places = [
            bytes as isize,
            self.stride,
            inner.destination,
            at.destination as isize,
        ];
        !self.join
            && bytes < GAPPED
            && inner.extent > 1
            && !goes_on(inner.destination)
            && !goes_on(self.stride)
            && places.into_iter().any(cuts)
    }
}

/// As [`run`], for a weave that picks.
///
/// # Safety
///
/// As `run`; the CPU can pick with the set's widest vectors.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no other set picks
pub(crate) unsafe fn pick<S: Set<Wide: Picks>>(weave: &Weave, at: &At) {
    // SAFETY: the caller's promise; there are three rows of at least 64 bytes, as `new` saw.
    unsafe { by::<S, S::Wide, Mixed<Picked, 3>>(weave, at) }
}

/// Moves all rows, in every iteration around them.
///
/// # Safety
///
/// The CPU has the set. In every iteration the rows and the run are readable and writable and do not overlap.
pub(crate) unsafe fn run<S: Set>(weave: &Weave, at: &At) {
    // SAFETY: the caller's promise; each vector holds no more elements than a row.
    unsafe {
        if weave.len * weave.width >= S::Wide::BYTES {
            enter::<S, S::Wide>(weave, at);
        } else if weave.len * weave.width >= 16 {
            enter::<S::Narrow, S::Quarter>(weave, at);
        } else {
            let mut few = Few { weave };
            weave.around.walk(at.source, at.destination, &mut few);
        }
    }
}

/// # Safety
///
/// As `run`; rows have at least `V::BYTES`.
unsafe fn enter<S: Set, V: Vector>(weave: &Weave, at: &At) {
    // SAFETY: the caller's promise.
    unsafe {
        if weave.rows * weave.width >= 16 {
            match weave.width {
                1 => by::<S, V, Turned<1>>(weave, at),
                2 => by::<S, V, Turned<2>>(weave, at),
                4 => by::<S, V, Turned<4>>(weave, at),
                8 => by::<S, V, Turned<8>>(weave, at),
                _ => by::<S, V, Turned<16>>(weave, at),
            }
        } else if padded::suits(weave.width, weave.rows) {
            by::<S, V, Padded>(weave, at);
        } else {
            match weave.rows {
                2 => by::<S, V, Mixed<Shuffled, 2>>(weave, at),
                3 => by::<S, V, Mixed<Blended, 3>>(weave, at),
                4 => by::<S, V, Mixed<Shuffled, 4>>(weave, at),
                5 => by::<S, V, Mixed<Blended, 5>>(weave, at),
                6 => by::<S, V, Mixed<Shuffled, 6>>(weave, at),
                7 => by::<S, V, Mixed<Blended, 7>>(weave, at),
                _ => by::<S, V, Mixed<Shuffled, 8>>(weave, at),
            }
        }
    }
}

/// # Safety
///
/// As `run`; rows have at least `V::BYTES`, and the way suits the weave.
unsafe fn by<S: Set, V: Vector, M: Way<V>>(weave: &Weave, at: &At) {
    let way = PhantomData::<(V, M)>;
    // SAFETY: the caller's promise.
    unsafe {
        if weave.stream && !(is_zen3() && weave.leaves_gaps(at)) {
            S::enter(Streamed { weave, at, way });
        } else {
            S::enter(weave.around.of(at, Rows { weave, way }));
        }
    }
}

/// Past the caches: apart from others, as its stages are large, and small moves are in a hurry.
///
/// # Safety (of `work`)
///
/// As `run`; rows have at least `V::BYTES`, and the way suits the weave.
struct Streamed<'a, V, M> {
    weave: &'a Weave,
    at: &'a At,
    way: PhantomData<(V, M)>,
}

impl<V: Vector, M: Way<V>> Work for Streamed<'_, V, M> {
    #[inline(always)]
    unsafe fn work(self) {
        // SAFETY: the caller's promise.
        unsafe { staged::run::<V, M>(self.weave, self.at) }
    }
}

/// # Safety (of `each`)
///
/// As `run`, for one iteration of the loops around; rows have at least `V::BYTES`, and the way suits the weave.
struct Rows<'a, V, M> {
    weave: &'a Weave,
    way: PhantomData<(V, M)>,
}

impl<V: Vector, M: Way<V>> Each for Rows<'_, V, M> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let weave = self.weave;
        let (length, onward) = (weave.len * weave.width, Onward::new(0, AHEAD as isize));
        // SAFETY: the caller's promise.
        unsafe {
            if weave.join {
                M::join(weave, from, to, length, onward);
            } else {
                M::split(weave, from, to, weave.stride, length, onward);
            }
        }
    }
}

/// How rows and a run are moved into each other.
trait Way<V> {
    /// Interleaves `length` bytes of each row.
    ///
    /// # Safety
    ///
    /// The CPU has `V`; the way suits the weave. `from` is in the first row; `length` bytes of every row are readable, and
    /// as many together writable at `to`. `length` is at least a vector.
    unsafe fn join(weave: &Weave, from: *const u8, to: *mut u8, length: usize, onward: Onward);

    /// Separates a run into `length` bytes of each row.
    ///
    /// # Safety
    ///
    /// The CPU has `V`; the way suits the weave. `to` is in the first row; `length` bytes of every row, `stride` apart, are
    /// writable, and as many together readable at `from`. `length` is at least a vector.
    unsafe fn split(
        weave: &Weave,
        from: *const u8,
        to: *mut u8,
        stride: isize,
        length: usize,
        onward: Onward,
    );
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
    use super::{Around, At, GAPPED, Weave};
    use crate::isa::Isa;
    use crate::nest::{Loop, Loops};
    use crate::prepared::Prepared;
    use crate::simd::LINE;

    #[test]
    fn short_rows_that_cut_lines_leave_gaps() {
        // Bytes of a row and to the next one, from a piece of it to the next one and from a line to the first, and whether that leaves gaps.
        let cases = [
            (224, 65_536, 256, 0, true),
            (224, 65_536, 224, 0, false),
            (224, 224, 1024, 0, false),
            (448, 65_536, 512, 0, false),
            (448, 65_536, 512, 16, true),
            (448, 65_520, 512, 0, true),
            (448, 65_536, 500, 0, true),
            (GAPPED - 32, 1 << 20, GAPPED, 0, true),
            (GAPPED + 32, 1 << 20, 2 * GAPPED, 0, false),
        ];
        for (bytes, stride, step, shift, gaps) in cases {
            for join in [false, true] {
                let mut loops = Loops::new();
                loops.push(Loop {
                    extent: 5,
                    source: 3 * bytes as isize,
                    destination: step as isize,
                });
                let around = Around::take(&mut loops);
                let weave = Weave::new(1, (3, bytes), stride, join, true, around, false);
                let at = At {
                    source: std::ptr::null(),
                    destination: std::ptr::null_mut::<u8>().wrapping_add(LINE + shift),
                    upcoming: std::ptr::null(),
                    aside: None,
                };
                assert_eq!(
                    weave.leaves_gaps(&at),
                    gaps && !join,
                    "{bytes}, {stride}, {step}, {shift}"
                );
            }
        }
    }

    /// A run of some elements of each row, and the same again for the next elements of these rows, or with some bytes between, streamed to
    /// every place in a line; other bytes as they were.
    #[test]
    fn rows_that_go_on_and_rows_with_gaps_are_whole() {
        for (width, rows) in [(1, 3), (1, 5), (2, 3), (4, 7), (1, 20), (4, 16), (8, 3)] {
            for bytes in [16, 48, 64, 72, 136, 256, 264, 1000] {
                for gap in [0, 8, 64] {
                    separates(width, rows, bytes / width, gap * width.div_ceil(8));
                }
            }
        }
    }

    /// Two images of five pieces of as many elements of each row.
    fn separates(width: usize, rows: usize, len: usize, gap: usize) {
        const PIECES: usize = 5;
        let bytes = len * width;
        let row = PIECES * (bytes + gap) + 24;
        let image = rows * row + 40;
        let source: Vec<u8> = (0..2 * PIECES * bytes * rows)
            .map(|i| (i * 37 + i / 251) as u8)
            .collect();
        let steps = [
            (2, PIECES * bytes * rows, image),
            (PIECES, bytes * rows, bytes + gap),
            (rows, width, row),
            (len, rows * width, width),
        ];
        let mut loops = Loops::new();
        for (extent, source, destination) in steps {
            loops.push(Loop {
                extent,
                source: source as isize,
                destination: destination as isize,
            });
        }
        for &isa in Isa::available() {
            for shift in [0, 16, 40, 56] {
                let mut room = vec![0xa5; 2 * image + 4 * LINE];
                let start = room.as_ptr().align_offset(LINE) + LINE + shift;
                let mut want = room.clone();
                for (i, element) in source.chunks_exact(width).enumerate() {
                    let (place, r) = (i / rows, i % rows);
                    let (piece, along) = (place / len, place % len);
                    let (of, piece) = (piece / PIECES, piece % PIECES);
                    let to = of * image + r * row + piece * (bytes + gap) + along * width;
                    want[start + to..][..width].copy_from_slice(element);
                }
                let prepared = Prepared::new(width, &loops, isa, true);
                // SAFETY: the source has all elements, and the room has their places from `start` on. They are vectors of their own.
                unsafe { prepared.run(source.as_ptr(), room[start..].as_mut_ptr()) };
                crate::simd::fence();
                assert!(
                    room == want,
                    "{rows} rows of {len} of {width} bytes, {gap} between, from {shift}, {isa:?}"
                );
            }
        }
    }

    #[test]
    fn three_rows_of_bytes_become_pixels() {
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
