//! Rules: which layout, or which order of dimensions, the arrays of a file shall have.
//!
//! A rule is a pattern of names, a colon, and what becomes of the arrays:
//!
//! | rule | an array that fits |
//! |---|---|
//! | `*.weight: {0,1}` | lies in this layout; its indices stay |
//! | `*.conv.weight: OIHW -> HWIO` | has its dimensions in this order; the layout keeps its own order, so elements move |
//! | `*.bias?: batch seq -> seq batch {1,0}` | both, and dimensions with longer names |
//!
//! In a pattern `*` stands for any characters, also none, dots and slashes, `?` for one, and a
//! backslash before either for the character itself. A rule speaks of arrays of its own number of
//! dimensions: `*: OI -> IO` transposes matrices and leaves vectors alone. The first rule that
//! fits an array is the one that counts; an array that none fits stays as it is.
//!
//! The patterns are our own: globset, the usual crate, is for paths (it tells slashes and
//! separators apart, and compiles regular expressions), where names of arrays are just texts.

mod error;
mod parse;
mod pattern;
mod unused;

use std::fmt;

use minormajor_core::{ArrayShape, Layout, Permutation};
use serde::Deserialize;
use toml::Spanned;

pub use error::{ApplyError, RuleError, RuleErrorReason, RulesFileError};
use pattern::Pattern;
pub use unused::{Unused, UnusedRule};

/// A rule, from its text.
///
/// ```
/// use minormajor::rules::Rule;
///
/// let rule: Rule = "*.conv.weight: OIHW -> HWIO".parse()?;
/// assert!(rule.fits("encoder.conv.weight", 4) && !rule.fits("encoder.conv.weight", 2));
/// let error = "*.weight: OI -> OO".parse::<Rule>().unwrap_err();
/// assert_eq!(error.to_string(), "column 18: expected each dimension of the left side once, found O again");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    text: String,
    pattern: Pattern,
    /// Of the arrays that it speaks of; that of both fields below.
    rank: usize,
    /// At least one of the two is there.
    permutation: Option<Permutation>,
    layout: Option<Layout>,
}

impl Rule {
    /// Whether the rule speaks of an array of this name and number of dimensions.
    pub fn fits(&self, name: &str, rank: usize) -> bool {
        self.rank == rank && self.pattern.matches(name)
    }

    /// The new dimensions: number `i` is the array's `permutation[i]`. `None` where they stay.
    pub fn permutation(&self) -> Option<&Permutation> {
        self.permutation.as_ref()
    }

    /// The layout that an array shall lie in, where the rule says one.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// What becomes of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// The rule, by its number from 0; `None` where none fits.
    pub rule: Option<usize>,
    /// The array as it lies now, its dimensions in their new order: the same bytes.
    pub source: ArrayShape,
    /// The array as it shall lie: the same dimensions as in `source`.
    pub shape: ArrayShape,
}

/// Rules in their order: the first that fits counts.
///
/// ```
/// use minormajor::rules::Rules;
/// use minormajor::Shape;
///
/// let rules = Rules::new(["*.bias: {0}".parse()?, "*: OI -> IO".parse()?]);
/// let shape: Shape = "f32[3,5]{1,0}".parse()?;
/// let target = rules.apply("dense.weight", shape.as_array()?)?;
/// assert_eq!(target.rule, Some(1));
/// assert_eq!(target.source.to_string(), "f32[5,3]{0,1}");
/// assert_eq!(target.shape.to_string(), "f32[5,3]{1,0}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// Of these rules.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Rules {
        Rules {
            rules: rules.into_iter().collect(),
        }
    }

    /// Reads a TOML file's text: a list of rules under the key `rules`.
    ///
    /// # Errors
    ///
    /// [`RulesFileError`], with the line: no TOML, other keys, or a rule that can't be read.
    ///
    /// ```
    /// use minormajor::rules::Rules;
    ///
    /// let rules = Rules::from_toml("
    /// rules = [
    ///     '*.conv.weight: OIHW -> HWIO',
    ///     '*.weight: {0,1}',  # the other matrices
    /// ]")?;
    /// assert_eq!(rules.rules().len(), 2);
    /// let error = Rules::from_toml("rules = [\n  '*.weight',\n]").unwrap_err();
    /// assert!(error.to_string().starts_with("line 2: *.weight: column 9: expected a colon"));
    /// # Ok::<(), minormajor::rules::RulesFileError>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Rules, RulesFileError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Document {
            rules: Vec<Spanned<String>>,
        }

        let line = |at: usize| {
            let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
            1 + before.iter().filter(|&&byte| byte == b'\n').count()
        };
        let document: Document = toml::from_str(text).map_err(|error| RulesFileError::Toml {
            line: line(error.span().map_or(0, |span| span.start)),
            reason: error.message().replace(char::is_control, " "),
        })?;
        let rules = document.rules.into_iter().map(|rule| {
            rule.get_ref()
                .parse()
                .map_err(|source: RuleError| RulesFileError::Rule {
                    line: line(rule.span().start),
                    rule: rule.get_ref().replace(char::is_control, " "),
                    source: Box::new(source),
                })
        });
        Ok(Rules {
            rules: rules.collect::<Result<_, _>>()?,
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules, in their order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What becomes of an array of this name and shape.
    ///
    /// # Errors
    ///
    /// [`ApplyError`] where the array can't have the layout of its rule.
    pub fn apply(&self, name: &str, shape: &ArrayShape) -> Result<Target, ApplyError> {
        let fits = |rule: &Rule| rule.fits(name, shape.rank());
        let Some(number) = self.rules.iter().position(fits) else {
            return Ok(Target {
                rule: None,
                source: shape.clone(),
                shape: shape.clone(),
            });
        };
        let rule = &self.rules[number];
        let (source, kept) = match &rule.permutation {
            None => (Ok(shape.clone()), Ok(shape.clone())),
            Some(permutation) => (
                shape.permute_dimensions(permutation),
                shape.permute_dimensions_ignoring_layout(permutation),
            ),
        };
        let target = match &rule.layout {
            None => kept,
            Some(layout) => kept.and_then(|kept| kept.with_layout(layout.clone())),
        };
        match (source, target) {
            (Ok(source), Ok(target)) => Ok(Target {
                rule: Some(number),
                source,
                shape: target,
            }),
            (Err(source), _) | (_, Err(source)) => Err(ApplyError {
                rule: rule.text.clone(),
                name: name.to_owned(),
                shape: Box::new(shape.clone()),
                source: Box::new(source),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
