//! Blocks of the destination whose elements lie close together in the source.
//!
//! As blocks that are [gathered](crate::gather), but all that a block takes from the source fits three registers. Where the
//! CPU can pick any bytes of whole registers, these are loaded once, and every 64 bytes of the block are picked from them.

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::gather::{Placed, place};
use crate::nest::Loop;
use crate::plane::At;
use crate::simd::{Pick, Picks, Set};

/// Bytes of a register.
const REGISTER: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Sift {
    /// Bytes of a block.
    bytes: usize,
    /// From a block's first element to its lowest in the source, in bytes, and the bytes from there to its end.
    lowest: isize,
    reach: usize,
    /// What each register of a block is picked from those of the source.
    picks: Box<[Pick]>,
    /// The loops around the blocks.
    pub(crate) around: Around,
}

impl Sift {
    /// `loops` cover a block of the destination without gaps; `None` if it takes more than three registers.
    pub(crate) fn new(width: usize, loops: &[Loop]) -> Option<Sift> {
        let last = |l: &Loop| (l.extent - 1) * l.source.unsigned_abs();
        let reach = loops.iter().map(last).sum::<usize>() + width;
        if reach > 3 * REGISTER {
            return None;
        }
        let mut places = Placed::new();
        place(&mut places, width, loops)?;
        let (bytes, lowest) = (places.len() * width, places[0].1);
        let mut picks = vec![Pick::default(); bytes.div_ceil(REGISTER)].into_boxed_slice();
        for &(to, from) in &places {
            let (to, from) = (to as usize, (from - lowest) as usize);
            let pick = &mut picks[to / REGISTER];
            for byte in 0..width {
                let from = from + byte;
                pick.set(to % REGISTER + byte, from / REGISTER, from % REGISTER);
            }
        }
        Some(Sift {
            bytes,
            lowest,
            reach,
            picks,
            around: Around::default(),
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Moves all blocks.
///
/// # Safety
///
/// The CPU has the set, and can pick with its widest vectors. The source is readable from the lowest element of every block
/// to its highest, the blocks are writable, and the two do not overlap.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no other set picks
pub(crate) unsafe fn run<S: Set<Wide: Picks>>(sift: &Sift, at: &At) {
    let vector = PhantomData::<S::Wide>;
    // SAFETY: the caller's promise.
    unsafe { S::enter(sift.around.of(at, Sifting { sift, vector })) }
}

/// # Safety (of `each`)
///
/// As `run`, for one block.
struct Sifting<'a, V> {
    sift: &'a Sift,
    vector: PhantomData<V>,
}

impl<V: Picks> Each for Sifting<'_, V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        let sift = self.sift;
        // SAFETY: what a block takes lies in `reach` bytes from its lowest element on, of which no more are loaded, and no
        // more are stored than a block has.
        unsafe {
            let from = from.offset(sift.lowest);
            let load = |i: usize| {
                let start = i * REGISTER;
                V::load_first(from.wrapping_add(start), sift.reach.saturating_sub(start))
            };
            let from = [load(0), load(1), load(2)];
            for (i, pick) in sift.picks.iter().enumerate() {
                let start = i * REGISTER;
                let (first, last, of_last) = pick.load::<V>();
                V::pick(from, first, last, of_last).store_first(to.add(start), sift.bytes - start);
            }
        }
    }
}
