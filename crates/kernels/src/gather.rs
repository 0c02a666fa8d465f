//! Blocks of the destination that are put together of pieces of the source, by tables.
//!
//! The innermost loops of the destination cover a block of a few hundred bytes. Every 16 bytes of it come from a few
//! windows of 16 bytes of the source, each of which is loaded whole, its bytes put where they belong, and or-ed to the
//! others. Where the windows are and what becomes of their bytes is the same for every block, so it is worked out once,
//! when the move is prepared. That suits short runs, blocks of a few by a few elements, and elements at short strides:
//! what has no long run on a side.
//!
//! The price is a load, a shuffle and a table for each window, so it is taken where windows are fewer than elements.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::around::{Around, Each};
use crate::dispatch;
use crate::isa::Isa;
use crate::nest::{Loop, Loops};
use crate::plane::At;
use crate::simd::{Set, Vector, Work};

/// Bytes of a register's lane, and of a window.
const LANE: usize = 16;
/// Bytes from which on a block is large enough.
const ENOUGH: usize = 48;
/// The most bytes of a block.
const MOST: usize = 256;

/// How a block of the destination is put together.
#[derive(Debug, Clone)]
pub(crate) struct Gather {
    /// Bytes of a block, at least a register's.
    bytes: usize,
    /// Lanes of the registers.
    lanes: usize,
    /// Windows for each register, as many for all.
    windows: usize,
    /// Where each lane's window begins, from the block's first element in the source: lanes of a window of a register
    /// side by side, then its windows, then the registers.
    offsets: Box<[isize]>,
    /// Which byte of the window goes to each of a lane; the top bit stands for none.
    tables: Box<[[u8; LANE]]>,
}

/// A nest whose elements are blocks.
pub(crate) struct Blocks {
    pub(crate) gather: Gather,
    /// The loops around the blocks.
    pub(crate) outer: Loops,
}

impl Blocks {
    /// The blocks of a nest, if putting them together is faster than anything else; `loops` are as in a `Nest`.
    pub(crate) fn find(width: usize, loops: &[Loop], isa: Isa) -> Option<Blocks> {
        let (block, outer) = innermost(width, loops)?;
        let windows = |elements: usize| elements - elements.div_ceil(4);
        let gather = Gather::new(width, &block, windows(LANE / width), isa)?;
        Some(Blocks { gather, outer })
    }
}

/// The innermost loops of the destination that make a block large enough, and the others; a long loop is cut where it
/// can be cut evenly.
fn innermost(width: usize, loops: &[Loop]) -> Option<(Loops, Loops)> {
    let mut outer = Loops::from_slice(loops);
    let mut block = Loops::new();
    let mut bytes = width;
    while bytes < ENOUGH {
        let Some(&l) = outer.last() else { break };
        if l.destination != bytes as isize {
            break;
        }
        outer.pop();
        let most = MOST / bytes;
        let extent = match l.extent <= most {
            true => l.extent,
            false => (2..=most).rev().find(|part| l.extent % part == 0)?,
        };
        if extent < l.extent {
            let steps = extent as isize;
            outer.push(Loop {
                extent: l.extent / extent,
                source: l.source * steps,
                destination: l.destination * steps,
            });
        }
        block.insert(0, Loop { extent, ..l });
        bytes *= extent;
    }
    (bytes >= LANE).then_some((block, outer))
}

/// Whether each element of a lane has a window for itself, as far as is seen at once.
pub(crate) fn are_apart(width: usize, loops: &[Loop]) -> bool {
    let mut bytes = width;
    loops.iter().rev().all(|l| {
        let is_beyond = bytes >= LANE;
        bytes *= l.extent;
        is_beyond || l.source.unsigned_abs() >= LANE
    })
}

/// Windows that reach elements at these places, none of which begins after `last`.
fn count_windows(width: usize, places: &[isize], last: isize) -> usize {
    let mut sorted: SmallVec<[isize; LANE]> = SmallVec::from_slice(places);
    sorted.sort_unstable();
    let (mut count, mut end) = (0, isize::MIN);
    for place in sorted {
        if place > end {
            count += 1;
            end = place.min(last) + (LANE - width) as isize;
        }
    }
    count
}

