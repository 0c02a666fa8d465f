//! Writing a destination from its start to its end past the caches, whole lines at a time.
//!
//! Pieces that follow one another share a line where they meet. Such a line is put together in registers: a stage in
//! memory would have to be read right after it was written in other steps, which waits until all streaming stores before
//! it are done.

use crate::simd::{LANE, LINE, Vector};

/// The most registers that a line takes.
const PARTS: usize = LINE / LANE;

/// A line of zeros and one of ones: so many bytes before its middle begins a mask of those behind so many of a line.
static BEHIND: [u8; 2 * LINE] = {
    let mut masks = [0; 2 * LINE];
    let mut byte = LINE;
    while byte < 2 * LINE {
        masks[byte] = u8::MAX;
        byte += 1;
    }
    masks
};

/// Ones in those bytes of a line that are behind so many, of a register that starts with byte `start`.
///
/// # Safety
///
/// The CPU has `V`. `bytes` are less than a line, and the register is one of it.
#[inline(always)]
unsafe fn behind<V: Vector>(bytes: usize, start: usize) -> V {
    // SAFETY: the mask begins with or behind the first byte, and ends with or before the last one of two lines.
    unsafe { V::load(BEHIND.as_ptr().add(LINE + start - bytes)) }
}

/// A register whose lanes begin so many bytes behind the start of these, and go on with what is there again.
///
/// # Safety
///
/// The CPU has `V`.
#[inline(always)]
pub(crate) unsafe fn turned<V: Vector>(lanes: V, bytes: usize) -> V {
    static PLACES: [u8; 2 * LANE] = {
        let mut places = [0; 2 * LANE];
        let mut byte = 0;
        while byte < 2 * LANE {
            places[byte] = (byte % LANE) as u8;
            byte += 1;
        }
        places
    };
    // SAFETY: less than a lane behind the start of two, one is readable. The CPU has `V` by the caller's promise.
    unsafe { lanes.shuffle(V::splat_lane(PLACES.as_ptr().add(bytes % LANE))) }
}

/// A place in a destination, and the begun line there.
pub(crate) struct Pen<V> {
    /// The line at `to`, of which bytes `begin..end` are to be written.
    line: [V; PARTS],
    begin: usize,
    end: usize,
    to: *mut u8,
}

