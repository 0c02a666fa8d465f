//! Vectors and instruction sets.
//!
//! The kernels are written once over [`Vector`] and [`Set`]. An instruction set that a CPU may lack is reached only
//! with an [`Isa`](crate::Isa), which exists only where its instructions were found at run time.

// See `dispatch::sets` for who has no use for a set.
#[cfg_attr(any(not(debug_assertions), fuzzing, loom), allow(dead_code))]
mod portable;
#[cfg(target_arch = "x86_64")]
#[cfg_attr(any(fuzzing, loom, without_avx512), allow(dead_code))]
pub(crate) mod x86;

#[cfg(target_arch = "aarch64")]
mod neon;

pub(crate) use portable::Portable;

/// The 16-byte vector of the target, which every CPU of it has.
#[cfg(target_arch = "x86_64")]
type Native16 = x86::Sse;
#[cfg(target_arch = "aarch64")]
type Native16 = neon::Neon;

/// Bytes of a cache line, the unit of streaming stores.
pub(crate) const LINE: usize = 64;

/// Bytes of a lane, the part of a register that shuffles stay in.
pub(crate) const LANE: usize = 16;

/// A register of bytes, made of lanes.
///
/// # Safety of the functions
///
/// All require that the CPU has the instructions of the vector; loads and stores that `BYTES` bytes at the pointer are
/// readable or writable, without alignment; `stream` also that the pointer is aligned to `BYTES`.
pub(crate) trait Vector: Copy {
    const BYTES: usize;

    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    /// A store that leaves the caches alone where the CPU can; other cores may see it late until [`fence`].
    unsafe fn stream(self, to: *mut u8);
    /// Interleaves elements of `W` bytes within each lane: the lower halves of `a` and `b`, and the upper halves.
    unsafe fn unpack<const W: usize>(a: Self, b: Self) -> (Self, Self);
    /// Transposes the square of lanes of as many vectors as one has lanes; the others are ignored.
    unsafe fn transpose_lanes(v: [Self; 4]) -> [Self; 4];
    /// Every lane's bytes in the order that the same lane of `table` gives; zero where its top bit is set.
    unsafe fn shuffle(self, table: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    /// The other's bytes where those of `mask` are all ones, and its own where they are zero.
    unsafe fn select(self, other: Self, mask: Self) -> Self;
    /// The same 16 bytes in every lane.
    unsafe fn splat_lane(from: *const u8) -> Self;
    /// Every lane from the place that is given for its number.
    unsafe fn load_lanes(from: impl Fn(usize) -> *const u8) -> Self;
    /// Every lane to the place that is given for its number.
    unsafe fn store_lanes(self, to: impl Fn(usize) -> *mut u8);
    /// The lanes of even numbers of both, and those of odd ones; of a single lane nothing.
    unsafe fn part_lanes(a: Self, b: Self) -> (Self, Self);
    /// Half of the bytes from each place.
    #[inline(always)]
    unsafe fn load_halves(first: *const u8, second: *const u8) -> Self {
        let mut bytes = [0u128; 4];
        // SAFETY: `BYTES` is at most 64; the caller vouches for the bytes read.
        unsafe {
            let (to, half) = (bytes.as_mut_ptr().cast::<u8>(), Self::BYTES / 2);
            first.copy_to_nonoverlapping(to, half);
            second.copy_to_nonoverlapping(to.add(half), half);
            Self::load(to)
        }
    }
    /// `K` parts (2 or 4) of `BYTES / K` bytes each that lie `pitch` bytes apart.
    #[inline(always)]
    unsafe fn load_parts<const K: usize>(from: *const u8, pitch: isize) -> Self {
        let mut bytes = [0u128; 4];
        // SAFETY: `BYTES` is at most 64; the caller vouches for the parts.
        unsafe {
            let to = bytes.as_mut_ptr().cast::<u8>();
            for k in 0..K {
                let part = from.offset(k as isize * pitch);
                part.copy_to_nonoverlapping(to.add(k * (Self::BYTES / K)), Self::BYTES / K);
            }
            Self::load(to)
        }
    }
    /// `K` parts (2 or 4) of `BYTES / K` bytes each to places that lie `pitch` bytes apart.
    #[inline(always)]
    unsafe fn store_parts<const K: usize>(self, to: *mut u8, pitch: isize) {
        let mut bytes = [0u128; 4];
        // SAFETY: `BYTES` is at most 64; the caller vouches for the parts.
        unsafe {
            let from = bytes.as_mut_ptr().cast::<u8>();
            self.store(from);
            for k in 0..K {
                let part = to.offset(k as isize * pitch);
                part.copy_from_nonoverlapping(from.add(k * (Self::BYTES / K)), Self::BYTES / K);
            }
        }
    }
    /// This register with its bytes `begin..end` from memory, where only those are read.
    #[inline(always)]
    unsafe fn load_into(self, from: *const u8, begin: usize, end: usize) -> Self {
        let mut bytes = [0u128; 4];
        // SAFETY: `BYTES` is at most 64, and `end` at most that; the caller vouches for the bytes read.
        unsafe {
            let to = bytes.as_mut_ptr().cast::<u8>();
            self.store(to);
            from.copy_to_nonoverlapping(to.add(begin), end - begin);
            Self::load(to)
        }
    }
    /// From `K` parts one after another to an equal share of each in every lane, in order; of a single lane nothing.
    unsafe fn deal<const K: usize>(self) -> Self;
    /// Undoes `deal`.
    unsafe fn collect<const K: usize>(self) -> Self;
}

/// A vector of 64 bytes that are permuted across its lanes. The CPU must have that too where one is used as such.
pub(crate) trait Picks: Vector {
    /// The bytes of the first two at the places `first`, from 64 on in the second; where `of_last` has a bit, those of the
    /// third at the places `last`.
    unsafe fn pick(from: [Self; 3], first: Self, last: Self, of_last: u64) -> Self;
    /// The first `count` bytes, or all where there are more; only those are read.
    unsafe fn load_first(from: *const u8, count: usize) -> Self;
    /// As `load_first`; only those are written.
    unsafe fn store_first(self, to: *mut u8, count: usize);
}

/// Which bytes of three registers are [picked](Picks::pick).
#[derive(Debug, Clone)]
pub(crate) struct Pick {
    /// Places in the first register, and behind it in the second,
    pub(crate) first: [u8; 64],
    /// and in the third.
    pub(crate) last: [u8; 64],
    /// A bit for each byte that comes from the third.
    pub(crate) of_last: u64,
}

impl Default for Pick {
    /// The first register's first byte everywhere.
    fn default() -> Pick {
        Pick {
            first: [0; 64],
            last: [0; 64],
            of_last: 0,
        }
    }
}

impl Pick {
    /// The byte at `to` comes from this place of a register.
    pub(crate) fn set(&mut self, to: usize, register: usize, from: usize) {
        if register < 2 {
            self.first[to] = (register * 64 + from) as u8;
        } else {
            self.last[to] = from as u8;
            self.of_last |= 1 << to;
        }
    }

