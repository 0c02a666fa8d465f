//! Boxes to move and to fill: what a plan is made of.

use std::fmt;

use smallvec::SmallVec;

use super::nest::{FillLoop, Loop, canonical};
use crate::layout::PaddingValue;

/// A box of elements to move: a loop nest, outermost loop first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveBox {
    /// Position of its first unit in the source.
    pub source: i64,
    /// Position of its first unit in the destination.
    pub destination: i64,
    /// The loops; none for a single unit.
    pub loops: SmallLoops<Loop>,
}

/// A box of the destination to fill, outermost loop first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillBox {
    /// Position of its first unit.
    pub destination: i64,
    /// The loops; none for a single unit.
    pub loops: SmallLoops<FillLoop>,
    /// What a unit holds: its bytes at the front, or a packed one in the lowest bits.
    pub pattern: [u8; 16],
    /// The name of the value; zero for the bytes behind an element that is stored wider than
    /// its type, and for what packed elements leave of the last byte.
    pub value: PaddingValue,
}

/// A short list of loops, read as a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallLoops<L>(pub(super) SmallVec<[L; 6]>);

impl SmallLoops<Loop> {
    /// The loops in their one canonical form.
    pub(crate) fn canonical(mut loops: SmallVec<[Loop; 6]>) -> SmallLoops<Loop> {
        canonical(&mut loops);
        SmallLoops(loops)
    }
}

impl<L> std::ops::Deref for SmallLoops<L> {
    type Target = [L];

    fn deref(&self) -> &[L] {
        &self.0
    }
}

impl MoveBox {
    /// Both at once: one loop nest inside the other.
    pub(super) fn with(&self, other: &MoveBox) -> MoveBox {
        let mut both = self.clone();
        both.add(other);
        both
    }

    /// Puts the other's loop nest inside this one's.
    pub(super) fn add(&mut self, other: &MoveBox) {
        self.source += other.source;
        self.destination += other.destination;
        self.loops.0.extend_from_slice(&other.loops);
    }

    /// Units that it moves.
    pub fn units(&self) -> i64 {
        self.loops.iter().map(|l| l.extent).product()
    }
}

impl FillBox {
    /// Units that it fills.
    pub fn units(&self) -> i64 {
        self.loops.iter().map(|l| l.extent).product()
    }
}

impl fmt::Display for MoveBox {
    /// Loops as `(extent, source stride, destination stride)`, outermost first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {} to {}", self.source, self.destination)?;
        if !self.loops.is_empty() {
            f.write_str(":")?;
        }
        for l in self.loops.iter() {
            write!(f, " ({}, {}, {})", l.extent, l.source, l.destination)?;
        }
        Ok(())
    }
}

impl fmt::Display for FillBox {
    /// Loops as `(extent, destination stride)`, outermost first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.value, self.destination)?;
        if !self.loops.is_empty() {
            f.write_str(":")?;
        }
        for l in self.loops.iter() {
            write!(f, " ({}, {})", l.extent, l.destination)?;
        }
        Ok(())
    }
}