impl<V: Vector> Pen<V> {
    /// # Safety
    ///
    /// The CPU has `V`.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        let nothing = [0u8; LINE];
        Pen {
            // SAFETY: a line is at least a register.
            line: [unsafe { V::load(nothing.as_ptr()) }; PARTS],
            begin: 0,
            end: 0,
            to: std::ptr::null_mut(),
        }
    }

    /// Copies a piece.
    ///
    /// # Safety
    ///
    /// The CPU has `V`. `length` bytes are readable, and those at `to` writable until the pen is lifted; nothing else
    /// writes them until then. The two do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn copy(&mut self, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.piece::<false>(from, to, length) }
    }

    /// As `copy`, from a stage with room around the piece, so that a line that it cuts is put together from whole registers: where
    /// these can't be loaded in part, memory would have to be read right after it was written. On a Zen 3 f32[353,34109] from
    /// T(16,256) to columns takes 12 to 13.5 ms so, and 18.5 by `copy`. Stages whose pieces follow one another gain nothing.
    ///
    /// # Safety
    ///
    /// As `copy`; besides, a line before the piece and one behind it are readable.
    #[inline(always)]
    pub(crate) unsafe fn copy_amid(&mut self, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.piece::<true>(from, to, length) }
    }

    /// # Safety
    ///
    /// As `copy`, or if there is `ROOM`, `copy_amid`.
    #[inline(always)]
    unsafe fn piece<const ROOM: bool>(&mut self, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: offsets stay inside the piece; whole lines are aligned.
        unsafe {
            self.go(to);
            let first = length.min(LINE - self.end);
            self.add::<ROOM>(from, first);
            if self.end < LINE {
                return;
            }
            self.write();
            let mut at = first;
            while at + LINE <= length {
                for part in (0..LINE).step_by(V::BYTES) {
                    V::load(from.add(at + part)).stream(to.add(at + part));
                }
                at += LINE;
            }
            self.to = to.wrapping_add(at);
            (self.begin, self.end) = (0, 0);
            self.add::<ROOM>(from.add(at), length - at);
        }
    }

    /// Writes a piece that repeats what all lanes of a register have, from its start on.
    ///
    /// # Safety
    ///
    /// The CPU has `V`. `length` bytes are writable at `to` until the pen is lifted; nothing else writes them until then.
    #[inline(always)]
    pub(crate) unsafe fn fill(&mut self, lanes: V, to: *mut u8, length: usize) {
        // SAFETY: offsets stay inside the piece; whole lines are aligned. A mask begins up to a line before the middle, and is
        // read up to a line behind it.
        unsafe {
            self.go(to);
            // The same in all lanes of all lines, as these are aligned.
            let v = turned(lanes, LINE - self.end);
            for part in 0..LINE / V::BYTES {
                let mask = behind(self.end, part * V::BYTES);
                self.line[part] = self.line[part].select(v, mask);
            }
            if self.end + length < LINE {
                self.end += length;
                return;
            }
            let mut at = LINE - self.end;
            self.end = LINE;
            self.write();
            while at + LINE <= length {
                for part in (0..LINE).step_by(V::BYTES) {
                    v.stream(to.add(at + part));
                }
                at += LINE;
            }
            self.to = to.wrapping_add(at);
            (self.begin, self.end) = (0, length - at);
            self.line = [v; PARTS];
        }
    }

    /// Goes to a place, if it is not there.
    ///
    /// # Safety
    ///
    /// As `copy`, for what was copied there.
    #[inline(always)]
    unsafe fn go(&mut self, to: *mut u8) {
        if to != self.to.wrapping_add(self.end) {
            // SAFETY: the caller's promise.
            unsafe { self.lift() };
            self.begin = to as usize % LINE;
            self.end = self.begin;
            self.to = to.wrapping_sub(self.begin);
        }
    }

    /// Writes a line that ends.
    ///
    /// # Safety
    ///
    /// The CPU has `V`. The line is full, and its bytes from the first one on that it was given are writable.
    #[inline(always)]
    unsafe fn write(&mut self) {
        // SAFETY: the caller's promise; a line that begins with its first byte is all writable, and lies on a line.
        unsafe {
            if self.begin == 0 {
                for part in 0..LINE / V::BYTES {
                    self.line[part].stream(self.to.add(part * V::BYTES));
                }
            } else {
                self.put();
            }
        }
    }

    /// Takes more bytes into the line.
    ///
    /// # Safety
    ///
    /// The line has room for `length` bytes more, and they are readable, and if there is `ROOM`, a line before them and one behind.
    #[inline(always)]
    unsafe fn add<const ROOM: bool>(&mut self, from: *const u8, length: usize) {
        let (begin, end) = (self.end, self.end + length);
        for part in 0..LINE / V::BYTES {
            let start = part * V::BYTES;
            // SAFETY: the caller's promise. With room, what is loaded begins up to a line before `from` and ends up to one behind the
            // last byte, or less than one behind `from` where there is none; what is behind `end` then comes later.
            unsafe {
                if ROOM {
                    let bytes = V::load(from.wrapping_add(start).wrapping_sub(begin));
                    self.line[part] = self.line[part].select(bytes, behind(begin, start));
                    continue;
                }
                let (low, high) = (begin.max(start), end.min(start + V::BYTES));
                if low < high {
                    let from = from.add(low - begin);
                    self.line[part] = self.line[part].load_into(from, low - start, high - start);
                }
            }
        }
        self.end = end;
    }

    /// Writes what is in a line that is not whole.
    ///
    /// # Safety
    ///
    /// As `copy`, for what was copied there.
    #[inline(never)]
    unsafe fn put(&mut self) {
        // As bytes: this is not compiled for the instruction set.
        let bytes = self.line.as_ptr().cast::<u8>();
        // SAFETY: vectors are so many bytes side by side, and together a line; its bytes begin..end are writable.
        unsafe {
            let from = bytes.add(self.begin);
            from.copy_to_nonoverlapping(self.to.add(self.begin), self.end - self.begin);
        }
    }

    /// Writes what is left. To be called at the end.
    ///
    /// # Safety
    ///
    /// As `copy`, for what was copied last.
    #[inline(always)]
    pub(crate) unsafe fn lift(&mut self) {
        if self.end > self.begin {
            // SAFETY: the caller's promise.
            unsafe { self.put() };
            self.begin = self.end;
        }
    }
}
