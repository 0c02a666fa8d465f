//! Runs of elements that are written anew.
//!
//! A [`Rewrite`] says how one machine word of the source becomes one of the destination; what is here applies it to
//! runs of any length from any bit to any bit. Whole lines are written where there are any, then eight bytes at once, the
//! last ones a second time if that keeps them whole, so that nothing outside the run is read or written. Bytes that the
//! run shares with its neighbours are merged.
//!
//! Everything is plain Rust over words, compiled for each instruction set: the compiler makes vectors of it.

use std::marker::PhantomData;

use crate::nest::Loop;
use crate::onward::Onward;
use crate::recode::half::Half;
use crate::simd::{LINE, Vector, Work, own, prefetch};

/// Bytes of runs that are asked for before they are read.
const AHEAD: usize = 4096;
/// Runs of more bytes are not.
const LONG: usize = 1024;
/// Runs ahead whose ends are asked for.
const OWN: isize = 4;

/// How elements are written anew.
pub(crate) trait Rewrite {
    /// A word of the source, made of whole elements,
    type From: Copy;
    /// and what the destination has for it.
    type To: Copy;
    /// Bits of an element of the source.
    const FROM: usize;
    /// Bits of an element of the destination.
    const TO: usize;

    /// The new word.
    fn word(from: Self::From) -> Self::To;

    /// Writes one run anew.
    ///
    /// # Safety
    ///
    /// As [`All`].
    #[inline(always)]
    unsafe fn run<S: Half>(from: Place<*const u8>, to: Place<*mut u8>, run: usize, stream: bool)
    where
        Self: Sized,
    {
        // SAFETY: the caller's promise.
        unsafe { one::<Self, S>(from, to, run, stream) }
    }

    /// `bytes` bytes of new words, a number that is known where this is compiled: 8, 16 or [`LINE`].
    ///
    /// # Safety
    ///
    /// The words' bytes are readable at `from`, without alignment; the CPU has `S`.
    #[inline(always)]
    unsafe fn words<S: Half>(from: *const u8, to: &mut Line, bytes: usize) {
        let width = size_of::<Self::To>();
        for i in 0..bytes / width {
            // SAFETY: word i is readable by the caller's promise, and writable since a line has `bytes` bytes.
            unsafe {
                let word = from.cast::<Self::From>().add(i).read_unaligned();
                let to = to.0.as_mut_ptr().cast::<Self::To>().add(i);
                to.write_unaligned(Self::word(word));
            }
        }
    }
}

/// Room for what is written at once.
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [u8; LINE]);

/// Runs of elements, one for each iteration of a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs {
    /// The loop; strides are in bits.
    pub(crate) each: Loop,
    /// Elements of a run.
    pub(crate) run: usize,
    pub(crate) stream: bool,
    /// Bits from the first run to what is read behind these; 0 where that is not known.
    pub(crate) next: isize,
}

/// A place: a bit counted from a byte, the lowest of a byte first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<P> {
    pub(crate) base: P,
    pub(crate) bit: isize,
}

impl Place<*const u8> {
    #[inline(always)]
    pub(crate) fn byte(self) -> (*const u8, usize) {
        (
            self.base.wrapping_offset(self.bit >> 3),
            (self.bit & 7) as usize,
        )
    }
}

impl Place<*mut u8> {
    #[inline(always)]
    pub(crate) fn byte(self) -> (*mut u8, usize) {
        (
            self.base.wrapping_offset(self.bit >> 3),
            (self.bit & 7) as usize,
        )
    }
}

impl<P: Copy> Place<P> {
    #[inline(always)]
    pub(crate) fn step(self, bits: isize) -> Place<P> {
        Place {
            bit: self.bit + bits,
            ..self
        }
    }
}

/// Writes runs anew.
///
/// # Safety (of `work`)
///
/// Every run is readable and writable, in whole elements: of the destination also the whole bytes that have bits of the
/// run. The two do not overlap.
pub(crate) struct All<R, S> {
    pub(crate) runs: Runs,
    pub(crate) from: Place<*const u8>,
    pub(crate) to: Place<*mut u8>,
    pub(crate) how: PhantomData<(R, S)>,
}

