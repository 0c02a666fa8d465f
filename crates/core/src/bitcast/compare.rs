//! Where the operand and the result part.

use smallvec::{SmallVec, smallvec};

use super::correspondence::{Correspondence, Dims, End, Segment};
use super::path::first_difference;
use super::side::Side;

/// Segments whose indices are combined on some side, so that they are followed as one.
type Bundle<'a> = SmallVec<[&'a Segment; 1]>;

/// The first element of a bundle of segments, in their row-major order, that lies apart on the
/// two sides; all other segments are at their first index.
pub(super) struct Difference<'a> {
    pub segments: Bundle<'a>,
    pub at: i64,
}

/// The differences of two sides, at most one a bundle; both sides have elements.
pub(super) fn differences<'a>(
    correspondence: &'a Correspondence,
    operand: &'a Side<'_>,
    result: &'a Side<'_>,
) -> impl Iterator<Item = Difference<'a>> {
    bundles(correspondence, operand, result)
        .into_iter()
        .filter_map(move |segments| {
            let at = first_in_bundle(correspondence, &segments, operand, result)?;
            Some(Difference { segments, at })
        })
}

fn bundles<'a>(
    correspondence: &'a Correspondence,
    operand: &Side<'_>,
    result: &Side<'_>,
) -> SmallVec<[Bundle<'a>; 6]> {
    let segments = correspondence.segments.iter().filter(|s| s.size > 1);
    let mut bundles: SmallVec<[Bundle<'a>; 6]> = segments.map(|s| smallvec![s]).collect();
    for (side, end) in [(operand, End::Operand), (result, End::Result)] {
        if side.is_apart() {
            continue;
        }
        let sizes = correspondence.sizes(end);
        for dimension in (0..sizes.len()).filter(|&d| sizes[d] > 1) {
            let combined = side.combined_with(dimension);
            if combined.first() == Some(&dimension) {
                bundles = bundled(bundles, &combined, end);
            }
        }
    }
    bundles
}

/// The bundles, those that hold any of the dimensions being made one. Its segments stand in the
/// order of the dimensions, others behind them.
fn bundled<'a>(
    bundles: SmallVec<[Bundle<'a>; 6]>,
    dimensions: &Dims,
    end: End,
) -> SmallVec<[Bundle<'a>; 6]> {
    let place = |segment: &Segment| {
        let of_segment = segment.dimensions(end);
        dimensions.iter().position(|d| of_segment.contains(d))
    };
    let (tied, mut apart): (SmallVec<[Bundle<'a>; 6]>, _) = bundles
        .into_iter()
        .partition(|bundle| bundle.iter().any(|segment| place(segment).is_some()));
    if let [_] = tied[..] {
        apart.extend(tied);
        return apart;
    }
    let mut bundle: Bundle<'a> = tied.into_iter().flatten().collect();
    bundle.sort_by_key(|segment| place(segment).unwrap_or(usize::MAX));
    apart.push(bundle);
    apart
}

fn first_in_bundle(
    correspondence: &Correspondence,
    segments: &[&Segment],
    operand: &Side<'_>,
    result: &Side<'_>,
) -> Option<i64> {
    // At most the number of elements.
    let length = segments.iter().map(|segment| segment.size).product();
    let from = operand.path(correspondence, segments, End::Operand);
    let to = result.path(correspondence, segments, End::Result);
    if let (Some(from), Some(to)) = (from, to) {
        return first_difference(&from, &to, length);
    }
    // `*` ties dimensions together in a way that no single index follows: element by element.
    let first = offset(correspondence, segments, 0, operand, result);
    (1..length).find(|&at| offset(correspondence, segments, at, operand, result) != first)
}

/// How far apart an element lies on the two sides, in bits.
fn offset(
    correspondence: &Correspondence,
    segments: &[&Segment],
    at: i64,
    operand: &Side<'_>,
    result: &Side<'_>,
) -> i64 {
    let from = Element::new(correspondence, segments, at, End::Operand);
    let to = Element::new(correspondence, segments, at, End::Result);
    from.position(operand) - to.position(result)
}

/// One side's index of an element.
pub(super) struct Element {
    pub index: SmallVec<[i64; 6]>,
    /// Bits behind the beginning of the element with this index.
    pub inside: i64,
}

impl Element {
    /// The element at a place in the row-major order of the segments, which may be any, major
    /// to minor; all others are at their first index.
    pub fn new(
        correspondence: &Correspondence,
        segments: &[&Segment],
        at: i64,
        end: End,
    ) -> Element {
        let mut element = Element {
            index: correspondence.origin(end),
            inside: 0,
        };
        let mut rest = at;
        for segment in segments.iter().rev() {
            let value = rest % segment.size;
            rest /= segment.size;
            if segment.dimensions(end).is_empty() {
                element.inside += value * segment.inside;
            }
            correspondence.put(segment, value, end, &mut element.index);
        }
        element
    }

    /// Where it lies, in bits.
    pub fn position(&self, side: &Side<'_>) -> i64 {
        side.position(&self.index) + self.inside
    }
}