impl Gather {
    /// `loops` cover a block of the destination without gaps; `None` if a lane needs more windows than `most`, or if
    /// the elements of the source reach over less than a window.
    pub(crate) fn new(width: usize, loops: &[Loop], most: usize, isa: Isa) -> Option<Gather> {
        let reach = |of: fn(isize) -> isize| -> isize {
            let ends = loops.iter().map(|l| (l.extent - 1) as isize * of(l.source));
            ends.sum()
        };
        let (lowest, end) = (reach(|s| s.min(0)), reach(|s| s.max(0)) + width as isize);
        let last = end - LANE as isize;
        if last < lowest {
            return None;
        }
        let in_lane = LANE / width;
        let mut places: SmallVec<[isize; MOST]> = SmallVec::new();
        places.push(0);
        for l in loops.iter().rev() {
            let inner = places.len();
            for i in inner..inner * l.extent {
                let place = places[i - inner] + l.source;
                places.push(place);
            }
            // Most that are too scattered show it in the first lane, before much is done for them.
            if (inner..places.len()).contains(&(in_lane - 1))
                && count_windows(width, &places[..in_lane], last) > most
            {
                return None;
            }
        }
        let bytes = places.len() * width;
        // A register takes a load for each of its lanes and one for the tables.
        let loads = |lanes: usize| bytes.div_ceil(lanes * LANE) * (lanes + 1);
        let lanes = [4, 2, 1]
            .into_iter()
            .filter(|lanes| lanes * LANE <= bytes.min(dispatch::widest(isa)));
        let lanes = lanes.min_by_key(|&lanes| loads(lanes))?;
        let registers = bytes.div_ceil(lanes * LANE);
        let starts = (0..registers * lanes).map(|number| {
            let (register, lane) = (number / lanes, number % lanes);
            (register * lanes * LANE).min(bytes - lanes * LANE) + lane * LANE
        });
        // A lane after the other first, as nobody knows yet how many windows they need.
        let mut found: SmallVec<[(isize, [u8; LANE]); 32]> = SmallVec::new();
        let mut ends: SmallVec<[usize; 16]> = SmallVec::new();
        let mut windows = 0;
        for start in starts {
            let first = found.len();
            let mut left: u32 = (1 << in_lane) - 1;
            let places = &places[start / width..][..in_lane];
            while left != 0 {
                let of_left = |i: &usize| left >> i & 1 == 1;
                let low = (0..in_lane).filter(of_left).map(|i| places[i]).min()?;
                let from = low.min(last);
                let mut table = [0x80; LANE];
                for (i, &place) in places.iter().enumerate() {
                    let at = place - from;
                    if left >> i & 1 == 1 && at <= (LANE - width) as isize {
                        for byte in 0..width {
                            table[i * width + byte] = (at as usize + byte) as u8;
                        }
                        left &= !(1 << i);
                    }
                }
                found.push((from, table));
            }
            windows = windows.max(found.len() - first);
            if windows > most {
                return None;
            }
            ends.push(found.len());
        }
        let count = registers * lanes * windows;
        let (mut offsets, mut tables) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for register in 0..registers {
            for window in 0..windows {
                for lane in register * lanes..(register + 1) * lanes {
                    let first = if lane == 0 { 0 } else { ends[lane - 1] };
                    // One that is not needed is loaded where another is, and gives nothing.
                    let (offset, table) = match first + window < ends[lane] {
                        true => found[first + window],
                        false => (found[first].0, [0x80; LANE]),
                    };
                    offsets.push(offset);
                    tables.push(table);
                }
            }
        }
        Some(Gather {
            bytes,
            lanes,
            windows,
            offsets: offsets.into_boxed_slice(),
            tables: tables.into_boxed_slice(),
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether its registers are of this kind.
    pub(crate) fn fills<V: Vector>(&self) -> bool {
        self.lanes * LANE == V::BYTES
    }

    /// Puts a block together.
    ///
    /// # Safety
    ///
    /// The CPU has `V`, which has as many lanes as the registers. The source is readable from the lowest element of the
    /// block to its highest, where `from` is its first, and the block is writable at `to`.
    #[inline(always)]
    pub(crate) unsafe fn block<V: Vector, const K: usize>(&self, from: *const u8, to: *mut u8) {
        let windows = if K > 0 { K } else { self.windows };
        let (lanes, bytes) = (V::BYTES / LANE, self.bytes);
        let (mut offset, mut table) = (self.offsets.as_ptr(), self.tables.as_ptr());
        let mut at = 0;
        while at < bytes {
            // SAFETY: there are `windows` times `lanes` offsets and tables for each register, and as many registers as
            // the block takes; the last one that is not whole is moved back to be so.
            unsafe {
                let mut next = || {
                    let v = V::load_lanes(|lane| from.offset(*offset.add(lane)));
                    let v = v.shuffle(V::load(table.cast()));
                    (offset, table) = (offset.add(lanes), table.add(lanes));
                    v
                };
                let mut v = next();
                for _ in 1..windows {
                    v = v.or(next());
                }
                v.store(to.add(at.min(bytes - V::BYTES)));
            }
            at += V::BYTES;
        }
    }
}

/// Blocks moved with ordinary stores.
#[derive(Debug, Clone)]
pub(crate) struct Gathers {
    pub(crate) gather: Gather,
    pub(crate) around: Around,
}

/// Bytes of the set's widest register.
pub(crate) fn widest<S: Set>() -> usize {
    S::Wide::BYTES
}

/// Moves all blocks.
///
/// # Safety
///
/// The CPU has the set. The source is readable from the lowest element of every block to its highest, the blocks are
/// writable, and the two do not overlap.
pub(crate) unsafe fn run<S: Set>(gathers: &Gathers, at: At) {
    // SAFETY: the caller's promise; the vector has as many lanes as the gather says.
    unsafe {
        if gathers.gather.fills::<S::Wide>() {
            sized::<S, S::Wide>(gathers, at);
        } else if gathers.gather.fills::<S::Half>() {
            sized::<S, S::Half>(gathers, at);
        } else {
            sized::<S, S::Quarter>(gathers, at);
        }
    }
}

/// # Safety
///
/// As `run`; `V` has as many lanes as the gather says.
unsafe fn sized<S: Set, V: Vector>(gathers: &Gathers, at: At) {
    let vector = PhantomData::<V>;
    // SAFETY: the caller's promise.
    unsafe {
        match gathers.gather.windows {
            1 => S::enter(Moving::<V, 1> {
                gathers,
                at,
                vector,
            }),
            2 => S::enter(Moving::<V, 2> {
                gathers,
                at,
                vector,
            }),
            3 => S::enter(Moving::<V, 3> {
                gathers,
                at,
                vector,
            }),
            4 => S::enter(Moving::<V, 4> {
                gathers,
                at,
                vector,
            }),
            _ => S::enter(Moving::<V, 0> {
                gathers,
                at,
                vector,
            }),
        }
    }
}

/// # Safety (of `work` and of `each`)
///
/// As `run`; `V` has as many lanes as the gather says, and `K` is the number of its windows or 0.
struct Moving<'a, V, const K: usize> {
    gathers: &'a Gathers,
    at: At,
    vector: PhantomData<V>,
}

impl<V: Vector, const K: usize> Work for Moving<'_, V, K> {
    #[inline(always)]
    unsafe fn work(mut self) {
        let At {
            source,
            destination,
            ..
        } = self.at;
        // SAFETY: the caller's promise.
        unsafe { self.gathers.around.walk(source, destination, &mut self) };
    }
}

impl<V: Vector, const K: usize> Each for Moving<'_, V, K> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.gathers.gather.block::<V, K>(from, to) };
    }
}