impl<R: Rewrite, S: Half> Work for All<R, S> {
    #[inline(always)]
    unsafe fn work(self) {
        let All { runs, from, to, .. } = self;
        let bytes = (runs.run * R::FROM).div_ceil(8);
        let count = runs.each.extent as isize;
        // Longer runs are fetched by the hardware.
        let far = if bytes <= LONG {
            AHEAD / bytes.max(LINE)
        } else {
            0
        } as isize;
        for i in 0..count {
            if far > 0 {
                let ahead = match i + far {
                    i if i < count => from.step(i * runs.each.source),
                    i => from.step((i - count) * runs.each.source + runs.next),
                };
                let (byte, _) = ahead.byte();
                for line in (0..bytes + LINE).step_by(LINE) {
                    prefetch(byte.wrapping_add(line));
                }
            }
            if R::TO < 8 && i + OWN < count {
                // Bytes that a run shares are read before they are written.
                let to = to.step((i + OWN) * runs.each.destination);
                own(to.byte().0);
                own(to.step((runs.run * R::TO) as isize - 1).byte().0);
            }
            // SAFETY: run i.
            unsafe {
                R::run::<S>(
                    from.step(i * runs.each.source),
                    to.step(i * runs.each.destination),
                    runs.run,
                    runs.stream,
                );
            }
        }
    }
}

/// Writes one run anew.
///
/// # Safety
///
/// As [`All`].
#[inline(always)]
unsafe fn one<R: Rewrite, S: Half>(
    from: Place<*const u8>,
    to: Place<*mut u8>,
    run: usize,
    stream: bool,
) {
    let (mut from, mut to, mut left) = (from, to, run);
    // SAFETY: elements of the run, each once or twice; merged bytes are the run's by the caller's promise.
    unsafe {
        if R::TO < 8 {
            let (byte, bit) = to.byte();
            if bit != 0 {
                let head = ((8 - bit) / R::TO).min(left);
                merge(byte, bit, head * R::TO, few::<R, S>(from, head));
                from = from.step((head * R::FROM) as isize);
                to = to.step((head * R::TO) as isize);
                left -= head;
            }
        }
        let (byte, _) = to.byte();
        let tail = left % per::<R>(1);
        let whole = left - tail;
        let bytes = whole * R::TO / 8;
        let head = byte.align_offset(LINE);
        if stream && head.is_multiple_of(per_bytes::<R>()) && bytes >= head + LINE {
            let lines = (bytes - head) / LINE * LINE;
            bytes_of::<R, S, false>(from, byte, head);
            bytes_of::<R, S, true>(at::<R>(from, head), byte.add(head), lines);
            let done = head + lines;
            bytes_of::<R, S, false>(at::<R>(from, done), byte.add(done), bytes - done);
        } else {
            bytes_of::<R, S, false>(from, byte, bytes);
        }
        if tail > 0 {
            let last = few::<R, S>(at::<R>(from, bytes), tail);
            merge(byte.add(bytes), 0, tail * R::TO, last);
        }
    }
}

/// Elements in so many bytes of the destination, at least one.
#[inline(always)]
const fn per<R: Rewrite>(bytes: usize) -> usize {
    if R::TO < 8 * bytes {
        8 * bytes / R::TO
    } else {
        1
    }
}

/// Bytes of the destination that hold whole elements: 1 where those are packed.
#[inline(always)]
const fn per_bytes<R: Rewrite>() -> usize {
    R::TO.div_ceil(8)
}

/// Where the elements begin that are `bytes` bytes further in the destination.
#[inline(always)]
fn at<R: Rewrite>(from: Place<*const u8>, bytes: usize) -> Place<*const u8> {
    from.step((bytes * 8 / R::TO * R::FROM) as isize)
}

/// Bytes that are written at once where there is no whole line.
#[inline(always)]
const fn grain<R: Rewrite>() -> usize {
    if size_of::<R::To>() > 8 { 16 } else { 8 }
}

/// Writes `bytes` whole bytes, which hold whole elements.
///
/// # Safety
///
/// As [`All`]; if `STREAM`, `to` is on a line and `bytes` are whole lines.
#[inline(always)]
unsafe fn bytes_of<R: Rewrite, S: Half, const STREAM: bool>(
    from: Place<*const u8>,
    to: *mut u8,
    bytes: usize,
) {
    let grain = grain::<R>();
    let mut done = 0;
    // SAFETY: everything that is read or written is of the first `bytes` bytes' elements.
    unsafe {
        let aligned = R::FROM >= 8 || from.bit & 7 == 0;
        let onward = Onward::along(bytes * R::FROM / R::TO, AHEAD as isize);
        if aligned {
            while done + LINE <= bytes {
                let from = at::<R>(from, done);
                if STREAM {
                    let byte = from.byte().0;
                    for line in (0..LINE * R::FROM / R::TO).step_by(LINE) {
                        prefetch(onward.of(byte.wrapping_add(line)));
                    }
                }
                line::<R, S, false, STREAM>(from, to.add(done));
                done += LINE;
            }
        } else {
            while done + LINE <= bytes {
                line::<R, S, true, STREAM>(at::<R>(from, done), to.add(done));
                done += LINE;
            }
        }
        if STREAM || done == bytes {
            return;
        }
        if bytes >= grain {
            while done < bytes {
                done = done.min(bytes - grain);
                let mut line = Line([0; LINE]);
                let from = at::<R>(from, done);
                if R::FROM >= 8 || from.bit & 7 == 0 {
                    words::<R, S, false>(from, &mut line, grain);
                } else {
                    words::<R, S, true>(from, &mut line, grain);
                }
                std::ptr::copy_nonoverlapping(line.0.as_ptr(), to.add(done), grain);
                done += grain;
            }
            return;
        }
        let word = few::<R, S>(from, bytes * 8 / R::TO).to_le_bytes();
        for (i, byte) in word[..bytes].iter().enumerate() {
            *to.add(i) = *byte;
        }
    }
}

