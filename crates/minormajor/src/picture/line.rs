//! Lines of painted text.

use std::cmp::Ordering;
use std::fmt::Write;

/// How a piece of text is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    /// Headings.
    Strong,
    /// Numbers beside the picture, lines, gaps and padding.
    Faint,
    /// An element, in the colour of its run.
    Run(i64),
}

/// A line of painted text; its width counts characters.
#[derive(Clone, Default)]
pub struct Line {
    pieces: Vec<(String, Style)>,
    /// In characters.
    pub width: usize,
}

impl Line {
    /// Adds text.
    pub fn push(&mut self, text: impl Into<String>, style: Style) {
        let text = text.into();
        self.width += text.chars().count();
        match self.pieces.last_mut() {
            Some((last, painted)) if *painted == style => last.push_str(&text),
            _ => self.pieces.push((text, style)),
        }
    }

    /// Text that ends `width` columns from here.
    pub fn push_right(&mut self, text: &str, width: usize, style: Style) {
        self.push(
            " ".repeat(width.saturating_sub(text.chars().count())),
            Style::Plain,
        );
        self.push(text, style);
    }

    /// Adds spaces up to a width.
    pub fn pad_to(&mut self, width: usize) {
        self.push(" ".repeat(width.saturating_sub(self.width)), Style::Plain);
    }

    /// Adds another line behind this one.
    pub fn append(&mut self, other: &Line) {
        for (text, style) in &other.pieces {
            self.push(text.as_str(), *style);
        }
    }

    /// Writes the line, without spaces at its end.
    pub fn write(&self, out: &mut String, colour: bool) {
        const COLOURS: [u8; 6] = [36, 33, 32, 35, 34, 31];
        let end = self
            .pieces
            .iter()
            .rposition(|(text, _)| !text.trim().is_empty());
        for (place, (text, style)) in self.pieces.iter().enumerate() {
            let text = match Some(place).cmp(&end) {
                Ordering::Less => text.as_str(),
                Ordering::Equal => text.trim_end(),
                Ordering::Greater => break,
            };
            let code = match style {
                _ if !colour || text.trim().is_empty() => None,
                Style::Plain => None,
                Style::Strong => Some(1),
                Style::Faint => Some(2),
                Style::Run(run) => Some(COLOURS[(run % COLOURS.len() as i64) as usize]),
            };
            let _ = match code {
                Some(code) => write!(out, "\x1b[{code}m{text}\x1b[0m"),
                None => write!(out, "{text}"),
            };
        }
        out.push('\n');
    }
}
