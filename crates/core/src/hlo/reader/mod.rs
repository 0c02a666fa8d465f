//! Reads a module's text, statement by statement. Computations that are written inside
//! instructions are kept on a list, so nothing recurses on the text's depth.

mod instructions;
mod scan;

use std::borrow::Cow;

pub use instructions::Label;

use super::Unread;
use super::module::{Attribute, Computation, Instruction, Module, Table, WrittenShape};
use crate::text::{Cursor, ParseError, ParseErrorReason, Parser};
use scan::{name_at, value_end};

/// The tables that a module may have before its computations.
const TABLES: [&str; 4] = ["FileNames", "FunctionNames", "FileLocations", "StackFrames"];

/// Up to so many lines are read again behind a fault, so all of the text is read at most so
/// often.
const FEW_LINES: usize = 4;

pub(super) struct Reader<'a> {
    shapes: Parser<'a>,
    module: Module<'a>,
    /// The computations whose ends are still to come, innermost last.
    open: Vec<Open<'a>>,
    /// A byte offset, and its line counted from 1.
    place: (usize, usize),
    /// Whether brackets were met that never end; from then on they must end in their line.
    is_bounded: bool,
}

/// A computation whose end is still to come.
struct Open<'a> {
    computation: usize,
    /// The instruction that it is written in.
    outer: Option<Outer<'a>>,
}

