//! A pass over memory: runs at any strides, each written anew in one or more ways.

use super::rewrite::{Place, Runs};
use super::way::Way;
use crate::isa::Isa;
use crate::nest::Loop;

/// Elements that are kept between two ways.
const PIECE: usize = 512;

/// Room for a piece of the widest elements.
#[repr(align(64))]
struct Stage([u8; 16 * PIECE]);

#[derive(Debug, Clone)]
pub(crate) struct Pass {
    /// One after the other, at least one.
    ways: Vec<Way>,
    /// Loops around the runs; strides in bits.
    outer: Vec<Loop>,
    /// Bits of an element before and after.
    bits: (usize, usize),
    /// Elements in a run.
    run: usize,
    stream: bool,
    isa: Isa,
}

impl Pass {
    /// `bits` are those of an element on either side, of which a way may see several parts.
    pub(crate) fn new(
        ways: &[Way],
        bits: (usize, usize),
        outer: Vec<Loop>,
        run: usize,
        stream: bool,
        isa: Isa,
    ) -> Pass {
        Pass {
            ways: ways.to_vec(),
            outer,
            bits,
            run,
            stream,
            isa,
        }
    }

    /// Elements in a run.
    pub(crate) fn run_length(&self) -> usize {
        self.run
    }

    /// Writes all runs anew.
    ///
    /// # Safety
    ///
    /// The runs of all iterations are readable and writable from these places on, of the destination the whole bytes
    /// that have bits of one; the two do not overlap.
    ///
    /// What is read next is `next` bits further, or that is not known and 0.
    pub(crate) unsafe fn run(&self, from: Place<*const u8>, to: Place<*mut u8>, next: isize) {
        let (&each, outer) = self.outer.split_last().unwrap_or((
            &Loop {
                extent: 1,
                source: 0,
                destination: 0,
            },
            &[],
        ));
        walk(outer, from, to, &mut |from, to| {
            // SAFETY: iterations of the outer loops.
            unsafe {
                match self.ways[..] {
                    [way] => {
                        let runs = Runs {
                            each,
                            run: self.run * self.bits.0 / way.bits().0,
                            stream: self.stream,
                            next,
                        };
                        way.run(self.isa, runs, from, to);
                    }
                    _ => {
                        for i in 0..each.extent as isize {
                            self.in_pieces(
                                from.step(i * each.source),
                                to.step(i * each.destination),
                            );
                        }
                    }
                }
            }
        });
    }

    /// Several ways, a piece at a time.
    ///
    /// # Safety
    ///
    /// As `run`, for one run.
    unsafe fn in_pieces(&self, from: Place<*const u8>, to: Place<*mut u8>) {
        let mut stages = [Stage([0; 16 * PIECE]), Stage([0; 16 * PIECE])];
        let last = self.ways.len() - 1;
        let mut done = 0;
        while done < self.run {
            let count = PIECE.min(self.run - done);
            let mut source = from.step((done * self.bits.0) as isize);
            let mut width = self.bits.0;
            for (i, &way) in self.ways.iter().enumerate() {
                let destination = if i == last {
                    to.step((done * self.bits.1) as isize)
                } else {
                    Place {
                        base: stages[i % 2].0.as_mut_ptr(),
                        bit: 0,
                    }
                };
                let (before, after) = way.bits();
                let parts = width / before;
                let runs = Runs {
                    each: Loop {
                        extent: 1,
                        source: 0,
                        destination: 0,
                    },
                    run: count * parts,
                    stream: self.stream && i == last,
                    next: 0,
                };
                // SAFETY: a piece of the run; a stage holds a piece of elements of up to 16 bytes, and is not the one
                // that the way before wrote.
                unsafe { way.run(self.isa, runs, source, destination) };
                width = parts * after;
                source = Place {
                    base: destination.base.cast_const(),
                    bit: destination.bit,
                };
            }
            done += count;
        }
    }
}

/// Calls `f` with the places of every iteration, the last loop fastest.
pub(crate) fn walk(
    loops: &[Loop],
    from: Place<*const u8>,
    to: Place<*mut u8>,
    f: &mut impl FnMut(Place<*const u8>, Place<*mut u8>),
) {
    match loops.split_first() {
        None => f(from, to),
        Some((l, inner)) => {
            for i in 0..l.extent as isize {
                walk(
                    inner,
                    from.step(i * l.source),
                    to.step(i * l.destination),
                    f,
                );
            }
        }
    }
}
