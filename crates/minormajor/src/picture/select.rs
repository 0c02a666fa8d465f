//! What to show of something long.

use std::collections::BTreeSet;

/// One place in a sequence of which not everything is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// This one.
    At(i64),
    /// Some that are not shown.
    Gap,
}

/// At most `limit` marks (3 at least) of `0..extent`: all of it if it fits; else both ends, as
/// many of the interesting places as fit, first ones first, and then as much of `0..fill` as
/// fits.
pub fn select(extent: i64, interesting: &[i64], fill: i64, limit: usize) -> Vec<Mark> {
    let limit = limit.max(3);
    if extent <= limit as i64 {
        return (0..extent).map(Mark::At).collect();
    }
    let mut chosen = BTreeSet::from([0, extent - 1]);
    let inside = interesting
        .iter()
        .copied()
        .filter(|place| (0..extent).contains(place));
    for place in inside {
        if chosen.insert(place) && marks(&chosen).len() > limit {
            chosen.remove(&place);
        }
    }
    for place in 1..fill.min(extent) {
        if chosen.insert(place) && marks(&chosen).len() > limit {
            chosen.remove(&place);
            break;
        }
    }
    marks(&chosen)
}

/// The chosen places with gaps between them; a single place between two needs no gap.
fn marks(chosen: &BTreeSet<i64>) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut next = 0;
    for &place in chosen {
        match place - next {
            0 => {}
            1 => marks.push(Mark::At(next)),
            _ => marks.push(Mark::Gap),
        }
        marks.push(Mark::At(place));
        next = place + 1;
    }
    marks
}

/// Whether a cut at the multiples of `every` lies between two marks that stand side by side.
pub fn cut_between(before: Mark, behind: Mark, every: i64) -> bool {
    match (before, behind) {
        (_, Mark::At(place)) => place % every == 0,
        (Mark::At(place), Mark::Gap) => (place + 1) % every == 0,
        (Mark::Gap, Mark::Gap) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(extent: i64, interesting: &[i64], limit: usize) -> String {
        let marks = select(extent, interesting, extent, limit);
        let text = |mark: &Mark| match mark {
            Mark::At(place) => place.to_string(),
            Mark::Gap => "..".to_owned(),
        };
        marks.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ends_and_interesting_places_come_first() {
        assert_eq!(shown(0, &[], 5), "");
        assert_eq!(shown(5, &[], 5), "0 1 2 3 4");
        assert_eq!(shown(6, &[], 5), "0 1 2 .. 5");
        assert_eq!(shown(100, &[50, 51], 7), "0 1 .. 50 51 .. 99");
        assert_eq!(shown(100, &[50, 51, -3, 100], 8), "0 1 2 .. 50 51 .. 99");
        assert_eq!(shown(100, &[2], 5), "0 1 2 .. 99");
        assert_eq!(
            shown(i64::MAX, &[1 << 40], 5),
            format!("0 .. {} .. {}", 1_i64 << 40, i64::MAX - 1)
        );
        assert_eq!(shown(100, &[], 0), "0 .. 99");
        assert_eq!(
            select(100, &[], 2, 9),
            [Mark::At(0), Mark::At(1), Mark::Gap, Mark::At(99)]
        );
    }

    #[test]
    fn cuts_are_seen_beside_gaps() {
        assert!(cut_between(Mark::At(7), Mark::At(8), 8));
        assert!(!cut_between(Mark::At(8), Mark::At(9), 8));
        assert!(cut_between(Mark::At(7), Mark::Gap, 8));
        assert!(cut_between(Mark::Gap, Mark::At(16), 8));
        assert!(!cut_between(Mark::Gap, Mark::At(17), 8));
    }
}
