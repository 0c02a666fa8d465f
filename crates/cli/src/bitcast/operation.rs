//! The operation that the arguments of `bitcast` name.

use minormajor::ArrayShape;
use minormajor::bitcast::{BitcastError, Operation};

use crate::arguments::BitcastOperation;
use crate::error::RequestError;
use crate::request::{integer, integers, leading_space};

/// The operation of the arguments; without one, the operation that the shapes suggest.
pub fn operation(
    arguments: &BitcastOperation,
    operand: &ArrayShape,
    result: &ArrayShape,
) -> Result<Operation, Error> {
    if let Some(text) = &arguments.transpose {
        let dimensions = dimensions(text)?;
        return Ok(Operation::Transpose { dimensions });
    }
    if let Some(text) = &arguments.broadcast {
        let dimensions = dimensions(text)?;
        return Ok(Operation::Broadcast { dimensions });
    }
    if let Some(text) = &arguments.slice {
        return Ok(slice(text)?);
    }
    match arguments {
        BitcastOperation { copy: true, .. } => Ok(Operation::Copy),
        BitcastOperation { reshape: true, .. } => Ok(Operation::Reshape),
        BitcastOperation { convert: true, .. } => Ok(Operation::BitcastConvert),
        _ => Ok(Operation::between(operand, result)?),
    }
}

/// What is wrong: the text of an operation, or what the shapes make of it.
pub enum Error {
    /// The text is no list.
    Text(RequestError),
    /// The shapes are no operand and result.
    Meaning(BitcastError),
}

impl From<RequestError> for Error {
    fn from(error: RequestError) -> Error {
        Error::Text(error)
    }
}

impl From<BitcastError> for Error {
    fn from(error: BitcastError) -> Error {
        Error::Meaning(error)
    }
}

/// The text of the operation's list, if it has one: where an error about it belongs.
pub fn list(arguments: &BitcastOperation) -> Option<&str> {
    let lists = [&arguments.transpose, &arguments.broadcast, &arguments.slice];
    lists.into_iter().flatten().next().map(String::as_str)
}

/// Dimension numbers: `1,0`, or nothing for a scalar.
fn dimensions(text: &str) -> Result<Vec<i64>, RequestError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let numbers = integers(text, 1, "a dimension number such as 1,0")
        .map_err(|(column, error)| RequestError::new(text, column, error))?;
    Ok(numbers.into_iter().map(|(number, _)| number).collect())
}

/// Ranges: `[0:2],[1:9:2]`, with or without brackets, or nothing for a scalar.
fn slice(text: &str) -> Result<Operation, RequestError> {
    let (mut starts, mut limits, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    let mut start = 1;
    for range in text.split(',').filter(|_| !text.trim().is_empty()) {
        let at = |column| move |error: &str| RequestError::new(text, column, error);
        let first = start + leading_space(range);
        let end = start + range.trim_end().chars().count();
        let trimmed = range.trim();
        let (inside, skipped) = match trimmed.strip_prefix('[') {
            None => (trimmed, 0),
            Some(open) => match open.strip_suffix(']') {
                Some(inside) => (inside, 1),
                None => return Err(at(end)("expected `]` behind a range such as [0:2]")),
            },
        };
        let mut numbers = Vec::new();
        let mut column = first + skipped;
        for part in inside.split(':') {
            let place = column + leading_space(part);
            let number = integer(part, place, "a number of a range such as [0:2]")
                .map_err(|(column, error)| RequestError::new(text, column, error))?;
            numbers.push(number);
            column += part.chars().count() + 1;
        }
        match numbers[..] {
            [from, to] => (starts.push(from), limits.push(to), strides.push(1)),
            [from, to, by] => (starts.push(from), limits.push(to), strides.push(by)),
            _ => return Err(at(first)("expected a range such as [0:2] or [1:9:2]")),
        };
        start += range.chars().count() + 1;
    }
    Ok(Operation::Slice {
        starts,
        limits,
        strides,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_ranges() {
        for text in ["[0:2],[1:9:2]", "0:2,1:9:2", " [ 0 : 2 ] , 1:9:2 "] {
            let slice = slice(text).unwrap();
            assert_eq!(slice.to_string(), "slice, slice={[0:2], [1:9:2]}", "{text}");
        }
        assert_eq!(slice("").unwrap().to_string(), "slice, slice={}");
    }

    #[test]
    fn what_is_no_list_has_a_column() {
        for (text, column) in [
            ("[0:2", 5),
            ("[0:2],[1]", 7),
            ("[0:2],[1:x]", 10),
            ("[0:2],", 7),
            ("[0:2:1:1]", 1),
            ("0:", 3),
        ] {
            let error = slice(text).expect_err(text);
            assert_eq!(error.column, Some(column), "{text}: {}", error.error);
        }
        for (text, column) in [("1,x", 3), ("1,", 3), ("1 0", 2)] {
            let error = dimensions(text).expect_err(text);
            assert_eq!(error.column, Some(column), "{text}: {}", error.error);
        }
        assert_eq!(dimensions("1,-2"), Ok(vec![1, -2]));
        assert_eq!(dimensions(" "), Ok(vec![]));
    }
}
