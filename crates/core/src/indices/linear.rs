//! Indices as single numbers: where an element would lie if nothing were padded or tiled.

use smallvec::SmallVec;

use crate::ArrayShape;
use crate::address::IndexError;
use crate::dimension::resolve_dimension;
use crate::error::ShapeError;

impl ArrayShape {
    /// The place of an element among the elements alone, in the order of the layout: what its
    /// position would be without tiles and padding. [`AddressMap::position`] says where it lies.
    ///
    /// # Errors
    ///
    /// [`IndexError`] for an index that the array does not have, negative numbers included, or
    /// an array without a layout or a size.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "f32[10,20]{0,1:T(8,128)}".parse()?;
    /// let array = shape.as_array()?;
    /// assert_eq!(array.linear_index(&[3, 2])?, 23);
    /// assert_eq!(array.multidimensional_index(23)?, [3, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`AddressMap::position`]: crate::AddressMap::position
    #[doc(alias = "MultidimensionalIndexToLinearIndex")]
    pub fn linear_index(&self, index: &[i64]) -> Result<i64, IndexError> {
        self.check_index(index)?;
        let mut linear = 0;
        for &dimension in self.require_layout()?.minor_to_major().iter().rev() {
            // Below the number of elements, which fits.
            linear = linear * self.dimensions()[dimension].bound().unwrap_or(0) + index[dimension];
        }
        Ok(linear)
    }

    /// The index of the element at a place among the elements alone:
    /// [`linear_index`](Self::linear_index) backwards.
    ///
    /// # Errors
    ///
    /// [`IndexError`] for a place that the array does not have, or an array without a layout or
    /// a size.
    #[doc(alias = "LinearIndexToMultidimensionalIndex")]
    pub fn multidimensional_index(&self, linear: i64) -> Result<Vec<i64>, IndexError> {
        let sizes = self.sizes()?;
        let order = self.require_layout()?.minor_to_major();
        let elements = self.elements().unwrap_or(0);
        if !(0..elements).contains(&linear) {
            return Err(IndexError::Linear {
                index: linear,
                elements,
            });
        }
        let mut index = vec![0; sizes.len()];
        let mut rest = linear;
        for &dimension in order {
            index[dimension] = rest % sizes[dimension];
            rest /= sizes[dimension];
        }
        Ok(index)
    }

    /// How far apart in [`linear_index`](Self::linear_index) two elements lie whose index in a
    /// dimension differs by one.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`], [`ShapeError::NoLayout`], [`ShapeError::Unbounded`], or
    /// [`ShapeError::Overflow`] beyond 63 bits (beside a size of 0).
    #[doc(alias = "GetDimensionStride")]
    pub fn dimension_stride(&self, dimension: i64) -> Result<i64, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        let sizes = self.sizes()?;
        let order = self.require_layout()?.minor_to_major();
        let mut more_minor = order.iter().take_while(|&&other| other != dimension);
        let stride = more_minor.try_fold(1i64, |stride, &other| stride.checked_mul(sizes[other]));
        stride.ok_or(ShapeError::Overflow {
            dimension,
            what: "stride",
        })
    }

    /// Whether the array has an element with this index. Negative numbers are in no array.
    /// (XLA lets them pass.)
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "f32[2,3]".parse()?;
    /// let array = shape.as_array()?;
    /// assert!(array.index_in_bounds(&[1, 2]));
    /// assert!(!array.index_in_bounds(&[1, -1])); // XLA says yes
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "IndexInBounds")]
    pub fn index_in_bounds(&self, index: &[i64]) -> bool {
        self.check_index(index).is_ok()
    }

    /// Makes an index the next one as indices are written, the last dimension changing fastest
    /// whatever the layout; false, and all zeros, behind the last.
    ///
    /// # Errors
    ///
    /// [`IndexError`] for an index that the array does not have.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "f32[2,2]{0,1}".parse()?;
    /// let mut index = [0, 1];
    /// assert!(shape.as_array()?.bump_index(&mut index)?);
    /// assert_eq!(index, [1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "BumpIndices")]
    pub fn bump_index(&self, index: &mut [i64]) -> Result<bool, IndexError> {
        self.check_index(index)?;
        for (size, number) in self.dimensions().iter().zip(index).rev() {
            if Some(*number + 1) < size.bound() {
                *number += 1;
                return Ok(true);
            }
            *number = 0;
        }
        Ok(false)
    }

    fn check_index(&self, index: &[i64]) -> Result<(), IndexError> {
        let sizes: SmallVec<[i64; 6]> = self.sizes()?.into();
        crate::address::check_index(index, &sizes)
    }
}

#[cfg(test)]
mod tests {
    use crate::{ArrayShape, IndexError, IndexSpace, Shape};

    fn array(text: &str) -> ArrayShape {
        let shape: Shape = text.parse().unwrap();
        shape.as_array().unwrap().clone()
    }

