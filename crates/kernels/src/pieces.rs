//! Rows of a strip that are read in pieces, into a part of the second-level cache.
//!
//! A line of each row in turn is slow to read where rows lie far apart: memory and the CPU's prefetchers are made for lines
//! that follow one another, and rows a large power of two apart push each other out of the caches. So while columns of one
//! piece of all rows are written, the next piece of each row is copied, row after row.
//!
//! ```text
//! for each piece of the strip's rows:           about a KiB of each
//!     for each block of columns in it:          transposed from where the piece was copied to
//!         copy as many lines of the next piece, to the other half of the room
//! ```

use std::cell::Cell;
use std::hint::black_box;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use crate::ahead::Ahead;
use crate::axis::{Axis, Pointers};
use crate::simd::{LINE, Vector, near};

/// Bytes of a piece, about. With half as many f32[8192,8192] to columns took 14.8 ms, with these 13.5.
const PIECE: usize = 1 << 10;
/// Bytes from what is copied to what is asked for meanwhile. f32[128,1000000] took 29.7 ms with half as many, 27.0 with twice, and
/// 25.7 with these.
const AHEAD: usize = 8 << 10;
/// Rows that have room for whole pieces, with a line between them.
const ROWS: usize = 128;
const HALF: usize = ROWS * (PIECE + LINE);

/// Room for two pieces of every row, which stay in the second-level cache with what is written; and for a line before them.
#[repr(align(64))]
pub(crate) struct Room(MaybeUninit<[u8; LINE + 2 * HALF]>);

impl Room {
    #[inline(always)]
    pub(crate) fn new() -> Room {
        Room(MaybeUninit::uninit())
    }

    fn halves(&mut self) -> [*mut u8; 2] {
        let first = self.0.as_mut_ptr().cast::<u8>().wrapping_add(LINE);
        [first, first.wrapping_add(HALF)]
    }
}

/// Whether there is a room, known when kernels are compiled, so that those without pay nothing for it.
pub(crate) trait MaybeRoom {
    /// Whether there is one.
    const IS_ROOM: bool;

    /// The pieces of strips of so many rows, at most `N`: see [`Pieces::new`].
    fn pieces<const N: usize>(&mut self, rows: usize, unit: usize) -> Option<Pieces<N>>;
}

pub(crate) struct NoRoom;

impl MaybeRoom for NoRoom {
    const IS_ROOM: bool = false;

    #[inline(always)]
    fn pieces<const N: usize>(&mut self, _: usize, _: usize) -> Option<Pieces<N>> {
        None
    }
}

impl MaybeRoom for &mut Room {
    const IS_ROOM: bool = true;

    fn pieces<const N: usize>(&mut self, rows: usize, unit: usize) -> Option<Pieces<N>> {
        Some(Pieces::new(self, rows, unit))
    }
}

/// How strips of at most `N` rows are read in pieces, by way of a room.
pub(crate) struct Pieces<const N: usize> {
    /// Where the pieces of the rows are, in either half of the room.
    halves: [Pointers<N>; 2],
    /// Bytes of a piece.
    piece: usize,
    /// The half that has the present one.
    here: Cell<usize>,
}

impl<const N: usize> Pieces<N> {
    /// For strips of so many rows, at most. The bytes of a piece are a multiple of `unit`, but those of a row's last one.
    pub(crate) fn new(room: &mut Room, rows: usize, unit: usize) -> Self {
        // An odd number of lines from one row to the next, which spreads them over the sets of a cache. The last piece may be
        // up to 15 bytes longer.
        let lines = (HALF / rows / LINE).min(PIECE / LINE + 1);
        let pitch = (lines - (lines + 1) % 2) * LINE;
        let piece = (pitch - LINE) / unit * unit;
        assert!(piece >= LINE && rows * pitch <= HALF);
        let axis = Axis::new(rows, pitch as isize);
        let halves = room.halves().map(|half| {
            let mut places = Pointers::new();
            places.take(&mut axis.cursor(0), half, rows);
            places
        });
        Pieces {
            halves,
            piece,
            here: Cell::new(0),
        }
    }

    /// Copies the first piece of the first strip, of rows of `end` bytes.
    ///
    /// # Safety
    ///
    /// As [`Feed::copy`].
    #[inline(always)]
    pub(crate) unsafe fn begin<V: Vector>(&self, rows: &[*const u8], end: usize) {
        let to = &self.halves[self.here.get()];
        let copying = Copying::<V>::new((rows, 0), self.length(0, end), (rows, self.piece), to);
        // SAFETY: the caller's promise.
        unsafe { copying.lines(usize::MAX) };
    }

