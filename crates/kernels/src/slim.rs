//! Planes of so few columns that no vector fits a row of them, such as three of sixteen channels.
//!
//! Elements go one by one into a stage that holds a piece of every column, and are streamed from there. So the source is
//! read once, from front to back, and no column is written in parts of lines.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::nest::Loop;
use crate::onward::Onward;
use crate::plane::At;
use crate::runs::{own_edges, stream_near};
use crate::simd::{LINE, Set, Vector, Work, prefetch};
use crate::tuning::waits;

/// Bytes of a row, at most as many.
const ROW: usize = 15;
/// Bytes of a column that are staged at a time.
const PIECE: usize = 1 << 10;
/// From one staged column to the next: an odd number of lines, so that they don't evict each other.
const PITCH: usize = PIECE + LINE;
/// Rows that are looked at for every column while they are in the first-level cache.
const NEAR: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Slim {
    /// The loop over rows, which are side by side in the destination.
    rows: Loop,
    /// The loop over columns, which are side by side in the source.
    columns: Loop,
}

impl Slim {
    /// The plane of these loops, if it is slim and has columns worth streaming.
    pub(crate) fn new(width: usize, rows: Loop, columns: Loop) -> Option<Slim> {
        let fits = matches!(width, 1 | 2 | 4)
            && columns.extent * width <= ROW
            && rows.extent * width >= PIECE;
        fits.then_some(Slim { rows, columns })
    }
}

/// Moves a plane of elements of `width` bytes.
///
/// # Safety
///
/// The CPU has the set. All elements are readable and writable, and the two sides do not overlap.
pub(crate) unsafe fn run<S: Set>(slim: &Slim, width: usize, at: &At) {
    // SAFETY: the caller's promise; `Slim::new` takes no other widths.
    unsafe {
        match width {
            1 => S::enter(Pieces::<S::Wide, 1>::new(slim, at)),
            2 => S::enter(Pieces::<S::Wide, 2>::new(slim, at)),
            _ => S::enter(Pieces::<S::Wide, 4>::new(slim, at)),
        }
    }
}

/// # Safety (of `work`)
///
/// As `run`, for elements of `W` bytes.
struct Pieces<'a, V, const W: usize> {
    slim: &'a Slim,
    at: &'a At,
    vector: PhantomData<V>,
}

impl<'a, V, const W: usize> Pieces<'a, V, W> {
    fn new(slim: &'a Slim, at: &'a At) -> Self {
        Pieces {
            slim,
            at,
            vector: PhantomData,
        }
    }
}

#[repr(align(64))]
struct Stage(MaybeUninit<[u8; ROW * PITCH]>);

impl<V: Vector, const W: usize> Work for Pieces<'_, V, W> {
    #[inline(always)]
    unsafe fn work(self) {
        let &Slim { rows, columns } = self.slim;
        let &At {
            source,
            destination,
            ..
        } = self.at;
        let mut stage = Stage(MaybeUninit::uninit());
        let stage = stage.0.as_mut_ptr().cast::<u8>();
        let waits = waits();
        let onward = Onward::alone(rows.source, NEAR as isize * rows.source);
        let mut done = 0;
        while done < rows.extent {
            let count = (PIECE / W).min(rows.extent - done);
            let column = |c: usize| {
                let start = destination.wrapping_offset(c as isize * columns.destination);
                start.wrapping_add(done * W)
            };
            if waits {
                for c in 0..columns.extent {
                    own_edges(column(c), count * W);
                }
            }
            for first in (0..count).step_by(NEAR) {
                let near = NEAR.min(count - first);
                let row =
                    |r: usize| source.wrapping_offset((done + first + r) as isize * rows.source);
                if let Some(onward) = onward {
                    for r in 0..near {
                        prefetch(onward.of(row(r)));
                    }
                }
                for c in 0..columns.extent {
                    for r in 0..near {
                        // SAFETY: row first + r is below `count`, so the element is one of the plane. A piece has
                        // at most PIECE bytes, and columns are at most ROW, so its place is in the stage.
                        unsafe {
                            let element = row(r).add(c * W).cast::<[u8; W]>().read_unaligned();
                            let place = stage.add(c * PITCH + (first + r) * W);
                            place.cast::<[u8; W]>().write_unaligned(element);
                        }
                    }
                }
            }
            for c in 0..columns.extent {
                // SAFETY: the first `count` elements of this piece were staged above; the column is writable there.
                unsafe { stream_near::<V>(stage.add(c * PITCH), column(c), count * W) };
            }
            done += count;
        }
    }
}
