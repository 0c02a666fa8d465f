//! Pictures of arrays and of their memory.
//!
//! A [`Picture`] answers what stands in every cell of the array and at every position of memory,
//! one at a time, so an array of any size costs no more to draw than what is shown of it. The
//! two printers, text and SVG, choose what to show.

mod grid;
mod line;
mod memory;
mod select;
mod svg;
mod terminal;

use minormajor_core::{
    AddressMap, ArrayShape, Layout, Location, PaddingValue, ShapeError, TileDimension,
};

/// Arrays of at most this many elements have a letter for each: a, b, c, ...
const LETTERS: i64 = 26;

/// The picture of an array: what people write, and what lies in memory.
///
/// Small arrays have a letter for every element, in the order in which people write them; in
/// larger ones the array shows positions and memory shows indices.
///
/// ```
/// use minormajor::{Picture, Shape};
///
/// let shape: Shape = "f32[2,3]{0,1:PAD(3,5)}".parse()?;
/// let text = Picture::new(shape.as_array()?)?.to_text(80, false);
/// assert!(text.contains("a d 0 b e 0 c f 0 0 0 0 0 0 0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Picture {
    shape: ArrayShape,
    map: AddressMap,
    /// The map of the same memory as an array without padding, which finds the position of
    /// padding that has a place in the array; absent where tiles combine dimensions.
    around: Option<AddressMap>,
    /// How far each dimension is drawn: its size, padding included.
    extents: Vec<i64>,
    /// The first tile's size along each dimension that it cuts.
    tiles: Vec<Option<i64>>,
    run: Option<Run>,
    lettered: bool,
    padding: Padding,
}

/// What neighbours in memory share: a tile, or the most minor dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Positions in each.
    length: i64,
    /// The dimension that it runs along; `None` for a tile.
    dimension: Option<usize>,
}

/// How padding is shown.
#[derive(Clone, Copy, Debug)]
struct Padding {
    symbol: &'static str,
    meaning: &'static str,
}

/// What is to be shown in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    /// An element.
    Element { index: Vec<i64>, position: i64 },
    /// Padding, with its position where that is known.
    Padding { position: Option<i64> },
}

impl Cell {
    fn position(&self) -> Option<i64> {
        match *self {
            Cell::Element { position, .. } => Some(position),
            Cell::Padding { position } => position,
        }
    }
}

impl Picture {
    /// The picture of an array in its layout.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoLayout`] or [`ShapeError::Unbounded`] where the shape does not say
    /// enough.
    pub fn new(shape: &ArrayShape) -> Result<Picture, ShapeError> {
        let map = AddressMap::new(shape)?;
        let layout = shape.require_layout()?;
        let mut tiles = vec![None; shape.rank()];
        let mut extents = map.sizes().to_vec();
        extents
            .iter_mut()
            .zip(layout.padded_dimensions())
            .for_each(|(e, &padded)| *e = padded);
        if let (Some(tile), false) = (plain_sizes(layout), extents.contains(&0)) {
            for (&size, &dimension) in tile.iter().rev().zip(layout.minor_to_major()) {
                tiles[dimension] = Some(size);
            }
        }
        // The tiles' own padding has a place in the array too, where it does not overflow.
        let tiled: Vec<i64> = extents
            .iter()
            .zip(&tiles)
            .map(|(&extent, tile)| tile.map_or(extent, |tile| round_up(extent, tile)))
            .collect();
        let around = around(shape, layout, &tiled, map.allocated_elements());
        if around.is_some() {
            extents = tiled;
        }
        let lettered = (1..=LETTERS).contains(&map.elements());
        Ok(Picture {
            run: run(layout, &extents, map.allocated_elements()),
            padding: Padding::of(layout, lettered),
            shape: shape.clone(),
            map,
            around,
            extents,
            tiles,
            lettered,
        })
    }

    /// The picture as text, at most `width` columns wide where that can be, with ANSI colours
    /// if asked.
    pub fn to_text(&self, width: usize, colour: bool) -> String {
        terminal::text(self, width, colour)
    }

    /// The picture as an SVG document.
    pub fn to_svg(&self) -> String {
        svg::document(self)
    }

    fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// What stands at an index of the padded array.
    fn cell(&self, index: &[i64]) -> Cell {
        match self.map.position(index) {
            Ok(position) => Cell::Element {
                index: index.to_vec(),
                position,
            },
            Err(_) => Cell::Padding {
                position: self
                    .around
                    .as_ref()
                    .and_then(|map| map.position(index).ok()),
            },
        }
    }

    /// What stands at a position of memory.
    fn at(&self, position: i64) -> Cell {
        match self.map.location(position) {
            Ok(Location::Element(index)) => Cell::Element { index, position },
            _ => Cell::Padding {
                position: Some(position),
            },
        }
    }

    /// An element's letter; its index where there are too many for letters.
    fn name(&self, index: &[i64]) -> String {
        if self.lettered {
            let linear = index
                .iter()
                .zip(self.map.sizes())
                .fold(0, |sum, (i, size)| sum * size + i);
            // At most 26 elements have letters.
            return char::from(b'a' + linear as u8).to_string();
        }
        let numbers: Vec<String> = index.iter().map(ToString::to_string).collect();
        numbers.join(",")
    }

