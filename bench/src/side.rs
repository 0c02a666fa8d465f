//! One side of a case: an array in a layout, or a strided view of a buffer.

use std::fmt;

use minormajor::{ArrayShape, Layout, Place, Shape, ShapeError, StridedView};

/// Where an array lies. Its text is that of a shape, `f32[5,7]{0,1}`, or that with strides of its
/// own, in bytes: `f32[5,7] from 64 by 4096,4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// In a buffer of its own.
    Array(ArrayShape),
    /// In a part of one. The shape says the type and the sizes.
    View(ArrayShape, StridedView),
}

impl Side {
    /// The side that a text names.
    ///
    /// # Errors
    ///
    /// Where it is no shape's, or its strides aren't those of a view.
    pub fn new(text: &str) -> Result<Side, String> {
        let said = |error: &dyn fmt::Display| format!("{text}: {error}");
        let (shape, view) = match text.split_once(" from ") {
            Some((shape, view)) => (shape, Some(view)),
            None => (text, None),
        };
        let shape: Shape = shape.parse().map_err(|error| said(&error))?;
        let array = shape.as_array().map_err(|error| said(&error))?.clone();
        let Some(view) = view else {
            return Ok(Side::Array(array));
        };
        let numbers = view.split_once(" by ").and_then(|(offset, strides)| {
            let strides = strides.split(',').map(|stride| stride.parse().ok());
            Some((offset.parse().ok()?, strides.collect::<Option<Vec<i64>>>()?))
        });
        let (offset, strides) =
            numbers.ok_or_else(|| said(&"expected `from OFFSET by STRIDE,..`, in bytes"))?;
        let view = StridedView::of_array(&array, &strides, offset).map_err(|error| said(&error))?;
        Ok(Side::View(array.without_layout(), view))
    }

    /// What a plan is made from.
    pub fn place(&self) -> Place<'_> {
        match self {
            Side::Array(array) => array.into(),
            Side::View(_, view) => view.into(),
        }
    }

    /// The type and the sizes.
    pub fn shape(&self) -> &ArrayShape {
        match self {
            Side::Array(array) | Side::View(array, _) => array,
        }
    }

    /// The layout; none of a view.
    pub fn layout(&self) -> Option<&Layout> {
        match self {
            Side::Array(array) => array.layout(),
            Side::View(..) => None,
        }
    }

    /// Bytes of the buffer.
    pub fn buffer_bytes(&self) -> Option<i64> {
        match self {
            Side::Array(array) => array.allocated_bytes(),
            Side::View(_, view) => Some(view.buffer_bytes()),
        }
    }

    /// The same of an array of other sizes, none of them larger: in the same layout, with as much padding, or with the same
    /// strides.
    pub fn resized(&self, sizes: &[i64]) -> Option<Side> {
        match self {
            Side::Array(array) => resized(array, sizes).ok().map(Side::Array),
            Side::View(shape, view) => {
                let array = ArrayShape::new(shape.element_type(), sizes.iter().copied()).ok()?;
                let fewer = view.sizes().iter().zip(sizes).zip(view.strides());
                // What goes backwards begins at its end.
                let before: i64 = fewer
                    .map(|((old, new), stride)| stride.min(&0) * (old - new))
                    .sum();
                let offset = view.offset() + before;
                let view = StridedView::of_array(&array, view.strides(), offset).ok()?;
                Some(Side::View(array.without_layout(), view))
            }
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Array(array) => array.fmt(f),
            Side::View(shape, view) => {
                let strides: Vec<String> = view.strides().iter().map(i64::to_string).collect();
                write!(f, "{shape} from {} by {}", view.offset(), strides.join(","))
            }
        }
    }
}

/// An array of other sizes in the same layout, with as much padding.
fn resized(array: &ArrayShape, sizes: &[i64]) -> Result<ArrayShape, ShapeError> {
    let mut layout = array.require_layout()?.clone();
    if let Some(value) = layout.padding_value() {
        let before = array.dimensions().iter().filter_map(|d| d.bound());
        let padding = layout.padded_dimensions().iter().zip(before);
        let widths = padding.zip(sizes);
        let widths: Vec<i64> = widths
            .map(|((wide, before), now)| wide - before + now)
            .collect();
        if !widths.is_empty() {
            layout = layout.with_padding(widths, value)?;
        }
    }
    ArrayShape::new(array.element_type(), sizes.iter().copied())?.with_layout(layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shapes_or_shapes_with_strides() {
        for (text, bytes) in [
            ("f32[5,7]{0,1}", 140),
            ("f32[5,7] from 64 by 4096,4", 64 + 4 * 4096 + 28),
            ("u8[5,7] from 40 by -10,1", 47),
        ] {
            let side = Side::new(text).unwrap();
            assert_eq!(side.to_string(), text);
            assert_eq!(side.buffer_bytes(), Some(bytes), "{text}");
            assert_eq!(side.shape().sizes().unwrap(), [5, 7]);
        }
        for text in [
            "f32[5",
            "f32[5] from 4",
            "f32[5] from x by 4",
            "f32[5] from 0 by 4,4",
            "f32[5] from 0 by 4;4",
            "u8[5] from 3 by -1",
        ] {
            assert!(Side::new(text).unwrap_err().starts_with(text), "{text}");
        }
    }

    #[test]
    fn smaller_views_begin_where_they_must() {
        for (text, smaller) in [
            ("f32[5,7] from 64 by 4096,4", "f32[3,2] from 64 by 4096,4"),
            ("u8[5,7] from 40 by -10,1", "u8[3,2] from 20 by -10,1"),
            ("u8[5,7]{0,1:PAD(6,9)}", "u8[3,2]{0,1:PAD(4,4)}"),
        ] {
            let side = Side::new(text).unwrap().resized(&[3, 2]).unwrap();
            assert_eq!(side.to_string(), smaller);
        }
    }
}
