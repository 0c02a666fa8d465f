//! The array as people write it: a grid for every slice of the last two dimensions.

use super::Picture;
use super::select::{Mark, cut_between, select};

/// Which parts of the array are shown.
pub struct Grid {
    /// The slices; `None` where some are left out.
    pub slices: Vec<Option<Slice>>,
    /// What is shown of the last dimension but one; one row at rank 1 and 0.
    pub rows: Vec<Mark>,
    /// What is shown of the last dimension; one column at rank 0.
    pub columns: Vec<Mark>,
    row_cut: Option<i64>,
    column_cut: Option<i64>,
    rank: usize,
}

/// One slice of the last two dimensions.
pub struct Slice {
    /// The index of all dimensions but those two.
    pub leading: Vec<i64>,
}

impl Grid {
    /// The grid of a picture, with at most so many rows and columns a slice, and slices.
    pub fn new(picture: &Picture, rows: usize, columns: usize, slices: usize) -> Grid {
        let rank = picture.rank();
        let along = |from_end: usize, limit: usize| match rank.checked_sub(from_end) {
            None => (vec![Mark::At(0)], None),
            Some(dimension) => (
                select_along(picture, dimension, limit),
                picture.tiles[dimension].filter(|&tile| tile < picture.extents[dimension]),
            ),
        };
        let (columns, column_cut) = along(1, columns);
        let (rows, row_cut) = along(2, rows);
        let slices = if rows.is_empty() || columns.is_empty() {
            Vec::new()
        } else {
            select_slices(&picture.extents[..rank.saturating_sub(2)], slices)
        };
        Grid {
            slices,
            rows,
            columns,
            row_cut,
            column_cut,
            rank,
        }
    }

    /// The index of a cell, in all dimensions.
    pub fn index(&self, slice: &Slice, row: i64, column: i64) -> Vec<i64> {
        let mut index = slice.leading.clone();
        index.extend([row, column]);
        index.drain(..index.len() - self.rank);
        index
    }

    /// Whether a tile ends before this row (by its place in `rows`).
    pub fn cut_above(&self, row: usize) -> bool {
        cut_before(&self.rows, row, self.row_cut)
    }

    /// Whether a tile ends before this column (by its place in `columns`).
    pub fn cut_left_of(&self, column: usize) -> bool {
        cut_before(&self.columns, column, self.column_cut)
    }
}

impl Slice {
    /// `[0, :, :]`; `None` where the slice is the whole array.
    pub fn heading(&self) -> Option<String> {
        if self.leading.is_empty() {
            return None;
        }
        let leading: Vec<String> = self.leading.iter().map(ToString::to_string).collect();
        Some(format!("[{}, :, :]", leading.join(", ")))
    }
}

fn cut_before(marks: &[Mark], place: usize, every: Option<i64>) -> bool {
    match (every, place.checked_sub(1)) {
        (Some(every), Some(before)) => cut_between(marks[before], marks[place], every),
        _ => false,
    }
}

/// What is shown of a dimension: of its padding, only where it begins and ends, if not all fits.
fn select_along(picture: &Picture, dimension: usize, limit: usize) -> Vec<Mark> {
    let size = picture.map.sizes()[dimension];
    let extent = picture.extents[dimension];
    select(
        extent,
        &borders(picture, dimension),
        size.saturating_add(1),
        limit,
    )
}

/// Where a dimension changes: at its size, where padding begins, and at the first tile's end.
fn borders(picture: &Picture, dimension: usize) -> Vec<i64> {
    let size = picture.map.sizes()[dimension];
    let mut borders = vec![1];
    if size < picture.extents[dimension] {
        borders.extend([size - 1, size]);
    }
    if let Some(tile) = picture.tiles[dimension] {
        borders.extend([tile, tile - 1]);
    }
    borders
}

/// The first slices and the last one.
fn select_slices(extents: &[i64], limit: usize) -> Vec<Option<Slice>> {
    let count = extents
        .iter()
        .fold(1_i64, |count, &extent| count.saturating_mul(extent));
    let marks = select(count, &[], count, limit);
    let mut leading = vec![0; extents.len()];
    let last = Slice {
        leading: extents.iter().map(|extent| extent - 1).collect(),
    };
    let mut slices = Vec::new();
    for mark in marks {
        match mark {
            Mark::Gap => {
                slices.push(None);
                // Only the last one stands behind the gap.
                slices.push(Some(last));
                return slices;
            }
            Mark::At(_) => {
                slices.push(Some(Slice {
                    leading: leading.clone(),
                }));
                step(&mut leading, extents);
            }
        }
    }
    slices
}

/// Steps an index in the order in which people write arrays.
fn step(index: &mut [i64], extents: &[i64]) {
    for (number, &extent) in index.iter_mut().zip(extents).rev() {
        *number += 1;
        if *number < extent {
            return;
        }
        *number = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_the_first_ones_and_the_last() {
        let headings = |extents: &[i64], limit| -> Vec<String> {
            select_slices(extents, limit)
                .iter()
                .map(|slice| match slice {
                    Some(slice) => slice.heading().unwrap_or_default(),
                    None => "..".to_owned(),
                })
                .collect()
        };
        assert_eq!(headings(&[], 4), [""]);
        assert_eq!(headings(&[3], 4), ["[0, :, :]", "[1, :, :]", "[2, :, :]"]);
        assert_eq!(
            headings(&[2, 3], 4),
            ["[0, 0, :, :]", "[0, 1, :, :]", "..", "[1, 2, :, :]"]
        );
        assert_eq!(headings(&[i64::MAX, i64::MAX], 3).len(), 3);
        assert!(headings(&[0, 3], 3).is_empty());
    }
}