    /// What memory shows for a cell.
    fn memory_label(&self, cell: &Cell) -> String {
        match cell {
            Cell::Element { index, .. } => self.name(index),
            Cell::Padding { .. } => self.padding.symbol.to_owned(),
        }
    }

    /// The number of the run that a cell lies in, for its colour.
    fn run_of(&self, cell: &Cell) -> i64 {
        match (self.run, cell.position()) {
            (Some(run), Some(position)) => position / run.length,
            _ => 0,
        }
    }

    /// The name of a dimension: `y`, or `dim 0` at ranks without names.
    fn dimension_name(&self, dimension: usize) -> String {
        match self.shape.dimension_names().get(dimension) {
            Some(name) => (*name).to_owned(),
            None => format!("dim {dimension}"),
        }
    }

    fn has_padding(&self) -> bool {
        self.map.allocated_elements() > self.map.elements()
    }

    /// One line about the layout and what it costs.
    fn summary(&self) -> String {
        let mut facts = Vec::new();
        if let Some(layout) = self.shape.layout() {
            if self.rank() > 1 {
                facts.push(if layout.is_monotonic_with_dim0_minor() {
                    "dim 0 is minor".to_owned()
                } else if layout.is_monotonic_with_dim0_major() {
                    "dim 0 is major".to_owned()
                } else {
                    format!("minor to major {:?}", layout.minor_to_major())
                });
            }
            if !layout.padded_dimensions().is_empty() {
                let value = layout.padding_value().map_or("zero", PaddingValue::name);
                facts.push(format!(
                    "padded to {:?} with {value}",
                    layout.padded_dimensions()
                ));
            }
            if !layout.tiles().is_empty() {
                let tiles: Vec<String> = layout.tiles().iter().map(ToString::to_string).collect();
                facts.push(format!("tiles {}", tiles.join(" then ")));
            }
        }
        let (elements, allocated) = (self.map.elements(), self.map.allocated_elements());
        let noun = if elements == 1 { "element" } else { "elements" };
        facts.push(if elements == allocated {
            format!("{elements} {noun}")
        } else {
            format!("{elements} {noun} in {allocated} positions")
        });
        if let Some(bytes) = self.shape.allocated_bytes() {
            facts.push(format!(
                "{bytes} {}",
                if bytes == 1 { "byte" } else { "bytes" }
            ));
        }
        facts.join(", ")
    }

    /// What the brackets below memory are.
    fn run_meaning(&self) -> Option<String> {
        let run = self.run?;
        Some(match run.dimension {
            None => "brackets are tiles".to_owned(),
            Some(dimension) => format!("brackets run along {}", self.dimension_name(dimension)),
        })
    }

    /// What the padding symbol means, where it stands anywhere.
    fn padding_meaning(&self) -> Option<String> {
        self.has_padding()
            .then(|| format!("{} is {}", self.padding.symbol, self.padding.meaning))
    }
}

impl Padding {
    /// The padding value's symbol where it can't be taken for an index, else a dot.
    fn of(layout: &Layout, lettered: bool) -> Padding {
        let known = !layout.padded_dimensions().is_empty();
        let value = layout.padding_value().unwrap_or(PaddingValue::Zero);
        let (symbol, meaning) = match value {
            _ if !known => ("\u{b7}", "padding"),
            PaddingValue::Zero => ("0", "padding"),
            PaddingValue::One => ("1", "padding"),
            PaddingValue::Lowest => ("\u{2193}", "padding with the lowest value"),
            PaddingValue::Highest => ("\u{2191}", "padding with the highest value"),
            PaddingValue::Unknown => ("\u{b7}", "padding with any value"),
        };
        match (value, known && !lettered) {
            (PaddingValue::Zero, true) => Padding {
                symbol: "\u{b7}",
                meaning: "padding with zero",
            },
            (PaddingValue::One, true) => Padding {
                symbol: "\u{b7}",
                meaning: "padding with one",
            },
            _ => Padding { symbol, meaning },
        }
    }
}

/// The first tile's sizes, major to minor, if there is one and it combines no dimensions.
fn plain_sizes(layout: &Layout) -> Option<Vec<i64>> {
    let sizes = layout
        .tiles()
        .first()?
        .dimensions()
        .iter()
        .map(|&size| match size {
            TileDimension::Size(size) => Some(size),
            TileDimension::Combine => None,
        });
    sizes.collect()
}

/// The map of an array that fills `extents` without padding of its own, tiled alike: positions
/// are the same, padding included.
fn around(
    shape: &ArrayShape,
    layout: &Layout,
    extents: &[i64],
    allocated: i64,
) -> Option<AddressMap> {
    let order = layout
        .minor_to_major()
        .iter()
        .map(|&dimension| dimension as i64);
    let layout = Layout::new(order)
        .and_then(|same| same.with_tiles(layout.tiles().iter().cloned()))
        .and_then(|same| same.with_tail_padding_alignment(layout.tail_padding_alignment()))
        .and_then(|same| same.with_element_size_in_bits(layout.element_size_in_bits()))
        .ok()?;
    let filled = ArrayShape::new(shape.element_type(), extents).ok()?;
    let map = AddressMap::new(&filled.with_layout(layout).ok()?).ok()?;
    (map.allocated_elements() == allocated).then_some(map)
}

