//! Bands that are put together in the caches, and written to memory from there.
//!
//! Where items share the lines of the destination, each would write a part of every line: memory would be asked for the
//! line first, and written in pieces. So the items of such a band write to a stage, by ordinary stores, and whole lines
//! are streamed from there. Meanwhile the source of the next band is asked for, from front to back.
//!
//! A wide stage has two rooms: while a band is put together in one, the band before is streamed from the other, some lines
//! after each block of a transpose, so that memory is busy while shuffles are. See [`Aside`].

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use crate::around::{Around, Each, Iterations};
use crate::dispatch;
use crate::isa::Isa;
use crate::nest::{Loop, Loops};
use crate::simd::{LINE, Set, Vector, Work, own, prefetch};

/// The most bytes of a band that is staged on the stack.
pub(super) const STAGE: usize = 32 << 10;

/// Bytes of a room for bands of so many, wherever in a line they start.
pub(super) const fn room(band: usize) -> usize {
    band.next_multiple_of(LINE) + LINE
}

/// A room on the stack.
#[repr(align(64))]
pub(super) struct Narrow([u8; room(STAGE)]);

impl Narrow {
    pub(super) fn new() -> Narrow {
        Narrow([0; room(STAGE)])
    }
}

/// One room for bands, or two that take turns.
pub(super) struct Stage<'a> {
    rooms: SmallVec<[&'a mut [u8]; 2]>,
    /// The one for the next band.
    turn: usize,
    /// The one whose band is not written yet, and where in the window it belongs.
    full: Option<(usize, Range<usize>)>,
}

