//! A picture as text for a terminal.

use super::grid::{Grid, Slice};
use super::line::{Line, Style};
use super::memory;
use super::select::Mark;
use super::{Cell, Picture};

/// Rows of a slice, at most: all of them, or so many where some are left out. Fewer where there
/// are several slices.
const ROWS: (usize, usize) = (20, 12);
const ROWS_OF_SLICES: (usize, usize) = (8, 6);
const SLICES: usize = 4;
/// Lines of memory, at most: for all of it, and where some is left out.
const MEMORY_LINES: (usize, usize) = (6, 3);
/// Columns left of everything.
const MARGIN: usize = 2;

/// The whole picture.
pub fn text(picture: &Picture, width: usize, colour: bool) -> String {
    let width = width.saturating_sub(MARGIN).max(16);
    let mut lines = Vec::new();
    let mut title = Line::default();
    title.push(picture.shape.to_string(), Style::Strong);
    lines.push(title);
    lines.push(faint(&picture.summary()));
    lines.push(Line::default());
    let margin = |line: Line| {
        let mut moved = Line::default();
        moved.pad_to(MARGIN);
        moved.append(&line);
        moved
    };
    lines.extend(array(picture, width).into_iter().map(margin));
    lines.push(Line::default());
    lines.extend(memory_lines(picture, width).into_iter().map(margin));
    let mut out = String::new();
    for line in lines {
        line.write(&mut out, colour);
    }
    out
}

fn faint(text: &str) -> Line {
    let mut line = Line::default();
    line.push(text, Style::Faint);
    line
}

/// What a table shows in its cells.
#[derive(Clone, Copy)]
enum Content {
    Names,
    Positions,
}

/// The array: letters and, beside or below them, positions; positions alone without letters.
fn array(picture: &Picture, width: usize) -> Vec<Line> {
    if picture.extents.contains(&0) {
        return vec![faint("the array has no elements and no padding")];
    }
    let axes = match picture.rank() {
        0 | 1 => String::new(),
        rank => format!(
            ", {} down, {} across",
            picture.dimension_name(rank - 2),
            picture.dimension_name(rank - 1)
        ),
    };
    let (all_rows, some_rows) = if picture.rank() > 2 {
        ROWS_OF_SLICES
    } else {
        ROWS
    };
    let row_count = picture
        .rank()
        .checked_sub(2)
        .map_or(1, |row| picture.extents[row]);
    let rows = if row_count <= all_rows as i64 {
        all_rows
    } else {
        some_rows
    };
    let draw = |columns: usize, content: Content| {
        let grid = Grid::new(picture, rows, columns, SLICES);
        captioned_tables(picture, &grid, content, &axes)
    };
    let widest = |lines: &[Line]| lines.iter().map(|line| line.width).max().unwrap_or(0);
    if picture.lettered {
        // Side by side where no element has to be left out for it, nor where padding begins.
        let columns = match (picture.extents.last(), picture.map.sizes().last()) {
            (Some(&extent), Some(&size)) => extent.min(size + 3) as usize,
            _ => 1,
        };
        let (names, positions) = (
            draw(columns, Content::Names),
            draw(columns, Content::Positions),
        );
        let both = beside(&names, &positions);
        if widest(&both) <= width {
            return both;
        }
    }
    // As many columns as fit: a cell takes two at least.
    let mut columns = width / 2;
    loop {
        let mut parts = vec![draw(columns, Content::Positions)];
        if picture.lettered {
            parts.insert(0, draw(columns, Content::Names));
        }
        // Captions don't grow with the columns.
        let widest = parts.iter().map(|lines| widest(&lines[1..])).max();
        let excess = widest.unwrap_or(0).saturating_sub(width);
        if excess == 0 || columns <= 3 {
            return parts.join(&Line::default());
        }
        // Half of the way at once, so as not to take away too many.
        columns -= (excess * columns / (width + excess)).div_ceil(2).max(1);
    }
}

/// All slices as tables below a caption.
fn captioned_tables(picture: &Picture, grid: &Grid, content: Content, axes: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut caption = Line::default();
    let name = match content {
        Content::Names => "the array",
        Content::Positions => "positions in memory",
    };
    caption.push(name, Style::Strong);
    caption.push(axes, Style::Faint);
    lines.push(caption);
    for slice in &grid.slices {
        match slice {
            Some(slice) => {
                if let Some(heading) = slice.heading() {
                    lines.push(faint(&heading));
                }
                lines.extend(table(picture, grid, slice, content));
            }
            None => lines.push(faint("\u{22ee}")),
        }
    }
    lines
}

