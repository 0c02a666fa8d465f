//! Columns that are staged, written to their places.

use std::marker::PhantomData;
use std::ops::Range;

use super::half::Half;
use super::keep::{lines, put};
use super::reading::{BITS, ask, some};
use super::rewrite::Place;
use crate::axis::Axis;
use crate::simd::{LINE, Work, own};

/// Columns ahead whose first and last lines, of which a part is written, are asked for: they are read before.
const OWN: usize = 8;

/// Writes what a strip has of some columns.
///
/// # Safety (of `work`)
///
/// The columns are writable, and as [`Column::write`] and, if not `stream`, [`put`] say of each; what is staged of them is, too, if
/// `keep`. The CPU has `S`.
pub(super) struct Columns<'a, S> {
    /// Destination offsets, in bits.
    pub(super) axis: &'a Axis,
    /// Along the axis.
    pub(super) range: Range<usize>,
    /// Of each column the line before the strip, and the strip, so many bytes apart.
    pub(super) staged: *mut u8,
    pub(super) pitch: usize,
    pub(super) to: Place<*mut u8>,
    /// Bits of a column before the strip, lines of the strip, and bits of a whole column.
    pub(super) strip: usize,
    pub(super) lines: usize,
    pub(super) end: usize,
    /// Whether whole lines are written past the caches.
    pub(super) stream: bool,
    /// Whether parts of lines are written at the columns' begins, and at their ends.
    pub(super) own: (bool, bool),
    /// Whether the strip's last line takes the place of the line before it.
    pub(super) keep: bool,
    pub(super) asked: Asked<'a>,
    pub(super) set: PhantomData<S>,
}

/// Bits of some rows that are asked for.
pub(super) struct Asked<'a> {
    pub(super) from: Place<*const u8>,
    pub(super) rows: &'a [isize],
    pub(super) bits: usize,
    /// Whether the line that they begin in is not there yet.
    pub(super) first: bool,
}

impl Asked<'_> {
    /// Nothing of rows from some place on.
    pub(super) fn nothing(from: Place<*const u8>) -> Self {
        Asked {
            from,
            rows: &[],
            bits: 0,
            first: false,
        }
    }
}

impl<S: Half> Work for Columns<'_, S> {
    #[inline(always)]
    unsafe fn work(self) {
        let Columns {
            range, asked, to, ..
        } = self;
        let strip_to = to.step(self.strip as isize);
        let bits = self.end.saturating_sub(self.strip).min(self.lines * BITS);
        // Whether columns, wherever they begin, have all lines whole that end in the strip.
        let whole = self.strip >= BITS && self.end >= self.strip + self.lines * BITS;
        // A share for each column.
        let share = asked.rows.len().div_ceil(range.len());
        let mut offsets = [0isize; BITS];
        let mut done = 0;
        while done < range.len() {
            let offsets = &mut offsets[..BITS.min(range.len() - done)];
            self.axis.read((range.start + done) as isize, offsets);
            for (i, &offset) in offsets.iter().enumerate() {
                ask(
                    asked.from,
                    some(asked.rows, (done + i) * share, share),
                    asked.bits,
                    asked.first,
                );
                let staged = self.staged.wrapping_add((done + i) * self.pitch);
                if !self.stream {
                    let staged = Place {
                        base: staged.cast_const(),
                        bit: BITS as isize,
                    };
                    // SAFETY: the strip's bits of a column, at least one as there is a row in every strip then. They are staged
                    // from a line on, with a line before them and the next column, or what the caller has, behind; the column is
                    // writable, and the stage is no part of it. The CPU has `S`, all by the caller's promise.
                    unsafe { put::<S::Words>(staged, strip_to.step(offset), bits) };
                    continue;
                }
                if let Some(&later) = offsets.get(i + OWN) {
                    let to = to.step(later);
                    if self.own.0 {
                        own(to.byte().0);
                    }
                    if self.own.1 {
                        own(to.step(self.end as isize - 1).byte().0);
                    }
                }
                let column = Column {
                    staged,
                    to: to.step(offset),
                    end: self.end,
                };
                // SAFETY: a column of the range, with what is staged of it, by the caller's promise; it has all lines whole if `whole`
                // says so of every column, wherever it begins. The stage has a line before those of the strip, so the last of
                // these is another line than the first; it is writable if `keep`, and read no more but from there.
                unsafe {
                    match whole {
                        true => column.write_whole::<S>(self.strip, self.lines),
                        false => column.write::<S>(self.strip, self.lines),
                    }
                    if self.keep {
                        let last = staged.add(self.lines * LINE);
                        std::ptr::copy_nonoverlapping(last, staged, LINE);
                    }
                }
            }
            done += offsets.len();
        }
    }
}

/// A column that is staged.
pub(super) struct Column {
    /// The line before the strip, and the strip.
    pub(super) staged: *const u8,
    pub(super) to: Place<*mut u8>,
    /// Bits of the whole column.
    pub(super) end: usize,
}

impl Column {
    /// Bits of the first line before the column.
    #[inline(always)]
    fn shift(&self) -> usize {
        (self.to.base as usize * 8).wrapping_add_signed(self.to.bit) % BITS
    }

    /// What is staged from where the line begins in which the strip does.
    #[inline(always)]
    fn from(&self) -> Place<*const u8> {
        Place {
            base: self.staged,
            bit: (BITS - self.shift()) as isize,
        }
    }

    /// Writes those lines of the destination that end in a strip of so many lines that begins at a bit of the column.
    ///
    /// # Safety
    ///
    /// As [`write`](Column::write); the column has all of these lines whole.
    #[inline(always)]
    unsafe fn write_whole<S: Half>(&self, strip: usize, count: usize) {
        // SAFETY: the lines begin `shift` bits before the strip, on a line by what `shift` is, and are the column's by the caller's
        // promise, as are the bits that are staged of them. The CPU has `S`.
        unsafe {
            let (to, _) = self.to.step(strip as isize - self.shift() as isize).byte();
            lines::<S::Words>(self.from(), to, count);
        }
    }

    /// Writes those lines of the destination that end in a strip of so many lines that begins at a bit of the column.
    ///
    /// # Safety
    ///
    /// The column is writable, and all of its bits in those lines are staged; the byte before these and the byte behind are readable.
    #[inline(always)]
    pub(super) unsafe fn write<S: Half>(&self, strip: usize, count: usize) {
        let (shift, staged) = (self.shift(), self.from());
        // Of the lines, those that the column has whole.
        let first = usize::from(strip < shift);
        let whole = (self.end + shift).saturating_sub(strip) / BITS;
        let whole = first..whole.min(count).max(first);
        // SAFETY: bits of the column.
        unsafe {
            if !whole.is_empty() {
                let (to, _) = self.to.step((strip + first * BITS - shift) as isize).byte();
                let staged = staged.step((first * BITS) as isize);
                lines::<S::Words>(staged, to, whole.len());
            }
            for l in (0..first.min(count)).chain(whole.end..count) {
                let at = strip + l * BITS;
                let begin = at.max(shift) - shift;
                let end = (at + BITS).min(self.end + shift).max(shift) - shift;
                if begin < end {
                    let staged = staged.step((l * BITS + begin + shift - at) as isize);
                    put::<S::Words>(staged, self.to.step(begin as isize), end - begin);
                }
            }
        }
    }
}