impl<'a> Stage<'a> {
    pub(super) fn narrow(room: &'a mut Narrow) -> Stage<'a> {
        Stage::new([&mut room.0[..]])
    }

    /// Of two halves, each of which begins on a line.
    pub(super) fn wide(rooms: &'a mut [u8]) -> Stage<'a> {
        let (one, other) = rooms.split_at_mut(rooms.len() / 2);
        Stage::new([one, other])
    }

    fn new(rooms: impl IntoIterator<Item = &'a mut [u8]>) -> Stage<'a> {
        Stage {
            rooms: rooms.into_iter().collect(),
            turn: 0,
            full: None,
        }
    }

    /// Whether a band is written while the next one is put together.
    pub(super) fn is_wide(&self) -> bool {
        self.rooms.len() > 1
    }

    /// The number of the room for the next band.
    pub(super) fn turn(&self) -> usize {
        self.turn
    }

    /// Where a band lies that will be written to this address.
    pub(super) fn place(&mut self, to: *const u8) -> &mut [u8] {
        &mut self.rooms[self.turn][to as usize % LINE..]
    }

    /// Notes that the band of this range of the window is put together.
    pub(super) fn fill(&mut self, range: Range<usize>) {
        self.full = Some((self.turn, range));
        self.turn = (self.turn + 1) % self.rooms.len();
    }

    /// Writes the parts of lines of what is put together, and says which whole lines are left to be streamed, and asked
    /// for, beside `work` bytes of other work.
    ///
    /// The window and the room must stay as they are until that is done.
    pub(super) fn leave(&mut self, window: &mut [u8], asked: Asked, work: usize) -> Aside {
        let Some((room, range)) = self.full.take() else {
            return Aside::new(&[], &mut [], asked, work);
        };
        let to = &mut window[range];
        let staged = &self.rooms[room][to.as_ptr() as usize % LINE..][..to.len()];
        let head = to.as_ptr().align_offset(LINE).min(to.len());
        let (first, rest) = to.split_at_mut(head);
        first.copy_from_slice(&staged[..head]);
        let (lines, last) = rest.split_at_mut(rest.len() / LINE * LINE);
        last.copy_from_slice(&staged[staged.len() - last.len()..]);
        Aside::new(&staged[head..], lines, asked, work)
    }
}

/// The lines of one side that an item goes to.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    /// From the item's first element to the first line.
    first: isize,
    /// The runs, each of so many lines.
    runs: Around,
    lines: usize,
}

impl Ask {
    /// Those of the source. `low` is the lowest byte that loops reach, from their first element on.
    pub(super) fn read(loops: &[Loop], width: usize, low: isize) -> Ask {
        Ask::new(loops.to_vec(), width, low)
    }

    /// Those of the destination.
    pub(super) fn written(loops: &[Loop], width: usize) -> Ask {
        let written = |&l: &Loop| Loop {
            source: l.destination,
            ..l
        };
        Ask::new(loops.iter().map(written).collect(), width, 0)
    }

    fn new(mut sorted: Vec<Loop>, width: usize, low: isize) -> Ask {
        sorted.sort_unstable_by_key(|l| l.source.abs());
        let mut run = width as isize;
        let mut apart = Loops::new();
        for l in sorted {
            let source = l.source.abs();
            if source <= run.max(LINE as isize) {
                run += (l.extent - 1) as isize * source;
            } else {
                apart.insert(0, Loop { source, ..l });
            }
        }
        Ask {
            first: low,
            runs: Around::take(&mut apart),
            lines: (run as usize).div_ceil(LINE),
        }
    }

    /// Asks for the lines to write parts of them, where the first element is at `to`.
    pub(super) fn own(&self, to: *const u8) {
        let first = to.wrapping_offset(self.first);
        let mut owning = Owning(self.lines);
        // SAFETY: any address may be asked for.
        unsafe { self.runs.walk(first, std::ptr::null_mut(), &mut owning) };
    }
}

/// Of runs of so many lines.
struct Owning(usize);

impl Each for Owning {
    #[inline(always)]
    unsafe fn each(&mut self, run: *const u8, _: *mut u8) {
        for line in 0..self.0 {
            own(run.wrapping_add(line * LINE));
        }
    }
}

/// The lines that some items go to.
#[derive(Default)]
pub(super) struct Asked {
    /// What is left of each, last first, and the lines of its runs.
    items: SmallVec<[(Iterations, usize); 2]>,
    /// Lines that are left of all.
    count: usize,
    /// Where the runs begin that are asked for in turn, a line of each, how many they are, and the next one.
    firsts: [usize; RUNS],
    runs: usize,
    run: usize,
    /// Bytes of each of them that were asked for, and lines that are left of all.
    along: usize,
    left: usize,
}

/// Runs that are asked for in turn.
const RUNS: usize = 4;

impl Asked {
    /// Adds those of an item whose first element is at `from`.
    pub(super) fn push(&mut self, ask: &Ask, from: *const u8) {
        let first = from.wrapping_offset(ask.first);
        let runs: usize = ask.runs.loops().iter().map(|l| l.extent).product();
        self.count += runs * ask.lines;
        let iterations = ask.runs.iterations(first, std::ptr::null_mut());
        self.items.insert(0, (iterations, ask.lines));
    }

    /// Asks for the next lines, as many as there are.
    #[inline(always)]
    fn ask(&mut self, mut lines: usize) {
        while lines > 0 && (self.left > 0 || self.turn()) {
            let here = lines.min(self.left);
            for _ in 0..here {
                prefetch(self.firsts[self.run].wrapping_add(self.along) as *const u8);
                self.run += 1;
                if self.run == self.runs {
                    self.run = 0;
                    self.along += LINE;
                }
            }
            self.left -= here;
            self.count -= here;
            lines -= here;
        }
    }

    /// Goes on to the next run, if there is one.
    #[inline(never)]
    fn turn(&mut self) -> bool {
        while let Some((runs, lines)) = self.items.last_mut() {
            self.runs = 0;
            for (run, _) in runs.take(RUNS) {
                self.firsts[self.runs] = run as usize;
                self.runs += 1;
            }
            if self.runs > 0 {
                (self.run, self.along) = (0, 0);
                self.left = self.runs * *lines;
                return self.left > 0;
            }
            self.items.pop();
        }
        false
    }
}

/// What is done beside a kernel's own work: lines are streamed from a stage, and others are asked for.
pub(crate) struct Aside {
    from: *const u8,
    to: *mut u8,
    left: usize,
    asked: Asked,
    /// Lines that are streamed and asked for with each byte of work, and those that are due, in parts of `1 << PARTS`.
    rates: (u64, u64),
    due: (u64, u64),
}

const PARTS: u32 = 20;
/// Lines that are streamed before others are asked for, where nothing else is done meanwhile.
const TURN: usize = 8;

impl Aside {
    /// `from` has at least the lines of `to`, which begins on a line; both must stay until all is done.
    fn new(from: &[u8], to: &mut [u8], asked: Asked, work: usize) -> Aside {
        let left = to.len() / LINE;
        debug_assert!(from.len() >= left * LINE);
        let rate = |lines: usize| ((lines as u64) << PARTS).div_ceil(work.max(1) as u64);
        Aside {
            from: from.as_ptr(),
            to: to.as_mut_ptr(),
            left,
            rates: (rate(left), rate(asked.count)),
            asked,
            due: (0, 0),
        }
    }

    /// Does the part of it that belongs to so many bytes of work.
    ///
    /// # Safety
    ///
    /// The CPU has `V`, and the two sides are still there.
    #[inline(always)]
    pub(crate) unsafe fn step<V: Vector>(&mut self, bytes: usize) {
        self.due.1 += bytes as u64 * self.rates.1;
        self.asked.ask((self.due.1 >> PARTS) as usize);
        self.due.1 %= 1 << PARTS;
        self.due.0 += bytes as u64 * self.rates.0;
        let lines = ((self.due.0 >> PARTS) as usize).min(self.left);
        let (from, to) = (self.from, self.to);
        // SAFETY: the caller's promise; as many lines are left.
        unsafe {
            for part in (0..lines * LINE).step_by(V::BYTES) {
                V::load(from.add(part)).stream(to.add(part));
            }
            self.from = from.add(lines * LINE);
            self.to = to.add(lines * LINE);
        }
        self.left -= lines;
        self.due.0 %= 1 << PARTS;
    }

    /// Does what is left of it.
    ///
    /// # Safety
    ///
    /// The two sides are still there.
    pub(super) unsafe fn finish(mut self, isa: Isa) {
        // SAFETY: the caller's promise.
        unsafe { dispatch::aside(isa, &mut self) }
    }
}

/// Does what is left of it.
///
/// # Safety
///
/// The CPU has the set, and the two sides are still there.
pub(crate) unsafe fn finish<S: Set>(aside: &mut Aside) {
    let vector = PhantomData::<S::Wide>;
    // SAFETY: the caller's promise.
    unsafe { S::enter(Rest { aside, vector }) }
}

/// # Safety (of `work`)
///
/// As `finish`.
struct Rest<'a, V> {
    aside: &'a mut Aside,
    vector: PhantomData<V>,
}

impl<V: Vector> Work for Rest<'_, V> {
    #[inline(always)]
    unsafe fn work(self) {
        let aside = self.aside;
        // As many lines are asked for with each that is streamed as come to it.
        let work = aside.left.max(1);
        let asked = (aside.asked.count as u64) << PARTS;
        aside.rates = (1 << PARTS, asked.div_ceil(work as u64));
        for _ in 0..work.div_ceil(TURN) {
            // SAFETY: the caller's promise.
            unsafe { aside.step::<V>(TURN) };
        }
    }
}
