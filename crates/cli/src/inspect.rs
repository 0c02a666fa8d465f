//! `inspect`: what arrays files hold.

use std::io::{self, Write};

use minormajor::files::{FileInfo, inspect};
use minormajor::plan::ByteOrder;
use serde::Serialize;

use crate::arguments::Inspect;
use crate::error::{Outcome, RequestError, Stop};
use crate::output::Output;
use crate::side::described;

/// Says what every file of the arguments holds.
pub fn run(arguments: &Inspect, output: &mut Output) -> Result<Outcome, Stop> {
    let mut outcome = Outcome::Done;
    for path in &arguments.files {
        let file = path.to_string_lossy();
        match inspect(path) {
            Ok(info) if arguments.json => {
                serde_json::to_writer(&mut *output, &FileObject::new(&file, &info))
                    .map_err(io::Error::from)?;
                output.write_all(b"\n")?;
            }
            Ok(info) => {
                for array in &info.arrays {
                    let bytes = array.shape.allocated_bytes().unwrap_or(0);
                    writeln!(
                        output,
                        "{file}: {}, array {}: {}, {bytes} bytes from byte {}",
                        info.format,
                        array.name,
                        described(array.order, &array.shape),
                        array.offset
                    )?;
                }
            }
            Err(error) => {
                outcome = Outcome::SomeFailed;
                if arguments.json {
                    RequestError {
                        input: file.into_owned(),
                        error: error.to_string(),
                        column: None,
                    }
                    .write(output)?;
                }
                output.flush()?;
                Stop::Line(error.to_string()).report();
            }
        }
    }
    Ok(outcome)
}

#[derive(Serialize)]
struct FileObject<'a> {
    file: &'a str,
    format: &'static str,
    arrays: Vec<ArrayObject<'a>>,
}

#[derive(Serialize)]
struct ArrayObject<'a> {
    name: &'a str,
    shape: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte_order: Option<&'static str>,
}

impl<'a> FileObject<'a> {
    fn new(file: &'a str, info: &'a FileInfo) -> FileObject<'a> {
        FileObject {
            file,
            format: info.format,
            arrays: info
                .arrays
                .iter()
                .map(|array| ArrayObject {
                    name: &array.name,
                    shape: array.shape.to_string(),
                    byte_order: (array.order != ByteOrder::Little).then(|| array.order.name()),
                })
                .collect(),
        }
    }
}
