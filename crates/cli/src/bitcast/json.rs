//! `bitcast --json`.

use std::io::{self, Write};

use minormajor::bitcast::{Bitcast, Cause, Obstacle, Operation, Step, WhyNot};
use serde::Serialize;

/// Writes the answer as one object on one line.
pub fn write(
    bitcast: &Bitcast<'_>,
    operation: &Operation,
    output: &mut impl Write,
) -> io::Result<()> {
    let free = bitcast.free();
    let why_not = bitcast.why_not();
    let object = Object {
        operation: operation.to_string(),
        operand: bitcast.operand().to_string(),
        result: bitcast.result().to_string(),
        free: free.is_some(),
        place: free.map(|free| Place {
            byte_offset: free.byte_offset,
            bytes_behind: free.bytes_behind,
            padding_holds: free.padding_holds,
        }),
        why_not: why_not.as_ref().map(Reason::new),
    };
    serde_json::to_writer(&mut *output, &object)?;
    output.write_all(b"\n")
}

#[derive(Serialize)]
struct Object {
    operation: String,
    operand: String,
    result: String,
    free: bool,
    #[serde(flatten)]
    place: Option<Place>,
    #[serde(flatten)]
    why_not: Option<Reason>,
}

#[derive(Serialize)]
struct Place {
    byte_offset: i64,
    bytes_behind: i64,
    padding_holds: bool,
}

#[derive(Serialize)]
struct Reason {
    why_not: String,
    obstacle: ObstacleObject,
    /// Null where none serves.
    smallest_copy: Option<Copy>,
    nearest_layout: Option<Nearest>,
}

#[derive(Serialize)]
struct Copy {
    shape: String,
    bytes: i64,
}

#[derive(Serialize)]
struct Nearest {
    shape: String,
    moved_dimensions: usize,
    padding_elements: i64,
}

/// What stands in the way, with the numbers that it has.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ObstacleObject {
    Step {
        operand: Box<StepObject>,
        result: Box<StepObject>,
    },
    Repeated {
        dimension: usize,
        size: i64,
    },
    ElementSize {
        operand_bits: i64,
        result_bits: i64,
    },
    Allocation {
        operand_bytes: i64,
        result_bytes: i64,
        byte_offset: i64,
    },
    InsideByte {
        bit_offset: i64,
    },
    MemorySpace {
        operand: i64,
        result: i64,
    },
    Other,
}

#[derive(Serialize)]
struct StepObject {
    dimension: Option<usize>,
    wrapped: Option<usize>,
    from: Vec<i64>,
    to: Vec<i64>,
    bits: i64,
    elements: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<CauseObject>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CauseObject {
    Tile,
    Padding { size: i64, padded: i64 },
}

impl Reason {
    fn new(why_not: &WhyNot) -> Reason {
        Reason {
            why_not: why_not.obstacle().to_string(),
            obstacle: ObstacleObject::new(why_not.obstacle()),
            smallest_copy: why_not.smallest_copy().map(|copy| Copy {
                shape: copy.shape.to_string(),
                bytes: copy.bytes,
            }),
            nearest_layout: why_not.nearest_layout().map(|nearest| Nearest {
                shape: nearest.shape.to_string(),
                moved_dimensions: nearest.moved_dimensions,
                padding_elements: nearest.padding,
            }),
        }
    }
}

impl ObstacleObject {
    fn new(obstacle: &Obstacle) -> ObstacleObject {
        match obstacle {
            Obstacle::Step { operand, result } => ObstacleObject::Step {
                operand: Box::new(StepObject::new(operand)),
                result: Box::new(StepObject::new(result)),
            },
            &Obstacle::Repeated { dimension, size } => ObstacleObject::Repeated { dimension, size },
            &Obstacle::ElementSize { operand, result } => ObstacleObject::ElementSize {
                operand_bits: operand,
                result_bits: result,
            },
            &Obstacle::Allocation {
                operand,
                result,
                byte_offset,
            } => ObstacleObject::Allocation {
                operand_bytes: operand,
                result_bytes: result,
                byte_offset,
            },
            &Obstacle::InsideByte { bit_offset } => ObstacleObject::InsideByte { bit_offset },
            &Obstacle::MemorySpace { operand, result } => {
                ObstacleObject::MemorySpace { operand, result }
            }
            _ => ObstacleObject::Other,
        }
    }
}

impl StepObject {
    fn new(step: &Step) -> StepObject {
        StepObject {
            dimension: step.dimension,
            wrapped: step.wrapped,
            from: step.from.clone(),
            to: step.to.clone(),
            bits: step.bits,
            elements: step.elements,
            cause: step.cause.and_then(|cause| match cause {
                Cause::Tile => Some(CauseObject::Tile),
                Cause::Padding { size, padded } => Some(CauseObject::Padding { size, padded }),
                _ => None,
            }),
        }
    }
}
