//! The search for layouts of one side of a bitcast with which it is free.

use smallvec::{SmallVec, smallvec};

use super::compare::Element;
use super::correspondence::{Correspondence, End, Segment};
use super::orders::{Order, Orders, Others};
use super::side::Side;
use super::{Bitcast, decide};
use crate::array::ArrayShape;
use crate::layout::{Layout, PaddingValue, Tile};
use crate::orders::tiled_dimensions;

/// A search for layouts of one side with which the operation is free.
pub(super) struct Search<'a> {
    correspondence: &'a Correspondence,
    /// The side whose layout is sought.
    end: End,
    shape: &'a ArrayShape,
    own_sizes: &'a [i64],
    pub own: &'a Layout,
    /// The other side, which stays.
    other: &'a Side<'a>,
    /// Bits from the first index of each dimension to the second, as the other side has them.
    wanted: SmallVec<[Option<i64>; 6]>,
    /// The bits of an element that the other side asks for.
    bits: i64,
}

/// What a layout may have, whatever its order.
#[derive(Clone, PartialEq)]
pub(super) struct Template<'a> {
    tiles: &'a [Tile],
    /// Of each dimension: padded, or the size.
    widths: Widths,
    tail: i64,
}

pub(super) type Templates<'a> = SmallVec<[Template<'a>; 4]>;

type Widths = SmallVec<[i64; 6]>;

/// A layout that serves.
pub(super) struct Found {
    pub shape: ArrayShape,
    /// Bytes that it allocates.
    pub bytes: i64,
    /// Elements of padding.
    pub padding: i64,
}

