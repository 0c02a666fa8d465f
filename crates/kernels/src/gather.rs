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

use crate::around::{Around, Each, Rounds};
use crate::cell::GATHERED;
use crate::dispatch;
use crate::isa::Isa;
use crate::nest::{Loop, Loops};
use crate::plane::At;
use crate::simd::{LANE, Set, Vector};

/// Bytes from which on a block is large enough.
const ENOUGH: usize = 48;
/// The most bytes of a block.
const MOST: usize = 256;
/// The most lanes of a block's registers, the last of which may have some of the one before: [cells](crate::cell) have more bytes.
const LANES: usize = GATHERED / LANE + 3;

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
    offsets: Vec<isize>,
    /// Which byte of the window goes to each of a lane; the top bit stands for none.
    tables: Vec<[u8; LANE]>,
}

impl Gather {
    /// That of a block, if it is faster than anything else.
    pub(crate) fn find(width: usize, block: &[Loop], isa: Isa) -> Option<Gather> {
        let elements = LANE / width;
        Gather::new(width, block, elements - elements.div_ceil(4), isa)
    }
}

/// The innermost loops of the destination that make a block large enough, and the others; a long loop is cut where it
/// can be cut evenly.
pub(crate) fn innermost(width: usize, loops: &[Loop]) -> Option<(Loops, Loops)> {
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

/// Where elements are in the block and in the source. As other lists of a few kilobytes here, not inside a `SmallVec`: that is
/// copied when it is made, which took a Zen 3 longer than all else of a small block.
pub(crate) type Placed = Vec<(isize, isize)>;

/// Puts every element to the empty `places`, by and large from the lowest place in the source on. Returns the last place
/// there at which a window can begin; `None` if the elements of the source reach over less than a window.
pub(crate) fn place(places: &mut Placed, width: usize, loops: &[Loop]) -> Option<isize> {
    let mut ascending = Loops::from_slice(loops);
    let (mut lowest, mut count, mut reach) = ((0, 0), 1, 0);
    for l in &mut ascending {
        let last = (l.extent - 1) as isize;
        if l.source < 0 {
            lowest.0 += last * l.destination;
            lowest.1 += last * l.source;
            (l.destination, l.source) = (-l.destination, -l.source);
        }
        count *= l.extent;
        reach += last * l.source;
    }
    let last = reach + width as isize - LANE as isize;
    if last < 0 {
        return None;
    }
    ascending.sort_unstable_by_key(|l| l.source);
    places.resize(count, lowest);
    let mut inner = 1;
    for l in &ascending {
        let (first, others) = places[..inner * l.extent].split_at_mut(inner);
        for (places, i) in others.chunks_exact_mut(inner).zip(1..) {
            for (place, (to, from)) in places.iter_mut().zip(&*first) {
                *place = (to + i * l.destination, from + i * l.source);
            }
        }
        inner *= l.extent;
    }
    Some(lowest.1 + last)
}

/// What has been found of a lane.
#[derive(Clone, Copy, Default)]
struct Lane {
    /// Its windows, where the last of them begins, and which table that has.
    windows: usize,
    start: isize,
    table: usize,
}

/// The first `count` of every `room` values.
fn fronts<T: Copy>(mut values: Vec<T>, room: usize, count: usize) -> Vec<T> {
    let rooms = values.len() / room;
    for i in 1..rooms {
        values.copy_within(i * room..i * room + count, i * count);
    }
    // Not moved to where it would just fit: that takes longer than a small block.
    values.truncate(rooms * count);
    values
}

impl Gather {
    /// `loops` cover a block of the destination without gaps; `None` if a lane needs more windows than `most`, or if
    /// the elements of the source reach over less than a window.
    pub(crate) fn new(width: usize, loops: &[Loop], most: usize, isa: Isa) -> Option<Gather> {
        let bytes = loops.iter().map(|l| l.extent).product::<usize>() * width;
        // Elements that lie apart have a window each.
        let apart = loops.last().filter(|l| l.source.unsigned_abs() >= LANE);
        if apart.is_some_and(|l| l.extent.min(LANE / width) > most) {
            return None;
        }
        let mut places = Placed::new();
        let last = place(&mut places, width, loops)?;
        // A register takes a load for each of its lanes and one for the tables.
        let loads = |lanes: usize| bytes.div_ceil(lanes * LANE) * (lanes + 1);
        let lanes = [4, 2, 1]
            .into_iter()
            .filter(|lanes| lanes * LANE <= bytes.min(dispatch::widest(isa)));
        let lanes = lanes.min_by_key(|&lanes| loads(lanes))?;
        let registers = bytes.div_ceil(lanes * LANE);
        // The last register is moved back to be whole, so that it may have elements of the one before.
        let (all, moved) = (registers * lanes, bytes - lanes * LANE);
        let whole = (all - lanes) * LANE;
        // Those of a register one after the other, with room for as many windows as may be; no byte is put to the rest.
        let room = most * lanes;
        let mut tables = vec![[0x80; LANE]; registers * room];
        let mut offsets = vec![0; registers * room];
        // Lanes of a register are a power of two.
        let number = |lane: usize| (lane & !(lanes - 1)) * most + (lane & (lanes - 1));
        let mut found = [Lane::default(); LANES];
        let found = found.get_mut(..all)?;
        let mut put = |to: usize, from: isize| {
            let lane = &mut found[to / LANE];
            if lane.windows == 0 || (from - lane.start) as usize > LANE - width {
                if lane.windows == most {
                    return None;
                }
                lane.start = from.min(last);
                lane.table = number(to / LANE) + lane.windows * lanes;
                lane.windows += 1;
                offsets[lane.table] = lane.start;
            }
            let (byte, from) = (to % LANE, (from - lane.start) as usize);
            for (i, byte) in tables[lane.table][byte..byte + width]
                .iter_mut()
                .enumerate()
            {
                *byte = (from + i) as u8;
            }
            Some(())
        };
        for &(to, from) in &places {
            let to = to as usize;
            if to < whole {
                put(to, from)?;
            }
            if to >= moved {
                put(to - moved + whole, from)?;
            }
        }
        let windows = found.iter().map(|lane| lane.windows).max()?;
        for (i, lane) in found.iter().enumerate() {
            // A window that is not needed is loaded where another is, and gives nothing.
            for window in lane.windows..windows {
                offsets[number(i) + window * lanes] = lane.start;
            }
        }
        Some(Gather {
            bytes,
            lanes,
            windows,
            offsets: fronts(offsets, room, windows * lanes),
            tables: fronts(tables, room, windows * lanes),
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
pub(crate) unsafe fn run<S: Set>(gathers: &Gathers, at: &At) {
    // SAFETY: the caller's promise; the vector has as many lanes as the gather says.
    unsafe {
        if gathers.gather.fills::<S::Wide>() {
            sized::<S, S::Wide>(gathers, at);
        } else if gathers.gather.fills::<S::Half>() {
            sized::<S::Narrow, S::Half>(gathers, at);
        } else {
            sized::<S::Narrow, S::Quarter>(gathers, at);
        }
    }
}

/// # Safety
///
/// As `run`; `V` has as many lanes as the gather says.
unsafe fn sized<S: Set, V: Vector>(gathers: &Gathers, at: &At) {
    // SAFETY: the caller's promise.
    unsafe {
        match gathers.gather.windows {
            1 => S::enter(Moving::<V, 1>::all(gathers, at)),
            2 => S::enter(Moving::<V, 2>::all(gathers, at)),
            3 => S::enter(Moving::<V, 3>::all(gathers, at)),
            4 => S::enter(Moving::<V, 4>::all(gathers, at)),
            _ => S::enter(Moving::<V, 0>::all(gathers, at)),
        }
    }
}

/// # Safety (of `each`)
///
/// As `run`, for one block; `V` has as many lanes as the gather says, and `K` is the number of its windows or 0.
struct Moving<'a, V, const K: usize> {
    gather: &'a Gather,
    vector: PhantomData<V>,
}

impl<'a, V, const K: usize> Moving<'a, V, K> {
    fn all(gathers: &'a Gathers, at: &'a At) -> Rounds<'a, Self> {
        let gather = &gathers.gather;
        let vector = PhantomData;
        gathers.around.of(at, Moving { gather, vector })
    }
}

impl<V: Vector, const K: usize> Each for Moving<'_, V, K> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.gather.block::<V, K>(from, to) };
    }
}
