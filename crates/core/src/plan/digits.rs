//! An index as digits, where tiles divide one another: the way of nearly every layout, and a short one.
//!
//! What [trees](super::tree) do by cutting, and with lists of their own, is arithmetic here. Where a tile of one side does not divide
//! the other's, trees are asked.

use smallvec::SmallVec;

use super::boxes::MoveBox;
use super::nest::Loop;

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

impl FromIterator<(i64, i64)> for Digits {
    /// Of places, the last of which is 1, and strides.
    fn from_iter<I: IntoIterator<Item = (i64, i64)>>(digits: I) -> Digits {
        let of = |(place, stride)| Digit { place, stride };
        Digits(digits.into_iter().map(of).collect())
    }
}

impl Digits {
    /// An index that is one digit.
    pub fn line(stride: i64) -> Digits {
        let mut digits = SmallVec::new();
        digits.push(Digit { place: 1, stride });
        Digits(digits)
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
    use super::super::cut::{Cut, tests};
    use super::super::tree::common_pieces;
    use super::*;

    /// Layouts of a matrix's rows: untiled, with tiles that divide one another, or another one's.
    const TILES: [&str; 7] = [
        "",
        "T(4,2)",
        "T(12,2)",
        "T(12,2)(4,1)",
        "T(12,2)(4,1)(2,1)",
        "T(9,2)(3,1)",
        "T(6,2)(2,1,3,1)",
    ];

    fn cut(rows: i64, tiles: &str) -> Option<Cut> {
        let colon = if tiles.is_empty() { "" } else { ":" };
        tests::cut(&format!("u8[{rows},5]{{1,0{colon}{tiles}}}"))
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
                let cuts = cut(size, from).zip(cut(size, to));
                let Some((a, b)) = cuts else {
                    continue;
                };
                let [a, b] = [a, b].map(|cut| (cut.digits(0, 3), cut.tree(0, 3)));
                let Some(digits) = a.0.common(&b.0, size) else {
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
        assert!(divided > 60 * 30, "{divided}");
    }

    #[test]
    fn tiles_that_do_not_divide_have_no_common_digits() {
        let of = |tiles| cut(60, tiles).unwrap().digits(0, 1);
        let (nine, four) = (of("T(9,2)"), of("T(4,2)"));
        assert_eq!(nine.common(&four, 60), None);
        // Below the larger tile there is one alone.
        assert!(nine.common(&four, 9).is_some());
    }
}
