//! The two sides of a relayout, as arguments say them: arrays in layouts, or strided parts of a
//! buffer.

use std::fmt;

use minormajor::plan::{ByteOrder, ByteOrders};
use minormajor::{ArrayShape, Place, Plan, StridedView};

use crate::arguments::{Endians, Strides};
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

    fn strided(self, strides: Option<&str>, offset: i64) -> Result<Side, RequestError> {
        match (self, strides) {
            (Side::Array(shape), Some(text)) => {
                let view = StridedView::of_array(&shape, &parse_strides(text)?, offset)
                    .map_err(|error| RequestError::new(text, 1, error))?;
                Ok(Side::Strided(shape.without_layout(), view))
            }
            (side, _) => Ok(side),
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

/// Both sides of a relayout.
pub struct Sides {
    pub source: Side,
    pub destination: Side,
    orders: ByteOrders,
}

impl Sides {
    /// The array that one text names, and the array, or the layout of it, that another does.
    pub fn new(from: &str, to: &str, endians: &Endians) -> Result<Sides, RequestError> {
        let (source, destination) = request::arrays(from, to)?;
        Ok(Sides {
            source: Side::Array(source),
            destination: Side::Array(destination),
            orders: endians.orders(),
        })
    }

    /// The same arrays with strides of their own.
    pub fn with_strides(self, strides: &Strides) -> Result<Sides, RequestError> {
        let (from, to) = (&strides.src_strides, &strides.dst_strides);
        Ok(Sides {
            source: self.source.strided(from.as_deref(), strides.src_offset)?,
            destination: self
                .destination
                .strided(to.as_deref(), strides.dst_offset)?,
            ..self
        })
    }

    /// The plan from one to the other, which converts the elements where the types say so. `to` is
    /// the destination's text.
    pub fn plan(&self, to: &str) -> Result<Plan, RequestError> {
        Plan::converting(self.source.place(), self.destination.place(), self.orders)
            .map_err(|error| RequestError::new(to, 1, error))
    }

    /// How people are shown the source.
    pub fn source_text(&self) -> String {
        described(self.orders.source, &self.source)
    }

    /// How people are shown the destination.
    pub fn destination_text(&self) -> String {
        described(self.orders.destination, &self.destination)
    }
}

/// An array with its byte order, if that is not the usual one.
pub fn described(order: ByteOrder, array: &impl fmt::Display) -> String {
    match order {
        ByteOrder::Little => array.to_string(),
        ByteOrder::Big => format!("big-endian {array}"),
    }
}

/// Strides, one a dimension: `40,4`.
pub fn parse_strides(text: &str) -> Result<Vec<i64>, RequestError> {
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
                format!("expected a whole number, found `{part}`"),
            )
        })?;
        strides.push(stride);
        column += part.chars().count() + 1;
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use super::parse_strides;

    #[test]
    fn strides_that_are_no_numbers_have_a_column() {
        assert_eq!(parse_strides("40,4").unwrap(), [40, 4]);
        assert_eq!(parse_strides("-8, 0").unwrap(), [-8, 0]);
        assert!(parse_strides("").unwrap().is_empty());
        for (text, column) in [
            ("40,x", 4),
            ("40,,4", 4),
            (",", 1),
            ("1.5", 1),
            ("99999999999999999999", 1),
        ] {
            assert_eq!(
                parse_strides(text).unwrap_err().column,
                Some(column),
                "{text}"
            );
        }
    }
}
