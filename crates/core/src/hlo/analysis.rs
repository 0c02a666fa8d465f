//! What a module or a report says about memory: what is allocated, wasted and moved.

use std::collections::HashMap;
use std::sync::Arc;

use super::explanation::{Explained, Explanation, bytes_of_arrays, with_layout};
use super::memory::{Memory, operand_in_result, runs};
use super::module::{Computation, Instruction, Module};
use super::relayout::Relayout;
use super::report::Allocation;
use super::scope::Scope;
use super::{Document, Unread};
use crate::array::ArrayShape;
use crate::shape::{Shape, ShapeIndex, ShapeKind};

/// What a module or a report says about memory.
///
/// ```
/// use minormajor_core::hlo::{Analysis, Document};
///
/// let text = "ENTRY %main {
///   %p = f32[1000,4]{1,0:T(8,128)} parameter(0)
///   ROOT %t = f32[4,1000]{1,0:T(8,128)} transpose(%p), dimensions={1,0}
/// }";
/// let document = Document::read(text)?;
/// let analysis = Analysis::of(&document);
/// let worst = analysis.worst_first();
/// assert_eq!((worst[0].name(), worst[0].wasted_bytes()), (Some("p"), Some(496_000)));
/// let better = &worst[0].padded()[0].better()[0];
/// assert_eq!(better.to_string(), "f32[1000,4]{0,1:T(8,128)}");
/// assert!(!worst[1].relayout().unwrap().is_bitcast());
/// # Ok::<(), minormajor_core::hlo::Unread>(())
/// ```
#[derive(Clone, Debug)]
pub struct Analysis<'m> {
    document: &'m Document<'m>,
    usages: Vec<Usage<'m>>,
}

/// What one instruction's result, or one entry of a report, takes of memory.
#[derive(Clone, Debug)]
pub struct Usage<'m> {
    name: Option<&'m str>,
    opcode: Option<&'m str>,
    computation: Option<&'m str>,
    line: usize,
    shape: Option<&'m str>,
    dense: Option<i128>,
    allocated: Option<i128>,
    memory: Memory,
    padded: Vec<Padded>,
    relayout: Option<Relayout>,
    allocation: Option<&'m Allocation<'m>>,
    explanation: Option<Explanation>,
}

/// An array that takes more memory than its elements need.
#[derive(Clone, Debug)]
pub struct Padded {
    index: ShapeIndex,
    array: ArrayShape,
    better: Arc<[ArrayShape]>,
}

/// A sum over results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The number of results.
    pub results: usize,
    /// The bytes that their elements need.
    pub dense_bytes: i128,
    /// The bytes that they take.
    pub allocated_bytes: i128,
}

impl<'m> Analysis<'m> {
    /// The analysis of a module or a report.
    pub fn of(document: &'m Document<'m>) -> Analysis<'m> {
        let mut orders = Orders::default();
        let usages = match document {
            Document::Module(module) => usages_of_module(module, &mut orders),
            Document::Report(report) => {
                let allocations = report.allocations().iter();
                allocations
                    .map(|a| Usage::of_allocation(a, &mut orders))
                    .collect()
            }
        };
        Analysis { document, usages }
    }

    /// What was analysed.
    pub fn document(&self) -> &'m Document<'m> {
        self.document
    }

    /// The results, in the order of the text.
    pub fn usages(&self) -> &[Usage<'m>] {
        &self.usages
    }

    /// The results that waste most bytes first, then those that take most. What takes no memory
    /// of its own comes last.
    pub fn worst_first(&self) -> Vec<&Usage<'m>> {
        let mut worst: Vec<&Usage<'m>> = self.usages.iter().collect();
        worst.sort_by_key(|usage| {
            let known = |bytes: Option<i128>| -bytes.unwrap_or(0);
            (
                !usage.takes_memory(),
                known(usage.wasted_bytes()),
                known(usage.allocated),
            )
        });
        worst
    }

    /// The relayouts that move elements in memory, those that write most first.
    pub fn relayouts(&self) -> Vec<(&Usage<'m>, &Relayout)> {
        let moving = self.usages.iter().filter_map(|usage| {
            let relayout = usage.relayout.as_ref()?;
            (usage.memory == Memory::Own && !relayout.is_bitcast()).then_some((usage, relayout))
        });
        let mut moving: Vec<_> = moving.collect();
        moving.sort_by_key(|(_, relayout)| -relayout.written_bytes().unwrap_or(0));
        moving
    }

    /// The sum over the results that lie in memory of this kind and have a size. XLA lets
    /// results that are not needed at the same time share memory, so what a program needs at
    /// once is less.
    pub fn sum(&self, memory: Memory) -> Sum {
        let of_kind = self.usages.iter().filter(|usage| usage.memory == memory);
        of_kind.fold(Sum::default(), |sum, usage| {
            let Some((dense, allocated)) = usage.dense.zip(usage.allocated) else {
                return sum;
            };
            Sum {
                results: sum.results + 1,
                dense_bytes: sum.dense_bytes + dense,
                allocated_bytes: sum.allocated_bytes + allocated,
            }
        })
    }

    /// What could not be read.
    pub fn unread(&self) -> &'m [Unread] {
        match self.document {
            Document::Module(module) => module.unread(),
            Document::Report(report) => report.unread(),
        }
    }
}

