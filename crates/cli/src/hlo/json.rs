//! An analysis as one JSON object, its fields in the order of the structs.

use std::io;

use minormajor::ArrayShape;
use minormajor::hlo::{Analysis, Document, Memory, Padded, Relayout, Sum, Total, Unread, Usage};
use minormajor::sizes;
use serde::Serialize;

use crate::output::Output;

/// Writes the object, on one line.
pub fn write(analysis: &Analysis<'_>, output: &mut Output) -> io::Result<()> {
    serde_json::to_writer(&mut *output, &AnalysisObject::of(analysis))?;
    io::Write::write_all(output, b"\n")
}

#[derive(Serialize)]
struct AnalysisObject<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    totals: Vec<TotalObject<'a>>,
    sums: SumsObject,
    instructions: Vec<UsageObject<'a>>,
    unread: Vec<UnreadObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_lines: Option<&'a [(usize, usize)]>,
}

#[derive(Serialize)]
struct TotalObject<'a> {
    name: &'a str,
    bytes: Option<i128>,
    text: &'a str,
}

#[derive(Serialize)]
struct SumsObject {
    own: SumObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    argument: Option<SumObject>,
}

#[derive(Serialize)]
struct SumObject {
    results: usize,
    dense_bytes: i128,
    allocated_bytes: i128,
}

#[derive(Serialize)]
struct UsageObject<'a> {
    name: Option<&'a str>,
    opcode: Option<&'a str>,
    computation: Option<&'a str>,
    line: usize,
    shape: Option<&'a str>,
    dense_bytes: Option<i128>,
    allocated_bytes: Option<i128>,
    expansion: Option<f64>,
    memory: &'static str,
    #[serde(flatten)]
    allocation: Option<AllocationObject<'a>>,
    padded: Vec<PaddedObject<'a>>,
    relayout: Option<RelayoutObject>,
}

/// What only an entry of a report has.
#[derive(Serialize)]
struct AllocationObject<'a> {
    number: usize,
    memory_space: Option<&'a str>,
    size: &'a str,
    unpadded: Option<&'a str>,
    padding: Option<&'a str>,
    operator: Option<&'a str>,
    label: Option<&'a str>,
    allocation_type: Option<&'a str>,
    explained_by: &'static str,
    tiles: Vec<String>,
}

#[derive(Serialize)]
struct PaddedObject<'a> {
    /// Which array of a tuple it is.
    index: &'a [usize],
    shape: String,
    dense_bytes: Option<i64>,
    allocated_bytes: Option<i64>,
    better: Vec<BetterObject>,
}

#[derive(Serialize)]
struct BetterObject {
    minor_to_major: Vec<usize>,
    shape: String,
    allocated_bytes: Option<i64>,
    transposed: Option<String>,
}

#[derive(Serialize)]
struct RelayoutObject {
    from: String,
    to: String,
    class: Option<&'static str>,
    bitcast: bool,
    read_bytes: Option<i64>,
    written_bytes: Option<i64>,
}

#[derive(Serialize)]
struct UnreadObject {
    line: usize,
    column: usize,
    first_line: usize,
    error: String,
}

impl<'a> AnalysisObject<'a> {
    fn of(analysis: &'a Analysis<'_>) -> Self {
        let own = SumObject::of(analysis.sum(Memory::Own));
        let (kind, name, totals, argument, other_lines) = match analysis.document() {
            Document::Module(module) => {
                let argument = SumObject::of(analysis.sum(Memory::Argument));
                ("module", module.name(), Vec::new(), Some(argument), None)
            }
            Document::Report(report) => {
                let totals = report.totals().iter().map(TotalObject::of).collect();
                ("report", None, totals, None, Some(report.other_lines()))
            }
        };
        AnalysisObject {
            kind,
            name,
            totals,
            sums: SumsObject { own, argument },
            instructions: analysis.usages().iter().map(UsageObject::of).collect(),
            unread: analysis.unread().iter().map(UnreadObject::of).collect(),
            other_lines,
        }
    }
}

impl<'a> TotalObject<'a> {
    fn of(total: &'a Total<'_>) -> Self {
        TotalObject {
            name: total.name,
            bytes: total.size.map(|size| size.bytes()),
            text: total.text,
        }
    }
}

impl SumObject {
    fn of(sum: Sum) -> Self {
        SumObject {
            results: sum.results,
            dense_bytes: sum.dense_bytes,
            allocated_bytes: sum.allocated_bytes,
        }
    }
}

impl<'a> UsageObject<'a> {
    fn of(usage: &'a Usage<'_>) -> Self {
        let (dense_bytes, allocated_bytes) = (usage.dense_bytes(), usage.allocated_bytes());
        UsageObject {
            name: usage.name(),
            opcode: usage.opcode(),
            computation: usage.computation(),
            line: usage.line(),
            shape: usage.shape(),
            dense_bytes,
            allocated_bytes,
            expansion: dense_bytes
                .zip(allocated_bytes)
                .and_then(|(dense, allocated)| sizes::ratio(dense, allocated)),
            memory: usage.memory().name(),
            allocation: AllocationObject::of(usage),
            padded: usage.padded().iter().map(PaddedObject::of).collect(),
            relayout: usage.relayout().map(RelayoutObject::of),
        }
    }
}

impl<'a> AllocationObject<'a> {
    fn of(usage: &'a Usage<'_>) -> Option<Self> {
        let (allocation, explanation) = usage.allocation().zip(usage.explanation())?;
        Some(AllocationObject {
            number: allocation.number(),
            memory_space: allocation.memory_space(),
            size: allocation.size_text(),
            unpadded: allocation.unpadded_text(),
            padding: allocation.padding_text(),
            operator: allocation.operator(),
            label: allocation.label_text(),
            allocation_type: allocation.kind(),
            explained_by: explanation.name(),
            tiles: explanation.tiles(),
        })
    }
}

impl<'a> PaddedObject<'a> {
    fn of(padded: &'a Padded) -> Self {
        let array = padded.array();
        PaddedObject {
            index: padded.index(),
            shape: array.to_string(),
            dense_bytes: array.dense_bytes(),
            allocated_bytes: array.allocated_bytes(),
            better: padded.better().iter().map(BetterObject::of).collect(),
        }
    }
}

impl BetterObject {
    fn of(array: &ArrayShape) -> Self {
        let layout = array.layout();
        BetterObject {
            minor_to_major: layout.map_or_else(Vec::new, |l| l.minor_to_major().to_vec()),
            shape: array.to_string(),
            allocated_bytes: array.allocated_bytes(),
            transposed: array.in_physical_order().ok().map(|t| t.to_string()),
        }
    }
}

impl RelayoutObject {
    fn of(relayout: &Relayout) -> Self {
        RelayoutObject {
            from: relayout.from().to_string(),
            to: relayout.to().to_string(),
            class: relayout.class().map(|class| class.name()),
            bitcast: relayout.is_bitcast(),
            read_bytes: relayout.read_bytes(),
            written_bytes: relayout.written_bytes(),
        }
    }
}

impl UnreadObject {
    fn of(unread: &Unread) -> Self {
        UnreadObject {
            line: unread.line(),
            column: unread.column(),
            first_line: unread.first_line(),
            error: unread.reason().to_string(),
        }
    }
}
