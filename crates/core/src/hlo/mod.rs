//! HLO: what a module of XLA, or a TPU compiler's report of its memory, says about arrays.

mod module;
mod reader;

use crate::text::ParseErrorReason;

pub use module::{
    Attribute, Called, Computation, Instruction, Module, Operand, Table, WrittenShape,
};

/// Lines of a text that can't be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {column}: {reason}", .lines.1)]
pub struct Unread {
    /// The first line and the last, from 1. The error is in the last.
    lines: (usize, usize),
    column: usize,
    reason: ParseErrorReason,
}

impl Unread {
    /// The first of the lines that were given up, from 1.
    pub fn first_line(&self) -> usize {
        self.lines.0
    }

    /// The line at fault, which is the last one given up.
    pub fn line(&self) -> usize {
        self.lines.1
    }

    /// Where in the line: from 1, in characters.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong there.
    pub fn reason(&self) -> &ParseErrorReason {
        &self.reason
    }
}
