//! One side of a stream: which of its digits a block has whole, and which in part.

use smallvec::SmallVec;

use super::runs::Runs;
use super::{Part, StreamError};
use crate::address::{AddressMap, NodeId, Part as Way, div_ceil, gcd};
use crate::array::ArrayShape;

#[derive(Clone, Debug)]
pub(super) struct Side {
    shape: ArrayShape,
    sizes: SmallVec<[i64; 6]>,
    /// Minor to major; their extents times each other are the array.
    digits: SmallVec<[Digit; 8]>,
    /// Of each dimension, indices that have the most major part of their digits in common;
    /// `None` where the dimension can't be cut.
    units: SmallVec<[Option<i64>; 6]>,
    /// Of each dimension, how many such must stay together, that blocks be whole bytes.
    together: SmallVec<[i64; 6]>,
    bits: u64,
}

#[derive(Clone, Copy, Debug)]
struct Digit {
    extent: i64,
    /// The dimension of whose index it is the most major part.
    of: Option<usize>,
}

impl Side {
    pub fn new(shape: &ArrayShape) -> Result<Side, StreamError> {
        let map = AddressMap::new(shape)?;
        let expansion = map.expansion();
        let whole = |reason| StreamError::Whole {
            shape: Box::new(shape.clone()),
            reason,
        };
        if expansion.allocated != Some(expansion.expanded) {
            return Err(whole("its end is aligned"));
        }
        let mut firsts: SmallVec<[(NodeId, usize); 6]> = SmallVec::new();
        let mut units: SmallVec<[Option<i64>; 6]> = SmallVec::new();
        for (dimension, root) in expansion.roots.iter().enumerate() {
            let mut unit = Some(1);
            let mut at = *root;
            while let Some(node) = at {
                at = match expansion.nodes[node].part {
                    Way::Digit { .. } => {
                        firsts.push((node, dimension));
                        None
                    }
                    Way::Split { tile, high, .. } => {
                        unit = unit.and_then(|unit: i64| unit.checked_mul(tile));
                        Some(high)
                    }
                    // Parts of several dimensions are one digit.
                    Way::Joined { .. } => {
                        unit = None;
                        None
                    }
                };
            }
            units.push(unit);
        }
        let digits: SmallVec<[Digit; 8]> = expansion
            .digits
            .iter()
            .rev()
            .filter_map(|&node| match expansion.nodes[node].part {
                Way::Digit { extent, .. } => Some(Digit {
                    extent,
                    of: firsts.iter().find(|first| first.0 == node).map(|f| f.1),
                }),
                _ => None,
            })
            .collect();
        let bits = shape.element_bits();
        // Runs begin and end with bytes: where packed elements share them, more belong together.
        let mut together: SmallVec<[i64; 6]> = SmallVec::from_elem(1, units.len());
        let mut stride = 1;
        for (place, digit) in digits.iter().enumerate() {
            let parts = 8 / gcd(stride * bits % 8, 8);
            let whole_rows = (stride * digit.extent * bits) % 8 == 0;
            if let Some(d) = digit.of {
                let can = whole_rows || place + 1 == digits.len();
                units[d] = units[d].filter(|_| can);
                together[d] = parts;
            }
            stride *= digit.extent;
        }
        let mut side = Side {
            shape: shape.clone(),
            sizes: map.sizes().into(),
            digits,
            units,
            together,
            bits: bits as u64,
        };
        // A tile that a whole dimension lies in leaves no digit to see, but pads every part.
        for d in 0..side.sizes.len() {
            if !side.can_be_cut(d) {
                side.units[d] = None;
            }
        }
        Ok(side)
    }

    /// Whether the part at the front of a dimension takes the bytes that its digits say.
    fn can_be_cut(&self, dimension: usize) -> bool {
        let Some(unit) = self.unit(dimension).filter(|&u| u < self.sizes[dimension]) else {
            return true;
        };
        let start: SmallVec<[i64; 6]> = SmallVec::from_elem(0, self.sizes.len());
        let mut end = self.sizes.clone();
        end[dimension] = unit;
        let part = self.part(&start, &end);
        let bytes = part.runs.bytes().saturating_mul(part.runs.count());
        part.shape.allocated_bytes() == i64::try_from(bytes).ok()
    }

    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// Indices between which a dimension can't be cut; `None` where it can't be cut at all.
    pub fn unit(&self, dimension: usize) -> Option<i64> {
        self.units[dimension]?.checked_mul(self.together[dimension])
    }

    /// Whether memory has room for more indices of a dimension than there are.
    pub fn pads(&self, dimension: usize) -> bool {
        let first = self.digits.iter().find(|d| d.of == Some(dimension));
        match (first, self.units[dimension]) {
            (Some(digit), Some(unit)) => digit.extent.saturating_mul(unit) > self.sizes[dimension],
            _ => false,
        }
    }

