//! Strings in quotes, with C's escapes.

use super::Parser;
use crate::sharding::ShardingError;
use crate::text::ParseError;

impl Parser<'_> {
    /// Reads a string in double or single quotes, with C's escapes.
    pub(super) fn string(&mut self, expected: &'static str) -> Result<String, ParseError> {
        let start = self.cursor.offset();
        let rest = self.cursor.rest();
        let quote = self.cursor.peek();
        if !matches!(quote, b'"' | b'\'') {
            return Err(self.cursor.unexpected(expected));
        }
        let mut bytes = Vec::new();
        let mut at = 1;
        let wrong = |expected| ShardingError::Contradiction {
            found: "with a string that is broken off or no text",
            expected,
        };
        while let Some(&byte) = rest.as_bytes().get(at) {
            at += 1;
            match byte {
                byte if byte == quote => {
                    let text = String::from_utf8(bytes)
                        .map_err(|_| self.cursor.error_at(start, wrong("UTF-8 behind escapes")))?;
                    self.cursor.go_to(start + at)?;
                    return Ok(text);
                }
                b'\\' => match escape(&rest.as_bytes()[at..]) {
                    Some((byte, length)) => {
                        bytes.push(byte);
                        at += length;
                    }
                    None => {
                        let error = wrong("one of C's escapes, such as \\n or \\303");
                        return Err(self.cursor.error_at(start, error));
                    }
                },
                byte => bytes.push(byte),
            }
        }
        Err(self.cursor.error_at(start, wrong("a closing quote")))
    }
}

/// The byte that an escape stands for, and its length behind the backslash.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    let simple = match *text.first()? {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        byte @ (b'\\' | b'?' | b'\'' | b'"') => byte,
        b'x' | b'X' => {
            let digits = text[1..].iter().take_while(|b| b.is_ascii_hexdigit());
            let length = digits.count().min(2);
            let digits = std::str::from_utf8(&text[1..1 + length]).ok()?;
            return Some((u8::from_str_radix(digits, 16).ok()?, 1 + length));
        }
        b'0'..=b'7' => {
            let digits = text.iter().take_while(|b| (b'0'..=b'7').contains(b));
            let length = digits.count().min(3);
            let digits = std::str::from_utf8(&text[..length]).ok()?;
            return Some((u8::from_str_radix(digits, 8).ok()?, length));
        }
        _ => return None,
    };
    Some((simple, 1))
}