    /// XLA: IndexUtilTest.VectorIndexing
    #[test]
    fn vectors() {
        let vector = array("f32[100]");
        for i in [0, 42, 99] {
            assert_eq!(vector.linear_index(&[i]), Ok(i));
            assert_eq!(vector.multidimensional_index(i).unwrap(), [i]);
        }
        assert_eq!(array("f32[]").linear_index(&[]), Ok(0));
        assert_eq!(array("f32[]").multidimensional_index(0), Ok(vec![]));
    }

    /// XLA: IndexUtilTest.MatrixIndexingRowMajor
    /// XLA: IndexUtilTest.MatrixIndexingColumnMajor
    /// XLA: IndexUtilTest.ThreeDArrayIndexing210
    /// XLA: IndexUtilTest.ThreeDArrayIndexing120
    /// XLA: IndexUtilTest.FourDArrayIndexing3210
    #[test]
    fn every_order() {
        for (text, index, linear) in [
            ("f32[10,20]{1,0}", &[3, 2][..], 62),
            ("f32[10,20]{1,0}", &[0, 19], 19),
            ("f32[10,20]{0,1}", &[3, 2], 23),
            ("f32[10,20]{0,1}", &[9, 19], 199),
            ("f32[10,20,30]{2,1,0}", &[1, 2, 3], 663),
            ("f32[10,20,30]{1,2,0}", &[1, 2, 3], 662),
            ("f32[10,20,30,40]{3,2,1,0}", &[1, 2, 3, 4], 26524),
            // Neither tiles nor padding count here.
            ("f32[10,20]{1,0:T(8,128)}", &[3, 2], 62),
            ("f32[10,20]{0,1:PAD(16,20)}", &[3, 2], 23),
        ] {
            let array = array(text);
            assert_eq!(array.linear_index(index), Ok(linear), "{text}");
            assert_eq!(
                array.multidimensional_index(linear).unwrap(),
                index,
                "{text}"
            );
        }
    }

    /// XLA: IndexUtilTest.LinearToMultiToLinear
    #[test]
    fn there_and_back() {
        for text in ["f32[7,3,5]{1,2,0}", "f32[2,1,4,3]{0,3,1,2}", "f32[0,4]"] {
            let array = array(text);
            let in_order = IndexSpace::new(&array).unwrap();
            let mut linear = 0;
            in_order.for_each(|index| {
                assert_eq!(array.linear_index(index), Ok(linear));
                assert_eq!(array.multidimensional_index(linear).unwrap(), index);
                linear += 1;
            });
            assert_eq!(Some(linear), array.elements());
            for beyond in [-1, linear] {
                assert_eq!(
                    array.multidimensional_index(beyond),
                    Err(IndexError::Linear {
                        index: beyond,
                        elements: linear
                    })
                );
            }
        }
    }

    /// XLA: IndexUtilTest.BumpIndices2x2
    #[test]
    fn bumping() {
        for text in ["f32[2,2]{1,0}", "f32[2,2]{0,1}"] {
            let array = array(text);
            let mut index = [0, 0];
            for expected in [[0, 1], [1, 0], [1, 1]] {
                assert_eq!(array.bump_index(&mut index), Ok(true));
                assert_eq!(index, expected);
            }
            assert_eq!(array.bump_index(&mut index), Ok(false));
            assert_eq!(index, [0, 0]);
        }
        assert_eq!(array("f32[]").bump_index(&mut []), Ok(false));
        assert!(array("f32[2]").bump_index(&mut [2]).is_err());
    }

    #[test]
    fn strides_in_elements() {
        let array = array("f32[7,3,5]{1,2,0:T(8,128)}");
        let strides: Vec<_> = (0..3).map(|d| array.dimension_stride(d).unwrap()).collect();
        assert_eq!(strides, [15, 1, 3]);
        assert_eq!(array.dimension_stride(-1), Ok(3));
        assert!(array.dimension_stride(3).is_err());
        assert!(array.without_layout().dimension_stride(0).is_err());
    }

    /// XLA's `IndexInBounds` compares with the size only, so it takes negative numbers. Ours
    /// does not. Rust compares slices as XLA's `CompareIndices` does: the first number that
    /// differs decides.
    #[test]
    fn indices_in_bounds() {
        let array = array("f32[2,3]");
        for (index, xla, ours) in [
            (&[0, 0][..], true, true),
            (&[1, 2], true, true),
            (&[1, 3], false, false),
            (&[1], false, false),
            (&[-1, 0], true, false),
            (&[0, i64::MIN], true, false),
        ] {
            let compares_with_size_only =
                index.len() == 2 && index.iter().zip([2, 3]).all(|(&i, size)| i < size);
            assert_eq!(compares_with_size_only, xla);
            assert_eq!(array.index_in_bounds(index), ours, "{index:?}");
        }
        assert_eq!([1, 2].cmp(&[1, 3]), std::cmp::Ordering::Less);
        assert!(matches!(
            array.linear_index(&[0, -1]),
            Err(IndexError::OutOfRange { dimension: 1, .. })
        ));
    }
}
