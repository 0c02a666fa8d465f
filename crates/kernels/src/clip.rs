//! What of a nest falls into a window of the destination, as whole boxes.
//!
//! A nest whose destination strides are sorted is a box of boxes. Along its outermost loop the iterations that lie
//! wholly inside the window are one range, so they are one box; those that hang over an edge are few, at the two
//! ends, and each is a nest with a loop less.

use crate::error::NestError;
use crate::nest::{Loop, Nest};

/// One box of the clipped nest: `head` is the loop of the nest that was cut (absent when nothing was), `rest` the
/// loops inside it. Offsets are in bytes from the starts of the whole buffers.
pub(crate) struct Part<'a> {
    pub(crate) source: isize,
    pub(crate) destination: isize,
    pub(crate) head: Option<Loop>,
    pub(crate) rest: &'a [Loop],
}

/// Calls `emit` for boxes that together are exactly the elements inside bytes `start..end` of the destination.
///
/// Every box lies wholly inside the window. Fails if an element lies across an edge, possibly after some calls.
pub(crate) fn clip<'a>(
    nest: &'a Nest,
    start: usize,
    end: usize,
    emit: &mut dyn FnMut(Part<'a>),
) -> Result<(), NestError> {
    if nest.bytes == 0 {
        return Ok(());
    }
    // Positions are at most isize::MAX, so clamping the window to that changes nothing.
    let clamp = |byte: usize| isize::try_from(byte).unwrap_or(isize::MAX);
    let window = Window {
        start: clamp(start),
        end: clamp(end),
        width: nest.width,
    };
    let span = nest
        .loops
        .iter()
        .map(|l| (l.extent - 1) as isize * l.destination)
        .sum::<isize>();
    window.clip(
        &nest.loops,
        nest.source,
        nest.destination,
        span + nest.width as isize,
        emit,
    )
}

struct Window {
    start: isize,
    end: isize,
    width: usize,
}

impl Window {
    /// `span` is the number of bytes from the first to past the last byte that `loops` touch in the destination.
    fn clip<'a>(
        &self,
        loops: &'a [Loop],
        source: isize,
        destination: isize,
        span: isize,
        emit: &mut dyn FnMut(Part<'a>),
    ) -> Result<(), NestError> {
        if destination >= self.end || destination + span <= self.start {
            return Ok(());
        }
        if destination >= self.start && destination + span <= self.end {
            emit(Part {
                source,
                destination,
                head: None,
                rest: loops,
            });
            return Ok(());
        }
        let Some((&first, rest)) = loops.split_first() else {
            let edge = if destination < self.start {
                self.start
            } else {
                self.end
            };
            return Err(NestError::CutElement {
                element: destination as usize,
                width: self.width,
                edge: edge as usize,
            });
        };
        let step = first.destination;
        if step == 0 {
            // Positions that are written more than once: any writer may be the last, so one is enough.
            return self.clip(rest, source, destination, span, emit);
        }
        let extent = first.extent as isize;
        let inner = span - (extent - 1) * step;
        // Iterations that overlap the window, and those of them that lie inside it. All numerators are bounded by
        // the reach of the nest or by a slice's length.
        let before = self.start - destination;
        let after = self.end - destination;
        let touched = (
            if before < inner {
                0
            } else {
                (before - inner) / step + 1
            },
            ceiling(after, step).min(extent),
        );
        let inside = (
            ceiling(before.max(0), step),
            if after < inner {
                0
            } else {
                ((after - inner) / step + 1).min(extent)
            },
        );
        let one = |i: isize, emit: &mut dyn FnMut(Part<'a>)| {
            self.clip(
                rest,
                source + i * first.source,
                destination + i * step,
                inner,
                emit,
            )
        };
        if inside.0 >= inside.1 {
            return (touched.0..touched.1).try_for_each(|i| one(i, emit));
        }
        (touched.0..inside.0).try_for_each(|i| one(i, emit))?;
        emit(Part {
            source: source + inside.0 * first.source,
            destination: destination + inside.0 * step,
            head: Some(Loop {
                extent: (inside.1 - inside.0) as usize,
                ..first
            }),
            rest,
        });
        (inside.1..touched.1).try_for_each(|i| one(i, emit))
    }
}

/// The quotient rounded up, for a numerator that is not negative and a positive divisor.
fn ceiling(numerator: isize, divisor: isize) -> isize {
    numerator / divisor + (numerator % divisor != 0) as isize
}
