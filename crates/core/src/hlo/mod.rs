//! HLO: what a module of XLA, or a TPU compiler's report of its memory, says about arrays.
//!
//! [`Document::read`] takes either, [`Analysis::of`] says what is allocated, what of it is
//! padding and which orders of the dimensions would waste least, and which instructions only
//! move elements.

mod analysis;
mod explanation;
mod memory;
mod module;
mod reader;
mod relayout;
mod report;
mod scope;
mod tiles;

use crate::text::{ParseErrorReason, quote};

pub use analysis::{Analysis, Padded, Sum, Usage};
pub use explanation::Explanation;
pub use memory::Memory;
pub use module::{
    Attribute, Called, Computation, Instruction, Module, Operand, Table, WrittenShape,
};
pub use reader::Label;
pub use relayout::Relayout;
pub use report::{Allocation, Report, Total};
pub use tiles::usual_tiles;

/// What a text holds: a module, or a report of memory.
#[derive(Clone, Debug)]
pub enum Document<'a> {
    /// A module of HLO, or a part of one.
    Module(Module<'a>),
    /// A TPU compiler's report of memory, in a log.
    Report(Report<'a>),
}

impl<'a> Document<'a> {
    /// Reads a text: the report, if it holds the list of one; a module otherwise. What can't be
    /// read in it is listed by [`Module::unread`] and [`Report::unread`].
    ///
    /// # Errors
    ///
    /// [`Unread`] if the text holds neither: what is wrong with its first line.
    pub fn read(text: &'a str) -> Result<Document<'a>, Unread> {
        if Report::is_in(text) {
            return Ok(Document::Report(Report::read(text)));
        }
        let module = Module::read(text);
        if !module.computations().is_empty() || module.name().is_some() {
            return Ok(Document::Module(module));
        }
        let space = text.len() - text.trim_start().len();
        let first = text[space..].lines().next().unwrap_or("").trim_end();
        let is_mlir = text.contains("stablehlo.") || first.starts_with("module @");
        let (expected, found) = match first {
            _ if is_mlir => (
                "HLO (from JAX: `lowered.as_text(dialect=\"hlo\")` or `compiled.as_text()`)",
                "MLIR".to_owned(),
            ),
            "" => (NEITHER, "the end".to_owned()),
            _ => (NEITHER, format!("`{}`", quote(first))),
        };
        let line = text[..space].matches('\n').count() + 1;
        let line_start = text[..space].rfind('\n').map_or(0, |at| at + 1);
        Err(Unread {
            lines: (line, line),
            column: text[line_start..space].chars().count() + 1,
            reason: ParseErrorReason::Unexpected { expected, found },
        })
    }
}

/// What a text is expected to be that is something else.
const NEITHER: &str = "an HLO module, or a TPU compiler's report of its largest allocations";

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
