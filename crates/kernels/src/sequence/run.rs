//! Running a sequence over a window of the destination.

use std::ptr::NonNull;

use super::stage::{Asked, Stage};
use super::{Band, DEPTH, Kind, Node, Sequence};
use crate::error::NestError;
use crate::simd::LINE;

/// The bytes that the loops around are from where they start.
fn offset(indices: &[isize], steps: &[isize; DEPTH]) -> isize {
    std::iter::zip(indices, steps)
        .map(|(i, step)| i * step)
        .sum()
}

/// One run over a window.
pub(super) struct Run<'a> {
    sequence: &'a Sequence,
    source: &'a [u8],
    window: &'a mut [u8],
    start: isize,
    /// Those of the loops around, and where they end.
    indices: [isize; DEPTH],
    extents: [isize; DEPTH],
    /// The band that was staged last in each room, and where in a line: what it repeats is still there.
    held: [Option<(&'a Band, usize)>; 2],
}

impl<'a> Run<'a> {
    /// The window starts `start` bytes into the destination.
    pub(super) fn new(
        sequence: &'a Sequence,
        source: &'a [u8],
        window: &'a mut [u8],
        start: isize,
    ) -> Run<'a> {
        Run {
            sequence,
            source,
            window,
            start,
            indices: [0; DEPTH],
            extents: [1; DEPTH],
            held: [None; 2],
        }
    }

    /// What starts in bytes `first..end` of the destination.
    pub(super) fn all(
        &mut self,
        first: isize,
        end: isize,
        mut stage: Option<&mut Stage>,
    ) -> Result<(), NestError> {
        for node in &self.sequence.nodes {
            if node.end <= first || node.start >= end {
                continue;
            }
            let Kind::Loop { extent, step, body } = &node.kind else {
                self.node(node, 0, 0, stage.as_deref_mut())?;
                continue;
            };
            let from = ((first - node.start).max(0) + step - 1) / step;
            let to = ((end - node.start + step - 1) / step).min(*extent as isize);
            self.extents[0] = to;
            for i in from..to {
                self.indices[0] = i;
                for inner in body {
                    self.node(inner, node.start + i * step, 1, stage.as_deref_mut())?;
                }
            }
        }
        if let Some(stage) = stage {
            self.leave(stage, Asked::default());
        }
        Ok(())
    }

    /// Writes what is put together in a stage, and asks for lines meanwhile.
    fn leave(&mut self, stage: &mut Stage, asked: Asked) {
        let aside = stage.leave(self.window, asked, 1);
        // SAFETY: neither the window nor the room is touched before all is done.
        unsafe { aside.finish(self.sequence.isa) };
    }

    /// `at` is where the iteration of the loops around starts, `depth` their number.
    fn node(
        &mut self,
        node: &'a Node,
        at: isize,
        depth: usize,
        mut stage: Option<&mut Stage>,
    ) -> Result<(), NestError> {
        match &node.kind {
            Kind::Band(band) => match stage {
                Some(stage) if band.staged => {
                    self.staged(band, (node.start, node.end), at, depth, stage)
                }
                _ => self.band(band, at, depth),
            },
            Kind::Loop { extent, step, body } => {
                self.extents[depth] = *extent as isize;
                for i in 0..*extent as isize {
                    self.indices[depth] = i;
                    for inner in body {
                        self.node(
                            inner,
                            at + node.start + i * step,
                            depth + 1,
                            stage.as_deref_mut(),
                        )?;
                    }
                }
                Ok(())
            }
        }
    }

    fn band(&mut self, band: &Band, at: isize, depth: usize) -> Result<(), NestError> {
        let on = |steps: &[isize; DEPTH]| offset(&self.indices[..depth], steps);
        // The next iteration's source is asked for while this one's is moved; of the last one its own, which is there.
        let then = self.next(depth).unwrap_or(self.indices);
        let next = |steps: &[isize; DEPTH]| offset(&then[..depth], steps);
        let mut upcoming = self.source.as_ptr();
        if let Some(ahead) = &band.ahead {
            upcoming = upcoming.wrapping_offset(ahead.start + next(&ahead.steps));
        }
        for leaf in &band.leaves {
            if let Some(own) = &leaf.own {
                let to = leaf.destination + at - self.start;
                own.own(self.window.as_ptr().wrapping_offset(to));
            }
        }
        for leaf in &band.leaves {
            let source: &[u8] = match leaf.pattern {
                Some(i) => &self.sequence.patterns[i],
                None => self.source,
            };
            let from = leaf.source + on(&leaf.steps);
            let to = leaf.destination + at - self.start;
            let inside = from + leaf.reach.0 >= 0
                && from + leaf.reach.1 <= source.len() as isize
                && to >= 0
                && to + leaf.length <= self.window.len() as isize;
            if !inside {
                return Err(self.cut(to, leaf.length as usize));
            }
            // SAFETY: the leaf's loops reach `reach` bytes around its first element in the source and `length` from there
            // on in the destination, the gaps behind its columns included, which were just compared with the slices. These do
            // not overlap: one is exclusive.
            unsafe {
                let source = source.as_ptr().offset(from);
                // What is not asked for from front to back is where the leaf goes on.
                let upcoming = match band.ahead {
                    Some(_) => upcoming,
                    None => source.wrapping_offset(next(&leaf.steps) - on(&leaf.steps)),
                };
                let to = self.window.as_mut_ptr().offset(to);
                leaf.prepared.run_before(source, to, upcoming, None);
            }
            if leaf.pattern.is_none() {
                upcoming = upcoming.wrapping_add(leaf.bytes);
            }
        }
        Ok(())
    }

    /// As `band`, by way of a stage.
    fn staged(
        &mut self,
        band: &'a Band,
        (start, end): (isize, isize),
        at: isize,
        depth: usize,
        stage: &mut Stage,
    ) -> Result<(), NestError> {
        let first = at + start - self.start;
        let length = (end - start) as usize;
        let range = usize::try_from(first).ok();
        let range = range.map(|first| first..first + length);
        let Some(range) = range.filter(|range| range.end <= self.window.len()) else {
            return Err(self.cut(first, length));
        };
        let asked = self.asked(band, depth);
        let work = band.leaves.iter().map(|leaf| leaf.bytes).sum();
        let (early, late) = if stage.is_wide() {
            (asked, None)
        } else {
            (Asked::default(), Some(asked))
        };
        let to = self.window[range.clone()].as_ptr();
        // What was put together before, in the other room.
        let mut aside = stage.leave(self.window, early, work);
        let held = &mut self.held[stage.turn()];
        let place = (band, to as usize % LINE);
        let repeats = held.is_some_and(|(held, line)| std::ptr::eq(held, band) && line == place.1);
        *held = Some(place);
        let staged = stage.place(to);
        for leaf in &band.leaves {
            if leaf.pattern.is_some() && repeats {
                continue;
            }
            let source: &[u8] = match leaf.pattern {
                Some(i) => &self.sequence.patterns[i],
                None => self.source,
            };
            let from = leaf.source + offset(&self.indices[..depth], &leaf.steps);
            let within = leaf.destination - start;
            let inside = from + leaf.reach.0 >= 0
                && from + leaf.reach.1 <= source.len() as isize
                && within >= 0
                && within + leaf.length <= length as isize
                && length <= staged.len();
            if !inside {
                return Err(self.cut(first, length));
            }
            // SAFETY: the leaf's loops reach `reach` bytes around its first element in the source and `length` from there
            // on in the destination, which were just compared with the source and the stage. The window and the other
            // room stay as they are meanwhile.
            unsafe {
                let source = source.as_ptr().offset(from);
                let to = staged.as_mut_ptr().offset(within);
                let beside = Some(NonNull::from(&mut aside));
                leaf.prepared.run_before(source, to, source, beside);
            }
        }
        // SAFETY: as before.
        unsafe { aside.finish(self.sequence.isa) };
        stage.fill(range);
        if let Some(asked) = late {
            self.leave(stage, asked);
        }
        Ok(())
    }

    /// Where so many loops around go next; `None` at their end.
    fn next(&self, depth: usize) -> Option<[isize; DEPTH]> {
        let mut indices = self.indices;
        let more = (0..depth).rev().any(|d| {
            indices[d] = (indices[d] + 1) % self.extents[d];
            indices[d] > 0
        });
        more.then_some(indices)
    }

    /// What a band reads where the loops around go next; at their end there is nothing to ask for.
    fn asked(&self, band: &Band, depth: usize) -> Asked {
        let mut asked = Asked::default();
        let Some(indices) = self.next(depth) else {
            return asked;
        };
        for leaf in &band.leaves {
            if let Some(ask) = &leaf.ask {
                let from = leaf.source + offset(&indices[..depth], &leaf.steps);
                asked.push(ask, self.source.as_ptr().wrapping_offset(from));
            }
        }
        asked
    }

    /// Of `length` bytes that the window, from byte `first` of it on, does not have.
    fn cut(&self, first: isize, length: usize) -> NestError {
        NestError::CutElement {
            element: (first + self.start) as usize,
            width: length,
            edge: (self.start + self.window.len() as isize) as usize,
        }
    }
}