    /// In registers.
    ///
    /// # Safety
    ///
    /// The CPU has `V`.
    #[inline(always)]
    pub(crate) unsafe fn load<V: Picks>(&self) -> (V, V, u64) {
        // SAFETY: the caller's promise; the vector has 64 bytes.
        unsafe {
            let (first, last) = (V::load(self.first.as_ptr()), V::load(self.last.as_ptr()));
            (first, last, self.of_last)
        }
    }
}

/// An instruction set: its vectors from wide to narrow. Equal types where it has fewer than three.
pub(crate) trait Set {
    type Wide: Vector;
    type Half: Vector;
    type Quarter: Vector;
    /// The set that its narrower vectors are of, which every CPU with this one has: work with those alone is compiled once, for that one.
    type Narrow: Set;

    /// Runs work in a function of its own that is compiled for the set; what the work calls is inlined into it.
    ///
    /// # Safety
    ///
    /// The CPU has the set, and the work's own conditions hold.
    unsafe fn enter(work: impl Work);
}

/// A piece of work compiled once for each instruction set.
pub(crate) trait Work {
    /// # Safety
    ///
    /// Stated by each implementation; besides, the CPU has the vectors that the work uses.
    unsafe fn work(self);
}

/// Asks for the line at this address in the first-level cache. Any address may be given.
#[inline(always)]
pub(crate) fn near(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as `prefetch`.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for the line at this address in the first-level cache, to write a part of it. Any address may be given.
#[inline(always)]
pub(crate) fn own(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as `prefetch`. A CPU without this one does nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Implements [`Set`], with the features that its functions are compiled for. Each set has a module of its own, as these are
/// what a compiler shares out among its threads.
macro_rules! set {
    (
        $(#[$doc:meta])*
        $module:ident::$name:ident, $narrow:ty: $wide:ty, $half:ty, $quarter:ty $(, $features:literal)?
    ) => {
        pub(crate) use $module::$name;

        mod $module {
            use super::*;

            $(#[$doc])*
            pub(crate) struct $name;

            impl Set for $name {
                type Wide = $wide;
                type Half = $half;
                type Quarter = $quarter;
                type Narrow = $narrow;

                #[inline(always)]
                unsafe fn enter(work: impl Work) {
                    /// # Safety
                    ///
                    /// As `Set::enter`.
                    $(#[target_feature(enable = $features)])?
                    #[inline(never)]
                    unsafe fn compiled(work: impl Work) {
                        // SAFETY: the work's own conditions hold, and the CPU has the set and so its vectors, by the caller's promise.
                        unsafe { work.work() }
                    }
                    // SAFETY: the CPU has the set, so the features, and the work's own conditions hold, by the caller's promise.
                    unsafe { compiled(work) }
                }
            }
        }
    };
}
pub(crate) use set;

/// Ends a sequence of `stream` stores: what was streamed is visible to whoever is told of it afterwards.
#[inline(always)]
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU has SSE.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Asks for the line at this address in the second-level cache. Any address may be given.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU has SSE; a prefetch reads nothing that the program could see and does not fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
set! {
    /// The target's own 16-byte vectors.
    native::NativeSet, NativeSet: Native16, Native16, Native16
}
