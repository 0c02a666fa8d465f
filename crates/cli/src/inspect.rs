//! `inspect`: what arrays files hold.

use std::io::{self, Write};

use minormajor::files::{FileInfo, inspect};
use minormajor::plan::ByteOrder;
use serde::{Serialize, Serializer};

use crate::arguments::Inspect;
use crate::error::{Outcome, RequestError, Stop};
use crate::output::{Output, one_line};
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
                    write!(
                        output,
                        "{file}: {}, array {}: {}, {bytes} bytes",
                        info.format,
                        one_line(&array.name),
                        described(array.order, &array.shape),
                    )?;
                    if let Some(descr) = &array.opaque {
                        write!(output, " of NumPy's {}", one_line(descr))?;
                    }
                    match &array.file {
                        _ if !array.chunks.is_empty() => {
                            let chunks = array.chunks.iter().map(u64::to_string);
                            let chunks: Vec<_> = chunks.collect();
                            write!(output, ", in chunks of {}", chunks.join(" x "))?;
                            let names = array.dimension_names.iter();
                            let names: Vec<_> = names
                                .map(|name| one_line(name.as_deref().unwrap_or("?")))
                                .collect();
                            match names.is_empty() {
                                true => writeln!(output)?,
                                false => writeln!(output, ", dimensions {}", names.join(", "))?,
                            }
                        }
                        _ if array.compressed => writeln!(output, ", deflated")?,
                        None => writeln!(output, " from byte {}", array.offset)?,
                        Some(other) => {
                            let other = one_line(&other.to_string_lossy()).into_owned();
                            writeln!(output, " from byte {} of {other}", array.offset)?;
                        }
                    }
                }
                for (name, value) in &info.metadata {
                    let (name, value) = (one_line(name), one_line(value));
                    writeln!(output, "{file}: {}, metadata {name}: {value}", info.format)?;
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
                Stop::File(error).report();
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
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata<'a>,
}

/// Texts by name, in the file's order.
struct Metadata<'a>(&'a [(String, String)]);

impl Metadata<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(Serialize)]
struct ArrayObject<'a> {
    name: &'a str,
    shape: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte_order: Option<&'static str>,
    /// NumPy's words for elements that have no name in XLA.
    #[serde(skip_serializing_if = "Option::is_none")]
    opaque: Option<&'a str>,
    /// Where it is in another file of a set.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    compressed: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    chunks: &'a [u64],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    dimension_names: &'a [Option<String>],
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
                    opaque: array.opaque.as_deref(),
                    name: &array.name,
                    shape: array.shape.to_string(),
                    byte_order: (array.order != ByteOrder::Little).then(|| array.order.name()),
                    file: array
                        .file
                        .as_ref()
                        .map(|path| path.to_string_lossy().into_owned()),
                    compressed: array.compressed,
                    chunks: &array.chunks,
                    dimension_names: &array.dimension_names,
                })
                .collect(),
            metadata: Metadata(&info.metadata),
        }
    }
}