    /// How far apart indices of a dimension lie that differ in its most major part; 0 where it
    /// has none of its own.
    pub fn stride(&self, dimension: usize) -> i64 {
        let before = self.digits.iter().position(|d| d.of == Some(dimension));
        before.map_or(0, |at| self.digits[..at].iter().map(|d| d.extent).product())
    }

    /// The values that a digit has in the block from `start` to `end`.
    fn range(&self, digit: Digit, start: &[i64], end: &[i64]) -> (i64, i64) {
        match digit.of.and_then(|d| Some((d, self.units[d]?))) {
            Some((d, unit)) if end[d] < self.sizes[d] => (start[d] / unit, end[d] / unit),
            // The last block has what is padded, too.
            Some((d, unit)) => (start[d] / unit, digit.extent),
            None => (0, digit.extent),
        }
    }

    /// The block at the front, of these sizes.
    fn front(&self, steps: &[i64]) -> impl Iterator<Item = (Digit, i64)> {
        let start: SmallVec<[i64; 6]> = SmallVec::from_elem(0, steps.len());
        let steps: SmallVec<[i64; 6]> = steps.into();
        self.digits
            .iter()
            .map(move |&digit| (digit, self.range(digit, &start, &steps).1))
    }

    /// The dimension whose step ends the runs.
    pub fn shortened_by(&self, steps: &[i64]) -> Option<usize> {
        let mut front = self.front(steps);
        front
            .find(|(digit, length)| *length < digit.extent)
            .and_then(|(digit, _)| digit.of)
    }

    /// Bytes of a run of a block at the front.
    pub fn run_bytes(&self, steps: &[i64]) -> u64 {
        let mut units: u64 = 1;
        for (digit, length) in self.front(steps) {
            units *= length as u64;
            if length < digit.extent {
                break;
            }
        }
        match self.sizes.contains(&0) && self.shape.allocated_bytes() == Some(0) {
            true => 0,
            false => (units * self.bits).div_ceil(8),
        }
    }

    /// Bytes of the whole array.
    pub fn bytes(&self) -> u64 {
        self.shape.allocated_bytes().unwrap_or(0) as u64
    }

    /// Bytes of the largest block.
    pub fn block_bytes(&self, steps: &[i64]) -> u64 {
        // The last block of a dimension may have more padding than the front has elements.
        let units = self.digits.iter().map(|&digit| {
            let unit = digit.of.and_then(|d| Some((d, self.units[d]?)));
            let length = match unit {
                None => digit.extent,
                Some((d, unit)) => {
                    let count = div_ceil(self.sizes[d].max(1), steps[d]);
                    let last = digit.extent - (count - 1) * steps[d] / unit;
                    match count {
                        1 => last,
                        _ => last.max(steps[d] / unit),
                    }
                }
            };
            length as u64
        });
        let units = units.fold(1u64, u64::saturating_mul);
        units.saturating_mul(self.bits).div_ceil(8)
    }

    /// The part of the array in a block.
    pub fn part(&self, start: &[i64], end: &[i64]) -> Part {
        let layout = self.shape.layout().expect("checked when it was expanded");
        let mut small = layout
            .clone()
            .with_split_configs([])
            .and_then(|layout| layout.with_tail_padding_alignment(1))
            .expect("no splits, and no alignment, are in order");
        if !layout.padded_dimensions().is_empty() {
            let padded = layout.padded_dimensions().iter().enumerate();
            let padded = padded.map(|(d, &padded)| match end[d] < self.sizes[d] {
                true => end[d] - start[d],
                false => padded - start[d],
            });
            small = small
                .with_padding(padded, layout.filler())
                .expect("one width a dimension");
        }
        let sizes: SmallVec<[i64; 6]> = start.iter().zip(end).map(|(s, e)| e - s).collect();
        let shape = ArrayShape::new(self.shape.element_type(), sizes.iter().copied())
            .and_then(|shape| shape.with_layout(small))
            .expect("a part of an array is one");

        let (mut run, mut stride, mut offset) = (1u64, 1u64, 0u64);
        let mut loops: SmallVec<[(u64, u64); 6]> = SmallVec::new();
        for &digit in &self.digits {
            let (from, to) = self.range(digit, start, end);
            let length = (to - from) as u64;
            offset += from as u64 * stride;
            if loops.is_empty() && run == stride {
                run *= length;
            } else if length != 1 {
                match loops.last_mut() {
                    // A digit that goes on where the one before it ends.
                    Some(last) if last.0 * last.1 == stride => last.0 *= length,
                    _ => loops.push((length, stride)),
                }
            }
            stride *= digit.extent as u64;
        }
        loops.reverse();
        let bytes = |units: u64| units * self.bits / 8;
        Part {
            runs: Runs {
                start: bytes(offset),
                bytes: match shape.allocated_bytes() {
                    Some(0) => 0,
                    _ => (run * self.bits).div_ceil(8),
                },
                loops: loops.iter().map(|&(e, s)| (e, bytes(s))).collect(),
            },
            shape,
        }
    }
}
