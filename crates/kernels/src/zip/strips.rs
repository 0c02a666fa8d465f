//! Separating runs past the caches, strip by strip.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::{Zip, piece, split};
use crate::around::Each;
use crate::copy;
use crate::nest::Loop;
use crate::onward::Onward;
use crate::plane::{At, PAGE};
use crate::simd::{LINE, Vector, Work, near};

/// How many bytes ahead of a strip are asked for.
const AHEAD: usize = 8 << 10;
/// The most rows of which the begun lines are kept.
const KEPT: usize = 32;

/// Staged rows, which lie in one page, and behind it the lines that are kept. On a Zen 4 a store that crosses into another page
/// waits until all streaming stores before it are done, 95 ns: bf16[4001,9003] from `T(8,128)(2,1)` took 4.7 or 8.0 ms, as the
/// stack lay.
#[repr(align(4096))]
struct Strip(MaybeUninit<[u8; PAGE + KEPT * LINE]>);

/// Separates into a stage, and streams whole lines from there.
///
/// The source is read in its own order, since that is what it comes fastest in: all rows that a strip of it goes to are
/// written in turns, and the line that each has begun is kept until its turn comes again.
///
/// # Safety (of `work`)
///
/// As `run`; `K` is the number of rows, each of which has at least a part of `V`.
pub(super) struct Strips<'a, V, const K: usize> {
    pub(super) zip: &'a Zip,
    pub(super) at: &'a At,
    pub(super) vector: PhantomData<V>,
}

impl<V: Vector, const K: usize> Work for Strips<'_, V, K> {
    #[inline(always)]
    unsafe fn work(self) {
        let Strips { zip, at, .. } = self;
        let mut stage = Strip(MaybeUninit::uninit());
        let mut outer = zip.around;
        // SAFETY: the caller's promise.
        unsafe {
            let mut staging = Staging::<V, K> {
                table: V::splat_lane(zip.table.as_ptr()),
                zip,
                inner: outer.split_last(),
                stage: stage.0.as_mut_ptr().cast(),
            };
            outer.walk(at.source, at.destination, &mut staging);
        }
    }
}

/// # Safety (of `each`)
///
/// As `run`, for the runs along the rows and those of the innermost loop around.
struct Staging<'a, V, const K: usize> {
    table: V,
    zip: &'a Zip,
    inner: Loop,
    stage: *mut u8,
}

/// A piece of the rows that one strip goes to.
struct Rows {
    from: *const u8,
    to: *mut u8,
    /// Runs side by side in the rows.
    runs: usize,
    /// Bytes of each.
    bytes: usize,
    /// Where the first row's begun line is kept, and whether it is one.
    kept: usize,
    begun: bool,
    /// Whether a line that ends beyond the piece is to be kept.
    keep: bool,
    /// By which places to ask for what comes after this piece, and for how many bytes with each run.
    asking: *const u8,
    onward: Onward,
    ask: usize,
}

impl<V: Vector, const K: usize> Staging<'_, V, K> {
    /// Bytes of a row that are staged.
    const STRIP: usize = if K == 2 { 1024 } else { 896 };
    /// From one staged row to the next, and up to a line more: not a power of two, so that rows do not evict each other.
    const PITCH: usize = Self::STRIP + LINE;
}

