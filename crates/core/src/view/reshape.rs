//! Reshapes that move nothing.

use smallvec::SmallVec;

use super::{StridedView, ViewError};

impl StridedView {
    /// The view of the same elements, in row-major order, with other sizes; one of them may be -1,
    /// for what is left.
    ///
    /// Each run of dimensions that becomes a run of new ones, and no part of which does, must be
    /// evenly spaced: each stride the next one's times the next one's size.
    ///
    /// # Errors
    ///
    /// [`ViewError::NotAView`] where only a copy has these sizes, with the first two dimensions that
    /// are in the way; [`ViewError::Elements`] for sizes of another number of elements, and
    /// [`ViewError::NegativeSize`].
    ///
    /// ```
    /// use minormajor_core::{ElementType, StridedView};
    ///
    /// // Two of every three columns of a matrix of bytes with four rows.
    /// let view = StridedView::new(ElementType::U8, &[4, 2], &[3, 1], 0)?;
    /// assert_eq!(view.reshape(&[2, -1, 2])?.strides(), [6, 3, 1]);
    /// let error = view.reshape(&[8]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "dimensions 0 and 1 can't become one: a step of dimension 0 is 3 bytes, the 2 steps of \
    ///      dimension 1 are 2"
    /// );
    /// # Ok::<(), minormajor_core::ViewError>(())
    /// ```
    pub fn reshape(&self, sizes: &[i64]) -> Result<StridedView, ViewError> {
        let sizes = self.completed(sizes)?;
        let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(0, sizes.len());
        if self.elements > 0 {
            self.follow(&sizes, &mut strides)?;
        }
        let mut made = self.clone();
        made.sizes = sizes;
        made.strides = strides;
        Ok(made)
    }

    /// The new sizes, without a -1.
    fn completed(&self, sizes: &[i64]) -> Result<SmallVec<[i64; 6]>, ViewError> {
        let wrong = || ViewError::Elements {
            elements: self.elements,
            sizes: sizes.to_vec(),
        };
        let mut product: i64 = 1;
        let mut open = None;
        for (dimension, &size) in sizes.iter().enumerate() {
            match size {
                -1 if open.is_none() => open = Some(dimension),
                ..0 => return Err(ViewError::NegativeSize { dimension, size }),
                _ => product = product.saturating_mul(size),
            }
        }
        let mut made: SmallVec<[i64; 6]> = sizes.into();
        if sizes.contains(&0) {
            product = 0;
        }
        match open {
            Some(open) if product > 0 && self.elements % product == 0 => {
                made[open] = self.elements / product;
            }
            None if product == self.elements => {}
            _ => return Err(wrong()),
        }
        Ok(made)
    }

    /// Finds the strides of the new sizes, which have as many elements, at least one.
    fn follow(&self, sizes: &[i64], strides: &mut [i64]) -> Result<(), ViewError> {
        let mut old = (0..self.sizes.len()).filter(|&d| self.sizes[d] > 1);
        let mut at = 0;
        while let Some(first) = old.next() {
            // Products of some of the sizes: at most the number of elements, until they are equal.
            let (mut from, mut to) = (self.sizes[first], 1);
            let (mut last, start) = (first, at);
            while from != to {
                if to < from {
                    to *= sizes[at];
                    at += 1;
                } else {
                    let next = old.next().expect("as many elements on both sides");
                    from *= self.sizes[next];
                    self.check_joins(last, next)?;
                    last = next;
                }
            }
            let mut stride = i128::from(self.strides[last]);
            for dimension in (start..at).rev() {
                if sizes[dimension] > 1 {
                    // Less than the reach of the run, which is in the buffer.
                    strides[dimension] = stride as i64;
                    stride *= i128::from(sizes[dimension]);
                }
            }
        }
        Ok(())
    }

