//! `index`: from an element's index to its position and byte, and back.

use std::fmt;
use std::io::{self, Write};

use minormajor::{AddressMap, ArrayShape, IndexError, Location};
use serde::Serialize;

use crate::arguments::Index;
use crate::batch;
use crate::error::{Outcome, RequestError, Stop};
use crate::output::Output;
use crate::request::{self, integer, leading_space};

/// Answers the request of the arguments; `-` stands for the lines of standard input.
pub fn run(arguments: &Index, output: &mut Output) -> Result<Outcome, Stop> {
    if arguments.shape == "-" {
        if arguments.index.is_some() || arguments.position.is_some() {
            let cause =
                "requests come from standard input; expected no index or position beside it";
            return Err(Stop::new("index -", cause));
        }
        return batch::answer_stdin(output, |line, output| {
            Ok(match answer(line) {
                Ok(answer) => {
                    serde_json::to_writer(output, &answer)?;
                    Ok(())
                }
                Err(error) => Err(error),
            })
        });
    }
    // The same request as a line of batch mode, so that columns mean the same.
    let line = match (&arguments.index, &arguments.position) {
        (Some(index), _) => format!("{}\t{index}", arguments.shape),
        (None, Some(position)) => format!("{}\t@{position}", arguments.shape),
        (None, None) => arguments.shape.clone(),
    };
    match answer(&line) {
        Ok(answer) if arguments.json => {
            serde_json::to_writer(&mut *output, &answer).map_err(io::Error::from)?;
            output.write_all(b"\n")?;
        }
        Ok(answer) => writeln!(output, "{answer}")?,
        Err(error) => {
            if arguments.json {
                error.write(output)?;
            }
            return Err(error.into());
        }
    }
    Ok(Outcome::Done)
}

/// Where an element lies, or what lies at a position.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Answer {
    /// Absent at a position in padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Vec<i64>>,
    position: i64,
    byte_offset: i64,
    /// Bits behind the byte offset, where elements are packed.
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_offset: Option<i64>,
    /// Whether the position is in padding; not said of an element.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    padding: bool,
    /// The element whose row or tile padding pads.
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<Vec<i64>>,
    /// What an element and the padding around it share.
    #[serde(skip)]
    unit: &'static str,
}

/// Answers a request: a shape, a tab, then `1,2`, nothing for a scalar, or `@5` for a position.
fn answer(line: &str) -> Result<Answer, RequestError> {
    let (shape_text, wanted) = match line.split_once('\t') {
        Some((shape, wanted)) => (shape, Some(wanted)),
        None => (line, None),
    };
    let array = &request::array(line, shape_text.len())?;
    let map = AddressMap::new(array).map_err(|error| request::without_size(line, &error))?;
    let start = match wanted {
        Some(_) => shape_text.chars().count() + 1,
        None => shape_text.chars().count(),
    };
    let wanted = Wanted::read(wanted.unwrap_or(""))
        .map_err(|(column, error)| RequestError::new(line, start + column, error))?;
    match wanted {
        Wanted::Position { position, column } => {
            let location = map
                .location(position)
                .map_err(|error| RequestError::new(line, start + column, error))?;
            Ok(Answer::new(array, position, location))
        }
        Wanted::Index { index, columns } => {
            let position = map.position(&index).map_err(|error| {
                let place = match error {
                    IndexError::OutOfRange { dimension, .. } => dimension,
                    // The first number too many; the end where some are missing.
                    _ => map.sizes().len().min(index.len()),
                };
                RequestError::new(line, start + columns[place], error)
            })?;
            Ok(Answer::new(array, position, Location::Element(index)))
        }
    }
}

impl Answer {
    fn new(array: &ArrayShape, position: i64, location: Location) -> Answer {
        let bits = i128::from(position) * i128::from(array.element_bits());
        let packed = array.element_bits() % 8 != 0;
        let (index, padding, nearest) = match location {
            Location::Element(index) => (Some(index), false, None),
            Location::Padding { nearest } => (None, true, nearest),
        };
        let tiled = array
            .layout()
            .is_some_and(|layout| !layout.tiles().is_empty());
        Answer {
            index,
            position,
            // Below the allocated bytes, which fit.
            byte_offset: (bits / 8) as i64,
            bit_offset: packed.then_some((bits % 8) as i64),
            padding,
            nearest,
            unit: if tiled { "tile" } else { "row" },
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = Place(self);
        match (&self.index, &self.nearest) {
            (Some(index), _) if index.is_empty() => write!(f, "the scalar is at {place}"),
            (Some(index), _) => write!(f, "element {index:?} is at {place}"),
            (None, Some(nearest)) => {
                write!(
                    f,
                    "{place} is padding: it pads the {} of element {nearest:?}",
                    self.unit
                )
            }
            (None, None) => write!(f, "{place} is padding: the array has no elements"),
        }
    }
}

/// A position and where it begins in memory.
struct Place<'a>(&'a Answer);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "position {}, byte {}",
            self.0.position, self.0.byte_offset
        )?;
        match self.0.bit_offset {
            Some(bit) => write!(f, ", bit {bit}"),
            None => Ok(()),
        }
    }
}