impl<V: Vector, const K: usize> Each for Staging<'_, V, K> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let &mut Staging {
            zip: &Zip { bytes, along, .. },
            inner,
            ..
        } = self;
        let group = (Self::STRIP / bytes).max(1);
        let runs_of_strip = group * inner.extent;
        // What the runs of one strip ask for together, if they lie side by side in the source by and large.
        let span = group * along.source.unsigned_abs();
        let dense = along.source > 0 && span <= 2 * runs_of_strip * bytes * K;
        let ask = if dense { span / runs_of_strip } else { 0 };
        let keeps = inner.extent * K <= KEPT;
        let mut first = 0;
        while first < along.extent {
            let runs = group.min(along.extent - first);
            let last = first + runs == along.extent;
            let from = from.wrapping_offset(first as isize * along.source);
            let to = to.wrapping_add(first * bytes);
            let strips = (AHEAD / span.max(1)) as isize;
            let onward = Onward::new(LINE as isize, strips * span as isize);
            // Where of the next strip as much would lie as is read of this one.
            let mut asking = from.wrapping_add(span);
            for i in 0..inner.extent {
                let mut done = 0;
                while done < bytes {
                    let piece = piece(bytes - done, Self::STRIP, V::BYTES / K);
                    // SAFETY: these runs, or a piece of one, fit a row of the stage. What is kept is of the piece before
                    // in the same rows: whole groups and pieces that are not the last are longer than a line.
                    unsafe {
                        self.rows(&Rows {
                            from: from.offset(i as isize * inner.source).add(done * K),
                            to: to.offset(i as isize * inner.destination).add(done),
                            runs,
                            bytes: piece,
                            kept: i * K,
                            begun: keeps && first + done > 0,
                            keep: keeps && !(last && done + piece == bytes),
                            asking,
                            onward,
                            ask,
                        });
                    }
                    done += piece;
                }
                asking = asking.wrapping_add(runs * ask);
            }
            first += runs;
        }
    }
}

impl<V: Vector, const K: usize> Staging<'_, V, K> {
    /// # Safety
    ///
    /// As `run`, for the piece. It fits a row of the stage; if lines are kept, it is longer than one, and there is a place
    /// to keep them.
    #[inline(always)]
    unsafe fn rows(&self, rows: &Rows) {
        let &Staging {
            table,
            zip: &Zip { stride, along, .. },
            stage,
            ..
        } = self;
        let line = LINE as isize;
        // Staged bytes lie against the lines of the stage as they will against those of the destination.
        let pitch = Self::PITCH as isize + stride.rem_euclid(line);
        let shift = rows.to as usize % LINE;
        // The first row begins within the first line, and each other one `PITCH` and less than a line more behind the one before.
        const { assert!(K * (Self::PITCH + LINE) <= PAGE) };
        // SAFETY: so the last line of each row ends before the first of the next one begins, as a row has at most `STRIP` bytes, whole
        // lines, and that of the last row within the page. Kept lines lie behind it.
        unsafe {
            let kept = stage.add(PAGE + rows.kept * LINE);
            let row = |k: usize| {
                let to = rows.to.offset(k as isize * stride);
                let place = stage.add(shift).offset(k as isize * pitch);
                (to, place, to as usize % LINE, kept.add(k * LINE))
            };
            if rows.begun {
                for k in 0..K {
                    let (_, place, begun, kept) = row(k);
                    line_copy::<V>(kept, place.sub(begun));
                }
            }
            for i in 0..rows.runs {
                for line in (0..rows.ask).step_by(LINE) {
                    near(
                        rows.onward
                            .of(rows.asking.wrapping_add(i * rows.ask + line)),
                    );
                }
                let from = rows.from.offset(i as isize * along.source);
                let place = stage.add(shift + i * rows.bytes);
                split::<V, K>(table, from, place, pitch, rows.bytes);
            }
            let length = rows.runs * rows.bytes;
            for k in 0..K {
                let (to, place, begun, kept) = row(k);
                let (to, place, length) = if rows.begun {
                    (to.sub(begun), place.sub(begun), length + begun)
                } else {
                    (to, place, length)
                };
                let rest = (to as usize + length) % LINE;
                if rows.keep {
                    line_copy::<V>(place.add(length - rest), kept);
                    copy::stream_near::<V>(place, to, length - rest);
                } else {
                    copy::stream_near::<V>(place, to, length);
                }
            }
        }
    }
}

/// Copies a line, of which some bytes may never have been written.
///
/// # Safety
///
/// The CPU has `V`; a line is readable and another writable.
#[inline(always)]
unsafe fn line_copy<V: Vector>(from: *const u8, to: *mut u8) {
    for part in (0..LINE).step_by(V::BYTES) {
        // SAFETY: the caller's promise.
        unsafe { V::load(from.add(part)).store(to.add(part)) };
    }
}