fn beside(left: &[Line], right: &[Line]) -> Vec<Line> {
    let width = left.iter().map(|line| line.width).max().unwrap_or(0) + 4;
    let pairs = left.iter().zip(right).map(|(left, right)| {
        let mut line = left.clone();
        line.pad_to(width);
        line.append(right);
        line
    });
    pairs.collect()
}

/// One slice as a table: numbers of the columns above, of the rows at the left.
fn table(picture: &Picture, grid: &Grid, slice: &Slice, content: Content) -> Vec<Line> {
    let cells: Vec<Vec<Option<Cell>>> = grid
        .rows
        .iter()
        .map(|&row| {
            let cell = |&column: &Mark| match (row, column) {
                (Mark::At(row), Mark::At(column)) => {
                    Some(picture.cell(&grid.index(slice, row, column)))
                }
                _ => None,
            };
            grid.columns.iter().map(cell).collect()
        })
        .collect();
    let label = |cell: &Cell| match (content, cell) {
        (Content::Names, Cell::Element { index, .. }) => picture.name(index),
        (Content::Positions, Cell::Element { position, .. }) => position.to_string(),
        (Content::Names, Cell::Padding { .. }) => picture.padding.symbol.to_owned(),
        (Content::Positions, Cell::Padding { .. }) => "\u{b7}".to_owned(),
    };
    let number = |mark: &Mark, gap: &str| match mark {
        Mark::At(place) => place.to_string(),
        Mark::Gap => gap.to_owned(),
    };
    let widths: Vec<usize> = (0..grid.columns.len())
        .map(|column| {
            let header = number(&grid.columns[column], "\u{2026}").chars().count();
            let labels = cells.iter().filter_map(|row| row[column].as_ref());
            labels
                .map(|cell| label(cell).chars().count())
                .max()
                .unwrap_or(1)
                .max(header)
        })
        .collect();
    // Cells of one width look like a grid; gaps may be narrower.
    let common = widths.iter().copied().max().unwrap_or(1);
    let width_of = |column: usize| match grid.columns[column] {
        Mark::At(_) => common,
        Mark::Gap => 1,
    };
    let row_numbers: Vec<String> = match picture.rank() {
        0 | 1 => vec![String::new()],
        _ => grid
            .rows
            .iter()
            .map(|row| number(row, "\u{22ee}"))
            .collect(),
    };
    let row_width = row_numbers
        .iter()
        .map(|text| text.chars().count())
        .max()
        .unwrap_or(0);
    let mut lines = Vec::new();
    let start = |number: &str| {
        let mut line = Line::default();
        line.push_right(number, row_width, Style::Faint);
        if row_width > 0 {
            line.push("  ", Style::Plain);
        }
        line
    };
    let between = |line: &mut Line, column: usize, bar: &str, space: &str| {
        if grid.cut_left_of(column) {
            line.push(format!("{space}{bar}{space}"), Style::Faint);
        } else if column > 0 {
            line.push(space, Style::Faint);
        }
    };
    if picture.rank() > 0 {
        let mut header = start("");
        for (column, mark) in grid.columns.iter().enumerate() {
            between(&mut header, column, " ", " ");
            header.push_right(&number(mark, "\u{2026}"), width_of(column), Style::Faint);
        }
        lines.push(header);
    }
    for (row, cells) in cells.iter().enumerate() {
        if grid.cut_above(row) {
            let mut rule = start("");
            for column in 0..cells.len() {
                between(&mut rule, column, "\u{253c}", "\u{2500}");
                rule.push("\u{2500}".repeat(width_of(column)), Style::Faint);
            }
            lines.push(rule);
        }
        let mut line = start(&row_numbers[row]);
        for (column, cell) in cells.iter().enumerate() {
            between(&mut line, column, "\u{2502}", " ");
            let gap = match (grid.rows[row], grid.columns[column]) {
                (Mark::Gap, Mark::At(_)) => "\u{22ee}",
                (Mark::Gap, Mark::Gap) => " ",
                _ => "\u{2026}",
            };
            match cell {
                Some(cell) => line.push_right(&label(cell), width_of(column), style(picture, cell)),
                None => line.push_right(gap, width_of(column), Style::Faint),
            }
        }
        lines.push(line);
    }
    lines
}

fn style(picture: &Picture, cell: &Cell) -> Style {
    match cell {
        Cell::Element { .. } => Style::Run(picture.run_of(cell)),
        Cell::Padding { .. } => Style::Faint,
    }
}

