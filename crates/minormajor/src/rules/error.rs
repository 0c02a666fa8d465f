//! What can be wrong with rules.

use minormajor_core::{ArrayShape, ParseErrorReason, ShapeError};

/// Why a text is no rule, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct RuleError {
    pub(super) column: usize,
    pub(super) reason: RuleErrorReason,
}

impl RuleError {
    /// Where the error is: 1-based, in characters; one past the last character for a text that
    /// ends too early.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong there.
    pub fn reason(&self) -> &RuleErrorReason {
        &self.reason
    }
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleErrorReason {
    /// No colon between the pattern and what becomes of the arrays.
    #[error(
        "expected a colon behind the pattern, and a layout or an order of dimensions: '*.weight: {{0,1}}' or '*.weight: OI -> IO'"
    )]
    NoColon,
    /// Nothing before the colon.
    #[error("expected a pattern of names before the colon, such as * or layers.?.weight")]
    NoPattern,
    /// A backslash before nothing.
    #[error("expected a character behind the backslash, found the pattern's end")]
    Backslash,
    /// Neither a layout nor an order of dimensions behind the colon.
    #[error(
        "expected a layout such as {{0,1}}, or two orders of dimensions with an arrow between them, such as OI -> IO"
    )]
    NoAction,
    /// A layout that can't be read.
    #[error("{0}")]
    Layout(ParseErrorReason),
    /// A dimension whose name is none.
    #[error("expected names of dimensions of letters, digits and _, found {found}")]
    #[allow(missing_docs)]
    Name { found: char },
    /// No dimensions before the arrow or behind it.
    #[error("expected names of dimensions, found nothing")]
    NoNames,
    /// A name twice before the arrow.
    #[error("expected different names of dimensions, found {name} again")]
    #[allow(missing_docs)]
    Twice { name: String },
    /// A name twice behind the arrow.
    #[error("expected each dimension of the left side once, found {name} again")]
    #[allow(missing_docs)]
    Again { name: String },
    /// A name behind the arrow that is not before it.
    #[error("expected a dimension of the left side, found {name}")]
    #[allow(missing_docs)]
    Unknown { name: String },
    /// A name before the arrow that is not behind it.
    #[error("expected {name} too, which the left side has")]
    #[allow(missing_docs)]
    Absent { name: String },
    /// A layout of another rank than the dimensions.
    #[error("expected a layout of {expected} dimensions, found one of {found}")]
    #[allow(missing_docs)]
    Rank { expected: usize, found: usize },
}

/// Why a file of rules can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesFileError {
    /// No TOML, or TOML with other keys.
    #[error("line {line}: {reason}; expected rules = ['PATTERN: LAYOUT', ...]")]
    #[allow(missing_docs)]
    Toml { line: usize, reason: String },
    /// A rule that can't be read.
    #[error("line {line}: {rule}: {source}")]
    #[allow(missing_docs)]
    Rule {
        /// Where the rule's text begins.
        line: usize,
        rule: String,
        source: Box<RuleError>,
    },
}

/// Why a rule can't be applied to an array that it fits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule '{rule}' fits {name:?}, but {shape} can't become so: {source}")]
#[non_exhaustive]
pub struct ApplyError {
    /// The rule's text.
    pub rule: String,
    /// The array's name.
    pub name: String,
    /// The array's shape.
    pub shape: Box<ArrayShape>,
    /// What is wrong.
    pub source: Box<ShapeError>,
}
