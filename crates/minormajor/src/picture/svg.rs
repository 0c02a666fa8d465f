//! A picture as an SVG document: plain shapes and text, no scripts, no fonts of its own, and
//! colours for light and dark pages.

use std::fmt::Write;

use super::grid::{Grid, Slice};
use super::memory;
use super::select::Mark;
use super::{Cell, Picture};
use crate::markup::{beginning, escaped};

/// Around everything.
const MARGIN: f64 = 24.0;
/// What the memory wraps at, and slices flow within.
const WIDTH: f64 = 760.0;
const CELL_HEIGHT: f64 = 40.0;
/// Between cells, and between tiles or runs.
const SPACE: f64 = 3.0;
const CUT: f64 = 10.0;
/// Room that a gap takes, across and down.
const GAP: f64 = 24.0;
/// Rows and columns of a slice, at most: of all of it, and where some is left out.
const ROWS: (usize, usize) = (16, 10);
const COLUMNS: (usize, usize) = (16, 9);
const SLICES: usize = 4;
const POSITIONS: (usize, usize) = (96, 40);

/// Colours of light pages, then of dark ones. Runs have fills and strokes in turn.
const STYLE: &str = "
  .page{fill:#ffffff;stroke:#d8dee6}
  text{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1b2430}
  .title{font-size:18px;font-weight:600}
  .fact,.note{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#5b6675}
  .fact{font-size:13px}
  .note{font-size:13px;font-weight:600}
  .cell{stroke-width:1.2}
  .big{font-size:17px;font-weight:600;text-anchor:middle}
  .label{font-size:13px;text-anchor:middle}
  .small{font-size:10px;text-anchor:middle;fill:#5b6675}
  .axis{font-size:11px;text-anchor:middle;fill:#7a8594}
  .side{font-size:11px;text-anchor:end;fill:#7a8594}
  .faint{fill:#8590a0}
  .hatch{stroke:#c3cad4;stroke-width:1.2}
  .pad{fill:url(#padding);stroke:#c3cad4;stroke-dasharray:3 2}
  .ground{fill:#f3f5f8}
  .r0{fill:#d5e6ff;stroke:#7fb0f5}
  .r1{fill:#ffe3c2;stroke:#f0ab5a}
  .r2{fill:#d2f0d6;stroke:#74c17e}
  .r3{fill:#f9d5e8;stroke:#e07fb3}
  .r4{fill:#e5dcfc;stroke:#a78bea}
  .r5{fill:#f5eeb0;stroke:#cdb936}
  @media (prefers-color-scheme:dark){
  .page{fill:#12171e;stroke:#2c3642}
  text{fill:#eef2f7}
  .fact,.note,.small{fill:#a7b2c0}
  .axis,.side,.faint{fill:#8894a4}
  .hatch{stroke:#3a4553}
  .pad{stroke:#465364}
  .ground{fill:#1a212a}
  .r0{fill:#1d4068;stroke:#5b97dd}
  .r1{fill:#653f12;stroke:#cf8a37}
  .r2{fill:#1c5029;stroke:#52a661}
  .r3{fill:#62264a;stroke:#c96399}
  .r4{fill:#40327a;stroke:#8d75d8}
  .r5{fill:#564d10;stroke:#b09f2c}
  }
";

/// What a cell says.
struct Face {
    /// The style of its rectangle.
    class: String,
    /// Its text, in the middle.
    text: String,
    /// A small text below that one.
    below: Option<String>,
}

/// The body so far and how much room it takes.
struct Canvas {
    body: String,
    right: f64,
    bottom: f64,
}

impl Canvas {
    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        );
    }

    /// A line of text from the left margin; `size` is its font's.
    fn line(&mut self, class: &str, x: f64, size: f64, monospace: bool, text: &str) {
        let y = self.bottom + size;
        self.text(class, x, y, text);
        let advance = if monospace { 0.602 } else { 0.55 };
        self.reach(
            x + text.chars().count() as f64 * size * advance,
            y + size * 0.45,
        );
    }

    fn cell(&mut self, x: f64, y: f64, width: f64, face: &Face, big: bool) {
        let class = &face.class;
        let _ = writeln!(
            self.body,
            "<rect class=\"cell {class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT:.1}\" rx=\"5\"/>"
        );
        let middle = x + width / 2.0;
        let kind = if big { "big" } else { "label" };
        let faint = if class == "pad" { " faint" } else { "" };
        let lift = if face.below.is_some() {
            18.5
        } else {
            CELL_HEIGHT / 2.0 + if big { 5.8 } else { 4.5 }
        };
        self.text(&format!("{kind}{faint}"), middle, y + lift, &face.text);
        if let Some(below) = &face.below {
            self.text(&format!("small{faint}"), middle, y + 33.0, below);
        }
        self.reach(x + width, y + CELL_HEIGHT);
    }

    fn reach(&mut self, x: f64, y: f64) {
        self.right = self.right.max(x);
        self.bottom = self.bottom.max(y);
    }
}

/// The whole document.
pub fn document(picture: &Picture) -> String {
    let mut canvas = Canvas {
        body: String::new(),
        right: 320.0,
        bottom: MARGIN,
    };
    let title = picture.shape.to_string();
    let shown = beginning(&title, 90);
    canvas.line("title", MARGIN, 18.0, true, &shown);
    canvas.line(
        "fact",
        MARGIN,
        13.0,
        false,
        &beginning(&picture.summary(), 120),
    );
    canvas.bottom += 14.0;
    array(picture, &mut canvas);
    canvas.bottom += 18.0;
    memory_strip(picture, &mut canvas);
    let (width, height) = (canvas.right + MARGIN, canvas.bottom + MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<style>{STYLE}</style>\n\
         <defs><pattern id=\"padding\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect class=\"ground\" width=\"7\" height=\"7\"/>\
         <line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"7\"/></pattern></defs>\n\
         <rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"10\"/>\n{}</svg>\n",
        escaped(&title),
        escaped(&picture.summary()),
        width - 1.0,
        height - 1.0,
        canvas.body
    )
}

/// The array: slices side by side as far as they fit.
fn array(picture: &Picture, canvas: &mut Canvas) {
    let axes = match picture.rank() {
        0 | 1 => String::new(),
        rank => format!(
            ": {} down, {} across",
            picture.dimension_name(rank - 2),
            picture.dimension_name(rank - 1)
        ),
    };
    let what = if picture.lettered {
        "the array, with each element's position"
    } else {
        "the array: each element's position"
    };
    canvas.line("note", MARGIN, 13.0, false, &format!("{what}{axes}"));
    canvas.bottom += 4.0;
    if picture.extents.contains(&0) {
        canvas.line("fact", MARGIN, 13.0, false, "no elements and no padding");
        return;
    }
    let limit = |from_end: usize, (all, some): (usize, usize)| {
        let extent = picture
            .rank()
            .checked_sub(from_end)
            .map_or(1, |d| picture.extents[d]);
        if extent <= all as i64 { all } else { some }
    };
    let grid = Grid::new(picture, limit(2, ROWS), limit(1, COLUMNS), SLICES);
    let (mut x, mut top) = (MARGIN, canvas.bottom);
    for slice in &grid.slices {
        let Some(slice) = slice else {
            canvas.text("axis", x + 6.0, top + 40.0, "\u{2026}");
            x += GAP;
            continue;
        };
        let width = slice_width(picture, &grid);
        if x > MARGIN && x + width > MARGIN + WIDTH {
            (x, top) = (MARGIN, canvas.bottom + 14.0);
        }
        draw_slice(picture, &grid, slice, canvas, x, top);
        x += width + 28.0;
    }
}

/// The width of a cell in the array.
fn cell_width(picture: &Picture) -> f64 {
    let digits = (picture.map.allocated_elements() - 1).to_string().len();
    let needed = if picture.lettered {
        digits as f64 * 6.1
    } else {
        digits as f64 * 7.9
    };
    (needed + 12.0).max(CELL_HEIGHT)
}

/// The room left of a slice, for row numbers.
fn side_width(picture: &Picture) -> f64 {
    match picture.rank().checked_sub(2) {
        Some(row) => (picture.extents[row] - 1).to_string().len() as f64 * 6.7 + 8.0,
        None => 0.0,
    }
}

/// Where each column begins, counted from the first, and where the last one ends.
fn column_places(picture: &Picture, grid: &Grid) -> Vec<f64> {
    places(&grid.columns, cell_width(picture), |column| {
        grid.cut_left_of(column)
    })
}

fn places(marks: &[Mark], size: f64, cut: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut places = Vec::with_capacity(marks.len() + 1);
    let mut next = 0.0;
    for (place, mark) in marks.iter().enumerate() {
        if place > 0 {
            next += if cut(place) { CUT } else { SPACE };
        }
        places.push(next);
        next += if *mark == Mark::Gap { GAP } else { size };
    }
    places.push(next);
    places
}

fn slice_width(picture: &Picture, grid: &Grid) -> f64 {
    side_width(picture) + column_places(picture, grid).last().copied().unwrap_or(0.0)
}

fn draw_slice(
    picture: &Picture,
    grid: &Grid,
    slice: &Slice,
    canvas: &mut Canvas,
    x: f64,
    top: f64,
) {
    let mut top = top;
    if let Some(heading) = slice.heading() {
        canvas.text("fact", x, top + 13.0, &heading);
        top += 20.0;
    }
    let left = x + side_width(picture);
    let columns = column_places(picture, grid);
    let rows = places(&grid.rows, CELL_HEIGHT, |row| grid.cut_above(row));
    let width = cell_width(picture);
    if picture.rank() > 0 {
        for (mark, &column) in grid.columns.iter().zip(&columns) {
            let (text, middle) = match mark {
                Mark::At(place) => (place.to_string(), left + column + width / 2.0),
                Mark::Gap => ("\u{2026}".to_owned(), left + column + GAP / 2.0),
            };
            canvas.text("axis", middle, top + 10.0, &text);
        }
        top += 16.0;
    }
    for (&row, &down) in grid.rows.iter().zip(&rows) {
        let y = top + down;
        let Mark::At(row) = row else {
            for (mark, &column) in grid.columns.iter().zip(&columns) {
                if *mark != Mark::Gap {
                    canvas.text("axis", left + column + width / 2.0, y + 16.0, "\u{22ee}");
                }
            }
            continue;
        };
        if picture.rank() > 1 {
            canvas.text(
                "side",
                left - 7.0,
                y + CELL_HEIGHT / 2.0 + 4.0,
                &row.to_string(),
            );
        }
        for (mark, &column) in grid.columns.iter().zip(&columns) {
            match mark {
                Mark::At(number) => {
                    let cell = picture.cell(&grid.index(slice, row, *number));
                    let face = array_face(picture, &cell);
                    canvas.cell(left + column, y, width, &face, picture.lettered);
                }
                Mark::Gap => {
                    let middle = left + column + GAP / 2.0;
                    canvas.text("axis", middle, y + CELL_HEIGHT / 2.0 + 2.0, "\u{2026}");
                }
            }
        }
    }
    let end = rows.last().copied().unwrap_or(0.0);
    canvas.reach(left + columns.last().copied().unwrap_or(0.0), top + end);
}

/// A letter above its position; the position alone without letters.
fn array_face(picture: &Picture, cell: &Cell) -> Face {
    let position = cell.position().map(|position| position.to_string());
    let (text, below) = match picture.lettered {
        true => (picture.memory_label(cell), position),
        false => (position.unwrap_or_default(), None),
    };
    Face {
        class: class(picture, cell),
        text,
        below,
    }
}

fn class(picture: &Picture, cell: &Cell) -> String {
    match cell {
        Cell::Element { .. } => format!("r{}", picture.run_of(cell) % 6),
        Cell::Padding { .. } => "pad".to_owned(),
    }
}

/// Memory as a strip of cells, a little room between runs, wrapped between them where it can be.
fn memory_strip(picture: &Picture, canvas: &mut Canvas) {
    let notes = [
        picture
            .run_meaning()
            .map(|meaning| meaning.replace("brackets", "groups")),
        picture.padding_meaning(),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let note = match notes.is_empty() {
        true => "memory".to_owned(),
        false => format!("memory: {}", notes.join("; ")),
    };
    canvas.line("note", MARGIN, 13.0, false, &note);
    canvas.bottom += 4.0;
    let allocated = picture.map.allocated_elements();
    if allocated == 0 {
        canvas.line("fact", MARGIN, 13.0, false, "nothing");
        return;
    }
    let (all, some) = POSITIONS;
    let limit = if allocated <= all as i64 { all } else { some };
    let marks = memory::positions(picture, limit);
    let cells: Vec<Option<Cell>> = marks
        .iter()
        .map(|mark| match mark {
            Mark::At(position) => Some(picture.at(*position)),
            Mark::Gap => None,
        })
        .collect();
    let letters = cells
        .iter()
        .flatten()
        .map(|cell| picture.memory_label(cell).chars().count());
    let digits = (allocated - 1).to_string().len() as f64;
    let width = (letters.max().unwrap_or(1) as f64 * 7.9 + 12.0)
        .max(digits * 6.1 + 12.0)
        .max(CELL_HEIGHT);
    let cut = |place: usize| memory::cut_before(picture, &marks, place);
    let mut x = 0.0;
    let mut y = canvas.bottom;
    for (place, cell) in cells.iter().enumerate() {
        let size = |place: usize| {
            if marks[place] == Mark::Gap {
                GAP
            } else {
                width
            }
        };
        if place > 0 {
            x += if cut(place) { CUT } else { SPACE };
            // A run that fits a line of its own is not broken.
            let end = (place + 1..marks.len())
                .find(|&next| cut(next))
                .unwrap_or(marks.len());
            let rest: f64 = (place..end).map(|place| size(place) + SPACE).sum::<f64>() - SPACE;
            let needed = if cut(place) && rest <= WIDTH {
                rest
            } else {
                size(place)
            };
            if x + needed > WIDTH {
                x = 0.0;
                y += CELL_HEIGHT + 12.0;
            }
        }
        match cell {
            Some(cell) => {
                let face = Face {
                    class: class(picture, cell),
                    text: picture.memory_label(cell),
                    below: cell.position().map(|position| position.to_string()),
                };
                canvas.cell(MARGIN + x, y, width, &face, picture.lettered);
            }
            None => canvas.text(
                "axis",
                MARGIN + x + GAP / 2.0,
                y + CELL_HEIGHT / 2.0 + 2.0,
                "\u{2026}",
            ),
        }
        x += size(place);
        canvas.reach(MARGIN + x, y);
    }
}
