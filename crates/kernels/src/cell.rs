//! Blocks of bytes that lie whole on both sides, with their elements in another order inside.
//!
//! Where both orders have the same few loops inside, as images of 7 by 7 pixels that are transposed and whose order changes
//! too, such a block is moved as a run is, and put in order on its way to the stage that runs are streamed from.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::block::tile;
use crate::gather::Gather;
use crate::isa::Isa;
use crate::nest::{Loop, Loops};
use crate::order::Same;
use crate::places::Steps;
use crate::runs::Piece;
use crate::simd::Vector;

/// The most bytes of a block.
const MOST: usize = 4096;
/// The most bytes of a block that is put together by tables.
pub(crate) const GATHERED: usize = 512;
/// The most windows of a register that is put together by tables; more are not faster than going element by element.
const WINDOWS: usize = 8;

/// A nest whose elements are blocks.
pub(crate) struct Cells {
    pub(crate) cell: Cell,
    /// Bytes of a block.
    pub(crate) bytes: usize,
    /// The loops around the blocks.
    pub(crate) outer: Loops,
}

/// How a block is put in order.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    /// By tables.
    Gather(Gather),
    /// By transposes in registers.
    Square(Square),
}

/// A matrix without gaps that is transposed; rows and columns have at least 16 bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Square {
    /// Bytes of an element, less than 16.
    pub(crate) width: usize,
    rows: usize,
    columns: usize,
}

impl Cells {
    /// The smallest blocks of a nest that lie whole on both sides, if they can be put in order; `loops` are as in a `Nest`.
    pub(crate) fn find(width: usize, loops: &[Loop], isa: Isa) -> Option<Cells> {
        let (start, bytes) = whole(width, loops, MOST)?;
        // A block as long as an element is one: see `order`.
        if bytes == 16 || start == 0 {
            return None;
        }
        let (outer, inner) = loops.split_at(start);
        let cell = match *inner {
            [columns, rows] if rows.extent.min(columns.extent) * width >= 16 => {
                Cell::Square(Square {
                    width,
                    rows: rows.extent,
                    columns: columns.extent,
                })
            }
            _ if bytes > GATHERED => return None,
            _ => Cell::Gather(Gather::new(width, inner, (16 / width).min(WINDOWS), isa)?),
        };
        Some(Cells {
            cell,
            bytes,
            outer: Loops::from_slice(outer),
        })
    }
}

/// Bytes of the innermost runs of a nest that both sides share, if these are three to `most`, and not as many as an element of another
/// width has: such a run is an element.
pub(crate) fn short_run(width: usize, loops: &[Loop], most: usize) -> Option<usize> {
    let (unit, inner) = (width as isize, loops.last()?);
    let run = inner.extent.saturating_mul(width);
    let is_run = (inner.source, inner.destination) == (unit, unit);
    (is_run && (3..=most).contains(&run) && !matches!(run, 4 | 8 | 16)).then_some(run)
}

/// Where the innermost loops of a nest begin that cover a run of both sides without gaps, and its bytes: as few loops as there
/// are, but more than one. `None` if these are more than `most`.
pub(crate) fn whole(width: usize, loops: &[Loop], most: usize) -> Option<(usize, usize)> {
    let mut bytes = width;
    for (i, l) in loops.iter().enumerate().rev() {
        if l.destination != bytes as isize || l.extent > most / bytes {
            return None;
        }
        bytes *= l.extent;
        if i + 1 < loops.len() && is_dense(width, &loops[i..]) {
            return Some((i, bytes));
        }
    }
    None
}

/// Whether the loops cover a run of the source without gaps.
fn is_dense(width: usize, loops: &[Loop]) -> bool {
    let mut strides: SmallVec<[(isize, usize); 4]> =
        loops.iter().map(|l| (l.source, l.extent)).collect();
    strides.sort_unstable();
    let mut next = width as isize;
    strides.iter().all(|&(stride, extent)| {
        let follows = stride == next;
        next = stride * extent as isize;
        follows
    })
}

/// Blocks by tables, in registers of this kind.
pub(crate) struct Gathered<'a, R>(pub(crate) &'a Gather, pub(crate) PhantomData<R>);

impl<R: Vector> Piece for Gathered<'_, R> {
    #[inline(always)]
    unsafe fn put<V: Vector>(&self, from: *const u8, to: *mut u8, _: usize) {
        // SAFETY: the caller's promise; a run is a block, which lies whole on both sides.
        unsafe { self.0.block::<R, 0>(from, to) }
    }
}

/// Matrices of elements of `W` bytes, in registers of this kind, which has 16 bytes.
pub(crate) struct Transposed<R, const W: usize>(pub(crate) Square, pub(crate) PhantomData<R>);

impl<R: Vector, const W: usize> Piece for Transposed<R, W> {
    #[inline(always)]
    unsafe fn put<V: Vector>(&self, from: *const u8, to: *mut u8, _: usize) {
        let Square { rows, columns, .. } = self.0;
        let steps = |base, step: usize| Steps {
            base,
            step: (step * W) as isize,
        };
        // SAFETY: the caller's promise; a run is a block, whose rows and columns have 16 bytes or more.
        unsafe {
            tile::<R, W, false>(
                steps(from, columns),
                rows,
                steps(to.cast_const(), rows),
                columns,
                Same,
                |_| {},
            )
        }
    }
}
