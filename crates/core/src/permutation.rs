//! Permutations of dimensions.

use smallvec::SmallVec;

use crate::error::ShapeError;

/// A permutation of `0..len`: each number once.
///
/// Read as a list `p`, it makes a new list out of an old one: `new[i] = old[p[i]]`.
///
/// ```
/// use minormajor_core::Permutation;
///
/// let p = Permutation::new([2, 0, 1])?;
/// assert_eq!(p.apply(&["a", "b", "c"])?, ["c", "a", "b"]);
/// assert_eq!(p.inverse().apply(&["c", "a", "b"])?, ["a", "b", "c"]);
/// assert!(Permutation::new([0, 2]).is_err());
/// # Ok::<(), minormajor_core::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permutation {
    /// Holds each of `0..len` once.
    places: SmallVec<[usize; 6]>,
}

impl Permutation {
    /// The permutation with this list; the empty list is one.
    ///
    /// # Errors
    ///
    /// [`ShapeError::PermutationOutOfRange`] or [`ShapeError::PermutationRepeated`] unless the
    /// list holds each of `0..len` once.
    #[doc(alias = "IsPermutation")]
    pub fn new(places: impl IntoIterator<Item = i64>) -> Result<Permutation, ShapeError> {
        let list: SmallVec<[i64; 6]> = places.into_iter().collect();
        let len = list.len();
        let mut seen: SmallVec<[bool; 16]> = SmallVec::from_elem(false, len);
        let mut places = SmallVec::with_capacity(len);
        for (place, &value) in list.iter().enumerate() {
            match usize::try_from(value).ok().filter(|&value| value < len) {
                None => return Err(ShapeError::PermutationOutOfRange { place, value, len }),
                Some(number) if seen[number] => {
                    return Err(ShapeError::PermutationRepeated { place, value });
                }
                Some(number) => {
                    seen[number] = true;
                    places.push(number);
                }
            }
        }
        Ok(Permutation { places })
    }

    /// The permutation that changes nothing.
    pub fn identity(len: usize) -> Permutation {
        Permutation {
            places: (0..len).collect(),
        }
    }

    /// The list.
    pub fn as_slice(&self) -> &[usize] {
        &self.places
    }

    /// How many numbers it permutes.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it permutes nothing.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether it changes nothing.
    #[doc(alias = "IsIdentityPermutation")]
    pub fn is_identity(&self) -> bool {
        self.places.is_sorted()
    }

    /// The list whose element `i` is element `p[i]` of `items`.
    ///
    /// # Errors
    ///
    /// [`ShapeError::PermutationLength`] for a list of another length.
    #[doc(alias = "Permute")]
    pub fn apply<T: Clone>(&self, items: &[T]) -> Result<Vec<T>, ShapeError> {
        self.check_length(items.len())?;
        Ok(self
            .places
            .iter()
            .map(|&place| items[place].clone())
            .collect())
    }

    /// The list whose element `p[i]` is element `i` of `items`: what [`apply`](Self::apply) of
    /// the [inverse](Self::inverse) gives.
    ///
    /// # Errors
    ///
    /// [`ShapeError::PermutationLength`] for a list of another length.
    #[doc(alias = "PermuteInverse")]
    pub fn apply_inverse<T: Clone>(&self, items: &[T]) -> Result<Vec<T>, ShapeError> {
        self.inverse().apply(items)
    }

    /// The permutation that undoes this one.
    #[doc(alias = "InversePermutation")]
    pub fn inverse(&self) -> Permutation {
        let mut places = SmallVec::from_elem(0, self.len());
        for (at, &place) in self.places.iter().enumerate() {
            places[place] = at;
        }
        Permutation { places }
    }

    /// The permutation whose element `i` is `self[other[i]]`: applied, it gives what `self` and
    /// then `other` give.
    ///
    /// # Errors
    ///
    /// [`ShapeError::PermutationLength`] where the two have different lengths.
    #[doc(alias = "ComposePermutations")]
    pub fn compose(&self, other: &Permutation) -> Result<Permutation, ShapeError> {
        self.check_length(other.len())?;
        Ok(Permutation {
            places: other
                .places
                .iter()
                .map(|&place| self.places[place])
                .collect(),
        })
    }

    pub(crate) fn check_length(&self, found: usize) -> Result<(), ShapeError> {
        match self.len() == found {
            true => Ok(()),
            false => Err(ShapeError::PermutationLength {
                len: self.len(),
                found,
            }),
        }
    }
}

