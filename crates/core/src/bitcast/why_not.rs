//! Why an operation is not free, and what would make it so: the smallest copy of the operand, the
//! nearest layout of the result.

use std::fmt;

use super::Bitcast;
use super::correspondence::End;
use super::obstacle::Obstacle;
use super::orders::{Others, moved};
use super::search::Search;
use crate::array::ArrayShape;

/// Why an operation is not free, and what would make it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyNot {
    obstacle: Obstacle,
    smallest_copy: Option<SmallestCopy>,
    nearest_layout: Option<NearestLayout>,
}

/// A copy of the operand with which the operation is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallestCopy {
    /// The operand in the layout to copy it to.
    pub shape: ArrayShape,
    /// Bytes that the copy allocates, padding included.
    pub bytes: i64,
}

/// A layout of the result under which the operation is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestLayout {
    /// The result in this layout.
    pub shape: ArrayShape,
    /// Dimensions that stand at another place in its minor-to-major order than in the layout
    /// asked for.
    pub moved_dimensions: usize,
    /// Elements of padding that it allocates.
    pub padding: i64,
}

impl WhyNot {
    /// What stands in the way.
    pub fn obstacle(&self) -> &Obstacle {
        &self.obstacle
    }

    /// The copy of the operand, of fewest bytes, after which the operation is free; of several
    /// the one that moves fewest dimensions. `None` where no copy searched for serves.
    ///
    /// Searched are all orders of the operand with its tiles kept or dropped. Only where none
    /// of these serves, its padding may change too, and it may take the result's tiles.
    pub fn smallest_copy(&self) -> Option<&SmallestCopy> {
        self.smallest_copy.as_ref()
    }

    /// The layout of the result that moves the fewest dimensions from the one asked for, of
    /// several that with the least padding. `None` where no layout searched for serves.
    ///
    /// Searched are all orders with the result's tiles or the operand's, each with the result's
    /// padding, the operand's or none; and all orders without tiles, padded by anything.
    pub fn nearest_layout(&self) -> Option<&NearestLayout> {
        self.nearest_layout.as_ref()
    }
}

impl fmt::Display for WhyNot {
    /// In one line: what stands in the way, then what would make it free.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.obstacle)?;
        match (&self.smallest_copy, &self.nearest_layout) {
            (None, None) => f.write_str("; no copy of the operand makes it free"),
            (copy, layout) => {
                f.write_str("; it is free ")?;
                if let Some(copy) = copy {
                    let SmallestCopy { shape, bytes } = copy;
                    write!(f, "after a copy of the operand to {shape} ({bytes} bytes)")?;
                }
                if copy.is_some() && layout.is_some() {
                    f.write_str(", or ")?;
                }
                if let Some(layout) = layout {
                    write!(f, "with the result in {}", layout.shape)?;
                }
                Ok(())
            }
        }
    }
}

impl Bitcast<'_> {
    /// Why it is not free, and what would make it so; `None` where it is free.
    pub fn why_not(&self) -> Option<WhyNot> {
        Some(WhyNot {
            obstacle: self.obstacle()?,
            smallest_copy: self.smallest_copy(),
            nearest_layout: self.nearest_layout(),
        })
    }

    fn smallest_copy(&self) -> Option<SmallestCopy> {
        let search = Search::new(self, End::Operand)?;
        let near = search.own.minor_to_major();
        let mut best: Option<((i64, usize), ArrayShape)> = None;
        let first = search.kept_or_dropped();
        let mut others = search.templates();
        others.retain(|template| !first.contains(template));
        for stage in [first, others] {
            for template in &stage {
                search
                    .orders(template, Others::Near(near))
                    .for_each(|order, allocated| {
                        let moved = moved(&order, near);
                        let is_better = |bytes: i64| match &best {
                            Some((best, _)) => (bytes, moved) < *best,
                            None => true,
                        };
                        let found =
                            search.found(template, &order, allocated, |bytes, _| is_better(bytes));
                        if let Some(found) = found
                            && is_better(found.bytes)
                        {
                            best = Some(((found.bytes, moved), found.shape));
                        }
                    });
            }
            if best.is_some() {
                break;
            }
        }
        best.map(|((bytes, _), shape)| SmallestCopy { shape, bytes })
    }

    fn nearest_layout(&self) -> Option<NearestLayout> {
        let search = Search::new(self, End::Result)?;
        let near = search.own.minor_to_major();
        let mut best: Option<((usize, i64), ArrayShape)> = None;
        for template in &search.templates() {
            search
                .orders(template, Others::Near(near))
                .for_each(|order, allocated| {
                    let moved = moved(&order, near);
                    let is_better = |padding: i64| match &best {
                        Some((best, _)) => (moved, padding) < *best,
                        None => true,
                    };
                    let found =
                        search.found(template, &order, allocated, |_, padding| is_better(padding));
                    if let Some(found) = found
                        && is_better(found.padding)
                    {
                        best = Some(((moved, found.padding), found.shape));
                    }
                });
        }
        best.map(|((moved_dimensions, padding), shape)| NearestLayout {
            shape,
            moved_dimensions,
            padding,
        })
    }
}
