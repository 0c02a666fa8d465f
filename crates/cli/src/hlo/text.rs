//! An analysis as tables, for people.

use std::io::{self, Write};

use minormajor::hlo::{Analysis, Document, Explanation, Memory, Module, Padded, Report};
use minormajor::sizes;

use crate::describe::counted;
use crate::error::shown;
use crate::table::{Row, write_table};

/// Shapes are shown up to so many characters: those of tuples can be very long.
const SHAPE: usize = 100;
/// Better orders are shown up to so many a result.
const BETTER: usize = 3;

/// Writes the sums, then a table of results and one of relayouts of at most `rows` rows each.
pub fn write(analysis: &Analysis<'_>, rows: usize, output: &mut impl Write) -> io::Result<()> {
    match analysis.document() {
        Document::Module(module) => write_module(analysis, module, output)?,
        Document::Report(report) => write_report(report, output)?,
    }
    write_results(analysis, rows, output)?;
    write_relayouts(analysis, rows, output)
}

fn write_module(
    analysis: &Analysis<'_>,
    module: &Module<'_>,
    output: &mut impl Write,
) -> io::Result<()> {
    match module.name() {
        Some(name) => write!(output, "module {name}: ")?,
        None => write!(output, "part of a module: ")?,
    }
    let computations = counted(module.computations().len() as i128, "computation");
    let instructions = counted(analysis.usages().len() as i128, "instruction");
    writeln!(output, "{computations}, {instructions}")?;
    for (name, memory) in [("arguments", Memory::Argument), ("results", Memory::Own)] {
        let sum = analysis.sum(memory);
        let size = sizes::size(sum.allocated_bytes);
        write!(output, "  {name:10} {size:>8} in {}", sum.results)?;
        match sizes::expansion(sum.dense_bytes, sum.allocated_bytes) {
            Some(expansion) if sum.dense_bytes != sum.allocated_bytes => {
                writeln!(output, ", padding {expansion}")?;
            }
            _ => writeln!(output, ", no padding")?,
        }
    }
    writeln!(
        output,
        "  A run needs less than all results: those not needed at once share memory."
    )
}

