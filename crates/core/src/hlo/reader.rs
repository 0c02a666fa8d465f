//! Reads a module's text, statement by statement. Computations that are written inside
//! instructions are kept on a list, so nothing recurses on the text's depth.

use std::borrow::Cow;

use super::Unread;
use super::module::{
    Attribute, Called, Computation, Instruction, Module, Operand, Table, WrittenShape,
};
use crate::text::{Cursor, ParseError, ParseErrorReason, Parser};

/// Attributes whose values are computations: their names, or their instructions in braces.
const COMPUTATIONS: [&str; 10] = [
    "calls",
    "to_apply",
    "body",
    "condition",
    "select",
    "scatter",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computations",
];

/// The tables that a module may have before its computations.
const TABLES: [&str; 4] = ["FileNames", "FunctionNames", "FileLocations", "StackFrames"];

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
        while let Some(open) = self.open.pop() {
            let computation = &self.module.computations[open.computation];
            let unread = Unread {
                lines: (computation.line, computation.line),
                column: 1,
                reason: ParseErrorReason::Unexpected {
                    expected: "`}` behind the computation that begins here",
                    found: "the end".to_owned(),
                },
            };
            self.module.unread.push(unread);
            if let Some(outer) = open.outer {
                self.keep(outer.instruction);
            }
        }
        self.module
    }

    fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.shapes.cursor
    }

    /// Notes what can't be read; returns where the next line begins.
    fn give_up(&mut self, error: ParseError) -> usize {
        let origin = self.cursor().origin;
        let text = self.cursor().text();
        let mut rest = text[origin..].char_indices();
        let offset = rest
            .nth(error.column() - 1)
            .map_or(text.len(), |(at, _)| origin + at);
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
        let is_entry = word == "ENTRY" && self.open.is_empty();
        let is_root = word == "ROOT";
        if is_entry || is_root {
            self.cursor().take_word()?;
        }
        let name = self.name("an instruction, a computation, or the end of one")?;
        if self.open.is_empty() && !is_root && matches!(self.cursor().peek(), b'(' | b'{') {
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

    /// Opens a computation inside an instruction, behind its `{`.
    fn nest(&mut self, mut outer: Outer<'a>) -> Result<(), ParseError> {
        let (name, attribute) = (outer.instruction.name, outer.attribute);
        let name = match outer.in_list {
            Some(number) => format!("{name}.{attribute}.{number}"),
            None => format!("{name}.{attribute}"),
        };
        outer.instruction.called.push(Called {
            attribute,
            computation: Cow::Owned(name.clone()),
        });
        let offset = self.cursor().offset();
        let line = outer.instruction.line;
        let mut computation = computation(Cow::Owned(name), line);
        computation.is_nested = true;
        // Offsets asked for may not fall, and the next statement's will be this one.
        computation.line = self.line(offset);
        self.enter(computation, Some(outer));
        Ok(())
    }

    /// Reads an instruction whose name and `=` are read.
    fn instruction(&mut self, name: &'a str, line: usize, is_root: bool) -> Result<(), ParseError> {
        let shape = self.shape()?;
        let rest = self.cursor().rest();
        let opcode = name_at(rest);
        if opcode.is_empty() {
            return Err(self.cursor().unexpected("an opcode behind the shape"));
        }
        let offset = self.cursor().offset();
        self.cursor().go_to(offset + opcode.len())?;
        let mut instruction = Instruction {
            name,
            line,
            is_root,
            shape,
            opcode,
            operands: Vec::new(),
            literal: None,
            attributes: Vec::new(),
            constraints: Vec::new(),
            called: Vec::new(),
        };
        if matches!(opcode, "constant" | "parameter") {
            let start = self.cursor().offset();
            let rest = self.cursor().rest();
            if !rest.starts_with('(') {
                return Err(self.cursor().unexpected("`(` behind the opcode"));
            }
            let length = group_end(rest, self.is_bounded).ok_or_else(|| self.open_at(start))?;
            self.cursor().go_to(start + length)?;
            instruction.literal = Some(&rest[1..length - 1]);
        } else {
            self.cursor().expect("(", "`(` behind the opcode")?;
            instruction.operands = self.operands()?;
        }
        self.attributes(instruction)
    }

    /// Reads operands and the `)` behind them.
    fn operands(&mut self) -> Result<Vec<Operand<'a>>, ParseError> {
        let mut operands = Vec::new();
        if self.cursor().eat(")")? {
            return Ok(operands);
        }
        loop {
            let rest = self.cursor().rest();
            let word = self.cursor().word();
            let has_shape = rest.starts_with('(')
                || rest.starts_with("b(")
                || (!word.is_empty() && rest[word.len()..].starts_with('['));
            let shape = if has_shape { Some(self.shape()?) } else { None };
            let has_name = !matches!(self.cursor().peek(), b',' | b')');
            let name = if has_name || !has_shape {
                Some(self.name("an operand: its shape, its name, or both")?)
            } else {
                None
            };
            operands.push(Operand { name, shape });
            if self.cursor().eat(")")? {
                return Ok(operands);
            }
            self.cursor().expect(",", "`,` or `)` behind an operand")?;
        }
    }

    /// Reads an instruction's attributes, from the next on, and keeps the instruction; or stops
    /// inside a computation that one of them begins.
    fn attributes(&mut self, mut instruction: Instruction<'a>) -> Result<(), ParseError> {
        while self.cursor().eat(",")? {
            let name = self.attribute_name()?;
            let value = self.cursor().offset();
            let is_computation = COMPUTATIONS.contains(&name);
            if let Some(is_list) = nested(self.cursor().rest()).filter(|_| is_computation) {
                self.cursor().expect("{", "a computation")?;
                if is_list {
                    self.cursor().expect("{", "a computation")?;
                }
                return self.nest(Outer {
                    instruction,
                    attribute: name,
                    value,
                    in_list: is_list.then_some(0),
                });
            }
            if name == "operand_layout_constraints" {
                self.cursor()
                    .expect("{", "`{` before the operands' shapes")?;
                instruction.constraints = self.shapes_until("}")?;
            } else {
                self.value("a value behind `=`")?;
            }
            let value = &self.cursor().text()[value..self.cursor().end()];
            instruction.attributes.push(Attribute { name, value });
            if is_computation {
                let names = value
                    .trim_start_matches('{')
                    .trim_end_matches('}')
                    .split(',');
                instruction.called.extend(names.map(|computation| Called {
                    attribute: name,
                    computation: Cow::Borrowed(computation.trim().trim_start_matches('%')),
                }));
            }
        }
        self.keep(instruction);
        Ok(())
    }

    /// Adds an instruction to the computation it stands in.
    fn keep(&mut self, instruction: Instruction<'a>) {
        let computations = &mut self.module.computations;
        let place = match self.open.last() {
            Some(open) => open.computation,
            None => {
                let is_loose = |c: &Computation<'_>| c.name.is_empty();
                if !computations.last().is_some_and(is_loose) {
                    computations.push(computation(Cow::Borrowed(""), instruction.line));
                }
                computations.len() - 1
            }
        };
        computations[place].instructions.push(instruction);
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
        match value_end(self.cursor().rest(), self.is_bounded) {
            Ok(0) => Err(self.cursor().unexpected(expected)),
            Ok(length) => {
                let value = &self.cursor().rest()[..length];
                self.cursor().go_to(start + length)?;
                Ok(value)
            }
            Err(at) => Err(self.open_at(start + at)),
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

/// The name that a text begins with.
fn name_at(text: &str) -> &str {
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
fn nested(value: &str) -> Option<bool> {
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
fn value_end(text: &str, is_bounded: bool) -> Result<usize, usize> {
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
fn group_end(text: &str, is_bounded: bool) -> Option<usize> {
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
fn string_end(text: &str, is_bounded: bool) -> Option<usize> {
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
