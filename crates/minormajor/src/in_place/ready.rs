//! Steps with their kernels.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use minormajor_core::{PackedElements, Step};
use minormajor_kernels::{Crew, Cycle, Loop, NestError, Resize, Rows, Stage, Swap};

use super::InPlaceError;
use super::crew::alone;
use super::elements;

/// A step and the bytes of the buffer, or of the window, on which it works.
#[derive(Clone, Debug)]
pub(super) enum Ready {
    Stage(Range<usize>, Box<Stage>),
    Swap(Range<usize>, Swap),
    Cycle(Range<usize>, Cycle),
    Part(Range<usize>, Rows),
    Join(Range<usize>, Rows),
    Resize(Resize),
    Elements(Box<PackedElements>),
    Each(Windows),
}

/// Windows that are moved and worked on one by one.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    source: usize,
    destination: usize,
    count: usize,
    before: usize,
    after: usize,
    steps: Vec<Ready>,
}

impl Ready {
    /// The step of a plan whose buffer's bytes fit an `isize`, so that all of its numbers do; on
    /// threads that have so much scratch.
    pub fn new(step: &Step, scratch: usize) -> Result<Ready, NestError> {
        let size = |value: &i64| *value as usize;
        let range = |offset: &i64, batches: i64| size(offset)..size(&(offset + batches));
        Ok(match step {
            Step::Stage {
                offset,
                batches,
                batch,
                together,
                loops,
            } => {
                let loops: Vec<Loop> = loops
                    .iter()
                    .map(|l| Loop {
                        extent: size(&l.extent),
                        source: l.source as isize,
                        destination: l.destination as isize,
                    })
                    .collect();
                let stage = Stage::new(size(batch), size(together), &loops, 0, 0)?;
                Ready::Stage(range(offset, batches * batch), Box::new(stage))
            }
            Step::Swap {
                offset,
                batches,
                side,
                middle,
                block,
            } => Ready::Swap(
                range(offset, batches * side * middle * side * block),
                Swap::new(size(side), size(middle), size(block))?,
            ),
            Step::Cycle {
                offset,
                batches,
                rows,
                columns,
                block,
            } => Ready::Cycle(
                range(offset, batches * rows * columns * block),
                Cycle::new(size(rows), size(columns), size(block))?,
            ),
            Step::Part {
                offset,
                rows,
                left,
                right,
            } => Ready::Part(
                range(offset, rows * (left + right)),
                Rows::new(size(rows), size(left), size(right))?,
            ),
            Step::Join {
                offset,
                rows,
                left,
                right,
            } => Ready::Join(
                range(offset, rows * (left + right)),
                Rows::new(size(rows), size(left), size(right))?,
            ),
            Step::Resize { from, to } => {
                let sizes = |extents: &[i64]| extents.iter().map(size).collect::<Vec<usize>>();
                Ready::Resize(Resize::new(&sizes(from), &sizes(to), scratch)?)
            }
            Step::Elements(elements) => Ready::Elements(elements.clone()),
            Step::Each {
                source,
                destination,
                count,
                before,
                after,
                steps,
            } => Ready::Each(Windows {
                source: size(source),
                destination: size(destination),
                count: size(count),
                before: size(before),
                after: size(after),
                steps: steps
                    .iter()
                    .map(|step| Ready::new(step, scratch))
                    .collect::<Result<_, _>>()?,
            }),
            step => unreachable!("a step without a kernel: {step}"),
        })
    }

    pub fn run(&self, buffer: &mut [u8], crew: Crew<'_>) -> Result<(), InPlaceError> {
        match self {
            Ready::Stage(range, stage) => stage.run(&mut buffer[range.clone()], crew)?,
            Ready::Swap(range, swap) => swap.run(&mut buffer[range.clone()], crew)?,
            Ready::Cycle(range, cycle) => cycle.run(&mut buffer[range.clone()], crew)?,
            Ready::Part(range, rows) => rows.part(&mut buffer[range.clone()], crew)?,
            Ready::Join(range, rows) => rows.join(&mut buffer[range.clone()], crew)?,
            Ready::Resize(resize) => resize.run(buffer, crew)?,
            Ready::Elements(elements) => elements::run(elements, buffer),
            Ready::Each(windows) => windows.run(buffer, crew)?,
        }
        Ok(())
    }
}

impl Windows {
    fn run(&self, buffer: &mut [u8], crew: Crew<'_>) -> Result<(), InPlaceError> {
        let result = Mutex::new(Ok(()));
        let failed = |error| *result.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
        if self.before == self.after && self.source == self.destination {
            let range = self.source..self.source + self.count * self.before;
            let queue = Mutex::new(buffer[range].chunks_mut(self.before));
            crew(&|scratch| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(window) = next else {
                        return;
                    };
                    if let Err(error) = self.steps(window, scratch) {
                        return failed(error);
                    }
                }
            });
        } else {
            // One after the other, since a window may lie where another will.
            let buffer = Mutex::new(Some(buffer));
            crew(&|scratch| {
                let taken = buffer.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(buffer) = taken
                    && let Err(error) = self.in_turn(buffer, scratch)
                {
                    failed(error);
                }
            });
        }
        result.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_turn(&self, buffer: &mut [u8], scratch: &mut [u8]) -> Result<(), InPlaceError> {
        let (before, after) = (self.before, self.after);
        for number in 0..self.count {
            if self.after > self.before {
                let number = self.count - 1 - number;
                let source = self.source + number * before;
                let destination = self.destination + number * after;
                buffer.copy_within(source..source + before, destination);
                self.steps(&mut buffer[destination..destination + after], scratch)?;
            } else {
                let source = self.source + number * before;
                let destination = self.destination + number * after;
                self.steps(&mut buffer[source..source + before], scratch)?;
                buffer.copy_within(source..source + after, destination);
            }
        }
        Ok(())
    }

    fn steps(&self, window: &mut [u8], scratch: &mut [u8]) -> Result<(), InPlaceError> {
        let mut steps = self.steps.iter();
        steps.try_for_each(|step| alone(scratch, |crew| step.run(window, crew)))
    }
}
