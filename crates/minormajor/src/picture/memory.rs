//! Memory as a line: which positions are shown.

use super::select::{Mark, select};
use super::{Cell, Picture};

/// At most `limit` positions of memory: all of them if they fit; else the beginning, the end,
/// every lettered element, and where runs, padding and neighbours of the first element lie.
pub fn positions(picture: &Picture, limit: usize) -> Vec<Mark> {
    let map = &picture.map;
    let sizes = map.sizes();
    let mut interesting = Vec::new();
    if map.elements() > 0 {
        if picture.lettered {
            let elements = (0..map.elements()).map(|linear| index_of(linear, sizes));
            interesting.extend(elements.filter_map(|index| map.position(&index).ok()));
            interesting.sort_unstable();
            let behind: Vec<i64> = interesting.iter().map(|position| position + 1).collect();
            interesting.extend(behind);
        } else {
            let last: Vec<i64> = sizes.iter().map(|size| size - 1).collect();
            let neighbours = (0..sizes.len()).map(|dimension| {
                let mut index = vec![0; sizes.len()];
                index[dimension] = 1;
                index
            });
            let last = map.position(&last).unwrap_or(0);
            if let Some(run) = picture.run {
                interesting.extend([run.length, run.length - 1]);
            }
            interesting.extend([last, last + 1, last - 1]);
            let neighbours: Vec<i64> = neighbours
                .filter_map(|index| map.position(&index).ok())
                .collect();
            interesting.extend(
                neighbours
                    .iter()
                    .flat_map(|&position| [position, position - 1]),
            );
        }
    }
    if !picture.lettered {
        interesting.extend(beginning(picture, limit));
    }
    select(map.allocated_elements(), &interesting, 0, limit)
}

/// The first elements in memory, and of padding between them the first position.
fn beginning(picture: &Picture, limit: usize) -> Vec<i64> {
    /// Positions that are looked at, for elements that lie far apart.
    const FAR: i64 = 4096;
    let mut shown = Vec::new();
    let mut in_padding = false;
    for position in 0..picture.map.allocated_elements().min(FAR) {
        let padding = matches!(picture.at(position), Cell::Padding { .. });
        if !(padding && in_padding) {
            shown.push(position);
        }
        in_padding = padding;
        if shown.len() == limit {
            break;
        }
    }
    shown
}

/// The index of the element that stands at this place when the array is written out.
fn index_of(mut linear: i64, sizes: &[i64]) -> Vec<i64> {
    let mut index = vec![0; sizes.len()];
    for (number, &size) in index.iter_mut().zip(sizes).rev() {
        *number = linear % size;
        linear /= size;
    }
    index
}

/// Whether a run ends before this mark (by its place).
pub fn cut_before(picture: &Picture, marks: &[Mark], place: usize) -> bool {
    match (picture.run, place.checked_sub(1)) {
        (Some(run), Some(before)) => {
            super::select::cut_between(marks[before], marks[place], run.length)
        }
        _ => false,
    }
}
