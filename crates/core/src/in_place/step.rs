//! The steps that an executor knows.

use std::fmt;

use super::elements::PackedElements;
use crate::plan::{Loop, SmallLoops};

/// One step on a buffer. All numbers but counts are bytes; offsets are in the buffer, or in the
/// window of the [`Each`](Step::Each) that the step is in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Batches that lie one behind another, each copied to scratch and from there back in
    /// another order.
    Stage {
        /// Where the first batch begins.
        offset: i64,
        /// How many there are.
        batches: i64,
        /// Bytes of one.
        batch: i64,
        /// How many go through scratch at a time.
        together: i64,
        /// The loops over one batch, outermost first; positions and strides are in bytes.
        loops: SmallLoops<Loop>,
    },
    /// Batches of `side` x `middle` x `side` blocks, whose outer and inner dimension change
    /// places: blocks are swapped in pairs. With a middle of 1, square matrices are transposed.
    Swap {
        /// Where the first batch begins.
        offset: i64,
        /// How many there are.
        batches: i64,
        /// Blocks along each of the two dimensions.
        side: i64,
        /// Blocks along the dimension between them.
        middle: i64,
        /// Bytes of a block.
        block: i64,
    },
    /// Batches of `rows` x `columns` blocks that become `columns` x `rows`: each block goes to its
    /// place, whose block goes to its own, until the cycle ends.
    Cycle {
        /// Where the first batch begins.
        offset: i64,
        /// How many there are.
        batches: i64,
        /// Rows of blocks before.
        rows: i64,
        /// Columns of blocks before.
        columns: i64,
        /// Bytes of a block.
        block: i64,
    },
    /// Rows of two parts each: all first parts, then all second parts.
    Part {
        /// Where the first row begins.
        offset: i64,
        /// How many rows there are.
        rows: i64,
        /// Bytes of the first part of each.
        left: i64,
        /// Bytes of the second part of each.
        right: i64,
    },
    /// The way back of [`Part`](Step::Part).
    Join {
        /// Where the first parts begin.
        offset: i64,
        /// How many rows there are.
        rows: i64,
        /// Bytes of the first part of each.
        left: i64,
        /// Bytes of the second part of each.
        right: i64,
    },
    /// The extents of a dense array change, the last one counting bytes: all but the first only
    /// shrink, or only grow. What comes in is undefined.
    Resize {
        /// Extents before, major to minor.
        from: Vec<i64>,
        /// Extents after.
        to: Vec<i64>,
    },
    /// Packed elements, one by one.
    Elements(Box<PackedElements>),
    /// Steps on one window after the other.
    Each {
        /// Where the first window begins before the step.
        source: i64,
        /// Where it begins after it.
        destination: i64,
        /// Windows.
        count: i64,
        /// Bytes of a window before.
        before: i64,
        /// Bytes of a window after. Where windows grow, the last one is the first to be done, and
        /// moves to its place before the steps; where they shrink, after them.
        after: i64,
        /// What happens in the window.
        steps: Vec<Step>,
    },
}

/// Bytes that are moved at a time where any number will do.
const PIECE: i64 = 16 << 10;

impl Step {
    /// Bytes that it moves from one place of the buffer to another, as many times as it does.
    pub fn bytes_moved(&self) -> i64 {
        match self {
            Step::Stage { batches, batch, .. } => batches * batch,
            Step::Swap {
                batches,
                side,
                middle,
                block,
                ..
            } => batches * side * (side - 1) * middle * block,
            Step::Cycle {
                batches,
                rows,
                columns,
                block,
                ..
            } => batches * rows * columns * block,
            Step::Part {
                rows, left, right, ..
            }
            | Step::Join {
                rows, left, right, ..
            } => rows * (left + right),
            Step::Resize { from, to } => {
                std::iter::zip(from, to).map(|(&a, &b)| a.min(b)).product()
            }
            Step::Elements(elements) => (elements.count() * elements.bits() + 7) / 8,
            Step::Each { count, steps, .. } => {
                // No more than the buffer in each of the steps, of which there are few.
                count.saturating_mul(steps.iter().map(Step::bytes_moved).sum())
            }
        }
    }

    /// Bytes of scratch that it takes, where there are `most`; none where it does without.
    pub(super) fn scratch(&self, most: i64) -> i64 {
        match self {
            Step::Stage {
                batch, together, ..
            } => batch * together,
            Step::Swap { .. } | Step::Elements(_) => 0,
            Step::Cycle {
                rows,
                columns,
                block,
                ..
            } => most.min(rows * columns / 8 + 8 + block.min(&PIECE)),
            Step::Part {
                rows, left, right, ..
            }
            | Step::Join {
                rows, left, right, ..
            } => most.min(rows * left.min(right)),
            Step::Resize { .. } => most.min(PIECE),
            Step::Each { steps, .. } => {
                let inner = steps.iter().map(|step| step.scratch(most));
                inner.max().unwrap_or(0)
            }
        }
    }
}

impl fmt::Display for Step {
    /// One line, in plain words; an `Each` has its steps on further lines, indented.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let batches = |count: &i64| match count {
            1 => String::new(),
            count => format!("{count} times "),
        };
        match self {
            Step::Stage {
                batches: count,
                batch,
                together,
                loops,
                ..
            } => {
                write!(
                    f,
                    "through scratch: {}{batch} bytes, {together} at a time,",
                    batches(count)
                )?;
                loops
                    .iter()
                    .try_for_each(|l| write!(f, " ({}, {}, {})", l.extent, l.source, l.destination))
            }
            Step::Swap {
                batches: count,
                side,
                middle: 1,
                block,
                ..
            } => write!(
                f,
                "swap in pairs: {}{side} x {side} blocks of {block} bytes",
                batches(count)
            ),
            Step::Swap {
                batches: count,
                side,
                middle,
                block,
                ..
            } => write!(
                f,
                "swap in pairs: {}{side} x {middle} x {side} blocks of {block} bytes",
                batches(count)
            ),
            Step::Cycle {
                batches: count,
                rows,
                columns,
                block,
                ..
            } => write!(
                f,
                "follow cycles: {}{rows} x {columns} blocks of {block} bytes",
                batches(count)
            ),
            Step::Part {
                rows, left, right, ..
            } => write!(f, "part rows: {rows} of {left} + {right} bytes"),
            Step::Join {
                rows, left, right, ..
            } => write!(f, "join rows: {rows} of {left} + {right} bytes"),
            Step::Resize { from, to } => {
                write!(f, "resize: {} to {} bytes", crossed(from), crossed(to))
            }
            Step::Elements(elements) => write!(
                f,
                "one by one: {} elements of {} bits",
                elements.count(),
                elements.bits()
            ),
            Step::Each {
                count,
                before,
                after,
                steps,
                ..
            } => {
                write!(f, "in each of {count} windows of {before}")?;
                if before != after {
                    write!(f, " to {after}")?;
                }
                f.write_str(" bytes:")?;
                for step in steps {
                    for line in step.to_string().lines() {
                        write!(f, "\n  {line}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

fn crossed(extents: &[i64]) -> String {
    let texts: Vec<String> = extents.iter().map(i64::to_string).collect();
    texts.join(" x ")
}