impl<'m> Usage<'m> {
    fn of_instruction(
        computation: &'m Computation<'m>,
        instruction: &'m Instruction<'m>,
        memory: Memory,
        orders: &mut Orders,
    ) -> Usage<'m> {
        let shape = instruction.shape().shape();
        let skipped = operand_in_result(instruction.opcode());
        let own = without_element(shape, skipped);
        let own = own.as_ref().unwrap_or(shape);
        let (dense, allocated) = bytes_of_arrays(own);
        let padded = match memory {
            Memory::Own | Memory::Argument => shape
                .leaves()
                .filter(|(index, _)| skipped.is_none() || index.first().copied() != skipped)
                .filter_map(|(index, leaf)| {
                    Padded::new(index, with_layout(leaf.as_array().ok()?)?, orders)
                })
                .collect(),
            _ => Vec::new(),
        };
        Usage {
            name: Some(instruction.name()),
            opcode: Some(instruction.opcode()),
            computation: Some(computation.name()),
            line: instruction.line(),
            shape: Some(instruction.shape().text()),
            dense,
            allocated,
            memory,
            padded,
            relayout: None,
            allocation: None,
            explanation: None,
        }
    }

    fn of_allocation(allocation: &'m Allocation<'m>, orders: &mut Orders) -> Usage<'m> {
        let explained = Explained::of(allocation);
        let label = allocation.label();
        let padded = explained.array().cloned();
        let padded = padded.and_then(|array| Padded::new(ShapeIndex::root(), array, orders));
        let relayout = label
            .as_ref()
            .zip(allocation.shape())
            .and_then(|(label, shape)| {
                let dimensions = label.attributes.iter().find(|a| a.name == "dimensions");
                let operand = label.operands.first()?.shape()?;
                Relayout::of_instruction(
                    label.opcode,
                    dimensions.map(|attribute| attribute.value),
                    operand.shape(),
                    shape,
                )
            });
        Usage {
            name: label.as_ref().map(|label| label.name),
            opcode: label.as_ref().map(|label| label.opcode),
            computation: None,
            line: allocation.line(),
            shape: allocation.shape_text(),
            dense: explained.dense,
            allocated: explained.allocated,
            memory: Memory::Own,
            padded: padded.into_iter().collect(),
            relayout,
            allocation: Some(allocation),
            explanation: Some(explained.explanation),
        }
    }

    /// The instruction's name; `None` where a report gives none.
    pub fn name(&self) -> Option<&'m str> {
        self.name
    }

    /// The instruction's opcode; `None` where a report gives none.
    pub fn opcode(&self) -> Option<&'m str> {
        self.opcode
    }

    /// The name of the instruction's computation; `None` in a report.
    pub fn computation(&self) -> Option<&'m str> {
        self.computation
    }

    /// The line where it begins, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The shape as it stood; `None` where a report gives none.
    pub fn shape(&self) -> Option<&'m str> {
        self.shape
    }

    /// The bytes that the elements need, of all arrays of a tuple; `None` where that is not
    /// known. In a report a tuple is its index table.
    pub fn dense_bytes(&self) -> Option<i128> {
        self.dense
    }

    /// The bytes that it takes with padding, as [`dense_bytes`](Usage::dense_bytes) counts
    /// tuples. In a report without tiles, those under the tiles that explain the size.
    pub fn allocated_bytes(&self) -> Option<i128> {
        self.allocated
    }

    /// The bytes of padding.
    pub fn wasted_bytes(&self) -> Option<i128> {
        Some(self.allocated? - self.dense?)
    }

    /// Where it lies.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Whether memory is set aside for it, by the module or by its caller.
    pub fn takes_memory(&self) -> bool {
        matches!(self.memory, Memory::Own | Memory::Argument)
    }

    /// Its arrays that are padded, if it takes memory.
    pub fn padded(&self) -> &[Padded] {
        &self.padded
    }

    /// What it moves, if it only moves elements.
    pub fn relayout(&self) -> Option<&Relayout> {
        self.relayout.as_ref()
    }

    /// The entry of the report.
    pub fn allocation(&self) -> Option<&'m Allocation<'m>> {
        self.allocation
    }

    /// What makes the size that the report prints.
    pub fn explanation(&self) -> Option<&Explanation> {
        self.explanation.as_ref()
    }
}

