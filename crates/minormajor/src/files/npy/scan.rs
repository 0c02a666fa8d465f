//! Reads the few Python literals that a header is made of, without recursion or copies.

use super::error::NpyError;
use crate::files::error::excerpt;

/// A place in the header's text.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Where the text starts in the file, for error messages.
    start: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8], start: usize) -> Scanner<'a> {
        Scanner { text, at: 0, start }
    }

    fn skip_space(&mut self) {
        while matches!(
            self.text.get(self.at),
            Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
        ) {
            self.at += 1;
        }
    }

    /// The first byte of the next token.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.text.get(self.at).copied()
    }

    pub(super) fn eat(&mut self, token: u8) -> bool {
        let there = self.peek() == Some(token);
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, token: u8, expected: &'static str) -> Result<(), NpyError> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    pub(super) fn expect_end(&mut self) -> Result<(), NpyError> {
        self.skip_space();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err(self.unexpected("the end of the header"))
        }
    }

    /// A string between either kind of quotes, as written: escapes are not undone.
    pub(super) fn string(&mut self, expected: &'static str) -> Result<&'a [u8], NpyError> {
        self.skip_space();
        let Some(&quote @ (b'\'' | b'"')) = self.text.get(self.at) else {
            return Err(self.unexpected(expected));
        };
        let start = self.at + 1;
        let mut end = start;
        loop {
            match self.text.get(end) {
                Some(&byte) if byte == quote => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => {
                    self.at = self.text.len();
                    return Err(self.unexpected("a closing quote"));
                }
            }
        }
        self.at = end + 1;
        Ok(&self.text[start..end])
    }

    pub(super) fn boolean(&mut self) -> Result<bool, NpyError> {
        self.skip_space();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    /// A size: digits, and the `L` that Python 2 wrote behind long ones.
    pub(super) fn size(&mut self) -> Result<i64, NpyError> {
        self.skip_space();
        let start = self.at;
        let mut size: i64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.text.get(self.at) {
            let next = size
                .checked_mul(10)
                .and_then(|size| size.checked_add(i64::from(digit - b'0')));
            let Some(next) = next else {
                self.at = start;
                return Err(self.unexpected("a size below 2^63"));
            };
            size = next;
            self.at += 1;
        }
        if self.at == start {
            return Err(self.unexpected("a size of 0 or more"));
        }
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
        Ok(size)
    }

    /// The text of any value up to the `,` or `}` that ends it, brackets and strings skipped.
    pub(super) fn any(&mut self) -> Result<&'a [u8], NpyError> {
        self.skip_space();
        let start = self.at;
        let mut open = 0usize;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\'' | b'"' => {
                    self.string("a string")?;
                    continue;
                }
                b'(' | b'[' | b'{' => open += 1,
                b',' | b'}' if open == 0 => break,
                b')' | b']' | b'}' => {
                    let Some(left) = open.checked_sub(1) else {
                        return Err(self.unexpected("a value"));
                    };
                    open = left;
                }
                _ => {}
            }
            self.at += 1;
        }
        if self.at == start {
            Err(self.unexpected("a value"))
        } else {
            Ok(&self.text[start..self.at])
        }
    }

    /// The place of the next token.
    pub(super) fn place(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> NpyError {
        self.unexpected_at(self.at, expected)
    }

    pub(super) fn unexpected_at(&self, place: usize, expected: &'static str) -> NpyError {
        let rest = &self.text[place..];
        NpyError::Syntax {
            byte: self.start + place,
            expected,
            found: if rest.is_empty() {
                "its end".to_owned()
            } else {
                excerpt(rest, 20)
            },
        }
    }
}
