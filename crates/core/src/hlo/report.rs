//! The report of a TPU compiler that ran out of memory, as it stands in a log.

use std::borrow::Cow;

use super::Unread;
use super::reader::{Label, Reader};
use crate::sizes::PrintedSize;
use crate::text::{Cursor, ParseErrorReason, Parser, quote};
use crate::{ParseError, Shape};

/// A TPU compiler's report of the memory that a program needs, read from a log: totals, and the
/// list that is headed "Largest program allocations".
///
/// ```
/// use minormajor_core::hlo::Report;
///
/// let report = Report::read(
///     "  Largest program allocations in hbm:
///
///        1. Size: 32.00G
///           Shape: s32[8388608,8,4]{2,1,0:T(8,128)}
///           Unpadded size: 1.00G
///           Extra memory due to padding: 31.00G (32.0x expansion)
///           XLA label: %copy.1 = s32[8388608,8,4]{2,1,0:T(8,128)} copy(%while.2)
///           Allocation type: HLO temp
///           ==========================",
/// );
/// let allocation = &report.allocations()[0];
/// assert_eq!(allocation.size_text(), "32.00G");
/// assert_eq!(allocation.label().unwrap().opcode, "copy");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report<'a> {
    totals: Vec<Total<'a>>,
    allocations: Vec<Allocation<'a>>,
    unread: Vec<Unread>,
    other_lines: Vec<(usize, usize)>,
}

/// A line above the list: what takes how much.
#[derive(Clone, Debug, PartialEq)]
pub struct Total<'a> {
    /// The line's text, without what the log wrote before it.
    pub text: &'a str,
    /// What it is about.
    pub name: &'a str,
    /// The first size behind the name; `None` in some headings, and where it is unknown.
    pub size: Option<PrintedSize>,
    /// Whether it is a part of what the last line that is none is about.
    pub is_part: bool,
}

/// One entry of the list.
#[derive(Clone, Debug, Default)]
pub struct Allocation<'a> {
    number: usize,
    line: usize,
    memory_space: Option<&'a str>,
    size: &'a str,
    unpadded: Option<&'a str>,
    padding: Option<&'a str>,
    kind: Option<&'a str>,
    operator: Option<Cow<'a, str>>,
    label: Option<Cow<'a, str>>,
    shape: Option<Cow<'a, str>>,
    /// The line and column where the shape's text begins.
    shape_place: (usize, usize),
    read_shape: Option<Shape>,
}

impl<'a> Report<'a> {
    /// Whether a text holds such a report.
    pub fn is_in(text: &str) -> bool {
        let is_part = |line| {
            let key = Key::find(line).map(|(_, key)| key);
            matches!(key, Some(Key::List | Key::Size(_)))
        };
        text.lines().any(is_part)
    }

    /// Reads the reports in a text, which may be a whole log: each line may begin with what the
    /// log writes before it, the same in all but its digits. Never fails.
    pub fn read(text: &'a str) -> Report<'a> {
        // The totals come before the first key, so what stands before a key is looked up first.
        let prefix = text.lines().find_map(Key::prefix);
        let mut reader = ReportReader {
            prefix: prefix.unwrap_or(""),
            indent: usize::MAX,
            ..ReportReader::default()
        };
        for (number, line) in text.lines().enumerate() {
            reader.line(number + 1, line);
        }
        reader.finish();
        reader.report
    }

    /// The lines above the lists that say what takes how much, in order.
    pub fn totals(&self) -> &[Total<'a>] {
        &self.totals
    }

    /// The entries of the lists, in order.
    pub fn allocations(&self) -> &[Allocation<'a>] {
        &self.allocations
    }

    /// Shapes and sizes of the entries that can't be read, with the reason.
    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    /// The lines that belong to no report, as ranges: first and last, from 1. Empty lines
    /// belong anywhere.
    pub fn other_lines(&self) -> &[(usize, usize)] {
        &self.other_lines
    }
}

impl Allocation<'_> {
    /// Its number in the list.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The line where it begins, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The memory that the list is about, such as `hbm` or `vmem`.
    pub fn memory_space(&self) -> Option<&str> {
        self.memory_space
    }

    /// The size as it stood.
    pub fn size_text(&self) -> &str {
        self.size
    }

    /// The size; `None` if the text is none, which [`Report::unread`] then says.
    pub fn size(&self) -> Option<PrintedSize> {
        PrintedSize::parse(self.size)
    }

    /// The size without padding as it stood.
    pub fn unpadded_text(&self) -> Option<&str> {
        self.unpadded
    }

    /// What padding adds, as it stood: `31.00G (32.0x expansion)`.
    pub fn padding_text(&self) -> Option<&str> {
        self.padding
    }

