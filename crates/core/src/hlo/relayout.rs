//! Instructions that only move elements, or rename them where they are.

use super::explanation::with_layout;
use super::module::{Computation, Instruction};
use super::scope::Scope;
use crate::array::ArrayShape;
use crate::bitcast::{Bitcast, Operation};
use crate::plan::{Plan, PlanClass};
use crate::shape::ShapeKind;
use crate::{Permutation, Shape};

/// What an instruction that computes nothing does to its operand.
#[derive(Clone, Debug)]
pub struct Relayout {
    from: ArrayShape,
    to: ArrayShape,
    is_bitcast: bool,
    class: Option<PlanClass>,
}

impl Relayout {
    /// The array it reads, in the operand's layout.
    pub fn from(&self) -> &ArrayShape {
        &self.from
    }

    /// The array it makes.
    pub fn to(&self) -> &ArrayShape {
        &self.to
    }

    /// Whether the result's elements lie where the operand's do, so that the instruction could
    /// be a bitcast. (A `copy` of this kind is there for a buffer of its own.)
    pub fn is_bitcast(&self) -> bool {
        self.is_bitcast
    }

    /// What kind of move it is; `None` where no plan says it: of several moves in one fusion, of
    /// elements of fractional bytes, of reshapes and of changes of the element type.
    pub fn class(&self) -> Option<PlanClass> {
        self.class
    }

    /// Bytes of the buffer that it reads; `None` if the operand has no size yet.
    pub fn read_bytes(&self) -> Option<i64> {
        self.from.allocated_bytes()
    }

    /// Bytes of the buffer that it writes; `None` if the result has no size yet.
    pub fn written_bytes(&self) -> Option<i64> {
        self.to.allocated_bytes()
    }

    /// What an instruction does, if it is a relayout; `operand` is its first operand's shape.
    pub(super) fn of_instruction(
        opcode: &str,
        dimensions: Option<&str>,
        operand: &Shape,
        result: &Shape,
    ) -> Option<Relayout> {
        let result = match (opcode, result.kind()) {
            // Its result is the copy, the operand and a context.
            ("copy-start", ShapeKind::Tuple(tuple)) => tuple.elements().first()?,
            _ => result,
        };
        let from = with_layout(operand.as_array().ok()?)?;
        let to = with_layout(result.as_array().ok()?)?;
        let operation = match opcode {
            "copy" | "copy-start" => Some(Operation::Copy),
            "transpose" => Some(Operation::Transpose {
                dimensions: numbers(dimensions?)?,
            }),
            "reshape" => Some(Operation::Reshape),
            "bitcast-convert" => Some(Operation::BitcastConvert),
            "bitcast" => None,
            _ => return None,
        };
        let is_free = |operation| {
            let bitcast = Bitcast::new(&from, &to, operation);
            bitcast.is_ok_and(|bitcast| bitcast.is_free())
        };
        let plan = match &operation {
            Some(Operation::Copy) => Plan::new(&from, &to).ok(),
            Some(Operation::Transpose { dimensions }) => {
                let permutation = Permutation::new(dimensions.iter().copied()).ok()?;
                Plan::new(&from.permute_dimensions(&permutation).ok()?, &to).ok()
            }
            _ => None,
        };
        Some(Relayout {
            is_bitcast: operation.as_ref().is_none_or(is_free),
            class: plan.map(|plan| plan.class()),
            from,
            to,
        })
    }

    /// What a fusion or call does, if its computation holds nothing but relayouts on the way
    /// from one of its parameters to its result.
    pub(super) fn of_call(
        scope: &Scope<'_, '_>,
        instruction: &Instruction<'_>,
        callee: &Computation<'_>,
    ) -> Option<Relayout> {
        let inside = Scope::of(callee);
        let mut step = inside.instructions().iter().rfind(|i| i.is_root())?;
        // The step that moves elements; a bitcast where none does.
        let mut found: Option<Relayout> = None;
        let mut moves = 0;
        // No way is longer than the list, unless it runs in a circle.
        for _ in inside.instructions() {
            if step.opcode() == "parameter" {
                let number: usize = step.literal()?.trim().parse().ok()?;
                let operand = scope.shape(instruction.operands().get(number)?)?;
                return Some(Relayout {
                    from: with_layout(operand.as_array().ok()?)?,
                    to: with_layout(instruction.shape().shape().as_array().ok()?)?,
                    is_bitcast: moves == 0,
                    class: found?.class.filter(|_| moves <= 1),
                });
            }
            let operand = step.operands().first()?;
            let relayout = Relayout::of_instruction(
                step.opcode(),
                step.attribute("dimensions"),
                inside.shape(operand)?,
                step.shape().shape(),
            )?;
            moves += usize::from(!relayout.is_bitcast);
            if !relayout.is_bitcast || found.is_none() {
                found = Some(relayout);
            }
            step = inside.find(operand)?;
        }
        None
    }
}

/// Reads `{1,0}`.
fn numbers(text: &str) -> Option<Vec<i64>> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let numbers = inside.split(',').filter(|number| !number.trim().is_empty());
    numbers.map(|number| number.trim().parse().ok()).collect()
}
