//! Windows that slide over an array: of convolutions, reductions and the like.

use std::fmt;

use smallvec::SmallVec;

use crate::padding_config::{WindowError, at_least};

/// A window of some size in each dimension, and how it moves; XLA's `Window`.
///
/// Prints as in HLO: `size=3x3 stride=2x2 pad=0_1x0_1`, what is at its default left out.
///
/// ```
/// use minormajor_core::{Window, WindowDimension};
///
/// let mut window = Window::new([3, 3])?;
/// assert_eq!(window.to_string(), "size=3x3");
/// let dimension = WindowDimension { stride: 2, padding_high: 1, ..WindowDimension::of_size(3) };
/// window = Window::from_dimensions([dimension, WindowDimension::of_size(3)])?;
/// assert_eq!(window.to_string(), "size=3x3 stride=2x1 pad=0_1x0_0");
/// # Ok::<(), minormajor_core::WindowError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Window {
    dimensions: SmallVec<[WindowDimension; 4]>,
}

/// A window in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowDimension {
    /// Elements of the window.
    pub size: i64,
    /// How far it moves at a time; at least 1.
    pub stride: i64,
    /// Padding before the first element of the array; below 0, elements are cut off.
    pub padding_low: i64,
    /// Padding behind the last element of the array; below 0, elements are cut off.
    pub padding_high: i64,
    /// How far apart the window's elements lie; at least 1.
    pub window_dilation: i64,
    /// How far apart the array's elements lie, padding between them; at least 1.
    pub base_dilation: i64,
    /// Whether the window's elements are taken backwards.
    pub window_reversal: bool,
}

impl WindowDimension {
    /// A window of this size that moves by 1, without padding or dilation.
    pub const fn of_size(size: i64) -> WindowDimension {
        WindowDimension {
            size,
            stride: 1,
            padding_low: 0,
            padding_high: 0,
            window_dilation: 1,
            base_dilation: 1,
            window_reversal: false,
        }
    }

    /// Whether it changes nothing: one element, moved by 1, without padding or dilation.
    #[doc(alias = "IsTrivialWindowDimension")]
    pub fn is_trivial(&self) -> bool {
        let one = WindowDimension::of_size(1);
        WindowDimension {
            window_reversal: false,
            ..*self
        } == one
    }

    /// How many places the window takes in a dimension of this size: `None` beyond 63 bits.
    ///
    /// ```
    /// use minormajor_core::WindowDimension;
    ///
    /// let window = WindowDimension { stride: 2, padding_low: 1, ..WindowDimension::of_size(3) };
    /// assert_eq!(window.places(8), Some(4));
    /// ```
    pub fn places(&self, size: i64) -> Option<i64> {
        let padding = self.padding_low.checked_add(self.padding_high)?;
        let base = dilated_bound(size, self.base_dilation)?.checked_add(padding)?;
        let window = dilated_bound(self.size, self.window_dilation)?;
        Some(strided_bound(base.max(0), window, self.stride))
    }
}

impl fmt::Display for WindowDimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(size={}", self.size)?;
        for (name, value, default) in [
            ("stride", self.stride, 1),
            ("padding_low", self.padding_low, 0),
            ("padding_high", self.padding_high, 0),
            ("base_dilation", self.base_dilation, 1),
            ("window_dilation", self.window_dilation, 1),
        ] {
            if value != default {
                write!(f, ",{name}={value}")?;
            }
        }
        f.write_str(if self.window_reversal {
            ",window_reversal)"
        } else {
            ")"
        })
    }
}

impl Window {
    /// A window of these sizes that moves by 1, without padding or dilation.
    ///
    /// # Errors
    ///
    /// [`WindowError::Value`] for a size below 0.
    #[doc(alias = "MakeWindow")]
    pub fn new(sizes: impl IntoIterator<Item = i64>) -> Result<Window, WindowError> {
        Window::from_dimensions(sizes.into_iter().map(WindowDimension::of_size))
    }