    /// What kind of allocation it is, such as `HLO temp` or `scoped`.
    pub fn kind(&self) -> Option<&str> {
        self.kind
    }

    /// The operation of the user's program that it belongs to, as it stood.
    pub fn operator(&self) -> Option<&str> {
        self.operator.as_deref()
    }

    /// The shape as it stood.
    pub fn shape_text(&self) -> Option<&str> {
        self.shape.as_deref()
    }

    /// The shape; layouts that the text does not give are absent.
    pub fn shape(&self) -> Option<&Shape> {
        self.read_shape.as_ref()
    }

    /// The label as it stood: an instruction, or words.
    pub fn label_text(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The instruction that the label names, as far as it is printed.
    pub fn label(&self) -> Option<Label<'_>> {
        Reader::new(self.label_text()?).label()
    }
}

/// What a line of an entry begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    List,
    Size(usize),
    Operator,
    Shape,
    Unpadded,
    Padding,
    Label,
    Kind,
    Rule,
}

impl Key {
    const TEXTS: [(&'static str, Key); 8] = [
        ("Largest program allocations in ", Key::List),
        ("Operator:", Key::Operator),
        ("Shape:", Key::Shape),
        ("Unpadded size:", Key::Unpadded),
        ("Extra memory due to padding:", Key::Padding),
        ("XLA label:", Key::Label),
        ("Allocation type:", Key::Kind),
        ("==========", Key::Rule),
    ];

    fn length(self) -> usize {
        match self {
            Key::Size(_) => 0,
            key => Key::TEXTS
                .iter()
                .find(|(_, k)| *k == key)
                .map_or(0, |(text, _)| text.len()),
        }
    }

    /// What a log writes before the key that a line begins with.
    fn prefix(line: &str) -> Option<&str> {
        let (at, _) = Key::find(line)?;
        Some(line[..at].trim_end())
    }

    /// The key that a line begins with, behind what a log may write before it, and its place.
    fn find(line: &str) -> Option<(usize, Key)> {
        let sized = line.find(". Size: ").and_then(|at| {
            let digits = line[..at]
                .bytes()
                .rev()
                .take_while(u8::is_ascii_digit)
                .count();
            let number = line[at - digits..at].parse().ok()?;
            Some((at - digits, Key::Size(number)))
        });
        let texts = Key::TEXTS.iter();
        let texts = texts.filter_map(|&(text, key)| Some((line.find(text)?, key)));
        let (at, key) = texts.chain(sized).min_by_key(|&(at, _)| at)?;
        let before = line[..at].trim_end();
        (before.is_empty() || before.ends_with([']', ':', '>', '|', ')'])).then_some((at, key))
    }
}

/// The field of an entry that the next line may go on with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    None,
    Operator,
    Shape,
    Label,
}

#[derive(Default)]
struct ReportReader<'a> {
    report: Report<'a>,
    /// What the log writes before each line.
    prefix: &'a str,
    memory_space: Option<&'a str>,
    is_in_totals: bool,
    /// How far the last line of the totals that is no part is indented.
    indent: usize,
    entry: Option<Allocation<'a>>,
    last: Last,
}

