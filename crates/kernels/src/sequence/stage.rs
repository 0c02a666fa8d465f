//! Bands that are put together in the caches, and written to memory from there.
//!
//! Where items share the lines of the destination, each would write a part of every line: memory would be asked for the
//! line first, and written in pieces. So the items of such a band write to a stage, by ordinary stores, and whole lines
//! are streamed from there. Meanwhile the source of the next band is asked for, from front to back.

use std::marker::PhantomData;

use crate::around::{Around, Each};
use crate::dispatch;
use crate::isa::Isa;
use crate::nest::{Loop, Loops};
use crate::simd::{LINE, Set, Vector, Work, own, prefetch};

/// The most bytes of a band that is staged.
pub(super) const STAGE: usize = 32 << 10;

/// Room for a band, wherever in a line it starts.
#[repr(align(64))]
pub(super) struct Stage([u8; STAGE + LINE]);

impl Stage {
    pub(super) fn new() -> Stage {
        Stage([0; STAGE + LINE])
    }

    /// Where a band lies that will be written to this address.
    pub(super) fn place(&mut self, to: *const u8) -> &mut [u8] {
        &mut self.0[to as usize % LINE..]
    }
}

/// The lines of one side that an item goes to.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    /// From the item's first element to the first line.
    first: isize,
    lines: Around,
    count: usize,
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
        apart.push(Loop {
            extent: (run as usize).div_ceil(LINE),
            source: LINE as isize,
            destination: 0,
        });
        let lines = Around::take(&mut apart);
        Ask {
            first: low,
            count: lines.loops().iter().map(|l| l.extent).product(),
            lines,
        }
    }

    /// Asks for the lines to write parts of them, where the first element is at `to`.
    pub(super) fn own(&self, to: *const u8) {
        let first = to.wrapping_offset(self.first);
        // SAFETY: any address may be asked for.
        unsafe {
            self.lines.walk(first, std::ptr::null_mut(), &mut Owning);
        }
    }
}

struct Owning;

impl Each for Owning {
    #[inline(always)]
    unsafe fn each(&mut self, line: *const u8, _: *mut u8) {
        own(line);
    }
}

/// Writes a band from its stage to memory, both in the same place of a line, and asks meanwhile for what the items of
/// the next one read from these addresses on.
pub(super) fn write<'a>(
    isa: Isa,
    stage: &[u8],
    to: &mut [u8],
    next: impl Iterator<Item = (&'a Ask, *const u8)> + Clone,
) {
    let (stage, to) = (&stage[..to.len()], to);
    let head = to.as_ptr().align_offset(LINE).min(to.len());
    let (first, rest) = to.split_at_mut(head);
    first.copy_from_slice(&stage[..head]);
    let count = rest.len() / LINE;
    let (lines, last) = rest.split_at_mut(count * LINE);
    last.copy_from_slice(&stage[stage.len() - last.len()..]);
    let stage = &stage[head..head + count * LINE];
    let asked: usize = next.clone().map(|(ask, _)| ask.count).sum();
    let (mut done, mut sum) = (0, 0);
    for (ask, from) in next {
        sum += ask.count;
        let end = count * sum / asked;
        let here = LINE * done..LINE * end;
        let out = Out {
            stage: &stage[here.clone()],
            to: &mut lines[here],
            next: Some((ask, from.wrapping_offset(ask.first))),
        };
        // SAFETY: whole lines of two slices of one length, the second from a line on.
        unsafe { dispatch::staged_lines(isa, out) };
        done = end;
    }
    let here = LINE * done..;
    let out = Out {
        stage: &stage[here.clone()],
        to: &mut lines[here],
        next: None,
    };
    // SAFETY: as before.
    unsafe { dispatch::staged_lines(isa, out) };
}

/// Whole lines of a stage.
pub(crate) struct Out<'a> {
    stage: &'a [u8],
    to: &'a mut [u8],
    next: Option<(&'a Ask, *const u8)>,
}

/// Streams lines.
///
/// # Safety
///
/// The CPU has the set. Both slices have the same number of lines, and `to` starts on one.
pub(crate) unsafe fn lines<S: Set>(out: Out<'_>) {
    let work = Lines::<S::Wide> {
        from: out.stage.as_ptr(),
        to: out.to.as_mut_ptr(),
        left: out.to.len() / LINE,
        each: out.to.len() / LINE,
        due: 0,
        next: out.next,
        vector: PhantomData,
    };
    // SAFETY: the caller's promise.
    unsafe { S::enter(work) }
}

/// # Safety (of `work`)
///
/// As `lines`, for `left` lines.
struct Lines<'a, V> {
    from: *const u8,
    to: *mut u8,
    left: usize,
    /// How many lines are streamed while as many are asked for as there are, and how many of them are due.
    each: usize,
    due: usize,
    next: Option<(&'a Ask, *const u8)>,
    vector: PhantomData<V>,
}

impl<V: Vector> Work for Lines<'_, V> {
    #[inline(always)]
    unsafe fn work(mut self) {
        // SAFETY: the caller's promise; as many lines are streamed as are left.
        unsafe {
            if let Some((ask, from)) = self.next {
                ask.lines.walk(from, std::ptr::null_mut(), &mut self);
            }
            while self.left > 0 {
                self.stream();
            }
        }
    }
}

impl<V: Vector> Lines<'_, V> {
    /// # Safety
    ///
    /// A line is left.
    #[inline(always)]
    unsafe fn stream(&mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            for part in (0..LINE).step_by(V::BYTES) {
                V::load(self.from.add(part)).stream(self.to.add(part));
            }
            self.from = self.from.add(LINE);
            self.to = self.to.add(LINE);
        }
        self.left -= 1;
    }
}

impl<V: Vector> Each for Lines<'_, V> {
    #[inline(always)]
    unsafe fn each(&mut self, from: *const u8, _: *mut u8) {
        prefetch(from);
        self.due += self.each;
        let count = self.next.map_or(1, |(ask, _)| ask.count);
        while self.due >= count {
            self.due -= count;
            // SAFETY: over all lines that are asked for, `each` are due: those that were left at first.
            unsafe { self.stream() };
        }
    }
}
