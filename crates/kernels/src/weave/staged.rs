//! Weaves that stream: by way of a stage in the first-level cache.
//!
//! ```text
//! for each piece of all rows, in one iteration after the other:
//!     interleave or separate it into one of two stages, asking for the next piece
//!     stream the piece before it from the other stage
//! ```
//!
//! A load of what was just stored would wait until all streaming stores before it are done; and reading and writing
//! overlap.

use std::mem::MaybeUninit;

use super::{MOST, Way, Weave};
use crate::around::Iterations;
use crate::copy;
use crate::onward::Onward;
use crate::pen::Pen;
use crate::plane::At;
use crate::simd::{LINE, Vector};
use crate::tuning::{Caches, waits};

/// The most bytes of a stage.
const STAGE: usize = 64 << 10;
/// Bytes of all rows that are staged at once, at most, where not all of them are: to separate few rows or many, or to
/// interleave many.
const PIECE: (usize, usize) = (6 << 10, 12 << 10);
/// Room before each separated row in the stage, for the line that the piece before has begun.
const BEGUN: usize = LINE;

/// Rows are staged from line to line, and each has such room.
const ROOM: usize = STAGE + MOST * (BEGUN + LINE);

#[repr(align(64))]
struct Staging(MaybeUninit<[u8; ROOM]>);

/// Whether the rows of an iteration are staged whole: then what is separated is a run too where they lie side by side, and
/// all of the next iteration is asked for meanwhile.
fn is_staged_whole(weave: &Weave) -> bool {
    holds(weave.len * weave.width * weave.rows)
}

/// Whether so many bytes are staged at once.
pub(super) fn holds(bytes: usize) -> bool {
    bytes <= (Caches::of_this_cpu().second / 16).min(STAGE)
}

/// As many bytes of each row of an iteration.
#[derive(Clone, Copy)]
struct Piece {
    from: *const u8,
    to: *mut u8,
    length: usize,
    /// Whether it begins and ends the rows, or as many rows as go on in the next iterations.
    first: bool,
    last: bool,
}

/// The pieces of all iterations.
struct Pieces<'a> {
    weave: &'a Weave,
    iterations: Iterations,
    /// Where the rows and the run of the present iteration start.
    now: Option<(*const u8, *mut u8)>,
    /// Whether separated rows go on there from the iteration before, so that both have a part of the line where they meet: of
    /// u8[256,224,224,3] out of pictures of 256 by 256 pixels, to NCHW, each iteration has 224 bytes of every row.
    goes_on: bool,
    /// Bytes done of each row of this iteration.
    done: usize,
    /// Bytes of each row in a piece.
    step: usize,
    /// The least of that, where rows have more than one piece.
    least: usize,
}

impl Pieces<'_> {
    fn new<'a>(weave: &'a Weave, at: &At, vector: usize) -> Pieces<'a> {
        let bytes = weave.len * weave.width;
        let least = vector.max(LINE);
        // At least two vectors, so that a last one can be made of another, and pieces of much the same length.
        let most = if is_staged_whole(weave) {
            bytes.next_multiple_of(least)
        } else {
            let many = weave.join && weave.rows * weave.width >= 16;
            let piece = if many { PIECE.1 } else { PIECE.0 };
            (piece / weave.rows / least * least).max(2 * least)
        };
        let step = bytes.div_ceil(bytes.div_ceil(most)).next_multiple_of(least);
        let mut iterations = weave.around.iterations(at.source, at.destination);
        Pieces {
            weave,
            now: iterations.next(),
            iterations,
            goes_on: false,
            done: 0,
            step,
            least,
        }
    }

    /// Begins the next iteration; `to` is where the rows of the present one start.
    fn advance(&mut self, to: *mut u8) {
        let bytes = self.weave.len * self.weave.width;
        self.now = self.iterations.next();
        // Of less than a line there may be nothing in a line but what another row begins.
        let next = to.wrapping_add(bytes);
        self.goes_on =
            !self.weave.join && bytes >= LINE && self.now.is_some_and(|(_, start)| start == next);
        self.done = 0;
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let (from, to) = self.now?;
        let &mut Pieces {
            weave,
            done,
            goes_on,
            ..
        } = self;
        let left = weave.len * weave.width - done;
        let length = match left.checked_sub(self.step) {
            None | Some(0) => left,
            // The last piece has no less than a vector.
            Some(rest) if rest < self.least => self.step - self.least,
            Some(_) => self.step,
        };
        let (in_row, in_run) = (done, done * weave.rows);
        let (before, behind) = if weave.join {
            (in_row, in_run)
        } else {
            (in_run, in_row)
        };
        let ends = length == left;
        if ends {
            self.advance(to);
        } else {
            self.done += length;
        }
        Some(Piece {
            from: from.wrapping_add(before),
            to: to.wrapping_add(behind),
            length,
            first: done == 0 && !goes_on,
            last: ends && !self.goes_on,
        })
    }
}

