//! Instructions: operands, attributes, and the computations written inside them.

use std::borrow::Cow;

use super::scan::{at_shape, group_end, name_at, nested};
use super::{Outer, Reader, computation};
use crate::hlo::module::{Attribute, Called, Computation, Instruction, Operand, WrittenShape};
use crate::text::ParseError;

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

/// An instruction as reports print it, perhaps without shapes, perhaps cut off.
#[derive(Clone, Debug)]
pub struct Label<'a> {
    /// Its name, without `%`.
    pub name: &'a str,
    /// The result's shape, where it is printed.
    pub shape: Option<WrittenShape<'a>>,
    /// Its opcode.
    pub opcode: &'a str,
    /// The operands, as far as they are printed.
    pub operands: Vec<Operand<'a>>,
    /// What stands behind the operands, as far as it is printed.
    pub attributes: Vec<Attribute<'a>>,
}

impl<'a> Reader<'a> {
    /// Reads an instruction whose name and `=` are read.
    pub(super) fn instruction(
        &mut self,
        name: &'a str,
        line: usize,
        is_root: bool,
    ) -> Result<(), ParseError> {
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
            self.operands(&mut instruction.operands)?;
        }
        self.attributes(instruction)
    }

    /// Reads operands and the `)` behind them.
    fn operands(&mut self, operands: &mut Vec<Operand<'a>>) -> Result<(), ParseError> {
        if self.cursor().eat(")")? {
            return Ok(());
        }
        loop {
            let has_shape = at_shape(self.cursor());
            let shape = if has_shape { Some(self.shape()?) } else { None };
            let has_name = !matches!(self.cursor().peek(), b',' | b')');
            let name = if has_name || !has_shape {
                Some(self.name("an operand: its shape, its name, or both")?)
            } else {
                None
            };
            operands.push(Operand { name, shape });
            if self.cursor().eat(")")? {
                return Ok(());
            }
            self.cursor().expect(",", "`,` or `)` behind an operand")?;
        }
    }

    /// Reads an instruction's attributes, from the next on, and keeps the instruction; or stops
    /// inside a computation that one of them begins.
    pub(super) fn attributes(
        &mut self,
        mut instruction: Instruction<'a>,
    ) -> Result<(), ParseError> {
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
    pub(super) fn keep(&mut self, instruction: Instruction<'a>) {
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

    /// Opens a computation inside an instruction, behind its `{`.
    pub(super) fn nest(&mut self, mut outer: Outer<'a>) -> Result<(), ParseError> {
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

    /// Reads an instruction's text as reports print it: perhaps without shapes, perhaps cut off.
    /// `None` where it is no instruction.
    pub fn label(mut self) -> Option<Label<'a>> {
        self.cursor().go_to(0).ok()?;
        let name = self.name("a name").ok()?;
        self.cursor().expect("=", "`=`").ok()?;
        let has_shape = at_shape(self.cursor());
        let shape = if has_shape {
            Some(self.shape().ok()?)
        } else {
            None
        };
        let opcode = name_at(self.cursor().rest());
        let offset = self.cursor().offset();
        self.cursor().go_to(offset + opcode.len()).ok()?;
        self.cursor().expect("(", "`(`").ok()?;
        let mut label = Label {
            name,
            shape,
            opcode,
            operands: Vec::new(),
            attributes: Vec::new(),
        };
        // What is cut off is left out.
        if !matches!(opcode, "constant" | "parameter") && self.operands(&mut label.operands).is_ok()
        {
            while self.cursor().eat(",") == Ok(true) {
                let Ok(name) = self.attribute_name() else {
                    break;
                };
                let Ok(value) = self.value("a value") else {
                    break;
                };
                label.attributes.push(Attribute { name, value });
            }
        }
        Some(label)
    }
}
