//! Which results of a module lie in memory of their own.

use std::collections::HashMap;

use super::module::{Computation, Instruction, Module};

/// Where the result of an instruction lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Memory {
    /// In memory of its own.
    Own,
    /// In the memory of the module's caller: a parameter of the entry computation (of any that
    /// nothing calls, where a part of a module has no entry).
    Argument,
    /// In the memory of other instructions: bitcasts, tuples and their elements, and what
    /// `while`, `call` and `conditional` pass on.
    Shared,
    /// Nowhere: it is a step inside a fusion, or inside a function applied to single elements.
    Inside,
}

impl Memory {
    /// The word for it: `own`, `argument`, `shared` or `inside`.
    pub const fn name(self) -> &'static str {
        match self {
            Memory::Own => "own",
            Memory::Argument => "argument",
            Memory::Shared => "shared",
            Memory::Inside => "inside",
        }
    }

    pub(super) fn of(run: Run, instruction: &Instruction<'_>) -> Memory {
        match instruction.opcode() {
            _ if run == Run::Never => Memory::Inside,
            "parameter" if run == Run::First => Memory::Argument,
            "parameter"
            | "bitcast"
            | "tuple"
            | "get-tuple-element"
            | "while"
            | "call"
            | "conditional"
            | "optimization-barrier"
            | "opt-barrier"
            | "add-dependency"
            | "domain"
            | "async-update" => Memory::Shared,
            opcode if opcode.ends_with("-done") => Memory::Shared,
            _ => Memory::Own,
        }
    }
}

/// The element of an asynchronous start's result that is its operand, not memory of its own.
pub(super) fn operand_in_result(opcode: &str) -> Option<usize> {
    match opcode {
        "copy-start" => Some(1),
        "all-reduce-start" => None,
        opcode if opcode.ends_with("-start") => Some(0),
        _ => None,
    }
}

/// How a computation comes to be run, instruction by instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// By the module's caller.
    First,
    /// By an instruction: a loop's body, a branch.
    Called,
    /// Not at all: it is what a fusion computes, or is applied to single elements.
    Never,
}

/// How each computation is run.
pub(super) fn runs(module: &Module<'_>) -> Vec<Run> {
    let computations = module.computations();
    let places: HashMap<&str, usize> = computations
        .iter()
        .enumerate()
        .map(|(place, computation)| (computation.name(), place))
        .collect();
    let mut is_called = vec![false; computations.len()];
    // The computations that each one runs.
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); computations.len()];
    for (place, computation) in computations.iter().enumerate() {
        for instruction in computation.instructions() {
            for called in instruction.called() {
                let Some(&callee) = places.get(&*called.computation) else {
                    continue;
                };
                is_called[callee] = true;
                if is_run(instruction.opcode(), called.attribute) {
                    callees[place].push(callee);
                }
            }
        }
    }
    // A part of a module may have no entry: then what nothing calls is run.
    let has_entry = computations.iter().any(Computation::is_entry);
    let is_first = |place: usize| match has_entry {
        true => computations[place].is_entry() || computations[place].name().is_empty(),
        false => !is_called[place],
    };
    let mut runs = vec![Run::Never; computations.len()];
    let mut pending: Vec<(usize, Run)> = (0..computations.len())
        .filter(|&place| is_first(place))
        .map(|place| (place, Run::First))
        .collect();
    while let Some((place, run)) = pending.pop() {
        if runs[place] == Run::Never {
            runs[place] = run;
            let callees = callees[place].iter();
            pending.extend(callees.map(|&callee| (callee, Run::Called)));
        }
    }
    runs
}

/// Whether an instruction runs the computation that an attribute names, instruction by
/// instruction, in memory.
fn is_run(opcode: &str, attribute: &str) -> bool {
    match opcode {
        "while" | "call" | "conditional" => true,
        "fusion" | "custom-call" => false,
        _ => attribute == "calls" && opcode.ends_with("-start"),
    }
}
