//! What becomes of some dimensions under a reshape.

use super::factors::common_factors;

/// Where some dimensions of an array are found behind a reshape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedDimensions {
    /// The dimensions of the result that they became, ascending.
    pub to: Vec<usize>,
    /// Those that became dimensions of the result whole, with others of them where sizes differ.
    pub whole: Vec<usize>,
    /// Those that did not: dimensions that are not among them went into the same ones.
    pub others: Vec<usize>,
    /// Those of `others` of which minor parts became dimensions of the result nevertheless, each
    /// with the size that is left of it.
    pub split: Vec<(usize, i64)>,
}

/// Where some dimensions of an array of sizes `from` are found in its reshape to sizes `to`;
/// `None` where the two have different numbers of elements. XLA's `ConvertDimensionNumbers`.
///
/// Both lists are cut where the products of their first sizes agree. A group whose dimensions of
/// `from` are all among those given is carried whole. Of a group of two of which the minor one is
/// given, the most minor dimensions of `to` are carried, as long as their sizes divide what is
/// left of it.
///
/// ```
/// use minormajor_core::bitcast::carried_dimensions;
///
/// // The 6 becomes a 2 and a 3, the 5 stays.
/// let carried = carried_dimensions(&[1], &[5, 6], &[5, 2, 3]).unwrap();
/// assert_eq!((carried.to, carried.whole), (vec![1, 2], vec![1]));
///
/// // Of the 32, two dimensions of 4 are made, and a 2 of it is left in the first.
/// let carried = carried_dimensions(&[1], &[2, 32], &[4, 4, 4]).unwrap();
/// assert_eq!((carried.to, carried.split), (vec![1, 2], vec![(1, 2)]));
/// ```
#[doc(alias = "ConvertDimensionNumbers")]
pub fn carried_dimensions(
    dimensions: &[usize],
    from: &[i64],
    to: &[i64],
) -> Option<CarriedDimensions> {
    let mut carried = CarriedDimensions::default();
    for pair in common_factors(from, to)?.windows(2) {
        let (own, others) = (pair[0].0..pair[1].0, pair[0].1..pair[1].1);
        let given = own
            .clone()
            .filter(|dimension| dimensions.contains(dimension));
        if given.clone().count() == own.len() {
            carried.to.extend(others);
            carried.whole.extend(own);
            continue;
        }
        carried.others.extend(given);
        let minor = own.end - 1;
        if own.len() != 2 || !dimensions.contains(&minor) {
            continue;
        }
        let mut left = from[minor];
        let mut parts = Vec::new();
        for dimension in others.rev() {
            let size = to[dimension];
            if size == 0 || left % size != 0 {
                break;
            }
            left /= size;
            parts.push(dimension);
        }
        if !parts.is_empty() {
            carried.split.push((minor, left));
            carried.to.extend(parts.into_iter().rev());
        }
    }
    Some(carried)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(dimensions: &[usize], from: &[i64], to: &[i64]) -> CarriedDimensions {
        carried_dimensions(dimensions, from, to).unwrap()
    }

    #[test]
    fn groups_are_carried_whole_or_not() {
        let found = carried(&[0, 1, 3], &[2, 3, 5, 7], &[6, 7, 5]);
        assert_eq!(found.to, [0]);
        assert_eq!(found.whole, [0, 1]);
        assert_eq!(found.others, [3]);
        assert_eq!(found.split, []);

        let all = carried(&[0, 1], &[4, 9], &[6, 6]);
        assert_eq!((all.to, all.whole), (vec![0, 1], vec![0, 1]));
        assert_eq!(carried(&[], &[4, 9], &[6, 6]), CarriedDimensions::default());
        assert_eq!(carried_dimensions(&[0], &[4], &[5]), None);
    }

    #[test]
    fn minor_parts_are_carried_where_sizes_divide() {
        let found = carried(&[1], &[2, 32], &[4, 4, 4]);
        assert_eq!(found.to, [1, 2]);
        assert_eq!(found.others, [1]);
        assert_eq!(found.split, [(1, 2)]);
        // The major one has no minor part of its own, and 7 does not divide 21 / 3 / 3.
        assert_eq!(carried(&[0], &[2, 32], &[4, 4, 4]).split, []);
        let found = carried(&[1], &[6, 21], &[9, 14]);
        assert_eq!((found.to, found.split), (vec![], vec![]));
    }

    #[test]
    fn nothing_is_divided_by_an_empty_dimension() {
        let found = carried(&[1], &[0, 3], &[3, 0]);
        assert_eq!((found.others, found.split), (vec![1], vec![]));
    }
}
