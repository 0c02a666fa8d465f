//! What makes an allocation in a report as large as it is.

use super::report::Allocation;
use super::tiles::usual_tiles;
use crate::array::ArrayShape;
use crate::layout::Layout;
use crate::shape::{Shape, ShapeKind};

/// The index table of a tuple holds an address of so many bytes for every element...
const ADDRESS_BYTES: u32 = 8;
/// ... and is rounded up to so many.
const TABLE_BYTES: i128 = 4096;

/// What makes an allocation as large as its report says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Explanation {
    /// The shape's own layout.
    Layout(Box<ArrayShape>),
    /// Tiles that the report does not print: the array under each of the usual ones that make
    /// the size, the most usual first. Never empty.
    Tiles(Vec<ArrayShape>),
    /// A tuple's table of its elements' addresses.
    IndexTable,
    /// A tuple's arrays, together.
    Arrays,
    /// Nothing: the shape does not account for the size.
    Nothing,
    /// The report prints no shape.
    NoShape,
}

impl Explanation {
    /// The word for it: `layout`, `tiles`, `index table`, `arrays`, `nothing` or `no shape`.
    pub const fn name(&self) -> &'static str {
        match self {
            Explanation::Layout(_) => "layout",
            Explanation::Tiles(_) => "tiles",
            Explanation::IndexTable => "index table",
            Explanation::Arrays => "arrays",
            Explanation::Nothing => "nothing",
            Explanation::NoShape => "no shape",
        }
    }

    /// The tiles that explain the size as layouts write them, such as `T(8,128)(2,1)`: those
    /// of the shape's own layout, or those that the report does not print, the most usual
    /// first.
    pub fn tiles(&self) -> Vec<String> {
        let arrays = match self {
            Explanation::Layout(array) => std::slice::from_ref(&**array),
            Explanation::Tiles(arrays) => arrays,
            _ => &[],
        };
        let layouts = arrays.iter().filter_map(ArrayShape::layout);
        let tiled = layouts.filter(|layout| !layout.tiles().is_empty());
        let text = |layout: &Layout| {
            let tiles: String = layout.tiles().iter().map(ToString::to_string).collect();
            match layout.element_size_in_bits() {
                0 => format!("T{tiles}"),
                bits => format!("T{tiles}E({bits})"),
            }
        };
        tiled.map(text).collect()
    }
}

/// An explanation with the numbers of bytes that follow from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Explained {
    pub explanation: Explanation,
    pub dense: Option<i128>,
    pub allocated: Option<i128>,
}

impl Explained {
    pub fn of(allocation: &Allocation<'_>) -> Explained {
        let is_size = |bytes: Option<i128>| {
            let size = allocation.size();
            size.zip(bytes).is_some_and(|(size, bytes)| size.is(bytes))
        };
        let made = |explanation, dense, allocated| Explained {
            explanation,
            dense,
            allocated,
        };
        let Some(shape) = allocation.shape() else {
            return made(Explanation::NoShape, None, None);
        };
        if let ShapeKind::Tuple(tuple) = shape.kind() {
            let addresses = i128::from(tuple.index_table_bytes(ADDRESS_BYTES));
            let table = (addresses + TABLE_BYTES - 1) / TABLE_BYTES * TABLE_BYTES;
            let (dense, allocated) = bytes_of_arrays(shape);
            return match (is_size(Some(table)), is_size(allocated)) {
                (false, true) => made(Explanation::Arrays, dense, allocated),
                (true, _) => made(Explanation::IndexTable, Some(table), Some(table)),
                (false, false) => made(Explanation::Nothing, Some(table), Some(table)),
            };
        }
        let Some(array) = shape.as_array().ok().and_then(with_layout) else {
            return made(Explanation::Nothing, None, None);
        };
        let dense = array.dense_bytes().map(i128::from);
        let allocated = array.allocated_bytes().map(i128::from);
        if is_size(allocated) {
            return made(Explanation::Layout(Box::new(array)), dense, allocated);
        }
        let is_tiled = array.layout().is_some_and(|l| !l.tiles().is_empty());
        let tiled = match allocation.size() {
            Some(size) if !is_tiled => usual_tiles(&array, size),
            _ => Vec::new(),
        };
        match tiled.first() {
            Some(first) => {
                let allocated = first.allocated_bytes().map(i128::from);
                made(Explanation::Tiles(tiled), dense, allocated)
            }
            None => made(Explanation::Nothing, dense, allocated),
        }
    }

    /// The array, in the layout that explains the size, if one does.
    pub fn array(&self) -> Option<&ArrayShape> {
        match &self.explanation {
            Explanation::Layout(array) => Some(array),
            Explanation::Tiles(arrays) => arrays.first(),
            _ => None,
        }
    }
}

/// The dense and the allocated bytes of all arrays in a shape; `None` where one has no size or
/// is opaque.
pub(super) fn bytes_of_arrays(shape: &Shape) -> (Option<i128>, Option<i128>) {
    let (mut dense, mut allocated) = (Some(0), Some(0));
    for (_, leaf) in shape.leaves() {
        let (more_dense, more_allocated) = match leaf.kind() {
            ShapeKind::Token => (Some(0), Some(0)),
            _ => match leaf.as_array().ok().and_then(with_layout) {
                Some(array) => (array.dense_bytes(), array.allocated_bytes()),
                None => (None, None),
            },
        };
        let sum = |sum: Option<i128>, more: Option<i64>| Some(sum? + i128::from(more?));
        dense = sum(dense, more_dense);
        allocated = sum(allocated, more_allocated);
    }
    (dense, allocated)
}

/// The array with its layout, the default one where there is none.
pub(super) fn with_layout(array: &ArrayShape) -> Option<ArrayShape> {
    match array.layout() {
        Some(_) => Some(array.clone()),
        None => array.with_default_layout().ok(),
    }
}
