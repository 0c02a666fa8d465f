//! From text to a rule.

use std::str::FromStr;

use minormajor_core::{Layout, Permutation};

use super::{Pattern, Rule, RuleError, RuleErrorReason};

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Rule, RuleError> {
        // From the end: a pattern may hold braces and colons, what stands behind it not.
        let body = text.trim_end();
        let open = body.ends_with('}').then(|| body.rfind('{')).flatten();
        let head = &body[..open.unwrap_or(body.len())];
        let Some(colon) = head.rfind(':') else {
            return Err(error(text, head.len(), RuleErrorReason::NoColon));
        };
        let name = head[..colon].trim();
        if name.is_empty() {
            return Err(error(text, colon, RuleErrorReason::NoPattern));
        }
        let pattern =
            Pattern::new(name).ok_or_else(|| error(text, colon, RuleErrorReason::Backslash))?;
        let permutation = orders(text, colon + 1, head.len())?;
        let layout = match open {
            None => None,
            Some(open) => Some(layout(text, open, body.len())?),
        };
        let rank = match (&permutation, &layout) {
            (None, None) => return Err(error(text, colon + 1, RuleErrorReason::NoAction)),
            (Some(permutation), Some(layout)) if permutation.len() != layout.rank() => {
                let reason = RuleErrorReason::Rank {
                    expected: permutation.len(),
                    found: layout.rank(),
                };
                return Err(error(text, open.unwrap_or(0), reason));
            }
            (Some(permutation), _) => permutation.len(),
            (None, Some(layout)) => layout.rank(),
        };
        Ok(Rule {
            text: text.trim().to_owned(),
            pattern,
            rank,
            permutation,
            layout,
        })
    }
}

/// An error at a byte of the text.
fn error(text: &str, at: usize, reason: RuleErrorReason) -> RuleError {
    RuleError {
        column: text[..at].chars().count() + 1,
        reason,
    }
}

/// The layout that stands between two bytes of the text.
fn layout(text: &str, start: usize, end: usize) -> Result<Layout, RuleError> {
    text[start..end]
        .parse()
        .map_err(|found: minormajor_core::ParseError| RuleError {
            column: text[..start].chars().count() + found.column(),
            reason: RuleErrorReason::Layout(found.reason().clone()),
        })
}

/// `OIHW -> HWIO` between two bytes of the text; `None` where only space is.
fn orders(text: &str, start: usize, end: usize) -> Result<Option<Permutation>, RuleError> {
    let part = &text[start..end];
    if part.trim().is_empty() {
        return Ok(None);
    }
    let Some(arrow) = part.find("->") else {
        let at = start + part.len() - part.trim_start().len();
        return Err(error(text, at, RuleErrorReason::NoAction));
    };
    let left = names(text, start, start + arrow)?;
    let right = names(text, start + arrow + 2, end)?;
    for (place, &(at, name)) in left.iter().enumerate() {
        if left[..place].iter().any(|(_, other)| *other == name) {
            let name = name.to_owned();
            return Err(error(text, at, RuleErrorReason::Twice { name }));
        }
    }
    let mut places = Vec::with_capacity(right.len());
    for &(at, name) in &right {
        let Some(place) = left.iter().position(|(_, other)| *other == name) else {
            let name = name.to_owned();
            return Err(error(text, at, RuleErrorReason::Unknown { name }));
        };
        if places.contains(&(place as i64)) {
            let name = name.to_owned();
            return Err(error(text, at, RuleErrorReason::Again { name }));
        }
        places.push(place as i64);
    }
    let absent = (0..left.len()).find(|&place| !places.contains(&(place as i64)));
    if let Some(place) = absent {
        let name = left[place].1.to_owned();
        let behind = start + part.trim_end().len();
        return Err(error(text, behind, RuleErrorReason::Absent { name }));
    }
    Ok(Some(
        Permutation::new(places).expect("each place of the left side stands once"),
    ))
}

/// Names of dimensions between two bytes of the text, each with its place: words where there is
/// space between them, else single characters.
fn names(text: &str, start: usize, end: usize) -> Result<Vec<(usize, &str)>, RuleError> {
    let part = &text[start..end];
    let first = start + part.len() - part.trim_start().len();
    let part = part.trim();
    if part.is_empty() {
        return Err(error(text, start, RuleErrorReason::NoNames));
    }
    let other = |(_, c): &(usize, char)| !(c.is_alphanumeric() || *c == '_' || c.is_whitespace());
    if let Some((at, found)) = part.char_indices().find(other) {
        return Err(error(text, first + at, RuleErrorReason::Name { found }));
    }
    if !part.contains(char::is_whitespace) {
        let letters = part.char_indices();
        return Ok(letters
            .map(|(at, c)| (first + at, &part[at..at + c.len_utf8()]))
            .collect());
    }
    let mut words = Vec::new();
    let mut at = 0;
    for word in part.split_whitespace() {
        // Every word is found behind the one before.
        at += part[at..].find(word).unwrap_or(0);
        words.push((first + at, word));
        at += word.len();
    }
    Ok(words)
}
