//! A place in a text, and the tokens found there.

use super::{ParseError, ParseErrorReason};

/// What error messages quote of the text at most, in characters.
const QUOTE: usize = 24;

pub(crate) struct Cursor<'a> {
    text: &'a str,
    /// Byte offset of the next token: white space and comments are skipped already.
    at: usize,
    /// Byte offset behind the token taken last.
    end: usize,
    /// Where a comment begins that never ends, once one was met: no later one ends either.
    open_comment: Option<usize>,
    /// Byte offset from which errors count their columns: 0, or where a statement of a longer
    /// text begins.
    pub origin: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Result<Self, ParseError> {
        let mut cursor = Cursor::before(text);
        cursor.skip_space()?;
        Ok(cursor)
    }

    /// A cursor that has skipped nothing yet, so it can't fail.
    pub fn before(text: &'a str) -> Self {
        Cursor {
            text,
            at: 0,
            end: 0,
            open_comment: None,
            origin: 0,
        }
    }

    /// Byte offset of the next token.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Byte offset behind the token taken last.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The text from the next token on.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes on at a byte offset of the text, where a token ends.
    pub fn go_to(&mut self, offset: usize) -> Result<(), ParseError> {
        (self.at, self.end) = (offset, offset);
        self.skip_space()
    }

    /// The first byte of the next token, 0 at the end.
    pub fn peek(&self) -> u8 {
        self.rest().bytes().next().unwrap_or(0)
    }

    pub fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn advance(&mut self, bytes: usize) -> Result<(), ParseError> {
        self.go_to(self.at + bytes)
    }

    fn skip_space(&mut self) -> Result<(), ParseError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
            self.at += rest.len() - trimmed.len();
            if let Some(comment) = trimmed.strip_prefix("/*") {
                let is_open = self.open_comment.is_some_and(|open| open <= self.at);
                let end = if is_open { None } else { comment.find("*/") };
                match end {
                    Some(length) => self.at += length + 4,
                    None => {
                        self.open_comment.get_or_insert(self.at);
                        return Err(self.error(ParseErrorReason::OpenComment));
                    }
                }
            } else if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else {
                return Ok(());
            }
        }
    }

    /// Takes `token` if it is next.
    pub fn eat(&mut self, token: &str) -> Result<bool, ParseError> {
        if self.rest().starts_with(token) {
            self.advance(token.len())?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Takes `token` or fails, saying what was expected.
    pub fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), ParseError> {
        if self.eat(token)? {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// The word that is next, without taking it: letters, digits and `_`, a letter first.
    pub fn word(&self) -> &'a str {
        let rest = self.rest();
        if !self.peek().is_ascii_alphabetic() {
            return "";
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    }

    /// Takes the word that [`word`](Self::word) saw.
    pub fn take_word(&mut self) -> Result<&'a str, ParseError> {
        let word = self.word();
        self.advance(word.len())?;
        Ok(word)
    }

    /// Takes an integer or fails, saying what was expected.
    pub fn integer(&mut self, expected: &'static str) -> Result<i64, ParseError> {
        let rest = self.rest();
        let sign = usize::from(self.peek() == b'-');
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.unexpected(expected));
        }
        let number = &rest[..sign + digits];
        let value = number.parse().map_err(|_| {
            self.error(ParseErrorReason::Number {
                found: quote(number),
            })
        })?;
        self.advance(number.len())?;
        Ok(value)
    }

    pub fn unexpected(&self, expected: &'static str) -> ParseError {
        let found = if self.at_end() {
            "the end".to_owned()
        } else {
            let word = self.word();
            match self.rest().chars().next() {
                _ if !word.is_empty() => format!("`{}`", quote(word)),
                Some(c) => format!("`{}`", c.escape_debug()),
                None => "the end".to_owned(),
            }
        };
        self.error(ParseErrorReason::Unexpected { expected, found })
    }

    pub fn error(&self, reason: impl Into<ParseErrorReason>) -> ParseError {
        self.error_at(self.at, reason)
    }

    pub fn error_at(&self, offset: usize, reason: impl Into<ParseErrorReason>) -> ParseError {
        ParseError {
            column: self.text[self.origin..offset].chars().count() + 1,
            reason: reason.into(),
        }
    }
}

/// A text as far as messages quote it.
pub(crate) fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