    fn check_joins(&self, dimension: usize, next: usize) -> Result<(), ViewError> {
        let reach = i128::from(self.strides[next]) * i128::from(self.sizes[next]);
        let stride = self.strides[dimension];
        if i128::from(stride) == reach {
            return Ok(());
        }
        Err(ViewError::NotAView {
            dimension,
            next,
            stride,
            size: self.sizes[next],
            reach,
            packed: self.packed_bits.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType;

    /// Every index of an array of these sizes, in row-major order.
    fn indices(sizes: &[i64]) -> Vec<Vec<i64>> {
        let mut all = vec![vec![]];
        for &size in sizes {
            let longer = |index: Vec<i64>| (0..size).map(move |i| [&index[..], &[i]].concat());
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    fn position(index: &[i64], strides: &[i64], offset: i64) -> i64 {
        offset + index.iter().zip(strides).map(|(i, s)| i * s).sum::<i64>()
    }

    /// The strides that a reshape has if it has any: steps from its first element.
    fn naive(view: &StridedView, sizes: &[i64]) -> Option<Vec<i64>> {
        let old = indices(view.sizes()).into_iter();
        let old: Vec<i64> = old
            .map(|i| position(&i, view.strides(), view.offset()))
            .collect();
        let new = indices(sizes);
        let step = |d: usize| {
            let next = new.iter().position(|index| {
                index
                    .iter()
                    .enumerate()
                    .all(|(e, &i)| i == i64::from(e == d))
            });
            next.map_or(0, |next| old[next] - old[0])
        };
        let strides: Vec<i64> = (0..sizes.len()).map(step).collect();
        let holds = |(index, &at): (&Vec<i64>, &i64)| position(index, &strides, old[0]) == at;
        new.iter().zip(&old).all(holds).then_some(strides)
    }

    #[test]
    fn reshapes_are_views_exactly_where_strides_exist() {
        let shapes: [&[i64]; 14] = [
            &[],
            &[1],
            &[12],
            &[1, 12],
            &[3, 4],
            &[4, 3],
            &[2, 6],
            &[6, 1, 2],
            &[2, 3, 2],
            &[3, 2, 2],
            &[2, 2, 3],
            &[1, 1],
            &[2, 1, 6, 1],
            &[12, 1],
        ];
        let steps = [-6, -2, -1, 0, 1, 2, 3, 4, 6];
        let (mut views, mut copies) = (0, 0);
        for from in shapes {
            let mut all = vec![vec![]];
            for _ in from {
                let longer = |strides: Vec<i64>| steps.map(|s| [&strides[..], &[s]].concat());
                all = all.into_iter().flat_map(longer).collect::<Vec<_>>();
            }
            for strides in all.iter().step_by(1 + all.len() / 500) {
                let view = StridedView::new(ElementType::U8, from, strides, 100).unwrap();
                for to in shapes {
                    if from.iter().product::<i64>() != to.iter().product() {
                        continue;
                    }
                    let expected = naive(&view, to);
                    match view.reshape(to) {
                        Ok(made) => {
                            assert_eq!(
                                Some(made.strides()),
                                expected.as_deref(),
                                "{view:?} {to:?}"
                            );
                            views += 1;
                        }
                        Err(ViewError::NotAView { .. }) => {
                            assert_eq!(expected, None, "{view:?} {to:?}");
                            copies += 1;
                        }
                        Err(other) => panic!("{view:?} {to:?}: {other}"),
                    }
                }
            }
        }
        assert!(views > 1000 && copies > 1000, "{views} {copies}");
    }

    #[test]
    fn sizes_of_other_elements_are_refused() {
        let view = StridedView::new(ElementType::F32, &[2, 3], &[12, 4], 0).unwrap();
        assert_eq!(view.reshape(&[-1]).unwrap().sizes(), [6]);
        for sizes in [&[5][..], &[0, -1], &[4, -1], &[], &[i64::MAX, i64::MAX]] {
            let error = view.reshape(sizes).unwrap_err();
            assert!(
                matches!(error, ViewError::Elements { elements: 6, .. }),
                "{sizes:?}"
            );
        }
        for sizes in [&[-2, 3][..], &[-1, -1]] {
            let error = view.reshape(sizes).unwrap_err();
            assert!(matches!(error, ViewError::NegativeSize { .. }), "{sizes:?}");
        }
        let empty = StridedView::new(ElementType::F32, &[0, 3], &[12, 4], 0).unwrap();
        assert_eq!(empty.reshape(&[5, 0]).unwrap().sizes(), [5, 0]);
        assert!(empty.reshape(&[0, -1]).is_err());
    }
}