    /// A window of these sizes that moves by these strides.
    ///
    /// # Errors
    ///
    /// [`WindowError::Rank`] unless there are as many strides as sizes, [`WindowError::Value`]
    /// for a size below 0 or a stride below 1.
    #[doc(alias = "MakeWindow")]
    pub fn with_strides(sizes: &[i64], strides: &[i64]) -> Result<Window, WindowError> {
        if sizes.len() != strides.len() {
            return Err(WindowError::Rank {
                what: "strides",
                found: strides.len(),
                rank: sizes.len(),
            });
        }
        let dimensions = sizes.iter().zip(strides);
        Window::from_dimensions(dimensions.map(|(&size, &stride)| WindowDimension {
            stride,
            ..WindowDimension::of_size(size)
        }))
    }

    /// A window of these dimensions.
    ///
    /// # Errors
    ///
    /// [`WindowError::Value`] for a size below 0, or a stride or dilation below 1.
    pub fn from_dimensions(
        dimensions: impl IntoIterator<Item = WindowDimension>,
    ) -> Result<Window, WindowError> {
        let dimensions: SmallVec<[WindowDimension; 4]> = dimensions.into_iter().collect();
        for (number, dimension) in dimensions.iter().enumerate() {
            at_least(number, "window size", dimension.size, 0)?;
            at_least(number, "stride", dimension.stride, 1)?;
            at_least(number, "window dilation", dimension.window_dilation, 1)?;
            at_least(number, "base dilation", dimension.base_dilation, 1)?;
        }
        Ok(Window { dimensions })
    }

    /// The window in each dimension.
    pub fn dimensions(&self) -> &[WindowDimension] {
        &self.dimensions
    }

    /// Whether it moves by more than 1 somewhere.
    pub fn has_stride(&self) -> bool {
        self.dimensions.iter().any(|d| d.stride != 1)
    }

    /// Whether the array is padded, or cut, at some edge.
    pub fn has_padding(&self) -> bool {
        let padded = |d: &WindowDimension| (d.padding_low, d.padding_high) != (0, 0);
        self.dimensions.iter().any(padded)
    }

    /// Whether each dimension is padded alike at both edges.
    pub fn has_symmetric_padding(&self) -> bool {
        self.dimensions
            .iter()
            .all(|d| d.padding_low == d.padding_high)
    }

    /// Whether the array is cut at some edge.
    pub fn has_negative_padding(&self) -> bool {
        self.dimensions
            .iter()
            .any(|d| d.padding_low < 0 || d.padding_high < 0)
    }

    /// Whether the array is dilated somewhere.
    pub fn has_base_dilation(&self) -> bool {
        self.dimensions.iter().any(|d| d.base_dilation != 1)
    }

    /// Whether the window is dilated somewhere.
    pub fn has_window_dilation(&self) -> bool {
        self.dimensions.iter().any(|d| d.window_dilation != 1)
    }

    /// Whether array or window is dilated somewhere.
    pub fn has_dilation(&self) -> bool {
        self.has_base_dilation() || self.has_window_dilation()
    }

    /// Whether the window is taken backwards somewhere.
    pub fn has_window_reversal(&self) -> bool {
        self.dimensions.iter().any(|d| d.window_reversal)
    }

    /// Whether the window is taken backwards in all dimensions, or in none.
    pub fn all_or_none_reversed(&self) -> bool {
        let mut pairs = self.dimensions.windows(2);
        pairs.all(|pair| pair[0].window_reversal == pair[1].window_reversal)
    }

    /// Whether two places of the window share elements of the array, dilation aside: it moves by
    /// less than its size.
    pub fn has_overlapping_window(&self) -> bool {
        self.dimensions.iter().any(|d| d.size > d.stride)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut field = |shown: bool, name: &str, value: fn(&WindowDimension) -> String| {
            if !shown {
                return Ok(());
            }
            let values: Vec<String> = self.dimensions.iter().map(value).collect();
            write!(f, "{name}={}", values.join("x"))
        };
        field(!self.dimensions.is_empty(), "size", |d| d.size.to_string())?;
        field(self.has_stride(), " stride", |d| d.stride.to_string())?;
        field(self.has_padding(), " pad", |d| {
            format!("{}_{}", d.padding_low, d.padding_high)
        })?;
        field(self.has_base_dilation(), " lhs_dilate", |d| {
            d.base_dilation.to_string()
        })?;
        field(self.has_window_dilation(), " rhs_dilate", |d| {
            d.window_dilation.to_string()
        })?;
        field(self.has_window_reversal(), " rhs_reversal", |d| {
            u8::from(d.window_reversal).to_string()
        })
    }
}