/// Moves all rows, in every iteration around them.
///
/// # Safety
///
/// As `weave::run`; rows have at least `V::BYTES`.
#[inline(always)]
pub(super) unsafe fn run<V: Vector, M: Way<V>>(weave: &Weave, at: &At) {
    let k = weave.rows;
    let waits = waits();
    let mut pieces = Pieces::new(weave, at, V::BYTES);
    let bytes = weave.len * weave.width;
    // Whether separated rows lie side by side, all in a stage: then they are a run.
    let together = weave.join || (weave.stride == bytes as isize && is_staged_whole(weave));
    // From one staged row to the next.
    let pitch = if together { bytes } else { pieces.step + BEGUN };
    let start = if together { 0 } else { BEGUN };
    let staged = if together { pieces.step } else { pitch };
    assert!(k * staged <= ROOM);
    let mut stages = [const { Staging(MaybeUninit::uninit()) }; 2];
    let [stage, other] = &mut stages;
    let mut stage = stage.0.as_mut_ptr().cast::<u8>();
    let mut other = other.0.as_mut_ptr().cast::<u8>();
    // SAFETY: the CPU has `V`.
    let mut pen = unsafe { Pen::<V>::new() };
    let mut next = pieces.next();
    let mut before = None::<Piece>;
    while next.is_some() || before.is_some() {
        let now = next;
        std::mem::swap(&mut stage, &mut other);
        if let Some(piece) = now {
            next = pieces.next();
            let upcoming = next.map_or(at.upcoming, |next| next.from);
            let ahead = (upcoming as isize).wrapping_sub(piece.from as isize);
            // SAFETY: the piece is one of rows and a run that the caller vouches for; the stage has room for all rows of
            // a piece, with what was begun before them. A row of more than one piece has at least a line in each.
            unsafe {
                if weave.join {
                    M::join(
                        weave,
                        piece.from,
                        stage,
                        piece.length,
                        Onward::new(0, ahead),
                    );
                } else {
                    if let (false, false, Some(before)) = (together, piece.first, before) {
                        for row in 0..k {
                            let end = other.add(row * pitch + before.length);
                            copy::copy::<V>(end, stage.add(row * pitch), BEGUN);
                        }
                    }
                    let to = stage.add(start);
                    let onward = Onward::along(bytes * k, ahead);
                    M::split(weave, piece.from, to, pitch as isize, piece.length, onward);
                }
            }
        }
        if waits && let Some(next) = next {
            own_ends(weave, &next, together, now);
        }
        if let Some(piece) = before {
            // SAFETY: the other stage has the piece, whose share of the destination is writable. What the pen was given
            // is written when it is lifted, and nothing else writes there.
            unsafe {
                if together {
                    pen.copy(other, piece.to, piece.length * k);
                } else {
                    for row in 0..k {
                        let to = piece.to.offset(row as isize * weave.stride);
                        lines::<V>(other.add(row * pitch + start), to, &piece);
                    }
                }
            }
        }
        before = now;
    }
    // SAFETY: as before.
    unsafe { pen.lift() };
}

/// Asks for the lines of which a piece writes a part; `before` is the one before it.
fn own_ends(weave: &Weave, piece: &Piece, together: bool, before: Option<Piece>) {
    let &Piece { to, length, .. } = piece;
    if together {
        let length = length * weave.rows;
        let follows = before.is_some_and(|b| b.to.wrapping_add(b.length * weave.rows) == to);
        if !follows {
            copy::own_edges(to, length);
        }
        return;
    }
    if !piece.first && !piece.last {
        return;
    }
    for row in 0..weave.rows {
        let to = to.wrapping_offset(row as isize * weave.stride);
        let end = to.wrapping_add(length);
        match (piece.first, piece.last) {
            (true, true) => copy::own_edges(to, length),
            (true, _) => copy::own_edges(to, to.align_offset(LINE)),
            _ => {
                let part = end as usize % LINE;
                copy::own_edges(end.wrapping_sub(part), part);
            }
        }
    }
}

/// Streams the lines that end in a piece of a row, and what is left at the end of the row.
///
/// # Safety
///
/// The CPU has `V`. The piece is at `staged`, behind at least the begun line of the one before it if it is not the first.
/// Its bytes are writable at `to`, as are those before and behind it in its row.
#[inline(always)]
unsafe fn lines<V: Vector>(staged: *const u8, to: *mut u8, piece: &Piece) {
    let begun = if piece.first { 0 } else { to as usize % LINE };
    let left = if piece.last {
        0
    } else {
        (to as usize + piece.length) % LINE
    };
    // SAFETY: the caller's promise.
    unsafe {
        let length = begun + piece.length - left;
        copy::stream_near::<V>(staged.sub(begun), to.sub(begun), length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::around::Around;
    use crate::nest::{Loop, Loops};

    /// Two images of three pieces of each row, which follow one another or don't: rows begin and end with an image, or with a piece.
    #[test]
    fn rows_begin_and_end_where_no_iteration_goes_on_with_them() {
        let of = |bytes: usize, step: usize| {
            let mut loops = Loops::new();
            for (extent, destination) in [(2, 1 << 20), (3, step)] {
                loops.push(Loop {
                    extent,
                    source: 4096,
                    destination: destination as isize,
                });
            }
            let around = Around::take(&mut loops);
            let weave = Weave::new(1, (3, bytes), 65_536, false, true, around, false);
            let at = At {
                source: std::ptr::null(),
                destination: std::ptr::null_mut(),
                upcoming: std::ptr::null(),
                aside: None,
            };
            let pieces = Pieces::new(&weave, &at, 32).map(|piece| (piece.first, piece.last));
            pieces.collect::<Vec<_>>()
        };
        let image = [(true, false), (false, false), (false, true)];
        assert_eq!(of(224, 224), [image, image].concat());
        assert_eq!(of(224, 256), [(true, true); 6]);
        // Less than a line.
        assert_eq!(of(48, 48), [(true, true); 6]);
    }
}
