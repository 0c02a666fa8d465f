//! Copies of one run: with ordinary stores, and past the caches.

use crate::onward::Onward;
use crate::runs::PIECE;
use crate::simd::{LINE, Vector, near, own};

/// Copies a run with ordinary stores.
///
/// # Safety
///
/// `length` bytes are readable and writable and do not overlap; it is not 0. The CPU has `V`.
#[inline(always)]
pub(crate) unsafe fn copy<V: Vector>(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: every access is of `size` bytes at an offset of at most length - size.
    unsafe {
        if length >= V::BYTES {
            if length > 4096 {
                std::ptr::copy_nonoverlapping(from, to, length);
                return;
            }
            let mut at = 0;
            while at + V::BYTES <= length {
                V::load(from.add(at)).store(to.add(at));
                at += V::BYTES;
            }
            if at < length {
                V::load(from.add(length - V::BYTES)).store(to.add(length - V::BYTES));
            }
        } else if length >= 16 {
            let mut at = 0;
            while at + 16 <= length {
                two::<[u8; 16]>(from, to, at, at);
                at += 16;
            }
            two::<[u8; 16]>(from, to, length - 16, length - 16);
        } else if length >= 8 {
            two::<[u8; 8]>(from, to, 0, length - 8);
        } else if length >= 4 {
            two::<[u8; 4]>(from, to, 0, length - 4);
        } else if length >= 2 {
            two::<[u8; 2]>(from, to, 0, length - 2);
        } else {
            two::<[u8; 1]>(from, to, 0, 0);
        }
    }
}

/// Copies a `T` at each of two offsets.
///
/// # Safety
///
/// Both are readable and writable and do not overlap the other side.
#[inline(always)]
unsafe fn two<T: Copy>(from: *const u8, to: *mut u8, a: usize, b: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let (x, y) = (
            from.add(a).cast::<T>().read_unaligned(),
            from.add(b).cast::<T>().read_unaligned(),
        );
        to.add(a).cast::<T>().write_unaligned(x);
        to.add(b).cast::<T>().write_unaligned(y);
    }
}

/// Asks for the lines of which [`stream_near`] will write a part.
#[inline(always)]
pub(crate) fn own_edges(to: *const u8, length: usize) {
    let end = to.wrapping_add(length);
    for edge in [to, end] {
        if !(edge as usize).is_multiple_of(LINE) {
            own(edge.map_addr(|edge| edge & !(LINE - 1)));
        }
    }
}

/// Copies a run that is in the first-level cache, its whole lines with streaming stores.
///
/// # Safety
///
/// As `copy`.
#[inline(always)]
pub(crate) unsafe fn stream_near<V: Vector>(from: *const u8, to: *mut u8, length: usize) {
    let head = to.align_offset(LINE).min(length);
    // SAFETY: all offsets are inside the run; from `head` on, the destination is aligned to lines.
    unsafe {
        if head > 0 {
            copy::<V>(from, to, head);
        }
        let mut at = head;
        while at + LINE <= length {
            for part in (0..LINE).step_by(V::BYTES) {
                V::load(from.add(at + part)).stream(to.add(at + part));
            }
            at += LINE;
        }
        if at < length {
            copy::<V>(from.add(at), to.add(at), length - at);
        }
    }
}

/// Copies a run, its whole lines with streaming stores.
///
/// # Safety
///
/// As `copy`.
#[inline(always)]
pub(crate) unsafe fn stream<V: Vector>(from: *const u8, to: *mut u8, length: usize) {
    const BLOCK: usize = 4 * LINE;
    const FAR: isize = 2048;
    let mut at = 0;
    // SAFETY: all offsets are inside the run; after the head, the destination is aligned to lines.
    unsafe {
        if length > PIECE {
            let onward = Onward::along(length, FAR);
            at = to.align_offset(LINE);
            if at > 0 {
                copy::<V>(from, to, at);
            }
            while at + BLOCK <= length {
                for part in (0..BLOCK).step_by(LINE) {
                    near(onward.of(from.wrapping_add(at + part)));
                }
                for part in (0..BLOCK).step_by(V::BYTES) {
                    V::load(from.add(at + part)).stream(to.add(at + part));
                }
                at += BLOCK;
            }
        }
        if at < length {
            stream_near::<V>(from.add(at), to.add(at), length - at);
        }
    }
}