/// What neighbours in memory share, where memory is a sequence of several such.
fn run(layout: &Layout, extents: &[i64], allocated: i64) -> Option<Run> {
    let run = if layout.tiles().is_empty() {
        let mut minor = layout.minor_to_major().iter().filter(|&&d| extents[d] > 1);
        let &dimension = minor.next()?;
        Run {
            length: extents[dimension],
            dimension: Some(dimension),
        }
    } else {
        Run {
            length: tile_length(layout)?,
            dimension: None,
        }
    };
    (1 < run.length && run.length < allocated).then_some(run)
}

/// Positions that a first-level tile takes, where every level below cuts no more than it.
fn tile_length(layout: &Layout) -> Option<i64> {
    let mut sizes = plain_sizes(layout)?;
    for tile in &layout.tiles()[1..] {
        let start = sizes.len().checked_sub(tile.dimensions().len())?;
        let mut inner = Vec::new();
        for (size, dimension) in sizes[start..].iter_mut().zip(tile.dimensions()) {
            let TileDimension::Size(tile) = *dimension else {
                return None;
            };
            *size = (*size - 1) / tile + 1;
            inner.push(tile);
        }
        sizes.extend(inner);
    }
    sizes
        .iter()
        .try_fold(1_i64, |product, &size| product.checked_mul(size))
}

/// The next multiple of `tile`; `extent` itself where that is beyond 63 bits.
fn round_up(extent: i64, tile: i64) -> i64 {
    ((extent - 1) / tile + 1)
        .checked_mul(tile)
        .unwrap_or(extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(text: &str) -> Picture {
        Picture::new(
            text.parse::<minormajor_core::Shape>()
                .unwrap()
                .as_array()
                .unwrap(),
        )
        .unwrap()
    }

    /// Every index of an array of these extents.
    fn indices(extents: &[i64]) -> Vec<Vec<i64>> {
        extents.iter().fold(vec![vec![]], |all, &extent| {
            let extend = |index: &Vec<i64>| {
                let index = index.clone();
                (0..extent)
                    .map(move |i| [index.clone(), vec![i]].concat())
                    .collect::<Vec<_>>()
            };
            all.iter().flat_map(extend).collect()
        })
    }

    #[test]
    fn padding_in_the_array_has_the_position_that_memory_says_is_padding() {
        for text in [
            "f32[2,3]{0,1:PAD(3,5)}",
            "f32[2,3]{1,0:PAD(3,5)}",
            "f32[3,5]{1,0:T(2,2)}",
            "f32[5,7]{0,1:T(2,4)(3,3)}",
            "f32[3,5]{1,0:T(4,8)(2,1)L(64)}",
            "f32[2,3,5]{0,2,1:T(2,2)PAD(3,3,5)}",
            "f32[5]{0:T(2,4)}",
            "f32[3,1,2]{1,0,2:T(4,2)(8)}",
            "s4[3,5]{1,0:T(2,2)E(4)}",
        ] {
            let picture = picture(text);
            assert!(picture.around.is_some(), "{text}");
            let mut seen = Vec::new();
            for index in indices(&picture.extents) {
                let cell = picture.cell(&index);
                let position = cell.position().expect(text);
                assert_eq!(picture.at(position), cell, "{text} {index:?}");
                seen.push(position);
            }
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), indices(&picture.extents).len(), "{text}");
        }
    }

    #[test]
    fn a_run_of_tiles_is_a_tile() {
        for (text, length) in [
            ("f32[3,5]{1,0:T(2,2)}", 4),
            ("bf16[16,256]{1,0:T(8,128)(2,1)}", 1024),
            ("f32[5,9]{1,0:T(2,4)(3,3)}", 18),
        ] {
            let picture = picture(text);
            let run = picture.run.expect(text);
            assert_eq!((run.length, run.dimension), (length, None), "{text}");
            let tile = |index: &[i64]| -> Vec<i64> {
                let tiles = index.iter().zip(&picture.tiles);
                tiles.map(|(i, tile)| i / tile.unwrap_or(1)).collect()
            };
            let mut tiles = std::collections::BTreeMap::new();
            for index in indices(&picture.extents) {
                let run = picture.run_of(&picture.cell(&index));
                assert_eq!(
                    *tiles.entry(run).or_insert_with(|| tile(&index)),
                    tile(&index),
                    "{text}"
                );
            }
            assert!(tiles.len() > 1, "{text}");
        }
        // The second level joins tiles of the first: no tile is in one piece.
        assert_eq!(picture("f32[4,6]{1,0:T(2)(2,2)}").run, None);
    }

    #[test]
    fn arrays_without_enough_said_have_no_picture() {
        let shape: minormajor_core::Shape = "f32[2,?]".parse().unwrap();
        assert!(Picture::new(shape.as_array().unwrap()).is_err());
    }
}