/// What stands behind the shape. Columns are 1-based and count from its beginning.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Position {
        position: i64,
        column: usize,
    },
    Index {
        index: Vec<i64>,
        /// Of each number, and of the end.
        columns: Vec<usize>,
    },
}

impl Wanted {
    /// Reads `1,2`, nothing, or `@5`; spaces may stand around numbers.
    fn read(text: &str) -> Result<Wanted, (usize, String)> {
        let column = leading_space(text) + 1;
        let trimmed = text.trim();
        if let Some(number) = trimmed.strip_prefix('@') {
            let column = column + 1 + leading_space(number);
            let position = integer(number, column, "a position")?;
            return Ok(Wanted::Position { position, column });
        }
        let (index, columns) = request::index(text)?;
        Ok(Wanted::Index { index, columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(line: &str) -> String {
        match answer(line) {
            Ok(answer) => serde_json::to_string(&answer).unwrap(),
            Err(error) => panic!("{line}: {error:?}"),
        }
    }

    #[test]
    fn both_ways() {
        assert_eq!(
            json("f32[2,3]{0,1:PAD(3,5)}\t1,2"),
            r#"{"index":[1,2],"position":7,"byte_offset":28}"#
        );
        assert_eq!(
            json("f32[2,3]{0,1:PAD(3,5)}\t@7"),
            r#"{"index":[1,2],"position":7,"byte_offset":28}"#
        );
        assert_eq!(
            json("f32[2,3]{0,1:PAD(3,5)}\t@2"),
            r#"{"position":2,"byte_offset":8,"padding":true,"nearest":[1,0]}"#
        );
        assert_eq!(
            json("f32[]\t"),
            r#"{"index":[],"position":0,"byte_offset":0}"#
        );
        assert_eq!(
            json("f32[]"),
            r#"{"index":[],"position":0,"byte_offset":0}"#
        );
        assert_eq!(
            json("s4[5]{0:E(4)}\t 3 "),
            r#"{"index":[3],"position":3,"byte_offset":1,"bit_offset":4}"#
        );
        assert_eq!(
            json("b(f32[0,3]{1,0:PAD(2,3)})\t@1"),
            r#"{"position":1,"byte_offset":4,"padding":true}"#
        );
    }

    #[test]
    fn columns_point_at_the_fault_in_the_whole_line() {
        for (line, column) in [
            ("", 1),
            ("f32[2,3", 8),
            ("f32[2,3\t1,2", 8),
            ("f32[2,3]", 9),
            ("f32[2,3]\t", 10),
            ("f32[2,3]\t1", 11),
            ("f32[2,3]\t1,2,0", 14),
            ("f32[2,3]\t1,3", 12),
            ("f32[2,3]\t 1, 3", 14),
            ("f32[2,3]\t-1,2", 10),
            ("f32[2,3]\t1,,2", 12),
            ("f32[2,3]\t1,", 12),
            ("f32[2,3]\t1,x", 12),
            ("f32[2,3]\t1,2x", 13),
            ("f32[2,3]\t1,-", 13),
            ("f32[2,3]\t@6", 11),
            ("f32[2,3]\t@-1", 11),
            ("f32[2,3]\t@", 11),
            ("f32[2,3]\t@9223372036854775808", 11),
            ("f32[2,3]\t9223372036854775808,0", 10),
            ("(f32[2])\t0", 1),
            ("token[]\t", 1),
            ("f32[2,?]\t0,0", 7),
            ("f32[/*?*/2,?]\t0,0", 12),
        ] {
            let error = answer(line).expect_err(line);
            assert_eq!(error.column, Some(column), "{line:?}: {}", error.error);
            assert_eq!(error.input, line);
        }
    }
}
