//! Tables, for people.

use std::io::{self, Write};

/// Cells and the lines below them; the last cell is the widest, and has no width.
pub struct Row {
    pub cells: Vec<String>,
    pub below: Vec<String>,
}

/// Writes columns wide enough for their cells, the first `numbers` of them to the right.
pub fn write_table(
    heads: &[&str],
    numbers: usize,
    rows: &[Row],
    output: &mut impl Write,
) -> io::Result<()> {
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(column, head)| {
            let cells = rows.iter().map(|row| row.cells[column].chars().count());
            cells.max().unwrap_or(0).max(head.len())
        })
        .collect();
    let line = |cells: &[&str]| {
        let cells = cells.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(column, (cell, &width))| match column {
                _ if column + 1 == heads.len() => cell.to_string(),
                _ if column < numbers => format!("{cell:>width$}"),
                _ => format!("{cell:width$}"),
            })
            .collect();
        format!("  {}", cells.join("  "))
    };
    writeln!(output, "{}", line(heads))?;
    let indent: usize = widths[..numbers].iter().map(|width| width + 2).sum();
    for row in rows {
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        writeln!(output, "{}", line(&cells).trim_end())?;
        for below in &row.below {
            writeln!(output, "  {:indent$}{below}", "")?;
        }
    }
    Ok(())
}