/// # Safety
///
/// A line of the destination and what it is made from; if `STREAM`, `to` is aligned.
#[inline(always)]
unsafe fn line<R: Rewrite, S: Half, const SHIFT: bool, const STREAM: bool>(
    from: Place<*const u8>,
    to: *mut u8,
) {
    let mut line = Line([0; LINE]);
    // SAFETY: the caller's promise.
    unsafe {
        words::<R, S, SHIFT>(from, &mut line, LINE);
        for part in (0..LINE).step_by(S::Wide::BYTES) {
            let v = S::Wide::load(line.0.as_ptr().add(part));
            if STREAM {
                v.stream(to.add(part));
            } else {
                v.store(to.add(part));
            }
        }
    }
}

/// The words of `bytes` bytes of the destination, from any bit of the source on if `SHIFT`.
///
/// # Safety
///
/// The elements are readable.
#[inline(always)]
unsafe fn words<R: Rewrite, S: Half, const SHIFT: bool>(
    from: Place<*const u8>,
    to: &mut Line,
    bytes: usize,
) {
    let (byte, bit) = from.byte();
    // SAFETY: the elements take `length` bytes, and one more where they begin inside one. Eight bytes of them and eight
    // from the next one on have all bits of the eight that begin at `bit`.
    unsafe {
        if !SHIFT {
            return R::words::<S>(byte, to, bytes);
        }
        let length = bytes * R::FROM / R::TO;
        let mut aligned = Line([0; LINE]);
        if length >= 8 {
            for i in 0..length / 8 {
                let low = u64::from_le(byte.cast::<u64>().add(i).read_unaligned());
                let high = u64::from_le(byte.add(1).cast::<u64>().add(i).read_unaligned());
                let word = low >> bit | high << (8 - bit);
                aligned
                    .0
                    .as_mut_ptr()
                    .cast::<u64>()
                    .add(i)
                    .write(word.to_le());
            }
        } else {
            for i in 0..length {
                let both = u16::from_le_bytes([*byte.add(i), *byte.add(i + 1)]);
                aligned.0[i] = (both >> bit) as u8;
            }
        }
        R::words::<S>(aligned.0.as_ptr(), to, bytes);
    }
}

/// A few elements, less than eight bytes in the destination.
///
/// # Safety
///
/// The elements are readable.
#[inline(always)]
unsafe fn few<R: Rewrite, S: Half>(from: Place<*const u8>, count: usize) -> u64 {
    let (byte, bit) = from.byte();
    let mut padded = [0u8; LINE + 8];
    let mut line = Line([0; LINE]);
    let length = (bit + count * R::FROM).div_ceil(8);
    // SAFETY: `length` bytes hold the elements; the copy has room for what eight bytes are made from.
    unsafe {
        if length <= 16 {
            // One store, which the loads that follow need not wait for.
            let bytes = (0..length).rev().map(|i| *byte.add(i));
            let all = bytes.fold(0u128, |all, byte| all << 8 | u128::from(byte));
            padded[..16].copy_from_slice(&all.to_le_bytes());
        } else {
            std::ptr::copy_nonoverlapping(byte, padded.as_mut_ptr(), length);
        }
        let from = Place {
            base: padded.as_ptr(),
            bit: bit as isize,
        };
        words::<R, S, true>(from, &mut line, grain::<R>());
        u64::from_le(line.0.as_ptr().cast::<u64>().read())
    }
}

/// Sets some bits of a byte.
///
/// # Safety
///
/// The byte is readable and writable.
#[inline(always)]
pub(super) unsafe fn merge(to: *mut u8, bit: usize, bits: usize, value: u64) {
    let mask = (((1u32 << bits) - 1) << bit) as u8;
    // SAFETY: the caller's promise.
    unsafe { *to = *to & !mask | (value << bit) as u8 & mask }
}