impl<'a> Search<'a> {
    /// `None` where no layout could serve.
    pub fn new(bitcast: &'a Bitcast<'a>, end: End) -> Option<Search<'a>> {
        let correspondence = &bitcast.correspondence;
        if correspondence.repeated.is_some() && bitcast.result.map.elements() > 0 {
            return None;
        }
        let (operand, result) = (&bitcast.operand, &bitcast.result);
        let parts = (correspondence.operand_parts, correspondence.result_parts);
        let (own, other, (own_parts, other_parts)) = match end {
            End::Operand => (operand, result, parts),
            End::Result => (result, operand, (parts.1, parts.0)),
        };
        let wanted = match own.map.elements() {
            0 => SmallVec::from_elem(None, own.shape.rank()),
            _ => wanted(correspondence, end, own, other),
        };
        let bits = i128::from(other.bits) * i128::from(other_parts) / i128::from(own_parts);
        Some(Search {
            correspondence,
            end,
            shape: own.shape,
            own_sizes: own.map.sizes(),
            own: own.shape.layout()?,
            other,
            wanted,
            bits: i64::try_from(bits).ok().filter(|&bits| bits > 0)?,
        })
    }

    /// The layout's own tiles and padding, and without the tiles.
    pub fn kept_or_dropped(&self) -> Templates<'a> {
        let kept = Template {
            tiles: self.own.tiles(),
            widths: widths(self.shape, self.own),
            tail: self.own.tail_padding_alignment(),
        };
        let dropped = Template {
            tiles: &[],
            ..kept.clone()
        };
        match kept.tiles {
            [] => smallvec![dropped],
            _ => smallvec![kept, dropped],
        }
    }

    /// Either side's tiles and padding, or none.
    pub fn templates(&self) -> Templates<'a> {
        let mut templates = Templates::new();
        let Some(other) = self.other.shape.layout() else {
            return templates;
        };
        let sizes = Widths::from_slice(self.own_sizes);
        let paddings = [
            widths(self.shape, self.own),
            sizes,
            self.other_widths(other),
        ];
        let fitted = self.fitted_widths();
        let mut tails: SmallVec<[i64; 2]> = smallvec![self.own.tail_padding_alignment()];
        if other.tail_padding_alignment() != tails[0] {
            tails.push(other.tail_padding_alignment());
        }
        for tail in tails {
            for tiles in [self.own.tiles(), &[], other.tiles()] {
                let (given, fitted) = match (tiles.is_empty(), self.end) {
                    (false, _) => (&paddings[..], &[][..]),
                    (true, End::Operand) => (&paddings[..], &fitted[..]),
                    // No padding is less than what fits.
                    (true, End::Result) => (&[][..], &fitted[..]),
                };
                for widths in given.iter().chain(fitted) {
                    let template = Template {
                        tiles,
                        widths: widths.clone(),
                        tail,
                    };
                    if !templates.contains(&template) {
                        templates.push(template);
                    }
                }
            }
        }
        templates
    }

    /// The widths of the other side, for dimensions that are whole ones of both.
    fn other_widths(&self, layout: &Layout) -> Widths {
        let mut found = Widths::from_slice(self.own_sizes);
        let others = widths(self.other.shape, layout);
        for segment in &self.correspondence.segments {
            let (own, other) = match self.end {
                End::Operand => (&segment.operand, &segment.result),
                End::Result => (&segment.result, &segment.operand),
            };
            if let ([own], [other]) = (&own[..], &other[..]) {
                found[*own] = found[*own].max(others[*other]);
            }
        }
        found
    }

    /// The widths with which dimensions without tiles have the wanted strides; none where the
    /// strides are no multiples of each other. Where even the shortest is longer than an
    /// element, some dimension of size 1 takes the place between.
    fn fitted_widths(&self) -> SmallVec<[Widths; 1]> {
        let sizes = self.own_sizes;
        let mut wanted: SmallVec<[(i64, usize); 6]> = (0..sizes.len())
            .filter_map(|d| self.wanted[d].map(|wanted| (wanted, d)))
            .collect();
        wanted.sort_unstable();
        let mut fitted = Widths::from_slice(sizes);
        for pair in wanted.windows(2) {
            let ((inner, dimension), (outer, _)) = (pair[0], pair[1]);
            if inner <= 0 || outer % inner != 0 || outer / inner < sizes[dimension] {
                return SmallVec::new();
            }
            fitted[dimension] = outer / inner;
        }
        match wanted.first() {
            Some(&(least, _)) if least != self.bits => (0..sizes.len())
                .filter(|&d| sizes[d] == 1 && least > 0 && least % self.bits == 0)
                .map(|d| {
                    let mut fitted = fitted.clone();
                    fitted[d] = least / self.bits;
                    fitted
                })
                .collect(),
            _ => smallvec![fitted],
        }
    }

    /// The orders in which a template may serve.
    pub fn orders<'o>(&'o self, template: &'o Template<'_>, others: Others<'o>) -> Orders<'o> {
        let has_elements = self.shape.elements() != Some(0);
        let wide = |&width: &i64| has_elements && width != 1;
        Orders {
            wanted: &self.wanted,
            wide: template.widths.iter().map(wide).collect(),
            tiled: match has_elements {
                true => tiled_dimensions(template.tiles, self.own_sizes.len()),
                false => 0,
            },
            tiles: template.tiles,
            widths: &template.widths,
            element: self.bits,
            others,
        }
    }

    /// The template in this order, which allocates so many elements or more, if the operation is
    /// free with it; only where one with at least so many bytes and elements of padding is
    /// wanted.
    pub fn found(
        &self,
        template: &Template<'_>,
        order: &Order,
        allocated: i64,
        is_wanted: impl FnOnce(i64, i64) -> bool,
    ) -> Option<Found> {
        let bits = i128::from(allocated) * i128::from(self.bits);
        if self.end == End::Result && bits > 8 * i128::from(self.other.bytes) {
            return None;
        }
        let elements: i64 = self.own_sizes.iter().product();
        if !is_wanted(i64::try_from((bits + 7) / 8).ok()?, allocated - elements) {
            return None;
        }
        let shape = self.shape.with_layout(self.layout(template, order)?).ok()?;
        let side = Side::new(&shape).ok()?;
        match self.end {
            End::Operand => decide(self.correspondence, &side, self.other)?,
            End::Result => decide(self.correspondence, self.other, &side)?,
        };
        let (bytes, map) = (side.bytes, &side.map);
        let padding = map.allocated_elements() - map.elements();
        Some(Found {
            bytes,
            padding,
            shape,
        })
    }

    /// The layout of the template, in the memory space and with the element size of the other
    /// side: in others nothing is free.
    fn layout(&self, template: &Template<'_>, order: &Order) -> Option<Layout> {
        let own_bits = 8 * i64::from(self.shape.element_type().byte_width());
        let bits = match self.bits {
            bits if bits == self.shape.element_bits() => self.own.element_size_in_bits(),
            bits if bits == own_bits => 0,
            bits => bits,
        };
        let layout = self.own.with_order(order.clone()).without_padding();
        let layout = layout
            .with_memory_space(self.other.memory_space())
            .with_element_size_in_bits(bits)
            .and_then(|layout| layout.with_tiles(template.tiles.iter().cloned()))
            .and_then(|layout| layout.with_tail_padding_alignment(template.tail));
        if template.widths[..] == *self.own_sizes {
            return layout.ok();
        }
        let value = self.own.padding_value().unwrap_or(PaddingValue::Zero);
        layout
            .ok()?
            .with_padding(template.widths.iter().copied(), value)
            .ok()
    }
}

/// The padded width of every dimension.
fn widths(shape: &ArrayShape, layout: &Layout) -> Widths {
    let padded = shape.padded_sizes(layout);
    (0..shape.rank()).filter_map(padded).collect()
}

/// How far apart, in bits, the other side has the first two indices of each dimension.
fn wanted(
    correspondence: &Correspondence,
    end: End,
    own: &Side<'_>,
    other: &Side<'_>,
) -> SmallVec<[Option<i64>; 6]> {
    let other_end = match end {
        End::Operand => End::Result,
        End::Result => End::Operand,
    };
    let position = |segments: &[&Segment], at: i64| {
        Element::new(correspondence, segments, at, other_end).position(other)
    };
    let first = position(&[], 0);
    let sizes = correspondence.sizes(end);
    let mut wanted = SmallVec::from_elem(None, own.shape.rank());
    for segment in correspondence.segments.iter().filter(|s| s.size > 1) {
        let mut place = 1;
        for &dimension in segment.dimensions(end).iter().rev() {
            if sizes[dimension] > 1 {
                let (_, step) = match end {
                    End::Operand => correspondence.start_and_step(dimension),
                    End::Result => (0, 1),
                };
                wanted[dimension] = Some((position(&[segment], place) - first) / step);
                place *= sizes[dimension];
            }
        }
    }
    wanted
}