    /// The piece of a strip's rows of `end` bytes that begins here, and was copied before. `next` are the rows of the next
    /// strip, or none.
    #[inline(always)]
    pub(crate) fn feed<'a, V: Vector>(
        &'a self,
        rows: &'a [*const u8],
        next: &'a [*const u8],
        start: usize,
        end: usize,
    ) -> Feed<'a, V> {
        let behind = |(rows, start): (&'a [*const u8], usize)| match start + self.length(start, end)
        {
            stop if stop < end => (rows, stop),
            _ => (next, 0),
        };
        let copied = behind((rows, start));
        let length = self.length(copied.1, end);
        let to = &self.halves[1 - self.here.get()];
        Feed {
            places: &self.halves[self.here.get()],
            start,
            end: start + self.length(start, end),
            copying: Copying::new(copied, length, behind(copied), to),
            here: &self.here,
        }
    }

    /// How long the piece is that begins here in rows of `end` bytes: none is shorter than 16.
    fn length(&self, start: usize, end: usize) -> usize {
        match end - start {
            rest if rest < self.piece + 16 => rest,
            _ => self.piece,
        }
    }
}

/// A piece of a strip, and the one after it.
pub(crate) struct Feed<'a, V> {
    /// Where its rows are, from byte `start` of each on,
    pub(crate) places: &'a [*const u8],
    pub(crate) start: usize,
    /// and up to this one.
    pub(crate) end: usize,
    copying: Copying<'a, V>,
    here: &'a Cell<usize>,
}

impl<V: Vector> Feed<'_, V> {
    /// Copies so many lines of the piece after this one.
    ///
    /// # Safety
    ///
    /// All bytes of all rows are readable, and of each a line, which may begin before it; the room is writable. The CPU has
    /// `V`.
    #[inline(always)]
    pub(crate) unsafe fn copy(&self, lines: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.copying.lines(lines) }
    }

    /// Copies what is left: that piece is the present one then.
    ///
    /// # Safety
    ///
    /// As `copy`.
    #[inline(always)]
    pub(crate) unsafe fn finish(self) {
        // SAFETY: the caller's promise.
        unsafe { self.copying.lines(usize::MAX) };
        self.here.set(1 - self.here.get());
    }
}

/// Where rows of so many bytes are, from which byte on and up to which: in a piece, or where they are in memory.
#[inline(always)]
pub(crate) fn places<'a, V>(
    feed: &Option<Feed<'a, V>>,
    rows: &'a [*const u8],
    end: usize,
) -> (&'a [*const u8], usize, usize) {
    match feed {
        Some(feed) => (feed.places, feed.start, feed.end),
        None => (rows, 0, end),
    }
}

/// Copies as many lines of what comes next as there are of these rows, which are read at `offset` now; or asks for them, where
/// nothing is copied. No closure, as those are not always compiled for the instruction set.
///
/// # Safety
///
/// As [`Feed::copy`].
#[inline(always)]
pub(crate) unsafe fn bring<V: Vector>(
    feed: &Option<Feed<'_, V>>,
    ahead: &Ahead<'_>,
    rows: Range<usize>,
    offset: usize,
) {
    match feed {
        // SAFETY: the caller's promise.
        Some(feed) => unsafe { feed.copy(rows.len()) },
        None => ahead.ask(rows, offset),
    }
}

