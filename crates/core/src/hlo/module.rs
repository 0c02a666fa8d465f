//! A module as its text says it: computations, and instructions with their shapes.

use std::borrow::Cow;

use super::Unread;
use super::reader::Reader;
use crate::Shape;

/// An HLO module, read from its text. Names and texts are those of the text itself.
///
/// ```
/// use minormajor_core::hlo::Module;
///
/// let module = Module::parse(
///     "HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[3,2]{1,0}}
///
///      ENTRY %main (p: f32[2,3]) -> f32[3,2] {
///        %p = f32[2,3]{1,0} parameter(0)
///        ROOT %t = f32[3,2]{1,0} transpose(%p), dimensions={1,0}
///      }",
/// )?;
/// let main = &module.computations()[0];
/// let root = &main.instructions()[1];
/// assert_eq!((main.name(), root.name(), root.opcode()), ("main", "t", "transpose"));
/// assert_eq!(root.shape().text(), "f32[3,2]{1,0}");
/// assert_eq!(root.operands()[0].name(), Some("p"));
/// assert_eq!(root.attribute("dimensions"), Some("{1,0}"));
/// # Ok::<(), minormajor_core::hlo::Unread>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) attributes: Vec<Attribute<'a>>,
    pub(super) entry_layout: Vec<WrittenShape<'a>>,
    pub(super) tables: Vec<Table<'a>>,
    pub(super) computations: Vec<Computation<'a>>,
    pub(super) unread: Vec<Unread>,
}

impl<'a> Module<'a> {
    /// Reads a module, or a part of one: computations or instructions alone. Never fails: lines
    /// that can't be read are listed by [`unread`](Module::unread), and reading goes on behind
    /// them.
    pub fn read(text: &'a str) -> Module<'a> {
        Reader::new(text).read()
    }

    /// Reads a module whole.
    ///
    /// # Errors
    ///
    /// The first place that can't be read, with its line and column.
    pub fn parse(text: &'a str) -> Result<Module<'a>, Unread> {
        let mut module = Module::read(text);
        if module.unread.is_empty() {
            return Ok(module);
        }
        Err(module.unread.swap_remove(0))
    }

    /// The module's name; `None` where the text has no line that begins with `HloModule`.
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }

    /// What the module's first line says behind its name, in order.
    pub fn attributes(&self) -> &[Attribute<'a>] {
        &self.attributes
    }

    /// The shapes of `entry_computation_layout`: the parameters', then the result's.
    pub fn entry_layout(&self) -> &[WrittenShape<'a>] {
        &self.entry_layout
    }

    /// The tables of file names, functions and stack frames that metadata refers to.
    pub fn tables(&self) -> &[Table<'a>] {
        &self.tables
    }

    /// The computations, in the order of the text.
    pub fn computations(&self) -> &[Computation<'a>] {
        &self.computations
    }

    /// The place of a computation in the list.
    pub fn computation(&self, name: &str) -> Option<usize> {
        self.computations.iter().position(|c| c.name == name)
    }

    /// The lines that can't be read, each with the reason.
    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    /// Every shape that the text writes, in no particular order.
    pub fn shapes(&self) -> impl Iterator<Item = &WrittenShape<'a>> {
        self.entry_layout
            .iter()
            .chain(self.computations.iter().flat_map(|c| {
                let signature = c.parameters.iter().map(|(_, shape)| shape).chain(&c.result);
                signature.chain(c.instructions.iter().flat_map(|i| {
                    let operands = i
                        .operands
                        .iter()
                        .filter_map(|operand| operand.shape.as_ref());
                    std::iter::once(&i.shape)
                        .chain(operands)
                        .chain(&i.constraints)
                }))
            }))
    }
}

/// A shape and the text that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenShape<'a> {
    pub(super) text: &'a str,
    pub(super) shape: Shape,
}

impl<'a> WrittenShape<'a> {
    /// The text as it stood.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The shape; layouts that the text does not give are absent.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

/// `name=value`, the value as it stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// The name.
    pub name: &'a str,
    /// The value's text, with its braces or quotes, be it a computation written in place.
    pub value: &'a str,
}