impl<'a> ReportReader<'a> {
    fn line(&mut self, number: usize, line: &'a str) {
        if let Some((at, key)) = Key::find(line) {
            self.prefix = line[..at].trim_end();
            let value = line[at + key.length()..].trim();
            if self.key(number, key, value, line) {
                return;
            }
        }
        let content = without_prefix(line, self.prefix);
        if content.trim().is_empty() || self.total(content) || self.goes_on(content) {
            return;
        }
        match self.report.other_lines.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => self.report.other_lines.push((number, number)),
        }
    }

    /// Reads a line that begins with a key; false where that makes no sense.
    fn key(&mut self, number: usize, key: Key, value: &'a str, line: &'a str) -> bool {
        match key {
            Key::List => {
                self.finish();
                self.is_in_totals = false;
                self.memory_space = Some(value.trim_end_matches(':'));
                return true;
            }
            Key::Size(entry) => {
                self.finish();
                self.is_in_totals = false;
                let (_, size) = value.split_once(". Size: ").unwrap_or(("", value));
                self.entry = Some(Allocation {
                    number: entry,
                    line: number,
                    memory_space: self.memory_space,
                    size: size.trim(),
                    ..Allocation::default()
                });
                self.last = Last::None;
                return true;
            }
            _ => {}
        }
        let Some(entry) = &mut self.entry else {
            return false;
        };
        self.last = Last::None;
        match key {
            Key::Operator => {
                entry.operator = Some(value.into());
                self.last = Last::Operator;
            }
            Key::Shape => {
                entry.shape = Some(value.into());
                let before = &line[..line.trim_end().len() - value.len()];
                entry.shape_place = (number, before.chars().count() + 1);
                self.last = Last::Shape;
            }
            Key::Label => {
                entry.label = Some(value.into());
                self.last = Last::Label;
            }
            Key::Unpadded => entry.unpadded = Some(value),
            Key::Padding => entry.padding = Some(value),
            Key::Kind => entry.kind = Some(value),
            Key::Rule => self.finish(),
            Key::List | Key::Size(_) => {}
        }
        true
    }

    /// Reads a line of the totals.
    fn total(&mut self, content: &'a str) -> bool {
        let text = content.trim();
        let exhausted = text.find("Ran out of memory in memory space ");
        let begins = |words: [&str; 2]| text.starts_with(words[0]) && text.contains(words[1]);
        let is_heading = begins(["Total ", " usage"]) || begins(["Program ", " requirement"]);
        if let Some(at) = exhausted {
            self.finish();
            let size = text[at..].split_once("Used ").map(|(_, used)| used);
            self.report.totals.push(Total {
                text: &text[at..],
                name: "used",
                size: size.and_then(first_size).map(|(_, size)| size),
                is_part: false,
            });
            self.is_in_totals = true;
            self.indent = usize::MAX;
            return true;
        }
        if is_heading {
            self.finish();
            self.is_in_totals = true;
            self.indent = usize::MAX;
        }
        if !self.is_in_totals {
            return false;
        }
        let (name, size) = match first_size(text) {
            Some((at, size)) => (&text[..at], Some(size)),
            None => match text.find("unknown") {
                Some(at) => (&text[..at], None),
                None if text.ends_with(':') => (text, None),
                None => return false,
            },
        };
        let name = name.trim_end_matches([' ', ':', '>', '=', '\t']);
        if name.is_empty() {
            return false;
        }
        let indent = content.len() - content.trim_start().len();
        let is_part = indent > self.indent;
        if !is_part {
            self.indent = indent;
        }
        self.report.totals.push(Total {
            text,
            name,
            size,
            is_part,
        });
        true
    }

    /// Adds a line to the field that it goes on with: logs break long lines.
    fn goes_on(&mut self, content: &'a str) -> bool {
        let Some(entry) = &mut self.entry else {
            return false;
        };
        let field = match self.last {
            Last::None => return false,
            Last::Operator => &mut entry.operator,
            Last::Shape => &mut entry.shape,
            Last::Label => &mut entry.label,
        };
        if let Some(text) = field {
            text.to_mut().push_str(content.trim());
        }
        true
    }

    /// Ends the entry that is being read.
    fn finish(&mut self) {
        let Some(mut entry) = self.entry.take() else {
            return;
        };
        if entry.size().is_none() {
            self.report.unread.push(Unread {
                lines: (entry.line, entry.line),
                column: 1,
                reason: ParseErrorReason::Unexpected {
                    expected: "a size such as 512B, 640.0K or 1.17G behind `Size:`",
                    found: format!("`{}`", quote(entry.size)),
                },
            });
        }
        if let Some(text) = &entry.shape {
            match read_shape(text) {
                Ok(shape) => entry.read_shape = Some(shape),
                Err(error) => {
                    let (line, column) = entry.shape_place;
                    self.report.unread.push(Unread {
                        lines: (line, line),
                        column: column + error.column() - 1,
                        reason: error.into_reason(),
                    });
                }
            }
        }
        self.report.allocations.push(entry);
    }
}

fn read_shape(text: &str) -> Result<Shape, ParseError> {
    let mut parser = Parser::in_module(Cursor::new(text)?);
    let shape = parser.shape()?;
    match parser.cursor.at_end() {
        true => Ok(shape),
        false => Err(parser.cursor.unexpected("the end of the shape")),
    }
}

/// A line without what the log writes before it, digits aside.
fn without_prefix<'a>(line: &'a str, prefix: &str) -> &'a str {
    let same = |(a, b): (u8, u8)| a == b || (a.is_ascii_digit() && b.is_ascii_digit());
    let begins = line.len() >= prefix.len() && line.bytes().zip(prefix.bytes()).all(same);
    match line.get(prefix.len()..) {
        Some(rest) if begins => rest,
        _ => line,
    }
}

/// The first size among the words of a text, and where it begins.
fn first_size(text: &str) -> Option<(usize, PrintedSize)> {
    let mut at = 0;
    for word in text.split_ascii_whitespace() {
        at += text[at..].find(word)?;
        if let Some(size) = PrintedSize::parse(word.trim_end_matches([':', ',', ';', '.'])) {
            return Some((at, size));
        }
        at += word.len();
    }
    None
}
