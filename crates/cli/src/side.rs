//! The two sides of a relayout, as arguments say them: arrays in layouts, or strided parts of a
//! buffer.

use std::fmt;

use minormajor::{ArrayShape, Place, StridedView};

use crate::arguments::Strides;
use crate::error::RequestError;
use crate::request;

/// Where an array lies.
pub enum Side {
    /// In a buffer, in its layout.
    Array(ArrayShape),
    /// With strides of its own; its shape has no layout.
    Strided(ArrayShape, StridedView),
}

impl Side {
    /// What a plan is made from.
    pub fn place(&self) -> Place<'_> {
        match self {
            Side::Array(shape) => shape.into(),
            Side::Strided(_, view) => view.into(),
        }
    }

    fn new(shape: ArrayShape, strides: Option<&str>, offset: i64) -> Result<Side, RequestError> {
        match strides {
            None => Ok(Side::Array(shape)),
            Some(strides) => {
                let view = view(&shape, strides, offset)?;
                Ok(Side::Strided(shape.without_layout(), view))
            }
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Array(shape) => shape.fmt(f),
            Side::Strided(shape, view) => {
                let strides = view.strides();
                let unit = match view.packed_bits() {
                    Some(_) => "element",
                    None => "byte",
                };
                let strides: Vec<String> = strides.iter().map(i64::to_string).collect();
                write!(
                    f,
                    "{shape} from {unit} {}, strides of {} {unit}s",
                    view.offset(),
                    strides.join(",")
                )
            }
        }
    }
}

/// The array that one text names, and the array, or the layout of it, that another does.
pub fn sides(from: &str, to: &str, strides: &Strides) -> Result<(Side, Side), RequestError> {
    let (source, destination) = request::arrays(from, to)?;
    Ok((
        Side::new(source, strides.src_strides.as_deref(), strides.src_offset)?,
        Side::new(
            destination,
            strides.dst_strides.as_deref(),
            strides.dst_offset,
        )?,
    ))
}

/// Strides in bytes, one a dimension: `40,4`.
pub fn byte_strides(text: &str) -> Result<Vec<i64>, RequestError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut column = 1;
    let mut strides = Vec::new();
    for part in text.split(',') {
        let stride = part.trim().parse().map_err(|_| {
            RequestError::new(
                text,
                column,
                format!("expected a number of bytes, found `{part}`"),
            )
        })?;
        strides.push(stride);
        column += part.chars().count() + 1;
    }
    Ok(strides)
}

fn view(shape: &ArrayShape, strides: &str, offset: i64) -> Result<StridedView, RequestError> {
    let refused = |error: &dyn ToString| RequestError::new(strides, 1, error.to_string());
    let sizes = shape.sizes().map_err(|error| refused(&error))?;
    let element_type = shape.element_type();
    let strides_of = byte_strides(strides)?;
    // E(bits) of a packed layout: then strides count elements.
    let view = match shape.element_bits() {
        bits if element_type.packs_in(bits) => {
            StridedView::packed(element_type, bits as u32, &sizes, &strides_of, offset)
        }
        _ => StridedView::new(element_type, &sizes, &strides_of, offset),
    };
    view.map_err(|error| refused(&error))
}

#[cfg(test)]
mod tests {
    use super::byte_strides;

    #[test]
    fn strides_that_are_no_numbers_have_a_column() {
        assert_eq!(byte_strides("40,4").unwrap(), [40, 4]);
        assert_eq!(byte_strides("-8, 0").unwrap(), [-8, 0]);
        assert!(byte_strides("").unwrap().is_empty());
        for (text, column) in [
            ("40,x", 4),
            ("40,,4", 4),
            (",", 1),
            ("1.5", 1),
            ("99999999999999999999", 1),
        ] {
            assert_eq!(
                byte_strides(text).unwrap_err().column,
                Some(column),
                "{text}"
            );
        }
    }
}
