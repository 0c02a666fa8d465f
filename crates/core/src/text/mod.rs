//! XLA's text for shapes and layouts, read and written.
//!
//! The grammar is that of XLA's HLO parser and printer, with two changes: `PAD(3,5;lowest)`
//! after XLA's properties gives padded widths and the padding value, and what no valid shape
//! has (`D`, `#`, `*`, `P`) is an error that names it.
//!
//! ```text
//! shape  := "(" [shape {"," shape}] ")" | "b(" array ")" | array | ("token" | "opaque") "[]"
//! array  := type "[" [dim {"," dim}] "]" [layout]         dim := int | "<=" int | "?"
//! layout := "{" [int {"," int}] [":" props] "}"
//! props  := [T][L][E][S][SC][M][PAD]                      in this order, each at most once
//! T      := "T" tile {tile}       tile := "(" td {"," td} ")"       td := int | "*"
//! L      := "L(" int ")"          E, S and M alike
//! SC     := "SC" {"(" int ":" int {"," int} ")"}
//! PAD    := "PAD(" int {"," int} [";" value] ")"
//! ```
//!
//! White space and comments (`/* */`, `//`) may stand between any two tokens.

mod cursor;
mod parser;
mod printer;

use crate::ElementType;
use crate::element_type::or_meant;
use crate::error::ShapeError;
use crate::sharding::ShardingError;

pub(crate) use cursor::{Cursor, quote};
pub use parser::ParseOptions;
pub(crate) use parser::Parser;

/// Why a text is no shape or layout, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct ParseError {
    column: usize,
    reason: ParseErrorReason,
}

impl ParseError {
    /// Where the error is: 1-based, in characters of the whole text; one past the last
    /// character for a text that ends too early.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong there.
    pub fn reason(&self) -> &ParseErrorReason {
        &self.reason
    }

    pub(crate) fn into_reason(self) -> ParseErrorReason {
        self.reason
    }
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorReason {
    /// Something else was expected here.
    #[error("expected {expected}, found {found}")]
    #[allow(missing_docs)]
    Unexpected {
        expected: &'static str,
        found: String,
    },
    /// A word where an element type was expected.
    #[error("expected an element type such as f32, bf16, s32, u8 or pred, found `{found}`{}", or_meant(.meant))]
    #[allow(missing_docs)]
    ElementType {
        found: String,
        /// The type that it may have meant.
        meant: Option<ElementType>,
    },
    /// A property that no valid shape has.
    #[error("the layout property {property} ({meaning}) is not supported: no valid shape has it")]
    #[allow(missing_docs)]
    Property {
        property: &'static str,
        meaning: &'static str,
    },
    /// A property stands behind one that it must precede, or twice.
    #[error(
        "the layout property {property} can't follow {before}: the order is T L E S SC M PAD, each at most once"
    )]
    #[allow(missing_docs)]
    PropertyOrder {
        property: &'static str,
        before: &'static str,
    },
    /// A number that does not fit 64 bits.
    #[error("{found} does not fit a 64-bit signed integer")]
    #[allow(missing_docs)]
    Number { found: String },
    /// A comment without an end.
    #[error("expected `*/` somewhere behind this comment's start")]
    OpenComment,
    /// The text is well formed, but there is no such shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The text is well formed, but there is no such sharding.
    #[error(transparent)]
    Sharding(#[from] ShardingError),
}