/// The size of a dimension whose elements are moved `dilation` apart, padding between them:
/// `(bound - 1) * dilation + 1`, and 0 of nothing. `None` beyond 63 bits, and for a bound below 0
/// or a dilation below 1.
///
/// ```
/// assert_eq!(minormajor_core::dilated_bound(3, 4), Some(9));
/// assert_eq!(minormajor_core::dilated_bound(0, 4), Some(0));
/// ```
pub fn dilated_bound(bound: i64, dilation: i64) -> Option<i64> {
    match (bound, dilation) {
        (..0, _) | (_, ..1) => None,
        (0, _) => Some(0),
        _ => (bound - 1).checked_mul(dilation)?.checked_add(1),
    }
}

/// How many places a window has in a dimension of size `bound` when it moves by `stride`, at
/// least 1, and stays inside: none, where it is larger or there is nothing to move over.
///
/// ```
/// assert_eq!(minormajor_core::strided_bound(10, 3, 2), 4);
/// assert_eq!(minormajor_core::strided_bound(2, 3, 1), 0);
/// ```
pub fn strided_bound(bound: i64, window: i64, stride: i64) -> i64 {
    match bound <= 0 || window < 0 || window > bound {
        true => 0,
        false => (bound - window) / stride.max(1) + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XLA: WindowUtilTest.HasOverlappingWindowTest
    #[test]
    fn overlapping_windows() {
        assert!(!Window::new([1, 1]).unwrap().has_overlapping_window());
        assert!(Window::new([2, 2, 2, 2]).unwrap().has_overlapping_window());
        let apart = Window::with_strides(&[2, 3], &[2, 4]).unwrap();
        assert!(!apart.has_overlapping_window());
    }

    /// XLA: WindowUtilTest.MakeWindowStrideTest
    #[test]
    fn strides() {
        let window = Window::with_strides(&[1, 2], &[3, 4]).unwrap();
        let found: Vec<_> = window
            .dimensions()
            .iter()
            .map(|d| (d.size, d.stride))
            .collect();
        assert_eq!(found, [(1, 3), (2, 4)]);
        assert!(window.has_stride() && !window.has_padding());
        assert!(Window::with_strides(&[1, 2], &[3]).is_err());
        assert!(Window::with_strides(&[1], &[0]).is_err());
        assert!(Window::new([-1]).is_err());
    }

    #[test]
    fn text_and_questions() {
        let one = WindowDimension::of_size(3);
        assert!(!one.is_trivial() && WindowDimension::of_size(1).is_trivial());
        assert_eq!(one.to_string(), "(size=3)");
        let other = WindowDimension {
            size: 3,
            stride: 2,
            padding_low: -1,
            padding_high: 4,
            window_dilation: 5,
            base_dilation: 6,
            window_reversal: true,
        };
        assert_eq!(
            other.to_string(),
            "(size=3,stride=2,padding_low=-1,padding_high=4,base_dilation=6,window_dilation=5,\
             window_reversal)"
        );
        let window = Window::from_dimensions([one, other]).unwrap();
        assert_eq!(
            window.to_string(),
            "size=3x3 stride=1x2 pad=0_0x-1_4 lhs_dilate=1x6 rhs_dilate=1x5 rhs_reversal=0x1"
        );
        assert!(window.has_negative_padding() && !window.has_symmetric_padding());
        assert!(window.has_dilation() && window.has_window_reversal());
        assert!(!window.all_or_none_reversed());
        assert!(Window::default().all_or_none_reversed());
        assert_eq!(Window::default().to_string(), "");
    }

    #[test]
    fn bounds_count_what_is_there() {
        for size in 0..9 {
            for dilation in 1..4 {
                let places: Vec<i64> = (0..size).map(|i| i * dilation).collect();
                let expected = places.last().map_or(0, |last| last + 1);
                assert_eq!(dilated_bound(size, dilation), Some(expected));
            }
            for window in 1..5 {
                for stride in 1..4 {
                    let starts = (0..size).step_by(stride as usize);
                    let inside = starts.filter(|start| start + window <= size).count();
                    assert_eq!(strided_bound(size, window, stride), inside as i64);
                }
            }
        }
        assert_eq!(dilated_bound(i64::MAX, 2), None);
        assert_eq!(dilated_bound(-1, 1), None);
        assert_eq!(strided_bound(-5, 1, 1), 0);
    }
}
