//! Bits that stay what they are, from any place of a byte to any other.

use std::ops::Range;

use super::half::Half;
use super::rewrite::{Place, merge};
use super::words::Words;
use crate::simd::LINE;

/// Copies a run of bits. What else the first and the last byte have stays.
///
/// # Safety
///
/// The bits are readable, and the whole bytes that have them in the destination readable and writable; the two do not
/// overlap. The CPU has `S`.
#[inline(always)]
pub(super) unsafe fn keep<S: Half>(
    from: Place<*const u8>,
    to: Place<*mut u8>,
    bits: usize,
    stream: bool,
) {
    let (mut from, mut left) = (from, bits);
    let (mut to, bit) = to.byte();
    // SAFETY: bits of the run; a merged byte has one of them.
    unsafe {
        if bit != 0 {
            let head = left.min(8 - bit);
            merge(to, bit, head, few(from, head));
            from = from.step(head as isize);
            left -= head;
            to = to.wrapping_add(1);
        }
        let whole = left / 8;
        if from.bit & 7 == 0 {
            bytes::<S::Words, false>(from, to, whole, stream);
        } else {
            bytes::<S::Words, true>(from, to, whole, stream);
        }
        let rest = left % 8;
        if rest > 0 {
            let from = from.step(8 * whole as isize);
            merge(to.add(whole), 0, rest, few(from, rest));
        }
    }
}

/// Writes whole lines past the caches, from any bit on.
///
/// # Safety
///
/// The bits are readable, and the lines are writable and aligned; the CPU has `W`.
#[inline(always)]
pub(super) unsafe fn lines<W: Words>(from: Place<*const u8>, to: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match from.bit & 7 {
            0 => streamed::<W, false>(from, to, 0..count * LINE),
            _ => streamed::<W, true>(from, to, 0..count * LINE),
        }
    }
}

/// Writes some bytes of a run past the caches, whole lines.
///
/// # Safety
///
/// As [`lines`]; if not `SHIFT`, the source begins with a byte, and if `SHIFT`, not.
#[inline(always)]
unsafe fn streamed<W: Words, const SHIFT: bool>(
    from: Place<*const u8>,
    to: *mut u8,
    bytes: Range<usize>,
) {
    for at in bytes.step_by(W::BYTES) {
        // SAFETY: the caller's promise.
        unsafe { get::<W, SHIFT>(from, at).stream(to.add(at)) };
    }
}

/// Copies a run of bits by ordinary stores, from a stage. What else the first and the last byte have stays.
///
/// # Safety
///
/// There is a bit. The bits are readable, as are the byte before and the byte behind those that have them, and the whole bytes
/// that have them in the destination readable and writable; the two do not overlap. The CPU has `W`.
#[inline(always)]
pub(super) unsafe fn put<W: Words>(from: Place<*const u8>, to: Place<*mut u8>, bits: usize) {
    let (to, bit) = to.byte();
    let bytes = (bit + bits).div_ceil(8);
    let behind = 8 * bytes - bit - bits;
    let from = from.step(-(bit as isize));
    // SAFETY: of the destination the whole bytes that have bits of the run, at least one, so the first and the last are among them.
    // What they are made from begins at most seven bits before the run, and ends in the byte behind it at the latest; no more of
    // it is read, as the last words are moved back. The CPU has `W` by the caller's promise.
    unsafe {
        // Both are made before the others are written: to read what was just written would be to wait for it.
        let (low, high) = (!(0xff_u8 << bit), !(0xff_u32 >> behind) as u8);
        let at_end = from.step(8 * (bytes as isize - 1));
        let first = few(from, 8) as u8 & !low | *to & low;
        let last = match bytes {
            1 => first,
            _ => few(at_end, 8) as u8,
        };
        let last = last & !high | *to.add(bytes - 1) & high;
        match from.bit & 7 {
            0 => pieces::<W, false>(from, to, bytes),
            _ => pieces::<W, true>(from, to, bytes),
        }
        *to = first;
        *to.add(bytes - 1) = last;
    }
}

/// At most eight bits, in the lowest ones; above them may be others.
///
/// # Safety
///
/// The bits are readable, and there is one.
#[inline(always)]
unsafe fn few(from: Place<*const u8>, bits: usize) -> u64 {
    let (byte, bit) = from.byte();
    // SAFETY: a byte that has one of the bits, and the next one if that has others.
    unsafe {
        let low = u64::from(*byte) >> bit;
        if bit + bits > 8 {
            low | u64::from(*byte.add(1)) << (8 - bit)
        } else {
            low
        }
    }
}

/// Writes whole bytes, whole lines past the caches if `stream`.
///
/// # Safety
///
/// As [`keep`]; if not `SHIFT`, the source begins with a byte.
#[inline(always)]
unsafe fn bytes<W: Words, const SHIFT: bool>(
    from: Place<*const u8>,
    to: *mut u8,
    bytes: usize,
    stream: bool,
) {
    let head = to.align_offset(LINE);
    // SAFETY: bytes of the run; lines are aligned, and no bytes outside them are written with those before and behind.
    unsafe {
        if !stream || bytes < head + LINE {
            return pieces::<W, SHIFT>(from, to, bytes);
        }
        pieces::<u64, SHIFT>(from, to, head);
        let behind = head + (bytes - head) / LINE * LINE;
        streamed::<W, SHIFT>(from, to, head..behind);
        let from = from.step(8 * behind as isize);
        pieces::<u64, SHIFT>(from, to.add(behind), bytes - behind);
    }
}

/// Writes whole bytes by as many at once as there are, up to a `W`, the last ones a second time if that keeps them whole.
///
/// # Safety
///
/// As [`bytes`].
#[inline(always)]
unsafe fn pieces<W: Words, const SHIFT: bool>(from: Place<*const u8>, to: *mut u8, bytes: usize) {
    // SAFETY: bytes of the run.
    unsafe {
        if bytes >= W::BYTES {
            return all::<W, SHIFT>(from, to, bytes);
        }
        if bytes >= 8 {
            return all::<u64, SHIFT>(from, to, bytes);
        }
        for at in 0..bytes {
            *to.add(at) = few(from.step(8 * at as isize), 8) as u8;
        }
    }
}

/// # Safety
///
/// As [`bytes`], with at least `W::BYTES` of them.
#[inline(always)]
unsafe fn all<W: Words, const SHIFT: bool>(from: Place<*const u8>, to: *mut u8, bytes: usize) {
    let mut at = 0;
    while at < bytes {
        at = at.min(bytes - W::BYTES);
        // SAFETY: bytes of the run.
        unsafe { get::<W, SHIFT>(from, at).store(to.add(at)) };
        at += W::BYTES;
    }
}

/// Words from byte `at` of a run on.
///
/// # Safety
///
/// The words' bits are readable; if not `SHIFT`, they begin with a byte, and if `SHIFT`, not. The CPU has `W`.
#[inline(always)]
unsafe fn get<W: Words, const SHIFT: bool>(from: Place<*const u8>, at: usize) -> W {
    let (byte, bit) = from.byte();
    // SAFETY: the words' bytes, and one more that has the last of their bits.
    unsafe {
        if SHIFT {
            W::load_from(byte.add(at), bit)
        } else {
            W::load(byte.add(at))
        }
    }
}
