//! An index as digits, where tiles divide one another: the way of nearly every layout, and a short one.
//!
//! What [trees](super::tree) do by cutting, and with lists of their own, is arithmetic here. Where a tile does not divide
//! the next one, there are no digits, and trees are asked.

use smallvec::SmallVec;

use super::boxes::MoveBox;
use super::nest::Loop;
use crate::address::{Expansion, NodeId, Part};

/// One digit of an index `i`: `i / place`, modulo the place before over this one, adds so many times its stride to the
/// position. The first digit has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digit<S> {
    place: i64,
    stride: S,
}

/// The digits of an index, on one side or, with a stride for each, on both: places fall to 1, and each is a multiple of the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digits<S = i64>(SmallVec<[Digit<S>; 4]>);

/// Strides on both sides.
type Both = (i64, i64);

impl Digits {
    /// An index that is one digit.
    pub fn line(stride: i64) -> Digits {
        let mut digits = SmallVec::new();
        digits.push(Digit { place: 1, stride });
        Digits(digits)
    }

    /// The digits of a node of an expansion, positions counted in units of which an element has `scale`. `None` where a
    /// tile does not divide the one around it, or the node is part of a combined index.
    pub fn new(expansion: &Expansion, node: Option<NodeId>, scale: i64) -> Option<Digits> {
        let Some(node) = node else {
            return Some(Digits::line(0));
        };
        let mut digits = Digits(SmallVec::new());
        digits.add(expansion, node, 1, scale)?;
        Some(digits)
    }

    /// The digits of a node whose index is the whole's over `place`, modulo the last place.
    fn add(&mut self, expansion: &Expansion, node: NodeId, place: i64, scale: i64) -> Option<()> {
        match expansion.nodes[node].part {
            Part::Digit { stride, .. } => {
                let stride = stride * scale;
                match self.0.last_mut() {
                    Some(last) if last.place % place != 0 => return None,
                    // Both are one digit.
                    Some(last) if stride.checked_mul(last.place / place) == Some(last.stride) => {
                        *last = Digit { place, stride };
                    }
                    _ => self.0.push(Digit { place, stride }),
                }
                Some(())
            }
            Part::Split { tile, high, low } => {
                self.add(expansion, high, place.checked_mul(tile)?, scale)?;
                self.add(expansion, low, place, scale)
            }
            Part::Joined { .. } => None,
        }
    }

    /// The digits of both, of an index below `length`: each is cut where the other is. `None` where a place does not
    /// divide the one before.
    pub fn common(&self, destination: &Digits, length: i64) -> Option<Digits<Both>> {
        let (mut from, mut to) = (&self.0[..], &destination.0[..]);
        let mut common: Digits<Both> = Digits(SmallVec::new());
        while let (Some(a), Some(b)) = (from.first(), to.first()) {
            let place = a.place.max(b.place);
            if place < length || place == 1 {
                if common.0.last().is_some_and(|last| last.place % place != 0) {
                    return None;
                }
                let at = |digit: &Digit<i64>| {
                    let steps = place / digit.place;
                    (place % digit.place == 0).then(|| digit.stride.checked_mul(steps))?
                };
                let stride = (at(a)?, at(b)?);
                common.0.push(Digit { place, stride });
            }
            // The last place is 1 on both sides.
            if a.place == place {
                from = &from[1..];
            }
            if b.place == place {
                to = &to[1..];
            }
        }
        Some(common)
    }
}

/// A part of an index in which both positions are affine: so many of a digit, and all of those below.
pub(super) struct Piece<'a> {
    /// Where it starts, on both sides.
    pub start: Both,
    whole: i64,
    digits: &'a [Digit<Both>],
}

impl Piece<'_> {
    fn put_inside(&self, made: &mut MoveBox) {
        made.source += self.start.0;
        made.destination += self.start.1;
        for l in self.loops() {
            made.loops.0.push(l);
        }
    }

    /// Its loops, outermost first.
    pub fn loops(&self) -> impl Iterator<Item = Loop> + '_ {
        let mut extent = self.whole;
        let mut below = self.digits.iter().peekable();
        std::iter::from_fn(move || {
            let digit = below.next()?;
            let made = Loop {
                extent,
                source: digit.stride.0,
                destination: digit.stride.1,
            };
            if let Some(next) = below.peek() {
                extent = digit.place / next.place;
            }
            Some(made)
        })
    }
}

impl Digits<Both> {
    /// The range `0..length` in pieces: as many of the first place as are whole, of the rest as many of the second, and so on.
    pub fn pieces(&self, length: i64) -> impl Iterator<Item = Piece<'_>> + '_ {
        let (mut rest, mut start) = (length, (0, 0));
        let digits = self.0.iter().enumerate();
        digits.filter_map(move |(i, digit)| {
            let whole = rest / digit.place;
            let piece = (whole > 0).then_some(Piece {
                start,
                whole,
                digits: &self.0[i..],
            })?;
            rest -= whole * digit.place;
            start.0 += whole * digit.stride.0;
            start.1 += whole * digit.stride.1;
            Some(piece)
        })
    }

