//! Raw bytes: one array in any layout, its shape in a text file beside it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use minormajor_core::plan::ByteOrder;
use minormajor_core::{ArrayShape, Shape};

use super::error::io_error;
use super::{Array, Contents, FileError, Format, Frame, Input, Kind, Refusal};

/// The longest shape text that is read, in bytes.
const MAX_TEXT: u64 = 1 << 20;

pub(super) struct Raw;

impl Format for Raw {
    fn extension(&self) -> &'static str {
        "bin"
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Contents, FileError> {
        let beside = beside(input.path);
        let shape = match (read_shape(&beside)?, input.given) {
            (Some(found), _) => {
                input.check_given(&found)?;
                found
            }
            (None, Some(given)) => given.clone(),
            (None, None) => {
                return Err(FileError::NoShape {
                    path: input.path.to_owned(),
                    beside,
                });
            }
        };
        let view = match input.strides {
            None => {
                input.check_length(&shape, 0)?;
                None
            }
            Some(strides) => {
                let view = strides.view(input.path, &shape)?;
                let (reach, found) = (view.buffer_bytes() as u64, input.length());
                if found < reach {
                    return Err(FileError::ViewLength {
                        path: input.path.to_owned(),
                        reach,
                        found,
                    });
                }
                Some(view)
            }
        };
        Ok(Contents {
            arrays: vec![Array {
                view,
                ..Array::new(input.stem(), shape, input.order.unwrap_or_default(), 0)
            }],
            ..Contents::default()
        })
    }

    fn refuses(&self, array: &Array) -> Option<Refusal> {
        matches!(array.kind, Kind::Opaque { .. }).then_some(Refusal::Type)
    }

    fn frame(&self, path: &Path, contents: &Contents) -> Result<Frame, FileError> {
        let array = &contents.arrays[0];
        // A shape's text has no word for strides and byte orders: it would be read as another array.
        let shape = array
            .in_layout()
            .filter(|_| array.order == ByteOrder::Little);
        let text = shape.map(|shape| format!("{shape}\n").into_bytes());
        Ok(Frame {
            beside: Some((beside(path), text)),
            ..Frame::of_one(Vec::new(), array)
        })
    }
}

/// Where the shape of a raw file stands: `NAME.bin.shape`.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".shape");
    name.into()
}

/// The array's shape that a text file holds; `None` without the file.
fn read_shape(path: &Path) -> Result<Option<ArrayShape>, FileError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(path, "open it")(error)),
    };
    let mut text = String::new();
    file.take(MAX_TEXT)
        .read_to_string(&mut text)
        .map_err(io_error(path, "read the shape in it"))?;
    let shape: Shape = text
        .trim_end()
        .parse()
        .map_err(|source| FileError::ShapeText {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
    match shape.as_array() {
        Ok(array) => Ok(Some(array.clone())),
        Err(source) => Err(FileError::Shape {
            path: path.to_owned(),
            source: Box::new(source),
        }),
    }
}