fn write_report(report: &Report<'_>, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "memory report of a TPU compiler")?;
    for total in report.totals() {
        let indent = if total.is_part { "    " } else { "  " };
        writeln!(output, "{indent}{}", total.text)?;
    }
    let ranges: Vec<String> = report
        .other_lines()
        .iter()
        .map(|&(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    match ranges.len() {
        0 => Ok(()),
        _ => {
            let is_one = report
                .other_lines()
                .iter()
                .map(|(a, b)| b - a + 1)
                .sum::<usize>()
                == 1;
            let lines = if is_one { "line" } else { "lines" };
            let ranges = shown(&ranges.join(", "), SHAPE);
            writeln!(output, "  Not part of a report: {lines} {ranges}.")
        }
    }
}

fn write_results(analysis: &Analysis<'_>, limit: usize, output: &mut impl Write) -> io::Result<()> {
    let is_report = matches!(analysis.document(), Document::Report(_));
    let mut worst = analysis.worst_first();
    let all = worst.len();
    if limit < usize::MAX {
        worst.retain(|usage| usage.takes_memory() && usage.allocated_bytes() != Some(0));
    }
    worst.truncate(limit);
    if worst.is_empty() {
        return writeln!(output, "\nnothing takes memory");
    }
    writeln!(
        output,
        "\n{}, those that waste most first",
        if is_report { "allocations" } else { "results" }
    )?;
    let bytes = |bytes: Option<i128>| bytes.map_or("?".to_owned(), sizes::size);
    let rows: Vec<Row> = worst
        .iter()
        .map(|usage| {
            let (dense, allocated) = (usage.dense_bytes(), usage.allocated_bytes());
            let sizes = dense
                .zip(allocated)
                .filter(|(dense, allocated)| dense != allocated);
            let ratio = sizes.and_then(|(dense, allocated)| sizes::ratio(dense, allocated));
            let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.1}x"));
            let size = match usage.allocation() {
                Some(allocation) => allocation.size_text().to_owned(),
                None => bytes(allocated),
            };
            let what = match (usage.allocation(), usage.explanation()) {
                (Some(allocation), Some(explanation)) => {
                    let space = allocation.memory_space().unwrap_or("");
                    vec![space.to_owned(), explained(explanation)]
                }
                _ => vec![usage.memory().name().to_owned()],
            };
            let shape = usage
                .shape()
                .map_or(String::new(), |shape| shown(shape, SHAPE));
            let label = || usage.allocation().and_then(|a| a.label_text());
            let name = match usage.name().or_else(label) {
                Some(name) => format!("{} {shape}", shown(name, SHAPE)),
                None => shape,
            };
            let opcode = usage.opcode().unwrap_or("").to_owned();
            let mut cells = vec![size, bytes(dense), ratio];
            cells.extend(what);
            cells.extend([opcode, name]);
            Row {
                cells,
                below: usage.padded().iter().flat_map(advice).collect(),
            }
        })
        .collect();
    let heads: &[&str] = match is_report {
        true => &[
            "printed",
            "elements",
            "",
            "in",
            "explained by",
            "opcode",
            "name and shape",
        ],
        false => &[
            "allocated",
            "elements",
            "",
            "memory",
            "opcode",
            "name and shape",
        ],
    };
    write_table(heads, 3, &rows, output)?;
    match all - worst.len() {
        0 => Ok(()),
        more => writeln!(output, "  {more} more: --top 0 shows all"),
    }
}

fn explained(explanation: &Explanation) -> String {
    match (explanation, explanation.tiles().first()) {
        (Explanation::Tiles(_), Some(tiles)) => format!("{tiles}, not printed"),
        (Explanation::Layout(_), Some(_)) => "its tiles".to_owned(),
        (Explanation::Layout(_), None) => "its elements".to_owned(),
        (Explanation::IndexTable, _) => "a tuple's index table".to_owned(),
        (Explanation::Arrays, _) => "a tuple's arrays".to_owned(),
        (Explanation::NoShape, _) => "no shape is printed".to_owned(),
        _ => "not by its shape".to_owned(),
    }
}

/// The orders in which a padded array would take least.
fn advice(padded: &Padded) -> Vec<String> {
    let which = match padded.index().is_empty() {
        true => String::new(),
        false => format!("{}: ", padded.index()),
    };
    let better = padded.better();
    let mut lines: Vec<String> = better
        .iter()
        .take(BETTER)
        .filter_map(|array| {
            let size = sizes::size(array.allocated_bytes()?.into());
            let mut line = format!("{which}{} would take {size}", array.layout()?);
            if let Ok(transposed) = array.in_physical_order() {
                line += &format!(", as would {transposed}");
            }
            Some(line)
        })
        .collect();
    if better.is_empty() && padded.array().rank() > 1 {
        lines.push(format!("{which}no order of its dimensions takes less"));
    }
    if better.len() > BETTER {
        let more = counted((better.len() - BETTER) as i128, "more order");
        lines.push(format!("{which}and {more}"));
    }
    lines
}

fn write_relayouts(
    analysis: &Analysis<'_>,
    limit: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    let relayouts = analysis.relayouts();
    let bitcasts = analysis.usages().iter().filter(|usage| {
        usage.memory() != Memory::Inside && usage.relayout().is_some_and(|r| r.is_bitcast())
    });
    let bitcasts = counted(bitcasts.count() as i128, "other");
    if relayouts.is_empty() {
        return writeln!(
            output,
            "\nno relayout moves elements; {bitcasts} leave them in place"
        );
    }
    let sum = |bytes: fn(&minormajor::hlo::Relayout) -> Option<i64>| {
        let bytes = relayouts.iter().filter_map(|(_, relayout)| bytes(relayout));
        sizes::size(bytes.map(i128::from).sum())
    };
    writeln!(
        output,
        "\n{} that {} elements: {} read, {} written; {bitcasts} leave them in place",
        counted(relayouts.len() as i128, "relayout"),
        if relayouts.len() == 1 {
            "moves"
        } else {
            "move"
        },
        sum(|relayout| relayout.read_bytes()),
        sum(|relayout| relayout.written_bytes()),
    )?;
    let bytes = |bytes: Option<i64>| bytes.map_or("?".to_owned(), |b| sizes::size(b.into()));
    let rows: Vec<Row> = relayouts
        .iter()
        .take(limit)
        .map(|(usage, relayout)| Row {
            cells: vec![
                bytes(relayout.read_bytes()),
                bytes(relayout.written_bytes()),
                relayout.class().map_or("", |class| class.name()).to_owned(),
                usage.opcode().unwrap_or("").to_owned(),
                format!(
                    "{} {} to {}",
                    usage.name().unwrap_or(""),
                    shown(&relayout.from().to_string(), SHAPE),
                    shown(&relayout.to().to_string(), SHAPE)
                ),
            ],
            below: Vec::new(),
        })
        .collect();
    write_table(
        &["read", "written", "class", "opcode", "name, from and to"],
        2,
        &rows,
        output,
    )?;
    match relayouts.len().saturating_sub(limit) {
        0 => Ok(()),
        more => writeln!(output, "  {more} more: --top 0 shows all"),
    }
}
