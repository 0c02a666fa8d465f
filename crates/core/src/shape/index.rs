//! Paths to the parts of a tuple.

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

/// The path to a subshape: the number of an element of the outermost tuple, then of that
/// element, and so on. The empty path leads to the whole shape.
///
/// Reads as a slice of numbers; functions that follow a path take one.
///
/// ```
/// use minormajor_core::{Shape, ShapeIndex};
///
/// let shape: Shape = "(f32[2], (s8[3], token[]))".parse()?;
/// let index = ShapeIndex::from([1, 0]);
/// assert_eq!((index.to_string(), index.len()), ("{1,0}".to_string(), 2));
/// assert_eq!(shape.subshape(&index)?.to_string(), "s8[3]{0}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeIndex {
    numbers: SmallVec<[usize; 4]>,
}

impl ShapeIndex {
    /// The empty path.
    pub fn root() -> ShapeIndex {
        ShapeIndex::default()
    }

    /// The numbers, outermost first.
    pub fn as_slice(&self) -> &[usize] {
        &self.numbers
    }

    /// Adds a number at the end: the path goes one level deeper.
    pub fn push(&mut self, number: usize) {
        self.numbers.push(number);
    }

    /// Takes the last number off.
    pub fn pop(&mut self) -> Option<usize> {
        self.numbers.pop()
    }

    /// Adds a number at the front: the path within a tuple around.
    pub fn push_front(&mut self, number: usize) {
        self.numbers.insert(0, number);
    }

    /// Takes the first number off: the path within that element.
    pub fn pop_front(&mut self) -> Option<usize> {
        match self.numbers.is_empty() {
            true => None,
            false => Some(self.numbers.remove(0)),
        }
    }

    /// Moves to the next number of the same level.
    pub(crate) fn set_last(&mut self, number: usize) {
        if let Some(last) = self.numbers.last_mut() {
            *last = number;
        }
    }
}

impl Deref for ShapeIndex {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.numbers
    }
}

impl<const N: usize> From<[usize; N]> for ShapeIndex {
    fn from(numbers: [usize; N]) -> Self {
        numbers.into_iter().collect()
    }
}

impl From<&[usize]> for ShapeIndex {
    fn from(numbers: &[usize]) -> Self {
        numbers.iter().copied().collect()
    }
}

impl FromIterator<usize> for ShapeIndex {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        ShapeIndex {
            numbers: numbers.into_iter().collect(),
        }
    }
}

impl fmt::Display for ShapeIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (place, number) in self.numbers.iter().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            write!(f, "{number}")?;
        }
        f.write_str("}")
    }
}