/// Moves the element at `from` to `to`; those between make room.
///
/// # Errors
///
/// [`ShapeError::NoSuchDimension`] where there is no such place; -1 is the last.
///
/// ```
/// let mut list = ["a", "b", "c", "d"];
/// minormajor_core::move_element(&mut list, 0, 2)?;
/// assert_eq!(list, ["b", "c", "a", "d"]);
/// # Ok::<(), minormajor_core::ShapeError>(())
/// ```
#[doc(alias = "MoveSingleElement")]
pub fn move_element<T>(items: &mut [T], from: i64, to: i64) -> Result<(), ShapeError> {
    let from = crate::resolve_dimension(from, items.len())?;
    let to = crate::resolve_dimension(to, items.len())?;
    if from < to {
        items[from..=to].rotate_left(1);
    } else {
        items[to..=from].rotate_right(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permutation(places: &[i64]) -> Permutation {
        Permutation::new(places.iter().copied()).unwrap()
    }

    /// All permutations of `0..len`.
    fn all(len: i64) -> Vec<Permutation> {
        let mut lists: Vec<Vec<i64>> = vec![vec![]];
        for number in 0..len {
            lists = lists
                .iter()
                .flat_map(|list| {
                    (0..=list.len()).map(move |at| {
                        let mut list = list.clone();
                        list.insert(at, number);
                        list
                    })
                })
                .collect();
        }
        lists.iter().map(|list| permutation(list)).collect()
    }

    /// XLA: PermutationUtilTest.IsPermutation_TrueCases
    #[test]
    fn permutations_hold_each_number_once() {
        for places in [&[][..], &[0], &[0, 1], &[1, 0], &[3, 1, 0, 2]] {
            assert_eq!(permutation(places).len(), places.len());
        }
        assert!(permutation(&[]).is_empty());
    }

    /// XLA: PermutationUtilTest.IsPermutation_FalseCases
    #[test]
    fn other_lists_are_errors() {
        assert_eq!(
            Permutation::new([-3]),
            Err(ShapeError::PermutationOutOfRange {
                place: 0,
                value: -3,
                len: 1
            })
        );
        assert_eq!(
            Permutation::new([1, 1]),
            Err(ShapeError::PermutationRepeated { place: 1, value: 1 })
        );
        let error = Permutation::new([3, 0, 2]).unwrap_err().to_string();
        assert_eq!(
            error,
            "permutation[0] is 3; expected a number from 0 to 2, each once"
        );
    }

    /// XLA: PermutationUtilTest.IsIdentityPermutation_TrueCases
    #[test]
    fn identities() {
        for len in 0..5 {
            assert!(Permutation::identity(len).is_identity());
            assert!(Permutation::new(0..len as i64).unwrap().is_identity());
        }
    }

    /// XLA: PermutationUtilTest.IsIdentityPermutation_FalseCases
    #[test]
    fn no_identities() {
        for places in [&[1, 0][..], &[0, 2, 1], &[1, 0, 2], &[3, 1, 2, 0]] {
            assert!(!permutation(places).is_identity());
        }
    }

    /// XLA: PermutationUtilTest.PermuteInverse
    /// XLA: PermutationUtilTest.InversePermutation
    #[test]
    fn the_inverse_undoes() {
        let p = permutation(&[2, 3, 0, 4, 1]);
        assert_eq!(p.apply(&[10, 20, 30, 40, 50]), Ok(vec![30, 40, 10, 50, 20]));
        assert_eq!(
            p.apply_inverse(&[10, 20, 30, 40, 50]),
            Ok(vec![30, 50, 10, 20, 40])
        );
        assert_eq!(p.inverse(), permutation(&[2, 4, 0, 1, 3]));
        for len in 0..5 {
            let items: Vec<i64> = (0..len).map(|i| 7 * i).collect();
            for p in all(len) {
                assert_eq!(p.inverse().inverse(), p);
                let there = p.apply(&items).unwrap();
                assert_eq!(p.apply_inverse(&there), Ok(items.clone()));
                assert_eq!(p.inverse().apply(&there), Ok(items.clone()));
            }
        }
        assert_eq!(
            p.apply(&[1, 2]),
            Err(ShapeError::PermutationLength { len: 5, found: 2 })
        );
    }

    /// XLA: PermutationUtilTest.ComposePermutations
    /// XLA: PermutationUtilTest.ComposeAndInversePermutations
    #[test]
    fn composed_is_one_after_the_other() {
        let (p, q) = (permutation(&[3, 0, 2, 1]), permutation(&[1, 2, 3, 0]));
        assert_eq!(p.compose(&q), Ok(permutation(&[0, 2, 1, 3])));
        for len in 0..5 {
            let items: Vec<i64> = (0..len).map(|i| 7 * i).collect();
            for p in all(len) {
                assert!(p.compose(&p.inverse()).unwrap().is_identity());
                assert!(p.inverse().compose(&p).unwrap().is_identity());
                for q in all(len) {
                    let both = p.compose(&q).unwrap();
                    let after = q.apply(&p.apply(&items).unwrap());
                    assert_eq!(both.apply(&items), after);
                }
            }
        }
        assert!(p.compose(&Permutation::identity(3)).is_err());
    }

    /// XLA: PermutationUtilTest.MoveSingleElement
    #[test]
    fn moving_one_element() {
        for (from, to, expected) in [
            (0, 3, [1, 2, 3, 0]),
            (3, 0, [3, 0, 1, 2]),
            (1, 2, [0, 2, 1, 3]),
            (2, 2, [0, 1, 2, 3]),
            (-1, 1, [0, 3, 1, 2]),
        ] {
            let mut list = [0, 1, 2, 3];
            move_element(&mut list, from, to).unwrap();
            assert_eq!(list, expected);
        }
        assert!(move_element(&mut [0, 1], 0, 2).is_err());
        assert!(move_element::<i64>(&mut [], 0, 0).is_err());
    }
}
