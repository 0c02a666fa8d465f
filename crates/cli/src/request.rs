//! Requests in text: shapes and layouts from arguments and lines, with the column of what is
//! wrong.

use minormajor::{AddressMap, ArrayShape, Layout, Shape, ShapeError};

use crate::error::RequestError;

/// The array (or the array in the buffer) that the first `length` bytes of a request name.
pub fn array(request: &str, length: usize) -> Result<ArrayShape, RequestError> {
    let text = &request[..length];
    let shape: Shape = text
        .parse()
        .map_err(|error| RequestError::parse(request, &error))?;
    let array = shape
        .as_array()
        .map_err(|error| RequestError::new(request, leading_space(text) + 1, error))?;
    Ok(array.clone())
}

/// The array that one request names, and the array, or the layout of it, that another does; both
/// with sizes.
pub fn arrays(from: &str, to: &str) -> Result<(ArrayShape, ArrayShape), RequestError> {
    let source = array(from, from.len())?;
    let destination = if to.trim_start().starts_with('{') {
        array_in_layout(&source, to)?
    } else {
        array(to, to.len())?
    };
    for (array, text) in [(&source, from), (&destination, to)] {
        AddressMap::new(array).map_err(|error| without_size(text, &error))?;
    }
    Ok((source, destination))
}

/// The layout that a request names.
pub fn layout(request: &str) -> Result<Layout, RequestError> {
    request
        .parse()
        .map_err(|error| RequestError::parse(request, &error))
}

/// The array in the layout that a request names.
pub fn array_in_layout(array: &ArrayShape, request: &str) -> Result<ArrayShape, RequestError> {
    array.with_layout(layout(request)?).map_err(|error| {
        // Behind the shape's text, the same error has a column.
        let before = Shape::from(array.clone()).without_layout().to_string();
        let column = match format!("{before}{request}").parse::<Shape>() {
            Err(found) => found.column().saturating_sub(before.chars().count()),
            Ok(_) => 1,
        };
        RequestError::new(request, column.max(1), error)
    })
}

/// The error of a valid shape that has no size yet: at its first `?`, comments aside.
pub fn without_size(request: &str, error: &ShapeError) -> RequestError {
    let mut at = 0;
    while let Some(c) = request[at..].chars().next() {
        let rest = &request[at..];
        at += match c {
            '?' => {
                let column = request[..at].chars().count() + 1;
                return RequestError::new(request, column, error);
            }
            '/' if rest.starts_with("/*") => {
                rest[2..].find("*/").map_or(rest.len(), |length| length + 4)
            }
            '/' => rest.find('\n').unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
    }
    RequestError::new(request, leading_space(request) + 1, error)
}

/// Integers with commas between them, each with its column; the text begins at column `start`.
/// Else the column of what is no integer.
pub fn integers(
    text: &str,
    start: usize,
    expected: &str,
) -> Result<Vec<(i64, usize)>, (usize, String)> {
    let mut found = Vec::new();
    let mut start = start;
    for part in text.split(',') {
        let column = start + leading_space(part);
        found.push((integer(part, column, expected)?, column));
        start += part.chars().count() + 1;
    }
    Ok(found)
}

/// The sizes of a list such as `256,256`; spaces may stand around them.
pub fn sizes(text: &str) -> Result<Vec<u64>, RequestError> {
    let expected = "a size such as 256";
    let wrong = |(column, error)| RequestError::new(text, column, error);
    let numbers = integers(text, 1, expected).map_err(wrong)?;
    let size = |(number, column)| match u64::try_from(number) {
        Ok(size @ 1..) => Ok(size),
        _ => Err(wrong((
            column,
            format!("expected {expected}, found {number}"),
        ))),
    };
    numbers.into_iter().map(size).collect()
}

/// The numbers of an index such as `1,2`, or of a scalar's, which is empty; spaces may stand
/// around them. With them the column of each, and of the end.
pub fn index(text: &str) -> Result<(Vec<i64>, Vec<usize>), (usize, String)> {
    let numbers = match text.trim() {
        "" => Vec::new(),
        _ => integers(text, 1, "a number of the index such as 1,2")?,
    };
    let (index, mut columns): (Vec<i64>, Vec<usize>) = numbers.into_iter().unzip();
    columns.push(text.chars().count() + 1);
    Ok((index, columns))
}

/// The integer that a text is, spaces aside; else the column of the first character that is no
/// part of one.
pub fn integer(text: &str, column: usize, expected: &str) -> Result<i64, (usize, String)> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let sign = text.len() - digits.len();
    let good = digits.bytes().take_while(u8::is_ascii_digit).count();
    if digits.len() > good || good == 0 {
        let found = match digits[good..].chars().next() {
            Some(c) => format!("`{}`", c.escape_debug()),
            None => "nothing".to_owned(),
        };
        return Err((
            column + sign + good,
            format!("expected {expected}, found {found}"),
        ));
    }
    text.parse().map_err(|_| {
        let number = crate::error::shown(text, 24);
        (
            column,
            format!("{number} does not fit a 64-bit signed integer"),
        )
    })
}

/// The number of spaces at a text's beginning.
pub fn leading_space(text: &str) -> usize {
    text.chars().take_while(|c| c.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_that_do_not_fit_have_a_column() {
        let shape = array("f32[2,3]", 8).unwrap();
        assert_eq!(
            array_in_layout(&shape, "{0,1}").unwrap().to_string(),
            "f32[2,3]{0,1}"
        );
        for (text, column) in [
            ("", 1),
            ("{0,1", 5),
            ("{0}", 3),
            ("{0,1,2}", 6),
            ("{0,0}", 4),
            ("{0,1:PAD(2,2)}", 12),
            (" {0,1:PAD(2,2)}", 13),
            ("{}", 2),
        ] {
            let error = array_in_layout(&shape, text).expect_err(text);
            assert_eq!(error.column, Some(column), "{text}: {}", error.error);
        }
        let scalar = array("f32[]", 5).unwrap();
        assert_eq!(array_in_layout(&scalar, "{}").unwrap(), scalar);
    }
}