/// Memory as lines of cells, with brackets around runs and positions below their first cells.
fn memory_lines(picture: &Picture, width: usize) -> Vec<Line> {
    let mut caption = Line::default();
    caption.push("memory", Style::Strong);
    let notes: Vec<String> = [picture.run_meaning(), picture.padding_meaning()]
        .into_iter()
        .flatten()
        .collect();
    if !notes.is_empty() {
        caption.push(format!(" ({})", notes.join("; ")), Style::Faint);
    }
    let mut lines = vec![caption];
    if picture.map.allocated_elements() == 0 {
        lines.push(faint("nothing"));
        return lines;
    }
    // Labels decide how many cells fit, and what fits decides which labels there are.
    let last = picture
        .extents
        .iter()
        .map(|extent| (extent - 1).to_string().len());
    let widest = match picture.lettered {
        true => 1,
        false => last
            .map(|digits| digits + 1)
            .sum::<usize>()
            .saturating_sub(1)
            .max(1),
    };
    let fit = ((width + 1) / (widest + 1)).max(1);
    let (all, some) = (MEMORY_LINES.0 * fit, MEMORY_LINES.1 * fit);
    let limit = if picture.map.allocated_elements() <= all as i64 {
        all
    } else {
        some
    };
    let marks = memory::positions(picture, limit);
    let cells: Vec<Shown> = (0..marks.len())
        .map(|place| {
            let cell = match marks[place] {
                Mark::At(position) => Some(picture.at(position)),
                Mark::Gap => None,
            };
            let cut = |place| {
                place == 0 || place == marks.len() || memory::cut_before(picture, &marks, place)
            };
            Shown {
                label: match &cell {
                    Some(cell) => picture.memory_label(cell),
                    None => "\u{2026}".to_owned(),
                },
                style: cell
                    .as_ref()
                    .map_or(Style::Faint, |cell| style(picture, cell)),
                position: cell.as_ref().and_then(Cell::position),
                opens: cut(place),
                closes: cut(place + 1),
                behind_gap: place > 0 && marks[place - 1] == Mark::Gap,
            }
        })
        .collect();
    let cell_width = cells
        .iter()
        .map(|cell| cell.label.chars().count())
        .max()
        .unwrap_or(1);
    let mut a_line = ((width + 1) / (cell_width + 1)).max(1);
    if let Some(run) = picture.run
        && run.length < a_line as i64
    {
        a_line -= a_line % run.length as usize;
    }
    for cells in cells.chunks(a_line) {
        let [elements, brackets, ruler] = memory_line(cells, cell_width, width);
        lines.push(elements);
        if picture.run.is_some() {
            lines.push(brackets);
        }
        lines.push(ruler);
    }
    lines
}

/// One place in the line of memory.
struct Shown {
    label: String,
    style: Style,
    /// `None` for a gap.
    position: Option<i64>,
    /// Whether a run begins with it.
    opens: bool,
    /// Whether a run ends with it.
    closes: bool,
    behind_gap: bool,
}

/// A line of cells, the brackets below it, and the positions where brackets begin and behind
/// gaps.
fn memory_line(cells: &[Shown], cell_width: usize, width: usize) -> [Line; 3] {
    let mut elements = Line::default();
    let mut brackets = Line::default();
    let mut ruler = Line::default();
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            elements.push(" ", Style::Plain);
            let bridge = if cell.opens { " " } else { "\u{2500}" };
            brackets.push(bridge, Style::Faint);
        }
        let column = elements.width;
        elements.push(cell.label.as_str(), cell.style);
        elements.pad_to(column + cell_width);
        brackets.push(bracket(cell.opens, cell.closes, cell_width), Style::Faint);
        if let Some(position) = cell.position
            && (place == 0 || cell.opens || cell.behind_gap)
        {
            let number = position.to_string();
            let start = column.min(width.saturating_sub(number.len()));
            if ruler.width == 0 || ruler.width < start {
                ruler.pad_to(start);
                ruler.push(number, Style::Faint);
            }
        }
    }
    [elements, brackets, ruler]
}

/// The part of a bracket below one cell.
fn bracket(opens: bool, closes: bool, width: usize) -> String {
    match (opens, closes, width) {
        (true, true, 1) => "\u{2575}".to_owned(),
        (true, _, 1) => "\u{2514}".to_owned(),
        (_, true, 1) => "\u{2518}".to_owned(),
        (_, _, 1) => "\u{2500}".to_owned(),
        _ => {
            let start = if opens { "\u{2514}" } else { "\u{2500}" };
            let end = if closes { "\u{2518}" } else { "\u{2500}" };
            format!("{start}{}{end}", "\u{2500}".repeat(width.saturating_sub(2)))
        }
    }
}
