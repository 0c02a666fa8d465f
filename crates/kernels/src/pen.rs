//! Writing a destination from its start to its end past the caches, whole lines at a time.
//!
//! What is written lands in a stage of a few lines, small enough that filling it and streaming it overlap (a stage of
//! 16 KiB costs a third of the speed that one of 2 KiB has). Pieces that follow one another share their lines there, so
//! a line is cut only where the destination jumps.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::runs;
use crate::simd::{LINE, Vector};

/// The most bytes that can be asked for at once.
pub(crate) const ROOM: usize = 2 << 10;

/// The stage of a pen. It is only read where it was written.
#[repr(align(64))]
pub(crate) struct Stage(MaybeUninit<[u8; ROOM + LINE]>);

impl Stage {
    #[inline(always)]
    pub(crate) fn new() -> Stage {
        Stage(MaybeUninit::uninit())
    }
}

/// A place in a destination, and what is written there but not yet streamed.
pub(crate) struct Pen<V> {
    /// Bytes `begin..end` of it are written, and nothing else is valid.
    stage: *mut u8,
    begin: usize,
    end: usize,
    /// Where byte 0 of the stage belongs: on a line, of which the bytes before `begin` are not the pen's.
    to: *mut u8,
    vector: PhantomData<V>,
}

impl<V: Vector> Pen<V> {
    #[inline(always)]
    pub(crate) fn new(stage: &mut Stage) -> Self {
        Pen {
            stage: stage.0.as_mut_ptr().cast(),
            begin: 0,
            end: 0,
            to: std::ptr::null_mut(),
            vector: PhantomData,
        }
    }

    /// Room for the next `length` bytes of the destination, at most [`ROOM`]. All of them must be written before the next
    /// call.
    ///
    /// # Safety
    ///
    /// The CPU has `V`. The bytes at `to` are writable until the pen is lifted, and nothing else writes them until then.
    #[inline(always)]
    pub(crate) unsafe fn room(&mut self, to: *mut u8, length: usize) -> *mut u8 {
        // SAFETY: what is staged is writable by the promises of the calls that staged it. After a flush less than a line
        // is left, so the stage has room for `length` bytes more.
        unsafe {
            if to != self.to.wrapping_add(self.end) {
                self.lift();
                let phase = to as usize % LINE;
                self.to = to.wrapping_sub(phase);
                (self.begin, self.end) = (phase, phase);
            } else if self.end + length > ROOM + LINE {
                self.flush();
            }
            let room = self.stage.add(self.end);
            self.end += length;
            room
        }
    }

    /// Streams the whole lines.
    ///
    /// # Safety
    ///
    /// As `room`, for all that is staged.
    #[inline(always)]
    unsafe fn flush(&mut self) {
        let lines = self.end / LINE * LINE;
        if lines == 0 {
            return;
        }
        // SAFETY: bytes begin..end of the stage are written and belong at the same place from `to` on, where they are
        // writable; `to` and the stage are on lines.
        unsafe {
            let mut at = 0;
            if self.begin > 0 {
                runs::copy::<V>(
                    self.stage.add(self.begin),
                    self.to.add(self.begin),
                    LINE - self.begin,
                );
                at = LINE;
            }
            while at < lines {
                for part in (0..LINE).step_by(V::BYTES) {
                    V::load(self.stage.add(at + part)).stream(self.to.add(at + part));
                }
                at += LINE;
            }
            if self.end > lines {
                // Whole lines may be copied: the stage has one more than `ROOM`, and what is not written is not used.
                self.stage
                    .add(lines)
                    .copy_to_nonoverlapping(self.stage, self.end - lines);
            }
            self.to = self.to.wrapping_add(lines);
            (self.begin, self.end) = (0, self.end - lines);
        }
    }

    /// Writes what is left. To be called at the end.
    ///
    /// # Safety
    ///
    /// As `room`, for all that is staged.
    #[inline(always)]
    pub(crate) unsafe fn lift(&mut self) {
        // SAFETY: as `flush`.
        unsafe {
            self.flush();
            if self.end > self.begin {
                runs::copy::<V>(
                    self.stage.add(self.begin),
                    self.to.add(self.begin),
                    self.end - self.begin,
                );
            }
            self.begin = self.end;
        }
    }
}
