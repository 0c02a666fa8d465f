//! Arrays that are split over memories.

use super::ArrayShape;
use crate::dimension::resolve_dimension;
use crate::error::ShapeError;
use crate::layout::SplitConfig;

impl ArrayShape {
    /// Where a dimension is split, if it is.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range.
    #[doc(alias = "GetSplitConfig")]
    pub fn split_config(&self, dimension: i64) -> Result<Option<&SplitConfig>, ShapeError> {
        let dimension = resolve_dimension(dimension, self.rank())?;
        let Some(layout) = &self.layout else {
            return Ok(None);
        };
        let physical = layout.logical_to_physical()[dimension] as i64;
        let mut splits = layout.split_configs().iter();
        Ok(splits.find(|split| split.dimension() == physical))
    }

    /// The size of the largest part of a dimension: its size, where it is not split.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NoSuchDimension`] out of range, [`ShapeError::Unbounded`] without a bound.
    ///
    /// ```
    /// let shape: minormajor_core::Shape = "f32[150,200]{0,1:SC(0:40,130)}".parse()?;
    /// assert_eq!(shape.as_array()?.max_split_size(1)?, 90);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_split_size(&self, dimension: i64) -> Result<i64, ShapeError> {
        let number = resolve_dimension(dimension, self.rank())?;
        let size = self.dimensions[number]
            .bound()
            .ok_or(ShapeError::Unbounded { dimension: number })?;
        let cuts = self
            .split_config(dimension)?
            .map_or(&[][..], SplitConfig::split_indices);
        let ends = cuts.iter().copied().chain([size]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        Ok(ends
            .zip(starts)
            .map(|(end, start)| end - start)
            .max()
            .unwrap_or(size))
    }

    /// The number of elements of the largest part of an array that is split.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Unbounded`] where a dimension has no bound.
    #[doc(alias = "MaxElementsInPerSplit")]
    pub fn max_elements_per_split(&self) -> Result<i64, ShapeError> {
        let sizes: Vec<i64> = (0..self.rank() as i64)
            .map(|dimension| self.max_split_size(dimension))
            .collect::<Result<_, _>>()?;
        match sizes.contains(&0) {
            true => Ok(0),
            // At most the elements, which fit.
            false => Ok(sizes.iter().product()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Shape;

    fn splits(text: &str) -> (Vec<i64>, i64) {
        let shape: Shape = text.parse().unwrap();
        let array = shape.as_array().unwrap();
        let sizes = (0..array.rank() as i64).map(|d| array.max_split_size(d).unwrap());
        (sizes.collect(), array.max_elements_per_split().unwrap())
    }

    /// XLA: LayoutUtilTest.MaxSplitSize
    #[test]
    fn the_largest_part_of_each_dimension() {
        let (sizes, _) = splits("f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}");
        assert_eq!(sizes, [150, 90, 70]);
        let (sizes, _) = splits("f32[150,200,100]{0,1,2}");
        assert_eq!(sizes, [150, 200, 100]);
    }

    /// XLA: LayoutUtilTest.MaxElementsInPerSplit
    #[test]
    fn the_elements_of_the_largest_part() {
        for (text, elements) in [
            ("f32[150,200,100]{0,1,2}", 150 * 200 * 100),
            ("f32[150,200,100]{0,1,2:SC(0:30)}", 150 * 200 * 70),
            ("f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}", 150 * 90 * 70),
            ("f32[0,9]{1,0:SC(1:4)}", 0),
            ("f32[]", 1),
        ] {
            assert_eq!(splits(text).1, elements, "{text}");
        }
    }

    #[test]
    fn bad_dimensions_are_errors() {
        let shape: Shape = "f32[?,4]{0,1:SC(0:1)}".parse().unwrap();
        let array = shape.as_array().unwrap();
        assert!(array.max_split_size(0).is_err() && array.max_elements_per_split().is_err());
        assert_eq!(array.max_split_size(-1), Ok(3));
        assert!(array.split_config(2).is_err());
        assert_eq!(array.split_config(0), Ok(None));
        let split = array.split_config(1).unwrap().unwrap();
        assert_eq!(split.split_indices(), [1]);
    }
}