/// A table between a module's first line and its computations, such as `FileNames`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table<'a> {
    /// Its name.
    pub name: &'a str,
    /// The number of its entries.
    pub entries: usize,
}

/// A computation: a list of instructions.
#[derive(Clone, Debug)]
pub struct Computation<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) line: usize,
    pub(super) is_entry: bool,
    pub(super) is_nested: bool,
    pub(super) parameters: Vec<(&'a str, WrittenShape<'a>)>,
    pub(super) result: Option<WrittenShape<'a>>,
    pub(super) attributes: Vec<Attribute<'a>>,
    pub(super) instructions: Vec<Instruction<'a>>,
}

impl<'a> Computation<'a> {
    /// The name, without `%`. A computation that is written inside an instruction has none of
    /// its own: it is called `NAME.ATTRIBUTE`, after the instruction and the attribute. The
    /// empty name stands for instructions outside any computation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line where it begins, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Whether it is the module's entry.
    pub fn is_entry(&self) -> bool {
        self.is_entry
    }

    /// Whether it is written in place, inside an instruction that uses it.
    pub fn is_nested(&self) -> bool {
        self.is_nested
    }

    /// The parameters' names and shapes, where its first line gives them.
    pub fn parameters(&self) -> &[(&'a str, WrittenShape<'a>)] {
        &self.parameters
    }

    /// The result's shape, where its first line gives it.
    pub fn result(&self) -> Option<&WrittenShape<'a>> {
        self.result.as_ref()
    }

    /// What stands behind its closing brace.
    pub fn attributes(&self) -> &[Attribute<'a>] {
        &self.attributes
    }

    /// The instructions, in the order of the text.
    pub fn instructions(&self) -> &[Instruction<'a>] {
        &self.instructions
    }
}

/// An instruction: `name = shape opcode(operands), attributes`.
#[derive(Clone, Debug)]
pub struct Instruction<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    pub(super) is_root: bool,
    pub(super) shape: WrittenShape<'a>,
    pub(super) opcode: &'a str,
    pub(super) operands: Vec<Operand<'a>>,
    pub(super) literal: Option<&'a str>,
    pub(super) attributes: Vec<Attribute<'a>>,
    pub(super) constraints: Vec<WrittenShape<'a>>,
    pub(super) called: Vec<Called<'a>>,
}

impl<'a> Instruction<'a> {
    /// The name, without `%`.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The line where it begins, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Whether it is its computation's result.
    pub fn is_root(&self) -> bool {
        self.is_root
    }

    /// The result's shape.
    pub fn shape(&self) -> &WrittenShape<'a> {
        &self.shape
    }

    /// The opcode, such as `add` or `fusion`.
    pub fn opcode(&self) -> &'a str {
        self.opcode
    }

    /// The operands, in order.
    pub fn operands(&self) -> &[Operand<'a>] {
        &self.operands
    }

    /// What stands between the parentheses of a `constant` (its value) or a `parameter` (its
    /// number).
    pub fn literal(&self) -> Option<&'a str> {
        self.literal
    }

    /// What stands behind the parentheses, in order.
    pub fn attributes(&self) -> &[Attribute<'a>] {
        &self.attributes
    }

    /// The value of an attribute as it stood.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        let found = self.attributes.iter().find(|a| a.name == name);
        found.map(|attribute| attribute.value)
    }

    /// The computations that it uses.
    pub fn called(&self) -> &[Called<'a>] {
        &self.called
    }

    /// The shapes of `operand_layout_constraints`.
    pub fn layout_constraints(&self) -> &[WrittenShape<'a>] {
        &self.constraints
    }
}

/// An operand: the name of an instruction of the same computation, its shape, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) shape: Option<WrittenShape<'a>>,
}

impl<'a> Operand<'a> {
    /// The name, without `%`, where the text gives it.
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }

    /// The shape, where the text repeats it.
    pub fn shape(&self) -> Option<&WrittenShape<'a>> {
        self.shape.as_ref()
    }
}

/// A computation that an instruction uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called<'a> {
    /// The attribute that names it, such as `calls` or `to_apply`.
    pub attribute: &'a str,
    /// The computation's name; see [`Computation::name`].
    pub computation: Cow<'a, str>,
}