impl Padded {
    /// `None` if the array is not padded.
    fn new(index: ShapeIndex, array: ArrayShape, orders: &mut Orders) -> Option<Padded> {
        if array.allocated_bytes()? <= array.dense_bytes()? {
            return None;
        }
        let better = orders.better(&array);
        Some(Padded {
            index,
            array,
            better,
        })
    }

    /// Which array of a tuple it is: the element numbers that lead to it. Empty if the result
    /// is the array.
    pub fn index(&self) -> &ShapeIndex {
        &self.index
    }

    /// The array, in its layout.
    pub fn array(&self) -> &ArrayShape {
        &self.array
    }

    /// The array in the orders that would take least, the nearest to its own first; none where
    /// no order takes less. See [`ArrayShape::least_allocating_orders`]; a program whose layouts
    /// are the default ones gets the same by
    /// [transposing](ArrayShape::in_physical_order) the array.
    pub fn better(&self) -> &[ArrayShape] {
        &self.better
    }
}

/// The better orders of arrays that were met already.
#[derive(Default)]
struct Orders(HashMap<ArrayShape, Arc<[ArrayShape]>>);

impl Orders {
    fn better(&mut self, array: &ArrayShape) -> Arc<[ArrayShape]> {
        if let Some(known) = self.0.get(array) {
            return known.clone();
        }
        let mut better = array.least_allocating_orders().unwrap_or_default();
        better.retain(|other| other.allocated_bytes() < array.allocated_bytes());
        let better: Arc<[ArrayShape]> = better.into();
        self.0.insert(array.clone(), better.clone());
        better
    }
}

fn usages_of_module<'m>(module: &'m Module<'m>, orders: &mut Orders) -> Vec<Usage<'m>> {
    let computations: HashMap<&str, &Computation<'_>> = module
        .computations()
        .iter()
        .map(|c| (c.name(), c))
        .collect();
    let mut usages = Vec::new();
    for (computation, run) in module.computations().iter().zip(runs(module)) {
        let scope = Scope::of(computation);
        for instruction in computation.instructions() {
            let memory = Memory::of(run, instruction);
            let mut usage = Usage::of_instruction(computation, instruction, memory, orders);
            usage.relayout = match instruction.opcode() {
                "fusion" | "call" => instruction
                    .called()
                    .first()
                    .and_then(|called| computations.get(&*called.computation))
                    .and_then(|callee| Relayout::of_call(&scope, instruction, callee)),
                opcode => instruction
                    .operands()
                    .first()
                    .and_then(|operand| scope.shape(operand))
                    .and_then(|operand| {
                        let dimensions = instruction.attribute("dimensions");
                        let result = instruction.shape().shape();
                        Relayout::of_instruction(opcode, dimensions, operand, result)
                    }),
            };
            usages.push(usage);
        }
    }
    usages
}

/// A tuple without one of its elements; `None` for anything else.
fn without_element(shape: &Shape, place: Option<usize>) -> Option<Shape> {
    let (ShapeKind::Tuple(tuple), Some(place)) = (shape.kind(), place) else {
        return None;
    };
    let elements = tuple.elements().iter().enumerate();
    let kept = elements.filter(|&(at, _)| at != place);
    Shape::tuple(kept.map(|(_, element)| element.clone())).ok()
}
