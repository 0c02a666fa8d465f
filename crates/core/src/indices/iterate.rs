//! Going through indices.

use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::IndexSpace;

impl IndexSpace {
    /// The indices in their order.
    ///
    /// For loops in which a vector an index costs too much there are
    /// [`for_each`](Self::for_each) and [`Indices::next_index`].
    pub fn iter(&self) -> Indices<'_> {
        Indices {
            space: self,
            index: self.dimensions.iter().map(|steps| steps.base).collect(),
            state: match self.is_empty() {
                true => State::Done,
                false => State::Before,
            },
        }
    }

    /// Calls `visit` with every index in order.
    ///
    /// ```
    /// use minormajor_core::{IndexSpace, Shape};
    ///
    /// let shape: Shape = "f32[2,2]{0,1}".parse()?;
    /// let mut seen = Vec::new();
    /// IndexSpace::new(shape.as_array()?)?.for_each(|index| seen.extend_from_slice(index));
    /// assert_eq!(seen, [0, 0, 1, 0, 0, 1, 1, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ForEachIndexNoStatus")]
    pub fn for_each(&self, mut visit: impl FnMut(&[i64])) {
        let _: Result<(), std::convert::Infallible> = self.try_for_each(|index| {
            visit(index);
            Ok(())
        });
    }

    /// Calls `visit` with every index in order, up to its first error.
    ///
    /// # Errors
    ///
    /// The first error of `visit`.
    #[doc(alias = "ForEachIndexWithStatus")]
    pub fn try_for_each<E>(&self, mut visit: impl FnMut(&[i64]) -> Result<(), E>) -> Result<(), E> {
        let mut indices = self.iter();
        while let Some(index) = indices.next_index() {
            visit(index)?;
        }
        Ok(())
    }
}

/// Indices one after the other: from [`IndexSpace::iter`].
#[derive(Clone, Debug)]
pub struct Indices<'a> {
    space: &'a IndexSpace,
    /// The index that came last.
    index: SmallVec<[i64; 6]>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    Within,
    Done,
}

impl Indices<'_> {
    /// The next index, which may be read until the one after it is asked for.
    pub fn next_index(&mut self) -> Option<&[i64]> {
        let found = match self.state {
            State::Before => true,
            State::Within => self.advance().is_continue(),
            State::Done => false,
        };
        self.state = if found { State::Within } else { State::Done };
        found.then_some(&self.index)
    }

    /// Goes to the next index; breaks behind the last.
    fn advance(&mut self) -> ControlFlow<()> {
        for &dimension in self.space.order.as_slice() {
            let steps = self.space.dimensions[dimension];
            let index = &mut self.index[dimension];
            // The end is at most the size, which fits; the step may be larger than all.
            if steps.step < steps.base + steps.count - *index {
                *index += steps.step;
                return ControlFlow::Continue(());
            }
            *index = steps.base;
        }
        ControlFlow::Break(())
    }
}

impl Iterator for Indices<'_> {
    type Item = Vec<i64>;

    fn next(&mut self) -> Option<Vec<i64>> {
        self.next_index().map(<[i64]>::to_vec)
    }
}
