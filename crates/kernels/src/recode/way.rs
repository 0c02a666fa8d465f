//! Every way in which elements are written anew.

use std::marker::PhantomData;

use super::half::{Half, narrow_bfloat, narrow_half, pack_bits, widen_bfloat, widen_half};
use super::keep::keep;
use super::rewrite::{All, Line, Place, Rewrite, Runs};
use crate::isa::Isa;

/// A way in which elements are written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The bits are the same: an element is a bit.
    Keep,
    /// Elements of so many bits get a byte each, zero above them.
    Unpack(usize),
    /// The low bits of bytes become elements of so many bits.
    Pack(usize),
    /// The bytes of so many are reversed.
    Swap(usize),
    NarrowHalf,
    WidenHalf,
    NarrowBfloat,
    WidenBfloat,
}

impl Way {
    /// Bits of an element before and after.
    pub(crate) fn bits(self) -> (usize, usize) {
        match self {
            Way::Keep => (1, 1),
            Way::Unpack(bits) => (bits, 8),
            Way::Pack(bits) => (8, bits),
            Way::Swap(bytes) => (8 * bytes, 8 * bytes),
            Way::NarrowHalf | Way::NarrowBfloat => (32, 16),
            Way::WidenHalf | Way::WidenBfloat => (16, 32),
        }
    }

    /// Writes runs anew.
    ///
    /// # Safety
    ///
    /// As [`All`].
    pub(crate) unsafe fn run(
        self,
        isa: Isa,
        runs: Runs,
        from: Place<*const u8>,
        to: Place<*mut u8>,
    ) {
        // SAFETY: the caller's promise; an `Isa` exists only where the CPU has it.
        unsafe { crate::dispatch::rewrite(isa, self, runs, from, to) }
    }
}

/// Writes runs anew with the vectors of an instruction set.
///
/// # Safety
///
/// As [`All`]; the CPU has the set.
pub(crate) unsafe fn run<S: Half>(
    way: Way,
    runs: Runs,
    from: Place<*const u8>,
    to: Place<*mut u8>,
) {
    macro_rules! enter {
        ($rewrite:ty) => {
            S::enter(All::<$rewrite, S> {
                runs,
                from,
                to,
                how: PhantomData,
            })
        };
    }
    // SAFETY: the caller's promise.
    unsafe {
        match way {
            Way::Keep => enter!(Keep),
            Way::Unpack(1) => enter!(Unpack1),
            Way::Unpack(2) => enter!(Unpack2),
            Way::Unpack(_) => enter!(Unpack4),
            Way::Pack(1) => enter!(Pack1),
            Way::Pack(2) => enter!(Pack2),
            Way::Pack(_) => enter!(Pack4),
            Way::Swap(2) => enter!(Swap2),
            Way::Swap(4) => enter!(Swap4),
            Way::Swap(8) => enter!(Swap8),
            Way::Swap(_) => enter!(Swap16),
            Way::NarrowHalf => enter!(NarrowHalf),
            Way::WidenHalf => enter!(WidenHalf),
            Way::NarrowBfloat => enter!(NarrowBfloat),
            Way::WidenBfloat => enter!(WidenBfloat),
        }
    }
}

macro_rules! rewrite {
    ($name:ident, $from:ty: $from_bits:literal, $to:ty: $to_bits:literal, |$x:ident| $word:expr) => {
        pub(super) struct $name;

        impl Rewrite for $name {
            type From = $from;
            type To = $to;
            const FROM: usize = $from_bits;
            const TO: usize = $to_bits;

            #[inline(always)]
            fn word($x: $from) -> $to {
                $word
            }
        }
    };
}

/// The bits are the same, and only their place in a byte may change.
pub(super) struct Keep;

impl Rewrite for Keep {
    type From = u8;
    type To = u8;
    const FROM: usize = 1;
    const TO: usize = 1;

    #[inline(always)]
    fn word(byte: u8) -> u8 {
        byte
    }

    #[inline(always)]
    unsafe fn run<S: Half>(from: Place<*const u8>, to: Place<*mut u8>, bits: usize, stream: bool) {
        // SAFETY: the caller's promise.
        unsafe { keep::<S>(from, to, bits, stream) }
    }
}

// The elements of a byte move apart until each has a byte of a wider word.
rewrite!(Unpack4, u8: 4, u16: 8, |x| {
    let x = x as u16;
    ((x | x << 4) & 0x0f0f).to_le()
});
rewrite!(Unpack2, u8: 2, u32: 8, |x| {
    let x = x as u32;
    let x = (x | x << 12) & 0x000f_000f;
    ((x | x << 6) & 0x0303_0303).to_le()
});
rewrite!(Unpack1, u8: 1, u64: 8, |x| {
    let x = x as u64;
    let x = (x | x << 28) & 0x0000_000f_0000_000f;
    let x = (x | x << 14) & 0x0003_0003_0003_0003;
    ((x | x << 7) & 0x0101_0101_0101_0101).to_le()
});

// And back.
rewrite!(Pack4, u16: 8, u8: 4, |x| {
    let x = u16::from_le(x) & 0x0f0f;
    (x | x >> 4) as u8
});
rewrite!(Pack2, u32: 8, u8: 2, |x| {
    let x = u32::from_le(x) & 0x0303_0303;
    let x = (x | x >> 6) & 0x000f_000f;
    (x | x >> 12) as u8
});

pub(super) struct Pack1;

impl Rewrite for Pack1 {
    type From = u64;
    type To = u8;
    const FROM: usize = 8;
    const TO: usize = 1;

    #[inline(always)]
    fn word(bytes: u64) -> u8 {
        pack_bits(u64::from_le(bytes))
    }

    #[inline(always)]
    unsafe fn words<S: Half>(from: *const u8, to: &mut Line, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { S::pack(from, to, bytes) }
    }
}

rewrite!(Swap2, u16: 16, u16: 16, |x| x.swap_bytes());
rewrite!(Swap4, u32: 32, u32: 32, |x| x.swap_bytes());
rewrite!(Swap8, u64: 64, u64: 64, |x| x.swap_bytes());
rewrite!(Swap16, u128: 128, u128: 128, |x| x.swap_bytes());

// Numbers are little-endian on either side.
rewrite!(NarrowBfloat, u32: 32, u16: 16, |x| narrow_bfloat(u32::from_le(x)).to_le());
rewrite!(WidenBfloat, u16: 16, u32: 32, |x| widen_bfloat(u16::from_le(x)).to_le());

pub(super) struct NarrowHalf;

impl Rewrite for NarrowHalf {
    type From = u32;
    type To = u16;
    const FROM: usize = 32;
    const TO: usize = 16;

    #[inline(always)]
    fn word(single: u32) -> u16 {
        narrow_half(u32::from_le(single)).to_le()
    }

    #[inline(always)]
    unsafe fn words<S: Half>(from: *const u8, to: &mut Line, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { S::narrow(from, to, bytes) }
    }
}

pub(super) struct WidenHalf;

impl Rewrite for WidenHalf {
    type From = u16;
    type To = u32;
    const FROM: usize = 16;
    const TO: usize = 32;

    #[inline(always)]
    fn word(half: u16) -> u32 {
        widen_half(u16::from_le(half)).to_le()
    }

    #[inline(always)]
    unsafe fn words<S: Half>(from: *const u8, to: &mut Line, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { S::widen(from, to, bytes) }
    }
}