    /// Puts the loops of all pieces inside every box: one box becomes as many as there are pieces.
    pub fn put_inside(&self, length: i64, boxes: &mut SmallVec<[MoveBox; 1]>) {
        let mut pieces = self.pieces(length);
        if let (Some(piece), None) = (pieces.next(), pieces.next()) {
            boxes.iter_mut().for_each(|made| piece.put_inside(made));
            return;
        }
        let mut all = SmallVec::with_capacity(boxes.len() * self.pieces(length).count());
        for made in boxes.iter() {
            for piece in self.pieces(length) {
                let mut made = made.clone();
                piece.put_inside(&mut made);
                all.push(made);
            }
        }
        *boxes = all;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::boxes::SmallLoops;
    use super::super::tree::{Tree, common_pieces};
    use super::*;
    use crate::{AddressMap, Shape};

    /// Layouts of a matrix's rows: untiled, with tiles that divide one another, with some that don't, with both parts cut.
    const TILES: [&str; 8] = [
        "",
        "T(4,2)",
        "T(12,2)",
        "T(12,2)(4,1)",
        "T(12,2)(4,1)(2,1)",
        "T(9,2)(4,1)",
        "T(4,2)(3,1,2,1)",
        "T(6,2)(2,1,3,1)",
    ];

    fn map(rows: i64, tiles: &str) -> AddressMap {
        let colon = if tiles.is_empty() { "" } else { ":" };
        let shape: Shape = format!("u8[{rows},5]{{1,0{colon}{tiles}}}")
            .parse()
            .unwrap();
        AddressMap::new(shape.as_array().unwrap()).unwrap()
    }

    /// Where a piece is on both sides.
    fn places(start: Both, loops: &[Loop]) -> Vec<Both> {
        let mut places = vec![start];
        for l in loops {
            let along = |&(a, b): &Both| {
                (0..l.extent).map(move |i| (a + i * l.source, b + i * l.destination))
            };
            places = places.iter().flat_map(along).collect();
        }
        places
    }

    #[test]
    fn pieces_are_those_of_trees() {
        let mut divided = 0;
        for size in 1..=60 {
            for (from, to) in TILES.iter().flat_map(|a| TILES.iter().map(move |b| (a, b))) {
                let what = format!("{size} from {from} to {to}");
                let maps = [map(size, from), map(size, to)];
                let [a, b] = maps.each_ref().map(|map| {
                    let expansion = map.expansion();
                    let root = expansion.roots[0];
                    (
                        Digits::new(expansion, root, 3),
                        Tree::new(expansion, root, 3).unwrap(),
                    )
                });
                let digits = a.0.zip(b.0).and_then(|(a, b)| a.common(&b, size));
                let Some(digits) = digits else {
                    continue;
                };
                divided += 1;
                let expected: BTreeSet<Both> = (0..size)
                    .map(|i| (a.1.position(i), b.1.position(i)))
                    .collect();
                let canonical = |loops| SmallLoops::canonical(loops);
                let found: Vec<_> = digits
                    .pieces(size)
                    .map(|piece| (piece.start, canonical(piece.loops().collect())))
                    .collect();
                let all: Vec<Both> = found
                    .iter()
                    .flat_map(|(start, loops)| places(*start, loops))
                    .collect();
                assert_eq!(all.len(), expected.len(), "{what}");
                assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), expected, "{what}");
                let trees: Vec<_> = common_pieces(&a.1, &b.1, size)
                    .unwrap()
                    .into_iter()
                    .map(|piece| ((piece.source, piece.destination), canonical(piece.loops.0)))
                    .collect();
                assert_eq!(found, trees, "{what}");
            }
        }
        // Without a tile on one side, or with tiles of which one divides the other.
        assert!(divided > 60 * 40, "{divided}");
    }

    #[test]
    fn tiles_that_do_not_divide_have_no_digits() {
        let of = |tiles| {
            let map = map(60, tiles);
            Digits::new(map.expansion(), map.expansion().roots[0], 1)
        };
        assert_eq!(of("T(9,2)(4,1)"), None);
        let (nine, four) = (of("T(9,2)").unwrap(), of("T(4,2)").unwrap());
        assert_eq!(nine.common(&four, 60), None);
        // Below the larger tile there is one alone.
        assert!(nine.common(&four, 9).is_some());
    }

    #[test]
    fn what_is_side_by_side_is_one_digit() {
        // Four rows of a tile follow another four, each of two elements.
        let map = map(11, "T(12,2)(4,2)");
        let digits = Digits::new(map.expansion(), map.expansion().roots[0], 3);
        assert_eq!(digits, Some(Digits::line(6)));
    }
}