/// A piece of rows that is copied.
struct Copying<'a, V> {
    /// The rows, and where it begins in each.
    from: (&'a [*const u8], usize),
    length: usize,
    /// The same of the piece behind it.
    behind: (&'a [*const u8], usize),
    /// Rows from one that is copied to one that is asked for.
    ahead: usize,
    to: &'a [*const u8],
    /// The line that is next.
    row: Cell<usize>,
    place: Cell<usize>,
    pace: Pace,
    vector: PhantomData<V>,
}

impl<'a, V: Vector> Copying<'a, V> {
    fn new(
        from: (&'a [*const u8], usize),
        length: usize,
        behind: (&'a [*const u8], usize),
        to: &'a [*const u8],
    ) -> Self {
        Copying {
            from,
            length,
            behind,
            ahead: AHEAD.div_ceil(length.max(1)),
            to,
            row: Cell::new(0),
            place: Cell::new(0),
            pace: Pace::new(),
            vector: PhantomData,
        }
    }

    /// Copies so many lines more, as far as there are as many.
    ///
    /// # Safety
    ///
    /// As [`Feed::copy`].
    #[inline(always)]
    unsafe fn lines(&self, count: usize) {
        let (rows, start) = self.from;
        let (mut row, mut place) = (self.row.get(), self.place.get());
        let mut left = count;
        while left > 0
            && let (Some(from), Some(to)) = (rows.get(row), self.to.get(row))
        {
            let asked = match rows.get(row + self.ahead) {
                Some(asked) => asked.wrapping_add(start),
                None => {
                    let (behind, start) = self.behind;
                    let asked = behind.get(row + self.ahead - rows.len());
                    asked.unwrap_or(from).wrapping_add(start)
                }
            };
            let (from, to) = (from.wrapping_add(start), to.cast_mut());
            let lines = left.min((self.length - place).div_ceil(LINE));
            left -= lines;
            let end = place + lines * LINE;
            // A row may begin inside a line.
            near(asked.wrapping_add(place));
            while place < end {
                near(asked.wrapping_add(place + LINE - 1));
                // The last line ends where the piece does, and has some bytes of what is before it.
                let at = (place as isize).min(self.length as isize - LINE as isize);
                // SAFETY: a line of the row, as the caller says, which ends where the piece does or before; the CPU has `V`. The room
                // has it too: a row's part of it is longer than a piece by a line, less 15 bytes. If the piece is shorter than a
                // line, at least 16 bytes, what is before it there is behind the row before, whose piece is as short, or behind the
                // last row of the other half, up to 48 of the 49 bytes that no piece has, or before both halves, where a line is.
                unsafe {
                    for part in (0..LINE).step_by(V::BYTES) {
                        let at = at + part as isize;
                        V::load(from.wrapping_offset(at)).store(to.wrapping_offset(at));
                    }
                }
                place = self.pace.wait(place) + LINE;
            }
            if place >= self.length {
                (row, place) = (row + 1, 0);
            }
        }
        self.row.set(row);
        self.place.set(place);
    }
}

/// Keeps lines some cycles apart. Asked for as fast as instructions go, a burst of them holds up all that is under way: on a
/// Zen 5, f32[128,1000000] to columns took 43 ms so, 25 with 6 cycles between two lines, and 30 with 12.
struct Pace {
    one: usize,
    zero: usize,
}

impl Pace {
    /// Of numbers that the compiler does not know.
    #[inline(always)]
    fn new() -> Pace {
        Pace {
            one: black_box(1),
            zero: black_box(0),
        }
    }

    /// The same number, two multiplications later.
    #[inline(always)]
    fn wait(&self, number: usize) -> usize {
        (number.wrapping_mul(self.one) ^ self.zero).wrapping_mul(self.one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Mixed;
    use crate::plane::Plane;
    use crate::plane::tests::moves_as_told;

    /// Moves a plane in pieces.
    fn check(width: usize, rows: Axis, columns: usize, apart: usize, shift: usize, swap: bool) {
        let order = swap.then(|| Mixed::reversal(width));
        let plane = Plane {
            order,
            ..Plane::streaming(rows, Axis::new(columns, apart as isize), true)
        };
        moves_as_told(&plane, width, shift);
    }

    /// Bytes of rows: of one piece, of some, and of a last one as short and as long as it gets.
    const ROW: [usize; 8] = [
        LINE,
        PIECE - 16,
        PIECE,
        PIECE + 15,
        PIECE + 16,
        PIECE + 48,
        2 * PIECE + LINE,
        4 * PIECE - 112,
    ];

    #[test]
    fn columns_on_lines_are_moved_in_pieces() {
        for width in [1, 2, 4, 8, 16] {
            for row in ROW {
                let (columns, line) = (row / width, LINE / width);
                for (rows, apart, shift) in [
                    // Two strips of two lengths; then columns that begin and end inside lines.
                    (ROWS + 4 * line, 5 * row, 0),
                    (2 * ROWS + line, row, 0),
                    (7 * line + 3, row + width, 5 * width % LINE),
                ] {
                    let pitch = (rows * width).next_multiple_of(LINE) + LINE;
                    let rows = Axis::new(rows, apart as isize);
                    check(width, rows, columns, pitch, shift, false);
                }
            }
        }
    }

    #[test]
    fn columns_between_lines_are_moved_in_pieces() {
        for width in [1, 2, 4, 8, 16] {
            for row in ROW {
                let (columns, line) = (row / width, LINE / width);
                for rows in [5 * line + 1, ROWS + 4 * line + 3] {
                    let column = rows * width;
                    let rows = Axis::new(rows, (row + 3 * width) as isize);
                    // Side by side, and apart.
                    check(width, rows, columns, column, 7 * width % LINE, false);
                    check(width, rows, columns, column + 5 * width, width, false);
                }
            }
        }
    }

    #[test]
    fn rows_of_joined_loops_and_elements_in_another_order_are_moved_in_pieces() {
        for width in [2, 4, 8] {
            let row = 2 * PIECE + 3 * width;
            let mut rows = Axis::new(12, -3 * row as isize);
            rows.join(16, 40 * row as isize);
            check(width, rows, row / width, 192 * width, 0, true);
            check(width, rows, row / width, 193 * width, 0, false);
        }
    }

    #[test]
    fn pieces_have_room_for_a_last_one_and_lie_spread_over_the_sets_of_a_cache() {
        for rows in [17, 96, ROWS, 2 * ROWS, 576] {
            let mut room = Room::new();
            let ends = room.halves();
            let pieces = Pieces::<1024>::new(&mut room, rows, LINE);
            let pitch = pieces.halves[0][1] as usize - pieces.halves[0][0] as usize;
            assert!(pitch >= pieces.piece + LINE, "{rows} rows");
            assert_eq!(pitch / LINE % 2, 1, "{rows} rows");
            let last = pieces.halves[0][rows - 1] as usize + pieces.piece + 15;
            assert!(last + LINE <= ends[1] as usize + 16, "{rows} rows");
        }
    }
}
