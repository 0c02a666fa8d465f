//! What stands between the words of a module's text: names, and values in brackets and quotes.

use crate::text::Cursor;

/// Whether a shape is next, rather than a name.
pub(super) fn at_shape(cursor: &Cursor<'_>) -> bool {
    let (rest, word) = (cursor.rest(), cursor.word());
    let is_array = !word.is_empty() && rest[word.len()..].starts_with('[');
    is_array || rest.starts_with('(') || rest.starts_with("b(")
}

/// The name that a text begins with.
pub(super) fn name_at(text: &str) -> &str {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let end = text.find(|c: char| !is_of_name(c)).unwrap_or(text.len());
    // `->` may follow.
    let name = &text[..end];
    match name.strip_suffix('-') {
        Some(shorter) if text[end..].starts_with('>') => shorter,
        _ => name,
    }
}

/// Whether a value that begins here holds instructions: `Some(true)` if a list of computations
/// does.
pub(super) fn nested(value: &str) -> Option<bool> {
    let inside = value.strip_prefix('{')?.trim_start();
    if inside.starts_with('{') {
        return Some(true);
    }
    let inside = inside.strip_prefix("ROOT ").unwrap_or(inside).trim_start();
    let inside = inside.strip_prefix('%').unwrap_or(inside);
    let name = name_at(inside);
    let is_instruction = !name.is_empty() && inside[name.len()..].trim_start().starts_with('=');
    is_instruction.then_some(false)
}

/// The length of the value that a text begins with; the offset of a bracket or quote that is
/// not closed, in its line if so asked, as the error.
pub(super) fn value_end(text: &str, is_bounded: bool) -> Result<usize, usize> {
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        at += match byte {
            b',' | b' ' | b'\t' | b'\r' | b'\n' | b')' | b']' | b'}' => break,
            b'(' | b'[' | b'{' => group_end(&text[at..], is_bounded).ok_or(at)?,
            b'"' => string_end(&text[at..], is_bounded).ok_or(at)?,
            _ => 1,
        };
    }
    Ok(at)
}

/// The length of the brackets that a text begins with, and of what is inside.
pub(super) fn group_end(text: &str, is_bounded: bool) -> Option<usize> {
    let mut closing = Vec::new();
    let mut at = 0;
    loop {
        match text.as_bytes().get(at)? {
            b'(' => closing.push(b')'),
            b'[' => closing.push(b']'),
            b'{' => closing.push(b'}'),
            byte @ (b')' | b']' | b'}') => {
                if closing.pop() != Some(*byte) {
                    return None;
                }
                if closing.is_empty() {
                    return Some(at + 1);
                }
            }
            b'"' => at += string_end(&text[at..], is_bounded)? - 1,
            b'/' if text[at..].starts_with("/*") => at += 3 + text[at + 2..].find("*/")?,
            b'\n' if is_bounded => return None,
            _ => {}
        }
        at += 1;
    }
}

/// The length of the string that a text begins with, its quotes included.
pub(super) fn string_end(text: &str, is_bounded: bool) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.as_bytes().get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            b'\n' if is_bounded => return None,
            _ => at += 1,
        }
    }
}