/// An instruction that waits for the end of a computation written inside it.
struct Outer<'a> {
    instruction: Instruction<'a>,
    attribute: &'a str,
    /// Where the attribute's value begins.
    value: usize,
    /// The number of the computation in the attribute's list; `None` if there is no list.
    in_list: Option<usize>,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Reader<'a> {
        Reader {
            shapes: Parser::in_module(Cursor::before(text)),
            module: Module::default(),
            open: Vec::new(),
            place: (0, 1),
            is_bounded: false,
        }
    }

    pub fn read(mut self) -> Module<'a> {
        let mut next = 0;
        loop {
            next = match self.statement(next) {
                Ok(true) => self.cursor().end(),
                Ok(false) => break,
                Err(error) => self.give_up(error),
            };
        }
        self.abandon("the end");
        self.module
    }

    fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.shapes.cursor
    }

    /// Ends all open computations, whose own ends are missing.
    fn abandon(&mut self, found: &str) {
        while let Some(open) = self.open.pop() {
            let line = self.module.computations[open.computation].line;
            self.module.unread.push(Unread {
                lines: (line, line),
                column: 1,
                reason: ParseErrorReason::Unexpected {
                    expected: "`}` behind the computation that begins here",
                    found: found.to_owned(),
                },
            });
            if let Some(outer) = open.outer {
                self.keep(outer.instruction);
            }
        }
    }

    /// Notes what can't be read; returns where reading goes on: at the next line. Where a few
    /// lines had to be read to find the fault, only the first is given up: it may be cut off.
    fn give_up(&mut self, error: ParseError) -> usize {
        let origin = self.cursor().origin;
        let text = self.cursor().text();
        let mut rest = text[origin..].char_indices();
        let offset = rest
            .nth(error.column() - 1)
            .map_or(text.len(), |(at, _)| origin + at);
        let lines = text[origin..offset].bytes().filter(|&b| b == b'\n').count();
        let offset = match lines {
            1..=FEW_LINES => origin + text[origin..].lines().next().map_or(0, str::len),
            _ => offset,
        };
        let first = self.line(origin);
        let last = self.line(offset);
        let line_start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        self.module.unread.push(Unread {
            lines: (first, last),
            column: text[line_start..offset].chars().count() + 1,
            reason: error.into_reason(),
        });
        text[offset..]
            .find('\n')
            .map_or(text.len(), |at| offset + at + 1)
    }

    /// The line of an offset that is not before those asked for earlier.
    fn line(&mut self, offset: usize) -> usize {
        let (from, line) = self.place;
        let between = &self.cursor().text().as_bytes()[from..offset];
        let line = line + between.iter().filter(|&&byte| byte == b'\n').count();
        self.place = (offset, line);
        line
    }

    /// Reads what stands at an offset; false at the end of the text.
    fn statement(&mut self, offset: usize) -> Result<bool, ParseError> {
        self.cursor().origin = offset;
        self.cursor().go_to(offset)?;
        let start = self.cursor().offset();
        self.cursor().origin = start;
        if self.cursor().at_end() {
            return Ok(false);
        }
        let line = self.line(start);
        if self.cursor().eat("}")? {
            return self.close().map(|()| true);
        }
        let word = self.cursor().word();
        if self.open.is_empty() && self.preamble(word)? {
            return Ok(true);
        }
        let is_entry = word == "ENTRY";
        let is_root = word == "ROOT";
        if is_entry || is_root {
            self.cursor().take_word()?;
        }
        let name = self.name("an instruction, a computation, or the end of one")?;
        if !is_root && matches!(self.cursor().peek(), b'(' | b'{') {
            self.abandon("another one");
            self.header(name, line, is_entry)?;
        } else {
            self.cursor()
                .expect("=", "`=` behind the instruction's name")?;
            self.instruction(name, line, is_root)?;
        }
        Ok(true)
    }

    /// Reads what may stand before the computations; false if none of it is at the cursor.
    fn preamble(&mut self, word: &'a str) -> Result<bool, ParseError> {
        if word == "HloModule" {
            if self.module.name.is_some() || !self.module.computations.is_empty() {
                return Err(self.cursor().unexpected("no second module"));
            }
            self.cursor().take_word()?;
            self.module.name = Some(self.name("the module's name")?);
            self.module.attributes = self.plain_attributes()?;
            return Ok(true);
        }
        if !self.module.computations.is_empty() {
            return Ok(false);
        }
        if self.cursor().peek().is_ascii_digit() && !self.module.tables.is_empty() {
            self.cursor().integer("an entry's number")?;
            self.value("an entry of the table")?;
            if let Some(table) = self.module.tables.last_mut() {
                table.entries += 1;
            }
            return Ok(true);
        }
        let behind = self.cursor().rest()[word.len()..].trim_start_matches([' ', '\t', '\r']);
        let has_entries = behind
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit());
        let is_line = !word.is_empty() && (behind.is_empty() || behind.starts_with('\n'));
        if is_line && (has_entries || TABLES.contains(&word)) {
            self.cursor().take_word()?;
            let table = Table {
                name: word,
                entries: 0,
            };
            self.module.tables.push(table);
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads a computation's first line, whose name is read.
    fn header(&mut self, name: &'a str, line: usize, is_entry: bool) -> Result<(), ParseError> {
        let mut computation = computation(Cow::Borrowed(name), line);
        computation.is_entry = is_entry;
        if self.cursor().eat("(")? {
            if !self.cursor().eat(")")? {
                loop {
                    let name = self.name("a parameter's name")?;
                    self.cursor()
                        .expect(":", "`:` behind the parameter's name")?;
                    computation.parameters.push((name, self.shape()?));
                    if self.cursor().eat(")")? {
                        break;
                    }
                    self.cursor()
                        .expect(",", "`,` or `)` behind a parameter's shape")?;
                }
            }
            self.cursor()
                .expect("->", "`->` before the result's shape")?;
            computation.result = Some(self.shape()?);
        }
        self.cursor()
            .expect("{", "`{` before the computation's instructions")?;
        self.enter(computation, None);
        Ok(())
    }

    fn enter(&mut self, computation: Computation<'a>, outer: Option<Outer<'a>>) {
        self.module.computations.push(computation);
        self.open.push(Open {
            computation: self.module.computations.len() - 1,
            outer,
        });
    }

    /// Reads what follows a computation's `}`.
    fn close(&mut self) -> Result<(), ParseError> {
        let Some(open) = self.open.pop() else {
            let offset = self.cursor().origin;
            self.cursor().go_to(offset)?;
            return Err(self
                .cursor()
                .unexpected("a computation, which this would end"));
        };
        let Some(mut outer) = open.outer else {
            let attributes = self.plain_attributes()?;
            self.module.computations[open.computation].attributes = attributes;
            return Ok(());
        };
        if let Some(number) = outer.in_list {
            if self.cursor().eat(",")? {
                self.cursor()
                    .expect("{", "`{` before the next computation of the list")?;
                outer.in_list = Some(number + 1);
                return self.nest(outer);
            }
            self.cursor()
                .expect("}", "`,` or `}` behind a computation of a list")?;
        }
        outer.instruction.attributes.push(Attribute {
            name: outer.attribute,
            value: &self.cursor().text()[outer.value..self.cursor().end()],
        });
        self.attributes(outer.instruction)
    }

    /// Reads `, name=value` as often as it comes.
    fn plain_attributes(&mut self) -> Result<Vec<Attribute<'a>>, ParseError> {
        let mut attributes = Vec::new();
        while self.cursor().eat(",")? {
            let name = self.attribute_name()?;
            let start = self.cursor().offset();
            if name == "entry_computation_layout" {
                self.cursor().expect("{", "`{` before the entry's layout")?;
                self.cursor()
                    .expect("(", "`(` before the parameters' shapes")?;
                let mut shapes = self.shapes_until(")")?;
                self.cursor()
                    .expect("->", "`->` before the result's shape")?;
                shapes.push(self.shape()?);
                self.cursor().expect("}", "`}` behind the entry's layout")?;
                self.module.entry_layout = shapes;
            } else {
                self.value("a value behind `=`")?;
            }
            let value = &self.cursor().text()[start..self.cursor().end()];
            attributes.push(Attribute { name, value });
        }
        Ok(attributes)
    }

    fn attribute_name(&mut self) -> Result<&'a str, ParseError> {
        let name = self.name("an attribute's name")?;
        self.cursor()
            .expect("=", "`=` behind the attribute's name")?;
        Ok(name)
    }

    /// Reads shapes with commas between them, and what ends them.
    fn shapes_until(&mut self, end: &str) -> Result<Vec<WrittenShape<'a>>, ParseError> {
        let mut shapes = Vec::new();
        if self.cursor().eat(end)? {
            return Ok(shapes);
        }
        loop {
            shapes.push(self.shape()?);
            if self.cursor().eat(end)? {
                return Ok(shapes);
            }
            self.cursor()
                .expect(",", "`,` or the list's end behind a shape")?;
        }
    }

    fn shape(&mut self) -> Result<WrittenShape<'a>, ParseError> {
        let start = self.cursor().offset();
        let shape = self.shapes.shape()?;
        let text = &self.cursor().text()[start..self.cursor().end()];
        Ok(WrittenShape { text, shape })
    }

    /// Takes a name, with or without `%` before it.
    fn name(&mut self, expected: &'static str) -> Result<&'a str, ParseError> {
        let rest = self.cursor().rest();
        let name = name_at(rest.strip_prefix('%').unwrap_or(rest));
        if name.is_empty() {
            return Err(self.cursor().unexpected(expected));
        }
        let sign = usize::from(rest.starts_with('%'));
        let offset = self.cursor().offset();
        self.cursor().go_to(offset + sign + name.len())?;
        Ok(name)
    }

    /// Takes a value: up to a comma, white space or closing bracket, those inside brackets and
    /// quotes aside.
    fn value(&mut self, expected: &'static str) -> Result<&'a str, ParseError> {
        let start = self.cursor().offset();
        loop {
            let from = self.cursor().offset();
            let length = match value_end(self.cursor().rest(), self.is_bounded) {
                Ok(0) => return Err(self.cursor().unexpected(expected)),
                Ok(length) => length,
                Err(at) => return Err(self.open_at(from + at)),
            };
            self.cursor().go_to(from + length)?;
            // No statement begins with a brace, so it goes on: `mesh['a'=2] {'a'}`.
            if self.cursor().peek() != b'{' {
                return Ok(&self.cursor().text()[start..self.cursor().end()]);
            }
        }
    }

    /// The error of a bracket or quote that is not closed.
    fn open_at(&mut self, offset: usize) -> ParseError {
        self.is_bounded = true;
        self.cursor().error_at(
            offset,
            ParseErrorReason::Unexpected {
                expected: "what closes this somewhere behind it",
                found: "something else, or the end".to_owned(),
            },
        )
    }
}

fn computation(name: Cow<'_, str>, line: usize) -> Computation<'_> {
    Computation {
        name,
        line,
        is_entry: false,
        is_nested: false,
        parameters: Vec::new(),
        result: None,
        attributes: Vec::new(),
        instructions: Vec::new(),
    }
}
