//! A computation with its instructions by name.

use std::collections::HashMap;

use super::module::{Computation, Instruction, Operand};
use crate::Shape;

/// A computation, and where each name stands in its list of instructions.
pub(super) struct Scope<'m, 'a> {
    computation: &'m Computation<'a>,
    places: HashMap<&'a str, usize>,
}

impl<'m, 'a> Scope<'m, 'a> {
    pub fn of(computation: &'m Computation<'a>) -> Self {
        let instructions = computation.instructions().iter().enumerate();
        Scope {
            computation,
            places: instructions.map(|(place, i)| (i.name(), place)).collect(),
        }
    }

    /// The instructions, in the order of the text.
    pub fn instructions(&self) -> &'m [Instruction<'a>] {
        self.computation.instructions()
    }

    /// The instruction that an operand names.
    pub fn find(&self, operand: &Operand<'a>) -> Option<&'m Instruction<'a>> {
        let place = *self.places.get(operand.name()?)?;
        self.instructions().get(place)
    }

    /// An operand's shape: that of the instruction it names, else as it is written there
    /// (beside a name it may stand without its layout).
    pub fn shape<'o: 'm>(&self, operand: &'o Operand<'a>) -> Option<&'m Shape> {
        match self.find(operand) {
            Some(instruction) => Some(instruction.shape().shape()),
            None => Some(operand.shape()?.shape()),
        }
    }
}
